/*
 * The number of processors that a process may use, rounded up:
 *
 *   affinity            sched_getaffinity
 *   control groups v2   /proc/self/cgroup '0::PATH'; cpu.max in PATH and each folder above it:
 *                       'QUOTA PERIOD' in microseconds, QUOTA 'max' where there is no limit
 *   control groups v1   'N:cpu,cpuacct:PATH'; cpu.cfs_quota_us (-1: no limit), cpu.cfs_period_us
 *
 * In a container PATH may be the host's, while what is mounted begins at the container's own group:
 * folders that are not there are passed over, and the mount itself is the last one.
 *
 * Known from the kernel's documentation: admin-guide/cgroup-v2, scheduler/sched-bwc.
 */
#include "base/threads.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PATH = 4096, MOST_PROCESSORS = 1 << 16 };

static unsigned affinity(void)
{
    cpu_set_t sets[MOST_PROCESSORS / CPU_SETSIZE];
    int count = sched_getaffinity(0, sizeof sets, sets) == 0 ? CPU_COUNT_S(sizeof sets, sets) : 0;
    return count > 0 ? (unsigned)count : 1;
}

/* The first line of a file, without its end. */
static bool read_line(const char *root, const char *mount, const char *path, const char *name,
                      char line[MOST_PATH])
{
    char full[MOST_PATH];
    int length = snprintf(full, sizeof full, "%s/sys/fs/cgroup%s%s/%s", root, mount, path, name);
    FILE *file = length > 0 && length < MOST_PATH ? fopen(full, "re") : NULL;
    bool read = file && fgets(line, MOST_PATH, file);
    if (file)
        fclose(file);
    return read;
}

/* Makes *LIMIT what QUOTA of each PERIOD allows, if that is less. */
static void apply(long long quota, long long period, unsigned *limit)
{
    if (quota <= 0 || period <= 0)
        return;
    unsigned long long processors =
        (unsigned long long)quota / (unsigned long long)period + (quota % period != 0);
    if (processors < *limit)
        *limit = (unsigned)processors;
}

/* The group at PATH and all above it. */
static void apply_groups(const char *root, const char *mount, char *path, unsigned *limit)
{
    char line[MOST_PATH], *rest;
    for (;;) {
        size_t length = strlen(path);
        while (length > 0 && path[length - 1] == '/')
            path[--length] = 0;
        if (read_line(root, mount, path, "cpu.max", line)) {
            long long quota = strtoll(line, &rest, 10);
            apply(quota, strtoll(rest, NULL, 10), limit); /* 'max' is no number: 0 */
        } else if (read_line(root, mount, path, "cpu.cfs_quota_us", line)) {
            long long quota = strtoll(line, NULL, 10);
            if (read_line(root, mount, path, "cpu.cfs_period_us", line))
                apply(quota, strtoll(line, NULL, 10), limit);
        }
        char *slash = strrchr(path, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (; *list; list += *list == ',') {
        size_t at = strcspn(list, ",");
        if (at == length && strncmp(list, word, length) == 0)
            return true;
        list += at;
    }
    return false;
}

unsigned clr_threads(unsigned wanted, const char *root)
{
    char line[MOST_PATH], mount[MOST_PATH];
    if (wanted != 0)
        return wanted < CLR_THREADS_MAX ? wanted : CLR_THREADS_MAX;
    unsigned limit = affinity();
    if (!root)
        root = "";
    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    FILE *file = fopen(line, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'),
             *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        line[strcspn(line, "\n")] = 0;
        controllers++;
        *path++ = 0;
        if (*controllers == 0) {
            apply_groups(root, "", path, &limit);
        } else if (has_word(controllers, "cpu")) { /* mounted under its own name, or all names */
            char copy[MOST_PATH];
            strcpy(copy, path);
            apply_groups(root, "/cpu", copy, &limit);
            snprintf(mount, sizeof mount, "/%s", controllers);
            apply_groups(root, mount, path, &limit);
        }
    }
    if (file)
        fclose(file);
    return limit < 1 ? 1 : limit < CLR_THREADS_DEFAULT_MAX ? limit : CLR_THREADS_DEFAULT_MAX;
}
