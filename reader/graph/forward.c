/*
 * Two scans of the heap in parallel pieces: the first counts each object's edges, the second writes
 * them where the counts say. The places do not depend on which worker takes a piece.
 *
 * A target becomes a number by a look into the index, which is a cache miss where references cross
 * the heap: the look is asked for early and done some slots later, from a ring.
 */
#include "graph/forward.h"

#include "base/alloc.h"
#include "graph/sweep.h"

enum { RING = 32 };

struct build {
    const struct clr_heap *heap;
    const struct clr_ref_map *map;
    struct clr_forward *forward;
    const uint32_t *skip;
    size_t skip_count;
    uint32_t *firsts;
    size_t pieces;
    struct clr_invalid_refs *invalid; /* by piece */
};

/* A slot whose target is not looked up yet. */
struct waiting {
    uint64_t unit; /* of the target; CLR_NO_UNIT: not on the heap */
    uint64_t value, slot, edge;
    uint32_t source;
};

/* What a sweep writes to. */
struct sweep {
    const struct build *build;
    struct clr_invalid_refs *invalid;
    size_t skip;      /* the next number that is left out */
    uint32_t *row;    /* counting: the object's */
    uint64_t at, end; /* filling: the next edge of the object, and behind its last */
    uint32_t source;
    bool overflows;
    unsigned turn;
    struct waiting ring[RING];
};

CLR_SWEPT bool takes_slots(struct sweep *s, uint32_t number)
{
    const struct build *b = s->build;
    while (s->skip < b->skip_count && b->skip[s->skip] < number)
        s->skip++;
    return s->skip == b->skip_count || b->skip[s->skip] != number;
}

CLR_SWEPT bool count_object(void *context, uint32_t number)
{
    struct sweep *s = context;
    s->row = &s->build->forward->edges.offsets.rest[number];
    return takes_slots(s, number);
}

CLR_SWEPT void count_slot(void *context, uint64_t slot, uint64_t value)
{
    struct sweep *s = context;
    (void)slot, (void)value;
    s->overflows |= ++*s->row == 0;
}

CLR_SWEPT void count_allocator(void *context, uint64_t unit, uint32_t target)
{
    (void)target;
    count_slot(context, unit, 0);
}

static enum clr_status too_many(struct clr_error *error)
{
    return clr_fail(error, CLR_UNSUPPORTED, 0, "an object has more than 2^32 references");
}

static enum clr_status count_piece(void *context, unsigned worker, size_t piece,
                                   struct clr_error *error)
{
    struct build *b = context;
    struct sweep s = {.build = b};
    const struct clr_sweeper sweeper = {count_object, count_slot, count_allocator, NULL, true};
    (void)worker;
    clr_sweep(b->map, b->firsts[piece], b->firsts[piece + 1], &s, sweeper);
    return s.overflows ? too_many(error) : CLR_OK;
}

CLR_SWEPT bool fill_object(void *context, uint32_t number)
{
    struct sweep *s = context;
    const struct clr_offsets *offsets = &s->build->forward->edges.offsets;
    s->source = number;
    s->at = clr_offset_at(offsets, number);
    s->end = clr_offset_at(offsets, number + 1);
    return takes_slots(s, number);
}

/* Looks up what waits in the place of the ring. */
static inline void look_up(struct sweep *s, struct waiting *waiting)
{
    uint32_t target = waiting->source;
    if (waiting->unit == CLR_NO_UNIT || !clr_unit_number(s->build->heap, waiting->unit, &target) ||
        clr_ref_is_free(s->build->map, target)) {
        target = waiting->source;
        clr_invalid_add(s->invalid, clr_unit_address(s->build->heap, waiting->slot), waiting->value,
                        0);
    }
    s->build->forward->edges.targets[waiting->edge] = target;
}

static inline void add_edge(struct sweep *s, uint64_t id)
{
    struct clr_wide *slots = &s->build->forward->slots;
    if (slots->low)
        clr_wide_set(slots, s->at, id);
    s->at++;
}

CLR_SWEPT void fill_slot(void *context, uint64_t slot, uint64_t value)
{
    struct sweep *s = context;
    const struct clr_heap *heap = s->build->heap;
    struct waiting *waiting = &s->ring[s->turn++ % RING];
    if (s->at == s->end) {
        s->overflows = true;
        s->turn--;
        return;
    }
    if (s->turn > RING)
        look_up(s, waiting);
    *waiting = (struct waiting){clr_unit(heap, value), value, slot, s->at, s->source};
    if (waiting->unit != CLR_NO_UNIT)
        __builtin_prefetch(&heap->entries[waiting->unit / CLR_ENTRY_UNITS]);
    add_edge(s, slot);
}

static void fill_allocator(void *context, uint64_t unit, uint32_t target)
{
    struct sweep *s = context;
    if (s->at == s->end) {
        s->overflows = true;
        return;
    }
    s->build->forward->edges.targets[s->at] = target;
    add_edge(s, unit);
}

static void fill_missing(void *context, uint64_t address, uint64_t length)
{
    clr_invalid_add(((struct sweep *)context)->invalid, address, 0, length);
}

