/*
 * The elements of an array or of one of .NET's collections, one after the other.
 */
#ifndef CLR_INSPECT_ELEMENTS_H
#define CLR_INSPECT_ELEMENTS_H

#include "base/array.h"
#include "base/job.h"
#include "inspect/collections.h"
#include "inspect/managed.h"

enum { CLR_TREE_DEPTH = 128, CLR_ARRAY_RANK = 32 };

/* An array that is gone through. */
struct clr_array_view {
    uint64_t address, data; /* of element 0 */
    uint64_t count;
    uint32_t stride;
    uint32_t rank;
    struct clr_place element; /* of the first one */
};

struct clr_item {
    int64_t position; /* from 0; where elements->unordered it is only a number */
    bool has_key;
    bool is_bit; /* the value is the bit BIT of the byte at its place */
    uint8_t bit;
    struct clr_place key, value;
};

/* The fields of a node, entry or struct, for the type of the last one. */
struct clr_node_fields {
    uint64_t type;
    const struct clr_managed *managed;
};

struct clr_tree_walk {
    uint64_t stack[CLR_TREE_DEPTH];
    unsigned used;
    uint64_t node; /* where to go down to the left from; 0: nowhere */
};

struct clr_elements {
    struct clr_dump *dump;
    struct clr_job *job; /* for cancel; may be NULL */
    uint64_t object;
    uint64_t within; /* the collection that holds the elements: the object, or one in it */
    const struct clr_collection *collection; /* NULL: an array */
    const struct clr_managed *own;           /* its fields */
    const struct clr_collection *pair;       /* whose values are pairs; NULL: they are none */
    enum clr_collection_side side;
    bool unordered, joined;
    uint64_t then;       /* the collection that follows this one; 0: none */
    uint64_t skip, most; /* elements that a slice leaves out before, and has at most */
    struct clr_array_view array, keys;
    uint64_t begin, at, end; /* of ARRAY: the first element, the next one, and where to stop */
    uint64_t head, mask;
    uint64_t node, first_node;
    struct clr_node_fields nodes, inner, rests, pairs;
    struct clr_tree_walk tree, rest;
    CLR_ARRAY(uint64_t) reversed; /* nodes of a chain that is gone through from its end */
    int64_t position;
    uint64_t visited;
    bool done;
};

/* Whether OBJECT is an array or a collection; *IS false with CLR_OK: neither, or no object. */
enum clr_status clr_is_collection(struct clr_dump *dump, uint64_t object, bool *is,
                                  struct clr_error *error);

/* Needs INDEX; reads the handles for a ConditionalWeakTable. *FOUND is false if OBJECT is no
 * object. An object that is neither array nor collection is an error, and so is a layout that is
 * not known: it names the field that is missing. Call finish in any case. */
enum clr_status clr_elements_start(struct clr_elements *elements, struct clr_dump *dump,
                                   struct clr_job *job, uint64_t object, bool *found,
                                   struct clr_error *error);
/* *FOUND is false at the end. Damage ends the elements with a problem of area elements. */
enum clr_status clr_elements_next(struct clr_elements *elements, struct clr_item *element,
                                  bool *found, struct clr_error *error);
/* The value of an element. */
enum clr_status clr_elements_value(struct clr_elements *elements, const struct clr_item *item,
                                   struct clr_value *value, struct clr_error *error);
/* How many there are, of elements that were just started: call only finish then. */
enum clr_status clr_elements_count(struct clr_elements *elements, uint64_t *count,
                                   struct clr_error *error);
/* Elements that the array beneath has room for; false for arrays themselves, and where no array
 * grows with the number of elements. */
bool clr_elements_capacity(const struct clr_elements *elements, uint64_t *capacity);
/* What the class of OBJECT is: 'List', 'Dictionary+KeyCollection', 'array'; NULL if no collection. */
enum clr_status clr_collection_kind(struct clr_dump *dump, uint64_t object, const char **kind,
                                    struct clr_error *error);
/* Goes to element POSITION of an array, past its end too; false for collections. */
bool clr_elements_seek(struct clr_elements *elements, uint64_t position);
void clr_elements_finish(struct clr_elements *elements);

/* Opens an array: false, with *ARRAY zero, if ADDRESS is none. */
bool clr_array_open(struct clr_dump *dump, uint64_t address, struct clr_array_view *array);
/* The place of element I. */
struct clr_place clr_array_place(const struct clr_array_view *array, uint64_t i);
/* Lengths and lower bounds of the dimensions; false if they are not saved or do not fit the count.
 */
bool clr_array_bounds(const struct clr_dump *dump, const struct clr_array_view *array,
                      uint32_t lengths[CLR_ARRAY_RANK], int32_t lower[CLR_ARRAY_RANK]);
/* The number of the element with these indices ('3', '0,-1'); false if there is none. */
bool clr_array_find(const struct clr_dump *dump, const struct clr_array_view *array,
                    const int64_t *indices, uint32_t count, uint64_t *i);
/* A 64-bit hash of the elements' bytes and their number; false if not all are saved. */
bool clr_array_hash(const struct clr_dump *dump, const struct clr_array_view *array,
                    uint64_t *hash);
/* Appends '3', '0,-1': the indices of element I. */
void clr_array_indices(const struct clr_dump *dump, const struct clr_array_view *array, uint64_t i,
                       struct clr_text *text);

#endif
