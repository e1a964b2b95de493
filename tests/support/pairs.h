/*
 * Runs the questions that tests/sql/properties.sql writes: each is asked of a virtual table and of
 * an ordinary table with the same rows, and the answers must be the same.
 */
#ifndef CLR_SUPPORT_PAIRS_H
#define CLR_SUPPORT_PAIRS_H

#include <stdbool.h>

#include <sqlite3.h>

/* Makes the tables that describe what is to be compared: temp.subject, temp.subject_column. */
void pairs_begin(sqlite3 *db);
/* Adds a table: its declared columns, from temp.subject_column, become those of the copy COPY,
 * which is filled with the rows of FILL (a SELECT of all columns, in their order). */
void pairs_add(sqlite3 *db, const char *name, const char *source, const char *copy,
               const char *fixed, const char *fill, int level);
/* Writes the questions by the script SCRIPT (tests/sql/properties.sql); the number of them. */
int pairs_write(sqlite3 *db, const char *script);
/* Asks them all; the number of those that differ or fail. The first ten are printed. */
int pairs_run(sqlite3 *db);

/* Everything that SQL gives, as one text: rows end with a newline, columns are quote()d; an error
 * gives its message. Freed with sqlite3_free. */
char *pairs_text(sqlite3 *db, const char *sql);
/* Runs SQL (formatted as by sqlite3_mprintf) or ends the program with its message. */
void pairs_exec(sqlite3 *db, const char *format, ...);

#endif
