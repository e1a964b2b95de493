/*
 * Segments and allocation contexts of the GC: what gc.c's layout says, checked.
 *
 * A segment is believed if its memory is aligned, ends behind its start and below 2^63, and
 * overlaps no other that is saved as well or better; an end that makes no sense is cut. What is
 * refused is reported as a problem, and makes the heap incomplete. Lists are followed until they end
 * or come to a segment that was read before.
 *
 * The end of the ephemeral segment of a heap is not in the segment: it is (GCHeap)AllocAllocated.
 */
#include "runtime/gcopen.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "runtime/thread.h"

enum {
    GEN_LOH = 3, /* places in the table of generations */
    GEN_POH = 4,
    FROZEN_GENERATION = 5,  /* the number we give to read-only segments */
    SEGMENT_READ_ONLY = 1,  /* HeapSegment.Flags */
    SEGMENTS_MAX = 1 << 20, /* a runaway list ends here: 4 TB of the smallest regions */
};

static bool read_generation(const struct clr_gc_opening *o, const struct clr_gc_heap *heap,
                            uint32_t number, uint64_t offset, uint64_t *value)
{
    return clr_field_word(o->runtime, heap->generations + number * o->layout->generation_size,
                          offset, value);
}

/* Where generations 1 and 0 begin in the ephemeral segment; both stay 0 if that makes no sense. */
static void divide_ephemeral(struct clr_gc_opening *o, const struct clr_gc_heap *heap,
                             struct clr_segment *segment)
{
    uint64_t gen1, gen0, offset = o->layout->generation_allocation;
    if (read_generation(o, heap, 1, offset, &gen1) && read_generation(o, heap, 0, offset, &gen0) &&
        segment->start <= gen1 && gen1 <= gen0 && gen0 <= segment->end) {
        segment->gen1_start = gen1;
        segment->gen0_start = gen0;
        return;
    }
    clr_problem(o->problems, CLR_WARNING, "segments", segment->address, 0,
                "where generations 0 and 1 begin in the ephemeral segment at 0x%llx cannot be "
                "read: its objects have no generation",
                (unsigned long long)segment->start);
}

/* Fills *S from the HeapSegment at its address; false (and a problem) if it cannot be used. */
static bool read_segment(struct clr_gc_opening *o, const struct clr_gc_heap *heap,
                         struct clr_segment *s)
{
    const struct clr_gc_layout *l = o->layout;
    const struct clr_runtime *r = o->runtime;
    uint64_t at = s->address;
    if (!clr_field_word(r, at, l->seg_mem, &s->start) ||
        !clr_field_word(r, at, l->seg_allocated, &s->end) ||
        !clr_field_word(r, at, l->seg_committed, &s->committed) ||
        !clr_field_word(r, at, l->seg_reserved, &s->reserved) ||
        !clr_field_word(r, at, l->seg_flags, &s->flags)) {
        clr_problem_of(o->problems, CLR_ERROR, "segments", s->heap, true, at, 0,
                       "the GC's segment at 0x%llx is not saved: its objects are missing",
                       (unsigned long long)at);
        return false;
    }
    if (!clr_field_word(r, at, l->seg_bg_allocated, &s->bg_allocated))
        s->bg_allocated = 0;
    s->ephemeral = at == heap->ephemeral;
    if (s->ephemeral) {
        if (heap->alloc_allocated >= s->start && heap->alloc_allocated <= s->reserved)
            s->end = heap->alloc_allocated;
        else
            clr_problem_of(o->problems, CLR_ERROR, "segments", at, true, s->start, 0,
                           "the end of the ephemeral segment at 0x%llx cannot be read: its newest "
                           "objects may be missing",
                           (unsigned long long)s->start);
    }
    if (s->start == 0 || s->start % r->word != 0 || s->end < s->start ||
        s->end >= (uint64_t)1 << 63) {
        clr_problem_of(o->problems, CLR_ERROR, "segments", s->heap, true, at, 0,
                       "the GC's segment at 0x%llx says that its objects lie in 0x%llx-0x%llx: "
                       "refused, its objects are missing",
                       (unsigned long long)at, (unsigned long long)s->start,
                       (unsigned long long)s->end);
        return false;
    }
    if ((s->end > s->reserved && s->reserved >= s->start) || s->end % r->word != 0) {
        uint64_t end = s->end > s->reserved && s->reserved >= s->start ? s->reserved : s->end;
        end -= end % r->word;
        clr_problem_of(o->problems, CLR_ERROR, "segments", at, true, at, s->end - end,
                       "the GC's segment at 0x%llx says that its objects end at 0x%llx, which is "
                       "behind its memory or inside a word: cut at 0x%llx",
                       (unsigned long long)at, (unsigned long long)s->end, (unsigned long long)end);
        s->end = end;
    }
    if (s->flags & SEGMENT_READ_ONLY) {
        s->kind = CLR_FROZEN;
        s->generation = FROZEN_GENERATION;
        s->bg_allocated = 0;
    } else if (s->ephemeral && !o->gc->regions) {
        s->generation = -1;
        s->has_contexts = true;
        divide_ephemeral(o, heap, s);
    }
    return true;
}

