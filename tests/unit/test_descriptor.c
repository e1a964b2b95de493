/*
 * The contract descriptor: every JSON form and fault, sub-descriptors, several runtimes, what comes
 * from the image's file, supplements, bindings, and each allocation failing.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core_builder.h"
#include "descriptor/internal.h"
#include "descriptor_builder.h"

enum { IMAGES_MAX = 3 };
static const uint64_t base = 0x7f0000000000, base32 = 0x60000000;
static const char symbol[] = "DotNetRuntimeContractDescriptor";

/* A fake process under way, then open. */
struct target {
    struct built_image *images[IMAGES_MAX];
    const char *paths[IMAGES_MAX];
    bool data_lost[IMAGES_MAX]; /* the writable part is not in the dump */
    size_t image_count;
    uint16_t machine; /* 0: the first image's */
    struct clr_options options;

    struct clr_process *process;
    struct clr_problems *problems;
    struct clr_descriptor *descriptor;
    struct clr_error error;
    enum clr_status status;
};

static struct built_image *add_image(struct target *t, const char *path, uint64_t at, uint8_t word,
                                     bool big_endian)
{
    struct built_image *image = built_image_create(at, word, big_endian);
    t->paths[t->image_count] = path;
    t->images[t->image_count++] = image;
    return image;
}

static void place_image(struct core *core, const struct built_image *image, const char *path,
                        bool data_lost)
{
    uint64_t data = image->size - image->data;
    core_add_memory(core, image->base, image->bytes, image->data, image->data, 4);
    core_add_memory(core, image->base + image->data, image->bytes + image->data,
                    data_lost ? 0 : data, data, 6);
    core_add_file(core, image->base, image->base + image->data, 0, path);
    core_add_file(core, image->base + image->data, image->base + image->size, image->data, path);
}

static void open_process(struct target *t)
{
    struct core *core = core_create(t->images[0]->word, t->images[0]->big_endian,
                                    t->machine ? t->machine : t->images[0]->machine);
    char path[CORE_PATH];
    core_add_auxv(core, 6, 4096); /* AT_PAGESZ */
    for (size_t i = 0; i < t->image_count; i++) {
        built_image_finish(t->images[i]);
        place_image(core, t->images[i], t->paths[i], t->data_lost[i]);
    }
    int file = core_open(core, path);
    ck_assert_int_ge(file, 0);
    core_destroy(core);
    t->problems = clr_problems_create();
    ck_assert_ptr_nonnull(t->problems);
    struct clr_error error = {0};
    clr_process_open(path, &t->options, NULL, t->problems, &t->process, &error);
    close(file);
    ck_assert_msg(error.code == CLR_OK, "%s", error.text);
}

static void close_target(struct target *t)
{
    clr_descriptor_close(t->descriptor);
    clr_process_close(t->process);
    clr_problems_destroy(t->problems);
    for (size_t i = 0; i < t->image_count; i++)
        built_image_destroy(t->images[i]);
    *t = (struct target){0};
}

static void open_descriptor(struct target *t)
{
    if (!t->process)
        open_process(t);
    t->status =
        clr_descriptor_open(t->process, &t->options, t->problems, &t->descriptor, &t->error);
    ck_assert_int_eq(t->status, t->error.code);
    ck_assert((t->status == CLR_OK) == (t->descriptor != NULL));
}

/* JSON is written here with ' for ". The text lives until the next four calls. */
static const char *json(const char *text)
{
    static char texts[4][8192];
    static unsigned next;
    char *out = texts[next++ % 4];
    size_t length = strlen(text);
    ck_assert_uint_lt(length, sizeof texts[0]);
    for (size_t i = 0; i <= length; i++)
        out[i] = text[i] == '\'' ? '"' : text[i];
    return out;
}

static uint64_t place(struct built_image *image, const char *text, const uint64_t *slots,
                      uint32_t count)
{
    const char *quoted = json(text);
    return built_image_descriptor(image, quoted, strlen(quoted), slots, count);
}

/* A runtime with the descriptor TEXT, whose slots are 0x1000, 0x1001 …, opened. */
static void open_text(struct target *t, const char *text)
{
    static const uint64_t slots[] = {0x1000, 0x1001, 0x1002, 0x1003};
    struct built_image *image = add_image(t, "/opt/libcoreclr.so", base, 8, false);
    built_image_export(image, symbol, place(image, text, slots, 4), 40);
    open_descriptor(t);
}

#define assert_open(t) ck_assert_msg((t)->status == CLR_OK, "%s", (t)->error.text)

#define assert_fails(t, code, part)                                                                \
    do {                                                                                           \
        ck_assert_msg((t)->status == (code), "status %d: %s", (t)->status, (t)->error.text);       \
        ck_assert_msg(strstr((t)->error.text, (part)), "'%s' is not in: %s", (part),               \
                      (t)->error.text);                                                            \
    } while (0)

static void assert_clean(const struct target *t)
{
    for (size_t i = 0; i < clr_problems_count(t->problems); i++)
        ck_abort_msg("unexpected problem: %s", clr_problems_at(t->problems, i)->message);
}

/* The only problem, which is of AREA and SEVERITY and tells of PART. */
static void assert_problem(const struct target *t, enum clr_severity severity, const char *area,
                           const char *part)
{
    for (size_t i = 1; i < clr_problems_count(t->problems); i++)
        ck_abort_msg("another problem: %s", clr_problems_at(t->problems, i)->message);
    ck_assert_uint_eq(clr_problems_count(t->problems), 1);
    const struct clr_problem *problem = clr_problems_at(t->problems, 0);
    ck_assert_msg(strstr(problem->message, part), "'%s' is not in: %s", part, problem->message);
    ck_assert_int_eq(problem->severity, severity);
    ck_assert_str_eq(problem->area, area);
}

static uint64_t literal(const struct target *t, const char *name)
{
    const struct clr_global *global = clr_descriptor_global(t->descriptor, name);
    ck_assert_msg(global && !global->indirect, "%s", name);
    return global->value;
}

static uint64_t variable(const struct target *t, const char *name)
{
    const struct clr_global *global = clr_descriptor_global(t->descriptor, name);
    ck_assert_msg(global && global->indirect, "%s", name);
    return global->value;
}

static uint64_t offset(const struct target *t, const char *type, const char *field)
{
    return clr_descriptor_offset(t->descriptor, type, field);
}

/* --- Forms ------------------------------------------------------------------------------------ */

START_TEST(compact_form)
{
    struct target t = {0};
    const struct clr_part *parts;
    const struct clr_global *globals;
    const struct clr_described_type *types;
    const struct clr_described_field *fields;
    open_text(&t, "{'version':2,'baseline':'empty','types':{'B':{'!':24,'Next':8,'_count':[16,"
                  "'uint32']},'A':{},'C':{'At':0}},'globals':{'Number':7,'Text':'0x1f','Typed':['"
                  "-1','int64'],'Slot':[1],'TypedSlot':[['0x2'],'pointer'],'Name':['12','string'],"
                  "'Free':'any text','Word':['Unix','string'],'Big':'0xffffffffffffffff'},"
                  "'contracts':{'Thread':'c1','Object':1},'subDescriptors':{}}");
    assert_open(&t);
    assert_clean(&t);
    ck_assert_int_eq(clr_descriptor_source(t.descriptor), CLR_FROM_CORE);
    ck_assert_int_eq(clr_descriptor_flavor(t.descriptor), CLR_FLAVOR_CORECLR);
    ck_assert_ptr_eq(clr_descriptor_image(t.descriptor), clr_image_at(t.process, base));
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 1);
    ck_assert_str_eq(parts[0].name, "runtime");
    ck_assert_str_eq(parts[0].version, "2");
    ck_assert_str_eq(parts[0].baseline, "empty");
    ck_assert_int_eq(parts[0].parent, -1);
    ck_assert_uint_eq(parts[0].pointer_size, 8);
    ck_assert(parts[0].little_endian);
    ck_assert_uint_eq(strlen(parts[0].json), parts[0].json_length);

    ck_assert_uint_eq(clr_descriptor_size(t.descriptor, "B"), 24);
    ck_assert(!clr_has(clr_descriptor_size(t.descriptor, "A")));
    ck_assert(!clr_has(clr_descriptor_size(t.descriptor, "C")));
    ck_assert(!clr_has(clr_descriptor_size(t.descriptor, "D")));
    ck_assert_uint_eq(offset(&t, "B", "Next"), 8);
    ck_assert_uint_eq(offset(&t, "B", "_count"), 16);
    ck_assert_uint_eq(offset(&t, "C", "At"), 0);
    ck_assert(!clr_has(offset(&t, "B", "At")));
    ck_assert(!clr_has(offset(&t, "D", "At")));

    ck_assert_uint_eq(literal(&t, "Number"), 7);
    ck_assert_uint_eq(literal(&t, "Text"), 0x1f);
    ck_assert_ptr_null(clr_descriptor_text(t.descriptor, "Text"));
    ck_assert_uint_eq(literal(&t, "Typed"), UINT64_MAX);
    ck_assert_uint_eq(literal(&t, "Big"), UINT64_MAX);
    ck_assert_uint_eq(variable(&t, "Slot"), 0x1001);
    ck_assert_uint_eq(variable(&t, "TypedSlot"), 0x1002);
    ck_assert_uint_eq(literal(&t, "Name"), 12);
    ck_assert_str_eq(clr_descriptor_text(t.descriptor, "Name"), "12");
    ck_assert(!clr_has(literal(&t, "Free")));
    ck_assert_str_eq(clr_descriptor_text(t.descriptor, "Free"), "any text");
    ck_assert_str_eq(clr_descriptor_text(t.descriptor, "Word"), "Unix");
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "Nothing"));
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "Thread"), "c1");
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "Object"), "1");
    ck_assert_ptr_null(clr_descriptor_contract(t.descriptor, "GC"));

    size_t count = clr_descriptor_globals(t.descriptor, &globals);
    ck_assert_uint_eq(count, 9);
    for (size_t i = 1; i < count; i++)
        ck_assert_str_lt(globals[i - 1].name, globals[i].name);
    ck_assert_uint_eq(clr_descriptor_types(t.descriptor, &types), 3);
    ck_assert_uint_eq(clr_descriptor_fields(t.descriptor, &fields), 3);
    ck_assert_str_eq(types[0].name, "A");
    ck_assert_str_eq(types[1].name, "B");
    ck_assert_uint_eq(types[1].field_count, 2);
    for (uint32_t i = 0; i < 2; i++)
        ck_assert_uint_eq(fields[types[1].first_field + i].owner, 1);
    ck_assert_str_eq(fields[types[1].first_field + 1].type, "uint32");
    close_target(&t);
}
END_TEST

