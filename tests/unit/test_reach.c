/*
 * Reachability, distances and parents over fake heaps: against a search of the test's own, and on
 * the shapes that readers get wrong.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "heap_graph.h"

enum { DEPENDENT = 6 };

static struct heap_graph g;

static uint32_t distance(uint64_t object)
{
    return clr_reach_distance(&g.dump->reach, graph_number(&g, object));
}

/* The slot of the edge that leads to the object. */
static uint64_t parent_slot(uint64_t object)
{
    return clr_edge_address(g.dump->refs,
                            clr_wide_get(&g.dump->reach.parent, graph_number(&g, object)));
}

static uint64_t root_slot(uint64_t object)
{
    return g.dump->roots->rows[clr_wide_get(&g.dump->reach.parent, graph_number(&g, object))]
        .address;
}

START_TEST(distances)
{
    graph_create(&g, NULL);
    uint64_t a = graph_node(&g), b = graph_node(&g), c = graph_node(&g), d = graph_node(&g);
    uint64_t alone = graph_node(&g), other = graph_node(&g), self = graph_node(&g);
    graph_link(&g, a, 0, b);
    graph_link(&g, b, 0, c);
    graph_link(&g, a, 1, c);
    graph_link(&g, c, 0, d);
    graph_link(&g, d, 0, a); /* a cycle */
    graph_link(&g, alone, 0, other);
    graph_link(&g, other, 0, alone);
    graph_link(&g, other, 1, a);
    graph_link(&g, self, 0, self);
    graph_root(&g, a);
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(distance(a), 0);
    ck_assert_uint_eq(distance(b), 1);
    ck_assert_uint_eq(distance(c), 1);
    ck_assert_uint_eq(distance(d), 2);
    ck_assert_uint_eq(distance(alone), CLR_UNREACHED);
    ck_assert_uint_eq(distance(other), CLR_UNREACHED);
    ck_assert_uint_eq(distance(self), CLR_UNREACHED);
    ck_assert_uint_eq(g.dump->reach.reached, 4);
    ck_assert_uint_eq(parent_slot(c), graph_slot(&g, a, 1));
    graph_close(&g);
}
END_TEST

START_TEST(ties_go_to_the_lower_slot)
{
    graph_create(&g, NULL);
    /* FAR lies behind NEAR but is reached first: its root's slot is lower. */
    uint64_t target = graph_leaf(&g), near = graph_node(&g), far = graph_node(&g);
    uint64_t twice = graph_leaf(&g);
    uint64_t first = graph_root(&g, far), second = graph_root(&g, near);
    uint64_t again = graph_root(&g, far);
    ck_assert_uint_lt(first, second);
    ck_assert_uint_lt(second, again);
    graph_link(&g, near, 2, target);
    graph_link(&g, far, 0, target);
    graph_link(&g, far, 2, twice);
    graph_link(&g, far, 1, twice);
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(parent_slot(target), graph_slot(&g, near, 2));
    ck_assert_uint_eq(parent_slot(twice), graph_slot(&g, far, 1));
    ck_assert_uint_eq(root_slot(far), first);
    graph_close(&g);
}
END_TEST

/* The key has no references of its own, as in a ConditionalWeakTable with plain objects as keys. */
START_TEST(a_dependent_value_lives_with_its_key)
{
    graph_create(&g, NULL);
    uint64_t key = graph_leaf(&g), value = graph_node(&g), under = graph_leaf(&g);
    uint64_t dead_key = graph_leaf(&g), dead_value = graph_leaf(&g), chained = graph_leaf(&g);
    graph_link(&g, value, 0, under);
    fake_handle(g.f, 0, DEPENDENT, key, value);
    fake_handle(g.f, 0, DEPENDENT, dead_key, dead_value);
    fake_handle(g.f, 0, DEPENDENT, under, chained); /* a key that only a value keeps alive */
    uint64_t holder = graph_node(&g);
    graph_link(&g, holder, 0, key);
    graph_root(&g, holder);
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATORS, 1);
    ck_assert_uint_eq(distance(key), 1);
    ck_assert_uint_eq(distance(value), 2);
    ck_assert_uint_eq(distance(under), 3);
    ck_assert_uint_eq(distance(chained), 4);
    ck_assert_uint_eq(distance(dead_key), CLR_UNREACHED);
    ck_assert_uint_eq(distance(dead_value), CLR_UNREACHED);
    /* The key retains it. */
    ck_assert_uint_eq(g.dump->dominators.retained_count[graph_number(&g, key)], 4);
    struct clr_ref ref;
    ck_assert(clr_edge_ref(g.dump->refs,
                           clr_wide_get(&g.dump->reach.parent, graph_number(&g, value)), &ref));
    ck_assert_int_eq(ref.kind, CLR_REF_DEPENDENT);
    ck_assert_uint_eq(ref.source, key);
    graph_close(&g);
}
END_TEST

/* A plugin whose last strong references are gone hangs on weak interior handles alone. */
START_TEST(what_weak_handles_name_is_not_alive)
{
    graph_create(&g, NULL);
    uint64_t object = graph_node(&g), under = graph_leaf(&g);
    graph_link(&g, object, 0, under);
    fake_handle(g.f, 0, CLR_HANDLE_WEAK_INTERIOR, object, 0);
    fake_handle(g.f, 0, CLR_HANDLE_CROSS_REFERENCE, object, 0);
    fake_handle(g.f, 0, CLR_HANDLE_WEAK_SHORT, object, 0);
    fake_handle(g.f, 0, CLR_HANDLE_WEAK_LONG, under, 0);
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(g.dump->roots->count, 0);
    ck_assert_uint_eq(distance(object), CLR_UNREACHED);
    ck_assert_uint_eq(distance(under), CLR_UNREACHED);
    graph_close(&g);
}
END_TEST

