/*
 * Private to reader/heap: a walker's eyes, and how it finds the next object after damage.
 */
#ifndef CLR_HEAP_RESYNC_H
#define CLR_HEAP_RESYNC_H

#include "heap/internal.h"
#include "runtime/gcdesc.h"

/* Unformatted memory of an allocation context. */
struct clr_gap {
    uint64_t start, end;
};

/* What one thread walks with. */
struct clr_walker {
    struct clr_heap *heap;
    struct clr_shape_table certain; /* objects that are certainly there */
    struct clr_shape_table guessed; /* of the piece being walked, if where it begins was guessed */
    struct clr_shape_table *table;  /* the one of these in use */
    const struct clr_segment *segment;
    uint64_t alignment;
    const uint8_t *bytes; /* saved memory [from, to) */
    uint64_t from, to;
    const struct clr_index_range *range; /* that holds it */
    struct clr_slot_pool slots;
    uint64_t measured;       /* calls of clr_walker_measure: what the search has cost */
    struct clr_error *error; /* where the current call's failure goes */
};

enum clr_status clr_walker_init(struct clr_walker *walker, struct clr_heap *heap,
                                struct clr_error *error);
void clr_walker_deinit(struct clr_walker *walker);
/* Turns to a segment (another piece of it counts). */
void clr_walker_enter(struct clr_walker *walker, struct clr_shape_table *table,
                      const struct clr_segment *segment);
/* Makes walker->bytes hold NEED bytes from ADDRESS on, in one view; false if they are not there.
 */
bool clr_walker_look(struct clr_walker *walker, uint64_t address, uint64_t need);

enum clr_measured_what {
    CLR_MEASURED_OBJECT,
    CLR_MEASURED_UNSAVED,  /* its header is not (all) saved */
    CLR_MEASURED_NO_TYPE,  /* its first word is no MethodTable */
    CLR_MEASURED_TOO_LONG, /* it would end behind LIMIT */
};
struct clr_measured {
    enum clr_measured_what what;
    uint64_t word; /* the MethodTable word as it is */
    uint64_t raw;  /* size before it is rounded up */
    uint64_t size;
    struct clr_shape *shape; /* valid until the next call */
};
/* What is at ADDRESS, if an object is. Fails only for want of memory. */
enum clr_status clr_walker_measure(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                   struct clr_measured *object);

/* Whether the word of what is no object for us can be a MethodTable that is not saved: the process
 * has memory around there, and the dump has not. */
bool clr_walker_type_unsaved(const struct clr_walker *walker, uint64_t address,
                             const struct clr_measured *object);

/* Whether sizes lead from ADDRESS over several objects, or to LIMIT, or out of saved memory. */
enum clr_status clr_resync_chain(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                 bool *holds);

/* Whether to go on at ADDRESS after something was lost before it. */
enum clr_status clr_resync_accept(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                  bool *accepted);

#endif
