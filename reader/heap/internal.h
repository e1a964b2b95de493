/*
 * Private to reader/heap: what the walk, the index and the list of shapes share.
 */
#ifndef CLR_HEAP_INTERNAL_H
#define CLR_HEAP_INTERNAL_H

#include <string.h>

#include "base/map.h"
#include "heap/heap.h"

/* --- shapes.c: a walker's own table of MethodTables ------------------------------------------- */

/* A MethodTable that was checked, with the tally of its objects: one cache line. */
struct clr_cell {
    uint64_t type;                   /* 0: the cell is free */
    uint32_t base;                   /* bytes; rounded up where no component is added */
    uint32_t component;              /* 0: all objects have the same size */
    uint64_t count, total, min, max; /* the last three only if sizes differ (or are kept anyway) */
    uint32_t flags;
    uint32_t raw_base; /* as the MethodTable has it */
    bool is_free, is_string, is_array, contains_references, collectible;
    bool has_instances; /* no interface, abstract class or open generic type */
};

/* Open addressing with linear probing; never more than half full. */
struct clr_cells {
    struct clr_cell *cells;
    size_t room, used;
    uint64_t *rejected; /* direct-mapped: words that are no MethodTable */
};

enum { CLR_REJECTED = 1024 };

enum clr_status clr_cells_init(struct clr_cells *cells, const struct clr_runtime *runtime,
                               struct clr_error *error);
void clr_cells_deinit(struct clr_cells *cells);

/* The cell of a MethodTable that was met before, or NULL. */
static inline struct clr_cell *clr_cells_find(const struct clr_cells *cells, uint64_t type)
{
    size_t i = clr_map_hash(type) & (cells->room - 1);
    while (cells->cells[i].type != type) {
        if (cells->cells[i].type == 0)
            return NULL;
        i = (i + 1) & (cells->room - 1);
    }
    return &cells->cells[i];
}

/* The same for any word: checks it on first sight. NULL in *CELL: it is no MethodTable. Cells that
 * were given out before may have moved. */
enum clr_status clr_cells_learn(struct clr_cells *cells, const struct clr_runtime *runtime,
                                uint64_t type, struct clr_cell **cell, struct clr_error *error);

static inline void clr_cell_add(struct clr_cell *cell, uint64_t size)
{
    cell->count++;
    cell->total += size;
    if (size < cell->min)
        cell->min = size;
    if (size > cell->max)
        cell->max = size;
}

/* What one type's objects amount to. */
struct clr_tally {
    uint64_t type, count, total, min, max;
};

/* Takes the tallies out of the table: appends what is not empty to *TALLIES and clears it. */
enum clr_status clr_cells_drain(struct clr_cells *cells, struct clr_tally **tallies, size_t *count,
                                size_t *room, struct clr_error *error);

/* Makes the heap's shapes of TALLIES (a type may occur more than once); every type is in one of the
 * TABLES. Sorted by address behind Free, so that two runs give the same. */
enum clr_status clr_shapes_make(struct clr_heap *heap, const struct clr_cells *tables,
                                size_t table_count, const struct clr_tally *tallies, size_t count,
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

/* What a scan needs of a shape. */
struct clr_decoder {
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
    struct clr_decoder *decoders; /* hash table by type; never more than half full */
    size_t decoder_room;

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

/* The decoder of a type; shape 0 of type 0 if the walk has not met it. */
static inline const struct clr_decoder *clr_decoder_of(const struct clr_heap *heap, uint64_t type)
{
    size_t i = clr_map_hash(type) & (heap->decoder_room - 1);
    while (heap->decoders[i].type != type && heap->decoders[i].type != 0)
        i = (i + 1) & (heap->decoder_room - 1);
    return &heap->decoders[i];
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
