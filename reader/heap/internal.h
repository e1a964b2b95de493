/*
 * Private to reader/heap: what the walk, the index and the list of shapes share.
 */
#ifndef CLR_HEAP_INTERNAL_H
#define CLR_HEAP_INTERNAL_H

#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "heap/heap.h"

/* --- shapes.c: a walker's own table of MethodTables ------------------------------------------- */

/* Open addressing with linear probing; never more than half full. A shape's total, smallest and
 * largest size are only kept up where sizes differ (or with words of 4 bytes). */
struct clr_shape_table {
    struct clr_shape *shapes; /* type 0: free */
    size_t room, used;
    uint64_t *rejected; /* direct-mapped: words that are no MethodTable */
};

enum { CLR_REJECTED = 1024 };

enum clr_status clr_shape_table_init(struct clr_shape_table *table,
                                     const struct clr_runtime *runtime, struct clr_error *error);
void clr_shape_table_deinit(struct clr_shape_table *table);

/* The shape of a MethodTable that was seen before, or NULL. */
static inline struct clr_shape *clr_shape_table_find(const struct clr_shape_table *table,
                                                     uint64_t type)
{
    size_t i = clr_map_hash(type) & (table->room - 1);
    while (table->shapes[i].type != type) {
        if (table->shapes[i].type == 0)
            return NULL;
        i = (i + 1) & (table->room - 1);
    }
    return &table->shapes[i];
}

/* The same for any word: checks it on first sight. NULL in *SHAPE: it is no MethodTable. Shapes that
 * were given out before may have moved. */
enum clr_status clr_shape_table_get(struct clr_shape_table *table,
                                    const struct clr_runtime *runtime, uint64_t type,
                                    struct clr_shape **shape, struct clr_error *error);

static inline void clr_shape_count(struct clr_shape *shape, uint64_t size)
{
    shape->object_count++;
    shape->total_size += size;
    if (size < shape->min_size)
        shape->min_size = size;
    if (size > shape->max_size)
        shape->max_size = size;
}

typedef CLR_ARRAY(struct clr_shape) clr_shape_list;

/* Takes the counts out of the table: appends the shapes that have objects to LIST, with all sizes,
 * and clears their counts. */
enum clr_status clr_shape_table_drain(struct clr_shape_table *table, clr_shape_list *list,
                                      struct clr_error *error);

/* Makes the heap's shapes of FOUND (a type may occur more than once), which is sorted. By address
 * behind Free, so that two runs give the same. */
enum clr_status clr_shapes_make(struct clr_heap *heap, clr_shape_list *found,
                                struct clr_error *error);

/* --- index.c ---------------------------------------------------------------------------------- */

struct clr_index_entry {
    uint32_t half[2]; /* a bit for each of 64 units: an object starts there */
    uint32_t rank;    /* objects before the first of them */
};

/* One stretch of saved memory of a segment. */
struct clr_index_range {
    uint64_t start, end; /* multiples of the unit; START is that of the first entry's first bit */
    uint32_t first;      /* entry */
    uint32_t segment;
};

enum {
    CLR_ENTRY_UNITS = 64,
    CLR_PAGE_SHIFT = 22,     /* ranges are found by a table over pages of 4 MiB ... */
    CLR_PAGES_MAX = 1 << 18, /* ... if the whole spans less than 2^40 bytes */
    CLR_SAMPLE_SHIFT = 6,    /* where each 64th object is */
};

/* What a scan needs of a shape, in the hash table that leads from the type to it. A table that has
 * only the number of the shape costs one line of the cache more where types alternate: scans of the
 * references of 3 million objects took 20 % longer. */
struct clr_sizing {
    uint64_t type; /* 0: free */
    uint32_t base, component, shape;
};

struct clr_heap {
    const struct clr_runtime *runtime;
    const struct clr_process *process;
    const struct clr_gc *gc;
    uint8_t word, unit_shift;
    bool native; /* 8-byte words in this machine's byte order */
    bool swapped;
    uint64_t unmask;       /* low bits of the MethodTable word that belong to the GC */
    uint32_t count_offset; /* of the number of components */

    struct clr_index_range *ranges; /* sorted */
    size_t range_count, range_room;
    uint32_t *pages; /* first range that ends behind the page's start; NULL: binary search */
    size_t page_count;
    struct clr_index_entry *entries;
    size_t entry_count;
    uint32_t *samples; /* entry of object 64 * n */
    size_t sample_count;

    uint32_t count;
    uint64_t objects, bytes;
    struct clr_segment_stats *segments;
    struct clr_shape *shapes;
    size_t shape_count;
    struct clr_sizing *sizings; /* hash table by type; never more than half full */
    size_t sizing_room;

    uint64_t *types;
    size_t type_count;
    uint32_t *postings;       /* count numbers, by shape */
    uint64_t *posting_starts; /* shape_count + 1 */
};

/* Makes the ranges and empty entries for the saved memory of all segments. */
enum clr_status clr_index_create(struct clr_heap *heap, struct clr_error *error);
/* Counts the bits: ranks and samples. */
enum clr_status clr_index_finish(struct clr_heap *heap, struct clr_job *job,
                                 struct clr_error *error);
void clr_index_destroy(struct clr_heap *heap);

/* The sizing of a type; shape 0 of type 0 if no object has it. */
static inline const struct clr_sizing *clr_sizing_of(const struct clr_heap *heap, uint64_t type)
{
    size_t i = clr_map_hash(type) & (heap->sizing_room - 1);
    while (heap->sizings[i].type != type && heap->sizings[i].type != 0)
        i = (i + 1) & (heap->sizing_room - 1);
    return &heap->sizings[i];
}

/* The first range that ends behind ADDRESS; range_count if there is none. */
size_t clr_index_range_from(const struct clr_heap *heap, uint64_t address);

/* Set bits. By hand: the compiler's builtin is a call where the machine is not known to have popcnt. */
static inline unsigned clr_count_bits(uint64_t v)
{
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    return (unsigned)(((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

static inline uint64_t clr_index_unit(const struct clr_heap *heap,
                                      const struct clr_index_range *range, uint64_t address)
{
    return (address - range->start) >> heap->unit_shift;
}

/* Bytes to which sizes of the segment's objects are rounded up. */
static inline uint64_t clr_segment_alignment(const struct clr_heap *heap,
                                             const struct clr_segment *segment)
{
    return heap->word == 8 || segment->kind == CLR_LOH || segment->kind == CLR_POH ? 8 : 4;
}

static inline uint64_t clr_round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* The smallest object: header, MethodTable, one field. */
static inline uint64_t clr_smallest_object(const struct clr_heap *heap)
{
    return (uint64_t)heap->word * 3;
}

/* A word of WORD bytes at P. */
static inline uint64_t clr_load_word(const uint8_t *p, unsigned word, bool swapped)
{
    uint64_t wide;
    uint32_t narrow;
    if (word == 8) {
        memcpy(&wide, p, sizeof wide);
        return swapped ? __builtin_bswap64(wide) : wide;
    }
    memcpy(&narrow, p, sizeof narrow);
    return swapped ? __builtin_bswap32(narrow) : narrow;
}

static inline uint32_t clr_load_u32(const uint8_t *p, bool swapped)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return swapped ? __builtin_bswap32(value) : value;
}

#endif
