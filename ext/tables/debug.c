/*
 * debug_bounds, debug_vars: what the compiler wrote down about native code, code by code. A code's
 * blob is decoded when its first row is asked for, into arrays that the cursor keeps and uses
 * again.
 */
#include "lines.h"
#include "runtime/debuginfo.h"

/* A cursor over what each code has several of. */
struct debug_cursor {
    struct clr_cursor base;
    const struct clr_codes *codes;
    size_t next_code, end_code;
    const struct clr_code *code;
    uint64_t start, total; /* of the code: its address and bytes */
    uint64_t row, count;   /* of what CODE has */
    struct clr_debug_blob blob;
    struct clr_bounds bounds;
    struct clr_variables variables;
    struct clr_bound bound; /* number ROW */
    struct clr_variable variable;
};

static enum clr_status start_debug(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    struct clr_runtime *runtime = base->dump->runtime;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_CODE, "debug information", error));
    CLR_TRY(clr_codes_need(runtime, base->job, &cursor->codes, error));
    cursor->end_code = cursor->codes->count;
    if (query->path == 0) {
        uint64_t start = (uint64_t)clr_equal_int(query, 0);
        const struct clr_code *code = clr_code_at(cursor->codes, start);
        bool found = code && code->start == start;
        cursor->next_code = found ? (size_t)(code - cursor->codes->rows) : 0;
        cursor->end_code = cursor->next_code + found;
    }
    return CLR_OK;
}

static void finish_debug(struct clr_cursor *base)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    clr_debug_blob_deinit(&cursor->blob);
    clr_bounds_deinit(&cursor->bounds);
    clr_variables_deinit(&cursor->variables);
}

/* Steps to the next row; READ decodes what CODE has and counts it. */
static enum clr_status next_row(struct debug_cursor *cursor, const char *reading,
                                enum clr_status (*read)(struct debug_cursor *, struct clr_error *),
                                struct clr_error *error)
{
    cursor->row++;
    while (cursor->row >= cursor->count) {
        cursor->base.eof = cursor->next_code >= cursor->end_code;
        if (cursor->base.eof)
            return CLR_OK;
        CLR_TRY(
            clr_job_poll(cursor->base.job, reading, cursor->next_code, cursor->end_code, error));
        cursor->code = &cursor->codes->rows[cursor->next_code++];
        cursor->start = cursor->code->start;
        cursor->row = 0;
        CLR_TRY(read(cursor, error));
    }
    return CLR_OK;
}

enum { KEY_CODE, KEY_ROW }; /* the first columns of both tables */

static const struct clr_path paths[] = {
    {.key = {{KEY_CODE, CLR_EQ}}, .order = KEY_ROW, .rows = 20},
    {.order = KEY_CODE, .rows = 100000},
    CLR_PATHS_END,
};

/* --- debug_bounds ---------------------------------------------------------------------------- */

static enum clr_status read_bounds(struct debug_cursor *cursor, struct clr_error *error)
{
    CLR_TRY(clr_code_bounds(cursor->base.dump->runtime, cursor->code, false, &cursor->blob,
                            &cursor->bounds, error));
    cursor->count = cursor->bounds.count;
    cursor->total = clr_code_total(cursor->codes, cursor->code);
    return CLR_OK;
}

static enum clr_status next_bound(struct clr_cursor *base, struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    CLR_TRY(next_row(cursor, "reading bounds", read_bounds, error));
    if (!base->eof)
        cursor->bound = cursor->bounds.items[cursor->row];
    return CLR_OK;
}

static enum clr_status start_bounds(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    CLR_TRY(start_debug(base, query, error));
    return next_bound(base, error);
}

CLR_NUMBER_FUNCTION(bound_native_end)
{
    const struct debug_cursor *is = row;
    return is->row + 1 < is->count ? is->bounds.items[is->row + 1].native_offset
                                   : clr_or_absent(is->total);
}

CLR_WORD_FUNCTION(bound_kind)
{
    static const char *const special[] = {"no_mapping", "prolog", "epilog"};
    int32_t il_offset = ((const struct debug_cursor *)row)->bound.il_offset;
    return il_offset >= 0 ? "il" : special[-il_offset - 1];
}

CLR_TEXT_FUNCTION(bound_source)
{
    clr_source_text(((const struct debug_cursor *)row)->bound.source, text);
    return CLR_OK;
}

CLR_WORD_FUNCTION(bound_format)
{
    return ((const struct debug_cursor *)row)->blob.info.format->name;
}

