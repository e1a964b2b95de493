/*
 * Where static and thread-static fields live.
 */
#ifndef CLR_RUNTIME_STATICS_H
#define CLR_RUNTIME_STATICS_H

#include "runtime/fields.h"
#include "runtime/thread.h"

enum clr_storage { CLR_STORAGE_STATIC, CLR_STORAGE_THREAD_STATIC, CLR_STORAGE_RVA };
const char *clr_storage_text(enum clr_storage storage); /* as in schema.md */

/* Thread statics lie behind the same data of a type as other statics. */
static inline bool clr_has_thread_statics(const struct clr_runtime *runtime)
{
    return runtime->contract[CLR_CONTRACT_STATICS] &&
           runtime->contract[CLR_CONTRACT_THREAD_STATICS];
}

/* Why the first of the two is not served. */
static inline const char *clr_statics_refusal(const struct clr_runtime *runtime)
{
    return runtime->refusal[runtime->contract[CLR_CONTRACT_STATICS] ? CLR_CONTRACT_THREAD_STATICS
                                                                    : CLR_CONTRACT_STATICS];
}

/* The storage of one static field. A reference or a struct lies in a slot that holds an object: the
 * struct's is a box. */
struct clr_static {
    enum clr_storage storage;
    uint64_t address;  /* of the slot or value; 0: no storage yet */
    bool holds_object; /* the slot refers to an object: of the field, or the box of a struct */
    bool known;        /* false: this runtime does not say where such a field lives */
};

/* Finds FIELD (of a walk over an exact type) on THREAD, which only thread statics need. False if the
 * runtime's structures that lead to it are not saved. */
bool clr_static_find(struct clr_runtime *runtime, const struct clr_field *field,
                     const struct clr_thread *thread, struct clr_static *found);

/* What a thread's statics hang on: its array of arrays (a managed Object[] that only native memory
 * refers to), and handles. Calls EACH for every root: ADDRESS of the slot, OBJECT in it. */
bool clr_thread_static_roots(const struct clr_runtime *runtime, const struct clr_thread *thread,
                             bool (*each)(void *context, uint64_t address, uint64_t object),
                             void *context);

#endif
