/*
 * Fields of the library's classes: found in the class that the row names, under each of the names
 * that releases have, of the right kind; and what is reported where one is missing. The module that
 * has these types is made the library by naming it as the module of System.Object.
 */
#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "inspect/elements.h"
#include "metadata_builder.h"

enum { STRUCT = 0x00040000, STATIC = 1 << 24 };
enum { MOST_FIELDS = 3 };

static const struct fake_options processes[] = {
    {0}, {.word = 4}, {.big_endian = true}, {.release = 10}, {.release = 9},
};
enum { PROCESSES = sizeof processes / sizeof processes[0] };

/* Rows of TypeDef, from 2. */
enum {
    OBJECT = 2,
    THREAD,
    WORKER,
    CONTEXT,
    DELEGATE,
    MULTICAST,
    PAIR,
    HOLDER,
    LIST,
    OWN_LIST,
    END
};

struct field {
    const char *name;
    uint8_t element;
    uint8_t word; /* offset in words */
    uint32_t bits;
};
static const struct definition {
    const char *space, *name;
    unsigned parent; /* row; 0: System.Object */
    uint32_t kind;
    struct field fields[MOST_FIELDS];
} definitions[] = {
    [OBJECT] = {.space = "System", .name = "Object"}, /* the builder's System.Object is this row */
    [THREAD] = {"System.Threading",
                "Thread",
                0,
                0,
                {{"_name", CLR_ELEMENT_CLASS, 1, 0}, {"_id", CLR_ELEMENT_I4, 0, 0}}},
    /* A program's own class, with a field of the same name. */
    [WORKER] = {"Zoo", "Worker", THREAD, 0, {{"_name", CLR_ELEMENT_CLASS, 2, 0}}},
    /* _name is no reference here, and there is no _state but a static one. */
    [CONTEXT] = {"System.Runtime.Loader",
                 "AssemblyLoadContext",
                 0,
                 0,
                 {{"_name", CLR_ELEMENT_I4, 0, 0}, {"_state", CLR_ELEMENT_I4, 1, STATIC}}},
    [DELEGATE] = {"System",
                  "Delegate",
                  0,
                  0,
                  {{"_target", CLR_ELEMENT_CLASS, 0, 0},
                   {"_methodPtr", CLR_ELEMENT_I, 1, 0},
                   {"_methodPtrAux", CLR_ELEMENT_I, 2, 0}}},
    [MULTICAST] = {"System",
                   "MulticastDelegate",
                   DELEGATE,
                   0,
                   {{"_helperObject", CLR_ELEMENT_CLASS, 3, 0},
                    {"_extraData", CLR_ELEMENT_I, 4, 0}}},
    [PAIR] =
        {"Zoo", "Pair", 0, STRUCT, {{"A", CLR_ELEMENT_I4, 0, 0}, {"B", CLR_ELEMENT_CLASS, 1, 0}}},
    [HOLDER] = {"Zoo",
                "Holder",
                0,
                0,
                {{"Id", CLR_ELEMENT_I4, 0, 0}, {"Pair", CLR_ELEMENT_VALUETYPE, 1, 0}}},
    [LIST] = {"System.Collections.Generic",
              "List",
              0,
              0,
              {{"_items", CLR_ELEMENT_CLASS, 0, 0}, {"_size", CLR_ELEMENT_I4, 1, 0}}},
    [OWN_LIST] = {"Zoo",
                  "OwnList",
                  LIST,
                  0,
                  {{"_items", CLR_ELEMENT_CLASS, 2, 0}, {"_size", CLR_ELEMENT_I4, 3, 0}}},
};

static struct fake *f;
static struct metadata_builder *m;
static struct clr_dump *dump;
static uint64_t live, library, types[END], foreign;

static unsigned field_count(const struct definition *d)
{
    unsigned count = 0;
    while (count < MOST_FIELDS && d->fields[count].name)
        count++;
    return count;
}

