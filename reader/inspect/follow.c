/*
 * Fields of collections by their names: what does not belong to one way.
 *
 * A node or entry is a struct or object whose members are looked up once for its type and kept
 * until another type comes. Every node is counted: more of them than there are objects on the heap
 * is a circle.
 */
#include "inspect/ways.h"

#include <string.h>

#include "runtime/object.h"

void clr_way_damaged(struct clr_elements *e, uint64_t address, const char *what)
{
    clr_problem(e->dump->problems, CLR_WARNING, "elements", address, 0,
                "collection 0x%llx: %s at 0x%llx; the rest of its elements is left out",
                (unsigned long long)e->object, what, (unsigned long long)address);
    e->done = true;
}

/* Counts a node: false, with a problem, in a circle. */
bool clr_way_visit(struct clr_elements *e, uint64_t node)
{
    if (++e->visited <= clr_heap_count(e->dump->heap))
        return true;
    clr_way_damaged(e, node, "its nodes go in a circle");
    return false;
}

/* --- Fields by name ----------------------------------------------------------------------------
 */

/* The part of PATH up to '.', '|' or its end. */
static size_t word_length(const char *path)
{
    return strcspn(path, ".|");
}

/* The first of the names in NAMES ('a|b') that LAYOUT has. */
static const struct clr_member *find_one(const struct clr_layout *layout, const char *names)
{
    for (const char *name = names;; name++) {
        size_t length = strcspn(name, "|");
        const struct clr_member *member = clr_layout_find(layout, name, length);
        name += length;
        if (member || !*name)
            return member;
    }
}

enum clr_status clr_way_missing(const struct clr_elements *e, const struct clr_layout *layout,
                                const char *name, struct clr_error *error)
{
    return clr_fail(error, CLR_UNSUPPORTED, e->object,
                    "elements: %.120s has no field '%.*s' in this release: the layout of this "
                    "collection is not known. field_values and refs show what is there",
                    clr_type_name(e->dump->runtime, layout->type.address), (int)strcspn(name, "|"),
                    name);
}

/* A member that must be there; NAMES may be NULL: none is asked for. */
enum clr_status clr_way_need(const struct clr_elements *e, const struct clr_layout *layout,
                             const char *names, const struct clr_member **member,
                             struct clr_error *error)
{
    *member = names ? find_one(layout, names) : NULL;
    return names && !*member ? clr_way_missing(e, layout, names, error) : CLR_OK;
}

/* Goes along one path from BASE, where a struct of LAYOUT or the fields of an object of it begin.
 * *PLACE is the last field's; its address is 0 behind a null or a reference to no object. *HAS is
 * false if a field is not there. */
static enum clr_status follow_path(const struct clr_elements *e, const struct clr_layout *layout,
                                   uint64_t base, const char *path, struct clr_place *place,
                                   bool *has, struct clr_error *error)
{
    for (;;) {
        size_t length = word_length(path);
        const struct clr_member *member = clr_layout_find(layout, path, length);
        *has = member != NULL;
        if (!member)
            return CLR_OK;
        CLR_TRY(clr_member_place(e->dump, member, base, place, error));
        path += length;
        if (*path != '.')
            return CLR_OK;
        path++;
        struct clr_layout *next = NULL;
        if (clr_element_is_reference(place->element)) {
            uint64_t object;
            if (!clr_read_word(e->dump->runtime->process, place->address, &object))
                object = 0;
            CLR_TRY(clr_object_layout(e->dump, object, &next, error));
            base = object + e->dump->runtime->word;
        } else if (place->type != 0) {
            CLR_TRY(clr_layout_get(e->dump, place->type, &next, error));
            base = place->address;
        }
        if (!next) {
            place->address = 0;
            return CLR_OK;
        }
        layout = next;
    }
}

/* The same for alternatives; what none of them finds is the error. */
enum clr_status clr_way_follow(const struct clr_elements *e, const struct clr_layout *layout,
                               uint64_t base, const char *paths, struct clr_place *place,
                               struct clr_error *error)
{
    for (const char *path = paths;; path++) {
        bool has;
        CLR_TRY(follow_path(e, layout, base, path, place, &has, error));
        if (has)
            return CLR_OK;
        path += strcspn(path, "|");
        if (!*path)
            return clr_way_missing(e, layout, paths, error);
    }
}

uint64_t clr_way_fields_of(const struct clr_elements *e, uint64_t object)
{
    return object + e->dump->runtime->word;
}

