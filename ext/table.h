/*
 * How a table is declared. A table is data, and functions only for what has to be computed; driver.c
 * turns declarations into SQLite's virtual tables. From one declaration follow the CREATE TABLE text, the
 * planner's answers, clr_schema, docs/schema.md and the property tests. The next table is one file in
 * tables/ and one line in clr_tables[] (tables.c).
 *
 * Two kinds:
 *   - lists: the rows are an array that the reader has, or makes when it is asked for (struct clr_list).
 *     The driver does everything: scans in both directions, `=` and ranges by the key, `=` by each column
 *     with `found`.
 *   - cursors: start(), next() and finish() find the rows, by the paths that the table declares.
 *
 * A column says how its value comes from its row: which member it is, or which function computes it. The
 * row of a list is its element; the row of a cursor table is the cursor, so that members of it are columns
 * too: CLR_NUMBER(ref_cursor, ref.source); or what the cursor has in `element`.
 *
 *     static const struct clr_column columns[] = {
 *         CLR_COLUMN("address", CLR_NUMBER(clr_handle, address), "Address of its slot.", .flags = CLR_KEY),
 *         CLR_COLUMN("kind", CLR_WORD_BY(handle_kind), "strong, pinned and others."),
 *         CLR_COLUMN("object", CLR_NUMBER(clr_handle, object), "What it holds.",
 *                    .refers_to = "objects.address", .found = 20),
 *         CLR_END,
 *     };
 *     const struct clr_table clr_table_handles = {
 *         .name = "handles",
 *         .doc = "GC handles of every kind.",
 *         .example = "SELECT kind, count(*) FROM handles GROUP BY kind",
 *         .columns = columns,
 *         .list = {CLR_DUMP_LIST(clr_handle, handles, handle_count), .rows = 500, .is_sorted = true},
 *         .needs = CLR_PART_HANDLES,
 *         .contract = CLR_CONTRACT_GC,
 *     };
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

#include "base/text.h"
#include "dump/dump.h"

struct clr_session;
struct clr_open_dump;
struct clr_cursor;
struct clr_table;

/* --- Columns ---------------------------------------------------------------------------------- */

/* ANY: declared without a type, so that nothing is converted when it is compared. */
enum clr_sql_type { CLR_INTEGER, CLR_REAL, CLR_TEXT, CLR_ANY };

/* What a value is read from; see the macros below, which choose the kind by the member's type. */
enum clr_get_kind {
    CLR_GET_BY_TABLE, /* the table's column() */
    CLR_GET_U8,
    CLR_GET_U16,
    CLR_GET_U32,
    CLR_GET_U64,
    CLR_GET_I8,
    CLR_GET_I16,
    CLR_GET_I32,
    CLR_GET_I64,
    CLR_GET_ROW_NUMBER,
    CLR_GET_NUMBER,     /* by a function */
    CLR_GET_POINTER,    /* a pointer to a text */
    CLR_GET_CHARACTERS, /* an array of characters that ends with a NUL */
    CLR_GET_WORD,       /* by a function */
    CLR_GET_TEXT,       /* by a function */
    CLR_GET_VALUE,      /* by a function */
};

/* Which values of a member give NULL. */
enum clr_null {
    CLR_NO_NULL,
    CLR_ABSENT_IS_NULL,   /* CLR_ABSENT */
    CLR_ZERO_IS_NULL,     /* 0 and CLR_ABSENT */
    CLR_NEGATIVE_IS_NULL, /* below 0 */
    CLR_EMPTY_IS_NULL,    /* a text without characters */
};

/* CLR_ABSENT gives NULL. */
static inline uint64_t clr_or_absent(uint64_t value)
{
    return value ? value : CLR_ABSENT;
}
typedef uint64_t clr_number_function(struct clr_cursor *, const void *row);
/* A text that lives with the dump, or static; NULL gives NULL. The name of a type that memory ran out for
 * (clr_type_name_lost) is an error. */
