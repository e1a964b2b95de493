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
 *   ELF magic   where the notes are lost (gdb writes them last, and a cut core has lost them), the
 *               saved regions that start with an ELF header are images; DT_SONAME names them
 *
 * Rows of one path belong to one image as long as they lie within the extent that the image's own
 * headers announce. Without these a row at file offset 0 starts another image.
 */
#include "core/internal.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"

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

/* Adds an image; SHAPE (may be NULL) becomes the process's. */
static bool add_image(struct clr_process *process, const struct clr_image *image,
                      struct clr_elf_shape *shape)
{
    size_t room = process->image_room, shape_room = process->image_room;
    if (!clr_grow(&process->images, process->image_count, &room, sizeof *image)) {
        clr_free(shape);
        return false;
    }
    if (!clr_grow(&process->shapes, process->image_count, &shape_room, sizeof(void *))) {
        clr_free(shape);
        return false;
    }
    process->image_room = room;
    process->images[process->image_count] = *image;
    process->shapes[process->image_count++] = shape;
    return true;
}

/* Fills in what the ELF header at image->start tells. False: no memory. *SHAPE is NULL if there is
 * none. */
static bool examine(const struct clr_process *process, struct clr_image *image,
                    struct clr_elf_shape **shape)
{
    struct clr_elf_view view = memory_view(process, image->start, 0);
    struct clr_elf_shape found;
    uint64_t end;
    *shape = NULL;
    if (!clr_elf_shape(&view, false, process->info.machine, &found))
        return true;
    image->bias = image->start - found.lowest;
    if (__builtin_add_overflow(image->start, found.highest - found.lowest, &end))
        return true;
    if (!(*shape = clr_alloc(1, sizeof **shape)))
        return false;
    **shape = found;
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
    struct clr_pe_shape shape;
    uint64_t end, step = process->info.page_size;
    if (!clr_read(process, first->start, page, sizeof page) ||
        !clr_pe_shape(page, sizeof page, &shape))
        return 0;
    uint64_t headers = (shape.headers_size + step - 1) & ~(step - 1);
    if (first->end - first->start != headers ||
        __builtin_add_overflow(first->start, shape.image_size, &end))
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
        struct clr_elf_shape *shape = NULL;
        if (first->offset == 0 && !examine(process, &image, &shape))
            return false;
        size_t used = rows_of_image(process, rows + at, count - at, &image);
        for (size_t i = at; i < at + used; i++) {
            rows[i]->image_start = image.start;
            image.end = rows[i]->end > image.end ? rows[i]->end : image.end;
            image.deleted |= rows[i]->deleted;
        }
        if (!add_image(process, &image, shape))
            return false;
        at += used;
    }
    return true;
}

