/*
 * One type by the address of its MethodTable.
 *
 * A MethodTable is what an object points at: sizes, flags, parent, module. What types that share
 * code have in common stands in an EEClass. The union word leads there: with bit 0 clear it is the
 * EEClass, with bit 0 set the canonical MethodTable of the group, which has the EEClass. The
 * EEClass points back at the canonical MethodTable: that is how a MethodTable is distinguished from other
 * memory.
 *
 *   what                          name (offset by the descriptor)             since
 *   flags, u32                    MethodTable.MTFlags                         9
 *   bytes of an object, u32       MethodTable.BaseSize                        9
 *   flags and row id, u32         MethodTable.MTFlags2: >> 8, in .NET 8 >> 16 9
 *   number of interfaces, u16     MethodTable.NumInterfaces                   9
 *   base type, module             MethodTable.ParentMethodTable, .Module      9; before, the
 *                                 module is that of the loader: see find_module
 *   EEClass or canonical          MethodTable.EEClassOrCanonMT                9
 *   dictionaries; for arrays the  MethodTable.PerInstInfo                     9
 *     element's TypeHandle
 *   interface map                 the MethodTable's last word: its size ("!") - word. Believed only
 *                                 if PerInstInfo ends there, so that two statements agree
 *   generic counts, u16 each      GenericsDictInfo, ends where PerInstInfo points; NumTypeArgs is
 *                                 its last member. The type's own arguments are the start of the
 *                                 last of NumDicts dictionaries
 *   back pointer, attributes      EEClass.MethodTable, .CorTypeAttr, .InternalCorElementType
 *   rank                          from BaseSize and ArrayBaseSize, else ArrayClass.Rank (u8)
 *
 * Two kinds of MethodTable fail the test of the back pointer and are types all the same: the filler
 * of free space has no EEClass at all; types of runtime-async continuations share one EEClass, and
 * are known by their parent and that class.
 *
 * A delegate is a class whose parent is System.MulticastDelegate: no other class may derive from
 * it.
 *
 * Knowledge: the runtime's docs/design/datacontracts/RuntimeTypeSystem.md, methodtable.h, class.h.
 */
#include "runtime/types.h"

#include <stddef.h>

#include "runtime/contracts.h"
#include "runtime/loader.h"
#include "runtime/loop.h"

enum {
    CATEGORY_KIND = 0x000c0000, /* mask of the next three; none of them: a class */
    CATEGORY_VALUE = 0x00040000,
    CATEGORY_ARRAY = CLR_MT_IS_ARRAY,
    CATEGORY_INTERFACE = 0x000c0000,
    CATEGORY_ENUM = 0x00060000, /* among values; others: struct, Nullable<T>, Int32 and the like */
    CATEGORY_SZARRAY = 0x000a0000, /* among arrays; others have dimensions or lower bounds */
    GENERIC_DEFINITION = 0x00000030,
    RID_SHIFT = 8,
    RID_SHIFT_HIGH_HALF = 16,
    RID_OVERFLOW = 0xffff, /* .NET 8: the row id did not fit */
    TYPEDEF_TOKEN = 0x02000000,
    RANK_MAX = 32,          /* of .NET arrays */
    BYTES_PER_DIMENSION = 8 /* of an array's header: i32 length and i32 lower bound */
};

#define AT(m) offsetof(struct clr_types_layout, m)

