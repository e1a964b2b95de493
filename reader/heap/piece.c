/*
 * Walking one piece of the heap: see walk.c for what a piece is.
 *
 * Two speeds. The inner loop takes objects of types that were seen before, whose headers lie in one
 * view of saved memory, one after the other; it is instantiated twice, for 8-byte words in this
 * machine's byte order and for the rest. It stops at whatever needs thought, and step decides: the
 * end, the gap of an allocation context, a type that is new, a header at the edge of what is saved,
 * a hole, damage. After the last two the piece searches until there is an object or a gap again.
 *
 * Both work for a limited time in one call, so that the user can interrupt.
 */
#include "heap/walk.h"

enum {
    WORK = 1 << 20, /* objects or steps of a search in one call */
    AHEAD = 1024,   /* bytes: the next objects are asked for while this one is read */
};

/* --- The inner loop --------------------------------------------------------------------------- */

static inline void mark(struct clr_heap *heap, const struct clr_index_range *range,
                        uint64_t address)
{
    uint64_t unit = clr_index_unit(heap, range, address);
    struct clr_index_entry *entry = &heap->entries[range->first + unit / CLR_ENTRY_UNITS];
    entry->half[unit >> 5 & 1] |= (uint32_t)1 << (unit & 31);
}

/* Walks objects of known types from p->at on, as long as their headers lie in the walker's view,
 * and none reaches past LIMIT. Stops at the first that needs more thought. */
