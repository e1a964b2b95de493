/*
 * The finalizer queue of each heap: one array of object pointers, cut into parts by fill pointers
 * (CFinalize.FillPointers, an inline array of CFinalizeFillPointersLength words). With G
 * generations (5), part i spans [fill[i-1], fill[i]):
 *
 *     0 .. G-1   registered: has a finalizer that has not run; part i is generation G-1-i
 *     G, G+1     ready: critical finalizers, then the others. Strong roots
 *
 * Part 0 starts at the array's base, which no name publishes: it is the word behind the fill
 * pointers in every release (m_Array), and used only if it fits: at most fill[0], and not farther
 * from it than saved memory reaches.
 */
#include <stdlib.h>

#include "base/array.h"
#include "runtime/handles.h"

enum { MOST_FILL_POINTERS = 32 };

struct walk {
    const struct clr_runtime *runtime;
    CLR_ARRAY(struct clr_finalizable) list;
};

static enum clr_status read_part(struct walk *walk, struct clr_problems *problems, uint64_t from,
                                 uint64_t to, struct clr_finalizable entry, struct clr_error *error)
{
    uint8_t word = walk->runtime->word;
    for (uint64_t at = from; at < to; at += word) {
        entry.address = at;
        if (!clr_read_word(walk->runtime->process, at, &entry.object)) {
            clr_problem_of(problems, CLR_ERROR, "finalizer_queue", entry.heap, true, at, to - at,
                           "the finalizer queue of heap %u is not saved from 0x%llx on", entry.heap,
                           (unsigned long long)at);
            break;
        }
        if (entry.object == 0)
            continue;
        if (!CLR_ARRAY_ADD(&walk->list, entry))
            return clr_no_memory(error);
    }
    return CLR_OK;
}

static enum clr_status read_queue(struct walk *walk, struct clr_problems *problems, uint64_t queue,
                                  uint32_t heap, struct clr_error *error)
{
    const struct clr_runtime *runtime = walk->runtime;
    uint64_t fill[MOST_FILL_POINTERS + 1], count = runtime->gc.fill_count;
    uint64_t generations = runtime->gc.total_generations;
    for (uint64_t i = 0; i <= count; i++)
        if (!clr_read_word(runtime->process, queue + runtime->gc.fill_pointers + i * runtime->word,
                           &fill[i])) {
            clr_problem_of(problems, CLR_ERROR, "finalizer_queue", heap, true, queue, 0,
                           "the finalizer queue of heap %u at 0x%llx is not saved", heap,
                           (unsigned long long)queue);
            return CLR_OK;
        }
    uint64_t base = fill[count];
    bool based = base <= fill[0] && base % runtime->word == 0 &&
                 clr_saved_bytes(runtime->process, base, fill[0]) == fill[0] - base;
    if (!based)
        clr_problem_of(problems, CLR_ERROR, "finalizer_queue", heap, true, queue, 0,
                       "the finalizer queue of heap %u at 0x%llx does not say where it begins: its "
                       "first part is missing",
                       heap, (unsigned long long)queue);
    for (uint64_t i = based ? 0 : 1; i < count; i++) {
        uint64_t from = i ? fill[i - 1] : base, to = fill[i];
        if (from > to || from % runtime->word || to % runtime->word) {
            clr_problem_of(problems, CLR_ERROR, "finalizer_queue", heap, true, queue, 0,
                           "the finalizer queue of heap %u at 0x%llx is damaged", heap,
                           (unsigned long long)queue);
            return CLR_OK;
        }
        struct clr_finalizable entry = {.heap = heap, .ready = i >= generations};
        entry.generation = entry.ready ? -1 : (int8_t)(generations - 1 - i);
        CLR_TRY(read_part(walk, problems, from, to, entry, error));
    }
    return CLR_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct clr_finalizable *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

enum clr_status clr_finalizers_read(const struct clr_runtime *runtime, const struct clr_gc *gc,
                                    struct clr_problems *problems, struct clr_finalizable **list,
                                    size_t *count, struct clr_error *error)
{
    struct walk walk = {.runtime = runtime};
    const struct clr_gc_layout *layout = &runtime->gc;
    *list = NULL;
    *count = 0;
    if (!clr_has(layout->fill_pointers) || !clr_has(layout->fill_count) ||
        !clr_has(layout->total_generations))
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "this runtime does not describe its finalizer queue");
    if (layout->fill_count > MOST_FILL_POINTERS ||
        layout->total_generations + 2 != layout->fill_count)
        return clr_fail(error, CLR_BAD_DATA, 0,
                        "the runtime describes its finalizer queue with impossible numbers");
    for (uint32_t i = 0; i < gc->heap_count; i++) {
        if (gc->heaps[i].finalize == 0) {
            /* Each heap has a queue. A heap that cannot be found has been reported. */
            if (gc->heaps[i].generations != 0)
                clr_problem_of(problems, CLR_ERROR, "finalizer_queue", i, true, 0, 0,
                               "the finalizer queue of heap %u cannot be found: its objects are "
                               "missing, and roots of those that are due",
                               i);
            continue;
        }
        enum clr_status status = read_queue(&walk, problems, gc->heaps[i].finalize, i, error);
        if (status != CLR_OK) {
            clr_free(walk.list.items);
            return status;
        }
    }
    if (walk.list.count)
        qsort(walk.list.items, walk.list.count, sizeof *walk.list.items, by_address);
    *list = walk.list.items;
    *count = walk.list.count;
    return CLR_OK;
}
