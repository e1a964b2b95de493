/*
 * Exceptions: their fields, and the stack trace that they carry.
 */
#ifndef CLR_INSPECT_EXCEPTIONS_H
#define CLR_INSPECT_EXCEPTIONS_H

#include "dump/dump.h"

struct clr_exception {
    uint64_t object, message; /* the string, 0 if null */
    uint64_t inner;
    int32_t hresult;
    bool has_message, has_inner, has_hresult; /* false: not saved, or not described */
};
void clr_exception_read(const struct clr_runtime *runtime, uint64_t object,
                        struct clr_exception *exception);

/* The saved stack trace: one stretch of bytes with COUNT elements. */
struct clr_exception_trace {
    uint64_t elements; /* address of the first */
    uint32_t count;
};
/* False, and no elements, if it has none; *DAMAGED says whether that is so because bytes are not
 * saved or make no sense, or the runtime does not describe them. */
bool clr_exception_trace(const struct clr_runtime *runtime, uint64_t object,
                         struct clr_exception_trace *trace, bool *damaged);

struct clr_exception_frame {
    uint64_t ip, method;
    bool ip_is_adjusted; /* it lies within the call already, not behind it */
};
bool clr_exception_frame(const struct clr_runtime *runtime, const struct clr_exception_trace *trace,
                         uint32_t index, struct clr_exception_frame *frame);

#endif
