/*
 * PE headers: files, and the two layouts of a loaded image in a process's memory.
 */
#include <check.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/pe.h"
#include "metadata_builder.h"
#include "runtime/metadata.h"

static struct metadata_builder *b;
static struct clr_error error;
static struct clr_pe pe;

static void setup(void)
{
    b = metadata_builder_create();
    METADATA_ROW(b, CLR_TYPEDEF, 0, metadata_string(b, "Node"), 0, 0, 1, 1);
    error = (struct clr_error){0};
}

static void teardown(void)
{
    metadata_builder_destroy(b);
}

static enum clr_status open_file(const uint8_t *bytes, size_t size)
{
    error = (struct clr_error){0};
    enum clr_status status = clr_pe_open_file(&pe, bytes, size, &error);
    if (status != CLR_OK)
        ck_assert(error.text[0] != 0 && error.code == status && pe.section_count == 0);
    return status;
}

START_TEST(file)
{
    size_t size, blob_size;
    const uint8_t *image = metadata_build_image(b, false, _i, &size);
    ck_assert_msg(open_file(image, size) == CLR_OK, "%s", error.text);
    ck_assert(pe.flat);
    ck_assert_uint_eq(pe.base, 0);
    ck_assert_uint_eq(pe.size, size);
    ck_assert_uint_eq(pe.timestamp, 0x12345678);
    ck_assert_uint_eq(pe.section_count, 1);
    ck_assert_uint_eq(pe.size_of_image, 0x2000 + pe.sections[0].raw_size);
    ck_assert_uint_eq(pe.entry_point_token, 0x06000001);
    ck_assert_uint_eq(pe.debug_rva, 0x2008);
    ck_assert_uint_eq(pe.debug_size, 28);
    ck_assert_uint_eq(pe.native_header_rva, 0);
    uint64_t offset;
    ck_assert(clr_pe_offset(&pe, pe.metadata_rva, pe.metadata_size, &offset));
    ck_assert_uint_eq(offset, 0x200 + 72);
    const uint8_t *blob = metadata_build(b, &blob_size);
    ck_assert_uint_eq(pe.metadata_size, blob_size);
    ck_assert_mem_eq(image + offset, blob, blob_size);
}
END_TEST

START_TEST(offsets)
{
    uint64_t offset = 77;
    pe =
        (struct clr_pe){.size = 0x1000,
                        .flat = true,
                        .section_count = 3,
                        .sections = {{0x2000, 0x150, 0x200, 0x200, 0}, /* padded in the file */
                                     {0x4000, 0x800, 0x400, 0x100, 0}, /* zeros behind its bytes */
                                     {0x8000, 0x400, 0xf00, 0x400, 0}}}; /* cut by the file's end */
    ck_assert(clr_pe_offset(&pe, 0x2000, 0x200, &offset) && offset == 0x200);
    ck_assert(clr_pe_offset(&pe, 0x21ff, 1, &offset) && offset == 0x3ff);
    ck_assert(clr_pe_offset(&pe, 0x4040, 0xc0, &offset) && offset == 0x440);
    ck_assert(clr_pe_offset(&pe, 0x8000, 0x100, &offset) && offset == 0xf00);
    offset = 77;
    ck_assert(!clr_pe_offset(&pe, 0x1fff, 1, &offset));
    ck_assert(!clr_pe_offset(&pe, 0x2100, 0x101, &offset)); /* crosses its end */
    ck_assert(!clr_pe_offset(&pe, 0x2200, 1, &offset));
    ck_assert(!clr_pe_offset(&pe, 0x4040, 0xc1, &offset));
    ck_assert(!clr_pe_offset(&pe, 0x4200, 1, &offset));
    ck_assert(!clr_pe_offset(&pe, 0x8000, 0x101, &offset));
    ck_assert(!clr_pe_offset(&pe, 0x2000, UINT32_MAX, &offset));
    ck_assert(!clr_pe_offset(&pe, UINT32_MAX, UINT32_MAX, &offset));
    ck_assert_uint_eq(offset, 77);

    pe.flat = false;
    pe.size = 0x9000;
    ck_assert(clr_pe_offset(&pe, 0x8fff, 1, &offset) && offset == 0x8fff);
    ck_assert(!clr_pe_offset(&pe, 0x8fff, 2, &offset));
    ck_assert(!clr_pe_offset(&pe, UINT32_MAX, UINT32_MAX, &offset));
}
END_TEST