const struct clr_binding clr_types_bindings[] = {
    {AT(mt_flags), CLR_FIELD, 4, false, "MethodTable", "MTFlags"},
    {AT(mt_base_size), CLR_FIELD, 4, false, "MethodTable", "BaseSize"},
    {AT(mt_flags2), CLR_FIELD, 4, false, "MethodTable", "MTFlags2"},
    {AT(mt_virtuals), CLR_FIELD, 2, true, "MethodTable", "NumVirtuals"},
    {AT(mt_interfaces), CLR_FIELD, 2, false, "MethodTable", "NumInterfaces"},
    {AT(mt_parent), CLR_FIELD, 0, false, "MethodTable", "ParentMethodTable"},
    {AT(mt_module), CLR_FIELD, 0, false, "MethodTable", "Module"},
    {AT(mt_auxiliary), CLR_FIELD, 0, true, "MethodTable", "AuxiliaryData"},
    {AT(mt_class), CLR_FIELD, 0, false, "MethodTable", "EEClassOrCanonMT"},
    {AT(mt_per_inst), CLR_FIELD, 0, false, "MethodTable", "PerInstInfo"},
    {AT(mt_size), CLR_SIZE, 0, true, "MethodTable", NULL},
    {AT(class_mt), CLR_FIELD, 0, false, "EEClass", "MethodTable"},
    {AT(class_attr), CLR_FIELD, 4, false, "EEClass", "CorTypeAttr"},
    {AT(class_norm_type), CLR_FIELD, 1, false, "EEClass", "InternalCorElementType"},
    {AT(class_methods), CLR_FIELD, 2, true, "EEClass", "NumMethods"},
    {AT(class_fields), CLR_FIELD, 0, true, "EEClass", "FieldDescList"},
    {AT(class_instance_fields), CLR_FIELD, 2, true, "EEClass", "NumInstanceFields"},
    {AT(class_static_fields), CLR_FIELD, 2, true, "EEClass", "NumStaticFields"},
    {AT(class_thread_statics), CLR_FIELD, 2, true, "EEClass", "NumThreadStaticFields"},
    {AT(class_chunk), CLR_FIELD, 0, true, "EEClass", "MethodDescChunk"},
    {AT(class_padding), CLR_FIELD, 1, true, "EEClass", "BaseSizePadding"},
    {AT(class_fixed_size), CLR_FIELD, 1, true, "EEClass", "FixedFieldsSize"},
    {AT(class_are_packed), CLR_FIELD, 1, true, "EEClass", "FieldsArePacked"},
    {AT(packed_instance_fields), CLR_FIELD, 4, true, "EEClassPackedFields", "NumInstanceFields"},
    {AT(packed_static_fields), CLR_FIELD, 4, true, "EEClassPackedFields", "NumStaticFields"},
    {AT(packed_thread_statics), CLR_FIELD, 4, true, "EEClassPackedFields", "NumThreadStaticFields"},
    {AT(dict_args), CLR_FIELD, 2, true, "GenericsDictInfo", "NumTypeArgs"},
    {AT(dict_dicts), CLR_FIELD, 2, true, "GenericsDictInfo", "NumDicts"},
    {AT(type_desc_flags), CLR_FIELD, 4, true, "TypeDesc", "TypeAndFlags"},
    {AT(param_type_arg), CLR_FIELD, 0, true, "ParamTypeDesc", "TypeArg"},
    {AT(var_module), CLR_FIELD, 0, true, "TypeVarTypeDesc", "Module"},
    {AT(var_token), CLR_FIELD, 4, true, "TypeVarTypeDesc", "Token"},
    {AT(var_index), CLR_FIELD, 4, true, "TypeVarTypeDesc", "Index"},
    {AT(fn_args), CLR_FIELD, 4, true, "FnPtrTypeDesc", "NumArgs"},
    {AT(fn_call_conv), CLR_FIELD, 4, true, "FnPtrTypeDesc", "CallConv"},
    {AT(fn_types), CLR_FIELD, CLR_INLINE, true, "FnPtrTypeDesc", "RetAndArgTypes"},
    {AT(aux_flags), CLR_FIELD, 4, true, "MethodTableAuxiliaryData", "Flags"},
    {AT(aux_loader_module), CLR_FIELD, 0, true, "MethodTableAuxiliaryData", "LoaderModule"},
    {AT(array_rank), CLR_FIELD, 1, true, "ArrayClass", "Rank"},
    {AT(array_base_size), CLR_LITERAL, 4, true, NULL, "ArrayBaseSize"},
    {AT(collectible_flag), CLR_LITERAL, 4, true, NULL, "MethodTableCollectibleFlag"},
    {AT(module_override_flag), CLR_LITERAL, 4, true, NULL, "MethodTableModuleOverrideFlag"},
    {AT(rid_shift), CLR_LITERAL, 1, true, NULL, "MethodTableRidShift"},
    {AT(field_size), CLR_SIZE, 0, true, "FieldDesc", NULL},
    {AT(field_enclosing), CLR_FIELD, 0, true, "FieldDesc", "MTOfEnclosingClass"},
    {AT(field_dword1), CLR_FIELD, 4, true, "FieldDesc", "DWord1"},
    {AT(field_dword2), CLR_FIELD, 4, true, "FieldDesc", "DWord2"},
    {AT(field_big_rva), CLR_LITERAL, 4, true, NULL, "FieldOffsetBigRVA"},
    {AT(field_dynamic_rva), CLR_LITERAL, 4, true, NULL, "FieldOffsetDynamicRVA"},
    {AT(field_new_enc), CLR_LITERAL, 4, true, NULL, "FieldOffsetNewEnc"},
    {AT(free_type), CLR_VARIABLE, 0, false, NULL, "FreeObjectMethodTable"},
    {AT(object_type), CLR_VARIABLE, 0, false, NULL, "ObjectMethodTable"},
    {AT(string_type), CLR_VARIABLE, 0, false, NULL, "StringMethodTable"},
    {AT(object_array_type), CLR_VARIABLE, 0, true, NULL, "ObjectArrayMethodTable"},
    {AT(exception_type), CLR_VARIABLE, 0, true, NULL, "ExceptionMethodTable"},
    {AT(canon_type), CLR_VARIABLE, 0, true, NULL, "CanonMethodTable"},
    {AT(continuation_type), CLR_VARIABLE, 0, true, NULL, "ContinuationMethodTable"},
    {AT(continuation_class), CLR_VARIABLE, 0, true, NULL, "ContinuationSingletonEEClass"},
    {AT(delegate_type), CLR_VARIABLE, 0, true, NULL, "MulticastDelegateMethodTable"},
    CLR_BINDINGS_END,
};

