/*
 * Contracts, objects, types, modules and threads over a fake process: in every release and word
 * size, and over damage of every kind.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "metadata_builder.h"
#include "runtime/loader.h"
#include "runtime/loop.h"
#include "runtime/object.h"
#include "runtime/thread.h"
#include "runtime/types.h"

/* Every kind of process that the builder knows: tests of what all share run over these. */
static const struct fake_options shapes[] = {
    {0},
    {.word = 4},
    {.big_endian = true},
    {.word = 4, .big_endian = true},
    {.release = 10},
    {.release = 9},
    {.release = 8},
    {.release = 10, .word = 4, .big_endian = true},
    {.server_heaps = 2},
    {.segments = true},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static bool has_problem(const struct fake_target *t, const char *area, const char *part)
{
    for (size_t i = 0; i < clr_problems_count(t->problems); i++) {
        const struct clr_problem *problem = clr_problems_at(t->problems, i);
        if (strcmp(problem->area, area) == 0 && strstr(problem->message, part))
            return true;
    }
    return false;
}

/* The only message of a target without problems is none; shows the first one otherwise. */
static void ck_no_problems(const struct fake_target *t)
{
    ck_assert_msg(clr_problems_count(t->problems) == 0, "%s",
                  clr_problems_count(t->problems) ? clr_problems_at(t->problems, 0)->message : "");
}

/* --- Contracts -------------------------------------------------------------------------------- */

START_TEST(every_release_is_served)
{
    static const char *const new_versions[] = {"c1", "c1", "c1", "c1", "c1", "c1", "c1"};
    static const char *const old_versions[] = {"1", "1", "1", "1", "c1", "1", "c1"};
    static const char *const versions_8[] = {"1", "s8", "s8", "1", "c1", "1", "c1"};
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    const char *const *versions = f->release == 11  ? new_versions
                                  : f->release == 8 ? versions_8
                                                    : old_versions;
    fake_open(f, &t);
    for (int id = 0; id < 7; id++) {
        ck_assert_msg(t.runtime->contract[id], "%s", t.runtime->refusal[id]);
        ck_assert_str_eq(t.runtime->contract[id]->version, versions[id]);
        ck_assert_ptr_null(t.runtime->refusal[id]);
        ck_assert_int_eq(clr_runtime_require(t.runtime, (enum clr_contract_id)id, "objects", NULL),
                         CLR_OK);
    }
    ck_assert_uint_eq(t.runtime->word, f->word);
    ck_assert_uint_eq(t.runtime->alignment_mask, f->word - 1);
    ck_assert_uint_eq(t.runtime->free_type, f->known.free);
    ck_assert_uint_eq(t.runtime->object_type, f->known.object);
    ck_assert_uint_eq(t.runtime->string_type, f->known.string);
    ck_assert_uint_eq(t.runtime->object_array_type, f->known.object_array);
    ck_assert_uint_eq(t.runtime->exception_type, f->known.exception);
    ck_assert_uint_eq(t.runtime->canon_type, f->known.canon);
    /* Before 10 no variable tells it: it was found by its name. */
    ck_assert_uint_eq(t.runtime->delegate_type, f->known.multicast_delegate);
    ck_assert_uint_eq(t.runtime->object.header_size, f->word);
    ck_no_problems(&t);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(an_unknown_version_is_told_and_the_rest_works)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_error error = {0};
    struct clr_thread *threads;
    size_t count;
    fake_contract(f, "Thread", "c99");
    fake_open(f, &t);
    ck_assert_ptr_null(t.runtime->contract[CLR_CONTRACT_THREAD]);
    ck_assert(has_problem(&t, "contracts", "Thread: version c99 is not known"));
    ck_assert_int_eq(clr_problems_at(t.problems, 0)->severity, CLR_WARNING);
    ck_assert_int_eq(clr_threads_read(t.runtime, t.problems, &threads, &count, &error),
                     CLR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "threads cannot be given"));
    ck_assert_ptr_nonnull(strstr(error.text, "c99"));
    ck_assert(clr_type_valid(t.runtime, f->known.string));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_contract_that_is_not_announced_is_refused)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_error error = {0};
    fake_contract(f, "RuntimeTypeSystem", NULL);
    fake_open(f, &t);
    ck_assert_int_eq(clr_runtime_require(t.runtime, CLR_CONTRACT_TYPES, "types", &error),
                     CLR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "does not announce the contract RuntimeTypeSystem"));
    ck_assert(!clr_type_valid(t.runtime, f->known.string));
    ck_assert_uint_eq(t.runtime->object_type, 0);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_missing_name_makes_the_contract_absent)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_error error = {0};
    const struct clr_module *const *modules;
    size_t count;
    fake_hide(f, "Assembly", "Module");
    fake_open(f, &t);
    ck_assert(has_problem(&t, "contracts", "Assembly.Module"));
    ck_assert_int_eq(clr_modules(t.runtime, &modules, &count, &error), CLR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "Assembly.Module"));
    ck_assert_ptr_null(clr_module_get(t.runtime, f->known.core));
    ck_assert_uint_eq(clr_module_type(t.runtime, f->known.core, 2), 0);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(versions_that_serve)
{
    ck_assert_str_eq(clr_contract_served("Thread", "c1"), "c1");
    ck_assert_str_eq(clr_contract_served("Thread", "1"), "1");
    ck_assert_str_eq(clr_contract_served("RuntimeTypeSystem", "s8"), "s8");
    ck_assert_str_eq(clr_contract_served("ComWrappers", "c1"), "c1");
    ck_assert_ptr_null(clr_contract_served("Thread", "2"));
    ck_assert_ptr_null(clr_contract_served("WindowsErrorReporting", "c1"));
}
END_TEST

START_TEST(no_two_rows_serve_the_same)
{
    for (const struct clr_contract_row *a = clr_contract_rows; a->name; a++) {
        ck_assert_uint_lt(a->id, CLR_CONTRACTS);
        for (const struct clr_contract_row *b = a + 1; b->name; b++)
            ck_assert(a->id != b->id || strcmp(a->version, b->version) != 0);
    }
}
END_TEST

/* Every row is in docs/contracts.md: some line has the contract's name and the version. */
START_TEST(rows_are_documented)
{
    for (const struct clr_contract_row *row = clr_contract_rows; row->name; row++) {
        FILE *file = fopen(CLRDB_SOURCE "/docs/contracts.md", "r");
        char line[1024], version[32];
        bool found = false;
        ck_assert_ptr_nonnull(file);
        snprintf(version, sizeof version, "`%s`", row->version);
        while (!found && fgets(line, sizeof line, file)) {
            const char *name = strstr(line, row->name);
            found = name && strstr(name, version);
        }
        fclose(file);
        ck_assert_msg(found, "%s %s", row->name, row->version);
    }
}
END_TEST

/* --- Objects ---------------------------------------------------------------------------------- */

