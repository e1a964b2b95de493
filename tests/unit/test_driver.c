/*
 * The table driver, over tables that need no dump: one of every kind that a declaration can have.
 * What each answers is compared with an ordinary table of the same rows.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1
#define CLR_EXTENSION_MAIN

#include "base/alloc.h"
#include "host.h"
#include "pairs.h"
#include "session.h"

#define SCRIPT CLRDB_SOURCE "/tests/sql/properties.sql"

/* --- The rows ----------------------------------------------------------------------------------
 * Ids are what breaks careless comparisons: the ends of 64 bits, neighbours that are one double. */

enum { THINGS = 300 };
struct thing {
    int64_t id;
    bool has_team;
    int64_t team;
    const char *label;
};
static struct thing things[THINGS];
static const struct thing *mixed_things[THINGS]; /* in no order */
static size_t mixed_count;

static int by_id(const void *a, const void *b)
{
    const struct thing *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void make_things(void)
{
    static const int64_t odd[] = {INT64_MIN,
                                  INT64_MIN + 1,
                                  -9007199254740993,
                                  -9007199254740992,
                                  -3,
                                  -1,
                                  0,
                                  1,
                                  5,
                                  9007199254740992,
                                  9007199254740993,
                                  9007199254740994,
                                  INT64_MAX - 1,
                                  INT64_MAX};
    static const char *const labels[] = {"a", "5",   "5.0", "05", " 5", "",    NULL,
                                         "A", "abc", "ABC", "9",  "10", "1e1", "x "};
    size_t count = sizeof odd / sizeof *odd;
    for (size_t i = 0; i < THINGS; i++) {
        things[i].id = i < count ? odd[i] : (int64_t)i * 16 + 1000;
        things[i].has_team = i % 7 != 3;
        things[i].team = i % 11 == 5 ? odd[i % count] : (int64_t)(i % 6);
        things[i].label = labels[i % (sizeof labels / sizeof *labels)];
    }
    qsort(things, THINGS, sizeof *things, by_id);
    for (size_t i = 0; i < THINGS; i++)
        mixed_things[i] = &things[i * 7 % THINGS];
    mixed_count = THINGS;
}

/* --- things: a cursor table with an INTEGER key, ranges, a text ---------------------------------
 * It judges rows by itself as exactly as the contract asks, so that what the driver converts badly
 * is missing from the answer. */

struct things_cursor {
    struct clr_cursor base;
    bool dirty; /* set by start(): the driver gives zeroed memory */
    const struct clr_query *query;
    struct clr_query kept;
    int64_t team;
    bool has_team, has_id;
    int64_t id;
    char *label;
    int64_t at;
};

static int started, finished;

static const struct clr_column things_columns[] = {
    CLR_COLUMN("id", CLR_BY_TABLE(CLR_INTEGER), "Key.", .flags = CLR_KEY),
    CLR_COLUMN("team", CLR_BY_TABLE(CLR_INTEGER), "Team or NULL."),
    CLR_COLUMN("label", CLR_BY_TABLE(CLR_TEXT), "Label or NULL."),
    CLR_COLUMN("value", CLR_BY_TABLE(CLR_ANY), "Something."),
    CLR_COLUMN("extra", CLR_BY_TABLE(CLR_ANY), "Hidden.", .flags = CLR_HIDDEN),
    CLR_END,
};
static const struct clr_path things_paths[] = {
    {.key = {{0, CLR_EQ}}, .order = 0, .reversible = true, .unique = true, .rows = 1},
    {.key = {{1, CLR_EQ}, {0, CLR_RANGE}},
     .order = 0,
     .reversible = true,
     .unique = false,
     .rows = 3},
    {.key = {{1, CLR_EQ}}, .order = 0, .reversible = true, .unique = false, .rows = 20},
    {.key = {{2, CLR_EQ}}, .order = 0, .reversible = false, .unique = false, .rows = 20},
    {.key = {{0, CLR_RANGE}}, .order = 0, .reversible = true, .unique = false, .rows = 100},
    {.order = 0, .reversible = true, .unique = false, .rows = THINGS},
    CLR_PATHS_END,
};

static bool things_match(const struct things_cursor *c, const struct thing *thing)
{
    return (!c->has_id || thing->id == c->id) &&
           (!c->has_team || (thing->has_team && thing->team == c->team)) &&
           (!c->label || (thing->label && strcmp(thing->label, c->label) == 0)) &&
           thing->id >= c->kept.low && thing->id <= c->kept.high;
}

static void things_settle(struct things_cursor *c)
{
    int step = c->kept.descending ? -1 : 1;
    while (c->at >= 0 && c->at < THINGS && !things_match(c, &things[c->at]))
        c->at += step;
    c->base.eof = c->at < 0 || c->at >= THINGS;
    if (!c->base.eof)
        c->base.rowid = things[c->at].id;
}

static enum clr_status things_start(struct clr_cursor *cursor, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct things_cursor *c = (struct things_cursor *)cursor;
    ck_assert(!c->dirty && !c->label && c->at == 0);
    c->dirty = true;
    c->kept = *query;
    started++;
    if (query->path == 0) {
        c->has_id = true;
        c->id = clr_equal_int(query, 0);
    } else if (query->path == 1 || query->path == 2) {
        c->has_team = true;
        c->team = clr_equal_int(query, 0);
    } else if (query->path == 3) {
        const char *label = (const char *)sqlite3_value_text(query->equal[0]);
        if (!(c->label = clr_copy_text(label, strlen(label))))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    c->at = query->descending ? THINGS - 1 : 0;
    things_settle(c);
    return CLR_OK;
}

static enum clr_status things_next(struct clr_cursor *cursor, struct clr_error *error)
{
    struct things_cursor *c = (struct things_cursor *)cursor;
    (void)error;
    c->at += c->kept.descending ? -1 : 1;
    things_settle(c);
    return CLR_OK;
}

static void things_finish(struct clr_cursor *cursor)
{
    struct things_cursor *c = (struct things_cursor *)cursor;
    finished++;
    clr_free(c->label);
}

static enum clr_status things_column(struct clr_cursor *cursor, int column,
                                     sqlite3_context *context, struct clr_error *error)
{
    const struct thing *thing = &things[((struct things_cursor *)cursor)->at];
    (void)error;
    switch (column) {
    case 0: sqlite3_result_int64(context, thing->id); break;
    case 1:
        if (thing->has_team)
            sqlite3_result_int64(context, thing->team);
        break;
    case 2: clr_result_static(context, thing->label); break;
    case 3:
        if (thing->id % 2)
            clr_result_static(context, "007");
        else
            sqlite3_result_int(context, 7);
        break;
    default: sqlite3_result_int(context, 1);
    }
    return CLR_OK;
}

static const struct clr_table things_table = {
    .name = "things",
    .doc = "A cursor table.",
    .columns = things_columns,
    .paths = things_paths,
    .global = true,
    .contract = -1,
    .cursor_size = sizeof(struct things_cursor),
    .start = things_start,
    .next = things_next,
    .finish = things_finish,
    .column = things_column,
};

/* --- Lists: sorted, as pointers in no order with rows left out, by number, read by key ---------- */

static const void *list_things(const struct clr_dump *dump, size_t *count)
{
    (void)dump;
    *count = THINGS;
    return things;
}

static const void *list_mixed(const struct clr_dump *dump, size_t *count)
{
    (void)dump;
    *count = mixed_count;
    return mixed_things;
}

static bool has_mixed(const struct clr_dump *dump, const void *row)
{
    (void)dump;
    return ((const struct thing *)row)->id % 5 != 1;
}

CLR_NUMBER_FUNCTION(thing_team)
{
    const struct thing *thing = row;
    return thing->has_team ? (uint64_t)thing->team : CLR_ABSENT;
}

CLR_TEXT_FUNCTION(thing_title)
{
    const struct thing *thing = row;
    (void)cursor;
    if (thing->label)
        clr_text_format(text, "<%s>", thing->label);
    return text->failed ? clr_fail(error, CLR_NOMEM, 0, "out of memory") : CLR_OK;
}

CLR_WORD_FUNCTION(thing_label)
{
    return ((const struct thing *)row)->label;
}

#define THING_COLUMNS                                                                              \
    CLR_COLUMN("team", CLR_NUMBER_BY(thing_team), "Team or NULL.", .found = 20),                   \
        CLR_COLUMN("label", CLR_STATIC_TEXT(thing, label), "Label or NULL.", .found = 20),         \
        CLR_COLUMN("word", CLR_WORD_BY(thing_label), "The same.", .found = 20),                    \
        CLR_COLUMN("title", CLR_NONEMPTY_TEXT_BY(thing_title), "Another text.", .found = 20),      \
        CLR_COLUMN("copied", CLR_NONEMPTY_TEXT(thing, label), "Label, but ''.", .found = 20),      \
        CLR_COLUMN("has_team", CLR_NUMBER(thing, has_team), "1: has a team.", .found = 20)

static const struct clr_column row_columns[] = {
    CLR_COLUMN("id", CLR_NUMBER(thing, id), "Key.", .flags = CLR_KEY),
    THING_COLUMNS,
    CLR_END,
};
static const struct clr_table rows_table = {
    .name = "array_rows",
    .doc = "A sorted list.",
    .columns = row_columns,
    .list = {.get = list_things,
             .row_size = sizeof(struct thing),
             .is_sorted = true,
             .rows = THINGS},
    .global = true,
    .contract = -1,
};
static const struct clr_table mixed_table = {
    .name = "mixed",
    .doc = "A list of pointers in no order, some of which are left out.",
    .columns = row_columns,
    .list = {.get = list_mixed, .of_pointers = true, .has = has_mixed, .rows = THINGS},
    .global = true,
    .contract = -1,
};
static const struct clr_column number_columns[] = {
    CLR_COLUMN("id", CLR_ROW_NUMBER(-3), "Key.", .flags = CLR_KEY),
    THING_COLUMNS,
    CLR_END,
};
static const struct clr_table numbers_table = {
    .name = "numbers",
    .doc = "A list whose key is the number of the row.",
    .columns = number_columns,
    .list = {.get = list_things, .row_size = sizeof(struct thing), .rows = THINGS},
    .global = true,
    .contract = -1,
};
/* A key that is a text: SQLite finds nothing by it, and rows come in the order of the list. */
static const struct clr_column keyless_columns[] = {
    CLR_COLUMN("number", CLR_NUMBER(thing, id), "Part of the key.", .flags = CLR_KEY),
    CLR_COLUMN("has_it", CLR_NUMBER(thing, has_team), "Part of the key.", .flags = CLR_KEY),
    CLR_COLUMN("label", CLR_STATIC_TEXT(thing, label), "Label or NULL.", .found = 20),
    CLR_END,
};
static const struct clr_table keyless_table = {
    .name = "keyless",
    .doc = "A list with a key of two columns, in no order.",
    .columns = keyless_columns,
    .list = {.get = list_mixed, .of_pointers = true, .rows = THINGS},
    .global = true,
    .contract = -1,
};

static int read_count, asked_count;

static const void *list_keys(const struct clr_dump *dump, size_t *count)
{
    static uint64_t keys[THINGS];
    (void)dump;
    for (size_t i = 0; i < THINGS; i++)
        keys[i] = (uint64_t)things[i].id;
    *count = THINGS;
    return keys;
}

static enum clr_status lists_thing(struct clr_dump *dump, struct clr_job *job, uint64_t key,
                                   bool *listed, struct clr_error *error)
{
    (void)dump;
    (void)job;
    (void)error;
    asked_count++;
    *listed = false;
    for (size_t i = 0; i < THINGS; i++)
        *listed |= things[i].id == (int64_t)key;
    return CLR_OK;
}

static enum clr_status read_thing(struct clr_cursor *cursor, uint64_t key, void *row, bool *found,
                                  struct clr_error *error)
{
    (void)cursor;
    (void)error;
    ck_assert_int_eq(((struct thing *)row)->id, 0);
    read_count++;
    *found = false;
    for (size_t i = 0; i < THINGS && !*found; i++)
        if (things[i].id == (int64_t)key && things[i].id % 5 != 1) {
            memcpy(row, &things[i], sizeof things[i]);
            *found = true;
        }
    return CLR_OK;
}

static const struct clr_table read_table = {
    .name = "read_rows",
    .doc = "A list of keys, whose rows are read.",
    .columns = row_columns,
    .list = {.get = list_keys,
             .read_size = sizeof(struct thing),
             .read = read_thing,
             .lists = lists_thing,
             .reading = "reading things",
             .rows = THINGS},
    .global = true,
    .contract = -1,
};

/* --- parts: a required value and a key of two columns; span: a table function -------------------
 */

struct parts_cursor {
    struct clr_cursor base;
    int64_t owner, part, end;
};
static const struct clr_column parts_columns[] = {
    CLR_COLUMN("owner", CLR_BY_TABLE(CLR_INTEGER), "Whose.", .flags = CLR_KEY | CLR_REQUIRED),
    CLR_COLUMN("part", CLR_BY_TABLE(CLR_INTEGER), "Number.", .flags = CLR_KEY),
    CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT), "Name."),
    CLR_END,
};
static const struct clr_path parts_paths[] = {
    {.key = {{0, CLR_EQ}, {1, CLR_EQ}}, .order = 1, .reversible = true, .unique = true, .rows = 1},
    {.key = {{0, CLR_EQ}}, .order = 1, .reversible = false, .unique = false, .rows = 3},
    CLR_PATHS_END,
};

