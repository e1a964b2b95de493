/*
 * Which classes of .NET's libraries are collections, and by which fields they are gone through.
 * Data only: how each way goes is in elements.c.
 */
#ifndef CLR_INSPECT_COLLECTIONS_H
#define CLR_INSPECT_COLLECTIONS_H

#include <stdbool.h>

/* The ways; in brackets the members of clr_collection that each goes by. */
enum clr_collection_way {
    CLR_WAY_LIST,     /* an array and how much of it is used: [items count pair] */
    CLR_WAY_STACK,    /* the same from the end */
    CLR_WAY_RING,     /* an array from a head on, around its end: [items head count] */
    CLR_WAY_PAIRED,   /* two arrays: [keys items count] */
    CLR_WAY_ENTRIES,  /* an array of structs: [items count next key value] NEXT below -1: free */
    CLR_WAY_TABLE,    /* the same without a count: [items key value] no key, or the array: free */
    CLR_WAY_WEAK,     /* the same with dependent handles: [items handle] */
    CLR_WAY_CHAIN,    /* nodes: [items next key value], from the object itself without items */
    CLR_WAY_TREE,     /* nodes, in order: [items left right key value pair] */
    CLR_WAY_HASHED,   /* a tree of structs with one value and a tree of others: [items left right
                         value first rest key pair]: REST's nodes have LEFT, RIGHT and KEY */
    CLR_WAY_BUCKETS,  /* an array of chains: [items node next key value] */
    CLR_WAY_SEGMENTS, /* a chain of rings: [items next slots value head tail frozen] */
    CLR_WAY_QUEUES,   /* a chain of rings of another kind: [items next slots head tail] */
    CLR_WAY_BOTH,     /* a stack, then another from its bottom: [items rest next value] */
    CLR_WAY_INNER,    /* another collection, or array: [items] */
    CLR_WAY_NONE,     /* always empty */
};

/* Names of fields: of the collection, or of its nodes or entries. 'a.b' goes through the field a, a
 * reference or struct, to b; 'a|b' is a, or b where there is no a: releases differ. NULL: not used.
 */
struct clr_collection {
    const char *name; /* of the class, without arguments; classes derived from it are meant too */
    enum clr_collection_way way;
    const char *items; /* the array, the first node, the root, what is within */
    const char *count, *head, *tail;
    const char *keys; /* the other array */
    const char *next, *left, *right;
    const char *key, *value;           /* of a node or entry */
    const char *pair_key, *pair_value; /* the value is a struct with a key and a value */
    const char *slots, *frozen, *first, *rest, *node, *handle;
    bool sentinel; /* a node whose LEFT (of a chain: NEXT) is null is empty */
};

extern const struct clr_collection clr_collections[]; /* ends at name == NULL */

#endif
