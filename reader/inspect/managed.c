/*
 * Classes of .NET's libraries and the fields of them that are read, .NET 8 to 11. Names of private
 * fields as the libraries' public source has them and dumps of each release confirm.
 *
 *   class               fields                         meaning
 *   Delegate, MulticastDelegate                        see delegates.c
 *   Exception           _message                       a string
 *   AssemblyLoadContext _name, _state                  a string; an enum, see ext/tables/modules.c
 *   RuntimeType         m_handle                       its TypeHandle
 *   Thread              _name                          a string
 *   Decimal, DateTime … Guid, Nullable                 see known.c
 *
 * What was found is kept with the type's layout: one entry for each row that was asked for, which
 * is few, so that a read is a look-up of the type and a comparison or two.
 */
#include "inspect/managed.h"

#include <string.h>

#include "runtime/loader.h"
#include "runtime/object.h"

#define CORE "System.Private.CoreLib"
#define PROPERTY(name) "<" name ">k__BackingField"

enum {
    REFERENCE = CLR_MANAGED_REFERENCE,
    WORD = CLR_MANAGED_WORD,
    STRUCT = CLR_MANAGED_STRUCT,
    ANY = CLR_MANAGED_ANY,
    B8 = CLR_MANAGED_8BIT,
    B16 = CLR_MANAGED_16BIT,
    B32 = CLR_MANAGED_32BIT,
    B64 = CLR_MANAGED_64BIT,
};

const struct clr_managed_row clr_managed_rows[CLR_MANAGED_CLASSES] = {
    [CLR_MANAGED_DELEGATE] = {CORE,
                              "System.Delegate",
                              {"_target", "_methodPtr", "_methodPtrAux"},
                              {REFERENCE, WORD, WORD}},
    [CLR_MANAGED_MULTICAST_DELEGATE] = {CORE,
                                        "System.MulticastDelegate",
                                        {"_invocationList|_helperObject",
                                         "_invocationCount|_extraData"},
                                        {REFERENCE, WORD}},
    [CLR_MANAGED_EXCEPTION] = {CORE, "System.Exception", {"_message"}, {REFERENCE}},
    [CLR_MANAGED_LOAD_CONTEXT] = {CORE,
                                  "System.Runtime.Loader.AssemblyLoadContext",
                                  {"_name", "_state"},
                                  {REFERENCE, B32}},
    [CLR_MANAGED_RUNTIME_TYPE] = {CORE, "System.RuntimeType", {"m_handle"}, {WORD}},
    [CLR_MANAGED_THREAD] = {CORE, "System.Threading.Thread", {"_name"}, {REFERENCE}},

    [CLR_MANAGED_DATE_ONLY] = {CORE, "System.DateOnly", {"_dayNumber"}, {B32}},
    [CLR_MANAGED_DATE_TIME] = {CORE, "System.DateTime", {"_dateData"}, {B64}},
    [CLR_MANAGED_DATE_TIME_OFFSET] = {CORE,
                                      "System.DateTimeOffset",
                                      {"_dateTime", "_offsetMinutes"},
                                      {STRUCT, ANY}},
    [CLR_MANAGED_DECIMAL] = {CORE, "System.Decimal", {"_flags", "_hi32", "_lo64"}, {B32, B32, B64}},
    [CLR_MANAGED_GUID] = {CORE, "System.Guid", {"_a", "_b", "_c", "_d"}, {B32, B16, B16, B8}},
    [CLR_MANAGED_HALF] = {CORE, "System.Half", {"_value"}, {B16}},
    [CLR_MANAGED_INDEX] = {CORE, "System.Index", {"_value"}, {B32}},
    [CLR_MANAGED_INT128] = {CORE, "System.Int128", {"_lower", "_upper"}, {B64, B64}},
    [CLR_MANAGED_NULLABLE] = {CORE, "System.Nullable", {"hasValue", "value"}, {B8, ANY}},
    [CLR_MANAGED_RANGE] = {CORE,
                           "System.Range",
                           {PROPERTY("Start"), PROPERTY("End")},
                           {STRUCT, STRUCT}},
    [CLR_MANAGED_RUNE] = {CORE, "System.Text.Rune", {"_value"}, {B32}},
    [CLR_MANAGED_TIME_ONLY] = {CORE, "System.TimeOnly", {"_ticks"}, {B64}},
    [CLR_MANAGED_TIME_SPAN] = {CORE, "System.TimeSpan", {"_ticks"}, {B64}},
    [CLR_MANAGED_UINT128] = {CORE, "System.UInt128", {"_lower", "_upper"}, {B64, B64}},
};

