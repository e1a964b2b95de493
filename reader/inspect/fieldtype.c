/*
 * A field's type stands in its signature, in terms of the declaring module: tokens of that module and
 * type variables. It is turned into the type's full name, with the variables replaced by the
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

enum clr_status clr_type_index_create(struct clr_dump *dump, struct clr_type_index **out,
                                      struct clr_error *error)
{
    const uint64_t *types;
    size_t count;
    *out = NULL;
    CLR_TRY(clr_heap_types(dump->heap, dump->runtime, &types, &count, error));
    struct clr_type_index *index = clr_alloc(1, sizeof *index);
    if (!index || !(index->entries = clr_alloc(count, sizeof *index->entries))) {
        clr_free(index);
        return clr_fail(error, CLR_NOMEM, 0, "out of memory for the names of types");
    }
    for (size_t i = 0; i < count; i++) {
        struct clr_type type;
        if (!clr_type_read(dump->runtime, types[i], &type))
            continue;
        index->entries[index->count++] =
            (struct entry){clr_type_name(dump->runtime, types[i]), types[i], type.module,
                           type.is_collectible};
    }
    if (index->count)
        qsort(index->entries, index->count, sizeof *index->entries, by_name);
    *out = index;
    return CLR_OK;
}

void clr_type_index_destroy(struct clr_type_index *index)
{
    if (index)
        clr_free(index->entries);
    clr_free(index);
}

uint64_t clr_type_by_name(const struct clr_type_index *index, const char *name, uint64_t module)
{
    size_t low = 0, high = index->count;
    uint64_t found = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(index->entries[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < index->count && strcmp(index->entries[low].name, name) == 0; low++) {
        const struct entry *entry = &index->entries[low];
        if (entry->module == module)
            return entry->type;
        if (found == 0 || !entry->collectible)
            found = entry->type;
    }
    return found;
}

struct arguments {
    struct clr_runtime *runtime;
    struct clr_type type;
};

static bool write_variable(void *context, bool of_method, uint32_t index, struct clr_text *text)
{
    struct arguments *arguments = context;
    uint64_t handle;
    if (of_method || !clr_type_argument(arguments->runtime, &arguments->type, index, &handle))
        return false;
    clr_text_put(text, clr_handle_type_name(arguments->runtime, handle));
    return true;
}

static bool write_handle(void *context, uint64_t handle, struct clr_text *text)
{
    struct arguments *arguments = context;
    clr_text_put(text, clr_handle_type_name(arguments->runtime, handle));
    return true;
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
    struct clr_ecma_context context = {.metadata = field->metadata, .variable = write_variable,
                                       .handle = write_handle, .context = &arguments,
                                       .type_rid = arguments.type.token & RID,
                                       .word = runtime->word,
                                       .swapped = clr_process_info(runtime->process)->swapped};
    return clr_ecma_field_signature(&context, clr_metadata_blob(field->metadata, blob), text);
}

uint64_t clr_field_struct(struct clr_runtime *runtime, const struct clr_type_index *index,
                          const struct clr_field *field)
{
    struct clr_text name = {0};
    struct clr_type type;
    uint64_t found = 0;
    if (field->element_type == CLR_ELEMENT_VALUETYPE && clr_type_read(runtime, field->type, &type) &&
        clr_field_type_name(runtime, field, &name) && name.data)
        found = clr_type_by_name(index, name.data, type.module);
    clr_text_deinit(&name);
    return found;
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
    enum { RID = 0xffffff, PARENT_TAG_BITS = 5, PARENT_IS_TYPEDEF = 3 };
    static const char wanted[] = "InlineArrayAttribute";
    const struct clr_module *module = clr_module_get(runtime, type->module);
    if (!module || !module->has_metadata || (type->token & RID) == 0)
        return false;
    const struct clr_metadata *metadata = &module->metadata;
    uint32_t parent = (type->token & RID) << PARENT_TAG_BITS | PARENT_IS_TYPEDEF, value;
    for (uint32_t row = clr_metadata_find(metadata, CLR_CUSTOMATTRIBUTE, 0, parent);
         row != 0 && clr_metadata_cell(metadata, CLR_CUSTOMATTRIBUTE, row, 0, &value) &&
         value == parent;
         row++) {
        size_t length;
        const char *name =
            clr_metadata_cell(metadata, CLR_CUSTOMATTRIBUTE, row, 1, &value)
                ? attribute_name(metadata, value, &length)
                : NULL;
        if (name && length == sizeof wanted - 1 && memcmp(name, wanted, length) == 0)
            return true;
    }
    return false;
}