typedef const char *clr_word_function(struct clr_cursor *, const void *row);
/* Writes into an empty text; with CLR_NONEMPTY_TEXT_BY one that stays empty gives NULL. */
typedef enum clr_status clr_text_function(struct clr_cursor *, const void *row, struct clr_text *,
                                          struct clr_error *);
/* Sets the result; leaving it unset is NULL. */
typedef enum clr_status clr_value_function(struct clr_cursor *, const void *row, sqlite3_context *,
                                           struct clr_error *);

struct clr_get {
    uint8_t type;    /* enum clr_sql_type */
    uint8_t kind;    /* enum clr_get_kind */
    uint8_t null;    /* enum clr_null */
    bool is_plain;   /* a number that is given as it is */
    bool is_foreign; /* text that need not be valid UTF-8; is copied */
    uint32_t offset; /* of the member in the row */
    union {
        struct { /* the number is the place of a word */
            const char *const *words;
            size_t word_count;
        };
        uint64_t mask; /* 1 if any of these bits is set; 0: the number itself */
        int64_t first; /* of CLR_GET_ROW_NUMBER */
        clr_number_function *number;
        clr_word_function *word;
        clr_text_function *text;
        clr_value_function *value;
    };
};

#define CLR_MEMBER_OF(row, member) (((struct row *)0)->member)
/* A member that is no number does not compile. */
#define CLR_NUMBER_KIND(row, member)                                                               \
    _Generic(CLR_MEMBER_OF(row, member), bool                                                      \
             : CLR_GET_U8, uint8_t                                                                 \
             : CLR_GET_U8, uint16_t                                                                \
             : CLR_GET_U16, uint32_t                                                               \
             : CLR_GET_U32, uint64_t                                                               \
             : CLR_GET_U64, int8_t                                                                 \
             : CLR_GET_I8, int16_t                                                                 \
             : CLR_GET_I16, int32_t                                                                \
             : CLR_GET_I32, int64_t                                                                \
             : CLR_GET_I64)
/* The same for texts. An array of characters becomes a pointer, its address does not. */
#define CLR_TEXT_KIND(row, member)                                                                 \
    _Generic(CLR_MEMBER_OF(row, member),                                                           \
        char *: _Generic(&CLR_MEMBER_OF(row, member), char **: CLR_GET_POINTER, default            \
                         : CLR_GET_CHARACTERS),                                                    \
        const char *: _Generic(&CLR_MEMBER_OF(row, member), const char **: CLR_GET_POINTER,        \
                               const char *const *: CLR_GET_POINTER, default: CLR_GET_CHARACTERS))
#define CLR_NUMBER_GET(row, member)                                                                \
    .type = CLR_INTEGER, .kind = CLR_NUMBER_KIND(row, member),                                     \
    .offset = offsetof(struct row, member)
#define CLR_TEXT_GET(row, member)                                                                  \
    .type = CLR_TEXT, .kind = CLR_TEXT_KIND(row, member), .offset = offsetof(struct row, member)

/* A member that is a number, or 0 and 1: as it is; NULL if CLR_ABSENT; NULL if that or 0 (what is not
 * there, or not known); NULL if below 0. */
/* clang-format off */
#define CLR_NUMBER(row, member) {CLR_NUMBER_GET(row, member), .is_plain = true}
#define CLR_PRESENT(row, member) {CLR_NUMBER_GET(row, member), .null = CLR_ABSENT_IS_NULL}
#define CLR_NONZERO(row, member) {CLR_NUMBER_GET(row, member), .null = CLR_ZERO_IS_NULL}
#define CLR_NONNEGATIVE(row, member) {CLR_NUMBER_GET(row, member), .null = CLR_NEGATIVE_IS_NULL}
/* 1 if a bit of MASK is set in the member. */
#define CLR_BIT(row, member, bits) {CLR_NUMBER_GET(row, member), .mask = (bits)}
/* A member that is the place of a word in an array; one past its end gives NULL. */
#define CLR_WORD(row, member, array)                                                               \
    {.type = CLR_TEXT, .kind = CLR_NUMBER_KIND(row, member), .offset = offsetof(struct row, member), \
     .words = (array), .word_count = sizeof(array) / sizeof *(array)}
