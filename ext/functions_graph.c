/*
 * Functions over the graph.
 *
 * Retained sizes overlap, so that a sum of them counts bytes many times. The aggregate leaves out a
 * member that another member dominates; NULLs and unreachable objects retain nothing.
 */
#include <string.h>

#include "base/alloc.h"
#include "functions.h"
#include "dump/holders.h"
#include "graph/paths.h"
#include "inspect/pathtree.h"

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

/* A path that is one of several says so: its root is not what keeps the object alive. */
static enum clr_status write_root_count(struct clr_call *call, uint32_t number,
                                        struct clr_error *error)
{
    uint32_t count;
    CLR_TRY(clr_root_count(call->dump, number, call->job, &count, error));
    if (count >= CLR_ROOT_COUNT_MAX)
        clr_text_format(&call->text, " (one of %u roots or more)", count);
    else if (count > 1)
        clr_text_format(&call->text, " (one of %u roots)", count);
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
    CLR_TRY(go_along(call, path, true, &steps, error));
    return write_root_count(call, path->hops[path->count - 1].number, error);
}

static enum clr_status path_of_object(struct clr_call *call, struct clr_error *error)
{
    struct clr_object_path path;
    uint32_t number;
    if (!clr_number(call->dump->heap, (uint64_t)call->number[0], &number) ||
        clr_ref_is_free(call->dump->refs, number))
        return clr_fail(error, CLR_NOT_FOUND, (uint64_t)call->number[0],
                        "clr_path: 0x%llx is not the address of an object: clr_what() says what is "
                        "there",
                        (unsigned long long)(uint64_t)call->number[0]);
    CLR_TRY(clr_path_shortest(call->dump->refs, &call->dump->reach, number, &path, error));
    call->has_text = path.count != 0;
    enum clr_status status = call->has_text ? write_path(call, &path, error) : CLR_OK;
    clr_object_path_deinit(&path);
    return status;
}

/* --- clr_sum_retained ------------------------------------------------------------------------ */

static enum clr_status sum_retained(struct clr_call *call, struct clr_error *error)
{
    const struct clr_dump *dump = call->dump;
    uint32_t *numbers = clr_alloc(call->group_count, sizeof *numbers);
    size_t count = 0;
    if (!numbers)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    for (size_t i = 0; i < call->group_count; i++) {
        uint32_t number;
        if (!clr_number(dump->heap, call->group[i], &number)) {
            clr_free(numbers);
            return clr_fail(error, CLR_NOT_FOUND, call->group[i],
                            "clr_sum_retained: 0x%llx is not the address of an object",
                            (unsigned long long)call->group[i]);
        }
        if (dump->dominators.dominator[number] != CLR_UNREACHED)
            numbers[count++] = number;
    }
    clr_result_u64(call->context,
                   clr_retained_together(&dump->dominators, &dump->dominated, numbers, count));
    clr_free(numbers);
    return CLR_OK;
}

const struct clr_function clr_graph_functions[] = {
    {
        .name = "clr_path",
        .parameters = {{"object", CLR_NUMBER_PARAMETER, false, "The object.", "objects.address"}},
        .needs = CLR_PART_REACH | CLR_PART_REVERSE | CLR_PART_DOMINATED,
        .contract = -1,
        .call = path_of_object,
        .doc =
            "The shortest path from a root to an object, as one line, which ends in the number of "
            "roots if it is one of several; NULL if there is none.",
        .example = "SELECT clr_path(address) FROM objects WHERE root_distance = 5 LIMIT 3",
    },
    {
        .name = "clr_sum_retained",
        .parameters = {{"object", CLR_NUMBER_PARAMETER, false, "Each object of the group.",
                        "objects.address"}},
        .flags = CLR_AGGREGATE,
        .needs = CLR_PART_DOMINATED,
        .contract = -1,
        .call = sum_retained,
        .doc = "Aggregate: bytes that the objects of a group retain together, each byte once.",
        .example = "SELECT clr_sum_retained(address) FROM objects WHERE type_name = 'Zoo.Node'",
    },
    {.name = NULL},
};
