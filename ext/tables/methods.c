/*
 * methods: the methods that are loaded.
 *
 * The list of all methods is made after the walk, for it goes over the list of all types: their own
 * methods, the instantiations of generic methods that modules keep, and whatever native code names
 * (DynamicMethods and stubs are in no other place). A method that is asked for by its address is
 * read from the process.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "cache.h"
#include "lines.h"
#include "results.h"
#include "runtime/code.h"
#include "runtime/methods.h"

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

enum method_column {
    METHOD_ADDRESS,
    METHOD_TYPE,
    METHOD_NAME,
    METHOD_SIGNATURE,
    METHOD_TOKEN,
    METHOD_MODULE,
    METHOD_NATIVE_CODE,
    METHOD_IL_ADDRESS,
    METHOD_IS_DYNAMIC,
    METHOD_COLUMNS
};

static const struct clr_column method_columns[] = {
    [METHOD_ADDRESS] = CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER),
                                  "Address of the MethodDesc.", .flags = CLR_KEY),
    [METHOD_TYPE] = CLR_COLUMN(
        "type", CLR_BY_TABLE(CLR_INTEGER),
        "The type that declares it; of a generic type the one whose code is shared. NULL "
        "for methods that were made at run time, which no type declares.",
        .refers_to = "types.address"),
    [METHOD_NAME] =
        CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT), "Bare name, without type and signature."),
    [METHOD_SIGNATURE] = CLR_COLUMN("signature", CLR_BY_TABLE(CLR_TEXT),
                                    "Result, name, type parameters and parameters, as in C#."),
    [METHOD_TOKEN] = CLR_COLUMN("token", CLR_BY_TABLE(CLR_INTEGER),
                                "MethodDef token; NULL for methods without metadata."),
    [METHOD_MODULE] = CLR_COLUMN("module", CLR_BY_TABLE(CLR_INTEGER), "The type's module.",
                                 .refers_to = "modules.address"),
    [METHOD_NATIVE_CODE] = CLR_COLUMN("native_code", CLR_BY_TABLE(CLR_INTEGER),
                                      "The code that a call runs; NULL if there is none yet.",
                                      .refers_to = "native_codes.start"),
    [METHOD_IL_ADDRESS] =
        CLR_COLUMN("il_address", CLR_BY_TABLE(CLR_INTEGER),
                   "Where its IL begins in the image of its module; NULL if it has none."),
    [METHOD_IS_DYNAMIC] = CLR_COLUMN("is_dynamic", CLR_BY_TABLE(CLR_INTEGER),
                                     "1: a DynamicMethod, or a stub that the runtime made."),
    [METHOD_COLUMNS] = CLR_END,
};

enum { METHODS_BY_ADDRESS, METHODS_BY_TYPE, METHODS_BY_MODULE, METHODS_SCAN };

struct method_list {
    struct clr_cache *cache;
    struct clr_map seen;
    bool failed;
};

static bool add_method(void *context, uint64_t address)
{
    struct method_list *list = context;
    struct clr_cache *cache = list->cache;
    uint64_t known;
    if (address == 0 || clr_map_get(&list->seen, address, &known))
        return true;
    if (!clr_grow(&cache->methods, cache->method_count, &cache->method_room,
                  sizeof *cache->methods) ||
        !clr_map_put(&list->seen, address, 1)) {
        list->failed = true;
        return false;
    }
    cache->methods[cache->method_count++] = address;
    return true;
}

static enum clr_status add_of_types(struct clr_dump *dump, struct clr_job *job,
                                    struct method_list *list, struct clr_error *error)
{
    const uint64_t *types;
    size_t count;
    CLR_TRY(clr_dump_types(dump, job, &types, &count, error));
    for (size_t i = 0; i < count; i++) {
        struct clr_method_walk walk;
        struct clr_method method;
        struct clr_type type;
        CLR_TRY(clr_job_poll(job, "listing methods", i, count, error));
        if (!clr_type_known(dump, types[i], &type) ||
            (type.canonical != 0 && type.canonical != types[i]) ||
            !clr_method_walk_start(&walk, dump->runtime, types[i]))
            continue;
        while (clr_method_next(&walk, &method))
            if (!add_method(list, method.address))
                return no_memory(error);
    }
    return CLR_OK;
}

/* Instantiated methods of a module's table: only those that are methods by all that is saved. */
static bool add_instance(void *context, uint64_t address)
{
    struct {
        struct method_list *list;
        struct clr_dump *dump;
    } *both = context;
    struct clr_method method;
    if (clr_method_read(both->dump->runtime, address, &method))
        return add_method(both->list, address);
    clr_problem(both->dump->problems, CLR_WARNING, "methods", address, 0,
                "a table of instantiated methods names 0x%llx, which is no method, or not saved",
                (unsigned long long)address);
    return true;
}

