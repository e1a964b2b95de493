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
 * Parts. The heap is cut into parts that are walked in any order by any number of threads. A region
 * is a part of its own. A large segment of small objects is cut at fixed distances, and where the
 * first object of such a part begins is not known: the walker searches for it as it does after
 * damage, and may be wrong. So its result is a guess until all parts are put in order: if the part
 * before ends where this one took up, the guess was right and is kept; if not, it is dropped, and
 * the part is walked again from there. The result is that of one thread from start to end, whatever
 * was guessed. Segments of large objects are not cut: they hold few, and a search would read
 * through memory that a walk steps over.
 *
 * Damage. A word that is no MethodTable, or a size that leads out of the segment: the walk goes on
 * at the next address that must be an object: a MethodTable that can have instances, a header word
 * that can be one, and sizes that lead from there over several objects, or to the end. Memory
 * inside a lost object can look like that too, and then its chain falls in with the true one before
 * long: an object that hides a longer chain of objects behind it is not believed. See resync.c.
 *
 * The inner loop is instantiated twice: for 8-byte words in this machine's byte order, and for the
 * rest.
 */
#include "heap/resync.h"

#include "base/alloc.h"

enum {
    PART_SIZE = 16 << 20, /* bytes of a part of a segment that is cut */
    PART_WORK = 1 << 20,  /* objects or steps of a search between two looks for cancel */
    AHEAD = 1024,         /* bytes: the next objects are asked for while this one is read */
};

/* Damage of one kind in one part. */
struct loss {
    uint64_t first, bytes;
};

/* A stretch of a segment. Objects that start in [start, end) belong to it. */
struct part {
    uint64_t start, end;
    uint32_t segment;
    bool sure; /* begins at the start of the segment, or is walked again */
    bool done;
    bool searching; /* the next object is not known; also how a part that is done may end */
    bool synced;    /* an object or gap was found */
    bool in_hole;   /* searching behind a hole: what is lost is the rest of objects from there */
    uint64_t first; /* address where it was */
    uint64_t at;    /* the next object, or where the search goes on */
    size_t gap;     /* the next gap */
    uint64_t objects, walked, gap_bytes, free_count, free_bytes;
    struct loss lead_bad, lead_hole; /* before FIRST, if not sure */
    struct loss bad, hole;
    uint64_t bad_type;         /* MethodTable of the first bad one, if that is only not saved */
    struct clr_tally *tallies; /* of a part that is not sure */
    size_t tally_count, tally_room;
};

struct walk {
    struct clr_heap *heap;
    struct clr_problems *problems;
    struct clr_job *job;
    struct part *parts;
    size_t part_count, part_room;
    struct clr_gap *gaps; /* of all segments, sorted */
    size_t gap_count, gap_room;
    size_t *first_gap; /* by segment; segment_count + 1 */
    struct clr_walker *walkers;
    unsigned walker_count;
};

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory while walking the heap");
}

/* --- Gaps: allocation contexts that lie in a segment ------------------------------------------ */

static bool add_gaps(struct walk *walk, size_t segment_index)
{
    const struct clr_heap *heap = walk->heap;
    const struct clr_gc *gc = heap->gc;
    const struct clr_segment *segment = &gc->segments[segment_index];
    uint64_t behind = segment->start;
    walk->first_gap[segment_index] = walk->gap_count;
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
        if (!clr_grow(&walk->gaps, walk->gap_count, &walk->gap_room, sizeof *walk->gaps))
            return false;
        walk->gaps[walk->gap_count++] = (struct clr_gap){context->pointer, end};
        behind = end;
    }
    return true;
}

/* --- Parts ------------------------------------------------------------------------------------ */

static bool add_part(struct walk *walk, uint32_t segment, uint64_t start, uint64_t end)
{
    size_t gap = walk->first_gap[segment], last = walk->first_gap[segment + 1];
    bool sure = start == walk->heap->gc->segments[segment].start;
    if (!clr_grow(&walk->parts, walk->part_count, &walk->part_room, sizeof *walk->parts))
        return false;
    while (gap < last && walk->gaps[gap].end <= start)
        gap++;
    walk->parts[walk->part_count++] = (struct part){.start = start,
                                                    .end = end,
                                                    .segment = segment,
                                                    .sure = sure,
                                                    .searching = !sure,
                                                    .at = start,
                                                    .gap = gap};
    return true;
}

