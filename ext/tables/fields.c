/*
 * fields: what the objects of a type consist of, its statics, and its constants.
 *
 * A type's rows are those of its layout (inspect/layout.c): the instance fields of its base types,
 * the topmost first, then all that it declares itself. Names and types come from metadata, so
 * asking for one type needs no walk; only the size of a struct does, because the struct is found by
 * its name.
 */
#include "cache.h"
#include "inspect/layout.h"
#include "runtime/statics.h"

enum { FIELDS_BY_TYPE, FIELDS_SCAN };

struct field_cursor {
    struct clr_cursor base;
    const uint64_t *list; /* types that are still to come */
    size_t left;
    const struct clr_layout *layout;
    unsigned level; /* of the base type that MEMBER is of */
    size_t at;      /* the next member there */
};

/* The next field of the layout; false at its end. */
static bool next_member(struct field_cursor *cursor)
{
    const struct clr_layout *layout = cursor->layout;
    while (layout && cursor->level <= layout->depth) {
        const struct clr_layout *part = clr_layout_level(layout, cursor->level);
        size_t count = cursor->level == layout->depth ? part->count : part->instance_count;
        if (cursor->at < count) {
            cursor->base.element = &part->members[cursor->at++];
            return true;
        }
        cursor->level++;
        cursor->at = 0;
    }
    return false;
}

static enum clr_status next_field(struct clr_cursor *base, struct clr_error *error)
{
    struct field_cursor *cursor = (struct field_cursor *)base;
    while (!next_member(cursor)) {
        struct clr_layout *layout;
        base->eof = cursor->left == 0;
        if (base->eof)
            return CLR_OK;
        CLR_TRY(clr_job_poll(base->job, "reading fields", 0, cursor->left, error));
        CLR_TRY(clr_layout_get(base->dump, *cursor->list++, &layout, error));
        cursor->left--;
        cursor->layout = layout;
        cursor->level = 0;
        cursor->at = 0;
    }
    base->eof = false;
    return CLR_OK;
}

static enum clr_status start_fields(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct field_cursor *cursor = (struct field_cursor *)base;
    uint64_t type = (uint64_t)clr_equal_int(query, 0);
    struct clr_layout *layout;
    bool listed;
    if (query->path == FIELDS_BY_TYPE) {
        CLR_TRY(clr_dump_has_type(base->dump, base->job, type, &listed, error));
        if (listed) {
            CLR_TRY(clr_layout_get(base->dump, type, &layout, error));
            cursor->layout = layout;
        }
    } else {
        CLR_TRY(clr_dump_types(base->dump, base->job, &cursor->list, &cursor->left, error));
    }
    return next_field(base, error);
}

/* The type whose row it is, which may inherit it. */
static const struct clr_type *type_of(struct clr_cursor *base)
{
    return &((struct field_cursor *)base)->layout->type;
}

CLR_NUMBER_FUNCTION(field_type)
{
    return type_of(cursor)->address;
}

CLR_NUMBER_FUNCTION(field_offset)
{
    const struct clr_field *field = &((const struct clr_member *)row)->field;
    uint32_t rva;
    if (field->is_rva && clr_field_rva(field, &rva))
        return rva;
    return field->has_offset ? field->offset : CLR_ABSENT;
}

CLR_VALUE_FUNCTION(field_size)
{
    const struct clr_member *member = row;
    struct clr_dump *dump = cursor->dump;
    uint64_t type;
    uint32_t size = clr_element_size(member->element, dump->runtime->word);
    bool walked = true;
    if (member->is_literal)
        return CLR_OK; /* takes none */
    if (size == 0) {
        if (member->is_named && member->type == 0)
            CLR_TRY(clr_try_need(dump, CLR_PART_INDEX, cursor->job, &walked, error));
        if (walked)
            CLR_TRY(clr_member_type(dump, member, &type, &size, error));
        if (walked && size == 0)
            clr_problem_once(
                dump->problems, CLR_INFO, "fields", false, member->field.address, 0,
                "%.100s of %.200s: its size is not known: its type, %.200s, is not among "
                "the loaded ones",
                member->name, clr_type_name(dump->runtime, member->declaring),
                member->type_name ? member->type_name : "which has no name");
    }
    clr_result_known(context, size);
    return CLR_OK;
}

CLR_WORD_FUNCTION(field_field_type)
{
    const struct clr_member *member = row;
    if (!member->type_name) /* one a module */
        clr_problem_once(cursor->dump->problems, CLR_WARNING, "fields", false,
                         type_of(cursor)->module, 0,
                         "%.200s: the types of its fields are not known: the metadata of its "
                         "module was not found or is damaged",
                         clr_type_name(cursor->dump->runtime, member->declaring));
    return member->type_name;
}

CLR_WORD_FUNCTION(field_kind)
{
    return clr_element_text(((const struct clr_member *)row)->element);
}

enum { FIELD_TYPE };

static const struct clr_column columns[] = {
    CLR_COLUMN("type", CLR_NUMBER_BY(field_type), "The type that has it.", .flags = CLR_KEY,
               .refers_to = "types.address"),
    CLR_COLUMN("name", CLR_STATIC_TEXT(clr_member, name), "Its name."),
    CLR_COLUMN("declaring_type", CLR_NUMBER(clr_member, declaring),
               "The type, or base type, that declares it.", .flags = CLR_KEY,
               .refers_to = "types.address"),
    CLR_COLUMN("token", CLR_NUMBER(clr_member, field.token),
               "FieldDef token in the declaring module.", .flags = CLR_KEY),
    CLR_COLUMN("offset", CLR_NUMBER_BY(field_offset),
               "Bytes after the MethodTable pointer, in a struct from its start; of a static from "
               "the base of the type's statics, of an RVA field its RVA."),
    CLR_COLUMN("size", CLR_VALUE_BY(CLR_INTEGER, field_size), "Bytes that it takes."),
    CLR_COLUMN("field_type", CLR_WORD_BY(field_field_type), "Name of its type."),
    CLR_COLUMN("kind", CLR_WORD_BY(field_kind),
               "boolean, char, i1 to u8, r4, r8, i, u, string, class, valuetype, szarray, array, "
               "ptr, fnptr, or byref (a ref field); of an enum the number under it."),
    CLR_COLUMN("is_static", CLR_NUMBER(clr_member, field.is_static),
               "1: the type has one, not each object."),
    CLR_COLUMN("is_thread_static", CLR_NUMBER(clr_member, field.is_thread_static),
               "1: each thread has one."),
    CLR_COLUMN("is_rva", CLR_NUMBER(clr_member, field.is_rva),
               "1: a static that lies in the image."),
    CLR_COLUMN("is_literal", CLR_NUMBER(clr_member, is_literal),
               "1: a constant, which only metadata has."),
    CLR_COLUMN("is_event", CLR_NUMBER(clr_member, is_event),
               "1: holds the subscribers of the event of the same name."),
    CLR_END,
};

static const struct clr_path paths[] = {
    [FIELDS_BY_TYPE] = {.key = {{FIELD_TYPE, CLR_EQ}}, .order = FIELD_TYPE, .rows = 20},
    [FIELDS_SCAN] = {.order = FIELD_TYPE, .rows = 24000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_fields = {
    .name = "fields",
    .doc =
        "Fields of types: instance fields with the inherited ones, and own statics and constants.",
    .example = "SELECT f.name, f.field_type, f.offset FROM types AS t JOIN fields AS f ON f.type = "
               "t.address WHERE t.name = 'System.String'",
    .columns = columns,
    .paths = paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct field_cursor),
    .start = start_fields,
    .next = next_field,
};
