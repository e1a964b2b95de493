/*
 * The struct behind clr_process. Nothing outside core/ includes this.
 */
#ifndef CLR_CORE_PRIVATE_H
#define CLR_CORE_PRIVATE_H

#include "base/array.h"
#include "core/memory.h"
#include "core/format.h"

enum { CLR_PAGE = 4096 };

struct clr_process {
    struct clr_process_info info; /* the format fills machine to signal_thread, page_size */
    int fd;
    struct stat opened; /* what the dump was at that time */

    /* Filled by the format. */
    CLR_ARRAY(struct clr_range) ranges;
    CLR_ARRAY(struct clr_file_part) described;
    uint64_t announced_end; /* the first byte of the file behind all that its headers announce */
    CLR_ARRAY(struct clr_os_thread) threads;
    CLR_ARRAY(struct clr_auxv_entry) auxv;
    CLR_ARRAY(struct clr_mapping) mappings; /* in order of address */

    CLR_ARRAY(struct clr_backing) files; /* 0: the dump; n: image file n */
    struct clr_run *runs;
    uint64_t *starts; /* of the runs, dense: what the binary search touches */
    uint64_t *before; /* saved bytes in all runs before this one */
    size_t run_count;
    CLR_ARRAY(struct clr_region) regions;
    CLR_ARRAY(struct clr_image) images; /* in order of address */
    CLR_ARRAY(char *) texts;            /* owned */
};

/* A copy of LENGTH bytes as valid UTF-8 that lives with the process; NULL: no memory. */
const char *clr_process_keep(struct clr_process *process, const char *bytes, size_t length);

#endif
