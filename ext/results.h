/*
 * What several table files need beside table.h: functions that give a value, and the estimate of the planner.
 */
#ifndef CLR_RESULTS_H
#define CLR_RESULTS_H

#include "table.h"

#include "inspect/managed.h"

/* Text as it stands in the dump or the file system: what is not valid UTF-8 is replaced. NULL gives
 * NULL. */
void clr_result_foreign(sqlite3_context *context, const char *text);
void clr_result_foreign_bytes(sqlite3_context *context, const char *text, size_t length);
/* Bytes as lower-case hex; none gives NULL. */
void clr_result_hex(sqlite3_context *context, const uint8_t *bytes, size_t size);

/* Reads hexadecimal digits behind '0x', with blanks around; false: TEXT is something else, or more than 64
 * bits. */
bool clr_read_hex(const char *text, uint64_t *number);
/* What a number given from outside is, in arguments of functions and tables: an integer, a REAL or text
 * that is a whole number, or a text as '0x7f3a1c002a18'. False: none of these. */
bool clr_read_whole(sqlite3_value *value, int64_t *number);

/* The text in FIELD of OBJECT, which CLASS has; NULL if it is null, or OBJECT is 0. What cannot
 * be read is a problem of TABLE. */
enum clr_status clr_result_name_field(struct clr_dump *dump, const char *table,
                                      enum clr_managed_class class, unsigned field, uint64_t object,
                                      sqlite3_context *context, struct clr_error *error);

/* Text of the program, which lies at ADDRESS. One with more bytes than SQLite takes gives NULL and a
 * problem of TABLE; a query would fail otherwise, at a row that it does not name. */
void clr_result_long_text(sqlite3_context *context, struct clr_dump *dump, const char *table,
                          uint64_t address, const struct clr_text *text);
/* A value of the program, which lies at ADDRESS; NULL for references and structs. */
void clr_result_value(sqlite3_context *context, struct clr_dump *dump, const char *table,
                      uint64_t address, const struct clr_value *value);

/* About how many objects the dump has, for clr_path.per_object; DUMP is NULL in an eponymous table. It
 * rests on what is known when a dump is open, never on what a walk finds, or the plan of a query would change
 * in mid-session. */
double clr_estimate_objects(const struct clr_dump *dump);

#endif
