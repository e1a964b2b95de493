/*
 * Names into numbers.
 *
 * The tables of a descriptor are sorted by name, so that a look-up is a binary search. It is made
 * when a layout is bound, once for each name at open; nothing looks up a name in a loop over data.
 *
 * A binding says how wide the thing is that its reader reads. Descriptors of .NET 9 and 10 name the
 * type of some fields; where that is a primitive of another width, the reader would read wrongly,
 * and the contract is refused instead. Names that are no primitives are hints and say nothing.
 */
#include <string.h>

#include "base/search.h"
#include "descriptor/internal.h"

size_t clr_descriptor_parts(const struct clr_descriptor *d, const struct clr_part **rows)
{
    *rows = d->parts.items;
    return d->parts.count;
}

size_t clr_descriptor_contracts(const struct clr_descriptor *d, const struct clr_contract **rows)
{
    *rows = d->contracts.items;
    return d->contracts.count;
}

size_t clr_descriptor_globals(const struct clr_descriptor *d, const struct clr_global **rows)
{
    *rows = d->globals.items;
    return d->globals.count;
}

size_t clr_descriptor_types(const struct clr_descriptor *d, const struct clr_described_type **rows)
{
    *rows = d->types.items;
    return d->types.count;
}

size_t clr_descriptor_fields(const struct clr_descriptor *d,
                             const struct clr_described_field **rows)
{
    *rows = d->fields.items;
    return d->fields.count;
}

static const char *name_at(const void *rows, size_t offset)
{
    const char *name;
    memcpy(&name, (const char *)rows + offset, sizeof name);
    return name;
}

/* The row of NAME among COUNT sorted rows whose first member is a name, or NULL. */
static const void *find(const void *rows, size_t count, size_t stride, const char *name)
{
    size_t i;
    CLR_SEARCH(i, 0, count, strcmp(name_at(rows, i * stride), name) < 0);
    return i < count && strcmp(name_at(rows, i * stride), name) == 0
               ? (const char *)rows + i * stride
               : NULL;
}

_Static_assert(offsetof(struct clr_contract, name) == 0, "find reads the name");
_Static_assert(offsetof(struct clr_global, name) == 0, "find reads the name");
_Static_assert(offsetof(struct clr_described_type, name) == 0, "find reads the name");
_Static_assert(offsetof(struct clr_described_field, name) == 0, "find reads the name");

const char *clr_descriptor_contract(const struct clr_descriptor *d, const char *name)
{
    const struct clr_contract *row =
        find(d->contracts.items, d->contracts.count, sizeof *d->contracts.items, name);
    return row ? row->version : NULL;
}

const struct clr_global *clr_descriptor_global(const struct clr_descriptor *d, const char *name)
{
    return find(d->globals.items, d->globals.count, sizeof *d->globals.items, name);
}

const char *clr_descriptor_text(const struct clr_descriptor *d, const char *name)
{
    const struct clr_global *row = clr_descriptor_global(d, name);
    return row ? row->text : NULL;
}

static const struct clr_described_type *find_type(const struct clr_descriptor *d, const char *name)
{
    return find(d->types.items, d->types.count, sizeof *d->types.items, name);
}

static const struct clr_described_field *find_field(const struct clr_descriptor *d,
                                                    const char *type, const char *name)
{
    const struct clr_described_type *row = find_type(d, type);
    return row ? find(d->fields.items + row->first_field, row->field_count, sizeof *d->fields.items,
                      name)
               : NULL;
}

uint64_t clr_descriptor_size(const struct clr_descriptor *d, const char *type)
{
    const struct clr_described_type *row = find_type(d, type);
    return row ? row->size : CLR_ABSENT;
}

uint64_t clr_descriptor_offset(const struct clr_descriptor *d, const char *type, const char *field)
{
    const struct clr_described_field *row = find_field(d, type, field);
    return row ? row->offset : CLR_ABSENT;
}

