/*
 * The headers of a PE file, as far as they say how its parts lie on disk and in memory: enough to
 * group the mappings of a managed image and to tell whether a file on disk can be the one that was
 * mapped. What is in it is the business of the runtime layer.
 *
 *   at      size  (PE/COFF specification)
 *   0       2     'MZ'
 *   0x3c    4     offset of the PE header
 *   pe      4     'PE', 0, 0
 *   pe+6    2     number of sections            pe+20  2  size of the optional header
 *   pe+24   2     its magic: 0x10b or 0x20b     +56 4  size of the image   +60 4  of the headers
 *   then per section 40 bytes: name 8, size in memory, address, size in file, offset, 12 bytes,
 *   characteristics
 */
#include "base/bytes.h"
#include "core/elf.h"

bool clr_pe_shape(const uint8_t *bytes, size_t size, struct clr_pe_shape *shape)
{
    struct clr_bytes b = clr_bytes(bytes, size);
    b.swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__; /* PE is little endian */
    memset(shape, 0, sizeof *shape);
    if (clr_bytes_u16(&b) != 0x5a4d)
        return false;
    clr_bytes_seek(&b, 0x3c);
    size_t header = clr_bytes_u32(&b);
    clr_bytes_seek(&b, header);
    if (clr_bytes_u32(&b) != 0x4550)
        return false;
    clr_bytes_u16(&b); /* machine */
    uint32_t count = clr_bytes_u16(&b);
    clr_bytes_take(&b, 12);
    size_t optional = clr_bytes_u16(&b);
    clr_bytes_u16(&b); /* characteristics */
    size_t start = b.at;
    uint16_t magic = clr_bytes_u16(&b);
    clr_bytes_seek(&b, start + 56);
    shape->image_size = clr_bytes_u32(&b);
    shape->headers_size = clr_bytes_u32(&b);
    if (b.bad || (magic != 0x10b && magic != 0x20b) || count > CLR_SECTIONS_MAX)
        return false;
    clr_bytes_seek(&b, start + optional);
    for (uint32_t i = 0; i < count; i++) {
        struct clr_pe_section *section = &shape->sections[i];
        clr_bytes_take(&b, 8); /* name */
        section->size = clr_bytes_u32(&b);
        section->address = clr_bytes_u32(&b);
        section->file_size = clr_bytes_u32(&b);
        section->offset = clr_bytes_u32(&b);
        clr_bytes_take(&b, 12);
        section->flags = clr_bytes_u32(&b);
    }
    shape->section_count = count;
    return !b.bad;
}
