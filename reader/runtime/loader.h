/*
 * Modules, their metadata, load contexts (contracts Loader and EcmaMetadata).
 */
#ifndef CLR_RUNTIME_LOADER_H
#define CLR_RUNTIME_LOADER_H

#include "runtime/metadata.h"
#include "core/pe.h"
#include "runtime/runtime.h"

struct clr_module {
    uint64_t address, assembly, pe_assembly, allocator, binder;
    const char *name;          /* file name without folder, else the assembly's name; never NULL */
    const char *path;          /* full path, '' for a module that has none; NULL if not readable */
    const char *assembly_name; /* from metadata, else the loader's simple name; NULL if not known */
    char version[48];          /* of the assembly, '' if not known */
    char mvid[40];             /* lower-case text, '' if not known */
    uint64_t image_base, image_size;
    bool flat;
    uint64_t metadata_address, metadata_size; /* 0 if not found */
    enum clr_source metadata_source;
    bool is_dynamic, is_collectible, is_ready_to_run;
    bool has_metadata;
    struct clr_metadata metadata; /* valid if has_metadata; bytes live with the process */
    struct clr_pe pe;             /* pe.base is 0 if there is no image */
    bool has_pe;
};

/* All modules of the application domain, in the order of the assembly list. */
enum clr_status clr_modules(struct clr_runtime *runtime, const struct clr_module *const **modules,
                            size_t *count, struct clr_error *error);
/* One by its address, read on first use, also one that the list lacks (it is being loaded, or let go of);
 * NULL if it is none. Lives with the runtime. */
const struct clr_module *clr_module_get(struct clr_runtime *runtime, uint64_t address);

/* Calls EACH for every MethodTable in the module's TypeDef map and its table of instantiations.
 * False from EACH stops. */
enum clr_status clr_module_types(struct clr_runtime *runtime, const struct clr_module *module,
                                 bool (*each)(void *context, uint64_t method_table), void *context,
                                 struct clr_error *error);
/* The MethodTable of TypeDef RID, 0 if it is not loaded. */
uint64_t clr_module_type(const struct clr_runtime *runtime, uint64_t module, uint32_t rid);

struct clr_load_context {
    uint64_t address; /* native AssemblyBinder */
    uint64_t object;  /* its AssemblyLoadContext, 0: the default one may have none */
    uint64_t allocator, allocator_object; /* LoaderAllocator of a collectible one; its object */
    bool is_collectible;
    uint32_t module_count;
};
enum clr_status clr_load_contexts(struct clr_runtime *runtime,
                                  const struct clr_load_context **contexts, size_t *count,
                                  struct clr_error *error);

/* The managed LoaderAllocator object behind a native one; 0 if unloading or none. */
uint64_t clr_allocator_object(const struct clr_runtime *runtime, uint64_t allocator);

#endif
