/*
 * supertypes: the reflexive, transitive closure of "is a", for joins on a base type or interface.
 *
 * Base types form a chain; its steps are the distance. The interfaces of a type stand in its
 * MethodTable in one flat map, inherited ones included. The base type that already has an interface
 * is the one that brings it: the interface's distance is one more than that base type's.
 */
#include "cache.h"
#include "results.h"
#include "runtime/types.h"

enum super_column {
    SUPER_TYPE,
    SUPER_SUPERTYPE,
    SUPER_DISTANCE,
    SUPER_IS_INTERFACE,
    SUPER_COLUMNS
};

static const struct clr_column super_columns[] = {
    [SUPER_TYPE] = CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "The type.", .flags = CLR_KEY,
                              .refers_to = "types.address"),
    [SUPER_SUPERTYPE] = CLR_COLUMN("supertype", CLR_BY_TABLE(CLR_INTEGER),
                                   "The type itself, a base type or an interface.",
                                   .flags = CLR_KEY, .refers_to = "types.address"),
    [SUPER_DISTANCE] = CLR_COLUMN("distance", CLR_BY_TABLE(CLR_INTEGER),
                                  "0 for the type itself, steps to a base type, and for an "
                                  "interface one more than to the type that brings it."),
    [SUPER_IS_INTERFACE] =
        CLR_COLUMN("is_interface", CLR_BY_TABLE(CLR_INTEGER), "1: supertype is an interface."),
    [SUPER_COLUMNS] = CLR_END,
};

struct super {
    uint64_t type;
    uint32_t distance;
    bool is_interface;
};

/* The supertypes of one type. */
struct supers {
    struct super *rows;
    size_t count, room;
    struct clr_map numbers; /* supertype -> row + 1 */
};

static bool add_super(struct supers *supers, uint64_t type, uint32_t distance, bool is_interface)
{
    if (!clr_grow(&supers->rows, supers->count, &supers->room, sizeof *supers->rows) ||
        !clr_map_put(&supers->numbers, type, supers->count + 1))
        return false;
    supers->rows[supers->count++] = (struct super){type, distance, is_interface};
    return true;
}

static void supers_deinit(struct supers *supers)
{
    clr_free(supers->rows);
    clr_map_deinit(&supers->numbers);
    *supers = (struct supers){0};
}

static void report_unknown(struct clr_dump *dump, uint64_t address, const char *what)
{
    clr_problem_once(dump->problems, CLR_WARNING, "supertypes", false, address, 0,
                     "type 0x%llx: %s; its supertypes are not all known",
                     (unsigned long long)address, what);
}

/* Adds the interfaces of a type of the chain; those that are there already come from here. */
static bool add_interfaces(struct clr_dump *dump, const struct clr_type *type, uint32_t distance,
                           struct supers *supers)
{
    for (uint32_t i = 0; i < type->interfaces; i++) {
        uint64_t interface_type, number;
        if (!clr_type_interface(dump->runtime, type, i, &interface_type)) {
            report_unknown(dump, type->address, "its interface map cannot be read");
            break;
        }
        if (!clr_map_get(&supers->numbers, interface_type, &number)) {
            if (!add_super(supers, interface_type, distance + 1, true))
                return false;
        } else if (supers->rows[number - 1].distance != 0) {
            supers->rows[number - 1].distance = distance + 1;
        }
    }
    return true;
}

