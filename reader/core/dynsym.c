/*
 * An ELF image, in memory or on disk, read piece by piece: a dump keeps some of its pages, so that
 * nothing here asks for more bytes than it needs.
 *
 *   Ehdr, Phdr      where the image's parts are            (System V ABI)
 *   PT_NOTE         owner 'GNU', type 3: the build id, unique to the link that made the file
 *   PT_DYNAMIC      pairs of words (tag, value); glibc adds the bias to the values of addresses in
 *                   memory, musl does not, so that both are taken
 *   DT_GNU_HASH     uint32: buckets, first symbol, words of the Bloom filter, shift;
 *                   words of the filter; one uint32 per bucket: its first symbol;
 *                   one uint32 per symbol from the first: its hash, lowest bit set at the end of
 *                   the bucket.  The filter is skipped: it would only be one page more to need
 *   DT_SYMTAB       64-bit: name 4, info 1, other 1, section 2, value 8, size 8
 *                   32-bit: name 4, value 4, size 4, info 1, other 1, section 2
 */
#include "core/dynsym.h"

#include <elf.h>
#include <string.h>

#include "base/bytes.h"

enum {
    HEADERS_MAX = 256,    /* program headers of an image */
    DYNAMIC_MAX = 256,    /* entries of a dynamic section; a large program has 40 */
    NOTES_MAX = 64,       /* notes looked at in one PT_NOTE */
    BUCKET_MAX = 1 << 16, /* symbols in one bucket */
    NAME_MAX_SIZE = 256,
};

static bool read_u32(const struct clr_elf_view *view, uint64_t at, uint32_t *value)
{
    uint32_t raw;
    if (!view->read(view->context, view->base + at, &raw, sizeof raw))
        return false;
    *value = view->swapped ? __builtin_bswap32(raw) : raw;
    return true;
}

static bool read_word(const struct clr_elf_view *view, uint64_t at, uint64_t *value)
{
    uint64_t raw;
    if (view->word_size == 4) {
        uint32_t single;
        if (!read_u32(view, at, &single))
            return false;
        *value = single;
        return true;
    }
    if (!view->read(view->context, view->base + at, &raw, sizeof raw))
        return false;
    *value = view->swapped ? __builtin_bswap64(raw) : raw;
    return true;
}

static struct clr_bytes cursor(const struct clr_elf_view *view, const void *data, size_t size)
{
    struct clr_bytes b = clr_bytes(data, size);
    b.swapped = view->swapped;
    return b;
}

/* --- Headers ---------------------------------------------------------------------------------- */

struct program_header {
    uint32_t type, flags;
    uint64_t offset, vaddr, filesz, memsz;
};