static void build_metadata(void)
{
    uint32_t next = 1;
    m = metadata_builder_create();
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "<Module>"), 0, 0, 1, 1);
    for (unsigned i = 2; i < END; i++) {
        METADATA_ROW(m, CLR_TYPEDEF, 0x100, metadata_string(m, definitions[i].name),
                     metadata_string(m, definitions[i].space), 0, next, 1);
        next += field_count(&definitions[i]);
    }
    for (unsigned i = 2; i < END; i++)
        for (unsigned k = 0; k < field_count(&definitions[i]); k++) {
            const struct field *field = &definitions[i].fields[k];
            uint32_t signature =
                field->element == CLR_ELEMENT_VALUETYPE
                    ? METADATA_BLOB(m, 6, CLR_ELEMENT_VALUETYPE, (uint8_t)(PAIR << 2))
                : field->element == CLR_ELEMENT_CLASS ? METADATA_BLOB(m, 6, CLR_ELEMENT_OBJECT)
                                                      : METADATA_BLOB(m, 6, field->element);
            METADATA_ROW(m, CLR_FIELDDEF, 6, metadata_string(m, field->name), signature);
        }
}

static unsigned instance_fields(unsigned i)
{
    unsigned count = i == 0 ? 0 : instance_fields(definitions[i].parent);
    for (unsigned k = 0; i != 0 && k < field_count(&definitions[i]); k++)
        count += !(definitions[i].fields[k].bits & STATIC);
    return count;
}

static uint64_t build_type(unsigned i, uint64_t module, uint64_t parent)
{
    const struct definition *d = &definitions[i];
    unsigned count = field_count(d), statics = 0;
    uint32_t first = 1;
    for (unsigned before = 2; before < i; before++)
        first += field_count(&definitions[before]);
    for (unsigned k = 0; k < count; k++)
        statics += d->fields[k].bits & STATIC ? 1 : 0;
    uint64_t type =
        fake_type(f, &(struct fake_type){.module = module,
                                         .rid = i,
                                         .flags = d->kind,
                                         .base_size = 8u * f->word,
                                         .norm_type = d->kind ? CLR_ELEMENT_VALUETYPE : 0,
                                         .parent = d->kind ? f->known.value_type : parent,
                                         .instance_fields = (uint16_t)instance_fields(i),
                                         .static_fields = (uint16_t)statics});
    uint64_t list = fake_memory(f, count * fake_size(f, "FieldDesc"));
    uint64_t class_of = fake_get(f, type, "MethodTable", "EEClassOrCanonMT");
    fake_set(f, class_of, "EEClass", "FieldDescList", list);
    for (unsigned k = 0; k < count; k++) {
        uint64_t at = list + k * fake_size(f, "FieldDesc");
        fake_set(f, at, "FieldDesc", "MTOfEnclosingClass", type);
        fake_set(f, at, "FieldDesc", "DWord1", (first + k) | d->fields[k].bits);
        fake_set(f, at, "FieldDesc", "DWord2",
                 d->fields[k].word * f->word | (uint32_t)d->fields[k].element << 27);
    }
    return type;
}

static void create(const struct fake_options *options, bool with_metadata)
{
    size_t size;
    live = clr_alloc_live();
    f = fake_create(options);
    build_metadata();
    const uint8_t *blob = metadata_build(m, &size);
    struct fake_module module = {.simple_name = "Library", .is_dynamic = true};
    if (with_metadata) {
        module.metadata = blob;
        module.metadata_size = size;
    }
    library = fake_module(f, &module);
    fake_set(f, f->known.object, "MethodTable", "Module", library);
    for (unsigned i = THREAD; i < END; i++)
        types[i] = build_type(i, library, definitions[i].parent ? types[definitions[i].parent] : 0);
    module.simple_name = "Foreign"; /* has classes of the same names */
    foreign = build_type(THREAD, fake_module(f, &module), 0);
}

static void open_dump(const char *path)
{
    struct clr_options options = {0};
    struct clr_error error = {0};
    ck_assert_msg(clr_dump_open(path, &options, NULL, &dump, &error) == CLR_OK, "%s", error.text);
}

