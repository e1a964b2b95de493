/*
 * Options as data: a row per name, with the kind of its value and where it goes. The JSON may hold
 * comments and trailing commas, as base/json.h reads it.
 */
#include "options.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"

enum kind {
    FOLDERS, /* a text or a list of texts */
    TEXT,
    TEXT_OR_NUMBER,
    NUMBER,
    COUNT,    /* a number that fits in unsigned */
    FLAG,     /* true, false, 0, 1 */
    NOT_FLAG, /* the same, kept as its opposite */
};

static const struct option {
    const char *name;
    enum kind kind;
    size_t member;
} rows[] = {
    {"modules", FOLDERS, 0},
    {"sysroot", TEXT, offsetof(struct clr_options, sysroot)},
    {"threads", COUNT, offsetof(struct clr_options, threads)},
    {"runtime", TEXT_OR_NUMBER, offsetof(struct clr_options, runtime)},
    {"supplement", TEXT, offsetof(struct clr_options, supplement)},
    {"unpack_limit", NUMBER, offsetof(struct clr_options, unpack_limit)},
    {"conservative_roots", NOT_FLAG, offsetof(struct clr_options, no_conservative_roots)},
    {"mmap", NOT_FLAG, offsetof(struct clr_options, no_mmap)},
    {"partial_heap", FLAG, offsetof(struct clr_options, partial_heap)},
    {"progress", FLAG, offsetof(struct clr_options, progress)},
};

static const char *const kind_names[] = {
    [FOLDERS] = "a text or a list of texts",
    [TEXT] = "a text",
    [TEXT_OR_NUMBER] = "a text or a number",
    [NUMBER] = "a number of bytes",
    [COUNT] = "a small number",
    [FLAG] = "0 or 1",
    [NOT_FLAG] = "0 or 1",
};

/* The names that there are, in a row. */
static enum clr_status unknown(const char *name, struct clr_error *error)
{
    struct clr_text names = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        clr_text_format(&names, "%s%s", i ? ", " : "", rows[i].name);
    enum clr_status status =
        names.failed
            ? clr_no_memory(error)
            : clr_fail(error, CLR_MISUSE, 0, "unknown option '%s': there are %s", name, names.data);
    clr_text_deinit(&names);
    return status;
}

static enum clr_status wrong_kind(const struct option *option, struct clr_error *error)
{
    return clr_fail(error, CLR_MISUSE, 0, "option '%s' must be %s", option->name,
                    kind_names[option->kind]);
}

/* A copy of a text value without NULs in it. *COPY stays NULL if VALUE is none. */
static enum clr_status copy_text(const clr_json *value, char **copy, struct clr_error *error)
{
    size_t length;
    const char *text = clr_json_text(value, &length);
    *copy = NULL;
    if (!text || length == 0 || strlen(text) != length)
        return CLR_OK;
    return (*copy = clr_copy_text(text, length)) ? CLR_OK : clr_no_memory(error);
}

static enum clr_status add_folder(struct clr_options *options, size_t *room,
                                  const struct option *option, const clr_json *value,
                                  struct clr_error *error)
{
    char *folder;
    CLR_TRY(copy_text(value, &folder, error));
    if (!folder)
        return wrong_kind(option, error);
    if (!clr_grow(&options->modules, options->module_count, room, sizeof *options->modules)) {
        clr_free(folder);
        return clr_no_memory(error);
    }
    options->modules[options->module_count++] = folder;
    return CLR_OK;
}

static enum clr_status set_folders(struct clr_options *options, const struct option *option,
                                   const clr_json *value, struct clr_error *error)
{
    size_t room = 0;
    if (clr_json_kind(value) != CLR_JSON_ARRAY)
        return add_folder(options, &room, option, value, error);
    for (size_t i = 0; i < clr_json_size(value); i++)
        CLR_TRY(add_folder(options, &room, option, clr_json_element(value, i), error));
    return CLR_OK;
}

