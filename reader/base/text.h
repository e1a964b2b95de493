/*
 * Text: bounded building, and .NET's UTF-16 as UTF-8.
 */
#ifndef CLR_BASE_TEXT_H
#define CLR_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A growing text. After a failed allocation `failed` is set and further calls do nothing. The text
 * is terminated whenever data is not NULL. */
struct clr_text {
    char *data;
    size_t length, room;
    bool failed;
};

void clr_text_add(struct clr_text *text, const char *bytes, size_t count);
void clr_text_put(struct clr_text *text, const char *terminated);
void clr_text_char(struct clr_text *text, char c);
void clr_text_format(struct clr_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void clr_text_deinit(struct clr_text *text);
/* Empties the text and keeps its memory. */
void clr_text_clear(struct clr_text *text);

/* Appends UNITS UTF-16 code units (little endian unless SWAPPED) as UTF-8; a lone surrogate becomes
 * U+FFFD; NULs are kept. */
void clr_text_utf16(struct clr_text *text, const uint8_t *bytes, size_t units, bool swapped);

/* Appends BYTES, replacing each byte that is not part of valid UTF-8 by U+FFFD: what comes from
 * a dump must not leave as invalid text. */
void clr_text_utf8(struct clr_text *text, const uint8_t *bytes, size_t count);

#endif
