/*
 * Images: by NT_FILE, by the loader's list, by their headers; symbols; files on disk that stand in
 * for what the core does not hold, and files that must not.
 */
#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/process.h"
#include "core_builder.h"
#include "image_builder.h"

enum { PAGE = 4096, CONSTANTS = 3 * PAGE, DATA = 600 };

static const uint64_t base = 0x40000000; /* fits in 32 bits */
static const uint8_t build_id[20] = {0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
static const uint8_t other_id[20] = {0x12, 0x34};
static uint8_t constants[CONSTANTS], data[DATA];
static char folder[] = "/tmp/clr-images-XXXXXX";
static char library[64]; /* the path of the mapped library: in FOLDER/home */

static const struct image_symbol symbols[] = {
    {"DotNetRuntimeContractDescriptor", 16, 40},
    {"g_dacTable", 128, 8},
    {"alpha", 200, 4},
    {"beta", 204, 4},
    {"gamma", 208, 1},
};
static const struct image_pointer pointers[] = {
    {16, IMAGE_CONSTANT + 0x1234}, {24, IMAGE_DATA + 64}, {128, IMAGE_DATA + 8}, {592, 5}};

static struct image_spec default_spec(void)
{
    return (struct image_spec){
        .word = 8,
        .machine = EM_X86_64,
        .build_id = build_id,
        .build_id_size = sizeof build_id,
        .soname = "libruntime.so",
        .constants = constants,
        .constants_size = sizeof constants,
        .data = data,
        .data_size = sizeof data,
        .symbols = symbols,
        .symbol_count = sizeof symbols / sizeof *symbols,
        .pointers = pointers,
        .pointer_count = sizeof pointers / sizeof *pointers,
        .relocation = R_X86_64_RELATIVE,
    };
}

static void make_folder(const char *path)
{
    char part[256];
    for (size_t i = 1; path[i - 1]; i++) {
        if (path[i] == '/' || path[i] == 0) {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            mkdir(part, 0700);
        }
    }
}

static void write_file(const char *path, const void *bytes, size_t size)
{
    char parent[256];
    snprintf(parent, sizeof parent, "%s", path);
    *strrchr(parent, '/') = 0;
    make_folder(parent);
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

static void setup(void)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(library, sizeof library, "%s/home/libruntime.so", folder);
    for (size_t i = 0; i < sizeof constants; i++)
        constants[i] = (uint8_t)(i * 13 + (i >> 7));
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 5 + 1);
}

static void teardown(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    ck_assert_int_eq(system(command), 0);
}

struct opened {
    int fd;
    char path[CORE_PATH];
    struct clr_process *process;
    struct clr_problems *problems;
    const struct clr_image *images;
    size_t image_count;
};

static void open_core(struct opened *o, struct core *core, const struct clr_options *options)
{
    struct clr_error error = {0};
    o->fd = core_open(core, o->path);
    core_destroy(core);
    o->problems = clr_problems_create();
    enum clr_status status =
        clr_process_open(o->path, options, NULL, o->problems, &o->process, &error);
    ck_assert_msg(status == CLR_OK, "%s", error.text);
    o->image_count = clr_process_images(o->process, &o->images);
}

static void close_core(struct opened *o)
{
    clr_process_close(o->process);
    clr_problems_destroy(o->problems);
    close(o->fd);
}

static bool has_problem(const struct opened *o, const char *text)
{
    for (size_t i = 0; i < clr_problems_count(o->problems); i++)
        if (strstr(clr_problems_at(o->problems, i)->message, text))
            return true;
    return false;
}

/* What a core holds of the mapped library. */
enum keep { KEEP_ALL, KEEP_FIRST_PAGE, KEEP_NOTHING };

static void map(struct core *core, const struct image_spec *spec, const struct image *image,
                const char *path, enum keep keep)
{
    uint64_t constant = image->writable_offset, writable = image->writable_vaddr;
    uint64_t saved = keep == KEEP_ALL ? constant : keep == KEEP_FIRST_PAGE ? PAGE : 0;
    uint64_t rounded = (image->writable_size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint8_t *loaded = image_loaded(spec, image, base);
    core_add_file(core, base, base + constant, 0, path);
    core_add_file(core, base + writable, base + writable + rounded, image->writable_offset, path);
    core_add_memory(core, base, image->bytes, saved, constant, PF_R);
    core_add_memory(core, base + writable, loaded, keep == KEEP_ALL ? image->writable_size : 0,
                    rounded, PF_R | PF_W);
    free(loaded);
}

static struct core *core_with(const struct image_spec *spec, const struct image *image,
                              const char *path, enum keep keep)
{
    struct core *core = core_create(spec->word, spec->big_endian, spec->machine);
    map(core, spec, image, path, keep);
    return core;
}

static void check_symbols(const struct opened *o, const struct image *image)
{
    uint64_t address, size;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        ck_assert(clr_image_symbol(o->process, &o->images[0], symbols[i].name, &address, &size));
        ck_assert_uint_eq(address, base + image->data_vaddr + symbols[i].offset);
        ck_assert_uint_eq(size, symbols[i].size);
    }
    ck_assert(!clr_image_symbol(o->process, &o->images[0], "delta", &address, &size));
    ck_assert(!clr_image_symbol(o->process, &o->images[0], "", &address, &size));
}

