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
#include <string.h>

#include "base/alloc.h"
#include "cache.h"
#include "inspect/value.h"
#include "results.h"
#include "runtime/statics.h"

enum static_column {
    STATIC_TYPE,
    STATIC_TOKEN,
    STATIC_NAME,
    STATIC_STORAGE,
    STATIC_THREAD,
    STATIC_ADDRESS,
    STATIC_OBJECT,
    STATIC_VALUE,
    STATIC_IS_INITIALIZED,
    STATIC_ROW,
    STATIC_COLUMNS
};

static const struct clr_column static_columns[] = {
    [STATIC_TYPE] = CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "The declaring type.",
                               .flags = CLR_KEY, .refers_to = "types.address"),
    [STATIC_TOKEN] = CLR_COLUMN("token", CLR_BY_TABLE(CLR_INTEGER), "FieldDef token.",
                                .refers_to = "fields.token", .flags = CLR_KEY),
    [STATIC_NAME] = CLR_COLUMN("name", CLR_BY_TABLE(CLR_TEXT), "Its name."),
    [STATIC_STORAGE] = CLR_COLUMN("storage", CLR_BY_TABLE(CLR_TEXT),
                                  "static, thread_static or rva (in the image)."),
    [STATIC_THREAD] =
        CLR_COLUMN("thread", CLR_BY_TABLE(CLR_INTEGER),
                   "The thread whose value it is; NULL unless storage is thread_static.",
                   .refers_to = "threads.address"),
    [STATIC_ADDRESS] = CLR_COLUMN("address", CLR_BY_TABLE(CLR_INTEGER),
                                  "Address of the slot or value; NULL without storage."),
    [STATIC_OBJECT] =
        CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER),
                   "The object that the slot holds; of a struct its box. NULL for primitives.",
                   .refers_to = "objects.address"),
    [STATIC_VALUE] =
        CLR_COLUMN("value", CLR_BY_TABLE(CLR_ANY),
                   "Its value as in field_values; NULL for references other than strings, and for "
                   "structs with fields of their own: field_values of object."),
    [STATIC_IS_INITIALIZED] =
        CLR_COLUMN("is_initialized", CLR_BY_TABLE(CLR_INTEGER),
                   "1: it has storage; the type's constructor may still run."),
    /* A key is never NULL, as `thread` is for most. */
    [STATIC_ROW] =
        CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                   "With type and token the key: the number of the thread, 0 for others.",
                   .flags = CLR_KEY | CLR_HIDDEN),
    [STATIC_COLUMNS] = CLR_END,
};

enum { STATICS_BY_TYPE, STATICS_BY_OBJECT, STATICS_SCAN };

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

struct static_row { /* what the list by object keeps */
    uint64_t type;
    uint32_t member, thread;
};