START_TEST(regular_form)
{
    struct target t = {0};
    open_text(&t,
              "{'version':'3','types':[{'name':'A','size':16,'fields':[{'name':'X','type':'uint8',"
              "'offset':4},{'name':'Y','type':'pointer','offset':'unknown'},{'name':'Z','type':"
              "'pointer'}]},{'name':'B','size':'indeterminate'},{'name':'C'}],'globals':[{'name':"
              "'One','type':'uint8','value':1},{'name':'Two','type':'pointer','value':[2]},{'name':"
              "'Three','type':'pointer','value':'unknown'},{'name':'Four','type':'string','value':"
              "'0x4'},{'name':'Five','type':'uint8'}],'subDescriptors':[]}");
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(clr_descriptor_size(t.descriptor, "A"), 16);
    ck_assert(!clr_has(clr_descriptor_size(t.descriptor, "B")));
    ck_assert_uint_eq(offset(&t, "A", "X"), 4);
    ck_assert(!clr_has(offset(&t, "A", "Y")));
    ck_assert(!clr_has(offset(&t, "A", "Z")));
    ck_assert_uint_eq(literal(&t, "One"), 1);
    ck_assert_uint_eq(variable(&t, "Two"), 0x1002);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "Three"));
    ck_assert_str_eq(clr_descriptor_text(t.descriptor, "Four"), "0x4");
    ck_assert_uint_eq(literal(&t, "Four"), 4);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "Five"));
    close_target(&t);
}
END_TEST

/* All of these say the same: nothing, but that there is a GC elsewhere (so no supplement). */
static const char *const empty_forms[] = {
    "{'subDescriptors':{}}",
    "{'version':null,'baseline':null,'types':null,'globals':null,'contracts':null,"
    "'sub-descriptors':null,'subDescriptors':{}}",
    "  {\n\t'subDescriptors' : { } , 'contracts' : { } , 'types' : [ ] , 'globals' : [ ] } \r\n",
    "// first\n{ /* 'types': 5, */ 'subDescriptors': {}, 'future': [1, {'a': true}], }",
};

START_TEST(empty_form)
{
    struct target t = {0};
    const struct clr_global *globals;
    const struct clr_contract *contracts;
    const struct clr_described_type *types;
    const struct clr_described_field *fields;
    const struct clr_part *parts;
    open_text(&t, empty_forms[_i]);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(clr_descriptor_globals(t.descriptor, &globals), 0);
    ck_assert_uint_eq(clr_descriptor_contracts(t.descriptor, &contracts), 0);
    ck_assert_uint_eq(clr_descriptor_types(t.descriptor, &types), 0);
    ck_assert_uint_eq(clr_descriptor_fields(t.descriptor, &fields), 0);
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 1);
    ck_assert_ptr_null(parts[0].version);
    ck_assert_ptr_null(parts[0].baseline);
    close_target(&t);
}
END_TEST

START_TEST(baseline_is_reported)
{
    struct target t = {0};
    open_text(&t, "{'baseline':'net7','globals':{'A':1},'subDescriptors':{}}");
    assert_open(&t);
    assert_problem(&t, CLR_WARNING, "descriptors", "baseline 'net7'");
    ck_assert_uint_eq(literal(&t, "A"), 1);
    close_target(&t);
}
END_TEST

/* --- Faults ----------------------------------------------------------------------------------- */

/* One entry is left out and reported; Good and T.Good stay. */
static const struct {
    const char *text, *area, *part;
} faults[] = {
    {"'globals':{'Good':1,'Bad':true}", "globals", "neither a number nor a text"},
    {"'globals':{'Good':1,'Bad':null}", "globals", "neither a number nor a text"},
    {"'globals':{'Good':1,'Bad':{'via':'dac'}}", "globals", "neither a number nor a text"},
    {"'globals':{'Good':1,'Bad':1.5}", "globals", "no integer"},
    {"'globals':{'Good':1,'Bad':'a\\u0000b'}", "globals", "NUL"},
    {"'globals':{'Good':1,'Bad':[]}", "globals", "[index] nor [value, type]"},
    {"'globals':{'Good':1,'Bad':[1,2]}", "globals", "[index] nor [value, type]"},
    {"'globals':{'Good':1,'Bad':[1,'a','b']}", "globals", "[index] nor [value, type]"},
    {"'globals':{'Good':1,'Bad':[[1,2],'pointer']}", "globals", "no array of one number"},
    {"'globals':{'Good':1,'Bad':[['x'],'pointer']}", "globals", "index that is no number"},
    {"'globals':{'Good':1,'Bad':[[4],'pointer']}", "globals", "past the end"},
    {"'globals':{'Good':1,'Bad':[['-1'],'pointer']}", "globals", "past the end"},
    {"'globals':{'Good':1,'Bad':'0x8000000000000000'}", "globals", "2^63"},
    {"'globals':[{'name':'Good','value':1},{'value':1}]", "globals", "without a name"},
    {"'globals':[{'name':'Good','value':1},7]", "globals", "without a name"},
    {"'globals':[{'name':'Good','value':1},{'name':'Bad','value':[]}]", "globals",
     "no array of one number"},
    {"'globals':[{'name':'Good','value':1},{'name':'Good','value':2}]", "globals", "stands twice"},
    {"'types':{'T':{'Good':8,'Bad':-8}}", "descriptor_fields", "T.Bad"},
    {"'types':{'T':{'Good':8,'Bad':'next'}}", "descriptor_fields", "not a number"},
    {"'types':{'T':{'Good':8,'Bad':[1]}}", "descriptor_fields", "not a number"},
    {"'types':{'T':{'Good':8,'Bad':['4','string']}}", "descriptor_fields", "not a number"},
    {"'types':{'T':{'Good':8,'Bad':4294967296}}", "descriptor_fields", "out of bounds"},
    {"'types':{'T':{'Good':8,'!':0}}", "descriptor_fields", "T.size"},
    {"'types':{'T':{'Good':8},'Bad':7}", "descriptor_types", "not an object"},
    {"'types':[{'name':'T','fields':[{'name':'Good','offset':8},{'offset':1}]}]",
     "descriptor_fields", "no name"},
    {"'types':[{'name':'T','fields':[{'name':'Good','offset':8},{'name':'Good','offset':9}]}]",
     "descriptor_fields", "stands twice"},
    {"'types':[{'name':'T','fields':[{'name':'Good','offset':8}]},{'size':8}]", "descriptor_types",
     "no name"},
    {"'types':[{'name':'T','fields':[{'name':'Good','offset':8}]},{'name':'T','size':4}]",
     "descriptor_types", "stands twice"},
    {"'contracts':{'Bad':{}}", "contracts", "contract Bad"},
    {"'contracts':{'Bad':''}", "contracts", "contract Bad"},
    {"'contracts':{'Bad':1.5}", "contracts", "contract Bad"},
    {"'contracts':{'Bad':null}", "contracts", "contract Bad"},
};

START_TEST(fault_is_left_out)
{
    struct target t = {0};
    char text[600];
    snprintf(text, sizeof text, "{%s,'subDescriptors':{}}", faults[_i].text);
    open_text(&t, text);
    assert_open(&t);
    assert_problem(&t, CLR_WARNING, faults[_i].area, faults[_i].part);
    if (strstr(text, "'globals'"))
        ck_assert_uint_eq(literal(&t, "Good"), 1);
    if (strstr(text, "'types'"))
        ck_assert_uint_eq(offset(&t, "T", "Good"), 8);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "Bad"));
    ck_assert(!clr_has(clr_descriptor_size(t.descriptor, "T")));
    ck_assert(!clr_has(offset(&t, "T", "Bad")));
    ck_assert_ptr_null(clr_descriptor_contract(t.descriptor, "Bad"));
    close_target(&t);
}
END_TEST

