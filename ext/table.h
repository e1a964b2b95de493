/*
 * How a table is declared. A table is data plus at most four functions; driver.c turns declarations
 * into SQLite's virtual tables. From one declaration follow the CREATE TABLE text, the planner's
 * answers, clr_schema, docs/schema.md and the property tests. The next table is one file in tables/ and one
 * line in clr_tables[] (tables.c).
 *
 * Two kinds:
 *   - array tables: rows are numbered 0 .. count-1 and are at hand (segments, threads, globals …).
 *     They give count(), perhaps key(), and column(). The driver does scans, `=` and ranges.
 *   - cursor tables: start(), next(), column(), finish().
 *
 * Each table exists in two forms. Created by clr_attach in the dump's schema it reads that dump
 * (INNOCUOUS). Eponymous, named clr_<name>, it has one more HIDDEN column in front, `dump`, whose
 * value is a path: SELECT count(*) FROM clr_objects('core.4711') (DIRECTONLY). The driver shifts
 * column numbers; a table file never sees the difference.
 */
#ifndef CLR_TABLE_H
#define CLR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sqlite3ext.h>
#ifndef CLR_EXTENSION_MAIN
SQLITE_EXTENSION_INIT3
#endif

#include "dump/dump.h"

/* ANY: declared without a type, so that nothing is converted when it is compared. */
enum clr_sql_type { CLR_INTEGER, CLR_REAL, CLR_TEXT, CLR_ANY };

enum clr_column_flags {
    CLR_KEY = 1, /* the table's key, or part of it (WITHOUT ROWID if it has several) */
    CLR_ARG = 2, /* argument of a table function: HIDDEN, given back as it came; stands first */
    CLR_REQUIRED = 4, /* rows exist only for a given value: an argument, or field_values.object */
    CLR_HIDDEN = 8,   /* read by name only: it costs (needs says what) */
};

struct clr_column {
    const char *name;
    enum clr_sql_type type;
    unsigned flags;
    unsigned needs;  /* parts (enum clr_part_bit) that must exist before column() reads it */
    const char *doc; /* one sentence */
};

enum clr_key_op { CLR_NO_KEY, CLR_EQ, CLR_RANGE };
struct clr_key {
    uint8_t column;
    uint8_t op;
};
enum { CLR_PATH_KEYS = 3 };

/* A way to find rows. A more specific path must claim fewer rows, or the planner drops it. */
struct clr_path {
    const char *name;                  /* shown by EXPLAIN QUERY PLAN and clr_schema: "address=" */
    struct clr_key key[CLR_PATH_KEYS]; /* EQ keys first, at most one RANGE, last */
    int8_t order;    /* rows come in this column's order, ascending; -1: in none */
    bool reversible; /* and can come descending */
    bool unique;     /* at most one row */
    unsigned needs;  /* parts that must exist before start() */
    double (*rows)(const struct clr_dump *dump); /* rows of one look-up, from facts known at open;
                                                    dump is NULL in an eponymous table */
};

struct clr_query { /* what start() gets; the driver has checked and converted it */
    int path;
    bool descending;
    sqlite3_value *equal[CLR_PATH_KEYS]; /* EQ operands by key number; NULL: not given (optional
                                            argument). On an INTEGER column: an integer; on a TEXT
                                            column: a text */
    bool has_low, has_high;
    int64_t low, high; /* RANGE operand, inclusive, clamped; may be a little too wide: SQLite checks
                          every row again */
};

struct clr_session;
struct clr_open_dump;

struct clr_cursor { /* the base of every cursor: first member of a table's own struct */
    sqlite3_vtab_cursor base;
    struct clr_dump *dump; /* NULL in a global table */
    struct clr_job *job;   /* for long work in start(), next() and column() */
    struct clr_session *session;
    int64_t row;   /* array tables: the row's number. Others: theirs, from 0 */
    int64_t rowid; /* cursor tables set it in start() and next(): the value of the key if
                      that is one INTEGER column, any unique number if there is no key; not
                      asked for if the key has several columns or is text */
    bool eof;      /* set by start() and next() */
    sqlite3_value *arg[CLR_PATH_KEYS]; /* values of CLR_ARG columns, by column; NULL: not given */
    /* The driver's own. Everything after this struct is zero when start() is called. */
    int64_t first, last; /* range of an array table */
    bool descending, started;
    struct clr_open_dump *open;
    sqlite3_value *given; /* path of an eponymous table */
    uint64_t checked;     /* when the file was last looked at */
};

