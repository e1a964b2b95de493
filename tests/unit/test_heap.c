/*
 * The walk, the index and the parts of a dump over fake processes. Every walk is compared with what
 * the test itself put on the heap.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "clr_builder_private.h"
#include "dump/dump.h"
#include "runtime/loader.h"

static const struct fake_options shapes[] = {
    {0},
    {.segments = true},
    {.server_heaps = 2},
    {.word = 4},
    {.big_endian = true},
    {.word = 4, .big_endian = true, .segments = true},
    {.release = 10},
    {.release = 9, .server_heaps = 2, .segments = true},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* For what is asked a million times: an assertion of Check writes to a pipe each time. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg("line %d: %s", __LINE__, #condition);                                     \
    } while (0)

/* --- What the test knows ---------------------------------------------------------------------- */

struct expected {
    uint64_t address, type, size;
    unsigned segment;
};

struct world {
    struct fake *f;
    struct expected *objects; /* free blocks too; in the order of their addresses */
    size_t count;
    struct fake_target target;
    struct clr_gc *gc;
    struct clr_heap *heap;
    struct clr_error error;
};

static struct world new_world(const struct fake_options *options)
{
    return (struct world){.f = fake_create(options)};
}

static uint64_t remember(struct world *w, unsigned segment, uint64_t address)
{
    w->objects = realloc(w->objects, (w->count + 1) * sizeof *w->objects);
    ck_assert_ptr_nonnull(w->objects);
    w->objects[w->count++] = (struct expected){address, fake_word(w->f, address),
                                               fake_segment_end(w->f, segment) - address, segment};
    return address;
}

static uint64_t add(struct world *w, unsigned segment, uint64_t type, uint32_t count)
{
    return remember(w, segment, fake_object(w->f, segment, type, count));
}

static uint64_t add_string(struct world *w, unsigned segment, const char *text)
{
    return remember(w, segment, fake_string(w->f, segment, text));
}

static uint64_t add_free(struct world *w, unsigned segment, uint64_t size)
{
    return remember(w, segment, fake_free(w->f, segment, size));
}

static int by_address(const void *a, const void *b)
{
    const struct expected *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Takes the object at ADDRESS out of what is expected. */
static void lose(struct world *w, uint64_t address)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->objects[i].address == address) {
            memmove(&w->objects[i], &w->objects[i + 1], (w->count - i - 1) * sizeof *w->objects);
            w->count--;
            return;
        }
    ck_abort_msg("no object at 0x%llx", (unsigned long long)address);
}

static void walk(struct world *w, unsigned threads)
{
    struct clr_job job = {.threads = threads};
    if (!w->target.process)
        fake_open(w->f, &w->target);
    enum clr_status status = CLR_OK;
    if (!w->gc)
        status = clr_gc_open(w->target.runtime, w->target.problems, &w->gc, &w->error);
    ck_assert_msg(status == CLR_OK, "%s", w->error.text);
    status = clr_heap_walk(w->target.runtime, w->gc, w->target.problems, &job, &w->heap, &w->error);
    ck_assert_msg(status == CLR_OK, "%s", w->error.text);
    if (w->count)
        qsort(w->objects, w->count, sizeof *w->objects, by_address);
}

static void close_world(struct world *w)
{
    clr_heap_close(w->heap);
    clr_gc_close(w->gc);
    fake_close(&w->target);
    w->heap = NULL;
    w->gc = NULL;
}

static void end_world(struct world *w)
{
    close_world(w);
    fake_destroy(w->f);
    free(w->objects);
}

/* Damages the process between two walks: the next one sees it. */
static void reopen(struct world *w)
{
    close_world(w);
    walk(w, 1);
}

static const struct clr_problem *find_problem(const struct world *w, const char *area,
                                              const char *part)
{
    for (size_t i = 0; i < clr_problems_count(w->target.problems); i++) {
        const struct clr_problem *problem = clr_problems_at(w->target.problems, i);
        if (strcmp(problem->area, area) == 0 && strstr(problem->message, part))
            return problem;
    }
    return NULL;
}

static void ck_no_problems(const struct world *w)
{
    ck_assert_msg(clr_problems_count(w->target.problems) == 0, "%s",
                  clr_problems_count(w->target.problems)
                      ? clr_problems_at(w->target.problems, 0)->message
                      : "");
}

