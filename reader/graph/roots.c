/*
 * Reading the roots, source by source; the sources stand in one array.
 *
 *   statics         every type's static fields that hold an object (runtime/statics.c). The slots
 *                   lie in arrays of the runtime: these arrays' edges leave the graph, and what
 *                   else stands in them becomes a root named by array and number
 *   thread statics  the same on every thread; the thread's array of arrays is held by native memory
 *                   alone and is a root of its own
 *   handles         strong kinds, by their meaning (runtime/handles.c)
 *   finalizer       the ready lists
 *   exceptions      ExInfo.ThrownObject of each thread's chain, where it holds the object itself
 *                   (.NET 11); before, it holds a handle, which is a root already
 *   gc frames       GCFrame {Next, ObjRefs, NumObjRefs, GCFlags: 1 interior, 2 pinned}, .NET 11
 *   frozen          every object of a read-only segment
 *   stacks          each word of a thread's saved stack and registers that points into an object:
 *                   conservative, so it may keep an object, and never shares one with a
 *                   precise root
 *
 * Statics of collectible types are no roots: they hang on their load context.
 */
#include "graph/roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/loop.h"
#include "runtime/object.h"

enum {
    MOST_FRAMES = 1 << 16,
    MOST_FRAME_SLOTS = 1 << 20,
    MOST_STACK = 1 << 30, /* bytes: a larger one is a damaged number */
    GCFRAME_INTERIOR = 1,
    GCFRAME_PINNED = 2,
};

const char *clr_root_kind_text(enum clr_root_kind kind)
{
    static const char *const texts[CLR_ROOT_HANDLE] = {
        [CLR_ROOT_STATIC] = "static",       [CLR_ROOT_THREAD_STATIC] = "thread_static",
        [CLR_ROOT_STACK] = "stack",         [CLR_ROOT_FINALIZER] = "finalizer",
        [CLR_ROOT_EXCEPTION] = "exception", [CLR_ROOT_GC_FRAME] = "gc_frame",
        [CLR_ROOT_FROZEN] = "frozen",
    };
    return kind < CLR_ROOT_HANDLE ? texts[kind] : clr_handle_kind_text(kind - CLR_ROOT_HANDLE);
}

struct reading {
    const struct clr_root_sources *from;
    struct clr_roots *roots;
    struct clr_map named;          /* slots of static arrays that a field names */
    uint64_t heap_start, heap_end; /* of all segments */
    struct clr_job *job;
};

/* Adds a root whose object is known to start where it points. */
static enum clr_status add(struct reading *r, struct clr_root root, struct clr_error *error)
{
    struct clr_roots *roots = r->roots;
    struct clr_object object;
    if (root.object == 0)
        return CLR_OK;
    if (!clr_number(r->from->heap, root.object, &root.number) ||
        !clr_object_read(r->from->heap, root.number, &object) || object.shape == 0) {
        clr_problem_of(r->from->problems, CLR_ERROR, "roots", root.kind, true, root.address, 0,
                       "%s root at 0x%llx: 0x%llx is no object", clr_root_kind_text(root.kind),
                       (unsigned long long)root.address, (unsigned long long)root.object);
        return CLR_OK;
    }
    if (!clr_grow(&roots->rows, roots->count, &roots->room, sizeof *roots->rows))
        return clr_no_memory(error);
    roots->rows[roots->count++] = root;
    return CLR_OK;
}

/* Adds one that may point into an object; free blocks and gaps hold nothing. */
static enum clr_status add_interior(struct reading *r, struct clr_root root,
                                    struct clr_error *error)
{
    struct clr_object object;
    uint32_t number;
    if (root.object < r->heap_start || root.object >= r->heap_end) /* most words of a stack */
        return CLR_OK;
    if (!clr_object_containing(r->from->heap, root.object, &number) ||
        !clr_object_read(r->from->heap, number, &object) || object.shape == 0)
        return CLR_OK;
    root.is_interior = root.object != object.address;
    root.object = object.address;
    return add(r, root, error);
}

