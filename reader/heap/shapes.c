/*
 * Shapes: what the walk has to know of a MethodTable, found once and kept beside the tally of its
 * objects.
 *
 * Each walker has a table of its own, so that nothing is shared while the heap is walked. A word
 * that is met for the first time is checked by runtime/types; from then on it is a look-up in a
 * hash table of one cache line a type. At the end the tables are put together in the order of the
 * addresses of types: sums, minima and maxima do not depend on who walked what.
 *
 * The list of all types is made here too, and not in runtime/, because types that no table of a
 * module names are met only in the heap: modules' TypeDef maps and instantiations, the types of
 * objects, and what those lead to (base types, interfaces, elements of arrays, canonical types), so
 * that every column which holds a type joins.
 *
 * Free blocks: the runtime's own MethodTable for them has no class; base size is the smallest
 * object, the component is a byte.
 */
#include "heap/internal.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "runtime/loader.h"

enum {
    FIRST_ROOM = 1024,    /* cells */
    ABSTRACT = 0x80,      /* CorTypeAttr */
    BARE_DEPTH = 32,      /* base types without a saved class that are followed */
    HANDLE_TYPE_DESC = 2, /* bit of a TypeHandle: no MethodTable */
};

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory for the table of types");
}

/* --- A walker's table ------------------------------------------------------------------------- */

static struct clr_cell *slot_of(struct clr_cell *cells, size_t room, uint64_t type)
{
    size_t i = clr_map_hash(type) & (room - 1);
    while (cells[i].type != 0)
        i = (i + 1) & (room - 1);
    return &cells[i];
}

static struct clr_cell *insert(struct clr_cells *table, const struct clr_cell *cell)
{
    if ((table->used + 1) * 2 > table->room) {
        size_t room = table->room * 2;
        struct clr_cell *grown = clr_alloc(room, sizeof *grown);
        if (!grown)
            return NULL;
        for (size_t i = 0; i < table->room; i++)
            if (table->cells[i].type != 0)
                *slot_of(grown, room, table->cells[i].type) = table->cells[i];
        clr_free(table->cells);
        table->cells = grown;
        table->room = room;
    }
    struct clr_cell *slot = slot_of(table->cells, table->room, cell->type);
    *slot = *cell;
    table->used++;
    return slot;
}

enum clr_status clr_cells_init(struct clr_cells *cells, const struct clr_runtime *runtime,
                               struct clr_error *error)
{
    *cells = (struct clr_cells){.room = FIRST_ROOM};
    cells->cells = clr_alloc(FIRST_ROOM, sizeof *cells->cells);
    cells->rejected = clr_alloc(CLR_REJECTED, sizeof *cells->rejected);
    if (!cells->cells || !cells->rejected)
        return no_memory(error);
    if (runtime->free_type != 0) {
        uint32_t smallest = runtime->word * 3u;
        struct clr_cell free_cell = {.type = runtime->free_type,
                                     .base = smallest,
                                     .raw_base = smallest,
                                     .component = 1,
                                     .flags = (uint32_t)CLR_MT_HAS_COMPONENT_SIZE | 1,
                                     .min = UINT64_MAX,
                                     .is_free = true,
                                     .has_instances = true};
        if (!insert(cells, &free_cell))
            return no_memory(error);
    }
    return CLR_OK;
}

void clr_cells_deinit(struct clr_cells *cells)
{
    clr_free(cells->cells);
    clr_free(cells->rejected);
    *cells = (struct clr_cells){0};
}

/* A MethodTable whose class is not saved cannot be proved to be one. It is believed if its own
 * words are there and its base types are proved: a missing page of classes must not tear the heap.
 */
