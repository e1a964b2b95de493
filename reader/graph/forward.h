/*
 * The forward graph of a heap: targets and slots of every object's edges. Temporary, for
 * reachability and dominators.
 */
#ifndef CLR_GRAPH_FORWARD_H
#define CLR_GRAPH_FORWARD_H

#include "graph/edges.h"
#include "graph/invalid.h"
#include "graph/refs.h"
#include "heap/units.h"

/* An edge is known by the id of its slot:
 *   a unit at which an object starts      the allocator edge of that object
 *   any other unit                        the slot there
 *   clr_units + i                         dependent edge i of the map
 * A slot that holds no object is an edge of the object to itself, which changes nothing. */
struct clr_forward {
    const struct clr_ref_map *map;
    struct clr_edges edges;
    struct clr_wide slots;           /* ids, beside edges.targets; none without CLR_WITH_SLOTS */
    struct clr_invalid_refs invalid; /* slots that hold no object, bytes that are not saved */
};

enum clr_with_slots { CLR_WITHOUT_SLOTS, CLR_WITH_SLOTS };

/* SKIP: numbers, ascending, of objects whose member and element edges are left out (arrays of
 * statics). On failure nothing is left. */
enum clr_status clr_forward_build(const struct clr_ref_map *map, const uint32_t *skip,
                                  size_t skip_count, enum clr_with_slots with_slots,
                                  struct clr_job *job, struct clr_forward **forward,
                                  struct clr_error *error);
void clr_forward_destroy(struct clr_forward *forward);

/* The sizes of all objects, by number: what dominators add up. Parts of the heap in parallel. */
enum clr_status clr_heap_sizes(const struct clr_ref_map *map, struct clr_job *job, uint64_t *sizes,
                               struct clr_error *error);

/* The edge with an id: address of its slot, and the whole row. */
uint64_t clr_edge_address(const struct clr_ref_map *map, uint64_t id);
bool clr_edge_ref(const struct clr_ref_map *map, uint64_t id, struct clr_ref *ref);

#endif
