/*
 * What all scalar functions share: registration, the dump that the arguments mean, numbers and texts of
 * the arguments, the result.
 */
#include "functions.h"

#include <string.h>

#include "base/alloc.h"
#include "results.h"

const struct clr_function *const clr_functions[] = {clr_attach_functions, clr_plain_functions,
                                                    clr_value_functions, clr_graph_functions, NULL};

/* User data of a function. */
struct registration {
    const struct clr_function *function;
    struct clr_session *session;
};

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

static void report(sqlite3_context *context, enum clr_status status, const struct clr_error *error)
{
    if (status == CLR_NOMEM) {
        sqlite3_result_error_nomem(context);
        return;
    }
    sqlite3_result_error(context, error->text[0] ? error->text : "clrdb: failed without a reason",
                         -1);
    sqlite3_result_error_code(context, clr_sqlite_code(status));
}

static int count_parameters(const struct clr_function *function)
{
    int count = 0;
    while (count < CLR_PARAMETERS && function->parameters[count].name)
        count++;
    return count;
}

/* Places of the arguments: those of the parameters, then the schema. */
static bool takes_schema(const struct clr_function *function)
{
    return !(function->flags & CLR_WITHOUT_DUMP);
}

static enum clr_status take_number(const struct clr_function *function, int place,
                                   sqlite3_value *value, int64_t *number, struct clr_error *error)
{
    if (clr_read_whole(value, number))
        return CLR_OK;
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text)
        return no_memory(error);
    return clr_fail(error, CLR_MISUSE, 0,
                    "%s: %s: '%.60s' is no whole number; clr_address('…') reads text as an address",
                    function->name, function->parameters[place].name, text);
}

/* *NONE: an argument is NULL, and so is the result. */
static enum clr_status take_arguments(const struct clr_function *function, struct clr_call *call,
                                      bool *none, struct clr_error *error)
{
    *none = false;
    for (int i = 0; i < call->count; i++) {
        enum clr_parameter_kind kind = function->parameters[i].kind;
        bool is_null = sqlite3_value_type(call->values[i]) == SQLITE_NULL;
        if (is_null) {
            *none |= kind != CLR_TEXT_PARAMETER || takes_schema(function);
        } else if (kind == CLR_NUMBER_PARAMETER) {
            CLR_TRY(take_number(function, i, call->values[i], &call->number[i], error));
        } else if (kind == CLR_TEXT_PARAMETER &&
                   !(call->argument[i] = (const char *)sqlite3_value_text(call->values[i]))) {
            return no_memory(error);
        }
    }
    return CLR_OK;
}

static void give_text(const struct clr_call *call)
{
    if (call->dump)
        clr_result_long_text(call->context, call->dump, "strings", (uint64_t)call->number[0],
                             &call->text);
    else
        clr_result_copy(call->context, call->text.data ? call->text.data : "", call->text.length);
}

static enum clr_status run(const struct clr_function *function, struct clr_call *call,
                           const struct clr_open_dump *open, struct clr_error *error)
{
    enum clr_status status = CLR_OK;
    if (open) {
        call->dump = open->dump;
        call->job = clr_session_job_begin(call->session, open->dump);
        status = clr_process_check(open->dump->process, error);
        if (status == CLR_OK && function->contract >= 0) {
            status = clr_dump_need(open->dump, CLR_PART_RUNTIME, call->job, error);
            if (status == CLR_OK)
                status = clr_runtime_require(open->dump->runtime,
                                             (enum clr_contract_id)function->contract,
                                             function->name, error);
        }
        if (status == CLR_OK)
            status = clr_dump_need(open->dump, function->needs, call->job, error);
    }
    if (status == CLR_OK)
        status = function->call(call, error);
    if (open)
        clr_session_job_end(call->session, call->job);
    if (status == CLR_OK && call->text.failed)
        status = no_memory(error);
    if (status == CLR_OK && call->has_text)
        give_text(call);
    clr_text_deinit(&call->text);
    return status;
}

static void call_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct registration *registration = sqlite3_user_data(context);
    const struct clr_function *function = registration->function;
    int parameters = count_parameters(function);
    struct clr_call call = {.session = registration->session,
                            .context = context,
                            .values = argv,
                            .count = argc < parameters ? argc : parameters};
    struct clr_open_dump *open = NULL;
    struct clr_error error = {0};
    const char *schema = NULL;
    bool none = false;
    enum clr_status status = CLR_OK;
    clr_session_sweep(call.session);
    if (argc > parameters && !(schema = (const char *)sqlite3_value_text(argv[parameters])))
        return;
    if (takes_schema(function))
        status = clr_session_find(call.session, schema, &open, &error);
    if (status == CLR_OK)
        status = take_arguments(function, &call, &none, &error);
    if (status == CLR_OK && !none)
        status = run(function, &call, open, &error);
    if (status != CLR_OK)
        report(context, status, &error);
}

