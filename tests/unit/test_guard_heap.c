/*
 * The heap and its graph as SQL shows them, over small processes that are built so that one rule
 * alone decides: where a gap is believed, which address is an object after damage, which root names
 * a path, what a background sweep has come to.
 */
#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask.h"
#include "base/job.h"
#include "heap_graph.h"

static sqlite3 *db;

static void setup(void)
{
    db = ask_open(CLRDB_MODULE);
}

static void teardown(void)
{
    ask_close(db);
}

static void attach(struct fake *f)
{
    ask_attach(db, fake_path(f), "dump", "{\"partial_heap\": true}");
}

static void end(struct fake *f)
{
    pairs_exec(db, "SELECT clr_detach('dump')");
    fake_destroy(f);
}

/* --- The walk --------------------------------------------------------------------------------- */

/* Two contexts that overlap: the second is refused, and its memory is not taken for a gap. */
START_TEST(contexts_that_overlap)
{
    struct fake *f = fake_create(NULL);
    uint64_t node = fake_class(f, 0, 3, 1); /* 40 bytes */
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t first = fake_thread(f, 1, 100), second = fake_thread(f, 2, 200);
    for (int i = 0; i < 5; i++)
        fake_object(f, gen0, node, 0);
    uint64_t hole = fake_hole(f, gen0, first, 176), behind = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t at = fake_object(f, gen0, node, 0);
        behind = i == 1 ? at : behind;
    }
    /* From inside the gap to the start of an object. */
    fake_context(f, second, hole + 80, behind - 24);
    attach(f);
    ask_is(db,
           "SELECT object_count, (SELECT sum(gap_bytes) FROM segments), unwalked_bytes, complete "
           "FROM dump_info",
           "10|176|0|1\n");
    ask_has(db, "SELECT severity, message FROM problems WHERE area = 'segments'",
            "does not fit into its segment: ignored");
    ask_is(db, "SELECT count(*) FROM problems", "1\n");
    end(f);
}
END_TEST

/* An object of a fixed size that would end behind its segment is none. */
START_TEST(the_last_object_must_fit)
{
    struct fake *f = fake_create(NULL);
    uint64_t node = fake_class(f, 0, 3, 0); /* 40 bytes */
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 10; i++)
        fake_object(f, old, node, 0);
    fake_set(f, fake_segment_address(f, old), "HeapSegment", "Allocated",
             fake_segment_end(f, old) - 8);
    attach(f);
    ask_is(db, "SELECT object_count, unwalked_bytes, complete FROM dump_info", "9|32|0\n");
    end(f);
}
END_TEST

/* An ephemeral segment holds several generations: the view counts its objects one by one. */
START_TEST(views_of_an_ephemeral_segment)
{
    enum { PINNED = 3, ASYNC_PINNED = 7 };
    static const struct fake_options segments = {.segments = true};
    struct fake *f = fake_create(&segments);
    uint64_t node = fake_class(f, 0, 3, 0), held[3]; /* 40 bytes */
    unsigned young = fake_segment(f, 0, 0);
    for (int i = 0; i < 3; i++) {
        fake_free(f, young, 64);
        held[i] = fake_object(f, young, node, 0);
    }
    fake_handle(f, 0, PINNED, held[0], 0);
    fake_handle(f, 0, ASYNC_PINNED, held[1], 0);
    attach(f);
    ask_is(db,
           "SELECT name, object_count, object_bytes, free_bytes FROM size_by_generation WHERE "
           "object_count > 0",
           " 'gen0'|3|120|192\n");
    ask_is(db,
           "SELECT group_concat(next_is_pinned, ' '), min(next_object IS NOT NULL) FROM (SELECT * "
           "FROM fragmentation ORDER BY address)",
           " '1 1 0'|1\n");
    ask_is(db, "SELECT group_concat(kind, ' ') FROM (SELECT * FROM pinned ORDER BY object)",
           " 'pinned async_pinned'\n");
    end(f);
}
END_TEST

