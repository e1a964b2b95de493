/*
 * Headers, notes and memory of synthetic cores: word sizes, byte orders, PT_LOADs of every kind,
 * what is said about files that are no cores.
 */
#include <check.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/process.h"
#include "core_builder.h"

struct opened {
    int fd;
    char path[CORE_PATH];
    struct clr_process *process;
    struct clr_problems *problems;
};

static void open_with(struct opened *o, const struct core *core, const struct clr_options *options)
{
    struct clr_error error = {0};
    o->fd = core_open(core, o->path);
    o->problems = clr_problems_create();
    enum clr_status status =
        clr_process_open(o->path, options, NULL, o->problems, &o->process, &error);
    ck_assert_msg(status == CLR_OK, "%s", error.text);
}

static void open_core(struct opened *o, struct core *core)
{
    open_with(o, core, NULL);
    core_destroy(core);
}

static void close_core(struct opened *o)
{
    clr_process_close(o->process);
    clr_problems_destroy(o->problems);
    close(o->fd);
}

static const struct clr_problem *problem_with(const struct opened *o, const char *text)
{
    for (size_t i = 0; i < clr_problems_count(o->problems); i++)
        if (strstr(clr_problems_at(o->problems, i)->message, text))
            return clr_problems_at(o->problems, i);
    return NULL;
}

static uint8_t pattern[1 << 16];

static void fill_pattern(void)
{
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)(i * 7 + (i >> 8));
}

static void check_bytes(const struct opened *o, uint64_t address, const uint8_t *wanted,
                        size_t size)
{
    uint8_t *found = malloc(size);
    ck_assert_msg(clr_read(o->process, address, found, size), "0x%llx", (long long)address);
    ck_assert_mem_eq(found, wanted, size);
    free(found);
}

static void check_not_saved(const struct opened *o, uint64_t address)
{
    uint8_t byte;
    uint64_t got;
    ck_assert(!clr_read_u8(o->process, address, &byte));
    ck_assert_ptr_null(clr_view(o->process, address, 1, &got));
    ck_assert_uint_eq(got, 0);
}

/* --- Machines --------------------------------------------------------------------------------- */

static const struct {
    unsigned word;
    bool big;
    uint16_t machine;
    const char *arch;
    uint32_t registers, sp, ip;
    const char *first, *last;
} machines[] = {
    {8, false, EM_X86_64, "x64", 27, 19, 16, "r15", "gs"},
    {8, false, EM_AARCH64, "arm64", 34, 31, 32, "x0", "pstate"},
    {4, false, EM_386, "x86", 17, 15, 12, "ebx", "ss"},
    {4, false, EM_ARM, "arm", 18, 13, 15, "r0", "orig_r0"},
    {8, true, EM_AARCH64, "arm64", 34, 31, 32, "x0", "pstate"},
    {4, true, EM_ARM, "arm", 18, 13, 15, "r0", "orig_r0"},
};

