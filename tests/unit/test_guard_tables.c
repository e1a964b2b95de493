/*
 * Tables and functions where one rule alone decides, over the shipped dump with a few bytes changed,
 * and over small processes.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "core_builder.h"
#include "heap_graph.h"

#define DUMP CLRDB_DUMPS "/ws11.core"

static sqlite3 *db;
static struct patch patch;

static void setup(void)
{
    db = ask_open(CLRDB_MODULE);
}

static void teardown(void)
{
    ask_close(db);
}

/* The dump as it is, to look up what is to be changed. */
static void open_patch(void)
{
    patch_open(&patch, DUMP);
    ask_attach(db, patch.path, "dump", NULL);
}

static void reopen_patch(void)
{
    patch_write(&patch);
    pairs_exec(db, "SELECT clr_detach('dump')");
    ask_attach(db, patch.path, "dump", NULL);
}

static uint64_t field_address(uint64_t object, const char *field)
{
    return (uint64_t)ask_number(
        db, "SELECT address FROM field_values WHERE object = %lld AND field = %Q",
        (long long)object, field);
}

/* --- Collections ------------------------------------------------------------------------------ */

/* A segment that takes no more elements has twice its length added to the tail. */
START_TEST(a_frozen_segment_of_a_concurrent_queue)
{
    enum { HEAD = 30, COUNT = 5, LENGTH = 32 };
    open_patch();
    uint64_t queue =
        (uint64_t)ask_number(db, "SELECT min(address) FROM objects WHERE type_name LIKE "
                                 "'System.Collections.Concurrent.ConcurrentQueue<%%>'");
    uint64_t segment =
        (uint64_t)ask_number(db,
                             "SELECT target FROM field_values WHERE object = %lld AND field = "
                             "'_head'",
                             (long long)queue);
    patch_put(&patch, field_address(segment, "_headAndTail.Head"), HEAD, 4);
    patch_put(&patch, field_address(segment, "_headAndTail.Tail"), HEAD + COUNT + 2 * LENGTH, 4);
    uint64_t frozen = field_address(segment, "_frozenForEnqueues");
    patch_put(&patch, frozen, 1, 1);
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT count(*), count(DISTINCT address), (SELECT count(*) FROM problems WHERE area "
             "= 'elements') FROM elements WHERE object = %llu",
             (unsigned long long)queue);
    reopen_patch();
    ask_is(db, sql, "5|5|0\n");
    patch_put(&patch, frozen, 0, 1);
    reopen_patch();
    ask_is(db, sql, "0|0|1\n"); /* 69 of 32 */
    patch_close(&patch);
}
END_TEST

START_TEST(texts_of_empty_collections)
{
    ask_attach(db, DUMP, "dump", NULL);
    ask_is(
        db,
        "SELECT DISTINCT clr_text(address) FROM objects WHERE length IS NOT 512 AND type_name IN "
        "('System.Collections.Generic.List<System.Threading.TimerQueue>', "
        "'System.Collections.Concurrent.ConcurrentDictionary<System.String, System.Int32>', "
        "'System.Collections.Concurrent.ConcurrentQueue<System.Object>[]', 'Zoo.Node[]') "
        "ORDER BY 1",
        " 'System.Collections.Concurrent.ConcurrentDictionary<System.String, System.Int32> "
        "(1 item)'\n"
        " 'System.Collections.Concurrent.ConcurrentQueue<System.Object>[0]'\n"
        " 'System.Collections.Generic.List<System.Threading.TimerQueue> (0 items)'\n"
        " 'System.Collections.Generic.List<System.Threading.TimerQueue> (1 item)'\n"
        " 'Zoo.Node[0]'\n");
}
END_TEST

/* --- Delegates -------------------------------------------------------------------------------- */

/* An entry of an invocation list that is no delegate is an entry of which nothing is known, and the
 * rest is as before. */
