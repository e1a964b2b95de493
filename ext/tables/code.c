/*
 * native_codes: all native code that the process has. The reader lists it once (runtime/code.c).
 */
#include "codes.h"
#include "results.h"
#include "runtime/debuginfo.h"

/* The first row that starts at or above ADDRESS. Code lies below 2^63. */
static size_t first_from(const struct clr_codes *codes, uint64_t address)
{
    size_t low = 0, high = codes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (codes->rows[middle].start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void clr_codes_choose(const struct clr_codes *codes, const struct clr_query *query, bool by_method,
                      bool by_start, size_t *first, size_t *count)
{
    uint64_t low = 0, high = INT64_MAX;
    if (by_method) {
        *count = clr_codes_of(codes, (uint64_t)clr_equal_int(query, 0), first);
        return;
    }
    if (by_start) {
        low = high = (uint64_t)clr_equal_int(query, 0);
    } else {
        if (query->has_low && query->low > 0)
            low = (uint64_t)query->low;
        if (query->has_high)
            high = query->high < 0 ? 0 : (uint64_t)query->high;
    }
    *first = first_from(codes, low);
    size_t end = high == UINT64_MAX ? codes->count : first_from(codes, high + 1);
    *count = end > *first ? end - *first : 0;
}

enum code_column {
    CODE_START,
    CODE_SIZE,
    CODE_METHOD,
    CODE_KIND,
    CODE_TIER,
    CODE_IS_ACTIVE,
    CODE_DEBUG_INFO,
    CODE_INLINED_METHODS,
    CODE_SUSPENSION_POINTS,
    CODE_COLUMNS
};

static const struct clr_column code_columns[] = {
    [CODE_START] = CLR_COLUMN("start", CLR_BY_TABLE(CLR_INTEGER),
                              "Address of the first instruction.", .flags = CLR_KEY),
    [CODE_SIZE] = CLR_COLUMN(
        "size", CLR_BY_TABLE(CLR_INTEGER),
        "Bytes, funclets included; NULL where it is not known. A cold part is a row of its own."),
    [CODE_METHOD] = CLR_COLUMN("method", CLR_BY_TABLE(CLR_INTEGER),
                               "The method; NULL for a stub that belongs to no method.",
                               .refers_to = "methods.address"),
    [CODE_KIND] = CLR_COLUMN(
        "kind", CLR_BY_TABLE(CLR_TEXT),
        "jit: compiled here; r2r: ReadyToRun code of an image; stub: made by the runtime."),
    [CODE_TIER] = CLR_COLUMN("tier", CLR_BY_TABLE(CLR_TEXT),
                             "tier0, tier0_instrumented, tier1, tier1_instrumented, osr, optimized "
                             "(not tiered) or r2r; NULL where it is not known."),
    [CODE_IS_ACTIVE] = CLR_COLUMN("is_active", CLR_BY_TABLE(CLR_INTEGER),
                                  "1: what a call of the method runs now."),
    [CODE_DEBUG_INFO] =
        CLR_COLUMN("debug_info", CLR_BY_TABLE(CLR_INTEGER),
                   "Address of what the compiler wrote down about it; NULL if it did not."),
    [CODE_INLINED_METHODS] = CLR_COLUMN("inlined_methods", CLR_BY_TABLE(CLR_INTEGER),
                                        "Methods inlined into it, where the runtime kept them "
                                        "(rich debug information); else NULL."),
    [CODE_SUSPENSION_POINTS] =
        CLR_COLUMN("suspension_points", CLR_BY_TABLE(CLR_INTEGER),
                   "Points where an async method may be suspended; NULL where it does not say."),
    [CODE_COLUMNS] = CLR_END,
};

enum { CODES_BY_START, CODES_BY_METHOD, CODES_IN_RANGE, CODES_SCAN };

struct code_cursor {
    struct clr_cursor base;
    const struct clr_codes *codes;
    bool of_method;
    size_t at, left;
    const struct clr_code *code;
};

static enum clr_status next_code(struct clr_cursor *base, struct clr_error *error)
{
    struct code_cursor *cursor = (struct code_cursor *)base;
    (void)error;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->code =
        &cursor->codes->rows[cursor->of_method ? cursor->codes->by_method[cursor->at] : cursor->at];
    cursor->left--;
    cursor->at += base->descending ? (size_t)-1 : 1;
    base->rowid = (int64_t)cursor->code->start;
    return CLR_OK;
}

static enum clr_status start_codes(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct code_cursor *cursor = (struct code_cursor *)base;
    CLR_TRY(clr_codes_need(base->dump->runtime, base->job, &cursor->codes, error));
    cursor->of_method = query->path == CODES_BY_METHOD;
    clr_codes_choose(cursor->codes, query, cursor->of_method, query->path == CODES_BY_START,
                     &cursor->at, &cursor->left);
    base->descending = query->descending;
    if (base->descending && cursor->left > 0)
        cursor->at += cursor->left - 1;
    return next_code(base, error);
}

static enum clr_status count_column(struct clr_cursor *base, const struct clr_code *code, bool rich,
                                    sqlite3_context *context, struct clr_error *error)
{
    struct clr_debug_blob blob = {0};
    bool found;
    uint32_t first, second;
    enum clr_status status = clr_debug_open(base->dump->runtime, code, &blob, &found, error);
    const struct clr_debug_chunk *chunk = rich ? &blob.info.rich : &blob.info.async;
    if (status == CLR_OK && found && chunk->size != 0 &&
        (rich ? clr_rich_counts : clr_async_counts)(blob.info.bytes + chunk->offset, chunk->size,
                                                    &first, &second))
        clr_result_u64(context, first);
    clr_debug_blob_deinit(&blob);
    return status;
}

static enum clr_status code_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    const struct clr_code *code = ((struct code_cursor *)base)->code;
    switch (column) {
    case CODE_START: clr_result_u64(context, code->start); break;
    case CODE_SIZE: clr_result_known(context, code->size); break;
    case CODE_METHOD: clr_result_known(context, code->method); break;
    case CODE_KIND:
        clr_result_static(context, clr_code_kind_text((enum clr_code_kind)code->kind));
        break;
    case CODE_TIER: clr_result_static(context, clr_tier_text((enum clr_tier)code->tier)); break;
    case CODE_IS_ACTIVE: clr_result_bool(context, code->is_active); break;
    case CODE_DEBUG_INFO: clr_result_known(context, code->debug_info); break;
    case CODE_INLINED_METHODS: return count_column(base, code, true, context, error);
    case CODE_SUSPENSION_POINTS: return count_column(base, code, false, context, error);
    }
    return CLR_OK;
}

static const struct clr_path code_paths[] = {
    [CODES_BY_START] = {.key = {{CODE_START, CLR_EQ}},
                        .order = CODE_START,
                        .reversible = true,
                        .unique = true,
                        .rows = 1},
    [CODES_BY_METHOD] = {.key = {{CODE_METHOD, CLR_EQ}},
                         .order = CODE_START,
                         .reversible = true,
                         .rows = 2},
    [CODES_IN_RANGE] = {.key = {{CODE_START, CLR_RANGE}},
                        .order = CODE_START,
                        .reversible = true,
                        .rows = 500},
    [CODES_SCAN] = {.order = CODE_START, .reversible = true, .rows = 5000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_native_codes = {
    .name = "native_codes",
    .doc = "Native code of methods, every version that is alive; no two rows overlap.",
    .example = "SELECT kind, tier, count(*), sum(size) FROM native_codes GROUP BY kind, tier",
    .columns = code_columns,
    .paths = code_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_CODE,
    .cursor_size = sizeof(struct code_cursor),
    .start = start_codes,
    .next = next_code,
    .column = code_column,
};
