/*
 * exceptions, exception_frames: exceptions on the heap, and the stack traces that they carry.
 */
#include "heapscan.h"
#include "inspect/exceptions.h"
#include "lines.h"
#include "results.h"
#include "runtime/debuginfo.h"
#include "runtime/object.h"

/* --- exceptions ------------------------------------------------------------------------------ */

enum exception_column {
    EXCEPTION_OBJECT,
    EXCEPTION_TYPE_NAME,
    EXCEPTION_MESSAGE,
    EXCEPTION_HRESULT,
    EXCEPTION_INNER_EXCEPTION,
    EXCEPTION_THREAD,
    EXCEPTION_COLUMNS
};

static const struct clr_column exception_columns[] = {
    [EXCEPTION_OBJECT] = CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The object.",
                                    .flags = CLR_KEY, .refers_to = "objects.address"),
    [EXCEPTION_TYPE_NAME] = CLR_COLUMN("type_name", CLR_BY_TABLE(CLR_TEXT), "Name of its type."),
    [EXCEPTION_MESSAGE] = CLR_COLUMN(
        "message", CLR_BY_TABLE(CLR_TEXT),
        "What it was made with; NULL if that is null: the type then has a text of its own."),
    [EXCEPTION_HRESULT] = CLR_COLUMN("hresult", CLR_BY_TABLE(CLR_INTEGER), "As a signed number."),
    [EXCEPTION_INNER_EXCEPTION] =
        CLR_COLUMN("inner_exception", CLR_BY_TABLE(CLR_INTEGER),
                   "The exception that led to it; 0 if none.", .refers_to = "objects.address"),
    [EXCEPTION_THREAD] = CLR_COLUMN("thread", CLR_BY_TABLE(CLR_INTEGER),
                                    "The thread in which it is being handled; else NULL.",
                                    .refers_to = "threads.address"),
    [EXCEPTION_COLUMNS] = CLR_END,
};

struct exception_cursor {
    struct clr_cursor base;
    struct clr_derived_scan scan;
    struct clr_exception exception;
    /* exception_frames */
    struct clr_exception_trace trace;
    struct clr_exception_frame frame;
    uint32_t row;
    bool found;
};

static enum clr_status next_exception(struct clr_cursor *base, struct clr_error *error)
{
    struct exception_cursor *cursor = (struct exception_cursor *)base;
    bool found;
    CLR_TRY(clr_derived_next(&cursor->scan, base->job, &found, error));
    base->eof = !found;
    if (!found)
        return CLR_OK;
    base->rowid = (int64_t)cursor->scan.object.address;
    clr_exception_read(base->dump->runtime, cursor->scan.object.address, &cursor->exception);
    return CLR_OK;
}

static enum clr_status start_scan(struct exception_cursor *cursor, const struct clr_query *query,
                                  struct clr_error *error)
{
    struct clr_dump *dump = cursor->base.dump;
    bool one = query->path == 0;
    if (dump->runtime->exception_type == 0)
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "exceptions cannot be given: the type System.Exception is not known");
    return clr_derived_start(&cursor->scan, dump, dump->runtime->exception_type, one,
                             one ? (uint64_t)clr_equal_int(query, 0) : 0, query->descending, error);
}

static enum clr_status start_exceptions(struct clr_cursor *base, const struct clr_query *query,
                                        struct clr_error *error)
{
    CLR_TRY(start_scan((struct exception_cursor *)base, query, error));
    return next_exception(base, error);
}

static void finish_exceptions(struct clr_cursor *base)
{
    clr_derived_finish(&((struct exception_cursor *)base)->scan);
}

static enum clr_status result_message(struct clr_dump *dump, const struct clr_exception *exception,
                                      sqlite3_context *context, struct clr_error *error)
{
    struct clr_text text = {0};
    uint64_t type;
    if (!exception->has_message || exception->message == 0)
        return CLR_OK;
    if (clr_object_type(dump->runtime, exception->message, &type) &&
        type == dump->runtime->string_type &&
        (clr_object_string_text(dump->runtime, exception->message, &text) || text.failed)) {
        if (text.failed)
            return clr_result_text(context, &text, error);
        clr_result_long_text(context, dump, "exceptions", exception->message, &text);
        clr_text_deinit(&text);
        return CLR_OK;
    }
    clr_text_deinit(&text);
    clr_problem_once(dump->problems, CLR_WARNING, "exceptions", false, exception->object, 0,
                     "the message of the exception at 0x%llx is not saved, or no string",
                     (unsigned long long)exception->object);
    return CLR_OK;
}