static enum clr_status add_of_modules(struct clr_dump *dump, struct method_list *list,
                                      struct clr_error *error)
{
    struct {
        struct method_list *list;
        struct clr_dump *dump;
    } both = {list, dump};
    const struct clr_module *const *modules;
    struct clr_error unread = {0}; /* a problem says so; types and code remain */
    size_t count = 0;
    enum clr_status status = clr_modules(dump->runtime, &modules, &count, &unread);
    if (status == CLR_NOMEM)
        return no_memory(error);
    for (size_t i = 0; status == CLR_OK && i < count; i++) {
        CLR_TRY(clr_module_methods(dump->runtime, modules[i], add_instance, &both, error));
        if (list->failed)
            return no_memory(error);
    }
    return CLR_OK;
}

static enum clr_status add_of_codes(struct clr_dump *dump, struct clr_job *job,
                                    struct method_list *list, struct clr_error *error)
{
    const struct clr_codes *codes;
    if (!dump->runtime->contract[CLR_CONTRACT_CODE])
        return CLR_OK;
    CLR_TRY(clr_codes_need(dump->runtime, job, &codes, error));
    for (size_t i = 0; i < codes->count; i++)
        if (!add_method(list, codes->rows[i].method))
            return no_memory(error);
    return CLR_OK;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (int64_t)*x < (int64_t)*y ? -1 : (int64_t)*x > (int64_t)*y;
}

static enum clr_status need_methods(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_cache **cache, struct clr_error *error)
{
    CLR_TRY(clr_cache(dump, cache, error));
    if ((*cache)->methods_built)
        return CLR_OK;
    struct method_list list = {.cache = *cache};
    (*cache)->method_count = 0;
    enum clr_status status = add_of_types(dump, job, &list, error);
    if (status == CLR_OK)
        status = add_of_modules(dump, &list, error);
    if (status == CLR_OK)
        status = add_of_codes(dump, job, &list, error);
    clr_map_deinit(&list.seen);
    CLR_TRY(status);
    if ((*cache)->method_count > 1)
        qsort((*cache)->methods, (*cache)->method_count, sizeof *(*cache)->methods, by_value);
    (*cache)->methods_built = true;
    return CLR_OK;
}

/* Methods by type or module. */
static enum clr_status method_index(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_cache *cache, bool by_module,
                                    const struct clr_lookup **result, struct clr_error *error)
{
    struct clr_lookup *index = by_module ? &cache->method_modules : &cache->method_types;
    *result = index;
    if (index->built)
        return CLR_OK;
    clr_lookup_deinit(index);
    for (size_t i = 0; i < cache->method_count; i++) {
        struct clr_method method;
        enum clr_status status =
            clr_job_poll(job, "listing methods", i, cache->method_count, error);
        if (status == CLR_OK && clr_method_read(dump->runtime, cache->methods[i], &method) &&
            (by_module || method.kind != CLR_METHOD_DYNAMIC) &&
            !clr_lookup_add(index, by_module ? method.module : method.type, (uint32_t)i))
            status = no_memory(error);
        if (status != CLR_OK) {
            clr_lookup_deinit(index);
            return status;
        }
    }
    clr_lookup_sort(index);
    return CLR_OK;
}

struct method_cursor {
    struct clr_cursor base;
    const uint64_t *list;
    const struct clr_lookup *index; /* NULL: all of LIST */
    size_t at, left;
    struct clr_method method;
};

static enum clr_status next_method(struct clr_cursor *base, struct clr_error *error)
{
    struct method_cursor *cursor = (struct method_cursor *)base;
    (void)error;
    while (cursor->left != 0) {
        size_t row = cursor->index ? cursor->index->entries[cursor->at].row : cursor->at;
        cursor->left--;
        cursor->at += base->descending ? (size_t)-1 : 1;
        base->rowid = (int64_t)cursor->list[row];
        if (clr_method_read(base->dump->runtime, cursor->list[row], &cursor->method))
            return CLR_OK;
    }
    base->eof = true;
    return CLR_OK;
}

