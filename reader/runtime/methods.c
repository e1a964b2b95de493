/*
 * MethodDescs. They stand in chunks; a class points at its first chunk.
 *
 *   EEClass.MethodDescChunk --> chunk --Next--> chunk …      chunk: header, then Count + 1
 *                                                            MethodDescs
 *
 *   what              name                                         meaning
 *   chunk             MethodDescChunk.MethodTable, .Next           whose methods; the next chunk
 *                     .Size u8, .Count u8                          payload: (Size + 1) units;
 *                                                                  number - 1
 *                     .FlagsAndTokenRange u16                      high bits of the row ids
 *   method            MethodDesc.ChunkIndex u8                     its place in the payload, in
 *                                                                  units
 *                     .Slot u16, .Flags u16                        see FLAG_…
 *                     .Flags3AndTokenRemainder u16                 low bits of the row id, FLAG3_…
 *   unit              MethodDescAlignment (literal)
 *   row id            (range << B | remainder), B = MethodDescTokenRemainderBitCount
 *   length            size of the kind's structure ('!' of MethodDesc, FCallMethodDesc, …), then
 *                     the optional parts that the flags announce, in this order: NonVtableSlot,
 *                     MethodImpl, NativeCodeSlot, AsyncMethodData
 *   generic method    InstantiatedMethodDesc.PerInstInfo           its type arguments
 *                                                                  (TypeHandles)
 *   dynamic           DynamicMethodDesc.MethodName (UTF-8), StoredSigMethodDesc.Sig, .cSig u32,
 *                     .ExtendedFlags u32: 0x4000 a DynamicMethod
 *   instantiations    Module.InstMethodHashTable: chains as those of types (loader.c); the low two
 *                     bits of a value are flags
 *
 * A MethodDesc is recognized by its chunk: the chunk holds it, and the chunk's MethodTable is one. The sizes
 * must lead from the first method of a chunk exactly to its end.
 *
 * Knowledge: the runtime's docs/design/datacontracts/RuntimeTypeSystem.md, method.hpp.
 */
#include "runtime/methods.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/contracts.h"
#include "runtime/ecma.h"

enum {
    FLAG_KIND = 0x0007,
    FLAG_OWN_SLOT = 0x0008,
    FLAG_METHOD_IMPL = 0x0010,
    FLAG_NATIVE_SLOT = 0x0020,
    FLAG_ASYNC = 0x0040,
    FLAG_STATIC = 0x0080,
    FLAG3_UNBOXING = 0x4000,
    FLAG3_TIERED = 0x8000,
    DYNAMIC_LCG = 0x4000, /* of ExtendedFlags */
    TOKEN_METHOD = 0x06000000,
    RID = 0x00ffffff,
    DEFAULT_REMAINDER = 12,
    NAME_MAX_BYTES = 4096,
    SIGNATURE_MAX_BYTES = 65536,
    ARGUMENTS_MAX = 1024,
    END_OF_CHAIN = 1,   /* bit of a link in the table of instantiations */
    VALUE_FLAGS = 3,    /* bits of a value in it */
    BUCKETS_HEADER = 3, /* words before the chains; the first counts the chains */
    METHODDEF_RVA = 0,
    METHODDEF_NAME = 3,
    METHODDEF_SIGNATURE = 4, /* columns */
};

#define AT(m) offsetof(struct clr_method_layout, m)

