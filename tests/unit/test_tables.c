/*
 * Every table of the product, over a real dump: what clr_schema declares is what SQLite sees, names
 * need no quotes, every column can be read, and whatever is asked gives what an ordinary table with
 * the same rows gives. A new table is tested without a line here, unless it needs a value.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairs.h"

#define SCRIPT CLRDB_SOURCE "/tests/sql/properties.sql"
#define DUMP CLRDB_DUMPS "/ws11.core"

/* Values for tables that give rows for a value only. */
#define SAMPLES CLRDB_SOURCE "/tests/sql/samples.json"
static char samples[10000];

static sqlite3 *db;

static void read_samples(void)
{
    FILE *file = fopen(SAMPLES, "rb");
    ck_assert_ptr_nonnull(file);
    samples[fread(samples, 1, sizeof samples - 1, file)] = 0;
    fclose(file);
}

static void setup(void)
{
    char *message = NULL;
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_enable_load_extension(db, 1);
    if (sqlite3_load_extension(db, CLRDB_MODULE, NULL, &message) != SQLITE_OK)
        ck_abort_msg("%s", message);
    pairs_exec(db, "SELECT clr_attach(%Q)", DUMP);
    read_samples();
}

static void teardown(void)
{
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

/* The condition that gives a table's required values, '1' if it has none. */
static const char *fixed_of(const char *table)
{
    static char fixed[2000];
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, "SELECT value FROM json_each(?) WHERE key = ?", -1, &statement, NULL);
    sqlite3_bind_text(statement, 1, samples, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, table, -1, SQLITE_STATIC);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    snprintf(fixed, sizeof fixed, "%s",
             found ? (const char *)sqlite3_column_text(statement, 0) : "1");
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
    return fixed;
}

static char *text_of(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    char *got = pairs_text(db, sql);
    sqlite3_free(sql);
    return got;
}

static void check_text(const char *sql, const char *wanted)
{
    char *got = pairs_text(db, sql);
    ck_assert_str_eq(got, wanted);
    sqlite3_free(got);
}

/* Runs EACH for every row of a query of one text column, when the query has ended. */
static int for_each(const char *sql, void (*each)(const char *text))
{
    static char rows[2000][80];
    sqlite3_stmt *statement = NULL;
    int count = 0;
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        ck_assert_int_lt(count, 2000);
        snprintf(rows[count++], sizeof rows[0], "%s",
                 (const char *)sqlite3_column_text(statement, 0));
    }
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
    for (int i = 0; i < count; i++)
        each(rows[i]);
    return count;
}

/* --- Names ------------------------------------------------------------------------------------ */

/* Every place where a name can stand without quotes. */
static void check_name(const char *name)
{
    char *text = sqlite3_mprintf(
        "CREATE TEMP TABLE %s(%s INTEGER, b);"
        "INSERT INTO %s(%s, b) VALUES(1, 2);"
        "SELECT %s FROM %s; SELECT %s.%s FROM %s; SELECT temp.%s.%s FROM temp.%s;"
        "SELECT 1 AS %s; SELECT 1 %s; SELECT b FROM %s AS %s; SELECT b FROM %s %s;"
        "SELECT max(%s) FROM %s GROUP BY %s HAVING %s > 0 ORDER BY %s;"
        "SELECT a.b FROM %s AS a JOIN %s AS c USING (%s);"
        "SELECT CASE WHEN %s THEN %s ELSE %s END FROM %s WHERE %s = 1 AND %s IN (1) AND NOT %s IS "
        "NULL;"
        "CREATE INDEX temp.i ON %s(%s); UPDATE %s SET %s = 1; DROP TABLE %s",
        name, name, name, name, name, name, name, name, name, name, name, name, name, name, name,
        name, name, name, name, name, name, name, name, name, name, name, name, name, name, name,
        name, name, name, name, name, name, name, name, name);
    char *message = NULL;
    int code = sqlite3_exec(db, text, NULL, NULL, &message);
    ck_assert_msg(code == SQLITE_OK, "the name '%s' needs quotes: %s", name, message);
    sqlite3_free(text);
}

START_TEST(names_need_no_quotes)
{
    ck_assert_int_gt(for_each("SELECT table_name FROM clr_schema UNION "
                              "SELECT column_name FROM clr_schema WHERE column_name <> '' UNION "
                              "SELECT name FROM dump.sqlite_schema",
                              check_name),
                     100);
}
END_TEST

/* --- Declarations ----------------------------------------------------------------------------- */

