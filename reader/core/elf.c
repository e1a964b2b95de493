/*
 * The format of ELF cores: program headers and notes, 32 and 64 bit, both byte orders. libelf reads
 * them, and no other file knows libelf.
 *
 *   Ehdr   e_type ET_CORE, e_machine, e_phoff, e_phnum      (System V ABI, "ELF header")
 *          e_phnum 0xffff (PN_XNUM): the count is sh_info of section header 0, which the kernel
 *          writes at the end of the file. A cut core of more than 65,534 segments has not got it: then
 *          the table ends where the data of its first entry, the notes, begins.
 *   Phdr   PT_LOAD: p_vaddr, p_memsz of memory, p_offset, p_filesz of what was saved of it
 *   Nhdr   namesz, descsz, type, then name and contents, each padded to 4 bytes: core files do so
 *          whatever p_align says
 */
#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "core/notes.h"

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

struct segment {
    uint32_t type;
    struct clr_range range;
};

static struct segment segment_at(const Elf_Data *table, bool wide, size_t i)
{
    if (wide) {
        Elf64_Phdr h;
        memcpy(&h, (const char *)table->d_buf + i * sizeof h, sizeof h);
        return (struct segment){h.p_type,
                                {h.p_vaddr, h.p_memsz, h.p_offset, h.p_filesz, h.p_flags}};
    }
    Elf32_Phdr h;
    memcpy(&h, (const char *)table->d_buf + i * sizeof h, sizeof h);
    return (struct segment){h.p_type, {h.p_vaddr, h.p_memsz, h.p_offset, h.p_filesz, h.p_flags}};
}

/* How many program headers are announced, and how many of them the file holds. */
static bool count_headers(Elf *elf, const GElf_Ehdr *header, size_t entry, uint64_t file_size,
                          uint64_t *announced, size_t *count)
{
    size_t found = 0;
    uint64_t room = header->e_phoff < file_size ? (file_size - header->e_phoff) / entry : 0;
    if (room == 0)
        return false;
    *announced = header->e_phnum;
    if (header->e_phnum == PN_XNUM) {
        GElf_Shdr section;
        Elf_Scn *first = elf_getscn(elf, 0);
        if (first && gelf_getshdr(first, &section)) {
            *announced = section.sh_info;
        } else {
            Elf_Data *table =
                elf_getdata_rawchunk(elf, (int64_t)header->e_phoff, entry, ELF_T_PHDR);
            if (!table)
                return false;
            struct segment notes = segment_at(table, entry == sizeof(Elf64_Phdr), 0);
            if (notes.range.offset <= header->e_phoff)
                return false;
            *announced = (notes.range.offset - header->e_phoff) / entry;
        }
        found = *announced;
    } else if (elf_getphdrnum(elf, &found) != 0) {
        return false;
    }
    *count = found < room ? found : room;
    return true;
}

/* Ranges of memory and parts with notes out of the program headers. */
static enum clr_status read_segments(struct clr_process *process, Elf *elf, const GElf_Ehdr *header,
                                     struct clr_problems *problems, struct clr_error *error)
{
    bool wide = process->info.word_size == 8;
    size_t entry = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), count;
    uint64_t announced, end;
    if (header->e_phnum == 0)
        return clr_fail(error, CLR_NOT_CORE, 0, "the core has no program headers");
    if (header->e_phentsize != entry)
        return clr_fail(error, CLR_NOT_CORE, 0, "program headers of %u bytes instead of %zu",
                        (unsigned)header->e_phentsize, entry);
    if (!count_headers(elf, header, entry, process->info.file_size, &announced, &count))
        return clr_fail(error, CLR_NOT_CORE, 0,
                        "cut short: the file ends at byte %llu, before its program headers",
                        (unsigned long long)process->info.file_size);
    if (count < announced)
        clr_problem_of(problems, CLR_WARNING, "memory_regions", 0, true, 0, 0,
                       "the file is cut within its program headers: %zu of %llu are there", count,
                       (unsigned long long)announced);
    Elf_Data *table =
        elf_getdata_rawchunk(elf, (int64_t)header->e_phoff, count * entry, ELF_T_PHDR);
    if (!table)
        return fail_elf(error, "the program header table");
    for (size_t i = 0; i < count; i++) {
        const struct segment segment = segment_at(table, wide, i);
        const struct clr_range *range = &segment.range;
        struct clr_file_part part = {range->offset, range->saved};
        if (segment.type != PT_LOAD && segment.type != PT_NOTE)
            continue;
        if (!(segment.type == PT_LOAD ? CLR_ARRAY_ADD(&process->ranges, *range)
                                      : CLR_ARRAY_ADD(&process->described, part)))
            return clr_no_memory(error);
        if (range->saved && !__builtin_add_overflow(range->offset, range->saved, &end) &&
            end > process->announced_end)
            process->announced_end = end;
    }
    return CLR_OK;
}

