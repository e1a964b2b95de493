/*
 * What could not be read, kept as rows instead of failing the query or staying silent.
 *
 * Problems of one cause are one row with a count: rows are keyed by (area, message format, owner).
 * The first address is kept, lengths are summed. Area is the name of the table that suffers.
 * A list belongs to the connection's thread; workers write a list of their own, which is merged in
 * item order at the join, so that two runs give the same rows.
 */
#ifndef CLR_BASE_PROBLEMS_H
#define CLR_BASE_PROBLEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum clr_severity { CLR_INFO, CLR_WARNING, CLR_ERROR };

struct clr_problem {
    enum clr_severity severity;
    const char *area;   /* a table's name; static text */
    uint64_t address;   /* of the first, 0 if none */
    uint64_t length;    /* bytes concerned, summed */
    uint64_t count;     /* how often */
    char *message;      /* of the first */
    const char *format; /* the cause: static text, part of the key */
    uint64_t owner;     /* part of the key: a segment, module or thread; 0 if none */
    bool incomplete;    /* objects, refs or roots are not whole because of it */
};

struct clr_problems;

struct clr_problems *clr_problems_create(void); /* NULL: no memory */
void clr_problems_destroy(struct clr_problems *problems);

/* Adds one. PROBLEMS may be NULL. When memory runs out the list remembers that (clr_problems_lost). */
void clr_problem(struct clr_problems *problems, enum clr_severity severity, const char *area,
                 uint64_t address, uint64_t length, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

/* Adds one that belongs to OWNER; INCOMPLETE: something is missing from objects, refs or roots. */
void clr_problem_of(struct clr_problems *problems, enum clr_severity severity, const char *area,
                    uint64_t owner, bool incomplete, uint64_t address, uint64_t length,
                    const char *format, ...) __attribute__((format(printf, 8, 9)));

/* The same without an owner, but what has the same FORMAT and ADDRESS counts once, however often it
 * comes: for what is read again with every row that shows it. */
void clr_problem_once(struct clr_problems *problems, enum clr_severity severity, const char *area,
                      bool incomplete, uint64_t address, uint64_t length, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Appends FROM's rows, in order, adding up those with the same key; FROM is emptied. */
void clr_problems_merge(struct clr_problems *into, struct clr_problems *from);

size_t clr_problems_count(const struct clr_problems *problems);
const struct clr_problem *clr_problems_at(const struct clr_problems *problems, size_t index);
bool clr_problems_incomplete(const struct clr_problems *problems);
bool clr_problems_lost(const struct clr_problems *problems);

#endif
