/*
 * ReadyToRun images.
 *
 *     Module.ReadyToRunInfo --> info --CompositeInfo--> the same, or the one that components share
 *
 *   what                 name (of ReadyToRunInfo)                meaning
 *   functions            .RuntimeFunctions, .NumRuntimeFunctions u32: {begin, end, unwind} RVAs, by
 *                        begin; without end on arm64
 *   hot and cold parts   .HotColdMap, .NumHotColdMap u32         pairs (cold, hot) of function
 *                                                                numbers
 *   prepared methods     .EntryPointToMethodDescMap (embedded)   a hash map: entry point ->
 *                                                                MethodDesc
 *   debug information    .DebugInfoSection (11): a directory {rva, size}; before: section 105 of
 *                        .ReadyToRunHeader
 *   version              ReadyToRunHeader.MajorVersion u16
 *
 * The map's buckets: slot 0 holds their number (u32), then each has four keys and four values.
 * Keys 0 and 1 are free. A value is the MethodDesc shifted right by one, with a flag on top. It is
 * filled when a method is first called or fixed up: what is not in it has not been used. Of a
 * composite image only the shared map is filled, and only the shared header has the debug section;
 * RVAs count from the composite file.
 *
 * A method is one runtime function and those of its funclets, one behind the other; its cold part,
 * if it was split off, is another such row. How long it is, its GC information says, which
 * follows the unwind information of its first function, whose form is the machine's (arch/).
 *
 * NativeArray (debug section): varint: count << 2 | log2 of the width of index entries; the index:
 * one entry for each 16 elements, the distance from the index to a tree; a tree's nodes are
 * varints: bit 0: the low half follows, bit 1: the high half is at the distance in the rest;
 * neither: a leaf for the element whose number the rest is. Varint: the low bits of the first byte
 * give the length. An element here is a varint: 0: the blob follows; else it begins that far
 * before the element.
 *
 * Knowledge: the runtime's docs/design/coreclr/botr/readytorun-format.md,
 * docs/design/datacontracts/ExecutionManager.md, nativeformatreader.h.
 */
#include "runtime/r2r.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/search.h"

enum {
    SECTION_DEBUG = 105,
    SECTIONS_MAX = 256,
    KEYS_FREE = 2, /* keys below are no keys */
    SLOTS_DEFAULT = 4,
    BLOCK = 16, /* elements of a NativeArray for each entry of its index */
    GC_VERSION_2 = 2,
    GC_VERSION_3 = 3,
    GC_VERSION_4 = 4,
    CODE_LENGTH_BITS = 8,
    SLIM_RETURN_KIND = 2,
    FAT_FLAGS = 10,
    FAT_RETURN_KIND = 4,
};

/* --- Reading tables: constants of the image, which its file has too
 * ------------------------------- */

static bool constant_uint(const struct clr_runtime *runtime, uint64_t address, size_t size,
                          uint64_t *value)
{
    uint8_t bytes[8];
    if (size > sizeof bytes || !clr_read_constant(runtime->process, address, bytes, size))
        return false;
    struct clr_bytes cursor = clr_bytes(bytes, size);
    cursor.swapped = clr_process_info(runtime->process)->swapped;
    *value = size == 1   ? clr_bytes_u8(&cursor)
             : size == 2 ? clr_bytes_u16(&cursor)
             : size == 4 ? clr_bytes_u32(&cursor)
                         : clr_bytes_u64(&cursor);
    return true;
}

static bool constant_u32(const struct clr_runtime *runtime, uint64_t address, uint64_t offset,
                         uint32_t *value)
{
    uint64_t wide;
    if (!clr_has(offset) || !constant_uint(runtime, address + offset, 4, &wide))
        return false;
    *value = (uint32_t)wide;
    return true;
}

static bool constant_u16(const struct clr_runtime *runtime, uint64_t address, uint64_t offset,
                         uint16_t *value)
{
    uint64_t wide;
    if (!clr_has(offset) || !constant_uint(runtime, address + offset, 2, &wide))
        return false;
    *value = (uint16_t)wide;
    return true;
}

