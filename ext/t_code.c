/*
 * methods, native_codes, debug_bounds, debug_vars: code, and what the compiler wrote down about it.
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
#include "runtime/debuginfo.h"
#include "runtime/methods.h"

enum { WALKED = CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX };

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

static double all_methods(const struct clr_dump *dump)
{
    (void)dump;
    return 20000;
}

static double all_codes(const struct clr_dump *dump)
{
    (void)dump;
    return 5000;
}

static double all_bounds(const struct clr_dump *dump)
{
    (void)dump;
    return 100000;
}

static double two_rows(const struct clr_dump *dump)
{
    (void)dump;
    return 2;
}

/* --- methods --------------------------------------------------------------------------------- */

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
    [METHOD_ADDRESS] = {"address", CLR_INTEGER, CLR_KEY, 0, "Address of the MethodDesc."},
    [METHOD_TYPE] = {"type", CLR_INTEGER, 0, 0,
                     "types.address of the type that declares it; of a generic type the one whose "
                     "code is shared."},
    [METHOD_NAME] = {"name", CLR_TEXT, 0, 0, "Bare name, without type and signature."},
    [METHOD_SIGNATURE] = {"signature", CLR_TEXT, 0, 0,
                          "Result, name, type parameters and parameters, as in C#."},
    [METHOD_TOKEN] = {"token", CLR_INTEGER, 0, 0,
                      "MethodDef token; NULL for methods without metadata."},
    [METHOD_MODULE] = {"module", CLR_INTEGER, 0, 0, "modules.address of the type's module."},
    [METHOD_NATIVE_CODE] = {"native_code", CLR_INTEGER, 0, 0,
                            "native_codes.start of the code that a call runs; NULL if there is "
                            "none yet."},
    [METHOD_IL_ADDRESS] = {"il_address", CLR_INTEGER, 0, 0,
                           "Where its IL begins in the image of its module; NULL if it has none."},
    [METHOD_IS_DYNAMIC] = {"is_dynamic", CLR_INTEGER, 0, 0,
                           "1: a DynamicMethod, or a stub that the runtime made."},
    [METHOD_COLUMNS] = {0},
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
    CLR_TRY(clr_heap_types(dump->heap, dump->runtime, &types, &count, error));
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

/* Instantiated methods of a module's table: only what proves itself. */
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
    struct clr_error unread = {0}; /* a problem tells of it; types and code remain */
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
    case METHOD_TYPE: clr_result_u64(context, method->type); break;
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
    [METHODS_BY_ADDRESS] = {.name = "address=",
                            .key = {{METHOD_ADDRESS, CLR_EQ}},
                            .order = METHOD_ADDRESS,
                            .reversible = true,
                            .unique = true,
                            .rows = clr_rows_one},
    [METHODS_BY_TYPE] = {.name = "type=",
                         .key = {{METHOD_TYPE, CLR_EQ}},
                         .order = METHOD_ADDRESS,
                         .reversible = true,
                         .needs = WALKED,
                         .rows = clr_rows_few},
    [METHODS_BY_MODULE] = {.name = "module=",
                           .key = {{METHOD_MODULE, CLR_EQ}},
                           .order = METHOD_ADDRESS,
                           .reversible = true,
                           .needs = WALKED,
                           .rows = clr_rows_types},
    [METHODS_SCAN] = {.name = "scan",
                      .order = METHOD_ADDRESS,
                      .reversible = true,
                      .needs = WALKED,
                      .rows = all_methods},
    {0},
};

const struct clr_table clr_table_methods = {
    .name = "methods",
    .doc = "Methods of the types that are loaded, instantiations of generic methods, DynamicMethods "
           "and stubs; a method is a MethodDesc.",
    .columns = method_columns,
    .paths = method_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct method_cursor),
    .start = start_methods,
    .next = next_method,
    .column = method_column,
};

/* --- native_codes ---------------------------------------------------------------------------- */

enum code_column {
    CODE_START,
    CODE_SIZE,
    CODE_METHOD,
    CODE_KIND,
    CODE_TIER,
    CODE_IS_ACTIVE,
    CODE_DEBUG_INFO,
    CODE_INLINED_METHODS,
    CODE_SUSPENSION_POINTS,
    CODE_COLUMNS
};

