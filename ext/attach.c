/*
 * clr_attach(path [, schema [, options]]) and clr_detach(schema): a dump is a schema.
 *
 * An empty in-memory database is attached under the schema's name, and the tables and views are
 * created in it, so that they are seen by every tool, and DETACH closes the dump. Created tables
 * have one argument, the number of the dump in the session: they can open nothing.
 *
 * Not inside a transaction: ROLLBACK would take the tables back and leave the schema attached. The
 * dump is opened before anything is attached, so that a failure leaves no trace.
 *
 * If the host interrupts between ATTACH and the last CREATE, DETACH cannot run either (the
 * interrupt holds until the outermost statement has ended): then the half-made schema is kept in
 * mind by a dump that is closed already, and the next call of these functions detaches it.
 */
#include <string.h>

#include "base/alloc.h"
#include "cache.h"
#include "describe.h"
#include "functions.h"
#include "views.h"

static const char default_schema[] = "dump";

/* Runs one formatted statement; FORMAT is SQLite's ('%w' quotes a name). */
static enum clr_status run(sqlite3 *db, struct clr_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments), *message = NULL;
    va_end(arguments);
    if (!sql)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    int code = sqlite3_exec(db, sql, NULL, NULL, &message);
    sqlite3_free(sql);
    enum clr_status status = code == SQLITE_OK          ? CLR_OK
                             : code == SQLITE_NOMEM     ? CLR_NOMEM
                             : code == SQLITE_INTERRUPT ? CLR_CANCELLED
                                                        : CLR_MISUSE;
    if (status != CLR_OK)
        clr_fail(error, status, 0, "%s", message ? message : sqlite3_errstr(code));
    sqlite3_free(message);
    return status;
}

/* --- Making the schema ------------------------------------------------------------------------ */

/* TEXT with the schema put in front of the name of every view. */
static char *qualify_views(const char *text, const char *schema)
{
    static const char start[] = "CREATE VIEW ";
    sqlite3_str *sql = sqlite3_str_new(NULL);
    while (*text) {
        const char *end = strchr(text, '\n');
        size_t length = end ? (size_t)(end - text) + 1 : strlen(text);
        if (strncmp(text, start, sizeof start - 1) == 0) {
            sqlite3_str_appendf(sql, "%s\"%w\".", start, schema);
            text += sizeof start - 1;
            length -= sizeof start - 1;
        }
        sqlite3_str_append(sql, text, (int)length);
        text += length;
    }
    return sqlite3_str_finish(sql);
}

static enum clr_status create_tables(sqlite3 *db, const struct clr_open_dump *open,
                                     struct clr_error *error)
{
    for (size_t i = 0; clr_tables[i]; i++) {
        char module[80];
        if (clr_tables[i]->global)
            continue;
        clr_module_name(clr_tables[i], module, sizeof module);
        CLR_TRY(run(db, error, "CREATE VIRTUAL TABLE \"%w\".\"%w\" USING \"%w\"(%lld)",
                    open->schema, clr_tables[i]->name, module, (sqlite3_int64)open->number));
    }
    for (size_t i = 0; clr_view_texts[i]; i++) {
        char *sql = qualify_views(clr_view_texts[i], open->schema);
        if (!sql)
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        enum clr_status status = run(db, error, "%s", sql);
        sqlite3_free(sql);
        CLR_TRY(status);
    }
    return CLR_OK;
}

/* Detaches what an interrupted call could not. */
static void detach_remains(struct clr_session *session)
{
    struct clr_open_dump *open;
    while ((open = clr_session_closed(session)) &&
           run(clr_session_db(session), NULL, "DETACH \"%w\"", open->schema) == CLR_OK)
        clr_session_drop(session, open);
}

static enum clr_status attach_schema(struct clr_session *session, const char *schema,
                                     struct clr_error *error)
{
    enum clr_status status =
        run(clr_session_db(session), error, "ATTACH ':memory:' AS \"%w\"", schema);
    if (status == CLR_MISUSE && strstr(error->text, "too many attached databases")) {
        char names[200];
        clr_session_names(session, names, sizeof names);
        clr_error_prefix(error,
                         "no room for another dump beside %s; SELECT clr_detach(schema) for "
                         "one of them first",
                         names[0] ? names : "what is attached");
    }
    return status;
}

/* Gives an open dump its schema. On failure nothing is attached. */
static enum clr_status make_schema(struct clr_session *session, struct clr_open_dump *open,
                                   struct clr_error *error)
{
    sqlite3 *db = clr_session_db(session);
    enum clr_status status = attach_schema(session, open->schema, error);
    if (status == CLR_OK)
        status = create_tables(db, open, error);
    /* An ATTACH that was interrupted may have attached all the same. */
    if (status != CLR_OK && sqlite3_db_readonly(db, open->schema) != -1 &&
        run(db, NULL, "DETACH \"%w\"", open->schema) != CLR_OK)
        clr_session_close(open);
    return status;
}

/* --- clr_attach ------------------------------------------------------------------------------- */

