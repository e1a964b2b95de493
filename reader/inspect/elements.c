/*
 * Collections made of arrays; and how an object is gone through (collections.c says it).
 *
 * Free entries: of a Dictionary and HashSet, next is below -1; a Hashtable's have no key, or the
 * table of buckets itself as the key.
 */
#include "inspect/elements.h"

#include <string.h>

#include "inspect/internal.h"

enum { MOST_INNER = 8, POLL_EVERY = 4096 };

/* --- Arrays ------------------------------------------------------------------------------------
 */

static void open_array(struct clr_elements *e, enum clr_collection_field field,
                       struct clr_array_view *array)
{
    uint64_t object = clr_elements_word(e, e->own, field, clr_elements_base(e, e->within));
    *array = (struct clr_array_view){0};
    if (object != 0 && !clr_array_open(e->dump, object, array))
        clr_elements_damaged(e, object, "there is no array");
}

static void start_array(struct clr_elements *e)
{
    uint64_t base = clr_elements_base(e, e->within);
    open_array(e, CLR_FIELD_ITEMS, &e->array);
    e->end = e->array.count;
    if (clr_elements_has(e->own, CLR_FIELD_KEYS)) {
        open_array(e, CLR_FIELD_KEYS, &e->keys);
        if (e->keys.count < e->end)
            e->end = e->keys.count;
    }
    if (clr_elements_has(e->own, CLR_FIELD_COUNT)) {
        uint32_t used = clr_elements_number(e, e->own, CLR_FIELD_COUNT, base);
        if (used > e->end && !e->done)
            clr_elements_damaged(e, e->within, "it claims more elements than its array has");
        else
            e->end = used;
    }
    if (clr_elements_has(e->own, CLR_FIELD_HEAD))
        e->head = clr_elements_number(e, e->own, CLR_FIELD_HEAD, base);
}

enum { BITS_OF_BYTE = 8 };

static void start_bits(struct clr_elements *e)
{
    open_array(e, CLR_FIELD_ITEMS, &e->array);
    e->end = clr_elements_number(e, e->own, CLR_FIELD_COUNT, clr_elements_base(e, e->within));
    if (e->end > e->array.count * e->array.stride * BITS_OF_BYTE && !e->done)
        clr_elements_damaged(e, e->within, "it claims more bits than its array has");
}

/* Numbers lie little end first: so bit i is one of byte i / 8, whatever the array's elements are. */
static enum clr_status next_bit(struct clr_elements *e, struct clr_item *item, bool *found)
{
    *found = e->at < e->end;
    if (!*found)
        return CLR_OK;
    item->value = (struct clr_place){.address = e->array.data + e->at / BITS_OF_BYTE,
                                     .element = CLR_ELEMENT_BOOLEAN};
    item->is_bit = true;
    item->bit = (uint8_t)(e->at++ % BITS_OF_BYTE);
    return CLR_OK;
}

static enum clr_status next_in_array(struct clr_elements *e, struct clr_item *item, bool *found,
                                     struct clr_error *error)
{
    *found = e->at < e->end;
    if (!*found)
        return CLR_OK;
    uint64_t i = e->at++;
    if (e->collection && e->collection->layout == CLR_COLLECTION_STACK)
        i = e->end - 1 - i;
    if (e->collection && e->collection->layout == CLR_COLLECTION_RING)
        i = (e->head + i) % e->array.count;
    item->has_key = e->collection && e->collection->layout == CLR_COLLECTION_PAIRED;
    if (item->has_key)
        item->key = clr_array_place(&e->keys, i);
    item->value = clr_array_place(&e->array, i);
    return clr_elements_split(e, item, error);
}

