/*
 * ip_to_method: what stands at an instruction pointer.
 *
 * The address is taken as it is given. A return address stands behind its call: ask for address
 * - 1.
 */
#include "cache.h"
#include "lines.h"
#include "results.h"
#include "runtime/code.h"
#include "runtime/debuginfo.h"
#include "runtime/methods.h"

enum ip_column {
    IP_AT_IP,
    IP_METHOD,
    IP_METHOD_NAME,
    IP_CODE,
    IP_NATIVE_OFFSET,
    IP_IL_OFFSET,
    IP_FILE,
    IP_LINE,
    IP_COLUMNS
};

static const struct clr_column ip_columns[] = {
    [IP_AT_IP] = CLR_COLUMN("at_ip", CLR_BY_TABLE(CLR_INTEGER),
                            "Argument: address of an instruction; of a return address take 1 off.",
                            .flags = CLR_KEY | CLR_ARG | CLR_REQUIRED),
    [IP_METHOD] = CLR_COLUMN("method", CLR_BY_TABLE(CLR_INTEGER), "The method.",
                             .refers_to = "methods.address"),
    [IP_METHOD_NAME] = CLR_COLUMN("method_name", CLR_BY_TABLE(CLR_TEXT), "Namespace.Type.Method."),
    [IP_CODE] = CLR_COLUMN("code", CLR_BY_TABLE(CLR_INTEGER),
                           "The code; of a cold part that of the method's hot part.",
                           .refers_to = "native_codes.start"),
    [IP_NATIVE_OFFSET] =
        CLR_COLUMN("native_offset", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes from the start of the method's code; cold code counts on from hot."),
    [IP_IL_OFFSET] =
        CLR_COLUMN("il_offset", CLR_BY_TABLE(CLR_INTEGER),
                   "Offset in the IL as it was compiled from source; NULL if not known."),
    [IP_FILE] = CLR_COLUMN("file", CLR_BY_TABLE(CLR_TEXT),
                           "Source file, where the module's PDB is at hand."),
    [IP_LINE] = CLR_COLUMN("line", CLR_BY_TABLE(CLR_INTEGER), "Line in it, from 1."),
    [IP_COLUMNS] = CLR_END,
};

struct ip_cursor {
    struct clr_cursor base;
    const struct clr_code *code;
    struct clr_method method;
    uint64_t native_offset;
    bool has_il, il_known;
    uint32_t il_offset;
};

static enum clr_status start_ip(struct clr_cursor *base, const struct clr_query *query,
                                struct clr_error *error)
{
    struct ip_cursor *cursor = (struct ip_cursor *)base;
    struct clr_runtime *runtime = base->dump->runtime;
    const struct clr_codes *codes;
    uint64_t ip = (uint64_t)clr_equal_int(query, 0);
    base->rowid = (int64_t)ip;
    base->eof = true;
    cursor->il_known = false;
    CLR_TRY(clr_codes_need(runtime, base->job, &codes, error));
    cursor->code = clr_code_at(codes, ip);
    if (!cursor->code || !clr_method_read(runtime, cursor->code->method, &cursor->method))
        return CLR_OK;
    cursor->native_offset = clr_code_offset(cursor->code, ip);
    if (cursor->code->is_cold)
        cursor->code = clr_code_at(codes, cursor->code->hot_code);
    base->eof = cursor->code == NULL;
    return CLR_OK;
}

static enum clr_status next_ip(struct clr_cursor *base, struct clr_error *error)
{
    (void)error;
    base->eof = true;
    return CLR_OK;
}

static enum clr_status ip_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                 struct clr_error *error)
{
    struct ip_cursor *cursor = (struct ip_cursor *)base;
    struct clr_runtime *runtime = base->dump->runtime;
    struct clr_text text = {0};
    if (column >= IP_IL_OFFSET && !cursor->il_known) {
        CLR_TRY(clr_code_il_offset(runtime, cursor->code, cursor->native_offset, &cursor->has_il,
                                   &cursor->il_offset, error));
        cursor->il_known = true;
    }
    switch (column) {
    case IP_METHOD: clr_result_u64(context, cursor->method.address); break;
    case IP_METHOD_NAME:
        clr_method_full_name(runtime, &cursor->method, &text);
        return clr_result_text(context, &text, error);
    case IP_CODE: clr_result_u64(context, cursor->code->start); break;
    case IP_NATIVE_OFFSET: clr_result_u64(context, cursor->native_offset); break;
    case IP_IL_OFFSET:
        if (cursor->has_il)
            clr_result_u64(context, cursor->il_offset);
        break;
    case IP_FILE:
    case IP_LINE:
        if (cursor->has_il)
            return clr_result_line(base->dump, &cursor->method, cursor->il_offset,
                                   column == IP_FILE, context, error);
        break;
    }
    return CLR_OK;
}

static const struct clr_path ip_paths[] = {
    {.key = {{IP_AT_IP, CLR_EQ}}, .order = -1, .unique = true, .rows = 1},
    CLR_PATHS_END,
};

const struct clr_table clr_table_ip_to_method = {
    .name = "ip_to_method",
    .doc = "Table function: the method whose native code holds an address, with the IL offset and "
           "the source line; no row if none does.",
    .example =
        "SELECT * FROM ip_to_method((SELECT min(start) + 8 FROM native_codes WHERE kind = 'jit'))",
    .columns = ip_columns,
    .paths = ip_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_CODE,
    .cursor_size = sizeof(struct ip_cursor),
    .start = start_ip,
    .next = next_ip,
    .column = ip_column,
};
