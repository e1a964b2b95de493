/*
 * Modules, where their images and metadata are, and the load contexts that hold them.
 *
 *     AppDomain --list of assemblies--> Assembly --> Module --> PEAssembly --> PEImage --> layout
 *                                                       |            |
 *                                                 LoaderAllocator  AssemblyBinder --handle-->
 * object
 *
 *   what                        name                                              since
 *   the list (embedded)         AppDomain.AssemblyList                            11
 *                               .DomainAssemblyList, of DomainAssembly            10, supplements
 *   its count, u32; first block ArrayListBase.Count, .FirstBlock (embedded)       10
 *   a block                     ArrayListBlock.Next, .Size (u32), .ArrayStart     10
 *   an assembly                 Assembly.Module; .IsCollectible u8, .Error;       10
 *                               .Level u32 (10); .IsLoaded u8, .IsDynamic u8 (11)
 *   a module                    Module.Path (UTF-16), .FileName, .SimpleName (UTF-8), .Flags u32,
 *                               .LoaderAllocator, .DynamicMetadata, .ReadyToRunInfo, .PEAssembly
 *   an image                    PEImageLayout.Base, .Size u32, .Flags u32 (bit 0: mapped)
 *   snapshot of metadata        DynamicMetadata.Size u32, .Data (inline)          9
 *
 * Metadata comes, in this order, from the snapshot that the runtime keeps of a module made or
 * changed at run time, else from the CLI header of the image: in memory, or in an image file that
 * stands in for it (its bytes are runs of the process like any other). Bytes that lie in several
 * runs are copied, never more than is saved.
 *
 * An assembly is in the list before it is usable: it counts once its module is set, it is loaded,
 * and it has no error.
 *
 * Knowledge: the runtime's docs/design/datacontracts/Loader.md and EcmaMetadata.md, assembly.hpp.
 */
#include "runtime/loader.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/contracts.h"
#include "runtime/object.h"
#include "runtime/types.h"

enum {
    MODULE_REFLECTION_EMIT = 0x40, /* of Module.Flags */
    LEVEL_LOADED = 4,              /* of Assembly.Level: may be used */
    LAYOUT_MAPPED = 1,             /* of PEImageLayout.Flags: sections stand at their RVAs */
    FORMAT_PE = 0,                 /* of PEImageLayout.Format; 1: webcil */
    TEXT_UNITS_MAX = 32767,        /* of a path or name */
};

#define AT(m) offsetof(struct clr_loader_layout, m)

