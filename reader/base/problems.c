#include "base/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct clr_problems {
    struct clr_problem *rows;
    size_t count, room;
    bool incomplete, lost;
};

struct clr_problems *clr_problems_create(void)
{
    return clr_alloc(1, sizeof(struct clr_problems));
}

static void empty(struct clr_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        clr_free(problems->rows[i].message);
    clr_free(problems->rows);
    memset(problems, 0, sizeof *problems);
}

void clr_problems_destroy(struct clr_problems *problems)
{
    if (problems) {
        empty(problems);
        clr_free(problems);
    }
}

/* The list is short (one row per cause and owner); the newest row is the likeliest match. */
static struct clr_problem *find(struct clr_problems *problems, const struct clr_problem *key)
{
    for (size_t i = problems->count; i-- > 0;) {
        struct clr_problem *row = &problems->rows[i];
        if (row->owner == key->owner && row->format == key->format &&
            row->severity == key->severity && strcmp(row->area, key->area) == 0)
            return row;
    }
    return NULL;
}

static bool add_to(struct clr_problem *row, const struct clr_problem *more)
{
    row->count += more->count;
    if (__builtin_add_overflow(row->length, more->length, &row->length))
        row->length = UINT64_MAX;
    row->incomplete |= more->incomplete;
    return true;
}

static void append(struct clr_problems *problems, const struct clr_problem *key, va_list arguments)
{
    problems->incomplete |= key->incomplete;
    struct clr_problem *row = find(problems, key);
    if (row) {
        add_to(row, key);
        return;
    }
    char text[512];
    vsnprintf(text, sizeof text, key->format, arguments);
    char *message = clr_copy_text(text, strlen(text));
    if (!message || !clr_grow(&problems->rows, problems->count, &problems->room, sizeof *row)) {
        clr_free(message);
        problems->lost = true;
        return;
    }
    row = &problems->rows[problems->count++];
    *row = *key;
    row->message = message;
}

void clr_problem(struct clr_problems *problems, enum clr_severity severity, const char *area,
                 uint64_t address, uint64_t length, const char *format, ...)
{
    if (!problems)
        return;
    struct clr_problem key = {.severity = severity, .area = area, .address = address,
                              .length = length, .count = 1, .format = format};
    va_list arguments;
    va_start(arguments, format);
    append(problems, &key, arguments);
    va_end(arguments);
}

void clr_problem_of(struct clr_problems *problems, enum clr_severity severity, const char *area,
                    uint64_t owner, bool incomplete, uint64_t address, uint64_t length,
                    const char *format, ...)
{
    if (!problems)
        return;
    struct clr_problem key = {.severity = severity, .area = area, .address = address,
                              .length = length, .count = 1, .format = format, .owner = owner,
                              .incomplete = incomplete};
    va_list arguments;
    va_start(arguments, format);
    append(problems, &key, arguments);
    va_end(arguments);
}

void clr_problems_merge(struct clr_problems *into, struct clr_problems *from)
{
    if (!into || !from)
        return;
    into->incomplete |= from->incomplete;
    into->lost |= from->lost;
    for (size_t i = 0; i < from->count; i++) {
        struct clr_problem *row = find(into, &from->rows[i]);
        if (row) {
            add_to(row, &from->rows[i]);
        } else if (clr_grow(&into->rows, into->count, &into->room, sizeof *row)) {
            into->rows[into->count++] = from->rows[i];
            from->rows[i].message = NULL;
        } else {
            into->lost = true;
        }
    }
    empty(from);
}

size_t clr_problems_count(const struct clr_problems *problems)
{
    return problems->count;
}

const struct clr_problem *clr_problems_at(const struct clr_problems *problems, size_t index)
{
    return &problems->rows[index];
}

bool clr_problems_incomplete(const struct clr_problems *problems)
{
    return problems->incomplete || problems->lost;
}

bool clr_problems_lost(const struct clr_problems *problems)
{
    return problems->lost;
}