/* --- In the core ------------------------------------------------------------------------------ */

static const struct {
    unsigned word;
    bool big;
    uint16_t machine;
    uint32_t relocation;
} targets[] = {
    {8, false, EM_X86_64, R_X86_64_RELATIVE},  {8, false, EM_AARCH64, R_AARCH64_RELATIVE},
    {8, true, EM_AARCH64, R_AARCH64_RELATIVE}, {4, false, EM_386, R_386_RELATIVE},
    {4, true, EM_ARM, R_ARM_RELATIVE},
};

static struct image_spec spec_of(int target)
{
    struct image_spec spec = default_spec();
    spec.word = targets[target].word;
    spec.big_endian = targets[target].big;
    spec.machine = targets[target].machine;
    spec.relocation = targets[target].relocation;
    return spec;
}

START_TEST(all_in_the_core)
{
    struct image_spec spec = spec_of(_i);
    spec.bss_size = 5 * PAGE;
    struct image image = image_build(&spec);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_ALL), NULL);
    ck_assert_uint_eq(o.image_count, 1);
    const struct clr_image *found = &o.images[0];
    ck_assert_str_eq(found->path, library);
    ck_assert(found->is_elf);
    ck_assert_uint_eq(found->start, base);
    ck_assert_uint_eq(found->end, base + image.end); /* the bss belongs to it */
    ck_assert_ptr_eq(clr_image_at(o.process, base + image.end - 1), found);
    ck_assert_uint_eq(found->bias, base);
    ck_assert_uint_eq(found->dynamic, base + image.dynamic_vaddr);
    ck_assert_uint_eq(found->build_id_size, sizeof build_id);
    ck_assert_mem_eq(found->build_id, build_id, sizeof build_id);
    check_symbols(&o, &image);
    close_core(&o);
    image_free(&image);
}
END_TEST

/* glibc relocates the addresses in the dynamic section, musl does not. */
START_TEST(relocated_dynamic_section)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    uint8_t *loaded = image_loaded(&spec, &image, base);
    for (size_t i = 0; i < 3; i++) {
        uint64_t value;
        memcpy(&value, loaded + 16 * i + 8, 8);
        value += base;
        memcpy(loaded + 16 * i + 8, &value, 8);
    }
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_file(core, base, base + image.writable_offset, 0, library);
    core_add_memory(core, base, image.bytes, image.writable_offset, image.writable_offset, PF_R);
    core_add_memory(core, base + image.writable_vaddr, loaded, image.writable_size,
                    image.writable_size, PF_R | PF_W);
    free(loaded);
    struct opened o;
    open_core(&o, core, NULL);
    check_symbols(&o, &image);
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(one_path_mapped_twice)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    struct core *core = core_with(&spec, &image, library, KEEP_ALL);
    uint64_t second = base + 0x1000000;
    core_add_file(core, second, second + image.writable_offset, 0, library);
    core_add_memory(core, second, image.bytes, PAGE, image.writable_offset, PF_R);
    /* Another file between the two parts of the first, and one that is no image. */
    core_add_file(core, base + 0x100000, base + 0x101000, 0, "/usr/share/icudt.dat");
    core_add_memory(core, base + 0x100000, constants, PAGE, PAGE, PF_R);
    struct opened o;
    open_core(&o, core, NULL);
    ck_assert_uint_eq(o.image_count, 3);
    ck_assert_uint_eq(o.images[0].bias, base);
    ck_assert_uint_eq(o.images[2].bias, second);
    ck_assert_str_eq(o.images[2].path, library);
    ck_assert(!o.images[1].is_elf);
    ck_assert_uint_eq(o.images[1].bias, o.images[1].start);
    ck_assert_int_eq(o.images[1].source, CLR_SOURCE_CORE);
    close_core(&o);
    image_free(&image);
}
END_TEST

