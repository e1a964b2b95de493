/*
 * supertypes: the reflexive, transitive closure of "is a", for joins on a base type or interface.
 *
 * Base types form a chain; its steps are the distance. The interfaces of a type stand in its
 * MethodTable in one flat map, inherited ones included. The base type that already has an interface
 * is the one that brings it: the interface's distance is one more than that base type's.
 */
#include "cache.h"
#include "runtime/types.h"

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

/* Finds all supertypes of ADDRESS, which is listed. One whose class is not saved is its own at least. */
static enum clr_status collect(struct clr_dump *dump, struct clr_job *job, uint64_t address,
                               struct supers *supers, struct clr_error *error)
{
    struct clr_type type;
    supers->count = 0;
    clr_map_deinit(&supers->numbers);
    for (uint32_t distance = 0; address != 0; distance++, address = type.parent) {
        uint64_t known;
        CLR_TRY(clr_job_poll(job, "collecting supertypes", distance, 0, error));
        if (!clr_type_known(dump, address, &type)) {
            report_unknown(dump, address,
                           distance == 0 ? "its class is not saved"
                                         : "it is a base type and cannot be read");
            if (distance == 0 && !add_super(supers, address, 0, false))
                return clr_no_memory(error);
            break;
        }
        if (clr_map_get(&supers->numbers, address, &known)) {
            report_unknown(dump, address, "it is its own base type");
            break;
        }
        bool is_interface = type.kind == CLR_KIND_INTERFACE;
        if (!add_super(supers, address, distance, is_interface) ||
            !add_interfaces(dump, &type, distance, supers))
            return clr_no_memory(error);
    }
    return CLR_OK;
}

/* --- The table ------------------------------------------------------------------------------- */

struct super_cursor {
    struct clr_cursor base;
    const uint64_t *list;
    const struct clr_lookup *index; /* types that have SUPERTYPE; NULL: all of LIST */
    size_t at, end;                 /* the next type to collect, of INDEX or LIST */
    uint64_t type;
    uint64_t supertype; /* give only this one; 0: all */
    struct supers supers;
    size_t next;
    struct super row;
};

static void free_index(void *kept)
{
    clr_lookup_deinit(kept);
    clr_free(kept);
}

/* Which types have a supertype: keyed by it. */
static enum clr_status super_index(struct clr_dump *dump, struct clr_job *job,
                                   const uint64_t *types, size_t count,
                                   const struct clr_lookup **result, struct clr_error *error)
{
    struct clr_lookup *index = NULL;
    struct supers supers = {0};
    enum clr_status status = clr_dump_keep(dump, free_index, sizeof *index, &index, error);
    for (size_t i = 0; status == CLR_OK && !index->built && i < count; i++) {
        status = collect(dump, job, types[i], &supers, error);
        for (size_t k = 0; status == CLR_OK && k < supers.count; k++)
            if (!clr_lookup_add(index, supers.rows[k].type, (uint32_t)i))
                status = clr_no_memory(error);
    }
    supers_deinit(&supers);
    if (status != CLR_OK && index)
        clr_lookup_deinit(index);
    else if (index && !index->built)
        clr_lookup_sort(index);
    *result = index;
    return status;
}

static enum clr_status next_super(struct clr_cursor *base, struct clr_error *error)
{
    struct super_cursor *cursor = (struct super_cursor *)base;
    do {
        while (cursor->next >= cursor->supers.count) {
            base->eof = cursor->at >= cursor->end;
            if (base->eof)
                return CLR_OK;
            size_t number = cursor->index ? cursor->index->entries[cursor->at].row : cursor->at;
            cursor->at++;
            cursor->next = 0;
            cursor->type = cursor->list[number];
            CLR_TRY(collect(base->dump, base->job, cursor->type, &cursor->supers, error));
        }
        cursor->row = cursor->supers.rows[cursor->next++];
    } while (cursor->supertype != 0 && cursor->row.type != cursor->supertype);
    return CLR_OK;
}

