/*
 * The heap, walked once. The walk writes the object index, the statistics and the problems;
 * everything else about objects iterates or asks the index: there is no second walker.
 *
 *   shapes.c  MethodTable -> sizes, flags, statistics; the list of all types
 *   walk.c    the walk: cutting the heap into pieces, putting their results together
 *   piece.c    one piece: the inner loop, gaps of allocation contexts
 *   resync.c  where to go on after damage
 *   index.c   address <-> number. Objects (free blocks too) are numbered in address order
 *
 * Index: for each 64 units of saved heap (a unit is the object alignment: 8 bytes, or 4) one 12-byte
 * entry: 64 bits, a bit per object start, and the number of objects before it: 1.5 bytes per 64
 * bytes of heap, 2.4 % of it, whatever the headers claim.
 *
 * Immutable after the walk: any thread may read.
 */
#ifndef CLR_HEAP_HEAP_H
#define CLR_HEAP_HEAP_H

#include "base/job.h"
#include "runtime/gc.h"
#include "runtime/types.h"

/* A MethodTable that objects have: what the hot loops need of it, and what its objects amount to.
 * One cache line. Index 0 is Free. */
struct clr_shape {
    uint64_t type;
    uint32_t base_size;      /* as the MethodTable has it */
    uint32_t aligned_size;   /* the same rounded up to a word, if all objects have the same size */
    uint32_t component_size; /* 0: they have */
    uint32_t flags;          /* MTFlags */
    bool is_free, is_string, is_array, contains_references, collectible;
    bool has_instances; /* no interface, abstract class or open generic type */
    uint64_t object_count, total_size, min_size, max_size;
};

struct clr_segment_stats { /* one per clr_gc.segments[i]; they sum to end - start, exactly */
    uint64_t object_count;
    uint64_t object_bytes, free_bytes, gap_bytes, unwalked_bytes;
    uint64_t first_number; /* number of the first object */
    uint64_t total_count;  /* objects and free blocks */
};

struct clr_heap;

/* A decoded object: what a row of the table objects needs. */
struct clr_object {
    uint64_t address, size, type;
    uint32_t shape;   /* index of the shape */
    uint32_t segment; /* index of the segment */
    uint32_t number;
};

enum clr_status clr_heap_walk(const struct clr_runtime *runtime, const struct clr_gc *gc,
                              struct clr_problems *problems, struct clr_job *job,
                              struct clr_heap **heap, struct clr_error *error);
void clr_heap_close(struct clr_heap *heap);

uint32_t clr_heap_count(const struct clr_heap *heap);   /* objects and free blocks */
uint64_t clr_heap_objects(const struct clr_heap *heap); /* without free blocks */
uint64_t clr_heap_bytes(const struct clr_heap *heap);   /* of objects, without free blocks */
const struct clr_segment_stats *clr_heap_segment_stats(const struct clr_heap *heap, size_t segment);
size_t clr_heap_shapes(const struct clr_heap *heap, const struct clr_shape **shapes);
bool clr_heap_shape_of(const struct clr_heap *heap, uint64_t type, uint32_t *shape);

/* --- index.c --- */

/* The number of the object that starts at ADDRESS; false if none does. */
bool clr_number(const struct clr_heap *heap, uint64_t address, uint32_t *number);
/* The address of object NUMBER (< clr_heap_count). */
uint64_t clr_address(const struct clr_heap *heap, uint32_t number);
/* The number of the first object at or above ADDRESS (clr_heap_count if there is none). */
uint32_t clr_number_from(const struct clr_heap *heap, uint64_t address);
/* The object (or free block) whose bytes hold ADDRESS; false in a gap. */
bool clr_object_containing(const struct clr_heap *heap, uint64_t address, uint32_t *number);

/* --- Reading objects --- */

bool clr_object_read(const struct clr_heap *heap, uint32_t number, struct clr_object *object);

/* A cursor in address order, forward or backward, over numbers [first, end): about 5 ns a step. */
struct clr_object_scan {
    const struct clr_heap *heap;
    uint64_t next, end; /* numbers; backward: next is one past the one that comes */
    bool backward;
    uint64_t entry, bits; /* private: place in the index, objects of the entry that are left */
    uint64_t base;        /* private: address of the entry's first bit */
    size_t range;
    const uint8_t *view;             /* private: saved bytes around the place */
    uint64_t view_start, view_limit; /* headers at [start, start + limit) are whole in it */
    uint64_t type;                   /* private: of the object before, and what it means */
    uint64_t type_base, type_component;
    uint32_t shape, segment;
};
void clr_object_scan_start(struct clr_object_scan *scan, const struct clr_heap *heap,
                           uint32_t first, uint32_t end, bool backward);
bool clr_object_scan_next(struct clr_object_scan *scan, struct clr_object *object);

/* --- The list of all types: module tables, instantiations, and types found in the walk --- */

/* Made on first use on the connection's thread; sorted by address, as signed; lives with the heap. */
enum clr_status clr_heap_types(struct clr_heap *heap, struct clr_runtime *runtime,
                               const uint64_t **types, size_t *count, struct clr_error *error);

/* The same as a new list (freed with clr_free); HEAP may be NULL: without types found in a walk. */
enum clr_status clr_types_list(const struct clr_heap *heap, struct clr_runtime *runtime,
                               uint64_t **types, size_t *count, struct clr_error *error);

/* --- Postings: numbers of the objects of a type, ascending (4 bytes an object) --- */
enum clr_status clr_heap_postings_build(struct clr_heap *heap, struct clr_job *job,
                                        struct clr_error *error);
size_t clr_heap_postings(const struct clr_heap *heap, uint32_t shape, const uint32_t **numbers);

#endif