/* Index, scans, statistics and sums say what the test put there. */
static void ck_world(const struct world *w)
{
    const struct clr_heap *heap = w->heap;
    const struct clr_shape *list;
    struct clr_object object;
    struct clr_object_scan scan;
    uint64_t objects = 0, bytes = 0, walked = 0, walked_objects = 0;
    uint32_t number;
    MUST(clr_heap_count(heap) == w->count);
    clr_object_scan_start(&scan, heap, 0, clr_heap_count(heap), false);
    for (size_t i = 0; i < w->count; i++) {
        const struct expected *e = &w->objects[i];
        MUST(clr_object_scan_next(&scan, &object));
        MUST(object.address == e->address);
        MUST(object.type == e->type);
        MUST(object.size == e->size);
        MUST(object.number == i);
        MUST(w->gc->segments[object.segment].address == fake_segment_address(w->f, e->segment));
        MUST(clr_heap_shape_of(heap, e->type, &number));
        MUST(object.shape == number);
        MUST(clr_number(heap, e->address, &number));
        MUST(number == i);
        MUST(clr_address(heap, number) == e->address);
        for (uint64_t inside = e->address + 1; inside < e->address + e->size; inside += 5) {
            MUST(!clr_number(heap, inside, &number));
            MUST(clr_object_containing(heap, inside, &number));
            MUST(number == i);
            MUST(clr_number_from(heap, inside) == i + 1);
        }
        MUST(clr_object_containing(heap, e->address, &number));
        MUST(number == i);
        MUST(clr_number_from(heap, e->address) == i);
        MUST(clr_object_read(heap, (uint32_t)i, &object));
        MUST(object.address == e->address);
        MUST(object.size == e->size);
        if (e->type != w->f->known.free) {
            objects++;
            bytes += e->size;
        }
    }
    MUST(!clr_object_scan_next(&scan, &object));
    clr_object_scan_start(&scan, heap, 0, clr_heap_count(heap), true);
    for (size_t i = w->count; i-- > 0;) {
        MUST(clr_object_scan_next(&scan, &object));
        MUST(object.address == w->objects[i].address);
        MUST(object.type == w->objects[i].type);
        MUST(object.size == w->objects[i].size);
        MUST(object.number == i);
    }
    MUST(!clr_object_scan_next(&scan, &object));
    MUST(clr_heap_objects(heap) == objects);
    MUST(clr_heap_bytes(heap) == bytes);

    for (size_t i = 0; i < w->gc->segment_count; i++) {
        const struct clr_segment *s = &w->gc->segments[i];
        const struct clr_segment_stats *stats = clr_heap_segment_stats(heap, i);
        MUST(stats->object_bytes + stats->free_bytes + stats->gap_bytes + stats->unwalked_bytes ==
             s->end - s->start);
        MUST(stats->first_number == clr_number_from(heap, s->start));
        MUST(stats->first_number + stats->total_count == clr_number_from(heap, s->end));
        walked += stats->object_bytes;
        walked_objects += stats->object_count;
    }
    MUST(walked == bytes);
    MUST(walked_objects == objects);

    size_t shape_count = clr_heap_shapes(heap, &list);
    MUST(list[0].is_free);
    for (size_t i = 0; i < shape_count; i++) {
        uint64_t count = 0, total = 0, least = UINT64_MAX, most = 0;
        for (size_t k = 0; k < w->count; k++) {
            if (w->objects[k].type != list[i].type)
                continue;
            count++;
            total += w->objects[k].size;
            least = w->objects[k].size < least ? w->objects[k].size : least;
            most = w->objects[k].size > most ? w->objects[k].size : most;
        }
        MUST(list[i].object_count == count);
        MUST(list[i].total_size == total);
        MUST(i == 0 || count != 0);
        MUST(list[i].min_size == (count ? least : 0));
        MUST(list[i].max_size == most);
        MUST(i < 2 || list[i - 1].type < list[i].type);
    }
}

static uint64_t unwalked(const struct world *w)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < w->gc->segment_count; i++)
        sum += clr_heap_segment_stats(w->heap, i)->unwalked_bytes;
    return sum;
}

/* Something of everything in every kind of segment. */
static void fill(struct world *w, unsigned heaps)
{
    struct fake *f = w->f;
    uint64_t node = fake_class(f, 0, 3, 1), small = fake_class(f, 0, 1, 0);
    uint64_t bytes = fake_array(f, f->known.int32, 1, false);
    uint64_t nodes = fake_array(f, node, f->word, true);
    for (unsigned heap = 0; heap < heaps; heap++)
        for (unsigned number = FAKE_FROZEN + 1; number-- > 0;) {
            unsigned segment = fake_segment(f, heap, number);
            for (uint32_t i = 0; i < 40; i++) {
                uint64_t at = add(w, segment, node, 0);
                fake_put_word(f, at + f->word, at);
                add(w, segment, i % 3 ? small : node, 0);
                add(w, segment, bytes, i * 7);
                add(w, segment, nodes, i % 5);
                add_string(w, segment, "some text" + i % 9);
                if (i % 7 == 0)
                    add_free(w, segment, 3u * f->word + i * 8);
            }
        }
}

/* --- The walk --------------------------------------------------------------------------------- */

START_TEST(everything_is_found)
{
    struct world w = new_world(&shapes[_i]);
    fill(&w, shapes[_i].server_heaps ? shapes[_i].server_heaps : 1);
    walk(&w, 2);
    ck_no_problems(&w);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), 0);
    end_world(&w);
}
END_TEST

START_TEST(shapes_tell_what_they_are)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    walk(&w, 1);
    const struct clr_shape *list;
    size_t count = clr_heap_shapes(w.heap, &list);
    unsigned strings = 0, arrays = 0, references = 0;
    for (size_t i = 0; i < count; i++) {
        strings += list[i].is_string;
        arrays += list[i].is_array;
        references += list[i].contains_references;
        ck_assert_int_eq(list[i].is_string, list[i].type == w.f->known.string);
        ck_assert_int_eq(list[i].is_free, list[i].type == w.f->known.free);
        ck_assert(!list[i].collectible);
    }
    ck_assert_uint_eq(strings, 1);
    ck_assert_uint_eq(arrays, 2);
    ck_assert_uint_eq(references, 2);
    uint32_t shape;
    ck_assert(!clr_heap_shape_of(w.heap, 0, &shape));
    ck_assert(!clr_heap_shape_of(w.heap, w.f->known.exception, &shape));
    end_world(&w);
}
END_TEST

START_TEST(marked_objects_are_objects)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    for (size_t i = 0; i < w.count; i += 3)
        fake_put_word(w.f, w.objects[i].address, w.objects[i].type | (i & 7));
    walk(&w, 1);
    ck_no_problems(&w);
    ck_world(&w);
    end_world(&w);
}
END_TEST

START_TEST(gaps_of_allocation_contexts)
{
    struct world w = new_world(&shapes[_i]);
    struct fake *f = w.f;
    uint64_t node = fake_class(f, 0, 3, 1), thread[4];
    unsigned gen0 = fake_segment(f, 0, 0);
    for (uint32_t i = 0; i < 4; i++)
        thread[i] = fake_thread(f, i + 1, 100 + i);
    fake_hole(f, gen0, thread[0], 64); /* at the very start */
    add(&w, gen0, node, 0);
    fake_hole(f, gen0, thread[1], 0);   /* the smallest: a full buffer */
    fake_hole(f, gen0, thread[2], 400); /* two in a row */
    add(&w, gen0, node, 0);
    fake_hole(f, gen0, thread[3], 4096); /* at the very end */
    walk(&w, 1);
    ck_no_problems(&w);
    ck_world(&w);
    size_t segment = (size_t)(clr_gc_segment_at(w.gc, w.objects[0].address) - w.gc->segments);
    ck_assert_uint_eq(clr_heap_segment_stats(w.heap, segment)->gap_bytes,
                      64 + 3u * f->word + 400 + 4096);
    end_world(&w);
}
END_TEST

