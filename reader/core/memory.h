/*
 * The bytes of files, and the runs of memory that are made of them. Private to core/.
 */
#ifndef CLR_CORE_MEMORY_H
#define CLR_CORE_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "core/process.h"

/* A file's bytes at fixed addresses, in one of two forms:
 *   mapped     the core, by default: the page cache does the work
 *   piecewise  a private copy that is filled on first use, so that a file which is cut meanwhile
 *              is a failed read and not a SIGBUS: the core with option mmap: 0, and image files */
struct clr_backing {
    uint8_t *data;
    uint64_t size;
    int fd;     /* the core's; -1 for an image: PATH is opened again for each piece */
    char *path; /* of an image */
    struct stat identity;
    atomic_uchar *pieces; /* 1 where a piece is there; NULL if mapped */
    pthread_mutex_t lock; /* one reader fills a piece */
};

/* FD of the file whose identity is known; it is kept (core) or PATH (image), which is copied. */
enum clr_status clr_backing_open(struct clr_backing *backing, int fd, const char *path,
                                 const struct stat *identity, bool mapped, struct clr_error *error);
void clr_backing_close(struct clr_backing *backing);
const uint8_t *clr_backing_view(struct clr_backing *backing, uint64_t offset, uint64_t want,
                                uint64_t *got);
bool clr_same_file(const struct stat *a, const struct stat *b);

/* A candidate for a run. Where several overlap the one of the lowest rank wins. */
struct clr_extent {
    uint64_t start, end, offset;
    uint32_t file;
    uint32_t rank;
};

struct clr_extents {
    struct clr_extent *items;
    size_t count, room;
};

/* Sorts by start, then rank. */
void clr_extents_sort(struct clr_extents *extents);

/* Makes the runs out of EXTENTS, which it sorts. *OVERLAPPED: bytes for which a lower rank was taken. */
enum clr_status clr_runs_build(struct clr_process *process, struct clr_extents *extents,
                               uint64_t *overlapped, struct clr_error *error);

#endif
