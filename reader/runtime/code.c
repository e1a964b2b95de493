/*
 * All native code of the process.
 *
 *     map of ranges --> fragments --> sections --flags--> JIT code, ReadyToRun image, stubs
 *
 *   what              name                                           meaning
 *   the map           ExecutionManagerCodeRangeMapAddress (address), RangeSectionMap.TopLevelData
 *                     (embedded): a tree of 5 levels (2 with 32 bits) of 256 words; the low 17
 *                     (16) bits of an address are not looked up; bit 0 of a word is a mark
 *   a fragment        RangeSectionFragment.RangeBegin, .RangeEndOpen, .RangeSection, .Next (bit 0:
 *                     mark)
 *   a section         RangeSection.RangeBegin, .RangeEndOpen, .Flags u32 (SECTION_…), .R2RModule,
 *                     .HeapList, .NextForDelete (not 0: going away)
 *   a heap of code    CodeHeapListNode.EndAddress, .MapBase, .HeaderMap: a nibble map
 *                     (nibblemap.h)
 *   before a method   the word in front of its first instruction: RealCodeHeader, or, up to
 *                     StubCodeBlockLast, the kind of a stub
 *   header            RealCodeHeader.MethodDesc, .DebugInfo, .GCInfo, .NumUnwindInfos u32,
 *                     .UnwindInfos (embedded): RUNTIME_FUNCTIONs whose RVAs count from the section
 *
 * A method's code is its main body and its funclets; its size is where the last of them ends, or
 * what its GC information says where RUNTIME_FUNCTIONs have no end (arm64). Stubs that stand
 * before methods have neither size nor method. What ReadyToRun images bring: r2r.c.
 *
 * Knowledge: the runtime's docs/design/datacontracts/ExecutionManager.md, codeman.h.
 */
#include "runtime/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "runtime/contracts.h"
#include "runtime/methods.h"
#include "runtime/nibblemap.h"
#include "runtime/r2r.h"
#include "runtime/versions.h"

enum {
    MAP_ENTRIES = 256,
    MAP_BITS = 8,
    MAP_LEVELS_64 = 5,
    MAP_LEVELS_32 = 2,
    MARK = 1, /* bit of a pointer in the map */
    SECTION_IS_CODE = 2,
    SECTION_IS_STUBS = 4,
    SECTION_IS_INTERPRETED = 8,
    STUB_LAST = 0xf,     /* where StubCodeBlockLast is not described */
    UNWINDS_MAX = 65536, /* funclets of a method */
    GC_VERSION = 4,      /* where GCInfoVersion is not described and code is not measured by it */
};

#define AT(m) offsetof(struct clr_code_layout, m)

