/*
 * The reverse graph: for each object the slots that refer to it.
 *
 * Kept: 4 bytes an object (row offsets) and 4 bytes a reference (the slot as a unit; 5 beyond 32 GiB
 * of heap). A unit gives the slot's address and, by the index, its object, so that nothing has to be
 * searched again however long an array is. Scratch while it is built: 8 bytes a reference.
 * Dependent and allocator edges stand in rows of their own: they are few and have no slot.
 */
#ifndef CLR_HEAP_LINKS_H
#define CLR_HEAP_LINKS_H

#include "heap/edges.h"
#include "heap/refs.h"
#include "heap/units.h"

/* A slot whose value is no object: kept aside, so that both directions agree. */
struct clr_stray {
    uint64_t slot, value;
};

struct clr_links {
    const struct clr_ref_map *map;
    struct clr_offsets rows;  /* by target */
    struct clr_wide slots;    /* units, ascending in each row */
    struct clr_dependent *dependents; /* by (target, source, slot) */
    uint64_t ref_count;       /* rows of the table refs */
    struct clr_stray *strays; /* by slot */
    size_t stray_count;
    uint64_t missing_bytes;   /* of objects, not saved: their references are unknown */
    uint64_t missing_address; /* the first such place */
};

/* JOB: workers, progress, cancel. On failure nothing is left. */
enum clr_status clr_links_build(const struct clr_ref_map *map, struct clr_job *job,
                                struct clr_links **links, struct clr_error *error);
void clr_links_destroy(struct clr_links *links);

/* The edges into object NUMBER, by slot; then dependent and allocator edges. */
struct clr_link_scan {
    const struct clr_links *links;
    uint32_t number;
    uint64_t next, end;  /* slots */
    size_t dependent;
    uint32_t shape;      /* allocator edges: shape and object under way */
    uint32_t object, object_end;
    struct clr_object_scan objects;
    bool in_shape;
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

/* Splits the objects of a heap into parts of about equal bytes, for workers: fills *FIRSTS with the
 * first number of each part and one past the last object. Freed with clr_free. */
enum clr_status clr_heap_parts(const struct clr_heap *heap, uint32_t **firsts, size_t *parts,
                               struct clr_error *error);

#endif
