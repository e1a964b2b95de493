/*
 * Roots: every source, what is a root and what is none, names, arrays of statics, conservative
 * stacks, and lists that are damaged.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "heap_graph.h"

static struct heap_graph g;

static const struct clr_root *find(enum clr_root_kind kind, uint64_t object)
{
    const struct clr_roots *roots = g.dump->roots;
    for (size_t i = 0; i < roots->count; i++)
        if (roots->rows[i].kind == kind && roots->rows[i].object == object)
            return &roots->rows[i];
    return NULL;
}

static size_t count(enum clr_root_kind kind)
{
    size_t found = 0;
    for (size_t i = 0; i < g.dump->roots->count; i++)
        found += g.dump->roots->rows[i].kind == kind;
    return found;
}

static void check_name(const struct clr_root *root, const char *wanted)
{
    struct clr_text text = {0};
    ck_assert_ptr_nonnull(root);
    clr_root_name(g.dump->runtime, root, &text);
    ck_assert_str_eq(text.data ? text.data : "", wanted);
    clr_text_deinit(&text);
}

/* --- Statics --------------------------------------------------------------------------------- */

START_TEST(statics_are_roots_of_their_own)
{
    static const struct fake_options processes[] = {
        {0}, {.release = 10}, {.release = 9}, {.word = 4}};
    graph_create(&g, &processes[_i]);
    uint64_t first = graph_node(&g), second = graph_node(&g), other = graph_node(&g);
    graph_statics(&g, 5);
    graph_set_element(&g, g.statics, 1, first);
    graph_set_element(&g, g.statics, 2, second);
    graph_set_element(&g, g.statics, 4, other); /* of a type that is not known, or a literal */
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATORS, 1);
    check_name(find(CLR_ROOT_STATIC, first), "Zoo.Holder.First");
    check_name(find(CLR_ROOT_STATIC, second), "Zoo.Holder.Second");
    ck_assert_uint_eq(find(CLR_ROOT_STATIC, first)->address, graph_element(&g, g.statics, 1));
    ck_assert_uint_eq(count(CLR_ROOT_STATIC), 2);
    /* What no field names: a root by array and number. */
    const struct clr_root *unnamed = find(CLR_ROOT_HANDLE + CLR_HANDLE_STRONG, other);
    ck_assert_ptr_nonnull(unnamed);
    char wanted[80];
    snprintf(wanted, sizeof wanted, "System.Object[] 0x%llx[4]", (unsigned long long)g.statics);
    check_name(unnamed, wanted);
    /* The array lives by its handle and dominates nothing but itself. */
    ck_assert_ptr_nonnull(find(CLR_ROOT_HANDLE + CLR_HANDLE_STRONG, g.statics));
    uint32_t array = graph_number(&g, g.statics);
    ck_assert_uint_eq(g.dump->roots->static_array_count, 1);
    ck_assert_uint_eq(g.dump->roots->static_arrays[0], array);
    ck_assert_uint_eq(g.dump->dominators.retained_count[array], 1);
    ck_assert_uint_eq(g.dump->dominators.dominator[graph_number(&g, first)],
                      CLR_DOMINATED_BY_ROOTS);
    ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, graph_number(&g, first)), 0);
    /* Its edges are rows of refs all the same. */
    uint64_t refs;
    graph_forward_sum(g.dump, &refs);
    ck_assert_uint_eq(refs, 3);
    graph_close(&g);
}
END_TEST

START_TEST(thread_statics_belong_to_their_threads)
{
    graph_create(&g, NULL);
    uint64_t held[2], threads[2], own[2];
    for (unsigned i = 0; i < 2; i++) {
        threads[i] = fake_thread(g.f, 1 + i, 0);
        held[i] = graph_node(&g);
        own[i] = graph_thread_statics(&g, threads[i]);
        graph_set_element(&g, own[i], 1, held[i]);
    }
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATORS, 1);
    for (unsigned i = 0; i < 2; i++) {
        const struct clr_root *root = find(CLR_ROOT_THREAD_STATIC, held[i]);
        check_name(root, "Zoo.Holder.PerThread");
        ck_assert_uint_eq(root->thread, threads[i]);
        ck_assert_uint_eq(root->address, graph_element(&g, own[i], 1));
        /* The thread's array of a type stores statics; what holds it has edges that count. */
        ck_assert_uint_eq(g.dump->dominators.retained_count[graph_number(&g, own[i])], 1);
        ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, graph_number(&g, own[i])), 1);
    }
    ck_assert_uint_eq(count(CLR_ROOT_THREAD_STATIC), 4);
    size_t thread_data = 0;
    for (size_t i = 0; i < g.dump->roots->count; i++)
        if (g.dump->roots->rows[i].naming == CLR_NAMED_THREAD_DATA) {
            check_name(&g.dump->roots->rows[i], "thread data");
            thread_data++;
        }
    ck_assert_uint_eq(thread_data, 2);
    ck_assert_ptr_null(graph_problem(&g, "roots", ""));
    graph_close(&g);
}
END_TEST

