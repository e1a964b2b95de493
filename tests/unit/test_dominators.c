/*
 * Dominators and retained sizes against brute force: an object is dominated by those without which
 * it is not reached, and retains what is not reached without it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "graph/dominators.h"

struct graph {
    struct clr_edges edges;
    uint32_t n;
};

static void graph_init(struct graph *g, uint32_t n, const uint32_t (*pairs)[2], size_t m)
{
    memset(g, 0, sizeof *g);
    g->n = n;
    g->edges.offsets.count = n;
    g->edges.offsets.rest = calloc((size_t)n + 2, sizeof(uint32_t));
    g->edges.offsets.base = calloc(((size_t)n >> CLR_OFFSETS_SHIFT) + 2, sizeof(uint64_t));
    g->edges.targets = calloc(m + 1, sizeof(uint32_t));
    g->edges.target_count = m;
    uint64_t *begin = calloc((size_t)n + 2, sizeof *begin), *cursor;
    for (size_t i = 0; i < m; i++)
        begin[pairs[i][0] + 1]++;
    for (uint32_t i = 0; i < n; i++)
        begin[i + 1] += begin[i];
    for (uint32_t i = 0; i <= n; i++) {
        if ((i & 0xffff) == 0)
            g->edges.offsets.base[i >> CLR_OFFSETS_SHIFT] = begin[i];
        g->edges.offsets.rest[i] =
            (uint32_t)(begin[i] - g->edges.offsets.base[i >> CLR_OFFSETS_SHIFT]);
    }
    cursor = begin;
    for (size_t i = 0; i < m; i++)
        g->edges.targets[cursor[pairs[i][0]]++] = pairs[i][1];
    free(begin);
}

static void graph_deinit(struct graph *g)
{
    free(g->edges.offsets.rest);
    free(g->edges.offsets.base);
    free(g->edges.targets);
}

static void sizes(void *context, uint64_t *out)
{
    const struct graph *g = context;
    for (uint32_t i = 0; i < g->n; i++)
        out[i] = 24 + 8 * (i % 5);
}

/* Marks what ROOTS reach without passing REMOVED, staying out of FORBIDDEN. */
static void reach(const struct graph *g, const uint32_t *roots, size_t count, uint32_t removed,
                  const bool *forbidden, bool *seen)
{
    uint32_t *stack = malloc(((size_t)g->n + 1) * sizeof *stack), top = 0;
    for (size_t i = 0; i < count; i++)
        if (roots[i] != removed && !seen[roots[i]] && !(forbidden && forbidden[roots[i]])) {
            seen[roots[i]] = true;
            stack[top++] = roots[i];
        }
    while (top) {
        uint32_t v = stack[--top];
        for (uint64_t e = clr_offset_at(&g->edges.offsets, v);
             e < clr_offset_at(&g->edges.offsets, v + 1); e++) {
            uint32_t t = g->edges.targets[e];
            if (t != removed && !seen[t] && !(forbidden && forbidden[t])) {
                seen[t] = true;
                stack[top++] = t;
            }
        }
    }
    free(stack);
}

