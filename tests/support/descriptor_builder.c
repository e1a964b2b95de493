#include "descriptor_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, NAMES_SIZE = 1024 };

static void die(const char *what)
{
    fprintf(stderr, "descriptor_builder: %s\n", what);
    abort();
}

/* Puts the low SIZE bytes of VALUE at OFFSET. */
static void put(struct built_image *image, size_t offset, uint64_t value, size_t size)
{
    if (offset + size > image->room)
        die("past the end");
    for (size_t i = 0; i < size; i++) {
        size_t shift = 8 * (image->big_endian ? size - 1 - i : i);
        image->bytes[offset + i] = (uint8_t)(value >> shift);
    }
}

static void make_room(struct built_image *image, size_t size)
{
    if (size <= image->room)
        return;
    size_t room = size + size / 2 + PAGE;
    if (!(image->bytes = realloc(image->bytes, room)))
        die("out of memory");
    memset(image->bytes + image->room, 0, room - image->room);
    image->room = room;
}

struct built_image *built_image_create(uint64_t base, uint8_t word, bool big_endian)
{
    struct built_image *image = calloc(1, sizeof *image);
    if (!image)
        die("out of memory");
    image->base = base;
    image->word = word;
    image->big_endian = big_endian;
    image->machine = word == 4 ? 3 : 62;
    image->data = BUILT_HEADERS;
    for (size_t i = 0; i < sizeof image->build_id; i++)
        image->build_id[i] = (uint8_t)(i * 7 + base / PAGE);
    make_room(image, BUILT_HEADERS);
    image->size = BUILT_HEADERS;
    return image;
}

void built_image_destroy(struct built_image *image)
{
    if (image)
        free(image->bytes);
    free(image);
}

uint64_t built_image_data(struct built_image *image, const void *bytes, size_t size)
{
    size_t offset = image->size;
    size_t end = (offset + size + image->word - 1) / image->word * image->word;
    make_room(image, end);
    if (bytes)
        memcpy(image->bytes + offset, bytes, size);
    image->size = end;
    return image->base + offset;
}

uint64_t built_image_word(struct built_image *image, uint64_t value)
{
    uint64_t address = built_image_data(image, NULL, image->word);
    built_image_put_word(image, address, value);
    return address;
}

void built_image_put(struct built_image *image, uint64_t address, const void *bytes, size_t size)
{
    size_t offset = (size_t)(address - image->base);
    if (offset + size > image->size)
        die("past the end");
    memcpy(image->bytes + offset, bytes, size);
}

void built_image_put_u32(struct built_image *image, uint64_t address, uint32_t value)
{
    put(image, (size_t)(address - image->base), value, 4);
}

void built_image_put_word(struct built_image *image, uint64_t address, uint64_t value)
{
    put(image, (size_t)(address - image->base), value, image->word);
}

void built_image_put_pointer(struct built_image *image, uint64_t address, uint64_t value)
{
    built_image_put_word(image, address, value);
    if (value < image->base || value - image->base >= image->room)
        return;
    if (image->relocation_count == BUILT_RELOCATIONS_MAX)
        die("too many relocations");
    image->relocations[image->relocation_count++] = address;
}

size_t built_descriptor_offset(const struct built_image *image, enum built_member member)
{
    size_t word = image->word;
    switch (member) {
    case BUILT_MAGIC: return 0;
    case BUILT_FLAGS: return 8;
    case BUILT_JSON_SIZE: return 12;
    case BUILT_JSON: return 16;
    case BUILT_SLOT_COUNT: return 16 + word;
    case BUILT_SLOTS: return 24 + word;
    }
    return 0;
}

uint64_t built_image_descriptor(struct built_image *image, const char *json, size_t length,
                                const uint64_t *slots, uint32_t slot_count)
{
    static const char magic[8] = "DNCCDAC";
    char ordered[8];
    for (size_t i = 0; i < sizeof magic; i++)
        ordered[i] = magic[image->big_endian ? sizeof magic - 1 - i : i];
    uint64_t text = built_image_data(image, json, length);
    uint64_t array = built_image_data(image, NULL, (size_t)slot_count * image->word);
    for (uint32_t i = 0; i < slot_count; i++)
        built_image_put_pointer(image, array + (uint64_t)i * image->word, slots[i]);
    uint64_t at = built_image_data(image, NULL, 24 + 2 * (size_t)image->word);
    built_image_put(image, at, ordered, sizeof ordered);
    built_image_put_u32(image, at + built_descriptor_offset(image, BUILT_FLAGS),
                        image->word == 4 ? 3 : 1);
    built_image_put_u32(image, at + built_descriptor_offset(image, BUILT_JSON_SIZE),
                        (uint32_t)length);
    built_image_put_pointer(image, at + built_descriptor_offset(image, BUILT_JSON), text);
    built_image_put_u32(image, at + built_descriptor_offset(image, BUILT_SLOT_COUNT), slot_count);
    built_image_put_pointer(image, at + built_descriptor_offset(image, BUILT_SLOTS), array);
    return at;
}

