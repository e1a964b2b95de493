/*
 * The forward graph in compressed rows: for each object number the numbers of what it refers to.
 * Temporary: built for reachability and dominators, then dropped (refs recomputes from GCDesc).
 *
 * Offsets are 4 bytes an object for any number of references: a 64-bit base for each 65,536
 * objects, and 32 bits relative to it.
 */
#ifndef CLR_GRAPH_EDGES_H
#define CLR_GRAPH_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum { CLR_OFFSETS_SHIFT = 16 };

struct clr_offsets {
    uint64_t *base; /* one for each 65,536 rows */
    uint32_t *rest; /* COUNT + 1 entries */
    uint32_t count; /* rows */
};

static inline uint64_t clr_offset_at(const struct clr_offsets *offsets, uint32_t row)
{
    return offsets->base[row >> CLR_OFFSETS_SHIFT] + offsets->rest[row];
}

bool clr_offsets_alloc(struct clr_offsets *offsets, uint32_t rows);
void clr_offsets_free(struct clr_offsets *offsets);
/* Sums up rows whose counts stand in rest[row]: afterwards rest[row] is the END of the row, relative
 * to its base; filling from behind by --rest turns it into the beginning. */
enum clr_status clr_offsets_sum(struct clr_offsets *offsets, uint64_t *total,
                                struct clr_error *error);

struct clr_edges {
    struct clr_offsets offsets;
    uint32_t *targets; /* offsets.count rows, in the order of the slots */
    uint64_t target_count;
};

#endif
