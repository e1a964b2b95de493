/*
 * What the tests of the descriptor share: a fake process of up to three images, opened, with its
 * descriptor; and what is asserted about it.
 */
#ifndef TEST_DESCRIPTOR_TARGET_H
#define TEST_DESCRIPTOR_TARGET_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core_builder.h"
#include "descriptor/internal.h"
#include "descriptor_builder.h"

enum { IMAGES_MAX = 3 };
static const uint64_t base = 0x7f0000000000;
static const char symbol[] = "DotNetRuntimeContractDescriptor";

#define LENGTH(array) (int)(sizeof(array) / sizeof *(array))

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

static inline struct built_image *add_image(struct target *t, const char *path, uint64_t at,
                                            uint8_t word, bool big_endian)
{
    struct built_image *image = built_image_create(at, word, big_endian);
    t->paths[t->image_count] = path;
    t->images[t->image_count++] = image;
    return image;
}

static inline void place_image(struct core *core, const struct built_image *image, const char *path,
                               bool data_lost)
{
    uint64_t data = image->size - image->data;
    core_add_memory(core, image->base, image->bytes, image->data, image->data, 4);
    core_add_memory(core, image->base + image->data, image->bytes + image->data,
                    data_lost ? 0 : data, data, 6);
    core_add_file(core, image->base, image->base + image->data, 0, path);
    core_add_file(core, image->base + image->data, image->base + image->size, image->data, path);
}

static inline void open_process(struct target *t)
{
    struct core *core = core_create(t->images[0]->word, t->images[0]->big_endian,
                                    t->machine ? t->machine : t->images[0]->machine);
    char path[CORE_PATH];
    core_add_auxv(core, 6, 4096); /* AT_PAGESZ */
    for (size_t i = 0; i < t->image_count; i++) {
        built_image_finish(t->images[i]);
        place_image(core, t->images[i], t->paths[i], t->data_lost[i]);
    }
    int file = core_open(core, path);
    ck_assert_int_ge(file, 0);
    core_destroy(core);
    t->problems = clr_problems_create();
    ck_assert_ptr_nonnull(t->problems);
    struct clr_error error = {0};
    clr_process_open(path, &t->options, NULL, t->problems, &t->process, &error);
    close(file);
    ck_assert_msg(error.code == CLR_OK, "%s", error.text);
}

static inline void close_target(struct target *t)
{
    clr_descriptor_close(t->descriptor);
    clr_process_close(t->process);
    clr_problems_destroy(t->problems);
    for (size_t i = 0; i < t->image_count; i++)
        built_image_destroy(t->images[i]);
    *t = (struct target){0};
}

static inline void open_descriptor(struct target *t)
{
    if (!t->process)
        open_process(t);
    t->status =
        clr_descriptor_open(t->process, &t->options, t->problems, &t->descriptor, &t->error);
    ck_assert_int_eq(t->status, t->error.code);
    ck_assert((t->status == CLR_OK) == (t->descriptor != NULL));
}

/* JSON is written here with ' for ". The text lives until the next four calls. */
static inline const char *json(const char *text)
{
    static char texts[4][8192];
    static unsigned next;
    char *out = texts[next++ % 4];
    size_t length = strlen(text);
    ck_assert_uint_lt(length, sizeof texts[0]);
    for (size_t i = 0; i <= length; i++)
        out[i] = text[i] == '\'' ? '"' : text[i];
    return out;
}

static inline uint64_t place(struct built_image *image, const char *text, const uint64_t *slots,
                             uint32_t count)
{
    const char *quoted = json(text);
    return built_image_descriptor(image, quoted, strlen(quoted), slots, count);
}

/* A runtime with the descriptor TEXT, whose slots are 0x1000, 0x1001 …, opened. */
static inline void open_text(struct target *t, const char *text)
{
    static const uint64_t slots[] = {0x1000, 0x1001, 0x1002, 0x1003};
    struct built_image *image = add_image(t, "/opt/libcoreclr.so", base, 8, false);
    built_image_export(image, symbol, place(image, text, slots, 4), 40);
    open_descriptor(t);
}

#define assert_open(t) ck_assert_msg((t)->status == CLR_OK, "%s", (t)->error.text)

#define assert_fails(t, code, part)                                                                \
    do {                                                                                           \
        ck_assert_msg((t)->status == (code), "status %d: %s", (t)->status, (t)->error.text);       \
        ck_assert_msg(strstr((t)->error.text, (part)), "'%s' is not in: %s", (part),               \
                      (t)->error.text);                                                            \
    } while (0)

static inline void assert_clean(const struct target *t)
{
    for (size_t i = 0; i < clr_problems_count(t->problems); i++)
        ck_abort_msg("unexpected problem: %s", clr_problems_at(t->problems, i)->message);
}

/* The only problem, which is of AREA and SEVERITY and tells of PART. */
static inline void assert_problem(const struct target *t, enum clr_severity severity,
                                  const char *area, const char *part)
{
    for (size_t i = 1; i < clr_problems_count(t->problems); i++)
        ck_abort_msg("another problem: %s", clr_problems_at(t->problems, i)->message);
    ck_assert_uint_eq(clr_problems_count(t->problems), 1);
    const struct clr_problem *problem = clr_problems_at(t->problems, 0);
    ck_assert_msg(strstr(problem->message, part), "'%s' is not in: %s", part, problem->message);
    ck_assert_int_eq(problem->severity, severity);
    ck_assert_str_eq(problem->area, area);
}

static inline uint64_t literal(const struct target *t, const char *name)
{
    const struct clr_global *global = clr_descriptor_global(t->descriptor, name);
    ck_assert_msg(global && !global->indirect, "%s", name);
    return global->value;
}

static inline uint64_t variable(const struct target *t, const char *name)
{
    const struct clr_global *global = clr_descriptor_global(t->descriptor, name);
    ck_assert_msg(global && global->indirect, "%s", name);
    return global->value;
}

static inline uint64_t offset(const struct target *t, const char *type, const char *field)
{
    return clr_descriptor_offset(t->descriptor, type, field);
}

/* Opens the descriptor of T again and again, failing at each allocation in turn. */
static inline void fail_each(struct target *t, enum clr_status wanted)
{
    uint64_t before = clr_alloc_live();
    for (uint64_t n = 1;; n++) {
        struct clr_error error = {0};
        struct clr_descriptor *descriptor = NULL;
        uint64_t made = clr_alloc_made();
        clr_alloc_fail_at(n);
        enum clr_status status =
            clr_descriptor_open(t->process, &t->options, NULL, &descriptor, &error);
        clr_alloc_fail_at(0);
        ck_assert_int_eq(status, error.code);
        clr_descriptor_close(descriptor);
        ck_assert_uint_eq(clr_alloc_live(), before);
        if (clr_alloc_made() - made < n) {
            ck_assert_msg(status == wanted, "%s", error.text);
            ck_assert_uint_gt(n, 5);
            return;
        }
        ck_assert_msg(status == CLR_NOMEM, "allocation %llu: %d %s", (unsigned long long)n, status,
                      error.text);
        ck_assert_ptr_null(descriptor);
    }
}

#endif
