/*
 * arm64 (ARM IHI 0055, 0057). Linux lets programs tag the top byte of a pointer and sign return
 * addresses above their 48 bits.
 *
 *   unwind information   a word: 31-27 unwind words, 26-22 epilogs, 21 one epilog that needs no word;
 *                        where both numbers are 0 a second word has them: 23-16 and 15-0. A word for
 *                        each epilog, the unwind words, 4 bytes for the personality routine
 */
#include <elf.h>

#include "arch/arch.h"

static const struct clr_register registers[] = {
    {"x0", 0, 0, NULL},    {"x1", 1, 1, NULL},
    {"x2", 2, 2, NULL},    {"x3", 3, 3, NULL},
    {"x4", 4, 4, NULL},    {"x5", 5, 5, NULL},
    {"x6", 6, 6, NULL},    {"x7", 7, 7, NULL},
    {"x8", 8, 8, NULL},    {"x9", 9, 9, NULL},
    {"x10", 10, 10, NULL}, {"x11", 11, 11, NULL},
    {"x12", 12, 12, NULL}, {"x13", 13, 13, NULL},
    {"x14", 14, 14, NULL}, {"x15", 15, 15, NULL},
    {"x16", 16, 16, NULL}, {"x17", 17, 17, NULL},
    {"x18", 18, 18, NULL}, {"x19", 19, 19, NULL},
    {"x20", 20, 20, NULL}, {"x21", 21, 21, NULL},
    {"x22", 22, 22, NULL}, {"x23", 23, 23, NULL},
    {"x24", 24, 24, NULL}, {"x25", 25, 25, NULL},
    {"x26", 26, 26, NULL}, {"x27", 27, 27, NULL},
    {"x28", 28, 28, NULL}, {"x29", 29, 29, "fp"},
    {"x30", 30, 30, "lr"}, {"sp", 31, 31, NULL},
    {"pc", 32, 32, NULL},  {"pstate", CLR_NO_NUMBER, CLR_NO_NUMBER, NULL},
};

static bool unwind_size(struct clr_bytes *unwind, uint64_t *size)
{
    uint32_t head = clr_bytes_u32(unwind);
    uint64_t words = head >> 27, epilogs = head >> 22 & 0x1f;
    bool one_epilog = head >> 21 & 1;
    if (words == 0 && epilogs == 0) {
        uint32_t more = clr_bytes_u32(unwind);
        epilogs = more & 0xffff;
        words = more >> 16 & 0xff;
    }
    *size = unwind->at + (one_epilog ? 0 : 4 * epilogs) + 4 * words + 4;
    return !unwind->bad;
}

const struct clr_arch clr_arch_arm64 = {
    .name = "arm64",
    .machine = EM_AARCH64,
    .word_size = 8,
    .registers = registers,
    .register_count = sizeof registers / sizeof *registers,
    .sp = 31,
    .ip = 32,
    .fp = 29,
    .page_sizes = 0x1000 | 0x4000 | 0x10000,
    .data_mask = UINT64_MAX >> 8,
    .code_mask = UINT64_MAX >> 16,
    .instruction_unit = 4,
    .variable_scale = 1,
    .relative_relocation = R_AARCH64_RELATIVE,
    .unwind_size = unwind_size,
};
