/*
 * Building the reverse graph in three passes over blocks of targets.
 *
 *   1  count    for each piece of the heap and each block (32 MB) of targets: how many slots
 *   2  collect  the same scan writes each slot into its block's stretch, at a place that the counts
 *               of pass 1 fix: (slot unit << 22 | target unit in the block), 8 bytes. Pieces are in
 *               heap order, so a stretch is sorted by slot whatever the workers do
 *   3  sort     a block's index entries fit the cache: its slots are counted by object, and after a
 *               sum over all objects put into their rows
 *
 * A scatter straight into rows costs a cache miss a reference; one that two workers share needs
 * atomics and gives another order every time.
 */
#include "graph/links.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "graph/sweep.h"

enum {
    BLOCK_SHIFT = 22, /* units in a block of targets */
    AHEAD = 16,       /* slots between asking the cache for something and using it */
};
#define BLOCK_MASK (((uint64_t)1 << BLOCK_SHIFT) - 1)

/* --- Passes ---------------------------------------------------------------------------------- */

struct build {
    const struct clr_heap *heap;
    const struct clr_ref_map *map;
    struct clr_links *links;
    uint32_t *firsts;
    size_t pieces, blocks;
    uint64_t *places;       /* piece * blocks + block: where the next slot goes */
    uint32_t *counts;       /* the same: how many are still to come */
    uint64_t *block_starts; /* blocks + 1 */
    uint64_t *pairs;
    uint64_t pair_count;
    struct clr_invalid_refs *invalid; /* by piece, then by block */
};

/* What a sweep writes to. */
struct sweep {
    struct build *build;
    uint64_t *places;
    uint32_t *counts;
    struct clr_invalid_refs *invalid;
    bool overflows;
};

CLR_SWEPT bool every_object(void *context, uint32_t number)
{
    (void)context, (void)number;
    return true;
}

CLR_SWEPT void no_slot(void *context, uint64_t unit, uint32_t target)
{
    (void)context, (void)unit, (void)target;
}

static void count_missing(void *context, uint64_t address, uint64_t length)
{
    clr_invalid_add(((struct sweep *)context)->invalid, address, 0, length);
}

CLR_SWEPT void count_slot(void *context, uint64_t slot, uint64_t value)
{
    struct sweep *s = context;
    uint64_t unit = clr_unit(s->build->heap, value);
    if (unit == CLR_NO_UNIT)
        clr_invalid_add(s->invalid, clr_unit_address(s->build->heap, slot), value, 0);
    else
        s->overflows |= ++s->counts[unit >> BLOCK_SHIFT] == 0;
}

static enum clr_status count_piece(void *context, unsigned worker, size_t piece,
                                   struct clr_error *error)
{
    struct build *b = context;
    struct sweep s = {
        .build = b, .counts = &b->counts[piece * b->blocks], .invalid = &b->invalid[piece]};
    const struct clr_sweeper sweeper = {every_object, count_slot, no_slot, count_missing, false};
    (void)worker;
    clr_sweep(b->map, b->firsts[piece], b->firsts[piece + 1], &s, sweeper);
    if (s.overflows)
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "a piece of the heap has more than 2^32 references: this version cannot "
                        "index them");
    return s.invalid->failed ? clr_no_memory(error) : CLR_OK;
}

CLR_SWEPT void collect_slot(void *context, uint64_t slot, uint64_t value)
{
    struct sweep *s = context;
    uint64_t unit = clr_unit(s->build->heap, value);
    if (unit == CLR_NO_UNIT)
        return;
    uint64_t block = unit >> BLOCK_SHIFT;
    if (s->counts[block]-- == 0) {
        s->counts[block] = 0;
        s->overflows = true;
    } else {
        s->build->pairs[s->places[block]++] = slot << BLOCK_SHIFT | (unit & BLOCK_MASK);
    }
}

static enum clr_status changed(struct clr_error *error)
{
    return clr_fail(error, CLR_IO, 0,
                    "the core was changed while it was read: an object has other references than "
                    "before");
}

static enum clr_status collect_piece(void *context, unsigned worker, size_t piece,
                                     struct clr_error *error)
{
    struct build *b = context;
    struct sweep s = {.build = b,
                      .places = &b->places[piece * b->blocks],
                      .counts = &b->counts[piece * b->blocks]};
    const struct clr_sweeper sweeper = {every_object, collect_slot, no_slot, NULL, false};
    (void)worker;
    clr_sweep(b->map, b->firsts[piece], b->firsts[piece + 1], &s, sweeper);
    for (size_t block = 0; block < b->blocks; block++)
        s.overflows |= s.counts[block] != 0;
    return s.overflows ? changed(error) : CLR_OK;
}

