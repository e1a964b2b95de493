/*
 * native_codes: all native code that the process has. The reader lists it once (runtime/code.c).
 */
#include "table.h"
#include "runtime/code.h"
#include "runtime/debuginfo.h"

static enum clr_status load_codes(struct clr_dump *dump, struct clr_job *job,
                                  struct clr_error *error)
{
    const struct clr_codes *codes;
    return clr_codes_need(dump->runtime, job, &codes, error);
}

static const void *list_codes(const struct clr_dump *dump, size_t *count)
{
    const struct clr_codes *codes = NULL;
    bool made = clr_codes_need(dump->runtime, NULL, &codes, NULL) == CLR_OK;
    *count = made ? codes->count : 0; /* made by load_codes() */
    return made ? codes->rows : NULL;
}

CLR_WORD_FUNCTION(code_kind)
{
    return clr_code_kind_text((enum clr_code_kind)((const struct clr_code *)row)->kind);
}

CLR_WORD_FUNCTION(code_tier)
{
    return clr_tier_text((enum clr_tier)((const struct clr_code *)row)->tier);
}

/* The first count of the rich or the async chunk of the code's debug information. */
static enum clr_status result_count(struct clr_cursor *cursor, const void *row, bool rich,
                                    sqlite3_context *context, struct clr_error *error)
{
    struct clr_debug_blob blob = {0};
    bool found;
    uint32_t first, second;
    enum clr_status status = clr_debug_open(cursor->dump->runtime, row, &blob, &found, error);
    const struct clr_debug_chunk *chunk = rich ? &blob.info.rich : &blob.info.async;
    if (status == CLR_OK && found && chunk->size != 0 &&
        (rich ? clr_rich_counts : clr_async_counts)(blob.info.bytes + chunk->offset, chunk->size,
                                                    &first, &second))
        clr_result_u64(context, first);
    clr_debug_blob_deinit(&blob);
    return status;
}

CLR_VALUE_FUNCTION(code_inlined_methods)
{
    return result_count(cursor, row, true, context, error);
}

CLR_VALUE_FUNCTION(code_suspension_points)
{
    return result_count(cursor, row, false, context, error);
}

static const struct clr_column columns[] = {
    CLR_COLUMN("start", CLR_NUMBER(clr_code, start), "Address of the first instruction.",
               .flags = CLR_KEY),
    CLR_COLUMN(
        "size", CLR_NONZERO(clr_code, size),
        "Bytes, funclets included; NULL where it is not known. A cold part is a row of its own."),
    CLR_COLUMN("method", CLR_NONZERO(clr_code, method),
               "The method; NULL for a stub that belongs to no method.",
               .refers_to = "methods.address", .found = 2),
    CLR_COLUMN("kind", CLR_WORD_BY(code_kind),
               "jit: compiled here; r2r: ReadyToRun code of an image; stub: made by the runtime."),
    CLR_COLUMN(
        "tier", CLR_WORD_BY(code_tier),
        "tier0, tier0_instrumented, tier1, tier1_instrumented, osr, optimized (not tiered) or "
        "r2r; NULL where it is not known."),
    CLR_COLUMN("is_active", CLR_NUMBER(clr_code, is_active),
               "1: what a call of the method runs now."),
    CLR_COLUMN("debug_info", CLR_NONZERO(clr_code, debug_info),
               "Address of what the compiler wrote down about it; NULL if it did not."),
    CLR_COLUMN(
        "inlined_methods", CLR_VALUE_BY(CLR_INTEGER, code_inlined_methods),
        "Methods inlined into it, where the runtime kept them (rich debug information); else "
        "NULL."),
    CLR_COLUMN("suspension_points", CLR_VALUE_BY(CLR_INTEGER, code_suspension_points),
               "Points where an async method may be suspended; NULL where it does not say."),
    CLR_END,
};

const struct clr_table clr_table_native_codes = {
    .name = "native_codes",
    .doc = "Native code of methods, every version that is alive; no two rows overlap.",
    .example = "SELECT kind, tier, count(*), sum(size) FROM native_codes GROUP BY kind, tier",
    .columns = columns,
    .list = {.get = list_codes,
             .row_size = sizeof(struct clr_code),
             .rows = 5000,
             .load = load_codes},
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_CODE,
};
