/*
 * clr_text(object), clr_field(object, 'a.b'): functions on what is in objects. The schema is a
 * last, optional argument, as of all functions that read a dump; see functions.c.
 */
#include "functions.h"

#include "base/text.h"
#include "cache.h"
#include "inspect/describe.h"
#include "results.h"

/* One call. */
struct call {
    struct clr_dump *dump;
    struct clr_job *job;
    sqlite3_context *context;
    uint64_t object;
    const char *path; /* of clr_field */
};

static enum clr_status text(struct call *call, struct clr_error *error)
{
    struct clr_text line = {0};
    enum clr_status status = clr_object_text(call->dump, call->job, call->object, &line, error);
    if (status == CLR_OK && line.data)
        clr_result_copy(call->context, line.data, line.length);
    clr_text_deinit(&line);
    return status;
}

static enum clr_status result_line(struct call *call, const struct clr_place *place,
                                   struct clr_error *error)
{
    struct clr_text line = {0};
    enum clr_status status = clr_place_text(call->dump, place, &line, error);
    if (status == CLR_OK && line.failed)
        status = clr_fail(error, CLR_NOMEM, 0, "out of memory for a text");
    if (status == CLR_OK)
        clr_result_copy(call->context, line.data, line.length);
    clr_text_deinit(&line);
    return status;
}

/* A value; the address that a reference holds, unless it is a string's; a struct as one line. */
static enum clr_status field(struct call *call, struct clr_error *error)
{
    struct clr_value value = {0};
    struct clr_place place;
    bool found;
    CLR_TRY(clr_path_place(call->dump, call->object, call->path, &place, &found, error));
    if (!found)
        return CLR_OK;
    enum clr_status status = clr_value_read(call->dump, &place, &value, error);
    if (status == CLR_OK && value.lost)
        clr_problem_once(call->dump->problems, CLR_WARNING, "field_values", false, place.address, 0,
                         "object 0x%llx: the value at 0x%llx is not known: %s",
                         (unsigned long long)call->object, (unsigned long long)place.address,
                         value.lost);
    if (status == CLR_OK && value.kind == CLR_VALUE_STRUCT)
        status = result_line(call, &place, error);
    else if (status == CLR_OK && value.is_reference && place.element != CLR_ELEMENT_STRING)
        clr_result_u64(call->context, value.target);
    else if (status == CLR_OK)
        clr_result_value(call->context, &value);
    clr_value_deinit(&value);
    return status;
}

/* Finds the dump, walks its heap, and calls. ARGUMENTS stand in front of the schema. */
static void with_dump(sqlite3_context *context, int argc, sqlite3_value **argv, int arguments,
                      const char *name,
                      enum clr_status (*function)(struct call *, struct clr_error *))
{
    enum { WALKED = CLR_PART_INDEX };
    struct clr_session *session = sqlite3_user_data(context);
    struct clr_open_dump *open = NULL;
    struct clr_error error = {0};
    struct call call = {.context = context};
    const char *schema = NULL;
    clr_session_sweep(session);
    if (argc > arguments && !(schema = (const char *)sqlite3_value_text(argv[arguments])))
        return;
    enum clr_status status = clr_session_find(session, schema, &open, &error);
    for (int i = 0; i < arguments && status == CLR_OK; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            return;
    if (status == CLR_OK && sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER)
        status =
            clr_fail(&error, CLR_MISUSE, 0,
                     "%s: '%.60s' is no whole number; clr_address('…') reads text as an address",
                     name, (const char *)sqlite3_value_text(argv[0]));
    if (status == CLR_OK) {
        call.object = (uint64_t)sqlite3_value_int64(argv[0]);
        call.path = arguments > 1 ? (const char *)sqlite3_value_text(argv[1]) : NULL;
        call.dump = open->dump;
        call.job = clr_session_job_begin(session, open->dump);
        status = arguments > 1 && !call.path ? CLR_NOMEM
                                             : clr_process_check(open->dump->process, &error);
        if (status == CLR_OK)
            status = clr_dump_need(call.dump, WALKED, call.job, &error);
        if (status == CLR_OK)
            status = function(&call, &error);
        clr_session_job_end(session, call.job);
    }
    if (status != CLR_OK)
        clr_function_fail(context, status, &error);
}

static void text_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    with_dump(context, argc, argv, 1, "clr_text", text);
}

static void field_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    with_dump(context, argc, argv, 2, "clr_field", field);
}

static const struct clr_function functions[] = {
    {"clr_text", 1, SQLITE_INNOCUOUS, text_function},
    {"clr_text", 2, SQLITE_INNOCUOUS, text_function},
    {"clr_field", 2, SQLITE_INNOCUOUS, field_function},
    {"clr_field", 3, SQLITE_INNOCUOUS, field_function},
    {0},
};

int clr_register_value_functions(sqlite3 *db, struct clr_session *session)
{
    return clr_register_function_list(db, session, functions);
}

void clr_unregister_value_functions(sqlite3 *db)
{
    clr_unregister_function_list(db, functions);
}
