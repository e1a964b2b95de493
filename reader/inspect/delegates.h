/*
 * Delegates: what is called, and on which object.
 */
#ifndef CLR_INSPECT_DELEGATES_H
#define CLR_INSPECT_DELEGATES_H

#include "dump/dump.h"

struct clr_delegate_layout { /* offsets from the object's address; CLR_ABSENT */
    uint64_t target, method_ptr, method_aux, list, extra;
};
/* *KNOWN is false if delegates have none of the fields that are known. */
enum clr_status clr_delegate_layout(struct clr_dump *dump, struct clr_delegate_layout *layout,
                                    bool *known, struct clr_error *error);

/* One entry of a delegate's invocation list; of a simple delegate the only one. */
struct clr_delegate_entry {
    uint64_t delegate; /* the simple delegate that the entry is */
    uint64_t target;   /* the object that it is closed over; 0: null, or none */
    bool is_open;      /* no target: a static method, or the first argument is the instance */
    uint64_t method;   /* MethodDesc; 0: not known */
};

/* How many entries the delegate at OBJECT has: one, or those of its list. What the list holds is
 * bounded by the array that it is in. */
uint32_t clr_delegate_count(const struct clr_runtime *runtime,
                            const struct clr_delegate_layout *layout, uint64_t object);
/* Entry INDEX (< count); false if its bytes are not saved. */
enum clr_status clr_delegate_entry(struct clr_runtime *runtime,
                                   const struct clr_delegate_layout *layout, uint64_t object,
                                   uint32_t index, bool *found, struct clr_delegate_entry *entry,
                                   struct clr_error *error);

#endif
