/*
 * The object index: address <-> number. Objects and free blocks are numbered in address order.
 *
 *     ranges    one for each stretch of saved memory of a segment: [start, end), first entry
 *     entries   12 bytes for each 64 units (a unit is a word: 8 bytes, or 4) of a range:
 *               64 bits, set where an object starts, and how many start before (the rank)
 *     pages     for each 4 MiB of the whole span, the first range that ends behind its start
 *     samples   for each 64th object, its entry
 *
 * Bits and rank lie in one cache line, so that a random look-up costs one miss. A rank in a line of
 * its own and bits in another cost two; a sorted array of addresses costs eight bytes an object
 * instead of one and a half, and several misses. Memory: 1.5 bytes per 64 bytes of saved heap;
 * never more, whatever headers claim.
 *
 * address -> number: page, range, entry: rank + bits below.
 * number -> address: sample, binary search for the last entry whose rank is not above the number,
 * then the n-th set bit of it.
 */
#include "heap/internal.h"

#include "base/alloc.h"
#include "base/search.h"

static unsigned count_bits(uint32_t v)
{
    /* By hand: the compiler's builtin is a call where the machine is not known to have popcnt. */
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

static uint64_t bits_of(const struct clr_index_entry *entry)
{
    return entry->half[0] | (uint64_t)entry->half[1] << 32;
}

/* --- Ranges ----------------------------------------------------------------------------------- */

static size_t first_run_behind(const struct clr_run *runs, size_t count, uint64_t address)
{
    size_t i;
    CLR_SEARCH(i, 0, count, runs[i].end <= address);
    return i;
}

/* Adds what is saved of segment NUMBER; stretches that touch (or share a unit) are one range. */
static bool add_segment(struct clr_heap *heap, uint32_t number, const struct clr_run *runs,
                        size_t run_count, uint64_t *entries)
{
    const struct clr_segment *segment = &heap->gc->segments[number];
    const uint64_t unit = (uint64_t)1 << heap->unit_shift;
    size_t own = heap->range_count;
    for (size_t i = first_run_behind(runs, run_count, segment->start);
         i < run_count && runs[i].start < segment->end; i++) {
        uint64_t start = runs[i].start > segment->start ? runs[i].start : segment->start;
        uint64_t end = runs[i].end < segment->end ? runs[i].end : segment->end;
        struct clr_index_range *last;
        start &= ~(unit - 1);
        end = clr_round_up(end, unit);
        last = heap->range_count > own ? &heap->ranges[heap->range_count - 1] : NULL;
        if (last && start <= last->end) {
            last->end = end;
            continue;
        }
        if (!clr_grow(&heap->ranges, heap->range_count, &heap->range_room, sizeof *heap->ranges))
            return false;
        heap->ranges[heap->range_count++] =
            (struct clr_index_range){.start = start, .end = end, .segment = number};
    }
    for (size_t i = own; i < heap->range_count; i++) {
        struct clr_index_range *range = &heap->ranges[i];
        uint64_t bytes = (uint64_t)CLR_ENTRY_UNITS << heap->unit_shift;
        range->first = (uint32_t)*entries;
        *entries += (range->end - range->start + bytes - 1) / bytes;
    }
    return true;
}

/* The table of pages, unless the ranges lie too far apart for it. */
static bool make_pages(struct clr_heap *heap)
{
    uint64_t base = heap->range_count ? heap->ranges[0].start >> CLR_PAGE_SHIFT : 0, pages;
    if (heap->range_count == 0)
        return true;
    pages = ((heap->ranges[heap->range_count - 1].end - 1) >> CLR_PAGE_SHIFT) - base + 1;
    if (pages > CLR_PAGES_MAX)
        return true;
    if (!(heap->pages = clr_alloc((size_t)pages + 1, sizeof *heap->pages)))
        return false;
    heap->page_count = (size_t)pages;
    for (size_t page = 0, range = 0; page <= pages; page++) {
        while (range < heap->range_count && heap->ranges[range].end <= (base + page)
                                                                           << CLR_PAGE_SHIFT)
            range++;
        heap->pages[page] = (uint32_t)range;
    }
    return true;
}

enum clr_status clr_index_create(struct clr_heap *heap, struct clr_error *error)
{
    const struct clr_run *runs;
    size_t run_count = clr_process_runs(heap->process, &runs);
    uint64_t entries = 0;
    for (size_t i = 0; i < heap->gc->segment_count; i++)
        if (!add_segment(heap, (uint32_t)i, runs, run_count, &entries))
            return clr_no_memory(error);
    if (entries > UINT32_MAX || heap->range_count > UINT32_MAX)
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "a heap of %llu units of 512 bytes: this version indexes 2^32 at most",
                        (unsigned long long)entries);
    if (!make_pages(heap))
        return clr_no_memory(error);
    heap->entries = clr_alloc_large((size_t)entries + 1, sizeof *heap->entries);
    if (!heap->entries)
        return clr_no_memory(error);
    heap->entry_count = (size_t)entries;
    return CLR_OK;
}

