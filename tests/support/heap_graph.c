/*
 * The process that heap_graph.h describes. Names of fields come from the metadata of a dynamic
 * module.
 */
#include "heap_graph.h"

#include <check.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder_private.h"

enum { NODE_ROW = 2, HOLDER_ROW };
enum {
    IS_STATIC = 1 << 24,
    IS_THREAD_STATIC = 1 << 25,
    ELEMENT_CLASS = 0x12,
    ELEMENT_OBJECT = 0x1c
};
enum { SEGMENT_BYTES = 0xf000 };
enum { KIND_STRONG = 2, HAS_STATICS = 2, FIELD_SIGNATURE = 6, SZARRAY = 0x000a0000 };

static void build_metadata(struct heap_graph *g)
{
    static const char *const fields[] = {"A", "B", "C", "First", "Second", "PerThread"};
    struct metadata_builder *m = g->metadata = metadata_builder_create();
    uint32_t space = metadata_string(m, "Zoo");
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "<Module>"), 0, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Node"), space, 0, 1, 1);
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "Holder"), space, 0, 1 + GRAPH_SLOTS, 1);
    uint32_t signature = METADATA_BLOB(m, FIELD_SIGNATURE, ELEMENT_OBJECT);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        METADATA_ROW(m, CLR_FIELDDEF, i < GRAPH_SLOTS ? 6 : 0x16, metadata_string(m, fields[i]),
                     signature);
}

static void put_field(struct heap_graph *g, uint64_t at, uint64_t type, uint32_t row, uint32_t bits,
                      uint32_t offset)
{
    fake_set(g->f, at, "FieldDesc", "MTOfEnclosingClass", type);
    fake_set(g->f, at, "FieldDesc", "DWord1", row | bits | 6u << 27);
    fake_set(g->f, at, "FieldDesc", "DWord2", offset | (uint32_t)ELEMENT_CLASS << 27);
}

static uint64_t put_fields(struct heap_graph *g, uint64_t type, unsigned count, uint32_t first_row,
                           const uint32_t bits[], uint32_t first_offset)
{
    uint64_t size = fake_size(g->f, "FieldDesc"), at = fake_memory(g->f, count * size);
    fake_set(g->f, fake_get(g->f, type, "MethodTable", "EEClassOrCanonMT"), "EEClass",
             "FieldDescList", at);
    for (unsigned i = 0; i < count; i++)
        put_field(g, at + i * size, type, first_row + i, bits ? bits[i] : 0,
                  first_offset + i * g->f->word);
    return at;
}

void graph_create(struct heap_graph *g, const struct fake_options *options)
{
    static const uint32_t bits[] = {IS_STATIC, IS_STATIC, IS_STATIC | IS_THREAD_STATIC};
    size_t size;
    *g = (struct heap_graph){.live = clr_alloc_live(), .full = true};
    struct fake *f = g->f = fake_create(options);
    const uint64_t word = f->word;
    build_metadata(g);
    const uint8_t *blob = metadata_build(g->metadata, &size);
    g->module = fake_module(
        f, &(struct fake_module){
               .simple_name = "Zoo", .metadata = blob, .metadata_size = size, .is_dynamic = true});
    const struct fake_series all = {word, GRAPH_SLOTS * word};
    g->node = fake_type(f, &(struct fake_type){.module = g->module,
                                               .rid = NODE_ROW,
                                               .base_size = (uint32_t)((2 + GRAPH_SLOTS) * word),
                                               .series = &all,
                                               .series_count = 1,
                                               .instance_fields = GRAPH_SLOTS});
    put_fields(g, g->node, GRAPH_SLOTS, 1, NULL, 0);
    g->holder = fake_type(f, &(struct fake_type){.module = g->module,
                                                 .rid = HOLDER_ROW,
                                                 .base_size = (uint32_t)(3 * word),
                                                 .static_fields = 3});
    g->holder_fields = put_fields(g, g->holder, 3, 1 + GRAPH_SLOTS, bits, (uint32_t)word);
    /* The thread static lies at slot 1 of its array, as First does in its. */
    put_field(g, g->holder_fields + 2 * fake_size(f, "FieldDesc"), g->holder, 3 + GRAPH_SLOTS,
              bits[2], (uint32_t)(3 * word));
    g->leaf = fake_class(f, 0, 1, 0);
    const int64_t half = word == 8 ? 32 : 16;
    /* One slot, then a word to skip: two half words, in the order of memory. */
    const int64_t item =
        f->big_endian ? (int64_t)1 << half | (int64_t)word : (int64_t)word << half | 1;
    const int64_t desc[] = {-1, (int64_t)(3 * word), item};
    g->pairs = fake_type(f, &(struct fake_type){.flags = SZARRAY,
                                                .component_size = (uint32_t)(2 * word),
                                                .base_size = (uint32_t)(3 * word),
                                                .parent = f->known.array,
                                                .raw_desc = desc,
                                                .raw_count = 3,
                                                .element = g->holder});
}