START_TEST(a_damaged_base_hides_no_edges)
{
    graph_create(&g, NULL);
    uint64_t node = graph_node(&g), leaf = graph_leaf(&g), last = graph_leaf(&g);
    graph_link(&g, node, 1, leaf);
    graph_link(&g, node, 2, last);
    graph_root(&g, node);
    graph_statics(&g, 2);
    uint64_t info = fake_get(g.f, g.holder, "MethodTable", "AuxiliaryData") -
                    fake_size(g.f, "DynamicStaticsInfo");
    fake_set(g.f, info, "DynamicStaticsInfo", "GCStatics", graph_slot(&g, node, 0));
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(g.dump->roots->static_array_count, 0);
    ck_assert_uint_ne(clr_reach_distance(&g.dump->reach, graph_number(&g, last)), CLR_UNREACHED);
    graph_close(&g);
}
END_TEST

/* What cannot be read is said, and the roots are not whole. */
START_TEST(statics_that_a_runtime_does_not_describe)
{
    static const struct fake_options processes[] = {{0}, {.release = 9}, {0}};
    static const char *const wanted[] = {"static fields do not name roots",
                                         "thread statics are not", "thread statics are not"};
    graph_create(&g, &processes[_i]);
    uint64_t held = graph_node(&g);
    graph_statics(&g, 2);
    graph_set_element(&g, g.statics, 1, held);
    if (_i == 0)
        fake_hide(g.f, "DynamicStaticsInfo", "GCStatics");
    if (_i == 2)
        fake_hide(g.f, "ThreadLocalData", "NonCollectibleTlsArrayData");
    graph_open(&g, CLR_PART_ROOTS, 1);
    const struct clr_problem *problem = graph_problem(&g, "roots", wanted[_i]);
    ck_assert_ptr_nonnull(problem);
    ck_assert(problem->incomplete);
    ck_assert(clr_problems_incomplete(g.dump->problems));
    ck_assert_int_eq(find(CLR_ROOT_STATIC, held) != NULL, _i != 0);
    graph_close(&g);
}
END_TEST

/* .NET 8 does not describe statics either. Handles hold their arrays, so that nothing looks dead,
 * but no field is a root and the arrays retain what the fields hold: not whole. */
START_TEST(statics_that_handles_hold)
{
    static const struct fake_options net8 = {.release = 8};
    graph_create(&g, &net8);
    uint64_t held = graph_node(&g);
    graph_root(&g, held);
    fake_hide(g.f, "DynamicStaticsInfo", "GCStatics");
    graph_open(&g, CLR_PART_ROOTS, 1);
    const struct clr_problem *problem = graph_problem(&g, "roots", "static fields are no roots");
    ck_assert_ptr_nonnull(problem);
    ck_assert(problem->incomplete);
    ck_assert(clr_problems_incomplete(g.dump->problems));
    ck_assert_ptr_nonnull(strstr(problem->message, "handles of kind strong"));
    ck_assert_ptr_nonnull(find(CLR_ROOT_HANDLE + CLR_HANDLE_STRONG, held));
    graph_close(&g);
}
END_TEST

START_TEST(threads_that_a_runtime_does_not_describe)
{
    graph_create(&g, NULL);
    uint64_t held = graph_node(&g);
    fake_exception(g.f, fake_thread(g.f, 1, 100), graph_node(&g));
    graph_root(&g, held);
    fake_contract(g.f, "Thread", _i ? "c99" : NULL);
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_ptr_nonnull(find(CLR_ROOT_HANDLE + CLR_HANDLE_STRONG, held));
    ck_assert_uint_eq(count(CLR_ROOT_EXCEPTION), 0);
    ck_assert_ptr_nonnull(graph_problem(&g, "roots", "what threads hold"));
    ck_assert(clr_problems_incomplete(g.dump->problems));
    graph_close(&g);
}
END_TEST

