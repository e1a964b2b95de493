/*
 * modules, load_contexts: what the loader keeps of assemblies.
 *
 * Both lists come from the loader in its own order and may grow when a module is met that the list
 * of assemblies lacks. So a cursor takes the list as it is when it starts, sorted by address.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cache.h"
#include "inspect/managed.h"
#include "results.h"
#include "runtime/loader.h"

/* --- modules --------------------------------------------------------------------------------- */

enum module_column {
    MODULE_ADDRESS,
    MODULE_NAME,
    MODULE_PATH,
    MODULE_ASSEMBLY,
    MODULE_VERSION,
    MODULE_MVID,
    MODULE_IMAGE_BASE,
    MODULE_IMAGE_SIZE,
    MODULE_METADATA_ADDRESS,
    MODULE_METADATA_SIZE,
    MODULE_METADATA_SOURCE,
    MODULE_LOAD_CONTEXT,
    MODULE_IS_DYNAMIC,
    MODULE_IS_COLLECTIBLE,
    MODULE_IS_READY_TO_RUN,
    MODULE_COLUMNS
};

static const struct clr_column module_columns[] = {
    [MODULE_ADDRESS] = CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER),
                                  "Address of the runtime's Module.", .flags = CLR_KEY),
    [MODULE_NAME] = CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT),
                               "File name without folder, else the assembly's name."),
    [MODULE_PATH] =
        CLR_COLUMN("path", CLR_BY_TABLE(CLR_TEXT), "Full path; NULL for a module without a file."),
    [MODULE_ASSEMBLY] =
        CLR_COLUMN("assembly", CLR_BY_TABLE(CLR_TEXT), "Simple name of the assembly."),
    [MODULE_VERSION] = CLR_COLUMN("version", CLR_BY_TABLE(CLR_TEXT), "Version of the assembly."),
    [MODULE_MVID] = CLR_COLUMN("mvid", CLR_BY_TABLE(CLR_TEXT), "Module version id, lower-case."),
    [MODULE_IMAGE_BASE] = CLR_COLUMN("image_base", CLR_BY_TABLE(CLR_INTEGER),
                                     "Address of the loaded image; NULL if emitted at run time."),
    [MODULE_IMAGE_SIZE] =
        CLR_COLUMN("image_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of the loaded image."),
    [MODULE_METADATA_ADDRESS] =
        CLR_COLUMN("metadata_address", CLR_BY_TABLE(CLR_INTEGER), "Address of its metadata."),
    [MODULE_METADATA_SIZE] =
        CLR_COLUMN("metadata_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of its metadata."),
    [MODULE_METADATA_SOURCE] = CLR_COLUMN("metadata_source", CLR_BY_TABLE(CLR_TEXT),
                                          "Where the metadata was read: core, file or none."),
    [MODULE_LOAD_CONTEXT] = CLR_COLUMN("load_context", CLR_BY_TABLE(CLR_INTEGER),
                                       "The load context.", .refers_to = "load_contexts.address"),
    [MODULE_IS_DYNAMIC] =
        CLR_COLUMN("is_dynamic", CLR_BY_TABLE(CLR_INTEGER), "1: emitted at run time."),
    [MODULE_IS_COLLECTIBLE] =
        CLR_COLUMN("is_collectible", CLR_BY_TABLE(CLR_INTEGER), "1: can be unloaded."),
    [MODULE_IS_READY_TO_RUN] = CLR_COLUMN("is_ready_to_run", CLR_BY_TABLE(CLR_INTEGER),
                                          "1: holds code compiled ahead of time that is in use."),
    [MODULE_COLUMNS] = CLR_END,
};

struct module_cursor {
    struct clr_cursor base;
    const struct clr_module **list;
    size_t at, left;
    const struct clr_module *module;
};

static int compare_modules(const void *left, const void *right)
{
    const struct clr_module *const *a = left, *const *b = right;
    int64_t x = (int64_t)(*a)->address, y = (int64_t)(*b)->address;
    return (x > y) - (x < y);
}

