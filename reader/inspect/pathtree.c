/*
 * Every reachable object has one parent in the search of graph/reach.c. An object's node is the
 * child of its parent's node by the field and the object's type; nodes are shared, so the tree has
 * as many nodes as there are different paths of fields.
 *
 * Folding: if a node further up the path has the same field and type, the object belongs to that
 * node. A path of nodes therefore never holds a pair twice, and its length is bounded by the number
 * of pairs, however long lists are.
 *
 * Objects are taken in the order of their numbers; the path up from each goes to the first object
 * that has its node, so every object is looked at once.
 */
#include "inspect/pathtree.h"

#include <string.h>

#include "base/alloc.h"

struct child {             /* of a node, by field and type */
    uint32_t parent, node; /* node: CLR_NO_NODE if the place is free */
    const char *field;
    uint64_t type;
    uint32_t edge;
};

struct build {
    struct clr_dump *dump;
    struct clr_path_tree *tree;
    struct child *children; /* open addressing, power of two, half full at most */
    size_t child_room, child_count;
    uint32_t *node_of; /* by object: number + 1 of its node */
    uint32_t *up;      /* objects on the path up */
    size_t up_room;
    const struct clr_shape *shapes;
};

static struct child *place_of(const struct build *b, const struct child *key)
{
    uint64_t hash = key->type * 31 + (uintptr_t)key->field + key->edge;
    size_t at = clr_map_hash(clr_hash_number(hash) + key->parent) & (b->child_room - 1);
    while (b->children[at].node != CLR_NO_NODE &&
           (b->children[at].parent != key->parent || b->children[at].field != key->field ||
            b->children[at].type != key->type || b->children[at].edge != key->edge))
        at = (at + 1) & (b->child_room - 1);
    return &b->children[at];
}