START_TEST(objects_by_their_address)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t type = fake_class(f, 0, 2, 1), object = fake_object(f, gen0, type, 0);
    uint64_t string = fake_string(f, gen0, "h\xe9llo");
    uint64_t empty = fake_string(f, gen0, "");
    uint64_t array = fake_object(f, gen0, f->known.object_array, 3);
    uint64_t found, characters, hash, handle = fake_slot(f, object);
    uint32_t length;
    struct clr_text text = {0};
    fake_put_word(f, object, type | 1); /* marked */
    fake_open(f, &t);
    ck_assert(clr_object_type(t.runtime, object, &found));
    ck_assert_uint_eq(found, type);
    ck_assert(!clr_object_type(t.runtime, 0x1000, &found));
    ck_assert(clr_object_string(t.runtime, string, &length, &characters));
    ck_assert_uint_eq(length, 5);
    ck_assert_uint_eq(characters, string + f->word + 4);
    ck_assert(clr_object_string_text(t.runtime, string, &text));
    ck_assert_str_eq(text.data, "h\xc3\xa9llo");
    /* FNV-1a of the ten bytes of UTF-16LE, in either byte order. */
    ck_assert(clr_object_string_hash(t.runtime, string, &hash));
    ck_assert_uint_eq(hash, 0x9c39dcf5d4471d8bu);
    ck_assert(clr_object_string_hash(t.runtime, empty, &hash));
    ck_assert_uint_eq(hash, 0xcbf29ce484222325u);
    clr_text_clear(&text);
    ck_assert(clr_object_string_text(t.runtime, empty, &text));
    ck_assert_uint_eq(text.length, 0);
    ck_assert(clr_object_count(t.runtime, array, &length));
    ck_assert_uint_eq(length, 3);
    ck_assert(clr_handle_object(t.runtime, handle, &found));
    ck_assert_uint_eq(found, object);
    ck_assert(!clr_handle_object(t.runtime, 0, &found));
    ck_assert(!clr_handle_object(t.runtime, 0x1000, &found));
    clr_text_deinit(&text);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_string_over_two_runs_is_whole_and_a_cut_one_is_refused)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t cut = fake_string(f, gen0, "0123456789"), pair = fake_string(f, gen0, "0123456789");
    uint64_t huge = fake_string(f, gen0, "0123456789"), hash, got;
    struct clr_text text = {0};
    fake_forget(f, cut + 12 + 6, 2);
    fake_put_u16(f, pair + 12, 0xd83d); /* a character of two units, between which a run ends */
    fake_put_u16(f, pair + 14, 0xde00);
    fake_split(f, pair + 14);
    fake_put_u32(f, huge + 8, UINT32_MAX);
    fake_open(f, &t);
    ck_assert_ptr_nonnull(clr_view(t.process, pair + 12, 20, &got));
    ck_assert_uint_eq(got, 2);
    ck_assert(clr_object_string_text(t.runtime, pair, &text));
    ck_assert_str_eq(text.data, "\xf0\x9f\x98\x80"
                                "23456789");
    ck_assert(clr_object_string_hash(t.runtime, pair, &hash));
    clr_text_clear(&text);
    ck_assert(!clr_object_string_text(t.runtime, cut, &text));
    ck_assert(!clr_object_string_hash(t.runtime, cut, &hash));
    ck_assert(!clr_object_string_text(t.runtime, huge, &text));
    ck_assert(!clr_object_string_hash(t.runtime, huge, &hash));
    ck_assert_uint_eq(text.length, 0);
    ck_assert(!text.failed);
    clr_text_deinit(&text);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(header_words)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_header h;
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t type = fake_class(f, 0, 2, 0), o[7];
    for (int i = 0; i < 7; i++)
        o[i] = fake_object(f, gen0, type, 0);
    fake_header(f, o[1], 0x0c000000 | 0x12345);        /* hash code */
    fake_header(f, o[2], 0x40000000 | 3 << 16 | 0x21); /* thin lock; finalizer done */
    uint32_t good = fake_sync_block(f, o[3], 0x777);
    uint32_t stale = fake_sync_block(f, o[4], 0x888);
    uint64_t entry =
        fake_word(f, fake_variable(f, "SyncTableEntries")) + stale * fake_size(f, "SyncTableEntry");
    fake_set(f, entry, "SyncTableEntry", "Object", o[0]); /* belongs to another */
    fake_header(f, o[5], 0x08000000 | 0x3ffffff);         /* far outside the table */
    fake_open(f, &t);
    ck_assert(clr_object_header(t.runtime, o[0], &h));
    ck_assert_int_eq(h.kind, CLR_HEADER_NONE);
    ck_assert(clr_object_header(t.runtime, o[1], &h));
    ck_assert_int_eq(h.kind, CLR_HEADER_HASH);
    ck_assert_uint_eq(h.hash, 0x12345);
    ck_assert(clr_object_header(t.runtime, o[2], &h));
    ck_assert(h.finalizer_done);
    if (f->release == 8) { /* that layout is not described */
        ck_assert_int_eq(h.kind, CLR_HEADER_NONE);
    } else {
        ck_assert_int_eq(h.kind, CLR_HEADER_THIN_LOCK);
        ck_assert_uint_eq(h.owner, 0x21);
        ck_assert_uint_eq(h.recursion, 3);
    }
    ck_assert(clr_object_header(t.runtime, o[3], &h));
    ck_assert_int_eq(h.kind, CLR_HEADER_SYNC_BLOCK);
    ck_assert_uint_eq(h.sync_index, good);
    ck_assert_uint_ne(h.sync_block, 0);
    ck_assert_uint_eq(h.hash, f->release == 11 ? 0x777 : 0);
    ck_assert(clr_object_header(t.runtime, o[4], &h));
    ck_assert_uint_eq(h.sync_index, stale);
    ck_assert_uint_eq(h.sync_block, 0);
    ck_assert(clr_object_header(t.runtime, o[5], &h));
    ck_assert_int_eq(h.kind, CLR_HEADER_SYNC_BLOCK);
    ck_assert_uint_eq(h.sync_block, 0);
    ck_assert(!clr_object_header(t.runtime, 0x1000, &h));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

/* --- Types ------------------------------------------------------------------------------------ */

