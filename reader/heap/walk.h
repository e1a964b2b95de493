/*
 * Private to reader/heap: a walk that is going on, and the pieces it is made of.
 */
#ifndef CLR_HEAP_WALK_H
#define CLR_HEAP_WALK_H

#include "heap/resync.h"

/* Damage of one kind in one piece. */
struct clr_unwalked {
    uint64_t first, bytes;
};

/* A stretch of a segment. Objects that start in [start, end) belong to it. */
struct clr_piece {
    uint64_t start, end;
    uint32_t segment;
    bool certain; /* begins at the start of the segment, or is walked again */
    bool done;
    bool searching; /* the next object is not known; also how a piece that is done may end */
    bool synced;    /* an object or gap was found */
    bool in_hole;   /* searching behind a hole: what is lost is the rest of objects from there */
    uint64_t first; /* address where it was */
    uint64_t at;    /* the next object, or where the search goes on */
    size_t gap;     /* the next gap */
    uint64_t objects, walked, gap_bytes, free_count, free_bytes;
    struct clr_unwalked first_bad, first_hole; /* before FIRST, in a guess */
    struct clr_unwalked bad, hole;
    uint64_t bad_type;     /* MethodTable of the first bad one, if that is only not saved */
    clr_shape_list shapes; /* of a piece whose start is a guess: with the counts of its objects */
};

struct clr_walk {
    struct clr_heap *heap;
    struct clr_problems *problems;
    struct clr_job *job;
    CLR_ARRAY(struct clr_piece) pieces;
    CLR_ARRAY(struct clr_gap) gaps; /* of all segments, sorted */
    size_t *first_gap;              /* by segment; segment_count + 1 */
    struct clr_walker *walkers;
    unsigned walker_count;
};

/* Walks the piece for a limited time, counting objects in TABLE; piece->done says whether all of it is
 * walked. */
enum clr_status clr_piece_advance(const struct clr_walk *walk, struct clr_walker *walker,
                                  struct clr_piece *piece, struct clr_shape_table *table);

#endif