/* A chain of the loader, with an image that no mapping names, and a tail that bites. */
START_TEST(loader_list)
{
    struct image_spec spec = default_spec(), vdso = default_spec();
    uint64_t list = 0x7000000, at = 0x60000000, w = 8;
    spec.debug = list;
    vdso.symbol_count = 1;
    struct image image = image_build(&spec), second = image_build(&vdso);
    uint8_t *loaded = image_loaded(&vdso, &second, at);
    struct core *core = core_with(&spec, &image, library, KEEP_ALL);
    uint8_t memory[512] = {0};
    core_put(core, memory + w, list + 100, w); /* r_map */
    core_put(core, memory + 100, base, w);     /* the library's entry */
    core_put(core, memory + 100 + w, list + 400, w);
    core_put(core, memory + 100 + 2 * w, base + image.dynamic_vaddr, w);
    core_put(core, memory + 100 + 3 * w, list + 200, w);
    core_put(core, memory + 200, at, w); /* one without a mapping */
    core_put(core, memory + 200 + w, list + 300, w);
    core_put(core, memory + 200 + 2 * w, at + second.dynamic_vaddr, w);
    core_put(core, memory + 200 + 3 * w, list + 100, w);
    memcpy(memory + 300, "linux-vdso.so.1", 16);
    core_add_memory(core, list, memory, sizeof memory, sizeof memory, PF_R | PF_W);
    core_add_memory(core, at, second.bytes, second.writable_offset, second.writable_offset, PF_R);
    core_add_memory(core, at + second.writable_vaddr, loaded, second.writable_size,
                    second.writable_size, PF_R | PF_W);
    free(loaded);
    struct opened o;
    open_core(&o, core, NULL);
    ck_assert_uint_eq(o.image_count, 2);
    ck_assert_str_eq(o.images[0].path, library);
    ck_assert_str_eq(o.images[1].path, "linux-vdso.so.1");
    ck_assert_uint_eq(o.images[1].start, at);
    uint64_t address, size;
    ck_assert(clr_image_symbol(o.process, &o.images[1], symbols[0].name, &address, &size));
    ck_assert_uint_eq(address, at + second.data_vaddr + symbols[0].offset);
    close_core(&o);
    image_free(&image);
    image_free(&second);
}
END_TEST

/* A core of gdb that was cut has lost its notes. */
/* A mapping whose image the loader names otherwise: its bytes come from nowhere. */
START_TEST(renamed_by_the_loader)
{
    struct image_spec spec = default_spec();
    uint64_t list = 0x7000000, at = 0x60000000, w = 8, got;
    spec.debug = list;
    struct image image = image_build(&spec);
    struct core *core = core_with(&spec, &image, library, KEEP_ALL);
    uint8_t memory[512] = {0}, byte;
    core_put(core, memory + w, list + 100, w);
    core_put(core, memory + 100, at, w);
    core_put(core, memory + 100 + w, list + 300, w);
    core_put(core, memory + 100 + 2 * w, at + 0x100, w); /* its dynamic section */
    memcpy(memory + 300, "/lib/named.so", 14);
    core_add_memory(core, list, memory, sizeof memory, sizeof memory, PF_R | PF_W);
    core_add_file(core, at, at + PAGE, 0, "anonymous");
    struct opened o;
    open_core(&o, core, NULL);
    ck_assert_str_eq(clr_image_at(o.process, at)->path, "/lib/named.so");
    ck_assert_ptr_null(clr_view_constant(o.process, at, 1, &got));
    ck_assert(!clr_read_constant(o.process, at, &byte, 1));
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(found_by_headers)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    uint8_t *loaded = image_loaded(&spec, &image, base);
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_memory(core, 0x10000, constants, PAGE, PAGE, PF_R);
    core_add_memory(core, base, image.bytes, image.writable_offset, image.writable_offset, PF_R);
    core_add_memory(core, base + image.writable_vaddr, loaded, image.writable_size,
                    image.writable_size, PF_R | PF_W);
    free(loaded);
    struct opened o;
    open_core(&o, core, NULL);
    ck_assert_uint_eq(o.image_count, 1);
    ck_assert_str_eq(o.images[0].path, "libruntime.so");
    check_symbols(&o, &image);
    ck_assert(has_problem(&o, "note of mapped files is missing"));
    close_core(&o);
    image_free(&image);
}
END_TEST

/* --- A file stands in ------------------------------------------------------------------------- */

