/*
 * A field's type stands in its signature, in terms of the declaring module: tokens of that module
 * and type variables. It is turned into the type's full name, with the variables replaced by the
 * arguments of the exact type that declares the field, and the name is looked up among the loaded
 * types. A name may be loaded more than once (load contexts): the declaring module decides.
 *
 * Size of a struct: MethodTable.BaseSize less EEClass.BaseSizePadding, which counts header,
 * MethodTable word and rounding.
 */
#include "inspect/fieldtype.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "runtime/ecma.h"
#include "runtime/loader.h"

struct entry {
    const char *name; /* lives with the runtime */
    uint64_t type, module;
    bool collectible;
};

struct clr_type_index {
    struct entry *entries; /* by name, then by address */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->type > y->type) - (x->type < y->type);
}

static void destroy_index(void *data)
{
    clr_free(((struct clr_type_index *)data)->entries);
    clr_free(data);
}

static enum clr_status fill_index(struct clr_dump *dump, struct clr_type_index *index,
                                  struct clr_error *error)
{
    const uint64_t *types;
    size_t count, named = 0;
    CLR_TRY(clr_heap_types(dump->heap, dump->runtime, &types, &count, error));
    struct entry *entries = clr_alloc(count, sizeof *entries);
    for (size_t i = 0; entries && i < count; i++) {
        struct clr_type type;
        if (!clr_type_read(dump->runtime, types[i], &type))
            continue;
        const char *name = clr_type_name(dump->runtime, types[i]);
        if (clr_type_name_lost(name)) {
            clr_free(entries);
            return clr_no_memory(error);
        }
        entries[named++] = (struct entry){name, types[i], type.module, type.is_collectible};
    }
    if (named)
        qsort(entries, named, sizeof *entries, by_name);
    index->entries = entries;
    index->count = named;
    return entries ? CLR_OK : clr_no_memory(error);
}

enum clr_status clr_dump_type_index(struct clr_dump *dump, const struct clr_type_index **out,
                                    struct clr_error *error)
{
    struct clr_type_index *index;
    CLR_TRY(clr_dump_keep(dump, destroy_index, sizeof *index, &index, error));
    *out = index;
    return index->entries ? CLR_OK : fill_index(dump, index, error);
}

static uint64_t binder_of(struct clr_runtime *runtime, uint64_t address)
{
    const struct clr_module *module = address ? clr_module_get(runtime, address) : NULL;
    return module ? module->binder : 0;
}

uint64_t clr_type_by_name(struct clr_runtime *runtime, const struct clr_type_index *index,
                          const char *name, uint64_t module)
{
    enum { NONE, ANY, LASTING, CONTEXT };
    size_t i;
    uint64_t found = 0, binder = 0;
    int best = NONE;
    CLR_SEARCH(i, 0, index->count, strcmp(index->entries[i].name, name) < 0);
    if (i + 1 < index->count && strcmp(index->entries[i + 1].name, name) == 0)
        binder = binder_of(runtime, module);
    for (; i < index->count && strcmp(index->entries[i].name, name) == 0; i++) {
        const struct entry *entry = &index->entries[i];
        if (entry->module == module)
            return entry->type;
        int fit = binder != 0 && binder_of(runtime, entry->module) == binder ? CONTEXT
                  : entry->collectible                                       ? ANY
                                                                             : LASTING;
        if (fit > best) {
            best = fit;
            found = entry->type;
        }
    }
    return found;
}

struct arguments {
    struct clr_runtime *runtime;
    struct clr_type type;
};

/* A name that is lost is a failure of memory, not a text. */
static bool put_name(struct clr_runtime *runtime, uint64_t handle, struct clr_text *text)
{
    const char *name = clr_handle_type_name(runtime, handle);
    text->failed |= clr_type_name_lost(name);
    clr_text_put(text, name);
    return !text->failed;
}

