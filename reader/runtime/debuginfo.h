/*
 * DebugInfo: which IL each native instruction came from, and where variables live (contract
 * DebugInfo). Decoders over bytes that somebody else owns; debuginfo.c says what the formats are.
 */
#ifndef CLR_RUNTIME_DEBUGINFO_H
#define CLR_RUNTIME_DEBUGINFO_H

#include "base/bytes.h"
#include "base/text.h"
#include "runtime/code.h"

/* One form of it: a row of clr_debug_formats. The next version is a row. */
enum clr_debug_container {
    CLR_DEBUG_PAIR,   /* sizes of bounds and variables */
    CLR_DEBUG_TRIPLE, /* the same, or an escape and the size of uninstrumented bounds too */
    CLR_DEBUG_FAT,    /* slim: two sizes; fat: six */
};
struct clr_debug_format {
    const char *name; /* debug_bounds.format */
    enum clr_debug_container container;
    bool flag_byte;         /* JIT blobs begin with one, where there is on-stack replacement */
    uint8_t source_bits;    /* of a packed entry; 0: entries of nibbles, with the raw flags */
    uint8_t source_flag[3]; /* meaning of each bit: CLR_SOURCE_… */
    uint8_t slack;          /* zeros that may follow the bounds */
    bool number_first;      /* variables: the number stands before the range */
    uint8_t number_bias;    /* added to a variable's number */
    int8_t call_return;     /* number of the value that a call returned; 0: there are none */
};
enum clr_debug_format_id {
    CLR_FORMAT_NIBBLES, /* .NET 8, 9; ReadyToRun images up to version 15 */
    CLR_FORMAT_1,       /* .NET 10; images of version 16 */
    CLR_FORMAT_2,       /* early builds of .NET 11 */
    CLR_FORMAT_C1,      /* .NET 11; images of its version */
    CLR_FORMATS
};
extern const struct clr_debug_format clr_debug_formats[CLR_FORMATS];

struct clr_debug_chunk {
    size_t offset, size; /* in the blob; size 0: there is none */
};
struct clr_debug_info {
    const struct clr_debug_format *format;
    const uint8_t *bytes;
    struct clr_debug_chunk bounds, variables, uninstrumented, patchpoint, rich, async;
    size_t size; /* of the whole blob */
};

/* Splits a blob that begins at BYTES; what follows it may be there too. FLAGGED: it begins with a
 * flag byte. PATCHPOINT: size and place of the local count of a PatchpointInfo (CLR_ABSENT: not
 * known). False if it makes no sense or is longer than SIZE. */
bool clr_debug_split(const struct clr_debug_format *format, bool flagged,
                     const struct clr_debug_layout *patchpoint, const uint8_t *bytes, size_t size,
                     struct clr_debug_info *info);

/* --- Bounds --- */

enum { /* why a bound is there: the flags of the runtime's ICorDebugInfo */
       CLR_SOURCE_SEQUENCE_POINT = 0x01,
       CLR_SOURCE_STACK_EMPTY = 0x02,
       CLR_SOURCE_CALL_SITE = 0x04,
       CLR_SOURCE_END_UNKNOWN = 0x08,
       CLR_SOURCE_CALL_INSTRUCTION = 0x10,
       CLR_SOURCE_ASYNC = 0x20,
};
enum { CLR_IL_NO_MAPPING = -1, CLR_IL_PROLOG = -2, CLR_IL_EPILOG = -3 };

struct clr_bound {
    uint32_t native_offset; /* from the start of the code; cold code counts on from hot */
    int32_t il_offset;      /* or CLR_IL_… */
    uint32_t source;
};
struct clr_bounds { /* keep one and use it again: items grow */
    struct clr_bound *items;
    size_t count, room;
};
enum clr_decoded { CLR_DECODED, CLR_DECODED_BAD, CLR_DECODED_NOMEM };

/* Decodes a chunk of bounds and checks that it is used up, the writer's rounding byte aside. */
enum clr_decoded clr_bounds_decode(const struct clr_debug_format *format, const uint8_t *bytes,
                                   size_t size, struct clr_bounds *bounds);