const char *clr_type_kind_text(enum clr_type_kind kind)
{
    static const char *const text[] = {
        [CLR_KIND_CLASS] = "class",       [CLR_KIND_STRUCT] = "struct",
        [CLR_KIND_ENUM] = "enum",         [CLR_KIND_INTERFACE] = "interface",
        [CLR_KIND_DELEGATE] = "delegate", [CLR_KIND_ARRAY] = "array",
        [CLR_KIND_SZARRAY] = "szarray",   [CLR_KIND_STRING] = "string",
        [CLR_KIND_FREE] = "free",
    };
    return text[kind];
}

/* Follows the union word; false unless a class is found that points back, or an exception holds. */
static bool find_class(const struct clr_runtime *runtime, struct clr_type *type)
{
    const struct clr_types_layout *t = &runtime->types;
    const struct clr_process *process = runtime->process;
    uint64_t word, back;
    if (!clr_read_word(process, type->address + t->mt_class, &word))
        return false;
    type->canonical = type->address;
    if (word & 1) {
        type->canonical = word & ~(uint64_t)1;
        if ((type->canonical & runtime->alignment_mask) ||
            !clr_read_word(process, type->canonical + t->mt_class, &word))
            return false;
    }
    type->type_class = word;
    if (word == 0 || (word & runtime->alignment_mask) ||
        !clr_read_word(process, word + t->class_mt, &back))
        return false;
    type->is_continuation =
        runtime->continuation_type != 0 && type->parent == runtime->continuation_type;
    return back == type->canonical ||
           (type->is_continuation && word == runtime->continuation_class);
}

