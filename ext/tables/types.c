/*
 * types, type_stats: MethodTables and what the walk counted of them.
 *
 * A type that is asked for by its address is read from the process and needs no walk. The list of
 * all types is made after one (heap/shapes.c), and so are the indexes by name, module and base
 * type.
 */
#include <string.h>

#include "cache.h"
#include "results.h"
#include "runtime/types.h"

/* --- types ----------------------------------------------------------------------------------- */

enum type_column {
    TYPE_ADDRESS,
    TYPE_NAME,
    TYPE_NAMESPACE,
    TYPE_MODULE,
    TYPE_TOKEN,
    TYPE_KIND,
    TYPE_PARENT,
    TYPE_ELEMENT_TYPE,
    TYPE_RANK,
    TYPE_BASE_SIZE,
    TYPE_COMPONENT_SIZE,
    TYPE_CONTAINS_REFERENCES,
    TYPE_HAS_FINALIZER,
    TYPE_IS_GENERIC,
    TYPE_IS_COLLECTIBLE,
    TYPE_GENERIC_DEFINITION,
    TYPE_LOADER_ALLOCATOR,
    TYPE_COLUMNS
};

static const struct clr_column type_columns[] = {
    [TYPE_ADDRESS] = CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER), "Address of the MethodTable.",
                                .flags = CLR_KEY),
    [TYPE_NAME] = CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT),
                             "Name as in C#, with namespace and type arguments; never NULL."),
    [TYPE_NAMESPACE] =
        CLR_COLUMN("namespace", CLR_BY_TABLE(CLR_TEXT), "Namespace of the outermost type."),
    [TYPE_MODULE] = CLR_COLUMN("module", CLR_BY_TABLE(CLR_INTEGER), "The module that defines it.",
                               .refers_to = "modules.address"),
    [TYPE_TOKEN] =
        CLR_COLUMN("token", CLR_BY_TABLE(CLR_INTEGER), "TypeDef token; NULL for arrays."),
    [TYPE_KIND] =
        CLR_COLUMN("kind", CLR_BY_TABLE(CLR_TEXT),
                   "class, struct, enum, interface, delegate, array, szarray, string or free."),
    [TYPE_PARENT] = CLR_COLUMN("parent", CLR_BY_TABLE(CLR_INTEGER), "The base type; NULL if none.",
                               .refers_to = "types.address"),
    [TYPE_ELEMENT_TYPE] = CLR_COLUMN("element_type", CLR_BY_TABLE(CLR_INTEGER),
                                     "An array's elements; NULL for arrays of pointers.",
                                     .refers_to = "types.address"),
    [TYPE_RANK] = CLR_COLUMN("rank", CLR_BY_TABLE(CLR_INTEGER), "Number of an array's dimensions."),
    [TYPE_BASE_SIZE] =
        CLR_COLUMN("base_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of an object without elements."),
    [TYPE_COMPONENT_SIZE] =
        CLR_COLUMN("component_size", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes of an element of an array or a character of a string, else 0."),
    [TYPE_CONTAINS_REFERENCES] =
        CLR_COLUMN("contains_references", CLR_BY_TABLE(CLR_INTEGER), "1: objects hold references."),
    [TYPE_HAS_FINALIZER] =
        CLR_COLUMN("has_finalizer", CLR_BY_TABLE(CLR_INTEGER), "1: objects are finalized."),
    [TYPE_IS_GENERIC] = CLR_COLUMN("is_generic", CLR_BY_TABLE(CLR_INTEGER),
                                   "1: a generic type or an instantiation."),
    [TYPE_IS_COLLECTIBLE] =
        CLR_COLUMN("is_collectible", CLR_BY_TABLE(CLR_INTEGER), "1: can be unloaded."),
    [TYPE_GENERIC_DEFINITION] =
        CLR_COLUMN("generic_definition", CLR_BY_TABLE(CLR_INTEGER),
                   "The open generic type, if it is loaded.", .refers_to = "types.address"),
    [TYPE_LOADER_ALLOCATOR] = CLR_COLUMN("loader_allocator", CLR_BY_TABLE(CLR_INTEGER),
                                         "Native address of a collectible type's LoaderAllocator."),
    [TYPE_COLUMNS] = CLR_END,
};

enum { TYPES_BY_ADDRESS, TYPES_BY_NAME, TYPES_BY_MODULE, TYPES_BY_PARENT, TYPES_SCAN };

struct type_cursor {
    struct clr_cursor base;
    const uint64_t *list;
    const struct clr_lookup *index; /* rows to give; NULL: all of LIST */
    size_t at, left;                /* of INDEX or LIST; AT moves down when descending */
    bool descending;
    struct clr_type type;
    bool is_read;
};

