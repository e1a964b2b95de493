/*
 * Managed threads (contract Thread).
 */
#ifndef CLR_RUNTIME_THREAD_H
#define CLR_RUNTIME_THREAD_H

#include "runtime/runtime.h"

struct clr_thread {
    uint64_t address;
    uint32_t managed_id, state;
    uint64_t os_id; /* 0: no OS thread */
    bool preemptive_disabled, is_finalizer, is_gc, is_background, is_threadpool, is_dead,
        is_unstarted;
    uint64_t object;    /* managed Thread, 0 if none */
    uint64_t exception; /* the innermost one in flight, else 0 */
    uint64_t last_thrown;
    uint64_t stack_base, stack_limit;    /* highest and lowest address; 0 if not known */
    uint64_t alloc_pointer, alloc_limit; /* both 0: no allocation context */
    uint64_t allocated_bytes; /* since it started; CLR_ABSENT where the runtime does not say */
    uint64_t locals, frame, tracker, gc_frame, static_data;
};

/* All threads in the order of the runtime's list; *LIST is freed with clr_free. A damaged list gives
 * what was read and a problem of area threads. */
enum clr_status clr_threads_read(const struct clr_runtime *runtime, struct clr_problems *problems,
                                 struct clr_thread **list, size_t *count, struct clr_error *error);
/* 'background, waiting …': the state bits in words. */
void clr_thread_state_text(const struct clr_thread *thread, struct clr_text *text);
/* Allocation contexts of the process outside threads: GlobalAllocContext. False if none is known. */
bool clr_global_context(const struct clr_runtime *runtime, uint64_t *pointer, uint64_t *limit);

#endif