/* The number of the row, counted from FIRST. */
#define CLR_ROW_NUMBER(from) {.type = CLR_INTEGER, .kind = CLR_GET_ROW_NUMBER, .first = (from)}
/* A member that is a text, where a null pointer gives NULL: one that lives with the dump; one as it stands
 * in the dump or the file system, whose bytes are made valid UTF-8; the same, and '' gives NULL. */
#define CLR_STATIC_TEXT(row, member) {CLR_TEXT_GET(row, member)}
#define CLR_FOREIGN_TEXT(row, member) {CLR_TEXT_GET(row, member), .is_foreign = true}
#define CLR_NONEMPTY_TEXT(row, member)                                                             \
    {CLR_TEXT_GET(row, member), .is_foreign = true, .null = CLR_EMPTY_IS_NULL}
/* By a function of the type above. */
#define CLR_NUMBER_BY(function) {.type = CLR_INTEGER, .kind = CLR_GET_NUMBER, .number = (function)}
#define CLR_WORD_BY(function) {.type = CLR_TEXT, .kind = CLR_GET_WORD, .word = (function)}
#define CLR_TEXT_BY(function) {.type = CLR_TEXT, .kind = CLR_GET_TEXT, .text = (function)}
#define CLR_NONEMPTY_TEXT_BY(function) {.type = CLR_TEXT, .kind = CLR_GET_TEXT, .null = CLR_EMPTY_IS_NULL, .text = (function)}
#define CLR_VALUE_BY(sql_type, function)                                                           \
    {.type = (sql_type), .kind = CLR_GET_VALUE, .value = (function)}
/* Of an argument, which the driver gives back as it came. */
#define CLR_ARGUMENT(sql_type) {.type = (sql_type), .kind = CLR_GET_BY_TABLE}
/* By the table's column(), for tables whose columns share work. */
#define CLR_BY_TABLE(sql_type) {.type = (sql_type), .kind = CLR_GET_BY_TABLE}

/* The heads of such functions; what one does not use it need not name. */
#define CLR_UNUSED __attribute__((unused))
#define CLR_NUMBER_FUNCTION(name)                                                                  \
    static uint64_t name(CLR_UNUSED struct clr_cursor *cursor, CLR_UNUSED const void *row)
#define CLR_WORD_FUNCTION(name)                                                                    \
    static const char *name(CLR_UNUSED struct clr_cursor *cursor, CLR_UNUSED const void *row)
#define CLR_TEXT_FUNCTION(name)                                                                    \
    static enum clr_status name(CLR_UNUSED struct clr_cursor *cursor, CLR_UNUSED const void *row,  \
                                struct clr_text *text, CLR_UNUSED struct clr_error *error)
#define CLR_VALUE_FUNCTION(name)                                                                   \
    static enum clr_status name(CLR_UNUSED struct clr_cursor *cursor, CLR_UNUSED const void *row,  \
                                sqlite3_context *context, CLR_UNUSED struct clr_error *error)

enum clr_column_flags {
    CLR_KEY = 1,      /* the table's key, or part of it (WITHOUT ROWID if it has several) */
    CLR_ARG = 2,      /* argument of a table function: HIDDEN, given back as it came; stands first */
    CLR_REQUIRED = 4, /* rows exist only for a given value: an argument, or field_values.object */
    CLR_HIDDEN = 8,   /* read by name only: it costs (needs says what) */
};

