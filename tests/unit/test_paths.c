/*
 * Paths from roots to objects, and all of them merged: shortest, from several roots, through every
 * kind of edge, on lists as long as the heap.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/paths.h"
#include "graph/typestats.h"
#include "heap_graph.h"
#include "inspect/pathtree.h"

enum { PATHS = CLR_PART_REACH | CLR_PART_REVERSE };

static struct heap_graph g;

static struct clr_object_path shortest(uint64_t object)
{
    struct clr_object_path path;
    struct clr_error error = {0};
    ck_assert_int_eq(
        clr_path_shortest(g.dump->refs, &g.dump->reach, graph_number(&g, object), &path, &error),
        CLR_OK);
    return path;
}

/* Each hop is an edge from the one before, the first is what the root holds, the last the object.
 */
static void check_path(const struct clr_object_path *path, uint64_t object)
{
    ck_assert_uint_gt(path->count, 0);
    ck_assert_uint_eq(path->hops[path->count - 1].number, graph_number(&g, object));
    ck_assert_uint_eq(path->hops[0].number, g.dump->roots->rows[path->root].number);
    ck_assert_uint_eq(path->hops[0].edge, CLR_NO_UNIT);
    for (size_t hop = 1; hop < path->count; hop++) {
        struct clr_ref ref;
        ck_assert(clr_edge_ref(g.dump->refs, path->hops[hop].edge, &ref));
        ck_assert_uint_eq(ref.source_number, path->hops[hop - 1].number);
        ck_assert_uint_eq(ref.target_number, path->hops[hop].number);
    }
}

/* All paths of a search: their number; their lengths do not fall. */
static size_t count_paths(uint64_t object, size_t lengths[], size_t most)
{
    struct clr_path_search *search;
    struct clr_error error = {0};
    size_t found = 0, last = 0;
    bool more;
    ck_assert_int_eq(clr_path_search_start(g.dump->links, &g.dump->reach, g.dump->roots,
                                           graph_number(&g, object), &search, &error),
                     CLR_OK);
    for (;; found++) {
        struct clr_object_path path;
        ck_assert_int_eq(clr_path_search_next(search, NULL, &path, &more, &error), CLR_OK);
        if (!more)
            break;
        check_path(&path, object);
        ck_assert_uint_ge(path.count, last);
        last = path.count;
        if (found < most)
            lengths[found] = path.count;
        clr_object_path_deinit(&path);
    }
    clr_path_search_end(search);
    return found;
}

START_TEST(every_root_gives_a_path)
{
    size_t lengths[4];
    graph_create(&g, NULL);
    uint64_t target = graph_leaf(&g), a = graph_node(&g), b = graph_node(&g), c = graph_node(&g);
    graph_link(&g, a, 0, target);
    graph_link(&g, b, 0, a);
    graph_link(&g, c, 1, b);
    graph_statics(&g, 3);
    graph_set_element(&g, g.statics, 1, b);
    graph_root(&g, c);
    graph_root(&g, target);
    fake_handle(g.f, 0, CLR_HANDLE_WEAK_LONG, a, 0);
    graph_open(&g, PATHS, 1);
    ck_assert_uint_eq(count_paths(target, lengths, 4), 3);
    ck_assert_uint_eq(lengths[0], 1);
    ck_assert_uint_eq(lengths[1], 3);
    ck_assert_uint_eq(lengths[2], 4);
    struct clr_object_path path = shortest(a); /* by the static, whose array is no hop */
    check_path(&path, a);
    ck_assert_uint_eq(path.count, 2);
    ck_assert_int_eq(g.dump->roots->rows[path.root].kind, CLR_ROOT_STATIC);
    clr_object_path_deinit(&path);
    graph_close(&g);
}
END_TEST

START_TEST(what_is_dead_has_no_path)
{
    graph_create(&g, NULL);
    uint64_t dead = graph_node(&g), under = graph_leaf(&g);
    graph_link(&g, dead, 0, under);
    graph_open(&g, PATHS, 1);
    struct clr_object_path path = shortest(under);
    ck_assert_uint_eq(path.count, 0);
    ck_assert_uint_eq(count_paths(under, NULL, 0), 0);
    graph_close(&g);
}
END_TEST

