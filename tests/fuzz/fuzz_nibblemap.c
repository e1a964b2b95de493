/*
 * Nibble maps from a hostile dump: beginnings ascend and lie in their block, and a map written anew
 * from what was read gives the same again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "debug_encoder.h"
#include "runtime/nibblemap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; size - at >= 4; at += 4) {
        uint32_t value, again;
        memcpy(&value, data + at, 4);
        for (int pointers = 0; pointers < 2; pointers++) {
            uint32_t offsets[8];
            struct encoded_method methods[8];
            bool bad = false;
            unsigned count = clr_nibble_starts(value, pointers, offsets, &bad);
            if (count > 8)
                abort();
            for (unsigned i = 0; i < count; i++) {
                if (offsets[i] >= CLR_NIBBLE_BLOCK || (i > 0 && offsets[i] <= offsets[i - 1]))
                    abort();
                methods[i] = (struct encoded_method){offsets[i], 1};
            }
            encode_nibble_map(&again, 1, methods, count, false);
            if (!bad && count > 0 && again != value)
                abort();
        }
    }
    return 0;
}
