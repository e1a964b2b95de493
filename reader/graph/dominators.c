/*
 * Lengauer and Tarjan's dominators ("A fast algorithm for finding dominators in a flowgraph",
 * 1979), the simple form with path compression: O(m log n) whatever the shape of the heap.
 * Algorithms that look faster walk up uncompressed chains of dominators, and are quadratic on an
 * everyday heap (a linked list and a hash set of the same items).
 *
 * Everything is iterative and in dense arrays. Vertices are called by their preorder number in a
 * depth-first search from a virtual root, 0, that points at every root object:
 *
 *     dfn[number]     preorder number, 0 if not reached. Later its memory is label's     4 N
 *     vertex[v]       the object's number                                                4 N
 *     ancestor[v]     the DFS parent; later a vertex further up the compressed path      4 N
 *     semi[v]         semidominator; before v's turn: head of the bucket of v, that is
 *                     the list of the vertices whose semidominator is v. While the search
 *                     runs: the next edge to look at                                     4 N
 *     label[v]        vertex of least semidominator on the compressed path
 *     idom[v]         immediate dominator; before it is known: next in the bucket        4 N
 *     predecessors    rows by v                                                          4 N + 4 M
 *
 * Vertices are taken in falling order. At the turn of w exactly the vertices above w are linked
 * into the forest, so "linked" needs no mark, ancestor[] can start as a copy of the DFS parents,
 * and the bucket of w is emptied before w itself is linked. A path is compressed by reversing its
 * links on the way up and restoring them on the way down: no stack, so a list of any length is
 * safe.
 *
 * Memory of the system is cleared at its first use, which takes longer than many a pass over it:
 * workers do it together beforehand (touch), dfn and the rows become the retained sizes, and
 * ancestor and semi the rest of the result.
 *
 * The second tier (conservative roots) is searched after the first: its vertices have the higher
 * numbers, and an edge from the second tier into the first is no predecessor.
 */
#include "graph/dominators.h"

#include <string.h>

#include "base/alloc.h"

enum {
    POLL_STEPS = 1 << 16,
    /* Steps between asking the cache for something and using it; what leads to it is asked for
     * twice, or three times, as early. */
    AHEAD = 16,
    PIECE = 1 << 21, /* entries that a worker touches at once */
    MOST_ARRAYS = 6,
};

struct work {
    const struct clr_edges *edges;
    struct clr_job *job;
    uint32_t count;      /* objects */
    uint32_t reached;    /* vertices, without the virtual root */
    uint32_t first_tier; /* vertices 1 .. first_tier hang on precise roots */
    uint64_t *block;     /* what dfn, label and rows are in */
    uint32_t *dfn, *vertex, *ancestor, *semi, *label, *idom;
    struct clr_offsets rows; /* of predecessors, by vertex */
    uint32_t *predecessors;
    uint64_t predecessor_count;
};

static bool large(uint32_t **array, size_t count)
{
    return (*array = clr_alloc_large(count, sizeof **array)) != NULL;
}

static void drop(uint32_t **array, size_t count)
{
    clr_free_large(*array, count, sizeof **array);
    *array = NULL;
}

/* Entries of arrays by vertex: the virtual root is one more. */
static size_t room_of(uint32_t count)
{
    return (size_t)count + 1;
}

/* Of the retained sizes: two arrays by vertex fit, and an entry that closes the rows. */
static size_t block_of(uint32_t count)
{
    return (size_t)count + 2;
}

struct touched {
    uint32_t *const *arrays;
    size_t entries, pieces; /* of each */
};

static enum clr_status touch_piece(void *context, unsigned worker, size_t item,
                                   struct clr_error *error)
{
    const struct touched *t = context;
    size_t from = item % t->pieces * PIECE;
    size_t to = t->entries - from > PIECE ? from + PIECE : t->entries;
    (void)worker, (void)error;
    clr_touch_large(t->arrays[item / t->pieces], from * sizeof(uint32_t), to * sizeof(uint32_t));
    return CLR_OK;
}

/* COUNT new arrays of ENTRIES. */
static enum clr_status touch(const struct work *w, uint32_t *const *arrays, size_t count,
                             size_t entries, struct clr_error *error)
{
    struct touched t = {arrays, entries, (entries + PIECE - 1) / PIECE};
    if (entries < PIECE || clr_job_threads(w->job) < 2)
        return CLR_OK;
    return clr_job_run(w->job, "searching the graph", count * t.pieces, touch_piece, &t, error);
}

/* Depth-first from one object, if it was not reached yet. The path is in ancestor[], the place of each
 * vertex in its own row in semi[]. */
