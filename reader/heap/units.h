/*
 * Units: places of the heap as dense numbers. Unit 64 e + b is bit b of index entry e; units rise
 * with addresses, and there are as many as saved heap has words. A slot kept as a unit takes 4
 * bytes up to 32 GiB of heap (5 beyond), and gives back its address and, by the rank of its entry,
 * the object that it lies in, whatever the object's length.
 */
#ifndef CLR_HEAP_UNITS_H
#define CLR_HEAP_UNITS_H

#include "heap/internal.h"

#include "base/search.h"

#define CLR_NO_UNIT UINT64_MAX

static inline uint64_t clr_units(const struct clr_heap *heap)
{
    return (uint64_t)heap->entry_count * CLR_ENTRY_UNITS;
}

/* The range that holds ADDRESS, or NULL. */
static inline const struct clr_index_range *clr_unit_range(const struct clr_heap *heap,
                                                           uint64_t address)
{
    size_t index;
    if (heap->pages) {
        uint64_t page = (address >> CLR_PAGE_SHIFT) - (heap->ranges[0].start >> CLR_PAGE_SHIFT);
        if (page >= heap->page_count)
            return NULL;
        index = heap->pages[page];
        if (index < heap->range_count && address >= heap->ranges[index].end)
            index = clr_index_range_from(heap, address); /* several ranges in one page */
    } else {
        index = clr_index_range_from(heap, address);
    }
    return index < heap->range_count && address >= heap->ranges[index].start ? &heap->ranges[index]
                                                                             : NULL;
}

/* The unit at ADDRESS, CLR_NO_UNIT if it is not aligned or not in saved heap. */
static inline uint64_t clr_unit(const struct clr_heap *heap, uint64_t address)
{
    const struct clr_index_range *range = clr_unit_range(heap, address);
    if (!range || address & (((uint64_t)1 << heap->unit_shift) - 1))
        return CLR_NO_UNIT;
    return (uint64_t)range->first * CLR_ENTRY_UNITS + clr_index_unit(heap, range, address);
}

static inline uint64_t clr_unit_bits(const struct clr_heap *heap, uint64_t unit, uint32_t *rank)
{
    const struct clr_index_entry *entry = &heap->entries[unit / CLR_ENTRY_UNITS];
    *rank = entry->rank;
    return entry->half[0] | (uint64_t)entry->half[1] << 32;
}

/* The number of the object that starts at UNIT; false if none does. */
static inline bool clr_unit_number(const struct clr_heap *heap, uint64_t unit, uint32_t *number)
{
    uint32_t rank;
    uint64_t bits = clr_unit_bits(heap, unit, &rank);
    uint64_t bit = (uint64_t)1 << unit % CLR_ENTRY_UNITS;
    *number = rank + clr_count_bits(bits & (bit - 1));
    return (bits & bit) != 0;
}

/* The number of the last object that starts at or before UNIT: the one that a slot lies in. */
static inline uint32_t clr_unit_owner(const struct clr_heap *heap, uint64_t unit)
{
    uint32_t rank;
    uint64_t bits = clr_unit_bits(heap, unit, &rank);
    uint64_t bit = (uint64_t)1 << unit % CLR_ENTRY_UNITS;
    return rank + clr_count_bits(bits & (bit | (bit - 1))) - 1;
}

static inline uint64_t clr_unit_address(const struct clr_heap *heap, uint64_t unit)
{
    uint64_t entry = unit / CLR_ENTRY_UNITS;
    size_t behind; /* the range behind that of the entry */
    CLR_SEARCH(behind, 1, heap->range_count, heap->ranges[behind].first <= entry);
    const struct clr_index_range *range = &heap->ranges[behind - 1];
    return range->start + ((unit - (uint64_t)range->first * CLR_ENTRY_UNITS) << heap->unit_shift);
}

/* Numbers below 2^40 in an array of 4 bytes each, or of 5 if they may pass 2^32. */
struct clr_wide {
    uint32_t *low;
    uint8_t *high; /* NULL: all are below 2^32 */
    size_t count;
};

static inline bool clr_wide_alloc(struct clr_wide *wide, size_t count, uint64_t largest)
{
    *wide = (struct clr_wide){.count = count};
    wide->low = clr_alloc_large(count, sizeof *wide->low);
    if (wide->low && largest > UINT32_MAX)
        wide->high = clr_alloc_large(count, sizeof *wide->high);
    return wide->low && (largest <= UINT32_MAX || wide->high);
}

static inline void clr_wide_free(struct clr_wide *wide)
{
    clr_free_large(wide->low, wide->count, sizeof *wide->low);
    clr_free_large(wide->high, wide->count, sizeof *wide->high);
    *wide = (struct clr_wide){0};
}

static inline uint64_t clr_wide_get(const struct clr_wide *wide, size_t i)
{
    return wide->low[i] | (wide->high ? (uint64_t)wide->high[i] << 32 : 0);
}

static inline void clr_wide_set(struct clr_wide *wide, size_t i, uint64_t value)
{
    wide->low[i] = (uint32_t)value;
    if (wide->high)
        wide->high[i] = (uint8_t)(value >> 32);
}

/* Splits the objects of a heap into pieces of about equal bytes, for workers: fills *FIRSTS with
 * the first number of each piece and one past the last object. Freed with clr_free. */
enum clr_status clr_heap_pieces(const struct clr_heap *heap, uint32_t **firsts, size_t *pieces,
                                struct clr_error *error);

#endif
