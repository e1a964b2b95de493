/*
 * Managed threads: the runtime's list of them.
 *
 *   what                   name                                                       since
 *   the store              ThreadStore (variable), .FirstThreadLink, .ThreadCount (i32)
 *   next in the list       Thread.LinkNext. Contract c1: links are Thread addresses;  11
 *                          contract 1: links point at the link member itself
 *   ids, state             Thread.Id, .State, .PreemptiveGCDisabled (u32), .OSId (word)
 *   managed Thread         Thread.ExposedObject, before 11 Thread.GCHandle: a handle
 *   exception in flight    Thread.ExceptionTracker -> ExceptionInfo.ThrownObject: the object (11),
 *                          or a handle (contract 1)
 *   last thrown            Thread.LastThrownObject: a handle
 *   allocation context     Thread.RuntimeThreadLocals -> .AllocContext (embedded), and in that
 *                          EEAllocContext.GCAllocationContext                         10
 *                          Thread.AllocContext (embedded)                             .NET 8
 *   its members            GCAllocContext.Pointer, .Limit; .AllocBytes, .AllocBytesLoh (u64)  11
 *   stack                  Thread.CachedStackBase (the high end), .CachedStackLimit   11
 *
 * A dead or unstarted thread has no thread locals and thus no context. AllocBytes counts a context
 * whole when it is handed out: what is left of it is taken off.
 *
 * The list is followed as long as its nodes are saved and new; ThreadCount only confirms it.
 *
 * Knowledge: the runtime's docs/design/datacontracts/Thread.md; threads.h for the state bits.
 */
#include "runtime/thread.h"

#include <stddef.h>

#include "base/alloc.h"
#include "runtime/contracts.h"
#include "runtime/object.h"

enum {
    STATE_BACKGROUND = 0x00000200,
    STATE_UNSTARTED = 0x00000400,
    STATE_DEAD = 0x00000800,
    STATE_POOL = 0x01000000,
};

/* State bits in words, in the order in which they are listed. */
static const struct {
    uint32_t bit;
    const char *text;
} states[] = {
    {STATE_UNSTARTED, "unstarted"},
    {STATE_DEAD, "dead"},
    {STATE_BACKGROUND, "background"},
    {STATE_POOL, "threadpool"},
    {0x08000000, "completion port"},
    {0x02000000, "waiting"}, /* in a wait, sleep or join, and can be interrupted */
    {0x04000000, "interrupted"},
    {0x00000001, "abort requested"},
    {0x10000000, "abort initiated"},
    {0x00000002, "suspend pending"},
    {0x00000004, "redirected"}, /* by the GC */
    {0x00000080, "hijacked"},   /* by the GC */
    {0x00000008, "debugger suspend pending"},
    {0x00080000, "suspended by debugger"},
    {0x00004000, "sta"},
    {0x00008000, "mta"},
    {0x40000000, "failed to start"},
    {0x80000000, "detached"},
};

#define AT(m) offsetof(struct clr_thread_layout, m)

