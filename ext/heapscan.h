/*
 * A cursor over the objects on the heap whose type derives from a given one: what delegates and
 * exceptions are listed by.
 */
#ifndef CLR_HEAPSCAN_H
#define CLR_HEAPSCAN_H

#include "cache.h"

struct clr_derived_scan {
    struct clr_dump *dump;
    uint64_t base;    /* MethodTable */
    uint8_t *derives; /* per shape: 0 not asked yet, 1 no, 2 yes */
    struct clr_object_scan scan;
    struct clr_object object; /* the current one */
    uint64_t seen;            /* objects looked at, for progress */
};

/* All objects in address order; FIRST, if not 0: that object alone. Zero SCAN before first use. */
enum clr_status clr_derived_start(struct clr_derived_scan *scan, struct clr_dump *dump,
                                  uint64_t base, bool one, uint64_t address, bool descending,
                                  struct clr_error *error);
/* *FOUND: the next one is in scan->object. */
enum clr_status clr_derived_next(struct clr_derived_scan *scan, struct clr_job *job, bool *found,
                                 struct clr_error *error);
void clr_derived_finish(struct clr_derived_scan *scan);

#endif
