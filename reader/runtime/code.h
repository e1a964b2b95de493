/*
 * Native code: what the JIT made, what ReadyToRun images brought, stubs (contract
 * ExecutionManager).
 *
 * All of it is listed once, on first use, sorted by address; an instruction pointer is then a
 * binary search. The list lives with the runtime and belongs to the connection's thread.
 */
#ifndef CLR_RUNTIME_CODE_H
#define CLR_RUNTIME_CODE_H

#include "base/job.h"
#include "runtime/runtime.h"

enum clr_code_kind { CLR_CODE_JIT, CLR_CODE_R2R, CLR_CODE_STUB };
const char *clr_code_kind_text(enum clr_code_kind kind);

enum clr_tier { /* as the runtime numbers them, from 0; then ours */
                CLR_TIER_0,
                CLR_TIER_1,
                CLR_TIER_OSR,
                CLR_TIER_OPTIMIZED,
                CLR_TIER_0_INSTRUMENTED,
                CLR_TIER_1_INSTRUMENTED,
                CLR_TIER_R2R,
                CLR_TIER_UNKNOWN
};
const char *clr_tier_text(enum clr_tier tier); /* NULL for UNKNOWN */

struct clr_r2r;

struct clr_code {
    uint64_t start, size;        /* size 0: not known */
    uint64_t method;             /* MethodDesc; 0: a stub of no method */
    uint64_t debug_info;         /* address of the blob; 0: none (a stub's, or not saved) */
    uint64_t gc_info;            /* 0: none or not saved */
    uint64_t image_base;         /* what the RVAs of its unwind information count from */
    const struct clr_r2r *image; /* of ReadyToRun code, else NULL */
    uint32_t function;           /* ReadyToRun: number of its (first) runtime function */
    uint32_t unwind_count;       /* JIT: entries of 'RUNTIME_FUNCTION', at unwinds */
    uint64_t unwinds;
    uint64_t hot_size;  /* of the method's hot part, where offsets of cold code begin */
    uint8_t kind, tier; /* enum clr_code_kind, enum clr_tier */
    bool is_active;     /* what a call of the method runs now */
    bool is_cold;       /* the cold part of the method's code: hot_code is the other */
    uint64_t hot_code;  /* start of the hot part */
};

struct clr_code_section { /* a stretch of the address space that one code manager owns */
    uint64_t begin, end, heap, module;
    uint32_t flags;
};

struct clr_codes {
    struct clr_code *rows; /* ascending, not overlapping */
    size_t count, room;
    uint32_t *by_method; /* rows by (method, start) */
    struct clr_code_section *sections;
    size_t section_count, section_room;
};

/* Lists all code. JOB may be NULL. */
enum clr_status clr_codes_need(struct clr_runtime *runtime, struct clr_job *job,
                               const struct clr_codes **codes, struct clr_error *error);
/* The sections alone, in order of address; *LIST is freed with clr_free. */
enum clr_status clr_code_sections_read(struct clr_runtime *runtime, struct clr_job *job,
                                       struct clr_code_section **list, size_t *count,
                                       struct clr_error *error);
/* The code whose bytes hold ADDRESS, or NULL; one of unknown size holds its start alone. */
const struct clr_code *clr_code_at(const struct clr_codes *codes, uint64_t address);
/* The rows of METHOD: their places in by_method. */
size_t clr_codes_of(const struct clr_codes *codes, uint64_t method, size_t *first);
/* The one that a call runs now; NULL if there is none. */
const struct clr_code *clr_code_active(const struct clr_codes *codes, uint64_t method);
/* The section that holds ADDRESS, or NULL. */
const struct clr_code_section *clr_code_section_at(const struct clr_codes *codes, uint64_t address);

/* The offset in its method: of cold code it counts on from the hot part. */
static inline uint64_t clr_code_offset(const struct clr_code *code, uint64_t address)
{
    return address - code->start + (code->is_cold ? code->hot_size : 0);
}
/* Bytes of the method's code, both parts; 0 if not known. */
uint64_t clr_code_total(const struct clr_codes *codes, const struct clr_code *code);

#endif
