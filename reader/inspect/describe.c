/*
 * Readable lines: short, of bounded length, made of what value.c and elements.c give.
 */
#include "inspect/describe.h"

#include <string.h>

#include "inspect/elements.h"
#include "inspect/leaves.h"
#include "runtime/object.h"

enum {
    MOST_UNITS = 120,  /* of a string */
    MOST_BYTES = 240,  /* of what stands in braces */
    MOST_ELEMENTS = 8, /* of an array */
    MOST_COUNTED = 1 << 20,
    NESTED = 3, /* structs in braces in braces */
};

/* A name that is lost is a failure of memory, not a text. */
static void put_name(struct clr_text *text, const char *name)
{
    text->failed |= clr_type_name_lost(name);
    clr_text_put(text, name);
}

/* --- Strings -----------------------------------------------------------------------------------
 */

/* Appends UTF-8 with what would break a line, or hide in it, written in ASCII. */
static void write_escaped(struct clr_text *text, const char *from, size_t length, char quote)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)from[i];
        const char *known = c == '\n'   ? "\\n"
                            : c == '\r' ? "\\r"
                            : c == '\t' ? "\\t"
                            : c == 0    ? "\\0"
                            : c == '\\' ? "\\\\"
                                        : NULL;
        if (known)
            clr_text_put(text, known);
        else if (c == (unsigned char)quote)
            clr_text_format(text, "\\%c", quote);
        else if (c < 0x20 || c == 0x7f)
            clr_text_format(text, "\\x%02x", c);
        else
            clr_text_char(text, (char)c);
    }
}

/* The string at an address that is known to be one. */
static enum clr_status write_string(struct clr_dump *dump, uint64_t object, struct clr_text *text,
                                    struct clr_error *error)
{
    uint8_t units[2 * MOST_UNITS];
    struct clr_text part = {0};
    uint64_t characters;
    uint32_t length;
    if (!clr_object_string(dump->runtime, object, &length, &characters)) {
        clr_text_put(text, "<string: not saved>");
        return CLR_OK;
    }
    uint32_t taken = length > MOST_UNITS ? MOST_UNITS : length;
    if (!clr_read(dump->process, characters, units, 2u * taken)) {
        clr_text_format(text, "<string of %u characters: not saved>", length);
        return CLR_OK;
    }
    clr_text_utf16(&part, units, taken, clr_process_info(dump->process)->swapped);
    clr_text_char(text, '"');
    write_escaped(text, part.data ? part.data : "", part.length, '"');
    clr_text_char(text, '"');
    if (taken < length)
        clr_text_format(text, "… (%u characters)", length);
    bool failed = part.failed;
    clr_text_deinit(&part);
    return failed ? clr_no_memory(error) : CLR_OK;
}

/* --- Values ------------------------------------------------------------------------------------
 */

static enum clr_status write_place(struct clr_dump *dump, const struct clr_place *place,
                                   unsigned nested, struct clr_text *text, struct clr_error *error);

/* A path with what the programmer wrote for names that compilers make of it: Name for
 * <Name>k__BackingField, local for <local>5__2. */
static void write_path(struct clr_text *text, const char *path)
{
    bool begins = true;
    while (*path) {
        size_t inside = strcspn(path + 1, "<>");
        if (begins && *path == '<' && inside > 0 && path[1 + inside] == '>') {
            clr_text_add(text, path + 1, inside);
            path += 1 + inside;
            path += strcspn(path, ".[");
        } else {
            begins = *path == '.';
            clr_text_char(text, *path++);
        }
    }
}

