/*
 * The planner's questions: which path finds the rows, and what the operands mean.
 *
 * Rules, each of which a wrong or slow answer stands behind:
 *   - A required value that is missing is never an error while planning: an OR is planned without
 *     its terms first. Such a plan costs so much that any other wins, and xFilter raises. One that is
 *     there but unusable is SQLITE_CONSTRAINT, so that another order of the join is tried.
 *   - An OR beside a required value is not taken apart: its terms would be asked without that
 *     value if it is a subquery. So no path of such a table costs less than the plainest one. (An
 *     eponymous table whose path is a subquery is left with an error: its plans matter more.)
 *   - SQLite checks every row again, but for arguments. So bounds may be a little too wide, and an
 *     operand is only converted to find rows, never to judge them. Nothing may be left out though:
 *       INTEGER column  numbers and text that is a number compare as numbers; other text and blobs
 *                       are above every number: as a low bound no row, as a high bound no bound.
 *                       A REAL between two integers equals none of them
 *       TEXT column     text finds that text. A number compares as text or, beside a column with
 *                       numeric affinity, makes the text a number ('05' = 5): xFilter cannot know,
 *                       and scans. Another collation than BINARY is not used at all
 *       NULL            no row
 *       a text as '0x7f3a' beside an INTEGER column is an error: an address in quotes equals nothing
 *   - IS is not used: it finds NULLs. LIMIT and OFFSET are left to SQLite; their iColumn means
 *     nothing.
 *   - ORDER BY is taken over only when it is one term, which is the order that the path has by
 *     itself. That is right for what DISTINCT and GROUP BY ask for too, on every version.
 */
#include "driver.h"

#include <string.h>

#include "results.h"
#include "session.h"

/* --- Planning --------------------------------------------------------------------------------- */

enum operand { EQUAL, LOW, HIGH };

static bool is_operand(int op, enum operand operand)
{
    switch (operand) {
    case EQUAL: return op == SQLITE_INDEX_CONSTRAINT_EQ;
    case LOW: return op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE;
    default: return op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE;
    }
}

/* The table's column for SQLite's. */
static int column_of(const struct clr_vtab *vtab, int column)
{
    if (column < 0)
        return vtab->shift ? NO_COLUMN : vtab->key; /* the rowid */
    return vtab->shift && column == 0 ? DUMP_COLUMN : column - vtab->shift;
}

/* The first usable constraint that gives OPERAND for COLUMN, or -1. */
static int find_constraint(const struct clr_vtab *vtab, sqlite3_index_info *info, int column,
                           enum operand operand)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (!constraint->usable || !is_operand(constraint->op, operand) ||
            column_of(vtab, constraint->iColumn) != column)
            continue;
        if (column >= 0 && clr_is_text_key(vtab->table, column) &&
            sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        return i;
    }
    return -1;
}

/* Whether a value that the table cannot do without is there, but comes from a later table. */
static bool is_required_later(const struct clr_vtab *vtab, const sqlite3_index_info *info)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->usable || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ)
            continue;
        int column = column_of(vtab, constraint->iColumn);
        if (column == DUMP_COLUMN ||
            (column >= 0 && (vtab->table->columns[column].flags & (CLR_ARG | CLR_REQUIRED))))
            return true;
    }
    return false;
}

static bool names_column(const struct clr_path *path, int column)
{
    for (int k = 0; k < CLR_PATH_KEYS; k++)
        if (path->key[k].op == CLR_EQ && path->key[k].column == column)
            return true;
    return false;
}

static bool path_fits(const struct clr_vtab *vtab, sqlite3_index_info *info,
                      const struct clr_path *path)
{
    const struct clr_column *columns = vtab->table->columns;
    for (int i = 0; columns[i].name; i++)
        if ((columns[i].flags & CLR_REQUIRED) && !names_column(path, i))
            return false;
    for (int k = 0; k < CLR_PATH_KEYS && path->key[k].op != CLR_NO_KEY; k++) {
        int column = path->key[k].column;
        unsigned flags = columns[column].flags;
        if (path->key[k].op == CLR_RANGE) {
            if (find_constraint(vtab, info, column, LOW) < 0 &&
                find_constraint(vtab, info, column, HIGH) < 0)
                return false;
        } else if (find_constraint(vtab, info, column, EQUAL) < 0 &&
                   (!(flags & CLR_ARG) || (flags & CLR_REQUIRED))) {
            return false;
        }
    }
    return true;
}

static bool has_order(const struct clr_path *path, int column, bool descending)
{
    return path->order == column && (!descending || path->reversible);
}

static double rows_of(const struct clr_path *path, const struct clr_dump *dump)
{
    return path->per_object != 0 ? path->per_object * clr_estimate_objects(dump) : path->rows;
}

/* Whether the operand is a number that stands in the query; SQLite shows 0x12 as a text. */
static bool is_number(sqlite3_index_info *info, int constraint)
{
    sqlite3_value *value = NULL;
    uint64_t number;
    if (sqlite3_vtab_rhs_value(info, constraint, &value) != SQLITE_OK || !value)
        return false;
    if (sqlite3_value_type(value) == SQLITE_INTEGER)
        return true;
    const char *text = (const char *)sqlite3_value_text(value);
    return text && clr_read_hex(text, &number);
}