const struct clr_binding clr_code_bindings[] = {
    {AT(range_map), CLR_VARIABLE, CLR_INLINE, false, NULL, "ExecutionManagerCodeRangeMapAddress"},
    {AT(map_top), CLR_FIELD, CLR_INLINE, false, "RangeSectionMap", "TopLevelData"},
    {AT(fragment_next), CLR_FIELD, 0, false, "RangeSectionFragment", "Next"},
    {AT(fragment_begin), CLR_FIELD, 0, false, "RangeSectionFragment", "RangeBegin"},
    {AT(fragment_end), CLR_FIELD, 0, false, "RangeSectionFragment", "RangeEndOpen"},
    {AT(fragment_section), CLR_FIELD, 0, false, "RangeSectionFragment", "RangeSection"},
    {AT(section_begin), CLR_FIELD, 0, false, "RangeSection", "RangeBegin"},
    {AT(section_end), CLR_FIELD, 0, false, "RangeSection", "RangeEndOpen"},
    {AT(section_flags), CLR_FIELD, 4, false, "RangeSection", "Flags"},
    {AT(section_dying), CLR_FIELD, 0, true, "RangeSection", "NextForDelete"},
    {AT(section_heap), CLR_FIELD, 0, false, "RangeSection", "HeapList"},
    {AT(section_module), CLR_FIELD, 0, false, "RangeSection", "R2RModule"},
    {AT(heap_end), CLR_FIELD, 0, false, "CodeHeapListNode", "EndAddress"},
    {AT(heap_map_base), CLR_FIELD, 0, false, "CodeHeapListNode", "MapBase"},
    {AT(heap_map), CLR_FIELD, 0, false, "CodeHeapListNode", "HeaderMap"},
    {AT(header_method), CLR_FIELD, 0, false, "RealCodeHeader", "MethodDesc"},
    {AT(header_debug), CLR_FIELD, 0, true, "RealCodeHeader", "DebugInfo"},
    {AT(header_gc), CLR_FIELD, 0, true, "RealCodeHeader", "GCInfo"},
    {AT(header_unwind_count), CLR_FIELD, 4, true, "RealCodeHeader", "NumUnwindInfos"},
    {AT(header_unwinds), CLR_FIELD, CLR_INLINE, true, "RealCodeHeader", "UnwindInfos"},
    {AT(stub_last), CLR_LITERAL, 0, true, NULL, "StubCodeBlockLast"},
    {AT(gc_info_version), CLR_LITERAL, 0, true, NULL, "GCInfoVersion"},
    {AT(function_size), CLR_SIZE, 0, true, "RuntimeFunction", NULL},
    {AT(function_begin), CLR_FIELD, 4, true, "RuntimeFunction", "BeginAddress"},
    {AT(function_end), CLR_FIELD, 4, true, "RuntimeFunction", "EndAddress"},
    {AT(function_unwind), CLR_FIELD, 4, true, "RuntimeFunction", "UnwindData"},
    {AT(r2r_header), CLR_FIELD, 0, true, "ReadyToRunInfo", "ReadyToRunHeader"},
    {AT(r2r_composite), CLR_FIELD, 0, true, "ReadyToRunInfo", "CompositeInfo"},
    {AT(r2r_functions), CLR_FIELD, 0, true, "ReadyToRunInfo", "RuntimeFunctions"},
    {AT(r2r_count), CLR_FIELD, 4, true, "ReadyToRunInfo", "NumRuntimeFunctions"},
    {AT(r2r_hot_cold), CLR_FIELD, 0, true, "ReadyToRunInfo", "HotColdMap"},
    {AT(r2r_hot_cold_count), CLR_FIELD, 4, true, "ReadyToRunInfo", "NumHotColdMap"},
    {AT(r2r_entries), CLR_FIELD, CLR_INLINE, true, "ReadyToRunInfo", "EntryPointToMethodDescMap"},
    {AT(r2r_debug), CLR_FIELD, 0, true, "ReadyToRunInfo", "DebugInfoSection"},
    {AT(r2r_thunks), CLR_FIELD, 0, true, "ReadyToRunInfo", "DelayLoadMethodCallThunks"},
    {AT(r2r_major), CLR_FIELD, 2, true, "ReadyToRunHeader", "MajorVersion"},
    {AT(r2r_minor), CLR_FIELD, 2, true, "ReadyToRunHeader", "MinorVersion"},
    {AT(core_header), CLR_FIELD, CLR_INLINE, true, "ReadyToRunCoreInfo", "Header"},
    {AT(core_size), CLR_SIZE, 0, true, "ReadyToRunCoreHeader", NULL},
    {AT(core_count), CLR_FIELD, 4, true, "ReadyToRunCoreHeader", "NumberOfSections"},
    {AT(part_size), CLR_SIZE, 0, true, "ReadyToRunSection", NULL},
    {AT(part_type), CLR_FIELD, 4, true, "ReadyToRunSection", "Type"},
    {AT(part_where), CLR_FIELD, CLR_INLINE, true, "ReadyToRunSection", "Section"},
    {AT(directory_rva), CLR_FIELD, 4, true, "ImageDataDirectory", "VirtualAddress"},
    {AT(directory_size), CLR_FIELD, 4, true, "ImageDataDirectory", "Size"},
    {AT(hash_buckets), CLR_FIELD, 0, true, "HashMap", "Buckets"},
    {AT(bucket_size), CLR_SIZE, 0, true, "Bucket", NULL},
    {AT(bucket_keys), CLR_FIELD, CLR_INLINE, true, "Bucket", "Keys"},
    {AT(bucket_values), CLR_FIELD, CLR_INLINE, true, "Bucket", "Values"},
    {AT(bucket_slots), CLR_LITERAL, 0, true, NULL, "HashMapSlotsPerBucket"},
    {AT(value_mask), CLR_LITERAL, 0, true, NULL, "HashMapValueMask"},
    CLR_BINDINGS_END,
};