START_TEST(machine)
{
    unsigned word = machines[_i].word;
    struct core *core = core_create(word, machines[_i].big, machines[_i].machine);
    uint64_t registers[40];
    for (uint64_t i = 0; i < 40; i++)
        registers[i] = 0x10000 + i;
    core_add_thread(core, 4711, 0, registers, machines[_i].registers);
    core_add_thread(core, 4712, 11, registers, machines[_i].registers);
    core_add_command(core, 4711, "app", "/usr/bin/app --serve   ");
    core_add_auxv(core, AT_PAGESZ, 65536);
    core_add_auxv(core, AT_ENTRY, 0x12345678);
    core_add_file(core, 0x10000, 0x12000, 0, "/bin/app");
    uint8_t memory[64];
    core_put(core, memory, 0x0123456789abcdef, 8);
    core_put(core, memory + 8, 0x89abcdef, word);
    core_put(core, memory + 16, 0xfedc, 2);
    core_put(core, memory + 18, 0x12345678, 4);
    core_add_memory(core, 0x20000000, memory, sizeof memory, sizeof memory, PF_R | PF_W);
    struct opened o;
    open_core(&o, core);

    const struct clr_process_info *info = clr_process_info(o.process);
    ck_assert_str_eq(info->arch, machines[_i].arch);
    ck_assert_uint_eq(info->machine, machines[_i].machine);
    ck_assert_uint_eq(info->word_size, word);
    ck_assert_int_eq(info->swapped, machines[_i].big);
    ck_assert_uint_eq(info->process_id, 4711);
    ck_assert_str_eq(info->command, "/usr/bin/app --serve");
    /* Only arm64 has pages of that size. */
    ck_assert_uint_eq(info->page_size, machines[_i].machine == EM_AARCH64 ? 65536 : 4096);
    ck_assert_int_eq(info->signal, 11);
    ck_assert_uint_eq(info->signal_thread, 4712);
    ck_assert_int_eq(info->writer, CLR_WRITER_KERNEL);
    ck_assert_uint_eq(info->missing_bytes, 0);

    const struct clr_os_thread *threads;
    ck_assert_uint_eq(clr_process_threads(o.process, &threads), 2);
    ck_assert_uint_eq(threads[0].os_id, 4711);
    ck_assert_ptr_eq(clr_process_thread(o.process, 4712), &threads[1]);
    ck_assert_ptr_null(clr_process_thread(o.process, 1));
    ck_assert_uint_eq(threads[1].register_count, machines[_i].registers);
    ck_assert_uint_eq(threads[1].sp, 0x10000 + machines[_i].sp);
    ck_assert_uint_eq(threads[1].ip, 0x10000 + machines[_i].ip);
    ck_assert_uint_eq(threads[1].registers[5], 0x10005);
    ck_assert_str_eq(clr_register_name(o.process, 0), machines[_i].first);
    ck_assert_str_eq(clr_register_name(o.process, machines[_i].registers - 1), machines[_i].last);
    ck_assert_ptr_null(clr_register_name(o.process, machines[_i].registers));

    uint64_t value;
    ck_assert(clr_process_auxv(o.process, AT_ENTRY, &value));
    ck_assert_uint_eq(value, 0x12345678);
    ck_assert(!clr_process_auxv(o.process, AT_BASE, &value));
    ck_assert(clr_read_u64(o.process, 0x20000000, &value));
    ck_assert_uint_eq(value, 0x0123456789abcdef);
    ck_assert(clr_read_word(o.process, 0x20000008, &value));
    ck_assert_uint_eq(value, 0x89abcdef);
    ck_assert(clr_read_uint(o.process, 0x20000010, 2, &value));
    ck_assert_uint_eq(value, 0xfedc);
    ck_assert(clr_read_uint(o.process, 0x20000012, 4, &value));
    ck_assert_uint_eq(value, 0x12345678);
    ck_assert(clr_read_uint(o.process, 0x20000000, 1, &value));
    ck_assert_uint_eq(value, machines[_i].big ? 0x01 : 0xef);
    ck_assert(!clr_read_uint(o.process, 0x20000000, 3, &value));
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
}
END_TEST

START_TEST(unknown_machine)
{
    uint64_t registers[4] = {0};
    struct core *core = core_create(8, true, EM_S390);
    core_add_thread(core, 1, 0, registers, 4);
    struct opened o;
    open_core(&o, core);
    const struct clr_os_thread *threads;
    ck_assert_str_eq(clr_process_info(o.process)->arch, "machine 22");
    ck_assert_uint_eq(clr_process_threads(o.process, &threads), 0);
    ck_assert_ptr_null(clr_register_name(o.process, 0));
    const struct clr_problem *problem = problem_with(&o, "unknown layout (machine 22, 64-bit)");
    ck_assert_ptr_nonnull(problem);
    ck_assert(problem->incomplete);
    ck_assert_str_eq(problem->area, "threads");
    close_core(&o);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */

START_TEST(unsorted_and_joined)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x30000, pattern + 0x2000, 0x1000, 0x1000, PF_R);
    core_add_memory(core, 0x10000, pattern, 0x1000, 0x1000, PF_R | PF_W);
    core_add_memory(core, 0x11000, pattern + 0x1000, 0x1000, 0x1000, PF_R | PF_W);
    core_add_memory(core, 0x20000, NULL, 0, 0, PF_R);
    core_add_memory(core, 0x12000, pattern + 0x3000, 0x10, 0x10, PF_W);
    struct opened o;
    open_core(&o, core);
    const struct clr_run *runs;
    ck_assert_uint_eq(clr_process_runs(o.process, &runs), 2);
    ck_assert_uint_eq(runs[0].start, 0x10000); /* three that go on in memory and file */
    ck_assert_uint_eq(runs[0].end, 0x12010);
    ck_assert_uint_eq(runs[1].start, 0x30000);
    check_bytes(&o, 0x10000, pattern, 0x2000);
    check_bytes(&o, 0x12000, pattern + 0x3000, 0x10);
    check_bytes(&o, 0x30ff8, pattern + 0x2ff8, 8);
    check_not_saved(&o, 0x12010);
    check_not_saved(&o, 0x2ffff);
    check_not_saved(&o, 0x31000);
    check_not_saved(&o, 0);
    check_not_saved(&o, UINT64_MAX);
    uint64_t got, saved;
    const uint8_t *bytes = clr_view(o.process, 0x11ffc, 100, &got);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(got, 0x14); /* a piece ends where the run ends */
    ck_assert(clr_next_saved(o.process, 0, &saved) && saved == 0x10000);
    ck_assert(clr_next_saved(o.process, 0x12008, &saved) && saved == 0x12008);
    ck_assert(clr_next_saved(o.process, 0x12010, &saved) && saved == 0x30000);
    ck_assert(!clr_next_saved(o.process, 0x31000, &saved));
    ck_assert_uint_eq(clr_saved_bytes(o.process, 0, UINT64_MAX), 0x3010);
    ck_assert_uint_eq(clr_saved_bytes(o.process, 0x10800, 0x30001), 0x1811);
    ck_assert_uint_eq(clr_saved_bytes(o.process, 0x30001, 0x10800), 0);
    const struct clr_region *regions;
    ck_assert_uint_eq(clr_process_regions(o.process, &regions), 4); /* an empty one is none */
    ck_assert_uint_eq(regions[0].flags, PF_R | PF_W);
    ck_assert_uint_eq(regions[3].start, 0x30000);
    close_core(&o);
}
END_TEST

