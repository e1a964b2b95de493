/*
 * dump_info, problems: the dump as a whole.
 *
 * dump_info and problems must answer on any dump, so they walk the heap if that can be done and go
 * on without if not: dump_info.complete is then 0 and problems says why.
 */
#include "cache.h"
#include "functions.h"
#include "results.h"

/* --- dump_info ------------------------------------------------------------------------------- */

enum info_column {
    INFO_PATH,
    INFO_FILE_SIZE,
    INFO_OS,
    INFO_ARCH,
    INFO_POINTER_SIZE,
    INFO_RUNTIME_FLAVOR,
    INFO_RUNTIME_VERSION,
    INFO_RUNTIME_PATH,
    INFO_RUNTIME_BUILD_ID,
    INFO_DESCRIPTOR_SOURCE,
    INFO_GC_MODE,
    INFO_GC_LAYOUT,
    INFO_GC_HEAP_COUNT,
    INFO_GC_IN_PROGRESS,
    INFO_OOM_REASON,
    INFO_OOM_SIZE,
    INFO_PROCESS_ID,
    INFO_COMMAND,
    INFO_SIGNAL,
    INFO_SIGNAL_THREAD,
    INFO_WRITTEN_BY,
    INFO_OBJECT_COUNT,
    INFO_OBJECT_BYTES,
    INFO_UNWALKED_BYTES,
    INFO_MISSING_BYTES,
    INFO_COMPLETE,
    INFO_COLUMNS
};

static const struct clr_column info_columns[] = {
    [INFO_PATH] = {"path", CLR_TEXT, 0, 0, "File that was opened."},
    [INFO_FILE_SIZE] = {"file_size", CLR_INTEGER, 0, 0, "Bytes of the core file."},
    [INFO_OS] = {"os", CLR_TEXT, 0, 0, "Operating system of the process."},
    [INFO_ARCH] = {"arch", CLR_TEXT, 0, 0, "Processor architecture: x64, arm64, arm or x86."},
    [INFO_POINTER_SIZE] = {"pointer_size", CLR_INTEGER, 0, 0, "Bytes of a pointer: 4 or 8."},
    [INFO_RUNTIME_FLAVOR] = {"runtime_flavor", CLR_TEXT, 0, 0, "coreclr or nativeaot."},
    [INFO_RUNTIME_VERSION] =
        {"runtime_version", CLR_TEXT, 0, 0,
         "Version of the runtime, as it publishes it or as its folder is named."},
    [INFO_RUNTIME_PATH] = {"runtime_path", CLR_TEXT, 0, 0,
                           "Image that holds the runtime, as the process saw it."},
    [INFO_RUNTIME_BUILD_ID] = {"runtime_build_id", CLR_TEXT, 0, 0,
                               "Build id of that image, lower-case hex."},
    [INFO_DESCRIPTOR_SOURCE] =
        {"descriptor_source", CLR_TEXT, 0, 0,
         "Where the contract descriptor was read: core, file or supplement."},
    [INFO_GC_MODE] = {"gc_mode", CLR_TEXT, 0, 0,
                      "workstation or server; NULL if the GC is not served."},
    [INFO_GC_LAYOUT] = {"gc_layout", CLR_TEXT, 0, 0, "regions or segments."},
    [INFO_GC_HEAP_COUNT] = {"gc_heap_count", CLR_INTEGER, 0, 0, "Number of GC heaps."},
    [INFO_GC_IN_PROGRESS] = {"gc_in_progress", CLR_INTEGER, 0, 0,
                             "1: taken while a GC moved objects; generations 0 and 1 may be torn."},
    [INFO_OOM_REASON] = {"oom_reason", CLR_TEXT, 0, 0,
                         "Why the GC last refused an allocation; NULL if it never did."},
    [INFO_OOM_SIZE] = {"oom_size", CLR_INTEGER, 0, 0, "Bytes that this allocation asked for."},
    [INFO_PROCESS_ID] = {"process_id", CLR_INTEGER, 0, 0, "Id of the process."},
    [INFO_COMMAND] = {"command", CLR_TEXT, 0, 0, "Command line, or the program's name."},
    [INFO_SIGNAL] = {"signal", CLR_INTEGER, 0, 0,
                     "Signal that ended the process; NULL if none did."},
    [INFO_SIGNAL_THREAD] = {"signal_thread", CLR_INTEGER, 0, 0,
                            "threads.os_id of the thread that got the signal."},
    [INFO_WRITTEN_BY] = {"written_by", CLR_TEXT, 0, 0,
                         "What wrote the core: createdump, kernel, gcore or unknown."},
    [INFO_OBJECT_COUNT] =
        {"object_count", CLR_INTEGER, 0, 0,
         "Objects on the heap, without free blocks; NULL without a readable heap. "
         "Walks the heap."},
    [INFO_OBJECT_BYTES] = {"object_bytes", CLR_INTEGER, 0, 0,
                           "Bytes of these objects. Walks the heap."},
    [INFO_UNWALKED_BYTES] =
        {"unwalked_bytes", CLR_INTEGER, 0, 0,
         "Bytes of the heap that could not be read as objects. Walks the heap."},
    [INFO_MISSING_BYTES] =
        {"missing_bytes", CLR_INTEGER, 0, 0,
         "Bytes that the headers announce and neither the file nor an image that "
         "stands in for it holds."},
    [INFO_COMPLETE] =
        {"complete", CLR_INTEGER, 0, 0,
         "1: objects, refs and roots are whole; 0 once anything is found missing. Walks "
         "the heap."},
    [INFO_COLUMNS] = {0},
};

