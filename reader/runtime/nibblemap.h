/*
 * Nibble maps: where in a heap of code the methods begin.
 *
 * A u32 of the map stands for 256 bytes of code as eight buckets of 32, the first bucket in the
 * highest nibble. 0: nothing begins in the bucket; 1 to 8: something begins at its 4-byte unit 0
 * to 7 (two that begin in one bucket cannot be: code is aligned to 16 and has a header). Two
 * forms:
 *
 *   linear         (ExecutionManager 1)        nothing else
 *   constant time  (ExecutionManager 2, c1)    a u32 whose lowest nibble is over 8 is a pointer:
 *                  all its 256 bytes belong to the method that begins at (value & ~15) +
 *                  (lowest nibble - 9) * 4 from the start of the heap
 *
 * Knowledge: the runtime's docs/design/datacontracts/ExecutionManager.md, nibblemapmacros.h.
 */
#ifndef CLR_RUNTIME_NIBBLEMAP_H
#define CLR_RUNTIME_NIBBLEMAP_H

#include <stdbool.h>
#include <stdint.h>

enum { CLR_NIBBLE_BLOCK = 256 }; /* bytes of code for each u32 */

/* The beginnings in one u32, as offsets from its block, ascending: how many (at most 8). POINTERS:
 * the constant-time form. *BAD is set if a nibble means nothing. */
static inline unsigned clr_nibble_starts(uint32_t value, bool pointers, uint32_t offsets[8],
                                         bool *bad)
{
    enum { BUCKET = 32, UNIT = 4, LAST_UNIT = 8, BUCKETS = 8 };
    unsigned count = 0;
    if (value == 0 || (pointers && (value & 15) > LAST_UNIT))
        return 0;
    for (unsigned bucket = 0; bucket < BUCKETS; bucket++) {
        uint32_t nibble = value >> (28 - 4 * bucket) & 15;
        if (nibble > LAST_UNIT)
            *bad = true;
        else if (nibble != 0)
            offsets[count++] = bucket * BUCKET + (nibble - 1) * UNIT;
    }
    return count;
}

#endif