struct clr_code_cache {
    struct clr_codes codes;
    CLR_ARRAY(struct clr_r2r *) images;
};

void clr_code_cache_destroy(struct clr_code_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->images.count; i++)
        clr_r2r_close(cache->images.items[i]);
    CLR_ARRAY_FREE(&cache->images);
    clr_free(cache->codes.rows);
    clr_free(cache->codes.by_method);
    clr_free(cache->codes.sections);
    clr_free(cache);
}

const char *clr_code_kind_text(enum clr_code_kind kind)
{
    static const char *const names[] = {"jit", "r2r", "stub"};
    return names[kind];
}

const char *clr_tier_text(enum clr_tier tier)
{
    static const char *const names[] = {
        "tier0", "tier1", "osr", "optimized", "tier0_instrumented", "tier1_instrumented",
        "r2r",   NULL};
    return names[tier];
}

/* --- Sections -----------------------------------------------------------------------------------
 */

struct map_walk {
    struct clr_runtime *runtime;
    struct clr_codes *codes;
    struct clr_map seen; /* tables, fragments and sections */
    struct clr_job *job;
    bool damaged;
};

static enum clr_status add_section(struct map_walk *walk, uint64_t section, struct clr_error *error)
{
    const struct clr_runtime *runtime = walk->runtime;
    const struct clr_code_layout *l = &runtime->code;
    struct clr_codes *codes = walk->codes;
    struct clr_code_section s;
    uint64_t known, dying = 0;
    if (section == 0 || clr_map_get(&walk->seen, section, &known))
        return CLR_OK;
    if (!clr_map_put(&walk->seen, section, 1))
        return clr_no_memory(error);
    if (!clr_field_word(runtime, section, l->section_begin, &s.begin) ||
        !clr_field_word(runtime, section, l->section_end, &s.end) ||
        !clr_field_u32(runtime, section, l->section_flags, &s.flags) ||
        !clr_field_word(runtime, section, l->section_heap, &s.heap) ||
        !clr_field_word(runtime, section, l->section_module, &s.module) || s.end <= s.begin) {
        walk->damaged = true;
        return CLR_OK;
    }
    if (clr_field_word(runtime, section, l->section_dying, &dying) && dying != 0)
        return CLR_OK;
    if (!clr_grow(&codes->sections, codes->section_count, &codes->section_room,
                  sizeof *codes->sections))
        return clr_no_memory(error);
    codes->sections[codes->section_count++] = s;
    return CLR_OK;
}

static enum clr_status walk_fragments(struct map_walk *walk, uint64_t fragment,
                                      struct clr_error *error)
{
    const struct clr_runtime *runtime = walk->runtime;
    const struct clr_code_layout *l = &runtime->code;
    uint64_t known, section;
    while (fragment != 0 && !clr_map_get(&walk->seen, fragment, &known)) {
        if (!clr_map_put(&walk->seen, fragment, 1))
            return clr_no_memory(error);
        if (!clr_field_word(runtime, fragment, l->fragment_section, &section)) {
            walk->damaged = true;
            return CLR_OK;
        }
        CLR_TRY(add_section(walk, section, error));
        if (!clr_field_word(runtime, fragment, l->fragment_next, &fragment)) {
            walk->damaged = true;
            return CLR_OK;
        }
        fragment &= ~(uint64_t)MARK;
    }
    return CLR_OK;
}

static enum clr_status walk_table(struct map_walk *walk, uint64_t table, unsigned level,
                                  struct clr_error *error)
{
    const struct clr_runtime *runtime = walk->runtime;
    uint64_t known, entry;
    if (clr_map_get(&walk->seen, table, &known))
        return CLR_OK;
    if (!clr_map_put(&walk->seen, table, level))
        return clr_no_memory(error);
    CLR_TRY(clr_job_poll(walk->job, "listing native code", 0, 0, error));
    for (unsigned i = 0; i < MAP_ENTRIES; i++) {
        if (!clr_read_word(runtime->process, table + (uint64_t)i * runtime->word, &entry)) {
            walk->damaged = true;
            continue;
        }
        if ((entry &= ~(uint64_t)MARK) == 0)
            continue;
        CLR_TRY(level > 1 ? walk_table(walk, entry, level - 1, error)
                          : walk_fragments(walk, entry, error));
    }
    return CLR_OK;
}

