/*
 * The collections of .NET's libraries, .NET 8 to 11. Names of private fields as the libraries'
 * public source has them and dumps of each release confirm; where releases differ, both stand
 * there.
 *
 * A class that is not here, or a field that another release names otherwise, is reported in words
 * by elements.c, never passed over.
 */
#include "inspect/collections.h"

#include <stddef.h>

#define GENERIC "System.Collections.Generic."
#define CONCURRENT "System.Collections.Concurrent."
#define IMMUTABLE "System.Collections.Immutable."
#define FROZEN_NAME "System.Collections.Frozen."
#define MODEL "System.Collections.ObjectModel."
#define WEAK_TABLE "System.Runtime.CompilerServices.ConditionalWeakTable"
#define PROPERTY(name) name "|<" name ">k__BackingField"
#define HASH_CODES "_hashTable.HashCodes|_hashTable.<HashCodes>k__BackingField"

#define ITEMS [CLR_FIELD_ITEMS]
#define COUNT [CLR_FIELD_COUNT]
#define HEAD [CLR_FIELD_HEAD]
#define TAIL [CLR_FIELD_TAIL]
#define KEYS [CLR_FIELD_KEYS]
#define NEXT [CLR_FIELD_NEXT]
#define LEFT [CLR_FIELD_LEFT]
#define RIGHT [CLR_FIELD_RIGHT]
#define KEY [CLR_FIELD_KEY]
#define VALUE [CLR_FIELD_VALUE]
#define FIRST [CLR_FIELD_FIRST]
#define REST [CLR_FIELD_REST]
#define FROZEN [CLR_FIELD_FROZEN]
#define HANDLE [CLR_FIELD_HANDLE]

