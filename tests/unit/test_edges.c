/*
 * What must hold for the references of any dump, on the shipped one and on those whose paths stand
 * in the variable CLRDB_MORE_DUMPS, divided by ':'.
 *
 *   - a slot of kind member, element or dependent, read again, holds the target
 *   - source and target are objects; the offset is the slot's distance from the source
 *   - the edges by target are the edges by source, each as often
 *   - the field's name leads back to the slot: the paths of field values are those of edges
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "inspect/fieldpath.h"
#include "inspect/leaves.h"

struct edge {
    uint64_t source, target, address, element;
    int kind;
};
struct edges {
    struct edge *items;
    size_t count, room;
};

static char *paths[64]; /* of dumps */
static int path_count;
static struct clr_dump *dump;

static void open_dump(const char *path)
{
    struct clr_options options = {0};
    struct clr_error error = {0};
    ck_assert_msg(clr_dump_open(path, &options, NULL, &dump, &error) == CLR_OK, "%s: %s", path,
                  error.text);
    ck_assert_msg(clr_dump_need(dump,
                                CLR_PART_GC | CLR_PART_INDEX | CLR_PART_HANDLES | CLR_PART_REFS |
                                    CLR_PART_REVERSE,
                                NULL, &error) == CLR_OK,
                  "%s: %s", path, error.text);
}

static void add(struct edges *edges, const struct clr_ref *ref)
{
    ck_assert(clr_grow(&edges->items, edges->count, &edges->room, sizeof *edges->items));
    edges->items[edges->count++] =
        (struct edge){ref->source, ref->target, ref->address,
                      ref->kind == CLR_REF_ELEMENT ? ref->element : 0, (int)ref->kind};
}

static int by_all(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    const uint64_t left[] = {x->source, x->address, x->target, (uint64_t)x->kind, x->element};
    const uint64_t right[] = {y->source, y->address, y->target, (uint64_t)y->kind, y->element};
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

static void check_edge(const struct clr_ref *ref)
{
    uint64_t value;
    uint32_t number;
    ck_assert(clr_number(dump->heap, ref->source, &number) && number == ref->source_number);
    ck_assert(clr_number(dump->heap, ref->target, &number) && number == ref->target_number);
    if (ref->kind == CLR_REF_LOADER_ALLOCATOR) {
        ck_assert_uint_eq(ref->address, ref->source);
        return;
    }
    ck_assert(clr_read_word(dump->process, ref->address, &value));
    ck_assert_msg(value == ref->target, "slot 0x%llx holds 0x%llx, not 0x%llx",
                  (unsigned long long)ref->address, (unsigned long long)value,
                  (unsigned long long)ref->target);
    if (ref->kind != CLR_REF_DEPENDENT)
        ck_assert_uint_eq(ref->source + dump->runtime->word + ref->offset, ref->address);
}

START_TEST(both_ways)
{
    struct edges forward = {0}, backward = {0};
    struct clr_ref_scan scan;
    struct clr_link_scan links;
    struct clr_ref ref;
    open_dump(paths[_i]);
    uint32_t count = clr_heap_count(dump->heap);
    clr_ref_scan_start(&scan, dump->refs, 0, count);
    while (clr_ref_scan_next(&scan, &ref)) {
        check_edge(&ref);
        add(&forward, &ref);
    }
    for (uint32_t target = 0; target < count; target++) {
        clr_link_scan_start(&links, dump->links, target);
        while (clr_link_scan_next(&links, &ref)) {
            ck_assert_uint_eq(ref.target_number, target);
            check_edge(&ref);
            add(&backward, &ref);
        }
    }
    ck_assert_uint_gt(forward.count, 1000);
    ck_assert_uint_eq(forward.count, backward.count);
    qsort(forward.items, forward.count, sizeof *forward.items, by_all);
    qsort(backward.items, backward.count, sizeof *backward.items, by_all);
    for (size_t i = 0; i < forward.count; i++)
        ck_assert_msg(by_all(&forward.items[i], &backward.items[i]) == 0,
                      "edge %zu of 0x%llx is not the same both ways", i,
                      (unsigned long long)forward.items[i].source);
    clr_free(forward.items);
    clr_free(backward.items);
    clr_dump_close(dump);
}
END_TEST

/* The name that an edge has is the name of the field at its slot, where fields are read by name. */
START_TEST(names)
{
    struct clr_ref_scan scan;
    struct clr_ref ref;
    struct clr_error error = {0};
    uint64_t checked = 0, unnamed = 0;
    open_dump(paths[_i]);
    clr_ref_scan_start(&scan, dump->refs, 0, clr_heap_count(dump->heap));
    while (clr_ref_scan_next(&scan, &ref)) {
        struct clr_layout *layout;
        struct clr_leaf_walk walk;
        struct clr_leaf leaf;
        const char *name;
        bool found, met = false;
        if (ref.kind != CLR_REF_MEMBER)
            continue;
        ck_assert_int_eq(clr_object_layout(dump, ref.source, &layout, &error), CLR_OK);
        ck_assert_ptr_nonnull(layout);
        if (layout->type.is_continuation)
            continue; /* made by the runtime: no names */
        ck_assert_int_eq(clr_ref_field(dump, &ref, &name, &error), CLR_OK);
        if (strchr(name, '+') || strncmp(name, "0x", 2) == 0) {
            unnamed++; /* metadata is missing: an offset or a token stands for the name */
            continue;
        }
        clr_leaf_walk_start(&walk, dump, ref.source, layout);
        while (!met) {
            ck_assert_int_eq(clr_leaf_walk_next(&walk, &leaf, &found, &error), CLR_OK);
            ck_assert_msg(found, "0x%llx: no field %s", (unsigned long long)ref.source, name);
            met = leaf.place.address == ref.address && strcmp(leaf.path, name) == 0 &&
                  clr_element_is_reference(leaf.place.element);
        }
        clr_leaf_walk_finish(&walk);
        checked++;
    }
    ck_assert_uint_gt(checked + unnamed, 500);
    ck_assert(_i > 0 || unnamed == 0); /* of the shipped dump all is known */
    clr_dump_close(dump);
}
END_TEST

int main(void)
{
    static char shipped[] = CLRDB_DUMPS "/ws11.core";
    paths[path_count++] = shipped;
    const char *more = getenv("CLRDB_MORE_DUMPS");
    char *list = more ? strdup(more) : NULL;
    for (char *next = list ? strtok(list, ":") : NULL; next && path_count < 64;
         next = strtok(NULL, ":"))
        paths[path_count++] = next;
    Suite *suite = suite_create("edges");
    TCase *cases = tcase_create("edges");
    tcase_set_timeout(cases, 250);
    tcase_add_loop_test(cases, both_ways, 0, path_count);
    tcase_add_loop_test(cases, names, 0, path_count);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    free(list);
    return failures != 0;
}