/* The reference in a field of the collection; 0: null, or not saved. */
enum clr_status clr_way_reference_in(const struct clr_elements *e, const char *paths,
                                     uint64_t *object, struct clr_error *error)
{
    struct clr_place place;
    CLR_TRY(clr_way_follow(e, e->layout, clr_way_fields_of(e, e->within), paths, &place, error));
    if (place.address == 0 || !clr_read_word(e->dump->runtime->process, place.address, object))
        *object = 0;
    return CLR_OK;
}

/* An i32 in a field of LAYOUT at BASE, as it is; 0 if it is not saved. */
enum clr_status clr_way_number_in(const struct clr_elements *e, const struct clr_layout *layout,
                                  uint64_t base, const char *paths, uint64_t *number,
                                  struct clr_error *error)
{
    struct clr_place place;
    uint32_t raw;
    CLR_TRY(clr_way_follow(e, layout, base, paths, &place, error));
    *number = place.address != 0 && clr_read_u32(e->dump->runtime->process, place.address, &raw)
                  ? raw
                  : 0;
    return CLR_OK;
}

/* --- Nodes and entries -------------------------------------------------------------------------
 */

enum clr_status clr_way_learn(struct clr_elements *e, uint64_t type, bool inner,
                              struct clr_node_members *members, bool *is, struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    struct clr_layout *layout = NULL;
    *is = true;
    if (type != 0 && members->type == type)
        return CLR_OK;
    if (type != 0)
        CLR_TRY(clr_layout_get(e->dump, type, &layout, error));
    if (!layout) {
        clr_way_damaged(e, type, "the type of a node cannot be read");
        *is = false;
        return CLR_OK;
    }
    *members = (struct clr_node_members){.layout = layout};
    CLR_TRY(clr_way_need(e, layout, inner ? NULL : c->next, &members->next, error));
    CLR_TRY(clr_way_need(e, layout, c->left, &members->left, error));
    CLR_TRY(clr_way_need(e, layout, c->right, &members->right, error));
    bool hashed = c->way == CLR_WAY_HASHED;
    CLR_TRY(clr_way_need(e, layout, hashed ? NULL : c->key, &members->key, error));
    CLR_TRY(clr_way_need(e, layout, hashed && inner ? c->key : c->value, &members->value, error));
    members->type = type;
    return CLR_OK;
}

/* Learns the node at an object's address; false, with a problem, if there is none. */
enum clr_status clr_way_enter(struct clr_elements *e, uint64_t node, bool inner,
                              struct clr_node_members *members, bool *is, struct clr_error *error)
{
    uint64_t type;
    uint32_t number;
    *is = clr_way_visit(e, node);
    if (*is && (!clr_number(e->dump->heap, node, &number) ||
                !clr_object_type(e->dump->runtime, node, &type))) {
        clr_way_damaged(e, node, "there is no node");
        *is = false;
    }
    return *is ? clr_way_learn(e, type, inner, members, is, error) : CLR_OK;
}

uint64_t clr_way_reference_at(const struct clr_elements *e, uint64_t base,
                              const struct clr_member *member)
{
    uint64_t object;
    return clr_read_word(e->dump->runtime->process, base + member->field.offset, &object) ? object
                                                                                          : 0;
}

/* Splits a struct that holds a key and a value. */
enum clr_status clr_way_split(const struct clr_elements *e, struct clr_item *item,
                              struct clr_error *error)
{
    const struct clr_collection *c = e->collection;
    struct clr_layout *layout = NULL;
    const struct clr_member *key, *value;
    uint64_t base = item->value.address;
    if (!c || !c->pair_value)
        return CLR_OK;
    if (item->value.type != 0)
        CLR_TRY(clr_layout_get(e->dump, item->value.type, &layout, error));
    if (!layout)
        return CLR_OK;
    CLR_TRY(clr_way_need(e, layout, c->pair_key, &key, error));
    CLR_TRY(clr_way_need(e, layout, c->pair_value, &value, error));
    item->has_key = true;
    CLR_TRY(clr_member_place(e->dump, key, base, &item->key, error));
    return clr_member_place(e->dump, value, base, &item->value, error);
}

/* The element in a node or entry at BASE. */
enum clr_status clr_way_give(const struct clr_elements *e, const struct clr_node_members *members,
                             uint64_t base, struct clr_item *item, struct clr_error *error)
{
    item->has_key = members->key != NULL;
    if (members->key)
        CLR_TRY(clr_member_place(e->dump, members->key, base, &item->key, error));
    CLR_TRY(clr_member_place(e->dump, members->value, base, &item->value, error));
    return clr_way_split(e, item, error);
}