/* --- Varints and NativeArrays -------------------------------------------------------------------
 */

static bool read_varint(const struct clr_runtime *runtime, uint64_t *at, uint32_t *value)
{
    uint8_t bytes[5] = {0};
    if (!clr_read_constant(runtime->process, *at, bytes, 1))
        return false;
    unsigned length = !(bytes[0] & 1)   ? 1
                      : !(bytes[0] & 2) ? 2
                      : !(bytes[0] & 4) ? 3
                      : !(bytes[0] & 8) ? 4
                                        : 5;
    if (length > 1 && !clr_read_constant(runtime->process, *at, bytes, length))
        return false;
    uint32_t first =
        bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    *value = length == 5 ? bytes[1] | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3] << 16 |
                               (uint32_t)bytes[4] << 24
                         : first >> length;
    *at += length;
    return true;
}

bool clr_native_array_find(const struct clr_runtime *runtime, uint64_t address, uint32_t size,
                           uint32_t index, uint64_t *element)
{
    uint64_t at = address, entry;
    uint32_t header, value;
    if (!read_varint(runtime, &at, &header) || index >= header >> 2 || (header & 3) == 3)
        return false;
    unsigned width = 1u << (header & 3);
    uint64_t base = at;
    if (!constant_uint(runtime, base + (uint64_t)(index / BLOCK) * width, width, &entry))
        return false;
    at = base + entry;
    for (uint32_t bit = BLOCK / 2; bit != 0; bit >>= 1) {
        uint64_t node = at;
        if (at - address >= size || !read_varint(runtime, &at, &value))
            return false;
        if (index & bit) {
            if (value & 2) {
                at = node + (value >> 2);
                continue;
            }
        } else if (value & 1) {
            continue;
        }
        if ((value & 3) != 0 || value >> 2 != (index & (BLOCK - 1)))
            return false;
        *element = at;
        return true;
    }
    *element = at;
    return at - address < size;
}

/* --- Opening ------------------------------------------------------------------------------------
 */

static void report(struct clr_runtime *runtime, const struct clr_r2r *image, const char *what)
{
    clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", image->info, false, image->begin,
                   0,
                   "the ReadyToRun image at 0x%llx: %s; option 'modules' names a folder with the "
                   "files",
                   (unsigned long long)image->base, what);
}

static int by_start(const void *a, const void *b)
{
    const struct clr_r2r_entry *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->method > y->method) - (x->method < y->method);
}

static enum clr_status read_entries(struct clr_runtime *runtime, struct clr_r2r *image,
                                    struct clr_error *error)
{
    const struct clr_code_layout *l = &runtime->code;
    uint64_t buckets, key, value;
    uint32_t count;
    if (!clr_has(l->r2r_entries) || !clr_has(l->hash_buckets) || !clr_has(l->bucket_size) ||
        !clr_read_word(runtime->process, image->info + l->r2r_entries + l->hash_buckets,
                       &buckets)) {
        report(runtime, image, "its map of entry points is not saved");
        return CLR_OK;
    }
    if (buckets == 0)
        return CLR_OK;
    uint64_t slots =
        clr_has(l->bucket_slots) && l->bucket_slots <= 64 ? l->bucket_slots : SLOTS_DEFAULT;
    uint64_t first = buckets + l->bucket_size, saved;
    if (!clr_read_u32(runtime->process, buckets, &count) || l->bucket_size == 0)
        saved = 0;
    else
        saved = clr_saved_bytes(runtime->process, first, first + count * l->bucket_size);
    if (saved == 0 || saved < count * l->bucket_size)
        report(runtime, image, "its map of entry points is not saved as a whole");
    if (saved == 0)
        return CLR_OK;
    for (uint64_t i = 0; i < count && saved != 0; i++) {
        uint64_t bucket = first + i * l->bucket_size;
        uint64_t next;
        if (!clr_view(runtime->process, bucket, 1, &next)) {
            /* Not saved: go on where the next is. */
            if (!clr_next_saved(runtime->process, bucket, &next) ||
                next >= first + count * l->bucket_size)
                break;
            i = (next - first) / l->bucket_size;
            bucket = first + i * l->bucket_size;
        }
        for (uint64_t k = 0; k < slots; k++) {
            if (!clr_read_word(runtime->process, bucket + l->bucket_keys + k * runtime->word,
                               &key) ||
                key < KEYS_FREE ||
                !clr_read_word(runtime->process, bucket + l->bucket_values + k * runtime->word,
                               &value))
                continue;
            if (clr_has(l->value_mask))
                value &= l->value_mask;
            if (key < image->begin || key >= image->end)
                continue;
            if (!clr_grow(&image->entries, image->entry_count, &image->entry_room,
                          sizeof *image->entries))
                return clr_no_memory(error);
            image->entries[image->entry_count++] = (struct clr_r2r_entry){key, value << 1};
        }
    }
    if (image->entry_count > 1)
        qsort(image->entries, image->entry_count, sizeof *image->entries, by_start);
    return CLR_OK;
}

