/*
 * One root or several.
 *
 * An object whose dominator is another object is led to by the roots that lead to its dominator, so only
 * those that the roots alone dominate have to be looked at. Such an object c has one root if and only if
 *   - one root slot holds it, and
 *   - each reachable object that refers to it is dominated by it.
 * For if all paths to c begin at one slot that holds x, x is on all of them: x dominates c, so x is c.
 * And a referrer that c does not dominate is reached without c, hence from a slot that holds another
 * object. So the answer takes one look at the edges into c; only the number of several roots takes a
 * search backwards, and that is limited.
 *
 * The nearest root of an object is that of its parent in the search of graph/reach.c. Parents have smaller
 * distances but not smaller numbers: each object goes up until one whose root is known, and all on the way
 * get it, so that every object is passed once.
 */
#include "dump/holders.h"

#include "base/alloc.h"
#include "graph/paths.h"

enum { POLL_OBJECTS = 1 << 14 };

/* The object that the roots alone dominate, and that dominates NUMBER or is it. */
static uint32_t top_of(const struct clr_dump *dump, uint32_t number)
{
    const struct clr_dominators *dominators = &dump->dominators;
    while (dominators->dominator[number] != CLR_DOMINATED_BY_ROOTS)
        number = dominators->dominator[number] - 1;
    return number;
}

static bool is_dominated_by(const struct clr_dump *dump, uint32_t number, uint32_t top)
{
    const uint32_t *order = dump->dominated.order;
    return order[number] - order[top] < dump->dominators.retained_count[top];
}

enum clr_status clr_root_count(struct clr_dump *dump, uint32_t number, struct clr_job *job,
                               uint32_t *count, struct clr_error *error)
{
    *count = 0;
    if (dump->dominators.dominator[number] == CLR_UNREACHED)
        return CLR_OK;
    uint32_t top = top_of(dump, number);
    struct clr_path_search *search;
    CLR_TRY(clr_path_search_start(dump->links, &dump->reach, dump->roots, top, &search, error));
    enum clr_status status = clr_path_search_count(search, 0, UINT32_MAX, job, count, error);
    if (status == CLR_OK && *count == 1) {
        struct clr_link_scan scan;
        struct clr_ref ref;
        bool others = false;
        clr_link_scan_start(&scan, dump->links, top);
        for (uint32_t steps = 1; !others && status == CLR_OK && clr_link_scan_next(&scan, &ref);
             steps++) {
            others = clr_path_follows(dump->refs, &dump->reach, dump->roots, &ref, top) &&
                     !is_dominated_by(dump, ref.source_number, top);
            if (steps % POLL_OBJECTS == 0)
                status = clr_job_poll(job, "counting roots", steps, 0, error);
        }
        if (status != CLR_OK || !others) {
            clr_path_search_end(search);
            return status;
        }
    }
    if (status == CLR_OK) {
        status = clr_path_search_count(search, CLR_ROOT_SEARCH_MAX, CLR_ROOT_COUNT_MAX, job, count,
                                       error);
        if (*count < 2) /* the search ended before it met the second */
            *count = 2;
    }
    clr_path_search_end(search);
    return status;
}

/* --- The nearest root ------------------------------------------------------------------------- */

struct nearest {
    uint32_t *roots; /* by object number */
    uint32_t count;
};

static void free_nearest(void *data)
{
    struct nearest *nearest = data;
    clr_free_large(nearest->roots, nearest->count, sizeof *nearest->roots);
    clr_free(nearest);
}

enum clr_status clr_nearest_roots(struct clr_dump *dump, struct clr_job *job,
                                  const uint32_t **roots, struct clr_error *error)
{
    struct nearest *nearest;
    CLR_TRY(clr_dump_keep(dump, free_nearest, sizeof *nearest, &nearest, error));
    *roots = nearest->roots;
    if (nearest->roots)
        return CLR_OK;
    const struct clr_reach *reach = &dump->reach;
    uint32_t count = clr_heap_count(dump->heap);
    uint32_t *made = clr_alloc_large(count, sizeof *made); /* root + 1; 0: not known yet */
    CLR_ARRAY(uint32_t) path = {0};
    enum clr_status status = made ? CLR_OK : clr_no_memory(error);
    for (uint32_t start = 0; status == CLR_OK && start < count; start++) {
        uint32_t number = start, root = 0;
        if (start % POLL_OBJECTS == 0)
            status = clr_job_poll(job, "finding the roots of objects", start, count, error);
        if (clr_reach_distance(reach, start) == CLR_UNREACHED)
            continue;
        for (path.count = 0; (root = made[number]) == 0;) {
            uint64_t edge = clr_wide_get(&reach->parent, number);
            if (!CLR_ARRAY_ADD(&path, number)) {
                status = clr_no_memory(error);
                break;
            }
            if (clr_reach_distance(reach, number) == 0) {
                root = (uint32_t)edge + 1;
                break;
            }
            number = clr_path_source(dump->refs, edge);
        }
        for (size_t i = 0; status == CLR_OK && i < path.count; i++)
            made[path.items[i]] = root;
    }
    CLR_ARRAY_FREE(&path);
    if (status != CLR_OK) {
        clr_free_large(made, count, sizeof *made);
        return status;
    }
    for (uint32_t number = 0; number < count; number++)
        made[number]--;
    nearest->roots = made;
    nearest->count = count;
    *roots = made;
    return CLR_OK;
}