START_TEST(touching_runs_are_read_across)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x11000, pattern + 0x1000, 0x1000, 0x1000, PF_R);
    core_add_memory(core, 0x10000, pattern, 0x1000, 0x1000, PF_R);
    struct opened o;
    open_core(&o, core);
    const struct clr_run *runs;
    ck_assert_uint_eq(clr_process_runs(o.process, &runs), 2); /* not in the order of the file */
    check_bytes(&o, 0x10f00, pattern + 0xf00, 0x200);
    close_core(&o);
}
END_TEST

START_TEST(first_header_wins_where_they_overlap)
{
    uint8_t wanted[0x3000];
    memset(wanted, 'a', 0x3000);
    struct core *core = core_create(8, false, EM_X86_64);
    memset(wanted + 0x1000, 'b', 0x1000);
    core_add_memory(core, 0x11000, wanted + 0x1000, 0x1000, 0x1000, PF_R);
    memset(wanted, 'a', 0x3000);
    core_add_memory(core, 0x10000, wanted, 0x3000, 0x3000, PF_R);
    memset(wanted, 'c', 0x3000);
    core_add_memory(core, 0x10800, wanted, 0x3000, 0x3000, PF_R);
    struct opened o;
    open_core(&o, core);
    memset(wanted, 'a', 0x3000);
    memset(wanted + 0x1000, 'b', 0x1000);
    check_bytes(&o, 0x10000, wanted, 0x3000);
    memset(wanted, 'c', 0x800);
    check_bytes(&o, 0x13000, wanted, 0x800);
    check_not_saved(&o, 0x13800);
    const struct clr_problem *problem = problem_with(&o, "saved more than once");
    ck_assert_ptr_nonnull(problem);
    ck_assert_uint_eq(problem->length, 0x1000 + 0x2800);
    ck_assert_str_eq(problem->area, "memory_regions");
    close_core(&o);
}
END_TEST

