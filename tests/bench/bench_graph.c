/*
 * Prints how long each part of the graph of a core's heap takes to build, and what it costs.
 *
 *     bench_graph CORE [THREADS [ROUNDS]]
 *
 * Wall and processor milliseconds of each part, and the memory that the process then has beyond the
 * mapped file. A checksum of all edges in both directions stands at the end of a round: it has to
 * be the same in every round and with every number of workers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "dump/dump.h"
#include "graph/paths.h"
#include "inspect/pathtree.h"

struct moment {
    double wall, processor;
};

static double milliseconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static struct moment now(void)
{
    return (struct moment){milliseconds(CLOCK_MONOTONIC), milliseconds(CLOCK_PROCESS_CPUTIME_ID)};
}

static long kilobytes(const char *field)
{
    char line[256], format[64];
    long value = -1;
    FILE *status = fopen("/proc/self/status", "r");
    snprintf(format, sizeof format, "%s: %%ld", field);
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, format, &value) == 1)
            break;
    if (status)
        fclose(status);
    return value;
}

static void print(const char *what, struct moment start)
{
    struct moment end = now();
    printf("  %-28s %8.1f ms %8.1f ms cpu %8.1f MB\n", what, end.wall - start.wall,
           end.processor - start.processor, (double)kilobytes("RssAnon") / 1024);
}

/* A fixed sequence of numbers that looks random. */
static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 29;
    value *= 0xc4ceb9fe1a85ec53u;
    return value ^ value >> 32;
}

static uint64_t edge_sum(const struct clr_ref *ref)
{
    return mix(mix(mix(ref->source) + ref->target) + ref->address + ref->offset);
}

static uint64_t scan_forward(const struct clr_dump *dump, uint64_t *edges)
{
    struct clr_ref_scan scan;
    struct clr_ref ref;
    uint64_t sum = 0;
    clr_ref_scan_start(&scan, dump->refs, 0, clr_heap_count(dump->heap));
    for (*edges = 0; clr_ref_scan_next(&scan, &ref); ++*edges)
        sum += edge_sum(&ref);
    return sum;
}

static uint64_t scan_backward(const struct clr_dump *dump)
{
    uint64_t sum = 0;
    for (uint32_t number = 0; number < clr_heap_count(dump->heap); number++) {
        struct clr_link_scan scan;
        struct clr_ref ref;
        clr_link_scan_start(&scan, dump->links, number);
        while (clr_link_scan_next(&scan, &ref))
            sum += edge_sum(&ref);
    }
    return sum;
}

/* A path to root for each of a few random objects; the longest. */
static void bench_paths(const struct clr_dump *dump)
{
    enum { PATHS = 1000 };
    uint64_t state = 1, hops = 0;
    size_t longest = 0;
    struct moment start = now();
    for (int i = 0; i < PATHS; i++) {
        struct clr_object_path path;
        uint32_t number =
            (uint32_t)((uint64_t)next_random(&state) * clr_heap_count(dump->heap) >> 32);
        if (clr_path_shortest(dump->refs, &dump->reach, number, &path, NULL) != CLR_OK)
            continue;
        hops += path.count;
        longest = path.count > longest ? path.count : longest;
        clr_object_path_deinit(&path);
    }
    print("1,000 random paths", start);
    printf("  %-28s %8llu in all, %zu the longest\n", "  hops", (unsigned long long)hops, longest);
}

static int fail(const char *what, const struct clr_error *error)
{
    fprintf(stderr, "bench_graph: %s: %s\n", what, error->text);
    return 1;
}

static int bench(const char *path, unsigned threads, bool first)
{
    static const struct {
        const char *name;
        unsigned part;
    } parts[] = {
        {"walk and index", CLR_PART_INDEX},
        {"handles", CLR_PART_HANDLES},
        {"shapes of references", CLR_PART_REFS},
        {"reverse references", CLR_PART_REVERSE},
        {"roots", CLR_PART_ROOTS},
        {"reachability", CLR_PART_REACH},
        {"dominators", CLR_PART_DOMINATORS},
        {"dominator tree", CLR_PART_DOMINATED},
    };
    struct clr_options options = {.threads = threads};
    struct clr_error error = {0};
    struct clr_dump *dump;
    struct clr_path_tree *tree;
    struct moment start = now(), whole = start;
    if (clr_dump_open(path, &options, NULL, &dump, &error) != CLR_OK)
        return fail(path, &error);
    print("open", start);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        start = now();
        if (clr_dump_need(dump, parts[i].part, NULL, &error) != CLR_OK)
            return fail(parts[i].name, &error);
        print(parts[i].name, start);
    }
    print("all of it", whole);
    printf("  %-28s %8.1f MB at the most, the mapped file in it\n", "",
           (double)kilobytes("VmHWM") / 1024);
    bench_paths(dump);
    start = now();
    if (clr_path_tree_build(dump, NULL, &tree, &error) != CLR_OK)
        return fail("tree of paths", &error);
    print("tree of paths", start);
    printf("  %-28s %8zu nodes\n", "", tree->count);
    clr_path_tree_destroy(tree);
    uint64_t edges;
    start = now();
    uint64_t forward = scan_forward(dump, &edges);
    print("all references in order", start);
    printf("  %u objects, %llu references, %u reachable, %zu roots, checksum %016llx\n",
           clr_heap_count(dump->heap), (unsigned long long)edges, dump->reach.reached,
           dump->roots->count, (unsigned long long)forward);
    if (first) {
        start = now();
        uint64_t backward = scan_backward(dump);
        print("all references by target", start);
        if (backward != forward || edges != dump->links->ref_count) {
            fprintf(stderr, "bench_graph: the two directions differ: %016llx\n",
                    (unsigned long long)backward);
            return 1;
        }
    }
    clr_dump_close(dump);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    int rounds = argc > 3 ? atoi(argv[3]) : 1, status = 0;
    if (argc < 2) {
        fputs("usage: bench_graph CORE [THREADS [ROUNDS]]\n", stderr);
        return 2;
    }
    for (int round = 0; status == 0 && round < rounds; round++) {
        printf("round %d, %u workers\n", round + 1, threads);
        status = bench(argv[1], threads, round == 0);
    }
    return status;
}