static enum clr_status parts_start(struct clr_cursor *cursor, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct parts_cursor *c = (struct parts_cursor *)cursor;
    (void)error;
    c->owner = clr_equal_int(query, 0);
    c->part = query->path == 0 ? clr_equal_int(query, 1) : 0;
    cursor->eof = c->owner < 0 || c->owner > 9 || c->part < 0 || c->part > 9;
    c->end = query->path == 0 && !cursor->eof ? c->part + 1 : 10;
    return CLR_OK;
}

static enum clr_status parts_next(struct clr_cursor *cursor, struct clr_error *error)
{
    struct parts_cursor *c = (struct parts_cursor *)cursor;
    (void)error;
    cursor->eof = ++c->part >= c->end;
    return CLR_OK;
}

static enum clr_status parts_column(struct clr_cursor *cursor, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    const struct parts_cursor *c = (struct parts_cursor *)cursor;
    (void)error;
    if (column < 2)
        sqlite3_result_int64(context, column ? c->part : c->owner);
    else
        sqlite3_result_text(context, c->part % 2 ? "odd" : "even", -1, SQLITE_STATIC);
    return CLR_OK;
}

static const struct clr_table parts_table = {
    .name = "parts",
    .doc = "Rows for a given value only.",
    .columns = parts_columns,
    .paths = parts_paths,
    .global = true,
    .contract = -1,
    .cursor_size = sizeof(struct parts_cursor),
    .start = parts_start,
    .next = parts_next,
    .column = parts_column,
};

