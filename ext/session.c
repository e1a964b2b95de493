/*
 * The dumps of one connection.
 *
 * Who may go when: a dump with a schema lives until clr_detach, or until its schema is gone and no
 * created table is connected; at the moment when SQLite disconnects a table, DETACH and ROLLBACK
 * look alike, so the decision waits for the next call (clr_session_sweep). A dump that an eponymous
 * table opened for its path lives until the session ends or its file changes. One that a cursor
 * reads stays whatever happens.
 *
 * Numbers start at a random place, so that a created table that was saved in a file and comes back
 * in another session names no dump, instead of somebody else's.
 *
 * The progress callback. SQLite looks for interrupts and calls progress handlers between opcodes, and a long
 * build happens inside one. So the build's poll runs a statement of some thousand opcodes on the
 * same connection: it stops with SQLITE_INTERRUPT when the host wants to stop, since the flag is
 * only cleared when no statement runs, and the outer one does. If it cannot run for another reason
 * (an authorizer that forbids it), the build goes on.
 */
#include "session.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "lookup.h"

enum { PROGRESS_NANOSECONDS = 500000000 };

static const char progress_sql[] = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c "
                                   "LIMIT 200) SELECT max(x) FROM c";

struct clr_session {
    sqlite3 *db;
    unsigned references;
    struct clr_open_dump **dumps;
    size_t count, room;
    int64_t next_number;
    unsigned processors;
    struct clr_progress progress; /* for work on no dump, or one that is being opened */
    struct clr_list_index *indexes;
};

static void report(struct clr_progress *progress, const char *what, uint64_t done, uint64_t total)
{
    if (progress->job.last_poll - progress->reported < PROGRESS_NANOSECONDS)
        return;
    progress->reported = progress->job.last_poll;
    if (total > 0)
        fprintf(stderr, "clrdb: %s, %.0f %%\n", what, 100.0 * (double)done / (double)total);
    else
        fprintf(stderr, "clrdb: %s\n", what);
}

static bool progress_callback(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct clr_progress *progress = context;
    if (progress->is_printed)
        report(progress, what, done, total);
    int code = SQLITE_OK;
    if (!progress->statement)
        code = sqlite3_prepare_v2(progress->db, progress_sql, -1, &progress->statement, NULL);
    if (progress->statement) {
        code = sqlite3_step(progress->statement);
        sqlite3_reset(progress->statement);
    }
    return code != SQLITE_INTERRUPT;
}

/* PROGRESS may not move afterwards. */
static void init_progress(const struct clr_session *session, struct clr_progress *progress,
                          const struct clr_options *options)
{
    unsigned threads =
        options && options->threads ? clr_threads(options->threads, NULL) : session->processors;
    *progress = (struct clr_progress){
        .db = session->db,
        .statement = progress->statement,
        .is_printed = options && options->progress,
        .reported = progress->reported,
        .job = {.poll = progress_callback,
                .context = progress,
                .threads = threads,
                .last_poll = progress->job.last_poll},
    };
}

struct clr_session *clr_session_create(sqlite3 *db)
{
    struct clr_session *session = clr_alloc(1, sizeof *session);
    if (!session)
        return NULL;
    uint32_t start = 0;
    sqlite3_randomness((int)sizeof start, &start);
    session->db = db;
    session->references = 1;
    session->next_number = (int64_t)start + 1;
    session->processors = clr_threads(0, NULL);
    init_progress(session, &session->progress, NULL);
    return session;
}

void clr_session_retain(struct clr_session *session)
{
    session->references++;
}

void clr_session_close(struct clr_open_dump *open)
{
    if (open->dump)
        clr_dump_close(open->dump);
    open->dump = NULL;
}

static void destroy_open(struct clr_open_dump *open)
{
    if (open) {
        clr_session_close(open);
        clr_free(open->schema);
        clr_free(open->path);
        clr_free(open);
    }
}

void clr_session_release(void *context)
{
    struct clr_session *session = context;
    if (--session->references > 0)
        return;
    for (size_t i = 0; i < session->count; i++)
        destroy_open(session->dumps[i]);
    clr_free(session->dumps);
    clr_list_indexes_destroy(session->indexes);
    clr_free(session);
}

sqlite3 *clr_session_db(struct clr_session *session)
{
    return session->db;
}

struct clr_list_index **clr_session_indexes(struct clr_session *session)
{
    return &session->indexes;
}

/* --- The dumps -------------------------------------------------------------------------------- */

static bool schema_is_gone(const struct clr_session *session, const struct clr_open_dump *open)
{
    return open->schema && sqlite3_db_readonly(session->db, open->schema) == -1;
}

static bool is_attached(const struct clr_session *session, const struct clr_open_dump *open)
{
    return open->dump && open->schema && !schema_is_gone(session, open);
}

struct clr_open_dump *clr_session_closed(struct clr_session *session)
{
    for (size_t i = 0; i < session->count; i++)
        if (!session->dumps[i]->dump)
            return session->dumps[i];
    return NULL;
}