/* An object of which another is a part, bit for bit: what stands before the inner one is no header,
 * since the half before the sync block value is not zero, or a bit of the value is set that never is. */
START_TEST(words_that_are_no_header)
{
    struct fake *f = fake_create(NULL);
    uint64_t holder = fake_class(f, 0, 5, 0), inner = fake_class(f, 0, 2, 0), lost = 0;
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 20; i++) {
        uint64_t at = fake_object(f, old, holder, 0); /* 56 bytes, of which the last 32 are inner */
        fake_put_word(f, at + 16, _i == 0 ? 5 : 0x8000000000000000);
        fake_put_word(f, at + 24, inner);
        lost = i == 7 ? at : lost;
    }
    fake_put_word(f, lost, 0);
    attach(f);
    ask_is(db,
           "SELECT object_count, unwalked_bytes, (SELECT count(*) FROM objects WHERE size <> 56) "
           "FROM dump_info",
           "19|56|0\n");
    end(f);
}
END_TEST

/* A false object in the tail of a lost one that ends where a true one does: the true ones that it
 * would cover are more. */
START_TEST(of_two_chains_the_one_with_more_objects)
{
    struct fake *f = fake_create(NULL);
    uint64_t holder = fake_class(f, 0, 3, 0), lost = 0;
    uint64_t longer = fake_class(f, 0, 10, 0); /* 96 bytes: 16 of a holder, and two of 40 */
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 20; i++) {
        uint64_t at = fake_object(f, old, holder, 0);
        fake_put_word(f, at + 24, longer);
        lost = i == 7 ? at : lost;
    }
    fake_put_word(f, lost, 0);
    attach(f);
    ask_is(db,
           "SELECT object_count, unwalked_bytes, (SELECT count(*) FROM objects WHERE size <> 40) "
           "FROM dump_info",
           "19|40|0\n");
    end(f);
}
END_TEST

/* What lies in a free block is dead, however well it is chained. */
START_TEST(dead_objects_in_a_free_block)
{
    struct fake *f = fake_create(NULL);
    uint64_t node = fake_class(f, 0, 3, 0); /* 40 bytes */
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 10; i++)
        fake_object(f, old, node, 0);
    uint64_t lost = fake_object(f, old, node, 0), block = fake_free(f, old, 24 + 5 * 40);
    for (uint64_t i = 0; i < 5; i++)
        fake_put_word(f, block + 24 + i * 40, node);
    for (int i = 0; i < 10; i++)
        fake_object(f, old, node, 0);
    fake_put_word(f, lost, 0);
    attach(f);
    ask_is(db,
           "SELECT object_count, unwalked_bytes, (SELECT sum(size) FROM objects WHERE is_free) "
           "FROM dump_info",
           "20|40|224\n");
    end(f);
}
END_TEST

/* The dump has less than half of the heap: it says so. With more than half, the walk alone tells
 * what is missing. */
START_TEST(a_core_with_less_than_half_of_its_heap)
{
    static const unsigned saved[] = {60, 40};
    struct fake *f = fake_create(NULL);
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 100; i++)
        fake_object(f, old, f->known.object, 0);
    uint64_t start = fake_segment_start(f, old), size = fake_segment_end(f, old) - start;
    fake_forget(f, start + size * saved[_i] / 100, 0x8000);
    attach(f);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "%d|0\n", saved[_i] < 50);
    ask_is(db,
           "SELECT count(*) FILTER (WHERE message LIKE 'the dump has only 960 of 2400 bytes%'), "
           "(SELECT complete FROM dump_info) FROM problems",
           wanted);
    ask_is(db, "SELECT count(*) FROM objects", _i ? "40\n" : "60\n");
    /* What is not there is not announced by the core's headers either: as if its writer had left the
     * heap out. */
    pairs_exec(db, "SELECT clr_detach('dump')");
    ask_attach(db, fake_path(f), "dump", NULL);
    ask_has(db, "SELECT count(*) FROM objects",
            _i ? "the heap is not in the dump: it has 960 of 2400 bytes" : "60\n");
    end(f);
}
END_TEST

