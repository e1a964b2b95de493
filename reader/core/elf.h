/*
 * ELF as the core layer needs it, in two independent parts:
 *
 *   elf.c     the core file: program headers and notes, through libelf, which ends here
 *   dynsym.c  an image in memory or on disk: its segments, build id, dynamic section and symbols,
 *             read piece by piece because most of its pages may be missing
 */
#ifndef CLR_CORE_ELF_H
#define CLR_CORE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "core/process.h"

/* --- elf.c: the core file ------------------------------------------------------------------- */

/* A program header of type PT_LOAD or PT_NOTE, as it stands in the file: nothing is clipped. */
struct clr_segment {
    uint64_t offset, vaddr, filesz, memsz;
    uint32_t type, flags;
};

struct clr_elf {
    void *handle;  /* of libelf */
    uint64_t size; /* of the file */
    uint16_t type, machine;
    uint8_t word_size, os_abi;
    bool swapped;
    struct clr_segment *segments;
    size_t segment_count;
    uint64_t headers_announced, headers_read; /* program headers, of all types */
};

/* Reads the headers of FD, which is SIZE bytes long. MAPPED: libelf may map the file. */
enum clr_status clr_elf_open(struct clr_elf *elf, int fd, uint64_t size, bool mapped,
                             struct clr_error *error);
/* Ends libelf's part; the segments stay. */
void clr_elf_release(struct clr_elf *elf);
void clr_elf_close(struct clr_elf *elf);

struct clr_note {
    uint32_t type;
    bool is_core; /* its owner is 'CORE': the types of other owners mean other things */
    const uint8_t *data;
    size_t size;
};
typedef enum clr_status clr_note_visit(void *context, const struct clr_note *note,
                                       struct clr_error *error);

/* Calls VISIT for every whole note, in the order of the file. *LOST: bytes of PT_NOTE that the file
 * does not hold or that are no notes. */
enum clr_status clr_elf_notes(const struct clr_elf *elf, clr_note_visit *visit, void *context,
                              uint64_t *lost, struct clr_error *error);

/* --- dynsym.c: an image --------------------------------------------------------------------- */

/* Where an image's bytes come from. AT counts as the function that is given the view says. */
struct clr_elf_view {
    bool (*read)(const void *context, uint64_t at, void *out, size_t size);
    const void *context;
    uint64_t base;     /* private to READ: what it adds to AT */
    uint64_t bias;     /* what the loader may have added to pointers of the dynamic section */
    uint8_t word_size; /* 4 or 8 */
    bool swapped;
};

enum { CLR_LOADS_MAX = 32 };

struct clr_elf_load {
    uint64_t vaddr, offset, filesz, memsz;
    uint32_t flags;
};

/* What an image's first page tells. */
struct clr_elf_shape {
    struct clr_elf_load loads[CLR_LOADS_MAX];
    uint32_t load_count;
    uint64_t lowest, highest;       /* of all PT_LOADs: p_vaddr rounded down to a page, end */
    uint64_t dynamic, dynamic_size; /* p_vaddr and size of PT_DYNAMIC; 0 if none */
    uint8_t build_id[CLR_BUILD_ID_MAX];
    uint8_t build_id_size;
};

/* Parses the ELF header and what it leads to; false if it is no image of MACHINE. AT counts from
 * the file's start if BY_OFFSET, else from the start of the image in memory. */
bool clr_elf_shape(const struct clr_elf_view *view, bool by_offset, uint16_t machine,
                   struct clr_elf_shape *shape);

/* The value of TAG in the dynamic section at p_vaddr DYNAMIC; false if it is absent or not
 * readable. AT is a p_vaddr. */
bool clr_elf_dynamic(const struct clr_elf_view *view, uint64_t dynamic, uint64_t tag,
                     uint64_t *value);
/* The same for a tag that holds an address: as p_vaddr, whether or not the loader relocated it. */
bool clr_elf_pointer(const struct clr_elf_view *view, const struct clr_elf_shape *shape,
                     uint64_t tag, uint64_t *vaddr);

/* Looks NAME up in the GNU hash table. *VALUE is the symbol's, without bias. AT is a p_vaddr. */
bool clr_elf_symbol(const struct clr_elf_view *view, const struct clr_elf_shape *shape,
                    const char *name, uint64_t *value, uint64_t *size);

/* --- pelayout.c: a managed image
 * ------------------------------------------------------------------- */

enum { CLR_SECTIONS_MAX = 32 };

struct clr_pe_section {
    uint32_t address, size, offset, file_size, flags;
};

/* What the headers of a PE file tell: the layout of it, once as a file and once loaded. */
struct clr_pe_shape {
    uint32_t image_size, headers_size;
    struct clr_pe_section sections[CLR_SECTIONS_MAX];
    uint32_t section_count;
};

/* Parses the headers at BYTES, the first SIZE of a file or of a loaded image. */
bool clr_pe_shape(const uint8_t *bytes, size_t size, struct clr_pe_shape *shape);

#endif