START_TEST(schema_is_what_is_declared)
{
    check_text(
        "SELECT s.table_name, s.column_name FROM clr_schema AS s WHERE s.kind = 'column' AND "
        "s.table_name <> 'clr_schema' AND s.table_name NOT IN (SELECT name FROM "
        "dump.sqlite_schema WHERE type = 'view') AND NOT EXISTS (SELECT 1 FROM "
        "pragma_table_xinfo(s.table_name, 'dump') "
        "AS x WHERE x.name = s.column_name AND (x.type = s.type OR (x.hidden AND s.type = "
        "'')))",
        "");
    check_text("SELECT t.name, x.name FROM dump.sqlite_schema AS t JOIN "
               "pragma_table_xinfo(t.name, 'dump') AS x WHERE t.type = 'table' AND NOT EXISTS "
               "(SELECT 1 FROM clr_schema AS s WHERE s.table_name = t.name AND s.column_name = "
               "x.name)",
               "");
    /* Arguments come first, are hidden, and the eponymous form has the dump in front of them. */
    check_text(
        "SELECT table_name, column_name FROM clr_schema WHERE kind = 'column' AND access LIKE "
        "'%argument' AND NOT "
        "EXISTS (SELECT 1 FROM pragma_table_xinfo(table_name, 'dump') AS x WHERE x.name = "
        "column_name AND x.hidden = 1)",
        "");
    check_text("SELECT name FROM dump.sqlite_schema AS t WHERE type = 'table' AND NOT EXISTS "
               "(SELECT 1 FROM pragma_table_xinfo('clr_' || t.name) AS x WHERE x.name = 'dump' AND "
               "x.cid = 0 AND x.hidden = 1)",
               "");
    check_text("SELECT count(*) FROM clr_schema WHERE doc IS NULL OR doc NOT LIKE '%.' OR "
               "length(doc) < 4",
               "0\n");
    /* Tables, views and functions have a row of their own; the columns of a view are those that it has. */
    check_text("SELECT m.name, m.type FROM dump.sqlite_schema AS m WHERE NOT EXISTS (SELECT 1 FROM "
               "clr_schema WHERE table_name = m.name AND column_name = '' AND kind = m.type)",
               "");
    check_text("SELECT v.name FROM dump.sqlite_schema AS v WHERE v.type = 'view' AND (SELECT "
               "group_concat(name) FROM pragma_table_xinfo(v.name, 'dump')) IS NOT (SELECT "
               "group_concat(column_name) FROM clr_schema WHERE table_name = v.name AND kind = "
               "'column')",
               "");
    check_text("SELECT DISTINCT name FROM pragma_function_list WHERE name LIKE 'clr!_%' ESCAPE '!' "
               "AND NOT EXISTS (SELECT 1 FROM clr_schema WHERE table_name = name AND kind = "
               "'function')",
               "");
    /* Each number of arguments that is registered is among those that are declared. */
    check_text(
        "SELECT f.name, f.narg FROM pragma_function_list AS f WHERE f.name LIKE 'clr!_%' "
        "ESCAPE '!' AND f.narg NOT BETWEEN (SELECT count(*) FROM clr_schema WHERE table_name "
        "= f.name AND access = 'argument') AND (SELECT count(*) FROM clr_schema WHERE "
        "table_name = f.name AND kind = 'argument')",
        "");
    check_text(
        "SELECT table_name FROM clr_schema AS s WHERE kind = 'function' AND (SELECT "
        "count(*) FROM pragma_function_list WHERE name = table_name) <> 1 + (SELECT count(*) "
        "FROM clr_schema AS a WHERE a.table_name = s.table_name AND a.access = 'optional "
        "argument')",
        "");
    check_text("SELECT count(*) FROM clr_schema WHERE column_name = '' AND kind NOT IN ('table', "
               "'view', 'function')",
               "0\n");
}
END_TEST

/* What a column joins is a column of this schema, and its values are found there. */
static void check_join(const char *join)
{
    char table[80], column[80], target[80];
    ck_assert_int_eq(sscanf(join, "%79[^.].%79[^ ] %79s", table, column, target), 3);
    char *split = strchr(target, '.');
    *split = 0;
    char *known =
        text_of("SELECT count(*) FROM clr_schema WHERE table_name = %Q AND column_name = %Q "
                "AND kind = 'column'",
                target, split + 1);
    ck_assert_msg(strcmp(known, "1\n") == 0, "%s: there is no such column", join);
    sqlite3_free(known);
    if (strcmp(fixed_of(table), "1") != 0 || strcmp(table, "objects") == 0)
        return;
    char *got =
        text_of("SELECT count(*) FROM (SELECT DISTINCT %s AS v FROM dump.%s WHERE %s <> 0 LIMIT "
                "50) WHERE NOT EXISTS (SELECT 1 FROM dump.%s WHERE %s = v)",
                column, table, column, target, split + 1);
    ck_assert_msg(strcmp(got, "0\n") == 0, "%s: values that are not there: %s", join, got);
    sqlite3_free(got);
}