START_TEST(a_delegate_that_is_none)
{
    open_patch();
    uint64_t object = (uint64_t)ask_number(
        db, "SELECT object FROM delegates GROUP BY object HAVING count(*) > 5");
    uint64_t list =
        (uint64_t)ask_number(db,
                             "SELECT target FROM field_values WHERE object = %lld AND field = "
                             "'_helperObject'",
                             (long long)object);
    uint64_t slot = (uint64_t)ask_number(
        db, "SELECT address FROM elements WHERE object = %lld AND position = 3", (long long)list);
    uint64_t other = (uint64_t)ask_number(
        db, "SELECT min(address) FROM objects WHERE type_name = 'System.String' AND size > 100");
    char sql[300];
    snprintf(
        sql, sizeof sql,
        "SELECT count(*), count(target), count(method), max(row) FILTER (WHERE method IS "
        "NULL), count(*) FILTER (WHERE target IS NULL AND method IS NULL) FROM delegates WHERE "
        "object = %llu",
        (unsigned long long)object);
    ask_is(db, sql, "20|20|20|NULL|0\n");
    /* Its words look like those of a delegate with a target. */
    static const char *const fields[] = {"_target", "_methodPtr", "_methodPtrAux"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        patch_put(&patch, other + (field_address(object, fields[i]) - object), i == 0 ? object : 0,
                  8);
    patch_put(&patch, slot, other, 8); /* an object, but no delegate */
    reopen_patch();
    ask_is(db, sql, "20|19|19|3|1\n");
    ask_is(db, "SELECT count(*) FROM problems WHERE area = 'delegates'", "1\n");
    patch_put(&patch, slot, 0x123, 8);
    reopen_patch();
    ask_is(db, sql, "20|19|19|3|1\n");
    patch_close(&patch);
}
END_TEST

/* A target that is no object: the row says what stands there, and nobody takes it for one. */
START_TEST(a_delegate_whose_target_is_no_object)
{
    open_patch();
    static const char subscribers[] =
        "SELECT count(*), count(target_type) FROM event_subscribers WHERE target IS NOT NULL";
    int64_t all = ask_number(db, "SELECT count(*) FROM event_subscribers WHERE target IS NOT NULL");
    ck_assert_int_gt(all, 3);
    uint64_t slot = (uint64_t)ask_number(
        db, "SELECT address FROM elements WHERE object = (SELECT target FROM field_values WHERE "
            "object = (SELECT object FROM delegates GROUP BY object HAVING count(*) > 5) AND field "
            "= '_helperObject') AND position = 3");
    patch_put(&patch, field_address(patch_get(&patch, slot, 8), "_target"), 0x123, 8);
    reopen_patch();
    char wanted[60];
    snprintf(wanted, sizeof wanted, "%lld|%lld\n", (long long)all, (long long)all - 1);
    ask_is(db, subscribers, wanted);
    ask_is(db, "SELECT count(*) FROM delegates WHERE target = 0x123 AND method IS NOT NULL", "2\n");
    patch_close(&patch);
}
END_TEST

/* --- Modules ---------------------------------------------------------------------------------- */

/* A collectible context whose objects are gone: the runtime has let go of it. */
START_TEST(a_context_that_was_let_go)
{
    open_patch();
    ask_is(db, "SELECT is_unloading FROM load_contexts WHERE is_collectible", "0\n");
    static const char *const columns[] = {"object", "allocator_object"};
    for (size_t i = 0; i < 2; i++) {
        uint64_t object = (uint64_t)ask_number(
            db, "SELECT %s FROM load_contexts WHERE is_collectible", columns[i]);
        sqlite3_stmt *statement = NULL;
        sqlite3_prepare_v2(db, "SELECT address FROM handles WHERE object = ?", -1, &statement,
                           NULL);
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)object);
        while (sqlite3_step(statement) == SQLITE_ROW)
            patch_put(&patch, (uint64_t)sqlite3_column_int64(statement, 0), 0, 8);
        sqlite3_finalize(statement);
    }
    reopen_patch();
    ask_is(db,
           "SELECT object, allocator_object, is_unloading FROM load_contexts WHERE is_collectible",
           "NULL|NULL|1\n");
    ask_is(db, "SELECT count(*) FROM problems WHERE area = 'load_contexts'", "0\n");
    patch_close(&patch);
}
END_TEST

/* --- Paths and addresses ---------------------------------------------------------------------- */

