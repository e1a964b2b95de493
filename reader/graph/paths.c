/*
 * The shortest path is kept by the search for what is reachable: each object knows the edge that led
 * to it, so a path is a walk up.
 *
 * Other roots are found by a search backwards from the object, breadth first over the reverse
 * graph. It stays in the object's part: what only conservative roots reach does not count for an
 * object that a precise root reaches. An edge that is not in the graph (from an array of statics)
 * is passed over. The first path to an object is a shortest; of several the one whose slot comes
 * first.
 */
#include "graph/paths.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

enum { POLL_EDGES = 1 << 12 };

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

uint32_t clr_path_source(const struct clr_ref_map *map, uint64_t edge)
{
    uint64_t units = clr_units(map->heap);
    return edge < units ? clr_unit_owner(map->heap, edge) : map->dependents[edge - units].source;
}

enum clr_status clr_path_shortest(const struct clr_ref_map *map, const struct clr_reach *reach,
                                  uint32_t number, struct clr_object_path *path,
                                  struct clr_error *error)
{
    uint32_t distance = clr_reach_distance(reach, number);
    *path = (struct clr_object_path){0};
    if (distance == CLR_UNREACHED)
        return CLR_OK;
    path->count = (size_t)distance + 1;
    path->hops = clr_alloc(path->count, sizeof *path->hops);
    if (!path->hops) {
        path->count = 0;
        return clr_no_memory(error);
    }
    for (size_t hop = distance; hop > 0; hop--) {
        uint64_t edge = clr_wide_get(&reach->parent, number);
        path->hops[hop] = (struct clr_hop){number, edge};
        number = clr_path_source(map, edge);
    }
    path->hops[0] = (struct clr_hop){number, CLR_NO_UNIT};
    path->root = (uint32_t)clr_wide_get(&reach->parent, number);
    return CLR_OK;
}

/* --- Several roots --------------------------------------------------------------------------- */

/* An object that the search has reached: the edge towards the one it came from. */
struct reached {
    uint32_t number;
    uint32_t next; /* place of the object that the edge leads to; its own for the first */
    uint64_t edge;
};

struct clr_path_search {
    const struct clr_links *links;
    const struct clr_reach *reach;
    const struct clr_roots *graph_roots;
    struct reached *queue;
    size_t head, tail, room;
    struct clr_map places;    /* number + 1 -> place in the queue */
    size_t root_at, root_end; /* roots of the object at HEAD that are still to be given */
    uint32_t counted;         /* roots that clr_path_search_count has passed */
    bool second;
};

static bool add_reached(struct clr_path_search *search, uint32_t number, uint32_t next,
                        uint64_t edge)
{
    uint64_t place;
    if (clr_map_get(&search->places, (uint64_t)number + 1, &place))
        return true;
    if (!clr_grow(&search->queue, search->tail, &search->room, sizeof *search->queue) ||
        !clr_map_put(&search->places, (uint64_t)number + 1, search->tail))
        return false;
    search->queue[search->tail++] = (struct reached){number, next, edge};
    return true;
}

/* The roots of the object at HEAD. */
static void find_roots(struct clr_path_search *search)
{
    const struct clr_roots *roots = search->graph_roots;
    uint32_t number = search->queue[search->head].number;
    size_t i;
    CLR_SEARCH(i, 0, roots->count, roots->rows[roots->by_object[i]].number < number);
    search->root_at = i;
    while (i < roots->count && roots->rows[roots->by_object[i]].number == number)
        i++;
    search->root_end = i;
}

/* The next root of the object at HEAD that counts in the search's part; false: there are no more. */
static bool next_root(struct clr_path_search *search, uint32_t *root)
{
    const struct clr_roots *roots = search->graph_roots;
    while (search->root_at < search->root_end) {
        *root = roots->by_object[search->root_at++];
        if (roots->rows[*root].is_conservative == search->second)
            return true;
    }
    return false;
}

enum clr_status clr_path_search_start(const struct clr_links *links, const struct clr_reach *reach,
                                      const struct clr_roots *roots, uint32_t number,
                                      struct clr_path_search **out, struct clr_error *error)
{
    struct clr_path_search *search = clr_alloc(1, sizeof *search);
    *out = NULL;
    if (!search)
        return clr_no_memory(error);
    search->links = links;
    search->reach = reach;
    search->graph_roots = roots;
    search->second = clr_reach_second(reach, number);
    if (clr_reach_distance(reach, number) != CLR_UNREACHED &&
        !add_reached(search, number, 0, CLR_NO_UNIT)) {
        clr_path_search_end(search);
        return clr_no_memory(error);
    }
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
    clr_map_deinit(&search->places);
    clr_free(search);
}

