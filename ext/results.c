/*
 * Values and estimates that several table files share.
 */
#include "results.h"

#include <string.h>

#include "runtime/fields.h"

void clr_result_foreign(sqlite3_context *context, const char *text)
{
    if (text)
        clr_result_foreign_bytes(context, text, strlen(text));
}

void clr_result_foreign_bytes(sqlite3_context *context, const char *text, size_t length)
{
    if (!text)
        return;
    struct clr_text valid = {0};
    clr_text_utf8(&valid, (const uint8_t *)text, length);
    if (valid.failed)
        sqlite3_result_error_nomem(context);
    else
        clr_result_copy(context, valid.data ? valid.data : "", valid.length);
    clr_text_deinit(&valid);
}

void clr_result_hex(sqlite3_context *context, const uint8_t *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char text[2 * CLR_BUILD_ID_MAX];
    if (size == 0 || size > CLR_BUILD_ID_MAX)
        return;
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    clr_result_copy(context, text, 2 * size);
}

enum clr_status clr_result_name_field(struct clr_dump *dump, const char *table,
                                      enum clr_managed_class class, unsigned field, uint64_t object,
                                      sqlite3_context *context, struct clr_error *error)
{
    struct clr_text text = {0};
    uint64_t string = 0;
    if (object == 0)
        return CLR_OK;
    const struct clr_managed *fields;
    CLR_TRY(clr_managed_of(dump, class, object, &fields, error));
    bool known = fields && clr_managed_string(dump->runtime, fields, field, object, &string, &text);
    bool failed = text.failed;
    if (known && string != 0 && !failed)
        clr_result_copy(context, text.data ? text.data : "", text.length);
    clr_text_deinit(&text);
    if (failed)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    if (!known)
        clr_problem_once(dump->problems, CLR_WARNING, table, false, object, 0,
                         "the name of object 0x%llx cannot be read", (unsigned long long)object);
    return CLR_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool clr_read_hex(const char *text, uint64_t *number)
{
    static const char blanks[] = " \t\r\n";
    uint64_t value = 0;
    text += strspn(text, blanks);
    if (text[0] != '0' || (text[1] | 0x20) != 'x' || hex_digit(text[2]) < 0)
        return false;
    for (text += 2; hex_digit(*text) >= 0; text++) {
        if (value >> 60)
            return false;
        value = value << 4 | (unsigned)hex_digit(*text);
    }
    *number = value;
    return text[strspn(text, blanks)] == 0;
}

bool clr_read_whole(sqlite3_value *value, int64_t *number)
{
    /* Text with a NUL in it is no number, which not every SQLite says. */
    if (sqlite3_value_type(value) == SQLITE_TEXT) {
        const char *text = (const char *)sqlite3_value_text(value);
        if (!text || strlen(text) != (size_t)sqlite3_value_bytes(value))
            return false;
    }
    uint64_t address;
    switch (sqlite3_value_numeric_type(value)) {
    case SQLITE_INTEGER: *number = sqlite3_value_int64(value); return true;
    case SQLITE_FLOAT: {
        double real = sqlite3_value_double(value);
        if (real < -0x1p63 || real >= 0x1p63)
            return false;
        *number = (int64_t)real;
        return (double)*number == real;
    }
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_value_text(value);
        if (!text || strlen(text) != (size_t)sqlite3_value_bytes(value) ||
            !clr_read_hex(text, &address))
            return false;
        *number = (int64_t)address;
        return true;
    }
    default: return false;
    }
}

void clr_result_value(sqlite3_context *context, const struct clr_value *value)
{
    switch (value->kind) {
    case CLR_VALUE_INTEGER: sqlite3_result_int64(context, value->integer); break;
    case CLR_VALUE_REAL: sqlite3_result_double(context, value->real); break;
    case CLR_VALUE_TEXT:
        clr_result_copy(context, value->text.data ? value->text.data : "", value->text.length);
        break;
    case CLR_VALUE_NONE:
    case CLR_VALUE_STRUCT: break;
    }
}

double clr_estimate_objects(const struct clr_dump *dump)
{
    enum { BYTES_PER_OBJECT = 64, UNKNOWN_OBJECTS = 1000000, LEAST_OBJECTS = 10000 };
    if (!dump)
        return UNKNOWN_OBJECTS;
    double objects = (double)clr_process_info(dump->process)->file_size / BYTES_PER_OBJECT;
    return objects > LEAST_OBJECTS ? objects : LEAST_OBJECTS;
}
