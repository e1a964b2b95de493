/*
 * An arena: small blocks that live and die together (names, nodes). Blocks do not move. Owned by
 * one thread.
 */
#ifndef CLR_BASE_ARENA_H
#define CLR_BASE_ARENA_H

#include <stddef.h>

struct clr_arena_chunk;
struct clr_arena {
    struct clr_arena_chunk *chunk; /* the newest; older ones hang behind it */
};

/* Zeroed memory, aligned for any type; NULL: no memory. */
void *clr_arena_alloc(struct clr_arena *arena, size_t size);
/* A terminated copy of LENGTH bytes; NULL: no memory. */
char *clr_arena_text(struct clr_arena *arena, const char *text, size_t length);
void clr_arena_deinit(struct clr_arena *arena);

#endif
