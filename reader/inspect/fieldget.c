/*
 * 'a.b' from an object on: a name is a field of the struct or object where the path has come to, an
 * index in brackets an element of an array or inline array. A reference is followed when the path
 * goes on behind it.
 *
 * A name may have dots and brackets of its own between '<' and '>': '<Name>k__BackingField'. Of fields
 * with one name it is that of the most derived class, as in C#; 'Namespace.Base::name' is that of the
 * base class named, whose type arguments may be left out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/describe.h"
#include "inspect/elements.h"

/* Where the path has come to: a place, or the inside of an object. */
struct spot {
    struct clr_dump *dump;
    const char *path;
    struct clr_place place;
    const struct clr_layout *layout; /* of the struct or object; NULL: none */
    uint64_t object;                 /* whose inside it is; 0: a place */
    uint64_t base;                   /* what the offsets of LAYOUT's fields count from */
    bool lost;                       /* behind a null */
};

static enum clr_status enter_object(struct spot *spot, uint64_t object, struct clr_error *error)
{
    struct clr_layout *layout;
    CLR_TRY(clr_object_layout(spot->dump, object, &layout, error));
    spot->layout = layout;
    spot->object = object;
    spot->base = object + spot->dump->runtime->word;
    spot->lost = !layout;
    return CLR_OK;
}

/* Goes from a place to what is inside it: through a reference, or into a struct. */
static enum clr_status enter_place(struct spot *spot, struct clr_error *error)
{
    struct clr_layout *layout = NULL;
    uint64_t object;
    if (clr_element_is_reference(spot->place.element)) {
        if (!clr_read_word(spot->dump->process, spot->place.address, &object))
            object = 0;
        return enter_object(spot, object, error);
    }
    if (spot->place.type != 0)
        CLR_TRY(clr_layout_get(spot->dump, spot->place.type, &layout, error));
    spot->layout = layout;
    spot->object = 0;
    spot->base = spot->place.address;
    if (!layout)
        return clr_fail(error, CLR_MISUSE, 0,
                        "clr_field: '%.100s' goes on behind a value that has no fields",
                        spot->path);
    return CLR_OK;
}

/* Up to the next dot or bracket; with a class in front of '::' behind its own. */
static size_t name_length(const char *name, size_t class)
{
    size_t length = class;
    unsigned nested = 0;
    for (; name[length]; length++) {
        char c = name[length];
        if (nested == 0 && (c == '.' || c == '['))
            break;
        nested += c == '<';
        nested -= c == '>' && nested > 0;
    }
    return length;
}

/* Bytes of 'Namespace.Base::' at the start of the name; 0: there is no class. Names of types may have
 * anything between '<' and '>', and brackets behind it. */
static size_t class_length(const char *name)
{
    unsigned nested = 0;
    for (size_t i = 0; name[i]; i++) {
        nested += name[i] == '<';
        nested -= name[i] == '>' && nested > 0;
        if (nested == 0 && name[i] == '[')
            return 0;
        if (nested == 0 && name[i] == ':' && name[i + 1] == ':')
            return i + 2;
    }
    return 0;
}

/* The layout of the class NAME, of LENGTH bytes: LAYOUT's or a base type's; NULL. */
static enum clr_status find_class(struct clr_dump *dump, const struct clr_layout *layout,
                                  const char *name, size_t length, const struct clr_layout **class,
                                  struct clr_error *error)
{
    *class = NULL;
    for (; layout && !*class; layout = layout->parent) {
        const char *full = clr_type_name(dump->runtime, layout->type.address), *bare;
        CLR_TRY(clr_layout_bare_name(dump, (struct clr_layout *)layout, &bare, error));
        if ((strncmp(full, name, length) == 0 && full[length] == 0) ||
            (strncmp(bare, name, length) == 0 && bare[length] == 0))
            *class = layout;
    }
    return CLR_OK;
}

/* The field NAME; else the one that a compiler made of it: <Name>k__BackingField, <local>5__2. */
static const struct clr_member *find(const struct clr_layout *layout, const char *name,
                                     size_t length)
{
    const struct clr_member *member = clr_layout_find(layout, name, length);
    for (; layout && !member; layout = layout->parent)
        for (size_t i = 0; i < layout->instance_count && !member; i++) {
            const char *made = layout->members[i].name;
            if (length > 0 && made[0] == '<' && strncmp(made + 1, name, length) == 0 &&
                made[length + 1] == '>')
                member = &layout->members[i];
        }
    return member;
}

static enum clr_status take_name(struct spot *spot, const char **at, struct clr_error *error)
{
    const struct clr_layout *layout = spot->layout;
    size_t class = class_length(*at), length = name_length(*at, class) - class;
    if (class > 0) {
        CLR_TRY(find_class(spot->dump, layout, *at, class - 2, &layout, error));
        if (!layout)
            return clr_fail(error, CLR_NOT_FOUND, spot->object,
                            "clr_field: %.150s has no base class '%.*s' (path '%.100s'); the table "
                            "supertypes lists what it has",
                            clr_type_name(spot->dump->runtime, spot->layout->type.address),
                            class > 100 ? 100 : (int)class - 2, *at, spot->path);
        *at += class;
    }
    const struct clr_member *member = find(layout, *at, length);
    if (!member)
        return clr_fail(error, CLR_NOT_FOUND, spot->object,
                        "clr_field: %.150s has no field '%.*s' (path '%.100s'); the table fields "
                        "lists what it has",
                        clr_type_name(spot->dump->runtime, spot->layout->type.address),
                        length > 100 ? 100 : (int)length, *at, spot->path);
    *at += length;
    spot->lost = !member->field.has_offset;
    return clr_member_place(spot->dump, member, spot->base, &spot->place, error);
}

