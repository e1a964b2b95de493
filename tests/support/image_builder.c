/*
 * The file is written front to back into pages; image_builder.h shows the layout. The hash table
 * has two buckets, so that a look-up has to choose.
 */
#include "image_builder.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

struct writer {
    const struct image_spec *spec;
    uint8_t *bytes;
    size_t at;
};

static void put(struct writer *w, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        w->bytes[w->at + (w->spec->big_endian ? size - 1 - i : i)] = (uint8_t)(value >> (8 * i));
    w->at += size;
}

static void word(struct writer *w, uint64_t value)
{
    put(w, value, w->spec->word);
}

static void copy(struct writer *w, const void *from, size_t size)
{
    if (size)
        memcpy(w->bytes + w->at, from, size);
    w->at += size;
}

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

static uint64_t target(const struct image *image, uint64_t to)
{
    return to >= IMAGE_DATA ? image->data_vaddr + (to - IMAGE_DATA) : image->constants_vaddr + to;
}

static void header(struct writer *w, uint32_t type, uint32_t flags, uint64_t offset, uint64_t vaddr,
                   uint64_t size, uint64_t bss)
{
    put(w, type, 4);
    if (w->spec->word == 8)
        put(w, flags, 4);
    word(w, offset);
    word(w, vaddr);
    word(w, vaddr);
    word(w, size);
    word(w, size + bss);
    if (w->spec->word == 4)
        put(w, flags, 4);
    word(w, PAGE);
}

static void write_headers(struct writer *w, const struct image *image, size_t dynamic_size)
{
    const struct image_spec *spec = w->spec;
    bool wide = spec->word == 8;
    uint8_t ident[EI_NIDENT] = {0x7f,
                                'E',
                                'L',
                                'F',
                                wide ? ELFCLASS64 : ELFCLASS32,
                                spec->big_endian ? ELFDATA2MSB : ELFDATA2LSB,
                                EV_CURRENT};
    size_t size = wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    size_t entry = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    size_t note_at = size + 4 * entry, note_size = 16 + spec->build_id_size;
    copy(w, ident, sizeof ident);
    put(w, ET_DYN, 2);
    put(w, spec->machine, 2);
    put(w, EV_CURRENT, 4);
    word(w, 0);
    word(w, size);
    word(w, 0);
    put(w, 0, 4);
    put(w, size, 2);
    put(w, entry, 2);
    put(w, 4, 2);
    put(w, 0, 6);
    header(w, PT_LOAD, PF_R, 0, 0, image->writable_offset, 0);
    header(w, PT_LOAD, PF_R | PF_W, image->writable_offset, image->writable_vaddr,
           image->writable_size, spec->bss_size);
    header(w, PT_DYNAMIC, PF_R | PF_W, image->writable_offset, image->dynamic_vaddr, dynamic_size,
           0);
    header(w, spec->build_id_size ? PT_NOTE : PT_NULL, PF_R, note_at, note_at, note_size, 0);
    if (spec->build_id_size) {
        put(w, 4, 4);
        put(w, spec->build_id_size, 4);
        put(w, NT_GNU_BUILD_ID, 4);
        copy(w, "GNU", 4);
        copy(w, spec->build_id, spec->build_id_size);
    }
}

struct tables {
    size_t hash, symbols, names, soname, relocations, relocations_size;
};

static void write_symbol(struct writer *w, size_t name, uint64_t value, uint64_t size)
{
    put(w, name, 4);
    if (w->spec->word == 4) {
        word(w, value);
        word(w, size);
    }
    put(w, name ? ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT) : 0, 1);
    put(w, 0, 1);
    put(w, name ? 1 : SHN_UNDEF, 2);
    if (w->spec->word == 8) {
        word(w, value);
        word(w, size);
    }
}

/* Symbols of even hashes first: they are bucket 0. */
static size_t sorted(const struct image_spec *spec, const struct image_symbol **symbols)
{
    size_t count = 0, even;
    for (size_t i = 0; i < spec->symbol_count; i++)
        if (hash_of(spec->symbols[i].name) % 2 == 0)
            symbols[count++] = &spec->symbols[i];
    even = count;
    for (size_t i = 0; i < spec->symbol_count; i++)
        if (hash_of(spec->symbols[i].name) % 2 == 1)
            symbols[count++] = &spec->symbols[i];
    return even;
}

/* DT_RELR: the first address, then a bit for each word after it. */
static void write_packed(struct writer *w, const struct image *image)
{
    const struct image_spec *spec = w->spec;
    uint64_t bits = spec->word * 8 - 1, place = spec->pointers[0].offset + spec->word;
    word(w, image->data_vaddr + spec->pointers[0].offset);
    for (size_t i = 1; i < spec->pointer_count; place += bits * spec->word) {
        uint64_t map = 1;
        for (; i < spec->pointer_count; i++) {
            uint64_t bit = (spec->pointers[i].offset - place) / spec->word;
            if (bit >= bits)
                break;
            map |= (uint64_t)2 << bit;
        }
        word(w, map);
    }
}

