/*
 * Collections made of arrays; and which way an object is gone through (collections.c says it).
 *
 * Free entries: of a Dictionary and HashSet, next is below -1; a Hashtable's have no key, or the
 * table of buckets itself as the key.
 */
#include "inspect/elements.h"

#include <string.h>

#include "base/alloc.h"
#include "inspect/ways.h"

enum { MOST_INNER = 8, POLL_EVERY = 4096 };

/* --- Ways over arrays --------------------------------------------------------------------------
 */

static enum clr_status open_array(struct clr_elements *e, const char *paths,
                                  struct clr_array_view *array, struct clr_error *error)
{
    uint64_t object;
    *array = (struct clr_array_view){0};
    CLR_TRY(clr_way_reference_in(e, paths, &object, error));
    if (object != 0 && !clr_array_open(e->dump, object, array))
        clr_way_damaged(e, object, "there is no array");
    return CLR_OK;
}

static enum clr_status start_array_way(struct clr_elements *e, struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    uint64_t base = clr_way_fields_of(e, e->within);
    CLR_TRY(open_array(e, c->items, &e->array, error));
    if (c->keys)
        CLR_TRY(open_array(e, c->keys, &e->keys, error));
    e->end = e->array.count;
    if (c->keys && e->keys.count < e->end)
        e->end = e->keys.count;
    if (c->count) {
        uint64_t used;
        CLR_TRY(clr_way_number_in(e, e->layout, base, c->count, &used, error));
        if (used > e->end && !e->done)
            clr_way_damaged(e, e->within, "it claims more elements than its array has");
        else
            e->end = used;
    }
    if (c->head)
        CLR_TRY(clr_way_number_in(e, e->layout, base, c->head, &e->head, error));
    return CLR_OK;
}

static enum clr_status next_in_array(struct clr_elements *e, struct clr_item *item, bool *found,
                                     struct clr_error *error)
{
    *found = e->at < e->end;
    if (!*found)
        return CLR_OK;
    uint64_t i = e->at++;
    if (e->collection && e->collection->way == CLR_WAY_STACK)
        i = e->end - 1 - i;
    if (e->collection && e->collection->way == CLR_WAY_RING)
        i = (e->head + i) % e->array.count;
    item->has_key = e->collection && e->collection->way == CLR_WAY_PAIRED;
    if (item->has_key)
        item->key = clr_array_place(&e->keys, i);
    item->value = clr_array_place(&e->array, i);
    return clr_way_split(e, item, error);
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
        CLR_TRY(clr_way_learn(e, entry.type, false, &e->nodes, &is, error));
        if (!is)
            return CLR_OK;
        if (e->nodes.next) {
            if (!clr_read_uint(e->dump->runtime->process,
                               entry.address + e->nodes.next->field.offset, 4, &next)) {
                clr_way_damaged(e, entry.address, "an entry is not saved");
                return CLR_OK;
            }
            if ((int32_t)(uint32_t)next < -1)
                continue;
        }
        if (c->way == CLR_WAY_TABLE) {
            uint64_t key = clr_way_reference_at(e, entry.address, e->nodes.key);
            if (key == 0 || key == e->array.address)
                continue;
        }
        *found = true;
        return clr_way_give(e, &e->nodes, entry.address, item, error);
    }
    return CLR_OK;
}

