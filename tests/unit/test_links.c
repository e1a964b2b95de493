/*
 * References in both directions: the same edges forward and backward, whatever the heap is made of
 * and however it is damaged, with any number of workers, and with no memory to build them.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "heap_graph.h"

static const struct fake_options processes[] = {
    {0},
    {.word = 4},
    {.big_endian = true},
    {.word = 4, .big_endian = true, .segments = true},
    {.release = 10, .segments = true},
    {.release = 9},
};
enum { PROCESSES = sizeof processes / sizeof *processes };
enum { DEPENDENT = 6, GRAPH = CLR_PART_REFS | CLR_PART_REVERSE };

static struct heap_graph g;

struct list { /* of objects and free blocks */
    uint64_t *items;
    size_t count;
};

static void add(struct list *list, uint64_t address)
{
    list->items = realloc(list->items, (list->count + 1) * sizeof *list->items);
    ck_assert_ptr_nonnull(list->items);
    list->items[list->count++] = address;
}

/* A heap of all shapes of slots, with random edges; of each hundred slots DAMAGED hold no object.
 */
static struct list random_heap(uint32_t objects, uint64_t seed, unsigned damaged, uint64_t *invalid)
{
    struct list list = {0}, slots = {0};
    uint64_t state = seed, word = g.f->word;
    *invalid = 0;
    for (uint32_t i = 0; i < objects; i++) {
        uint32_t count = graph_random(&state) % 5;
        uint64_t at;
        switch (graph_random(&state) % 5) {
        case 0: add(&list, graph_leaf(&g)); break;
        case 1:
            add(&list, at = graph_array(&g, count));
            for (uint32_t k = 0; k < count; k++)
                add(&slots, graph_element(&g, at, k));
            break;
        case 2:
            add(&list, at = graph_object(&g, g.pairs, count));
            for (uint32_t k = 0; k < count; k++)
                add(&slots, graph_element(&g, at, 2 * k + 1));
            break;
        default:
            add(&list, at = graph_node(&g));
            for (unsigned k = 0; k < GRAPH_SLOTS; k++)
                add(&slots, graph_slot(&g, at, k));
        }
    }
    uint64_t free_block = fake_free(g.f, g.segment, 8 * word);
    for (size_t i = 0; i < slots.count; i++) {
        uint64_t target = list.items[graph_random(&state) % list.count];
        if (graph_random(&state) % 100 < damaged) {
            const uint64_t bad[] = {free_block, target + word, 0x10000 + word, target + 1,
                                    fake_segment_end(g.f, g.segment) + 64 * word};
            target = bad[graph_random(&state) % 5];
            ++*invalid;
        } else if (graph_random(&state) % 4 == 0) {
            target = 0;
        }
        fake_put_word(g.f, slots.items[i], target);
    }
    for (unsigned i = 0; i < 5; i++)
        fake_handle(g.f, 0, DEPENDENT, list.items[graph_random(&state) % list.count],
                    list.items[graph_random(&state) % list.count]);
    free(slots.items);
    return list;
}

static void count_invalid(void *context, uint64_t slot, uint64_t value)
{
    uint64_t *count = context;
    (void)slot;
    ck_assert_uint_ne(value, 0);
    ++*count;
}