START_TEST(contexts_that_do_not_fit)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    uint64_t node = fake_class(f, 0, 3, 1);
    unsigned gen0 = fake_segment(f, 0, 0), old = fake_segment(f, 0, 2);
    uint64_t first = fake_thread(f, 1, 100), second = fake_thread(f, 2, 200),
             third = fake_thread(f, 3, 300);
    for (int i = 0; i < 20; i++) {
        add(&w, gen0, node, 0);
        add(&w, old, node, 0);
    }
    /* One points into an object, one past the end, one into generation 2. */
    fake_context(f, first, w.objects[4].address + 8, w.objects[4].address + 16);
    fake_context(f, second, w.objects[38].address, fake_segment_end(f, gen0));
    fake_context(f, third, w.objects[5].address, w.objects[5].address + 8);
    walk(&w, 1);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), 0);
    ck_assert_ptr_nonnull(find_problem(&w, "segments", "does not fit"));
    ck_assert(!clr_problems_incomplete(w.target.problems));
    end_world(&w);
}
END_TEST

/* --- Damage ----------------------------------------------------------------------------------- */

/* Each object in turn loses its MethodTable: it is lost, and nothing else. */
START_TEST(one_lost_object_is_one_lost_object)
{
    struct world w = new_world(&shapes[_i]);
    fill(&w, 1);
    walk(&w, 1);
    size_t count = w.count;
    for (size_t i = 0; i < count; i += _i ? 7 : 2) {
        struct expected lost = w.objects[i];
        if (lost.type == w.f->known.free)
            continue; /* what is in a free block looks alive once the block is not seen */
        fake_put_word(w.f, lost.address, i % 3 ? 0 : 0x7ffffff9);
        lose(&w, lost.address);
        reopen(&w);
        if (i % 14 == 0)
            ck_world(&w);
        ck_assert_uint_eq(clr_heap_count(w.heap), w.count);
        for (size_t k = 0; k < w.count; k++)
            MUST(clr_address(w.heap, (uint32_t)k) == w.objects[k].address);
        ck_assert_uint_eq(unwalked(&w), lost.size);
        ck_assert_uint_eq(clr_problems_count(w.target.problems), 1);
        const struct clr_problem *problem = clr_problems_at(w.target.problems, 0);
        ck_assert_str_eq(problem->area, "objects");
        ck_assert_uint_eq(problem->address, lost.address);
        ck_assert_uint_eq(problem->length, lost.size);
        ck_assert_uint_eq(problem->owner, fake_segment_address(w.f, lost.segment));
        ck_assert(problem->incomplete);
        fake_put_word(w.f, lost.address, lost.type);
        remember(&w, lost.segment, lost.address);
        w.objects[w.count - 1] = lost;
        qsort(w.objects, w.count, sizeof *w.objects, by_address);
    }
    end_world(&w);
}
END_TEST

/* A lost object with MethodTables in its fields, where false objects seem to begin. */
START_TEST(lost_objects_that_hold_types)
{
    for (unsigned words = 2; words <= 8; words++)
        for (unsigned place = 0; place < words; place++)
            for (unsigned other = 1; other <= 12; other++) {
                if (place >= 2 && place + 1 + 2 + other == words + 2)
                    continue; /* fills the rest of the lost object: nobody can tell */
                struct world w = new_world(NULL);
                struct fake *f = w.f;
                uint64_t holder = fake_class(f, 0, words, 0), plain = fake_class(f, 0, other, 0);
                unsigned old = fake_segment(f, 0, 2);
                for (int i = 0; i < 30; i++) {
                    uint64_t at = add(&w, old, holder, 0);
                    fake_put_word(f, at + 8 + place * 8, plain);
                    if (i % 2)
                        add(&w, old, plain, 0);
                }
                uint64_t lost = w.objects[9].address, size = w.objects[9].size;
                fake_put_word(f, lost, 0);
                lose(&w, lost);
                walk(&w, 1);
                ck_world(&w);
                ck_assert_uint_eq(unwalked(&w), size);
                end_world(&w);
            }
}
END_TEST

/* References tell a false object from a true one: there its slots lie over MethodTables. */
START_TEST(references_tell_objects)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    uint64_t holder = fake_class(f, 0, 2, 0), linked = fake_class(f, 0, 7, 0x7f);
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 40; i++) {
        uint64_t at = add(&w, old, holder, 0);
        fake_put_word(f, at + 8, linked); /* a chain of such false objects skips three of four */
    }
    uint64_t lost = w.objects[11].address;
    fake_put_word(f, lost, 0);
    lose(&w, lost);
    walk(&w, 1);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), 32);
    end_world(&w);
}
END_TEST

/* Types that cannot have instances are not where a walk goes on. */
START_TEST(types_without_instances)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    uint64_t interface = fake_type(
        f, &(struct fake_type){.flags = 0x000c0000, .base_size = 24, .parent = FAKE_NONE});
    uint64_t abstract = fake_type(f, &(struct fake_type){.attributes = 0x80, .base_size = 24});
    uint64_t open = fake_type(f, &(struct fake_type){.flags = 0x30, .base_size = 24});
    uint64_t holder = fake_class(f, 0, 5, 0);
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 20; i++) {
        uint64_t at = add(&w, old, holder, 0);
        fake_put_word(f, at + 8, i % 3 == 0 ? interface : i % 3 == 1 ? abstract : open);
        fake_put_word(f, at + 32, i % 3 == 0 ? open : i % 3 == 1 ? interface : abstract);
    }
    uint64_t lost = w.objects[7].address;
    fake_put_word(f, lost, 0);
    lose(&w, lost);
    walk(&w, 1);
    ck_world(&w);
    end_world(&w);
}
END_TEST

