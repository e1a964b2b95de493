/*
 * debug_bounds, debug_vars: what the compiler wrote down about native code, code by code. A code's
 * blob is decoded when its first row is asked for, into arrays that the cursor keeps and uses
 * again.
 */
#include "codes.h"
#include "lines.h"
#include "results.h"
#include "runtime/debuginfo.h"
#include "runtime/methods.h"

/* --- debug_bounds ---------------------------------------------------------------------------- */

enum bound_column {
    BOUND_CODE,
    BOUND_ROW,
    BOUND_NATIVE_OFFSET,
    BOUND_NATIVE_END,
    BOUND_IL_OFFSET,
    BOUND_KIND,
    BOUND_SOURCE,
    BOUND_FORMAT,
    BOUND_FILE,
    BOUND_LINE,
    BOUND_COLUMNS
};

static const struct clr_column bound_columns[] = {
    [BOUND_CODE] = CLR_COLUMN("code", CLR_BY_TABLE(CLR_INTEGER), "The code.", .flags = CLR_KEY,
                              .refers_to = "native_codes.start"),
    [BOUND_ROW] = CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                             "Number of the bound, as the compiler wrote it.", .flags = CLR_KEY),
    [BOUND_NATIVE_OFFSET] =
        CLR_COLUMN("native_offset", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes from the start of the code; cold code counts on from hot."),
    [BOUND_NATIVE_END] =
        CLR_COLUMN("native_end", CLR_BY_TABLE(CLR_INTEGER),
                   "Where the next bound begins; of the last the size of the code."),
    [BOUND_IL_OFFSET] = CLR_COLUMN("il_offset", CLR_BY_TABLE(CLR_INTEGER),
                                   "Offset in the method's IL; NULL where kind is not il."),
    [BOUND_KIND] = CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT), "il, no_mapping, prolog or epilog."),
    [BOUND_SOURCE] = CLR_COLUMN("source", CLR_BY_TABLE(CLR_TEXT),
                                "Why it is there: stack_empty, call_instruction, async and others, "
                                "as a comma list; invalid if no reason is given."),
    [BOUND_FORMAT] = CLR_COLUMN(
        "format", CLR_BY_TABLE(CLR_TEXT),
        "DebugInfo format that it was read from: nibble (.NET 8 and 9), 1 (10), 2 or c1 (11)."),
    [BOUND_FILE] =
        CLR_COLUMN("file", CLR_BY_TABLE(CLR_TEXT),
                   "Source file, where the module's PDB is at hand.", .flags = CLR_HIDDEN),
    [BOUND_LINE] =
        CLR_COLUMN("line", CLR_BY_TABLE(CLR_INTEGER), "Line in it, from 1.", .flags = CLR_HIDDEN),
    [BOUND_COLUMNS] = CLR_END,
};

/* A cursor over what each code has several of. */
struct debug_cursor {
    struct clr_cursor base;
    const struct clr_codes *codes;
    size_t next_code, end_code, row;
    const struct clr_code *code;
    uint64_t total; /* bytes of the code */
    struct clr_debug_blob blob;
    struct clr_bounds bounds;
    struct clr_variables variables;
};

static enum clr_status start_debug(struct debug_cursor *cursor, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct clr_runtime *runtime = cursor->base.dump->runtime;
    size_t count;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_CODE, "debug information", error));
    CLR_TRY(clr_codes_need(runtime, cursor->base.job, &cursor->codes, error));
    clr_codes_choose(cursor->codes, query, false, query->path == 0, &cursor->next_code, &count);
    cursor->end_code = cursor->next_code + count;
    cursor->bounds.count = cursor->variables.count = cursor->row = 0;
    cursor->base.rowid = -1;
    return CLR_OK;
}

static void finish_debug(struct clr_cursor *base)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    clr_debug_blob_deinit(&cursor->blob);
    clr_bounds_deinit(&cursor->bounds);
    clr_variables_deinit(&cursor->variables);
}

