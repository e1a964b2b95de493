/*
 * How many roots lead to an object, and which one a shortest path begins at: whether a root may be
 * named as what keeps the object alive.
 */
#ifndef CLR_DUMP_HOLDERS_H
#define CLR_DUMP_HOLDERS_H

#include "dump/dump.h"

/* Roots are counted up to this many, and a search passes no more objects than that. */
enum { CLR_ROOT_COUNT_MAX = 100, CLR_ROOT_SEARCH_MAX = 1 << 17 };

/* Counts the roots (slots) that lead to object NUMBER: exact for 0 (not reachable) and 1; from 2 on as
 * many as were found within the limits above. Conservative roots count only for an object that no
 * precise root reaches. Needs REACH, REVERSE and DOMINATED; JOB may be NULL. */
enum clr_status clr_root_count(struct clr_dump *dump, uint32_t number, struct clr_job *job,
                               uint32_t *count, struct clr_error *error);

/* The id of the root that the shortest path to each object begins at, by object number; of objects that
 * are not reachable it means nothing. 4 bytes an object, made on first use, lives with the dump. Needs
 * REACH. */
enum clr_status clr_nearest_roots(struct clr_dump *dump, struct clr_job *job,
                                  const uint32_t **roots, struct clr_error *error);

#endif