static const struct {
    const char *text, *part;
} bad_frames[] = {
    {"[]", "no JSON object"},
    {"7", "not valid JSON"},
    {"", "not valid JSON"},
    {"{'types':5}", "'types'"},
    {"{'globals':'x'}", "'globals'"},
    {"{'contracts':[]}", "'contracts'"},
    {"{'subDescriptors':1}", "'subDescriptors'"},
    {"{'sub-descriptors':true}", "'sub-descriptors'"},
    {"{'types':{}", "not valid JSON"},
    {"{'types':{}} x", "not valid JSON"},
    {"{'types':{'A':{'X':1,'X':2}}}", "not valid JSON"},
    {"{'types':{'A':{'!':1,'!':2}}}", "not valid JSON"},
    {"{'globals':{'A':99999999999999999999}}", "not valid JSON"},
    {"{/*", "comment"},
    {"{'a':[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]"
     "]]]"
     "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]}",
     "nested"},
};

START_TEST(bad_frame_fails)
{
    struct target t = {0};
    open_text(&t, bad_frames[_i].text);
    assert_fails(&t, CLR_BAD_DATA, bad_frames[_i].part);
    close_target(&t);
}
END_TEST

/* What of a structure is damaged, and what the message says then. */
static const struct {
    enum built_member member;
    uint64_t value;
    enum clr_status status;
    const char *part;
} damages[] = {
    {BUILT_MAGIC, 0x1122334455667788, CLR_BAD_DATA, "magic"},
    {BUILT_MAGIC, 0, CLR_BAD_DATA, "magic"},
    {BUILT_FLAGS, 3, CLR_BAD_DATA, "pointers of 4 bytes"},
    {BUILT_JSON_SIZE, 0xffffffff, CLR_BAD_DATA, "more than any has"},
    {BUILT_JSON_SIZE, 1 << 20, CLR_FAULT, "the JSON text"},
    {BUILT_JSON, 0, CLR_FAULT, "the JSON text"},
    {BUILT_JSON, UINT64_MAX - 3, CLR_FAULT, "the JSON text"},
};

START_TEST(damaged_structure_fails)
{
    struct target t = {0};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t at = place(image, "{'subDescriptors':{}}", NULL, 0);
    uint64_t where = at + built_descriptor_offset(image, damages[_i].member);
    if (damages[_i].member == BUILT_FLAGS || damages[_i].member == BUILT_JSON_SIZE)
        built_image_put_u32(image, where, (uint32_t)damages[_i].value);
    else
        built_image_put_word(image, where, damages[_i].value);
    built_image_export(image, symbol, at, 40);
    open_descriptor(&t);
    assert_fails(&t, damages[_i].status, damages[_i].part);
    close_target(&t);
}
END_TEST

START_TEST(lost_slots_cost_their_globals)
{
    struct target t = {0};
    const uint64_t slots[] = {0, 1, 2};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t at = place(image,
                        "{'globals':{'A':[[1],'pointer'],'B':[[2],'pointer'],'C':3},"
                        "'subDescriptors':{}}",
                        slots, 3);
    built_image_put_word(image, at + built_descriptor_offset(image, BUILT_SLOTS), 0x1234);
    built_image_export(image, symbol, at, 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_WARNING, "globals", "not in the dump");
    ck_assert_uint_eq(clr_problems_at(t.problems, 0)->count, 2);
    ck_assert_uint_eq(literal(&t, "C"), 3);
    close_target(&t);
}
END_TEST

/* Word size and byte order: 0: 64 little, 1: 64 big, 2: 32 little, 3: 32 big. */
START_TEST(every_machine)
{
    struct target t = {0};
    const uint64_t slots[] = {0, 0x11223344};
    uint8_t word = _i < 2 ? 8 : 4;
    bool big = _i % 2;
    struct built_image *image =
        add_image(&t, "/opt/libcoreclr.so", word == 4 ? base32 : base, word, big);
    uint64_t child =
        place(image, "{'globals':{'C':[[1],'pointer']},'contracts':{'GC':'c1'}}", slots, 2);
    const uint64_t own[] = {0, 0x55667788, built_image_word(image, child)};
    uint64_t at = place(image,
                        "{'globals':{'A':[[1],'pointer']},'subDescriptors':{'GC':[[2],"
                        "'pointer']}}",
                        own, 3);
    built_image_export(image, symbol, at, 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(variable(&t, "A"), 0x55667788);
    ck_assert_uint_eq(variable(&t, "C"), 0x11223344);
    const struct clr_part *parts;
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 2);
    ck_assert_uint_eq(parts[1].pointer_size, word);
    ck_assert(parts[1].little_endian == !big);
    close_target(&t);
}
END_TEST

/* --- Sub-descriptors -------------------------------------------------------------------------- */

static const char *const spellings[] = {"subDescriptors", "sub-descriptors"};

START_TEST(child_is_merged)
{
    struct target t = {0};
    char text[400];
    const uint64_t slots[] = {0, 0x2001};
    const struct clr_part *parts;
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t child = place(image,
                           "{'version':2,'types':{'Generation':{'!':256,'Start':56}},"
                           "'globals':{'Heaps':[[1],'pointer']},'contracts':{'GC':'c1'}}",
                           slots, 2);
    uint64_t null = built_image_word(image, 0);
    const uint64_t own[] = {0, 0x1001, built_image_word(image, child), null, 0};
    snprintf(text, sizeof text,
             "{'types':{'Thread':{'Id':4}},'globals':{'Store':[[1],'pointer']},'%s':{'GC':[[2],"
             "'pointer'],'None':[[3],'pointer'],'Zero':[[4],'pointer']},'contracts':{'Thread':"
             "'c1'}}",
             spellings[_i]);
    built_image_export(image, symbol, place(image, text, own, 5), 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 2);
    ck_assert_str_eq(parts[1].name, "GC");
    ck_assert_int_eq(parts[1].parent, 0);
    ck_assert_uint_eq(parts[1].address, child);
    ck_assert_uint_eq(variable(&t, "Heaps"), 0x2001);
    ck_assert_uint_eq(variable(&t, "Store"), 0x1001);
    ck_assert_uint_eq(clr_descriptor_size(t.descriptor, "Generation"), 256);
    ck_assert_uint_eq(offset(&t, "Thread", "Id"), 4);
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "GC"), "c1");
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "Thread"), "c1");
    ck_assert_uint_eq(clr_descriptor_global(t.descriptor, "Heaps")->part, 1);
    close_target(&t);
}
END_TEST

/* A child that cannot be used: how it is damaged, and the reason given. */
static const struct {
    const char *text;
    enum built_member member;
    bool word;
    uint64_t value;
    const char *part;
} bad_children[] = {
    {"{'globals':{'X':1}}", BUILT_MAGIC, true, 1, "magic"},
    {"{'globals':{'X':1}}", BUILT_FLAGS, false, 3, "pointers of 4 bytes"},
    /* the magic of a big-endian process, in this machine's order */
    {"{'globals':{'X':1}}", BUILT_MAGIC, true, 0x444e434344414300, "big endian"},
    {"{'globals':{'X':1}}", BUILT_JSON, true, 0x10, "not in the dump"},
    {"{'globals':{'X':1}}", BUILT_JSON_SIZE, false, 5, "not valid JSON"},
    {"{'globals':{'X':1},'contracts':[]}", BUILT_SLOT_COUNT, false, 0, "'contracts'"},
};

START_TEST(bad_child_is_left_out)
{
    struct target t = {0};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t child = place(image, bad_children[_i].text, NULL, 0);
    uint64_t where = child + built_descriptor_offset(image, bad_children[_i].member);
    if (bad_children[_i].word)
        built_image_put_word(image, where, bad_children[_i].value);
    else
        built_image_put_u32(image, where, (uint32_t)bad_children[_i].value);
    const uint64_t own[] = {0, built_image_word(image, child)};
    uint64_t at =
        place(image, "{'globals':{'Y':2},'subDescriptors':{'GC':[[1],'pointer']}}", own, 2);
    built_image_export(image, symbol, at, 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_ERROR, "descriptors", bad_children[_i].part);
    ck_assert_ptr_nonnull(strstr(clr_problems_at(t.problems, 0)->message, "'GC'"));
    ck_assert_uint_eq(literal(&t, "Y"), 2);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "X"));
    const struct clr_part *parts;
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 1);
    close_target(&t);
}
END_TEST

static const struct {
    const char *entry, *part;
} bad_links[] = {
    {"'GC':5", "not an index"},
    {"'GC':[[9],'pointer']", "past the end"},
    {"'GC':[[1],'pointer']", "variable that leads to it is not in the dump"},
};

START_TEST(bad_link_is_reported)
{
    struct target t = {0};
    char text[200];
    snprintf(text, sizeof text, "{'globals':{'Y':2},'subDescriptors':{%s}}", bad_links[_i].entry);
    open_text(&t, text);
    assert_open(&t);
    assert_problem(&t, CLR_ERROR, "descriptors", bad_links[_i].part);
    ck_assert_uint_eq(literal(&t, "Y"), 2);
    close_target(&t);
}
END_TEST