static enum clr_status set_text(char **member, const struct option *option, const clr_json *value,
                                struct clr_error *error)
{
    uint64_t number;
    CLR_TRY(copy_text(value, member, error));
    if (*member)
        return CLR_OK;
    if (option->kind != TEXT_OR_NUMBER || clr_json_kind(value) != CLR_JSON_NUMBER ||
        !clr_json_u64(value, &number) || number > INT64_MAX)
        return wrong_kind(option, error);
    char text[24];
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)number);
    return (*member = clr_copy_text(text, (size_t)length)) ? CLR_OK : clr_no_memory(error);
}

static enum clr_status set(struct clr_options *options, const struct option *option,
                           const clr_json *value, struct clr_error *error)
{
    char *member = (char *)options + option->member;
    uint64_t number;
    bool truth;
    switch (option->kind) {
    case FOLDERS: return set_folders(options, option, value, error);
    case TEXT:
    case TEXT_OR_NUMBER: return set_text((char **)(void *)member, option, value, error);
    case NUMBER:
    case COUNT:
        if (!clr_json_u64(value, &number) || number > INT64_MAX ||
            (option->kind == COUNT && number > UINT16_MAX))
            return wrong_kind(option, error);
        if (option->kind == COUNT)
            *(unsigned *)(void *)member = (unsigned)number;
        else
            *(uint64_t *)(void *)member = number;
        return CLR_OK;
    case FLAG:
    case NOT_FLAG:
        if (!clr_json_bool(value, &truth))
            return wrong_kind(option, error);
        *(bool *)member = truth == (option->kind == FLAG);
        return CLR_OK;
    }
    return CLR_OK;
}

static enum clr_status set_all(struct clr_options *options, const clr_json *root,
                               struct clr_error *error)
{
    if (clr_json_kind(root) != CLR_JSON_OBJECT)
        return clr_fail(error, CLR_MISUSE, 0, "must be a JSON object such as {\"threads\": 2}");
    void *iterator = NULL;
    const char *name;
    const clr_json *value;
    while (clr_json_next(root, &iterator, &name, &value)) {
        const struct option *found = NULL;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (strcmp(rows[i].name, name) == 0)
                found = &rows[i];
        CLR_TRY(found ? set(options, found, value, error) : unknown(name, error));
    }
    return CLR_OK;
}

enum clr_status clr_options_parse(struct clr_options *options, const char *text,
                                  struct clr_error *error)
{
    clr_json *root;
    *options = (struct clr_options){0};
    if (!text)
        return CLR_OK;
    enum clr_status status = clr_json_parse(text, strlen(text), &root, error);
    if (status == CLR_OK) {
        status = set_all(options, root, error);
        clr_json_destroy(root);
    } else if (status == CLR_BAD_DATA) {
        status = CLR_MISUSE;
        if (error)
            error->code = CLR_MISUSE;
    }
    if (status != CLR_OK) {
        clr_error_prefix(error, "options");
        clr_options_deinit(options);
    }
    return status;
}

static enum clr_status check_place(const char *option, const char *path, bool may_be_file,
                                   struct clr_error *error)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return clr_fail_errno(error, "option '%s': %s", option, path);
    if (S_ISDIR(status.st_mode) || (may_be_file && S_ISREG(status.st_mode)))
        return CLR_OK;
    return clr_fail(error, CLR_MISUSE, 0, "option '%s': %s is no folder%s", option, path,
                    may_be_file ? " and no file" : "");
}

enum clr_status clr_options_check(const struct clr_options *options, struct clr_error *error)
{
    for (size_t i = 0; i < options->module_count; i++)
        CLR_TRY(check_place("modules", options->modules[i], true, error));
    return options->sysroot ? check_place("sysroot", options->sysroot, false, error) : CLR_OK;
}

void clr_options_deinit(struct clr_options *options)
{
    for (size_t i = 0; i < options->module_count; i++)
        clr_free(options->modules[i]);
    clr_free(options->modules);
    clr_free(options->sysroot);
    clr_free(options->supplement);
    clr_free(options->runtime);
    *options = (struct clr_options){0};
}
