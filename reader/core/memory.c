/*
 * The saved memory of the process: sorted runs, and every read of them.
 *
 * Every range contributes the bytes that the file really holds of it; image files contribute what
 * the core left out. Runs are what is left when overlaps are resolved by rank: the order in which
 * the dump lists them, image files after all of them. Runs that go on in both memory and file are
 * joined, so that a writer that splits the heap into pages costs nothing.
 *
 * A view is a binary search over a dense array of starts and an addition; there is no cache to
 * share between threads. The core is mapped without advice to the kernel: every kind of advice was
 * measured slower for the walk of a heap. A mapping of a file that somebody cuts ends the process
 * by SIGBUS; a private copy that is filled piece by piece does not, and costs memory instead.
 */
#include "core/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/private.h"

/* --- The bytes of a file ---------------------------------------------------------------------- */

enum { PIECE = 1 << 20 };

bool clr_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

enum clr_status clr_backing_open(struct clr_backing *backing, int fd, const char *path,
                                 const struct stat *identity, bool mapped, struct clr_error *error)
{
    *backing = (struct clr_backing){.fd = path ? -1 : fd, .identity = *identity};
    backing->size = (uint64_t)identity->st_size;
    pthread_mutex_init(&backing->lock, NULL);
    if (backing->size == 0)
        return CLR_OK;
    if (backing->size > SIZE_MAX / 2)
        return clr_fail(error, CLR_UNSUPPORTED, 0, "a file of %llu bytes does not fit in memory",
                        (unsigned long long)backing->size);
    if (!mapped) {
        size_t pieces = (size_t)((backing->size + PIECE - 1) / PIECE);
        backing->pieces = clr_alloc(pieces, sizeof *backing->pieces);
        if (path)
            backing->path = clr_copy_text(path, strlen(path));
        if (!backing->pieces || (path && !backing->path)) {
            clr_backing_close(backing);
            return clr_no_memory(error);
        }
    }
    int flags = mapped ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *data = mmap(NULL, (size_t)backing->size, mapped ? PROT_READ : PROT_READ | PROT_WRITE,
                      flags, mapped ? fd : -1, 0);
    if (data == MAP_FAILED) {
        enum clr_status status =
            clr_fail_errno(error, "mapping %llu bytes", (unsigned long long)backing->size);
        clr_backing_close(backing);
        return status;
    }
    backing->data = data;
    return CLR_OK;
}

void clr_backing_close(struct clr_backing *backing)
{
    if (backing->data)
        munmap(backing->data, (size_t)backing->size);
    pthread_mutex_destroy(&backing->lock);
    clr_free(backing->pieces);
    clr_free(backing->path);
    memset(backing, 0, sizeof *backing);
}