START_TEST(both_directions_agree)
{
    const struct fake_options *options = &processes[_i % PROCESSES];
    unsigned damaged = _i / PROCESSES ? 20 : 0;
    uint64_t invalid, forward, backward, met = 0;
    graph_create(&g, options);
    struct list list = random_heap(600, (uint64_t)_i + 1, damaged, &invalid);
    graph_open(&g, GRAPH, 2);
    uint64_t sum = graph_forward_sum(g.dump, &forward);
    ck_assert_uint_eq(graph_reverse_sum(g.dump, &backward), sum);
    ck_assert_uint_eq(forward, backward);
    ck_assert_uint_eq(forward, g.dump->links->ref_count);
    ck_assert_uint_gt(forward, 500);
    ck_assert_uint_eq(g.dump->links->invalid.rows.count, invalid);
    ck_assert_int_eq(invalid > 0, damaged > 0);

    struct clr_ref_scan scan;
    struct clr_ref ref;
    clr_ref_scan_start(&scan, g.dump->refs, 0, clr_heap_count(g.dump->heap));
    scan.invalid = count_invalid;
    scan.context = &met;
    while (clr_ref_scan_next(&scan, &ref)) {
        /* Each edge is found again by its slot alone, and its slot holds its target. */
        struct clr_ref again;
        uint64_t value;
        if (ref.kind == CLR_REF_MEMBER || ref.kind == CLR_REF_ELEMENT) {
            ck_assert(clr_ref_in_object(g.dump->refs, ref.source_number, ref.address, &again));
            ck_assert_int_eq(again.kind, ref.kind);
            ck_assert_uint_eq(again.address, ref.address);
            ck_assert_uint_eq(again.target, ref.target);
            ck_assert_uint_eq(again.target_number, ref.target_number);
            ck_assert_uint_eq(again.offset, ref.offset);
            ck_assert_uint_eq(again.element, ref.element);
            ck_assert_uint_eq(again.within, ref.within);
        }
        ck_assert(clr_read_word(g.dump->process, ref.address, &value));
        ck_assert_uint_eq(value, ref.target);
    }
    ck_assert_uint_eq(met, invalid);
    const struct clr_problem *problem = graph_problem(&g, "refs", "no object starts");
    ck_assert_int_eq(problem != NULL, damaged > 0);
    if (problem) {
        ck_assert_uint_eq(problem->count, invalid); /* once each, though two passes met them */
        ck_assert_int_eq(problem->incomplete, problem->severity == CLR_ERROR);
    }
    free(list.items);
    graph_close(&g);
}
END_TEST

/* A slot that holds no object is damage where the program can come by, and nothing where it cannot;
 * where roots are missing nobody knows. */
START_TEST(invalid_refs_of_dead_objects)
{
    graph_create(&g, NULL);
    uint64_t live = graph_node(&g), dead = graph_node(&g);
    graph_root(&g, live);
    graph_link(&g, _i == 1 ? live : dead, 0, dead + g.f->word);
    if (_i == 2) /* a root that is no object: an error of area roots */
        graph_root(&g, dead + g.f->word);
    graph_open(&g, GRAPH, 1);
    const struct clr_problem *problem = graph_problem(&g, "refs", "no object starts");
    ck_assert_int_eq(problem->severity, _i == 0 ? CLR_INFO : CLR_ERROR);
    ck_assert_int_eq(clr_problems_incomplete(g.dump->problems), _i != 0);
    ck_assert_uint_eq(problem->count, 1);
    ck_assert_uint_eq(graph_problem(&g, "refs", "no object starts")->count, 1);
    graph_close(&g);
}
END_TEST

START_TEST(reachability_reports_invalid_refs_too)
{
    uint64_t invalid;
    graph_create(&g, NULL);
    struct list list = random_heap(300, 7, 30, &invalid);
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(graph_problem(&g, "refs", "no object starts")->count, invalid);
    graph_need(&g, CLR_PART_REVERSE | CLR_PART_DOMINATORS);
    ck_assert_uint_eq(graph_problem(&g, "refs", "no object starts")->count, invalid);
    free(list.items);
    graph_close(&g);
}
END_TEST

/* --- What each edge says --------------------------------------------------------------------- */

