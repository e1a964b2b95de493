/*
 * Reachability: what is alive, how far from a root, and by which edge.
 */
#ifndef CLR_GRAPH_REACH_H
#define CLR_GRAPH_REACH_H

#include "graph/dominators.h"
#include "graph/forward.h"

/* An object that a root holds. ROOT is any number that the caller can find the root by. */
struct clr_root_object {
    uint32_t number, root;
};

struct clr_reach {
    uint32_t count;
    uint32_t *distance;     /* by number, read with clr_reach_distance: marks the second tier */
    struct clr_wide parent; /* by number: id of the edge that leads here; of distance 0: the root */
    uint32_t reached, first_reached; /* all; from precise roots */
};

#define CLR_SECOND_PART ((uint32_t)1 << 31)

/* Edges from the nearest root; CLR_UNREACHED. */
static inline uint32_t clr_reach_distance(const struct clr_reach *reach, uint32_t number)
{
    uint32_t distance = reach->distance[number];
    return distance == CLR_UNREACHED ? distance : distance & ~CLR_SECOND_PART;
}
/* Whether only conservative roots lead there. */
static inline bool clr_reach_second(const struct clr_reach *reach, uint32_t number)
{
    return reach->distance[number] != CLR_UNREACHED &&
           (reach->distance[number] & CLR_SECOND_PART) != 0;
}

/* Breadth first. FIRST: objects of precise roots, SECOND: of conservative ones; what only these
 * reach is a second tier, and its edges into the first are left out. Of several shortest paths the
 * one whose last slot has the lowest address is kept; of several roots the one that comes first in
 * the list. On failure nothing is left. */
enum clr_status clr_reach_build(const struct clr_forward *forward,
                                const struct clr_root_object *first, size_t first_count,
                                const struct clr_root_object *second, size_t second_count,
                                struct clr_job *job, struct clr_reach *reach,
                                struct clr_error *error);
void clr_reach_deinit(struct clr_reach *reach);

#endif