/* Random PT_LOADs, small and dense, against a byte array. */
START_TEST(overlaps_by_brute_force)
{
    enum { SPACE = 512, LOADS = 24, BASE = 0x5000 };
    uint32_t seed = (uint32_t)_i * 2654435761u + 1;
    uint8_t bytes[SPACE];
    int owner[SPACE];
    memset(owner, -1, sizeof owner);
    struct core *core = core_create(8, false, EM_X86_64);
    for (int i = 0; i < LOADS; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t start = (seed >> 8) % SPACE, size = (seed >> 20) % 64, saved = (seed >> 3) % 64;
        if (size > SPACE - start)
            size = SPACE - start;
        if (saved > size)
            saved = size;
        memset(bytes, i, sizeof bytes);
        core_add_memory(core, BASE + start, bytes, saved, size, PF_R);
        for (uint32_t k = start; k < start + saved; k++)
            if (owner[k] < 0)
                owner[k] = i;
    }
    struct opened o;
    open_core(&o, core);
    uint64_t total = 0;
    for (uint32_t k = 0; k < SPACE; k++) {
        uint8_t byte;
        ck_assert_int_eq(clr_read_u8(o.process, BASE + k, &byte), owner[k] >= 0);
        ck_assert(owner[k] < 0 || byte == owner[k]);
        total += owner[k] >= 0;
        ck_assert_uint_eq(clr_saved_bytes(o.process, BASE, BASE + k + 1), total);
        uint64_t saved;
        uint32_t next = k;
        while (next < SPACE && owner[next] < 0)
            next++;
        ck_assert_int_eq(clr_next_saved(o.process, BASE + k, &saved), next < SPACE);
        ck_assert(next == SPACE || saved == BASE + next);
    }
    const struct clr_run *runs;
    size_t count = clr_process_runs(o.process, &runs);
    for (size_t i = 0; i < count; i++) {
        ck_assert(runs[i].start < runs[i].end);
        ck_assert(i == 0 || runs[i - 1].end <= runs[i].start);
    }
    close_core(&o);
}
END_TEST

START_TEST(not_saved_is_not_zero)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x10000, pattern, 0x1000, 0x3000, PF_R | PF_W);
    core_add_memory(core, 0x20000, NULL, 0, 0x1000, PF_R);
    core_add_memory(core, 0x40000, NULL, 0, (uint64_t)1 << 40, 0); /* set aside: nothing in it */
    struct opened o;
    open_core(&o, core);
    check_bytes(&o, 0x10000, pattern, 0x1000);
    check_not_saved(&o, 0x11000);
    check_not_saved(&o, 0x20000);
    uint64_t value;
    ck_assert(!clr_read_u64(o.process, 0x10ffc, &value)); /* half of it is saved */
    ck_assert_uint_eq(clr_process_info(o.process)->missing_bytes, 0x3000);
    const struct clr_region *regions;
    ck_assert_uint_eq(clr_process_regions(o.process, &regions), 3);
    ck_assert_uint_eq(regions[0].size, 0x3000);
    ck_assert_uint_eq(regions[0].saved_size, 0x1000);
    ck_assert_uint_eq(regions[2].size, (uint64_t)1 << 40);
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
}
END_TEST

START_TEST(wrapped)
{
    unsigned word = _i == 0 ? 8 : 4;
    uint64_t top = word == 8 ? UINT64_MAX - 0xfff : 0xfffff000;
    struct core *core = core_create(word, false, word == 8 ? EM_X86_64 : EM_386);
    core_add_memory(core, top, pattern, 0x2000, 0x2000, PF_R);
    struct opened o;
    open_core(&o, core);
    check_bytes(&o, top, pattern, 0xfff);
    check_not_saved(&o, 0);
    uint8_t two[2];
    ck_assert(!clr_read(o.process, word == 8 ? UINT64_MAX : 0xffffffff, two, 2));
    ck_assert_ptr_nonnull(problem_with(&o, "past the end of the address space"));
    close_core(&o);
}
END_TEST

START_TEST(more_than_65535_headers)
{
    enum { LOADS = 70000 };
    struct core *core = core_create(_i & 1 ? 4 : 8, false, _i & 1 ? EM_386 : EM_X86_64);
    core_set_layout(core, _i & 2 ? CORE_SECTIONS_LAST : 0);
    for (uint64_t i = 0; i < LOADS; i++)
        core_add_memory(core, 0x10000 + i * 32, pattern + i % 4096, 16, 16, PF_R);
    struct opened o;
    open_core(&o, core);
    const struct clr_run *runs;
    ck_assert_uint_eq(clr_process_runs(o.process, &runs), LOADS);
    for (uint64_t i = 0; i < LOADS; i += 999) {
        check_bytes(&o, 0x10000 + i * 32, pattern + i % 4096, 16);
        check_not_saved(&o, 0x10000 + i * 32 + 16);
    }
    check_bytes(&o, 0x10000 + (LOADS - 1) * 32, pattern + (LOADS - 1) % 4096, 16);
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
}
END_TEST

