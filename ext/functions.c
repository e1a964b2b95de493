/*
 * Scalar functions, beside clr_attach and clr_detach.
 *
 * Those that read a dump take the schema as a last, optional argument; without it there must be one
 * dump only. They may be used in views (INNOCUOUS): they read a dump that somebody attached, and
 * open nothing. Only those that need no dump are deterministic.
 *
 * What is an object is asked of the object index, so clr_string walks the heap on first use: memory
 * that happens to look like a string is none. A type is what its MethodTable says; one whose pages
 * were not all saved is still a type if objects have it.
 */
#include "functions.h"

#include <string.h>

#include "base/text.h"
#include "cache.h"
#include "runtime/object.h"

/* --- Without a dump --------------------------------------------------------------------------- */

static void version_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_text(context, CLR_VERSION, -1, SQLITE_STATIC);
}

/* A whole number as an address is printed: 16 digits, unsigned. What is no number gives NULL. */
static void hex_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    static const char digits[] = "0123456789abcdef";
    char text[18] = "0x";
    (void)argc;
    if (sqlite3_value_numeric_type(argv[0]) != SQLITE_INTEGER)
        return;
    uint64_t value = (uint64_t)sqlite3_value_int64(argv[0]);
    for (int i = 17; i >= 2; i--, value >>= 4)
        text[i] = digits[value & 15];
    sqlite3_result_text(context, text, sizeof text, SQLITE_TRANSIENT);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads an address as other tools print it: always hex, with or without 0x; '`' and '_' between
 * digits; space around it. */
static bool parse_address(const char *text, uint64_t *address)
{
    uint64_t value = 0;
    bool digits = false;
    text += strspn(text, " \t\r\n");
    if (text[0] == '0' && (text[1] | 0x20) == 'x')
        text += 2;
    for (; *text; text++) {
        int digit = hex_digit(*text);
        if (digit < 0 && digits && (*text == '`' || *text == '_') && hex_digit(text[1]) >= 0)
            continue;
        if (digit < 0)
            break;
        if (value >> 60)
            return false;
        value = value << 4 | (unsigned)digit;
        digits = true;
    }
    text += strspn(text, " \t\r\n");
    *address = value;
    return digits && !*text;
}

static void address_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
        sqlite3_result_value(context, argv[0]);
        return;
    }
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    uint64_t address;
    bool is_text = sqlite3_value_type(argv[0]) == SQLITE_TEXT;
    const char *text = (const char *)sqlite3_value_text(argv[0]);
    if (!text) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (is_text && strlen(text) == (size_t)sqlite3_value_bytes(argv[0]) &&
        parse_address(text, &address)) {
        sqlite3_result_int64(context, (sqlite3_int64)address);
        return;
    }
    struct clr_error error = {0};
    clr_function_fail(
        context,
        clr_fail(&error, CLR_MISUSE, 0,
                 "clr_address: '%.60s' is no address; write it as hexadecimal text of "
                 "at most 16 digits, as in '0x7f3a1c002a18', or as a whole number",
                 text),
        &error);
}

/* --- With a dump ------------------------------------------------------------------------------ */

/* The object index, or, where this dump has none, none: then there are no objects. */
static enum clr_status is_object(struct clr_call *call, uint32_t *number, bool *is,
                                 struct clr_error *error)
{
    bool walked;
    *is = false;
    CLR_TRY(clr_try_need(call->dump, CLR_PART_INDEX, call->job, &walked, error));
    *is = walked && clr_number(call->dump->heap, call->address, number);
    return CLR_OK;
}

static enum clr_status type_name(struct clr_call *call, struct clr_error *error)
{
    struct clr_dump *dump = call->dump;
    uint32_t shape;
    bool walked;
    CLR_TRY(clr_dump_need(dump, CLR_PART_RUNTIME, call->job, error));
    CLR_TRY(clr_runtime_require(dump->runtime, CLR_CONTRACT_TYPES, "clr_type_name", error));
    call->found = clr_type_valid(dump->runtime, call->address);
    if (!call->found) {
        CLR_TRY(clr_try_need(dump, CLR_PART_INDEX, call->job, &walked, error));
        call->found = walked && clr_heap_shape_of(dump->heap, call->address, &shape);
    }
    if (call->found)
        clr_text_put(&call->text, clr_type_name(dump->runtime, call->address));
    return CLR_OK;
}

static enum clr_status string_value(struct clr_call *call, struct clr_error *error)
{
    struct clr_dump *dump = call->dump;
    uint32_t number;
    uint64_t type;
    bool is;
    CLR_TRY(clr_dump_need(dump, CLR_PART_GC, call->job, error));
    CLR_TRY(clr_runtime_require(dump->runtime, CLR_CONTRACT_OBJECT, "clr_string", error));
    CLR_TRY(is_object(call, &number, &is, error));
    call->found = is && clr_object_type(dump->runtime, call->address, &type) &&
                  type == dump->runtime->string_type && type != 0 &&
                  clr_object_string_text(dump->runtime, call->address, &call->text);
    return CLR_OK;
}

