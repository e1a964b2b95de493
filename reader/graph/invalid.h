/*
 * Slots that hold no object, and bytes of objects that are not saved: kept aside by the builds of
 * both directions, so that these agree.
 */
#ifndef CLR_GRAPH_INVALID_H
#define CLR_GRAPH_INVALID_H

#include "base/array.h"
#include "base/error.h"

/* A slot whose value is no object's address. Or, with value 0, LENGTH bytes of an object that are
 * not saved: their references are unknown. */
struct clr_invalid_ref {
    uint64_t slot, value, length;
};
struct clr_invalid_refs {
    CLR_ARRAY(struct clr_invalid_ref) rows;
    bool failed; /* memory ran out */
};

void clr_invalid_add(struct clr_invalid_refs *refs, uint64_t slot, uint64_t value, uint64_t length);
/* What COUNT pieces of a build found, put together in the order of slots; theirs are freed. */
enum clr_status clr_invalid_gather(struct clr_invalid_refs *pieces, size_t count,
                                   struct clr_invalid_refs *all, struct clr_error *error);

#endif