static enum clr_status check_schema(struct clr_session *session, const char *schema, size_t length,
                                    struct clr_error *error)
{
    sqlite3 *db = clr_session_db(session);
    if (length == 0 || strlen(schema) != length)
        return clr_fail(error, CLR_MISUSE, 0, "clr_attach: a schema needs a name without NULs");
    if (schema[0] == '{')
        return clr_fail(
            error, CLR_MISUSE, 0,
            "clr_attach: options are the third argument: clr_attach(path, 'dump', '%.100s')",
            schema);
    if (sqlite3_stricmp(schema, "temp") == 0 || sqlite3_db_readonly(db, schema) != -1)
        return clr_fail(error, CLR_MISUSE, 0,
                        "clr_attach: schema '%.100s' is already in use: choose another name, "
                        "clr_attach(path, 'name'), or clr_detach it first",
                        schema);
    return CLR_OK;
}

static enum clr_status attach(struct clr_session *session, const char *path, const char *schema,
                              const char *options_text, struct clr_text *summary,
                              struct clr_error *error)
{
    struct clr_options options = {0};
    struct clr_dump *dump = NULL;
    struct clr_open_dump *open = NULL;
    enum clr_status status = clr_options_parse(&options, options_text, error);
    if (status == CLR_OK)
        status = clr_options_check(&options, error);
    if (status != CLR_OK) {
        clr_options_deinit(&options);
        return status;
    }
    struct clr_job *job = clr_session_job_open(session, &options);
    bool have;
    status = clr_dump_open(path, &options, job, &dump, error);
    if (status != CLR_OK)
        clr_options_deinit(&options);
    else
        status = clr_try_need(dump, CLR_PART_GC, job, &have, error);
    clr_session_job_end(session, job);
    if (status == CLR_OK)
        status = clr_session_add(session, schema, path, dump, &open, error);
    if (status != CLR_OK) {
        clr_dump_close(dump);
        return status;
    }
    status = make_schema(session, open, error);
    if (status == CLR_OK)
        clr_dump_summary(open, summary);
    else if (open->dump)
        clr_session_drop(session, open);
    return status;
}

static enum clr_status attach_path(struct clr_call *call, struct clr_error *error)
{
    sqlite3 *db = clr_session_db(call->session);
    const char *path = call->argument[0];
    const char *schema = call->argument[1] ? call->argument[1] : default_schema;
    size_t length = call->argument[1] ? (size_t)sqlite3_value_bytes(call->values[1])
                                      : sizeof default_schema - 1;
    if (!path || !*path)
        return clr_fail(error, CLR_MISUSE, 0, "clr_attach: the path of the core file is %s",
                        path ? "empty" : "NULL");
    if (!sqlite3_get_autocommit(db) || sqlite3_txn_state(db, NULL) == SQLITE_TXN_WRITE)
        return clr_fail(error, CLR_MISUSE, 0,
                        "clr_attach: not inside a transaction, which could take the tables back: "
                        "COMMIT first");
    detach_remains(call->session);
    CLR_TRY(check_schema(call->session, schema, length, error));
    CLR_TRY(attach(call->session, path, schema, call->argument[2], &call->text, error));
    call->has_text = true;
    return CLR_OK;
}

/* --- clr_detach ------------------------------------------------------------------------------- */

static enum clr_status detach(struct clr_session *session, const char *schema,
                              struct clr_error *error)
{
    struct clr_open_dump *open = NULL;
    CLR_TRY(clr_session_find(session, schema, &open, error));
    enum clr_status status =
        open->cursors > 0
            ? clr_fail(error, CLR_MISUSE, 0, "a statement reads '%.100s'", open->schema)
            : run(clr_session_db(session), error, "DETACH \"%w\"", open->schema);
    if (status == CLR_MISUSE)
        clr_error_prefix(error, "clr_detach: finish the statement or transaction that uses it");
    CLR_TRY(status);
    clr_session_drop(session, open);
    return CLR_OK;
}

static enum clr_status detach_schema(struct clr_call *call, struct clr_error *error)
{
    detach_remains(call->session);
    if (!call->argument[0])
        return clr_fail(error, CLR_MISUSE, 0, "clr_detach: the schema's name is NULL");
    CLR_TRY(detach(call->session, call->argument[0], error));
    clr_result_static(call->context, "detached");
    return CLR_OK;
}

/* Files are opened at the caller's word only, never at that of a view or trigger. */
const struct clr_function clr_attach_functions[] = {
    {
        .name = "clr_attach",
        .parameters = {{"path", CLR_TEXT_PARAMETER, false, "The core file.", NULL},
                       {"schema", CLR_TEXT_PARAMETER, true,
                        "Name of the schema that it becomes; 'dump' if it is not given.", NULL},
                       {"options", CLR_TEXT_PARAMETER, true, "A JSON object; see the man page.",
                        NULL}},
        .flags = CLR_WITHOUT_DUMP | CLR_DIRECT_ONLY,
        .contract = -1,
        .call = attach_path,
        .doc =
            "Opens a dump and attaches it as a schema with all tables and views; one line on it.",
    },
    {
        .name = "clr_detach",
        .parameters = {{"schema", CLR_TEXT_PARAMETER, false, "Name of the schema.", NULL}},
        .flags = CLR_WITHOUT_DUMP | CLR_DIRECT_ONLY,
        .contract = -1,
        .call = detach_schema,
        .doc = "Closes a dump, as DETACH does.",
    },
    {.name = NULL},
};