static bool read_bare(const struct clr_runtime *runtime, uint64_t address, struct clr_type *type)
{
    const struct clr_types_layout *t = &runtime->types;
    uint64_t at = address;
    for (int depth = 0; depth < BARE_DEPTH; depth++) {
        uint64_t parent, class_word, back;
        if (at == 0 || (at & runtime->alignment_mask) ||
            !clr_field_word(runtime, at, t->mt_parent, &parent) ||
            !clr_field_word(runtime, at, t->mt_class, &class_word))
            return false;
        if ((class_word & 1) &&
            !clr_read_word(runtime->process, class_word - 1 + t->mt_class, &class_word))
            class_word = class_word - 1; /* the canonical type is not saved: no more to check */
        else if (class_word == 0 || (class_word & runtime->alignment_mask) ||
                 clr_field_word(runtime, class_word, t->class_mt, &back))
            return false;
        if (clr_type_valid(runtime, parent))
            break;
        at = parent;
        if (depth + 1 == BARE_DEPTH)
            return false;
    }
    *type = (struct clr_type){.address = address};
    if (!clr_field_u32(runtime, address, t->mt_flags, &type->flags) ||
        !clr_field_u32(runtime, address, t->mt_base_size, &type->base_size))
        return false;
    if (type->flags & (uint32_t)CLR_MT_HAS_COMPONENT_SIZE)
        type->component_size = type->flags & 0xffff;
    type->contains_references = (type->flags & CLR_MT_CONTAINS_POINTERS) != 0;
    type->is_collectible = (type->flags & CLR_MT_COLLECTIBLE) != 0;
    type->kind =
        (type->flags & CLR_MT_IS_ARRAY_MASK) == CLR_MT_IS_ARRAY ? CLR_KIND_ARRAY : CLR_KIND_CLASS;
    return true;
}

static bool has_instances(const struct clr_type *type)
{
    bool is_array = type->kind == CLR_KIND_ARRAY || type->kind == CLR_KIND_SZARRAY;
    return type->kind != CLR_KIND_INTERFACE && !type->is_generic_definition &&
           (is_array || (type->attributes & ABSTRACT) == 0);
}

static bool describe(const struct clr_runtime *runtime, uint64_t address, struct clr_cell *cell)
{
    struct clr_type type;
    uint64_t smallest = (uint64_t)runtime->word * 3;
    if (!clr_type_read(runtime, address, &type) && !read_bare(runtime, address, &type))
        return false;
    *cell =
        (struct clr_cell){.type = address,
                          .base = type.base_size,
                          .raw_base = type.base_size,
                          .component = type.component_size,
                          .flags = type.flags,
                          .min = UINT64_MAX,
                          .is_string = address == runtime->string_type,
                          .is_array = type.kind == CLR_KIND_ARRAY || type.kind == CLR_KIND_SZARRAY,
                          .contains_references = type.contains_references,
                          .collectible = type.is_collectible,
                          .has_instances = has_instances(&type)};
    if (type.base_size > UINT32_MAX - runtime->word ||
        clr_round_up(type.base_size, runtime->word) < smallest)
        return false;
    if (cell->component == 0)
        cell->base = (uint32_t)clr_round_up(type.base_size, runtime->word);
    return true;
}

enum clr_status clr_cells_learn(struct clr_cells *cells, const struct clr_runtime *runtime,
                                uint64_t type, struct clr_cell **cell, struct clr_error *error)
{
    struct clr_cell fresh;
    uint64_t *rejected = &cells->rejected[clr_map_hash(type) & (CLR_REJECTED - 1)];
    *cell = NULL;
    if (type == 0 || *rejected == type)
        return CLR_OK;
    if ((*cell = clr_cells_find(cells, type)))
        return CLR_OK;
    if (!describe(runtime, type, &fresh)) {
        *rejected = type;
        return CLR_OK;
    }
    if (!(*cell = insert(cells, &fresh)))
        return no_memory(error);
    return CLR_OK;
}

enum clr_status clr_cells_drain(struct clr_cells *cells, struct clr_tally **tallies, size_t *count,
                                size_t *room, struct clr_error *error)
{
    for (size_t i = 0; i < cells->room; i++) {
        struct clr_cell *cell = &cells->cells[i];
        if (cell->type == 0 || cell->count == 0)
            continue;
        if (!clr_grow(tallies, *count, room, sizeof **tallies))
            return no_memory(error);
        struct clr_tally *tally = &(*tallies)[(*count)++];
        *tally = (struct clr_tally){cell->type, cell->count, cell->total, cell->min, cell->max};
        if (cell->min > cell->max) { /* all of one size, which was not summed up */
            tally->min = tally->max = cell->base;
            tally->total = cell->count * cell->base;
        }
        cell->count = cell->total = cell->max = 0;
        cell->min = UINT64_MAX;
    }
    return CLR_OK;
}