static bool read_directory(const struct clr_runtime *runtime, uint64_t directory, uint32_t *rva,
                           uint32_t *size)
{
    return constant_u32(runtime, directory, runtime->code.directory_rva, rva) &&
           constant_u32(runtime, directory, runtime->code.directory_size, size);
}

/* The debug section: described, or found in the header. */
static void find_debug_section(struct clr_runtime *runtime, struct clr_r2r *image)
{
    const struct clr_code_layout *l = &runtime->code;
    uint64_t directory, header;
    uint32_t count, type;
    if (!clr_field_word(runtime, image->info, l->r2r_header, &header) ||
        !constant_u16(runtime, header, l->r2r_major, &image->major) ||
        !constant_u16(runtime, header, l->r2r_minor, &image->minor)) {
        report(runtime, image, "its header is not saved, so its debug information cannot be read");
        return;
    }
    if (clr_field_word(runtime, image->info, l->r2r_debug, &directory)) {
        if (directory != 0 &&
            !read_directory(runtime, directory, &image->debug_rva, &image->debug_size))
            report(runtime, image, "where its debug information is was not saved");
        return;
    }
    if (!clr_has(l->core_header) || !clr_has(l->core_size) || !clr_has(l->part_size) ||
        !constant_u32(runtime, header + l->core_header, l->core_count, &count)) {
        report(runtime, image,
               "its sections are not saved, so its debug information cannot be read");
        return;
    }
    uint64_t part = header + l->core_header + l->core_size;
    for (uint32_t i = 0; i < count && i < SECTIONS_MAX; i++, part += l->part_size)
        if (constant_u32(runtime, part, l->part_type, &type) && type == SECTION_DEBUG &&
            clr_has(l->part_where)) {
            read_directory(runtime, part + l->part_where, &image->debug_rva, &image->debug_size);
            return;
        }
}

static void read_functions(struct clr_runtime *runtime, struct clr_r2r *image)
{
    const struct clr_code_layout *l = &runtime->code;
    uint32_t count = 0, pairs = 0, cold;
    if (!clr_field_word(runtime, image->info, l->r2r_functions, &image->functions) ||
        !clr_field_u32(runtime, image->info, l->r2r_count, &count) || !clr_has(l->function_size) ||
        l->function_size == 0) {
        report(runtime, image, "its list of functions is not known");
        return;
    }
    image->function_count = count;
    image->first_cold = count;
    if (!clr_field_u32(runtime, image->info, l->r2r_hot_cold_count, &pairs) || pairs < 2 ||
        !clr_field_word(runtime, image->info, l->r2r_hot_cold, &image->hot_cold))
        return;
    if (constant_u32(runtime, image->hot_cold, 0, &cold) && cold < count) {
        image->first_cold = cold;
        image->hot_cold_count = pairs;
    }
}

