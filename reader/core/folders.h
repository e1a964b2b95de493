/*
 * The folders of option 'modules': the one walk of them, whatever is looked for. It goes DEPTH_MAX
 * folders down, does not follow links to folders, and looks at no more than VISITS_MAX entries. An
 * item of the option may also be a file.
 */
#ifndef CLR_CORE_FOLDERS_H
#define CLR_CORE_FOLDERS_H

#include "base/array.h"
#include "base/problems.h"
#include "options.h"

struct clr_folder_file {
    char *path;
    const char *name; /* within path */
    size_t folder;    /* which item of the option it is in */
};

/* Zero it. */
struct clr_folders {
    CLR_ARRAY(struct clr_folder_file) files; /* by name, then folder, then path */
    bool listed;
};

/* Lists all files whose name WANTED says, the first time it is called. Folders that cannot be read
 * are problems of AREA. */
enum clr_status clr_folders_list(struct clr_folders *folders, const struct clr_options *options,
                                 bool (*wanted)(const void *context, const char *name),
                                 const void *context, struct clr_problems *problems,
                                 const char *area, struct clr_error *error);
/* The files called NAME in items of the option from FOLDER on: *FIRST, and how many. */
const struct clr_folder_file *clr_folders_find(const struct clr_folders *folders, const char *name,
                                               size_t folder, size_t *count);
void clr_folders_deinit(struct clr_folders *folders);

/* The part of a path behind its last slash. */
const char *clr_base_name(const char *path);

#endif
