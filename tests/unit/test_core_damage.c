/*
 * Damaged cores, lack of memory, compressed cores. A small core with all that a core can have is
 * cut at every byte, flipped at every byte, and opened with the n-th allocation failing.
 */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "core/process.h"
#include "core_builder.h"
#include "image_builder.h"

enum { PAGE = 4096 };
static const uint64_t base = 0x40000000, list = 0x7000000;
static char folder[] = "/tmp/clr-damage-XXXXXX";
static char library[64];

static void setup(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(library, sizeof library, "%s/librt.so", folder);
}

static void teardown(void)
{
    unlink(library);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* A core of all kinds of notes and an image, of which a file (in FOLDER) has what is missing. */
static uint8_t *full_core(unsigned word, bool big, size_t *size)
{
    static const uint8_t id[4] = {1, 2, 3, 4}, data[64] = {9};
    static const struct image_symbol symbols[] = {{"alpha", 0, 8}, {"beta", 8, 8}};
    static const struct image_pointer pointers[] = {{0, IMAGE_DATA + 8}};
    uint16_t machine = word == 8 ? EM_X86_64 : EM_386;
    struct image_spec spec = {.word = word,
                              .big_endian = big,
                              .machine = machine,
                              .build_id = id,
                              .build_id_size = sizeof id,
                              .soname = "librt.so",
                              .constants = data,
                              .constants_size = sizeof data,
                              .data = data,
                              .data_size = sizeof data,
                              .symbols = symbols,
                              .symbol_count = 2,
                              .pointers = pointers,
                              .pointer_count = 1,
                              .relocation = word == 8 ? R_X86_64_RELATIVE : R_386_RELATIVE,
                              .debug = list};
    struct image image = image_build(&spec);
    uint8_t *loaded = image_loaded(&spec, &image, base), links[256] = {0};
    uint64_t registers[27] = {1, 2, 3};
    struct core *core = core_create(word, big, machine);
    FILE *file = fopen(library, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(image.bytes, 1, image.size, file), image.size);
    fclose(file);
    core_add_thread(core, 5, 11, registers, word == 8 ? 27 : 17);
    core_add_command(core, 5, "app", "app --x");
    core_add_siginfo(core, 11);
    core_add_auxv(core, AT_PAGESZ, PAGE);
    core_add_auxv(core, AT_ENTRY, base + 0x10);
    core_add_auxv(core, AT_EXECFN, list + 200);
    core_add_file(core, base, base + image.writable_offset, 0, library);
    core_add_file(core, base + image.writable_vaddr, base + image.writable_vaddr + PAGE,
                  image.writable_offset, library);
    core_put(core, links + word, list + 64, word);
    core_put(core, links + 64, base, word);
    core_put(core, links + 64 + 2 * word, base + image.dynamic_vaddr, word);
    core_put(core, links + 64 + 3 * word, list + 64, word);
    memcpy(links + 200, "/bin/app", 9);
    core_add_memory(core, list, links, sizeof links, sizeof links, PF_R | PF_W);
    core_add_memory(core, base, image.bytes, 512, image.writable_offset, PF_R);
    core_add_memory(core, base + image.writable_vaddr, loaded, image.writable_size, PAGE,
                    PF_R | PF_W);
    uint8_t *bytes = core_bytes(core, size);
    core_destroy(core);
    image_free(&image);
    free(loaded);
    return bytes;
}

/* Asks for everything there is. */
static void use(const struct clr_process *process)
{
    const struct clr_image *images;
    const struct clr_region *regions;
    const struct clr_run *runs;
    const struct clr_os_thread *threads;
    size_t count = clr_process_images(process, &images);
    uint64_t address, size, got;
    uint8_t bytes[64];
    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(images[i].path);
        ck_assert(i == 0 || images[i - 1].start <= images[i].start);
        clr_image_symbol(process, &images[i], "alpha", &address, &size);
        clr_image_symbol(process, &images[i], "beta", &address, &size);
        clr_file_relocated(process, &images[i], images[i].dynamic, bytes, sizeof bytes);
        clr_image_at(process, images[i].start);
    }
    count = clr_process_runs(process, &runs);
    for (size_t i = 0; i < count; i++) {
        ck_assert(runs[i].start < runs[i].end);
        ck_assert(i == 0 || runs[i - 1].end <= runs[i].start);
        const uint8_t *view = clr_view(process, runs[i].start, 16, &got);
        ck_assert(view && got > 0 && got <= 16);
        ck_assert(clr_view(process, runs[i].end - 1, 16, &got) && got == 1);
    }
    count = clr_process_regions(process, &regions);
    for (size_t i = 0; i < count; i++) {
        ck_assert(i == 0 || regions[i - 1].start <= regions[i].start);
        ck_assert_uint_le(regions[i].saved_size, regions[i].size);
    }
    clr_process_threads(process, &threads);
}

