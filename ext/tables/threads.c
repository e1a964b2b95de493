/*
 * threads: the runtime's Thread objects, with the managed object and the allocation context of
 * each.
 */
#include "cache.h"
#include "inspect/managed.h"
#include "results.h"

/* What this runtime does not describe is an error, never an empty table. */
static enum clr_status load_threads(struct clr_dump *dump, CLR_UNUSED struct clr_job *job,
                                    struct clr_error *error)
{
    return clr_refuse(&dump->no_threads, error);
}

CLR_VALUE_FUNCTION(thread_name)
{
    const struct clr_thread *thread = row;
    return clr_result_name_field(cursor->dump, "threads", CLR_MANAGED_THREAD, CLR_THREAD_NAME,
                                 thread->object, context, error);
}

CLR_TEXT_FUNCTION(thread_state)
{
    (void)error;
    clr_thread_state_text(row, text);
    return CLR_OK;
}

static const struct clr_column columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_thread, address), "Address of the runtime's Thread.",
               .flags = CLR_KEY),
    CLR_COLUMN("managed_id", CLR_NUMBER(clr_thread, managed_id), "Thread.ManagedThreadId."),
    CLR_COLUMN("os_id", CLR_NUMBER(clr_thread, os_id),
               "Id that the operating system gave it; 0: it has no OS thread.", .found = 1),
    CLR_COLUMN("name", CLR_VALUE_BY(CLR_TEXT, thread_name),
               "Thread.Name; NULL if it was not given one."),
    CLR_COLUMN("object", CLR_NONZERO(clr_thread, object),
               "Its System.Threading.Thread; NULL if it has none.", .refers_to = "objects.address",
               .found = 1),
    CLR_COLUMN("state", CLR_TEXT_BY(thread_state), "The state bits in words."),
    CLR_COLUMN("is_background", CLR_NUMBER(clr_thread, is_background),
               "1: does not keep the process alive."),
    CLR_COLUMN("is_finalizer", CLR_NUMBER(clr_thread, is_finalizer), "1: runs finalizers."),
    CLR_COLUMN("is_gc", CLR_NUMBER(clr_thread, is_gc), "1: was doing a GC, or suspending for one."),
    CLR_COLUMN("is_threadpool", CLR_NUMBER(clr_thread, is_threadpool), "1: of the thread pool."),
    CLR_COLUMN("exception", CLR_NONZERO(clr_thread, exception),
               "The exception in flight; NULL if none is.", .refers_to = "objects.address"),
    CLR_COLUMN("stack_base", CLR_NONZERO(clr_thread, stack_base), "Highest address of its stack."),
    CLR_COLUMN("stack_limit", CLR_NONZERO(clr_thread, stack_limit), "Lowest address of its stack."),
    CLR_COLUMN("alloc_pointer", CLR_NONZERO(clr_thread, alloc_pointer),
               "Where its next object goes; NULL without an allocation context."),
    CLR_COLUMN("alloc_limit", CLR_NONZERO(clr_thread, alloc_limit),
               "Where its allocation context ends."),
    CLR_COLUMN("allocated_bytes", CLR_PRESENT(clr_thread, allocated_bytes),
               "Bytes that it has allocated since it started."),
    CLR_END,
};

const struct clr_table clr_table_threads = {
    .name = "threads",
    .doc = "Managed threads, and dead ones that the runtime still keeps.",
    .example = "SELECT managed_id, os_id, name, state FROM threads",
    .columns = columns,
    .list = {CLR_DUMP_LIST(clr_thread, threads, thread_count), .rows = 20, .load = load_threads},
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_THREAD,
};