enum clr_status clr_gc_read_list(struct clr_gc_opening *o, uint32_t heap_number, uint32_t number)
{
    const struct clr_gc_heap *heap = &o->gc->heaps[heap_number];
    uint64_t at, from = heap->generations + number * o->layout->generation_size;
    if (!read_generation(o, heap, number, o->layout->generation_start, &at)) {
        clr_problem_of(o->problems, CLR_ERROR, "segments", 0, true, from, 0,
                       "the generations of GC heap %u at 0x%llx are not saved: their objects are "
                       "missing",
                       heap_number, (unsigned long long)from);
        return CLR_OK;
    }
    while (at != 0) {
        struct clr_segment segment = {
            .address = at, .heap = heap_number, .generation = (int8_t)number};
        uint64_t list, next;
        if (clr_map_get(&o->seen, at, &list) || o->gc->segment_count >= SEGMENTS_MAX) {
            clr_problem_of(o->problems, CLR_ERROR, "segments", from, true, at, 0,
                           "the list of segments of generation %u of GC heap %u comes to 0x%llx "
                           "again or does not end: cut there",
                           number, heap_number, (unsigned long long)at);
            break;
        }
        if (!clr_map_put(&o->seen, at, from))
            return clr_no_memory(o->error);
        segment.kind = number == GEN_LOH ? CLR_LOH : number == GEN_POH ? CLR_POH : CLR_SOH;
        segment.has_contexts = number == 0;
        if (read_segment(o, heap, &segment)) {
            if (!clr_grow(&o->gc->segments, o->gc->segment_count, &o->segment_room,
                          sizeof *o->gc->segments))
                return clr_no_memory(o->error);
            o->gc->segments[o->gc->segment_count++] = segment;
        }
        if (!clr_field_word(o->runtime, at, o->layout->seg_next, &next)) {
            clr_problem_of(o->problems, CLR_ERROR, "segments", from, true, at, 0,
                           "what follows the segment at 0x%llx is not saved: the list of segments "
                           "of generation %u of GC heap %u is cut there",
                           (unsigned long long)at, number, heap_number);
            break;
        }
        at = next;
    }
    return CLR_OK;
}

