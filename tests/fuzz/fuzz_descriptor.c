/*
 * A descriptor's JSON from a hostile dump. The same bytes are opened as the descriptor of a fake
 * runtime (whose slots lead to a child, to itself and to nothing) and applied as a supplement to
 * a runtime without one. Whatever comes of it must be sorted, unique and consistent, and all memory
 * must be given back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core_builder.h"
#include "descriptor/internal.h"
#include "descriptor_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TABLE_ENTRIES = 129 };
static const uint64_t base = 0x7f0000000000;
static const char child_json[] =
    "{\"types\":{\"Generation\":{\"!\":256,\"StartSegment\":56}},\"globals\":{\"Heaps\":[[0],"
    "\"pointer\"],\"MaxGeneration\":2},\"contracts\":{\"GC\":\"c1\"}}";

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            abort();                                                                               \
    } while (0)

/* A process with one image, which is destroyed. */
static struct clr_process *open_image(struct built_image *image)
{
    char path[CORE_PATH];
    struct clr_process *process = NULL;
    struct clr_error error = {0};
    struct core *core = core_create(8, false, 62);
    built_image_finish(image);
    uint64_t writable = image->size - image->data;
    core_add_auxv(core, 6, 4096); /* AT_PAGESZ */
    core_add_memory(core, image->base, image->bytes, image->data, image->data, 4);
    core_add_memory(core, image->base + image->data, image->bytes + image->data, writable, writable,
                    6);
    core_add_file(core, image->base, image->base + image->data, 0, "/libcoreclr.so");
    core_add_file(core, image->base + image->data, image->base + image->size, image->data,
                  "/libcoreclr.so");
    int file = core_open(core, path);
    const struct clr_options options = {0};
    REQUIRE(file >= 0);
    REQUIRE(clr_process_open(path, &options, NULL, NULL, &process, &error) == CLR_OK);
    close(file);
    core_destroy(core);
    built_image_destroy(image);
    return process;
}

/* A table of variables, each of which holds a pointer to the next. */
static void add_table(struct built_image *image)
{
    uint64_t table = built_image_data(image, NULL, 8 * TABLE_ENTRIES);
    for (uint64_t i = 0; i < TABLE_ENTRIES; i++) {
        uint64_t variable = built_image_data(image, NULL, 64);
        built_image_put_word(image, variable, variable + 64);
        built_image_put_word(image, table + 8 * i, variable);
    }
    built_image_export(image, "g_dacTable", table, 8 * TABLE_ENTRIES);
}

static struct clr_process *process_with(const uint8_t *data, size_t size)
{
    struct built_image *image = built_image_create(base, 8, false);
    uint64_t to_self = built_image_word(image, 0);
    const uint64_t own = built_image_word(image, base);
    uint64_t child = built_image_descriptor(image, child_json, sizeof child_json - 1, &own, 1);
    const uint64_t slots[] = {0, built_image_word(image, child), to_self,
                              built_image_word(image, 0), 0x1000};
    uint64_t at = built_image_descriptor(image, (const char *)data, size, slots, 5);
    built_image_put_word(image, to_self, at);
    built_image_export(image, "DotNetRuntimeContractDescriptor", at, 40);
    add_table(image);
    return open_image(image);
}

static void check_names(const struct clr_descriptor *d)
{
    for (size_t i = 0; i < d->globals.count; i++) {
        const struct clr_global *row = &d->globals.items[i];
        REQUIRE(row->part < d->parts.count && (row->text || clr_has(row->value)));
        REQUIRE(i == 0 || strcmp(row[-1].name, row->name) < 0);
        REQUIRE(clr_descriptor_global(d, row->name) == row);
    }
    for (size_t i = 0; i < d->contracts.count; i++) {
        const struct clr_contract *row = &d->contracts.items[i];
        REQUIRE(row->part < d->parts.count && *row->version);
        REQUIRE(i == 0 || strcmp(row[-1].name, row->name) < 0);
        REQUIRE(clr_descriptor_contract(d, row->name) == row->version);
    }
}

static void check_types(const struct clr_descriptor *d)
{
    size_t fields = 0;
    for (size_t i = 0; i < d->types.count; i++) {
        const struct clr_described_type *row = &d->types.items[i];
        REQUIRE(row->part < d->parts.count && row->first_field == fields);
        REQUIRE(i == 0 || strcmp(row[-1].name, row->name) < 0);
        REQUIRE(clr_descriptor_size(d, row->name) == row->size && row->size != 0);
        for (uint32_t k = 0; k < row->field_count; k++, fields++) {
            const struct clr_described_field *field = &d->fields.items[fields];
            REQUIRE(field->owner == i && field->part < d->parts.count);
            REQUIRE(k == 0 || strcmp(field[-1].name, field->name) < 0);
            REQUIRE(clr_descriptor_offset(d, row->name, field->name) == field->offset);
        }
    }
    REQUIRE(fields == d->fields.count);
}

static void open_as_own(const uint8_t *data, size_t size)
{
    struct clr_process *process = process_with(data, size);
    struct clr_problems *problems = clr_problems_create();
    struct clr_descriptor *d = NULL;
    struct clr_error error = {0};
    const struct clr_options options = {0};
    REQUIRE(problems);
    if (clr_descriptor_open(process, &options, problems, &d, &error) == CLR_OK) {
        check_names(d);
        check_types(d);
    } else {
        REQUIRE(!d && error.text[0]);
    }
    clr_descriptor_close(d);
    clr_problems_destroy(problems);
    clr_process_close(process);
}

static void apply_as_supplement(const struct clr_process *process, const uint8_t *data, size_t size)
{
    const struct clr_embedded shipped[] = {{"fuzzed", (const char *)data, size}, {NULL, NULL, 0}};
    struct clr_descriptor *d = clr_alloc(1, sizeof *d);
    struct clr_problems *problems = clr_problems_create();
    struct clr_error own_error = {0}, error = {0};
    REQUIRE(d && problems);
    d->process = process;
    d->problems = problems;
    clr_process_images(process, &d->image);
    if (clr_supplement_apply(d, NULL, shipped, true, &own_error, &error) == CLR_OK &&
        clr_merge(d, &error) == CLR_OK) {
        check_names(d);
        check_types(d);
    }
    clr_descriptor_close(d);
    clr_problems_destroy(problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct clr_process *bare; /* lives as long as the fuzzer */
    if (!bare) {
        struct built_image *image = built_image_create(base, 8, false);
        add_table(image);
        bare = open_image(image);
    }
    uint64_t before = clr_alloc_live();
    open_as_own(data, size);
    apply_as_supplement(bare, data, size);
    REQUIRE(clr_alloc_live() == before);
    return 0;
}
