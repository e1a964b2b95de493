/*
 * types, type_stats: MethodTables and what the walk counted of them.
 *
 * The list of all types is made after a walk (heap/shapes.c). One that is asked for by its address and that
 * the tables of modules name needs none.
 */
#include "cache.h"
#include "graph/typestats.h"
#include "runtime/types.h"

/* --- types ----------------------------------------------------------------------------------- */

struct type_row {
    struct clr_type type; /* only the address if it is not read */
    bool is_read;
};

static const struct clr_type *read_of(const void *row)
{
    const struct type_row *type = row;
    return type->is_read ? &type->type : NULL;
}

static const void *list_types(const struct clr_dump *dump, size_t *count)
{
    const uint64_t *types = dump->module_types;
    *count = dump->module_type_count;
    if (dump->built & CLR_PART_INDEX) /* made by load_types() */
        clr_heap_types(dump->heap, dump->runtime, &types, count, NULL);
    return types;
}

static enum clr_status load_types(struct clr_dump *dump, struct clr_job *job,
                                  struct clr_error *error)
{
    const uint64_t *types;
    size_t count;
    return clr_dump_types(dump, job, &types, &count, error);
}

static enum clr_status read_type(struct clr_cursor *cursor, uint64_t address, void *row,
                                 bool *found, CLR_UNUSED struct clr_error *error)
{
    struct type_row *type = row;
    *found = true;
    type->is_read = clr_type_known(cursor->dump, address, &type->type);
    if (!type->is_read) {
        type->type = (struct clr_type){.address = address};
        clr_problem_once(
            cursor->dump->problems, CLR_WARNING, "types", false, address, 0,
            "type 0x%llx: the class of its MethodTable is not saved; little of it is known",
            (unsigned long long)address);
    }
    return CLR_OK;
}

/* What is 0 in a type that is not read. */
#define MEMBER(member)                                                                             \
    CLR_NUMBER_FUNCTION(type_##member)                                                             \
    {                                                                                              \
        return read_of(row) ? read_of(row)->member : CLR_ABSENT;                                   \
    }
MEMBER(base_size)
MEMBER(component_size)
MEMBER(contains_references)
MEMBER(has_finalizer)
MEMBER(is_generic)
MEMBER(is_collectible)

CLR_WORD_FUNCTION(type_name)
{
    return clr_type_name(cursor->dump->runtime, ((const struct type_row *)row)->type.address);
}

CLR_WORD_FUNCTION(type_namespace)
{
    const struct clr_type *type = read_of(row);
    return type ? clr_type_namespace(cursor->dump->runtime, type->address) : NULL;
}

CLR_WORD_FUNCTION(type_kind)
{
    const struct clr_type *type = read_of(row);
    return type ? clr_type_kind_text(type->kind) : NULL;
}

CLR_NUMBER_FUNCTION(type_element_type)
{
    enum { IS_TYPE_DESC = 2 }; /* a pointer's or the like */
    uint64_t handle = ((const struct type_row *)row)->type.element_handle;
    return handle & IS_TYPE_DESC ? CLR_ABSENT : clr_or_absent(handle);
}

CLR_NUMBER_FUNCTION(type_generic_definition)
{
    const struct clr_type *type = read_of(row);
    return type ? clr_or_absent(clr_type_definition(cursor->dump->runtime, type)) : CLR_ABSENT;
}

CLR_NUMBER_FUNCTION(type_loader_allocator)
{
    const struct clr_type *type = read_of(row);
    return type ? clr_or_absent(clr_type_allocator(cursor->dump->runtime, type)) : CLR_ABSENT;
}

static const struct clr_column type_columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(type_row, type.address), "Address of the MethodTable.",
               .flags = CLR_KEY),
    CLR_COLUMN("name", CLR_WORD_BY(type_name),
               "Name as in C#, with namespace and type arguments; never NULL.", .found = 2),
    CLR_COLUMN("namespace", CLR_WORD_BY(type_namespace), "Namespace of the outermost type."),
    CLR_COLUMN("module", CLR_NONZERO(type_row, type.module), "The module that defines it.",
               .refers_to = "modules.address", .found = 500),
    CLR_COLUMN("token", CLR_NONZERO(type_row, type.token), "TypeDef token; NULL for arrays."),
    CLR_COLUMN("kind", CLR_WORD_BY(type_kind),
               "class, struct, enum, interface, delegate, array, szarray, string or free."),
    CLR_COLUMN("parent", CLR_NONZERO(type_row, type.parent), "The base type; NULL if none.",
               .refers_to = "types.address", .found = 20),
    CLR_COLUMN("element_type", CLR_NUMBER_BY(type_element_type),
               "An array's elements; NULL for arrays of pointers.", .refers_to = "types.address"),
    CLR_COLUMN("rank", CLR_NONZERO(type_row, type.rank), "Number of an array's dimensions."),
    CLR_COLUMN("base_size", CLR_NUMBER_BY(type_base_size), "Bytes of an object without elements."),
    CLR_COLUMN("component_size", CLR_NUMBER_BY(type_component_size),
               "Bytes of an element of an array or a character of a string, else 0."),
    CLR_COLUMN("contains_references", CLR_NUMBER_BY(type_contains_references),
               "1: objects hold references."),
    CLR_COLUMN("has_finalizer", CLR_NUMBER_BY(type_has_finalizer), "1: objects are finalized."),
    CLR_COLUMN("is_generic", CLR_NUMBER_BY(type_is_generic),
               "1: a generic type or an instantiation."),
    CLR_COLUMN("is_collectible", CLR_NUMBER_BY(type_is_collectible), "1: can be unloaded."),
    CLR_COLUMN("generic_definition", CLR_NUMBER_BY(type_generic_definition),
               "The open generic type, if it is loaded.", .refers_to = "types.address"),
    CLR_COLUMN("loader_allocator", CLR_NUMBER_BY(type_loader_allocator),
               "Native address of a collectible type's LoaderAllocator."),
    CLR_END,
};

