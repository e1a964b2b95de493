/*
 * A layout is a type's own FieldDescs (runtime/fields.c) with names and exact types, then the
 * literals, which exist in metadata only: Field rows with the attribute Literal, their value in the
 * table Constant. Base types have layouts of their own.
 *
 * Names of types repeat ('System.Int32'), so each text is kept once. All layouts together hold at
 * most MOST_MEMBERS fields and MOST_TEXT bytes of text: real processes have a thousandth of that,
 * and what is beyond is an error that says so.
 *
 * An event with the accessors that a compiler makes has a field of the same name (ECMA-335
 * I.8.11.4, II.22.13): that is what is_event says.
 */
#include "inspect/layout.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "runtime/loader.h"
#include "runtime/loop.h"

enum {
    MOST_BASES = 256,
    MOST_MEMBERS = 16 << 20,
    RID = 0x00ffffff,
    TOKEN_FIELD = 0x04000000,
    FIELD_LITERAL = 0x40,
};
#define MOST_TEXT ((size_t)512 << 20)

struct clr_layouts {
    struct clr_map by_type; /* MethodTable -> struct clr_layout; value 0: it is no type */
    CLR_ARRAY(struct clr_layout *) all;
    struct clr_map texts; /* hash -> text */
    struct clr_arena arena;
    size_t text_bytes, members;
    uint64_t core; /* Module of the runtime's own library */
};

static void layout_free(struct clr_layout *layout)
{
    if (!layout)
        return;
    clr_free(layout->members);
    clr_free(layout->names);
    clr_free(layout);
}

static void layouts_destroy(void *data)
{
    struct clr_layouts *layouts = data;
    for (size_t i = 0; i < layouts->all.count; i++)
        layout_free(layouts->all.items[i]);
    CLR_ARRAY_FREE(&layouts->all);
    clr_arena_deinit(&layouts->arena);
    clr_map_deinit(&layouts->by_type);
    clr_map_deinit(&layouts->texts);
    clr_free(layouts);
}

static enum clr_status get_layouts(struct clr_dump *dump, struct clr_layouts **layouts,
                                   struct clr_error *error)
{
    struct clr_type object;
    CLR_TRY(clr_dump_keep(dump, layouts_destroy, sizeof **layouts, layouts, error));
    if (!(*layouts)->core && clr_type_read(dump->runtime, dump->runtime->object_type, &object))
        (*layouts)->core = object.module;
    return CLR_OK;
}

/* A copy that lives with the layouts; equal texts are one. */
static enum clr_status keep(struct clr_layouts *layouts, const struct clr_text *text,
                            const char **kept, struct clr_error *error)
{
    if (text->failed)
        return clr_no_memory(error);
    uint64_t hash = clr_hash_bytes(CLR_FNV_START, text->data, text->length) | 1, known;
    bool taken = clr_map_get(&layouts->texts, hash, &known);
    if (taken) {
        *kept = (const char *)(uintptr_t)known;
        if (strlen(*kept) == text->length && memcmp(*kept, text->data, text->length) == 0)
            return CLR_OK;
    }
    layouts->text_bytes += text->length + 1;
    if (layouts->text_bytes > MOST_TEXT)
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "the names of fields and of their types take more than %zu MB",
                        MOST_TEXT >> 20);
    if (!(*kept = clr_arena_text(&layouts->arena, text->data, text->length)) ||
        (!taken && !clr_map_put(&layouts->texts, hash, (uintptr_t)*kept)))
        return clr_no_memory(error);
    return CLR_OK;
}

/* A type's name without arguments. */
static void bare_name(const char *name, struct clr_text *text)
{
    unsigned nested = 0;
    for (; *name; name++) {
        if (*name == '<')
            nested++;
        if (nested == 0)
            clr_text_char(text, *name);
        if (*name == '>' && nested > 0)
            nested--;
    }
}

void *clr_layout_alloc(struct clr_dump *dump, size_t size)
{
    struct clr_layouts *layouts = clr_dump_kept(dump, layouts_destroy);
    return clr_arena_alloc(&layouts->arena, size);
}

