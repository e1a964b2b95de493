/*
 * The table driver: turns declarations (table.h) into SQLite's virtual tables.
 *
 * A plan travels from xBestIndex to xFilter as one number and the operands:
 *
 *   bits 0-7    number of the path              bit 8   rows come descending
 *   bit 9, 10   a low, a high bound is given    bit 11  the path of the dump is given
 *   bit 12, 13  something required, the dump's path is missing: xFilter says so
 *   bit 16 + k  operand of the path's EQ key k is given
 *
 *   operands: dump, EQ keys in the path's order, low bound, high bound
 *
 * Rules, each of which a wrong or slow answer stands behind:
 *   - A required value that is missing is never an error while planning: an OR is planned without
 *     its terms first. Such a plan is so dear that any other wins, and xFilter raises. One that is
 *     there but unusable is SQLITE_CONSTRAINT, so that another order of the join is tried.
 *   - SQLite checks every row again, but for arguments. So bounds may be a little too wide, and an
 *     operand is only converted to find rows, never to judge them. Nothing may be left out though:
 *       INTEGER column  numbers and text that is a number compare as numbers; other text and blobs
 *                       are above every number: as a low bound no row, as a high bound no bound.
 *                       A REAL between two integers equals none of them
 *       TEXT column     text finds that text. A number compares as text or, beside a column with
 *                       numeric affinity, makes the text a number ('05' = 5): xFilter cannot tell,
 *                       and scans. Another collation than BINARY is not used at all
 *       NULL            no row
 *   - IS is not used: it finds NULLs. LIMIT and OFFSET are left to SQLite; their iColumn means
 *     nothing.
 *   - ORDER BY is taken over only when it is one term, which is the order that the path has by
 *     itself. That is right for what DISTINCT and GROUP BY ask for too, on every version.
 *   - Keys: one INTEGER column is the rowid. Any other key is a PRIMARY KEY of a WITHOUT ROWID
 *     table: SQLite drops duplicate rows of an OR by the key, and a number that depends on the path
 *     would lose rows. In an eponymous table the dump is part of the key.
 */
#include "table.h"

#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "session.h"

enum {
    PLAN_PATH = 0xff,
    PLAN_DESCENDING = 0x100,
    PLAN_LOW = 0x200,
    PLAN_HIGH = 0x400,
    PLAN_DUMP = 0x800,
    PLAN_MISSING = 0x1000,
    PLAN_NO_DUMP = 0x2000,
    PLAN_KEY = 0x10000,
};
enum { NO_COLUMN = -1, DUMP_COLUMN = -2 };
enum { CHECK_NANOSECONDS = 20000000 }; /* between two looks at the file by one cursor */

/* User data of a module. */
struct registration {
    const struct clr_table *table;
    struct clr_session *session;
};

struct vtab {
    sqlite3_vtab base;
    const struct clr_table *table;
    struct clr_session *session;
    int64_t number; /* of the dump; 0: eponymous or global */
    int shift;      /* 1: the column 'dump' stands in front */
    int arguments;  /* leading columns that are arguments */
    int key;        /* the one INTEGER key column, else NO_COLUMN */
    int scan;       /* the path without keys, -1 if there is none */
    bool keyed;     /* has a key of any kind */
    bool counted;   /* in tables of the open dump */
};

/* --- The declaration -------------------------------------------------------------------------- */

static int count_arguments(const struct clr_table *table)
{
    int count = 0;
    while (table->columns[count].name && (table->columns[count].flags & CLR_ARG))
        count++;
    return count;
}

/* The only key column if it is an INTEGER, else NO_COLUMN. *KEYED: there is a key. */
static int single_key(const struct clr_table *table, bool *keyed)
{
    int found = NO_COLUMN, count = 0;
    for (int i = 0; table->columns[i].name; i++)
        if (table->columns[i].flags & CLR_KEY) {
            count++;
            found = i;
        }
    *keyed = count > 0;
    return count == 1 && table->columns[found].type == CLR_INTEGER ? found : NO_COLUMN;
}