struct clr_column {
    const char *name;
    struct clr_get get;
    const char *doc; /* one sentence; what refers_to says is not in it */
    unsigned flags;
    unsigned needs; /* parts (enum clr_part_bit) that must exist before it is read; those that they need
                       are added */
    const char *refers_to; /* the column that it joins: 'objects.address' */
    double found; /* lists: the driver finds rows by it; about so many have one value. Not by
                     CLR_GET_VALUE or CLR_GET_BY_TABLE */
};
#define CLR_COLUMN(name_, get_, ...) {.name = (name_), .get = get_, .doc = __VA_ARGS__}
#define CLR_END {.name = NULL}
/* clang-format on */

/* --- Lists ------------------------------------------------------------------------------------ */

/* Where the rows of a table are. The key is the one INTEGER column with CLR_KEY; a list without such a
 * column is given in its own order. */
struct clr_list {
    double rows;     /* about how many; not 0 */
    size_t row_size; /* of an element; 0: all rows are the same place, which is the first */
    bool in_dump;    /* a pointer and a count in struct clr_dump, see CLR_DUMP_LIST */
    uint32_t rows_at, count_at;
    /* Or a function: the first element, and how many. Asked for each row, as lists may grow. DUMP is NULL
     * in a global table. */
    const void *(*get)(const struct clr_dump *dump, size_t *count);
    bool of_pointers; /* elements are pointers to rows */
    bool is_sorted;   /* ascending by the key, as signed; otherwise the driver sorts */
    /* Makes the rows ready, once or cheaply; may be NULL. */
    enum clr_status (*load)(struct clr_dump *dump, struct clr_job *job, struct clr_error *error);
    /* Rows for which it is false are left out; may be NULL. */
    bool (*has)(const struct clr_dump *dump, const void *row);

    /* Lists of uint64_t keys, ascending as signed, whose rows are read when they are asked for. */
    size_t read_size;    /* of a row; 0: elements are rows */
    const char *reading; /* what is done while an index is built, for progress: 'listing types' */
    /* Reads the row of KEY into ROW, which is zeroed. *FOUND false: it is left out. */
    enum clr_status (*read)(struct clr_cursor *cursor, uint64_t key, void *row, bool *found,
                            struct clr_error *error);
    /* Whether KEY is in the list, which need not be loaded for it: for `=`. May be NULL. */
    enum clr_status (*lists)(struct clr_dump *dump, struct clr_job *job, uint64_t key, bool *listed,
                             struct clr_error *error);
};
/* A list whose elements are struct ROW, at clr_dump.ROWS, COUNT of them. Another type does not compile. */
#define CLR_DUMP_LIST(row, rows_, count_)                                                          \
    .in_dump = _Generic(((struct clr_dump *)0)->rows_, struct row *                                \
                        : true),                                                                   \
    .rows_at = offsetof(struct clr_dump, rows_),                                                   \
    .count_at = _Generic(&((struct clr_dump *)0)->count_, size_t *                                 \
                         : offsetof(struct clr_dump, count_)),                                     \
    .row_size = sizeof(struct row)

/* --- Paths ------------------------------------------------------------------------------------ */

enum clr_key_op { CLR_NO_KEY, CLR_EQ, CLR_RANGE };
struct clr_key {
    uint8_t column;
    uint8_t op;
};
enum { CLR_PATH_KEYS = 3, CLR_PATHS = 12 };

/* One of the sets of conditions that rows can be found by. A more specific path must claim fewer rows, or
 * the planner drops it. EXPLAIN QUERY PLAN shows it as 'address=', 'object=,position..' or 'scan'. */
struct clr_path {
    /* EQ keys first, at most one RANGE, last; none: the full scan. */
    struct clr_key key[CLR_PATH_KEYS];
    int8_t order;    /* rows come in this column's order, ascending; -1: in none */
    bool reversible; /* and can come descending */
    bool unique;     /* at most one row */
    unsigned needs;  /* parts that must exist before start() */
    /* About how many rows one look-up gives: a number, or a part of all objects, which are estimated by
     * the size of the core. One of both is not 0. */
    double rows, per_object;
};
#define CLR_PATHS_END                                                                              \
    {                                                                                              \
        .rows = 0                                                                                  \
    }

