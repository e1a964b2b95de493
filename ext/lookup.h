/*
 * A look-up: one sorted array of (key, row). It is built at once, searched by halves, and small,
 * because the lists behind it are: types, modules, segments, threads. Objects have indexes of their
 * own (heap/index.c, postings).
 */
#ifndef CLR_LOOKUP_H
#define CLR_LOOKUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Entries sorted by key (as SQLite sorts: signed), then by row. */
struct clr_lookup_entry {
    int64_t key;
    uint32_t row;
};
struct clr_lookup {
    struct clr_lookup_entry *entries;
    size_t count, room;
    bool built;
};

bool clr_lookup_add(struct clr_lookup *index, uint64_t key, uint32_t row); /* false: no memory */
void clr_lookup_sort(struct clr_lookup *index);
/* The first entry with KEY or a greater one; index->count if there is none. */
size_t clr_lookup_find(const struct clr_lookup *index, int64_t key);
/* The entries with KEY: the first, and how many. */
void clr_lookup_range(const struct clr_lookup *index, int64_t key, size_t *first, size_t *count);
void clr_lookup_deinit(struct clr_lookup *index);
/* A key for texts: the hash of a name. Texts of one key need not be equal: SQLite checks again. */
uint64_t clr_text_key(const char *text, size_t length);

#endif
