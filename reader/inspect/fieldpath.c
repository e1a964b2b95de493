/*
 * From an offset in an instance to the path of the field that lies there.
 *
 * In each step: of the instance fields of the type and its base types the one that covers the
 * offset. A reference ends the path; a struct is entered with the rest of the offset; an inline
 * array gives an index first. Where explicit layout lets fields overlap, a reference that lies
 * exactly there wins, then the struct that starts last.
 */
#include "inspect/fieldpath.h"

#include <string.h>

#include "base/arena.h"
#include "inspect/fieldtype.h"
#include "runtime/ecma.h"

enum { DEPTH = 32 }; /* structs in structs */

struct type_paths {
    struct clr_map texts; /* offset + 1 -> text */
    struct type_paths *next;
};

struct clr_field_paths {
    const struct clr_type_index *types; /* the dump's */
    struct clr_map by_type;             /* MethodTable (arrays too) -> struct type_paths */
    struct type_paths *all;
    struct clr_arena arena; /* these, and the texts */
};

static void destroy_paths(void *data)
{
    struct clr_field_paths *paths = data;
    for (struct type_paths *t = paths->all, *next; t; t = next) {
        next = t->next;
        clr_map_deinit(&t->texts);
    }
    clr_arena_deinit(&paths->arena);
    clr_map_deinit(&paths->by_type);
    clr_free(paths);
}

struct covering {
    struct clr_field field;
    uint64_t struct_type; /* of a struct field, 0 if not known */
    bool found, exact;
};

static void find_covering(struct clr_runtime *runtime, const struct clr_type_index *index,
                          uint64_t type, uint64_t offset, struct covering *best)
{
    struct clr_field_walk walk;
    struct clr_field field;
    *best = (struct covering){0};
    for (unsigned depth = 0; type != 0 && depth < 256; depth++) {
        if (!clr_field_walk_start(&walk, runtime, type))
            return;
        while (clr_field_next(&walk, &field)) {
            if (field.is_static || !field.has_offset || field.offset > offset || best->exact)
                continue;
            if (field.element_type == CLR_ELEMENT_CLASS && field.offset == offset) {
                *best = (struct covering){.field = field, .found = true, .exact = true};
            } else if (field.element_type == CLR_ELEMENT_VALUETYPE &&
                       (!best->found || field.offset >= best->field.offset)) {
                struct clr_type inner;
                uint64_t held = clr_field_struct(runtime, index, &field);
                uint64_t size = held && clr_type_read(runtime, held, &inner)
                                    ? clr_struct_size(runtime, &inner)
                                    : 0;
                if (size == 0 || offset - field.offset < size)
                    *best = (struct covering){.field = field, .struct_type = held, .found = true};
            }
        }
        type = walk.type.parent;
    }
}

/* The element of an inline array that OFFSET lies in: its only field, repeated. */
static bool inline_element(struct clr_runtime *runtime, const struct clr_type_index *index,
                           const struct clr_type *array, struct clr_field *element, uint64_t *held,
                           uint64_t *size)
{
    struct clr_field_walk walk;
    struct clr_type inner;
    *held = 0;
    *size = runtime->word;
    if (!clr_type_is_inline_array(runtime, array) ||
        !clr_field_walk_start(&walk, runtime, array->address) || !clr_field_next(&walk, element) ||
        element->is_static)
        return false;
    if (element->element_type == CLR_ELEMENT_VALUETYPE) {
        *held = clr_field_struct(runtime, index, element);
        *size =
            *held && clr_type_read(runtime, *held, &inner) ? clr_struct_size(runtime, &inner) : 0;
    }
    return *size != 0;
}

/* Appends the path from a struct or object on; false if it ends nowhere. */
static bool write_path(struct clr_runtime *runtime, const struct clr_type_index *index,
                       uint64_t type, uint64_t offset, struct clr_text *text)
{
    for (unsigned depth = 0; depth < DEPTH; depth++) {
        struct covering best;
        struct clr_type inner;
        struct clr_field element;
        uint64_t size, held;
        find_covering(runtime, index, type, offset, &best);
        if (!best.found)
            return false;
        if (text->length && text->data[text->length - 1] != '.')
            clr_text_char(text, '.');
        clr_field_name(&best.field, text);
        offset -= best.field.offset;
        if (best.exact)
            return true;
        if (best.struct_type == 0 || !clr_type_read(runtime, best.struct_type, &inner))
            return false;
        type = best.struct_type;
        while (inline_element(runtime, index, &inner, &element, &held, &size)) {
            clr_text_format(text, "[%llu]", (unsigned long long)(offset / size));
            offset %= size;
            if (held == 0)
                return true;
            type = held;
            if (!clr_type_read(runtime, held, &inner))
                return false;
        }
    }
    return false;
}