const struct clr_table clr_table_types = {
    .name = "types",
    .doc = "Types that the runtime has loaded; a type is a MethodTable.",
    .example = "SELECT name, base_size FROM types WHERE kind = 'struct' LIMIT 5",
    .columns = type_columns,
    .list = {.get = list_types,
             .load = load_types,
             .lists = clr_dump_has_type,
             .read = read_type,
             .read_size = sizeof(struct type_row),
             .reading = "listing types",
             .rows = 3000},
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
};

/* --- type_stats ------------------------------------------------------------------------------ */

/* Sums that the graph gives, made once for all types: one entry a shape. */
struct graph_sums {
    struct clr_alive *alive;
    uint64_t *retained;
};

static void free_sums(void *kept)
{
    struct graph_sums *sums = kept;
    clr_free(sums->alive);
    clr_free(sums->retained);
    clr_free(sums);
}

static const void *list_shapes(const struct clr_dump *dump, size_t *count)
{
    const struct clr_shape *shapes;
    *count = clr_heap_shapes(dump->heap, &shapes);
    return shapes;
}

/* Free blocks have a row even if there are none. */
static bool has_stats(CLR_UNUSED const struct clr_dump *dump, const void *row)
{
    const struct clr_shape *shape = row;
    return shape->object_count > 0 || (shape->is_free && shape->type != 0);
}

CLR_WORD_FUNCTION(stat_name)
{
    return clr_type_name(cursor->dump->runtime, ((const struct clr_shape *)row)->type);
}

CLR_NUMBER_FUNCTION(stat_min_size)
{
    const struct clr_shape *shape = row;
    return shape->object_count > 0 ? shape->min_size : CLR_ABSENT;
}

CLR_NUMBER_FUNCTION(stat_max_size)
{
    const struct clr_shape *shape = row;
    return shape->object_count > 0 ? shape->max_size : CLR_ABSENT;
}