START_TEST(references_lead_to_columns)
{
    ck_assert_int_gt(for_each("SELECT table_name || '.' || column_name || ' ' || refers_to FROM "
                              "clr_schema WHERE refers_to IS NOT NULL AND kind = 'column'",
                              check_join),
                     60);
}
END_TEST

/* --- Examples --------------------------------------------------------------------------------- */

static void run_example(const char *name)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(
        "SELECT example FROM clr_schema WHERE table_name = %Q AND example IS NOT NULL", name);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_free(sql);
    ck_assert_msg(sqlite3_step(statement) == SQLITE_ROW, "%s has no example", name);
    char *example = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
    ck_assert_msg(strstr(example, name), "%s: its example is about something else", name);
    for (char *query = example, *end; query; query = end) {
        if ((end = strstr(query, ";\n"))) {
            *end = 0;
            end += 2;
        }
        char *got = pairs_text(db, query);
        ck_assert_msg(*got && !strstr(got, "error:"), "the example of %s gives %s: %s", name,
                      *got ? got : "no row", query);
        sqlite3_free(got);
    }
    sqlite3_free(example);
}

START_TEST(examples_give_rows)
{
    ck_assert_int_gt(for_each("SELECT table_name FROM clr_schema WHERE column_name = '' AND "
                              "table_name NOT IN ('clr_attach', 'clr_detach')",
                              run_example),
                     55);
}
END_TEST

/* --- Comparison ------------------------------------------------------------------------------- */

