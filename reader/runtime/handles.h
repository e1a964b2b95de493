/*
 * GC handles of every kind, and the finalizer queues.
 */
#ifndef CLR_RUNTIME_HANDLES_H
#define CLR_RUNTIME_HANDLES_H

#include "runtime/gc.h"

/* Numbers are the runtime's; what each means is a row in handles.c. */
enum clr_handle_kind {
    CLR_HANDLE_WEAK_SHORT,
    CLR_HANDLE_WEAK_LONG,
    CLR_HANDLE_STRONG,
    CLR_HANDLE_PINNED,
    CLR_HANDLE_VARIABLE,
    CLR_HANDLE_REF_COUNTED,
    CLR_HANDLE_DEPENDENT,
    CLR_HANDLE_ASYNC_PINNED,
    CLR_HANDLE_SIZED_REF,
    CLR_HANDLE_WEAK_WINRT,
    CLR_HANDLE_WEAK_INTERIOR,
    CLR_HANDLE_CROSS_REFERENCE,
    CLR_HANDLE_KINDS
};
const char *clr_handle_kind_text(unsigned kind); /* as in schema.md; NULL past the last */

struct clr_handle {
    uint64_t address;        /* of the slot */
    uint64_t object;         /* never 0: a slot that holds null looks like a free one */
    uint64_t secondary;      /* of a dependent handle: its value, 0 if none */
    uint64_t secondary_slot; /* where that is stored; 0 for other kinds */
    uint64_t user_data;      /* the block's extra word, 0 if the block has none */
    int64_t ref_count;       /* of a ref_counted handle, where it is known; else -1 */
    uint32_t heap;           /* slot of the table array: one a processor under server GC */
    uint8_t kind;
};

/* All handles, sorted by address; *LIST is freed with clr_free. Damaged tables are left out with a
 * problem of area handles. */
enum clr_status clr_handles_read(const struct clr_runtime *runtime, const struct clr_gc *gc,
                                 struct clr_problems *problems, struct clr_handle **list,
                                 size_t *count, struct clr_error *error);

/* The handle whose slot is at ADDRESS; NULL: none. */
const struct clr_handle *clr_handle_at(const struct clr_handle *list, size_t count,
                                       uint64_t address);

/* What a GC follows whatever else is alive: strong, pinned, async pinned, sized ref, and ref
 * counted ones. */
bool clr_handle_is_strong(unsigned kind);
bool clr_handle_is_pinned(unsigned kind); /* and its object does not move */
/* The same of one handle: a ref counted one whose count is known to be 0 holds nothing. */
bool clr_handle_holds(const struct clr_handle *handle);

struct clr_finalizable {
    uint64_t address; /* of the entry */
    uint64_t object;
    uint32_t heap;
    int8_t generation; /* as objects.generation; -1 for the ready lists */
    bool ready;        /* its finalizer is due: a root */
};

/* Both lists of every heap, sorted by address of the entry. */
enum clr_status clr_finalizers_read(const struct clr_runtime *runtime, const struct clr_gc *gc,
                                    struct clr_problems *problems, struct clr_finalizable **list,
                                    size_t *count, struct clr_error *error);

#endif
