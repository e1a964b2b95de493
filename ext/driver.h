/*
 * Private to the table driver: what its files share.
 *
 *   declare.c  a declaration as text: CREATE TABLE, access
 *   plan.c     xBestIndex, and the operands of xFilter
 *   list.c     rows of lists, values of columns
 *   driver.c   everything else of sqlite3_module
 *
 * A plan travels from xBestIndex to xFilter as one number and the operands, in this order: the path
 * of the dump, EQ keys in the path's order, low bound, high bound, operands that are only looked at.
 */
#ifndef CLR_DRIVER_H
#define CLR_DRIVER_H

#include "table.h"

enum clr_plan_bits {
    PLAN_PATH = 0xff, /* number of the path */
    PLAN_DESCENDING = 0x100,
    PLAN_LOW = 0x200, /* a low bound is given */
    PLAN_HIGH = 0x400,
    PLAN_DUMP = 0x800,      /* the path of the dump is given */
    PLAN_MISSING = 0x1000,  /* something required is missing: xFilter says so */
    PLAN_NO_DUMP = 0x2000,  /* the path of the dump is */
    PLAN_CONSTANT = 0x4000, /* the operand of EQ key 0 is a number in the query */
    PLAN_KEY = 0x10000,     /* << k: an operand of the path's EQ key k is given */
};
enum { NO_COLUMN = -1, DUMP_COLUMN = -2 };

struct clr_vtab {
    sqlite3_vtab base;
    const struct clr_table *table;
    struct clr_session *session;
    int64_t number; /* of the dump; 0: eponymous or global */
    int shift;      /* 1: the column 'dump' stands in front */
    int arguments;  /* leading columns that are arguments */
    int key;        /* the one INTEGER key column, else NO_COLUMN */
    struct clr_path paths[CLR_PATHS];
    int path_count;
    int scan;      /* the path without keys, -1 if there is none */
    bool keyed;    /* has a key of any kind */
    bool requires; /* has CLR_REQUIRED columns */
    bool counted;  /* in tables of the open dump */
};

/* --- declare.c --- */

/* Number of leading columns that are arguments. */
int clr_count_arguments(const struct clr_table *table);
/* The only key column if it is an INTEGER, else NO_COLUMN. *KEYED: there is a key. */
int clr_single_key(const struct clr_table *table, bool *keyed);
/* Whether COLUMN is compared as a text. */
bool clr_is_text_key(const struct clr_table *table, int column);
/* The table's paths: those that it declares, or those that a list has by itself; how many. */
int clr_table_paths(const struct clr_table *table, struct clr_path paths[CLR_PATHS]);
/* 'address=', 'object=,position..' or 'scan'. Freed with sqlite3_free. */
char *clr_path_name(const struct clr_table *table, const struct clr_path *path);

/* --- plan.c --- */

int clr_best_index(sqlite3_vtab *base, sqlite3_index_info *info);
/* Turns the operands of xFilter, behind the dump's path, up to END, into QUERY. *NONE: no row can match. */
enum clr_status clr_take_operands(struct clr_vtab *vtab, struct clr_cursor *cursor, int plan,
                                  sqlite3_value **argv, sqlite3_value **end,
                                  struct clr_query *query, bool *none, struct clr_error *error);

#endif
