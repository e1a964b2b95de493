/*
 * Opening a dump: what kind of file it is, what its format reads, the runs of saved memory, the
 * images, the files that stand in for what was not saved. After that nothing changes.
 *
 * The identity of a core says whether a result that was kept from an earlier session still fits:
 * its size, and a hash of the ranges, of the parts that describe it and of pages spread over it. It
 * is not a checksum.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/text.h"
#include "core/images.h"
#include "core/regions.h"
#include "core/unpack.h"

enum {
    IDENTITY_PAGES = 64,
    IDENTITY_PARTS = 4 << 20 /* bytes of the describing parts that count */
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
    if (!text.failed && CLR_ARRAY_ADD(&process->texts, text.data))
        return text.data;
    clr_text_deinit(&text);
    return NULL;
}

/* --- Identity --------------------------------------------------------------------------------- */

/* Read past the private copy, which would take in much more than a page at each place. */
static uint64_t hash_part(const struct clr_process *process, uint64_t hash, uint64_t offset,
                          uint64_t size)
{
    uint8_t page[CLR_PAGE];
    while (size > 0) {
        ssize_t n = pread(process->fd, page, size < sizeof page ? (size_t)size : sizeof page,
                          (off_t)offset);
        if (n <= 0)
            break;
        hash = clr_hash_bytes(hash, page, (size_t)n);
        offset += (uint64_t)n;
        size -= (uint64_t)n;
    }
    return hash;
}

static void identify(struct clr_process *process)
{
    uint64_t size = process->info.file_size,
             step = size / IDENTITY_PAGES & ~(uint64_t)(CLR_PAGE - 1);
    uint64_t hash = CLR_FNV_START, left = IDENTITY_PARTS;
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct clr_range *r = &process->ranges.items[i];
        const uint64_t numbers[] = {r->start, r->size, r->offset, r->saved, r->flags};
        hash = clr_hash_bytes(hash, numbers, sizeof numbers);
    }
    for (size_t i = 0; i < process->described.count && left > 0; i++) {
        const struct clr_file_part *part = &process->described.items[i];
        uint64_t counted = part->size < left ? part->size : left;
        hash = hash_part(process, hash, part->offset, counted);
        left -= counted;
    }
    for (uint64_t i = 0; i < IDENTITY_PAGES; i++)
        hash = hash_part(process, hash, i * step, CLR_PAGE);
    process->info.identity[0] = size;
    process->info.identity[1] = hash;
}

/* --- Opening ---------------------------------------------------------------------------------- */

static enum clr_status open_file(struct clr_process *process, const char *path,
                                 const struct clr_options *options, struct clr_job *job,
                                 const struct clr_dump_format **format,
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
    CLR_TRY(clr_unpack(path, &process->fd, options, job, format, problems, error));
    if (fstat(process->fd, &process->opened) != 0)
        return clr_fail_errno(error, "cannot open the core dump");
    process->info.file_size = (uint64_t)process->opened.st_size;
    if (!(process->info.path = clr_process_keep(process, path, strlen(path))))
        return clr_no_memory(error);
    return CLR_OK;
}

static enum clr_status open_memory(struct clr_process *process, const struct clr_options *options,
                                   struct clr_problems *problems, struct clr_extents *extents,
                                   struct clr_error *error)
{
    uint64_t overlapped, ignored;
    if (!CLR_ARRAY_ROOM(&process->files))
        return clr_no_memory(error);
    CLR_TRY(clr_backing_open(&process->files.items[0], process->fd, NULL, &process->opened,
                             !options->no_mmap, error));
    process->files.count = 1;
    CLR_TRY(clr_ranges_extents(process, extents, error));
    CLR_TRY(clr_runs_build(process, extents, &overlapped, error));
    CLR_TRY(clr_images_read(process, problems, error));
    CLR_TRY(clr_regions_build(process, error));
    size_t of_core = extents->count;
    CLR_TRY(clr_files_resolve(process, options, extents, problems, error));
    if (extents->count > of_core)
        CLR_TRY(clr_runs_build(process, extents, &ignored, error));
    CLR_TRY(clr_ranges_report(process, overlapped, problems, error));
    identify(process);
    return CLR_OK;
}

enum clr_status clr_process_open(const char *path, const struct clr_options *options,
                                 struct clr_job *job, struct clr_problems *problems,
                                 struct clr_process **process, struct clr_error *error)
{
    static const struct clr_options defaults;
    struct clr_process *opened = clr_alloc(1, sizeof *opened);
    const struct clr_dump_format *format;
    struct clr_extents extents = {0};
    *process = NULL;
    if (!opened)
        return clr_no_memory(error);
    opened->fd = -1;
    if (!options)
        options = &defaults;
    enum clr_status status = open_file(opened, path, options, job, &format, problems, error);
    if (status == CLR_OK)
        status = format->read(opened, !options->no_mmap, problems, error);
    if (status == CLR_OK)
        status = open_memory(opened, options, problems, &extents, error);
    clr_free(extents.items);
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
    for (size_t i = 0; i < process->files.count; i++)
        clr_backing_close(&process->files.items[i]);
    for (size_t i = 0; i < process->images.count; i++)
        clr_free(process->images.items[i].headers);
    for (size_t i = 0; i < process->texts.count; i++)
        clr_free(process->texts.items[i]);
    if (process->fd >= 0)
        close(process->fd);
    CLR_ARRAY_FREE(&process->ranges);
    CLR_ARRAY_FREE(&process->described);
    CLR_ARRAY_FREE(&process->threads);
    CLR_ARRAY_FREE(&process->auxv);
    CLR_ARRAY_FREE(&process->mappings);
    CLR_ARRAY_FREE(&process->files);
    CLR_ARRAY_FREE(&process->regions);
    CLR_ARRAY_FREE(&process->images);
    CLR_ARRAY_FREE(&process->texts);
    clr_free(process->runs);
    clr_free(process->starts);
    clr_free(process->before);
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
