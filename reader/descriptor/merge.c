/*
 * From one structure to one set of names.
 *
 *   runtime ──┬─ GC                  the target's own descriptor and its sub-descriptors
 *   user's supplement                where the target's own is silent
 *   shipped supplement               last
 *
 * A sub-descriptor is reached by a double indirection: the value of an entry of `subDescriptors` is
 * a slot of the parent's array of pointers; the slot holds the address A of a variable; the word at
 * A is the address D of another structure. A = 0 or D = 0 means that the slot is not in use. Every
 * structure has an array of pointers of its own, so a descriptor's rows are complete (numbers, not
 * indexes) before they are merged. A child that cannot be read, or whose byte order or pointer size
 * is not its parent's, is left out and reported; the parent is still good.
 *
 * Precedence is by name: of contracts and globals the first named wins, of a type its size and each
 * of its fields. Between the target's own descriptors a name that stands twice is a conflict: the
 * first is kept, the other is reported, and of a type nothing of the second is taken, for half of
 * two layouts is none. A supplement fills gaps silently: that is what it is for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "descriptor/internal.h"

/* --- sorting --------------------------------------------------------------------------------- */

/* A row's name and number; the number is its rank. */
struct named {
    const char *name;
    size_t row;
};

static int compare_named(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    int order = strcmp(a->name, b->name);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* The names at STRIDE in ROWS, sorted by name and rank; NULL: no memory. Freed by the caller. */
static struct named *sort_names(const void *rows, size_t count, size_t stride, size_t name_at)
{
    struct named *sorted = clr_alloc(count, sizeof *sorted);
    for (size_t i = 0; sorted && i < count; i++) {
        const char *row = (const char *)rows + i * stride;
        memcpy(&sorted[i].name, row + name_at, sizeof sorted[i].name);
        sorted[i].row = i;
    }
    if (sorted && count > 1)
        qsort(sorted, count, sizeof *sorted, compare_named);
    return sorted;
}

/* Whether a name of part LATER that part FIRST has named too is a conflict; reported if so. */
static bool is_conflict(struct clr_descriptor *d, const char *table, const char *what,
                        const char *name, uint32_t first, uint32_t later)
{
    if (first == later) {
        clr_problem(d->problems, CLR_WARNING, table, d->parts.items[later].address, 0,
                    "%s %s stands twice in descriptor '%s': the first is used", what, name,
                    d->parts.items[later].name);
        return true;
    }
    if (first >= d->own_parts || later >= d->own_parts)
        return false;
    clr_problem(d->problems, CLR_WARNING, table, d->parts.items[later].address, 0,
                "%s %s is described by '%s' and by '%s': the first is used", what, name,
                d->parts.items[first].name, d->parts.items[later].name);
    return true;
}

/* Sorts *COUNT rows of SIZE bytes, whose first member is a name and which have their part at
 * PART_AT, and keeps the first of each name. */
static enum clr_status merge_rows(struct clr_descriptor *d, void *rows, size_t *count, size_t size,
                                  size_t part_at, const char *table, const char *what,
                                  struct clr_error *error)
{
    size_t kept = 0;
    struct named *sorted = sort_names(rows, *count, size, 0);
    char *merged = clr_alloc(*count, size);
    bool done = sorted && merged;
    for (size_t i = 0; done && i < *count; i++) {
        const char *row = (const char *)rows + sorted[i].row * size;
        uint32_t first, later;
        if (i > 0 && strcmp(sorted[i - 1].name, sorted[i].name) == 0) {
            memcpy(&first, merged + (kept - 1) * size + part_at, sizeof first);
            memcpy(&later, row + part_at, sizeof later);
            is_conflict(d, table, what, sorted[i].name, first, later);
        } else {
            memcpy(merged + kept++ * size, row, size);
        }
    }
    if (done && kept > 0) {
        memcpy(rows, merged, kept * size);
        *count = kept;
    }
    clr_free(sorted);
    clr_free(merged);
    return done ? CLR_OK : clr_no_memory(error);
}

/* Types and fields while they are copied into new arrays. */
struct type_merge {
    struct clr_descriptor *d;
    struct clr_described_type *types;
    struct clr_described_field *fields, *gathered; /* GATHERED: of one type, unsorted */
    size_t type_count, field_count, gathered_count;
};

/* The fields gathered for the last type, sorted, each name once. */
static bool finish_fields(struct type_merge *m)
{
    struct clr_described_type *type = &m->types[m->type_count - 1];
    struct named *sorted = sort_names(m->gathered, m->gathered_count, sizeof *m->gathered,
                                      offsetof(struct clr_described_field, name));
    if (!sorted)
        return false;
    type->first_field = (uint32_t)m->field_count;
    for (size_t i = 0; i < m->gathered_count; i++) {
        const struct clr_described_field *row = &m->gathered[sorted[i].row];
        const struct clr_described_field *last =
            m->field_count > type->first_field ? &m->fields[m->field_count - 1] : NULL;
        if (last && strcmp(last->name, row->name) == 0) {
            is_conflict(m->d, "descriptor_fields", "field", row->name, last->part, row->part);
            continue;
        }
        m->fields[m->field_count] = *row;
        m->fields[m->field_count++].owner = (uint32_t)(m->type_count - 1);
    }
    type->field_count = (uint32_t)(m->field_count - type->first_field);
    m->gathered_count = 0;
    clr_free(sorted);
    return true;
}

/* One more description of the last type, or the first of a new one. */
static void gather_type(struct type_merge *m, const struct clr_described_type *row)
{
    struct clr_described_type *last = m->type_count ? &m->types[m->type_count - 1] : NULL;
    if (last && strcmp(last->name, row->name) == 0) {
        if (is_conflict(m->d, "descriptor_types", "type", row->name, last->part, row->part))
            return;
        if (!clr_has(last->size))
            last->size = row->size;
    } else {
        m->types[m->type_count++] = *row;
    }
    for (uint32_t i = 0; i < row->field_count; i++)
        m->gathered[m->gathered_count++] = m->d->fields.items[row->first_field + i];
}

static bool merge_sorted_types(struct type_merge *m, const struct named *sorted)
{
    for (size_t i = 0; i < m->d->types.count; i++) {
        if (i > 0 && strcmp(sorted[i].name, sorted[i - 1].name) != 0 && !finish_fields(m))
            return false;
        gather_type(m, &m->d->types.items[sorted[i].row]);
    }
    return m->d->types.count == 0 || finish_fields(m);
}

static enum clr_status merge_types(struct clr_descriptor *d, struct clr_error *error)
{
    struct named *sorted = sort_names(d->types.items, d->types.count, sizeof *d->types.items,
                                      offsetof(struct clr_described_type, name));
    struct type_merge m = {
        .d = d,
        .types = clr_alloc(d->types.count, sizeof *m.types),
        .fields = clr_alloc(d->fields.count, sizeof *m.fields),
        .gathered = clr_alloc(d->fields.count, sizeof *m.gathered),
    };
    bool done = sorted && m.types && m.fields && m.gathered && merge_sorted_types(&m, sorted);
    clr_free(sorted);
    clr_free(m.gathered);
    if (!done) {
        clr_free(m.types);
        clr_free(m.fields);
        return clr_no_memory(error);
    }
    clr_free(d->types.items);
    clr_free(d->fields.items);
    d->types.items = m.types;
    d->fields.items = m.fields;
    d->types.count = m.type_count;
    d->fields.count = m.field_count;
    return CLR_OK;
}

enum clr_status clr_merge(struct clr_descriptor *d, struct clr_error *error)
{
    CLR_TRY(merge_types(d, error));
    CLR_TRY(merge_rows(d, d->globals.items, &d->globals.count, sizeof *d->globals.items,
                       offsetof(struct clr_global, part), "globals", "global", error));
    return merge_rows(d, d->contracts.items, &d->contracts.count, sizeof *d->contracts.items,
                      offsetof(struct clr_contract, part), "contracts", "contract", error);
}

/* --- the target's own ------------------------------------------------------------------------ */

/* How much is gathered, so that a part that turns out bad can be taken back. */
struct mark {
    size_t parts, contracts, globals, types, fields;
};

static struct mark mark_of(const struct clr_descriptor *d)
{
    return (struct mark){d->parts.count, d->contracts.count, d->globals.count, d->types.count,
                         d->fields.count};
}

/* Documents and texts stay until the end: they are bounded, and nobody refers to them. */
static void take_back(struct clr_descriptor *d, const struct mark *mark)
{
    d->parts.count = mark->parts;
    d->contracts.count = mark->contracts;
    d->globals.count = mark->globals;
    d->types.count = mark->types;
    d->fields.count = mark->fields;
}

static enum clr_status read_children(struct clr_descriptor *d, const struct clr_parse *parent,
                                     const clr_json *root, unsigned depth, struct clr_error *error);

/* Reads the structure at ADDRESS and what hangs on it. PARENT is NULL for the first. */
static enum clr_status read_part(struct clr_descriptor *d, const char *name, uint64_t address,
                                 const struct clr_parse *parent, unsigned depth,
                                 struct clr_error *error)
{
    struct clr_structure structure = {.name = name};
    clr_json *root;
    char *text;
    d->tries++;
    CLR_TRY(clr_structure_read(d, address, &structure, error));
    CLR_TRY(clr_structure_text(d, &structure, &text, error));
    struct clr_part part = {
        .name = name,
        .parent = parent ? (int32_t)parent->part : -1,
        .address = address,
        .pointer_size = structure.pointer_size,
        .little_endian = structure.little_endian,
    };
    struct clr_parse parse = {.d = d, .part = (uint32_t)d->parts.count, .structure = &structure};
    enum clr_status status = clr_json_parse(text, structure.json_size, &root, error);
    if (status == CLR_OK)
        status = clr_part_add(d, &part, text, structure.json_size, root, error);
    clr_free(text);
    CLR_TRY(status);
    CLR_TRY(clr_parse_rows(&parse, root, error));
    return read_children(d, &parse, root, depth, error);
}

static bool is_known_part(const struct clr_descriptor *d, uint64_t address)
{
    for (size_t i = 0; i < d->parts.count; i++)
        if (d->parts.items[i].address == address)
            return true;
    return false;
}

static void report_child(struct clr_descriptor *d, const char *name, uint64_t address,
                         const char *reason)
{
    clr_problem(d->problems, CLR_ERROR, "descriptors", address, 0,
                "sub-descriptor '%s' at 0x%llx is left out: %s", name, (unsigned long long)address,
                reason);
}

/* The child behind VARIABLE. Only lack of memory is the caller's failure. */
static enum clr_status read_child(struct clr_descriptor *d, const struct clr_parse *parent,
                                  const char *name, uint64_t variable, unsigned depth,
                                  struct clr_error *error)
{
    uint64_t address;
    struct clr_error reason = {0};
    struct mark mark = mark_of(d);
    if (variable == 0)
        return CLR_OK;
    if (!clr_read_word(d->process, variable, &address)) {
        report_child(d, name, variable, "the variable that leads to it is not in the dump");
        return CLR_OK;
    }
    if (address == 0)
        return CLR_OK;
    if (is_known_part(d, address))
        report_child(d, name, address, "another descriptor leads there too");
    else if (d->tries >= CLR_DESCRIPTOR_TRIES_MAX || depth >= CLR_DESCRIPTOR_DEPTH_MAX)
        report_child(d, name, address, "there are too many of them");
    else if (read_part(d, name, address, parent, depth + 1, &reason) == CLR_NOMEM)
        return clr_no_memory(error);
    else if (reason.code != CLR_OK) {
        take_back(d, &mark);
        report_child(d, name, address, reason.text);
    }
    return CLR_OK;
}

static enum clr_status read_children(struct clr_descriptor *d, const struct clr_parse *parent,
                                     const clr_json *root, unsigned depth, struct clr_error *error)
{
    static const char *const spellings[] = {"subDescriptors", "sub-descriptors"};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
        struct clr_entry_walk walk = {.list = clr_json_member(root, spellings[i])};
        struct clr_described_value value;
        enum clr_outcome outcome;
        const char *name, *fault = "";
        while (clr_entry_next(parent, &walk, &name, &value, &outcome, &fault)) {
            if (outcome == CLR_VALUE_OK && !value.indirect) {
                outcome = CLR_VALUE_FAULT;
                fault = "its value is not an index into the array of pointers";
            }
            if (outcome == CLR_VALUE_FAULT)
                report_child(d, name, 0, fault);
            if (outcome == CLR_VALUE_OK)
                CLR_TRY(read_child(d, parent, name, value.number, depth, error));
        }
    }
    return CLR_OK;
}

