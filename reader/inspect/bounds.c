/*
 * Views of sorted sets (SortedSet.GetViewBetween).
 *
 *   TreeSubSet   _underlying                       the set itself, also for a view of a view
 *                _min, _max                        the bounds, which belong to the view
 *                _lBoundActive, _uBoundActive      whether there is such a bound
 *                comparer                          (of SortedSet) what the order goes by
 *
 * A view's own root and count are those of the last time that it was used, and stale since the set
 * changed. So the set is gone through in order, and what lies before and behind the bounds is left
 * out. The order is the comparer's:
 *
 *   GenericComparer, EnumComparer of numbers        theirs
 *   the ordinal comparer of strings                 that of UTF-16 units
 *   any other                                       not known. A bound that equals an element, bit by
 *                                                   bit, still tells where it lies; else the view is
 *                                                   refused.
 */
#include "inspect/internal.h"

#include <string.h>

#include "runtime/object.h"

enum clr_status clr_bounds_read(struct clr_elements *e, struct clr_bounds *bounds,
                                struct clr_error *error)
{
    const struct clr_managed_field *fields = e->own->fields;
    const struct clr_process *process = e->dump->runtime->process;
    uint64_t base = clr_elements_base(e, e->within), low = 0, high = 0;
    if (!clr_read_uint(process, base + fields[CLR_FIELD_HAS_LOW].offset, 1, &low) ||
        !clr_read_uint(process, base + fields[CLR_FIELD_HAS_HIGH].offset, 1, &high))
        clr_elements_damaged(e, e->within, "a view is not saved");
    bounds->has_low = low != 0;
    bounds->has_high = high != 0;
    bounds->comparer = clr_elements_word(e, e->own, CLR_FIELD_COMPARER, base);
    CLR_TRY(clr_managed_place(e->dump, &fields[CLR_FIELD_LOW], base, &bounds->low, error));
    return clr_managed_place(e->dump, &fields[CLR_FIELD_HIGH], base, &bounds->high, error);
}

/* --- Orders ------------------------------------------------------------------------------------
 */

enum order { ORDER_NOT_KNOWN, ORDER_OF_NUMBERS, ORDER_OF_UNITS };

/* The primitive that a place holds: an enum's is the one under it. */
static enum clr_status primitive(struct clr_dump *dump, const struct clr_place *place,
                                 uint8_t *element, struct clr_error *error)
{
    struct clr_layout *layout;
    *element = place->element;
    if (place->element != CLR_ELEMENT_VALUETYPE || place->type == 0)
        return CLR_OK;
    CLR_TRY(clr_layout_get(dump, place->type, &layout, error));
    if (layout && layout->type.kind == CLR_KIND_ENUM)
        *element = layout->type.norm_type;
    return CLR_OK;
}

static bool is_number(uint8_t element)
{
    switch (element) {
    case CLR_ELEMENT_BOOLEAN:
    case CLR_ELEMENT_CHAR:
    case CLR_ELEMENT_I1:
    case CLR_ELEMENT_U1:
    case CLR_ELEMENT_I2:
    case CLR_ELEMENT_U2:
    case CLR_ELEMENT_I4:
    case CLR_ELEMENT_U4:
    case CLR_ELEMENT_I8:
    case CLR_ELEMENT_U8:
    case CLR_ELEMENT_R4:
    case CLR_ELEMENT_R8: return true;
    default: return false;
    }
}

static enum clr_status find_order(struct clr_elements *e, const struct clr_bounds *bounds,
                                  enum order *order, struct clr_error *error)
{
    struct clr_layout *layout;
    const char *name;
    uint8_t element;
    *order = ORDER_NOT_KNOWN;
    CLR_TRY(clr_object_layout(e->dump, bounds->comparer, &layout, error));
    if (!layout || !layout->is_core)
        return CLR_OK;
    CLR_TRY(clr_layout_bare_name(e->dump, layout, &name, error));
    CLR_TRY(primitive(e->dump, &bounds->low, &element, error));
    if (strcmp(name, "System.OrdinalCaseSensitiveComparer") == 0)
        *order = ORDER_OF_UNITS;
    else if ((strcmp(name, "System.Collections.Generic.GenericComparer") == 0 ||
              strcmp(name, "System.Collections.Generic.EnumComparer") == 0) &&
             is_number(element))
        *order = ORDER_OF_NUMBERS;
    return CLR_OK;
}