START_TEST(what_an_edge_says)
{
    graph_create(&g, &processes[_i]);
    uint64_t word = g.f->word, node = graph_node(&g), leaf = graph_leaf(&g);
    uint64_t array = graph_array(&g, 3), pairs = graph_object(&g, g.pairs, 3);
    graph_link(&g, node, 2, leaf);
    graph_set_element(&g, array, 1, leaf);
    graph_set_element(&g, pairs, 2 * 2 + 1, leaf);
    uint64_t handle = fake_handle(g.f, 0, DEPENDENT, node, leaf);
    graph_open(&g, GRAPH, 1);

    struct clr_link_scan scan;
    struct clr_ref ref;
    clr_link_scan_start(&scan, g.dump->links, graph_number(&g, leaf));
    ck_assert(clr_link_scan_next(&scan, &ref));
    ck_assert_int_eq(ref.kind, CLR_REF_MEMBER);
    ck_assert_uint_eq(ref.source, node);
    ck_assert_uint_eq(ref.offset, 2 * word);
    ck_assert_uint_eq(ref.address, node + 3 * word);
    ck_assert(clr_link_scan_next(&scan, &ref));
    ck_assert_int_eq(ref.kind, CLR_REF_ELEMENT);
    ck_assert_uint_eq(ref.source, array);
    ck_assert_uint_eq(ref.element, 1);
    ck_assert_uint_eq(ref.within, 0);
    ck_assert(clr_link_scan_next(&scan, &ref));
    ck_assert_int_eq(ref.kind, CLR_REF_ELEMENT);
    ck_assert_uint_eq(ref.source, pairs);
    ck_assert_uint_eq(ref.element, 2);
    ck_assert_uint_eq(ref.within, word);
    ck_assert(clr_link_scan_next(&scan, &ref));
    ck_assert_int_eq(ref.kind, CLR_REF_DEPENDENT);
    ck_assert_uint_eq(ref.source, node);
    ck_assert_uint_ne(ref.address, handle); /* the secondary slot */
    ck_assert(!clr_link_scan_next(&scan, &ref));

    /* Words of an object that are no slot, and what lies outside. */
    ck_assert(!clr_ref_in_object(g.dump->refs, graph_number(&g, node), node, &ref));
    ck_assert(
        !clr_ref_in_object(g.dump->refs, graph_number(&g, node), node + word, &ref)); /* null */
    ck_assert(!clr_ref_in_object(g.dump->refs, graph_number(&g, node), node + 3 * word + 1, &ref));
    ck_assert(!clr_ref_in_object(g.dump->refs, graph_number(&g, pairs), pairs + 6 * word, &ref));
    ck_assert(!clr_ref_in_object(g.dump->refs, graph_number(&g, array), array + 5 * word, &ref));
    graph_close(&g);
}
END_TEST

START_TEST(objects_of_a_collectible_type_refer_to_its_allocator)
{
    graph_create(&g, &processes[_i]);
    uint64_t allocator = graph_leaf(&g);
    uint64_t native = fake_allocator(g.f, allocator);
    uint64_t module =
        fake_module(g.f, &(struct fake_module){
                             .simple_name = "Plugin", .is_collectible = true, .allocator = native});
    const struct fake_series series = {g.f->word, g.f->word};
    uint64_t thing = fake_type(
        g.f, &(struct fake_type){
                 .module = module, .is_collectible = true, .series = &series, .series_count = 1});
    uint64_t bare = fake_type(g.f, &(struct fake_type){.module = module, .is_collectible = true});
    uint64_t a = graph_object(&g, thing, 0), b = graph_object(&g, bare, 0);
    graph_link(&g, a, 0, b);
    uint64_t holder = graph_node(&g);
    graph_link(&g, holder, 0, a);
    graph_root(&g, holder);
    graph_open(&g, GRAPH | CLR_PART_REACH, 2);
    uint64_t forward, backward, sum = graph_forward_sum(g.dump, &forward);
    ck_assert_uint_eq(graph_reverse_sum(g.dump, &backward), sum);
    ck_assert_uint_eq(forward, 4); /* holder -> a, a -> b, a -> allocator, b -> allocator */
    ck_assert_uint_eq(backward, 4);
    ck_assert_uint_eq(g.dump->links->ref_count, 4);
    /* The instance keeps the plugin loaded, with or without references of its own. */
    ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, graph_number(&g, allocator)), 2);
    struct clr_ref ref;
    ck_assert(clr_ref_in_object(g.dump->refs, graph_number(&g, b), b, &ref));
    ck_assert_int_eq(ref.kind, CLR_REF_LOADER_ALLOCATOR);
    ck_assert_uint_eq(ref.address, b);
    graph_close(&g);
}
END_TEST

/* --- Damage ---------------------------------------------------------------------------------- */

static uint64_t lengths(const char *part)
{
    const struct clr_problem *problem = graph_problem(&g, "refs", part);
    return problem ? problem->length : 0;
}