static const struct clr_column code_columns[] = {
    [CODE_START] = {"start", CLR_INTEGER, CLR_KEY, 0, "Address of the first instruction."},
    [CODE_SIZE] = {"size", CLR_INTEGER, 0, 0,
                   "Bytes, funclets included; NULL where it is not known. A cold part is a row of "
                   "its own."},
    [CODE_METHOD] = {"method", CLR_INTEGER, 0, 0,
                     "methods.address; NULL for a stub that belongs to no method."},
    [CODE_KIND] = {"kind", CLR_TEXT, 0, 0,
                   "jit: compiled here; r2r: ReadyToRun code of an image; stub: made by the "
                   "runtime."},
    [CODE_TIER] = {"tier", CLR_TEXT, 0, 0,
                   "tier0, tier0_instrumented, tier1, tier1_instrumented, osr, optimized (not "
                   "tiered) or r2r; NULL where it is not known."},
    [CODE_IS_ACTIVE] = {"is_active", CLR_INTEGER, 0, 0, "1: what a call of the method runs now."},
    [CODE_DEBUG_INFO] = {"debug_info", CLR_INTEGER, 0, 0,
                         "Address of what the compiler wrote down about it; NULL if it did not."},
    [CODE_INLINED_METHODS] = {"inlined_methods", CLR_INTEGER, 0, 0,
                              "Methods inlined into it, where the runtime kept them (rich debug "
                              "information); else NULL."},
    [CODE_SUSPENSION_POINTS] = {"suspension_points", CLR_INTEGER, 0, 0,
                                "Points where an async method may be suspended; NULL where none "
                                "are told."},
    [CODE_COLUMNS] = {0},
};

enum { CODES_BY_START, CODES_BY_METHOD, CODES_IN_RANGE, CODES_SCAN };

struct code_cursor {
    struct clr_cursor base;
    const struct clr_codes *codes;
    bool of_method;
    size_t at, left;
    const struct clr_code *code;
};

static enum clr_status next_code(struct clr_cursor *base, struct clr_error *error)
{
    struct code_cursor *cursor = (struct code_cursor *)base;
    (void)error;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->code = &cursor->codes->rows[cursor->of_method ? cursor->codes->by_method[cursor->at]
                                                          : cursor->at];
    cursor->left--;
    cursor->at += base->descending ? (size_t)-1 : 1;
    base->rowid = (int64_t)cursor->code->start;
    return CLR_OK;
}

