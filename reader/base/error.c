#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cuts an overlong text at a character, so that it stays UTF-8. */
static void close_text(struct clr_error *error, int wanted)
{
    if (wanted < (int)sizeof error->text)
        return;
    size_t end = sizeof error->text - 1;
    while (end > 0 && ((unsigned char)error->text[end - 1] & 0xc0) == 0x80)
        end--;
    if (end > 0 && (unsigned char)error->text[end - 1] >= 0xc0)
        end--;
    error->text[end] = 0;
}

enum clr_status clr_fail(struct clr_error *error, enum clr_status status, uint64_t address,
                         const char *format, ...)
{
    if (error && error->code == CLR_OK) {
        error->code = status;
        error->address = address;
        error->os_errno = 0;
        va_list arguments;
        va_start(arguments, format);
        int wanted = vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        close_text(error, wanted);
    }
    return status;
}

/* strerror_r has two forms: GNU's returns the text, POSIX's fills the room. */
static const char *gnu_reason(const char *text, const char *room)
{
    (void)room;
    return text;
}

static const char *posix_reason(int failed, const char *room)
{
    (void)failed;
    return room;
}

#define REASON(code, room)                                                                         \
    _Generic(strerror_r(code, room, sizeof(room)), char * : gnu_reason, int : posix_reason)(       \
        strerror_r(code, room, sizeof(room)), room)

enum clr_status clr_no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

enum clr_status clr_fail_errno(struct clr_error *error, const char *format, ...)
{
    int code = errno;
    if (error && error->code == CLR_OK) {
        char text[sizeof error->text], room[128] = "unknown error";
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        error->code = CLR_IO;
        error->os_errno = code;
        error->address = 0;
        close_text(error,
                   snprintf(error->text, sizeof error->text, "%s: %s", text, REASON(code, room)));
    }
    return CLR_IO;
}

void clr_error_prefix(struct clr_error *error, const char *format, ...)
{
    if (!error || error->code == CLR_OK)
        return;
    char old[sizeof error->text], front[sizeof error->text];
    memcpy(old, error->text, sizeof old);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(front, sizeof front, format, arguments);
    va_end(arguments);
    close_text(error, snprintf(error->text, sizeof error->text, "%s: %s", front, old));
}

void clr_error_clear(struct clr_error *error)
{
    memset(error, 0, sizeof *error);
}