START_TEST(slots_that_are_not_saved)
{
    uint64_t word, forward, backward;
    graph_create(&g, &processes[_i]);
    word = g.f->word;
    uint64_t leaf = graph_leaf(&g), array = graph_array(&g, 1000);
    uint64_t pairs = graph_object(&g, g.pairs, 1000), behind = graph_node(&g);
    for (uint32_t i = 0; i < 1000; i++) {
        graph_set_element(&g, array, i, leaf);
        graph_set_element(&g, pairs, 2 * i + 1, leaf);
    }
    graph_link(&g, behind, 0, leaf);
    fake_forget(g.f, graph_element(&g, array, 100), 300 * word);
    fake_forget(g.f, graph_element(&g, pairs, 200), 400 * word);
    graph_open(&g, CLR_PART_REFS, 1);
    if (_i % 2)
        graph_need(&g, CLR_PART_REVERSE); /* whoever meets it first */
    uint64_t sum = graph_forward_sum(g.dump, &forward);
    graph_need(&g, CLR_PART_REVERSE);
    ck_assert_uint_eq(graph_reverse_sum(g.dump, &backward), sum);
    ck_assert_uint_eq(forward, 700 + 800 + 1);
    ck_assert_uint_eq(backward, forward);
    uint64_t told = lengths("not saved");
    ck_assert_uint_ge(told, 300 * word + 399 * word);
    ck_assert_uint_le(told, 300 * word + 401 * word);
    graph_need(&g, CLR_PART_REACH);
    ck_assert_uint_eq(lengths("not saved"), told);
    graph_close(&g);
}
END_TEST

/* 300,000,000 elements: 2.4 GB, of which the first page is saved. */
START_TEST(arrays_over_two_gigabytes)
{
    enum { COUNT = 300000000 };
    uint64_t forward, backward;
    graph_create(&g, NULL);
    uint64_t first = graph_leaf(&g), second = graph_leaf(&g);
    unsigned loh = fake_segment(g.f, 0, FAKE_LOH);
    uint64_t array = fake_object(g.f, loh, g.f->known.object_array, 400);
    uint64_t end = array + 24 + (uint64_t)COUNT * 8;
    fake_put_u32(g.f, array + 8, COUNT);
    fake_set(g.f, fake_segment_address(g.f, loh), "HeapSegment", "Allocated", end);
    fake_set(g.f, fake_segment_address(g.f, loh), "HeapSegment", "Reserved", end);
    graph_set_element(&g, array, 5, first);
    graph_set_element(&g, array, 399, second);
    graph_root(&g, array);
    graph_open(&g, GRAPH | CLR_PART_DOMINATORS, 1);
    uint64_t sum = graph_forward_sum(g.dump, &forward);
    ck_assert_uint_eq(graph_reverse_sum(g.dump, &backward), sum);
    ck_assert_uint_eq(forward, 2);
    const struct clr_dominators *d = &g.dump->dominators;
    ck_assert_uint_eq(d->retained_count[graph_number(&g, array)], 3);
    ck_assert_uint_eq(d->retained_size[graph_number(&g, array)], 24 + (uint64_t)COUNT * 8 + 48);
    struct clr_ref ref;
    ck_assert(clr_ref_in_object(g.dump->refs, graph_number(&g, array), array + 16 + 399 * 8, &ref));
    ck_assert_uint_eq(ref.element, 399);
    ck_assert_ptr_nonnull(graph_problem(&g, "refs", "not saved")); /* the other elements */
    graph_close(&g);
}
END_TEST

START_TEST(words_that_two_pieces_share)
{
    uint64_t forward, backward;
    graph_create(&g, NULL);
    uint64_t leaf = graph_leaf(&g), node = graph_node(&g), array = graph_array(&g, 4);
    graph_link(&g, node, 1, leaf);
    graph_set_element(&g, array, 2, leaf);
    fake_split(g.f, graph_slot(&g, node, 1) + 3);
    fake_split(g.f, graph_element(&g, array, 2) + 5);
    fake_split(g.f, array + 10); /* in the number of elements */
    graph_open(&g, GRAPH, 1);
    uint64_t sum = graph_forward_sum(g.dump, &forward);
    ck_assert_uint_eq(graph_reverse_sum(g.dump, &backward), sum);
    ck_assert_uint_eq(forward, 2);
    ck_assert_uint_eq(backward, 2);
    ck_assert_ptr_null(graph_problem(&g, "refs", ""));
    graph_close(&g);
}
END_TEST