static const struct clr_column span_columns[] = {
    CLR_COLUMN("from_n", CLR_BY_TABLE(CLR_INTEGER), "First.",
               .flags = CLR_ARG | CLR_REQUIRED | CLR_KEY),
    CLR_COLUMN("to_n", CLR_BY_TABLE(CLR_INTEGER),
               "Last; ten more than the first if it is not given.", .flags = CLR_ARG),
    CLR_COLUMN("n", CLR_BY_TABLE(CLR_INTEGER), "Number.", .flags = CLR_KEY),
    CLR_END,
};
static const struct clr_path span_paths[] = {
    {.key = {{0, CLR_EQ}, {1, CLR_EQ}},
     .order = 2,
     .reversible = false,
     .unique = false,
     .rows = 3},
    CLR_PATHS_END,
};

static enum clr_status span_start(struct clr_cursor *cursor, const struct clr_query *query,
                                  struct clr_error *error)
{
    struct parts_cursor *c = (struct parts_cursor *)cursor;
    (void)error;
    c->part = clr_equal_int(query, 0);
    int64_t last = INT64_MAX - 11;
    if (query->equal[1])
        last = clr_equal_int(query, 1);
    else if (c->part < last)
        last = c->part + 10;
    cursor->eof = c->part > last;
    c->end = cursor->eof ? c->part : last + 1;
    return CLR_OK;
}

