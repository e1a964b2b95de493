/*
 * Image files on disk as a second source of bytes.
 *
 * A kernel core leaves out what a file backs, createdump most of the native images. The mapped file
 * has these bytes, if it is the same file. All mappings are resolved when the core is opened, so
 * that an address reads the same from the first query to the last.
 *
 * What may stand in: parts that were mapped and never written. Of an ELF image these are the
 * PT_LOADs without PF_W: what lies in one with PF_W is another thing in memory than on disk, even
 * where the loader took the right to write away after relocation. Of a managed image these are
 * sections that are not writable, or the whole file where it is mapped flat.
 *
 * A program can still write to constants, after mprotect: libcoreclr does so to one page. The
 * kernel then keeps that stretch as a mapping of its own between two that are otherwise like it,
 * because only one of two neighbours has private pages. So of the rows that share one PT_LOAD every
 * other one was written; which ones, a saved page shows. The kernel and gdb save what was written, so
 * that for them the question does not arise.
 *
 * When is it the same file?
 *   build_id   ELF: the build id in the saved first page equals the file's
 *   layout     no build id to compare: every mapping lies where the file's own headers put it, and
 *              every saved page that was compared equals the file's
 * A file that fails is refused and the next candidate looked at. Where no page is saved to compare,
 * layout is weak: two builds of a small library often have the same. That is reported; and a
 * mapping whose file had been deleted needs more than that.
 */
#include "core/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/dynsym.h"
#include "core/pe.h"
#include "core/search.h"

enum {
    FILES_MAX = 8192, /* image files in use */
    COMPARED_MAX = 4, /* saved pages of a mapping that are compared with the file */
};

/* --- A file on disk --------------------------------------------------------------------------- */

struct candidate {
    const char *path;
    int fd;
    struct stat found;
    uint64_t size;
    bool is_elf;
    struct clr_elf_headers elf;
    struct clr_pe pe;
};

static bool read_disk(const void *context, uint64_t at, void *out, size_t size)
{
    const struct candidate *file = context;
    ssize_t n;
    do
        n = pread(file->fd, out, size, (off_t)at);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

/* Opens PATH if it is a regular file of one of the two kinds. Devices and pipes are never opened:
 * the path comes from the dump. */
static bool open_candidate(const struct clr_process *process, struct candidate *file,
                           const char *path)
{
    uint8_t page[CLR_PAGE];
    *file = (struct candidate){.path = path, .fd = -1};
    if (stat(path, &file->found) != 0 || !S_ISREG(file->found.st_mode) || file->found.st_size == 0)
        return false;
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file->fd < 0 || fstat(file->fd, &file->found) != 0 || !S_ISREG(file->found.st_mode))
        return false;
    file->size = (uint64_t)file->found.st_size;
    struct clr_elf_view view = {
        read_disk, file, 0, 0, process->info.word_size, process->info.swapped};
    file->is_elf = clr_elf_headers_read(&view, true, process->info.machine, &file->elf);
    if (file->is_elf)
        return true;
    size_t size = file->size < sizeof page ? (size_t)file->size : sizeof page;
    return read_disk(file, 0, page, size) && clr_pe_headers(&file->pe, page, size);
}