static enum clr_status read_type(struct type_cursor *cursor, uint64_t address)
{
    struct clr_dump *dump = cursor->base.dump;
    cursor->base.rowid = (int64_t)address;
    cursor->is_read = clr_type_known(dump, address, &cursor->type);
    if (!cursor->is_read) {
        cursor->type = (struct clr_type){.address = address};
        clr_problem_once(
            dump->problems, CLR_WARNING, "types", false, address, 0,
            "type 0x%llx: the class of its MethodTable is not saved; little of it is known",
            (unsigned long long)address);
    }
    return CLR_OK;
}

/* The index that path PATH looks up, made on first use. */
static enum clr_status type_index(struct clr_dump *dump, struct clr_job *job, int path,
                                  const uint64_t *types, size_t count,
                                  const struct clr_lookup **result, struct clr_error *error)
{
    struct clr_cache *cache;
    CLR_TRY(clr_cache(dump, &cache, error));
    struct clr_lookup *index = path == TYPES_BY_NAME     ? &cache->type_names
                               : path == TYPES_BY_MODULE ? &cache->type_modules
                                                         : &cache->type_parents;
    enum clr_status status = CLR_OK;
    for (size_t i = 0; !index->built && status == CLR_OK && i < count; i++) {
        struct clr_type type;
        uint64_t key;
        status = clr_job_poll(job, "listing types", i, count, error);
        if (path == TYPES_BY_NAME) {
            const char *name = clr_type_name(dump->runtime, types[i]);
            if (status == CLR_OK && clr_type_name_lost(name))
                status = clr_fail(error, CLR_NOMEM, 0, "out of memory");
            key = clr_text_key(name, strlen(name));
        } else if (clr_type_known(dump, types[i], &type)) {
            key = path == TYPES_BY_MODULE ? type.module : type.parent;
        } else {
            continue;
        }
        if (status == CLR_OK && !clr_lookup_add(index, key, (uint32_t)i))
            status = clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    if (status != CLR_OK) {
        clr_lookup_deinit(index);
        return status;
    }
    if (!index->built)
        clr_lookup_sort(index);
    *result = index;
    return CLR_OK;
}

static enum clr_status next_type(struct clr_cursor *base, struct clr_error *error)
{
    (void)error;
    struct type_cursor *cursor = (struct type_cursor *)base;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    size_t row = cursor->index ? cursor->index->entries[cursor->at].row : cursor->at;
    cursor->left--;
    cursor->at += cursor->descending ? (size_t)-1 : 1;
    return read_type(cursor, cursor->list[row]);
}

static enum clr_status start_types(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct type_cursor *cursor = (struct type_cursor *)base;
    struct clr_dump *dump = base->dump;
    size_t count;
    cursor->index = NULL;
    cursor->left = 0;
    cursor->descending = query->descending;
    if (query->path == TYPES_BY_ADDRESS) {
        uint64_t address = (uint64_t)clr_equal_int(query, 0);
        base->rowid = (int64_t)address;
        bool listed;
        CLR_TRY(clr_type_listed(dump, base->job, address, &listed, error));
        base->eof = !listed;
        return listed ? read_type(cursor, address) : CLR_OK;
    }
    CLR_TRY(clr_dump_types(dump, base->job, &cursor->list, &count, error));
    cursor->left = count;
    cursor->at = 0;
    if (query->path != TYPES_SCAN) {
        CLR_TRY(
            type_index(dump, base->job, query->path, cursor->list, count, &cursor->index, error));
        int64_t key = query->path == TYPES_BY_NAME
                          ? (int64_t)clr_text_key((const char *)sqlite3_value_text(query->equal[0]),
                                                  (size_t)sqlite3_value_bytes(query->equal[0]))
                          : clr_equal_int(query, 0);
        clr_lookup_range(cursor->index, key, &cursor->at, &cursor->left);
    }
    if (cursor->descending && cursor->left > 0)
        cursor->at += cursor->left - 1;
    return next_type(base, error);
}

static enum clr_status result_type_name(struct clr_runtime *runtime, uint64_t address,
                                        sqlite3_context *context, struct clr_error *error)
{
    const char *name = clr_type_name(runtime, address);
    if (clr_type_name_lost(name))
        return clr_fail(error, CLR_NOMEM, address, "out of memory for the name of a type");
    clr_result_static(context, name);
    return CLR_OK;
}

static enum clr_status type_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    struct type_cursor *cursor = (struct type_cursor *)base;
    struct clr_runtime *runtime = base->dump->runtime;
    const struct clr_type *type = &cursor->type;
    if (column == TYPE_ADDRESS)
        clr_result_u64(context, type->address);
    else if (column == TYPE_NAME)
        return result_type_name(runtime, type->address, context, error);
    if (!cursor->is_read)
        return CLR_OK;
    switch (column) {
    case TYPE_NAMESPACE:
        clr_result_static(context, clr_type_namespace(runtime, type->address));
        break;
    case TYPE_MODULE: clr_result_known(context, type->module); break;
    case TYPE_TOKEN: clr_result_known(context, type->token); break;
    case TYPE_KIND: clr_result_static(context, clr_type_kind_text(type->kind)); break;
    case TYPE_PARENT: clr_result_known(context, type->parent); break;
    case TYPE_ELEMENT_TYPE:
        if ((type->element_handle & 2) == 0) /* else a TypeDesc: a pointer's or the like */
            clr_result_known(context, type->element_handle);
        break;
    case TYPE_RANK: clr_result_known(context, type->rank); break;
    case TYPE_BASE_SIZE: clr_result_u64(context, type->base_size); break;
    case TYPE_COMPONENT_SIZE: clr_result_u64(context, type->component_size); break;
    case TYPE_CONTAINS_REFERENCES: clr_result_bool(context, type->contains_references); break;
    case TYPE_HAS_FINALIZER: clr_result_bool(context, type->has_finalizer); break;
    case TYPE_IS_GENERIC: clr_result_bool(context, type->is_generic); break;
    case TYPE_IS_COLLECTIBLE: clr_result_bool(context, type->is_collectible); break;
    case TYPE_GENERIC_DEFINITION:
        clr_result_known(context, clr_type_definition(runtime, type));
        break;
    case TYPE_LOADER_ALLOCATOR: clr_result_known(context, clr_type_allocator(runtime, type)); break;
    }
    return CLR_OK;
}