START_TEST(known_types)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_type type;
    const struct {
        uint64_t address, parent;
        enum clr_type_kind kind;
        uint32_t base_size, component_size, rank;
        bool references;
    } expected[] = {
        {f->known.free, 0, CLR_KIND_FREE, 3u * f->word, 1, 0, false},
        {f->known.object, 0, CLR_KIND_CLASS, 3u * f->word, 0, 0, false},
        {f->known.string, f->known.object, CLR_KIND_STRING, 2u * f->word + 6, 2, 0, false},
        {f->known.object_array, f->known.array, CLR_KIND_SZARRAY, 3u * f->word, f->word, 1, true},
        {f->known.exception, f->known.object, CLR_KIND_CLASS, 7u * f->word, 0, 0, true},
        {f->known.multicast_delegate, f->known.delegate, CLR_KIND_CLASS, 8u * f->word, 0, 0, true},
        {f->known.int32, f->known.value_type, CLR_KIND_STRUCT, 3u * f->word, 0, 0, false},
    };
    fake_open(f, &t);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        ck_assert(clr_type_valid(t.runtime, expected[i].address));
        ck_assert(clr_type_read(t.runtime, expected[i].address, &type));
        ck_assert_uint_eq(type.address, expected[i].address);
        ck_assert_uint_eq(type.parent, expected[i].parent);
        ck_assert_int_eq(type.kind, expected[i].kind);
        ck_assert_uint_eq(type.base_size, expected[i].base_size);
        ck_assert_uint_eq(type.component_size, expected[i].component_size);
        ck_assert_uint_eq(type.rank, expected[i].rank);
        ck_assert(type.contains_references == expected[i].references);
        ck_assert(!type.is_collectible && !type.has_finalizer && !type.is_generic);
        if (type.kind != CLR_KIND_FREE)
            ck_assert_uint_eq(type.module, f->known.core);
    }
    ck_assert(clr_type_read(t.runtime, f->known.string, &type));
    ck_assert_uint_eq(type.token, 0x02000003);
    ck_assert_uint_eq(type.attributes, 0x100);
    ck_assert(clr_type_read(t.runtime, f->known.object_array, &type));
    ck_assert_uint_eq(type.token, 0);
    ck_assert_uint_eq(type.element_handle, f->known.object);
    ck_assert(clr_type_read(t.runtime, f->known.int32, &type));
    ck_assert_uint_eq(type.norm_type, 8);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(kinds)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_type type;
    uint64_t made[7];
    made[0] = fake_type(f, &(struct fake_type){.parent = f->known.multicast_delegate});
    made[1] = fake_type(f, &(struct fake_type){.flags = 0x000c0000, .parent = FAKE_NONE});
    made[2] =
        fake_type(f, &(struct fake_type){.flags = 0x00060000, .parent = f->known.enumeration});
    made[3] = fake_type(f, &(struct fake_type){.flags = 0x00050000, .parent = f->known.value_type});
    made[4] = fake_type(f, &(struct fake_type){.flags = 0x00080000,
                                               .component_size = 4,
                                               .base_size = 3u * f->word + 16,
                                               .parent = f->known.array,
                                               .element = f->known.int32});
    made[5] = fake_type(f, &(struct fake_type){.flags = 0x00080000,
                                               .component_size = 4,
                                               .base_size = 3u * f->word + 8,
                                               .parent = f->known.array,
                                               .element = f->known.int32});
    made[6] = fake_type(f, &(struct fake_type){.flags = CLR_MT_FINALIZER, .is_collectible = true});
    static const struct {
        enum clr_type_kind kind;
        uint32_t rank;
        const char *text;
    } expected[] = {
        {CLR_KIND_DELEGATE, 0, "delegate"}, {CLR_KIND_INTERFACE, 0, "interface"},
        {CLR_KIND_ENUM, 0, "enum"},         {CLR_KIND_STRUCT, 0, "struct"},
        {CLR_KIND_ARRAY, 2, "array"},       {CLR_KIND_ARRAY, 1, "array"},
        {CLR_KIND_CLASS, 0, "class"},
    };
    fake_open(f, &t);
    for (size_t i = 0; i < 7; i++) {
        ck_assert(clr_type_read(t.runtime, made[i], &type));
        ck_assert_int_eq(type.kind, expected[i].kind);
        ck_assert_uint_eq(type.rank, expected[i].rank);
        ck_assert_str_eq(clr_type_kind_text(type.kind), expected[i].text);
    }
    ck_assert(type.has_finalizer);
    ck_assert(type.is_collectible);
    ck_assert_str_eq(clr_type_kind_text(CLR_KIND_SZARRAY), "szarray");
    ck_assert_str_eq(clr_type_kind_text(CLR_KIND_STRING), "string");
    ck_assert_str_eq(clr_type_kind_text(CLR_KIND_FREE), "free");
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(an_array_rank_must_be_possible)
{
    struct fake *f = fake_create(&(struct fake_options){.release = _i ? 10 : 11});
    struct fake_target t;
    struct clr_type type;
    uint64_t made[4];
    const uint32_t sizes[] = {24 + 33 * 8, 24, 16, 24 + 32 * 8};
    for (int i = 0; i < 4; i++)
        made[i] = fake_type(f, &(struct fake_type){.flags = 0x00080000,
                                                   .component_size = 4,
                                                   .base_size = sizes[i],
                                                   .element = f->known.int32});
    if (_i) { /* the rank stands in the class */
        fake_hide(f, NULL, "ArrayBaseSize");
        for (int i = 0; i < 4; i++) {
            static const uint8_t ranks[] = {33, 0, 255, 32};
            fake_set(f, fake_get(f, made[i], "MethodTable", "EEClassOrCanonMT"), "ArrayClass",
                     "Rank", ranks[i]);
        }
    }
    fake_open(f, &t);
    for (int i = 0; i < 3; i++)
        ck_assert(!clr_type_read(t.runtime, made[i], &type));
    ck_assert(clr_type_read(t.runtime, made[3], &type));
    ck_assert_uint_eq(type.rank, 32);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(validity)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_type type;
    uint64_t canonical = fake_class(f, 0, 2, 0);
    uint64_t shared = fake_type(f, &(struct fake_type){.canonical = canonical});
    uint64_t liar = fake_class(f, 0, 2, 0), lonely = fake_class(f, 0, 2, 0);
    uint64_t chained = fake_type(f, &(struct fake_type){.canonical = shared});
    uint64_t odd_class = fake_class(f, 0, 2, 0), torn = fake_class(f, 0, 2, 0);
    uint64_t continuation =
        fake_type(f, &(struct fake_type){.parent = f->known.continuation,
                                         .type_class = f->known.continuation_class});
    /* The shared class alone is not enough: the parent must be the one of continuations. */
    uint64_t stranger =
        fake_type(f, &(struct fake_type){.type_class = f->known.continuation_class});
    fake_set(f, fake_get(f, liar, "MethodTable", "EEClassOrCanonMT"), "EEClass", "MethodTable",
             canonical);
    fake_set(f, lonely, "MethodTable", "EEClassOrCanonMT", 0);
    fake_set(f, odd_class, "MethodTable", "EEClassOrCanonMT",
             fake_get(f, odd_class, "MethodTable", "EEClassOrCanonMT") + 2);
    fake_forget(f, torn + 16, 8);
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, shared, &type));
    ck_assert_uint_eq(type.canonical, canonical);
    ck_assert_uint_ne(type.type_class, 0);
    ck_assert(clr_type_read(t.runtime, canonical, &type));
    ck_assert_uint_eq(type.canonical, canonical);
    ck_assert(!clr_type_valid(t.runtime, liar));
    ck_assert(!clr_type_valid(t.runtime, lonely));
    ck_assert(!clr_type_valid(t.runtime, chained));
    ck_assert(!clr_type_valid(t.runtime, odd_class));
    ck_assert(!clr_type_valid(t.runtime, torn) || !clr_type_read(t.runtime, torn, &type));
    ck_assert(!clr_type_valid(t.runtime, stranger));
    ck_assert(clr_type_read(t.runtime, continuation, &type));
    ck_assert(type.is_continuation);
    ck_assert_uint_eq(type.token, 0);
    ck_assert_uint_eq(type.parent, f->known.continuation);
    ck_assert(!clr_type_valid(t.runtime, 0));
    ck_assert(!clr_type_valid(t.runtime, canonical + 1));
    ck_assert(!clr_type_valid(t.runtime, canonical + 8));
    ck_assert(!clr_type_valid(t.runtime, 0x1000));
    ck_assert(!clr_type_valid(t.runtime, UINT64_MAX - 7));
    ck_assert(clr_type_valid(t.runtime, f->known.free));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(generic_arguments_stand_in_the_last_dictionary)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_type type;
    uint64_t arguments[] = {f->known.string, f->known.int32}, handle;
    uint64_t definition = fake_type(
        f,
        &(struct fake_type){.rid = 20, .flags = 0x30, .arguments = arguments, .argument_count = 2});
    uint64_t instance = fake_type(f, &(struct fake_type){.rid = 20,
                                                         .instance_of = true,
                                                         .arguments = arguments,
                                                         .argument_count = 2,
                                                         .inherited_dictionaries = 2});
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, instance, &type));
    ck_assert(type.is_generic && !type.is_generic_definition);
    ck_assert(clr_type_argument(t.runtime, &type, 0, &handle));
    ck_assert_uint_eq(handle, f->known.string);
    ck_assert(clr_type_argument(t.runtime, &type, 1, &handle));
    ck_assert_uint_eq(handle, f->known.int32);
    ck_assert(!clr_type_argument(t.runtime, &type, 2, &handle));
    ck_assert(!clr_type_argument(t.runtime, &type, UINT32_MAX, &handle));
    ck_assert_uint_eq(clr_type_definition(t.runtime, &type), definition);
    ck_assert(clr_type_read(t.runtime, definition, &type));
    ck_assert(type.is_generic && type.is_generic_definition);
    ck_assert_uint_eq(clr_type_definition(t.runtime, &type), definition);
    /* Low flag bits of a type with components mean something else. */
    ck_assert(clr_type_read(t.runtime, f->known.object_array, &type));
    ck_assert(!type.is_generic);
    ck_assert(!clr_type_argument(t.runtime, &type, 0, &handle));
    ck_assert_uint_eq(clr_type_definition(t.runtime, &type), 0);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(damaged_generics_have_no_arguments)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_type type;
    uint64_t argument = f->known.string, handle, made[3];
    for (int i = 0; i < 3; i++)
        made[i] = fake_type(f, &(struct fake_type){.arguments = &argument, .argument_count = 1});
    uint64_t info = fake_get(f, made[0], "MethodTable", "PerInstInfo") - 8;
    fake_set(f, info, "GenericsDictInfo", "NumDicts", 0);
    info = fake_get(f, made[1], "MethodTable", "PerInstInfo") - 8;
    fake_set(f, info, "GenericsDictInfo", "NumDicts", 0xffff);
    fake_set(f, made[2], "MethodTable", "PerInstInfo", 0x10);
    fake_open(f, &t);
    for (int i = 0; i < 3; i++) {
        ck_assert(clr_type_read(t.runtime, made[i], &type));
        ck_assert(!clr_type_argument(t.runtime, &type, 0, &handle));
    }
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(interfaces)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_type type;
    uint64_t all[2], found;
    for (int i = 0; i < 2; i++)
        all[i] = fake_type(f, &(struct fake_type){.flags = 0x000c0000, .parent = FAKE_NONE});
    uint64_t shape = fake_type(f, &(struct fake_type){.interfaces = all, .interface_count = 2});
    uint64_t liar = fake_class(f, 0, 1, 0);
    fake_set(f, liar, "MethodTable", "NumInterfaces", 0xffff); /* and no map */
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, shape, &type));
    ck_assert_uint_eq(type.interfaces, 2);
    for (uint32_t i = 0; i < 2; i++) {
        ck_assert(clr_type_interface(t.runtime, &type, i, &found));
        ck_assert_uint_eq(found, all[i]);
    }
    ck_assert(!clr_type_interface(t.runtime, &type, 2, &found));
    ck_assert(clr_type_read(t.runtime, liar, &type));
    ck_assert(!clr_type_interface(t.runtime, &type, 0, &found));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(the_interface_map_is_believed_only_where_two_statements_agree)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_type type;
    uint64_t face = fake_type(f, &(struct fake_type){.flags = 0x000c0000, .parent = FAKE_NONE});
    uint64_t shape = fake_type(f, &(struct fake_type){.interfaces = &face, .interface_count = 1});
    uint64_t found;
    fake_hide(f, "MethodTable", "!");
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, shape, &type));
    ck_assert_uint_eq(type.interfaces, 1);
    ck_assert(!clr_type_interface(t.runtime, &type, 0, &found));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(derivation)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    uint64_t a = fake_class(f, 0, 1, 0);
    uint64_t b = fake_type(f, &(struct fake_type){.parent = a});
    uint64_t c = fake_type(f, &(struct fake_type){.parent = b});
    uint64_t ring[5];
    for (int i = 0; i < 5; i++)
        ring[i] = fake_class(f, 0, 1, 0);
    for (int i = 0; i < 5; i++) /* 0 -> 1 -> 2 -> 3 -> 4 -> 2 */
        fake_set(f, ring[i], "MethodTable", "ParentMethodTable", ring[i < 4 ? i + 1 : 2]);
    uint64_t self = fake_class(f, 0, 1, 0), orphan = fake_class(f, 0, 1, 0);
    fake_set(f, self, "MethodTable", "ParentMethodTable", self);
    fake_set(f, orphan, "MethodTable", "ParentMethodTable", 0x1000);
    fake_open(f, &t);
    ck_assert(clr_type_derives(t.runtime, c, c));
    ck_assert(clr_type_derives(t.runtime, c, a));
    ck_assert(clr_type_derives(t.runtime, c, f->known.object));
    ck_assert(!clr_type_derives(t.runtime, a, c));
    ck_assert(!clr_type_derives(t.runtime, c, f->known.string));
    ck_assert(clr_type_derives(t.runtime, ring[0], ring[4]));
    ck_assert(!clr_type_derives(t.runtime, ring[0], f->known.object));
    ck_assert(!clr_type_derives(t.runtime, self, f->known.object));
    ck_assert(!clr_type_derives(t.runtime, orphan, f->known.object));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(counts_of_fields)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_type type;
    struct clr_class_counts counts;
    uint64_t made = fake_type(f, &(struct fake_type){.instance_fields = 7, .static_fields = 3});
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, made, &type));
    ck_assert(clr_class_counts(t.runtime, type.type_class, &counts));
    ck_assert_uint_eq(counts.instance_fields, 7);
    ck_assert_uint_eq(counts.static_fields, 3);
    ck_assert_uint_eq(counts.thread_statics, 0);
    ck_assert(!clr_class_counts(t.runtime, 0x1000, &counts));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(packed_counts_are_refused)
{
    struct fake *f = fake_create(&(struct fake_options){.release = 8});
    struct fake_target t;
    struct clr_class_counts counts;
    uint64_t class = fake_get(f, fake_class(f, 0, 1, 0), "MethodTable", "EEClassOrCanonMT");
    fake_set(f, class, "EEClass", "FieldsArePacked", 1);
    fake_open(f, &t);
    ck_assert(!clr_class_counts(t.runtime, class, &counts));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_row_id_that_overflowed_is_no_token)
{
    struct fake *f = fake_create(&(struct fake_options){.release = 8});
    struct fake_target t;
    struct clr_type type;
    uint64_t made = fake_type(f, &(struct fake_type){.rid = 0xffff, .instance_of = true});
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, made, &type));
    ck_assert_uint_eq(type.token, 0);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(the_allocator_of_a_collectible_type)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_type type;
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t object = fake_object(f, gen0, fake_class(f, 0, 2, 0), 0);
    uint64_t allocator = fake_allocator(f, object);
    uint64_t module =
        fake_module(f, &(struct fake_module){.is_collectible = true, .allocator = allocator});
    uint64_t made =
        fake_type(f, &(struct fake_type){.module = module, .rid = 2, .is_collectible = true});
    /* An instance of a lasting type over that one goes when that one goes. */
    uint64_t instance = fake_type(f, &(struct fake_type){.arguments = &made,
                                                         .argument_count = 1,
                                                         .is_collectible = true,
                                                         .loader_module = module});
    /* Damage: a type that is all of its own arguments. */
    uint64_t arguments[40] = {0};
    uint64_t knot = fake_type(f, &(struct fake_type){.arguments = arguments,
                                                     .argument_count = 40,
                                                     .is_collectible = true,
                                                     .loader_module = module});
    uint64_t dictionary = fake_word(f, fake_get(f, knot, "MethodTable", "PerInstInfo"));
    for (uint64_t i = 0; i < 40; i++)
        fake_put_word(f, dictionary + i * f->word, knot);
    fake_open(f, &t);
    ck_assert(clr_type_read(t.runtime, made, &type));
    ck_assert(type.is_collectible);
    ck_assert_uint_eq(clr_type_allocator(t.runtime, &type), allocator);
    ck_assert_uint_eq(clr_allocator_object(t.runtime, allocator), object);
    ck_assert(clr_type_read(t.runtime, instance, &type));
    ck_assert_uint_eq(type.module, f->known.core);
    ck_assert_uint_eq(clr_type_allocator(t.runtime, &type), allocator);
    ck_assert(clr_type_read(t.runtime, knot, &type));
    ck_assert_uint_eq(clr_type_allocator(t.runtime, &type), allocator);
    ck_assert(clr_type_read(t.runtime, f->known.string, &type));
    ck_assert_uint_eq(clr_type_allocator(t.runtime, &type), 0);
    ck_assert_uint_eq(clr_allocator_object(t.runtime, 0), 0);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

