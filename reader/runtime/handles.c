/*
 * Handle tables. From the map of the GC down to a slot (names are the descriptor's; sizes of the
 * shipped releases in brackets):
 *
 *   HandleTableMap        BucketsPtr -> InitialHandleTableArraySize (10) buckets, Next -> next map
 *   HandleTableBucket     Table -> one HandleTable a processor (server) or one (workstation)
 *   HandleTable           SegmentList -> first TableSegment
 *   TableSegment (64 KiB) RgTail[kind]        last block of a kind, BlockInvalid if none
 *                         RgAllocation[block] next block of the same kind: a ring, tail -> head
 *                         RgUserData[block]   block that holds the user data of this block
 *                         RgValue[block * 64 + k]  the slots
 *                         NextSegment         unaligned
 *
 * The last internal type holds user data and is no kind of handle. The number of tables is that of
 * the processors, not of the heaps: with a heap count that adapts (DATAS) a reader that goes by
 * heaps misses handles. .NET 11 publishes TotalCpuCount; before it a table is recognized: each
 * segment names its table in the word behind NextSegment, and what follows the last table does not.
 *
 * A ref_counted handle of .NET 10 and later holds an object that stands for a COM wrapper; 11 says
 * where its count is (contract ComWrappers c1):
 *
 *   ManagedObjectWrapperHolderObject  Wrapper -> the wrapper, which begins with the handle's address
 *   ManagedObjectWrapperLayout        RefCount: bits 0-30 COM's, bits 32-63 a tracker's
 *
 * Known from the public data contract of the GC and its sources, checked on dumps of .NET 8 to 11.
 */
#include "runtime/handles.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "runtime/contracts.h"

#define M(member) offsetof(struct clr_wrappers_layout, member)
const struct clr_binding clr_wrappers_bindings[] = {
    {M(holder_wrapper), CLR_FIELD, 0, false, "ManagedObjectWrapperHolderObject", "Wrapper"},
    {M(wrapper_count), CLR_FIELD, 8, false, "ManagedObjectWrapperLayout", "RefCount"},
    CLR_BINDINGS_END,
};
#undef M

enum {
    MOST_MAPS = 1024,
    MOST_TABLES = 4096, /* processors */
    MOST_SEGMENTS = 1 << 20,
};

/* A row is all that a kind of handle needs: a strong one is a kind of root too. */
static const struct {
    const char *text;
    enum { WEAK, STRONG, PINNED } strength; /* PINNED is strong */
} kinds[CLR_HANDLE_KINDS] = {
    [CLR_HANDLE_WEAK_SHORT] = {"weak_short", WEAK},
    [CLR_HANDLE_WEAK_LONG] = {"weak_long", WEAK},
    [CLR_HANDLE_STRONG] = {"strong", STRONG},
    [CLR_HANDLE_PINNED] = {"pinned", PINNED},
    [CLR_HANDLE_VARIABLE] = {"variable", WEAK},
    [CLR_HANDLE_REF_COUNTED] = {"ref_counted", STRONG},
    [CLR_HANDLE_DEPENDENT] = {"dependent", WEAK},
    [CLR_HANDLE_ASYNC_PINNED] = {"async_pinned", PINNED},
    [CLR_HANDLE_SIZED_REF] = {"sized_ref", STRONG},
    [CLR_HANDLE_WEAK_WINRT] = {"weak_winrt", WEAK},
    [CLR_HANDLE_WEAK_INTERIOR] = {"weak_interior", WEAK},
    [CLR_HANDLE_CROSS_REFERENCE] = {"cross_reference", WEAK}, /* since .NET 10 */
};

const char *clr_handle_kind_text(unsigned kind)
{
    return kind < CLR_HANDLE_KINDS ? kinds[kind].text : NULL;
}

const struct clr_handle *clr_handle_at(const struct clr_handle *list, size_t count,
                                       uint64_t address)
{
    size_t i;
    CLR_SEARCH(i, 0, count, list[i].address < address);
    return i < count && list[i].address == address ? &list[i] : NULL;
}

bool clr_handle_is_strong(unsigned kind)
{
    return kind < CLR_HANDLE_KINDS && kinds[kind].strength != WEAK;
}

bool clr_handle_is_pinned(unsigned kind)
{
    return kind < CLR_HANDLE_KINDS && kinds[kind].strength == PINNED;
}

bool clr_handle_holds(const struct clr_handle *handle)
{
    return clr_handle_is_strong(handle->kind) &&
           (handle->kind != CLR_HANDLE_REF_COUNTED || handle->ref_count != 0);
}

struct walk {
    const struct clr_runtime *runtime;
    struct clr_problems *problems;
    CLR_ARRAY(struct clr_handle) list;
    struct clr_map seen; /* segments */
    struct clr_error *error;
};

static void damaged(struct walk *walk, uint64_t address, const char *what)
{
    clr_problem_of(walk->problems, CLR_ERROR, "handles", 0, true, address, 0,
                   "handle tables: %s at 0x%llx; the handles behind it are missing", what,
                   (unsigned long long)address);
}

