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
#include "graph/paths.h"
#include "inspect/pathtree.h"

enum {
    REACHED = CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX | CLR_PART_HANDLES | CLR_PART_REFS |
              CLR_PART_ROOTS | CLR_PART_REACH,
};

/* --- clr_path --------------------------------------------------------------------------------- */

/* A step of a path, and how often it is taken again right after. */
struct step {
    struct clr_ref ref;
    const char *field;
    uint64_t type; /* of the object that it leads to */
    size_t times;
};
enum {
    SHOWN = 500, /* different steps at either end of a path: a text that a person can read */
    POLL_HOPS = 1 << 12,
};

static enum clr_status read_step(struct clr_dump *dump, const struct clr_hop *hop,
                                 struct step *step, struct clr_error *error)
{
    struct clr_object object;
    if (!clr_object_read(dump->heap, hop->number, &object) ||
        !clr_edge_ref(dump->refs, hop->edge, &step->ref))
        return clr_fail(error, CLR_FAULT, clr_address(dump->heap, hop->number),
                        "object 0x%llx of the path cannot be read any more",
                        (unsigned long long)clr_address(dump->heap, hop->number));
    step->type = object.type;
    step->times = 1;
    return clr_ref_field(dump, &step->ref, &step->field, error);
}

static bool same_step(const struct step *a, const struct step *b)
{
    if (a->type != b->type || a->ref.kind != b->ref.kind || a->ref.kind == CLR_REF_ELEMENT)
        return false;
    return a->field == b->field || (a->field && b->field && strcmp(a->field, b->field) == 0);
}

static void write_step(struct clr_dump *dump, const struct step *step, struct clr_text *text)
{
    struct clr_text element = {0};
    const char *field = step->field;
    if (step->ref.kind == CLR_REF_ELEMENT) {
        clr_text_format(&element, "[%llu]%s", (unsigned long long)step->ref.element, field + 2);
        field = element.data ? element.data : "";
    }
    clr_path_text_step(dump, step->ref.kind, field, step->type, text);
    if (step->times > 1)
        clr_text_format(text, " (%zu times)", step->times);
    text->failed |= element.failed;
    clr_text_deinit(&element);
}

/* Goes along the path, a step that is repeated (a list) counting once. SHOW 0: finds how many
 * *STEPS there are; else writes all but those in the middle. */
static enum clr_status go_along(struct clr_call *call, const struct clr_object_path *path,
                                bool show, size_t *steps, struct clr_error *error)
{
    struct step step, next;
    size_t at = 0, all = *steps;
    for (size_t hop = 1; hop < path->count; at++) {
        CLR_TRY(read_step(call->dump, &path->hops[hop], &step, error));
        while (++hop < path->count) {
            if (hop % POLL_HOPS == 0)
                CLR_TRY(clr_job_poll(call->job, "writing a path", hop, path->count, error));
            CLR_TRY(read_step(call->dump, &path->hops[hop], &next, error));
            if (!same_step(&step, &next))
                break;
            step.times++;
        }
        if (show && (at < SHOWN || at + SHOWN >= all))
            write_step(call->dump, &step, &call->text);
        else if (show && at == SHOWN)
            clr_text_format(&call->text, " -> ... (%zu steps more, which path_to_root has)",
                            all - 2 * SHOWN);
    }
    *steps = at;
    return CLR_OK;
}

static enum clr_status write_path(struct clr_call *call, const struct clr_object_path *path,
                                  struct clr_error *error)
{
    struct clr_dump *dump = call->dump;
    const struct clr_root *root = &dump->roots->rows[path->root];
    struct clr_text name = {0};
    struct clr_object object;
    size_t steps = 0;
    if (!clr_object_read(dump->heap, path->hops[0].number, &object))
        return clr_fail(error, CLR_FAULT, 0, "an object of the path cannot be read any more");
    clr_root_name(dump->runtime, root, &name);
    clr_path_text_root(dump, root, name.data ? name.data : "", object.type, &call->text);
    call->text.failed |= name.failed;
    clr_text_deinit(&name);
    if (path->count > SHOWN)
        CLR_TRY(go_along(call, path, false, &steps, error));
    return go_along(call, path, true, &steps, error);
}

static enum clr_status path_of_object(struct clr_call *call, struct clr_error *error)
{
    struct clr_object_path path;
    uint32_t number;
    CLR_TRY(clr_dump_need(call->dump, REACHED, call->job, error));
    if (!clr_number(call->dump->heap, call->address, &number) ||
        clr_ref_is_free(call->dump->refs, number))
        return clr_fail(error, CLR_NOT_FOUND, call->address,
                        "clr_path: 0x%llx is not the address of an object: clr_what() says what is "
                        "there",
                        (unsigned long long)call->address);
    CLR_TRY(clr_path_shortest(call->dump->refs, &call->dump->reach, number, &path, error));
    call->found = path.count != 0;
    enum clr_status status = call->found ? write_path(call, &path, error) : CLR_OK;
    clr_object_path_deinit(&path);
    return status;
}

static void path_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    clr_call_with_dump(context, argc, argv, "clr_path", path_of_object);
}

/* --- clr_sum_retained ------------------------------------------------------------------------ */

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
        status =
            clr_dump_need(dump, REACHED | CLR_PART_DOMINATORS | CLR_PART_DOMINATED, job, error);
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
