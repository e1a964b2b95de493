/*
 * ip_to_method: what stands at an instruction pointer.
 *
 * The address is taken as it is given. A return address stands behind its call: ask for address
 * - 1.
 */
#include "lines.h"
#include "runtime/code.h"
#include "runtime/debuginfo.h"

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

static enum clr_status next_ip(struct clr_cursor *base, CLR_UNUSED struct clr_error *error)
{
    base->eof = true;
    return CLR_OK;
}

/* The offset in the IL, found when a column first asks for it. */
static enum clr_status need_il(struct clr_cursor *base, struct ip_cursor **result,
                               struct clr_error *error)
{
    struct ip_cursor *cursor = *result = (struct ip_cursor *)base;
    if (!cursor->il_known)
        CLR_TRY(clr_code_il_offset(base->dump->runtime, cursor->code, cursor->native_offset,
                                   &cursor->has_il, &cursor->il_offset, error));
    cursor->il_known = true;
    return CLR_OK;
}

static enum clr_status result_line(struct clr_cursor *base, bool file, sqlite3_context *context,
                                   struct clr_error *error)
{
    struct ip_cursor *cursor;
    CLR_TRY(need_il(base, &cursor, error));
    return cursor->has_il ? clr_result_line(base->dump, &cursor->method, cursor->il_offset, file,
                                            context, error)
                          : CLR_OK;
}

CLR_TEXT_FUNCTION(ip_method_name)
{
    clr_method_full_name(cursor->dump->runtime, &((struct ip_cursor *)cursor)->method, text);
    return CLR_OK;
}

CLR_NUMBER_FUNCTION(ip_code)
{
    return ((const struct ip_cursor *)row)->code->start;
}

CLR_VALUE_FUNCTION(ip_il_offset)
{
    struct ip_cursor *ip;
    CLR_TRY(need_il(cursor, &ip, error));
    if (ip->has_il)
        clr_result_u64(context, ip->il_offset);
    return CLR_OK;
}

CLR_VALUE_FUNCTION(ip_file)
{
    return result_line(cursor, true, context, error);
}

CLR_VALUE_FUNCTION(ip_line)
{
    return result_line(cursor, false, context, error);
}

enum { IP_AT_IP };

static const struct clr_column columns[] = {
    CLR_COLUMN("at_ip", CLR_ARGUMENT(CLR_INTEGER),
               "Argument: address of an instruction; of a return address take 1 off.",
               .flags = CLR_KEY | CLR_ARG | CLR_REQUIRED),
    CLR_COLUMN("method", CLR_NUMBER(ip_cursor, method.address), "The method.",
               .refers_to = "methods.address"),
    CLR_COLUMN("method_name", CLR_TEXT_BY(ip_method_name), "Namespace.Type.Method."),
    CLR_COLUMN("code", CLR_NUMBER_BY(ip_code),
               "The code; of a cold part that of the method's hot part.",
               .refers_to = "native_codes.start"),
    CLR_COLUMN("native_offset", CLR_NUMBER(ip_cursor, native_offset),
               "Bytes from the start of the method's code; cold code counts on from hot."),
    CLR_COLUMN("il_offset", CLR_VALUE_BY(CLR_INTEGER, ip_il_offset),
               "Offset in the IL as it was compiled from source; NULL if not known."),
    CLR_COLUMN("file", CLR_VALUE_BY(CLR_TEXT, ip_file),
               "Source file, where the module's PDB is at hand."),
    CLR_COLUMN("line", CLR_VALUE_BY(CLR_INTEGER, ip_line), "Line in it, from 1."),
    CLR_END,
};

static const struct clr_path paths[] = {
    {.key = {{IP_AT_IP, CLR_EQ}}, .order = -1, .unique = true, .rows = 1},
    CLR_PATHS_END,
};

const struct clr_table clr_table_ip_to_method = {
    .name = "ip_to_method",
    .doc = "Table function: the method whose native code holds an address, with the IL offset and "
           "the source line; no row if none does.",
    .example =
        "SELECT * FROM ip_to_method((SELECT min(start) + 8 FROM native_codes WHERE kind = 'jit'))",
    .columns = columns,
    .paths = paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_CODE,
    .cursor_size = sizeof(struct ip_cursor),
    .start = start_ip,
    .next = next_ip,
};
