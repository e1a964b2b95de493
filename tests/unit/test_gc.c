/*
 * The GC's structures over a fake process: every flavour, every release and word size, and damage.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "runtime/gc.h"

/* Every kind of process that the builder knows. */
static const struct fake_options shapes[] = {
    {0},
    {.segments = true},
    {.server_heaps = 3},
    {.server_heaps = 2, .segments = true},
    {.word = 4},
    {.word = 4, .segments = true},
    {.word = 4, .big_endian = true},
    {.big_endian = true, .server_heaps = 2},
    {.release = 10},
    {.release = 9, .server_heaps = 2},
    {.release = 8},
    {.release = 8, .segments = true},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

struct opened {
    struct fake_target target;
    struct clr_gc *gc;
    struct clr_error error;
    enum clr_status status;
};

static struct opened open_gc(struct fake *f)
{
    struct opened o = {0};
    fake_open(f, &o.target);
    o.status = clr_gc_open(o.target.runtime, o.target.problems, &o.gc, &o.error);
    return o;
}

static void close_gc(struct opened *o)
{
    clr_gc_close(o->gc);
    fake_close(&o->target);
}

static const struct clr_problem *find_problem(const struct opened *o, const char *area,
                                              const char *part)
{
    for (size_t i = 0; i < clr_problems_count(o->target.problems); i++) {
        const struct clr_problem *problem = clr_problems_at(o->target.problems, i);
        if (strcmp(problem->area, area) == 0 && strstr(problem->message, part))
            return problem;
    }
    return NULL;
}

static void ck_no_problems(const struct opened *o)
{
    ck_assert_msg(o->status == CLR_OK, "%s", o->error.text);
    ck_assert_msg(clr_problems_count(o->target.problems) == 0, "%s",
                  clr_problems_count(o->target.problems)
                      ? clr_problems_at(o->target.problems, 0)->message
                      : "");
}

static const struct clr_segment *segment_of(const struct opened *o, const struct fake *f,
                                            unsigned number)
{
    for (size_t i = 0; i < o->gc->segment_count; i++)
        if (o->gc->segments[i].address == fake_segment_address(f, number))
            return &o->gc->segments[i];
    ck_abort_msg("segment %u was not found", number);
    return NULL;
}

/* --- Flavours --------------------------------------------------------------------------------- */

START_TEST(every_flavour_is_read)
{
    const struct fake_options *shape = &shapes[_i];
    unsigned heaps = shape->server_heaps ? shape->server_heaps : 1;
    struct fake *f = fake_create(shape);
    uint64_t node = fake_class(f, 0, 3, 1);
    for (unsigned heap = 0; heap < heaps; heap++)
        for (unsigned number = 0; number <= FAKE_FROZEN; number++)
            for (unsigned i = 0; i <= number; i++)
                fake_object(f, fake_segment(f, heap, number), node, 0);
    struct opened o = open_gc(f);
    ck_no_problems(&o);
    ck_assert_int_eq(o.gc->server, shape->server_heaps != 0);
    ck_assert_int_eq(o.gc->regions, !shape->segments);
    ck_assert(o.gc->background);
    ck_assert_uint_eq(o.gc->heap_count, heaps);
    ck_assert_uint_eq(o.gc->segment_count, heaps * (1 + 2 + 3 + 4 + 5 + 6));
    ck_assert(!o.gc->in_progress);
    ck_assert_uint_eq(o.gc->state, 2);
    for (unsigned number = 0; number < o.gc->segment_count; number++) {
        const struct clr_segment *s = segment_of(&o, f, number);
        static const unsigned of_place[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4,
                                            4, 4, 4, 4, 5, 5, 5, 5, 5, 5};
        unsigned kind = of_place[number % 21];
        ck_assert_uint_eq(s->start, fake_segment_start(f, number));
        ck_assert_uint_eq(s->end, fake_segment_end(f, number));
        ck_assert_uint_ge(s->committed, s->end);
        ck_assert_uint_ge(s->reserved, s->committed);
        ck_assert_uint_eq(s->heap, number / 21);
        ck_assert_int_eq(s->kind, kind == 3   ? CLR_LOH
                                  : kind == 4 ? CLR_POH
                                  : kind == 5 ? CLR_FROZEN
                                              : CLR_SOH);
        ck_assert_int_eq(s->ephemeral, kind == 0);
        ck_assert_int_eq(s->has_contexts, kind == 0);
        if (!shape->segments || kind > 2)
            ck_assert_int_eq(s->generation, kind);
        else
            ck_assert_int_eq(s->generation, kind == 0 ? -1 : 2);
        ck_assert_ptr_eq(clr_gc_segment_at(o.gc, s->start), s);
        ck_assert_ptr_eq(clr_gc_segment_at(o.gc, s->end - 1), s);
        ck_assert_ptr_null(clr_gc_segment_at(o.gc, s->start - 1));
        ck_assert_ptr_null(clr_gc_segment_at(o.gc, s->end));
    }
    for (size_t i = 1; i < o.gc->segment_count; i++)
        ck_assert_uint_lt(o.gc->segments[i - 1].start, o.gc->segments[i].start);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(several_gen0_regions_have_contexts)
{
    struct fake *f = fake_create(NULL);
    uint64_t node = fake_class(f, 0, 3, 1);
    unsigned first = fake_segment(f, 0, 0);
    fake_object(f, first, node, 0);
    unsigned second = fake_segment(f, 0, 0);
    uint64_t last = fake_object(f, second, node, 0);
    /* Allocated of the ephemeral region is stale. */
    ck_assert_uint_eq(fake_get(f, fake_segment_address(f, second), "HeapSegment", "Allocated"),
                      fake_segment_start(f, second));
    struct opened o = open_gc(f);
    ck_no_problems(&o);
    ck_assert(segment_of(&o, f, first)->has_contexts && !segment_of(&o, f, first)->ephemeral);
    ck_assert(segment_of(&o, f, second)->has_contexts && segment_of(&o, f, second)->ephemeral);
    ck_assert_uint_gt(segment_of(&o, f, second)->end, last);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(ephemeral_segment_is_divided)
{
    struct fake *f = fake_create(&(struct fake_options){.segments = true});
    uint64_t node = fake_class(f, 0, 3, 1), at[6];
    unsigned ephemeral = fake_segment(f, 0, 0), old = fake_segment(f, 0, 2);
    for (int i = 0; i < 6; i++)
        at[i] = fake_object(f, ephemeral, node, 0);
    uint64_t elder = fake_object(f, old, node, 0);
    fake_generation_start(f, 0, 1, at[2]);
    fake_generation_start(f, 0, 0, at[4]);
    struct opened o = open_gc(f);
    ck_no_problems(&o);
    const struct clr_segment *s = segment_of(&o, f, ephemeral);
    ck_assert_int_eq(s->generation, -1);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(clr_segment_generation(s, at[i]), 2 - i / 2);
    ck_assert_int_eq(clr_segment_generation(segment_of(&o, f, old), elder), 2);
    close_gc(&o);

    fake_generation_start(f, 0, 0, at[1]); /* generation 0 before generation 1 */
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "generations 0 and 1"));
    ck_assert(!clr_problems_incomplete(o.target.problems));
    ck_assert_int_eq(clr_segment_generation(segment_of(&o, f, ephemeral), at[3]), -1);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(kind_without_identifiers)
{
    for (int server = 0; server < 2; server++)
        for (int segments = 0; segments < 2; segments++) {
            struct fake *f = fake_create(
                &(struct fake_options){.server_heaps = server ? 2 : 0, .segments = segments != 0});
            fake_object(f, fake_segment(f, 0, 0), f->known.object, 0);
            fake_hide(f, NULL, "GCIdentifiers");
            if (!segments)
                fake_hide(f, "Generation", "AllocationStart");
            struct opened o = open_gc(f);
            ck_no_problems(&o);
            ck_assert_int_eq(o.gc->server, server);
            ck_assert_int_eq(o.gc->regions, !segments);
            close_gc(&o);
            fake_destroy(f);
        }
}
END_TEST

/* --- Allocation contexts ---------------------------------------------------------------------- */

START_TEST(contexts_come_from_threads_heaps_and_the_global_one)
{
    const struct fake_options *shape = &shapes[_i];
    struct fake *f = fake_create(shape);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t first = fake_thread(f, 1, 100), second = fake_thread(f, 2, 200);
    fake_thread(f, 3, 300); /* never allocated */
    fake_object(f, gen0, f->known.object, 0);
    uint64_t b = fake_hole(f, gen0, second, 256);
    fake_object(f, gen0, f->known.object, 0);
    uint64_t a = fake_hole(f, gen0, first, 512);
    uint64_t global = fake_hole(f, gen0, 0, 128), own = fake_segment_end(f, gen0);
    fake_object(f, gen0, f->known.object, 0);
    uint64_t heap = shape->server_heaps ? fake_word(f, fake_word(f, fake_variable(f, "Heaps"))) : 0;
    uint64_t generations = heap ? heap + fake_offset(f, "GCHeap", "GenerationTable")
                                : fake_variable(f, "GCHeapGenerationTable");
    uint64_t context = generations + fake_offset(f, "Generation", "AllocationContext");
    fake_set(f, context, "GCAllocContext", "Pointer", own);
    fake_set(f, context, "GCAllocContext", "Limit", own); /* empty, and still a hole */
    struct opened o = open_gc(f);
    ck_no_problems(&o);
    ck_assert_uint_eq(o.gc->context_count, 4);
    const struct clr_context expected[] = {{b, b + 256 - 3u * f->word, second},
                                           {a, a + 512 - 3u * f->word, first},
                                           {global, global + 128 - 3u * f->word, 0},
                                           {own, own, 0}};
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(o.gc->contexts[i].pointer, expected[i].pointer);
        ck_assert_uint_eq(o.gc->contexts[i].limit, expected[i].limit);
        ck_assert_uint_eq(o.gc->contexts[i].thread, expected[i].thread);
    }
    close_gc(&o);

    fake_context(f, first, a, a - 8);
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(o.gc->context_count, 3);
    const struct clr_problem *problem = find_problem(&o, "segments", "makes no sense");
    ck_assert_ptr_nonnull(problem);
    ck_assert_uint_eq(problem->address, a);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(without_threads_the_heap_is_still_read)
{
    struct fake *f = fake_create(NULL);
    fake_object(f, fake_segment(f, 0, 0), f->known.object, 0);
    fake_contract(f, "Thread", NULL);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "about to allocate"));
    ck_assert_uint_eq(o.gc->segment_count, 1);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

/* --- State ------------------------------------------------------------------------------------ */

START_TEST(a_running_gc_is_told)
{
    struct fake *f = fake_create(NULL);
    fake_object(f, fake_segment(f, 0, 0), f->known.object, 0);
    fake_put_u32(f, fake_variable(f, "StructureInvalidCount"), 2);
    fake_put_u32(f, fake_variable(f, "CurrentGCState"), 0);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert(o.gc->in_progress);
    ck_assert_uint_eq(o.gc->state, 0);
    const struct clr_problem *problem = find_problem(&o, "objects", "while a GC moved objects");
    ck_assert_ptr_nonnull(problem);
    ck_assert_int_eq(problem->severity, CLR_ERROR);
    ck_assert(clr_problems_incomplete(o.target.problems));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(the_last_refused_allocation)
{
    for (unsigned server = 0; server < 2; server++) {
        struct fake *f = fake_create(&(struct fake_options){.server_heaps = server * 2});
        fake_object(f, fake_segment(f, 0, 0), f->known.object, 0);
        uint64_t heap = server ? fake_word(f, fake_word(f, fake_variable(f, "Heaps")) + 8) : 0;
        uint64_t history =
            server ? heap + fake_offset(f, "GCHeap", "OomData") : fake_variable(f, "GCHeapOomData");
        fake_set(f, history, "OomHistory", "Reason", 4);
        fake_set(f, history, "OomHistory", "AllocSize", 1234567);
        struct opened o = open_gc(f);
        ck_no_problems(&o);
        ck_assert_uint_eq(o.gc->oom_reason, 4);
        ck_assert_uint_eq(o.gc->oom_size, 1234567);
        ck_assert_str_eq(clr_oom_reason_text(o.gc->oom_reason), "loh");
        close_gc(&o);
        fake_destroy(f);
    }
    ck_assert_ptr_null(clr_oom_reason_text(0));
    ck_assert_str_eq(clr_oom_reason_text(1), "budget");
    ck_assert_str_eq(clr_oom_reason_text(6), "unproductive_full_gc");
    ck_assert_str_eq(clr_oom_reason_text(7), "unknown");
}
END_TEST

START_TEST(what_a_background_gc_has_found_dead)
{
    struct fake *f = fake_create(&shapes[_i]);
    uint64_t node = fake_class(f, 0, 3, 1), at[8], pitch = 2u * f->word;
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 8; i++)
        at[i] = fake_object(f, old, node, 0);
    uint64_t segment = fake_segment_address(f, old);
    fake_set(f, segment, "HeapSegment", "BackgroundAllocated", at[6]);
    fake_put_u32(f, fake_variable(f, "CurrentGCState"), 1);
    /* Mark words for the segment; the pointer is biased so that the address is the index. */
    uint64_t first_word = at[0] / pitch / 32, marks = fake_memory(f, 4096);
    uint64_t bias = marks - first_word * 4;
    bias &= f->word == 4 ? UINT32_MAX : UINT64_MAX;
    fake_put_u32(f, marks + (at[1] / pitch / 32 - first_word) * 4,
                 (uint32_t)1 << at[1] / pitch % 32);
    uint64_t heap =
        shapes[_i].server_heaps ? fake_word(f, fake_word(f, fake_variable(f, "Heaps"))) : 0;
    const struct {
        const char *field;
        uint64_t value;
    } values[] = {{"MarkArray", bias},
                  {"BackgroundMinSavedAddr", at[0]},
                  {"BackgroundMaxSavedAddr", at[5]},
                  {"NextSweepObj", 0}};
    for (int i = 0; i < 4; i++) {
        char name[64] = "GCHeap";
        if (heap)
            fake_set(f, heap, "GCHeap", values[i].field, values[i].value);
        else
            fake_set_variable(f, strcat(name, values[i].field), values[i].value);
    }
    struct opened o = open_gc(f);
    ck_no_problems(&o);
    const struct clr_segment *s = segment_of(&o, f, old);
    ck_assert(clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[0]));
    ck_assert(!clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[1])); /* marked */
    ck_assert(clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[4]));
    ck_assert(!clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[5])); /* not in this GC's range */
    ck_assert(!clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[6])); /* born since */
    /* The sweep has come to the third. */
    o.gc->heaps[0].next_sweep = at[3];
    ck_assert(!clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[2]));
    ck_assert(clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[3]));
    o.gc->heaps[0].next_sweep = 0;
    /* The segment has been swept; no sweep is going on. */
    struct clr_segment swept = *s;
    swept.flags |= 0x10;
    ck_assert(!clr_gc_unswept_dead(o.gc, o.target.runtime, &swept, at[0]));
    o.gc->state = 0;
    ck_assert(!clr_gc_unswept_dead(o.gc, o.target.runtime, s, at[0]));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