/* The kernel writes the count last. Without it the headers end where the notes begin. */
START_TEST(cut_count_of_headers)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_set_layout(core, CORE_SECTIONS_LAST | CORE_COUNT_EXTENDED);
    core_add_command(core, 7, "x", "");
    for (uint64_t i = 0; i < 100; i++)
        core_add_memory(core, 0x10000 + i * 32, pattern, 16, 16, PF_R);
    size_t size;
    uint8_t *bytes = core_bytes(core, &size);
    core_destroy(core);
    struct opened o = {.problems = clr_problems_create()};
    struct clr_error error = {0};
    o.fd = core_open_bytes(bytes, size - 64 - 8, o.path);
    free(bytes);
    ck_assert_msg(clr_process_open(o.path, NULL, NULL, o.problems, &o.process, &error) == CLR_OK,
                  "%s", error.text);
    const struct clr_run *runs;
    ck_assert_uint_eq(clr_process_runs(o.process, &runs), 100);
    ck_assert_uint_eq(clr_process_info(o.process)->missing_bytes, 8);
    ck_assert_ptr_nonnull(problem_with(&o, "the file is cut"));
    ck_assert(clr_problems_incomplete(o.problems));
    ck_assert_ptr_nonnull(clr_process_info(o.process)->cut);
    ck_assert_ptr_nonnull(
        strstr(problem_with(&o, "the file is cut")->message, clr_process_info(o.process)->cut));
    close_core(&o);
}
END_TEST

START_TEST(cut_file)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x10000, pattern, 0x1000, 0x1000, PF_R | PF_W);
    core_add_memory(core, 0x20000, pattern + 0x1000, 0x1000, 0x1000, PF_R | PF_W);
    core_add_memory(core, 0x30000, pattern + 0x2000, 0x1000, 0x1000, PF_R | PF_W);
    size_t size;
    uint8_t *bytes = core_bytes(core, &size);
    core_destroy(core);
    struct opened o = {.problems = clr_problems_create()};
    struct clr_error error = {0};
    o.fd = core_open_bytes(bytes, size - 0x1800, o.path);
    free(bytes);
    ck_assert_msg(clr_process_open(o.path, NULL, NULL, o.problems, &o.process, &error) == CLR_OK,
                  "%s", error.text);
    check_bytes(&o, 0x20000, pattern + 0x1000, 0x800);
    check_not_saved(&o, 0x20800);
    check_not_saved(&o, 0x30000);
    ck_assert_uint_eq(clr_process_info(o.process)->missing_bytes, 0x1800);
    const struct clr_problem *problem =
        problem_with(&o, "missing: 0x20800-0x21000, 0x30000-0x31000");
    ck_assert_ptr_nonnull(problem);
    ck_assert_uint_eq(problem->address, 0x20800);
    ck_assert_uint_eq(problem->length, 0x1800);
    ck_assert_int_eq(problem->severity, CLR_WARNING);
    close_core(&o);
}
END_TEST

START_TEST(private_copy)
{
    enum { BIG = 5 << 20 };
    uint8_t *big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i * 31 >> 4);
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x100000, big, BIG, BIG, PF_R);
    struct clr_options options = {.no_mmap = true};
    struct opened o;
    open_with(&o, core, &options);
    core_destroy(core);
    check_bytes(&o, 0x100000, big, 100);
    check_bytes(&o, 0x1ffff0, big + 0xffff0, 0x30); /* two pieces */
    uint64_t got;
    ck_assert_int_eq(clr_process_check(o.process, NULL), CLR_OK);
    /* Cut while it is open: what was read stays, what was not is a failed read. */
    ck_assert_int_eq(truncate(o.path, 3 << 20), 0);
    check_bytes(&o, 0x100000, big, 100);
    ck_assert_ptr_null(clr_view(o.process, 0x100000 + (4 << 20), 8, &got));
    const uint8_t *part = clr_view(o.process, 0x100000, BIG, &got);
    ck_assert_ptr_nonnull(part);
    ck_assert(got < BIG);
    ck_assert_mem_eq(part, big, (size_t)got);
    struct clr_error error = {0};
    ck_assert_int_eq(clr_process_check(o.process, &error), CLR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "was cut from"));
    close_core(&o);
    free(big);
}
END_TEST

struct reader {
    pthread_t thread;
    const struct clr_process *process;
    const uint8_t *wanted;
    size_t size, wrong;
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    for (size_t at = 0; at + 4096 <= reader->size; at += 4096) {
        uint8_t bytes[4096];
        if (!clr_read(reader->process, 0x100000 + at, bytes, sizeof bytes) ||
            memcmp(bytes, reader->wanted + at, sizeof bytes) != 0)
            reader->wrong++;
    }
    return NULL;
}

