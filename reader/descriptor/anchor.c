/*
 * Anchors: where the names of a supplement lead in this process.
 *
 * supplement.c has the grammar. An anchor is an address that is found once (an exported table, what
 * one of its entries leads to, the image itself) and checked; values are read relative to it. What
 * is read is judged before it is used: an entry of the runtime's table must be an address within
 * the runtime's image or its .bss, a variable that the GC publishes must lie in some image, a null
 * cell means that this flavour of the GC has no such thing. A value that fails is distinguished from one
 * whose memory is not in the dump, for only the first speaks against the supplement.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "descriptor/internal.h"

enum {
    DEREF_MAX = 8,
    TABLE_MAX = 4096,            /* entries of a table; the largest known has 158 */
    BEYOND_IMAGE_MAX = 64 << 20, /* .bss that follows the mapped file */
};

static const char not_in_dump[] = "it leads to memory that is not in the dump";

/* --- forms ------------------------------------------------------------------------------------ */

static bool number_of(const clr_json *form, const char *key, uint64_t *number)
{
    return clr_json_u64(clr_json_member(form, key), number);
}

/* Variables of a library lie in its mapped file or in the .bss right behind it. */
static const struct clr_image *image_around(const struct clr_process *process, uint64_t address)
{
    const struct clr_image *images, *found = NULL;
    size_t count = clr_process_images(process, &images);
    for (size_t i = 0; i < count; i++)
        if (images[i].is_elf && images[i].start <= address &&
            (!found || images[i].start > found->start))
            found = &images[i];
    return found && (address < found->end || address - found->end < BEYOND_IMAGE_MAX) ? found
                                                                                      : NULL;
}

static const struct clr_anchor *anchor_named(const struct clr_anchors *anchors,
                                             const clr_json *name)
{
    const char *text = clr_json_text(name, NULL);
    for (size_t i = 0; text && i < anchors->count; i++)
        if (strcmp(anchors->items[i].name, text) == 0)
            return &anchors->items[i];
    return NULL;
}

/* "index": n, or by the number of entries that the table has here. */
static bool index_of(const struct clr_anchor *base, const clr_json *index, uint64_t *number)
{
    const clr_json *json;
    const char *key;
    void *iterator = NULL;
    if (clr_json_kind(index) != CLR_JSON_OBJECT)
        return clr_json_u64(index, number);
    while (clr_json_next(index, &iterator, &key, &json)) {
        char *end;
        unsigned long long count = strtoull(key, &end, 10);
        if (*key && !*end && count == base->count)
            return clr_json_u64(json, number);
    }
    return false;
}

/* The cell that FORM names; CLR_VALUE_ABSENT: it names none. */
static enum clr_outcome cell_of(const struct clr_anchor *base, const clr_json *form, uint64_t *cell,
                                const char **fault)
{
    const clr_json *index = clr_json_member(form, "index");
    uint64_t number;
    if (index) {
        *fault = "its index is not one of the table's";
        if (!index_of(base, index, &number) || number >= base->count)
            return CLR_VALUE_FAULT;
        *cell = base->address + number * base->stride;
        return CLR_VALUE_OK;
    }
    if (!clr_json_member(form, "offset"))
        return CLR_VALUE_ABSENT;
    *fault = "its offset is not a number within bounds";
    if (!number_of(form, "offset", &number) || number > CLR_DESCRIPTOR_NUMBER_MAX)
        return CLR_VALUE_FAULT;
    *cell = base->address + number;
    return CLR_VALUE_OK;
}

static bool width_of(const struct clr_process *process, const char *type, size_t *width)
{
    static const struct {
        const char *name;
        size_t width;
    } widths[] = {
        {"u8", 1},     {"u16", 2},    {"u32", 4},    {"u64", 8},   {"word", 0},    {"uint8", 1},
        {"uint16", 2}, {"uint32", 4}, {"uint64", 8}, {"nuint", 0}, {"pointer", 0},
    };
    for (size_t i = 0; type && i < sizeof widths / sizeof *widths; i++)
        if (strcmp(type, widths[i].name) == 0) {
            *width = widths[i].width ? widths[i].width : clr_process_info(process)->word_size;
            return true;
        }
    return false;
}

