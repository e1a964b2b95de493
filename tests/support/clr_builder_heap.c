/*
 * The fake process's heap: generations, segments, objects, handles, finalizer queue, threads.
 */
#include "clr_builder_private.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEGMENT_ROOM = 0x10000,    /* bytes that a segment can hold */
    SEGMENT_STRIDE = 0x400000, /* of address space */
    FIRST_OBJECT = 5,          /* words in front of the first object */
    FLAG_READ_ONLY = 1,
    FLAG_LOH = 8,
    FLAG_POH = 0x200,
    SYNC_ENTRIES = 16,
    HEADER_INDEX = 0x08000000,
    EMPTY_BLOCK = 0xff,
    USER_DATA = FAKE_HANDLE_TYPES - 1,
};

static uint64_t generation(const struct fake *fake, unsigned heap, unsigned number)
{
    return fake->own->heaps[heap].generations + number * fake_size(fake, "Generation");
}

/* A value that a workstation keeps in a variable and a server in its heap. */
static void set_heap(struct fake *fake, unsigned heap, const char *field, uint64_t value)
{
    char name[64] = "GCHeap";
    if (fake->own->heaps[heap].address) {
        fake_set(fake, fake->own->heaps[heap].address, "GCHeap", field, value);
        return;
    }
    strncat(name, field, sizeof name - strlen(name) - 1);
    fake_set_variable(fake, name, value);
}

/* --- What fake_create makes ------------------------------------------------------------------- */

