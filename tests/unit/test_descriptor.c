/*
 * The contract descriptor: every JSON form and fault, sub-descriptors, several runtimes, what comes
 * from the image's file, supplements, bindings, and each allocation failing.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "descriptor/internal.h"
#include "descriptor_builder.h"
#include "core_builder.h"

enum { IMAGES_MAX = 3 };
static const uint64_t base = 0x7f0000000000, base32 = 0x60000000;
static const char symbol[] = "DotNetRuntimeContractDescriptor";

/* A fake process under way, then open. */
struct target {
    struct built_image *images[IMAGES_MAX];
    const char *paths[IMAGES_MAX];
    bool data_lost[IMAGES_MAX]; /* the writable part is not in the dump */
    size_t image_count;
    uint16_t machine; /* 0: the first image's */
    struct clr_options options;

    struct clr_process *process;
    struct clr_problems *problems;
    struct clr_descriptor *descriptor;
    struct clr_error error;
    enum clr_status status;
};

static struct built_image *add_image(struct target *t, const char *path, uint64_t at, uint8_t word,
                                     bool big_endian)
{
    struct built_image *image = built_image_create(at, word, big_endian);
    t->paths[t->image_count] = path;
    t->images[t->image_count++] = image;
    return image;
}

static void open_process(struct target *t)
{
    struct core_builder *core =
        core_builder_create(t->images[0]->word, t->images[0]->big_endian,
                            t->machine ? t->machine : t->images[0]->machine);
    for (size_t i = 0; i < t->image_count; i++) {
        struct built_image *image = t->images[i];
        uint64_t data = image->size - image->data;
        built_image_finish(image);
        data = image->size - image->data;
        core_builder_load(core, image->base, image->bytes, image->data, image->data, 5);
        core_builder_load(core, image->base + image->data, image->bytes + image->data,
                          t->data_lost[i] ? 0 : data, data, 6);
        core_builder_file(core, image->base, image->base + image->data, 0, t->paths[i]);
        core_builder_file(core, image->base + image->data, image->base + image->size, image->data,
                          t->paths[i]);
    }
    char path[] = "/tmp/test_descriptor.XXXXXX";
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    core_builder_write(core, path);
    core_builder_destroy(core);
    t->problems = clr_problems_create();
    ck_assert_ptr_nonnull(t->problems);
    struct clr_error error = {0};
    clr_process_open(path, &t->options, NULL, t->problems, &t->process, &error);
    unlink(path);
    ck_assert_msg(error.code == CLR_OK, "%s", error.text);
}