const struct clr_collection clr_collections[] = {
    /* Generic */
    {GENERIC "List", CLR_COLLECTION_LIST, .own = {ITEMS = "_items", COUNT = "_size"}},
    {GENERIC "Stack", CLR_COLLECTION_STACK, .own = {ITEMS = "_array", COUNT = "_size"}},
    {GENERIC "Queue", CLR_COLLECTION_RING,
     .own = {ITEMS = "_array", HEAD = "_head", COUNT = "_size"}},
    {GENERIC "Dictionary", CLR_COLLECTION_ENTRIES, .own = {ITEMS = "_entries", COUNT = "_count"},
     .node = {NEXT = "next", KEY = "key", VALUE = "value"}},
    {GENERIC "OrderedDictionary", CLR_COLLECTION_ENTRIES,
     .own = {ITEMS = "_entries", COUNT = "_count"}, .node = {KEY = "Key", VALUE = "Value"}},
    {GENERIC "HashSet", CLR_COLLECTION_ENTRIES, .own = {ITEMS = "_entries", COUNT = "_count"},
     .node = {NEXT = "Next", VALUE = "Value"}},
    {GENERIC "SortedList", CLR_COLLECTION_PAIRED,
     .own = {KEYS = "keys", ITEMS = "values", COUNT = "_size"}},
    {GENERIC "LinkedList", CLR_COLLECTION_CHAIN, .own = {ITEMS = "head"},
     .node = {NEXT = "next", VALUE = "item"}},
    {GENERIC "SortedSet", CLR_COLLECTION_TREE, .own = {ITEMS = "root"},
     .node = {LEFT = PROPERTY("Left"), RIGHT = PROPERTY("Right"), VALUE = PROPERTY("Item")}},
    {GENERIC "SortedDictionary", CLR_COLLECTION_INNER, .own = {ITEMS = "_set"},
     .pair = {KEY = "key", VALUE = "value"}},
    {GENERIC "PriorityQueue", CLR_COLLECTION_LIST, .own = {ITEMS = "_nodes", COUNT = "_size"},
     .pair = {KEY = "Item2", VALUE = "Item1"}},

    /* Concurrent */
    {CONCURRENT "ConcurrentDictionary", CLR_COLLECTION_INNER, .own = {ITEMS = "_tables"}},
    {CONCURRENT "ConcurrentDictionary+Tables", CLR_COLLECTION_BUCKETS, .own = {ITEMS = "_buckets"},
     .node = {NEXT = "_next", KEY = "_key", VALUE = "_value"}, .inner = {FIRST = "_node"},
     .inside = true},
    {CONCURRENT "ConcurrentQueue", CLR_COLLECTION_SEGMENTS, .own = {ITEMS = "_head"},
     .node = {NEXT = "_nextSegment", ITEMS = "_slots", HEAD = "_headAndTail.Head",
              TAIL = "_headAndTail.Tail", FROZEN = "_frozenForEnqueues"},
     .inner = {VALUE = "Item"}},
    {CONCURRENT "ConcurrentStack", CLR_COLLECTION_CHAIN, .own = {ITEMS = "_head"},
     .node = {NEXT = "_next", VALUE = "_value"}},
    {CONCURRENT "ConcurrentBag", CLR_COLLECTION_QUEUES, .own = {ITEMS = "_workStealingQueues"},
     .node = {NEXT = "_nextQueue", ITEMS = "_array", HEAD = "_headIndex", TAIL = "_tailIndex"}},
    {CONCURRENT "BlockingCollection", CLR_COLLECTION_INNER, .own = {ITEMS = "_collection"}},

    /* Immutable and frozen */
    {IMMUTABLE "ImmutableArray", CLR_COLLECTION_INNER, .own = {ITEMS = "array"}},
    {IMMUTABLE "ImmutableList", CLR_COLLECTION_TREE, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true},
    {IMMUTABLE "ImmutableSortedSet", CLR_COLLECTION_TREE, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true},
    {IMMUTABLE "ImmutableSortedDictionary", CLR_COLLECTION_TREE, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", KEY = "_key", VALUE = "_value"}, .sentinel = true},
    {IMMUTABLE "ImmutableDictionary", CLR_COLLECTION_HASHED, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_value"},
     .inner = {FIRST = "_firstValue", REST = "_additionalElements"},
     .rest = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"},
     .pair = {KEY = "key", VALUE = "value"}, .sentinel = true},
    {IMMUTABLE "ImmutableHashSet", CLR_COLLECTION_HASHED, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_value"},
     .inner = {FIRST = "_firstValue", REST = "_additionalElements"},
     .rest = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true},
    {IMMUTABLE "ImmutableStack", CLR_COLLECTION_CHAIN, .node = {NEXT = "_tail", VALUE = "_head"},
     .sentinel = true},
    {IMMUTABLE "ImmutableQueue", CLR_COLLECTION_TWO_STACKS,
     .own = {ITEMS = "_forwards", REST = "_backwards"}, .node = {NEXT = "_tail", VALUE = "_head"},
     .sentinel = true},
    {FROZEN_NAME "EmptyFrozenDictionary", .layout = CLR_COLLECTION_EMPTY},
    {FROZEN_NAME "EmptyFrozenSet", .layout = CLR_COLLECTION_EMPTY},
    {FROZEN_NAME "Int32FrozenDictionary", CLR_COLLECTION_PAIRED,
     .own = {KEYS = HASH_CODES, ITEMS = "_values"}},
    {FROZEN_NAME "Int32FrozenSet", CLR_COLLECTION_INNER, .own = {ITEMS = HASH_CODES}},
    {FROZEN_NAME "FrozenDictionary", CLR_COLLECTION_PAIRED,
     .own = {KEYS = "_keys", ITEMS = "_values"}, .derived = true},
    {FROZEN_NAME "FrozenSet", CLR_COLLECTION_INNER, .own = {ITEMS = "_items"}, .derived = true},

    /* Around others */
    {MODEL "ReadOnlyCollection", CLR_COLLECTION_INNER, .own = {ITEMS = "list"}},
    {MODEL "Collection", CLR_COLLECTION_INNER, .own = {ITEMS = "items"}},
    {MODEL "ReadOnlyDictionary", CLR_COLLECTION_INNER, .own = {ITEMS = "m_dictionary"}},
    {MODEL "ReadOnlySet", CLR_COLLECTION_INNER, .own = {ITEMS = "_set"}},

    /* Without type arguments */
    {"System.Collections.ArrayList", CLR_COLLECTION_LIST,
     .own = {ITEMS = "_items", COUNT = "_size"}},
    {"System.Collections.Stack", CLR_COLLECTION_STACK, .own = {ITEMS = "_array", COUNT = "_size"}},
    {"System.Collections.Queue", CLR_COLLECTION_RING,
     .own = {ITEMS = "_array", HEAD = "_head", COUNT = "_size"}},
    {"System.Collections.SortedList", CLR_COLLECTION_PAIRED,
     .own = {KEYS = "keys", ITEMS = "values", COUNT = "_size"}},
    {"System.Collections.Hashtable", CLR_COLLECTION_TABLE, .own = {ITEMS = "_buckets"},
     .node = {KEY = "key", VALUE = "val"}},

    {WEAK_TABLE, CLR_COLLECTION_INNER, .own = {ITEMS = "_container"}},
    {WEAK_TABLE "+Container", CLR_COLLECTION_WEAK, .own = {ITEMS = "_entries"},
     .node = {HANDLE = "depHnd._handle"}, .inside = true},
    {.name = NULL},
};
