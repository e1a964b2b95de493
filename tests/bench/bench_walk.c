/*
 * Prints how long the walk of a core's heap, its index and what stands on them take.
 *
 *     bench_walk CORE [THREADS [ROUNDS]]
 *
 * Times are those of the whole step in milliseconds, the first round with a fresh mapping of the
 * file. Memory is what the process has beyond the mapped file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/threads.h"
#include "dump/dump.h"

static double milliseconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static long anonymous_kilobytes(void)
{
    char line[256];
    long kilobytes = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "RssAnon: %ld", &kilobytes) == 1)
            break;
    if (status)
        fclose(status);
    return kilobytes;
}

/* A fixed sequence of numbers that looks random. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static void bench_look_up(const struct clr_heap *heap)
{
    enum { LOOKUPS = 2000000 };
    uint64_t state = 1, sum = 0;
    uint32_t count = clr_heap_count(heap), number;
    uint64_t *addresses = clr_alloc(LOOKUPS, sizeof *addresses);
    struct clr_object_scan scan;
    struct clr_object object;
    double start;
    if (!addresses || count == 0) {
        clr_free(addresses);
        return;
    }
    start = milliseconds();
    for (int i = 0; i < LOOKUPS; i++)
        addresses[i] = clr_address(heap, (uint32_t)((uint64_t)next_random(&state) * count >> 32));
    printf("  number -> address, random  %6.1f ns\n", (milliseconds() - start) * 1e6 / LOOKUPS);
    start = milliseconds();
    for (int i = 0; i < LOOKUPS; i++)
        sum += clr_number(heap, addresses[i], &number) ? number : 0;
    printf("  address -> number, random  %6.1f ns\n", (milliseconds() - start) * 1e6 / LOOKUPS);
    clr_free(addresses);
    for (int backward = 0; backward < 2; backward++) {
        start = milliseconds();
        clr_object_scan_start(&scan, heap, 0, count, backward != 0);
        while (clr_object_scan_next(&scan, &object))
            sum += object.size;
        printf("  scan %s             %6.1f ns an object\n", backward ? "backward" : "forward ",
               (milliseconds() - start) * 1e6 / count);
    }
    printf("  checksum %llx\n", (unsigned long long)sum);
}

static int fail(const char *what, const struct clr_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->text);
    return 1;
}

static int round_of(const char *path, unsigned threads)
{
    struct clr_options options = {.threads = threads};
    struct clr_error error = {0};
    struct clr_dump *dump;
    double start = milliseconds(), opened, walked, posted;
    if (clr_dump_open(path, &options, NULL, &dump, &error) != CLR_OK)
        return fail(path, &error);
    opened = milliseconds();
    long before = anonymous_kilobytes();
    if (clr_dump_need(dump, CLR_PART_INDEX, NULL, &error) != CLR_OK) {
        clr_dump_close(dump);
        return fail("walk", &error);
    }
    walked = milliseconds();
    long with_index = anonymous_kilobytes();
    if (clr_dump_need(dump, CLR_PART_POSTINGS, NULL, &error) != CLR_OK) {
        clr_dump_close(dump);
        return fail("postings", &error);
    }
    posted = milliseconds();
    printf("%u objects, %llu bytes, %u threads\n", clr_heap_count(dump->heap),
           (unsigned long long)clr_heap_bytes(dump->heap),
           clr_threads(dump->options.threads, NULL));
    printf("  open %.1f ms, walk with index %.1f ms, postings %.1f ms\n", opened - start,
           walked - opened, posted - walked);
    printf("  memory: opened %ld kB, with index %ld kB\n", before, with_index);
    bench_look_up(dump->heap);
    clr_dump_close(dump);
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc > 3 ? atoi(argv[3]) : 3, failed = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: bench_walk CORE [THREADS [ROUNDS]]\n");
        return 2;
    }
    for (int i = 0; i < rounds && !failed; i++)
        failed = round_of(argv[1], argc > 2 ? (unsigned)atoi(argv[2]) : 0);
    return failed;
}
