/*
 * The one walk of the heap.
 *
 * Objects tile a segment: where one ends (its size rounded up) the next begins, from the segment's
 * start to its end. Exceptions: an allocation context leaves a gap of unformatted memory, from its
 * pointer to its limit and one smallest object more; a page may not be saved; memory may be
 * damaged. Each byte of a segment is counted once, as object, free block, gap or unwalked.
 *
 *     word at an object        & ~ObjectToMethodTableUnmask: its MethodTable
 *     u32 at its count         arrays, strings and free blocks: number of components
 *     size                     base size + components * component size, rounded up to the alignment
 *
 * Pieces. The heap is cut into pieces that are walked in any order by any number of threads. A region
 * is a piece of its own. A large segment of small objects is cut at fixed distances, and where the
 * first object of such a piece begins is not known: the walker searches for it as it does after
 * damage, and may be wrong. So its result is a guess until all pieces are put in order: if the piece
 * before ends where this one took up, the guess was right and is kept; if not, it is dropped, and
 * the piece is walked again from there. The result is that of one thread from start to end, whatever
 * was guessed. Segments of large objects are not cut: they hold few, and a search would read
 * through memory that a walk steps over.
 *
 * piece.c walks one piece; this file cuts the heap and puts the results in order.
 *
 * Damage. A word that is no MethodTable, or a size that leads out of the segment: the walk goes on
 * at the next address that must be an object: a MethodTable that can have instances, a header word
 * that can be one, and sizes that lead from there over several objects, or to the end. Memory
 * inside a lost object can look like that too, and then its chain falls in with the true one before
 * long: an object that hides a longer chain of objects behind it is not believed. See resync.c.
 */
#include "heap/walk.h"

#include "base/alloc.h"

enum { PIECE_SIZE = 16 << 20 }; /* bytes of a piece of a segment that is cut */

/* --- Gaps: allocation contexts that lie in a segment ------------------------------------------ */

static bool add_gaps(struct clr_walk *walk, size_t segment_index)
{
    const struct clr_heap *heap = walk->heap;
    const struct clr_gc *gc = heap->gc;
    const struct clr_segment *segment = &gc->segments[segment_index];
    uint64_t behind = segment->start;
    walk->first_gap[segment_index] = walk->gaps.count;
    if (!segment->has_contexts)
        return true;
    for (size_t i = 0; i < gc->context_count; i++) {
        const struct clr_context *context = &gc->contexts[i];
        uint64_t end = clr_round_up(context->limit, heap->word) + clr_smallest_object(heap);
        if (context->pointer < segment->start || context->pointer >= segment->end)
            continue;
        if (context->pointer % heap->word != 0 || end > segment->end || context->pointer < behind) {
            if (context->pointer != behind || end != behind)
                clr_problem_of(walk->problems, CLR_WARNING, "segments", segment->address, false,
                               context->pointer, 0,
                               "the allocation context at 0x%llx does not fit into its segment: "
                               "ignored",
                               (unsigned long long)context->pointer);
            continue;
        }
        if (!CLR_ARRAY_ADD(&walk->gaps, (struct clr_gap){context->pointer, end}))
            return false;
        behind = end;
    }
    return true;
}

/* --- Pieces ------------------------------------------------------------------------------------ */

static bool add_piece(struct clr_walk *walk, uint32_t segment, uint64_t start, uint64_t end)
{
    size_t gap = walk->first_gap[segment], last = walk->first_gap[segment + 1];
    bool certain = start == walk->heap->gc->segments[segment].start;
    while (gap < last && walk->gaps.items[gap].end <= start)
        gap++;
    return CLR_ARRAY_ADD(&walk->pieces, (struct clr_piece){.start = start,
                                                           .end = end,
                                                           .segment = segment,
                                                           .certain = certain,
                                                           .searching = !certain,
                                                           .at = start,
                                                           .gap = gap});
}

