/*
 * The session: attaching and detaching dumps, what undoes or moves schemas, what a hostile database
 * can do, interrupts, and memory that runs out. Over a real dump, the extension linked in.
 */
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clrdb.c" /* the entry point, which the archive of the extension leaves out */

#include "base/alloc.h"
#include "host.h"
#include "pairs.h"

#define DUMP CLRDB_DUMPS "/ws11.core"

static sqlite3 *db;
static uint64_t live;

static sqlite3 *connect_to(const char *file)
{
    sqlite3 *opened;
    char *message = NULL;
    ck_assert_int_eq(sqlite3_open(file, &opened), SQLITE_OK);
    ck_assert_int_eq(sqlite3_clrdb_init(opened, &message, sqlite3_api), SQLITE_OK);
    return opened;
}

static void setup(void)
{
    live = clr_alloc_live();
    db = connect_to(":memory:");
}

static void teardown(void)
{
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

static void check_text(const char *sql, const char *wanted)
{
    char *got = pairs_text(db, sql);
    ck_assert_msg(strcmp(got, wanted) == 0, "%s\ngives %s\nnot %s", sql, got, wanted);
    sqlite3_free(got);
}

static void check_contains(const char *sql, const char *wanted)
{
    char *got = pairs_text(db, sql);
    ck_assert_msg(strstr(got, wanted) != NULL, "%s\ngives %s\nnot %s", sql, got, wanted);
    sqlite3_free(got);
}

static void attach(const char *schema)
{
    pairs_exec(db, "SELECT clr_attach(%Q, %Q)", DUMP, schema);
}

static const char schemas[] =
    "SELECT count(*) FROM pragma_database_list WHERE name NOT IN ('main', "
    "'temp')";

/* --- Attaching -------------------------------------------------------------------------------- */

START_TEST(attach_answers_with_a_line)
{
    check_text("SELECT clr_attach('" DUMP "')",
               " 'dump: .NET 11.0.0 linux-x64, workstation GC, regions, 126.7 MB'\n");
    check_text("SELECT object_count, complete FROM dump_info", "6373|1\n");
}
END_TEST

START_TEST(attach_reads_no_heap)
{
    attach("dump");
    struct clr_dump *dump = NULL;
    struct clr_options options = {0};
    ck_assert_int_eq(clr_dump_open(DUMP, &options, NULL, &dump, NULL), CLR_OK);
    uint64_t before = clr_alloc_made();
    check_text("SELECT count(*) FROM threads", "12\n");
    uint64_t light = clr_alloc_made() - before;
    before = clr_alloc_made();
    check_text("SELECT count(*) FROM objects", "6397\n");
    ck_assert_uint_gt(clr_alloc_made() - before, light); /* only this one built the index */
    ck_assert_int_eq(dump->built & CLR_PART_INDEX, 0);
    clr_dump_close(dump);
}
END_TEST

START_TEST(attach_refuses)
{
    check_contains("SELECT clr_attach(NULL)", "path of the core file is NULL");
    check_contains("SELECT clr_attach('')", "path of the core file is empty");
    check_contains("SELECT clr_attach('" DUMP "', '')", "a schema needs a name");
    check_contains("SELECT clr_attach('" DUMP "', 'a' || char(0) || 'b')", "a schema needs a name");
    check_contains("SELECT clr_attach('" DUMP "', 'main')", "'main' is already in use");
    check_contains("SELECT clr_attach('" DUMP "', 'TEMP')", "'TEMP' is already in use");
    check_contains("SELECT clr_attach('/nowhere/core')", "No such file");
    check_contains("SELECT clr_attach('" DUMP "', 'dump', '{\"no\": 1}')", "no");
    check_contains("SELECT clr_attach('" DUMP "', 'dump', '{')", "error: ");
    check_text(schemas, "0\n");
    attach("dump");
    check_contains("SELECT clr_attach('" DUMP "', 'Dump')", "clr_detach it first");
    pairs_exec(db, "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES(1)");
    check_contains("SELECT clr_attach('" DUMP "', 'b')", "COMMIT first");
    pairs_exec(db, "COMMIT");
    check_contains("INSERT INTO t SELECT clr_attach('" DUMP "', 'b')", "COMMIT first");
    check_contains("CREATE TABLE u AS SELECT clr_attach('" DUMP "', 'b')", "COMMIT first");
    check_text(schemas, "1\n");
}
END_TEST

START_TEST(names_are_quoted)
{
    attach("a\"b'c;--");
    check_text("SELECT count(*) FROM \"a\"\"b'c;--\".threads", "12\n");
    check_text("SELECT count(*) > 0 FROM \"a\"\"b'c;--\".size_by_generation", "1\n");
    check_contains("SELECT clr_string(1, 'x')", "there is: a\"b'c;--");
    check_text("SELECT clr_detach('A\"b''C;--')", " 'detached'\n");
    check_text(schemas, "0\n");
}
END_TEST

START_TEST(the_eleventh_is_refused)
{
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        attach(name);
    }
    check_contains("SELECT clr_attach('" DUMP "', 'd10')",
                   "no room for another dump beside d0, d1, d2, d3, d4, d5, d6, d7, d8, d9; SELECT "
                   "clr_detach(schema)");
    check_text("SELECT count(*) FROM d9.threads", "12\n");
    check_text("SELECT clr_detach('d3')", " 'detached'\n");
    attach("d10");
}
END_TEST