/* Counts become places: block by block, in a block piece by piece. */
static void place_parts(struct build *b)
{
    uint64_t sum = 0;
    for (size_t block = 0; block < b->blocks; block++) {
        b->block_starts[block] = sum;
        for (size_t piece = 0; piece < b->pieces; piece++) {
            b->places[piece * b->blocks + block] = sum;
            sum += b->counts[piece * b->blocks + block];
        }
    }
    b->block_starts[b->blocks] = sum;
    b->pair_count = sum;
}

static inline bool pair_number(const struct build *b, size_t block, uint64_t pair, uint32_t *number)
{
    return clr_unit_number(b->heap, (uint64_t)block << BLOCK_SHIFT | (pair & BLOCK_MASK), number) &&
           !clr_ref_is_free(b->map, *number);
}

static inline void expect_pair(const struct build *b, size_t block, uint64_t pair)
{
    uint64_t unit = (uint64_t)block << BLOCK_SHIFT | (pair & BLOCK_MASK);
    __builtin_prefetch(&b->heap->entries[unit / CLR_ENTRY_UNITS]);
}

static enum clr_status count_block(void *context, unsigned worker, size_t block,
                                   struct clr_error *error)
{
    struct build *b = context;
    const uint64_t end = b->block_starts[block + 1];
    uint32_t *rest = b->links->rows.rest;
    (void)worker;
    for (uint64_t i = b->block_starts[block]; i < end; i++) {
        uint32_t number;
        uint64_t value;
        if (i + AHEAD < end)
            expect_pair(b, block, b->pairs[i + AHEAD]);
        if (pair_number(b, block, b->pairs[i], &number)) {
            if (rest[number]++ == UINT32_MAX)
                return clr_fail(error, CLR_UNSUPPORTED, clr_address(b->heap, number),
                                "object 0x%llx has more than 2^32 references to it",
                                (unsigned long long)clr_address(b->heap, number));
            continue;
        }
        uint64_t slot = clr_unit_address(b->heap, b->pairs[i] >> BLOCK_SHIFT);
        if (!clr_read_word(b->heap->process, slot, &value))
            return changed(error);
        clr_invalid_add(&b->invalid[b->pieces + block], slot, value, 0);
        if (b->invalid[b->pieces + block].failed)
            return clr_no_memory(error);
    }
    return CLR_OK;
}

static enum clr_status fill_block(void *context, unsigned worker, size_t block,
                                  struct clr_error *error)
{
    struct build *b = context;
    struct clr_offsets *rows = &b->links->rows;
    const uint64_t first = b->block_starts[block];
    (void)worker, (void)error;
    for (uint64_t i = b->block_starts[block + 1]; i-- > first;) {
        uint32_t number;
        if (i >= first + AHEAD)
            expect_pair(b, block, b->pairs[i - AHEAD]);
        if (pair_number(b, block, b->pairs[i], &number))
            clr_wide_set(&b->links->slots,
                         rows->base[number >> CLR_OFFSETS_SHIFT] + --rows->rest[number],
                         b->pairs[i] >> BLOCK_SHIFT);
    }
    return CLR_OK;
}