static int by_begin(const void *a, const void *b)
{
    const struct clr_code_section *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static enum clr_status read_sections(struct clr_runtime *runtime, struct clr_codes *codes,
                                     struct clr_job *job, struct clr_error *error)
{
    struct map_walk walk = {.runtime = runtime, .codes = codes, .job = job};
    uint64_t top = runtime->code.range_map + runtime->code.map_top;
    unsigned levels = runtime->word == 8 ? MAP_LEVELS_64 : MAP_LEVELS_32;
    if (clr_saved_bytes(runtime->process, top, top + (uint64_t)MAP_ENTRIES * runtime->word) == 0)
        return clr_fail(error, CLR_FAULT, top,
                        "native code cannot be listed: the map of code ranges at 0x%llx is not "
                        "saved",
                        (unsigned long long)top);
    enum clr_status status = walk_table(&walk, top, levels, error);
    clr_map_deinit(&walk.seen);
    CLR_TRY(status);
    if (walk.damaged)
        clr_problem(runtime->problems, CLR_WARNING, "native_codes", top, 0,
                    "the map of code ranges at 0x%llx is damaged or not saved as a whole; native "
                    "code may be missing",
                    (unsigned long long)top);
    if (codes->section_count > 1)
        qsort(codes->sections, codes->section_count, sizeof *codes->sections, by_begin);
    return CLR_OK;
}

enum clr_status clr_code_sections_read(struct clr_runtime *runtime, struct clr_job *job,
                                       struct clr_code_section **list, size_t *count,
                                       struct clr_error *error)
{
    struct clr_codes codes = {0};
    *list = NULL;
    *count = 0;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_CODE, "native_codes", error));
    enum clr_status status = read_sections(runtime, &codes, job, error);
    if (status != CLR_OK) {
        clr_free(codes.sections);
        return status;
    }
    *list = codes.sections;
    *count = codes.section_count;
    return CLR_OK;
}

const struct clr_code_section *clr_code_section_at(const struct clr_codes *codes, uint64_t address)
{
    const struct clr_code_section *sections = codes->sections;
    size_t i;
    CLR_SEARCH(i, 0, codes->section_count, sections[i].begin <= address);
    return i != 0 && address < sections[i - 1].end ? &sections[i - 1] : NULL;
}

/* --- Code of the JIT ----------------------------------------------------------------------------
 */

static bool add_code(struct clr_codes *codes, const struct clr_code *code)
{
    if (codes->count >= UINT32_MAX ||
        !clr_grow(&codes->rows, codes->count, &codes->room, sizeof *codes->rows))
        return false;
    codes->rows[codes->count++] = *code;
    return true;
}

/* Where the last body or funclet ends; 0 if it is not known. */
static uint64_t measure(const struct clr_runtime *runtime, struct clr_code *code)
{
    const struct clr_code_layout *l = &runtime->code;
    uint64_t end = 0;
    uint32_t rva;
    if (clr_has(l->function_size) && clr_has(l->function_end))
        for (uint32_t i = 0; i < code->unwind_count; i++)
            if (clr_field_u32(runtime, code->unwinds + i * l->function_size, l->function_end,
                              &rva) &&
                code->image_base + rva > end)
                end = code->image_base + rva;
    if (end > code->start)
        return end - code->start;
    unsigned version = clr_has(l->gc_info_version) ? (unsigned)l->gc_info_version : GC_VERSION;
    return clr_gc_code_length(runtime, code->gc_info, version);
}

