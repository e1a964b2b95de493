/*
 * The notes of a core, decoded by layouts that are data. They are those of the Linux kernel's
 * user-visible headers (sys/procfs.h, sys/ucontext.h), which all writers follow. Offsets in bytes:
 *
 *   NT_PRSTATUS    one per thread; the one that got the signal comes first in a kernel core
 *     field         64-bit  32-bit
 *     si_signo         0       0     int
 *     pr_cursig       12      12     short
 *     pr_pid          32      24     int: the thread's id
 *     pr_reg         112      72     the registers, one word each, in the order of clr_arch.registers
 *   NT_PRPSINFO    64-bit: 136 bytes; 32-bit: 124 (16-bit user ids) or 128
 *     pr_pid          24      12 or 16
 *     pr_fname        40      28 or 32   16 characters
 *     pr_psargs       56      44 or 48   80 characters, arguments separated by blanks
 *   NT_AUXV        pairs of words (type, value)
 *   NT_SIGINFO     int si_signo at 0; belongs to the thread whose NT_PRSTATUS came last
 *   NT_FILE        words: count, unit; count rows of words (start, end, offset in units);
 *                  then as many terminated paths. The kernel and createdump use a page as the unit,
 *                  gdb uses 1. Early createdumps announce a page and count in bytes.
 *
 * Who wrote it: createdump puts NT_AUXV and NT_FILE before the first NT_PRSTATUS and adds a region
 * with a signature of its own; gdb's gcore gives NT_FILE offsets in units of 1; the kernel starts
 * with NT_PRSTATUS and counts in pages.
 */
#include "core/notes.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* --- Layouts ---------------------------------------------------------------------------------- */

/* Offsets within NT_PRSTATUS, by word size. */
struct prstatus {
    uint8_t word_size, signal, current_signal, pid, registers;
};
static const struct prstatus prstatus_layouts[] = {{8, 0, 12, 32, 112}, {4, 0, 12, 24, 72}};

/* Offsets within NT_PRPSINFO, by its size. */
struct prpsinfo {
    uint8_t size, pid, name, arguments;
};
enum { NAME_SIZE = 16, ARGUMENTS_SIZE = 80 };
static const struct prpsinfo prpsinfo_layouts[] = {
    {136, 24, 40, 56}, {124, 12, 28, 44}, {128, 16, 32, 48}};

const char *clr_register_name(const struct clr_process *process, uint32_t number)
{
    const struct clr_arch *cpu = process->info.cpu;
    return cpu && number < cpu->register_count ? cpu->registers[number].name : NULL;
}

/* --- Decoding --------------------------------------------------------------------------------- */

enum { ANY_PAGE = 0x1ff000 }; /* 4 KiB to 1 MiB: of a machine that is not known */

struct reader {
    struct clr_process *process;
    struct clr_problems *problems;
    bool auxv_before_threads, file_before_threads;
    uint64_t file_unit; /* of NT_FILE, 0 if there was none */
    int32_t siginfo_signal;
    uint32_t siginfo_thread;
    bool has_siginfo;
    uint64_t undecoded; /* notes of a known type with contents that make no sense */
};

static struct clr_bytes bytes_of(const struct reader *reader, const struct clr_note *note)
{
    struct clr_bytes b = clr_bytes(note->data, note->size);
    b.swapped = reader->process->info.swapped;
    return b;
}

