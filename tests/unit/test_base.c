/* base/: allocation, errors, problems, jobs, JSON, text, the map, the cursor. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/job.h"
#include "base/json.h"
#include "base/map.h"
#include "base/problems.h"
#include "base/search.h"
#include "base/text.h"

/* --- alloc ------------------------------------------------------------------------------------ */

START_TEST(allocation)
{
    uint64_t live = clr_alloc_live();
    uint8_t *block = clr_alloc(10, 100);
    for (size_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(block[i], 0);
    block[999] = 7;
    block = clr_realloc(block, 5000, 1);
    ck_assert_uint_eq(block[999], 7);
    ck_assert_uint_eq(clr_alloc_live(), live + 1);
    clr_free(block);
    block = clr_realloc(NULL, 3, 4);
    ck_assert_uint_eq(clr_alloc_live(), live + 1);
    clr_free(block);
    clr_free(NULL);
    void *empty = clr_alloc(0, 8);
    ck_assert_ptr_nonnull(empty);
    clr_free(empty);
    ck_assert_ptr_null(clr_alloc(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(clr_realloc(NULL, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(clr_alloc_large(SIZE_MAX / 2, 3));
    ck_assert_ptr_null(clr_copy_text("x", SIZE_MAX));
    uint64_t *large = clr_alloc_large(1 << 20, 8);
    large[1000] = 5;
    clr_touch_large(large, 100, 8 << 20); /* what is there stays, the rest is zero */
    clr_touch_large(large, 8 << 20, 8 << 20);
    ck_assert_uint_eq(large[1000], 5);
    large[1000] = 0;
    ck_assert_uint_eq((uintptr_t)large % 4096, 0);
    ck_assert_uint_eq(large[(1 << 20) - 1], 0);
    clr_free_large(large, 1 << 20, 8);
    clr_free_large(clr_alloc_large(0, 8), 0, 8);
    char *text = clr_copy_text("hello", 4);
    ck_assert_str_eq(text, "hell");
    clr_free(text);
    ck_assert_uint_eq(clr_alloc_live(), live);
}
END_TEST

START_TEST(failing_allocations)
{
    uint64_t live = clr_alloc_live();
    int *items = NULL;
    size_t room = 0, used = 0;
    for (; used < 100; used++) {
        ck_assert(clr_grow(&items, used, &room, sizeof *items));
        items[used] = (int)used;
    }
    clr_alloc_fail_at(2);
    void *first = clr_alloc(1, 1);
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_null(clr_alloc(1, 1));
    ck_assert_ptr_null(clr_realloc(items, 1000, sizeof *items));
    ck_assert_ptr_null(clr_alloc_large(1, 1));
    ck_assert_ptr_null(clr_copy_text("x", 1));
    used = room;
    ck_assert(!clr_grow(&items, used, &room, sizeof *items));
    ck_assert_uint_eq(room, used); /* and the block is still good */
    ck_assert_int_eq(items[99], 99);
    clr_alloc_fail_at(0);
    ck_assert(clr_grow(&items, used, &room, sizeof *items));
    ck_assert_int_eq(items[99], 99);
    clr_free(items);
    clr_free(first);
    ck_assert_uint_eq(clr_alloc_live(), live);
}
END_TEST

/* --- error ------------------------------------------------------------------------------------ */

START_TEST(first_failure_wins)
{
    struct clr_error error = {0};
    ck_assert_int_eq(clr_fail(&error, CLR_FAULT, 0x1234, "at 0x%x", 0x1234), CLR_FAULT);
    ck_assert_int_eq(clr_fail(&error, CLR_NOMEM, 0, "out of memory"), CLR_NOMEM);
    ck_assert_int_eq(error.code, CLR_FAULT);
    ck_assert_uint_eq(error.address, 0x1234);
    clr_error_prefix(&error, "reading %s", "x");
    ck_assert_str_eq(error.text, "reading x: at 0x1234");
    clr_error_clear(&error);
    clr_error_prefix(&error, "nothing to prefix");
    ck_assert_str_eq(error.text, "");
    errno = ENOENT;
    ck_assert_int_eq(clr_fail_errno(&error, "opening %s", "/x"), CLR_IO);
    ck_assert_int_eq(error.os_errno, ENOENT);
    ck_assert_str_eq(error.text, "opening /x: No such file or directory");
    errno = EACCES;
    clr_fail_errno(&error, "again");
    ck_assert_int_eq(error.os_errno, ENOENT);
    ck_assert_int_eq(clr_fail(NULL, CLR_FAULT, 0, "x"), CLR_FAULT);
    ck_assert_int_eq(clr_fail_errno(NULL, "x"), CLR_IO);
    clr_error_prefix(NULL, "x");
}
END_TEST

static bool is_utf8(const char *text)
{
    struct clr_text clean = {0};
    clr_text_utf8(&clean, (const uint8_t *)text, strlen(text));
    clr_text_put(&clean, "");
    bool same = strcmp(clean.data, text) == 0;
    clr_text_deinit(&clean);
    return same;
}

START_TEST(long_messages_are_cut_at_a_character)
{
    for (size_t shift = 0; shift < 4; shift++) {
        char text[1200] = "xxxx";
        size_t length = shift;
        while (length + 4 < sizeof text) {
            memcpy(text + length, "\xf0\x9f\x98\x80", 4);
            length += 4;
        }
        text[length] = 0;
        struct clr_error error = {0};
        clr_fail(&error, CLR_FAULT, 0, "%s", text);
        ck_assert(is_utf8(error.text));
        ck_assert_uint_ge(strlen(error.text), sizeof error.text - 5);
        clr_error_prefix(&error, "ab");
        ck_assert(is_utf8(error.text));
        clr_error_prefix(&error, "%s", text);
        ck_assert(is_utf8(error.text));
        clr_error_clear(&error);
        errno = ENOENT;
        clr_fail_errno(&error, "%s", text);
        ck_assert(is_utf8(error.text));
    }
}
END_TEST

/* --- problems --------------------------------------------------------------------------------- */

START_TEST(problems_of_one_cause)
{
    uint64_t live = clr_alloc_live();
    struct clr_problems *list = clr_problems_create(), *more = clr_problems_create();
    static const char cause[] = "cannot read 0x%x";
    clr_problem(list, CLR_WARNING, "objects", 16, 8, cause, 16);
    clr_problem(list, CLR_WARNING, "objects", 32, 8, cause, 32);
    clr_problem(list, CLR_WARNING, "refs", 32, 8, cause, 32);
    clr_problem(list, CLR_ERROR, "objects", 48, 8, cause, 48);
    ck_assert_uint_eq(clr_problems_count(list), 3);
    const struct clr_problem *row = clr_problems_at(list, 0);
    ck_assert_uint_eq(row->count, 2);
    ck_assert_uint_eq(row->address, 16);
    ck_assert_uint_eq(row->length, 16);
    ck_assert_str_eq(row->message, "cannot read 0x10");
    ck_assert(!clr_problems_incomplete(list));
    clr_problem_of(list, CLR_WARNING, "objects", 7, false, 64, UINT64_MAX, cause, 64);
    clr_problem_of(list, CLR_WARNING, "objects", 7, true, 80, 8, cause, 80);
    ck_assert_uint_eq(clr_problems_count(list), 4);
    ck_assert_uint_eq(clr_problems_at(list, 3)->length, UINT64_MAX);
    ck_assert(clr_problems_at(list, 3)->incomplete);
    ck_assert(clr_problems_incomplete(list));

    clr_problem(more, CLR_WARNING, "objects", 96, 8, cause, 96);
    clr_problem(more, CLR_INFO, "threads", 1, 1, "new %d", 1);
    clr_problems_merge(list, more);
    ck_assert_uint_eq(clr_problems_count(more), 0);
    ck_assert_uint_eq(clr_problems_count(list), 5);
    ck_assert_uint_eq(clr_problems_at(list, 0)->count, 3);
    ck_assert_str_eq(clr_problems_at(list, 4)->message, "new 1");
    clr_problem(NULL, CLR_INFO, "x", 0, 0, "ignored");
    clr_problem_of(NULL, CLR_INFO, "x", 0, true, 0, 0, "ignored");
    clr_problems_merge(list, NULL);
    clr_problems_merge(NULL, list);
    clr_problems_destroy(list);
    clr_problems_destroy(more);
    clr_problems_destroy(NULL);
    ck_assert_uint_eq(clr_alloc_live(), live);
}
END_TEST

START_TEST(merged_problems_keep_being_incomplete)
{
    struct clr_problems *list = clr_problems_create(), *more = clr_problems_create();
    clr_problem_of(more, CLR_WARNING, "roots", 0, true, 0, 0, "x");
    clr_problems_merge(list, more);
    ck_assert(clr_problems_incomplete(list));
    ck_assert(!clr_problems_incomplete(more));
    clr_problems_destroy(list);
    clr_problems_destroy(more);
}
END_TEST

START_TEST(lost_problems_are_remembered)
{
    uint64_t live = clr_alloc_live();
    for (uint64_t n = 1; n <= 3; n++) {
        struct clr_problems *list = clr_problems_create();
        clr_alloc_fail_at(n);
        clr_problem(list, CLR_INFO, "x", 0, 0, "one");
        clr_problem(list, CLR_INFO, "y", 0, 0, "two");
        clr_alloc_fail_at(0);
        ck_assert(clr_problems_lost(list));
        ck_assert(clr_problems_incomplete(list));
        ck_assert_uint_lt(clr_problems_count(list), 2);
        clr_problems_destroy(list);
    }
    ck_assert_uint_eq(clr_alloc_live(), live);
}
END_TEST

/* --- job -------------------------------------------------------------------------------------- */

enum { ITEMS = 5000 };
struct work {
    atomic_int seen[ITEMS];
    atomic_uint workers;
    size_t fail_from; /* items from here on fail */
    unsigned threads, polls, stop_at;
    pthread_t caller;
};

static enum clr_status work_item(void *context, unsigned worker, size_t item,
                                 struct clr_error *error)
{
    struct work *work = context;
    atomic_fetch_or(&work->workers, 1u << worker);
    if (worker >= work->threads)
        return clr_fail(error, CLR_MISUSE, 0, "worker %u", worker);
    atomic_fetch_add(&work->seen[item], 1);
    if (item >= work->fail_from)
        return clr_fail(error, CLR_FAULT, item, "item %zu", item);
    return CLR_OK;
}

static bool work_poll(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct work *work = context;
    ck_assert_str_eq(what, "working");
    ck_assert_uint_le(done, total);
    ck_assert(pthread_equal(pthread_self(), work->caller));
    return ++work->polls != work->stop_at;
}

START_TEST(every_item_once)
{
    static struct work work;
    work.threads = (unsigned)_i;
    work.fail_from = ITEMS;
    work.caller = pthread_self();
    struct clr_job job = {.poll = work_poll, .context = &work, .threads = (unsigned)_i};
    struct clr_error error = {0};
    ck_assert_uint_eq(clr_job_threads(&job), (unsigned)_i);
    ck_assert_int_eq(clr_job_run(&job, "working", ITEMS, work_item, &work, &error), CLR_OK);
    for (size_t i = 0; i < ITEMS; i++)
        ck_assert_int_eq(work.seen[i], 1);
    ck_assert(work.polls > 0);
    ck_assert_int_eq(clr_job_run(&job, "working", 0, work_item, &work, &error), CLR_OK);
    ck_assert_int_eq(clr_job_run(NULL, "working", 0, work_item, &work, NULL), CLR_OK);
}
END_TEST

START_TEST(first_failure_by_number)
{
    static struct work work;
    for (int round = 0; round < 20; round++) {
        memset(&work, 0, sizeof work);
        work.threads = 4;
        work.fail_from = 1000;
        struct clr_job job = {.threads = 4};
        struct clr_error error = {0};
        ck_assert_int_eq(clr_job_run(&job, "working", ITEMS, work_item, &work, &error), CLR_FAULT);
        ck_assert_str_eq(error.text, "item 1000");
        ck_assert_uint_eq(error.address, 1000);
    }
}
END_TEST

static enum clr_status slow_item(void *context, unsigned worker, size_t item,
                                 struct clr_error *error)
{
    (void)worker, (void)item, (void)error;
    atomic_fetch_add((atomic_int *)context, 1);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return CLR_OK;
}

START_TEST(cancelled)
{
    struct work work = {.stop_at = 2, .caller = pthread_self()};
    struct clr_job job = {.poll = work_poll, .context = &work, .threads = (unsigned)_i};
    struct clr_error error = {0};
    atomic_int done = 0;
    ck_assert_int_eq(clr_job_run(&job, "working", ITEMS, slow_item, &done, &error), CLR_CANCELLED);
    ck_assert_int_lt(done, ITEMS);
    ck_assert_str_eq(error.text, "interrupted while working");
}
END_TEST

START_TEST(serial_poll)
{
    struct work work = {.stop_at = 2, .caller = pthread_self()};
    struct clr_job job = {.poll = work_poll, .context = &work};
    struct clr_error error = {0};
    ck_assert_int_eq(clr_job_poll(NULL, "working", 0, 1, &error), CLR_OK);
    ck_assert_int_eq(clr_job_poll(&job, "working", 0, 1, &error), CLR_OK);
    unsigned calls = 1;
    while (clr_job_poll(&job, "working", 0, 1, &error) == CLR_OK)
        calls++;
    ck_assert_uint_gt(calls, 100); /* asked much more often than it asks */
    ck_assert_uint_eq(work.polls, 2);
    ck_assert_int_eq(error.code, CLR_CANCELLED);
}
END_TEST

/* --- json ------------------------------------------------------------------------------------- */

static clr_json *parse(const char *text)
{
    clr_json *root;
    struct clr_error error = {0};
    ck_assert_msg(clr_json_parse(text, strlen(text), &root, &error) == CLR_OK, "%s: %s", text,
                  error.text);
    return root;
}

START_TEST(json_values)
{
    clr_json *root =
        parse("{ /* one */ \"a\": [1, \"0x10\", -2, \"-0x1\", 2.5, true, null,], // two\n"
              "\"b\": \"x, /* no */ } // ]\", \"\\u00e9\": {\"c\": 0,},}");
    const clr_json *a = clr_json_member(root, "a");
    uint64_t number = 0;
    bool truth = false;
    ck_assert_int_eq(clr_json_kind(root), CLR_JSON_OBJECT);
    ck_assert_uint_eq(clr_json_size(root), 3);
    ck_assert_uint_eq(clr_json_size(a), 7);
    ck_assert(clr_json_u64(clr_json_element(a, 0), &number) && number == 1);
    ck_assert(clr_json_u64(clr_json_element(a, 1), &number) && number == 16);
    ck_assert(clr_json_u64(clr_json_element(a, 2), &number) && number == (uint64_t)-2);
    ck_assert(clr_json_u64(clr_json_element(a, 3), &number) && number == UINT64_MAX);
    ck_assert(!clr_json_u64(clr_json_element(a, 4), &number));
    ck_assert(clr_json_bool(clr_json_element(a, 5), &truth) && truth);
    ck_assert(clr_json_bool(clr_json_element(a, 0), &truth) && truth);
    ck_assert(!clr_json_bool(clr_json_element(a, 2), &truth));
    ck_assert_int_eq(clr_json_kind(clr_json_element(a, 6)), CLR_JSON_NULL);
    ck_assert_ptr_null(clr_json_element(a, 7));
    size_t length;
    ck_assert_str_eq(clr_json_text(clr_json_member(root, "b"), &length), "x, /* no */ } // ]");
    ck_assert_uint_eq(length, 18);
    ck_assert_ptr_null(clr_json_text(a, &length));
    ck_assert_ptr_null(clr_json_member(a, "x"));
    ck_assert_ptr_null(clr_json_member(NULL, "x"));
    ck_assert_uint_eq(clr_json_size(NULL), 0);
    static const char *const keys[] = {"a", "b", "\xc3\xa9"};
    void *iterator = NULL;
    const char *key;
    const clr_json *value;
    size_t i = 0;
    while (clr_json_next(root, &iterator, &key, &value))
        ck_assert_str_eq(key, keys[i++]);
    ck_assert_uint_eq(i, 3);
    iterator = NULL;
    ck_assert(!clr_json_next(a, &iterator, &key, &value));
    clr_json_destroy(root);
    clr_json_destroy(NULL);
}
END_TEST

START_TEST(json_numbers)
{
    static const struct {
        const char *text;
        bool good;
        uint64_t value;
    } numbers[] = {
        {"[\"18446744073709551615\"]", true, UINT64_MAX},
        {"[\"18446744073709551616\"]", false, 0},
        {"[\"0xffffffffffffffff\"]", true, UINT64_MAX},
        {"[\"0x10000000000000000\"]", false, 0},
        {"[\"0X1f\"]", true, 31},
        {"[\"\"]", false, 0},
        {"[\"-\"]", false, 0},
        {"[\"0x\"]", false, 0},
        {"[\"1a\"]", false, 0},
        {"[\" 1\"]", false, 0},
        {"[\"1\\u0000\"]", false, 0},
        {"[9223372036854775807]", true, INT64_MAX},
        {"[false]", false, 0},
    };
    uint64_t number;
    clr_json *root = parse(numbers[_i].text);
    ck_assert_int_eq(clr_json_u64(clr_json_element(root, 0), &number), numbers[_i].good);
    if (numbers[_i].good)
        ck_assert_uint_eq(number, numbers[_i].value);
    clr_json_destroy(root);
}
END_TEST

START_TEST(json_refused)
{
    static const char *const texts[] = {
        "",          "{",          "[1 2]",   "{\"a\": 1, \"a\": 2}",
        "/* no end", "[1]x",       "\"open",  "[1,,2]",
        "{,}",       "[/]",        "[,]",     "/",
        "{\"a\" 1}", "[\"\xff\"]", "[1] /*/", "[1e999]",
        "[\"\\",     "//",
    };
    clr_json *root;
    struct clr_error error = {0};
    ck_assert_msg(clr_json_parse(texts[_i], strlen(texts[_i]), &root, &error) == CLR_BAD_DATA, "%s",
                  texts[_i]);
    ck_assert_ptr_null(root);
    ck_assert_ptr_nonnull(strstr(error.text, "not valid JSON"));
}
END_TEST

START_TEST(json_depth)
{
    char text[200001];
    struct clr_error error = {0};
    clr_json *root;
    for (size_t depth = 60; depth < 70; depth++) {
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        clr_error_clear(&error);
        enum clr_status status = clr_json_parse(text, 2 * depth, &root, &error);
        ck_assert_int_eq(status, depth <= 64 ? CLR_OK : CLR_BAD_DATA);
        clr_json_destroy(root);
    }
    memset(text, '[', sizeof text);
    clr_error_clear(&error);
    ck_assert_int_eq(clr_json_parse(text, sizeof text, &root, &error), CLR_BAD_DATA);
    /* Not terminated, bounded by its length. */
    ck_assert_int_eq(clr_json_parse("[1]garbage", 3, &root, NULL), CLR_OK);
    clr_json_destroy(root);
}
END_TEST

/* --- text ------------------------------------------------------------------------------------- */

START_TEST(building_text)
{
    struct clr_text text = {0};
    for (int i = 0; i < 1000; i++)
        clr_text_format(&text, "%d,", i);
    ck_assert_uint_eq(text.length, 3890);
    ck_assert_uint_eq(strlen(text.data), 3890);
    clr_text_clear(&text);
    ck_assert_str_eq(text.data, "");
    char wide[600];
    memset(wide, 'w', sizeof wide - 1);
    wide[sizeof wide - 1] = 0;
    clr_text_format(&text, "[%s]", wide);
    ck_assert_uint_eq(text.length, 601);
    ck_assert_int_eq(text.data[600], ']');
    clr_text_clear(&text);
    clr_text_add(&text, "a\0b", 3);
    clr_text_char(&text, 'c');
    clr_text_put(&text, "");
    clr_text_add(&text, NULL, 0);
    ck_assert_uint_eq(text.length, 4);
    ck_assert_mem_eq(text.data, "a\0bc", 5);
    clr_text_add(&text, "x", SIZE_MAX);
    ck_assert(text.failed);
    clr_text_put(&text, "ignored");
    ck_assert_uint_eq(text.length, 4);
    clr_text_clear(&text);
    ck_assert(!text.failed);
    clr_text_deinit(&text);
    clr_alloc_fail_at(1);
    clr_text_format(&text, "%s", wide);
    clr_text_put(&text, "x");
    clr_alloc_fail_at(0);
    ck_assert(text.failed);
    ck_assert_uint_eq(text.length, 0);
    clr_text_deinit(&text);
}
END_TEST

START_TEST(utf16)
{
    static const struct {
        uint16_t units[4];
        size_t count;
        const char *text;
        size_t length;
    } rows[] = {
        {{'a', 0xe9, 0x20ac}, 3, "a\xc3\xa9\xe2\x82\xac", 6},
        {{0xd83d, 0xde00}, 2, "\xf0\x9f\x98\x80", 4},
        {{0xd83d, 'x'}, 2, "\xef\xbf\xbdx", 4},
        {{0xde00, 0xd83d}, 2, "\xef\xbf\xbd\xef\xbf\xbd", 6},
        {{0xd83d, 0xd83d, 0xde00}, 3, "\xef\xbf\xbd\xf0\x9f\x98\x80", 7},
        {{'a', 0, 'b'}, 3, "a\0b", 3},
        {{0x7f, 0x80, 0x7ff, 0x800}, 4, "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80", 8},
        {{0xffff, 0xd7ff, 0xe000}, 3, "\xef\xbf\xbf\xed\x9f\xbf\xee\x80\x80", 9},
        {{0}, 0, "", 0},
    };
    for (int swapped = 0; swapped < 2; swapped++) {
        struct clr_text text = {0};
        uint16_t units[4];
        for (size_t i = 0; i < 4; i++)
            units[i] = swapped ? __builtin_bswap16(rows[_i].units[i]) : rows[_i].units[i];
        clr_text_utf16(&text, (const uint8_t *)units, rows[_i].count, swapped);
        ck_assert_uint_eq(text.length, rows[_i].length);
        ck_assert_mem_eq(text.data, rows[_i].text, rows[_i].length + 1);
        clr_text_deinit(&text);
    }
}
END_TEST

START_TEST(utf16_of_all_characters)
{
    struct clr_text text = {0};
    for (uint32_t c = 0; c < 0x110000; c += 7) {
        uint16_t units[2] = {(uint16_t)c, 0};
        size_t count = 1;
        if (c >= 0xd800 && c < 0xe000)
            continue;
        if (c >= 0x10000) {
            units[0] = (uint16_t)(0xd800 + ((c - 0x10000) >> 10));
            units[1] = (uint16_t)(0xdc00 + ((c - 0x10000) & 0x3ff));
            count = 2;
        }
        clr_text_clear(&text);
        clr_text_utf16(&text, (const uint8_t *)units, count, false);
        struct clr_text again = {0};
        clr_text_utf8(&again, (const uint8_t *)text.data, text.length);
        ck_assert_uint_eq(again.length, text.length);
        ck_assert_mem_eq(again.data, text.data, text.length);
        clr_text_deinit(&again);
    }
    clr_text_deinit(&text);
    clr_text_utf16(&text, NULL, SIZE_MAX, false);
    ck_assert(text.failed);
}
END_TEST

START_TEST(utf8)
{
    static const struct {
        const char *from, *to;
    } rows[] = {
        {"plain", "plain"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\xff", "\xef\xbf\xbd"},
        {"\x80z", "\xef\xbf\xbdz"},
        {"\xc3", "\xef\xbf\xbd"},                 /* cut */
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"}, /* overlong */
        {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* a surrogate */
        {"\xf0\x8f\xbf\xbf", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82z", "\xef\xbf\xbd\xef\xbf\xbdz"},
    };
    struct clr_text text = {0};
    clr_text_utf8(&text, (const uint8_t *)rows[_i].from, strlen(rows[_i].from));
    ck_assert_str_eq(text.data, rows[_i].to);
    clr_text_deinit(&text);
}
END_TEST

/* --- map -------------------------------------------------------------------------------------- */

START_TEST(map)
{
    enum { COUNT = 20000 };
    struct clr_map table = {0};
    uint64_t value, live = clr_alloc_live();
    ck_assert(!clr_map_get(&table, 1, &value));
    ck_assert(!clr_map_put(&table, 0, 1));
    for (uint64_t i = 1; i <= COUNT; i++)
        ck_assert(clr_map_put(&table, i * 0x10000, i)); /* aligned, as addresses are */
    for (uint64_t i = 1; i <= COUNT; i += 3)
        ck_assert(clr_map_put(&table, i * 0x10000, i + COUNT));
    ck_assert_uint_eq(table.count, COUNT);
    for (uint64_t i = 1; i <= COUNT; i++) {
        ck_assert(clr_map_get(&table, i * 0x10000, &value));
        ck_assert_uint_eq(value, i % 3 == 1 ? i + COUNT : i);
        ck_assert(!clr_map_get(&table, i * 0x10000 + 1, &value));
    }
    ck_assert(!clr_map_get(&table, 0, &value));
    clr_map_deinit(&table);
    ck_assert_uint_eq(clr_alloc_live(), live);
    for (uint64_t i = 1; i <= 48; i++)
        ck_assert(clr_map_put(&table, i, i));
    clr_alloc_fail_at(1);
    ck_assert(!clr_map_put(&table, 49, 49));
    clr_alloc_fail_at(0);
    ck_assert(clr_map_get(&table, 48, &value) && value == 48);
    ck_assert(clr_map_put(&table, 49, 49));
    clr_map_deinit(&table);
}
END_TEST

/* --- bytes ------------------------------------------------------------------------------------ */

START_TEST(cursor)
{
    static const uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    bool host_is_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    for (int big = 0; big < 2; big++) {
        struct clr_bytes b = clr_bytes(data, sizeof data);
        b.swapped = host_is_big != (bool)big;
        ck_assert_uint_eq(clr_bytes_u8(&b), 1);
        ck_assert_uint_eq(clr_bytes_u16(&b), big ? 0x0203 : 0x0302);
        ck_assert_uint_eq(clr_bytes_u32(&b), big ? 0x04050607 : 0x07060504);
        ck_assert_uint_eq(clr_bytes_u64(&b), big ? 0x08090a0b0c0d0e0fu : 0x0f0e0d0c0b0a0908u);
        ck_assert(!b.bad);
        ck_assert_uint_eq(clr_bytes_u8(&b), 0);
        ck_assert(b.bad);
        b = clr_bytes(data, sizeof data);
        b.swapped = host_is_big != (bool)big;
        ck_assert_uint_eq(clr_bytes_word(&b, 4), big ? 0x01020304 : 0x04030201);
        ck_assert_uint_eq(clr_bytes_word(&b, 8), big ? 0x05060708090a0b0cu : 0x0c0b0a0908070605u);
        clr_bytes_seek(&b, 14);
        ck_assert_uint_eq(clr_bytes_u16(&b), 0); /* half of it is there */
        ck_assert(b.bad);
        ck_assert_uint_eq(clr_bytes_u8(&b), 0); /* and so is all that follows */
        b = clr_bytes(data, sizeof data);
        clr_bytes_seek(&b, sizeof data);
        ck_assert(!b.bad);
        clr_bytes_seek(&b, sizeof data + 1);
        ck_assert(b.bad);
        b = clr_bytes(data, sizeof data);
        ck_assert_ptr_eq(clr_bytes_take(&b, 15), data);
        ck_assert_ptr_eq(clr_bytes_take(&b, 0), data + 15);
        ck_assert_ptr_null(clr_bytes_take(&b, SIZE_MAX));
        b = clr_bytes(NULL, 100);
        ck_assert_uint_eq(clr_bytes_u32(&b), 0);
        ck_assert(b.bad);
    }
}
END_TEST

START_TEST(searching)
{
    const int rows[] = {1, 3, 3, 3, 7};
    size_t i;
    CLR_SEARCH(i, 0, 5, rows[i] < 3);
    ck_assert_uint_eq(i, 1);
    CLR_SEARCH(i, 0, 5, rows[i] <= 3);
    ck_assert_uint_eq(i, 4);
    CLR_SEARCH(i, 0, 5, rows[i] < 8);
    ck_assert_uint_eq(i, 5);
    CLR_SEARCH(i, 2, 4, rows[i] < 0); /* not before FIRST */
    ck_assert_uint_eq(i, 2);
    CLR_SEARCH(i, 0, 0, rows[i] < 3);
    ck_assert_uint_eq(i, 0);
}
END_TEST

START_TEST(growing_array)
{
    CLR_ARRAY(uint16_t) array = {0};
    for (unsigned n = 0; n < 100; n++)
        ck_assert(CLR_ARRAY_ADD(&array, (uint16_t)n));
    ck_assert_uint_eq(array.count, 100);
    for (unsigned n = 0; n < 100; n++)
        ck_assert_uint_eq(array.items[n], n);
    array.room = array.count; /* full: the next one needs memory */
    clr_alloc_fail_at(1);
    ck_assert(!CLR_ARRAY_ADD(&array, 1));
    clr_alloc_fail_at(0);
    ck_assert_uint_eq(array.count, 100);
    CLR_ARRAY_FREE(&array);
    ck_assert_uint_eq(array.count, 0);
    ck_assert_ptr_null(array.items);
}
END_TEST

START_TEST(arena_blocks_stay)
{
    uint64_t before = clr_alloc_live();
    struct clr_arena arena = {0};
    char *texts[500];
    for (int i = 0; i < 500; i++) {
        char text[100];
        int length = snprintf(text, sizeof text, "text %d", i);
        ck_assert_ptr_nonnull(texts[i] = clr_arena_text(&arena, text, (size_t)length));
    }
    uint8_t *large = clr_arena_alloc(&arena, 1000000); /* more than a chunk */
    ck_assert_ptr_nonnull(large);
    ck_assert_uint_eq((uintptr_t)large % _Alignof(max_align_t), 0);
    ck_assert_uint_eq(large[0] | large[999999], 0);
    memset(large, 0xff, 1000000);
    for (int i = 0; i < 500; i++) {
        char text[100];
        snprintf(text, sizeof text, "text %d", i);
        ck_assert_str_eq(texts[i], text);
    }
    ck_assert_ptr_null(clr_arena_alloc(&arena, SIZE_MAX));
    ck_assert_ptr_null(clr_arena_text(&arena, "", SIZE_MAX));
    clr_arena_deinit(&arena);
    ck_assert_uint_eq(clr_alloc_live(), before);
}
END_TEST

START_TEST(a_problem_once)
{
    static const char one[] = "one %d", two[] = "two %d";
    struct clr_problems *problems = clr_problems_create();
    for (int turn = 0; turn < 3; turn++)
        for (unsigned address = 0; address < 200; address++) {
            clr_problem_once(problems, CLR_WARNING, "types", false, address, 1, one, 1);
            clr_problem_once(problems, CLR_INFO, "types", address == 7, address + 1, 2, two, 2);
        }
    ck_assert_uint_eq(clr_problems_count(problems), 2);
    ck_assert_uint_eq(clr_problems_at(problems, 0)->count, 200);
    ck_assert_uint_eq(clr_problems_at(problems, 0)->length, 200);
    ck_assert_str_eq(clr_problems_at(problems, 0)->message, "one 1");
    ck_assert_uint_eq(clr_problems_at(problems, 1)->count, 200);
    ck_assert_uint_eq(clr_problems_at(problems, 1)->address, 1);
    ck_assert(clr_problems_incomplete(problems));
    clr_problems_destroy(problems);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *tests = tcase_create("base");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, allocation);
    tcase_add_test(tests, failing_allocations);
    tcase_add_test(tests, first_failure_wins);
    tcase_add_test(tests, long_messages_are_cut_at_a_character);
    tcase_add_test(tests, problems_of_one_cause);
    tcase_add_test(tests, merged_problems_keep_being_incomplete);
    tcase_add_test(tests, lost_problems_are_remembered);
    tcase_add_loop_test(tests, every_item_once, 1, 5);
    tcase_add_test(tests, first_failure_by_number);
    tcase_add_loop_test(tests, cancelled, 1, 4);
    tcase_add_test(tests, serial_poll);
    tcase_add_test(tests, json_values);
    tcase_add_loop_test(tests, json_numbers, 0, 13);
    tcase_add_loop_test(tests, json_refused, 0, 18);
    tcase_add_test(tests, json_depth);
    tcase_add_test(tests, building_text);
    tcase_add_loop_test(tests, utf16, 0, 9);
    tcase_add_test(tests, utf16_of_all_characters);
    tcase_add_loop_test(tests, utf8, 0, 11);
    tcase_add_test(tests, map);
    tcase_add_test(tests, cursor);
    tcase_add_test(tests, searching);
    tcase_add_test(tests, growing_array);
    tcase_add_test(tests, arena_blocks_stay);
    tcase_add_test(tests, a_problem_once);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