/* "read": the number in CELL. */
static enum clr_outcome read_cell(const struct clr_anchors *anchors, uint64_t cell,
                                  const clr_json *type, uint64_t *number, const char **fault)
{
    size_t width;
    *fault = "it reads a type that is not known";
    if (!width_of(anchors->d->process, clr_json_text(type, NULL), &width))
        return CLR_VALUE_FAULT;
    *fault = not_in_dump;
    return clr_read_uint(anchors->d->process, cell, width, number) ? CLR_VALUE_OK : CLR_VALUE_FAULT;
}

/* "i32": an element of the array that CELL points to. */
static enum clr_outcome read_element(const struct clr_anchors *anchors, uint64_t cell,
                                     const clr_json *element, uint64_t *number, const char **fault)
{
    uint64_t array, k;
    uint32_t value;
    *fault = "its element is not a number within bounds";
    if (!clr_json_u64(element, &k) || k > UINT16_MAX)
        return CLR_VALUE_FAULT;
    *fault = not_in_dump;
    if (!clr_read_word(anchors->d->process, cell, &array))
        return CLR_VALUE_FAULT;
    if (array == 0)
        return CLR_VALUE_ABSENT;
    if (!clr_read_u32(anchors->d->process, array + 4 * k, &value))
        return CLR_VALUE_FAULT;
    *number = value;
    return value > INT32_MAX ? CLR_VALUE_ABSENT : CLR_VALUE_OK;
}

/* "value": a number of the supplement's own, where CELL says that the process has such a thing. */
static enum clr_outcome read_constant(const struct clr_anchors *anchors, uint64_t cell,
                                      const clr_json *constant, uint64_t *number,
                                      const char **fault)
{
    uint64_t word;
    *fault = "its value is no number";
    if (!clr_json_u64(constant, number))
        return CLR_VALUE_FAULT;
    *fault = not_in_dump;
    if (!clr_read_word(anchors->d->process, cell, &word))
        return CLR_VALUE_FAULT;
    return word == 0 ? CLR_VALUE_ABSENT : CLR_VALUE_OK;
}

/* The address in CELL. A table's entry is a variable of the runtime itself; what the GC publishes
 * may be in a library of its own. */
static enum clr_outcome read_address(const struct clr_anchors *anchors, uint64_t cell, bool entry,
                                     uint64_t *address, const char **fault)
{
    *fault = not_in_dump;
    if (!clr_read_word(anchors->d->process, cell, address))
        return CLR_VALUE_FAULT;
    if (*address == 0 && !entry)
        return CLR_VALUE_ABSENT;
    const struct clr_image *image = image_around(anchors->d->process, *address);
    *fault = "what is there is no address of a variable";
    return image && (!entry || image == anchors->d->image) ? CLR_VALUE_OK : CLR_VALUE_FAULT;
}

static enum clr_outcome compose_identifiers(const struct clr_anchors *anchors,
                                            struct clr_described_value *value, const char **fault);

enum clr_outcome clr_anchor_value(const struct clr_anchors *anchors, const clr_json *form,
                                  struct clr_described_value *value, const char **fault)
{
    const clr_json *via = clr_json_member(form, "via");
    const clr_json *read = clr_json_member(form, "read"), *i32 = clr_json_member(form, "i32");
    const clr_json *constant = clr_json_member(form, "value");
    const struct clr_anchor *base = anchor_named(anchors, via);
    uint64_t cell = 0, add = 0;
    value->indirect = false;
    value->number = CLR_ABSENT;
    if (clr_json_text(via, NULL) && strcmp(clr_json_text(via, NULL), "gcident") == 0)
        return compose_identifiers(anchors, value, fault);
    *fault = "it names no anchor of this supplement";
    if (!base)
        return CLR_VALUE_FAULT;
    if (base->absent)
        return CLR_VALUE_ABSENT;
    enum clr_outcome outcome = cell_of(base, form, &cell, fault);
    if (outcome == CLR_VALUE_FAULT)
        return outcome;
    if (outcome == CLR_VALUE_OK && read)
        return read_cell(anchors, cell, read, &value->number, fault);
    if (outcome == CLR_VALUE_OK && constant)
        return read_constant(anchors, cell, constant, &value->number, fault);
    if (outcome == CLR_VALUE_OK && i32)
        return read_element(anchors, cell, i32, &value->number, fault);
    if (clr_json_member(form, "add") && !number_of(form, "add", &add)) {
        *fault = "what it adds is no number";
        return CLR_VALUE_FAULT;
    }
    value->indirect = true;
    value->number = base->address;
    if (outcome == CLR_VALUE_OK)
        outcome =
            read_address(anchors, cell, clr_json_member(form, "index"), &value->number, fault);
    else
        outcome = CLR_VALUE_OK;
    value->number += add;
    return outcome;
}