const struct clr_binding clr_method_bindings[] = {
    {AT(index), CLR_FIELD, 1, true, "MethodDesc", "ChunkIndex"},
    {AT(slot), CLR_FIELD, 2, true, "MethodDesc", "Slot"},
    {AT(flags), CLR_FIELD, 2, true, "MethodDesc", "Flags"},
    {AT(flags3), CLR_FIELD, 2, true, "MethodDesc", "Flags3AndTokenRemainder"},
    {AT(code_data), CLR_FIELD, 0, true, "MethodDesc", "CodeData"},
    {AT(size), CLR_SIZE, 0, true, "MethodDesc", NULL},
    {AT(chunk_type), CLR_FIELD, 0, true, "MethodDescChunk", "MethodTable"},
    {AT(chunk_next), CLR_FIELD, 0, true, "MethodDescChunk", "Next"},
    {AT(chunk_size), CLR_FIELD, 1, true, "MethodDescChunk", "Size"},
    {AT(chunk_count), CLR_FIELD, 1, true, "MethodDescChunk", "Count"},
    {AT(chunk_range), CLR_FIELD, 2, true, "MethodDescChunk", "FlagsAndTokenRange"},
    {AT(chunk_bytes), CLR_SIZE, 0, true, "MethodDescChunk", NULL},
    {AT(alignment), CLR_LITERAL, 0, true, NULL, "MethodDescAlignment"},
    {AT(remainder_bits), CLR_LITERAL, 0, true, NULL, "MethodDescTokenRemainderBitCount"},
    {AT(fcall_size), CLR_SIZE, 0, true, "FCallMethodDesc", NULL},
    {AT(pinvoke_size), CLR_SIZE, 0, true, "PInvokeMethodDesc", NULL},
    {AT(impl_size), CLR_SIZE, 0, true, "EEImplMethodDesc", NULL},
    {AT(array_size), CLR_SIZE, 0, true, "ArrayMethodDesc", NULL},
    {AT(instantiated_size), CLR_SIZE, 0, true, "InstantiatedMethodDesc", NULL},
    {AT(dynamic_size), CLR_SIZE, 0, true, "DynamicMethodDesc", NULL},
    {AT(own_slot_size), CLR_SIZE, 0, true, "NonVtableSlot", NULL},
    {AT(method_impl_size), CLR_SIZE, 0, true, "MethodImpl", NULL},
    {AT(native_slot_size), CLR_SIZE, 0, true, "NativeCodeSlot", NULL},
    {AT(async_size), CLR_SIZE, 0, true, "AsyncMethodData", NULL},
    {AT(inst_arguments), CLR_FIELD, 0, true, "InstantiatedMethodDesc", "PerInstInfo"},
    {AT(inst_flags2), CLR_FIELD, 2, true, "InstantiatedMethodDesc", "Flags2"},
    {AT(inst_count), CLR_FIELD, 2, true, "InstantiatedMethodDesc", "NumGenericArgs"},
    {AT(sig), CLR_FIELD, 0, true, "StoredSigMethodDesc", "Sig"},
    {AT(sig_size), CLR_FIELD, 4, true, "StoredSigMethodDesc", "cSig"},
    {AT(extended_flags), CLR_FIELD, 4, true, "StoredSigMethodDesc", "ExtendedFlags"},
    {AT(name), CLR_FIELD, 0, true, "DynamicMethodDesc", "MethodName"},
    {AT(table), CLR_FIELD, 0, true, "Module", "InstMethodHashTable"},
    {AT(hash_buckets), CLR_FIELD, 0, true, "InstMethodHashTable", "Buckets"},
    {AT(hash_value), CLR_FIELD, 0, true, "InstMethodHashTable", "VolatileEntryValue"},
    {AT(hash_next), CLR_FIELD, 0, true, "InstMethodHashTable", "VolatileEntryNextEntry"},
    CLR_BINDINGS_END,
};

/* --- One MethodDesc ----------------------------------------------------------------------------
 */

/* Bytes of the structure of KIND, without optional parts; CLR_ABSENT if not described. */
static uint64_t base_size(const struct clr_method_layout *l, enum clr_method_kind kind)
{
    switch (kind) {
    case CLR_METHOD_IL: return l->size;
    case CLR_METHOD_FCALL: return l->fcall_size;
    case CLR_METHOD_PINVOKE: return l->pinvoke_size;
    case CLR_METHOD_EEIMPL: return l->impl_size;
    case CLR_METHOD_ARRAY: return l->array_size;
    case CLR_METHOD_INSTANTIATED: return l->instantiated_size;
    case CLR_METHOD_DYNAMIC: return l->dynamic_size;
    case CLR_METHOD_COM: break;
    }
    return CLR_ABSENT;
}

