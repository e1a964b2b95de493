/*
 * memory_regions, images: the address space of the process and the native modules in it.
 */
#include <string.h>

#include "cache.h"
#include "results.h"
#include "runtime/code.h"
#include "runtime/loader.h"

/* --- memory_regions -------------------------------------------------------------------------- */

enum region_column {
    REGION_START,
    REGION_SIZE,
    REGION_FILE_OFFSET,
    REGION_SAVED_SIZE,
    REGION_FLAGS,
    REGION_PATH,
    REGION_USE,
    REGION_COLUMNS
};

static const struct clr_column region_columns[] = {
    [REGION_START] = {"start", CLR_INTEGER, CLR_KEY, 0, "First address."},
    [REGION_SIZE] = {"size", CLR_INTEGER, 0, 0, "Bytes that the process had there."},
    [REGION_FILE_OFFSET] = {"file_offset", CLR_INTEGER, 0, 0,
                            "Where the saved bytes begin in the core; NULL if none are."},
    [REGION_SAVED_SIZE] = {"saved_size", CLR_INTEGER, 0, 0, "Bytes that the core holds."},
    [REGION_FLAGS] = {"flags", CLR_TEXT, 0, 0, "Access, as 'rw-'."},
    [REGION_PATH] = {"path", CLR_TEXT, 0, 0, "Mapped file, as the process saw it."},
    [REGION_USE] = {"use", CLR_TEXT, 0, 0,
                    "gc heap, handles, loader heap, jit code, stack, image or other; NULL if not "
                    "known."},
    [REGION_COLUMNS] = {0},
};

/* Of regions that start at one address the largest is the row; a key names one row only. */
static void drop_twins(struct clr_dump *dump, struct clr_lookup *index,
                       const struct clr_region *regions)
{
    size_t kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        struct clr_lookup_entry entry = index->entries[i];
        if (kept == 0 || index->entries[kept - 1].key != entry.key) {
            index->entries[kept++] = entry;
            continue;
        }
        const struct clr_region *one = &regions[index->entries[kept - 1].row];
        const struct clr_region *other = &regions[entry.row];
        if (one->size != 0 && other->size != 0)
            clr_problem(dump->problems, CLR_WARNING, "memory_regions", other->start,
                        one->size < other->size ? one->size : other->size,
                        "the core announces several regions at 0x%llx; the largest is listed",
                        (unsigned long long)other->start);
        if (other->size > one->size)
            index->entries[kept - 1] = entry;
    }
    index->count = kept;
}