static enum clr_status exception_column(struct clr_cursor *base, int column,
                                        sqlite3_context *context, struct clr_error *error)
{
    const struct exception_cursor *cursor = (const struct exception_cursor *)base;
    const struct clr_exception *exception = &cursor->exception;
    struct clr_dump *dump = base->dump;
    switch (column) {
    case EXCEPTION_OBJECT: clr_result_u64(context, exception->object); break;
    case EXCEPTION_TYPE_NAME: {
        const char *name = clr_type_name(dump->runtime, cursor->scan.object.type);
        if (clr_type_name_lost(name))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        clr_result_static(context, name);
        break;
    }
    case EXCEPTION_MESSAGE: return result_message(dump, exception, context, error);
    case EXCEPTION_HRESULT:
        if (exception->has_hresult)
            sqlite3_result_int(context, exception->hresult);
        break;
    case EXCEPTION_INNER_EXCEPTION:
        if (exception->has_inner)
            clr_result_u64(context, exception->inner);
        break;
    case EXCEPTION_THREAD:
        for (size_t i = 0; i < dump->thread_count; i++)
            if (dump->threads[i].exception == exception->object) {
                clr_result_u64(context, dump->threads[i].address);
                break;
            }
        break;
    }
    return CLR_OK;
}

static const struct clr_path exception_paths[] = {
    {.key = {{EXCEPTION_OBJECT, CLR_EQ}},
     .order = EXCEPTION_OBJECT,
     .reversible = true,
     .unique = true,
     .rows = 1},
    {.order = EXCEPTION_OBJECT, .reversible = true, .rows = 50},
    CLR_PATHS_END,
};

const struct clr_table clr_table_exceptions = {
    .name = "exceptions",
    .doc = "Exceptions on the heap, thrown or not, dead ones too.",
    .example = "SELECT type_name, message FROM exceptions",
    .columns = exception_columns,
    .paths = exception_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_EXCEPTION,
    .cursor_size = sizeof(struct exception_cursor),
    .start = start_exceptions,
    .next = next_exception,
    .finish = finish_exceptions,
    .column = exception_column,
};

/* --- exception_frames ------------------------------------------------------------------------ */

enum frame_column {
    FRAME_OBJECT,
    FRAME_ROW,
    FRAME_IP,
    FRAME_METHOD,
    FRAME_METHOD_NAME,
    FRAME_IL_OFFSET,
    FRAME_FILE,
    FRAME_LINE,
    FRAME_COLUMNS
};

static const struct clr_column frame_columns[] = {
    [FRAME_OBJECT] =
        CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "exceptions.object.", .flags = CLR_KEY),
    [FRAME_ROW] = CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                             "Number of the frame; 0 is where it was thrown.", .flags = CLR_KEY),
    [FRAME_IP] = CLR_COLUMN("ip", CLR_BY_TABLE(CLR_INTEGER),
                            "Instruction pointer, as the runtime saved it."),
    [FRAME_METHOD] = CLR_COLUMN("method", CLR_BY_TABLE(CLR_INTEGER), "The method.",
                                .refers_to = "methods.address"),
    [FRAME_METHOD_NAME] =
        CLR_COLUMN("method_name", CLR_BY_TABLE(CLR_TEXT), "Namespace.Type.Method."),
    [FRAME_IL_OFFSET] = CLR_COLUMN("il_offset", CLR_BY_TABLE(CLR_INTEGER),
                                   "Offset in the method's IL; NULL if not known."),
    [FRAME_FILE] = CLR_COLUMN("file", CLR_BY_TABLE(CLR_TEXT),
                              "Source file, where the module's PDB is at hand."),
    [FRAME_LINE] = CLR_COLUMN("line", CLR_BY_TABLE(CLR_INTEGER), "Line in it, from 1."),
    [FRAME_COLUMNS] = CLR_END,
};

