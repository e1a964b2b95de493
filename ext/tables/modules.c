/*
 * modules, load_contexts: what the loader keeps of assemblies.
 */
#include "cache.h"
#include "results.h"
#include "runtime/loader.h"

/* --- modules --------------------------------------------------------------------------------- */

static enum clr_status load_modules(struct clr_dump *dump, CLR_UNUSED struct clr_job *job,
                                    struct clr_error *error)
{
    const struct clr_module *const *modules;
    size_t count;
    return clr_modules(dump->runtime, &modules, &count, error);
}

static const void *list_modules(const struct clr_dump *dump, size_t *count)
{
    const struct clr_module *const *modules = NULL;
    *count = 0;
    clr_modules(dump->runtime, &modules, count, NULL); /* made by load_modules() */
    return modules;
}

static const char *const sources[] = {
    [CLR_SOURCE_NONE] = "none",
    [CLR_SOURCE_CORE] = "core",
    [CLR_SOURCE_FILE] = "file",
};

static const struct clr_column module_columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_module, address), "Address of the runtime's Module.",
               .flags = CLR_KEY),
    CLR_COLUMN("name", CLR_FOREIGN_TEXT(clr_module, name),
               "File name without folder, else the assembly's name."),
    CLR_COLUMN("path", CLR_NONEMPTY_TEXT(clr_module, path),
               "Full path; NULL for a module without a file."),
    CLR_COLUMN("assembly", CLR_FOREIGN_TEXT(clr_module, assembly_name),
               "Simple name of the assembly."),
    CLR_COLUMN("version", CLR_NONEMPTY_TEXT(clr_module, version), "Version of the assembly."),
    CLR_COLUMN("mvid", CLR_NONEMPTY_TEXT(clr_module, mvid), "Module version id, lower-case."),
    CLR_COLUMN("image_base", CLR_NONZERO(clr_module, image_base),
               "Address of the loaded image; NULL if emitted at run time."),
    CLR_COLUMN("image_size", CLR_NONZERO(clr_module, image_size), "Bytes of the loaded image."),
    CLR_COLUMN("metadata_address", CLR_NONZERO(clr_module, metadata_address),
               "Address of its metadata."),
    CLR_COLUMN("metadata_size", CLR_NONZERO(clr_module, metadata_size), "Bytes of its metadata."),
    CLR_COLUMN("metadata_source", CLR_WORD(clr_module, metadata_source, sources),
               "Where the metadata was read: core, file or none."),
    CLR_COLUMN("load_context", CLR_NONZERO(clr_module, binder), "The load context.",
               .refers_to = "load_contexts.address"),
    CLR_COLUMN("is_dynamic", CLR_NUMBER(clr_module, is_dynamic), "1: emitted at run time."),
    CLR_COLUMN("is_collectible", CLR_NUMBER(clr_module, is_collectible), "1: can be unloaded."),
    CLR_COLUMN("is_ready_to_run", CLR_NUMBER(clr_module, is_ready_to_run),
               "1: holds code compiled ahead of time that is in use."),
    CLR_END,
};

const struct clr_table clr_table_modules = {
    .name = "modules",
    .doc = "Managed modules that are loaded; one an assembly.",
    .example = "SELECT name, version, path FROM modules",
    .columns = module_columns,
    .list = {.get = list_modules, .of_pointers = true, .rows = 20, .load = load_modules},
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_LOADER,
};

/* --- load_contexts --------------------------------------------------------------------------- */

enum { STATE_UNLOADING = 1 }; /* of AssemblyLoadContext._state */

static enum clr_status load_contexts(struct clr_dump *dump, CLR_UNUSED struct clr_job *job,
                                     struct clr_error *error)
{
    const struct clr_load_context *contexts;
    size_t count;
    return clr_load_contexts(dump->runtime, &contexts, &count, error);
}