/* --- The heap's shapes ------------------------------------------------------------------------ */

static int by_type(const void *a, const void *b)
{
    const struct clr_tally *x = a, *y = b;
    return x->type < y->type ? -1 : x->type > y->type;
}

static struct clr_shape make_shape(const struct clr_tally *tally, const struct clr_cell *cell)
{
    return (struct clr_shape){.type = tally->type,
                              .base_size = cell->raw_base,
                              .component_size = cell->component,
                              .flags = cell->flags,
                              .is_free = cell->is_free,
                              .is_string = cell->is_string,
                              .is_array = cell->is_array,
                              .contains_references = cell->contains_references,
                              .collectible = cell->collectible,
                              .object_count = tally->count,
                              .total_size = tally->total,
                              .min_size = tally->min,
                              .max_size = tally->max};
}

static const struct clr_cell *find_cell(const struct clr_cells *tables, size_t count, uint64_t type)
{
    for (size_t i = 0; i < count; i++) {
        const struct clr_cell *cell = tables[i].cells ? clr_cells_find(&tables[i], type) : NULL;
        if (cell)
            return cell;
    }
    return NULL;
}

/* Adds up what belongs to one type; SORTED by type. Returns how many are left. */
static size_t add_up(struct clr_tally *sorted, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct clr_tally *last = kept ? &sorted[kept - 1] : NULL;
        if (!last || last->type != sorted[i].type) {
            sorted[kept++] = sorted[i];
            continue;
        }
        last->count += sorted[i].count;
        last->total += sorted[i].total;
        if (sorted[i].min < last->min)
            last->min = sorted[i].min;
        if (sorted[i].max > last->max)
            last->max = sorted[i].max;
    }
    return kept;
}

static bool make_decoders(struct clr_heap *heap)
{
    size_t room = 64;
    while (room < heap->shape_count * 2)
        room *= 2;
    if (!(heap->decoders = clr_alloc(room, sizeof *heap->decoders)))
        return false;
    heap->decoder_room = room;
    for (size_t i = 0; i < heap->shape_count; i++) {
        const struct clr_shape *shape = &heap->shapes[i];
        size_t at = clr_map_hash(shape->type) & (room - 1);
        while (heap->decoders[at].type != 0)
            at = (at + 1) & (room - 1);
        heap->decoders[at] =
            (struct clr_decoder){shape->type, shape->base_size, shape->component_size, (uint32_t)i};
    }
    return true;
}

enum clr_status clr_shapes_make(struct clr_heap *heap, const struct clr_cells *tables,
                                size_t table_count, const struct clr_tally *tallies, size_t count,
                                struct clr_error *error)
{
    uint64_t free_type = heap->runtime->free_type;
    struct clr_tally *sorted = clr_alloc(count, sizeof *sorted);
    if (!sorted)
        return no_memory(error);
    if (count != 0) {
        memcpy(sorted, tallies, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, by_type);
    }
    count = add_up(sorted, count);
    if (!(heap->shapes = clr_alloc(count + 1, sizeof *heap->shapes))) {
        clr_free(sorted);
        return no_memory(error);
    }
    heap->shapes[0] = (struct clr_shape){.type = free_type,
                                         .is_free = true,
                                         .component_size = 1,
                                         .base_size = (uint32_t)clr_smallest_object(heap),
                                         .flags = (uint32_t)CLR_MT_HAS_COMPONENT_SIZE | 1};
    heap->shape_count = 1;
    for (size_t i = 0; i < count; i++) {
        const struct clr_cell *cell = find_cell(tables, table_count, sorted[i].type);
        struct clr_shape shape = make_shape(&sorted[i], cell);
        if (shape.is_free) {
            heap->shapes[0] = shape;
            continue;
        }
        heap->objects += shape.object_count;
        heap->bytes += shape.total_size;
        heap->shapes[heap->shape_count++] = shape;
    }
    clr_free(sorted);
    return make_decoders(heap) ? CLR_OK : no_memory(error);
}