static void read_header(struct clr_runtime *runtime, const struct clr_code_section *section,
                        uint64_t start, struct clr_code *code)
{
    const struct clr_code_layout *l = &runtime->code;
    uint64_t header, stub_last = clr_has(l->stub_last) ? l->stub_last : STUB_LAST;
    struct clr_method method;
    *code = (struct clr_code){.start = start,
                              .kind = CLR_CODE_STUB,
                              .tier = CLR_TIER_UNKNOWN,
                              .image_base = section->begin};
    if (!clr_read_word(runtime->process, start - runtime->word, &header)) {
        clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", section->begin, false, start,
                       0, "the header of the code at 0x%llx is not saved; its method is not known",
                       (unsigned long long)start);
        return;
    }
    if (header <= stub_last)
        return;
    if (!clr_field_word(runtime, header, l->header_method, &code->method) ||
        !clr_method_read(runtime, code->method, &method)) {
        code->method = 0;
        clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", section->begin, false, start,
                       0,
                       "the code at 0x%llx: its header at 0x%llx names no method, or is not saved",
                       (unsigned long long)start, (unsigned long long)header);
        return;
    }
    code->kind = method.is_stub ? CLR_CODE_STUB : CLR_CODE_JIT;
    clr_field_word(runtime, header, l->header_debug, &code->debug_info);
    clr_field_word(runtime, header, l->header_gc, &code->gc_info);
    if (clr_has(l->header_unwinds) &&
        clr_field_u32(runtime, header, l->header_unwind_count, &code->unwind_count)) {
        code->unwinds = header + l->header_unwinds;
        if (code->unwind_count > UNWINDS_MAX)
            code->unwind_count = 0;
    }
    code->size = measure(runtime, code);
    if (code->size > section->end - start)
        code->size = 0;
    code->hot_size = code->size;
}

static enum clr_status read_heap(struct clr_runtime *runtime, struct clr_codes *codes,
                                 const struct clr_code_section *section, struct clr_job *job,
                                 struct clr_error *error)
{
    const struct clr_code_layout *l = &runtime->code;
    const bool pointers = !(runtime->contract[CLR_CONTRACT_CODE]->flags & CLR_CODE_LINEAR_MAP);
    uint64_t base, map, end;
    bool bad = false, missing = false;
    if (!clr_field_word(runtime, section->heap, l->heap_map_base, &base) ||
        !clr_field_word(runtime, section->heap, l->heap_map, &map) ||
        !clr_field_word(runtime, section->heap, l->heap_end, &end) || end < base ||
        base > section->end) {
        clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", section->begin, false,
                       section->heap, 0,
                       "the heap of code at 0x%llx is not saved; its code is not known",
                       (unsigned long long)section->begin);
        return CLR_OK;
    }
    if (end > section->end)
        end = section->end;
    uint64_t blocks = end > base ? (end - base + CLR_NIBBLE_BLOCK - 1) / CLR_NIBBLE_BLOCK : 0;
    for (uint64_t i = 0; i < blocks; i++) {
        uint32_t value, offsets[8];
        if (i % 4096 == 0)
            CLR_TRY(clr_job_poll(job, "listing native code", i, blocks, error));
        if (!clr_read_u32(runtime->process, map + 4 * i, &value)) {
            uint64_t saved;
            missing = true;
            if (!clr_next_saved(runtime->process, map + 4 * i, &saved) || saved >= map + 4 * blocks)
                break;
            uint64_t next = (saved - map + 3) / 4;
            i = next > i + 1 ? next - 1 : i;
            continue;
        }
        unsigned count = clr_nibble_starts(value, pointers, offsets, &bad);
        for (unsigned k = 0; k < count; k++) {
            struct clr_code code;
            uint64_t start = base + i * CLR_NIBBLE_BLOCK + offsets[k];
            if (start < section->begin || start >= end)
                continue;
            read_header(runtime, section, start, &code);
            if (!add_code(codes, &code))
                return clr_no_memory(error);
        }
    }
    if (bad || missing)
        clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", section->begin, false, map,
                       0, "the map of methods of the code heap at 0x%llx %s; code may be missing",
                       (unsigned long long)section->begin,
                       bad ? "is damaged" : "is not saved as a whole");
    return CLR_OK;
}

/* --- Code of images ------------------------------------------------------------------------------
 */

