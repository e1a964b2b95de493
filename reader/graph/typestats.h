/*
 * What of a type is alive, and what its objects retain together.
 */
#ifndef CLR_GRAPH_TYPESTATS_H
#define CLR_GRAPH_TYPESTATS_H

#include "graph/domtree.h"
#include "graph/reach.h"

struct clr_alive {
    uint64_t count, size; /* reachable objects of a shape, and their bytes */
};

/* One entry a shape; freed with clr_free. */
enum clr_status clr_alive_by_shape(const struct clr_heap *heap, const struct clr_reach *reach,
                                   struct clr_job *job, struct clr_alive **alive,
                                   struct clr_error *error);
/* Bytes that all objects of a shape retain together: each byte once, without what only several of
 * them hold. One entry a shape; freed with clr_free. */
enum clr_status clr_retained_by_shape(const struct clr_heap *heap,
                                      const struct clr_dominators *dominators,
                                      const struct clr_dominated *dominated, struct clr_job *job,
                                      uint64_t **retained, struct clr_error *error);

#endif
