/*
 * Supplements: the shipped ones on fake processes of .NET 8, 9 and 10 (workstation, server,
 * segments), what speaks against one, precedence, a user's own, and each allocation failing.
 */
#include "descriptor_target.h"

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
    ck_assert_uint_eq(offset(&t, "SyncBlock", "HashCode"), 80);
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
static void table_lost(struct legacy *l)
{
    l->image->symbols[0].address = base + 0x900000;
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
    {gc_lost, CLR_FAULT, "leads to 0x7f0000900000, which is not in the dump"},
    {table_lost, CLR_FAULT, "what leads to it, at 0x7f0000900098, is not in the dump"},
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

/* A runtime whose own descriptor is not saved: what is missing, and what was found instead. */
START_TEST(unknown_table_without_descriptor)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    l.image->symbols[0].size += 8;
    built_image_export(l.image, symbol, base + 0x900000, 40);
    open_descriptor(&t);
    assert_fails(&t, CLR_FAULT, "of descriptor 'runtime' at 0x7f0000900000 is not in the dump");
    assert_fails(&t, CLR_FAULT,
                 "g_dacTable has 130 entries, known are 129: 10.0; 155, 157: 8.0; 158: 9.0");
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

static char user_folder[40], user_path[60];

static void give_supplement(struct target *t, const char *text)
{
    const char *quoted = json(text);
    strcpy(user_folder, "/tmp/test_descriptor.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(user_folder));
    snprintf(user_path, sizeof user_path, "%s/mine.json", user_folder);
    FILE *file = fopen(user_path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(quoted, 1, strlen(quoted), file), strlen(quoted));
    fclose(file);
    t->options.supplement = user_path;
}

static void drop_supplement(void)
{
    unlink(user_path);
    rmdir(user_folder);
}

START_TEST(user_supplement_stands_between)
{
    struct target t = {0};
    const struct clr_part *parts;
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    built_image_export(
        l.image, symbol,
        place(l.image, "{'globals':{'A':1},'contracts':{'Thread':1},'types':{'Sized':{'!':24}}}",
              NULL, 0),
        40);
    give_supplement(&t, "{'globals':{'A':2,'B':2,'ArrayBaseSize':2},'types':{'Thread':{'Id':2},"
                        "'Sized':{'!':48,'More':8}}}");
    open_descriptor(&t);
    assert_open(&t);
    assert_clean(&t);
    ck_assert_uint_eq(clr_descriptor_parts(t.descriptor, &parts), 3);
    ck_assert_str_eq(parts[1].name, "mine");
    ck_assert_str_eq(parts[2].name, "supplement-10.0");
    ck_assert_uint_eq(literal(&t, "A"), 1);
    ck_assert_uint_eq(literal(&t, "B"), 2);
    ck_assert_uint_eq(literal(&t, "ArrayBaseSize"), 2);
    ck_assert_uint_eq(offset(&t, "Thread", "Id"), 2);
    ck_assert_uint_eq(offset(&t, "Thread", "LinkNext"), 112);
    ck_assert_uint_eq(clr_descriptor_size(t.descriptor, "Sized"), 24);
    ck_assert_uint_eq(offset(&t, "Sized", "More"), 8);
    drop_supplement();
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
    drop_supplement();
    close_target(&t);
}
END_TEST

/* A null word on the way: what is behind it is absent, at whichever step. */
START_TEST(null_words_end_a_way)
{
    struct target t = {0};
    struct legacy l = build_legacy(&t, &shapes[0], false, false);
    uint64_t null = built_image_data(l.image, NULL, 16);
    set_variable(&l, 1, 0);
    set_variable(&l, 2, null);
    give_supplement(&t,
                    "{'anchors':{'dac':{'symbol':'g_dacTable'},'first':{'via':'dac','index':1,"
                    "'deref':3},'second':{'via':'dac','index':2,'deref':3}},'globals':{'First':"
                    "{'via':'first'},'Second':{'via':'second'},'Own':{'via':'dac','index':2}}}");
    open_descriptor(&t);
    assert_open(&t);
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "First"));
    ck_assert_ptr_null(clr_descriptor_global(t.descriptor, "Second"));
    ck_assert_uint_eq(variable(&t, "Own"), l.entries[2]);
    assert_problem(&t, CLR_WARNING, "descriptors", "leads to a null pointer");
    drop_supplement();
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
    {"{'anchors':{'d':{'symbol':'g_dacTable'},'f':{'via':'d','find':true,'expect':{'u64@16':0}}}}",
     CLR_UNSUPPORTED, " of 129 entries"},
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
    drop_supplement();
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

/* --- Lack of memory --------------------------------------------------------------------------- */

START_TEST(no_memory_with_supplements)
{
    struct target t = {0};
    build_legacy(&t, &shapes[0], true, false);
    give_supplement(&t, "{'anchors':{'d':{'symbol':'g_dacTable'}},'globals':{'A':{'via':'d'}}}");
    open_process(&t);
    fail_each(&t, CLR_OK);
    drop_supplement();
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

static Suite *supplement_suite(void)
{
    Suite *suite = suite_create("supplement");
    TCase *supplements = tcase_create("supplements");
    tcase_add_loop_test(supplements, shipped_supplements, 0, 3 * LENGTH(shapes));
    tcase_add_loop_test(supplements, misfit_is_refused, 0, LENGTH(misfits));
    tcase_add_test(supplements, unknown_table_is_refused);
    tcase_add_test(supplements, unknown_table_without_descriptor);
    tcase_add_test(supplements, other_machine_is_refused);
    tcase_add_test(supplements, gc_not_started);
    tcase_add_test(supplements, lost_probe_is_told);
    tcase_add_test(supplements, own_descriptor_wins);
    tcase_add_loop_test(supplements, contracts_must_agree, 0, LENGTH(own_misfits));
    tcase_add_test(supplements, supplement_serves_for_a_bad_descriptor);
    tcase_add_test(supplements, user_supplement_stands_between);
    tcase_add_test(supplements, user_supplement_forms);
    tcase_add_test(supplements, null_words_end_a_way);
    tcase_add_loop_test(supplements, bad_user_supplement_fails, 0, LENGTH(bad_supplements));
    tcase_add_loop_test(supplements, unreadable_user_supplement_fails, 0, 2);
    tcase_add_test(supplements, no_memory_with_supplements);
    tcase_add_test(supplements, no_memory_while_refusing);
    tcase_set_timeout(supplements, 60);
    suite_add_tcase(suite, supplements);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(supplement_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