/* --- Modules ---------------------------------------------------------------------------------- */

/* Metadata of an assembly 'app' with the module 'app.dll'. */
static struct metadata_builder *app_metadata(void)
{
    static const uint8_t guid[16] = {0x04, 0x03, 0x02, 0x01, 0x06, 0x05, 0x08, 0x07,
                                     0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x0e, 0x0f, 0x10};
    struct metadata_builder *m = metadata_builder_create();
    METADATA_ROW(m, CLR_MODULE, 0, metadata_string(m, "app.dll"), metadata_guid(m, guid), 0, 0);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "<Module>"), 0, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Node"), metadata_string(m, "Zoo"), 0, 1, 1);
    METADATA_ROW(m, CLR_ASSEMBLY, 0x8004, 3, 4, 5, 65535, 0, 0, metadata_string(m, "app"), 0);
    return m;
}

START_TEST(the_list_of_modules)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct metadata_builder *m = app_metadata();
    const struct clr_module *const *modules;
    size_t count, size;
    struct clr_error error = {0};
    const void *image = metadata_build_image(m, false, f->word == 8, &size);
    uint64_t app = fake_module(f, &(struct fake_module){.path = "/srv/app/app.dll",
                                                        .simple_name = "app",
                                                        .image = image,
                                                        .image_size = size});
    uint64_t bytes = fake_module(
        f, &(struct fake_module){.simple_name = "app", .image = image, .image_size = size});
    uint64_t last = 0;
    for (int i = 0; i < 9; i++) /* more than one block of the list */
        last = fake_module(f, &(struct fake_module){.simple_name = "more"});
    fake_open(f, &t);
    ck_assert_int_eq(clr_modules(t.runtime, &modules, &count, &error), CLR_OK);
    ck_assert_uint_eq(count, 12);
    ck_assert_uint_eq(modules[0]->address, f->known.core);
    ck_assert_uint_eq(modules[1]->address, app);
    ck_assert_uint_eq(modules[11]->address, last);
    const struct clr_module *c = modules[0], *a = modules[1], *b = modules[2];
    ck_assert_str_eq(c->path, "/runtime/System.Private.CoreLib.dll");
    ck_assert_str_eq(c->name, "System.Private.CoreLib.dll");
    ck_assert(!c->flat && c->has_pe && c->has_metadata);
    ck_assert_str_eq(c->mvid, "44332211-6655-8877-99aa-bbccddeeff10");
    ck_assert_str_eq(a->name, "app.dll");
    ck_assert_str_eq(a->path, "/srv/app/app.dll");
    ck_assert_str_eq(a->assembly_name, "app");
    ck_assert_str_eq(a->version, "3.4.5.65535");
    ck_assert_str_eq(a->mvid, "01020304-0506-0708-090a-0b0c0d0e0f10");
    ck_assert(a->flat);
    ck_assert_uint_eq(a->image_size, size);
    ck_assert_uint_ne(a->image_base, 0);
    ck_assert_uint_gt(a->metadata_address, a->image_base);
    ck_assert_uint_lt(a->metadata_address + a->metadata_size, a->image_base + size + 1);
    ck_assert_int_eq(a->metadata_source, CLR_SOURCE_CORE);
    ck_assert(!a->is_dynamic && !a->is_collectible && !a->is_ready_to_run);
    /* Loaded from bytes: no path, and the name that the metadata gives. */
    ck_assert_uint_eq(b->address, bytes);
    ck_assert_str_eq(b->path, "");
    ck_assert_str_eq(b->name, "app.dll");
    ck_assert_str_eq(modules[11]->name, "more");
    ck_assert_str_eq(modules[11]->version, "");
    ck_assert_str_eq(modules[11]->mvid, "");
    ck_assert(!modules[11]->has_pe && !modules[11]->has_metadata);
    ck_assert_ptr_eq(clr_module_get(t.runtime, app), a);
    ck_no_problems(&t);
    fake_close(&t);
    metadata_builder_destroy(m);
    fake_destroy(f);
}
END_TEST

START_TEST(an_assembly_that_is_not_ready_is_no_module)
{
    struct fake *f = fake_create(&(struct fake_options){.release = _i ? 10 : 11});
    struct fake_target t;
    const struct clr_module *const *modules;
    size_t count;
    uint64_t made[3];
    for (int i = 0; i < 3; i++)
        made[i] = fake_get(f, fake_module(f, &(struct fake_module){0}), "Module", "Assembly");
    if (_i)
        fake_set(f, made[0], "Assembly", "Level", 3);
    else
        fake_set(f, made[0], "Assembly", "IsLoaded", 0);
    fake_set(f, made[1], "Assembly", "Error", 0x1234);
    fake_set(f, made[2], "Assembly", "Module", 0);
    fake_open(f, &t);
    ck_assert_int_eq(clr_modules(t.runtime, &modules, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 1);
    ck_no_problems(&t);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_module_made_at_run_time)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct metadata_builder *m = app_metadata();
    size_t size;
    const void *blob = metadata_build(m, &size);
    uint64_t made = fake_module(f, &(struct fake_module){.simple_name = "emitted",
                                                         .metadata = blob,
                                                         .metadata_size = size,
                                                         .is_dynamic = true});
    fake_open(f, &t);
    const struct clr_module *module = clr_module_get(t.runtime, made);
    ck_assert_ptr_nonnull(module);
    ck_assert(module->is_dynamic);
    ck_assert_str_eq(module->path, "");
    ck_assert_uint_eq(module->image_base, 0);
    if (f->release > 8) { /* there the snapshot is not described */
        ck_assert(module->has_metadata);
        ck_assert_uint_eq(module->metadata_size, size);
        ck_assert_str_eq(module->version, "3.4.5.65535");
        ck_assert_str_eq(module->name, "app"); /* the assembly's */
    } else {
        ck_assert_str_eq(module->name, "emitted");
    }
    fake_close(&t);
    metadata_builder_destroy(m);
    fake_destroy(f);
}
END_TEST

