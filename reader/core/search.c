/*
 * Where an image's file may be. The path comes from the dumped process, which may have run on
 * another machine or in a container. Candidates, in this order:
 *
 *   SYSROOT/path                          option 'sysroot': the container's root, copied or mounted
 *   FOLDER/path                           for each folder of option 'modules'
 *   FOLDER/.build-id/xx/yyyy              as debuggers and distributions store them
 *   FOLDER/.../name                       as folders.c lists them: those first of which more folders
 *                                         are named like the path's, then in order of path
 *   path                                  itself, without option 'sysroot': with it, the process
 *                                         had another root than this machine's
 *
 * Paths that name devices or files of the kernel are not looked at: a dump could name any.
 */
#include "core/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

enum {
    LEVELS_MAX = 16, /* names at the end of two paths that are compared */
};

static bool starts_with(const char *text, const char *front)
{
    return strncmp(text, front, strlen(front)) == 0;
}

static bool is_searchable(const char *path)
{
    return path[0] == '/' && !starts_with(path, "/dev/") && !starts_with(path, "/proc/") &&
           !starts_with(path, "/sys/") && !starts_with(path, "/memfd:");
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* --- The folders ------------------------------------------------------------------------------ */

static bool is_wanted(const void *context, const char *name)
{
    const struct clr_search *search = context;
    return bsearch(&name, search->wanted, search->wanted_count, sizeof *search->wanted, by_text);
}

/* Lists the files that are called like an image. */
static enum clr_status list_folders(struct clr_search *search, struct clr_error *error)
{
    const struct clr_image *images;
    size_t count = clr_process_images(search->process, &images);
    if (!search->wanted) {
        if (!(search->wanted = clr_alloc(count, sizeof *search->wanted)))
            return clr_no_memory(error);
        for (size_t i = 0; i < count; i++)
            if (is_searchable(images[i].path))
                search->wanted[search->wanted_count++] = clr_base_name(images[i].path);
        if (search->wanted_count)
            qsort(search->wanted, search->wanted_count, sizeof *search->wanted, by_text);
    }
    return clr_folders_list(&search->folders, search->options, is_wanted, search, search->problems,
                            "images", error);
}

/* --- One image -------------------------------------------------------------------------------- */

struct attempt {
    struct clr_search *search;
    const struct clr_image *image;
    clr_search_try *try;
    void *context;
    bool done;
    struct clr_error *error;
};

static enum clr_status attempt_path(struct attempt *attempt, const char *front, const char *back)
{
    struct clr_text path = {0};
    clr_text_format(&path, "%s%s", front, back);
    enum clr_status status =
        path.failed ? clr_no_memory(attempt->error)
                    : attempt->try(attempt->context, path.data, &attempt->done, attempt->error);
    clr_text_deinit(&path);
    return status;
}

/* How many names at the end of both paths are the same, LEVELS_MAX at most. A folder may hold many
 * versions of a runtime, each in a folder that is named for it. */
static unsigned shared_levels(const char *a, const char *b)
{
    size_t at = strlen(a), bt = strlen(b);
    unsigned levels = 0;
    while (at > 0 && bt > 0 && a[at - 1] == b[bt - 1]) {
        at--, bt--;
        levels += a[at] == '/';
    }
    return levels < LEVELS_MAX ? levels : LEVELS_MAX;
}

static enum clr_status attempt_folder(struct attempt *attempt, size_t folder)
{
    const struct clr_search *search = attempt->search;
    const struct clr_image *image = attempt->image;
    const char *root = search->options->modules[folder], *name = clr_base_name(image->path);
    CLR_TRY(attempt_path(attempt, root, image->path));
    if (!attempt->done && image->build_id_size > 1) {
        char split[2 * CLR_BUILD_ID_MAX + 32];
        int at = snprintf(split, sizeof split, "/.build-id/%02x/", image->build_id[0]);
        for (uint8_t i = 1; i < image->build_id_size; i++)
            at += snprintf(split + at, sizeof split - (size_t)at, "%02x", image->build_id[i]);
        CLR_TRY(attempt_path(attempt, root, split));
    }
    size_t count;
    const struct clr_folder_file *files = clr_folders_find(&search->folders, name, folder, &count);
    for (unsigned level = LEVELS_MAX + 1; level-- > 0 && count != 0;)
        for (size_t i = 0; i < count && files[i].folder == folder && !attempt->done; i++)
            if (shared_levels(files[i].path, image->path) == level)
                CLR_TRY(attempt_path(attempt, files[i].path, ""));
    return CLR_OK;
}

enum clr_status clr_search_image(struct clr_search *search, const struct clr_image *image,
                                 clr_search_try *try, void *context, struct clr_error *error)
{
    struct attempt attempt = {search, image, try, context, false, error};
    const struct clr_options *options = search->options;
    if (!is_searchable(image->path))
        return CLR_OK;
    if (options->sysroot)
        CLR_TRY(attempt_path(&attempt, options->sysroot, image->path));
    if (!attempt.done && options->module_count)
        CLR_TRY(list_folders(search, error));
    for (size_t i = 0; i < options->module_count && !attempt.done; i++)
        CLR_TRY(attempt_folder(&attempt, i));
    return attempt.done || options->sysroot ? CLR_OK : attempt_path(&attempt, image->path, "");
}

void clr_search_deinit(struct clr_search *search)
{
    clr_folders_deinit(&search->folders);
    clr_free(search->wanted);
    *search = (struct clr_search){0};
}