START_TEST(threads_share_a_private_copy)
{
    enum { BIG = 9 << 20, THREADS = 4 };
    uint8_t *big = malloc(BIG);
    for (size_t i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i * 31 >> 4);
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x100000, big, BIG, BIG, PF_R);
    struct clr_options options = {.no_mmap = true};
    struct opened o;
    open_with(&o, core, &options);
    core_destroy(core);
    struct reader readers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.process = o.process, .wanted = big, .size = BIG};
        ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_all, &readers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(readers[i].thread, NULL);
        ck_assert_uint_eq(readers[i].wrong, 0);
    }
    close_core(&o);
    free(big);
}
END_TEST

START_TEST(a_changed_file_is_noticed)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x10000, pattern, 0x1000, 0x1000, PF_R);
    struct opened o;
    open_core(&o, core);
    struct clr_error error = {0};
    ck_assert_int_eq(clr_process_check(o.process, &error), CLR_OK);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    ck_assert_int_eq(futimens(o.fd, times), 0);
    ck_assert_int_eq(clr_process_check(o.process, &error), CLR_IO);
    ck_assert_ptr_nonnull(strstr(error.text, "was changed"));
    close_core(&o);
}
END_TEST

START_TEST(identity)
{
    uint64_t seen[4][2];
    for (unsigned i = 0; i < 4; i++) {
        uint8_t page[0x1000];
        memcpy(page, pattern, sizeof page);
        page[100] = (uint8_t)(page[100] + (i == 2));
        struct core *core = core_create(8, false, EM_X86_64);
        core_add_command(core, i == 3 ? 8 : 7, "x", "");
        core_add_memory(core, 0x10000, page, 0x1000, 0x1000, PF_R);
        struct opened o;
        open_core(&o, core);
        memcpy(seen[i], clr_process_info(o.process)->identity, sizeof seen[i]);
        close_core(&o);
    }
    ck_assert_mem_eq(seen[0], seen[1], sizeof seen[0]);
    ck_assert_mem_ne(seen[0], seen[2], sizeof seen[0]); /* memory */
    ck_assert_mem_ne(seen[0], seen[3], sizeof seen[0]); /* notes */
}
END_TEST

/* --- Notes ------------------------------------------------------------------------------------ */

static struct core *with_threads(unsigned layout)
{
    static const uint64_t registers[27];
    struct core *core = core_create(8, false, EM_X86_64);
    core_set_layout(core, layout);
    core_add_thread(core, 10, 0, registers, 27);
    core_add_thread(core, 11, 0, registers, 27);
    return core;
}

START_TEST(writers)
{
    static const uint64_t registers[27];
    struct opened o;
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_command(core, 10, "dotnet", "");
    core_add_auxv(core, AT_PAGESZ, 4096);
    core_add_file(core, 0x10000, 0x11000, 0, "/a");
    core_add_thread(core, 10, 0, registers, 27);
    core_add_thread(core, 11, 0, registers, 27);
    core_add_siginfo(core, 6); /* createdump names the signal after the thread that crashed */
    core_add_thread(core, 12, 0, registers, 27);
    core_add_siginfo(core, 9); /* the first one counts */
    open_core(&o, core);
    ck_assert_int_eq(clr_process_info(o.process)->writer, CLR_WRITER_CREATEDUMP);
    ck_assert_str_eq(clr_process_info(o.process)->command, "dotnet");
    ck_assert_int_eq(clr_process_info(o.process)->signal, 6);
    ck_assert_uint_eq(clr_process_info(o.process)->signal_thread, 11);
    close_core(&o);

    core = with_threads(CORE_FILE_UNIT_1 | CORE_NOTES_LAST);
    core_add_siginfo(core, 19); /* how gdb stopped it */
    core_add_auxv(core, AT_PAGESZ, 4096);
    core_add_file(core, 0x10000, 0x11000, 0, "/a");
    open_core(&o, core);
    ck_assert_int_eq(clr_process_info(o.process)->writer, CLR_WRITER_GCORE);
    ck_assert_int_eq(clr_process_info(o.process)->signal, 0);
    ck_assert_uint_eq(clr_process_info(o.process)->signal_thread, 0);
    close_core(&o);

    core = core_create(8, false, EM_X86_64);
    open_core(&o, core);
    ck_assert_int_eq(clr_process_info(o.process)->writer, CLR_WRITER_UNKNOWN);
    close_core(&o);
}
END_TEST