void built_image_export(struct built_image *image, const char *name, uint64_t address,
                        uint64_t size)
{
    if (image->symbol_count == BUILT_SYMBOLS_MAX)
        die("too many symbols");
    image->symbols[image->symbol_count++] = (struct built_symbol){name, address, size};
}

/* --- ELF -------------------------------------------------------------------------------------- */

/* Offsets of the parts within the headers. */
struct plan {
    size_t programs, note, dynamic, symbols, names, hash, relocations;
};

static struct plan plan_of(const struct built_image *image)
{
    struct plan plan = {.programs = 0x40, .note = 0x200, .dynamic = 0x240, .symbols = 0x400};
    plan.names = plan.symbols + (BUILT_SYMBOLS_MAX + 1) * 24;
    plan.hash = plan.names + NAMES_SIZE;
    plan.relocations = plan.hash + 64 + (BUILT_SYMBOLS_MAX + 1) * 4;
    plan.relocations = (plan.relocations + 15) / 16 * 16;
    if (plan.relocations + BUILT_RELOCATIONS_MAX * 3 * (size_t)image->word > BUILT_HEADERS)
        die("the headers are too small");
    return plan;
}

/* A program header; members stand in another order in the two classes. */
static void put_program(struct built_image *image, size_t at, uint32_t type, uint32_t flags,
                        uint64_t offset, uint64_t size, uint64_t align)
{
    size_t w = image->word;
    put(image, at, type, 4);
    put(image, w == 8 ? at + 4 : at + 24, flags, 4);
    size_t next = w == 8 ? at + 8 : at + 4;
    put(image, next, offset, w);         /* p_offset */
    put(image, next + w, offset, w);     /* p_vaddr: the image starts at 0 */
    put(image, next + 2 * w, offset, w); /* p_paddr */
    put(image, next + 3 * w, size, w);   /* p_filesz */
    put(image, next + 4 * w, size, w);   /* p_memsz */
    put(image, w == 8 ? at + 48 : at + 28, align, w);
}

static void put_headers(struct built_image *image, const struct plan *plan)
{
    size_t w = image->word, entry = w == 8 ? 56 : 32, at = plan->programs;
    const uint8_t ident[16] = {
        0x7f, 'E', 'L', 'F', (uint8_t)(w == 8 ? 2 : 1), (uint8_t)(image->big_endian ? 2 : 1), 1};
    memcpy(image->bytes, ident, sizeof ident);
    put(image, 16, 3, 2); /* ET_DYN */
    put(image, 18, image->machine, 2);
    put(image, 20, 1, 4);
    put(image, 24 + w, plan->programs, w);              /* e_phoff */
    put(image, 24 + 3 * w + 4, w == 8 ? 64 : 52, 2);    /* e_ehsize */
    put(image, 24 + 3 * w + 6, entry, 2);               /* e_phentsize */
    put(image, 24 + 3 * w + 8, 4, 2);                   /* e_phnum */
    put_program(image, at, 1, 4, 0, image->data, PAGE); /* PT_LOAD, R */
    put_program(image, at + entry, 1, 6, image->data, image->size - image->data, PAGE);
    put_program(image, at + 2 * entry, 2, 4, plan->dynamic, 16 * 2 * w, w); /* PT_DYNAMIC */
    put_program(image, at + 3 * entry, 4, 4, plan->note, 36, 4);            /* PT_NOTE */
    put(image, plan->note, 4, 4);
    put(image, plan->note + 4, sizeof image->build_id, 4);
    put(image, plan->note + 8, 3, 4); /* NT_GNU_BUILD_ID */
    memcpy(image->bytes + plan->note + 12, "GNU", 4);
    memcpy(image->bytes + plan->note + 16, image->build_id, sizeof image->build_id);
}

