/*
 * Native code where one rule alone decides: which of two active versions runs, how long ReadyToRun
 * code is behind each form of unwind information, and debug information that several methods share.
 */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask.h"
#include "core_builder.h"
#include "runtime/r2r.h"

/* --- Versions --------------------------------------------------------------------------------- */

static uint64_t offset_of(sqlite3 *db, const char *type, const char *field)
{
    return (uint64_t)ask_number(
        db, "SELECT offset FROM descriptor_fields WHERE type = %Q AND field = %Q", type, field);
}

/* The shipped dump has one method with two codes, Spin: the first, and one for its running loop.
 * Both are marked active in a copy: what runs is the one that the method's slot holds. */
START_TEST(of_two_active_codes_the_last_made_runs)
{
    enum { MOST_WORDS = 16 };
    struct patch p;
    sqlite3 *db = ask_open(CLRDB_MODULE);
    static const char spin[] =
        "SELECT group_concat(tier || is_active, ' ') FROM (SELECT * FROM native_codes WHERE method "
        "= (SELECT method FROM native_codes WHERE tier = 'osr') ORDER BY tier)";
    patch_open(&p, CLRDB_DUMPS "/ws11.core");
    ask_attach(db, p.path, "dump", NULL);
    ask_is(db, spin, " 'osr0 tier01'\n");
    uint64_t codes[2], method, node;
    codes[0] = (uint64_t)ask_number(db, "SELECT start FROM native_codes WHERE tier = 'osr'");
    method = (uint64_t)ask_number(db, "SELECT method FROM native_codes WHERE tier = 'osr'");
    codes[1] = (uint64_t)ask_number(db, "SELECT native_code FROM methods WHERE address = %lld",
                                    (long long)method);
    node = patch_get(&p, method + offset_of(db, "MethodDesc", "CodeData"), 8);
    node = patch_get(&p, node + offset_of(db, "MethodDescCodeData", "VersioningState"), 8);
    node = patch_get(&p, node + offset_of(db, "MethodDescVersioningState", "NativeCodeVersionNode"),
                     8);
    ck_assert_uint_eq(patch_get(&p, node + offset_of(db, "NativeCodeVersionNode", "NativeCode"), 8),
                      codes[0]);
    uint64_t flags = node + offset_of(db, "NativeCodeVersionNode", "Flags"), slot = method;
    for (int i = 0; i < MOST_WORDS && patch_get(&p, slot, 8) != codes[1]; i++)
        slot += 8;
    ck_assert_uint_eq(patch_get(&p, slot, 8), codes[1]);
    pairs_exec(db, "SELECT clr_detach('dump')");

    patch_put(&p, flags, patch_get(&p, flags, 4) | 1, 4);
    patch_write(&p);
    ask_attach(db, p.path, "dump", NULL);
    ask_is(db, spin, " 'osr0 tier01'\n");
    pairs_exec(db, "SELECT clr_detach('dump')");
    patch_put(&p, slot, codes[0], 8);
    patch_write(&p);
    ask_attach(db, p.path, "dump", NULL);
    ask_is(db, spin, " 'osr1 tier00'\n");
    ask_close(db);
    patch_close(&p);
}
END_TEST

/* --- ReadyToRun ------------------------------------------------------------------------------- */

/* An image of one page of functions and one of everything else, read as the file of a process. */
enum {
    BASE = 0x40000000,
    PAGE = 4096,
    FUNCTION = 8, /* bytes of {begin, unwind} */
    UNWIND = PAGE,
    DEBUG = PAGE + 1024,
    CODE = 2 * PAGE,
};
struct image {
    uint8_t bytes[2 * PAGE];
    struct clr_runtime runtime;
    struct clr_process *process;
    struct clr_problems *problems;
    struct clr_r2r r2r;
    int file;
};

static void put_u32(struct image *image, uint64_t rva, uint32_t value)
{
    memcpy(image->bytes + rva, &value, sizeof value);
}

/* FUNCTIONS of 256 bytes each; the unwind information of each is at UNWIND + 64 times its number. */
static void open_image(struct image *image, uint16_t machine, uint32_t functions)
{
    char path[CORE_PATH];
    struct clr_error error = {0};
    for (uint32_t i = 0; i < functions; i++) {
        put_u32(image, (uint64_t)i * FUNCTION, CODE + 256 * i);
        put_u32(image, (uint64_t)i * FUNCTION + 4, UNWIND + 64 * i);
    }
    struct core *core = core_create(8, false, machine);
    core_add_memory(core, BASE, image->bytes, sizeof image->bytes, sizeof image->bytes, 4);
    image->file = core_open(core, path);
    core_destroy(core);
    ck_assert_ptr_nonnull(image->problems = clr_problems_create());
    ck_assert_msg(clr_process_open(path, NULL, NULL, image->problems, &image->process, &error) ==
                      CLR_OK,
                  "%s", error.text);
    memset(&image->runtime.code, 0xff, sizeof image->runtime.code); /* nothing is described */
    image->runtime.process = image->process;
    image->runtime.problems = image->problems;
    image->runtime.word = 8;
    image->runtime.code.function_size = FUNCTION;
    image->runtime.code.function_begin = 0;
    image->runtime.code.function_unwind = 4;
    image->r2r = (struct clr_r2r){.info = BASE,
                                  .base = BASE,
                                  .begin = BASE + CODE,
                                  .end = BASE + CODE + PAGE,
                                  .functions = BASE,
                                  .function_count = functions,
                                  .first_cold = functions,
                                  .major = 18};
}

