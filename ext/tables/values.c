/*
 * field_values, elements: what is in one object. Both exist for a given object only.
 *
 * field_values goes down to the fields that have values (inspect/leaves.c), elements through arrays
 * and the library's collections (inspect/elements.c); values are those of inspect/value.c.
 */
#include "cache.h"
#include "inspect/describe.h"
#include "inspect/elements.h"
#include "inspect/leaves.h"
#include "results.h"
#include "runtime/object.h"

/* --- field_values ------------------------------------------------------------------------------
 */

enum value_column {
    VALUE_OBJECT,
    VALUE_ROW,
    VALUE_FIELD,
    VALUE_DECLARING_TYPE,
    VALUE_FIELD_TYPE,
    VALUE_KIND,
    VALUE_VALUE,
    VALUE_TARGET,
    VALUE_ADDRESS,
    VALUE_COLUMNS
};

static const struct clr_column value_columns[] = {
    [VALUE_OBJECT] = CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The object.",
                                .flags = CLR_KEY | CLR_REQUIRED, .refers_to = "objects.address"),
    [VALUE_ROW] = CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                             "Number of the row, from 0: base types first.", .flags = CLR_KEY),
    [VALUE_FIELD] = CLR_COLUMN("field", CLR_BY_TABLE(CLR_TEXT),
                               "Path of the field: Next, Bread.First, Inline[0]; NULL for a boxed "
                               "date and the like, which are one value."),
    [VALUE_DECLARING_TYPE] = CLR_COLUMN("declaring_type", CLR_BY_TABLE(CLR_INTEGER),
                                        "The type that declares the last field of the path.",
                                        .refers_to = "types.address"),
    [VALUE_FIELD_TYPE] =
        CLR_COLUMN("field_type", CLR_BY_TABLE(CLR_TEXT), "Name of the field's type."),
    [VALUE_KIND] = CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT), "As fields.kind."),
    [VALUE_VALUE] = CLR_COLUMN("value", CLR_BY_TABLE(CLR_ANY),
                               "A number, or text: of strings, characters, enums, dates, guids, "
                               "decimals; NULL for other references, and where there is none."),
    [VALUE_TARGET] = CLR_COLUMN("target", CLR_BY_TABLE(CLR_INTEGER),
                                "The object that a reference holds, 0 for null; NULL for others.",
                                .refers_to = "objects.address"),
    [VALUE_ADDRESS] = CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER), "Address of the field."),
    [VALUE_COLUMNS] = CLR_END,
};

struct value_cursor {
    struct clr_cursor base;
    uint64_t object;
    struct clr_leaf_walk walk;
    struct clr_leaf leaf;
    struct clr_value value;
    bool is_read; /* VALUE is that of LEAF */
};

static enum clr_status next_value(struct clr_cursor *base, struct clr_error *error)
{
    struct value_cursor *cursor = (struct value_cursor *)base;
    bool found;
    base->row++;
    cursor->is_read = false;
    CLR_TRY(clr_leaf_walk_next(&cursor->walk, &cursor->leaf, &found, error));
    base->eof = !found;
    return CLR_OK;
}

static enum clr_status start_values(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct value_cursor *cursor = (struct value_cursor *)base;
    struct clr_layout *layout;
    clr_leaf_walk_finish(&cursor->walk);
    cursor->object = (uint64_t)clr_equal_int(query, 0);
    CLR_TRY(clr_object_layout(base->dump, cursor->object, &layout, error));
    base->row = -1;
    base->eof = !layout;
    if (base->eof)
        return CLR_OK;
    clr_leaf_walk_start(&cursor->walk, base->dump, cursor->object, layout);
    return next_value(base, error);
}

static void finish_values(struct clr_cursor *base)
{
    struct value_cursor *cursor = (struct value_cursor *)base;
    clr_leaf_walk_finish(&cursor->walk);
    clr_value_deinit(&cursor->value);
}

static void report_lost(struct clr_dump *dump, const char *table, uint64_t object,
                        const struct clr_place *place, const struct clr_value *value)
{
    if (value->lost)
        clr_problem_once(dump->problems, CLR_WARNING, table, false, place->address, 0,
                         "object 0x%llx: the value at 0x%llx is not known: %s",
                         (unsigned long long)object, (unsigned long long)place->address,
                         value->lost);
}

/* Reads a place, and reports once what is not known. */
static enum clr_status read_value(struct clr_dump *dump, const char *table, uint64_t object,
                                  const struct clr_place *place, struct clr_value *value,
                                  struct clr_error *error)
{
    CLR_TRY(clr_value_read(dump, place, value, error));
    report_lost(dump, table, object, place, value);
    return CLR_OK;
}