static enum clr_status next_bound(struct clr_cursor *base, struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    base->rowid++;
    if (++cursor->row < cursor->bounds.count)
        return CLR_OK;
    cursor->row = 0;
    cursor->bounds.count = 0;
    while (cursor->next_code < cursor->end_code) {
        cursor->code = &cursor->codes->rows[cursor->next_code++];
        CLR_TRY(
            clr_job_poll(base->job, "reading bounds", cursor->next_code, cursor->end_code, error));
        CLR_TRY(clr_code_bounds(base->dump->runtime, cursor->code, false, &cursor->blob,
                                &cursor->bounds, error));
        if (cursor->bounds.count != 0) {
            cursor->total = clr_code_total(cursor->codes, cursor->code);
            return CLR_OK;
        }
    }
    base->eof = true;
    return CLR_OK;
}

static enum clr_status start_bounds(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    CLR_TRY(start_debug((struct debug_cursor *)base, query, error));
    return next_bound(base, error);
}

static enum clr_status bound_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    static const char *const special[] = {"no_mapping", "prolog", "epilog"};
    const struct debug_cursor *cursor = (const struct debug_cursor *)base;
    const struct clr_bound *bound = &cursor->bounds.items[cursor->row];
    struct clr_method method;
    struct clr_text text = {0};
    switch (column) {
    case BOUND_CODE: clr_result_u64(context, cursor->code->start); break;
    case BOUND_ROW: clr_result_u64(context, cursor->row); break;
    case BOUND_NATIVE_OFFSET: clr_result_u64(context, bound->native_offset); break;
    case BOUND_NATIVE_END:
        if (cursor->row + 1 < cursor->bounds.count)
            clr_result_u64(context, bound[1].native_offset);
        else
            clr_result_known(context, cursor->total);
        break;
    case BOUND_IL_OFFSET:
        if (bound->il_offset >= 0)
            sqlite3_result_int(context, bound->il_offset);
        break;
    case BOUND_KIND:
        clr_result_static(context, bound->il_offset >= 0 ? "il" : special[-bound->il_offset - 1]);
        break;
    case BOUND_SOURCE:
        clr_source_text(bound->source, &text);
        return clr_result_text(context, &text, error);
    case BOUND_FORMAT: clr_result_static(context, cursor->blob.info.format->name); break;
    case BOUND_FILE:
    case BOUND_LINE:
        if (bound->il_offset >= 0 &&
            clr_method_read(base->dump->runtime, cursor->code->method, &method))
            return clr_result_line(base->dump, &method, (uint32_t)bound->il_offset,
                                   column == BOUND_FILE, context, error);
        break;
    }
    return CLR_OK;
}

static const struct clr_path bound_paths[] = {
    {.key = {{BOUND_CODE, CLR_EQ}}, .order = BOUND_ROW, .rows = 20},
    {.order = BOUND_CODE, .rows = 100000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_debug_bounds = {
    .name = "debug_bounds",
    .doc = "Which IL each stretch of native code was made from, in the order and with the "
           "duplicates that the compiler wrote.",
    .example = "SELECT native_offset, il_offset, kind FROM debug_bounds WHERE code = (SELECT "
               "min(start) FROM native_codes WHERE kind = 'jit' AND debug_info IS NOT NULL)",
    .columns = bound_columns,
    .paths = bound_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_DEBUG_INFO,
    .cursor_size = sizeof(struct debug_cursor),
    .start = start_bounds,
    .next = next_bound,
    .finish = finish_debug,
    .column = bound_column,
};

/* --- debug_vars ------------------------------------------------------------------------------ */

enum var_column {
    VAR_CODE,
    VAR_ROW,
    VAR_NATIVE_OFFSET,
    VAR_NATIVE_END,
    VAR_VARIABLE,
    VAR_KIND,
    VAR_LOCATION,
    VAR_SPECIAL,
    VAR_CALL_IL_OFFSET,
    VAR_COLUMNS
};

static const struct clr_column var_columns[] = {
    [VAR_CODE] = CLR_COLUMN("code", CLR_BY_TABLE(CLR_INTEGER), "The code.", .flags = CLR_KEY,
                            .refers_to = "native_codes.start"),
    [VAR_ROW] = CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                           "Number of the entry, as the compiler wrote it.", .flags = CLR_KEY),
    [VAR_NATIVE_OFFSET] = CLR_COLUMN("native_offset", CLR_BY_TABLE(CLR_INTEGER),
                                     "From which byte of the code on the variable is there."),
    [VAR_NATIVE_END] = CLR_COLUMN("native_end", CLR_BY_TABLE(CLR_INTEGER), "Up to which."),
    [VAR_VARIABLE] = CLR_COLUMN(
        "variable", CLR_BY_TABLE(CLR_INTEGER),
        "Number: parameters from 0 (this is the first), then locals; negative: see special."),
    [VAR_KIND] = CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT),
                            "Kind of place: register, stack, register_register and others; byref: "
                            "the place holds its address."),
    [VAR_LOCATION] =
        CLR_COLUMN("location", CLR_BY_TABLE(CLR_TEXT), "Such as rbx, [rbp-0x8], rax:rdx."),
    [VAR_SPECIAL] =
        CLR_COLUMN("special", CLR_BY_TABLE(CLR_TEXT),
                   "What is no parameter or local: varargs_handle, return_buffer, generic_context, "
                   "async_continuation, call_return, unknown; else NULL."),
    [VAR_CALL_IL_OFFSET] = CLR_COLUMN("call_il_offset", CLR_BY_TABLE(CLR_INTEGER),
                                      "Of a call_return: IL offset of the call."),
    [VAR_COLUMNS] = CLR_END,
};