static void check_stands_in(const struct opened *o, const struct image_spec *spec,
                            const struct image *image, const char *how)
{
    const struct clr_image *found = &o->images[0];
    uint8_t bytes[CONSTANTS], *loaded = image_loaded(spec, image, base);
    ck_assert_int_eq(found->source, CLR_SOURCE_FILE);
    ck_assert_str_eq(found->verified, how);
    ck_assert_uint_ne(found->file, 0);
    ck_assert(clr_read(o->process, base + image->constants_vaddr, bytes, sizeof bytes));
    ck_assert_mem_eq(bytes, constants, sizeof constants);
    /* Writable data never comes from a file, however long the file is. */
    ck_assert(!clr_read(o->process, base + image->data_vaddr, bytes, 1));
    ck_assert(!clr_read(o->process, base + image->writable_vaddr, bytes, 1));
    check_symbols(o, image);
    /* As the loader made it, when asked for by name; at odd places too. */
    for (uint64_t at = 0; at < DATA; at += 7) {
        size_t size = DATA - at < 50 ? (size_t)(DATA - at) : 50;
        ck_assert(
            clr_file_relocated(o->process, found, base + image->data_vaddr + at, bytes, size));
        ck_assert_mem_eq(bytes, loaded + image->data_vaddr - image->writable_vaddr + at, size);
    }
    ck_assert(!clr_file_relocated(o->process, found, base + image->end, bytes, 1));
    ck_assert(!clr_file_relocated(o->process, found, base + image->end - 4, bytes, 8));
    ck_assert(!clr_file_relocated(o->process, found, 0, bytes, 1));
    uint64_t rounded = (image->writable_size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    ck_assert_uint_eq(clr_process_info(o->process)->missing_bytes, rounded);
    free(loaded);
}

/* A single-file application: what is packed behind the executable's own parts is mapped by itself
 * and has no headers that tell. The build id of the executable speaks for it. */
START_TEST(what_an_executable_packs_stands_in_too)
{
    enum { PACKED = 2 * PAGE };
    const bool other = _i != 0; /* another build: refused */
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    const uint64_t packed = base + 0x1000000;
    uint64_t offset = (image.size + PAGE - 1) & ~(uint64_t)(PAGE - 1);
    uint8_t *file = calloc(1, offset + PACKED), got[PACKED];
    ck_assert_ptr_nonnull(file);
    memcpy(file, image.bytes, image.size);
    memset(file + offset, 0x5a, PACKED);
    struct core *core = core_with(&spec, &image, library, KEEP_FIRST_PAGE);
    core_add_file(core, packed, packed + PACKED, offset, library);
    core_add_memory(core, packed, NULL, 0, PACKED, PF_R);
    uint8_t *id = memmem(file, image.size, build_id, sizeof build_id);
    ck_assert_ptr_nonnull(id);
    if (other)
        id[0] ^= 1;
    write_file(library, file, offset + PACKED);
    struct opened o;
    open_core(&o, core, NULL);
    const struct clr_image *found = clr_image_at(o.process, packed);
    ck_assert_ptr_nonnull(found);
    ck_assert(!found->is_elf);
    ck_assert_int_eq(found->source == CLR_SOURCE_FILE, !other);
    ck_assert_int_eq(clr_read(o.process, packed, got, PACKED), !other);
    if (!other) {
        ck_assert_str_eq(found->verified, "build_id");
        ck_assert_mem_eq(got, file + offset, PACKED);
    }
    close_core(&o);
    image_free(&image);
    free(file);
}
END_TEST

START_TEST(file_by_build_id)
{
    struct image_spec spec = spec_of(_i / 2);
    spec.packed = _i & 1;
    if (spec.word == 4 && !spec.packed)
        return; /* the builder knows no DT_REL */
    struct image image = image_build(&spec);
    write_file(library, image.bytes, image.size);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    check_stands_in(&o, &spec, &image, "build_id");
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(another_relocation_is_refused)
{
    struct image_spec spec = default_spec();
    spec.relocation = R_X86_64_GLOB_DAT;
    struct image image = image_build(&spec);
    write_file(library, image.bytes, image.size);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    uint8_t bytes[8];
    uint64_t at = base + image.data_vaddr;
    ck_assert(!clr_file_relocated(o.process, &o.images[0], at + 16, bytes, 8));
    ck_assert(!clr_file_relocated(o.process, &o.images[0], at + 23, bytes, 8));
    ck_assert(clr_file_relocated(o.process, &o.images[0], at + 32, bytes, 8)); /* none there */
    ck_assert_mem_eq(bytes, data + 32, 8);
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(where_it_is_looked_for)
{
    static const char *const places[] = {"root%s",
                                         "mods%s",
                                         "mods/libruntime.so",
                                         "mods/a/b/c/libruntime.so",
                                         "mods/.build-id/ab/cd030405060708090a0b0c0d0e000000000000",
                                         NULL};
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    char name[256], root[64], modules[64], none[64];
    snprintf(root, sizeof root, "%s/root", folder);
    snprintf(modules, sizeof modules, "%s/mods", folder);
    snprintf(none, sizeof none, "%s/none", folder);
    make_folder(root);
    make_folder(modules);
    if (places[_i]) {
        int at = snprintf(name, sizeof name, "%s/", folder);
        snprintf(name + at, sizeof name - (size_t)at, places[_i], "/opt/app/libruntime.so");
        write_file(name, image.bytes, image.size);
    }
    char *folders[] = {none, modules};
    struct clr_options options = {.modules = folders, .module_count = 2, .sysroot = root};
    struct opened o;
    open_core(&o, core_with(&spec, &image, "/opt/app/libruntime.so", KEEP_FIRST_PAGE), &options);
    if (places[_i]) {
        check_stands_in(&o, &spec, &image, "build_id");
    } else {
        ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
        ck_assert_ptr_null(o.images[0].verified);
        uint8_t byte;
        ck_assert(!clr_read_u8(o.process, base + PAGE, &byte));
        ck_assert(!clr_file_relocated(o.process, &o.images[0], base + image.data_vaddr, &byte, 1));
    }
    ck_assert_int_eq(has_problem(&o, "/none of option 'modules' cannot be read"), _i != 0);
    close_core(&o);
    image_free(&image);
}
END_TEST

static enum clr_severity severity_of(const struct opened *o, const char *text)
{
    for (size_t i = 0; i < clr_problems_count(o->problems); i++)
        if (strstr(clr_problems_at(o->problems, i)->message, text))
            return clr_problems_at(o->problems, i)->severity;
    ck_abort_msg("no problem has '%s'", text);
    return CLR_ERROR;
}

/* This machine's own file at the path of the process's: it is taken unless another root is given,
 * and that it is another library is no more than a fact. */
START_TEST(the_own_path)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    char path[128], root[64];
    snprintf(path, sizeof path, "%s/own/libruntime.so", folder);
    snprintf(root, sizeof root, "%s/root", folder);
    make_folder(root);
    write_file(path, image.bytes, image.size);
    struct clr_options plain = {0}, rooted = {.sysroot = root};
    struct opened o;
    open_core(&o, core_with(&spec, &image, path, KEEP_FIRST_PAGE), &plain);
    check_stands_in(&o, &spec, &image, "build_id");
    close_core(&o);
    open_core(&o, core_with(&spec, &image, path, KEEP_FIRST_PAGE), &rooted);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);

    struct image_spec other = default_spec();
    uint8_t id[20];
    ck_assert_uint_le(spec.build_id_size, sizeof id);
    memcpy(id, spec.build_id, spec.build_id_size);
    id[0] ^= 0xff;
    other.build_id = id;
    struct image another = image_build(&other);
    write_file(path, another.bytes, another.size);
    open_core(&o, core_with(&spec, &image, path, KEEP_FIRST_PAGE), &plain);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert_int_eq(severity_of(&o, "build id"), CLR_INFO);
    close_core(&o);
    char *folders[] = {root};
    struct clr_options given = {.modules = folders, .module_count = 1};
    snprintf(path, sizeof path, "%s/libruntime.so", root);
    write_file(path, another.bytes, another.size);
    open_core(&o, core_with(&spec, &image, "/opt/app/libruntime.so", KEEP_FIRST_PAGE), &given);
    ck_assert_int_eq(severity_of(&o, "build id"), CLR_WARNING);
    close_core(&o);
    image_free(&image);
    image_free(&another);
}
END_TEST

/* Of several that could be it, the one in a folder of the same name is tried first. */
START_TEST(the_likelier_of_several)
{
    struct image_spec spec = default_spec();
    char name[256], modules[64];
    snprintf(modules, sizeof modules, "%s/mods", folder);
    spec.build_id_size = 0;
    struct image image = image_build(&spec);
    static const char *const versions[] = {"8.0.1", "9.0.2", "10.0.3"};
    for (size_t i = 0; i < 3; i++) {
        image.bytes[image.constants_vaddr] = (uint8_t)(0xa0 + i);
        snprintf(name, sizeof name, "%s/shared/%s/libruntime.so", modules, versions[i]);
        write_file(name, image.bytes, image.size);
    }
    char *folders[] = {modules};
    struct clr_options options = {.modules = folders, .module_count = 1};
    for (size_t i = 0; i < 3; i++) {
        struct opened o;
        uint8_t byte;
        snprintf(name, sizeof name, "/opt/shared/%s/libruntime.so", versions[i]);
        open_core(&o, core_with(&spec, &image, name, KEEP_FIRST_PAGE), &options);
        ck_assert_int_eq(o.images[0].source, CLR_SOURCE_FILE);
        ck_assert(clr_read_u8(o.process, base + image.constants_vaddr, &byte));
        ck_assert_uint_eq(byte, 0xa0 + i);
        close_core(&o);
    }
    image_free(&image);
}
END_TEST

START_TEST(a_file_given_as_module)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    write_file(library, image.bytes, image.size);
    char *files[] = {library};
    struct clr_options options = {.modules = files, .module_count = 1};
    struct opened o;
    open_core(&o, core_with(&spec, &image, "/opt/app/libruntime.so", KEEP_FIRST_PAGE), &options);
    check_stands_in(&o, &spec, &image, "build_id");
    close_core(&o);
    /* By a name without any folder. */
    char home[64], old[256];
    snprintf(home, sizeof home, "%s/home", folder);
    ck_assert_ptr_nonnull(getcwd(old, sizeof old));
    ck_assert_int_eq(chdir(home), 0);
    files[0] = "libruntime.so";
    open_core(&o, core_with(&spec, &image, "/opt/app/libruntime.so", KEEP_FIRST_PAGE), &options);
    check_stands_in(&o, &spec, &image, "build_id");
    close_core(&o);
    ck_assert_int_eq(chdir(old), 0);
    image_free(&image);
}
END_TEST