static enum clr_status fill_piece(void *context, unsigned worker, size_t piece,
                                  struct clr_error *error)
{
    struct build *b = context;
    struct sweep s = {.build = b, .invalid = &b->invalid[piece]};
    const struct clr_sweeper sweeper = {fill_object, fill_slot, fill_allocator, fill_missing, true};
    (void)worker;
    clr_sweep(b->map, b->firsts[piece], b->firsts[piece + 1], &s, sweeper);
    for (unsigned i = s.turn > RING ? s.turn - RING : 0; i != s.turn; i++)
        look_up(&s, &s.ring[i % RING]);
    if (s.invalid->failed)
        return clr_no_memory(error);
    return s.overflows ? clr_fail(error, CLR_IO, 0,
                                  "the core was changed while it was read: an object has more "
                                  "references than before")
                       : CLR_OK;
}

/* Dependent edges stand last in their rows. */
static enum clr_status count_dependents(struct build *b, struct clr_error *error)
{
    for (size_t i = 0; i < b->map->dependent_count; i++)
        if (!b->map->dependents[i].is_dead &&
            ++b->forward->edges.offsets.rest[b->map->dependents[i].source] == 0)
            return too_many(error);
    return CLR_OK;
}

static void fill_dependents(struct build *b)
{
    const struct clr_dependent *dependents = b->map->dependents;
    size_t count = b->map->dependent_count;
    for (size_t first = 0, end; first < count; first = end) {
        uint32_t source = dependents[first].source;
        for (end = first; end < count && dependents[end].source == source;)
            end++;
        if (dependents[first].is_dead)
            continue;
        uint64_t at = clr_offset_at(&b->forward->edges.offsets, source + 1) - (end - first);
        for (size_t i = first; i < end; i++, at++) {
            b->forward->edges.targets[at] = dependents[i].target;
            if (b->forward->slots.low)
                clr_wide_set(&b->forward->slots, at, clr_units(b->heap) + i);
        }
    }
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

static enum clr_status run(struct build *b, enum clr_with_slots with_slots, struct clr_job *job,
                           struct clr_error *error)
{
    struct clr_edges *edges = &b->forward->edges;
    CLR_TRY(clr_heap_pieces(b->heap, &b->firsts, &b->pieces, error));
    if (!clr_offsets_alloc(&edges->offsets, b->heap->count) ||
        !(b->invalid = clr_alloc(b->pieces, sizeof *b->invalid)))
        return clr_no_memory(error);
    CLR_TRY(clr_job_run(job, "counting references", b->pieces, count_piece, b, error));
    CLR_TRY(count_dependents(b, error));
    CLR_TRY(sum(&edges->offsets, &edges->target_count, error));
    edges->targets = clr_alloc_large(edges->target_count, sizeof *edges->targets);
    if (!edges->targets ||
        (with_slots && !clr_wide_alloc(&b->forward->slots, edges->target_count,
                                       clr_units(b->heap) + b->map->dependent_count)))
        return clr_no_memory(error);
    CLR_TRY(clr_job_run(job, "reading references", b->pieces, fill_piece, b, error));
    fill_dependents(b);
    return clr_invalid_gather(b->invalid, b->pieces, &b->forward->invalid, error);
}

enum clr_status clr_forward_build(const struct clr_ref_map *map, const uint32_t *skip,
                                  size_t skip_count, enum clr_with_slots with_slots,
                                  struct clr_job *job, struct clr_forward **out,
                                  struct clr_error *error)
{
    struct build b = {.heap = map->heap, .map = map, .skip = skip, .skip_count = skip_count};
    *out = NULL;
    if (!(b.forward = clr_alloc(1, sizeof *b.forward)))
        return clr_no_memory(error);
    b.forward->map = map;
    enum clr_status status = run(&b, with_slots, job, error);
    for (size_t i = 0; b.invalid && i < b.pieces; i++)
        CLR_ARRAY_FREE(&b.invalid[i].rows);
    clr_free(b.invalid);
    clr_free(b.firsts);
    if (status != CLR_OK) {
        clr_forward_destroy(b.forward);
        return status;
    }
    *out = b.forward;
    return CLR_OK;
}

void clr_forward_destroy(struct clr_forward *forward)
{
    if (!forward)
        return;
    clr_offsets_free(&forward->edges.offsets);
    clr_free_large(forward->edges.targets, forward->edges.target_count,
                   sizeof *forward->edges.targets);
    clr_wide_free(&forward->slots);
    CLR_ARRAY_FREE(&forward->invalid.rows);
    clr_free(forward);
}

/* --- Sizes ----------------------------------------------------------------------------------- */

struct sizing {
    const struct clr_heap *heap;
    uint32_t *firsts;
    uint64_t *sizes;
};

static enum clr_status size_piece(void *context, unsigned worker, size_t piece,
                                  struct clr_error *error)
{
    const struct sizing *s = context;
    struct clr_object_scan scan;
    struct clr_object object;
    (void)worker, (void)error;
    clr_object_scan_start(&scan, s->heap, s->firsts[piece], s->firsts[piece + 1], false);
    while (clr_object_scan_next(&scan, &object))
        s->sizes[object.number] = object.size;
    return CLR_OK;
}

enum clr_status clr_heap_sizes(const struct clr_ref_map *map, struct clr_job *job, uint64_t *sizes,
                               struct clr_error *error)
{
    struct sizing sizing = {.heap = map->heap, .sizes = sizes};
    size_t pieces;
    CLR_TRY(clr_heap_pieces(map->heap, &sizing.firsts, &pieces, error));
    enum clr_status status = clr_job_run(job, "reading sizes", pieces, size_piece, &sizing, error);
    clr_free(sizing.firsts);
    return status;
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