static enum clr_status search(struct work *w, uint32_t number, struct clr_error *error)
{
    const struct clr_offsets *offsets = &w->edges->offsets;
    const uint32_t *targets = w->edges->targets;
    if (w->dfn[number])
        return CLR_OK;
    uint32_t v = ++w->reached;
    w->dfn[number] = v;
    w->vertex[v] = number;
    w->ancestor[v] = 0;
    w->semi[v] = 0;
    for (uint32_t steps = 0; v != 0;) {
        uint64_t begin = clr_offset_at(offsets, w->vertex[v]);
        uint64_t end = clr_offset_at(offsets, w->vertex[v] + 1);
        uint64_t edge = begin + w->semi[v];
        if (edge == begin)
            for (uint64_t soon = edge; soon < end && soon < edge + AHEAD; soon++)
                __builtin_prefetch(&w->dfn[targets[soon]]);
        while (edge < end && w->dfn[targets[edge]])
            edge++;
        if (edge < end) {
            uint32_t next = ++w->reached;
            w->semi[v] = (uint32_t)(edge - begin + 1);
            w->dfn[targets[edge]] = next;
            w->vertex[next] = targets[edge];
            w->ancestor[next] = v;
            w->semi[next] = 0;
            v = next;
        } else {
            v = w->ancestor[v];
        }
        if (++steps == POLL_STEPS) {
            steps = 0;
            CLR_TRY(clr_job_poll(w->job, "searching the graph", w->reached, w->count, error));
        }
    }
    return CLR_OK;
}

static enum clr_status search_all(struct work *w, const struct clr_root_numbers *roots,
                                  struct clr_error *error)
{
    for (size_t i = 0; i < roots->first_count; i++)
        CLR_TRY(search(w, roots->first[i], error));
    w->first_tier = w->reached;
    for (size_t i = 0; i < roots->second_count; i++)
        CLR_TRY(search(w, roots->second[i], error));
    return CLR_OK;
}

static bool counts(const struct work *w, uint32_t from, uint32_t to)
{
    return from <= w->first_tier || to > w->first_tier;
}

/* A root that holds a vertex of its own tier is a predecessor: the virtual root. */
static void each_root_edge(const struct work *w, const struct clr_root_numbers *roots,
                           void (*each)(void *, uint32_t), void *context)
{
    for (size_t i = 0; i < roots->first_count; i++)
        each(context, w->dfn[roots->first[i]]);
    for (size_t i = 0; i < roots->second_count; i++)
        if (w->dfn[roots->second[i]] > w->first_tier)
            each(context, w->dfn[roots->second[i]]);
}

static void count_root(void *context, uint32_t v)
{
    struct work *w = context;
    w->rows.rest[v]++;
    w->predecessor_count++;
}

static void place(struct work *w, uint32_t v, uint32_t predecessor)
{
    /* rest[v] is the end of the row when filling starts and its beginning when it is full. */
    uint64_t at = w->rows.base[v >> CLR_OFFSETS_SHIFT] + --w->rows.rest[v];
    w->predecessors[at] = predecessor;
}

static void place_root(void *context, uint32_t v)
{
    place(context, v, 0);
}

/* Edges lie one behind another: what the ones ahead will look at is asked for now. */
static inline void expect(const struct work *w, uint64_t edge, int pass)
{
    const uint32_t *targets = w->edges->targets + edge;
    uint32_t to = w->dfn[targets[2 * AHEAD]];
    __builtin_prefetch(&w->dfn[targets[3 * AHEAD]]);
    __builtin_prefetch(&w->rows.rest[to], 1);
    if (pass == 1) {
        to = w->dfn[targets[AHEAD]];
        __builtin_prefetch(
            &w->predecessors[w->rows.base[to >> CLR_OFFSETS_SHIFT] + w->rows.rest[to]], 1);
    }
}