/* --- Damage ----------------------------------------------------------------------------------- */

START_TEST(a_list_that_comes_back_is_cut)
{
    struct fake *f = fake_create(NULL);
    unsigned first = fake_segment(f, 0, 2), second = fake_segment(f, 0, 2);
    fake_object(f, first, f->known.object, 0);
    fake_object(f, second, f->known.object, 0);
    fake_set(f, fake_segment_address(f, second), "HeapSegment", "Next",
             fake_segment_address(f, first));
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(o.gc->segment_count, 2);
    const struct clr_problem *problem = find_problem(&o, "segments", "again");
    ck_assert_ptr_nonnull(problem);
    ck_assert_uint_eq(problem->address, fake_segment_address(f, first));
    ck_assert(problem->incomplete);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

/* Two good segments and one that is spoilt by FIELD = VALUE: the good ones stay. */
static void ck_refused(const char *field, uint64_t value, size_t kept, const char *message)
{
    struct fake *f = fake_create(NULL);
    unsigned number[3];
    for (int i = 0; i < 3; i++) {
        number[i] = fake_segment(f, 0, 2);
        fake_object(f, number[i], f->known.object, 0);
    }
    uint64_t segment = fake_segment_address(f, number[1]);
    if (field)
        fake_set(f, segment, "HeapSegment", field, value);
    else
        fake_forget(f, segment, fake_size(f, "HeapSegment"));
    struct opened o = open_gc(f);
    ck_assert_msg(o.status == CLR_OK, "%s", o.error.text);
    ck_assert_uint_eq(o.gc->segment_count, kept);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", message));
    ck_assert(clr_problems_incomplete(o.target.problems));
    close_gc(&o);
    fake_destroy(f);
}

START_TEST(segments_that_make_no_sense_are_refused)
{
    ck_refused("Mem", 0, 2, "refused");
    ck_refused("Mem", 0x10001, 2, "refused");
    ck_refused("Mem", (uint64_t)1 << 63, 2, "refused");
    ck_refused("Mem", UINT64_MAX - 7, 2, "refused");
    ck_refused("Allocated", 8, 2, "refused");
    ck_refused("Allocated", UINT64_MAX, 2, "refused");
    ck_refused("Next", 0x123456789, 2, "is not saved"); /* the third is lost with the link */
    ck_refused(NULL, 0, 1, "is not saved");
}
END_TEST

START_TEST(ends_are_cut)
{
    struct fake *f = fake_create(NULL);
    unsigned old = fake_segment(f, 0, 2);
    fake_object(f, old, f->known.object, 0);
    uint64_t segment = fake_segment_address(f, old), end = fake_segment_end(f, old);
    fake_set(f, segment, "HeapSegment", "Allocated", end + 3);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(segment_of(&o, f, old)->end, end);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "cut at"));
    close_gc(&o);

    fake_set(f, segment, "HeapSegment", "Allocated", end + 0x10000000);
    fake_set(f, segment, "HeapSegment", "Reserved", end + 8);
    o = open_gc(f);
    ck_assert_uint_eq(segment_of(&o, f, old)->end, end + 8);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "cut at"));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(segments_that_overlap_are_refused)
{
    struct fake *f = fake_create(NULL);
    unsigned first = fake_segment(f, 0, 2), second = fake_segment(f, 0, 2);
    for (int i = 0; i < 10; i++)
        fake_object(f, first, f->known.object, 0);
    fake_object(f, second, f->known.object, 0);
    fake_set(f, fake_segment_address(f, second), "HeapSegment", "Mem",
             fake_segment_end(f, first) - 8);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(o.gc->segment_count, 1);
    const struct clr_problem *problem = find_problem(&o, "segments", "overlaps");
    ck_assert_ptr_nonnull(problem);
    ck_assert_uint_eq(problem->address, fake_segment_end(f, first) - 8);
    ck_assert(problem->incomplete);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

/* A damaged start makes a segment reach over others, and over memory that nothing has. */
START_TEST(a_segment_over_others_is_the_one_refused)
{
    struct fake *f = fake_create(NULL);
    unsigned first = fake_segment(f, 0, 2), second = fake_segment(f, 0, 2),
             third = fake_segment(f, 0, 2);
    fake_object(f, first, f->known.object, 0);
    fake_object(f, second, f->known.object, 0);
    fake_object(f, third, f->known.object, 0);
    fake_set(f, fake_segment_address(f, third), "HeapSegment", "Mem", 0x10000);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(o.gc->segment_count, 2);
    ck_assert_uint_eq(o.gc->segments[0].address, fake_segment_address(f, first));
    ck_assert_uint_eq(o.gc->segments[1].address, fake_segment_address(f, second));
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "overlaps"));
    ck_assert(clr_problems_incomplete(o.target.problems));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(the_ephemeral_end_must_make_sense)
{
    struct fake *f = fake_create(NULL);
    unsigned gen0 = fake_segment(f, 0, 0);
    fake_object(f, gen0, f->known.object, 0);
    fake_set_variable(f, "GCHeapAllocAllocated", 8);
    fake_set(f, fake_segment_address(f, gen0), "HeapSegment", "Allocated",
             fake_segment_end(f, gen0));
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(segment_of(&o, f, gen0)->end, fake_segment_end(f, gen0));
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "end of the ephemeral segment"));
    ck_assert(clr_problems_incomplete(o.target.problems));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(a_dump_without_its_heap)
{
    struct fake *f = fake_create(NULL);
    unsigned gen0 = fake_segment(f, 0, 0), old = fake_segment(f, 0, 2);
    for (int i = 0; i < 100; i++) {
        fake_object(f, gen0, f->known.object, 0);
        fake_object(f, old, f->known.object, 0);
    }
    fake_forget(f, fake_segment_start(f, gen0) - 64, 0x8000);
    struct opened o = open_gc(f);
    ck_no_problems(&o); /* one of two segments: the walk says what is missing */
    close_gc(&o);

    fake_forget(f, fake_segment_start(f, old), 2000);
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    const struct clr_problem *problem = find_problem(&o, "objects", "only 400 of 4800 bytes");
    ck_assert_ptr_nonnull(problem);
    ck_assert(problem->incomplete);
    ck_assert_uint_eq(problem->length, 4400);
    close_gc(&o);

    fake_forget(f, fake_segment_start(f, old), 0x8000);
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_FAULT);
    ck_assert_ptr_null(o.gc);
    ck_assert_ptr_nonnull(strstr(o.error.text, "the heap is not in the dump"));
    ck_assert_ptr_nonnull(strstr(o.error.text, "--withheap"));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(a_heap_that_has_not_begun)
{
    struct fake *f = fake_create(NULL);
    fake_segment(f, 0, 0);
    struct opened o = open_gc(f);
    ck_no_problems(&o);
    ck_assert_uint_eq(o.gc->segment_count, 1);
    ck_assert_ptr_null(clr_gc_segment_at(o.gc, fake_segment_start(f, 0)));
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(server_heaps_that_cannot_be_read)
{
    struct fake *f = fake_create(&(struct fake_options){.server_heaps = 3});
    for (unsigned heap = 0; heap < 3; heap++)
        fake_object(f, fake_segment(f, heap, 0), f->known.object, 0);
    uint64_t table = fake_word(f, fake_variable(f, "Heaps"));
    fake_put_word(f, table + 8, 0);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_uint_eq(o.gc->segment_count, 2);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "GC heap 1 of 3"));
    ck_assert(clr_problems_incomplete(o.target.problems));
    close_gc(&o);

    fake_put_word(f, table + 8, 0x5000); /* a heap that is not saved */
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_OK);
    ck_assert_ptr_nonnull(find_problem(&o, "segments", "generations of GC heap 1"));
    close_gc(&o);

    fake_put_u32(f, fake_variable(f, "NumHeaps"), 0x7fffffff);
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(o.error.text, "2147483647"));
    close_gc(&o);

    fake_set_variable(f, "Heaps", 0x5000);
    fake_put_u32(f, fake_variable(f, "NumHeaps"), 3);
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_FAULT); /* no heap: no memory of one */
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