/* Where the word for native code stands in the MethodDesc, or how long it is as a whole. */
static bool part_offset(const struct clr_method_layout *l, const struct clr_method *method,
                        bool whole, uint64_t *offset)
{
    *offset = base_size(l, method->kind);
    if (!clr_has(*offset) || !clr_has(l->own_slot_size) || !clr_has(l->method_impl_size) ||
        !clr_has(l->native_slot_size))
        return false;
    *offset += method->flags & FLAG_OWN_SLOT ? l->own_slot_size : 0;
    *offset += method->flags & FLAG_METHOD_IMPL ? l->method_impl_size : 0;
    if (!whole)
        return true;
    *offset += method->flags & FLAG_NATIVE_SLOT ? l->native_slot_size : 0;
    if (method->flags & FLAG_ASYNC && clr_has(l->async_size))
        *offset += l->async_size;
    return *offset != 0 && *offset <= UINT16_MAX;
}

/* Reads the method whose chunk and chunk type are known to be good. */
static bool read_in_chunk(const struct clr_runtime *runtime, uint64_t address, uint64_t chunk,
                          struct clr_method *method)
{
    const struct clr_method_layout *l = &runtime->methods;
    uint16_t range, flags, flags3, slot;
    uint32_t extended = 0;
    uint64_t size;
    if (!clr_field_u16(runtime, chunk, l->chunk_range, &range) ||
        !clr_field_u16(runtime, address, l->flags, &flags) ||
        !clr_field_u16(runtime, address, l->flags3, &flags3) ||
        !clr_field_u16(runtime, address, l->slot, &slot))
        return false;
    uint64_t bits = clr_has(l->remainder_bits) && l->remainder_bits < 16 ? l->remainder_bits
                                                                         : DEFAULT_REMAINDER;
    uint32_t low = flags3 & ((1u << bits) - 1), high = range & ((1u << (24 - bits)) - 1);
    uint32_t rid = (high << bits | low) & RID;
    method->address = address;
    method->chunk = chunk;
    method->flags = flags;
    method->flags3 = flags3;
    method->slot = slot;
    method->kind = (enum clr_method_kind)(flags & FLAG_KIND);
    method->is_static = flags & FLAG_STATIC;
    method->has_own_slot = flags & FLAG_OWN_SLOT;
    method->has_native_slot = flags & FLAG_NATIVE_SLOT;
    method->is_tiered = flags3 & FLAG3_TIERED;
    method->is_unboxing_stub = flags3 & FLAG3_UNBOXING;
    if (method->kind == CLR_METHOD_DYNAMIC || method->kind == CLR_METHOD_ARRAY)
        rid = 0;
    method->token = rid ? TOKEN_METHOD | rid : 0;
    if (method->kind == CLR_METHOD_DYNAMIC &&
        clr_field_u32(runtime, address, l->extended_flags, &extended))
        method->is_stub = !(extended & DYNAMIC_LCG);
    method->size = part_offset(l, method, true, &size) ? (uint32_t)size : 0;
    return true;
}

static bool described(const struct clr_method_layout *l)
{
    return clr_has(l->chunk_bytes) && clr_has(l->alignment) && l->alignment != 0 &&
           l->alignment <= 64 && clr_has(l->index) && clr_has(l->chunk_next);
}

bool clr_method_read(const struct clr_runtime *runtime, uint64_t address, struct clr_method *method)
{
    const struct clr_method_layout *l = &runtime->methods;
    struct clr_type type;
    uint8_t index, size;
    memset(method, 0, sizeof *method);
    if (!described(l) || address == 0 || address % l->alignment != 0 ||
        !clr_field_u8(runtime, address, l->index, &index))
        return false;
    uint64_t chunk = address - l->chunk_bytes - index * l->alignment;
    if (!clr_field_u8(runtime, chunk, l->chunk_size, &size) || index > size ||
        !clr_field_word(runtime, chunk, l->chunk_type, &method->type) ||
        !clr_type_read(runtime, method->type, &type))
        return false;
    method->module = type.module;
    return read_in_chunk(runtime, address, chunk, method);
}