static bool images_of_mappings(struct clr_process *process)
{
    size_t count = process->mapping_count;
    struct clr_mapping **rows = clr_alloc(count, sizeof *rows);
    bool good = rows != NULL;
    for (size_t i = 0; good && i < count; i++)
        rows[i] = &process->mappings[i];
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
static const char *own_name(struct clr_process *process, const struct clr_image *image,
                            const struct clr_elf_shape *shape)
{
    struct clr_elf_view view = memory_view(process, image->bias, image->bias);
    uint64_t strings, offset;
    const char *name = NULL;
    if (shape->dynamic && clr_elf_pointer(&view, shape, DT_STRTAB, &strings) &&
        clr_elf_dynamic(&view, shape->dynamic, DT_SONAME, &offset))
        name = text_at(process, image->bias + strings + offset);
    return name ? name : "";
}

static bool images_of_headers(struct clr_process *process)
{
    for (size_t i = 0; i < process->elf.segment_count; i++) {
        const struct clr_segment *segment = &process->elf.segments[i];
        struct clr_image image = {.start = segment->vaddr, .end = segment->vaddr};
        struct clr_elf_shape *shape;
        if (segment->type != PT_LOAD || segment->filesz == 0)
            continue;
        if (!examine(process, &image, &shape))
            return false;
        if (!shape)
            continue;
        image.path = own_name(process, &image, shape);
        if (!add_image(process, &image, shape))
            return false;
    }
    return true;
}

/* --- Order ------------------------------------------------------------------------------------ */

/* Sorts images together with their shapes, which lie in an array of their own: a heap sort. */
static void sift(struct clr_process *process, size_t root, size_t end)
{
    for (size_t child; (child = 2 * root + 1) < end; root = child) {
        if (child + 1 < end && process->images[child].start < process->images[child + 1].start)
            child++;
        if (process->images[root].start >= process->images[child].start)
            return;
        struct clr_image image = process->images[root];
        struct clr_elf_shape *shape = process->shapes[root];
        process->images[root] = process->images[child];
        process->shapes[root] = process->shapes[child];
        process->images[child] = image;
        process->shapes[child] = shape;
    }
}

static void sort_images(struct clr_process *process)
{
    size_t count = process->image_count;
    for (size_t i = count / 2; i-- > 0;)
        sift(process, i, count);
    for (size_t end = count; end-- > 1;) {
        struct clr_image image = process->images[0];
        struct clr_elf_shape *shape = process->shapes[0];
        process->images[0] = process->images[end];
        process->shapes[0] = process->shapes[end];
        process->images[end] = image;
        process->shapes[end] = shape;
        sift(process, 0, end);
    }
}

/* How many of the first COUNT images start at or below ADDRESS. */
static size_t image_after(const struct clr_process *process, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->images[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- The loader's list ------------------------------------------------------------------------ */

/* An image that the loader knows and that has no mapping of a file. */
static bool add_linked(struct clr_process *process, uint64_t bias, uint64_t dynamic,
                       const char *path)
{
    struct clr_image image = {.start = bias, .end = bias, .bias = bias, .path = path};
    struct clr_elf_shape *shape;
    if (!examine(process, &image, &shape))
        return false;
    if (!shape)
        return true;
    image.dynamic = dynamic;
    return add_image(process, &image, shape);
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
        i && dynamic < process->images[i - 1].end ? &process->images[i - 1] : NULL;
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
    for (size_t i = 0; i < process->image_count; i++) {
        struct clr_image *image = &process->images[i];
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
    for (size_t i = 0; i < process->image_count; i++) {
        const struct clr_image *image = &process->images[i];
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
    size_t known = process->image_count;
    struct clr_map seen = {0}; /* a list that bites its tail ends there */
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
    for (size_t i = image_after(process, process->image_count, start);
         i-- > 0 && process->images[i].start == start;)
        if (process->images[i].path == mapping->path ||
            strcmp(process->images[i].path, mapping->path) == 0)
            return (uint32_t)i;
    return UINT32_MAX;
}

enum clr_status clr_images_read(struct clr_process *process, struct clr_problems *problems,
                                struct clr_error *error)
{
    bool good = process->mapping_count ? images_of_mappings(process) : images_of_headers(process);
    if (good)
        sort_images(process);
    if (!good || !images_of_loader(process))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    sort_images(process);
    /* What a header announces does not reach into the next image. */
    for (size_t i = 0; i + 1 < process->image_count; i++) {
        struct clr_image *image = &process->images[i];
        if (image->end > process->images[i + 1].start)
            image->end = process->images[i + 1].start;
    }
    for (size_t i = 0; i < process->mapping_count; i++)
        process->mappings[i].image = image_of(process, &process->mappings[i]);
    if (process->mapping_count == 0 && process->image_count)
        clr_problem(problems, CLR_WARNING, "images", 0, 0,
                    "the note of mapped files is missing: images were found by their headers and "
                    "the loader's list");
    return CLR_OK;
}

size_t clr_process_images(const struct clr_process *process, const struct clr_image **images)
{
    *images = process->images;
    return process->image_count;
}

const struct clr_image *clr_image_at(const struct clr_process *process, uint64_t address)
{
    size_t i = image_after(process, process->image_count, address);
    return i && address < process->images[i - 1].end ? &process->images[i - 1] : NULL;
}

const struct clr_elf_shape *clr_image_shape(const struct clr_process *process,
                                            const struct clr_image *image)
{
    uintptr_t at = (uintptr_t)image, first = (uintptr_t)process->images;
    if (at < first || at >= first + process->image_count * sizeof *image)
        image = clr_image_at(process, image->start); /* a copy of one of ours */
    return image ? process->shapes[image - process->images] : NULL;
}

bool clr_image_symbol(const struct clr_process *process, const struct clr_image *image,
                      const char *name, uint64_t *address, uint64_t *size)
{
    const struct clr_elf_shape *shape = clr_image_shape(process, image);
    struct clr_elf_view view = memory_view(process, image->bias, image->bias);
    uint64_t value;
    if (shape && clr_elf_symbol(&view, shape, name, &value, size))
        *address = image->bias + value;
    else if (!clr_file_symbol(process, image, name, address, size))
        return false;
    if (process->info.word_size == 4)
        *address &= UINT32_MAX;
    return true;
}