START_TEST(wrong_build_id)
{
    struct image_spec spec = default_spec(), wrong = default_spec();
    wrong.build_id = other_id;
    struct image image = image_build(&spec), bad = image_build(&wrong);
    char good[256], modules[64];
    snprintf(modules, sizeof modules, "%s/mods", folder);
    snprintf(good, sizeof good, "%s/mods/z/libruntime.so", folder);
    make_folder(modules);
    write_file(library, bad.bytes, bad.size);
    char *folders[] = {modules};
    struct clr_options options = {.modules = folders, .module_count = 1};
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), &options);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert(has_problem(&o, library));
    ck_assert(has_problem(&o, "its build id is 1234000000000000000000000000000000000000, that of "
                              "the mapped one abcd030405060708090a0b0c0d0e000000000000"));
    close_core(&o);
    /* A better one elsewhere: nothing to complain of. */
    write_file(good, image.bytes, image.size);
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), &options);
    check_stands_in(&o, &spec, &image, "build_id");
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
    image_free(&image);
    image_free(&bad);
}
END_TEST

START_TEST(without_build_id)
{
    struct image_spec spec = default_spec();
    spec.build_id_size = 0;
    struct image image = image_build(&spec);
    write_file(library, image.bytes, image.size);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    check_stands_in(&o, &spec, &image, "layout");
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
    /* Nothing to compare: used, and said; not if the file had been deleted. */
    open_core(&o, core_with(&spec, &image, library, KEEP_NOTHING), NULL);
    check_stands_in(&o, &spec, &image, "layout");
    ck_assert(has_problem(&o, "by its name and layout alone"));
    close_core(&o);
    char deleted[128];
    snprintf(deleted, sizeof deleted, "%s (deleted)", library);
    open_core(&o, core_with(&spec, &image, deleted, KEEP_NOTHING), NULL);
    ck_assert_str_eq(o.images[0].path, library);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert(has_problem(&o, "had been deleted"));
    close_core(&o);
    open_core(&o, core_with(&spec, &image, deleted, KEEP_FIRST_PAGE), NULL);
    check_stands_in(&o, &spec, &image, "layout");
    close_core(&o);
    /* Other contents; another layout. */
    image.bytes[300] ^= 1;
    write_file(library, image.bytes, image.size);
    image.bytes[300] ^= 1;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert(has_problem(&o, "its contents differ"));
    close_core(&o);
    struct image_spec longer = spec;
    longer.constants_size = PAGE;
    struct image other = image_build(&longer);
    write_file(library, other.bytes, other.size);
    open_core(&o, core_with(&spec, &image, library, KEEP_NOTHING), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert(has_problem(&o, "its headers put its parts elsewhere"));
    close_core(&o);
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    ck_assert(has_problem(&o, "its program headers differ"));
    close_core(&o);
    write_file(library, "no image at all", 15);
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    close_core(&o);
    image_free(&image);
    image_free(&other);
}
END_TEST

/* Constants that the program wrote to lie in a row of their own: the file is wrong there. */
START_TEST(a_written_page_of_constants)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    uint64_t third = base + image.constants_vaddr + PAGE, end = base + image.writable_offset;
    write_file(library, image.bytes, image.size);
    bool by_createdump = _i == 0;
    struct core *core = core_create(8, false, EM_X86_64);
    uint64_t registers[27] = {0};
    if (!by_createdump)
        core_add_thread(core, 1, 0, registers, 27);
    core_add_auxv(core, AT_PAGESZ, PAGE);
    core_add_file(core, base, third, 0, library);
    core_add_file(core, third, third + PAGE, third - base, library);
    core_add_file(core, third + PAGE, end, third + PAGE - base, library);
    if (by_createdump)
        core_add_thread(core, 1, 0, registers, 27);
    core_add_memory(core, base, image.bytes, PAGE, PAGE, PF_R);
    if (_i == 2) { /* the kernel saves it */
        uint8_t page[PAGE];
        memcpy(page, image.bytes + (third - base), PAGE);
        page[8] ^= 0xff;
        core_add_memory(core, third, page, PAGE, PAGE, PF_R);
    }
    struct opened o;
    open_core(&o, core, NULL);
    uint8_t byte = 0;
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_FILE);
    ck_assert(clr_read_u8(o.process, third - 1, &byte));
    ck_assert(clr_read_u8(o.process, third + PAGE, &byte));
    bool there = clr_read_u8(o.process, third + 8, &byte);
    ck_assert_int_eq(there, !by_createdump);
    if (there)
        ck_assert_uint_eq(byte, image.bytes[third - base + 8] ^ (_i == 2 ? 0xff : 0));
    close_core(&o);
    image_free(&image);
}
END_TEST