bool clr_method_slot_offset(const struct clr_runtime *runtime, const struct clr_method *method,
                            uint64_t *offset)
{
    *offset = base_size(&runtime->methods, method->kind);
    return method->has_own_slot && clr_has(*offset);
}

uint64_t clr_method_native_slot(const struct clr_runtime *runtime, const struct clr_method *method)
{
    uint64_t offset, code;
    if (!method->has_native_slot || !part_offset(&runtime->methods, method, false, &offset) ||
        !clr_read_word(runtime->process, method->address + offset, &code))
        return 0;
    return code & ~(uint64_t)1;
}

/* --- The methods of a type ---------------------------------------------------------------------
 */

static void damaged(struct clr_method_walk *walk, uint64_t address, const char *what)
{
    clr_problem(walk->problems, CLR_WARNING, "methods", address, 0,
                "type 0x%llx: a chunk of its methods %s (0x%llx); the rest of them is left out",
                (unsigned long long)walk->type, what, (unsigned long long)address);
    walk->left = 0;
    walk->chunk = 0;
}

/* Makes CHUNK the current one. */
static bool enter_chunk(struct clr_method_walk *walk, uint64_t chunk)
{
    const struct clr_runtime *runtime = walk->runtime;
    const struct clr_method_layout *l = &runtime->methods;
    uint8_t size, count;
    uint64_t type;
    walk->chunk = chunk;
    walk->left = 0;
    if (chunk == 0)
        return false;
    if (clr_loop_again(&walk->loop, chunk)) {
        damaged(walk, chunk, "leads back to itself");
        return false;
    }
    if ((chunk & runtime->alignment_mask) || !clr_field_u8(runtime, chunk, l->chunk_size, &size) ||
        !clr_field_u8(runtime, chunk, l->chunk_count, &count) ||
        !clr_field_word(runtime, chunk, l->chunk_type, &type)) {
        damaged(walk, chunk, "is not saved");
        return false;
    }
    if (type != walk->type) {
        damaged(walk, chunk, "names another type");
        return false;
    }
    walk->left = count + 1u;
    walk->next = chunk + l->chunk_bytes;
    walk->end = walk->next + (size + 1u) * l->alignment;
    return true;
}

bool clr_method_walk_start(struct clr_method_walk *walk, const struct clr_runtime *runtime,
                           uint64_t type)
{
    struct clr_type read;
    uint64_t chunk;
    memset(walk, 0, sizeof *walk);
    walk->runtime = runtime;
    walk->problems = runtime->problems;
    if (!described(&runtime->methods) || !clr_type_read(runtime, type, &read) ||
        read.kind == CLR_KIND_FREE)
        return false;
    walk->type = read.canonical ? read.canonical : type;
    if (!clr_field_word(runtime, read.type_class, runtime->types.class_chunk, &chunk))
        return false;
    return enter_chunk(walk, chunk);
}

bool clr_method_next(struct clr_method_walk *walk, struct clr_method *method)
{
    const struct clr_runtime *runtime = walk->runtime;
    struct clr_type type;
    uint64_t chunk;
    while (walk->left == 0) {
        if (walk->chunk == 0)
            return false;
        if (walk->next != walk->end) {
            damaged(walk, walk->chunk, "does not end where its methods do");
            return false;
        }
        if (!clr_field_word(runtime, walk->chunk, runtime->methods.chunk_next, &chunk)) {
            damaged(walk, walk->chunk, "is not saved");
            return false;
        }
        enter_chunk(walk, chunk);
    }
    memset(method, 0, sizeof *method);
    method->type = walk->type;
    if (!read_in_chunk(runtime, walk->next, walk->chunk, method)) {
        damaged(walk, walk->next, "is not saved");
        return false;
    }
    if (method->size == 0 || walk->next + method->size > walk->end) {
        damaged(walk, walk->next, "holds a method of no known size");
        return false;
    }
    if (clr_type_read(runtime, walk->type, &type))
        method->module = type.module;
    walk->next += method->size;
    walk->left--;
    return true;
}

