/*
 * segments: the memory that objects lie in, and what the walk found there.
 */
#include "table.h"

static const void *segments(const struct clr_dump *dump, size_t *count)
{
    *count = dump->gc->segment_count;
    return dump->gc->segments;
}

CLR_NUMBER_FUNCTION(committed_bytes)
{
    const struct clr_segment *segment = row;
    return segment->committed > segment->start ? segment->committed - segment->start : 0;
}

static const struct clr_segment_stats *stats_of(const struct clr_cursor *cursor, const void *row)
{
    const struct clr_segment *segment = row;
    return clr_heap_segment_stats(cursor->dump->heap,
                                  (size_t)(segment - cursor->dump->gc->segments));
}

CLR_NUMBER_FUNCTION(object_count)
{
    return stats_of(cursor, row)->object_count;
}

CLR_NUMBER_FUNCTION(object_bytes)
{
    return stats_of(cursor, row)->object_bytes;
}

CLR_NUMBER_FUNCTION(free_bytes)
{
    return stats_of(cursor, row)->free_bytes;
}

CLR_NUMBER_FUNCTION(gap_bytes)
{
    return stats_of(cursor, row)->gap_bytes;
}

CLR_NUMBER_FUNCTION(unwalked_bytes)
{
    return stats_of(cursor, row)->unwalked_bytes;
}

static const char *const kinds[] = {
    [CLR_SOH] = "soh",
    [CLR_LOH] = "loh",
    [CLR_POH] = "poh",
    [CLR_FROZEN] = "frozen",
};

static const struct clr_column columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(clr_segment, address),
               "Address of the GC's own record of the segment.", .flags = CLR_KEY),
    CLR_COLUMN("heap", CLR_NUMBER(clr_segment, heap), "Number of the GC heap, from 0."),
    CLR_COLUMN("kind", CLR_WORD(clr_segment, kind, kinds), "soh, loh, poh or frozen."),
    CLR_COLUMN("generation", CLR_NONNEGATIVE(clr_segment, generation),
               "0 to 2, 3 LOH, 4 POH, 5 frozen; NULL if it holds several."),
    CLR_COLUMN("start", CLR_NUMBER(clr_segment, start), "Address of the first object."),
    CLR_COLUMN("allocated", CLR_NUMBER(clr_segment, end), "Address where objects end."),
    CLR_COLUMN("committed", CLR_NUMBER(clr_segment, committed),
               "Address where committed memory ends."),
    CLR_COLUMN("reserved", CLR_NUMBER(clr_segment, reserved),
               "Address where reserved memory ends."),
    CLR_COLUMN("committed_bytes", CLR_NUMBER_BY(committed_bytes), "Bytes from start to committed."),
    CLR_COLUMN("object_count", CLR_NUMBER_BY(object_count), "Objects, without free blocks.",
               .needs = CLR_PART_INDEX),
    CLR_COLUMN("object_bytes", CLR_NUMBER_BY(object_bytes), "Bytes of these objects.",
               .needs = CLR_PART_INDEX),
    CLR_COLUMN("free_bytes", CLR_NUMBER_BY(free_bytes), "Bytes of free blocks.",
               .needs = CLR_PART_INDEX),
    CLR_COLUMN("gap_bytes", CLR_NUMBER_BY(gap_bytes),
               "Bytes that threads hold for their next allocations.", .needs = CLR_PART_INDEX),
    CLR_COLUMN("unwalked_bytes", CLR_NUMBER_BY(unwalked_bytes),
               "Bytes that could not be read as objects.", .needs = CLR_PART_INDEX),
    CLR_END,
};

const struct clr_table clr_table_segments = {
    .name = "segments",
    .doc = "Stretches of memory that the GC keeps objects in: regions or segments.",
    .example =
        "SELECT kind, generation, count(*), sum(committed_bytes) FROM segments GROUP BY 1, 2",
    .columns = columns,
    .list = {.get = segments, .row_size = sizeof(struct clr_segment), .rows = 20},
    .needs = CLR_PART_GC,
    .contract = CLR_CONTRACT_GC,
};
