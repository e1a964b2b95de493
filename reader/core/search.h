/*
 * Candidates for the file of an image, in the order in which they are tried. search.c says where.
 */
#ifndef CLR_CORE_SEARCH_H
#define CLR_CORE_SEARCH_H

#include "core/folders.h"
#include "core/process.h"

struct clr_search {
    const struct clr_process *process; /* whose images are looked for */
    const struct clr_options *options;
    struct clr_problems *problems;
    /* The rest is search.c's; zero it. */
    const char **wanted; /* names of images, sorted */
    size_t wanted_count;
    struct clr_folders folders; /* files of these names */
};

/* Looks at one path, which need not exist. *DONE: it is the file; no other is tried. */
typedef enum clr_status clr_search_try(void *context, const char *path, bool *done,
                                       struct clr_error *error);

enum clr_status clr_search_image(struct clr_search *search, const struct clr_image *image,
                                 clr_search_try *try, void *context, struct clr_error *error);
void clr_search_deinit(struct clr_search *search);

#endif
