/*
 * clr_dump = process + the chosen runtime + the heap + what has been built so far + problems.
 * Belongs to one connection.
 *
 * Parts are bits, not stages: what a query needs is built on first use, once, and kept.
 */
#ifndef CLR_DUMP_DUMP_H
#define CLR_DUMP_DUMP_H

#include "base/array.h"
#include "core/process.h"
#include "graph/dominators.h"
#include "graph/domtree.h"
#include "heap/heap.h"
#include "graph/links.h"
#include "graph/reach.h"
#include "graph/refs.h"
#include "graph/roots.h"
#include "runtime/gc.h"
#include "runtime/runtime.h"
#include "runtime/thread.h"

enum clr_part_bit {
    CLR_OPEN = 0,
    CLR_PART_RUNTIME = 1,     /* a runtime was found and its contracts are bound */
    CLR_PART_GC = 2,          /* heaps and segments are read */
    CLR_PART_INDEX = 4,       /* the walk: object index, statistics, problems, list of all types */
    CLR_PART_POSTINGS = 8,    /* objects by type */
    CLR_PART_REVERSE = 16,    /* slots by target */
    CLR_PART_REACH = 32,      /* distance from a root, and the edge that leads there */
    CLR_PART_DOMINATORS = 64, /* dominators and retained sizes */
    CLR_PART_HANDLES = 128,   /* handles and finalizer queues */
    CLR_PART_REFS = 256,      /* GCDescs decoded, edges outside of objects */
    CLR_PART_ROOTS = 512,
    CLR_PART_DOMINATED = 1024, /* the dominator tree downwards */
};

/* What a layer above keeps with the dump. It is known by the function that frees it. */
typedef void clr_kept_free(void *data);
struct clr_kept {
    clr_kept_free *free;
    void *data;
};

struct clr_dump {
    struct clr_process *process;
    struct clr_runtime *runtime;
    struct clr_problems *problems;
    struct clr_options options;
    struct clr_thread *threads;
    size_t thread_count;
    struct clr_gc *gc;
    struct clr_heap *heap;
    struct clr_handle *handles; /* HANDLES */
    size_t handle_count;
    struct clr_finalizable *finalizers;
    size_t finalizer_count;
    struct clr_ref_map *refs;                    /* REFS */
    struct clr_links *links;                     /* REVERSE */
    struct clr_roots *roots;                     /* ROOTS */
    struct clr_reach reach;                      /* REACH */
    struct clr_dominators dominators;            /* DOMINATORS */
    struct clr_dominated dominated;              /* DOMINATED */
    struct clr_map invalid;                      /* slots of refs that were reported */
    CLR_ARRAY(struct clr_invalid_ref) undecided; /* see clr_dump_invalid_ref */
    bool refs_read;                  /* all references were looked at: none is missing unsaid */
    CLR_ARRAY(struct clr_kept) kept; /* see clr_dump_keep */
    uint64_t *module_types;          /* clr_dump_types without a heap; NULL: not asked for */
    size_t module_type_count;
    unsigned built;                             /* parts */
    struct clr_error no_runtime, no_gc;         /* why, when these could not be opened */
    struct clr_error no_threads;                /* the same; THREADS is then empty */
    struct clr_error no_handles, no_finalizers; /* the same, once HANDLES is built */
};

/* Opens the process and its runtime. A core without .NET is an error; a core whose runtime cannot
 * be served opens, and tables of the runtime say why. Takes over OPTIONS' memory on success. */
enum clr_status clr_dump_open(const char *path, struct clr_options *options, struct clr_job *job,
                              struct clr_dump **dump, struct clr_error *error);
void clr_dump_close(struct clr_dump *dump);

/* What is kept under FREE; NULL: nothing yet. */
void *clr_dump_kept(const struct clr_dump *dump, clr_kept_free *free);
/* The same; SIZE zeroed bytes on first use. FREE gets them when the dump is closed, the newest
 * first and before all that the dump has. */
enum clr_status clr_dump_keep(struct clr_dump *dump, clr_kept_free *free, size_t size, void *data,
                              struct clr_error *error);

/* Builds the PARTS that are missing, with those that they need, in order. A cancelled or failed build
 * leaves nothing behind and can be tried again. JOB may be NULL; threads of 0 become clr_threads of the
 * options. */
enum clr_status clr_dump_need(struct clr_dump *dump, unsigned parts, struct clr_job *job,
                              struct clr_error *error);

/* All types; sorted, live with the dump. Walks the heap; where the dump does not have it, the list
 * is that of the modules alone, and a problem says so. */
enum clr_status clr_dump_types(struct clr_dump *dump, struct clr_job *job, const uint64_t **types,
                               size_t *count, struct clr_error *error);

/* Whether ADDRESS is in that list. It is made, and the heap walked, only where neither the modules' tables
 * nor the words at ADDRESS tell. */
enum clr_status clr_dump_has_type(struct clr_dump *dump, struct clr_job *job, uint64_t address,
                                  bool *has, struct clr_error *error);

/* Reports a slot that holds no object, or bytes of an object that are not saved (VALUE 0): once a
 * slot, however often it is met. What a slot means depends on its object: nothing must be wrong with
 * those of dead objects, whose targets a GC may have swept. So slots wait until
 * clr_dump_settle_refs. Connection's thread. */
void clr_dump_invalid_ref(struct clr_dump *dump, uint64_t slot, uint64_t value, uint64_t length);
/* Makes problems of the slots that wait: an error if its object is reachable or might be, else info.
 * Builds reachability if there are any. Call it before looking at the dump's problems. */
enum clr_status clr_dump_settle_refs(struct clr_dump *dump, struct clr_job *job,
                                     struct clr_error *error);

#endif
