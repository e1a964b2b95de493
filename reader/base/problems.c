#include "base/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* One that was reported by clr_problem_once. */
struct once {
    const char *format; /* NULL: the place is free */
    uint64_t address;
};

struct clr_problems {
    CLR_ARRAY(struct clr_problem) rows;
    struct once *once; /* a hash table of ONCE_ROOM places, a power of two, at most 3/4 full */
    size_t once_count, once_room;
    bool incomplete, lost;
};

struct clr_problems *clr_problems_create(void)
{
    return clr_alloc(1, sizeof(struct clr_problems));
}

static void empty(struct clr_problems *problems)
{
    for (size_t i = 0; i < problems->rows.count; i++)
        clr_free(problems->rows.items[i].message);
    CLR_ARRAY_FREE(&problems->rows);
    clr_free(problems->once);
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
    for (size_t i = problems->rows.count; i-- > 0;) {
        struct clr_problem *row = &problems->rows.items[i];
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
    if (!message || !CLR_ARRAY_ADD(&problems->rows, *key)) {
        clr_free(message);
        problems->lost = true;
        return;
    }
    problems->rows.items[problems->rows.count - 1].message = message;
}

/* Where FORMAT and ADDRESS stand, or the free place where they belong. */
static struct once *once_place(struct once *table, size_t room, const char *format,
                               uint64_t address)
{
    size_t i = (size_t)clr_hash_number(address ^ clr_hash_number((uintptr_t)format)) & (room - 1);
    while (table[i].format && (table[i].format != format || table[i].address != address))
        i = (i + 1) & (room - 1);
    return &table[i];
}

/* Without memory a problem is reported again rather than never. */
static bool is_first(struct clr_problems *problems, const char *format, uint64_t address)
{
    if ((problems->once_count + 1) * 4 > problems->once_room * 3) {
        size_t room = problems->once_room ? problems->once_room * 2 : 64;
        struct once *grown = clr_alloc(room, sizeof *grown);
        if (!grown)
            return true;
        for (size_t i = 0; i < problems->once_room; i++)
            if (problems->once[i].format)
                *once_place(grown, room, problems->once[i].format, problems->once[i].address) =
                    problems->once[i];
        clr_free(problems->once);
        problems->once = grown;
        problems->once_room = room;
    }
    struct once *place = once_place(problems->once, problems->once_room, format, address);
    if (place->format)
        return false;
    *place = (struct once){format, address};
    problems->once_count++;
    return true;
}

void clr_problem_once(struct clr_problems *problems, enum clr_severity severity, const char *area,
                      bool incomplete, uint64_t address, uint64_t length, const char *format, ...)
{
    if (!problems || !is_first(problems, format, address))
        return;
    struct clr_problem key = {.severity = severity,
                              .area = area,
                              .address = address,
                              .length = length,
                              .count = 1,
                              .format = format,
                              .incomplete = incomplete};
    va_list arguments;
    va_start(arguments, format);
    append(problems, &key, arguments);
    va_end(arguments);
}

void clr_problem(struct clr_problems *problems, enum clr_severity severity, const char *area,
                 uint64_t address, uint64_t length, const char *format, ...)
{
    if (!problems)
        return;
    struct clr_problem key = {.severity = severity,
                              .area = area,
                              .address = address,
                              .length = length,
                              .count = 1,
                              .format = format};
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
    struct clr_problem key = {.severity = severity,
                              .area = area,
                              .address = address,
                              .length = length,
                              .count = 1,
                              .format = format,
                              .owner = owner,
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
    for (size_t i = 0; i < from->rows.count; i++) {
        struct clr_problem *row = find(into, &from->rows.items[i]);
        if (row) {
            add_to(row, &from->rows.items[i]);
        } else if (CLR_ARRAY_ADD(&into->rows, from->rows.items[i])) {
            from->rows.items[i].message = NULL;
        } else {
            into->lost = true;
        }
    }
    empty(from);
}

size_t clr_problems_count(const struct clr_problems *problems)
{
    return problems->rows.count;
}

const struct clr_problem *clr_problems_at(const struct clr_problems *problems, size_t index)
{
    return &problems->rows.items[index];
}

bool clr_problems_incomplete(const struct clr_problems *problems)
{
    return problems->incomplete || problems->lost;
}

bool clr_problems_lost(const struct clr_problems *problems)
{
    return problems->lost;
}