static inline __attribute__((always_inline)) void
run(struct clr_walker *w, struct clr_shape_table *table, struct clr_piece *p, uint64_t limit,
    const unsigned word, const bool swapped, const uint64_t alignment)
{
    struct clr_heap *heap = w->heap;
    const uint64_t mask = ~heap->unmask, count_offset = heap->count_offset;
    const uint8_t *bytes = w->bytes;
    const uint64_t from = w->from;
    uint64_t o = p->at - from, stop = w->to - from - (count_offset + sizeof(uint32_t)) + 1;
    uint64_t objects = 0, start = o;
    uint64_t type = ~clr_load_word(bytes + o, word, swapped) & mask; /* not the first one's */
    struct clr_shape *shape = NULL;
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
            if (!(shape = clr_shape_table_find(table, found)) || found == 0)
                break;
            type = found;
        }
        uint64_t size = shape->aligned_size;
        if (shape->component_size != 0) {
            uint64_t count = clr_load_u32(bytes + o + count_offset, swapped);
            size = (shape->base_size + count * shape->component_size + alignment - 1) &
                   ~(alignment - 1);
            if (size > limit - o)
                break;
            clr_shape_count(shape, size);
        } else {
            if (word != 8)
                size = clr_round_up(size, alignment);
            if (size > limit - o)
                break;
            if (word != 8)
                clr_shape_count(shape, size);
            else
                shape->object_count++;
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

static __attribute__((noinline)) void
run_native(struct clr_walker *w, struct clr_shape_table *table, struct clr_piece *p, uint64_t limit)
{
    run(w, table, p, limit, 8, false, 8);
}

static __attribute__((noinline)) void run_other(struct clr_walker *w, struct clr_shape_table *table,
                                                struct clr_piece *p, uint64_t limit)
{
    run(w, table, p, limit, w->heap->word, w->heap->swapped, w->alignment);
}

/* --- One piece --------------------------------------------------------------------------------- */

static void add_unwalked(struct clr_piece *p, bool hole, uint64_t address, uint64_t bytes)
{
    struct clr_unwalked *all = p->certain || p->synced ? (hole ? &p->hole : &p->bad)
                                                       : (hole ? &p->first_hole : &p->first_bad);
    if (all->bytes == 0 && bytes != 0)
        all->first = address;
    all->bytes += bytes;
}

static void synced(struct clr_piece *p)
{
    p->searching = p->in_hole = false;
    if (!p->synced) {
        p->synced = true;
        p->first = p->at;
    }
}

/* Where the objects from p->at on must end: the next gap, or the end of the segment. */
static uint64_t limit_of(const struct clr_walk *walk, struct clr_piece *p)
{
    size_t last = walk->first_gap[p->segment + 1];
    while (p->gap < last && walk->gaps.items[p->gap].start < p->at)
        p->gap++;
    return p->gap < last ? walk->gaps.items[p->gap].start
                         : walk->heap->gc->segments[p->segment].end;
}

/* Looks on for an object, for a limited number of steps. */
static enum clr_status search(const struct clr_walk *walk, struct clr_walker *w,
                              struct clr_piece *p, uint64_t *work)
{
    const struct clr_heap *heap = walk->heap;
    const uint64_t unit = (uint64_t)1 << heap->unit_shift;
    /* A piece that is taken up inside a gap begins behind it. */
    if (p->gap < walk->first_gap[p->segment + 1] && walk->gaps.items[p->gap].start < p->at &&
        walk->gaps.items[p->gap].end > p->at) {
        p->at = walk->gaps.items[p->gap].end;
        synced(p);
        return CLR_OK;
    }
    uint64_t limit = limit_of(walk, p), stop = limit < p->end ? limit : p->end, from = p->at;
    while (p->at < stop && work[0] > 0) {
        --*work;
        if (!clr_walker_look(w, p->at, 1)) {
            uint64_t next;
            add_unwalked(p, p->in_hole, from, p->at - from);
            p->in_hole = true;
            if (!clr_next_saved(heap->process, p->at, &next) || next > stop)
                next = stop;
            next = clr_round_up(next, unit);
            add_unwalked(p, true, p->at, next - p->at);
            from = p->at = next;
            continue;
        }
        uint64_t measured = w->measured;
        bool is_object;
        CLR_TRY(clr_resync_accept(w, p->at, limit, &is_object));
        measured = w->measured - measured;
        *work -= measured < *work ? measured : *work;
        if (is_object) {
            add_unwalked(p, p->in_hole, from, p->at - from);
            synced(p);
            return CLR_OK;
        }
        p->at += unit;
    }
    add_unwalked(p, p->in_hole, from, p->at - from);
    if (p->at >= p->end)
        p->done = true; /* and still searching */
    else if (p->at == limit)
        synced(p); /* a gap begins here, whatever was lost before */
    return CLR_OK;
}

/* What the inner loop would not do: the end, gaps, new types, objects at the edge of what is saved,
 * holes, damage. */
static enum clr_status step(const struct clr_walk *walk, struct clr_walker *w, struct clr_piece *p,
                            uint64_t limit)
{
    struct clr_measured object;
    if (p->at == limit && p->gap < walk->first_gap[p->segment + 1]) {
        const struct clr_gap *gap = &walk->gaps.items[p->gap++];
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
                       walk->gaps.items[p->gap].start < p->at + whole.size)
                    p->gap++;
                return CLR_OK;
            }
        }
    }
    switch (object.what) {
    case CLR_MEASURED_OBJECT:
        mark(walk->heap, &walk->heap->ranges[clr_index_range_from(walk->heap, p->at)], p->at);
        if (object.shape->component_size != 0 || walk->heap->word != 8)
            clr_shape_count(object.shape, object.size);
        else
            object.shape->object_count++; /* all of one size: see run */
        p->objects++;
        p->walked += object.size;
        p->at += object.size;
        break;
    case CLR_MEASURED_UNSAVED:
        p->searching = p->in_hole = true;
        if (clr_walker_look(w, p->at, 1)) { /* the header reaches into the hole */
            add_unwalked(p, true, p->at, walk->heap->word);
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
        add_unwalked(p, false, p->at, behind - p->at);
        p->at = behind;
        break;
    }
    return CLR_OK;
}

/* Walks a piece for a limited time. */
enum clr_status clr_piece_advance(const struct clr_walk *walk, struct clr_walker *w,
                                  struct clr_piece *p, struct clr_shape_table *table)
{
    const struct clr_heap *heap = walk->heap;
    const struct clr_shape *free_shape = clr_shape_table_find(table, heap->runtime->free_type);
    uint64_t free_count = free_shape ? free_shape->object_count : 0;
    uint64_t free_bytes = free_shape ? free_shape->total_size : 0;
    uint64_t work = WORK;
    clr_walker_enter(w, table, &heap->gc->segments[p->segment]);
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
                run_native(w, table, p, limit);
            else
                run_other(w, table, p, limit);
        }
        objects = p->objects - objects;
        work -= objects + 1 < work ? objects + 1 : work;
        if (p->at == before)
            CLR_TRY(step(walk, w, p, limit));
    }
    free_shape = clr_shape_table_find(table, heap->runtime->free_type);
    if (free_shape) {
        p->free_count += free_shape->object_count - free_count;
        p->free_bytes += free_shape->total_size - free_bytes;
    }
    return CLR_OK;
}