static void unread(struct reading *r, uint64_t address, const char *what)
{
    clr_problem_of(r->from->problems, CLR_ERROR, "roots", 0, true, address, 0,
                   "%s: 0x%llx is not saved in the dump; roots are missing", what,
                   (unsigned long long)address);
}

static void report_cycle(struct reading *r, uint64_t address, const char *what)
{
    clr_problem_of(r->from->problems, CLR_ERROR, "roots", 1, true, address, 0,
                   "%s: the list does not end at 0x%llx; roots are missing", what,
                   (unsigned long long)address);
}

/* --- Statics --------------------------------------------------------------------------------- */

static enum clr_status note_array(struct reading *r, uint64_t slot, struct clr_error *error)
{
    struct clr_roots *roots = r->roots;
    const struct clr_shape *shapes;
    struct clr_object array;
    uint32_t number;
    clr_heap_shapes(r->from->heap, &shapes);
    if (slot == 0 || !clr_map_put(&r->named, slot, 1))
        return slot == 0 ? CLR_OK : clr_no_memory(error);
    /* Only an array of references can be one: a damaged base must not hide another object's edges.
     */
    if (!clr_object_containing(r->from->heap, slot, &number) ||
        !clr_object_read(r->from->heap, number, &array) || !shapes[array.shape].is_array ||
        shapes[array.shape].component_size != r->from->runtime->word ||
        !shapes[array.shape].contains_references)
        return CLR_OK;
    for (size_t i = roots->static_array_count; i-- > 0;)
        if (roots->static_arrays[i] == number)
            return CLR_OK; /* arrays are few: shared by a thousand slots each */
        else if (roots->static_array_count - i > 64)
            break; /* doubles are taken out when all are known */
    if (!clr_grow(&roots->static_arrays, roots->static_array_count, &roots->static_array_room,
                  sizeof *roots->static_arrays))
        return clr_no_memory(error);
    roots->static_arrays[roots->static_array_count++] = number;
    return CLR_OK;
}

static enum clr_status add_static(struct reading *r, const struct clr_field *field,
                                  const struct clr_thread *thread, struct clr_error *error)
{
    struct clr_static found;
    struct clr_root root = {.kind = thread ? CLR_ROOT_THREAD_STATIC : CLR_ROOT_STATIC,
                            .naming = CLR_NAMED_BY_FIELD,
                            .type = field->type,
                            .field = field->address,
                            .thread = thread ? thread->address : 0};
    if (!clr_static_find(r->from->runtime, field, thread, &found)) {
        if (found.known)
            unread(r, field->address, "a static field");
        return CLR_OK;
    }
    if (!found.holds_object || found.address == 0)
        return CLR_OK;
    CLR_TRY(note_array(r, found.address, error));
    root.address = found.address;
    if (!clr_read_word(r->from->runtime->process, found.address, &root.object)) {
        unread(r, found.address, "a static field");
        return CLR_OK;
    }
    return add(r, root, error);
}

