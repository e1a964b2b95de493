/*
 * Which classes of .NET's libraries are collections, how each is laid out, and by which fields it is
 * gone through. Data only: elements.c and nodes.c go through each layout.
 */
#ifndef CLR_INSPECT_COLLECTIONS_H
#define CLR_INSPECT_COLLECTIONS_H

#include <stdbool.h>

/* Layouts of collections; in brackets the fields that each has, of the collection (own), of its
 * nodes or entries (node), and of the structs in those (inner). */
enum clr_collection_layout {
    CLR_COLLECTION_LIST,     /* an array and how much of it is used: own [items count] */
    CLR_COLLECTION_STACK,    /* the same from the end */
    CLR_COLLECTION_RING,     /* an array from a head on, around its end: own [items head count] */
    CLR_COLLECTION_PAIRED,   /* two arrays: own [keys items count] */
    CLR_COLLECTION_ENTRIES,  /* an array of structs: own [items count] node [next key value]; NEXT
                                below -1: free */
    CLR_COLLECTION_TABLE,    /* the same without a count; no key, or the array itself: free */
    CLR_COLLECTION_WEAK,     /* the same with dependent handles: own [items] node [handle] */
    CLR_COLLECTION_CHAIN,    /* nodes: own [items] node [next key value]; without items the object
                                itself is the first node */
    CLR_COLLECTION_TREE,     /* nodes, in order: own [items] node [left right key value] */
    CLR_COLLECTION_HASHED,   /* a tree of structs with one value and a tree of others: own [items]
                                node [left right value] inner [first rest] rest [left right value] */
    CLR_COLLECTION_BUCKETS,  /* an array of chains: own [items] node [next key value] inner [first]
                              */
    CLR_COLLECTION_SEGMENTS, /* a chain of rings: own [items] node [next items head tail frozen]
                                inner [value] */
    CLR_COLLECTION_QUEUES,   /* a chain of rings of another kind: own [items] node [next items head
                                tail] */
    CLR_COLLECTION_TWO_STACKS, /* a stack, then another from its bottom: own [items rest] node [next
                                  value] */
    CLR_COLLECTION_GROUPS,     /* a ring of groupings, by its last one: own [items] node [next key];
                                  a value is the grouping */
    CLR_COLLECTION_BITS,  /* an array of bits, the lowest of each number first: own [items count] */
    CLR_COLLECTION_INNER, /* another collection, or array: own [items then]; THEN is one more */
    CLR_COLLECTION_SLICE, /* a part of another: own [items head count] */
    CLR_COLLECTION_VIEW,  /* of a sorted set, between bounds: own [items comparer low high
                                  has_low has_high] */
    CLR_COLLECTION_EMPTY, /* always */
};

enum clr_collection_field {
    CLR_FIELD_ITEMS, /* the array, the first node, the root, the collection within */
    CLR_FIELD_COUNT,
    CLR_FIELD_HEAD,
    CLR_FIELD_TAIL,
    CLR_FIELD_KEYS, /* the other array */
    CLR_FIELD_NEXT,
    CLR_FIELD_LEFT,
    CLR_FIELD_RIGHT,
    CLR_FIELD_KEY,
    CLR_FIELD_VALUE,
    CLR_FIELD_FIRST,
    CLR_FIELD_REST,
    CLR_FIELD_FROZEN,
    CLR_FIELD_HANDLE,
    CLR_FIELD_THEN,
    CLR_FIELD_COMPARER,
    CLR_FIELD_LOW,
    CLR_FIELD_HIGH,
    CLR_FIELD_HAS_LOW,
    CLR_FIELD_HAS_HIGH,
    CLR_COLLECTION_FIELDS
};

/* Collections of the keys or the values of another. */
enum clr_collection_side { CLR_SIDE_BOTH, CLR_SIDE_KEYS, CLR_SIDE_VALUES };

/* Names of fields as in struct clr_managed_row. */
struct clr_collection {
    const char *name; /* of the class, without arguments; classes derived from it are meant too */
    enum clr_collection_layout layout;
    const char *own[CLR_COLLECTION_FIELDS];
    const char *node[CLR_COLLECTION_FIELDS];
    const char *inner[CLR_COLLECTION_FIELDS];
    const char *rest[CLR_COLLECTION_FIELDS];
    const char *pair[CLR_COLLECTION_FIELDS]; /* the value is a struct with a key and a value, */
    bool boxed;                              /* or an object with them */
    bool joined;    /* the value is a list of strings, which are one text with commas */
    bool unordered; /* the elements are in no order that means anything */
    bool masked;    /* QUEUES: head and tail are places in the array, and not numbers ever rising */
    bool overridden; /* classes of its own module that derive from it have another storage: they are
                        collections only if they are rows themselves */
    enum clr_collection_side side;
    bool sentinel; /* a node whose LEFT (of a chain: NEXT) is null is empty */
    bool derived;  /* the fields are those of derived classes, all of the library itself */
    bool inside;   /* a piece of another collection, and none by itself */
};

extern const struct clr_collection clr_collections[]; /* ends at name == NULL */

#endif