enum clr_status clr_layout_bare_name(struct clr_dump *dump, struct clr_layout *layout,
                                     const char **name, struct clr_error *error)
{
    struct clr_text text = {0};
    enum clr_status status = CLR_OK;
    if (!layout->bare_name) {
        const char *full = clr_type_name(dump->runtime, layout->type.address);
        bare_name(full, &text);
        text.failed |= clr_type_name_lost(full);
        status = keep(clr_dump_kept(dump, layouts_destroy), &text, &layout->bare_name, error);
        clr_text_deinit(&text);
    }
    *name = layout->bare_name;
    return status;
}

/* --- One layout --------------------------------------------------------------------------------
 */

struct making {
    struct clr_dump *dump;
    struct clr_layouts *layouts;
    struct clr_layout *layout;
    size_t room;
    const struct clr_metadata *metadata; /* NULL: none */
    uint32_t events, events_end;         /* positions in the table Event */
    struct clr_text text;
    struct clr_error *error;
};

/* The events that the type declares, as a range of positions. */
static void find_events(struct making *m, uint32_t rid)
{
    enum { PARENT = 0, LIST = 1 };
    m->events = m->events_end = 0;
    uint32_t row = clr_metadata_find(m->metadata, CLR_EVENTMAP, PARENT, rid);
    if (row == 0 || !clr_metadata_cell(m->metadata, CLR_EVENTMAP, row, LIST, &m->events))
        return;
    enum clr_table_id list = m->metadata->table[CLR_EVENTPTR].count ? CLR_EVENTPTR : CLR_EVENT;
    uint32_t most = m->metadata->table[list].count + 1;
    if (!clr_metadata_cell(m->metadata, CLR_EVENTMAP, row + 1, LIST, &m->events_end))
        m->events_end = most;
    if (m->events_end > most)
        m->events_end = most;
}

static bool is_event(const struct making *m, const struct clr_field *field)
{
    enum { NAME = 1 };
    bool indirect = m->metadata && m->metadata->table[CLR_EVENTPTR].count != 0;
    if (!field->name)
        return false;
    for (uint32_t at = m->events; at < m->events_end; at++) {
        uint32_t row = at, name;
        size_t length;
        if ((indirect && !clr_metadata_cell(m->metadata, CLR_EVENTPTR, at, 0, &row)) ||
            !clr_metadata_cell(m->metadata, CLR_EVENT, row, NAME, &name))
            continue;
        const char *text = clr_metadata_string(m->metadata, name, &length);
        if (text && length == field->name_length && memcmp(text, field->name, length) == 0)
            return true;
    }
    return false;
}

static enum clr_status add_member(struct making *m, const struct clr_field *field, bool is_literal)
{
    struct clr_layout *layout = m->layout;
    struct clr_field_kind kind;
    if (m->layouts->members >= MOST_MEMBERS)
        return clr_fail(m->error, CLR_UNSUPPORTED, layout->type.address,
                        "types have more than %d fields in all", MOST_MEMBERS);
    if (!clr_grow(&layout->members, layout->count, &m->room, sizeof *layout->members))
        return clr_no_memory(m->error);
    struct clr_member *member = &layout->members[layout->count];
    clr_field_kind(m->dump->runtime, field, &kind);
    *member = (struct clr_member){.field = *field,
                                  .declaring = layout->type.address,
                                  .element = kind.element,
                                  .is_named = kind.is_named,
                                  .type = kind.type,
                                  .is_literal = is_literal,
                                  .is_event = !is_literal && is_event(m, field)};
    clr_text_clear(&m->text);
    clr_field_name(field, &m->text);
    CLR_TRY(keep(m->layouts, &m->text, &member->name, m->error));
    clr_text_clear(&m->text);
    if (clr_field_type_name(m->dump->runtime, field, &m->text))
        CLR_TRY(keep(m->layouts, &m->text, &member->type_name, m->error));
    else if (m->text.failed)
        return clr_no_memory(m->error);
    layout->count++;
    m->layouts->members++;
    if (!field->is_static) { /* they come first; in damaged lists too */
        struct clr_member made = *member;
        *member = layout->members[layout->instance_count];
        layout->members[layout->instance_count++] = made;
    }
    return CLR_OK;
}

