/*
 * Collections made of nodes.
 *
 * A tree is gone through in order with a stack; the trees of the libraries are balanced,
 * so 128 levels are more than memory can hold.
 *
 *   ConcurrentQueue    a segment holds [Head, Tail) modulo its power-of-two length; when it is
 *                      frozen for enqueues, twice the length has been added to Tail
 *   ConcurrentBag      each thread's queue holds [_headIndex, _tailIndex) modulo its length
 *   SingleProducer…    the same with places in the array, one of which stays free
 *   Immutable…         an empty tree or stack is one node without a left one (without a tail)
 *   Lookup             knows its last grouping, whose _next is the first; what holds a grouping is
 *                      the _next of the one before
 */
#include "inspect/internal.h"

#include "runtime/object.h"

enum { POLL_EVERY = 4096 };

enum clr_status clr_chain_next(struct clr_elements *e, struct clr_item *item, bool *found,
                               struct clr_error *error)
{
    if (e->node == 0 || e->done)
        return CLR_OK;
    CLR_TRY(clr_elements_enter(e, e->node, e->collection->node, &e->nodes, found, error));
    if (!*found)
        return CLR_OK;
    uint64_t base = clr_elements_base(e, e->node),
             next = clr_elements_word(e, e->nodes.managed, CLR_FIELD_NEXT, base);
    if (e->collection->sentinel && next == 0) {
        *found = false;
        e->node = 0;
        return CLR_OK;
    }
    e->node = next == e->first_node ? 0 : next; /* LinkedList: a cycle by design */
    return clr_elements_item(e, e->nodes.managed, base, item, error);
}

/* The next node of a tree in order; *NODE 0 at the end. */
static enum clr_status next_tree_node(struct clr_elements *e, struct clr_tree_walk *tree,
                                      const char *const *names, struct clr_node_fields *fields,
                                      uint64_t *node, struct clr_error *error)
{
    bool is;
    *node = 0;
    while (tree->node != 0) {
        CLR_TRY(clr_elements_enter(e, tree->node, names, fields, &is, error));
        if (!is)
            return CLR_OK;
        uint64_t left =
            clr_elements_word(e, fields->managed, CLR_FIELD_LEFT, clr_elements_base(e, tree->node));
        if (left == 0 && e->collection->sentinel) {
            tree->node = 0;
            break;
        }
        if (tree->used == CLR_TREE_DEPTH) {
            clr_elements_damaged(e, tree->node, "its tree is deeper than a balanced one can be");
            return CLR_OK;
        }
        tree->stack[tree->used++] = tree->node;
        tree->node = left;
    }
    if (tree->used == 0)
        return CLR_OK;
    *node = tree->stack[--tree->used];
    CLR_TRY(clr_elements_enter(e, *node, names, fields, &is, error));
    if (is)
        tree->node =
            clr_elements_word(e, fields->managed, CLR_FIELD_RIGHT, clr_elements_base(e, *node));
    else
        *node = 0;
    return CLR_OK;
}

enum clr_status clr_tree_next(struct clr_elements *e, struct clr_item *item, bool *found,
                              struct clr_error *error)
{
    uint64_t node;
    CLR_TRY(next_tree_node(e, &e->tree, e->collection->node, &e->nodes, &node, error));
    *found = node != 0;
    return *found ? clr_elements_item(e, e->nodes.managed, clr_elements_base(e, node), item, error)
                  : CLR_OK;
}

/* A node's struct has one value, and a tree of those with the same hash. */
enum clr_status clr_hashed_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    struct clr_place bucket;
    uint64_t node;
    bool is;
    if (e->rest.node != 0 || e->rest.used > 0) {
        CLR_TRY(next_tree_node(e, &e->rest, c->rest, &e->rests, &node, error));
        if (node != 0) {
            *found = true;
            return clr_elements_item(e, e->rests.managed, clr_elements_base(e, node), item, error);
        }
    }
    if (e->done)
        return CLR_OK;
    CLR_TRY(next_tree_node(e, &e->tree, c->node, &e->nodes, &node, error));
    if (node == 0)
        return CLR_OK;
    CLR_TRY(clr_managed_place(e->dump, &e->nodes.managed->fields[CLR_FIELD_VALUE],
                              clr_elements_base(e, node), &bucket, error));
    CLR_TRY(clr_elements_bind_type(e, bucket.type, c->inner, &e->inner, &is, error));
    if (!is)
        return CLR_OK;
    CLR_TRY(clr_managed_place(e->dump, &e->inner.managed->fields[CLR_FIELD_FIRST], bucket.address,
                              &item->value, error));
    e->rest = (struct clr_tree_walk){
        .node = clr_elements_word(e, e->inner.managed, CLR_FIELD_REST, bucket.address)};
    *found = true;
    return clr_elements_split(e, item, error);
}

enum clr_status clr_buckets_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                 struct clr_error *error)
{
    while (!*found && !e->done) {
        CLR_TRY(clr_chain_next(e, item, found, error));
        if (*found || e->at == e->end)
            return CLR_OK;
        struct clr_place bucket = clr_array_place(&e->array, e->at++);
        bool is;
        if (e->at % POLL_EVERY == 0)
            CLR_TRY(clr_job_poll(e->job, "looking for elements", e->at, e->end, error));
        if (bucket.type != 0) { /* a struct around the reference, since .NET 8 */
            CLR_TRY(clr_elements_bind_type(e, bucket.type, e->collection->inner, &e->inner, &is,
                                           error));
            if (!is)
                return CLR_OK;
            bucket.address += e->inner.managed->fields[CLR_FIELD_FIRST].offset;
        }
        if (!clr_read_word(e->dump->runtime->process, bucket.address, &e->node)) {
            clr_elements_damaged(e, bucket.address, "a bucket is not saved");
            return CLR_OK;
        }
    }
    return CLR_OK;
}