/* The part that validity needs: flags, parent, class. */
static bool read_identity(const struct clr_runtime *runtime, uint64_t address,
                          struct clr_type *type)
{
    const struct clr_types_layout *t = &runtime->types;
    *type = (struct clr_type){.address = address};
    if (!runtime->contract[CLR_CONTRACT_TYPES] || address == 0 ||
        (address & runtime->alignment_mask) ||
        !clr_read_u32(runtime->process, address + t->mt_flags, &type->flags))
        return false;
    if (address == runtime->free_type)
        return true;
    return clr_read_word(runtime->process, address + t->mt_parent, &type->parent) &&
           find_class(runtime, type);
}

bool clr_type_valid(const struct clr_runtime *runtime, uint64_t address)
{
    struct clr_type type;
    return read_identity(runtime, address, &type);
}

static enum clr_type_kind find_kind(const struct clr_runtime *runtime, const struct clr_type *type)
{
    if (type->address == runtime->free_type)
        return CLR_KIND_FREE;
    uint32_t category = type->flags & CLR_MT_CATEGORY;
    switch (category & CATEGORY_KIND) {
    case CATEGORY_VALUE: return category == CATEGORY_ENUM ? CLR_KIND_ENUM : CLR_KIND_STRUCT;
    case CATEGORY_ARRAY: return category == CATEGORY_SZARRAY ? CLR_KIND_SZARRAY : CLR_KIND_ARRAY;
    case CATEGORY_INTERFACE: return CLR_KIND_INTERFACE;
    default: break;
    }
    if (type->address == runtime->string_type)
        return CLR_KIND_STRING;
    if (runtime->delegate_type != 0 && type->parent == runtime->delegate_type)
        return CLR_KIND_DELEGATE;
    return CLR_KIND_CLASS;
}

/* The rank of an array; false if it cannot be one's. */
static bool find_rank(const struct clr_runtime *runtime, struct clr_type *type)
{
    const struct clr_types_layout *t = &runtime->types;
    uint8_t rank;
    type->rank = 1;
    if (type->kind == CLR_KIND_SZARRAY)
        return true;
    if (clr_has(t->array_base_size)) {
        uint64_t bounds = type->base_size - t->array_base_size; /* wraps to a huge one if less */
        type->rank =
            bounds / BYTES_PER_DIMENSION > RANK_MAX ? 0 : (uint32_t)(bounds / BYTES_PER_DIMENSION);
    } else {
        type->rank = clr_field_u8(runtime, type->type_class, t->array_rank, &rank) ? rank : 0;
    }
    return type->rank >= 1 && type->rank <= RANK_MAX;
}

static uint32_t find_token(const struct clr_runtime *runtime, const struct clr_type *type)
{
    bool high = (runtime->contract[CLR_CONTRACT_TYPES]->flags & CLR_TYPES_RID_HIGH_HALF) != 0;
    uint64_t shift = clr_has(runtime->types.rid_shift) ? runtime->types.rid_shift
                     : high                            ? RID_SHIFT_HIGH_HALF
                                                       : RID_SHIFT;
    uint32_t rid = shift < 32 ? type->flags2 >> shift : 0;
    if (rid == 0 || (high && rid == RID_OVERFLOW))
        return 0;
    return TYPEDEF_TOKEN | (rid & 0x00ffffff);
}

static bool is_collectible(const struct clr_runtime *runtime, uint32_t flags)
{
    uint64_t flag = runtime->types.collectible_flag;
    return (flags & (clr_has(flag) ? (uint32_t)flag : (uint32_t)CLR_MT_COLLECTIBLE)) != 0;
}

/* .NET 8: the module word names the loader module, the one whose unloading takes the type away: of
 * List<Plugin.Main> the plugin's. The type's own module is that of its canonical type (arrays have
 * none but themselves), whose word is right unless a flag says that another word overrides it. That
 * is one of the optional words: two lie in the MethodTable, the others behind the pieces of its
 * table of virtual methods; each is there if its bit is set, in the order of the bits. */