static enum clr_status read_image(struct clr_runtime *runtime, struct clr_code_cache *cache,
                                  const struct clr_code_section *section, struct clr_job *job,
                                  struct clr_error *error)
{
    struct clr_codes *codes = &cache->codes;
    struct clr_r2r *image;
    struct clr_method method;
    size_t unknown = 0, without = 0;
    if (!CLR_ARRAY_ROOM(&cache->images))
        return clr_no_memory(error);
    CLR_TRY(clr_r2r_open(runtime, section->module, section->begin, section->end, &image, error));
    cache->images.items[cache->images.count++] = image;
    for (size_t i = 0; i < image->entry_count; i++) {
        struct clr_code code, cold;
        if (i % 256 == 0)
            CLR_TRY(clr_job_poll(job, "listing native code", i, image->entry_count, error));
        if (!clr_method_read(runtime, image->entries[i].method, &method)) {
            clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", image->info, false,
                           image->entries[i].start, 0,
                           "the entry point 0x%llx leads to 0x%llx, which is no method, or not "
                           "saved",
                           (unsigned long long)image->entries[i].start,
                           (unsigned long long)image->entries[i].method);
            continue;
        }
        clr_r2r_code(runtime, image, &image->entries[i], &code, &cold);
        unknown += code.size == 0;
        without += code.size != 0 && code.debug_info == 0;
        if (code.size > section->end - code.start)
            code.size = code.hot_size = 0;
        if (!add_code(codes, &code) || (cold.size != 0 && !add_code(codes, &cold)))
            return clr_no_memory(error);
    }
    if (unknown != 0)
        clr_problem_of(runtime->problems, CLR_WARNING, "native_codes", image->info, false,
                       image->base, 0,
                       "the ReadyToRun image at 0x%llx: its code is not saved, so sizes and debug "
                       "information of %zu methods are not known; option 'modules' names a folder "
                       "with the files",
                       (unsigned long long)image->base, unknown);
    if (without != 0)
        clr_problem_of(runtime->problems, CLR_WARNING, "debug_bounds", image->info, false,
                       image->base, 0,
                       "the ReadyToRun image at 0x%llx: debug information of %zu methods is not "
                       "saved; option 'modules' names a folder with the files",
                       (unsigned long long)image->base, without);
    return CLR_OK;
}

/* --- All of it -----------------------------------------------------------------------------------
 */

static int by_address(const void *a, const void *b)
{
    const struct clr_code *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->method > y->method) - (x->method < y->method);
}

/* Leaves out what lies on code before it: no address belongs to two. */
static void drop_overlaps(struct clr_runtime *runtime, struct clr_codes *codes)
{
    size_t kept = 0;
    for (size_t i = 0; i < codes->count; i++) {
        const struct clr_code *last = kept ? &codes->rows[kept - 1] : NULL;
        if (last && (codes->rows[i].start == last->start ||
                     codes->rows[i].start - last->start < last->size)) {
            clr_problem(runtime->problems, CLR_WARNING, "native_codes", codes->rows[i].start,
                        codes->rows[i].size,
                        "the code at 0x%llx lies on that of 0x%llx and is left out",
                        (unsigned long long)codes->rows[i].start, (unsigned long long)last->start);
            continue;
        }
        codes->rows[kept++] = codes->rows[i];
    }
    codes->count = kept;
}

static int by_method(const void *a, const void *b)
{
    const struct clr_code *const *x = a, *const *y = b;
    if ((*x)->method != (*y)->method)
        return (*x)->method < (*y)->method ? -1 : 1;
    return (*x)->start < (*y)->start ? -1 : (*x)->start > (*y)->start;
}

