/*
 * The core file as ELF: program headers and notes, 32 and 64 bit, both byte orders. libelf reads
 * them, and nothing above this file knows libelf.
 *
 *   Ehdr   e_type ET_CORE, e_machine, e_phoff, e_phnum      (System V ABI, "ELF header")
 *          e_phnum 0xffff (PN_XNUM): the count is sh_info of section header 0, which the kernel
 *          writes at the end of the file. A cut core of more than 65,534 segments has lost it: then
 *          the table ends where the data of its first entry, the notes, begins.
 *   Phdr   PT_LOAD: p_vaddr, p_memsz of memory, p_offset, p_filesz of what was saved of it
 *   Nhdr   namesz, descsz, type, then name and contents, each padded to 4 bytes: core files do so
 *          whatever p_align says
 */
#include "core/elf.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "base/alloc.h"

static enum clr_status fail_elf(struct clr_error *error, const char *what)
{
    int code = elf_errno();
    return clr_fail(error, CLR_NOT_CORE, 0, "%s cannot be read: %s", what,
                    code ? elf_errmsg(code) : "not valid ELF");
}

static const char *type_name(unsigned type)
{
    switch (type) {
    case ET_REL: return "an object file";
    case ET_EXEC: return "a program";
    case ET_DYN: return "a program or shared library";
    default: return "an ELF file of another type";
    }
}

static struct clr_segment segment_at(const Elf_Data *table, bool wide, size_t i)
{
    if (wide) {
        Elf64_Phdr h;
        memcpy(&h, (const char *)table->d_buf + i * sizeof h, sizeof h);
        return (struct clr_segment){h.p_offset, h.p_vaddr, h.p_filesz,
                                    h.p_memsz,  h.p_type,  h.p_flags};
    }
    Elf32_Phdr h;
    memcpy(&h, (const char *)table->d_buf + i * sizeof h, sizeof h);
    return (struct clr_segment){h.p_offset, h.p_vaddr, h.p_filesz, h.p_memsz, h.p_type, h.p_flags};
}

/* How many program headers are announced, and how many of them to read. */
static bool count_headers(Elf *handle, const GElf_Ehdr *header, size_t entry, struct clr_elf *elf)
{
    size_t count = 0;
    uint64_t room = header->e_phoff < elf->size ? (elf->size - header->e_phoff) / entry : 0;
    if (room == 0)
        return false;
    elf->headers_announced = header->e_phnum;
    if (header->e_phnum == PN_XNUM) {
        GElf_Shdr section;
        Elf_Scn *first = elf_getscn(handle, 0);
        if (first && gelf_getshdr(first, &section)) {
            elf->headers_announced = section.sh_info;
        } else {
            Elf_Data *table =
                elf_getdata_rawchunk(handle, (int64_t)header->e_phoff, entry, ELF_T_PHDR);
            if (!table)
                return false;
            struct clr_segment notes = segment_at(table, elf->word_size == 8, 0);
            if (notes.offset <= header->e_phoff)
                return false;
            elf->headers_announced = (notes.offset - header->e_phoff) / entry;
        }
        count = elf->headers_announced;
    } else if (elf_getphdrnum(handle, &count) != 0) {
        return false;
    }
    elf->headers_read = count < room ? count : room;
    return true;
}

static enum clr_status read_segments(Elf *handle, const GElf_Ehdr *header, struct clr_elf *elf,
                                     struct clr_error *error)
{
    bool wide = elf->word_size == 8;
    size_t entry = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    if (header->e_phnum == 0)
        return clr_fail(error, CLR_NOT_CORE, 0, "the core has no program headers");
    if (header->e_phentsize != entry)
        return clr_fail(error, CLR_NOT_CORE, 0, "program headers of %u bytes instead of %zu",
                        (unsigned)header->e_phentsize, entry);
    if (!count_headers(handle, header, entry, elf))
        return clr_fail(error, CLR_NOT_CORE, 0,
                        "cut short: the file ends at byte %llu, before its program headers",
                        (unsigned long long)elf->size);
    Elf_Data *table = elf_getdata_rawchunk(handle, (int64_t)header->e_phoff,
                                           elf->headers_read * entry, ELF_T_PHDR);
    if (!table)
        return fail_elf(error, "the program header table");
    size_t room = 0;
    for (size_t i = 0; i < elf->headers_read; i++) {
        struct clr_segment segment = segment_at(table, wide, i);
        if (segment.type != PT_LOAD && segment.type != PT_NOTE)
            continue;
        if (!clr_grow(&elf->segments, elf->segment_count, &room, sizeof segment))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        elf->segments[elf->segment_count++] = segment;
    }
    return CLR_OK;
}