/* --- Aggregates ------------------------------------------------------------------------------- */

struct group { /* SQLite gives it zeroed */
    uint64_t *numbers;
    size_t count, room;
    char *schema; /* of the first row; NULL: none was given */
    bool is_started, has_failed, has_null_schema;
};

/* A row of the group: its number, or nothing if that is NULL. */
static void step_aggregate(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    const struct registration *registration = sqlite3_user_data(context);
    const struct clr_function *function = registration->function;
    struct group *group = sqlite3_aggregate_context(context, sizeof *group);
    struct clr_error error = {0};
    int64_t number = 0;
    if (!group) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!group->is_started && argc > 1) {
        const char *schema = (const char *)sqlite3_value_text(argv[1]);
        group->has_null_schema = !schema;
        if (schema && !(group->schema = clr_copy_text(schema, strlen(schema))))
            group->has_failed = true;
    }
    group->is_started = true;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    enum clr_status status = take_number(function, 0, argv[0], &number, &error);
    if (status == CLR_OK &&
        !clr_grow(&group->numbers, group->count, &group->room, sizeof *group->numbers))
        status = no_memory(&error);
    if (status == CLR_OK) {
        group->numbers[group->count++] = (uint64_t)number;
        return;
    }
    group->has_failed = true;
    report(context, status, &error);
}

static void end_aggregate(sqlite3_context *context)
{
    const struct registration *registration = sqlite3_user_data(context);
    struct group *group = sqlite3_aggregate_context(context, 0);
    struct clr_call call = {.session = registration->session, .context = context};
    struct clr_open_dump *open = NULL;
    struct clr_error error = {0};
    if (!group) { /* no rows: nothing is retained, in whatever dump */
        sqlite3_result_int64(context, 0);
        return;
    }
    enum clr_status status = group->has_failed ? no_memory(&error) : CLR_OK;
    clr_session_sweep(call.session);
    if (status == CLR_OK && !group->has_null_schema) {
        status = clr_session_find(call.session, group->schema, &open, &error);
        call.group = group->numbers;
        call.group_count = group->count;
        if (status == CLR_OK)
            status = run(registration->function, &call, open, &error);
    }
    if (status != CLR_OK)
        report(context, status, &error);
    clr_free(group->numbers);
    clr_free(group->schema);
}

/* --- Registration ----------------------------------------------------------------------------- */

static void destroy_registration(void *user)
{
    struct registration *registration = user;
    clr_session_release(registration->session);
    clr_free(registration);
}

static int register_function(sqlite3 *db, struct clr_session *session,
                             const struct clr_function *function, int arguments)
{
    unsigned flags = SQLITE_UTF8;
    bool is_aggregate = function->flags & CLR_AGGREGATE;
    struct registration *registration = clr_alloc(1, sizeof *registration);
    if (!registration)
        return SQLITE_NOMEM;
    *registration = (struct registration){function, session};
    clr_session_retain(session);
    flags |= function->flags & CLR_DIRECT_ONLY ? SQLITE_DIRECTONLY : SQLITE_INNOCUOUS;
    if ((function->flags & CLR_WITHOUT_DUMP) && !(function->flags & CLR_DIRECT_ONLY))
        flags |= SQLITE_DETERMINISTIC;
    return sqlite3_create_function_v2(db, function->name, arguments, (int)flags, registration,
                                      is_aggregate ? NULL : call_function,
                                      is_aggregate ? step_aggregate : NULL,
                                      is_aggregate ? end_aggregate : NULL, destroy_registration);
}

/* The least and the largest number of arguments. */
static void count_arguments(const struct clr_function *function, int *least, int *most)
{
    *most = count_parameters(function);
    *least = 0;
    while (*least < *most && !function->parameters[*least].is_optional)
        ++*least;
    *most += takes_schema(function);
}

void clr_unregister_functions(sqlite3 *db)
{
    for (size_t i = 0; clr_functions[i]; i++)
        for (const struct clr_function *f = clr_functions[i]; f->name; f++) {
            int least, most;
            count_arguments(f, &least, &most);
            for (int arguments = least; arguments <= most; arguments++)
                sqlite3_create_function_v2(db, f->name, arguments, SQLITE_UTF8, NULL, NULL, NULL,
                                           NULL, NULL);
        }
}

int clr_register_functions(sqlite3 *db, struct clr_session *session)
{
    for (size_t i = 0; clr_functions[i]; i++)
        for (const struct clr_function *f = clr_functions[i]; f->name; f++) {
            int least, most, code = SQLITE_OK;
            count_arguments(f, &least, &most);
            for (int arguments = least; code == SQLITE_OK && arguments <= most; arguments++)
                code = register_function(db, session, f, arguments);
            if (code != SQLITE_OK) {
                clr_unregister_functions(db);
                return code;
            }
        }
    return SQLITE_OK;
}
