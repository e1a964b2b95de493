/*
 * Sums by shape over what the graph says of each object, in one scan of the heap.
 *
 * What a type retains: in the preorder of the dominator tree everything that an object dominates
 * follows it. Going through the objects in that order, an object counts unless it lies within the
 * stretch of one of its type that was counted before.
 */
#include "graph/typestats.h"

#include "base/alloc.h"

enum { POLL_OBJECTS = 1 << 16 };

enum clr_status clr_alive_by_shape(const struct clr_heap *heap, const struct clr_reach *reach,
                                   struct clr_job *job, struct clr_alive **out,
                                   struct clr_error *error)
{
    const struct clr_shape *shapes;
    size_t count = clr_heap_shapes(heap, &shapes);
    struct clr_alive *alive = clr_alloc(count, sizeof *alive);
    struct clr_object_scan scan;
    struct clr_object object;
    *out = NULL;
    if (!alive)
        return clr_no_memory(error);
    clr_object_scan_start(&scan, heap, 0, clr_heap_count(heap), false);
    while (clr_object_scan_next(&scan, &object)) {
        if (reach->distance[object.number] != CLR_UNREACHED) {
            alive[object.shape].count++;
            alive[object.shape].size += object.size;
        }
        if (object.number % POLL_OBJECTS == 0 &&
            clr_job_poll(job, "counting what is reachable", object.number, clr_heap_count(heap),
                         error) != CLR_OK) {
            clr_free(alive);
            return CLR_CANCELLED;
        }
    }
    *out = alive;
    return CLR_OK;
}

enum clr_status clr_retained_by_shape(const struct clr_heap *heap,
                                      const struct clr_dominators *dominators,
                                      const struct clr_dominated *dominated, struct clr_job *job,
                                      uint64_t **out, struct clr_error *error)
{
    const struct clr_shape *shapes;
    size_t count = clr_heap_shapes(heap, &shapes), reached = dominated->count;
    uint64_t *retained = clr_alloc(count, sizeof *retained);
    uint64_t *ends = clr_alloc(count, sizeof *ends);
    uint32_t *by_place = clr_alloc_large(reached, sizeof *by_place); /* number */
    uint32_t *shape_of = clr_alloc_large(dominators->count, sizeof *shape_of);
    enum clr_status status =
        retained && ends && by_place && shape_of ? CLR_OK : clr_no_memory(error);
    struct clr_object_scan scan;
    struct clr_object object;
    *out = NULL;
    clr_object_scan_start(&scan, heap, 0, status == CLR_OK ? dominators->count : 0, false);
    while (status == CLR_OK && clr_object_scan_next(&scan, &object)) {
        shape_of[object.number] = object.shape;
        if (dominated->order[object.number] != CLR_UNREACHED)
            by_place[dominated->order[object.number]] = object.number;
        if (object.number % POLL_OBJECTS == 0)
            status = clr_job_poll(job, "adding up what types retain", object.number,
                                  dominators->count, error);
    }
    for (size_t place = 0; status == CLR_OK && place < reached; place++) {
        uint32_t number = by_place[place], shape = shape_of[number];
        if (place < ends[shape])
            continue;
        retained[shape] += dominators->retained_size[number];
        ends[shape] = place + dominators->retained_count[number];
    }
    clr_free(ends);
    clr_free_large(by_place, reached, sizeof *by_place);
    clr_free_large(shape_of, dominators->count, sizeof *shape_of);
    if (status != CLR_OK) {
        clr_free(retained);
        return status;
    }
    *out = retained;
    return CLR_OK;
}