/* --- Finding -----------------------------------------------------------------------------------
 */

static bool is_of_kind(const struct clr_member *member, uint8_t kind)
{
    enum { WIDE = 8, NARROW = 4 }; /* words */
    uint8_t element = member->element;
    bool is_reference = clr_element_is_reference(element);
    switch (kind & ~CLR_MANAGED_OPTIONAL) {
    case CLR_MANAGED_ANY: return true;
    case CLR_MANAGED_STRUCT: return element == CLR_ELEMENT_VALUETYPE;
    case CLR_MANAGED_REFERENCE: return is_reference;
    case CLR_MANAGED_WORD:
        return !is_reference && clr_element_size(element, WIDE) == WIDE &&
               clr_element_size(element, NARROW) == NARROW;
    default: return clr_element_size(element, 0) == (kind & ~CLR_MANAGED_OPTIONAL);
    }
}

/* One path, of LENGTH bytes: from struct to struct. */
static enum clr_status find_path(struct clr_dump *dump, const struct clr_layout *layout,
                                 const char *path, size_t length, struct clr_managed_field *field,
                                 struct clr_error *error)
{
    const char *end = path + length;
    *field = (struct clr_managed_field){0};
    for (;;) {
        const char *dot = memchr(path, '.', (size_t)(end - path));
        const struct clr_member *member =
            clr_layout_find(layout, path, (size_t)((dot ? dot : end) - path));
        struct clr_layout *next = NULL;
        uint64_t type = 0;
        if (!member || !member->field.has_offset)
            return CLR_OK;
        field->offset += member->field.offset;
        if (!dot) {
            field->member = member;
            return CLR_OK;
        }
        if (member->element == CLR_ELEMENT_VALUETYPE)
            CLR_TRY(clr_member_type(dump, member, &type, NULL, error));
        if (type != 0)
            CLR_TRY(clr_layout_get(dump, type, &next, error));
        if (!next)
            return CLR_OK;
        layout = next;
        path = dot + 1;
    }
}

static enum clr_status find_field(struct clr_dump *dump, const struct clr_layout *layout,
                                  const char *names, uint8_t kind, struct clr_managed_field *field,
                                  struct clr_error *error)
{
    for (;;) {
        size_t length = strcspn(names, "|");
        CLR_TRY(find_path(dump, layout, names, length, field, error));
        if (field->member && is_of_kind(field->member, kind))
            return CLR_OK;
        field->member = NULL;
        names += length;
        if (!*names)
            return CLR_OK;
        names++;
    }
}

static const struct clr_managed *find_known(const struct clr_layout *layout, const void *row)
{
    const struct clr_managed *managed = layout->managed;
    while (managed && managed->row != row)
        managed = managed->next;
    return managed;
}

/* Looks for the fields in CLASS, the layout itself or a base type of it, and keeps what is found
 * with LAYOUT; CLASS NULL: keeps that there are none. */
static enum clr_status find_all(struct clr_dump *dump, struct clr_layout *layout,
                                const struct clr_layout *class, const void *row,
                                const char *const *names, const uint8_t *kinds, unsigned count,
                                const struct clr_managed **out, struct clr_error *error)
{
    struct clr_managed *managed;
    if (!class)
        count = 0;
    managed = clr_layout_alloc(dump, sizeof *managed + count * sizeof managed->fields[0]);
    if (!managed)
        return clr_no_memory(error);
    managed->row = row;
    managed->layout = class;
    managed->count = managed->missing = count;
    for (unsigned i = 0; i < count; i++) {
        if (!names[i])
            continue;
        CLR_TRY(find_field(dump, class, names[i], kinds ? kinds[i] : CLR_MANAGED_ANY,
                           &managed->fields[i], error));
        if (!managed->fields[i].member && managed->missing == count &&
            !(kinds && kinds[i] & CLR_MANAGED_OPTIONAL))
            managed->missing = i;
    }
    managed->next = layout->managed;
    layout->managed = managed;
    *out = managed;
    return CLR_OK;
}

enum clr_status clr_managed_find(struct clr_dump *dump, struct clr_layout *layout, const void *row,
                                 const char *const *names, const uint8_t *kinds, unsigned count,
                                 const struct clr_managed **managed, struct clr_error *error)
{
    if ((*managed = find_known(layout, row)))
        return CLR_OK;
    return find_all(dump, layout, layout, row, names, kinds, count, managed, error);
}

