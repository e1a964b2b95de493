/*
 * GCDesc: one type of each shape in a fake process, with its slots worked out by hand. Offsets
 * count from the object: W is the MethodTable word, 2W the first field of a class with one more
 * behind it, and the first element of a vector.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "runtime/gcdesc.h"

enum { MOST_SLOTS = 64, SZARRAY = 0x000a0000, ARRAY = 0x00080000, HAS_COMPONENT = (int)0x80000000 };

static const struct fake_options processes[] = {
    {0}, {.word = 4}, {.big_endian = true}, {.word = 4, .big_endian = true}, {.release = 9},
};
enum { PROCESSES = sizeof processes / sizeof processes[0] };

static struct fake *f;
static struct fake_target t;
static uint64_t live, W;

static void create(const struct fake_options *options)
{
    live = clr_alloc_live();
    f = fake_create(options);
    W = f->word;
}

static void destroy(void)
{
    fake_close(&t);
    fake_destroy(f);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

/* An item of an array of structs: SLOTS in the half of the word that has the lower address. */
static int64_t item(uint64_t slots, uint64_t skip)
{
    unsigned half = f->word * 4u;
    uint64_t word = f->big_endian ? slots << half | skip : slots | skip << half;
    return (int64_t)word;
}

/* A type whose GCDesc is the WORDS below it, downward. BASE and COMPONENT in bytes. */
static uint64_t type_of(uint64_t base, uint32_t component, uint32_t flags, const int64_t *words,
                        size_t count)
{
    struct fake_type type = {.base_size = (uint32_t)base,
                             .component_size = component,
                             .flags = flags | CLR_MT_CONTAINS_POINTERS |
                                      (component ? (uint32_t)HAS_COMPONENT : 0),
                             .raw_desc = words,
                             .raw_count = count,
                             .element = component ? f->known.object : 0};
    return fake_type(f, &type);
}
#define WORDS(...) (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / 8

static enum clr_status read_slots(uint64_t address, struct clr_type *type,
                                  struct clr_slot_pool *pool, struct clr_slots *slots,
                                  struct clr_error *error)
{
    ck_assert(clr_type_read(t.runtime, address, type));
    return clr_slots_read(t.runtime, type, pool, slots, error);
}

/* The slots of an object of COUNT elements. */
static size_t list_slots(uint64_t address, uint64_t count, uint64_t *list)
{
    struct clr_slot_pool pool = {0};
    struct clr_slots slots;
    struct clr_type type;
    struct clr_error error = {0};
    struct clr_slot_walk walk;
    uint64_t offset, run;
    size_t found = 0;
    ck_assert_msg(read_slots(address, &type, &pool, &slots, &error) == CLR_OK, "%s", error.text);
    if (slots.kind != CLR_SLOTS_NONE) {
        clr_slot_walk_start(&walk, &slots, &pool, type.base_size + count * type.component_size,
                            f->word);
        while (clr_slot_walk_next(&walk, &offset, &run))
            for (uint64_t i = 0; i < run; i++) {
                ck_assert_uint_lt(found, MOST_SLOTS);
                list[found++] = offset + i * W;
            }
    }
    clr_slot_pool_deinit(&pool);
    return found;
}

/* Compares with words: EXPECTED[i] * W. */
static void check_slots(uint64_t type, uint64_t count, size_t slots, const uint64_t *expected)
{
    uint64_t list[MOST_SLOTS];
    ck_assert_uint_eq(list_slots(type, count, list), slots);
    for (size_t i = 0; i < slots; i++)
        ck_assert_msg(list[i] == expected[i] * W, "slot %zu of %llu elements: %llu, not %llu", i,
                      (unsigned long long)count, (unsigned long long)(list[i] / W),
                      (unsigned long long)expected[i]);
}
#define SLOTS(...)                                                                                 \
    sizeof((const uint64_t[]){__VA_ARGS__}) / 8, (const uint64_t[])                                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* class { object a; long b; object c, d; } is header, MethodTable, a, b, c, d: 6 words. */
