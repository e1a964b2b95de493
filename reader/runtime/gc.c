/*
 * The GC's own structures, as contract GC (c1) describes them: heaps, generations, segments,
 * allocation contexts, the last refused allocation.
 *
 * A workstation GC keeps one heap in variables of the runtime (globals GCHeap...); a server GC has
 * a table of heaps (global Heaps) with the same things as members (type GCHeap). The text
 * GCIdentifiers says which of both, and whether memory is cut into regions (each generation has a
 * list of its own) or segments (one list for generations 0 to 2, its last member, the ephemeral
 * segment, divided by Generation.AllocationStart). The standalone libclrgc.so and libclrgcexp.so
 * publish the same names.
 *
 *   name                          read as         meaning
 *   ----------------------------  --------------  -------------------------------------------------
 *   GCHeapGenerationTable         in place        Generation[TotalGenerationCount]: gen0, gen1,
 *   GCHeap.GenerationTable        in place        gen2, LOH, POH
 *   Generation.AllocationContext  in place        GCAllocContext, of use for gen0 only
 *   Generation.StartSegment       word            first HeapSegment of the generation's list
 *   Generation.AllocationStart    word            segments only: where the generation begins
 *   HeapSegment.Mem               word            first object
 *   HeapSegment.Allocated         word            end of objects; stale for the ephemeral segment,
 *                                                 whose end is (GCHeap)AllocAllocated
 *   HeapSegment.Flags             word            1 read-only (frozen), 0x10 swept, 8 LOH, 0x200
 *                                                 POH
 *   HeapSegment.BackgroundAllocated               garbage in read-only segments
 *   StructureInvalidCount         i32             not 0: the dump was taken while a GC moved objects
 *   CurrentGCState                u32             0 marking, 1 sweeping in the background, 2 free
 *   MarkArray                     word            a bit for each 16 bytes, biased so that the
 *                                                 address itself is the index
 *   OomData                       in place        OomHistory of the last refused allocation
 *
 * Segments and contexts are read in gcsegments.c, the heaps and the rest here.
 *
 * In .NET 8 to 10 the runtime publishes none of it; supplements give the same names, and an address
 * of 0 for a variable that the running flavour does not have.
 *
 * Public knowledge: the runtime's docs/design/datacontracts/GC.md, and what dumps show.
 */
#include "runtime/gcopen.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "runtime/contracts.h"

#define AT(m) offsetof(struct clr_gc_layout, m)
#define FIELD(m, type, name)                                                                       \
    {                                                                                              \
        AT(m), CLR_FIELD, 0, true, type, name                                                      \
    }
#define NEEDED(m, type, name)                                                                      \
    {                                                                                              \
        AT(m), CLR_FIELD, 0, false, type, name                                                     \
    }
#define PLACE(m, type, name)                                                                       \
    {                                                                                              \
        AT(m), CLR_FIELD, CLR_INLINE, true, type, name                                             \
    }
#define LITERAL(m, name)                                                                           \
    {                                                                                              \
        AT(m), CLR_LITERAL, 0, true, NULL, name                                                    \
    }
#define VARIABLE(m, width, name)                                                                   \
    {                                                                                              \
        AT(m), CLR_VARIABLE, width, true, NULL, name                                               \
    }

