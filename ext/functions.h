/*
 * Scalar functions, and the attach functions.
 */
#ifndef CLR_FUNCTIONS_H
#define CLR_FUNCTIONS_H

#include "session.h"

int clr_register_functions(sqlite3 *db, struct clr_session *session);       /* functions.c */
int clr_register_value_functions(sqlite3 *db, struct clr_session *session); /* functions_values.c */
int clr_register_attach(sqlite3 *db, struct clr_session *session);          /* attach.c */

/* Declares one function; the session is its user data. FLAGS beside SQLITE_UTF8. */
struct clr_function {
    const char *name; /* the array ends at NULL */
    int arguments, flags;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
};
/* Registers an array of them. After a failure none of the array is registered. */
int clr_register_function_list(sqlite3 *db, struct clr_session *session,
                               const struct clr_function *list);
void clr_unregister_function_list(sqlite3 *db, const struct clr_function *list);
/* Takes back what the calls above and clr_register_tables did: after a failed start the module is
 * unloaded, and nothing may point into it. */
void clr_unregister_functions(sqlite3 *db);
void clr_unregister_value_functions(sqlite3 *db);
void clr_unregister_attach(sqlite3 *db);

/* One call of a function (address [, schema]): the dump, the address, and where the answer goes. */
struct clr_call {
    struct clr_dump *dump;
    struct clr_job *job;
    uint64_t address;
    struct clr_text text;
    bool found; /* text is the result; else NULL */
};
/* Finds the dump that the arguments mean and calls FUNCTION; its text is the result. */
void clr_call_with_dump(sqlite3_context *context, int argc, sqlite3_value **argv, const char *name,
                        enum clr_status (*function)(struct clr_call *, struct clr_error *));

int clr_register_graph_functions(sqlite3 *db, struct clr_session *session); /* functions_graph.c */
void clr_unregister_graph_functions(sqlite3 *db);

/* Reports a failure as the function's. */
void clr_function_fail(sqlite3_context *context, enum clr_status status,
                       const struct clr_error *error);
/* Version of the runtime, as it publishes it or as its folder is named; LENGTH bytes that may be no
 * valid UTF-8; NULL if it is not known. (summary.c) */
const char *clr_runtime_version(const struct clr_dump *dump, size_t *length);
/* 'dump: .NET 11.0.0 linux-x64, workstation GC, regions, 126.7 MB' */
void clr_dump_summary(const struct clr_open_dump *open, struct clr_text *text);
/* One line on ANY address of the process (what.c). */
enum clr_status clr_what(struct clr_dump *dump, uint64_t address, struct clr_job *job,
                         struct clr_text *text, struct clr_error *error);

/* The views, embedded from sql/ at build time: one text of CREATE VIEW statements a file, in name
 * order; ends at NULL. Each statement starts a line with 'CREATE VIEW ' and an unqualified name:
 * clr_attach puts the schema in front of it; names inside resolve in the view's schema. */
extern const char *const clr_view_texts[];

#define CLR_VERSION "0.1.0"

#endif