static void destroy(void)
{
    clr_dump_close(dump);
    metadata_builder_destroy(m);
    fake_destroy(f);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

static const struct clr_managed *bind(enum clr_managed_class class, uint64_t type)
{
    const struct clr_managed *managed, *again;
    struct clr_error error = {0};
    ck_assert_int_eq(clr_managed_bind(dump, class, type, &managed, &error), CLR_OK);
    ck_assert_int_eq(clr_managed_bind(dump, class, type, &again, &error), CLR_OK);
    ck_assert_ptr_eq(managed, again); /* looked for once */
    return managed;
}

static const struct clr_problem *problem(const char *part)
{
    for (size_t i = 0; i < clr_problems_count(dump->problems); i++)
        if (strcmp(clr_problems_at(dump->problems, i)->area, "library") == 0 &&
            strstr(clr_problems_at(dump->problems, i)->message, part))
            return clr_problems_at(dump->problems, i);
    return NULL;
}

/* --- The class that declares it ----------------------------------------------------------------
 */

START_TEST(declaring_class)
{
    uint64_t value, string;
    struct clr_text text = {0};
    create(&processes[_i], true);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t name = fake_string(f, gen0, "main"), other = fake_string(f, gen0, "own");
    uint64_t thread = fake_object(f, gen0, types[THREAD], 0);
    uint64_t worker = fake_object(f, gen0, types[WORKER], 0);
    fake_put_word(f, worker + 2u * f->word, name);
    fake_put_word(f, worker + 3u * f->word, other);
    open_dump(fake_path(f));
    const struct clr_managed *managed = bind(CLR_MANAGED_THREAD, types[WORKER]);
    ck_assert_ptr_nonnull(managed);
    ck_assert_uint_eq(managed->layout->type.address, types[THREAD]);
    ck_assert_uint_eq(managed->missing, managed->count);
    ck_assert(clr_managed_read(dump->runtime, managed, CLR_THREAD_NAME, worker, &value));
    ck_assert_uint_eq(value, name); /* not the one that Worker declares */
    ck_assert(clr_managed_string(dump->runtime, managed, CLR_THREAD_NAME, worker, &string, &text));
    ck_assert_str_eq(text.data, "main");
    ck_assert(clr_managed_string(dump->runtime, managed, CLR_THREAD_NAME, thread, &string, &text));
    ck_assert_uint_eq(string, 0);
    ck_assert_str_eq(text.data, "main");
    ck_assert(!clr_managed_read(dump->runtime, managed, CLR_THREAD_NAME, 16, &value));
    ck_assert(!clr_managed_read(dump->runtime, managed, managed->count, worker, &value));
    clr_text_deinit(&text);

    ck_assert_ptr_nonnull(bind(CLR_MANAGED_THREAD, types[THREAD]));
    ck_assert_ptr_null(bind(CLR_MANAGED_THREAD, types[HOLDER]));
    ck_assert_ptr_null(bind(CLR_MANAGED_THREAD, foreign)); /* a class of that name elsewhere */
    ck_assert_ptr_null(bind(CLR_MANAGED_THREAD, 0));
    ck_assert_uint_eq(clr_problems_count(dump->problems), 0);
    destroy();
}
END_TEST

/* A class that is derived from a collection and has fields of the same names. */
START_TEST(derived_collection)
{
    struct clr_error error = {0};
    struct clr_elements elements;
    struct clr_item item;
    bool found;
    create(&processes[_i], true);
    unsigned gen0 = fake_segment(f, 0, 0);
    uint64_t list = fake_object(f, gen0, types[OWN_LIST], 0);
    uint64_t array = fake_object(f, gen0, f->known.object_array, 4);
    fake_put_word(f, list + f->word, array);
    fake_put_u32(f, list + 2u * f->word, 2);
    fake_put_word(f, list + 3u * f->word, list);
    fake_put_u32(f, list + 4u * f->word, 1);
    open_dump(fake_path(f));
    ck_assert_msg(clr_dump_need(dump, CLR_PART_INDEX, NULL, &error) == CLR_OK, "%s", error.text);
    ck_assert_msg(clr_elements_start(&elements, dump, NULL, list, &found, &error) == CLR_OK, "%s",
                  error.text);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(clr_elements_next(&elements, &item, &found, &error), CLR_OK);
        ck_assert(found);
        ck_assert(item.value.address > array && item.value.address < array + 6u * f->word);
    }
    ck_assert_int_eq(clr_elements_next(&elements, &item, &found, &error), CLR_OK);
    ck_assert(!found);
    clr_elements_finish(&elements);
    ck_assert_uint_eq(clr_problems_count(dump->problems), 0);
    destroy();
}
END_TEST

/* A string field that holds another object has no text. */
START_TEST(no_string)
{
    uint64_t string;
    struct clr_text text = {0};
    struct clr_error error = {0};
    const struct clr_managed *managed;
    create(&processes[0], true);
    uint64_t thread = fake_object(f, fake_segment(f, 0, 0), types[THREAD], 0);
    fake_put_word(f, thread + 2u * f->word, thread);
    open_dump(fake_path(f));
    ck_assert_int_eq(clr_managed_of(dump, CLR_MANAGED_THREAD, thread, &managed, &error), CLR_OK);
    ck_assert_ptr_nonnull(managed);
    ck_assert(!clr_managed_string(dump->runtime, managed, CLR_THREAD_NAME, thread, &string, &text));
    ck_assert_int_eq(clr_managed_of(dump, CLR_MANAGED_THREAD, 16, &managed, &error), CLR_OK);
    ck_assert_ptr_null(managed);
    destroy();
}
END_TEST

