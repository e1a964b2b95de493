/*
 * Immediate dominators and retained sizes.
 */
#ifndef CLR_GRAPH_DOMINATORS_H
#define CLR_GRAPH_DOMINATORS_H

#include "base/job.h"
#include "graph/edges.h"

/* Marks in clr_dominators.dominator; other values are a number + 1. */
enum { CLR_DOMINATED_BY_ROOTS = 0 };
#define CLR_UNREACHED UINT32_MAX

struct clr_dominators {
    uint32_t count;
    uint32_t *dominator;     /* by number: number + 1 of the immediate dominator, or a mark */
    uint64_t *retained_size; /* bytes, itself included; 0 if unreached */
    uint32_t *retained_count;
    uint32_t reached;
};

/* What the graph hangs on. FIRST: objects that precise roots hold. SECOND: those that only
 * conservative ones hold; what only they reach is a second tier, and its edges into the first are
 * left out. Numbers may repeat. */
struct clr_root_numbers {
    const uint32_t *first;
    size_t first_count;
    const uint32_t *second;
    size_t second_count;
};

/* SIZES fills out[0 .. count) with the sizes of all objects, by number; called once. On failure
 * nothing is left. */
enum clr_status clr_dominators_build(const struct clr_edges *edges,
                                     const struct clr_root_numbers *roots,
                                     void (*sizes)(void *context, uint64_t *out), void *context,
                                     struct clr_job *job, struct clr_dominators *result,
                                     struct clr_error *error);
void clr_dominators_deinit(struct clr_dominators *dominators);

#endif
