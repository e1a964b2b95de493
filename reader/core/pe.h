/*
 * A PE image in the process's memory or in a file: where its metadata and other directories are.
 *
 * A loaded image is either mapped (sections at their RVAs) or flat (the file as it is): see
 * clr_pe.flat. The machine field is XORed with an OS value on Linux, so it is not checked.
 */
#ifndef CLR_CORE_PE_H
#define CLR_CORE_PE_H

#include "core/process.h"

enum { CLR_PE_SECTIONS_MAX = 96 };

struct clr_pe_section {
    uint32_t rva, virtual_size, raw_offset, raw_size;
    uint32_t flags; /* IMAGE_SCN_… */
};

static const uint32_t clr_pe_writable = (uint32_t)1 << 31; /* IMAGE_SCN_MEM_WRITE */

struct clr_pe {
    uint64_t base;
    uint64_t size; /* of the layout, in bytes */
    bool flat;
    uint32_t timestamp, size_of_image, size_of_headers;
    uint32_t cli_rva; /* of the CLI header; 0: not a managed image */
    uint32_t metadata_rva, metadata_size;
    uint32_t debug_rva, debug_size;
    uint32_t native_header_rva, native_header_size; /* READYTORUN_HEADER; 0 if none */
    uint32_t entry_point_token;
    uint32_t section_count;
    struct clr_pe_section sections[CLR_PE_SECTIONS_MAX];
};

/* Reads the headers of the image at BASE (of a layout of SIZE bytes; FLAT: the file's bytes). */
enum clr_status clr_pe_open(struct clr_pe *pe, const struct clr_process *process, uint64_t base,
                            uint64_t size, bool flat, struct clr_error *error);
/* Only what the headers say, of which BYTES are the first SIZE, of a file or a loaded image. */
bool clr_pe_headers(struct clr_pe *pe, const void *bytes, size_t size);
/* As clr_pe_open over the bytes of a file. */
enum clr_status clr_pe_open_file(struct clr_pe *pe, const void *bytes, size_t size,
                                 struct clr_error *error);

/* Offset from base of SIZE bytes at RVA: RVA itself when mapped, by the sections when flat. False
 * if they are in no section or cross one. */
bool clr_pe_offset(const struct clr_pe *pe, uint32_t rva, uint32_t size, uint64_t *offset);

#endif