static void check_graph(struct graph *g, const struct clr_root_numbers *roots)
{
    enum { MOST = 64 };
    uint32_t n = g->n;
    bool first[MOST] = {0}, all[MOST] = {0};
    ck_assert_uint_le(n, MOST);
    reach(g, roots->first, roots->first_count, UINT32_MAX, NULL, first);
    memcpy(all, first, sizeof all);
    bool second[MOST] = {0};
    reach(g, roots->second, roots->second_count, UINT32_MAX, first, second);
    for (uint32_t i = 0; i < n; i++)
        all[i] = first[i] || second[i];

    struct clr_dominators d;
    struct clr_error error = {0};
    ck_assert_int_eq(clr_dominators_build(&g->edges, roots, sizes, g, NULL, &d, &error), CLR_OK);
    uint64_t size[MOST];
    sizes(g, size);
    for (uint32_t v = 0; v < n; v++) {
        if (!all[v]) {
            ck_assert_uint_eq(d.dominator[v], CLR_UNREACHED);
            ck_assert_uint_eq(d.retained_size[v], 0);
            continue;
        }
        bool left1[MOST] = {0}, left2[MOST] = {0};
        reach(g, roots->first, roots->first_count, v, NULL, left1);
        reach(g, roots->second, roots->second_count, v, first, left2);
        uint64_t retained = 0;
        uint32_t count = 0;
        for (uint32_t u = 0; u < n; u++)
            if (all[u] && !left1[u] && !left2[u]) {
                retained += size[u];
                count++;
            }
        ck_assert_uint_eq(d.retained_size[v], retained);
        ck_assert_uint_eq(d.retained_count[v], count);
        /* The immediate dominator is the strict dominator that retains least. */
        uint32_t idom = CLR_DOMINATED_BY_ROOTS, least = UINT32_MAX;
        for (uint32_t u = 0; u < n; u++) {
            if (u == v || !all[u])
                continue;
            bool without1[MOST] = {0}, without2[MOST] = {0};
            reach(g, roots->first, roots->first_count, u, NULL, without1);
            reach(g, roots->second, roots->second_count, u, first, without2);
            if (!without1[v] && !without2[v] && d.retained_count[u] < least) {
                least = d.retained_count[u];
                idom = u + 1;
            }
        }
        ck_assert_uint_eq(d.dominator[v], idom);
    }
    clr_dominators_deinit(&d);
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

START_TEST(random_graphs)
{
    uint64_t state = 42;
    for (int round = 0; round < 1500; round++) {
        uint32_t n = 1 + next_random(&state) % 24;
        uint32_t m = next_random(&state) % (3 * n + 1), pairs[128][2], first[8], second[8];
        for (uint32_t i = 0; i < m; i++) {
            pairs[i][0] = next_random(&state) % n;
            pairs[i][1] = next_random(&state) % n; /* self loops and doubles too */
        }
        struct clr_root_numbers roots = {first, next_random(&state) % 4, second,
                                         next_random(&state) % 3};
        for (size_t i = 0; i < roots.first_count; i++)
            first[i] = next_random(&state) % n;
        for (size_t i = 0; i < roots.second_count; i++)
            second[i] = next_random(&state) % n;
        struct graph g;
        graph_init(&g, n, (const uint32_t(*)[2])pairs, m);
        check_graph(&g, &roots);
        graph_deinit(&g);
    }
}
END_TEST

START_TEST(shapes_by_hand)
{
    /* A diamond with a tail; a cycle; a part that only a conservative root holds and that points
     * into the first. */
    const uint32_t pairs[][2] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}, {3, 4},
                                 {4, 3}, {5, 6}, {6, 5}, {7, 3}, {7, 8}};
    const uint32_t first[] = {0}, second[] = {7, 0};
    struct clr_root_numbers roots = {first, 1, second, 2};
    struct graph g;
    graph_init(&g, 9, pairs, 10);
    check_graph(&g, &roots);
    struct clr_dominators d;
    ck_assert_int_eq(clr_dominators_build(&g.edges, &roots, sizes, &g, NULL, &d, NULL), CLR_OK);
    ck_assert_uint_eq(d.dominator[3], 0 + 1); /* not shared with 7 */
    ck_assert_uint_eq(d.dominator[0], CLR_DOMINATED_BY_ROOTS);
    ck_assert_uint_eq(d.retained_count[0], 5);
    ck_assert_uint_eq(d.dominator[5], CLR_UNREACHED);
    ck_assert_uint_eq(d.retained_count[7], 2);
    clr_dominators_deinit(&d);
    graph_deinit(&g);
}
END_TEST

static void build_large(uint32_t n, uint32_t (*pairs)[2], size_t m, uint32_t root,
                        struct clr_dominators *d)
{
    struct graph g;
    graph_init(&g, n, (const uint32_t(*)[2])pairs, m);
    struct clr_root_numbers roots = {&root, 1, NULL, 0};
    struct clr_job job = {.threads = 2}; /* both clear the memory */
    ck_assert_int_eq(clr_dominators_build(&g.edges, &roots, sizes, &g, &job, d, NULL), CLR_OK);
    graph_deinit(&g);
    free(pairs);
}