const struct clr_binding clr_thread_bindings[] = {
    {AT(store), CLR_VARIABLE, 0, false, NULL, "ThreadStore"},
    {AT(store_first), CLR_FIELD, 0, false, "ThreadStore", "FirstThreadLink"},
    {AT(store_count), CLR_FIELD, 4, false, "ThreadStore", "ThreadCount"},
    {AT(store_unstarted), CLR_FIELD, 4, true, "ThreadStore", "UnstartedCount"},
    {AT(store_background), CLR_FIELD, 4, true, "ThreadStore", "BackgroundCount"},
    {AT(store_pending), CLR_FIELD, 4, true, "ThreadStore", "PendingCount"},
    {AT(store_dead), CLR_FIELD, 4, true, "ThreadStore", "DeadCount"},
    {AT(finalizer_thread), CLR_VARIABLE, 0, true, NULL, "FinalizerThread"},
    {AT(gc_thread), CLR_VARIABLE, 0, true, NULL, "GCThread"},
    {AT(id), CLR_FIELD, 4, false, "Thread", "Id"},
    {AT(os_id), CLR_FIELD, 0, false, "Thread", "OSId"},
    {AT(state), CLR_FIELD, 4, false, "Thread", "State"},
    {AT(preemptive_disabled), CLR_FIELD, 4, false, "Thread", "PreemptiveGCDisabled"},
    {AT(locals), CLR_FIELD, 0, true, "Thread", "RuntimeThreadLocals"},
    {AT(frame), CLR_FIELD, 0, true, "Thread", "Frame"},
    {AT(tracker), CLR_FIELD, 0, true, "Thread", "ExceptionTracker"},
    {AT(exposed), CLR_FIELD, 0, true, "Thread", "ExposedObject"},
    {AT(exposed_1), CLR_FIELD, 0, true, "Thread", "GCHandle"},
    {AT(last_thrown), CLR_FIELD, 0, true, "Thread", "LastThrownObject"},
    {AT(link), CLR_FIELD, 0, false, "Thread", "LinkNext"},
    {AT(stack_base), CLR_FIELD, 0, true, "Thread", "CachedStackBase"},
    {AT(stack_limit), CLR_FIELD, 0, true, "Thread", "CachedStackLimit"},
    {AT(static_data), CLR_FIELD, 0, true, "Thread", "ThreadLocalDataPtr"},
    {AT(gc_frame), CLR_FIELD, 0, true, "Thread", "GCFrame"},
    {AT(inline_context), CLR_FIELD, CLR_INLINE, true, "Thread", "AllocContext"},
    {AT(locals_context), CLR_FIELD, CLR_INLINE, true, "RuntimeThreadLocals", "AllocContext"},
    {AT(ee_context), CLR_FIELD, CLR_INLINE, true, "EEAllocContext", "GCAllocationContext"},
    {AT(context_pointer), CLR_FIELD, 0, false, "GCAllocContext", "Pointer"},
    {AT(context_limit), CLR_FIELD, 0, false, "GCAllocContext", "Limit"},
    {AT(context_bytes), CLR_FIELD, 8, true, "GCAllocContext", "AllocBytes"},
    {AT(context_bytes_uoh), CLR_FIELD, 8, true, "GCAllocContext", "AllocBytesLoh"},
    {AT(global_context), CLR_VARIABLE, CLR_INLINE, true, NULL, "GlobalAllocContext"},
    {AT(exception_object), CLR_FIELD, 0, true, "ExceptionInfo", "ThrownObject"},
    {AT(exception_previous), CLR_FIELD, 0, true, "ExceptionInfo", "PreviousNestedInfo"},
    CLR_BINDINGS_END,
};

#define FRAME(member) offsetof(struct clr_gc_frame_layout, member)
const struct clr_binding clr_gc_frame_bindings[] = {
    {FRAME(next), CLR_FIELD, 0, false, "GCFrame", "Next"},
    {FRAME(slots), CLR_FIELD, 0, false, "GCFrame", "ObjRefs"},
    {FRAME(count), CLR_FIELD, 4, false, "GCFrame", "NumObjRefs"},
    {FRAME(flags), CLR_FIELD, 4, false, "GCFrame", "GCFlags"},
    CLR_BINDINGS_END,
};

static void unsaved(const struct clr_runtime *runtime, struct clr_problems *problems,
                    uint64_t thread, uint64_t address, const char *what)
{
    clr_problem_of(problems, CLR_WARNING, "threads", thread, false, address, runtime->word,
                   "%s of the thread at 0x%llx is not saved (0x%llx)", what,
                   (unsigned long long)thread, (unsigned long long)address);
}

/* The object in the handle at ADDRESS + OFFSET; 0 if there is no handle. */
static uint64_t handle_field(const struct clr_runtime *runtime, struct clr_problems *problems,
                             uint64_t thread, uint64_t offset, const char *what)
{
    uint64_t handle, object;
    if (!clr_field_word(runtime, thread, offset, &handle) || handle == 0)
        return 0;
    if (clr_handle_object(runtime, handle, &object))
        return object;
    unsaved(runtime, problems, thread, handle, what);
    return 0;
}

