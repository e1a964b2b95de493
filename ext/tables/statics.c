/*
 * statics: the static fields of types with their values, one row a thread for thread statics.
 *
 *   type=     the fields that one type declares
 *   object=   by a list of all statics that hold an object, made on first use
 *   scan      all types
 *
 * Literals have no storage and open generic types are never used: neither is here. A field without
 * storage has no address, and is_initialized is 0; where this runtime does not say where a field
 * lives, it is NULL and `problems` has the reason.
 */
#include "cache.h"
#include "inspect/value.h"
#include "results.h"
#include "runtime/statics.h"

/* Goes through the statics of types, one after the other. */
struct static_walk {
    struct clr_dump *dump;
    const uint64_t *list;
    size_t left;
    const struct clr_layout *layout;
    size_t at;     /* the next member */
    size_t thread; /* the next thread of MEMBER, if it is a thread static */
    const struct clr_member *member;
    const struct clr_thread *on; /* the thread; NULL for others */
    struct clr_static found;
    bool is_known; /* FOUND says where it is */
};

/* The statics that hold an object, kept with the dump. */
struct static_row {
    uint64_t type;
    uint32_t member, thread;
};
struct by_object {
    CLR_ARRAY(struct static_row) rows;
    struct clr_lookup index;
};

struct static_cursor {
    struct clr_cursor base;
    struct static_walk walk;
    const struct by_object *by_object; /* NULL: WALK gives the rows */
    size_t entry, entries;             /* of its index, still to come */
    struct clr_value value;
};

static void report_unknown(struct clr_dump *dump, const struct clr_member *member, const char *why)
{
    clr_problem_once(dump->problems, CLR_WARNING, "statics", false, member->field.address, 0,
                     "static field %.100s of %.200s: %s", member->name,
                     clr_type_name(dump->runtime, member->declaring), why);
}

/* Where the member is; the walk stands on it. */
static void find(struct static_walk *walk)
{
    const struct clr_member *member = walk->member;
    walk->is_known = clr_static_find(walk->dump->runtime, &member->field, walk->on, &walk->found);
    if (!walk->is_known && walk->found.known)
        report_unknown(walk->dump, member, "where it lives is not saved in the dump");
    walk->is_known = walk->is_known && walk->found.known;
    if (!walk->found.known)
        clr_problem_once(walk->dump->problems, CLR_WARNING, "statics", false, 0, 0,
                         member->field.is_thread_static
                             ? "thread statics have no values: this runtime does not describe "
                               "where they are (%s)"
                             : "static fields have no values: this runtime does not describe where "
                               "they are (%s)",
                         clr_statics_refusal(walk->dump->runtime));
}

/* The next thread that has the walk's member; false at the end. */
static bool next_thread(struct static_walk *walk)
{
    const struct clr_dump *dump = walk->dump;
    while (walk->thread < dump->thread_count) {
        walk->on = &dump->threads[walk->thread++];
        if (!walk->on->is_dead)
            return true;
    }
    walk->on = NULL;
    return false;
}

static bool next_static(struct static_walk *walk)
{
    if (walk->on && next_thread(walk)) {
        find(walk);
        return true;
    }
    while (walk->layout && walk->at < walk->layout->count) {
        walk->member = &walk->layout->members[walk->at++];
        if (!walk->member->field.is_static || walk->member->is_literal)
            continue;
        walk->on = NULL;
        walk->thread = 0;
        if (walk->member->field.is_thread_static && clr_has_thread_statics(walk->dump->runtime) &&
            !next_thread(walk))
            continue;
        find(walk);
        return true;
    }
    return false;
}

static enum clr_status enter_type(struct static_walk *walk, uint64_t type, struct clr_error *error)
{
    struct clr_layout *layout;
    CLR_TRY(clr_layout_get(walk->dump, type, &layout, error));
    walk->layout = layout && !layout->type.is_generic_definition ? layout : NULL;
    walk->at = layout ? layout->instance_count : 0;
    walk->on = NULL;
    return CLR_OK;
}

static enum clr_status step(struct static_walk *walk, struct clr_job *job, bool *found,
                            struct clr_error *error)
{
    while (!(*found = next_static(walk)) && walk->left > 0) {
        CLR_TRY(clr_job_poll(job, "reading static fields", 0, walk->left, error));
        walk->left--;
        CLR_TRY(enter_type(walk, *walk->list++, error));
    }
    return CLR_OK;
}

/* What the slot holds; false if there is no slot, or it is not saved. */
static bool object_in(const struct static_walk *walk, uint64_t *object)
{
    return walk->is_known && walk->found.holds_object && walk->found.address != 0 &&
           clr_read_word(walk->dump->process, walk->found.address, object);
}

/* --- By object ------------------------------------------------------------------------------- */

static void free_by_object(void *kept)
{
    struct by_object *by_object = kept;
    CLR_ARRAY_FREE(&by_object->rows);
    clr_lookup_deinit(&by_object->index);
    clr_free(by_object);
}