static int deny_view(void *context, int action, const char *a, const char *b, const char *c,
                     const char *d)
{
    (void)b, (void)c, (void)d;
    return action == SQLITE_CREATE_VIEW ||
                   (action == SQLITE_CREATE_VTABLE && context && a && strcmp(a, "words") == 0)
               ? SQLITE_DENY
               : SQLITE_OK;
}

START_TEST(a_failed_create_detaches)
{
    uint64_t before = clr_alloc_live();
    sqlite3_set_authorizer(db, deny_view, NULL);
    check_contains("SELECT clr_attach('" DUMP "')", "not authorized");
    sqlite3_set_authorizer(db, deny_view, db);
    check_contains("SELECT clr_attach('" DUMP "')", "not authorized");
    sqlite3_set_authorizer(db, NULL, NULL);
    check_text(schemas, "0\n");
    attach("dump");
    pairs_exec(db, "SELECT clr_detach('dump'); SELECT 1"); /* SQLite lets go of tables lazily */
    ck_assert_uint_eq(clr_alloc_live(), before + 1);       /* the session's list of dumps */
}
END_TEST

/* --- Detaching -------------------------------------------------------------------------------- */

START_TEST(detach_frees_at_once)
{
    attach("a");
    pairs_exec(db, "SELECT clr_detach('a'); SELECT 1");
    uint64_t before = clr_alloc_live();
    attach("a");
    check_text("SELECT count(*) FROM a.objects", "6397\n");
    uint64_t open = clr_alloc_live();
    check_text("SELECT clr_detach('a')", " 'detached'\n");
    ck_assert_uint_lt(clr_alloc_live() + 50, open);
    pairs_exec(db, "SELECT 1"); /* SQLite lets go of the tables with the next statement */
    ck_assert_uint_eq(clr_alloc_live(), before);
    attach("a");
    check_text("SELECT count(*) FROM a.objects", "6397\n");
    pairs_exec(db, "DETACH a");
    check_contains("SELECT clr_string(1)", "no dump is attached");
    ck_assert_uint_eq(clr_alloc_live(), before);
    check_contains("SELECT clr_detach('a')", "no dump is attached");
    check_contains("SELECT clr_detach(NULL)", "NULL");
    attach("b");
    check_contains("SELECT clr_detach('a')", "no dump is attached as 'a'; there is: b");
}
END_TEST

START_TEST(what_is_in_use_stays)
{
    attach("dump");
    check_contains("SELECT clr_detach('dump') FROM objects", "finish the statement");
    check_contains("SELECT clr_detach('dump') FROM objects WHERE type = 1 OR address > 0",
                   "finish the statement");
    pairs_exec(db, "CREATE VIRTUAL TABLE temp.again USING clr_objects(%lld)", 1ll);
    check_contains("SELECT * FROM temp.again", "not open in this session");
    pairs_exec(db, "BEGIN; SELECT count(*) FROM threads");
    check_contains("SELECT clr_detach('dump')", "transaction");
    pairs_exec(db, "COMMIT");
    check_text("SELECT count(*) FROM objects", "6397\n");
    check_text("SELECT clr_detach('dump')", " 'detached'\n");
}
END_TEST