static enum clr_status read_thread(struct reader *reader, const struct clr_note *note,
                                   struct clr_error *error)
{
    struct clr_process *process = reader->process;
    const struct clr_arch *cpu = process->info.cpu;
    if (!cpu) {
        reader->undecoded++;
        return CLR_OK;
    }
    const struct prstatus *layout = &prstatus_layouts[cpu->word_size == 8 ? 0 : 1];
    struct clr_os_thread thread = {.register_count = cpu->register_count};
    struct clr_bytes b = bytes_of(reader, note);
    clr_bytes_seek(&b, layout->signal);
    int32_t signal = (int32_t)clr_bytes_u32(&b);
    clr_bytes_seek(&b, layout->current_signal);
    thread.signal = (int16_t)clr_bytes_u16(&b);
    if (thread.signal == 0)
        thread.signal = signal;
    clr_bytes_seek(&b, layout->pid);
    thread.os_id = clr_bytes_u32(&b);
    clr_bytes_seek(&b, layout->registers);
    for (uint32_t i = 0; i < thread.register_count; i++)
        thread.registers[i] = clr_bytes_word(&b, cpu->word_size);
    thread.sp = thread.registers[cpu->sp];
    thread.ip = thread.registers[cpu->ip];
    if (b.bad) {
        reader->undecoded++;
        return CLR_OK;
    }
    return CLR_ARRAY_ADD(&process->threads, thread) ? CLR_OK : clr_no_memory(error);
}

/* A text of fixed size: up to its terminator, without blanks at the end. */
static size_t text_length(const uint8_t *text, size_t size)
{
    size_t length = strnlen((const char *)text, size);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    return length;
}

static enum clr_status read_command(struct reader *reader, const struct clr_note *note,
                                    struct clr_error *error)
{
    struct clr_process *process = reader->process;
    const struct prpsinfo *layout = NULL;
    for (size_t i = 0; i < sizeof prpsinfo_layouts / sizeof *prpsinfo_layouts; i++)
        if (prpsinfo_layouts[i].size == note->size)
            layout = &prpsinfo_layouts[i];
    if (!layout || process->info.command) {
        reader->undecoded += !layout;
        return CLR_OK;
    }
    struct clr_bytes b = bytes_of(reader, note);
    clr_bytes_seek(&b, layout->pid);
    process->info.process_id = clr_bytes_u32(&b);
    const uint8_t *text = note->data + layout->arguments;
    size_t length = text_length(text, ARGUMENTS_SIZE);
    if (length == 0) {
        text = note->data + layout->name;
        length = text_length(text, NAME_SIZE);
    }
    if (length > 0 &&
        !(process->info.command = clr_process_keep(process, (const char *)text, length)))
        return clr_no_memory(error);
    return CLR_OK;
}

static enum clr_status read_auxv(struct reader *reader, const struct clr_note *note,
                                 struct clr_error *error)
{
    struct clr_process *process = reader->process;
    struct clr_bytes b = bytes_of(reader, note);
    reader->auxv_before_threads |= process->threads.count == 0;
    for (;;) {
        struct clr_auxv_entry entry;
        entry.type = clr_bytes_word(&b, process->info.word_size);
        entry.value = clr_bytes_word(&b, process->info.word_size);
        if (b.bad || entry.type == AT_NULL)
            return CLR_OK;
        if (!CLR_ARRAY_ADD(&process->auxv, entry))
            return clr_no_memory(error);
    }
}

/* True if the offsets count bytes although UNIT says otherwise: where a path's mappings follow each
 * other in memory, the offset grows by the size of the one before, in bytes or in units. */
static bool counts_bytes(struct clr_bytes rows, uint64_t count, size_t word, uint64_t unit)
{
    uint64_t start = 0, end = 0, offset = 0, in_bytes = 0, in_units = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t next_start = clr_bytes_word(&rows, word), next_end = clr_bytes_word(&rows, word);
        uint64_t next_offset = clr_bytes_word(&rows, word);
        if (i > 0 && next_start == end && next_offset > offset) {
            in_bytes += next_offset - offset == end - start;
            in_units += next_offset - offset == (end - start) / unit;
        }
        start = next_start, end = next_end, offset = next_offset;
    }
    return in_bytes > in_units;
}