static int by_start(const void *a, const void *b)
{
    const struct clr_segment *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* How much of a segment is not saved: of two that overlap, the one with more is the damaged one. */
static uint64_t unsaved_bytes(const struct clr_gc_opening *o, const struct clr_segment *s)
{
    return s->end - s->start - clr_saved_bytes(o->runtime->process, s->start, s->end);
}

static void refuse_overlap(struct clr_gc_opening *o, const struct clr_segment *s)
{
    clr_problem_of(o->problems, CLR_ERROR, "segments", s->address, true, s->start,
                   s->end - s->start,
                   "the GC's segment at 0x%llx overlaps the one before it or behind it: refused, "
                   "its objects are missing",
                   (unsigned long long)s->address);
}

void clr_gc_order_segments(struct clr_gc_opening *o)
{
    struct clr_gc *gc = o->gc;
    size_t kept = 0;
    if (gc->segment_count > 1)
        qsort(gc->segments, gc->segment_count, sizeof *gc->segments, by_start);
    for (size_t i = 0; i < gc->segment_count; i++) {
        const struct clr_segment *s = &gc->segments[i];
        if (kept != 0 && s->start < gc->segments[kept - 1].end) {
            const struct clr_segment *before = &gc->segments[kept - 1];
            if (unsaved_bytes(o, before) <= unsaved_bytes(o, s)) {
                refuse_overlap(o, s);
                continue;
            }
            refuse_overlap(o, before);
            kept--; /* what stands before it ended before it began */
        }
        gc->segments[kept++] = *s;
    }
    gc->segment_count = kept;
}

static enum clr_status add_context(struct clr_gc_opening *o, uint64_t pointer, uint64_t limit,
                                   uint64_t thread)
{
    if (pointer == 0)
        return CLR_OK;
    if (limit < pointer) {
        clr_problem(o->problems, CLR_WARNING, "segments", pointer, 0,
                    "an allocation context from 0x%llx to 0x%llx makes no sense: ignored",
                    (unsigned long long)pointer, (unsigned long long)limit);
        return CLR_OK;
    }
    if (!clr_grow(&o->gc->contexts, o->gc->context_count, &o->context_room,
                  sizeof *o->gc->contexts))
        return clr_no_memory(o->error);
    o->gc->contexts[o->gc->context_count++] =
        (struct clr_context){.pointer = pointer, .limit = limit, .thread = thread};
    return CLR_OK;
}

static int by_pointer(const void *a, const void *b)
{
    const struct clr_context *x = a, *y = b;
    if (x->pointer != y->pointer)
        return x->pointer < y->pointer ? -1 : 1;
    if (x->limit != y->limit)
        return x->limit < y->limit ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

enum clr_status clr_gc_read_contexts(struct clr_gc_opening *o)
{
    const struct clr_runtime *r = o->runtime;
    const struct clr_thread_layout *t = &r->thread;
    struct clr_thread *threads = NULL;
    size_t count = 0;
    uint64_t pointer, limit;
    struct clr_error reason = {0};
    /* Problems of the list itself belong to whoever reads it for the table threads. */
    enum clr_status status = clr_threads_read(r, NULL, &threads, &count, &reason);
    if (status == CLR_NOMEM)
        return clr_fail(o->error, CLR_NOMEM, 0, "%s", reason.text);
    if (status != CLR_OK)
        clr_problem(o->problems, CLR_WARNING, "segments", reason.address, 0,
                    "where threads were about to allocate is not known (%s): their empty memory "
                    "counts as unwalked",
                    reason.text);
    status = CLR_OK;
    for (size_t i = 0; i < count && status == CLR_OK; i++)
        status =
            add_context(o, threads[i].alloc_pointer, threads[i].alloc_limit, threads[i].address);
    clr_free(threads);
    CLR_TRY(status);
    if (clr_global_context(r, &pointer, &limit))
        CLR_TRY(add_context(o, pointer, limit, 0));
    for (uint32_t i = 0; i < o->gc->heap_count && clr_has(o->layout->generation_context); i++) {
        uint64_t context = o->gc->heaps[i].generations + o->layout->generation_context;
        if (o->gc->heaps[i].generations != 0 &&
            clr_field_word(r, context, t->context_pointer, &pointer) &&
            clr_field_word(r, context, t->context_limit, &limit))
            CLR_TRY(add_context(o, pointer, limit, 0));
    }
    if (o->gc->context_count > 1)
        qsort(o->gc->contexts, o->gc->context_count, sizeof *o->gc->contexts, by_pointer);
    return CLR_OK;
}