const struct clr_binding clr_loader_bindings[] = {
    {AT(app_domain), CLR_VARIABLE, 0, false, NULL, "AppDomain"},
    {AT(system_domain), CLR_VARIABLE, 0, true, NULL, "SystemDomain"},
    {AT(domain_assemblies), CLR_FIELD, CLR_INLINE, true, "AppDomain", "AssemblyList"},
    {AT(domain_assemblies_1), CLR_FIELD, CLR_INLINE, true, "AppDomain", "DomainAssemblyList"},
    {AT(domain_assembly_assembly), CLR_FIELD, 0, true, "DomainAssembly", "Assembly"},
    {AT(list_count), CLR_FIELD, 4, false, "ArrayListBase", "Count"},
    {AT(list_first), CLR_FIELD, CLR_INLINE, false, "ArrayListBase", "FirstBlock"},
    {AT(block_next), CLR_FIELD, 0, false, "ArrayListBlock", "Next"},
    {AT(block_size), CLR_FIELD, 4, false, "ArrayListBlock", "Size"},
    {AT(block_items), CLR_FIELD, CLR_INLINE, false, "ArrayListBlock", "ArrayStart"},
    {AT(assembly_module), CLR_FIELD, 0, false, "Assembly", "Module"},
    {AT(assembly_collectible), CLR_FIELD, 1, true, "Assembly", "IsCollectible"},
    {AT(assembly_dynamic), CLR_FIELD, 1, true, "Assembly", "IsDynamic"},
    {AT(assembly_loaded), CLR_FIELD, 1, true, "Assembly", "IsLoaded"},
    {AT(assembly_level), CLR_FIELD, 4, true, "Assembly", "Level"},
    {AT(assembly_error), CLR_FIELD, 0, true, "Assembly", "Error"},
    {AT(module_assembly), CLR_FIELD, 0, false, "Module", "Assembly"},
    {AT(module_pe_assembly), CLR_FIELD, 0, false, "Module", "PEAssembly"},
    {AT(module_base), CLR_FIELD, 0, true, "Module", "Base"},
    {AT(module_flags), CLR_FIELD, 4, true, "Module", "Flags"},
    {AT(module_allocator), CLR_FIELD, 0, true, "Module", "LoaderAllocator"},
    {AT(module_dynamic_metadata), CLR_FIELD, 0, true, "Module", "DynamicMetadata"},
    {AT(module_path), CLR_FIELD, 0, true, "Module", "Path"},
    {AT(module_file_name), CLR_FIELD, 0, true, "Module", "FileName"},
    {AT(module_simple_name), CLR_FIELD, 0, true, "Module", "SimpleName"},
    {AT(module_r2r), CLR_FIELD, 0, true, "Module", "ReadyToRunInfo"},
    {AT(module_type_defs), CLR_FIELD, CLR_INLINE, false, "Module", "TypeDefToMethodTableMap"},
    {AT(module_method_defs), CLR_FIELD, CLR_INLINE, true, "Module", "MethodDefToDescMap"},
    {AT(module_type_params), CLR_FIELD, 0, true, "Module", "AvailableTypeParams"},
    {AT(map_next), CLR_FIELD, 0, true, "ModuleLookupMap", "Next"},
    {AT(map_table), CLR_FIELD, 0, false, "ModuleLookupMap", "TableData"},
    {AT(map_count), CLR_FIELD, 4, false, "ModuleLookupMap", "Count"},
    {AT(map_mask), CLR_FIELD, 0, true, "ModuleLookupMap", "SupportedFlagsMask"},
    {AT(pe_image), CLR_FIELD, 0, false, "PEAssembly", "PEImage"},
    {AT(pe_binder), CLR_FIELD, 0, true, "PEAssembly", "AssemblyBinder"},
    {AT(pe_edited), CLR_FIELD, 1, true, "PEAssembly", "MDImportIsRW"},
    {AT(image_loaded), CLR_FIELD, 0, false, "PEImage", "LoadedImageLayout"},
    {AT(image_flat), CLR_FIELD, 0, true, "PEImage", "FlatImageLayout"},
    {AT(image_path), CLR_FIELD, 0, true, "PEImage", "Path"},
    {AT(image_path_size), CLR_FIELD, 4, true, "PEImage", "PathSize"},
    {AT(layout_base), CLR_FIELD, 0, false, "PEImageLayout", "Base"},
    {AT(layout_size), CLR_FIELD, 4, false, "PEImageLayout", "Size"},
    {AT(layout_flags), CLR_FIELD, 4, false, "PEImageLayout", "Flags"},
    {AT(layout_format), CLR_FIELD, 4, true, "PEImageLayout", "Format"},
    {AT(binder_context), CLR_FIELD, 0, true, "AssemblyBinder", "AssemblyLoadContext"},
    {AT(allocator_handle), CLR_FIELD, 0, true, "LoaderAllocator", "ObjectHandle"},
    {AT(allocator_references), CLR_FIELD, 4, true, "LoaderAllocator", "ReferenceCount"},
    {AT(allocator_collectible), CLR_FIELD, 1, true, "LoaderAllocator", "IsCollectible"},
    {AT(hash_buckets), CLR_FIELD, 0, true, "EETypeHashTable", "Buckets"},
    {AT(hash_count), CLR_FIELD, 4, true, "EETypeHashTable", "Count"},
    {AT(hash_value), CLR_FIELD, 0, true, "EETypeHashTable", "VolatileEntryValue"},
    {AT(hash_next), CLR_FIELD, 0, true, "EETypeHashTable", "VolatileEntryNextEntry"},
    CLR_BINDINGS_END,
};

const struct clr_binding clr_metadata_bindings[] = {
    {AT(dynamic_size), CLR_FIELD, 4, true, "DynamicMetadata", "Size"},
    {AT(dynamic_data), CLR_FIELD, CLR_INLINE, true, "DynamicMetadata", "Data"},
    CLR_BINDINGS_END,
};

/* A module and what it owns. The strings that struct clr_module shows are owned too. */
struct module {
    struct clr_module shown;
    uint8_t *metadata_copy; /* NULL when the bytes lie in one run */
};

