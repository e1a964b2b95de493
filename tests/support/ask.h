/*
 * Questions in SQL to the module, over any core: one that clr_builder makes, the shipped dump, or a
 * copy of it in which a test changes a few bytes.
 *
 *     sqlite3 *db = ask_open(CLRDB_MODULE);
 *     struct patch p;
 *     patch_open(&p, CLRDB_DUMPS "/ws11.core");
 *     patch_put(&p, address, 0, 8);
 *     patch_write(&p);                               the file changes now, before it is attached
 *     ask_attach(db, p.path, "dump", NULL);
 *     ask_is(db, "SELECT count(*) FROM objects", "6373\n");
 *     ask_close(db);
 *     patch_close(&p);
 *
 * Answers are written as pairs_text writes them: columns as SQL literals.
 */
#ifndef TEST_ASK_H
#define TEST_ASK_H

#include <stddef.h>
#include <stdint.h>

#include <sqlite3.h>

#include "pairs.h"

sqlite3 *ask_open(const char *module);
void ask_close(sqlite3 *db);
/* OPTIONS is JSON, or NULL. */
void ask_attach(sqlite3 *db, const char *path, const char *schema, const char *options);
/* SQL gives exactly WANTED; a text that contains PART. */
void ask_is(sqlite3 *db, const char *sql, const char *wanted);
void ask_has(sqlite3 *db, const char *sql, const char *part);
/* The one number that a query (formatted as by sqlite3_mprintf) gives; another answer ends the
 * test. */
int64_t ask_number(sqlite3 *db, const char *format, ...);

/* A copy of a core in a file without a name. */
enum { PATCHES_MAX = 64 };
struct patch {
    int file;
    char path[64]; /* opens it */
    uint8_t *bytes;
    size_t size;
    struct {
        size_t offset, size;
    } pending[PATCHES_MAX];
    size_t pending_count;
};

void patch_open(struct patch *patch, const char *core);
void patch_close(struct patch *patch);
/* WIDTH saved bytes at ADDRESS; those that are not saved end the test. */
uint64_t patch_get(const struct patch *patch, uint64_t address, size_t width);
void patch_put(struct patch *patch, uint64_t address, uint64_t value, size_t width);
/* Writes what was put to the file: a dump that is open on it finds it changed. */
void patch_write(struct patch *patch);

#endif
