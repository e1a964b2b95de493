/*
 * Functions on numbers, addresses and types.
 *
 * What is an object is asked of the object index, so clr_string walks the heap on first use: memory
 * that happens to look like a string is none. A type is what its MethodTable says; one whose pages
 * were not all saved is still a type if objects have it.
 */
#include <string.h>

#include "cache.h"
#include "describe.h"
#include "functions.h"
#include "results.h"
#include "runtime/object.h"

/* --- Without a dump --------------------------------------------------------------------------- */

static enum clr_status version(struct clr_call *call, CLR_UNUSED struct clr_error *error)
{
    clr_result_static(call->context, CLR_VERSION);
    return CLR_OK;
}

static enum clr_status hex(struct clr_call *call, CLR_UNUSED struct clr_error *error)
{
    clr_text_format(&call->text, "0x%016llx", (unsigned long long)call->number[0]);
    call->has_text = true;
    return CLR_OK;
}

/* Reads an address as other tools print it: hexadecimal, with or without 0x; '`' and '_' between
 * digits; space around it. */
static bool parse_address(const char *text, uint64_t *address)
{
    char digits[24] = "0x";
    size_t length = 2;
    text += strspn(text, " \t\r\n");
    if (text[0] == '0' && (text[1] | 0x20) == 'x')
        text += 2;
    for (; *text && !strchr(" \t\r\n", *text); text++) {
        bool separates = (*text == '`' || *text == '_') && length > 2 && text[1] != '`' &&
                         text[1] != '_' && text[1] && !strchr(" \t\r\n", text[1]);
        if (separates)
            continue;
        if (length == 3 && digits[2] == '0') /* any number of zeros in front */
            length = 2;
        if (length + 1 == sizeof digits)
            return false;
        digits[length++] = *text;
    }
    digits[length] = 0;
    return text[strspn(text, " \t\r\n")] == 0 && clr_read_hex(digits, address);
}

/* Whether TEXT may as well be a decimal number, and another one: several digits without letters, and
 * without a zero in front, as padded addresses have. */
static bool is_ambiguous(const char *text)
{
    text += strspn(text, " \t\r\n");
    size_t digits = strspn(text, "0123456789");
    return digits > 1 && text[0] != '0' && text[digits + strspn(text + digits, " \t\r\n")] == 0;
}

static enum clr_status address(struct clr_call *call, struct clr_error *error)
{
    uint64_t number;
    int64_t whole;
    sqlite3_value *value = call->values[0];
    bool is_text = sqlite3_value_type(value) == SQLITE_TEXT;
    if (!is_text && clr_read_whole(value, &whole)) {
        sqlite3_result_int64(call->context, whole);
        return CLR_OK;
    }
    const char *text = (const char *)sqlite3_value_text(value);
    if (!text)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    if (is_text && strlen(text) == (size_t)sqlite3_value_bytes(value) &&
        parse_address(text, &number)) {
        if (is_ambiguous(text))
            return clr_fail(
                error, CLR_MISUSE, 0,
                "clr_address: '%.60s' may be decimal or hexadecimal: write 0x in front of "
                "it, or the number without quotes",
                text);
        clr_result_u64(call->context, number);
        return CLR_OK;
    }
    return clr_fail(error, CLR_MISUSE, 0,
                    "clr_address: '%.60s' is no address; write it as hexadecimal text of "
                    "at most 16 digits, as in '0x7f3a1c002a18', or as a whole number",
                    text);
}

/* --- With a dump ------------------------------------------------------------------------------ */

static enum clr_status type_name(struct clr_call *call, struct clr_error *error)
{
    struct clr_dump *dump = call->dump;
    uint64_t type = (uint64_t)call->number[0];
    uint32_t shape;
    bool walked;
    call->has_text = clr_type_valid(dump->runtime, type);
    if (!call->has_text) {
        CLR_TRY(clr_try_need(dump, CLR_PART_INDEX, call->job, &walked, error));
        call->has_text = walked && clr_heap_shape_of(dump->heap, type, &shape);
    }
    if (call->has_text)
        clr_text_put(&call->text, clr_type_name(dump->runtime, type));
    return CLR_OK;
}

/* Where this dump has no object index, there are no objects. */
static enum clr_status string_value(struct clr_call *call, struct clr_error *error)
{
    struct clr_dump *dump = call->dump;
    uint64_t type, object = (uint64_t)call->number[0];
    uint32_t number;
    bool walked;
    CLR_TRY(clr_try_need(dump, CLR_PART_INDEX, call->job, &walked, error));
    call->has_text = walked && clr_number(dump->heap, object, &number) &&
                     clr_object_type(dump->runtime, object, &type) &&
                     type == dump->runtime->string_type && type != 0 &&
                     clr_object_string_text(dump->runtime, object, &call->text);
    return CLR_OK;
}

static enum clr_status what(struct clr_call *call, struct clr_error *error)
{
    call->has_text = true;
    return clr_what(call->dump, (uint64_t)call->number[0], call->job, &call->text, error);
}

const struct clr_function clr_plain_functions[] = {
    {
        .name = "clr_version",
        .flags = CLR_WITHOUT_DUMP,
        .contract = -1,
        .call = version,
        .doc = "The version of the module.",
        .example = "SELECT clr_version()",
    },
    {
        .name = "clr_hex",
        .parameters = {{"number", CLR_NUMBER_PARAMETER, false, "A whole number.", NULL}},
        .flags = CLR_WITHOUT_DUMP,
        .contract = -1,
        .call = hex,
        .doc = "A number as an address is printed: 0x and 16 digits, unsigned.",
        .example = "SELECT clr_hex(address) FROM objects LIMIT 3",
    },
    {
        .name = "clr_address",
        .parameters = {{"text", CLR_ANY_PARAMETER, false,
                        "Hexadecimal digits as other tools print them, with 0x or without; '`' and "
                        "'_' may stand between; or a number.",
                        NULL}},
        .flags = CLR_WITHOUT_DUMP,
        .contract = -1,
        .call = address,
        .doc = "The number that a text is, as an address; an error for what is none.",
        .example = "SELECT clr_address('00007fce`9bc20e30')",
    },
    {
        .name = "clr_type_name",
        .parameters = {{"type", CLR_NUMBER_PARAMETER, false, "A MethodTable.", "types.address"}},
        .contract = CLR_CONTRACT_TYPES,
        .call = type_name,
        .doc = "The name of a type; NULL for what is none.",
        .example = "SELECT clr_type_name(type) FROM objects LIMIT 3",
    },
    {
        .name = "clr_string",
        .parameters = {{"object", CLR_NUMBER_PARAMETER, false, "A string.", "objects.address"}},
        .needs = CLR_PART_GC,
        .contract = CLR_CONTRACT_OBJECT,
        .call = string_value,
        .doc = "The text of a string; NULL for what is none.",
        .example = "SELECT clr_string(object) FROM strings LIMIT 3",
    },
    {
        .name = "clr_what",
        .parameters = {{"address", CLR_NUMBER_PARAMETER, false, "Any address of the process.",
                        NULL}},
        .contract = -1,
        .call = what,
        .doc = "One line on any address: object, type, free block, image, stack.",
        .example = "SELECT clr_what(0x7fce9bc20e3a)",
    },
    {.name = NULL},
};
