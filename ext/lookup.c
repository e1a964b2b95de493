/*
 * Look-ups; see lookup.h.
 */
#include "lookup.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash.h"

bool clr_lookup_add(struct clr_lookup *index, uint64_t key, uint32_t row)
{
    if (!clr_grow(&index->entries, index->count, &index->room, sizeof *index->entries))
        return false;
    index->entries[index->count++] = (struct clr_lookup_entry){(int64_t)key, row};
    return true;
}

static int compare_entries(const void *left, const void *right)
{
    const struct clr_lookup_entry *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

void clr_lookup_sort(struct clr_lookup *index)
{
    if (index->count > 1)
        qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
    index->built = true;
}

size_t clr_lookup_find(const struct clr_lookup *index, int64_t key)
{
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void clr_lookup_range(const struct clr_lookup *index, int64_t key, size_t *first, size_t *count)
{
    *first = clr_lookup_find(index, key);
    size_t end = *first;
    while (end < index->count && index->entries[end].key == key)
        end++;
    *count = end - *first;
}

void clr_lookup_deinit(struct clr_lookup *index)
{
    clr_free(index->entries);
    *index = (struct clr_lookup){0};
}

uint64_t clr_text_key(const char *text, size_t length)
{
    return clr_hash_bytes(CLR_FNV_START, text, length);
}

void clr_list_index_destroy(struct clr_list_index *index)
{
    clr_lookup_deinit(&index->lookup);
    clr_free(index);
}

void clr_list_indexes_destroy(struct clr_list_index *first)
{
    while (first) {
        struct clr_list_index *next = first->next;
        clr_list_index_destroy(first);
        first = next;
    }
}