/* Bytes of a primitive by its name, 0 if TYPE is none. */
static unsigned primitive_width(const char *type, unsigned word)
{
    static const struct {
        const char *name;
        unsigned width; /* 0: a word */
    } primitives[] = {
        {"int8", 1},      {"uint8", 1}, {"int16", 2}, {"uint16", 2}, {"int32", 4},
        {"uint32", 4},    {"int64", 8}, {"nint", 0},  {"uint64", 8}, {"nuint", 0},
        {"uintptr_t", 0}, {"bool", 1},  {"char", 1},  {"ptr", 0},    {"pointer", 0},
    };
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        if (strcmp(type, primitives[i].name) == 0)
            return primitives[i].width ? primitives[i].width : word;
    return 0;
}

static bool fits(const struct clr_descriptor *d, const struct clr_binding *binding,
                 const struct clr_described_field *field)
{
    unsigned word = clr_process_info(d->process)->word_size;
    unsigned width = field->type ? primitive_width(field->type, word) : 0;
    return width == 0 || binding->width == CLR_INLINE ||
           width == (binding->width ? binding->width : word);
}

/* What BINDING names, or CLR_ABSENT; *CLASH is the field whose type is of another width. */
static uint64_t value_of(const struct clr_descriptor *d, const struct clr_binding *binding,
                         const struct clr_described_field **clash)
{
    const struct clr_described_field *field;
    const struct clr_global *global;
    switch ((enum clr_binding_kind)binding->kind) {
    case CLR_SIZE: return clr_descriptor_size(d, binding->type);
    case CLR_FIELD:
        field = find_field(d, binding->type, binding->name);
        if (field && !fits(d, binding, field)) {
            *clash = field;
            return CLR_ABSENT;
        }
        return field ? field->offset : CLR_ABSENT;
    case CLR_LITERAL:
    case CLR_VARIABLE:
        global = clr_descriptor_global(d, binding->name);
        return global && global->indirect == (binding->kind == CLR_VARIABLE) ? global->value
                                                                             : CLR_ABSENT;
    }
    return CLR_ABSENT;
}

static enum clr_status fail_absent(const struct clr_descriptor *d, const char *contract,
                                   const struct clr_binding *binding, struct clr_error *error)
{
    const char *type = binding->type ? binding->type : "";
    const char *name = binding->name ? binding->name : "";
    switch ((enum clr_binding_kind)binding->kind) {
    case CLR_SIZE:
        return clr_fail(error, CLR_NOT_FOUND, 0,
                        "contract %s needs the size of %s, which this runtime does not describe",
                        contract, type);
    case CLR_FIELD:
        return clr_fail(error, CLR_NOT_FOUND, 0,
                        "contract %s needs the field %s.%s, which this runtime does not describe",
                        contract, type, name);
    case CLR_LITERAL:
    case CLR_VARIABLE: break;
    }
    return clr_fail(error, CLR_NOT_FOUND, 0,
                    clr_descriptor_global(d, name)
                        ? "contract %s needs the global %s as a %s, which it is not here"
                        : "contract %s needs the global %s (a %s), which this runtime does not "
                          "describe",
                    contract, name, binding->kind == CLR_VARIABLE ? "variable" : "number");
}

enum clr_status clr_bind(const struct clr_descriptor *d, const char *contract,
                         const struct clr_binding *bindings, void *layout, struct clr_error *error)
{
    enum clr_status status = CLR_OK;
    for (const struct clr_binding *b = bindings; !clr_binding_is_last(b); b++) {
        const struct clr_described_field *clash = NULL;
        uint64_t value = value_of(d, b, &clash);
        memcpy((char *)layout + b->member, &value, sizeof value);
        if (status != CLR_OK)
            continue;
        if (clash)
            status = clr_fail(error, CLR_NOT_FOUND, 0,
                              "contract %s reads %s.%s as %u bytes, but this runtime says that it "
                              "is a %s",
                              contract, b->type, b->name,
                              b->width ? b->width : clr_process_info(d->process)->word_size,
                              clash->type);
        else if (!clr_has(value) && !b->optional)
            status = fail_absent(d, contract, b, error);
    }
    return status;
}
