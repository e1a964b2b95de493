/*
 * Reading the edges of objects: the hot loop of refs and of every graph that is built.
 *
 * Runs of slots come from the GCDesc of the object's shape (runtime/gcdesc.c), words from a piece of
 * saved memory that is looked up once for many objects. A target is an edge only if an object starts
 * there. Nothing is allocated per object.
 */
#include "heap/refs.h"

#include <stdlib.h>

#include "heap/units.h"
#include "runtime/loader.h"
#include "runtime/types.h"

enum { PIECE = 1 << 20 }; /* bytes looked at in one go */

static const char *const kind_texts[] = {"member", "element", "dependent", "loader_allocator"};

const char *clr_ref_kind_text(enum clr_ref_kind kind)
{
    return kind_texts[kind];
}

/* --- The map ------------------------------------------------------------------------------------ */

static enum clr_status read_shapes(struct clr_ref_map *map, struct clr_problems *problems,
                                   struct clr_error *error)
{
    const struct clr_shape *shapes;
    size_t count = clr_heap_shapes(map->heap, &shapes);
    map->slots = clr_alloc(count, sizeof *map->slots);
    map->allocator = clr_alloc(count, sizeof *map->allocator);
    if (!map->slots || !map->allocator)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory for the references of the heap");
    for (size_t i = 0; i < count; i++) {
        struct clr_type type;
        struct clr_error why = {0};
        if (shapes[i].is_free || !(shapes[i].contains_references || shapes[i].collectible))
            continue;
        if (!clr_type_read(map->runtime, shapes[i].type, &type))
            continue; /* the walk has read it: only a race with a changing file gets here */
        enum clr_status status =
            clr_slots_read(map->runtime, &type, &map->pool, &map->slots[i], &why);
        if (status == CLR_NOMEM)
            return clr_fail(error, status, 0, "%s", why.text);
        if (status != CLR_OK)
            clr_problem_of(problems, CLR_ERROR, "refs", shapes[i].type, true, shapes[i].type, 0,
                           "%s; the references of its %llu objects are missing", why.text,
                           (unsigned long long)shapes[i].object_count);
        if (!shapes[i].collectible)
            continue;
        uint64_t allocator = clr_type_allocator(map->runtime, &type);
        uint64_t object = allocator ? clr_allocator_object(map->runtime, allocator) : 0;
        uint32_t number;
        if (object != 0 && clr_number(map->heap, object, &number))
            map->allocator[i] = number + 1;
    }
    return CLR_OK;
}

