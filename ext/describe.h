/*
 * A dump in one line, and any address of its process in one line.
 */
#ifndef CLR_DESCRIBE_H
#define CLR_DESCRIBE_H

#include "session.h"

/* Version of the runtime, as it publishes it or as its folder is named; LENGTH bytes that may be no
 * valid UTF-8; NULL if it is not known. (summary.c) */
const char *clr_runtime_version(const struct clr_dump *dump, size_t *length);
/* 'dump: .NET 11.0.0 linux-x64, workstation GC, regions, 126.7 MB' */
void clr_dump_summary(const struct clr_open_dump *open, struct clr_text *text);
/* One line on ANY address of the process (what.c). */
enum clr_status clr_what(struct clr_dump *dump, uint64_t address, struct clr_job *job,
                         struct clr_text *text, struct clr_error *error);

#endif