static enum clr_status result_line(const struct debug_cursor *cursor, bool file,
                                   sqlite3_context *context, struct clr_error *error)
{
    struct clr_dump *dump = cursor->base.dump;
    struct clr_method method;
    if (cursor->bound.il_offset < 0 ||
        !clr_method_read(dump->runtime, cursor->code->method, &method))
        return CLR_OK;
    return clr_result_line(dump, &method, (uint32_t)cursor->bound.il_offset, file, context, error);
}

CLR_VALUE_FUNCTION(bound_file)
{
    return result_line(row, true, context, error);
}

CLR_VALUE_FUNCTION(bound_line)
{
    return result_line(row, false, context, error);
}

static const struct clr_column bound_columns[] = {
    CLR_COLUMN("code", CLR_NUMBER(debug_cursor, start), "The code.", .flags = CLR_KEY,
               .refers_to = "native_codes.start"),
    CLR_COLUMN("row", CLR_NUMBER(debug_cursor, row),
               "Number of the bound, as the compiler wrote it.", .flags = CLR_KEY),
    CLR_COLUMN("native_offset", CLR_NUMBER(debug_cursor, bound.native_offset),
               "Bytes from the start of the code; cold code counts on from hot."),
    CLR_COLUMN("native_end", CLR_NUMBER_BY(bound_native_end),
               "Where the next bound begins; of the last the size of the code."),
    CLR_COLUMN("il_offset", CLR_NONNEGATIVE(debug_cursor, bound.il_offset),
               "Offset in the method's IL; NULL where kind is not il."),
    CLR_COLUMN("kind", CLR_WORD_BY(bound_kind), "il, no_mapping, prolog or epilog."),
    CLR_COLUMN("source", CLR_TEXT_BY(bound_source),
               "Why it is there: stack_empty, call_instruction, async and others, as a comma list; "
               "invalid if no reason is given."),
    CLR_COLUMN(
        "format", CLR_WORD_BY(bound_format),
        "DebugInfo format that it was read from: nibble (.NET 8 and 9), 1 (10), 2 or c1 (11)."),
    CLR_COLUMN("file", CLR_VALUE_BY(CLR_TEXT, bound_file),
               "Source file, where the module's PDB is at hand.", .flags = CLR_HIDDEN),
    CLR_COLUMN("line", CLR_VALUE_BY(CLR_INTEGER, bound_line), "Line in it, from 1.",
               .flags = CLR_HIDDEN),
    CLR_END,
};

const struct clr_table clr_table_debug_bounds = {
    .name = "debug_bounds",
    .doc = "Which IL each stretch of native code was made from, in the order and with the "
           "duplicates that the compiler wrote.",
    .example = "SELECT native_offset, il_offset, kind FROM debug_bounds WHERE code = (SELECT "
               "min(start) FROM native_codes WHERE kind = 'jit' AND debug_info IS NOT NULL)",
    .columns = bound_columns,
    .paths = paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_DEBUG_INFO,
    .cursor_size = sizeof(struct debug_cursor),
    .start = start_bounds,
    .next = next_bound,
    .finish = finish_debug,
};

/* --- debug_vars ------------------------------------------------------------------------------ */

static enum clr_status read_variables(struct debug_cursor *cursor, struct clr_error *error)
{
    CLR_TRY(clr_code_variables(cursor->base.dump->runtime, cursor->code, &cursor->blob,
                               &cursor->variables, error));
    cursor->count = cursor->variables.count;
    return CLR_OK;
}

static enum clr_status next_var(struct clr_cursor *base, struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    CLR_TRY(next_row(cursor, "reading variables", read_variables, error));
    if (!base->eof)
        cursor->variable = cursor->variables.items[cursor->row];
    return CLR_OK;
}

static enum clr_status start_vars(struct clr_cursor *base, const struct clr_query *query,
                                  struct clr_error *error)
{
    CLR_TRY(start_debug(base, query, error));
    return next_var(base, error);
}

static void put_register(const struct clr_dump *dump, uint32_t number, struct clr_text *text)
{
    const struct clr_arch *cpu = clr_process_info(dump->process)->cpu;
    const struct clr_register *found = clr_arch_register(cpu, number);
    if (found)
        clr_text_put(text, found->role ? found->role : found->name);
    else
        clr_text_format(text, "reg%u", number);
}

