/*
 * handles, finalizer_queue: what native code and the runtime hold. Both are arrays of the reader, sorted
 * by the address of the slot.
 */
#include "cache.h"

/* --- handles --------------------------------------------------------------------------------- */

static enum clr_status load_handles(struct clr_dump *dump, CLR_UNUSED struct clr_job *job,
                                    struct clr_error *error)
{
    return clr_refuse(&dump->no_handles, error);
}

CLR_WORD_FUNCTION(handle_kind)
{
    return clr_handle_kind_text(((const struct clr_handle *)row)->kind);
}

CLR_NUMBER_FUNCTION(handle_secondary)
{
    const struct clr_handle *handle = row;
    return handle->kind == CLR_HANDLE_DEPENDENT ? handle->secondary : CLR_ABSENT;
}

CLR_NUMBER_FUNCTION(handle_is_strong)
{
    return clr_handle_holds(row);
}

CLR_NUMBER_FUNCTION(handle_ref_count)
{
    const struct clr_handle *handle = row;
    if (handle->ref_count >= 0)
        return (uint64_t)handle->ref_count;
    if (handle->kind == CLR_HANDLE_REF_COUNTED)
        clr_problem_once(cursor->dump->problems, CLR_INFO, "handles", false, 0, 0,
                         "counts of ref_counted handles are not known: this runtime does not say "
                         "where they are; such a handle is a root");
    return CLR_ABSENT;
}

static const struct clr_column handle_columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_handle, address), "Address of the handle's slot.",
               .flags = CLR_KEY),
    CLR_COLUMN("kind", CLR_WORD_BY(handle_kind),
               "strong, pinned, weak_short, weak_long, dependent, ref_counted and others."),
    CLR_COLUMN("object", CLR_NUMBER(clr_handle, object),
               "What it refers to; of a dependent handle its key.", .refers_to = "objects.address",
               .found = 20),
    CLR_COLUMN("secondary", CLR_NUMBER_BY(handle_secondary),
               "Of a dependent handle: its value, 0 if null; NULL for other kinds.",
               .refers_to = "objects.address"),
    CLR_COLUMN("is_strong", CLR_NUMBER_BY(handle_is_strong),
               "1: it keeps its object alive by itself."),
    CLR_COLUMN("ref_count", CLR_NUMBER_BY(handle_ref_count),
               "Of a ref_counted handle, where it is known."),
    CLR_COLUMN("heap", CLR_NUMBER(clr_handle, heap),
               "Number of the handle table: one a processor with server GC."),
    CLR_END,
};

const struct clr_table clr_table_handles = {
    .name = "handles",
    .doc = "GC handles of every kind; one that holds null looks like a free slot and is no "
           "row.",
    .example = "SELECT kind, count(*) FROM handles GROUP BY kind",
    .columns = handle_columns,
    .list = {CLR_DUMP_LIST(clr_handle, handles, handle_count), .rows = 500, .is_sorted = true,
             .load = load_handles},
    .needs = CLR_PART_HANDLES,
    .contract = CLR_CONTRACT_GC,
};

/* --- finalizer_queue ------------------------------------------------------------------------- */

static enum clr_status load_finalizers(struct clr_dump *dump, CLR_UNUSED struct clr_job *job,
                                       struct clr_error *error)
{
    return clr_refuse(&dump->no_finalizers, error);
}

static const char *const list_words[] = {"registered", "ready"};

static const struct clr_column finalizer_columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_finalizable, address), "Address of the queue's entry.",
               .flags = CLR_KEY),
    CLR_COLUMN("object", CLR_NUMBER(clr_finalizable, object), "The object with the finalizer.",
               .refers_to = "objects.address", .found = 2),
    CLR_COLUMN("list", CLR_WORD(clr_finalizable, ready, list_words),
               "registered: has a finalizer that has not run; ready: it is due, and the object "
               "alive until it has run."),
    CLR_COLUMN("generation", CLR_NONNEGATIVE(clr_finalizable, generation),
               "Generation whose list has it; NULL on the ready list."),
    CLR_END,
};

const struct clr_table clr_table_finalizer_queue = {
    .name = "finalizer_queue",
    .doc =
        "Objects with a finalizer: those that wait for one to be due, and those for which it is.",
    .example = "SELECT o.type_name, count(*) FROM finalizer_queue AS q JOIN objects AS o ON "
               "o.address = q.object GROUP BY 1 ORDER BY 2 DESC",
    .columns = finalizer_columns,
    .list = {CLR_DUMP_LIST(clr_finalizable, finalizers, finalizer_count), .rows = 500,
             .is_sorted = true, .load = load_finalizers},
    .needs = CLR_PART_HANDLES,
    .contract = CLR_CONTRACT_GC,
};