/* --- Names and kinds ---------------------------------------------------------------------------
 */

START_TEST(alternatives)
{
    uint64_t value;
    create(&processes[_i], true);
    uint64_t object = fake_object(f, fake_segment(f, 0, 0), types[MULTICAST], 0);
    for (unsigned i = 0; i < 5; i++)
        fake_put_word(f, object + (1 + i) * f->word, 100 + i);
    open_dump(fake_path(f));
    const struct clr_managed *base = bind(CLR_MANAGED_DELEGATE, types[MULTICAST]);
    const struct clr_managed *multicast = bind(CLR_MANAGED_MULTICAST_DELEGATE, types[MULTICAST]);
    ck_assert_ptr_null(bind(CLR_MANAGED_MULTICAST_DELEGATE, types[DELEGATE]));
    ck_assert(base && multicast);
    ck_assert(clr_managed_read(dump->runtime, base, CLR_DELEGATE_TARGET, object, &value));
    ck_assert_uint_eq(value, 100);
    ck_assert(clr_managed_read(dump->runtime, base, CLR_DELEGATE_METHOD_AUX, object, &value));
    ck_assert_uint_eq(value, 102);
    ck_assert(clr_managed_read(dump->runtime, multicast, CLR_MULTICAST_LIST, object, &value));
    ck_assert_uint_eq(value, 103);
    ck_assert(clr_managed_read(dump->runtime, multicast, CLR_MULTICAST_EXTRA, object, &value));
    ck_assert_uint_eq(value, 104);
    ck_assert_uint_eq(clr_problems_count(dump->problems), 0);
    destroy();
}
END_TEST

START_TEST(missing)
{
    uint64_t value;
    create(&processes[_i], true);
    uint64_t object = fake_object(f, fake_segment(f, 0, 0), types[CONTEXT], 0);
    open_dump(fake_path(f));
    const struct clr_managed *managed = bind(CLR_MANAGED_LOAD_CONTEXT, types[CONTEXT]);
    ck_assert_ptr_nonnull(managed);
    ck_assert_uint_eq(managed->missing, CLR_LOAD_CONTEXT_NAME); /* a number, and no reference */
    ck_assert_ptr_null(managed->fields[CLR_LOAD_CONTEXT_STATE].member); /* static */
    ck_assert(!clr_managed_read(dump->runtime, managed, CLR_LOAD_CONTEXT_NAME, object, &value));
    ck_assert(!clr_managed_read(dump->runtime, managed, CLR_LOAD_CONTEXT_STATE, object, &value));
    const struct clr_problem *found =
        problem("System.Runtime.Loader.AssemblyLoadContext has not the fields that are known in "
                "this release: '_name', '_state'");
    ck_assert_ptr_nonnull(found);
    ck_assert_uint_eq(found->count, 1);
    ck_assert(!found->incomplete);
    destroy();
}
END_TEST

/* Nothing has a name, which is reported where metadata is looked for. */
START_TEST(without_metadata)
{
    create(&processes[0], false);
    open_dump(fake_path(f));
    ck_assert_ptr_null(bind(CLR_MANAGED_THREAD, types[THREAD]));
    ck_assert_ptr_null(problem(""));
    destroy();
}
END_TEST

/* Base types that go in a cycle end. */
START_TEST(cycle)
{
    create(&processes[0], true);
    fake_set(f, types[THREAD], "MethodTable", "ParentMethodTable", types[WORKER]);
    open_dump(fake_path(f));
    ck_assert_ptr_null(bind(CLR_MANAGED_EXCEPTION, types[WORKER]));
    destroy();
}
END_TEST

/* --- Names that are no row ---------------------------------------------------------------------
 */