static enum clr_status open_bytes(const void *bytes, size_t size, const struct clr_options *options,
                                  struct clr_error *error)
{
    char path[CORE_PATH];
    struct clr_process *process;
    struct clr_problems *problems = clr_problems_create();
    int fd = core_open_bytes(bytes, size, path);
    *error = (struct clr_error){0};
    enum clr_status status = clr_process_open(path, options, NULL, problems, &process, error);
    ck_assert_int_eq(status == CLR_OK, process != NULL);
    ck_assert_int_eq(status == CLR_OK, error->text[0] == 0);
    if (status == CLR_OK)
        use(process);
    clr_process_close(process);
    clr_problems_destroy(problems);
    close(fd);
    return status;
}

START_TEST(cut_at_every_byte)
{
    size_t size;
    uint8_t *bytes = full_core(_i ? 4 : 8, _i, &size);
    struct clr_error error;
    size_t opened = 0;
    for (size_t length = 0; length <= size; length++) {
        enum clr_status status = open_bytes(bytes, length, NULL, &error);
        ck_assert(status == CLR_OK || status == CLR_NOT_CORE);
        opened += status == CLR_OK;
    }
    ck_assert_uint_gt(opened, size / 2);
    ck_assert_int_eq(open_bytes(bytes, size, NULL, &error), CLR_OK);
    free(bytes);
}
END_TEST

/* Every byte of headers, notes and image headers, set to what hurts most. */
START_TEST(every_byte_changed)
{
    size_t size;
    uint8_t *bytes = full_core(_i ? 4 : 8, _i, &size);
    struct clr_error error;
    for (size_t at = 0; at < size; at++) {
        uint8_t old = bytes[at], values[] = {0x00, 0xff, (uint8_t)(old + 1)};
        for (size_t i = 0; i < sizeof values; i++) {
            bytes[at] = values[i];
            if (values[i] != old)
                open_bytes(bytes, size, NULL, &error);
        }
        bytes[at] = old;
    }
    free(bytes);
}
END_TEST

START_TEST(random_damage)
{
    size_t size;
    uint8_t *bytes = full_core(8, false, &size), *copy = malloc(size);
    struct clr_error error;
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        memcpy(copy, bytes, size);
        for (int i = 0; i < 8; i++) {
            seed = seed * 1664525 + 1013904223;
            size_t at = (seed >> 8) % size;
            seed = seed * 1664525 + 1013904223;
            copy[at] = (uint8_t)(seed >> 24);
        }
        open_bytes(copy, size, NULL, &error);
    }
    free(copy);
    free(bytes);
}
END_TEST

/* Opening with the n-th allocation failing: no memory, cleanly, or done. */
static void check_lack_of_memory(const void *bytes, size_t size, const struct clr_options *options)
{
    char path[CORE_PATH];
    int fd = core_open_bytes(bytes, size, path);
    uint64_t live = clr_alloc_live();
    for (uint64_t n = 1;; n++) {
        struct clr_process *process;
        struct clr_error error = {0};
        clr_alloc_fail_at(n);
        enum clr_status status = clr_process_open(path, options, NULL, NULL, &process, &error);
        clr_alloc_fail_at(0);
        if (status == CLR_OK) {
            ck_assert_uint_gt(n, 10);
            clr_process_close(process);
            break;
        }
        ck_assert_msg(status == CLR_NOMEM, "%llu: %d %s", (long long)n, status, error.text);
        ck_assert_ptr_null(process);
        ck_assert_uint_eq(clr_alloc_live(), live);
    }
    ck_assert_uint_eq(clr_alloc_live(), live);
    close(fd);
}

START_TEST(no_memory)
{
    size_t size;
    uint8_t *bytes = full_core(8, false, &size);
    char *folders[] = {folder, library};
    struct clr_options options = {
        .modules = folders, .module_count = 2, .sysroot = folder, .no_mmap = _i == 1};
    check_lack_of_memory(bytes, size, &options);
    free(bytes);
}
END_TEST

/* --- Hostile: much from little -----------------------------------------------------------------
 */