/* --- One thread or many ----------------------------------------------------------------------- */

/* Parts of a segment that is cut are counted one by one and added up: the largest and the smallest of
 * a type lie in two of them, in both orders. */
START_TEST(sizes_of_all_parts_count)
{
    enum { PART = 16 << 20, PARTS = 5, ROOM = PARTS * PART, PLAIN = 40000, LEAST = 1000 };
    static const struct fake_options segments = {.segments = true};
    struct fake *f = fake_create(&segments);
    uint64_t array = fake_array(f, f->known.int32, 1, false);
    uint64_t start = fake_memory(f, ROOM), at = start;
    uint64_t segment = fake_segment_address(f, fake_segment(f, 0, 2));
    while (start + ROOM - at > 2 * PLAIN) {
        uint64_t offset = (at - start) % PART, part = (at - start) / PART;
        uint32_t count = PLAIN;
        if (offset > PART / 2 && offset < PART / 2 + 3 * PLAIN && part % 2)
            count = (part == 1) == (_i == 0) ? PLAIN + 777 : LEAST;
        fake_put_word(f, at, array);
        fake_put_u32(f, at + 8, count);
        at += (24 + count + 7) & ~(uint64_t)7;
    }
    fake_set(f, segment, "HeapSegment", "Mem", start);
    fake_set(f, segment, "HeapSegment", "Allocated", at);
    fake_set(f, segment, "HeapSegment", "Committed", start + ROOM);
    fake_set(f, segment, "HeapSegment", "Reserved", start + ROOM);
    for (unsigned threads = 1; threads <= 3; threads++) {
        char options[80];
        snprintf(options, sizeof options, "{\"partial_heap\": true, \"threads\": %u}", threads);
        ask_attach(db, fake_path(f), "dump", options);
        ask_is(db,
               "SELECT t.min_size, t.max_size, t.total_size = sum(o.size), t.object_count = "
               "count(*) FROM type_stats AS t JOIN objects AS o ON o.type = t.type "
               "WHERE NOT o.is_free",
               "1024|40808|1|1\n");
        pairs_exec(db, "SELECT clr_detach('dump')");
    }
    fake_destroy(f);
}
END_TEST

/* Every column of every table, of the shipped dump. */
START_TEST(every_table_is_the_same_with_many_threads)
{
    sqlite3_stmt *tables = NULL;
    int compared = 0;
    ask_attach(db, CLRDB_DUMPS "/ws11.core", "one", "{\"threads\": 1}");
    ask_attach(db, CLRDB_DUMPS "/ws11.core", "many", "{\"threads\": 7}");
    static const char list[] =
        "SELECT table_name, group_concat(column_name, ', ') FROM (SELECT * FROM clr_schema AS s "
        "WHERE s.kind = 'column' AND EXISTS (SELECT 1 FROM clr_schema WHERE table_name = "
        "s.table_name "
        "AND kind = 'table') AND NOT EXISTS (SELECT 1 FROM clr_schema WHERE table_name = "
        "s.table_name AND (access "
        "LIKE '%required%' OR access LIKE '%argument%')) AND EXISTS (SELECT 1 FROM "
        "one.sqlite_schema WHERE name = s.table_name) ORDER BY table_name, column_name) "
        "GROUP BY table_name";
    ck_assert_msg(sqlite3_prepare_v2(db, list, -1, &tables, NULL) == SQLITE_OK, "%s",
                  sqlite3_errmsg(db));
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        const char *columns = (const char *)sqlite3_column_text(tables, 1);
        char *sql = sqlite3_mprintf("SELECT (SELECT count(*) FROM (SELECT %s FROM one.%s EXCEPT "
                                    "SELECT %s FROM many.%s)), (SELECT count(*) FROM one.%s) - "
                                    "(SELECT count(*) FROM many.%s)",
                                    columns, name, columns, name, name, name);
        ask_is(db, sql, "0|0\n");
        sqlite3_free(sql);
        compared++;
    }
    sqlite3_finalize(tables);
    ck_assert_int_gt(compared, 20);
}
END_TEST

