/*
 * The collections of .NET's libraries, .NET 8 to 11. Names of private fields as the libraries'
 * public source has them and dumps of each release confirm; where releases differ, both stand
 * there.
 *
 * A class that is not here, or a field that another release names otherwise, is told in words by
 * elements.c, never passed over.
 */
#include "inspect/collections.h"

#include <stddef.h>

#define GENERIC "System.Collections.Generic."
#define CONCURRENT "System.Collections.Concurrent."
#define IMMUTABLE "System.Collections.Immutable."
#define FROZEN "System.Collections.Frozen."
#define MODEL "System.Collections.ObjectModel."
#define PROPERTY(name) name "|<" name ">k__BackingField"

const struct clr_collection clr_collections[] = {
    /* Generic */
    {GENERIC "List", CLR_WAY_LIST, .items = "_items", .count = "_size"},
    {GENERIC "Stack", CLR_WAY_STACK, .items = "_array", .count = "_size"},
    {GENERIC "Queue", CLR_WAY_RING, .items = "_array", .head = "_head", .count = "_size"},
    {GENERIC "Dictionary", CLR_WAY_ENTRIES, .items = "_entries", .count = "_count", .next = "next",
     .key = "key", .value = "value"},
    {GENERIC "OrderedDictionary", CLR_WAY_ENTRIES, .items = "_entries", .count = "_count",
     .key = "Key", .value = "Value"},
    {GENERIC "HashSet", CLR_WAY_ENTRIES, .items = "_entries", .count = "_count", .next = "Next",
     .value = "Value"},
    {GENERIC "SortedList", CLR_WAY_PAIRED, .keys = "keys", .items = "values", .count = "_size"},
    {GENERIC "LinkedList", CLR_WAY_CHAIN, .items = "head", .next = "next", .value = "item"},
    {GENERIC "SortedSet", CLR_WAY_TREE, .items = "root", .left = PROPERTY("Left"),
     .right = PROPERTY("Right"), .value = PROPERTY("Item")},
    {GENERIC "SortedDictionary", CLR_WAY_TREE, .items = "_set.root", .left = PROPERTY("Left"),
     .right = PROPERTY("Right"), .value = PROPERTY("Item"), .pair_key = "key",
     .pair_value = "value"},
    {GENERIC "PriorityQueue", CLR_WAY_LIST, .items = "_nodes", .count = "_size",
     .pair_key = "Item2", .pair_value = "Item1"},

    /* Concurrent */
    {CONCURRENT "ConcurrentDictionary", CLR_WAY_BUCKETS, .items = "_tables._buckets",
     .node = "_node", .next = "_next", .key = "_key", .value = "_value"},
    {CONCURRENT "ConcurrentQueue", CLR_WAY_SEGMENTS, .items = "_head", .next = "_nextSegment",
     .slots = "_slots", .value = "Item", .head = "_headAndTail.Head", .tail = "_headAndTail.Tail",
     .frozen = "_frozenForEnqueues"},
    {CONCURRENT "ConcurrentStack", CLR_WAY_CHAIN, .items = "_head", .next = "_next",
     .value = "_value"},
    {CONCURRENT "ConcurrentBag", CLR_WAY_QUEUES, .items = "_workStealingQueues",
     .next = "_nextQueue", .slots = "_array", .head = "_headIndex", .tail = "_tailIndex"},
    {CONCURRENT "BlockingCollection", CLR_WAY_INNER, .items = "_collection"},

    /* Immutable and frozen */
    {IMMUTABLE "ImmutableArray", CLR_WAY_INNER, .items = "array"},
    {IMMUTABLE "ImmutableList", CLR_WAY_TREE, .items = "_root", .left = "_left", .right = "_right",
     .value = "_key", .sentinel = true},
    {IMMUTABLE "ImmutableSortedSet", CLR_WAY_TREE, .items = "_root", .left = "_left",
     .right = "_right", .value = "_key", .sentinel = true},
    {IMMUTABLE "ImmutableSortedDictionary", CLR_WAY_TREE, .items = "_root", .left = "_left",
     .right = "_right", .key = "_key", .value = "_value", .sentinel = true},
    {IMMUTABLE "ImmutableDictionary", CLR_WAY_HASHED, .items = "_root", .left = "_left",
     .right = "_right", .value = "_value", .first = "_firstValue", .rest = "_additionalElements",
     .key = "_key", .pair_key = "key", .pair_value = "value", .sentinel = true},
    {IMMUTABLE "ImmutableHashSet", CLR_WAY_HASHED, .items = "_root", .left = "_left",
     .right = "_right", .value = "_value", .first = "_firstValue", .rest = "_additionalElements",
     .key = "_key", .sentinel = true},
    {IMMUTABLE "ImmutableStack", CLR_WAY_CHAIN, .next = "_tail", .value = "_head",
     .sentinel = true},
    {IMMUTABLE "ImmutableQueue", CLR_WAY_BOTH, .items = "_forwards", .rest = "_backwards",
     .next = "_tail", .value = "_head", .sentinel = true},
    {FROZEN "EmptyFrozenDictionary", .way = CLR_WAY_NONE},
    {FROZEN "EmptyFrozenSet", .way = CLR_WAY_NONE},
    {FROZEN "Int32FrozenDictionary", CLR_WAY_PAIRED,
     .keys = "_hashTable.HashCodes|_hashTable.<HashCodes>k__BackingField", .items = "_values"},
    {FROZEN "Int32FrozenSet", CLR_WAY_INNER,
     .items = "_hashTable.HashCodes|_hashTable.<HashCodes>k__BackingField"},
    {FROZEN "FrozenDictionary", CLR_WAY_PAIRED, .keys = "_keys", .items = "_values"},
    {FROZEN "FrozenSet", CLR_WAY_INNER, .items = "_items"},

    /* Around others */
    {MODEL "ReadOnlyCollection", CLR_WAY_INNER, .items = "list"},
    {MODEL "Collection", CLR_WAY_INNER, .items = "items"},
    {MODEL "ReadOnlyDictionary", CLR_WAY_INNER, .items = "m_dictionary"},
    {MODEL "ReadOnlySet", CLR_WAY_INNER, .items = "_set"},

    /* Without type arguments */
    {"System.Collections.ArrayList", CLR_WAY_LIST, .items = "_items", .count = "_size"},
    {"System.Collections.Stack", CLR_WAY_STACK, .items = "_array", .count = "_size"},
    {"System.Collections.Queue", CLR_WAY_RING, .items = "_array", .head = "_head",
     .count = "_size"},
    {"System.Collections.SortedList", CLR_WAY_PAIRED, .keys = "keys", .items = "values",
     .count = "_size"},
    {"System.Collections.Hashtable", CLR_WAY_TABLE, .items = "_buckets", .key = "key",
     .value = "val"},

    {"System.Runtime.CompilerServices.ConditionalWeakTable", CLR_WAY_WEAK,
     .items = "_container._entries", .handle = "depHnd._handle"},
    {.name = NULL},
};
