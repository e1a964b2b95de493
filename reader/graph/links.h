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
#include "graph/refs.h"
#include "heap/units.h"

/* A slot whose value is no object: kept aside, so that both directions agree. Or, with value 0,
 * LENGTH bytes of an object that are not saved: their references are unknown. */
struct clr_stray {
    uint64_t slot, value, length;
};
struct clr_strays {
    struct clr_stray *rows;
    size_t count, room;
    bool failed; /* memory ran out */
};

struct clr_links {
    const struct clr_ref_map *map;
    struct clr_offsets rows;          /* by target */
    struct clr_wide slots;            /* units, ascending in each row */
    struct clr_dependent *dependents; /* by (target, source, slot) */
    uint32_t *allocators;             /* numbers of the objects that allocator edges lead to */
    size_t allocator_count;
    uint64_t ref_count;       /* rows of the table refs */
    struct clr_strays strays; /* by slot */
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

/* Sums up rows whose counts stand in rest[row] (CLR_OFFSETS form): afterwards rest[row] is the END
 * of the row, relative to its base; filling from behind by --rest turns it into the beginning. */
enum clr_status clr_offsets_sum(struct clr_offsets *offsets, uint64_t *total,
                                struct clr_error *error);
bool clr_offsets_alloc(struct clr_offsets *offsets, uint32_t rows);
void clr_offsets_free(struct clr_offsets *offsets);

/* What parts of a build met, put together in the order of slots; the parts' own are freed. */
enum clr_status clr_strays_gather(struct clr_strays *parts, size_t count, struct clr_strays *all,
                                  struct clr_error *error);
void clr_stray_add(struct clr_strays *strays, uint64_t slot, uint64_t value, uint64_t length);

/* Splits the objects of a heap into parts of about equal bytes, for workers: fills *FIRSTS with the
 * first number of each part and one past the last object. Freed with clr_free. */
enum clr_status clr_heap_parts(const struct clr_heap *heap, uint32_t **firsts, size_t *parts,
                               struct clr_error *error);

#endif