START_TEST(handles_to_what_is_no_object)
{
    uint64_t count;
    graph_create(&g, NULL);
    uint64_t node = graph_node(&g), block = fake_free(g.f, g.segment, 64);
    fake_handle(g.f, 0, DEPENDENT, node, block);
    fake_handle(g.f, 0, DEPENDENT, block, node);
    fake_handle(g.f, 0, DEPENDENT, node + 8, node);
    fake_handle(g.f, 0, DEPENDENT, node, node);
    graph_open(&g, GRAPH, 1);
    graph_forward_sum(g.dump, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(graph_problem(&g, "refs", "dependent handle")->count, 3);
    graph_close(&g);
}
END_TEST

/* A background GC marked, and has not swept yet: what it found dead has rows of refs like other dead
 * objects, but no edges in the graph, and its slots may hold what is gone. */
START_TEST(what_a_background_gc_has_found_dead)
{
    graph_create(&g, NULL);
    uint64_t pitch = 2u * g.f->word, dead = graph_node(&g), live = graph_node(&g);
    uint64_t target = graph_leaf(&g), value = graph_leaf(&g);
    graph_link(&g, dead, 0, target);
    graph_link(&g, live, 0, target);
    graph_link(&g, dead, 1, target + g.f->word);
    fake_handle(g.f, 0, DEPENDENT, dead, value);
    fake_handle(g.f, 0, DEPENDENT, live, value);
    graph_root(&g, live);
    uint64_t end = fake_segment_end(g.f, g.segment), segment = fake_segment_address(g.f, g.segment);
    uint64_t first_word = dead / pitch / 32, marks = fake_memory(g.f, 4096);
    fake_set(g.f, segment, "HeapSegment", "BackgroundAllocated", end);
    fake_put_u32(g.f, fake_variable(g.f, "CurrentGCState"), 1);
    const uint64_t marked[] = {live, target, value};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t at = marks + (marked[i] / pitch / 32 - first_word) * 4;
        fake_put_u32(g.f, at, fake_u32(g.f, at) | (uint32_t)1 << marked[i] / pitch % 32);
    }
    fake_set_variable(g.f, "GCHeapMarkArray", marks - first_word * 4);
    fake_set_variable(g.f, "GCHeapBackgroundMinSavedAddr", dead);
    fake_set_variable(g.f, "GCHeapBackgroundMaxSavedAddr", end);
    fake_set_variable(g.f, "GCHeapNextSweepObj", 0);
    graph_open(&g, GRAPH | CLR_PART_REACH, 1);
    ck_assert(g.dump->refs->has_unswept);
    uint64_t forward, backward, sum = graph_forward_sum(g.dump, &forward);
    ck_assert_uint_eq(graph_reverse_sum(g.dump, &backward), sum);
    ck_assert_uint_eq(forward, 4); /* from each to target and value */
    ck_assert_uint_eq(backward, 4);
    ck_assert_uint_eq(g.dump->links->ref_count, 4);
    ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, graph_number(&g, dead)), CLR_UNREACHED);
    struct clr_job job = {.threads = 1};
    struct clr_error error = {0};
    struct clr_forward *graph;
    ck_assert_int_eq(clr_forward_build(g.dump->refs, NULL, 0, CLR_WITH_SLOTS, &job, &graph, &error),
                     CLR_OK);
    ck_assert_uint_eq(graph->edges.target_count, 2);
    clr_forward_destroy(graph);
    const struct clr_problem *problem = graph_problem(&g, "refs", "no object starts");
    ck_assert_int_eq(problem->severity, CLR_INFO);
    ck_assert(!clr_problems_incomplete(g.dump->problems));
    struct clr_ref ref;
    ck_assert(
        clr_ref_in_object(g.dump->refs, graph_number(&g, dead), graph_slot(&g, dead, 0), &ref));
    ck_assert(
        clr_ref_in_object(g.dump->refs, graph_number(&g, live), graph_slot(&g, live, 0), &ref));
    graph_close(&g);
}
END_TEST

/* --- Workers, memory, interruption ----------------------------------------------------------- */