START_TEST(cycle_ends)
{
    struct target t = {0};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t variables[2] = {built_image_word(image, 0), built_image_word(image, 0)};
    const uint64_t to_child[] = {0, variables[0]}, to_parent[] = {0, variables[1]};
    uint64_t at =
        place(image, "{'globals':{'P':1},'subDescriptors':{'Down':[[1],'pointer']}}", to_child, 2);
    uint64_t child =
        place(image, "{'globals':{'C':2},'subDescriptors':{'Up':[[1],'pointer']}}", to_parent, 2);
    built_image_put_word(image, variables[0], child);
    built_image_put_word(image, variables[1], at);
    built_image_export(image, symbol, at, 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_ERROR, "descriptors", "another descriptor leads there too");
    ck_assert_uint_eq(literal(&t, "P"), 1);
    ck_assert_uint_eq(literal(&t, "C"), 2);
    close_target(&t);
}
END_TEST

/* 0: a chain, each the child of the one before; 1: as many children of one parent. */
START_TEST(number_of_children_is_bounded)
{
    enum { COUNT = 60 };
    struct target t = {0};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t slots[COUNT + 1] = {0}, next = 0;
    char text[4000] = "{'subDescriptors':{", entry[64];
    for (int i = COUNT; i > 0; i--) {
        const uint64_t link[] = {0, built_image_word(image, next)};
        snprintf(entry, sizeof entry, "{'subDescriptors':{'N%d':[[1],'pointer']}}", i);
        uint64_t child = place(image, _i == 0 ? entry : "{}", link, 2);
        slots[i] = built_image_word(image, child);
        next = child;
    }
    for (int i = 1; i <= (_i == 0 ? 1 : COUNT); i++) {
        snprintf(entry, sizeof entry, "%s'C%d':[[%d],'pointer']", i == 1 ? "" : ",", i, i);
        strcat(text, entry);
    }
    strcat(text, "}}");
    built_image_export(image, symbol, place(image, text, slots, COUNT + 1), 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_ERROR, "descriptors", "too many");
    const struct clr_part *parts;
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts),
                      _i == 0 ? CLR_DESCRIPTOR_DEPTH_MAX + 1 : CLR_DESCRIPTOR_TRIES_MAX);
    close_target(&t);
}
END_TEST

START_TEST(conflict_keeps_the_first)
{
    struct target t = {0};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t child = place(image,
                           "{'types':{'T':{'!':16,'A':2,'B':3}},'globals':{'G':2,'H':3},"
                           "'contracts':{'GC':'c2','New':'c1'}}",
                           NULL, 0);
    const uint64_t own[] = {0, built_image_word(image, child)};
    uint64_t at = place(image,
                        "{'types':{'T':{'A':1}},'globals':{'G':1},'contracts':{'GC':'c1'},"
                        "'subDescriptors':{'GC':[[1],'pointer']}}",
                        own, 2);
    built_image_export(image, symbol, at, 40);
    open_descriptor(&t);
    assert_open(&t);
    ck_assert_uint_eq(clr_problems_count(t.problems), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct clr_problem *problem = clr_problems_at(t.problems, i);
        ck_assert_int_eq(problem->severity, CLR_WARNING);
        ck_assert_ptr_nonnull(strstr(problem->message, "described by 'runtime' and by 'GC'"));
    }
    ck_assert_uint_eq(offset(&t, "T", "A"), 1);
    ck_assert(!clr_has(offset(&t, "T", "B")));
    ck_assert(!clr_has(clr_descriptor_size(t.descriptor, "T")));
    ck_assert_uint_eq(literal(&t, "G"), 1);
    ck_assert_uint_eq(literal(&t, "H"), 3);
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "GC"), "c1");
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "New"), "c1");
    close_target(&t);
}
END_TEST

/* --- Which runtime ---------------------------------------------------------------------------- */

static const struct {
    const char *wanted;
    enum clr_status status;
    uint64_t value;
    const char *part;
} choices[] = {
    {NULL, CLR_MISUSE, 0, "1: /opt/two/libcoreclr.so"},
    {"", CLR_MISUSE, 0, "several .NET runtimes"},
    {"0", CLR_OK, 1, ""},
    {"1", CLR_OK, 2, ""},
    {"two", CLR_OK, 2, ""},
    {"/opt/one/", CLR_OK, 1, ""},
    {"libcoreclr", CLR_MISUSE, 0, "several .NET runtimes match"},
    {"2", CLR_MISUSE, 0, "no .NET runtime matches"},
    {"three", CLR_MISUSE, 0, "0: /opt/one/libcoreclr.so"},
};

