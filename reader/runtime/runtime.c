/*
 * Opens one CLR: contracts that the descriptor announces are matched with those we speak, and the
 * layout of each is bound. What cannot be served keeps a text that says why; everything that does
 * not depend on it still works.
 *
 *   contract             layout              bound from
 *   Object, SyncBlock    runtime->object     object.c
 *   RuntimeTypeSystem    runtime->types      types.c
 *   Loader, EcmaMetadata runtime->loader     loader.c
 *   Thread               runtime->thread     thread.c
 *   GC                   runtime->gc         gc.c
 *   RuntimeTypeSystem    runtime->methods    methods.c (its second half: MethodDescs)
 *   ExecutionManager     runtime->code       code.c
 *   CodeVersions         runtime->versions   versions.c
 *   PrecodeStubs         runtime->precode    precode.c
 *   DebugInfo            runtime->debug      debuginfo.c
 *   Exception            runtime->exception  exception.c
 *   RuntimeTypeSystem    runtime->statics    statics.c (its third part: static fields)
 *   Thread               runtime->thread_statics  statics.c (its second part)
 *   Thread               runtime->gc_frames  thread.c (its third part)
 *   ComWrappers          runtime->wrappers   handles.c
 *
 * The well-known MethodTables are words in the runtime's variables and are read here, once: System.
 * Object, String, Exception, __Canon and the filler of free space are set before managed code runs.
 * ContinuationMethodTable stays 0 until a runtime-async method has suspended.
 * MulticastDelegateMethodTable exists since .NET 10 (by supplement) and 11 (by name); for older
 * runtimes the type is looked up by name in System.Private.CoreLib's metadata, once.
 */
#include "runtime/contracts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/loader.h"
#include "runtime/types.h"

struct contract {
    const char *name;
    size_t layout, size; /* of its layout struct in struct clr_runtime */
    bool newer;          /* not every runtime that we serve describes it: who needs it says so */
};

#define LAYOUT(member)                                                                             \
    offsetof(struct clr_runtime, member), sizeof(((struct clr_runtime *)0)->member)

static const struct contract contracts[CLR_CONTRACTS] = {
    [CLR_CONTRACT_OBJECT] = {"Object", LAYOUT(object)},
    [CLR_CONTRACT_TYPES] = {"RuntimeTypeSystem", LAYOUT(types)},
    [CLR_CONTRACT_LOADER] = {"Loader", LAYOUT(loader)},
    [CLR_CONTRACT_METADATA] = {"EcmaMetadata", LAYOUT(loader)},
    [CLR_CONTRACT_GC] = {"GC", LAYOUT(gc)},
    [CLR_CONTRACT_THREAD] = {"Thread", LAYOUT(thread)},
    [CLR_CONTRACT_SYNC_BLOCK] = {"SyncBlock", LAYOUT(object)},
    [CLR_CONTRACT_METHODS] = {"RuntimeTypeSystem", LAYOUT(methods)},
    [CLR_CONTRACT_CODE] = {"ExecutionManager", LAYOUT(code)},
    [CLR_CONTRACT_VERSIONS] = {"CodeVersions", LAYOUT(versions)},
    [CLR_CONTRACT_PRECODE] = {"PrecodeStubs", LAYOUT(precode)},
    [CLR_CONTRACT_DEBUG_INFO] = {"DebugInfo", LAYOUT(debug)},
    [CLR_CONTRACT_EXCEPTION] = {"Exception", LAYOUT(exception)},
    [CLR_CONTRACT_STATICS] = {"RuntimeTypeSystem", LAYOUT(statics), .newer = true},
    [CLR_CONTRACT_THREAD_STATICS] = {"Thread", LAYOUT(thread_statics), .newer = true},
    [CLR_CONTRACT_GC_FRAMES] = {"Thread", LAYOUT(gc_frames), .newer = true},
    [CLR_CONTRACT_WRAPPERS] = {"ComWrappers", LAYOUT(wrappers), .newer = true},
};