START_TEST(sizes_that_lead_out_are_damage)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    uint64_t bytes = fake_array(f, f->known.int32, 1, false), node = fake_class(f, 0, 3, 1);
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 20; i++) {
        add(&w, old, bytes, 50);
        add(&w, old, node, 0);
    }
    uint64_t lost = w.objects[10].address, size = w.objects[10].size;
    fake_put_u32(f, lost + 8, UINT32_MAX);
    lose(&w, lost);
    walk(&w, 1);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), size);
    end_world(&w);
}
END_TEST

START_TEST(rubbish_of_every_kind)
{
    static const uint8_t fills[] = {0, 0xff, 0x20, 0x80};
    for (unsigned i = 0; i < sizeof fills; i++) {
        struct world w = new_world(&shapes[_i]);
        struct fake *f = w.f;
        uint64_t node = fake_class(f, 0, 3, 1);
        unsigned old = fake_segment(f, 0, 2), all = fake_segment(f, 0, 2);
        /* At the start, in the middle, at the end. The last word is a good header. */
        for (int k = 0; k < 2; k++) {
            uint64_t size = k ? 8192 : 256;
            fake_put_word(f, fake_rubbish(f, old, size, fills[i]) + size - f->word, 0);
            if (f->word == 4)
                fake_put_word(f, fake_segment_end(f, old) - 8, 0);
            for (int n = 0; n < 20; n++)
                add(&w, old, node, 0);
        }
        fake_rubbish(f, old, 16, fills[i]);
        fake_rubbish(f, all, 0x8000, fills[i]);
        walk(&w, 2);
        ck_world(&w);
        ck_assert_uint_eq(unwalked(&w), 256 + 8192 + 16 + 0x8000);
        ck_assert_uint_eq(clr_problems_count(w.target.problems), 2); /* one a segment */
        /* A word of rubbish can look like the address of a type that is not saved. */
        for (size_t k = 0; k < 2; k++) {
            const struct clr_problem *problem = clr_problems_at(w.target.problems, k);
            bool whole = problem->owner == fake_segment_address(f, all);
            ck_assert_str_eq(problem->area, "objects");
            ck_assert_uint_eq(problem->address, fake_segment_start(f, whole ? all : old));
            ck_assert_uint_eq(problem->length, whole ? 0x8000 : 256 + 8192 + 16);
        }
        ck_assert(clr_problems_incomplete(w.target.problems));
        end_world(&w);
    }
}
END_TEST

/* Damage before the end of an allocation context, or of the segment, ends there. */
START_TEST(gaps_are_found_again)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    uint64_t node = fake_class(f, 0, 3, 1), thread = fake_thread(f, 1, 100);
    unsigned gen0 = fake_segment(f, 0, 0);
    add(&w, gen0, node, 0);
    fake_rubbish(f, gen0, 64, 0); /* an object whose header was not yet written */
    fake_hole(f, gen0, thread, 512);
    add(&w, gen0, node, 0);
    walk(&w, 1);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), 64);
    ck_assert_uint_eq(clr_heap_segment_stats(w.heap, 0)->gap_bytes, 512);
    end_world(&w);
}
END_TEST

/* Memory that is not saved: objects that begin there are lost, others are not. */
START_TEST(holes)
{
    static const uint64_t sizes[] = {1, 3, 8, 13, 24, 40, 100, 613};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++)
        for (uint64_t at = 0; at < 200; at += _i ? 17 : 3) {
            const uint64_t size = sizes[k];
            struct world w = new_world(&shapes[_i]);
            struct fake *f = w.f;
            uint64_t node = fake_class(f, 0, 3, 1), bytes = fake_array(f, f->known.int32, 1, false);
            unsigned old = fake_segment(f, 0, 2);
            for (uint32_t i = 0; i < 60; i++)
                add(&w, old, i % 2 ? node : bytes, i);
            uint64_t hole = fake_segment_start(f, old) + 400 + at, lost = 0;
            fake_forget(f, hole, size);
            for (size_t i = 0; i < w.count;) {
                /* An object is read by its first word, and its count if it has one. */
                uint64_t need = w.objects[i].type == node ? f->word : f->word + 4u;
                if (w.objects[i].address < hole + size && hole < w.objects[i].address + need) {
                    lost += w.objects[i].size;
                    lose(&w, w.objects[i].address);
                } else {
                    i++;
                }
            }
            walk(&w, 1);
            ck_world(&w);
            ck_assert_uint_eq(unwalked(&w), lost);
            const struct clr_problem *problem = find_problem(&w, "objects", "not in the dump");
            if (lost) {
                ck_assert_ptr_nonnull(problem);
                ck_assert_uint_eq(problem->length, lost);
                ck_assert_uint_eq(clr_problems_count(w.target.problems), 1);
            } else {
                ck_no_problems(&w);
            }
            end_world(&w);
        }
}
END_TEST

START_TEST(a_segment_without_memory)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    unsigned lost = w.objects[w.count - 1].segment;
    uint64_t start = fake_segment_start(w.f, lost), end = fake_segment_end(w.f, lost);
    fake_forget(w.f, start - 8, end - start + 8);
    while (w.count && w.objects[w.count - 1].segment == lost)
        w.count--;
    walk(&w, 2);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), end - start);
    const struct clr_problem *problem = find_problem(&w, "objects", "not in the dump");
    ck_assert_ptr_nonnull(problem);
    ck_assert_uint_eq(problem->address, start);
    ck_assert_uint_eq(problem->length, end - start);
    end_world(&w);
}
END_TEST

/* A header whose bytes stand in two places of the file. */
START_TEST(split_headers)
{
    struct world w = new_world(&shapes[_i]);
    fill(&w, 1);
    for (size_t i = 0; i < w.count; i += 5)
        fake_split(w.f, w.objects[i].address + 1 + i % 11);
    walk(&w, 1);
    ck_no_problems(&w);
    ck_world(&w);
    end_world(&w);
}
END_TEST