START_TEST(runtime_is_chosen)
{
    struct target t = {0};
    char wanted[20] = "";
    struct built_image *one = add_image(&t, "/opt/one/libcoreclr.so", base, 8, false);
    struct built_image *other = add_image(&t, "/opt/other.so", base + 0x1000000, 8, false);
    struct built_image *two = add_image(&t, "/opt/two/libcoreclr.so", base + 0x2000000, 8, false);
    built_image_export(one, symbol, place(one, "{'globals':{'N':1},'subDescriptors':{}}", NULL, 0),
                       40);
    built_image_export(other, "something_else", other->base, 8);
    built_image_export(two, symbol, place(two, "{'globals':{'N':2},'subDescriptors':{}}", NULL, 0),
                       40);
    if (choices[_i].wanted) {
        strcpy(wanted, choices[_i].wanted);
        t.options.runtime = wanted;
    }
    open_process(&t);
    struct clr_runtime_image *list;
    size_t count;
    ck_assert_int_eq(clr_runtimes_find(t.process, &list, &count, &t.error), CLR_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(list[0].image->start, base);
    ck_assert_uint_eq(list[1].image->start, base + 0x2000000);
    clr_free(list);
    open_descriptor(&t);
    if (choices[_i].status == CLR_OK) {
        assert_open(&t);
        ck_assert_uint_eq(literal(&t, "N"), choices[_i].value);
    } else {
        assert_fails(&t, choices[_i].status, choices[_i].part);
    }
    close_target(&t);
}
END_TEST

/* Why there is none: each reason is told apart. */
START_TEST(no_runtime)
{
    static const struct {
        const char *path, *exported, *part;
    } cases[] = {
        {"/usr/bin/cat", "main", "none of 1 images exports DotNetRuntimeContractDescriptor"},
        {"/opt/libcoreclr.so", "other", "the file /opt/libcoreclr.so, build id 00070e15"},
        {"/opt/libcoreclr.so", "coreclr_initialize", "exports neither"},
    };
    struct target t = {0};
    struct built_image *image = add_image(&t, cases[_i].path, base, 8, false);
    memcpy(image->build_id, "\0\x07\x0e\x15", 4);
    built_image_export(image, cases[_i].exported, base + 0x10, 8);
    open_descriptor(&t);
    assert_fails(&t, CLR_NO_RUNTIME, cases[_i].part);
    close_target(&t);
}
END_TEST

static const char *const native_aot[] = {
    "{'contracts':{'FeatureFlags':'c1','GC':'n1','Thread':'n1'},'globals':{'X':1}}",
    "{'contracts':{'GC':'c1'},'globals':{'X':1,'RuntimeFlavor':['NativeAot','string']}}",
};

START_TEST(native_aot_is_recognised)
{
    struct target t = {0};
    open_text(&t, native_aot[_i]);
    assert_open(&t);
    ck_assert_int_eq(clr_descriptor_flavor(t.descriptor), CLR_FLAVOR_NATIVEAOT);
    assert_problem(&t, CLR_ERROR, "descriptors", "NativeAOT");
    ck_assert_uint_eq(literal(&t, "X"), 1);
    close_target(&t);
}
END_TEST

/* --- From the image's file -------------------------------------------------------------------- */

/* A runtime whose writable part, with the descriptor in it, is not in the dump. */
static void lose_data(struct target *t, const char *path)
{
    struct built_image *image = add_image(t, path, base, 8, false);
    uint64_t child = place(image, "{'globals':{'C':7},'contracts':{'GC':'c1'}}", NULL, 0);
    const uint64_t own[] = {0, child, base + 0x8000};
    uint64_t at = place(image,
                        "{'globals':{'A':[[1],'pointer'],'B':[[2],'pointer']},"
                        "'subDescriptors':{}}",
                        own, 3);
    built_image_export(image, symbol, at, 40);
    t->data_lost[0] = true;
}

START_TEST(descriptor_comes_from_the_file)
{
    struct target t = {0};
    char folder[] = "/tmp/test_descriptor_folder.XXXXXX", path[100];
    char *folders[] = {folder};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/libcoreclr.so", folder);
    lose_data(&t, "/nowhere/libcoreclr.so");
    built_image_finish(t.images[0]);
    built_image_write(t.images[0], path);
    t.options.modules = folders;
    t.options.module_count = 1;
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_int_eq(clr_descriptor_source(t.descriptor), CLR_FROM_FILE);
    ck_assert_uint_eq(variable(&t, "B"), base + 0x8000);
    close_target(&t);
    unlink(path);
    rmdir(folder);
}
END_TEST

START_TEST(missing_file_is_named)
{
    struct target t = {0};
    lose_data(&t, "/nowhere/libcoreclr.so");
    memcpy(t.images[0]->build_id, "\xca\xfe\xba\xbe", 4);
    open_descriptor(&t);
    assert_fails(&t, CLR_FAULT, "/nowhere/libcoreclr.so, build id cafebabe");
    close_target(&t);
}
END_TEST

/* --- Supplements ------------------------------------------------------------------------------ */

/* A process whose runtime exports g_dacTable, as .NET 8, 9 and 10 do. */
struct legacy {
    struct built_image *image;
    uint64_t table, entries[160]; /* addresses of the variables */
    uint64_t gc;                  /* GcDacVars */
    uint64_t object_type;
    unsigned count;
};

static void set_variable(struct legacy *l, unsigned index, uint64_t value)
{
    built_image_put_word(l->image, l->entries[index], value);
}

/* A MethodTable with flags, base size, parent and element type; all of 64 bytes. */
static uint64_t method_table(struct legacy *l, uint32_t flags, uint32_t size, uint64_t parent,
                             uint64_t element)
{
    uint64_t at = built_image_data(l->image, NULL, 64);
    built_image_put_u32(l->image, at, flags);
    built_image_put_u32(l->image, at + 4, size);
    built_image_put_word(l->image, at + 16, parent);
    built_image_put_word(l->image, at + 48, element);
    return at;
}

/* Cells of GcDacVars that hold addresses of variables, on every flavour or on one. */
static const uint16_t gc_cells[] = {24,  32,  40,  56,  64,  72,  192, 200, 208, 216,
                                    224, 232, 256, 264, 272, 280, 288, 296, 320};
static const uint16_t workstation_cells[] = {48,  80,  88,  96,  104, 112, 120,
                                             128, 136, 144, 152, 160, 168};

static void build_gc(struct legacy *l, bool server, bool segments)
{
    struct built_image *image = l->image;
    l->gc = built_image_data(image, NULL, 352);
    built_image_put_u32(image, l->gc, 0x0402); /* major 2, minor 4 */
    built_image_put_word(image, l->gc + 8, 256);
    built_image_put_word(image, l->gc + 16, 5);
    for (size_t i = 0; i < sizeof gc_cells / sizeof *gc_cells; i++)
        built_image_put_word(image, l->gc + gc_cells[i],
                             built_image_word(image, gc_cells[i] == 56 ? 2 : 0));
    for (size_t i = 0; !server && i < sizeof workstation_cells / sizeof *workstation_cells; i++)
        built_image_put_word(image, l->gc + workstation_cells[i], built_image_word(image, 0));
    uint64_t fields = built_image_data(image, NULL, 16), heap = built_image_data(image, NULL, 88);
    built_image_put_u32(image, fields + 4, 56);
    built_image_put_u32(image, fields + 8, segments ? 64 : UINT32_MAX);
    built_image_put_word(image, l->gc + 248, fields);
    for (uint32_t i = 0; i < 22; i++)
        built_image_put_u32(image, heap + 4 * (uint64_t)i, i == 3 ? UINT32_MAX : 1000 + 8 * i);
    if (server) {
        built_image_put_word(image, l->gc + 176, built_image_word(image, 2));
        built_image_put_word(image, l->gc + 184, built_image_word(image, 0));
        built_image_put_word(image, l->gc + 240, heap);
    }
    built_image_put_u32(image, l->gc + 308, 3);
    built_image_put_word(image, l->gc + 312, 64);
}

/* Where the entries of one version are. */
static const struct shape {
    const char *name;
    unsigned count, heap_type, gc, store, domain, object, canon, string, exception, free, arrays;
    unsigned sync_table, threads_at, assemblies_at;
} shapes[] = {
    {"supplement-10.0", 129, 18, 19, 15, 20, 42, 44, 45, 49, 56, 60, 78, 112, 576},
    {"supplement-8.0", 155, 19, 20, 16, 21, 40, 42, 43, 47, 54, 58, 79, 184, 2544},
    {"supplement-8.0", 157, 19, 20, 16, 21, 40, 42, 43, 47, 54, 58, 80, 184, 2544},
    {"supplement-9.0", 158, 19, 20, 16, 21, 43, 45, 46, 50, 57, 61, 82, 184, 1824},
};

static struct legacy build_legacy(struct target *t, const struct shape *shape, bool server,
                                  bool segments)
{
    struct legacy l = {.image = add_image(t, "/opt/libcoreclr.so", base, 8, false)};
    l.count = shape->count;
    l.table = built_image_data(l.image, NULL, 8 * (size_t)l.count);
    for (unsigned i = 0; i < l.count; i++) {
        /* Variables take 256 bytes: one is an array of which element 0x1c is wanted. */
        l.entries[i] = built_image_data(l.image, NULL, 256);
        built_image_put_word(l.image, l.table + 8 * (uint64_t)i, l.entries[i]);
    }
    build_gc(&l, server, segments);
    uint64_t object = l.object_type = method_table(&l, 0, 24, 0, 0);
    uint64_t store = built_image_data(l.image, NULL, 256);
    uint64_t domain = built_image_data(l.image, NULL, 2600);
    built_image_put_u32(l.image, store + shape->threads_at, 3);
    built_image_put_u32(l.image, domain + shape->assemblies_at, 7);
    built_image_put_u32(l.image, l.entries[shape->heap_type], server ? 2 : 1);
    set_variable(&l, shape->gc, l.gc);
    set_variable(&l, shape->store, store);
    set_variable(&l, shape->domain, domain);
    set_variable(&l, shape->object, object);
    set_variable(&l, shape->canon, method_table(&l, 0, 24, object, 0));
    set_variable(&l, shape->string, method_table(&l, 0x80000002, 22, object, 0));
    set_variable(&l, shape->exception, method_table(&l, 0, 160, object, 0));
    set_variable(&l, shape->free, method_table(&l, 0x80000001, 24, 0, 0));
    built_image_put_word(l.image, l.entries[shape->arrays] + 0xe0,
                         method_table(&l, 0x80080008, 24, object, object));
    built_image_export(l.image, "g_dacTable", l.table, 8 * (uint64_t)l.count);
    return l;
}

/* Names that the GC's and other readers ask of every runtime. */
static const char *const workstation_names[] = {
    "GCHeapGenerationTable",   "GCHeapEphemeralHeapSegment",
    "GCHeapAllocAllocated",    "GCHeapFinalizeQueue",
    "GCHeapMarkArray",         "GCHeapSavedSweepEphemeralSeg",
    "GCHeapOomData",           "GCHeapNextSweepObj",
    "GCHeapInternalRootArray",
};
static const char *const common_names[] = {
    "HandleTableMap", "MaxGeneration",    "StructureInvalidCount", "CurrentGCState",
    "ThreadStore",    "SyncTableEntries", "FreeObjectMethodTable", "StringMethodTable",
    "AppDomain",      "BookkeepingStart", "GCLowestAddress",       "ObjectArrayMethodTable",
};

START_TEST(shipped_supplements)
{
    const struct shape *shape = &shapes[_i / 3];
    bool server = _i % 3 == 1, segments = _i % 3 == 2;
    struct target t = {0};
    const struct clr_part *parts;
    struct legacy l = build_legacy(&t, shape, server, segments);
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_int_eq(clr_descriptor_source(t.descriptor), CLR_FROM_SUPPLEMENT);
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 1);
    ck_assert_str_eq(parts[0].name, shape->name);
    ck_assert_uint_eq(parts[0].address, 0);
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "GC"), "c1");
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "Thread"), "1");
    for (size_t i = 0; i < sizeof common_names / sizeof *common_names; i++)
        ck_assert_uint_ne(variable(&t, common_names[i]), 0);
    for (size_t i = 0; i < sizeof workstation_names / sizeof *workstation_names; i++)
        ck_assert_msg(!clr_descriptor_global(t.descriptor, workstation_names[i]) ==
                          (server && i != 4),
                      "%s", workstation_names[i]);
    ck_assert_uint_eq(variable(&t, "ThreadStore"), l.entries[shape->store]);
    ck_assert_uint_eq(variable(&t, "SyncTableEntries"), l.entries[shape->sync_table]);
    ck_assert_uint_eq(variable(&t, "ObjectArrayMethodTable"), l.entries[shape->arrays] + 0xe0);
    ck_assert(!clr_descriptor_global(t.descriptor, "NumHeaps") == !server);
    ck_assert_uint_eq(literal(&t, "TotalGenerationCount"), 5);
    ck_assert_uint_eq(literal(&t, "CountFreeRegionKinds"), 3);
    ck_assert_uint_eq(literal(&t, "CardTableInfoSize"), 64);
    ck_assert_uint_eq(clr_descriptor_size(t.descriptor, "Generation"), 256);
    ck_assert_uint_eq(offset(&t, "Generation", "StartSegment"), 56);
    ck_assert(clr_has(offset(&t, "Generation", "AllocationStart")) == segments);
    ck_assert(clr_has(offset(&t, "GCHeap", "GenerationTable")) == server);
    ck_assert(clr_has(offset(&t, "HeapSegment", "Heap")) == server);
    ck_assert(!clr_has(offset(&t, "GCHeap", "OomData")));
    const char *adapts = server && _i < 3 ? ", dynamic_heap" : "";
    char wanted[80];
    snprintf(wanted, sizeof wanted, "%s, %s, background%s", server ? "server" : "workstation",
             segments ? "segments" : "regions", adapts);
    ck_assert_str_eq(clr_descriptor_text(t.descriptor, "GCIdentifiers"), wanted);
    close_target(&t);
}
END_TEST

