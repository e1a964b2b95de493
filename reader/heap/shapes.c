/*
 * Shapes: what the walk has to know of a MethodTable, found once and kept beside the tally of its
 * objects.
 *
 * Each walker has a table of its own, so that nothing is shared while the heap is walked. A word
 * that is seen for the first time is checked by runtime/types; from then on it is a look-up in a
 * hash table of one cache line a type. At the end the tables are put together in the order of the
 * addresses of types: sums, minima and maxima do not depend on who walked what.
 *
 * The list of all types is made here too, and not in runtime/, because types that no table of a
 * module names are seen only in the heap: modules' TypeDef maps and instantiations, the types of
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
    FIRST_ROOM = 1024,    /* of a table */
    ABSTRACT = 0x80,      /* CorTypeAttr */
    BARE_DEPTH = 32,      /* base types without a saved class that are followed */
    HANDLE_TYPE_DESC = 2, /* bit of a TypeHandle: no MethodTable */
};

/* --- A walker's table ------------------------------------------------------------------------- */

static struct clr_shape *free_slot(struct clr_shape *shapes, size_t room, uint64_t type)
{
    size_t i = clr_map_hash(type) & (room - 1);
    while (shapes[i].type != 0)
        i = (i + 1) & (room - 1);
    return &shapes[i];
}

static struct clr_shape *insert(struct clr_shape_table *table, const struct clr_shape *shape)
{
    if ((table->used + 1) * 2 > table->room) {
        size_t room = table->room * 2;
        struct clr_shape *grown = clr_alloc(room, sizeof *grown);
        if (!grown)
            return NULL;
        for (size_t i = 0; i < table->room; i++)
            if (table->shapes[i].type != 0)
                *free_slot(grown, room, table->shapes[i].type) = table->shapes[i];
        clr_free(table->shapes);
        table->shapes = grown;
        table->room = room;
    }
    struct clr_shape *slot = free_slot(table->shapes, table->room, shape->type);
    *slot = *shape;
    table->used++;
    return slot;
}

static struct clr_shape free_shape(const struct clr_runtime *runtime)
{
    uint32_t smallest = runtime->word * 3u;
    return (struct clr_shape){.type = runtime->free_type,
                              .base_size = smallest,
                              .aligned_size = smallest,
                              .component_size = 1,
                              .flags = (uint32_t)CLR_MT_HAS_COMPONENT_SIZE | 1,
                              .is_free = true,
                              .has_instances = true};
}

enum clr_status clr_shape_table_init(struct clr_shape_table *table,
                                     const struct clr_runtime *runtime, struct clr_error *error)
{
    *table = (struct clr_shape_table){.room = FIRST_ROOM};
    table->shapes = clr_alloc(FIRST_ROOM, sizeof *table->shapes);
    table->rejected = clr_alloc(CLR_REJECTED, sizeof *table->rejected);
    if (!table->shapes || !table->rejected)
        return clr_no_memory(error);
    if (runtime->free_type != 0) {
        struct clr_shape shape = free_shape(runtime);
        shape.min_size = UINT64_MAX;
        if (!insert(table, &shape))
            return clr_no_memory(error);
    }
    return CLR_OK;
}

void clr_shape_table_deinit(struct clr_shape_table *table)
{
    clr_free(table->shapes);
    clr_free(table->rejected);
    *table = (struct clr_shape_table){0};
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

static bool describe(const struct clr_runtime *runtime, uint64_t address, struct clr_shape *shape)
{
    struct clr_type type;
    uint64_t smallest = (uint64_t)runtime->word * 3;
    if (!clr_type_read(runtime, address, &type) && !read_bare(runtime, address, &type))
        return false;
    if (type.base_size > UINT32_MAX - runtime->word ||
        clr_round_up(type.base_size, runtime->word) < smallest)
        return false;
    *shape =
        (struct clr_shape){.type = address,
                           .base_size = type.base_size,
                           .aligned_size = (uint32_t)clr_round_up(type.base_size, runtime->word),
                           .component_size = type.component_size,
                           .flags = type.flags,
                           .min_size = UINT64_MAX,
                           .is_string = address == runtime->string_type,
                           .is_array = type.kind == CLR_KIND_ARRAY || type.kind == CLR_KIND_SZARRAY,
                           .contains_references = type.contains_references,
                           .collectible = type.is_collectible,
                           .has_instances = has_instances(&type)};
    return true;
}

enum clr_status clr_shape_table_get(struct clr_shape_table *table,
                                    const struct clr_runtime *runtime, uint64_t type,
                                    struct clr_shape **shape, struct clr_error *error)
{
    struct clr_shape fresh;
    uint64_t *rejected = &table->rejected[clr_map_hash(type) & (CLR_REJECTED - 1)];
    *shape = NULL;
    if (type == 0 || *rejected == type)
        return CLR_OK;
    if ((*shape = clr_shape_table_find(table, type)))
        return CLR_OK;
    if (!describe(runtime, type, &fresh)) {
        *rejected = type;
        return CLR_OK;
    }
    if (!(*shape = insert(table, &fresh)))
        return clr_no_memory(error);
    return CLR_OK;
}

enum clr_status clr_shape_table_drain(struct clr_shape_table *table, clr_shape_list *list,
                                      struct clr_error *error)
{
    for (size_t i = 0; i < table->room; i++) {
        struct clr_shape *shape = &table->shapes[i];
        if (shape->type == 0 || shape->object_count == 0)
            continue;
        if (!CLR_ARRAY_ADD(list, *shape))
            return clr_no_memory(error);
        struct clr_shape *taken = &list->items[list->count - 1];
        if (taken->min_size > taken->max_size) { /* all of one size, which was not summed up */
            taken->min_size = taken->max_size = taken->aligned_size;
            taken->total_size = taken->object_count * taken->aligned_size;
        }
        shape->object_count = shape->total_size = shape->max_size = 0;
        shape->min_size = UINT64_MAX;
    }
    return CLR_OK;
}

/* --- The heap's shapes ------------------------------------------------------------------------ */

static int by_type(const void *a, const void *b)
{
    const struct clr_shape *x = a, *y = b;
    return x->type < y->type ? -1 : x->type > y->type;
}

/* Adds up what belongs to one type; SORTED by type. Returns how many are left. */
static size_t add_up(struct clr_shape *sorted, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct clr_shape *last = kept ? &sorted[kept - 1] : NULL;
        if (!last || last->type != sorted[i].type) {
            sorted[kept++] = sorted[i];
            continue;
        }
        last->object_count += sorted[i].object_count;
        last->total_size += sorted[i].total_size;
        if (sorted[i].min_size < last->min_size)
            last->min_size = sorted[i].min_size;
        if (sorted[i].max_size > last->max_size)
            last->max_size = sorted[i].max_size;
    }
    return kept;
}