/* The class of a type may be missing: its objects are there. Its MethodTable may not. */
START_TEST(types_that_are_not_saved)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    fill(&w, 1);
    uint64_t lonely = fake_class(f, 0, 4, 0),
             derived = fake_type(f, &(struct fake_type){.parent = lonely, .base_size = 64});
    unsigned old = fake_segment(f, 0, 2);
    for (int i = 0; i < 10; i++) {
        add(&w, old, lonely, 0);
        add(&w, old, derived, 0);
    }
    const uint64_t types[] = {lonely, derived};
    for (int i = 0; i < 2; i++)
        fake_forget(f, fake_get(f, types[i], "MethodTable", "EEClassOrCanonMT"), 16);
    walk(&w, 1);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), 0);
    ck_no_problems(&w);

    fake_forget(f, derived, fake_size(f, "MethodTable"));
    uint64_t lost = 0;
    for (size_t i = w.count; i-- > 0;)
        if (w.objects[i].type == derived) {
            lost += w.objects[i].size;
            lose(&w, w.objects[i].address);
        }
    reopen(&w);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), lost);
    ck_assert_uint_eq(clr_problems_count(w.target.problems), 1);
    ck_assert_ptr_nonnull(find_problem(&w, "objects", "objects of such types are missing"));
    end_world(&w);
}
END_TEST

/* --- Parts of a large segment ----------------------------------------------------------------- */

enum { LARGE = 70 << 20, CUT = 16 << 20 };

/* A segment of LARGE bytes, laid out by hand. KIND 0: small objects everywhere; 1: byte arrays lie
 * over the places where parts begin, full of what looks like objects; 2: an array longer than a
 * part; 3: as 0, with damage; 4: as 0, with a hole over a cut. */
static uint8_t *lay_out(struct world *w, int kind, uint64_t base, uint64_t node, uint64_t bytes,
                        uint64_t small, uint64_t *hole)
{
    uint8_t *memory = calloc(1, LARGE);
    uint64_t at = 0, state = 7;
    size_t room = 0;
    ck_assert_ptr_nonnull(memory);
    *hole = 0;
    while (at < LARGE) {
        uint64_t to_cut = CUT - at % CUT, type = node, size = 40;
        uint32_t count = 0;
        state = state * 6364136223846793005u + 1442695040888963407u;
        if (state >> 60 < 3) {
            type = small;
            size = 24;
        }
        if ((kind == 1 && at > CUT / 2 && to_cut < 200000 && to_cut > 100000) ||
            (kind == 2 && at > CUT / 2 && at < CUT)) {
            type = bytes;
            count = kind == 1 ? 300000 + (uint32_t)(state >> 50) : CUT + 12345;
            size = (24 + (uint64_t)count + 7) & ~(uint64_t)7;
            for (uint64_t inside = at + 24 + (kind == 1 ? 16 : 0); inside + 40 <= at + size;
                 inside += 40)
                memcpy(memory + inside, &node, 8);
        }
        if (at + size + 24 > LARGE || LARGE - at - size < 24) {
            type = bytes;
            size = LARGE - at;
            count = (uint32_t)(size - 24);
        }
        memcpy(memory + at, &type, 8);
        if (type == bytes)
            memcpy(memory + at + 8, &count, 4);
        if (w->count == room) {
            room = room ? room * 2 : 4096;
            w->objects = realloc(w->objects, room * sizeof *w->objects);
            ck_assert_ptr_nonnull(w->objects);
        }
        w->objects[w->count++] = (struct expected){base + at, type, size, 0};
        at += size;
    }
    if (kind == 3) /* every 500th object, and all of them around a cut */
        for (size_t i = 1; i < w->count; i++)
            if (i % 500 == 0 || (w->objects[i].address - base > 2 * CUT - 5000 &&
                                 w->objects[i].address - base < 2 * CUT + 5000))
                memset(memory + (w->objects[i].address - base), 0, 8);
    if (kind == 4)
        *hole = base + 2 * CUT - 4096;
    return memory;
}

START_TEST(large_segments_are_walked_in_parts)
{
    struct world w = new_world(&(struct fake_options){.segments = true});
    struct fake *f = w.f;
    uint64_t node = fake_class(f, 0, 3, 0), small = fake_class(f, 0, 1, 0), hole;
    uint64_t bytes = fake_array(f, f->known.int32, 1, false);
    unsigned old = fake_segment(f, 0, 2);
    uint64_t base = fake_memory(f, LARGE), descriptor = fake_segment_address(f, old);
    fake_set(f, descriptor, "HeapSegment", "Mem", base);
    fake_set(f, descriptor, "HeapSegment", "Allocated", base + LARGE);
    fake_set(f, descriptor, "HeapSegment", "Committed", base + LARGE);
    fake_set(f, descriptor, "HeapSegment", "Reserved", base + LARGE);
    uint8_t *memory = lay_out(&w, _i, base, node, bytes, small, &hole);
    fake_put(f, base, memory, LARGE);
    if (hole)
        fake_forget(f, hole, 8192);
    uint64_t lost = 0;
    size_t kept = 0;
    for (size_t i = 0; i < w.count; i++) {
        const struct expected *e = &w.objects[i];
        uint64_t word;
        memcpy(&word, memory + (e->address - base), 8);
        if (word == 0 || (hole && e->address + 8 > hole && e->address < hole + 8192))
            lost += e->size;
        else
            w.objects[kept++] = *e;
    }
    w.count = kept;
    for (unsigned threads = 1; threads <= 3; threads++) {
        uint64_t total = 0;
        walk(&w, threads);
        ck_assert_uint_eq(clr_heap_count(w.heap), w.count);
        struct clr_object_scan scan;
        struct clr_object object;
        clr_object_scan_start(&scan, w.heap, 0, clr_heap_count(w.heap), false);
        for (size_t i = 0; i < w.count; i++) {
            if (!clr_object_scan_next(&scan, &object) || object.address != w.objects[i].address ||
                object.size != w.objects[i].size)
                ck_abort_msg("object %zu is not at 0x%llx", i,
                             (unsigned long long)w.objects[i].address);
        }
        const struct clr_shape *list;
        for (size_t i = clr_heap_shapes(w.heap, &list); i-- > 0;)
            total += list[i].object_count;
        ck_assert_uint_eq(total, w.count);
        ck_assert_uint_eq(clr_heap_bytes(w.heap), LARGE - lost);
        ck_assert_uint_eq(unwalked(&w), lost);
        ck_assert_uint_eq(clr_problems_count(w.target.problems), lost ? 1 : 0);
        if (lost)
            ck_assert_uint_eq(clr_problems_at(w.target.problems, 0)->length, lost);
        close_world(&w);
    }
    free(memory);
    end_world(&w);
}
END_TEST