static enum clr_status next_var(struct clr_cursor *base, struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    base->rowid++;
    if (++cursor->row < cursor->variables.count)
        return CLR_OK;
    cursor->row = 0;
    cursor->variables.count = 0;
    while (cursor->next_code < cursor->end_code) {
        cursor->code = &cursor->codes->rows[cursor->next_code++];
        CLR_TRY(clr_job_poll(base->job, "reading variables", cursor->next_code, cursor->end_code,
                             error));
        CLR_TRY(clr_code_variables(base->dump->runtime, cursor->code, &cursor->blob,
                                   &cursor->variables, error));
        if (cursor->variables.count != 0)
            return CLR_OK;
    }
    base->eof = true;
    return CLR_OK;
}

static enum clr_status start_vars(struct clr_cursor *base, const struct clr_query *query,
                                  struct clr_error *error)
{
    CLR_TRY(start_debug((struct debug_cursor *)base, query, error));
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

static enum clr_status var_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                  struct clr_error *error)
{
    const struct debug_cursor *cursor = (const struct debug_cursor *)base;
    const struct clr_variable *variable = &cursor->variables.items[cursor->row];
    const struct clr_debug_format *format = cursor->blob.info.format;
    struct clr_text text = {0};
    switch (column) {
    case VAR_CODE: clr_result_u64(context, cursor->code->start); break;
    case VAR_ROW: clr_result_u64(context, cursor->row); break;
    case VAR_NATIVE_OFFSET: clr_result_u64(context, variable->start); break;
    case VAR_NATIVE_END: clr_result_u64(context, variable->end); break;
    case VAR_VARIABLE: sqlite3_result_int(context, variable->number); break;
    case VAR_KIND: clr_result_static(context, clr_variable_kind_text(variable->kind)); break;
    case VAR_LOCATION:
        put_location(base->dump, variable, &text);
        return clr_result_text(context, &text, error);
    case VAR_SPECIAL:
        clr_result_static(context, clr_variable_special(format, variable->number));
        break;
    case VAR_CALL_IL_OFFSET:
        if (format->call_return != 0 && variable->number == format->call_return)
            clr_result_u64(context, variable->call_il);
        break;
    }
    return CLR_OK;
}

static const struct clr_path var_paths[] = {
    {.key = {{VAR_CODE, CLR_EQ}}, .order = VAR_ROW, .rows = 20},
    {.order = VAR_CODE, .rows = 100000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_debug_vars = {
    .name = "debug_vars",
    .doc = "Where parameters and locals live, by stretches of native code.",
    .example = "SELECT * FROM debug_vars WHERE code = (SELECT min(start) FROM native_codes WHERE "
               "kind = 'jit' AND debug_info IS NOT NULL)",
    .columns = var_columns,
    .paths = var_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_DEBUG_INFO,
    .cursor_size = sizeof(struct debug_cursor),
    .start = start_vars,
    .next = next_var,
    .finish = finish_debug,
    .column = var_column,
};