struct clr_module_cache {
    struct module **modules; /* those of the list, then those that were met */
    size_t count, room;
    struct clr_map by_address; /* place in modules + 1 */
    struct clr_error listing;  /* why the list could not be read; code is CLR_OK if it could */
    /* What clr_modules gave out. It must stay valid when another module is met, so an outgrown one
     * is kept; there are at most as many as there are modules. */
    const struct clr_module ***shown;
    size_t shown_count, shown_room, shown_modules;
    struct clr_load_context *contexts;
    size_t context_count;
};

static enum clr_status out_of_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory while modules were read");
}

static void destroy_module(struct module *module)
{
    if (!module)
        return;
    clr_free((void *)(uintptr_t)module->shown.name);
    clr_free((void *)(uintptr_t)module->shown.path);
    clr_free((void *)(uintptr_t)module->shown.assembly_name);
    clr_free(module->metadata_copy);
    clr_free(module);
}

void clr_module_cache_destroy(struct clr_module_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->count; i++)
        destroy_module(cache->modules[i]);
    for (size_t i = 0; i < cache->shown_count; i++)
        clr_free(cache->shown[i]);
    clr_free(cache->modules);
    clr_free(cache->shown);
    clr_free(cache->contexts);
    clr_map_deinit(&cache->by_address);
    clr_free(cache);
}

/* --- Texts of the runtime --------------------------------------------------------------------- */

/* Takes what was built: *OUT is a terminated copy. */
static enum clr_status take_text(struct clr_text *text, const char **out, struct clr_error *error)
{
    if (!text->failed && !text->data)
        clr_text_add(text, "", 0);
    if (text->failed) {
        clr_text_deinit(text);
        return out_of_memory(error);
    }
    *out = text->data;
    return CLR_OK;
}

/* The terminated text at ADDRESS, UTF-16 or UTF-8, as UTF-8. *OUT is '' if ADDRESS is 0, and stays
 * NULL if the text is not saved or has no end. */
static enum clr_status read_text(const struct clr_runtime *runtime, uint64_t address, bool wide,
                                 const char **out, struct clr_error *error)
{
    struct clr_text text = {0};
    size_t units = 0;
    uint16_t unit;
    uint8_t byte;
    if (address == 0)
        return take_text(&text, out, error);
    for (;; units++) {
        bool read = wide ? clr_read_u16(runtime->process, address + units * 2, &unit)
                         : clr_read_u8(runtime->process, address + units, &byte);
        if (!read || units > TEXT_UNITS_MAX)
            return CLR_OK;
        if ((wide ? unit : byte) == 0)
            break;
    }
    size_t size = wide ? units * 2 : units;
    uint8_t *bytes = clr_alloc(size, 1);
    if (!bytes)
        return out_of_memory(error);
    if (clr_read(runtime->process, address, bytes, size)) {
        if (wide)
            clr_text_utf16(&text, bytes, units, clr_process_info(runtime->process)->swapped);
        else
            clr_text_utf8(&text, bytes, size);
    }
    clr_free(bytes);
    return take_text(&text, out, error);
}

/* The same for a text whose address stands in the word at ADDRESS + OFFSET. */
static enum clr_status read_text_field(const struct clr_runtime *runtime, uint64_t address,
                                       uint64_t offset, bool wide, const char **out,
                                       struct clr_error *error)
{
    uint64_t text;
    if (address == 0 || !clr_field_word(runtime, address, offset, &text))
        return CLR_OK;
    return read_text(runtime, text, wide, out, error);
}

/* A string of a module's metadata; *OUT stays NULL if there is none. */
static enum clr_status metadata_text(const struct clr_metadata *metadata, enum clr_table_id table,
                                     unsigned column, const char **out, struct clr_error *error)
{
    struct clr_text text = {0};
    uint32_t index;
    size_t length;
    const char *bytes;
    if (!clr_metadata_cell(metadata, table, 1, column, &index) ||
        !(bytes = clr_metadata_string(metadata, index, &length)) || length == 0)
        return CLR_OK;
    clr_text_utf8(&text, (const uint8_t *)bytes, length);
    return take_text(&text, out, error);
}

/* --- One module ------------------------------------------------------------------------------- */