static enum clr_status add_type_statics(struct reading *r, uint64_t type, struct clr_error *error)
{
    struct clr_field_walk walk;
    struct clr_field field;
    if (!clr_field_walk_start(&walk, r->from->runtime, type) || walk.type.is_collectible ||
        walk.type.is_generic_definition)
        return CLR_OK;
    while (clr_field_next(&walk, &field)) {
        if (!field.is_static || field.is_rva)
            continue;
        if (!field.is_thread_static) {
            CLR_TRY(add_static(r, &field, NULL, error));
            continue;
        }
        for (size_t i = 0; clr_has_thread_statics(r->from->runtime) && i < r->from->thread_count;
             i++)
            if (r->from->threads[i].static_data != 0)
                CLR_TRY(add_static(r, &field, &r->from->threads[i], error));
    }
    return CLR_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* What stands in the arrays of statics and no field names: a root each. */
static enum clr_status add_unnamed(struct reading *r, struct clr_error *error)
{
    const struct clr_root_sources *from = r->from;
    struct clr_roots *roots = r->roots;
    const struct clr_shape *shapes;
    clr_heap_shapes(from->heap, &shapes);
    size_t kept = 0;
    if (roots->static_array_count)
        qsort(roots->static_arrays, roots->static_array_count, sizeof *roots->static_arrays,
              by_number);
    for (size_t i = 0; i < roots->static_array_count; i++)
        if (i == 0 || roots->static_arrays[i] != roots->static_arrays[i - 1])
            roots->static_arrays[kept++] = roots->static_arrays[i];
    roots->static_array_count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct clr_object array;
        uint32_t count = 0;
        if (!clr_object_read(from->heap, roots->static_arrays[i], &array) ||
            !clr_object_count(from->runtime, array.address, &count))
            continue;
        uint64_t word = from->runtime->word, known;
        uint64_t data = array.address + shapes[array.shape].base_size - word;
        for (uint64_t k = 0; k < count && (k + 1) * word < array.size; k++) {
            struct clr_root root = {.kind = CLR_ROOT_HANDLE + CLR_HANDLE_STRONG,
                                    .naming = CLR_NAMED_BY_ELEMENT,
                                    .address = data + k * word,
                                    .type = array.address,
                                    .field = k};
            if ((k & 0xffff) == 0)
                CLR_TRY(clr_job_poll(r->job, "reading static fields", i, kept, error));
            if (clr_map_get(&r->named, root.address, &known))
                continue;
            if (!clr_read_word(from->runtime->process, root.address, &root.object)) {
                unread(r, root.address, "an array of statics");
                break;
            }
            CLR_TRY(add(r, root, error));
        }
    }
    return CLR_OK;
}

static enum clr_status read_statics(struct reading *r, struct clr_error *error)
{
    const struct clr_root_sources *from = r->from;
    const uint64_t *types;
    size_t count;
    const struct clr_contract_row *contract = from->runtime->contract[CLR_CONTRACT_TYPES];
    const bool has_statics = from->runtime->contract[CLR_CONTRACT_STATICS] != NULL;
    const char *why = clr_statics_refusal(from->runtime);
    if (!has_statics && contract && contract->flags & CLR_TYPES_HANDLES_HOLD_STATICS)
        clr_problem_of(from->problems, CLR_ERROR, "roots", 0, true, 0, 0,
                       "static fields are no roots of their own: this runtime does not describe "
                       "where they are (%s); handles of kind strong hold their arrays, which "
                       "retain what the fields hold",
                       why);
    else if (!has_statics)
        clr_problem_of(from->problems, CLR_ERROR, "roots", 0, true, 0, 0,
                       "static fields do not name roots, and thread statics are none: this runtime "
                       "does not describe where they are (%s)",
                       why);
    else if (!clr_has_thread_statics(from->runtime))
        clr_problem_of(from->problems, CLR_ERROR, "roots", 1, true, 0, 0,
                       "thread statics are not among the roots: this runtime does not describe "
                       "where they are (%s)",
                       why);
    if (!has_statics)
        return CLR_OK;
    CLR_TRY(clr_heap_types(from->heap, from->runtime, &types, &count, error));
    for (size_t i = 0; i < count; i++) {
        CLR_TRY(clr_job_poll(r->job, "reading static fields", i, count, error));
        CLR_TRY(add_type_statics(r, types[i], error));
    }
    return add_unnamed(r, error);
}

struct thread_data {
    struct reading *r;
    const struct clr_thread *thread;
    enum clr_status status;
    struct clr_error *error;
};

static bool add_thread_data(void *context, uint64_t address, uint64_t object)
{
    struct thread_data *data = context;
    const struct clr_handle *handle =
        clr_handle_at(data->r->from->handles, data->r->from->handle_count, address);
    if (handle &&
        clr_handle_is_strong(handle->kind)) /* statics of collectible types: a row already */
        return true;
    struct clr_root root = {.kind = CLR_ROOT_THREAD_STATIC,
                            .naming = CLR_NAMED_THREAD_DATA,
                            .address = address,
                            .object = object,
                            .thread = data->thread->address};
    data->status = add(data->r, root, data->error);
    return data->status == CLR_OK;
}