START_TEST(cut_anywhere)
{
    size_t size;
    const uint8_t *image = metadata_build_image(b, false, _i, &size);
    const size_t needed = 0x200 + 72; /* to the end of the CLI header */
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut ? cut : 1); /* of its exact size, for a sanitizer */
        ck_assert_ptr_nonnull(part);
        memcpy(part, image, cut);
        enum clr_status status = open_file(part, cut);
        ck_assert_int_eq(status, cut < needed ? CLR_BAD_DATA : CLR_OK);
        uint64_t offset;
        if (status == CLR_OK)
            ck_assert_int_eq(clr_pe_offset(&pe, pe.metadata_rva, pe.metadata_size, &offset),
                             cut >= needed + pe.metadata_size);
        free(part);
    }
    ck_assert_int_eq(open_file(NULL, 100), CLR_BAD_DATA);
}
END_TEST

START_TEST(every_byte_changed)
{
    size_t size;
    const uint8_t *built = metadata_build_image(b, false, _i, &size);
    uint8_t *image = malloc(size);
    ck_assert_ptr_nonnull(image);
    memcpy(image, built, size);
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    for (size_t i = 0; i < 0x200 + 72; i++)
        for (size_t v = 0; v < sizeof values; v++) {
            image[i] = values[v];
            uint64_t offset;
            if (open_file(image, size) == CLR_OK && pe.metadata_rva &&
                clr_pe_offset(&pe, pe.metadata_rva, pe.metadata_size, &offset))
                ck_assert(offset <= size && pe.metadata_size <= size - offset);
            image[i] = built[i];
        }
    free(image);
}
END_TEST

START_TEST(refusals)
{
    enum { NT = 0x80, OPTIONAL = NT + 24, CLI = OPTIONAL + 112 + 14 * 8 };
    size_t size;
    const uint8_t *built = metadata_build_image(b, false, true, &size);
    uint8_t *image = malloc(size);
    ck_assert_ptr_nonnull(image);

    memcpy(image, built, size);
    memcpy(image,
           "\x7f"
           "E",
           2);
    ck_assert_int_eq(open_file(image, size), CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "7f 45"));

    memcpy(image, built, size);
    image[NT + 1] = 0;
    ck_assert_int_eq(open_file(image, size), CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "no PE signature"));

    memcpy(image, built, size);
    image[NT + 6] = CLR_PE_SECTIONS_MAX + 1;
    ck_assert_int_eq(open_file(image, size), CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "97 sections"));

    memcpy(image, built, size);
    image[OPTIONAL] = 0x0c;
    ck_assert_int_eq(open_file(image, size), CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "0x20c"));

    memcpy(image, built, size);
    image[CLI + 1] = 0x70; /* RVA 0x7000 */
    ck_assert_int_eq(open_file(image, size), CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "0x7000"));

    /* No CLI header is no failure: native images have none. */
    memcpy(image, built, size);
    memset(image + CLI, 0, 8);
    ck_assert_int_eq(open_file(image, size), CLR_OK);
    ck_assert_uint_eq(pe.metadata_rva, 0);
    ck_assert_uint_eq(pe.debug_rva, 0x2008);
    memcpy(image, built, size);
    image[OPTIONAL + 108] = 14; /* as many directories: the CLI header's would be the next */
    ck_assert_int_eq(open_file(image, size), CLR_OK);
    ck_assert_uint_eq(pe.metadata_rva, 0);
    image[OPTIONAL + 108] = 6;
    ck_assert_int_eq(open_file(image, size), CLR_OK);
    ck_assert_uint_eq(pe.debug_rva, 0);
    free(image);
}
END_TEST