/* The failure of the item that comes first is the one that is told, whichever ends first. */
struct failing {
    atomic_uint begun;
    size_t first_to_end;
};

static enum clr_status fail_item(void *context, unsigned worker, size_t item,
                                 struct clr_error *error)
{
    struct failing *failing = context;
    (void)worker;
    atomic_fetch_add(&failing->begun, 1);
    while (atomic_load(&failing->begun) < 2)
        sched_yield();
    if (item != failing->first_to_end)
        nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
    return clr_fail(error, CLR_FAULT, item, "item %zu", item);
}

START_TEST(the_first_failure_by_number_wins)
{
    struct failing failing = {.first_to_end = (size_t)_i};
    struct clr_job job = {.threads = 2};
    struct clr_error error = {0};
    ck_assert_int_eq(clr_job_run(&job, "failing", 2, fail_item, &failing, &error), CLR_FAULT);
    ck_assert_str_eq(error.text, "item 0");
}
END_TEST

/* --- References and roots --------------------------------------------------------------------- */

/* A key without a value holds nothing, and nothing is wrong with that. */
START_TEST(a_dependent_handle_without_a_value)
{
    enum { DEPENDENT = 6 };
    struct heap_graph g;
    graph_create(&g, NULL);
    uint64_t key = graph_node(&g), other = graph_node(&g), value = graph_node(&g);
    graph_root(&g, key);
    graph_root(&g, other);
    fake_handle(g.f, 0, DEPENDENT, key, 0);
    fake_handle(g.f, 0, DEPENDENT, other, value);
    attach(g.f);
    ask_is(db,
           "SELECT count(*), count(*) FILTER (WHERE secondary = 0) FROM handles WHERE kind = "
           "'dependent'",
           "2|1\n");
    ask_is(db,
           "SELECT (SELECT count(*) FROM refs WHERE kind = 'dependent'), (SELECT count(*) FROM "
           "objects WHERE is_reachable)",
           "1|3\n");
    ask_is(db, "SELECT complete, (SELECT count(*) FROM problems) FROM dump_info", "1|0\n");
    pairs_exec(db, "SELECT clr_detach('dump')");
    graph_close(&g);
}
END_TEST

/* Thread statics of a collectible type hang on a handle of the thread. A strong one is a root by its
 * kind, and no second one; another is one because the thread has it. */
START_TEST(thread_data_behind_handles)
{
    enum { WEAK_LONG = 1, COUNT = 2 };
    struct heap_graph g;
    char sql[200];
    graph_create(&g, NULL);
    uint64_t first = graph_node(&g), second = graph_node(&g);
    uint64_t thread = fake_thread(g.f, 1, 0), handles = fake_memory(g.f, COUNT * 8);
    graph_thread_statics(&g, thread);
    uint64_t data = fake_get(g.f, thread, "Thread", "ThreadLocalDataPtr");
    fake_put_word(g.f, handles, graph_root(&g, first));
    fake_put_word(g.f, handles + 8, fake_handle(g.f, 0, WEAK_LONG, second, 0));
    fake_set(g.f, data, "ThreadLocalData", "CollectibleTlsArrayData", handles);
    fake_set(g.f, data, "ThreadLocalData", "CollectibleTlsDataCount", COUNT);
    attach(g.f);
    snprintf(sql, sizeof sql,
             "SELECT kind, name, thread IS NULL FROM roots WHERE object IN (%llu, %llu) ORDER BY "
             "kind",
             (unsigned long long)first, (unsigned long long)second);
    ask_is(db, sql, " 'strong'| 'strong'|1\n 'thread_static'| 'thread data'|0\n");
    pairs_exec(db, "SELECT clr_detach('dump')");
    graph_close(&g);
}
END_TEST