/* --- GCIdentifiers ---------------------------------------------------------------------------- */

/* Resolves a global of this supplement by name. */
static enum clr_outcome resolve_global(const struct clr_anchors *anchors, const char *name,
                                       struct clr_described_value *value, const char **fault)
{
    const clr_json *json = clr_json_member(clr_json_member(anchors->root, "globals"), name);
    if (clr_json_kind(json) == CLR_JSON_ARRAY)
        json = clr_json_element(json, 0);
    const clr_json *via = clr_json_member(json, "via");
    if (!json)
        return CLR_VALUE_ABSENT;
    *fault = "it is no form that leads to an address";
    if (!via || (clr_json_text(via, NULL) && strcmp(clr_json_text(via, NULL), "gcident") == 0))
        return CLR_VALUE_FAULT;
    return clr_anchor_value(anchors, json, value, fault);
}

/* Whether this process has a global, or a field of a type, that depends on the GC's flavour. */
static enum clr_outcome has_global(const struct clr_anchors *anchors, const char *name,
                                   const char **fault)
{
    struct clr_described_value value;
    return resolve_global(anchors, name, &value, fault);
}

static enum clr_outcome has_field(const struct clr_anchors *anchors, const char *type,
                                  const char *field, const char **fault)
{
    struct clr_described_value value = {0};
    const clr_json *types = clr_json_member(anchors->root, "types");
    const clr_json *json = clr_json_member(clr_json_member(types, type), field);
    if (!json)
        return CLR_VALUE_ABSENT;
    if (clr_json_kind(json) != CLR_JSON_OBJECT || clr_json_member(json, "via") == NULL)
        return CLR_VALUE_OK;
    return clr_anchor_value(anchors, json, &value, fault);
}

