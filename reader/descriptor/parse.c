/*
 * One descriptor's JSON into rows: types, globals, contracts.
 *
 * Top-level keys; all of them may be absent or null, unknown ones are ignored:
 *   version       number or text      0 (.NET 9, 10), 2 (.NET 11)
 *   baseline      text                "empty" is the only one that any runtime names
 *   types         compact  {"Type": {"!": size, "Field": offset, "Field": [offset, "type"]}}
 *                 regular  [{"name", "size": n | "indeterminate",
 *                            "fields": [{"name", "type", "offset": n | "unknown"}]}]
 *   globals       compact  {"Name": V | [V, "type"] | [I] | [[I], "type"]}
 *                 regular  [{"name", "type", "value": V | [I] | "unknown"}]
 *   subDescriptors, sub-descriptors   as globals; merge.c follows them
 *   contracts     {"Name": 1 | "c1"}; a number becomes its text
 *
 * V is a number, or text that holds one (decimal, 0x hex, negative), or free text. I is an index
 * into the structure's array of pointers: the value is that slot's word, the address of a variable.
 * A text of type `string` may look like a number: both readings are kept. In a supplement V may be
 * an object, which supplement.c resolves.
 *
 * An entry that makes no sense is left out and reported in the table that misses it; a descriptor
 * whose frame makes no sense is refused.
 *
 * From docs/design/datacontracts/contract-descriptor.md and data_descriptor.md of dotnet/runtime
 * and from the descriptors of 9.0, 10.0 and 11.0.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "descriptor/internal.h"

/* Text without NULs, or NULL. */
static const char *text_of(const clr_json *value)
{
    size_t length = 0;
    const char *text = clr_json_text(value, &length);
    return text && strlen(text) == length ? text : NULL;
}

/* Types and contracts are hints in 9 and 10 and gone in 11: null stands for absent everywhere. */
static bool is_absent(const clr_json *value)
{
    return !value || clr_json_kind(value) == CLR_JSON_NULL;
}

static const char no_such_number[] = "the value 2^63 stands for absence here";

/* A number, free text, or (in a supplement) an object. */
static enum clr_outcome read_scalar(const struct clr_parse *parse, const clr_json *json,
                                    struct clr_described_value *value, const char **fault)
{
    bool is_number, is_text;
    switch (clr_json_kind(json)) {
    case CLR_JSON_NUMBER:
        is_number = clr_json_u64(json, &value->number);
        if (is_number && clr_has(value->number))
            return CLR_VALUE_OK;
        *fault = is_number ? no_such_number : "a number that is no integer";
        return CLR_VALUE_FAULT;
    case CLR_JSON_TEXT:
        if (!text_of(json)) {
            *fault = "a text that holds NUL";
            return CLR_VALUE_FAULT;
        }
        is_text = value->type && strcmp(value->type, "string") == 0;
        is_number = clr_json_u64(json, &value->number);
        if (is_number && !clr_has(value->number) && !is_text) {
            *fault = no_such_number;
            return CLR_VALUE_FAULT;
        }
        if (!is_number)
            value->number = CLR_ABSENT;
        if (!is_number || is_text)
            value->text = text_of(json);
        return CLR_VALUE_OK;
    case CLR_JSON_OBJECT:
        if (parse->anchors)
            return clr_anchor_value(parse->anchors, json, value, fault);
        break;
    default: break;
    }
    *fault = "neither a number nor a text";
    return CLR_VALUE_FAULT;
}

