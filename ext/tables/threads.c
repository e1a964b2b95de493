/*
 * threads: the runtime's Thread objects, with the managed object and the allocation context of
 * each.
 */
#include "cache.h"
#include "inspect/managed.h"
#include "results.h"

enum thread_column {
    THREAD_ADDRESS,
    THREAD_MANAGED_ID,
    THREAD_OS_ID,
    THREAD_NAME,
    THREAD_OBJECT,
    THREAD_STATE,
    THREAD_IS_BACKGROUND,
    THREAD_IS_FINALIZER,
    THREAD_IS_GC,
    THREAD_IS_THREADPOOL,
    THREAD_EXCEPTION,
    THREAD_STACK_BASE,
    THREAD_STACK_LIMIT,
    THREAD_ALLOC_POINTER,
    THREAD_ALLOC_LIMIT,
    THREAD_ALLOCATED_BYTES,
    THREAD_COLUMNS
};

static const struct clr_column thread_columns[] = {
    [THREAD_ADDRESS] = {"address", CLR_INTEGER, CLR_KEY, 0, "Address of the runtime's Thread."},
    [THREAD_MANAGED_ID] = {"managed_id", CLR_INTEGER, 0, 0, "Thread.ManagedThreadId."},
    [THREAD_OS_ID] = {"os_id", CLR_INTEGER, 0, 0,
                      "Id that the operating system gave it; 0: it has no OS thread."},
    [THREAD_NAME] = {"name", CLR_TEXT, 0, 0, "Thread.Name; NULL if it was not given one."},
    [THREAD_OBJECT] = {"object", CLR_INTEGER, 0, 0,
                       "objects.address of its System.Threading.Thread; NULL if it has none."},
    [THREAD_STATE] = {"state", CLR_TEXT, 0, 0, "The state bits in words."},
    [THREAD_IS_BACKGROUND] = {"is_background", CLR_INTEGER, 0, 0,
                              "1: does not keep the process alive."},
    [THREAD_IS_FINALIZER] = {"is_finalizer", CLR_INTEGER, 0, 0, "1: runs finalizers."},
    [THREAD_IS_GC] = {"is_gc", CLR_INTEGER, 0, 0, "1: was doing a GC, or suspending for one."},
    [THREAD_IS_THREADPOOL] = {"is_threadpool", CLR_INTEGER, 0, 0, "1: of the thread pool."},
    [THREAD_EXCEPTION] = {"exception", CLR_INTEGER, 0, 0,
                          "objects.address of the exception in flight; NULL if none is."},
    [THREAD_STACK_BASE] = {"stack_base", CLR_INTEGER, 0, 0, "Highest address of its stack."},
    [THREAD_STACK_LIMIT] = {"stack_limit", CLR_INTEGER, 0, 0, "Lowest address of its stack."},
    [THREAD_ALLOC_POINTER] = {"alloc_pointer", CLR_INTEGER, 0, 0,
                              "Where its next object goes; NULL without an allocation context."},
    [THREAD_ALLOC_LIMIT] = {"alloc_limit", CLR_INTEGER, 0, 0, "Where its allocation context ends."},
    [THREAD_ALLOCATED_BYTES] = {"allocated_bytes", CLR_INTEGER, 0, 0,
                                "Bytes that it has allocated since it started."},
    [THREAD_COLUMNS] = {0},
};

static enum clr_status load_threads(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_error *error)
{
    (void)job;
    struct clr_cache *cache;
    CLR_TRY(clr_cache(dump, &cache, error));
    if (cache->threads.built)
        return CLR_OK;
    if (dump->no_threads.code != CLR_OK)
        return clr_fail(error, dump->no_threads.code, dump->no_threads.address, "%s",
                        dump->no_threads.text);
    for (size_t i = 0; i < dump->thread_count; i++)
        if (!clr_lookup_add(&cache->threads, dump->threads[i].address, (uint32_t)i)) {
            clr_lookup_deinit(&cache->threads);
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        }
    clr_lookup_sort(&cache->threads);
    return CLR_OK;
}

static size_t count_threads(const struct clr_dump *dump)
{
    return clr_cache_made(dump)->threads.count;
}

