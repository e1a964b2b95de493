/*
 * Values by exact type: primitives by their CorElementType, in the byte order and word size of the
 * dump; enums by the names in metadata; strings by their text; structs of the library by known.c.
 *
 * Enums by ECMA-335 II.14.3; how flags are taken apart follows what Enum.ToString documents: from
 * the largest down, and nothing may be left.
 */
#include "inspect/value.h"

#include <math.h>
#include <string.h>

#include "base/search.h"

#include "inspect/known.h"
#include "runtime/object.h"

const char clr_not_saved[] = "its bytes are not saved";
const char clr_no_sense[] = "its bytes are no value of its type";
static const char no_string[] = "what it refers to is no string";
static const char string_cut[] = "the string's text is not saved whole";

enum clr_status clr_value_unavailable(struct clr_reading *r, const char *why)
{
    r->value->kind = CLR_VALUE_NONE;
    r->value->lost = why;
    clr_text_clear(&r->value->text);
    return CLR_OK;
}

enum clr_status clr_give_text(struct clr_reading *r)
{
    r->value->kind = CLR_VALUE_TEXT;
    return r->value->text.failed ? clr_no_memory(r->error) : CLR_OK;
}

void clr_give_integer(struct clr_value *value, int64_t integer)
{
    value->kind = CLR_VALUE_INTEGER;
    value->integer = integer;
}

/* Beyond 2^63-1 as text: SQLite's integers are signed. */
enum clr_status clr_give_unsigned(struct clr_reading *r, uint64_t number)
{
    if (number <= INT64_MAX) {
        clr_give_integer(r->value, (int64_t)number);
        return CLR_OK;
    }
    clr_text_format(&r->value->text, "%llu", (unsigned long long)number);
    return clr_give_text(r);
}

enum clr_status clr_give_real(struct clr_reading *r, double real)
{
    if (isnan(real) || isinf(real)) {
        clr_text_put(&r->value->text, isnan(real) ? "NaN" : real > 0 ? "Infinity" : "-Infinity");
        return clr_give_text(r);
    }
    r->value->kind = CLR_VALUE_REAL;
    r->value->real = real;
    return CLR_OK;
}

/* One Unicode scalar as UTF-16, which base/text.c turns into UTF-8. */
void clr_write_scalar(struct clr_text *text, uint32_t scalar)
{
    uint16_t units[2] = {(uint16_t)scalar, 0};
    size_t count = 1;
    if (scalar >= 0x10000) {
        units[0] = (uint16_t)(0xd800 + ((scalar - 0x10000) >> 10));
        units[1] = (uint16_t)(0xdc00 + ((scalar - 0x10000) & 0x3ff));
        count = 2;
    }
    clr_text_utf16(text, (const uint8_t *)units, count, false);
}

bool clr_reading_at(const struct clr_reading *r, uint64_t offset, size_t size, uint64_t *number)
{
    return clr_read_uint(r->dump->runtime->process, r->place->address + offset, size, number);
}

/* --- Enums -------------------------------------------------------------------------------------
 */

static size_t last_not_above(const struct clr_layout *layout, uint64_t value)
{
    size_t i;
    CLR_SEARCH(i, 0, layout->name_count, layout->names[i].value <= value);
    return i;
}

/* 'Read, Write': what makes up VALUE, from the largest down, named from the smallest up. */
static bool write_flags(const struct clr_layout *layout, uint64_t value, struct clr_text *text)
{
    enum { MOST = 64 };
    const char *found[MOST];
    unsigned count = 0;
    for (size_t i = last_not_above(layout, value); i-- > 0 && value != 0;) {
        uint64_t flag = layout->names[i].value;
        if (flag == 0 || (value & flag) != flag)
            continue;
        if (count == MOST)
            return false;
        value -= flag;
        found[count++] = layout->names[i].name;
    }
    if (value != 0 || count == 0)
        return false;
    while (count-- > 0) {
        clr_text_put(text, found[count]);
        if (count > 0)
            clr_text_put(text, ", ");
    }
    return true;
}

static bool write_enum(const struct clr_layout *layout, uint64_t value, struct clr_text *text)
{
    size_t at = last_not_above(layout, value);
    size_t first = at;
    while (first > 0 && layout->names[first - 1].value == value)
        first--;
    if (first < at) {
        clr_text_put(text, layout->names[first].name);
        return true;
    }
    return layout->is_flags && write_flags(layout, value, text);
}

/* --- Primitives --------------------------------------------------------------------------------
 */

static enum clr_status give_primitive(struct clr_reading *r, uint8_t element, uint64_t raw)
{
    float single;
    double real;
    uint32_t bits;
    switch (element) {
    case CLR_ELEMENT_BOOLEAN: clr_give_integer(r->value, raw != 0); return CLR_OK;
    case CLR_ELEMENT_CHAR:
        clr_write_scalar(&r->value->text, (uint16_t)raw);
        return clr_give_text(r);
    case CLR_ELEMENT_I1: clr_give_integer(r->value, (int8_t)(uint8_t)raw); return CLR_OK;
    case CLR_ELEMENT_I2: clr_give_integer(r->value, (int16_t)(uint16_t)raw); return CLR_OK;
    case CLR_ELEMENT_I4: clr_give_integer(r->value, (int32_t)(uint32_t)raw); return CLR_OK;
    case CLR_ELEMENT_I8: clr_give_integer(r->value, (int64_t)raw); return CLR_OK;
    case CLR_ELEMENT_I:
        clr_give_integer(r->value,
                         r->dump->runtime->word == 4 ? (int32_t)(uint32_t)raw : (int64_t)raw);
        return CLR_OK;
    case CLR_ELEMENT_R4:
        bits = (uint32_t)raw;
        memcpy(&single, &bits, sizeof single);
        return clr_give_real(r, (double)single);
    case CLR_ELEMENT_R8: memcpy(&real, &raw, sizeof real); return clr_give_real(r, real);
    default: return clr_give_unsigned(r, raw);
    }
}