static bool make_room(struct build *b)
{
    if ((b->child_count + 1) * 2 <= b->child_room)
        return true;
    struct build grown = *b;
    grown.child_room = b->child_room ? b->child_room * 2 : 256;
    grown.children = clr_alloc(grown.child_room, sizeof *grown.children);
    if (!grown.children)
        return false;
    for (size_t i = 0; i < grown.child_room; i++)
        grown.children[i].node = CLR_NO_NODE;
    for (size_t i = 0; i < b->child_room; i++)
        if (b->children[i].node != CLR_NO_NODE)
            *place_of(&grown, &b->children[i]) = b->children[i];
    clr_free(b->children);
    b->children = grown.children;
    b->child_room = grown.child_room;
    return true;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The node of an object whose parent's node is KEY->parent: an older one if the step repeats. */
static enum clr_status node_for(struct build *b, struct child key, uint32_t root, uint32_t number,
                                uint32_t *node, struct clr_error *error)
{
    struct clr_path_tree *tree = b->tree;
    if (!make_room(b))
        return clr_no_memory(error);
    struct child *place = place_of(b, &key);
    if (place->node == CLR_NO_NODE) {
        uint32_t found = CLR_NO_NODE;
        for (uint32_t up = key.parent; up != CLR_NO_NODE && tree->nodes[up].parent != CLR_NO_NODE;
             up = tree->nodes[up].parent)
            if (tree->nodes[up].type == key.type && tree->nodes[up].edge == key.edge &&
                same_text(tree->nodes[up].field, key.field))
                found = up;
        if (found == CLR_NO_NODE) {
            if (tree->count >= CLR_NO_NODE - 1 ||
                !clr_grow(&tree->nodes, tree->count, &tree->room, sizeof *tree->nodes))
                return clr_no_memory(error);
            found = (uint32_t)tree->count++;
            tree->nodes[found] = (struct clr_path_node){
                .parent = key.parent,
                .root = root,
                .edge = key.edge,
                .type = key.type,
                .field = key.parent == CLR_NO_NODE ? NULL : key.field,
                .sample = number,
                .root_name =
                    key.parent == CLR_NO_NODE ? key.field : tree->nodes[key.parent].root_name,
                .depth = key.parent == CLR_NO_NODE ? 0 : tree->nodes[key.parent].depth + 1};
            if (key.parent != CLR_NO_NODE)
                tree->nodes[found].root = tree->nodes[key.parent].root;
        }
        key.node = found;
        *place = key;
        b->child_count++;
    }
    *node = place->node;
    if (number < tree->nodes[*node].sample)
        tree->nodes[*node].sample = number;
    return CLR_OK;
}

/* Texts of roots are kept once each; their addresses are the keys of the top nodes. */
static enum clr_status root_names(struct build *b, const char ***names, struct clr_error *error)
{
    const struct clr_roots *roots = b->dump->roots;
    size_t *at = clr_alloc(roots->count, sizeof *at);
    struct clr_text text = {0};
    struct clr_map first = {0}; /* hash of the text -> place + 1 */
    *names = clr_alloc(roots->count, sizeof **names);
    bool failed = !at || !*names;
    for (size_t i = 0; !failed && i < roots->count; i++) {
        uint64_t hash = 14695981039346656037u, place;
        clr_text_clear(&text);
        clr_root_name(b->dump->runtime, &roots->rows[i], &text);
        for (size_t k = 0; k < text.length; k++)
            hash = (hash ^ (unsigned char)text.data[k]) * 1099511628211u;
        hash |= 1;
        if (clr_map_get(&first, hash, &place) &&
            same_text(b->tree->names.data + place - 1, text.data ? text.data : "")) {
            at[i] = place - 1;
        } else {
            at[i] = b->tree->names.length;
            clr_text_add(&b->tree->names, text.data ? text.data : "", text.length);
            clr_text_add(&b->tree->names, "", 1);
            failed = !clr_map_put(&first, hash, at[i] + 1);
        }
        failed |= text.failed || b->tree->names.failed;
    }
    for (size_t i = 0; !failed && i < roots->count; i++)
        (*names)[i] = b->tree->names.data + at[i];
    clr_map_deinit(&first);
    clr_text_deinit(&text);
    clr_free(at);
    if (!failed)
        return CLR_OK;
    clr_free(*names);
    *names = NULL;
    return clr_no_memory(error);
}

static enum clr_status top_node(struct build *b, const char *const *names, uint32_t number,
                                uint32_t shape, uint32_t *node, struct clr_error *error)
{
    uint32_t root = (uint32_t)clr_wide_get(&b->dump->reach.parent, number);
    struct child key = {.parent = CLR_NO_NODE,
                        .field = names[root],
                        .type = b->shapes[shape].type,
                        .edge = b->dump->roots->rows[root].kind};
    return node_for(b, key, root, number, node, error);
}

/* Finds the node of an object, and of all on the path up to one that has its. */
static enum clr_status append_path(struct build *b, const char *const *names, uint32_t number,
                                   struct clr_error *error)
{
    const struct clr_dump *dump = b->dump;
    uint64_t units = clr_units(dump->heap);
    size_t length = 0;
    while (b->node_of[number] == 0) {
        if (!clr_grow(&b->up, length, &b->up_room, sizeof *b->up))
            return clr_no_memory(error);
        b->up[length++] = number;
        if (clr_reach_distance(&dump->reach, number) == 0)
            break;
        uint64_t edge = clr_wide_get(&dump->reach.parent, number);
        number = edge < units ? clr_unit_owner(dump->heap, edge)
                              : dump->refs->dependents[edge - units].source;
    }
    while (length-- > 0) {
        struct clr_object object;
        uint32_t node;
        number = b->up[length];
        if (!clr_object_read(dump->heap, number, &object))
            return clr_fail(error, CLR_FAULT, clr_address(dump->heap, number),
                            "object 0x%llx was walked and cannot be read any more",
                            (unsigned long long)clr_address(dump->heap, number));
        if (clr_reach_distance(&dump->reach, number) == 0) {
            CLR_TRY(top_node(b, names, number, object.shape, &node, error));
        } else {
            struct clr_ref ref;
            struct child key = {.type = b->shapes[object.shape].type};
            if (!clr_edge_ref(dump->refs, clr_wide_get(&dump->reach.parent, number), &ref))
                return clr_fail(error, CLR_FAULT, object.address,
                                "the reference to object 0x%llx cannot be read any more",
                                (unsigned long long)object.address);
            key.parent = b->node_of[ref.source_number] - 1;
            key.edge = ref.kind;
            CLR_TRY(clr_ref_field(b->dump, &ref, &key.field, error));
            CLR_TRY(node_for(b, key, 0, number, &node, error));
        }
        b->node_of[number] = node + 1;
        b->tree->nodes[node].object_count++;
        b->tree->nodes[node].size += object.size;
    }
    return CLR_OK;
}

static enum clr_status run(struct build *b, struct clr_job *job, struct clr_error *error)
{
    enum { POLL_OBJECTS = 1 << 14 };
    struct clr_dump *dump = b->dump;
    uint32_t count = clr_heap_count(dump->heap);
    const char **names;
    clr_heap_shapes(dump->heap, &b->shapes);
    if (!(b->node_of = clr_alloc_large(count, sizeof *b->node_of)))
        return clr_no_memory(error);
    CLR_TRY(root_names(b, &names, error));
    enum clr_status status = CLR_OK;
    for (uint32_t number = 0; status == CLR_OK && number < count; number++) {
        if (clr_reach_distance(&dump->reach, number) != CLR_UNREACHED)
            status = append_path(b, names, number, error);
        if (status == CLR_OK && number % POLL_OBJECTS == 0)
            status = clr_job_poll(job, "merging paths", number, count, error);
    }
    clr_free(names);
    struct clr_path_node *nodes = b->tree->nodes;
    for (size_t i = b->tree->count; i-- > 0;) {
        nodes[i].total_size += nodes[i].size;
        if (nodes[i].parent != CLR_NO_NODE)
            nodes[nodes[i].parent].total_size += nodes[i].total_size;
    }
    return status;
}

enum clr_status clr_path_tree_build(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_path_tree **tree, struct clr_error *error)
{
    struct build b = {.dump = dump};
    *tree = NULL;
    if (!(b.tree = clr_alloc(1, sizeof *b.tree)))
        return clr_no_memory(error);
    enum clr_status status = run(&b, job, error);
    clr_free(b.children);
    clr_free_large(b.node_of, clr_heap_count(dump->heap), sizeof *b.node_of);
    clr_free(b.up);
    if (status != CLR_OK) {
        clr_path_tree_destroy(b.tree);
        return status;
    }
    *tree = b.tree;
    return CLR_OK;
}

void clr_path_tree_destroy(struct clr_path_tree *tree)
{
    if (!tree)
        return;
    clr_free(tree->nodes);
    clr_text_deinit(&tree->names);
    clr_free(tree);
}

/* --- Text ------------------------------------------------------------------------------------ */

void clr_path_text_root(struct clr_dump *dump, const struct clr_root *root, const char *name,
                        uint64_t type, struct clr_text *text)
{
    clr_text_put(text, clr_root_kind_text(root->kind));
    if (*name && strcmp(name, clr_root_kind_text(root->kind)) != 0)
        clr_text_format(text, " %s", name);
    clr_text_format(text, " -> %s", clr_type_name(dump->runtime, type));
}

void clr_path_text_step(struct clr_dump *dump, enum clr_ref_kind edge, const char *field,
                        uint64_t type, struct clr_text *text)
{
    clr_text_format(text, " -> %s %s", field ? field : clr_ref_kind_text(edge),
                    clr_type_name(dump->runtime, type));
}

void clr_path_tree_text(struct clr_dump *dump, const struct clr_path_tree *tree, uint32_t node,
                        struct clr_text *text)
{
    uint32_t *steps = clr_alloc((size_t)tree->nodes[node].depth + 1, sizeof *steps);
    size_t length = 0;
    if (!steps) {
        text->failed = true;
        return;
    }
    for (uint32_t up = node; up != CLR_NO_NODE; up = tree->nodes[up].parent)
        steps[length++] = up;
    while (length-- > 0) {
        const struct clr_path_node *step = &tree->nodes[steps[length]];
        if (step->parent == CLR_NO_NODE)
            clr_path_text_root(dump, &dump->roots->rows[step->root], step->root_name, step->type,
                               text);
        else
            clr_path_text_step(dump, step->edge, step->field, step->type, text);
    }
    clr_free(steps);
}