static enum clr_status read_thread_data(struct reading *r, struct clr_error *error)
{
    for (size_t i = 0; clr_has_thread_statics(r->from->runtime) && i < r->from->thread_count; i++) {
        struct thread_data data = {r, &r->from->threads[i], CLR_OK, error};
        if (!clr_thread_static_roots(r->from->runtime, data.thread, add_thread_data, &data))
            unread(r, data.thread->static_data, "thread statics");
        CLR_TRY(data.status);
    }
    return CLR_OK;
}

/* --- Handles, finalizers, exceptions, frames, frozen objects --------------------------------- */

static enum clr_status read_handles(struct reading *r, struct clr_error *error)
{
    for (size_t i = 0; i < r->from->handle_count; i++) {
        const struct clr_handle *handle = &r->from->handles[i];
        if (!clr_handle_holds(handle))
            continue;
        struct clr_root root = {.kind = CLR_ROOT_HANDLE + handle->kind,
                                .naming = CLR_NAMED_BY_KIND,
                                .address = handle->address,
                                .object = handle->object};
        root.is_pinned = clr_handle_is_pinned(handle->kind);
        CLR_TRY(add(r, root, error));
    }
    return CLR_OK;
}

static enum clr_status read_finalizers(struct reading *r, struct clr_error *error)
{
    for (size_t i = 0; i < r->from->finalizer_count; i++) {
        const struct clr_finalizable *entry = &r->from->finalizers[i];
        struct clr_root root = {.kind = CLR_ROOT_FINALIZER,
                                .naming = CLR_NAMED_BY_KIND,
                                .address = entry->address,
                                .object = entry->object};
        if (entry->ready)
            CLR_TRY(add(r, root, error));
    }
    return CLR_OK;
}

static enum clr_status read_exceptions(struct reading *r, struct clr_error *error)
{
    const struct clr_runtime *runtime = r->from->runtime;
    const struct clr_contract_row *contract = runtime->contract[CLR_CONTRACT_THREAD];
    if (!contract || !clr_has(runtime->thread.exception_object) ||
        (contract->flags & CLR_THREAD_THROWN_IS_HANDLE))
        return CLR_OK;
    for (size_t i = 0; i < r->from->thread_count; i++) {
        struct clr_loop loop = {0};
        uint64_t record = r->from->threads[i].tracker;
        for (unsigned steps = 0; record != 0; steps++) {
            struct clr_root root = {.kind = CLR_ROOT_EXCEPTION,
                                    .naming = CLR_NAMED_BY_KIND,
                                    .address = record + runtime->thread.exception_object,
                                    .thread = r->from->threads[i].address};
            uint64_t next;
            if (steps == MOST_FRAMES || clr_loop_again(&loop, record)) {
                report_cycle(r, record, "exception records");
                break;
            }
            if (!clr_read_word(runtime->process, root.address, &root.object) ||
                !clr_field_word(runtime, record, runtime->thread.exception_previous, &next)) {
                unread(r, record, "an exception record");
                break;
            }
            CLR_TRY(add(r, root, error));
            record = next;
        }
    }
    return CLR_OK;
}