/* A statement that was prepared before holds its tables: they answer with an error. */
START_TEST(old_statements_are_told)
{
    sqlite3_stmt *statement = NULL;
    char *text = NULL;
    attach("dump");
    text = pairs_text(db, "SELECT substr(sql, instr(sql, '(')) FROM dump.sqlite_schema "
                          "WHERE name = 'threads'");
    char number[40];
    snprintf(number, sizeof number, "%.*s", (int)strcspn(text + 2, "'"), text + 2);
    pairs_exec(db, "CREATE VIRTUAL TABLE temp.again USING clr_threads%s", number);
    sqlite3_free(text);
    check_text("SELECT count(*) FROM temp.again", "12\n");
    ck_assert_int_eq(
        sqlite3_prepare_v2(db, "SELECT count(*) FROM temp.again", -1, &statement, NULL), SQLITE_OK);
    /* While it is connected elsewhere DETACH alone does not close it. */
    pairs_exec(db, "DETACH dump");
    check_contains("SELECT clr_string(1)", "no dump is attached");
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    ck_assert_int_eq(sqlite3_column_int(statement, 0), 12);
    sqlite3_finalize(statement);
    pairs_exec(db, "DROP TABLE temp.again");
    attach("dump");
    pairs_exec(db, "SELECT clr_detach('dump')");
}
END_TEST

START_TEST(transactions_and_vacuum_lose_nothing)
{
    attach("dump");
    pairs_exec(db, "BEGIN; CREATE TABLE main.t(x); SELECT count(*) FROM objects; ROLLBACK");
    check_text("SELECT count(*) FROM objects", "6397\n");
    pairs_exec(db, "CREATE TABLE main.t(x); VACUUM; VACUUM dump");
    check_text("SELECT count(*) FROM objects", "6397\n");
    pairs_exec(db, "BEGIN; SAVEPOINT s; CREATE TEMP TABLE u(x); ROLLBACK TO s; COMMIT");
    pairs_exec(db, "BEGIN; CREATE TABLE dump.own(x); ROLLBACK");
    check_text("SELECT count(*) FROM objects", "6397\n");
    pairs_exec(db, "BEGIN; CREATE TABLE main.v(x)");
    check_text("SELECT count(*) FROM strings", "2575\n");
    pairs_exec(db, "ROLLBACK");
    check_text("SELECT clr_string(object) = value FROM strings LIMIT 1", "1\n");
    pairs_exec(db, "PRAGMA writable_schema = RESET");
    check_text("SELECT count(*) FROM objects", "6397\n");
}
END_TEST

START_TEST(two_dumps)
{
    attach("before");
    attach("after");
    check_text("SELECT count(*) FROM before.objects JOIN after.objects USING (address, type)",
               "6397\n");
    check_contains("SELECT clr_string(1)", "2 dumps are attached (before, after): name one as the "
                                           "last argument");
    check_text("SELECT count(*) FROM before.strings WHERE clr_string(object, 'before') = value",
               "2575\n");
    check_text("SELECT clr_string(1, NULL)", "NULL\n");
    pairs_exec(db, "SELECT clr_detach('before')");
    check_text("SELECT count(*) FROM after.strings WHERE clr_string(object) = value", "2575\n");
}
END_TEST

START_TEST(a_second_load_keeps_all)
{
    char *message = NULL;
    attach("dump");
    ck_assert_int_eq(sqlite3_clrdb_init(db, &message, sqlite3_api), SQLITE_OK);
    pairs_exec(db, "BEGIN; CREATE TABLE main.t(x); ROLLBACK");
    check_text("SELECT count(*) FROM objects", "6397\n");
    check_text("SELECT clr_what(0)", " 'null'\n");
}
END_TEST

/* --- Files ------------------------------------------------------------------------------------ */

static void copy_file(const char *from, const char *to)
{
    struct stat stat;
    int in = open(from, O_RDONLY), out = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ck_assert(in >= 0 && out >= 0 && fstat(in, &stat) == 0);
    for (off_t done = 0; done < stat.st_size;)
        ck_assert_int_gt(sendfile(out, in, &done, (size_t)(stat.st_size - done)), 0);
    close(in);
    close(out);
}

