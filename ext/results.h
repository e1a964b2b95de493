/*
 * What several table files need beside table.h: ways to give a value, and what the planner goes by.
 */
#ifndef CLR_RESULTS_H
#define CLR_RESULTS_H

#include "table.h"

#include "inspect/value.h"

/* Text as it stands in the dump or the file system: what is not valid UTF-8 is replaced. NULL gives
 * NULL. */
void clr_result_foreign(sqlite3_context *context, const char *text);
void clr_result_foreign_bytes(sqlite3_context *context, const char *text, size_t length);
/* Bytes as lower-case hex; none gives NULL. */
void clr_result_hex(sqlite3_context *context, const uint8_t *bytes, size_t size);

/* A value of the program; NULL for references and structs. */
void clr_result_value(sqlite3_context *context, const struct clr_value *value);

/* Estimates for clr_path.rows. They rest on what is known when a dump is open, never on what a walk
 * finds, or the plan of a query would change in mid-session. */
double clr_rows_one(const struct clr_dump *dump);
double clr_rows_few(const struct clr_dump *dump);
double clr_rows_hundreds(const struct clr_dump *dump);
double clr_rows_types(const struct clr_dump *dump);
double clr_rows_objects(const struct clr_dump *dump); /* by the size of the core */

#endif