static size_t one_row(const struct clr_dump *dump)
{
    (void)dump;
    return 1;
}

static void info_runtime_column(const struct clr_dump *dump, int column, sqlite3_context *context)
{
    const struct clr_runtime *runtime = dump->runtime;
    static const char *const source[] = {
        [CLR_FROM_CORE] = "core",
        [CLR_FROM_FILE] = "file",
        [CLR_FROM_SUPPLEMENT] = "supplement",
    };
    if (!runtime)
        return;
    const struct clr_descriptor *descriptor = runtime->descriptor;
    const struct clr_image *image = clr_descriptor_image(descriptor);
    const char *text;
    size_t length;
    switch (column) {
    case INFO_RUNTIME_FLAVOR:
        text = clr_descriptor_text(descriptor, "RuntimeFlavor");
        clr_result_static(context, text && sqlite3_stricmp(text, "NativeAOT") == 0 ? "nativeaot"
                                                                                   : "coreclr");
        break;
    case INFO_RUNTIME_VERSION:
        text = clr_runtime_version(dump, &length);
        if (text)
            clr_result_foreign_bytes(context, text, length);
        break;
    case INFO_RUNTIME_PATH: clr_result_foreign(context, image ? image->path : NULL); break;
    case INFO_RUNTIME_BUILD_ID:
        if (image)
            clr_result_hex(context, image->build_id, image->build_id_size);
        break;
    case INFO_DESCRIPTOR_SOURCE:
        clr_result_static(context, source[clr_descriptor_source(descriptor)]);
        break;
    }
}

static enum clr_status info_gc_column(struct clr_cursor *cursor, int column,
                                      sqlite3_context *context, struct clr_error *error)
{
    bool have;
    CLR_TRY(clr_try_need(cursor->dump, CLR_PART_RUNTIME | CLR_PART_GC, cursor->job, &have, error));
    if (!have)
        return CLR_OK;
    const struct clr_gc *gc = cursor->dump->gc;
    switch (column) {
    case INFO_GC_MODE: clr_result_static(context, gc->server ? "server" : "workstation"); break;
    case INFO_GC_LAYOUT: clr_result_static(context, gc->regions ? "regions" : "segments"); break;
    case INFO_GC_HEAP_COUNT: clr_result_u64(context, gc->heap_count); break;
    case INFO_GC_IN_PROGRESS: clr_result_bool(context, gc->in_progress); break;
    case INFO_OOM_REASON: clr_result_static(context, clr_oom_reason_text(gc->oom_reason)); break;
    case INFO_OOM_SIZE:
        if (gc->oom_reason != 0)
            clr_result_u64(context, gc->oom_size);
        break;
    }
    return CLR_OK;
}