START_TEST(paths)
{
    static const char *const names[] = {"Pair.B", "None|Id", NULL, "Id.B", "Pair.C", "Pair"};
    static const uint8_t kinds[] = {CLR_MANAGED_REFERENCE, CLR_MANAGED_32BIT,
                                    CLR_MANAGED_ANY,       CLR_MANAGED_OPTIONAL,
                                    CLR_MANAGED_OPTIONAL,  CLR_MANAGED_STRUCT};
    enum { COUNT = sizeof kinds / sizeof kinds[0] };
    const struct clr_managed *managed;
    struct clr_layout *layout;
    struct clr_place place;
    struct clr_error error = {0};
    create(&processes[_i], true);
    fake_object(f, fake_segment(f, 0, 0), types[HOLDER], 0);
    open_dump(fake_path(f));
    ck_assert_msg(clr_dump_need(dump, CLR_PART_INDEX, NULL, &error) == CLR_OK, "%s", error.text);
    ck_assert_int_eq(clr_layout_get(dump, types[HOLDER], &layout, &error), CLR_OK);
    ck_assert_int_eq(clr_managed_find(dump, layout, names, names, kinds, COUNT, &managed, &error),
                     CLR_OK);
    ck_assert_uint_eq(managed->missing, COUNT);
    ck_assert_uint_eq(managed->fields[0].offset, 2u * f->word);
    ck_assert_str_eq(managed->fields[0].member->name, "B");
    ck_assert_str_eq(managed->fields[1].member->name, "Id");
    ck_assert_ptr_null(managed->fields[2].member);
    ck_assert_ptr_null(managed->fields[3].member);
    ck_assert_ptr_null(managed->fields[4].member);
    ck_assert_int_eq(clr_managed_place(dump, &managed->fields[5], 0x1000, &place, &error), CLR_OK);
    ck_assert_uint_eq(place.address, 0x1000 + f->word);
    ck_assert_uint_eq(place.type, types[PAIR]);
    ck_assert_uint_eq(clr_problems_count(dump->problems), 0);
    destroy();
}
END_TEST

/* --- The shipped dump --------------------------------------------------------------------------
 */

/* Every row is a class of that release, with all its fields. Of a few no instantiation is loaded. */
START_TEST(shipped)
{
    enum { NOT_LOADED = 6 };
    unsigned absent = 0;
    const uint64_t *list;
    size_t count;
    struct clr_error error = {0};
    open_dump(CLRDB_DUMPS "/ws11.core");
    ck_assert_int_eq(clr_dump_types(dump, NULL, &list, &count, &error), CLR_OK);
    for (enum clr_managed_class class = 0; class < CLR_MANAGED_CLASSES; class ++) {
        unsigned found = 0;
        for (size_t i = 0; i < count; i++) {
            const struct clr_managed *managed = bind(class, list[i]);
            if (!managed)
                continue;
            found++;
            ck_assert_msg(managed->missing == managed->count, "%s: no %s",
                          clr_managed_rows[class].name,
                          clr_managed_rows[class].names[managed->missing]);
        }
        absent += found == 0;
    }
    ck_assert_uint_le(absent, NOT_LOADED);
    ck_assert_ptr_null(problem(""));
    clr_dump_close(dump);
}
END_TEST

/* Memory that runs out is an error, and afterwards all is there. */
START_TEST(no_memory)
{
    const struct clr_managed *managed;
    unsigned failed = 0;
    for (uint64_t n = 1;; n++) {
        struct clr_error error = {0};
        create(&processes[0], true);
        open_dump(fake_path(f));
        clr_alloc_fail_at(n);
        enum clr_status status =
            clr_managed_bind(dump, CLR_MANAGED_LOAD_CONTEXT, types[CONTEXT], &managed, &error);
        clr_alloc_fail_at(0);
        ck_assert(status == CLR_OK || status == CLR_NOMEM);
        if (status == CLR_NOMEM) {
            failed++;
            ck_assert_ptr_nonnull(bind(CLR_MANAGED_LOAD_CONTEXT, types[CONTEXT]));
        }
        destroy();
        if (status == CLR_OK)
            break;
    }
    ck_assert_uint_gt(failed, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("managed");
    TCase *c = tcase_create("managed");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, declaring_class, 0, PROCESSES);
    tcase_add_loop_test(c, derived_collection, 0, PROCESSES);
    tcase_add_test(c, no_string);
    tcase_add_loop_test(c, alternatives, 0, PROCESSES);
    tcase_add_loop_test(c, missing, 0, PROCESSES);
    tcase_add_test(c, without_metadata);
    tcase_add_test(c, cycle);
    tcase_add_loop_test(c, paths, 0, PROCESSES);
    tcase_add_test(c, shipped);
    tcase_add_test(c, no_memory);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