/* Rows of predecessors: count, sum up, fill from behind. */
static enum clr_status find_predecessors(struct work *w, const struct clr_root_numbers *roots,
                                         struct clr_error *error)
{
    const struct clr_offsets *offsets = &w->edges->offsets;
    const uint32_t *targets = w->edges->targets;
    size_t blocks = ((size_t)w->reached >> CLR_OFFSETS_SHIFT) + 2;
    if (!(w->rows.base = clr_alloc(blocks, sizeof *w->rows.base)))
        return clr_no_memory(error);
    w->rows.rest = w->dfn + room_of(w->count);
    w->rows.count = w->reached + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t number = 0, steps = 0; number < w->count; number++) {
            uint32_t from = w->dfn[number];
            if (!from)
                continue;
            uint64_t end = clr_offset_at(offsets, number + 1);
            for (uint64_t edge = clr_offset_at(offsets, number); edge < end; edge++) {
                if (edge + 3 * AHEAD < w->edges->target_count)
                    expect(w, edge, pass);
                uint32_t to = w->dfn[targets[edge]];
                if (!counts(w, from, to))
                    continue;
                if (pass == 0) {
                    w->rows.rest[to]++;
                    w->predecessor_count++;
                } else {
                    place(w, to, from);
                }
            }
            if (++steps == POLL_STEPS) {
                steps = 0;
                CLR_TRY(clr_job_poll(w->job, "turning the graph round",
                                     number + (pass ? (uint64_t)w->count : 0),
                                     2 * (uint64_t)w->count, error));
            }
        }
        each_root_edge(w, roots, pass == 0 ? count_root : place_root, w);
        if (pass == 1)
            break;
        /* Ends of rows; the last entry closes the last row. */
        uint64_t sum = 0;
        for (uint32_t v = 0; v <= w->reached + 1; v++) {
            if ((v & ((1u << CLR_OFFSETS_SHIFT) - 1)) == 0)
                w->rows.base[v >> CLR_OFFSETS_SHIFT] = sum;
            uint64_t row = v <= w->reached ? w->rows.rest[v] : 0;
            sum += row;
            uint64_t rest = sum - w->rows.base[v >> CLR_OFFSETS_SHIFT];
            if (rest > UINT32_MAX)
                return clr_fail(error, CLR_UNSUPPORTED, 0,
                                "65,536 objects have more than 2^32 references to them");
            w->rows.rest[v] = (uint32_t)rest;
        }
        if (!(w->predecessors = clr_alloc_large(w->predecessor_count, sizeof *w->predecessors)))
            return clr_no_memory(error);
        CLR_TRY(touch(w, &w->predecessors, 1, w->predecessor_count, error));
    }
    return CLR_OK;
}

/* The vertex of least semidominator on the path from V up to, and without, the root of its tree. */
static inline uint32_t evaluate(const struct work *w, uint32_t v, uint32_t turn)
{
    uint32_t *ancestor = w->ancestor, *label = w->label;
    const uint32_t *semi = w->semi;
    if (v <= turn)
        return v;
    uint32_t above = ancestor[v];
    if (above <= turn)
        return label[v];
    uint32_t previous = 0, at = v;
    while (above > turn) { /* up: links are reversed */
        ancestor[at] = previous;
        previous = at;
        at = above;
        above = ancestor[at];
    }
    for (uint32_t best = label[at]; previous != 0;) { /* down: links lead to the tree's root */
        at = previous;
        previous = ancestor[at];
        ancestor[at] = above;
        if (semi[best] < semi[label[at]])
            label[at] = best;
        best = label[at];
    }
    return label[v];
}

static enum clr_status dominate(struct work *w, struct clr_error *error)
{
    for (uint32_t v = 0; v <= w->reached; v++) {
        w->semi[v] = 0; /* buckets are empty; 0 ends a bucket, for no bucket holds the root */
        w->label[v] = v;
        w->idom[v] = 0;
    }
    for (uint32_t turn = w->reached, steps = 0; turn > 0; turn--) {
        for (uint32_t v = w->semi[turn], next; v != 0; v = next) {
            next = w->idom[v];
            uint32_t u = evaluate(w, v, turn);
            w->idom[v] = w->semi[u] < w->semi[v] ? u : turn;
        }
        uint32_t semi = w->ancestor[turn];
        uint64_t begin = clr_offset_at(&w->rows, turn);
        for (uint64_t i = clr_offset_at(&w->rows, turn + 1); i-- > begin;) {
            if (i >= 2 * AHEAD) { /* rows fall as turns do */
                uint32_t soon = w->predecessors[i - 2 * AHEAD];
                __builtin_prefetch(&w->ancestor[soon]);
                __builtin_prefetch(&w->label[soon]);
                __builtin_prefetch(&w->semi[w->label[w->predecessors[i - AHEAD]]]);
            }
            uint32_t u = evaluate(w, w->predecessors[i], turn);
            uint32_t through = u <= turn ? u : w->semi[u];
            if (through < semi)
                semi = through;
        }
        w->semi[turn] = semi;
        if (semi != 0) {
            w->idom[turn] = w->semi[semi];
            w->semi[semi] = turn;
        } /* a semidominator that is the virtual root is the dominator: idom stays 0 */
        if (++steps == POLL_STEPS) {
            steps = 0;
            CLR_TRY(
                clr_job_poll(w->job, "finding dominators", w->reached - turn, w->reached, error));
        }
    }
    for (uint32_t v = 1; v <= w->reached; v++)
        if (w->semi[v] != 0 && w->idom[v] != w->semi[v])
            w->idom[v] = w->idom[w->idom[v]];
    return CLR_OK;
}