static bool is_text_key(const struct clr_table *table, int column)
{
    return table->columns[column].type == CLR_TEXT && !(table->columns[column].flags & CLR_ARG);
}

static int scan_path(const struct clr_table *table)
{
    for (int i = 0; table->paths[i].name; i++)
        if (table->paths[i].key[0].op == CLR_NO_KEY)
            return i;
    return -1;
}

char *clr_table_declaration(const struct clr_table *table, bool eponymous)
{
    /* A hidden column without affinity must say BLOB: 'HIDDEN' alone would be a numeric type. */
    static const char *const plain[] = {" INTEGER", " REAL", " TEXT", ""};
    static const char *const hidden[] = {" INTEGER HIDDEN", " REAL HIDDEN", " TEXT HIDDEN",
                                         " BLOB HIDDEN"};
    bool with_dump = eponymous && !table->global, keyed;
    int key = single_key(table, &keyed);
    bool rowid = !keyed || (key != NO_COLUMN && !with_dump);
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text,
                          with_dump ? "CREATE TABLE x(dump TEXT HIDDEN, " : "CREATE TABLE x(");
    for (int i = 0; table->columns[i].name; i++) {
        const struct clr_column *column = &table->columns[i];
        bool is_hidden = column->flags & (CLR_ARG | CLR_HIDDEN);
        sqlite3_str_appendf(text, "%s%s%s%s", i ? ", " : "", column->name,
                            (is_hidden ? hidden : plain)[column->type],
                            rowid && i == key ? " PRIMARY KEY" : "");
    }
    if (!rowid) {
        sqlite3_str_appendall(text, with_dump ? ", PRIMARY KEY(dump" : ", PRIMARY KEY(");
        bool first = !with_dump;
        for (int i = 0; table->columns[i].name; i++)
            if (table->columns[i].flags & CLR_KEY) {
                sqlite3_str_appendf(text, "%s%s", first ? "" : ", ", table->columns[i].name);
                first = false;
            }
        sqlite3_str_appendall(text, ")");
    }
    sqlite3_str_appendall(text, rowid ? ")" : ") WITHOUT ROWID");
    return sqlite3_str_finish(text);
}

const char *clr_column_access(const struct clr_table *table, int column)
{
    unsigned flags = table->columns[column].flags;
    if (flags & CLR_ARG)
        return flags & CLR_REQUIRED ? "argument" : "optional argument";
    if (flags & CLR_REQUIRED)
        return "= required";
    bool equal = false, range = false;
    for (const struct clr_path *path = table->paths; path->name; path++)
        for (int k = 0; k < CLR_PATH_KEYS; k++)
            if (path->key[k].op != CLR_NO_KEY && path->key[k].column == column)
                *(path->key[k].op == CLR_EQ ? &equal : &range) = true;
    return equal && range ? "=,.." : equal ? "=" : range ? ".." : "";
}

void clr_module_name(const struct clr_table *table, char *text, size_t size)
{
    sqlite3_snprintf((int)size, text, table->global ? "%s" : "clr_%s", table->name);
}

/* --- Errors ----------------------------------------------------------------------------------- */

/* An empty record, without the cost of zeroing its text for every row. */
static inline void clear(struct clr_error *error)
{
    error->code = CLR_OK;
    error->text[0] = 0;
}

static int report(struct vtab *vtab, enum clr_status status, const struct clr_error *error)
{
    if (status == CLR_OK)
        return SQLITE_OK;
    sqlite3_free(vtab->base.zErrMsg);
    vtab->base.zErrMsg =
        error->code != CLR_OK && error->text[0] ? sqlite3_mprintf("%s", error->text) : NULL;
    return clr_sqlite_code(status);
}

/* --- Connecting ------------------------------------------------------------------------------- */

static bool parse_number(const char *text, int64_t *number)
{
    int64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (*text - '0');
    }
    *number = value;
    return value > 0;
}

/* Created tables have one argument: the number of their dump. Nothing of the dump is needed, so
 * that a table whose dump is gone can still be dropped; reading it is an error. */