static uint64_t forward_graph_sum(unsigned threads)
{
    struct clr_job job = {.threads = threads};
    struct clr_error error = {0};
    struct clr_forward *forward;
    ck_assert_int_eq(
        clr_forward_build(g.dump->refs, NULL, 0, CLR_WITH_SLOTS, &job, &forward, &error), CLR_OK);
    uint64_t sum = 0, count = 0;
    for (uint32_t i = 0; i < forward->edges.offsets.count; i++)
        for (uint64_t e = clr_offset_at(&forward->edges.offsets, i);
             e < clr_offset_at(&forward->edges.offsets, i + 1); e++, count++)
            sum = sum * 31 + (uint64_t)i * 7 + forward->edges.targets[e] * 13ull +
                  clr_wide_get(&forward->slots, e);
    ck_assert_uint_eq(count, forward->edges.target_count);
    clr_forward_destroy(forward);
    return sum;
}

START_TEST(the_same_with_any_number_of_workers)
{
    static const unsigned threads[] = {1, 2, 4};
    uint64_t invalid, sum = 0, graph = 0, count, first_count = 0;
    graph_create(&g, NULL);
    struct list list = random_heap(14000, 42, 1, &invalid);
    for (unsigned run = 0; run < 20; run++) {
        unsigned workers = threads[run % 3];
        graph_open(&g, GRAPH, workers);
        uint64_t reverse = graph_reverse_sum(g.dump, &count), forward;
        if (run == 0) {
            sum = reverse;
            first_count = count;
            graph = forward_graph_sum(workers);
            ck_assert_uint_gt(count, 10000);
        }
        ck_assert_uint_eq(reverse, sum);
        ck_assert_uint_eq(count, first_count);
        ck_assert_uint_eq(graph_forward_sum(g.dump, &forward), sum);
        ck_assert_uint_eq(forward_graph_sum(workers), graph);
        ck_assert_uint_eq(g.dump->links->invalid.rows.count, invalid);
        graph_shut(&g);
    }
    free(list.items);
    graph_open(&g, 0, 1);
    graph_close(&g);
}
END_TEST

static const unsigned built_parts[] = {
    CLR_PART_HANDLES, CLR_PART_REFS,       CLR_PART_REVERSE,   CLR_PART_ROOTS,
    CLR_PART_REACH,   CLR_PART_DOMINATORS, CLR_PART_DOMINATED,
};
enum { BUILT_PARTS = sizeof built_parts / sizeof *built_parts };

/* Naming one part builds all that it needs. */
START_TEST(a_part_alone)
{
    uint64_t invalid;
    graph_create(&g, NULL);
    struct list list = random_heap(40, 5, 0, &invalid);
    free(list.items);
    graph_open(&g, 0, 1);
    const unsigned opened = g.dump->built;
    graph_need(&g, built_parts[_i]);
    unsigned expected = opened | built_parts[_i] | CLR_PART_RUNTIME | CLR_PART_GC;
    if (built_parts[_i] != CLR_PART_HANDLES)
        expected |= CLR_PART_INDEX | CLR_PART_HANDLES;
    if (built_parts[_i] != CLR_PART_HANDLES && built_parts[_i] != CLR_PART_ROOTS)
        expected |= CLR_PART_REFS;
    if (built_parts[_i] == CLR_PART_DOMINATED)
        expected |= CLR_PART_DOMINATORS;
    if (built_parts[_i] == CLR_PART_REACH || (expected & CLR_PART_DOMINATORS))
        expected |= CLR_PART_ROOTS;
    ck_assert_uint_eq(g.dump->built, expected);
    graph_close(&g);
}
END_TEST

/* A heap with something of everything. */
static void small_world(void)
{
    uint64_t invalid;
    graph_create(&g, NULL);
    struct list list = random_heap(40, 5, 10, &invalid);
    graph_statics(&g, 5);
    graph_set_element(&g, g.statics, 1, list.items[0]);
    uint64_t own = graph_thread_statics(&g, fake_thread(g.f, 1, 0));
    graph_set_element(&g, own, 1, list.items[1]);
    graph_root(&g, list.items[2]);
    fake_finalizable(g.f, 0, 6, list.items[3]);
    free(list.items);
}

