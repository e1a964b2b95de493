/*
 * The rows of reader/arch: numbers that collide or point at the wrong register, and the decoders of
 * unwind information and precodes on bytes written by hand.
 */
#include <check.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "core/process.h"

static const struct expected {
    uint16_t machine;
    uint8_t word;
    const char *sp, *ip, *fp;
    const char *first; /* number 0 of .NET, and number 4 */
    const char *fourth;
    int sp_dwarf;
} expected[] = {
    {EM_X86_64, 8, "rsp", "rip", "rbp", "rax", "rsp", 7},
    {EM_AARCH64, 8, "sp", "pc", "x29", "x0", "x4", 31},
    {EM_386, 4, "esp", "eip", "ebp", "eax", "esp", 4},
    {EM_ARM, 4, "sp", "pc", "r11", "r0", "r4", 13},
};

START_TEST(rows)
{
    const struct expected *e = &expected[_i];
    const struct clr_arch *arch = clr_arch_find(e->machine, e->word);
    ck_assert_ptr_nonnull(arch);
    ck_assert_str_eq(arch->registers[arch->sp].name, e->sp);
    ck_assert_str_eq(arch->registers[arch->ip].name, e->ip);
    ck_assert_str_eq(arch->registers[arch->fp].name, e->fp);
    ck_assert_int_eq(arch->registers[arch->sp].dwarf, e->sp_dwarf);
    ck_assert_str_eq(clr_arch_register(arch, 0)->name, e->first);
    ck_assert_str_eq(clr_arch_register(arch, 4)->name, e->fourth);
    ck_assert_ptr_null(clr_arch_register(arch, 0xff));
    ck_assert_ptr_null(clr_arch_register(arch, UINT32_MAX));
    ck_assert_ptr_null(clr_arch_register(NULL, 0));
    ck_assert_ptr_null(clr_arch_find(e->machine, (uint8_t)(12 - e->word)));
    /* An address of a user's program on 48 bits, on which code starts, stays as it is. */
    uint64_t address = e->word == 8 ? 0x7fff12345678 : 0x7f345678;
    ck_assert_uint_eq(address & arch->data_mask, address);
    ck_assert_uint_eq(address & arch->code_mask, address);
}
END_TEST

START_TEST(numbers_are_unique)
{
    size_t count = 0;
    for (const struct clr_arch *arch; (arch = clr_arch_at(count)); count++) {
        ck_assert_uint_le(arch->register_count, CLR_REGISTERS_MAX);
        ck_assert(arch->page_sizes & 0x1000);
        ck_assert_ptr_eq(clr_arch_find(arch->machine, arch->word_size), arch);
        for (unsigned i = 0; i < arch->register_count; i++)
            for (unsigned k = 0; k < i; k++) {
                const struct clr_register *a = &arch->registers[i], *b = &arch->registers[k];
                ck_assert_str_ne(a->name, b->name);
                ck_assert_msg(a->dwarf == CLR_NO_NUMBER || a->dwarf != b->dwarf, "%s %s %s",
                              arch->name, a->name, b->name);
                ck_assert_msg(a->dotnet == CLR_NO_NUMBER || a->dotnet != b->dotnet, "%s %s %s",
                              arch->name, a->name, b->name);
            }
    }
    ck_assert_uint_eq(count, sizeof expected / sizeof *expected);
}
END_TEST

static const struct unwind {
    uint16_t machine;
    uint32_t words[2];
    size_t count;  /* of words that are there */
    uint64_t size; /* 0: not readable */
} unwinds[] = {
    {EM_X86_64, {0x00000001}, 1, 8},
    {EM_X86_64, {0x00050a01}, 1, 20}, /* 5 codes: 14 bytes, rounded up, and the routine */
    {EM_X86_64, {0x00060a01}, 1, 20},
    {EM_X86_64, {0}, 0, 0},
    {EM_AARCH64, {1u << 27 | 2u << 22}, 1, 4 + 2 * 4 + 4 + 4},
    {EM_AARCH64, {1u << 27 | 2u << 22 | 1u << 21}, 1, 4 + 4 + 4}, /* the epilog is in the header */
    {EM_AARCH64, {0, 3u << 16 | 5u}, 2, 8 + 5 * 4 + 3 * 4 + 4},
    {EM_AARCH64, {0}, 1, 0},
};

START_TEST(unwind_sizes)
{
    const struct unwind *u = &unwinds[_i];
    const struct clr_arch *arch = clr_arch_find(u->machine, 8);
    struct clr_bytes bytes = clr_bytes(u->words, u->count * 4);
    uint64_t size = 0;
    ck_assert_int_eq(arch->unwind_size(&bytes, &size), u->size != 0);
    if (u->size)
        ck_assert_uint_eq(size, u->size);
}
END_TEST

#define LOAD(d) 0x4c, 0x8b, 0x15, d, 0xff, 0xff, 0xff
#define SWAP 0x90, 0x48, 0x8b, 0xc7, 0x48, 0x8b, 0xfe, 0x48, 0x8b, 0xf0, 0x90, 0xe9
#define JUMP(d) 0xff, 0x25, d, 0, 0, 0

static const struct precode {
    uint8_t code[CLR_PRECODE_MAX];
    size_t size;
    int64_t method, target; /* 0: none */
} precodes[] = {
    {{LOAD(0xf0), JUMP(0x20)}, 13, 7 - 16, 13 + 0x20},
    {{JUMP(0x20), LOAD(0xf0)}, 13, 13 - 16, 6 + 0x20},
    {{LOAD(0xf0), JUMP(0x20)}, 12, 7 - 16, 0}, /* cut within the jump */
    {{JUMP(0x20), LOAD(0xf0)}, 12, 0, 6 + 0x20},
    {{LOAD(0xf0), 0x90}, 8, 7 - 16, 0},
    {{0x90, JUMP(0x20)}, 13, 0, 0},
    {{SWAP}, 12, 16, 0},
    {{SWAP}, 11, 0, 0},
    {{0xff, 0x25}, 2, 0, 0},
    {{0}, 0, 0, 0},
};

START_TEST(precode_cells)
{
    const struct precode *p = &precodes[_i];
    const struct clr_arch *arch = clr_arch_find(EM_X86_64, 8);
    int64_t distance;
    ck_assert_int_eq(arch->method_cell(p->code, p->size, &distance), p->method != 0);
    if (p->method)
        ck_assert_int_eq(distance, p->method);
    ck_assert_int_eq(arch->target_cell(p->code, p->size, &distance), p->target != 0);
    if (p->target)
        ck_assert_int_eq(distance, p->target);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("arch");
    TCase *tests = tcase_create("rows");
    tcase_add_loop_test(tests, rows, 0, sizeof expected / sizeof *expected);
    tcase_add_test(tests, numbers_are_unique);
    tcase_add_loop_test(tests, unwind_sizes, 0, sizeof unwinds / sizeof *unwinds);
    tcase_add_loop_test(tests, precode_cells, 0, sizeof precodes / sizeof *precodes);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
