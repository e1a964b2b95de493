/*
 * The images of a process, and the files that stand in for them. Private to core/.
 */
#ifndef CLR_CORE_IMAGES_H
#define CLR_CORE_IMAGES_H

#include "core/private.h"

/* images.c: fills the images out of mappings, the loader's list and headers in memory. */
enum clr_status clr_images_read(struct clr_process *process, struct clr_problems *problems,
                                struct clr_error *error);

/* files.c: finds and checks the file of every image; adds extents for what of it may stand in. */
enum clr_status clr_files_resolve(struct clr_process *process, const struct clr_options *options,
                                  struct clr_extents *extents, struct clr_problems *problems,
                                  struct clr_error *error);

/* relocate.c: symbol look-up in the image's verified file. */
bool clr_file_symbol(const struct clr_process *process, const struct clr_image *image,
                     const char *name, uint64_t *address, uint64_t *size);

#endif