START_TEST(odd_notes)
{
    struct core *core = with_threads(0);
    uint8_t junk[3] = {1, 2, 3};
    core_add_note(core, "LINUX", NT_PRSTATUS, junk, sizeof junk); /* another owner: not ours */
    core_add_note(core, "CORE", NT_PRSTATUS, junk, sizeof junk);
    core_add_note(core, "CORE", NT_PRPSINFO, junk, sizeof junk);
    core_add_note(core, "CORE", NT_FILE, junk, sizeof junk);
    core_add_note(core, "CORE", NT_SIGINFO, junk, 2);
    core_add_note(core, "CORE", NT_AUXV, junk, sizeof junk);
    struct opened o;
    open_core(&o, core);
    const struct clr_os_thread *threads;
    ck_assert_uint_eq(clr_process_threads(o.process, &threads), 2);
    ck_assert_ptr_null(clr_process_info(o.process)->command);
    ck_assert_ptr_nonnull(problem_with(&o, "3 notes are of an unknown layout"));
    close_core(&o);
}
END_TEST

START_TEST(command_is_valid_text)
{
    struct core *core = with_threads(0);
    core_add_command(core, 3, "caf\xc3\xa9", "caf\xff x");
    struct opened o;
    open_core(&o, core);
    ck_assert_str_eq(clr_process_info(o.process)->command, "caf\xef\xbf\xbd x");
    close_core(&o);
}
END_TEST

START_TEST(file_rows)
{
    static const unsigned layouts[] = {0, CORE_BYTE_OFFSETS, CORE_FILE_UNIT_1};
    struct core *core = with_threads(layouts[_i]);
    core_add_file(core, 0x50000, 0x52000, 0, "/lib/b.so");
    core_add_file(core, 0x52000, 0x55000, 0x2000, "/lib/b.so");
    core_add_file(core, 0x10000, 0x12000, 0, "/lib/a.so (deleted)");
    core_add_file(core, 0x10000, 0x12000, 0, "/lib/a.so (deleted)"); /* a row that repeats */
    core_add_file(core, 0x60000, 0x60000, 0, "/lib/empty.so");
    core_add_memory(core, 0x50000, pattern, 0x1000, 0x1000, PF_R | PF_X);
    struct opened o;
    open_core(&o, core);
    const struct clr_image *images;
    ck_assert_uint_eq(clr_process_images(o.process, &images), 2);
    ck_assert_str_eq(images[0].path, "/lib/a.so");
    ck_assert(images[0].deleted);
    ck_assert_str_eq(images[1].path, "/lib/b.so");
    ck_assert_uint_eq(images[1].start, 0x50000);
    ck_assert_uint_eq(images[1].end, 0x55000);
    ck_assert_ptr_eq(clr_image_at(o.process, 0x54fff), &images[1]);
    ck_assert_ptr_null(clr_image_at(o.process, 0x55000));
    ck_assert_ptr_nonnull(problem_with(&o, "1 rows that cannot be used"));
    /* Regions: the PT_LOAD, and what only the note names. */
    const struct clr_region *regions;
    ck_assert_uint_eq(clr_process_regions(o.process, &regions), 4);
    ck_assert_str_eq(regions[0].path, "/lib/a.so");
    ck_assert_uint_eq(regions[0].saved_size, 0);
    ck_assert_uint_eq(regions[1].start, 0x50000);
    ck_assert_uint_eq(regions[1].saved_size, 0x1000);
    ck_assert_str_eq(regions[1].path, "/lib/b.so");
    ck_assert_uint_eq(regions[2].start, 0x51000);
    ck_assert_uint_eq(regions[2].size, 0x1000);
    ck_assert_uint_eq(regions[2].flags, PF_R | PF_X);
    ck_assert_uint_eq(regions[3].start, 0x52000);
    close_core(&o);
}
END_TEST

/* --- What is no core -------------------------------------------------------------------------- */

static void check_refused(const char *path, enum clr_status status, const char *text)
{
    struct clr_process *process;
    struct clr_error error = {0};
    ck_assert_int_eq(clr_process_open(path, NULL, NULL, NULL, &process, &error), status);
    ck_assert_ptr_null(process);
    ck_assert_msg(strncmp(error.text, path, strlen(path)) == 0 && strstr(error.text, text),
                  "'%s' in '%s'", text, error.text);
}

