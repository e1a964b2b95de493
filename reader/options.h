/*
 * What a user can ask for when a dump is attached: the JSON object of clr_attach's third argument.
 * Owned by whoever parsed it; all members have a meaning when zero.
 */
#ifndef CLR_OPTIONS_H
#define CLR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct clr_options {
    char **modules; /* folders in which image files are looked up */
    size_t module_count;
    char *sysroot;         /* prefix of every path of the process */
    char *supplement;      /* file with a descriptor of the user's */
    char *runtime;         /* which of several: part of its path, or its number from 0 */
    uint64_t unpack_limit; /* bytes that a compressed core may grow to; 0: the default */
    unsigned threads;      /* workers; 0: as many as there are processors, 8 at most */
    bool no_conservative_roots;
    bool no_mmap;      /* read through a private copy instead of mapping the file */
    bool partial_heap; /* walk what there is of a heap that was not dumped as a whole */
    bool progress;     /* report on stderr */
};

/* Parses TEXT (NULL: all defaults). An unknown name or a value of the wrong kind is an error that
 * lists what there is. Zero *OPTIONS first. */
enum clr_status clr_options_parse(struct clr_options *options, const char *text,
                                  struct clr_error *error);
/* Whether the folders and files that are named for looking things up are there: one that is misspelt would
 * only show in what is not found. */
enum clr_status clr_options_check(const struct clr_options *options, struct clr_error *error);
void clr_options_deinit(struct clr_options *options);

#endif