/* Only what every flavour publishes is required; clr_gc_open asks for the rest of its flavour. */
const struct clr_binding clr_gc_bindings[] = {
    VARIABLE(identifiers_heap_type, 4, "GCHeapType"),
    {AT(total_generations), CLR_LITERAL, 0, false, NULL, "TotalGenerationCount"},
    VARIABLE(max_generation, 4, "MaxGeneration"),
    VARIABLE(invalid_count, 4, "StructureInvalidCount"),
    VARIABLE(current_state, 4, "CurrentGCState"),
    VARIABLE(heap_count, 4, "NumHeaps"),
    VARIABLE(heaps, 0, "Heaps"),
    VARIABLE(cpu_count, 4, "TotalCpuCount"),
    VARIABLE(adaptation_mode, 4, "DynamicAdaptationMode"),

    VARIABLE(w_mark_array, 0, "GCHeapMarkArray"),
    VARIABLE(w_next_sweep, 0, "GCHeapNextSweepObj"),
    VARIABLE(w_bg_low, 0, "GCHeapBackgroundMinSavedAddr"),
    VARIABLE(w_bg_high, 0, "GCHeapBackgroundMaxSavedAddr"),
    VARIABLE(w_alloc_allocated, 0, "GCHeapAllocAllocated"),
    VARIABLE(w_ephemeral, 0, "GCHeapEphemeralHeapSegment"),
    VARIABLE(w_finalize, 0, "GCHeapFinalizeQueue"),
    VARIABLE(w_generations, CLR_INLINE, "GCHeapGenerationTable"),
    VARIABLE(w_sweep_segment, 0, "GCHeapSavedSweepEphemeralSeg"),
    VARIABLE(w_sweep_start, 0, "GCHeapSavedSweepEphemeralStart"),
    VARIABLE(w_oom, CLR_INLINE, "GCHeapOomData"),

    FIELD(s_mark_array, "GCHeap", "MarkArray"),
    FIELD(s_next_sweep, "GCHeap", "NextSweepObj"),
    FIELD(s_bg_low, "GCHeap", "BackgroundMinSavedAddr"),
    FIELD(s_bg_high, "GCHeap", "BackgroundMaxSavedAddr"),
    FIELD(s_alloc_allocated, "GCHeap", "AllocAllocated"),
    FIELD(s_ephemeral, "GCHeap", "EphemeralHeapSegment"),
    FIELD(s_finalize, "GCHeap", "FinalizeQueue"),
    PLACE(s_generations, "GCHeap", "GenerationTable"),
    FIELD(s_sweep_segment, "GCHeap", "SavedSweepEphemeralSeg"),
    FIELD(s_sweep_start, "GCHeap", "SavedSweepEphemeralStart"),
    PLACE(s_oom, "GCHeap", "OomData"),

    {AT(generation_size), CLR_SIZE, 0, false, "Generation", NULL},
    PLACE(generation_context, "Generation", "AllocationContext"),
    NEEDED(generation_start, "Generation", "StartSegment"),
    FIELD(generation_allocation, "Generation", "AllocationStart"),

    NEEDED(seg_allocated, "HeapSegment", "Allocated"),
    NEEDED(seg_committed, "HeapSegment", "Committed"),
    NEEDED(seg_reserved, "HeapSegment", "Reserved"),
    FIELD(seg_used, "HeapSegment", "Used"),
    NEEDED(seg_mem, "HeapSegment", "Mem"),
    NEEDED(seg_flags, "HeapSegment", "Flags"),
    NEEDED(seg_next, "HeapSegment", "Next"),
    FIELD(seg_bg_allocated, "HeapSegment", "BackgroundAllocated"),
    FIELD(seg_heap, "HeapSegment", "Heap"),

    PLACE(fill_pointers, "CFinalize", "FillPointers"),
    LITERAL(fill_count, "CFinalizeFillPointersLength"),
    {AT(oom_reason), CLR_FIELD, 4, true, "OomHistory", "Reason"},
    FIELD(oom_alloc_size, "OomHistory", "AllocSize"),

    VARIABLE(handle_map, CLR_INLINE, "HandleTableMap"),
    FIELD(map_buckets, "HandleTableMap", "BucketsPtr"),
    FIELD(map_next, "HandleTableMap", "Next"),
    FIELD(bucket_table, "HandleTableBucket", "Table"),
    FIELD(table_segments, "HandleTable", "SegmentList"),
    PLACE(seg_allocation, "TableSegment", "RgAllocation"),
    PLACE(seg_user_data, "TableSegment", "RgUserData"),
    PLACE(seg_tail, "TableSegment", "RgTail"),
    FIELD(seg_next_segment, "TableSegment", "NextSegment"),
    PLACE(seg_values, "TableSegment", "RgValue"),
    LITERAL(initial_array_size, "InitialHandleTableArraySize"),
    LITERAL(segment_size, "HandleSegmentSize"),
    LITERAL(blocks_per_segment, "HandleBlocksPerSegment"),
    LITERAL(max_types, "HandleMaxInternalTypes"),
    LITERAL(handles_per_block, "HandlesPerBlock"),
    LITERAL(block_invalid, "BlockInvalid"),
    LITERAL(destroyed_value, "DebugDestroyedHandleValue"),

    VARIABLE(lowest, 0, "GCLowestAddress"),
    VARIABLE(highest, 0, "GCHighestAddress"),
    CLR_BINDINGS_END,
};

