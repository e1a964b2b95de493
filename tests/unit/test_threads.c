/*
 * How many threads: what was asked for, the affinity of the process, and the limits of control
 * groups of both versions, read from a folder that stands for the machine's root.
 */
#include <check.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/threads.h"

static char root[] = "/tmp/clr-threads-XXXXXX";
static unsigned usable; /* without any limit of a group */

/* Writes TEXT into ROOT/PATH and makes the folders on the way. */
static void put(const char *path, const char *text)
{
    char full[512];
    int length = snprintf(full, sizeof full, "%s/%s", root, path);
    ck_assert(length > 0 && (size_t)length < sizeof full);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        mkdir(full, 0700);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    fclose(file);
}

static void setup(void)
{
    cpu_set_t set;
    strcpy(root + sizeof root - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(root));
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    usable = (unsigned)CPU_COUNT(&set);
    if (usable > CLR_THREADS_DEFAULT_MAX)
        usable = CLR_THREADS_DEFAULT_MAX;
}

static void teardown(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    ck_assert_int_eq(system(command), 0);
}

static unsigned at_most(unsigned limit)
{
    return usable < limit ? usable : limit;
}

START_TEST(asked_for)
{
    put("proc/self/cgroup", "0::/one\n");
    put("sys/fs/cgroup/one/cpu.max", "100000 100000\n");
    ck_assert_uint_eq(clr_threads(3, root), 3);
    ck_assert_uint_eq(clr_threads(CLR_THREADS_MAX + 1, root), CLR_THREADS_MAX);
    ck_assert_uint_eq(clr_threads(0, root), 1);
}
END_TEST

START_TEST(nothing_limits)
{
    cpu_set_t all, one;
    ck_assert_uint_eq(clr_threads(0, root), usable); /* no file at all */
    put("proc/self/cgroup", "0::/a\n3:cpu:/b\n");
    put("sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000\n");
    ck_assert_uint_eq(clr_threads(0, root), usable);
    ck_assert_uint_ge(clr_threads(0, NULL), 1);
    /* but the affinity */
    ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &all))
            CPU_SET(cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_uint_eq(clr_threads(0, root), 1);
    ck_assert_int_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
END_TEST

static const struct {
    const char *groups;
    const char *path, *text, *path2, *text2;
    unsigned limit;
} cases[] = {
    /* v2: the group, a parent of it, the mount itself, rounding, what is no number */
    {"0::/a/b/c\n", "cpu.max", "max 100000", "a/b/c/cpu.max", "100000 100000", 1},
    {"0::/a/b/c\n", "a/cpu.max", "50000 100000", "a/b/c/cpu.max", "400000 100000", 1},
    {"0::/host/only\n", "cpu.max", "100000 100000", "x", "", 1},
    {"0::/../..\n", "cpu.max", "90000 100000", "x", "", 1},
    {"0::/a\n", "a/cpu.max", "110000 100000", "x", "", 2},
    {"0::/a\n", "a/cpu.max", "1 100000", "x", "", 1},
    {"0::/a\n", "a/cpu.max", "100000 0", "x", "", 100},
    {"0::/a\n", "a/cpu.max", "nonsense", "x", "", 100},
    {"0::/a\n", "a/cpu.max", "", "x", "", 100},
    {"0:/a\nno line\n0::/b\n", "b/cpu.max", "100000 100000", "x", "", 1},
    /* v1: by its own name or among others; not that of other controllers */
    {"5:cpu:/a\n", "cpu/a/cpu.cfs_quota_us", "100000", "cpu/a/cpu.cfs_period_us", "100000", 1},
    {"5:cpu,cpuacct:/a\n", "cpu,cpuacct/cpu.cfs_quota_us", "50000", "cpu,cpuacct/cpu.cfs_period_us",
     "100000", 1},
    {"5:cpuacct,cpu:/a/b\n", "cpu/a/cpu.cfs_quota_us", "150000", "cpu/a/cpu.cfs_period_us",
     "100000", 2},
    {"5:cpuset:/a\n", "cpu/a/cpu.cfs_quota_us", "100000", "cpu/a/cpu.cfs_period_us", "100000", 100},
    {"5:cpu:/a\n", "cpu/a/cpu.cfs_quota_us", "100000", "x", "", 100},
};

START_TEST(groups)
{
    char path[256];
    put("proc/self/cgroup", cases[_i].groups);
    snprintf(path, sizeof path, "sys/fs/cgroup/%s", cases[_i].path);
    put(path, cases[_i].text);
    snprintf(path, sizeof path, "sys/fs/cgroup/%s", cases[_i].path2);
    put(path, cases[_i].text2);
    ck_assert_uint_eq(clr_threads(0, root), at_most(cases[_i].limit));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *c = tcase_create("threads");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, asked_for);
    tcase_add_test(c, nothing_limits);
    tcase_add_loop_test(c, groups, 0, sizeof cases / sizeof cases[0]);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
