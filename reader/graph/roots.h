/*
 * Roots: what a garbage collection would mark from, one row a slot.
 *
 * Every reference static and thread static is a root of its own. The runtime keeps them in arrays;
 * an array that holds such slots keeps nothing alive in the graph: its other slots are roots too.
 */
#ifndef CLR_GRAPH_ROOTS_H
#define CLR_GRAPH_ROOTS_H

#include "heap/heap.h"
#include "graph/reach.h"
#include "runtime/handles.h"
#include "runtime/statics.h"
#include "runtime/thread.h"

enum clr_root_kind {
    CLR_ROOT_STATIC,
    CLR_ROOT_THREAD_STATIC,
    CLR_ROOT_STACK,
    CLR_ROOT_FINALIZER,
    CLR_ROOT_EXCEPTION,
    CLR_ROOT_GC_FRAME,
    CLR_ROOT_FROZEN,
    CLR_ROOT_HANDLE, /* + enum clr_handle_kind */
};
const char *clr_root_kind_text(enum clr_root_kind kind); /* as in schema.md */

/* What a root's name is made of when a row asks for it. */
enum clr_root_naming {
    CLR_NAMED_BY_KIND,    /* handles and queues: the kind's text */
    CLR_NAMED_BY_FIELD,   /* type and field */
    CLR_NAMED_BY_ELEMENT, /* an array of statics, and the number of its slot */
    CLR_NAMED_THREAD_DATA,
    CLR_NOT_NAMED,
};

struct clr_root {
    enum clr_root_kind kind;
    enum clr_root_naming naming;
    uint64_t address; /* of the slot; 0: a register, or a frozen object */
    uint64_t object;
    uint32_t number;      /* of the object */
    uint64_t thread;      /* managed thread, 0 if none */
    uint64_t type;        /* BY_FIELD: the type, exact; BY_ELEMENT: the array */
    uint64_t field;       /* BY_FIELD: FieldDesc; BY_ELEMENT: number of the slot */
    const char *location; /* a register's name, else NULL */
    bool is_interior, is_pinned, is_conservative;
};

struct clr_roots {
    struct clr_root *rows; /* the row's number is its id */
    size_t count, room;
    uint32_t *static_arrays; /* numbers, ascending: their edges are not in the graph */
    size_t static_array_count, static_array_room;
    /* For the search: what precise roots hold, and what conservative ones do; by slot address,
     * those without one last. */
    struct clr_root_object *precise, *conservative;
    size_t precise_count, conservative_count;
    uint32_t *by_object; /* ids of all rows, by the number of the object, then by slot address */
};

struct clr_root_sources {
    struct clr_runtime *runtime;
    struct clr_heap *heap;
    const struct clr_gc *gc;
    const struct clr_thread *threads;
    size_t thread_count;
    const struct clr_handle *handles;
    size_t handle_count;
    const struct clr_finalizable *finalizers;
    size_t finalizer_count;
    bool no_conservative;
    struct clr_problems *problems;
};

enum clr_status clr_roots_read(const struct clr_root_sources *sources, struct clr_job *job,
                               struct clr_roots **roots, struct clr_error *error);
void clr_roots_destroy(struct clr_roots *roots);

/* Appends the root's name: 'Zoo.Statics.PerThread', 'strong handle' …; nothing if it has none. */
void clr_root_name(struct clr_runtime *runtime, const struct clr_root *root, struct clr_text *text);

#endif
