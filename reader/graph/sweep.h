/*
 * The inner loop of everything that is built from all references: objects of a piece of the heap in
 * address order, and the slots of each that are not null.
 *
 * It is written once and inlined with what a builder does for an object and for a slot. Where words
 * are this machine's, the object lies in one saved stretch and its header with it, slots are read
 * straight from the view; for every other object refs.c does the same with all its checks.
 */
#ifndef CLR_GRAPH_SWEEP_H
#define CLR_GRAPH_SWEEP_H

#include "graph/refs.h"
#include "heap/units.h"

enum { CLR_SWEEP_VIEW = 1 << 20 }; /* bytes looked at in one go */

/* For the functions of a sweeper: there is one call of them for each shape of slots. */
#define CLR_SWEPT static inline __attribute__((always_inline))

/* What a builder does; functions are constants that the compiler sees. CONTEXT is the builder's. */
struct clr_sweeper {
    /* Before the slots of an object that has any, or an allocator edge; false: leave its slots out.
     */
    bool (*object)(void *context, uint32_t number);
    /* A slot; UNIT is its place. */
    void (*slot)(void *context, uint64_t unit, uint64_t value);
    /* Behind the slots: an object (its place is UNIT) that has an allocator edge. */
    void (*allocator)(void *context, uint64_t unit, uint32_t target);
    /* Bytes of an object that are not saved; may be NULL. */
    void (*missing)(void *context, uint64_t address, uint64_t length);
    bool without_dead; /* leave out what clr_ref_is_dead says */
};

static inline __attribute__((always_inline)) bool clr_sweep_slow(struct clr_ref_scan *scan,
                                                                 const struct clr_object *object,
                                                                 void *context,
                                                                 const struct clr_sweeper sweeper)
{
    uint64_t slot, value;
    if (sweeper.without_dead && clr_ref_is_dead(scan->map, object))
        return false;
    clr_ref_scan_object(scan, object);
    if (!sweeper.object(context, object->number))
        return true;
    while (clr_ref_scan_slot(scan, &slot, &value)) {
        uint64_t unit = clr_unit(scan->map->heap, slot);
        if (unit != CLR_NO_UNIT)
            sweeper.slot(context, unit, value);
    }
    return true;
}

static inline __attribute__((always_inline)) void clr_sweep_words(const uint8_t *p, uint64_t count,
                                                                  uint64_t unit, void *context,
                                                                  const struct clr_sweeper sweeper)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = clr_load_word(p + 8 * i, 8, false);
        if (value != 0)
            sweeper.slot(context, unit + i, value);
    }
}

/* Objects [first, end). */
static inline __attribute__((always_inline)) void clr_sweep(const struct clr_ref_map *map,
                                                            uint32_t first, uint32_t end,
                                                            void *context,
                                                            const struct clr_sweeper sweeper)
{
    struct clr_ref_scan scan;
    const struct clr_heap *heap = map->heap;
    const struct clr_index_entry *entries = heap->entries;
    const uint64_t header = heap->count_offset + sizeof(uint32_t);
    const bool direct = heap->native && !(sweeper.without_dead && map->has_unswept);
    const struct clr_sizing *sizing = heap->sizings;
    const struct clr_shape_refs *refs = map->shapes;
    const uint8_t *view = NULL;
    uint64_t view_start = 0, view_size = 0, last_type = 0;
    clr_ref_scan_start(&scan, map, first, end);
    scan.missing = sweeper.missing;
    scan.context = context;
    uint64_t entry = scan.objects.entry, bits = scan.objects.bits, base = scan.objects.base;
    size_t range = scan.objects.range;
    if (scan.objects.next == scan.objects.end)
        return;
    for (uint64_t number = first; number < end; number++) {
        if (bits == 0) {
            do {
                entry++;
                bits = entries[entry].half[0] | (uint64_t)entries[entry].half[1] << 32;
            } while (bits == 0);
            while (range + 1 < heap->range_count && heap->ranges[range + 1].first <= entry)
                range++;
            base = heap->ranges[range].start +
                   ((entry - heap->ranges[range].first) * CLR_ENTRY_UNITS << heap->unit_shift);
        }
        unsigned bit = (unsigned)__builtin_ctzll(bits);
        uint64_t address = base + ((uint64_t)bit << heap->unit_shift);
        uint64_t at = address - view_start;
        struct clr_object object;
        uint32_t allocator;
        bits &= bits - 1;
        if (at >= view_size || view_size - at < header) {
            view = clr_view(heap->process, address, CLR_SWEEP_VIEW, &view_size);
            view_start = address;
            at = 0;
            if (!view || view_size < header)
                view_size = 0;
        }
        if (direct && view_size != 0) {
            const uint8_t *p = view + at;
            uint64_t type = clr_load_word(p, 8, false) & ~heap->unmask;
            if (type != last_type) {
                last_type = type;
                sizing = clr_sizing_of(heap, type);
                refs = &map->shapes[sizing->shape];
            }
            if (refs->slots.kind == CLR_SLOTS_NONE && refs->allocator == 0)
                continue;
            uint64_t raw = sizing->base;
            if (sizing->component != 0)
                raw += (uint64_t)clr_load_u32(p + heap->count_offset, false) * sizing->component;
            if (raw > view_size - at) {
                view = clr_view(heap->process, address, raw > CLR_SWEEP_VIEW ? raw : CLR_SWEEP_VIEW,
                                &view_size);
                view_start = address;
                at = 0;
                p = view;
                if (!view)
                    view_size = 0;
            }
            if (raw <= view_size - at && raw <= heap->ranges[range].end - address) {
                uint64_t unit = entry * CLR_ENTRY_UNITS + bit, offset, count;
                if (sweeper.object(context, (uint32_t)number)) {
                    if (refs->slots.kind == CLR_SLOTS_FIXED) {
                        for (const struct clr_slot_run *run = map->pool.runs + refs->slots.first,
                                                       *last = run + refs->slots.count;
                             run < last; run++)
                            clr_sweep_words(p + run->offset, run->count, unit + run->offset / 8,
                                            context, sweeper);
                    } else if (refs->slots.kind != CLR_SLOTS_NONE) {
                        struct clr_slot_walk walk;
                        clr_slot_walk_start(&walk, &refs->slots, &map->pool, raw, 8);
                        while (clr_slot_walk_next(&walk, &offset, &count))
                            clr_sweep_words(p + offset, count, unit + offset / 8, context, sweeper);
                    }
                }
                if (refs->allocator != 0)
                    sweeper.allocator(context, unit, refs->allocator - 1);
                continue;
            }
        }
        if (!clr_object_read(heap, (uint32_t)number, &object))
            continue;
        allocator = map->shapes[object.shape].allocator;
        if ((map->shapes[object.shape].slots.kind == CLR_SLOTS_NONE && allocator == 0) ||
            !clr_sweep_slow(&scan, &object, context, sweeper))
            continue;
        if (allocator != 0)
            sweeper.allocator(context, entry * CLR_ENTRY_UNITS + bit, allocator - 1);
    }
}

#endif