enum clr_status clr_r2r_open(struct clr_runtime *runtime, uint64_t module, uint64_t begin,
                             uint64_t end, struct clr_r2r **result, struct clr_error *error)
{
    const struct clr_code_layout *l = &runtime->code;
    struct clr_r2r *image = clr_alloc(1, sizeof *image);
    uint64_t composite;
    *result = NULL;
    if (!image)
        return clr_no_memory(error);
    image->base = image->begin = begin;
    image->end = end;
    if (!clr_field_word(runtime, module, runtime->loader.module_r2r, &image->info) ||
        image->info == 0) {
        image->info = module;
        report(runtime, image, "what describes it is not saved");
        *result = image;
        return CLR_OK;
    }
    if (clr_field_word(runtime, image->info, l->r2r_composite, &composite) && composite != 0)
        image->info = composite;
    read_functions(runtime, image);
    find_debug_section(runtime, image);
    enum clr_status status = read_entries(runtime, image, error);
    if (status != CLR_OK) {
        clr_r2r_close(image);
        return status;
    }
    *result = image;
    return CLR_OK;
}

void clr_r2r_close(struct clr_r2r *image)
{
    if (!image)
        return;
    clr_free(image->entries);
    clr_free(image);
}

/* --- Functions ----------------------------------------------------------------------------------
 */

static bool function_field(const struct clr_runtime *runtime, const struct clr_r2r *image,
                           uint32_t number, uint64_t field, uint32_t *value)
{
    return number < image->function_count &&
           constant_u32(runtime, image->functions + number * runtime->code.function_size, field,
                        value);
}

bool clr_r2r_function(const struct clr_runtime *runtime, const struct clr_r2r *image, uint32_t rva,
                      uint32_t *number)
{
    uint32_t i, begin;
    bool good = true;
    CLR_SEARCH(i, 0, image->first_cold,
               (good &= function_field(runtime, image, i, runtime->code.function_begin, &begin)) &&
                   begin < rva);
    *number = i;
    return good && i < image->first_cold &&
           function_field(runtime, image, i, runtime->code.function_begin, &begin) && begin == rva;
}

/* The first SIZE constant bytes at ADDRESS, or as many as there are: what lies in the last bytes of
 * a page may be all. */
static size_t read_some(const struct clr_runtime *runtime, uint64_t address, uint8_t *bytes,
                        size_t size)
{
    while (size != 0 && !clr_read_constant(runtime->process, address, bytes, size))
        size--;
    return size;
}

/* Where the GC information behind the unwind information at UNWIND begins; 0 if not readable. */
static uint64_t gc_info_after(const struct clr_runtime *runtime, uint64_t unwind)
{
    const struct clr_process_info *info = clr_process_info(runtime->process);
    uint8_t bytes[8];
    uint64_t size;
    if (!info->cpu || !info->cpu->unwind_size)
        return 0;
    struct clr_bytes cursor = clr_bytes(bytes, read_some(runtime, unwind, bytes, sizeof bytes));
    cursor.swapped = info->swapped;
    return info->cpu->unwind_size(&cursor, &size) ? unwind + size : 0;
}

uint64_t clr_gc_code_length(const struct clr_runtime *runtime, uint64_t gc_info, unsigned version)
{
    const struct clr_arch *cpu = clr_process_info(runtime->process)->cpu;
    uint64_t bits;
    uint8_t bytes[8] = {0};
    size_t size = gc_info ? read_some(runtime, gc_info, bytes, sizeof bytes) : 0;
    if (size == 0)
        return 0;
    for (bits = 0; size != 0; size--)
        bits = bits << 8 | bytes[size - 1];
    bool fat = bits & 1;
    unsigned skip = fat ? 1 + FAT_FLAGS : 2;
    if (version < GC_VERSION_4)
        skip += fat ? FAT_RETURN_KIND : SLIM_RETURN_KIND;
    bits >>= skip;
    uint64_t length = 0;
    for (unsigned shift = 0; shift <= 4 * CODE_LENGTH_BITS; shift += CODE_LENGTH_BITS) {
        length |= (bits & ((1u << CODE_LENGTH_BITS) - 1)) << shift;
        if (!(bits >> CODE_LENGTH_BITS & 1))
            break;
        bits >>= CODE_LENGTH_BITS + 1;
    }
    return cpu ? length * cpu->instruction_unit : length;
}

