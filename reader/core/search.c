/*
 * Where an image's file may be. The path comes from the dumped process, which may have run on
 * another machine or in a container. Candidates, in this order:
 *
 *   SYSROOT/path                          option 'sysroot': the container's root, copied or mounted
 *   FOLDER/path                           for each folder of option 'modules'
 *   FOLDER/.build-id/xx/yyyy              as debuggers and distributions store them
 *   FOLDER/.../name                       at any depth down to DEPTH_MAX: those first of which more
 *                                         folders are named like the path's, then in order of path
 *   path                                  itself, without option 'sysroot': with it, the process
 *                                         had another root than this machine's
 *
 * Folders are walked once, when the first image is looked for in them; links to folders are not
 * followed. Paths that name devices or files of the kernel are not looked at: a dump could name
 * any.
 */
#include "core/search.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"

enum {
    DEPTH_MAX = 8,       /* folders below one of option 'modules' */
    LEVELS_MAX = 16,     /* names at the end of two paths that are compared */
    VISITS_MAX = 1000000 /* entries looked at in all of them */
};

struct listed {
    char *path;
    const char *name; /* within path */
    size_t folder;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

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

static int by_name(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0 && x->folder != y->folder)
        return x->folder < y->folder ? -1 : 1;
    return order ? order : strcmp(x->path, y->path);
}

/* --- The folders ------------------------------------------------------------------------------ */

static bool is_wanted(const struct clr_search *search, const char *name)
{
    return bsearch(&name, search->wanted, search->wanted_count, sizeof *search->wanted, by_text);
}

static bool list_file(struct clr_search *search, const char *path, size_t folder)
{
    struct listed file = {.path = clr_copy_text(path, strlen(path)), .folder = folder};
    if (!file.path ||
        !clr_grow(&search->listed, search->listed_count, &search->listed_room, sizeof file)) {
        clr_free(file.path);
        return false;
    }
    file.name = base_name(file.path);
    search->listed[search->listed_count++] = file;
    return true;
}

static bool scan(struct clr_search *search, const char *path, size_t folder, unsigned depth);

/* Looks at one entry of the folder PATH. */
static bool scan_entry(struct clr_search *search, const char *path, const struct dirent *entry,
                       size_t folder, unsigned depth)
{
    bool wanted = is_wanted(search, entry->d_name), good = true;
    if (!wanted && entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
        return true;
    struct clr_text full = {0};
    struct stat found;
    clr_text_format(&full, "%s/%s", path, entry->d_name);
    if (full.failed)
        good = false;
    else if (lstat(full.data, &found) != 0)
        good = true;
    else if (S_ISDIR(found.st_mode))
        good = depth == DEPTH_MAX || scan(search, full.data, folder, depth + 1);
    else if (wanted)
        good = list_file(search, full.data, folder);
    clr_text_deinit(&full);
    return good;
}

/* Lists what is wanted below PATH; false: no memory. */
static bool scan(struct clr_search *search, const char *path, size_t folder, unsigned depth)
{
    bool good = true;
    DIR *entries = opendir(path);
    if (!entries) {
        if (depth == 0)
            clr_problem_of(search->problems, CLR_WARNING, "images", folder + 1, false, 0, 0,
                           "the folder %s of option 'modules' cannot be read: %s", path,
                           strerror(errno));
        return true;
    }
    struct dirent *entry;
    while (good && search->visits < VISITS_MAX && (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        search->visits++;
        good = scan_entry(search, path, entry, folder, depth);
    }
    closedir(entries);
    return good;
}

static bool scan_folders(struct clr_search *search)
{
    const struct clr_image *images;
    size_t count = clr_process_images(search->process, &images);
    if (search->scanned)
        return true;
    search->scanned = true;
    if (!(search->wanted = clr_alloc(count, sizeof *search->wanted)))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_searchable(images[i].path))
            search->wanted[search->wanted_count++] = base_name(images[i].path);
    if (search->wanted_count)
        qsort(search->wanted, search->wanted_count, sizeof *search->wanted, by_text);
    for (size_t i = 0; i < search->options->module_count; i++) {
        const char *folder = search->options->modules[i];
        struct stat found;
        bool file = stat(folder, &found) == 0 && S_ISREG(found.st_mode);
        if (!(file ? list_file(search, folder, i) : scan(search, folder, i, 0)))
            return false;
    }
    if (search->listed_count)
        qsort(search->listed, search->listed_count, sizeof *search->listed, by_name);
    if (search->visits >= VISITS_MAX)
        clr_problem(search->problems, CLR_WARNING, "images", 0, 0,
                    "the folders of option 'modules' hold more than %d entries: not all were "
                    "looked at",
                    VISITS_MAX);
    return true;
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

static enum clr_status out_of_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

static enum clr_status attempt_path(struct attempt *attempt, const char *front, const char *back)
{
    struct clr_text path = {0};
    clr_text_format(&path, "%s%s", front, back);
    enum clr_status status =
        path.failed ? out_of_memory(attempt->error)
                    : attempt->try(attempt->context, path.data, &attempt->done, attempt->error);
    clr_text_deinit(&path);
    return status;
}

/* The first listed file of NAME in FOLDER, or the place where it would be. */
static size_t first_listed(const struct clr_search *search, const char *name, size_t folder)
{
    size_t low = 0, high = search->listed_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(search->listed[middle].name, name);
        if (order < 0 || (order == 0 && search->listed[middle].folder < folder))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
    const char *root = search->options->modules[folder], *name = base_name(image->path);
    CLR_TRY(attempt_path(attempt, root, image->path));
    if (!attempt->done && image->build_id_size > 1) {
        char split[2 * CLR_BUILD_ID_MAX + 32];
        int at = snprintf(split, sizeof split, "/.build-id/%02x/", image->build_id[0]);
        for (uint8_t i = 1; i < image->build_id_size; i++)
            at += snprintf(split + at, sizeof split - (size_t)at, "%02x", image->build_id[i]);
        CLR_TRY(attempt_path(attempt, root, split));
    }
    size_t first = first_listed(search, name, folder), end = first;
    while (end < search->listed_count && search->listed[end].folder == folder &&
           strcmp(search->listed[end].name, name) == 0)
        end++;
    for (unsigned level = LEVELS_MAX + 1; level-- > 0 && first < end;)
        for (size_t i = first; i < end && !attempt->done; i++)
            if (shared_levels(search->listed[i].path, image->path) == level)
                CLR_TRY(attempt_path(attempt, search->listed[i].path, ""));
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
    if (!attempt.done && options->module_count && !scan_folders(search))
        return out_of_memory(error);
    for (size_t i = 0; i < options->module_count && !attempt.done; i++)
        CLR_TRY(attempt_folder(&attempt, i));
    return attempt.done || options->sysroot ? CLR_OK : attempt_path(&attempt, image->path, "");
}

void clr_search_deinit(struct clr_search *search)
{
    for (size_t i = 0; i < search->listed_count; i++)
        clr_free(search->listed[i].path);
    clr_free(search->listed);
    clr_free(search->wanted);
    search->listed = NULL;
    search->wanted = NULL;
    search->listed_count = search->wanted_count = 0;
}