/* The first row that starts at or above ADDRESS. Code lies below 2^63. */
static size_t first_from(const struct clr_codes *codes, uint64_t address)
{
    size_t low = 0, high = codes->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (codes->rows[middle].start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The rows of a query: those of a method, or of a range of addresses. */
static void choose_codes(const struct clr_codes *codes, const struct clr_query *query,
                         bool by_method, bool by_start, size_t *first, size_t *count)
{
    uint64_t low = 0, high = INT64_MAX;
    if (by_method) {
        *count = clr_codes_of(codes, (uint64_t)clr_equal_int(query, 0), first);
        return;
    }
    if (by_start) {
        low = high = (uint64_t)clr_equal_int(query, 0);
    } else {
        if (query->has_low && query->low > 0)
            low = (uint64_t)query->low;
        if (query->has_high)
            high = query->high < 0 ? 0 : (uint64_t)query->high;
    }
    *first = first_from(codes, low);
    size_t end = high == UINT64_MAX ? codes->count : first_from(codes, high + 1);
    *count = end > *first ? end - *first : 0;
}

static enum clr_status start_codes(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct code_cursor *cursor = (struct code_cursor *)base;
    CLR_TRY(clr_codes_need(base->dump->runtime, base->job, &cursor->codes, error));
    cursor->of_method = query->path == CODES_BY_METHOD;
    choose_codes(cursor->codes, query, cursor->of_method, query->path == CODES_BY_START,
                 &cursor->at, &cursor->left);
    base->descending = query->descending;
    if (base->descending && cursor->left > 0)
        cursor->at += cursor->left - 1;
    return next_code(base, error);
}

static enum clr_status count_column(struct clr_cursor *base, const struct clr_code *code, bool rich,
                                    sqlite3_context *context, struct clr_error *error)
{
    struct clr_debug_blob blob = {0};
    bool found;
    uint32_t first, second;
    enum clr_status status = clr_debug_open(base->dump->runtime, code, &blob, &found, error);
    const struct clr_debug_chunk *chunk = rich ? &blob.info.rich : &blob.info.async;
    if (status == CLR_OK && found && chunk->size != 0 &&
        (rich ? clr_rich_counts : clr_async_counts)(blob.info.bytes + chunk->offset, chunk->size,
                                                    &first, &second))
        clr_result_u64(context, first);
    clr_debug_blob_deinit(&blob);
    return status;
}

static enum clr_status code_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    const struct clr_code *code = ((struct code_cursor *)base)->code;
    switch (column) {
    case CODE_START: clr_result_u64(context, code->start); break;
    case CODE_SIZE: clr_result_known(context, code->size); break;
    case CODE_METHOD: clr_result_known(context, code->method); break;
    case CODE_KIND: clr_result_static(context, clr_code_kind_text((enum clr_code_kind)code->kind)); break;
    case CODE_TIER: clr_result_static(context, clr_tier_text((enum clr_tier)code->tier)); break;
    case CODE_IS_ACTIVE: clr_result_bool(context, code->is_active); break;
    case CODE_DEBUG_INFO: clr_result_known(context, code->debug_info); break;
    case CODE_INLINED_METHODS: return count_column(base, code, true, context, error);
    case CODE_SUSPENSION_POINTS: return count_column(base, code, false, context, error);
    }
    return CLR_OK;
}

static const struct clr_path code_paths[] = {
    [CODES_BY_START] = {.name = "start=",
                        .key = {{CODE_START, CLR_EQ}},
                        .order = CODE_START,
                        .reversible = true,
                        .unique = true,
                        .rows = clr_rows_one},
    [CODES_BY_METHOD] = {.name = "method=",
                         .key = {{CODE_METHOD, CLR_EQ}},
                         .order = CODE_START,
                         .reversible = true,
                         .rows = two_rows},
    [CODES_IN_RANGE] = {.name = "start..",
                        .key = {{CODE_START, CLR_RANGE}},
                        .order = CODE_START,
                        .reversible = true,
                        .rows = clr_rows_hundreds},
    [CODES_SCAN] = {.name = "scan", .order = CODE_START, .reversible = true, .rows = all_codes},
    {0},
};

const struct clr_table clr_table_native_codes = {
    .name = "native_codes",
    .doc = "Native code of methods, every version that is alive; no two rows overlap.",
    .columns = code_columns,
    .paths = code_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_CODE,
    .cursor_size = sizeof(struct code_cursor),
    .start = start_codes,
    .next = next_code,
    .column = code_column,
};

/* --- debug_bounds ---------------------------------------------------------------------------- */

enum bound_column {
    BOUND_CODE,
    BOUND_ROW,
    BOUND_NATIVE_OFFSET,
    BOUND_NATIVE_END,
    BOUND_IL_OFFSET,
    BOUND_KIND,
    BOUND_SOURCE,
    BOUND_FORMAT,
    BOUND_FILE,
    BOUND_LINE,
    BOUND_COLUMNS
};

static const struct clr_column bound_columns[] = {
    [BOUND_CODE] = {"code", CLR_INTEGER, CLR_KEY, 0, "native_codes.start."},
    [BOUND_ROW] = {"row", CLR_INTEGER, CLR_KEY, 0, "Number of the bound, as the compiler wrote it."},
    [BOUND_NATIVE_OFFSET] = {"native_offset", CLR_INTEGER, 0, 0,
                             "Bytes from the start of the code; cold code counts on from hot."},
    [BOUND_NATIVE_END] = {"native_end", CLR_INTEGER, 0, 0,
                          "Where the next bound begins; of the last the size of the code."},
    [BOUND_IL_OFFSET] = {"il_offset", CLR_INTEGER, 0, 0,
                         "Offset in the method's IL; NULL where kind is not il."},
    [BOUND_KIND] = {"kind", CLR_TEXT, 0, 0, "il, no_mapping, prolog or epilog."},
    [BOUND_SOURCE] = {"source", CLR_TEXT, 0, 0,
                      "Why it is there: stack_empty, call_instruction, async and others, as a comma "
                      "list; invalid if no reason is given."},
    [BOUND_FORMAT] = {"format", CLR_TEXT, 0, 0,
                      "DebugInfo format that it was read from: nibble (.NET 8 and 9), 1 (10), 2 or "
                      "c1 (11)."},
    [BOUND_FILE] = {"file", CLR_TEXT, CLR_HIDDEN, 0,
                    "Source file, where the module's PDB is at hand."},
    [BOUND_LINE] = {"line", CLR_INTEGER, CLR_HIDDEN, 0, "Line in it, from 1."},
    [BOUND_COLUMNS] = {0},
};

/* A cursor over what each code has several of. */
struct debug_cursor {
    struct clr_cursor base;
    const struct clr_codes *codes;
    size_t next_code, end_code, row;
    const struct clr_code *code;
    uint64_t total; /* bytes of the code */
    struct clr_debug_blob blob;
    struct clr_bounds bounds;
    struct clr_variables variables;
};

static enum clr_status start_debug(struct debug_cursor *cursor, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct clr_runtime *runtime = cursor->base.dump->runtime;
    size_t count;
    CLR_TRY(clr_runtime_require(runtime, CLR_CONTRACT_CODE, "debug information", error));
    CLR_TRY(clr_codes_need(runtime, cursor->base.job, &cursor->codes, error));
    choose_codes(cursor->codes, query, false, query->path == 0, &cursor->next_code, &count);
    cursor->end_code = cursor->next_code + count;
    cursor->bounds.count = cursor->variables.count = cursor->row = 0;
    cursor->base.rowid = -1;
    return CLR_OK;
}

static void finish_debug(struct clr_cursor *base)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    clr_debug_blob_deinit(&cursor->blob);
    clr_bounds_deinit(&cursor->bounds);
    clr_variables_deinit(&cursor->variables);
}