static enum clr_status value_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    struct value_cursor *cursor = (struct value_cursor *)base;
    const struct clr_leaf *leaf = &cursor->leaf;
    if ((column == VALUE_VALUE || column == VALUE_TARGET) && !cursor->is_read) {
        CLR_TRY(read_value(base->dump, "field_values", cursor->object, &leaf->place, &cursor->value,
                           error));
        cursor->is_read = true;
    }
    switch (column) {
    case VALUE_OBJECT: clr_result_u64(context, cursor->object); break;
    case VALUE_ROW: sqlite3_result_int64(context, base->row); break;
    case VALUE_FIELD:
        if (leaf->path)
            sqlite3_result_text(context, leaf->path, -1, SQLITE_TRANSIENT);
        break;
    case VALUE_DECLARING_TYPE: clr_result_u64(context, leaf->declaring); break;
    case VALUE_FIELD_TYPE: clr_result_static(context, leaf->type_name); break;
    case VALUE_KIND: clr_result_static(context, clr_element_text(leaf->place.element)); break;
    case VALUE_VALUE:
        clr_result_value(context, base->dump, "field_values", leaf->place.address, &cursor->value);
        break;
    case VALUE_TARGET:
        if (cursor->value.is_reference)
            clr_result_u64(context, cursor->value.target);
        break;
    case VALUE_ADDRESS: clr_result_u64(context, leaf->place.address); break;
    }
    return CLR_OK;
}

static const struct clr_path value_paths[] = {
    {.key = {{VALUE_OBJECT, CLR_EQ}}, .order = VALUE_ROW, .rows = 20},
    CLR_PATHS_END,
};

const struct clr_table clr_table_field_values = {
    .name = "field_values",
    .doc = "The fields of one object with their values; structs in it by dotted names.",
    .example = "SELECT field, field_type, value FROM field_values WHERE object = (SELECT "
               "min(address) FROM objects WHERE type_name = 'Zoo.Node')",
    .columns = value_columns,
    .paths = value_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_OBJECT,
    .cursor_size = sizeof(struct value_cursor),
    .start = start_values,
    .next = next_value,
    .finish = finish_values,
    .column = value_column,
};

/* --- elements ----------------------------------------------------------------------------------
 */

enum element_column {
    ELEMENT_OBJECT,
    ELEMENT_ROW,
    ELEMENT_POSITION,
    ELEMENT_INDICES,
    ELEMENT_KEY,
    ELEMENT_KEY_TARGET,
    ELEMENT_KIND,
    ELEMENT_VALUE,
    ELEMENT_TARGET,
    ELEMENT_ADDRESS,
    ELEMENT_COLUMNS
};

static const struct clr_column element_columns[] = {
    [ELEMENT_OBJECT] = CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER),
                                  "An array or one of .NET's collections, as in collections. "
                                  "Another is an error where the query names it by number; in a "
                                  "join it has no rows, and its type is a row of problems.",
                                  .flags = CLR_KEY | CLR_REQUIRED, .refers_to = "objects.address"),
    [ELEMENT_ROW] = CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                               "Number of the element, from 0, as it is stored.", .flags = CLR_KEY),
    [ELEMENT_POSITION] = CLR_COLUMN("position", CLR_BY_TABLE(CLR_INTEGER),
                                    "The same, where the collection has an order; NULL where it "
                                    "has none, such as in a Hashtable, "
                                    "a ConcurrentBag or a frozen set. Dictionary and HashSet: the "
                                    "order of insertion, as long as "
                                    "nothing was removed."),
    [ELEMENT_INDICES] = CLR_COLUMN(
        "indices", CLR_BY_TABLE(CLR_TEXT),
        "Of an array: its indices with the lower bounds, such as 3 or 0,-1; NULL for collections."),
    [ELEMENT_KEY] =
        CLR_COLUMN("key", CLR_BY_TABLE(CLR_ANY),
                   "Its key's value, where there are keys; of a PriorityQueue the priority."),
    [ELEMENT_KEY_TARGET] =
        CLR_COLUMN("key_target", CLR_BY_TABLE(CLR_INTEGER), "The key, if that is a reference.",
                   .refers_to = "objects.address"),
    [ELEMENT_KIND] = CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT), "Of the value: as fields.kind."),
    [ELEMENT_VALUE] =
        CLR_COLUMN("value", CLR_BY_TABLE(CLR_ANY),
                   "As field_values.value; of a struct with fields of its own one readable line."),
    [ELEMENT_TARGET] = CLR_COLUMN("target", CLR_BY_TABLE(CLR_INTEGER),
                                  "The object that a reference holds, 0 for null; NULL for others.",
                                  .refers_to = "objects.address"),
    [ELEMENT_ADDRESS] =
        CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER), "Address of the element or its value."),
    [ELEMENT_COLUMNS] = CLR_END,
};