static void read_exception(const struct clr_runtime *runtime, struct clr_problems *problems,
                           struct clr_thread *thread)
{
    const struct clr_thread_layout *t = &runtime->thread;
    uint64_t thrown;
    thread->last_thrown = handle_field(runtime, problems, thread->address, t->last_thrown,
                                       "the handle of the last exception");
    if (!clr_field_word(runtime, thread->address, t->tracker, &thread->tracker) ||
        thread->tracker == 0 || !clr_has(t->exception_object))
        return;
    if (!clr_field_word(runtime, thread->tracker, t->exception_object, &thrown)) {
        unsaved(runtime, problems, thread->address, thread->tracker, "the exception in flight");
        return;
    }
    if (!(runtime->contract[CLR_CONTRACT_THREAD]->flags & CLR_THREAD_THROWN_IS_HANDLE))
        thread->exception = thrown;
    else if (thrown != 0 && !clr_handle_object(runtime, thrown, &thread->exception))
        unsaved(runtime, problems, thread->address, thrown, "the exception in flight");
}

/* Pointer and limit of the GCAllocContext at ADDRESS. */
static bool read_context(const struct clr_runtime *runtime, uint64_t address, uint64_t *pointer,
                         uint64_t *limit)
{
    return clr_field_word(runtime, address, runtime->thread.context_pointer, pointer) &&
           clr_field_word(runtime, address, runtime->thread.context_limit, limit);
}

static void read_allocation(const struct clr_runtime *runtime, struct clr_problems *problems,
                            struct clr_thread *thread)
{
    const struct clr_thread_layout *t = &runtime->thread;
    uint64_t context, bytes, bytes_uoh;
    if (clr_has(t->inline_context)) {
        context = thread->address + t->inline_context;
    } else if (clr_has(t->locals_context) && thread->locals != 0) {
        context = thread->locals + t->locals_context;
        context += clr_has(t->ee_context) ? t->ee_context : 0;
    } else {
        return;
    }
    if (!read_context(runtime, context, &thread->alloc_pointer, &thread->alloc_limit)) {
        clr_problem_of(problems, CLR_WARNING, "objects", thread->address, true, context, 0,
                       "the allocation context of the thread at 0x%llx is not saved (0x%llx): the "
                       "hole that it makes in the heap is not known",
                       (unsigned long long)thread->address, (unsigned long long)context);
        thread->alloc_pointer = thread->alloc_limit = 0;
        return;
    }
    if (!clr_has(t->context_bytes) || !clr_has(t->context_bytes_uoh) ||
        !clr_read_u64(runtime->process, context + t->context_bytes, &bytes) ||
        !clr_read_u64(runtime->process, context + t->context_bytes_uoh, &bytes_uoh))
        return;
    uint64_t left = thread->alloc_limit > thread->alloc_pointer
                        ? thread->alloc_limit - thread->alloc_pointer
                        : 0;
    thread->allocated_bytes = bytes + bytes_uoh - left;
}

/* Fills *THREAD; false if the thread itself is not saved. */
static bool read_thread(const struct clr_runtime *runtime, struct clr_problems *problems,
                        uint64_t address, struct clr_thread *thread)
{
    const struct clr_thread_layout *t = &runtime->thread;
    uint64_t special;
    uint32_t disabled;
    *thread = (struct clr_thread){.address = address, .allocated_bytes = CLR_ABSENT};
    if (!clr_field_u32(runtime, address, t->id, &thread->managed_id) ||
        !clr_field_word(runtime, address, t->os_id, &thread->os_id) ||
        !clr_field_u32(runtime, address, t->state, &thread->state) ||
        !clr_field_u32(runtime, address, t->preemptive_disabled, &disabled))
        return false;
    thread->preemptive_disabled = disabled != 0;
    thread->is_background = (thread->state & STATE_BACKGROUND) != 0;
    thread->is_unstarted = (thread->state & STATE_UNSTARTED) != 0;
    thread->is_dead = (thread->state & STATE_DEAD) != 0;
    thread->is_threadpool = (thread->state & STATE_POOL) != 0;
    thread->is_finalizer =
        clr_variable_word(runtime, t->finalizer_thread, &special) && special == address;
    thread->is_gc = clr_variable_word(runtime, t->gc_thread, &special) && special == address;
    clr_field_word(runtime, address, t->locals, &thread->locals);
    clr_field_word(runtime, address, t->frame, &thread->frame);
    clr_field_word(runtime, address, t->static_data, &thread->static_data);
    clr_field_word(runtime, address, t->gc_frame, &thread->gc_frame);
    clr_field_word(runtime, address, t->stack_base, &thread->stack_base);
    clr_field_word(runtime, address, t->stack_limit, &thread->stack_limit);
    thread->object =
        handle_field(runtime, problems, address, t->exposed, "the handle of the Thread object");
    read_exception(runtime, problems, thread);
    read_allocation(runtime, problems, thread);
    return true;
}