static enum clr_status next_entry(struct clr_elements *e, struct clr_item *item, bool *found,
                                  struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    while (e->at < e->end) {
        struct clr_place entry = clr_array_place(&e->array, e->at++);
        uint64_t next;
        bool is;
        if (e->at % POLL_EVERY == 0)
            CLR_TRY(clr_job_poll(e->job, "looking for elements", e->at, e->end, error));
        CLR_TRY(clr_elements_bind_type(e, entry.type, c->node, &e->nodes, &is, error));
        if (!is)
            return CLR_OK;
        if (clr_elements_has(e->nodes.managed, CLR_FIELD_NEXT)) {
            if (!clr_read_uint(e->dump->runtime->process,
                               entry.address + e->nodes.managed->fields[CLR_FIELD_NEXT].offset, 4,
                               &next)) {
                clr_elements_damaged(e, entry.address, "an entry is not saved");
                return CLR_OK;
            }
            if ((int32_t)(uint32_t)next < -1)
                continue;
        }
        if (c->layout == CLR_COLLECTION_TABLE) {
            uint64_t key = clr_elements_word(e, e->nodes.managed, CLR_FIELD_KEY, entry.address);
            if (key == 0 || key == e->array.address)
                continue;
        }
        *found = true;
        return clr_elements_item(e, e->nodes.managed, entry.address, item, error);
    }
    return CLR_OK;
}

/* Entries whose dependent handle holds an object: key and value are the handle's two slots. */
static enum clr_status next_weak(struct clr_elements *e, struct clr_item *item, bool *found,
                                 struct clr_error *error)
{
    while (e->at < e->end) {
        struct clr_place entry = clr_array_place(&e->array, e->at++);
        bool is;
        CLR_TRY(clr_elements_bind_type(e, entry.type, e->collection->node, &e->nodes, &is, error));
        if (!is)
            return CLR_OK;
        uint64_t address = clr_elements_word(e, e->nodes.managed, CLR_FIELD_HANDLE, entry.address);
        if (address == 0)
            continue;
        const struct clr_handle *handle =
            clr_handle_at(e->dump->handles, e->dump->handle_count, address);
        if (!handle || handle->kind != CLR_HANDLE_DEPENDENT)
            continue; /* what it held was collected */
        item->has_key = true;
        item->key = (struct clr_place){.address = handle->address, .element = CLR_ELEMENT_CLASS};
        item->value =
            (struct clr_place){.address = handle->secondary_slot, .element = CLR_ELEMENT_CLASS};
        *found = true;
        return CLR_OK;
    }
    return CLR_OK;
}

/* --- Start and end -----------------------------------------------------------------------------
 */

/* The row of LAYOUT's class itself; NULL. */
static enum clr_status find_row(struct clr_dump *dump, struct clr_layout *layout,
                                const struct clr_collection **row, struct clr_error *error)
{
    const char *name;
    CLR_TRY(clr_layout_bare_name(dump, layout, &name, error));
    for (*row = clr_collections; (*row)->name; ++*row)
        if (strcmp((*row)->name, name) == 0)
            return CLR_OK;
    *row = NULL;
    return CLR_OK;
}

/* What the type or a base type is as a collection: layout->collection; looked for once. */
static enum clr_status find_collection(struct clr_dump *dump, struct clr_layout *layout,
                                       struct clr_error *error)
{
    const struct clr_collection *row = NULL;
    if (layout->collection_looked)
        return CLR_OK;
    struct clr_layout *at = layout;
    for (; at; at = at->parent) {
        CLR_TRY(find_row(dump, at, &row, error));
        if (row)
            break;
    }
    bool is_other =
        row && row->overridden && at != layout && layout->type.module == at->type.module;
    if (row && !is_other) {
        layout->collection = row;
        layout->collection_of = row->derived ? layout : at;
    }
    layout->collection_looked = true;
    return CLR_OK;
}

static bool is_array(const struct clr_layout *layout)
{
    return layout->type.kind == CLR_KIND_ARRAY || layout->type.kind == CLR_KIND_SZARRAY;
}

enum clr_status clr_is_collection(struct clr_dump *dump, uint64_t object, bool *is,
                                  struct clr_error *error)
{
    struct clr_layout *layout;
    CLR_TRY(clr_object_layout(dump, object, &layout, error));
    *is = layout && is_array(layout);
    if (!layout || *is)
        return CLR_OK;
    CLR_TRY(find_collection(dump, layout, error));
    *is = layout->collection && !layout->collection->inside;
    return CLR_OK;
}