static const void *list_contexts(const struct clr_dump *dump, size_t *count)
{
    const struct clr_load_context *contexts = NULL;
    *count = 0;
    clr_load_contexts(dump->runtime, &contexts, count, NULL); /* made by load_contexts() */
    return contexts;
}

/* The load context of the program itself and of System.Private.CoreLib. */
static bool is_default(struct clr_runtime *runtime, uint64_t binder)
{
    struct clr_type object;
    const struct clr_module *core = clr_type_read(runtime, runtime->object_type, &object)
                                        ? clr_module_get(runtime, object.module)
                                        : NULL;
    return core && core->binder == binder;
}

CLR_VALUE_FUNCTION(context_name)
{
    const struct clr_load_context *load_context = row;
    if (load_context->object == 0) {
        if (is_default(cursor->dump->runtime, load_context->address))
            clr_result_static(context, "Default");
        return CLR_OK;
    }
    return clr_result_name_field(cursor->dump, "load_contexts", CLR_MANAGED_LOAD_CONTEXT,
                                 CLR_LOAD_CONTEXT_NAME, load_context->object, context, error);
}

CLR_VALUE_FUNCTION(context_is_unloading)
{
    const struct clr_load_context *is = row;
    struct clr_dump *dump = cursor->dump;
    const struct clr_managed *fields = NULL;
    uint64_t state;
    if (is->object != 0)
        CLR_TRY(clr_managed_of(dump, CLR_MANAGED_LOAD_CONTEXT, is->object, &fields, error));
    if (!is->is_collectible) {
        clr_result_bool(context, false);
    } else if (fields && clr_managed_read(dump->runtime, fields, CLR_LOAD_CONTEXT_STATE, is->object,
                                          &state)) {
        clr_result_bool(context, state == STATE_UNLOADING);
    } else if (is->allocator != 0 && is->allocator_object == 0) {
        clr_result_bool(context, true); /* the runtime has let go of it */
    } else {
        clr_problem_once(dump->problems, CLR_WARNING, "load_contexts", false, is->address, 0,
                         "load context 0x%llx: the state of its object 0x%llx cannot be read",
                         (unsigned long long)is->address, (unsigned long long)is->object);
    }
    return CLR_OK;
}

static const struct clr_column context_columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_load_context, address),
               "Address of the runtime's AssemblyBinder.", .flags = CLR_KEY),
    CLR_COLUMN("name", CLR_VALUE_BY(CLR_TEXT, context_name),
               "Name of its AssemblyLoadContext; Default for the program's own."),
    CLR_COLUMN("is_collectible", CLR_NUMBER(clr_load_context, is_collectible),
               "1: can be unloaded."),
    CLR_COLUMN("is_unloading", CLR_VALUE_BY(CLR_INTEGER, context_is_unloading),
               "1: Unload was called; what is still referenced keeps it."),
    CLR_COLUMN("object", CLR_NONZERO(clr_load_context, object),
               "Its AssemblyLoadContext; NULL if it has none.", .refers_to = "objects.address"),
    CLR_COLUMN("loader_allocator", CLR_NONZERO(clr_load_context, allocator),
               "Native address of a collectible one's LoaderAllocator."),
    CLR_COLUMN("allocator_object", CLR_NONZERO(clr_load_context, allocator_object),
               "The object that keeps it loaded.", .refers_to = "objects.address"),
    CLR_COLUMN("module_count", CLR_NUMBER(clr_load_context, module_count),
               "Modules that it has loaded."),
    CLR_END,
};

const struct clr_table clr_table_load_contexts = {
    .name = "load_contexts",
    .doc = "AssemblyLoadContexts, loaded or unloading.",
    .example = "SELECT name, is_collectible, module_count FROM load_contexts",
    .columns = context_columns,
    .list = {.get = list_contexts,
             .row_size = sizeof(struct clr_load_context),
             .rows = 20,
             .load = load_contexts},
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_LOADER,
};