static bool read_fully(int fd, uint8_t *out, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t n = pread(fd, out, size, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        out += n;
        offset += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

/* Reads one piece. Neither a short file nor one that was replaced or rewritten counts as read. */
static bool fill(struct clr_backing *backing, uint64_t piece)
{
    uint64_t start = piece * PIECE, left = backing->size - start;
    int fd = backing->fd;
    if (backing->path)
        fd = open(backing->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat now;
    bool good = fd >= 0 &&
                read_fully(fd, backing->data + start, left < PIECE ? (size_t)left : PIECE, start) &&
                fstat(fd, &now) == 0 && clr_same_file(&now, &backing->identity);
    if (backing->path && fd >= 0)
        close(fd);
    return good;
}

static bool piece_present(struct clr_backing *backing, uint64_t piece)
{
    if (atomic_load_explicit(&backing->pieces[piece], memory_order_acquire))
        return true;
    pthread_mutex_lock(&backing->lock);
    bool there =
        atomic_load_explicit(&backing->pieces[piece], memory_order_relaxed) || fill(backing, piece);
    if (there)
        atomic_store_explicit(&backing->pieces[piece], 1, memory_order_release);
    pthread_mutex_unlock(&backing->lock);
    return there;
}

const uint8_t *clr_backing_view(struct clr_backing *backing, uint64_t offset, uint64_t want,
                                uint64_t *got)
{
    *got = 0;
    if (offset >= backing->size || want == 0)
        return NULL;
    if (want > backing->size - offset)
        want = backing->size - offset;
    if (backing->pieces) {
        uint64_t first = offset / PIECE, last = (offset + want - 1) / PIECE;
        for (uint64_t piece = first; piece <= last; piece++) {
            if (piece_present(backing, piece))
                continue;
            if (piece == first)
                return NULL;
            want = piece * PIECE - offset;
            break;
        }
    }
    *got = want;
    return backing->data + offset;
}

/* --- Making the runs -------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct clr_extent *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Writers put ranges in order: to see that is a tenth of the price of sorting them again. */
void clr_extents_sort(struct clr_extents *extents)
{
    size_t sorted = 1;
    while (sorted < extents->count &&
           by_start(&extents->items[sorted - 1], &extents->items[sorted]) <= 0)
        sorted++;
    if (sorted < extents->count)
        qsort(extents->items, extents->count, sizeof *extents->items, by_start);
}

struct sweep {
    const struct clr_extent *extents;
    size_t *heap; /* indexes of extents that hold the current address; lowest rank on top */
    size_t heap_count;
    CLR_ARRAY(struct clr_run) runs;
};

static bool ranks_before(const struct sweep *sweep, size_t a, size_t b)
{
    return sweep->extents[sweep->heap[a]].rank < sweep->extents[sweep->heap[b]].rank;
}

static void swap(size_t *a, size_t *b)
{
    size_t old = *a;
    *a = *b;
    *b = old;
}

static void push(struct sweep *sweep, size_t extent)
{
    size_t at = sweep->heap_count++;
    sweep->heap[at] = extent;
    for (; at > 0 && ranks_before(sweep, at, (at - 1) / 2); at = (at - 1) / 2)
        swap(&sweep->heap[at], &sweep->heap[(at - 1) / 2]);
}

static void pop(struct sweep *sweep)
{
    sweep->heap[0] = sweep->heap[--sweep->heap_count];
    for (size_t at = 0, child; (child = 2 * at + 1) < sweep->heap_count; at = child) {
        if (child + 1 < sweep->heap_count && ranks_before(sweep, child + 1, child))
            child++;
        if (!ranks_before(sweep, child, at))
            break;
        swap(&sweep->heap[at], &sweep->heap[child]);
    }
}

static bool emit(struct sweep *sweep, const struct clr_extent *from, uint64_t start, uint64_t end)
{
    uint64_t offset = from->offset + (start - from->start);
    struct clr_run *last = sweep->runs.count ? &sweep->runs.items[sweep->runs.count - 1] : NULL;
    if (last && last->end == start && last->file == from->file &&
        last->offset + (last->end - last->start) == offset) {
        last->end = end;
        return true;
    }
    return CLR_ARRAY_ADD(&sweep->runs, (struct clr_run){start, end, offset, from->file});
}

static bool sweep_extents(struct sweep *sweep, size_t count)
{
    uint64_t at = 0;
    for (size_t next = 0; next < count || sweep->heap_count > 0;) {
        if (sweep->heap_count == 0)
            at = sweep->extents[next].start;
        while (next < count && sweep->extents[next].start <= at)
            push(sweep, next++);
        while (sweep->heap_count > 0 && sweep->extents[sweep->heap[0]].end <= at)
            pop(sweep);
        if (sweep->heap_count == 0)
            continue;
        const struct clr_extent *top = &sweep->extents[sweep->heap[0]];
        uint64_t end = top->end;
        if (next < count && sweep->extents[next].start < end)
            end = sweep->extents[next].start;
        if (!emit(sweep, top, at, end))
            return false;
        at = end;
    }
    return true;
}

static void drop_runs(struct clr_process *process)
{
    clr_free(process->runs);
    clr_free(process->starts);
    clr_free(process->before);
    process->runs = NULL;
    process->starts = process->before = NULL;
    process->run_count = 0;
}

enum clr_status clr_runs_build(struct clr_process *process, struct clr_extents *extents,
                               uint64_t *overlapped, struct clr_error *error)
{
    uint64_t offered = 0, taken = 0;
    const size_t count = extents->count;
    drop_runs(process);
    clr_extents_sort(extents);
    struct sweep sweep = {.extents = extents->items, .heap = clr_alloc(count, sizeof *sweep.heap)};
    bool good = sweep.heap && sweep_extents(&sweep, count);
    clr_free(sweep.heap);
    process->runs = sweep.runs.items;
    process->run_count = sweep.runs.count;
    process->starts = clr_alloc(sweep.runs.count, sizeof *process->starts);
    process->before = clr_alloc(sweep.runs.count + 1, sizeof *process->before);
    if (!good || !process->starts || !process->before) {
        drop_runs(process);
        return clr_no_memory(error);
    }
    for (size_t i = 0; i < process->run_count; i++) {
        process->starts[i] = process->runs[i].start;
        process->before[i] = taken;
        taken += process->runs[i].end - process->runs[i].start;
    }
    process->before[process->run_count] = taken;
    for (size_t i = 0; i < count; i++)
        offered += extents->items[i].end - extents->items[i].start;
    *overlapped = offered - taken;
    return CLR_OK;
}

/* --- Reading ---------------------------------------------------------------------------------- */

size_t clr_process_runs(const struct clr_process *process, const struct clr_run **runs)
{
    *runs = process->runs;
    return process->run_count;
}

size_t clr_process_regions(const struct clr_process *process, const struct clr_region **regions)
{
    *regions = process->regions.items;
    return process->regions.count;
}

/* How many runs start at or below ADDRESS. */
static size_t runs_up_to(const struct clr_process *process, uint64_t address)
{
    const uint64_t *from = process->starts;
    size_t count = process->run_count;
    while (count > 1) { /* no branch depends on what is compared */
        size_t half = count / 2;
        from = from[half - 1] <= address ? from + half : from;
        count -= half;
    }
    return (size_t)(from - process->starts) + (count == 1 && *from <= address);
}

inline const struct clr_run *clr_run_at(const struct clr_process *process, uint64_t address)
{
    size_t i = runs_up_to(process, address);
    return i != 0 && address < process->runs[i - 1].end ? &process->runs[i - 1] : NULL;
}

const uint8_t *clr_view(const struct clr_process *process, uint64_t address, uint64_t want,
                        uint64_t *got)
{
    const struct clr_run *run = clr_run_at(process, address);
    *got = 0;
    if (!run)
        return NULL;
    uint64_t left = run->end - address, offset = run->offset + (address - run->start);
    struct clr_backing *backing = &process->files.items[run->file];
    if (want > left)
        want = left;
    if (backing->pieces || want == 0)
        return clr_backing_view(backing, offset, want, got);
    *got = want; /* runs were clipped to the file */
    return backing->data + offset;
}

bool clr_read(const struct clr_process *process, uint64_t address, void *out, size_t size)
{
    uint8_t *to = out;
    while (size > 0) {
        uint64_t got;
        const uint8_t *from = clr_view(process, address, size, &got);
        if (!from)
            return false;
        memcpy(to, from, (size_t)got);
        to += got;
        size -= (size_t)got;
        if (__builtin_add_overflow(address, got, &address) && size > 0)
            return false;
    }
    return true;
}

/* The same for a size that the compiler knows: one load where the bytes lie in one run. */
static inline bool read_fixed(const struct clr_process *process, uint64_t address, void *out,
                              size_t size)
{
    uint64_t got;
    const uint8_t *from = clr_view(process, address, size, &got);
    if (!from)
        return false;
    if (got < size)
        return clr_read(process, address, out, size);
    memcpy(out, from, size);
    return true;
}

bool clr_read_u8(const struct clr_process *process, uint64_t address, uint8_t *value)
{
    return read_fixed(process, address, value, sizeof *value);
}

bool clr_read_u16(const struct clr_process *process, uint64_t address, uint16_t *value)
{
    uint16_t raw;
    if (!read_fixed(process, address, &raw, sizeof raw))
        return false;
    *value = process->info.swapped ? __builtin_bswap16(raw) : raw;
    return true;
}

bool clr_read_u32(const struct clr_process *process, uint64_t address, uint32_t *value)
{
    uint32_t raw;
    if (!read_fixed(process, address, &raw, sizeof raw))
        return false;
    *value = process->info.swapped ? __builtin_bswap32(raw) : raw;
    return true;
}

bool clr_read_u64(const struct clr_process *process, uint64_t address, uint64_t *value)
{
    uint64_t raw;
    if (!read_fixed(process, address, &raw, sizeof raw))
        return false;
    *value = process->info.swapped ? __builtin_bswap64(raw) : raw;
    return true;
}

bool clr_read_uint(const struct clr_process *process, uint64_t address, size_t size,
                   uint64_t *value)
{
    uint8_t byte;
    uint16_t half;
    uint32_t single;
    switch (size) {
    case 1:
        if (!clr_read_u8(process, address, &byte))
            return false;
        *value = byte;
        return true;
    case 2:
        if (!clr_read_u16(process, address, &half))
            return false;
        *value = half;
        return true;
    case 4:
        if (!clr_read_u32(process, address, &single))
            return false;
        *value = single;
        return true;
    case 8: return clr_read_u64(process, address, value);
    default: return false;
    }
}

bool clr_read_word(const struct clr_process *process, uint64_t address, uint64_t *value)
{
    return clr_read_uint(process, address, process->info.word_size, value);
}

bool clr_next_saved(const struct clr_process *process, uint64_t address, uint64_t *saved)
{
    size_t i = runs_up_to(process, address);
    if (i > 0 && address < process->runs[i - 1].end) {
        *saved = address;
        return true;
    }
    if (i == process->run_count)
        return false;
    *saved = process->runs[i].start;
    return true;
}

/* Saved bytes below ADDRESS. */
static uint64_t saved_below(const struct clr_process *process, uint64_t address)
{
    size_t i = runs_up_to(process, address);
    if (i == 0)
        return 0;
    const struct clr_run *run = &process->runs[i - 1];
    uint64_t end = address < run->end ? address : run->end;
    return process->before[i - 1] + (end - run->start);
}

uint64_t clr_saved_bytes(const struct clr_process *process, uint64_t start, uint64_t end)
{
    return start < end ? saved_below(process, end) - saved_below(process, start) : 0;
}
