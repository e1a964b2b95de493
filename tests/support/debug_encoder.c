#include "debug_encoder.h"

#include <stdlib.h>
#include <string.h>

enum { ESCAPE = -1 };

static void need(struct encoded *e, size_t size)
{
    while (size > e->room) {
        size_t room = e->room ? e->room * 2 : 256;
        e->bytes = realloc(e->bytes, room);
        if (!e->bytes)
            abort();
        memset(e->bytes + e->room, 0, room - e->room);
        e->room = room;
    }
}

void encoded_free(struct encoded *e)
{
    free(e->bytes);
    *e = (struct encoded){0};
}

void encode_bytes(struct encoded *e, const void *bytes, size_t size)
{
    need(e, e->size + size);
    if (size)
        memcpy(e->bytes + e->size, bytes, size);
    e->size += size;
    e->start = e->size;
    e->nibbles = 0;
}

static void put_nibble(struct encoded *e, unsigned nibble)
{
    size_t byte = e->start + e->nibbles / 2;
    need(e, byte + 1);
    e->bytes[byte] = (uint8_t)(e->bytes[byte] | nibble << (e->nibbles & 1 ? 4 : 0));
    e->nibbles++;
    e->size = byte + 1;
}

void encode_number(struct encoded *e, uint32_t value)
{
    unsigned groups = 1;
    while (groups < 11 && (uint64_t)value >> (3 * groups))
        groups++;
    while (groups-- > 0)
        put_nibble(e, (unsigned)((uint64_t)value >> (3 * groups) & 7) | (groups ? 8 : 0));
}

void encode_signed(struct encoded *e, int32_t value)
{
    uint32_t magnitude = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;
    encode_number(e, magnitude << 1 | (value < 0));
}

void encode_align(struct encoded *e)
{
    e->start = e->size;
    e->nibbles = 0;
}

static unsigned bits_of(uint32_t value)
{
    unsigned bits = 1;
    while (bits < 32 && value >> bits)
        bits++;
    return bits;
}

/* Bits go behind the aligned end, lowest first. */
static void put_bits(struct encoded *e, size_t *at, uint64_t value, unsigned count)
{
    need(e, e->start + (*at + count + 7) / 8);
    for (unsigned i = 0; i < count; i++, ++*at)
        e->bytes[e->start + *at / 8] =
            (uint8_t)(e->bytes[e->start + *at / 8] | (value >> i & 1) << (*at % 8));
    e->size = e->start + (*at + 7) / 8;
}

void encode_bounds(struct encoded *e, const struct clr_debug_format *format,
                   const struct clr_bound *bounds, size_t count)
{
    uint32_t last = 0, most_native = 0, most_il = 0;
    encode_number(e, (uint32_t)count);
    for (size_t i = 0; i < count; last = bounds[i++].native_offset) {
        uint32_t native = bounds[i].native_offset - last;
        uint32_t il = (uint32_t)bounds[i].il_offset + 3;
        most_native = native > most_native ? native : most_native;
        most_il = il > most_il ? il : most_il;
        if (format->source_bits == 0) {
            encode_number(e, native);
            encode_number(e, il);
            encode_number(e, bounds[i].source);
        }
    }
    if (format->source_bits == 0) {
        encode_align(e);
        return;
    }
    unsigned native_bits = bits_of(most_native), il_bits = bits_of(most_il);
    encode_number(e, native_bits - 1);
    encode_number(e, il_bits - 1);
    encode_align(e);
    size_t at = 0;
    last = 0;
    for (size_t i = 0; i < count; last = bounds[i++].native_offset) {
        uint64_t source = 0;
        for (unsigned bit = 0; bit < format->source_bits; bit++)
            if (bounds[i].source & format->source_flag[bit])
                source |= 1u << bit;
        put_bits(e, &at, source, format->source_bits);
        put_bits(e, &at, bounds[i].native_offset - last, native_bits);
        put_bits(e, &at, (uint32_t)bounds[i].il_offset + 3, il_bits);
    }
    encode_align(e);
}

