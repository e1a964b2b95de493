/*
 * Objects sorted by their dominator, by counting: one pass counts, one puts each in its row.
 */
#include "heap/domtree.h"

#include "base/alloc.h"
#include "heap/links.h"

enum clr_status clr_dominated_build(const struct clr_dominators *dominators, struct clr_job *job,
                                    struct clr_dominated *result, struct clr_error *error)
{
    enum { POLL_OBJECTS = 1 << 20 };
    uint64_t total = 0;
    *result = (struct clr_dominated){.count = dominators->reached};
    enum clr_status status = CLR_OK;
    if (dominators->count == UINT32_MAX)
        return clr_fail(error, CLR_UNSUPPORTED, 0, "too many objects for the dominator tree");
    result->numbers = clr_alloc_large(result->count, sizeof *result->numbers);
    if (!clr_offsets_alloc(&result->rows, dominators->count + 1) || !result->numbers)
        status = clr_fail(error, CLR_NOMEM, 0, "out of memory for the dominator tree");
    for (uint32_t i = 0; status == CLR_OK && i < dominators->count; i++)
        if (dominators->dominator[i] != CLR_UNREACHED)
            result->rows.rest[dominators->dominator[i]]++;
    if (status == CLR_OK)
        status = clr_offsets_sum(&result->rows, &total, error);
    for (uint32_t i = dominators->count; status == CLR_OK && i-- > 0;) {
        uint32_t row = dominators->dominator[i];
        if (row != CLR_UNREACHED)
            result->numbers[result->rows.base[row >> CLR_OFFSETS_SHIFT] +
                            --result->rows.rest[row]] = i;
        if (i % POLL_OBJECTS == 0)
            status = clr_job_poll(job, "sorting the dominator tree", dominators->count - i,
                                  dominators->count, error);
    }
    if (status != CLR_OK)
        clr_dominated_deinit(result);
    return status;
}

void clr_dominated_deinit(struct clr_dominated *dominated)
{
    clr_offsets_free(&dominated->rows);
    clr_free_large(dominated->numbers, dominated->count, sizeof *dominated->numbers);
    *dominated = (struct clr_dominated){0};
}

size_t clr_dominated_by(const struct clr_dominated *dominated, uint32_t mark,
                        const uint32_t **numbers)
{
    if (mark >= dominated->rows.count) {
        *numbers = NULL;
        return 0;
    }
    uint64_t first = clr_offset_at(&dominated->rows, mark);
    *numbers = dominated->numbers + first;
    return (size_t)(clr_offset_at(&dominated->rows, mark + 1) - first);
}
