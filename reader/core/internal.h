/*
 * What the files of core/ share. Nothing outside core/ includes this.
 */
#ifndef CLR_CORE_INTERNAL_H
#define CLR_CORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/text.h"
#include "core/elf.h"
#include "core/process.h"

enum { CLR_PAGE = 4096 };
enum { CLR_FLAG_X = 1, CLR_FLAG_W = 2, CLR_FLAG_R = 4 };

/* --- memory.c: the bytes of a file ----------------------------------------------------------- */

/* A file's bytes at fixed addresses, in one of two ways:
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
bool clr_backing_read(struct clr_backing *backing, uint64_t offset, void *out, size_t size);
bool clr_same_file(const struct stat *a, const struct stat *b);

/* --- the process ----------------------------------------------------------------------------- */

struct clr_auxv_entry {
    uint64_t type, value;
};

/* One row of NT_FILE. */
struct clr_mapping {
    uint64_t start, end;
    uint64_t offset;  /* in the file, bytes */
    const char *path; /* without ' (deleted)' */
    bool deleted;
    bool has_flags; /* a PT_LOAD within it tells how it was mapped */
    uint32_t flags;
    uint64_t image_start; /* start of the image it belongs to */
    uint32_t image;       /* its index */
};

struct clr_process {
    struct clr_process_info info;
    int fd;
    struct stat opened; /* what the core was at that time */
    struct clr_elf elf; /* its handle is closed after opening; the segments stay */

    struct clr_backing *files; /* 0: the core; n: image file n */
    size_t file_count, file_room;
    struct clr_run *runs;
    uint64_t *starts; /* of the runs, dense: what the binary search touches */
    uint64_t *before; /* saved bytes in all runs before this one */
    size_t run_count;
    struct clr_region *regions;
    size_t region_count;

    struct clr_os_thread *threads;
    size_t thread_count, thread_room;
    struct clr_auxv_entry *auxv;
    size_t auxv_count, auxv_room;
    struct clr_mapping *mappings; /* in order of address once the notes are read */
    size_t mapping_count, mapping_room;
    struct clr_image *images;      /* in order of address */
    struct clr_elf_shape **shapes; /* of each image, NULL if it is none of ELF */
    size_t image_count, image_room;
    char **texts; /* owned */
    size_t text_count, text_room;
};

/* The ELF headers of an image, NULL if there are none. */
const struct clr_elf_shape *clr_image_shape(const struct clr_process *process,
                                            const struct clr_image *image);

/* A copy of LENGTH bytes as valid UTF-8 that lives with the process; NULL: no memory. */
const char *clr_process_keep(struct clr_process *process, const char *bytes, size_t length);

/* --- memory.c: runs --------------------------------------------------------------------------- */

/* A candidate for a run. Where several overlap the one of the lowest rank wins. */
struct clr_extent {
    uint64_t start, end, offset;
    uint32_t file;
    uint32_t rank;
};

/* Sorts by start, then rank. */
void clr_extents_sort(struct clr_extent *extents, size_t count);

/* Makes the runs out of EXTENTS, which it sorts. *OVERLAPPED: bytes that lost to a lower rank. */
enum clr_status clr_runs_build(struct clr_process *process, struct clr_extent *extents,
                               size_t count, uint64_t *overlapped, struct clr_error *error);

/* --- regions.c ---------------------------------------------------------------------------------
 */

struct clr_extents {
    struct clr_extent *items;
    size_t count, room;
};

/* What the file holds of the PT_LOADs. */
enum clr_status clr_loads_extents(const struct clr_process *process, struct clr_extents *extents,
                                  struct clr_error *error);
/* Fills the table of regions, and the flags of mappings. */
enum clr_status clr_regions_build(struct clr_process *process, struct clr_error *error);
/* Counts what is missing and reports it, and what is odd. Call when the runs are final. */
enum clr_status clr_loads_report(struct clr_process *process, uint64_t overlapped,
                                 struct clr_problems *problems, struct clr_error *error);

/* --- notes.c ---------------------------------------------------------------------------------- */

enum clr_status clr_notes_read(struct clr_process *process, struct clr_problems *problems,
                               struct clr_error *error);

/* --- images.c --------------------------------------------------------------------------------- */

enum clr_status clr_images_read(struct clr_process *process, struct clr_problems *problems,
                                struct clr_error *error);

/* --- files.c ---------------------------------------------------------------------------------- */

/* Finds and checks the file of every image and adds extents for what of it may stand in. */
enum clr_status clr_files_resolve(struct clr_process *process, const struct clr_options *options,
                                  struct clr_extents *extents, struct clr_problems *problems,
                                  struct clr_error *error);
/* --- relocate.c ------------------------------------------------------------------------------- */

/* Symbol look-up in the image's verified file. */
bool clr_file_symbol(const struct clr_process *process, const struct clr_image *image,
                     const char *name, uint64_t *address, uint64_t *size);

/* --- unpack.c --------------------------------------------------------------------------------- */

/* Says what a file is by its first bytes: an error unless it may be a core. A compressed one of
 * a kind that is served is unpacked: *FD is closed and replaced. */
enum clr_status clr_unpack(const char *path, int *fd, const struct clr_options *options,
                           struct clr_job *job, struct clr_problems *problems,
                           struct clr_error *error);

#endif
