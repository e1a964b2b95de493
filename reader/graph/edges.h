/*
 * The forward graph in compressed rows: for each object number the numbers of what it refers to.
 * Temporary: built for reachability and dominators, then dropped (refs recomputes from GCDesc).
 *
 * Offsets are 4 bytes an object for any number of references: a 64-bit base for each 65,536
 * objects, and 32 bits relative to it.
 */
#ifndef CLR_GRAPH_EDGES_H
#define CLR_GRAPH_EDGES_H

#include <stddef.h>
#include <stdint.h>

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

struct clr_edges {
    struct clr_offsets offsets;
    uint32_t *targets; /* offsets.count rows, in the order of the slots */
    uint64_t target_count;
};

#endif