static const struct clr_path type_paths[] = {
    [TYPES_BY_ADDRESS] = {.key = {{TYPE_ADDRESS, CLR_EQ}},
                          .order = TYPE_ADDRESS,
                          .reversible = true,
                          .unique = true,
                          .rows = 1},
    [TYPES_BY_NAME] = {.key = {{TYPE_NAME, CLR_EQ}},
                       .order = TYPE_ADDRESS,
                       .reversible = true,
                       .needs = CLR_PART_RUNTIME,
                       .rows = 2},
    [TYPES_BY_MODULE] = {.key = {{TYPE_MODULE, CLR_EQ}},
                         .order = TYPE_ADDRESS,
                         .reversible = true,
                         .needs = CLR_PART_RUNTIME,
                         .rows = 500},
    [TYPES_BY_PARENT] = {.key = {{TYPE_PARENT, CLR_EQ}},
                         .order = TYPE_ADDRESS,
                         .reversible = true,
                         .needs = CLR_PART_RUNTIME,
                         .rows = 20},
    [TYPES_SCAN] = {.order = TYPE_ADDRESS,
                    .reversible = true,
                    .needs = CLR_PART_RUNTIME,
                    .rows = 3000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_types = {
    .name = "types",
    .doc = "Types that the runtime has loaded; a type is a MethodTable.",
    .example = "SELECT name, base_size FROM types WHERE kind = 'struct' LIMIT 5",
    .columns = type_columns,
    .paths = type_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct type_cursor),
    .start = start_types,
    .next = next_type,
    .column = type_column,
};

/* --- type_stats ------------------------------------------------------------------------------ */

enum stat_column {
    STAT_TYPE,
    STAT_NAME,
    STAT_OBJECT_COUNT,
    STAT_TOTAL_SIZE,
    STAT_MIN_SIZE,
    STAT_MAX_SIZE,
    STAT_REACHABLE_COUNT,
    STAT_REACHABLE_SIZE,
    STAT_RETAINED_SIZE,
    STAT_COLUMNS
};

static const struct clr_column stat_columns[] = {
    [STAT_TYPE] = CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "The type.", .flags = CLR_KEY,
                             .refers_to = "types.address"),
    [STAT_NAME] =
        CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT), "Name of the type; Free for free blocks."),
    [STAT_OBJECT_COUNT] =
        CLR_COLUMN("object_count", CLR_BY_TABLE(CLR_INTEGER), "Its objects, dead ones too."),
    [STAT_TOTAL_SIZE] =
        CLR_COLUMN("total_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of these objects."),
    [STAT_MIN_SIZE] = CLR_COLUMN("min_size", CLR_BY_TABLE(CLR_INTEGER),
                                 "Bytes of the smallest; NULL without objects."),
    [STAT_MAX_SIZE] = CLR_COLUMN("max_size", CLR_BY_TABLE(CLR_INTEGER),
                                 "Bytes of the largest; NULL without objects."),
    [STAT_REACHABLE_COUNT] = CLR_COLUMN("reachable_count", CLR_BY_TABLE(CLR_INTEGER),
                                        "Objects that references lead to from a root.",
                                        .flags = CLR_HIDDEN, .needs = CLR_PART_REACH),
    [STAT_REACHABLE_SIZE] =
        CLR_COLUMN("reachable_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of these.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_REACH),
    [STAT_RETAINED_SIZE] =
        CLR_COLUMN("retained_size", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes that all its objects retain together, each byte once; without what only "
                   "several of them hold.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_REACH | CLR_PART_DOMINATED),
    [STAT_COLUMNS] = CLR_END,
};

enum { STATS_BY_TYPE, STATS_BY_NAME, STATS_SCAN };

struct stat_cursor {
    struct clr_cursor base;
    const struct clr_lookup *index;
    size_t at, left;
    bool descending;
    const struct clr_shape *shapes;
    uint32_t shape;
};

static enum clr_status next_stat(struct clr_cursor *base, struct clr_error *error)
{
    (void)error;
    struct stat_cursor *cursor = (struct stat_cursor *)base;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->shape = cursor->index->entries[cursor->at].row;
    base->rowid = (int64_t)cursor->shapes[cursor->shape].type;
    cursor->left--;
    cursor->at += cursor->descending ? (size_t)-1 : 1;
    return CLR_OK;
}

static enum clr_status start_stats(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct stat_cursor *cursor = (struct stat_cursor *)base;
    clr_heap_shapes(base->dump->heap, &cursor->shapes);
    if (query->path == STATS_BY_NAME) {
        CLR_TRY(clr_shapes_by_name(base->dump, base->job, &cursor->index, error));
        uint64_t key = clr_text_key((const char *)sqlite3_value_text(query->equal[0]),
                                    (size_t)sqlite3_value_bytes(query->equal[0]));
        clr_lookup_range(cursor->index, (int64_t)key, &cursor->at, &cursor->left);
    } else {
        CLR_TRY(clr_shapes_by_type(base->dump, &cursor->index, error));
        cursor->at = 0;
        cursor->left = cursor->index->count;
        if (query->path == STATS_BY_TYPE)
            clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->at, &cursor->left);
    }
    cursor->descending = query->descending;
    if (cursor->descending && cursor->left > 0)
        cursor->at += cursor->left - 1;
    return next_stat(base, error);
}

