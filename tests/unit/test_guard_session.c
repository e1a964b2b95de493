/*
 * What a session must not let go of while somebody reads it, and when it looks at the file: dumps
 * whose file changes, whose schema goes, under an open cursor and inside one long statement.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clrdb.c" /* the entry point, which the archive of the extension leaves out */

#include "ask.h"
#include "base/alloc.h"
#include "clr_builder.h"
#include "host.h"

static sqlite3 *db;
static uint64_t live;
static char file[] = "/tmp/clrdb-guard-XXXXXX";

/* A process with 200 threads, as a file with a name of its own. */
static void setup(void)
{
    char *message = NULL;
    live = clr_alloc_live();
    struct fake *f = fake_create(NULL);
    for (uint32_t i = 1; i <= 200; i++)
        fake_thread(f, i, 0);
    strcpy(file + sizeof file - 7, "XXXXXX");
    int out = mkstemp(file), in = open(fake_path(f), O_RDONLY);
    ck_assert(out >= 0 && in >= 0);
    char buffer[4096];
    for (ssize_t got; (got = read(in, buffer, sizeof buffer)) > 0;)
        ck_assert_int_eq(write(out, buffer, (size_t)got), got);
    close(in);
    close(out);
    fake_destroy(f);
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_clrdb_init(db, &message, sqlite3_api), SQLITE_OK);
}

static void teardown(void)
{
    unlink(file);
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

/* Changes nothing of the file but its time, to what it never had. */
static void touch(long nanoseconds)
{
    const struct timespec times[] = {{.tv_sec = 1700000000, .tv_nsec = nanoseconds},
                                     {.tv_sec = 1700000000, .tv_nsec = nanoseconds}};
    ck_assert_int_eq(utimensat(AT_FDCWD, file, times, 0), 0);
}

static sqlite3_stmt *prepare(const char *sql)
{
    sqlite3_stmt *statement = NULL;
    ck_assert_msg(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "%s: %s", sql,
                  sqlite3_errmsg(db));
    return statement;
}

/* --- Files ------------------------------------------------------------------------------------ */

/* A file system counts nanoseconds, and two writes may fall into one second. */
START_TEST(a_nanosecond_is_a_change)
{
    touch(1);
    ask_attach(db, file, "dump", NULL);
    ask_is(db, "SELECT count(*) FROM threads", "200\n");
    touch(2);
    ask_has(db, "SELECT count(*) FROM threads", "was changed while it was open: attach it again");
    touch(1);
    ask_is(db, "SELECT count(*) FROM threads", "200\n");
}
END_TEST

/* A dump that a path opened is not opened anew while a cursor reads it. */
START_TEST(a_changed_file_stays_open_under_its_cursor)
{
    char sql[200];
    touch(1);
    snprintf(sql, sizeof sql, "SELECT managed_id FROM clr_threads('%s')", file);
    sqlite3_stmt *reader = prepare(sql);
    ck_assert_int_eq(sqlite3_step(reader), SQLITE_ROW);
    touch(2);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM clr_threads('%s')", file);
    ask_has(db, sql, "was changed while it was open");
    int rows = 1;
    while (sqlite3_step(reader) == SQLITE_ROW)
        ck_assert_int_eq(sqlite3_column_int(reader, 0), ++rows);
    ck_assert_int_eq(rows, 200);
    ck_assert_int_eq(sqlite3_finalize(reader), SQLITE_OK);
    ask_is(db, sql, "200\n"); /* nobody reads it: opened anew */
}
END_TEST

static void wait_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)context, (void)argc;
    if (sqlite3_value_int(argv[0]) != 2)
        return;
    touch(2);
    nanosleep(&(struct timespec){.tv_nsec = 60 * 1000000}, NULL);
}

/* A cursor that one statement starts again and again looks at the file from time to time. */
START_TEST(a_file_that_changes_within_a_statement_is_noticed)
{
    touch(1);
    ask_attach(db, file, "dump", NULL);
    ck_assert_int_eq(
        sqlite3_create_function(db, "wait", 1, SQLITE_UTF8, NULL, wait_function, NULL, NULL),
        SQLITE_OK);
    pairs_exec(db, "CREATE TABLE temp.n(x INTEGER PRIMARY KEY, a);"
                   "INSERT INTO n SELECT managed_id, address FROM threads WHERE managed_id < 4");
    ask_has(db,
            "SELECT wait(x), managed_id FROM n CROSS JOIN threads AS t ON t.address = n.a "
            "ORDER BY x",
            "was changed while it was open");
}
END_TEST

/* --- Schemas ---------------------------------------------------------------------------------- */

/* A table that was created before its dump was opened is not among those that are counted: its
 * cursor alone keeps the dump. */
START_TEST(a_schema_that_goes_leaves_its_dump_to_the_cursor)
{
    ask_attach(db, file, "first", NULL);
    char *text = pairs_text(db, "SELECT substr(sql, instr(sql, '(') + 1) FROM first.sqlite_schema "
                                "WHERE name = 'threads'");
    long long number = strtoll(text + 2, NULL, 10);
    sqlite3_free(text);
    ck_assert_int_gt(number, 0);
    pairs_exec(db, "CREATE VIRTUAL TABLE temp.early USING clr_threads(%lld)", number + 1);
    ask_attach(db, file, "second", NULL);
    sqlite3_stmt *reader = prepare("SELECT managed_id FROM temp.early");
    ck_assert_int_eq(sqlite3_step(reader), SQLITE_ROW);
    pairs_exec(db, "DETACH second");
    /* SQLite lets go of the detached tables with the next statement; any function looks. */
    pairs_exec(db, "SELECT count(*) FROM first.threads; SELECT clr_what(0)");
    uint64_t kept = clr_alloc_live();
    int rows = 1;
    while (sqlite3_step(reader) == SQLITE_ROW)
        ck_assert_int_eq(sqlite3_column_int(reader, 0), ++rows);
    ck_assert_int_eq(rows, 200);
    ck_assert_int_eq(sqlite3_finalize(reader), SQLITE_OK);
    pairs_exec(db, "SELECT clr_what(0)");
    ck_assert_uint_lt(clr_alloc_live() + 10, kept); /* now it was closed */
    pairs_exec(db, "DROP TABLE temp.early");
}
END_TEST

int main(void)
{
    sqlite3_api = host_api();
    Suite *suite = suite_create("guard_session");
    TCase *test = tcase_create("guard_session");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_test(test, a_nanosecond_is_a_change);
    tcase_add_test(test, a_changed_file_stays_open_under_its_cursor);
    tcase_add_test(test, a_file_that_changes_within_a_statement_is_noticed);
    tcase_add_test(test, a_schema_that_goes_leaves_its_dump_to_the_cursor);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