static enum clr_status next_frame(struct clr_cursor *base, struct clr_error *error)
{
    struct exception_cursor *cursor = (struct exception_cursor *)base;
    struct clr_dump *dump = base->dump;
    base->rowid++;
    cursor->row++;
    for (;;) {
        bool damaged = false;
        if (cursor->row < cursor->trace.count) {
            if (clr_exception_frame(dump->runtime, &cursor->trace, cursor->row, &cursor->frame))
                return CLR_OK;
            damaged = true;
        } else {
            bool found;
            CLR_TRY(clr_derived_next(&cursor->scan, base->job, &found, error));
            base->eof = !found;
            if (!found)
                return CLR_OK;
            clr_exception_trace(dump->runtime, cursor->scan.object.address, &cursor->trace,
                                &damaged);
            cursor->row = 0;
        }
        if (!damaged)
            continue;
        cursor->trace.count = 0;
        clr_problem_once(
            dump->problems, CLR_WARNING, "exception_frames", false, cursor->scan.object.address, 0,
            "the stack trace of the exception at 0x%llx is not saved or makes no sense",
            (unsigned long long)cursor->scan.object.address);
    }
}

static enum clr_status start_frames(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct exception_cursor *cursor = (struct exception_cursor *)base;
    CLR_TRY(start_scan(cursor, query, error));
    cursor->trace.count = cursor->row = 0;
    base->rowid = -1;
    return next_frame(base, error);
}

/* The IL offset of the current frame: that of the call, not of what follows it. */
static enum clr_status find_il(struct exception_cursor *cursor, bool *found, uint32_t *il_offset,
                               struct clr_error *error)
{
    struct clr_runtime *runtime = cursor->base.dump->runtime;
    const struct clr_codes *codes;
    *found = false;
    if (!runtime->contract[CLR_CONTRACT_CODE])
        return CLR_OK;
    CLR_TRY(clr_codes_need(runtime, cursor->base.job, &codes, error));
    uint64_t ip = cursor->frame.ip - (cursor->frame.ip_is_adjusted ? 0 : 1);
    const struct clr_code *code = clr_code_at(codes, ip);
    if (!code || code->method != cursor->frame.method)
        return CLR_OK;
    uint64_t offset = clr_code_offset(code, ip);
    if (code->is_cold)
        code = clr_code_at(codes, code->hot_code);
    return code ? clr_code_il_offset(runtime, code, offset, found, il_offset, error) : CLR_OK;
}

static enum clr_status frame_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    struct exception_cursor *cursor = (struct exception_cursor *)base;
    const struct clr_exception_frame *frame = &cursor->frame;
    struct clr_text text = {0};
    struct clr_method method;
    bool found;
    uint32_t il_offset;
    switch (column) {
    case FRAME_OBJECT: clr_result_u64(context, cursor->scan.object.address); break;
    case FRAME_ROW: clr_result_u64(context, cursor->row); break;
    case FRAME_IP: clr_result_u64(context, frame->ip); break;
    case FRAME_METHOD: clr_result_known(context, frame->method); break;
    case FRAME_METHOD_NAME:
        if (frame->method == 0)
            break;
        clr_method_full_name_at(base->dump->runtime, frame->method, &text);
        return clr_result_text(context, &text, error);
    case FRAME_IL_OFFSET:
    case FRAME_FILE:
    case FRAME_LINE:
        CLR_TRY(find_il(cursor, &found, &il_offset, error));
        if (!found)
            break;
        if (column == FRAME_IL_OFFSET)
            clr_result_u64(context, il_offset);
        else if (clr_method_read(base->dump->runtime, frame->method, &method))
            return clr_result_line(base->dump, &method, il_offset, column == FRAME_FILE, context,
                                   error);
        break;
    }
    return CLR_OK;
}

static const struct clr_path frame_paths[] = {
    {.key = {{FRAME_OBJECT, CLR_EQ}}, .order = FRAME_ROW, .rows = 10},
    {.order = FRAME_OBJECT, .rows = 500},
    CLR_PATHS_END,
};

const struct clr_table clr_table_exception_frames = {
    .name = "exception_frames",
    .doc = "The stack trace that an exception carries, the throwing method first.",
    .example = "SELECT * FROM exception_frames LIMIT 5",
    .columns = frame_columns,
    .paths = frame_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_EXCEPTION,
    .cursor_size = sizeof(struct exception_cursor),
    .start = start_frames,
    .next = next_frame,
    .finish = finish_exceptions,
    .column = frame_column,
};