/* Cuts lie at the start of an index entry, so that no two pieces write to one. */
static bool add_pieces(struct clr_walk *walk, uint32_t number, size_t *range)
{
    const struct clr_heap *heap = walk->heap;
    const struct clr_segment *segment = &heap->gc->segments[number];
    const uint64_t entry = (uint64_t)CLR_ENTRY_UNITS << heap->unit_shift;
    uint64_t start = segment->start;
    for (; *range < heap->range_count && heap->ranges[*range].segment == number; ++*range) {
        const struct clr_index_range *r = &heap->ranges[*range];
        if (segment->kind == CLR_LOH || segment->kind == CLR_POH)
            continue;
        for (;;) {
            uint64_t cut = r->start;
            if (cut < start + PIECE_SIZE)
                cut += clr_round_up(start + PIECE_SIZE - cut, entry);
            if (cut >= r->end || segment->end - cut < PIECE_SIZE)
                break;
            if (!add_piece(walk, number, start, cut))
                return false;
            start = cut;
        }
    }
    return segment->start == segment->end || add_piece(walk, number, start, segment->end);
}

static enum clr_status plan(struct clr_walk *walk, struct clr_error *error)
{
    struct clr_heap *heap = walk->heap;
    size_t segments = heap->gc->segment_count, range = 0;
    if (!(walk->first_gap = clr_alloc(segments + 1, sizeof *walk->first_gap)))
        return clr_no_memory(error);
    for (size_t i = 0; i < segments; i++)
        if (!add_gaps(walk, i))
            return clr_no_memory(error);
    walk->first_gap[segments] = walk->gaps.count;
    for (size_t i = 0; i < segments; i++)
        if (!add_pieces(walk, (uint32_t)i, &range))
            return clr_no_memory(error);
    return CLR_OK;
}

static enum clr_status walk_item(void *context, unsigned worker, size_t item,
                                 struct clr_error *error)
{
    struct clr_walk *walk = context;
    struct clr_piece *p = &walk->pieces.items[item];
    struct clr_walker *w = &walk->walkers[worker];
    w->error = error;
    if (p->done)
        return CLR_OK;
    if (p->certain)
        return clr_piece_advance(walk, w, p, &w->certain);
    CLR_TRY(clr_piece_advance(walk, w, p, &w->guessed));
    return clr_shape_table_drain(&w->guessed, &p->shapes, error);
}

/* --- Putting the pieces together --------------------------------------------------------------- */

static void forget(const struct clr_walk *walk, struct clr_piece *p)
{
    struct clr_heap *heap = walk->heap;
    for (size_t i = clr_index_range_from(heap, p->start);
         i < heap->range_count && heap->ranges[i].start < p->end; i++) {
        const struct clr_index_range *range = &heap->ranges[i];
        uint64_t from = range->start > p->start ? range->start : p->start;
        uint64_t end = range->end < p->end ? range->end : p->end;
        size_t first = range->first + clr_index_unit(heap, range, from) / CLR_ENTRY_UNITS;
        size_t last = range->first + clr_index_unit(heap, range, end - 1) / CLR_ENTRY_UNITS;
        memset(&heap->entries[first], 0, (last - first + 1) * sizeof *heap->entries);
    }
    CLR_ARRAY_FREE(&p->shapes);
}

static void add_first(struct clr_unwalked *all, const struct clr_unwalked *first)
{
    if (first->bytes != 0 && (all->bytes == 0 || first->first < all->first))
        all->first = first->first;
    all->bytes += first->bytes;
}