static enum clr_status span_column(struct clr_cursor *cursor, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    (void)error;
    ck_assert_int_eq(column, 2);
    sqlite3_result_int64(context, ((struct parts_cursor *)cursor)->part);
    return CLR_OK;
}

static const struct clr_table span_table = {
    .name = "span",
    .doc = "A table function.",
    .columns = span_columns,
    .paths = span_paths,
    .global = true,
    .contract = -1,
    .cursor_size = sizeof(struct parts_cursor),
    .start = span_start,
    .next = parts_next,
    .column = span_column,
};

/* --- faulty: fails where and how it is asked to, or works for ever -----------------------------
 */

struct faulty_cursor {
    struct clr_cursor base;
    int64_t place, status;
    bool freed_later;
};
enum { IN_START, IN_NEXT, IN_COLUMN, NOWHERE };

static const struct clr_column faulty_columns[] = {
    CLR_COLUMN("place", CLR_BY_TABLE(CLR_INTEGER), "Where.", .flags = CLR_ARG | CLR_REQUIRED),
    CLR_COLUMN("how", CLR_BY_TABLE(CLR_INTEGER), "A status; -1: work until interrupted.",
               .flags = CLR_ARG | CLR_REQUIRED),
    CLR_COLUMN("n", CLR_BY_TABLE(CLR_INTEGER), "Row."),
    CLR_END,
};
static const struct clr_path faulty_paths[] = {
    {.key = {{0, CLR_EQ}, {1, CLR_EQ}},
     .order = -1,
     .reversible = false,
     .unique = false,
     .rows = 3},
    CLR_PATHS_END,
};

static enum clr_status act(struct clr_cursor *cursor, int place, struct clr_error *error)
{
    const struct faulty_cursor *c = (struct faulty_cursor *)cursor;
    if (c->place != place)
        return CLR_OK;
    if (c->status >= 0)
        return clr_fail(error, (enum clr_status)c->status, 0, "failed on purpose, in place %d",
                        place);
    for (uint64_t i = 0;; i++)
        CLR_TRY(clr_job_poll(cursor->job, "working", i, 0, error));
}

static enum clr_status faulty_start(struct clr_cursor *cursor, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct faulty_cursor *c = (struct faulty_cursor *)cursor;
    started++;
    c->place = clr_equal_int(query, 0);
    c->status = clr_equal_int(query, 1);
    return act(cursor, IN_START, error);
}

static enum clr_status faulty_next(struct clr_cursor *cursor, struct clr_error *error)
{
    cursor->eof = ++cursor->row == 3;
    return act(cursor, IN_NEXT, error);
}

static enum clr_status faulty_column(struct clr_cursor *cursor, int column,
                                     sqlite3_context *context, struct clr_error *error)
{
    (void)column;
    sqlite3_result_int64(context, cursor->row);
    return act(cursor, IN_COLUMN, error);
}

static void faulty_finish(struct clr_cursor *cursor)
{
    (void)cursor;
    finished++;
}

static const struct clr_table faulty_table = {
    .name = "faulty",
    .doc = "Fails.",
    .columns = faulty_columns,
    .paths = faulty_paths,
    .global = true,
    .contract = -1,
    .cursor_size = sizeof(struct faulty_cursor),
    .start = faulty_start,
    .next = faulty_next,
    .finish = faulty_finish,
    .column = faulty_column,
};

static const struct clr_table *const tables[] = {
    &things_table, &rows_table,  &mixed_table, &numbers_table, &keyless_table,
    &read_table,   &parts_table, &span_table,  &faulty_table,  NULL};

/* --- The connection --------------------------------------------------------------------------- */

static sqlite3 *db;
static uint64_t live;

static int open_connection(sqlite3 **opened)
{
    ck_assert_int_eq(sqlite3_open(":memory:", opened), SQLITE_OK);
    struct clr_session *session = clr_session_create(*opened);
    if (!session)
        return SQLITE_NOMEM;
    int code = SQLITE_OK;
    for (size_t i = 0; tables[i] && code == SQLITE_OK; i++)
        code = clr_register_table(*opened, session, tables[i]);
    clr_session_release(session);
    return code;
}

static void setup(void)
{
    make_things();
    live = clr_alloc_live();
    started = finished = 0;
    ck_assert_int_eq(open_connection(&db), SQLITE_OK);
}