START_TEST(fixed)
{
    create(&processes[_i]);
    int64_t w = (int64_t)W, base = 6 * w;
    /* Series in falling order of offsets: c and d at 3W, a at W. Sizes are less the base size. */
    uint64_t two = type_of(6 * W, 0, 0, WORDS(2, 3 * w, 2 * w - base, w, w - base));
    /* A boxed struct and an inline array of five lie in an object like a class. */
    uint64_t five = type_of(8 * W, 0, 0, WORDS(1, 2 * w, 5 * w - 8 * w));
    /* A series without slots is none. */
    uint64_t none = type_of(6 * W, 0, 0, WORDS(1, w, -base));
    uint64_t whole = type_of(6 * W, 0, 0, WORDS(1, w, 4 * w - base));
    uint64_t plain = fake_class(f, 0, 2, 0);
    fake_open(f, &t);
    check_slots(two, 0, SLOTS(1, 3, 4));
    check_slots(five, 0, SLOTS(2, 3, 4, 5, 6));
    check_slots(none, 0, 0, NULL);
    check_slots(whole, 0, SLOTS(1, 2, 3, 4));
    check_slots(plain, 0, 0, NULL);
    destroy();
}
END_TEST

/* object[]: one series that ends a word before the object does (3W + n*W in all). */
START_TEST(vectors)
{
    create(&processes[_i]);
    int64_t w = (int64_t)W;
    uint64_t vector = type_of(3 * W, (uint32_t)W, SZARRAY, WORDS(1, 2 * w, -3 * w));
    fake_open(f, &t);
    check_slots(vector, 0, 0, NULL);
    check_slots(vector, 1, SLOTS(2));
    check_slots(vector, 5, SLOTS(2, 3, 4, 5, 6));
    destroy();
}
END_TEST

/* object[,]: two lengths and two lower bounds, 16 bytes, stand in front of the elements. */
START_TEST(grids)
{
    create(&processes[_i]);
    int64_t w = (int64_t)W, bounds = 16;
    uint64_t grid =
        type_of(3 * W + 16, (uint32_t)W, ARRAY, WORDS(1, 2 * w + bounds, -3 * w - bounds));
    /* struct { object a; nint b; }[,] */
    uint64_t pairs =
        type_of(3 * W + 16, (uint32_t)(2 * W), ARRAY, WORDS(-1, 2 * w + bounds, item(1, W)));
    fake_open(f, &t);
    uint64_t first = 2 + 16 / W;
    check_slots(grid, 0, 0, NULL);
    check_slots(grid, 6, SLOTS(first, first + 1, first + 2, first + 3, first + 4, first + 5));
    check_slots(pairs, 3, SLOTS(first, first + 2, first + 4));
    destroy();
}
END_TEST

/* Arrays of structs: what repeats begins at the first slot, which need not be the element's start.
 */
START_TEST(structs)
{
    create(&processes[_i]);
    int64_t w = (int64_t)W;
    uint32_t word = (uint32_t)W;
    /* { object a; nint b; } */
    uint64_t front = type_of(3 * W, 2 * word, SZARRAY, WORDS(-1, 2 * w, item(1, W)));
    /* { nint a; object b; }: the first slot is the second word of the element */
    uint64_t back = type_of(3 * W, 2 * word, SZARRAY, WORDS(-1, 3 * w, item(1, W)));
    /* { nint a; object b; nint c, d; object e, f; nint g; }: 7 words; from b on 1 slot, skip 2, 2
     * slots, skip g and the a of the next */
    uint64_t mixed =
        type_of(3 * W, 7 * word, SZARRAY, WORDS(-2, 3 * w, item(1, 2 * W), item(2, 2 * W)));
    /* { object a, b, c; }: nothing is skipped */
    uint64_t all = type_of(3 * W, 3 * word, SZARRAY, WORDS(-1, 2 * w, item(3, 0)));
    /* The same in two items. */
    uint64_t split = type_of(3 * W, 3 * word, SZARRAY, WORDS(-2, 2 * w, item(1, 0), item(2, 0)));
    /* An element without slots. */
    uint64_t empty = type_of(3 * W, 2 * word, SZARRAY, WORDS(-1, 2 * w, item(0, 2 * W)));
    fake_open(f, &t);
    check_slots(front, 0, 0, NULL);
    check_slots(front, 3, SLOTS(2, 4, 6));
    check_slots(back, 0, 0, NULL);
    check_slots(back, 1, SLOTS(3));
    check_slots(back, 3, SLOTS(3, 5, 7));
    check_slots(mixed, 0, 0, NULL);
    check_slots(mixed, 1, SLOTS(3, 6, 7));
    check_slots(mixed, 3, SLOTS(3, 6, 7, 10, 13, 14, 17, 20, 21));
    check_slots(all, 0, 0, NULL);
    check_slots(all, 2, SLOTS(2, 3, 4, 5, 6, 7));
    check_slots(split, 2, SLOTS(2, 3, 4, 5, 6, 7));
    check_slots(empty, 4, 0, NULL);
    destroy();
}
END_TEST