static enum clr_status keep_mapping(struct reader *reader, struct clr_mapping mapping,
                                    const char *path, size_t length, struct clr_error *error)
{
    static const char suffix[] = " (deleted)";
    struct clr_process *process = reader->process;
    size_t tail = sizeof suffix - 1;
    if (length > tail && memcmp(path + length - tail, suffix, tail) == 0) {
        mapping.deleted = true;
        length -= tail;
    }
    size_t count = process->mappings.count;
    const struct clr_mapping *last = count ? &process->mappings.items[count - 1] : NULL;
    if (last && strlen(last->path) == length && memcmp(last->path, path, length) == 0)
        mapping.path = last->path;
    else if (!(mapping.path = clr_process_keep(process, path, length)))
        return clr_no_memory(error);
    return CLR_ARRAY_ADD(&process->mappings, mapping) ? CLR_OK : clr_no_memory(error);
}

static enum clr_status read_files(struct reader *reader, const struct clr_note *note,
                                  struct clr_error *error)
{
    struct clr_process *process = reader->process;
    size_t word = process->info.word_size;
    struct clr_bytes b = bytes_of(reader, note);
    uint64_t count = clr_bytes_word(&b, word), unit = clr_bytes_word(&b, word), bad = 0;
    reader->file_before_threads |= process->threads.count == 0;
    if (b.bad || count > (b.size - b.at) / (3 * word)) {
        reader->undecoded++;
        return CLR_OK;
    }
    if (unit == 0)
        unit = CLR_PAGE;
    reader->file_unit = unit;
    struct clr_bytes rows = b, names = b;
    clr_bytes_seek(&names, b.at + (size_t)count * 3 * word);
    uint64_t scale = unit > 1 && counts_bytes(rows, count, word, unit) ? 1 : unit;
    for (uint64_t i = 0; i < count; i++) {
        struct clr_mapping mapping = {.image = UINT32_MAX};
        mapping.start = clr_bytes_word(&rows, word);
        mapping.end = clr_bytes_word(&rows, word);
        bool whole = !__builtin_mul_overflow(clr_bytes_word(&rows, word), scale, &mapping.offset);
        const char *path = (const char *)names.data + names.at;
        size_t length = strnlen(path, names.size - names.at);
        if (!clr_bytes_take(&names, length + 1) || mapping.start >= mapping.end || !whole) {
            bad++;
            if (names.bad) {
                bad += count - i - 1;
                break;
            }
            continue;
        }
        CLR_TRY(keep_mapping(reader, mapping, path, length, error));
    }
    if (bad)
        clr_problem(reader->problems, CLR_WARNING, "images", 0, 0,
                    "the note of mapped files has %llu rows that cannot be used",
                    (unsigned long long)bad);
    return CLR_OK;
}

static void read_siginfo(struct reader *reader, const struct clr_note *note)
{
    const struct clr_process *process = reader->process;
    struct clr_bytes b = bytes_of(reader, note);
    int32_t signal = (int32_t)clr_bytes_u32(&b);
    if (b.bad || reader->has_siginfo)
        return;
    reader->has_siginfo = true;
    reader->siginfo_signal = signal;
    if (process->threads.count)
        reader->siginfo_thread = process->threads.items[process->threads.count - 1].os_id;
}

static enum clr_status visit(void *context, const struct clr_note *note, struct clr_error *error)
{
    struct reader *reader = context;
    if (!note->is_core)
        return CLR_OK;
    switch (note->type) {
    case NT_PRSTATUS: return read_thread(reader, note, error);
    case NT_PRPSINFO: return read_command(reader, note, error);
    case NT_AUXV: return read_auxv(reader, note, error);
    case NT_FILE: return read_files(reader, note, error);
    case NT_SIGINFO: read_siginfo(reader, note); return CLR_OK;
    default: return CLR_OK;
    }
}

/* --- What follows from them ---------------------------------------------------------------------------- */

static enum clr_writer writer_of(const struct reader *reader)
{
    if (reader->process->threads.count == 0 && reader->file_unit == 0)
        return CLR_WRITER_UNKNOWN;
    if (reader->auxv_before_threads && reader->file_before_threads)
        return CLR_WRITER_CREATEDUMP;
    if (reader->file_unit == 1)
        return CLR_WRITER_GCORE;
    return reader->file_unit > 1 ? CLR_WRITER_KERNEL : CLR_WRITER_UNKNOWN;
}

