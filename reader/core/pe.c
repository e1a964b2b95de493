/*
 * The headers of a PE image, in the process or in a file.
 *
 *   offset              field
 *   0                   'MZ'; u32 at 0x3c: where the NT headers are
 *   NT + 0              'PE\0\0', then the COFF header: u16 machine at 4 (not checked, see pe.h),
 *                       u16 number of sections at 6, u32 time stamp at 8, u16 size of the optional
 *                       header at 20
 *   NT + 24             optional header: u16 magic (0x10b: PE32, 0x20b: PE32+), u32 size of the
 *                       image at 56, of the headers at 60, u32 number of directories at 92 (PE32+:
 *                       108), then the directories, each {u32 rva, u32 size}: 6 is debug, 14 the
 *                       CLI header
 *   behind that         sections of 40 bytes: u32 virtual size at 8, u32 rva at 12, u32 size in
 *                       the file at 16, u32 offset in the file at 20, u32 flags at 36
 *   CLI header          {rva, size} of the metadata at 8, u32 entry point token at 20, {rva, size}
 *                       of the managed native header at 64 (READYTORUN_HEADER)
 *
 * The runtime maps images with precompiled code section by section, and reads those that hold IL
 * only as they lie in the file: there an RVA must go through the section table.
 *
 * Sources: the PE format specification; ECMA-335, partition II, section 25.
 */
#include "core/pe.h"

#include "base/bytes.h"

enum {
    DOS_HEADER = 64,
    NT_POINTER = 0x3c,
    COFF_END = 24, /* with the signature before it */
    SECTION_HEADER = 40,
    OPTIONAL_PE32 = 0x10b,
    OPTIONAL_PE32_PLUS = 0x20b,
    OPTIONAL_MAX = 112 + 16 * 8,
    DIRECTORY_DEBUG = 6,
    DIRECTORY_CLI = 14,
    CLI_HEADER = 72,
};

/* Where the bytes come from. */
struct source {
    const struct clr_process *process; /* NULL: a file's bytes */
    const uint8_t *bytes;
    uint64_t base, size; /* size 0: not known, the process's memory is the only limit */
};

static enum clr_status fetch(const struct source *source, uint64_t offset, uint8_t *out,
                             size_t count, const char *what, struct clr_error *error)
{
    uint64_t address;
    bool bounded = !source->process || source->size != 0;
    if (bounded && (offset > source->size || count > source->size - offset))
        return clr_fail(error, CLR_BAD_DATA, source->base,
                        "PE image at 0x%llx: %s at 0x%llx lies behind its 0x%llx bytes",
                        (unsigned long long)source->base, what, (unsigned long long)offset,
                        (unsigned long long)source->size);
    if (!source->process) {
        memcpy(out, source->bytes + offset, count);
        return CLR_OK;
    }
    if (__builtin_add_overflow(source->base, offset, &address) ||
        !clr_read(source->process, address, out, count))
        return clr_fail(error, CLR_FAULT, source->base + offset,
                        "PE image at 0x%llx: %s at 0x%llx is not saved in the dump",
                        (unsigned long long)source->base, what,
                        (unsigned long long)(source->base + offset));
    return CLR_OK;
}

static struct clr_bytes little_endian(const uint8_t *data, size_t size)
{
    struct clr_bytes bytes = clr_bytes(data, size);
    bytes.swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return bytes;
}

static uint32_t u32_at(struct clr_bytes bytes, size_t offset)
{
    clr_bytes_seek(&bytes, offset);
    return clr_bytes_u32(&bytes);
}

static uint16_t u16_at(struct clr_bytes bytes, size_t offset)
{
    clr_bytes_seek(&bytes, offset);
    return clr_bytes_u16(&bytes);
}