static enum clr_status add_literals(struct making *m, uint32_t type_rid)
{
    enum { FLAGS = 0, NAME = 1, CONSTANT_TYPE = 0, CONSTANT_PARENT = 1 };
    uint32_t first, end, flags, name, key;
    if (!clr_metadata_members(m->metadata, CLR_FIELDDEF, type_rid, &first, &end))
        return CLR_OK;
    for (uint32_t at = first; at < end; at++) {
        uint32_t rid = clr_metadata_member(m->metadata, CLR_FIELDDEF, at), row, type;
        if (!clr_metadata_cell(m->metadata, CLR_FIELDDEF, rid, FLAGS, &flags) ||
            !(flags & FIELD_LITERAL))
            continue;
        struct clr_field field = {.type = m->layout->type.address,
                                  .enclosing = m->layout->type.canonical,
                                  .token = TOKEN_FIELD | (rid & RID),
                                  .attributes = flags,
                                  .protection = flags & 7,
                                  .is_static = true,
                                  .metadata = m->metadata};
        if (clr_metadata_cell(m->metadata, CLR_FIELDDEF, rid, NAME, &name))
            field.name = clr_metadata_string(m->metadata, name, &field.name_length);
        /* What no FieldDesc says: the constant's type is the primitive under an enum. */
        if (clr_metadata_reference(CLR_CONSTANT, CONSTANT_PARENT, CLR_FIELDDEF, rid, &key) &&
            (row = clr_metadata_find(m->metadata, CLR_CONSTANT, CONSTANT_PARENT, key)) != 0 &&
            clr_metadata_cell(m->metadata, CLR_CONSTANT, row, CONSTANT_TYPE, &type))
            field.element_type = (uint8_t)type;
        CLR_TRY(add_member(m, &field, true));
    }
    return CLR_OK;
}

static enum clr_status fill(struct making *m)
{
    struct clr_layout *layout = m->layout;
    const struct clr_type *type = &layout->type;
    struct clr_runtime *runtime = m->dump->runtime;
    struct clr_field_walk walk;
    struct clr_field field;
    const struct clr_module *module = type->module ? clr_module_get(runtime, type->module) : NULL;
    m->metadata = module && module->has_metadata ? &module->metadata : NULL;
    layout->is_core = type->module != 0 && type->module == m->layouts->core;
    layout->is_struct = type->kind == CLR_KIND_STRUCT || type->kind == CLR_KIND_ENUM;
    layout->size = layout->is_struct                      ? clr_struct_size(runtime, type)
                   : type->base_size > 2u * runtime->word ? type->base_size - 2u * runtime->word
                                                          : 0;
    if (m->metadata && (type->token & RID))
        find_events(m, type->token & RID);
    if (clr_field_walk_start(&walk, runtime, type->address))
        while (clr_field_next(&walk, &field))
            CLR_TRY(add_member(m, &field, false));
    layout->is_inline_array =
        layout->is_struct && layout->instance_count == 1 && clr_type_is_inline_array(runtime, type);
    return m->metadata && (type->token & RID) ? add_literals(m, type->token & RID) : CLR_OK;
}

static enum clr_status make(struct clr_dump *dump, struct clr_layouts *layouts,
                            const struct clr_type *type, struct clr_layout *parent,
                            struct clr_layout **out, struct clr_error *error)
{
    struct making m = {.dump = dump, .layouts = layouts, .error = error};
    if (!CLR_ARRAY_ROOM(&layouts->all) || !(m.layout = clr_alloc(1, sizeof *m.layout)))
        return clr_no_memory(error);
    m.layout->type = *type;
    m.layout->parent = parent;
    m.layout->depth = parent ? parent->depth + 1 : 0;
    enum clr_status status = fill(&m);
    clr_text_deinit(&m.text);
    if (status == CLR_OK && !clr_map_put(&layouts->by_type, type->address, (uintptr_t)m.layout))
        status = clr_no_memory(error);
    if (status != CLR_OK) {
        layouts->members -= m.layout->count;
        layout_free(m.layout);
        return status;
    }
    layouts->all.items[layouts->all.count++] = m.layout;
    *out = m.layout;
    return CLR_OK;
}