/* Cuts lie at the start of an index entry, so that no two parts write to one. */
static bool add_parts(struct walk *walk, uint32_t number, size_t *range)
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
            if (cut < start + PART_SIZE)
                cut += clr_round_up(start + PART_SIZE - cut, entry);
            if (cut >= r->end || segment->end - cut < PART_SIZE)
                break;
            if (!add_part(walk, number, start, cut))
                return false;
            start = cut;
        }
    }
    return segment->start == segment->end || add_part(walk, number, start, segment->end);
}

static enum clr_status plan(struct walk *walk, struct clr_error *error)
{
    struct clr_heap *heap = walk->heap;
    size_t segments = heap->gc->segment_count, range = 0;
    if (!(walk->first_gap = clr_alloc(segments + 1, sizeof *walk->first_gap)))
        return no_memory(error);
    for (size_t i = 0; i < segments; i++)
        if (!add_gaps(walk, i))
            return no_memory(error);
    walk->first_gap[segments] = walk->gap_count;
    for (size_t i = 0; i < segments; i++)
        if (!add_parts(walk, (uint32_t)i, &range))
            return no_memory(error);
    return CLR_OK;
}

/* --- The inner loop --------------------------------------------------------------------------- */

static inline void mark(struct clr_heap *heap, const struct clr_index_range *range,
                        uint64_t address)
{
    uint64_t unit = clr_index_unit(heap, range, address);
    struct clr_index_entry *entry = &heap->entries[range->first + unit / CLR_ENTRY_UNITS];
    entry->half[unit >> 5 & 1] |= (uint32_t)1 << (unit & 31);
}

/* Walks objects of known types from p->at on, as long as their headers lie in the walker's piece,
 * and none reaches past LIMIT. Stops at the first that needs more thought. */
static inline __attribute__((always_inline)) void run(struct clr_walker *w, struct clr_cells *cells,
                                                      struct part *p, uint64_t limit,
                                                      const unsigned word, const bool swapped,
                                                      const uint64_t alignment)
{
    struct clr_heap *heap = w->heap;
    const uint64_t mask = ~heap->unmask, count_offset = heap->count_offset;
    const uint8_t *bytes = w->bytes;
    const uint64_t from = w->from;
    uint64_t o = p->at - from, stop = w->to - from - (count_offset + sizeof(uint32_t)) + 1;
    uint64_t objects = 0, start = o;
    uint64_t type = ~clr_load_word(bytes + o, word, swapped) & mask; /* not the first one's */
    struct clr_cell *cell = NULL;
    const struct clr_index_range *range = w->range;
    struct clr_index_entry *entries = heap->entries + range->first;
    const uint64_t bias = from - range->start;
    const unsigned shift = word == 8 ? 3 : 2;
    limit -= from;
    if (stop > p->end - from)
        stop = p->end - from;
    while (o < stop) {
        __builtin_prefetch(bytes + o + AHEAD);
        uint64_t found = clr_load_word(bytes + o, word, swapped) & mask;
        if (found != type) {
            if (!(cell = clr_cells_find(cells, found)) || found == 0)
                break;
            type = found;
        }
        uint64_t size = cell->base;
        if (cell->component != 0) {
            uint64_t count = clr_load_u32(bytes + o + count_offset, swapped);
            size = (size + count * cell->component + alignment - 1) & ~(alignment - 1);
            if (size > limit - o)
                break;
            clr_cell_add(cell, size);
        } else {
            if (word != 8)
                size = clr_round_up(size, alignment);
            if (size > limit - o)
                break;
            if (word != 8)
                clr_cell_add(cell, size);
            else
                cell->count++;
        }
        uint64_t unit = (o + bias) >> shift;
        entries[unit / CLR_ENTRY_UNITS].half[unit >> 5 & 1] |= (uint32_t)1 << (unit & 31);
        objects++;
        o += size;
    }
    p->objects += objects;
    p->walked += o - start;
    p->at = from + o;
}

static __attribute__((noinline)) void run_native(struct clr_walker *w, struct clr_cells *cells,
                                                 struct part *p, uint64_t limit)
{
    run(w, cells, p, limit, 8, false, 8);
}

static __attribute__((noinline)) void run_other(struct clr_walker *w, struct clr_cells *cells,
                                                struct part *p, uint64_t limit)
{
    run(w, cells, p, limit, w->heap->word, w->heap->swapped, w->alignment);
}

