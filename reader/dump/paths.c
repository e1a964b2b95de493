/*
 * The shortest way is kept by the search for what is reachable: each object knows the edge that led
 * to it, so a path is a walk up.
 *
 * Other roots are found by a search backwards from the object, breadth first over the reverse
 * graph. It stays in the object's part: what only conservative roots reach does not count for an
 * object that a precise root reaches. An edge that is not in the graph (from an array of statics)
 * is passed over. The first way to an object is a shortest; of several the one whose slot comes
 * first.
 */
#include "dump/paths.h"

#include <stdlib.h>

#include "base/alloc.h"

enum { POLL_EDGES = 1 << 12 };

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory for a path");
}

void clr_object_path_deinit(struct clr_object_path *path)
{
    clr_free(path->hops);
    *path = (struct clr_object_path){0};
}

static bool append(struct clr_object_path *path, size_t *room, uint32_t number, uint64_t edge)
{
    if (!clr_grow(&path->hops, path->count, room, sizeof *path->hops))
        return false;
    path->hops[path->count++] = (struct clr_hop){number, edge};
    return true;
}

/* The object that an edge starts from. */
static uint32_t source_of(const struct clr_dump *dump, uint64_t edge)
{
    uint64_t units = clr_units(dump->heap);
    return edge < units ? clr_unit_owner(dump->heap, edge)
                        : dump->refs->dependents[edge - units].source;
}

enum clr_status clr_path_shortest(const struct clr_dump *dump, uint32_t number,
                                  struct clr_object_path *path, struct clr_error *error)
{
    const struct clr_reach *reach = &dump->reach;
    uint32_t distance = clr_reach_distance(reach, number);
    *path = (struct clr_object_path){0};
    if (distance == CLR_UNREACHED)
        return CLR_OK;
    path->count = (size_t)distance + 1;
    path->hops = clr_alloc(path->count, sizeof *path->hops);
    if (!path->hops) {
        path->count = 0;
        return no_memory(error);
    }
    for (size_t hop = distance; hop > 0; hop--) {
        uint64_t edge = clr_wide_get(&reach->parent, number);
        path->hops[hop] = (struct clr_hop){number, edge};
        number = source_of(dump, edge);
    }
    path->hops[0] = (struct clr_hop){number, CLR_NO_UNIT};
    path->root = (uint32_t)clr_wide_get(&reach->parent, number);
    return CLR_OK;
}

/* --- Several roots --------------------------------------------------------------------------- */

/* An object that the search has met: the edge towards the one it came from. */
struct met {
    uint32_t number;
    uint32_t next; /* place of the object that the edge leads to; its own for the first */
    uint64_t edge;
};

struct clr_path_search {
    const struct clr_dump *dump;
    struct met *queue;
    size_t head, tail, room;
    struct clr_map places; /* number + 1 -> place in the queue */
    uint32_t *roots;       /* ids of the precise or conservative roots, by object */
    size_t root_count;
    size_t root_at, root_end; /* roots of the object at HEAD that are still to be given */
    bool second;
};

static int by_object(const void *a, const void *b, void *context)
{
    const struct clr_root *rows = ((const struct clr_roots *)context)->rows;
    const struct clr_root *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if ((x->address == 0) != (y->address == 0))
        return x->address == 0 ? 1 : -1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x > y) - (x < y);
}

static bool meet(struct clr_path_search *search, uint32_t number, uint32_t next, uint64_t edge)
{
    uint64_t place;
    if (clr_map_get(&search->places, (uint64_t)number + 1, &place))
        return true;
    if (!clr_grow(&search->queue, search->tail, &search->room, sizeof *search->queue) ||
        !clr_map_put(&search->places, (uint64_t)number + 1, search->tail))
        return false;
    search->queue[search->tail++] = (struct met){number, next, edge};
    return true;
}

/* The roots of the object at HEAD. */
static void find_roots(struct clr_path_search *search)
{
    const struct clr_root *rows = search->dump->roots->rows;
    uint32_t number = search->queue[search->head].number;
    size_t low = 0, high = search->root_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows[search->roots[middle]].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    search->root_at = low;
    while (low < search->root_count && rows[search->roots[low]].number == number)
        low++;
    search->root_end = low;
}