static enum clr_status next_module(struct clr_cursor *base, struct clr_error *error)
{
    (void)error;
    struct module_cursor *cursor = (struct module_cursor *)base;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->module = cursor->list[cursor->at];
    base->rowid = (int64_t)cursor->module->address;
    cursor->left--;
    cursor->at += base->descending ? (size_t)-1 : 1;
    return CLR_OK;
}

enum { MODULES_BY_ADDRESS, MODULES_SCAN };

static enum clr_status start_modules(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct module_cursor *cursor = (struct module_cursor *)base;
    const struct clr_module *const *modules;
    size_t count;
    if (query->path == MODULES_BY_ADDRESS) {
        /* Also one that the list of assemblies lacks: every types.module joins. */
        cursor->module = clr_module_get(base->dump->runtime, (uint64_t)clr_equal_int(query, 0));
        base->eof = !cursor->module;
        if (cursor->module)
            base->rowid = (int64_t)cursor->module->address;
        return CLR_OK;
    }
    CLR_TRY(clr_modules(base->dump->runtime, &modules, &count, error));
    if (!(cursor->list = clr_alloc(count, sizeof *cursor->list)))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    for (size_t i = 0; i < count; i++)
        cursor->list[i] = modules[i];
    qsort(cursor->list, count, sizeof *cursor->list, compare_modules);
    cursor->left = count;
    if (query->descending && count > 0)
        cursor->at = count - 1;
    return next_module(base, error);
}

static void finish_modules(struct clr_cursor *base)
{
    clr_free(((struct module_cursor *)base)->list);
}

static enum clr_status module_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    static const char *const source[] = {
        [CLR_SOURCE_NONE] = "none",
        [CLR_SOURCE_CORE] = "core",
        [CLR_SOURCE_FILE] = "file",
    };
    (void)error;
    const struct clr_module *module = ((struct module_cursor *)base)->module;
    switch (column) {
    case MODULE_ADDRESS: clr_result_u64(context, module->address); break;
    case MODULE_NAME: clr_result_foreign(context, module->name); break;
    case MODULE_PATH:
        if (module->path && *module->path)
            clr_result_foreign(context, module->path);
        break;
    case MODULE_ASSEMBLY: clr_result_foreign(context, module->assembly_name); break;
    case MODULE_VERSION: clr_result_nonempty(context, module->version); break;
    case MODULE_MVID: clr_result_nonempty(context, module->mvid); break;
    case MODULE_IMAGE_BASE: clr_result_known(context, module->image_base); break;
    case MODULE_IMAGE_SIZE: clr_result_known(context, module->image_size); break;
    case MODULE_METADATA_ADDRESS: clr_result_known(context, module->metadata_address); break;
    case MODULE_METADATA_SIZE: clr_result_known(context, module->metadata_size); break;
    case MODULE_METADATA_SOURCE: clr_result_static(context, source[module->metadata_source]); break;
    case MODULE_LOAD_CONTEXT: clr_result_known(context, module->binder); break;
    case MODULE_IS_DYNAMIC: clr_result_bool(context, module->is_dynamic); break;
    case MODULE_IS_COLLECTIBLE: clr_result_bool(context, module->is_collectible); break;
    case MODULE_IS_READY_TO_RUN: clr_result_bool(context, module->is_ready_to_run); break;
    }
    return CLR_OK;
}

static const struct clr_path module_paths[] = {
    [MODULES_BY_ADDRESS] = {.key = {{MODULE_ADDRESS, CLR_EQ}},
                            .order = MODULE_ADDRESS,
                            .reversible = true,
                            .unique = true,
                            .rows = 1},
    [MODULES_SCAN] = {.order = MODULE_ADDRESS, .reversible = true, .rows = 20},
    CLR_PATHS_END,
};

