/*
 * What one connection has open: dumps with their schema names.
 *
 * The session, not the table, owns the dump: ROLLBACK of unrelated DDL and VACUUM disconnect and
 * reconnect every virtual table. It belongs to the connection (user data of modules and functions,
 * counted) and dies with it. A created table carries the number of its dump in the session, never a
 * path, so that a hostile database file can open nothing.
 */
#ifndef CLR_SESSION_H
#define CLR_SESSION_H

#include "table.h"

/* The progress callback: what a job's poll calls. It runs a short statement on the connection, so that
 * interrupt() and progress handlers work on every SQLite from 3.38 on. */
struct clr_progress {
    sqlite3 *db;
    sqlite3_stmt *statement; /* prepared by the first poll; NULL between calls */
    bool is_printed;         /* on stderr */
    uint64_t reported;       /* when progress was last printed */
    struct clr_job job;
};

/* One dump of the session. */
struct clr_open_dump {
    int64_t number; /* what created tables carry */
    char *schema;   /* NULL: opened by an eponymous table for its path */
    char *path;
    struct clr_dump *dump; /* NULL: closed, see clr_session_close */
    unsigned tables;       /* connected ones */
    unsigned cursors;      /* that read it now: it must not be closed under them */
    struct clr_progress progress;
};

struct clr_session *clr_session_create(sqlite3 *db);
void clr_session_retain(struct clr_session *session);
void clr_session_release(void *session); /* a destructor for sqlite3_create_module_v2 */

/* Drops dumps whose schema is gone and that no table uses. Called at the start of every function
 * and xConnect. */
void clr_session_sweep(struct clr_session *session);

/* By number; NULL if there is none. */
struct clr_open_dump *clr_session_dump(struct clr_session *session, int64_t number);
/* By schema name; NULL SCHEMA means the only one. The error lists what is attached and says how to
 * name one. */
enum clr_status clr_session_find(struct clr_session *session, const char *schema,
                                 struct clr_open_dump **dump, struct clr_error *error);
/* By path, for eponymous tables: opened on first use, kept until the session ends or the file
 * changes. */
enum clr_status clr_session_path(struct clr_session *session, const char *path,
                                 struct clr_open_dump **dump, struct clr_error *error);
/* Takes over DUMP on success. */
enum clr_status clr_session_add(struct clr_session *session, const char *schema, const char *path,
                                struct clr_dump *dump, struct clr_open_dump **open,
                                struct clr_error *error);
/* Frees it at once; tables that are still connected answer with an error that says so. No cursor
 * may be open on it. */
void clr_session_drop(struct clr_session *session, struct clr_open_dump *dump);

/* Closes the dump and keeps its place, for a schema that could not be detached: dump is NULL then.
 */
void clr_session_close(struct clr_open_dump *dump);
/* One that was closed so, or NULL. */
struct clr_open_dump *clr_session_closed(struct clr_session *session);

/* The names of what is attached, 'before, after', into TEXT; '' if nothing is. */
void clr_session_names(const struct clr_session *session, char *text, size_t size);

sqlite3 *clr_session_db(struct clr_session *session);
/* Indexes of tables that need no dump (list.h). */
struct clr_list_index **clr_session_indexes(struct clr_session *session);

/* The job for work on DUMP, which is one of the session's, or NULL: default options. It lives as
 * long as the dump is open; clr_session_job_end stands after every call that was given it, since no
 * statement may stay prepared between calls, or sqlite3_close fails. */
struct clr_job *clr_session_job_begin(struct clr_session *session, const struct clr_dump *dump);
/* The same while a dump is being opened: its options are all there is. */
struct clr_job *clr_session_job_open(struct clr_session *session,
                                     const struct clr_options *options);
static inline void clr_session_job_end(struct clr_session *session, struct clr_job *job)
{
    (void)session;
    struct clr_progress *progress = job->context;
    if (progress->statement) {
        sqlite3_finalize(progress->statement);
        progress->statement = NULL;
    }
}

/* Maps a status to SQLite's code: NOMEM, INTERRUPT, else ERROR. */
int clr_sqlite_code(enum clr_status status);

#endif