static enum clr_status result_alive(struct clr_cursor *cursor, const struct clr_shape *shape,
                                    bool size, sqlite3_context *context, struct clr_error *error)
{
    struct graph_sums *sums = NULL;
    const struct clr_shape *shapes;
    if (shape->is_free)
        return CLR_OK;
    CLR_TRY(clr_dump_keep(cursor->dump, free_sums, sizeof *sums, &sums, error));
    if (!sums->alive)
        CLR_TRY(clr_alive_by_shape(cursor->dump->heap, &cursor->dump->reach, cursor->job,
                                   &sums->alive, error));
    clr_heap_shapes(cursor->dump->heap, &shapes);
    const struct clr_alive *alive = &sums->alive[shape - shapes];
    clr_result_u64(context, size ? alive->size : alive->count);
    return CLR_OK;
}

CLR_VALUE_FUNCTION(stat_reachable_count)
{
    return result_alive(cursor, row, false, context, error);
}

CLR_VALUE_FUNCTION(stat_reachable_size)
{
    return result_alive(cursor, row, true, context, error);
}

CLR_VALUE_FUNCTION(stat_retained_size)
{
    const struct clr_shape *shape = row, *shapes;
    struct graph_sums *sums = NULL;
    if (shape->is_free)
        return CLR_OK;
    CLR_TRY(clr_dump_keep(cursor->dump, free_sums, sizeof *sums, &sums, error));
    if (!sums->retained)
        CLR_TRY(clr_retained_by_shape(cursor->dump->heap, &cursor->dump->dominators,
                                      &cursor->dump->dominated, cursor->job, &sums->retained,
                                      error));
    clr_heap_shapes(cursor->dump->heap, &shapes);
    clr_result_u64(context, sums->retained[shape - shapes]);
    return CLR_OK;
}

static const struct clr_column stat_columns[] = {
    CLR_COLUMN("type", CLR_NUMBER(clr_shape, type), "The type.", .flags = CLR_KEY,
               .refers_to = "types.address"),
    CLR_COLUMN("name", CLR_WORD_BY(stat_name), "Name of the type; Free for free blocks.",
               .found = 2),
    CLR_COLUMN("object_count", CLR_NUMBER(clr_shape, object_count), "Its objects, dead ones too."),
    CLR_COLUMN("total_size", CLR_NUMBER(clr_shape, total_size), "Bytes of these objects."),
    CLR_COLUMN("min_size", CLR_NUMBER_BY(stat_min_size),
               "Bytes of the smallest; NULL without objects."),
    CLR_COLUMN("max_size", CLR_NUMBER_BY(stat_max_size),
               "Bytes of the largest; NULL without objects."),
    CLR_COLUMN("reachable_count", CLR_VALUE_BY(CLR_INTEGER, stat_reachable_count),
               "Objects that references lead to from a root.", .flags = CLR_HIDDEN,
               .needs = CLR_PART_REACH),
    CLR_COLUMN("reachable_size", CLR_VALUE_BY(CLR_INTEGER, stat_reachable_size), "Bytes of these.",
               .flags = CLR_HIDDEN, .needs = CLR_PART_REACH),
    CLR_COLUMN("retained_size", CLR_VALUE_BY(CLR_INTEGER, stat_retained_size),
               "Bytes that all its objects retain together, each byte once; without what only "
               "several of them hold.",
               .flags = CLR_HIDDEN, .needs = CLR_PART_REACH | CLR_PART_DOMINATED),
    CLR_END,
};

const struct clr_table clr_table_type_stats = {
    .name = "type_stats",
    .doc = "Objects and bytes of each type on the heap, counted by the walk.",
    .example =
        "SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT 10",
    .columns = stat_columns,
    .list = {.get = list_shapes,
             .row_size = sizeof(struct clr_shape),
             .has = has_stats,
             .rows = 500},
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_TYPES,
};