static bool find_module(const struct clr_runtime *runtime, struct clr_type *type)
{
    enum { FIXED_WORDS = 2, SECOND = 2 };
    const struct clr_types_layout *t = &runtime->types;
    const struct clr_process *process = runtime->process;
    const uint64_t flag = t->module_override_flag;
    bool is_array = (type->flags & CLR_MT_IS_ARRAY_MASK) == CLR_MT_IS_ARRAY;
    uint64_t from = is_array ? type->address : type->canonical;
    uint32_t flags2;
    uint16_t virtuals;
    if (type->module == 0 ||
        !(type->flags & ((uint32_t)CLR_MT_HAS_COMPONENT_SIZE | CLR_MT_GENERICS)))
        return true;
    if (!clr_read_u32(process, from + t->mt_flags2, &flags2))
        return false;
    if (!(flags2 & flag))
        return clr_read_word(process, from + t->mt_module, &type->module);
    uint32_t before = flags2 & ((uint32_t)flag - 1);
    uint64_t place = (uint64_t)__builtin_popcount(before);
    if (before == SECOND)
        place = 0; /* the first word is taken where only the second would be */
    if (place < FIXED_WORDS)
        return clr_read_word(process, from + t->mt_per_inst + place * runtime->word, &type->module);
    if (!clr_has(t->mt_size) || !clr_field_u16(runtime, from, t->mt_virtuals, &virtuals))
        return false;
    place -= FIXED_WORDS;
    place += (virtuals + CLR_VIRTUALS_OF_CHUNK - 1u) / CLR_VIRTUALS_OF_CHUNK;
    return clr_read_word(process, from + t->mt_size + place * runtime->word, &type->module);
}

bool clr_type_read(const struct clr_runtime *runtime, uint64_t address, struct clr_type *type)
{
    const struct clr_types_layout *t = &runtime->types;
    const struct clr_process *process = runtime->process;
    if (!read_identity(runtime, address, type) ||
        !clr_read_u32(process, address + t->mt_base_size, &type->base_size))
        return false;
    bool has_component = (type->flags & (uint32_t)CLR_MT_HAS_COMPONENT_SIZE) != 0;
    type->component_size = has_component ? type->flags & 0xffff : 0;
    type->kind = find_kind(runtime, type);
    if (type->kind == CLR_KIND_FREE)
        return true;
    if (!clr_read_u32(process, address + t->mt_flags2, &type->flags2) ||
        !clr_read_word(process, address + t->mt_module, &type->module) ||
        !clr_read_word(process, address + t->mt_per_inst, &type->per_inst) ||
        !clr_read_u16(process, address + t->mt_interfaces, &type->interfaces) ||
        !clr_read_u32(process, type->type_class + t->class_attr, &type->attributes) ||
        !clr_read_u8(process, type->type_class + t->class_norm_type, &type->norm_type))
        return false;
    type->loader_module = type->module;
    if (clr_has(t->module_override_flag) && !find_module(runtime, type))
        return false;
    clr_field_word(runtime, address, t->mt_auxiliary, &type->auxiliary);
    if ((type->flags & CLR_MT_IS_ARRAY_MASK) == CLR_MT_IS_ARRAY) {
        type->element_handle = type->per_inst;
        if (!find_rank(runtime, type))
            return false;
    } else if (!type->is_continuation) {
        type->token = find_token(runtime, type);
    }
    type->contains_references = (type->flags & CLR_MT_CONTAINS_POINTERS) != 0;
    type->has_finalizer = (type->flags & CLR_MT_FINALIZER) != 0;
    type->is_collectible = is_collectible(runtime, type->flags);
    type->is_generic = !has_component && (type->flags & CLR_MT_GENERICS) != 0;
    type->is_generic_definition =
        type->is_generic && (type->flags & CLR_MT_GENERICS) == GENERIC_DEFINITION;
    return true;
}

bool clr_type_interface(const struct clr_runtime *runtime, const struct clr_type *type,
                        uint32_t index, uint64_t *interface_type)
{
    const struct clr_types_layout *t = &runtime->types;
    const uint64_t word = runtime->word;
    uint64_t map;
    return index < type->interfaces && clr_has(t->mt_size) &&
           t->mt_per_inst + 2 * word == t->mt_size &&
           clr_read_word(runtime->process, type->address + t->mt_size - word, &map) && map != 0 &&
           clr_read_word(runtime->process, map + index * word, interface_type) &&
           *interface_type != 0;
}