START_TEST(names_that_are_missing)
{
    static const struct {
        const char *type, *field;
        bool server;
    } names[] = {
        {NULL, "GCHeapGenerationTable", false},
        {"GCHeap", "GenerationTable", true},
        {"HeapSegment", "Mem", false},
        {"HeapSegment", "Next", true},
        {"Generation", "!", false},
        {"Generation", "StartSegment", false},
        {NULL, "TotalGenerationCount", false},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct fake *f = fake_create(&(struct fake_options){.server_heaps = names[i].server * 2u});
        fake_object(f, fake_segment(f, 0, 0), f->known.object, 0);
        fake_hide(f, names[i].type, names[i].field);
        struct opened o = open_gc(f);
        ck_assert_int_eq(o.status, CLR_UNSUPPORTED);
        ck_assert_ptr_null(o.gc);
        if (strcmp(names[i].field, "!") != 0)
            ck_assert_msg(strstr(o.error.text, names[i].field), "%s", o.error.text);
        close_gc(&o);
        fake_destroy(f);
    }
}
END_TEST

START_TEST(unknown_numbers_of_generations)
{
    struct fake *f = fake_create(NULL);
    fake_object(f, fake_segment(f, 0, 0), f->known.object, 0);
    fake_literal(f, "TotalGenerationCount", 4);
    struct opened o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_UNSUPPORTED);
    close_gc(&o);
    fake_literal(f, "TotalGenerationCount", UINT64_MAX / 2);
    o = open_gc(f);
    ck_assert_int_eq(o.status, CLR_UNSUPPORTED);
    close_gc(&o);
    fake_destroy(f);
}
END_TEST