/* A path of a thousand different steps is written out; of a longer one the middle is left out. */
START_TEST(a_path_of_more_than_a_thousand_steps)
{
    enum { STEPS = 1002 };
    struct heap_graph g;
    uint64_t node[STEPS + 1];
    char sql[300];
    graph_create(&g, NULL);
    for (unsigned i = 0; i <= STEPS; i++)
        node[i] = graph_node(&g);
    graph_root(&g, node[0]);
    for (unsigned i = 0; i < STEPS; i++)
        graph_link(&g, node[i], i % 2, node[i + 1]); /* A, B, A: no step is that before it */
    ask_attach(db, fake_path(g.f), "dump", "{\"partial_heap\": true}");
    static const char *const wanted[] = {"1001|0\n", "1002|1\n", "1002|2\n"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT (length(p) - length(replace(p, ' -> ', ''))) / 4, CAST(substr(p, "
                 "instr(p, '... (') + 5, 2) AS INTEGER) * (instr(p, '... (') > 0) FROM (SELECT "
                 "clr_path(%llu) AS p)",
                 (unsigned long long)node[1000 + i]);
        ask_is(db, sql, wanted[i]);
    }
    pairs_exec(db, "SELECT clr_detach('dump')");
    graph_close(&g);
}
END_TEST

START_TEST(the_bounds_of_a_stack)
{
    enum { SIZE = 0x100 };
    struct fake *f = fake_create(NULL);
    uint64_t memory = fake_memory(f, 4 * SIZE), limit = memory + SIZE, base = limit + SIZE;
    uint64_t thread = fake_thread(f, 7, 0), other = fake_thread(f, 8, 0);
    fake_set(f, thread, "Thread", "CachedStackLimit", limit);
    fake_set(f, thread, "Thread", "CachedStackBase", base);
    fake_set(f, other, "Thread", "CachedStackBase", base + SIZE); /* its limit is not known */
    ask_attach(db, fake_path(f), "dump", "{\"partial_heap\": true}");
    const struct {
        uint64_t address;
        const char *start;
    } places[] = {
        {limit - 1, "memory 0x"}, {limit, "stack of thread 7 ("}, {base - 1, "stack of thread 7 ("},
        {base, "memory 0x"},      {thread, "thread 7 ("},         {other, "thread 8 ("},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char sql[100], wanted[100];
        snprintf(sql, sizeof sql, "SELECT substr(clr_what(%llu), 1, %zu)",
                 (unsigned long long)places[i].address, strlen(places[i].start));
        snprintf(wanted, sizeof wanted, " '%s'\n", places[i].start);
        ask_is(db, sql, wanted);
    }
    pairs_exec(db, "SELECT clr_detach('dump')");
    fake_destroy(f);
}
END_TEST

/* --- Several dumps ---------------------------------------------------------------------------- */

/* SQLite tells rows of the terms of an OR apart by their keys, or, where there is none, as in
 * dump_info, by their rowids: those of two dumps differ, although the dumps are the same. */
START_TEST(rowids_of_two_dumps)
{
    char copy[] = "/tmp/clrdb-guard-XXXXXX";
    struct patch bytes;
    int file = mkstemp(copy);
    patch_open(&bytes, DUMP);
    ck_assert_int_ge(file, 0);
    for (size_t done = 0; done < bytes.size;) {
        ssize_t put = write(file, bytes.bytes + done, bytes.size - done);
        ck_assert_int_gt(put, 0);
        done += (size_t)put;
    }
    close(file);
    patch_close(&bytes);
    static const char *const tables[] = {"dump_info", "threads", "globals"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        int64_t rows = ask_number(db, "SELECT count(*) FROM clr_%s(%Q)", tables[i], DUMP);
        ck_assert_int_gt(rows, 0);
        ck_assert_int_eq(ask_number(db,
                                    "SELECT count(*) FROM clr_%s WHERE (dump = %Q AND 1 < 2) OR "
                                    "(dump = %Q AND 2 < 3)",
                                    tables[i], DUMP, copy),
                         2 * rows);
    }
    unlink(copy);
}
END_TEST

/* --- Mapped files ----------------------------------------------------------------------------- */

/* Rows of NT_FILE that overlap: each address is in one region. */
START_TEST(mapped_files_that_overlap)
{
    char path[CORE_PATH];
    struct core *core = core_create(8, false, 62);
    core_add_file(core, 0x100000, 0x104000, 0, "/a");
    core_add_file(core, 0x101000, 0x102000, 0, "/inside");
    core_add_file(core, 0x102000, 0x106000, 0, "/b");
    core_add_file(core, 0x106000, 0x107000, 0, "/c");
    core_add_file(core, 0x106000, 0x107000, 0, "/d"); /* no repetition: another file */
    core_add_memory(core, 0x103000, NULL, 0x1000, 0x1000, 4);
    int file = core_open(core, path);
    core_destroy(core);
    struct clr_problems *problems = clr_problems_create();
    struct clr_process *process = NULL;
    const struct clr_region *regions;
    struct clr_error error = {0};
    ck_assert_msg(clr_process_open(path, NULL, NULL, problems, &process, &error) == CLR_OK, "%s",
                  error.text);
    static const struct {
        uint64_t start, size;
        const char *path;
    } wanted[] = {{0x100000, 0x3000, "/a"},
                  {0x103000, 0x1000, NULL}, /* saved; either of two files */
                  {0x104000, 0x2000, "/b"},
                  {0x106000, 0x1000, "/c"}};
    const struct clr_image *images;
    ck_assert_uint_eq(clr_process_images(process, &images), 5);
    ck_assert_uint_eq(clr_process_regions(process, &regions), 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(regions[i].start, wanted[i].start);
        ck_assert_uint_eq(regions[i].size, wanted[i].size);
        if (wanted[i].path)
            ck_assert_str_eq(regions[i].path, wanted[i].path);
    }
    clr_process_close(process);
    clr_problems_destroy(problems);
    close(file);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard_tables");
    TCase *test = tcase_create("guard_tables");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 250);
    tcase_add_test(test, a_frozen_segment_of_a_concurrent_queue);
    tcase_add_test(test, texts_of_empty_collections);
    tcase_add_test(test, a_delegate_that_is_none);
    tcase_add_test(test, a_delegate_whose_target_is_no_object);
    tcase_add_test(test, a_context_that_was_let_go);
    tcase_add_test(test, a_path_of_more_than_a_thousand_steps);
    tcase_add_test(test, the_bounds_of_a_stack);
    tcase_add_test(test, rowids_of_two_dumps);
    tcase_add_test(test, mapped_files_that_overlap);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
