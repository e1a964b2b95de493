/*
 * collections: the arrays and collections that `elements` serves. Which types are such is asked once
 * a type; each object is opened as `elements` would, so that what is listed has elements or is empty.
 */
#include "base/alloc.h"
#include "cache.h"
#include "inspect/elements.h"
#include "table.h"

enum collection_column {
    COLLECTION_OBJECT,
    COLLECTION_TYPE,
    COLLECTION_TYPE_NAME,
    COLLECTION_KIND,
    COLLECTION_ELEMENT_COUNT,
    COLLECTION_CAPACITY,
    COLLECTION_FILL_RATIO,
    COLLECTION_COLUMNS
};

static const struct clr_column collection_columns[] = {
    [COLLECTION_OBJECT] =
        CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The array or collection.",
                   .flags = CLR_KEY, .refers_to = "objects.address"),
    [COLLECTION_TYPE] =
        CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "Its type.", .refers_to = "types.address"),
    [COLLECTION_TYPE_NAME] = CLR_COLUMN("type_name", CLR_BY_TABLE(CLR_TEXT), "Name of its type."),
    [COLLECTION_KIND] =
        CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT),
                   "array, or the class of .NET that it is or derives from, without its namespace: "
                   "List, Dictionary, Dictionary+KeyCollection."),
    [COLLECTION_ELEMENT_COUNT] = CLR_COLUMN(
        "element_count", CLR_BY_TABLE(CLR_INTEGER),
        "Rows that elements has of it; of hash tables, trees and chains they are counted."),
    [COLLECTION_CAPACITY] = CLR_COLUMN(
        "capacity", CLR_BY_TABLE(CLR_INTEGER),
        "Elements that the array beneath has room for; NULL where there is none that grows "
        "with them, and for arrays."),
    [COLLECTION_FILL_RATIO] = CLR_COLUMN("fill_ratio", CLR_BY_TABLE(CLR_REAL),
                                         "element_count / capacity; NULL where that is NULL or 0."),
    [COLLECTION_COLUMNS] = CLR_END,
};

enum { COLLECTIONS_BY_OBJECT, COLLECTIONS_BY_TYPE, COLLECTIONS_ALL };

enum asked { NOT_ASKED, NONE, COLLECTION };

struct collection_cursor {
    struct clr_cursor base;
    uint8_t *asked; /* per shape: enum asked */
    struct clr_object_scan scan;
    const uint32_t *numbers; /* of one type; NULL: SCAN */
    size_t left;
    uint64_t seen;
    struct clr_object object;
    struct clr_elements elements;
    const char *kind;
    bool is_counted;
    uint64_t count;
};

static bool next_candidate(struct collection_cursor *cursor)
{
    if (!cursor->numbers)
        return clr_object_scan_next(&cursor->scan, &cursor->object);
    while (cursor->left > 0) {
        cursor->left--;
        if (clr_object_read(cursor->base.dump->heap, *cursor->numbers++, &cursor->object))
            return true;
    }
    return false;
}

/* Opens the object as elements does. *IS false: it is no collection, or one that is not served, which
 * then is a problem of its type. */
static enum clr_status open_collection(struct collection_cursor *cursor, bool *is,
                                       struct clr_error *error)
{
    struct clr_dump *dump = cursor->base.dump;
    struct clr_error own = {0};
    uint64_t object = cursor->object.address;
    uint8_t *asked = &cursor->asked[cursor->object.shape];
    cursor->is_counted = false;
    *is = false;
    if (*asked == NONE)
        return CLR_OK;
    CLR_TRY(clr_collection_kind(dump, object, &cursor->kind, error));
    *asked = cursor->kind ? COLLECTION : NONE;
    if (!cursor->kind)
        return CLR_OK;
    clr_elements_finish(&cursor->elements);
    enum clr_status status =
        clr_elements_start(&cursor->elements, dump, cursor->base.job, object, is, &own);
    if (status == CLR_OK)
        return CLR_OK;
    if (status != CLR_MISUSE && status != CLR_UNSUPPORTED)
        return clr_fail(error, status, own.address, "%s", own.text);
    *is = false;
    clr_problem_of(dump->problems, CLR_WARNING, "collections", cursor->object.type, false, object,
                   0, "some %.120s are left out. The first one: %s",
                   clr_type_name(dump->runtime, cursor->object.type), own.text);
    return CLR_OK;
}

static enum clr_status next_collection(struct clr_cursor *base, struct clr_error *error)
{
    enum { BETWEEN_POLLS = 4096 };
    struct collection_cursor *cursor = (struct collection_cursor *)base;
    bool is = false;
    base->eof = true;
    while (!is && next_candidate(cursor)) {
        if (++cursor->seen % BETWEEN_POLLS == 0)
            CLR_TRY(clr_job_poll(base->job, "looking for collections", cursor->seen,
                                 clr_heap_count(base->dump->heap), error));
        CLR_TRY(open_collection(cursor, &is, error));
    }
    base->eof = !is;
    base->rowid = (int64_t)cursor->object.address;
    return CLR_OK;
}