START_TEST(long_chain_and_wide_star)
{
    enum { N = 3000000 };
    uint32_t(*pairs)[2] = malloc(N * sizeof *pairs);
    for (uint32_t i = 0; i + 1 < N; i++) {
        pairs[i][0] = i;
        pairs[i][1] = i + 1;
    }
    struct clr_dominators d;
    build_large(N, pairs, N - 1, 0, &d);
    ck_assert_uint_eq(d.retained_count[0], N);
    ck_assert_uint_eq(d.retained_count[N - 1], 1);
    ck_assert_uint_eq(d.dominator[N - 1], N - 2 + 1);
    clr_dominators_deinit(&d);

    pairs = malloc(N * sizeof *pairs);
    for (uint32_t i = 0; i + 1 < N; i++) {
        pairs[i][0] = 0;
        pairs[i][1] = i + 1;
    }
    build_large(N, pairs, N - 1, 0, &d);
    ck_assert_uint_eq(d.retained_count[0], N);
    ck_assert_uint_eq(d.dominator[N - 1], 0 + 1);
    clr_dominators_deinit(&d);
}
END_TEST

/* A linked list, and an array of the same items: algorithms without path compression take hours. */
START_TEST(list_and_set_of_the_same_items)
{
    enum { ITEMS = 500000, N = ITEMS + 2 };
    uint32_t(*pairs)[2] = malloc((2 * ITEMS + 2) * sizeof *pairs);
    size_t m = 0;
    pairs[m][0] = 0, pairs[m++][1] = 1;
    pairs[m][0] = 0, pairs[m++][1] = 2;
    for (uint32_t i = 0; i + 1 < ITEMS; i++, m++) {
        pairs[m][0] = i + 2;
        pairs[m][1] = i + 3;
    }
    for (uint32_t i = 0; i < ITEMS; i++, m++) {
        pairs[m][0] = 1;
        pairs[m][1] = i + 2;
    }
    struct clr_dominators d;
    build_large(N, pairs, m, 0, &d);
    for (uint32_t i = 0; i < ITEMS; i++)
        ck_assert_uint_eq(d.dominator[i + 2], 0 + 1);
    ck_assert_uint_eq(d.retained_count[0], N);
    clr_dominators_deinit(&d);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    const uint32_t pairs[][2] = {{0, 1}, {1, 2}, {0, 2}};
    const uint32_t first[] = {0};
    struct clr_root_numbers roots = {first, 1, NULL, 0};
    struct graph g;
    graph_init(&g, 3, pairs, 3);
    uint64_t live = clr_alloc_live();
    for (uint64_t n = 1;; n++) {
        struct clr_dominators d;
        struct clr_error error = {0};
        clr_alloc_fail_at(n);
        enum clr_status status =
            clr_dominators_build(&g.edges, &roots, sizes, &g, NULL, &d, &error);
        clr_alloc_fail_at(0);
        if (status == CLR_OK) {
            ck_assert_uint_gt(n, 5);
            clr_dominators_deinit(&d);
            break;
        }
        ck_assert_int_eq(status, CLR_NOMEM);
        ck_assert_uint_eq(clr_alloc_live(), live);
    }
    ck_assert_uint_eq(clr_alloc_live(), live);
    graph_deinit(&g);
}
END_TEST

static bool stop(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context, (void)what, (void)done, (void)total;
    return false;
}

START_TEST(can_be_cancelled)
{
    enum { N = 200000 };
    uint32_t(*pairs)[2] = malloc(N * sizeof *pairs), root = 0;
    for (uint32_t i = 0; i + 1 < N; i++) {
        pairs[i][0] = i;
        pairs[i][1] = i + 1;
    }
    struct graph g;
    graph_init(&g, N, (const uint32_t(*)[2])pairs, N - 1);
    struct clr_root_numbers roots = {&root, 1, NULL, 0};
    struct clr_job job = {.poll = stop};
    struct clr_dominators d;
    struct clr_error error = {0};
    uint64_t live = clr_alloc_live();
    ck_assert_int_eq(clr_dominators_build(&g.edges, &roots, sizes, &g, &job, &d, &error),
                     CLR_CANCELLED);
    ck_assert_uint_eq(clr_alloc_live(), live);
    graph_deinit(&g);
    free(pairs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dominators");
    TCase *tests = tcase_create("dominators");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, random_graphs);
    tcase_add_test(tests, shapes_by_hand);
    tcase_add_test(tests, long_chain_and_wide_star);
    tcase_add_test(tests, list_and_set_of_the_same_items);
    tcase_add_test(tests, every_allocation_may_fail);
    tcase_add_test(tests, can_be_cancelled);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