struct static_cursor {
    struct clr_cursor base;
    struct static_walk walk;
    const struct clr_lookup *index; /* NULL: WALK gives the rows */
    size_t entry, entries;
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

/* --- By object ---------------------------------------------------------------------------------
 */

static enum clr_status by_object(struct clr_cursor *base, const struct static_walk *all,
                                 struct clr_cache *cache, struct clr_error *error)
{
    enum { MOST = 16 << 20 };
    struct static_walk walk = *all;
    size_t room = 0, count = 0;
    struct static_row *rows = NULL;
    struct clr_lookup index = {0};
    bool found;
    enum clr_status status;
    while ((status = step(&walk, base->job, &found, error)) == CLR_OK && found) {
        uint64_t object;
        if (!object_in(&walk, &object))
            continue;
        if (count == MOST)
            status = clr_fail(error, CLR_UNSUPPORTED, 0, "more than %d static fields hold objects",
                              MOST);
        else if (!clr_grow(&rows, count, &room, sizeof *rows) ||
                 !clr_lookup_add(&index, object, (uint32_t)count))
            status = clr_fail(error, CLR_NOMEM, 0, "out of memory for the list of static fields");
        if (status != CLR_OK)
            break;
        rows[count++] = (struct static_row){
            walk.layout->type.address, (uint32_t)(walk.member - walk.layout->members),
            walk.on ? (uint32_t)(walk.on - walk.dump->threads) : UINT32_MAX};
    }
    if (status != CLR_OK) {
        clr_free(rows);
        clr_lookup_deinit(&index);
        return status;
    }
    clr_lookup_sort(&index);
    cache->static_objects = index;
    cache->static_rows = rows;
    return CLR_OK;
}

static enum clr_status next_entry(struct static_cursor *cursor, struct clr_error *error)
{
    struct static_walk *walk = &cursor->walk;
    const struct clr_cache *cache = clr_cache_made(cursor->base.dump);
    struct clr_layout *layout;
    cursor->base.eof = cursor->entries == 0;
    if (cursor->base.eof)
        return CLR_OK;
    cursor->entries--;
    const struct static_row *row = &(
        (const struct static_row *)cache->static_rows)[cursor->index->entries[cursor->entry++].row];
    CLR_TRY(clr_layout_get(walk->dump, row->type, &layout, error));
    walk->layout = layout;
    walk->member = &layout->members[row->member];
    walk->on = row->thread == UINT32_MAX ? NULL : &walk->dump->threads[row->thread];
    find(walk);
    return CLR_OK;
}

/* --- The table ---------------------------------------------------------------------------------
 */

static enum clr_status next_row(struct clr_cursor *base, struct clr_error *error)
{
    struct static_cursor *cursor = (struct static_cursor *)base;
    bool found;
    base->rowid++;
    if (cursor->index)
        return next_entry(cursor, error);
    CLR_TRY(step(&cursor->walk, base->job, &found, error));
    base->eof = !found;
    return CLR_OK;
}

static enum clr_status start_statics(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct static_cursor *cursor = (struct static_cursor *)base;
    struct static_walk *walk = &cursor->walk;
    struct clr_dump *dump = base->dump;
    struct clr_cache *cache;
    *walk = (struct static_walk){.dump = dump};
    cursor->index = NULL;
    if (!dump->runtime->contract[CLR_CONTRACT_STATICS])
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "statics: this runtime does not describe where static fields are (%s). "
                        "fields has their names",
                        clr_statics_refusal(walk->dump->runtime));
    if (query->path == STATICS_BY_TYPE) {
        CLR_TRY(enter_type(walk, (uint64_t)clr_equal_int(query, 0), error));
        return next_row(base, error);
    }
    CLR_TRY(clr_heap_types(dump->heap, dump->runtime, &walk->list, &walk->left, error));
    if (query->path == STATICS_BY_OBJECT) {
        CLR_TRY(clr_cache(dump, &cache, error));
        if (!cache->static_objects.built)
            CLR_TRY(by_object(base, walk, cache, error));
        cursor->index = &cache->static_objects;
        clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->entry, &cursor->entries);
    }
    return next_row(base, error);
}

static void finish_statics(struct clr_cursor *base)
{
    clr_value_deinit(&((struct static_cursor *)base)->value);
}

/* The value: in the slot, or in the box that it holds. */
static enum clr_status result_value(struct static_cursor *cursor, sqlite3_context *context,
                                    struct clr_error *error)
{
    const struct static_walk *walk = &cursor->walk;
    const struct clr_member *member = walk->member;
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
    CLR_TRY(clr_value_read(walk->dump, &place, &cursor->value, error));
    if (cursor->value.lost)
        report_unknown(walk->dump, member, cursor->value.lost);
    clr_result_value(context, &cursor->value);
    return CLR_OK;
}

static enum clr_status static_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    struct static_cursor *cursor = (struct static_cursor *)base;
    const struct static_walk *walk = &cursor->walk;
    uint64_t object;
    switch (column) {
    case STATIC_TYPE: clr_result_u64(context, walk->layout->type.address); break;
    case STATIC_TOKEN: clr_result_u64(context, walk->member->field.token); break;
    case STATIC_NAME: clr_result_static(context, walk->member->name); break;
    case STATIC_STORAGE: clr_result_static(context, clr_storage_text(walk->found.storage)); break;
    case STATIC_THREAD:
        if (walk->on)
            clr_result_u64(context, walk->on->address);
        break;
    case STATIC_ADDRESS:
        if (walk->is_known)
            clr_result_known(context, walk->found.address);
        break;
    case STATIC_OBJECT:
        if (!walk->is_known || !walk->found.holds_object || walk->found.address == 0)
            break;
        if (clr_read_word(base->dump->process, walk->found.address, &object))
            clr_result_u64(context, object);
        else
            report_unknown(base->dump, walk->member, "its slot is not saved in the dump");
        break;
    case STATIC_VALUE: return result_value(cursor, context, error);
    case STATIC_IS_INITIALIZED:
        if (walk->is_known)
            clr_result_bool(context, walk->found.address != 0);
        break;
    case STATIC_ROW:
        clr_result_u64(context, walk->on ? (uint64_t)(walk->on - base->dump->threads) + 1 : 0);
        break;
    }
    return CLR_OK;
}

static const struct clr_path static_paths[] = {
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
    .columns = static_columns,
    .paths = static_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_TYPES,
    .cursor_size = sizeof(struct static_cursor),
    .start = start_statics,
    .next = next_row,
    .finish = finish_statics,
    .column = static_column,
};
