/*
 * Two scans of the heap in parallel parts: the first counts each object's edges, the second writes
 * them where the counts say. The places do not depend on which worker takes a part.
 */
#include "heap/forward.h"

#include "base/alloc.h"
#include "heap/links.h"

struct build {
    const struct clr_heap *heap;
    const struct clr_ref_map *map;
    struct clr_forward *forward;
    const uint32_t *skip;
    size_t skip_count;
    uint32_t *firsts;
    size_t parts;
};

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory for the graph of the heap");
}

static bool skipped(const struct build *b, uint32_t number)
{
    size_t low = 0, high = b->skip_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->skip[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->skip_count && b->skip[low] == number;
}

/* The first dependent edge of object NUMBER or a later one. */
static size_t dependent_from(const struct clr_ref_map *map, uint32_t number)
{
    size_t low = 0, high = map->dependent_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->dependents[middle].source < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static enum clr_status count_part(void *context, unsigned worker, size_t part,
                                  struct clr_error *error)
{
    struct build *b = context;
    const struct clr_ref_map *map = b->map;
    struct clr_ref_scan scan;
    struct clr_object object;
    uint64_t slot, value;
    size_t dependent = dependent_from(map, b->firsts[part]);
    (void)worker;
    clr_ref_scan_start(&scan, map, b->firsts[part], b->firsts[part + 1]);
    while (clr_object_scan_next(&scan.objects, &object)) {
        uint64_t count = 0;
        clr_ref_scan_object(&scan, &object);
        if (!b->skip_count || !skipped(b, object.number))
            while (clr_ref_scan_slot(&scan, &slot, &value))
                count++;
        for (; dependent < map->dependent_count &&
               map->dependents[dependent].source == object.number;
             dependent++)
            count += !scan.dead;
        count += map->allocator[object.shape] != 0 && !scan.dead;
        if (count > UINT32_MAX)
            return clr_fail(error, CLR_UNSUPPORTED, object.address,
                            "object 0x%llx has more than 2^32 references",
                            (unsigned long long)object.address);
        b->forward->edges.offsets.rest[object.number] = (uint32_t)count;
    }
    return CLR_OK;
}

static enum clr_status fill_part(void *context, unsigned worker, size_t part,
                                 struct clr_error *error)
{
    struct build *b = context;
    const struct clr_ref_map *map = b->map;
    struct clr_edges *edges = &b->forward->edges;
    struct clr_wide *slots = &b->forward->slots;
    struct clr_ref_scan scan;
    struct clr_object object;
    uint64_t slot, value;
    size_t dependent = dependent_from(map, b->firsts[part]);
    (void)worker, (void)error;
    clr_ref_scan_start(&scan, map, b->firsts[part], b->firsts[part + 1]);
    while (clr_object_scan_next(&scan.objects, &object)) {
        uint64_t at = clr_offset_at(&edges->offsets, object.number);
        clr_ref_scan_object(&scan, &object);
        if (!b->skip_count || !skipped(b, object.number))
            while (clr_ref_scan_slot(&scan, &slot, &value)) {
                uint32_t target;
                if (!clr_number(b->heap, value, &target))
                    target = object.number;
                edges->targets[at] = target;
                clr_wide_set(slots, at++, clr_unit(b->heap, slot));
            }
        for (; dependent < map->dependent_count &&
               map->dependents[dependent].source == object.number;
             dependent++) {
            if (scan.dead)
                continue;
            edges->targets[at] = map->dependents[dependent].target;
            clr_wide_set(slots, at++, clr_units(b->heap) + dependent);
        }
        if (map->allocator[object.shape] != 0 && !scan.dead) {
            edges->targets[at] = map->allocator[object.shape] - 1;
            clr_wide_set(slots, at, clr_unit(b->heap, object.address));
        }
    }
    return CLR_OK;
}

/* Rows are filled from their beginning: sums are turned from ends into beginnings. */
static enum clr_status sum(struct clr_offsets *offsets, uint64_t *total, struct clr_error *error)
{
    const uint32_t in_block = ((uint32_t)1 << CLR_OFFSETS_SHIFT) - 1;
    CLR_TRY(clr_offsets_sum(offsets, total, error));
    for (uint64_t row = offsets->count; row > 0; row--)
        offsets->rest[row] = (row & in_block) == 0 ? 0 : offsets->rest[row - 1];
    offsets->rest[0] = 0;
    return CLR_OK;
}

static enum clr_status run(struct build *b, struct clr_job *job, struct clr_error *error)
{
    struct clr_edges *edges = &b->forward->edges;
    CLR_TRY(clr_heap_parts(b->heap, &b->firsts, &b->parts, error));
    if (!clr_offsets_alloc(&edges->offsets, b->heap->count))
        return no_memory(error);
    CLR_TRY(clr_job_run(job, "counting references", b->parts, count_part, b, error));
    CLR_TRY(sum(&edges->offsets, &edges->target_count, error));
    edges->targets = clr_alloc_large(edges->target_count, sizeof *edges->targets);
    if (!edges->targets || !clr_wide_alloc(&b->forward->slots, edges->target_count,
                                           clr_units(b->heap) + b->map->dependent_count))
        return no_memory(error);
    return clr_job_run(job, "reading references", b->parts, fill_part, b, error);
}

enum clr_status clr_forward_build(const struct clr_ref_map *map, const uint32_t *skip,
                                  size_t skip_count, struct clr_job *job,
                                  struct clr_forward **out, struct clr_error *error)
{
    struct build b = {.heap = map->heap, .map = map, .skip = skip, .skip_count = skip_count};
    *out = NULL;
    if (!(b.forward = clr_alloc(1, sizeof *b.forward)))
        return no_memory(error);
    b.forward->map = map;
    enum clr_status status = run(&b, job, error);
    clr_free(b.firsts);
    if (status != CLR_OK) {
        clr_forward_destroy(b.forward);
        return status;
    }
    *out = b.forward;
    return CLR_OK;
}

void clr_forward_drop_slots(struct clr_forward *forward)
{
    clr_wide_free(&forward->slots);
}

void clr_forward_destroy(struct clr_forward *forward)
{
    if (!forward)
        return;
    clr_offsets_free(&forward->edges.offsets);
    clr_free_large(forward->edges.targets, forward->edges.target_count,
                   sizeof *forward->edges.targets);
    clr_wide_free(&forward->slots);
    clr_free(forward);
}

uint64_t clr_edge_address(const struct clr_ref_map *map, uint64_t id)
{
    uint64_t units = clr_units(map->heap);
    if (id < units)
        return clr_unit_address(map->heap, id);
    return id - units < map->dependent_count ? map->dependents[id - units].slot : 0;
}

bool clr_edge_ref(const struct clr_ref_map *map, uint64_t id, struct clr_ref *ref)
{
    uint64_t units = clr_units(map->heap);
    uint32_t number;
    if (id >= units)
        return id - units < map->dependent_count &&
               clr_ref_dependent(map, &map->dependents[id - units], ref);
    if (clr_unit_number(map->heap, id, &number))
        return clr_ref_allocator(map, number, ref);
    return clr_ref_at(map, clr_unit_address(map->heap, id), clr_unit_owner(map->heap, id), ref);
}