enum {
    ELEMENTS_BY_ROW,
    ELEMENTS_BY_ROWS,
    ELEMENTS_BY_POSITION,
    ELEMENTS_BY_POSITIONS,
    ELEMENTS_BY_OBJECT
};

struct element_cursor {
    struct clr_cursor base;
    uint64_t object;
    struct clr_elements elements;
    struct clr_item item;
    int64_t last; /* position */
    struct clr_value key, value;
    bool key_is_read, value_is_read;
    struct clr_text text;
};

static enum clr_status next_element(struct clr_cursor *base, struct clr_error *error)
{
    struct element_cursor *cursor = (struct element_cursor *)base;
    bool found;
    cursor->key_is_read = cursor->value_is_read = false;
    CLR_TRY(clr_elements_next(&cursor->elements, &cursor->item, &found, error));
    base->eof = !found || cursor->item.position > cursor->last;
    return CLR_OK;
}

/* Starts. What is no collection, or has a layout that is not known, must not end a join: it is a
 * problem of its type, unless the query names it itself. */
static enum clr_status open_elements(struct clr_dump *dump, struct clr_job *job, uint64_t object,
                                     bool is_constant, struct clr_elements *elements, bool *found,
                                     struct clr_error *error)
{
    struct clr_error own = {0};
    uint64_t type = 0;
    enum clr_status status = clr_elements_start(elements, dump, job, object, found, &own);
    if (status == CLR_OK)
        return CLR_OK;
    if (is_constant || (status != CLR_MISUSE && status != CLR_UNSUPPORTED))
        return clr_fail(error, status, own.address, "%s", own.text);
    *found = false;
    clr_elements_finish(elements);
    clr_object_type(dump->runtime, object, &type);
    clr_problem_of(dump->problems, CLR_WARNING, "elements", type, false, object, 0,
                   "no elements of any %.120s are given. The first one: %s",
                   clr_type_name(dump->runtime, type), own.text);
    return CLR_OK;
}

static enum clr_status start_elements(struct clr_cursor *base, const struct clr_query *query,
                                      struct clr_error *error)
{
    struct element_cursor *cursor = (struct element_cursor *)base;
    bool found;
    clr_elements_finish(&cursor->elements);
    cursor->object = (uint64_t)clr_equal_int(query, 0);
    cursor->last = INT64_MAX;
    CLR_TRY(open_elements(base->dump, base->job, cursor->object, query->is_constant,
                          &cursor->elements, &found, error));
    base->eof = !found;
    if (!found)
        return CLR_OK;
    if (query->path == ELEMENTS_BY_OBJECT)
        return next_element(base, error);
    bool by_row = query->path == ELEMENTS_BY_ROW || query->path == ELEMENTS_BY_ROWS;
    if (!by_row && cursor->elements.unordered) {
        base->eof = true; /* no position */
        return CLR_OK;
    }
    bool one = query->path == ELEMENTS_BY_POSITION || query->path == ELEMENTS_BY_ROW;
    int64_t first = one ? clr_equal_int(query, 1) : query->low;
    cursor->last = one ? first : query->high;
    if (first > 0)
        clr_elements_seek(&cursor->elements, (uint64_t)first);
    do /* collections have to be gone through */
        CLR_TRY(next_element(base, error));
    while (!base->eof && cursor->item.position < first);
    return CLR_OK;
}

static void finish_elements(struct clr_cursor *base)
{
    struct element_cursor *cursor = (struct element_cursor *)base;
    clr_elements_finish(&cursor->elements);
    clr_value_deinit(&cursor->key);
    clr_value_deinit(&cursor->value);
    clr_text_deinit(&cursor->text);
}

/* A value, or the line that stands for a struct. */
static enum clr_status result_place(struct element_cursor *cursor, const struct clr_place *place,
                                    const struct clr_value *value, sqlite3_context *context,
                                    struct clr_error *error)
{
    if (value->kind != CLR_VALUE_STRUCT) {
        clr_result_value(context, cursor->base.dump, "elements", place->address, value);
        return CLR_OK;
    }
    clr_text_clear(&cursor->text);
    CLR_TRY(clr_place_text(cursor->base.dump, place, &cursor->text, error));
    if (cursor->text.failed)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory for an element");
    clr_result_copy(context, cursor->text.data, cursor->text.length);
    return CLR_OK;
}