static enum clr_status next_bound(struct clr_cursor *base, struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    base->rowid++;
    if (++cursor->row < cursor->bounds.count)
        return CLR_OK;
    cursor->row = 0;
    cursor->bounds.count = 0;
    while (cursor->next_code < cursor->end_code) {
        cursor->code = &cursor->codes->rows[cursor->next_code++];
        CLR_TRY(clr_job_poll(base->job, "reading bounds", cursor->next_code, cursor->end_code,
                             error));
        CLR_TRY(clr_code_bounds(base->dump->runtime, cursor->code, false, &cursor->blob,
                                &cursor->bounds, error));
        if (cursor->bounds.count != 0) {
            cursor->total = clr_code_total(cursor->codes, cursor->code);
            return CLR_OK;
        }
    }
    base->eof = true;
    return CLR_OK;
}

static enum clr_status start_bounds(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    CLR_TRY(start_debug((struct debug_cursor *)base, query, error));
    return next_bound(base, error);
}

static enum clr_status bound_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    static const char *const special[] = {"no_mapping", "prolog", "epilog"};
    const struct debug_cursor *cursor = (const struct debug_cursor *)base;
    const struct clr_bound *bound = &cursor->bounds.items[cursor->row];
    struct clr_method method;
    struct clr_text text = {0};
    switch (column) {
    case BOUND_CODE: clr_result_u64(context, cursor->code->start); break;
    case BOUND_ROW: clr_result_u64(context, cursor->row); break;
    case BOUND_NATIVE_OFFSET: clr_result_u64(context, bound->native_offset); break;
    case BOUND_NATIVE_END:
        if (cursor->row + 1 < cursor->bounds.count)
            clr_result_u64(context, bound[1].native_offset);
        else
            clr_result_known(context, cursor->total);
        break;
    case BOUND_IL_OFFSET:
        if (bound->il_offset >= 0)
            sqlite3_result_int(context, bound->il_offset);
        break;
    case BOUND_KIND:
        clr_result_static(context, bound->il_offset >= 0 ? "il" : special[-bound->il_offset - 1]);
        break;
    case BOUND_SOURCE:
        clr_source_text(bound->source, &text);
        return clr_result_text(context, &text, error);
    case BOUND_FORMAT: clr_result_static(context, cursor->blob.info.format->name); break;
    case BOUND_FILE:
    case BOUND_LINE:
        if (bound->il_offset >= 0 &&
            clr_method_read(base->dump->runtime, cursor->code->method, &method))
            return clr_result_line(base->dump, &method, (uint32_t)bound->il_offset,
                                   column == BOUND_FILE, context, error);
        break;
    }
    return CLR_OK;
}

