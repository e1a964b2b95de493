/*
 * Names of types in a fake process: every kind of handle, and what stands in for a name that cannot
 * be made.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "metadata_builder.h"
#include "runtime/ecma.h"
#include "runtime/types.h"

enum {
    SZARRAY = 0x000a0000,
    GENERIC = 0x10,
    DEFINITION = 0x30,
    DESC = 2, /* bit of a handle */
};
enum { NODE = 2, GEN, INNER, ENTRY, BAD, ROWS }; /* rows of Zoo's TypeDef table */

static struct fake *f;
static struct fake_target t;
static struct metadata_builder *m;
static uint64_t zoo; /* Module */
static uint64_t live;

static void build_metadata(void)
{
    m = metadata_builder_create();
    metadata_form(m, &(struct metadata_form){.uncompressed = true});
    uint32_t space = metadata_string(m, "Zoo");
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "<Module>"), 0, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Node"), space, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Gen`1"), space, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Inner`1"), 0, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Entry"), 0, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, 0xfff0, space, 0, 1, 1);
    METADATA_ROW(m, CLR_NESTEDCLASS, INNER, GEN);
    METADATA_ROW(m, CLR_NESTEDCLASS, ENTRY, INNER);
    METADATA_ROW(m, CLR_GENERICPARAM, 0, 0, GEN << 1, metadata_string(m, "T"));
    METADATA_ROW(m, CLR_GENERICPARAM, 0, 0, INNER << 1, metadata_string(m, "T"));
    METADATA_ROW(m, CLR_GENERICPARAM, 1, 0, INNER << 1, metadata_string(m, "U\xff"));
    METADATA_ROW(m, CLR_GENERICPARAM, 0, 0, ENTRY << 1, metadata_string(m, "T"));
    METADATA_ROW(m, CLR_GENERICPARAM, 1, 0, ENTRY << 1, metadata_string(m, "U"));
}

static const struct fake_options processes[] = {
    {0}, {.word = 4}, {.big_endian = true}, {.release = 10}, {.release = 9}};

static void create(const struct fake_options *options)
{
    live = clr_alloc_live();
    f = fake_create(options);
    build_metadata();
    size_t size;
    const uint8_t *blob = metadata_build(m, &size);
    zoo = fake_module(f, &(struct fake_module){.simple_name = "Zoo",
                                               .metadata = blob,
                                               .metadata_size = size,
                                               .is_dynamic = true,
                                               .is_collectible = true});
}

static void destroy(void)
{
    metadata_builder_destroy(m);
    fake_destroy(f);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

static uint64_t plain(uint32_t rid)
{
    return fake_type(f, &(struct fake_type){.module = zoo, .rid = rid});
}

static uint64_t instance(uint32_t rid, uint32_t flags, const uint64_t *arguments, uint16_t count)
{
    return fake_type(f, &(struct fake_type){.module = zoo,
                                            .rid = rid,
                                            .instance_of = true,
                                            .flags = flags,
                                            .arguments = arguments,
                                            .argument_count = count,
                                            .inherited_dictionaries = 2});
}
#define INSTANCE(rid, ...)                                                                         \
    instance(rid, GENERIC, (const uint64_t[]){__VA_ARGS__},                                        \
             sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint64_t array(uint64_t element)
{
    return fake_array(f, element, f->word, false);
}

static uint64_t md_array(uint64_t element, uint32_t rank)
{
    return fake_type(f, &(struct fake_type){.flags = CLR_MT_IS_ARRAY,
                                            .component_size = 4,
                                            .base_size = 3u * f->word + 8 * rank,
                                            .parent = f->known.array,
                                            .element = element});
}

static uint64_t desc(uint8_t kind, uint64_t argument)
{
    uint64_t at = fake_memory(f, 128);
    fake_set(f, at, "TypeDesc", "TypeAndFlags", 0x1200u | kind);
    if (kind == CLR_ELEMENT_PTR || kind == CLR_ELEMENT_BYREF || kind == CLR_ELEMENT_VALUETYPE)
        fake_set(f, at, "ParamTypeDesc", "TypeArg", argument);
    if (kind == CLR_ELEMENT_VAR || kind == CLR_ELEMENT_MVAR) {
        fake_set(f, at, "TypeVarTypeDesc", "Module", zoo);
        fake_set(f, at, "TypeVarTypeDesc", "Token", argument);
    }
    return at | DESC;
}

static uint64_t function(uint32_t convention, uint64_t result, const uint64_t *arguments,
                         uint32_t count)
{
    uint64_t handle = desc(CLR_ELEMENT_FNPTR, 0), at = handle & ~(uint64_t)DESC;
    uint64_t list = at + fake_offset(f, "FnPtrTypeDesc", "RetAndArgTypes");
    fake_set(f, at, "FnPtrTypeDesc", "NumArgs", count);
    fake_set(f, at, "FnPtrTypeDesc", "CallConv", convention);
    fake_put_word(f, list, result);
    for (uint32_t i = 0; i < count; i++)
        fake_put_word(f, list + (i + 1) * f->word, arguments[i]);
    return handle;
}

static const char *name(uint64_t handle)
{
    const char *text = clr_handle_type_name(t.runtime, handle);
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_eq(clr_type_name(t.runtime, handle), text); /* kept */
    return text;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whether the name is MODULE_AND_TOKEN and the handle: no two instantiations have one replacement. */
static bool is_instantiation(uint64_t handle, const char *module_and_token)
{
    char text[100];
    snprintf(text, sizeof text, "%s<0x%llx>", module_and_token, (unsigned long long)handle);
    return strcmp(name(handle), text) == 0;
}

static const char *space(uint64_t handle)
{
    return clr_type_namespace(t.runtime, handle);
}

/* How often a cause of area types was met: the text is part of the message. */
static uint64_t problems(const char *text)
{
    uint64_t count = 0;
    for (size_t i = 0; i < clr_problems_count(t.problems); i++) {
        const struct clr_problem *problem = clr_problems_at(t.problems, i);
        if (strcmp(problem->area, "types") == 0 && strstr(problem->message, text))
            count += problem->count;
    }
    return count;
}

static size_t type_problems(void)
{
    return problems("");
}

START_TEST(spellings)
{
    create(&processes[_i]);
    uint64_t node = plain(NODE), object = f->known.object, integer = f->known.int32;
    uint64_t gen = INSTANCE(GEN, node);
    uint64_t inner = INSTANCE(INNER, integer, gen);
    uint64_t entry = INSTANCE(ENTRY, f->known.canon, f->known.canon);
    uint64_t open = fake_type(
        f, &(struct fake_type){.module = zoo,
                               .rid = INNER,
                               .flags = DEFINITION,
                               .arguments = (uint64_t[]){desc(CLR_ELEMENT_VAR, 0x2a000002),
                                                         desc(CLR_ELEMENT_VAR, 0x2a000003)},
                               .argument_count = 2});
    uint64_t variable = desc(CLR_ELEMENT_VAR, 0x2a000003);
    uint64_t entries = array(entry), jagged = array(md_array(integer, 2));
    uint64_t lower = md_array(f->known.string, 1), cube = md_array(node, 3);
    uint64_t pointer = desc(CLR_ELEMENT_PTR, integer), twice = desc(CLR_ELEMENT_PTR, pointer);
    uint64_t reference = desc(CLR_ELEMENT_BYREF, node), native = desc(CLR_ELEMENT_VALUETYPE, node);
    uint64_t pointers = array(pointer), variables = array(variable);
    uint64_t functions = array(function(0, object, (uint64_t[]){integer, gen}, 2));
    uint64_t call = function(1, integer, NULL, 0);
    uint64_t made = fake_type(f, &(struct fake_type){.parent = f->known.continuation,
                                                     .type_class = f->known.continuation_class});
    fake_open(f, &t);
    ck_assert_str_eq(name(f->known.free), "Free");
    ck_assert_str_eq(name(object), "System.Object");
    ck_assert_str_eq(name(f->known.string), "System.String");
    ck_assert_str_eq(name(f->known.object_array), "System.Object[]");
    ck_assert_str_eq(name(node), "Zoo.Node");
    ck_assert_str_eq(name(gen), "Zoo.Gen<Zoo.Node>");
    ck_assert_str_eq(name(inner), "Zoo.Gen<System.Int32>+Inner<Zoo.Gen<Zoo.Node>>");
    ck_assert_str_eq(name(entry), "Zoo.Gen<System.__Canon>+Inner<System.__Canon>+Entry");
    ck_assert_str_eq(name(entries), "Zoo.Gen<System.__Canon>+Inner<System.__Canon>+Entry[]");
    ck_assert_str_eq(name(open), "Zoo.Gen<T>+Inner<U\xef\xbf\xbd>");
    ck_assert_str_eq(name(variable), "U\xef\xbf\xbd");
    ck_assert_str_eq(name(variables), "U\xef\xbf\xbd[]");
    ck_assert_str_eq(name(jagged), "System.Int32[,][]");
    ck_assert_str_eq(name(lower), "System.String[*]");
    ck_assert_str_eq(name(cube), "Zoo.Node[,,]");
    ck_assert_str_eq(name(pointer), "System.Int32*");
    ck_assert_str_eq(name(twice), "System.Int32**");
    ck_assert_str_eq(name(pointers), "System.Int32*[]");
    ck_assert_str_eq(name(reference), "Zoo.Node&");
    ck_assert_str_eq(name(native), "Zoo.Node");
    ck_assert_str_eq(name(functions),
                     "delegate*<System.Int32, Zoo.Gen<Zoo.Node>, System.Object>[]");
    ck_assert_str_eq(name(call), "delegate* unmanaged[Cdecl]<System.Int32>");
    if (f->release >= 11) /* the others have no such types */
        ck_assert_str_eq(name(made), "System.Runtime.CompilerServices.Continuation");
    ck_assert_str_eq(space(f->known.free), "");
    ck_assert_str_eq(space(entry), "Zoo");
    ck_assert_str_eq(space(jagged), "System");
    ck_assert_str_eq(space(reference), "Zoo");
    ck_assert_str_eq(space(functions), "");
    ck_assert_str_eq(space(variables), "");
    ck_assert_ptr_eq(space(node), space(gen)); /* texts are shared */
    ck_assert_uint_eq(type_problems(), 0);
    fake_close(&t);
    destroy();
}
END_TEST

START_TEST(replacements)
{
    create(NULL);
    uint64_t silent =
        fake_module(f, &(struct fake_module){.path = "/app/Silent.dll", .simple_name = "Silent"});
    uint64_t nameless = fake_type(f, &(struct fake_type){.module = silent, .rid = 5});
    uint64_t second = fake_type(f, &(struct fake_type){.module = silent, .rid = 6});
    uint64_t rowless = plain(ROWS + 3), torn = plain(BAD), tokenless = plain(0);
    uint64_t some = array(nameless), gen = INSTANCE(GEN, nameless);
    uint64_t lost = fake_memory(f, 64), memory = fake_memory(f, 64);
    uint64_t argument = INSTANCE(GEN, lost), few = INSTANCE(INNER, argument);
    uint64_t homeless = plain(NODE);
    uint64_t strange = desc(0x77, 0), missing = INSTANCE(GEN, f->known.int32);
    uint64_t dictionary =
        fake_word(f, fake_get(f, missing, "MethodTable", "PerInstInfo") + 2u * f->word);
    fake_forget(f, dictionary, f->word);
    fake_set(f, homeless, "MethodTable", "Module", 0);
    fake_forget(f, lost, 64);
    fake_open(f, &t);

    char unknown[64], expected[128];
    ck_assert_str_eq(name(nameless), "Silent.dll!0x02000005");
    ck_assert_str_eq(name(second), "Silent.dll!0x02000006");
    ck_assert_str_eq(name(some), "Silent.dll!0x02000005[]");
    ck_assert_str_eq(name(gen), "Zoo.Gen<Silent.dll!0x02000005>");
    ck_assert_uint_eq(problems("module Silent.dll have no names: its metadata was not found"), 2);
    ck_assert_str_eq(name(rowless), "Zoo!0x0200000a");
    ck_assert_str_eq(name(torn), "Zoo!0x02000006");
    ck_assert_uint_eq(problems("rows in its metadata are damaged"), 2);
    ck_assert_ptr_null(space(rowless));
    ck_assert_ptr_null(space(nameless));

    snprintf(unknown, sizeof unknown, "<unknown 0x%llx>", (unsigned long long)lost);
    ck_assert_str_eq(name(lost), unknown);
    ck_assert_uint_eq(problems("not saved or damaged"), 1);
    snprintf(expected, sizeof expected, "Zoo.Gen<%s>", unknown);
    ck_assert_str_eq(name(argument), expected);
    ck_assert(is_instantiation(few, "Zoo!0x02000004")); /* one argument for two parameters */
    ck_assert(is_instantiation(missing, "Zoo!0x02000003"));
    ck_assert_str_eq(space(missing), "Zoo");
    ck_assert_uint_eq(problems("arguments of its instantiation"), 2);

    snprintf(unknown, sizeof unknown, "<unknown 0x%llx>", (unsigned long long)tokenless);
    ck_assert_str_eq(name(tokenless), unknown);
    snprintf(unknown, sizeof unknown, "<unknown 0x%llx>", (unsigned long long)homeless);
    ck_assert_str_eq(name(homeless), unknown);
    ck_assert_uint_eq(problems("its module and token are not in the dump"), 2);
    snprintf(unknown, sizeof unknown, "<unknown 0x%llx>", (unsigned long long)strange);
    ck_assert_str_eq(name(strange), unknown);
    snprintf(unknown, sizeof unknown, "<unknown 0x%llx>", (unsigned long long)memory);
    ck_assert_str_eq(name(memory), unknown);
    ck_assert_str_eq(name(0), "<unknown 0x0>");
    ck_assert_str_eq(name(1), "<unknown 0x1>");
    ck_assert_str_eq(name(UINT64_MAX), "<unknown 0xffffffffffffffff>");
    ck_assert(!clr_problems_incomplete(t.problems));

    size_t count = clr_problems_count(t.problems);
    for (size_t i = 0; i < count; i++) {
        const struct clr_problem *problem = clr_problems_at(t.problems, i);
        if (strstr(problem->message, "its metadata was not found")) {
            ck_assert_uint_eq(problem->owner, silent);
            ck_assert_uint_eq(problem->address, nameless);
        }
    }
    fake_close(&t);
    destroy();
}
END_TEST

/* --- bounds --------------------------------------------------------------------------------- */

enum { CHAIN = CLR_ECMA_DEPTH + 4 };

/* chain[i] has i + 1 levels. */
static void build_chain(uint64_t chain[CHAIN])
{
    chain[0] = plain(NODE);
    for (unsigned i = 1; i < CHAIN; i++)
        chain[i] = i % 2 ? array(chain[i - 1]) : INSTANCE(GEN, chain[i - 1]);
}

/* A name does not depend on what was asked for before. */
START_TEST(depth)
{
    create(NULL);
    uint64_t chain[CHAIN];
    build_chain(chain);
    fake_open(f, &t);
    for (unsigned n = 0; n < CHAIN; n++) {
        unsigned i = _i == 0 ? n : _i == 1 ? CHAIN - 1 - n : n * 7 % CHAIN;
        if (i < CLR_ECMA_DEPTH)
            ck_assert(starts(name(chain[i]), "Zoo."));
        else if (i % 2)
            ck_assert(starts(name(chain[i]), "<unknown 0x"));
        else
            ck_assert(is_instantiation(chain[i], "Zoo!0x02000003"));
    }
    ck_assert_str_eq(name(chain[3]), "Zoo.Gen<Zoo.Node[]>[]");
    ck_assert_uint_eq(problems("nested deeper than 64 levels"), CHAIN - CLR_ECMA_DEPTH);
    fake_close(&t);
    destroy();
}
END_TEST

START_TEST(circles)
{
    create(NULL);
    uint64_t self = array(f->known.object), pair[2] = {array(self), array(self)};
    fake_set(f, self, "MethodTable", "PerInstInfo", self);
    fake_set(f, pair[0], "MethodTable", "PerInstInfo", pair[1]);
    fake_set(f, pair[1], "MethodTable", "PerInstInfo", pair[0]);
    uint64_t pointer = desc(CLR_ELEMENT_PTR, 0);
    fake_set(f, pointer & ~(uint64_t)DESC, "ParamTypeDesc", "TypeArg", pointer);
    /* ENTRY with itself twice: two to the power of the depth, if all were read */
    uint64_t twin = INSTANCE(ENTRY, self, self), around = INSTANCE(GEN, pair[1]);
    uint64_t dictionary =
        fake_word(f, fake_get(f, twin, "MethodTable", "PerInstInfo") + 2u * f->word);
    fake_put_word(f, dictionary, twin);
    fake_put_word(f, dictionary + f->word, twin);
    fake_open(f, &t);
    const uint64_t all[] = {around, self, pair[0], pair[1], pointer};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = name(all[_i ? sizeof all / sizeof *all - 1 - i : i]);
        ck_assert(starts(text, "<unknown 0x") || starts(text, "Zoo!0x02000003<0x"));
    }
    ck_assert(is_instantiation(twin, "Zoo!0x02000005"));
    ck_assert_uint_eq(problems("nested deeper"), 6);
    fake_close(&t);
    destroy();
}
END_TEST

START_TEST(length)
{
    create(NULL);
    enum { COUNT = 65000 };
    uint64_t objects[3] = {f->known.object, f->known.object, f->known.object};
    uint64_t wide = function(0, f->known.object, objects, 3);
    uint64_t long_list = fake_memory(f, 128 + (COUNT + 2) * (uint64_t)f->word);
    fake_set(f, long_list, "TypeDesc", "TypeAndFlags", CLR_ELEMENT_FNPTR);
    fake_set(f, long_list, "FnPtrTypeDesc", "NumArgs", COUNT);
    uint64_t list = long_list + fake_offset(f, "FnPtrTypeDesc", "RetAndArgTypes");
    uint64_t objects_array = array(f->known.object);
    for (uint32_t i = 0; i <= COUNT; i++)
        fake_put_word(f, list + (uint64_t)i * f->word, objects_array);
    uint64_t endless = desc(CLR_ELEMENT_FNPTR, 0);
    fake_set(f, endless & ~(uint64_t)DESC, "FnPtrTypeDesc", "NumArgs", UINT32_MAX);
    fake_open(f, &t);
    ck_assert_str_eq(name(wide), "delegate*<System.Object, System.Object, System.Object, "
                                 "System.Object>");
    ck_assert(starts(name(long_list | DESC), "<unknown 0x"));
    ck_assert_uint_eq(problems("longer than 1048576 bytes"), 1);
    ck_assert(starts(name(endless), "<unknown 0x"));
    ck_assert_uint_eq(problems("not saved or damaged"), 1);
    fake_close(&t);
    destroy();
}
END_TEST

START_TEST(out_of_memory)
{
    create(NULL);
    uint64_t gen = INSTANCE(INNER, plain(NODE), f->known.int32), all[CHAIN];
    build_chain(all);
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        fake_open(f, &t);
        /* What is not of this file is made before. */
        ck_assert_ptr_nonnull(clr_type_name(t.runtime, f->known.free));
        ck_assert_ptr_nonnull(clr_type_name(t.runtime, all[0]));
        uint64_t before = clr_alloc_made();
        clr_alloc_fail_at(n);
        const char *text = clr_type_name(t.runtime, gen);
        for (unsigned i = 0; i < CHAIN; i++)
            ck_assert_ptr_nonnull(clr_type_name(t.runtime, all[i]));
        done = clr_alloc_made() - before < n;
        clr_alloc_fail_at(0);
        ck_assert(strcmp(text, "Zoo.Gen<Zoo.Node>+Inner<System.Int32>") == 0 ||
                  strcmp(text, "<unknown: out of memory>") == 0);
        if (strcmp(text, "<unknown: out of memory>") == 0)
            ck_assert(clr_problems_lost(t.problems) || problems("no memory for the name") > 0);
        /* Memory is there again: nothing wrong was kept. */
        ck_assert_str_eq(clr_type_name(t.runtime, gen), "Zoo.Gen<Zoo.Node>+Inner<System.Int32>");
        ck_assert_str_eq(clr_type_name(t.runtime, all[3]), "Zoo.Gen<Zoo.Node[]>[]");
        fake_close(&t);
        ck_assert_uint_lt(n, 1000);
    }
    destroy();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("typename");
    TCase *c = tcase_create("typename");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, spellings, 0, (int)(sizeof processes / sizeof *processes));
    tcase_add_test(c, replacements);
    tcase_add_loop_test(c, depth, 0, 3);
    tcase_add_loop_test(c, circles, 0, 2);
    tcase_add_test(c, length);
    tcase_add_test(c, out_of_memory);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
