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
#include "results.h"
#include "runtime/statics.h"

enum field_column {
    FIELD_TYPE,
    FIELD_NAME,
    FIELD_DECLARING_TYPE,
    FIELD_TOKEN,
    FIELD_OFFSET,
    FIELD_SIZE,
    FIELD_FIELD_TYPE,
    FIELD_KIND,
    FIELD_IS_STATIC,
    FIELD_IS_THREAD_STATIC,
    FIELD_IS_RVA,
    FIELD_IS_LITERAL,
    FIELD_IS_EVENT,
    FIELD_COLUMNS
};

static const struct clr_column field_columns[] = {
    [FIELD_TYPE] = CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "The type that has it.",
                              .flags = CLR_KEY, .refers_to = "types.address"),
    [FIELD_NAME] = CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT), "Its name."),
    [FIELD_DECLARING_TYPE] = CLR_COLUMN("declaring_type", CLR_BY_TABLE(CLR_INTEGER),
                                        "The type, or base type, that declares it.",
                                        .flags = CLR_KEY, .refers_to = "types.address"),
    [FIELD_TOKEN] = CLR_COLUMN("token", CLR_BY_TABLE(CLR_INTEGER),
                               "FieldDef token in the declaring module.", .flags = CLR_KEY),
    [FIELD_OFFSET] =
        CLR_COLUMN("offset", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes after the MethodTable pointer, in a struct from its start; of a static "
                   "from the base of the type's statics, of an RVA field its RVA."),
    [FIELD_SIZE] = CLR_COLUMN("size", CLR_BY_TABLE(CLR_INTEGER), "Bytes that it takes."),
    [FIELD_FIELD_TYPE] = CLR_COLUMN("field_type", CLR_BY_TABLE(CLR_TEXT), "Name of its type."),
    [FIELD_KIND] =
        CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT),
                   "boolean, char, i1 to u8, r4, r8, i, u, string, class, valuetype, szarray, "
                   "array, ptr, fnptr, or byref (a ref field); of an enum the number under it."),
    [FIELD_IS_STATIC] =
        CLR_COLUMN("is_static", CLR_BY_TABLE(CLR_INTEGER), "1: the type has one, not each object."),
    [FIELD_IS_THREAD_STATIC] =
        CLR_COLUMN("is_thread_static", CLR_BY_TABLE(CLR_INTEGER), "1: each thread has one."),
    [FIELD_IS_RVA] =
        CLR_COLUMN("is_rva", CLR_BY_TABLE(CLR_INTEGER), "1: a static that lies in the image."),
    [FIELD_IS_LITERAL] = CLR_COLUMN("is_literal", CLR_BY_TABLE(CLR_INTEGER),
                                    "1: a constant, which only metadata has."),
    [FIELD_IS_EVENT] = CLR_COLUMN("is_event", CLR_BY_TABLE(CLR_INTEGER),
                                  "1: holds the subscribers of the event of the same name."),
    [FIELD_COLUMNS] = CLR_END,
};

enum { FIELDS_BY_TYPE, FIELDS_SCAN };

struct field_cursor {
    struct clr_cursor base;
    const uint64_t *list; /* types that are still to come */
    size_t left;
    const struct clr_layout *layout;
    unsigned level; /* of the base type that MEMBER is of */
    size_t at;      /* the next member there */
    const struct clr_member *member;
};