enum {
    SEGMENT_SWEPT = 0x10, /* HeapSegment.Flags */
    HEAPS_MAX = 1 << 12,  /* the GC itself stops at 1024 */
};

/* The u32 in a runtime's variable; OTHERWISE if there is none. */
static uint32_t variable_u32(const struct clr_runtime *runtime, uint64_t variable,
                             uint32_t otherwise)
{
    uint32_t value;
    return clr_gc_given(variable) && clr_read_u32(runtime->process, variable, &value) ? value
                                                                                      : otherwise;
}

/* Whether WORD stands in a list such as "server, regions, background, dynamic_heap". */
static bool listed(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (*list) {
        size_t item;
        list += strspn(list, ", ");
        item = strcspn(list, ", ");
        if (item == length && memcmp(list, word, length) == 0)
            return true;
        list += item;
    }
    return false;
}

static void read_identifiers(struct clr_gc_opening *o)
{
    const char *text = clr_descriptor_text(o->runtime->descriptor, "GCIdentifiers");
    if (text) {
        o->gc->server = listed(text, "server");
        o->gc->regions = listed(text, "regions");
        o->gc->background = listed(text, "background");
        return;
    }
    o->gc->server = !clr_gc_given(o->layout->w_generations) && clr_gc_given(o->layout->heaps);
    o->gc->regions = !clr_has(o->layout->generation_allocation);
    o->gc->background = clr_gc_given(o->layout->w_mark_array) || clr_has(o->layout->s_mark_array);
}

static void read_oom(struct clr_gc_opening *o, uint64_t history)
{
    uint32_t reason;
    if (o->gc->oom_reason != 0 || !clr_gc_given(history) ||
        !clr_field_u32(o->runtime, history, o->layout->oom_reason, &reason) || reason == 0)
        return;
    o->gc->oom_reason = reason;
    if (!clr_field_word(o->runtime, history, o->layout->oom_alloc_size, &o->gc->oom_size))
        o->gc->oom_size = 0;
}

static enum clr_status read_workstation_heap(struct clr_gc_opening *o)
{
    const struct clr_gc_layout *l = o->layout;
    const struct clr_runtime *r = o->runtime;
    struct clr_gc_heap *heap;
    if (!clr_gc_given(l->w_generations))
        return clr_fail(o->error, CLR_UNSUPPORTED, 0,
                        "a workstation GC without GCHeapGenerationTable in the descriptor: its "
                        "heap cannot be found");
    if (!(o->gc->heaps = clr_alloc(1, sizeof *o->gc->heaps)))
        return clr_no_memory(o->error);
    o->gc->heap_count = 1;
    heap = o->gc->heaps;
    heap->generations = l->w_generations;
    /* Each stays 0 where the flavour does not have it or it is not saved. */
    clr_variable_word(r, l->w_mark_array, &heap->mark_array);
    clr_variable_word(r, l->w_next_sweep, &heap->next_sweep);
    clr_variable_word(r, l->w_bg_low, &heap->bg_low);
    clr_variable_word(r, l->w_bg_high, &heap->bg_high);
    clr_variable_word(r, l->w_alloc_allocated, &heap->alloc_allocated);
    clr_variable_word(r, l->w_ephemeral, &heap->ephemeral);
    clr_variable_word(r, l->w_finalize, &heap->finalize);
    clr_variable_word(r, l->w_sweep_segment, &heap->sweep_segment);
    clr_variable_word(r, l->w_sweep_start, &heap->sweep_start);
    read_oom(o, l->w_oom);
    return CLR_OK;
}

