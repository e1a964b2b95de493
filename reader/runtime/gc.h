/*
 * The GC's own structures (contract GC): heaps, generations, segments, allocation contexts.
 */
#ifndef CLR_RUNTIME_GC_H
#define CLR_RUNTIME_GC_H

#include "runtime/runtime.h"

enum clr_segment_kind { CLR_SOH, CLR_LOH, CLR_POH, CLR_FROZEN };

struct clr_segment {
    uint64_t address;    /* of the GC's segment descriptor */
    uint64_t start, end; /* objects: [mem, allocated), the ephemeral end corrected */
    uint64_t committed, reserved;
    uint64_t flags, bg_allocated;
    uint32_t heap;
    enum clr_segment_kind kind;
    int8_t generation; /* 0-2, 3 LOH, 4 POH, 5 frozen; -1: several (see gen1_start, gen0_start) */
    bool has_contexts; /* allocation contexts can lie in it: gen0 */
    bool ephemeral;
    uint64_t gen1_start, gen0_start; /* when generation is -1: [start,gen1) is 2, [gen1,gen0) 1 */
};

struct clr_context { /* a hole: nothing formatted in [pointer, limit + minimum object) */
    uint64_t pointer, limit;
    uint64_t thread; /* 0: not a thread's */
};

struct clr_gc_heap {
    uint64_t address; /* 0 for workstation */
    uint64_t mark_array, next_sweep, bg_low, bg_high, alloc_allocated, ephemeral, finalize,
        generations, sweep_segment, sweep_start;
};

/* CurrentGCState. The runtime names the second planning; it is set when marking is over, so that
 * what runs beside the program's threads then is the sweep. */
enum clr_gc_state { CLR_GC_MARKING, CLR_GC_SWEEPING, CLR_GC_FREE };

struct clr_gc {
    bool server, regions, background;
    uint32_t heap_count;
    struct clr_gc_heap *heaps;
    struct clr_segment *segments; /* sorted by start; none overlap, all below 2^63 */
    size_t segment_count;
    struct clr_context *contexts; /* sorted by pointer, none empty */
    size_t context_count;
    bool in_progress;    /* structures are invalid: a GC was moving things */
    uint32_t state;      /* of a background GC: enum clr_gc_state */
    uint32_t oom_reason; /* of the last refused allocation, 0 if none */
    uint64_t oom_size;
};
const char *clr_oom_reason_text(uint32_t reason); /* NULL for none */

/* Reads all that; what is damaged is left out with a problem of area segments. *GC is destroyed with
 * clr_gc_close. CLR_FAULT if no heap can be read at all. */
enum clr_status clr_gc_open(const struct clr_runtime *runtime, struct clr_problems *problems,
                            struct clr_gc **gc, struct clr_error *error);
void clr_gc_close(struct clr_gc *gc);

/* The segment whose objects' range holds ADDRESS, or NULL. */
const struct clr_segment *clr_gc_segment_at(const struct clr_gc *gc, uint64_t address);
/* Generation of an object (Meaning 4), by its segment. */
int clr_segment_generation(const struct clr_segment *segment, uint64_t address);

/* Whether a background GC has already found the object dead and not yet swept it (Meaning 25): its
 * references may dangle. */
bool clr_gc_unswept_dead(const struct clr_gc *gc, const struct clr_runtime *runtime,
                         const struct clr_segment *segment, uint64_t address);

#endif
