/*
 * Paths from a root to an object.
 */
#ifndef CLR_GRAPH_PATHS_H
#define CLR_GRAPH_PATHS_H

#include "graph/links.h"
#include "graph/reach.h"
#include "graph/roots.h"

/* One step: the object, and the edge that leads to it from the object before (none at hop 0). */
struct clr_hop {
    uint32_t number;
    uint64_t edge; /* id as in forward.h; CLR_NO_UNIT at hop 0 */
};

struct clr_object_path {
    struct clr_hop *hops; /* from what a root holds to the object */
    size_t count;
    uint32_t root; /* id */
};
void clr_object_path_deinit(struct clr_object_path *path);

/* The shortest path to object NUMBER by the search that REACH keeps; count 0 if it is not reachable.
 */
enum clr_status clr_path_shortest(const struct clr_ref_map *map, const struct clr_reach *reach,
                                  uint32_t number, struct clr_object_path *path,
                                  struct clr_error *error);

/* Paths from several roots, shortest first: a search backwards that finds a root's objects in the
 * order of their distance. Each root gives one path, its shortest. */
struct clr_path_search;
enum clr_status clr_path_search_start(const struct clr_links *links, const struct clr_reach *reach,
                                      const struct clr_roots *roots, uint32_t number,
                                      struct clr_path_search **search, struct clr_error *error);
/* *FOUND false: there are no more roots. */
enum clr_status clr_path_search_next(struct clr_path_search *search, struct clr_job *job,
                                     struct clr_object_path *path, bool *found,
                                     struct clr_error *error);
/* Goes on with the search over MOST_OBJECTS more objects (0: the object itself), until MOST roots were
 * found or there are no more: *COUNT is how many, from the start on. For searches that give no paths. */
enum clr_status clr_path_search_count(struct clr_path_search *search, uint32_t most_objects,
                                      uint32_t most, struct clr_job *job, uint32_t *count,
                                      struct clr_error *error);
/* Whether a search backwards in TARGET's part of the graph follows REF. */
bool clr_path_follows(const struct clr_ref_map *map, const struct clr_reach *reach,
                      const struct clr_roots *roots, const struct clr_ref *ref, uint32_t target);
/* The object that an edge starts from. */
uint32_t clr_path_source(const struct clr_ref_map *map, uint64_t edge);
void clr_path_search_end(struct clr_path_search *search);

#endif
