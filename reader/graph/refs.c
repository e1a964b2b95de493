/*
 * Reading the edges of objects: the hot loop of refs and of every graph that is built.
 *
 * Runs of slots come from the GCDesc of the object's shape (runtime/gcdesc.c), words from a view
 * of saved memory that is looked up once for many objects. A target is an edge only if an object
 * starts there. Nothing is allocated per object.
 */
#include "graph/refs.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"
#include "heap/units.h"
#include "runtime/loader.h"
#include "runtime/types.h"

enum { VIEW_BYTES = 1 << 20 }; /* bytes looked at in one go */

static const char *const kind_texts[] = {"member", "element", "dependent", "loader_allocator"};

const char *clr_ref_kind_text(enum clr_ref_kind kind)
{
    return kind_texts[kind];
}

/* --- The map --------------------------------------------------------------------------------- */

struct free_search {
    struct clr_ref_map *map;
    uint32_t *firsts;
};

static void mark_free(struct clr_ref_map *map, uint32_t number)
{
    __atomic_fetch_or(&map->free_bits[number >> 6], (uint64_t)1 << (number & 63),
                      __ATOMIC_RELAXED); /* pieces share words */
}

/* Only MethodTable words are looked at: no type is looked up. */
static enum clr_status find_free_piece(void *context, unsigned worker, size_t piece,
                                       struct clr_error *error)
{
    const struct free_search *search = context;
    const struct clr_heap *heap = search->map->heap;
    const uint64_t type = heap->shapes[0].type;
    const uint8_t *view = NULL;
    uint64_t start = 0, size = 0;
    struct clr_object_scan scan;
    struct clr_object object;
    (void)worker, (void)error;
    clr_object_scan_start(&scan, heap, search->firsts[piece], search->firsts[piece + 1], false);
    if (!heap->native) {
        while (clr_object_scan_next(&scan, &object))
            if (object.shape == 0)
                mark_free(search->map, object.number);
        return CLR_OK;
    }
    for (; scan.next != scan.end; scan.next++) {
        while (scan.bits == 0) {
            const struct clr_index_entry *entry = &heap->entries[++scan.entry];
            scan.bits = entry->half[0] | (uint64_t)entry->half[1] << 32;
            while (scan.range + 1 < heap->range_count &&
                   heap->ranges[scan.range + 1].first <= scan.entry)
                scan.range++;
            scan.base = heap->ranges[scan.range].start +
                        ((scan.entry - heap->ranges[scan.range].first) * CLR_ENTRY_UNITS * 8);
        }
        uint64_t address = scan.base + (uint64_t)(unsigned)__builtin_ctzll(scan.bits) * 8, word;
        scan.bits &= scan.bits - 1;
        if (address - start >= size || size - (address - start) < sizeof word) {
            view = clr_view(heap->process, address, VIEW_BYTES, &size);
            start = address;
        }
        if (view && size - (address - start) >= sizeof word)
            word = clr_load_word(view + (address - start), 8, false);
        else if (!clr_read_word(heap->process, address, &word))
            continue;
        if ((word & ~heap->unmask) == type)
            mark_free(search->map, (uint32_t)scan.next);
    }
    return CLR_OK;
}

static enum clr_status find_free(struct clr_ref_map *map, struct clr_job *job,
                                 struct clr_error *error)
{
    struct free_search search = {.map = map};
    const struct clr_shape *shapes;
    size_t pieces;
    if (clr_heap_shapes(map->heap, &shapes) == 0 || shapes[0].object_count == 0)
        return CLR_OK;
    map->free_bits =
        clr_alloc(((size_t)clr_heap_count(map->heap) >> 6) + 1, sizeof *map->free_bits);
    if (!map->free_bits)
        return clr_no_memory(error);
    CLR_TRY(clr_heap_pieces(map->heap, &search.firsts, &pieces, error));
    enum clr_status status =
        clr_job_run(job, "looking for free blocks", pieces, find_free_piece, &search, error);
    clr_free(search.firsts);
    return status;
}