/* --- Handles, finalizers, exceptions, frames, frozen objects --------------------------------- */

START_TEST(handles_that_hold)
{
    static const enum {
        WEAK,
        HOLDS,
        PINS
    } kinds[CLR_HANDLE_KINDS] = {
        [CLR_HANDLE_STRONG] = HOLDS,      [CLR_HANDLE_PINNED] = PINS,
        [CLR_HANDLE_REF_COUNTED] = HOLDS, [CLR_HANDLE_ASYNC_PINNED] = PINS,
        [CLR_HANDLE_SIZED_REF] = HOLDS,
    };
    size_t holding = 0;
    uint64_t objects[CLR_HANDLE_KINDS];
    graph_create(&g, NULL);
    for (unsigned kind = 0; kind < CLR_HANDLE_KINDS; kind++) {
        objects[kind] = graph_leaf(&g);
        fake_handle(g.f, 0, kind, objects[kind], 0);
    }
    graph_open(&g, CLR_PART_REACH, 1);
    for (unsigned kind = 0; kind < CLR_HANDLE_KINDS; kind++) {
        uint32_t distance = clr_reach_distance(&g.dump->reach, graph_number(&g, objects[kind]));
        ck_assert_msg((distance == 0) == (kinds[kind] != WEAK), "%s", clr_handle_kind_text(kind));
        ck_assert_int_eq(clr_handle_is_strong(kind), kinds[kind] != WEAK);
        if (kinds[kind] == WEAK)
            continue;
        holding++;
        const struct clr_root *root = find(CLR_ROOT_HANDLE + kind, objects[kind]);
        ck_assert_ptr_nonnull(root);
        ck_assert_int_eq(root->is_pinned, kinds[kind] == PINS);
        ck_assert_str_eq(clr_root_kind_text(root->kind), clr_handle_kind_text(kind));
    }
    ck_assert_uint_eq(g.dump->roots->count, holding);
    graph_close(&g);
}
END_TEST

/* A wrapper of a COM object says how often it is held: by COM in the low 31 bits, by a tracker in
 * the high 32, which decides where COM's count is 0. What does not lead to a wrapper that names the
 * handle has no count, and is a root. */
START_TEST(counts_of_ref_counted_handles)
{
    bool announced = _i == 0;
    static const struct {
        uint64_t count, owner; /* OWNER is added to the handle's address */
        int64_t known;
        bool leads, holds;
    } cases[] = {
        {2, 0, 2, true, true},
        {0, 0, 0, true, false},
        {0x80000000, 0, 0, true, false},
        {0x300000001, 0, 1, true, true},
        {0x300000000, 0, -1, true, true},
        {0, 8, -1, true, true},
        {0, 0, -1, false, true},
    };
    uint64_t objects[sizeof cases / sizeof *cases], slots[sizeof cases / sizeof *cases];
    graph_create(&g, NULL);
    fake_contract(g.f, "ComWrappers", announced ? "c1" : "c2");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t wrapper = fake_memory(g.f, fake_size(g.f, "ManagedObjectWrapperLayout"));
        objects[i] = graph_leaf(&g);
        slots[i] = fake_handle(g.f, 0, CLR_HANDLE_REF_COUNTED, objects[i], 0);
        fake_put_word(g.f, wrapper, slots[i] + cases[i].owner);
        fake_put_u64(g.f, wrapper + fake_offset(g.f, "ManagedObjectWrapperLayout", "RefCount"),
                     cases[i].count);
        fake_put_word(g.f,
                      objects[i] + fake_offset(g.f, "ManagedObjectWrapperHolderObject", "Wrapper"),
                      cases[i].leads ? wrapper : 0);
    }
    graph_open(&g, CLR_PART_REACH, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct clr_handle *handle = NULL;
        for (size_t k = 0; k < g.dump->handle_count; k++)
            if (g.dump->handles[k].address == slots[i])
                handle = &g.dump->handles[k];
        ck_assert_ptr_nonnull(handle);
        ck_assert_int_eq(handle->ref_count, announced ? cases[i].known : -1);
        ck_assert_int_eq(find(CLR_ROOT_HANDLE + CLR_HANDLE_REF_COUNTED, objects[i]) != NULL,
                         !announced || cases[i].holds);
    }
    graph_close(&g);
}
END_TEST