const struct clr_table clr_table_modules = {
    .name = "modules",
    .doc = "Managed modules that are loaded; one an assembly.",
    .example = "SELECT name, version, path FROM modules",
    .columns = module_columns,
    .paths = module_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_LOADER,
    .cursor_size = sizeof(struct module_cursor),
    .start = start_modules,
    .next = next_module,
    .finish = finish_modules,
    .column = module_column,
};

/* --- load_contexts --------------------------------------------------------------------------- */

enum context_column {
    CONTEXT_ADDRESS,
    CONTEXT_NAME,
    CONTEXT_IS_COLLECTIBLE,
    CONTEXT_IS_UNLOADING,
    CONTEXT_OBJECT,
    CONTEXT_LOADER_ALLOCATOR,
    CONTEXT_ALLOCATOR_OBJECT,
    CONTEXT_MODULE_COUNT,
    CONTEXT_COLUMNS
};

static const struct clr_column context_columns[] = {
    [CONTEXT_ADDRESS] = CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER),
                                   "Address of the runtime's AssemblyBinder.", .flags = CLR_KEY),
    [CONTEXT_NAME] = CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT),
                                "Name of its AssemblyLoadContext; Default for the program's own."),
    [CONTEXT_IS_COLLECTIBLE] =
        CLR_COLUMN("is_collectible", CLR_BY_TABLE(CLR_INTEGER), "1: can be unloaded."),
    [CONTEXT_IS_UNLOADING] = CLR_COLUMN("is_unloading", CLR_BY_TABLE(CLR_INTEGER),
                                        "1: Unload was called; what is still referenced keeps it."),
    [CONTEXT_OBJECT] =
        CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER),
                   "Its AssemblyLoadContext; NULL if it has none.", .refers_to = "objects.address"),
    [CONTEXT_LOADER_ALLOCATOR] =
        CLR_COLUMN("loader_allocator", CLR_BY_TABLE(CLR_INTEGER),
                   "Native address of a collectible one's LoaderAllocator."),
    [CONTEXT_ALLOCATOR_OBJECT] =
        CLR_COLUMN("allocator_object", CLR_BY_TABLE(CLR_INTEGER),
                   "The object that keeps it loaded.", .refers_to = "objects.address"),
    [CONTEXT_MODULE_COUNT] =
        CLR_COLUMN("module_count", CLR_BY_TABLE(CLR_INTEGER), "Modules that it has loaded."),
    [CONTEXT_COLUMNS] = CLR_END,
};

enum { STATE_UNLOADING = 1 }; /* of AssemblyLoadContext._state */

struct context_cursor {
    struct clr_cursor base;
    struct clr_load_context *list;
    size_t at, left;
    const struct clr_load_context *row;
};

static int compare_contexts(const void *left, const void *right)
{
    int64_t a = (int64_t)((const struct clr_load_context *)left)->address;
    int64_t b = (int64_t)((const struct clr_load_context *)right)->address;
    return (a > b) - (a < b);
}

static enum clr_status next_context(struct clr_cursor *base, struct clr_error *error)
{
    (void)error;
    struct context_cursor *cursor = (struct context_cursor *)base;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->row = &cursor->list[cursor->at];
    base->rowid = (int64_t)cursor->row->address;
    cursor->left--;
    cursor->at += base->descending ? (size_t)-1 : 1;
    return CLR_OK;
}

enum { CONTEXTS_BY_ADDRESS, CONTEXTS_SCAN };

static enum clr_status start_contexts(struct clr_cursor *base, const struct clr_query *query,
                                      struct clr_error *error)
{
    struct context_cursor *cursor = (struct context_cursor *)base;
    const struct clr_load_context *contexts;
    size_t count;
    CLR_TRY(clr_load_contexts(base->dump->runtime, &contexts, &count, error));
    if (!(cursor->list = clr_alloc(count, sizeof *cursor->list)))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (query->path == CONTEXTS_SCAN ||
            contexts[i].address == (uint64_t)clr_equal_int(query, 0))
            cursor->list[cursor->left++] = contexts[i];
    qsort(cursor->list, cursor->left, sizeof *cursor->list, compare_contexts);
    if (query->descending && cursor->left > 0)
        cursor->at = cursor->left - 1;
    return next_context(base, error);
}