static void close_image(struct image *image)
{
    clr_process_close(image->process);
    clr_problems_destroy(image->problems);
    close(image->file);
}

static struct clr_code code_of(const struct image *image, uint32_t function)
{
    const struct clr_r2r_entry entry = {BASE + CODE + 256 * function, 1};
    struct clr_code code, cold;
    clr_r2r_code(&image->runtime, &image->r2r, &entry, &code, &cold);
    ck_assert_uint_eq(code.function, function);
    return code;
}

/* GC information of the newest format: two bits, then the length. */
static uint32_t slim(uint32_t length)
{
    return length << 2;
}

START_TEST(lengths_behind_unwind_information_of_arm64)
{
    enum { EPILOG_IN_HEADER = 1 << 21, TOO_MANY = 99 };
    static const struct {
        uint32_t words, epilogs, packed, extended;
        uint32_t gc_info; /* bytes from the unwind information */
    } forms[] = {
        {1, 0, EPILOG_IN_HEADER, 0, 12}, /* header, unwind codes, personality */
        {2, 3, EPILOG_IN_HEADER, 0, 16}, /* 3: where its unwind codes begin */
        {1, 2, 0, 0, 20},                /* two words for epilogs */
        {3, 0, 0, 0, 20},
        {0, 0, 0, 2 << 16 | 3, 32}, /* both counts in a second word */
        {0, 0, EPILOG_IN_HEADER, 1 << 16 | 5, 16},
    };
    enum { FORMS = sizeof forms / sizeof forms[0] };
    static struct image image;
    memset(&image, 0, sizeof image);
    for (uint32_t i = 0; i < FORMS; i++) {
        for (uint32_t at = 4; at < 64; at += 4) /* whatever else is taken is another length */
            put_u32(&image, UNWIND + 64 * i + at, slim(TOO_MANY));
        put_u32(&image, UNWIND + 64 * i,
                forms[i].words << 27 | forms[i].epilogs << 22 | forms[i].packed | 64);
        if (forms[i].extended)
            put_u32(&image, UNWIND + 64 * i + 4, forms[i].extended);
        put_u32(&image, UNWIND + 64 * i + forms[i].gc_info, slim(20 + i));
    }
    open_image(&image, EM_AARCH64, FORMS);
    for (uint32_t i = 0; i < FORMS; i++) {
        struct clr_code code = code_of(&image, i);
        ck_assert_uint_eq(code.gc_info, BASE + UNWIND + 64 * i + forms[i].gc_info);
        ck_assert_uint_eq(code.size, 4 * (20 + i)); /* counted in instructions */
    }
    close_image(&image);
}
END_TEST

START_TEST(lengths_behind_unwind_information_of_x64)
{
    static const struct {
        uint8_t codes;
        uint32_t gc_info;
    } forms[] = {{0, 8}, {1, 12}, {2, 12}, {3, 16}, {8, 24}};
    enum { FORMS = sizeof forms / sizeof forms[0] };
    static struct image image;
    memset(&image, 0, sizeof image);
    for (uint32_t i = 0; i < FORMS; i++) {
        put_u32(&image, UNWIND + 64 * i, 1 | (uint32_t)forms[i].codes << 16);
        put_u32(&image, UNWIND + 64 * i + forms[i].gc_info, slim(20 + i));
    }
    open_image(&image, EM_X86_64, FORMS);
    for (uint32_t i = 0; i < FORMS; i++) {
        struct clr_code code = code_of(&image, i);
        ck_assert_uint_eq(code.gc_info, BASE + UNWIND + 64 * i + forms[i].gc_info);
        ck_assert_uint_eq(code.size, 20 + i);
    }
    close_image(&image);
}
END_TEST

/* A NativeArray of two: the first element has a blob of its own, the second leads back to it. */
START_TEST(debug_information_that_two_methods_share)
{
    enum { LOW = 1, BOTH = 3, BLOB = 6, TWO_ELEMENTS = 2 << 2 };
    static struct image image;
    memset(&image, 0, sizeof image);
    uint8_t *at = image.bytes + DEBUG;
    *at++ = TWO_ELEMENTS << 1; /* varint of one byte; entries of the index have one byte */
    *at++ = 1;                 /* the index: the tree is one byte from here */
    for (int bit = 0; bit < 3; bit++)
        *at++ = LOW << 1;
    *at++ = (BOTH | (1 + 1 + BLOB) << 2) << 1; /* the second element is behind the first */
    *at++ = 0;                                 /* the first: its blob follows */
    uint64_t blob = (uint64_t)(at - image.bytes);
    at += BLOB;
    *at++ = BLOB << 1; /* the second: so far before here */
    image.r2r.debug_rva = 0;
    open_image(&image, EM_X86_64, 3);
    image.r2r.debug_rva = DEBUG;
    image.r2r.debug_size = 64;
    ck_assert_uint_eq(code_of(&image, 0).debug_info, BASE + blob);
    ck_assert_uint_eq(code_of(&image, 1).debug_info, BASE + blob);
    ck_assert_uint_eq(code_of(&image, 2).debug_info, 0); /* it has none */
    close_image(&image);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("guard_code");
    TCase *test = tcase_create("guard_code");
    tcase_set_timeout(test, 120);
    tcase_add_test(test, of_two_active_codes_the_last_made_runs);
    tcase_add_test(test, lengths_behind_unwind_information_of_arm64);
    tcase_add_test(test, lengths_behind_unwind_information_of_x64);
    tcase_add_test(test, debug_information_that_two_methods_share);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