static struct program_header header_at(const struct clr_elf_view *view, const uint8_t *raw)
{
    bool wide = view->word_size == 8;
    struct program_header h = {0};
    struct clr_bytes b = cursor(view, raw, wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
    h.type = clr_bytes_u32(&b);
    if (wide)
        h.flags = clr_bytes_u32(&b);
    h.offset = clr_bytes_word(&b, view->word_size);
    h.vaddr = clr_bytes_word(&b, view->word_size);
    clr_bytes_word(&b, view->word_size); /* p_paddr */
    h.filesz = clr_bytes_word(&b, view->word_size);
    h.memsz = clr_bytes_word(&b, view->word_size);
    if (!wide)
        h.flags = clr_bytes_u32(&b);
    return h;
}

/* Adds a PT_LOAD; false if it is no possible one. */
static bool add_load(struct clr_elf_headers *headers, const struct program_header *h)
{
    uint64_t end;
    if (h->memsz == 0)
        return true;
    if (headers->load_count == CLR_LOADS_MAX || h->filesz > h->memsz ||
        __builtin_add_overflow(h->vaddr, h->memsz, &end))
        return false;
    uint64_t start = h->vaddr & ~(uint64_t)4095;
    if (headers->load_count == 0 || start < headers->lowest)
        headers->lowest = start;
    if (end > headers->highest)
        headers->highest = end;
    headers->loads[headers->load_count++] =
        (struct clr_elf_load){h->vaddr, h->offset, h->filesz, h->memsz, h->flags};
    return true;
}

static void find_build_id(const struct clr_elf_view *view, uint64_t at, uint64_t size,
                          struct clr_elf_headers *headers)
{
    uint64_t end;
    if (__builtin_add_overflow(at, size, &end))
        return;
    for (unsigned n = 0; n < NOTES_MAX && end - at >= 12 && headers->build_id_size == 0; n++) {
        uint32_t name_size, data_size, type;
        char name[4];
        if (!read_u32(view, at, &name_size) || !read_u32(view, at + 4, &data_size) ||
            !read_u32(view, at + 8, &type))
            return;
        uint64_t data = at + 12 + (((uint64_t)name_size + 3) & ~(uint64_t)3);
        if (type == NT_GNU_BUILD_ID && name_size == 4 && data_size > 0 &&
            view->read(view->context, view->base + at + 12, name, 4) &&
            memcmp(name, "GNU", 4) == 0) {
            size_t kept = data_size < CLR_BUILD_ID_MAX ? data_size : CLR_BUILD_ID_MAX;
            if (view->read(view->context, view->base + data, headers->build_id, kept))
                headers->build_id_size = (uint8_t)kept;
        }
        uint64_t next = data + (((uint64_t)data_size + 3) & ~(uint64_t)3);
        if (next >= end)
            return;
        at = next;
    }
}

/* True if the 64 (52) bytes at the start are the header of an image of MACHINE. */
static bool read_header(const struct clr_elf_view *view, uint16_t machine, uint64_t *table,
                        uint32_t *count)
{
    bool wide = view->word_size == 8;
    uint8_t raw[sizeof(Elf64_Ehdr)];
    size_t size = wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    bool big = view->swapped != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    if (!view->read(view->context, view->base, raw, size) || memcmp(raw, ELFMAG, SELFMAG) != 0 ||
        raw[EI_CLASS] != (wide ? ELFCLASS64 : ELFCLASS32) ||
        raw[EI_DATA] != (big ? ELFDATA2MSB : ELFDATA2LSB))
        return false;
    struct clr_bytes b = cursor(view, raw, size);
    clr_bytes_seek(&b, EI_NIDENT);
    uint16_t type = clr_bytes_u16(&b), of_machine = clr_bytes_u16(&b);
    clr_bytes_u32(&b);                   /* e_version */
    clr_bytes_word(&b, view->word_size); /* e_entry */
    *table = clr_bytes_word(&b, view->word_size);
    clr_bytes_word(&b, view->word_size); /* e_shoff */
    clr_bytes_u32(&b);                   /* e_flags */
    clr_bytes_u16(&b);                   /* e_ehsize */
    uint16_t entry = clr_bytes_u16(&b);
    *count = clr_bytes_u16(&b);
    return (type == ET_EXEC || type == ET_DYN) && of_machine == machine &&
           entry == (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr)) && *count > 0 &&
           *count <= HEADERS_MAX && *table <= UINT32_MAX;
}

bool clr_elf_headers_read(const struct clr_elf_view *view, bool by_offset, uint16_t machine,
                          struct clr_elf_headers *headers)
{
    uint64_t table;
    uint32_t count;
    memset(headers, 0, sizeof *headers);
    if (!read_header(view, machine, &table, &count))
        return false;
    size_t entry = view->word_size == 8 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    struct program_header notes[8];
    size_t note_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t raw[sizeof(Elf64_Phdr)];
        if (!view->read(view->context, view->base + table + i * entry, raw, entry))
            return false;
        struct program_header h = header_at(view, raw);
        if (h.type == PT_LOAD && !add_load(headers, &h))
            return false;
        if (h.type == PT_DYNAMIC) {
            headers->dynamic = h.vaddr;
            headers->dynamic_size = h.memsz;
        }
        if (h.type == PT_NOTE && note_count < sizeof notes / sizeof *notes)
            notes[note_count++] = h;
    }
    if (headers->load_count == 0)
        return false;
    for (size_t i = 0; i < note_count; i++) {
        uint64_t at = by_offset ? notes[i].offset : notes[i].vaddr - headers->lowest;
        find_build_id(view, at, notes[i].filesz, headers);
    }
    return true;
}

/* --- Dynamic section -------------------------------------------------------------------------- */