static bool use(sqlite3_index_info *info, int constraint, int *count, bool omit)
{
    if (constraint < 0)
        return false;
    info->aConstraintUsage[constraint].argvIndex = ++*count;
    info->aConstraintUsage[constraint].omit = omit;
    return true;
}

static int refuse(sqlite3_index_info *info, int plan)
{
    info->idxNum = plan;
    info->estimatedCost = 1e250;
    info->estimatedRows = 1;
    return SQLITE_OK;
}

/* An address in quotes is a text, which no number equals: without a word it would find no row. */
static enum clr_status refuse_hex(const struct clr_table *table, const char *column,
                                  sqlite3_value *value, struct clr_error *error)
{
    uint64_t number;
    if (sqlite3_value_type(value) != SQLITE_TEXT)
        return CLR_OK;
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text || !clr_read_hex(text, &number))
        return CLR_OK;
    return clr_fail(
        error, CLR_MISUSE, number,
        "%s.%s is a number and is compared with the text '%.60s', which no number equals: "
        "write 0x%llx without quotes, or clr_address('%.60s')",
        table->name, column, text, (unsigned long long)number, text);
}

/* Asks for the operands of `=` on INTEGER columns that no path takes, so that an address in quotes is
 * refused there too. Not of IN, which would scan once a value. */
static void take_others(const struct clr_vtab *vtab, sqlite3_index_info *info, int *count)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        int column = column_of(vtab, constraint->iColumn);
        if (constraint->usable && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ && column >= 0 &&
            info->aConstraintUsage[i].argvIndex == 0 &&
            !(vtab->table->columns[column].flags & CLR_ARG) &&
            vtab->table->columns[column].get.type == CLR_INTEGER && !sqlite3_vtab_in(info, i, -1))
            use(info, i, count, false);
    }
}

int clr_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct clr_vtab *vtab = (struct clr_vtab *)base;
    const struct clr_table *table = vtab->table;
    if (is_required_later(vtab, info))
        return SQLITE_CONSTRAINT;
    int plan = 0, count = 0;
    if (vtab->shift) {
        if (!use(info, find_constraint(vtab, info, DUMP_COLUMN, EQUAL), &count, true))
            return refuse(info, PLAN_NO_DUMP);
        plan |= PLAN_DUMP;
    }
    const struct clr_open_dump *open =
        vtab->number ? clr_session_dump(vtab->session, vtab->number) : NULL;
    int best = -1;
    double rows = 0, widest = 0;
    for (int i = 0; i < vtab->path_count; i++) {
        if (!path_fits(vtab, info, &vtab->paths[i]))
            continue;
        double claimed = rows_of(&vtab->paths[i], open ? open->dump : NULL);
        widest = claimed > widest ? claimed : widest;
        if (best < 0 || claimed < rows) {
            best = i;
            rows = claimed;
        }
    }
    if (best < 0) {
        memset(info->aConstraintUsage, 0,
               (size_t)info->nConstraint * sizeof *info->aConstraintUsage);
        return refuse(info, PLAN_MISSING);
    }
    const struct clr_path *path = &vtab->paths[best];
    bool may_scan = false; /* xFilter takes the scan instead if a text's operand is a number */
    int low = -1, high = -1;
    plan |= best;
    for (int k = 0; k < CLR_PATH_KEYS && path->key[k].op != CLR_NO_KEY; k++) {
        int column = path->key[k].column;
        if (path->key[k].op == CLR_RANGE) {
            low = find_constraint(vtab, info, column, LOW);
            high = find_constraint(vtab, info, column, HIGH);
        } else if (use(info, find_constraint(vtab, info, column, EQUAL), &count,
                       table->columns[column].flags & CLR_ARG)) {
            plan |= PLAN_KEY << k;
            if (k == 0 && is_number(info, find_constraint(vtab, info, column, EQUAL)))
                plan |= PLAN_CONSTANT;
            may_scan |= vtab->scan >= 0 && clr_is_text_key(table, column);
        }
    }
    plan |= use(info, low, &count, false) ? PLAN_LOW : 0;
    plan |= use(info, high, &count, false) ? PLAN_HIGH : 0;
    take_others(vtab, info, &count);
    if (info->nOrderBy == 1) {
        int column = column_of(vtab, info->aOrderBy[0].iColumn);
        bool descending = info->aOrderBy[0].desc;
        if (column >= 0 && has_order(path, column, descending) &&
            (!may_scan || has_order(&vtab->paths[vtab->scan], column, descending))) {
            info->orderByConsumed = 1;
            plan |= descending ? PLAN_DESCENDING : 0;
        }
    }
    info->idxNum = plan;
    info->idxStr = clr_path_name(table, path); /* shown by EXPLAIN QUERY PLAN */
    info->needToFreeIdxStr = 1;
    if (!info->idxStr)
        return SQLITE_NOMEM;
    info->idxFlags = path->unique && !may_scan ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    info->estimatedRows = rows < 1 ? 1 : rows < 1e15 ? (sqlite3_int64)rows : (sqlite3_int64)1e15;
    info->estimatedCost = (vtab->requires ? widest : rows) + 5;
    return SQLITE_OK;
}