/* Cut where the runtime's variables begin: each table that needs them is an error, none is empty. */
START_TEST(a_core_cut_before_its_runtime_says_so)
{
    static const char *const tables[] = {"threads", "objects", "segments", "modules",
                                         "types",   "roots",   "handles",  "native_codes",
                                         "methods", "statics"};
    char path[] = "/tmp/clrdb-test-XXXXXX", sql[200];
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    copy_file(DUMP, path);
    ck_assert_int_eq(truncate(path, 125243392), 0); /* 0x7fdaeff29000, of libcoreclr.so */
    pairs_exec(db, "SELECT clr_attach(%Q)", path);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[i]);
        check_contains(sql, "the core is cut, memory that is missing: 0x7fdaeff29000-");
    }
    check_text("SELECT complete, object_count IS NULL, missing_bytes > 0 FROM dump_info",
               "0|1|1\n");
    check_text("SELECT count(*) FROM problems WHERE area = 'threads' AND severity = 'error'",
               "1\n");
    unlink(path);
}
END_TEST

START_TEST(a_changed_file_is_an_error)
{
    char path[] = "/tmp/clrdb-test-XXXXXX", sql[200];
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    copy_file(DUMP, path);
    pairs_exec(db, "SELECT clr_attach(%Q)", path);
    check_text("SELECT count(*) FROM threads", "12\n");
    snprintf(sql, sizeof sql, "SELECT count(*) FROM clr_threads('%s')", path);
    check_text(sql, "12\n");
    ck_assert_int_eq(truncate(path, 40000000), 0);
    check_contains("SELECT count(*) FROM objects", "while it was open: attach it again");
    check_contains("SELECT clr_type_name(1)", "while it was open");
    copy_file(DUMP, path);
    check_contains("SELECT count(*) FROM threads", "while it was open");
    check_text(sql, "12\n"); /* opened again */
    unlink(path);
}
END_TEST

/* What somebody else's database file can do with our modules: nothing that opens a file. */
START_TEST(a_hostile_database_opens_nothing)
{
    char path[] = "/tmp/clrdb-test-XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    sqlite3_close(db);
    db = connect_to(path);
    attach("dump");
    pairs_exec(db, "CREATE VIRTUAL TABLE one USING clr_objects(1);"
                   "CREATE VIEW two AS SELECT count(*) FROM clr_objects('" DUMP "');"
                   "CREATE VIEW three AS SELECT clr_attach('" DUMP "', 'x');"
                   "CREATE VIEW five AS SELECT count(*) FROM clr_schema;"
                   "CREATE VIEW six AS SELECT clr_hex(1), clr_address('1f');"
                   "CREATE VIEW seven AS SELECT clr_type_name(1)");
    check_contains("CREATE VIRTUAL TABLE bad USING clr_objects('" DUMP "')",
                   "created by clr_attach");
    check_contains("CREATE VIRTUAL TABLE bad USING clr_objects(1, 2)", "created by clr_attach");
    check_contains("CREATE VIRTUAL TABLE bad USING clr_objects(-1)", "created by clr_attach");
    check_contains("CREATE VIRTUAL TABLE bad USING clr_objects(99999999999999999999)",
                   "created by clr_attach");
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    db = connect_to(path);
    pairs_exec(db, "PRAGMA trusted_schema = OFF");
    check_contains("SELECT * FROM one", "not open in this session");
    check_contains("SELECT * FROM two", "unsafe use");
    check_contains("SELECT * FROM three", "unsafe use");
    check_contains("SELECT * FROM five", "\n");
    check_text("SELECT * FROM six", " '0x0000000000000001'|31\n");
    attach("dump");
    check_contains("SELECT * FROM one", "not open in this session");
    check_text("SELECT * FROM seven", "NULL\n");
    check_text("SELECT count(*) > 3 FROM size_by_generation", "1\n");
    pairs_exec(db, "DROP TABLE one");
    check_contains("SELECT * FROM clr_objects(NULL)", "path of the core file is NULL");
    check_contains("SELECT * FROM clr_objects", "clr_objects needs the path of a core file");
    unlink(path);
}
END_TEST

/* --- Interrupts ------------------------------------------------------------------------------- */

static int calls, stop_at;

static int stop_at_call(void *context)
{
    (void)context;
    return ++calls == stop_at;
}