/* --- One part --------------------------------------------------------------------------------- */

static void lose(struct part *p, bool hole, uint64_t address, uint64_t bytes)
{
    struct loss *loss =
        p->sure || p->synced ? (hole ? &p->hole : &p->bad) : (hole ? &p->lead_hole : &p->lead_bad);
    if (loss->bytes == 0 && bytes != 0)
        loss->first = address;
    loss->bytes += bytes;
}

static void synced(struct part *p)
{
    p->searching = p->in_hole = false;
    if (!p->synced) {
        p->synced = true;
        p->first = p->at;
    }
}

/* Where the objects from p->at on must end: the next gap, or the end of the segment. */
static uint64_t limit_of(const struct walk *walk, struct part *p)
{
    size_t last = walk->first_gap[p->segment + 1];
    while (p->gap < last && walk->gaps[p->gap].start < p->at)
        p->gap++;
    return p->gap < last ? walk->gaps[p->gap].start : walk->heap->gc->segments[p->segment].end;
}

/* Looks on for an object, for a limited number of steps. */
static enum clr_status search(const struct walk *walk, struct clr_walker *w, struct part *p,
                              uint64_t *work)
{
    const struct clr_heap *heap = walk->heap;
    const uint64_t unit = (uint64_t)1 << heap->unit_shift;
    /* A part that is taken up inside a gap begins behind it. */
    if (p->gap < walk->first_gap[p->segment + 1] && walk->gaps[p->gap].start < p->at &&
        walk->gaps[p->gap].end > p->at) {
        p->at = walk->gaps[p->gap].end;
        synced(p);
        return CLR_OK;
    }
    uint64_t limit = limit_of(walk, p), stop = limit < p->end ? limit : p->end, from = p->at;
    while (p->at<stop && * work> 0) {
        --*work;
        if (!clr_walker_look(w, p->at, 1)) {
            uint64_t next;
            lose(p, p->in_hole, from, p->at - from);
            p->in_hole = true;
            if (!clr_next_saved(heap->process, p->at, &next) || next > stop)
                next = stop;
            next = clr_round_up(next, unit);
            lose(p, true, p->at, next - p->at);
            from = p->at = next;
            continue;
        }
        uint64_t measured = w->measured;
        bool is_object;
        CLR_TRY(clr_resync_accept(w, p->at, limit, &is_object));
        measured = w->measured - measured;
        *work -= measured < *work ? measured : *work;
        if (is_object) {
            lose(p, p->in_hole, from, p->at - from);
            synced(p);
            return CLR_OK;
        }
        p->at += unit;
    }
    lose(p, p->in_hole, from, p->at - from);
    if (p->at >= p->end)
        p->done = true; /* and still searching */
    else if (p->at == limit)
        synced(p); /* a gap begins here, whatever was lost before */
    return CLR_OK;
}

/* What the inner loop would not do: the end, gaps, new types, objects at the edge of what is saved,
 * holes, damage. */
static enum clr_status step(const struct walk *walk, struct clr_walker *w, struct part *p,
                            uint64_t limit)
{
    struct clr_measured object;
    if (p->at == limit && p->gap < walk->first_gap[p->segment + 1]) {
        const struct clr_gap *gap = &walk->gaps[p->gap++];
        p->gap_bytes += gap->end - gap->start;
        p->at = gap->end;
        return CLR_OK;
    }
    CLR_TRY(clr_walker_measure(w, p->at, limit, &object));
    if (object.what == CLR_MEASURED_TOO_LONG && p->gap < walk->first_gap[p->segment + 1]) {
        /* A context that nobody uses any more may lie inside an object: believe the objects, if
         * they lead past it. */
        uint64_t end = walk->heap->gc->segments[p->segment].end;
        struct clr_measured whole;
        bool holds;
        CLR_TRY(clr_walker_measure(w, p->at, end, &whole));
        if (whole.what == CLR_MEASURED_OBJECT) {
            CLR_TRY(clr_resync_chain(w, p->at, end, &holds));
            if (holds) {
                while (p->gap < walk->first_gap[p->segment + 1] &&
                       walk->gaps[p->gap].start < p->at + whole.size)
                    p->gap++;
                return CLR_OK;
            }
        }
    }
    switch (object.what) {
    case CLR_MEASURED_OBJECT:
        mark(walk->heap, &walk->heap->ranges[clr_index_range_from(walk->heap, p->at)], p->at);
        if (object.cell->component != 0 || walk->heap->word != 8)
            clr_cell_add(object.cell, object.size);
        else
            object.cell->count++; /* all of one size: see run */
        p->objects++;
        p->walked += object.size;
        p->at += object.size;
        break;
    case CLR_MEASURED_UNSAVED:
        p->searching = p->in_hole = true;
        if (clr_walker_look(w, p->at, 1)) { /* the header reaches into the hole */
            lose(p, true, p->at, walk->heap->word);
            p->at += walk->heap->word;
        }
        break;
    default:
        /* Whatever began here had the size of the smallest object at least. */
        p->searching = true;
        if (p->bad.bytes == 0 && clr_walker_type_unsaved(w, p->at, &object))
            p->bad_type = object.word & ~walk->heap->unmask;
        uint64_t behind = p->at + clr_smallest_object(walk->heap);
        if (behind > limit)
            behind = limit;
        if (behind > p->end)
            behind = p->end;
        lose(p, false, p->at, behind - p->at);
        p->at = behind;
        break;
    }
    return CLR_OK;
}