/* INDEX into the array of pointers. */
static enum clr_outcome read_slot(const struct clr_parse *parse, const clr_json *index,
                                  struct clr_described_value *value, const char **fault)
{
    uint64_t slot;
    value->indirect = true;
    if (parse->anchors && clr_json_kind(index) == CLR_JSON_OBJECT)
        return clr_anchor_value(parse->anchors, index, value, fault);
    if (!parse->structure)
        *fault = "an index, but a supplement has no array of pointers";
    else if (!clr_json_u64(index, &slot))
        *fault = "an index that is no number";
    else if (slot >= parse->structure->slot_count)
        *fault = "an index past the end of the array of pointers";
    else if (!clr_structure_slot(parse->d, parse->structure, (uint32_t)slot, &value->number))
        *fault = "a slot of the array of pointers that is not in the dump";
    else
        return CLR_VALUE_OK;
    return CLR_VALUE_FAULT;
}

/* V, [I], [V, "type"], [[I], "type"]. */
static enum clr_outcome read_value(const struct clr_parse *parse, const clr_json *json,
                                   struct clr_described_value *value, const char **fault)
{
    if (clr_json_kind(json) != CLR_JSON_ARRAY)
        return read_scalar(parse, json, value, fault);
    size_t size = clr_json_size(json);
    const clr_json *first = clr_json_element(json, 0);
    if (size == 1)
        return read_slot(parse, first, value, fault);
    if (size != 2 || !(value->type = text_of(clr_json_element(json, 1)))) {
        *fault = "an array that is neither [index] nor [value, type]";
        return CLR_VALUE_FAULT;
    }
    if (clr_json_kind(first) != CLR_JSON_ARRAY)
        return read_scalar(parse, first, value, fault);
    if (clr_json_size(first) == 1)
        return read_slot(parse, clr_json_element(first, 0), value, fault);
    *fault = "an index that is no array of one number";
    return CLR_VALUE_FAULT;
}

/* An entry of the regular form; "unknown" says that there is no value. */
static enum clr_outcome read_regular(const struct clr_parse *parse, const clr_json *entry,
                                     const char **name, struct clr_described_value *value,
                                     const char **fault)
{
    const clr_json *json = clr_json_member(entry, "value");
    *name = text_of(clr_json_member(entry, "name"));
    value->type = text_of(clr_json_member(entry, "type"));
    if (!*name) {
        *name = "?";
        *fault = "an entry without a name";
        return CLR_VALUE_FAULT;
    }
    if (is_absent(json))
        return CLR_VALUE_ABSENT;
    if (clr_json_kind(json) == CLR_JSON_ARRAY) {
        if (clr_json_size(json) == 1)
            return read_slot(parse, clr_json_element(json, 0), value, fault);
        *fault = "an index that is no array of one number";
        return CLR_VALUE_FAULT;
    }
    const char *text = text_of(json);
    if (text && strcmp(text, "unknown") == 0)
        return CLR_VALUE_ABSENT;
    return read_scalar(parse, json, value, fault);
}

bool clr_entry_next(const struct clr_parse *parse, struct clr_entry_walk *walk, const char **name,
                    struct clr_described_value *value, enum clr_outcome *outcome,
                    const char **fault)
{
    const clr_json *json;
    *value = (struct clr_described_value){.number = CLR_ABSENT};
    if (clr_json_kind(walk->list) == CLR_JSON_ARRAY) {
        if (walk->index >= clr_json_size(walk->list))
            return false;
        json = clr_json_element(walk->list, walk->index++);
        *outcome = read_regular(parse, json, name, value, fault);
        return true;
    }
    if (is_absent(walk->list) || !clr_json_next(walk->list, &walk->iterator, name, &json))
        return false;
    *outcome = read_value(parse, json, value, fault);
    return true;
}

/* --- rows ------------------------------------------------------------------------------------ */

static const char *part_name(const struct clr_parse *parse)
{
    return parse->d->parts.items[parse->part].name;
}

static void report_global(const struct clr_parse *parse, const char *name, const char *fault)
{
    clr_problem(parse->d->problems, CLR_WARNING, "globals",
                parse->d->parts.items[parse->part].address, 0,
                "global %s of descriptor '%s' is left out: %s", name, part_name(parse), fault);
}

