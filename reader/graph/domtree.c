/*
 * Objects sorted by their dominator, by counting: one pass counts, one puts each in its row.
 *
 * The preorder needs no depth-first search: an object's place is known from its dominator's, for
 * those before it among the children take as many places as they retain objects.
 */
#include "graph/domtree.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Gives places to the children of each object, whose own place is known by then. */
static enum clr_status number_tree(const struct clr_dominators *dominators,
                                   struct clr_dominated *tree, struct clr_error *error)
{
    uint32_t *queue = clr_alloc_large(tree->count, sizeof *queue);
    tree->objects = dominators->count;
    tree->order = clr_alloc_large(tree->objects, sizeof *tree->order);
    if (!queue || !tree->order) {
        clr_free_large(queue, tree->count, sizeof *queue);
        return clr_no_memory(error);
    }
    memset(tree->order, 0xff, (size_t)tree->objects * sizeof *tree->order);
    size_t head = 0, tail = 0;
    for (uint32_t mark = CLR_DOMINATED_BY_ROOTS, place = 0;;) {
        const uint32_t *children;
        size_t count = clr_dominated_by(tree, mark, &children);
        for (size_t i = 0; i < count; i++) {
            tree->order[children[i]] = place;
            place += dominators->retained_count[children[i]];
            queue[tail++] = children[i];
        }
        if (head == tail)
            break;
        place = tree->order[queue[head]] + 1;
        mark = queue[head++] + 1;
    }
    clr_free_large(queue, tree->count, sizeof *queue);
    return CLR_OK;
}

enum clr_status clr_dominated_build(const struct clr_dominators *dominators, struct clr_job *job,
                                    struct clr_dominated *result, struct clr_error *error)
{
    enum { POLL_OBJECTS = 1 << 20 };
    uint64_t total = 0;
    *result = (struct clr_dominated){.count = dominators->reached};
    enum clr_status status = CLR_OK;
    if (dominators->count == UINT32_MAX)
        return clr_fail(error, CLR_UNSUPPORTED, 0, "too many objects for the dominator tree");
    result->numbers = clr_alloc_large(result->count, sizeof *result->numbers);
    if (!clr_offsets_alloc(&result->rows, dominators->count + 1) || !result->numbers)
        status = clr_no_memory(error);
    for (uint32_t i = 0; status == CLR_OK && i < dominators->count; i++)
        if (dominators->dominator[i] != CLR_UNREACHED)
            result->rows.rest[dominators->dominator[i]]++;
    if (status == CLR_OK)
        status = clr_offsets_sum(&result->rows, &total, error);
    for (uint32_t i = dominators->count; status == CLR_OK && i-- > 0;) {
        uint32_t row = dominators->dominator[i];
        if (row != CLR_UNREACHED)
            result
                ->numbers[result->rows.base[row >> CLR_OFFSETS_SHIFT] + --result->rows.rest[row]] =
                i;
        if (i % POLL_OBJECTS == 0)
            status = clr_job_poll(job, "sorting the dominator tree", dominators->count - i,
                                  dominators->count, error);
    }
    if (status == CLR_OK)
        status = number_tree(dominators, result, error);
    if (status != CLR_OK)
        clr_dominated_deinit(result);
    return status;
}

void clr_dominated_deinit(struct clr_dominated *dominated)
{
    clr_offsets_free(&dominated->rows);
    clr_free_large(dominated->numbers, dominated->count, sizeof *dominated->numbers);
    clr_free_large(dominated->order, dominated->objects, sizeof *dominated->order);
    *dominated = (struct clr_dominated){0};
}

size_t clr_dominated_by(const struct clr_dominated *dominated, uint32_t mark,
                        const uint32_t **numbers)
{
    if (mark >= dominated->rows.count) {
        *numbers = NULL;
        return 0;
    }
    uint64_t first = clr_offset_at(&dominated->rows, mark);
    *numbers = dominated->numbers + first;
    return (size_t)(clr_offset_at(&dominated->rows, mark + 1) - first);
}

static int by_order(const void *a, const void *b, void *context)
{
    const uint32_t *order = context;
    uint32_t x = order[*(const uint32_t *)a], y = order[*(const uint32_t *)b];
    return (x > y) - (x < y);
}

uint64_t clr_retained_together(const struct clr_dominators *dominators,
                               const struct clr_dominated *dominated, uint32_t *members,
                               size_t count)
{
    uint64_t sum = 0, end = 0; /* places below END belong to a member that was counted */
    if (count)
        qsort_r(members, count, sizeof *members, by_order, dominated->order);
    for (size_t i = 0; i < count; i++) {
        uint64_t place = dominated->order[members[i]];
        if (place < end)
            continue;
        sum += dominators->retained_size[members[i]];
        end = place + dominators->retained_count[members[i]];
    }
    return sum;
}