static enum clr_status read_gc_frame(struct reading *r, const struct clr_thread *thread,
                                     uint64_t frame, struct clr_error *error)
{
    const struct clr_runtime *runtime = r->from->runtime;
    const struct clr_gc_frame_layout *layout = &runtime->gc_frames;
    uint64_t slots;
    uint32_t count, flags;
    if (!clr_field_word(runtime, frame, layout->slots, &slots) ||
        !clr_field_u32(runtime, frame, layout->count, &count) ||
        !clr_field_u32(runtime, frame, layout->flags, &flags)) {
        unread(r, frame, "a GC frame");
        return CLR_OK;
    }
    if (count > MOST_FRAME_SLOTS)
        report_cycle(r, frame, "slots of a GC frame");
    for (uint32_t k = 0; k < count && count <= MOST_FRAME_SLOTS; k++) {
        struct clr_root root = {.kind = CLR_ROOT_GC_FRAME,
                                .naming = CLR_NAMED_BY_KIND,
                                .address = slots + (uint64_t)k * runtime->word,
                                .thread = thread->address,
                                .is_pinned = flags & GCFRAME_PINNED};
        if (!clr_read_word(runtime->process, root.address, &root.object)) {
            unread(r, root.address, "a GC frame");
            break;
        }
        CLR_TRY((flags & GCFRAME_INTERIOR) ? add_interior(r, root, error) : add(r, root, error));
    }
    return CLR_OK;
}

static enum clr_status read_gc_frames(struct reading *r, struct clr_error *error)
{
    const struct clr_runtime *runtime = r->from->runtime;
    if (!runtime->contract[CLR_CONTRACT_GC_FRAMES])
        return CLR_OK; /* before 11; conservative stacks cover them */
    for (size_t i = 0; i < r->from->thread_count; i++) {
        uint64_t frame = r->from->threads[i].gc_frame,
                 end = runtime->word == 4 ? UINT32_MAX : UINT64_MAX;
        struct clr_loop loop = {0};
        for (unsigned steps = 0; frame != 0 && frame != end; steps++) {
            uint64_t next;
            if (steps == MOST_FRAMES || clr_loop_again(&loop, frame)) {
                report_cycle(r, frame, "GC frames");
                break;
            }
            CLR_TRY(read_gc_frame(r, &r->from->threads[i], frame, error));
            if (!clr_field_word(runtime, frame, runtime->gc_frames.next, &next)) {
                unread(r, frame, "a GC frame");
                break;
            }
            frame = next;
        }
    }
    return CLR_OK;
}

static enum clr_status read_frozen(struct reading *r, struct clr_error *error)
{
    const struct clr_root_sources *from = r->from;
    for (size_t i = 0; i < from->gc->segment_count; i++) {
        const struct clr_segment_stats *stats = clr_heap_segment_stats(from->heap, i);
        struct clr_object_scan scan;
        struct clr_object object;
        if (from->gc->segments[i].kind != CLR_FROZEN)
            continue;
        clr_object_scan_start(&scan, from->heap, (uint32_t)stats->first_number,
                              (uint32_t)(stats->first_number + stats->total_count), false);
        while (clr_object_scan_next(&scan, &object)) {
            struct clr_root root = {
                .kind = CLR_ROOT_FROZEN, .naming = CLR_NAMED_BY_KIND, .object = object.address};
            if (object.shape != 0)
                CLR_TRY(add(r, root, error));
            if (object.number % 0x10000 == 0)
                CLR_TRY(clr_job_poll(r->job, "reading frozen objects", object.number,
                                     clr_heap_count(from->heap), error));
        }
    }
    return CLR_OK;
}

/* --- Stacks ---------------------------------------------------------------------------------- */

/* The end of the mapping that holds ADDRESS, with those that go on behind it; 0 if none does. */
static uint64_t mapping_end(const struct clr_process *process, uint64_t address)
{
    const struct clr_region *regions;
    size_t count = clr_process_regions(process, &regions);
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++)
        if (end == 0 ? address - regions[i].start < regions[i].size : regions[i].start == end)
            end = regions[i].start + regions[i].size;
    return end;
}

