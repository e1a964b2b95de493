/*
 * Binary search in anything that is sorted and can be asked by index: the one such loop of the
 * product. It is a macro, so that a search in a hot path costs what a loop written by hand costs.
 */
#ifndef CLR_BASE_SEARCH_H
#define CLR_BASE_SEARCH_H

#include <stddef.h>

/* Sets AT, a variable of an integer type, to the first index in [FIRST, END) for which BEFORE is
 * false, or to END. BEFORE is an expression about AT that is true up to some index and false from
 * there on: CLR_SEARCH(i, 0, count, rows[i].start < address) finds the first row at or behind
 * ADDRESS; with <=, the first one behind it. */
#define CLR_SEARCH(at, first, end, before)                                                         \
    do {                                                                                           \
        __typeof__(at) clr_low = (first), clr_high = (end);                                        \
        while (clr_low < clr_high) {                                                               \
            (at) = clr_low + (clr_high - clr_low) / 2;                                             \
            if (before)                                                                            \
                clr_low = (at) + 1;                                                                \
            else                                                                                   \
                clr_high = (at);                                                                   \
        }                                                                                          \
        (at) = clr_low;                                                                            \
    } while (0)

#endif