/* --- Instantiated methods of a module -----------------------------------------------------------
 */

/* One chain; *LEFT bounds all of the table. */
static bool walk_chain(struct clr_runtime *runtime, uint64_t entry, uint64_t *left,
                       bool (*each)(void *, uint64_t), void *context, bool *whole)
{
    const struct clr_method_layout *l = &runtime->methods;
    struct clr_loop loop = {0};
    uint64_t value;
    while (entry != 0 && !(entry & END_OF_CHAIN)) {
        if (clr_loop_again(&loop, entry) || *left == 0 ||
            !clr_field_word(runtime, entry, l->hash_value, &value)) {
            *whole = false;
            return true;
        }
        --*left;
        if ((value &= ~(uint64_t)VALUE_FLAGS) != 0 && !each(context, value))
            return false;
        if (!clr_field_word(runtime, entry, l->hash_next, &entry)) {
            *whole = false;
            return true;
        }
    }
    return true;
}

enum clr_status clr_module_methods(struct clr_runtime *runtime, const struct clr_module *module,
                                   bool (*each)(void *context, uint64_t method), void *context,
                                   struct clr_error *error)
{
    const struct clr_method_layout *l = &runtime->methods;
    const uint32_t word = runtime->word;
    uint64_t table, buckets, chains, head;
    bool whole = true;
    (void)error;
    if (!clr_has(l->table) || !clr_has(l->hash_buckets))
        return CLR_OK;
    if (!clr_field_word(runtime, module->address, l->table, &table)) {
        whole = false;
    } else if (table == 0) {
        return CLR_OK;
    } else if (!clr_field_word(runtime, table, l->hash_buckets, &buckets)) {
        whole = false;
    } else if (buckets != 0 && clr_read_word(runtime->process, buckets, &chains)) {
        uint64_t first = buckets + BUCKETS_HEADER * word;
        uint64_t most = clr_saved_bytes(runtime->process, first, first + chains * word) / word;
        /* An entry takes three words at least, and they are saved. */
        uint64_t left = clr_process_info(runtime->process)->file_size / (3 * word);
        whole = chains <= most;
        for (uint64_t i = 0; i < chains && i < most; i++)
            if (!clr_read_word(runtime->process, first + i * word, &head))
                whole = false;
            else if (!walk_chain(runtime, head, &left, each, context, &whole))
                return CLR_OK;
    } else if (buckets != 0) {
        whole = false;
    }
    if (!whole)
        clr_problem_of(runtime->problems, CLR_WARNING, "methods", module->address, false,
                       module->address, 0,
                       "module 0x%llx: its table of instantiated methods is damaged or not saved; "
                       "some are missing",
                       (unsigned long long)module->address);
    return CLR_OK;
}

/* --- Names --------------------------------------------------------------------------------------
 */

const struct clr_metadata *clr_method_metadata(struct clr_runtime *runtime,
                                               const struct clr_method *method)
{
    const struct clr_module *module =
        method->token && method->module ? clr_module_get(runtime, method->module) : NULL;
    return module && module->has_metadata ? &module->metadata : NULL;
}

/* The bytes of a method's name; NULL if they are not known. */
static const char *metadata_name(struct clr_runtime *runtime, const struct clr_method *method,
                                 size_t *length)
{
    const struct clr_metadata *metadata = clr_method_metadata(runtime, method);
    uint32_t index;
    if (!metadata ||
        !clr_metadata_cell(metadata, CLR_METHODDEF, method->token & RID, METHODDEF_NAME, &index))
        return NULL;
    return clr_metadata_string(metadata, index, length);
}