static void read_image(const struct clr_runtime *runtime, struct clr_module *module, uint64_t image)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t layout;
    uint32_t size, flags, format = FORMAT_PE;
    if (!clr_field_word(runtime, image, l->image_loaded, &layout) || layout == 0)
        if (!clr_field_word(runtime, image, l->image_flat, &layout) || layout == 0)
            return;
    if (!clr_field_word(runtime, layout, l->layout_base, &module->image_base) ||
        !clr_field_u32(runtime, layout, l->layout_size, &size) ||
        !clr_field_u32(runtime, layout, l->layout_flags, &flags)) {
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", module->address, false, layout, 0,
                       "where the image of module 0x%llx lies is not saved (0x%llx)",
                       (unsigned long long)module->address, (unsigned long long)layout);
        module->image_base = 0;
        return;
    }
    module->image_size = size;
    module->flat = (flags & LAYOUT_MAPPED) == 0;
    clr_field_u32(runtime, layout, l->layout_format, &format);
    if (module->image_base == 0 || format != FORMAT_PE)
        return;
    struct clr_error why = {0};
    module->has_pe = clr_pe_open(&module->pe, runtime->process, module->image_base, size,
                                 module->flat, &why) == CLR_OK;
    if (!module->has_pe)
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", module->address, false,
                       module->image_base, size, "the image at 0x%llx cannot be read: %s",
                       (unsigned long long)module->image_base, why.text);
}

/* Whether the bytes at ADDRESS come from the core or from an image file. */
static enum clr_source source_of(const struct clr_process *process, uint64_t address)
{
    const struct clr_run *runs;
    size_t low = 0, high = clr_process_runs(process, &runs);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (runs[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return runs[low].file == 0 ? CLR_SOURCE_CORE : CLR_SOURCE_FILE;
}

/* Where the metadata is; false if the module has none that is described. */
static bool find_metadata(const struct clr_runtime *runtime, struct clr_module *module)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t snapshot, offset;
    uint32_t size;
    uint8_t edited;
    if (!runtime->contract[CLR_CONTRACT_METADATA])
        return false;
    if (clr_field_word(runtime, module->address, l->module_dynamic_metadata, &snapshot) &&
        snapshot != 0 && clr_has(l->dynamic_data) &&
        clr_field_u32(runtime, snapshot, l->dynamic_size, &size)) {
        module->metadata_address = snapshot + l->dynamic_data;
        module->metadata_size = size;
        return true;
    }
    if (!module->has_pe || module->pe.metadata_size == 0 ||
        !clr_pe_offset(&module->pe, module->pe.metadata_rva, module->pe.metadata_size, &offset))
        return false;
    module->metadata_address = module->image_base + offset;
    module->metadata_size = module->pe.metadata_size;
    if (module->pe_assembly != 0 &&
        clr_field_u8(runtime, module->pe_assembly, l->pe_edited, &edited) && edited)
        clr_problem_of(runtime->problems, CLR_INFO, "modules", module->address, false,
                       module->metadata_address, 0,
                       "the module at 0x%llx was edited while it ran: names that were added are "
                       "not in the metadata that is read",
                       (unsigned long long)module->address);
    return true;
}

static enum clr_status read_metadata(const struct clr_runtime *runtime, struct module *module,
                                     struct clr_error *error)
{
    struct clr_module *m = &module->shown;
    const struct clr_process *process = runtime->process;
    if (!find_metadata(runtime, m))
        return CLR_OK;
    const uint64_t start = m->metadata_address, size = m->metadata_size;
    uint64_t got;
    const uint8_t *bytes = clr_view(process, start, size, &got);
    if (size == 0 || start + size < start ||
        (got < size && clr_saved_bytes(process, start, start + size) < size)) {
        clr_problem_of(
            runtime->problems, CLR_WARNING, "modules", m->address, false, start, size,
            "the metadata of the module at 0x%llx is not saved (0x%llx, %llu bytes): its "
            "types have no names; option 'modules' names a folder with the files",
            (unsigned long long)m->address, (unsigned long long)start, (unsigned long long)size);
        return CLR_OK;
    }
    if (got < size) {
        if (!(module->metadata_copy = clr_alloc((size_t)size, 1)))
            return out_of_memory(error);
        if (!clr_read(process, start, module->metadata_copy, (size_t)size))
            return CLR_OK;
        bytes = module->metadata_copy;
    }
    m->metadata_source = source_of(process, start);
    struct clr_error why = {0};
    m->has_metadata = clr_metadata_open(&m->metadata, bytes, (size_t)size, &why) == CLR_OK;
    if (!m->has_metadata)
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", m->address, false, start, size,
                       "the metadata at 0x%llx of the module at 0x%llx is damaged: %s",
                       (unsigned long long)start, (unsigned long long)m->address, why.text);
    return CLR_OK;
}