static bool is_static_array(const struct clr_roots *roots, uint32_t number)
{
    size_t i;
    CLR_SEARCH(i, 0, roots->static_array_count, roots->static_arrays[i] < number);
    return i < roots->static_array_count && roots->static_arrays[i] == number;
}

static bool is_dead(const struct clr_ref_map *map, uint32_t number)
{
    struct clr_object object;
    return clr_object_read(map->heap, number, &object) && clr_ref_is_dead(map, &object);
}

bool clr_path_follows(const struct clr_ref_map *map, const struct clr_reach *reach,
                      const struct clr_roots *roots, const struct clr_ref *ref, uint32_t target)
{
    bool in_object = ref->kind == CLR_REF_MEMBER || ref->kind == CLR_REF_ELEMENT;
    return clr_reach_distance(reach, ref->source_number) != CLR_UNREACHED &&
           clr_reach_second(reach, ref->source_number) == clr_reach_second(reach, target) &&
           !(in_object && is_static_array(roots, ref->source_number)) &&
           !(map->has_unswept && is_dead(map, ref->source_number));
}

/* Puts the sources of all edges to the object at HEAD at the end of the queue. */
static enum clr_status expand(struct clr_path_search *search, struct clr_job *job,
                              struct clr_error *error)
{
    const struct clr_ref_map *map = search->links->map;
    struct clr_link_scan scan;
    struct clr_ref ref;
    clr_link_scan_start(&scan, search->links, search->queue[search->head].number);
    for (uint32_t steps = 1; clr_link_scan_next(&scan, &ref); steps++) {
        uint64_t edge;
        bool in_object = ref.kind == CLR_REF_MEMBER || ref.kind == CLR_REF_ELEMENT;
        if (steps % POLL_EDGES == 0)
            CLR_TRY(clr_job_poll(job, "searching for roots", search->head, search->tail, error));
        if (!clr_path_follows(map, search->reach, search->graph_roots, &ref,
                              search->queue[search->head].number))
            continue;
        if (ref.kind == CLR_REF_DEPENDENT)
            edge = clr_units(map->heap) + clr_dependent_index(map, &ref);
        else
            edge = clr_unit(map->heap, in_object ? ref.address : ref.source);
        if (!add_reached(search, ref.source_number, (uint32_t)search->head, edge))
            return clr_no_memory(error);
    }
    return clr_job_poll(job, "searching for roots", search->head, search->tail, error);
}

static enum clr_status give(const struct clr_path_search *search, uint32_t root,
                            struct clr_object_path *path, struct clr_error *error)
{
    const struct reached *reached = &search->queue[search->head];
    size_t room = 0;
    *path = (struct clr_object_path){.root = root};
    if (!append(path, &room, reached->number, CLR_NO_UNIT))
        return clr_no_memory(error); /* nothing was allocated */
    for (; reached->edge != CLR_NO_UNIT; reached = &search->queue[reached->next])
        if (!append(path, &room, search->queue[reached->next].number, reached->edge)) {
            clr_object_path_deinit(path);
            return clr_no_memory(error);
        }
    return CLR_OK;
}

enum clr_status clr_path_search_count(struct clr_path_search *search, uint32_t most_objects,
                                      uint32_t most, struct clr_job *job, uint32_t *count,
                                      struct clr_error *error)
{
    size_t end = search->head + most_objects;
    while (search->head < search->tail) {
        for (uint32_t root; next_root(search, &root);)
            search->counted++;
        if (search->counted >= most || search->head >= end)
            break;
        CLR_TRY(expand(search, job, error));
        if (++search->head < search->tail)
            find_roots(search);
    }
    *count = search->counted < most ? search->counted : most;
    return CLR_OK;
}

enum clr_status clr_path_search_next(struct clr_path_search *search, struct clr_job *job,
                                     struct clr_object_path *path, bool *found,
                                     struct clr_error *error)
{
    *found = false;
    *path = (struct clr_object_path){0};
    while (search->head < search->tail) {
        uint32_t root;
        if (next_root(search, &root)) {
            *found = true;
            return give(search, root, path, error);
        }
        CLR_TRY(expand(search, job, error));
        if (++search->head < search->tail)
            find_roots(search);
    }
    return CLR_OK;
}