static enum clr_status read_stack(struct reading *r, const struct clr_thread *thread,
                                  const struct clr_os_thread *os, struct clr_error *error)
{
    const struct clr_runtime *runtime = r->from->runtime;
    uint64_t word = runtime->word, end = thread->stack_base;
    struct clr_root root = {.kind = CLR_ROOT_STACK,
                            .naming = CLR_NOT_NAMED,
                            .thread = thread->address,
                            .is_conservative = true};
    for (uint32_t i = 0; i < os->register_count; i++) {
        root.object = os->registers[i];
        root.location = clr_register_name(runtime->process, i);
        CLR_TRY(add_interior(r, root, error));
    }
    root.location = NULL;
    if (thread->stack_limit != 0 && thread->stack_limit < end &&
        (os->sp < thread->stack_limit || os->sp > end))
        clr_problem_of(
            r->from->problems, CLR_ERROR, "roots", 3, true, thread->address, 0,
            "the thread at 0x%llx has its stack in 0x%llx-0x%llx, and its OS thread %llu "
            "was at 0x%llx: roots of that stack are missing",
            (unsigned long long)thread->address, (unsigned long long)thread->stack_limit,
            (unsigned long long)end, (unsigned long long)thread->os_id, (unsigned long long)os->sp);
    if (end <= os->sp || end - os->sp > MOST_STACK) { /* not published, or not this stack's */
        end = mapping_end(runtime->process, os->sp);
        if (end - os->sp > MOST_STACK)
            end = os->sp + MOST_STACK;
    }
    uint64_t at = (os->sp + word - 1) & ~(word - 1), saved;
    if (at >= end)
        unread(r, os->sp, "a thread's stack");
    for (uint64_t steps = 0; at < end; at += word, steps++) {
        if ((steps & 0xfff) == 0)
            CLR_TRY(clr_job_poll(r->job, "scanning stacks", at - os->sp, end - os->sp, error));
        if (!clr_read_word(runtime->process, at, &root.object)) {
            unread(r, at, "a thread's stack");
            if (!clr_next_saved(runtime->process, at + 1, &saved) || saved >= end)
                break;
            at = ((saved + word - 1) & ~(word - 1)) - word;
            continue;
        }
        root.address = at;
        CLR_TRY(add_interior(r, root, error));
    }
    return CLR_OK;
}

/* Whether a thread without OS thread in the dump should have one: it was started, and has not ended. */
static bool has_stack(const struct clr_thread *thread)
{
    return !thread->is_dead && !thread->is_unstarted &&
           (thread->os_id != 0 || thread->stack_base != 0);
}

static enum clr_status read_stacks(struct reading *r, struct clr_error *error)
{
    if (r->from->no_conservative)
        return CLR_OK;
    for (size_t i = 0; i < r->from->thread_count; i++) {
        const struct clr_thread *thread = &r->from->threads[i];
        const struct clr_os_thread *os =
            thread->os_id && thread->os_id <= UINT32_MAX
                ? clr_process_thread(r->from->runtime->process, (uint32_t)thread->os_id)
                : NULL;
        if (os)
            CLR_TRY(read_stack(r, thread, os, error));
        else if (has_stack(thread))
            clr_problem_of(r->from->problems, CLR_ERROR, "roots", 2, true, thread->address, 0,
                           "the thread at 0x%llx runs, and the dump has no registers of its OS "
                           "thread %llu: its stack's roots are missing",
                           (unsigned long long)thread->address, (unsigned long long)thread->os_id);
    }
    return CLR_OK;
}

/* --- All ------------------------------------------------------------------------------------- */

static enum clr_status (*const sources[])(struct reading *, struct clr_error *) = {
    read_statics,    read_thread_data, read_handles, read_finalizers,
    read_exceptions, read_gc_frames,   read_frozen,  read_stacks,
};

struct candidate {
    uint64_t address;
    uint32_t root;
};

static int by_slot(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if ((x->address == 0) != (y->address == 0))
        return x->address == 0 ? 1 : -1; /* registers and frozen objects come last */
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->root > y->root) - (x->root < y->root);
}