/* One path as long as the heap. */
START_TEST(a_list_of_all_objects)
{
    enum { LENGTH = 60000 };
    graph_create(&g, NULL);
    uint64_t *nodes = calloc(LENGTH, sizeof *nodes);
    for (uint32_t i = 0; i < LENGTH; i++) {
        nodes[i] = graph_node(&g);
        if (i)
            graph_link(&g, nodes[i], 0, nodes[i - 1]);
    }
    graph_root(&g, nodes[LENGTH - 1]);
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATED, 2);
    for (uint32_t i = 0; i < LENGTH; i++) {
        ck_assert_uint_eq(distance(nodes[i]), LENGTH - 1 - i);
        ck_assert_uint_eq(g.dump->dominators.retained_count[graph_number(&g, nodes[i])], i + 1);
    }
    free(nodes);
    graph_close(&g);
}
END_TEST

/* --- Against a search of the test's own ------------------------------------------------------ */

struct known {
    uint64_t objects[400];
    uint32_t edges[400][GRAPH_SLOTS]; /* number + 1 */
    uint32_t count;
    uint32_t distance[400];
    bool second[400], precise[400], loose[400];
};

/* Level by level over all objects: slow, and simple enough to be right. */
static void search(struct known *k, const bool *from, bool second)
{
    for (uint32_t i = 0; i < k->count; i++)
        if (from[i] && k->distance[i] == CLR_UNREACHED) {
            k->distance[i] = 0;
            k->second[i] = second;
        }
    bool more = true;
    for (uint32_t level = 0; more; level++) {
        more = false;
        for (uint32_t i = 0; i < k->count; i++)
            for (unsigned s = 0; s < GRAPH_SLOTS; s++) {
                uint32_t to = k->edges[i][s];
                if (!to || k->distance[i] != level || k->second[i] != second ||
                    k->distance[to - 1] != CLR_UNREACHED)
                    continue;
                k->distance[to - 1] = level + 1;
                k->second[to - 1] = second;
                more = true;
            }
    }
}

START_TEST(random_graphs)
{
    struct known k = {.count = 50 + (uint32_t)_i * 7};
    uint64_t state = (uint64_t)_i * 77 + 3;
    graph_create(&g, &(struct fake_options){.segments = _i % 3 == 2});
    uint64_t thread = fake_thread(g.f, 1, 100), stack = fake_memory(g.f, 64 * 8);
    fake_register(g.f, 100, FAKE_SP, stack);
    fake_set(g.f, thread, "Thread", "CachedStackBase", stack + 64 * 8);
    for (uint32_t i = 0; i < k.count; i++)
        k.objects[i] = graph_node(&g);
    for (uint32_t i = 0; i < k.count; i++) {
        k.distance[i] = CLR_UNREACHED;
        for (unsigned s = 0; s < GRAPH_SLOTS; s++)
            if (graph_random(&state) % 100 < 45) {
                uint32_t to = graph_random(&state) % k.count;
                k.edges[i][s] = to + 1;
                graph_link(&g, k.objects[i], s, k.objects[to]);
            }
    }
    for (unsigned i = 0; i < 3; i++) {
        uint32_t held = graph_random(&state) % k.count, loose = graph_random(&state) % k.count;
        k.precise[held] = k.loose[loose] = true;
        graph_root(&g, k.objects[held]);
        fake_put_word(g.f, stack + 8 * (10 + i), k.objects[loose] + 8 * (i % 2));
    }
    search(&k, k.precise, false);
    search(&k, k.loose, true);
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATORS, 1 + (unsigned)_i % 2);
    uint32_t reached = 0;
    for (uint32_t i = 0; i < k.count; i++) {
        uint32_t number = graph_number(&g, k.objects[i]);
        ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, number), k.distance[i]);
        ck_assert_int_eq(clr_reach_second(&g.dump->reach, number),
                         k.distance[i] != CLR_UNREACHED && k.second[i]);
        ck_assert_int_eq(g.dump->dominators.dominator[number] != CLR_UNREACHED,
                         k.distance[i] != CLR_UNREACHED);
        reached += k.distance[i] != CLR_UNREACHED;
        if (k.distance[i] == CLR_UNREACHED || k.distance[i] == 0)
            continue;
        /* The parent: of the slots one level up, in the same part, the lowest. */
        uint64_t lowest = UINT64_MAX;
        for (uint32_t from = 0; from < k.count; from++)
            for (unsigned s = 0; s < GRAPH_SLOTS; s++)
                if (k.edges[from][s] == i + 1 && k.distance[from] == k.distance[i] - 1 &&
                    k.second[from] == k.second[i] && graph_slot(&g, k.objects[from], s) < lowest)
                    lowest = graph_slot(&g, k.objects[from], s);
        ck_assert_uint_eq(parent_slot(k.objects[i]), lowest);
    }
    ck_assert_uint_eq(g.dump->reach.reached, reached);
    graph_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reach");
    TCase *shapes = tcase_create("shapes");
    tcase_set_timeout(shapes, 60);
    tcase_add_test(shapes, distances);
    tcase_add_test(shapes, ties_go_to_the_lower_slot);
    tcase_add_test(shapes, a_dependent_value_lives_with_its_key);
    tcase_add_test(shapes, what_weak_handles_name_is_not_alive);
    tcase_add_test(shapes, a_list_of_all_objects);
    tcase_add_loop_test(shapes, random_graphs, 0, 40);
    suite_add_tcase(suite, shapes);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