enum clr_status clr_collection_kind(struct clr_dump *dump, uint64_t object, const char **kind,
                                    struct clr_error *error)
{
    struct clr_layout *layout;
    *kind = NULL;
    CLR_TRY(clr_object_layout(dump, object, &layout, error));
    if (layout && is_array(layout)) {
        *kind = "array";
    } else if (layout) {
        CLR_TRY(find_collection(dump, layout, error));
        if (layout->collection && !layout->collection->inside) {
            const char *dot = strrchr(layout->collection->name, '.');
            *kind = dot ? dot + 1 : layout->collection->name;
        }
    }
    return CLR_OK;
}

/* A slice of what follows; slices of slices count from the outer one. */
static void enter_slice(struct clr_elements *e)
{
    uint64_t base = clr_elements_base(e, e->within),
             from = clr_elements_number(e, e->own, CLR_FIELD_HEAD, base),
             count = clr_elements_number(e, e->own, CLR_FIELD_COUNT, base);
    if (e->skip > count) {
        clr_elements_damaged(e, e->within, "a slice begins behind its end");
        return;
    }
    if (e->most > count - e->skip)
        e->most = count - e->skip;
    e->skip += from;
}

static enum clr_status fail_unknown(const struct clr_elements *e, const struct clr_layout *layout,
                                    struct clr_error *error)
{
    return clr_fail(error, CLR_MISUSE, e->object,
                    "elements: object 0x%llx is a %.120s: neither an array nor a collection "
                    "that is known here. field_values shows its fields",
                    (unsigned long long)e->within,
                    clr_type_name(e->dump->runtime, layout->type.address));
}

static enum clr_status start_layout(struct clr_elements *e, struct clr_error *error)
{
    switch (e->collection->layout) {
    case CLR_COLLECTION_EMPTY: e->done = true; return CLR_OK;
    case CLR_COLLECTION_BITS: start_bits(e); return CLR_OK;
    case CLR_COLLECTION_WEAK:
        CLR_TRY(clr_dump_need(e->dump, CLR_PART_HANDLES, e->job, error));
        break;
    case CLR_COLLECTION_CHAIN:
    case CLR_COLLECTION_TREE:
    case CLR_COLLECTION_HASHED:
    case CLR_COLLECTION_SEGMENTS:
    case CLR_COLLECTION_QUEUES:
    case CLR_COLLECTION_GROUPS:
    case CLR_COLLECTION_TWO_STACKS: return clr_nodes_start(e, error);
    default: break;
    }
    start_array(e);
    return CLR_OK;
}

/* What a collection that only holds another says about its elements. */
static void take_wrapper(struct clr_elements *e)
{
    const struct clr_collection *c = e->collection;
    if (c->pair[CLR_FIELD_VALUE])
        e->pair = c;
    if (c->side != CLR_SIDE_BOTH)
        e->side = c->side;
    e->unordered |= c->unordered;
    e->joined |= c->joined;
}

/* Goes through collections that only hold another: to an array, or one of the other layouts. */
static enum clr_status start_within(struct clr_elements *e, struct clr_error *error)
{
    struct clr_bounds bounds;
    bool is_view = false;
    for (unsigned depth = 0;; depth++) {
        struct clr_layout *layout;
        CLR_TRY(clr_object_layout(e->dump, e->within, &layout, error));
        if (!layout) {
            e->done = true; /* a null inside: nothing */
            return CLR_OK;
        }
        if (is_array(layout) && !is_view) {
            e->collection = NULL;
            if (clr_array_open(e->dump, e->within, &e->array))
                e->end = e->array.count;
            return CLR_OK;
        }
        CLR_TRY(find_collection(e->dump, layout, error));
        const struct clr_collection *c = e->collection = layout->collection;
        if (!c || (e->within == e->object && c->inside) || depth == MOST_INNER ||
            (is_view && c->layout != CLR_COLLECTION_TREE))
            return fail_unknown(e, layout, error);
        CLR_TRY(clr_elements_bind(e, layout->collection_of, c->own, &e->own, error));
        take_wrapper(e);
        if (c->layout == CLR_COLLECTION_SLICE) {
            enter_slice(e);
        } else if (c->layout == CLR_COLLECTION_VIEW) {
            CLR_TRY(clr_bounds_read(e, &bounds, error));
            is_view = true;
        } else if (c->layout != CLR_COLLECTION_INNER) {
            break;
        }
        if (e->done)
            return CLR_OK;
        uint64_t base = clr_elements_base(e, e->within);
        if (e->then == 0)
            e->then = clr_elements_word(e, e->own, CLR_FIELD_THEN, base);
        e->within = clr_elements_word(e, e->own, CLR_FIELD_ITEMS, base);
    }
    CLR_TRY(start_layout(e, error));
    return is_view && !e->done ? clr_bounds_apply(e, &bounds, error) : CLR_OK;
}