/* A number as one that sorts as unsigned: signs flipped, NaN below all. */
static bool read_number(struct clr_dump *dump, const struct clr_place *place, uint8_t element,
                        uint64_t *number)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint32_t size = clr_element_size(element, dump->runtime->word);
    double real;
    if (!clr_read_uint(dump->process, place->address, size, number))
        return false;
    switch (element) {
    case CLR_ELEMENT_I1: *number = (uint64_t)(int64_t)(int8_t)*number + sign; break;
    case CLR_ELEMENT_I2: *number = (uint64_t)(int64_t)(int16_t)*number + sign; break;
    case CLR_ELEMENT_I4: *number = (uint64_t)(int64_t)(int32_t)*number + sign; break;
    case CLR_ELEMENT_I8: *number += sign; break;
    case CLR_ELEMENT_R4: {
        uint32_t bits = (uint32_t)*number;
        float single;
        memcpy(&single, &bits, sizeof single);
        real = (double)single;
        memcpy(number, &real, sizeof *number);
    } /* fall through */
    case CLR_ELEMENT_R8:
        memcpy(&real, number, sizeof real);
        if (real != real)
            *number = 0;
        else if (real == 0)
            *number = sign;
        else
            *number = *number & sign ? ~*number : *number | sign;
        break;
    default: break;
    }
    return true;
}

/* The UTF-16 units of two strings; null comes first. */
static bool compare_units(struct clr_dump *dump, uint64_t a, uint64_t b, int *sign)
{
    uint32_t lengths[2] = {0, 0};
    uint64_t objects[2] = {a, b};
    for (unsigned i = 0; i < 2; i++) {
        uint64_t type;
        uint32_t number;
        if (objects[i] != 0 && (!clr_number(dump->heap, objects[i], &number) ||
                                !clr_object_type(dump->runtime, objects[i], &type) ||
                                type != dump->runtime->string_type ||
                                !clr_object_count(dump->runtime, objects[i], &lengths[i])))
            return false;
    }
    *sign = (a != 0) - (b != 0);
    if (a == 0 || b == 0)
        return true;
    uint64_t at[2] = {a + dump->runtime->object.string_first_char,
                      b + dump->runtime->object.string_first_char};
    for (uint32_t i = 0; i < lengths[0] && i < lengths[1]; i++) {
        uint16_t units[2];
        if (!clr_read_u16(dump->process, at[0] + 2u * i, &units[0]) ||
            !clr_read_u16(dump->process, at[1] + 2u * i, &units[1]))
            return false;
        *sign = (units[0] > units[1]) - (units[0] < units[1]);
        if (*sign != 0)
            return true;
    }
    *sign = (lengths[0] > lengths[1]) - (lengths[0] < lengths[1]);
    return true;
}

static bool equal_bytes(struct clr_dump *dump, uint64_t a, uint64_t b, uint64_t size)
{
    uint8_t bytes[2][256];
    return size <= sizeof bytes[0] && clr_read(dump->process, a, bytes[0], (size_t)size) &&
           clr_read(dump->process, b, bytes[1], (size_t)size) &&
           memcmp(bytes[0], bytes[1], (size_t)size) == 0;
}

/* Whether two values are the same for any comparer that goes by what is in them. */
static enum clr_status is_equal(struct clr_dump *dump, const struct clr_place *a,
                                const struct clr_place *b, bool *equal, struct clr_error *error)
{
    struct clr_layout *layout, *other;
    uint64_t objects[2];
    int sign;
    *equal = false;
    if (!clr_element_is_reference(a->element)) {
        uint64_t size = clr_element_size(a->element, dump->runtime->word);
        if (size == 0 && a->type != 0) {
            CLR_TRY(clr_layout_get(dump, a->type, &layout, error));
            size = layout ? layout->size : 0;
        }
        *equal = size != 0 && equal_bytes(dump, a->address, b->address, size);
        return CLR_OK;
    }
    if (!clr_read_word(dump->process, a->address, &objects[0]) ||
        !clr_read_word(dump->process, b->address, &objects[1]))
        return CLR_OK;
    *equal = objects[0] == objects[1];
    if (*equal || objects[0] == 0 || objects[1] == 0)
        return CLR_OK;
    CLR_TRY(clr_object_layout(dump, objects[0], &layout, error));
    CLR_TRY(clr_object_layout(dump, objects[1], &other, error));
    if (!layout || layout != other)
        return CLR_OK;
    if (layout->type.kind == CLR_KIND_STRING)
        *equal = compare_units(dump, objects[0], objects[1], &sign) && sign == 0;
    else if (layout->type.component_size == 0)
        *equal = equal_bytes(dump, objects[0] + dump->runtime->word,
                             objects[1] + dump->runtime->word, layout->size);
    return CLR_OK;
}

