/*
 * References: the edges that go out of objects.
 *
 * Kinds of edge and what is their slot:
 *   member, element    a word of the object, found by GCDesc
 *   dependent          from the key to the value of a dependent handle; its secondary slot
 *   loader_allocator   from an object of a collectible type to the managed allocator of that type;
 *                      it has no slot, the source's own address stands for one
 *
 * A slot that holds no object's address (that of a free block is none) is no edge: it is reported
 * once, as a problem of area refs.
 */
#ifndef CLR_GRAPH_REFS_H
#define CLR_GRAPH_REFS_H

#include "heap/heap.h"
#include "runtime/gcdesc.h"
#include "runtime/handles.h"

enum clr_ref_kind { CLR_REF_MEMBER, CLR_REF_ELEMENT, CLR_REF_DEPENDENT, CLR_REF_LOADER_ALLOCATOR };
const char *clr_ref_kind_text(enum clr_ref_kind kind);

struct clr_dependent {
    uint32_t source, target; /* numbers */
    uint64_t slot;
    bool is_dead; /* the source is: see clr_ref_is_dead */
};

/* The edges of the objects of one shape. */
struct clr_shape_refs {
    struct clr_slots slots;
    uint32_t allocator; /* number + 1 of the allocator's object, 0: no such edge */
};

/* What the edges of a dump are read with: GCDescs decoded by shape, the edges that are in no
 * object. Immutable; any thread may read. */
struct clr_ref_map {
    const struct clr_heap *heap;
    const struct clr_runtime *runtime;
    const struct clr_gc *gc;
    struct clr_shape_refs *shapes; /* beside heap->shapes */
    struct clr_slot_pool pool;
    struct clr_dependent *dependents; /* by (source, slot) */
    size_t dependent_count;
    uint64_t *free_bits; /* by number: free blocks, which no edge leads to; NULL: there are none */
    bool has_unswept;    /* a background GC was sweeping: some objects are dead */
};

/* Whether a background GC has found the object dead and not swept it yet. Its references are edges
 * like others, but no part of the graph: what they lead to may be gone. */
bool clr_ref_is_dead(const struct clr_ref_map *map, const struct clr_object *object);

/* Whether NUMBER is a free block. */
static inline bool clr_ref_is_free(const struct clr_ref_map *map, uint32_t number)
{
    return map->free_bits && (map->free_bits[number >> 6] >> (number & 63) & 1) != 0;
}

/* HANDLES may be NULL where they cannot be read (which is a problem row). */
enum clr_status clr_ref_map_create(const struct clr_heap *heap, const struct clr_runtime *runtime,
                                   const struct clr_gc *gc, const struct clr_handle *handles,
                                   size_t handle_count, struct clr_problems *problems,
                                   struct clr_job *job, struct clr_ref_map **map,
                                   struct clr_error *error);
void clr_ref_map_destroy(struct clr_ref_map *map);

struct clr_ref {
    enum clr_ref_kind kind;
    uint64_t address; /* of the slot */
    uint64_t source, target;
    uint32_t source_number, target_number;
    uint32_t shape;   /* of the source */
    uint64_t offset;  /* bytes after the MethodTable word; member and element only */
    uint64_t element; /* number of the array's element; element only */
    uint64_t within;  /* bytes from the element's start, or the same as offset */
};

/* The edges of the objects with numbers [first, end), by source; then in the order of the kinds. */
struct clr_ref_scan {
    const struct clr_ref_map *map;
    struct clr_object_scan objects;
    struct clr_object object;
    bool in_object;
    struct clr_slot_walk walk;
    uint64_t slot, left;      /* the current run */
    uint64_t data, component; /* of an array: address of element 0, bytes of one */
    const uint8_t *view;
    uint64_t view_start, view_size;
    size_t dependent;
    bool allocator_done;
    /* Called for a slot that holds no object; may be NULL. */
    void (*invalid)(void *context, uint64_t slot, uint64_t value);
    /* Called for the bytes of an object that are not saved; may be NULL. */
    void (*missing)(void *context, uint64_t address, uint64_t length);
    void *context;
};
void clr_ref_scan_start(struct clr_ref_scan *scan, const struct clr_ref_map *map, uint32_t first,
                        uint32_t end);
bool clr_ref_scan_next(struct clr_ref_scan *scan, struct clr_ref *ref);

/* The next non-null slot of members and elements, its value not looked up: for builders of graphs.
 * SLOT is its address. Stops at the end of object scan->object; start each with
 * clr_ref_scan_object. */
void clr_ref_scan_object(struct clr_ref_scan *scan, const struct clr_object *object);
bool clr_ref_scan_slot(struct clr_ref_scan *scan, uint64_t *slot, uint64_t *value);

/* Fills REF for the edge whose slot is at ADDRESS in object NUMBER (its allocator edge stands at
 * the object's own address); false if no edge is there. No look at the other slots. */
bool clr_ref_in_object(const struct clr_ref_map *map, uint32_t number, uint64_t address,
                       struct clr_ref *ref);

/* Fills REF for a member or element slot at SLOT of object SOURCE_NUMBER, by reading it. */
bool clr_ref_at(const struct clr_ref_map *map, uint64_t slot, uint32_t source_number,
                struct clr_ref *ref);
/* The same for a dependent edge, and for the allocator edge of an object. */
bool clr_ref_dependent(const struct clr_ref_map *map, const struct clr_dependent *edge,
                       struct clr_ref *ref);
/* Place in map->dependents of the dependent edge REF. */
size_t clr_dependent_index(const struct clr_ref_map *map, const struct clr_ref *ref);
bool clr_ref_allocator(const struct clr_ref_map *map, uint32_t source_number, struct clr_ref *ref);

#endif
