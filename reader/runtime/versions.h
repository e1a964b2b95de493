/*
 * Versions of a method's native code (contract CodeVersions).
 */
#ifndef CLR_RUNTIME_VERSIONS_H
#define CLR_RUNTIME_VERSIONS_H

#include "runtime/code.h"
#include "runtime/methods.h"

/* Sets tier and is_active of the CODES of one METHOD (of cold parts too). */
void clr_versions_apply(const struct clr_runtime *runtime, const struct clr_method *method,
                        struct clr_code *const *codes, size_t count);

#endif