static void put_stack(const struct clr_dump *dump, const struct clr_variable *v,
                      struct clr_text *text)
{
    clr_text_char(text, '[');
    put_register(dump, v->register1, text);
    clr_text_format(text, v->offset < 0 ? "-0x%x]" : "+0x%x]",
                    v->offset < 0 ? 0u - (unsigned)v->offset : (unsigned)v->offset);
}

static void put_location(const struct clr_dump *dump, const struct clr_variable *v,
                         struct clr_text *text)
{
    switch (v->kind) {
    case CLR_VAR_REGISTER:
    case CLR_VAR_REGISTER_BYREF: put_register(dump, v->register1, text); break;
    case CLR_VAR_REGISTER_FLOAT: clr_text_format(text, "float%u", v->register1); break;
    case CLR_VAR_STACK:
    case CLR_VAR_STACK_BYREF:
    case CLR_VAR_STACK_DOUBLE: put_stack(dump, v, text); break;
    case CLR_VAR_REGISTER_REGISTER:
        put_register(dump, v->register1, text);
        clr_text_char(text, ':');
        put_register(dump, v->register2, text);
        break;
    case CLR_VAR_REGISTER_STACK:
        put_register(dump, v->register2, text);
        clr_text_char(text, ':');
        put_stack(dump, v, text);
        break;
    case CLR_VAR_STACK_REGISTER:
        put_stack(dump, v, text);
        clr_text_char(text, ':');
        put_register(dump, v->register2, text);
        break;
    case CLR_VAR_FLOAT_STACK: clr_text_format(text, "st%d", v->offset); break;
    case CLR_VAR_FIXED: clr_text_format(text, "argument+0x%x", (unsigned)v->offset); break;
    case CLR_VAR_KINDS: break;
    }
}

CLR_WORD_FUNCTION(var_kind)
{
    return clr_variable_kind_text(((const struct debug_cursor *)row)->variable.kind);
}

CLR_TEXT_FUNCTION(var_location)
{
    put_location(cursor->dump, &((const struct debug_cursor *)row)->variable, text);
    return CLR_OK;
}

CLR_WORD_FUNCTION(var_special)
{
    const struct debug_cursor *is = row;
    return clr_variable_special(is->blob.info.format, is->variable.number);
}

CLR_NUMBER_FUNCTION(var_call_il_offset)
{
    const struct debug_cursor *is = row;
    int32_t call_return = is->blob.info.format->call_return;
    return call_return != 0 && is->variable.number == call_return ? is->variable.call_il
                                                                  : CLR_ABSENT;
}

static const struct clr_column var_columns[] = {
    CLR_COLUMN("code", CLR_NUMBER(debug_cursor, start), "The code.", .flags = CLR_KEY,
               .refers_to = "native_codes.start"),
    CLR_COLUMN("row", CLR_NUMBER(debug_cursor, row),
               "Number of the entry, as the compiler wrote it.", .flags = CLR_KEY),
    CLR_COLUMN("native_offset", CLR_NUMBER(debug_cursor, variable.start),
               "From which byte of the code on the variable is there."),
    CLR_COLUMN("native_end", CLR_NUMBER(debug_cursor, variable.end), "Up to which."),
    CLR_COLUMN(
        "variable", CLR_NUMBER(debug_cursor, variable.number),
        "Number: parameters from 0 (this is the first), then locals; negative: see special."),
    CLR_COLUMN("kind", CLR_WORD_BY(var_kind),
               "Kind of place: register, stack, register_register and others; byref: the place "
               "holds its address."),
    CLR_COLUMN("location", CLR_TEXT_BY(var_location), "Such as rbx, [rbp-0x8], rax:rdx."),
    CLR_COLUMN("special", CLR_WORD_BY(var_special),
               "What is no parameter or local: varargs_handle, return_buffer, generic_context, "
               "async_continuation, call_return, unknown; else NULL."),
    CLR_COLUMN("call_il_offset", CLR_NUMBER_BY(var_call_il_offset),
               "Of a call_return: IL offset of the call."),
    CLR_END,
};

const struct clr_table clr_table_debug_vars = {
    .name = "debug_vars",
    .doc = "Where parameters and locals live, by stretches of native code.",
    .example = "SELECT * FROM debug_vars WHERE code = (SELECT min(start) FROM native_codes WHERE "
               "kind = 'jit' AND debug_info IS NOT NULL)",
    .columns = var_columns,
    .paths = paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_DEBUG_INFO,
    .cursor_size = sizeof(struct debug_cursor),
    .start = start_vars,
    .next = next_var,
    .finish = finish_debug,
};