static int x_connect(sqlite3 *db, void *user, int argc, const char *const *argv,
                     sqlite3_vtab **result, char **message)
{
    const struct registration *registration = user;
    const struct clr_table *table = registration->table;
    struct clr_session *session = registration->session;
    bool eponymous = argc <= 3;
    int64_t number = 0;
    if (!eponymous && (argc > 4 || !parse_number(argv[3], &number))) {
        *message = sqlite3_mprintf("%s: tables of a dump are created by clr_attach(path)", argv[0]);
        return SQLITE_ERROR;
    }
    clr_session_sweep(session);
    char *declaration = clr_table_declaration(table, eponymous);
    if (!declaration)
        return SQLITE_NOMEM;
    int code = sqlite3_declare_vtab(db, declaration);
    sqlite3_free(declaration);
    /* What can be given a path must not be reached from a view or trigger of somebody's database.
     */
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(db, eponymous && !table->global ? SQLITE_VTAB_DIRECTONLY
                                                                   : SQLITE_VTAB_INNOCUOUS);
    if (code != SQLITE_OK)
        return code;
    struct vtab *vtab = clr_alloc(1, sizeof *vtab);
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->table = table;
    vtab->session = session;
    vtab->number = number;
    vtab->shift = eponymous && !table->global;
    vtab->arguments = count_arguments(table);
    vtab->key = single_key(table, &vtab->keyed);
    vtab->scan = scan_path(table);
    struct clr_open_dump *open = number ? clr_session_dump(session, number) : NULL;
    if (open) {
        open->tables++;
        vtab->counted = true;
    }
    *result = &vtab->base;
    return SQLITE_OK;
}

static int x_disconnect(sqlite3_vtab *base)
{
    struct vtab *vtab = (struct vtab *)base;
    struct clr_open_dump *open =
        vtab->counted ? clr_session_dump(vtab->session, vtab->number) : NULL;
    if (open)
        open->tables--;
    clr_free(vtab);
    return SQLITE_OK;
}

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
static int column_of(const struct vtab *vtab, int column)
{
    if (column < 0)
        return vtab->shift ? NO_COLUMN : vtab->key; /* the rowid */
    return vtab->shift && column == 0 ? DUMP_COLUMN : column - vtab->shift;
}

/* The first usable constraint that gives OPERAND for COLUMN, or -1. */
static int find_constraint(const struct vtab *vtab, sqlite3_index_info *info, int column,
                           enum operand operand)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (!constraint->usable || !is_operand(constraint->op, operand) ||
            column_of(vtab, constraint->iColumn) != column)
            continue;
        if (column >= 0 && is_text_key(vtab->table, column) &&
            sqlite3_stricmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
            continue;
        return i;
    }
    return -1;
}

/* Whether a value that the table cannot do without is there, but comes from a later table. */
static bool is_required_later(const struct vtab *vtab, const sqlite3_index_info *info)
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

