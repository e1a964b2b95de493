/*
 * Private to gc.c and gcsegments.c: the GC's structures being read.
 */
#ifndef CLR_RUNTIME_GCOPEN_H
#define CLR_RUNTIME_GCOPEN_H

#include "base/map.h"
#include "runtime/gc.h"

enum { CLR_GENERATIONS = 5 }; /* 0, 1, 2, LOH, POH: places in the table of generations */

struct clr_gc_opening {
    const struct clr_runtime *runtime;
    const struct clr_gc_layout *layout;
    struct clr_problems *problems;
    struct clr_error *error;
    struct clr_gc *gc;
    struct clr_map seen; /* HeapSegments that were read */
    size_t segment_room, context_room;
};

/* Whether the running flavour of the GC has this variable. */
static inline bool clr_gc_given(uint64_t variable)
{
    return clr_has(variable) && variable != 0;
}

/* Follows the list of segments of generation NUMBER of a heap. */
enum clr_status clr_gc_read_list(struct clr_gc_opening *opening, uint32_t heap, uint32_t number);
/* Sorts the segments and refuses those that reach into the one before. */
void clr_gc_order_segments(struct clr_gc_opening *opening);
/* Where unformatted memory lies: the contexts of threads, the global one, those of generation 0. */
enum clr_status clr_gc_read_contexts(struct clr_gc_opening *opening);

#endif