/* Walks a part for a limited time. */
static enum clr_status advance(const struct walk *walk, struct clr_walker *w, struct part *p,
                               struct clr_cells *cells)
{
    const struct clr_heap *heap = walk->heap;
    const struct clr_cell *free_cell = clr_cells_find(cells, heap->runtime->free_type);
    uint64_t free_count = free_cell ? free_cell->count : 0;
    uint64_t free_bytes = free_cell ? free_cell->total : 0;
    uint64_t work = PART_WORK;
    clr_walker_enter(w, cells, &heap->gc->segments[p->segment]);
    while (!p->done && work > 0) {
        if (p->searching) {
            CLR_TRY(search(walk, w, p, &work));
            continue;
        }
        if (p->at >= p->end) {
            p->done = true;
            break;
        }
        uint64_t limit = limit_of(walk, p), before = p->at, objects = p->objects;
        if (p->at < limit && clr_walker_look(w, p->at, heap->count_offset + sizeof(uint32_t))) {
            if (heap->native)
                run_native(w, cells, p, limit);
            else
                run_other(w, cells, p, limit);
        }
        objects = p->objects - objects;
        work -= objects + 1 < work ? objects + 1 : work;
        if (p->at == before)
            CLR_TRY(step(walk, w, p, limit));
    }
    free_cell = clr_cells_find(cells, heap->runtime->free_type);
    if (free_cell) {
        p->free_count += free_cell->count - free_count;
        p->free_bytes += free_cell->total - free_bytes;
    }
    return CLR_OK;
}

static enum clr_status walk_item(void *context, unsigned worker, size_t item,
                                 struct clr_error *error)
{
    struct walk *walk = context;
    struct part *p = &walk->parts[item];
    struct clr_walker *w = &walk->walkers[worker];
    w->error = error;
    if (p->done)
        return CLR_OK;
    if (p->sure)
        return advance(walk, w, p, &w->sure);
    CLR_TRY(advance(walk, w, p, &w->guessed));
    return clr_cells_drain(&w->guessed, &p->tallies, &p->tally_count, &p->tally_room, error);
}

/* --- Putting the parts together --------------------------------------------------------------- */

static void forget(const struct walk *walk, struct part *p)
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
    clr_free(p->tallies);
}

static void add_lead(struct loss *loss, const struct loss *lead)
{
    if (lead->bytes != 0 && (loss->bytes == 0 || lead->first < loss->first))
        loss->first = lead->first;
    loss->bytes += lead->bytes;
}

/* Makes the part what a walk that comes from the part BEFORE makes of it. */
static enum clr_status settle(struct walk *walk, const struct part *before, struct part *p,
                              struct clr_error *error)
{
    if (before->searching) { /* it looked for the next object up to here, as this one did */
        add_lead(&p->hole, &p->lead_hole);
        add_lead(before->in_hole ? &p->hole : &p->bad, &p->lead_bad);
        p->in_hole |= before->in_hole && !p->synced;
        return CLR_OK;
    }
    if (p->synced && p->first == before->at)
        return CLR_OK;
    forget(walk, p);
    size_t gap = walk->first_gap[p->segment];
    *p = (struct part){.start = p->start,
                       .end = p->end,
                       .segment = p->segment,
                       .sure = true,
                       .at = before->at,
                       .gap = gap};
    struct clr_walker *w = &walk->walkers[0];
    w->error = error;
    while (!p->done) {
        CLR_TRY(clr_job_poll(walk->job, "walking the heap", p->at - p->start, p->end - p->start,
                             error));
        CLR_TRY(advance(walk, w, p, &w->sure));
    }
    return CLR_OK;
}