static enum clr_status add_rows(struct static_walk walk, struct clr_job *job,
                                struct by_object *into, struct clr_error *error)
{
    bool found;
    for (;;) {
        uint64_t object;
        CLR_TRY(step(&walk, job, &found, error));
        if (!found)
            return CLR_OK;
        if (!object_in(&walk, &object))
            continue;
        struct static_row row = {.type = walk.layout->type.address,
                                 .member = (uint32_t)(walk.member - walk.layout->members),
                                 .thread = walk.on ? (uint32_t)(walk.on - walk.dump->threads)
                                                   : UINT32_MAX};
        if (into->rows.count == UINT32_MAX)
            return clr_fail(error, CLR_UNSUPPORTED, 0, "too many static fields hold objects");
        if (!CLR_ARRAY_ADD(&into->rows, row) ||
            !clr_lookup_add(&into->index, object, (uint32_t)(into->rows.count - 1)))
            return clr_no_memory(error);
    }
}

/* Finds the entries of OBJECT; what they are found by is made on first use. */
static enum clr_status find_entries(struct static_cursor *cursor, uint64_t object,
                                    struct clr_error *error)
{
    struct by_object *by_object = NULL;
    CLR_TRY(clr_dump_keep(cursor->base.dump, free_by_object, sizeof *by_object, &by_object, error));
    if (!by_object->index.built) {
        enum clr_status status = add_rows(cursor->walk, cursor->base.job, by_object, error);
        if (status != CLR_OK) {
            by_object->rows.count = 0;
            clr_lookup_deinit(&by_object->index);
            return status;
        }
        clr_lookup_sort(&by_object->index);
    }
    cursor->by_object = by_object;
    clr_lookup_range(&by_object->index, (int64_t)object, &cursor->entry, &cursor->entries);
    return CLR_OK;
}

static enum clr_status next_entry(struct static_cursor *cursor, struct clr_error *error)
{
    const struct by_object *by_object = cursor->by_object;
    struct static_walk *walk = &cursor->walk;
    struct clr_layout *layout;
    cursor->base.eof = cursor->entries == 0;
    if (cursor->base.eof)
        return CLR_OK;
    cursor->entries--;
    const struct static_row *row =
        &by_object->rows.items[by_object->index.entries[cursor->entry++].row];
    CLR_TRY(clr_layout_get(walk->dump, row->type, &layout, error));
    walk->layout = layout;
    walk->member = &layout->members[row->member];
    walk->on = row->thread == UINT32_MAX ? NULL : &walk->dump->threads[row->thread];
    find(walk);
    return CLR_OK;
}

/* --- The table ------------------------------------------------------------------------------- */

static enum clr_status next_row(struct clr_cursor *base, struct clr_error *error)
{
    struct static_cursor *cursor = (struct static_cursor *)base;
    bool found;
    if (cursor->by_object) {
        CLR_TRY(next_entry(cursor, error));
    } else {
        CLR_TRY(step(&cursor->walk, base->job, &found, error));
        base->eof = !found;
    }
    base->element = cursor->walk.member;
    return CLR_OK;
}

enum { STATICS_BY_TYPE, STATICS_BY_OBJECT, STATICS_SCAN };

static enum clr_status start_statics(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct static_cursor *cursor = (struct static_cursor *)base;
    struct static_walk *walk = &cursor->walk;
    struct clr_dump *dump = base->dump;
    uint64_t wanted = (uint64_t)clr_equal_int(query, 0);
    bool listed;
    walk->dump = dump;
    if (!dump->runtime->contract[CLR_CONTRACT_STATICS])
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "statics: this runtime does not describe where static fields are (%s). "
                        "fields has their names",
                        clr_statics_refusal(walk->dump->runtime));
    if (query->path == STATICS_BY_TYPE) {
        CLR_TRY(clr_dump_has_type(dump, base->job, wanted, &listed, error));
        if (listed)
            CLR_TRY(enter_type(walk, wanted, error));
        return next_row(base, error);
    }
    CLR_TRY(clr_heap_types(dump->heap, dump->runtime, &walk->list, &walk->left, error));
    if (query->path == STATICS_BY_OBJECT)
        CLR_TRY(find_entries(cursor, wanted, error));
    return next_row(base, error);
}

static void finish_statics(struct clr_cursor *base)
{
    clr_value_deinit(&((struct static_cursor *)base)->value);
}

static const struct static_walk *walk_of(struct clr_cursor *base)
{
    return &((struct static_cursor *)base)->walk;
}

CLR_NUMBER_FUNCTION(static_type)
{
    return walk_of(cursor)->layout->type.address;
}

CLR_WORD_FUNCTION(static_storage)
{
    return clr_storage_text(walk_of(cursor)->found.storage);
}

CLR_NUMBER_FUNCTION(static_thread)
{
    const struct static_walk *walk = walk_of(cursor);
    return walk->on ? walk->on->address : CLR_ABSENT;
}