static void read_server_heap(struct clr_gc_opening *o, struct clr_gc_heap *heap)
{
    const struct clr_gc_layout *l = o->layout;
    const struct clr_runtime *r = o->runtime;
    uint64_t at = heap->address;
    heap->generations = at + l->s_generations;
    clr_field_word(r, at, l->s_mark_array, &heap->mark_array);
    clr_field_word(r, at, l->s_next_sweep, &heap->next_sweep);
    clr_field_word(r, at, l->s_bg_low, &heap->bg_low);
    clr_field_word(r, at, l->s_bg_high, &heap->bg_high);
    clr_field_word(r, at, l->s_alloc_allocated, &heap->alloc_allocated);
    clr_field_word(r, at, l->s_ephemeral, &heap->ephemeral);
    clr_field_word(r, at, l->s_finalize, &heap->finalize);
    clr_field_word(r, at, l->s_sweep_segment, &heap->sweep_segment);
    clr_field_word(r, at, l->s_sweep_start, &heap->sweep_start);
    if (clr_has(l->s_oom))
        read_oom(o, at + l->s_oom);
}

static enum clr_status read_server_heaps(struct clr_gc_opening *o)
{
    const struct clr_gc_layout *l = o->layout;
    const struct clr_runtime *r = o->runtime;
    uint64_t table;
    uint32_t count = variable_u32(r, l->heap_count, 0);
    if (!clr_has(l->s_generations))
        return clr_fail(o->error, CLR_UNSUPPORTED, 0,
                        "a server GC without GCHeap.GenerationTable in the descriptor: its heaps "
                        "cannot be read");
    if (!clr_variable_word(r, l->heaps, &table) || table == 0)
        return clr_fail(o->error, CLR_FAULT, clr_gc_given(l->heaps) ? l->heaps : 0,
                        "the table of the server GC's heaps is not in the dump: the heap cannot "
                        "be read; take the dump with its heap (createdump --withheap)");
    if (count == 0 || count > HEAPS_MAX)
        return clr_fail(o->error, CLR_BAD_DATA, l->heap_count,
                        "the number of the server GC's heaps, %u at 0x%llx, makes no sense", count,
                        (unsigned long long)l->heap_count);
    if (!(o->gc->heaps = clr_alloc(count, sizeof *o->gc->heaps)))
        return clr_no_memory(o->error);
    o->gc->heap_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct clr_gc_heap *heap = &o->gc->heaps[i];
        uint64_t slot = table + (uint64_t)i * r->word;
        if (clr_read_word(r->process, slot, &heap->address) && heap->address != 0)
            read_server_heap(o, heap);
        else
            clr_problem_of(o->problems, CLR_ERROR, "segments", 0, true, slot, 0,
                           "GC heap %u of %u cannot be found: its entry at 0x%llx is empty or not "
                           "saved; its objects are missing",
                           i, count, (unsigned long long)slot);
    }
    return CLR_OK;
}

/* A dump without any memory of the heap cannot serve one table of it. A mini or triage dump may
 * have a few pages, those that stacks point at: that much is served, and said. */
static enum clr_status require_memory(const struct clr_gc_opening *o)
{
    const struct clr_gc *gc = o->gc;
    uint64_t announced = 0, saved = 0;
    for (size_t i = 0; i < gc->segment_count; i++) {
        const struct clr_segment *s = &gc->segments[i];
        announced += s->end - s->start;
        saved += clr_saved_bytes(o->runtime->process, s->start, s->end);
    }
    if (saved == 0 && (gc->segment_count == 0 || announced != 0))
        return clr_fail(o->error, CLR_FAULT, gc->segment_count ? gc->segments[0].start : 0,
                        "the heap is not in the dump (segments found: %zu, with memory: 0): take "
                        "one with the heap (createdump --withheap, dotnet-dump collect --type "
                        "Heap)",
                        gc->segment_count);
    if (saved < announced / 2)
        clr_problem_of(o->problems, CLR_ERROR, "objects", 0, true, gc->segments[0].start,
                       announced - saved,
                       "the dump has only %llu of %llu bytes of the heap: it was taken without "
                       "it; take one with the heap (createdump --withheap, dotnet-dump collect "
                       "--type Heap)",
                       (unsigned long long)saved, (unsigned long long)announced);
    return CLR_OK;
}

