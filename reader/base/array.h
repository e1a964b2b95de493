/*
 * A growing array of one type: CLR_ARRAY(struct clr_run) runs = {0}. Owned by one thread; items may
 * move when one is added.
 */
#ifndef CLR_BASE_ARRAY_H
#define CLR_BASE_ARRAY_H

#include <stdbool.h>

#include "base/alloc.h"

#define CLR_ARRAY(type)                                                                            \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, room;                                                                        \
    }

/* Makes room for one more; false when memory ran out, and the array is as it was. */
#define CLR_ARRAY_ROOM(array)                                                                      \
    clr_grow(&(array)->items, (array)->count, &(array)->room, sizeof *(array)->items)

/* Appends an item (an expression; evaluated only if there is room). False: no memory. */
#define CLR_ARRAY_ADD(array, ...)                                                                  \
    (CLR_ARRAY_ROOM(array) ? ((array)->items[(array)->count++] = (__VA_ARGS__), true) : false)

#define CLR_ARRAY_FREE(array)                                                                      \
    do {                                                                                           \
        clr_free((array)->items);                                                                  \
        (array)->items = NULL;                                                                     \
        (array)->count = (array)->room = 0;                                                        \
    } while (0)

#endif