/* Reads the target's own descriptor; what is wrong with it is said in REASON, and nothing of it is
 * kept then. */
static enum clr_status read_own(struct clr_descriptor *d, uint64_t address,
                                struct clr_error *reason, struct clr_error *error)
{
    struct mark mark = mark_of(d);
    if (read_part(d, "runtime", address, NULL, 0, reason) == CLR_NOMEM)
        return clr_no_memory(error);
    if (reason->code != CLR_OK) {
        take_back(d, &mark);
        d->from_file = false;
    }
    d->own_parts = d->parts.count;
    return CLR_OK;
}

/* --- what kind of runtime it is --------------------------------------------------------------- */

/* Versions of NativeAOT's contracts are n1, n2 …; of CoreCLR's 1, 2 … and c1, c2 …. A few contracts
 * are common to both, so one version with the prefix decides. */
static enum clr_descriptor_flavor find_flavor(const struct clr_descriptor *d)
{
    for (size_t i = 0; i < d->globals.count; i++)
        if (strcmp(d->globals.items[i].name, "RuntimeFlavor") == 0 && d->globals.items[i].text)
            return strcasecmp(d->globals.items[i].text, "nativeaot") == 0 ? CLR_FLAVOR_NATIVEAOT
                                                                          : CLR_FLAVOR_CORECLR;
    for (size_t i = 0; i < d->contracts.count; i++)
        if (d->contracts.items[i].version[0] == 'n')
            return CLR_FLAVOR_NATIVEAOT;
    return CLR_FLAVOR_CORECLR;
}

