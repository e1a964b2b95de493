/*
 * Breadth-first search with parents. A heap is often one long list (a level per object), so levels
 * are not split among workers.
 *
 * The second tier is searched after the first, with a mark in its distances, so that it neither
 * enters the first tier nor changes its parents.
 */
#include "graph/reach.h"

#include "base/alloc.h"

enum {
    POLL_OBJECTS = 1 << 15,
    AHEAD = 6, /* objects between asking the cache for something and using it */
    TARGETS_AHEAD = 6,
};

struct search {
    const struct clr_forward *forward;
    struct clr_reach *reach;
    uint32_t *queue;
    uint32_t head, tail;
    uint64_t units;
    struct clr_job *job;
};

/* Whether the slot of edge A lies before that of edge B. Units rise with addresses. */
static bool comes_first(const struct search *s, uint64_t a, uint64_t b)
{
    if (a < s->units && b < s->units)
        return a < b;
    return clr_edge_address(s->forward->map, a) < clr_edge_address(s->forward->map, b);
}

/* Asks for what the objects that come next in the queue will look at, each step a stage earlier. */
static inline void expect(const struct search *s)
{
    const struct clr_edges *edges = &s->forward->edges;
    uint32_t left = s->tail - s->head;
    if (left > 3 * AHEAD)
        __builtin_prefetch(&edges->offsets.rest[s->queue[s->head + 3 * AHEAD]]);
    if (left > 2 * AHEAD) {
        uint64_t first = clr_offset_at(&edges->offsets, s->queue[s->head + 2 * AHEAD]);
        __builtin_prefetch(&edges->targets[first]);
        __builtin_prefetch(&s->forward->slots.low[first]);
    }
    if (left > AHEAD) {
        uint64_t first = clr_offset_at(&edges->offsets, s->queue[s->head + AHEAD]);
        uint64_t end = clr_offset_at(&edges->offsets, s->queue[s->head + AHEAD] + 1);
        for (uint64_t e = first; e < end && e < first + TARGETS_AHEAD; e++)
            __builtin_prefetch(&s->reach->distance[edges->targets[e]], 1);
    }
}

static enum clr_status spread(struct search *s, uint32_t tier, struct clr_error *error)
{
    const struct clr_edges *edges = &s->forward->edges;
    uint32_t *distance = s->reach->distance;
    for (uint32_t steps = 0; s->head < s->tail; s->head++) {
        uint32_t from = s->queue[s->head];
        uint32_t next = (distance[from] & ~CLR_SECOND_PART) + 1;
        if (next >= CLR_SECOND_PART - 1)
            return clr_fail(error, CLR_UNSUPPORTED, 0, "a path of more than 2^31 references");
        next |= tier;
        uint64_t end = clr_offset_at(&edges->offsets, from + 1);
        expect(s);
        for (uint64_t e = clr_offset_at(&edges->offsets, from); e < end; e++) {
            uint32_t to = edges->targets[e];
            if (distance[to] == CLR_UNREACHED) {
                distance[to] = next;
                clr_wide_set(&s->reach->parent, to, clr_wide_get(&s->forward->slots, e));
                s->queue[s->tail++] = to;
            } else if (distance[to] == next) {
                uint64_t id = clr_wide_get(&s->forward->slots, e);
                if (comes_first(s, id, clr_wide_get(&s->reach->parent, to)))
                    clr_wide_set(&s->reach->parent, to, id);
            }
        }
        if (++steps == POLL_OBJECTS) {
            steps = 0;
            CLR_TRY(
                clr_job_poll(s->job, "finding what is reachable", s->tail, s->reach->count, error));
        }
    }
    return CLR_OK;
}

static void seed(struct search *s, const struct clr_root_object *roots, size_t count, uint32_t tier)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t number = roots[i].number;
        if (s->reach->distance[number] != CLR_UNREACHED)
            continue;
        s->reach->distance[number] = tier;
        clr_wide_set(&s->reach->parent, number, roots[i].root);
        s->queue[s->tail++] = number;
    }
}

enum clr_status clr_reach_build(const struct clr_forward *forward,
                                const struct clr_root_object *first, size_t first_count,
                                const struct clr_root_object *second, size_t second_count,
                                struct clr_job *job, struct clr_reach *reach,
                                struct clr_error *error)
{
    uint32_t count = forward->edges.offsets.count;
    uint64_t largest = clr_units(forward->map->heap) + forward->map->dependent_count;
    struct search s = {
        .forward = forward, .reach = reach, .job = job, .units = clr_units(forward->map->heap)};
    *reach = (struct clr_reach){.count = count};
    reach->distance = clr_alloc_large(count, sizeof *reach->distance);
    s.queue = clr_alloc_large(count, sizeof *s.queue);
    enum clr_status status = CLR_OK;
    if (!clr_wide_alloc(&reach->parent, count, largest) || !reach->distance || !s.queue)
        status = clr_no_memory(error);
    if (status == CLR_OK) {
        memset(reach->distance, 0xff, (size_t)count * sizeof *reach->distance);
        seed(&s, first, first_count, 0);
        status = spread(&s, 0, error);
    }
    reach->first_reached = s.tail;
    if (status == CLR_OK) {
        seed(&s, second, second_count, CLR_SECOND_PART);
        status = spread(&s, CLR_SECOND_PART, error);
    }
    reach->reached = s.tail;
    clr_free_large(s.queue, count, sizeof *s.queue);
    if (status != CLR_OK)
        clr_reach_deinit(reach);
    return status;
}

void clr_reach_deinit(struct clr_reach *reach)
{
    clr_free_large(reach->distance, reach->count, sizeof *reach->distance);
    clr_wide_free(&reach->parent);
    *reach = (struct clr_reach){0};
}