static enum clr_status element_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                      struct clr_error *error)
{
    struct element_cursor *cursor = (struct element_cursor *)base;
    const struct clr_item *item = &cursor->item;
    bool of_key = column == ELEMENT_KEY || column == ELEMENT_KEY_TARGET;
    bool of_value = column == ELEMENT_VALUE || column == ELEMENT_TARGET;
    if (of_key && item->has_key && !cursor->key_is_read) {
        CLR_TRY(
            read_value(base->dump, "elements", cursor->object, &item->key, &cursor->key, error));
        cursor->key_is_read = true;
    }
    if (of_value && !cursor->value_is_read) {
        CLR_TRY(clr_elements_value(&cursor->elements, item, &cursor->value, error));
        report_lost(base->dump, "elements", cursor->object, &item->value, &cursor->value);
        cursor->value_is_read = true;
    }
    switch (column) {
    case ELEMENT_OBJECT: clr_result_u64(context, cursor->object); break;
    case ELEMENT_ROW: sqlite3_result_int64(context, item->position); break;
    case ELEMENT_POSITION:
        if (!cursor->elements.unordered)
            sqlite3_result_int64(context, item->position);
        break;
    case ELEMENT_INDICES:
        if (cursor->elements.collection || cursor->elements.within != cursor->object)
            break;
        clr_text_clear(&cursor->text);
        clr_array_indices(base->dump, &cursor->elements.array, (uint64_t)item->position,
                          &cursor->text);
        clr_result_copy(context, cursor->text.data, cursor->text.length);
        break;
    case ELEMENT_KEY:
        return item->has_key ? result_place(cursor, &item->key, &cursor->key, context, error)
                             : CLR_OK;
    case ELEMENT_KEY_TARGET:
        if (item->has_key && cursor->key.is_reference)
            clr_result_u64(context, cursor->key.target);
        break;
    case ELEMENT_KIND: clr_result_static(context, clr_element_text(item->value.element)); break;
    case ELEMENT_VALUE: return result_place(cursor, &item->value, &cursor->value, context, error);
    case ELEMENT_TARGET:
        if (cursor->value.is_reference)
            clr_result_u64(context, cursor->value.target);
        break;
    case ELEMENT_ADDRESS: clr_result_u64(context, item->value.address); break;
    }
    return CLR_OK;
}

static const struct clr_path element_paths[] = {
    [ELEMENTS_BY_ROW] = {.key = {{ELEMENT_OBJECT, CLR_EQ}, {ELEMENT_ROW, CLR_EQ}},
                         .order = ELEMENT_ROW,
                         .unique = true,
                         .rows = 1},
    [ELEMENTS_BY_ROWS] = {.key = {{ELEMENT_OBJECT, CLR_EQ}, {ELEMENT_ROW, CLR_RANGE}},
                          .order = ELEMENT_ROW,
                          .rows = 5},
    [ELEMENTS_BY_POSITION] = {.key = {{ELEMENT_OBJECT, CLR_EQ}, {ELEMENT_POSITION, CLR_EQ}},
                              .order = ELEMENT_POSITION,
                              .unique = true,
                              .rows = 1},
    [ELEMENTS_BY_POSITIONS] = {.key = {{ELEMENT_OBJECT, CLR_EQ}, {ELEMENT_POSITION, CLR_RANGE}},
                               .order = ELEMENT_POSITION,
                               .rows = 5},
    [ELEMENTS_BY_OBJECT] = {.key = {{ELEMENT_OBJECT, CLR_EQ}},
                            .order = ELEMENT_POSITION,
                            .rows = 20},
    CLR_PATHS_END,
};

const struct clr_table clr_table_elements = {
    .name = "elements",
    .doc = "The elements of one array or collection; dictionaries with their keys. What is served, "
           "with how many: collections.",
    .example = "SELECT position, key, target FROM elements WHERE object = (SELECT max(address) "
               "FROM objects WHERE type_name = "
               "'System.Collections.Generic.Dictionary<System.String, Zoo.Node>') LIMIT 5",
    .columns = element_columns,
    .paths = element_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_OBJECT,
    .cursor_size = sizeof(struct element_cursor),
    .start = start_elements,
    .next = next_element,
    .finish = finish_elements,
    .column = element_column,
};
