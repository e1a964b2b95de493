/*
 * Writers of DebugInfo in each of its formats, and of nibble maps: the inverse of the reader, so
 * that decode(encode(x)) = x can be asked of random x, and blobs can be written anew and compared.
 */
#ifndef TEST_DEBUG_ENCODER_H
#define TEST_DEBUG_ENCODER_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/debuginfo.h"

struct encoded {
    uint8_t *bytes; /* zeroed beyond size; freed with encoded_free */
    size_t size, room;
    size_t nibbles; /* written since the last alignment began, from byte `start` */
    size_t start;
};

void encoded_free(struct encoded *e);
void encode_bytes(struct encoded *e, const void *bytes, size_t size);
void encode_number(struct encoded *e, uint32_t value); /* nibbles */
void encode_signed(struct encoded *e, int32_t value);
void encode_align(struct encoded *e); /* the next byte begins */

/* A chunk of bounds as the runtime's writer makes it: the narrowest widths. */
void encode_bounds(struct encoded *e, const struct clr_debug_format *format,
                   const struct clr_bound *bounds, size_t count);
void encode_variables(struct encoded *e, const struct clr_debug_format *format,
                      const struct clr_variable *variables, size_t count);

/* A whole blob. Chunks that are NULL are not there. FLAGGED: with the flag byte of a JIT. */
struct encoded_parts {
    const struct encoded *bounds, *variables, *uninstrumented, *patchpoint, *rich, *async;
};
void encode_blob(struct encoded *e, const struct clr_debug_format *format, bool flagged,
                 const struct encoded_parts *parts);

/* The map of COUNT methods (start, size), ascending, starts aligned to 16: `entries` u32s.
 * POINTERS: the constant-time form. */
struct encoded_method {
    uint32_t start, size;
};
void encode_nibble_map(uint32_t *map, size_t entries, const struct encoded_method *methods,
                       size_t count, bool pointers);

#endif