void clr_session_drop(struct clr_session *session, struct clr_open_dump *open)
{
    size_t i = 0;
    while (session->dumps[i] != open)
        i++;
    session->count--;
    memmove(session->dumps + i, session->dumps + i + 1,
            (session->count - i) * sizeof *session->dumps);
    destroy_open(open);
}

void clr_session_sweep(struct clr_session *session)
{
    for (size_t i = session->count; i-- > 0;) {
        struct clr_open_dump *open = session->dumps[i];
        if (open->tables == 0 && open->cursors == 0 && schema_is_gone(session, open))
            clr_session_drop(session, open);
    }
}

struct clr_open_dump *clr_session_dump(struct clr_session *session, int64_t number)
{
    for (size_t i = 0; i < session->count; i++)
        if (session->dumps[i]->number == number)
            return session->dumps[i];
    return NULL;
}

void clr_session_names(const struct clr_session *session, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = 0; i < session->count && used < size; i++) {
        const struct clr_open_dump *open = session->dumps[i];
        if (!is_attached(session, open))
            continue;
        int added = snprintf(text + used, size - used, "%s%s", used ? ", " : "", open->schema);
        used += added > 0 ? (size_t)added : 0;
    }
}

enum clr_status clr_session_find(struct clr_session *session, const char *schema,
                                 struct clr_open_dump **dump, struct clr_error *error)
{
    struct clr_open_dump *found = NULL;
    size_t attached = 0;
    for (size_t i = 0; i < session->count; i++) {
        struct clr_open_dump *open = session->dumps[i];
        if (!is_attached(session, open))
            continue;
        attached++;
        if (!schema || sqlite3_stricmp(schema, open->schema) == 0)
            found = open;
    }
    char names[200];
    clr_session_names(session, names, sizeof names);
    if (attached == 0)
        return clr_fail(error, CLR_NOT_FOUND, 0,
                        "no dump is attached: SELECT clr_attach('core.4711') first");
    if (!found)
        return clr_fail(error, CLR_NOT_FOUND, 0, "no dump is attached as '%.100s'; there is: %s",
                        schema, names);
    if (!schema && attached > 1)
        return clr_fail(error, CLR_MISUSE, 0,
                        "%zu dumps are attached (%s): name one as the last argument", attached,
                        names);
    *dump = found;
    return CLR_OK;
}

enum clr_status clr_session_add(struct clr_session *session, const char *schema, const char *path,
                                struct clr_dump *dump, struct clr_open_dump **open,
                                struct clr_error *error)
{
    struct clr_open_dump *added = clr_alloc(1, sizeof *added);
    if (added) {
        added->path = clr_copy_text(path, strlen(path));
        added->schema = schema ? clr_copy_text(schema, strlen(schema)) : NULL;
    }
    if (!added || !added->path || (schema && !added->schema) ||
        !clr_grow(&session->dumps, session->count, &session->room, sizeof *session->dumps)) {
        destroy_open(added);
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    added->dump = dump;
    init_progress(session, &added->progress, &dump->options);
    added->number = session->next_number++;
    session->dumps[session->count++] = added;
    *open = added;
    return CLR_OK;
}

enum clr_status clr_session_path(struct clr_session *session, const char *path,
                                 struct clr_open_dump **dump, struct clr_error *error)
{
    char resolved[PATH_MAX];
    if (!realpath(path, resolved))
        return clr_fail_errno(error, "%.300s", path);
    for (size_t i = 0; i < session->count; i++) {
        struct clr_open_dump *open = session->dumps[i];
        if (open->schema || strcmp(open->path, resolved) != 0)
            continue;
        if (open->cursors > 0 || clr_process_check(open->dump->process, NULL) == CLR_OK) {
            *dump = open;
            return CLR_OK;
        }
        clr_session_drop(session, open);
        break;
    }
    struct clr_options options = {0};
    CLR_TRY(clr_options_parse(&options, NULL, error));
    struct clr_job *job = clr_session_job_open(session, &options);
    struct clr_dump *opened = NULL;
    enum clr_status status = clr_dump_open(resolved, &options, job, &opened, error);
    clr_session_job_end(session, job);
    if (status != CLR_OK) {
        clr_options_deinit(&options);
        return status;
    }
    status = clr_session_add(session, NULL, resolved, opened, dump, error);
    if (status != CLR_OK)
        clr_dump_close(opened);
    return status;
}

/* --- Jobs ------------------------------------------------------------------------------------- */

struct clr_job *clr_session_job_open(struct clr_session *session, const struct clr_options *options)
{
    init_progress(session, &session->progress, options);
    return &session->progress.job;
}

struct clr_job *clr_session_job_begin(struct clr_session *session, const struct clr_dump *dump)
{
    for (size_t i = 0; dump && i < session->count; i++)
        if (session->dumps[i]->dump == dump)
            return &session->dumps[i]->progress.job;
    return clr_session_job_open(session, NULL);
}

int clr_sqlite_code(enum clr_status status)
{
    switch (status) {
    case CLR_OK: return SQLITE_OK;
    case CLR_NOMEM: return SQLITE_NOMEM;
    case CLR_CANCELLED: return SQLITE_INTERRUPT;
    default: return SQLITE_ERROR;
    }
}