static void report_type(const struct clr_parse *parse, const char *type, const char *field,
                        const char *fault)
{
    const char *table = field ? "descriptor_fields" : "descriptor_types";
    clr_problem(parse->d->problems, CLR_WARNING, table, parse->d->parts.items[parse->part].address,
                0, "%s%s%s of descriptor '%s' is left out: %s", type, field ? "." : "",
                field ? field : "", part_name(parse), fault);
}

static enum clr_status add_global(const struct clr_parse *parse, const char *name,
                                  const struct clr_described_value *value, struct clr_error *error)
{
    struct clr_descriptor *d = parse->d;
    bool added = CLR_ARRAY_ADD(&d->globals, (struct clr_global){
                                                .name = name,
                                                .type = value->type,
                                                .text = value->text,
                                                .value = value->number,
                                                .indirect = value->indirect,
                                                .part = parse->part,
                                            });
    return added ? CLR_OK : clr_no_memory(error);
}

static enum clr_status parse_globals(const struct clr_parse *parse, const clr_json *list,
                                     struct clr_error *error)
{
    struct clr_entry_walk walk = {.list = list};
    struct clr_described_value value;
    enum clr_outcome outcome;
    const char *name, *fault = "";
    while (clr_entry_next(parse, &walk, &name, &value, &outcome, &fault)) {
        if (outcome == CLR_VALUE_OK && !value.text && !clr_has(value.number)) {
            outcome = CLR_VALUE_FAULT;
            fault = no_such_number;
        }
        if (outcome == CLR_VALUE_NOMEM)
            return clr_no_memory(error);
        if (outcome == CLR_VALUE_FAULT)
            report_global(parse, name, fault);
        if (outcome == CLR_VALUE_OK)
            CLR_TRY(add_global(parse, name, &value, error));
    }
    return CLR_OK;
}

/* An offset or a size: a bounded number, which may carry a type's name. */
static enum clr_outcome read_number(const struct clr_parse *parse, const clr_json *json,
                                    uint64_t least, struct clr_described_value *value,
                                    const char **fault)
{
    enum clr_outcome outcome = read_value(parse, json, value, fault);
    if (outcome != CLR_VALUE_OK)
        return outcome;
    if (value->indirect || value->text || !clr_has(value->number))
        *fault = "not a number";
    else if (value->number < least || value->number > CLR_DESCRIPTOR_NUMBER_MAX)
        *fault = "a number out of bounds";
    else
        return CLR_VALUE_OK;
    return CLR_VALUE_FAULT;
}

/* Begins a type; its fields are those that are added next. */
static enum clr_status add_type(const struct clr_parse *parse, const char *name,
                                struct clr_error *error)
{
    struct clr_descriptor *d = parse->d;
    bool added = CLR_ARRAY_ADD(&d->types, (struct clr_described_type){
                                              .name = name,
                                              .size = CLR_ABSENT,
                                              .part = parse->part,
                                              .first_field = (uint32_t)d->fields.count,
                                          });
    return added ? CLR_OK : clr_no_memory(error);
}

/* Sets the size of the type that was begun last (FIELD NULL), or adds a field to it. */
static enum clr_status add_number(const struct clr_parse *parse, const char *field,
                                  const char *hint, const clr_json *json, struct clr_error *error)
{
    struct clr_descriptor *d = parse->d;
    struct clr_described_type *type = &d->types.items[d->types.count - 1];
    struct clr_described_value value = {.number = CLR_ABSENT};
    const char *fault = "";
    enum clr_outcome outcome = read_number(parse, json, field ? 0 : 1, &value, &fault);
    if (outcome == CLR_VALUE_NOMEM)
        return clr_no_memory(error);
    if (outcome == CLR_VALUE_FAULT)
        report_type(parse, type->name, field ? field : "size", fault);
    if (outcome != CLR_VALUE_OK)
        return CLR_OK;
    if (!field) {
        type->size = value.number;
        return CLR_OK;
    }
    if (!CLR_ARRAY_ADD(&d->fields, (struct clr_described_field){
                                       .name = field,
                                       .type = value.type ? value.type : hint,
                                       .offset = value.number,
                                       .owner = (uint32_t)(d->types.count - 1),
                                       .part = parse->part,
                                   }))
        return clr_no_memory(error);
    type->field_count++;
    return CLR_OK;
}

