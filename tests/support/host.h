/*
 * The extension calls SQLite through the table of functions that a host hands over when it loads a
 * module. A test that links the extension's archive instead asks for that table here:
 *
 *     #include <sqlite3ext.h>
 *     SQLITE_EXTENSION_INIT1
 *     #define CLR_EXTENSION_MAIN
 *     ...
 *     sqlite3_api = host_api();      (first thing in main)
 */
#ifndef CLR_SUPPORT_HOST_H
#define CLR_SUPPORT_HOST_H

struct sqlite3_api_routines;
const struct sqlite3_api_routines *host_api(void);

#endif
