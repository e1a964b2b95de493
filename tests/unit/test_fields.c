/*
 * The fields of types in a fake process: how many there are, what a FieldDesc says, names, and
 * lists that are damaged.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "metadata_builder.h"
#include "runtime/fields.h"

enum { NODE = 2, LEAF, GEN };                                               /* rows of TypeDef */
enum { NEXT = 1, ID, COUNT, PER_THREAD, TABLE, LEAF_ID, TEXT, VALUE, ODD }; /* rows of Field */
enum { IS_STATIC = 1 << 24, IS_THREAD_STATIC = 1 << 25, IS_RVA = 1 << 26 };
enum { I4 = 0x08, CLASS = 0x12 };
enum { BIG_RVA = 0x7fffffa };

static const struct fake_options processes[] = {
    {0}, {.word = 4}, {.big_endian = true}, {.release = 10}, {.release = 9},
};

static struct fake *f;
static struct fake_target t;
static struct metadata_builder *m;
static uint64_t zoo, node, leaf, list, leaf_list, live;

/* The FieldDesc number I of LIST. */
static void put_field(uint64_t at, unsigned i, uint64_t enclosing, uint32_t rid, uint32_t bits,
                      uint32_t access, uint32_t offset, uint32_t type)
{
    at += i * fake_size(f, "FieldDesc");
    fake_set(f, at, "FieldDesc", "MTOfEnclosingClass", enclosing);
    fake_set(f, at, "FieldDesc", "DWord1", rid | bits | access << 27);
    fake_set(f, at, "FieldDesc", "DWord2", offset | type << 27);
}

static uint64_t class_of(uint64_t type)
{
    return fake_get(f, type, "MethodTable", "EEClassOrCanonMT");
}

static uint64_t new_list(uint64_t type, unsigned count)
{
    uint64_t at = fake_memory(f, count * fake_size(f, "FieldDesc"));
    fake_set(f, class_of(type), "EEClass", "FieldDescList", at);
    return at;
}