static enum clr_status parse_compact_type(const struct clr_parse *parse, const char *name,
                                          const clr_json *members, struct clr_error *error)
{
    const clr_json *json;
    const char *key;
    void *iterator = NULL;
    if (clr_json_kind(members) != CLR_JSON_OBJECT) {
        report_type(parse, name, NULL, "not an object");
        return CLR_OK;
    }
    CLR_TRY(add_type(parse, name, error));
    while (clr_json_next(members, &iterator, &key, &json))
        CLR_TRY(add_number(parse, strcmp(key, "!") == 0 ? NULL : key, NULL, json, error));
    return CLR_OK;
}

static bool is_word(const clr_json *json, const char *word)
{
    const char *text = text_of(json);
    return text && strcmp(text, word) == 0;
}

static enum clr_status parse_regular_type(const struct clr_parse *parse, const clr_json *json,
                                          struct clr_error *error)
{
    const char *name = text_of(clr_json_member(json, "name"));
    const clr_json *size = clr_json_member(json, "size");
    const clr_json *fields = clr_json_member(json, "fields");
    if (!name) {
        report_type(parse, "a type", NULL, "it has no name");
        return CLR_OK;
    }
    CLR_TRY(add_type(parse, name, error));
    if (!is_absent(size) && !is_word(size, "indeterminate"))
        CLR_TRY(add_number(parse, NULL, NULL, size, error));
    for (size_t i = 0; i < clr_json_size(fields); i++) {
        const clr_json *field = clr_json_element(fields, i);
        const clr_json *offset = clr_json_member(field, "offset");
        const char *field_name = text_of(clr_json_member(field, "name"));
        const char *type = text_of(clr_json_member(field, "type"));
        if (!field_name)
            report_type(parse, name, "a field", "it has no name");
        else if (!is_absent(offset) && !is_word(offset, "unknown"))
            CLR_TRY(add_number(parse, field_name, type, offset, error));
    }
    return CLR_OK;
}

static enum clr_status parse_types(const struct clr_parse *parse, const clr_json *list,
                                   struct clr_error *error)
{
    const clr_json *json;
    const char *name;
    void *iterator = NULL;
    if (clr_json_kind(list) == CLR_JSON_ARRAY) {
        for (size_t i = 0; i < clr_json_size(list); i++)
            CLR_TRY(parse_regular_type(parse, clr_json_element(list, i), error));
        return CLR_OK;
    }
    while (!is_absent(list) && clr_json_next(list, &iterator, &name, &json))
        CLR_TRY(parse_compact_type(parse, name, json, error));
    return CLR_OK;
}

/* A version as text: numbers and texts are two families and never the same version. */
static enum clr_status version_text(struct clr_descriptor *d, const clr_json *json,
                                    const char **text, struct clr_error *error)
{
    struct clr_text built = {0};
    uint64_t number;
    *text = text_of(json);
    if (*text && **text == '\0')
        *text = NULL;
    if (*text || clr_json_kind(json) != CLR_JSON_NUMBER || !clr_json_u64(json, &number))
        return CLR_OK;
    clr_text_format(&built, "%llu", (unsigned long long)number);
    *text = built.failed ? NULL : clr_arena_text(&d->texts, built.data, built.length);
    clr_text_deinit(&built);
    return *text ? CLR_OK : clr_no_memory(error);
}

