/*
 * What the dump's headers announce, and what of it is there.
 *
 * Of a range the file holds the first `saved` bytes, less what lies past its end. The rest was not
 * saved: the kernel leaves out pages that a file backs or that coredump_filter excludes, and a cut
 * file lacks its end. Neither is ever read as zeros.
 *
 * Regions are the ranges, with the path of the mapped file, and what mappings name beyond them:
 * createdump writes no range for pages that it leaves out.
 *
 * Missing is what the ranges announce and nobody holds. Memory without any right of access of
 * which nothing was saved (the kernel writes a range for it too) does not count: it is address
 * space that was set aside, hundreds of gigabytes of it for a heap, and there was nothing in it.
 */
#include "core/regions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/search.h"
#include "base/text.h"

/* --- Ranges ----------------------------------------------------------------------------------- */

/* Where the first SIZE bytes of a range end, in the address space. */
static uint64_t end_of(const struct clr_process *process, const struct clr_range *range,
                       uint64_t size)
{
    uint64_t top = process->info.word_size == 4 ? (uint64_t)1 << 32 : UINT64_MAX, end;
    if (range->start >= top)
        return range->start;
    return __builtin_add_overflow(range->start, size, &end) || end > top ? top : end;
}

/* Its bytes that the file announces, and holds. */
static uint64_t announced_size(const struct clr_range *range)
{
    return range->saved < range->size ? range->saved : range->size;
}

static uint64_t held_size(const struct clr_process *process, const struct clr_range *range)
{
    uint64_t size = announced_size(range), file = process->info.file_size;
    uint64_t room = range->offset < file ? file - range->offset : 0;
    return size < room ? size : room;
}

/* Memory that the process could not touch and that was not saved: address space, not bytes. */
static bool is_reservation(const struct clr_range *range)
{
    return range->flags == 0 && range->saved == 0;
}

enum clr_status clr_ranges_extents(const struct clr_process *process, struct clr_extents *extents,
                                   struct clr_error *error)
{
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct clr_range *range = &process->ranges.items[i];
        struct clr_extent extent = {
            .start = range->start, .offset = range->offset, .rank = (uint32_t)i};
        extent.end = end_of(process, range, held_size(process, range));
        if (extent.end > extent.start && !CLR_ARRAY_ADD(extents, extent))
            return clr_no_memory(error);
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
    struct clr_region *regions = process->regions.items;
    size_t count = process->regions.count, sorted = 1;
    while (sorted < count && region_by_start(&regions[sorted - 1], &regions[sorted]) <= 0)
        sorted++;
    if (sorted < count)
        qsort(regions, count, sizeof *regions, region_by_start);
}

static bool add_range_regions(struct clr_process *process)
{
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct clr_range *range = &process->ranges.items[i];
        uint64_t held = held_size(process, range);
        struct clr_region region = {.start = range->start,
                                    .size = end_of(process, range, range->size) - range->start,
                                    .file_offset = range->offset,
                                    .saved_size = end_of(process, range, held) - range->start,
                                    .flags = range->flags & 7};
        if (region.size > 0 && !CLR_ARRAY_ADD(&process->regions, region))
            return false;
    }
    sort_regions(process);
    return true;
}

const struct clr_mapping *clr_mapping_at(const struct clr_process *process, uint64_t address)
{
    const struct clr_mapping *rows = process->mappings.items;
    size_t i;
    CLR_SEARCH(i, 0, process->mappings.count, rows[i].start <= address);
    return i && address < rows[i - 1].end ? &rows[i - 1] : NULL;
}

/* Tells regions the path of the mapping they lie in, and mappings how they were mapped. */
static void join_mappings(struct clr_process *process)
{
    for (size_t r = 0; r < process->regions.count; r++) {
        const struct clr_mapping *mapping =
            clr_mapping_at(process, process->regions.items[r].start);
        process->regions.items[r].path = mapping ? mapping->path : NULL;
    }
    for (size_t m = 0, r = 0; m < process->mappings.count; m++) {
        struct clr_mapping *mapping = &process->mappings.items[m];
        while (r < process->regions.count &&
               process->regions.items[r].start + process->regions.items[r].size <= mapping->start)
            r++;
        for (size_t i = r;
             i < process->regions.count && process->regions.items[i].start < mapping->end; i++) {
            mapping->has_flags = true;
            mapping->flags |= process->regions.items[i].flags;
        }
    }
}