/* The signal that ended the process: a thread's current one, else NT_SIGINFO's. gcore's NT_SIGINFO
 * is that of the stop by the debugger. */
static void find_signal(struct reader *reader)
{
    struct clr_process_info *info = &reader->process->info;
    for (size_t i = 0; i < reader->process->threads.count && info->signal == 0; i++) {
        info->signal = reader->process->threads.items[i].signal;
        info->signal_thread = info->signal ? reader->process->threads.items[i].os_id : 0;
    }
    if (info->signal == 0 && reader->has_siginfo && info->writer != CLR_WRITER_GCORE) {
        info->signal = reader->siginfo_signal;
        info->signal_thread = info->signal ? reader->siginfo_thread : 0;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct clr_mapping *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Sorts mappings and drops rows that repeat another. */
static void order_mappings(struct clr_process *process)
{
    size_t kept = 0;
    struct clr_mapping *rows = process->mappings.items;
    if (process->mappings.count == 0)
        return;
    qsort(rows, process->mappings.count, sizeof *rows, by_address);
    for (size_t i = 1; i < process->mappings.count; i++)
        if (by_address(&rows[i], &rows[kept]) != 0 || strcmp(rows[i].path, rows[kept].path) != 0)
            rows[++kept] = rows[i];
    process->mappings.count = kept + 1;
}

enum clr_status clr_notes_read(struct clr_process *process, void *elf,
                               struct clr_problems *problems, struct clr_error *error)
{
    struct clr_process_info *info = &process->info;
    struct reader reader = {.process = process, .problems = problems};
    uint64_t missing;
    info->cpu = clr_arch_find(info->machine, info->word_size);
    if (info->cpu) {
        info->arch = info->cpu->name;
    } else {
        char text[32];
        snprintf(text, sizeof text, "machine %u", info->machine);
        if (!(info->arch = clr_process_keep(process, text, strlen(text))))
            return clr_no_memory(error);
    }
    CLR_TRY(clr_elf_notes(elf, process, visit, &reader, &missing, error));
    info->page_size = CLR_PAGE;
    if (reader.file_unit > 1)
        info->page_size = reader.file_unit;
    clr_process_auxv(process, AT_PAGESZ, &info->page_size);
    if ((info->page_size & (info->page_size - 1)) != 0 ||
        (info->page_size & (info->cpu ? info->cpu->page_sizes : ANY_PAGE)) == 0)
        info->page_size = CLR_PAGE;
    info->writer = writer_of(&reader);
    find_signal(&reader);
    order_mappings(process);
    if (missing)
        clr_problem_of(problems, CLR_WARNING, "threads", 0, true, 0, missing,
                       "%llu bytes of the core's notes are missing: threads, mapped files and the "
                       "command may be incomplete",
                       (unsigned long long)missing);
    if (reader.undecoded)
        clr_problem_of(problems, CLR_WARNING, "threads", 0, true, 0, 0,
                       "%llu notes are of an unknown layout (%s, %u-bit) and were not read",
                       (unsigned long long)reader.undecoded, info->arch, info->word_size * 8u);
    return CLR_OK;
}

/* --- Look-up ---------------------------------------------------------------------------------- */

size_t clr_process_threads(const struct clr_process *process, const struct clr_os_thread **threads)
{
    *threads = process->threads.items;
    return process->threads.count;
}

const struct clr_os_thread *clr_process_thread(const struct clr_process *process, uint32_t os_id)
{
    for (size_t i = 0; i < process->threads.count; i++)
        if (process->threads.items[i].os_id == os_id)
            return &process->threads.items[i];
    return NULL;
}

bool clr_process_auxv(const struct clr_process *process, uint64_t type, uint64_t *value)
{
    for (size_t i = 0; i < process->auxv.count; i++) {
        if (process->auxv.items[i].type == type) {
            *value = process->auxv.items[i].value;
            return true;
        }
    }
    return false;
}