static void no_object_type(struct legacy *l)
{
    set_variable(l, 42, method_table(l, 0, 32, 0, 0));
}
static void no_string_type(struct legacy *l)
{
    set_variable(l, 45, method_table(l, 0x80000002, 22, l->object_type + 8, 0));
}
static void no_array_type(struct legacy *l)
{
    built_image_put_word(l->image, l->entries[60] + 0xe0, method_table(l, 0x80080008, 24, 0, 0));
}
static void wrong_major(struct legacy *l)
{
    built_image_put_u32(l->image, l->gc, 3);
}
static void wrong_generations(struct legacy *l)
{
    built_image_put_word(l->image, l->gc + 16, 500);
}
static void entry_outside(struct legacy *l)
{
    built_image_put_word(l->image, l->table + 8 * 15, 0x5000);
}
static void entry_null(struct legacy *l)
{
    built_image_put_word(l->image, l->table + 8 * 15, 0);
}
static void cell_outside(struct legacy *l)
{
    built_image_put_word(l->image, l->gc + 232, 0x5000);
}
static void wrong_heap_type(struct legacy *l)
{
    built_image_put_u32(l->image, l->entries[18], 7);
}
static void gc_lost(struct legacy *l)
{
    set_variable(l, 19, base + 0x900000);
}

/* A runtime that only looks like 10.0. */
static const struct {
    void (*damage)(struct legacy *);
    enum clr_status status;
    const char *part;
} misfits[] = {
    {no_object_type, CLR_UNSUPPORTED, "ObjectMethodTable is not what was expected: u32@4"},
    {no_string_type, CLR_UNSUPPORTED, "StringMethodTable is not what was expected: word@16"},
    {no_array_type, CLR_UNSUPPORTED, "ObjectArrayMethodTable is not what was expected"},
    {wrong_major, CLR_UNSUPPORTED, "anchor 'gc' of supplement-10.0 is not what was expected"},
    {wrong_generations, CLR_UNSUPPORTED, "is 0x1f4, not 0x4 to 0x8"},
    {entry_outside, CLR_UNSUPPORTED, "global ThreadStore of supplement-10.0 cannot be used"},
    {entry_null, CLR_UNSUPPORTED, "global ThreadStore of supplement-10.0 cannot be used"},
    {cell_outside, CLR_UNSUPPORTED, "global HandleTableMap of supplement-10.0 cannot be used"},
    {wrong_heap_type, CLR_UNSUPPORTED, "GCHeapType is neither workstation nor server"},
    {gc_lost, CLR_FAULT, "not in the dump"},
};

START_TEST(misfit_is_refused)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    misfits[_i].damage(&l);
    open_descriptor(&t);
    assert_fails(&t, misfits[_i].status, misfits[_i].part);
    close_target(&t);
}
END_TEST

START_TEST(unknown_table_is_refused)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    l.image->symbols[0].size += 8;
    open_descriptor(&t);
    assert_fails(&t, CLR_UNSUPPORTED,
                 "has 130 entries; known are 129: 10.0; 155, 157: 8.0; 158: 9.0");
    close_target(&t);
}
END_TEST

START_TEST(other_machine_is_refused)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    l.image->machine = t.machine = 183;
    open_descriptor(&t);
    assert_fails(&t, CLR_UNSUPPORTED, "supplement-10.0 is for x64; this process is of arm64");
    close_target(&t);
}
END_TEST

START_TEST(gc_not_started)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    set_variable(&l, 19, 0);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_WARNING, "descriptors",
                   "anchor 'gc' of supplement-10.0 leads to a null");
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "GCHeapGenerationTable"));
    ck_assert_uint_eq(variable(&t, "ThreadStore"), l.entries[15]);
    close_target(&t);
}
END_TEST

START_TEST(lost_probe_is_told)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    set_variable(&l, 56, base + 0x900000);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_INFO, "descriptors", "1 checks could not be made");
    close_target(&t);
}
END_TEST

/* The target's own descriptor wins, and what it leaves out is filled in. */
START_TEST(own_descriptor_wins)
{
    struct target t = {0};
    const struct clr_part *parts;
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    const uint64_t own[] = {0, 0x4242};
    uint64_t at = place(l.image,
                        "{'version':0,'types':{'Thread':{'Id':99}},'globals':{"
                        "'ThreadStore':[[1],'pointer'],'ArrayBaseSize':'0x20'},"
                        "'contracts':{'Thread':1,'Extra':5}}",
                        own, 2);
    built_image_export(l.image, symbol, at, 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_int_eq(clr_descriptor_source(t.descriptor), CLR_FROM_CORE);
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 2);
    ck_assert_str_eq(parts[0].name, "runtime");
    ck_assert_str_eq(parts[1].name, "supplement-10.0");
    ck_assert_uint_eq(variable(&t, "ThreadStore"), 0x4242);
    ck_assert_uint_eq(literal(&t, "ArrayBaseSize"), 0x20);
    ck_assert_uint_eq(offset(&t, "Thread", "Id"), 99);
    ck_assert_uint_eq(offset(&t, "Thread", "LinkNext"), 112);
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "Extra"), "5");
    ck_assert_str_eq(clr_descriptor_contract(t.descriptor, "GC"), "c1");
    close_target(&t);
}
END_TEST

static const struct {
    const char *text;
    const char *part;
} own_misfits[] = {
    {"{'contracts':{'Thread':2}}", "another version of contract Thread than the runtime's '2'"},
    {"{'contracts':{'Thread':'c1'}}", "another version of contract Thread than the runtime's 'c1'"},
};

START_TEST(contracts_must_agree)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    built_image_export(l.image, symbol, place(l.image, own_misfits[_i].text, NULL, 0), 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_ERROR, "descriptors", own_misfits[_i].part);
    ck_assert_ptr_null(clr_descriptor_contract(t.descriptor, "GC"));
    close_target(&t);
}
END_TEST

/* Damage to the target's own descriptor costs no more than that. */
START_TEST(supplement_serves_for_a_bad_descriptor)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    built_image_export(l.image, symbol,
                       place(l.image, "{'types':{'T':{'A':1}},'globals':7}", NULL, 0), 40);
    open_descriptor(&t);
    assert_open(&t);
    assert_problem(&t, CLR_ERROR, "descriptors", "the runtime's own descriptor is not used");
    ck_assert_int_eq(clr_descriptor_source(t.descriptor), CLR_FROM_SUPPLEMENT);
    ck_assert(!clr_has(offset(&t, "T", "A")));
    close_target(&t);
}
END_TEST

/* --- The user's supplement -------------------------------------------------------------------- */

static char user_path[] = "/tmp/test_descriptor_mine.json";

static void give_supplement(struct target *t, const char *text)
{
    const char *quoted = json(text);
    FILE *file = fopen(user_path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(quoted, 1, strlen(quoted), file), strlen(quoted));
    fclose(file);
    t->options.supplement = user_path;
}

START_TEST(user_supplement_stands_between)
{
    struct target t = {0};
    const struct clr_part *parts;
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    built_image_export(l.image, symbol,
                       place(l.image, "{'globals':{'A':1},'contracts':{'Thread':1}}", NULL, 0), 40);
    give_supplement(&t, "{'globals':{'A':2,'B':2,'ArrayBaseSize':2},'types':{'Thread':{'Id':2}}}");
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 3);
    ck_assert_str_eq(parts[1].name, "test_descriptor_mine");
    ck_assert_str_eq(parts[2].name, "supplement-10.0");
    ck_assert_uint_eq(literal(&t, "A"), 1);
    ck_assert_uint_eq(literal(&t, "B"), 2);
    ck_assert_uint_eq(literal(&t, "ArrayBaseSize"), 2);
    ck_assert_uint_eq(offset(&t, "Thread", "Id"), 2);
    ck_assert_uint_eq(offset(&t, "Thread", "LinkNext"), 112);
    unlink(user_path);
    close_target(&t);
}
END_TEST