/* There is a table of handles for each processor, whatever the number of heaps is now: it adapts.
 */
START_TEST(handles_of_every_processor)
{
    static const struct fake_options servers[] = {{.server_heaps = 4},
                                                  {.server_heaps = 4, .release = 10},
                                                  {.server_heaps = 4, .release = 9},
                                                  {.server_heaps = 4, .release = 8}};
    graph_create(&g, &servers[_i]);
    for (unsigned i = 0; i < 40; i++)
        fake_handle(g.f, i % 4, CLR_HANDLE_STRONG, graph_leaf(&g), 0);
    fake_put_u32(g.f, fake_variable(g.f, "NumHeaps"), 2);
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_uint_eq(g.dump->gc->heap_count, 2);
    ck_assert_uint_eq(count(CLR_ROOT_HANDLE + CLR_HANDLE_STRONG), 40);
    unsigned tables = 0;
    for (size_t i = 0; i < g.dump->handle_count; i++)
        tables |= 1u << g.dump->handles[i].heap;
    ck_assert_uint_eq(tables, 0xf);
    graph_close(&g);
}
END_TEST

START_TEST(only_finalizers_that_are_due_hold)
{
    graph_create(&g, NULL);
    uint64_t objects[7], held = graph_leaf(&g);
    for (unsigned list = 0; list < 7; list++) {
        objects[list] = graph_node(&g);
        graph_link(&g, objects[list], 0, held);
        if (list < 6)
            fake_finalizable(g.f, 0, list, objects[list]);
    }
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(g.dump->finalizer_count, 6);
    ck_assert_uint_eq(count(CLR_ROOT_FINALIZER), 1);
    ck_assert_ptr_nonnull(find(CLR_ROOT_FINALIZER, objects[5]));
    for (unsigned list = 0; list < 7; list++)
        ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, graph_number(&g, objects[list])),
                          list == 5 ? 0 : CLR_UNREACHED);
    ck_assert_uint_eq(clr_reach_distance(&g.dump->reach, graph_number(&g, held)), 1);
    graph_close(&g);
}
END_TEST

START_TEST(a_finalizer_queue_that_is_lost)
{
    graph_create(&g, NULL);
    fake_finalizable(g.f, 0, 5, graph_node(&g));
    fake_set_variable(g.f, "GCHeapFinalizeQueue", 0);
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_uint_eq(count(CLR_ROOT_FINALIZER), 0);
    ck_assert_ptr_nonnull(graph_problem(&g, "finalizer_queue", "cannot be found"));
    ck_assert(clr_problems_incomplete(g.dump->problems));
    graph_close(&g);
}
END_TEST

START_TEST(exceptions_in_flight)
{
    graph_create(&g, NULL);
    uint64_t thread = fake_thread(g.f, 1, 0), inner = graph_node(&g), outer = graph_node(&g);
    fake_exception(g.f, thread, outer);
    fake_exception(g.f, thread, inner);
    if (_i) /* the outer record leads back to the inner one */
        fake_set(g.f,
                 fake_get(g.f, fake_get(g.f, thread, "Thread", "ExceptionTracker"), "ExceptionInfo",
                          "PreviousNestedInfo"),
                 "ExceptionInfo", "PreviousNestedInfo",
                 fake_get(g.f, thread, "Thread", "ExceptionTracker"));
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_ptr_nonnull(find(CLR_ROOT_EXCEPTION, inner));
    ck_assert_ptr_nonnull(find(CLR_ROOT_EXCEPTION, outer));
    ck_assert_uint_eq(find(CLR_ROOT_EXCEPTION, outer)->thread, thread);
    ck_assert_uint_le(count(CLR_ROOT_EXCEPTION), _i ? 8 : 2);
    ck_assert_int_eq(graph_problem(&g, "roots", "does not end") != NULL, _i);
    graph_close(&g);
}
END_TEST