static unsigned gc_version(const struct clr_r2r *image)
{
    enum { LAST_OF_2 = 9, LAST_OF_3 = 10 };
    return image->major <= LAST_OF_2   ? GC_VERSION_2
           : image->major <= LAST_OF_3 ? GC_VERSION_3
                                       : GC_VERSION_4;
}

/* The first and last cold function that belong to hot function NUMBER. Pairs ascend by both. */
static bool find_cold(const struct clr_runtime *runtime, const struct clr_r2r *image,
                      uint32_t number, uint32_t *first, uint32_t *last)
{
    const uint32_t pairs = image->hot_cold_count / 2;
    uint32_t i, hot, next;
    bool good = true;
    CLR_SEARCH(i, 0, pairs,
               (good &= constant_u32(runtime, image->hot_cold, 8 * (uint64_t)i + 4, &hot)) &&
                   hot < number);
    if (!good || i == pairs || !constant_u32(runtime, image->hot_cold, 8 * (uint64_t)i + 4, &hot) ||
        hot != number || !constant_u32(runtime, image->hot_cold, 8 * (uint64_t)i, first))
        return false;
    *last = image->function_count - 1;
    if (i + 1 < pairs) {
        if (!constant_u32(runtime, image->hot_cold, 8 * (uint64_t)(i + 1), &next))
            return false;
        *last = next - 1;
    }
    return *first <= *last && *last < image->function_count;
}

/* Where function NUMBER ends; 0 if not known. */
static uint64_t end_of(const struct clr_runtime *runtime, const struct clr_r2r *image,
                       uint32_t number)
{
    uint32_t end;
    if (function_field(runtime, image, number, runtime->code.function_end, &end))
        return image->base + end;
    /* Without an end: where the next begins, less its padding, whose size is not known. */
    if (function_field(runtime, image, number + 1, runtime->code.function_begin, &end))
        return image->base + end;
    return 0;
}

static uint64_t debug_of(const struct clr_runtime *runtime, const struct clr_r2r *image,
                         uint32_t number)
{
    uint64_t element, at;
    uint32_t back;
    if (image->debug_rva == 0 || !clr_native_array_find(runtime, image->base + image->debug_rva,
                                                        image->debug_size, number, &element))
        return 0;
    at = element;
    if (!read_varint(runtime, &at, &back))
        return 0;
    return back == 0 ? at : element - back;
}

void clr_r2r_code(const struct clr_runtime *runtime, const struct clr_r2r *image,
                  const struct clr_r2r_entry *entry, struct clr_code *code, struct clr_code *cold)
{
    uint32_t unwind, first, last, begin;
    *code = (struct clr_code){.start = entry->start,
                              .method = entry->method,
                              .kind = CLR_CODE_R2R,
                              .tier = CLR_TIER_R2R,
                              .image = image,
                              .image_base = image->base};
    *cold = (struct clr_code){0};
    uint64_t rva = entry->start - image->base;
    if (rva > UINT32_MAX || !clr_r2r_function(runtime, image, (uint32_t)rva, &code->function))
        return;
    uint64_t end = end_of(runtime, image, code->function);
    if (function_field(runtime, image, code->function, runtime->code.function_unwind, &unwind))
        code->gc_info = gc_info_after(runtime, image->base + unwind);
    uint64_t total = clr_gc_code_length(runtime, code->gc_info, gc_version(image));
    code->debug_info = debug_of(runtime, image, code->function);
    code->size = total;
    if (total == 0 && end > entry->start)
        code->size = end - entry->start;
    code->hot_size = code->size;
    if (total == 0 || !find_cold(runtime, image, code->function, &first, &last) ||
        !function_field(runtime, image, first, runtime->code.function_begin, &begin))
        return;
    /* The length in the GC information is that of both parts. */
    uint64_t cold_end = end_of(runtime, image, last), cold_start = image->base + begin;
    if (cold_end <= cold_start || cold_end - cold_start >= total)
        return;
    *cold = *code;
    cold->start = cold_start;
    cold->size = cold_end - cold_start;
    cold->is_cold = true;
    cold->hot_code = code->start;
    cold->function = first;
    code->size = code->hot_size = cold->hot_size = total - cold->size;
}