static enum clr_status read_headers(struct clr_process *process, Elf *elf,
                                    struct clr_problems *problems, struct clr_error *error)
{
    GElf_Ehdr header;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        return fail_elf(error, "the ELF header");
    process->info.word_size = gelf_getclass(elf) == ELFCLASS64 ? 8 : 4;
    process->info.swapped =
        (header.e_ident[EI_DATA] == ELFDATA2MSB) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    process->info.machine = header.e_machine;
    if (header.e_type != ET_CORE)
        return clr_fail(error, CLR_NOT_CORE, 0, "%s, not a core dump", type_name(header.e_type));
    CLR_TRY(read_segments(process, elf, &header, problems, error));
    return clr_notes_read(process, elf, problems, error);
}

static enum clr_status read_core(struct clr_process *process, bool mapped,
                                 struct clr_problems *problems, struct clr_error *error)
{
    uint64_t size = process->info.file_size;
    if (size < sizeof(Elf32_Ehdr))
        return clr_fail(error, CLR_NOT_CORE, 0,
                        "is cut short: it ends at byte %llu, within its ELF header",
                        (unsigned long long)size);
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(process->fd, mapped ? ELF_C_READ_MMAP : ELF_C_READ, NULL);
    enum clr_status status = read_headers(process, elf, problems, error);
    elf_end(elf);
    return status;
}

static bool recognizes(const uint8_t *start, size_t size)
{
    return memcmp(start, ELFMAG, size < SELFMAG ? size : SELFMAG) == 0;
}

const struct clr_dump_format clr_elf_format = {.recognizes = recognizes, .read = read_core};

/* --- Notes ------------------------------------------------------------------------------------ */

static enum clr_status visit_part(Elf *elf, uint64_t offset, uint64_t size, clr_note_visit *visit,
                                  void *context, uint64_t *missing, struct clr_error *error)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)offset, size, ELF_T_NHDR);
    if (!data) {
        *missing += size;
        return CLR_OK;
    }
    size_t at = 0;
    while (at < data->d_size) {
        GElf_Nhdr header;
        size_t name, contents, next = gelf_getnote(data, at, &header, &name, &contents);
        if (next == 0 || next <= at) {
            *missing += data->d_size - at;
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

enum clr_status clr_elf_notes(void *elf, const struct clr_process *process, clr_note_visit *visit,
                              void *context, uint64_t *missing, struct clr_error *error)
{
    enum { PARTS_MAX = 1024 }; /* writers make one */
    const uint64_t file_size = process->info.file_size;
    uint64_t budget = file_size; /* parts that overlap are not read forever */
    size_t visited = 0;
    *missing = 0;
    for (size_t i = 0; i < process->described.count; i++) {
        const struct clr_file_part *part = &process->described.items[i];
        uint64_t size = part->size;
        uint64_t room = part->offset < file_size ? file_size - part->offset : 0;
        if (size == 0)
            continue;
        if (size > room) {
            *missing += size - room;
            size = room;
        }
        if (size > budget || ++visited > PARTS_MAX) {
            *missing += size;
            continue;
        }
        budget -= size;
        if (size)
            CLR_TRY(visit_part(elf, part->offset, size, visit, context, missing, error));
    }
    return CLR_OK;
}