static int by_key(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* The lists for the search, by slot address: of several roots the first names the path. */
static enum clr_status order_for_search(struct clr_roots *roots, struct clr_error *error)
{
    struct candidate *all = clr_alloc(roots->count, sizeof *all);
    roots->precise = clr_alloc(roots->count, sizeof *roots->precise);
    roots->conservative = clr_alloc(roots->count, sizeof *roots->conservative);
    roots->by_object = clr_alloc(roots->count, sizeof *roots->by_object);
    if (!all || !roots->precise || !roots->conservative || !roots->by_object) {
        clr_free(all);
        return clr_no_memory(error);
    }
    for (size_t i = 0; i < roots->count; i++)
        all[i] = (struct candidate){roots->rows[i].address, (uint32_t)i};
    if (roots->count)
        qsort(all, roots->count, sizeof *all, by_slot);
    for (size_t i = 0; i < roots->count; i++) {
        const struct clr_root *root = &roots->rows[all[i].root];
        struct clr_root_object object = {root->number, all[i].root};
        if (root->is_conservative)
            roots->conservative[roots->conservative_count++] = object;
        else
            roots->precise[roots->precise_count++] = object;
        all[i].address = (uint64_t)root->number << 32 | i; /* the object, then this order */
    }
    if (roots->count)
        qsort(all, roots->count, sizeof *all, by_key);
    for (size_t i = 0; i < roots->count; i++)
        roots->by_object[i] = all[i].root;
    clr_free(all);
    return CLR_OK;
}

enum clr_status clr_roots_read(const struct clr_root_sources *from, struct clr_job *job,
                               struct clr_roots **out, struct clr_error *error)
{
    struct reading r = {.from = from, .job = job};
    enum clr_status status = CLR_OK;
    *out = NULL;
    if (!(r.roots = clr_alloc(1, sizeof *r.roots)))
        return clr_no_memory(error);
    r.heap_start = UINT64_MAX;
    for (size_t i = 0; i < from->gc->segment_count; i++) {
        if (from->gc->segments[i].start < r.heap_start)
            r.heap_start = from->gc->segments[i].start;
        if (from->gc->segments[i].end > r.heap_end)
            r.heap_end = from->gc->segments[i].end;
    }
    if (!from->runtime->contract[CLR_CONTRACT_THREAD])
        clr_problem_of(from->problems, CLR_ERROR, "roots", 2, true, 0, 0,
                       "what threads hold is not among the roots: this runtime does not describe "
                       "its threads");
    for (size_t i = 0; status == CLR_OK && i < sizeof sources / sizeof *sources; i++)
        status = sources[i](&r, error);
    if (status == CLR_OK && r.roots->count > UINT32_MAX)
        status = clr_fail(error, CLR_UNSUPPORTED, 0, "more than 2^32 roots");
    if (status == CLR_OK)
        status = order_for_search(r.roots, error);
    clr_map_deinit(&r.named);
    if (status != CLR_OK) {
        clr_roots_destroy(r.roots);
        return status;
    }
    *out = r.roots;
    return CLR_OK;
}

void clr_roots_destroy(struct clr_roots *roots)
{
    if (!roots)
        return;
    clr_free(roots->rows);
    clr_free(roots->static_arrays);
    clr_free(roots->precise);
    clr_free(roots->conservative);
    clr_free(roots->by_object);
    clr_free(roots);
}

void clr_root_name(struct clr_runtime *runtime, const struct clr_root *root, struct clr_text *text)
{
    struct clr_field_walk walk;
    struct clr_field field;
    uint64_t type = 0;
    switch (root->naming) {
    case CLR_NAMED_BY_KIND: clr_text_put(text, clr_root_kind_text(root->kind)); break;
    case CLR_NAMED_THREAD_DATA: clr_text_put(text, "thread data"); break;
    case CLR_NOT_NAMED: break;
    case CLR_NAMED_BY_ELEMENT:
        clr_object_type(runtime, root->type, &type);
        clr_text_format(text, "%s 0x%llx[%llu]", clr_type_name(runtime, type),
                        (unsigned long long)root->type, (unsigned long long)root->field);
        break;
    case CLR_NAMED_BY_FIELD:
        clr_text_format(text, "%s.", clr_type_name(runtime, root->type));
        if (clr_field_walk_start(&walk, runtime, root->type))
            while (clr_field_next(&walk, &field))
                if (field.address == root->field) {
                    clr_field_name(&field, text);
                    break;
                }
        break;
    }
}