size_t clr_index_range_from(const struct clr_heap *heap, uint64_t address)
{
    size_t low = 0, high = heap->range_count;
    if (heap->pages) {
        uint64_t page = address >> CLR_PAGE_SHIFT, base = heap->ranges[0].start >> CLR_PAGE_SHIFT;
        if (page < base)
            return 0;
        page -= base;
        if (page >= heap->page_count)
            return heap->range_count;
        low = heap->pages[page];
        high = heap->pages[page + 1];
    }
    size_t i;
    CLR_SEARCH(i, low, high, heap->ranges[i].end <= address);
    return i;
}

void clr_index_destroy(struct clr_heap *heap)
{
    clr_free(heap->ranges);
    clr_free(heap->pages);
    clr_free(heap->samples);
    clr_free_large(heap->entries, heap->entry_count + 1, sizeof *heap->entries);
}

/* --- Ranks ------------------------------------------------------------------------------------ */

static enum clr_status count_entries(struct clr_heap *heap, struct clr_job *job,
                                     struct clr_error *error)
{
    const size_t step = (size_t)1 << 20; /* entries between two looks at the clock */
    uint64_t count = 0;
    for (size_t from = 0; from < heap->entry_count; from += step) {
        size_t end = heap->entry_count - from < step ? heap->entry_count : from + step;
        CLR_TRY(clr_job_poll(job, "indexing the heap", from, heap->entry_count, error));
        for (size_t i = from; i < end; i++) {
            heap->entries[i].rank = (uint32_t)count;
            count += clr_count_bits(bits_of(&heap->entries[i]));
        }
        if (count > UINT32_MAX)
            return clr_fail(error, CLR_UNSUPPORTED, 0,
                            "the heap has more than %u objects: this version numbers them with 32 "
                            "bits and cannot index it",
                            UINT32_MAX);
    }
    heap->count = (uint32_t)count;
    heap->entries[heap->entry_count].rank = heap->count;
    return CLR_OK;
}

enum clr_status clr_index_finish(struct clr_heap *heap, struct clr_job *job,
                                 struct clr_error *error)
{
    CLR_TRY(count_entries(heap, job, error));
    heap->sample_count = ((size_t)heap->count >> CLR_SAMPLE_SHIFT) + 2;
    heap->samples = clr_alloc(heap->sample_count, sizeof *heap->samples);
    if (!heap->samples)
        return clr_no_memory(error);
    size_t sample = 0;
    for (size_t i = 0; i < heap->entry_count; i++)
        while ((uint64_t)sample << CLR_SAMPLE_SHIFT < heap->entries[i + 1].rank)
            heap->samples[sample++] = (uint32_t)i;
    while (sample < heap->sample_count)
        heap->samples[sample++] = (uint32_t)heap->entry_count;
    return CLR_OK;
}

/* --- Look-up ---------------------------------------------------------------------------------- */

bool clr_number(const struct clr_heap *heap, uint64_t address, uint32_t *number)
{
    size_t index = clr_index_range_from(heap, address);
    if (index == heap->range_count)
        return false;
    const struct clr_index_range *range = &heap->ranges[index];
    if (address < range->start || address & (((uint64_t)1 << heap->unit_shift) - 1))
        return false;
    uint64_t unit = clr_index_unit(heap, range, address);
    const struct clr_index_entry *entry =
        &heap->entries[range->first + (size_t)(unit / CLR_ENTRY_UNITS)];
    uint64_t bits = bits_of(entry), bit = (uint64_t)1 << unit % CLR_ENTRY_UNITS;
    *number = entry->rank + clr_count_bits(bits & (bit - 1));
    return (bits & bit) != 0;
}

