/*
 * Builds small metadata blobs for tests: tables given as rows, widths computed as the standard
 * says.
 *
 *   struct metadata_builder *b = metadata_builder_create();
 *   uint32_t name = metadata_string(b, "Node"), space = metadata_string(b, "Zoo");
 *   METADATA_ROW(b, CLR_TYPEDEF, 0, name, space, 0, 1, 1);
 *   const uint8_t *blob = metadata_build(b, &size);
 *   metadata_builder_destroy(b);
 *
 * The column widths stand in a notation of their own here, not in that of the reader, so that a
 * mistake in one does not hide in the other. Out of memory ends the test program.
 */
#ifndef TEST_METADATA_BUILDER_H
#define TEST_METADATA_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/metadata.h"

struct metadata_builder;

struct metadata_builder *metadata_builder_create(void);
void metadata_builder_destroy(struct metadata_builder *builder);

/* Entries of the heaps: their indexes. Nothing is shared: two equal strings are two entries. */
uint32_t metadata_string(struct metadata_builder *builder, const char *text);
uint32_t metadata_string_bytes(struct metadata_builder *builder, const void *bytes, size_t size);
uint32_t metadata_blob(struct metadata_builder *builder, const void *bytes, size_t size);
uint32_t metadata_guid(struct metadata_builder *builder, const uint8_t guid[16]);
#define METADATA_BLOB(builder, ...)                                                                \
    metadata_blob(builder, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Appends a row with all its columns, in the order of the standard; its number (from 1). */
uint32_t metadata_row(struct metadata_builder *builder, enum clr_table_id table, size_t columns,
                      const uint32_t *values);
#define METADATA_ROW(builder, table, ...)                                                          \
    metadata_row(builder, table, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t),       \
                 (const uint32_t[]){__VA_ARGS__})
/* Changes one cell of a row that is there already. */
void metadata_set(struct metadata_builder *builder, enum clr_table_id table, uint32_t rid,
                  unsigned column, uint32_t value);

/* How the blob is written. All false: '#~', indexes as narrow as they can be. */
struct metadata_form {
    bool uncompressed;  /* '#-' instead of '#~' */
    bool wide_heaps;    /* heap indexes of four bytes */
    bool minimal_delta; /* '#JTD': every index has four bytes */
    bool extra_word;    /* bit 0x40 of the heap sizes */
    uint64_t sorted;    /* the mask; 0: what the standard asks for */
    bool unsorted;      /* the mask is 0 */
    bool pdb;           /* a '#Pdb' stream with row counts that the module has */
    uint32_t pdb_rows[CLR_METADATA_TABLES];
};
void metadata_form(struct metadata_builder *builder, const struct metadata_form *form);

/* The blob, owned by the builder. May be called again after more rows. */
const uint8_t *metadata_build(struct metadata_builder *builder, size_t *size);

/* A PE image around a blob, as it lies in a file: one section at RVA 0x2000, file offset 0x200,
 * with the CLI header and the blob. MAPPED: the same with its section at its RVA. Owned by the
 * builder. */
const uint8_t *metadata_build_image(struct metadata_builder *builder, bool mapped, bool pe32_plus,
                                    size_t *size);

/* Reads all there is to read: every cell, what each cell would be as an index of every heap, blobs,
 * nesting, members, look-ups. A number that depends on all of it. */
uint64_t metadata_read_everything(const struct clr_metadata *metadata);

#endif
