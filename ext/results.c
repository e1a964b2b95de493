/*
 * Values and estimates that several table files share.
 */
#include "results.h"

#include <string.h>

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

double clr_rows_one(const struct clr_dump *dump)
{
    (void)dump;
    return 1;
}

double clr_rows_few(const struct clr_dump *dump)
{
    (void)dump;
    return 20;
}

double clr_rows_hundreds(const struct clr_dump *dump)
{
    (void)dump;
    return 500;
}

double clr_rows_types(const struct clr_dump *dump)
{
    (void)dump;
    return 3000;
}

double clr_rows_objects(const struct clr_dump *dump)
{
    enum { BYTES_PER_OBJECT = 64, UNKNOWN_OBJECTS = 1000000, LEAST_OBJECTS = 10000 };
    if (!dump)
        return UNKNOWN_OBJECTS;
    double objects = (double)clr_process_info(dump->process)->file_size / BYTES_PER_OBJECT;
    return objects > LEAST_OBJECTS ? objects : LEAST_OBJECTS;
}
