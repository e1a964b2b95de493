/*
 * methods: the methods that are loaded.
 *
 * The list of all methods is made after the walk, for it goes over the list of all types: their own
 * methods, the instantiations of generic methods that modules keep, and whatever native code names
 * (DynamicMethods and stubs are in no other place). A method that is asked for by its address needs no list
 * if it has code, or is one of its type's.
 */
#include <stdlib.h>

#include "cache.h"
#include "runtime/code.h"
#include "runtime/methods.h"

/* --- The list -------------------------------------------------------------------------------- */

struct method_list { /* kept with the dump */
    CLR_ARRAY(uint64_t) methods;
    bool is_made;
};

static void free_methods(void *kept)
{
    struct method_list *list = kept;
    CLR_ARRAY_FREE(&list->methods);
    clr_free(list);
}

struct listing {
    struct clr_dump *dump;
    struct method_list *list;
    struct clr_map seen;
    bool failed; /* no memory */
};

static bool add_method(struct listing *listing, uint64_t address)
{
    uint64_t known;
    if (address == 0 || clr_map_get(&listing->seen, address, &known))
        return true;
    listing->failed = !CLR_ARRAY_ADD(&listing->list->methods, address) ||
                      !clr_map_put(&listing->seen, address, 1);
    return !listing->failed;
}

/* Begins a walk of the methods of a type, which are those of the types that share its code. */
static bool walk_methods(struct clr_dump *dump, uint64_t address, struct clr_method_walk *walk)
{
    struct clr_type type;
    return clr_type_known(dump, address, &type) &&
           (type.canonical == 0 || type.canonical == address) &&
           clr_method_walk_start(walk, dump->runtime, address);
}

static enum clr_status add_of_types(struct listing *listing, struct clr_job *job,
                                    struct clr_error *error)
{
    const uint64_t *types;
    size_t count;
    CLR_TRY(clr_dump_types(listing->dump, job, &types, &count, error));
    for (size_t i = 0; i < count; i++) {
        struct clr_method_walk walk;
        struct clr_method method;
        CLR_TRY(clr_job_poll(job, "listing methods", i, count, error));
        if (!walk_methods(listing->dump, types[i], &walk))
            continue;
        while (clr_method_next(&walk, &method))
            if (!add_method(listing, method.address))
                return clr_no_memory(error);
    }
    return CLR_OK;
}

/* Instantiated methods of a module's table: only those that are methods by all that is saved. */
static bool add_instance(void *context, uint64_t address)
{
    struct listing *listing = context;
    struct clr_method method;
    if (clr_method_read(listing->dump->runtime, address, &method))
        return add_method(listing, address);
    clr_problem(listing->dump->problems, CLR_WARNING, "methods", address, 0,
                "a table of instantiated methods names 0x%llx, which is no method, or not saved",
                (unsigned long long)address);
    return true;
}

static enum clr_status add_of_modules(struct listing *listing, struct clr_error *error)
{
    struct clr_runtime *runtime = listing->dump->runtime;
    const struct clr_module *const *modules;
    struct clr_error unread = {0}; /* a problem says so; types and code remain */
    size_t count = 0;
    enum clr_status status = clr_modules(runtime, &modules, &count, &unread);
    if (status == CLR_NOMEM)
        return clr_no_memory(error);
    for (size_t i = 0; status == CLR_OK && i < count; i++) {
        CLR_TRY(clr_module_methods(runtime, modules[i], add_instance, listing, error));
        if (listing->failed)
            return clr_no_memory(error);
    }
    return CLR_OK;
}

static enum clr_status add_of_codes(struct listing *listing, struct clr_job *job,
                                    struct clr_error *error)
{
    struct clr_runtime *runtime = listing->dump->runtime;
    const struct clr_codes *codes;
    if (!runtime->contract[CLR_CONTRACT_CODE])
        return CLR_OK;
    CLR_TRY(clr_codes_need(runtime, job, &codes, error));
    for (size_t i = 0; i < codes->count; i++)
        if (!add_method(listing, codes->rows[i].method))
            return clr_no_memory(error);
    return CLR_OK;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (int64_t)*x < (int64_t)*y ? -1 : (int64_t)*x > (int64_t)*y;
}

static enum clr_status require_methods(const struct clr_runtime *runtime, struct clr_error *error)
{
    if (clr_has(runtime->methods.chunk_bytes) && clr_has(runtime->methods.flags))
        return CLR_OK;
    return clr_fail(error, CLR_UNSUPPORTED, 0,
                    "methods cannot be given: the runtime does not describe MethodDescs");
}

static enum clr_status load_methods(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_error *error)
{
    struct listing listing = {.dump = dump};
    CLR_TRY(require_methods(dump->runtime, error));
    CLR_TRY(clr_dump_keep(dump, free_methods, sizeof *listing.list, &listing.list, error));
    if (listing.list->is_made)
        return CLR_OK;
    listing.list->methods.count = 0;
    enum clr_status status = add_of_types(&listing, job, error);
    if (status == CLR_OK)
        status = add_of_modules(&listing, error);
    if (status == CLR_OK)
        status = add_of_codes(&listing, job, error);
    clr_map_deinit(&listing.seen);
    CLR_TRY(status);
    if (listing.list->methods.count > 1)
        qsort(listing.list->methods.items, listing.list->methods.count, sizeof(uint64_t), by_value);
    listing.list->is_made = true;
    return CLR_OK;
}

static const void *list_methods(const struct clr_dump *dump, size_t *count)
{
    const struct method_list *list = clr_dump_kept(dump, free_methods);
    *count = list->methods.count;
    return list->methods.items;
}

