/*
 * The dominator tree downwards: whom an object dominates, and its preorder, in which everything
 * that an object dominates follows it. 12 bytes an object.
 */
#ifndef CLR_GRAPH_DOMTREE_H
#define CLR_GRAPH_DOMTREE_H

#include "graph/dominators.h"
#include "graph/edges.h"

struct clr_dominated {
    struct clr_offsets rows; /* row 0: by roots only; row n + 1: by object n */
    uint32_t *numbers;       /* ascending in each row */
    size_t count;            /* reached objects */
    uint32_t *order;         /* by number: preorder, from 0; CLR_UNREACHED */
    uint32_t objects;        /* entries of ORDER */
};

enum clr_status clr_dominated_build(const struct clr_dominators *dominators, struct clr_job *job,
                                    struct clr_dominated *result, struct clr_error *error);
void clr_dominated_deinit(struct clr_dominated *dominated);

/* The objects whose dominator is MARK (as in clr_dominators.dominator): *NUMBERS, and how many. */
size_t clr_dominated_by(const struct clr_dominated *dominated, uint32_t mark,
                        const uint32_t **numbers);

/* Adds up what a set of objects retains together: each byte once, and not what only several of them
 * hold. MEMBERS are numbers of reached objects, and are sorted by preorder. */
uint64_t clr_retained_together(const struct clr_dominators *dominators,
                               const struct clr_dominated *dominated, uint32_t *members,
                               size_t count);

#endif