/* --- Where the bounds lie ----------------------------------------------------------------------
 */

/* Where VALUE lies from BOUND: *SIGN below 0 before it, 0 the same, above 0 behind it or, in an order
 * that is not known, anywhere else. False if something is not saved. */
static enum clr_status compare(struct clr_elements *e, enum order order,
                               const struct clr_place *value, const struct clr_place *bound,
                               int *sign, bool *known, struct clr_error *error)
{
    uint64_t numbers[2];
    uint8_t element;
    bool equal = false;
    *known = false;
    switch (order) {
    case ORDER_OF_NUMBERS:
        CLR_TRY(primitive(e->dump, bound, &element, error));
        *known = read_number(e->dump, value, element, &numbers[0]) &&
                 read_number(e->dump, bound, element, &numbers[1]);
        *sign = *known ? (numbers[0] > numbers[1]) - (numbers[0] < numbers[1]) : 0;
        break;
    case ORDER_OF_UNITS:
        *known = clr_read_word(e->dump->process, value->address, &numbers[0]) &&
                 clr_read_word(e->dump->process, bound->address, &numbers[1]) &&
                 compare_units(e->dump, numbers[0], numbers[1], sign);
        break;
    case ORDER_NOT_KNOWN:
        *known = true;
        CLR_TRY(is_equal(e->dump, value, bound, &equal, error));
        *sign = equal ? 0 : 1;
        break;
    }
    return CLR_OK;
}

struct found_bounds {
    uint64_t low, high; /* positions: the first element, and the one behind the last */
    bool low_is_found, high_is_found;
};

static enum clr_status find_bounds(struct clr_elements *e, const struct clr_bounds *bounds,
                                   enum order order, struct found_bounds *at,
                                   struct clr_error *error)
{
    struct clr_item item;
    uint64_t position = 0;
    bool found = true, known = true;
    int sign = 0;
    for (;; position++) {
        found = false;
        CLR_TRY(clr_tree_next(e, &item, &found, error));
        if (!found)
            break;
        if (bounds->has_low && !at->low_is_found) {
            CLR_TRY(compare(e, order, &item.value, &bounds->low, &sign, &known, error));
            at->low_is_found = order == ORDER_NOT_KNOWN ? sign == 0 : sign >= 0;
            at->low = position;
        }
        if (known && bounds->has_high && !at->high_is_found) {
            CLR_TRY(compare(e, order, &item.value, &bounds->high, &sign, &known, error));
            at->high_is_found = order == ORDER_NOT_KNOWN ? sign == 0 : sign > 0;
            at->high = order == ORDER_NOT_KNOWN ? position + 1 : position;
        }
        if (!known) {
            clr_elements_damaged(e, item.value.address, "an element of the set is not saved");
            return CLR_OK;
        }
    }
    if (order != ORDER_NOT_KNOWN && bounds->has_low && !at->low_is_found)
        at->low = position; /* all lie before it */
    if (!bounds->has_high || (order != ORDER_NOT_KNOWN && !at->high_is_found))
        at->high = position;
    return CLR_OK;
}

enum clr_status clr_bounds_apply(struct clr_elements *e, const struct clr_bounds *bounds,
                                 struct clr_error *error)
{
    struct found_bounds at = {0};
    enum order order;
    const uint64_t root = e->tree.node;
    struct clr_layout *comparer;
    CLR_TRY(find_order(e, bounds, &order, error));
    CLR_TRY(find_bounds(e, bounds, order, &at, error));
    if (e->done)
        return CLR_OK;
    if (order == ORDER_NOT_KNOWN &&
        ((bounds->has_low && !at.low_is_found) || (bounds->has_high && !at.high_is_found))) {
        CLR_TRY(clr_object_layout(e->dump, bounds->comparer, &comparer, error));
        return clr_fail(error, CLR_UNSUPPORTED, e->object,
                        "elements: object 0x%llx is a view of a sorted set, and what lies between "
                        "its bounds is "
                        "not known: they are no elements, and the order of its comparer, a %.120s, "
                        "is not known "
                        "here. The set itself is its field _underlying",
                        (unsigned long long)e->object,
                        comparer ? clr_type_name(e->dump->runtime, comparer->type.address)
                                 : "null");
    }
    e->tree = (struct clr_tree_walk){.node = root};
    e->visited = 0;
    e->skip = at.low;
    e->most = at.high > at.low ? at.high - at.low : 0;
    return CLR_OK;
}