static const struct clr_handle *find_handle(const struct clr_dump *dump, uint64_t address)
{
    size_t low = 0, high = dump->handle_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dump->handles[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < dump->handle_count && dump->handles[low].address == address ? &dump->handles[low]
                                                                             : NULL;
}

/* Entries whose dependent handle holds an object: key and value are the handle's two slots. */
static enum clr_status next_weak(struct clr_elements *e, struct clr_item *item, bool *found,
                                 struct clr_error *error)
{
    while (e->at < e->end) {
        struct clr_place entry = clr_array_place(&e->array, e->at++), slot;
        struct clr_layout *layout = NULL;
        uint64_t address;
        if (entry.type != 0)
            CLR_TRY(clr_layout_get(e->dump, entry.type, &layout, error));
        if (!layout) {
            clr_way_damaged(e, entry.address, "the type of an entry cannot be read");
            return CLR_OK;
        }
        CLR_TRY(clr_way_follow(e, layout, entry.address, e->collection->handle, &slot, error));
        if (!clr_read_word(e->dump->runtime->process, slot.address, &address) || address == 0)
            continue;
        const struct clr_handle *handle = find_handle(e->dump, address);
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

/* What the type or a base type is as a collection; looked for once. */
static enum clr_status find_collection(struct clr_dump *dump, struct clr_layout *layout,
                                       const struct clr_collection **collection,
                                       struct clr_error *error)
{
    struct clr_text bare = {0};
    *collection = layout->collection;
    if (layout->collection_looked)
        return CLR_OK;
    for (const struct clr_layout *at = layout; at && !*collection; at = at->parent) {
        const char *name = clr_type_name(dump->runtime, at->type.address);
        clr_text_clear(&bare);
        clr_bare_name(name, &bare);
        bare.failed |= clr_type_name_lost(name);
        for (const struct clr_collection *c = clr_collections; bare.data && c->name && !*collection;
             c++)
            if (strcmp(c->name, bare.data) == 0)
                *collection = c;
    }
    bool failed = bare.failed;
    clr_text_deinit(&bare);
    if (failed)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory for the name of a type");
    layout->collection = *collection;
    layout->collection_looked = true;
    return CLR_OK;
}

enum clr_status clr_is_collection(struct clr_dump *dump, uint64_t object, bool *is,
                                  struct clr_error *error)
{
    struct clr_layout *layout;
    const struct clr_collection *collection = NULL;
    CLR_TRY(clr_object_layout(dump, object, &layout, error));
    *is = layout && (layout->type.kind == CLR_KIND_ARRAY || layout->type.kind == CLR_KIND_SZARRAY);
    if (layout && !*is)
        CLR_TRY(find_collection(dump, layout, &collection, error));
    *is = *is || collection;
    return CLR_OK;
}

/* Goes through collections that only hold another: to an array, or one of the other ways. */
static enum clr_status start_within(struct clr_elements *e, struct clr_error *error)
{
    for (unsigned depth = 0;; depth++) {
        struct clr_layout *layout;
        CLR_TRY(clr_object_layout(e->dump, e->within, &layout, error));
        if (!layout) {
            e->done = true; /* a null inside: nothing */
            return CLR_OK;
        }
        e->layout = layout;
        if (layout->type.kind == CLR_KIND_ARRAY || layout->type.kind == CLR_KIND_SZARRAY) {
            e->collection = NULL;
            if (clr_array_open(e->dump, e->within, &e->array))
                e->end = e->array.count;
            return CLR_OK;
        }
        CLR_TRY(find_collection(e->dump, layout, &e->collection, error));
        if (!e->collection || depth == MOST_INNER)
            return clr_fail(
                error, CLR_MISUSE, e->object,
                "elements: object 0x%llx is a %.120s: neither an array nor a collection "
                "that is known here. field_values shows its fields",
                (unsigned long long)e->within,
                clr_type_name(e->dump->runtime, layout->type.address));
        if (e->collection->way != CLR_WAY_INNER)
            break;
        CLR_TRY(clr_way_reference_in(e, e->collection->items, &e->within, error));
    }
    switch (e->collection->way) {
    case CLR_WAY_NONE: e->done = true; return CLR_OK;
    case CLR_WAY_WEAK: CLR_TRY(clr_dump_need(e->dump, CLR_PART_HANDLES, e->job, error)); break;
    case CLR_WAY_CHAIN:
    case CLR_WAY_TREE:
    case CLR_WAY_HASHED:
    case CLR_WAY_SEGMENTS:
    case CLR_WAY_QUEUES:
    case CLR_WAY_BOTH: return clr_way_start_nodes(e, error);
    default: break;
    }
    return start_array_way(e, error);
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
    switch (e->collection ? e->collection->way : CLR_WAY_LIST) {
    case CLR_WAY_ENTRIES:
    case CLR_WAY_TABLE: status = next_entry(e, item, found, error); break;
    case CLR_WAY_WEAK: status = next_weak(e, item, found, error); break;
    case CLR_WAY_CHAIN: status = clr_way_next_in_chain(e, item, found, error); break;
    case CLR_WAY_TREE: status = clr_way_next_in_tree(e, item, found, error); break;
    case CLR_WAY_HASHED: status = clr_way_next_hashed(e, item, found, error); break;
    case CLR_WAY_BUCKETS: status = clr_way_next_in_buckets(e, item, found, error); break;
    case CLR_WAY_SEGMENTS:
    case CLR_WAY_QUEUES: status = clr_way_next_in_rings(e, item, found, error); break;
    case CLR_WAY_BOTH: status = clr_way_next_in_both(e, item, found, error); break;
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
    clr_free(e->reversed);
    e->reversed = NULL;
    e->done = true;
}
