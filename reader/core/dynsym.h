/*
 * An ELF image in memory or on disk: its segments, build id, dynamic section and symbols, read
 * piece by piece because most of its pages may be missing.
 */
#ifndef CLR_CORE_DYNSYM_H
#define CLR_CORE_DYNSYM_H

#include "core/process.h"

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

/* What an image's first page says. */
struct clr_elf_headers {
    struct clr_elf_load loads[CLR_LOADS_MAX];
    uint32_t load_count;
    uint64_t lowest, highest;       /* of all PT_LOADs: p_vaddr rounded down to a page, end */
    uint64_t dynamic, dynamic_size; /* p_vaddr and size of PT_DYNAMIC; 0 if none */
    uint8_t build_id[CLR_BUILD_ID_MAX];
    uint8_t build_id_size;
};

/* Parses the ELF header and what it leads to; false if it is no image of MACHINE. AT counts from
 * the file's start if BY_OFFSET, else from the start of the image in memory. */
bool clr_elf_headers_read(const struct clr_elf_view *view, bool by_offset, uint16_t machine,
                          struct clr_elf_headers *headers);

/* The value of TAG in the dynamic section at p_vaddr DYNAMIC; false if it is absent or not
 * readable. AT is a p_vaddr. */
bool clr_elf_dynamic(const struct clr_elf_view *view, uint64_t dynamic, uint64_t tag,
                     uint64_t *value);
/* The same for a tag that holds an address: as p_vaddr, whether or not the loader relocated it. */
bool clr_elf_pointer(const struct clr_elf_view *view, const struct clr_elf_headers *headers,
                     uint64_t tag, uint64_t *vaddr);

/* Looks NAME up in the GNU hash table. *VALUE is the symbol's, without bias. AT is a p_vaddr. */
bool clr_elf_symbol(const struct clr_elf_view *view, const struct clr_elf_headers *headers,
                    const char *name, uint64_t *value, uint64_t *size);

#endif
