/*
 * The entry point. SQLite calls it when the module is loaded: it checks the host's version and
 * registers what there is on the connection.
 *
 * The module is not linked with SQLite: every call goes through the host's table of functions, and
 * a host that is too old has a table that ends early. So the version is looked at before anything
 * else. sqlite3_vtab_distinct and sqlite3_txn_state are not younger than 3.38.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#define CLR_EXTENSION_MAIN
#include "functions.h"

#include "clrdb.h"

enum { OLDEST_SQLITE = 3038000 };

/* A second load into one connection finds everything there: dumps that are attached stay so. */
static bool is_registered(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    bool found = sqlite3_prepare_v2(db, "SELECT clr_attach(1)", -1, &statement, NULL) == SQLITE_OK;
    sqlite3_finalize(statement);
    return found;
}

/* After a failure the host unloads the module: nothing of it may stay behind. */
static int register_all(sqlite3 *db, struct clr_session *session, char **message)
{
    int code = clr_register_tables(db, session, message);
    if (code != SQLITE_OK)
        return code;
    code = clr_register_functions(db, session);
    if (code != SQLITE_OK)
        clr_unregister_tables(db);
    return code;
}

int sqlite3_clrdb_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    (void)api;
    if (sqlite3_libversion_number() < OLDEST_SQLITE) {
        *message = sqlite3_mprintf("clrdb needs SQLite 3.38.0 or later; this program has %s",
                                   sqlite3_libversion());
        return SQLITE_ERROR;
    }
    if (is_registered(db))
        return SQLITE_OK;
    struct clr_session *session = clr_session_create(db);
    if (!session)
        return SQLITE_NOMEM;
    int code = register_all(db, session, message);
    clr_session_release(session);
    return code;
}