static void report(const struct walk *walk, const struct part *p)
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

static void account(const struct walk *walk, const struct part *p)
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

static enum clr_status join(struct walk *walk, struct clr_error *error)
{
    struct clr_heap *heap = walk->heap;
    struct clr_tally *tallies = NULL;
    size_t count = 0, room = 0, tables = 0;
    enum clr_status status = CLR_OK;
    struct clr_cells *all;
    for (size_t i = 0; i < walk->part_count && status == CLR_OK; i++) {
        struct part *p = &walk->parts[i];
        if (!p->sure)
            status = settle(walk, &walk->parts[i - 1], p, error);
        if (status == CLR_OK)
            account(walk, p);
        for (size_t k = 0; k < p->tally_count && status == CLR_OK; k++) {
            if (clr_grow(&tallies, count, &room, sizeof *tallies))
                tallies[count++] = p->tallies[k];
            else
                status = no_memory(error);
        }
    }
    for (unsigned i = 0; i < walk->walker_count && status == CLR_OK; i++)
        status = clr_cells_drain(&walk->walkers[i].sure, &tallies, &count, &room, error);
    all = clr_alloc((size_t)walk->walker_count * 2, sizeof *all);
    if (status == CLR_OK && !all)
        status = no_memory(error);
    if (status == CLR_OK) {
        for (unsigned i = 0; i < walk->walker_count; i++) {
            all[tables++] = walk->walkers[i].sure;
            all[tables++] = walk->walkers[i].guessed;
        }
        status = clr_shapes_make(heap, all, tables, tallies, count, error);
    }
    clr_free(all);
    clr_free(tallies);
    return status;
}

/* --- The walk --------------------------------------------------------------------------------- */

static enum clr_status walk_all(struct walk *walk, struct clr_error *error)
{
    struct clr_heap *heap = walk->heap;
    bool all_done = false;
    CLR_TRY(clr_index_create(heap, error));
    CLR_TRY(plan(walk, error));
    heap->segments = clr_alloc(heap->gc->segment_count, sizeof *heap->segments);
    walk->walkers = clr_alloc(clr_job_threads(walk->job), sizeof *walk->walkers);
    if (!heap->segments || !walk->walkers)
        return no_memory(error);
    for (; walk->walker_count < clr_job_threads(walk->job); walk->walker_count++)
        CLR_TRY(clr_walker_init(&walk->walkers[walk->walker_count], heap, error));
    while (!all_done) {
        CLR_TRY(
            clr_job_run(walk->job, "walking the heap", walk->part_count, walk_item, walk, error));
        all_done = true;
        for (size_t i = 0; i < walk->part_count && all_done; i++)
            all_done = walk->parts[i].done;
    }
    CLR_TRY(join(walk, error));
    CLR_TRY(clr_index_finish(heap, walk->job, error));
    for (size_t i = 0; i < heap->gc->segment_count; i++)
        heap->segments[i].first_number = clr_number_from(heap, heap->gc->segments[i].start);
    return CLR_OK;
}

enum clr_status clr_heap_walk(const struct clr_runtime *runtime, const struct clr_gc *gc,
                              struct clr_problems *problems, struct clr_job *job,
                              struct clr_heap **heap, struct clr_error *error)
{
    struct walk walk = {.problems = problems, .job = job};
    const struct clr_object_layout *o = &runtime->object;
    enum clr_status status;
    struct clr_heap *h;
    *heap = NULL;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_OBJECT, "objects", error));
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_TYPES, "objects", error));
    if (!(h = walk.heap = clr_alloc(1, sizeof *h)))
        return no_memory(error);
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
    for (size_t i = 0; i < walk.part_count; i++)
        clr_free(walk.parts[i].tallies);
    clr_free(walk.parts);
    clr_free(walk.gaps);
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
    clr_free(heap->decoders);
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