START_TEST(memory_that_runs_out)
{
    unsigned part = built_parts[_i];
    bool done = false;
    uint64_t failures = 0;
    small_world();
    for (uint64_t n = 1; !done; n++) {
        struct clr_error error = {0};
        struct clr_job job = {.threads = 1};
        graph_open(&g, CLR_PART_INDEX, 1);
        if (_i) /* what is below is there */
            graph_need(&g, CLR_PART_ROOTS | CLR_PART_REFS);
        if (part == CLR_PART_REFS || part == CLR_PART_ROOTS) {
            graph_shut(&g);
            graph_open(&g, CLR_PART_HANDLES, 1);
        }
        if (part == CLR_PART_DOMINATED)
            graph_need(&g, CLR_PART_DOMINATORS);
        clr_alloc_fail_at(n);
        enum clr_status status = clr_dump_need(g.dump, part, &job, &error);
        clr_alloc_fail_at(0);
        done = status == CLR_OK;
        if (!done) {
            failures++;
            ck_assert_int_eq(status, CLR_NOMEM);
            ck_assert_int_eq(error.code, CLR_NOMEM);
            ck_assert_uint_eq(g.dump->built & part, 0);
        }
        graph_need(&g, part); /* and it can be tried again */
        graph_shut(&g);
    }
    ck_assert_uint_gt(failures, 2);
    graph_open(&g, 0, 1);
    graph_close(&g);
}
END_TEST

struct stopping {
    unsigned calls, stop_at;
};

static bool stop_later(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct stopping *stopping = context;
    ck_assert_ptr_nonnull(what);
    ck_assert_uint_le(done, total);
    return ++stopping->calls != stopping->stop_at;
}

START_TEST(builds_that_are_interrupted)
{
    unsigned part = built_parts[_i];
    small_world();
    for (unsigned threads = 1; threads <= 2; threads++) {
        graph_open(&g, CLR_PART_HANDLES, threads);
        if (part == CLR_PART_DOMINATED)
            graph_need(&g, CLR_PART_DOMINATORS);
        struct stopping stopping = {.stop_at = 1};
        struct clr_job job = {.poll = stop_later, .context = &stopping, .threads = threads};
        struct clr_error error = {0};
        enum clr_status status = clr_dump_need(g.dump, part, &job, &error);
        if (part != CLR_PART_HANDLES) { /* that one is too short to ask */
            ck_assert_int_eq(status, CLR_CANCELLED);
            ck_assert_uint_eq(g.dump->built & part, 0);
        }
        graph_need(&g, part);
        graph_shut(&g);
    }
    graph_open(&g, 0, 1);
    graph_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("links");
    TCase *edges = tcase_create("edges");
    tcase_add_loop_test(edges, both_directions_agree, 0, 2 * PROCESSES);
    tcase_add_test(edges, reachability_reports_invalid_refs_too);
    tcase_add_loop_test(edges, invalid_refs_of_dead_objects, 0, 3);
    tcase_add_loop_test(edges, a_part_alone, 0, BUILT_PARTS);
    tcase_add_loop_test(edges, what_an_edge_says, 0, PROCESSES);
    tcase_add_loop_test(edges, objects_of_a_collectible_type_refer_to_its_allocator, 0, 1);
    suite_add_tcase(suite, edges);
    TCase *damage = tcase_create("damage");
    tcase_add_loop_test(damage, slots_that_are_not_saved, 0, PROCESSES);
    tcase_add_test(damage, arrays_over_two_gigabytes);
    tcase_add_test(damage, words_that_two_pieces_share);
    tcase_add_test(damage, handles_to_what_is_no_object);
    tcase_add_test(damage, what_a_background_gc_has_found_dead);
    suite_add_tcase(suite, damage);
    TCase *builds = tcase_create("builds");
    tcase_set_timeout(builds, 120);
    tcase_add_test(builds, the_same_with_any_number_of_workers);
    tcase_add_loop_test(builds, memory_that_runs_out, 0, BUILT_PARTS);
    tcase_add_loop_test(builds, builds_that_are_interrupted, 0, BUILT_PARTS);
    suite_add_tcase(suite, builds);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
