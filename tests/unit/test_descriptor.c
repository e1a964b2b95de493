/*
 * The contract descriptor: every JSON form and fault, sub-descriptors, several runtimes, what comes
 * from the image's file, bindings, and each allocation failing.
 */
#include "descriptor_target.h"

#include <sys/stat.h>

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
    ("{'version':null,'baseline':null,'types':null,'globals':null,'contracts':null,"
     "'sub-descriptors':null,'subDescriptors':{}}"),
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
        add_image(&t, "/opt/libcoreclr.so", word == 4 ? 0x60000000 : base, word, big);
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
        const char *path, *exported;
        enum clr_status status;
        const char *part;
    } cases[] = {
        {"/usr/bin/cat", "main", CLR_NO_RUNTIME,
         "none of 1 images exports DotNetRuntimeContractDescriptor"},
        {"/opt/libcoreclr.so", "other", CLR_FAULT,
         "the file /opt/libcoreclr.so, build id 00070e15"},
        {"/opt/libcoreclr.so", "coreclr_initialize", CLR_NO_RUNTIME, "exports neither"},
    };
    struct target t = {0};
    struct built_image *image = add_image(&t, cases[_i].path, base, 8, false);
    memcpy(image->build_id, "\0\x07\x0e\x15", 4);
    built_image_export(image, cases[_i].exported, base + 0x10, 8);
    open_descriptor(&t);
    assert_fails(&t, cases[_i].status, cases[_i].part);
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
    TCase *rest = tcase_create("bindings, memory, hostile texts");
    tcase_add_test(rest, bindings_fill_the_layout);
    tcase_add_loop_test(rest, bad_binding_fails, 0, LENGTH(bad_bindings));
    tcase_add_test(rest, no_memory_with_children);
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
