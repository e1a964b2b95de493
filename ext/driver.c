/*
 * The table driver: turns declarations (table.h) into SQLite's virtual tables. It connects tables
 * to the dumps of the session, has the parts built that a table, path or column needs, and reports
 * errors. What a query may ask is planned in plan.c; list.c goes through the rows of lists.
 */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "list.h"
#include "session.h"

enum { CHECK_NANOSECONDS = 20000000 }; /* between two looks at the file by one cursor */

/* User data of a module. */
struct registration {
    const struct clr_table *table;
    struct clr_session *session;
};

/* --- Errors ----------------------------------------------------------------------------------- */

/* An empty record, without the cost of zeroing its text for every row. */
static inline void clear(struct clr_error *error)
{
    error->code = CLR_OK;
    error->text[0] = 0;
}

/* CURSOR is the one that failed. What a cut core lacks is said with whatever could not be read. */
static int report(struct clr_vtab *vtab, const struct clr_cursor *cursor, enum clr_status status,
                  const struct clr_error *error)
{
    if (status == CLR_OK)
        return SQLITE_OK;
    sqlite3_free(vtab->base.zErrMsg);
    bool is_missing = status == CLR_NO_RUNTIME || status == CLR_FAULT || status == CLR_BAD_DATA ||
                      status == CLR_UNSUPPORTED;
    const char *cut =
        is_missing && cursor->dump ? clr_process_info(cursor->dump->process)->cut : NULL;
    vtab->base.zErrMsg =
        error->code == CLR_OK || !error->text[0] ? NULL
        : cut ? sqlite3_mprintf("%s; the core is cut, memory that is missing: %s", error->text, cut)
              : sqlite3_mprintf("%s", error->text);
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
    struct clr_vtab *vtab = clr_alloc(1, sizeof *vtab);
    if (!vtab)
        return SQLITE_NOMEM;
    vtab->table = table;
    vtab->session = session;
    vtab->number = number;
    vtab->shift = eponymous && !table->global;
    vtab->arguments = clr_count_arguments(table);
    vtab->key = clr_single_key(table, &vtab->keyed);
    vtab->path_count = clr_table_paths(table, vtab->paths);
    vtab->scan = -1;
    for (int i = 0; i < vtab->path_count; i++)
        if (vtab->paths[i].key[0].op == CLR_NO_KEY)
            vtab->scan = i;
    for (int i = 0; table->columns[i].name; i++)
    vtab->requires |= (table->columns[i].flags & CLR_REQUIRED) != 0;
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
    struct clr_vtab *vtab = (struct clr_vtab *)base;
    struct clr_open_dump *open =
        vtab->counted ? clr_session_dump(vtab->session, vtab->number) : NULL;
    if (open)
        open->tables--;
    clr_free(vtab);
    return SQLITE_OK;
}

/* --- Cursors ---------------------------------------------------------------------------------- */

static size_t cursor_size(const struct clr_table *table)
{
    return table->cursor_size ? table->cursor_size : sizeof(struct clr_cursor);
}

static int x_open(sqlite3_vtab *base, sqlite3_vtab_cursor **result)
{
    const struct clr_vtab *vtab = (struct clr_vtab *)base;
    struct clr_cursor *cursor = clr_alloc(1, cursor_size(vtab->table));
    if (!cursor)
        return SQLITE_NOMEM;
    size_t read_size = vtab->table->list.read_size;
    if (read_size != 0 && !(cursor->read = clr_alloc(1, read_size))) {
        clr_free(cursor);
        return SQLITE_NOMEM;
    }
    cursor->session = vtab->session;
    cursor->eof = true;
    *result = &cursor->base;
    return SQLITE_OK;
}

/* Ends what start() began. */
static void stop(const struct clr_vtab *vtab, struct clr_cursor *cursor)
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
    clr_list_stop(cursor);
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
    stop((const struct clr_vtab *)base->pVtab, cursor);
    leave_dump(cursor);
    clr_text_deinit(&cursor->text);
    clr_free(cursor->read);
    clr_free(cursor);
    return SQLITE_OK;
}

static bool is_same_text(sqlite3_value *a, sqlite3_value *b)
{
    const unsigned char *x = sqlite3_value_text(a), *y = sqlite3_value_text(b);
    return x && y && strcmp((const char *)x, (const char *)y) == 0;
}

/* Finds the dump that the cursor reads; PATH is the argument of an eponymous table, else NULL. */
static enum clr_status enter_dump(struct clr_vtab *vtab, struct clr_cursor *cursor,
                                  sqlite3_value *path, struct clr_error *error)
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