static struct tables write_tables(struct writer *w, const struct image *image)
{
    enum { SYMBOLS_MAX = 16 };
    const struct image_spec *spec = w->spec;
    const struct image_symbol *symbols[SYMBOLS_MAX];
    struct tables t = {.hash = w->at};
    if (spec->symbol_count > SYMBOLS_MAX)
        abort();
    size_t even = sorted(spec, symbols), count = spec->symbol_count;
    put(w, 2, 4); /* buckets */
    put(w, 1, 4); /* first symbol */
    put(w, 1, 4); /* words of the filter */
    put(w, 6, 4); /* its shift */
    word(w, UINT64_MAX);
    put(w, even ? 1 : 0, 4);
    put(w, even < count ? 1 + even : 0, 4);
    for (size_t i = 0; i < count; i++) {
        bool last = i + 1 == even || i + 1 == count;
        put(w, (hash_of(symbols[i]->name) & ~1u) | last, 4);
    }
    w->at = (w->at + 7) & ~(size_t)7;
    t.symbols = w->at;
    write_symbol(w, 0, 0, 0);
    size_t name = 1;
    for (size_t i = 0; i < count; i++) {
        write_symbol(w, name, image->data_vaddr + symbols[i]->offset, symbols[i]->size);
        name += strlen(symbols[i]->name) + 1;
    }
    t.names = w->at;
    put(w, 0, 1);
    for (size_t i = 0; i < count; i++)
        copy(w, symbols[i]->name, strlen(symbols[i]->name) + 1);
    t.soname = w->at - t.names;
    if (spec->soname)
        copy(w, spec->soname, strlen(spec->soname) + 1);
    w->at = (w->at + 7) & ~(size_t)7;
    t.relocations = w->at;
    if (spec->packed && spec->pointer_count)
        write_packed(w, image);
    for (size_t i = 0; i < spec->pointer_count && !spec->packed; i++) {
        word(w, image->data_vaddr + spec->pointers[i].offset);
        word(w, spec->relocation);
        word(w, target(image, spec->pointers[i].to));
    }
    t.relocations_size = w->at - t.relocations;
    return t;
}

static size_t write_dynamic(struct writer *w, const struct tables *t)
{
    const struct image_spec *spec = w->spec;
    const uint64_t rows[][2] = {
        {DT_GNU_HASH, t->hash},
        {DT_SYMTAB, t->symbols},
        {DT_STRTAB, t->names},
        {spec->packed ? 36 : DT_RELA, t->relocations},        /* 36: DT_RELR */
        {spec->packed ? 35 : DT_RELASZ, t->relocations_size}, /* 35: DT_RELRSZ */
        {spec->soname ? DT_SONAME : DT_BIND_NOW, t->soname},
        {spec->debug ? DT_DEBUG : DT_BIND_NOW, spec->debug},
        {DT_NULL, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        word(w, rows[i][0]);
        word(w, rows[i][1]);
    }
    return sizeof rows / sizeof *rows * 2 * spec->word;
}

struct image image_build(const struct image_spec *spec)
{
    struct image image = {.constants_vaddr = 2 * PAGE};
    size_t dynamic_size = 8 * 2 * (size_t)spec->word;
    image.writable_offset = 2 * PAGE + ((spec->constants_size + PAGE - 1) & ~(size_t)(PAGE - 1));
    image.writable_vaddr = image.dynamic_vaddr = image.writable_offset + PAGE;
    image.data_vaddr = image.dynamic_vaddr + dynamic_size;
    image.writable_size = dynamic_size + spec->data_size;
    image.end = image.writable_vaddr + image.writable_size + spec->bss_size;
    image.size = image.writable_offset + image.writable_size;
    image.bytes = calloc(1, image.size + PAGE);
    if (!image.bytes)
        abort();
    struct writer w = {spec, image.bytes, 0};
    write_headers(&w, &image, dynamic_size);
    w.at = PAGE;
    struct tables tables = write_tables(&w, &image);
    if (w.at > 2 * PAGE)
        abort();
    w.at = 2 * PAGE;
    copy(&w, spec->constants, spec->constants_size);
    w.at = image.writable_offset;
    write_dynamic(&w, &tables);
    size_t data = w.at;
    copy(&w, spec->data, spec->data_size);
    for (size_t i = 0; i < spec->pointer_count; i++) {
        w.at = data + spec->pointers[i].offset;
        word(&w, spec->packed ? target(&image, spec->pointers[i].to) : 0);
    }
    return image;
}

void image_free(struct image *image)
{
    free(image->bytes);
    image->bytes = NULL;
}

uint8_t *image_loaded(const struct image_spec *spec, const struct image *image, uint64_t bias)
{
    uint8_t *memory = calloc(1, image->writable_size + 1);
    if (!memory)
        abort();
    memcpy(memory, image->bytes + image->writable_offset, image->writable_size);
    struct writer w = {spec, memory, 0};
    for (size_t i = 0; i < spec->pointer_count; i++) {
        w.at = image->data_vaddr - image->writable_vaddr + spec->pointers[i].offset;
        word(&w, bias + target(image, spec->pointers[i].to));
    }
    return memory;
}