/* Of several roots of one object the one with the lowest slot names the path; frozen objects, whose
 * root has no slot, come last. */
START_TEST(roots_of_one_object_by_their_slots)
{
    struct heap_graph g;
    char sql[300];
    graph_create(&g, NULL);
    uint64_t held = graph_node(&g);
    graph_statics(&g, 4);
    graph_set_element(&g, g.statics, 1, held);
    uint64_t handle = graph_root(&g, held), field = graph_element(&g, g.statics, 1);
    uint64_t frozen = fake_object(g.f, fake_segment(g.f, 0, FAKE_FROZEN), g.leaf, 0);
    fake_handle(g.f, 0, 3, frozen, 0);
    attach(g.f);
    snprintf(sql, sizeof sql, "SELECT group_concat(root_kind, ' ') FROM path_to_root(%llu, 9)",
             (unsigned long long)frozen);
    ask_is(db, sql, " 'pinned frozen'\n");
    snprintf(sql, sizeof sql, "SELECT substr(clr_path(%llu), 1, 7)", (unsigned long long)frozen);
    ask_is(db, sql, " 'pinned '\n");
    const char *order = handle < field ? " 'strong static'\n" : " 'static strong'\n";
    snprintf(sql, sizeof sql, "SELECT group_concat(root_kind, ' ') FROM path_to_root(%llu, 9)",
             (unsigned long long)held);
    ask_is(db, sql, order);
    snprintf(sql, sizeof sql, "SELECT root_kind FROM path_to_root(%llu)", (unsigned long long)held);
    ask_is(db, sql, handle < field ? " 'strong'\n" : " 'static'\n");
    pairs_exec(db, "SELECT clr_detach('dump')");
    graph_close(&g);
}
END_TEST

/* A word in a register has no slot: a slot of a stack comes before it. */
START_TEST(slots_of_stacks_come_before_registers)
{
    enum { SP = 0x7f0000, STACK = 0x80 };
    struct heap_graph g;
    graph_create(&g, NULL);
    uint64_t held = graph_node(&g), stack = fake_memory(g.f, STACK);
    for (uint32_t i = 1; i <= 2; i++) {
        uint64_t thread = fake_thread(g.f, i, 100 * i);
        fake_set(g.f, thread, "Thread", "CachedStackBase", stack + STACK);
        fake_set(g.f, thread, "Thread", "CachedStackLimit", stack);
        fake_register(g.f, 100 * i, FAKE_SP, stack + (i == 1 ? STACK - 8 : 0));
    }
    fake_register(g.f, 100, 5, held); /* the first thread's register comes first in the rows */
    fake_put_word(g.f, stack + 16, held);
    graph_open(&g, CLR_PART_REACH, 1);
    const struct clr_roots *roots = g.dump->roots;
    ck_assert_uint_eq(roots->conservative_count, 2);
    ck_assert_uint_eq(roots->rows[0].address, 0);
    ck_assert_uint_eq(roots->rows[roots->conservative[0].root].address, stack + 16);
    ck_assert_uint_eq(roots->rows[roots->conservative[1].root].address, 0);
    graph_close(&g);
}
END_TEST

/* What the sweep of a background GC has saved of the ephemeral segment is not judged by marks: the
 * objects there were born since. */