/* However NT_FILE counts its offsets. */
START_TEST(units_of_offsets)
{
    static const unsigned layouts[] = {0, CORE_BYTE_OFFSETS, CORE_FILE_UNIT_1};
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    uint64_t middle = base + 2 * PAGE, end = base + image.writable_offset;
    write_file(library, image.bytes, image.size);
    struct core *core = core_create(8, false, EM_X86_64);
    core_set_layout(core, layouts[_i]);
    core_add_file(core, base, middle, 0, library);
    core_add_file(core, middle, end, middle - base, library);
    core_add_memory(core, base, image.bytes, PAGE, middle - base, PF_R);
    core_add_memory(core, middle, image.bytes + (middle - base), PAGE, end - middle, PF_R);
    struct opened o;
    open_core(&o, core, NULL);
    uint8_t bytes[CONSTANTS];
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_FILE);
    ck_assert(clr_read(o.process, base + image.constants_vaddr, bytes, sizeof bytes));
    ck_assert_mem_eq(bytes, constants, sizeof constants);
    ck_assert_uint_eq(clr_problems_count(o.problems), 0);
    close_core(&o);
    image_free(&image);
}
END_TEST

/* Data that is read-only after relocation is still data; and what the core says was mapped
 * writable is not constant, whatever the file says. */