static void close_candidate(struct candidate *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

/* --- Where it would lie in memory ------------------------------------------------------------- */

/* A row of NT_FILE, compared with a file. */
struct part {
    uint64_t start, end; /* what of the row the file can stand in for; empty if nothing */
    uint32_t load;       /* of an ELF image: number of the PT_LOAD */
    enum { UNKNOWN, UNWRITTEN, WRITTEN } state;
};

static uint64_t round_down(uint64_t value, uint64_t step)
{
    return value & ~(step - 1);
}

static uint64_t round_up(uint64_t value, uint64_t step)
{
    return round_down(value + step - 1, step);
}

/* Whether ROW lies where the file's PT_LOADs put it. Gaps between these are mapped too, without
 * any right of access: they follow the first. */
static bool place_elf(const struct clr_process *process, const struct candidate *file,
                      uint64_t bias, const struct clr_mapping *row, struct part *part)
{
    uint64_t step = process->info.page_size;
    bool fits = false;
    for (uint32_t i = 0; i < file->elf.load_count; i++) {
        const struct clr_elf_load *load = &file->elf.loads[i];
        uint64_t start = bias + round_down(load->vaddr, step);
        uint64_t end = bias + round_up(load->vaddr + load->filesz, step);
        if (row->start < start ||
            row->offset - round_down(load->offset, step) != row->start - start)
            continue;
        fits = true;
        if (row->start >= end)
            continue;
        part->load = i;
        bool writable = load->flags & CLR_FLAG_W;
        part->start = part->end = row->start;
        if (!writable)
            part->end = row->end < end ? row->end : end;
    }
    return fits;
}

/* Whether a section's header puts it where ROW is mapped. */
static bool section_fits(uint64_t step, const struct clr_pe_section *section, uint64_t rva,
                         const struct clr_mapping *row)
{
    uint64_t size =
        section->virtual_size > section->raw_size ? section->virtual_size : section->raw_size;
    uint64_t start = round_down(section->rva, step);
    uint64_t end = round_up((uint64_t)section->rva + size, step);
    return rva >= start && rva + (row->end - row->start) <= end &&
           round_down(section->raw_offset, step) + (rva - start) == row->offset;
}

static bool place_managed(const struct clr_process *process, const struct candidate *file,
                          uint64_t base, const struct clr_mapping *row, struct part *part)
{
    uint64_t step = process->info.page_size, rva = row->start - base, size = row->end - row->start;
    bool flat = size == round_up(file->size, step);
    bool headers = size == round_up(file->pe.size_of_headers, step);
    part->start = part->end = row->start;
    if (rva == 0 && row->offset == 0 && (flat || headers)) {
        part->end = row->end;
        return true;
    }
    for (uint32_t i = 0; i < file->pe.section_count; i++) {
        if (!section_fits(step, &file->pe.sections[i], rva, row))
            continue;
        if (!(file->pe.sections[i].flags & clr_pe_writable))
            part->end = row->end;
        return true;
    }
    return false;
}

/* BUNDLED: the rows are of something else that is packed into an ELF file, behind its own parts. */
static bool place(const struct clr_process *process, const struct candidate *file,
                  const struct clr_image *image, bool bundled, const struct clr_mapping *row,
                  struct part *part)
{
    *part = (struct part){.load = UINT32_MAX};
    uint64_t room = round_up(file->size, process->info.page_size);
    if (row->offset >= file->size || row->end - row->start > room - row->offset)
        return false;
    if (bundled) {
        part->start = row->start;
        part->end = row->end;
    } else if (!(file->is_elf ? place_elf(process, file, image->bias, row, part)
                              : place_managed(process, file, image->start, row, part))) {
        return false;
    }
    if (row->has_flags && (row->flags & CLR_FLAG_W))
        part->end = part->start;
    uint64_t end = row->start + (file->size - row->offset);
    if (part->end > end)
        part->end = end;
    return true;
}

/* --- Is it the file that was mapped? ---------------------------------------------------------- */

/* Compares saved pages of the part, spread over it, with the file. */
static void compare_pages(const struct clr_process *process, const struct candidate *file,
                          const struct clr_mapping *row, struct part *part)
{
    uint8_t ours[CLR_PAGE], theirs[CLR_PAGE];
    uint64_t at = part->start, saved;
    uint64_t step = round_up((part->end - part->start) / COMPARED_MAX, CLR_PAGE);
    for (size_t n = 0; n < COMPARED_MAX && at < part->end; n++, at = saved + step) {
        if (!clr_next_saved(process, at, &saved) || saved >= part->end)
            break;
        size_t size = part->end - saved < CLR_PAGE ? (size_t)(part->end - saved) : CLR_PAGE;
        if (!clr_read(process, saved, ours, size))
            continue; /* less than a page is saved there: nothing that is worth a comparison */
        if (!read_disk(file, row->offset + (saved - row->start), theirs, size) ||
            memcmp(ours, theirs, size) != 0) {
            part->state = WRITTEN;
            return;
        }
        part->state = UNWRITTEN;
    }
}

/* Whether B goes on where A ends, in memory as in the file, with the same rights. */
static bool continues(const struct clr_mapping *a, const struct part *of_a,
                      const struct clr_mapping *b, const struct part *of_b)
{
    return of_a->load == of_b->load && of_a->load != UINT32_MAX && a->end == b->start &&
           a->offset + (a->end - a->start) == b->offset &&
           (!a->has_flags || !b->has_flags || a->flags == b->flags);
}

/* Of rows that continue each other every other one was written: those with a page to compare say
 * which of the others were. Where no row has one, all are taken as written. */
static void infer_written(const struct clr_mapping *const *rows, struct part *parts, size_t count)
{
    for (size_t first = 0, end; first < count; first = end) {
        size_t known = SIZE_MAX;
        for (end = first; end < count; end++) {
            if (end > first && !continues(rows[end - 1], &parts[end - 1], rows[end], &parts[end]))
                break;
            if (known == SIZE_MAX && parts[end].state != UNKNOWN)
                known = end;
        }
        if (end - first == 1)
            continue;
        for (size_t i = first; i < end; i++) {
            bool same = known != SIZE_MAX && (i - known) % 2 == 0;
            bool unwritten = known != SIZE_MAX && (parts[known].state == UNWRITTEN) == same;
            if (parts[i].state == UNKNOWN)
                parts[i].state = unwritten ? UNWRITTEN : WRITTEN;
        }
    }
}

/* The image that a file is looked for, and its rows of NT_FILE. */
struct resolver {
    struct clr_process *process;
    struct clr_extents *extents;
    struct clr_search search;
    const struct clr_mapping **rows; /* of all images, in order of image and address */
    size_t *first;                   /* of each image, in rows; one more at the end */
    struct part *parts;              /* room for the rows of any image */
    uint32_t number;                 /* of the image in hand */
    size_t refused;
    char reason[512]; /* why the first candidate was refused */
    bool own_path;    /* that one lies on this machine where it lay in the process */
};

struct hex {
    char text[2 * CLR_BUILD_ID_MAX + 1];
};

static struct hex build_id_text(const uint8_t *id, uint8_t size)
{
    struct hex hex = {"none"};
    for (uint8_t i = 0; i < size; i++)
        snprintf(hex.text + (size_t)2 * i, 3, "%02x", id[i]);
    return hex;
}

static bool same_build_id(const struct clr_image *image, const struct clr_elf_headers *headers)
{
    return image->build_id_size == headers->build_id_size &&
           memcmp(image->build_id, headers->build_id, headers->build_id_size) == 0;
}

static bool same_loads(const struct clr_elf_headers *a, const struct clr_elf_headers *b)
{
    return a->load_count == b->load_count &&
           memcmp(a->loads, b->loads, a->load_count * sizeof *a->loads) == 0;
}

/* Whether IMAGE is a stretch of a single-file application that lies behind the ELF parts of FILE:
 * assemblies are packed there. The executable itself is an image of its own, and its build id
 * speaks for the whole file. */
static bool is_bundled(const struct clr_process *process, const struct clr_image *image,
                       const struct candidate *file)
{
    if (!file->is_elf || image->is_elf || image->build_id_size != 0)
        return false;
    for (size_t i = 0; i < process->images.count; i++) {
        const struct clr_image *other = &process->images.items[i];
        if (other->is_elf && other->build_id_size != 0 && strcmp(other->path, image->path) == 0 &&
            same_build_id(other, &file->elf))
            return true;
    }
    return false;
}

/* Fills the parts and compares what there is. NULL, or in what the file differs. */
static const char *compare(struct resolver *resolver, const struct candidate *file,
                           const struct clr_image *image, bool bundled, bool *compared)
{
    const struct clr_process *process = resolver->process;
    const struct clr_mapping *const *rows = resolver->rows + resolver->first[resolver->number];
    size_t count = resolver->first[resolver->number + 1] - resolver->first[resolver->number];
    for (size_t i = 0; i < count; i++) {
        struct part *part = &resolver->parts[i];
        if (!place(process, file, image, bundled, rows[i], part))
            return "its headers put its parts elsewhere";
        compare_pages(process, file, rows[i], part);
        *compared |= part->state == UNWRITTEN;
        if (part->state == WRITTEN && !image->build_id_size && !bundled)
            return "its contents differ";
    }
    if (process->info.writer != CLR_WRITER_KERNEL && process->info.writer != CLR_WRITER_GCORE)
        infer_written(rows, resolver->parts, count);
    return NULL;
}

/* Whether FILE is what was mapped as IMAGE: how it was verified, or NULL with the reason kept. */
static const char *verify(struct resolver *resolver, const struct clr_image *image,
                          const struct candidate *file)
{
    const char *differs = NULL;
    const bool bundled = is_bundled(resolver->process, image, file);
    bool by_id = image->build_id_size != 0, compared = false;
    struct clr_image tried = *image;
    char ids[2 * sizeof(struct hex) + 64];
    if (image->is_elf && !file->is_elf) {
        differs = "it is no ELF image";
    } else if (by_id && !same_build_id(image, &file->elf)) {
        snprintf(ids, sizeof ids, "its build id is %s, that of the mapped one %s",
                 build_id_text(file->elf.build_id, file->elf.build_id_size).text,
                 build_id_text(image->build_id, image->build_id_size).text);
        differs = ids;
    } else if (image->headers && !same_loads(image->headers, &file->elf)) {
        differs = "its program headers differ";
    } else {
        if (file->is_elf && !image->headers)
            tried.bias = image->start - file->elf.lowest;
        differs = compare(resolver, file, &tried, bundled, &compared);
        by_id |= bundled;
        if (!differs && image->deleted && !by_id && !compared)
            differs = "the mapped file had been deleted and no page of it is saved to compare";
    }
    if (!differs) {
        if (!by_id && !compared)
            clr_problem(resolver->search.problems, CLR_WARNING, "images", image->start, 0,
                        "%s stands in by its name and layout alone: no page of it is saved to "
                        "compare with, so that it may be of another version",
                        file->path);
        return by_id ? "build_id" : "layout";
    }
    if (resolver->refused++ == 0) {
        resolver->own_path = strcmp(file->path, image->path) == 0;
        snprintf(resolver->reason, sizeof resolver->reason, "%s is not used: %s", file->path,
                 differs);
    }
    return NULL;
}

/* --- Taking a file into use ------------------------------------------------------------------- */

static enum clr_status file_number(struct clr_process *process, const struct candidate *file,
                                   uint32_t *number, struct clr_error *error)
{
    for (size_t i = 1; i < process->files.count; i++) {
        if (clr_same_file(&process->files.items[i].identity, &file->found)) {
            *number = (uint32_t)i;
            return CLR_OK;
        }
    }
    if (!CLR_ARRAY_ROOM(&process->files))
        return clr_no_memory(error);
    CLR_TRY(clr_backing_open(&process->files.items[process->files.count], file->fd, file->path,
                             &file->found, false, error));
    *number = (uint32_t)process->files.count++;
    return CLR_OK;
}

static enum clr_status use(struct resolver *resolver, struct clr_image *image,
                           const struct candidate *file, const char *how, struct clr_error *error)
{
    struct clr_process *process = resolver->process;
    struct clr_extents *extents = resolver->extents;
    size_t first = resolver->first[resolver->number];
    CLR_TRY(file_number(process, file, &image->file, error));
    image->source = CLR_SOURCE_FILE;
    image->verified = how;
    if (file->is_elf && !image->headers && !is_bundled(process, image, file)) {
        if (!(image->headers = clr_alloc(1, sizeof *image->headers)))
            return clr_no_memory(error);
        *image->headers = file->elf;
        image->is_elf = true;
        image->bias = image->start - file->elf.lowest;
        if (image->dynamic == 0 && file->elf.dynamic)
            image->dynamic = image->bias + file->elf.dynamic;
    }
    for (size_t i = first; i < resolver->first[resolver->number + 1]; i++) {
        const struct part *part = &resolver->parts[i - first];
        if (part->state == WRITTEN || part->end <= part->start)
            continue;
        const struct clr_mapping *row = resolver->rows[i];
        struct clr_extent extent = {.start = part->start,
                                    .end = part->end,
                                    .offset = row->offset + (part->start - row->start),
                                    .file = image->file,
                                    .rank = (uint32_t)(process->ranges.count + extents->count)};
        if (!CLR_ARRAY_ADD(extents, extent))
            return clr_no_memory(error);
    }
    return CLR_OK;
}

static enum clr_status try_path(void *context, const char *path, bool *done,
                                struct clr_error *error)
{
    struct resolver *resolver = context;
    struct clr_image *image = &resolver->process->images.items[resolver->number];
    struct candidate file;
    enum clr_status status = CLR_OK;
    if (open_candidate(resolver->process, &file, path)) {
        const char *how = verify(resolver, image, &file);
        *done = how != NULL;
        if (how)
            status = use(resolver, image, &file, how, error);
    }
    close_candidate(&file);
    return status;
}

/* --- All images ------------------------------------------------------------------------------- */

/* Sorts the rows by image; false: no memory. */
static bool group_rows(struct resolver *resolver)
{
    const struct clr_process *process = resolver->process;
    size_t images = process->images.count, most = 0;
    resolver->rows = clr_alloc(process->mappings.count, sizeof *resolver->rows);
    resolver->first = clr_alloc(images + 2, sizeof *resolver->first);
    if (!resolver->rows || !resolver->first)
        return false;
    size_t *next = resolver->first + 1; /* counts, then where the next row of an image goes */
    for (size_t i = 0; i < process->mappings.count; i++)
        if (process->mappings.items[i].image != UINT32_MAX)
            next[process->mappings.items[i].image + 1]++;
    for (size_t i = 1; i <= images; i++)
        next[i] += next[i - 1];
    for (size_t i = 0; i < process->mappings.count; i++) {
        const struct clr_mapping *mapping = &process->mappings.items[i];
        if (mapping->image != UINT32_MAX)
            resolver->rows[next[mapping->image]++] = mapping;
    }
    for (size_t i = 0; i < images; i++)
        if (resolver->first[i + 1] - resolver->first[i] > most)
            most = resolver->first[i + 1] - resolver->first[i];
    resolver->parts = clr_alloc(most, sizeof *resolver->parts);
    return resolver->parts != NULL;
}

/* Bytes of the image's mappings that the core does not hold. */
static uint64_t unsaved(const struct resolver *resolver, uint32_t number)
{
    uint64_t bytes = 0;
    for (size_t i = resolver->first[number]; i < resolver->first[number + 1]; i++) {
        const struct clr_mapping *row = resolver->rows[i];
        bytes += row->end - row->start - clr_saved_bytes(resolver->process, row->start, row->end);
    }
    return bytes;
}

static enum clr_status resolve_image(struct resolver *resolver, uint32_t number,
                                     struct clr_error *error)
{
    struct clr_process *process = resolver->process;
    struct clr_image *image = &process->images.items[number];
    if (unsaved(resolver, number) == 0) {
        image->source = CLR_SOURCE_CORE;
        return CLR_OK;
    }
    if (process->files.count > FILES_MAX) {
        clr_problem(resolver->search.problems, CLR_WARNING, "images", image->start, 0,
                    "more than %d image files: %s was not looked for", FILES_MAX, image->path);
        return CLR_OK;
    }
    resolver->number = number;
    resolver->refused = 0;
    CLR_TRY(clr_search_image(&resolver->search, image, try_path, resolver, error));
    /* That this machine has another native library at the same path is the rule. */
    if (image->source != CLR_SOURCE_FILE && resolver->refused)
        clr_problem_of(resolver->search.problems,
                       image->is_elf && resolver->own_path ? CLR_INFO : CLR_WARNING, "images",
                       image->start, false, image->start, 0, "%s", resolver->reason);
    return CLR_OK;
}

enum clr_status clr_files_resolve(struct clr_process *process, const struct clr_options *options,
                                  struct clr_extents *extents, struct clr_problems *problems,
                                  struct clr_error *error)
{
    struct resolver resolver = {
        .process = process,
        .extents = extents,
        .search = {.process = process, .options = options, .problems = problems}};
    enum clr_status status = CLR_OK;
    if (!group_rows(&resolver))
        status = clr_no_memory(error);
    for (uint32_t i = 0; i < process->images.count && status == CLR_OK; i++)
        status = resolve_image(&resolver, i, error);
    clr_search_deinit(&resolver.search);
    clr_free(resolver.rows);
    clr_free(resolver.first);
    clr_free(resolver.parts);
    return status;
}