static void finish_contexts(struct clr_cursor *base)
{
    clr_free(((struct context_cursor *)base)->list);
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

static enum clr_status result_context_name(struct clr_dump *dump,
                                           const struct clr_load_context *row,
                                           sqlite3_context *context, struct clr_error *error)
{
    if (row->object == 0) {
        if (is_default(dump->runtime, row->address))
            clr_result_static(context, "Default");
        return CLR_OK;
    }
    return clr_result_name_field(dump, "load_contexts", CLR_MANAGED_LOAD_CONTEXT,
                                 CLR_LOAD_CONTEXT_NAME, row->object, context, error);
}

static enum clr_status result_is_unloading(struct clr_dump *dump,
                                           const struct clr_load_context *row,
                                           sqlite3_context *context, struct clr_error *error)
{
    const struct clr_managed *fields = NULL;
    uint64_t state;
    if (row->object != 0)
        CLR_TRY(clr_managed_of(dump, CLR_MANAGED_LOAD_CONTEXT, row->object, &fields, error));
    if (!row->is_collectible) {
        clr_result_bool(context, false);
    } else if (fields && clr_managed_read(dump->runtime, fields, CLR_LOAD_CONTEXT_STATE,
                                          row->object, &state)) {
        clr_result_bool(context, state == STATE_UNLOADING);
    } else if (row->allocator != 0 && row->allocator_object == 0) {
        clr_result_bool(context, true); /* the runtime has let go of it */
    } else {
        clr_problem_once(dump->problems, CLR_WARNING, "load_contexts", false, row->address, 0,
                         "load context 0x%llx: the state of its object 0x%llx cannot be read",
                         (unsigned long long)row->address, (unsigned long long)row->object);
    }
    return CLR_OK;
}

static enum clr_status context_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                      struct clr_error *error)
{
    const struct clr_load_context *row = ((struct context_cursor *)base)->row;
    switch (column) {
    case CONTEXT_ADDRESS: clr_result_u64(context, row->address); break;
    case CONTEXT_NAME: return result_context_name(base->dump, row, context, error);
    case CONTEXT_IS_COLLECTIBLE: clr_result_bool(context, row->is_collectible); break;
    case CONTEXT_IS_UNLOADING: return result_is_unloading(base->dump, row, context, error);
    case CONTEXT_OBJECT: clr_result_known(context, row->object); break;
    case CONTEXT_LOADER_ALLOCATOR: clr_result_known(context, row->allocator); break;
    case CONTEXT_ALLOCATOR_OBJECT: clr_result_known(context, row->allocator_object); break;
    case CONTEXT_MODULE_COUNT: clr_result_u64(context, row->module_count); break;
    }
    return CLR_OK;
}

static const struct clr_path context_paths[] = {
    [CONTEXTS_BY_ADDRESS] = {.key = {{CONTEXT_ADDRESS, CLR_EQ}},
                             .order = CONTEXT_ADDRESS,
                             .reversible = true,
                             .unique = true,
                             .rows = 1},
    [CONTEXTS_SCAN] = {.order = CONTEXT_ADDRESS, .reversible = true, .rows = 20},
    CLR_PATHS_END,
};

const struct clr_table clr_table_load_contexts = {
    .name = "load_contexts",
    .doc = "AssemblyLoadContexts, loaded or unloading.",
    .example = "SELECT name, is_collectible, module_count FROM load_contexts",
    .columns = context_columns,
    .paths = context_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_LOADER,
    .cursor_size = sizeof(struct context_cursor),
    .start = start_contexts,
    .next = next_context,
    .finish = finish_contexts,
    .column = context_column,
};