uint32_t clr_number_from(const struct clr_heap *heap, uint64_t address)
{
    const uint64_t unit_size = (uint64_t)1 << heap->unit_shift;
    if (address > UINT64_MAX - unit_size)
        return heap->count;
    address = clr_round_up(address, unit_size);
    size_t index = clr_index_range_from(heap, address);
    if (index == heap->range_count)
        return heap->count;
    const struct clr_index_range *range = &heap->ranges[index];
    if (address <= range->start)
        return heap->entries[range->first].rank;
    uint64_t unit = clr_index_unit(heap, range, address);
    const struct clr_index_entry *entry =
        &heap->entries[range->first + (size_t)(unit / CLR_ENTRY_UNITS)];
    uint64_t bit = (uint64_t)1 << unit % CLR_ENTRY_UNITS;
    return entry->rank + clr_count_bits(bits_of(entry) & (bit - 1));
}

/* The entry that holds object NUMBER (< count): the last whose rank is not above it. No branch
 * depends on what is found: a wrong guess would cost more than the look. */
static size_t entry_of(const struct clr_heap *heap, uint32_t number)
{
    const uint32_t *sample = &heap->samples[number >> CLR_SAMPLE_SHIFT];
    size_t low = sample[0], count = sample[1] - low + 1;
    while (count > 1) {
        size_t half = count / 2;
        low += heap->entries[low + half].rank <= number ? half : 0;
        count -= half;
    }
    return low;
}

/* The range of an entry. */
static size_t range_of(const struct clr_heap *heap, size_t entry)
{
    size_t low = 0, count = heap->range_count;
    while (count > 1) {
        size_t half = count / 2;
        low += heap->ranges[low + half].first <= entry ? half : 0;
        count -= half;
    }
    return low;
}

/* Takes the lowest COUNT set bits off. */
static uint64_t without_lowest(uint64_t bits, unsigned count)
{
    unsigned low = count_bits((uint32_t)bits);
    if (count >= low) {
        bits &= ~(uint64_t)UINT32_MAX;
        count -= low;
    }
    while (count-- > 0)
        bits &= bits - 1;
    return bits;
}

static uint64_t address_of(const struct clr_heap *heap, const struct clr_index_range *range,
                           uint64_t entry, unsigned bit)
{
    uint64_t unit = (entry - range->first) * CLR_ENTRY_UNITS + bit;
    return range->start + (unit << heap->unit_shift);
}

uint64_t clr_address(const struct clr_heap *heap, uint32_t number)
{
    if (number >= heap->count)
        return 0;
    size_t entry = entry_of(heap, number);
    uint64_t bits =
        without_lowest(bits_of(&heap->entries[entry]), number - heap->entries[entry].rank);
    return address_of(heap, &heap->ranges[range_of(heap, entry)], entry,
                      (unsigned)__builtin_ctzll(bits));
}

/* --- Reading objects -------------------------------------------------------------------------- */

/* Bytes that are looked at in one go; more would only be copied when the core is not mapped. */
enum { VIEW_BYTES = 1 << 20 };

/* Makes the view hold the header at ADDRESS; false if that is not saved in one stretch. */
static bool look(struct clr_object_scan *scan, uint64_t address)
{
    const struct clr_heap *heap = scan->heap;
    const uint64_t need = heap->count_offset + sizeof(uint32_t);
    uint64_t got, start = address, low = heap->ranges[scan->range].start;
    if (scan->backward) /* the objects that come lie before this one */
        start = address - low > VIEW_BYTES / 2 ? address - VIEW_BYTES / 2 : low;
    for (;;) {
        const uint8_t *bytes = clr_view(heap->process, start, VIEW_BYTES, &got);
        scan->view = bytes;
        scan->view_start = start;
        scan->view_limit = bytes && got >= need ? got - need + 1 : 0;
        if (address - start < scan->view_limit)
            return true;
        if (start == address)
            return false;
        start = address;
    }
}

