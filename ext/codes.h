/*
 * What the tables of native code share: which rows of the reader's list a query asks for.
 */
#ifndef CLR_CODES_H
#define CLR_CODES_H

#include "runtime/code.h"
#include "table.h"

/* The rows of QUERY, whose first key is a method (BY_METHOD: places in by_method), a start
 * (BY_START), or a range of starts: the first, and how many. */
void clr_codes_choose(const struct clr_codes *codes, const struct clr_query *query, bool by_method,
                      bool by_start, size_t *first, size_t *count);

#endif
