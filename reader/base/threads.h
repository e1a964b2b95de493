/*
 * How many threads work is given to.
 */
#ifndef CLR_BASE_THREADS_H
#define CLR_BASE_THREADS_H

enum {
    CLR_THREADS_DEFAULT_MAX = 8, /* what nobody asked for: memory, not processors, is the limit */
    CLR_THREADS_MAX = 64,        /* what somebody asked for */
};

/* WANTED, at most CLR_THREADS_MAX; 0: the processors that this process may use, by its affinity and
 * by the limits of its control groups, at least 1 and at most CLR_THREADS_DEFAULT_MAX. ROOT, for
 * tests: the folder in which /proc and /sys lie; NULL: those of this machine. */
unsigned clr_threads(unsigned wanted, const char *root);

#endif
