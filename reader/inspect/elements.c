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

/* What the type or a base type is as a collection: layout->collection; looked for once. */
static enum clr_status find_collection(struct clr_dump *dump, struct clr_layout *layout,
                                       struct clr_error *error)
{
    if (layout->collection_looked)
        return CLR_OK;
    for (struct clr_layout *at = layout; at && !layout->collection; at = at->parent) {
        const char *name;
        CLR_TRY(clr_layout_bare_name(dump, at, &name, error));
        for (const struct clr_collection *c = clr_collections; c->name && !layout->collection; c++)
            if (strcmp(c->name, name) == 0) {
                layout->collection = c;
                layout->collection_of = c->derived ? layout : at;
            }
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

/* Goes through collections that only hold another: to an array, or one of the other layouts. */
static enum clr_status start_within(struct clr_elements *e, struct clr_error *error)
{
    for (unsigned depth = 0;; depth++) {
        struct clr_layout *layout;
        CLR_TRY(clr_object_layout(e->dump, e->within, &layout, error));
        if (!layout) {
            e->done = true; /* a null inside: nothing */
            return CLR_OK;
        }
        if (is_array(layout)) {
            e->collection = NULL;
            if (clr_array_open(e->dump, e->within, &e->array))
                e->end = e->array.count;
            return CLR_OK;
        }
        CLR_TRY(find_collection(e->dump, layout, error));
        const struct clr_collection *c = e->collection = layout->collection;
        if (!c || (depth == 0 && c->inside) || depth == MOST_INNER)
            return clr_fail(
                error, CLR_MISUSE, e->object,
                "elements: object 0x%llx is a %.120s: neither an array nor a collection "
                "that is known here. field_values shows its fields",
                (unsigned long long)e->within,
                clr_type_name(e->dump->runtime, layout->type.address));
        CLR_TRY(clr_elements_bind(e, layout->collection_of, c->own, &e->own, error));
        if (c->pair[CLR_FIELD_VALUE])
            e->pair = c->pair;
        if (c->layout != CLR_COLLECTION_INNER)
            break;
        e->within = clr_elements_word(e, e->own, CLR_FIELD_ITEMS, clr_elements_base(e, e->within));
    }
    switch (e->collection->layout) {
    case CLR_COLLECTION_EMPTY: e->done = true; return CLR_OK;
    case CLR_COLLECTION_WEAK:
        CLR_TRY(clr_dump_need(e->dump, CLR_PART_HANDLES, e->job, error));
        break;
    case CLR_COLLECTION_CHAIN:
    case CLR_COLLECTION_TREE:
    case CLR_COLLECTION_HASHED:
    case CLR_COLLECTION_SEGMENTS:
    case CLR_COLLECTION_QUEUES:
    case CLR_COLLECTION_TWO_STACKS: return clr_nodes_start(e, error);
    default: break;
    }
    start_array(e);
    return CLR_OK;
}

enum clr_status clr_elements_start(struct clr_elements *elements, struct clr_dump *dump,
                                   struct clr_job *job, uint64_t object, bool *found,
                                   struct clr_error *error)
{
    uint32_t number;
    *elements = (struct clr_elements){.dump = dump, .job = job, .object = object, .within = object};
    *found = clr_number(dump->heap, object, &number);
    if (!*found) {
        elements->done = true;
        return CLR_OK;
    }
    return start_within(elements, error);
}

enum clr_status clr_elements_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                  struct clr_error *error)
{
    enum clr_status status = CLR_OK;
    *found = false;
    if (e->done)
        return CLR_OK;
    if (e->visited % POLL_EVERY == POLL_EVERY - 1)
        CLR_TRY(clr_job_poll(e->job, "looking for elements", e->visited, 0, error));
    switch (e->collection ? e->collection->layout : CLR_COLLECTION_LIST) {
    case CLR_COLLECTION_ENTRIES:
    case CLR_COLLECTION_TABLE: status = next_entry(e, item, found, error); break;
    case CLR_COLLECTION_WEAK: status = next_weak(e, item, found, error); break;
    case CLR_COLLECTION_CHAIN: status = clr_chain_next(e, item, found, error); break;
    case CLR_COLLECTION_TREE: status = clr_tree_next(e, item, found, error); break;
    case CLR_COLLECTION_HASHED: status = clr_hashed_next(e, item, found, error); break;
    case CLR_COLLECTION_BUCKETS: status = clr_buckets_next(e, item, found, error); break;
    case CLR_COLLECTION_SEGMENTS:
    case CLR_COLLECTION_QUEUES: status = clr_rings_next(e, item, found, error); break;
    case CLR_COLLECTION_TWO_STACKS: status = clr_two_stacks_next(e, item, found, error); break;
    default: status = next_in_array(e, item, found, error); break;
    }
    if (status == CLR_OK && *found)
        item->position = e->position++;
    else
        e->done = true;
    return status;
}

bool clr_elements_seek(struct clr_elements *e, uint64_t position)
{
    if (e->collection || e->done || position > INT64_MAX)
        return false;
    e->at = position < e->end ? position : e->end;
    e->position = (int64_t)e->at;
    return true;
}

void clr_elements_finish(struct clr_elements *e)
{
    CLR_ARRAY_FREE(&e->reversed);
    e->done = true;
}
