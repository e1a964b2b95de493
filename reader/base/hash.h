/*
 * The hashes of the product: FNV-1a, 64 bits, of bytes, and a mix of one number for tables whose
 * size is a power of two. Both are the same on every machine: strings.content_hash is the former.
 */
#ifndef CLR_BASE_HASH_H
#define CLR_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define CLR_FNV_START 0xcbf29ce484222325u
#define CLR_FNV_PRIME 0x100000001b3u

/* Goes on from HASH; start with CLR_FNV_START. */
static inline uint64_t clr_hash_bytes(uint64_t hash, const void *bytes, size_t count)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ p[i]) * CLR_FNV_PRIME;
    return hash;
}

/* The low bits of the result depend on all bits of KEY. */
static inline uint64_t clr_hash_number(uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return key ^ (key >> 32);
}

#endif