START_TEST(metadata_in_two_runs_is_read_and_a_hole_in_it_is_told)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct metadata_builder *m = app_metadata();
    size_t size, blob_size;
    const void *image = metadata_build_image(m, false, true, &size);
    uint64_t cut = fake_module(
        f, &(struct fake_module){.path = "/a/cut.dll", .image = image, .image_size = size});
    uint64_t torn = fake_module(
        f, &(struct fake_module){.path = "/a/torn.dll", .image = image, .image_size = size});
    metadata_build(m, &blob_size);
    uint64_t middle = 0x200 + 72 + blob_size / 2; /* offsets in the image: section, CLI header */
    fake_forget(f, fake_get(f, cut, "Module", "Base") + middle, 8);
    fake_split(f, fake_get(f, torn, "Module", "Base") + middle);
    uint64_t holed = fake_module(
        f, &(struct fake_module){.path = "/a/holed.dll", .image = image, .image_size = size});
    fake_forget(f, fake_get(f, holed, "Module", "Base") + 0x200 + 72 + blob_size - 1, 1);
    fake_open(f, &t);
    const struct clr_module *module = clr_module_get(t.runtime, torn);
    ck_assert(module->has_metadata);
    ck_assert_str_eq(module->assembly_name, "app");
    /* A hole in a heap loses what is in it, one in the row counts everything. */
    module = clr_module_get(t.runtime, holed);
    ck_assert(module->has_metadata);
    ck_assert_str_eq(module->version, "3.4.5.65535");
    ck_assert(has_problem(&t, "types", "1 bytes of the metadata of the module"));
    module = clr_module_get(t.runtime, cut);
    ck_assert_ptr_nonnull(module);
    ck_assert(module->has_pe && !module->has_metadata);
    ck_assert_uint_ne(module->metadata_address, 0);
    ck_assert_str_eq(module->name, "cut.dll");
    ck_assert(has_problem(&t, "modules", "is not saved"));
    fake_close(&t);
    metadata_builder_destroy(m);
    fake_destroy(f);
}
END_TEST

START_TEST(unreadable_parts_of_a_module_are_told)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct metadata_builder *m = app_metadata();
    const struct clr_module *const *modules;
    size_t count, size;
    const void *image = metadata_build_image(m, false, true, &size);
    struct fake_module with_image = {.path = "/a/b.dll", .image = image, .image_size = size};
    uint64_t headless = fake_module(f, &with_image), lost = fake_module(f, &with_image);
    uint64_t wild = fake_module(f, &with_image), endless = fake_module(f, &with_image);
    fake_forget(f, fake_get(f, headless, "Module", "Base"), 0x400);
    fake_forget(f, lost, fake_size(f, "Module"));
    uint64_t pe = fake_get(f, wild, "Module", "PEAssembly");
    fake_set(f, fake_get(f, pe, "PEAssembly", "PEImage"), "PEImage", "FlatImageLayout", 0x1000);
    uint64_t text = fake_memory(f, 80000); /* a path without end */
    for (uint64_t i = 0; i < 80000; i++)
        fake_put_u8(f, text + i, 'x');
    fake_set(f, endless, "Module", "Path", text);
    fake_open(f, &t);
    ck_assert_int_eq(clr_modules(t.runtime, &modules, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 5);
    for (size_t i = 0; i < count; i++)
        ck_assert_ptr_nonnull(modules[i]->name);
    ck_assert(!modules[1]->has_pe);
    ck_assert(has_problem(&t, "modules", "the image of /a/b.dll cannot be read"));
    ck_assert_uint_eq(modules[2]->address, lost);
    ck_assert_uint_eq(modules[2]->pe_assembly, 0);
    ck_assert_ptr_null(modules[2]->path);
    ck_assert(has_problem(&t, "modules", "is not saved: its types"));
    ck_assert_uint_eq(modules[3]->image_base, 0);
    ck_assert(has_problem(&t, "modules", "where the image of module"));
    ck_assert_ptr_null(modules[4]->path);
    ck_assert_str_eq(modules[4]->name, "app.dll");
    ck_assert_ptr_null(clr_module_get(t.runtime, 0x1000));
    ck_assert_ptr_null(clr_module_get(t.runtime, headless + 8));
    ck_assert_ptr_null(clr_module_get(t.runtime, headless + 1));
    fake_close(&t);
    metadata_builder_destroy(m);
    fake_destroy(f);
}
END_TEST

