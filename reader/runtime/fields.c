/*
 * Fields: a type's FieldDescs, and their names from metadata.
 *
 * A class owns one array of FieldDescs: its own instance fields, then its statics (thread statics
 * among them). How many is not written anywhere: the count of instance fields is cumulative over
 * the base types, that of statics is not, so
 *
 *     own = NumInstanceFields(class) - NumInstanceFields(class of the base type) + NumStaticFields
 *
 * Instantiations that share code share the class, and so the FieldDescs, of the canonical type:
 * a field's exact type follows from its signature and the instantiation of the type that was asked.
 *
 *   structure   name               meaning                                              since
 *   EEClass     FieldDescList      address of the first FieldDesc                       10
 *               NumInstanceFields  u16, cumulative                                      10
 *               NumStaticFields    u16, own ones                                        10
 *   FieldDesc   "!"                size: the distance from one to the next              11
 *               MTOfEnclosingClass canonical MethodTable of the declaring type          11
 *               DWord1             u32: row id of the Field 0-23, static 24,            11
 *                                  thread static 25, RVA 26, access 27-29
 *               DWord2             u32: offset 0-26, CorElementType 27-31               11
 *   globals     FieldOffsetBigRVA, FieldOffsetDynamicRVA, FieldOffsetNewEnc: values of  11
 *               the offset that say that it is elsewhere
 *
 * Before these releases supplements give the same names; .NET 8 keeps the counts elsewhere
 * (EEClassPackedFields), which clr_class_counts knows.
 *
 * Knowledge: the runtime's docs/design/datacontracts/RuntimeTypeSystem.md; ECMA-335 II.22.15.
 */
#include "runtime/fields.h"

#include <string.h>

#include "runtime/loader.h"

enum { /* DWord1 */
       FIELD_RID = 0x00ffffff,
       FIELD_STATIC = 1 << 24,
       FIELD_THREAD_STATIC = 1 << 25,
       FIELD_RVA = 1 << 26,
       FIELD_PROTECTION_SHIFT = 27,
       FIELD_PROTECTION = 7,
};
enum { /* DWord2 */
       FIELD_OFFSET = 0x07ffffff,
       FIELD_TYPE_SHIFT = 27,
};
enum { /* columns of the metadata table Field */
       FIELD_COLUMN_FLAGS = 0,
       FIELD_COLUMN_NAME = 1,
};
enum { TOKEN_FIELD = 0x04000000 };

bool clr_field_walk_start(struct clr_field_walk *walk, struct clr_runtime *runtime, uint64_t type)
{
    const struct clr_types_layout *layout = &runtime->types;
    memset(walk, 0, sizeof *walk);
    walk->runtime = runtime;
    if (!clr_has(layout->field_size) || layout->field_size == 0 ||
        !clr_type_read(runtime, type, &walk->type))
        return false;
    if (walk->type.kind == CLR_KIND_FREE)
        return true; /* has no class, so no fields */
    struct clr_type parent;
    struct clr_class_counts own, base = {0};
    if (!clr_class_counts(runtime, walk->type.type_class, &own) ||
        !clr_field_word(runtime, walk->type.type_class, layout->class_fields, &walk->next) ||
        (walk->type.parent != 0 && (!clr_type_read(runtime, walk->type.parent, &parent) ||
                                    !clr_class_counts(runtime, parent.type_class, &base)))) {
        clr_problem(runtime->problems, CLR_WARNING, "fields", type, 0,
                    "type 0x%llx: its class or that of its base type is not saved; its fields are "
                    "not known",
                    (unsigned long long)type);
        return false;
    }
    if (base.instance_fields > own.instance_fields) {
        clr_problem(runtime->problems, CLR_WARNING, "fields", type, 0,
                    "type 0x%llx: it has %u instance fields and its base type has %u; its fields "
                    "are left out",
                    (unsigned long long)type, own.instance_fields, base.instance_fields);
        return false;
    }
    walk->left = own.instance_fields - base.instance_fields + own.static_fields;
    if (walk->left > 0) {
        const struct clr_module *module = clr_module_get(runtime, walk->type.module);
        walk->metadata = module && module->has_metadata ? &module->metadata : NULL;
    }
    return true;
}