struct list {
    struct clr_thread *threads;
    size_t count, room;
};

/* Follows the links from LINK on. What is damaged ends the list; only a lack of memory is an error.
 */
static enum clr_status follow(const struct clr_runtime *runtime, struct clr_problems *problems,
                              uint64_t link, struct list *list, struct clr_map *seen,
                              struct clr_error *error)
{
    const struct clr_thread_layout *t = &runtime->thread;
    bool members = (runtime->contract[CLR_CONTRACT_THREAD]->flags & CLR_THREAD_LINKS_ARE_MEMBERS);
    uint64_t dummy;
    while (link != 0) {
        uint64_t address = members ? link - t->link : link;
        if (clr_map_get(seen, link, &dummy)) {
            clr_problem_of(problems, CLR_WARNING, "threads", 0, true, address, 0,
                           "the list of threads leads back to 0x%llx: it ends here; threads may be "
                           "missing",
                           (unsigned long long)address);
            return CLR_OK;
        }
        if (!clr_map_put(seen, link, 1) ||
            !clr_grow(&list->threads, list->count, &list->room, sizeof *list->threads))
            return clr_no_memory(error);
        if (!read_thread(runtime, problems, address, &list->threads[list->count])) {
            clr_problem_of(problems, CLR_WARNING, "threads", 0, true, address, 0,
                           "the list of threads leads to 0x%llx, which is not saved: it ends here; "
                           "threads may be missing",
                           (unsigned long long)address);
            return CLR_OK;
        }
        list->count++;
        if (!clr_field_word(runtime, address, t->link, &link)) {
            clr_problem_of(problems, CLR_WARNING, "threads", 0, true, address + t->link, 0,
                           "the link of the thread at 0x%llx is not saved: threads may be missing",
                           (unsigned long long)address);
            return CLR_OK;
        }
    }
    return CLR_OK;
}

enum clr_status clr_threads_read(const struct clr_runtime *runtime, struct clr_problems *problems,
                                 struct clr_thread **result, size_t *count, struct clr_error *error)
{
    const struct clr_thread_layout *t = &runtime->thread;
    struct list list = {0};
    struct clr_map seen = {0};
    uint64_t store = 0, link;
    uint32_t announced;
    *result = NULL;
    *count = 0;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_THREAD, "threads", error));
    if (!clr_variable_word(runtime, t->store, &store) || store == 0 ||
        !clr_field_word(runtime, store, t->store_first, &link))
        return clr_fail(error, CLR_FAULT, store ? store : t->store,
                        "threads cannot be given: the runtime's list of threads is not saved "
                        "(0x%llx)",
                        (unsigned long long)(store ? store : t->store));
    enum clr_status status = follow(runtime, problems, link, &list, &seen, error);
    clr_map_deinit(&seen);
    if (status != CLR_OK) {
        clr_free(list.threads);
        return status;
    }
    if (clr_field_u32(runtime, store, t->store_count, &announced) && announced != list.count)
        clr_problem_of(problems, CLR_WARNING, "threads", 0, list.count < announced, store, 0,
                       "the runtime counts %u threads, its list has %zu", announced, list.count);
    *result = list.threads;
    *count = list.count;
    return CLR_OK;
}

void clr_thread_state_text(const struct clr_thread *thread, struct clr_text *text)
{
    bool first = true;
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (thread->state & states[i].bit) {
            if (!first)
                clr_text_put(text, ", ");
            clr_text_put(text, states[i].text);
            first = false;
        }
}

bool clr_global_context(const struct clr_runtime *runtime, uint64_t *pointer, uint64_t *limit)
{
    const struct clr_thread_layout *t = &runtime->thread;
    if (!clr_has(t->global_context) || t->global_context == 0)
        return false;
    uint64_t inner = clr_has(t->ee_context) ? t->ee_context : 0;
    return read_context(runtime, t->global_context + inner, pointer, limit);
}