static enum clr_status what(struct clr_call *call, struct clr_error *error)
{
    call->found = true;
    return clr_what(call->dump, call->address, call->job, &call->text, error);
}

/* The number that an argument is. A REAL or text that is no whole number names no address. */
static bool take_address(sqlite3_value *value, uint64_t *address)
{
    int type = sqlite3_value_numeric_type(value);
    *address = (uint64_t)sqlite3_value_int64(value);
    if (type == SQLITE_FLOAT) {
        double real = sqlite3_value_double(value);
        return real >= -0x1p63 && real < 0x1p63 && (double)(int64_t)real == real;
    }
    return type == SQLITE_INTEGER;
}

void clr_call_with_dump(sqlite3_context *context, int argc, sqlite3_value **argv, const char *name,
                        enum clr_status (*function)(struct clr_call *, struct clr_error *))
{
    struct clr_session *session = sqlite3_user_data(context);
    struct clr_open_dump *open = NULL;
    struct clr_error error = {0};
    struct clr_call call = {0};
    const char *schema = NULL;
    clr_session_sweep(session);
    if (argc > 1 && !(schema = (const char *)sqlite3_value_text(argv[1]))) {
        sqlite3_result_null(context);
        return;
    }
    enum clr_status status = clr_session_find(session, schema, &open, &error);
    if (status == CLR_OK && sqlite3_value_type(argv[0]) == SQLITE_NULL)
        return;
    if (status == CLR_OK && !take_address(argv[0], &call.address))
        status =
            clr_fail(&error, CLR_MISUSE, 0,
                     "%s: '%.60s' is no whole number; clr_address('…') reads text as an address",
                     name, (const char *)sqlite3_value_text(argv[0]));
    if (status == CLR_OK) {
        call.dump = open->dump;
        call.job = clr_session_job_begin(session, open->dump);
        status = clr_process_check(open->dump->process, &error);
        if (status == CLR_OK)
            status = function(&call, &error);
        clr_session_job_end(session, call.job);
    }
    if (status == CLR_OK && call.text.failed)
        status = CLR_NOMEM;
    if (status != CLR_OK)
        clr_function_fail(context, status, &error);
    else if (call.found)
        clr_result_copy(context, call.text.data ? call.text.data : "", call.text.length);
    clr_text_deinit(&call.text);
}

static void type_name_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    clr_call_with_dump(context, argc, argv, "clr_type_name", type_name);
}

static void string_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    clr_call_with_dump(context, argc, argv, "clr_string", string_value);
}

static void what_function(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    clr_call_with_dump(context, argc, argv, "clr_what", what);
}

/* --- Registration ----------------------------------------------------------------------------- */

enum { PURE = SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

static const struct clr_function functions[] = {
    {"clr_version", 0, PURE, version_function},
    {"clr_hex", 1, PURE, hex_function},
    {"clr_address", 1, PURE, address_function},
    {"clr_type_name", 1, SQLITE_INNOCUOUS, type_name_function},
    {"clr_type_name", 2, SQLITE_INNOCUOUS, type_name_function},
    {"clr_string", 1, SQLITE_INNOCUOUS, string_function},
    {"clr_string", 2, SQLITE_INNOCUOUS, string_function},
    {"clr_what", 1, SQLITE_INNOCUOUS, what_function},
    {"clr_what", 2, SQLITE_INNOCUOUS, what_function},
    {0},
};

void clr_unregister_function_list(sqlite3 *db, const struct clr_function *list)
{
    for (; list->name; list++)
        sqlite3_create_function_v2(db, list->name, list->arguments, SQLITE_UTF8, NULL, NULL, NULL,
                                   NULL, NULL);
}

int clr_register_function_list(sqlite3 *db, struct clr_session *session,
                               const struct clr_function *list)
{
    for (const struct clr_function *f = list; f->name; f++) {
        clr_session_retain(session);
        int code = sqlite3_create_function_v2(db, f->name, f->arguments, SQLITE_UTF8 | f->flags,
                                              session, f->call, NULL, NULL, clr_session_release);
        if (code != SQLITE_OK) {
            clr_unregister_function_list(db, list);
            return code;
        }
    }
    return SQLITE_OK;
}

int clr_register_functions(sqlite3 *db, struct clr_session *session)
{
    return clr_register_function_list(db, session, functions);
}

void clr_unregister_functions(sqlite3 *db)
{
    clr_unregister_function_list(db, functions);
}