/* Directory NUMBER of the optional header; zeros if the header is too short to have it. */
static void directory(struct clr_bytes optional, unsigned number, uint32_t *rva, uint32_t *size)
{
    size_t count_at = u16_at(optional, 0) == OPTIONAL_PE32_PLUS ? 108 : 92;
    *rva = *size = 0;
    if (number >= u32_at(optional, count_at))
        return;
    struct clr_bytes entry = optional;
    clr_bytes_seek(&entry, count_at + 4 + (size_t)number * 8);
    uint32_t at = clr_bytes_u32(&entry), length = clr_bytes_u32(&entry);
    if (!entry.bad && at != 0 && length != 0) {
        *rva = at;
        *size = length;
    }
}

static enum clr_status read_sections(struct clr_pe *pe, const struct source *source, uint64_t at,
                                     struct clr_error *error)
{
    for (uint32_t i = 0; i < pe->section_count; i++) {
        uint8_t header[SECTION_HEADER];
        CLR_TRY(fetch(source, at + (uint64_t)i * SECTION_HEADER, header, sizeof header,
                      "section header", error));
        struct clr_bytes b = little_endian(header, sizeof header);
        pe->sections[i] = (struct clr_pe_section){.rva = u32_at(b, 12),
                                                  .virtual_size = u32_at(b, 8),
                                                  .raw_offset = u32_at(b, 20),
                                                  .raw_size = u32_at(b, 16),
                                                  .flags = u32_at(b, 36)};
    }
    return CLR_OK;
}

/* A layout whose size nobody knows is as large as its headers say. */
static uint64_t size_by_headers(const struct clr_pe *pe)
{
    if (!pe->flat)
        return pe->size_of_image;
    uint64_t size = 0;
    for (uint32_t i = 0; i < pe->section_count; i++) {
        uint64_t end = (uint64_t)pe->sections[i].raw_offset + pe->sections[i].raw_size;
        if (end > size)
            size = end;
    }
    return size;
}

static enum clr_status read_cli_header(struct clr_pe *pe, const struct source *source,
                                       struct clr_error *error)
{
    const uint32_t rva = pe->cli_rva;
    uint64_t offset;
    if (rva == 0)
        return CLR_OK;
    if (!clr_pe_offset(pe, rva, CLI_HEADER, &offset))
        return clr_fail(error, CLR_BAD_DATA, pe->base,
                        "PE image at 0x%llx: its CLI header at RVA 0x%x lies in no section",
                        (unsigned long long)pe->base, rva);
    uint8_t header[CLI_HEADER];
    CLR_TRY(fetch(source, offset, header, sizeof header, "CLI header", error));
    struct clr_bytes b = little_endian(header, sizeof header);
    pe->metadata_rva = u32_at(b, 8);
    pe->metadata_size = u32_at(b, 12);
    pe->entry_point_token = u32_at(b, 20);
    pe->native_header_rva = u32_at(b, 64);
    pe->native_header_size = u32_at(b, 68);
    return CLR_OK;
}