/* Adds the parts of mapped files that no range announces. */
static bool add_file_regions(struct clr_process *process)
{
    size_t loads = process->regions.count, r = 0;
    uint64_t covered = 0; /* everything below is announced or added */
    for (size_t m = 0; m < process->mappings.count; m++) {
        const struct clr_mapping *mapping = &process->mappings.items[m];
        uint64_t at = mapping->start > covered ? mapping->start : covered;
        while (at < mapping->end) {
            while (r < loads &&
                   process->regions.items[r].start + process->regions.items[r].size <= at)
                r++;
            uint64_t end = mapping->end;
            if (r < loads && process->regions.items[r].start <= at) {
                at = process->regions.items[r].start + process->regions.items[r].size;
                continue;
            }
            if (r < loads && process->regions.items[r].start < end)
                end = process->regions.items[r].start;
            struct clr_region region = {
                .start = at, .size = end - at, .flags = mapping->flags, .path = mapping->path};
            if (!CLR_ARRAY_ADD(&process->regions, region))
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
    if (!add_range_regions(process))
        return clr_no_memory(error);
    join_mappings(process);
    return add_file_regions(process) ? CLR_OK : clr_no_memory(error);
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
    uint64_t unsaved = (end - start) - clr_saved_bytes(process, start, end);
    if (unsaved == 0)
        return;
    if (missing->bytes == 0)
        missing->first = start;
    missing->bytes += unsaved;
    if (missing->listed == LISTED) {
        missing->unlisted++;
        return;
    }
    clr_text_format(&missing->ranges, "%s0x%llx-0x%llx", missing->listed++ ? ", " : "",
                    (unsigned long long)start, (unsigned long long)end);
}

/* Goes over the ranges, joined where they touch. CUT: only what the file lacks because
 * it was cut, else all that is announced and not there. */
static enum clr_status find_missing(const struct clr_process *process, bool cut,
                                    struct missing *missing, struct clr_error *error)
{
    struct clr_extents found = {0};
    enum clr_status status = CLR_OK;
    for (size_t i = 0; i < process->ranges.count && status == CLR_OK; i++) {
        const struct clr_range *range = &process->ranges.items[i];
        struct clr_extent extent = {.start = range->start,
                                    .end = end_of(process, range, range->size)};
        if (cut) {
            extent.start = end_of(process, range, held_size(process, range));
            extent.end = end_of(process, range, announced_size(range));
        }
        if (!is_reservation(range) && extent.end > extent.start && !CLR_ARRAY_ADD(&found, extent))
            status = clr_no_memory(error);
    }
    if (status == CLR_OK && found.count) {
        uint64_t start, end;
        clr_extents_sort(&found);
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

static enum clr_status report_missing(struct clr_process *process, struct clr_problems *problems,
                                      struct clr_error *error)
{
    struct missing all = {0}, cut = {0};
    enum clr_status status = find_missing(process, false, &all, error);
    process->info.missing_bytes = all.bytes;
    if (status == CLR_OK && process->announced_end > process->info.file_size)
        status = find_missing(process, true, &cut, error);
    if (status == CLR_OK && (all.ranges.failed || cut.ranges.failed))
        status = clr_no_memory(error);
    if (status == CLR_OK && cut.bytes) {
        char more[48] = "";
        if (cut.unlisted)
            snprintf(more, sizeof more, " and %zu more ranges", cut.unlisted);
        clr_problem_of(problems, CLR_WARNING, "memory_regions", 0, true, cut.first, cut.bytes,
                       "the file is cut: it ends at byte %llu and its headers announce %llu; "
                       "memory that is missing: %s%s",
                       (unsigned long long)process->info.file_size,
                       (unsigned long long)process->announced_end, cut.ranges.data, more);
        clr_text_put(&cut.ranges, more);
        if (cut.ranges.failed ||
            !(process->info.cut = clr_process_keep(process, cut.ranges.data, cut.ranges.length)))
            status = clr_no_memory(error);
    }
    clr_text_deinit(&all.ranges);
    clr_text_deinit(&cut.ranges);
    return status;
}

/* What is odd about the ranges. */
static void report_oddities(const struct clr_process *process, uint64_t overlapped,
                            struct clr_problems *problems)
{
    for (size_t i = 0; i < process->ranges.count; i++) {
        const struct clr_range *range = &process->ranges.items[i];
        uint64_t kept = end_of(process, range, range->size) - range->start;
        if (kept < range->size)
            clr_problem(problems, CLR_WARNING, "memory_regions", range->start, range->size - kept,
                        "the region at 0x%llx goes past the end of the address space and is cut "
                        "there",
                        (unsigned long long)range->start);
    }
    if (overlapped)
        clr_problem(problems, CLR_WARNING, "memory_regions", 0, overlapped,
                    "%llu bytes are saved more than once: the first in the order of the program "
                    "headers was taken",
                    (unsigned long long)overlapped);
}

enum clr_status clr_ranges_report(struct clr_process *process, uint64_t overlapped,
                                  struct clr_problems *problems, struct clr_error *error)
{
    report_oddities(process, overlapped, problems);
    return report_missing(process, problems, error);
}