static enum clr_status read_all(struct clr_gc_opening *o)
{
    const struct clr_gc_layout *l = o->layout;
    struct clr_gc *gc = o->gc;
    if (l->total_generations < CLR_GENERATIONS || l->total_generations > INT8_MAX)
        return clr_fail(o->error, CLR_UNSUPPORTED, 0,
                        "a GC with %llu generations: 5 were expected (three, LOH, POH)",
                        (unsigned long long)l->total_generations);
    read_identifiers(o);
    gc->in_progress = variable_u32(o->runtime, l->invalid_count, 0) != 0;
    gc->state = variable_u32(o->runtime, l->current_state, CLR_GC_FREE);
    CLR_TRY(gc->server ? read_server_heaps(o) : read_workstation_heap(o));
    for (uint32_t heap = 0; heap < gc->heap_count; heap++)
        for (uint32_t number = gc->regions ? 0 : 2; number < CLR_GENERATIONS; number++)
            if (gc->heaps[heap].generations != 0)
                CLR_TRY(clr_gc_read_list(o, heap, number));
    clr_gc_order_segments(o);
    CLR_TRY(require_memory(o));
    CLR_TRY(clr_gc_read_contexts(o));
    if (gc->in_progress)
        clr_problem_of(o->problems, CLR_ERROR, "objects", 0, true, l->invalid_count, 0,
                       "the dump was taken while a GC moved objects: generations 0 and 1 may be "
                       "torn; take another dump if you can");
    return CLR_OK;
}

enum clr_status clr_gc_open(const struct clr_runtime *runtime, struct clr_problems *problems,
                            struct clr_gc **gc, struct clr_error *error)
{
    struct clr_gc_opening o = {
        .runtime = runtime, .layout = &runtime->gc, .problems = problems, .error = error};
    enum clr_status status;
    *gc = NULL;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_GC, "segments", error));
    if (!(o.gc = clr_alloc(1, sizeof *o.gc)))
        return clr_no_memory(error);
    status = read_all(&o);
    clr_map_deinit(&o.seen);
    if (status != CLR_OK) {
        clr_gc_close(o.gc);
        return status;
    }
    *gc = o.gc;
    return CLR_OK;
}

void clr_gc_close(struct clr_gc *gc)
{
    if (!gc)
        return;
    clr_free(gc->heaps);
    clr_free(gc->segments);
    clr_free(gc->contexts);
    clr_free(gc);
}

const char *clr_oom_reason_text(uint32_t reason)
{
    static const char *const text[] = {NULL,  "budget",     "cannot_commit",       "cannot_reserve",
                                       "loh", "low_memory", "unproductive_full_gc"};
    return reason < sizeof text / sizeof *text ? text[reason] : "unknown";
}

const struct clr_segment *clr_gc_segment_at(const struct clr_gc *gc, uint64_t address)
{
    size_t i;
    CLR_SEARCH(i, 0, gc->segment_count, gc->segments[i].end <= address);
    return i < gc->segment_count && gc->segments[i].start <= address ? &gc->segments[i] : NULL;
}

int clr_segment_generation(const struct clr_segment *segment, uint64_t address)
{
    if (segment->generation >= 0)
        return segment->generation;
    if (segment->gen0_start == 0)
        return -1;
    return address >= segment->gen0_start ? 0 : address >= segment->gen1_start ? 1 : 2;
}

bool clr_gc_unswept_dead(const struct clr_gc *gc, const struct clr_runtime *runtime,
                         const struct clr_segment *segment, uint64_t address)
{
    /* A mark bit stands for two words of memory; a mark word has 32 of them. */
    uint64_t pitch = (uint64_t)runtime->word * 2, word_index, word_at;
    const struct clr_gc_heap *heap = &gc->heaps[segment->heap];
    uint32_t marks;
    if (!gc->background || gc->state != CLR_GC_SWEEPING || (segment->flags & SEGMENT_SWEPT) ||
        segment->bg_allocated == 0 || address >= segment->bg_allocated)
        return false;
    if (heap->next_sweep >= segment->start && heap->next_sweep < segment->reserved &&
        address < heap->next_sweep)
        return false;
    if (!gc->regions && segment->address == heap->sweep_segment && address >= heap->sweep_start)
        return false;
    if (address < heap->bg_low || address >= heap->bg_high || heap->mark_array == 0)
        return false;
    word_index = address / pitch / 32;
    word_at = heap->mark_array + word_index * sizeof marks;
    return clr_read_u32(runtime->process, word_at, &marks) &&
           (marks >> (address / pitch % 32) & 1) == 0;
}