/* Makes the piece what a walk that comes from the piece BEFORE makes of it. */
static enum clr_status confirm(struct clr_walk *walk, const struct clr_piece *before,
                               struct clr_piece *p, struct clr_error *error)
{
    if (before->searching) { /* it looked for the next object up to here, as this one did */
        add_first(&p->hole, &p->first_hole);
        add_first(before->in_hole ? &p->hole : &p->bad, &p->first_bad);
        p->in_hole |= before->in_hole && !p->synced;
        return CLR_OK;
    }
    if (p->synced && p->first == before->at)
        return CLR_OK;
    forget(walk, p);
    size_t gap = walk->first_gap[p->segment];
    *p = (struct clr_piece){.start = p->start,
                            .end = p->end,
                            .segment = p->segment,
                            .certain = true,
                            .at = before->at,
                            .gap = gap};
    struct clr_walker *w = &walk->walkers[0];
    w->error = error;
    while (!p->done) {
        CLR_TRY(clr_job_poll(walk->job, "walking the heap", p->at - p->start, p->end - p->start,
                             error));
        CLR_TRY(clr_piece_advance(walk, w, p, &w->certain));
    }
    return CLR_OK;
}

static void report(const struct clr_walk *walk, const struct clr_piece *p)
{
    const struct clr_segment *segment = &walk->heap->gc->segments[p->segment];
    const char *kind = segment->kind == CLR_FROZEN ? "frozen"
                       : segment->kind == CLR_LOH  ? "LOH"
                       : segment->kind == CLR_POH  ? "POH"
                                                   : "SOH";
    if (p->bad.bytes != 0 && p->bad_type != 0)
        clr_problem_of(walk->problems, CLR_ERROR, "objects", segment->address, true, p->bad.first,
                       p->bad.bytes,
                       "the type 0x%llx of the object at 0x%llx, in the %s segment at 0x%llx, is "
                       "not in the dump: objects of such types are missing",
                       (unsigned long long)p->bad_type, (unsigned long long)p->bad.first, kind,
                       (unsigned long long)segment->start);
    else if (p->bad.bytes != 0)
        clr_problem_of(walk->problems, CLR_ERROR, "objects", segment->address, true, p->bad.first,
                       p->bad.bytes,
                       "no object at 0x%llx where one must be, in the %s segment at 0x%llx: the "
                       "memory is damaged or was being written; walked on at the next object",
                       (unsigned long long)p->bad.first, kind, (unsigned long long)segment->start);
    if (p->hole.bytes != 0)
        clr_problem_of(walk->problems, CLR_ERROR, "objects", segment->address, true, p->hole.first,
                       p->hole.bytes,
                       "memory from 0x%llx on, in the %s segment at 0x%llx, is not in the dump: "
                       "objects that begin there are missing",
                       (unsigned long long)p->hole.first, kind, (unsigned long long)segment->start);
}

static void account(const struct clr_walk *walk, const struct clr_piece *p)
{
    struct clr_segment_stats *stats = &walk->heap->segments[p->segment];
    stats->total_count += p->objects;
    stats->object_count += p->objects - p->free_count;
    stats->object_bytes += p->walked - p->free_bytes;
    stats->free_bytes += p->free_bytes;
    stats->gap_bytes += p->gap_bytes;
    stats->unwalked_bytes += p->bad.bytes + p->hole.bytes;
    report(walk, p);
}

static enum clr_status join(struct clr_walk *walk, clr_shape_list *found, struct clr_error *error)
{
    for (size_t i = 0; i < walk->pieces.count; i++) {
        struct clr_piece *p = &walk->pieces.items[i];
        if (!p->certain)
            CLR_TRY(confirm(walk, &walk->pieces.items[i - 1], p, error));
        account(walk, p);
        for (size_t k = 0; k < p->shapes.count; k++)
            if (!CLR_ARRAY_ADD(found, p->shapes.items[k]))
                return clr_no_memory(error);
    }
    for (unsigned i = 0; i < walk->walker_count; i++)
        CLR_TRY(clr_shape_table_drain(&walk->walkers[i].certain, found, error));
    return clr_shapes_make(walk->heap, found, error);
}

/* --- The walk --------------------------------------------------------------------------------- */