/* --- The index -------------------------------------------------------------------------------- */

START_TEST(numbers_outside_objects)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    walk(&w, 1);
    uint32_t number, count = clr_heap_count(w.heap);
    struct clr_object object;
    uint64_t last = w.objects[w.count - 1].address + w.objects[w.count - 1].size;
    const uint64_t outside[] = {
        0, 8, w.objects[0].address - 8, last, last + 64, UINT64_MAX - 7, UINT64_MAX};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        ck_assert(!clr_number(w.heap, outside[i], &number));
        ck_assert(!clr_object_containing(w.heap, outside[i], &number));
        ck_assert_uint_eq(clr_number_from(w.heap, outside[i]), i < 3 ? 0 : count);
    }
    ck_assert_uint_eq(clr_address(w.heap, count), 0);
    ck_assert(!clr_object_read(w.heap, count, &object));
    end_world(&w);
}
END_TEST

START_TEST(scans_of_a_part)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    walk(&w, 1);
    uint32_t count = clr_heap_count(w.heap);
    for (uint32_t first = 0; first < count; first += 37)
        for (uint32_t end = first; end <= count + 40; end += 53) {
            struct clr_object_scan scan;
            struct clr_object object;
            uint32_t stop = end < count ? end : count;
            clr_object_scan_start(&scan, w.heap, first, end, false);
            for (uint32_t i = first; i < stop; i++) {
                MUST(clr_object_scan_next(&scan, &object));
                MUST(object.number == i);
                MUST(object.address == w.objects[i].address);
            }
            MUST(!clr_object_scan_next(&scan, &object));
            MUST(!clr_object_scan_next(&scan, &object));
            clr_object_scan_start(&scan, w.heap, first, end, true);
            for (uint32_t i = stop; i-- > first;) {
                MUST(clr_object_scan_next(&scan, &object));
                MUST(object.number == i);
                MUST(object.address == w.objects[i].address);
            }
            MUST(!clr_object_scan_next(&scan, &object));
        }
    end_world(&w);
}
END_TEST

/* Segments that lie too far apart for a table of pages. */
START_TEST(segments_far_apart)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    uint64_t node = fake_class(f, 0, 3, 1);
    unsigned near = fake_segment(f, 0, 2), far = fake_segment(f, 0, 2);
    for (int i = 0; i < 100; i++)
        add(&w, near, node, 0);
    uint64_t base = fake_segment_start(f, near) + ((uint64_t)1 << 42);
    uint64_t descriptor = fake_segment_address(f, far);
    fake_block(f, base, 4000);
    for (uint64_t i = 0; i < 100; i++) {
        fake_put_word(f, base + 40 * i, node);
        w.objects = realloc(w.objects, (w.count + 1) * sizeof *w.objects);
        w.objects[w.count++] = (struct expected){base + 40 * i, node, 40, far};
    }
    fake_set(f, descriptor, "HeapSegment", "Mem", base);
    fake_set(f, descriptor, "HeapSegment", "Allocated", base + 4000);
    fake_set(f, descriptor, "HeapSegment", "Reserved", base + 4000);
    walk(&w, 1);
    ck_no_problems(&w);
    ck_world(&w);
    end_world(&w);
}
END_TEST

START_TEST(postings_by_type)
{
    struct world w = new_world(&shapes[_i]);
    fill(&w, 1);
    walk(&w, 2);
    const struct clr_shape *list;
    const uint32_t *numbers;
    size_t shape_count = clr_heap_shapes(w.heap, &list), all = 0;
    ck_assert_uint_eq(clr_heap_postings(w.heap, 0, &numbers), 0);
    ck_assert_int_eq(clr_heap_postings_build(w.heap, NULL, &w.error), CLR_OK);
    for (uint32_t shape = 0; shape < shape_count; shape++) {
        size_t count = clr_heap_postings(w.heap, shape, &numbers), next = 0;
        ck_assert_uint_eq(count, list[shape].object_count);
        for (size_t i = 0; i < w.count; i++)
            if (w.objects[i].type == list[shape].type)
                MUST(numbers[next++] == i);
        all += count;
    }
    ck_assert_uint_eq(all, w.count);
    ck_assert_uint_eq(clr_heap_postings(w.heap, (uint32_t)shape_count, &numbers), 0);
    end_world(&w);
}
END_TEST

START_TEST(all_types)
{
    struct world w = new_world(NULL);
    struct fake *f = w.f;
    fill(&w, 1);
    /* In no table of a module: found by its objects, and with it base, element and canonical type.
     */
    uint64_t base = fake_type(f, &(struct fake_type){0});
    uint64_t canonical = fake_type(f, &(struct fake_type){.flags = 0x20});
    uint64_t derived =
        fake_type(f, &(struct fake_type){.parent = base, .flags = 0x20, .canonical = canonical});
    uint64_t element = fake_class(f, 0, 5, 0), array = fake_array(f, element, 40, false);
    uint64_t unused = fake_class(f, 7, 1, 0); /* in the module's table, without objects */
    unsigned old = fake_segment(f, 0, 2);
    add(&w, old, derived, 0);
    add(&w, old, array, 2);
    walk(&w, 1);
    const uint64_t *types;
    size_t count;
    ck_assert_int_eq(clr_heap_types(w.heap, w.target.runtime, &types, &count, &w.error), CLR_OK);
    const uint64_t wanted[] = {base,   canonical,       derived,       element,        array,
                               unused, f->known.object, f->known.free, f->known.string};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        size_t found = 0;
        for (size_t k = 0; k < count; k++)
            found += types[k] == wanted[i];
        ck_assert_msg(found == 1, "type %zu stands %zu times", i, found);
    }
    for (size_t i = 1; i < count; i++)
        ck_assert_uint_lt(types[i - 1], types[i]);
    const uint64_t *again;
    size_t same;
    ck_assert_int_eq(clr_heap_types(w.heap, w.target.runtime, &again, &same, &w.error), CLR_OK);
    ck_assert_ptr_eq(types, again);
    ck_assert_uint_eq(count, same);
    end_world(&w);
}
END_TEST

