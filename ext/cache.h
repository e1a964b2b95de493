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
#include "table.h"

#include "runtime/types.h"

/* Entries sorted by key (as SQLite sorts: signed), then by row. */
struct clr_lookup_entry {
    int64_t key;
    uint32_t row;
};
struct clr_lookup {
    struct clr_lookup_entry *entries;
    size_t count, room;
    bool built;
};

bool clr_lookup_add(struct clr_lookup *index, uint64_t key, uint32_t row); /* false: no memory */
void clr_lookup_sort(struct clr_lookup *index);
/* The first entry with KEY or a greater one; index->count if there is none. */
size_t clr_lookup_find(const struct clr_lookup *index, int64_t key);
/* The entries with KEY: the first, and how many. */
void clr_lookup_range(const struct clr_lookup *index, int64_t key, size_t *first, size_t *count);
void clr_lookup_deinit(struct clr_lookup *index);
/* A key for texts: the hash of a name. Texts of one key need not be equal: SQLite checks again. */
uint64_t clr_text_key(const char *text, size_t length);

struct clr_line_cache;

struct clr_cache {
    struct clr_lookup regions, images, segments, threads; /* by the table's key */
    struct clr_code_section *sections; /* of tables/memory.c, once SECTIONS_READ */
    size_t section_count;
    bool sections_read;
    struct clr_lookup stack_pointers; /* of OS threads; row: its number */
    struct clr_lookup type_names, type_modules, type_parents, supertypes; /* rows: clr_heap_types */
    struct clr_lookup shape_types, shape_names;          /* rows: clr_heap_shapes */
    struct clr_lookup handle_objects, finalizer_objects; /* rows: clr_dump.handles, .finalizers */
    struct clr_lookup root_objects, root_threads;        /* rows: clr_dump.roots */
    struct clr_alive *alive;                             /* by shape; NULL: not added up yet */
    uint64_t *retained;                                  /* by shape; the same */
    struct clr_path_tree *path_tree;
    struct clr_lookup tree_parents, tree_paths;     /* rows: its nodes */
    struct clr_lookup method_types, method_modules; /* rows: methods */
    uint64_t *methods; /* all of them, ascending; see tables/methods.c */
    size_t method_count, method_room;
    bool methods_built;
    struct clr_line_cache *lines;     /* lines.c */
    struct clr_lookup static_objects; /* rows: static_rows */
    void *static_rows;                /* of tables/statics.c */
    const char **shape_name;          /* per shape; NULL: not asked for yet */
    size_t shape_count;
    struct clr_map told;    /* see clr_first_time */
    struct clr_type *types; /* that were read; TYPE_NUMBERS: address -> number */
    size_t type_count, type_room;
    struct clr_map type_numbers;
};

void clr_line_cache_destroy(struct clr_line_cache *cache); /* lines.c; NULL is fine */

clr_kept_free clr_cache_destroy;
enum clr_status clr_cache(struct clr_dump *dump, struct clr_cache **cache, struct clr_error *error);
/* The cache if it has been made: for count() and key() of array tables, whose load() makes it. */
static inline const struct clr_cache *clr_cache_made(const struct clr_dump *dump)
{
    return clr_dump_kept(dump, clr_cache_destroy);
}

/* Whether KEY (an address, or one byte further for a second thing about it) is asked for the first
 * time: what a table cannot read is one problem, however often the row is read. */
bool clr_first_time(struct clr_dump *dump, uint64_t key);

/* For tables that list what there is: builds PARTS if it can. Where the dump or runtime does not
 * allow it, *HAVE is false, `problems` has the reason, and the call succeeds. */
enum clr_status clr_try_need(struct clr_dump *dump, unsigned parts, struct clr_job *job, bool *have,
                             struct clr_error *error);

/* clr_type_read, but each type is read once: a join of objects and types asks for one an object. */
bool clr_type_known(struct clr_dump *dump, uint64_t address, struct clr_type *type);

/* Whether ADDRESS is a type although its class, and so the proof, is not saved: one that the list
 * of all types has. The heap is walked for it only if nothing that is saved speaks against it. */
enum clr_status clr_type_listed(struct clr_dump *dump, struct clr_job *job, uint64_t address,
                                bool *listed, struct clr_error *error);

/* Makes cache.segments: the GC's segments by the address of their record; needs GC. */
enum clr_status clr_segments_by_address(struct clr_dump *dump, struct clr_error *error);

/* Shapes that type_stats shows (Free, and those with objects), by type and by name; needs INDEX. */
enum clr_status clr_shapes_by_type(struct clr_dump *dump, const struct clr_lookup **index,
                                   struct clr_error *error);
enum clr_status clr_shapes_by_name(struct clr_dump *dump, struct clr_job *job,
                                   const struct clr_lookup **index, struct clr_error *error);
/* The name of a shape's type, looked up once; lives with the dump. NULL: no memory. */
const char *clr_shape_name(struct clr_dump *dump, uint32_t shape);

#endif