/* Packed elements of 12 bytes need not be whole words on 32-bit targets only. */
START_TEST(narrow)
{
    create(&(struct fake_options){.word = 4});
    /* { short a; object b; short c; } in 12 bytes: b at 4; then 4 bytes of tail and 4 of head */
    uint64_t odd = type_of(12, 12, SZARRAY, WORDS(-1, 8 + 4, item(1, 8)));
    fake_open(f, &t);
    check_slots(odd, 2, SLOTS(3, 6));
    /* Both halves of an item are 16 bits. */
    ck_assert_int_eq(item(0x1234, 0x5678), 0x56781234);
    destroy();
}
END_TEST

static void refuse(uint64_t address, enum clr_status status, const char *part)
{
    struct clr_slot_pool pool = {0};
    struct clr_slots slots;
    struct clr_type type;
    struct clr_error error = {0};
    ck_assert_msg(read_slots(address, &type, &pool, &slots, &error) == status, "%s: %s", part,
                  error.text);
    ck_assert_msg(strstr(error.text, part) != NULL, "'%s' has no '%s'", error.text, part);
    ck_assert_uint_eq(pool.count, 0);
    ck_assert_uint_eq(slots.count, 0);
    clr_slot_pool_deinit(&pool);
}

START_TEST(hostile)
{
    create(&processes[_i]);
    int64_t w = (int64_t)W;
    uint32_t word = (uint32_t)W;
    uint64_t zero = type_of(6 * W, 0, 0, WORDS(0, w, w - 6 * w));
    uint64_t many = type_of(6 * W, 0, 0, WORDS(1 << 17, w, w - 6 * w));
    uint64_t least = type_of(3 * W, 2 * word, SZARRAY, WORDS(INT64_MIN >> (W == 4 ? 32 : 0)));
    uint64_t before = type_of(6 * W, 0, 0, WORDS(1, 0, w - 6 * w));
    uint64_t askew = type_of(6 * W, 0, 0, WORDS(1, w + 1, w - 6 * w));
    uint64_t partial = type_of(6 * W, 0, 0, WORDS(1, w, w + 1 - 6 * w));
    uint64_t behind = type_of(6 * W, 0, 0, WORDS(1, 4 * w, 2 * w - 6 * w));
    uint64_t negative = type_of(6 * W, 0, 0, WORDS(1, w, -w - 6 * w));
    uint64_t far = type_of(6 * W, 0, 0, WORDS(1, -w, w - 6 * w));
    uint64_t growing = type_of(3 * W, word, SZARRAY, WORDS(1, 2 * w, 0));
    uint64_t single = type_of(6 * W, 0, 0, WORDS(-1, 2 * w, item(1, W)));
    uint64_t still = type_of(3 * W, 2 * word, SZARRAY, WORDS(-1, 2 * w, item(0, 0)));
    uint64_t longer = type_of(3 * W, 2 * word, SZARRAY, WORDS(-1, 2 * w, item(1, 2 * W)));
    uint64_t shorter = type_of(3 * W, 4 * word, SZARRAY, WORDS(-1, 2 * w, item(1, W)));
    uint64_t most = type_of(3 * W, 2 * word, SZARRAY,
                            WORDS(-1, 2 * w, item(W == 4 ? UINT16_MAX : UINT32_MAX, 0)));
    uint64_t begins = type_of(3 * W, 2 * word, SZARRAY, WORDS(-1, 1000 * w, item(1, W)));
    uint64_t lost = type_of(6 * W, 0, 0, WORDS(2, 3 * w, 2 * w - 6 * w, w, w - 6 * w));
    uint64_t cut = type_of(6 * W, 0, 0, WORDS(2, 3 * w, 2 * w - 6 * w, w, w - 6 * w));
    fake_forget(f, lost - W, W);
    fake_forget(f, cut - 5 * W, W);
    fake_open(f, &t);
    refuse(zero, CLR_BAD_DATA, "impossible number of series");
    refuse(many, CLR_BAD_DATA, "impossible number of series");
    refuse(least, CLR_BAD_DATA, "impossible number of series");
    refuse(before, CLR_BAD_DATA, "a series starts outside the object");
    refuse(askew, CLR_BAD_DATA, "a series starts outside the object");
    refuse(partial, CLR_BAD_DATA, "a series ends outside the object");
    refuse(behind, CLR_BAD_DATA, "a series ends outside the object");
    refuse(negative, CLR_BAD_DATA, "a series ends outside the object");
    refuse(far, CLR_BAD_DATA, "a series");
    refuse(growing, CLR_BAD_DATA, "a series ends outside the array");
    refuse(single, CLR_BAD_DATA, "the type is no array");
    refuse(still, CLR_BAD_DATA, "items do not cover an element");
    refuse(longer, CLR_BAD_DATA, "items are longer than an element");
    refuse(shorter, CLR_BAD_DATA, "items do not cover an element");
    refuse(most, CLR_BAD_DATA, "items are longer than an element");
    refuse(begins, CLR_BAD_DATA, "its slots start outside the array");
    refuse(lost, CLR_FAULT, "is not saved");
    refuse(cut, CLR_FAULT, "is not saved");
    destroy();
}
END_TEST

