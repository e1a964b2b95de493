/*
 * Finding the next object after damage: a hole in the saved memory, an overwritten header.
 *
 * From the place where an object was lost the walk looks at every unit. Memory that is no object
 * start can look like one: a field may hold the address of a MethodTable (System.RuntimeType has
 * one), and free space is full of what was there before. What is asked of a candidate, from cheap
 * to expensive:
 *
 *   1. its word is a MethodTable, without a bit that only a running GC sets, of a type that can
 *      have instances, and its size fits;
 *   2. its header word can be one: on 64-bit the half before the sync-block value is padding, and
 *      one bit of that value is never set outside a GC;
 *   3. its references are null, or aligned and in a segment: a false object that lies over true
 *      ones has their MethodTables in its slots;
 *   4. sizes lead from it over several objects, or to the end of the segment, or to a hole, or to
 *      an object whose type is not saved;
 *   5. no better candidate lies inside it. Chains that begin at different places fall in with each
 *      other soon, so 4 alone does not tell true from false. But a false object covers true ones:
 *      of two chains that meet, the one with more objects on the way is the true one, because each
 *      of its members is a word that had to be a MethodTable. If both have as many, the one whose
 *      type comes more often behind: types stand together. A free block is exempt: what it covers
 *      is dead.
 *
 * All of this reads nothing but the dump, so the answer does not depend on the order of the walk.
 */
#include "heap/resync.h"

enum {
    VIEW_BYTES = 1 << 20, /* bytes that are looked at in one go */
    CHAIN = 3,            /* objects that have to be there */
    MEET = 64,            /* objects within which two chains meet, or never */
    NEIGHBOURS = 256,     /* objects whose types decide between two that are alike else */
    COVERED = 64 << 10,   /* bytes of a candidate that are searched for better ones */
    COMPARED = 64,        /* of those that are compared with it */
    SLOTS = 64,           /* references of a candidate that are looked at */
};

enum clr_status clr_walker_init(struct clr_walker *walker, struct clr_heap *heap,
                                struct clr_error *error)
{
    *walker = (struct clr_walker){.heap = heap};
    enum clr_status status = clr_shape_table_init(&walker->certain, heap->runtime, error);
    if (status == CLR_OK)
        status = clr_shape_table_init(&walker->guessed, heap->runtime, error);
    if (status != CLR_OK)
        clr_walker_deinit(walker);
    return status;
}

void clr_walker_deinit(struct clr_walker *walker)
{
    clr_shape_table_deinit(&walker->certain);
    clr_shape_table_deinit(&walker->guessed);
    clr_slot_pool_deinit(&walker->slots);
}

void clr_walker_enter(struct clr_walker *walker, struct clr_shape_table *table,
                      const struct clr_segment *segment)
{
    walker->table = table;
    walker->segment = segment;
    walker->alignment = clr_segment_alignment(walker->heap, segment);
    walker->from = walker->to = 0;
}

bool clr_walker_look(struct clr_walker *walker, uint64_t address, uint64_t need)
{
    uint64_t got;
    if (address >= walker->from && address < walker->to && need <= walker->to - address)
        return true;
    const uint8_t *bytes = clr_view(walker->heap->process, address, VIEW_BYTES, &got);
    if (!bytes || got < need)
        return false;
    walker->bytes = bytes;
    walker->from = address;
    walker->to = address + got;
    walker->range = &walker->heap->ranges[clr_index_range_from(walker->heap, address)];
    return true;
}

