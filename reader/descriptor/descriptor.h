/*
 * The contract descriptor: what the runtime publishes of itself. Names become numbers here.
 *
 *   locate.c      finds the structure by the exported symbol DotNetRuntimeContractDescriptor
 *   parse.c       one structure and its JSON -> types, globals, contracts
 *   merge.c       sub-descriptors and supplements into one set; precedence and conflicts
 *   supplement.c  descriptors of ours for what a runtime does not publish; which one fits
 *   anchor.c      where the names of a supplement lead in this process
 *   bind.c        names -> a struct of numbers, from a static array, once
 *
 * Precedence: the target's descriptor and its sub-descriptors (a clash between these is a conflict:
 * the first is kept, the problem reported), then the user's supplement, then a shipped one.
 * Immutable after clr_descriptor_open.
 */
#ifndef CLR_DESCRIPTOR_DESCRIPTOR_H
#define CLR_DESCRIPTOR_DESCRIPTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/process.h"

struct clr_descriptor;

/* "Not described", for offsets, sizes and global values alike. No offset or user address is this.
 */
#define CLR_ABSENT ((uint64_t)1 << 63)
static inline bool clr_has(uint64_t value)
{
    return value != CLR_ABSENT;
}

/* A runtime in the process: the image that exports the descriptor (or, for .NET 8, g_dacTable). */
struct clr_runtime_image {
    const struct clr_image *image;
    uint64_t descriptor; /* address of the structure, 0 if the image exports none */
};

/* Lists the runtimes of a process, in address order; *LIST is freed with clr_free. */
enum clr_status clr_runtimes_find(const struct clr_process *process,
                                  struct clr_runtime_image **list, size_t *count,
                                  struct clr_error *error);

/* Finds the runtime that OPTIONS asks for (the only one, if it does not), reads its descriptor and
 * all that hangs on it, and applies supplements. What fails:
 *   CLR_NO_RUNTIME   no .NET in this process
 *   CLR_FAULT        .NET is there, but what leads to its data is neither in the dump nor in a
 *                    file; the message names the file and the build id that are wanted
 *   CLR_UNSUPPORTED  a runtime that describes itself too little and that no supplement fits
 *   CLR_BAD_DATA     its descriptor makes no sense
 *   CLR_MISUSE,      the options: several runtimes and none chosen, a supplement that fails
 *   CLR_IO
 */
enum clr_status clr_descriptor_open(const struct clr_process *process,
                                    const struct clr_options *options,
                                    struct clr_problems *problems,
                                    struct clr_descriptor **descriptor, struct clr_error *error);
void clr_descriptor_close(struct clr_descriptor *descriptor);

/* The image that holds the runtime, and where the descriptor's text came from. */
const struct clr_image *clr_descriptor_image(const struct clr_descriptor *descriptor);
enum clr_descriptor_source { CLR_FROM_CORE, CLR_FROM_FILE, CLR_FROM_SUPPLEMENT };
enum clr_descriptor_source clr_descriptor_source(const struct clr_descriptor *descriptor);

/* Which family of runtimes it is. NativeAOT is recognised by the text global RuntimeFlavor or by
 * contract versions with a prefix of its own; what it publishes can be listed, but its contracts
 * are others: whoever needs them refuses in words. */
enum clr_descriptor_flavor { CLR_FLAVOR_CORECLR, CLR_FLAVOR_NATIVEAOT };
enum clr_descriptor_flavor clr_descriptor_flavor(const struct clr_descriptor *descriptor);

/* --- Rows, as the tables show them. Names are sorted; texts live with the descriptor. --------- */

struct clr_part {     /* one descriptor that was merged */
    const char *name; /* 'runtime', 'GC', a supplement's name */
    int32_t parent;   /* index of the descriptor that led here, -1 for none */
    uint64_t address; /* of the structure; 0 for a supplement */
    uint8_t pointer_size;
    bool little_endian;
    const char *version, *baseline; /* as text; NULL if not given */
    const char *json;
    size_t json_length;
};
struct clr_contract {
    const char *name, *version; /* version as text: '1', 'c1' */
    uint32_t part;
};
struct clr_global {
    const char *name, *type; /* type NULL if not given */
    const char *text;        /* of a string global, else NULL */
    uint64_t value;          /* CLR_ABSENT if it has only text. Of an indirect one: the slot's word,
                                that is the address of the runtime's variable */
    bool indirect;
    uint32_t part;
};
struct clr_described_type {
    const char *name;
    uint64_t size; /* CLR_ABSENT: indeterminate */
    uint32_t part;
    uint32_t first_field, field_count; /* in the array of fields */
};
struct clr_described_field {
    const char *name, *type; /* type of the field, NULL if not given: a hint, no more */
    uint64_t offset;
    uint32_t owner; /* index of the described type */
    uint32_t part;
};

size_t clr_descriptor_parts(const struct clr_descriptor *d, const struct clr_part **rows);
size_t clr_descriptor_contracts(const struct clr_descriptor *d, const struct clr_contract **rows);
size_t clr_descriptor_globals(const struct clr_descriptor *d, const struct clr_global **rows);
size_t clr_descriptor_types(const struct clr_descriptor *d, const struct clr_described_type **rows);
size_t clr_descriptor_fields(const struct clr_descriptor *d,
                             const struct clr_described_field **rows);

/* --- Look-up. Absence is normal and carries meaning. ------------------------------------------ */

/* Version text of a contract, NULL if it is not announced. */
const char *clr_descriptor_contract(const struct clr_descriptor *d, const char *name);
const struct clr_global *clr_descriptor_global(const struct clr_descriptor *d, const char *name);
const char *clr_descriptor_text(const struct clr_descriptor *d, const char *name);
uint64_t clr_descriptor_size(const struct clr_descriptor *d, const char *type);
uint64_t clr_descriptor_offset(const struct clr_descriptor *d, const char *type, const char *field);

/* --- bind.c: a layout is bound once, from an array ------------------------------------------- */

enum clr_binding_kind {
    CLR_FIELD,    /* offset of type.name */
    CLR_SIZE,     /* size of type; name is NULL */
    CLR_LITERAL,  /* value of a global; type is NULL */
    CLR_VARIABLE, /* address of the runtime's variable behind an indirect global */
};

/* A row: which name goes into which uint64_t of the layout struct. WIDTH, in bytes, is what a read
 * of the thing takes (0: a word; CLR_INLINE: a structure or array that starts there). It documents
 * the layout and is checked against the type name where the descriptor gives one. */
enum { CLR_INLINE = 255 };
struct clr_binding {
    uint16_t member; /* offsetof(layout, member); every member is a uint64_t */
    uint8_t kind, width;
    bool optional;
    const char *type, *name;
};

/* Ends an array of bindings. */
#define CLR_BINDINGS_END                                                                           \
    {                                                                                              \
        0, 0, 0, false, NULL, NULL                                                                 \
    }
static inline bool clr_binding_is_last(const struct clr_binding *b)
{
    return !b->type && !b->name;
}

/* Fills LAYOUT; what is absent becomes CLR_ABSENT. CLR_NOT_FOUND when a required name is absent:
 * the message names the first and the layout is filled all the same. */
enum clr_status clr_bind(const struct clr_descriptor *d, const char *contract,
                         const struct clr_binding *bindings, void *layout, struct clr_error *error);

#endif
