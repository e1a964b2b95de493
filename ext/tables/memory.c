/*
 * memory_regions, images: the address space of the process and the native modules in it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cache.h"
#include "results.h"
#include "runtime/code.h"
#include "runtime/loader.h"

/* --- memory_regions -------------------------------------------------------------------------- */

/* The regions by their start, and what says how one is used. */
struct regions {
    const struct clr_region **rows;
    size_t count;
    struct clr_lookup stack_pointers; /* of OS threads; row: its number */
    struct clr_code_section *sections;
    size_t section_count;
    bool sections_read, is_made;
};

static void free_regions(void *kept)
{
    struct regions *regions = kept;
    clr_free(regions->rows);
    clr_lookup_deinit(&regions->stack_pointers);
    clr_free(regions->sections);
    clr_free(regions);
}

static int compare_regions(const void *left, const void *right)
{
    const struct clr_region *a = *(const struct clr_region *const *)left;
    const struct clr_region *b = *(const struct clr_region *const *)right;
    if (a->start != b->start)
        return (int64_t)a->start < (int64_t)b->start ? -1 : 1;
    return (a > b) - (a < b);
}

/* Of regions that start at one address the largest is the row; a key names one row only. */
static void drop_duplicates(struct clr_dump *dump, struct regions *regions)
{
    size_t kept = 0;
    for (size_t i = 0; i < regions->count; i++) {
        const struct clr_region *other = regions->rows[i];
        if (kept == 0 || regions->rows[kept - 1]->start != other->start) {
            regions->rows[kept++] = other;
            continue;
        }
        const struct clr_region *one = regions->rows[kept - 1];
        if (one->size != 0 && other->size != 0)
            clr_problem(dump->problems, CLR_WARNING, "memory_regions", other->start,
                        one->size < other->size ? one->size : other->size,
                        "the core announces several regions at 0x%llx; the largest is listed",
                        (unsigned long long)other->start);
        if (other->size > one->size)
            regions->rows[kept - 1] = other;
    }
    regions->count = kept;
}

static enum clr_status load_regions(struct clr_dump *dump, CLR_UNUSED struct clr_job *job,
                                    struct clr_error *error)
{
    struct regions *regions = NULL;
    CLR_TRY(clr_dump_keep(dump, free_regions, sizeof *regions, &regions, error));
    if (regions->is_made)
        return CLR_OK;
    const struct clr_region *all;
    const struct clr_os_thread *threads;
    size_t count = clr_process_regions(dump->process, &all);
    size_t thread_count = clr_process_threads(dump->process, &threads);
    regions->stack_pointers.count = 0; /* of a time that ran out of memory */
    clr_free(regions->rows);
    bool fits = (regions->rows = clr_alloc(count + 1, sizeof *regions->rows)) != NULL;
    for (size_t i = 0; fits && i < thread_count; i++)
        fits = clr_lookup_add(&regions->stack_pointers, threads[i].sp, (uint32_t)i);
    if (!fits)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    for (size_t i = 0; i < count; i++)
        regions->rows[i] = &all[i];
    qsort(regions->rows, count, sizeof *regions->rows, compare_regions);
    clr_lookup_sort(&regions->stack_pointers);
    regions->count = count;
    drop_duplicates(dump, regions);
    regions->is_made = true;
    return CLR_OK;
}

static const void *list_regions(const struct clr_dump *dump, size_t *count)
{
    const struct regions *regions = clr_dump_kept(dump, free_regions);
    *count = regions->count;
    return regions->rows;
}

/* Whether a segment's committed memory overlaps [start, last]. */
static bool holds_heap(const struct clr_gc *gc, uint64_t start, uint64_t last)
{
    size_t low = 0, high = gc ? gc->segment_count : 0;
    while (low < high) { /* the first segment that ends above START */
        size_t middle = low + (high - low) / 2;
        const struct clr_segment *segment = &gc->segments[middle];
        uint64_t end = segment->committed > segment->end ? segment->committed : segment->end;
        if (end <= start)
            low = middle + 1;
        else
            high = middle;
    }
    return gc && low < gc->segment_count && gc->segments[low].start <= last;
}

