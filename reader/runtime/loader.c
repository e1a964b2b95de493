/*
 * The list of modules, and the load contexts that hold them. One module is read in module.c.
 *
 *     AppDomain --list of assemblies--> Assembly --> Module --> PEAssembly --> AssemblyBinder
 *                                                       |                          |
 *                                                 LoaderAllocator --handle--> managed objects
 *
 *   what                        name                                              since
 *   the list (embedded)         AppDomain.AssemblyList                            11
 *                               .DomainAssemblyList, of DomainAssembly            10, supplements
 *   its count, u32; first block ArrayListBase.Count, .FirstBlock (embedded)       10
 *   a block                     ArrayListBlock.Next, .Size (u32), .ArrayStart     10
 *   an assembly                 Assembly.Module; .Error; .Level u32 (10); .IsLoaded u8 (11)
 *   its load context            AssemblyBinder.AssemblyLoadContext: a handle      10, supplements
 *   what keeps it loaded        LoaderAllocator.ObjectHandle: a handle            11, supplements
 *
 * An assembly is in the list before it is usable: it counts once its module is set, it is loaded,
 * and it has no error. The list is followed as long as its blocks are saved and new.
 *
 * Knowledge: the runtime's docs/design/datacontracts/Loader.md, assembly.hpp, arraylist.h.
 */
#include "runtime/module.h"

#include <string.h>

#include "base/array.h"
#include "runtime/contracts.h"
#include "runtime/object.h"

enum { LEVEL_LOADED = 4 /* of Assembly.Level: may be used */ };

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
    {AT(pe_host), CLR_FIELD, 0, true, "PEAssembly", "HostAssembly"},
    {AT(host_binder), CLR_FIELD, 0, true, "BinderAssembly", "Binder"},
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
    {AT(dynamic_pointer), CLR_FIELD, 0, true, "DynamicMetadata", "DataPointer"},
    {AT(emitted_metadata), CLR_FIELD, 0, true, "ReflectionModule", "DynamicMetadata"},
    CLR_BINDINGS_END,
};

struct clr_module_cache {
    CLR_ARRAY(struct clr_module_record *) modules; /* those of the list, then others found later */
    const struct clr_module **listed;              /* those of the list */
    size_t listed_count;
    struct clr_arena texts;    /* of the modules */
    struct clr_map by_address; /* place in modules + 1 */
    struct clr_error listing;  /* why the list could not be read; code is CLR_OK if it could */
    struct clr_load_context *contexts;
    size_t context_count;
};

void clr_module_cache_destroy(struct clr_module_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->modules.count; i++)
        clr_module_destroy(cache->modules.items[i]);
    CLR_ARRAY_FREE(&cache->modules);
    clr_free(cache->listed);
    clr_arena_deinit(&cache->texts);
    clr_free(cache->contexts);
    clr_map_deinit(&cache->by_address);
    clr_free(cache);
}

/* Reads the module at ADDRESS into the cache, unless it is there. */
static enum clr_status add_module(struct clr_runtime *runtime, struct clr_module_cache *cache,
                                  uint64_t address, struct clr_error *error)
{
    uint64_t place;
    if (clr_map_get(&cache->by_address, address, &place))
        return CLR_OK;
    struct clr_module_record *module = clr_alloc(1, sizeof *module);
    if (!module)
        return clr_no_memory(error);
    module->shown.address = address;
    module->texts = &cache->texts;
    enum clr_status status = clr_module_read(runtime, module, error);
    if (status == CLR_OK && (!CLR_ARRAY_ROOM(&cache->modules) ||
                             !clr_map_put(&cache->by_address, address, cache->modules.count + 1)))
        status = clr_no_memory(error);
    if (status != CLR_OK) {
        clr_module_destroy(module);
        return status;
    }
    cache->modules.items[cache->modules.count++] = module;
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
    if (cache->modules.count == 0)
        clr_fail(&cache->listing, CLR_FAULT, address,
                 "the list of assemblies %s at 0x%llx: no module can be read", how,
                 (unsigned long long)address);
    return CLR_OK;
}

/* Walks the list; what is damaged is reported and ends it. Only a lack of memory is an error. */
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
            status = clr_no_memory(error);
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

/* Modules that are found later are not of the list: what it gives does not hang on what was read. */
static enum clr_status keep_list(struct clr_module_cache *cache, struct clr_error *error)
{
    if (!(cache->listed = clr_alloc(cache->modules.count + 1, sizeof *cache->listed)))
        return clr_no_memory(error);
    cache->listed_count = cache->modules.count;
    for (size_t i = 0; i < cache->listed_count; i++)
        cache->listed[i] = &cache->modules.items[i]->shown;
    return CLR_OK;
}

/* Makes the cache, with the modules of the list in it. */
static enum clr_status need_cache(struct clr_runtime *runtime, struct clr_error *error)
{
    if (runtime->modules)
        return CLR_OK;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_LOADER, "modules", error));
    struct clr_module_cache *cache = clr_alloc(1, sizeof *cache);
    if (!cache)
        return clr_no_memory(error);
    enum clr_status status;
    if (clr_has(runtime->loader.domain_assemblies)) {
        status = read_list(runtime, cache, error);
    } else {
        clr_fail(&cache->listing, CLR_UNSUPPORTED, 0,
                 "modules cannot be given: the runtime does not describe its list of assemblies");
        status = CLR_OK;
    }
    if (status == CLR_OK)
        status = keep_list(cache, error);
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
    *modules = cache->listed;
    *count = cache->listed_count;
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
        place = cache->modules.count;
    }
    return &cache->modules.items[place - 1]->shown;
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
            return clr_no_memory(error);
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
