/*
 * From a module to the types that are loaded in it.
 *
 * Two structures hold them. The map of type definitions is an array by row id, in segments:
 *
 *   ModuleLookupMap   .TableData           words; entry 0 of the first segment is not used
 *   (embedded in      .Count               u32, entries of this segment
 *   Module)           .Next                the next segment
 *                     .SupportedFlagsMask  bits of an entry that are no address; the mask of the
 *                                          first segment counts
 *
 * The instantiations (generic instances, arrays, pointers, by TypeHandle) are in a hash table:
 *
 *   EETypeHashTable   .Buckets             words: [0] number of chains; heads from [3] on
 *   its entry         .VolatileEntryValue  TypeHandle; bit 0 is a flag
 *                     .VolatileEntryNextEntry  a link with bit 0 set ends the chain
 *
 * Runtimes describe it since .NET 10. A TypeHandle with bit 1 set is a TypeDesc (pointer, type
 * variable), which no object can have: it is passed over.
 *
 * What is not saved is skipped with a problem; each entry is visited once, however chains are
 * linked.
 *
 * Knowledge: docs/design/datacontracts/Loader.md and RuntimeTypeSystem.md, dacenumerablehash.h.
 */
#include "runtime/loader.h"

#include <string.h>

#include "runtime/contracts.h"
#include "runtime/loop.h"
#include "runtime/types.h"

enum {
    HEADS_AT = 3,    /* words of a bucket array in front of the chains' heads */
    LINK_END = 1,    /* bit of a link: no further entry */
    HANDLE_FLAG = 1, /* bit of an entry's value that does not belong to the handle */
    HANDLE_IS_DESC = 2,
    CHAINS_LEAST = 1024, /* of a small table; real ones begin with a few dozen */
    CHAINS_PER_ENTRY = 16,
};

struct each {
    struct clr_runtime *runtime;
    const struct clr_module *module;
    bool (*call)(void *context, uint64_t method_table);
    void *context;
    bool stopped;
    uint64_t flags;      /* of the map's entries */
    struct clr_map seen; /* entries of the hash table */
    struct clr_error *error;
};

/* Bits of a map's entry that belong to no address. */
static uint64_t entry_flags(const struct clr_runtime *runtime, uint64_t map)
{
    uint64_t mask;
    if (clr_field_word(runtime, map, runtime->loader.map_mask, &mask))
        return mask;
    return runtime->alignment_mask;
}

static uint64_t next_segment(const struct clr_runtime *runtime, uint64_t segment)
{
    uint64_t next;
    return clr_field_word(runtime, segment, runtime->loader.map_next, &next) ? next : 0;
}

uint64_t clr_module_type(const struct clr_runtime *runtime, uint64_t module, uint32_t rid)
{
    const struct clr_loader_layout *l = &runtime->loader;
    if (!runtime->contract[CLR_CONTRACT_LOADER] || module == 0 || rid == 0)
        return 0;
    uint64_t segment = module + l->module_type_defs, table, entry;
    const uint64_t flags = entry_flags(runtime, segment);
    struct clr_loop loop = {0};
    uint32_t count;
    for (; segment != 0 && !clr_loop_again(&loop, segment);
         segment = next_segment(runtime, segment)) {
        if (!clr_field_u32(runtime, segment, l->map_count, &count))
            return 0;
        if (rid < count) {
            if (!clr_field_word(runtime, segment, l->map_table, &table) ||
                !clr_read_word(runtime->process, table + (uint64_t)rid * runtime->word, &entry))
                return 0;
            return entry & ~flags;
        }
        rid -= count;
    }
    return 0;
}

/* Passes on what is a type. Returns whether to go on. */
static bool pass(struct each *each, uint64_t address)
{
    if (address == 0)
        return true;
    if (!clr_type_valid(each->runtime, address)) {
        clr_problem_of(each->runtime->problems, CLR_WARNING, "types", each->module->address, false,
                       address, 0,
                       "the tables of module %s name a type at 0x%llx that is none or is not saved",
                       each->module->name, (unsigned long long)address);
        return true;
    }
    each->stopped = !each->call(each->context, address);
    return !each->stopped;
}

static void missing(struct each *each, uint64_t start, uint64_t end)
{
    clr_problem_of(each->runtime->problems, CLR_WARNING, "types", each->module->address, false,
                   start, end - start,
                   "a table of types of module %s is not saved at 0x%llx: some may be missing",
                   each->module->name, (unsigned long long)start);
}

static uint64_t word_at(const struct clr_runtime *runtime, const uint8_t *bytes)
{
    bool swapped = clr_process_info(runtime->process)->swapped;
    if (runtime->word == 4) {
        uint32_t narrow;
        memcpy(&narrow, bytes, sizeof narrow);
        return swapped ? __builtin_bswap32(narrow) : narrow;
    }
    uint64_t wide;
    memcpy(&wide, bytes, sizeof wide);
    return swapped ? __builtin_bswap64(wide) : wide;
}

