/*
 * The reverse graph: for each object the slots that refer to it.
 *
 * Kept: 4 bytes an object (row offsets) and 4 bytes a reference (the slot as a unit; 5 beyond 32
 * GiB of heap). A unit gives the slot's address and, by the index, its object, so that nothing has
 * to be searched again however long an array is. Scratch while it is built: 8 bytes a reference.
 * Dependent and allocator edges stand in rows of their own: they are few and have no slot.
 */
#ifndef CLR_GRAPH_LINKS_H
#define CLR_GRAPH_LINKS_H

#include "graph/edges.h"
#include "graph/invalid.h"
#include "graph/refs.h"
#include "heap/units.h"

struct clr_links {
    const struct clr_ref_map *map;
    struct clr_offsets rows;          /* by target */
    struct clr_wide slots;            /* units, ascending in each row */
    struct clr_dependent *dependents; /* by (target, source, slot) */
    uint32_t *allocators;             /* numbers of the objects that allocator edges lead to */
    size_t allocator_count;
    uint64_t ref_count;              /* rows of the table refs */
    struct clr_invalid_refs invalid; /* by slot */
};

/* JOB: workers, progress, cancel. On failure nothing is left. */
enum clr_status clr_links_build(const struct clr_ref_map *map, struct clr_job *job,
                                struct clr_links **links, struct clr_error *error);
void clr_links_destroy(struct clr_links *links);

/* The edges into object NUMBER, by slot; then dependent and allocator edges. */
struct clr_link_scan {
    const struct clr_links *links;
    uint32_t number;
    uint64_t next, end; /* slots */
    size_t dependent;
    bool has_allocated; /* allocator edges lead here: from objects of some shapes */
    struct clr_object_scan objects;
};
void clr_link_scan_start(struct clr_link_scan *scan, const struct clr_links *links,
                         uint32_t number);
bool clr_link_scan_next(struct clr_link_scan *scan, struct clr_ref *ref);

#endif