static bool slot_word(const struct walk *walk, uint64_t segment, uint64_t block, uint64_t k,
                      uint64_t *address, uint64_t *value)
{
    const struct clr_gc_layout *gc = &walk->runtime->gc;
    *address = segment + gc->seg_values + (block * gc->handles_per_block + k) * walk->runtime->word;
    return clr_read_word(walk->runtime->process, *address, value);
}

/* The count in the wrapper that the handle's object leads to; -1 if there is none, or if a tracker
 * of references has a say in it. */
static int64_t ref_count(const struct walk *walk, uint64_t handle, uint64_t object)
{
    const struct clr_process *process = walk->runtime->process;
    const uint64_t com = 0x7fffffff;
    uint64_t wrapper, owner, count;
    const struct clr_wrappers_layout *l = &walk->runtime->wrappers;
    if (!walk->runtime->contract[CLR_CONTRACT_WRAPPERS] ||
        !clr_read_word(process, object + l->holder_wrapper, &wrapper) || wrapper == 0 ||
        !clr_read_word(process, wrapper, &owner) || owner != handle ||
        !clr_read_u64(process, wrapper + l->wrapper_count, &count))
        return -1;
    return (count & com) != 0 || count >> 32 == 0 ? (int64_t)(count & com) : -1;
}

static enum clr_status read_block(struct walk *walk, uint64_t segment, uint64_t block,
                                  unsigned kind, uint32_t table)
{
    const struct clr_runtime *runtime = walk->runtime;
    const struct clr_gc_layout *gc = &runtime->gc;
    uint8_t user_block = (uint8_t)gc->block_invalid;
    if (clr_has(gc->seg_user_data) &&
        !clr_read_u8(runtime->process, segment + gc->seg_user_data + block, &user_block))
        damaged(walk, segment + gc->seg_user_data + block, "user data that is not saved");
    bool has_user = user_block != (uint8_t)gc->block_invalid && user_block < gc->blocks_per_segment;
    for (uint64_t k = 0; k < gc->handles_per_block; k++) {
        uint64_t address, object;
        if (!slot_word(walk, segment, block, k, &address, &object)) {
            damaged(walk, address, "a block that is not saved");
            break;
        }
        if (object == 0 || (clr_has(gc->destroyed_value) && object == gc->destroyed_value))
            continue;
        struct clr_handle handle = {
            .address = address, .object = object, .heap = table, .kind = (uint8_t)kind};
        handle.ref_count = kind == CLR_HANDLE_REF_COUNTED ? ref_count(walk, address, object) : -1;
        uint64_t user_slot;
        if (has_user && slot_word(walk, segment, user_block, k, &user_slot, &handle.user_data) &&
            kind == CLR_HANDLE_DEPENDENT) {
            handle.secondary = handle.user_data;
            handle.secondary_slot = user_slot;
        }
        if (!CLR_ARRAY_ADD(&walk->list, handle))
            return clr_no_memory(walk->error);
    }
    return CLR_OK;
}

static enum clr_status read_segment(struct walk *walk, uint64_t segment, uint32_t table)
{
    const struct clr_process *process = walk->runtime->process;
    const struct clr_gc_layout *gc = &walk->runtime->gc;
    for (unsigned kind = 0; kind + 1 < gc->max_types; kind++) {
        uint8_t tail, block;
        if (!clr_read_u8(process, segment + gc->seg_tail + kind, &tail)) {
            damaged(walk, segment + gc->seg_tail + kind, "a segment that is not saved");
            return CLR_OK;
        }
        if (tail == (uint8_t)gc->block_invalid)
            continue;
        block = tail;
        for (uint64_t steps = 0;; steps++) {
            if (block >= gc->blocks_per_segment || steps >= gc->blocks_per_segment ||
                !clr_read_u8(process, segment + gc->seg_allocation + block, &block) ||
                block >= gc->blocks_per_segment) {
                damaged(walk, segment + gc->seg_allocation, "a ring of blocks that does not close");
                break;
            }
            CLR_TRY(read_block(walk, segment, block, kind, table));
            if (block == tail)
                break;
        }
    }
    return CLR_OK;
}

/* The segment names its table: a check that needs no published number. */
static bool names_table(const struct walk *walk, uint64_t segment, uint64_t table)
{
    const struct clr_gc_layout *gc = &walk->runtime->gc;
    uint64_t owner;
    return clr_read_word(walk->runtime->process,
                         segment + gc->seg_next_segment + walk->runtime->word, &owner) &&
           owner == table;
}