static void report_flavor(struct clr_descriptor *d)
{
    if (d->flavor == CLR_FLAVOR_NATIVEAOT)
        clr_problem(d->problems, CLR_ERROR, "descriptors", d->parts.items[0].address, 0,
                    "%s is a NativeAOT program: its contracts are others than CoreCLR's and are "
                    "not served; what it publishes is listed",
                    d->image->path ? d->image->path : "the image");
}

/* Runtimes before 11 describe no GC and know no sub-descriptors. */
static bool needs_supplement(const struct clr_descriptor *d)
{
    if (d->own_parts == 0)
        return true;
    if (d->flavor != CLR_FLAVOR_CORECLR ||
        clr_json_member(d->documents.items[0], "subDescriptors") ||
        clr_json_member(d->documents.items[0], "sub-descriptors"))
        return false;
    for (size_t i = 0; i < d->contracts.count; i++)
        if (strcmp(d->contracts.items[i].name, "GC") == 0)
            return false;
    return true;
}

static enum clr_status gather(struct clr_descriptor *d, const struct clr_options *options,
                              uint64_t address, struct clr_error *error)
{
    struct clr_error reason = {0};
    if (address != 0)
        CLR_TRY(read_own(d, address, &reason, error));
    d->flavor = find_flavor(d);
    report_flavor(d);
    CLR_TRY(clr_supplement_apply(d, options, clr_supplements, needs_supplement(d), &reason, error));
    /* That it is not in the dump is everyday in .NET 9 and 10, and what supplements are for. */
    if (reason.code != CLR_OK && reason.code != CLR_FAULT)
        clr_problem(d->problems, CLR_ERROR, "descriptors", address, 0,
                    "the runtime's own descriptor is not used: %s", reason.text);
    return CLR_OK;
}