static enum clr_status make(struct clr_dump *dump, struct clr_field_paths *paths, uint64_t type,
                            uint64_t offset, bool is_element, const char **out,
                            struct clr_error *error)
{
    struct clr_text text = {0};
    struct clr_type read;
    bool named = false;
    if (is_element) {
        clr_text_put(&text, "[]");
        named = clr_type_read(dump->runtime, type, &read);
        if (named && clr_type_read(dump->runtime, read.element_handle, &read) &&
            (read.kind == CLR_KIND_STRUCT || read.kind == CLR_KIND_ENUM)) {
            struct clr_field element;
            uint64_t held = read.address, size;
            bool ends = false;
            while (!ends &&
                   inline_element(dump->runtime, paths->types, &read, &element, &held, &size)) {
                clr_text_format(&text, "[%llu]", (unsigned long long)(offset / size));
                offset %= size;
                ends = held == 0 || !clr_type_read(dump->runtime, held, &read);
            }
            if (!ends) {
                clr_text_char(&text, '.');
                named = write_path(dump->runtime, paths->types, read.address, offset, &text);
            }
        }
    } else {
        named = write_path(dump->runtime, paths->types, type, offset, &text);
    }
    if (!named) {
        if (text.length && text.data[text.length - 1] != '.')
            clr_text_char(&text, '.');
        clr_text_format(&text, "+%llu", (unsigned long long)offset);
        if (!clr_type_read(dump->runtime, type, &read) || !read.is_continuation)
            clr_problem_of(dump->problems, CLR_WARNING, "refs", type, false, type, 0,
                           "%s: a field at offset %llu has no name that can be read",
                           clr_type_name(dump->runtime, type), (unsigned long long)offset);
    }
    *out = text.failed ? NULL : clr_arena_text(&paths->arena, text.data, text.length);
    clr_text_deinit(&text);
    return *out ? CLR_OK : clr_no_memory(error);
}

static enum clr_status path_of(struct clr_dump *dump, uint64_t type, uint64_t offset,
                               bool is_element, const char **text, struct clr_error *error)
{
    struct clr_field_paths *paths = NULL;
    uint64_t value;
    const char *made;
    *text = NULL;
    CLR_TRY(clr_dump_keep(dump, destroy_paths, sizeof *paths, &paths, error));
    CLR_TRY(clr_dump_type_index(dump, &paths->types, error));
    struct type_paths *known = NULL;
    if (clr_map_get(&paths->by_type, type, &value)) {
        known = (struct type_paths *)(uintptr_t)value;
    } else {
        known = clr_arena_alloc(&paths->arena, sizeof *known);
        if (!known || !clr_map_put(&paths->by_type, type, (uintptr_t)known))
            return clr_no_memory(error);
        known->next = paths->all;
        paths->all = known;
    }
    if (clr_map_get(&known->texts, offset + 1, &value)) {
        *text = (const char *)(uintptr_t)value;
        return CLR_OK;
    }
    CLR_TRY(make(dump, paths, type, offset, is_element, &made, error));
    if (!clr_map_put(&known->texts, offset + 1, (uintptr_t)made))
        return clr_no_memory(error);
    *text = made;
    return CLR_OK;
}

enum clr_status clr_ref_field(struct clr_dump *dump, const struct clr_ref *ref, const char **text,
                              struct clr_error *error)
{
    const struct clr_shape *shapes;
    *text = NULL;
    if (ref->kind != CLR_REF_MEMBER && ref->kind != CLR_REF_ELEMENT)
        return CLR_OK;
    clr_heap_shapes(dump->heap, &shapes);
    return path_of(dump, shapes[ref->shape].type, ref->within, ref->kind == CLR_REF_ELEMENT, text,
                   error);
}

enum clr_status clr_type_field_path(struct clr_dump *dump, uint64_t type, uint64_t offset,
                                    const char **text, struct clr_error *error)
{
    return path_of(dump, type, offset, false, text, error);
}
