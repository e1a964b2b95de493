/*
 * Entry points: from a code pointer (in a delegate, a vtable slot) to the method that it runs.
 */
#ifndef CLR_RUNTIME_PRECODE_H
#define CLR_RUNTIME_PRECODE_H

#include "runtime/code.h"
#include "runtime/methods.h"

/* The MethodDesc behind a precode at ENTRY; false if it is none. */
bool clr_precode_method(const struct clr_runtime *runtime, uint64_t entry, uint64_t *method);

/* Where a call of ENTRY arrives: what the jump in a precode there leads to, where the machine's are
 * known; else ENTRY itself. */
uint64_t clr_precode_target(const struct clr_runtime *runtime, uint64_t entry);

/* The method that a call of ENTRY runs: native code, or a precode. False if it is neither. */
enum clr_status clr_entry_method(struct clr_runtime *runtime, uint64_t entry, bool *found,
                                 uint64_t *method, struct clr_error *error);

#endif