static int by_source(const void *a, const void *b)
{
    const struct clr_dependent *x = a, *y = b;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static enum clr_status read_dependents(struct clr_ref_map *map, const struct clr_handle *handles,
                                       size_t count, struct clr_problems *problems,
                                       struct clr_error *error)
{
    size_t dependents = 0;
    for (size_t i = 0; i < count; i++)
        dependents += handles[i].kind == CLR_HANDLE_DEPENDENT && handles[i].secondary != 0;
    map->dependents = clr_alloc(dependents, sizeof *map->dependents);
    if (!map->dependents)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory for the dependent handles");
    for (size_t i = 0; i < count; i++) {
        struct clr_dependent *edge = &map->dependents[map->dependent_count];
        if (handles[i].kind != CLR_HANDLE_DEPENDENT || handles[i].secondary == 0)
            continue;
        if (!clr_number(map->heap, handles[i].object, &edge->source) ||
            !clr_number(map->heap, handles[i].secondary, &edge->target)) {
            clr_problem_of(problems, CLR_ERROR, "refs", 0, true, handles[i].address, 0,
                           "dependent handle 0x%llx: 0x%llx or 0x%llx is no object",
                           (unsigned long long)handles[i].address,
                           (unsigned long long)handles[i].object,
                           (unsigned long long)handles[i].secondary);
            continue;
        }
        edge->slot = handles[i].secondary_slot;
        map->dependent_count++;
    }
    if (map->dependent_count)
        qsort(map->dependents, map->dependent_count, sizeof *map->dependents, by_source);
    return CLR_OK;
}

enum clr_status clr_ref_map_create(const struct clr_heap *heap, const struct clr_runtime *runtime,
                                   const struct clr_gc *gc, const struct clr_handle *handles,
                                   size_t handle_count, struct clr_problems *problems,
                                   struct clr_ref_map **out, struct clr_error *error)
{
    enum { BACKGROUND_SWEEP = 1 };
    struct clr_ref_map *map = clr_alloc(1, sizeof *map);
    *out = NULL;
    if (!map)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory for the references of the heap");
    map->heap = heap;
    map->runtime = runtime;
    map->gc = gc;
    map->has_unswept = gc->background && gc->state == BACKGROUND_SWEEP;
    enum clr_status status = read_shapes(map, problems, error);
    if (status == CLR_OK)
        status = read_dependents(map, handles, handle_count, problems, error);
    if (status != CLR_OK) {
        clr_ref_map_destroy(map);
        return status;
    }
    *out = map;
    return CLR_OK;
}

void clr_ref_map_destroy(struct clr_ref_map *map)
{
    if (!map)
        return;
    clr_free(map->slots);
    clr_free(map->allocator);
    clr_free(map->dependents);
    clr_slot_pool_deinit(&map->pool);
    clr_free(map);
}

/* --- Slots of one object ------------------------------------------------------------------------ */

static bool look(struct clr_ref_scan *scan, uint64_t address, uint64_t need)
{
    uint64_t got;
    if (address >= scan->piece_start && address - scan->piece_start <= scan->piece_size &&
        need <= scan->piece_size - (address - scan->piece_start))
        return true;
    scan->piece = clr_view(scan->map->heap->process, address, PIECE, &got);
    scan->piece_start = address;
    scan->piece_size = scan->piece ? got : 0;
    return scan->piece && got >= need;
}

void clr_ref_scan_object(struct clr_ref_scan *scan, const struct clr_object *object)
{
    const struct clr_ref_map *map = scan->map;
    const struct clr_heap *heap = map->heap;
    const struct clr_shape *shape = &heap->shapes[object->shape];
    const struct clr_slots *slots = &map->slots[object->shape];
    uint64_t raw = shape->base_size;
    scan->object = *object;
    scan->left = 0;
    scan->walk.run = scan->walk.end = NULL;
    scan->walk.kind = CLR_SLOTS_NONE;
    scan->component = 0;
    scan->dead = map->has_unswept &&
                 clr_gc_unswept_dead(map->gc, map->runtime, &map->gc->segments[object->segment],
                                     object->address);
    if (slots->kind == CLR_SLOTS_NONE || scan->dead)
        return;
    if (shape->component_size != 0) {
        uint32_t components = 0;
        if (look(scan, object->address, (uint64_t)heap->count_offset + sizeof components))
            components = clr_load_u32(scan->piece + (object->address - scan->piece_start) +
                                          heap->count_offset,
                                      heap->swapped);
        raw += (uint64_t)components * shape->component_size;
        scan->component = shape->component_size;
        scan->data = object->address + shape->base_size - heap->word;
    }
    clr_slot_walk_start(&scan->walk, slots, &map->pool, raw, heap->word);
}

/* A stretch of the object that is not saved: told once, and passed over. */
static void pass_over(struct clr_ref_scan *scan)
{
    uint64_t word = scan->map->heap->word, end = scan->slot + scan->left * word, saved;
    if (!clr_next_saved(scan->map->heap->process, scan->slot + 1, &saved) || saved > end)
        saved = end;
    uint64_t skipped = (saved - scan->slot + word - 1) / word;
    if (skipped > scan->left)
        skipped = scan->left;
    if (scan->missing)
        scan->missing(scan->context, scan->slot, skipped * word);
    scan->slot += skipped * word;
    scan->left -= skipped;
}

bool clr_ref_scan_slot(struct clr_ref_scan *scan, uint64_t *slot, uint64_t *value)
{
    const struct clr_heap *heap = scan->map->heap;
    for (;;) {
        while (scan->left > 0) {
            if (!look(scan, scan->slot, heap->word)) {
                pass_over(scan);
                continue;
            }
            const uint8_t *p = scan->piece + (scan->slot - scan->piece_start);
            uint64_t word = heap->native ? clr_load_word(p, 8, false)
                                         : clr_load_word(p, heap->word, heap->swapped);
            uint64_t at = scan->slot;
            scan->slot += heap->word;
            scan->left--;
            if (word != 0) {
                *slot = at;
                *value = word;
                return true;
            }
        }
        uint64_t offset;
        if (scan->walk.kind == CLR_SLOTS_NONE ||
            !clr_slot_walk_next(&scan->walk, &offset, &scan->left))
            return false;
        scan->slot = scan->object.address + offset;
    }
}

/* --- Edges -------------------------------------------------------------------------------------- */

static void describe(const struct clr_heap *heap, const struct clr_object *source, uint64_t slot,
                     struct clr_ref *ref)
{
    const struct clr_shape *shape = &heap->shapes[source->shape];
    ref->address = slot;
    ref->source = source->address;
    ref->source_number = source->number;
    ref->shape = source->shape;
    ref->offset = slot - source->address - heap->word;
    ref->element = 0;
    ref->within = ref->offset;
    ref->kind = CLR_REF_MEMBER;
    if (shape->is_array && shape->component_size != 0) {
        uint64_t data = source->address + shape->base_size - heap->word;
        ref->kind = CLR_REF_ELEMENT;
        ref->element = (slot - data) / shape->component_size;
        ref->within = (slot - data) % shape->component_size;
    }
}

static void describe_extra(const struct clr_heap *heap, enum clr_ref_kind kind, uint32_t source,
                           uint32_t target, uint64_t slot, struct clr_ref *ref)
{
    struct clr_object object;
    *ref = (struct clr_ref){.kind = kind, .source_number = source, .target_number = target};
    if (clr_object_read(heap, source, &object))
        ref->shape = object.shape;
    ref->source = clr_address(heap, source);
    ref->target = clr_address(heap, target);
    ref->address = slot ? slot : ref->source;
}

bool clr_ref_dependent(const struct clr_ref_map *map, const struct clr_dependent *edge,
                       struct clr_ref *ref)
{
    describe_extra(map->heap, CLR_REF_DEPENDENT, edge->source, edge->target, edge->slot, ref);
    return true;
}

size_t clr_dependent_index(const struct clr_ref_map *map, const struct clr_ref *ref)
{
    size_t low = 0, high = map->dependent_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct clr_dependent *edge = &map->dependents[middle];
        if (edge->source < ref->source_number ||
            (edge->source == ref->source_number && edge->slot < ref->address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool clr_ref_allocator(const struct clr_ref_map *map, uint32_t source, struct clr_ref *ref)
{
    struct clr_object object;
    if (!clr_object_read(map->heap, source, &object) || map->allocator[object.shape] == 0)
        return false;
    describe_extra(map->heap, CLR_REF_LOADER_ALLOCATOR, source, map->allocator[object.shape] - 1, 0,
                   ref);
    return true;
}

bool clr_ref_at(const struct clr_ref_map *map, uint64_t slot, uint32_t source_number,
                struct clr_ref *ref)
{
    struct clr_object source;
    if (!clr_object_read(map->heap, source_number, &source) ||
        !clr_read_word(map->heap->process, slot, &ref->target) ||
        !clr_number(map->heap, ref->target, &ref->target_number))
        return false;
    describe(map->heap, &source, slot, ref);
    return true;
}

void clr_ref_scan_start(struct clr_ref_scan *scan, const struct clr_ref_map *map, uint32_t first,
                        uint32_t end)
{
    *scan = (struct clr_ref_scan){.map = map};
    clr_object_scan_start(&scan->objects, map->heap, first, end, false);
    size_t low = 0, high = map->dependent_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->dependents[middle].source < first)
            low = middle + 1;
        else
            high = middle;
    }
    scan->dependent = low;
}

/* The edges of the current object that are in no slot of it. */
static bool next_extra(struct clr_ref_scan *scan, struct clr_ref *ref)
{
    const struct clr_ref_map *map = scan->map;
    uint32_t number = scan->object.number;
    while (scan->dependent < map->dependent_count &&
           map->dependents[scan->dependent].source < number)
        scan->dependent++;
    if (scan->dependent < map->dependent_count &&
        map->dependents[scan->dependent].source == number)
        return clr_ref_dependent(map, &map->dependents[scan->dependent++], ref);
    if (!scan->allocator_done && map->allocator[scan->object.shape] != 0) {
        scan->allocator_done = true;
        return clr_ref_allocator(map, number, ref);
    }
    return false;
}

bool clr_ref_scan_next(struct clr_ref_scan *scan, struct clr_ref *ref)
{
    for (;;) {
        uint64_t slot, value;
        while (scan->in_object && clr_ref_scan_slot(scan, &slot, &value)) {
            if (clr_number(scan->map->heap, value, &ref->target_number)) {
                ref->target = value;
                describe(scan->map->heap, &scan->object, slot, ref);
                return true;
            }
            if (scan->stray)
                scan->stray(scan->context, slot, value);
        }
        if (scan->in_object && !scan->dead && next_extra(scan, ref))
            return true;
        struct clr_object object;
        if (!clr_object_scan_next(&scan->objects, &object)) {
            scan->in_object = false;
            return false;
        }
        scan->in_object = true;
        scan->allocator_done = false;
        clr_ref_scan_object(scan, &object);
    }
}
