/*
 * Builds a small ELF shared library: what a fake process has mapped, as a file and as memory.
 *
 *     vaddr, offset      contents                                      flags
 *     0x0000             headers, build id note                        r--  one page
 *     0x1000             GNU hash, symbols, names, relocations         r--  one page
 *     0x2000             the caller's constants                        r--
 *     data_vaddr         dynamic section, then the caller's data       rw-
 *
 * data_vaddr is the offset plus a page, so that nobody takes one for the other.
 */
#ifndef TEST_IMAGE_BUILDER_H
#define TEST_IMAGE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_symbol {
    const char *name;
    uint64_t offset, size; /* within the data */
};

/* A word of the data that holds an address: IMAGE_CONSTANT + n or IMAGE_DATA + n. */
enum { IMAGE_CONSTANT = 0, IMAGE_DATA = 1 << 24 };
struct image_pointer {
    uint64_t offset; /* within the data */
    uint64_t to;
};

struct image_spec {
    unsigned word;
    bool big_endian;
    uint16_t machine;
    const uint8_t *build_id;
    size_t build_id_size; /* 0: none */
    const char *soname;   /* NULL: none */
    const void *constants, *data;
    size_t constants_size, data_size;
    const struct image_symbol *symbols;
    size_t symbol_count;
    const struct image_pointer *pointers; /* by offset */
    size_t pointer_count;
    uint32_t relocation; /* type of the pointers' relocations: R_X86_64_RELATIVE … */
    bool packed;         /* DT_RELR instead of DT_RELA */
    uint64_t debug;      /* value of DT_DEBUG; 0: none */
    uint64_t bss_size;   /* memory after the data that the file does not hold */
};

struct image {
    uint8_t *bytes; /* the file */
    size_t size;
    uint64_t constants_vaddr;
    uint64_t dynamic_vaddr, data_vaddr;                      /* of the caller's data */
    uint64_t writable_vaddr, writable_offset, writable_size; /* the rw PT_LOAD */
    uint64_t end;                                            /* vaddr after it all, bss included */
};

struct image image_build(const struct image_spec *spec);
void image_free(struct image *image);
/* The writable part as it lies in memory at BIAS: relocated. Freed with free(). */
uint8_t *image_loaded(const struct image_spec *spec, const struct image *image, uint64_t bias);

#endif
