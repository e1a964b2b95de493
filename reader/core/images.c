/*
 * The files that are mapped into the process, and where their symbols are.
 *
 *   NT_FILE     which part of which file was mapped where. One image may have many rows, and one
 *               file many images: the runtime maps a managed DLL once flat, as it lies on disk,
 *               and once laid out by its sections
 *   link map    the dynamic loader's own list (System V ABI, link.h):
 *                 r_debug   int version, word r_map: at DT_DEBUG of the program's dynamic section
 *                 link_map  words l_addr (the bias), l_name, l_ld (dynamic section), l_next
 *               It names what has no file, the vdso, and serves alone where NT_FILE is missing
 *   ELF magic   where the notes are missing (gdb writes them last, so a cut core lacks them), the
 *               saved regions that start with an ELF header are images; DT_SONAME names them
 *
 * Rows of one path belong to one image as long as they lie within the extent that the image's own
 * headers announce. Without these a row at file offset 0 starts another image.
 */
#include "core/images.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "core/dynsym.h"
#include "core/pe.h"

enum {
    LINKS_MAX = 1 << 16,     /* entries of the loader's list */
    NAME_SIZE_MAX = 4096,    /* of a path */
    SECTION_GAP = 64 * 1024, /* largest alignment of a managed image's sections */
};

static bool read_memory(const void *context, uint64_t at, void *out, size_t size)
{
    return clr_read(context, at, out, size);
}

/* AT counts from BASE on. */
static struct clr_elf_view memory_view(const struct clr_process *process, uint64_t base,
                                       uint64_t bias)
{
    return (struct clr_elf_view){read_memory,          process, base, bias, process->info.word_size,
                                 process->info.swapped};
}

/* A copy of the text at ADDRESS that lives with the process; NULL: not readable or no memory. */
static const char *text_at(struct clr_process *process, uint64_t address)
{
    char text[NAME_SIZE_MAX];
    size_t length = 0;
    while (length < sizeof text) {
        uint64_t got;
        const uint8_t *bytes = clr_view(process, address + length, sizeof text - length, &got);
        if (!bytes)
            return NULL;
        size_t part = strnlen((const char *)bytes, (size_t)got);
        memcpy(text + length, bytes, part);
        length += part;
        if (part < got)
            return clr_process_keep(process, text, length);
    }
    return NULL;
}

/* Adds an image and takes over its headers. */
static bool add_image(struct clr_process *process, const struct clr_image *image)
{
    if (CLR_ARRAY_ADD(&process->images, *image))
        return true;
    clr_free(image->headers);
    return false;
}

/* Fills in what the ELF header at image->start says, if there is one. False: no memory. */
static bool examine(const struct clr_process *process, struct clr_image *image)
{
    struct clr_elf_view view = memory_view(process, image->start, 0);
    struct clr_elf_headers found;
    uint64_t end;
    if (!clr_elf_headers_read(&view, false, process->info.machine, &found))
        return true;
    image->bias = image->start - found.lowest;
    if (__builtin_add_overflow(image->start, found.highest - found.lowest, &end))
        return true;
    if (!(image->headers = clr_alloc(1, sizeof found)))
        return false;
    *image->headers = found;
    image->is_elf = true;
    image->end = end > image->end ? end : image->end;
    image->dynamic = found.dynamic ? image->bias + found.dynamic : 0;
    image->build_id_size = found.build_id_size;
    memcpy(image->build_id, found.build_id, sizeof found.build_id);
    return true;
}

/* --- NT_FILE ---------------------------------------------------------------------------------- */

