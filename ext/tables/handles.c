/*
 * handles, finalizer_queue: what native code and the runtime hold.
 *
 * Both are arrays of the reader, sorted by the address of the slot. An object is looked up by a
 * list of its own, made on first use.
 */
#include "cache.h"
#include "results.h"

enum {
    HANDLED = CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_HANDLES,
};

/* --- handles --------------------------------------------------------------------------------- */

enum handle_column {
    HANDLE_ADDRESS,
    HANDLE_KIND,
    HANDLE_OBJECT,
    HANDLE_SECONDARY,
    HANDLE_IS_STRONG,
    HANDLE_REF_COUNT,
    HANDLE_HEAP,
    HANDLE_COLUMNS
};

static const struct clr_column handle_columns[] = {
    [HANDLE_ADDRESS] = {"address", CLR_INTEGER, CLR_KEY, 0, "Address of the handle's slot."},
    [HANDLE_KIND] = {"kind", CLR_TEXT, 0, 0,
                     "strong, pinned, weak_short, weak_long, dependent, ref_counted and others."},
    [HANDLE_OBJECT] = {"object", CLR_INTEGER, 0, 0,
                       "objects.address; of a dependent handle its key."},
    [HANDLE_SECONDARY] = {"secondary", CLR_INTEGER, 0, 0,
                          "Of a dependent handle: its value, 0 if null; NULL for other kinds."},
    [HANDLE_IS_STRONG] = {"is_strong", CLR_INTEGER, 0, 0,
                          "1: it keeps its object alive by itself."},
    [HANDLE_REF_COUNT] = {"ref_count", CLR_INTEGER, 0, 0,
                          "Of a ref_counted handle, where it is known."},
    [HANDLE_HEAP] = {"heap", CLR_INTEGER, 0, 0,
                     "Number of the handle table: one a processor with server GC."},
    [HANDLE_COLUMNS] = {0},
};

enum { HANDLES_BY_ADDRESS, HANDLES_BY_OBJECT, HANDLES_SCAN };

/* A cursor over numbers, either a range or entries of a look-up by object. */
struct list_cursor {
    struct clr_cursor base;
    const struct clr_lookup *index; /* NULL: numbers themselves */
    size_t at, left;
    size_t row;
};

static enum clr_status next_in_list(struct clr_cursor *base, struct clr_error *error)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    (void)error;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->row = cursor->index ? cursor->index->entries[cursor->at].row : cursor->at;
    cursor->at += base->descending ? (size_t)-1 : 1;
    cursor->left--;
    return CLR_OK;
}

/* The numbers of a sorted array with keys in [low, high]. */
static void start_range(struct list_cursor *cursor, size_t count,
                        uint64_t (*key)(const struct clr_dump *, size_t), int64_t low, int64_t high)
{
    const struct clr_dump *dump = cursor->base.dump;
    size_t first = 0, end = count;
    cursor->index = NULL;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if ((int64_t)key(dump, middle) < low)
            first = middle + 1;
        else
            end = middle;
    }
    end = count;
    for (size_t begin = first; begin < end;) {
        size_t middle = begin + (end - begin) / 2;
        if ((int64_t)key(dump, middle) <= high)
            begin = middle + 1;
        else
            end = middle;
    }
    cursor->left = end - first;
    cursor->at = cursor->base.descending && cursor->left ? end - 1 : first;
}

static uint64_t handle_key(const struct clr_dump *dump, size_t row)
{
    return dump->handles[row].address;
}

/* What this runtime does not describe is an error, never an empty table. */
static enum clr_status refuse(const struct clr_error *reason, struct clr_error *error)
{
    return reason->code == CLR_OK
               ? CLR_OK
               : clr_fail(error, reason->code, reason->address, "%s", reason->text);
}