/* Every single allocation may fail: an error, and nothing is left. */
START_TEST(out_of_memory)
{
    struct fake *f = fake_create(&(struct fake_options){.server_heaps = 2, .segments = true});
    uint64_t thread = fake_thread(f, 1, 100);
    for (unsigned heap = 0; heap < 2; heap++)
        for (unsigned number = 0; number < 20; number++)
            fake_object(f, fake_segment(f, heap, number % 6), f->known.object, 0);
    fake_context(f, thread, 0x1000, 0x2000);
    struct fake_target t;
    fake_open(f, &t);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        struct clr_gc *gc;
        struct clr_error error = {0};
        uint64_t live = clr_alloc_live();
        ck_assert_uint_lt(n, 1000);
        clr_alloc_fail_at(n);
        enum clr_status status = clr_gc_open(t.runtime, NULL, &gc, &error);
        clr_alloc_fail_at(0);
        done = status == CLR_OK;
        if (!done) {
            ck_assert_int_eq(status, CLR_NOMEM);
            ck_assert_int_eq(error.code, CLR_NOMEM);
            ck_assert_ptr_null(gc);
        }
        clr_gc_close(gc);
        ck_assert_uint_eq(clr_alloc_live(), live);
    }
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gc");
    TCase *flavours = tcase_create("flavours"), *state = tcase_create("state"),
          *damage = tcase_create("damage");
    tcase_add_loop_test(flavours, every_flavour_is_read, 0, SHAPES);
    tcase_add_test(flavours, several_gen0_regions_have_contexts);
    tcase_add_test(flavours, ephemeral_segment_is_divided);
    tcase_add_test(flavours, kind_without_identifiers);
    tcase_add_loop_test(flavours, contexts_come_from_threads_heaps_and_the_global_one, 0, SHAPES);
    tcase_add_test(flavours, without_threads_the_heap_is_still_read);
    suite_add_tcase(suite, flavours);
    tcase_add_test(state, a_running_gc_is_told);
    tcase_add_test(state, the_last_refused_allocation);
    tcase_add_loop_test(state, what_a_background_gc_has_found_dead, 0, SHAPES);
    suite_add_tcase(suite, state);
    tcase_add_test(damage, a_list_that_comes_back_is_cut);
    tcase_add_test(damage, segments_that_make_no_sense_are_refused);
    tcase_add_test(damage, ends_are_cut);
    tcase_add_test(damage, segments_that_overlap_are_refused);
    tcase_add_test(damage, a_segment_over_others_is_the_one_refused);
    tcase_add_test(damage, the_ephemeral_end_must_make_sense);
    tcase_add_test(damage, a_dump_without_its_heap);
    tcase_add_test(damage, a_heap_that_has_not_begun);
    tcase_add_test(damage, server_heaps_that_cannot_be_read);
    tcase_add_test(damage, names_that_are_missing);
    tcase_add_test(damage, unknown_numbers_of_generations);
    tcase_add_test(damage, out_of_memory);
    suite_add_tcase(suite, damage);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
