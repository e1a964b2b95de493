/*
 * A fake process with a heap of references between objects, opened as a dump: for tests of what is
 * built from references and roots.
 *
 *     struct heap_graph g;
 *     graph_create(&g, NULL);
 *     uint64_t a = graph_node(&g), b = graph_node(&g);
 *     graph_link(&g, a, 0, b);                        slot 0 of a
 *     graph_root(&g, a);                              a strong handle
 *     graph_open(&g, CLR_PART_REACH, 1);
 *     ... graph_number(&g, b), g.dump->reach ...
 *     graph_close(&g);
 */
#ifndef TEST_HEAP_GRAPH_H
#define TEST_HEAP_GRAPH_H

#include "clr_builder.h"
#include "dump/dump.h"
#include "metadata_builder.h"

enum { GRAPH_SLOTS = 3 }; /* of a node */

struct heap_graph {
    struct fake *f;
    struct clr_dump *dump;
    uint64_t node;   /* class of three references, called Zoo.Node: A, B, C */
    uint64_t leaf;   /* class without references */
    uint64_t pairs;  /* array of structs of two words, the second a reference */
    uint64_t holder; /* class Zoo.Holder: statics First, Second, thread static PerThread */
    uint64_t module;
    uint64_t statics, thread_statics; /* their arrays: see graph_statics */
    uint64_t holder_fields;
    struct metadata_builder *metadata;
    unsigned segment;
    bool full;     /* the next object begins a segment */
    uint64_t live; /* allocations of the reader before all */
};

void graph_create(struct heap_graph *g, const struct fake_options *options);
/* Objects; segments are begun as they are filled. */
uint64_t graph_object(struct heap_graph *g, uint64_t type, uint32_t count);
uint64_t graph_node(struct heap_graph *g);
uint64_t graph_leaf(struct heap_graph *g);
uint64_t graph_array(struct heap_graph *g, uint32_t count); /* Object[] */
/* Address of a slot, and a reference in it. */
uint64_t graph_slot(const struct heap_graph *g, uint64_t node, unsigned slot);
uint64_t graph_element(const struct heap_graph *g, uint64_t array, uint32_t element);
void graph_link(struct heap_graph *g, uint64_t node, unsigned slot, uint64_t to);
void graph_set_element(struct heap_graph *g, uint64_t array, uint32_t element, uint64_t to);
/* A strong handle; its slot. */
uint64_t graph_root(struct heap_graph *g, uint64_t object);
/* Gives Zoo.Holder storage: an Object[] of COUNT, held by a strong handle; field First lies in its
 * slot 1, Second in slot 2. Releases 9 and later. */
void graph_statics(struct heap_graph *g, uint32_t count);
/* The same for PerThread on THREAD: an Object[] of two in the thread's array of arrays; the field
 * is slot 1. Releases 10 and later. Returns the thread's Object[]. */
uint64_t graph_thread_statics(struct heap_graph *g, uint64_t thread);

/* Writes the core, opens it, builds PARTS with THREADS workers; failure ends the test. */
void graph_open(struct heap_graph *g, unsigned parts, unsigned threads);
void graph_need(struct heap_graph *g, unsigned parts);
uint32_t graph_number(const struct heap_graph *g, uint64_t address);
/* Closes the dump, checks that nothing is left of it; the fake stays. */
void graph_shut(struct heap_graph *g);
void graph_close(struct heap_graph *g);

/* The problem of AREA whose message has PART, or NULL. */
const struct clr_problem *graph_problem(const struct heap_graph *g, const char *area,
                                        const char *part);
/* A number that does not depend on the order of (source, target, slot) of all edges: in the order
 * of sources, and by asking each target. COUNT gets the number of edges. */
uint64_t graph_forward_sum(const struct clr_dump *dump, uint64_t *count);
uint64_t graph_reverse_sum(const struct clr_dump *dump, uint64_t *count);
/* A fixed sequence of numbers that looks random. */
uint32_t graph_random(uint64_t *state);

#endif