/* Every form, on a runtime for which none is shipped. */
START_TEST(user_supplement_forms)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    l.image->symbols[0].size = 8 * 100;
    give_supplement(&t,
                    "{'anchors':{'dac':{'symbol':'g_dacTable','counts':[100]},'found':{'via':'dac',"
                    "'find':true,'deref':1,'expect':{'u8@0':2,'u64@8':[64,1024],'word@16':5}},"
                    "'module':{'image':true},'var':{'via':'dac','index':15}},'globals':{'Table':"
                    "[{'via':'dac'},'pointer'],'Entry':[{'via':'dac','index':{'100':3},'add':8},"
                    "'pointer'],'Fixed':{'via':'module','add':'0x40'},'Size':{'via':'found',"
                    "'offset':8,'read':'uint64'},'Cell':[{'via':'found','offset':56},'pointer'],"
                    "'Null':[{'via':'found','offset':176},'pointer'],'Constant':{'via':'found',"
                    "'offset':56,'value':5},'NoConstant':{'via':'found','offset':176,'value':5},"
                    "'Bytes':{'via':'found','offset':0,'read':'uint16'},'Var':{'via':'var'}},"
                    "'types':{'G':{'Start':{'via':'found','offset':248,'i32':1},'None':{'via':"
                    "'found','offset':248,'i32':2},'Heap':{'via':'found','offset':240,'i32':0}}},'"
                    "contracts':{'GC':'c1'}}");
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(variable(&t, "Table"), l.table);
    ck_assert_uint_eq(variable(&t, "Entry"), l.entries[3] + 8);
    ck_assert_uint_eq(variable(&t, "Fixed"), base + 0x40);
    ck_assert_uint_eq(variable(&t, "Var"), l.entries[15]);
    ck_assert_uint_eq(literal(&t, "Size"), 256);
    ck_assert_uint_eq(literal(&t, "Bytes"), 0x0402);
    ck_assert_uint_ne(variable(&t, "Cell"), 0);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "Null"));
    ck_assert_uint_eq(literal(&t, "Constant"), 5);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "NoConstant"));
    ck_assert_uint_eq(offset(&t, "G", "Start"), 56);
    ck_assert(!clr_has(offset(&t, "G", "None")));
    ck_assert(!clr_has(offset(&t, "G", "Heap")));
    unlink(user_path);
    close_target(&t);
}
END_TEST

static const struct {
    const char *text;
    enum clr_status status;
    const char *part;
} bad_supplements[] = {
    {"{", CLR_BAD_DATA, "not valid JSON"},
    {"[]", CLR_BAD_DATA, "no JSON object"},
    {"{'globals':3}", CLR_BAD_DATA, "'globals'"},
    {"{'supplement':{'arch':'arm64'}}", CLR_UNSUPPORTED, "is for arm64"},
    {"{'anchors':{'a':{'symbol':'nothing'}}}", CLR_UNSUPPORTED, "names no symbol"},
    {"{'anchors':{'a':{}}}", CLR_UNSUPPORTED, "names no symbol"},
    {"{'anchors':{'a':7}}", CLR_UNSUPPORTED, "names no symbol"},
    {"{'anchors':{'a':{'symbol':'g_dacTable','counts':[1,2]}}}", CLR_UNSUPPORTED, "129 entries"},
    {"{'anchors':{'a':{'symbol':'g_dacTable','stride':0}}}", CLR_UNSUPPORTED, "names no symbol"},
    {"{'anchors':{'a':{'via':'b'}}}", CLR_UNSUPPORTED, "names no anchor"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'},'a':{'via':'d','index':129}}}", CLR_UNSUPPORTED,
     "index is not one"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'},'a':{'via':'d','index':1,'deref':9}}}", CLR_BAD_DATA,
     "'deref'"},
    {"{'anchors':{'d':{'symbol':'g_dacTable','expect':{'u9@0':1}}}}", CLR_BAD_DATA, "u9@0"},
    {"{'anchors':{'d':{'symbol':'g_dacTable','expect':{'u8@x':1}}}}", CLR_BAD_DATA, "u8@x"},
    {"{'anchors':{'d':{'symbol':'g_dacTable','expect':{'u8':1}}}}", CLR_BAD_DATA, "'u8'"},
    {"{'anchors':{'d':{'symbol':'g_dacTable','expect':{'u8@0':[1]}}}}", CLR_BAD_DATA, "u8@0"},
    {"{'anchors':{'d':{'symbol':'g_dacTable','expect':{'u8@0':'*X'}}}}", CLR_BAD_DATA, "u8@0"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'},'f':{'via':'d','find':true,'deref':1,'expect':{"
     "'u64@0':'0x123456789'}}}}",
     CLR_UNSUPPORTED, "0 of 129 entries"},
    {"{'globals':{'A':{'via':'x'}}}", CLR_UNSUPPORTED, "names no anchor"},
    {"{'globals':{'A':[1]}}", CLR_UNSUPPORTED, "no array of pointers"},
    {"{'globals':{'A':{'via':'gcident'}},'types':{}}", CLR_OK, ""},
    {"{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d','index':1,'read':'x'}}}",
     CLR_UNSUPPORTED, "type that is not known"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d','offset':-1}}}",
     CLR_UNSUPPORTED, "offset is not a number"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d','index':1,'i32':'x'}}}",
     CLR_UNSUPPORTED, "element is not a number"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d','index':1,'add':'x'}}}",
     CLR_UNSUPPORTED, "adds is no number"},
    {"{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d','index':1,'value':'x'}}}",
     CLR_UNSUPPORTED, "value is no number"},
};

START_TEST(bad_user_supplement_fails)
{
    struct target t = {0};
    build_legacy(&t, &shapes[0], false, false);
    give_supplement(&t, bad_supplements[_i].text);
    open_descriptor(&t);
    if (bad_supplements[_i].status == CLR_OK) {
        assert_open(&t);
    } else {
        assert_fails(&t, bad_supplements[_i].status, bad_supplements[_i].part);
        ck_assert_ptr_nonnull(strstr(t.error.text, user_path));
    }
    unlink(user_path);
    close_target(&t);
}
END_TEST

START_TEST(unreadable_user_supplement_fails)
{
    static const struct {
        const char *path;
        enum clr_status status;
    } cases[] = {{"/nowhere/at/all.json", CLR_IO}, {"/tmp", CLR_MISUSE}};
    struct target t = {0};
    char path[40];
    build_legacy(&t, &shapes[0], false, false);
    strcpy(path, cases[_i].path);
    t.options.supplement = path;
    open_descriptor(&t);
    assert_fails(&t, cases[_i].status, cases[_i].path);
    close_target(&t);
}
END_TEST

/* --- Bindings --------------------------------------------------------------------------------- */

struct layout {
    uint64_t next, size, count, mask, store, missing;
};

static const struct clr_binding good_bindings[] = {
    {offsetof(struct layout, next), CLR_FIELD, 0, false, "T", "Next"},
    {offsetof(struct layout, count), CLR_FIELD, 4, false, "T", "Count"},
    {offsetof(struct layout, size), CLR_SIZE, 0, false, "T", NULL},
    {offsetof(struct layout, mask), CLR_LITERAL, 0, false, NULL, "Mask"},
    {offsetof(struct layout, store), CLR_VARIABLE, 0, false, NULL, "Store"},
    {offsetof(struct layout, missing), CLR_FIELD, 0, true, "T", "None"},
    CLR_BINDINGS_END,
};

/* A binding that fails, alone. */
static const struct {
    struct clr_binding binding;
    const char *part;
} bad_bindings[] = {
    {{0, CLR_FIELD, 0, false, "T", "None"}, "needs the field T.None"},
    {{0, CLR_FIELD, 0, false, "U", "None"}, "needs the field U.None"},
    {{0, CLR_SIZE, 0, false, "S", NULL}, "needs the size of S"},
    {{0, CLR_LITERAL, 0, false, NULL, "None"}, "needs the global None (a number)"},
    {{0, CLR_VARIABLE, 0, false, NULL, "None"}, "needs the global None (a variable)"},
    {{0, CLR_LITERAL, 0, false, NULL, "Store"}, "Store as a number, which it is not"},
    {{0, CLR_VARIABLE, 0, false, NULL, "Mask"}, "Mask as a variable, which it is not"},
    {{0, CLR_LITERAL, 0, false, NULL, "Text"}, "Text as a number, which it is not"},
    {{0, CLR_FIELD, 8, false, "T", "Count"}, "reads T.Count as 8 bytes"},
    {{0, CLR_FIELD, 0, false, "T", "Count"}, "reads T.Count as 8 bytes"},
    {{0, CLR_FIELD, 2, true, "T", "Count"}, "but this runtime says that it is a uint32"},
};

static const char binding_text[] =
    "{'types':{'T':{'!':40,'Next':[8,'pointer'],'Count':[16,'uint32'],'Other':[24,'Thing']},'S':{}"
    "},'globals':{'Mask':7,'Store':[[1],'pointer'],'Text':'x'},'subDescriptors':{}}";

START_TEST(bindings_fill_the_layout)
{
    struct target t = {0};
    struct layout layout;
    struct clr_error error = {0};
    memset(&layout, 0x55, sizeof layout);
    open_text(&t, binding_text);
    assert_open(&t);
    ck_assert_int_eq(clr_bind(t.descriptor, "Test", good_bindings, &layout, &error), CLR_OK);
    ck_assert_uint_eq(layout.next, 8);
    ck_assert_uint_eq(layout.count, 16);
    ck_assert_uint_eq(layout.size, 40);
    ck_assert_uint_eq(layout.mask, 7);
    ck_assert_uint_eq(layout.store, 0x1001);
    ck_assert(!clr_has(layout.missing));
    close_target(&t);
}
END_TEST

