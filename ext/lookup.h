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

struct clr_table;

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

/* An index of a list, made on first use and kept with the dump, or with the session if the table needs
 * none. Rows are numbers in the order of the key; of the order itself they are numbers in the list. */
struct clr_list_index {
    const struct clr_table *table;
    int column; /* -1: the order of the key */
    struct clr_lookup lookup;
    size_t list_count; /* rows of the list when it was made: a list may grow */
    unsigned users;    /* cursors that read it */
    struct clr_list_index *next;
};
void clr_list_index_destroy(struct clr_list_index *index);
void clr_list_indexes_destroy(struct clr_list_index *first);

#endif
