/*
 * The fields of an object down to where they have values: structs in it are entered, inline arrays
 * gone through.
 *
 *     struct clr_leaf_walk walk;
 *     clr_leaf_walk_start(&walk, dump, object, layout, error)
 *     while (clr_leaf_walk_next(&walk, &leaf, &found, error) == CLR_OK && found)
 *         ... leaf.path, leaf.place ...
 *     clr_leaf_walk_finish(&walk);
 *
 * Base types come first, then the fields in the runtime's order. A boxed number, enum or date is
 * one leaf. What is damaged ends the walk with a problem of area field_values.
 */
#ifndef CLR_INSPECT_LEAVES_H
#define CLR_INSPECT_LEAVES_H

#include "inspect/value.h"

enum { CLR_LEAF_DEPTH = 32 }; /* structs in structs */

struct clr_leaf {
    const char *path;      /* 'Bread.First', 'Inline[0]'; NULL for a boxed value without fields of
                              its own; valid until the next call */
    const char *type_name; /* of the field's type; NULL if not known */
    uint64_t declaring;    /* MethodTable that declares the last field of the path */
    struct clr_place place;
};

struct clr_leaf_level {
    const struct clr_layout *layout;
    unsigned depth;                /* in the hierarchy of base types */
    size_t member;                 /* the next one */
    uint64_t base;                 /* address that offsets count from */
    uint64_t size;                 /* bytes from there on */
    size_t path;                   /* length of the path up to here */
    uint64_t index, count, stride; /* of an inline array; COUNT 0: none */
};

struct clr_leaf_walk {
    struct clr_dump *dump;
    uint64_t object, steps, most_steps;
    const struct clr_layout *boxed; /* the whole object is one leaf */
    unsigned used;
    struct clr_leaf_level levels[CLR_LEAF_DEPTH];
    struct clr_text path;
};

/* LAYOUT: that of the object's type. */
void clr_leaf_walk_start(struct clr_leaf_walk *walk, struct clr_dump *dump, uint64_t object,
                         const struct clr_layout *layout);
/* The same for a struct that lies at BASE in an object. */
void clr_leaf_walk_struct(struct clr_leaf_walk *walk, struct clr_dump *dump, uint64_t base,
                          const struct clr_layout *layout);
enum clr_status clr_leaf_walk_next(struct clr_leaf_walk *walk, struct clr_leaf *leaf, bool *found,
                                   struct clr_error *error);
void clr_leaf_walk_finish(struct clr_leaf_walk *walk);

#endif