static enum clr_status walk_all(struct clr_walk *walk, struct clr_error *error)
{
    struct clr_heap *heap = walk->heap;
    bool all_done = false;
    CLR_TRY(clr_index_create(heap, error));
    CLR_TRY(plan(walk, error));
    heap->segments = clr_alloc(heap->gc->segment_count, sizeof *heap->segments);
    walk->walkers = clr_alloc(clr_job_threads(walk->job), sizeof *walk->walkers);
    if (!heap->segments || !walk->walkers)
        return clr_no_memory(error);
    for (; walk->walker_count < clr_job_threads(walk->job); walk->walker_count++)
        CLR_TRY(clr_walker_init(&walk->walkers[walk->walker_count], heap, error));
    while (!all_done) {
        CLR_TRY(
            clr_job_run(walk->job, "walking the heap", walk->pieces.count, walk_item, walk, error));
        all_done = true;
        for (size_t i = 0; i < walk->pieces.count && all_done; i++)
            all_done = walk->pieces.items[i].done;
    }
    clr_shape_list found = {0};
    enum clr_status status = join(walk, &found, error);
    CLR_ARRAY_FREE(&found);
    if (status != CLR_OK)
        return status;
    CLR_TRY(clr_index_finish(heap, walk->job, error));
    for (size_t i = 0; i < heap->gc->segment_count; i++)
        heap->segments[i].first_number = clr_number_from(heap, heap->gc->segments[i].start);
    return CLR_OK;
}

enum clr_status clr_heap_walk(const struct clr_runtime *runtime, const struct clr_gc *gc,
                              struct clr_problems *problems, struct clr_job *job,
                              struct clr_heap **heap, struct clr_error *error)
{
    struct clr_walk walk = {.problems = problems, .job = job};
    const struct clr_object_layout *o = &runtime->object;
    enum clr_status status;
    struct clr_heap *h;
    *heap = NULL;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_OBJECT, "objects", error));
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_TYPES, "objects", error));
    if (!(h = walk.heap = clr_alloc(1, sizeof *h)))
        return clr_no_memory(error);
    h->runtime = runtime;
    h->process = runtime->process;
    h->gc = gc;
    h->word = runtime->word;
    h->unit_shift = h->word == 8 ? 3 : 2;
    h->swapped = clr_process_info(runtime->process)->swapped;
    h->native = h->word == 8 && !h->swapped;
    h->unmask = runtime->alignment_mask & (clr_has(o->unmask) ? o->unmask : UINT64_MAX);
    h->count_offset = clr_has(o->array_count) ? (uint32_t)o->array_count : h->word;
    status = h->count_offset < h->word || h->count_offset > 64
                 ? clr_fail(error, CLR_BAD_DATA, 0,
                            "the descriptor puts the length of arrays at offset %u: that makes no "
                            "sense",
                            h->count_offset)
                 : walk_all(&walk, error);
    for (size_t i = 0; i < walk.pieces.count; i++)
        CLR_ARRAY_FREE(&walk.pieces.items[i].shapes);
    CLR_ARRAY_FREE(&walk.pieces);
    CLR_ARRAY_FREE(&walk.gaps);
    clr_free(walk.first_gap);
    for (unsigned i = 0; i < walk.walker_count; i++)
        clr_walker_deinit(&walk.walkers[i]);
    clr_free(walk.walkers);
    if (status != CLR_OK) {
        clr_heap_close(h);
        return status;
    }
    *heap = h;
    return CLR_OK;
}

void clr_heap_close(struct clr_heap *heap)
{
    if (!heap)
        return;
    clr_index_destroy(heap);
    clr_free(heap->segments);
    clr_free(heap->shapes);
    clr_free(heap->sizings);
    clr_free(heap->types);
    clr_free_large(heap->postings, heap->count, sizeof *heap->postings);
    clr_free(heap->posting_starts);
    clr_free(heap);
}

uint32_t clr_heap_count(const struct clr_heap *heap)
{
    return heap->count;
}

uint64_t clr_heap_objects(const struct clr_heap *heap)
{
    return heap->objects;
}

uint64_t clr_heap_bytes(const struct clr_heap *heap)
{
    return heap->bytes;
}

const struct clr_segment_stats *clr_heap_segment_stats(const struct clr_heap *heap, size_t segment)
{
    return &heap->segments[segment];
}