static void read_identity(struct clr_module *module)
{
    const struct clr_metadata *metadata = &module->metadata;
    uint32_t index, part[4];
    const uint8_t *g;
    if (clr_metadata_cell(metadata, CLR_MODULE, 1, 2, &index) &&
        (g = clr_metadata_guid(metadata, index)))
        snprintf(module->mvid, sizeof module->mvid,
                 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", g[3], g[2],
                 g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9], g[10], g[11], g[12], g[13], g[14],
                 g[15]);
    for (unsigned i = 0; i < 4; i++)
        if (!clr_metadata_cell(metadata, CLR_ASSEMBLY, 1, 1 + i, &part[i]))
            return;
    snprintf(module->version, sizeof module->version, "%u.%u.%u.%u", part[0], part[1], part[2],
             part[3]);
}

/* Path, assembly name, name. The name of a module that was loaded from bytes is the one that its
 * metadata gives it ('zoo.dll'); those made at run time all have the same there and go by their
 * assembly's. */
static enum clr_status read_names(const struct clr_runtime *runtime, struct clr_module *module,
                                  uint64_t image, struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    const char *file = NULL;
    if (clr_has(l->module_path))
        CLR_TRY(
            read_text_field(runtime, module->address, l->module_path, true, &module->path, error));
    else if (image == 0)
        CLR_TRY(read_text(runtime, 0, true, &module->path, error));
    else
        CLR_TRY(read_text_field(runtime, image, l->image_path, true, &module->path, error));
    if (module->has_metadata)
        CLR_TRY(metadata_text(&module->metadata, CLR_ASSEMBLY, 7, &module->assembly_name, error));
    if (!module->assembly_name)
        CLR_TRY(read_text_field(runtime, module->address, l->module_simple_name, false,
                                &module->assembly_name, error));
    if (module->assembly_name && module->assembly_name[0] == 0) {
        clr_free((void *)(uintptr_t)module->assembly_name);
        module->assembly_name = NULL;
    }
    const char *slash = module->path ? strrchr(module->path, '/') : NULL;
    const char *base = slash ? slash + 1 : module->path;
    if (!base || base[0] == 0) {
        base = NULL;
        CLR_TRY(read_text_field(runtime, module->address, l->module_file_name, true, &file, error));
        if (file && file[0] == 0) {
            clr_free((void *)(uintptr_t)file);
            file = NULL;
        }
        enum clr_status status = CLR_OK;
        if (!file && module->has_metadata && !module->is_dynamic)
            status = metadata_text(&module->metadata, CLR_MODULE, 1, &file, error);
        if (status != CLR_OK)
            return status;
        if (file) {
            module->name = file;
            return CLR_OK;
        }
        base = module->assembly_name;
    }
    char number[32];
    if (!base) {
        snprintf(number, sizeof number, "module 0x%llx", (unsigned long long)module->address);
        base = number;
    }
    module->name = clr_copy_text(base, strlen(base));
    return module->name ? CLR_OK : out_of_memory(error);
}

static bool stop_at_first(void *context, uint64_t method_table)
{
    *(uint64_t *)context = method_table;
    return false;
}

/* Runtimes before 10 do not say it of the assembly: the allocator is then another than that of
 * System.Private.CoreLib, or, where that is not described either, the module's types are marked. */
static enum clr_status find_collectible(struct clr_runtime *runtime, struct clr_module *module,
                                        struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t core, global, first = 0;
    uint8_t flag;
    struct clr_type type;
    if (module->assembly != 0 &&
        clr_field_u8(runtime, module->assembly, l->assembly_collectible, &flag)) {
        module->is_collectible = flag != 0;
        return CLR_OK;
    }
    if (module->allocator != 0 && clr_type_read(runtime, runtime->object_type, &type)) {
        core = type.module;
        if (clr_field_word(runtime, core, l->module_allocator, &global)) {
            module->is_collectible = global != module->allocator;
            return CLR_OK;
        }
    }
    if (!runtime->contract[CLR_CONTRACT_TYPES])
        return CLR_OK;
    CLR_TRY(clr_module_types(runtime, module, stop_at_first, &first, error));
    module->is_collectible = clr_type_read(runtime, first, &type) && type.is_collectible;
    return CLR_OK;
}