static int64_t thread_key(const struct clr_dump *dump, size_t row)
{
    return clr_cache_made(dump)->threads.entries[row].key;
}

static enum clr_status result_name(struct clr_dump *dump, const struct clr_thread *thread,
                                   sqlite3_context *context, struct clr_error *error)
{
    if (thread->object == 0)
        return CLR_OK;
    struct clr_text text = {0};
    uint64_t string = 0;
    const struct clr_managed *fields;
    CLR_TRY(clr_managed_of(dump, CLR_MANAGED_THREAD, thread->object, &fields, error));
    bool known = fields && clr_managed_string(dump->runtime, fields, CLR_THREAD_NAME,
                                              thread->object, &string, &text);
    bool failed = text.failed;
    if (known && string != 0 && !failed)
        clr_result_copy(context, text.data ? text.data : "", text.length);
    clr_text_deinit(&text);
    if (failed)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    if (!known && clr_first_time(dump, thread->address))
        clr_problem(dump->problems, CLR_WARNING, "threads", thread->object, 0,
                    "thread 0x%llx: the name of its object 0x%llx cannot be read",
                    (unsigned long long)thread->address, (unsigned long long)thread->object);
    return CLR_OK;
}

static enum clr_status result_state(const struct clr_thread *thread, sqlite3_context *context,
                                    struct clr_error *error)
{
    struct clr_text text = {0};
    clr_thread_state_text(thread, &text);
    if (!text.failed)
        clr_result_copy(context, text.data ? text.data : "", text.length);
    bool failed = text.failed;
    clr_text_deinit(&text);
    return failed ? clr_fail(error, CLR_NOMEM, 0, "out of memory") : CLR_OK;
}

static enum clr_status thread_column(struct clr_cursor *cursor, int column,
                                     sqlite3_context *context, struct clr_error *error)
{
    uint32_t number = clr_cache_made(cursor->dump)->threads.entries[cursor->row].row;
    const struct clr_thread *thread = &cursor->dump->threads[number];
    switch (column) {
    case THREAD_ADDRESS: clr_result_u64(context, thread->address); break;
    case THREAD_MANAGED_ID: clr_result_u64(context, thread->managed_id); break;
    case THREAD_OS_ID: clr_result_u64(context, thread->os_id); break;
    case THREAD_NAME: return result_name(cursor->dump, thread, context, error);
    case THREAD_OBJECT: clr_result_known(context, thread->object); break;
    case THREAD_STATE: return result_state(thread, context, error);
    case THREAD_IS_BACKGROUND: clr_result_bool(context, thread->is_background); break;
    case THREAD_IS_FINALIZER: clr_result_bool(context, thread->is_finalizer); break;
    case THREAD_IS_GC: clr_result_bool(context, thread->is_gc); break;
    case THREAD_IS_THREADPOOL: clr_result_bool(context, thread->is_threadpool); break;
    case THREAD_EXCEPTION: clr_result_known(context, thread->exception); break;
    case THREAD_STACK_BASE: clr_result_known(context, thread->stack_base); break;
    case THREAD_STACK_LIMIT: clr_result_known(context, thread->stack_limit); break;
    case THREAD_ALLOC_POINTER: clr_result_known(context, thread->alloc_pointer); break;
    case THREAD_ALLOC_LIMIT: clr_result_known(context, thread->alloc_limit); break;
    case THREAD_ALLOCATED_BYTES:
        if (clr_has(thread->allocated_bytes))
            clr_result_u64(context, thread->allocated_bytes);
        break;
    }
    return CLR_OK;
}

static const struct clr_path thread_paths[] = {
    {.name = "address=",
     .key = {{THREAD_ADDRESS, CLR_EQ}},
     .order = THREAD_ADDRESS,
     .reversible = true,
     .unique = true,
     .rows = clr_rows_one},
    {.name = "scan", .order = THREAD_ADDRESS, .reversible = true, .rows = clr_rows_few},
    {0},
};

const struct clr_table clr_table_threads = {
    .name = "threads",
    .doc = "Managed threads, and dead ones that the runtime still keeps.",
    .columns = thread_columns,
    .paths = thread_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_THREAD,
    .load = load_threads,
    .count = count_threads,
    .key = thread_key,
    .column = thread_column,
};