static int by_path(const void *a, const void *b)
{
    const struct clr_mapping *x = *(struct clr_mapping *const *)a;
    const struct clr_mapping *y = *(struct clr_mapping *const *)b;
    int order = strcmp(x->path, y->path);
    if (order != 0)
        return order;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* Where a managed image that starts with the mapping FIRST ends when its sections are laid out; 0
 * if it is mapped flat or its headers are not saved. */
static uint64_t laid_out_end(const struct clr_process *process, const struct clr_mapping *first)
{
    uint8_t page[CLR_PAGE];
    struct clr_pe pe;
    uint64_t end, step = process->info.page_size;
    if (!clr_read(process, first->start, page, sizeof page) ||
        !clr_pe_headers(&pe, page, sizeof page))
        return 0;
    uint64_t headers = (pe.size_of_headers + step - 1) & ~(step - 1);
    if (first->end - first->start != headers ||
        __builtin_add_overflow(first->start, pe.size_of_image, &end))
        return 0;
    return end;
}

/* How many of the rows, which are of one path and sorted, make one image. */
static size_t rows_of_image(const struct clr_process *process, struct clr_mapping *const *rows,
                            size_t count, const struct clr_image *image)
{
    const struct clr_mapping *first = rows[0];
    uint64_t limit = image->is_elf ? image->end : 0;
    bool headers_only = first->offset == 0 && first->end - first->start == process->info.page_size;
    if (!image->is_elf && first->offset == 0)
        limit = laid_out_end(process, first);
    for (size_t i = 1; i < count; i++) {
        const struct clr_mapping *row = rows[i], *last = rows[i - 1];
        bool belongs;
        if (limit != 0)
            belongs = row->start < limit;
        else if (row->offset == 0) /* the headers again, as part of the first section */
            belongs = i == 1 && headers_only && row->start - last->end <= SECTION_GAP &&
                      row->end - row->start > last->end - last->start;
        else
            belongs = row->offset >= last->offset;
        if (!belongs)
            return i;
    }
    return count;
}

static bool images_of_path(struct clr_process *process, struct clr_mapping **rows, size_t count)
{
    for (size_t at = 0; at < count;) {
        const struct clr_mapping *first = rows[at];
        struct clr_image image = {.start = first->start,
                                  .end = first->end,
                                  .bias = first->start,
                                  .path = first->path,
                                  .deleted = first->deleted};
        if (first->offset == 0 && !examine(process, &image))
            return false;
        size_t used = rows_of_image(process, rows + at, count - at, &image);
        for (size_t i = at; i < at + used; i++) {
            rows[i]->image_start = image.start;
            image.end = rows[i]->end > image.end ? rows[i]->end : image.end;
            image.deleted |= rows[i]->deleted;
        }
        if (!add_image(process, &image))
            return false;
        at += used;
    }
    return true;
}

static bool images_of_mappings(struct clr_process *process)
{
    size_t count = process->mappings.count;
    struct clr_mapping **rows = clr_alloc(count, sizeof *rows);
    bool good = rows != NULL;
    for (size_t i = 0; good && i < count; i++)
        rows[i] = &process->mappings.items[i];
    if (good)
        qsort(rows, count, sizeof *rows, by_path);
    for (size_t at = 0; good && at < count;) {
        size_t end = at + 1;
        while (end < count && strcmp(rows[end]->path, rows[at]->path) == 0)
            end++;
        good = images_of_path(process, rows + at, end - at);
        at = end;
    }
    clr_free(rows);
    return good;
}

/* --- Without NT_FILE -------------------------------------------------------------------------- */

/* The name that an image gives itself, or "". */
static const char *own_name(struct clr_process *process, const struct clr_image *image)
{
    struct clr_elf_view view = memory_view(process, image->bias, image->bias);
    const struct clr_elf_headers *headers = image->headers;
    uint64_t strings, offset;
    const char *name = NULL;
    if (headers->dynamic && clr_elf_pointer(&view, headers, DT_STRTAB, &strings) &&
        clr_elf_dynamic(&view, headers->dynamic, DT_SONAME, &offset))
        name = text_at(process, image->bias + strings + offset);
    return name ? name : "";
}

static bool images_of_headers(struct clr_process *process)
{
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct clr_range *range = &process->ranges.items[i];
        struct clr_image image = {.start = range->start, .end = range->start};
        if (range->saved == 0)
            continue;
        if (!examine(process, &image))
            return false;
        if (!image.headers)
            continue;
        image.path = own_name(process, &image);
        if (!add_image(process, &image))
            return false;
    }
    return true;
}

/* --- Order ------------------------------------------------------------------------------------ */

