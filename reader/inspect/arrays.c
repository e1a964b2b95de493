/*
 * Arrays of every kind.
 *
 *     object                    MethodTable word
 *     + Array.m_NumComponents   number of elements in all, u32
 *     + size of Array           of other arrays than vectors: a length for each dimension, i32,
 *                               then a lower bound for each, i32
 *     + base size - word        the elements, one after the other, the last index fastest
 *
 * Base size counts the header word too, which lies before the object: so the elements begin a word
 * less after the MethodTable.
 */
#include "inspect/elements.h"

#include <string.h>

#include "base/hash.h"
#include "runtime/object.h"

bool clr_array_open(struct clr_dump *dump, uint64_t address, struct clr_array_view *array)
{
    struct clr_object object;
    struct clr_type type;
    uint32_t number, count;
    *array = (struct clr_array_view){0};
    if (!clr_number(dump->heap, address, &number) ||
        !clr_object_read(dump->heap, number, &object) ||
        !clr_type_read(dump->runtime, object.type, &type) || type.element_handle == 0 ||
        !clr_object_count(dump->runtime, address, &count))
        return false;
    *array = (struct clr_array_view){.address = address,
                                     .data = address + type.base_size - dump->runtime->word,
                                     .count = count,
                                     .stride = type.component_size,
                                     .rank = type.kind == CLR_KIND_ARRAY ? type.rank : 0};
    if (!clr_handle_place(dump->runtime, type.element_handle, array->data, &array->element))
        array->element =
            (struct clr_place){.address = array->data, .element = CLR_ELEMENT_VALUETYPE};
    return true;
}

struct clr_place clr_array_place(const struct clr_array_view *array, uint64_t i)
{
    struct clr_place place = array->element;
    place.address = array->data + i * array->stride;
    return place;
}

bool clr_array_bounds(const struct clr_dump *dump, const struct clr_array_view *array,
                      uint32_t lengths[CLR_ARRAY_RANK], int32_t lower[CLR_ARRAY_RANK])
{
    uint64_t at = array->address + dump->runtime->object.array_size, product = 1;
    if (array->rank == 0 || array->rank > CLR_ARRAY_RANK)
        return false;
    for (uint32_t i = 0; i < array->rank; i++) {
        uint32_t bound;
        if (!clr_read_u32(dump->runtime->process, at + 4u * i, &lengths[i]) ||
            !clr_read_u32(dump->runtime->process, at + 4u * (array->rank + i), &bound) ||
            __builtin_mul_overflow(product, lengths[i], &product))
            return false;
        lower[i] = (int32_t)bound;
    }
    return product == array->count;
}

void clr_array_indices(const struct clr_dump *dump, const struct clr_array_view *array, uint64_t i,
                       struct clr_text *text)
{
    uint32_t lengths[CLR_ARRAY_RANK];
    int32_t lower[CLR_ARRAY_RANK];
    int64_t index[CLR_ARRAY_RANK];
    if (!clr_array_bounds(dump, array, lengths, lower) || array->count == 0) {
        clr_text_format(text, "%llu", (unsigned long long)i);
        return;
    }
    for (uint32_t k = array->rank; k-- > 0; i /= lengths[k])
        index[k] = (int64_t)lower[k] + (int64_t)(i % lengths[k]);
    for (uint32_t k = 0; k < array->rank; k++)
        clr_text_format(text, k ? ",%lld" : "%lld", (long long)index[k]);
}

bool clr_array_find(const struct clr_dump *dump, const struct clr_array_view *array,
                    const int64_t *indices, uint32_t count, uint64_t *i)
{
    uint32_t lengths[CLR_ARRAY_RANK];
    int32_t lower[CLR_ARRAY_RANK];
    *i = 0;
    if (array->rank == 0) {
        *i = (uint64_t)indices[0];
        return count == 1 && indices[0] >= 0 && *i < array->count;
    }
    if (count != array->rank || !clr_array_bounds(dump, array, lengths, lower))
        return false;
    for (uint32_t k = 0; k < count; k++) {
        int64_t index;
        if (__builtin_sub_overflow(indices[k], lower[k], &index) || index < 0 ||
            index >= lengths[k])
            return false;
        *i = *i * lengths[k] + (uint64_t)index;
    }
    return *i < array->count;
}

/* FNV-1a over words of eight bytes, mixed at the end: a byte at a time is too slow for gigabytes.
 */
bool clr_array_hash(const struct clr_dump *dump, const struct clr_array_view *array, uint64_t *hash)
{
    uint64_t left = array->count * array->stride, at = array->data,
             value = CLR_FNV_START ^ array->count;
    while (left > 0) {
        uint64_t got, i = 0;
        const uint8_t *bytes = clr_view(dump->process, at, left, &got);
        if (!bytes)
            return false;
        if (got < left)
            got -= got % sizeof value; /* words go on over the end of a view */
        if (got == 0) {                /* but a view may be shorter than one */
            uint8_t word[sizeof value] = {0};
            got = left < sizeof word ? left : sizeof word;
            uint64_t part;
            if (!clr_read(dump->process, at, word, (size_t)got))
                return false;
            memcpy(&part, word, sizeof part);
            value = (value ^ part) * CLR_FNV_PRIME;
            value ^= value >> 32;
            i = got;
        }
        for (; i < got; i += sizeof value) {
            uint64_t part = 0;
            memcpy(&part, bytes + i, got - i < sizeof part ? (size_t)(got - i) : sizeof part);
            value = (value ^ part) * CLR_FNV_PRIME;
            value ^= value >> 32;
        }
        at += got;
        left -= got;
    }
    *hash = value;
    return true;
}