static bool write_variable(void *context, bool of_method, uint32_t index, struct clr_text *text)
{
    struct arguments *arguments = context;
    uint64_t handle;
    if (of_method || !clr_type_argument(arguments->runtime, &arguments->type, index, &handle))
        return false;
    return put_name(arguments->runtime, handle, text);
}

static bool write_handle(void *context, uint64_t handle, struct clr_text *text)
{
    struct arguments *arguments = context;
    return put_name(arguments->runtime, handle, text);
}

static struct clr_ecma_context signature_context(struct clr_runtime *runtime,
                                                 const struct clr_field *field,
                                                 struct arguments *arguments)
{
    enum { RID = 0xffffff };
    return (struct clr_ecma_context){.metadata = field->metadata,
                                     .variable = write_variable,
                                     .handle = write_handle,
                                     .context = arguments,
                                     .type_rid = arguments->type.token & RID,
                                     .word = runtime->word,
                                     .swapped = clr_process_info(runtime->process)->swapped};
}

bool clr_field_type_name(struct clr_runtime *runtime, const struct clr_field *field,
                         struct clr_text *text)
{
    enum { RID = 0xffffff, SIGNATURE = 2 };
    struct arguments arguments = {.runtime = runtime};
    uint32_t blob;
    if (!field->metadata || !clr_type_read(runtime, field->type, &arguments.type) ||
        !clr_metadata_cell(field->metadata, CLR_FIELDDEF, field->token & RID, SIGNATURE, &blob))
        return false;
    struct clr_ecma_context context = signature_context(runtime, field, &arguments);
    return clr_ecma_field_signature(&context, clr_metadata_blob(field->metadata, blob), text);
}

/* --- Exact types -------------------------------------------------------------------------------
 */

uint8_t clr_handle_element(const struct clr_runtime *runtime, uint64_t handle, uint64_t *type)
{
    enum { IS_DESC = 2, DESC_KIND = 0xff, TRUE_PRIMITIVE = 0x00070000 /* of the category */ };
    struct clr_type read;
    uint32_t flags;
    *type = 0;
    if (handle & IS_DESC) {
        if (!clr_field_u32(runtime, handle & ~(uint64_t)IS_DESC, runtime->types.type_desc_flags,
                           &flags))
            return 0;
        return (uint8_t)(flags & DESC_KIND);
    }
    if (!clr_type_read(runtime, handle, &read))
        return 0;
    switch (read.kind) {
    case CLR_KIND_STRING: return CLR_ELEMENT_STRING;
    case CLR_KIND_SZARRAY: return CLR_ELEMENT_SZARRAY;
    case CLR_KIND_ARRAY: return CLR_ELEMENT_ARRAY;
    case CLR_KIND_ENUM: *type = handle; return read.norm_type;
    case CLR_KIND_STRUCT:
        if ((read.flags & CLR_MT_CATEGORY) == TRUE_PRIMITIVE &&
            read.norm_type != CLR_ELEMENT_TYPEDBYREF)
            return read.norm_type;
        *type = handle;
        return CLR_ELEMENT_VALUETYPE;
    default: return CLR_ELEMENT_CLASS;
    }
}

/* The first byte of a field's type in its signature, and where it goes on. */
static uint8_t signature_head(const struct clr_field *field, struct clr_bytes *rest)
{
    enum { RID = 0xffffff, SIGNATURE = 2, FIELD = 6, MODIFIERS = 64 };
    uint32_t blob;
    if (!field->metadata ||
        !clr_metadata_cell(field->metadata, CLR_FIELDDEF, field->token & RID, SIGNATURE, &blob))
        return 0;
    *rest = clr_metadata_blob(field->metadata, blob);
    if (clr_bytes_u8(rest) != FIELD)
        return 0;
    for (unsigned i = 0; i < MODIFIERS; i++) {
        uint8_t head = clr_bytes_u8(rest);
        if (rest->bad)
            return 0;
        if (head != CLR_ELEMENT_CMOD_REQD && head != CLR_ELEMENT_CMOD_OPT)
            return head;
        clr_metadata_compressed(rest);
    }
    return 0;
}