static enum clr_status read_table(struct walk *walk, uint64_t table, uint32_t number)
{
    const struct clr_gc_layout *gc = &walk->runtime->gc;
    uint64_t segment;
    if (!clr_read_word(walk->runtime->process, table + gc->table_segments, &segment)) {
        damaged(walk, table, "a table that is not saved");
        return CLR_OK;
    }
    for (unsigned steps = 0; segment != 0; steps++) {
        uint64_t known;
        if (steps >= MOST_SEGMENTS || segment % gc->segment_size ||
            clr_map_get(&walk->seen, segment, &known)) {
            damaged(walk, segment, "a list of segments that does not end");
            break;
        }
        if (!clr_map_put(&walk->seen, segment, 1))
            return clr_no_memory(walk->error);
        CLR_TRY(read_segment(walk, segment, number));
        if (!clr_read_word(walk->runtime->process, segment + gc->seg_next_segment, &segment)) {
            damaged(walk, segment, "a segment that is not saved");
            break;
        }
    }
    return CLR_OK;
}

/* Whether the word at SLOT leads to a table: for runtimes that do not say how many there are. */
static bool is_valid_table(const struct walk *walk, uint64_t table)
{
    const struct clr_gc_layout *gc = &walk->runtime->gc;
    uint64_t segment;
    return table != 0 &&
           clr_read_word(walk->runtime->process, table + gc->table_segments, &segment) &&
           segment != 0 && segment % gc->segment_size == 0 && names_table(walk, segment, table);
}

static enum clr_status read_bucket(struct walk *walk, const struct clr_gc *gc, uint64_t bucket)
{
    const struct clr_runtime *runtime = walk->runtime;
    uint64_t tables, most = 1;
    uint32_t processors = 0;
    if (!clr_read_word(runtime->process, bucket + runtime->gc.bucket_table, &tables)) {
        damaged(walk, bucket, "a bucket that is not saved");
        return CLR_OK;
    }
    bool counted = clr_has(runtime->gc.cpu_count) &&
                   clr_read_u32(runtime->process, runtime->gc.cpu_count, &processors) &&
                   processors >= 1 && processors <= MOST_TABLES;
    if (gc->server)
        most = counted ? processors : MOST_TABLES;
    for (uint32_t i = 0; i < most; i++) {
        uint64_t table;
        bool saved = clr_read_word(runtime->process, tables + (uint64_t)i * runtime->word, &table);
        if (gc->server && !counted && (!saved || !is_valid_table(walk, table))) {
            if (i < gc->heap_count)
                damaged(walk, tables + (uint64_t)i * runtime->word, "fewer tables than heaps");
            break;
        }
        if (!saved)
            damaged(walk, tables + (uint64_t)i * runtime->word, "tables that are not saved");
        else if (table)
            CLR_TRY(read_table(walk, table, i));
    }
    return CLR_OK;
}

static enum clr_status read_maps(struct walk *walk, const struct clr_gc *gc)
{
    const struct clr_runtime *runtime = walk->runtime;
    const struct clr_gc_layout *layout = &runtime->gc;
    uint64_t map = layout->handle_map;
    for (unsigned steps = 0; map != 0; steps++) {
        uint64_t buckets, bucket;
        if (steps >= MOST_MAPS ||
            !clr_read_word(runtime->process, map + layout->map_buckets, &buckets)) {
            damaged(walk, map,
                    steps < MOST_MAPS ? "a map that is not saved"
                                      : "a list of maps that does not end");
            break;
        }
        for (uint64_t i = 0; buckets && i < layout->initial_array_size; i++) {
            if (!clr_read_word(runtime->process, buckets + i * runtime->word, &bucket))
                damaged(walk, buckets + i * runtime->word, "buckets that are not saved");
            else if (bucket)
                CLR_TRY(read_bucket(walk, gc, bucket));
        }
        if (!clr_read_word(runtime->process, map + layout->map_next, &map)) {
            damaged(walk, map, "a map that is not saved");
            break;
        }
    }
    return CLR_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct clr_handle *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

enum clr_status clr_handles_read(const struct clr_runtime *runtime, const struct clr_gc *gc,
                                 struct clr_problems *problems, struct clr_handle **list,
                                 size_t *count, struct clr_error *error)
{
    struct walk walk = {.runtime = runtime, .problems = problems, .error = error};
    const struct clr_gc_layout *layout = &runtime->gc;
    *list = NULL;
    *count = 0;
    if (!clr_has(layout->handle_map) || !clr_has(layout->max_types) ||
        !clr_has(layout->seg_next_segment))
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "this runtime does not describe its handle tables");
    if (layout->max_types < 2 || layout->max_types > CLR_HANDLE_KINDS + 8 ||
        layout->handles_per_block == 0 || layout->handles_per_block > 4096 ||
        layout->blocks_per_segment == 0 || layout->blocks_per_segment > 255 ||
        layout->segment_size == 0 || layout->initial_array_size > 4096)
        return clr_fail(error, CLR_BAD_DATA, 0,
                        "the runtime describes its handle tables with impossible numbers");
    enum clr_status status = read_maps(&walk, gc);
    clr_map_deinit(&walk.seen);
    if (status != CLR_OK) {
        clr_free(walk.list.items);
        return status;
    }
    if (walk.list.count)
        qsort(walk.list.items, walk.list.count, sizeof *walk.list.items, by_address);
    *list = walk.list.items;
    *count = walk.list.count;
    return CLR_OK;
}
