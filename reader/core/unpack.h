/*
 * What a file is by its first bytes. Private to core/.
 */
#ifndef CLR_CORE_UNPACK_H
#define CLR_CORE_UNPACK_H

#include "core/format.h"

/* The format of the dump in *FD; an error says what the file is if it is none. One that is
 * compressed with zstd is unpacked: *FD is closed and replaced. */
enum clr_status clr_unpack(const char *path, int *fd, const struct clr_options *options,
                           struct clr_job *job, const struct clr_dump_format **format,
                           struct clr_problems *problems, struct clr_error *error);

#endif
