/*
 * A stack of structs, the outermost below: each level knows which member comes next. The path is
 * one text that grows and is cut back with the stack.
 *
 * A struct must lie within the one around it, so that the walk of honest types is as short as the
 * object. Fields may overlap, though, and a type that is made up could overlap without end: so the
 * steps are limited by the bytes of the object too, and a walk that has more is a problem.
 */
#include "inspect/leaves.h"

#include <string.h>

enum { STEPS_PER_BYTE = 4, STEPS_AT_LEAST = 4096 };

static void report(struct clr_leaf_walk *walk, const char *what)
{
    clr_problem(walk->dump->problems, CLR_WARNING, "field_values", walk->object, 0,
                "object 0x%llx: %s; the rest of its fields is left out",
                (unsigned long long)walk->object, what);
    walk->used = 0;
}

static void push(struct clr_leaf_walk *walk, const struct clr_layout *layout, uint64_t base,
                 uint64_t size)
{
    if (walk->used == CLR_LEAF_DEPTH) {
        report(walk, "it has structs in structs deeper than any compiler makes");
        return;
    }
    walk->levels[walk->used++] = (struct clr_leaf_level){
        .layout = layout, .base = base, .size = size, .path = walk->path.length};
}

void clr_leaf_walk_struct(struct clr_leaf_walk *walk, struct clr_dump *dump, uint64_t base,
                          const struct clr_layout *layout)
{
    *walk = (struct clr_leaf_walk){.dump = dump, .object = base};
    walk->most_steps = STEPS_AT_LEAST + layout->size * STEPS_PER_BYTE;
    push(walk, layout, base, layout->size);
}

void clr_leaf_walk_start(struct clr_leaf_walk *walk, struct clr_dump *dump, uint64_t object,
                         const struct clr_layout *layout)
{
    clr_leaf_walk_struct(walk, dump, object + dump->runtime->word, layout);
    walk->object = object;
    walk->boxed = layout->is_struct ? layout : NULL;
}

/* Cuts the path back to LENGTH. */
static void cut(struct clr_text *path, size_t length)
{
    if (path->data && length <= path->length) {
        path->length = length;
        path->data[length] = 0;
    }
}

static void write_member(struct clr_text *path, const struct clr_member *member)
{
    if (path->length > 0)
        clr_text_char(path, '.');
    clr_text_put(path, member->name);
}

/* The next field: false when the level is done. */
static bool next_member(struct clr_leaf_level *level, const struct clr_member **member)
{
    while (level->depth <= level->layout->depth) {
        const struct clr_layout *base = clr_layout_level(level->layout, level->depth);
        if (base && level->member < base->instance_count) {
            *member = &base->members[level->member++];
            return true;
        }
        level->depth++;
        level->member = 0;
    }
    return false;
}

/* An inline array repeats its only field: how often, from the sizes. */
static enum clr_status start_inline(struct clr_leaf_walk *walk, struct clr_leaf_level *level,
                                    struct clr_error *error)
{
    const struct clr_member *member = &level->layout->members[0];
    uint64_t type;
    uint32_t size;
    CLR_TRY(clr_member_type(walk->dump, member, &type, &size, error));
    if (size == 0) {
        report(walk, "the elements of an inline array have no known size");
        return CLR_OK;
    }
    level->stride = size;
    level->count = level->size / size;
    return CLR_OK;
}

/* Gives a place as a leaf, or enters the struct that lies there. */
static enum clr_status take(struct clr_leaf_walk *walk, const struct clr_member *member,
                            const struct clr_place *place, uint64_t room, struct clr_leaf *leaf,
                            bool *found, struct clr_error *error)
{
    struct clr_layout *layout = NULL;
    bool scalar;
    CLR_TRY(clr_place_is_scalar(walk->dump, place, &scalar, error));
    if (!scalar && place->type != 0)
        CLR_TRY(clr_layout_get(walk->dump, place->type, &layout, error));
    if (layout && layout->instance_count > 0) {
        if (layout->size > room) {
            report(walk, "a struct is larger than what it lies in");
            return CLR_OK;
        }
        push(walk, layout, place->address, layout->size);
        return CLR_OK;
    }
    *leaf = (struct clr_leaf){.path = walk->path.data,
                              .type_name = member->type_name,
                              .declaring = member->declaring,
                              .place = *place};
    *found = true;
    return CLR_OK;
}

static enum clr_status step(struct clr_leaf_walk *walk, struct clr_leaf *leaf, bool *found,
                            struct clr_error *error)
{
    struct clr_leaf_level *level = &walk->levels[walk->used - 1];
    const struct clr_member *member;
    struct clr_place place;
    cut(&walk->path, level->path);
    if (level->layout->is_inline_array) {
        if (level->stride == 0)
            CLR_TRY(start_inline(walk, level, error));
        if (walk->used == 0)
            return CLR_OK;
        if (level->index == level->count) {
            walk->used--;
            return CLR_OK;
        }
        member = &level->layout->members[0];
        clr_text_format(&walk->path, "[%llu]", (unsigned long long)level->index);
        CLR_TRY(clr_member_place(walk->dump, member, level->base + level->index * level->stride,
                                 &place, error));
        level->index++;
        return take(walk, member, &place, level->stride, leaf, found, error);
    }
    if (!next_member(level, &member)) {
        walk->used--;
        return CLR_OK;
    }
    if (!member->field.has_offset || member->field.offset >= level->size) {
        clr_problem(walk->dump->problems, CLR_WARNING, "field_values", walk->object, 0,
                    "object 0x%llx: the field %s does not lie in it; it is left out",
                    (unsigned long long)walk->object, member->name);
        return CLR_OK;
    }
    write_member(&walk->path, member);
    CLR_TRY(clr_member_place(walk->dump, member, level->base, &place, error));
    return take(walk, member, &place, level->size - member->field.offset, leaf, found, error);
}

enum clr_status clr_leaf_walk_next(struct clr_leaf_walk *walk, struct clr_leaf *leaf, bool *found,
                                   struct clr_error *error)
{
    *found = false;
    if (walk->boxed) {
        const struct clr_layout *layout = walk->boxed;
        struct clr_place place;
        bool scalar = false;
        walk->boxed = NULL;
        if (clr_boxed_place(walk->dump, walk->object, layout, &place))
            CLR_TRY(clr_place_is_scalar(walk->dump, &place, &scalar, error));
        if (scalar) {
            walk->used = 0;
            const struct clr_member *only = layout->instance_count == 1 ? layout->members : NULL;
            bool primitive =
                only && clr_element_size(place.element, walk->dump->runtime->word) != 0;
            const char *name = clr_type_name(walk->dump->runtime, layout->type.address);
            if (clr_type_name_lost(name))
                return clr_no_memory(error);
            *leaf = (struct clr_leaf){.path = primitive ? only->name : NULL,
                                      .type_name = name,
                                      .declaring = layout->type.address,
                                      .place = place};
            *found = true;
            return CLR_OK;
        }
    }
    while (walk->used > 0 && !*found) {
        if (++walk->steps > walk->most_steps) {
            report(walk, "its fields overlap more than any compiler makes");
            break;
        }
        CLR_TRY(step(walk, leaf, found, error));
    }
    if (walk->path.failed)
        return clr_no_memory(error);
    return CLR_OK;
}

void clr_leaf_walk_finish(struct clr_leaf_walk *walk)
{
    clr_text_deinit(&walk->path);
    walk->used = 0;
}
