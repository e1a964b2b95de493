/*
 * dump_info, problems: the dump as a whole.
 *
 * dump_info and problems must answer on any dump, so they walk the heap if that can be done and go
 * on without if not: dump_info.complete is then 0 and problems says why.
 */
#include "cache.h"
#include "describe.h"
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
    INFO_CHECKED,
    INFO_COLUMNS
};

static const struct clr_column info_columns[] = {
    [INFO_PATH] = CLR_COLUMN("path", CLR_BY_TABLE(CLR_TEXT), "File that was opened."),
    [INFO_FILE_SIZE] =
        CLR_COLUMN("file_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of the core file."),
    [INFO_OS] = CLR_COLUMN("os", CLR_BY_TABLE(CLR_TEXT), "Operating system of the process."),
    [INFO_ARCH] = CLR_COLUMN("arch", CLR_BY_TABLE(CLR_TEXT),
                             "Processor architecture: x64, arm64, arm or x86."),
    [INFO_POINTER_SIZE] =
        CLR_COLUMN("pointer_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of a pointer: 4 or 8."),
    [INFO_RUNTIME_FLAVOR] =
        CLR_COLUMN("runtime_flavor", CLR_BY_TABLE(CLR_TEXT), "coreclr or nativeaot."),
    [INFO_RUNTIME_VERSION] =
        CLR_COLUMN("runtime_version", CLR_BY_TABLE(CLR_TEXT),
                   "Version of the runtime, as it publishes it or as its folder is named."),
    [INFO_RUNTIME_PATH] = CLR_COLUMN("runtime_path", CLR_BY_TABLE(CLR_TEXT),
                                     "Image that holds the runtime, as the process saw it."),
    [INFO_RUNTIME_BUILD_ID] = CLR_COLUMN("runtime_build_id", CLR_BY_TABLE(CLR_TEXT),
                                         "Build id of that image, lower-case hex."),
    [INFO_DESCRIPTOR_SOURCE] =
        CLR_COLUMN("descriptor_source", CLR_BY_TABLE(CLR_TEXT),
                   "Where the contract descriptor was read: core, file or supplement."),
    [INFO_GC_MODE] = CLR_COLUMN("gc_mode", CLR_BY_TABLE(CLR_TEXT),
                                "workstation or server; NULL if the GC is not served."),
    [INFO_GC_LAYOUT] = CLR_COLUMN("gc_layout", CLR_BY_TABLE(CLR_TEXT), "regions or segments."),
    [INFO_GC_HEAP_COUNT] =
        CLR_COLUMN("gc_heap_count", CLR_BY_TABLE(CLR_INTEGER), "Number of GC heaps."),
    [INFO_GC_IN_PROGRESS] =
        CLR_COLUMN("gc_in_progress", CLR_BY_TABLE(CLR_INTEGER),
                   "1: taken during a GC. One that moved objects may have torn generations 0 and "
                   "1, and problems says so; one in the background does no harm: what it found "
                   "dead and did not sweep yet is listed like other dead objects."),
    [INFO_OOM_REASON] = CLR_COLUMN("oom_reason", CLR_BY_TABLE(CLR_TEXT),
                                   "Why the GC last refused an allocation; NULL if it never did."),
    [INFO_OOM_SIZE] =
        CLR_COLUMN("oom_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes that this allocation asked for."),
    [INFO_PROCESS_ID] = CLR_COLUMN("process_id", CLR_BY_TABLE(CLR_INTEGER), "Id of the process."),
    [INFO_COMMAND] =
        CLR_COLUMN("command", CLR_BY_TABLE(CLR_TEXT), "Command line, or the program's name."),
    [INFO_SIGNAL] = CLR_COLUMN("signal", CLR_BY_TABLE(CLR_INTEGER),
                               "Signal that ended the process; NULL if none did."),
    [INFO_SIGNAL_THREAD] =
        CLR_COLUMN("signal_thread", CLR_BY_TABLE(CLR_INTEGER), "The thread that got the signal.",
                   .refers_to = "threads.os_id"),
    [INFO_WRITTEN_BY] = CLR_COLUMN("written_by", CLR_BY_TABLE(CLR_TEXT),
                                   "What wrote the core: createdump, kernel, gcore or unknown."),
    [INFO_OBJECT_COUNT] = CLR_COLUMN(
        "object_count", CLR_BY_TABLE(CLR_INTEGER),
        "Objects on the heap, without free blocks; NULL without a readable heap. Walks the heap."),
    [INFO_OBJECT_BYTES] = CLR_COLUMN("object_bytes", CLR_BY_TABLE(CLR_INTEGER),
                                     "Bytes of these objects. Walks the heap."),
    [INFO_UNWALKED_BYTES] =
        CLR_COLUMN("unwalked_bytes", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes of the heap that could not be read as objects. Walks the heap."),
    [INFO_MISSING_BYTES] = CLR_COLUMN("missing_bytes", CLR_BY_TABLE(CLR_INTEGER),
                                      "Bytes that the headers announce and neither the file nor an "
                                      "image that stands in for it holds."),
    [INFO_COMPLETE] = CLR_COLUMN(
        "complete", CLR_BY_TABLE(CLR_INTEGER),
        "1: objects, refs and roots are whole, as far as they were read (see checked); 0 once "
        "anything is found missing. Walks the heap."),
    [INFO_CHECKED] = CLR_COLUMN(
        "checked", CLR_BY_TABLE(CLR_TEXT),
        "What complete speaks of: objects, and then refs and roots once a query has read all of "
        "them (SELECT count(*) FROM refs, and the same of roots); NULL without a readable heap."),
    [INFO_COLUMNS] = CLR_END,
};

static const void *info_row(const struct clr_dump *dump, size_t *count)
{
    *count = 1;
    return clr_process_info(dump->process);
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
    CLR_TRY(clr_try_need(cursor->dump, CLR_PART_GC, cursor->job, &have, error));
    if (!have)
        return CLR_OK;
    const struct clr_gc *gc = cursor->dump->gc;
    switch (column) {
    case INFO_GC_MODE: clr_result_static(context, gc->server ? "server" : "workstation"); break;
    case INFO_GC_LAYOUT: clr_result_static(context, gc->regions ? "regions" : "segments"); break;
    case INFO_GC_HEAP_COUNT: clr_result_u64(context, gc->heap_count); break;
    case INFO_GC_IN_PROGRESS:
        clr_result_bool(context, gc->in_progress || gc->state < CLR_GC_FREE);
        break;
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
    static const char *const checked[] = {"objects", "objects, refs", "objects, roots",
                                          "objects, refs, roots"};
    const struct clr_dump *dump = cursor->dump;
    bool walked;
    CLR_TRY(clr_try_need(cursor->dump, CLR_PART_INDEX, cursor->job, &walked, error));
    uint64_t unwalked = 0;
    for (size_t i = 0; walked && i < dump->gc->segment_count; i++)
        unwalked += clr_heap_segment_stats(dump->heap, i)->unwalked_bytes;
    if (column == INFO_COMPLETE)
        CLR_TRY(clr_dump_settle_refs(cursor->dump, cursor->job, error));
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
    else if (walked && column == INFO_CHECKED)
        clr_result_static(
            context, checked[(dump->refs_read ? 1 : 0) | (dump->built & CLR_PART_ROOTS ? 2 : 0)]);
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
    case INFO_COMPLETE:
    case INFO_CHECKED: return info_walk_column(cursor, column, context, error);
    }
    return CLR_OK;
}

const struct clr_table clr_table_dump_info = {
    .name = "dump_info",
    .doc = "One row: the dump, its process, its runtime and its GC.",
    .example = "SELECT runtime_version, gc_mode, complete FROM dump_info",
    .columns = info_columns,
    .list = {.get = info_row, .rows = 1},
    .contract = -1,
    .column = info_column,
};

/* --- problems -------------------------------------------------------------------------------- */

static enum clr_status load_problems(struct clr_dump *dump, struct clr_job *job,
                                     struct clr_error *error)
{
    bool walked;
    CLR_TRY(clr_try_need(dump, CLR_PART_INDEX, job, &walked, error));
    CLR_TRY(clr_dump_settle_refs(dump, job, error));
    if (clr_problems_lost(dump->problems))
        return clr_fail(error, CLR_NOMEM, 0,
                        "problems were lost when memory ran out; attach the dump again");
    return CLR_OK;
}

static const void *list_problems(const struct clr_dump *dump, size_t *count)
{
    *count = clr_problems_count(dump->problems);
    return *count ? clr_problems_at(dump->problems, 0) : NULL;
}

static const char *const severities[] = {
    [CLR_INFO] = "info",
    [CLR_WARNING] = "warning",
    [CLR_ERROR] = "error",
};

static const struct clr_column problem_columns[] = {
    CLR_COLUMN("id", CLR_ROW_NUMBER(1), "Number of the problem, from 1 as found.",
               .flags = CLR_KEY),
    CLR_COLUMN("severity", CLR_WORD(clr_problem, severity, severities), "error, warning or info."),
    CLR_COLUMN("area", CLR_STATIC_TEXT(clr_problem, area), "Name of the table that suffers."),
    CLR_COLUMN("address", CLR_NONZERO(clr_problem, address),
               "Address of the first; NULL if it has none."),
    CLR_COLUMN("length", CLR_NONZERO(clr_problem, length),
               "Bytes concerned, summed; NULL if not in bytes."),
    CLR_COLUMN("count", CLR_NUMBER(clr_problem, count),
               "How often: problems of one cause are one row."),
    CLR_COLUMN("message", CLR_FOREIGN_TEXT(clr_problem, message),
               "What, where, and what to do; of the first."),
    CLR_END,
};

const struct clr_table clr_table_problems = {
    .name = "problems",
    .doc = "What could not be read, one row a cause; reading it walks the heap.",
    .example = "SELECT count(*) AS causes, total(count) AS found FROM problems",
    .columns = problem_columns,
    .list = {.get = list_problems,
             .row_size = sizeof(struct clr_problem),
             .rows = 20,
             .load = load_problems},
    .contract = -1,
};