static enum clr_status by_object(struct clr_dump *dump, struct clr_lookup *index, size_t count,
                                 uint64_t (*object)(const struct clr_dump *, size_t),
                                 struct clr_error *error)
{
    if (index->built)
        return CLR_OK;
    clr_lookup_deinit(index);
    for (size_t i = 0; i < count; i++)
        if (!clr_lookup_add(index, object(dump, i), (uint32_t)i)) {
            clr_lookup_deinit(index);
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        }
    clr_lookup_sort(index);
    index->built = true;
    return CLR_OK;
}

static uint64_t handle_object(const struct clr_dump *dump, size_t row)
{
    return dump->handles[row].object;
}

static enum clr_status start_handles(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    struct clr_dump *dump = base->dump;
    struct clr_cache *cache;
    CLR_TRY(refuse(&dump->no_handles, error));
    base->descending = query->descending;
    if (query->path == HANDLES_BY_OBJECT) {
        CLR_TRY(clr_cache(dump, &cache, error));
        CLR_TRY(by_object(dump, &cache->handle_objects, dump->handle_count, handle_object, error));
        cursor->index = &cache->handle_objects;
        base->descending = false;
        clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->at, &cursor->left);
    } else if (query->path == HANDLES_BY_ADDRESS) {
        start_range(cursor, dump->handle_count, handle_key, clr_equal_int(query, 0),
                    clr_equal_int(query, 0));
    } else {
        start_range(cursor, dump->handle_count, handle_key, INT64_MIN, INT64_MAX);
    }
    CLR_TRY(next_in_list(base, error));
    if (!base->eof)
        base->rowid = (int64_t)dump->handles[cursor->row].address;
    return CLR_OK;
}

static enum clr_status next_handle(struct clr_cursor *base, struct clr_error *error)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    CLR_TRY(next_in_list(base, error));
    if (!base->eof)
        base->rowid = (int64_t)base->dump->handles[cursor->row].address;
    return CLR_OK;
}

static enum clr_status handle_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    const struct clr_handle *handle = &base->dump->handles[((struct list_cursor *)base)->row];
    (void)error;
    switch (column) {
    case HANDLE_ADDRESS: clr_result_u64(context, handle->address); break;
    case HANDLE_KIND: clr_result_static(context, clr_handle_kind_text(handle->kind)); break;
    case HANDLE_OBJECT: clr_result_u64(context, handle->object); break;
    case HANDLE_SECONDARY:
        if (handle->kind == CLR_HANDLE_DEPENDENT)
            clr_result_u64(context, handle->secondary);
        break;
    case HANDLE_IS_STRONG: clr_result_bool(context, clr_handle_holds(handle)); break;
    case HANDLE_REF_COUNT:
        if (handle->ref_count >= 0)
            sqlite3_result_int64(context, handle->ref_count);
        else if (handle->kind == CLR_HANDLE_REF_COUNTED && clr_first_time(base->dump, 5))
            clr_problem(base->dump->problems, CLR_INFO, "handles", handle->address, 0,
                        "counts of ref_counted handles are not known: this runtime does not say "
                        "where they are; such a handle is a root");
        break;
    case HANDLE_HEAP: clr_result_u64(context, handle->heap); break;
    }
    return CLR_OK;
}

