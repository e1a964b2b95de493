/*
 * Opening a core: what kind of file it is, its headers and notes, the runs of saved memory, the
 * images, the files that stand in for what was not saved. After that nothing changes.
 *
 * The identity of a core tells whether a result that was kept from an earlier session still fits:
 * its size, and a hash of its headers, its notes and pages spread over it. It is not a checksum.
 */
#include "core/internal.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
    IDENTITY_PAGES = 64,
    IDENTITY_NOTES = 4 << 20 /* bytes of notes that count */
};

const struct clr_process_info *clr_process_info(const struct clr_process *process)
{
    return &process->info;
}

const char *clr_process_keep(struct clr_process *process, const char *bytes, size_t length)
{
    struct clr_text text = {0};
    clr_text_utf8(&text, (const uint8_t *)bytes, length);
    clr_text_put(&text, "");
    if (text.failed || !clr_grow(&process->texts, process->text_count, &process->text_room,
                                 sizeof *process->texts)) {
        clr_text_deinit(&text);
        return NULL;
    }
    return process->texts[process->text_count++] = text.data;
}

/* --- Identity --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (; size > 0;) {
        uint64_t word = 0;
        size_t part = size < sizeof word ? size : sizeof word;
        memcpy(&word, at, part);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
        at += part;
        size -= part;
    }
    return hash;
}

/* Read past the private copy, which would take in much more than a page at each place. */
static uint64_t mix_range(const struct clr_process *process, uint64_t hash, uint64_t offset,
                          uint64_t size)
{
    uint8_t page[CLR_PAGE];
    while (size > 0) {
        ssize_t n = pread(process->fd, page, size < sizeof page ? (size_t)size : sizeof page,
                          (off_t)offset);
        if (n <= 0)
            break;
        hash = mix(hash, page, (size_t)n);
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return hash;
}

static void identify(struct clr_process *process)
{
    const struct clr_elf *elf = &process->elf;
    uint64_t size = process->info.file_size,
             step = size / IDENTITY_PAGES & ~(uint64_t)(CLR_PAGE - 1);
    uint64_t hash = mix_range(process, 0, 0, sizeof(Elf64_Ehdr)), notes = IDENTITY_NOTES;
    for (size_t i = 0; i < elf->segment_count; i++) {
        const struct clr_segment *segment = &elf->segments[i];
        hash = mix(hash, segment, sizeof *segment);
        if (segment->type == PT_NOTE && notes > 0) {
            uint64_t counted = segment->filesz < notes ? segment->filesz : notes;
            hash = mix_range(process, hash, segment->offset, counted);
            notes -= counted;
        }
    }
    for (uint64_t i = 0; i < IDENTITY_PAGES; i++)
        hash = mix_range(process, hash, i * step, CLR_PAGE);
    process->info.identity[0] = size;
    process->info.identity[1] = hash;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static enum clr_status open_file(struct clr_process *process, const char *path,
                                 const struct clr_options *options, struct clr_job *job,
                                 struct clr_problems *problems, struct clr_error *error)
{
    struct stat found;
    if (stat(path, &found) != 0)
        return clr_fail_errno(error, "cannot open the core dump");
    if (S_ISDIR(found.st_mode))
        return clr_fail(error, CLR_NOT_CORE, 0, "is a directory: name the core dump in it");
    if (!S_ISREG(found.st_mode))
        return clr_fail(error, CLR_NOT_CORE, 0,
                        "is not a regular file: copy the core dump to a file first");
    process->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (process->fd < 0)
        return clr_fail_errno(error, "cannot open the core dump");
    CLR_TRY(clr_unpack(path, &process->fd, options, job, problems, error));
    if (fstat(process->fd, &process->opened) != 0)
        return clr_fail_errno(error, "cannot open the core dump");
    process->info.file_size = (uint64_t)process->opened.st_size;
    if (!(process->info.path = clr_process_keep(process, path, strlen(path))))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    return CLR_OK;
}

static enum clr_status open_headers(struct clr_process *process, const struct clr_options *options,
                                    struct clr_problems *problems, struct clr_error *error)
{
    struct clr_elf *elf = &process->elf;
    CLR_TRY(clr_elf_open(elf, process->fd, process->info.file_size, !options->no_mmap, error));
    process->info.machine = elf->machine;
    process->info.word_size = elf->word_size;
    process->info.swapped = elf->swapped;
    CLR_TRY(clr_notes_read(process, problems, error));
    if (!clr_grow(&process->files, 0, &process->file_room, sizeof *process->files))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    CLR_TRY(clr_backing_open(&process->files[0], process->fd, NULL, &process->opened,
                             !options->no_mmap, error));
    process->file_count = 1;
    return CLR_OK;
}

static enum clr_status open_memory(struct clr_process *process, const struct clr_options *options,
                                   struct clr_problems *problems, struct clr_extents *extents,
                                   struct clr_error *error)
{
    uint64_t overlapped, ignored;
    CLR_TRY(clr_loads_extents(process, extents, error));
    CLR_TRY(clr_runs_build(process, extents->items, extents->count, &overlapped, error));
    CLR_TRY(clr_images_read(process, problems, error));
    CLR_TRY(clr_regions_build(process, error));
    size_t of_core = extents->count;
    CLR_TRY(clr_files_resolve(process, options, extents, problems, error));
    if (extents->count > of_core)
        CLR_TRY(clr_runs_build(process, extents->items, extents->count, &ignored, error));
    CLR_TRY(clr_loads_report(process, overlapped, problems, error));
    identify(process);
    return CLR_OK;
}

enum clr_status clr_process_open(const char *path, const struct clr_options *options,
                                 struct clr_job *job, struct clr_problems *problems,
                                 struct clr_process **process, struct clr_error *error)
{
    static const struct clr_options defaults;
    struct clr_process *opened = clr_alloc(1, sizeof *opened);
    struct clr_extents extents = {0};
    *process = NULL;
    if (!opened)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    opened->fd = -1;
    if (!options)
        options = &defaults;
    enum clr_status status = open_file(opened, path, options, job, problems, error);
    if (status == CLR_OK)
        status = open_headers(opened, options, problems, error);
    if (status == CLR_OK)
        status = open_memory(opened, options, problems, &extents, error);
    clr_free(extents.items);
    clr_elf_release(&opened->elf);
    if (status != CLR_OK) {
        clr_error_prefix(error, "%s", path);
        clr_process_close(opened);
        return status;
    }
    *process = opened;
    return CLR_OK;
}

void clr_process_close(struct clr_process *process)
{
    if (!process)
        return;
    for (size_t i = 0; i < process->file_count; i++)
        clr_backing_close(&process->files[i]);
    for (size_t i = 0; i < process->image_count; i++)
        clr_free(process->shapes[i]);
    for (size_t i = 0; i < process->text_count; i++)
        clr_free(process->texts[i]);
    clr_elf_close(&process->elf);
    if (process->fd >= 0)
        close(process->fd);
    clr_free(process->files);
    clr_free(process->runs);
    clr_free(process->starts);
    clr_free(process->before);
    clr_free(process->regions);
    clr_free(process->threads);
    clr_free(process->auxv);
    clr_free(process->mappings);
    clr_free(process->images);
    clr_free(process->shapes);
    clr_free(process->texts);
    clr_free(process);
}

enum clr_status clr_process_check(const struct clr_process *process, struct clr_error *error)
{
    struct stat now;
    if (fstat(process->fd, &now) != 0)
        return clr_fail_errno(error, "%s", process->info.path);
    if (now.st_size < process->opened.st_size)
        return clr_fail(error, CLR_IO, 0,
                        "%s was cut from %llu to %llu bytes while it was open: attach it again",
                        process->info.path, (unsigned long long)process->opened.st_size,
                        (unsigned long long)now.st_size);
    if (!clr_same_file(&now, &process->opened))
        return clr_fail(error, CLR_IO, 0, "%s was changed while it was open: attach it again",
                        process->info.path);
    return CLR_OK;
}
