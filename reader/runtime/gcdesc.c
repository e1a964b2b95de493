/*
 * GCDesc, read downwards from the MethodTable (W = word size):
 *
 *     mt - W                n: number of series, signed
 *   n > 0, series k = 0 .. n-1:
 *     mt - W - 2W(k+1)      size, signed, biased: less the object's base size
 *     mt - W - 2W(k+1) + W  offset of the first slot from the object
 *     A series' bytes are size + the object's raw size, so that one series serves arrays of
 *     references of every length; in an object without a length they are constant.
 *   n < 0, an array of structs with references, m = -n items:
 *     mt - 2W               offset of the first slot: in element 0, not always at its start
 *     mt - 3W - iW          item i: slots (low half of the word), then bytes to skip (high half)
 *     One pass over the items takes the bytes of one element, and ends where the first slot of the
 *     next one lies.
 *
 * The block is there if MTFlags has ContainsGCPointers. Same in .NET 8 to 11. Known from the GC's
 * public sources (gcdesc.h) and from reading every object of dumps of each release.
 */
#include "runtime/gcdesc.h"

enum { MOST_SERIES = 1 << 16 }; /* more than any type that compiles has */

void clr_slot_pool_deinit(struct clr_slot_pool *pool)
{
    clr_free(pool->runs);
    *pool = (struct clr_slot_pool){0};
}

static bool add(struct clr_slot_pool *pool, struct clr_slots *slots, uint64_t offset,
                uint64_t count)
{
    if (!clr_grow(&pool->runs, pool->count, &pool->room, sizeof *pool->runs))
        return false;
    pool->runs[pool->count++] = (struct clr_slot_run){(uint32_t)offset, (uint32_t)count};
    slots->count++;
    return true;
}

/* Words are signed where they count or are biased. */
static bool read_signed(const struct clr_runtime *runtime, uint64_t address, int64_t *value)
{
    uint64_t word;
    if (!clr_read_word(runtime->process, address, &word))
        return false;
    *value = runtime->word == 4 ? (int64_t)(int32_t)(uint32_t)word : (int64_t)word;
    return true;
}

static enum clr_status fault(const struct clr_type *type, uint64_t address, struct clr_error *error)
{
    return clr_fail(error, CLR_FAULT, address,
                    "GCDesc of type 0x%llx: 0x%llx is not saved in the dump",
                    (unsigned long long)type->address, (unsigned long long)address);
}

static enum clr_status bad_gcdesc(const struct clr_type *type, const char *what,
                                  struct clr_error *error)
{
    return clr_fail(error, CLR_BAD_DATA, type->address, "GCDesc of type 0x%llx: %s",
                    (unsigned long long)type->address, what);
}

static enum clr_status read_series(const struct clr_runtime *runtime, const struct clr_type *type,
                                   int64_t series, struct clr_slot_pool *pool,
                                   struct clr_slots *slots, struct clr_error *error)
{
    uint64_t word = runtime->word, base = type->base_size;
    bool grows = type->component_size != 0;
    slots->kind = grows ? CLR_SLOTS_GROWING : CLR_SLOTS_FIXED;
    /* Series stand in falling order of their offsets: taken from the last, runs rise. */
    for (int64_t k = series - 1; k >= 0; k--) {
        uint64_t at = type->address - word - 2 * word * ((uint64_t)k + 1), start;
        int64_t size;
        if (!read_signed(runtime, at, &size) || !clr_read_word(runtime->process, at + word, &start))
            return fault(type, at, error);
        if (start < word || start % word || start >= UINT32_MAX)
            return bad_gcdesc(type, "a series starts outside the object", error);
        if (grows) {
            /* bytes = raw size - lack; the end, start + bytes, stays before the next header. */
            int64_t lack = -size;
            if (lack < (int64_t)(start + word) || lack >= UINT32_MAX)
                return bad_gcdesc(type, "a series ends outside the array", error);
            if (!add(pool, slots, start, (uint64_t)lack))
                return clr_no_memory(error);
        } else {
            int64_t bytes = size + (int64_t)base;
            if (bytes < 0 || bytes % (int64_t)word ||
                start + (uint64_t)bytes > (base > word ? base - word : 0))
                return bad_gcdesc(type, "a series ends outside the object", error);
            if (bytes && !add(pool, slots, start, (uint64_t)bytes / word))
                return clr_no_memory(error);
        }
    }
    return CLR_OK;
}

static enum clr_status read_items(const struct clr_runtime *runtime, const struct clr_type *type,
                                  int64_t items, struct clr_slot_pool *pool,
                                  struct clr_slots *slots, struct clr_error *error)
{
    uint64_t word = runtime->word, start, element = 0;
    if (!type->component_size)
        return bad_gcdesc(type, "repeats items, but the type is no array", error);
    if (!clr_read_word(runtime->process, type->address - 2 * word, &start))
        return fault(type, type->address - 2 * word, error);
    if (start < word || start % word || start >= (uint64_t)type->base_size + type->component_size)
        return bad_gcdesc(type, "its slots start outside the array", error);
    slots->kind = CLR_SLOTS_REPEATED;
    slots->start = (uint32_t)start;
    for (int64_t i = 0; i < items; i++) {
        uint64_t at = type->address - 3 * word - (uint64_t)i * word, count, skip;
        if (!clr_read_uint(runtime->process, at, word / 2, &count) ||
            !clr_read_uint(runtime->process, at + word / 2, word / 2, &skip))
            return fault(type, at, error);
        if (count && !add(pool, slots, element, count))
            return clr_no_memory(error);
        element += count * word + skip;
        if (element > type->component_size)
            return bad_gcdesc(type, "items are longer than an element", error);
    }
    if (element != type->component_size)
        return bad_gcdesc(type, "items do not cover an element", error);
    slots->stride = (uint32_t)element;
    if (slots->count == 0)
        slots->kind = CLR_SLOTS_NONE;
    else if (slots->count == 1 && pool->runs[slots->first].count * word == element) {
        /* Nothing but references: one run over the whole array. */
        slots->kind = CLR_SLOTS_GROWING;
        pool->runs[slots->first] = (struct clr_slot_run){(uint32_t)start, type->base_size};
    }
    return CLR_OK;
}

enum clr_status clr_slots_read(const struct clr_runtime *runtime, const struct clr_type *type,
                               struct clr_slot_pool *pool, struct clr_slots *slots,
                               struct clr_error *error)
{
    int64_t series;
    *slots = (struct clr_slots){.first = (uint32_t)pool->count};
    if (!type->contains_references)
        return CLR_OK;
    if (!read_signed(runtime, type->address - runtime->word, &series))
        return fault(type, type->address - runtime->word, error);
    if (series == 0 || series > MOST_SERIES || series < -MOST_SERIES)
        return bad_gcdesc(type, "impossible number of series", error);
    size_t before = pool->count;
    enum clr_status status = series > 0 ? read_series(runtime, type, series, pool, slots, error)
                                        : read_items(runtime, type, -series, pool, slots, error);
    if (status != CLR_OK) {
        pool->count = before;
        *slots = (struct clr_slots){.first = (uint32_t)before};
    }
    return status;
}