size_t clr_heap_shapes(const struct clr_heap *heap, const struct clr_shape **shapes)
{
    *shapes = heap->shapes;
    return heap->shape_count;
}

bool clr_heap_shape_of(const struct clr_heap *heap, uint64_t type, uint32_t *shape)
{
    const struct clr_decoder *decoder = clr_decoder_of(heap, type);
    *shape = decoder->shape;
    return type != 0 && decoder->type == type;
}

/* --- The list of all types -------------------------------------------------------------------- */

struct type_set {
    struct clr_map seen;
    uint64_t *items;
    size_t count, room;
    bool failed;
};

static bool add_type(void *context, uint64_t type)
{
    struct type_set *set = context;
    uint64_t known;
    if (type == 0 || clr_map_get(&set->seen, type, &known))
        return true;
    if (!clr_grow(&set->items, set->count, &set->room, sizeof *set->items) ||
        !clr_map_put(&set->seen, type, 1)) {
        set->failed = true;
        return false;
    }
    set->items[set->count++] = type;
    return true;
}

/* What a type's columns name: base type, interfaces, element, the type whose code it shares. */
static bool add_related(struct type_set *set, const struct clr_runtime *runtime, uint64_t address)
{
    struct clr_type type;
    uint64_t interface;
    if (!clr_type_read(runtime, address, &type))
        return true;
    if (type.parent != 0 && clr_type_valid(runtime, type.parent) && !add_type(set, type.parent))
        return false;
    if (type.element_handle != 0 && !(type.element_handle & HANDLE_TYPE_DESC) &&
        clr_type_valid(runtime, type.element_handle) && !add_type(set, type.element_handle))
        return false;
    for (uint32_t i = 0; i < type.interfaces && clr_type_interface(runtime, &type, i, &interface);
         i++)
        if (clr_type_valid(runtime, interface) && !add_type(set, interface))
            return false;
    return type.canonical == 0 || type.canonical == address ||
           !clr_type_valid(runtime, type.canonical) || add_type(set, type.canonical);
}

static enum clr_status add_all(struct type_set *set, const struct clr_heap *heap,
                               struct clr_runtime *runtime, struct clr_error *error)
{
    const struct clr_module *const *modules;
    struct clr_error unread = {0}; /* modules.c has made a problem of it; the heap's types remain */
    size_t count = 0;
    enum clr_status status = clr_modules(runtime, &modules, &count, &unread);
    if (status == CLR_NOMEM)
        return no_memory(error);
    if (status != CLR_OK)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        unread = (struct clr_error){0};
        status = clr_module_types(runtime, modules[i], add_type, set, &unread);
        if (status == CLR_NOMEM || set->failed)
            return no_memory(error);
    }
    for (size_t i = 0; heap && i < heap->shape_count; i++)
        if (!add_type(set, heap->shapes[i].type))
            return no_memory(error);
    for (size_t i = 0; i < set->count; i++)
        if (!add_related(set, runtime, set->items[i]))
            return no_memory(error);
    return CLR_OK;
}

static int by_address(const void *a, const void *b)
{
    int64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

enum clr_status clr_types_list(const struct clr_heap *heap, struct clr_runtime *runtime,
                               uint64_t **types, size_t *count, struct clr_error *error)
{
    struct type_set set = {0};
    enum clr_status status = add_all(&set, heap, runtime, error);
    clr_map_deinit(&set.seen);
    *types = NULL;
    *count = 0;
    if (status == CLR_OK && !set.items && !(set.items = clr_alloc(1, sizeof *set.items)))
        status = no_memory(error);
    if (status != CLR_OK) {
        clr_free(set.items);
        return status;
    }
    if (set.count > 1)
        qsort(set.items, set.count, sizeof *set.items, by_address);
    *types = set.items;
    *count = set.count;
    return CLR_OK;
}

enum clr_status clr_heap_types(struct clr_heap *heap, struct clr_runtime *runtime,
                               const uint64_t **types, size_t *count, struct clr_error *error)
{
    if (!heap->types)
        CLR_TRY(clr_types_list(heap, runtime, &heap->types, &heap->type_count, error));
    *types = heap->types;
    *count = heap->type_count;
    return CLR_OK;
}