/* --- Operands --------------------------------------------------------------------------------- */

/* What an operand says about an INTEGER column. */
enum place { BELOW_ALL, AT, ABOVE_ALL, NOWHERE };

/* Places VALUE among the integers: *INTEGER is it or, for a REAL *BETWEEN two of them, the one on
 * the side of zero: as a bound it is right, or too wide by one. */
static enum place place_integer(sqlite3_value *value, int64_t *integer, bool *between)
{
    *between = false;
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER: *integer = sqlite3_value_int64(value); return AT;
    case SQLITE_FLOAT: {
        double real = sqlite3_value_double(value);
        if (real >= 0x1p63)
            return ABOVE_ALL;
        if (real < -0x1p63)
            return BELOW_ALL;
        *integer = (int64_t)real;
        *between = (double)*integer != real;
        return AT;
    }
    case SQLITE_NULL: return NOWHERE;
    default: return ABOVE_ALL; /* text that is no number, blobs */
    }
}

/* Narrows the query's range by a bound; false: no row can be in it. */
static bool take_bound(struct clr_query *query, sqlite3_value *value, bool is_low)
{
    int64_t integer = 0;
    bool between;
    enum place place = place_integer(value, &integer, &between);
    if (place == NOWHERE || place == (is_low ? ABOVE_ALL : BELOW_ALL))
        return false;
    if (place != AT)
        return true;
    if (is_low) {
        query->has_low = true;
        query->low = integer;
    } else {
        query->has_high = true;
        query->high = integer;
    }
    return true;
}

/* Takes the operand of EQ key K. *NONE: nothing equals it. *SCAN: only a scan finds all that does.
 */
static enum clr_status take_equal(struct clr_vtab *vtab, struct clr_cursor *cursor,
                                  struct clr_query *query, int k, sqlite3_value *value, bool *none,
                                  bool *scan, struct clr_error *error)
{
    int number = vtab->paths[query->path].key[k].column;
    const struct clr_column *column = &vtab->table->columns[number];
    bool between, is_argument = column->flags & CLR_ARG;
    query->equal[k] = value;
    if (is_argument) {
        sqlite3_value_free(cursor->arg[number]);
        if (!(cursor->arg[number] = sqlite3_value_dup(value)))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        *none = true;
    } else if (column->get.type == CLR_INTEGER && is_argument) {
        if (clr_read_whole(value, &query->number[k]))
            return CLR_OK;
        const char *text = (const char *)sqlite3_value_text(cursor->arg[number]);
        return clr_fail(error, CLR_MISUSE, 0,
                        "%s: %s is no whole number: '%.60s' (clr_address('%.60s') reads text as "
                        "an address)",
                        vtab->table->name, column->name, text ? text : "", text ? text : "");
    } else if (column->get.type == CLR_INTEGER) {
        CLR_TRY(refuse_hex(vtab->table, column->name, value, error));
        if (place_integer(value, &query->number[k], &between) != AT || between)
            *none = true;
    } else if (column->get.type == CLR_TEXT) {
        int type = sqlite3_value_type(value);
        if (!is_argument && type == SQLITE_BLOB)
            *none = true;
        else if (!is_argument && type != SQLITE_TEXT && vtab->scan >= 0)
            *scan = true;
        else if (!sqlite3_value_text(value))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    return CLR_OK;
}

/* The column of a path's RANGE key. */
static const struct clr_column *range_column(const struct clr_vtab *vtab, int path)
{
    const struct clr_key *key = vtab->paths[path].key;
    while (key->op != CLR_RANGE)
        key++;
    return &vtab->table->columns[key->column];
}

enum clr_status clr_take_operands(struct clr_vtab *vtab, struct clr_cursor *cursor, int plan,
                                  sqlite3_value **argv, sqlite3_value **end,
                                  struct clr_query *query, bool *none, struct clr_error *error)
{
    bool scan = false;
    *none = false;
    for (int k = 0; k < CLR_PATH_KEYS; k++)
        if (plan & (PLAN_KEY << k))
            CLR_TRY(take_equal(vtab, cursor, query, k, *argv++, none, &scan, error));
    for (int high = 0; high < 2; high++)
        if (plan & (high ? PLAN_HIGH : PLAN_LOW)) {
            CLR_TRY(refuse_hex(vtab->table, range_column(vtab, query->path)->name, *argv, error));
            if (!take_bound(query, *argv++, !high))
                *none = true;
        }
    if (query->low > query->high)
        *none = true;
    for (; argv < end; argv++)
        CLR_TRY(refuse_hex(vtab->table, "a column", *argv, error));
    if (scan)
        *query = (struct clr_query){.path = vtab->scan,
                                    .descending = query->descending,
                                    .low = INT64_MIN,
                                    .high = INT64_MAX};
    return CLR_OK;
}