/* The terminated UTF-8 text at ADDRESS. */
static bool add_utf8(const struct clr_runtime *runtime, uint64_t address, struct clr_text *text)
{
    uint64_t got;
    const uint8_t *bytes =
        address ? clr_view(runtime->process, address, NAME_MAX_BYTES, &got) : NULL;
    const uint8_t *end = bytes ? memchr(bytes, 0, (size_t)got) : NULL;
    if (!end || end == bytes)
        return false;
    clr_text_utf8(text, bytes, (size_t)(end - bytes));
    return true;
}

/* Methods that the runtime gives to arrays, by their place behind the inherited virtual ones. */
static const char *array_method(const struct clr_runtime *runtime, const struct clr_method *method)
{
    static const char *const names[] = {"Get", "Set", "Address"};
    uint16_t virtuals;
    if (!clr_field_u16(runtime, method->type, runtime->types.mt_virtuals, &virtuals) ||
        method->slot < virtuals)
        return NULL;
    unsigned place = method->slot - virtuals;
    return place < sizeof names / sizeof names[0] ? names[place] : ".ctor";
}

void clr_method_name(struct clr_runtime *runtime, const struct clr_method *method,
                     struct clr_text *text)
{
    size_t length;
    uint64_t address;
    const char *name = metadata_name(runtime, method, &length);
    if (name) {
        clr_text_utf8(text, (const uint8_t *)name, length);
        return;
    }
    if (method->kind == CLR_METHOD_DYNAMIC &&
        clr_field_word(runtime, method->address, runtime->methods.name, &address) &&
        add_utf8(runtime, address, text))
        return;
    if (method->kind == CLR_METHOD_ARRAY && (name = array_method(runtime, method))) {
        clr_text_put(text, name);
        return;
    }
    if (method->kind == CLR_METHOD_DYNAMIC)
        clr_text_put(text, method->is_stub ? "<stub>" : "<dynamic method>");
    else
        clr_text_format(text, "0x%08x", method->token);
}

void clr_method_full_name(struct clr_runtime *runtime, const struct clr_method *method,
                          struct clr_text *text)
{
    if (method->kind != CLR_METHOD_DYNAMIC) {
        clr_text_put(text, clr_type_name(runtime, method->type));
        clr_text_char(text, '.');
    }
    clr_method_name(runtime, method, text);
}

bool clr_method_full_name_at(struct clr_runtime *runtime, uint64_t address, struct clr_text *text)
{
    struct clr_method method;
    if (clr_method_read(runtime, address, &method)) {
        clr_method_full_name(runtime, &method, text);
        return true;
    }
    clr_text_format(text, "<unknown method 0x%llx>", (unsigned long long)address);
    return false;
}

/* --- Signatures ---------------------------------------------------------------------------------
 */

struct signature_work {
    struct clr_runtime *runtime;
    const struct clr_method *method;
    struct clr_type type;
};

static bool write_variable(void *context, bool of_method, uint32_t index, struct clr_text *text)
{
    struct signature_work *work = context;
    const struct clr_runtime *runtime = work->runtime;
    const struct clr_method_layout *l = &runtime->methods;
    uint64_t handle, arguments;
    uint16_t count;
    if (!of_method) {
        if (work->type.is_generic_definition ||
            !clr_type_argument(runtime, &work->type, index, &handle))
            return false;
    } else if (work->method->kind != CLR_METHOD_INSTANTIATED ||
               !clr_field_u16(runtime, work->method->address, l->inst_count, &count) ||
               index >= count ||
               !clr_field_word(runtime, work->method->address, l->inst_arguments, &arguments) ||
               arguments == 0 ||
               !clr_read_word(runtime->process, arguments + (uint64_t)index * runtime->word,
                              &handle)) {
        return false;
    }
    const char *name = clr_handle_type_name(work->runtime, handle);
    clr_text_put(text, name);
    return true;
}

