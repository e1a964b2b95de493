/*
 * 32-bit ARM (ARM IHI 0042, 0040). Code is Thumb: bit 0 of a code address says so and is no part of
 * it.
 */
#include <elf.h>

#include "arch/arch.h"

static const struct clr_register registers[] = {
    {"r0", 0, 0, NULL},
    {"r1", 1, 1, NULL},
    {"r2", 2, 2, NULL},
    {"r3", 3, 3, NULL},
    {"r4", 4, 4, NULL},
    {"r5", 5, 5, NULL},
    {"r6", 6, 6, NULL},
    {"r7", 7, 7, NULL},
    {"r8", 8, 8, NULL},
    {"r9", 9, 9, NULL},
    {"r10", 10, 10, NULL},
    {"r11", 11, 11, NULL},
    {"r12", 12, 12, NULL},
    {"sp", 13, 13, NULL},
    {"lr", 14, 14, NULL},
    {"pc", 15, 15, NULL},
    {"cpsr", CLR_NO_NUMBER, CLR_NO_NUMBER, NULL},
    {"orig_r0", CLR_NO_NUMBER, CLR_NO_NUMBER, NULL},
};

const struct clr_arch clr_arch_arm = {
    .name = "arm",
    .machine = EM_ARM,
    .word_size = 4,
    .registers = registers,
    .register_count = sizeof registers / sizeof *registers,
    .sp = 13,
    .ip = 15,
    .fp = 11,
    .page_sizes = 0x1000,
    .data_mask = UINT32_MAX,
    .code_mask = UINT32_MAX & ~(uint64_t)1,
    .instruction_unit = 2,
    .variable_scale = 1,
    .relative_relocation = R_ARM_RELATIVE,
};
