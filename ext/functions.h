/*
 * How a scalar function is declared: a row of its name, its parameters, what it needs of the dump, and
 * what computes it. functions.c registers it for each number of arguments, finds the dump, converts the
 * arguments, and gives the result. From the row follow clr_schema, docs/schema.md and the man page too.
 *
 * Functions of a dump take the schema as a last, optional argument; without it there must be one
 * dump only. They may stand in views (INNOCUOUS): they read a dump that somebody attached, and open
 * nothing. Only those that need no dump are deterministic.
 */
#ifndef CLR_FUNCTIONS_H
#define CLR_FUNCTIONS_H

#include "session.h"

enum clr_parameter_kind {
    CLR_NUMBER_PARAMETER, /* as clr_read_whole reads it; NULL gives NULL */
    CLR_TEXT_PARAMETER,   /* NULL gives NULL, in functions of a dump */
    CLR_ANY_PARAMETER,    /* as it is; NULL gives NULL */
};
struct clr_parameter {
    const char *name;
    enum clr_parameter_kind kind;
    bool is_optional;
    const char *doc;
    const char *refers_to;
};

enum { CLR_PARAMETERS = 3 };

/* One call. */
struct clr_call {
    struct clr_session *session;
    struct clr_dump *dump; /* NULL without one */
    struct clr_job *job;
    sqlite3_context *context;
    sqlite3_value **values; /* of the parameters; COUNT are given. NULL in an aggregate */
    int count;
    int64_t number[CLR_PARAMETERS];
    const char *argument[CLR_PARAMETERS]; /* texts */
    uint64_t *group;                      /* an aggregate: the numbers of the first parameter */
    size_t group_count;
    struct clr_text text;
    bool has_text; /* TEXT is the result; else it is what was set in CONTEXT, or NULL */
};

enum clr_function_flags {
    CLR_WITHOUT_DUMP = 1,
    CLR_DIRECT_ONLY = 2, /* opens or closes: not from a view or trigger */
    CLR_AGGREGATE = 4,   /* called once, with the group */
};
struct clr_function {
    const char *name;
    struct clr_parameter parameters[CLR_PARAMETERS];
    unsigned flags;
    unsigned needs; /* parts that must exist */
    int contract;   /* enum clr_contract_id that must be served, or -1 */
    enum clr_status (*call)(struct clr_call *, struct clr_error *);
    const char *doc; /* one sentence */
    const char *example;
};

/* The rows, a file each; each array ends with a name of NULL, and the list with NULL. */
extern const struct clr_function clr_plain_functions[], clr_value_functions[],
    clr_graph_functions[], clr_attach_functions[];
extern const struct clr_function *const clr_functions[];

/* Registers all functions on a connection. After a failure none is registered. */
int clr_register_functions(sqlite3 *db, struct clr_session *session);
void clr_unregister_functions(sqlite3 *db);

#endif