static void find_dynamic(const struct clr_runtime *runtime, struct clr_module *module,
                         uint64_t image)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint8_t flag;
    uint32_t flags;
    if (module->assembly != 0 &&
        clr_field_u8(runtime, module->assembly, l->assembly_dynamic, &flag))
        module->is_dynamic = flag != 0;
    else if (clr_field_u32(runtime, module->address, l->module_flags, &flags))
        module->is_dynamic = (flags & MODULE_REFLECTION_EMIT) != 0;
    else
        module->is_dynamic = image == 0;
}

static enum clr_status fill_module(struct clr_runtime *runtime, struct module *module,
                                   struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    struct clr_module *m = &module->shown;
    uint64_t image = 0, r2r;
    clr_field_word(runtime, m->address, l->module_assembly, &m->assembly);
    clr_field_word(runtime, m->address, l->module_allocator, &m->allocator);
    if (!clr_field_word(runtime, m->address, l->module_pe_assembly, &m->pe_assembly))
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", m->address, false, m->address, 0,
                       "the module at 0x%llx is not saved: its types have no names",
                       (unsigned long long)m->address);
    if (m->pe_assembly != 0) {
        clr_field_word(runtime, m->pe_assembly, l->pe_binder, &m->binder);
        clr_field_word(runtime, m->pe_assembly, l->pe_image, &image);
    }
    if (image != 0)
        read_image(runtime, m, image);
    CLR_TRY(read_metadata(runtime, module, error));
    if (m->has_metadata)
        read_identity(m);
    find_dynamic(runtime, m, image);
    CLR_TRY(read_names(runtime, m, image, error));
    m->is_ready_to_run = clr_field_word(runtime, m->address, l->module_r2r, &r2r)
                             ? r2r != 0
                             : m->has_pe && m->pe.native_header_rva != 0;
    return find_collectible(runtime, m, error);
}

/* Reads the module at ADDRESS into the cache, unless it is there. */
static enum clr_status add_module(struct clr_runtime *runtime, struct clr_module_cache *cache,
                                  uint64_t address, struct clr_error *error)
{
    uint64_t place;
    if (clr_map_get(&cache->by_address, address, &place))
        return CLR_OK;
    struct module *module = clr_alloc(1, sizeof *module);
    if (!module)
        return out_of_memory(error);
    module->shown.address = address;
    enum clr_status status = fill_module(runtime, module, error);
    if (status == CLR_OK &&
        (!clr_grow(&cache->modules, cache->count, &cache->room, sizeof *cache->modules) ||
         !clr_map_put(&cache->by_address, address, cache->count + 1)))
        status = out_of_memory(error);
    if (status != CLR_OK) {
        destroy_module(module);
        return status;
    }
    cache->modules[cache->count++] = module;
    return CLR_OK;
}

/* --- The list --------------------------------------------------------------------------------- */

/* The module of a list element, 0 if it is not (yet) usable. False if it is not saved. */
static bool usable_module(const struct clr_runtime *runtime, uint64_t element, uint64_t *module)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t assembly = element, failure;
    uint32_t level;
    uint8_t loaded;
    *module = 0;
    if (runtime->contract[CLR_CONTRACT_LOADER]->flags & CLR_LOADER_DOMAIN_ASSEMBLIES) {
        /* That contract says: the Assembly is the first word. */
        uint64_t offset = clr_has(l->domain_assembly_assembly) ? l->domain_assembly_assembly : 0;
        if (!clr_read_word(runtime->process, element + offset, &assembly))
            return false;
    }
    if (assembly == 0)
        return true;
    if (clr_field_word(runtime, assembly, l->assembly_error, &failure) && failure != 0)
        return true;
    if (clr_field_u8(runtime, assembly, l->assembly_loaded, &loaded) && loaded == 0)
        return true;
    if (!clr_has(l->assembly_loaded) &&
        clr_field_u32(runtime, assembly, l->assembly_level, &level) && level < LEVEL_LOADED)
        return true;
    return clr_field_word(runtime, assembly, l->assembly_module, module);
}

