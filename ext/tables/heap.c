/*
 * segments: the memory that objects lie in, and what the walk found there.
 */
#include "cache.h"
#include "results.h"

enum segment_column {
    SEGMENT_ADDRESS,
    SEGMENT_HEAP,
    SEGMENT_KIND,
    SEGMENT_GENERATION,
    SEGMENT_START,
    SEGMENT_ALLOCATED,
    SEGMENT_COMMITTED,
    SEGMENT_RESERVED,
    SEGMENT_COMMITTED_BYTES,
    SEGMENT_OBJECT_COUNT,
    SEGMENT_OBJECT_BYTES,
    SEGMENT_FREE_BYTES,
    SEGMENT_GAP_BYTES,
    SEGMENT_UNWALKED_BYTES,
    SEGMENT_COLUMNS
};

enum { WALKED = CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX };

static const struct clr_column segment_columns[] = {
    [SEGMENT_ADDRESS] = {"address", CLR_INTEGER, CLR_KEY, 0,
                         "Address of the GC's own record of the segment."},
    [SEGMENT_HEAP] = {"heap", CLR_INTEGER, 0, 0, "Number of the GC heap, from 0."},
    [SEGMENT_KIND] = {"kind", CLR_TEXT, 0, 0, "soh, loh, poh or frozen."},
    [SEGMENT_GENERATION] = {"generation", CLR_INTEGER, 0, 0,
                            "0 to 2, 3 LOH, 4 POH, 5 frozen; NULL if it holds several."},
    [SEGMENT_START] = {"start", CLR_INTEGER, 0, 0, "Address of the first object."},
    [SEGMENT_ALLOCATED] = {"allocated", CLR_INTEGER, 0, 0, "Address where objects end."},
    [SEGMENT_COMMITTED] = {"committed", CLR_INTEGER, 0, 0, "Address where committed memory ends."},
    [SEGMENT_RESERVED] = {"reserved", CLR_INTEGER, 0, 0, "Address where reserved memory ends."},
    [SEGMENT_COMMITTED_BYTES] = {"committed_bytes", CLR_INTEGER, 0, 0,
                                 "Bytes from start to committed."},
    [SEGMENT_OBJECT_COUNT] = {"object_count", CLR_INTEGER, 0, WALKED,
                              "Objects, without free blocks."},
    [SEGMENT_OBJECT_BYTES] = {"object_bytes", CLR_INTEGER, 0, WALKED, "Bytes of these objects."},
    [SEGMENT_FREE_BYTES] = {"free_bytes", CLR_INTEGER, 0, WALKED, "Bytes of free blocks."},
    [SEGMENT_GAP_BYTES] = {"gap_bytes", CLR_INTEGER, 0, WALKED,
                           "Bytes that threads hold for their next allocations."},
    [SEGMENT_UNWALKED_BYTES] = {"unwalked_bytes", CLR_INTEGER, 0, WALKED,
                                "Bytes that could not be read as objects."},
    [SEGMENT_COLUMNS] = {0},
};

static enum clr_status load_segments(struct clr_dump *dump, struct clr_job *job,
                                     struct clr_error *error)
{
    (void)job;
    return clr_segments_by_address(dump, error);
}

static size_t count_segments(const struct clr_dump *dump)
{
    return clr_cache_made(dump)->segments.count;
}

static int64_t segment_key(const struct clr_dump *dump, size_t row)
{
    return clr_cache_made(dump)->segments.entries[row].key;
}

static enum clr_status segment_column(struct clr_cursor *cursor, int column,
                                      sqlite3_context *context, struct clr_error *error)
{
    static const char *const kind[] = {
        [CLR_SOH] = "soh",
        [CLR_LOH] = "loh",
        [CLR_POH] = "poh",
        [CLR_FROZEN] = "frozen",
    };
    (void)error;
    uint32_t number = clr_cache_made(cursor->dump)->segments.entries[cursor->row].row;
    const struct clr_segment *segment = &cursor->dump->gc->segments[number];
    const struct clr_segment_stats *stats =
        column >= SEGMENT_OBJECT_COUNT ? clr_heap_segment_stats(cursor->dump->heap, number) : NULL;
    switch (column) {
    case SEGMENT_ADDRESS: clr_result_u64(context, segment->address); break;
    case SEGMENT_HEAP: clr_result_u64(context, segment->heap); break;
    case SEGMENT_KIND: clr_result_static(context, kind[segment->kind]); break;
    case SEGMENT_GENERATION:
        if (segment->generation >= 0)
            sqlite3_result_int(context, segment->generation);
        break;
    case SEGMENT_START: clr_result_u64(context, segment->start); break;
    case SEGMENT_ALLOCATED: clr_result_u64(context, segment->end); break;
    case SEGMENT_COMMITTED: clr_result_u64(context, segment->committed); break;
    case SEGMENT_RESERVED: clr_result_u64(context, segment->reserved); break;
    case SEGMENT_COMMITTED_BYTES:
        clr_result_u64(
            context, segment->committed > segment->start ? segment->committed - segment->start : 0);
        break;
    case SEGMENT_OBJECT_COUNT: clr_result_u64(context, stats->object_count); break;
    case SEGMENT_OBJECT_BYTES: clr_result_u64(context, stats->object_bytes); break;
    case SEGMENT_FREE_BYTES: clr_result_u64(context, stats->free_bytes); break;
    case SEGMENT_GAP_BYTES: clr_result_u64(context, stats->gap_bytes); break;
    case SEGMENT_UNWALKED_BYTES: clr_result_u64(context, stats->unwalked_bytes); break;
    }
    return CLR_OK;
}

static const struct clr_path segment_paths[] = {
    {.name = "address=",
     .key = {{SEGMENT_ADDRESS, CLR_EQ}},
     .order = SEGMENT_ADDRESS,
     .reversible = true,
     .unique = true,
     .rows = clr_rows_one},
    {.name = "scan", .order = SEGMENT_ADDRESS, .reversible = true, .rows = clr_rows_few},
    {0},
};

const struct clr_table clr_table_segments = {
    .name = "segments",
    .doc = "Stretches of memory that the GC keeps objects in: regions or segments.",
    .columns = segment_columns,
    .paths = segment_paths,
    .needs = CLR_PART_RUNTIME | CLR_PART_GC,
    .contract = CLR_CONTRACT_GC,
    .load = load_segments,
    .count = count_segments,
    .key = segment_key,
    .column = segment_column,
};