void clr_field_kind(struct clr_runtime *runtime, const struct clr_field *field,
                    struct clr_field_kind *kind)
{
    struct clr_bytes rest = {0};
    struct clr_type type;
    enum clr_table_id table;
    uint32_t value, rid;
    uint64_t handle;
    uint8_t element, head = signature_head(field, &rest);
    *kind = (struct clr_field_kind){.element = field->element_type};
    switch (head) {
    case CLR_ELEMENT_STRING:
    case CLR_ELEMENT_SZARRAY:
    case CLR_ELEMENT_ARRAY:
    case CLR_ELEMENT_PTR:
    case CLR_ELEMENT_FNPTR:
    case CLR_ELEMENT_BYREF: kind->element = head; break;
    case CLR_ELEMENT_TYPEDBYREF: kind->element = CLR_ELEMENT_VALUETYPE; break;
    case CLR_ELEMENT_VAR:
        value = clr_metadata_compressed(&rest);
        if (rest.bad || !clr_type_read(runtime, field->type, &type) ||
            !clr_type_argument(runtime, &type, value, &handle))
            break;
        element = clr_handle_element(runtime, handle, &kind->type);
        if (element != 0 && element != CLR_ELEMENT_VAR && element != CLR_ELEMENT_MVAR)
            kind->element = element;
        kind->is_named = kind->type != 0;
        if (handle == runtime->canon_type)
            kind->type = handle;
        break;
    case CLR_ELEMENT_GENERICINST:
        kind->is_named = clr_bytes_u8(&rest) == CLR_ELEMENT_VALUETYPE;
        break;
    case CLR_ELEMENT_VALUETYPE:
        kind->is_named = true;
        value = clr_metadata_compressed(&rest);
        if (!rest.bad && clr_metadata_type_def_or_ref(value, &table, &rid) &&
            table == CLR_TYPEDEF && clr_type_read(runtime, field->type, &type))
            kind->type = clr_module_type(runtime, type.module, rid);
        break;
    case 0: kind->is_named = field->element_type == CLR_ELEMENT_VALUETYPE; break;
    default: break;
    }
    if (kind->element == CLR_ELEMENT_VAR || kind->element == CLR_ELEMENT_MVAR ||
        kind->element == CLR_ELEMENT_OBJECT)
        kind->element = CLR_ELEMENT_CLASS;
}

/* A signature that becomes the name of the type that shares code for it: of type arguments, all
 * references are System.__Canon. A struct that lies in a field is often loaded in that form only.
 */
struct sharing {
    struct arguments arguments;
    const struct clr_ecma_context *context;
    struct clr_bytes *bytes;
    unsigned depth;
};

static bool write_shared(struct sharing *sharing, struct clr_text *text);

static bool write_shared_argument(void *context, uint32_t index, struct clr_text *text)
{
    (void)index; /* they stand one after the other */
    return write_shared(context, text);
}

/* Of the type behind a handle: an argument of the type that declares the field. */
static bool write_shared_handle(struct sharing *sharing, uint64_t handle, struct clr_text *text)
{
    struct clr_type type;
    uint64_t held;
    uint8_t element = clr_handle_element(sharing->arguments.runtime, handle, &held);
    bool is_reference = element == CLR_ELEMENT_CLASS || element == CLR_ELEMENT_STRING ||
                        element == CLR_ELEMENT_SZARRAY || element == CLR_ELEMENT_ARRAY;
    if (is_reference)
        handle = sharing->arguments.runtime->canon_type;
    else if (held != 0 && clr_type_read(sharing->arguments.runtime, held, &type))
        handle = type.canonical;
    return put_name(sharing->arguments.runtime, handle, text) && element != 0;
}