static bool refuse(struct clr_runtime *runtime, enum clr_contract_id id, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool refuse(struct clr_runtime *runtime, enum clr_contract_id id, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return (runtime->refusal[id] = clr_copy_text(text, strlen(text))) != NULL;
}

static const struct clr_contract_row *find_row(enum clr_contract_id id, const char *version)
{
    for (const struct clr_contract_row *row = clr_contract_rows; row->name; row++)
        if (row->id == id && strcmp(row->version, version) == 0)
            return row;
    return NULL;
}

/* Matches and binds one contract. Only a lack of memory is an error. */
static enum clr_status serve(struct clr_runtime *runtime, enum clr_contract_id id,
                             struct clr_error *error)
{
    const char *name = contracts[id].name;
    const char *version = clr_descriptor_contract(runtime->descriptor, name);
    bool kept;
    if (!version) {
        kept = refuse(runtime, id, "the runtime does not announce the contract %s", name);
        return kept ? CLR_OK : clr_no_memory(error);
    }
    const struct clr_contract_row *row = find_row(id, version);
    if (!row) {
        if (!contracts[id].newer)
            clr_problem_of(runtime->problems, CLR_WARNING, "contracts", id, false, 0, 0,
                           "contract %s: version %s is not known; what needs it is left out", name,
                           version);
        kept = refuse(runtime, id,
                      "the runtime announces version %s of the contract %s, which this version of "
                      "clrdb does not know",
                      version, name);
        return kept ? CLR_OK : clr_no_memory(error);
    }
    struct clr_error why = {0};
    void *layout = (char *)runtime + contracts[id].layout;
    enum clr_status status = clr_bind(runtime->descriptor, name, row->bindings, layout, &why);
    if (status == CLR_NOMEM)
        return clr_fail(error, status, 0, "%s", why.text);
    if (status == CLR_OK) {
        runtime->contract[id] = row;
        return CLR_OK;
    }
    if (!contracts[id].newer)
        clr_problem_of(runtime->problems, CLR_WARNING, "contracts", id, false, why.address, 0,
                       "contract %s %s cannot be served: %s", name, version, why.text);
    return refuse(runtime, id, "%s", why.text) ? CLR_OK : clr_no_memory(error);
}

static void make_absent(const struct contract *contract, struct clr_runtime *runtime)
{
    const uint64_t absent = CLR_ABSENT;
    char *layout = (char *)runtime + contract->layout;
    for (size_t at = 0; at + sizeof absent <= contract->size; at += sizeof absent)
        memcpy(layout + at, &absent, sizeof absent);
}

/* One thing under two names, by release: the member without a suffix is what code reads. */
static void join_names(struct clr_runtime *runtime)
{
    struct {
        uint64_t *now, before;
    } names[] = {
        {&runtime->object.header_size, runtime->object.header_size_global},
        {&runtime->loader.domain_assemblies, runtime->loader.domain_assemblies_1},
        {&runtime->thread.exposed, runtime->thread.exposed_1},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (!clr_has(*names[i].now))
            *names[i].now = names[i].before;
}

/* The word of a variable, 0 if there is none or it is not saved. */
static uint64_t well_known(struct clr_runtime *runtime, uint64_t variable, const char *what)
{
    uint64_t value = 0;
    if (!clr_has(variable) || variable == 0)
        return 0;
    if (!clr_variable_word(runtime, variable, &value)) {
        clr_problem(runtime->problems, CLR_WARNING, "types", variable, runtime->word,
                    "the address of the type %s, a variable of the runtime, is not saved", what);
        return 0;
    }
    return value;
}

/* System.MulticastDelegate by its name, for runtimes that do not publish it. */
static enum clr_status find_delegate(struct clr_runtime *runtime, struct clr_error *error)
{
    struct clr_type object;
    if (!runtime->contract[CLR_CONTRACT_LOADER] ||
        !clr_type_read(runtime, runtime->object_type, &object))
        return CLR_OK;
    const struct clr_module *const *modules;
    size_t count;
    CLR_TRY(clr_modules(runtime, &modules, &count, error));
    const struct clr_module *core = clr_module_get(runtime, object.module);
    if (!core || !core->has_metadata)
        return CLR_OK;
    const struct clr_metadata *metadata = &core->metadata;
    for (uint32_t rid = 1; rid <= metadata->table[CLR_TYPEDEF].count; rid++) {
        uint32_t name, space;
        size_t name_length, space_length;
        const char *text;
        if (!clr_metadata_cell(metadata, CLR_TYPEDEF, rid, 1, &name) ||
            !(text = clr_metadata_string(metadata, name, &name_length)) || name_length != 17 ||
            memcmp(text, "MulticastDelegate", 17) != 0)
            continue;
        if (!clr_metadata_cell(metadata, CLR_TYPEDEF, rid, 2, &space) ||
            !(text = clr_metadata_string(metadata, space, &space_length)) || space_length != 6 ||
            memcmp(text, "System", 6) != 0)
            continue;
        runtime->delegate_type = clr_module_type(runtime, core->address, rid);
        return CLR_OK;
    }
    return CLR_OK;
}

static enum clr_status find_well_known(struct clr_runtime *runtime, struct clr_error *error)
{
    const struct clr_types_layout *types = &runtime->types;
    if (!runtime->contract[CLR_CONTRACT_TYPES])
        return CLR_OK;
    runtime->free_type = well_known(runtime, types->free_type, "Free");
    runtime->object_type = well_known(runtime, types->object_type, "System.Object");
    runtime->string_type = well_known(runtime, types->string_type, "System.String");
    runtime->object_array_type = well_known(runtime, types->object_array_type, "System.Object[]");
    runtime->exception_type = well_known(runtime, types->exception_type, "System.Exception");
    runtime->canon_type = well_known(runtime, types->canon_type, "System.__Canon");
    runtime->continuation_type = well_known(runtime, types->continuation_type, "Continuation");
    runtime->continuation_class =
        well_known(runtime, types->continuation_class, "continuations' shared class");
    runtime->delegate_type = well_known(runtime, types->delegate_type, "System.MulticastDelegate");
    return clr_has(types->delegate_type) ? CLR_OK : find_delegate(runtime, error);
}

enum clr_status clr_runtime_open(const struct clr_process *process,
                                 struct clr_descriptor *descriptor, struct clr_problems *problems,
                                 struct clr_runtime **result, struct clr_error *error)
{
    *result = NULL;
    struct clr_runtime *runtime = clr_alloc(1, sizeof *runtime);
    if (!runtime) {
        clr_descriptor_close(descriptor);
        return clr_no_memory(error);
    }
    runtime->process = process;
    runtime->descriptor = descriptor;
    runtime->problems = problems;
    runtime->word = clr_process_info(process)->word_size;
    runtime->alignment_mask = (uint64_t)runtime->word - 1;
    runtime->word_bits = runtime->word * 8u;
    for (int id = 0; id < CLR_CONTRACTS; id++)
        make_absent(&contracts[id], runtime);
    enum clr_status status = CLR_OK;
    for (int id = 0; id < CLR_CONTRACTS && status == CLR_OK; id++)
        status = serve(runtime, (enum clr_contract_id)id, error);
    join_names(runtime);
    if (status == CLR_OK)
        status = find_well_known(runtime, error);
    if (status != CLR_OK) {
        clr_runtime_close(runtime);
        return status;
    }
    *result = runtime;
    return CLR_OK;
}

void clr_runtime_close(struct clr_runtime *runtime)
{
    if (!runtime)
        return;
    clr_code_cache_destroy(runtime->codes);
    clr_name_cache_destroy(runtime->names);
    clr_module_cache_destroy(runtime->modules);
    for (int id = 0; id < CLR_CONTRACTS; id++)
        clr_free(runtime->refusal[id]);
    clr_descriptor_close(runtime->descriptor);
    clr_free(runtime);
}

enum clr_status clr_runtime_require(const struct clr_runtime *runtime, enum clr_contract_id id,
                                    const char *table, struct clr_error *error)
{
    if (runtime->contract[id])
        return CLR_OK;
    return clr_fail(error, CLR_UNSUPPORTED, 0, "%s cannot be given: %s", table,
                    runtime->refusal[id] ? runtime->refusal[id] : "its contract is not served");
}