static bool is_plain_array(const struct clr_elements *e)
{
    return !e->collection || e->collection->layout == CLR_COLLECTION_LIST ||
           e->collection->layout == CLR_COLLECTION_PAIRED;
}

/* Leaves out what lies before a slice, and ends arrays where it ends. */
static enum clr_status enter_part(struct clr_elements *e, struct clr_error *error)
{
    struct clr_item item;
    bool found = true;
    if (is_plain_array(e) && !e->done) {
        if (e->skip > e->end || e->most > e->end - e->skip)
            clr_elements_damaged(e, e->within, "a slice ends outside of it");
        e->begin = e->at = e->done ? 0 : e->skip;
        e->end = e->done ? 0 : e->skip + e->most;
    }
    for (uint64_t left = e->skip; left > 0 && found && !is_plain_array(e); left--)
        CLR_TRY(clr_elements_next(e, &item, &found, error));
    e->position = 0;
    e->skip = 0;
    return CLR_OK;
}

enum clr_status clr_elements_start(struct clr_elements *elements, struct clr_dump *dump,
                                   struct clr_job *job, uint64_t object, bool *found,
                                   struct clr_error *error)
{
    uint32_t number;
    *elements = (struct clr_elements){
        .dump = dump, .job = job, .object = object, .within = object, .most = UINT64_MAX};
    *found = clr_number(dump->heap, object, &number);
    if (!*found) {
        elements->done = true;
        return CLR_OK;
    }
    CLR_TRY(start_within(elements, error));
    return elements->most != UINT64_MAX ? enter_part(elements, error) : CLR_OK;
}

/* --- Going through -----------------------------------------------------------------------------
 */

static enum clr_status next_in_layout(struct clr_elements *e, struct clr_item *item, bool *found,
                                      struct clr_error *error)
{
    switch (e->collection ? e->collection->layout : CLR_COLLECTION_LIST) {
    case CLR_COLLECTION_ENTRIES:
    case CLR_COLLECTION_TABLE: return next_entry(e, item, found, error);
    case CLR_COLLECTION_WEAK: return next_weak(e, item, found, error);
    case CLR_COLLECTION_CHAIN: return clr_chain_next(e, item, found, error);
    case CLR_COLLECTION_TREE: return clr_tree_next(e, item, found, error);
    case CLR_COLLECTION_HASHED: return clr_hashed_next(e, item, found, error);
    case CLR_COLLECTION_BUCKETS: return clr_buckets_next(e, item, found, error);
    case CLR_COLLECTION_SEGMENTS:
    case CLR_COLLECTION_QUEUES: return clr_rings_next(e, item, found, error);
    case CLR_COLLECTION_TWO_STACKS: return clr_two_stacks_next(e, item, found, error);
    case CLR_COLLECTION_GROUPS: return clr_groups_next(e, item, found, error);
    case CLR_COLLECTION_BITS: return next_bit(e, item, found);
    default: return next_in_array(e, item, found, error);
    }
}

/* Opens the collection that follows the one which has ended. */
static enum clr_status start_next(struct clr_elements *e, struct clr_error *error)
{
    e->within = e->then;
    e->then = 0;
    e->done = false;
    e->array = e->keys = (struct clr_array_view){0};
    e->begin = e->at = e->end = e->head = e->node = e->first_node = 0;
    e->tree = e->rest = (struct clr_tree_walk){0};
    e->nodes = e->inner = e->rests = (struct clr_node_fields){0};
    return start_within(e, error);
}

