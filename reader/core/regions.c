/*
 * What the program headers announce, and what of it is there.
 *
 * Of a PT_LOAD [p_vaddr, p_vaddr + p_memsz) the file holds the first p_filesz bytes, less what lies
 * past its end. The rest was not saved: the kernel leaves out pages that a file backs or that
 * coredump_filter excludes, and a cut file has lost its tail. Neither is ever read as zeros.
 *
 * Regions are the PT_LOADs, with the path of the mapped file, and what NT_FILE names beyond them:
 * createdump writes no PT_LOAD for pages that it leaves out.
 *
 * Missing is what the PT_LOADs announce and nobody holds. Memory without any right of access of
 * which nothing was saved (the kernel writes a PT_LOAD for it too) does not count: it is address
 * space that was set aside, hundreds of gigabytes of it for a heap, and there was nothing in it.
 */
#include "core/internal.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

/* --- PT_LOADs --------------------------------------------------------------------------------- */

/* The part of a PT_LOAD that lies in the address space. */
static uint64_t end_of(const struct clr_process *process, const struct clr_segment *segment,
                       uint64_t size)
{
    uint64_t top = process->info.word_size == 4 ? (uint64_t)1 << 32 : UINT64_MAX, end;
    if (segment->vaddr >= top)
        return segment->vaddr;
    return __builtin_add_overflow(segment->vaddr, size, &end) || end > top ? top : end;
}

/* Its bytes that the file announces, and holds. */
static uint64_t announced_size(const struct clr_segment *segment)
{
    return segment->filesz < segment->memsz ? segment->filesz : segment->memsz;
}

static uint64_t held_size(const struct clr_process *process, const struct clr_segment *segment)
{
    uint64_t size = announced_size(segment), file = process->info.file_size;
    uint64_t room = segment->offset < file ? file - segment->offset : 0;
    return size < room ? size : room;
}

/* Memory that the process could not touch and that was not saved: address space, not bytes. */
static bool is_reservation(const struct clr_segment *segment)
{
    return segment->flags == 0 && segment->filesz == 0;
}

enum clr_status clr_loads_extents(const struct clr_process *process, struct clr_extents *extents,
                                  struct clr_error *error)
{
    for (size_t i = 0; i < process->elf.segment_count; i++) {
        const struct clr_segment *segment = &process->elf.segments[i];
        struct clr_extent extent = {
            .start = segment->vaddr, .offset = segment->offset, .rank = (uint32_t)i};
        if (segment->type != PT_LOAD)
            continue;
        extent.end = end_of(process, segment, held_size(process, segment));
        if (extent.end <= extent.start)
            continue;
        if (!clr_grow(&extents->items, extents->count, &extents->room, sizeof extent))
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        extents->items[extents->count++] = extent;
    }
    return CLR_OK;
}

/* --- Regions ---------------------------------------------------------------------------------- */

static int region_by_start(const void *a, const void *b)
{
    const struct clr_region *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->file_offset < y->file_offset ? -1 : x->file_offset > y->file_offset;
}

static void sort_regions(struct clr_process *process)
{
    struct clr_region *regions = process->regions;
    size_t count = process->region_count, sorted = 1;
    while (sorted < count && region_by_start(&regions[sorted - 1], &regions[sorted]) <= 0)
        sorted++;
    if (sorted < count)
        qsort(regions, count, sizeof *regions, region_by_start);
}

static bool add_region(struct clr_process *process, size_t *room, const struct clr_region *region)
{
    if (!clr_grow(&process->regions, process->region_count, room, sizeof *region))
        return false;
    process->regions[process->region_count++] = *region;
    return true;
}

static bool add_load_regions(struct clr_process *process, size_t *room)
{
    for (size_t i = 0; i < process->elf.segment_count; i++) {
        const struct clr_segment *segment = &process->elf.segments[i];
        if (segment->type != PT_LOAD)
            continue;
        uint64_t held = held_size(process, segment);
        struct clr_region region = {.start = segment->vaddr,
                                    .size =
                                        end_of(process, segment, segment->memsz) - segment->vaddr,
                                    .file_offset = segment->offset,
                                    .saved_size = end_of(process, segment, held) - segment->vaddr,
                                    .flags = segment->flags & 7};
        if (region.size > 0 && !add_region(process, room, &region))
            return false;
    }
    sort_regions(process);
    return true;
}

