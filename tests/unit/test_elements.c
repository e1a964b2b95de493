/*
 * Collections of the shipped dump: with memory that runs out, and in copies of the dump that are
 * damaged in one place. What is in undamaged ones is in tests/sql/elements.slt.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "inspect/describe.h"
#include "inspect/elements.h"

static const char shipped[] = CLRDB_DUMPS "/ws11.core";
static struct clr_dump *dump;
static char copy[64];
static uint8_t *bytes;
static size_t size;

static void open_dump(const char *path)
{
    struct clr_options options = {0};
    struct clr_error error = {0};
    ck_assert_msg(clr_dump_open(path, &options, NULL, &dump, &error) == CLR_OK, "%s", error.text);
    ck_assert_msg(clr_dump_need(dump, CLR_PART_GC | CLR_PART_INDEX, NULL, &error) == CLR_OK, "%s",
                  error.text);
}

static void close_dump(void)
{
    clr_dump_close(dump);
    dump = NULL;
}

/* The first object of a type, by name. */
static uint64_t object_of(const char *name)
{
    struct clr_object_scan scan;
    struct clr_object object;
    clr_object_scan_start(&scan, dump->heap, 0, clr_heap_count(dump->heap), false);
    while (clr_object_scan_next(&scan, &object))
        if (strcmp(clr_type_name(dump->runtime, object.type), name) == 0)
            return object.address;
    ck_abort_msg("no %s", name);
    return 0;
}

/* --- Damage ------------------------------------------------------------------------------------
 */

static void load(void)
{
    struct stat about;
    int file = open(shipped, O_RDONLY);
    ck_assert(file >= 0 && fstat(file, &about) == 0);
    size = (size_t)about.st_size;
    bytes = malloc(size);
    ck_assert_ptr_nonnull(bytes);
    for (size_t at = 0; at < size;) {
        ssize_t got = read(file, bytes + at, size - at);
        ck_assert_int_gt(got, 0);
        at += (size_t)got;
    }
    close(file);
    open_dump(shipped);
}

static uint8_t *byte_at(uint64_t address)
{
    const struct clr_region *regions;
    size_t count = clr_process_regions(dump->process, &regions);
    for (size_t i = 0; i < count; i++)
        if (address >= regions[i].start && address - regions[i].start < regions[i].saved_size)
            return bytes + regions[i].file_offset + (address - regions[i].start);
    ck_abort_msg("0x%llx is not saved", (unsigned long long)address);
    return NULL;
}

static void put(uint64_t address, uint64_t value, size_t width)
{
    memcpy(byte_at(address), &value, width);
}

/* Opens what the bytes are by now. */
static void reopen(void)
{
    close_dump();
    strcpy(copy, "/tmp/clr-elements-XXXXXX");
    int file = mkstemp(copy);
    ck_assert_int_ge(file, 0);
    for (size_t at = 0; at < size;) {
        ssize_t put_bytes = write(file, bytes + at, size - at);
        ck_assert_int_gt(put_bytes, 0);
        at += (size_t)put_bytes;
    }
    close(file);
    free(bytes);
    open_dump(copy);
}

static void discard(void)
{
    close_dump();
    unlink(copy);
}

static uint64_t field(uint64_t object, const char *path, struct clr_place *place)
{
    struct clr_error error = {0};
    uint64_t word;
    bool found;
    ck_assert_msg(clr_path_place(dump, object, path, place, &found, &error) == CLR_OK && found,
                  "%s: %s", path, error.text);
    ck_assert(clr_read_word(dump->process, place->address, &word));
    return word;
}

static enum clr_status count_elements(uint64_t object, uint64_t *count, struct clr_error *error)
{
    struct clr_elements elements;
    struct clr_item item;
    bool found;
    *count = 0;
    enum clr_status status = clr_elements_start(&elements, dump, NULL, object, &found, error);
    while (status == CLR_OK &&
           (status = clr_elements_next(&elements, &item, &found, error)) == CLR_OK && found) {
        ck_assert_int_eq(item.position, (int64_t)*count);
        ++*count;
    }
    clr_elements_finish(&elements);
    return status;
}

static bool told(const char *part)
{
    for (size_t i = 0; i < clr_problems_count(dump->problems); i++) {
        const struct clr_problem *problem = clr_problems_at(dump->problems, i);
        if (strcmp(problem->area, "elements") == 0 && strstr(problem->message, part))
            return true;
    }
    return false;
}

static const char linked[] = "System.Collections.Generic.LinkedList<System.Int32>";
static const char sorted[] = "System.Collections.Generic.SortedDictionary<System.Int32, Zoo.Leaf>";
static const char queue[] = "System.Collections.Generic.Queue<System.Object>";
static const char concurrent[] =
    "System.Collections.Concurrent.ConcurrentDictionary<System.Int32, System.String>";

/* A list whose last node leads to its second one: every node is counted, and there is an end. */
START_TEST(circle)
{
    struct clr_place place;
    struct clr_error error = {0};
    uint64_t count;
    load();
    uint64_t list = object_of(linked);
    uint64_t second = field(list, "head.next", &place);
    field(list, "head.next.next.next", &place);
    put(place.address, second, 8);
    reopen();
    ck_assert_int_eq(count_elements(list, &count, &error), CLR_OK);
    ck_assert_uint_gt(count, 3);
    ck_assert_uint_le(count, clr_heap_count(dump->heap));
    ck_assert(told("its nodes go in a cycle"));
    discard();
}
END_TEST