static void add_table(const char *table)
{
    char *needs = text_of("SELECT count(*) FROM clr_schema WHERE table_name = %Q AND "
                          "kind = 'column' AND access IN ('argument', '= required')",
                          table);
    const char *fixed = fixed_of(table);
    ck_assert_msg(*needs == '0' || strcmp(fixed, "1") != 0, "%s needs a value: add it to " SAMPLES,
                  table);
    sqlite3_free(needs);
    pairs_exec(db,
               "INSERT INTO temp.subject_column SELECT table_name, column_name, s.type, access, "
               "x.pk > 0, x.pk > 0 AND s.type = 'INTEGER' AND 1 = (SELECT sum(pk > 0) FROM "
               "pragma_table_xinfo(table_name, 'dump')) FROM clr_schema AS s JOIN "
               "pragma_table_xinfo(%Q, 'dump') AS x ON x.name = column_name WHERE table_name = %Q "
               "AND s.kind = 'column'",
               table, table);
    char *columns = NULL;
    sqlite3_stmt *statement;
    char *sql = sqlite3_mprintf("SELECT group_concat(column_name) FROM clr_schema WHERE table_name "
                                "= %Q AND kind = 'column'",
                                table);
    ck_assert_int_eq(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    columns = sqlite3_mprintf("SELECT %s FROM dump.%s WHERE %s", sqlite3_column_text(statement, 0),
                              table, fixed);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    char *source = sqlite3_mprintf("dump.%s", table), *copy = sqlite3_mprintf("copy_%s", table);
    pairs_add(db, table, source, copy, fixed, columns, 1);
    sqlite3_free(source);
    sqlite3_free(copy);
    sqlite3_free(columns);
}

static void add_tables(void)
{
    pairs_begin(db);
    ck_assert_int_gt(
        for_each("SELECT name FROM dump.sqlite_schema WHERE type = 'table' ORDER BY name = "
                 "'problems', name" /* read last: the others add rows to it */,
                 add_table),
        18);
}

/* Keys name one row and are never NULL (the copies have them as keys: two would be an error);
 * values are of the declared type; what a table cannot read is NULL and nothing else. */
static void check_values(const char *name)
{
    char *split = strchr(name, '.'), table[80];
    snprintf(table, sizeof table, "%.*s", (int)(split - name), name);
    char *got = text_of("SELECT count(*) FROM copy_%s WHERE %s IS NULL", table, split + 1);
    char *key = text_of("SELECT key FROM temp.subject_column WHERE name = %Q AND column_name = %Q",
                        table, split + 1);
    ck_assert_msg(*key == '0' || strcmp(got, "0\n") == 0, "%s is a key and NULL", name);
    sqlite3_free(got);
    got = text_of("SELECT DISTINCT typeof(c.%s) FROM copy_%s AS c, temp.subject_column AS s WHERE "
                  "s.name = %Q AND s.column_name = %Q AND s.type <> '' AND c.%s IS NOT NULL AND "
                  "typeof(c.%s) <> lower(s.type)",
                  split + 1, table, table, split + 1, split + 1, split + 1);
    ck_assert_msg(*got == 0, "%s has values of type %s", name, got);
    sqlite3_free(got);
    sqlite3_free(key);
}

START_TEST(columns_are_read)
{
    add_tables();
    ck_assert_int_gt(
        for_each("SELECT name || '.' || column_name FROM temp.subject_column", check_values), 150);
    /* Each column alone gives what it gives beside the others. */
    check_text(
        "SELECT count(*) FROM copy_objects WHERE address NOT IN (SELECT address FROM objects)",
        "0\n");
}
END_TEST

/* Plans of all questions; the dump's name is REPLACED by another. */
static char *plans(const char *schema)
{
    sqlite3_stmt *statement = NULL;
    sqlite3_str *all = sqlite3_str_new(NULL);
    sqlite3_prepare_v2(db,
                       "SELECT replace(question, 'dump.', ?1 || '.') FROM temp.pair ORDER BY id",
                       -1, &statement, NULL);
    sqlite3_bind_text(statement, 1, schema, -1, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        char *plan = text_of("EXPLAIN QUERY PLAN %s", sqlite3_column_text(statement, 0));
        ck_assert_msg(!strstr(plan, "error:"), "%s", plan);
        sqlite3_str_appendf(all, "%s\n%s", sqlite3_column_text(statement, 0), plan);
        sqlite3_free(plan);
    }
    sqlite3_finalize(statement);
    return sqlite3_str_finish(all);
}

START_TEST(answers_are_those_of_ordinary_tables)
{
    add_tables();
    int count = pairs_write(db, SCRIPT);
    printf("%d questions\n", count);
    ck_assert_int_gt(count, 2000);
    ck_assert_int_eq(pairs_run(db), 0);
}
END_TEST

/* --- Any word of the dump --------------------------------------------------------------------- */

/* Words and their addresses, in segments and around types and methods: few of them are keys. */
static void add_words(void)
{
    pairs_exec(db, "ATTACH ':memory:' AS probe");
    pairs_exec(db, "CREATE TABLE probe.word(value INTEGER PRIMARY KEY)");
    pairs_exec(db, "CREATE TABLE probe.range(start, stop)");
    pairs_exec(db, "INSERT INTO probe.range SELECT start, start + 4096 FROM dump.segments");
    pairs_exec(db, "INSERT INTO probe.range SELECT address - 128, address + 256 FROM dump.types "
                   "WHERE address % 7 < 1");
    pairs_exec(db, "INSERT INTO probe.range SELECT address - 64, address + 64 FROM dump.methods "
                   "WHERE address % 97 < 2 OR is_dynamic");
    pairs_exec(db, "INSERT INTO probe.range SELECT address - 16, address + 1024 FROM dump.modules");
    pairs_exec(db, "INSERT OR IGNORE INTO probe.word SELECT w.value FROM probe.range CROSS JOIN "
                   "dump.words(start, stop) AS w");
    pairs_exec(db, "INSERT OR IGNORE INTO probe.word SELECT w.address FROM probe.range CROSS JOIN "
                   "dump.words(start, stop) AS w");
    check_text("SELECT count(*) > 20000 FROM probe.word", "1\n");
    check_text("SELECT count(*) > 100 FROM probe.word WHERE value IN (SELECT address FROM "
               "dump.types)",
               "1\n");
    check_text("SELECT count(*) > 100 FROM probe.word WHERE value IN (SELECT address FROM "
               "dump.methods)",
               "1\n");
}

/* Shows the first row that differs. */
static void check_same(const char *column, const char *what, const char *got, const char *listed)
{
    size_t same = 0;
    while (got[same] && got[same] == listed[same])
        same++;
    while (same > 0 && got[same - 1] != '\n')
        same--;
    ck_assert_msg(strcmp(got, listed) == 0, "%s: %s: %.60s, but a scan: %.60s", column, what,
                  got + same, listed + same);
}

/* A look-up finds what a scan with the same filter lists, whatever stands at the key. */
static void check_word(const char *column)
{
    char table[80];
    const char *name = strchr(column, '.') + 1;
    snprintf(table, sizeof table, "%.*s", (int)(name - 1 - column), column);
    char *found =
        text_of("SELECT w.value, count(*) FROM probe.word AS w CROSS JOIN fresh.%s AS t ON t.%s = "
                "w.value GROUP BY w.value",
                table, name);
    char *listed = text_of("SELECT +%s, count(*) FROM fresh.%s WHERE +%s IN (SELECT value FROM "
                           "probe.word) GROUP BY 1",
                           name, table, name);
    char *before = text_of("SELECT +%s, count(*) FROM dump.%s WHERE +%s IN (SELECT value FROM "
                           "probe.word) GROUP BY 1",
                           name, table, name);
    ck_assert_msg(!strstr(found, "error:"), "%s", found);
    check_same(column, "look-ups", found, listed);
    check_same(column, "a scan without look-ups before", before, listed);
    sqlite3_free(found);
    sqlite3_free(listed);
    sqlite3_free(before);
}

START_TEST(any_word_finds_what_a_scan_lists)
{
    add_words();
    pairs_exec(db, "SELECT clr_attach(%Q, 'fresh')", DUMP);
    ck_assert_int_gt(
        for_each("SELECT table_name || '.' || column_name FROM clr_schema WHERE kind = "
                 "'column' AND type = 'INTEGER' AND access IN ('=', '=,..') AND "
                 "table_name NOT IN (SELECT table_name FROM clr_schema WHERE access IN "
                 "('argument', '= required')) ORDER BY table_name = 'methods' DESC, table_name = "
                 "'types' DESC, table_name = 'modules' DESC",
                 check_word),
        30);
}
END_TEST

static void read_fresh(const char *table)
{
    const char *fixed = fixed_of(table);
    char *got = text_of("SELECT count(*) FROM fresh.%s WHERE %s", table, fixed);
    ck_assert_msg(!strstr(got, "error:"), "%s", got);
    sqlite3_free(got);
}

START_TEST(plans_do_not_hang_on_what_is_built)
{
    add_tables();
    ck_assert_int_gt(pairs_write(db, SCRIPT), 2000);
    pairs_exec(db, "SELECT clr_attach(%Q, 'fresh')", DUMP);
    char *before = plans("fresh");
    for_each("SELECT name FROM fresh.sqlite_schema WHERE type = 'table'", read_fresh);
    check_text("SELECT count(*) > 0 FROM fresh.objects WHERE type = (SELECT type FROM "
               "fresh.type_stats WHERE name = 'System.String')",
               "1\n");
    char *after = plans("fresh");
    ck_assert_str_eq(before, after);
    sqlite3_free(before);
    sqlite3_free(after);
}
END_TEST

/* The eponymous form gives the same rows. */
static void compare_eponymous(const char *table)
{
    const char *fixed = fixed_of(table);
    char *one = text_of("SELECT * FROM clr_%s(%Q) WHERE %s", table, DUMP, fixed);
    char *other = text_of("SELECT * FROM dump.%s WHERE %s", table, fixed);
    ck_assert_msg(!strstr(one, "error:"), "%s", one);
    /* What was found missing since the dump was opened is a row of problems on one side only. */
    if (strcmp(table, "problems") != 0)
        ck_assert_msg(strcmp(one, other) == 0, "%s differs", table);
    sqlite3_free(one);
    sqlite3_free(other);
}

START_TEST(eponymous_tables_are_the_same)
{
    for_each("SELECT name FROM dump.sqlite_schema WHERE type = 'table'", compare_eponymous);
    char *got =
        text_of("SELECT count(*), count(DISTINCT dump) FROM clr_dump_info WHERE dump = %Q OR "
                "dump = %Q",
                DUMP, CLRDB_DUMPS "/./ws11.core");
    ck_assert_str_eq(got, "2|2\n");
    sqlite3_free(got);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tables");
    TCase *test = tcase_create("tables");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 250);
    tcase_add_test(test, names_need_no_quotes);
    tcase_add_test(test, schema_is_what_is_declared);
    tcase_add_test(test, references_lead_to_columns);
    tcase_add_test(test, examples_give_rows);
    tcase_add_test(test, columns_are_read);
    tcase_add_test(test, answers_are_those_of_ordinary_tables);
    tcase_add_test(test, plans_do_not_hang_on_what_is_built);
    tcase_add_test(test, eponymous_tables_are_the_same);
    suite_add_tcase(suite, test);
    test = tcase_create("words");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 250);
    tcase_add_test(test, any_word_finds_what_a_scan_lists);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