START_TEST(rights_of_both_count)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    uint64_t writable = base + image.writable_vaddr, third = base + image.constants_vaddr + PAGE;
    write_file(library, image.bytes, image.size);
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_file(core, base, third, 0, library);
    core_add_file(core, third, third + PAGE, third - base, library);
    core_add_file(core, third + PAGE, base + image.writable_offset, third + PAGE - base, library);
    core_add_file(core, writable, writable + PAGE, image.writable_offset, library);
    core_add_memory(core, base, image.bytes, PAGE, third - base, PF_R);
    core_add_memory(core, third, NULL, 0, PAGE, PF_R | PF_W);
    core_add_memory(core, third + PAGE, image.bytes + (third + PAGE - base), 16, 16, PF_R);
    core_add_memory(core, writable, NULL, 0, PAGE, PF_R);
    struct opened o;
    open_core(&o, core, NULL);
    uint8_t byte;
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_FILE);
    ck_assert(clr_read_u8(o.process, third - 1, &byte));
    ck_assert(!clr_read_u8(o.process, third, &byte));
    ck_assert(!clr_read_u8(o.process, third + PAGE - 1, &byte));
    ck_assert(!clr_read_u8(o.process, writable, &byte));
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(rewritten_while_open)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    write_file(library, image.bytes, image.size);
    ck_assert_int_eq(utimensat(AT_FDCWD, library, times, 0), 0);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    write_file(library, image.bytes, image.size); /* as long as it was, and written later */
    uint64_t got;
    ck_assert_ptr_null(clr_view(o.process, base + image.constants_vaddr, 8, &got));
    uint8_t bytes[8];
    ck_assert(!clr_file_relocated(o.process, &o.images[0], base + image.data_vaddr, bytes, 8));
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(replaced_while_open)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    write_file(library, image.bytes, image.size);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_FILE);
    ck_assert_int_eq(truncate(library, 100), 0);
    uint64_t got;
    ck_assert_ptr_null(clr_view(o.process, base + image.constants_vaddr, 8, &got));
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(paths_that_are_not_opened)
{
    static const char *const paths[] = {"/dev/zero",   "/proc/self/exe", "/memfd:x (deleted)",
                                        "relative.so", "[heap]",         ""};
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    struct opened o;
    open_core(&o, core_with(&spec, &image, paths[_i], KEEP_FIRST_PAGE), NULL);
    ck_assert_uint_eq(o.image_count, 1);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    close_core(&o);
    image_free(&image);
}
END_TEST

