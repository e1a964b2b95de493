#include "pairs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 10 };

void pairs_exec(sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments), *message = NULL;
    va_end(arguments);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s\nin %s\n", message ? message : "?", sql);
        exit(1);
    }
    sqlite3_free(sql);
}

static void add_value(sqlite3_str *text, sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL: sqlite3_str_appendall(text, "NULL"); break;
    case SQLITE_INTEGER: sqlite3_str_appendf(text, "%lld", sqlite3_value_int64(value)); break;
    case SQLITE_FLOAT: sqlite3_str_appendf(text, "%!.17g", sqlite3_value_double(value)); break;
    default:
        sqlite3_str_appendf(text, "%c'", sqlite3_value_type(value) == SQLITE_BLOB ? 'x' : ' ');
        const unsigned char *bytes = sqlite3_value_blob(value);
        for (int i = 0; i < sqlite3_value_bytes(value); i++)
            sqlite3_str_appendf(text, bytes[i] < 0x20 ? "\\%02x" : "%c", bytes[i]);
        sqlite3_str_appendchar(text, 1, '\'');
    }
}

char *pairs_text(sqlite3 *db, const char *sql)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            sqlite3_str_appendchar(text, i > 0, '|');
            add_value(text, sqlite3_column_value(statement, i));
        }
        sqlite3_str_appendchar(text, 1, '\n');
        code = SQLITE_OK;
    }
    if (code != SQLITE_DONE)
        sqlite3_str_appendf(text, "error: %s", sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    char *result = sqlite3_str_finish(text);
    return result ? result : sqlite3_mprintf("");
}

void pairs_begin(sqlite3 *db)
{
    pairs_exec(db, "CREATE TEMP TABLE subject(name, source, copy, fixed, level);"
                   "CREATE TEMP TABLE subject_column(name, column_name, type, access, key, rowid)");
}

void pairs_add(sqlite3 *db, const char *name, const char *source, const char *copy,
               const char *fixed, const char *fill, int level)
{
    char *columns, *indexes;
    char *sql = sqlite3_mprintf("SELECT group_concat(printf('%%s %%s%%s', column_name, type, "
                                "iif(rowid, ' PRIMARY KEY', '')), ', ') || "
                                "iif(max(rowid) OR NOT max(key), '', printf(', PRIMARY KEY(%%s)', "
                                "group_concat(iif(key, column_name, NULL), ', '))) "
                                "FROM subject_column WHERE name = %Q",
                                name);
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW) {
        fprintf(stderr, "%s\nin %s\n", sqlite3_errmsg(db), sql);
        exit(1);
    }
    columns = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    pairs_exec(db, "CREATE TABLE %s(%s); INSERT INTO %s %s;", copy, columns, copy, fill);
    sqlite3_free(columns);
    pairs_exec(db, "INSERT INTO temp.subject VALUES(%Q, %Q, %Q, %Q, %d)", name, source, copy,
               fixed ? fixed : "1", level);
    sql = sqlite3_mprintf("SELECT group_concat(printf('CREATE INDEX %%s_%%s ON %%s(%%s)', %Q, "
                          "column_name, %Q, column_name), ';') FROM subject_column "
                          "WHERE name = %Q AND access <> '' AND NOT rowid",
                          copy, copy, name);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0)) {
        indexes = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
        sqlite3_finalize(statement);
        pairs_exec(db, "%s", indexes);
        sqlite3_free(indexes);
    } else {
        sqlite3_finalize(statement);
    }
    sqlite3_free(sql);
}

int pairs_write(sqlite3 *db, const char *script)
{
    char *text = NULL;
    size_t room = 0;
    FILE *file = fopen(script, "rb");
    if (!file || getdelim(&text, &room, 0, file) <= 0) {
        perror(script);
        exit(1);
    }
    fclose(file);
    pairs_exec(db, "%s", text);
    free(text);
    text = pairs_text(db, "SELECT count(*) FROM temp.pair");
    int count = atoi(text);
    sqlite3_free(text);
    return count;
}

int pairs_run(sqlite3 *db)
{
    int wrong = 0;
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, "SELECT question, answer FROM temp.pair ORDER BY id", -1, &statement,
                       NULL);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *question = (const char *)sqlite3_column_text(statement, 0);
        char *got = pairs_text(db, question);
        char *wanted = pairs_text(db, (const char *)sqlite3_column_text(statement, 1));
        if (strcmp(got, wanted) != 0 || strstr(got, "error: ")) {
            if (wrong++ < SHOWN)
                fprintf(stderr, "%s\n  gives %s  not %s", question, got, wanted);
        }
        sqlite3_free(got);
        sqlite3_free(wanted);
    }
    sqlite3_finalize(statement);
    return wrong;
}