static const struct {
    const char *bytes;
    size_t size;
    const char *text;
} no_cores[] = {
    {"", 0, "is empty"},
    {"hello", 5, "is not an ELF core dump"},
    {"\x7f"
     "ELF",
     4, "is cut short: it ends at byte 4, within its ELF header"},
    {"\x7f"
     "E",
     2, "is cut short"},
    {"\0\0\0\0\0\0\0\0", 8, "starts with 8 zeros"},
    {"\x1f\x8b\x08", 3, "compressed with gzip: run  gzip -dc '"},
    {"\xfd"
     "7zXZ\0",
     6, "compressed with xz: run  xz -dc '"},
    {"\x04\x22\x4d\x18", 4, "compressed with lz4: run  lz4 -dc '"},
    {"BZh9", 4, "compressed with bzip2: run  bzip2 -dc '"},
    {"PK\x03\x04", 4, "zip archive"},
    {"MDMP\x93\xa7", 6, "Windows minidump"},
    {"PAGEDU64", 8, "Windows memory dump"},
    {"\xcf\xfa\xed\xfe\x07", 5, "Mach-O"},
};

START_TEST(no_core)
{
    char path[CORE_PATH];
    int fd = core_open_bytes(no_cores[_i].bytes, no_cores[_i].size, path);
    check_refused(path, CLR_NOT_CORE, no_cores[_i].text);
    close(fd);
}
END_TEST

START_TEST(no_core_by_kind)
{
    char folder[] = "/tmp/clr-core-XXXXXX", name[64], path[CORE_PATH];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    check_refused(folder, CLR_NOT_CORE, "is a directory");
    snprintf(name, sizeof name, "%s/missing", folder);
    check_refused(name, CLR_IO, "No such file or directory");
    snprintf(name, sizeof name, "%s/pipe", folder);
    ck_assert_int_eq(mkfifo(name, 0600), 0);
    check_refused(name, CLR_NOT_CORE, "not a regular file");
    unlink(name);
    rmdir(folder);
    static const struct {
        uint16_t type;
        const char *text;
    } types[] = {{ET_EXEC, "a program, not a core dump"},
                 {ET_DYN, "a program or shared library, not a core dump"},
                 {ET_REL, "an object file, not a core dump"},
                 {0x1234, "an ELF file of another type"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct core *core = core_create(8, false, EM_X86_64);
        core_set_type(core, types[i].type);
        int fd = core_open(core, path);
        check_refused(path, CLR_NOT_CORE, types[i].text);
        close(fd);
        core_destroy(core);
    }
    struct core *core = core_create(8, false, EM_X86_64);
    size_t size;
    uint8_t *bytes = core_bytes(core, &size);
    int fd = core_open_bytes(bytes, 64, path);
    check_refused(path, CLR_NOT_CORE, "cut short: the file ends at byte 64, before its program");
    close(fd);
    memset(bytes + 56, 0, 2); /* e_phnum */
    fd = core_open_bytes(bytes, size, path);
    check_refused(path, CLR_NOT_CORE, "no program headers");
    close(fd);
    free(bytes);
    core_destroy(core);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core");
    TCase *tests = tcase_create("core");
    fill_pattern();
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, machine, 0, sizeof machines / sizeof *machines);
    tcase_add_test(tests, unknown_machine);
    tcase_add_test(tests, unsorted_and_joined);
    tcase_add_test(tests, touching_runs_are_read_across);
    tcase_add_test(tests, first_header_wins_where_they_overlap);
    tcase_add_loop_test(tests, overlaps_by_brute_force, 0, 50);
    tcase_add_test(tests, not_saved_is_not_zero);
    tcase_add_loop_test(tests, wrapped, 0, 2);
    tcase_add_loop_test(tests, more_than_65535_headers, 0, 4);
    tcase_add_test(tests, cut_count_of_headers);
    tcase_add_test(tests, cut_file);
    tcase_add_test(tests, private_copy);
    tcase_add_test(tests, threads_share_a_private_copy);
    tcase_add_test(tests, a_changed_file_is_noticed);
    tcase_add_test(tests, identity);
    tcase_add_test(tests, writers);
    tcase_add_test(tests, odd_notes);
    tcase_add_test(tests, command_is_valid_text);
    tcase_add_loop_test(tests, file_rows, 0, 3);
    tcase_add_loop_test(tests, no_core, 0, sizeof no_cores / sizeof *no_cores);
    tcase_add_test(tests, no_core_by_kind);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
