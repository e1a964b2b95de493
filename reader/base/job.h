/*
 * Long work: progress, cancel, and fork-join over numbered items.
 *
 * Workers live inside one call. Worker 0 is the calling thread: it alone calls poll, 20 to 50 times
 * a second, and works on items in between; the others look at a flag. Items are taken in order from
 * a shared counter; an item's result goes into a place of its own, so that results do not depend on
 * which worker took it. The first failure by item number wins.
 */
#ifndef CLR_BASE_JOB_H
#define CLR_BASE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct clr_job {
    bool (*poll)(void *context, const char *what, uint64_t done, uint64_t total); /* false: stop */
    void *context;
    unsigned threads;   /* at most; 0 counts as 1 */
    uint64_t last_poll; /* private: monotonic nanoseconds */
};

/* Asks for progress and cancel from serial work on the calling thread. Cheap when called often
 * (reads a clock; polls 40 times a second). JOB may be NULL. CLR_CANCELLED when the user said stop. */
enum clr_status clr_job_poll(struct clr_job *job, const char *what, uint64_t done, uint64_t total,
                             struct clr_error *error);

typedef enum clr_status clr_job_item(void *context, unsigned worker, size_t item,
                                     struct clr_error *error);

/* Runs ITEM for 0 .. ITEMS-1 on up to job->threads threads. WORKER < clr_job_threads(job). JOB may
 * be NULL (one thread, no cancel). An item should take under 10 ms, or cancel is late. */
enum clr_status clr_job_run(struct clr_job *job, const char *what, size_t items, clr_job_item *item,
                            void *context, struct clr_error *error);

unsigned clr_job_threads(const struct clr_job *job);

#endif
