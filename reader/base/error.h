/*
 * What a call that can fail returns.
 *
 * Two idioms, chosen by how often the call is made:
 *   - hot leaf reads return bool and say nothing: failing reads are everyday in a partial dump;
 *   - everything else returns a status and fills a caller-owned struct clr_error. The first failure
 *     fills it, callers may prefix it; nothing is allocated, so an out-of-memory error can be reported.
 * A message says what, where (hex address) and what to do about it, in one line.
 */
#ifndef CLR_BASE_ERROR_H
#define CLR_BASE_ERROR_H

#include <stdint.h>

enum clr_status {
    CLR_OK = 0,
    CLR_NOMEM,       /* an allocation failed */
    CLR_IO,          /* the operating system refused: errno is kept */
    CLR_NOT_CORE,    /* the file is no core dump that we can read */
    CLR_NO_RUNTIME,  /* a core, but no .NET runtime was found in it */
    CLR_FAULT,       /* memory of the process that is not in the dump */
    CLR_BAD_DATA,    /* memory is there and makes no sense */
    CLR_UNSUPPORTED, /* understood, and not served by this version */
    CLR_NOT_FOUND,   /* no such object, schema, name */
    CLR_MISUSE,      /* the caller's argument or option is wrong */
    CLR_CANCELLED,   /* interrupted by the user: never a partial result */
};

struct clr_error {
    enum clr_status code;
    int os_errno;     /* for CLR_IO, else 0 */
    uint64_t address; /* of the process, 0 if none */
    char text[400];   /* UTF-8, always terminated; long texts are cut at a character */
};

/* Fills ERROR (may be NULL) unless it already has a failure; returns STATUS. */
enum clr_status clr_fail(struct clr_error *error, enum clr_status status, uint64_t address,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same for a failed system call: appends strerror(errno). */
enum clr_status clr_fail_errno(struct clr_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Memory ran out: the one wording of it. Returns CLR_NOMEM. */
enum clr_status clr_no_memory(struct clr_error *error);

/* Puts text in front of a message that is there already. */
void clr_error_prefix(struct clr_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Empties a record so that it can be used again. */
void clr_error_clear(struct clr_error *error);

/* Returns from the calling function with the status of EXPRESSION unless it is CLR_OK. */
#define CLR_TRY(expression)                                                                        \
    do {                                                                                           \
        enum clr_status clr_try_status = (expression);                                             \
        if (clr_try_status != CLR_OK)                                                              \
            return clr_try_status;                                                                 \
    } while (0)

#endif