/* --- Rows --------------------------------------------------------------------------------------
 */

static bool is_of_module(struct clr_dump *dump, const struct clr_layout *layout, const char *name)
{
    if (!name || (layout->is_core && strcmp(name, CORE) == 0))
        return true;
    const struct clr_module *module =
        layout->type.module ? clr_module_get(dump->runtime, layout->type.module) : NULL;
    return module && module->assembly_name && strcmp(module->assembly_name, name) == 0;
}

static bool has_metadata(struct clr_dump *dump, const struct clr_layout *layout)
{
    const struct clr_module *module =
        layout->type.module ? clr_module_get(dump->runtime, layout->type.module) : NULL;
    return module && module->has_metadata;
}

/* Where metadata is missing no name is known, which is a problem of its own. */
static enum clr_status report_missing(struct clr_dump *dump, const struct clr_managed_row *row,
                                      const struct clr_managed *managed, struct clr_error *error)
{
    struct clr_text names = {0};
    if (managed->missing == managed->count || !has_metadata(dump, managed->layout))
        return CLR_OK;
    for (unsigned i = managed->missing; i < managed->count; i++)
        if (row->names[i] && !managed->fields[i].member && !(row->kinds[i] & CLR_MANAGED_OPTIONAL))
            clr_text_format(&names, "%s'%s'", names.length ? ", " : "", row->names[i]);
    bool failed = names.failed;
    if (!failed)
        clr_problem_once(dump->problems, CLR_WARNING, "library", false,
                         managed->layout->type.address, 0,
                         "%s has not the fields that are known in this release: %s; what is read "
                         "from them is not known",
                         row->name, names.data);
    clr_text_deinit(&names);
    return failed ? clr_no_memory(error) : CLR_OK;
}

enum clr_status clr_managed_bind(struct clr_dump *dump, enum clr_managed_class class, uint64_t type,
                                 const struct clr_managed **managed, struct clr_error *error)
{
    const struct clr_managed_row *row = &clr_managed_rows[class];
    struct clr_layout *layout, *at;
    *managed = NULL;
    CLR_TRY(clr_layout_get(dump, type, &layout, error));
    if (!layout)
        return CLR_OK;
    if (!(*managed = find_known(layout, row))) {
        for (at = layout; at; at = at->parent) {
            const char *name;
            CLR_TRY(clr_layout_bare_name(dump, at, &name, error));
            if (strcmp(name, row->name) == 0 && is_of_module(dump, at, row->module))
                break;
        }
        unsigned count = 0;
        while (count < CLR_MANAGED_FIELDS && row->names[count])
            count++;
        CLR_TRY(find_all(dump, layout, at, row, row->names, row->kinds, count, managed, error));
        if (at)
            CLR_TRY(report_missing(dump, row, *managed, error));
    }
    if (!(*managed)->layout)
        *managed = NULL;
    return CLR_OK;
}

enum clr_status clr_managed_of(struct clr_dump *dump, enum clr_managed_class class, uint64_t object,
                               const struct clr_managed **managed, struct clr_error *error)
{
    uint64_t type;
    *managed = NULL;
    if (!clr_object_type(dump->runtime, object, &type) || type == 0)
        return CLR_OK;
    return clr_managed_bind(dump, class, type, managed, error);
}

/* --- Reading -----------------------------------------------------------------------------------
 */

bool clr_managed_read(const struct clr_runtime *runtime, const struct clr_managed *managed,
                      unsigned field, uint64_t object, uint64_t *value)
{
    const struct clr_managed_field *found = &managed->fields[field];
    if (field >= managed->count || !found->member)
        return false;
    uint32_t size = clr_element_size(found->member->element, runtime->word);
    return size != 0 &&
           clr_read_uint(runtime->process, object + runtime->word + found->offset, size, value);
}

bool clr_managed_string(const struct clr_runtime *runtime, const struct clr_managed *managed,
                        unsigned field, uint64_t object, uint64_t *string, struct clr_text *text)
{
    uint64_t type;
    return clr_managed_read(runtime, managed, field, object, string) &&
           (*string == 0 ||
            (clr_object_type(runtime, *string, &type) && type == runtime->string_type &&
             clr_object_string_text(runtime, *string, text)));
}

enum clr_status clr_managed_place(struct clr_dump *dump, const struct clr_managed_field *field,
                                  uint64_t base, struct clr_place *place, struct clr_error *error)
{
    CLR_TRY(clr_member_place(dump, field->member, base, place, error));
    place->address = base + field->offset;
    return CLR_OK;
}