enum clr_status clr_descriptor_open(const struct clr_process *process,
                                    const struct clr_options *options,
                                    struct clr_problems *problems,
                                    struct clr_descriptor **descriptor, struct clr_error *error)
{
    struct clr_runtime_image runtime;
    *descriptor = NULL;
    CLR_TRY(clr_runtime_choose(process, options, &runtime, error));
    struct clr_descriptor *d = clr_alloc(1, sizeof *d);
    if (!d)
        return clr_no_memory(error);
    d->process = process;
    d->image = runtime.image;
    d->problems = problems;
    enum clr_status status = gather(d, options, runtime.descriptor, error);
    if (status == CLR_OK)
        status = clr_merge(d, error);
    d->problems = NULL;
    if (status != CLR_OK) {
        clr_descriptor_close(d);
        return status;
    }
    *descriptor = d;
    return CLR_OK;
}

void clr_descriptor_close(struct clr_descriptor *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->documents.count; i++)
        clr_json_destroy(d->documents.items[i]);
    CLR_ARRAY_FREE(&d->documents);
    CLR_ARRAY_FREE(&d->parts);
    CLR_ARRAY_FREE(&d->contracts);
    CLR_ARRAY_FREE(&d->globals);
    CLR_ARRAY_FREE(&d->types);
    CLR_ARRAY_FREE(&d->fields);
    clr_arena_deinit(&d->texts);
    clr_free(d);
}

const struct clr_image *clr_descriptor_image(const struct clr_descriptor *d)
{
    return d->image;
}

enum clr_descriptor_source clr_descriptor_source(const struct clr_descriptor *d)
{
    return d->own_parts == 0 ? CLR_FROM_SUPPLEMENT : d->from_file ? CLR_FROM_FILE : CLR_FROM_CORE;
}

enum clr_descriptor_flavor clr_descriptor_flavor(const struct clr_descriptor *d)
{
    return d->flavor;
}