enum clr_status clr_layout_get(struct clr_dump *dump, uint64_t address, struct clr_layout **out,
                               struct clr_error *error)
{
    struct clr_layouts *layouts = NULL;
    struct clr_type chain[MOST_BASES];
    size_t count = 0;
    uint64_t known;
    *out = NULL;
    CLR_TRY(get_layouts(dump, &layouts, error));
    if (clr_map_get(&layouts->by_type, address, &known)) {
        *out = (struct clr_layout *)(uintptr_t)known;
        return CLR_OK;
    }
    struct clr_layout *layout = NULL;
    struct clr_loop loop = {0};
    for (uint64_t at = address; at != 0 && count < MOST_BASES; at = chain[count++].parent) {
        if (clr_map_get(&layouts->by_type, at, &known)) {
            layout = (struct clr_layout *)(uintptr_t)known;
            break;
        }
        if (clr_loop_again(&loop, at) || !clr_type_read(dump->runtime, at, &chain[count]))
            break;
    }
    if (count == 0)
        return CLR_OK;
    while (count-- > 0)
        if (clr_map_get(&layouts->by_type, chain[count].address,
                        &known)) /* base types in a circle */
            layout = (struct clr_layout *)(uintptr_t)known;
        else
            CLR_TRY(make(dump, layouts, &chain[count], layout, &layout, error));
    *out = layout;
    return CLR_OK;
}

const struct clr_member *clr_layout_find(const struct clr_layout *layout, const char *name,
                                         size_t length)
{
    for (; layout; layout = layout->parent)
        for (size_t i = 0; i < layout->count; i++) {
            const struct clr_member *member = &layout->members[i];
            if (!member->field.is_static && strncmp(member->name, name, length) == 0 &&
                member->name[length] == 0)
                return member;
        }
    return NULL;
}

enum clr_status clr_member_type(struct clr_dump *dump, const struct clr_member *shared,
                                uint64_t *type, uint32_t *size, struct clr_error *error)
{
    struct clr_member *member = (struct clr_member *)shared; /* what is looked for is kept in it */
    const struct clr_type_index *index;
    struct clr_type read;
    if (!member->is_found) {
        uint32_t bytes = clr_element_size(member->element, dump->runtime->word);
        if (member->is_named && member->type == 0) {
            CLR_TRY(clr_dump_type_index(dump, &index, error));
            CLR_TRY(
                clr_field_value_type(dump->runtime, index, &member->field, &member->type, error));
        }
        if (member->element == CLR_ELEMENT_VALUETYPE && member->type != 0 &&
            clr_type_read(dump->runtime, member->type, &read))
            bytes = (uint32_t)clr_struct_size(dump->runtime, &read);
        member->size = bytes;
        member->is_found = true;
    }
    *type = member->type;
    if (size)
        *size = member->size;
    return CLR_OK;
}

/* --- Enums -------------------------------------------------------------------------------------
 */

/* The bits of a literal: a little-endian integer in the table Constant. */
static bool constant_value(const struct clr_metadata *metadata, uint32_t rid, uint64_t *value)
{
    enum { PARENT = 1, VALUE = 2 };
    uint32_t key, row, blob;
    *value = 0;
    if (!clr_metadata_reference(CLR_CONSTANT, PARENT, CLR_FIELDDEF, rid, &key) ||
        (row = clr_metadata_find(metadata, CLR_CONSTANT, PARENT, key)) == 0 ||
        !clr_metadata_cell(metadata, CLR_CONSTANT, row, VALUE, &blob))
        return false;
    struct clr_bytes bytes = clr_metadata_blob(metadata, blob);
    if (bytes.bad || bytes.size == 0 || bytes.size > sizeof *value)
        return false;
    for (size_t i = 0; i < bytes.size; i++)
        *value |= (uint64_t)bytes.data[i] << (8 * i);
    return true;
}