static bool write_shared(struct sharing *sharing, struct clr_text *text)
{
    struct clr_bytes ahead = *sharing->bytes;
    struct clr_text skipped = {0};
    enum clr_table_id table;
    uint32_t rid, value;
    uint64_t handle;
    uint8_t head = clr_bytes_u8(&ahead), kind = 0;
    if (++sharing->depth > CLR_ECMA_DEPTH)
        return false;
    if (head == CLR_ELEMENT_GENERICINST)
        kind = clr_bytes_u8(&ahead);
    if (kind == CLR_ELEMENT_VALUETYPE) {
        value = clr_metadata_compressed(&ahead);
        struct clr_ecma_arguments arguments = {clr_metadata_compressed(&ahead),
                                               write_shared_argument, sharing};
        *sharing->bytes = ahead;
        if (ahead.bad || !clr_metadata_type_def_or_ref(value, &table, &rid))
            return false;
        return table == CLR_TYPEDEF
                   ? clr_ecma_definition_name(sharing->context->metadata, rid, &arguments, text)
                   : table == CLR_TYPEREF &&
                         clr_ecma_reference_name(sharing->context->metadata, rid, &arguments, text);
    }
    if (head == CLR_ELEMENT_VAR) {
        value = clr_metadata_compressed(&ahead);
        *sharing->bytes = ahead;
        return !ahead.bad &&
               clr_type_argument(sharing->arguments.runtime, &sharing->arguments.type, value,
                                 &handle) &&
               write_shared_handle(sharing, handle, text);
    }
    bool is_reference = head == CLR_ELEMENT_STRING || head == CLR_ELEMENT_OBJECT ||
                        head == CLR_ELEMENT_CLASS || head == CLR_ELEMENT_SZARRAY ||
                        head == CLR_ELEMENT_ARRAY || kind == CLR_ELEMENT_CLASS;
    bool well =
        clr_ecma_signature_type(sharing->context, sharing->bytes, is_reference ? &skipped : text);
    text->failed |= skipped.failed;
    clr_text_deinit(&skipped);
    if (is_reference)
        well = well &&
               put_name(sharing->arguments.runtime, sharing->arguments.runtime->canon_type, text);
    return well;
}

static enum clr_status free_name(struct clr_text *name, struct clr_error *error)
{
    bool failed = name->failed;
    clr_text_deinit(name);
    return failed ? clr_no_memory(error) : CLR_OK;
}

static enum clr_status find_shared(struct clr_runtime *runtime, const struct clr_type_index *index,
                                   const struct clr_field *field, const struct clr_type *declaring,
                                   uint64_t *found, struct clr_error *error)
{
    struct sharing sharing = {.arguments = {runtime, *declaring}};
    struct clr_text name = {0};
    struct clr_bytes rest = {0}, whole;
    if (runtime->canon_type == 0 || signature_head(field, &rest) != CLR_ELEMENT_GENERICINST)
        return CLR_OK;
    struct clr_ecma_context context = signature_context(runtime, field, &sharing.arguments);
    whole = rest;
    whole.at--; /* back before the head */
    sharing.context = &context;
    sharing.bytes = &whole;
    if (write_shared(&sharing, &name) && name.data && !name.failed)
        *found = clr_type_by_name(runtime, index, name.data, declaring->module);
    return free_name(&name, error);
}

enum clr_status clr_field_value_type(struct clr_runtime *runtime,
                                     const struct clr_type_index *index,
                                     const struct clr_field *field, uint64_t *found,
                                     struct clr_error *error)
{
    struct clr_field_kind kind;
    struct clr_text name = {0};
    struct clr_type declaring;
    *found = 0;
    clr_field_kind(runtime, field, &kind);
    if (kind.is_named && kind.type != 0)
        *found = kind.type;
    if (!kind.is_named || kind.type != 0 || !clr_type_read(runtime, field->type, &declaring))
        return CLR_OK;
    if (clr_field_type_name(runtime, field, &name) && name.data)
        *found = clr_type_by_name(runtime, index, name.data, declaring.module);
    CLR_TRY(free_name(&name, error));
    return *found ? CLR_OK : find_shared(runtime, index, field, &declaring, found, error);
}