struct clr_query { /* what start() gets; the driver has checked and converted it */
    int path;
    bool descending;
    sqlite3_value *equal[CLR_PATH_KEYS]; /* EQ operands by key number; NULL: not given (optional
                                            argument) */
    int64_t number[CLR_PATH_KEYS];       /* of an INTEGER column: the operand as a number */
    bool has_low, has_high;
    int64_t low, high; /* RANGE operand, inclusive, clamped; may be a little too wide: SQLite checks
                          every row again */
};

static inline int64_t clr_equal_int(const struct clr_query *query, int key)
{
    return query->number[key];
}

/* --- Tables ----------------------------------------------------------------------------------- */

struct clr_list_index;

struct clr_cursor { /* the base of every cursor: first member of a table's own struct */
    sqlite3_vtab_cursor base;
    struct clr_dump *dump; /* NULL in a global table */
    struct clr_job *job;   /* for long work in start(), next() and columns */
    struct clr_session *session;
    int64_t row;   /* lists: the row's number in the order of the key. Others: theirs, from 0 */
    int64_t rowid; /* cursor tables set it in start() and next(): the value of the key if
                      that is one INTEGER column, any unique number if there is no key; not
                      asked for if the key has several columns or is text */
    const void
        *element; /* of a cursor table: the row that columns are members of, set by start() and
                            next(); NULL: the cursor itself */
    bool eof;     /* set by start() and next() */
    bool descending;
    sqlite3_value *arg[CLR_PATH_KEYS]; /* values of CLR_ARG columns, by column; NULL: not given */
    /* The driver's own. Everything after this struct is zero when start() is called. */
    struct clr_text text; /* of CLR_GET_TEXT, used again for every row */
    struct clr_list_index *order,
        *found;       /* of a list that is not sorted; of the path. NULL: none */
    int64_t at, left; /* entries of FOUND, or rows, that are still to come */
    void *read;       /* room for a row that is read */
    bool started;
    struct clr_open_dump *open;
    sqlite3_value *given; /* path of an eponymous table */
    uint64_t checked;     /* when the file was last looked at */
};

struct clr_table {
    const char *name; /* as in the schema: "objects"; the module is clr_<name> */
    const char *doc;
    /* A query, or several that are separated by ";\n"; each gives a row on the shipped dump. */
    const char *example;
    const struct clr_column *columns; /* ends with CLR_END */
    bool global; /* needs no dump (clr_schema): eponymous only, under its own name; cursor->dump is
                       NULL */
    unsigned needs; /* parts that every use of the table needs */
    int contract; /* enum clr_contract_id that must be served, or -1: otherwise reading is an error
                       with the reason */

    struct clr_list list; /* rows 0: a cursor table */

    /* Cursor tables. */
    const struct clr_path *paths; /* ends with CLR_PATHS_END */
    size_t cursor_size;           /* sizeof of the table's cursor struct; 0: struct clr_cursor */
    /* Makes ready what start() goes by; may be NULL. */
    enum clr_status (*load)(struct clr_dump *dump, struct clr_job *job, struct clr_error *error);
    enum clr_status (*start)(struct clr_cursor *, const struct clr_query *, struct clr_error *);
    enum clr_status (*next)(struct clr_cursor *, struct clr_error *);
    void (*finish)(struct clr_cursor *); /* frees what start() made, also after it failed; NULL if
                                            there is nothing */

    /* Columns with CLR_BY_TABLE. Sets the result; leaving it unset is NULL. */
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

/* The row of a list that has KEY, without a cursor of its own: its element, or NULL. */
enum clr_status clr_list_row(struct clr_cursor *cursor, const struct clr_table *table, int64_t key,
                             const void **row, struct clr_error *error);

/* --- Results, so that all tables give the same things alike --------------------------- */

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