CLR_NUMBER_FUNCTION(static_address)
{
    const struct static_walk *walk = walk_of(cursor);
    return walk->is_known ? clr_or_absent(walk->found.address) : CLR_ABSENT;
}

CLR_VALUE_FUNCTION(static_object)
{
    const struct static_walk *walk = walk_of(cursor);
    uint64_t object;
    if (!walk->is_known || !walk->found.holds_object || walk->found.address == 0)
        return CLR_OK;
    if (object_in(walk, &object))
        clr_result_u64(context, object);
    else
        report_unknown(cursor->dump, walk->member, "its slot is not saved in the dump");
    return CLR_OK;
}

/* The value: in the slot, or in the box that it holds. */
CLR_VALUE_FUNCTION(static_value)
{
    const struct static_walk *walk = walk_of(cursor);
    const struct clr_member *member = row;
    struct clr_value *value = &((struct static_cursor *)cursor)->value;
    struct clr_place place = {.address = walk->found.address, .element = member->element};
    struct clr_layout *layout;
    if (!walk->is_known || walk->found.address == 0)
        return CLR_OK;
    if (walk->found.holds_object && !clr_element_is_reference(member->element)) {
        uint64_t box;
        if (!object_in(walk, &box))
            return CLR_OK;
        CLR_TRY(clr_object_layout(walk->dump, box, &layout, error));
        if (!layout || !clr_boxed_place(walk->dump, box, layout, &place))
            return CLR_OK;
    } else if (member->is_named) {
        CLR_TRY(clr_member_type(walk->dump, member, &place.type, NULL, error));
    }
    CLR_TRY(clr_value_read(walk->dump, &place, value, error));
    if (value->lost)
        report_unknown(walk->dump, member, value->lost);
    clr_result_value(context, value);
    return CLR_OK;
}

CLR_NUMBER_FUNCTION(static_is_initialized)
{
    const struct static_walk *walk = walk_of(cursor);
    return walk->is_known ? walk->found.address != 0 : CLR_ABSENT;
}

CLR_NUMBER_FUNCTION(static_row)
{
    const struct static_walk *walk = walk_of(cursor);
    return walk->on ? (uint64_t)(walk->on - cursor->dump->threads) + 1 : 0;
}

enum { STATIC_TYPE, STATIC_OBJECT = 6 };

static const struct clr_column columns[] = {
    [STATIC_TYPE] = CLR_COLUMN("type", CLR_NUMBER_BY(static_type), "The declaring type.",
                               .flags = CLR_KEY, .refers_to = "types.address"),
    CLR_COLUMN("token", CLR_NUMBER(clr_member, field.token), "FieldDef token.",
               .refers_to = "fields.token", .flags = CLR_KEY),
    CLR_COLUMN("name", CLR_STATIC_TEXT(clr_member, name), "Its name."),
    CLR_COLUMN("storage", CLR_WORD_BY(static_storage),
               "static, thread_static or rva (in the image)."),
    CLR_COLUMN("thread", CLR_NUMBER_BY(static_thread),
               "The thread whose value it is; NULL unless storage is thread_static.",
               .refers_to = "threads.address"),
    CLR_COLUMN("address", CLR_NUMBER_BY(static_address),
               "Address of the slot or value; NULL without storage."),
    [STATIC_OBJECT] =
        CLR_COLUMN("object", CLR_VALUE_BY(CLR_INTEGER, static_object),
                   "The object that the slot holds; of a struct its box. NULL for primitives.",
                   .refers_to = "objects.address"),
    CLR_COLUMN("value", CLR_VALUE_BY(CLR_ANY, static_value),
               "Its value as in field_values; NULL for references other than strings, and for "
               "structs with fields of their own: field_values of object."),
    CLR_COLUMN("is_initialized", CLR_NUMBER_BY(static_is_initialized),
               "1: it has storage; the type's constructor may still run."),
    /* A key is never NULL, as `thread` is for most. */
    CLR_COLUMN("row", CLR_NUMBER_BY(static_row),
               "With type and token the key: the number of the thread, 0 for others.",
               .flags = CLR_KEY | CLR_HIDDEN),
    CLR_END,
};

static const struct clr_path paths[] = {
    [STATICS_BY_TYPE] = {.key = {{STATIC_TYPE, CLR_EQ}}, .order = STATIC_TYPE, .rows = 20},
    [STATICS_BY_OBJECT] = {.key = {{STATIC_OBJECT, CLR_EQ}}, .order = -1, .rows = 2},
    [STATICS_SCAN] = {.order = STATIC_TYPE, .rows = 9000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_statics = {
    .name = "statics",
    .doc = "Static fields and their values; thread statics for each thread.",
    .example = "SELECT t.name, s.name, s.value FROM types AS t JOIN statics AS s ON s.type = "
               "t.address WHERE s.value IS NOT NULL LIMIT 5",
    .columns = columns,
    .paths = paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct static_cursor),
    .start = start_statics,
    .next = next_row,
    .finish = finish_statics,
};
