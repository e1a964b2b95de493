/*
 * Functions over the graph:
 *
 *   clr_path(object [, schema])           the shortest path from a root, as one line
 *   clr_sum_retained(object [, schema])   aggregate: what the group retains, each byte once
 *
 * Retained sizes overlap, so that a sum of them counts bytes many times. The aggregate leaves out a
 * member that another member dominates; NULLs and unreachable objects retain nothing.
 */
#include <string.h>

#include "base/alloc.h"
#include "functions.h"
#include "heap/paths.h"
#include "inspect/pathtree.h"

enum {
    REACHED = CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX | CLR_PART_HANDLES | CLR_PART_REFS |
              CLR_PART_ROOTS | CLR_PART_REACH,
};

/* --- clr_path --------------------------------------------------------------------------------- */

static enum clr_status write_path(struct clr_dump *dump, const struct clr_object_path *path,
                                  struct clr_text *text, struct clr_error *error)
{
    struct clr_text name = {0};
    for (size_t hop = 0; hop < path->count; hop++) {
        struct clr_object object;
        struct clr_ref ref;
        const char *field;
        if (!clr_object_read(dump->heap, path->hops[hop].number, &object))
            return clr_fail(error, CLR_FAULT, 0, "an object of the path cannot be read any more");
        if (hop == 0) {
            const struct clr_root *root = &dump->roots->rows[path->root];
            clr_root_name(dump->runtime, root, &name);
            clr_path_text_root(dump, root, name.data ? name.data : "", object.type, text);
            text->failed |= name.failed;
            clr_text_deinit(&name);
        } else if (clr_edge_ref(dump->refs, path->hops[hop].edge, &ref)) {
            CLR_TRY(clr_ref_field(dump, &ref, &field, error));
            if (ref.kind == CLR_REF_ELEMENT) {
                clr_text_format(&name, "[%llu]%s", (unsigned long long)ref.element, field + 2);
                clr_path_text_step(dump, ref.kind, name.data ? name.data : "", object.type, text);
                clr_text_deinit(&name);
            } else {
                clr_path_text_step(dump, ref.kind, field, object.type, text);
            }
        }
    }
    return CLR_OK;
}

static enum clr_status path_of_object(struct clr_call *call, struct clr_error *error)
{
    struct clr_object_path path;
    uint32_t number;
    CLR_TRY(clr_dump_need(call->dump, REACHED, call->job, error));
    if (!clr_number(call->dump->heap, call->address, &number))
        return clr_fail(error, CLR_NOT_FOUND, call->address,
                        "clr_path: 0x%llx is not the address of an object: clr_what() says what is "
                        "there",
                        (unsigned long long)call->address);
    CLR_TRY(clr_path_shortest(call->dump, number, &path, error));
    call->found = path.count != 0;
    enum clr_status status = write_path(call->dump, &path, &call->text, error);
    clr_object_path_deinit(&path);
    return status;
}

static void path_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    clr_call_with_dump(context, argc, argv, "clr_path", path_of_object);
}

/* --- clr_sum_retained -------------------------------------------------------------------------- */

struct members { /* SQLite gives it zeroed */
    uint64_t *addresses;
    size_t count, room;
    char *schema; /* of the first row; NULL: none was given */
    bool started, failed, no_schema;
};

static void sum_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    struct members *members = sqlite3_aggregate_context(context, sizeof *members);
    if (!members) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!members->started && argc > 1) {
        const char *schema = (const char *)sqlite3_value_text(argv[1]);
        members->no_schema = !schema;
        if (schema && !(members->schema = clr_copy_text(schema, strlen(schema))))
            members->failed = true;
    }
    members->started = true;
    if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER)
        return;
    if (!clr_grow(&members->addresses, members->count, &members->room,
                  sizeof *members->addresses)) {
        members->failed = true;
        return;
    }
    members->addresses[members->count++] = (uint64_t)sqlite3_value_int64(argv[0]);
}

static enum clr_status sum(struct clr_session *session, struct members *members, uint64_t *total,
                           struct clr_error *error)
{
    struct clr_open_dump *open;
    CLR_TRY(clr_session_find(session, members->schema, &open, error));
    struct clr_dump *dump = open->dump;
    struct clr_job *job = clr_session_job_begin(session, dump);
    enum clr_status status = clr_process_check(dump->process, error);
    if (status == CLR_OK)
        status = clr_dump_need(dump, REACHED | CLR_PART_DOMINATORS | CLR_PART_DOMINATED, job, error);
    clr_session_job_end(session, job);
    CLR_TRY(status);
    uint32_t *numbers = clr_alloc(members->count, sizeof *numbers);
    if (!numbers)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < members->count; i++) {
        uint32_t number;
        if (!clr_number(dump->heap, members->addresses[i], &number)) {
            clr_free(numbers);
            return clr_fail(error, CLR_NOT_FOUND, members->addresses[i],
                            "clr_sum_retained: 0x%llx is not the address of an object",
                            (unsigned long long)members->addresses[i]);
        }
        if (dump->dominators.dominator[number] != CLR_UNREACHED)
            numbers[count++] = number;
    }
    *total = clr_retained_together(&dump->dominators, &dump->dominated, numbers, count);
    clr_free(numbers);
    return CLR_OK;
}

static void sum_final(sqlite3_context *context)
{
    struct members *members = sqlite3_aggregate_context(context, 0);
    struct clr_session *session = sqlite3_user_data(context);
    struct clr_error error = {0};
    uint64_t total = 0;
    if (!members) {
        sqlite3_result_int64(context, 0);
        return;
    }
    enum clr_status status = members->failed ? CLR_NOMEM : CLR_OK;
    clr_session_sweep(session);
    if (status == CLR_OK && !members->no_schema)
        status = sum(session, members, &total, &error);
    if (status != CLR_OK)
        clr_function_fail(context, status, &error);
    else if (!members->no_schema)
        clr_result_u64(context, total);
    clr_free(members->addresses);
    clr_free(members->schema);
}

/* --- Registration ----------------------------------------------------------------------------- */

static const struct clr_function functions[] = {
    {"clr_path", 1, SQLITE_INNOCUOUS, path_function},
    {"clr_path", 2, SQLITE_INNOCUOUS, path_function},
    {0},
};

int clr_register_graph_functions(sqlite3 *db, struct clr_session *session)
{
    int code = clr_register_function_list(db, session, functions);
    for (int arguments = 1; code == SQLITE_OK && arguments <= 2; arguments++) {
        clr_session_retain(session);
        code = sqlite3_create_function_v2(db, "clr_sum_retained", arguments,
                                          SQLITE_UTF8 | SQLITE_INNOCUOUS, session, NULL, sum_step,
                                          sum_final, clr_session_release);
    }
    if (code != SQLITE_OK)
        clr_unregister_graph_functions(db);
    return code;
}

void clr_unregister_graph_functions(sqlite3 *db)
{
    clr_unregister_function_list(db, functions);
    for (int arguments = 1; arguments <= 2; arguments++)
        sqlite3_create_function_v2(db, "clr_sum_retained", arguments, SQLITE_UTF8, NULL, NULL, NULL,
                                   NULL, NULL);
}
