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
#define SPECIALIZED "System.Collections.Specialized."
#define CHANNELS "System.Threading.Channels."
#define FSHARP "Microsoft.FSharp.Collections."
#define MEMORY_CACHE "Microsoft.Extensions.Caching.Memory.MemoryCache"
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
#define THEN [CLR_FIELD_THEN]
#define COMPARER [CLR_FIELD_COMPARER]
#define LOW [CLR_FIELD_LOW]
#define HIGH [CLR_FIELD_HIGH]
#define HAS_LOW [CLR_FIELD_HAS_LOW]
#define HAS_HIGH [CLR_FIELD_HAS_HIGH]

/* A collection around another, in the field that is named; and the keys or values of another. */
#define AROUND(class, field)                                                                       \
    {                                                                                              \
        class, CLR_COLLECTION_INNER,                                                               \
            .own =                                                                                 \
        {                                                                                          \
            ITEMS = field                                                                          \
        }                                                                                          \
    }
#define KEYS_OF(class, field)                                                                      \
    {                                                                                              \
        class, CLR_COLLECTION_INNER, .own = {ITEMS = field}, .side = CLR_SIDE_KEYS                 \
    }
#define VALUES_OF(class, field)                                                                    \
    {                                                                                              \
        class, CLR_COLLECTION_INNER, .own = {ITEMS = field}, .side = CLR_SIDE_VALUES               \
    }

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
     .node = {LEFT = PROPERTY("Left"), RIGHT = PROPERTY("Right"), VALUE = PROPERTY("Item")},
     .overridden = true},
    {GENERIC "TreeSet", CLR_COLLECTION_TREE, .own = {ITEMS = "root"},
     .node = {LEFT = PROPERTY("Left"), RIGHT = PROPERTY("Right"), VALUE = PROPERTY("Item")}},
    {GENERIC "SortedSet+TreeSubSet", CLR_COLLECTION_VIEW,
     .own = {ITEMS = "_underlying", COMPARER = "comparer", LOW = "_min", HIGH = "_max",
             HAS_LOW = "_lBoundActive", HAS_HIGH = "_uBoundActive"}},
    {GENERIC "SortedDictionary", CLR_COLLECTION_INNER, .own = {ITEMS = "_set"},
     .pair = {KEY = "key", VALUE = "value"}},
    {GENERIC "PriorityQueue", CLR_COLLECTION_LIST, .own = {ITEMS = "_nodes", COUNT = "_size"},
     .pair = {KEY = "Item2", VALUE = "Item1"}, .unordered = true},

    {GENERIC "Deque", CLR_COLLECTION_RING,
     .own = {ITEMS = "_array", HEAD = "_head", COUNT = "_size"}},
    {"System.ArraySegment", CLR_COLLECTION_SLICE,
     .own = {ITEMS = "_array", HEAD = "_offset", COUNT = "_count"}},
    {"System.Linq.Grouping", CLR_COLLECTION_LIST, .own = {ITEMS = "_elements", COUNT = "_count"}},
    {"System.Linq.Lookup", CLR_COLLECTION_GROUPS, .own = {ITEMS = "_lastGrouping"},
     .node = {NEXT = "_next", KEY = "_key"}},

    /* Keys and values of the generic ones */
    KEYS_OF(GENERIC "Dictionary+KeyCollection", "_dictionary"),
    VALUES_OF(GENERIC "Dictionary+ValueCollection", "_dictionary"),
    KEYS_OF(GENERIC "OrderedDictionary+KeyCollection", "_dictionary"),
    VALUES_OF(GENERIC "OrderedDictionary+ValueCollection", "_dictionary"),
    KEYS_OF(GENERIC "SortedDictionary+KeyCollection", "_dictionary"),
    VALUES_OF(GENERIC "SortedDictionary+ValueCollection", "_dictionary"),
    KEYS_OF(GENERIC "SortedList+KeyList", "_dict"),
    VALUES_OF(GENERIC "SortedList+ValueList", "_dict"),
    AROUND(GENERIC "PriorityQueue+UnorderedItemsCollection", "_queue"),

    /* Concurrent */
    {CONCURRENT "ConcurrentDictionary", CLR_COLLECTION_INNER, .own = {ITEMS = "_tables"},
     .unordered = true},
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
     .node = {NEXT = "_nextQueue", ITEMS = "_array", HEAD = "_headIndex", TAIL = "_tailIndex"},
     .unordered = true},
    AROUND(CONCURRENT "BlockingCollection", "_collection"),
    {CONCURRENT "SingleProducerSingleConsumerQueue", CLR_COLLECTION_QUEUES,
     .own = {ITEMS = "_head"},
     .node = {NEXT = "_next", ITEMS = "_array", HEAD = "_state._first", TAIL = "_state._last"},
     .masked = true},
    AROUND(CHANNELS "UnboundedChannel", "_items"),
    AROUND(CHANNELS "SingleConsumerUnboundedChannel", "_items"),
    AROUND(CHANNELS "BoundedChannel", "_items"),
    KEYS_OF(CHANNELS "UnboundedPrioritizedChannel", "_items"), /* of priorities without elements */

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
     .pair = {KEY = "key", VALUE = "value"}, .sentinel = true, .unordered = true},
    {IMMUTABLE "ImmutableHashSet", CLR_COLLECTION_HASHED, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_value"},
     .inner = {FIRST = "_firstValue", REST = "_additionalElements"},
     .rest = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true,
     .unordered = true},
    {IMMUTABLE "ImmutableStack", CLR_COLLECTION_CHAIN, .node = {NEXT = "_tail", VALUE = "_head"},
     .sentinel = true},
    {IMMUTABLE "ImmutableQueue", CLR_COLLECTION_TWO_STACKS,
     .own = {ITEMS = "_forwards", REST = "_backwards"}, .node = {NEXT = "_tail", VALUE = "_head"},
     .sentinel = true},
    {IMMUTABLE "ImmutableArray+Builder", CLR_COLLECTION_LIST,
     .own = {ITEMS = "_elements", COUNT = "_count"}},
    {IMMUTABLE "ImmutableList+Builder", CLR_COLLECTION_TREE, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true},
    {IMMUTABLE "ImmutableSortedSet+Builder", CLR_COLLECTION_TREE, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true},
    {IMMUTABLE "ImmutableSortedDictionary+Builder", CLR_COLLECTION_TREE, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", KEY = "_key", VALUE = "_value"}, .sentinel = true},
    {IMMUTABLE "ImmutableDictionary+Builder", CLR_COLLECTION_HASHED, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_value"},
     .inner = {FIRST = "_firstValue", REST = "_additionalElements"},
     .rest = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"},
     .pair = {KEY = "key", VALUE = "value"}, .sentinel = true, .unordered = true},
    {IMMUTABLE "ImmutableHashSet+Builder", CLR_COLLECTION_HASHED, .own = {ITEMS = "_root"},
     .node = {LEFT = "_left", RIGHT = "_right", VALUE = "_value"},
     .inner = {FIRST = "_firstValue", REST = "_additionalElements"},
     .rest = {LEFT = "_left", RIGHT = "_right", VALUE = "_key"}, .sentinel = true,
     .unordered = true},
    {FROZEN_NAME "EmptyFrozenDictionary", .layout = CLR_COLLECTION_EMPTY},
    {FROZEN_NAME "EmptyFrozenSet", .layout = CLR_COLLECTION_EMPTY},
    {FROZEN_NAME "Int32FrozenDictionary", CLR_COLLECTION_PAIRED,
     .own = {KEYS = HASH_CODES, ITEMS = "_values"}, .unordered = true},
    {FROZEN_NAME "Int32FrozenSet", CLR_COLLECTION_INNER, .own = {ITEMS = HASH_CODES},
     .unordered = true},
    {FROZEN_NAME "FrozenDictionary", CLR_COLLECTION_PAIRED,
     .own = {KEYS = "_keys", ITEMS = "_values"}, .derived = true, .unordered = true},
    {FROZEN_NAME "FrozenSet", CLR_COLLECTION_INNER, .own = {ITEMS = "_items"}, .derived = true,
     .unordered = true},

    /* Around others */
    AROUND(MODEL "ReadOnlyCollection", "list"),
    AROUND(MODEL "Collection", "items"),
    AROUND(MODEL "ReadOnlyDictionary", "m_dictionary"),
    AROUND(MODEL "ReadOnlyDictionary+KeyCollection", "_collection|m_collection"),
    AROUND(MODEL "ReadOnlyDictionary+ValueCollection", "_collection|m_collection"),
    AROUND(MODEL "ReadOnlySet", "_set"),

    /* Without type arguments */
    {"System.Collections.ArrayList", CLR_COLLECTION_LIST,
     .own = {ITEMS = "_items", COUNT = "_size"}, .overridden = true},
    {"System.Collections.Stack", CLR_COLLECTION_STACK, .own = {ITEMS = "_array", COUNT = "_size"},
     .overridden = true},
    {"System.Collections.Queue", CLR_COLLECTION_RING,
     .own = {ITEMS = "_array", HEAD = "_head", COUNT = "_size"}, .overridden = true},
    {"System.Collections.SortedList", CLR_COLLECTION_PAIRED,
     .own = {KEYS = "keys", ITEMS = "values", COUNT = "_size"}, .overridden = true},
    {"System.Collections.Hashtable", CLR_COLLECTION_TABLE, .own = {ITEMS = "_buckets"},
     .node = {KEY = "key", VALUE = "val"}, .unordered = true, .overridden = true},

    KEYS_OF("System.Collections.SortedList+KeyList", "sortedList"),
    VALUES_OF("System.Collections.SortedList+ValueList", "sortedList"),
    KEYS_OF("System.Collections.Hashtable+KeyCollection", "_hashtable"),
    VALUES_OF("System.Collections.Hashtable+ValueCollection", "_hashtable"),
    {"System.Collections.BitArray", CLR_COLLECTION_BITS,
     .own = {ITEMS = "_array|m_array", COUNT = "_bitLength|m_length"}},
    {"System.Collections.ListDictionaryInternal", CLR_COLLECTION_CHAIN, .own = {ITEMS = "head"},
     .node = {NEXT = "next", KEY = "key", VALUE = "value"}},
    AROUND("System.Collections.ArrayList+SyncArrayList", "_list"),
    AROUND("System.Collections.ArrayList+ReadOnlyArrayList", "_list"),
    AROUND("System.Collections.ArrayList+FixedSizeArrayList", "_list"),
    AROUND("System.Collections.ArrayList+IListWrapper", "_list"),
    AROUND("System.Collections.ArrayList+SyncIList", "_list"),
    AROUND("System.Collections.ArrayList+ReadOnlyList", "_list"),
    AROUND("System.Collections.ArrayList+FixedSizeList", "_list"),
    {"System.Collections.ArrayList+Range", CLR_COLLECTION_SLICE,
     .own = {ITEMS = "_baseList", HEAD = "_baseIndex", COUNT = "_baseSize"}},
    AROUND("System.Collections.Queue+SynchronizedQueue", "_q"),
    AROUND("System.Collections.Stack+SyncStack", "_s"),
    AROUND("System.Collections.Hashtable+SyncHashtable", "_table"),
    AROUND("System.Collections.SortedList+SyncSortedList", "_list"),
    AROUND("System.Collections.CollectionBase", "_list"),
    AROUND("System.Collections.ReadOnlyCollectionBase", "<InnerList>k__BackingField|_list"),
    AROUND("System.Collections.DictionaryBase", "_hashtable"),
    {SPECIALIZED "ListDictionary", CLR_COLLECTION_CHAIN, .own = {ITEMS = "head"},
     .node = {NEXT = "next", KEY = "key", VALUE = "value"}},
    /* One of both is there. */
    {SPECIALIZED "HybridDictionary", CLR_COLLECTION_INNER,
     .own = {ITEMS = "list", THEN = "hashtable"}},
    AROUND(SPECIALIZED "StringCollection", "data"),
    AROUND(SPECIALIZED "StringDictionary", "contents"),
    {SPECIALIZED "NameObjectCollectionBase", CLR_COLLECTION_INNER, .own = {ITEMS = "_entriesArray"},
     .pair = {KEY = "Key", VALUE = "Value"}, .boxed = true},
    {SPECIALIZED "NameValueCollection", CLR_COLLECTION_INNER, .own = {ITEMS = "_entriesArray"},
     .pair = {KEY = "Key", VALUE = "Value"}, .boxed = true, .joined = true},
    KEYS_OF(SPECIALIZED "NameObjectCollectionBase+KeysCollection", "_coll"),
    {SPECIALIZED "OrderedDictionary", CLR_COLLECTION_INNER, .own = {ITEMS = "_objectsArray"},
     .pair = {KEY = "_key", VALUE = "_value"}, .boxed = true},

    /* F# */
    {FSHARP "FSharpList", CLR_COLLECTION_CHAIN, .node = {NEXT = "tail", VALUE = "head"},
     .sentinel = true},
    {FSHARP "FSharpMap", CLR_COLLECTION_TREE, .own = {ITEMS = "tree@"},
     .node = {LEFT = "?left", RIGHT = "?right", KEY = "k", VALUE = "v"}},
    {FSHARP "FSharpSet", CLR_COLLECTION_TREE, .own = {ITEMS = "tree@"},
     .node = {LEFT = "?left", RIGHT = "?right", VALUE = "k"}},

    /* Of packages */
    {MEMORY_CACHE, CLR_COLLECTION_INNER, .own = {ITEMS = "_coherentState"},
     .pair = {KEY = PROPERTY("Key"), VALUE = "_value"}, .boxed = true},
    {MEMORY_CACHE "+CoherentState", CLR_COLLECTION_INNER,
     .own = {ITEMS = "_stringEntries|_entries", THEN = "?_nonStringEntries"}, .inside = true},

    {WEAK_TABLE, CLR_COLLECTION_INNER, .own = {ITEMS = "_container"}, .unordered = true},
    {WEAK_TABLE "+Container", CLR_COLLECTION_WEAK, .own = {ITEMS = "_entries"},
     .node = {HANDLE = "depHnd._handle"}, .inside = true},
    {.name = NULL},
};