static uint64_t put_frame(uint64_t next, uint64_t slots, uint32_t slot_count, uint32_t flags)
{
    uint64_t frame = fake_memory(g.f, fake_size(g.f, "GCFrame"));
    fake_set(g.f, frame, "GCFrame", "Next", next);
    fake_set(g.f, frame, "GCFrame", "ObjRefs", slots);
    fake_set(g.f, frame, "GCFrame", "NumObjRefs", slot_count);
    fake_set(g.f, frame, "GCFrame", "GCFlags", flags);
    return frame;
}

START_TEST(gc_frames)
{
    graph_create(&g, NULL);
    uint64_t word = g.f->word, thread = fake_thread(g.f, 1, 0);
    uint64_t whole = graph_node(&g), inside = graph_array(&g, 9), pinned = graph_node(&g);
    uint64_t slots = fake_memory(g.f, 4 * word);
    fake_put_word(g.f, slots, whole);
    fake_put_word(g.f, slots + word, 0);
    fake_put_word(g.f, slots + 2 * word, inside + 5 * word);
    fake_put_word(g.f, slots + 3 * word, pinned);
    uint64_t frame = put_frame(UINT64_MAX, slots + 3 * word, 1, 2);
    frame = put_frame(frame, slots + 2 * word, 1, 1);
    uint64_t top = put_frame(frame, slots, 2, 0);
    if (_i == 1)
        fake_set(g.f, frame, "GCFrame", "Next", top);
    if (_i == 2)
        fake_set(g.f, frame, "GCFrame", "Next", 0x10);
    if (_i == 3)
        fake_set(g.f, frame, "GCFrame", "NumObjRefs", UINT32_MAX);
    fake_set(g.f, thread, "Thread", "GCFrame", top);
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_ptr_nonnull(find(CLR_ROOT_GC_FRAME, whole));
    ck_assert(!find(CLR_ROOT_GC_FRAME, whole)->is_interior);
    if (_i != 3) {
        const struct clr_root *root = find(CLR_ROOT_GC_FRAME, inside); /* the whole object */
        ck_assert_ptr_nonnull(root);
        ck_assert(root->is_interior && !root->is_pinned);
    }
    ck_assert_int_eq(find(CLR_ROOT_GC_FRAME, pinned) != NULL, _i == 0 || _i == 3);
    if (_i == 0) {
        ck_assert(find(CLR_ROOT_GC_FRAME, pinned)->is_pinned);
        ck_assert_uint_eq(g.dump->roots->count, 3);
    }
    ck_assert_int_eq(graph_problem(&g, "roots", "") != NULL, _i != 0);
    graph_close(&g);
}
END_TEST

START_TEST(frozen_objects)
{
    graph_create(&g, NULL);
    unsigned frozen = fake_segment(g.f, 0, FAKE_FROZEN);
    uint64_t text = fake_string(g.f, frozen, "literal"),
             other = fake_object(g.f, frozen, g.leaf, 0);
    fake_free(g.f, frozen, 64);
    graph_leaf(&g);
    graph_open(&g, CLR_PART_REACH, 1);
    ck_assert_uint_eq(count(CLR_ROOT_FROZEN), 2);
    ck_assert_uint_eq(find(CLR_ROOT_FROZEN, text)->address, 0);
    ck_assert_ptr_nonnull(find(CLR_ROOT_FROZEN, other));
    graph_close(&g);
}
END_TEST

START_TEST(roots_that_hold_no_object)
{
    graph_create(&g, NULL);
    uint64_t node = graph_node(&g), block = fake_free(g.f, g.segment, 64);
    graph_root(&g, node);
    graph_root(&g, block);
    graph_root(&g, node + 8);
    graph_root(&g, 0x12340);
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATORS, 1);
    ck_assert_uint_eq(g.dump->roots->count, 1);
    ck_assert_uint_eq(graph_problem(&g, "roots", "is no object")->count, 3);
    ck_assert_uint_eq(g.dump->reach.reached, 1);
    graph_close(&g);
}
END_TEST

/* --- Stacks ---------------------------------------------------------------------------------- */

