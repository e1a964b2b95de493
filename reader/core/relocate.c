/*
 * An image's file as a stand-in for more than its constant parts: symbols when the pages of the
 * image's tables are not saved, and data as the loader made it.
 *
 * The loader maps the file and applies relocations (System V ABI, processor supplements):
 *   DT_RELA   words r_offset, r_info (type in the low 32 bits), r_addend: place = bias + addend
 *   DT_REL    without addend (32 bit, type in the low 8 bits): place += bias
 *   DT_RELR   words: even: an address, whose word is += bias; odd: a bit per following word
 *   DT_JMPREL more of the first or second kind, as DT_PLTREL says
 * Only RELATIVE ones are applied. Where another touches the bytes that are asked for, the answer
 * is no: it would need the symbols of other images.
 *
 * The tables of ReadyToRun code lie in a writable section of a managed image, beside cells that are
 * written; createdump saves neither. Who knows that he reads a table may take it from the file.
 */
#include "core/images.h"

#include <elf.h>
#include <string.h>

#include "core/dynsym.h"
#include "core/regions.h"

/* --- Reading from a verified file ------------------------------------------------------------- */

/* Reads by p_vaddr through the PT_LOADs of the image's file. */
struct disk_image {
    const struct clr_process *process;
    const struct clr_image *image;
};

static const uint8_t *disk_bytes(const struct disk_image *disk, uint64_t vaddr, uint64_t size)
{
    const struct clr_elf_headers *headers = disk->image->headers;
    for (uint32_t i = 0; headers && i < headers->load_count; i++) {
        const struct clr_elf_load *load = &headers->loads[i];
        uint64_t got;
        if (vaddr < load->vaddr || vaddr - load->vaddr >= load->filesz ||
            load->filesz - (vaddr - load->vaddr) < size)
            continue;
        const uint8_t *bytes = clr_backing_view(&disk->process->files.items[disk->image->file],
                                                load->offset + (vaddr - load->vaddr), size, &got);
        return bytes && got == size ? bytes : NULL;
    }
    return NULL;
}

static bool read_disk_image(const void *context, uint64_t at, void *out, size_t size)
{
    const uint8_t *bytes = disk_bytes(context, at, size);
    if (bytes)
        memcpy(out, bytes, size);
    return bytes != NULL;
}

static struct clr_elf_view disk_view(const struct disk_image *disk)
{
    return (struct clr_elf_view){
        read_disk_image, disk, 0, 0, disk->process->info.word_size, disk->process->info.swapped};
}

static bool has_elf_file(const struct clr_image *image)
{
    return image->file != 0 && image->headers;
}

bool clr_file_symbol(const struct clr_process *process, const struct clr_image *image,
                     const char *name, uint64_t *address, uint64_t *size)
{
    struct disk_image disk = {process, image};
    struct clr_elf_view view = disk_view(&disk);
    uint64_t value;
    if (!has_elf_file(image) || !clr_elf_symbol(&view, image->headers, name, &value, size))
        return false;
    *address = image->bias + value;
    return true;
}

/* --- Relocated data --------------------------------------------------------------------------- */

/* Bytes [start, start + size) of the image, by p_vaddr, that are being relocated. */
struct patch {
    const struct clr_process *process;
    struct disk_image disk;
    uint64_t start;
    uint8_t *out;
    size_t size;
    uint32_t relative; /* the relocation type that adds the bias, and nothing else */
};

static bool touches(const struct patch *patch, uint64_t place)
{
    uint64_t word = patch->process->info.word_size;
    return place + word > patch->start && place < patch->start + patch->size;
}

/* Writes VALUE at PLACE, as far as it lies in the patch. */
static void put_word(const struct patch *patch, uint64_t place, uint64_t value)
{
    uint8_t raw[8];
    size_t word = patch->process->info.word_size;
    if (word == 4) {
        uint32_t single = (uint32_t)value;
        if (patch->process->info.swapped)
            single = __builtin_bswap32(single);
        memcpy(raw, &single, sizeof single);
    } else {
        if (patch->process->info.swapped)
            value = __builtin_bswap64(value);
        memcpy(raw, &value, sizeof value);
    }
    for (size_t i = 0; i < word; i++)
        if (place + i >= patch->start && place + i < patch->start + patch->size)
            patch->out[place + i - patch->start] = raw[i];
}

/* Adds the bias to the word at PLACE of the file. */
static bool add_bias(const struct patch *patch, uint64_t place)
{
    size_t word = patch->process->info.word_size;
    const uint8_t *raw = disk_bytes(&patch->disk, place, word);
    if (!raw)
        return false;
    struct clr_bytes b = clr_bytes(raw, word);
    b.swapped = patch->process->info.swapped;
    put_word(patch, place, clr_bytes_word(&b, word) + patch->disk.image->bias);
    return true;
}

