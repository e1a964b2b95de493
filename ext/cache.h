/*
 * What the tables keep with a dump: orders and small indexes over lists that the reader gives, made
 * on first use and never changed after. Rows are numbers in the reader's own array.
 *
 * The cache is kept with the dump (clr_dump_keep).
 */
#ifndef CLR_CACHE_H
#define CLR_CACHE_H

#include "graph/typestats.h"
#include "inspect/pathtree.h"
#include "lookup.h"
#include "table.h"

#include "runtime/types.h"

struct clr_cache {
    struct clr_lookup shape_types, shape_names; /* rows: clr_heap_shapes */
    struct clr_path_tree *path_tree;
    struct clr_lookup tree_parents, tree_paths; /* rows: its nodes */
    const char **shape_name;                    /* per shape; NULL: not asked for yet */
    size_t shape_count;
    struct clr_type *types; /* that were read; TYPE_NUMBERS: address -> number */
    size_t type_count, type_room;
    struct clr_map type_numbers;
};

clr_kept_free clr_cache_destroy;
enum clr_status clr_cache(struct clr_dump *dump, struct clr_cache **cache, struct clr_error *error);
/* The cache if it has been made. */
static inline struct clr_cache *clr_cache_made(const struct clr_dump *dump)
{
    return clr_dump_kept(dump, clr_cache_destroy);
}

/* Fails with what made a part of the dump unavailable, if that was a failure: for tables that are an error
 * then, never empty. */
enum clr_status clr_refuse(const struct clr_error *reason, struct clr_error *error);

/* For tables that list what there is: builds PARTS if it can. Where the dump or runtime does not
 * allow it, *HAVE is false, `problems` has the reason, and the call succeeds. */
enum clr_status clr_try_need(struct clr_dump *dump, unsigned parts, struct clr_job *job, bool *have,
                             struct clr_error *error);

/* clr_type_read, but each type is read once: a join of objects and types asks for one an object. */
bool clr_type_known(struct clr_dump *dump, uint64_t address, struct clr_type *type);

/* Shapes that type_stats shows (Free, and those with objects), by type and by name; needs INDEX. */
enum clr_status clr_shapes_by_type(struct clr_dump *dump, const struct clr_lookup **index,
                                   struct clr_error *error);
enum clr_status clr_shapes_by_name(struct clr_dump *dump, struct clr_job *job,
                                   const struct clr_lookup **index, struct clr_error *error);
/* The name of a shape's type, looked up once; lives with the dump. NULL: no memory. */
const char *clr_shape_name(struct clr_dump *dump, uint32_t shape);

#endif