enum clr_status clr_walker_measure(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                   struct clr_measured *object)
{
    const struct clr_heap *heap = walker->heap;
    const uint64_t count_offset = heap->count_offset;
    uint32_t count = 0;
    bool whole = clr_walker_look(walker, address, count_offset + sizeof count);
    *object = (struct clr_measured){.what = CLR_MEASURED_UNSAVED};
    walker->measured++;
    if (whole)
        object->word =
            clr_load_word(walker->bytes + (address - walker->from), heap->word, heap->swapped);
    else if (!clr_read_word(heap->process, address, &object->word))
        return CLR_OK;
    object->what = CLR_MEASURED_NO_TYPE;
    CLR_TRY(clr_shape_table_get(walker->table, heap->runtime, object->word & ~heap->unmask,
                                &object->shape, walker->error));
    if (!object->shape)
        return CLR_OK;
    object->raw = object->shape->base_size;
    if (object->shape->component_size != 0) {
        if (whole) {
            const uint8_t *header = walker->bytes + (address - walker->from);
            count = clr_load_u32(header + count_offset, heap->swapped);
        } else if (!clr_read_u32(heap->process, address + count_offset, &count)) {
            object->what = CLR_MEASURED_UNSAVED;
            return CLR_OK;
        }
        object->raw += (uint64_t)count * object->shape->component_size;
    }
    object->size = clr_round_up(object->raw, walker->alignment);
    object->what = address <= limit && object->size <= limit - address ? CLR_MEASURED_OBJECT
                                                                       : CLR_MEASURED_TOO_LONG;
    return CLR_OK;
}

/* Whether the words before ADDRESS can be an object's header. */
static bool header_fits(const struct clr_walker *walker, uint64_t address)
{
    enum { NEVER_SET = (int)0x80000000 };
    const struct clr_heap *heap = walker->heap;
    uint32_t padding, value;
    if (heap->gc->in_progress)
        return true;
    if (clr_read_u32(heap->process, address - sizeof value, &value) &&
        (value & (uint32_t)NEVER_SET))
        return false;
    return heap->word != 8 || !clr_read_u32(heap->process, address - 2 * sizeof value, &padding) ||
           padding == 0;
}

bool clr_walker_type_unsaved(const struct clr_walker *walker, uint64_t address,
                             const struct clr_measured *object)
{
    const struct clr_heap *heap = walker->heap;
    const struct clr_run *runs;
    size_t count = clr_process_runs(heap->process, &runs);
    uint64_t type = object->word & ~heap->unmask;
    return object->what == CLR_MEASURED_NO_TYPE && count != 0 &&
           (type == object->word || heap->gc->in_progress) && type > runs[0].start &&
           type < runs[count - 1].end && clr_saved_bytes(heap->process, type, type + 1) == 0 &&
           header_fits(walker, address);
}

/* Whether the first references of an object can be references. */
static enum clr_status references_fit(struct clr_walker *walker, uint64_t address,
                                      const struct clr_measured *object, bool *fit)
{
    const struct clr_heap *heap = walker->heap;
    struct clr_type type;
    struct clr_slots slots;
    struct clr_slot_walk runs;
    struct clr_error unread = {0};
    uint64_t offset, count, left = SLOTS;
    *fit = true;
    if (!object->shape->contains_references || heap->gc->in_progress ||
        !clr_type_read(heap->runtime, object->shape->type, &type))
        return CLR_OK;
    walker->slots.count = 0;
    enum clr_status status = clr_slots_read(heap->runtime, &type, &walker->slots, &slots, &unread);
    if (status == CLR_NOMEM)
        return clr_fail(walker->error, CLR_NOMEM, 0, "%s", unread.text);
    if (status != CLR_OK)
        return CLR_OK;
    clr_slot_walk_start(&runs, &slots, &walker->slots, object->raw, heap->word);
    while (left > 0 && clr_slot_walk_next(&runs, &offset, &count)) {
        for (uint64_t i = 0; i < count && left > 0; i++, left--) {
            uint64_t target;
            if (!clr_read_word(heap->process, address + offset + i * heap->word, &target))
                return CLR_OK;
            if (target != 0 && (target % heap->word != 0 || !clr_gc_segment_at(heap->gc, target))) {
                *fit = false;
                return CLR_OK;
            }
        }
    }
    return CLR_OK;
}

/* Conditions 1 to 3. */
static enum clr_status resembles(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                 struct clr_measured *object, bool *is_free, bool *result)
{
    *result = false;
    CLR_TRY(clr_walker_measure(walker, address, limit, object));
    if (object->what != CLR_MEASURED_OBJECT || !object->shape->has_instances ||
        (!walker->heap->gc->in_progress && (object->word & walker->heap->unmask) != 0))
        return CLR_OK;
    *is_free = object->shape->is_free;
    if (*is_free) { /* the GC leaves what it likes in front of it */
        *result = true;
        return CLR_OK;
    }
    if (!header_fits(walker, address))
        return CLR_OK;
    return references_fit(walker, address, object, result);
}