/* A table of relocations: where it is, if the image has one. False: it cannot be read. */
static bool find_table(const struct patch *patch, uint64_t tag, uint64_t size_tag,
                       struct clr_bytes *table)
{
    const struct clr_elf_headers *headers = patch->disk.image->headers;
    struct clr_elf_view view = disk_view(&patch->disk);
    uint64_t start, size;
    *table = clr_bytes(NULL, 0);
    if (headers->dynamic == 0 || !clr_elf_dynamic(&view, headers->dynamic, tag, &start) ||
        !clr_elf_dynamic(&view, headers->dynamic, size_tag, &size) || size == 0)
        return true;
    const uint8_t *bytes = disk_bytes(&patch->disk, start, size);
    if (!bytes)
        return false;
    *table = clr_bytes(bytes, (size_t)size);
    table->swapped = patch->process->info.swapped;
    return true;
}

/* DT_RELA and DT_REL, and DT_JMPREL, which is one of them. */
static bool apply_table(const struct patch *patch, struct clr_bytes table, bool addends)
{
    size_t word = patch->process->info.word_size;
    size_t entry = word * (addends ? 3 : 2);
    while (table.size - table.at >= entry) {
        uint64_t place = clr_bytes_word(&table, word), info = clr_bytes_word(&table, word);
        uint64_t addend = addends ? clr_bytes_word(&table, word) : 0;
        if (!touches(patch, place))
            continue;
        if ((word == 8 ? info & UINT32_MAX : info & 0xff) != patch->relative)
            return false;
        if (addends)
            put_word(patch, place, patch->disk.image->bias + addend);
        else if (!add_bias(patch, place))
            return false;
    }
    return true;
}

static bool apply_relr(const struct patch *patch, struct clr_bytes table)
{
    size_t word = patch->process->info.word_size;
    uint64_t place = 0, bits = word * 8 - 1;
    while (table.size - table.at >= word) {
        uint64_t entry = clr_bytes_word(&table, word);
        if ((entry & 1) == 0) {
            if (touches(patch, entry) && !add_bias(patch, entry))
                return false;
            place = entry + word;
            continue;
        }
        for (uint64_t i = 0; i < bits; i++)
            if ((entry >> (i + 1) & 1) && touches(patch, place + i * word) &&
                !add_bias(patch, place + i * word))
                return false;
        place += bits * word;
    }
    return true;
}

bool clr_file_relocated(const struct clr_process *process, const struct clr_image *image,
                        uint64_t address, void *out, size_t size)
{
    struct patch patch = {.process = process, .disk = {process, image}, .out = out, .size = size};
    struct clr_bytes rela, rel, relr, jumps;
    struct clr_elf_view view = disk_view(&patch.disk);
    uint64_t kind = 0;
    if (!has_elf_file(image) || address < image->bias || !process->info.cpu)
        return false;
    patch.relative = process->info.cpu->relative_relocation;
    patch.start = address - image->bias;
    const uint8_t *bytes = disk_bytes(&patch.disk, patch.start, size);
    if (!bytes || !find_table(&patch, DT_RELA, DT_RELASZ, &rela) ||
        !find_table(&patch, DT_REL, DT_RELSZ, &rel) ||
        !find_table(&patch, DT_RELR, DT_RELRSZ, &relr) ||
        !find_table(&patch, DT_JMPREL, DT_PLTRELSZ, &jumps))
        return false;
    memcpy(out, bytes, size);
    clr_elf_dynamic(&view, image->headers->dynamic, DT_PLTREL, &kind);
    return apply_relr(&patch, relr) && apply_table(&patch, rela, true) &&
           apply_table(&patch, rel, false) && apply_table(&patch, jumps, kind == DT_RELA);
}

/* --- Constants of managed images --------------------------------------------------------------- */

const uint8_t *clr_view_constant(const struct clr_process *process, uint64_t address, uint64_t want,
                                 uint64_t *got)
{
    const uint8_t *bytes = clr_view(process, address, want, got);
    if (bytes)
        return bytes;
    const struct clr_mapping *mapping = clr_mapping_at(process, address);
    if (!mapping || mapping->image == UINT32_MAX)
        return NULL;
    const struct clr_image *image = &process->images.items[mapping->image];
    uint64_t saved;
    if (image->file == 0 || image->is_elf)
        return NULL;
    if (want > mapping->end - address)
        want = mapping->end - address;
    if (clr_next_saved(process, address, &saved) && want > saved - address)
        want = saved - address;
    return clr_backing_view(&process->files.items[image->file],
                            mapping->offset + (address - mapping->start), want, got);
}

bool clr_read_constant(const struct clr_process *process, uint64_t address, void *out, size_t size)
{
    uint8_t *to = out;
    for (uint64_t got; size != 0; size -= (size_t)got, address += got, to += got) {
        const uint8_t *bytes = clr_view_constant(process, address, size, &got);
        if (!bytes || got == 0)
            return false;
        memcpy(to, bytes, (size_t)got);
    }
    return true;
}