/* '{Key=1, Value=null}' of what a walk gives. */
static enum clr_status write_fields(struct clr_leaf_walk *walk, unsigned nested,
                                    struct clr_text *text, struct clr_error *error)
{
    size_t begin = text->length;
    struct clr_leaf leaf;
    bool found, any = false;
    enum clr_status status;
    clr_text_char(text, '{');
    while ((status = clr_leaf_walk_next(walk, &leaf, &found, error)) == CLR_OK && found) {
        if (any)
            clr_text_put(text, ", ");
        if (text->length - begin > MOST_BYTES) {
            clr_text_put(text, "…");
            break;
        }
        any = true;
        if (leaf.path) {
            write_path(text, leaf.path);
            clr_text_char(text, '=');
        }
        status = write_place(walk->dump, &leaf.place, nested + 1, text, error);
        if (status != CLR_OK)
            return status;
    }
    clr_text_char(text, '}');
    return status;
}

static enum clr_status write_struct(struct clr_dump *dump, const struct clr_place *place,
                                    unsigned nested, struct clr_text *text, struct clr_error *error)
{
    struct clr_layout *layout = NULL;
    struct clr_leaf_walk walk;
    if (place->type != 0)
        CLR_TRY(clr_layout_get(dump, place->type, &layout, error));
    if (!layout || nested >= NESTED) {
        clr_text_put(text, "{…}");
        return CLR_OK;
    }
    clr_leaf_walk_struct(&walk, dump, place->address, layout);
    enum clr_status status = write_fields(&walk, nested, text, error);
    clr_leaf_walk_finish(&walk);
    return status;
}

static enum clr_status write_reference(struct clr_dump *dump, uint64_t object,
                                       struct clr_text *text, struct clr_error *error)
{
    struct clr_layout *layout;
    if (object == 0) {
        clr_text_put(text, "null");
        return CLR_OK;
    }
    CLR_TRY(clr_object_layout(dump, object, &layout, error));
    if (!layout)
        clr_text_format(text, "<no object 0x%llx>", (unsigned long long)object);
    else if (layout->type.kind == CLR_KIND_STRING)
        return write_string(dump, object, text, error);
    else
        put_name(text, clr_type_name(dump->runtime, layout->type.address));
    return CLR_OK;
}

static enum clr_status write_value(struct clr_dump *dump, const struct clr_place *place,
                                   const struct clr_value *value, unsigned nested,
                                   struct clr_text *text, struct clr_error *error)
{
    if (value->is_reference)
        return write_reference(dump, value->target, text, error);
    switch (value->kind) {
    case CLR_VALUE_NONE: clr_text_put(text, value->lost ? "?" : "null"); break;
    case CLR_VALUE_INTEGER:
        if (place->element == CLR_ELEMENT_BOOLEAN)
            clr_text_put(text, value->integer ? "true" : "false");
        else
            clr_text_format(text, "%lld", (long long)value->integer);
        break;
    case CLR_VALUE_REAL: clr_text_format(text, "%.17g", value->real); break;
    case CLR_VALUE_TEXT:
        if (place->element == CLR_ELEMENT_CHAR)
            clr_text_char(text, '\'');
        write_escaped(text, value->text.data ? value->text.data : "", value->text.length, '\'');
        if (place->element == CLR_ELEMENT_CHAR)
            clr_text_char(text, '\'');
        break;
    case CLR_VALUE_STRUCT: return write_struct(dump, place, nested, text, error);
    }
    return CLR_OK;
}

static enum clr_status write_place(struct clr_dump *dump, const struct clr_place *place,
                                   unsigned nested, struct clr_text *text, struct clr_error *error)
{
    struct clr_value value = {0};
    struct clr_place plain = *place;
    if (plain.element == CLR_ELEMENT_STRING)
        plain.element = CLR_ELEMENT_CLASS; /* its text is taken from the target, in part */
    enum clr_status status = clr_value_read(dump, &plain, &value, error);
    if (status == CLR_OK)
        status = write_value(dump, place, &value, nested, text, error);
    clr_value_deinit(&value);
    return status;
}

enum clr_status clr_place_text(struct clr_dump *dump, const struct clr_place *place,
                               struct clr_text *text, struct clr_error *error)
{
    return write_place(dump, place, 0, text, error);
}