static enum clr_status start_methods(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct method_cursor *cursor = (struct method_cursor *)base;
    struct clr_dump *dump = base->dump;
    struct clr_cache *cache;
    cursor->index = NULL;
    cursor->left = 0;
    base->descending = query->descending;
    if (!clr_has(dump->runtime->methods.chunk_bytes) || !clr_has(dump->runtime->methods.flags))
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "methods cannot be given: the runtime does not describe MethodDescs");
    if (query->path == METHODS_BY_ADDRESS) {
        base->rowid = clr_equal_int(query, 0);
        base->eof = !clr_method_proved(dump->runtime, (uint64_t)base->rowid, &cursor->method);
        return CLR_OK;
    }
    CLR_TRY(need_methods(dump, base->job, &cache, error));
    cursor->list = cache->methods;
    cursor->at = 0;
    cursor->left = cache->method_count;
    if (query->path != METHODS_SCAN) {
        CLR_TRY(method_index(dump, base->job, cache, query->path == METHODS_BY_MODULE,
                             &cursor->index, error));
        clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->at, &cursor->left);
    }
    if (base->descending && cursor->left > 0)
        cursor->at += cursor->left - 1;
    return next_method(base, error);
}

static enum clr_status method_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    const struct clr_method *method = &((struct method_cursor *)base)->method;
    struct clr_runtime *runtime = base->dump->runtime;
    const struct clr_codes *codes;
    const struct clr_code *code;
    struct clr_text text = {0};
    switch (column) {
    case METHOD_ADDRESS: clr_result_u64(context, method->address); break;
    case METHOD_TYPE:
        if (method->kind != CLR_METHOD_DYNAMIC)
            clr_result_u64(context, method->type);
        break;
    case METHOD_NAME:
        clr_method_name(runtime, method, &text);
        return clr_result_text(context, &text, error);
    case METHOD_SIGNATURE:
        if (clr_method_signature(runtime, method, &text) || text.failed)
            return clr_result_text(context, &text, error);
        break;
    case METHOD_TOKEN: clr_result_known(context, method->token); break;
    case METHOD_MODULE: clr_result_known(context, method->module); break;
    case METHOD_NATIVE_CODE:
        if (!runtime->contract[CLR_CONTRACT_CODE])
            break;
        CLR_TRY(clr_codes_need(runtime, base->job, &codes, error));
        if ((code = clr_code_active(codes, method->address)))
            clr_result_u64(context, code->start);
        break;
    case METHOD_IL_ADDRESS: clr_result_known(context, clr_method_il(runtime, method)); break;
    case METHOD_IS_DYNAMIC: clr_result_bool(context, method->kind == CLR_METHOD_DYNAMIC); break;
    }
    return CLR_OK;
}

static const struct clr_path method_paths[] = {
    [METHODS_BY_ADDRESS] = {.key = {{METHOD_ADDRESS, CLR_EQ}},
                            .order = METHOD_ADDRESS,
                            .reversible = true,
                            .unique = true,
                            .rows = 1},
    [METHODS_BY_TYPE] = {.key = {{METHOD_TYPE, CLR_EQ}},
                         .order = METHOD_ADDRESS,
                         .reversible = true,
                         .needs = CLR_PART_RUNTIME,
                         .rows = 20},
    [METHODS_BY_MODULE] = {.key = {{METHOD_MODULE, CLR_EQ}},
                           .order = METHOD_ADDRESS,
                           .reversible = true,
                           .needs = CLR_PART_RUNTIME,
                           .rows = 3000},
    [METHODS_SCAN] = {.order = METHOD_ADDRESS,
                      .reversible = true,
                      .needs = CLR_PART_RUNTIME,
                      .rows = 20000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_methods = {
    .name = "methods",
    .doc =
        "Methods of the types that are loaded, instantiations of generic methods, DynamicMethods "
        "and stubs; a method is a MethodDesc.",
    .example = "SELECT m.signature FROM types AS t JOIN methods AS m ON m.type = t.address WHERE "
               "t.name = 'System.Object'",
    .columns = method_columns,
    .paths = method_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct method_cursor),
    .start = start_methods,
    .next = next_method,
    .column = method_column,
};