/* A thread with a saved stack of 64 words; the stack. */
static uint64_t put_stack(uint64_t thread, uint32_t os_id, bool publish)
{
    uint64_t stack = fake_memory(g.f, 64 * 8);
    fake_register(g.f, os_id, FAKE_SP, stack + 8 * 8);
    if (publish)
        fake_set(g.f, thread, "Thread", "CachedStackBase", stack + 64 * 8);
    return stack;
}

START_TEST(stacks_are_conservative)
{
    graph_create(&g, NULL);
    uint64_t thread = fake_thread(g.f, 1, 100), stack = put_stack(thread, 100, true);
    uint64_t live = graph_node(&g), below = graph_node(&g), inside = graph_array(&g, 5);
    uint64_t in_register = graph_node(&g), shared = graph_node(&g), own = graph_node(&g);
    uint64_t block = fake_free(g.f, g.segment, 64), under = graph_leaf(&g);
    graph_link(&g, live, 0, shared);
    graph_link(&g, live, 1, own);
    graph_link(&g, own, 0, shared);
    graph_link(&g, shared, 0, under);
    graph_root(&g, shared);
    fake_put_word(g.f, stack, below); /* popped already */
    fake_put_word(g.f, stack + 20 * 8, live);
    fake_put_word(g.f, stack + 21 * 8, inside + 24);
    fake_put_word(g.f, stack + 22 * 8, block);
    fake_put_word(g.f, stack + 23 * 8, shared); /* a precise root holds it too */
    fake_put_word(g.f, stack + 24 * 8, 12345);
    fake_register(g.f, 100, 3, in_register);
    graph_open(&g, CLR_PART_REACH | CLR_PART_DOMINATORS, 1);
    ck_assert_uint_eq(count(CLR_ROOT_STACK), 4);
    ck_assert_ptr_null(find(CLR_ROOT_STACK, below));
    ck_assert(find(CLR_ROOT_STACK, live)->is_conservative);
    ck_assert_uint_eq(find(CLR_ROOT_STACK, live)->address, stack + 20 * 8);
    ck_assert_uint_eq(find(CLR_ROOT_STACK, live)->thread, thread);
    ck_assert(find(CLR_ROOT_STACK, inside)->is_interior);
    ck_assert_uint_eq(find(CLR_ROOT_STACK, in_register)->address, 0);
    ck_assert_ptr_nonnull(find(CLR_ROOT_STACK, in_register)->location);

    /* They keep alive, and share nothing with what precise roots hold. */
    const struct clr_reach *reach = &g.dump->reach;
    ck_assert_uint_eq(clr_reach_distance(reach, graph_number(&g, live)), 0);
    ck_assert(clr_reach_second(reach, graph_number(&g, live)));
    ck_assert_uint_eq(clr_reach_distance(reach, graph_number(&g, own)), 1);
    ck_assert(clr_reach_second(reach, graph_number(&g, own)));
    ck_assert(!clr_reach_second(reach, graph_number(&g, shared)));
    ck_assert_uint_eq(clr_reach_distance(reach, graph_number(&g, below)), CLR_UNREACHED);
    const struct clr_dominators *d = &g.dump->dominators;
    ck_assert_uint_eq(d->dominator[graph_number(&g, shared)], CLR_DOMINATED_BY_ROOTS);
    ck_assert_uint_eq(d->retained_count[graph_number(&g, shared)], 2);
    ck_assert_uint_eq(d->retained_count[graph_number(&g, live)], 2);
    graph_close(&g);
}
END_TEST

START_TEST(stacks_can_be_left_out)
{
    struct clr_options options = {.no_conservative_roots = true};
    struct clr_error error = {0};
    graph_create(&g, NULL);
    uint64_t stack = put_stack(fake_thread(g.f, 1, 100), 100, true);
    fake_put_word(g.f, stack + 20 * 8, graph_node(&g));
    ck_assert_int_eq(clr_dump_open(fake_path(g.f), &options, NULL, &g.dump, &error), CLR_OK);
    graph_need(&g, CLR_PART_ROOTS);
    ck_assert_uint_eq(g.dump->roots->count, 0);
    graph_close(&g);
}
END_TEST