/* --- The dump --------------------------------------------------------------------------------- */

static struct clr_dump *open_dump(struct fake *f)
{
    struct clr_dump *dump = NULL;
    struct clr_options options = {0};
    struct clr_error error = {0};
    enum clr_status status = clr_dump_open(fake_path(f), &options, NULL, &dump, &error);
    ck_assert_msg(status == CLR_OK, "%s", error.text);
    return dump;
}

START_TEST(parts_are_built_in_order)
{
    struct world w = new_world(NULL);
    struct clr_error error = {0};
    fake_thread(w.f, 1, 100);
    fill(&w, 1);
    struct clr_dump *dump = open_dump(w.f);
    ck_assert_uint_eq(dump->built, CLR_PART_RUNTIME);
    ck_assert_uint_eq(dump->thread_count, 1);
    ck_assert_ptr_null(dump->gc);
    ck_assert_int_eq(clr_dump_need(dump, CLR_OPEN, NULL, &error), CLR_OK);
    ck_assert_int_eq(clr_dump_need(dump, CLR_PART_GC, NULL, &error), CLR_OK);
    ck_assert_ptr_nonnull(dump->gc);
    ck_assert_ptr_null(dump->heap);
    ck_assert_int_eq(clr_dump_need(dump, CLR_PART_POSTINGS, NULL, &error), CLR_OK);
    ck_assert_uint_eq(dump->built,
                      CLR_PART_RUNTIME | CLR_PART_GC | CLR_PART_INDEX | CLR_PART_POSTINGS);
    struct clr_heap *heap = dump->heap;
    ck_assert_int_eq(clr_dump_need(dump, CLR_PART_INDEX | CLR_PART_POSTINGS, NULL, &error), CLR_OK);
    ck_assert_ptr_eq(dump->heap, heap);
    ck_assert_uint_eq(clr_heap_count(heap), w.count);
    clr_dump_close(dump);
    end_world(&w);
}
END_TEST

static bool refuse(void *context, const char *what, uint64_t done, uint64_t total)
{
    unsigned *calls = context;
    ck_assert_ptr_nonnull(what);
    ck_assert_uint_le(done, total);
    ++*calls;
    return false;
}

START_TEST(what_was_cancelled_can_be_asked_again)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    fake_put_word(w.f, w.objects[3].address, 0); /* so that there is a problem to say once */
    struct clr_dump *dump = open_dump(w.f);
    for (unsigned part = CLR_PART_INDEX; part <= CLR_PART_POSTINGS; part *= 2) {
        struct clr_error error = {0};
        unsigned calls = 0, built = dump->built;
        struct clr_job job = {.poll = refuse, .context = &calls, .threads = 2};
        ck_assert_int_eq(clr_dump_need(dump, part, &job, &error), CLR_CANCELLED);
        ck_assert_int_eq(error.code, CLR_CANCELLED);
        ck_assert_uint_eq(calls, 1);
        ck_assert_uint_eq(dump->built & part, 0);
        ck_assert_uint_eq(dump->built & built, built);
        error = (struct clr_error){0};
        ck_assert_int_eq(clr_dump_need(dump, part, NULL, &error), CLR_OK);
        ck_assert_uint_eq(clr_problems_count(dump->problems), 1);
        ck_assert_uint_eq(clr_problems_at(dump->problems, 0)->count, 1);
    }
    clr_dump_close(dump);
    end_world(&w);
}
END_TEST

START_TEST(dumps_without_heap_or_runtime)
{
    struct fake *f = fake_create(NULL);
    struct clr_error error = {0};
    unsigned gen0 = fake_segment(f, 0, 0);
    fake_object(f, gen0, f->known.object, 0);
    fake_forget(f, fake_segment_start(f, gen0) - 40, 0x10000);
    struct clr_dump *dump = open_dump(f);
    for (int i = 0; i < 2; i++) {
        error = (struct clr_error){0};
        ck_assert_int_eq(clr_dump_need(dump, CLR_PART_INDEX, NULL, &error), CLR_FAULT);
        ck_assert_ptr_nonnull(strstr(error.text, "the heap is not in the dump"));
    }
    ck_assert_int_eq(dump->no_gc.code, CLR_FAULT);
    ck_assert_ptr_nonnull(dump->runtime);
    clr_dump_close(dump);

    /* A contract that is not known: the runtime is there, its heap is not served. */
    fake_contract(f, "GC", "c999");
    dump = open_dump(f);
    error = (struct clr_error){0};
    ck_assert_int_eq(clr_dump_need(dump, CLR_PART_INDEX, NULL, &error), CLR_UNSUPPORTED);
    ck_assert_int_eq(clr_dump_need(dump, CLR_PART_RUNTIME, NULL, &error), CLR_OK);
    clr_dump_close(dump);
    fake_destroy(f);
}
END_TEST

START_TEST(files_that_are_no_dump)
{
    struct clr_dump *dump;
    struct clr_options options = {.threads = 3};
    struct clr_error error = {0};
    ck_assert_int_eq(clr_dump_open("/nonexistent/core", &options, NULL, &dump, &error), CLR_IO);
    ck_assert_ptr_null(dump);
    ck_assert_uint_eq(options.threads, 3); /* still the caller's */
    error = (struct clr_error){0};
    ck_assert_int_eq(clr_dump_open("/proc/self/exe", &options, NULL, &dump, &error), CLR_NOT_CORE);
}
END_TEST

