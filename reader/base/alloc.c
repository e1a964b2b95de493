#include "base/alloc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Counters of the process, for tests only: no behaviour of the product hangs on them. */
static atomic_uint_fast64_t live, made, fail_at;

static bool may_allocate(void)
{
    uint64_t n = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
    uint64_t limit = atomic_load_explicit(&fail_at, memory_order_relaxed);
    return limit == 0 || n < limit;
}

static void *counted(void *block)
{
    if (block)
        atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return block;
}

void *clr_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (!may_allocate() || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return counted(calloc(bytes ? bytes : 1, 1));
}

void *clr_realloc(void *block, size_t count, size_t size)
{
    size_t bytes;
    if (!may_allocate() || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *grown = realloc(block, bytes ? bytes : 1);
    return block ? grown : counted(grown);
}

void clr_free(void *block)
{
    if (block) {
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        free(block);
    }
}

char *clr_copy_text(const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? clr_alloc(length + 1, 1) : NULL;
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

void *clr_alloc_large(size_t count, size_t size)
{
    size_t bytes;
    if (!may_allocate() || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    if (bytes == 0)
        bytes = 1;
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return NULL;
    madvise(block, bytes, MADV_HUGEPAGE);
    return counted(block);
}

void clr_free_large(void *block, size_t count, size_t size)
{
    if (block) {
        size_t bytes = count * size; /* was checked when it was allocated */
        atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
        munmap(block, bytes ? bytes : 1);
    }
}

void clr_touch_large(void *block, size_t from, size_t to)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t start = ((uintptr_t)block + from) & ~(uintptr_t)4095;
    if (from < to)
        madvise((void *)start, (uintptr_t)block + to - start, MADV_POPULATE_WRITE);
#else
    (void)block, (void)from, (void)to;
#endif
}

int clr_grow(void *items, size_t used, size_t *room, size_t size)
{
    if (used < *room)
        return 1;
    size_t wanted = *room ? *room * 2 : 16;
    void *block, *grown;
    memcpy(&block, items, sizeof block);
    if (wanted < *room || !(grown = clr_realloc(block, wanted, size)))
        return 0;
    memcpy(items, &grown, sizeof grown);
    *room = wanted;
    return 1;
}

void clr_alloc_fail_at(uint64_t n)
{
    atomic_store(&fail_at, n ? atomic_load(&made) + n : 0);
}

uint64_t clr_alloc_live(void)
{
    return atomic_load(&live);
}

uint64_t clr_alloc_made(void)
{
    return atomic_load(&made);
}