START_TEST(a_background_sweep_and_the_ephemeral_segment)
{
    static const struct fake_options segments = {.segments = true};
    struct fake *f = fake_create(&segments);
    const uint64_t pitch = 16;
    uint64_t node = fake_class(f, 0, 3, 7), at[8];
    unsigned young = fake_segment(f, 0, 0), large = fake_segment(f, 0, 3);
    for (int i = 0; i < 8; i++) {
        at[i] = fake_object(f, young, node, 0);
        fake_put_word(f, at[i] + 8, fake_object(f, large, node, 0));
        fake_handle(f, 0, 2, at[i], 0); /* strong */
    }
    uint64_t marks = fake_memory(f, 4096), first_word = at[0] / pitch / 32;
    fake_set(f, fake_segment_address(f, young), "HeapSegment", "BackgroundAllocated",
             fake_segment_end(f, young));
    fake_put_u32(f, fake_variable(f, "CurrentGCState"), 1);
    fake_set_variable(f, "GCHeapMarkArray", marks - first_word * 4);
    fake_set_variable(f, "GCHeapBackgroundMinSavedAddr", at[0]);
    fake_set_variable(f, "GCHeapBackgroundMaxSavedAddr", fake_segment_end(f, young));
    fake_set_variable(f, "GCHeapNextSweepObj", 0);
    fake_set_variable(f, "GCHeapSavedSweepEphemeralSeg", fake_segment_address(f, young));
    fake_set_variable(f, "GCHeapSavedSweepEphemeralStart", at[5]);
    attach(f);
    /* None is marked: what dead ones refer to has rows, and is not reachable. */
    ask_is(db, "SELECT gc_in_progress, complete, checked FROM dump_info", "1|1| 'objects'\n");
    ask_is(db, "SELECT count(*) FROM refs", "8\n");
    char sql[160];
    snprintf(sql, sizeof sql,
             "SELECT min(source) = %llu, count(*) FROM refs AS r JOIN objects AS o ON "
             "o.address = r.target WHERE o.is_reachable",
             (unsigned long long)at[5]);
    ask_is(db, sql, "1|3\n");
    ask_is(db, "SELECT checked FROM dump_info", " 'objects, refs, roots'\n");
    pairs_exec(db, "SELECT clr_detach('dump')");
    /* It was another segment. */
    fake_set_variable(f, "GCHeapSavedSweepEphemeralSeg", at[0]);
    attach(f);
    ask_is(db,
           "SELECT count(*) FROM refs AS r JOIN objects AS o ON o.address = r.target "
           "WHERE o.is_reachable",
           "0\n");
    /* Marking: nothing is dead yet. And no GC at all. */
    for (uint32_t state = 0; state < 3; state += 2) {
        pairs_exec(db, "SELECT clr_detach('dump')");
        fake_put_u32(f, fake_variable(f, "CurrentGCState"), state);
        attach(f);
        ask_is(db, "SELECT gc_in_progress FROM dump_info", state == 0 ? "1\n" : "0\n");
        ask_is(db,
               "SELECT count(*) FROM refs AS r JOIN objects AS o ON o.address = r.target "
               "WHERE o.is_reachable",
               "8\n");
    }
    end(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard_heap");
    TCase *test = tcase_create("guard_heap");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 250);
    tcase_add_test(test, contexts_that_overlap);
    tcase_add_test(test, the_last_object_must_fit);
    tcase_add_test(test, views_of_an_ephemeral_segment);
    tcase_add_loop_test(test, words_that_are_no_header, 0, 2);
    tcase_add_test(test, of_two_chains_the_one_with_more_objects);
    tcase_add_test(test, dead_objects_in_a_free_block);
    tcase_add_loop_test(test, a_core_with_less_than_half_of_its_heap, 0, 2);
    tcase_add_loop_test(test, sizes_of_all_parts_count, 0, 2);
    tcase_add_test(test, every_table_is_the_same_with_many_threads);
    tcase_add_loop_test(test, the_first_failure_by_number_wins, 0, 2);
    tcase_add_test(test, a_dependent_handle_without_a_value);
    tcase_add_test(test, thread_data_behind_handles);
    tcase_add_test(test, roots_of_one_object_by_their_slots);
    tcase_add_test(test, slots_of_stacks_come_before_registers);
    tcase_add_test(test, a_background_sweep_and_the_ephemeral_segment);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