/* Turns to the entry scan->entry. */
static void enter(struct clr_object_scan *scan)
{
    const struct clr_heap *heap = scan->heap;
    const struct clr_index_range *range = &heap->ranges[scan->range];
    scan->base =
        range->start + ((scan->entry - range->first) * CLR_ENTRY_UNITS << heap->unit_shift);
    scan->segment = range->segment;
}

/* The next (or previous) entry with bits. There is one as long as numbers are left. */
static __attribute__((noinline)) void move_entry(struct clr_object_scan *scan)
{
    const struct clr_heap *heap = scan->heap;
    uint64_t entry = scan->entry, bits = 0;
    while (bits == 0) {
        entry += scan->backward ? UINT64_MAX : 1;
        bits = bits_of(&heap->entries[entry]);
    }
    scan->entry = entry;
    scan->bits = bits;
    if (scan->backward)
        while (heap->ranges[scan->range].first > entry)
            scan->range--;
    else
        while (scan->range + 1 < heap->range_count && heap->ranges[scan->range + 1].first <= entry)
            scan->range++;
    enter(scan);
}

static __attribute__((noinline)) void change_type(struct clr_object_scan *scan, uint64_t type)
{
    const struct clr_sizing *sizing = clr_sizing_of(scan->heap, type);
    scan->type = type;
    scan->type_base = sizing->base;
    scan->type_component = sizing->component;
    scan->shape = sizing->shape;
}

/* Type and number of components without a view: the header is saved in two stretches. */
static __attribute__((noinline)) void read_apart(const struct clr_heap *heap, uint64_t address,
                                                 uint64_t *type, uint32_t *components)
{
    if (!clr_read_word(heap->process, address, type))
        *type = 0;
    if (!clr_read_u32(heap->process, address + heap->count_offset, components))
        *components = 0;
}

void clr_object_scan_start(struct clr_object_scan *scan, const struct clr_heap *heap,
                           uint32_t first, uint32_t end, bool backward)
{
    *scan = (struct clr_object_scan){.heap = heap, .backward = backward};
    if (end > heap->count)
        end = heap->count;
    if (first >= end)
        return; /* next == end: empty */
    scan->next = backward ? end : first;
    scan->end = backward ? first : end;
    uint32_t number = backward ? end - 1 : first;
    scan->entry = entry_of(heap, number);
    scan->range = range_of(heap, (size_t)scan->entry);
    enter(scan);
    uint64_t bits = bits_of(&heap->entries[scan->entry]);
    unsigned before = number - heap->entries[scan->entry].rank;
    uint64_t from = without_lowest(bits, before); /* from NUMBER on */
    scan->bits = backward ? bits & ~(from & (from - 1)) : from;
}

bool clr_object_scan_next(struct clr_object_scan *scan, struct clr_object *object)
{
    const struct clr_heap *heap = scan->heap;
    uint64_t address, type;
    uint32_t components = 0;
    if (scan->next == scan->end)
        return false;
    if (scan->bits == 0)
        move_entry(scan);
    if (scan->backward) {
        unsigned bit = 63u - (unsigned)__builtin_clzll(scan->bits);
        scan->bits &= ~((uint64_t)1 << bit);
        address = scan->base + ((uint64_t)bit << heap->unit_shift);
        object->number = (uint32_t)--scan->next;
    } else {
        address =
            scan->base + ((uint64_t)(unsigned)__builtin_ctzll(scan->bits) << heap->unit_shift);
        scan->bits &= scan->bits - 1;
        object->number = (uint32_t)scan->next++;
    }
    if (address - scan->view_start < scan->view_limit || look(scan, address)) {
        const uint8_t *bytes = scan->view + (address - scan->view_start);
        type = heap->native ? clr_load_word(bytes, 8, false)
                            : clr_load_word(bytes, heap->word, heap->swapped);
        components = clr_load_u32(bytes + heap->count_offset, heap->swapped);
    } else {
        read_apart(heap, address, &type, &components);
    }
    type &= ~heap->unmask;
    if (type != scan->type)
        change_type(scan, type);
    object->address = address;
    object->type = type;
    object->shape = scan->shape;
    object->segment = scan->segment;
    object->size = clr_round_up(
        scan->type_base + components * scan->type_component,
        heap->word == 8 ? 8 : clr_segment_alignment(heap, &heap->gc->segments[scan->segment]));
    return true;
}

