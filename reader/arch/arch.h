/*
 * What is known of a processor architecture: one row of data, in a file of its own. A new machine
 * is a new file and a word in the list of arch.c; no other code compares machine numbers.
 *
 * A register has three numbers: its place in NT_PRSTATUS (the index in `registers`), that of DWARF
 * (.eh_frame), and that of .NET (GCInfo, DebugInfo, ReadyToRun), which is the one of instructions.
 */
#ifndef CLR_ARCH_ARCH_H
#define CLR_ARCH_ARCH_H

#include "base/bytes.h"

enum { CLR_NO_NUMBER = -1 }; /* the register has none in that numbering */

struct clr_register {
    const char *name;
    int8_t dwarf, dotnet;
    const char *role; /* its name in the calling convention, where that is another; else NULL */
};

struct clr_arch {
    const char *name; /* 'x64', 'arm64', 'x86', 'arm' */
    uint16_t machine; /* e_machine */
    uint8_t word_size;
    const struct clr_register *registers; /* in the order of NT_PRSTATUS */
    uint8_t register_count;
    uint8_t sp, ip, fp;  /* indexes of the stack, instruction and frame pointer */
    uint32_t page_sizes; /* those that Linux uses: sizes are powers of two, so this is their sum */
    uint64_t data_mask;  /* the bits of a pointer that are address; the others are tags */
    uint64_t code_mask;  /* the same for return addresses, which may be signed */
    uint8_t instruction_unit;     /* GCInfo counts code in units of so many bytes */
    uint8_t variable_scale;       /* DebugInfo counts stack offsets in units of so many bytes */
    uint32_t relative_relocation; /* the ELF relocation that adds the load bias and nothing else */

    /* Bytes of the unwind information at UNWIND (8 of them are looked at), up to the GCInfo behind
     * it. False: too few bytes. NULL: not known for this machine. */
    bool (*unwind_size)(struct clr_bytes *unwind, uint64_t *size);
    /* How far from the start of CODE, a precode, the cell lies that holds its MethodDesc; the cell
     * that holds the address to which it jumps. False: no such instructions. NULL: the machine's
     * precodes are known by the runtime's own templates only. */
    bool (*method_cell)(const uint8_t *code, size_t size, int64_t *distance);
    bool (*target_cell)(const uint8_t *code, size_t size, int64_t *distance);
};

enum { CLR_PRECODE_MAX = 13 }; /* bytes of CODE that method_cell and target_cell look at */

/* The row of an ELF machine with words of WORD_SIZE bytes; NULL: not known. */
const struct clr_arch *clr_arch_find(uint16_t machine, uint8_t word_size);
/* The row at INDEX, NULL behind the last. */
const struct clr_arch *clr_arch_at(size_t index);
/* The register that .NET gives this NUMBER; NULL: none, or ARCH is NULL. */
const struct clr_register *clr_arch_register(const struct clr_arch *arch, uint32_t number);

#endif
