/*
 * A bounded cursor over bytes that nobody vouches for. Every decoder of a blob (notes, metadata,
 * signatures, PE headers) reads through it: a read past the end returns 0 and sets `bad`, and all
 * later reads fail too, so that a decoder may check once, at its end.
 */
#ifndef CLR_BASE_BYTES_H
#define CLR_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct clr_bytes {
    const uint8_t *data;
    size_t size, at;
    bool swapped; /* the bytes are in the other byte order than this machine's */
    bool bad;
};

static inline struct clr_bytes clr_bytes(const void *data, size_t size)
{
    return (struct clr_bytes){.data = data, .size = data ? size : 0};
}

/* COUNT bytes at the cursor, which moves past them; NULL (and bad) if they are not there. */
static inline const uint8_t *clr_bytes_take(struct clr_bytes *b, size_t count)
{
    if (b->bad || count > b->size - b->at) {
        b->bad = true;
        return NULL;
    }
    const uint8_t *taken = b->data + b->at;
    b->at += count;
    return taken;
}

static inline void clr_bytes_seek(struct clr_bytes *b, size_t at)
{
    if (at > b->size)
        b->bad = true;
    else
        b->at = at;
}

static inline uint8_t clr_bytes_u8(struct clr_bytes *b)
{
    const uint8_t *p = clr_bytes_take(b, 1);
    return p ? *p : 0;
}

static inline uint16_t clr_bytes_u16(struct clr_bytes *b)
{
    uint16_t v = 0;
    const uint8_t *p = clr_bytes_take(b, sizeof v);
    if (p)
        memcpy(&v, p, sizeof v);
    return b->swapped ? __builtin_bswap16(v) : v;
}

static inline uint32_t clr_bytes_u32(struct clr_bytes *b)
{
    uint32_t v = 0;
    const uint8_t *p = clr_bytes_take(b, sizeof v);
    if (p)
        memcpy(&v, p, sizeof v);
    return b->swapped ? __builtin_bswap32(v) : v;
}

static inline uint64_t clr_bytes_u64(struct clr_bytes *b)
{
    uint64_t v = 0;
    const uint8_t *p = clr_bytes_take(b, sizeof v);
    if (p)
        memcpy(&v, p, sizeof v);
    return b->swapped ? __builtin_bswap64(v) : v;
}

/* A word of SIZE bytes (4 or 8). */
static inline uint64_t clr_bytes_word(struct clr_bytes *b, size_t size)
{
    return size == 4 ? clr_bytes_u32(b) : clr_bytes_u64(b);
}

#endif
