#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static bool reserve(struct clr_text *text, size_t more)
{
    size_t wanted;
    if (text->failed || __builtin_add_overflow(text->length, more, &wanted) ||
        __builtin_add_overflow(wanted, 1, &wanted)) {
        text->failed = true;
        return false;
    }
    if (wanted <= text->room)
        return true;
    size_t room = text->room ? text->room : 64;
    while (room < wanted)
        room = room > SIZE_MAX / 2 ? wanted : room * 2;
    char *grown = clr_realloc(text->data, room, 1);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->data = grown;
    text->room = room;
    return true;
}

void clr_text_add(struct clr_text *text, const char *bytes, size_t count)
{
    if (!reserve(text, count))
        return;
    if (count)
        memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = 0;
}

void clr_text_put(struct clr_text *text, const char *terminated)
{
    clr_text_add(text, terminated, strlen(terminated));
}

void clr_text_char(struct clr_text *text, char c)
{
    clr_text_add(text, &c, 1);
}

void clr_text_format(struct clr_text *text, const char *format, ...)
{
    char part[256];
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int wanted = vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    if (wanted >= 0 && (size_t)wanted < sizeof part) {
        clr_text_add(text, part, (size_t)wanted);
    } else if (wanted >= 0 && reserve(text, (size_t)wanted)) {
        vsnprintf(text->data + text->length, (size_t)wanted + 1, format, again);
        text->length += (size_t)wanted;
    }
    va_end(again);
}

void clr_text_deinit(struct clr_text *text)
{
    clr_free(text->data);
    memset(text, 0, sizeof *text);
}

void clr_text_clear(struct clr_text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->data)
        text->data[0] = 0;
}

static size_t encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((c >> 6) & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static uint32_t unit_at(const uint8_t *bytes, size_t i, bool swapped)
{
    uint16_t unit;
    memcpy(&unit, bytes + 2 * i, 2);
    return swapped ? __builtin_bswap16(unit) : unit;
}

void clr_text_utf16(struct clr_text *text, const uint8_t *bytes, size_t units, bool swapped)
{
    size_t most;
    if (__builtin_mul_overflow(units, 3, &most)) {
        text->failed = true;
        return;
    }
    if (!reserve(text, most)) /* a unit takes 3 bytes at most: a pair takes 4 for two units */
        return;
    for (size_t i = 0; i < units; i++) {
        uint32_t c = unit_at(bytes, i, swapped);
        if (c >= 0xd800 && c < 0xdc00 && i + 1 < units) {
            uint32_t low = unit_at(bytes, i + 1, swapped);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i++;
            }
        }
        if (c >= 0xd800 && c < 0xe000)
            c = 0xfffd;
        text->length += encode(c, text->data + text->length);
    }
    text->data[text->length] = 0;
}

/* Length of the valid UTF-8 sequence at BYTES, 0 if there is none. */
static size_t sequence(const uint8_t *b, size_t left)
{
    if (b[0] < 0x80)
        return 1;
    size_t size = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
    if (b[0] < 0xc2 || b[0] > 0xf4 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] >= 0xa0) ||
        (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] >= 0x90))
        return 0;
    return size;
}

void clr_text_utf8(struct clr_text *text, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0, size; i < count; i += size) {
        size = sequence(bytes + i, count - i);
        if (size) {
            clr_text_add(text, (const char *)bytes + i, size);
        } else {
            clr_text_put(text, "\xef\xbf\xbd");
            size = 1;
        }
    }
}