/* Every single allocation may fail: an error, nothing is left, and it can be tried again. */
START_TEST(out_of_memory)
{
    struct world w = new_world(&(struct fake_options){.server_heaps = 2});
    fill(&w, 2);
    fake_put_word(w.f, w.objects[3].address, 0);
    struct clr_dump *dump = open_dump(w.f);
    struct clr_error error = {0};
    unsigned failures = 0;
    for (uint64_t n = 1;; n++) {
        struct clr_job job = {.threads = 1 + n % 2};
        ck_assert_uint_lt(n, 2000);
        error = (struct clr_error){0};
        clr_alloc_fail_at(n);
        enum clr_status status = clr_dump_need(dump, CLR_PART_POSTINGS, &job, &error);
        clr_alloc_fail_at(0);
        if (status == CLR_OK)
            break;
        ck_assert_int_eq(status, CLR_NOMEM);
        ck_assert_int_eq(error.code, CLR_NOMEM);
        failures++;
        clr_dump_close(dump); /* each n from the start, or parts that were built count less */
        dump = open_dump(w.f);
    }
    ck_assert_uint_gt(failures, 20);
    for (uint64_t n = 1;; n++) {
        const uint64_t *types;
        size_t count;
        ck_assert_uint_lt(n, 2000);
        error = (struct clr_error){0};
        clr_alloc_fail_at(n);
        enum clr_status status = clr_heap_types(dump->heap, dump->runtime, &types, &count, &error);
        clr_alloc_fail_at(0);
        if (status == CLR_OK)
            break;
        ck_assert_int_eq(status, CLR_NOMEM);
    }
    clr_dump_close(dump);
    for (uint64_t n = 1;; n++) {
        struct clr_options options = {0};
        uint64_t live = clr_alloc_live();
        const char *path = fake_path(w.f);
        ck_assert_uint_lt(n, 5000);
        error = (struct clr_error){0};
        clr_alloc_fail_at(n);
        enum clr_status status = clr_dump_open(path, &options, NULL, &dump, &error);
        clr_alloc_fail_at(0);
        if (status == CLR_OK) {
            clr_dump_close(dump);
            break;
        }
        ck_assert_msg(status == CLR_NOMEM, "allocation %llu: %d %s", (unsigned long long)n, status,
                      error.text);
        ck_assert_uint_eq(clr_alloc_live(), live);
    }
    end_world(&w);
}
END_TEST

/* A running GC: marks and torn objects; what is whole is found. */
START_TEST(in_the_middle_of_a_gc)
{
    struct world w = new_world(NULL);
    fill(&w, 1);
    fake_put_u32(w.f, fake_variable(w.f, "StructureInvalidCount"), 1);
    uint64_t lost = 0;
    for (size_t i = 100; i-- > 80;) {
        lost += w.objects[i].size;
        fake_put_word(w.f, w.objects[i].address, 0x1234567);
        lose(&w, w.objects[i].address);
    }
    for (size_t i = 0; i < w.count; i += 2)
        fake_put_word(w.f, w.objects[i].address, w.objects[i].type | 1);
    walk(&w, 1);
    ck_world(&w);
    ck_assert_uint_eq(unwalked(&w), lost);
    ck_assert_ptr_nonnull(find_problem(&w, "objects", "while a GC moved objects"));
    end_world(&w);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heap");
    TCase *found = tcase_create("walk"), *damage = tcase_create("damage"),
          *parts = tcase_create("parts"), *index = tcase_create("index"),
          *dumps = tcase_create("dump");
    tcase_add_loop_test(found, everything_is_found, 0, SHAPES);
    tcase_add_test(found, shapes_tell_what_they_are);
    tcase_add_test(found, marked_objects_are_objects);
    tcase_add_loop_test(found, gaps_of_allocation_contexts, 0, SHAPES);
    tcase_add_test(found, contexts_that_do_not_fit);
    suite_add_tcase(suite, found);
    tcase_add_loop_test(damage, one_lost_object_is_one_lost_object, 0, 6);
    tcase_add_test(damage, lost_objects_that_hold_types);
    tcase_add_test(damage, references_tell_objects);
    tcase_add_test(damage, types_without_instances);
    tcase_add_test(damage, sizes_that_lead_out_are_damage);
    tcase_add_loop_test(damage, rubbish_of_every_kind, 0, SHAPES);
    tcase_add_test(damage, gaps_are_found_again);
    tcase_add_loop_test(damage, holes, 0, 6);
    tcase_add_test(damage, a_segment_without_memory);
    tcase_add_loop_test(damage, split_headers, 0, SHAPES);
    tcase_add_test(damage, types_that_are_not_saved);
    tcase_add_test(damage, in_the_middle_of_a_gc);
    tcase_set_timeout(damage, 120);
    suite_add_tcase(suite, damage);
    tcase_add_loop_test(parts, large_segments_are_walked_in_parts, 0, 5);
    tcase_set_timeout(parts, 120);
    suite_add_tcase(suite, parts);
    tcase_add_test(index, numbers_outside_objects);
    tcase_add_test(index, scans_of_a_part);
    tcase_add_test(index, segments_far_apart);
    tcase_add_loop_test(index, postings_by_type, 0, SHAPES);
    tcase_add_test(index, all_types);
    suite_add_tcase(suite, index);
    tcase_add_test(dumps, parts_are_built_in_order);
    tcase_add_test(dumps, what_was_cancelled_can_be_asked_again);
    tcase_add_test(dumps, dumps_without_heap_or_runtime);
    tcase_add_test(dumps, files_that_are_no_dump);
    tcase_add_test(dumps, out_of_memory);
    tcase_set_timeout(dumps, 120);
    suite_add_tcase(suite, dumps);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
