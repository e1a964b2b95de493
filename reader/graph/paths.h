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
void clr_path_search_end(struct clr_path_search *search);

#endif