static void read_metadata(const struct clr_field_walk *walk, struct clr_field *field)
{
    uint32_t rid = field->token & FIELD_RID, name;
    field->metadata = walk->metadata;
    if (!field->metadata)
        return;
    if (!clr_metadata_cell(field->metadata, CLR_FIELDDEF, rid, FIELD_COLUMN_FLAGS,
                           &field->attributes))
        field->attributes = 0;
    if (clr_metadata_cell(field->metadata, CLR_FIELDDEF, rid, FIELD_COLUMN_NAME, &name))
        field->name = clr_metadata_string(field->metadata, name, &field->name_length);
}

bool clr_field_next(struct clr_field_walk *walk, struct clr_field *field)
{
    const struct clr_runtime *r = walk->runtime;
    const struct clr_types_layout *layout = &r->types;
    if (walk->left == 0)
        return false;
    uint32_t dword1, dword2;
    memset(field, 0, sizeof *field);
    field->address = walk->next;
    field->type = walk->type.address;
    if (!clr_field_word(r, field->address, layout->field_enclosing, &field->enclosing) ||
        !clr_field_u32(r, field->address, layout->field_dword1, &dword1) ||
        !clr_field_u32(r, field->address, layout->field_dword2, &dword2)) {
        clr_problem(r->problems, CLR_WARNING, "fields", field->address, layout->field_size,
                    "type 0x%llx: its FieldDesc at 0x%llx is not saved; %u of its fields are left "
                    "out",
                    (unsigned long long)field->type, (unsigned long long)field->address,
                    walk->left);
        walk->left = 0;
        return false;
    }
    if (field->enclosing != walk->type.canonical) {
        clr_problem(r->problems, CLR_WARNING, "fields", field->address, layout->field_size,
                    "type 0x%llx: its FieldDesc at 0x%llx names the type 0x%llx as its own; %u "
                    "fields are left out",
                    (unsigned long long)field->type, (unsigned long long)field->address,
                    (unsigned long long)field->enclosing, walk->left);
        walk->left = 0;
        return false;
    }
    field->token = TOKEN_FIELD | (dword1 & FIELD_RID);
    field->is_static = dword1 & FIELD_STATIC;
    field->is_thread_static = dword1 & FIELD_THREAD_STATIC;
    field->is_rva = dword1 & FIELD_RVA;
    field->protection = (uint8_t)(dword1 >> FIELD_PROTECTION_SHIFT & FIELD_PROTECTION);
    field->offset = dword2 & FIELD_OFFSET;
    field->element_type = (uint8_t)(dword2 >> FIELD_TYPE_SHIFT);
    field->has_offset = field->offset != layout->field_big_rva &&
                        field->offset != layout->field_dynamic_rva &&
                        field->offset != layout->field_new_enc;
    read_metadata(walk, field);
    walk->next += layout->field_size;
    walk->left--;
    return true;
}

void clr_field_name(const struct clr_field *field, struct clr_text *text)
{
    if (field->name)
        clr_text_utf8(text, (const uint8_t *)field->name, field->name_length);
    else
        clr_text_format(text, "0x%08x", field->token);
}

bool clr_field_rva(const struct clr_field *field, uint32_t *rva)
{
    enum { COLUMN_RVA = 0, COLUMN_FIELD = 1 }; /* of the metadata table FieldRVA */
    *rva = field->offset;
    if (field->has_offset)
        return true;
    uint32_t row = field->metadata ? clr_metadata_find(field->metadata, CLR_FIELDRVA, COLUMN_FIELD,
                                                       field->token & FIELD_RID)
                                   : 0;
    return row != 0 && clr_metadata_cell(field->metadata, CLR_FIELDRVA, row, COLUMN_RVA, rva);
}