uint64_t graph_object(struct heap_graph *g, uint64_t type, uint32_t count)
{
    uint64_t size = fake_get(g->f, type, "MethodTable", "BaseSize");
    uint32_t flags = (uint32_t)fake_get(g->f, type, "MethodTable", "MTFlags");
    if (flags & 0x80000000)
        size += (uint64_t)count * (flags & 0xffff);
    if (g->full ||
        fake_segment_end(g->f, g->segment) + size - fake_segment_start(g->f, g->segment) >
            SEGMENT_BYTES)
        g->segment = fake_segment(g->f, 0, 0);
    g->full = false;
    return fake_object(g->f, g->segment, type, count);
}

uint64_t graph_node(struct heap_graph *g)
{
    return graph_object(g, g->node, 0);
}

uint64_t graph_leaf(struct heap_graph *g)
{
    return graph_object(g, g->leaf, 0);
}

uint64_t graph_array(struct heap_graph *g, uint32_t count)
{
    return graph_object(g, g->f->known.object_array, count);
}

uint64_t graph_slot(const struct heap_graph *g, uint64_t node, unsigned slot)
{
    return node + (1 + (uint64_t)slot) * g->f->word;
}

uint64_t graph_element(const struct heap_graph *g, uint64_t array, uint32_t element)
{
    return array + (2 + (uint64_t)element) * g->f->word;
}

void graph_link(struct heap_graph *g, uint64_t node, unsigned slot, uint64_t to)
{
    fake_put_word(g->f, graph_slot(g, node, slot), to);
}

void graph_set_element(struct heap_graph *g, uint64_t array, uint32_t element, uint64_t to)
{
    fake_put_word(g->f, graph_element(g, array, element), to);
}

uint64_t graph_root(struct heap_graph *g, uint64_t object)
{
    return fake_handle(g->f, 0, KIND_STRONG, object, 0);
}

static uint64_t auxiliary(struct heap_graph *g)
{
    fake_set(g->f, g->holder, "MethodTable", "MTFlags2",
             fake_get(g->f, g->holder, "MethodTable", "MTFlags2") | HAS_STATICS);
    return fake_get(g->f, g->holder, "MethodTable", "AuxiliaryData");
}

void graph_statics(struct heap_graph *g, uint32_t count)
{
    g->statics = graph_array(g, count);
    graph_root(g, g->statics);
    uint64_t info = auxiliary(g) - fake_size(g->f, "DynamicStaticsInfo");
    fake_set(g->f, info, "DynamicStaticsInfo", "GCStatics", graph_element(g, g->statics, 0));
}

