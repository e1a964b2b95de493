/*
 * Collections made of nodes.
 *
 * A tree is gone through in order with a stack of its own; the trees of the libraries are balanced,
 * so 128 levels are more than memory can hold.
 *
 *   ConcurrentQueue    a segment holds [Head, Tail) modulo its power-of-two length; when it is
 *                      frozen for enqueues, twice the length has been added to Tail
 *   ConcurrentBag      each thread's queue holds [_headIndex, _tailIndex) modulo its length
 *   Immutable…         an empty tree or stack is one node without a left one (without a tail)
 */
#include "inspect/ways.h"

#include "base/alloc.h"
#include "runtime/object.h"

enum { POLL_EVERY = 4096 };

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory for the elements of a collection");
}

enum clr_status clr_way_next_in_chain(struct clr_elements *e, struct clr_item *item, bool *found,
                                      struct clr_error *error)
{
    if (e->node == 0 || e->done)
        return CLR_OK;
    CLR_TRY(clr_way_enter(e, e->node, false, &e->nodes, found, error));
    if (!*found)
        return CLR_OK;
    uint64_t base = clr_way_fields_of(e, e->node),
             next = clr_way_reference_at(e, base, e->nodes.next);
    if (e->collection->sentinel && next == 0) {
        *found = false;
        e->node = 0;
        return CLR_OK;
    }
    e->node = next == e->first_node ? 0 : next; /* a circle of its own design: LinkedList */
    return clr_way_give(e, &e->nodes, base, item, error);
}

/* The next node of a tree in order; *NODE 0 at the end. */
static enum clr_status next_tree_node(struct clr_elements *e, struct clr_tree_walk *tree,
                                      bool inner, struct clr_node_members *members, uint64_t *node,
                                      struct clr_error *error)
{
    bool is;
    *node = 0;
    while (tree->node != 0) {
        CLR_TRY(clr_way_enter(e, tree->node, inner, members, &is, error));
        if (!is)
            return CLR_OK;
        uint64_t left = clr_way_reference_at(e, clr_way_fields_of(e, tree->node), members->left);
        if (left == 0 && e->collection->sentinel) {
            tree->node = 0;
            break;
        }
        if (tree->used == CLR_TREE_DEPTH) {
            clr_way_damaged(e, tree->node, "its tree is deeper than a balanced one can be");
            return CLR_OK;
        }
        tree->stack[tree->used++] = tree->node;
        tree->node = left;
    }
    if (tree->used == 0)
        return CLR_OK;
    *node = tree->stack[--tree->used];
    CLR_TRY(clr_way_enter(e, *node, inner, members, &is, error));
    if (is)
        tree->node = clr_way_reference_at(e, clr_way_fields_of(e, *node), members->right);
    else
        *node = 0;
    return CLR_OK;
}

enum clr_status clr_way_next_in_tree(struct clr_elements *e, struct clr_item *item, bool *found,
                                     struct clr_error *error)
{
    uint64_t node;
    CLR_TRY(next_tree_node(e, &e->tree, false, &e->nodes, &node, error));
    *found = node != 0;
    return *found ? clr_way_give(e, &e->nodes, clr_way_fields_of(e, node), item, error) : CLR_OK;
}

/* A node's struct has one value, and a tree of those with the same hash. */
enum clr_status clr_way_next_hashed(struct clr_elements *e, struct clr_item *item, bool *found,
                                    struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    struct clr_place bucket, rest;
    struct clr_layout *layout = NULL;
    uint64_t node;
    if (e->rest.node != 0 || e->rest.used > 0) {
        CLR_TRY(next_tree_node(e, &e->rest, true, &e->inner, &node, error));
        if (node != 0) {
            *found = true;
            return clr_way_give(e, &e->inner, clr_way_fields_of(e, node), item, error);
        }
    }
    if (e->done)
        return CLR_OK;
    CLR_TRY(next_tree_node(e, &e->tree, false, &e->nodes, &node, error));
    if (node == 0)
        return CLR_OK;
    CLR_TRY(clr_member_place(e->dump, e->nodes.value, clr_way_fields_of(e, node), &bucket, error));
    if (bucket.type != 0)
        CLR_TRY(clr_layout_get(e->dump, bucket.type, &layout, error));
    if (!layout)
        return clr_way_missing(e, e->nodes.layout, c->first, error);
    CLR_TRY(clr_way_follow(e, layout, bucket.address, c->first, &item->value, error));
    CLR_TRY(clr_way_follow(e, layout, bucket.address, c->rest, &rest, error));
    e->rest = (struct clr_tree_walk){0};
    if (!clr_read_word(e->dump->runtime->process, rest.address, &e->rest.node))
        e->rest.node = 0;
    *found = true;
    return clr_way_split(e, item, error);
}