static enum clr_status read_primitive(struct clr_reading *r)
{
    const struct clr_place *place = r->place;
    uint32_t size = clr_element_size(place->element, r->dump->runtime->word);
    uint64_t raw;
    if (size == 0) {
        r->value->kind = CLR_VALUE_STRUCT;
        return CLR_OK;
    }
    if (!clr_reading_at(r, 0, size, &raw))
        return clr_value_unavailable(r, clr_not_saved);
    if (place->type != 0) {
        CLR_TRY(clr_layout_get(r->dump, place->type, &r->layout, r->error));
        if (r->layout && r->layout->type.kind == CLR_KIND_ENUM) {
            CLR_TRY(clr_layout_names(r->dump, r->layout, r->error));
            if (write_enum(r->layout, raw, &r->value->text))
                return clr_give_text(r);
        }
    }
    return give_primitive(r, place->element, raw);
}

static enum clr_status read_reference(struct clr_reading *r)
{
    struct clr_dump *dump = r->dump;
    uint64_t type;
    uint32_t number;
    r->value->is_reference = true;
    if (!clr_read_word(dump->runtime->process, r->place->address, &r->value->target)) {
        r->value->is_reference = false;
        return clr_value_unavailable(r, clr_not_saved);
    }
    /* In a type that shares code the field may be one of strings. */
    bool maybe = r->place->type != 0 && r->place->type == dump->runtime->canon_type;
    if ((r->place->element != CLR_ELEMENT_STRING && !maybe) || r->value->target == 0)
        return CLR_OK;
    if (!clr_number(dump->heap, r->value->target, &number) ||
        !clr_object_type(dump->runtime, r->value->target, &type) ||
        type != dump->runtime->string_type)
        return maybe ? CLR_OK : clr_value_unavailable(r, no_string);
    if (!clr_object_string_text(dump->runtime, r->value->target, &r->value->text))
        return r->value->text.failed ? clr_no_memory(r->error)
                                     : clr_value_unavailable(r, string_cut);
    return clr_give_text(r);
}

enum clr_status clr_value_read(struct clr_dump *dump, const struct clr_place *place,
                               struct clr_value *value, struct clr_error *error)
{
    struct clr_reading r = {.dump = dump, .place = place, .value = value, .error = error};
    value->kind = CLR_VALUE_NONE;
    value->is_reference = false;
    value->target = 0;
    value->lost = NULL;
    clr_text_clear(&value->text);
    if (clr_element_is_reference(place->element))
        return read_reference(&r);
    if (place->element != CLR_ELEMENT_VALUETYPE)
        return read_primitive(&r);
    value->kind = CLR_VALUE_STRUCT;
    if (place->type == 0)
        return CLR_OK;
    CLR_TRY(clr_layout_get(dump, place->type, &r.layout, error));
    if (!r.layout)
        return CLR_OK;
    CLR_TRY(clr_find_known(dump, r.layout, error));
    if (!r.layout->known)
        return CLR_OK;
    value->kind = CLR_VALUE_NONE;
    return r.layout->known->read(&r);
}

void clr_value_deinit(struct clr_value *value)
{
    clr_text_deinit(&value->text);
    *value = (struct clr_value){0};
}

/* --- Places ------------------------------------------------------------------------------------
 */

enum clr_status clr_member_place(struct clr_dump *dump, const struct clr_member *member,
                                 uint64_t base, struct clr_place *place, struct clr_error *error)
{
    *place = (struct clr_place){
        .address = base + member->field.offset, .element = member->element, .type = member->type};
    return member->is_named ? clr_member_type(dump, member, &place->type, NULL, error) : CLR_OK;
}

bool clr_handle_place(const struct clr_runtime *runtime, uint64_t handle, uint64_t address,
                      struct clr_place *place)
{
    *place = (struct clr_place){.address = address};
    place->element = clr_handle_element(runtime, handle, &place->type);
    return place->element != 0;
}

bool clr_boxed_place(struct clr_dump *dump, uint64_t object, const struct clr_layout *layout,
                     struct clr_place *place)
{
    return layout->is_struct && clr_handle_place(dump->runtime, layout->type.address,
                                                 object + dump->runtime->word, place);
}

enum clr_status clr_place_is_scalar(struct clr_dump *dump, const struct clr_place *place,
                                    bool *scalar, struct clr_error *error)
{
    struct clr_layout *layout;
    *scalar = place->element != CLR_ELEMENT_VALUETYPE;
    if (*scalar || place->type == 0)
        return CLR_OK;
    CLR_TRY(clr_layout_get(dump, place->type, &layout, error));
    if (!layout)
        return CLR_OK;
    CLR_TRY(clr_find_known(dump, layout, error));
    *scalar = layout->known != NULL;
    return CLR_OK;
}

enum clr_status clr_object_layout(struct clr_dump *dump, uint64_t address,
                                  struct clr_layout **layout, struct clr_error *error)
{
    uint64_t type;
    uint32_t number;
    *layout = NULL;
    if (!clr_number(dump->heap, address, &number) ||
        !clr_object_type(dump->runtime, address, &type) || type == dump->runtime->free_type)
        return CLR_OK;
    return clr_layout_get(dump, type, layout, error);
}