enum clr_status clr_resync_chain(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                 bool *holds)
{
    struct clr_measured object;
    *holds = false;
    for (int i = 0; i < CHAIN && address != limit; i++) {
        CLR_TRY(clr_walker_measure(walker, address, limit, &object));
        if (i > 0 && (object.what == CLR_MEASURED_UNSAVED ||
                      clr_walker_type_unsaved(walker, address, &object)))
            break;
        if (object.what != CLR_MEASURED_OBJECT)
            return CLR_OK;
        address += object.size;
    }
    *holds = true;
    return CLR_OK;
}

/* Whether the objects from ADDRESS on are of type INNER at least as often as of type OUTER. */
static enum clr_status is_commoner(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                   uint64_t inner, uint64_t outer, bool *commoner)
{
    struct clr_measured object;
    int inners = 0, outers = 0;
    for (int i = 0; i < NEIGHBOURS && address != limit; i++) {
        CLR_TRY(clr_walker_measure(walker, address, limit, &object));
        if (object.what != CLR_MEASURED_OBJECT)
            break;
        inners += object.shape->type == inner;
        outers += object.shape->type == outer;
        address += object.size;
    }
    *commoner = inners >= outers;
    return CLR_OK;
}

/* A place where an object may begin. */
struct candidate {
    uint64_t address, size, type;
};

/* Whether INNER, which lies in OUTER, is the better candidate: their chains meet, and there are
 * more objects on its way. */
static enum clr_status is_better(struct clr_walker *walker, const struct candidate *inner,
                                 const struct candidate *outer, uint64_t limit, bool *better)
{
    uint64_t a = outer->address + outer->size, b = inner->address + inner->size;
    int on_a = 1, on_b = 1;
    struct clr_measured object;
    *better = false;
    while (a != b) {
        uint64_t *behind = a < b ? &a : &b;
        if (on_a > MEET || on_b > MEET)
            return CLR_OK;
        CLR_TRY(clr_walker_measure(walker, *behind, limit, &object));
        if (object.what != CLR_MEASURED_OBJECT) {
            *better = behind == &a && object.what != CLR_MEASURED_UNSAVED &&
                      !clr_walker_type_unsaved(walker, a, &object);
            return CLR_OK;
        }
        if (behind == &a)
            on_a++;
        else
            on_b++;
        *behind += object.size;
    }
    if (on_a == on_b)
        return is_commoner(walker, a, limit, inner->type, outer->type, better);
    *better = on_b > on_a;
    return CLR_OK;
}

enum clr_status clr_resync_accept(struct clr_walker *walker, uint64_t address, uint64_t limit,
                                  bool *accepted)
{
    struct clr_measured object, other;
    bool is_free = false, other_is_free, fits, holds;
    *accepted = false;
    CLR_TRY(resembles(walker, address, limit, &object, &is_free, &fits));
    if (!fits)
        return CLR_OK;
    const struct candidate outer = {address, object.size, object.shape->type};
    CLR_TRY(clr_resync_chain(walker, address, limit, &holds));
    if (!holds)
        return CLR_OK;
    uint64_t searched = outer.size < COVERED ? outer.size : COVERED;
    const uint64_t unit = (uint64_t)1 << walker->heap->unit_shift;
    int left = is_free ? 0 : COMPARED;
    for (uint64_t offset = unit; offset < searched && left > 0; offset += unit) {
        bool better;
        CLR_TRY(resembles(walker, address + offset, limit, &other, &other_is_free, &fits));
        if (!fits)
            continue;
        const struct candidate inner = {address + offset, other.size, other.shape->type};
        left--;
        CLR_TRY(is_better(walker, &inner, &outer, limit, &better));
        if (better)
            return CLR_OK;
    }
    *accepted = true;
    return CLR_OK;
}