uint64_t clr_field_struct(struct clr_runtime *runtime, const struct clr_type_index *index,
                          const struct clr_field *field)
{
    uint64_t type;
    return field->element_type == CLR_ELEMENT_VALUETYPE &&
                   clr_field_value_type(runtime, index, field, &type, NULL) == CLR_OK
               ? type
               : 0;
}

uint64_t clr_struct_size(const struct clr_runtime *runtime, const struct clr_type *type)
{
    uint8_t padding;
    if (!clr_field_u8(runtime, type->type_class, runtime->types.class_padding, &padding) ||
        padding > type->base_size)
        return 0;
    return type->base_size - padding;
}

/* The name of the type that has the constructor in column Type of a CustomAttribute row. */
static const char *attribute_name(const struct clr_metadata *metadata, uint32_t constructor,
                                  size_t *length)
{
    enum { TAG = 7, TAG_BITS = 3, IS_METHOD = 2, IS_MEMBER = 3, PARENT_IS_TYPEREF = 1 };
    uint32_t parent, name;
    if ((constructor & TAG) == IS_MEMBER) {
        if (!clr_metadata_cell(metadata, CLR_MEMBERREF, constructor >> TAG_BITS, 0, &parent) ||
            (parent & TAG) != PARENT_IS_TYPEREF ||
            !clr_metadata_cell(metadata, CLR_TYPEREF, parent >> TAG_BITS, 1, &name))
            return NULL;
        return clr_metadata_string(metadata, name, length);
    }
    if ((constructor & TAG) != IS_METHOD)
        return NULL;
    for (uint32_t rid = 1; rid <= metadata->table[CLR_TYPEDEF].count; rid++) {
        uint32_t first, end;
        if (clr_metadata_members(metadata, CLR_METHODDEF, rid, &first, &end) &&
            constructor >> TAG_BITS >= first && constructor >> TAG_BITS < end)
            return clr_metadata_cell(metadata, CLR_TYPEDEF, rid, 1, &name)
                       ? clr_metadata_string(metadata, name, length)
                       : NULL;
    }
    return NULL;
}

bool clr_type_is_inline_array(struct clr_runtime *runtime, const struct clr_type *type)
{
    return clr_type_has_attribute(runtime, type, "InlineArrayAttribute");
}

bool clr_type_has_attribute(struct clr_runtime *runtime, const struct clr_type *type,
                            const char *wanted)
{
    enum { RID = 0xffffff };
    const struct clr_module *module = clr_module_get(runtime, type->module);
    uint32_t parent, value;
    if (!module || !module->has_metadata || (type->token & RID) == 0)
        return false;
    const struct clr_metadata *metadata = &module->metadata;
    if (!clr_metadata_reference(CLR_CUSTOMATTRIBUTE, 0, CLR_TYPEDEF, type->token & RID, &parent))
        return false;
    uint32_t row = clr_metadata_find(metadata, CLR_CUSTOMATTRIBUTE, 0, parent);
    bool sorted = metadata->sorted >> CLR_CUSTOMATTRIBUTE & 1;
    for (; row != 0 && clr_metadata_cell(metadata, CLR_CUSTOMATTRIBUTE, row, 0, &value); row++) {
        size_t length;
        if (value != parent && sorted)
            break;
        const char *name =
            value == parent && clr_metadata_cell(metadata, CLR_CUSTOMATTRIBUTE, row, 1, &value)
                ? attribute_name(metadata, value, &length)
                : NULL;
        if (name && length == strlen(wanted) && memcmp(name, wanted, length) == 0)
            return true;
    }
    return false;
}
