/*
 * The fake process itself: what other tests build on it comes back through the reader, in each
 * shape.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "runtime/gc.h"
#include "runtime/handles.h"
#include "runtime/types.h"

static const struct fake_options shapes[] = {
    {0},
    {.word = 4},
    {.big_endian = true},
    {.segments = true},
    {.server_heaps = 2},
    {.server_heaps = 2, .segments = true, .word = 4, .big_endian = true},
    {.release = 10},
    {.release = 9},
    {.release = 8, .segments = true},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static struct fake *f;
static struct fake_target t;
static struct clr_gc *gc;

static void open_gc(void)
{
    struct clr_error error = {0};
    fake_open(f, &t);
    enum clr_status status = clr_gc_open(t.runtime, t.problems, &gc, &error);
    ck_assert_msg(status == CLR_OK, "%s", error.text);
    ck_assert_msg(clr_problems_count(t.problems) == 0, "%s",
                  clr_problems_count(t.problems) ? clr_problems_at(t.problems, 0)->message : "");
}

static void close_gc(void)
{
    clr_gc_close(gc);
    fake_close(&t);
    fake_destroy(f);
}

START_TEST(segments_and_contexts)
{
    f = fake_create(&shapes[_i]);
    const bool segments = shapes[_i].segments;
    unsigned gen2 = fake_segment(f, 0, 2), gen0 = fake_segment(f, 0, 0);
    unsigned loh = fake_segment(f, 0, FAKE_LOH), poh = fake_segment(f, 0, FAKE_POH);
    unsigned frozen = fake_segment(f, 0, FAKE_FROZEN), last = frozen;
    if (shapes[_i].server_heaps > 1)
        last = fake_segment(f, 1, 0);
    uint64_t type = fake_class(f, 0, 3, 5), thread = fake_thread(f, 1, 4711);
    for (unsigned i = gen2; i <= last; i++)
        fake_object(f, i, type, 0);
    uint64_t young = fake_segment_end(f, gen0);
    if (segments) {
        fake_generation_start(f, 0, 1, fake_segment_start(f, gen0));
        fake_generation_start(f, 0, 0, young);
    }
    fake_object(f, gen0, f->known.string, 7);
    uint64_t hole = fake_hole(f, gen0, thread, 256);
    open_gc();
    ck_assert(gc->server == (shapes[_i].server_heaps != 0));
    ck_assert(gc->regions == !segments);
    ck_assert_uint_eq(gc->heap_count, shapes[_i].server_heaps ? shapes[_i].server_heaps : 1);
    ck_assert_uint_eq(gc->segment_count, last + 1);
    for (unsigned i = 0; i <= last; i++) {
        const struct clr_segment *s = clr_gc_segment_at(gc, fake_segment_start(f, i));
        ck_assert_ptr_nonnull(s);
        ck_assert_uint_eq(s->address, fake_segment_address(f, i));
        ck_assert_uint_eq(s->start, fake_segment_start(f, i));
        ck_assert_uint_eq(s->end, fake_segment_end(f, i));
        ck_assert_uint_eq(s->heap, i > frozen);
        ck_assert(s->ephemeral == (i == gen0 || i > frozen));
    }
    ck_assert_int_eq(clr_gc_segment_at(gc, fake_segment_start(f, loh))->kind, CLR_LOH);
    ck_assert_int_eq(clr_gc_segment_at(gc, fake_segment_start(f, poh))->kind, CLR_POH);
    ck_assert_int_eq(clr_gc_segment_at(gc, fake_segment_start(f, frozen))->kind, CLR_FROZEN);
    const struct clr_segment *old = clr_gc_segment_at(gc, fake_segment_start(f, gen2));
    ck_assert_int_eq(clr_segment_generation(old, fake_segment_start(f, gen2)), 2);
    const struct clr_segment *ephemeral = clr_gc_segment_at(gc, young);
    ck_assert_int_eq(clr_segment_generation(ephemeral, young), 0);
    ck_assert_int_eq(clr_segment_generation(ephemeral, fake_segment_start(f, gen0)),
                     segments ? 1 : 0);
    ck_assert_uint_eq(gc->context_count, 1);
    ck_assert_uint_eq(gc->contexts[0].pointer, hole);
    ck_assert_uint_eq(gc->contexts[0].limit + 3 * (uint64_t)f->word, fake_segment_end(f, gen0));
    ck_assert_uint_eq(gc->contexts[0].thread, thread);
    close_gc();
}
END_TEST

START_TEST(handles_of_every_kind)
{
    f = fake_create(&shapes[_i]);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t object = fake_object(f, gen0, fake_class(f, 0, 2, 0), 0);
    uint64_t other = fake_object(f, gen0, f->known.exception, 0);
    struct clr_handle *list;
    size_t count, made = 0, dependent = 0;
    for (unsigned kind = 0; kind < 12; kind++, made++)
        ck_assert_uint_ne(fake_handle(f, 0, kind, object, kind == 6 ? other : 0), 0);
    for (unsigned i = 0; i < 20; i++, made++) /* more than one block */
        fake_handle(f, 0, 2, object, 0);
    if (shapes[_i].server_heaps) {
        fake_handle(f, 1, 3, other, 0);
        made++;
    }
    open_gc();
    ck_assert_int_eq(clr_handles_read(t.runtime, gc, t.problems, &list, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, made);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(list[i].object, list[i].heap ? other : object);
        if (list[i].kind == 6) {
            ck_assert_uint_eq(list[i].secondary, other);
            dependent++;
        }
    }
    ck_assert_uint_eq(dependent, 1);
    ck_assert_uint_eq(clr_problems_count(t.problems), 0);
    clr_free(list);
    close_gc();
}
END_TEST

