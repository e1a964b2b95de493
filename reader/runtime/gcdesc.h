/*
 * GCDesc: where the references of a type's objects are.
 *
 * Decoded once per MethodTable into runs: adjacent slots from an offset on. Offsets count from the
 * object's address, so a slot's address is object + offset; schema.md's `offset` is one word less.
 */
#ifndef CLR_RUNTIME_GCDESC_H
#define CLR_RUNTIME_GCDESC_H

#include "runtime/types.h"

enum clr_slots_kind {
    CLR_SLOTS_NONE,    /* no references */
    CLR_SLOTS_FIXED,   /* the same runs in every object */
    CLR_SLOTS_GROWING, /* runs that end at a distance from the object's end: arrays of references */
    CLR_SLOTS_REPEATED, /* runs that repeat with every element: arrays of structs */
};

struct clr_slot_run {
    uint32_t offset; /* bytes; from the object, REPEATED: from the first slot of the element */
    uint32_t
        count; /* slots; GROWING: bytes by which the run is shorter than the object's raw size */
};

struct clr_slots {
    enum clr_slots_kind kind;
    uint32_t first, count; /* runs, in the pool */
    uint32_t start;        /* REPEATED: offset of the first run's first slot */
    uint32_t stride;       /* REPEATED: bytes of an element */
};

/* Runs of many types in one array. */
struct clr_slot_pool {
    struct clr_slot_run *runs;
    size_t count, room;
};
void clr_slot_pool_deinit(struct clr_slot_pool *pool);

/* Decodes the GCDesc below TYPE. CLR_FAULT: not saved; CLR_BAD_DATA: runs outside the object, or a
 * cycle of elements that does not advance. */
enum clr_status clr_slots_read(const struct clr_runtime *runtime, const struct clr_type *type,
                               struct clr_slot_pool *pool, struct clr_slots *slots,
                               struct clr_error *error);

/* The runs of one object. RAW is base size + count * component size, not rounded. */
struct clr_slot_walk {
    const struct clr_slot_run *run, *begin, *end;
    uint64_t raw, limit; /* limit: no slot at or after this offset */
    uint64_t element;    /* REPEATED: offset of the first slot of the current element */
    uint32_t stride;
    uint8_t kind, word;
};

static inline void clr_slot_walk_start(struct clr_slot_walk *walk, const struct clr_slots *slots,
                                       const struct clr_slot_pool *pool, uint64_t raw, uint8_t word)
{
    walk->begin = walk->run = pool->runs + slots->first;
    walk->end = walk->begin + slots->count;
    walk->kind = (uint8_t)slots->kind;
    walk->word = word;
    walk->raw = raw;
    walk->limit = raw > word ? raw - word : 0;
    walk->element = slots->start;
    walk->stride = slots->stride;
}

/* The next run: COUNT slots from OFFSET on; false at the end. */
static inline bool clr_slot_walk_next(struct clr_slot_walk *walk, uint64_t *offset, uint64_t *count)
{
    if (walk->kind == CLR_SLOTS_REPEATED) {
        if (walk->run == walk->end) {
            walk->run = walk->begin;
            walk->element += walk->stride;
        }
        *offset = walk->element + walk->run->offset;
        *count = walk->run->count;
        if (*offset >= walk->limit)
            return false;
        if (*count > (walk->limit - *offset) / walk->word)
            *count = (walk->limit - *offset) / walk->word;
        walk->run++;
        return true;
    }
    if (walk->run == walk->end)
        return false;
    *offset = walk->run->offset;
    if (walk->kind == CLR_SLOTS_FIXED)
        *count = walk->run->count;
    else
        *count = walk->raw > walk->run->count ? (walk->raw - walk->run->count) / walk->word : 0;
    walk->run++;
    return true;
}

#endif