bool clr_object_read(const struct clr_heap *heap, uint32_t number, struct clr_object *object)
{
    struct clr_object_scan scan;
    if (number >= heap->count)
        return false;
    clr_object_scan_start(&scan, heap, number, number + 1, false);
    return clr_object_scan_next(&scan, object);
}

bool clr_object_containing(const struct clr_heap *heap, uint64_t address, uint32_t *number)
{
    struct clr_object object;
    uint32_t behind = address == UINT64_MAX ? heap->count : clr_number_from(heap, address + 1);
    if (behind == 0 || !clr_object_read(heap, behind - 1, &object) ||
        address - object.address >= object.size)
        return false;
    *number = behind - 1;
    return true;
}

/* --- Postings --------------------------------------------------------------------------------- */

static enum clr_status scatter(const struct clr_heap *heap, uint32_t *numbers,
                               const uint64_t *starts, uint64_t *next, struct clr_job *job,
                               struct clr_error *error)
{
    const uint32_t step = 1 << 16;
    struct clr_object_scan scan;
    struct clr_object object;
    clr_object_scan_start(&scan, heap, 0, heap->count, false);
    while (clr_object_scan_next(&scan, &object)) {
        if (object.number % step == 0)
            CLR_TRY(
                clr_job_poll(job, "sorting objects by type", object.number, heap->count, error));
        if (next[object.shape] == starts[object.shape + 1])
            return clr_fail(error, CLR_IO, object.address,
                            "the core was changed while it was read: the object at 0x%llx has "
                            "another type than before",
                            (unsigned long long)object.address);
        numbers[next[object.shape]++] = object.number;
    }
    return CLR_OK;
}

/* A counting sort: the walk has counted the objects of each type already. */
enum clr_status clr_heap_postings_build(struct clr_heap *heap, struct clr_job *job,
                                        struct clr_error *error)
{
    if (heap->postings)
        return CLR_OK;
    size_t shapes = heap->shape_count;
    uint64_t *starts = clr_alloc(shapes + 1, sizeof *starts);
    uint64_t *next = clr_alloc(shapes + 1, sizeof *next);
    uint32_t *numbers = clr_alloc_large(heap->count, sizeof *numbers);
    enum clr_status status = starts && next && numbers ? CLR_OK : clr_no_memory(error);
    if (status == CLR_OK) {
        for (size_t i = 0; i < shapes; i++)
            starts[i + 1] = starts[i] + heap->shapes[i].object_count;
        memcpy(next, starts, shapes * sizeof *next);
        status = scatter(heap, numbers, starts, next, job, error);
    }
    clr_free(next);
    if (status != CLR_OK) {
        clr_free(starts);
        clr_free_large(numbers, heap->count, sizeof *numbers);
        return status;
    }
    heap->postings = numbers;
    heap->posting_starts = starts;
    return CLR_OK;
}

size_t clr_heap_postings(const struct clr_heap *heap, uint32_t shape, const uint32_t **numbers)
{
    *numbers = NULL;
    if (!heap->postings || shape >= heap->shape_count)
        return 0;
    *numbers = heap->postings + heap->posting_starts[shape];
    return (size_t)(heap->posting_starts[shape + 1] - heap->posting_starts[shape]);
}

/* --- Pieces for workers ------------------------------------------------------------------------
 */

enum clr_status clr_heap_pieces(const struct clr_heap *heap, uint32_t **firsts, size_t *pieces,
                                struct clr_error *error)
{
    enum { PIECE_BYTES = 1 << 18, MOST_PIECES = 2048 };
    size_t step = PIECE_BYTES / ((size_t)CLR_ENTRY_UNITS << heap->unit_shift);
    if (heap->entry_count / step >= MOST_PIECES)
        step = heap->entry_count / MOST_PIECES + 1;
    size_t most = heap->entry_count / step + 2, count = 0;
    uint32_t *list = clr_alloc(most + 1, sizeof *list);
    if (!list)
        return clr_no_memory(error);
    for (size_t entry = 0; entry < heap->entry_count; entry += step)
        if (count == 0 || heap->entries[entry].rank > list[count - 1])
            list[count++] = heap->entries[entry].rank;
    if (count && list[count - 1] == heap->count)
        count--;
    list[count] = heap->count;
    *firsts = list;
    *pieces = count;
    return CLR_OK;
}
