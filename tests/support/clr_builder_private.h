/*
 * What the files of the fake process share:
 *
 *   clr_builder.c          memory, the descriptor, writing and opening
 *   clr_builder_layout.c   the offsets: which names there are, in which release
 *   clr_builder_types.c    modules and types
 *   clr_builder_heap.c     segments, objects, handles, threads
 */
#ifndef TEST_CLR_BUILDER_PRIVATE_H
#define TEST_CLR_BUILDER_PRIVATE_H

#include "clr_builder.h"
#include "core_builder.h"

enum {
    FAKE_NAMES_MAX = 512, /* fields, sizes */
    FAKE_GLOBALS_MAX = 128,
    FAKE_CONTRACTS_MAX = 16,
    FAKE_HEAPS_MAX = 8,
    FAKE_SEGMENTS_MAX = 64,
    FAKE_FILL_POINTERS = 7,
    FAKE_HANDLE_TYPES = 13, /* the last holds user data */
    FAKE_HANDLE_BLOCKS = 16,
    FAKE_HANDLES_PER_BLOCK = 8,
    FAKE_HANDLE_SEGMENT = 0x800, /* bytes, and their alignment */
    FAKE_HANDLE_BUCKETS = 2,
    FAKE_INLINE = 255, /* width of what is a structure or an array */
};

struct fake_name { /* of the descriptor: a field, or a type's size ("!") */
    const char *type, *field;
    uint64_t value;
    uint8_t width; /* 0: a word */
    bool hidden;
};

enum fake_global_kind { FAKE_LITERAL, FAKE_TEXT, FAKE_VARIABLE };
struct fake_global {
    const char *name;
    enum fake_global_kind kind;
    uint64_t value; /* literal, or the variable's address */
    char *text;
    bool hidden;
};

struct fake_block { /* saved memory */
    uint64_t start, size, room;
    uint8_t *data;
};

struct fake_hole {
    uint64_t start, end;
};

struct fake_heap_segment {
    uint64_t address; /* of the HeapSegment */
    uint64_t start, end, limit;
    size_t block;
    unsigned heap, generation;
};

struct fake_heap {
    uint64_t address;     /* of the GCHeap; 0 for a workstation */
    uint64_t generations; /* of its table of them */
    uint64_t queue;       /* CFinalize */
    uint64_t handles;     /* HandleTable */
    uint64_t handle_segment;
    uint8_t blocks_used;
    uint64_t *finalizable[FAKE_FILL_POINTERS];
    size_t finalizable_count[FAKE_FILL_POINTERS];
    uint64_t queue_array;
};

struct fake_private {
    struct fake_options options;
    struct fake_name names[FAKE_NAMES_MAX];
    size_t name_count;
    struct fake_global globals[FAKE_GLOBALS_MAX];
    size_t global_count;
    struct {
        const char *name, *version;
    } contracts[FAKE_CONTRACTS_MAX];
    size_t contract_count;

    struct fake_block *blocks; /* 0: native memory, which grows */
    size_t block_count;
    struct fake_hole *holes;
    size_t hole_count;

    struct fake_heap_segment segments[FAKE_SEGMENTS_MAX];
    unsigned segment_count;
    struct fake_heap heaps[FAKE_HEAPS_MAX];
    unsigned heap_count;
    uint64_t last_thread;
    uint32_t thread_count;
    uint32_t sync_count;
    uint64_t list_block; /* of the assembly list, the last one */
    uint32_t list_count;
    unsigned image_count;
    uint32_t os_threads[64];
    uint64_t os_registers[64][27];
    size_t os_thread_count;
    struct metadata_builder *core_metadata; /* of CoreLib */
    int file;                               /* the core that was written; -1: none */
    char path[CORE_PATH];                   /* opens it */
};

void fake_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *fake_grow(void *block, size_t count, size_t size);

/* A new block of SIZE zeroed bytes at START; its number. */
size_t fake_block(struct fake *fake, uint64_t start, uint64_t size);
/* Where images and the heap lie. */
uint64_t fake_image_base(const struct fake *fake);
uint64_t fake_heap_base(const struct fake *fake);
uint64_t fake_handle_base(const struct fake *fake);

/* clr_builder_layout.c: fills names, literals and contracts for the release. */
void fake_lay_out(struct fake *fake);
struct fake_name *fake_find_name(const struct fake *fake, const char *type, const char *field);
void fake_add_global(struct fake *fake, const char *name, enum fake_global_kind kind,
                     uint64_t value);
/* A variable of SIZE bytes. */
uint64_t fake_add_variable(struct fake *fake, const char *name, uint64_t size);

/* What fake_create calls, in this order. */
void fake_create_heaps(struct fake *fake);  /* clr_builder_heap.c: GC, handles, threads */
void fake_create_domain(struct fake *fake); /* clr_builder_types.c: domain, CoreLib, known types */

#endif