static enum clr_status add_element(struct clr_runtime *runtime, struct clr_module_cache *cache,
                                   uint64_t element, struct clr_error *error)
{
    uint64_t module;
    if (!usable_module(runtime, element, &module)) {
        clr_problem(runtime->problems, CLR_WARNING, "modules", element, 0,
                    "an assembly of the list is not saved (0x%llx): its module is missing",
                    (unsigned long long)element);
        return CLR_OK;
    }
    return module == 0 ? CLR_OK : add_module(runtime, cache, module, error);
}

static enum clr_status damaged_list(struct clr_runtime *runtime, struct clr_module_cache *cache,
                                    uint64_t address, uint32_t read, uint32_t count,
                                    const char *how)
{
    clr_problem(runtime->problems, CLR_WARNING, "modules", address, 0,
                "the list of assemblies %s at 0x%llx: %u of %u were read; modules may be missing",
                how, (unsigned long long)address, read, count);
    if (cache->count == 0)
        clr_fail(&cache->listing, CLR_FAULT, address,
                 "the list of assemblies %s at 0x%llx: no module can be read", how,
                 (unsigned long long)address);
    return CLR_OK;
}

/* Walks the list; what is damaged is told and ends it. Only a lack of memory is an error. */
static enum clr_status read_list(struct clr_runtime *runtime, struct clr_module_cache *cache,
                                 struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t domain = 0, element, dummy;
    uint32_t count, size, read = 0;
    if (!clr_variable_word(runtime, l->app_domain, &domain) || domain == 0 ||
        !clr_field_u32(runtime, domain + l->domain_assemblies, l->list_count, &count))
        return damaged_list(runtime, cache, domain ? domain : l->app_domain, 0, 0, "is not saved");
    uint64_t block = domain + l->domain_assemblies + l->list_first;
    struct clr_map seen = {0};
    enum clr_status status = CLR_OK;
    while (read < count && block != 0 && status == CLR_OK) {
        if (clr_map_get(&seen, block, &dummy)) {
            status = damaged_list(runtime, cache, block, read, count, "leads back to itself");
            break;
        }
        if (!clr_map_put(&seen, block, 1)) {
            status = out_of_memory(error);
            break;
        }
        if (!clr_field_u32(runtime, block, l->block_size, &size)) {
            status = damaged_list(runtime, cache, block, read, count, "is not saved");
            break;
        }
        for (uint32_t i = 0; i < size && read < count && status == CLR_OK; i++, read++) {
            uint64_t slot = block + l->block_items + (uint64_t)i * runtime->word;
            if (!clr_read_word(runtime->process, slot, &element)) {
                status = damaged_list(runtime, cache, slot, read, count, "is not saved");
                read = count;
                break;
            }
            if (element != 0)
                status = add_element(runtime, cache, element, error);
        }
        if (read < count && status == CLR_OK &&
            !clr_field_word(runtime, block, l->block_next, &block)) {
            status = damaged_list(runtime, cache, block, read, count, "is not saved");
            break;
        }
    }
    if (status == CLR_OK && read < count && block == 0)
        status = damaged_list(runtime, cache, domain, read, count, "ends early");
    clr_map_deinit(&seen);
    return status;
}

/* Makes the cache, with the modules of the list in it. */
static enum clr_status need_cache(struct clr_runtime *runtime, struct clr_error *error)
{
    if (runtime->modules)
        return CLR_OK;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_LOADER, "modules", error));
    struct clr_module_cache *cache = clr_alloc(1, sizeof *cache);
    if (!cache)
        return out_of_memory(error);
    enum clr_status status;
    if (clr_has(runtime->loader.domain_assemblies)) {
        status = read_list(runtime, cache, error);
    } else {
        clr_fail(&cache->listing, CLR_UNSUPPORTED, 0,
                 "modules cannot be given: the runtime does not describe its list of assemblies");
        status = CLR_OK;
    }
    if (status != CLR_OK) {
        clr_module_cache_destroy(cache);
        return status;
    }
    runtime->modules = cache;
    return CLR_OK;
}