START_TEST(a_pipe_is_not_opened)
{
    struct image_spec spec = default_spec();
    struct image image = image_build(&spec);
    char home[64];
    snprintf(home, sizeof home, "%s/home", folder);
    make_folder(home);
    ck_assert_int_eq(mkfifo(library, 0600), 0);
    struct opened o;
    open_core(&o, core_with(&spec, &image, library, KEEP_FIRST_PAGE), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    close_core(&o);
    image_free(&image);
}
END_TEST

/* --- Managed images --------------------------------------------------------------------------- */

static void put32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

enum { PE_SIZE = 0x3200, PE_IMAGE = 0x30000 };

/* .text: file 0x200.. at 0x10200; .data: file 0x2200.. at 0x22200, writable. */
static void make_managed(uint8_t file[PE_SIZE])
{
    for (size_t i = 0; i < PE_SIZE; i++)
        file[i] = (uint8_t)(i * 11 + (i >> 8));
    memset(file, 0, 0x200);
    memcpy(file, "MZ", 2);
    put32(file + 0x3c, 0x80);
    memcpy(file + 0x80, "PE\0", 4);
    put32(file + 0x84, 2u << 16 | 0x8664);
    put32(file + 0x94, 0x70); /* size of the optional header */
    put32(file + 0x98, 0x20b);
    put32(file + 0x98 + 56, PE_IMAGE);
    put32(file + 0x98 + 60, 0x200);
    uint8_t *section = file + 0x98 + 0x70;
    put32(section + 8, 0x1f00);
    put32(section + 12, 0x10200);
    put32(section + 16, 0x2000);
    put32(section + 20, 0x200);
    put32(section + 36, 0x60000020);
    section += 40;
    put32(section + 8, 0x2000);
    put32(section + 12, 0x22200);
    put32(section + 16, 0x1000);
    put32(section + 20, 0x2200);
    put32(section + 36, 0xc0000040);
}

static struct core *managed_core(const uint8_t file[PE_SIZE], const char *path, uint64_t flat,
                                 uint64_t loaded, uint64_t saved)
{
    struct core *core = core_create(8, false, EM_X86_64);
    core_add_file(core, flat, flat + 0x4000, 0, path);
    core_add_file(core, loaded, loaded + 0x1000, 0, path);
    core_add_file(core, loaded + 0x10000, loaded + 0x13000, 0, path);
    core_add_file(core, loaded + 0x22000, loaded + 0x24000, 0x2000, path);
    core_add_memory(core, flat, file, saved, 0x4000, PF_R);
    core_add_memory(core, loaded, file, saved, 0x1000, PF_R);
    core_add_memory(core, loaded + 0x10000, file, 0, 0x3000, PF_R | PF_X);
    return core;
}

START_TEST(managed_image)
{
    uint8_t file[PE_SIZE], bytes[PE_SIZE];
    uint64_t flat = 0x10000000, loaded = 0x20000000;
    char path[128];
    snprintf(path, sizeof path, "%s/home/App.dll", folder);
    make_managed(file);
    write_file(path, file, sizeof file);
    struct opened o;
    open_core(&o, managed_core(file, path, flat, loaded, _i ? 0 : 0x1000), NULL);
    ck_assert_uint_eq(o.image_count, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert(!o.images[i].is_elf);
        ck_assert_int_eq(o.images[i].source, CLR_SOURCE_FILE);
        ck_assert_str_eq(o.images[i].verified, "layout");
        ck_assert_uint_eq(o.images[i].file, 1); /* one file for both */
        ck_assert_uint_eq(o.images[i].bias, o.images[i].start);
    }
    ck_assert_uint_eq(o.images[0].end, flat + 0x4000);
    ck_assert_uint_eq(o.images[1].end, loaded + 0x24000);
    ck_assert(clr_read(o.process, flat, bytes, PE_SIZE));
    ck_assert_mem_eq(bytes, file, PE_SIZE);
    ck_assert(!clr_read(o.process, flat + PE_SIZE, bytes, 1)); /* past the end of the file */
    ck_assert_uint_eq(clr_saved_bytes(o.process, flat, flat + 0x4000), PE_SIZE);
    ck_assert(clr_read(o.process, loaded, bytes, 0x1000));
    ck_assert_mem_eq(bytes, file, 0x1000);
    ck_assert(clr_read(o.process, loaded + 0x10200, bytes, 0x2000));
    ck_assert_mem_eq(bytes, file + 0x200, 0x2000);
    /* No PT_LOAD says how it was mapped, but the section is writable. */
    ck_assert(!clr_read(o.process, loaded + 0x22200, bytes, 1));
    ck_assert_int_eq(has_problem(&o, "by its name and layout alone"), _i == 1);
    close_core(&o);
}
END_TEST

START_TEST(another_managed_file)
{
    uint8_t file[PE_SIZE];
    char path[128];
    snprintf(path, sizeof path, "%s/home/App.dll", folder);
    make_managed(file);
    write_file(path, file, sizeof file);
    file[0x88] ^= 1; /* the time stamp, which is a hash of the contents */
    struct opened o;
    open_core(&o, managed_core(file, path, 0x10000000, 0x20000000, 0x1000), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert_int_eq(o.images[1].source, CLR_SOURCE_NONE);
    ck_assert(has_problem(&o, "App.dll is not used: its contents differ"));
    close_core(&o);
    /* Longer than what was mapped. */
    uint8_t longer[PE_SIZE + 0x2000] = {0};
    make_managed(file);
    memcpy(longer, file, sizeof file);
    write_file(path, longer, sizeof longer);
    open_core(&o, managed_core(file, path, 0x10000000, 0x20000000, 0x1000), NULL);
    ck_assert_int_eq(o.images[0].source, CLR_SOURCE_NONE);
    ck_assert(has_problem(&o, "its headers put its parts elsewhere"));
    close_core(&o);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core images");
    TCase *tests = tcase_create("core images");
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, all_in_the_core, 0, sizeof targets / sizeof *targets);
    tcase_add_test(tests, relocated_dynamic_section);
    tcase_add_test(tests, one_path_mapped_twice);
    tcase_add_test(tests, loader_list);
    tcase_add_test(tests, renamed_by_the_loader);
    tcase_add_test(tests, found_by_headers);
    tcase_add_loop_test(tests, what_an_executable_packs_stands_in_too, 0, 2);
    tcase_add_loop_test(tests, file_by_build_id, 0, 2 * sizeof targets / sizeof *targets);
    tcase_add_test(tests, another_relocation_is_refused);
    tcase_add_loop_test(tests, where_it_is_looked_for, 0, 6);
    tcase_add_test(tests, the_own_path);
    tcase_add_test(tests, the_likelier_of_several);
    tcase_add_test(tests, a_file_given_as_module);
    tcase_add_test(tests, wrong_build_id);
    tcase_add_test(tests, without_build_id);
    tcase_add_loop_test(tests, a_written_page_of_constants, 0, 3);
    tcase_add_loop_test(tests, units_of_offsets, 0, 3);
    tcase_add_test(tests, rights_of_both_count);
    tcase_add_test(tests, rewritten_while_open);
    tcase_add_test(tests, replaced_while_open);
    tcase_add_loop_test(tests, paths_that_are_not_opened, 0, 6);
    tcase_add_test(tests, a_pipe_is_not_opened);
    tcase_add_loop_test(tests, managed_image, 0, 2);
    tcase_add_test(tests, another_managed_file);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