/* No slot lies outside the object, whatever its length. */
START_TEST(within)
{
    create(&processes[_i]);
    int64_t w = (int64_t)W;
    uint64_t types[] = {
        type_of(3 * W, (uint32_t)W, SZARRAY, WORDS(1, 2 * w, -3 * w)),
        type_of(3 * W, (uint32_t)(2 * W), SZARRAY, WORDS(-1, 3 * w, item(1, W))),
        type_of(3 * W, (uint32_t)(7 * W), SZARRAY,
                WORDS(-2, 3 * w, item(1, 2 * W), item(2, 2 * W))),
        type_of(3 * W, (uint32_t)(3 * W), SZARRAY, WORDS(-1, 2 * w, item(3, 0))),
    };
    static const size_t per_element[] = {1, 1, 3, 3};
    fake_open(f, &t);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (uint64_t count = 0; count < 16; count++) {
            uint64_t list[MOST_SLOTS];
            struct clr_type type;
            ck_assert(clr_type_read(t.runtime, types[i], &type));
            size_t found = list_slots(types[i], count, list);
            ck_assert_uint_eq(found, per_element[i] * count);
            for (size_t k = 0; k < found; k++)
                ck_assert_uint_le(list[k] + W, type.base_size + count * type.component_size - W);
        }
    destroy();
}
END_TEST

START_TEST(no_memory)
{
    struct clr_slot_pool pool = {0};
    struct clr_slots slots;
    struct clr_type type;
    create(&processes[0]);
    int64_t w = (int64_t)W;
    uint64_t two = type_of(6 * W, 0, 0, WORDS(2, 3 * w, 2 * w - 6 * w, w, w - 6 * w));
    fake_open(f, &t);
    struct clr_error error = {0};
    clr_alloc_fail_at(1);
    ck_assert_int_eq(read_slots(two, &type, &pool, &slots, &error), CLR_NOMEM);
    clr_alloc_fail_at(0);
    ck_assert_uint_eq(slots.count, 0);
    clr_error_clear(&error);
    ck_assert_int_eq(read_slots(two, &type, &pool, &slots, &error), CLR_OK);
    ck_assert_uint_eq(slots.count, 2);
    clr_slot_pool_deinit(&pool);
    destroy();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gcdesc");
    TCase *shapes = tcase_create("shapes");
    tcase_add_loop_test(shapes, fixed, 0, PROCESSES);
    tcase_add_loop_test(shapes, vectors, 0, PROCESSES);
    tcase_add_loop_test(shapes, grids, 0, PROCESSES);
    tcase_add_loop_test(shapes, structs, 0, PROCESSES);
    tcase_add_test(shapes, narrow);
    tcase_add_loop_test(shapes, within, 0, PROCESSES);
    suite_add_tcase(suite, shapes);
    TCase *damage = tcase_create("damage");
    tcase_add_loop_test(damage, hostile, 0, PROCESSES);
    tcase_add_test(damage, no_memory);
    suite_add_tcase(suite, damage);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