enum clr_status clr_modules(struct clr_runtime *runtime, const struct clr_module *const **modules,
                            size_t *count, struct clr_error *error)
{
    CLR_TRY(need_cache(runtime, error));
    struct clr_module_cache *cache = runtime->modules;
    if (cache->listing.code != CLR_OK)
        return clr_fail(error, cache->listing.code, cache->listing.address, "%s",
                        cache->listing.text);
    if (cache->shown_count == 0 || cache->shown_modules != cache->count) {
        const struct clr_module **shown = clr_alloc(cache->count, sizeof *shown);
        if (!shown || !clr_grow(&cache->shown, cache->shown_count, &cache->shown_room,
                                sizeof *cache->shown)) {
            clr_free(shown);
            return out_of_memory(error);
        }
        for (size_t i = 0; i < cache->count; i++)
            shown[i] = &cache->modules[i]->shown;
        cache->shown[cache->shown_count++] = shown;
        cache->shown_modules = cache->count;
    }
    *modules = cache->shown[cache->shown_count - 1];
    *count = cache->shown_modules;
    return CLR_OK;
}

const struct clr_module *clr_module_get(struct clr_runtime *runtime, uint64_t address)
{
    uint64_t place, assembly, module;
    if (address == 0 || need_cache(runtime, NULL) != CLR_OK)
        return NULL;
    struct clr_module_cache *cache = runtime->modules;
    if (!clr_map_get(&cache->by_address, address, &place)) {
        /* A module's assembly points back at it. */
        if ((address & runtime->alignment_mask) ||
            !clr_field_word(runtime, address, runtime->loader.module_assembly, &assembly) ||
            assembly == 0 ||
            !clr_field_word(runtime, assembly, runtime->loader.assembly_module, &module) ||
            module != address || add_module(runtime, cache, address, NULL) != CLR_OK)
            return NULL;
        place = cache->count;
    }
    return &cache->modules[place - 1]->shown;
}

/* --- Load contexts ---------------------------------------------------------------------------- */

uint64_t clr_allocator_object(const struct clr_runtime *runtime, uint64_t allocator)
{
    uint64_t handle, object;
    if (allocator == 0 ||
        !clr_field_word(runtime, allocator, runtime->loader.allocator_handle, &handle) ||
        !clr_handle_object(runtime, handle, &object))
        return 0;
    return object;
}

/* Adds MODULE to the context of its binder. A context is collectible if all its modules are. (An
 * assembly that is built at run time may be collectible by itself, in any context, and has an
 * allocator of its own then: the context's allocator is that of a module from an image.) */
static void add_to_context(struct clr_module_cache *cache, const struct clr_module *module)
{
    struct clr_load_context *context = NULL;
    for (size_t i = 0; i < cache->context_count && !context; i++)
        if (cache->contexts[i].address == module->binder)
            context = &cache->contexts[i];
    if (!context) {
        context = &cache->contexts[cache->context_count++];
        *context = (struct clr_load_context){.address = module->binder, .is_collectible = true};
    }
    context->module_count++;
    context->is_collectible &= module->is_collectible;
    if (module->is_collectible && (context->allocator == 0 || !module->is_dynamic))
        context->allocator = module->allocator;
}

enum clr_status clr_load_contexts(struct clr_runtime *runtime,
                                  const struct clr_load_context **contexts, size_t *count,
                                  struct clr_error *error)
{
    const struct clr_module *const *modules;
    size_t module_count;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_LOADER, "load_contexts", error));
    if (!clr_has(runtime->loader.pe_binder))
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "load_contexts cannot be given: the runtime does not describe "
                        "PEAssembly.AssemblyBinder");
    CLR_TRY(clr_modules(runtime, &modules, &module_count, error));
    struct clr_module_cache *cache = runtime->modules;
    if (!cache->contexts) {
        if (!(cache->contexts = clr_alloc(module_count, sizeof *cache->contexts)))
            return out_of_memory(error);
        for (size_t i = 0; i < module_count; i++)
            if (modules[i]->binder != 0)
                add_to_context(cache, modules[i]);
        for (size_t i = 0; i < cache->context_count; i++) {
            struct clr_load_context *context = &cache->contexts[i];
            uint64_t handle;
            if (clr_field_word(runtime, context->address, runtime->loader.binder_context,
                               &handle) &&
                !clr_handle_object(runtime, handle, &context->object))
                context->object = 0;
            if (!context->is_collectible)
                context->allocator = 0;
            context->allocator_object = clr_allocator_object(runtime, context->allocator);
        }
    }
    *contexts = cache->contexts;
    *count = cache->context_count;
    return CLR_OK;
}