/* Calls USE with each saved word of an array; what is not saved is reported and left out. */
static void each_word(struct each *each, uint64_t start, uint64_t count,
                      void (*use)(struct each *each, uint64_t value))
{
    const struct clr_process *process = each->runtime->process;
    const uint64_t word = each->runtime->word;
    uint64_t end, got, saved;
    if (start == 0 || __builtin_mul_overflow(count, word, &end) ||
        __builtin_add_overflow(start, end, &end)) {
        if (count != 0)
            missing(each, start, start);
        return;
    }
    for (uint64_t at = start; at < end && !each->stopped;) {
        const uint8_t *bytes = clr_view(process, at, end - at, &got);
        uint64_t whole = bytes ? got / word : 0, value;
        for (uint64_t i = 0; i < whole && !each->stopped; i++)
            use(each, word_at(each->runtime, bytes + i * word));
        at += whole * word;
        if (at >= end || each->stopped)
            return;
        if (clr_read_word(process, at, &value)) { /* lies across two runs */
            use(each, value);
            at += word;
        } else {
            if (!clr_next_saved(process, at + word, &saved) || saved > end)
                saved = end;
            saved -= (saved - start) % word;
            if (saved <= at)
                saved = at + word;
            missing(each, at, saved);
            at = saved;
        }
    }
}

static void each_definition(struct each *each, uint64_t value)
{
    pass(each, value & ~each->flags);
}

static void each_map(struct each *each)
{
    const struct clr_runtime *runtime = each->runtime;
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t segment = each->module->address + l->module_type_defs, table;
    struct clr_loop loop = {0};
    uint32_t count;
    each->flags = entry_flags(runtime, segment);
    for (; segment != 0 && !each->stopped; segment = next_segment(runtime, segment)) {
        if (clr_loop_again(&loop, segment) ||
            !clr_field_u32(runtime, segment, l->map_count, &count) ||
            !clr_field_word(runtime, segment, l->map_table, &table)) {
            missing(each, segment, segment);
            return;
        }
        each_word(each, table, count, each_definition);
    }
}

static void each_chain(struct each *each, uint64_t entry)
{
    struct clr_runtime *runtime = each->runtime;
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t value, dummy;
    while (entry != 0 && !(entry & LINK_END) && !each->stopped) {
        if (clr_map_get(&each->seen, entry, &dummy)) {
            clr_problem_of(
                runtime->problems, CLR_WARNING, "types", each->module->address, false, entry, 0,
                "a chain of module %s's table of types leads back to 0x%llx: it ends here",
                each->module->name, (unsigned long long)entry);
            return;
        }
        if (!clr_field_word(runtime, entry, l->hash_value, &value)) {
            missing(each, entry, entry);
            return;
        }
        if (!clr_map_put(&each->seen, entry, 1)) {
            clr_no_memory(each->error);
            each->stopped = true;
            return;
        }
        value &= ~(uint64_t)HANDLE_FLAG;
        if (!(value & HANDLE_IS_DESC) && !pass(each, value))
            return;
        if (!clr_field_word(runtime, entry, l->hash_next, &entry)) {
            missing(each, entry, entry);
            return;
        }
    }
}

static void each_instantiation(struct each *each)
{
    const struct clr_runtime *runtime = each->runtime;
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t table, buckets, count = 0;
    uint32_t entries;
    if (!clr_has(l->module_type_params) || !clr_has(l->hash_buckets) || !clr_has(l->hash_value) ||
        !clr_has(l->hash_next))
        return; /* not described before .NET 10: the walk of the heap finds them */
    if (!clr_field_word(runtime, each->module->address, l->module_type_params, &table)) {
        missing(each, each->module->address, each->module->address);
        return;
    }
    if (table == 0)
        return;
    if (!clr_field_word(runtime, table, l->hash_buckets, &buckets) ||
        (buckets != 0 && !clr_read_word(runtime->process, buckets, &count))) {
        missing(each, table, table);
        return;
    }
    /* The table grows when it has twice as many entries as chains: many more chains than entries
     * are damage, and the words behind the heads would be taken for heads. */
    if (clr_field_u32(runtime, table, l->hash_count, &entries) &&
        count > CHAINS_LEAST + (uint64_t)entries * CHAINS_PER_ENTRY) {
        clr_problem_of(
            runtime->problems, CLR_WARNING, "types", each->module->address, false, buckets, 0,
            "the table of types of module %s at 0x%llx says that %u entries lie in %llu "
            "chains: it is left out",
            each->module->name, (unsigned long long)buckets, entries, (unsigned long long)count);
        return;
    }
    if (buckets != 0)
        each_word(each, buckets + (uint64_t)HEADS_AT * runtime->word, count, each_chain);
}

enum clr_status clr_module_types(struct clr_runtime *runtime, const struct clr_module *module,
                                 bool (*each)(void *context, uint64_t method_table), void *context,
                                 struct clr_error *error)
{
    struct clr_error own = {0};
    struct each state = {
        .runtime = runtime, .module = module, .call = each, .context = context, .error = &own};
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_LOADER, "types", error));
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_TYPES, "types", error));
    each_map(&state);
    if (!state.stopped)
        each_instantiation(&state);
    clr_map_deinit(&state.seen);
    return own.code == CLR_OK ? CLR_OK : clr_fail(error, own.code, own.address, "%s", own.text);
}