bool clr_type_argument(const struct clr_runtime *runtime, const struct clr_type *type,
                       uint32_t index, uint64_t *handle)
{
    const struct clr_types_layout *t = &runtime->types;
    uint16_t arguments, dictionaries;
    uint64_t dictionary;
    if (!type->is_generic || type->per_inst == 0 || !clr_has(t->dict_args) ||
        !clr_has(t->dict_dicts))
        return false;
    uint64_t info = type->per_inst - (t->dict_args + sizeof arguments);
    return clr_read_u16(runtime->process, info + t->dict_args, &arguments) && index < arguments &&
           clr_read_u16(runtime->process, info + t->dict_dicts, &dictionaries) &&
           dictionaries > 0 &&
           clr_read_word(runtime->process,
                         type->per_inst + (uint64_t)(dictionaries - 1) * runtime->word,
                         &dictionary) &&
           dictionary != 0 &&
           clr_read_word(runtime->process, dictionary + (uint64_t)index * runtime->word, handle);
}

uint64_t clr_type_definition(struct clr_runtime *runtime, const struct clr_type *type)
{
    if (!type->is_generic || type->token == 0)
        return 0;
    uint64_t definition =
        clr_module_type(runtime, type->module, type->token & ~(uint32_t)TYPEDEF_TOKEN);
    return clr_type_valid(runtime, definition) ? definition : 0;
}

static uint64_t module_allocator(const struct clr_runtime *runtime, uint64_t module)
{
    uint64_t allocator;
    return clr_field_word(runtime, module, runtime->loader.module_allocator, &allocator) ? allocator
                                                                                         : 0;
}

uint64_t clr_type_allocator(const struct clr_runtime *runtime, const struct clr_type *type)
{
    uint64_t module = type->loader_module;
    if (!type->is_collectible)
        return 0;
    /* The loader module of an instantiation is the one whose unloading takes the type away. */
    if (type->auxiliary != 0)
        clr_field_word(runtime, type->auxiliary, runtime->types.aux_loader_module, &module);
    return module_allocator(runtime, module);
}

bool clr_class_counts(const struct clr_runtime *runtime, uint64_t type_class,
                      struct clr_class_counts *counts)
{
    const struct clr_types_layout *t = &runtime->types;
    uint16_t instance, statics, thread_statics;
    uint8_t fixed, packed;
    if (clr_field_u16(runtime, type_class, t->class_instance_fields, &instance) &&
        clr_field_u16(runtime, type_class, t->class_static_fields, &statics) &&
        clr_field_u16(runtime, type_class, t->class_thread_statics, &thread_statics)) {
        *counts = (struct clr_class_counts){instance, statics, thread_statics};
        return true;
    }
    /* .NET 8 keeps them behind the fixed part; bit-packed ones have not been seen and are refused.
     */
    return clr_field_u8(runtime, type_class, t->class_fixed_size, &fixed) &&
           clr_field_u8(runtime, type_class, t->class_are_packed, &packed) && packed == 0 &&
           clr_field_u32(runtime, type_class + fixed, t->packed_instance_fields,
                         &counts->instance_fields) &&
           clr_field_u32(runtime, type_class + fixed, t->packed_static_fields,
                         &counts->static_fields) &&
           clr_field_u32(runtime, type_class + fixed, t->packed_thread_statics,
                         &counts->thread_statics);
}

bool clr_type_derives(const struct clr_runtime *runtime, uint64_t address, uint64_t parent)
{
    struct clr_loop loop = {0};
    struct clr_type type;
    while (address != 0 && !clr_loop_again(&loop, address)) {
        if (address == parent)
            return true;
        if (!read_identity(runtime, address, &type))
            return false;
        address = type.parent;
    }
    return false;
}