START_TEST(stacks_with_wrong_bounds)
{
    graph_create(&g, NULL);
    uint64_t thread = fake_thread(g.f, 1, 100), stack = put_stack(thread, 100, false);
    uint64_t live = graph_node(&g);
    fake_put_word(g.f, stack + 20 * 8, live);
    const uint64_t bases[] = {0, 1, stack, UINT64_MAX, stack + ((uint64_t)1 << 40)};
    fake_set(g.f, thread, "Thread", "CachedStackBase", bases[_i]);
    graph_open(&g, CLR_PART_ROOTS, 1); /* the mapping ends it */
    ck_assert_ptr_nonnull(find(CLR_ROOT_STACK, live));
    ck_assert_uint_lt(count(CLR_ROOT_STACK), 100);
    graph_close(&g);
}
END_TEST

START_TEST(stacks_that_are_not_saved)
{
    graph_create(&g, NULL);
    uint64_t thread = fake_thread(g.f, 1, 100), stack = put_stack(thread, 100, true);
    uint64_t live = graph_node(&g);
    fake_put_word(g.f, stack + 50 * 8, live);
    if (_i == 0)
        fake_forget(g.f, stack + 10 * 8, 20 * 8); /* goes on behind the hole */
    else
        fake_register(g.f, 100, FAKE_SP, 0x40);
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_int_eq(find(CLR_ROOT_STACK, live) != NULL, _i == 0);
    ck_assert_ptr_nonnull(graph_problem(&g, "roots", "stack"));
    graph_close(&g);
}
END_TEST

/* A thread that runs and is not in the dump, under its own id, has roots that nothing tells. */
START_TEST(stacks_without_their_os_thread)
{
    graph_create(&g, NULL);
    uint64_t thread = fake_thread(g.f, 1, 100), stack = put_stack(thread, 100, true);
    uint64_t live = graph_node(&g);
    const uint64_t ids[] = {100, 101, 0, ((uint64_t)1 << 32) + 100, 100};
    fake_put_word(g.f, stack + 20 * 8, live);
    fake_set(g.f, thread, "Thread", "CachedStackLimit", stack);
    fake_set(g.f, thread, "Thread", "OSId", ids[_i]);
    if (_i == 4) /* registers of another stack */
        fake_register(g.f, 100, FAKE_SP, fake_memory(g.f, 64 * 8));
    graph_open(&g, CLR_PART_ROOTS, 1);
    ck_assert_int_eq(find(CLR_ROOT_STACK, live) != NULL, _i == 0);
    ck_assert_int_eq(graph_problem(&g, "roots", "are missing") != NULL, _i != 0);
    ck_assert_int_eq(clr_problems_incomplete(g.dump->problems), _i != 0);
    graph_close(&g);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("roots");
    TCase *statics = tcase_create("statics");
    tcase_add_loop_test(statics, statics_are_roots_of_their_own, 0, 4);
    tcase_add_test(statics, thread_statics_belong_to_their_threads);
    tcase_add_test(statics, a_damaged_base_hides_no_edges);
    tcase_add_loop_test(statics, statics_that_a_runtime_does_not_describe, 0, 3);
    tcase_add_test(statics, statics_that_handles_hold);
    tcase_add_loop_test(statics, threads_that_a_runtime_does_not_describe, 0, 2);
    suite_add_tcase(suite, statics);
    TCase *others = tcase_create("others");
    tcase_add_test(others, handles_that_hold);
    tcase_add_loop_test(others, counts_of_ref_counted_handles, 0, 2);
    tcase_add_loop_test(others, handles_of_every_processor, 0, 4);
    tcase_add_test(others, only_finalizers_that_are_due_hold);
    tcase_add_test(others, a_finalizer_queue_that_is_lost);
    tcase_add_loop_test(others, exceptions_in_flight, 0, 2);
    tcase_add_loop_test(others, gc_frames, 0, 4);
    tcase_add_test(others, frozen_objects);
    tcase_add_test(others, roots_that_hold_no_object);
    suite_add_tcase(suite, others);
    TCase *stacks = tcase_create("stacks");
    tcase_add_test(stacks, stacks_are_conservative);
    tcase_add_test(stacks, stacks_can_be_left_out);
    tcase_add_loop_test(stacks, stacks_with_wrong_bounds, 0, 5);
    tcase_add_loop_test(stacks, stacks_that_are_not_saved, 0, 2);
    tcase_add_loop_test(stacks, stacks_without_their_os_thread, 0, 5);
    suite_add_tcase(suite, stacks);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