static bool holds_handles(const struct clr_dump *dump, uint64_t start, uint64_t last)
{
    size_t low = 0, high = dump->handle_count;
    while (low < high) { /* the first handle at START or above */
        size_t middle = low + (high - low) / 2;
        if (dump->handles[middle].address < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low < dump->handle_count && dump->handles[low].address <= last;
}

/* What a code manager keeps in [start, last]: code of the JIT, or the stubs of a loader heap. */
static const char *use_by_code(const struct regions *regions, uint64_t start, uint64_t last)
{
    const char *use = NULL;
    for (size_t i = 0; i < regions->section_count; i++) {
        const struct clr_code_section *section = &regions->sections[i];
        if (section->begin > last || section->end <= start || section->module != 0)
            continue;
        if (section->heap != 0)
            return "jit code";
        use = "loader heap";
    }
    return use;
}

/* Modules and the types that all others rest on are made in loader heaps. */
static enum clr_status holds_modules(const struct clr_dump *dump, uint64_t start, uint64_t last,
                                     bool *found, struct clr_error *error)
{
    struct clr_runtime *runtime = dump->runtime;
    const uint64_t types[] = {runtime->object_type, runtime->string_type};
    const struct clr_module *const *modules;
    struct clr_error unread = {0};
    size_t count = 0;
    *found = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        *found |= types[i] != 0 && types[i] >= start && types[i] <= last;
    if (*found || !runtime->contract[CLR_CONTRACT_LOADER])
        return CLR_OK;
    enum clr_status status = clr_modules(runtime, &modules, &count, &unread);
    if (status == CLR_NOMEM)
        return clr_fail(error, status, 0, "%s", unread.text);
    for (size_t i = 0; status == CLR_OK && i < count && !*found; i++)
        *found = modules[i]->address >= start && modules[i]->address <= last;
    return CLR_OK;
}

static bool has_suffix(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && sqlite3_stricmp(text + length - tail, suffix) == 0;
}

/* What the runtime's own structures say of a region that is neither heap, stack nor image. What of
 * them cannot be read says nothing here: their own tables have it. */
static enum clr_status runtime_use(struct clr_dump *dump, struct clr_job *job, uint64_t start,
                                   uint64_t last, const char **use, struct clr_error *error)
{
    struct regions *regions = clr_dump_kept(dump, free_regions);
    struct clr_error unread = {0};
    bool have = false;
    if (!dump->runtime)
        return CLR_OK;
    if (dump->gc)
        CLR_TRY(clr_try_need(dump, CLR_PART_HANDLES, job, &have, error));
    if (have && holds_handles(dump, start, last)) {
        *use = "handles";
        return CLR_OK;
    }
    if (!regions->sections_read && dump->runtime->contract[CLR_CONTRACT_CODE]) {
        enum clr_status status = clr_code_sections_read(dump->runtime, job, &regions->sections,
                                                        &regions->section_count, &unread);
        if (status == CLR_NOMEM || status == CLR_CANCELLED)
            return clr_fail(error, status, 0, "%s", unread.text);
        regions->sections_read = true;
    }
    if (!(*use = use_by_code(regions, start, last))) {
        bool found;
        CLR_TRY(holds_modules(dump, start, last, &found, error));
        *use = found ? "loader heap" : NULL;
    }
    return CLR_OK;
}

static const char *region_use(const struct clr_dump *dump, const struct clr_region *region)
{
    uint64_t last = region->size == 0 ? region->start : region->start + (region->size - 1);
    if (last < region->start)
        last = UINT64_MAX;
    if (holds_heap(dump->gc, region->start, last))
        return "gc heap";
    const struct regions *regions = clr_dump_kept(dump, free_regions);
    const struct clr_lookup *stacks = &regions->stack_pointers;
    size_t at = clr_lookup_find(stacks, (int64_t)region->start);
    if (at < stacks->count && stacks->entries[at].key <= (int64_t)last)
        return "stack";
    const struct clr_image *image = clr_image_at(dump->process, region->start);
    if (image &&
        (image->is_elf || has_suffix(image->path, ".dll") || has_suffix(image->path, ".exe")))
        return "image";
    /* Memory files are how executable memory is mapped twice: code or data of the runtime. */
    if (region->path && *region->path == '/' && !strstr(region->path, "/memfd:"))
        return "other";
    return NULL;
}

CLR_VALUE_FUNCTION(region_file_offset)
{
    const struct clr_region *region = row;
    if (region->saved_size != 0)
        clr_result_u64(context, region->file_offset);
    return CLR_OK;
}

CLR_VALUE_FUNCTION(region_flags)
{
    unsigned bits = ((const struct clr_region *)row)->flags;
    char flags[] = {bits & 4 ? 'r' : '-', bits & 2 ? 'w' : '-', bits & 1 ? 'x' : '-'};
    clr_result_copy(context, flags, sizeof flags);
    return CLR_OK;
}

CLR_VALUE_FUNCTION(region_used_as)
{
    const struct clr_region *region = row;
    bool have;
    CLR_TRY(clr_try_need(cursor->dump, CLR_PART_GC, cursor->job, &have, error));
    const char *use = region_use(cursor->dump, region);
    if (!use)
        CLR_TRY(runtime_use(cursor->dump, cursor->job, region->start,
                            region->size == 0 ? region->start : region->start + (region->size - 1),
                            &use, error));
    clr_result_static(context, use);
    return CLR_OK;
}

static const struct clr_column region_columns[] = {
    CLR_COLUMN("start", CLR_NUMBER(clr_region, start), "First address.", .flags = CLR_KEY),
    CLR_COLUMN("size", CLR_NUMBER(clr_region, size), "Bytes that the process had there."),
    CLR_COLUMN("file_offset", CLR_VALUE_BY(CLR_INTEGER, region_file_offset),
               "Where the saved bytes begin in the core; NULL if none are."),
    CLR_COLUMN("saved_size", CLR_NUMBER(clr_region, saved_size), "Bytes that the core holds."),
    CLR_COLUMN("flags", CLR_VALUE_BY(CLR_TEXT, region_flags), "Access, as 'rw-'."),
    CLR_COLUMN("path", CLR_FOREIGN_TEXT(clr_region, path), "Mapped file, as the process saw it."),
    CLR_COLUMN("use", CLR_VALUE_BY(CLR_TEXT, region_used_as),
               "gc heap, handles, loader heap, jit code, stack, image or other; NULL if not "
               "known."),
    CLR_END,
};

const struct clr_table clr_table_memory_regions = {
    .name = "memory_regions",
    .doc = "The address space as the core's headers announce it, and what of it is saved.",
    .example = "SELECT use, count(*), sum(size), sum(saved_size) FROM memory_regions GROUP BY use",
    .columns = region_columns,
    .list = {.get = list_regions,
             .of_pointers = true,
             .is_sorted = true,
             .rows = 500,
             .load = load_regions},
    .contract = -1,
};

/* --- images ---------------------------------------------------------------------------------- */

/* Whether a mapping is of a native module, or may be: the file's first bytes are not saved. What has
 * a name and is no file (shared memory, devices) is none. */
static bool is_native(const struct clr_dump *dump, const void *row)
{
    const struct clr_image *image = row;
    uint32_t start;
    if (image->is_elf)
        return true;
    return strncmp(image->path, "/memfd:", 7) != 0 && strncmp(image->path, "/dev/", 5) != 0 &&
           !clr_read_u32(dump->process, image->start, &start);
}

static const void *list_images(const struct clr_dump *dump, size_t *count)
{
    const struct clr_image *images;
    *count = clr_process_images(dump->process, &images);
    return images;
}

CLR_NUMBER_FUNCTION(image_size)
{
    const struct clr_image *image = row;
    return image->end - image->start;
}

CLR_VALUE_FUNCTION(image_build_id)
{
    const struct clr_image *image = row;
    clr_result_hex(context, image->build_id, image->build_id_size);
    return CLR_OK;
}

static const char *const sources[] = {
    [CLR_SOURCE_NONE] = "none",
    [CLR_SOURCE_CORE] = "core",
    [CLR_SOURCE_FILE] = "file",
};

static const struct clr_column image_columns[] = {
    CLR_COLUMN("start", CLR_NUMBER(clr_image, start), "First address of its mappings.",
               .flags = CLR_KEY),
    CLR_COLUMN("size", CLR_NUMBER_BY(image_size), "Extent of its mappings in bytes."),
    CLR_COLUMN("path", CLR_FOREIGN_TEXT(clr_image, path), "File, as the process saw it."),
    CLR_COLUMN("build_id", CLR_VALUE_BY(CLR_TEXT, image_build_id), "GNU build id, lower-case hex."),
    CLR_COLUMN("source", CLR_WORD(clr_image, source, sources),
               "Where what is not written by the process can be read: core, file or none."),
    CLR_COLUMN("verified", CLR_STATIC_TEXT(clr_image, verified),
               "How the file on disk was checked: build_id or layout."),
    CLR_END,
};

const struct clr_table clr_table_images = {
    .name = "images",
    .doc = "Native modules that are mapped into the process; modules has the managed ones.",
    .example = "SELECT path, build_id FROM images",
    .columns = image_columns,
    .list = {.get = list_images,
             .row_size = sizeof(struct clr_image),
             .rows = 20,
             .has = is_native},
    .contract = -1,
};