static enum clr_status apply_versions(struct clr_runtime *runtime, struct clr_codes *codes,
                                      struct clr_job *job, struct clr_error *error)
{
    struct clr_code **sorted = clr_alloc(codes->count, sizeof(struct clr_code *));
    codes->by_method = clr_alloc(codes->count, sizeof *codes->by_method);
    if (!sorted || !codes->by_method) {
        clr_free(sorted);
        return clr_no_memory(error);
    }
    for (size_t i = 0; i < codes->count; i++)
        sorted[i] = &codes->rows[i];
    if (codes->count > 1)
        qsort(sorted, codes->count, sizeof(struct clr_code *), by_method);
    enum clr_status status = CLR_OK;
    for (size_t i = 0, end; i < codes->count && status == CLR_OK; i = end) {
        struct clr_method method;
        end = i + 1;
        while (end < codes->count && sorted[end]->method == sorted[i]->method)
            end++;
        if (sorted[i]->method != 0 && clr_method_read(runtime, sorted[i]->method, &method))
            clr_versions_apply(runtime, &method, sorted + i, end - i);
        status = clr_job_poll(job, "listing native code", i, codes->count, error);
    }
    for (size_t i = 0; i < codes->count; i++)
        codes->by_method[i] = (uint32_t)(sorted[i] - codes->rows);
    clr_free(sorted);
    return status;
}

static enum clr_status list_all(struct clr_runtime *runtime, struct clr_code_cache *cache,
                                struct clr_job *job, struct clr_error *error)
{
    struct clr_codes *codes = &cache->codes;
    size_t interpreted = 0;
    CLR_TRY(read_sections(runtime, codes, job, error));
    for (size_t i = 0; i < codes->section_count; i++) {
        const struct clr_code_section *section = &codes->sections[i];
        if (section->module != 0)
            CLR_TRY(read_image(runtime, cache, section, job, error));
        else if (section->flags & SECTION_IS_INTERPRETED)
            interpreted++;
        else if (section->flags & SECTION_IS_CODE && section->heap != 0)
            CLR_TRY(read_heap(runtime, codes, section, job, error));
    }
    if (interpreted != 0)
        clr_problem(runtime->problems, CLR_INFO, "native_codes", 0, 0,
                    "code for the interpreter is not listed");
    if (codes->count > 1)
        qsort(codes->rows, codes->count, sizeof *codes->rows, by_address);
    drop_overlaps(runtime, codes);
    return apply_versions(runtime, codes, job, error);
}

enum clr_status clr_codes_need(struct clr_runtime *runtime, struct clr_job *job,
                               const struct clr_codes **codes, struct clr_error *error)
{
    if (!runtime->codes) {
        CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_CODE, "native_codes", error));
        struct clr_code_cache *cache = clr_alloc(1, sizeof *cache);
        if (!cache)
            return clr_no_memory(error);
        enum clr_status status = list_all(runtime, cache, job, error);
        if (status != CLR_OK) {
            clr_code_cache_destroy(cache);
            return status;
        }
        runtime->codes = cache;
    }
    *codes = &runtime->codes->codes;
    return CLR_OK;
}

const struct clr_code *clr_code_at(const struct clr_codes *codes, uint64_t address)
{
    size_t i;
    CLR_SEARCH(i, 0, codes->count, codes->rows[i].start <= address);
    if (i == 0)
        return NULL;
    const struct clr_code *code = &codes->rows[i - 1];
    return address == code->start || address - code->start < code->size ? code : NULL;
}

size_t clr_codes_of(const struct clr_codes *codes, uint64_t method, size_t *first)
{
    size_t i, count = 0;
    CLR_SEARCH(i, 0, codes->count, codes->rows[codes->by_method[i]].method < method);
    *first = i;
    while (i + count < codes->count && codes->rows[codes->by_method[i + count]].method == method)
        count++;
    return method == 0 ? 0 : count;
}

const struct clr_code *clr_code_active(const struct clr_codes *codes, uint64_t method)
{
    size_t first, count = clr_codes_of(codes, method, &first);
    for (size_t i = 0; i < count; i++) {
        const struct clr_code *code = &codes->rows[codes->by_method[first + i]];
        if (code->is_active && !code->is_cold)
            return code;
    }
    return NULL;
}

uint64_t clr_code_total(const struct clr_codes *codes, const struct clr_code *code)
{
    size_t first, count = clr_codes_of(codes, code->method, &first);
    uint64_t hot = code->is_cold ? code->hot_code : code->start;
    for (size_t i = 0; i < count; i++) {
        const struct clr_code *other = &codes->rows[codes->by_method[first + i]];
        if (other->is_cold && other->hot_code == hot)
            return other->hot_size + other->size;
    }
    return code->size;
}