struct clr_table {
    const char *name; /* as in the schema: "objects"; the module is clr_<name> */
    const char *doc;
    const struct clr_column *columns; /* ends at name == NULL */
    const struct clr_path *paths; /* ends at name == NULL; a path without keys is the full scan */
    bool global;                  /* needs no dump (clr_schema, clr_diff): eponymous only, under
                                     its own name; cursor->dump is NULL */
    unsigned needs;               /* parts that every use of the table needs */
    int contract;                 /* enum clr_contract_id that must be served, or -1: otherwise
                                     reading is an error with the reason */

    /* Array tables (start is NULL). load() makes the rows ready, once or cheaply; may be NULL. */
    enum clr_status (*load)(struct clr_dump *dump, struct clr_job *job, struct clr_error *error);
    size_t (*count)(const struct clr_dump *dump);
    /* Value of the INTEGER key column of row ROW; ascending as signed. NULL: the key is the row's
     * number. The key column is the first one with CLR_KEY. */
    int64_t (*key)(const struct clr_dump *dump, size_t row);

    /* Cursor tables. */
    size_t cursor_size; /* sizeof of the table's cursor struct; 0: struct clr_cursor */
    enum clr_status (*start)(struct clr_cursor *, const struct clr_query *, struct clr_error *);
    enum clr_status (*next)(struct clr_cursor *, struct clr_error *);
    void (*finish)(struct clr_cursor *); /* frees what start() made, also after it failed; NULL if
                                            there is nothing */

    /* Both. Sets the result; leaving it unset is NULL. */
    enum clr_status (*column)(struct clr_cursor *, int column, sqlite3_context *,
                              struct clr_error *);
};

extern const struct clr_table *const clr_tables[]; /* tables.c; ends at NULL: the whole product */

/* Registers every table's module on a connection. After a failure none is registered. */
int clr_register_tables(sqlite3 *db, struct clr_session *session, char **message);
void clr_unregister_tables(sqlite3 *db);
int clr_register_table(sqlite3 *db, struct clr_session *session, const struct clr_table *table);
/* The name of a table's module: 'clr_objects'; of a global table its own name. Text of SIZE bytes.
 */
void clr_module_name(const struct clr_table *table, char *text, size_t size);

/* The declaration as SQLite takes it: 'CREATE TABLE x(address INTEGER PRIMARY KEY, …)'. Freed with
 * sqlite3_free. */
char *clr_table_declaration(const struct clr_table *table, bool eponymous);
/* How a column can be looked up, as clr_schema prints it: '=', '..', '=,..', '= required',
 * 'argument', 'optional argument' or ''; static text. */
const char *clr_column_access(const struct clr_table *table, int column);

static inline int64_t clr_equal_int(const struct clr_query *q, int key)
{
    return sqlite3_value_int64(q->equal[key]);
}

/* --- Results, so that all tables give the same things in the same way ------------------------- */

/* An address, size or count. 0 stays 0 (the program's null). */
static inline void clr_result_u64(sqlite3_context *context, uint64_t value)
{
    sqlite3_result_int64(context, (sqlite3_int64)value);
}
/* The same, but CLR_ABSENT and 0 ("none", "not known") give NULL. */
static inline void clr_result_known(sqlite3_context *context, uint64_t value)
{
    if (value != 0 && value != CLR_ABSENT)
        sqlite3_result_int64(context, (sqlite3_int64)value);
}
static inline void clr_result_bool(sqlite3_context *context, bool value)
{
    sqlite3_result_int(context, value);
}
/* Text that lives with the dump or is static; NULL gives NULL. */
static inline void clr_result_static(sqlite3_context *context, const char *text)
{
    if (text)
        sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}
/* Text that SQLite copies. */
static inline void clr_result_copy(sqlite3_context *context, const char *text, size_t length)
{
    if (text)
        sqlite3_result_text64(context, text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}
/* '' gives NULL: for what is not known. */
static inline void clr_result_nonempty(sqlite3_context *context, const char *text)
{
    if (text && *text)
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

#endif