enum clr_status clr_path_search_start(const struct clr_dump *dump, uint32_t number,
                                      struct clr_path_search **out, struct clr_error *error)
{
    const struct clr_roots *roots = dump->roots;
    struct clr_path_search *search = clr_alloc(1, sizeof *search);
    *out = NULL;
    if (!search)
        return no_memory(error);
    search->dump = dump;
    search->second = clr_reach_second(&dump->reach, number);
    if (!(search->roots = clr_alloc(roots->count, sizeof *search->roots)) ||
        (clr_reach_distance(&dump->reach, number) != CLR_UNREACHED &&
         !meet(search, number, 0, CLR_NO_UNIT))) {
        clr_path_search_end(search);
        return no_memory(error);
    }
    for (size_t i = 0; i < roots->count; i++)
        if (roots->rows[i].is_conservative == search->second)
            search->roots[search->root_count++] = (uint32_t)i;
    if (search->root_count)
        qsort_r(search->roots, search->root_count, sizeof *search->roots, by_object,
                (void *)(uintptr_t)roots);
    if (search->tail)
        find_roots(search);
    *out = search;
    return CLR_OK;
}

void clr_path_search_end(struct clr_path_search *search)
{
    if (!search)
        return;
    clr_free(search->queue);
    clr_free(search->roots);
    clr_map_deinit(&search->places);
    clr_free(search);
}

static bool is_static_array(const struct clr_roots *roots, uint32_t number)
{
    size_t low = 0, high = roots->static_array_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (roots->static_arrays[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < roots->static_array_count && roots->static_arrays[low] == number;
}

static bool is_dead(const struct clr_ref_map *map, uint32_t number)
{
    struct clr_object object;
    return map->has_unswept && clr_object_read(map->heap, number, &object) &&
           clr_ref_is_dead(map, &object);
}

/* Puts the sources of all edges to the object at HEAD at the end of the queue. */
static enum clr_status expand(struct clr_path_search *search, struct clr_job *job,
                              struct clr_error *error)
{
    const struct clr_dump *dump = search->dump;
    struct clr_link_scan scan;
    struct clr_ref ref;
    clr_link_scan_start(&scan, dump->links, search->queue[search->head].number);
    for (uint32_t steps = 1; clr_link_scan_next(&scan, &ref); steps++) {
        uint64_t edge;
        bool in_object = ref.kind == CLR_REF_MEMBER || ref.kind == CLR_REF_ELEMENT;
        if (steps % POLL_EDGES == 0)
            CLR_TRY(clr_job_poll(job, "searching for roots", search->head, search->tail, error));
        if (clr_reach_distance(&dump->reach, ref.source_number) == CLR_UNREACHED ||
            clr_reach_second(&dump->reach, ref.source_number) != search->second ||
            (in_object && is_static_array(dump->roots, ref.source_number)) ||
            is_dead(dump->refs, ref.source_number))
            continue;
        if (ref.kind == CLR_REF_DEPENDENT)
            edge = clr_units(dump->heap) + clr_dependent_index(dump->refs, &ref);
        else
            edge = clr_unit(dump->heap, in_object ? ref.address : ref.source);
        if (!meet(search, ref.source_number, (uint32_t)search->head, edge))
            return no_memory(error);
    }
    return clr_job_poll(job, "searching for roots", search->head, search->tail, error);
}

static enum clr_status give(const struct clr_path_search *search, uint32_t root,
                            struct clr_object_path *path, struct clr_error *error)
{
    const struct met *met = &search->queue[search->head];
    size_t room = 0;
    *path = (struct clr_object_path){.root = root};
    if (!append(path, &room, met->number, CLR_NO_UNIT))
        return no_memory(error); /* nothing was allocated */
    for (; met->edge != CLR_NO_UNIT; met = &search->queue[met->next])
        if (!append(path, &room, search->queue[met->next].number, met->edge)) {
            clr_object_path_deinit(path);
            return no_memory(error);
        }
    return CLR_OK;
}

enum clr_status clr_path_search_next(struct clr_path_search *search, struct clr_job *job,
                                     struct clr_object_path *path, bool *found,
                                     struct clr_error *error)
{
    *found = false;
    *path = (struct clr_object_path){0};
    while (search->head < search->tail) {
        if (search->root_at < search->root_end) {
            *found = true;
            return give(search, search->roots[search->root_at++], path, error);
        }
        CLR_TRY(expand(search, job, error));
        if (++search->head < search->tail)
            find_roots(search);
    }
    return CLR_OK;
}