static const struct clr_path handle_paths[] = {
    [HANDLES_BY_ADDRESS] = {.name = "address=",
                            .key = {{HANDLE_ADDRESS, CLR_EQ}},
                            .order = HANDLE_ADDRESS,
                            .reversible = true,
                            .unique = true,
                            .rows = clr_rows_one},
    [HANDLES_BY_OBJECT] = {.name = "object=",
                           .key = {{HANDLE_OBJECT, CLR_EQ}},
                           .order = HANDLE_ADDRESS,
                           .rows = clr_rows_few},
    [HANDLES_SCAN] = {.name = "scan",
                      .order = HANDLE_ADDRESS,
                      .reversible = true,
                      .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_handles = {
    .name = "handles",
    .doc =
        "GC handles of every kind; one that holds null cannot be told from a free slot and is no "
        "row.",
    .columns = handle_columns,
    .paths = handle_paths,
    .needs = HANDLED,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct list_cursor),
    .start = start_handles,
    .next = next_handle,
    .column = handle_column,
};

/* --- finalizer_queue ------------------------------------------------------------------------- */

enum finalizer_column {
    FINALIZER_ADDRESS,
    FINALIZER_OBJECT,
    FINALIZER_LIST,
    FINALIZER_GENERATION,
    FINALIZER_COLUMNS
};

static const struct clr_column finalizer_columns[] = {
    [FINALIZER_ADDRESS] = {"address", CLR_INTEGER, CLR_KEY, 0, "Address of the queue's entry."},
    [FINALIZER_OBJECT] = {"object", CLR_INTEGER, 0, 0, "objects.address."},
    [FINALIZER_LIST] = {"list", CLR_TEXT, 0, 0,
                        "registered: has a finalizer that has not run; ready: it is due, and the "
                        "object alive until it has run."},
    [FINALIZER_GENERATION] = {"generation", CLR_INTEGER, 0, 0,
                              "Generation whose list has it; NULL on the ready list."},
    [FINALIZER_COLUMNS] = {0},
};

enum { FINALIZERS_BY_OBJECT, FINALIZERS_SCAN };

static uint64_t finalizer_key(const struct clr_dump *dump, size_t row)
{
    return dump->finalizers[row].address;
}

static uint64_t finalizer_object(const struct clr_dump *dump, size_t row)
{
    return dump->finalizers[row].object;
}

static enum clr_status next_finalizer(struct clr_cursor *base, struct clr_error *error)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    CLR_TRY(next_in_list(base, error));
    if (!base->eof)
        base->rowid = (int64_t)base->dump->finalizers[cursor->row].address;
    return CLR_OK;
}

static enum clr_status start_finalizers(struct clr_cursor *base, const struct clr_query *query,
                                        struct clr_error *error)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    struct clr_dump *dump = base->dump;
    struct clr_cache *cache;
    CLR_TRY(refuse(&dump->no_finalizers, error));
    base->descending = query->descending;
    if (query->path == FINALIZERS_BY_OBJECT) {
        CLR_TRY(clr_cache(dump, &cache, error));
        CLR_TRY(by_object(dump, &cache->finalizer_objects, dump->finalizer_count, finalizer_object,
                          error));
        cursor->index = &cache->finalizer_objects;
        base->descending = false;
        clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->at, &cursor->left);
    } else {
        start_range(cursor, dump->finalizer_count, finalizer_key, INT64_MIN, INT64_MAX);
    }
    return next_finalizer(base, error);
}

static enum clr_status finalizer_column(struct clr_cursor *base, int column,
                                        sqlite3_context *context, struct clr_error *error)
{
    const struct clr_finalizable *entry =
        &base->dump->finalizers[((struct list_cursor *)base)->row];
    (void)error;
    switch (column) {
    case FINALIZER_ADDRESS: clr_result_u64(context, entry->address); break;
    case FINALIZER_OBJECT: clr_result_u64(context, entry->object); break;
    case FINALIZER_LIST: clr_result_static(context, entry->ready ? "ready" : "registered"); break;
    case FINALIZER_GENERATION:
        if (entry->generation >= 0)
            sqlite3_result_int(context, entry->generation);
        break;
    }
    return CLR_OK;
}

static const struct clr_path finalizer_paths[] = {
    [FINALIZERS_BY_OBJECT] = {.name = "object=",
                              .key = {{FINALIZER_OBJECT, CLR_EQ}},
                              .order = FINALIZER_ADDRESS,
                              .rows = clr_rows_few},
    [FINALIZERS_SCAN] = {.name = "scan",
                         .order = FINALIZER_ADDRESS,
                         .reversible = true,
                         .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_finalizer_queue = {
    .name = "finalizer_queue",
    .doc =
        "Objects with a finalizer: those that wait for one to be due, and those for which it is.",
    .columns = finalizer_columns,
    .paths = finalizer_paths,
    .needs = HANDLED,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct list_cursor),
    .start = start_finalizers,
    .next = next_finalizer,
    .column = finalizer_column,
};
