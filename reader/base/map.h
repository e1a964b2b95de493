/*
 * A hash map from 64-bit keys to 64-bit values: open addressing, linear probing, power of two.
 * Key 0 is not storable (an address that means "none"). No deletion. Owned by one thread.
 */
#ifndef CLR_BASE_MAP_H
#define CLR_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/hash.h"

struct clr_map_entry {
    uint64_t key, value;
};

struct clr_map {
    struct clr_map_entry *entries; /* room is 0 or a power of two */
    size_t room, count;
};

static inline size_t clr_map_hash(uint64_t key)
{
    return (size_t)clr_hash_number(key);
}

/* The entry of KEY, or the free one where it belongs. The map is never full. */
static inline struct clr_map_entry *clr_map_slot(const struct clr_map *map, uint64_t key)
{
    size_t i = clr_map_hash(key) & (map->room - 1);
    while (map->entries[i].key != 0 && map->entries[i].key != key)
        i = (i + 1) & (map->room - 1);
    return &map->entries[i];
}

static inline bool clr_map_get(const struct clr_map *map, uint64_t key, uint64_t *value)
{
    if (map->count == 0 || key == 0)
        return false;
    const struct clr_map_entry *entry = clr_map_slot(map, key);
    *value = entry->value;
    return entry->key == key;
}

/* Stores VALUE under KEY, replacing what was there. False when memory ran out or KEY is 0. */
static inline bool clr_map_put(struct clr_map *map, uint64_t key, uint64_t value)
{
    if (key == 0)
        return false;
    if ((map->count + 1) * 4 > map->room * 3) {
        struct clr_map grown = {.room = map->room ? map->room * 2 : 64, .count = map->count};
        if (!(grown.entries = clr_alloc(grown.room, sizeof *grown.entries)))
            return false;
        for (size_t i = 0; i < map->room; i++)
            if (map->entries[i].key != 0)
                *clr_map_slot(&grown, map->entries[i].key) = map->entries[i];
        clr_free(map->entries);
        *map = grown;
    }
    struct clr_map_entry *entry = clr_map_slot(map, key);
    map->count += entry->key == 0;
    *entry = (struct clr_map_entry){key, value};
    return true;
}

static inline void clr_map_deinit(struct clr_map *map)
{
    clr_free(map->entries);
    *map = (struct clr_map){0};
}

#endif