/* Sums that the graph gives, made once for all types. */
static enum clr_status graph_stat(struct clr_cursor *base, uint32_t shape, int column,
                                  sqlite3_context *context, struct clr_error *error)
{
    struct clr_cache *cache;
    CLR_TRY(clr_cache(base->dump, &cache, error));
    if (column == STAT_RETAINED_SIZE) {
        if (!cache->retained)
            CLR_TRY(clr_retained_by_shape(base->dump, base->job, &cache->retained, error));
        clr_result_u64(context, cache->retained[shape]);
        return CLR_OK;
    }
    if (!cache->alive)
        CLR_TRY(clr_alive_by_shape(base->dump, base->job, &cache->alive, error));
    clr_result_u64(context, column == STAT_REACHABLE_COUNT ? cache->alive[shape].count
                                                           : cache->alive[shape].size);
    return CLR_OK;
}

static enum clr_status stat_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    const struct stat_cursor *cursor = (struct stat_cursor *)base;
    const struct clr_shape *shape = &cursor->shapes[cursor->shape];
    switch (column) {
    case STAT_TYPE: clr_result_u64(context, shape->type); break;
    case STAT_NAME: {
        const char *name = clr_shape_name(base->dump, cursor->shape);
        if (!name)
            return clr_fail(error, CLR_NOMEM, 0, "out of memory for the name of a type");
        clr_result_static(context, name);
        break;
    }
    case STAT_OBJECT_COUNT: clr_result_u64(context, shape->object_count); break;
    case STAT_TOTAL_SIZE: clr_result_u64(context, shape->total_size); break;
    case STAT_MIN_SIZE:
        if (shape->object_count > 0)
            clr_result_u64(context, shape->min_size);
        break;
    case STAT_MAX_SIZE:
        if (shape->object_count > 0)
            clr_result_u64(context, shape->max_size);
        break;
    default:
        if (!shape->is_free)
            return graph_stat(base, cursor->shape, column, context, error);
        break;
    }
    return CLR_OK;
}

static const struct clr_path stat_paths[] = {
    [STATS_BY_TYPE] = {.key = {{STAT_TYPE, CLR_EQ}},
                       .order = STAT_TYPE,
                       .reversible = true,
                       .unique = true,
                       .rows = 1},
    [STATS_BY_NAME] = {.key = {{STAT_NAME, CLR_EQ}}, .order = -1, .rows = 2},
    [STATS_SCAN] = {.order = STAT_TYPE, .reversible = true, .rows = 500},
    CLR_PATHS_END,
};

const struct clr_table clr_table_type_stats = {
    .name = "type_stats",
    .doc = "Objects and bytes of each type on the heap, counted by the walk.",
    .example =
        "SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT 10",
    .columns = stat_columns,
    .paths = stat_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct stat_cursor),
    .start = start_stats,
    .next = next_stat,
    .column = stat_column,
};
