/*
 * What a process gets from the file of its dump, and the interface of a file format. ELF cores are
 * the one format that is read (elf.c, notes.c). Another one is another row in unpack.c: users of a
 * process do not know where its facts come from.
 *
 * A format reads what describes the process once, when the dump is opened, and fills the members of
 * struct clr_process that private.h marks. Memory is not read: ranges say where in the file it
 * lies.
 */
#ifndef CLR_CORE_FORMAT_H
#define CLR_CORE_FORMAT_H

#include "core/process.h"

enum { CLR_FLAG_X = 1, CLR_FLAG_W = 2, CLR_FLAG_R = 4 };

/* A stretch of memory, as the file announces it: nothing is clipped. The first SAVED bytes of it
 * are in the file, unless that was cut before. */
struct clr_range {
    uint64_t start, size;
    uint64_t offset, saved;
    uint32_t flags;
};

/* A part of the file that describes the process, such as its notes. */
struct clr_file_part {
    uint64_t offset, size;
};

struct clr_auxv_entry {
    uint64_t type, value;
};

/* What was mapped from a file. */
struct clr_mapping {
    uint64_t start, end;
    uint64_t offset;  /* in the file, bytes */
    const char *path; /* without ' (deleted)' */
    bool deleted;
    bool has_flags; /* a range within it says how it was mapped */
    uint32_t flags;
    uint64_t image_start; /* start of the image it belongs to */
    uint32_t image;       /* its index */
};

struct clr_dump_format {
    /* Whether a file that starts with these bytes is of this format. It may be cut anywhere. */
    bool (*recognizes)(const uint8_t *start, size_t size);
    /* Reads the headers of process->fd. MAPPED: the file may be mapped. */
    enum clr_status (*read)(struct clr_process *process, bool mapped, struct clr_problems *problems,
                            struct clr_error *error);
};

extern const struct clr_dump_format clr_elf_format; /* elf.c */

#endif