static enum clr_status fail_missing(const struct clr_vtab *vtab, int plan, struct clr_error *error)
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

static enum clr_status filter(struct clr_vtab *vtab, struct clr_cursor *cursor, int plan,
                              sqlite3_value **argv, int argc, struct clr_error *error)
{
    sqlite3_value **end = argv + argc;
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
    CLR_TRY(clr_take_operands(vtab, cursor, plan, argv, end, &query, &none, error));
    cursor->descending = query.descending;
    cursor->row = cursor->rowid = 0;
    cursor->element = NULL;
    if (none)
        return CLR_OK;
    CLR_TRY(need(cursor, table->needs | vtab->paths[query.path].needs, error));
    if (clr_is_list(table))
        return clr_list_start(vtab, cursor, &query, error);
    if (table->load)
        CLR_TRY(table->load(cursor->dump, cursor->job, error));
    cursor->started = true;
    cursor->eof = false;
    return table->start(cursor, &query, error);
}

static int x_filter(sqlite3_vtab_cursor *base, int plan, const char *name, int argc,
                    sqlite3_value **argv)
{
    struct clr_vtab *vtab = (struct clr_vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    struct clr_error error;
    (void)name;
    clear(&error);
    stop(vtab, cursor);
    enum clr_status status = filter(vtab, cursor, plan, argv, argc, &error);
    if (cursor->job)
        clr_session_job_end(vtab->session, cursor->job);
    int code = report(vtab, cursor, status, &error);
    if (status != CLR_OK)
        stop(vtab, cursor);
    return code;
}

static int x_next(sqlite3_vtab_cursor *base)
{
    struct clr_vtab *vtab = (struct clr_vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    struct clr_error error;
    clear(&error);
    enum clr_status status = clr_is_list(vtab->table) ? clr_list_next(vtab->table, cursor, &error)
                                                      : vtab->table->next(cursor, &error);
    clr_session_job_end(vtab->session, cursor->job);
    return report(vtab, cursor, status, &error);
}

static int x_eof(sqlite3_vtab_cursor *base)
{
    return ((struct clr_cursor *)base)->eof;
}

static int x_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct clr_vtab *vtab = (struct clr_vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    column -= vtab->shift;
    if (column < vtab->arguments) {
        sqlite3_value *value = column < 0 ? cursor->given : cursor->arg[column];
        if (value)
            sqlite3_result_value(context, value);
        return SQLITE_OK;
    }
    const struct clr_table *table = vtab->table;
    const struct clr_column *asked = &table->columns[column];
    const void *row = cursor->element ? cursor->element : cursor;
    if (asked->get.is_plain && !clr_is_list(table) && asked->needs == 0) {
        sqlite3_result_int64(context, clr_member_number(&asked->get, row));
        return SQLITE_OK;
    }
    struct clr_error error;
    clear(&error);
    enum clr_status status = need(cursor, asked->needs, &error);
    if (status == CLR_OK && asked->get.kind == CLR_GET_BY_TABLE) {
        status = table->column(cursor, column, context, &error);
    } else if (status == CLR_OK) {
        if (clr_is_list(table))
            row = clr_list_current(table, cursor);
        if (row)
            status = clr_get_result(&asked->get, cursor, row, context, &error);
    }
    clr_session_job_end(vtab->session, cursor->job);
    return report(vtab, cursor, status, &error);
}

static int x_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const struct clr_vtab *vtab = (const struct clr_vtab *)base->pVtab;
    struct clr_cursor *cursor = (struct clr_cursor *)base;
    *rowid = clr_is_list(vtab->table) ? clr_list_rowid(vtab, cursor) : cursor->rowid;
    if (vtab->shift) /* a table without a key, over any number of dumps */
        *rowid = (sqlite3_int64)((uint64_t)*rowid ^ (uint64_t)cursor->open->number << 40);
    return SQLITE_OK;
}

/* --- Modules ---------------------------------------------------------------------------------- */

/* xCreate and xConnect are one function: a module that is eponymous and can be created. */
static const sqlite3_module created_module = {
    .xCreate = x_connect,
    .xConnect = x_connect,
    .xBestIndex = clr_best_index,
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
    .xBestIndex = clr_best_index,
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
    for (const struct clr_column *column = table->columns; column->name; column++)
        if (column->found != 0 &&
            (column->get.kind == CLR_GET_VALUE || column->get.kind == CLR_GET_BY_TABLE))
            return SQLITE_MISUSE; /* what only SQLite is given cannot be indexed */
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