enum clr_status clr_elf_open(struct clr_elf *elf, int fd, uint64_t size, bool mapped,
                             struct clr_error *error)
{
    memset(elf, 0, sizeof *elf);
    elf->size = size;
    elf_version(EV_CURRENT);
    Elf *handle = elf_begin(fd, mapped ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
    elf->handle = handle;
    GElf_Ehdr header;
    if (!handle || elf_kind(handle) != ELF_K_ELF || !gelf_getehdr(handle, &header))
        return fail_elf(error, "the ELF header");
    elf->word_size = gelf_getclass(handle) == ELFCLASS64 ? 8 : 4;
    elf->swapped =
        (header.e_ident[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    elf->machine = header.e_machine;
    elf->type = header.e_type;
    elf->os_abi = header.e_ident[EI_OSABI];
    if (header.e_type != ET_CORE)
        return clr_fail(error, CLR_NOT_CORE, 0, "%s, not a core dump", type_name(header.e_type));
    return read_segments(handle, &header, elf, error);
}

void clr_elf_release(struct clr_elf *elf)
{
    elf_end(elf->handle);
    elf->handle = NULL;
}

void clr_elf_close(struct clr_elf *elf)
{
    clr_elf_release(elf);
    clr_free(elf->segments);
    memset(elf, 0, sizeof *elf);
}

static enum clr_status visit_segment(const struct clr_elf *elf, uint64_t offset, uint64_t size,
                                     clr_note_visit *visit, void *context, uint64_t *lost,
                                     struct clr_error *error)
{
    Elf_Data *data = elf_getdata_rawchunk(elf->handle, (int64_t)offset, size, ELF_T_NHDR);
    if (!data) {
        *lost += size;
        return CLR_OK;
    }
    size_t at = 0;
    while (at < data->d_size) {
        GElf_Nhdr header;
        size_t name, contents, next = gelf_getnote(data, at, &header, &name, &contents);
        if (next == 0 || next <= at) {
            *lost += data->d_size - at;
            break;
        }
        const char *bytes = data->d_buf;
        struct clr_note note = {
            .type = header.n_type,
            .is_core = header.n_namesz == sizeof "CORE" &&
                       memcmp(bytes + name, "CORE", sizeof "CORE") == 0,
            .data = (const uint8_t *)bytes + contents,
            .size = header.n_descsz,
        };
        CLR_TRY(visit(context, &note, error));
        at = next;
    }
    return CLR_OK;
}

enum clr_status clr_elf_notes(const struct clr_elf *elf, clr_note_visit *visit, void *context,
                              uint64_t *lost, struct clr_error *error)
{
    enum { NOTE_SEGMENTS_MAX = 1024 }; /* writers make one */
    uint64_t budget = elf->size;       /* parts that overlap are not read forever */
    size_t visited = 0;
    *lost = 0;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct clr_segment *segment = &elf->segments[i];
        if (segment->type != PT_NOTE || segment->filesz == 0)
            continue;
        uint64_t size = segment->filesz;
        uint64_t room = segment->offset < elf->size ? elf->size - segment->offset : 0;
        if (size > room) {
            *lost += size - room;
            size = room;
        }
        if (size > budget || ++visited > NOTE_SEGMENTS_MAX) {
            *lost += size;
            continue;
        }
        budget -= size;
        if (size)
            CLR_TRY(visit_segment(elf, segment->offset, size, visit, context, lost, error));
    }
    return CLR_OK;
}