/* "server, regions, background, dynamic_heap", as the GC of .NET 11 says it of itself. */
static enum clr_outcome compose_identifiers(const struct clr_anchors *anchors,
                                            struct clr_described_value *value, const char **fault)
{
    enum { WORKSTATION = 1, SERVER = 2 }; /* of the runtime's variable g_heap_type */
    struct clr_described_value variable;
    uint32_t kind;
    char text[80];
    enum clr_outcome outcome = resolve_global(anchors, "GCHeapType", &variable, fault);
    if (outcome != CLR_VALUE_OK)
        return outcome;
    *fault = not_in_dump;
    if (!clr_read_u32(anchors->d->process, variable.number, &kind))
        return CLR_VALUE_FAULT;
    *fault = "GCHeapType is neither workstation nor server";
    if (kind != WORKSTATION && kind != SERVER)
        return CLR_VALUE_FAULT;
    enum clr_outcome start = has_field(anchors, "Generation", "AllocationStart", fault);
    enum clr_outcome marks = kind == SERVER ? has_field(anchors, "GCHeap", "MarkArray", fault)
                                            : has_global(anchors, "GCHeapMarkArray", fault);
    enum clr_outcome adapts = has_global(anchors, "DynamicAdaptationMode", fault);
    if (start == CLR_VALUE_FAULT || marks == CLR_VALUE_FAULT || adapts == CLR_VALUE_FAULT)
        return CLR_VALUE_FAULT;
    strcpy(text, kind == SERVER ? "server" : "workstation");
    strcat(text, start == CLR_VALUE_OK ? ", segments" : ", regions");
    strcat(text, marks == CLR_VALUE_OK ? ", background" : "");
    strcat(text, kind == SERVER && adapts == CLR_VALUE_OK ? ", dynamic_heap" : "");
    value->text = clr_arena_text(&anchors->d->texts, text, strlen(text));
    return value->text ? CLR_VALUE_OK : CLR_VALUE_NOMEM;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* "u32@4" in two. */
static bool split_check(const struct clr_process *process, const char *key, size_t *width,
                        uint64_t *offset)
{
    char type[8], *end;
    const char *at = strchr(key, '@');
    if (!at || (size_t)(at - key) >= sizeof type || at[1] < '0' || at[1] > '9')
        return false;
    memcpy(type, key, (size_t)(at - key));
    type[at - key] = '\0';
    *offset = strtoull(at + 1, &end, 10);
    return !*end && *offset <= CLR_DESCRIPTOR_NUMBER_MAX && width_of(process, type, width);
}

/* The bounds within which a check's number must lie. */
static bool bounds_of(const struct clr_anchors *anchors, const clr_json *json, uint64_t *low,
                      uint64_t *high, bool *readable)
{
    const char *text = clr_json_text(json, NULL), *fault;
    struct clr_described_value value;
    *readable = true;
    if (text && text[0] == '*') {
        if (resolve_global(anchors, text + 1, &value, &fault) != CLR_VALUE_OK)
            return false;
        *readable = clr_read_word(anchors->d->process, value.number, low);
        *high = *low;
        return true;
    }
    if (clr_json_kind(json) == CLR_JSON_ARRAY)
        return clr_json_size(json) == 2 && clr_json_u64(clr_json_element(json, 0), low) &&
               clr_json_u64(clr_json_element(json, 1), high);
    *high = 0;
    return clr_json_u64(json, low) && (*high = *low, true);
}

/* The message names what was found. */
static enum clr_status fail_check(const char *what, const char *key, uint64_t address,
                                  uint64_t offset, uint64_t found, uint64_t low, uint64_t high,
                                  struct clr_error *error)
{
    char wanted[48];
    if (low == high)
        snprintf(wanted, sizeof wanted, "0x%llx", (unsigned long long)low);
    else
        snprintf(wanted, sizeof wanted, "0x%llx to 0x%llx", (unsigned long long)low,
                 (unsigned long long)high);
    return clr_fail(error, CLR_UNSUPPORTED, address + offset,
                    "%s is not what was expected: %s from 0x%llx on is 0x%llx, not %s", what, key,
                    (unsigned long long)address, (unsigned long long)found, wanted);
}

/* Makes the checks of EXPECT at ADDRESS. CLR_FAULT: what they need is not in the dump. */
static enum clr_status check_all(const struct clr_anchors *anchors, const char *what,
                                 uint64_t address, const clr_json *expect, struct clr_error *error)
{
    const clr_json *json;
    const char *key;
    void *iterator = NULL;
    if (!expect)
        return CLR_OK;
    while (clr_json_next(expect, &iterator, &key, &json)) {
        uint64_t offset, found, low = 0, high = 0;
        size_t width;
        bool readable;
        if (!split_check(anchors->d->process, key, &width, &offset) ||
            !bounds_of(anchors, json, &low, &high, &readable))
            return clr_fail(error, CLR_BAD_DATA, 0, "check '%s' of %s makes no sense", key, what);
        if (!readable || !clr_read_uint(anchors->d->process, address + offset, width, &found))
            return clr_fail(error, CLR_FAULT, address + offset,
                            "%s leads to 0x%llx, which is not in the dump", what,
                            (unsigned long long)(address + offset));
        if (found < low || found > high)
            return fail_check(what, key, address, offset, found, low, high, error);
    }
    return CLR_OK;
}

/* Follows "deref" words; *ADDRESS 0: there was a null word. */
static enum clr_status follow(const struct clr_anchors *anchors, const char *what,
                              const clr_json *form, uint64_t *address, struct clr_error *error)
{
    uint64_t times = 0;
    if (clr_json_member(form, "deref") && (!number_of(form, "deref", &times) || times > DEREF_MAX))
        return clr_fail(error, CLR_BAD_DATA, 0, "'deref' of %s makes no sense", what);
    for (; times > 0 && *address != 0; times--) {
        uint64_t from = *address;
        if (!clr_read_word(anchors->d->process, from, address))
            return clr_fail(error, CLR_FAULT, from, "%s leads to 0x%llx, which is not in the dump",
                            what, (unsigned long long)from);
    }
    return CLR_OK;
}

/* --- anchors ---------------------------------------------------------------------------------- */

/* Whether a table of COUNT entries is one that the anchor is written for. */
bool clr_anchor_counts(const clr_json *form, uint64_t count)
{
    const clr_json *counts = clr_json_member(form, "counts");
    uint64_t number;
    if (!counts)
        return true;
    for (size_t i = 0; i < clr_json_size(counts); i++)
        if (clr_json_u64(clr_json_element(counts, i), &number) && number == count)
            return true;
    return false;
}

/* The table behind "symbol": its address and number of entries. */
bool clr_anchor_table(const struct clr_descriptor *d, const clr_json *form,
                      struct clr_anchor *anchor)
{
    const char *symbol = clr_json_text(clr_json_member(form, "symbol"), NULL);
    uint64_t size;
    anchor->stride = clr_process_info(d->process)->word_size;
    if (clr_json_member(form, "stride") &&
        (!number_of(form, "stride", &anchor->stride) || anchor->stride == 0))
        return false;
    if (!symbol || !clr_image_symbol(d->process, d->image, symbol, &anchor->address, &size))
        return false;
    anchor->count = size / anchor->stride;
    return anchor->count <= TABLE_MAX;
}

/* "find": the only entry of BASE that passes the checks once it is followed. */
static enum clr_status find_entry(const struct clr_anchors *anchors, const struct clr_anchor *base,
                                  const clr_json *form, const char *what, uint64_t *address,
                                  struct clr_error *error)
{
    size_t found = 0;
    for (uint64_t i = 0; i < base->count; i++) {
        struct clr_error ignored = {0};
        uint64_t at;
        const char *fault;
        if (read_address(anchors, base->address + i * base->stride, true, &at, &fault) ==
                CLR_VALUE_OK &&
            follow(anchors, what, form, &at, &ignored) == CLR_OK && at != 0 &&
            check_all(anchors, what, at, clr_json_member(form, "expect"), &ignored) == CLR_OK) {
            *address = at;
            found++;
        }
    }
    if (found == 1)
        return CLR_OK;
    return clr_fail(error, CLR_UNSUPPORTED, base->address,
                    "%zu of %llu entries of '%s' pass the checks of %s; one must", found,
                    (unsigned long long)base->count, base->name, what);
}

static enum clr_status via_anchor(const struct clr_anchors *anchors, const clr_json *form,
                                  const char *what, struct clr_anchor *anchor,
                                  struct clr_error *error)
{
    const struct clr_anchor *base = anchor_named(anchors, clr_json_member(form, "via"));
    struct clr_described_value value = {0};
    const char *fault = "";
    bool find = false;
    clr_json_bool(clr_json_member(form, "find"), &find);
    if (base && find && !base->absent)
        return find_entry(anchors, base, form, what, &anchor->address, error);
    enum clr_outcome outcome = clr_anchor_value(anchors, form, &value, &fault);
    if (outcome == CLR_VALUE_ABSENT)
        anchor->absent = true;
    if (outcome == CLR_VALUE_FAULT && fault == not_in_dump) {
        uint64_t cell = 0;
        cell_of(base, form, &cell, &fault);
        return clr_fail(error, CLR_FAULT, cell,
                        "%s cannot be used: what leads to it, at 0x%llx, is not in the dump", what,
                        (unsigned long long)cell);
    }
    if (outcome == CLR_VALUE_FAULT)
        return clr_fail(error, CLR_UNSUPPORTED, base ? base->address : 0, "%s cannot be used: %s",
                        what, fault);
    anchor->address = value.number;
    if (outcome != CLR_VALUE_OK)
        return CLR_OK;
    CLR_TRY(follow(anchors, what, form, &anchor->address, error));
    anchor->absent = anchor->address == 0;
    return anchor->absent
               ? CLR_OK
               : check_all(anchors, what, anchor->address, clr_json_member(form, "expect"), error);
}

static enum clr_status resolve_anchor(struct clr_anchors *anchors, const char *name,
                                      const clr_json *form, struct clr_error *error)
{
    const struct clr_image *image = anchors->d->image;
    struct clr_anchor anchor = {.name = name};
    struct clr_text what = {0};
    bool bias = false;
    enum clr_status status = CLR_OK;
    clr_text_format(&what, "anchor '%s' of %s", name, anchors->name);
    if (what.failed)
        status = clr_no_memory(error);
    else if (clr_json_member(form, "via"))
        status = via_anchor(anchors, form, what.data, &anchor, error);
    else if (clr_json_bool(clr_json_member(form, "image"), &bias) && bias)
        anchor.address = image->bias;
    else if (!clr_anchor_table(anchors->d, form, &anchor))
        status = clr_fail(error, CLR_UNSUPPORTED, image->start,
                          "%s names no symbol that %s exports", what.data, image->path);
    else if (!clr_anchor_counts(form, anchor.count))
        status = clr_fail(error, CLR_UNSUPPORTED, anchor.address,
                          "%s is written for tables of another length: the one at 0x%llx has %llu "
                          "entries",
                          what.data, (unsigned long long)anchor.address,
                          (unsigned long long)anchor.count);
    if (status == CLR_OK && !clr_json_member(form, "via") && !anchor.absent)
        status =
            check_all(anchors, what.data, anchor.address, clr_json_member(form, "expect"), error);
    if (status == CLR_OK && anchor.absent)
        clr_problem(anchors->d->problems, CLR_WARNING, "descriptors", 0, 0,
                    "%s leads to a null pointer: the process had not set up what %s describes "
                    "there",
                    what.data, anchors->name);
    clr_text_deinit(&what);
    if (status == CLR_OK)
        anchors->items[anchors->count++] = anchor;
    return status;
}

enum clr_status clr_anchors_resolve(struct clr_anchors *anchors, struct clr_error *error)
{
    const clr_json *list = clr_json_member(anchors->root, "anchors"), *form;
    const char *name;
    void *iterator = NULL;
    while (list && clr_json_next(list, &iterator, &name, &form)) {
        if (anchors->count == CLR_ANCHORS_MAX)
            return clr_fail(error, CLR_BAD_DATA, 0, "%s has more than %d anchors", anchors->name,
                            CLR_ANCHORS_MAX);
        CLR_TRY(resolve_anchor(anchors, name, form, error));
    }
    return CLR_OK;
}

/* Every global must lead to where a variable can be. */
enum clr_status clr_anchors_check(const struct clr_anchors *anchors, struct clr_error *error)
{
    struct clr_parse parse = {.d = anchors->d, .anchors = anchors};
    struct clr_entry_walk walk = {.list = clr_json_member(anchors->root, "globals")};
    struct clr_described_value value;
    enum clr_outcome outcome;
    const char *name, *fault = "";
    while (clr_entry_next(&parse, &walk, &name, &value, &outcome, &fault)) {
        if (outcome == CLR_VALUE_NOMEM)
            return clr_no_memory(error);
        if (outcome == CLR_VALUE_FAULT && fault != not_in_dump)
            return clr_fail(error, CLR_UNSUPPORTED, 0, "global %s of %s cannot be used: %s", name,
                            anchors->name, fault);
    }
    return CLR_OK;
}

enum clr_status clr_anchors_probe(struct clr_anchors *anchors, struct clr_error *error)
{
    const clr_json *list = clr_json_member(anchors->root, "probes"), *form;
    const char *name, *fault;
    void *iterator = NULL;
    while (list && clr_json_next(list, &iterator, &name, &form)) {
        struct clr_error reason = {0};
        struct clr_described_value value;
        enum clr_outcome outcome = resolve_global(anchors, name, &value, &fault);
        if (outcome == CLR_VALUE_ABSENT)
            continue;
        enum clr_status status = CLR_FAULT;
        if (outcome == CLR_VALUE_OK)
            status = follow(anchors, name, form, &value.number, &reason);
        if (status == CLR_OK)
            status =
                check_all(anchors, name, value.number, clr_json_member(form, "expect"), &reason);
        if (status == CLR_FAULT)
            anchors->skipped++;
        else if (status != CLR_OK)
            return clr_fail(error, status, reason.address, "%s does not fit: %s", anchors->name,
                            reason.text);
    }
    return CLR_OK;
}