/* '[1,-2]': the numbers, and *AT behind the bracket. */
static enum clr_status read_indices(const struct spot *spot, const char **at,
                                    int64_t indices[CLR_ARRAY_RANK], uint32_t *count,
                                    struct clr_error *error)
{
    const char *next = *at;
    *count = 0;
    do {
        char *end;
        errno = 0;
        indices[*count] = strtoll(next + 1, &end, 10);
        if (errno != 0 || end == next + 1 || (*end != ',' && *end != ']') ||
            ++*count > CLR_ARRAY_RANK - 1)
            return clr_fail(error, CLR_MISUSE, 0,
                            "clr_field: the path '%.100s' has brackets without a number in them: "
                            "'[3].Value'",
                            spot->path);
        next = end;
    } while (*next == ',');
    *at = next + 1;
    return CLR_OK;
}

static enum clr_status fail_dimensions(const struct spot *spot, uint32_t count, uint32_t rank,
                                       struct clr_error *error)
{
    return clr_fail(error, CLR_MISUSE, spot->object,
                    "clr_field: the path '%.100s' has %u of the array's %u dimensions in brackets",
                    spot->path, count, rank);
}

/* Says where the array begins and ends. */
static enum clr_status fail_range(const struct spot *spot, const struct clr_array_view *array,
                                  struct clr_error *error)
{
    struct clr_text first = {0}, last = {0};
    if (array->count > 0) {
        clr_array_indices(spot->dump, array, 0, &first);
        clr_array_indices(spot->dump, array, array->count - 1, &last);
    }
    enum clr_status status =
        array->count == 0 || first.failed || last.failed
            ? clr_fail(
                  error, CLR_MISUSE, spot->object,
                  "clr_field: the path '%.100s' has an index out of range: the array at 0x%llx "
                  "has %llu elements",
                  spot->path, (unsigned long long)array->address, (unsigned long long)array->count)
            : clr_fail(
                  error, CLR_MISUSE, spot->object,
                  "clr_field: the path '%.100s' has an index out of range: the array at 0x%llx "
                  "goes from [%.60s] to [%.60s]",
                  spot->path, (unsigned long long)array->address, first.data, last.data);
    clr_text_deinit(&first);
    clr_text_deinit(&last);
    return status;
}

static enum clr_status take_index(struct spot *spot, const char **at, struct clr_error *error)
{
    struct clr_array_view array;
    int64_t indices[CLR_ARRAY_RANK];
    uint64_t i, type;
    uint32_t count, size;
    CLR_TRY(read_indices(spot, at, indices, &count, error));
    if (spot->object != 0 && clr_array_open(spot->dump, spot->object, &array)) {
        if (count != (array.rank ? array.rank : 1))
            return fail_dimensions(spot, count, array.rank ? array.rank : 1, error);
        if (!clr_array_find(spot->dump, &array, indices, count, &i))
            return fail_range(spot, &array, error);
        spot->place = clr_array_place(&array, i);
        return CLR_OK;
    }
    if (!spot->layout->is_inline_array)
        return clr_fail(error, CLR_MISUSE, spot->object,
                        "clr_field: '%.100s' has an index for a %.150s, which is no array; the "
                        "table elements goes through collections",
                        spot->path, clr_type_name(spot->dump->runtime, spot->layout->type.address));
    const struct clr_member *member = &spot->layout->members[0];
    CLR_TRY(clr_member_type(spot->dump, member, &type, &size, error));
    CLR_TRY(clr_member_place(spot->dump, member, spot->base, &spot->place, error));
    if (count != 1)
        return fail_dimensions(spot, count, 1, error);
    uint64_t length = size ? spot->layout->size / size : 0;
    if (indices[0] < 0 || (uint64_t)indices[0] >= length)
        return clr_fail(error, CLR_MISUSE, spot->object,
                        "clr_field: the path '%.100s' has an index out of range: there are %llu "
                        "elements, from 0",
                        spot->path, (unsigned long long)length);
    spot->place.address += (uint64_t)indices[0] * size;
    return CLR_OK;
}

enum clr_status clr_path_place(struct clr_dump *dump, uint64_t object, const char *path,
                               struct clr_place *place, bool *found, struct clr_error *error)
{
    struct spot spot = {.dump = dump, .path = path};
    const char *at = path;
    *found = false;
    CLR_TRY(enter_object(&spot, object, error));
    while (!spot.lost) {
        if (*at == '[')
            CLR_TRY(take_index(&spot, &at, error));
        else
            CLR_TRY(take_name(&spot, &at, error));
        if (spot.lost)
            return CLR_OK;
        if (*at == 0) {
            *place = spot.place;
            *found = true;
            return CLR_OK;
        }
        if (*at == '.')
            at++;
        CLR_TRY(enter_place(&spot, error));
    }
    return CLR_OK;
}