static enum clr_status read_shapes(struct clr_ref_map *map, struct clr_problems *problems,
                                   struct clr_error *error)
{
    const struct clr_shape *shapes;
    size_t count = clr_heap_shapes(map->heap, &shapes);
    if (!(map->shapes = clr_alloc(count, sizeof *map->shapes)))
        return clr_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        struct clr_type type;
        struct clr_error why = {0};
        if (shapes[i].is_free || !(shapes[i].contains_references || shapes[i].collectible))
            continue;
        if (!clr_type_read(map->runtime, shapes[i].type, &type))
            continue; /* the walk has read it: only a race with a changing file gets here */
        enum clr_status status =
            clr_slots_read(map->runtime, &type, &map->pool, &map->shapes[i].slots, &why);
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
        if (object != 0 && clr_number(map->heap, object, &number) && !clr_ref_is_free(map, number))
            map->shapes[i].allocator = number + 1;
        else if (object != 0)
            clr_problem_of(problems, CLR_ERROR, "refs", allocator, true, object, 0,
                           "loader allocator 0x%llx: its object 0x%llx is not on the heap; the "
                           "edges to it are missing",
                           (unsigned long long)allocator, (unsigned long long)object);
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

bool clr_ref_is_dead(const struct clr_ref_map *map, const struct clr_object *object)
{
    return map->has_unswept &&
           clr_gc_unswept_dead(map->gc, map->runtime, &map->gc->segments[object->segment],
                               object->address);
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
        return clr_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        struct clr_dependent *edge = &map->dependents[map->dependent_count];
        struct clr_object source;
        if (handles[i].kind != CLR_HANDLE_DEPENDENT || handles[i].secondary == 0)
            continue;
        if (!clr_number(map->heap, handles[i].object, &edge->source) ||
            !clr_number(map->heap, handles[i].secondary, &edge->target) ||
            clr_ref_is_free(map, edge->source) || clr_ref_is_free(map, edge->target)) {
            clr_problem_of(problems, CLR_ERROR, "refs", 0, true, handles[i].address, 0,
                           "dependent handle 0x%llx: 0x%llx or 0x%llx is no object",
                           (unsigned long long)handles[i].address,
                           (unsigned long long)handles[i].object,
                           (unsigned long long)handles[i].secondary);
            continue;
        }
        if (!clr_object_read(map->heap, edge->source, &source))
            continue;
        edge->is_dead = clr_ref_is_dead(map, &source);
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
                                   struct clr_job *job, struct clr_ref_map **out,
                                   struct clr_error *error)
{
    struct clr_ref_map *map = clr_alloc(1, sizeof *map);
    *out = NULL;
    if (!map)
        return clr_no_memory(error);
    map->heap = heap;
    map->runtime = runtime;
    map->gc = gc;
    map->has_unswept = gc->background && gc->state == CLR_GC_SWEEPING;
    enum clr_status status = find_free(map, job, error);
    if (status == CLR_OK)
        status = read_shapes(map, problems, error);
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
    clr_free(map->shapes);
    clr_free(map->dependents);
    clr_free(map->free_bits);
    clr_slot_pool_deinit(&map->pool);
    clr_free(map);
}

/* --- Slots of one object --------------------------------------------------------------------- */

static inline bool look(struct clr_ref_scan *scan, uint64_t address, uint64_t need)
{
    uint64_t got;
    if (address >= scan->view_start && address - scan->view_start <= scan->view_size &&
        need <= scan->view_size - (address - scan->view_start))
        return true;
    scan->view = clr_view(scan->map->heap->process, address, VIEW_BYTES, &got);
    scan->view_start = address;
    scan->view_size = scan->view ? got : 0;
    return scan->view && got >= need;
}

void clr_ref_scan_object(struct clr_ref_scan *scan, const struct clr_object *object)
{
    const struct clr_ref_map *map = scan->map;
    const struct clr_heap *heap = map->heap;
    const struct clr_shape *shape = &heap->shapes[object->shape];
    const struct clr_slots *slots = &map->shapes[object->shape].slots;
    uint64_t raw = shape->base_size;
    scan->object = *object;
    scan->left = 0;
    scan->walk.run = scan->walk.end = NULL;
    scan->walk.kind = CLR_SLOTS_NONE;
    scan->component = 0;
    if (slots->kind == CLR_SLOTS_NONE)
        return;
    if (shape->component_size != 0) {
        uint32_t components = 0;
        if (look(scan, object->address, (uint64_t)heap->count_offset + sizeof components))
            components =
                clr_load_u32(scan->view + (object->address - scan->view_start) + heap->count_offset,
                             heap->swapped);
        else if (!clr_read_u32(heap->process, object->address + heap->count_offset, &components))
            components = 0; /* the walk has read it: only a changing file gets here */
        raw += (uint64_t)components * shape->component_size;
        scan->component = shape->component_size;
        scan->data = object->address + shape->base_size - heap->word;
    }
    clr_slot_walk_start(&scan->walk, slots, &map->pool, raw, heap->word);
}

/* A stretch of the object that is not saved: reported once, and passed over. */
static void pass_over(struct clr_ref_scan *scan)
{
    struct clr_slot_walk *walk = &scan->walk;
    uint64_t word = scan->map->heap->word, start = scan->slot, end = start + scan->left * word,
             saved;
    uint64_t last = scan->object.address + walk->limit; /* of the object */
    if (!clr_next_saved(scan->map->heap->process, start + 1, &saved) || saved > last)
        saved = last;
    uint64_t skipped = (saved - start + word - 1) / word;
    if (saved < end || walk->kind != CLR_SLOTS_REPEATED) {
        if (skipped > scan->left)
            skipped = scan->left;
        scan->slot += skipped * word;
        scan->left -= skipped;
        saved = scan->slot;
    } else { /* on to the element that has saved bytes again, or to the end */
        uint64_t elements = (saved - scan->object.address - walk->element) / walk->stride;
        walk->element += elements * walk->stride;
        if (elements != 0)
            walk->run = walk->begin;
        scan->left = 0;
    }
    if (scan->missing)
        scan->missing(scan->context, start, saved - start);
}

static inline bool next_slot(struct clr_ref_scan *scan, uint64_t *slot, uint64_t *value)
{
    const struct clr_heap *heap = scan->map->heap;
    for (;;) {
        while (scan->left > 0) {
            uint64_t word;
            if (look(scan, scan->slot, heap->word)) {
                const uint8_t *p = scan->view + (scan->slot - scan->view_start);
                word = heap->native ? clr_load_word(p, 8, false)
                                    : clr_load_word(p, heap->word, heap->swapped);
            } else if (!clr_read_word(heap->process, scan->slot, &word)) { /* else: in two views */
                pass_over(scan);
                continue;
            }
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

bool clr_ref_scan_slot(struct clr_ref_scan *scan, uint64_t *slot, uint64_t *value)
{
    return next_slot(scan, slot, value);
}

/* --- Edges ----------------------------------------------------------------------------------- */

static inline void describe(const struct clr_heap *heap, const struct clr_object *source,
                            uint64_t slot, struct clr_ref *ref)
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
        if (shape->component_size == heap->word) { /* references: no division */
            ref->element = (slot - data) >> heap->unit_shift;
            ref->within = (slot - data) & (heap->word - 1);
        } else {
            uint64_t bytes = slot - data;
            if (bytes <= UINT32_MAX) { /* a division of 32 bits takes half the time */
                ref->element = (uint32_t)bytes / shape->component_size;
                ref->within = (uint32_t)bytes % shape->component_size;
            } else {
                ref->element = bytes / shape->component_size;
                ref->within = bytes % shape->component_size;
            }
        }
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
    const struct clr_dependent *edges = map->dependents;
    size_t i;
    CLR_SEARCH(i, 0, map->dependent_count,
               edges[i].source < ref->source_number ||
                   (edges[i].source == ref->source_number && edges[i].slot < ref->address));
    return i;
}

bool clr_ref_allocator(const struct clr_ref_map *map, uint32_t source, struct clr_ref *ref)
{
    struct clr_object object;
    if (!clr_object_read(map->heap, source, &object) || map->shapes[object.shape].allocator == 0)
        return false;
    describe_extra(map->heap, CLR_REF_LOADER_ALLOCATOR, source,
                   map->shapes[object.shape].allocator - 1, 0, ref);
    return true;
}

bool clr_ref_at(const struct clr_ref_map *map, uint64_t slot, uint32_t source_number,
                struct clr_ref *ref)
{
    struct clr_object source;
    if (!clr_object_read(map->heap, source_number, &source) ||
        !clr_read_word(map->heap->process, slot, &ref->target) ||
        !clr_number(map->heap, ref->target, &ref->target_number) ||
        clr_ref_is_free(map, ref->target_number))
        return false;
    describe(map->heap, &source, slot, ref);
    return true;
}

/* Whether the word at OFFSET of an object of RAW bytes is one of its slots. */
static bool is_slot(const struct clr_ref_map *map, const struct clr_slots *slots, uint64_t raw,
                    uint64_t offset)
{
    struct clr_slot_walk walk;
    uint64_t from, count, word = map->heap->word;
    if (slots->kind == CLR_SLOTS_NONE)
        return false;
    clr_slot_walk_start(&walk, slots, &map->pool, raw, (uint8_t)word);
    if (slots->kind == CLR_SLOTS_REPEATED && offset >= slots->start) /* to the element */
        walk.element += (offset - slots->start) / slots->stride * slots->stride;
    for (uint32_t i = 0; i < slots->count && clr_slot_walk_next(&walk, &from, &count); i++)
        if (offset >= from && (offset - from) % word == 0 && (offset - from) / word < count)
            return true;
    return false;
}

bool clr_ref_in_object(const struct clr_ref_map *map, uint32_t number, uint64_t address,
                       struct clr_ref *ref)
{
    const struct clr_heap *heap = map->heap;
    struct clr_object object;
    uint32_t components = 0;
    if (!clr_object_read(heap, number, &object))
        return false;
    if (address == object.address)
        return clr_ref_allocator(map, number, ref);
    const struct clr_shape *shape = &heap->shapes[object.shape];
    if (shape->component_size != 0 &&
        !clr_read_u32(heap->process, object.address + heap->count_offset, &components))
        return false;
    uint64_t raw = shape->base_size + (uint64_t)components * shape->component_size;
    return is_slot(map, &map->shapes[object.shape].slots, raw, address - object.address) &&
           clr_ref_at(map, address, number, ref);
}

void clr_ref_scan_start(struct clr_ref_scan *scan, const struct clr_ref_map *map, uint32_t first,
                        uint32_t end)
{
    *scan = (struct clr_ref_scan){.map = map};
    clr_object_scan_start(&scan->objects, map->heap, first, end, false);
    size_t i;
    CLR_SEARCH(i, 0, map->dependent_count, map->dependents[i].source < first);
    scan->dependent = i;
}

/* Whether dependent edges of object NUMBER come next; those of objects before it are passed. */
static inline bool has_dependents(struct clr_ref_scan *scan, uint32_t number)
{
    const struct clr_ref_map *map = scan->map;
    while (scan->dependent < map->dependent_count &&
           map->dependents[scan->dependent].source < number)
        scan->dependent++;
    return scan->dependent < map->dependent_count &&
           map->dependents[scan->dependent].source == number;
}

/* The edges of the current object that are in no slot of it. */
static bool next_extra(struct clr_ref_scan *scan, struct clr_ref *ref)
{
    const struct clr_ref_map *map = scan->map;
    uint32_t number = scan->object.number;
    if (has_dependents(scan, number))
        return clr_ref_dependent(map, &map->dependents[scan->dependent++], ref);
    if (!scan->allocator_done && map->shapes[scan->object.shape].allocator != 0) {
        scan->allocator_done = true;
        return clr_ref_allocator(map, number, ref);
    }
    return false;
}

bool clr_ref_scan_next(struct clr_ref_scan *scan, struct clr_ref *ref)
{
    for (;;) {
        uint64_t slot, value;
        while (scan->in_object && next_slot(scan, &slot, &value)) {
            uint64_t unit = clr_unit(scan->map->heap, value);
            if (unit != CLR_NO_UNIT &&
                clr_unit_number(scan->map->heap, unit, &ref->target_number) &&
                !clr_ref_is_free(scan->map, ref->target_number)) {
                ref->target = value;
                describe(scan->map->heap, &scan->object, slot, ref);
                return true;
            }
            if (scan->invalid)
                scan->invalid(scan->context, slot, value);
        }
        if (scan->in_object && next_extra(scan, ref))
            return true;
        struct clr_object object;
        const struct clr_shape_refs *refs;
        do {
            if (!clr_object_scan_next(&scan->objects, &object)) {
                scan->in_object = false;
                return false;
            }
            refs = &scan->map->shapes[object.shape];
        } while (refs->slots.kind == CLR_SLOTS_NONE && refs->allocator == 0 &&
                 !has_dependents(scan, object.number));
        scan->in_object = true;
        scan->allocator_done = false;
        clr_ref_scan_object(scan, &object);
    }
}