/* Whatever moment the host chooses to stop clr_attach, nothing is left over after the next call. */
START_TEST(attach_can_be_stopped_at_any_time)
{
    bool stopped = true;
    int count = 0;
    for (stop_at = 1; stopped; stop_at += 1 + stop_at / 16, count++) {
        calls = 0;
        sqlite3_progress_handler(db, 20, stop_at_call, NULL);
        char *got = pairs_text(db, "SELECT clr_attach('" DUMP "')");
        int code = sqlite3_errcode(db);
        sqlite3_progress_handler(db, 0, NULL, NULL);
        stopped = strstr(got, "error: ") != NULL;
        ck_assert_int_eq(code, stopped ? SQLITE_INTERRUPT : SQLITE_OK);
        sqlite3_free(got);
        got = pairs_text(db, "SELECT clr_detach('dump')");
        ck_assert_msg(!strstr(got, "error:") == !stopped, "%s", got);
        sqlite3_free(got);
        check_text(schemas, "0\n");
    }
    ck_assert_int_gt(count, 20);
}
END_TEST

/* The host wants to stop and goes on wanting it: DETACH cannot run in that call. */
static int stop_from_call(void *context)
{
    (void)context;
    return ++calls >= stop_at;
}

START_TEST(a_half_made_schema_goes_later)
{
    bool stopped = true, left_over = false;
    for (stop_at = 1; stopped; stop_at += 1 + stop_at / 32) {
        calls = 0;
        sqlite3_progress_handler(db, 1, stop_from_call, NULL);
        char *got = pairs_text(db, "SELECT clr_attach('" DUMP "')");
        sqlite3_progress_handler(db, 0, NULL, NULL);
        stopped = strstr(got, "error: ") != NULL;
        sqlite3_free(got);
        got = pairs_text(db, schemas);
        left_over |= stopped && strcmp(got, "0\n") != 0;
        sqlite3_free(got);
        got = pairs_text(db, "SELECT clr_detach('dump')");
        sqlite3_free(got);
        check_text(schemas, "0\n");
    }
    ck_assert(left_over); /* or this test shows nothing */
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */

static const char *const questions[] = {
    "SELECT clr_attach('" DUMP "')",
    "SELECT count(*), sum(size) FROM objects",
    "SELECT count(*) FROM threads JOIN segments ON segments.address = threads.object",
    "SELECT clr_what(address), clr_string(address) FROM objects WHERE address > 0 LIMIT 1",
    "SELECT * FROM dump_info",
    "SELECT count(*) FROM clr_threads('" DUMP "')",
    "SELECT count(*) FROM clr_schema",
};

/* The n-th allocation fails, and the memory is short from then on. */
START_TEST(every_allocation_may_fail)
{
    bool failed = true;
    uint64_t before = clr_alloc_live(), n;
    for (n = 1; failed; n++) {
        sqlite3 *other = NULL;
        char *message = NULL;
        ck_assert_int_eq(sqlite3_open(":memory:", &other), SQLITE_OK);
        clr_alloc_fail_at(n);
        int code = sqlite3_clrdb_init(other, &message, sqlite3_api);
        failed = code != SQLITE_OK;
        ck_assert(code == SQLITE_OK || code == SQLITE_NOMEM);
        for (size_t i = 0; !failed && i < sizeof questions / sizeof *questions; i++) {
            char *got = pairs_text(other, questions[i]);
            failed = strstr(got, "error: ") != NULL;
            ck_assert_msg(!failed || sqlite3_errcode(other) == SQLITE_NOMEM,
                          "allocation %llu: %s gives %s", (unsigned long long)n, questions[i], got);
            sqlite3_free(got);
        }
        clr_alloc_fail_at(0);
        sqlite3_free(message);
        ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
        ck_assert_uint_eq(clr_alloc_live(), before);
    }
    ck_assert_uint_gt(n, 400);
}
END_TEST

/* A failure is no state: the same query, asked again with memory, answers. */
START_TEST(after_a_failure_the_session_goes_on)
{
    attach("dump");
    for (uint64_t n = 1;; n += 3) {
        clr_alloc_fail_at(n);
        char *got = pairs_text(db, "SELECT count(*), sum(size) FROM objects");
        clr_alloc_fail_at(0);
        bool failed = strstr(got, "error: ") != NULL;
        sqlite3_free(got);
        if (!failed)
            break;
        check_text("SELECT count(*) FROM threads", "12\n");
    }
    check_text("SELECT count(*), sum(size) FROM objects", "6397|1536368\n");
    check_text("SELECT complete, unwalked_bytes FROM dump_info", "1|0\n");
}
END_TEST

/* --- The module ------------------------------------------------------------------------------- */

static int old_number(void)
{
    return 3037002;
}
static const char *old_version(void)
{
    return "3.37.2";
}

START_TEST(old_hosts_are_refused)
{
    sqlite3_api_routines old = {0};
    char *message = NULL;
    old.libversion_number = old_number;
    old.libversion = old_version;
    old.mprintf = sqlite3_mprintf;
    void *module = dlopen(CLRDB_MODULE, RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(module != NULL, "%s", dlerror());
    int (*entry)(sqlite3 *, char **, const sqlite3_api_routines *);
    *(void **)&entry = dlsym(module, "sqlite3_clrdb_init");
    ck_assert_ptr_nonnull(entry);
    ck_assert_int_eq(entry(NULL, &message, &old), SQLITE_ERROR);
    ck_assert_str_eq(message, "clrdb needs SQLite 3.38.0 or later; this program has 3.37.2");
    sqlite3_free(message);
    dlclose(module);
}
END_TEST

static void check_command(const char *command, const char *wanted)
{
    char output[500];
    FILE *pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    size_t length = fread(output, 1, sizeof output - 1, pipe);
    output[length] = 0;
    pclose(pipe);
    ck_assert_str_eq(output, wanted);
}

START_TEST(one_symbol_is_exported)
{
    check_command("nm -D --defined-only '" CLRDB_MODULE "' | sed 's/.* //'",
                  "sqlite3_clrdb_init\n");
    check_command("readelf -d '" CLRDB_MODULE "' | grep -c libsqlite3", "0\n");
}
END_TEST

/* --- Functions -------------------------------------------------------------------------------- */

START_TEST(addresses_are_read_as_pasted)
{
    check_text("SELECT clr_hex(0), clr_hex(255), clr_hex(-1), clr_hex(NULL), clr_hex('255'), "
               "clr_hex('0xff'), clr_hex(255.0)",
               " '0x0000000000000000'| '0x00000000000000ff'| '0xffffffffffffffff'|NULL| "
               "'0x00000000000000ff'| '0x00000000000000ff'| '0x00000000000000ff'\n");
    check_contains("SELECT clr_hex('x')", "clr_hex: number: 'x' is no whole number; clr_address(");
    check_contains("SELECT clr_hex(1.5)", "'1.5' is no whole number");
    check_contains("SELECT clr_hex(x'31')", "is no whole number");
    check_contains("SELECT clr_hex('0x1ffffffffffffffff')", "is no whole number");
    check_text("SELECT clr_address('7f3a1c002a18') = 0x7f3a1c002a18, "
               "clr_address('0x7F3A1C002A18') = 0x7f3a1c002a18, "
               "clr_address('00007f3a`1c002a18') = 0x7f3a1c002a18, "
               "clr_address('0x0000_7f3a_1c00_2a18') = 0x7f3a1c002a18, "
               "clr_address(char(9) || ' 0X00000000007f3a1c002a18 ') = 0x7f3a1c002a18, "
               "clr_address('0x10'), clr_address(10), clr_address(10.0), clr_address('5'), "
               "clr_address('ffffffffffffffff')",
               "1|1|1|1|1|16|10|10|5|-1\n");
    check_contains("SELECT clr_address('140525042268432')",
                   "'140525042268432' may be decimal or hexadecimal: write 0x in front");
    check_text("SELECT clr_address(NULL)", "NULL\n");
    /* What is no address is an error: as NULL it would find no row, and nobody would know why. */
    static const char *const bad[] = {"''",     "'0x'",    "'xyz'", "'12 34'",
                                      "'`12'",  "'12`'",   "1.5",   "'1ffffffffffffffff'",
                                      "x''",    "x'3132'", "'-1'",  "'12' || char(0) || 'x'",
                                      "'0x0x'", "'12``34'"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *sql = sqlite3_mprintf("SELECT clr_address(%s)", bad[i]);
        check_contains(sql, "is no address; write it as hexadecimal text");
        sqlite3_free(sql);
    }
    check_text("SELECT clr_hex(clr_address(clr_hex(0x7f3a1c002a18))) = clr_hex(0x7f3a1c002a18)",
               "1\n");
    check_text("SELECT clr_version()", " '" CLRDB_VERSION "'\n");
}
END_TEST

START_TEST(functions_agree_with_tables)
{
    attach("dump");
    check_text("SELECT count(*) FROM types WHERE clr_type_name(address) IS NOT name", "0\n");
    check_text("SELECT count(*) FROM strings WHERE clr_string(object) IS NOT value", "0\n");
    check_text("SELECT count(*) FROM objects WHERE (clr_string(address) IS NULL) = "
               "(address IN (SELECT object FROM strings))",
               "0\n");
    /* A word that happens to be the MethodTable of String is no string. */
    check_text("SELECT count(*) FROM objects WHERE clr_string(address + 8) IS NOT NULL", "0\n");
    check_text("SELECT clr_string(0), clr_string(NULL), clr_string(-1), clr_type_name(0), "
               "clr_type_name(-8), clr_type_name(NULL)",
               "NULL|NULL|NULL|NULL|NULL|NULL\n");
    check_contains("SELECT clr_string('10x')", "no whole number; clr_address(");
    check_text("SELECT count(*) FROM objects WHERE clr_what(address) NOT LIKE iif(is_free, 'free "
               "block 0x%', 'object 0x%: ' || type_name || '%')",
               "0\n");
    check_text("SELECT count(*) FROM objects WHERE clr_what(address + 8) NOT LIKE "
               "printf('inside %% 0x%x + 0x8%%', address)",
               "0\n");
    check_text("SELECT count(*) FROM types WHERE clr_what(address) <> 'MethodTable of ' || name",
               "0\n");
    check_text("SELECT count(*) FROM modules WHERE clr_what(address) <> 'module ' || name", "0\n");
    check_text("SELECT count(*) FROM threads WHERE clr_what(address) <> "
               "printf('thread %d (os id %d)', managed_id, os_id) OR clr_what(stack_base - 8) <> "
               "printf('stack of thread %d (os id %d)', managed_id, os_id)",
               "0\n");
    check_text(
        "SELECT count(*) FROM load_contexts WHERE clr_what(address) NOT LIKE 'load context%'",
        "0\n");
    check_text("SELECT count(*) FROM memory_regions WHERE use IS NULL AND clr_what(start) = ''",
               "0\n");
    check_text("SELECT count(*) > 0 FROM images WHERE clr_what(start + 16) LIKE path || ' + 0x10%'",
               "1\n");
    check_text("SELECT clr_what(0), substr(clr_what(1), 1, 15)", " 'null'| 'not in the dump'\n");
    pairs_exec(db,
               "PRAGMA trusted_schema = OFF; CREATE VIEW dump.v AS SELECT clr_string(object) AS "
               "s, clr_what(object) AS w, clr_type_name(1) FROM strings");
    check_text("SELECT count(s), count(w) FROM v", "2575|2575\n");
}
END_TEST

int main(void)
{
    sqlite3_api = host_api();
    Suite *suite = suite_create("session");
    TCase *test = tcase_create("session");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 250);
    tcase_add_test(test, attach_answers_with_a_line);
    tcase_add_test(test, attach_reads_no_heap);
    tcase_add_test(test, attach_refuses);
    tcase_add_test(test, names_are_quoted);
    tcase_add_test(test, the_eleventh_is_refused);
    tcase_add_test(test, a_failed_create_detaches);
    tcase_add_test(test, detach_frees_at_once);
    tcase_add_test(test, what_is_in_use_stays);
    tcase_add_test(test, old_statements_are_told);
    tcase_add_test(test, transactions_and_vacuum_lose_nothing);
    tcase_add_test(test, two_dumps);
    tcase_add_test(test, a_second_load_keeps_all);
    tcase_add_test(test, a_core_cut_before_its_runtime_says_so);
    tcase_add_test(test, a_changed_file_is_an_error);
    tcase_add_test(test, a_hostile_database_opens_nothing);
    tcase_add_test(test, attach_can_be_stopped_at_any_time);
    tcase_add_test(test, a_half_made_schema_goes_later);
    tcase_add_test(test, every_allocation_may_fail);
    tcase_add_test(test, after_a_failure_the_session_goes_on);
    tcase_add_test(test, old_hosts_are_refused);
    tcase_add_test(test, one_symbol_is_exported);
    tcase_add_test(test, addresses_are_read_as_pasted);
    tcase_add_test(test, functions_agree_with_tables);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
