/*
 * clrdb as part of a program: compile ext/ and reader/ with SQLITE_CORE defined, link SQLite, and
 * call this on a connection, or once for all: sqlite3_auto_extension((void (*)(void))
 * sqlite3_clrdb_init). As a loadable module nobody needs this file: sqlite3_load_extension and the
 * shell's '.load clrdb' find the entry point by its name.
 */
#ifndef CLRDB_H
#define CLRDB_H

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the tables and functions on DB. API is NULL in a static build. *MESSAGE, on failure, is
 * freed with sqlite3_free. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
int sqlite3_clrdb_init(sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#ifdef __cplusplus
}
#endif

#endif