static void build_metadata(void)
{
    static const char *const names[] = {"Next", "Id",   "Count", "PerThread", "Table",
                                        "Id",   "Text", "Value", "Odd\xff"};
    static const uint16_t flags[] = {6, 1, 0x16, 0x11, 0x113, 6, 6, 6, 6};
    m = metadata_builder_create();
    uint32_t space = metadata_string(m, "Zoo");
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "<Module>"), 0, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Node"), space, 0, NEXT, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Leaf"), space, 0, LEAF_ID, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Gen`1"), space, 0, VALUE, 1);
    uint32_t signature = METADATA_BLOB(m, 6, I4);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        METADATA_ROW(m, CLR_FIELDDEF, flags[i], metadata_string(m, names[i]), signature);
}

/* Node: two instance fields, three statics. Leaf: Node, with two more. */
static void create(const struct fake_options *options, bool with_metadata)
{
    size_t size;
    live = clr_alloc_live();
    f = fake_create(options);
    build_metadata();
    const uint8_t *blob = metadata_build(m, &size);
    zoo = fake_module(f, &(struct fake_module){.simple_name = "Zoo",
                                               .metadata = with_metadata ? blob : NULL,
                                               .metadata_size = with_metadata ? size : 0,
                                               .is_dynamic = true});
    node = fake_type(f, &(struct fake_type){.module = zoo,
                                            .rid = NODE,
                                            .base_size = 5u * f->word,
                                            .instance_fields = 2,
                                            .static_fields = 3});
    leaf = fake_type(f, &(struct fake_type){.module = zoo,
                                            .rid = LEAF,
                                            .parent = node,
                                            .base_size = 7u * f->word,
                                            .instance_fields = 4});
    list = new_list(node, 5);
    put_field(list, 0, node, NEXT, 0, 6, 0, CLASS);
    put_field(list, 1, node, ID, 0, 1, f->word, I4);
    put_field(list, 2, node, COUNT, IS_STATIC, 6, 8, I4);
    put_field(list, 3, node, PER_THREAD, IS_STATIC | IS_THREAD_STATIC, 1, 16, CLASS);
    put_field(list, 4, node, TABLE, IS_STATIC | IS_RVA, 3, BIG_RVA, I4);
    leaf_list = new_list(leaf, 2);
    put_field(leaf_list, 0, leaf, LEAF_ID, 0, 6, 2u * f->word, I4);
    put_field(leaf_list, 1, leaf, TEXT, 0, 6, 3u * f->word, CLASS);
}

static void destroy(void)
{
    metadata_builder_destroy(m);
    fake_destroy(f);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

static unsigned count_fields(uint64_t type)
{
    struct clr_field_walk walk;
    struct clr_field field;
    unsigned count = 0;
    if (!clr_field_walk_start(&walk, t.runtime, type))
        return 0;
    while (clr_field_next(&walk, &field))
        count++;
    ck_assert(!clr_field_next(&walk, &field)); /* and stays at the end */
    return count;
}

static bool find(uint64_t type, const char *name, struct clr_field *field)
{
    struct clr_field_walk walk;
    if (clr_field_walk_start(&walk, t.runtime, type))
        while (clr_field_next(&walk, field))
            if (field->name && field->name_length == strlen(name) &&
                memcmp(field->name, name, field->name_length) == 0)
                return true;
    return false;
}

static unsigned problems(const char *part)
{
    unsigned found = 0;
    for (size_t i = 0; i < clr_problems_count(t.problems); i++) {
        const struct clr_problem *problem = clr_problems_at(t.problems, i);
        if (strcmp(problem->area, "fields") == 0 && strstr(problem->message, part))
            found += (unsigned)problem->count;
    }
    return found;
}

START_TEST(listing)
{
    static const char *const names[] = {"Next", "Id", "Count", "PerThread", "Table"};
    struct clr_field_walk walk;
    struct clr_field field;
    create(&processes[_i], true);
    fake_open(f, &t);
    ck_assert(clr_field_walk_start(&walk, t.runtime, node));
    for (unsigned i = 0; i < 5; i++) {
        ck_assert(clr_field_next(&walk, &field));
        ck_assert_uint_eq(field.address, list + i * fake_size(f, "FieldDesc"));
        ck_assert_uint_eq(field.type, node);
        ck_assert_uint_eq(field.token, 0x04000000 + NEXT + i);
        ck_assert_uint_eq(field.name_length, strlen(names[i]));
        ck_assert_mem_eq(field.name, names[i], field.name_length);
        ck_assert_int_eq(field.is_static, i >= 2);
        ck_assert_int_eq(field.is_thread_static, i == 3);
        ck_assert_int_eq(field.is_rva, i == 4);
        ck_assert_uint_eq(field.element_type, i == 0 || i == 3 ? CLASS : I4);
        ck_assert_uint_eq(field.protection, field.attributes & 7);
        ck_assert_uint_eq(field.offset, i == 0   ? 0
                                        : i == 1 ? f->word
                                        : i == 2 ? 8
                                        : i == 3 ? 16
                                                 : BIG_RVA);
        ck_assert_int_eq(field.has_offset, i != 4);
    }
    ck_assert(!clr_field_next(&walk, &field));
    ck_assert_uint_eq(count_fields(leaf), 2);
    ck_assert_uint_eq(count_fields(f->known.free), 0);
    ck_assert_uint_eq(count_fields(node + f->word), 0); /* no type: no fields, no problem */
    ck_assert_uint_eq(problems(""), 0);
    fake_close(&t);
    destroy();
}
END_TEST

/* Instantiations that share a class: the FieldDescs name the canonical type. */
START_TEST(shared)
{
    struct clr_field_walk walk;
    struct clr_field field;
    create(&processes[_i], true);
    uint64_t argument = f->known.canon, other = f->known.string;
    struct fake_type type = {.module = zoo,
                             .rid = GEN,
                             .instance_of = true,
                             .flags = 0x20,
                             .arguments = &argument,
                             .argument_count = 1,
                             .instance_fields = 2};
    uint64_t canonical = fake_type(f, &type);
    type.canonical = canonical;
    type.arguments = &other;
    uint64_t exact = fake_type(f, &type);
    uint64_t at = new_list(canonical, 2);
    put_field(at, 0, canonical, VALUE, 0, 6, 0, CLASS);
    put_field(at, 1, canonical, ODD, 0, 6, f->word, CLASS);
    fake_open(f, &t);
    ck_assert(clr_field_walk_start(&walk, t.runtime, exact));
    ck_assert(clr_field_next(&walk, &field));
    ck_assert_uint_eq(field.type, exact);
    ck_assert_uint_eq(field.enclosing, canonical);
    struct clr_text text = {0};
    clr_field_name(&field, &text);
    ck_assert_str_eq(text.data, "Value");
    ck_assert(clr_field_next(&walk, &field));
    clr_text_clear(&text);
    clr_field_name(&field, &text);
    ck_assert_str_eq(text.data, "Odd\xef\xbf\xbd"); /* valid UTF-8 leaves */
    ck_assert(!clr_field_next(&walk, &field));
    clr_text_deinit(&text);
    fake_close(&t);
    destroy();
}
END_TEST

START_TEST(without_metadata)
{
    struct clr_field_walk walk;
    struct clr_field field;
    create(&processes[_i], false);
    fake_open(f, &t);
    ck_assert_uint_eq(count_fields(node), 5);
    ck_assert(clr_field_walk_start(&walk, t.runtime, node));
    ck_assert(clr_field_next(&walk, &field));
    ck_assert_ptr_null(field.name);
    ck_assert_ptr_null(field.metadata);
    struct clr_text text = {0};
    clr_field_name(&field, &text);
    ck_assert_str_eq(text.data, "0x04000001");
    clr_text_deinit(&text);
    ck_assert(!find(node, "Next", &field));
    fake_close(&t);
    destroy();
}
END_TEST

enum damage {
    PART_OF_LIST,
    CLASS_GONE,
    BASE_GONE,
    COUNTS,
    OTHER_TYPE,
    ROW,
    NOT_DESCRIBED,
    DAMAGES
};

START_TEST(damaged)
{
    struct clr_field field;
    enum damage damage = (enum damage)_i;
    create(&processes[0], true);
    uint64_t size = fake_size(f, "FieldDesc");
    switch (damage) {
    case PART_OF_LIST: fake_forget(f, list + 2 * size, size); break;
    case CLASS_GONE:
        fake_forget(f, class_of(leaf) + fake_offset(f, "EEClass", "NumInstanceFields"), 2);
        break;
    case BASE_GONE:
        fake_forget(f, class_of(node) + fake_offset(f, "EEClass", "NumInstanceFields"), 2);
        break;
    case COUNTS: fake_set(f, class_of(node), "EEClass", "NumInstanceFields", 5); break;
    case OTHER_TYPE: put_field(list, 1, leaf, ID, 0, 1, f->word, I4); break;
    case ROW: put_field(list, 0, node, 0xffffff, 0, 6, 0, CLASS); break;
    case NOT_DESCRIBED: fake_hide(f, "FieldDesc", "!"); break;
    default: break;
    }
    fake_open(f, &t);
    switch (damage) {
    case PART_OF_LIST:
        ck_assert_uint_eq(count_fields(node), 2);
        ck_assert_uint_eq(problems("3 of its fields are left out"), 1);
        ck_assert(find(leaf, "Id", &field));
        break;
    case CLASS_GONE:
        ck_assert_uint_eq(count_fields(leaf), 0);
        ck_assert_uint_eq(count_fields(node), 5);
        ck_assert_uint_eq(problems("is not saved"), 1);
        break;
    case BASE_GONE:
        ck_assert_uint_eq(count_fields(leaf), 0);
        ck_assert_uint_eq(problems("is not saved"), 1);
        break;
    case COUNTS: /* more inherited ones than there are */
        ck_assert_uint_eq(count_fields(leaf), 0);
        ck_assert_uint_eq(problems("4 instance fields and its base type has 5"), 1);
        break;
    case OTHER_TYPE:
        ck_assert_uint_eq(count_fields(node), 1);
        ck_assert_uint_eq(problems("names the type"), 1);
        break;
    case ROW: /* no such row: the field is there, its name is not */
        ck_assert_uint_eq(count_fields(node), 5);
        ck_assert(!find(node, "Next", &field));
        ck_assert(find(node, "Count", &field));
        break;
    case NOT_DESCRIBED:
        ck_assert_uint_eq(count_fields(node), 0);
        ck_assert(!find(node, "Next", &field));
        break;
    default: break;
    }
    fake_close(&t);
    destroy();
}
END_TEST

int main(void)
{
    const int all = (int)(sizeof processes / sizeof *processes);
    Suite *suite = suite_create("fields");
    TCase *c = tcase_create("fields");
    tcase_add_loop_test(c, listing, 0, all);
    tcase_add_loop_test(c, shared, 0, all);
    tcase_add_loop_test(c, without_metadata, 0, all);
    tcase_add_loop_test(c, damaged, 0, DAMAGES);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