/* The last mapping that starts at or below ADDRESS, if it holds it. */
static const struct clr_mapping *mapping_at(const struct clr_process *process, uint64_t address)
{
    size_t low = 0, high = process->mapping_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (process->mappings[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < process->mappings[low - 1].end ? &process->mappings[low - 1] : NULL;
}

/* Tells regions the path of the mapping they lie in, and mappings how they were mapped. */
static void join_mappings(struct clr_process *process)
{
    for (size_t r = 0; r < process->region_count; r++) {
        const struct clr_mapping *mapping = mapping_at(process, process->regions[r].start);
        process->regions[r].path = mapping ? mapping->path : NULL;
    }
    for (size_t m = 0, r = 0; m < process->mapping_count; m++) {
        struct clr_mapping *mapping = &process->mappings[m];
        while (r < process->region_count &&
               process->regions[r].start + process->regions[r].size <= mapping->start)
            r++;
        for (size_t i = r; i < process->region_count && process->regions[i].start < mapping->end;
             i++) {
            mapping->has_flags = true;
            mapping->flags |= process->regions[i].flags;
        }
    }
}

/* Adds the parts of mapped files that no PT_LOAD announces. */
static bool add_file_regions(struct clr_process *process, size_t *room)
{
    size_t loads = process->region_count, r = 0;
    uint64_t covered = 0; /* everything below is announced or added */
    for (size_t m = 0; m < process->mapping_count; m++) {
        const struct clr_mapping *mapping = &process->mappings[m];
        uint64_t at = mapping->start > covered ? mapping->start : covered;
        while (at < mapping->end) {
            while (r < loads && process->regions[r].start + process->regions[r].size <= at)
                r++;
            uint64_t end = mapping->end;
            if (r < loads && process->regions[r].start <= at) {
                at = process->regions[r].start + process->regions[r].size;
                continue;
            }
            if (r < loads && process->regions[r].start < end)
                end = process->regions[r].start;
            struct clr_region region = {
                .start = at, .size = end - at, .flags = mapping->flags, .path = mapping->path};
            if (!add_region(process, room, &region))
                return false;
            at = end;
        }
        covered = at > covered ? at : covered;
    }
    sort_regions(process);
    return true;
}

enum clr_status clr_regions_build(struct clr_process *process, struct clr_error *error)
{
    size_t room = 0;
    if (!add_load_regions(process, &room))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    join_mappings(process);
    if (!add_file_regions(process, &room))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    return CLR_OK;
}

/* --- What is missing -------------------------------------------------------------------------- */

struct missing {
    uint64_t bytes, first;
    struct clr_text ranges;
    size_t listed, unlisted;
};

/* Adds what of [start, end) is not saved. */
static void count_missing(const struct clr_process *process, uint64_t start, uint64_t end,
                          struct missing *missing)
{
    enum { LISTED = 8 };
    uint64_t lost = (end - start) - clr_saved_bytes(process, start, end);
    if (lost == 0)
        return;
    if (missing->bytes == 0)
        missing->first = start;
    missing->bytes += lost;
    if (missing->listed == LISTED) {
        missing->unlisted++;
        return;
    }
    clr_text_format(&missing->ranges, "%s0x%llx-0x%llx", missing->listed++ ? ", " : "",
                    (unsigned long long)start, (unsigned long long)end);
}

/* Walks over the stretches of PT_LOADs, joined where they touch. CUT: only what the file lost by
 * being cut, else all that is announced and not there. */
static enum clr_status find_missing(const struct clr_process *process, bool cut,
                                    struct missing *missing, struct clr_error *error)
{
    struct clr_extents found = {0};
    enum clr_status status = CLR_OK;
    for (size_t i = 0; i < process->elf.segment_count && status == CLR_OK; i++) {
        const struct clr_segment *segment = &process->elf.segments[i];
        if (segment->type != PT_LOAD || is_reservation(segment))
            continue;
        struct clr_extent extent = {.start = segment->vaddr,
                                    .end = end_of(process, segment, segment->memsz)};
        if (cut) {
            extent.start = end_of(process, segment, held_size(process, segment));
            extent.end = end_of(process, segment, announced_size(segment));
        }
        if (extent.end <= extent.start)
            continue;
        if (!clr_grow(&found.items, found.count, &found.room, sizeof extent))
            status = clr_fail(error, CLR_NOMEM, 0, "out of memory");
        else
            found.items[found.count++] = extent;
    }
    if (status == CLR_OK && found.count) {
        uint64_t start, end;
        clr_extents_sort(found.items, found.count);
        start = found.items[0].start, end = found.items[0].end;
        for (size_t i = 1; i < found.count; i++) {
            if (found.items[i].start > end) {
                count_missing(process, start, end, missing);
                start = found.items[i].start;
                end = found.items[i].end;
            } else if (found.items[i].end > end) {
                end = found.items[i].end;
            }
        }
        count_missing(process, start, end, missing);
    }
    clr_free(found.items);
    return status;
}

/* The first byte after all that the headers announce. */
static uint64_t announced_end(const struct clr_process *process)
{
    uint64_t last = 0;
    for (size_t i = 0; i < process->elf.segment_count; i++) {
        const struct clr_segment *segment = &process->elf.segments[i];
        uint64_t end;
        if (segment->filesz && !__builtin_add_overflow(segment->offset, segment->filesz, &end) &&
            end > last)
            last = end;
    }
    return last;
}

static enum clr_status report_missing(struct clr_process *process, struct clr_problems *problems,
                                      struct clr_error *error)
{
    struct missing all = {0}, cut = {0};
    const struct clr_elf *elf = &process->elf;
    if (elf->headers_read < elf->headers_announced)
        clr_problem_of(problems, CLR_WARNING, "memory_regions", 0, true, 0, 0,
                       "the file is cut within its program headers: %llu of %llu are there",
                       (unsigned long long)elf->headers_read,
                       (unsigned long long)elf->headers_announced);
    enum clr_status status = find_missing(process, false, &all, error);
    process->info.missing_bytes = all.bytes;
    if (status == CLR_OK && announced_end(process) > process->info.file_size)
        status = find_missing(process, true, &cut, error);
    if (status == CLR_OK && (all.ranges.failed || cut.ranges.failed))
        status = clr_fail(error, CLR_NOMEM, 0, "out of memory");
    if (status == CLR_OK && cut.bytes) {
        char more[48] = "";
        if (cut.unlisted)
            snprintf(more, sizeof more, " and %zu more ranges", cut.unlisted);
        clr_problem_of(problems, CLR_WARNING, "memory_regions", 0, true, cut.first, cut.bytes,
                       "the file is cut: it ends at byte %llu and its headers announce %llu; "
                       "memory that is missing: %s%s",
                       (unsigned long long)process->info.file_size,
                       (unsigned long long)announced_end(process), cut.ranges.data, more);
        clr_text_put(&cut.ranges, more);
        if (cut.ranges.failed ||
            !(process->info.cut = clr_process_keep(process, cut.ranges.data, cut.ranges.length)))
            status = clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    clr_text_deinit(&all.ranges);
    clr_text_deinit(&cut.ranges);
    return status;
}

/* What is odd about the PT_LOADs. */
static void report_oddities(const struct clr_process *process, uint64_t overlapped,
                            struct clr_problems *problems)
{
    for (size_t i = 0; i < process->elf.segment_count; i++) {
        const struct clr_segment *segment = &process->elf.segments[i];
        uint64_t kept = end_of(process, segment, segment->memsz) - segment->vaddr;
        if (segment->type == PT_LOAD && kept < segment->memsz)
            clr_problem(problems, CLR_WARNING, "memory_regions", segment->vaddr,
                        segment->memsz - kept,
                        "the region at 0x%llx goes past the end of the address space and is cut "
                        "there",
                        (unsigned long long)segment->vaddr);
    }
    if (overlapped)
        clr_problem(problems, CLR_WARNING, "memory_regions", 0, overlapped,
                    "%llu bytes are saved more than once: the first in the order of the program "
                    "headers was taken",
                    (unsigned long long)overlapped);
}

enum clr_status clr_loads_report(struct clr_process *process, uint64_t overlapped,
                                 struct clr_problems *problems, struct clr_error *error)
{
    report_oddities(process, overlapped, problems);
    return report_missing(process, problems, error);
}