/* A tree whose root is its own left child. */
START_TEST(deep)
{
    struct clr_place place;
    struct clr_error error = {0};
    uint64_t count;
    load();
    uint64_t tree = object_of(sorted), root = field(tree, "_set.root", &place);
    field(tree, "_set.root.Left", &place);
    put(place.address, root, 8);
    reopen();
    ck_assert_int_eq(count_elements(tree, &count, &error), CLR_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert(told("deeper than a balanced one"));
    discard();
}
END_TEST

/* A queue that claims more than its array holds; and one whose array is gone. */
START_TEST(claims)
{
    struct clr_place place;
    struct clr_error error = {0};
    uint64_t count;
    load();
    uint64_t object = object_of(queue);
    field(object, "_size", &place);
    put(place.address, 0x7fffffff, 4);
    reopen();
    ck_assert_int_eq(count_elements(object, &count, &error), CLR_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert(told("more elements than its array has"));
    discard();
    load();
    field(object, "_array", &place);
    put(place.address, object, 8);
    reopen();
    ck_assert_int_eq(count_elements(object, &count, &error), CLR_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert(told("there is no array"));
    discard();
    load();
    put(place.address, 0, 8);
    reopen();
    ck_assert_int_eq(count_elements(object, &count, &error), CLR_OK);
    ck_assert_uint_eq(count, 0);
    discard();
}
END_TEST

/* A node that is an object of another class has not the fields of one: the first is named. */
START_TEST(other_nodes)
{
    struct clr_place place;
    struct clr_error error = {0};
    uint64_t count;
    load();
    uint64_t list = object_of(linked), leaf = object_of("Zoo.Leaf");
    field(list, "head", &place);
    put(place.address, leaf, 8);
    reopen();
    ck_assert_int_eq(count_elements(list, &count, &error), CLR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "Zoo.Leaf has no field 'next'"));
    discard();
    load();
    put(place.address, leaf + 8, 8);
    reopen();
    clr_error_clear(&error);
    ck_assert_int_eq(count_elements(list, &count, &error), CLR_OK);
    ck_assert(told("there is no node"));
    discard();
}
END_TEST

/* A release that calls a field by another name: metadata is changed. The line that describes the
 * object does without the number. */
START_TEST(unknown_layout)
{
    static const char name[] = "\0_items";
    struct clr_error error = {0};
    struct clr_text text = {0};
    uint64_t count;
    load();
    uint64_t list = object_of("System.Collections.Generic.List<Zoo.Node>");
    unsigned changed = 0;
    for (uint8_t *at = bytes; (at = memmem(at, size - (size_t)(at - bytes), name, sizeof name));
         at++, changed++)
        at[1] = 'm';
    ck_assert_uint_gt(changed, 0);
    reopen();
    ck_assert_int_eq(count_elements(list, &count, &error), CLR_UNSUPPORTED);
    ck_assert_ptr_nonnull(
        strstr(error.text, "System.Collections.Generic.List<Zoo.Node> has no field '_items'"));
    ck_assert_int_eq(clr_object_text(dump, NULL, list, &text, &error), CLR_OK);
    ck_assert_str_eq(text.data, "System.Collections.Generic.List<Zoo.Node>");
    clr_text_deinit(&text);
    discard();
}
END_TEST

/* --- Memory that runs out ----------------------------------------------------------------------
 */

START_TEST(no_memory)
{
    enum { MOST = 5000 };
    static const char *const names[] = {linked,
                                        sorted,
                                        queue,
                                        concurrent,
                                        "System.Object[,]",
                                        "Zoo.Wide",
                                        "System.ArgumentException"};
    const char *name = names[_i];
    uint64_t failed = 0;
    struct clr_text whole = {0};
    struct clr_error error = {0};
    open_dump(shipped);
    uint64_t object = object_of(name);
    ck_assert_int_eq(clr_object_text(dump, NULL, object, &whole, &error), CLR_OK);
    close_dump();
    uint64_t live = clr_alloc_live();
    for (uint64_t n = 1;; n += 1 + n / 50) {
        struct clr_text text = {0};
        clr_error_clear(&error);
        ck_assert_uint_lt(n, MOST * 100);
        open_dump(shipped);
        clr_alloc_fail_at(n);
        enum clr_status status = clr_object_text(dump, NULL, object, &text, &error);
        clr_alloc_fail_at(0);
        ck_assert_msg(status == CLR_OK || status == CLR_NOMEM, "%s", error.text);
        bool done = status == CLR_OK && strcmp(text.data, whole.data) == 0;
        ck_assert_msg(done || status == CLR_NOMEM, "with %llu allocations: %s",
                      (unsigned long long)n, text.data);
        failed += status == CLR_NOMEM;
        clr_text_deinit(&text);
        if (status == CLR_NOMEM) { /* and afterwards all is there */
            clr_error_clear(&error);
            ck_assert_int_eq(clr_object_text(dump, NULL, object, &text, &error), CLR_OK);
            ck_assert_str_eq(text.data, whole.data);
            clr_text_deinit(&text);
        }
        close_dump();
        ck_assert_uint_eq(clr_alloc_live(), live);
        if (done)
            break;
    }
    ck_assert_uint_gt(failed, 3);
    clr_text_deinit(&whole);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elements");
    TCase *damage = tcase_create("damage");
    tcase_set_timeout(damage, 120);
    tcase_add_test(damage, circle);
    tcase_add_test(damage, deep);
    tcase_add_test(damage, claims);
    tcase_add_test(damage, other_nodes);
    tcase_add_test(damage, unknown_layout);
    suite_add_tcase(suite, damage);
    TCase *memory = tcase_create("memory");
    tcase_set_timeout(memory, 250);
    tcase_add_loop_test(memory, no_memory, 0, 7);
    suite_add_tcase(suite, memory);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