/* --- in a process --------------------------------------------------------------------------- */

/* A core with one segment: SAVED of SIZE bytes of an image at BASE. */
static struct clr_process *open_core(const uint8_t *image, uint64_t size, uint64_t saved,
                                     uint64_t base)
{
    char path[] = "/tmp/test_pe_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr load;
    } elf = {
        .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                               EV_CURRENT},
                   .e_type = ET_CORE,
                   .e_machine = EM_X86_64,
                   .e_version = EV_CURRENT,
                   .e_phoff = sizeof(Elf64_Ehdr),
                   .e_ehsize = sizeof(Elf64_Ehdr),
                   .e_phentsize = sizeof(Elf64_Phdr),
                   .e_phnum = 1},
        .load = {.p_type = PT_LOAD,
                 .p_flags = PF_R,
                 .p_offset = sizeof elf,
                 .p_vaddr = base,
                 .p_filesz = saved,
                 .p_memsz = size},
    };
    ck_assert_int_eq(write(fd, &elf, sizeof elf), sizeof elf);
    ck_assert_int_eq(write(fd, image, saved), (ssize_t)saved);
    close(fd);
    struct clr_process *process = NULL;
    struct clr_error failure = {0};
    struct clr_options options = {0};
    enum clr_status status = clr_process_open(path, &options, NULL, NULL, &process, &failure);
    unlink(path);
    ck_assert_msg(status == CLR_OK, "%s", failure.text);
    return process;
}

static const uint64_t BASE = UINT64_C(0x7f1234560000);

START_TEST(loaded)
{
    bool mapped = _i & 1, unknown_size = _i & 2;
    size_t size, blob_size;
    const uint8_t *image = metadata_build_image(b, mapped, true, &size);
    struct clr_process *process = open_core(image, size, size, BASE);
    enum clr_status status =
        clr_pe_open(&pe, process, BASE, unknown_size ? 0 : size, !mapped, &error);
    ck_assert_msg(status == CLR_OK, "%s", error.text);
    ck_assert_uint_eq(pe.base, BASE);
    ck_assert_uint_eq(pe.size, size);
    uint64_t offset, got;
    ck_assert(clr_pe_offset(&pe, pe.metadata_rva, pe.metadata_size, &offset));
    ck_assert_uint_eq(offset, (mapped ? 0x2000 : 0x200) + 72);
    const uint8_t *bytes = clr_view(process, BASE + offset, pe.metadata_size, &got);
    const uint8_t *blob = metadata_build(b, &blob_size);
    ck_assert_uint_eq(got, blob_size);
    ck_assert_mem_eq(bytes, blob, blob_size);
    clr_process_close(process);
}
END_TEST

START_TEST(not_saved)
{
    size_t size;
    const uint8_t *image = metadata_build_image(b, true, true, &size);
    struct clr_process *process = open_core(image, size, 0x2000, BASE);
    ck_assert_int_eq(clr_pe_open(&pe, process, BASE, size, false, &error), CLR_FAULT);
    ck_assert_ptr_nonnull(strstr(error.text, "CLI header"));
    ck_assert_uint_eq(error.address, BASE + 0x2000);
    ck_assert_uint_eq(pe.base, 0);
    error = (struct clr_error){0};
    ck_assert_int_eq(clr_pe_open(&pe, process, UINT64_MAX - 10, 0, false, &error), CLR_FAULT);
    error = (struct clr_error){0};
    ck_assert_int_eq(clr_pe_open(&pe, process, BASE, 0x100, false, &error), CLR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(error.text, "lies behind its 0x100 bytes"));
    clr_process_close(process);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pe");
    TCase *c = tcase_create("pe");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, file, 0, 2);
    tcase_add_test(c, offsets);
    tcase_add_loop_test(c, cut_anywhere, 0, 2);
    tcase_add_loop_test(c, every_byte_changed, 0, 2);
    tcase_add_test(c, refusals);
    tcase_add_loop_test(c, loaded, 0, 4);
    tcase_add_test(c, not_saved);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
