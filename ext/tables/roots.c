/*
 * roots: what a garbage collection would mark from, one row a slot.
 */
#include "cache.h"
#include "results.h"

enum {
    ROOTED = CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX | CLR_PART_HANDLES | CLR_PART_ROOTS,
};

enum root_column {
    ROOT_ID,
    ROOT_KIND,
    ROOT_ADDRESS,
    ROOT_OBJECT,
    ROOT_NAME,
    ROOT_THREAD,
    ROOT_FRAME,
    ROOT_LOCATION,
    ROOT_IS_INTERIOR,
    ROOT_IS_PINNED,
    ROOT_IS_CONSERVATIVE,
    ROOT_COLUMNS
};

static const struct clr_column root_columns[] = {
    [ROOT_ID] = {"id", CLR_INTEGER, CLR_KEY, 0, "Number of the root in this dump, from 0."},
    [ROOT_KIND] = {"kind", CLR_TEXT, 0, 0,
                   "static, thread_static, stack, strong, pinned, finalizer, frozen and others."},
    [ROOT_ADDRESS] = {"address", CLR_INTEGER, 0, 0,
                      "Address of the slot; NULL in a register and for frozen objects."},
    [ROOT_OBJECT] = {"object", CLR_INTEGER, 0, 0, "objects.address of what it holds."},
    [ROOT_NAME] = {"name", CLR_TEXT, 0, 0, "Static field, kind of handle, or method."},
    [ROOT_THREAD] = {"thread", CLR_INTEGER, 0, 0, "threads.address; NULL if it is of no thread."},
    [ROOT_FRAME] = {"frame", CLR_INTEGER, 0, 0, "Number of the frame; NULL if not known."},
    [ROOT_LOCATION] = {"location", CLR_TEXT, 0, 0,
                       "Register or place on the stack; NULL for other kinds."},
    [ROOT_IS_INTERIOR] = {"is_interior", CLR_INTEGER, 0, 0, "1: the slot points into the object."},
    [ROOT_IS_PINNED] = {"is_pinned", CLR_INTEGER, 0, 0, "1: the object must not move."},
    [ROOT_IS_CONSERVATIVE] = {"is_conservative", CLR_INTEGER, 0, 0,
                              "1: it may be no reference: a word that looks like one."},
    [ROOT_COLUMNS] = {0},
};

enum { ROOTS_BY_ID, ROOTS_BY_OBJECT, ROOTS_BY_THREAD, ROOTS_SCAN };

struct root_cursor {
    struct clr_cursor base;
    const struct clr_lookup *index; /* NULL: rows by number */
    size_t at, left, row;
    struct clr_text text;
};

static enum clr_status next_root(struct clr_cursor *base, struct clr_error *error)
{
    struct root_cursor *cursor = (struct root_cursor *)base;
    (void)error;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->row = cursor->index ? cursor->index->entries[cursor->at].row : cursor->at;
    cursor->at += base->descending ? (size_t)-1 : 1;
    cursor->left--;
    base->rowid = (int64_t)cursor->row;
    return CLR_OK;
}

static enum clr_status look_up(struct root_cursor *cursor, struct clr_lookup *index, bool by_thread,
                               int64_t key, struct clr_error *error)
{
    const struct clr_roots *roots = cursor->base.dump->roots;
    if (!index->built) {
        clr_lookup_deinit(index);
        for (size_t i = 0; i < roots->count; i++)
            if (!clr_lookup_add(index, by_thread ? roots->rows[i].thread : roots->rows[i].object,
                                (uint32_t)i)) {
                clr_lookup_deinit(index);
                return clr_fail(error, CLR_NOMEM, 0, "out of memory");
            }
        clr_lookup_sort(index);
        index->built = true;
    }
    cursor->index = index;
    clr_lookup_range(index, key, &cursor->at, &cursor->left);
    return CLR_OK;
}

static enum clr_status start_roots(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct root_cursor *cursor = (struct root_cursor *)base;
    struct clr_dump *dump = base->dump;
    struct clr_cache *cache;
    int64_t key = query->equal[0] ? clr_equal_int(query, 0) : 0;
    CLR_TRY(clr_cache(dump, &cache, error));
    cursor->index = NULL;
    cursor->at = cursor->left = 0;
    base->descending = query->descending;
    switch (query->path) {
    case ROOTS_BY_ID:
        cursor->left = key >= 0 && (uint64_t)key < dump->roots->count;
        cursor->at = (size_t)key;
        break;
    case ROOTS_BY_OBJECT: CLR_TRY(look_up(cursor, &cache->root_objects, false, key, error)); break;
    case ROOTS_BY_THREAD: CLR_TRY(look_up(cursor, &cache->root_threads, true, key, error)); break;
    default:
        cursor->left = dump->roots->count;
        cursor->at = base->descending && cursor->left ? cursor->left - 1 : 0;
        break;
    }
    return next_root(base, error);
}

static void finish_roots(struct clr_cursor *base)
{
    clr_text_deinit(&((struct root_cursor *)base)->text);
}

static enum clr_status root_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    struct root_cursor *cursor = (struct root_cursor *)base;
    const struct clr_root *root = &base->dump->roots->rows[cursor->row];
    switch (column) {
    case ROOT_ID: clr_result_u64(context, cursor->row); break;
    case ROOT_KIND: clr_result_static(context, clr_root_kind_text(root->kind)); break;
    case ROOT_ADDRESS: clr_result_known(context, root->address); break;
    case ROOT_OBJECT: clr_result_u64(context, root->object); break;
    case ROOT_NAME:
        clr_text_clear(&cursor->text);
        clr_root_name(base->dump->runtime, root, &cursor->text);
        if (cursor->text.failed)
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        if (cursor->text.length)
            clr_result_copy(context, cursor->text.data, cursor->text.length);
        break;
    case ROOT_THREAD: clr_result_known(context, root->thread); break;
    case ROOT_FRAME: break; /* needs frames that are decoded; a conservative root has none */
    case ROOT_LOCATION: clr_result_static(context, root->location); break;
    case ROOT_IS_INTERIOR: clr_result_bool(context, root->is_interior); break;
    case ROOT_IS_PINNED: clr_result_bool(context, root->is_pinned); break;
    case ROOT_IS_CONSERVATIVE: clr_result_bool(context, root->is_conservative); break;
    }
    return CLR_OK;
}

static const struct clr_path root_paths[] = {
    [ROOTS_BY_ID] = {.name = "id=",
                     .key = {{ROOT_ID, CLR_EQ}},
                     .order = ROOT_ID,
                     .reversible = true,
                     .unique = true,
                     .rows = clr_rows_one},
    [ROOTS_BY_OBJECT] =
        {.name = "object=", .key = {{ROOT_OBJECT, CLR_EQ}}, .order = -1, .rows = clr_rows_few},
    [ROOTS_BY_THREAD] =
        {.name = "thread=", .key = {{ROOT_THREAD, CLR_EQ}}, .order = -1, .rows = clr_rows_few},
    [ROOTS_SCAN] = {.name = "scan",
                    .order = ROOT_ID,
                    .reversible = true,
                    .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_roots = {
    .name = "roots",
    .doc = "What a garbage collection would mark from, one row a slot; weak and dependent handles "
           "are none.",
    .columns = root_columns,
    .paths = root_paths,
    .needs = ROOTED,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct root_cursor),
    .start = start_roots,
    .next = next_root,
    .finish = finish_roots,
    .column = root_column,
};
