/*
 * The walk of the folders of option 'modules': what is listed, in which order, and where it ends.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/folders.h"

static char root[] = "/tmp/clr-folders-XXXXXX";

static const char *in_root(const char *name)
{
    static char path[8][512];
    static unsigned next;
    char *out = path[next++ % 8];
    snprintf(out, sizeof path[0], "%s/%s", root, name);
    return out;
}

static void add(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s", in_root(name));
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = 0;
        mkdir(path, 0700);
    }
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fclose(file);
}

static bool is_pdb(const void *context, const char *name)
{
    return strstr(name, context) != NULL;
}

START_TEST(listing)
{
    ck_assert_ptr_nonnull(mkdtemp(root));
    add("one/b/x.pdb");
    add("one/a/x.pdb");
    add("one/a/other.dll");
    add("one/.hidden/y.pdb");
    add("one/1/2/3/4/5/6/7/8/deep.pdb");
    add("one/1/2/3/4/5/6/7/8/9/deeper.pdb");
    add("two/x.pdb");
    ck_assert_int_eq(symlink(in_root("two"), in_root("one/link")), 0);
    char *items[] = {strdup(in_root("one")), strdup(in_root("absent")), strdup(in_root("two")),
                     strdup(in_root("one/a/other.dll"))};
    struct clr_options options = {.modules = items, .module_count = 4};
    struct clr_problems *problems = clr_problems_create();
    struct clr_folders folders = {0};
    for (unsigned again = 0; again < 2; again++)
        ck_assert_int_eq(
            clr_folders_list(&folders, &options, is_pdb, ".pdb", problems, "images", NULL), CLR_OK);

    size_t count;
    const struct clr_folder_file *files = clr_folders_find(&folders, "x.pdb", 0, &count);
    ck_assert_uint_eq(count, 3); /* not by the link */
    ck_assert_str_eq(files[0].path, in_root("one/a/x.pdb"));
    ck_assert_str_eq(files[1].path, in_root("one/b/x.pdb"));
    ck_assert_str_eq(files[2].path, in_root("two/x.pdb"));
    ck_assert_uint_eq(files[2].folder, 2);
    files = clr_folders_find(&folders, "x.pdb", 1, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(files[0].path, in_root("two/x.pdb"));
    clr_folders_find(&folders, "y.pdb", 0, &count);
    ck_assert_uint_eq(count, 1);
    clr_folders_find(&folders, "deep.pdb", 0, &count);
    ck_assert_uint_eq(count, 1);
    clr_folders_find(&folders, "deeper.pdb", 0, &count);
    ck_assert_uint_eq(count, 0);
    /* An item that is a file is taken, whatever is wanted. */
    clr_folders_find(&folders, "other.dll", 0, &count);
    ck_assert_uint_eq(count, 1);
    clr_folders_find(&folders, "", 0, &count);
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(clr_problems_count(problems), 1);
    ck_assert_ptr_nonnull(strstr(clr_problems_at(problems, 0)->message, "/absent of option"));

    clr_folders_deinit(&folders);
    clr_problems_destroy(problems);
    for (size_t i = 0; i < 4; i++)
        free(items[i]);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("folders");
    TCase *tests = tcase_create("folders");
    tcase_add_test(tests, listing);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