START_TEST(bad_binding_fails)
{
    struct target t = {0};
    uint64_t layout[2] = {1, 1};
    struct clr_error error = {0};
    const struct clr_binding bindings[] = {
        bad_bindings[_i].binding,
        {sizeof(uint64_t), CLR_FIELD, CLR_INLINE, false, "T", "Other"},
        CLR_BINDINGS_END,
    };
    open_text(&t, binding_text);
    assert_open(&t);
    ck_assert_int_eq(clr_bind(t.descriptor, "Test", bindings, layout, &error), CLR_NOT_FOUND);
    ck_assert_msg(strstr(error.text, bad_bindings[_i].part), "%s", error.text);
    ck_assert_msg(strstr(error.text, "contract Test"), "%s", error.text);
    ck_assert(!clr_has(layout[0]));
    ck_assert_uint_eq(layout[1], 24);
    close_target(&t);
}
END_TEST

/* --- Lack of memory --------------------------------------------------------------------------- */

/* Opens the descriptor of T again and again, failing at each allocation in turn. */
static void fail_each(struct target *t, enum clr_status wanted)
{
    uint64_t before = clr_alloc_live();
    for (uint64_t n = 1;; n++) {
        struct clr_error error = {0};
        struct clr_descriptor *descriptor = NULL;
        uint64_t made = clr_alloc_made();
        clr_alloc_fail_at(n);
        enum clr_status status =
            clr_descriptor_open(t->process, &t->options, NULL, &descriptor, &error);
        clr_alloc_fail_at(0);
        ck_assert_int_eq(status, error.code);
        clr_descriptor_close(descriptor);
        ck_assert_uint_eq(clr_alloc_live(), before);
        if (clr_alloc_made() - made < n) {
            ck_assert_msg(status == wanted, "%s", error.text);
            ck_assert_uint_gt(n, 5);
            return;
        }
        ck_assert_msg(status == CLR_NOMEM, "allocation %llu: %d %s", (unsigned long long)n, status,
                      error.text);
        ck_assert_ptr_null(descriptor);
    }
}

START_TEST(no_memory_with_children)
{
    struct target t = {0};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t child = place(image,
                           "{'types':{'T':{'!':16,'A':2}},'globals':{'G':2},'contracts':{"
                           "'GC':2}}",
                           NULL, 0);
    const uint64_t own[] = {0, built_image_word(image, child)};
    uint64_t at = place(image,
                        "{'types':{'T':{'A':1},'U':{}},'globals':{'H':1},'contracts':{'A':"
                        "'c1'},'subDescriptors':{'GC':[[1],'pointer']}}",
                        own, 2);
    built_image_export(image, symbol, at, 40);
    open_process(&t);
    fail_each(&t, CLR_OK);
    close_target(&t);
}
END_TEST

START_TEST(no_memory_with_supplements)
{
    struct target t = {0};
    build_legacy(&t, &shapes[0], true, false);
    give_supplement(&t, "{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d'}}}");
    open_process(&t);
    fail_each(&t, CLR_OK);
    unlink(user_path);
    close_target(&t);
}
END_TEST

START_TEST(no_memory_while_refusing)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], true, false);
    l.image->symbols[0].size += 8;
    open_process(&t);
    fail_each(&t, CLR_UNSUPPORTED);
    close_target(&t);
}
END_TEST

/* --- Hostile texts ---------------------------------------------------------------------------- */

/* Every prefix of a text, and the text with each byte changed: an answer, and no crash. */
START_TEST(any_text_is_survived)
{
    static const char text[] =
        "{'version':2,'types':{'A':{'!':8,'X':[0,'u']},'B':{}},'globals':{'G':[[1],'pointer'],'H':"
        "['0x7','uint8'],'I':5},'subDescriptors':{'GC':[[2],'pointer']},'contracts':{'GC':'c1'}}";
    static const char changes[] = "\"{}[]:,0x-/*\\\xff";
    struct target t = {0};
    const uint64_t slots[] = {0, 1, 2, 3};
    struct built_image *image = add_image(&t, "/opt/libcoreclr.so", base, 8, false);
    uint64_t at = place(image, text, slots, 4);
    built_image_export(image, symbol, at, 40);
    open_process(&t);
    const char *quoted = json(text);
    size_t length = strlen(quoted), good = 0;
    struct clr_structure structure = {.name = "test",
                                      .slot_count = 4,
                                      .pointer_size = 8,
                                      .little_endian = true,
                                      .slots = image->base};
    for (size_t i = 0; i < length * (sizeof changes + 1); i++) {
        struct clr_descriptor *d = clr_alloc(1, sizeof *d);
        struct clr_error error = {0};
        struct clr_part part = {.name = "test", .parent = -1};
        clr_json *root;
        char *changed = clr_copy_text(quoted, length);
        size_t change = i / length, size = change == sizeof changes ? i % length : length;
        ck_assert(d && changed);
        if (change < sizeof changes)
            changed[i % length] = changes[change];
        d->process = t.process;
        d->own_parts = 1;
        if (clr_json_parse(changed, size, &root, &error) == CLR_OK) {
            ck_assert_int_eq(clr_part_add(d, &part, changed, size, root, &error), CLR_OK);
            struct clr_parse parse = {.d = d, .structure = &structure};
            if (clr_parse_rows(&parse, root, &error) == CLR_OK) {
                ck_assert_int_eq(clr_merge(d, &error), CLR_OK);
                good++;
            }
        }
        clr_free(changed);
        clr_descriptor_close(d);
    }
    ck_assert_uint_gt(good, 100);
    close_target(&t);
}
END_TEST

#define LENGTH(array) (int)(sizeof(array) / sizeof *(array))

static Suite *descriptor_suite(void)
{
    Suite *suite = suite_create("descriptor");
    TCase *forms = tcase_create("forms");
    tcase_add_test(forms, compact_form);
    tcase_add_test(forms, regular_form);
    tcase_add_loop_test(forms, empty_form, 0, LENGTH(empty_forms));
    tcase_add_test(forms, baseline_is_reported);
    tcase_add_loop_test(forms, fault_is_left_out, 0, LENGTH(faults));
    tcase_add_loop_test(forms, bad_frame_fails, 0, LENGTH(bad_frames));
    tcase_add_loop_test(forms, damaged_structure_fails, 0, LENGTH(damages));
    tcase_add_test(forms, lost_slots_cost_their_globals);
    tcase_add_loop_test(forms, every_machine, 0, 4);
    suite_add_tcase(suite, forms);
    TCase *children = tcase_create("children");
    tcase_add_loop_test(children, child_is_merged, 0, LENGTH(spellings));
    tcase_add_loop_test(children, bad_child_is_left_out, 0, LENGTH(bad_children));
    tcase_add_loop_test(children, bad_link_is_reported, 0, LENGTH(bad_links));
    tcase_add_test(children, cycle_ends);
    tcase_add_loop_test(children, number_of_children_is_bounded, 0, 2);
    tcase_add_test(children, conflict_keeps_the_first);
    suite_add_tcase(suite, children);
    TCase *runtimes = tcase_create("runtimes");
    tcase_add_loop_test(runtimes, runtime_is_chosen, 0, LENGTH(choices));
    tcase_add_loop_test(runtimes, no_runtime, 0, 3);
    tcase_add_loop_test(runtimes, native_aot_is_recognised, 0, LENGTH(native_aot));
    tcase_add_test(runtimes, descriptor_comes_from_the_file);
    tcase_add_test(runtimes, missing_file_is_named);
    suite_add_tcase(suite, runtimes);
    TCase *supplements = tcase_create("supplements");
    tcase_add_loop_test(supplements, shipped_supplements, 0, 3 * LENGTH(shapes));
    tcase_add_loop_test(supplements, misfit_is_refused, 0, LENGTH(misfits));
    tcase_add_test(supplements, unknown_table_is_refused);
    tcase_add_test(supplements, other_machine_is_refused);
    tcase_add_test(supplements, gc_not_started);
    tcase_add_test(supplements, lost_probe_is_told);
    tcase_add_test(supplements, own_descriptor_wins);
    tcase_add_loop_test(supplements, contracts_must_agree, 0, LENGTH(own_misfits));
    tcase_add_test(supplements, supplement_serves_for_a_bad_descriptor);
    tcase_add_test(supplements, user_supplement_stands_between);
    tcase_add_test(supplements, user_supplement_forms);
    tcase_add_loop_test(supplements, bad_user_supplement_fails, 0, LENGTH(bad_supplements));
    tcase_add_loop_test(supplements, unreadable_user_supplement_fails, 0, 2);
    suite_add_tcase(suite, supplements);
    TCase *rest = tcase_create("bindings, memory, hostile texts");
    tcase_add_test(rest, bindings_fill_the_layout);
    tcase_add_loop_test(rest, bad_binding_fails, 0, LENGTH(bad_bindings));
    tcase_add_test(rest, no_memory_with_children);
    tcase_add_test(rest, no_memory_with_supplements);
    tcase_add_test(rest, no_memory_while_refusing);
    tcase_add_test(rest, any_text_is_survived);
    tcase_set_timeout(rest, 60);
    suite_add_tcase(suite, rest);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(descriptor_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