static void teardown(void)
{
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

static void check_text(const char *sql, const char *wanted)
{
    char *got = pairs_text(db, sql);
    ck_assert_str_eq(got, wanted);
    sqlite3_free(got);
}

static void check_contains(const char *sql, const char *wanted)
{
    char *got = pairs_text(db, sql);
    ck_assert_msg(strstr(got, wanted) != NULL, "%s gives %s, not %s", sql, got, wanted);
    sqlite3_free(got);
}

static void check_plan(const char *sql, const char *wanted)
{
    char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
    check_contains(explain, wanted);
    char *got = pairs_text(db, explain);
    ck_assert_msg(!strstr(got, "TEMP B-TREE") == !strstr(wanted, "TEMP B-TREE"), "%s: %s", sql,
                  got);
    sqlite3_free(got);
    sqlite3_free(explain);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void describe(const struct clr_table *table)
{
    static const char *const types[] = {"INTEGER", "REAL", "TEXT", ""};
    unsigned keys = 0;
    for (int i = 0; table->columns[i].name; i++)
        keys += table->columns[i].flags & CLR_KEY;
    for (int i = 0; table->columns[i].name; i++) {
        const struct clr_column *column = &table->columns[i];
        bool key = column->flags & CLR_KEY;
        pairs_exec(db, "INSERT INTO temp.subject_column VALUES(%Q, %Q, %Q, %Q, %d, %d)",
                   table->name, column->name, types[column->get.type], clr_column_access(table, i),
                   key, key && keys == CLR_KEY && column->get.type == CLR_INTEGER);
    }
}

START_TEST(answers_are_those_of_an_ordinary_table)
{
    pairs_begin(db);
    for (size_t i = 0; tables[i]; i++)
        describe(tables[i]);
    pairs_add(db, "things", "things", "c_things", NULL, "SELECT *, extra FROM things", 2);
    pairs_add(db, "array_rows", "array_rows", "c_rows", NULL, "SELECT * FROM array_rows", 2);
    pairs_add(db, "mixed", "mixed", "c_mixed", NULL, "SELECT * FROM mixed", 2);
    pairs_add(db, "numbers", "numbers", "c_numbers", NULL, "SELECT * FROM numbers", 2);
    pairs_add(db, "keyless", "keyless", "c_keyless", NULL, "SELECT * FROM keyless", 2);
    pairs_add(db, "read_rows", "read_rows", "c_read", NULL, "SELECT * FROM read_rows", 2);
    pairs_add(db, "parts", "parts", "c_parts", "owner = 3",
              "SELECT p.* FROM (SELECT DISTINCT team FROM things) JOIN parts AS p ON owner = team",
              2);
    pairs_add(db, "span", "span", "c_span", "from_n = 3 AND to_n = 40",
              "SELECT from_n, to_n, n FROM span(3, 40)", 2);
    int count = pairs_write(db, SCRIPT);
    ck_assert_int_gt(count, 5000);
    ck_assert_int_eq(pairs_run(db), 0);
    check_text("SELECT count(*) FROM c_things", "300\n");
    check_text("SELECT count(*) FROM c_parts", "60\n");
    check_text("SELECT count(*) FROM c_span", "38\n");
}
END_TEST

START_TEST(plans_use_the_paths)
{
    check_plan("SELECT * FROM things WHERE id = 5", ":id=");
    check_plan("SELECT * FROM things WHERE id > 5 AND team = 3 ORDER BY id", ":team=,id..");
    check_plan("SELECT * FROM things WHERE team = 3 ORDER BY id DESC", ":team=");
    check_plan("SELECT * FROM things ORDER BY id DESC LIMIT 3", ":scan");
    check_plan("SELECT * FROM things WHERE rowid > 5 ORDER BY rowid LIMIT 3", ":id..");
    check_plan("SELECT * FROM things WHERE label = 'a' ORDER BY id", ":label=");
    check_plan("SELECT * FROM things WHERE label = 'a' ORDER BY id DESC", "TEMP B-TREE");
    check_plan("SELECT * FROM things WHERE label = 'a' COLLATE NOCASE", ":scan");
    check_plan("SELECT * FROM things WHERE id = 1 OR team = 2", "MULTI-INDEX OR");
    check_plan("SELECT * FROM array_rows WHERE id BETWEEN 1 AND 5 ORDER BY id DESC", ":id..");
    check_plan("SELECT * FROM mixed WHERE id = 5", ":id=");
    check_plan("SELECT * FROM mixed WHERE team = 3 ORDER BY id DESC", ":team=");
    check_plan("SELECT * FROM mixed WHERE title = '<a>' ORDER BY id", ":title=");
    check_plan("SELECT * FROM mixed WHERE id > 5 ORDER BY id", ":id..");
    check_plan("SELECT * FROM numbers WHERE label = 'a' COLLATE NOCASE", ":scan");
    check_plan("SELECT * FROM keyless WHERE label = 'a' ORDER BY number", "TEMP B-TREE");
    check_plan("SELECT * FROM things ORDER BY id, team", "TEMP B-TREE");
    check_plan("SELECT * FROM parts JOIN things ON owner = team", "SCAN things");
    check_plan("SELECT * FROM things JOIN parts ON owner = team", "SCAN things");
    check_plan("SELECT * FROM span JOIN things ON from_n = team", "SCAN things");
    check_plan("SELECT * FROM parts WHERE owner = 3 ORDER BY part", ":owner=");
    check_plan("SELECT * FROM parts WHERE owner = 3 ORDER BY part DESC", "TEMP B-TREE");
}
END_TEST

START_TEST(declarations_become_tables)
{
    char *text = clr_table_declaration(&things_table, true);
    ck_assert_str_eq(text,
                     "CREATE TABLE x(id INTEGER PRIMARY KEY, team INTEGER, label TEXT, value, "
                     "extra BLOB HIDDEN)");
    sqlite3_free(text);
    struct clr_table of_dump = things_table;
    of_dump.global = false;
    text = clr_table_declaration(&of_dump, true);
    ck_assert_str_eq(text, "CREATE TABLE x(dump TEXT HIDDEN, id INTEGER, team INTEGER, label TEXT, "
                           "value, extra BLOB HIDDEN, PRIMARY KEY(dump, id)) WITHOUT ROWID");
    sqlite3_free(text);
    text = clr_table_declaration(&parts_table, false);
    ck_assert_str_eq(text, "CREATE TABLE x(owner INTEGER, part INTEGER, name TEXT, "
                           "PRIMARY KEY(owner, part)) WITHOUT ROWID");
    sqlite3_free(text);
    char name[40];
    clr_module_name(&of_dump, name, sizeof name);
    ck_assert_str_eq(name, "clr_things");
    clr_module_name(&things_table, name, sizeof name);
    ck_assert_str_eq(name, "things");
    ck_assert_str_eq(clr_column_access(&things_table, 0), "=,..");
    ck_assert_str_eq(clr_column_access(&things_table, 1), "=");
    ck_assert_str_eq(clr_column_access(&things_table, 3), "");
    ck_assert_str_eq(clr_column_access(&parts_table, 0), "= required");
    ck_assert_str_eq(clr_column_access(&span_table, 0), "argument");
    ck_assert_str_eq(clr_column_access(&span_table, 1), "optional argument");
}
END_TEST

START_TEST(declarations_are_checked)
{
    static const struct clr_column columns[] = {
        CLR_COLUMN("id", CLR_NUMBER(thing, id), "Key.", .flags = CLR_KEY),
        CLR_COLUMN("any", CLR_BY_TABLE(CLR_ANY), "Cannot be indexed.", .found = 3),
        CLR_END,
    };
    struct clr_table table = rows_table;
    struct clr_session *session = clr_session_create(db);
    table.columns = columns;
    ck_assert_int_eq(clr_register_table(db, session, &table), SQLITE_MISUSE);
    clr_session_release(session);
}
END_TEST

/* A list that grows, as rows are read or between two queries: a cursor goes on along the rows that there
 * were, and the next query finds them all by every path. */
START_TEST(lists_may_grow)
{
    sqlite3_stmt *statement = NULL;
    char all[40];
    mixed_count = 100;
    check_text("SELECT count(*) > 3 FROM mixed WHERE label = 'a'", "1\n");
    ck_assert_int_eq(sqlite3_prepare_v2(db, "SELECT id FROM mixed WHERE has_team = 1 ORDER BY id",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    int rows = 0;
    int64_t last = INT64_MIN;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        ck_assert(rows == 0 || sqlite3_column_int64(statement, 0) > last);
        last = sqlite3_column_int64(statement, 0);
        if (++rows == 10) {
            mixed_count = THINGS;
            check_text(
                "SELECT count(*) = (SELECT count(*) FROM array_rows WHERE label = 'a' AND id % 5 "
                "<> 1) FROM mixed WHERE label = 'a'",
                "1\n");
        }
    }
    ck_assert_int_eq(sqlite3_finalize(statement), SQLITE_OK);
    ck_assert_int_gt(rows, 50);
    ck_assert_int_lt(rows, 100);
    snprintf(all, sizeof all, "%d\n", THINGS);
    check_text("SELECT count(*) + (SELECT count(*) FROM array_rows WHERE id % 5 = 1) FROM mixed",
               all);
    check_text(
        "SELECT id FROM mixed EXCEPT SELECT id FROM mixed WHERE id IN (SELECT id FROM mixed) "
        "AND team IS team",
        "");
}
END_TEST

/* An index of a list that is read is made once; by the key one row is read, and no list. */
START_TEST(rows_are_read_on_demand)
{
    read_count = asked_count = 0;
    check_text("SELECT team, label FROM read_rows WHERE id = 5", "2| 'abc'\n");
    check_text("SELECT count(*) FROM read_rows WHERE id = 3896", "0\n"); /* listed, and left out */
    ck_assert_int_eq(read_count, 2);
    ck_assert_int_eq(asked_count, 2);
    check_text("SELECT count(*) FROM read_rows WHERE id = 6", "0\n");
    ck_assert_int_eq(read_count, 2);
    check_text("SELECT count(*) FROM read_rows WHERE label = 'abc'", "17\n");
    ck_assert_int_eq(read_count, 2 + THINGS + 17);
    check_text("SELECT count(*) FROM read_rows WHERE label = 'abc'", "17\n");
    ck_assert_int_eq(read_count, 2 + THINGS + 34);
    read_count = 0;
    check_text("SELECT count(*) FROM read_rows WHERE id BETWEEN 3000 AND 3047", "2\n");
    ck_assert_int_eq(read_count, 3);
    check_text("SELECT count(*) FROM read_rows WHERE id > 3000 AND id < 3047 ORDER BY id DESC",
               "1\n");
    ck_assert_int_eq(read_count, 6);
}
END_TEST

/* Addresses as hosts and people write them; see plan.c. */
START_TEST(operands_are_read_alike)
{
    check_text("SELECT count(*) FROM span(3.0, '0x5')", "3\n");
    check_text("SELECT count(*) FROM span(' 3', '5.0')", "3\n");
    check_text("SELECT count(*) FROM span('0x3', 5)", "3\n");
    check_text("SELECT count(*) FROM span('0xFFFFFFFFFFFFFFFE', 0)", "3\n");
    check_contains("SELECT count(*) FROM span('0x', 5)", "no whole number");
    check_contains("SELECT count(*) FROM span('0x10000000000000000', 5)", "no whole number");
    check_contains("SELECT count(*) FROM span(3 || char(0), 5)", "no whole number");
    check_text(
        "SELECT count(*) = (SELECT sum(team = 3) FROM array_rows WHERE id % 5 <> 1) FROM mixed "
        "WHERE team = 3.0",
        "1\n");
    check_text(
        "SELECT count(*) = (SELECT sum(team = 3) FROM array_rows WHERE id % 5 <> 1) FROM mixed "
        "WHERE team = '3'",
        "1\n");
    check_text("SELECT count(*) FROM mixed WHERE team = 'abc' OR team = '0xg'", "0\n");
    check_contains("SELECT count(*) FROM mixed WHERE team = '0x3'", "mixed.team is a number");
    check_contains("SELECT count(*) FROM mixed WHERE id <= ' 0X3 '", "mixed.id is a number");
    check_contains("SELECT count(*) FROM mixed WHERE rowid = '0x3'", "mixed.id is a number");
    check_contains("SELECT count(*) FROM things AS t JOIN mixed ON mixed.id = '0x' || t.team",
                   "mixed.id is a number");
    check_contains("SELECT count(*) FROM keyless WHERE number = '0x3'",
                   "keyless.a column is a number");
    check_text("SELECT count(*) FROM mixed WHERE label = '0x3'", "0\n");
}
END_TEST

START_TEST(hidden_columns_are_read_by_name)
{
    check_text("SELECT * FROM things WHERE id = 5", "5|2| 'abc'| '007'\n");
    check_text("SELECT extra, value = '007', value = 7 FROM things WHERE id = 5", "1|1|0\n");
}
END_TEST

START_TEST(arguments_come_back_as_they_were_given)
{
    check_text("SELECT from_n, to_n, n FROM span(3, 4)", "3|4|3\n3|4|4\n");
    check_text("SELECT from_n, to_n, count(*) FROM span(3)", "3|NULL|11\n");
    check_text("SELECT from_n, to_n, typeof(from_n), n FROM span('3', 4.0)",
               " '3'|4.0| 'text'|3\n '3'|4.0| 'text'|4\n");
    check_text("SELECT count(*) FROM span(NULL, 4)", "0\n");
    check_text("SELECT count(*) FROM span(3, NULL)", "0\n");
    check_text("SELECT count(*), sum(n) FROM span WHERE (from_n = 1 AND to_n = 2) OR "
               "(from_n = 2 AND to_n = 3)",
               "4|8\n");
    check_text("SELECT count(*) FROM span WHERE from_n = 1 AND from_n = 2", "0\n");
    check_text("SELECT count(*) FROM span WHERE from_n IN (1, 2) AND to_n = 2", "3\n");
}
END_TEST

/* SQLite takes an OR apart and asks for its terms without a value that is a subquery. */
START_TEST(required_values_are_not_lost_in_an_or)
{
    check_text("SELECT count(*) FROM parts WHERE owner = (SELECT 3) AND (part < 2 OR part = 7)",
               "3\n");
    check_text("SELECT count(*) FROM parts WHERE owner = (SELECT 3) AND (part = 2 OR part > 7)",
               "3\n");
    check_text(
        "SELECT count(*) FROM parts WHERE owner IN (SELECT 3) AND (part = 2 OR name = 'odd')",
        "6\n");
    check_text("SELECT count(*) FROM span((SELECT 3), (SELECT 9)) WHERE n = 4 OR n > 7", "3\n");
}
END_TEST

START_TEST(what_is_missing_or_wrong_is_said)
{
    check_contains("SELECT * FROM span",
                   "error: span needs its arguments: SELECT * FROM span(from_n)");
    check_contains("SELECT * FROM parts", "error: parts needs a value for owner: WHERE owner = ");
    check_contains("SELECT * FROM parts WHERE part = 1", "error: parts needs a value");
    check_contains("SELECT * FROM span('7f3a`1c', 2)", "error: span: from_n is no whole number: "
                                                       "'7f3a`1c' (clr_address('7f3a`1c')");
    check_contains("SELECT * FROM span(0.5)", "no whole number");
    check_contains("SELECT * FROM span(9e18, 1e19)", "to_n is no whole number");
    check_contains("SELECT * FROM span(x'35')", "no whole number");
    check_contains("SELECT * FROM things WHERE id = ", "error: incomplete input");
}
END_TEST

START_TEST(statuses_become_codes)
{
    static const struct {
        int status, code;
    } expected[] = {{CLR_NOMEM, SQLITE_NOMEM},
                    {CLR_CANCELLED, SQLITE_INTERRUPT},
                    {CLR_FAULT, SQLITE_ERROR},
                    {CLR_UNSUPPORTED, SQLITE_ERROR}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        for (int place = IN_START; place <= NOWHERE; place++) {
            char *sql = sqlite3_mprintf("SELECT n FROM faulty(%d, %d)", place, expected[i].status);
            char *got = pairs_text(db, sql);
            int code = sqlite3_errcode(db);
            if (place == NOWHERE) {
                ck_assert_str_eq(got, "0\n1\n2\n");
            } else {
                ck_assert_int_eq(code, expected[i].code);
                ck_assert_msg(strstr(got, "on purpose") || code == SQLITE_NOMEM, "%s", got);
            }
            sqlite3_free(got);
            sqlite3_free(sql);
        }
    ck_assert_int_eq(started, finished);
    ck_assert_int_eq(started, 16);
}
END_TEST

/* --- Interrupts ------------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double interrupted_at;

static void *interrupt_later(void *context)
{
    nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
    interrupted_at = seconds();
    sqlite3_interrupt(context);
    return NULL;
}

START_TEST(interrupt_stops_work)
{
    pthread_t thread;
    char *sql = sqlite3_mprintf("SELECT n FROM faulty(%d, -1)", _i);
    ck_assert_int_eq(pthread_create(&thread, NULL, interrupt_later, db), 0);
    char *got = pairs_text(db, sql);
    int code = sqlite3_errcode(db);
    double late = seconds() - interrupted_at;
    pthread_join(thread, NULL);
    ck_assert_int_eq(code, SQLITE_INTERRUPT);
    ck_assert_ptr_nonnull(strstr(got, "interrupt"));
    ck_assert_msg(late < 0.2, "stopped %.3f s late", late);
    check_text("SELECT count(*) FROM things", "300\n");
    sqlite3_free(got);
    sqlite3_free(sql);
}
END_TEST

static int stop_after(void *context)
{
    return seconds() > *(double *)context;
}

START_TEST(progress_handler_stops_work)
{
    char *sql = sqlite3_mprintf("SELECT n FROM faulty(%d, -1)", _i);
    double end = seconds() + 0.3;
    sqlite3_progress_handler(db, 1000, stop_after, &end);
    char *got = pairs_text(db, sql);
    int code = sqlite3_errcode(db);
    double late = seconds() - end;
    sqlite3_progress_handler(db, 0, NULL, NULL);
    ck_assert_int_eq(code, SQLITE_INTERRUPT);
    ck_assert_msg(late < 0.2, "stopped %.3f s late", late);
    check_text("SELECT count(*) FROM things", "300\n");
    sqlite3_free(got);
    sqlite3_free(sql);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */

/* Every allocation of opening, registering and asking fails in turn: an error or the right answer.
 */
START_TEST(every_allocation_may_fail)
{
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        sqlite3 *other = NULL;
        ck_assert_uint_lt(n, 400);
        uint64_t before = clr_alloc_live();
        clr_alloc_fail_at(n);
        int code = open_connection(&other);
        char *got =
            code == SQLITE_OK
                ? pairs_text(other, "SELECT count(*) FROM things AS a JOIN things AS b ON "
                                    "b.label = a.label JOIN span ON from_n = a.team "
                                    "JOIN mixed AS m ON m.title = '<' || a.label || '>' JOIN "
                                    "read_rows AS r ON r.word = m.label WHERE a.id = 5 AND "
                                    "r.id < 2000")
                : NULL;
        clr_alloc_fail_at(0);
        failed = code != SQLITE_OK || strstr(got, "error: ");
        if (failed)
            ck_assert_int_eq(code != SQLITE_OK ? code : sqlite3_errcode(other), SQLITE_NOMEM);
        sqlite3_free(got);
        ck_assert_int_eq(sqlite3_close(other), SQLITE_OK);
        ck_assert_uint_eq(clr_alloc_live(), before);
        if (!failed)
            ck_assert_uint_gt(n, 10);
    }
}
END_TEST

int main(void)
{
    sqlite3_api = host_api();
    Suite *suite = suite_create("driver");
    TCase *test = tcase_create("driver");
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 120);
    tcase_add_test(test, declarations_are_checked);
    tcase_add_test(test, answers_are_those_of_an_ordinary_table);
    tcase_add_test(test, plans_use_the_paths);
    tcase_add_test(test, declarations_become_tables);
    tcase_add_test(test, lists_may_grow);
    tcase_add_test(test, rows_are_read_on_demand);
    tcase_add_test(test, operands_are_read_alike);
    tcase_add_test(test, hidden_columns_are_read_by_name);
    tcase_add_test(test, arguments_come_back_as_they_were_given);
    tcase_add_test(test, required_values_are_not_lost_in_an_or);
    tcase_add_test(test, what_is_missing_or_wrong_is_said);
    tcase_add_test(test, statuses_become_codes);
    tcase_add_loop_test(test, interrupt_stops_work, IN_START, NOWHERE);
    tcase_add_loop_test(test, progress_handler_stops_work, IN_START, NOWHERE);
    tcase_add_test(test, every_allocation_may_fail);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