static void finish_collections(struct clr_cursor *base)
{
    struct collection_cursor *cursor = (struct collection_cursor *)base;
    clr_elements_finish(&cursor->elements);
    clr_free(cursor->asked);
    cursor->asked = NULL;
}

static enum clr_status start_collections(struct clr_cursor *base, const struct clr_query *query,
                                         struct clr_error *error)
{
    struct collection_cursor *cursor = (struct collection_cursor *)base;
    const struct clr_heap *heap = base->dump->heap;
    const struct clr_shape *shapes;
    uint32_t first = 0, end = clr_heap_count(heap), shape;
    size_t shape_count = clr_heap_shapes(heap, &shapes);
    finish_collections(base);
    cursor->numbers = NULL;
    cursor->seen = 0;
    if (!(cursor->asked = clr_alloc(shape_count ? shape_count : 1, 1)))
        return clr_no_memory(error);
    if (query->path == COLLECTIONS_BY_TYPE) {
        base->eof = true;
        if (!clr_heap_shape_of(heap, (uint64_t)clr_equal_int(query, 0), &shape))
            return CLR_OK;
        cursor->left = clr_heap_postings(heap, shape, &cursor->numbers);
        return cursor->left > 0 ? next_collection(base, error) : CLR_OK;
    }
    if (query->path == COLLECTIONS_BY_OBJECT)
        end = clr_number(heap, (uint64_t)clr_equal_int(query, 0), &first) ? first + 1 : first;
    clr_object_scan_start(&cursor->scan, heap, first, end, false);
    return next_collection(base, error);
}

/* Counting goes through the elements: only once a row, and not for one whose count is not asked for. */
static enum clr_status need_count(struct collection_cursor *cursor, struct clr_error *error)
{
    if (cursor->is_counted)
        return CLR_OK;
    CLR_TRY(clr_elements_count(&cursor->elements, &cursor->count, error));
    cursor->is_counted = true;
    return CLR_OK;
}

static enum clr_status collection_column(struct clr_cursor *base, int column,
                                         sqlite3_context *context, struct clr_error *error)
{
    struct collection_cursor *cursor = (struct collection_cursor *)base;
    uint64_t capacity;
    switch (column) {
    case COLLECTION_OBJECT: clr_result_u64(context, cursor->object.address); break;
    case COLLECTION_TYPE: clr_result_u64(context, cursor->object.type); break;
    case COLLECTION_TYPE_NAME: {
        const char *name = clr_type_name(base->dump->runtime, cursor->object.type);
        if (clr_type_name_lost(name))
            return clr_no_memory(error);
        clr_result_static(context, name);
        break;
    }
    case COLLECTION_KIND: clr_result_static(context, cursor->kind); break;
    case COLLECTION_ELEMENT_COUNT:
        CLR_TRY(need_count(cursor, error));
        clr_result_u64(context, cursor->count);
        break;
    case COLLECTION_CAPACITY:
        if (clr_elements_capacity(&cursor->elements, &capacity))
            clr_result_u64(context, capacity);
        break;
    case COLLECTION_FILL_RATIO:
        if (!clr_elements_capacity(&cursor->elements, &capacity) || capacity == 0)
            break;
        CLR_TRY(need_count(cursor, error));
        sqlite3_result_double(context, (double)cursor->count / (double)capacity);
        break;
    }
    return CLR_OK;
}

static const struct clr_path collection_paths[] = {
    [COLLECTIONS_BY_OBJECT] = {.key = {{COLLECTION_OBJECT, CLR_EQ}},
                               .order = COLLECTION_OBJECT,
                               .unique = true,
                               .rows = 1},
    [COLLECTIONS_BY_TYPE] = {.key = {{COLLECTION_TYPE, CLR_EQ}},
                             .order = COLLECTION_OBJECT,
                             .needs = CLR_PART_POSTINGS,
                             .per_object = 1.0 / 1000},
    [COLLECTIONS_ALL] = {.order = COLLECTION_OBJECT, .per_object = 1.0 / 8},
    CLR_PATHS_END,
};

const struct clr_table clr_table_collections = {
    .name = "collections",
    .doc = "The arrays and collections that elements serves, with how many elements each has.",
    .example = "SELECT type_name, element_count, capacity FROM collections WHERE kind = 'List' "
               "ORDER BY capacity - element_count DESC LIMIT 3",
    .columns = collection_columns,
    .paths = collection_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_OBJECT,
    .cursor_size = sizeof(struct collection_cursor),
    .start = start_collections,
    .next = next_collection,
    .finish = finish_collections,
    .column = collection_column,
};