/* Opens the ring in the segment or queue e->node, and goes to the next one. */
static enum clr_status open_ring(struct clr_elements *e, struct clr_error *error)
{
    uint64_t node = e->node, base = clr_elements_base(e, node), frozen = 0;
    bool is;
    e->at = e->end = 0;
    CLR_TRY(clr_elements_enter(e, node, e->collection->node, &e->nodes, &is, error));
    if (!is)
        return CLR_OK;
    const struct clr_managed *fields = e->nodes.managed;
    e->node = clr_elements_word(e, fields, CLR_FIELD_NEXT, base);
    if (!clr_array_open(e->dump, clr_elements_word(e, fields, CLR_FIELD_ITEMS, base), &e->array)) {
        clr_elements_damaged(e, node, "a segment has no array");
        return CLR_OK;
    }
    e->head = clr_elements_number(e, fields, CLR_FIELD_HEAD, base);
    uint64_t tail = clr_elements_number(e, fields, CLR_FIELD_TAIL, base);
    if (clr_elements_has(fields, CLR_FIELD_FROZEN))
        clr_read_uint(e->dump->runtime->process, base + fields->fields[CLR_FIELD_FROZEN].offset, 1,
                      &frozen);
    if (frozen)
        tail = (uint32_t)(tail - 2 * e->array.count);
    e->end = (uint32_t)(tail - e->head);
    if (e->collection->masked) /* an array's length is a power of two */
        e->end &= e->array.count - 1;
    if (e->end > e->array.count) {
        clr_elements_damaged(e, node, "a segment claims more elements than its array has");
        e->end = 0;
    }
    return CLR_OK;
}

enum clr_status clr_rings_next(struct clr_elements *e, struct clr_item *item, bool *found,
                               struct clr_error *error)
{
    while (e->at == e->end) {
        if (e->node == 0 || e->done)
            return CLR_OK;
        CLR_TRY(open_ring(e, error));
    }
    item->value = clr_array_place(&e->array, (e->head + e->at++) % e->array.count);
    item->has_key = false;
    *found = true;
    if (!e->collection->inner[CLR_FIELD_VALUE])
        return CLR_OK;
    CLR_TRY(
        clr_elements_bind_type(e, item->value.type, e->collection->inner, &e->inner, found, error));
    return *found ? clr_elements_item(e, e->inner.managed, item->value.address, item, error)
                  : CLR_OK;
}

enum clr_status clr_groups_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                struct clr_error *error)
{
    uint64_t before = e->node, base;
    if (before == 0 || e->done)
        return CLR_OK;
    CLR_TRY(clr_elements_enter(e, before, e->collection->node, &e->nodes, found, error));
    if (!*found)
        return CLR_OK;
    base = clr_elements_base(e, before);
    CLR_TRY(clr_managed_place(e->dump, &e->nodes.managed->fields[CLR_FIELD_NEXT], base,
                              &item->value, error));
    uint64_t node = clr_elements_word(e, e->nodes.managed, CLR_FIELD_NEXT, base);
    CLR_TRY(clr_elements_enter(e, node, e->collection->node, &e->nodes, found, error));
    if (!*found)
        return CLR_OK;
    item->has_key = true;
    e->node = node == e->first_node ? 0 : node;
    return clr_managed_place(e->dump, &e->nodes.managed->fields[CLR_FIELD_KEY],
                             clr_elements_base(e, node), &item->key, error);
}

/* The nodes of a chain, to be given from its end. */
static enum clr_status gather(struct clr_elements *e, uint64_t node, struct clr_error *error)
{
    bool is;
    while (node != 0) {
        CLR_TRY(clr_elements_enter(e, node, e->collection->node, &e->nodes, &is, error));
        if (!is)
            return CLR_OK;
        uint64_t next =
            clr_elements_word(e, e->nodes.managed, CLR_FIELD_NEXT, clr_elements_base(e, node));
        if (next == 0)
            break; /* the empty one */
        if (!CLR_ARRAY_ADD(&e->reversed, node))
            return clr_no_memory(error);
        node = next;
    }
    return CLR_OK;
}

enum clr_status clr_two_stacks_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                    struct clr_error *error)
{
    CLR_TRY(clr_chain_next(e, item, found, error));
    if (*found || e->done || e->reversed.count == 0)
        return CLR_OK;
    uint64_t node = e->reversed.items[--e->reversed.count];
    CLR_TRY(clr_elements_enter(e, node, e->collection->node, &e->nodes, found, error));
    return *found ? clr_elements_item(e, e->nodes.managed, clr_elements_base(e, node), item, error)
                  : CLR_OK;
}

enum clr_status clr_nodes_start(struct clr_elements *e, struct clr_error *error)
{
    const uint64_t base = clr_elements_base(e, e->within);
    uint64_t node = clr_elements_has(e->own, CLR_FIELD_ITEMS)
                        ? clr_elements_word(e, e->own, CLR_FIELD_ITEMS, base)
                        : e->within;
    if (e->collection->layout == CLR_COLLECTION_TREE ||
        e->collection->layout == CLR_COLLECTION_HASHED) {
        e->tree.node = node;
        return CLR_OK;
    }
    e->node = e->first_node = node;
    return e->collection->layout == CLR_COLLECTION_TWO_STACKS
               ? gather(e, clr_elements_word(e, e->own, CLR_FIELD_REST, base), error)
               : CLR_OK;
}
