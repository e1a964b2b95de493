/*
 * x86-64 (System V ABI, AMD64 supplement).
 *
 *   unwind information   4 bytes, the third of which is the number of unwind codes; 2 bytes for
 *                        each; rounded up to 4; 4 bytes for the personality routine
 *   stub precode         4c 8b 15 d32  mov r10, [rip + d32]: the MethodDesc    ff 25 d32  jmp
 *   fixup precode        ff 25 d32  jmp [rip + d32]    4c 8b 15 d32  mov r10, [rip + d32]
 *   precode that swaps   90  nop    48 8b c7  mov rax, rdi    48 8b fe  mov rdi, rsi
 *   this and the return  48 8b f0  mov rsi, rax    90  nop    e9 d32  jmp; behind it the MethodDesc.
 *   buffer (.NET 8)      For delegates of static methods that return a large structure
 */
#include <elf.h>

#include "arch/arch.h"

static const struct clr_register registers[] = {
    {"r15", 15, 15, NULL},
    {"r14", 14, 14, NULL},
    {"r13", 13, 13, NULL},
    {"r12", 12, 12, NULL},
    {"rbp", 6, 5, NULL},
    {"rbx", 3, 3, NULL},
    {"r11", 11, 11, NULL},
    {"r10", 10, 10, NULL},
    {"r9", 9, 9, NULL},
    {"r8", 8, 8, NULL},
    {"rax", 0, 0, NULL},
    {"rcx", 2, 1, NULL},
    {"rdx", 1, 2, NULL},
    {"rsi", 4, 6, NULL},
    {"rdi", 5, 7, NULL},
    {"orig_rax", CLR_NO_NUMBER, CLR_NO_NUMBER, NULL},
    {"rip", 16, CLR_NO_NUMBER, NULL},
    {"cs", 51, CLR_NO_NUMBER, NULL},
    {"eflags", 49, CLR_NO_NUMBER, NULL},
    {"rsp", 7, 4, NULL},
    {"ss", 52, CLR_NO_NUMBER, NULL},
    {"fs_base", 58, CLR_NO_NUMBER, NULL},
    {"gs_base", 59, CLR_NO_NUMBER, NULL},
    {"ds", 53, CLR_NO_NUMBER, NULL},
    {"es", 50, CLR_NO_NUMBER, NULL},
    {"fs", 54, CLR_NO_NUMBER, NULL},
    {"gs", 55, CLR_NO_NUMBER, NULL},
};

static bool unwind_size(struct clr_bytes *unwind, uint64_t *size)
{
    uint64_t codes = clr_bytes_u32(unwind) >> 16 & 0xff;
    *size = ((4 + 2 * codes + 3) & ~(uint64_t)3) + 4;
    return !unwind->bad;
}

/* An instruction that uses the word at [rip + d32]; its last four bytes are d32. */
struct instruction {
    uint8_t opcode[3], opcode_size;
};
static const struct instruction load = {{0x4c, 0x8b, 0x15}, 3}, jump = {{0xff, 0x25}, 2};

static size_t size_of(const struct instruction *instruction)
{
    return (size_t)instruction->opcode_size + 4;
}

static bool is_at(const struct instruction *instruction, const uint8_t *code, size_t size,
                  size_t at)
{
    return at + size_of(instruction) <= size &&
           memcmp(code + at, instruction->opcode, instruction->opcode_size) == 0;
}

/* The instruction at the start, or behind FIRST at the start. */
static bool cell_of(const struct instruction *instruction, const struct instruction *first,
                    const uint8_t *code, size_t size, int64_t *distance)
{
    size_t at = is_at(instruction, code, size, 0) ? 0 : size_of(first);
    if (!is_at(instruction, code, size, at))
        return false;
    const uint8_t *d = code + at + instruction->opcode_size;
    uint32_t value = d[0] | (uint32_t)d[1] << 8 | (uint32_t)d[2] << 16 | (uint32_t)d[3] << 24;
    *distance = (int64_t)(at + size_of(instruction)) + (int32_t)value;
    return true;
}

static const uint8_t swap[] = {0x90, 0x48, 0x8b, 0xc7, 0x48, 0x8b,
                               0xfe, 0x48, 0x8b, 0xf0, 0x90, 0xe9};

static bool method_cell(const uint8_t *code, size_t size, int64_t *distance)
{
    if (size >= sizeof swap && memcmp(code, swap, sizeof swap) == 0) {
        *distance = sizeof swap + 4;
        return true;
    }
    return (is_at(&load, code, size, 0) || is_at(&jump, code, size, 0)) &&
           cell_of(&load, &jump, code, size, distance);
}

static bool target_cell(const uint8_t *code, size_t size, int64_t *distance)
{
    return cell_of(&jump, &load, code, size, distance);
}

const struct clr_arch clr_arch_x64 = {
    .name = "x64",
    .machine = EM_X86_64,
    .word_size = 8,
    .registers = registers,
    .register_count = sizeof registers / sizeof *registers,
    .sp = 19,
    .ip = 16,
    .fp = 4,
    .page_sizes = 0x1000,
    .data_mask = UINT64_MAX,
    .code_mask = UINT64_MAX,
    .instruction_unit = 1,
    .variable_scale = 1,
    .relative_relocation = R_X86_64_RELATIVE,
    .unwind_size = unwind_size,
    .method_cell = method_cell,
    .target_cell = target_cell,
};