static enum clr_status info_walk_column(struct clr_cursor *cursor, int column,
                                        sqlite3_context *context, struct clr_error *error)
{
    const struct clr_dump *dump = cursor->dump;
    bool walked;
    CLR_TRY(clr_try_need(cursor->dump, CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX, cursor->job,
                         &walked, error));
    uint64_t unwalked = 0;
    for (size_t i = 0; walked && i < dump->gc->segment_count; i++)
        unwalked += clr_heap_segment_stats(dump->heap, i)->unwalked_bytes;
    if (column == INFO_COMPLETE)
        clr_result_bool(context, walked && unwalked == 0 && !dump->gc->in_progress &&
                                     !clr_problems_incomplete(dump->problems) &&
                                     !clr_problems_lost(dump->problems));
    else if (walked && column == INFO_UNWALKED_BYTES)
        clr_result_u64(context, unwalked);
    else if (walked && column == INFO_OBJECT_COUNT)
        clr_result_u64(context, clr_heap_objects(dump->heap));
    else if (walked && column == INFO_OBJECT_BYTES)
        clr_result_u64(context, clr_heap_bytes(dump->heap));
    return CLR_OK;
}

static enum clr_status info_column(struct clr_cursor *cursor, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    static const char *const writers[] = {
        [CLR_WRITER_UNKNOWN] = "unknown",
        [CLR_WRITER_CREATEDUMP] = "createdump",
        [CLR_WRITER_KERNEL] = "kernel",
        [CLR_WRITER_GCORE] = "gcore",
    };
    const struct clr_process_info *info = clr_process_info(cursor->dump->process);
    switch (column) {
    case INFO_PATH: clr_result_foreign(context, info->path); break;
    case INFO_FILE_SIZE: clr_result_u64(context, info->file_size); break;
    case INFO_OS: clr_result_static(context, "linux"); break; /* no other core is read */
    case INFO_ARCH: clr_result_static(context, info->arch); break;
    case INFO_POINTER_SIZE: clr_result_u64(context, info->word_size); break;
    case INFO_RUNTIME_FLAVOR:
    case INFO_RUNTIME_VERSION:
    case INFO_RUNTIME_PATH:
    case INFO_RUNTIME_BUILD_ID:
    case INFO_DESCRIPTOR_SOURCE: info_runtime_column(cursor->dump, column, context); break;
    case INFO_GC_MODE:
    case INFO_GC_LAYOUT:
    case INFO_GC_HEAP_COUNT:
    case INFO_GC_IN_PROGRESS:
    case INFO_OOM_REASON:
    case INFO_OOM_SIZE: return info_gc_column(cursor, column, context, error);
    case INFO_PROCESS_ID: clr_result_known(context, info->process_id); break;
    case INFO_COMMAND: clr_result_foreign(context, info->command); break;
    case INFO_SIGNAL:
        if (info->signal != 0)
            sqlite3_result_int(context, info->signal);
        break;
    case INFO_SIGNAL_THREAD: clr_result_known(context, info->signal_thread); break;
    case INFO_WRITTEN_BY: clr_result_static(context, writers[info->writer]); break;
    case INFO_MISSING_BYTES: clr_result_u64(context, info->missing_bytes); break;
    case INFO_OBJECT_COUNT:
    case INFO_OBJECT_BYTES:
    case INFO_UNWALKED_BYTES:
    case INFO_COMPLETE: return info_walk_column(cursor, column, context, error);
    }
    return CLR_OK;
}

static const struct clr_path info_paths[] = {
    {.name = "scan", .order = -1, .unique = true, .rows = clr_rows_one},
    {0},
};