START_TEST(edges_without_a_slot_in_an_object)
{
    size_t lengths[2];
    graph_create(&g, NULL);
    uint64_t allocator = graph_leaf(&g), native = fake_allocator(g.f, allocator);
    uint64_t module =
        fake_module(g.f, &(struct fake_module){
                             .simple_name = "Plugin", .is_collectible = true, .allocator = native});
    uint64_t thing = fake_type(g.f, &(struct fake_type){.module = module, .is_collectible = true});
    uint64_t instance = graph_object(&g, thing, 0), value = graph_leaf(&g);
    uint64_t holder = graph_node(&g);
    graph_link(&g, holder, 0, instance);
    graph_root(&g, holder);
    fake_handle(g.f, 0, CLR_HANDLE_DEPENDENT, instance, value);
    graph_open(&g, PATHS, 1);
    ck_assert_uint_eq(count_paths(allocator, lengths, 2), 1); /* holder -> instance -> allocator */
    ck_assert_uint_eq(lengths[0], 3);
    ck_assert_uint_eq(count_paths(value, lengths, 2), 1);
    ck_assert_uint_eq(lengths[0], 3);
    struct clr_object_path path = shortest(allocator);
    check_path(&path, allocator);
    clr_object_path_deinit(&path);
    path = shortest(value);
    check_path(&path, value);
    clr_object_path_deinit(&path);
    graph_close(&g);
}
END_TEST

/* For every reachable object there is a path, as long as its distance; searching for all roots
 * finds the same one first, and every root that leads there. */
START_TEST(random_graphs)
{
    enum { OBJECTS = 300, ROOTS = 12 };
    uint64_t state = (uint64_t)_i + 1, objects[OBJECTS];
    graph_create(&g, NULL);
    uint64_t stack = fake_memory(g.f, 64 * 8), thread = fake_thread(g.f, 1, 100);
    fake_register(g.f, 100, FAKE_SP, stack);
    fake_set(g.f, thread, "Thread", "CachedStackBase", stack + 64 * 8);
    for (unsigned i = 0; i < OBJECTS; i++)
        objects[i] = graph_node(&g);
    for (unsigned i = 0; i < OBJECTS; i++)
        for (unsigned s = 0; s < GRAPH_SLOTS; s++)
            if (graph_random(&state) % 2)
                graph_link(&g, objects[i], s, objects[graph_random(&state) % OBJECTS]);
    for (unsigned i = 0; i < ROOTS; i++)
        graph_root(&g, objects[graph_random(&state) % OBJECTS]);
    for (unsigned i = 0; i < 4; i++)
        fake_put_word(g.f, stack + 8 * i, objects[graph_random(&state) % OBJECTS]);
    graph_open(&g, PATHS, 1);
    unsigned reached = 0;
    for (unsigned i = 0; i < OBJECTS; i++) {
        uint32_t distance = clr_reach_distance(&g.dump->reach, graph_number(&g, objects[i]));
        struct clr_object_path path = shortest(objects[i]), first;
        struct clr_path_search *search;
        bool more;
        if (distance == CLR_UNREACHED) {
            ck_assert_uint_eq(path.count, 0);
            ck_assert_uint_eq(count_paths(objects[i], NULL, 0), 0);
            continue;
        }
        reached++;
        check_path(&path, objects[i]);
        ck_assert_uint_eq(path.count, distance + 1);
        ck_assert_int_eq(clr_path_search_start(g.dump->links, &g.dump->reach, g.dump->roots,
                                               graph_number(&g, objects[i]), &search, NULL),
                         CLR_OK);
        ck_assert_int_eq(clr_path_search_next(search, NULL, &first, &more, NULL), CLR_OK);
        ck_assert(more);
        ck_assert_uint_eq(first.count, path.count);
        ck_assert_uint_eq(first.root, path.root);
        for (size_t hop = 0; hop < path.count; hop++) {
            ck_assert_uint_eq(first.hops[hop].number, path.hops[hop].number);
            ck_assert_uint_eq(first.hops[hop].edge, path.hops[hop].edge);
        }
        clr_object_path_deinit(&first);
        clr_path_search_end(search);
        clr_object_path_deinit(&path);
        ck_assert_uint_ge(count_paths(objects[i], NULL, 0), 1);
    }
    ck_assert_uint_gt(reached, ROOTS);
    graph_close(&g);
}
END_TEST

static bool refuse(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context, (void)what, (void)done, (void)total;
    return false;
}

