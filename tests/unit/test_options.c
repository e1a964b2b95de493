/* Options: every name, every kind, what is refused, and lack of memory. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "options.h"

static struct clr_options parsed(const char *text)
{
    struct clr_options options;
    struct clr_error error = {0};
    memset(&options, 0xee, sizeof options);
    enum clr_status status = clr_options_parse(&options, text, &error);
    ck_assert_msg(status == CLR_OK, "%s", error.text);
    return options;
}

START_TEST(defaults)
{
    static const char *const texts[] = {NULL, "{}", " { } ", "{/* none */}"};
    struct clr_options options = parsed(texts[_i]);
    ck_assert_ptr_null(options.modules);
    ck_assert_uint_eq(options.module_count, 0);
    ck_assert_ptr_null(options.sysroot);
    ck_assert_ptr_null(options.supplement);
    ck_assert_ptr_null(options.runtime);
    ck_assert_uint_eq(options.unpack_limit, 0);
    ck_assert_uint_eq(options.threads, 0);
    ck_assert(!options.no_conservative_roots && !options.no_mmap && !options.progress);
    clr_options_deinit(&options);
}
END_TEST

START_TEST(all_names)
{
    uint64_t live = clr_alloc_live();
    struct clr_options options =
        parsed("{\"modules\": [\"/a\", \"/b c\"], \"sysroot\": \"/root\", \"threads\": 3,\n"
               " // a comment, and a comma too many\n"
               " \"runtime\": \"libcoreclr\", \"supplement\": \"/s.json\", \"unpack_limit\": "
               "\"0x100000000\", \"conservative_roots\": 0, \"mmap\": false, \"progress\": true,}");
    ck_assert_uint_eq(options.module_count, 2);
    ck_assert_str_eq(options.modules[0], "/a");
    ck_assert_str_eq(options.modules[1], "/b c");
    ck_assert_str_eq(options.sysroot, "/root");
    ck_assert_uint_eq(options.threads, 3);
    ck_assert_str_eq(options.runtime, "libcoreclr");
    ck_assert_str_eq(options.supplement, "/s.json");
    ck_assert_uint_eq(options.unpack_limit, (uint64_t)1 << 32);
    ck_assert(options.no_conservative_roots);
    ck_assert(options.no_mmap);
    ck_assert(options.progress);
    clr_options_deinit(&options);
    ck_assert_uint_eq(clr_alloc_live(), live);

    options = parsed("{\"modules\": \"/one\", \"runtime\": 1, \"conservative_roots\": true, "
                     "\"mmap\": 1, \"progress\": 0}");
    ck_assert_uint_eq(options.module_count, 1);
    ck_assert_str_eq(options.modules[0], "/one");
    ck_assert_str_eq(options.runtime, "1");
    ck_assert(!options.no_conservative_roots && !options.no_mmap && !options.progress);
    clr_options_deinit(&options);

    options = parsed("{\"modules\": []}");
    ck_assert_uint_eq(options.module_count, 0);
    clr_options_deinit(&options);
}
END_TEST

static const struct {
    const char *text, *message;
} refused[] = {
    {"{\"module\": \"/a\"}",
     "options: unknown option 'module': there are modules, sysroot, threads, runtime, supplement, "
     "unpack_limit, conservative_roots, mmap, partial_heap, progress"},
    {"{\"modules\": 1}", "options: option 'modules' must be a text or a list of texts"},
    {"{\"modules\": [\"/a\", 2]}", "'modules' must be a text or a list of texts"},
    {"{\"modules\": [\"/a\", [\"/b\"]]}", "'modules' must be a text or a list of texts"},
    {"{\"modules\": \"\"}", "'modules' must be a text or a list of texts"},
    {"{\"modules\": \"a\\u0000b\"}", "'modules' must be a text or a list of texts"},
    {"{\"sysroot\": 1}", "'sysroot' must be a text"},
    {"{\"supplement\": null}", "'supplement' must be a text"},
    {"{\"runtime\": -1}", "'runtime' must be a text or a number"},
    {"{\"runtime\": 1.5}", "'runtime' must be a text or a number"},
    {"{\"runtime\": {}}", "'runtime' must be a text or a number"},
    {"{\"threads\": \"many\"}", "'threads' must be a small number"},
    {"{\"threads\": -1}", "'threads' must be a small number"},
    {"{\"threads\": 70000}", "'threads' must be a small number"},
    {"{\"unpack_limit\": -5}", "'unpack_limit' must be a number of bytes"},
    {"{\"unpack_limit\": true}", "'unpack_limit' must be a number of bytes"},
    {"{\"mmap\": 2}", "'mmap' must be 0 or 1"},
    {"{\"mmap\": \"no\"}", "'mmap' must be 0 or 1"},
    {"{\"progress\": [1]}", "'progress' must be 0 or 1"},
    {"{\"conservative_roots\": null}", "'conservative_roots' must be 0 or 1"},
    {"[]", "options: must be a JSON object"},
    {"3", "options: not valid JSON"},
    {"", "options: not valid JSON"},
    {"{\"threads\": 1", "options: not valid JSON"},
    {"{\"threads\": 1, \"threads\": 2}", "options: not valid JSON"},
};

START_TEST(what_is_refused)
{
    struct clr_options options;
    struct clr_error error = {0};
    uint64_t live = clr_alloc_live();
    ck_assert_int_eq(clr_options_parse(&options, refused[_i].text, &error), CLR_MISUSE);
    ck_assert_int_eq(error.code, CLR_MISUSE);
    ck_assert_msg(strstr(error.text, refused[_i].message), "'%s' in '%s'", refused[_i].message,
                  error.text);
    ck_assert_ptr_null(options.modules);
    ck_assert_uint_eq(clr_alloc_live(), live);
}
END_TEST

START_TEST(no_memory)
{
    static const char text[] =
        "{\"modules\": [\"/a\", \"/b\"], \"sysroot\": \"/r\", \"runtime\": 7, "
        "\"supplement\": \"/s\"}";
    uint64_t live = clr_alloc_live();
    for (uint64_t n = 1;; n++) {
        struct clr_options options;
        struct clr_error error = {0};
        clr_alloc_fail_at(n);
        enum clr_status status = clr_options_parse(&options, text, &error);
        clr_alloc_fail_at(0);
        if (status == CLR_OK) {
            ck_assert_uint_gt(n, 5);
            clr_options_deinit(&options);
            break;
        }
        ck_assert_int_eq(status, CLR_NOMEM);
        ck_assert_uint_eq(clr_alloc_live(), live);
    }
    ck_assert_uint_eq(clr_alloc_live(), live);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *tests = tcase_create("options");
    tcase_add_loop_test(tests, defaults, 0, 4);
    tcase_add_test(tests, all_names);
    tcase_add_loop_test(tests, what_is_refused, 0, sizeof refused / sizeof *refused);
    tcase_add_test(tests, no_memory);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