bool clr_elf_dynamic(const struct clr_elf_view *view, uint64_t dynamic, uint64_t tag,
                     uint64_t *value)
{
    uint64_t word = view->word_size;
    for (uint64_t i = 0; i < DYNAMIC_MAX; i++) {
        uint64_t found;
        if (!read_word(view, dynamic + i * 2 * word, &found) || found == DT_NULL)
            return false;
        if (found == tag)
            return read_word(view, dynamic + (i * 2 + 1) * word, value);
    }
    return false;
}

bool clr_elf_pointer(const struct clr_elf_view *view, const struct clr_elf_headers *headers,
                     uint64_t tag, uint64_t *vaddr)
{
    uint64_t value;
    if (headers->dynamic == 0 || !clr_elf_dynamic(view, headers->dynamic, tag, &value) ||
        value == 0)
        return false;
    if (view->bias != 0 && value - view->bias >= headers->lowest &&
        value - view->bias < headers->highest)
        value -= view->bias;
    *vaddr = value;
    return value >= headers->lowest && value < headers->highest;
}

/* --- Symbols ---------------------------------------------------------------------------------- */

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

struct symbol {
    uint32_t name;
    uint8_t info;
    uint16_t section;
    uint64_t value, size;
};

static bool read_symbol(const struct clr_elf_view *view, uint64_t table, uint32_t index,
                        struct symbol *symbol)
{
    uint8_t raw[sizeof(Elf64_Sym)];
    bool wide = view->word_size == 8;
    size_t size = wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (!view->read(view->context, view->base + table + (uint64_t)index * size, raw, size))
        return false;
    struct clr_bytes b = cursor(view, raw, size);
    *symbol = (struct symbol){.name = clr_bytes_u32(&b)};
    if (!wide) {
        symbol->value = clr_bytes_u32(&b);
        symbol->size = clr_bytes_u32(&b);
    }
    symbol->info = clr_bytes_u8(&b);
    clr_bytes_u8(&b); /* st_other */
    symbol->section = clr_bytes_u16(&b);
    if (wide) {
        symbol->value = clr_bytes_u64(&b);
        symbol->size = clr_bytes_u64(&b);
    }
    return true;
}

static bool name_is(const struct clr_elf_view *view, uint64_t at, const char *name)
{
    char found[NAME_MAX_SIZE];
    size_t size = strlen(name) + 1;
    return size <= sizeof found && view->read(view->context, view->base + at, found, size) &&
           memcmp(found, name, size) == 0;
}

bool clr_elf_symbol(const struct clr_elf_view *view, const struct clr_elf_headers *headers,
                    const char *name, uint64_t *value, uint64_t *size)
{
    uint64_t table, symbols, strings;
    uint32_t buckets, first, filter_words, index, hash = gnu_hash(name);
    if (!clr_elf_pointer(view, headers, DT_GNU_HASH, &table) ||
        !clr_elf_pointer(view, headers, DT_SYMTAB, &symbols) ||
        !clr_elf_pointer(view, headers, DT_STRTAB, &strings) || !read_u32(view, table, &buckets) ||
        !read_u32(view, table + 4, &first) || !read_u32(view, table + 8, &filter_words) ||
        buckets == 0)
        return false;
    uint64_t bucket_table = table + 16 + (uint64_t)filter_words * view->word_size;
    uint64_t chains = bucket_table + (uint64_t)buckets * 4;
    if (!read_u32(view, bucket_table + (uint64_t)(hash % buckets) * 4, &index))
        return false; /* an empty bucket holds 0, which is below FIRST */
    for (uint32_t steps = 0; steps < BUCKET_MAX && index >= first; steps++, index++) {
        uint32_t found;
        struct symbol symbol;
        if (!read_u32(view, chains + (uint64_t)(index - first) * 4, &found))
            return false;
        if ((found | 1) == (hash | 1) && read_symbol(view, symbols, index, &symbol) &&
            symbol.section != SHN_UNDEF && ELF64_ST_TYPE(symbol.info) != STT_TLS &&
            name_is(view, strings + symbol.name, name)) {
            *value = symbol.value;
            *size = symbol.size;
            return true;
        }
        if (found & 1)
            return false;
    }
    return false;
}