static int by_target(const void *a, const void *b)
{
    const struct clr_dependent *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* Load contexts that are loaded: few. */
static bool is_allocator(const struct clr_links *links, uint32_t number)
{
    for (size_t i = 0; i < links->allocator_count; i++)
        if (links->allocators[i] == number)
            return true;
    return false;
}

static enum clr_status add_extras(struct clr_links *links, struct clr_error *error)
{
    const struct clr_ref_map *map = links->map;
    const struct clr_heap *heap = map->heap;
    links->dependents = clr_alloc(map->dependent_count, sizeof *links->dependents);
    if (!links->dependents)
        return clr_no_memory(error);
    if (map->dependent_count) {
        memcpy(links->dependents, map->dependents,
               map->dependent_count * sizeof *links->dependents);
        qsort(links->dependents, map->dependent_count, sizeof *links->dependents, by_target);
    }
    links->ref_count += map->dependent_count;
    if (!(links->allocators = clr_alloc(heap->shape_count, sizeof *links->allocators)))
        return clr_no_memory(error);
    for (size_t i = 0; i < heap->shape_count; i++)
        if (map->shapes[i].allocator != 0 && !is_allocator(links, map->shapes[i].allocator - 1))
            links->allocators[links->allocator_count++] = map->shapes[i].allocator - 1;
    for (size_t i = 0; i < heap->shape_count; i++)
        if (map->shapes[i].allocator != 0)
            links->ref_count += heap->shapes[i].object_count;
    return CLR_OK;
}

static enum clr_status run(struct build *b, struct clr_job *job, struct clr_error *error)
{
    struct clr_links *links = b->links;
    uint64_t total;
    CLR_TRY(clr_heap_pieces(b->heap, &b->firsts, &b->pieces, error));
    b->blocks = (size_t)(clr_units(b->heap) >> BLOCK_SHIFT) + 1;
    if (!(b->places = clr_alloc(b->pieces, b->blocks * sizeof *b->places)) ||
        !(b->counts = clr_alloc(b->pieces, b->blocks * sizeof *b->counts)) ||
        !(b->block_starts = clr_alloc(b->blocks + 1, sizeof *b->block_starts)) ||
        !(b->invalid = clr_alloc(b->pieces + b->blocks, sizeof *b->invalid)))
        return clr_no_memory(error);
    CLR_TRY(clr_job_run(job, "counting references", b->pieces, count_piece, b, error));
    place_parts(b);
    if (!(b->pairs = clr_alloc_large(b->pair_count, sizeof *b->pairs)))
        return clr_no_memory(error);
    CLR_TRY(clr_job_run(job, "collecting references", b->pieces, collect_piece, b, error));
    if (!clr_offsets_alloc(&links->rows, b->heap->count))
        return clr_no_memory(error);
    CLR_TRY(clr_job_run(job, "counting references to objects", b->blocks, count_block, b, error));
    CLR_TRY(clr_offsets_sum(&links->rows, &total, error));
    if (!clr_wide_alloc(&links->slots, (size_t)total, clr_units(b->heap)))
        return clr_no_memory(error);
    CLR_TRY(clr_job_run(job, "sorting references", b->blocks, fill_block, b, error));
    links->ref_count = total;
    CLR_TRY(clr_invalid_gather(b->invalid, b->pieces + b->blocks, &links->invalid, error));
    return add_extras(links, error);
}

enum clr_status clr_links_build(const struct clr_ref_map *map, struct clr_job *job,
                                struct clr_links **out, struct clr_error *error)
{
    struct build b = {.heap = map->heap, .map = map};
    *out = NULL;
    if (!(b.links = clr_alloc(1, sizeof *b.links)))
        return clr_no_memory(error);
    b.links->map = map;
    enum clr_status status = run(&b, job, error);
    clr_free_large(b.pairs, b.pair_count, sizeof *b.pairs);
    for (size_t i = 0; b.invalid && i < b.pieces + b.blocks; i++)
        CLR_ARRAY_FREE(&b.invalid[i].rows);
    clr_free(b.invalid);
    clr_free(b.places);
    clr_free(b.counts);
    clr_free(b.block_starts);
    clr_free(b.firsts);
    if (status != CLR_OK) {
        clr_links_destroy(b.links);
        return status;
    }
    *out = b.links;
    return CLR_OK;
}

void clr_links_destroy(struct clr_links *links)
{
    if (!links)
        return;
    clr_offsets_free(&links->rows);
    clr_wide_free(&links->slots);
    clr_free(links->dependents);
    clr_free(links->allocators);
    CLR_ARRAY_FREE(&links->invalid.rows);
    clr_free(links);
}

/* --- Edges into one object ------------------------------------------------------------------- */

void clr_link_scan_start(struct clr_link_scan *scan, const struct clr_links *links, uint32_t number)
{
    *scan = (struct clr_link_scan){.links = links, .number = number};
    scan->next = clr_offset_at(&links->rows, number);
    scan->end = clr_offset_at(&links->rows, number + 1);
    size_t i;
    CLR_SEARCH(i, 0, links->map->dependent_count, links->dependents[i].target < number);
    scan->dependent = i;
    scan->has_allocated = is_allocator(links, number);
    if (scan->has_allocated)
        clr_object_scan_start(&scan->objects, links->map->heap, 0, links->map->heap->count, false);
}

/* Allocator edges: from all objects of the shapes whose allocator this is. Rare: loaded plugins. */
static bool next_allocator(struct clr_link_scan *scan, struct clr_ref *ref)
{
    const struct clr_ref_map *map = scan->links->map;
    struct clr_object object;
    while (scan->has_allocated && clr_object_scan_next(&scan->objects, &object))
        if (map->shapes[object.shape].allocator == scan->number + 1 &&
            clr_ref_allocator(map, object.number, ref))
            return true;
    return false;
}

bool clr_link_scan_next(struct clr_link_scan *scan, struct clr_ref *ref)
{
    const struct clr_links *links = scan->links;
    const struct clr_heap *heap = links->map->heap;
    while (scan->next < scan->end) {
        uint64_t unit = clr_wide_get(&links->slots, scan->next++);
        if (clr_ref_at(links->map, clr_unit_address(heap, unit), clr_unit_owner(heap, unit), ref))
            return true;
    }
    if (scan->dependent < links->map->dependent_count &&
        links->dependents[scan->dependent].target == scan->number)
        return clr_ref_dependent(links->map, &links->dependents[scan->dependent++], ref);
    return next_allocator(scan, ref);
}
