#include "base/json.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/alloc.h"

enum { MAX_DEPTH = 64 };

/* Replaces comments and trailing commas by blanks: what is left is strict JSON with the same
 * positions. False when a comment does not end or nesting is deeper than MAX_DEPTH. */
static bool strip(char *text, size_t length, const char **fault)
{
    size_t comma = SIZE_MAX, depth = 0;
    char last = '['; /* what came before, blanks and comments aside */
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '"') {
            for (i++; i < length && text[i] != '"'; i++)
                if (text[i] == '\\')
                    i++;
            comma = SIZE_MAX;
            last = '"';
        } else if (c == '/' && i + 1 < length && text[i + 1] == '/') {
            while (i < length && text[i] != '\n')
                text[i++] = ' ';
        } else if (c == '/' && i + 1 < length && text[i + 1] == '*') {
            size_t end = i + 2;
            while (end + 1 < length && !(text[end] == '*' && text[end + 1] == '/'))
                end++;
            if (end + 1 >= length) {
                *fault = "a comment does not end";
                return false;
            }
            memset(text + i, ' ', end + 2 - i);
            i = end + 1;
        } else if (c == ',') {
            bool trails = last != '[' && last != '{' && last != ','; /* a value */
            comma = trails ? i : SIZE_MAX;
            last = c;
        } else if (c == '{' || c == '[') {
            comma = SIZE_MAX;
            last = c;
            if (++depth > MAX_DEPTH) {
                *fault = "nested too deeply";
                return false;
            }
        } else if (c == '}' || c == ']') {
            if (comma != SIZE_MAX)
                text[comma] = ' ';
            comma = SIZE_MAX;
            last = c;
            depth -= depth > 0;
        } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            comma = SIZE_MAX;
            last = c;
        }
    }
    return true;
}

enum clr_status clr_json_parse(const char *text, size_t length, clr_json **root,
                               struct clr_error *error)
{
    const char *fault = NULL;
    json_error_t detail;
    char *copy = clr_copy_text(text, length);
    *root = NULL;
    if (!copy)
        return clr_no_memory(error);
    if (!strip(copy, length, &fault)) {
        clr_free(copy);
        return clr_fail(error, CLR_BAD_DATA, 0, "not valid JSON: %s", fault);
    }
    *root = json_loadb(copy, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &detail);
    clr_free(copy);
    if (!*root && json_error_code(&detail) == json_error_out_of_memory)
        return clr_no_memory(error);
    if (!*root)
        return clr_fail(error, CLR_BAD_DATA, 0, "not valid JSON at byte %d: %s", detail.position,
                        detail.text);
    return CLR_OK;
}

void clr_json_destroy(clr_json *root)
{
    json_decref(root);
}

enum clr_json_kind clr_json_kind(const clr_json *value)
{
    switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_OBJECT: return CLR_JSON_OBJECT;
    case JSON_ARRAY: return CLR_JSON_ARRAY;
    case JSON_STRING: return CLR_JSON_TEXT;
    case JSON_INTEGER:
    case JSON_REAL: return CLR_JSON_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE: return CLR_JSON_BOOL;
    case JSON_NULL: break;
    }
    return CLR_JSON_NULL;
}

const clr_json *clr_json_member(const clr_json *value, const char *key)
{
    return json_is_object(value) ? json_object_get(value, key) : NULL;
}

size_t clr_json_size(const clr_json *value)
{
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

const clr_json *clr_json_element(const clr_json *value, size_t index)
{
    return json_array_get(value, index);
}

bool clr_json_next(const clr_json *object, void **iterator, const char **key,
                   const clr_json **value)
{
    /* jansson's iterators are not const, though they change nothing. */
    json_t *table = (json_t *)(uintptr_t)object;
    *iterator = *iterator ? json_object_iter_next(table, *iterator) : json_object_iter(table);
    if (!*iterator)
        return false;
    *key = json_object_iter_key(*iterator);
    *value = json_object_iter_value(*iterator);
    return true;
}

const char *clr_json_text(const clr_json *value, size_t *length)
{
    if (!json_is_string(value))
        return NULL;
    if (length)
        *length = json_string_length(value);
    return json_string_value(value);
}

static bool parse_number(const char *text, size_t length, uint64_t *number)
{
    const char *at = text, *end = text + length;
    bool negative = at < end && *at == '-';
    uint64_t value = 0, base = 10;
    at += negative;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        base = 16;
        at += 2;
    }
    if (at == end)
        return false;
    for (; at < end; at++) {
        uint64_t digit = *at >= '0' && *at <= '9'   ? (uint64_t)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (uint64_t)(*at - 'a') + 10
                         : *at >= 'A' && *at <= 'F' ? (uint64_t)(*at - 'A') + 10
                                                    : 16;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *number = negative ? 0 - value : value;
    return true;
}

bool clr_json_u64(const clr_json *value, uint64_t *number)
{
    if (json_is_integer(value)) {
        *number = (uint64_t)json_integer_value(value);
        return true;
    }
    size_t length = 0;
    const char *text = clr_json_text(value, &length);
    return text && parse_number(text, length, number);
}

bool clr_json_bool(const clr_json *value, bool *truth)
{
    if (json_is_boolean(value))
        *truth = json_is_true(value);
    else if (json_is_integer(value) && (json_integer_value(value) & ~1) == 0)
        *truth = json_integer_value(value) == 1;
    else
        return false;
    return true;
}
