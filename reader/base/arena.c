#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum { CHUNK_BYTES = 16384 };

struct clr_arena_chunk {
    struct clr_arena_chunk *older;
    size_t used, room;
    alignas(max_align_t) uint8_t data[];
};

/* A block that is larger than a chunk gets a chunk of its own, behind the newest one, so that what
 * is left of that is still used. */
static struct clr_arena_chunk *add_chunk(struct clr_arena *arena, size_t size)
{
    size_t room = size > CHUNK_BYTES ? size : CHUNK_BYTES;
    if (room > SIZE_MAX - sizeof(struct clr_arena_chunk))
        return NULL;
    struct clr_arena_chunk *chunk = clr_alloc(sizeof *chunk + room, 1);
    if (!chunk)
        return NULL;
    chunk->room = room;
    if (size > CHUNK_BYTES && arena->chunk) {
        chunk->older = arena->chunk->older;
        arena->chunk->older = chunk;
    } else {
        chunk->older = arena->chunk;
        arena->chunk = chunk;
    }
    return chunk;
}

void *clr_arena_alloc(struct clr_arena *arena, size_t size)
{
    enum { ALIGNMENT = alignof(max_align_t) };
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    struct clr_arena_chunk *chunk = arena->chunk;
    if (!chunk || size > chunk->room - chunk->used)
        chunk = add_chunk(arena, size);
    if (!chunk)
        return NULL;
    void *block = chunk->data + chunk->used;
    chunk->used += size;
    return block;
}

char *clr_arena_text(struct clr_arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? clr_arena_alloc(arena, length + 1) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}

void clr_arena_deinit(struct clr_arena *arena)
{
    while (arena->chunk) {
        struct clr_arena_chunk *older = arena->chunk->older;
        clr_free(arena->chunk);
        arena->chunk = older;
    }
}