static int by_start(const void *a, const void *b)
{
    const struct clr_image *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void sort_images(struct clr_process *process)
{
    if (process->images.count)
        qsort(process->images.items, process->images.count, sizeof *process->images.items,
              by_start);
}

/* How many of the first COUNT images start at or below ADDRESS. */
static size_t image_after(const struct clr_process *process, size_t count, uint64_t address)
{
    size_t i;
    CLR_SEARCH(i, 0, count, process->images.items[i].start <= address);
    return i;
}

/* --- The loader's list ------------------------------------------------------------------------ */

/* An image that the loader knows and that has no mapping of a file. */
static bool add_linked(struct clr_process *process, uint64_t bias, uint64_t dynamic,
                       const char *path)
{
    struct clr_image image = {.start = bias, .end = bias, .bias = bias, .path = path};
    if (!examine(process, &image))
        return false;
    if (!image.headers)
        return true;
    image.dynamic = dynamic;
    return add_image(process, &image);
}

/* Takes up one entry. The first KNOWN images are sorted. */
static bool follow_link(struct clr_process *process, size_t known, uint64_t link)
{
    uint64_t word = process->info.word_size, bias, name, dynamic;
    if (!clr_read_word(process, link, &bias) || !clr_read_word(process, link + word, &name) ||
        !clr_read_word(process, link + 2 * word, &dynamic) || dynamic == 0)
        return true;
    /* By address: the first page of an image may be missing while its mapping is known. */
    size_t i = image_after(process, known, dynamic);
    struct clr_image *image =
        i && dynamic < process->images.items[i - 1].end ? &process->images.items[i - 1] : NULL;
    if (image && image->dynamic == 0)
        image->dynamic = dynamic;
    if (image && image->path[0] == '/')
        return true;
    const char *path = text_at(process, name);
    if (image && path && path[0])
        image->path = path;
    return image || add_linked(process, bias, dynamic, path ? path : "");
}

/* The program's own path, where the loader's list leaves it out. */
static void name_program(struct clr_process *process)
{
    uint64_t entry, address;
    if (!clr_process_auxv(process, AT_ENTRY, &entry) ||
        !clr_process_auxv(process, AT_EXECFN, &address))
        return;
    for (size_t i = 0; i < process->images.count; i++) {
        struct clr_image *image = &process->images.items[i];
        if (entry < image->start || entry >= image->end || image->path[0])
            continue;
        const char *path = text_at(process, address);
        if (path)
            image->path = path;
    }
}

/* The head of the loader's list: DT_DEBUG of the program, the only image that has one. */
static uint64_t first_link(const struct clr_process *process)
{
    uint64_t word = process->info.word_size, debug, link;
    for (size_t i = 0; i < process->images.count; i++) {
        const struct clr_image *image = &process->images.items[i];
        struct clr_elf_view view = memory_view(process, 0, image->bias);
        if (image->dynamic && clr_elf_dynamic(&view, image->dynamic, DT_DEBUG, &debug) && debug &&
            clr_read_word(process, debug + word, &link) && link)
            return link;
    }
    return 0;
}

static bool images_of_loader(struct clr_process *process)
{
    uint64_t next_at = 3 * (uint64_t)process->info.word_size, link = first_link(process);
    size_t known = process->images.count;
    struct clr_map seen = {0}; /* a list with a cycle ends where it repeats */
    bool good = true;
    for (uint64_t ignored; good && link != 0 && seen.count < LINKS_MAX;) {
        if (clr_map_get(&seen, link, &ignored))
            break;
        good = clr_map_put(&seen, link, 1) && follow_link(process, known, link);
        if (!clr_read_word(process, link + next_at, &link))
            break;
    }
    clr_map_deinit(&seen);
    if (good)
        name_program(process);
    return good;
}

/* --- All of them ------------------------------------------------------------------------------ */

static uint32_t image_of(const struct clr_process *process, const struct clr_mapping *mapping)
{
    uint64_t start = mapping->image_start;
    for (size_t i = image_after(process, process->images.count, start);
         i-- > 0 && process->images.items[i].start == start;)
        if (process->images.items[i].path == mapping->path ||
            strcmp(process->images.items[i].path, mapping->path) == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

enum clr_status clr_images_read(struct clr_process *process, struct clr_problems *problems,
                                struct clr_error *error)
{
    bool good = process->mappings.count ? images_of_mappings(process) : images_of_headers(process);
    if (good)
        sort_images(process);
    if (!good || !images_of_loader(process))
        return clr_no_memory(error);
    sort_images(process);
    /* What a header announces does not reach into the next image. */
    for (size_t i = 0; i + 1 < process->images.count; i++) {
        struct clr_image *image = &process->images.items[i];
        if (image->end > process->images.items[i + 1].start)
            image->end = process->images.items[i + 1].start;
    }
    for (size_t i = 0; i < process->mappings.count; i++)
        process->mappings.items[i].image = image_of(process, &process->mappings.items[i]);
    if (process->mappings.count == 0 && process->images.count)
        clr_problem(problems, CLR_WARNING, "images", 0, 0,
                    "the note of mapped files is missing: images were found by their headers and "
                    "the loader's list");
    return CLR_OK;
}

size_t clr_process_images(const struct clr_process *process, const struct clr_image **images)
{
    *images = process->images.items;
    return process->images.count;
}

const struct clr_image *clr_image_at(const struct clr_process *process, uint64_t address)
{
    size_t i = image_after(process, process->images.count, address);
    return i && address < process->images.items[i - 1].end ? &process->images.items[i - 1] : NULL;
}

bool clr_image_symbol(const struct clr_process *process, const struct clr_image *image,
                      const char *name, uint64_t *address, uint64_t *size)
{
    struct clr_elf_view view = memory_view(process, image->bias, image->bias);
    uint64_t value;
    if (image->headers && clr_elf_symbol(&view, image->headers, name, &value, size))
        *address = image->bias + value;
    else if (!clr_file_symbol(process, image, name, address, size))
        return false;
    if (process->info.word_size == 4)
        *address &= UINT32_MAX;
    return true;
}
