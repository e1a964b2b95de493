/*
 * Builds the image of a fake runtime: an ELF shared object with exported symbols (GNU hash), in
 * whose data a contract descriptor can be placed. It knows no core file: it ends as bytes at a base
 * address, in memory form (relocated) and as the file from which it was mapped.
 *
 *     struct built_image *image = built_image_create(0x7f0000000000, 8, false);
 *     uint64_t slots[] = {0, built_image_word(image, some_address)};
 *     uint64_t at = built_image_descriptor(image, json, strlen(json), slots, 2);
 *     built_image_export(image, "DotNetRuntimeContractDescriptor", at, 40);
 *     built_image_finish(image);
 *     … image->bytes [0, image->size) at image->base, page aligned; image->data is where the
 *       writable part starts: two PT_LOADs, R and RW …
 *
 * Layout: [0, BUILT_HEADERS) ELF and program headers, build id, dynamic section, symbols, hash and
 * relocations; then the data in the order of the calls. All addresses given and returned are of
 * the process. Lack of memory or room ends the test program.
 */
#ifndef TEST_DESCRIPTOR_BUILDER_H
#define TEST_DESCRIPTOR_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BUILT_HEADERS = 0x4000, BUILT_SYMBOLS_MAX = 16, BUILT_RELOCATIONS_MAX = 256 };

struct built_symbol {
    const char *name;
    uint64_t address, size;
};

struct built_image {
    uint64_t base;
    uint8_t word; /* 4 or 8 */
    bool big_endian;
    uint8_t build_id[20]; /* made from the base; may be changed before it is finished */
    uint16_t machine;     /* e_machine: 62 (x86-64) or 3 (x86), by the word; may be changed */

    uint8_t *bytes; /* in memory form */
    size_t size, room;
    uint64_t data; /* offset of the writable part */

    struct built_symbol symbols[BUILT_SYMBOLS_MAX];
    size_t symbol_count;
    uint64_t relocations[BUILT_RELOCATIONS_MAX]; /* addresses of words that the loader relocates */
    size_t relocation_count;
};

struct built_image *built_image_create(uint64_t base, uint8_t word, bool big_endian);
void built_image_destroy(struct built_image *image);

/* SIZE bytes of data (BYTES NULL: zeroes), aligned to a word; returns their address. */
uint64_t built_image_data(struct built_image *image, const void *bytes, size_t size);
/* A word of data. */
uint64_t built_image_word(struct built_image *image, uint64_t value);
/* Overwrites data that was placed before. */
void built_image_put(struct built_image *image, uint64_t address, const void *bytes, size_t size);
void built_image_put_u32(struct built_image *image, uint64_t address, uint32_t value);
void built_image_put_word(struct built_image *image, uint64_t address, uint64_t value);
/* A word that holds an address of this image: zero in the file, with a relocation. */
void built_image_put_pointer(struct built_image *image, uint64_t address, uint64_t value);

/* A descriptor structure with its text and its array of pointers; returns its address. Bytes from
 * there: built_descriptor_offset. SLOTS that lie in this image are relocated. */
uint64_t built_image_descriptor(struct built_image *image, const char *json, size_t length,
                                const uint64_t *slots, uint32_t slot_count);

/* Where the members of a structure are, for tests that damage one. */
enum built_member {
    BUILT_MAGIC,
    BUILT_FLAGS,
    BUILT_JSON_SIZE,
    BUILT_JSON,
    BUILT_SLOT_COUNT,
    BUILT_SLOTS,
};
size_t built_descriptor_offset(const struct built_image *image, enum built_member member);

void built_image_export(struct built_image *image, const char *name, uint64_t address,
                        uint64_t size);

/* Writes the headers and tables and pads to whole pages. Nothing may be added afterwards. */
void built_image_finish(struct built_image *image);

/* Writes the file that would be mapped: the same bytes, not relocated. */
void built_image_write(const struct built_image *image, const char *path);

#endif