static bool make_sizings(struct clr_heap *heap)
{
    size_t room = 64;
    while (room < heap->shape_count * 2)
        room *= 2;
    if (!(heap->sizings = clr_alloc(room, sizeof *heap->sizings)))
        return false;
    heap->sizing_room = room;
    for (size_t i = 0; i < heap->shape_count; i++) {
        const struct clr_shape *shape = &heap->shapes[i];
        size_t at = clr_map_hash(shape->type) & (room - 1);
        while (heap->sizings[at].type != 0)
            at = (at + 1) & (room - 1);
        heap->sizings[at] =
            (struct clr_sizing){shape->type, shape->base_size, shape->component_size, (uint32_t)i};
    }
    return true;
}

enum clr_status clr_shapes_make(struct clr_heap *heap, clr_shape_list *found,
                                struct clr_error *error)
{
    if (found->count != 0)
        qsort(found->items, found->count, sizeof *found->items, by_type);
    size_t count = add_up(found->items, found->count);
    if (!(heap->shapes = clr_alloc(count + 1, sizeof *heap->shapes)))
        return clr_no_memory(error);
    heap->shapes[0] = free_shape(heap->runtime);
    heap->shape_count = 1;
    for (size_t i = 0; i < count; i++) {
        const struct clr_shape *shape = &found->items[i];
        if (shape->is_free) {
            heap->shapes[0] = *shape;
            continue;
        }
        heap->objects += shape->object_count;
        heap->bytes += shape->total_size;
        heap->shapes[heap->shape_count++] = *shape;
    }
    return make_sizings(heap) ? CLR_OK : clr_no_memory(error);
}

size_t clr_heap_shapes(const struct clr_heap *heap, const struct clr_shape **shapes)
{
    *shapes = heap->shapes;
    return heap->shape_count;
}

bool clr_heap_shape_of(const struct clr_heap *heap, uint64_t type, uint32_t *shape)
{
    const struct clr_sizing *sizing = clr_sizing_of(heap, type);
    *shape = sizing->shape;
    return type != 0 && sizing->type == type;
}

/* --- The list of all types -------------------------------------------------------------------- */

struct type_set {
    struct clr_map seen;
    CLR_ARRAY(uint64_t) types;
    bool failed;
};

static bool add_type(void *context, uint64_t type)
{
    struct type_set *set = context;
    uint64_t known;
    if (type == 0 || clr_map_get(&set->seen, type, &known))
        return true;
    set->failed |= !clr_map_put(&set->seen, type, 1) || !CLR_ARRAY_ADD(&set->types, type);
    return !set->failed;
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
        return clr_no_memory(error);
    if (status != CLR_OK)
        count = 0;
    for (size_t i = 0; i < count; i++) {
        unread = (struct clr_error){0};
        status = clr_module_types(runtime, modules[i], add_type, set, &unread);
        if (status == CLR_NOMEM || set->failed)
            return clr_no_memory(error);
    }
    for (size_t i = 0; heap && i < heap->shape_count; i++)
        if (!add_type(set, heap->shapes[i].type))
            return clr_no_memory(error);
    for (size_t i = 0; i < set->types.count; i++)
        if (!add_related(set, runtime, set->types.items[i]))
            return clr_no_memory(error);
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
    if (status == CLR_OK && !set.types.items &&
        !(set.types.items = clr_alloc(1, sizeof *set.types.items)))
        status = clr_no_memory(error);
    if (status != CLR_OK) {
        clr_free(set.types.items);
        return status;
    }
    if (set.types.count > 1)
        qsort(set.types.items, set.types.count, sizeof *set.types.items, by_address);
    *types = set.types.items;
    *count = set.types.count;
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
