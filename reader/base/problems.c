#include "base/problems.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"

struct clr_problems {
    CLR_ARRAY(struct clr_problem) rows;
    struct clr_map once; /* what clr_problem_once reported; see is_first */
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
    clr_map_deinit(&problems->once);
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

/* A key of FORMAT and ADDRESS; of one format no two addresses have the same. Without memory a problem
 * is reported again rather than never. */
static bool is_first(struct clr_problems *problems, const char *format, uint64_t address)
{
    uint64_t key = address ^ clr_hash_number((uintptr_t)format), known;
    if (clr_map_get(&problems->once, key, &known))
        return false;
    clr_map_put(&problems->once, key, 1);
    return true;
}

static struct clr_problem make_key(enum clr_severity severity, const char *area, uint64_t owner,
                                   bool incomplete, uint64_t address, uint64_t length,
                                   const char *format)
{
    return (struct clr_problem){.severity = severity,
                                .area = area,
                                .address = address,
                                .length = length,
                                .count = 1,
                                .format = format,
                                .owner = owner,
                                .incomplete = incomplete};
}

void clr_problem_once(struct clr_problems *problems, enum clr_severity severity, const char *area,
                      bool incomplete, uint64_t address, uint64_t length, const char *format, ...)
{
    if (!problems || !is_first(problems, format, address))
        return;
    struct clr_problem key = make_key(severity, area, 0, incomplete, address, length, format);
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
    struct clr_problem key = make_key(severity, area, 0, false, address, length, format);
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
    struct clr_problem key = make_key(severity, area, owner, incomplete, address, length, format);
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