static void create_workstation(struct fake *fake)
{
    static const char *const words[] = {"GCHeapMarkArray",
                                        "GCHeapNextSweepObj",
                                        "GCHeapBackgroundMinSavedAddr",
                                        "GCHeapBackgroundMaxSavedAddr",
                                        "GCHeapAllocAllocated",
                                        "GCHeapEphemeralHeapSegment",
                                        "GCHeapFinalizeQueue",
                                        "GCHeapSavedSweepEphemeralSeg",
                                        "GCHeapSavedSweepEphemeralStart"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        fake_add_variable(fake, words[i], fake->word);
    fake_add_variable(fake, "GCHeapOomData", fake_size(fake, "OomHistory"));
    fake->own->heap_count = 1;
    fake->own->heaps[0].generations = fake_add_variable(
        fake, "GCHeapGenerationTable", FAKE_GENERATIONS * fake_size(fake, "Generation"));
}

static void create_server(struct fake *fake)
{
    unsigned count = fake->own->options.server_heaps;
    if (count > FAKE_HEAPS_MAX)
        fake_die("too many heaps");
    fake_add_variable(fake, "NumHeaps", fake->word);
    fake_add_variable(fake, "Heaps", fake->word);
    fake_add_variable(fake, "TotalCpuCount", fake->word);
    fake_put_u32(fake, fake_variable(fake, "NumHeaps"), count);
    fake_put_u32(fake, fake_variable(fake, "TotalCpuCount"), count);
    uint64_t table = fake_memory(fake, (uint64_t)count * fake->word);
    fake_set_variable(fake, "Heaps", table);
    fake->own->heap_count = count;
    for (unsigned i = 0; i < count; i++) {
        uint64_t heap = fake_memory(fake, fake_size(fake, "GCHeap"));
        fake_put_word(fake, table + (uint64_t)i * fake->word, heap);
        fake->own->heaps[i].address = heap;
        fake->own->heaps[i].generations = heap + fake_offset(fake, "GCHeap", "GenerationTable");
    }
}

static void create_handle_tables(struct fake *fake)
{
    const uint64_t word = fake->word;
    uint64_t map = fake_add_variable(fake, "HandleTableMap", fake_size(fake, "HandleTableMap"));
    uint64_t buckets = fake_memory(fake, FAKE_HANDLE_BUCKETS * word);
    uint64_t bucket = fake_memory(fake, fake_size(fake, "HandleTableBucket"));
    uint64_t tables = fake_memory(fake, fake->own->heap_count * word);
    fake_set(fake, map, "HandleTableMap", "BucketsPtr", buckets);
    fake_put_word(fake, buckets, bucket);
    fake_set(fake, bucket, "HandleTableBucket", "Table", tables);
    for (unsigned i = 0; i < fake->own->heap_count; i++) {
        struct fake_heap *heap = &fake->own->heaps[i];
        heap->handles = fake_memory(fake, fake_size(fake, "HandleTable"));
        uint64_t segment = fake_handle_base(fake) + (uint64_t)i * FAKE_HANDLE_SEGMENT;
        if (fake_size(fake, "TableSegment") > FAKE_HANDLE_SEGMENT)
            fake_die("a segment of handles does not fit");
        fake_block(fake, segment, FAKE_HANDLE_SEGMENT);
        heap->handle_segment = segment;
        fake_put_word(fake, tables + i * word, heap->handles);
        fake_set(fake, heap->handles, "HandleTable", "SegmentList", segment);
        fake_put_word(fake, segment + fake_offset(fake, "TableSegment", "NextSegment") + word,
                      heap->handles);
        for (unsigned block = 0; block < FAKE_HANDLE_BLOCKS; block++) {
            fake_put_u8(fake, segment + fake_offset(fake, "TableSegment", "RgAllocation") + block,
                        EMPTY_BLOCK);
            fake_put_u8(fake, segment + fake_offset(fake, "TableSegment", "RgUserData") + block,
                        EMPTY_BLOCK);
        }
        for (unsigned kind = 0; kind < FAKE_HANDLE_TYPES; kind++)
            fake_put_u8(fake, segment + fake_offset(fake, "TableSegment", "RgTail") + kind,
                        EMPTY_BLOCK);
    }
}

static void create_threads(struct fake *fake)
{
    uint64_t store = fake_memory(fake, fake_size(fake, "ThreadStore"));
    fake_add_variable(fake, "ThreadStore", fake->word);
    fake_set_variable(fake, "ThreadStore", store);
    fake_add_variable(fake, "FinalizerThread", fake->word);
    fake_add_variable(fake, "GCThread", fake->word);
    fake_add_variable(fake, "GlobalAllocContext",
                      fake_size(fake, fake->release >= 10 ? "EEAllocContext" : "GCAllocContext"));
    fake_add_variable(fake, "SyncTableEntries", fake->word);
    fake_set_variable(fake, "SyncTableEntries",
                      fake_memory(fake, SYNC_ENTRIES * fake_size(fake, "SyncTableEntry")));
    if (fake->release >= 11) {
        fake_add_variable(fake, "SyncBlockCache", fake->word);
        fake_set_variable(fake, "SyncBlockCache",
                          fake_memory(fake, fake_size(fake, "SyncBlockCache")));
    }
}

void fake_create_heaps(struct fake *fake)
{
    const struct fake_options *options = &fake->own->options;
    static const char *const words[] = {"GCLowestAddress", "GCHighestAddress"};
    static const char *const numbers[] = {"MaxGeneration", "StructureInvalidCount",
                                          "CurrentGCState"};
    fake_add_variable(fake, "AppDomain", fake->word);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        fake_add_variable(fake, words[i], fake->word);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        fake_add_variable(fake, numbers[i], 4);
    fake_put_u32(fake, fake_variable(fake, "MaxGeneration"), 2);
    fake_put_u32(fake, fake_variable(fake, "CurrentGCState"), 2); /* no background GC */
    if (options->server_heaps)
        create_server(fake);
    else
        create_workstation(fake);
    fake_text(fake, "GCIdentifiers",
              options->server_heaps ? options->segments ? "server, segments, background,"
                                                        : "server, regions, background,"
              : options->segments   ? "workstation, segments, background,"
                                    : "workstation, regions, background,");
    for (unsigned i = 0; i < fake->own->heap_count; i++) {
        fake->own->heaps[i].queue = fake_memory(fake, fake_size(fake, "CFinalize"));
        set_heap(fake, i, "FinalizeQueue", fake->own->heaps[i].queue);
    }
    create_handle_tables(fake);
    create_threads(fake);
}

/* --- Segments --------------------------------------------------------------------------------- */

static struct fake_heap_segment *segment_of(const struct fake *fake, unsigned number)
{
    if (number >= fake->own->segment_count)
        fake_die("there is no segment %u", number);
    return &fake->own->segments[number];
}

uint64_t fake_segment_address(const struct fake *fake, unsigned segment)
{
    return segment_of(fake, segment)->address;
}

uint64_t fake_segment_start(const struct fake *fake, unsigned segment)
{
    return segment_of(fake, segment)->start;
}

uint64_t fake_segment_end(const struct fake *fake, unsigned segment)
{
    return segment_of(fake, segment)->end;
}

/* Appends to the list of a generation. */
static void link_segment(struct fake *fake, unsigned heap, unsigned number, uint64_t address)
{
    uint64_t at = generation(fake, heap, number) + fake_offset(fake, "Generation", "StartSegment");
    while (fake_word(fake, at) != 0)
        at = fake_word(fake, at) + fake_offset(fake, "HeapSegment", "Next");
    fake_put_word(fake, at, address);
}

static bool is_ephemeral(const struct fake *fake, const struct fake_heap_segment *segment)
{
    for (unsigned i = fake->own->segment_count; i-- > 0;) {
        const struct fake_heap_segment *other = &fake->own->segments[i];
        if (other->heap == segment->heap && other->generation == 0)
            return other == segment;
    }
    return false;
}

/* Tells the runtime where the segment's objects end. */
static void set_end(struct fake *fake, struct fake_heap_segment *segment, uint64_t end)
{
    if (end > segment->limit)
        fake_die("a segment is full");
    segment->end = end;
    fake_set(fake, segment->address, "HeapSegment", "Committed", (end + 4095) & ~(uint64_t)4095);
    if (is_ephemeral(fake, segment))
        set_heap(fake, segment->heap, "AllocAllocated", end);
    else
        fake_set(fake, segment->address, "HeapSegment", "Allocated", end);
}

unsigned fake_segment(struct fake *fake, unsigned heap, unsigned number)
{
    struct fake_private *own = fake->own;
    if (own->segment_count == FAKE_SEGMENTS_MAX || heap >= own->heap_count || number > FAKE_FROZEN)
        fake_die("no such segment");
    struct fake_heap_segment *s = &own->segments[own->segment_count];
    uint64_t base = fake_heap_base(fake) + (uint64_t)own->segment_count * SEGMENT_STRIDE;
    bool small = number <= 2 || number == FAKE_FROZEN;
    *s = (struct fake_heap_segment){.address = fake_memory(fake, fake_size(fake, "HeapSegment")),
                                    .start = base + FIRST_OBJECT * fake->word,
                                    .limit = base + SEGMENT_ROOM,
                                    .block = fake_block(fake, base, SEGMENT_ROOM),
                                    .heap = heap,
                                    .generation = number};
    own->segment_count++;
    fake_set(fake, s->address, "HeapSegment", "Mem", s->start);
    fake_set(fake, s->address, "HeapSegment", "Reserved", base + SEGMENT_STRIDE);
    fake_set(fake, s->address, "HeapSegment", "Allocated", s->start);
    fake_set(fake, s->address, "HeapSegment", "Flags",
             number == FAKE_FROZEN ? FLAG_READ_ONLY
             : number == FAKE_LOH  ? FLAG_LOH
             : number == FAKE_POH  ? FLAG_POH
                                   : 0);
    link_segment(fake, heap, number == FAKE_FROZEN || (own->options.segments && small) ? 2 : number,
                 s->address);
    if (number == 0) {
        /* The one that was ephemeral till now ends where it ends. */
        for (unsigned i = 0; i + 1 < own->segment_count; i++)
            if (own->segments[i].heap == heap && own->segments[i].generation == 0)
                fake_set(fake, own->segments[i].address, "HeapSegment", "Allocated",
                         own->segments[i].end);
        set_heap(fake, heap, "EphemeralHeapSegment", s->address);
        if (own->options.segments) {
            fake_generation_start(fake, heap, 1, s->start);
            fake_generation_start(fake, heap, 0, s->start);
        }
    }
    set_end(fake, s, s->start);
    return own->segment_count - 1;
}

void fake_generation_start(struct fake *fake, unsigned heap, unsigned number, uint64_t address)
{
    fake_set(fake, generation(fake, heap, number), "Generation", "AllocationStart", address);
}

/* Takes SIZE bytes at the end; their address. */
static uint64_t append(struct fake *fake, unsigned segment, uint64_t size)
{
    struct fake_heap_segment *s = segment_of(fake, segment);
    uint64_t alignment =
        fake->word == 8 || s->generation == FAKE_LOH || s->generation == FAKE_POH ? 8 : 4;
    uint64_t at = s->end;
    set_end(fake, s, at + (size + alignment - 1) / alignment * alignment);
    return at;
}

uint64_t fake_object(struct fake *fake, unsigned segment, uint64_t type, uint32_t count)
{
    uint32_t flags = (uint32_t)fake_get(fake, type, "MethodTable", "MTFlags");
    uint64_t size = fake_get(fake, type, "MethodTable", "BaseSize");
    if (flags & 0x80000000)
        size += (uint64_t)count * (flags & 0xffff);
    uint64_t at = append(fake, segment, size < 3u * fake->word ? 3u * fake->word : size);
    fake_put_word(fake, at, type);
    if (flags & 0x80000000)
        fake_put_u32(fake, at + fake->word, count);
    return at;
}

uint64_t fake_string(struct fake *fake, unsigned segment, const char *ascii)
{
    uint32_t length = (uint32_t)strlen(ascii);
    uint64_t at = fake_object(fake, segment, fake->known.string, length);
    for (uint32_t i = 0; i < length; i++)
        fake_put_u16(fake, at + fake->word + 4 + 2 * (uint64_t)i, (uint8_t)ascii[i]);
    return at;
}

uint64_t fake_free(struct fake *fake, unsigned segment, uint64_t size)
{
    uint64_t least = 3 * (uint64_t)fake->word;
    size = size < least ? least : (size + fake->word - 1) / fake->word * fake->word;
    return fake_object(fake, segment, fake->known.free, (uint32_t)(size - least));
}

uint64_t fake_hole(struct fake *fake, unsigned segment, uint64_t thread, uint64_t size)
{
    uint64_t least = 3 * (uint64_t)fake->word;
    size = size < least ? least : (size + fake->word - 1) / fake->word * fake->word;
    uint64_t at = append(fake, segment, size);
    /* The allocator keeps one smallest object behind the limit. */
    fake_context(fake, thread, at, at + size - least);
    return at;
}

uint64_t fake_rubbish(struct fake *fake, unsigned segment, uint64_t size, uint8_t fill)
{
    uint64_t at = append(fake, segment, size);
    for (uint64_t i = at; i < segment_of(fake, segment)->end; i++)
        fake_put_u8(fake, i, fill);
    return at;
}

void fake_header(struct fake *fake, uint64_t object, uint32_t value)
{
    fake_put_u32(fake, object - 4, value);
}

uint32_t fake_sync_block(struct fake *fake, uint64_t object, uint32_t hash)
{
    uint32_t index = ++fake->own->sync_count; /* entry 0 is not used */
    if (index >= SYNC_ENTRIES)
        fake_die("too many sync blocks");
    uint64_t entry = fake_word(fake, fake_variable(fake, "SyncTableEntries")) +
                     index * fake_size(fake, "SyncTableEntry");
    uint64_t block = fake_memory(fake, 64);
    if (fake_find_name(fake, "SyncBlock", "HashCode"))
        fake_set(fake, block, "SyncBlock", "HashCode", hash);
    fake_set(fake, entry, "SyncTableEntry", "SyncBlock", block);
    fake_set(fake, entry, "SyncTableEntry", "Object", object);
    if (fake->release >= 11)
        fake_set(fake, fake_word(fake, fake_variable(fake, "SyncBlockCache")), "SyncBlockCache",
                 "FreeSyncTableIndex", index + 1);
    fake_header(fake, object, HEADER_INDEX | index);
    return index;
}

/* --- Handles ---------------------------------------------------------------------------------- */

static uint8_t byte_at(const struct fake *fake, uint64_t address)
{
    return (uint8_t)(fake->big_endian ? fake_u32(fake, address) >> 24 : fake_u32(fake, address));
}

static uint64_t handle_slot(const struct fake *fake, uint64_t segment, unsigned block, unsigned k)
{
    return segment + fake_offset(fake, "TableSegment", "RgValue") +
           ((uint64_t)block * FAKE_HANDLES_PER_BLOCK + k) * fake->word;
}

/* A free block, which becomes the tail of KIND's ring. */
static uint8_t new_block(struct fake *fake, struct fake_heap *heap, unsigned kind)
{
    uint64_t tail = heap->handle_segment + fake_offset(fake, "TableSegment", "RgTail") + kind;
    uint64_t ring = heap->handle_segment + fake_offset(fake, "TableSegment", "RgAllocation");
    uint8_t block = heap->blocks_used++, last = byte_at(fake, tail);
    if (block >= FAKE_HANDLE_BLOCKS)
        fake_die("too many handles");
    if (last == EMPTY_BLOCK) {
        fake_put_u8(fake, ring + block, block);
    } else {
        fake_put_u8(fake, ring + block, byte_at(fake, ring + last));
        fake_put_u8(fake, ring + last, block);
    }
    fake_put_u8(fake, tail, block);
    if (kind == 6) { /* dependent: the secondaries lie in a block of their own */
        uint8_t user = new_block(fake, heap, USER_DATA);
        fake_put_u8(fake,
                    heap->handle_segment + fake_offset(fake, "TableSegment", "RgUserData") + block,
                    user);
    }
    return block;
}

uint64_t fake_handle(struct fake *fake, unsigned heap_number, unsigned kind, uint64_t object,
                     uint64_t secondary)
{
    struct fake_heap *heap = &fake->own->heaps[heap_number];
    uint64_t segment = heap->handle_segment;
    uint8_t block = byte_at(fake, segment + fake_offset(fake, "TableSegment", "RgTail") + kind);
    unsigned k = 0;
    if (block == EMPTY_BLOCK)
        block = new_block(fake, heap, kind);
    while (k < FAKE_HANDLES_PER_BLOCK && fake_word(fake, handle_slot(fake, segment, block, k)) != 0)
        k++;
    if (k == FAKE_HANDLES_PER_BLOCK) {
        block = new_block(fake, heap, kind);
        k = 0;
    }
    uint64_t slot = handle_slot(fake, segment, block, k);
    fake_put_word(fake, slot, object);
    if (secondary) {
        uint8_t user =
            byte_at(fake, segment + fake_offset(fake, "TableSegment", "RgUserData") + block);
        if (user == EMPTY_BLOCK)
            fake_die("a handle of kind %u has no secondary", kind);
        fake_put_word(fake, handle_slot(fake, segment, user, k), secondary);
    }
    return slot;
}

void fake_finalizable(struct fake *fake, unsigned heap_number, unsigned list, uint64_t object)
{
    /* The queue's order: POH, LOH, generations 2, 1, 0, then critical and ordinary ready ones. */
    unsigned part = list < FAKE_GENERATIONS ? FAKE_GENERATIONS - 1 - list : list;
    struct fake_heap *heap = &fake->own->heaps[heap_number];
    if (part >= FAKE_FILL_POINTERS)
        fake_die("the finalizer queue has no list %u", list);
    heap->finalizable[part] = fake_grow(heap->finalizable[part], heap->finalizable_count[part] + 1,
                                        sizeof *heap->finalizable[part]);
    heap->finalizable[part][heap->finalizable_count[part]++] = object;
    size_t total = 0;
    for (unsigned i = 0; i < FAKE_FILL_POINTERS; i++)
        total += heap->finalizable_count[i];
    uint64_t array = fake_memory(fake, total * fake->word), at = array;
    uint64_t fill = heap->queue + fake_offset(fake, "CFinalize", "FillPointers");
    for (unsigned i = 0; i < FAKE_FILL_POINTERS; i++) {
        for (size_t j = 0; j < heap->finalizable_count[i]; j++, at += fake->word)
            fake_put_word(fake, at, heap->finalizable[i][j]);
        fake_put_word(fake, fill + (uint64_t)i * fake->word, at);
    }
    fake_put_word(fake, fill + (uint64_t)FAKE_FILL_POINTERS * fake->word, array);
}

/* --- Threads ---------------------------------------------------------------------------------- */

uint64_t fake_thread(struct fake *fake, uint32_t managed_id, uint32_t os_id)
{
    struct fake_private *own = fake->own;
    uint64_t store = fake_word(fake, fake_variable(fake, "ThreadStore"));
    uint64_t thread = fake_memory(fake, fake_size(fake, "Thread"));
    uint64_t link = thread;
    fake_set(fake, thread, "Thread", "Id", managed_id);
    fake_set(fake, thread, "Thread", "OSId", os_id);
    fake_set(fake, thread, "Thread", "State", 0x20000); /* fully initialised */
    if (fake->release < 11)
        link += fake_offset(fake, "Thread", "LinkNext");
    if (fake->release >= 9)
        fake_set(fake, thread, "Thread", "RuntimeThreadLocals",
                 fake_memory(fake, fake_size(fake, "RuntimeThreadLocals")));
    if (own->last_thread)
        fake_set(fake, own->last_thread, "Thread", "LinkNext", link);
    else
        fake_set(fake, store, "ThreadStore", "FirstThreadLink", link);
    own->last_thread = thread;
    fake_set(fake, store, "ThreadStore", "ThreadCount", ++own->thread_count);
    if (os_id && own->os_thread_count < sizeof own->os_threads / sizeof own->os_threads[0])
        own->os_threads[own->os_thread_count++] = os_id;
    return thread;
}

void fake_register(struct fake *fake, uint32_t os_id, unsigned index, uint64_t value)
{
    struct fake_private *own = fake->own;
    for (size_t i = 0; i < own->os_thread_count; i++)
        if (own->os_threads[i] == os_id)
            own->os_registers[i][index] = value;
}

void fake_context(struct fake *fake, uint64_t thread, uint64_t pointer, uint64_t limit)
{
    uint64_t context;
    if (thread == 0)
        context = fake_variable(fake, "GlobalAllocContext");
    else if (fake->release == 8)
        context = thread + fake_offset(fake, "Thread", "AllocContext");
    else
        context = fake_get(fake, thread, "Thread", "RuntimeThreadLocals") +
                  fake_offset(fake, "RuntimeThreadLocals", "AllocContext");
    if (fake->release >= 10)
        context += fake_offset(fake, "EEAllocContext", "GCAllocationContext");
    fake_set(fake, context, "GCAllocContext", "Pointer", pointer);
    fake_set(fake, context, "GCAllocContext", "Limit", limit);
}

void fake_exception(struct fake *fake, uint64_t thread, uint64_t object)
{
    uint64_t info = fake_memory(fake, fake_size(fake, "ExceptionInfo"));
    fake_set(fake, info, "ExceptionInfo", "PreviousNestedInfo",
             fake_get(fake, thread, "Thread", "ExceptionTracker"));
    fake_set(fake, info, "ExceptionInfo", "ThrownObject",
             fake->release >= 11 ? object : fake_slot(fake, object));
    fake_set(fake, thread, "Thread", "ExceptionTracker", info);
    fake_set(fake, thread, "Thread", "LastThrownObject", fake_slot(fake, object));
}