/* A search that did not finish is an error, never the end of the paths. */
START_TEST(a_search_that_is_interrupted)
{
    struct clr_job job = {.poll = refuse};
    struct clr_error error = {0};
    struct clr_path_search *search;
    struct clr_object_path path;
    struct clr_path_tree *tree;
    bool more;
    graph_create(&g, NULL);
    uint64_t target = graph_leaf(&g), holder = graph_node(&g);
    graph_link(&g, holder, 0, target);
    graph_root(&g, holder);
    graph_open(&g, PATHS, 1);
    ck_assert_int_eq(clr_path_search_start(g.dump->links, &g.dump->reach, g.dump->roots,
                                           graph_number(&g, target), &search, &error),
                     CLR_OK);
    ck_assert_int_eq(clr_path_search_next(search, &job, &path, &more, &error), CLR_CANCELLED);
    ck_assert(!more);
    clr_path_search_end(search);
    error = (struct clr_error){0};
    job.last_poll = 0;
    ck_assert_int_eq(clr_path_tree_build(g.dump, &job, &tree, &error), CLR_CANCELLED);
    ck_assert_ptr_null(tree);
    graph_close(&g);
}
END_TEST

/* --- All paths merged ------------------------------------------------------------------------ */

static struct clr_path_tree *tree_of(void)
{
    struct clr_path_tree *tree;
    struct clr_error error = {0};
    ck_assert_msg(clr_path_tree_build(g.dump, NULL, &tree, &error) == CLR_OK, "%s", error.text);
    return tree;
}

/* What the tree says in all is what is reachable. */
static void check_sums(const struct clr_path_tree *tree)
{
    const struct clr_shape *shapes;
    struct clr_alive *alive;
    size_t shape_count = clr_heap_shapes(g.dump->heap, &shapes);
    uint64_t count = 0, size = 0, top = 0, reached_count = 0, reached_size = 0;
    ck_assert_int_eq(clr_alive_by_shape(g.dump->heap, &g.dump->reach, NULL, &alive, NULL), CLR_OK);
    for (size_t i = 0; i < shape_count; i++) {
        reached_count += alive[i].count;
        reached_size += alive[i].size;
    }
    clr_free(alive);
    for (size_t i = 0; i < tree->count; i++) {
        const struct clr_path_node *node = &tree->nodes[i];
        count += node->object_count;
        size += node->size;
        ck_assert_uint_gt(node->object_count, 0);
        if (node->parent == CLR_NO_NODE) {
            top += node->total_size;
            continue;
        }
        ck_assert_uint_lt(node->parent, i);
        ck_assert_uint_eq(node->depth, tree->nodes[node->parent].depth + 1);
        ck_assert_uint_le(node->total_size, tree->nodes[node->parent].total_size);
    }
    ck_assert_uint_eq(count, reached_count);
    ck_assert_uint_eq(size, reached_size);
    ck_assert_uint_eq(top, reached_size);
    ck_assert_uint_eq(count, g.dump->reach.reached);
}

static void check_text(const struct clr_path_tree *tree, uint32_t node, const char *wanted)
{
    struct clr_text text = {0};
    clr_path_tree_text(g.dump, tree, node, &text);
    ck_assert_str_eq(text.data, wanted);
    clr_text_deinit(&text);
}

START_TEST(a_list_is_one_row)
{
    enum { LENGTH = 50000 };
    graph_create(&g, NULL);
    uint64_t head = 0, last = 0, leaf = graph_leaf(&g);
    for (unsigned i = 0; i < LENGTH; i++) {
        uint64_t node = graph_node(&g);
        graph_link(&g, node, 1, head);
        head = node;
        last = last ? last : node;
    }
    graph_link(&g, last, 2, leaf);
    uint64_t holder = graph_node(&g);
    graph_link(&g, holder, 0, head);
    graph_statics(&g, 3);
    graph_set_element(&g, g.statics, 2, holder);
    graph_open(&g, PATHS, 1);
    struct clr_path_tree *tree = tree_of();
    check_sums(tree);
    /* The statics' array; the holder, A, all that B leads to, C. */
    ck_assert_uint_eq(tree->count, 5);
    for (uint32_t i = 0; i < tree->count; i++)
        if (tree->nodes[i].object_count == LENGTH - 1)
            check_text(tree, i, "static Zoo.Holder.Second -> Zoo.Node -> A Zoo.Node -> B Zoo.Node");
        else
            ck_assert_uint_eq(tree->nodes[i].object_count, 1);
    clr_path_tree_destroy(tree);
    struct clr_object_path path = shortest(leaf);
    ck_assert_uint_eq(path.count, LENGTH + 2);
    check_path(&path, leaf);
    clr_object_path_deinit(&path);
    graph_close(&g);
}
END_TEST