static bool write_handle(void *context, uint64_t handle, struct clr_text *text)
{
    struct signature_work *work = context;
    clr_text_put(text, clr_handle_type_name(work->runtime, handle));
    return true;
}

/* Signatures of dynamic methods name what they instantiate by its handle. */
static bool write_definition(void *context, uint64_t handle,
                             const struct clr_ecma_arguments *arguments, struct clr_text *text)
{
    struct signature_work *work = context;
    struct clr_type type;
    if (!clr_type_read(work->runtime, handle, &type) || type.token == 0)
        return false;
    const struct clr_module *module = clr_module_get(work->runtime, type.module);
    return module && module->has_metadata &&
           clr_ecma_definition_name(&module->metadata, type.token & RID, arguments, text);
}

/* The signature that a method without metadata keeps itself. */
static struct clr_bytes stored_signature(const struct clr_runtime *runtime,
                                         const struct clr_method *method)
{
    const struct clr_method_layout *l = &runtime->methods;
    uint64_t address, got;
    uint32_t size;
    struct clr_bytes none = {.bad = true};
    if ((method->kind != CLR_METHOD_DYNAMIC && method->kind != CLR_METHOD_ARRAY &&
         method->kind != CLR_METHOD_EEIMPL) ||
        !clr_field_word(runtime, method->address, l->sig, &address) || address == 0 ||
        !clr_field_u32(runtime, method->address, l->sig_size, &size) || size == 0 ||
        size > SIGNATURE_MAX_BYTES)
        return none;
    const uint8_t *bytes = clr_view(runtime->process, address, size, &got);
    return bytes && got == size ? clr_bytes(bytes, size) : none;
}

bool clr_method_signature(struct clr_runtime *runtime, const struct clr_method *method,
                          struct clr_text *text)
{
    struct signature_work work = {.runtime = runtime, .method = method};
    const struct clr_metadata *metadata = clr_method_metadata(runtime, method);
    struct clr_bytes signature;
    uint32_t index;
    if (!clr_type_read(runtime, method->type, &work.type))
        return false;
    if (metadata) {
        if (!clr_metadata_cell(metadata, CLR_METHODDEF, method->token & RID, METHODDEF_SIGNATURE,
                               &index))
            return false;
        signature = clr_metadata_blob(metadata, index);
    } else {
        signature = stored_signature(runtime, method);
        const struct clr_module *module =
            method->module ? clr_module_get(runtime, method->module) : NULL;
        metadata = module && module->has_metadata ? &module->metadata : NULL;
    }
    struct clr_ecma_context context = {
        .metadata = metadata,
        .variable = write_variable,
        .handle = write_handle,
        .definition = write_definition,
        .context = &work,
        .type_rid = work.type.token & RID,
        .method_rid = method->token & RID,
        .word = runtime->word,
        .swapped = clr_process_info(runtime->process)->swapped,
    };
    if (signature.bad || !metadata)
        return false;
    struct clr_text name = {0};
    clr_method_name(runtime, method, &name);
    bool written = !name.failed &&
                   clr_ecma_method_signature(&context, signature, name.data, name.length, text);
    text->failed |= name.failed;
    clr_text_deinit(&name);
    return written;
}

uint64_t clr_method_il(struct clr_runtime *runtime, const struct clr_method *method)
{
    const struct clr_metadata *metadata = clr_method_metadata(runtime, method);
    const struct clr_module *module = metadata ? clr_module_get(runtime, method->module) : NULL;
    uint32_t rva;
    uint64_t offset;
    if (!module || !module->has_pe ||
        !clr_metadata_cell(metadata, CLR_METHODDEF, method->token & RID, METHODDEF_RVA, &rva) ||
        rva == 0 || !clr_pe_offset(&module->pe, rva, 1, &offset))
        return 0;
    return module->image_base + offset;
}
