/*
 * The only allocator of the reader. Sizes are count * size and checked for overflow; every block is
 * counted; a test can make the n-th allocation fail. Nothing else in reader/ calls malloc.
 *
 * Callers bound what they ask for by what the dump holds, never by what its headers announce.
 */
#ifndef CLR_BASE_ALLOC_H
#define CLR_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed memory, or NULL. A block of no bytes is a valid pointer. */
void *clr_alloc(size_t count, size_t size);

/* Grows or shrinks BLOCK (NULL: a new one) to COUNT items; new bytes are not zeroed. On failure
 * NULL, and BLOCK is still valid. */
void *clr_realloc(void *block, size_t count, size_t size);

void clr_free(void *block);

/* A terminated copy of LENGTH bytes. */
char *clr_copy_text(const char *text, size_t length);

/* Large dense arrays: zeroed, page aligned, asked to be backed by huge pages (one fault per 2 MiB
 * instead of per 4 KiB is worth a factor of two in the graph). Free with the same size. */
void *clr_alloc_large(size_t count, size_t size);
void clr_free_large(void *block, size_t count, size_t size);
/* Has the system clear the pages of bytes FROM .. TO of such a block now, which several threads can
 * do at once, rather than at their first use. Content stays; where the system cannot, nothing is
 * done. */
void clr_touch_large(void *block, size_t from, size_t to);

/* Makes room for one more item in *ITEMS (doubling); false when memory ran out. */
int clr_grow(void *items, size_t used, size_t *room, size_t size);

/* For tests: the N-th allocation from now (1 = the next) and all after it fail; 0: none does. */
void clr_alloc_fail_at(uint64_t n);
/* For tests: blocks that are allocated now; allocations made since the start. */
uint64_t clr_alloc_live(void);
uint64_t clr_alloc_made(void);

#endif