/* The next field of the layout; false at its end. */
static bool next_member(struct field_cursor *cursor)
{
    const struct clr_layout *layout = cursor->layout;
    while (layout && cursor->level <= layout->depth) {
        const struct clr_layout *part = clr_layout_level(layout, cursor->level);
        size_t count = cursor->level == layout->depth ? part->count : part->instance_count;
        if (cursor->at < count) {
            cursor->member = &part->members[cursor->at++];
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
    base->rowid++;
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
    struct clr_layout *layout;
    cursor->layout = NULL;
    cursor->level = 0;
    cursor->at = 0;
    cursor->left = 0;
    if (query->path == FIELDS_BY_TYPE) {
        CLR_TRY(clr_layout_get(base->dump, (uint64_t)clr_equal_int(query, 0), &layout, error));
        cursor->layout = layout;
    } else {
        CLR_TRY(clr_dump_types(base->dump, base->job, &cursor->list, &cursor->left, error));
    }
    return next_field(base, error);
}

static enum clr_status result_size(struct clr_cursor *base, const struct clr_member *member,
                                   sqlite3_context *context, struct clr_error *error)
{
    uint64_t type;
    uint32_t size = clr_element_size(member->element, base->dump->runtime->word);
    if (member->is_literal)
        return CLR_OK; /* takes none */
    if (size == 0) {
        bool walked = true;
        if (member->is_named && member->type == 0)
            CLR_TRY(clr_try_need(base->dump, CLR_PART_INDEX, base->job, &walked, error));
        if (walked)
            CLR_TRY(clr_member_type(base->dump, member, &type, &size, error));
        if (walked && size == 0)
            clr_problem_once(
                base->dump->problems, CLR_INFO, "fields", false, member->field.address, 0,
                "%.100s of %.200s: its size is not known: its type, %.200s, is not among "
                "the loaded ones",
                member->name, clr_type_name(base->dump->runtime, member->declaring),
                member->type_name ? member->type_name : "which has no name");
    }
    clr_result_known(context, size);
    return CLR_OK;
}

static enum clr_status field_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    const struct field_cursor *cursor = (struct field_cursor *)base;
    const struct clr_member *member = cursor->member;
    const struct clr_field *field = &member->field;
    uint32_t rva;
    switch (column) {
    case FIELD_TYPE: clr_result_u64(context, cursor->layout->type.address); break;
    case FIELD_NAME: clr_result_static(context, member->name); break;
    case FIELD_DECLARING_TYPE: clr_result_u64(context, member->declaring); break;
    case FIELD_TOKEN: clr_result_u64(context, field->token); break;
    case FIELD_OFFSET:
        if (field->is_rva && clr_field_rva(field, &rva))
            clr_result_u64(context, rva);
        else if (field->has_offset)
            clr_result_u64(context, field->offset);
        break;
    case FIELD_SIZE: return result_size(base, member, context, error);
    case FIELD_FIELD_TYPE:
        clr_result_static(context, member->type_name);
        if (!member->type_name) /* one a module */
            clr_problem_once(base->dump->problems, CLR_WARNING, "fields", false,
                             cursor->layout->type.module, 0,
                             "%.200s: the types of its fields are not known: the metadata of its "
                             "module was not found or is damaged",
                             clr_type_name(base->dump->runtime, member->declaring));
        break;
    case FIELD_KIND: clr_result_static(context, clr_element_text(member->element)); break;
    case FIELD_IS_STATIC: clr_result_bool(context, field->is_static); break;
    case FIELD_IS_THREAD_STATIC: clr_result_bool(context, field->is_thread_static); break;
    case FIELD_IS_RVA: clr_result_bool(context, field->is_rva); break;
    case FIELD_IS_LITERAL: clr_result_bool(context, member->is_literal); break;
    case FIELD_IS_EVENT: clr_result_bool(context, member->is_event); break;
    }
    return CLR_OK;
}

static const struct clr_path field_paths[] = {
    [FIELDS_BY_TYPE] = {.key = {{FIELD_TYPE, CLR_EQ}}, .order = FIELD_TYPE, .rows = 20},
    [FIELDS_SCAN] = {.order = FIELD_TYPE, .needs = CLR_PART_RUNTIME, .rows = 24000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_fields = {
    .name = "fields",
    .doc =
        "Fields of types: instance fields with the inherited ones, and own statics and constants.",
    .example = "SELECT f.name, f.field_type, f.offset FROM types AS t JOIN fields AS f ON f.type = "
               "t.address WHERE t.name = 'System.String'",
    .columns = field_columns,
    .paths = field_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct field_cursor),
    .start = start_fields,
    .next = next_field,
    .column = field_column,
};