static void encode_location(struct encoded *e, const struct clr_variable *v)
{
    encode_number(e, v->kind);
    switch (v->kind) {
    case CLR_VAR_REGISTER:
    case CLR_VAR_REGISTER_BYREF:
    case CLR_VAR_REGISTER_FLOAT: encode_number(e, v->register1); break;
    case CLR_VAR_STACK:
    case CLR_VAR_STACK_BYREF:
    case CLR_VAR_STACK_DOUBLE:
        encode_number(e, v->register1);
        encode_signed(e, v->offset);
        break;
    case CLR_VAR_REGISTER_REGISTER:
        encode_number(e, v->register1);
        encode_number(e, v->register2);
        break;
    case CLR_VAR_REGISTER_STACK:
        encode_number(e, v->register2);
        encode_number(e, v->register1);
        encode_signed(e, v->offset);
        break;
    case CLR_VAR_STACK_REGISTER:
        encode_signed(e, v->offset);
        encode_number(e, v->register1);
        encode_number(e, v->register2);
        break;
    case CLR_VAR_FLOAT_STACK:
    case CLR_VAR_FIXED: encode_number(e, (uint32_t)v->offset); break;
    case CLR_VAR_KINDS: abort();
    }
}

void encode_variables(struct encoded *e, const struct clr_debug_format *format,
                      const struct clr_variable *variables, size_t count)
{
    encode_number(e, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        const struct clr_variable *v = &variables[i];
        uint32_t number = (uint32_t)v->number + format->number_bias;
        if (format->number_first)
            encode_number(e, number);
        encode_number(e, v->start);
        encode_number(e, format->call_return != 0 && v->number == format->call_return
                             ? v->call_il
                             : v->end - v->start);
        if (!format->number_first)
            encode_number(e, number);
        encode_location(e, v);
    }
    encode_align(e);
}

static uint32_t size_of(const struct encoded *part)
{
    return part ? (uint32_t)part->size : 0;
}

static void put_part(struct encoded *e, const struct encoded *part)
{
    if (part)
        encode_bytes(e, part->bytes, part->size);
}

void encode_blob(struct encoded *e, const struct clr_debug_format *format, bool flagged,
                 const struct encoded_parts *parts)
{
    if (format->flag_byte && flagged) {
        uint8_t flags = (uint8_t)((parts->patchpoint ? 1 : 0) | (parts->rich ? 2 : 0));
        encode_bytes(e, &flags, 1);
        put_part(e, parts->patchpoint);
        if (parts->rich) {
            uint32_t size = size_of(parts->rich);
            uint8_t bytes[4] = {(uint8_t)size, (uint8_t)(size >> 8), (uint8_t)(size >> 16),
                                (uint8_t)(size >> 24)};
            encode_bytes(e, bytes, 4);
            put_part(e, parts->rich);
        }
    }
    encode_align(e);
    const uint32_t bounds = size_of(parts->bounds);
    if (format->container == CLR_DEBUG_FAT) {
        bool fat = bounds == 0 || parts->uninstrumented || parts->patchpoint || parts->rich ||
                   parts->async;
        if (fat)
            encode_number(e, 0);
        encode_number(e, bounds);
        encode_number(e, size_of(parts->variables));
        if (fat) {
            encode_number(e, size_of(parts->uninstrumented));
            encode_number(e, size_of(parts->patchpoint));
            encode_number(e, size_of(parts->rich));
            encode_number(e, size_of(parts->async));
        }
        encode_align(e);
        put_part(e, parts->bounds);
        put_part(e, parts->variables);
        put_part(e, parts->uninstrumented);
        put_part(e, parts->patchpoint);
        put_part(e, parts->rich);
        put_part(e, parts->async);
        return;
    }
    if (format->container == CLR_DEBUG_TRIPLE && parts->uninstrumented) {
        encode_number(e, (uint32_t)ESCAPE);
        encode_number(e, bounds);
        encode_number(e, size_of(parts->uninstrumented));
    } else {
        encode_number(e, bounds);
    }
    encode_number(e, size_of(parts->variables));
    encode_align(e);
    put_part(e, parts->bounds);
    if (format->container == CLR_DEBUG_TRIPLE)
        put_part(e, parts->uninstrumented);
    put_part(e, parts->variables);
}

void encode_nibble_map(uint32_t *map, size_t entries, const struct encoded_method *methods,
                       size_t count, bool pointers)
{
    memset(map, 0, entries * sizeof *map);
    for (size_t i = 0; i < count; i++) {
        uint32_t start = methods[i].start, unit = start % 32 / 4;
        map[start / 256] |= (unit + 1) << (28 - 4 * (start % 256 / 32));
        /* All blocks that the method fills to the end point at it. */
        for (uint32_t block = start / 256 + 1;
             pointers && (uint64_t)(block + 1) * 256 <= (uint64_t)start + methods[i].size; block++)
            map[block] = (start & ~15u) | (start % 16 / 4 + 9);
    }
}