static bool path_fits(const struct vtab *vtab, sqlite3_index_info *info,
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

static int x_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    struct vtab *vtab = (struct vtab *)base;
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
    double rows = 0;
    for (int i = 0; table->paths[i].name; i++) {
        if (!path_fits(vtab, info, &table->paths[i]))
            continue;
        double claimed = table->paths[i].rows(open ? open->dump : NULL);
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
    const struct clr_path *path = &table->paths[best];
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
            may_scan |= vtab->scan >= 0 && is_text_key(table, column);
        }
    }
    plan |= use(info, low, &count, false) ? PLAN_LOW : 0;
    plan |= use(info, high, &count, false) ? PLAN_HIGH : 0;
    if (info->nOrderBy == 1) {
        int column = column_of(vtab, info->aOrderBy[0].iColumn);
        bool descending = info->aOrderBy[0].desc;
        if (column >= 0 && has_order(path, column, descending) &&
            (!may_scan || has_order(&table->paths[vtab->scan], column, descending))) {
            info->orderByConsumed = 1;
            plan |= descending ? PLAN_DESCENDING : 0;
        }
    }
    info->idxNum = plan;
    info->idxStr = (char *)path->name; /* static: shown by EXPLAIN QUERY PLAN, never freed */
    info->needToFreeIdxStr = 0;
    info->idxFlags = path->unique && !may_scan ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    info->estimatedRows = rows < 1 ? 1 : rows < 1e15 ? (sqlite3_int64)rows : (sqlite3_int64)1e15;
    info->estimatedCost = rows + 5;
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
static enum clr_status take_equal(struct vtab *vtab, struct clr_cursor *cursor,
                                  struct clr_query *query, int k, sqlite3_value *value, bool *none,
                                  bool *scan, struct clr_error *error)
{
    int number = vtab->table->paths[query->path].key[k].column;
    const struct clr_column *column = &vtab->table->columns[number];
    int64_t integer = 0;
    bool between, is_argument = column->flags & CLR_ARG;
    query->equal[k] = value;
    if (is_argument) {
        sqlite3_value_free(cursor->arg[number]);
        if (!(cursor->arg[number] = sqlite3_value_dup(value)))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        *none = true;
    } else if (column->type == CLR_INTEGER) {
        if (place_integer(value, &integer, &between) == AT && !between)
            return CLR_OK;
        *none = true;
        if (is_argument) {
            const char *text = (const char *)sqlite3_value_text(cursor->arg[number]);
            return clr_fail(
                error, CLR_MISUSE, 0,
                "%s: %s is no whole number: '%.60s' (clr_address('%.60s') reads text as "
                "an address)",
                vtab->table->name, column->name, text ? text : "", text ? text : "");
        }
    } else if (column->type == CLR_TEXT) {
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

static enum clr_status take_operands(struct vtab *vtab, struct clr_cursor *cursor, int plan,
                                     sqlite3_value **argv, struct clr_query *query, bool *none,
                                     struct clr_error *error)
{
    bool scan = false;
    *none = false;
    for (int k = 0; k < CLR_PATH_KEYS; k++)
        if (plan & (PLAN_KEY << k))
            CLR_TRY(take_equal(vtab, cursor, query, k, *argv++, none, &scan, error));
    if ((plan & PLAN_LOW) && !take_bound(query, *argv++, true))
        *none = true;
    if ((plan & PLAN_HIGH) && !take_bound(query, *argv++, false))
        *none = true;
    if (query->low > query->high)
        *none = true;
    if (scan)
        *query = (struct clr_query){.path = vtab->scan,
                                    .descending = query->descending,
                                    .low = INT64_MIN,
                                    .high = INT64_MAX};
    return CLR_OK;
}

/* --- Array tables ----------------------------------------------------------------------------- */

static int array_key_column(const struct clr_table *table)
{
    for (int i = 0; table->columns[i].name; i++)
        if (table->columns[i].flags & CLR_KEY)
            return i;
    return NO_COLUMN;
}

/* The first row whose key is at least VALUE. */
static int64_t lower_bound(const struct clr_table *table, const struct clr_dump *dump,
                           int64_t count, int64_t value)
{
    if (!table->key)
        return value < 0 ? 0 : value < count ? value : count;
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (table->key(dump, (size_t)middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets the range of rows; what the path says of other columns than the key SQLite checks. */
static void start_array(const struct clr_table *table, struct clr_cursor *cursor,
                        const struct clr_query *query)
{
    int64_t count = (int64_t)table->count(cursor->dump);
    int64_t low = query->low, high = query->high;
    const struct clr_path *path = &table->paths[query->path];
    int key = array_key_column(table);
    bool bounded = false;
    for (int k = 0; k < CLR_PATH_KEYS; k++) {
        if (path->key[k].op == CLR_NO_KEY || path->key[k].column != key)
            continue;
        bounded = table->columns[key].type == CLR_INTEGER;
        if (path->key[k].op == CLR_EQ)
            low = high = clr_equal_int(query, k);
    }
    cursor->first = 0;
    cursor->last = count - 1;
    if (bounded) {
        cursor->first = lower_bound(table, cursor->dump, count, low);
        if (high < INT64_MAX)
            cursor->last = lower_bound(table, cursor->dump, count, high + 1) - 1;
    }
    cursor->row = cursor->descending ? cursor->last : cursor->first;
    cursor->eof = cursor->first > cursor->last;
}

static void next_array(struct clr_cursor *cursor)
{
    if (cursor->descending)
        cursor->eof = cursor->row-- <= cursor->first;
    else
        cursor->eof = cursor->row++ >= cursor->last;
}

/* --- Cursors ---------------------------------------------------------------------------------- */

static size_t cursor_size(const struct clr_table *table)
{
    return table->cursor_size ? table->cursor_size : sizeof(struct clr_cursor);
}

static int x_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    const struct vtab *vtab = (struct vtab *)base;
    struct clr_cursor *cursor = clr_alloc(1, cursor_size(vtab->table));
    if (!cursor)
        return SQLITE_NOMEM;
    cursor->session = vtab->session;
    cursor->eof = true;
    *result = &cursor->base;
    return SQLITE_OK;
}

/* Ends what start() began. */
static void stop(const struct vtab *vtab, struct clr_cursor *cursor)
{
    if (cursor->started && vtab->table->finish)
        vtab->table->finish(cursor);
    cursor->started = false;
    cursor->eof = true;
    memset(cursor + 1, 0, cursor_size(vtab->table) - sizeof *cursor);
    for (int i = 0; i < vtab->arguments && i < CLR_PATH_KEYS; i++) {
        sqlite3_value_free(cursor->arg[i]);
        cursor->arg[i] = NULL;
    }
}

static void leave_dump(struct clr_cursor *cursor)
{
    if (cursor->open)
        cursor->open->cursors--;
    cursor->open = NULL;
    cursor->dump = NULL;
    cursor->job = NULL;
    sqlite3_value_free(cursor->given);
    cursor->given = NULL;
}

static int x_close(sqlite3_vtab_cursor *base)
{
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    stop((const struct vtab *)base->pVtab, cursor);
    leave_dump(cursor);
    clr_free(cursor);
    return SQLITE_OK;
}

static bool is_same_text(sqlite3_value *a, sqlite3_value *b)
{
    const unsigned char *x = sqlite3_value_text(a), *y = sqlite3_value_text(b);
    return x && y && strcmp((const char *)x, (const char *)y) == 0;
}

/* Finds the dump that the cursor reads; PATH is the argument of an eponymous table, else NULL. */
static enum clr_status enter_dump(struct vtab *vtab, struct clr_cursor *cursor, sqlite3_value *path,
                                  struct clr_error *error)
{
    if (vtab->table->global)
        return CLR_OK;
    if (cursor->open && (!path || is_same_text(path, cursor->given)))
        return CLR_OK;
    leave_dump(cursor);
    struct clr_open_dump *open = NULL;
    if (path) {
        if (!(cursor->given = sqlite3_value_dup(path)))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        const char *text = (const char *)sqlite3_value_text(path);
        if (!text)
            return clr_fail(error, CLR_MISUSE, 0, "clr_%s: the path of the core file is NULL",
                            vtab->table->name);
        CLR_TRY(clr_session_path(vtab->session, text, &open, error));
    } else if (!(open = clr_session_dump(vtab->session, vtab->number)) || !open->dump) {
        return clr_fail(error, CLR_NOT_FOUND, 0,
                        "the dump of this table (%s) is not open in this session: "
                        "SELECT clr_attach(path)",
                        vtab->table->name);
    }
    open->cursors++;
    cursor->open = open;
    cursor->dump = open->dump;
    cursor->checked = 0;
    return CLR_OK;
}

/* A file that is cut short under a mapping kills the process on the next read: every query looks
 * first, and a cursor that is started again and again looks from time to time. */
static enum clr_status check_file(struct clr_cursor *cursor, struct clr_error *error)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
    uint64_t now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
    if (cursor->checked != 0 && now - cursor->checked < CHECK_NANOSECONDS)
        return CLR_OK;
    cursor->checked = now;
    return clr_process_check(cursor->dump->process, error);
}

static inline enum clr_status need(struct clr_cursor *cursor, unsigned parts,
                                   struct clr_error *error)
{
    if (!cursor->dump || (cursor->dump->built & parts) == parts)
        return CLR_OK;
    return clr_dump_need(cursor->dump, parts, cursor->job, error);
}

static enum clr_status fail_missing(const struct vtab *vtab, int plan, struct clr_error *error)
{
    const struct clr_table *table = vtab->table;
    char names[120] = "";
    bool arguments = vtab->arguments > 0;
    if (plan & PLAN_NO_DUMP)
        return clr_fail(error, CLR_MISUSE, 0,
                        "clr_%s needs the path of a core file: SELECT * FROM clr_%s('core.4711')",
                        table->name, table->name);
    for (int i = 0; table->columns[i].name; i++)
        if (table->columns[i].flags & CLR_REQUIRED)
            sqlite3_snprintf((int)(sizeof names - strlen(names)), names + strlen(names), "%s%s",
                             names[0] ? ", " : "", table->columns[i].name);
    if (arguments)
        return clr_fail(error, CLR_MISUSE, 0, "%s needs its arguments: SELECT * FROM %s(%s)",
                        table->name, table->name, names);
    return clr_fail(error, CLR_MISUSE, 0,
                    "%s needs a value for %s: WHERE %s = …, or a join that gives one", table->name,
                    names, names);
}

static enum clr_status filter(struct vtab *vtab, struct clr_cursor *cursor, int plan,
                              sqlite3_value **argv, struct clr_error *error)
{
    const struct clr_table *table = vtab->table;
    if (plan & (PLAN_MISSING | PLAN_NO_DUMP))
        return fail_missing(vtab, plan, error);
    CLR_TRY(enter_dump(vtab, cursor, plan & PLAN_DUMP ? *argv : NULL, error));
    argv += plan & PLAN_DUMP ? 1 : 0;
    cursor->job = clr_session_job_begin(vtab->session, cursor->dump);
    if (!table->global) {
        CLR_TRY(check_file(cursor, error));
        if (table->contract >= 0) {
            CLR_TRY(need(cursor, CLR_PART_RUNTIME, error));
            CLR_TRY(clr_runtime_require(cursor->dump->runtime,
                                        (enum clr_contract_id)table->contract, table->name, error));
        }
    }
    struct clr_query query = {.path = plan & PLAN_PATH,
                              .descending = plan & PLAN_DESCENDING,
                              .low = INT64_MIN,
                              .high = INT64_MAX};
    bool none;
    CLR_TRY(take_operands(vtab, cursor, plan, argv, &query, &none, error));
    cursor->descending = query.descending;
    cursor->row = cursor->rowid = 0;
    if (none)
        return CLR_OK;
    CLR_TRY(need(cursor, table->needs | table->paths[query.path].needs, error));
    if (table->load)
        CLR_TRY(table->load(cursor->dump, cursor->job, error));
    if (!table->start) {
        start_array(table, cursor, &query);
        return CLR_OK;
    }
    cursor->started = true;
    cursor->eof = false;
    return table->start(cursor, &query, error);
}

static int x_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc,
                    sqlite3_value **argv)
{
    struct vtab *vtab = (struct vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    struct clr_error error;
    (void)name;
    (void)argc;
    clear(&error);
    stop(vtab, cursor);
    enum clr_status status = filter(vtab, cursor, plan, argv, &error);
    if (cursor->job)
        clr_session_job_end(vtab->session, cursor->job);
    if (status != CLR_OK)
        stop(vtab, cursor);
    return report(vtab, status, &error);
}

static int x_next(sqlite3_vtab_cursor *base)
{
    struct vtab *vtab = (struct vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    if (!vtab->table->start) {
        next_array(cursor);
        return SQLITE_OK;
    }
    struct clr_error error;
    clear(&error);
    enum clr_status status = vtab->table->next(cursor, &error);
    clr_session_job_end(vtab->session, cursor->job);
    return report(vtab, status, &error);
}

static int x_eof(sqlite3_vtab_cursor *base)
{
    return ((struct clr_cursor *)base)->eof;
}

static int x_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct vtab *vtab = (struct vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    column -= vtab->shift;
    if (column < vtab->arguments) {
        sqlite3_value *value = column < 0 ? cursor->given : cursor->arg[column];
        if (value)
            sqlite3_result_value(context, value);
        return SQLITE_OK;
    }
    struct clr_error error;
    clear(&error);
    enum clr_status status = need(cursor, vtab->table->columns[column].needs, &error);
    if (status == CLR_OK)
        status = vtab->table->column(cursor, column, context, &error);
    clr_session_job_end(vtab->session, cursor->job);
    return report(vtab, status, &error);
}

static int x_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const struct vtab *vtab = (const struct vtab *)base->pVtab;
    const struct clr_cursor *cursor = (const struct clr_cursor *)base;
    if (vtab->table->start)
        *rowid = cursor->rowid;
    else if (vtab->table->key && vtab->key != NO_COLUMN)
        *rowid = vtab->table->key(cursor->dump, (size_t)cursor->row);
    else
        *rowid = cursor->row;
    if (vtab->shift) /* a table without a key, over any number of dumps */
        *rowid = (sqlite3_int64)((uint64_t)*rowid ^ (uint64_t)cursor->open->number << 40);
    return SQLITE_OK;
}

/* --- Modules ---------------------------------------------------------------------------------- */

/* xCreate and xConnect are one function: a module that is eponymous and can be created. */
static const sqlite3_module created_module = {
    .xCreate = x_connect,
    .xConnect = x_connect,
    .xBestIndex = x_best_index,
    .xDisconnect = x_disconnect,
    .xDestroy = x_disconnect,
    .xOpen = x_open,
    .xClose = x_close,
    .xFilter = x_filter,
    .xNext = x_next,
    .xEof = x_eof,
    .xColumn = x_column,
    .xRowid = x_rowid,
};

/* Without xCreate: eponymous only. */
static const sqlite3_module global_module = {
    .xConnect = x_connect,
    .xBestIndex = x_best_index,
    .xDisconnect = x_disconnect,
    .xOpen = x_open,
    .xClose = x_close,
    .xFilter = x_filter,
    .xNext = x_next,
    .xEof = x_eof,
    .xColumn = x_column,
    .xRowid = x_rowid,
};

static void destroy_registration(void *user)
{
    struct registration *registration = user;
    clr_session_release(registration->session);
    clr_free(registration);
}

int clr_register_table(sqlite3 *db, struct clr_session *session, const struct clr_table *table)
{
    struct registration *registration = clr_alloc(1, sizeof *registration);
    if (!registration)
        return SQLITE_NOMEM;
    *registration = (struct registration){table, session};
    clr_session_retain(session);
    char name[80];
    clr_module_name(table, name, sizeof name);
    return sqlite3_create_module_v2(db, name, table->global ? &global_module : &created_module,
                                    registration, destroy_registration);
}

void clr_unregister_tables(sqlite3 *db)
{
    for (size_t i = 0; clr_tables[i]; i++) {
        char name[80];
        clr_module_name(clr_tables[i], name, sizeof name);
        sqlite3_create_module_v2(db, name, NULL, NULL, NULL);
    }
}

int clr_register_tables(sqlite3 *db, struct clr_session *session, char **message)
{
    for (size_t i = 0; clr_tables[i]; i++) {
        int code = clr_register_table(db, session, clr_tables[i]);
        if (code != SQLITE_OK) {
            *message = sqlite3_mprintf("clrdb: cannot register %s: %s", clr_tables[i]->name,
                                       sqlite3_errstr(code));
            clr_unregister_tables(db);
            return code;
        }
    }
    return SQLITE_OK;
}