const struct clr_table clr_table_dump_info = {
    .name = "dump_info",
    .doc = "One row: the dump, its process, its runtime and its GC.",
    .columns = info_columns,
    .paths = info_paths,
    .contract = -1,
    .count = one_row,
    .column = info_column,
};

/* --- problems -------------------------------------------------------------------------------- */

enum problem_column {
    PROBLEM_ID,
    PROBLEM_SEVERITY,
    PROBLEM_AREA,
    PROBLEM_ADDRESS,
    PROBLEM_LENGTH,
    PROBLEM_COUNT,
    PROBLEM_MESSAGE,
    PROBLEM_COLUMNS
};

static const struct clr_column problem_columns[] = {
    [PROBLEM_ID] = {"id", CLR_INTEGER, CLR_KEY, 0, "Number of the problem, from 1 as found."},
    [PROBLEM_SEVERITY] = {"severity", CLR_TEXT, 0, 0, "error, warning or info."},
    [PROBLEM_AREA] = {"area", CLR_TEXT, 0, 0, "Name of the table that suffers."},
    [PROBLEM_ADDRESS] = {"address", CLR_INTEGER, 0, 0,
                         "Address of the first; NULL if it has none."},
    [PROBLEM_LENGTH] = {"length", CLR_INTEGER, 0, 0,
                        "Bytes concerned, summed; NULL if not in bytes."},
    [PROBLEM_COUNT] = {"count", CLR_INTEGER, 0, 0, "How often: problems of one cause are one row."},
    [PROBLEM_MESSAGE] = {"message", CLR_TEXT, 0, 0, "What, where, and what to do; of the first."},
    [PROBLEM_COLUMNS] = {0},
};

static enum clr_status load_problems(struct clr_dump *dump, struct clr_job *job,
                                     struct clr_error *error)
{
    bool walked;
    CLR_TRY(
        clr_try_need(dump, CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX, job, &walked, error));
    if (clr_problems_lost(dump->problems))
        return clr_fail(error, CLR_NOMEM, 0,
                        "problems were lost when memory ran out; attach the dump again");
    return CLR_OK;
}

static size_t count_problems(const struct clr_dump *dump)
{
    return clr_problems_count(dump->problems);
}

static int64_t problem_key(const struct clr_dump *dump, size_t row)
{
    (void)dump;
    return (int64_t)row + 1;
}

static enum clr_status problem_column(struct clr_cursor *cursor, int column,
                                      sqlite3_context *context, struct clr_error *error)
{
    static const char *const severity[] = {
        [CLR_INFO] = "info",
        [CLR_WARNING] = "warning",
        [CLR_ERROR] = "error",
    };
    (void)error;
    const struct clr_problem *problem =
        clr_problems_at(cursor->dump->problems, (size_t)cursor->row);
    switch (column) {
    case PROBLEM_ID: clr_result_u64(context, (uint64_t)cursor->row + 1); break;
    case PROBLEM_SEVERITY: clr_result_static(context, severity[problem->severity]); break;
    case PROBLEM_AREA: clr_result_static(context, problem->area); break;
    case PROBLEM_ADDRESS: clr_result_known(context, problem->address); break;
    case PROBLEM_LENGTH: clr_result_known(context, problem->length); break;
    case PROBLEM_COUNT: clr_result_u64(context, problem->count); break;
    case PROBLEM_MESSAGE: clr_result_foreign(context, problem->message); break;
    }
    return CLR_OK;
}

static const struct clr_path problem_paths[] = {
    {.name = "scan", .order = PROBLEM_ID, .reversible = true, .rows = clr_rows_few},
    {0},
};

const struct clr_table clr_table_problems = {
    .name = "problems",
    .doc = "What could not be read, one row a cause; reading it walks the heap.",
    .columns = problem_columns,
    .paths = problem_paths,
    .contract = -1,
    .load = load_problems,
    .count = count_problems,
    .key = problem_key,
    .column = problem_column,
};