enum { SUPERS_BY_BOTH, SUPERS_BY_TYPE, SUPERS_BY_SUPERTYPE, SUPERS_SCAN };

static enum clr_status start_supers(struct clr_cursor *base, const struct clr_query *query,
                                    struct clr_error *error)
{
    struct super_cursor *cursor = (struct super_cursor *)base;
    struct clr_dump *dump = base->dump;
    size_t count;
    bool listed;
    if (query->path != SUPERS_SCAN && query->path != SUPERS_BY_TYPE) {
        cursor->supertype = (uint64_t)clr_equal_int(query, query->path == SUPERS_BY_BOTH);
        base->eof = cursor->supertype == 0;
        if (base->eof)
            return CLR_OK;
    }
    if (query->path == SUPERS_BY_TYPE || query->path == SUPERS_BY_BOTH) {
        cursor->type = (uint64_t)clr_equal_int(query, 0);
        CLR_TRY(clr_dump_has_type(dump, base->job, cursor->type, &listed, error));
        if (listed)
            CLR_TRY(collect(dump, base->job, cursor->type, &cursor->supers, error));
        return next_super(base, error);
    }
    CLR_TRY(clr_dump_types(dump, base->job, &cursor->list, &count, error));
    cursor->end = count;
    if (query->path == SUPERS_BY_SUPERTYPE) {
        CLR_TRY(super_index(dump, base->job, cursor->list, count, &cursor->index, error));
        clr_lookup_range(cursor->index, (int64_t)cursor->supertype, &cursor->at, &count);
        cursor->end = cursor->at + count;
    }
    return next_super(base, error);
}

static void finish_supers(struct clr_cursor *base)
{
    supers_deinit(&((struct super_cursor *)base)->supers);
}

enum { SUPER_TYPE, SUPER_SUPERTYPE };

static const struct clr_column columns[] = {
    CLR_COLUMN("type", CLR_NUMBER(super_cursor, type), "The type.", .flags = CLR_KEY,
               .refers_to = "types.address"),
    CLR_COLUMN("supertype", CLR_NUMBER(super_cursor, row.type),
               "The type itself, a base type or an interface.", .flags = CLR_KEY,
               .refers_to = "types.address"),
    CLR_COLUMN("distance", CLR_NUMBER(super_cursor, row.distance),
               "0 for the type itself, steps to a base type, and for an interface one more than to "
               "the type that brings it."),
    CLR_COLUMN("is_interface", CLR_NUMBER(super_cursor, row.is_interface),
               "1: supertype is an interface."),
    CLR_END,
};

static const struct clr_path paths[] = {
    [SUPERS_BY_BOTH] = {.key = {{SUPER_TYPE, CLR_EQ}, {SUPER_SUPERTYPE, CLR_EQ}},
                        .order = SUPER_TYPE,
                        .reversible = true,
                        .unique = true,
                        .rows = 1},
    [SUPERS_BY_TYPE] = {.key = {{SUPER_TYPE, CLR_EQ}},
                        .order = SUPER_TYPE,
                        .reversible = true,
                        .rows = 10},
    [SUPERS_BY_SUPERTYPE] = {.key = {{SUPER_SUPERTYPE, CLR_EQ}}, .order = SUPER_TYPE, .rows = 20},
    [SUPERS_SCAN] = {.order = SUPER_TYPE, .rows = 30000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_supertypes = {
    .name = "supertypes",
    .doc = "For each type itself, its base types and all its interfaces.",
    .example = "SELECT t.name FROM types AS b JOIN supertypes AS s ON s.supertype = b.address JOIN "
               "types AS t ON t.address = s.type WHERE b.name = 'System.Exception'",
    .columns = columns,
    .paths = paths,
    .needs = CLR_PART_RUNTIME,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct super_cursor),
    .start = start_supers,
    .next = next_super,
    .finish = finish_supers,
};
