/*
 * x86 (System V ABI, Intel386 supplement).
 */
#include <elf.h>

#include "arch/arch.h"

static const struct clr_register registers[] = {
    {"ebx", 3, 3, NULL},
    {"ecx", 1, 1, NULL},
    {"edx", 2, 2, NULL},
    {"esi", 6, 6, NULL},
    {"edi", 7, 7, NULL},
    {"ebp", 5, 5, NULL},
    {"eax", 0, 0, NULL},
    {"ds", 43, CLR_NO_NUMBER, NULL},
    {"es", 40, CLR_NO_NUMBER, NULL},
    {"fs", 44, CLR_NO_NUMBER, NULL},
    {"gs", 45, CLR_NO_NUMBER, NULL},
    {"orig_eax", CLR_NO_NUMBER, CLR_NO_NUMBER, NULL},
    {"eip", 8, CLR_NO_NUMBER, NULL},
    {"cs", 41, CLR_NO_NUMBER, NULL},
    {"eflags", 9, CLR_NO_NUMBER, NULL},
    {"esp", 4, 4, NULL},
    {"ss", 42, CLR_NO_NUMBER, NULL},
};

const struct clr_arch clr_arch_x86 = {
    .name = "x86",
    .machine = EM_386,
    .word_size = 4,
    .registers = registers,
    .register_count = sizeof registers / sizeof *registers,
    .sp = 15,
    .ip = 12,
    .fp = 5,
    .page_sizes = 0x1000,
    .data_mask = UINT32_MAX,
    .code_mask = UINT32_MAX,
    .instruction_unit = 1,
    .variable_scale = 4,
    .relative_relocation = R_386_RELATIVE,
};