static const struct clr_path bound_paths[] = {
    {.name = "code=", .key = {{BOUND_CODE, CLR_EQ}}, .order = BOUND_ROW, .rows = clr_rows_few},
    {.name = "scan", .order = BOUND_CODE, .rows = all_bounds},
    {0},
};

const struct clr_table clr_table_debug_bounds = {
    .name = "debug_bounds",
    .doc = "Which IL each stretch of native code was made from, in the order and with the "
           "duplicates that the compiler wrote.",
    .columns = bound_columns,
    .paths = bound_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_DEBUG_INFO,
    .cursor_size = sizeof(struct debug_cursor),
    .start = start_bounds,
    .next = next_bound,
    .finish = finish_debug,
    .column = bound_column,
};

/* --- debug_vars ------------------------------------------------------------------------------ */

enum var_column {
    VAR_CODE,
    VAR_ROW,
    VAR_NATIVE_OFFSET,
    VAR_NATIVE_END,
    VAR_VARIABLE,
    VAR_KIND,
    VAR_LOCATION,
    VAR_SPECIAL,
    VAR_CALL_IL_OFFSET,
    VAR_COLUMNS
};

static const struct clr_column var_columns[] = {
    [VAR_CODE] = {"code", CLR_INTEGER, CLR_KEY, 0, "native_codes.start."},
    [VAR_ROW] = {"row", CLR_INTEGER, CLR_KEY, 0, "Number of the entry, as the compiler wrote it."},
    [VAR_NATIVE_OFFSET] = {"native_offset", CLR_INTEGER, 0, 0,
                           "From which byte of the code on the variable is there."},
    [VAR_NATIVE_END] = {"native_end", CLR_INTEGER, 0, 0, "Up to which."},
    [VAR_VARIABLE] = {"variable", CLR_INTEGER, 0, 0,
                      "Number: parameters from 0 (this is the first), then locals; negative: see "
                      "special."},
    [VAR_KIND] = {"kind", CLR_TEXT, 0, 0,
                  "Kind of place: register, stack, register_register and others; byref: the place "
                  "holds its address."},
    [VAR_LOCATION] = {"location", CLR_TEXT, 0, 0, "Such as rbx, [rbp-0x8], rax:rdx."},
    [VAR_SPECIAL] = {"special", CLR_TEXT, 0, 0,
                     "What is no parameter or local: varargs_handle, return_buffer, "
                     "generic_context, async_continuation, call_return, unknown; else NULL."},
    [VAR_CALL_IL_OFFSET] = {"call_il_offset", CLR_INTEGER, 0, 0,
                            "Of a call_return: IL offset of the call."},
    [VAR_COLUMNS] = {0},
};

static enum clr_status next_var(struct clr_cursor *base, struct clr_error *error)
{
    struct debug_cursor *cursor = (struct debug_cursor *)base;
    base->rowid++;
    if (++cursor->row < cursor->variables.count)
        return CLR_OK;
    cursor->row = 0;
    cursor->variables.count = 0;
    while (cursor->next_code < cursor->end_code) {
        cursor->code = &cursor->codes->rows[cursor->next_code++];
        CLR_TRY(clr_job_poll(base->job, "reading variables", cursor->next_code, cursor->end_code,
                             error));
        CLR_TRY(clr_code_variables(base->dump->runtime, cursor->code, &cursor->blob,
                                   &cursor->variables, error));
        if (cursor->variables.count != 0)
            return CLR_OK;
    }
    base->eof = true;
    return CLR_OK;
}

static enum clr_status start_vars(struct clr_cursor *base, const struct clr_query *query,
                                  struct clr_error *error)
{
    CLR_TRY(start_debug((struct debug_cursor *)base, query, error));
    return next_var(base, error);
}

