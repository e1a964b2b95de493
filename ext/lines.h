/*
 * What the tables of code share: source lines, and texts as results.
 */
#ifndef CLR_LINES_H
#define CLR_LINES_H

#include "table.h"
#include "runtime/methods.h"

/* Gives TEXT as the result and frees it. */
enum clr_status clr_result_text(sqlite3_context *context, struct clr_text *text,
                                struct clr_error *error);
/* Gives the file or line of an IL offset of METHOD; NULL without a PDB. */
enum clr_status clr_result_line(struct clr_dump *dump, const struct clr_method *method,
                                uint32_t il_offset, bool file, sqlite3_context *context,
                                struct clr_error *error);

#endif