START_TEST(many_notes_on_one_place)
{
    /* 60,000 PT_NOTEs of the same megabyte: read once, or the file would be read for hours. */
    enum { HEADERS = 60000, NOTES = 1 << 20 };
    size_t size = 64 + HEADERS * 56 + NOTES;
    uint8_t *bytes = calloc(1, size);
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_CORE,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = 64,
                         .e_ehsize = 64,
                         .e_phentsize = 56,
                         .e_phnum = HEADERS};
    memcpy(bytes, &header, sizeof header);
    for (size_t i = 0; i < HEADERS; i++) {
        Elf64_Phdr notes = {.p_type = PT_NOTE, .p_offset = 64 + HEADERS * 56, .p_filesz = NOTES};
        memcpy(bytes + 64 + i * 56, &notes, sizeof notes);
    }
    struct clr_error error;
    ck_assert_int_eq(open_bytes(bytes, size, NULL, &error), CLR_OK);
    free(bytes);
}
END_TEST

START_TEST(large_claims)
{
    /* Sizes that announce more than any file holds. */
    struct core *core = core_create(8, false, EM_X86_64);
    uint64_t claims[] = {UINT64_MAX, UINT64_MAX / 2, UINT64_MAX / 24, 0x10000000};
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        uint64_t note[3] = {claims[i], 4096, 0};
        core_add_note(core, "CORE", NT_FILE, note, sizeof note);
    }
    core_add_memory(core, 0x1000, NULL, 0, UINT64_MAX - 0x1000, PF_R);
    core_add_memory(core, 0x2000, NULL, 0, UINT64_MAX, PF_R);
    size_t size;
    uint8_t *bytes = core_bytes(core, &size);
    core_destroy(core);
    struct clr_error error;
    uint64_t made = clr_alloc_made();
    ck_assert_int_eq(open_bytes(bytes, size, NULL, &error), CLR_OK);
    ck_assert_uint_lt(clr_alloc_made() - made, 200);
    free(bytes);
}
END_TEST

/* --- Compressed ------------------------------------------------------------------------------- */

/* A core of several megabytes that compresses well. */
static uint8_t *big_core(size_t *size)
{
    enum { MEMORY = 3 << 20 };
    uint8_t *memory = calloc(1, MEMORY);
    for (size_t i = 1 << 20; i < 2 << 20; i++)
        memory[i] = (uint8_t)(i * i >> 9);
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x10000, memory, MEMORY, MEMORY, PF_R);
    free(memory);
    uint8_t *bytes = core_bytes(core, size);
    core_destroy(core);
    return bytes;
}

static uint8_t *compress(const uint8_t *bytes, size_t size, unsigned frames, size_t *packed)
{
    size_t room = ZSTD_compressBound(size) + frames * 1024;
    uint8_t *out = malloc(room);
    *packed = 0;
    for (unsigned i = 0; i < frames; i++) {
        size_t start = size * i / frames, end = size * (i + 1) / frames;
        size_t n = ZSTD_compress(out + *packed, room - *packed, bytes + start, end - start, 3);
        ck_assert(!ZSTD_isError(n));
        *packed += n;
    }
    return out;
}

struct watch {
    unsigned calls, stop_after;
    uint64_t done, total;
};

static bool watch_poll(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct watch *watch = context;
    ck_assert_str_eq(what, "unpacking the core");
    ck_assert_uint_le(done, total);
    watch->done = done;
    watch->total = total;
    return ++watch->calls != watch->stop_after;
}

START_TEST(zstd)
{
    size_t size, packed;
    uint8_t *bytes = big_core(&size), *small = compress(bytes, size, (unsigned)_i, &packed);
    char path[CORE_PATH];
    int fd = core_open_bytes(small, packed, path);
    struct clr_process *process;
    struct watch watch = {0};
    struct clr_job job = {.poll = watch_poll, .context = &watch};
    struct clr_error error = {0};
    ck_assert_msg(clr_process_open(path, NULL, &job, NULL, &process, &error) == CLR_OK, "%s",
                  error.text);
    ck_assert_uint_gt(watch.calls, 0);
    ck_assert_uint_eq(watch.total, packed);
    const struct clr_process_info *info = clr_process_info(process);
    ck_assert_uint_eq(info->file_size, size);
    ck_assert_str_eq(info->path, path);
    uint8_t *memory = malloc(3 << 20);
    ck_assert(clr_read(process, 0x10000, memory, 3 << 20));
    ck_assert_mem_eq(memory, bytes + (size - (3 << 20)), 3 << 20);
    ck_assert_int_eq(clr_process_check(process, &error), CLR_OK);
    clr_process_close(process);
    free(memory);
    close(fd);
    free(small);
    free(bytes);
}
END_TEST