static enum clr_status read_headers(struct clr_pe *pe, const struct source *source,
                                    struct clr_error *error)
{
    uint8_t dos[DOS_HEADER], coff[COFF_END], optional_bytes[OPTIONAL_MAX] = {0};
    CLR_TRY(fetch(source, 0, dos, sizeof dos, "DOS header", error));
    if (dos[0] != 'M' || dos[1] != 'Z')
        return clr_fail(error, CLR_BAD_DATA, pe->base,
                        "no PE image at 0x%llx: it starts with the bytes %02x %02x, not with MZ",
                        (unsigned long long)pe->base, dos[0], dos[1]);
    uint64_t nt = u32_at(little_endian(dos, sizeof dos), NT_POINTER);
    CLR_TRY(fetch(source, nt, coff, sizeof coff, "NT header", error));
    struct clr_bytes c = little_endian(coff, sizeof coff);
    if (memcmp(coff, "PE\0\0", 4) != 0)
        return clr_fail(error, CLR_BAD_DATA, pe->base,
                        "no PE image at 0x%llx: no PE signature at offset 0x%llx",
                        (unsigned long long)pe->base, (unsigned long long)nt);
    pe->section_count = u16_at(c, 6);
    pe->timestamp = u32_at(c, 8);
    size_t optional_size = u16_at(c, 20);
    if (pe->section_count > CLR_PE_SECTIONS_MAX) {
        uint32_t count = pe->section_count;
        pe->section_count = 0;
        return clr_fail(error, CLR_BAD_DATA, pe->base,
                        "PE image at 0x%llx has %u sections; %d is the most there can be",
                        (unsigned long long)pe->base, count, CLR_PE_SECTIONS_MAX);
    }
    size_t used = optional_size < OPTIONAL_MAX ? optional_size : OPTIONAL_MAX;
    CLR_TRY(fetch(source, nt + COFF_END, optional_bytes, used, "optional header", error));
    struct clr_bytes optional = little_endian(optional_bytes, used);
    uint16_t magic = u16_at(optional, 0);
    if (magic != OPTIONAL_PE32 && magic != OPTIONAL_PE32_PLUS)
        return clr_fail(error, CLR_BAD_DATA, pe->base,
                        "PE image at 0x%llx: optional header with the magic 0x%x is neither PE32 "
                        "nor PE32+",
                        (unsigned long long)pe->base, magic);
    pe->size_of_image = u32_at(optional, 56);
    pe->size_of_headers = u32_at(optional, 60);
    CLR_TRY(read_sections(pe, source, nt + COFF_END + optional_size, error));
    if (pe->size == 0)
        pe->size = size_by_headers(pe);
    directory(optional, DIRECTORY_DEBUG, &pe->debug_rva, &pe->debug_size);
    uint32_t cli_size;
    directory(optional, DIRECTORY_CLI, &pe->cli_rva, &cli_size);
    return CLR_OK;
}

static enum clr_status open_source(struct clr_pe *pe, const struct source *source, bool flat,
                                   struct clr_error *error)
{
    *pe = (struct clr_pe){.base = source->base, .size = source->size, .flat = flat};
    enum clr_status status = read_headers(pe, source, error);
    if (status == CLR_OK)
        status = read_cli_header(pe, source, error);
    if (status != CLR_OK)
        *pe = (struct clr_pe){0};
    return status;
}

enum clr_status clr_pe_open(struct clr_pe *pe, const struct clr_process *process, uint64_t base,
                            uint64_t size, bool flat, struct clr_error *error)
{
    struct source source = {.process = process, .base = base, .size = size};
    return open_source(pe, &source, flat, error);
}

enum clr_status clr_pe_open_file(struct clr_pe *pe, const void *bytes, size_t size,
                                 struct clr_error *error)
{
    struct source source = {.bytes = bytes, .size = bytes ? size : 0};
    return open_source(pe, &source, true, error);
}

bool clr_pe_headers(struct clr_pe *pe, const void *bytes, size_t size)
{
    struct source source = {.bytes = bytes, .size = size};
    *pe = (struct clr_pe){.size = size, .flat = true};
    return read_headers(pe, &source, NULL) == CLR_OK;
}

bool clr_pe_offset(const struct clr_pe *pe, uint32_t rva, uint32_t size, uint64_t *offset)
{
    uint64_t at = rva;
    if (pe->flat) {
        const struct clr_pe_section *section = NULL;
        for (uint32_t i = 0; i < pe->section_count && !section; i++) {
            const struct clr_pe_section *s = &pe->sections[i];
            uint32_t extent = s->virtual_size > s->raw_size ? s->virtual_size : s->raw_size;
            if (rva >= s->rva && rva - s->rva < extent)
                section = s;
        }
        /* What a section has beyond its bytes in the file is zeros that are nowhere. */
        if (!section || rva - section->rva > section->raw_size ||
            size > section->raw_size - (rva - section->rva))
            return false;
        at = (uint64_t)section->raw_offset + (rva - section->rva);
    }
    if (at > pe->size || size > pe->size - at)
        return false;
    *offset = at;
    return true;
}