/* --- Objects -----------------------------------------------------------------------------------
 */

/* 'System.Int32[2,3]', 'System.String[5..8]': the type's name with lengths in its last brackets. */
static void write_array_name(struct clr_dump *dump, const struct clr_array_view *array,
                             const char *name, struct clr_text *text)
{
    uint32_t lengths[CLR_ARRAY_RANK];
    int32_t lower[CLR_ARRAY_RANK];
    const char *suffix = strrchr(name, '[');
    text->failed |= clr_type_name_lost(name);
    clr_text_add(text, name, suffix ? (size_t)(suffix - name) : strlen(name));
    clr_text_char(text, '[');
    if (!clr_array_bounds(dump, array, lengths, lower)) {
        clr_text_format(text, "%llu]", (unsigned long long)array->count);
        return;
    }
    for (uint32_t k = 0; k < array->rank; k++) {
        if (k > 0)
            clr_text_char(text, ',');
        if (lower[k] == 0)
            clr_text_format(text, "%u", lengths[k]);
        else
            clr_text_format(text, "%d..%lld", lower[k], (long long)lower[k] + lengths[k] - 1);
    }
    clr_text_char(text, ']');
}

static enum clr_status write_array(struct clr_dump *dump, uint64_t object, const char *name,
                                   struct clr_text *text, struct clr_error *error)
{
    struct clr_array_view array;
    if (!clr_array_open(dump, object, &array)) {
        put_name(text, name);
        return CLR_OK;
    }
    write_array_name(dump, &array, name, text);
    size_t begin = text->length;
    for (uint64_t i = 0; i < array.count; i++) {
        struct clr_place place = clr_array_place(&array, i);
        clr_text_put(text, i ? ", " : " {");
        if (i == MOST_ELEMENTS || text->length - begin > MOST_BYTES) {
            clr_text_put(text, "…");
            break;
        }
        CLR_TRY(write_place(dump, &place, 1, text, error));
    }
    if (array.count > 0)
        clr_text_char(text, '}');
    return CLR_OK;
}

static enum clr_status write_collection(struct clr_dump *dump, struct clr_job *job, uint64_t object,
                                        const char *name, struct clr_text *text,
                                        struct clr_error *error)
{
    struct clr_elements elements;
    struct clr_item item;
    struct clr_error why = {0};
    uint64_t count = 0;
    bool found;
    put_name(text, name);
    enum clr_status status = clr_elements_start(&elements, dump, job, object, &found, &why);
    while (status == CLR_OK && count <= MOST_COUNTED &&
           (status = clr_elements_next(&elements, &item, &found, &why)) == CLR_OK && found)
        count++;
    clr_elements_finish(&elements);
    if (status == CLR_CANCELLED || status == CLR_NOMEM || status == CLR_IO)
        return clr_fail(error, status, why.address, "%s", why.text);
    if (status == CLR_OK) /* else a layout that is not known: its name must do */
        clr_text_format(text, " (%llu%s item%s)", (unsigned long long)count,
                        count > MOST_COUNTED ? " or more" : "", count == 1 ? "" : "s");
    return CLR_OK;
}

/* 'typeof(Zoo.Node)'; *IS is false if the object is no such type. */
static enum clr_status write_type(struct clr_dump *dump, uint64_t object,
                                  const struct clr_layout *layout, bool *is, struct clr_text *text,
                                  struct clr_error *error)
{
    const struct clr_managed *type;
    uint64_t handle;
    CLR_TRY(clr_managed_bind(dump, CLR_MANAGED_RUNTIME_TYPE, layout->type.address, &type, error));
    *is = type && clr_managed_read(dump->runtime, type, CLR_RUNTIME_TYPE_HANDLE, object, &handle) &&
          handle != 0;
    if (!*is)
        return CLR_OK;
    clr_text_put(text, "typeof(");
    put_name(text, clr_handle_type_name(dump->runtime, handle));
    clr_text_char(text, ')');
    return CLR_OK;
}