/* Two links that take turns are two rows. */
START_TEST(links_that_take_turns)
{
    enum { LENGTH = 1000 };
    graph_create(&g, NULL);
    uint64_t head = 0;
    for (unsigned i = 0; i < LENGTH; i++) {
        uint64_t node = graph_node(&g);
        graph_link(&g, node, i % 2, head);
        head = node;
    }
    graph_root(&g, head);
    graph_open(&g, PATHS, 1);
    struct clr_path_tree *tree = tree_of();
    check_sums(tree);
    ck_assert_uint_eq(tree->count, 3); /* the head, and one for each link */
    clr_path_tree_destroy(tree);
    graph_close(&g);
}
END_TEST

START_TEST(random_trees_add_up)
{
    enum { OBJECTS = 400 };
    uint64_t state = (uint64_t)_i + 100, objects[OBJECTS];
    graph_create(&g, NULL);
    for (unsigned i = 0; i < OBJECTS; i++)
        objects[i] = i % 4 ? graph_node(&g) : graph_array(&g, 3);
    for (unsigned i = 0; i < OBJECTS; i++)
        for (unsigned s = 0; s < 3; s++)
            if (graph_random(&state) % 2)
                fake_put_word(
                    g.f, i % 4 ? graph_slot(&g, objects[i], s) : graph_element(&g, objects[i], s),
                    objects[graph_random(&state) % OBJECTS]);
    for (unsigned i = 0; i < 4; i++)
        graph_root(&g, objects[graph_random(&state) % OBJECTS]);
    graph_open(&g, PATHS, 1);
    struct clr_path_tree *tree = tree_of();
    check_sums(tree);
    clr_path_tree_destroy(tree);
    graph_close(&g);
}
END_TEST

START_TEST(trees_without_memory)
{
    bool done = false;
    unsigned failures = 0;
    graph_create(&g, NULL);
    uint64_t node = graph_node(&g), leaf = graph_leaf(&g);
    graph_link(&g, node, 2, leaf);
    graph_root(&g, node);
    for (uint64_t n = 1; !done; n++) {
        struct clr_path_tree *tree = NULL;
        struct clr_path_search *search = NULL;
        struct clr_object_path path = {0};
        struct clr_error error = {0};
        bool more;
        graph_open(&g, PATHS, 1);
        uint32_t number = graph_number(&g, leaf);
        clr_alloc_fail_at(n);
        enum clr_status status = clr_path_tree_build(g.dump, NULL, &tree, &error);
        if (status == CLR_OK)
            status = clr_path_search_start(g.dump->links, &g.dump->reach, g.dump->roots, number,
                                           &search, &error);
        if (status == CLR_OK)
            status = clr_path_search_next(search, NULL, &path, &more, &error);
        clr_alloc_fail_at(0);
        done = status == CLR_OK;
        failures += !done;
        ck_assert(done || (status == CLR_NOMEM && error.code == CLR_NOMEM));
        clr_object_path_deinit(&path);
        clr_path_search_end(search);
        clr_path_tree_destroy(tree);
        graph_shut(&g);
    }
    ck_assert_uint_gt(failures, 5);
    graph_open(&g, 0, 1);
    graph_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("paths");
    TCase *paths = tcase_create("paths");
    tcase_set_timeout(paths, 60);
    tcase_add_test(paths, every_root_gives_a_path);
    tcase_add_test(paths, what_is_dead_has_no_path);
    tcase_add_test(paths, edges_without_a_slot_in_an_object);
    tcase_add_loop_test(paths, random_graphs, 0, 20);
    tcase_add_test(paths, a_search_that_is_interrupted);
    suite_add_tcase(suite, paths);
    TCase *trees = tcase_create("trees");
    tcase_set_timeout(trees, 60);
    tcase_add_test(trees, a_list_is_one_row);
    tcase_add_test(trees, links_that_take_turns);
    tcase_add_loop_test(trees, random_trees_add_up, 0, 20);
    tcase_add_test(trees, trees_without_memory);
    suite_add_tcase(suite, trees);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
