#include "graph/edges.h"

#include "base/alloc.h"

bool clr_offsets_alloc(struct clr_offsets *offsets, uint32_t rows)
{
    offsets->count = rows;
    offsets->base = clr_alloc(((size_t)rows >> CLR_OFFSETS_SHIFT) + 1, sizeof *offsets->base);
    offsets->rest = clr_alloc_large((size_t)rows + 1, sizeof *offsets->rest);
    return offsets->base && offsets->rest;
}

void clr_offsets_free(struct clr_offsets *offsets)
{
    clr_free(offsets->base);
    clr_free_large(offsets->rest, (size_t)offsets->count + 1, sizeof *offsets->rest);
    *offsets = (struct clr_offsets){0};
}

enum clr_status clr_offsets_sum(struct clr_offsets *offsets, uint64_t *total,
                                struct clr_error *error)
{
    const uint32_t in_block = ((uint32_t)1 << CLR_OFFSETS_SHIFT) - 1;
    uint64_t sum = 0;
    for (uint64_t row = 0; row <= offsets->count; row++) {
        uint64_t *base = &offsets->base[row >> CLR_OFFSETS_SHIFT];
        if ((row & in_block) == 0)
            *base = sum;
        if (row < offsets->count)
            sum += offsets->rest[row];
        if (sum - *base > UINT32_MAX)
            return clr_fail(error, CLR_UNSUPPORTED, 0,
                            "65,536 neighbouring objects share more than 2^32 references: this "
                            "version cannot index them");
        offsets->rest[row] = (uint32_t)(sum - *base);
    }
    *total = sum;
    return CLR_OK;
}