static enum clr_status write_exception(struct clr_dump *dump, uint64_t object,
                                       const struct clr_layout *layout, const char *name,
                                       struct clr_text *text, struct clr_error *error)
{
    const struct clr_managed *exception;
    struct clr_layout *string;
    uint64_t message;
    put_name(text, name);
    CLR_TRY(clr_managed_bind(dump, CLR_MANAGED_EXCEPTION, layout->type.address, &exception, error));
    if (!exception ||
        !clr_managed_read(dump->runtime, exception, CLR_EXCEPTION_MESSAGE, object, &message) ||
        message == 0)
        return CLR_OK;
    CLR_TRY(clr_object_layout(dump, message, &string, error));
    if (!string || string->type.kind != CLR_KIND_STRING)
        return CLR_OK;
    clr_text_put(text, ": ");
    size_t begin = text->length;
    CLR_TRY(write_string(dump, message, text, error));
    /* Without the quotes, unless it was shortened. */
    if (!text->failed && text->length >= begin + 2 && text->data[begin] == '"' &&
        text->data[text->length - 1] == '"') {
        memmove(text->data + begin, text->data + begin + 1, text->length - begin - 2);
        text->length -= 2;
        text->data[text->length] = 0;
    }
    return CLR_OK;
}

static enum clr_status write_object(struct clr_dump *dump, struct clr_job *job, uint64_t object,
                                    const struct clr_layout *layout, struct clr_text *text,
                                    struct clr_error *error)
{
    const char *name = clr_type_name(dump->runtime, layout->type.address);
    struct clr_place boxed;
    struct clr_leaf_walk walk;
    bool collection, is_type;
    switch (layout->type.kind) {
    case CLR_KIND_STRING: return write_string(dump, object, text, error);
    case CLR_KIND_ARRAY:
    case CLR_KIND_SZARRAY: return write_array(dump, object, name, text, error);
    case CLR_KIND_DELEGATE: put_name(text, name); return CLR_OK;
    default: break;
    }
    if (clr_type_derives(dump->runtime, layout->type.address, dump->runtime->exception_type))
        return write_exception(dump, object, layout, name, text, error);
    CLR_TRY(write_type(dump, object, layout, &is_type, text, error));
    if (is_type)
        return CLR_OK;
    CLR_TRY(clr_is_collection(dump, object, &collection, error));
    if (collection)
        return write_collection(dump, job, object, name, text, error);
    put_name(text, name);
    if (clr_boxed_place(dump, object, layout, &boxed)) {
        clr_text_char(text, ' ');
        return write_place(dump, &boxed, 0, text, error);
    }
    bool any = false;
    for (const struct clr_layout *at = layout; at && !any; at = at->parent)
        any = at->instance_count > 0;
    if (!any)
        return CLR_OK;
    clr_text_char(text, ' ');
    clr_leaf_walk_start(&walk, dump, object, layout);
    enum clr_status status = write_fields(&walk, 0, text, error);
    clr_leaf_walk_finish(&walk);
    return status;
}

enum clr_status clr_object_text(struct clr_dump *dump, struct clr_job *job, uint64_t object,
                                struct clr_text *text, struct clr_error *error)
{
    struct clr_layout *layout;
    uint64_t type;
    uint32_t number;
    if (clr_number(dump->heap, object, &number) && clr_object_type(dump->runtime, object, &type) &&
        type == dump->runtime->free_type) {
        clr_text_put(text, "Free");
        return CLR_OK;
    }
    CLR_TRY(clr_object_layout(dump, object, &layout, error));
    if (layout)
        CLR_TRY(write_object(dump, job, object, layout, text, error));
    return text->failed ? clr_no_memory(error) : CLR_OK;
}