/* Whether what makes the list leads to METHOD, as far as its code and its type tell. */
static enum clr_status is_led_to(struct clr_dump *dump, struct clr_job *job,
                                 const struct clr_method *method, bool *listed,
                                 struct clr_error *error)
{
    const struct clr_codes *codes;
    struct clr_method_walk walk;
    struct clr_method other;
    size_t first;
    if (dump->runtime->contract[CLR_CONTRACT_CODE]) {
        CLR_TRY(clr_codes_need(dump->runtime, job, &codes, error));
        if ((*listed = clr_codes_of(codes, method->address, &first) != 0))
            return CLR_OK;
    }
    CLR_TRY(clr_dump_has_type(dump, job, method->type, listed, error));
    if (!*listed)
        return CLR_OK;
    *listed = false;
    if (walk_methods(dump, method->type, &walk))
        while (!*listed && clr_method_next(&walk, &other))
            *listed = other.address == method->address;
    return CLR_OK;
}

static enum clr_status lists_method(struct clr_dump *dump, struct clr_job *job, uint64_t address,
                                    bool *listed, struct clr_error *error)
{
    const struct method_list *list = clr_dump_kept(dump, free_methods);
    struct clr_method method;
    *listed = false;
    CLR_TRY(require_methods(dump->runtime, error));
    if (!list || !list->is_made) {
        if (!clr_method_read(dump->runtime, address, &method))
            return CLR_OK;
        CLR_TRY(is_led_to(dump, job, &method, listed, error));
        if (*listed)
            return CLR_OK;
        CLR_TRY(load_methods(dump, job, error));
        list = clr_dump_kept(dump, free_methods);
    }
    *listed =
        list->methods.count != 0 && bsearch(&address, list->methods.items, list->methods.count,
                                            sizeof address, by_value) != NULL;
    return CLR_OK;
}

/* --- The table ------------------------------------------------------------------------------- */

static enum clr_status read_method(struct clr_cursor *cursor, uint64_t address, void *row,
                                   bool *found, CLR_UNUSED struct clr_error *error)
{
    *found = clr_method_read(cursor->dump->runtime, address, row);
    return CLR_OK;
}

/* What was made at run time has the MethodTable of its like, or of a type that it serves. */
CLR_NUMBER_FUNCTION(method_type)
{
    const struct clr_method *method = row;
    return method->kind == CLR_METHOD_DYNAMIC ? CLR_ABSENT : method->type;
}

CLR_TEXT_FUNCTION(method_name)
{
    clr_method_name(cursor->dump->runtime, row, text);
    return CLR_OK;
}

CLR_TEXT_FUNCTION(method_signature)
{
    clr_method_signature(cursor->dump->runtime, row, text);
    return CLR_OK;
}

CLR_VALUE_FUNCTION(method_native_code)
{
    struct clr_runtime *runtime = cursor->dump->runtime;
    const struct clr_codes *codes;
    if (!runtime->contract[CLR_CONTRACT_CODE])
        return CLR_OK;
    CLR_TRY(clr_codes_need(runtime, cursor->job, &codes, error));
    const struct clr_code *code = clr_code_active(codes, ((const struct clr_method *)row)->address);
    if (code)
        clr_result_u64(context, code->start);
    return CLR_OK;
}

CLR_NUMBER_FUNCTION(method_il_address)
{
    return clr_or_absent(clr_method_il(cursor->dump->runtime, row));
}

CLR_NUMBER_FUNCTION(method_is_dynamic)
{
    return ((const struct clr_method *)row)->kind == CLR_METHOD_DYNAMIC;
}

static const struct clr_column columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_method, address), "Address of the MethodDesc.",
               .flags = CLR_KEY),
    CLR_COLUMN(
        "type", CLR_NUMBER_BY(method_type),
        "The type that declares it; of a generic type the one whose code is shared. NULL for "
        "methods that were made at run time, which no type declares.",
        .refers_to = "types.address", .found = 20),
    CLR_COLUMN("name", CLR_TEXT_BY(method_name), "Bare name, without type and signature."),
    CLR_COLUMN("signature", CLR_NONEMPTY_TEXT_BY(method_signature),
               "Result, name, type parameters and parameters, as in C#."),
    CLR_COLUMN("token", CLR_NONZERO(clr_method, token),
               "MethodDef token; NULL for methods without metadata."),
    CLR_COLUMN("module", CLR_NONZERO(clr_method, module), "The type's module.",
               .refers_to = "modules.address", .found = 3000),
    CLR_COLUMN("native_code", CLR_VALUE_BY(CLR_INTEGER, method_native_code),
               "The code that a call runs; NULL if there is none yet.",
               .refers_to = "native_codes.start"),
    CLR_COLUMN("il_address", CLR_NUMBER_BY(method_il_address),
               "Where its IL begins in the image of its module; NULL if it has none."),
    CLR_COLUMN("is_dynamic", CLR_NUMBER_BY(method_is_dynamic),
               "1: a DynamicMethod, or a stub that the runtime made."),
    CLR_END,
};

const struct clr_table clr_table_methods = {
    .name = "methods",
    .doc =
        "Methods of the types that are loaded, instantiations of generic methods, DynamicMethods "
        "and stubs; a method is a MethodDesc.",
    .example = "SELECT m.signature FROM types AS t JOIN methods AS m ON m.type = t.address WHERE "
               "t.name = 'System.Object'",
    .columns = columns,
    .list = {.get = list_methods,
             .load = load_methods,
             .lists = lists_method,
             .read = read_method,
             .read_size = sizeof(struct clr_method),
             .reading = "listing methods",
             .rows = 20000},
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
};