START_TEST(a_module_met_later_is_not_of_the_list)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    const struct clr_module *const *before, *const *after;
    size_t count;
    uint64_t hidden =
        fake_module(f, &(struct fake_module){.simple_name = "hidden", .unlisted = true});
    fake_open(f, &t);
    ck_assert_int_eq(clr_modules(t.runtime, &before, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 1);
    const struct clr_module *met = clr_module_get(t.runtime, hidden);
    ck_assert_ptr_nonnull(met);
    ck_assert_str_eq(met->name, "hidden");
    ck_assert_uint_eq(before[0]->address, f->known.core);
    ck_assert_int_eq(clr_modules(t.runtime, &after, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_ptr_eq(after[0], before[0]);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

/* The first block of the assembly list. */
static uint64_t first_block(const struct fake *f)
{
    return fake_word(f, fake_variable(f, "AppDomain")) +
           fake_offset(f, "AppDomain", "AssemblyList") +
           fake_offset(f, "ArrayListBase", "FirstBlock");
}

START_TEST(a_damaged_list_of_assemblies_ends)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    const struct clr_module *const *modules;
    size_t count;
    struct clr_error error = {0};
    uint64_t list = first_block(f) - fake_offset(f, "ArrayListBase", "FirstBlock");
    for (int i = 0; i < 5; i++)
        fake_module(f, &(struct fake_module){0});
    uint64_t second = fake_get(f, first_block(f), "ArrayListBlock", "Next");
    size_t expected = 6;
    const char *part = NULL;
    switch (_i) {
    case 0: /* a cycle, and a count that never comes */
        fake_set(f, second, "ArrayListBlock", "Next", first_block(f));
        fake_set(f, list, "ArrayListBase", "Count", UINT32_MAX);
        part = "leads back to itself";
        break;
    case 1: /* a block that claims the whole address space */
        fake_set(f, second, "ArrayListBlock", "Size", UINT32_MAX);
        fake_set(f, list, "ArrayListBase", "Count", UINT32_MAX);
        break;
    case 2:
        fake_forget(f, second, 64);
        expected = 4;
        part = "is not saved";
        break;
    case 3:
        fake_set(f, first_block(f), "ArrayListBlock", "Next", 0);
        expected = 4;
        part = "ends early";
        break;
    case 4: /* elements that lead nowhere */
        fake_put_word(f, first_block(f) + fake_offset(f, "ArrayListBlock", "ArrayStart") + 8,
                      0x4242);
        expected = 5;
        part = "an assembly of the list is not saved";
        break;
    case 5: /* empty blocks in a ring */
        fake_set(f, first_block(f), "ArrayListBlock", "Size", 0);
        fake_set(f, first_block(f), "ArrayListBlock", "Next", first_block(f));
        expected = 0;
        break;
    case 6: /* no domain at all */
        fake_set_variable(f, "AppDomain", 0);
        expected = 0;
        break;
    default:
        fake_forget(f, list, fake_size(f, "ArrayListBase"));
        expected = 0;
        break;
    }
    fake_open(f, &t);
    enum clr_status status = clr_modules(t.runtime, &modules, &count, &error);
    if (expected == 0) {
        ck_assert_int_eq(status, CLR_FAULT);
        ck_assert_ptr_nonnull(strstr(error.text, "no module can be read"));
    } else {
        ck_assert_int_eq(status, CLR_OK);
        ck_assert_uint_eq(count, expected);
    }
    ck_assert_uint_gt(clr_problems_count(t.problems), 0);
    ck_assert(!part || has_problem(&t, "modules", part));
    /* A module can still be had by its address. */
    ck_assert_ptr_nonnull(clr_module_get(t.runtime, f->known.core));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(load_contexts)
{
    struct fake *f = fake_create(&(struct fake_options){.release = (unsigned)_i});
    struct fake_target t;
    const struct clr_load_context *contexts;
    size_t count;
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t type = fake_class(f, 0, 2, 0);
    uint64_t context = fake_object(f, gen0, type, 0), object = fake_object(f, gen0, type, 0);
    uint64_t binder = fake_binder(f, context), allocator = fake_allocator(f, object);
    uint64_t emitted = fake_allocator(f, 0);
    for (int i = 0; i < 2; i++)
        fake_module(f, &(struct fake_module){
                           .binder = binder, .allocator = allocator, .is_collectible = true});
    /* Built at run time: collectible by itself, in contexts of either kind. */
    fake_module(
        f, &(struct fake_module){.allocator = emitted, .is_collectible = true, .is_dynamic = true});
    fake_module(
        f, &(struct fake_module){
               .binder = binder, .allocator = emitted, .is_collectible = true, .is_dynamic = true});
    fake_open(f, &t);
    ck_assert_int_eq(clr_load_contexts(t.runtime, &contexts, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(contexts[0].address, f->known.binder);
    ck_assert(!contexts[0].is_collectible);
    ck_assert_uint_eq(contexts[0].module_count, 2);
    ck_assert_uint_eq(contexts[0].object, 0);
    ck_assert_uint_eq(contexts[0].allocator, 0);
    ck_assert_uint_eq(contexts[1].address, binder);
    ck_assert(contexts[1].is_collectible);
    ck_assert_uint_eq(contexts[1].module_count, 3);
    ck_assert_uint_eq(contexts[1].object, context);
    ck_assert_uint_eq(contexts[1].allocator, allocator);
    ck_assert_uint_eq(contexts[1].allocator_object, object);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(load_contexts_that_are_not_described)
{
    struct fake *f = fake_create(&(struct fake_options){.release = 9});
    struct fake_target t;
    const struct clr_load_context *contexts;
    size_t count;
    struct clr_error error = {0};
    fake_hide(f, "PEAssembly", "AssemblyBinder");
    fake_open(f, &t);
    ck_assert_int_eq(clr_load_contexts(t.runtime, &contexts, &count, &error), CLR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error.text, "AssemblyBinder"));
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(collectible_modules_of_older_releases)
{
    struct fake *f = fake_create(&(struct fake_options){.release = (unsigned)_i});
    struct fake_target t;
    uint64_t loose = fake_module(
        f, &(struct fake_module){.is_collectible = true, .allocator = fake_memory(f, 64)});
    uint64_t plain = fake_module(f, &(struct fake_module){0});
    fake_type(f, &(struct fake_type){.module = loose, .rid = 2, .is_collectible = true});
    fake_type(f, &(struct fake_type){.module = plain, .rid = 2});
    if (f->release == 8) /* the module's types have to say it */
        fake_hide(f, "Module", "LoaderAllocator");
    fake_open(f, &t);
    ck_assert(clr_module_get(t.runtime, loose)->is_collectible);
    ck_assert(!clr_module_get(t.runtime, plain)->is_collectible);
    ck_assert(!clr_module_get(t.runtime, f->known.core)->is_collectible);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

/* --- Types of a module ------------------------------------------------------------------------ */

struct collected {
    uint64_t types[64];
    size_t count, stop_at;
};

static bool collect(void *context, uint64_t type)
{
    struct collected *c = context;
    ck_assert_uint_lt(c->count, 64);
    c->types[c->count++] = type;
    return c->count != c->stop_at;
}

static bool was_collected(const struct collected *c, uint64_t type)
{
    size_t times = 0;
    for (size_t i = 0; i < c->count; i++)
        times += c->types[i] == type;
    ck_assert_uint_le(times, 1);
    return times == 1;
}

START_TEST(types_of_a_module)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct collected all = {0}, some = {.stop_at = 1};
    uint64_t module = fake_module(f, &(struct fake_module){0}), instances[8];
    uint64_t a = fake_type(f, &(struct fake_type){.module = module, .rid = 2});
    uint64_t b = fake_type(f, &(struct fake_type){.module = module, .rid = 31});
    for (int i = 0; i < 8; i++)
        instances[i] =
            fake_type(f, &(struct fake_type){.module = module, .rid = 2, .instance_of = true});
    fake_instantiation(f, module, (uint64_t)fake_memory(f, 16) | 2); /* a TypeDesc */
    fake_open(f, &t);
    const struct clr_module *m = clr_module_get(t.runtime, module);
    ck_assert_int_eq(clr_module_types(t.runtime, m, collect, &all, NULL), CLR_OK);
    ck_assert(was_collected(&all, a));
    ck_assert(was_collected(&all, b));
    ck_assert_uint_eq(all.count, 10);
    for (int i = 0; i < 8; i++)
        ck_assert(was_collected(&all, instances[i]));
    ck_assert_int_eq(clr_module_types(t.runtime, m, collect, &some, NULL), CLR_OK);
    ck_assert_uint_eq(some.count, 1);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 2), a);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 31), b);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 3), 0);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 32), 0);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 0), 0);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, UINT32_MAX), 0);
    ck_assert_uint_eq(clr_module_type(t.runtime, 0x1000, 2), 0);
    ck_no_problems(&t);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_map_in_segments)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct collected all = {0};
    uint64_t module = fake_module(f, &(struct fake_module){.type_rows = 4});
    uint64_t map = module + fake_offset(f, "Module", "TypeDefToMethodTableMap");
    uint64_t next = fake_memory(f, fake_size(f, "ModuleLookupMap"));
    uint64_t table = fake_memory(f, 4 * 8);
    uint64_t far =
        fake_type(f, &(struct fake_type){.module = module, .rid = 6, .instance_of = true});
    uint64_t instances = fake_get(f, module, "Module", "AvailableTypeParams");
    fake_set(f, module, "Module", "AvailableTypeParams", 0);
    ck_assert_uint_ne(instances, 0);
    fake_set(f, map, "ModuleLookupMap", "Next", next);
    fake_set(f, next, "ModuleLookupMap", "Count", 4);
    fake_set(f, next, "ModuleLookupMap", "TableData", table);
    fake_put_word(f, table + 2 * 8, far | 1); /* with a flag, which the first segment announces */
    fake_open(f, &t);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 6), far);
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 8), 0);
    const struct clr_module *m = clr_module_get(t.runtime, module);
    ck_assert_int_eq(clr_module_types(t.runtime, m, collect, &all, NULL), CLR_OK);
    ck_assert_uint_eq(all.count, 1);
    ck_assert_uint_eq(all.types[0], far);
    ck_no_problems(&t);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(damaged_tables_of_types_end)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct collected all = {0};
    uint64_t module = fake_module(f, &(struct fake_module){0}), made[6];
    uint64_t map = module + fake_offset(f, "Module", "TypeDefToMethodTableMap");
    uint64_t table = fake_get(f, module, "Module", "AvailableTypeParams");
    uint64_t buckets = fake_get(f, table, "EETypeHashTable", "Buckets");
    for (uint32_t i = 0; i < 6; i++)
        made[i] = fake_type(f, &(struct fake_type){.module = module, .rid = 2 + i});
    uint64_t entry = fake_instantiation(f, module, f->known.object_array);
    size_t expected = 7;
    switch (_i) {
    case 0: /* a chain that bites its tail */
        fake_set(f, entry, "EETypeHashTable", "VolatileEntryNextEntry", entry);
        break;
    case 1: /* a map whose segments run in a ring */
        fake_set(f, map, "ModuleLookupMap", "Next", map);
        break;
    case 2: /* counts that no dump can hold */
        fake_put_word(f, buckets, UINT64_MAX);
        expected = 6;
        break;
    case 3:
        fake_put_word(f, buckets, (uint64_t)1 << 40);
        expected = 6;
        break;
    case 4: /* rows beyond what is saved, in the middle and at the end */
        fake_forget(f, fake_get(f, map, "ModuleLookupMap", "TableData") + 3 * 8, 8);
        expected = 6;
        break;
    case 5: fake_set(f, entry, "EETypeHashTable", "VolatileEntryNextEntry", 0x4000); break;
    case 6: /* an entry that is no type */ fake_type_def(f, module, 20, buckets); break;
    case 7:
        fake_set(f, module, "Module", "AvailableTypeParams", 0x4000);
        expected = 6;
        break;
    default: /* all chains lead to one */
        for (uint64_t i = 0; i < 3; i++)
            fake_put_word(f, buckets + (3 + i) * 8, entry);
        break;
    }
    fake_open(f, &t);
    const struct clr_module *m = clr_module_get(t.runtime, module);
    ck_assert_int_eq(clr_module_types(t.runtime, m, collect, &all, NULL), CLR_OK);
    if (_i == 1) { /* the ring is noticed after a turn or two */
        ck_assert_uint_ge(all.count, expected - 1);
    } else {
        ck_assert_uint_eq(all.count, expected);
        for (int i = 0; i < 6; i++)
            ck_assert(was_collected(&all, made[i]) == (_i != 4 || i != 1));
    }
    ck_assert_uint_eq(clr_module_type(t.runtime, module, 1000000), 0);
    ck_assert_uint_gt(clr_problems_count(t.problems), 0);
    ck_assert_str_eq(clr_problems_at(t.problems, 0)->area, "types");
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

/* --- Threads ---------------------------------------------------------------------------------- */