START_TEST(zstd_refused)
{
    size_t size, packed;
    uint8_t *bytes = big_core(&size), *small = compress(bytes, size, 1, &packed);
    struct clr_options options = {.unpack_limit = 1 << 20};
    struct clr_error error;
    ck_assert_int_eq(open_bytes(small, packed, &options, &error), CLR_MISUSE);
    ck_assert_ptr_nonnull(strstr(error.text, "unpack_limit"));
    options.unpack_limit = size;
    ck_assert_int_eq(open_bytes(small, packed, &options, &error), CLR_OK);
    small[packed / 2] ^= 0x55;
    small[packed / 2 + 1] ^= 0x55;
    enum clr_status status = open_bytes(small, packed, NULL, &error);
    ck_assert(status == CLR_BAD_DATA || status == CLR_OK); /* without a checksum it may decode */
    free(small);

    small = compress((const uint8_t *)"not a core", 10, 1, &packed);
    ck_assert_int_eq(open_bytes(small, packed, NULL, &error), CLR_NOT_CORE);
    ck_assert_ptr_nonnull(strstr(error.text, "not an ELF core dump"));
    free(small);
    small = compress((const uint8_t *)"", 0, 1, &packed);
    ck_assert_int_eq(open_bytes(small, packed, NULL, &error), CLR_NOT_CORE);
    ck_assert_ptr_nonnull(strstr(error.text, "unpacks to nothing"));
    free(small);
    ck_assert_int_eq(
        open_bytes("\x28\xb5\x2f\xfd\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 18,
                   NULL, &error),
        CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "cannot be unpacked"));
    free(bytes);
}
END_TEST

START_TEST(zstd_cut)
{
    size_t size, packed;
    uint8_t *bytes = big_core(&size), *small = compress(bytes, size, 4, &packed);
    char path[CORE_PATH];
    struct clr_process *process;
    struct clr_problems *problems = clr_problems_create();
    struct clr_error error = {0};
    int fd = core_open_bytes(small, packed - packed / 4, path);
    ck_assert_int_eq(clr_process_open(path, NULL, NULL, problems, &process, &error), CLR_OK);
    ck_assert_uint_gt(clr_process_info(process)->missing_bytes, 0);
    ck_assert_uint_eq(clr_problems_count(problems), 2);
    ck_assert_ptr_nonnull(strstr(clr_problems_at(problems, 0)->message, "compressed file is cut"));
    ck_assert_ptr_nonnull(strstr(clr_problems_at(problems, 1)->message, "the file is cut"));
    ck_assert(clr_problems_incomplete(problems));
    clr_process_close(process);
    clr_problems_destroy(problems);
    close(fd);
    free(small);
    free(bytes);
}
END_TEST

START_TEST(zstd_cancelled)
{
    size_t size, packed;
    uint8_t *bytes = big_core(&size), *small = compress(bytes, size, 1, &packed);
    char path[CORE_PATH];
    int fd = core_open_bytes(small, packed, path);
    uint64_t live = clr_alloc_live();
    struct clr_process *process;
    struct watch watch = {.stop_after = 1};
    struct clr_job job = {.poll = watch_poll, .context = &watch};
    struct clr_error error = {0};
    ck_assert_int_eq(clr_process_open(path, NULL, &job, NULL, &process, &error), CLR_CANCELLED);
    ck_assert_ptr_null(process);
    ck_assert_uint_eq(clr_alloc_live(), live);
    check_lack_of_memory(small, packed, NULL);
    close(fd);
    free(small);
    free(bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core damage");
    TCase *tests = tcase_create("core damage");
    tcase_set_timeout(tests, 200);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, cut_at_every_byte, 0, 2);
    tcase_add_loop_test(tests, every_byte_changed, 0, 2);
    tcase_add_test(tests, random_damage);
    tcase_add_loop_test(tests, no_memory, 0, 2);
    tcase_add_test(tests, many_notes_on_one_place);
    tcase_add_test(tests, large_claims);
    tcase_add_loop_test(tests, zstd, 1, 4);
    tcase_add_test(tests, zstd_refused);
    tcase_add_test(tests, zstd_cut);
    tcase_add_test(tests, zstd_cancelled);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