uint64_t graph_thread_statics(struct heap_graph *g, uint64_t thread)
{
    enum { INDEX = 3, UNUSED = 2 }; /* of the thread's array of arrays; offsets from 2 on count */
    uint64_t all = graph_array(g, 4), own = graph_array(g, 2);
    uint64_t data = fake_memory(g->f, fake_size(g->f, "ThreadLocalData"));
    graph_set_element(g, all, INDEX - UNUSED, own);
    fake_set(g->f, data, "ThreadLocalData", "NonCollectibleTlsArrayData", all);
    fake_set(g->f, data, "ThreadLocalData", "NonCollectibleTlsDataCount", INDEX + 1);
    fake_set(g->f, thread, "Thread", "ThreadLocalDataPtr", data);
    fake_put_u32(g->f,
                 auxiliary(g) - fake_size(g->f, "ThreadStaticsInfo") +
                     fake_offset(g->f, "ThreadStaticsInfo", "GCTlsIndex") +
                     fake_offset(g->f, "TLSIndex", "TLSIndexRawIndex"),
                 INDEX);
    return own;
}

void graph_open(struct heap_graph *g, unsigned parts, unsigned threads)
{
    /* A fake heap may announce more than the few bytes that it is made of. */
    struct clr_options options = {.threads = threads, .partial_heap = true};
    struct clr_error error = {0};
    ck_assert_msg(clr_dump_open(fake_path(g->f), &options, NULL, &g->dump, &error) == CLR_OK, "%s",
                  error.text);
    graph_need(g, parts);
}

void graph_need(struct heap_graph *g, unsigned parts)
{
    struct clr_error error = {0};
    ck_assert_msg(clr_dump_need(g->dump, parts, NULL, &error) == CLR_OK, "%s", error.text);
}

uint32_t graph_number(const struct heap_graph *g, uint64_t address)
{
    uint32_t number = 0;
    ck_assert_msg(clr_number(g->dump->heap, address, &number), "0x%llx is no object",
                  (unsigned long long)address);
    return number;
}

void graph_shut(struct heap_graph *g)
{
    clr_dump_close(g->dump);
    g->dump = NULL;
    ck_assert_uint_eq(clr_alloc_live(), g->live);
}

void graph_close(struct heap_graph *g)
{
    graph_shut(g);
    metadata_builder_destroy(g->metadata);
    fake_destroy(g->f);
}

const struct clr_problem *graph_problem(const struct heap_graph *g, const char *area,
                                        const char *part)
{
    struct clr_error error = {0};
    ck_assert_int_eq(clr_dump_settle_refs(g->dump, NULL, &error), CLR_OK);
    for (size_t i = 0; i < clr_problems_count(g->dump->problems); i++) {
        const struct clr_problem *problem = clr_problems_at(g->dump->problems, i);
        if (strcmp(problem->area, area) == 0 && strstr(problem->message, part))
            return problem;
    }
    return NULL;
}

static uint64_t mix(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdu;
    value ^= value >> 29;
    value *= 0xc4ceb9fe1a85ec53u;
    return value ^ value >> 32;
}

static uint64_t edge_sum(const struct clr_ref *ref)
{
    return mix(mix(mix(ref->source) + ref->target) + ref->address + (uint64_t)ref->kind * 7 +
               ref->offset);
}

uint64_t graph_forward_sum(const struct clr_dump *dump, uint64_t *count)
{
    struct clr_ref_scan scan;
    struct clr_ref ref;
    uint64_t sum = 0;
    *count = 0;
    clr_ref_scan_start(&scan, dump->refs, 0, clr_heap_count(dump->heap));
    for (; clr_ref_scan_next(&scan, &ref); ++*count)
        sum += edge_sum(&ref);
    return sum;
}

uint64_t graph_reverse_sum(const struct clr_dump *dump, uint64_t *count)
{
    uint64_t sum = 0;
    *count = 0;
    for (uint32_t number = 0; number < clr_heap_count(dump->heap); number++) {
        struct clr_link_scan scan;
        struct clr_ref ref;
        clr_link_scan_start(&scan, dump->links, number);
        for (; clr_link_scan_next(&scan, &ref); ++*count) {
            ck_assert_uint_eq(ref.target_number, number);
            sum += edge_sum(&ref);
        }
    }
    return sum;
}

uint32_t graph_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}