/* A type whose class is not saved is at least its own supertype. */
static enum clr_status collect_unread(struct clr_dump *dump, uint64_t address,
                                      struct supers *supers, struct clr_error *error)
{
    report_unknown(dump, address, "its class is not saved");
    return add_super(supers, address, 0, false) ? CLR_OK
                                                : clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

/* Finds all supertypes of ADDRESS; none if it is no type. */
static enum clr_status collect(struct clr_dump *dump, struct clr_job *job, uint64_t address,
                               struct supers *supers, struct clr_error *error)
{
    struct clr_type type;
    bool fits = true, listed;
    supers->count = 0;
    clr_map_deinit(&supers->numbers);
    CLR_TRY(clr_type_listed(dump, job, address, &listed, error));
    if (!listed)
        return CLR_OK;
    for (uint32_t distance = 0; address != 0; distance++, address = type.parent) {
        uint64_t known;
        CLR_TRY(clr_job_poll(job, "collecting supertypes", distance, 0, error));
        if (!clr_type_known(dump, address, &type)) {
            if (distance == 0)
                return collect_unread(dump, address, supers, error);
            report_unknown(dump, address, "it is a base type and cannot be read");
            break;
        }
        if (clr_map_get(&supers->numbers, address, &known)) {
            report_unknown(dump, address, "it is its own base type");
            break;
        }
        bool is_interface = type.kind == CLR_KIND_INTERFACE;
        fits = add_super(supers, address, distance, is_interface) &&
               add_interfaces(dump, &type, distance, supers);
        if (!fits)
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    return CLR_OK;
}

/* --- The table ------------------------------------------------------------------------------- */

enum { SUPERS_BY_BOTH, SUPERS_BY_TYPE, SUPERS_BY_SUPERTYPE, SUPERS_SCAN };

struct super_cursor {
    struct clr_cursor base;
    const uint64_t *list;
    const struct clr_lookup *index; /* types that have SUPERTYPE; NULL: all of LIST */
    size_t at, end;                 /* the next type to collect, of INDEX or LIST */
    uint64_t type;
    uint64_t supertype; /* give only this one; 0: all */
    struct supers supers;
    size_t row;
};

/* Which types have a supertype: keyed by it. */
static enum clr_status super_index(struct clr_dump *dump, struct clr_job *job,
                                   const uint64_t *types, size_t count,
                                   const struct clr_lookup **result, struct clr_error *error)
{
    struct clr_cache *cache;
    CLR_TRY(clr_cache(dump, &cache, error));
    struct clr_lookup *index = &cache->supertypes;
    struct supers supers = {0};
    enum clr_status status = CLR_OK;
    for (size_t i = 0; !index->built && status == CLR_OK && i < count; i++) {
        status = collect(dump, job, types[i], &supers, error);
        for (size_t k = 0; status == CLR_OK && k < supers.count; k++)
            if (!clr_lookup_add(index, supers.rows[k].type, (uint32_t)i))
                status = clr_fail(error, CLR_NOMEM, 0, "out of memory");
    }
    supers_deinit(&supers);
    if (status != CLR_OK) {
        clr_lookup_deinit(index);
        return status;
    }
    if (!index->built)
        clr_lookup_sort(index);
    *result = index;
    return CLR_OK;
}

static enum clr_status next_super(struct clr_cursor *base, struct clr_error *error)
{
    struct super_cursor *cursor = (struct super_cursor *)base;
    for (;;) {
        cursor->row++;
        while (cursor->row >= cursor->supers.count) {
            if (cursor->at >= cursor->end) {
                base->eof = true;
                return CLR_OK;
            }
            size_t number = cursor->index ? cursor->index->entries[cursor->at].row : cursor->at;
            cursor->at++;
            cursor->row = 0;
            cursor->type = cursor->list[number];
            CLR_TRY(collect(base->dump, base->job, cursor->type, &cursor->supers, error));
        }
        if (cursor->supertype == 0 || cursor->supers.rows[cursor->row].type == cursor->supertype)
            return CLR_OK;
    }
}

static enum clr_status start_supers(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct super_cursor *cursor = (struct super_cursor *)base;
    struct clr_dump *dump = base->dump;
    size_t count;
    cursor->at = cursor->end = cursor->row = 0;
    cursor->supers.count = 0;
    cursor->supertype = 0;
    cursor->index = NULL;
    base->eof = false;
    if (query->path == SUPERS_BY_TYPE || query->path == SUPERS_BY_BOTH) {
        if (query->path == SUPERS_BY_BOTH)
            cursor->supertype = (uint64_t)clr_equal_int(query, 1);
        cursor->type = (uint64_t)clr_equal_int(query, 0);
        CLR_TRY(collect(dump, base->job, cursor->type, &cursor->supers, error));
        cursor->row = (size_t)-1; /* next_super steps to 0 */
        if (query->path == SUPERS_BY_BOTH && cursor->supertype == 0)
            cursor->supers.count = 0;
        return next_super(base, error);
    }
    CLR_TRY(clr_dump_types(dump, base->job, &cursor->list, &count, error));
    cursor->end = count;
    if (query->path == SUPERS_BY_SUPERTYPE) {
        size_t found;
        CLR_TRY(super_index(dump, base->job, cursor->list, count, &cursor->index, error));
        cursor->supertype = (uint64_t)clr_equal_int(query, 0);
        clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->at, &found);
        cursor->end = cursor->at + found;
    }
    return next_super(base, error);
}

static void finish_supers(struct clr_cursor *base)
{
    supers_deinit(&((struct super_cursor *)base)->supers);
}

static enum clr_status super_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                    struct clr_error *error)
{
    (void)error;
    const struct super_cursor *cursor = (struct super_cursor *)base;
    const struct super *row = &cursor->supers.rows[cursor->row];
    switch (column) {
    case SUPER_TYPE: clr_result_u64(context, cursor->type); break;
    case SUPER_SUPERTYPE: clr_result_u64(context, row->type); break;
    case SUPER_DISTANCE: clr_result_u64(context, row->distance); break;
    case SUPER_IS_INTERFACE: clr_result_bool(context, row->is_interface); break;
    }
    return CLR_OK;
}

static const struct clr_path super_paths[] = {
    [SUPERS_BY_BOTH] = {.key = {{SUPER_TYPE, CLR_EQ}, {SUPER_SUPERTYPE, CLR_EQ}},
                        .order = SUPER_TYPE,
                        .reversible = true,
                        .unique = true,
                        .rows = 1},
    [SUPERS_BY_TYPE] = {.key = {{SUPER_TYPE, CLR_EQ}},
                        .order = SUPER_TYPE,
                        .reversible = true,
                        .rows = 10},
    [SUPERS_BY_SUPERTYPE] = {.key = {{SUPER_SUPERTYPE, CLR_EQ}},
                             .order = SUPER_TYPE,
                             .needs = CLR_PART_RUNTIME,
                             .rows = 20},
    [SUPERS_SCAN] = {.order = SUPER_TYPE, .needs = CLR_PART_RUNTIME, .rows = 30000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_supertypes = {
    .name = "supertypes",
    .doc = "For each type itself, its base types and all its interfaces.",
    .example = "SELECT t.name FROM types AS b JOIN supertypes AS s ON s.supertype = b.address JOIN "
               "types AS t ON t.address = s.type WHERE b.name = 'System.Exception'",
    .columns = super_columns,
    .paths = super_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct super_cursor),
    .start = start_supers,
    .next = next_super,
    .finish = finish_supers,
    .column = super_column,
};