static enum clr_status parse_contracts(const struct clr_parse *parse, const clr_json *list,
                                       struct clr_error *error)
{
    struct clr_descriptor *d = parse->d;
    const clr_json *json;
    const char *name, *version;
    void *iterator = NULL;
    while (!is_absent(list) && clr_json_next(list, &iterator, &name, &json)) {
        CLR_TRY(version_text(d, json, &version, error));
        if (!version) {
            clr_problem(d->problems, CLR_WARNING, "contracts", d->parts.items[parse->part].address,
                        0,
                        "contract %s of descriptor '%s' is left out: its version is neither a "
                        "number nor a text",
                        name, part_name(parse));
            continue;
        }
        if (!CLR_ARRAY_ADD(&d->contracts, (struct clr_contract){name, version, parse->part}))
            return clr_no_memory(error);
    }
    return CLR_OK;
}

/* The frame: what must be an object, or an array in the regular form. */
static enum clr_status check_frame(const struct clr_parse *parse, const clr_json *root,
                                   struct clr_error *error)
{
    static const struct {
        const char *key;
        bool array_too;
    } sections[] = {
        {"types", true},           {"globals", true},    {"subDescriptors", true},
        {"sub-descriptors", true}, {"contracts", false},
    };
    uint64_t address = parse->d->parts.items[parse->part].address;
    if (clr_json_kind(root) != CLR_JSON_OBJECT)
        return clr_fail(error, CLR_BAD_DATA, address, "descriptor '%s' is no JSON object",
                        part_name(parse));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const clr_json *section = clr_json_member(root, sections[i].key);
        enum clr_json_kind kind = clr_json_kind(section);
        if (kind != CLR_JSON_NULL && kind != CLR_JSON_OBJECT &&
            !(kind == CLR_JSON_ARRAY && sections[i].array_too))
            return clr_fail(error, CLR_BAD_DATA, address,
                            "'%s' of descriptor '%s' is of the wrong kind", sections[i].key,
                            part_name(parse));
    }
    return CLR_OK;
}

static enum clr_status parse_heading(const struct clr_parse *parse, const clr_json *root,
                                     struct clr_error *error)
{
    struct clr_descriptor *d = parse->d;
    struct clr_part *part = &d->parts.items[parse->part];
    const clr_json *baseline = clr_json_member(root, "baseline");
    CLR_TRY(version_text(d, clr_json_member(root, "version"), &part->version, error));
    part->baseline = text_of(baseline);
    if (!is_absent(baseline) && (!part->baseline || strcmp(part->baseline, "empty") != 0))
        clr_problem(d->problems, CLR_WARNING, "descriptors", part->address, 0,
                    "descriptor '%s' builds on the baseline '%s', which is not known here: what "
                    "it leaves out is missing",
                    part->name, part->baseline ? part->baseline : "(not a text)");
    return CLR_OK;
}

enum clr_status clr_parse_rows(const struct clr_parse *parse, const clr_json *root,
                               struct clr_error *error)
{
    CLR_TRY(check_frame(parse, root, error));
    CLR_TRY(parse_heading(parse, root, error));
    CLR_TRY(parse_types(parse, clr_json_member(root, "types"), error));
    CLR_TRY(parse_globals(parse, clr_json_member(root, "globals"), error));
    return parse_contracts(parse, clr_json_member(root, "contracts"), error);
}

/* --- parts ----------------------------------------------------------------------------------- */

enum clr_status clr_part_add(struct clr_descriptor *d, const struct clr_part *part,
                             const char *text, size_t length, clr_json *root,
                             struct clr_error *error)
{
    struct clr_text clean = {0};
    if (!CLR_ARRAY_ADD(&d->documents, root)) {
        clr_json_destroy(root);
        return clr_no_memory(error);
    }
    struct clr_part added = *part;
    clr_text_utf8(&clean, (const uint8_t *)text, length);
    added.json = clean.failed ? NULL : clr_arena_text(&d->texts, clean.data, clean.length);
    added.json_length = clean.length;
    clr_text_deinit(&clean);
    return added.json && CLR_ARRAY_ADD(&d->parts, added) ? CLR_OK : clr_no_memory(error);
}