void clr_bounds_deinit(struct clr_bounds *bounds);
/* The number of the bound that a native offset belongs to: the last one at or before it that has an
 * IL offset, else the next that has. False if there is none. */
bool clr_bounds_find(const struct clr_bounds *bounds, uint32_t native_offset, size_t *index);
/* 'stack_empty,call_instruction'; 'invalid' for none. Appends. */
void clr_source_text(uint32_t source, struct clr_text *text);

/* --- Variables --- */

enum clr_variable_kind {
    CLR_VAR_REGISTER,
    CLR_VAR_REGISTER_BYREF,
    CLR_VAR_REGISTER_FLOAT,
    CLR_VAR_STACK,
    CLR_VAR_STACK_BYREF,
    CLR_VAR_REGISTER_REGISTER,
    CLR_VAR_REGISTER_STACK,
    CLR_VAR_STACK_REGISTER,
    CLR_VAR_STACK_DOUBLE,
    CLR_VAR_FLOAT_STACK,
    CLR_VAR_FIXED,
    CLR_VAR_KINDS
};
struct clr_variable {
    uint32_t start, end; /* native offsets */
    int32_t number;      /* from 0: parameters, then locals; special ones are negative */
    enum clr_variable_kind kind;
    uint32_t register1, register2; /* of STACK kinds register1 is the base */
    int32_t offset;   /* from the base, in bytes; of FIXED and FLOAT_STACK the number */
    uint32_t call_il; /* of a value that a call returned: the IL offset of the call */
};
struct clr_variables {
    struct clr_variable *items;
    size_t count, room;
};
/* SCALE: bytes of a unit of stack offsets, 4 on x86, else 1. */
enum clr_decoded clr_variables_decode(const struct clr_debug_format *format, const uint8_t *bytes,
                                      size_t size, uint32_t scale, struct clr_variables *variables);
void clr_variables_deinit(struct clr_variables *variables);
const char *clr_variable_kind_text(enum clr_variable_kind kind);
/* 'generic_context' …: what a negative number means; NULL for none. */
const char *clr_variable_special(const struct clr_debug_format *format, int32_t number);

/* --- Chunks that are counted only --- */

/* Inlined methods and mappings in a chunk of rich information. */
bool clr_rich_counts(const uint8_t *bytes, size_t size, uint32_t *inlined, uint32_t *mappings);
/* Points where an async method is suspended, and the variables that it keeps over them. */
bool clr_async_counts(const uint8_t *bytes, size_t size, uint32_t *points, uint32_t *variables);

/* --- Of one code --- */

struct clr_debug_blob { /* zero it; keep one and use it again */
    struct clr_debug_info info;
    uint8_t *copy; /* of bytes that do not lie in one piece */
    size_t room;
};
/* *FOUND: CODE has debug info and it was split. What cannot be read is a problem of area
 * debug_bounds, once a code. */
enum clr_status clr_debug_open(struct clr_runtime *runtime, const struct clr_code *code,
                               struct clr_debug_blob *blob, bool *found, struct clr_error *error);
/* Its bounds; UNINSTRUMENTED: those of the IL before a profiler changed it, where there are any.
 * Every offset lies within the code. Bad ones are a problem, and none are given. */
enum clr_status clr_code_bounds(struct clr_runtime *runtime, const struct clr_code *code,
                                bool uninstrumented, struct clr_debug_blob *blob,
                                struct clr_bounds *bounds, struct clr_error *error);
enum clr_status clr_code_variables(struct clr_runtime *runtime, const struct clr_code *code,
                                   struct clr_debug_blob *blob, struct clr_variables *variables,
                                   struct clr_error *error);
/* The IL offset of the instruction at NATIVE_OFFSET; *FOUND false if none is known. */
enum clr_status clr_code_il_offset(struct clr_runtime *runtime, const struct clr_code *code,
                                   uint64_t native_offset, bool *found, uint32_t *il_offset,
                                   struct clr_error *error);
void clr_debug_blob_deinit(struct clr_debug_blob *blob);

#endif
