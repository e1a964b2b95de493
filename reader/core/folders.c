/*
 * Lists files in the folders of option 'modules', by name.
 */
#include "core/folders.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/search.h"
#include "base/text.h"

enum {
    DEPTH_MAX = 8,       /* folders below one of the option */
    VISITS_MAX = 1000000 /* entries looked at in all of them */
};

struct walk {
    struct clr_folders *folders;
    bool (*wanted)(const void *context, const char *name);
    const void *context;
    struct clr_problems *problems;
    const char *area;
    size_t folder, visits;
};

const char *clr_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool add_file(struct walk *walk, const char *path)
{
    struct clr_folder_file file = {.path = clr_copy_text(path, strlen(path)),
                                   .folder = walk->folder};
    if (file.path) {
        file.name = clr_base_name(file.path);
        if (CLR_ARRAY_ADD(&walk->folders->files, file))
            return true;
        clr_free(file.path);
    }
    return false;
}

static bool list_folder(struct walk *walk, const char *path, unsigned depth);

/* Looks at one entry of the folder PATH. */
static bool list_entry(struct walk *walk, const char *path, const struct dirent *entry,
                       unsigned depth)
{
    bool wanted = walk->wanted(walk->context, entry->d_name), good = true;
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
        good = depth == DEPTH_MAX || list_folder(walk, full.data, depth + 1);
    else if (wanted)
        good = add_file(walk, full.data);
    clr_text_deinit(&full);
    return good;
}

/* Lists what is wanted below PATH; false: no memory. */
static bool list_folder(struct walk *walk, const char *path, unsigned depth)
{
    bool good = true;
    DIR *entries = opendir(path);
    if (!entries) {
        if (depth == 0)
            clr_problem_of(walk->problems, CLR_WARNING, walk->area, walk->folder + 1, false, 0, 0,
                           "the folder %s of option 'modules' cannot be read: %s", path,
                           strerror(errno));
        return true;
    }
    struct dirent *entry;
    while (good && walk->visits < VISITS_MAX && (entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        walk->visits++;
        good = list_entry(walk, path, entry, depth);
    }
    closedir(entries);
    return good;
}

static int by_name(const void *a, const void *b)
{
    const struct clr_folder_file *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0 && x->folder != y->folder)
        return x->folder < y->folder ? -1 : 1;
    return order ? order : strcmp(x->path, y->path);
}

enum clr_status clr_folders_list(struct clr_folders *folders, const struct clr_options *options,
                                 bool (*wanted)(const void *context, const char *name),
                                 const void *context, struct clr_problems *problems,
                                 const char *area, struct clr_error *error)
{
    struct walk walk = {folders, wanted, context, problems, area, 0, 0};
    if (folders->listed)
        return CLR_OK;
    folders->listed = true;
    for (; walk.folder < options->module_count; walk.folder++) {
        const char *path = options->modules[walk.folder];
        struct stat found;
        bool file = stat(path, &found) == 0 && S_ISREG(found.st_mode);
        if (!(file ? add_file(&walk, path) : list_folder(&walk, path, 0)))
            return clr_no_memory(error);
    }
    if (folders->files.count)
        qsort(folders->files.items, folders->files.count, sizeof *folders->files.items, by_name);
    if (walk.visits >= VISITS_MAX)
        clr_problem(problems, CLR_WARNING, area, 0, 0,
                    "the folders of option 'modules' hold more than %d entries: not all were "
                    "looked at",
                    VISITS_MAX);
    return CLR_OK;
}

static bool is_before(const struct clr_folder_file *file, const char *name, size_t folder)
{
    int order = strcmp(file->name, name);
    return order < 0 || (order == 0 && file->folder < folder);
}

const struct clr_folder_file *clr_folders_find(const struct clr_folders *folders, const char *name,
                                               size_t folder, size_t *count)
{
    const struct clr_folder_file *files = folders->files.items;
    size_t first, end;
    CLR_SEARCH(first, 0, folders->files.count, is_before(&files[first], name, folder));
    for (end = first; end < folders->files.count && strcmp(files[end].name, name) == 0; end++)
        ;
    *count = end - first;
    return files + first;
}

void clr_folders_deinit(struct clr_folders *folders)
{
    for (size_t i = 0; i < folders->files.count; i++)
        clr_free(folders->files.items[i].path);
    CLR_ARRAY_FREE(&folders->files);
}