/* 'rbx': registers are numbered as the machine's encoding does. */
static void put_register(const struct clr_dump *dump, uint32_t number, struct clr_text *text)
{
    enum { MACHINE_X86 = 3, MACHINE_X64 = 62, MACHINE_ARM64 = 183 };
    static const char *const x64[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"};
    static const char *const x86[] = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi"};
    uint16_t machine = clr_process_info(dump->process)->machine;
    if (machine == MACHINE_X64 && number < 8)
        clr_text_put(text, x64[number]);
    else if (machine == MACHINE_X86 && number < 8)
        clr_text_put(text, x86[number]);
    else if (machine == MACHINE_X64 && number < 16)
        clr_text_format(text, "r%u", number);
    else if (machine == MACHINE_ARM64 && number < 29)
        clr_text_format(text, "x%u", number);
    else if (machine == MACHINE_ARM64 && number < 33)
        clr_text_put(text, (const char *const[]){"fp", "lr", "sp", "pc"}[number - 29]);
    else
        clr_text_format(text, "reg%u", number);
}

static void put_stack(const struct clr_dump *dump, const struct clr_variable *v,
                      struct clr_text *text)
{
    clr_text_char(text, '[');
    put_register(dump, v->register1, text);
    clr_text_format(text, v->offset < 0 ? "-0x%x]" : "+0x%x]",
                    v->offset < 0 ? 0u - (unsigned)v->offset : (unsigned)v->offset);
}

static void put_location(const struct clr_dump *dump, const struct clr_variable *v,
                         struct clr_text *text)
{
    switch (v->kind) {
    case CLR_VAR_REGISTER:
    case CLR_VAR_REGISTER_BYREF: put_register(dump, v->register1, text); break;
    case CLR_VAR_REGISTER_FLOAT: clr_text_format(text, "float%u", v->register1); break;
    case CLR_VAR_STACK:
    case CLR_VAR_STACK_BYREF:
    case CLR_VAR_STACK_DOUBLE: put_stack(dump, v, text); break;
    case CLR_VAR_REGISTER_REGISTER:
        put_register(dump, v->register1, text);
        clr_text_char(text, ':');
        put_register(dump, v->register2, text);
        break;
    case CLR_VAR_REGISTER_STACK:
        put_register(dump, v->register2, text);
        clr_text_char(text, ':');
        put_stack(dump, v, text);
        break;
    case CLR_VAR_STACK_REGISTER:
        put_stack(dump, v, text);
        clr_text_char(text, ':');
        put_register(dump, v->register2, text);
        break;
    case CLR_VAR_FLOAT_STACK: clr_text_format(text, "st%d", v->offset); break;
    case CLR_VAR_FIXED: clr_text_format(text, "argument+0x%x", (unsigned)v->offset); break;
    case CLR_VAR_KINDS: break;
    }
}

static enum clr_status var_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                  struct clr_error *error)
{
    const struct debug_cursor *cursor = (const struct debug_cursor *)base;
    const struct clr_variable *variable = &cursor->variables.items[cursor->row];
    const struct clr_debug_format *format = cursor->blob.info.format;
    struct clr_text text = {0};
    switch (column) {
    case VAR_CODE: clr_result_u64(context, cursor->code->start); break;
    case VAR_ROW: clr_result_u64(context, cursor->row); break;
    case VAR_NATIVE_OFFSET: clr_result_u64(context, variable->start); break;
    case VAR_NATIVE_END: clr_result_u64(context, variable->end); break;
    case VAR_VARIABLE: sqlite3_result_int(context, variable->number); break;
    case VAR_KIND: clr_result_static(context, clr_variable_kind_text(variable->kind)); break;
    case VAR_LOCATION:
        put_location(base->dump, variable, &text);
        return clr_result_text(context, &text, error);
    case VAR_SPECIAL:
        clr_result_static(context, clr_variable_special(format, variable->number));
        break;
    case VAR_CALL_IL_OFFSET:
        if (format->call_return != 0 && variable->number == format->call_return)
            clr_result_u64(context, variable->call_il);
        break;
    }
    return CLR_OK;
}

static const struct clr_path var_paths[] = {
    {.name = "code=", .key = {{VAR_CODE, CLR_EQ}}, .order = VAR_ROW, .rows = clr_rows_few},
    {.name = "scan", .order = VAR_CODE, .rows = all_bounds},
    {0},
};

const struct clr_table clr_table_debug_vars = {
    .name = "debug_vars",
    .doc = "Where parameters and locals live, by stretches of native code.",
    .columns = var_columns,
    .paths = var_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_DEBUG_INFO,
    .cursor_size = sizeof(struct debug_cursor),
    .start = start_vars,
    .next = next_var,
    .finish = finish_debug,
    .column = var_column,
};