static void put_dynamic(struct built_image *image, const struct plan *plan, size_t names_size)
{
    size_t w = image->word;
    const uint64_t entries[][2] = {
        {0x6ffffef5, plan->hash},             /* DT_GNU_HASH */
        {6, plan->symbols},                   /* DT_SYMTAB */
        {11, w == 8 ? 24 : 16},               /* DT_SYMENT */
        {5, plan->names},                     /* DT_STRTAB */
        {10, names_size},                     /* DT_STRSZ */
        {7, plan->relocations},               /* DT_RELA */
        {8, image->relocation_count * 3 * w}, /* DT_RELASZ */
        {9, 3 * w},                           /* DT_RELAENT */
        {0, 0},
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        put(image, plan->dynamic + i * 2 * w, entries[i][0], w);
        put(image, plan->dynamic + i * 2 * w + w, entries[i][1], w);
    }
}

static uint32_t gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

/* One bucket, whose chain holds all symbols; returns the size of the names. */
static size_t put_symbols(struct built_image *image, const struct plan *plan)
{
    size_t w = image->word, entry = w == 8 ? 24 : 16, name_at = 1;
    size_t chain = plan->hash + 16 + w + 4;
    put(image, plan->hash, 1, 4);                                /* buckets */
    put(image, plan->hash + 4, 1, 4);                            /* first symbol */
    put(image, plan->hash + 8, 1, 4);                            /* words of the filter */
    put(image, plan->hash + 12, 6, 4);                           /* its shift */
    put(image, plan->hash + 16, UINT64_MAX, w);                  /* lets everything pass */
    put(image, plan->hash + 16 + w, image->symbol_count > 0, 4); /* bucket */
    for (size_t i = 0; i < image->symbol_count; i++) {
        const struct built_symbol *symbol = &image->symbols[i];
        size_t at = plan->symbols + (i + 1) * entry, length = strlen(symbol->name) + 1;
        if (name_at + length > NAMES_SIZE)
            die("too many names");
        memcpy(image->bytes + plan->names + name_at, symbol->name, length);
        put(image, at, name_at, 4);
        put(image, w == 8 ? at + 4 : at + 12, 0x11, 1); /* STB_GLOBAL, STT_OBJECT */
        put(image, w == 8 ? at + 6 : at + 14, 1, 2);    /* st_shndx: defined */
        put(image, w == 8 ? at + 8 : at + 4, symbol->address - image->base, w);
        put(image, w == 8 ? at + 16 : at + 8, symbol->size, w);
        name_at += length;
        bool last = i + 1 == image->symbol_count;
        put(image, chain + 4 * i, (gnu_hash(symbol->name) & ~1u) | last, 4);
    }
    return name_at;
}

void built_image_finish(struct built_image *image)
{
    size_t whole = (image->size + PAGE - 1) / PAGE * PAGE, w = image->word;
    struct plan plan = plan_of(image);
    if (whole == BUILT_HEADERS)
        whole += PAGE; /* an image without data still has its second segment */
    make_room(image, whole);
    image->size = whole;
    put_headers(image, &plan);
    put_dynamic(image, &plan, put_symbols(image, &plan));
    for (size_t i = 0; i < image->relocation_count; i++) {
        uint64_t offset = image->relocations[i] - image->base, value = 0;
        for (size_t k = 0; k < w; k++)
            value = value << 8 | image->bytes[offset + (image->big_endian ? k : w - 1 - k)];
        size_t at = plan.relocations + i * 3 * w;
        put(image, at, offset, w);
        put(image, at + w, image->machine == 183 ? 1027 : 8, w); /* …_RELATIVE */
        put(image, at + 2 * w, value - image->base, w);
    }
}

void built_image_write(const struct built_image *image, const char *path)
{
    uint8_t *bytes = malloc(image->size);
    FILE *file = fopen(path, "wb");
    if (!bytes || !file)
        die("the file cannot be written");
    memcpy(bytes, image->bytes, image->size);
    for (size_t i = 0; i < image->relocation_count; i++)
        memset(bytes + (image->relocations[i] - image->base), 0, image->word);
    if (fwrite(bytes, 1, image->size, file) != image->size || fclose(file) != 0)
        die("the file cannot be written");
    free(bytes);
}