/* Sums up the dominator tree: children have higher preorder numbers than their dominator. Arrays
 * that are done with become those of the result. */
static void sum_up(struct work *w, void (*sizes)(void *, uint64_t *), void *context,
                   struct clr_dominators *result)
{
    result->count = w->count;
    result->reached = w->reached;
    result->dominator = w->ancestor;
    result->retained_count = w->semi;
    w->ancestor = w->semi = NULL;
    result->retained_size = w->block;
    w->block = NULL;
    sizes(context, result->retained_size);
    memset(result->dominator, 0xff, (size_t)w->count * sizeof *result->dominator);
    memset(result->retained_count, 0, (size_t)w->count * sizeof *result->retained_count);
    for (uint32_t v = 1; v <= w->reached; v++) {
        if (v + 2 * AHEAD <= w->reached) {
            __builtin_prefetch(&result->dominator[w->vertex[v + 2 * AHEAD]], 1);
            __builtin_prefetch(&result->retained_count[w->vertex[v + 2 * AHEAD]], 1);
        }
        uint32_t dominator = w->idom[v], number = w->vertex[v];
        result->dominator[number] = dominator ? w->vertex[dominator] + 1 : CLR_DOMINATED_BY_ROOTS;
        result->retained_count[number] = 1;
    }
    if (w->reached != w->count) /* what is not reached retains nothing */
        for (uint32_t number = 0; number < w->count; number++)
            if (result->dominator[number] == CLR_UNREACHED)
                result->retained_size[number] = 0;
    for (uint32_t v = w->reached; v > 0; v--) {
        if (v > 2 * AHEAD) {
            uint32_t soon = w->vertex[v - 2 * AHEAD], above = w->vertex[w->idom[v - AHEAD]];
            __builtin_prefetch(&result->dominator[soon]);
            __builtin_prefetch(&result->retained_size[soon], 1);
            __builtin_prefetch(&result->retained_count[soon], 1);
            __builtin_prefetch(&result->retained_size[above], 1);
            __builtin_prefetch(&result->retained_count[above], 1);
        }
        uint32_t number = w->vertex[v], dominator = result->dominator[number];
        if (dominator != CLR_DOMINATED_BY_ROOTS) {
            result->retained_size[dominator - 1] += result->retained_size[number];
            result->retained_count[dominator - 1] += result->retained_count[number];
        }
    }
}

enum clr_status clr_dominators_build(const struct clr_edges *edges,
                                     const struct clr_root_numbers *roots,
                                     void (*sizes)(void *context, uint64_t *out), void *context,
                                     struct clr_job *job, struct clr_dominators *result,
                                     struct clr_error *error)
{
    struct work w = {.edges = edges, .job = job, .count = edges->offsets.count};
    size_t room = room_of(w.count);
    memset(result, 0, sizeof *result);
    enum clr_status status = CLR_OK;
    if (!(w.block = clr_alloc_large(block_of(w.count), sizeof *w.block)) ||
        !large(&w.vertex, room) || !large(&w.ancestor, room) || !large(&w.semi, room) ||
        !large(&w.idom, room))
        status = clr_no_memory(error);
    if (status == CLR_OK) {
        w.dfn = (uint32_t *)w.block;
        uint32_t *const fresh[MOST_ARRAYS] = {w.dfn,      w.dfn + room, w.vertex,
                                              w.ancestor, w.semi,       w.idom};
        status = touch(&w, fresh, MOST_ARRAYS, room, error);
    }
    if (status == CLR_OK)
        status = search_all(&w, roots, error);
    if (status == CLR_OK)
        status = find_predecessors(&w, roots, error);
    w.label = w.dfn; /* from here on nobody asks for a preorder number */
    if (status == CLR_OK)
        status = dominate(&w, error);
    clr_free_large(w.predecessors, w.predecessor_count, sizeof *w.predecessors);
    clr_free(w.rows.base);
    if (status == CLR_OK)
        sum_up(&w, sizes, context, result);
    clr_free_large(w.block, block_of(w.count), sizeof *w.block);
    drop(&w.semi, room);
    drop(&w.ancestor, room);
    drop(&w.vertex, room);
    drop(&w.idom, room);
    if (status != CLR_OK)
        clr_dominators_deinit(result);
    return status;
}

void clr_dominators_deinit(struct clr_dominators *dominators)
{
    drop(&dominators->dominator, room_of(dominators->count));
    drop(&dominators->retained_count, room_of(dominators->count));
    clr_free_large(dominators->retained_size, block_of(dominators->count),
                   sizeof *dominators->retained_size);
    memset(dominators, 0, sizeof *dominators);
}