static int by_value(const void *a, const void *b)
{
    const struct clr_enum_name *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

enum clr_status clr_layout_names(struct clr_dump *dump, struct clr_layout *layout,
                                 struct clr_error *error)
{
    if (layout->enum_looked)
        return CLR_OK;
    if (layout->type.kind == CLR_KIND_ENUM && layout->count > layout->instance_count) {
        layout->names = clr_alloc(layout->count, sizeof *layout->names);
        if (!layout->names)
            return clr_no_memory(error);
        for (size_t i = 0; i < layout->count; i++) {
            const struct clr_member *member = &layout->members[i];
            struct clr_enum_name *name = &layout->names[layout->name_count];
            if (member->is_literal &&
                constant_value(member->field.metadata, member->field.token & RID, &name->value)) {
                name->name = member->name;
                name->order = (uint32_t)i;
                layout->name_count++;
            }
        }
        if (layout->name_count)
            qsort(layout->names, layout->name_count, sizeof *layout->names, by_value);
        layout->is_flags = clr_type_has_attribute(dump->runtime, &layout->type, "FlagsAttribute");
    }
    layout->enum_looked = true;
    return CLR_OK;
}

/* --- Kinds -------------------------------------------------------------------------------------
 */

bool clr_element_is_reference(uint8_t element)
{
    return element == CLR_ELEMENT_CLASS || element == CLR_ELEMENT_STRING ||
           element == CLR_ELEMENT_SZARRAY || element == CLR_ELEMENT_ARRAY ||
           element == CLR_ELEMENT_OBJECT;
}

enum { WORD = 0xff }; /* a size */
static const struct {
    uint8_t size; /* 0: not known */
    const char *text;
} elements[] = {
    [CLR_ELEMENT_BOOLEAN] = {1, "boolean"},
    [CLR_ELEMENT_CHAR] = {2, "char"},
    [CLR_ELEMENT_I1] = {1, "i1"},
    [CLR_ELEMENT_U1] = {1, "u1"},
    [CLR_ELEMENT_I2] = {2, "i2"},
    [CLR_ELEMENT_U2] = {2, "u2"},
    [CLR_ELEMENT_I4] = {4, "i4"},
    [CLR_ELEMENT_U4] = {4, "u4"},
    [CLR_ELEMENT_I8] = {8, "i8"},
    [CLR_ELEMENT_U8] = {8, "u8"},
    [CLR_ELEMENT_R4] = {4, "r4"},
    [CLR_ELEMENT_R8] = {8, "r8"},
    [CLR_ELEMENT_I] = {WORD, "i"},
    [CLR_ELEMENT_U] = {WORD, "u"},
    [CLR_ELEMENT_STRING] = {WORD, "string"},
    [CLR_ELEMENT_CLASS] = {WORD, "class"},
    [CLR_ELEMENT_OBJECT] = {WORD, "class"},
    [CLR_ELEMENT_VALUETYPE] = {0, "valuetype"},
    [CLR_ELEMENT_SZARRAY] = {WORD, "szarray"},
    [CLR_ELEMENT_ARRAY] = {WORD, "array"},
    [CLR_ELEMENT_PTR] = {WORD, "ptr"},
    [CLR_ELEMENT_FNPTR] = {WORD, "fnptr"},
    [CLR_ELEMENT_BYREF] = {WORD, "byref"},
};
enum { ELEMENTS = sizeof elements / sizeof elements[0] };

uint32_t clr_element_size(uint8_t element, uint8_t word)
{
    uint8_t size = element < ELEMENTS ? elements[element].size : 0;
    return size == WORD ? word : size;
}

const char *clr_element_text(uint8_t element)
{
    return element < ELEMENTS ? elements[element].text : NULL;
}