enum clr_status clr_elements_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                  struct clr_error *error)
{
    *item = (struct clr_item){0};
    *found = false;
    if (e->visited % POLL_EVERY == POLL_EVERY - 1)
        CLR_TRY(clr_job_poll(e->job, "looking for elements", e->visited, 0, error));
    if (e->skip == 0 && (uint64_t)e->position >= e->most) {
        e->done = true;
        e->then = 0;
    }
    while (!*found) {
        if (!e->done) {
            enum clr_status status = next_in_layout(e, item, found, error);
            e->done |= status != CLR_OK || !*found;
            CLR_TRY(status);
        } else if (e->then != 0) {
            CLR_TRY(start_next(e, error));
        } else {
            return CLR_OK;
        }
    }
    if (e->side == CLR_SIDE_KEYS && item->has_key)
        item->value = item->key;
    item->has_key &= e->side == CLR_SIDE_BOTH;
    item->position = e->position++;
    return CLR_OK;
}

bool clr_elements_seek(struct clr_elements *e, uint64_t position)
{
    if (e->collection || e->done || position > INT64_MAX)
        return false;
    e->at = position < e->end - e->begin ? e->begin + position : e->end;
    e->position = (int64_t)(e->at - e->begin);
    return true;
}

void clr_elements_finish(struct clr_elements *e)
{
    CLR_ARRAY_FREE(&e->reversed);
    e->done = true;
    e->then = 0;
}

/* --- Values and counts -------------------------------------------------------------------------
 */

/* The strings of the list that VALUE refers to, with commas: as .NET gives the values of a name. */
static enum clr_status join(struct clr_elements *e, struct clr_value *value,
                            struct clr_error *error)
{
    struct clr_elements list;
    struct clr_item item;
    struct clr_value part = {0};
    bool found, any = false;
    clr_text_clear(&value->text);
    enum clr_status status =
        clr_elements_start(&list, e->dump, e->job, value->target, &found, error);
    while (status == CLR_OK &&
           (status = clr_elements_next(&list, &item, &found, error)) == CLR_OK && found) {
        if (any)
            clr_text_char(&value->text, ',');
        any = true;
        item.value.element = CLR_ELEMENT_STRING; /* the list is of objects */
        status = clr_value_read(e->dump, &item.value, &part, error);
        if (status == CLR_OK && part.kind == CLR_VALUE_TEXT)
            clr_text_add(&value->text, part.text.data, part.text.length);
    }
    clr_elements_finish(&list);
    clr_value_deinit(&part);
    if (status == CLR_OK && value->text.failed)
        return clr_no_memory(error);
    value->kind = any ? CLR_VALUE_TEXT : CLR_VALUE_NONE;
    return status;
}

enum clr_status clr_elements_value(struct clr_elements *e, const struct clr_item *item,
                                   struct clr_value *value, struct clr_error *error)
{
    uint64_t byte;
    CLR_TRY(clr_value_read(e->dump, &item->value, value, error));
    if (item->is_bit && clr_read_uint(e->dump->process, item->value.address, 1, &byte)) {
        value->kind = CLR_VALUE_INTEGER;
        value->integer = (int64_t)(byte >> item->bit & 1);
    }
    return e->joined && value->is_reference && value->target != 0 ? join(e, value, error) : CLR_OK;
}

enum clr_status clr_elements_count(struct clr_elements *e, uint64_t *count, struct clr_error *error)
{
    struct clr_item item;
    bool found = true;
    *count = 0;
    enum clr_collection_layout layout = e->collection ? e->collection->layout : CLR_COLLECTION_LIST;
    if (e->then == 0 &&
        (is_plain_array(e) || (e->most == UINT64_MAX &&
                               (layout == CLR_COLLECTION_STACK || layout == CLR_COLLECTION_RING ||
                                layout == CLR_COLLECTION_BITS)))) {
        *count = e->done ? 0 : e->end - e->begin;
        return CLR_OK;
    }
    while (found) {
        CLR_TRY(clr_elements_next(e, &item, &found, error));
        *count += found;
    }
    return CLR_OK;
}

bool clr_elements_capacity(const struct clr_elements *e, uint64_t *capacity)
{
    *capacity = e->array.count;
    if (!e->collection || e->then != 0)
        return false;
    switch (e->collection->layout) {
    case CLR_COLLECTION_LIST:
    case CLR_COLLECTION_STACK:
    case CLR_COLLECTION_RING:
    case CLR_COLLECTION_ENTRIES: return true;
    case CLR_COLLECTION_PAIRED: return clr_elements_has(e->own, CLR_FIELD_COUNT);
    default: return false;
    }
}