START_TEST(threads_of_every_release)
{
    struct fake *f = fake_create(&shapes[_i]);
    struct fake_target t;
    struct clr_thread *threads;
    size_t count;
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t object = fake_object(f, gen0, f->known.exception, 0), made[3], pointer, limit;
    for (uint32_t i = 0; i < 3; i++)
        made[i] = fake_thread(f, 1 + i, 100 + i);
    fake_set(f, made[1], "Thread", "State", 0x02021200);
    fake_set(f, made[1], "Thread", "PreemptiveGCDisabled", 1);
    fake_set(f, made[2], "Thread", "State", 0x31800);
    fake_set(f, made[2], "Thread", "OSId", 0);
    if (f->release >= 9)
        fake_set(f, made[2], "Thread", "RuntimeThreadLocals", 0);
    fake_set(f, made[0], "Thread", f->release == 11 ? "ExposedObject" : "GCHandle",
             fake_slot(f, object));
    fake_set_variable(f, "FinalizerThread", made[1]);
    fake_set_variable(f, "GCThread", made[2]);
    fake_context(f, made[0], object + 0x100, object + 0x180);
    fake_context(f, 0, object + 0x200, object + 0x240);
    fake_exception(f, made[1], object);
    if (f->release == 11) {
        uint64_t context = fake_get(f, made[0], "Thread", "RuntimeThreadLocals") +
                           fake_offset(f, "RuntimeThreadLocals", "AllocContext") +
                           fake_offset(f, "EEAllocContext", "GCAllocationContext");
        fake_set(f, context, "GCAllocContext", "AllocBytes", 0x1000);
        fake_set(f, context, "GCAllocContext", "AllocBytesLoh", 0x200000);
        fake_set(f, made[0], "Thread", "CachedStackBase", 0x9000);
        fake_set(f, made[0], "Thread", "CachedStackLimit", 0x5000);
    }
    fake_open(f, &t);
    ck_assert_int_eq(clr_threads_read(t.runtime, t.problems, &threads, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(threads[i].address, made[i]);
        ck_assert_uint_eq(threads[i].managed_id, 1 + i);
        ck_assert_uint_eq(threads[i].os_id, i < 2 ? 100 + i : 0);
    }
    ck_assert_uint_eq(threads[0].object, object);
    ck_assert_uint_eq(threads[0].alloc_pointer, object + 0x100);
    ck_assert_uint_eq(threads[0].alloc_limit, object + 0x180);
    ck_assert_uint_eq(threads[0].exception, 0);
    ck_assert(!threads[0].is_background && !threads[0].is_dead && !threads[0].is_finalizer);
    ck_assert(!threads[0].preemptive_disabled);
    ck_assert(threads[1].is_background && threads[1].is_finalizer && !threads[1].is_gc);
    ck_assert(threads[1].preemptive_disabled);
    ck_assert(threads[2].is_dead && threads[2].is_gc);
    ck_assert_uint_eq(threads[2].alloc_pointer, 0);
    ck_assert_uint_eq(threads[1].exception, object);
    ck_assert_uint_eq(threads[1].last_thrown, object);
    if (f->release == 11) { /* what is left of the context is not allocated yet */
        ck_assert_uint_eq(threads[0].allocated_bytes, 0x201000 - 0x80);
        ck_assert_uint_eq(threads[0].stack_base, 0x9000);
        ck_assert_uint_eq(threads[0].stack_limit, 0x5000);
    } else {
        ck_assert_uint_eq(threads[0].allocated_bytes, CLR_ABSENT);
    }
    ck_assert(clr_global_context(t.runtime, &pointer, &limit));
    ck_assert_uint_eq(pointer, object + 0x200);
    ck_assert_uint_eq(limit, object + 0x240);
    ck_no_problems(&t);
    clr_free(threads);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(state_in_words)
{
    struct clr_thread thread = {.state = 0x03021200};
    struct clr_text text = {0};
    clr_thread_state_text(&thread, &text);
    ck_assert_str_eq(text.data, "background, threadpool, waiting");
    clr_text_clear(&text);
    thread.state = 0x20000;
    clr_thread_state_text(&thread, &text);
    ck_assert_uint_eq(text.length, 0);
    thread.state = 0xffffffff;
    clr_thread_state_text(&thread, &text);
    ck_assert_ptr_nonnull(strstr(text.data, "unstarted, dead, background"));
    clr_text_deinit(&text);
}
END_TEST

START_TEST(no_threads_and_no_list)
{
    struct fake *f = fake_create(NULL);
    struct fake_target t;
    struct clr_thread *threads;
    size_t count;
    struct clr_error error = {0};
    fake_open(f, &t);
    ck_assert_int_eq(clr_threads_read(t.runtime, t.problems, &threads, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 0);
    clr_free(threads);
    fake_close(&t);
    fake_forget(f, fake_word(f, fake_variable(f, "ThreadStore")), 256);
    fake_open(f, &t);
    ck_assert_int_eq(clr_threads_read(t.runtime, t.problems, &threads, &count, &error), CLR_FAULT);
    ck_assert_ptr_nonnull(strstr(error.text, "is not saved"));
    ck_assert_uint_ne(error.address, 0);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(a_damaged_list_of_threads_ends)
{
    const bool members = _i % 2;
    struct fake *f = fake_create(&(struct fake_options){.release = members ? 10 : 11});
    struct fake_target t;
    struct clr_thread *threads;
    size_t count, expected = 3;
    const char *part;
    uint64_t made[3], link = members ? fake_offset(f, "Thread", "LinkNext") : 0;
    for (uint32_t i = 0; i < 3; i++)
        made[i] = fake_thread(f, 1 + i, 100 + i);
    switch (_i / 2) {
    case 0:
        fake_set(f, made[2], "Thread", "LinkNext", made[1] + link);
        part = "leads back";
        break;
    case 1:
        fake_set(f, made[2], "Thread", "LinkNext", made[2] + link);
        part = "leads back";
        break;
    case 2:
        fake_set(f, made[1], "Thread", "LinkNext", 0x4000);
        expected = 2;
        part = "which is not saved";
        break;
    case 3:
        fake_forget(f, made[1], fake_size(f, "Thread"));
        expected = 1;
        part = "which is not saved";
        break;
    case 4:
        fake_set(f, made[1], "Thread", "LinkNext", 0);
        expected = 2;
        part = "counts 3 threads, its list has 2";
        break;
    default: /* a context that cannot be read makes a hole in the heap that is not known */
        fake_set(f, made[1], "Thread", "RuntimeThreadLocals", 0x4000);
        part = "allocation context";
        break;
    }
    fake_open(f, &t);
    ck_assert_int_eq(clr_threads_read(t.runtime, t.problems, &threads, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, expected);
    ck_assert(has_problem(&t, _i / 2 == 5 ? "objects" : "threads", part));
    ck_assert(clr_problems_incomplete(t.problems));
    clr_free(threads);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

START_TEST(exceptions_and_handles_that_are_not_saved)
{
    struct fake *f = fake_create(&(struct fake_options){.release = _i ? 10 : 11});
    struct fake_target t;
    struct clr_thread *threads;
    size_t count;
    uint64_t thread = fake_thread(f, 1, 100);
    fake_set(f, thread, "Thread", "ExceptionTracker", 0x4000);
    fake_set(f, thread, "Thread", _i ? "GCHandle" : "ExposedObject", 0x4010);
    fake_set(f, thread, "Thread", "LastThrownObject", 0x4020);
    fake_open(f, &t);
    ck_assert_int_eq(clr_threads_read(t.runtime, t.problems, &threads, &count, NULL), CLR_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(threads[0].exception, 0);
    ck_assert_uint_eq(threads[0].object, 0);
    ck_assert_uint_eq(threads[0].last_thrown, 0);
    ck_assert_uint_ge(clr_problems_count(t.problems), 1);
    ck_assert_str_eq(clr_problems_at(t.problems, 0)->area, "threads");
    clr_free(threads);
    fake_close(&t);
    fake_destroy(f);
}
END_TEST

/* --- Everything ------------------------------------------------------------------------------- */

START_TEST(the_loop_guard_notices_every_ring)
{
    for (uint64_t lead = 0; lead < 20; lead++)
        for (uint64_t ring = 1; ring < 20; ring++) {
            struct clr_loop loop = {0};
            uint64_t at = 1, steps = 0;
            while (!clr_loop_again(&loop, at)) {
                at = at < lead + ring ? at + 1 : lead + 1;
                ck_assert_uint_lt(steps++, 4 * (lead + ring) + 4);
            }
        }
    struct clr_loop loop = {0};
    for (uint64_t i = 1; i < 10000; i++)
        ck_assert(!clr_loop_again(&loop, i));
}
END_TEST

/* A process with something of everything. */
static struct fake *rich_process(const struct fake_options *options, struct metadata_builder *m)
{
    struct fake *f = fake_create(options);
    size_t size;
    const void *image = metadata_build_image(m, false, f->word == 8, &size);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t object = fake_object(f, gen0, f->known.exception, 0);
    uint64_t allocator = fake_allocator(f, object), binder = fake_binder(f, object);
    uint64_t module = fake_module(f, &(struct fake_module){.path = "/srv/app.dll",
                                                           .image = image,
                                                           .image_size = size,
                                                           .binder = binder,
                                                           .allocator = allocator,
                                                           .is_collectible = true});
    uint64_t type =
        fake_type(f, &(struct fake_type){.module = module, .rid = 2, .is_collectible = true});
    fake_type(f, &(struct fake_type){.module = module,
                                     .rid = 3,
                                     .arguments = &type,
                                     .argument_count = 1,
                                     .interfaces = &type,
                                     .interface_count = 1});
    fake_array(f, type, f->word, true);
    for (int i = 0; i < 6; i++)
        fake_module(f, &(struct fake_module){.simple_name = "more"});
    for (uint32_t i = 0; i < 3; i++)
        fake_thread(f, i + 1, 100 + i);
    fake_string(f, gen0, "text");
    return f;
}

static bool touch(void *context, uint64_t address)
{
    struct clr_runtime *runtime = context;
    struct clr_type type;
    struct clr_class_counts counts;
    uint64_t other;
    if (!clr_type_read(runtime, address, &type))
        return true;
    for (uint32_t i = 0; i < 4; i++) {
        (void)clr_type_argument(runtime, &type, i, &other);
        (void)clr_type_interface(runtime, &type, i, &other);
    }
    (void)clr_type_definition(runtime, &type);
    (void)clr_type_allocator(runtime, &type);
    (void)clr_class_counts(runtime, type.type_class, &counts);
    (void)clr_type_derives(runtime, address, runtime->exception_type);
    return true;
}

/* Asks all there is to ask. The first failure that is not damage. */
static enum clr_status read_all(struct fake *f, struct fake_target *t)
{
    const struct clr_module *const *modules;
    const struct clr_load_context *contexts;
    struct clr_thread *threads;
    size_t count;
    enum clr_status status = clr_modules(t->runtime, &modules, &count, NULL);
    if (status == CLR_NOMEM)
        return status;
    for (size_t i = 0; status == CLR_OK && i < count; i++)
        if (clr_module_types(t->runtime, modules[i], touch, t->runtime, NULL) == CLR_NOMEM)
            return CLR_NOMEM;
    if (clr_load_contexts(t->runtime, &contexts, &count, NULL) == CLR_NOMEM)
        return CLR_NOMEM;
    status = clr_threads_read(t->runtime, t->problems, &threads, &count, NULL);
    if (status == CLR_NOMEM)
        return status;
    if (status == CLR_OK)
        clr_free(threads);
    struct clr_text text = {0};
    uint64_t hash;
    for (uint64_t at = fake_segment_start(f, 0); at < fake_segment_end(f, 0); at += f->word) {
        struct clr_header header;
        (void)clr_object_string_text(t->runtime, at, &text);
        (void)clr_object_string_hash(t->runtime, at, &hash);
        (void)clr_object_header(t->runtime, at, &header);
    }
    bool failed = text.failed;
    clr_text_deinit(&text);
    return failed ? CLR_NOMEM : CLR_OK;
}

START_TEST(every_allocation_may_fail)
{
    struct metadata_builder *m = app_metadata();
    struct fake *f = rich_process(&shapes[_i], m);
    struct fake_target t;
    uint64_t live = clr_alloc_live(), n = 1;
    fake_path(f);
    for (;; n++) {
        struct clr_error error = {0};
        uint64_t before = clr_alloc_made();
        clr_alloc_fail_at(n);
        enum clr_status status = fake_try_open(f, &t, &error);
        if (status == CLR_OK) {
            status = read_all(f, &t);
            bool lost = clr_problems_lost(t.problems);
            fake_close(&t);
            ck_assert(status == CLR_OK || status == CLR_NOMEM);
            if (clr_alloc_made() - before < n) { /* none has failed */
                ck_assert_int_eq(status, CLR_OK);
                ck_assert(!lost);
                break;
            }
        } else {
            ck_assert_int_eq(status, CLR_NOMEM);
        }
        clr_alloc_fail_at(0);
        ck_assert_uint_eq(clr_alloc_live(), live);
        ck_assert_uint_lt(n, 100000);
    }
    clr_alloc_fail_at(0);
    metadata_builder_destroy(m);
    fake_destroy(f);
}
END_TEST

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

START_TEST(damage_anywhere_is_survived)
{
    uint64_t random = 0x9e3779b97f4a7c15u + (uint64_t)_i;
    struct metadata_builder *m = app_metadata();
    for (int round = 0; round < 60; round++) {
        struct fake *f = rich_process(&shapes[(unsigned)_i % SHAPES], m);
        struct fake_target t;
        struct clr_error error = {0};
        uint64_t first = fake_variable(f, "AppDomain"), end = fake_memory(f, 1);
        for (unsigned i = 0; i < 1 + next_random(&random) % 40; i++) {
            uint64_t at = first + next_random(&random) % (end - first - 8) / f->word * f->word;
            switch (next_random(&random) % 4) {
            case 0: fake_put_word(f, at, next_random(&random)); break;
            case 1: fake_put_word(f, at, first + next_random(&random) % (end - first)); break;
            case 2: fake_put_u32(f, at, 0xffffffff); break;
            default: fake_forget(f, at, next_random(&random) % 64); break;
            }
        }
        fake_path(f);
        uint64_t live = clr_alloc_live();
        if (fake_try_open(f, &t, &error) == CLR_OK) {
            ck_assert_int_eq(read_all(f, &t), CLR_OK);
            fake_close(&t);
        }
        ck_assert_uint_eq(clr_alloc_live(), live);
        fake_destroy(f);
    }
    metadata_builder_destroy(m);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("runtime");
    TCase *c = tcase_create("contracts");
    tcase_add_loop_test(c, every_release_is_served, 0, SHAPES);
    tcase_add_test(c, an_unknown_version_is_told_and_the_rest_works);
    tcase_add_test(c, a_contract_that_is_not_announced_is_refused);
    tcase_add_test(c, a_missing_name_makes_the_contract_absent);
    tcase_add_test(c, versions_that_serve);
    tcase_add_test(c, no_two_rows_serve_the_same);
    tcase_add_test(c, rows_are_documented);
    suite_add_tcase(suite, c);

    c = tcase_create("objects");
    tcase_add_loop_test(c, objects_by_their_address, 0, SHAPES);
    tcase_add_test(c, a_string_over_two_runs_is_whole_and_a_cut_one_is_refused);
    tcase_add_loop_test(c, header_words, 0, SHAPES);
    suite_add_tcase(suite, c);

    c = tcase_create("types");
    tcase_add_loop_test(c, known_types, 0, SHAPES);
    tcase_add_loop_test(c, kinds, 0, SHAPES);
    tcase_add_loop_test(c, an_array_rank_must_be_possible, 0, 2);
    tcase_add_test(c, validity);
    tcase_add_loop_test(c, generic_arguments_stand_in_the_last_dictionary, 0, SHAPES);
    tcase_add_test(c, damaged_generics_have_no_arguments);
    tcase_add_loop_test(c, interfaces, 0, SHAPES);
    tcase_add_test(c, the_interface_map_is_believed_only_where_two_statements_agree);
    tcase_add_test(c, derivation);
    tcase_add_loop_test(c, counts_of_fields, 0, SHAPES);
    tcase_add_test(c, packed_counts_are_refused);
    tcase_add_test(c, a_row_id_that_overflowed_is_no_token);
    tcase_add_loop_test(c, the_allocator_of_a_collectible_type, 0, SHAPES);
    suite_add_tcase(suite, c);

    c = tcase_create("modules");
    tcase_add_loop_test(c, the_list_of_modules, 0, SHAPES);
    tcase_add_loop_test(c, an_assembly_that_is_not_ready_is_no_module, 0, 2);
    tcase_add_loop_test(c, a_module_made_at_run_time, 0, SHAPES);
    tcase_add_test(c, metadata_in_two_runs_is_read_and_a_hole_in_it_is_told);
    tcase_add_test(c, unreadable_parts_of_a_module_are_told);
    tcase_add_test(c, a_module_met_later_is_not_of_the_list);
    tcase_add_loop_test(c, a_damaged_list_of_assemblies_ends, 0, 8);
    tcase_add_loop_test(c, load_contexts, 8, 12);
    tcase_add_test(c, load_contexts_that_are_not_described);
    tcase_add_loop_test(c, collectible_modules_of_older_releases, 8, 11);
    tcase_add_loop_test(c, types_of_a_module, 0, SHAPES);
    tcase_add_test(c, a_map_in_segments);
    tcase_add_loop_test(c, damaged_tables_of_types_end, 0, 9);
    suite_add_tcase(suite, c);

    c = tcase_create("threads");
    tcase_add_loop_test(c, threads_of_every_release, 0, SHAPES);
    tcase_add_test(c, state_in_words);
    tcase_add_test(c, no_threads_and_no_list);
    tcase_add_loop_test(c, a_damaged_list_of_threads_ends, 0, 12);
    tcase_add_loop_test(c, exceptions_and_handles_that_are_not_saved, 0, 2);
    suite_add_tcase(suite, c);

    c = tcase_create("everything");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, the_loop_guard_notices_every_ring);
    tcase_add_loop_test(c, every_allocation_may_fail, 0, SHAPES);
    tcase_add_loop_test(c, damage_anywhere_is_survived, 0, 2 * SHAPES);
    suite_add_tcase(suite, c);

    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