static enum clr_status load_regions(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_error *error)
{
    (void)job;
    struct clr_cache *cache;
    CLR_TRY(clr_cache(dump, &cache, error));
    if (cache->regions.built)
        return CLR_OK;
    const struct clr_region *regions;
    const struct clr_os_thread *threads;
    size_t count = clr_process_regions(dump->process, &regions);
    size_t thread_count = clr_process_threads(dump->process, &threads);
    bool fits = true;
    for (size_t i = 0; fits && i < count; i++)
        fits = clr_lookup_add(&cache->regions, regions[i].start, (uint32_t)i);
    for (size_t i = 0; fits && i < thread_count; i++)
        fits = clr_lookup_add(&cache->stack_pointers, threads[i].sp, (uint32_t)i);
    if (!fits) {
        clr_lookup_deinit(&cache->regions);
        clr_lookup_deinit(&cache->stack_pointers);
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    clr_lookup_sort(&cache->stack_pointers);
    clr_lookup_sort(&cache->regions);
    drop_twins(dump, &cache->regions, regions);
    return CLR_OK;
}

static size_t count_regions(const struct clr_dump *dump)
{
    return clr_cache_made(dump)->regions.count;
}

static int64_t region_key(const struct clr_dump *dump, size_t row)
{
    return clr_cache_made(dump)->regions.entries[row].key;
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
static const char *use_by_code(const struct clr_cache *cache, uint64_t start, uint64_t last)
{
    const char *use = NULL;
    for (size_t i = 0; i < cache->section_count; i++) {
        const struct clr_code_section *section = &cache->sections[i];
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
 * them cannot be read says nothing here: their own tables tell. */
static enum clr_status runtime_use(struct clr_dump *dump, struct clr_job *job, uint64_t start,
                                   uint64_t last, const char **use, struct clr_error *error)
{
    struct clr_cache *cache;
    struct clr_error unread = {0};
    bool have = false;
    if (!dump->runtime)
        return CLR_OK;
    CLR_TRY(clr_cache(dump, &cache, error));
    if (dump->gc)
        CLR_TRY(clr_try_need(dump, CLR_PART_HANDLES, job, &have, error));
    if (have && holds_handles(dump, start, last)) {
        *use = "handles";
        return CLR_OK;
    }
    if (!cache->sections_read && dump->runtime->contract[CLR_CONTRACT_CODE]) {
        enum clr_status status = clr_code_sections_read(dump->runtime, job, &cache->sections,
                                                        &cache->section_count, &unread);
        if (status == CLR_NOMEM || status == CLR_CANCELLED)
            return clr_fail(error, status, 0, "%s", unread.text);
        cache->sections_read = true;
    }
    if (!(*use = use_by_code(cache, start, last))) {
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
    const struct clr_lookup *stacks = &clr_cache_made(dump)->stack_pointers;
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

static enum clr_status region_column(struct clr_cursor *cursor, int column,
                                     sqlite3_context *context, struct clr_error *error)
{
    const struct clr_region *regions;
    size_t count = clr_process_regions(cursor->dump->process, &regions);
    uint32_t row = clr_cache_made(cursor->dump)->regions.entries[cursor->row].row;
    if (row >= count)
        return CLR_OK;
    const struct clr_region *region = &regions[row];
    bool have;
    switch (column) {
    case REGION_START: clr_result_u64(context, region->start); break;
    case REGION_SIZE: clr_result_u64(context, region->size); break;
    case REGION_FILE_OFFSET:
        if (region->saved_size != 0)
            clr_result_u64(context, region->file_offset);
        break;
    case REGION_SAVED_SIZE: clr_result_u64(context, region->saved_size); break;
    case REGION_FLAGS: {
        char flags[] = {region->flags & 4 ? 'r' : '-', region->flags & 2 ? 'w' : '-',
                        region->flags & 1 ? 'x' : '-'};
        clr_result_copy(context, flags, sizeof flags);
        break;
    }
    case REGION_PATH: clr_result_foreign(context, region->path); break;
    case REGION_USE: {
        CLR_TRY(
            clr_try_need(cursor->dump, CLR_PART_RUNTIME | CLR_PART_GC, cursor->job, &have, error));
        const char *use = region_use(cursor->dump, region);
        if (!use)
            CLR_TRY(
                runtime_use(cursor->dump, cursor->job, region->start,
                            region->size == 0 ? region->start : region->start + (region->size - 1),
                            &use, error));
        clr_result_static(context, use);
        break;
    }
    }
    return CLR_OK;
}

static const struct clr_path region_paths[] = {
    {.name = "start=",
     .key = {{REGION_START, CLR_EQ}},
     .order = REGION_START,
     .reversible = true,
     .unique = true,
     .rows = clr_rows_one},
    {.name = "start..",
     .key = {{REGION_START, CLR_RANGE}},
     .order = REGION_START,
     .reversible = true,
     .rows = clr_rows_few},
    {.name = "scan", .order = REGION_START, .reversible = true, .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_memory_regions = {
    .name = "memory_regions",
    .doc = "The address space as the core's headers announce it, and what of it is saved.",
    .columns = region_columns,
    .paths = region_paths,
    .contract = -1,
    .load = load_regions,
    .count = count_regions,
    .key = region_key,
    .column = region_column,
};

/* --- images ---------------------------------------------------------------------------------- */

enum image_column {
    IMAGE_START,
    IMAGE_SIZE,
    IMAGE_PATH,
    IMAGE_BUILD_ID,
    IMAGE_SOURCE,
    IMAGE_VERIFIED,
    IMAGE_COLUMNS
};

static const struct clr_column image_columns[] = {
    [IMAGE_START] = {"start", CLR_INTEGER, CLR_KEY, 0, "First address of its mappings."},
    [IMAGE_SIZE] = {"size", CLR_INTEGER, 0, 0, "Extent of its mappings in bytes."},
    [IMAGE_PATH] = {"path", CLR_TEXT, 0, 0, "File, as the process saw it."},
    [IMAGE_BUILD_ID] = {"build_id", CLR_TEXT, 0, 0, "GNU build id, lower-case hex."},
    [IMAGE_SOURCE] = {"source", CLR_TEXT, 0, 0,
                      "Where what is not written by the process can be read: core, file or none."},
    [IMAGE_VERIFIED] = {"verified", CLR_TEXT, 0, 0,
                        "How the file on disk was checked: build_id or layout."},
    [IMAGE_COLUMNS] = {0},
};

/* Whether a mapping is of a native module, or may be: the file's first bytes are not saved. What has
 * a name and is no file (shared memory, devices) is none. */
static bool is_native(const struct clr_dump *dump, const struct clr_image *image)
{
    uint32_t start;
    if (image->is_elf)
        return true;
    return strncmp(image->path, "/memfd:", 7) != 0 && strncmp(image->path, "/dev/", 5) != 0 &&
           !clr_read_u32(dump->process, image->start, &start);
}

static enum clr_status load_images(struct clr_dump *dump, struct clr_job *job,
                                   struct clr_error *error)
{
    (void)job;
    struct clr_cache *cache;
    CLR_TRY(clr_cache(dump, &cache, error));
    if (cache->images.built)
        return CLR_OK;
    const struct clr_image *images;
    size_t count = clr_process_images(dump->process, &images);
    for (size_t i = 0; i < count; i++)
        if (is_native(dump, &images[i]) &&
            !clr_lookup_add(&cache->images, images[i].start, (uint32_t)i)) {
            clr_lookup_deinit(&cache->images);
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        }
    clr_lookup_sort(&cache->images);
    return CLR_OK;
}

static size_t count_images(const struct clr_dump *dump)
{
    return clr_cache_made(dump)->images.count;
}

static int64_t image_key(const struct clr_dump *dump, size_t row)
{
    return clr_cache_made(dump)->images.entries[row].key;
}

static enum clr_status image_column(struct clr_cursor *cursor, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    static const char *const source[] = {
        [CLR_SOURCE_NONE] = "none",
        [CLR_SOURCE_CORE] = "core",
        [CLR_SOURCE_FILE] = "file",
    };
    (void)error;
    const struct clr_image *images;
    size_t count = clr_process_images(cursor->dump->process, &images);
    uint32_t row = clr_cache_made(cursor->dump)->images.entries[cursor->row].row;
    if (row >= count)
        return CLR_OK;
    const struct clr_image *image = &images[row];
    switch (column) {
    case IMAGE_START: clr_result_u64(context, image->start); break;
    case IMAGE_SIZE: clr_result_u64(context, image->end - image->start); break;
    case IMAGE_PATH: clr_result_foreign(context, image->path); break;
    case IMAGE_BUILD_ID: clr_result_hex(context, image->build_id, image->build_id_size); break;
    case IMAGE_SOURCE: clr_result_static(context, source[image->source]); break;
    case IMAGE_VERIFIED: clr_result_static(context, image->verified); break;
    }
    return CLR_OK;
}

static const struct clr_path image_paths[] = {
    {.name = "scan", .order = IMAGE_START, .reversible = true, .rows = clr_rows_few},
    {0},
};

const struct clr_table clr_table_images = {
    .name = "images",
    .doc = "Native modules that are mapped into the process; modules has the managed ones.",
    .columns = image_columns,
    .paths = image_paths,
    .contract = -1,
    .load = load_images,
    .count = count_images,
    .key = image_key,
    .column = image_column,
};