enum clr_status clr_way_next_in_buckets(struct clr_elements *e, struct clr_item *item, bool *found,
                                        struct clr_error *error)
{
    while (!*found && !e->done) {
        CLR_TRY(clr_way_next_in_chain(e, item, found, error));
        if (*found || e->at == e->end)
            return CLR_OK;
        struct clr_place bucket = clr_array_place(&e->array, e->at++);
        struct clr_layout *layout = NULL;
        if (e->at % POLL_EVERY == 0)
            CLR_TRY(clr_job_poll(e->job, "looking for elements", e->at, e->end, error));
        if (bucket.type != 0) { /* a struct around the reference, since .NET 8 */
            CLR_TRY(clr_layout_get(e->dump, bucket.type, &layout, error));
            if (layout)
                CLR_TRY(
                    clr_way_follow(e, layout, bucket.address, e->collection->node, &bucket, error));
        }
        if (!clr_read_word(e->dump->runtime->process, bucket.address, &e->node)) {
            clr_way_damaged(e, bucket.address, "a bucket is not saved");
            return CLR_OK;
        }
    }
    return CLR_OK;
}

/* Opens the ring in the segment or queue e->node, and goes to the next one. */
static enum clr_status open_ring(struct clr_elements *e, struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    struct clr_layout *layout;
    struct clr_place place;
    uint64_t slots, tail, frozen = 0, node = e->node, base = clr_way_fields_of(e, node);
    bool is = clr_way_visit(e, node);
    e->at = e->end = 0;
    if (!is)
        return CLR_OK;
    CLR_TRY(clr_object_layout(e->dump, node, &layout, error));
    if (!layout) {
        clr_way_damaged(e, node, "there is no segment");
        return CLR_OK;
    }
    CLR_TRY(clr_way_follow(e, layout, base, c->next, &place, error));
    if (!clr_read_word(e->dump->runtime->process, place.address, &e->node))
        e->node = 0;
    CLR_TRY(clr_way_follow(e, layout, base, c->slots, &place, error));
    if (!clr_read_word(e->dump->runtime->process, place.address, &slots) ||
        !clr_array_open(e->dump, slots, &e->array)) {
        clr_way_damaged(e, node, "a segment has no array");
        return CLR_OK;
    }
    CLR_TRY(clr_way_number_in(e, layout, base, c->head, &e->head, error));
    CLR_TRY(clr_way_number_in(e, layout, base, c->tail, &tail, error));
    if (c->frozen) {
        CLR_TRY(clr_way_follow(e, layout, base, c->frozen, &place, error));
        clr_read_uint(e->dump->runtime->process, place.address, 1, &frozen);
        if (frozen)
            tail = (uint32_t)(tail - 2 * e->array.count);
    }
    e->end = (uint32_t)(tail - e->head);
    if (e->end > e->array.count) {
        clr_way_damaged(e, node, "a segment claims more elements than its array has");
        e->end = 0;
    }
    return CLR_OK;
}

enum clr_status clr_way_next_in_rings(struct clr_elements *e, struct clr_item *item, bool *found,
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
    if (!e->collection->value)
        return CLR_OK;
    CLR_TRY(clr_way_learn(e, item->value.type, true, &e->inner, found, error));
    return *found ? clr_way_give(e, &e->inner, item->value.address, item, error) : CLR_OK;
}

/* The nodes of a chain, to be given from its end. */
static enum clr_status gather(struct clr_elements *e, uint64_t node, struct clr_error *error)
{
    bool is;
    while (node != 0) {
        CLR_TRY(clr_way_enter(e, node, false, &e->nodes, &is, error));
        if (!is)
            return CLR_OK;
        uint64_t next = clr_way_reference_at(e, clr_way_fields_of(e, node), e->nodes.next);
        if (next == 0)
            break; /* the empty one */
        if (!clr_grow(&e->reversed, e->reversed_count, &e->reversed_room, sizeof *e->reversed))
            return no_memory(error);
        e->reversed[e->reversed_count++] = node;
        node = next;
    }
    return CLR_OK;
}

enum clr_status clr_way_next_in_both(struct clr_elements *e, struct clr_item *item, bool *found,
                                     struct clr_error *error)
{
    bool is;
    CLR_TRY(clr_way_next_in_chain(e, item, found, error));
    if (*found || e->done || e->reversed_count == 0)
        return CLR_OK;
    uint64_t node = e->reversed[--e->reversed_count];
    CLR_TRY(clr_way_enter(e, node, false, &e->nodes, &is, error));
    *found = is;
    return is ? clr_way_give(e, &e->nodes, clr_way_fields_of(e, node), item, error) : CLR_OK;
}

enum clr_status clr_way_start_nodes(struct clr_elements *e, struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    uint64_t node = e->within, other;
    if (c->items)
        CLR_TRY(clr_way_reference_in(e, c->items, &node, error));
    if (c->way == CLR_WAY_TREE || c->way == CLR_WAY_HASHED) {
        e->tree.node = node;
        return CLR_OK;
    }
    e->node = e->first_node = node;
    if (c->way != CLR_WAY_BOTH)
        return CLR_OK;
    CLR_TRY(clr_way_reference_in(e, c->rest, &other, error));
    return gather(e, other, error);
}