START_TEST(finalizer_queue)
{
    f = fake_create(&shapes[_i]);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t objects[FAKE_GENERATIONS + 2];
    struct clr_finalizable *list;
    size_t count;
    for (unsigned i = 0; i < FAKE_GENERATIONS + 2; i++) {
        objects[i] = fake_object(f, gen0, f->known.exception, 0);
        fake_finalizable(f, 0, i, objects[i]);
    }
    open_gc();
    ck_assert_int_eq(clr_finalizers_read(t.runtime, gc, t.problems, &list, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, FAKE_GENERATIONS + 2);
    for (size_t i = 0; i < count; i++) {
        unsigned which = 0;
        while (objects[which] != list[i].object)
            which++;
        ck_assert(list[i].ready == (which >= FAKE_GENERATIONS));
        ck_assert_int_eq(list[i].generation, list[i].ready ? -1 : (int)which);
    }
    ck_assert_uint_eq(clr_problems_count(t.problems), 0);
    clr_free(list);
    close_gc();
}
END_TEST

START_TEST(the_core_can_be_written_again)
{
    uint64_t type;
    f = fake_create(&shapes[_i]);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t first = fake_object(f, gen0, fake_class(f, 0, 1, 0), 0), found;
    fake_open(f, &t);
    ck_assert(clr_read_word(t.process, first, &found));
    fake_close(&t);
    type = fake_class(f, 0, 4, 9);
    uint64_t second = fake_object(f, gen0, type, 0);
    fake_put_word(f, second + f->word, first);
    fake_header(f, second, 0x0c000001);
    fake_forget(f, first, f->word);
    fake_open(f, &t);
    ck_assert(!clr_read_word(t.process, first, &found));
    ck_assert(clr_read_word(t.process, second, &found));
    ck_assert_uint_eq(found, type);
    ck_assert(clr_read_word(t.process, second + f->word, &found));
    ck_assert_uint_eq(found, first);
    uint32_t header;
    ck_assert(clr_read_u32(t.process, second - 4, &header));
    ck_assert_uint_eq(header, 0x0c000001);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clr_builder");
    TCase *c = tcase_create("clr_builder");
    tcase_add_loop_test(c, segments_and_contexts, 0, SHAPES);
    tcase_add_loop_test(c, handles_of_every_kind, 0, SHAPES);
    tcase_add_loop_test(c, finalizer_queue, 0, SHAPES);
    tcase_add_loop_test(c, the_core_can_be_written_again, 0, SHAPES);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
