/*
 * Golden SQL: runs test files against the module and compares what comes back.
 *
 *   runner --module clrdb.so [--update] [--tag TAG]... [NAME=VALUE]... FILE.slt...
 *
 * Each file runs on a fresh in-memory connection with the module loaded. The last line printed is
 * 'N passed, N failed'; the status is 0 if nothing failed and something passed. --update writes
 * what came back into the files, in place of the expected rows: read the difference before you keep
 * it.
 *
 * The format, a subset of sqllogictest's with three additions (plan, reconnect, ${NAME}). A file is
 * UTF-8 text of records separated by empty lines. Lines that begin with '#' between records are
 * comments. A record is one of
 *
 *   statement ok                    statement error TEXT            query [rowsort]
 *   SQL                             SQL                             SQL
 *                                                                   ----
 *   reconnect                       plan                            row
 *                                   SQL                             row
 *                                   ----
 *                                   line
 *
 *   statement ok     all statements of the SQL run; rows are fetched and thrown away
 *   statement error  one of them fails, and the message contains TEXT (not empty)
 *   query            the SQL is one statement; its rows are the expected ones, in this order.
 *                    rowsort: rows are sorted by their bytes before they are compared. The expected
 *                    rows stand sorted in the file. No row after '----': no row comes back
 *   plan             EXPLAIN QUERY PLAN of the SQL: the texts of the column 'detail', in order, of
 *                    which 'VIRTUAL TABLE INDEX n:' is written without 'n'
 *   reconnect        closes the connection, which must answer SQLITE_OK, and opens another
 *   skipif TAG, onlyif TAG   in lines before a record: it is left out if TAG was (was not) given.
 *                    This program has the tag 'c', a runner under Node has 'node'
 *
 * SQL goes on to the next empty line or '----'. ${NAME} in SQL and in TEXT stands for the VALUE
 * given as NAME=VALUE, else for the environment variable; an unknown NAME is a failure.
 * A row is its columns separated by '|'. A column is
 *
 *   NULL           NULL                       (empty)     text of length 0
 *   an integer     in decimal                 a real      as CAST(x AS TEXT) prints it
 *   a blob         x'00ff'                    a text      itself, with these escapes:
 *       \\ \| \t \n \r \0 for these characters; \xHH for other bytes below 0x20, for 0x7f and for a
 *       space at the end; a \ in front of a text that is NULL or begins with (empty) or x'
 *
 * An unknown word, a record without SQL and a file without records are failures.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

struct text {
    char *data;
    size_t length, room;
};

/* Texts, in order. */
struct list {
    char **items;
    size_t count;
};

struct run {
    const char *module, *file;
    struct list tags, values, files;
    bool update;
    sqlite3 *db;
    struct list lines;  /* of the file */
    size_t line;        /* number of the next one, from 0 */
    struct text output; /* the file as --update writes it */
    unsigned passed, failed, records;
};

static void *grow(void *memory, size_t size)
{
    void *bigger = realloc(memory, size);
    if (!bigger) {
        fputs("runner: out of memory\n", stderr);
        exit(2);
    }
    return bigger;
}

static void text_add(struct text *text, const char *data, size_t length)
{
    if (text->length + length + 1 > text->room) {
        text->room = (text->length + length + 1) * 2;
        text->data = grow(text->data, text->room);
    }
    memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = 0;
}

static void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

static void list_add(struct list *list, const char *data, size_t length)
{
    list->items = grow(list->items, (list->count + 1) * sizeof *list->items);
    char *copy = grow(NULL, length + 1);
    memcpy(copy, data, length);
    copy[length] = 0;
    list->items[list->count++] = copy;
}

static void list_clear(struct list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct list){NULL, 0};
}

static int compare_rows(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* --- Rows as text ----------------------------------------------------------------------------- */

static void add_text_value(struct text *row, const char *value, size_t length)
{
    if (length == 0) {
        text_add_string(row, "(empty)");
        return;
    }
    if (!strcmp(value, "NULL") || !strncmp(value, "(empty)", 7) || !strncmp(value, "x'", 2))
        text_add_string(row, "\\");
    for (size_t i = 0; i < length; i++) {
        static const char special[] = "\\|\t\n\r", letters[] = "\\|tnr";
        unsigned char c = (unsigned char)value[i];
        const char *found = c ? strchr(special, c) : NULL;
        char escape[5];
        if (found)
            snprintf(escape, sizeof escape, "\\%c", letters[found - special]);
        else if (c == 0)
            snprintf(escape, sizeof escape, "\\0");
        else if (c < 0x20 || c == 0x7f || (c == ' ' && i + 1 == length))
            snprintf(escape, sizeof escape, "\\x%02x", (unsigned)c);
        else
            snprintf(escape, sizeof escape, "%c", c);
        text_add_string(row, escape);
    }
}

static void add_column(struct text *row, sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL: text_add_string(row, "NULL"); return;
    case SQLITE_INTEGER:
        text_add_string(row, (const char *)sqlite3_column_text(statement, column));
        return;
    case SQLITE_FLOAT: { /* releases differ in how many digits they give of themselves */
        char real[40];
        sqlite3_snprintf(sizeof real, real, "%!.15g", sqlite3_column_double(statement, column));
        text_add_string(row, real);
        return;
    }
    case SQLITE_BLOB: {
        const unsigned char *blob = sqlite3_column_blob(statement, column);
        text_add_string(row, "x'");
        for (int i = 0; i < sqlite3_column_bytes(statement, column); i++) {
            char digits[3];
            snprintf(digits, sizeof digits, "%02x", (unsigned)blob[i]);
            text_add_string(row, digits);
        }
        text_add_string(row, "'");
        return;
    }
    default: {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        add_text_value(row, text, (size_t)sqlite3_column_bytes(statement, column));
    }
    }
}

/* 'SCAN o VIRTUAL TABLE INDEX 65537:address=' without the number, which is the module's own. */
static void add_plan_line(struct text *row, const char *detail)
{
    static const char mark[] = "VIRTUAL TABLE INDEX ";
    const char *number = strstr(detail, mark);
    if (!number) {
        text_add_string(row, detail);
        return;
    }
    number += sizeof mark - 1;
    text_add(row, detail, (size_t)(number - detail));
    text_add_string(row, number + strspn(number, "0123456789") + 1);
}

/* --- Running SQL ------------------------------------------------------------------------------ */

/* Runs SQL and collects rows as text (ROWS NULL: thrown away). False on an error, which is the
 * connection's. ONE: a second statement is an error too. */
static bool run_sql(struct run *run, const char *sql, bool plan, bool one, struct list *rows)
{
    sqlite3_stmt *statement = NULL;
    unsigned statements = 0;
    while (*sql) {
        if (sqlite3_prepare_v2(run->db, sql, -1, &statement, &sql) != SQLITE_OK)
            return false;
        if (!statement)
            continue; /* white space and comments */
        int code = SQLITE_MISUSE;
        if (++statements == 1 || !one)
            while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
                struct text row = {NULL, 0, 0};
                text_add_string(&row, "");
                if (plan)
                    add_plan_line(&row, (const char *)sqlite3_column_text(statement, 3));
                for (int i = 0; !plan && i < sqlite3_column_count(statement); i++) {
                    if (i > 0)
                        text_add_string(&row, "|");
                    add_column(&row, statement, i);
                }
                if (rows)
                    list_add(rows, row.data, row.length);
                free(row.data);
            }
        sqlite3_finalize(statement);
        if (code != SQLITE_DONE)
            return false;
    }
    return statements > 0;
}

static bool connect(struct run *run, char **message)
{
    if (sqlite3_open(":memory:", &run->db) != SQLITE_OK) {
        *message = sqlite3_mprintf("%s", sqlite3_errmsg(run->db));
        return false;
    }
    sqlite3_enable_load_extension(run->db, 1);
    return sqlite3_load_extension(run->db, run->module, NULL, message) == SQLITE_OK;
}

/* --- Reading records -------------------------------------------------------------------------- */

static void fail(struct run *run, size_t line, const char *what, const char *detail)
{
    printf("%s:%zu: %s%s%s\n", run->file, line, what, detail ? ": " : "", detail ? detail : "");
    run->failed++;
}

/* Text with every ${NAME} replaced; NULL if a name is not known. Freed by the caller. */
static char *substitute(struct run *run, const char *text)
{
    struct text result = {NULL, 0, 0};
    text_add_string(&result, "");
    for (const char *start; (start = strstr(text, "${")) && strchr(start, '}');) {
        const char *name = start + 2, *end = strchr(start, '}'), *value = NULL;
        size_t length = (size_t)(end - name);
        for (size_t i = 0; i < run->values.count; i++)
            if (!strncmp(run->values.items[i], name, length) && run->values.items[i][length] == '=')
                value = run->values.items[i] + length + 1;
        if (!value) {
            char variable[100];
            snprintf(variable, sizeof variable, "%.*s", (int)length, name);
            value = getenv(variable);
        }
        if (!value) {
            free(result.data);
            return NULL;
        }
        text_add(&result, text, (size_t)(start - text));
        text_add_string(&result, value);
        text = end + 1;
    }
    text_add_string(&result, text);
    return result.data;
}

/* The next line, or NULL at the end. KEEP: it goes into the file that --update writes. */
static const char *next_line(struct run *run, bool keep)
{
    if (run->line >= run->lines.count)
        return NULL;
    const char *line = run->lines.items[run->line++];
    if (keep) {
        text_add_string(&run->output, line);
        text_add_string(&run->output, "\n");
    }
    return line;
}

/* SQL up to the next empty line or '----' (*ROWS_FOLLOW). */
static char *read_sql(struct run *run, bool *rows_follow)
{
    struct text sql = {NULL, 0, 0};
    text_add_string(&sql, "");
    *rows_follow = false;
    for (const char *line; (line = next_line(run, true)) && *line;) {
        if ((*rows_follow = !strcmp(line, "----")))
            break;
        text_add_string(&sql, line);
        text_add_string(&sql, "\n");
    }
    char *result = substitute(run, sql.data);
    free(sql.data);
    return result;
}

static void show_difference(const struct list *expected, const struct list *got)
{
    unsigned shown = 0;
    size_t most = expected->count > got->count ? expected->count : got->count;
    for (size_t i = 0; i < most && shown < 20; i++) {
        const char *e = i < expected->count ? expected->items[i] : NULL;
        const char *g = i < got->count ? got->items[i] : NULL;
        if (e && g && !strcmp(e, g))
            continue;
        if (e)
            printf("    row %zu expected %s\n", i + 1, e);
        if (g)
            printf("    row %zu got      %s\n", i + 1, g);
        shown++;
    }
}

static void run_query(struct run *run, size_t line, bool plan, bool sort, bool skip)
{
    bool rows_follow;
    char *sql = read_sql(run, &rows_follow);
    struct list expected = {NULL, 0}, got = {NULL, 0};
    for (const char *row; rows_follow && (row = next_line(run, false)) && *row;)
        list_add(&expected, row, strlen(row));
    bool same = false;
    if (sql && plan && !skip) {
        char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sql);
        free(sql);
        sql = grow(NULL, strlen(explain) + 1);
        strcpy(sql, explain);
        sqlite3_free(explain);
    }
    if (skip) {
    } else if (!sql || !rows_follow) {
        fail(run, line, sql ? "no line '----' after the SQL" : "unknown ${NAME}", NULL);
    } else if (!run_sql(run, sql, plan, true, &got)) {
        fail(run, line, "fails", sqlite3_errmsg(run->db));
        list_clear(&got);
    } else {
        if (sort && got.count > 1)
            qsort(got.items, got.count, sizeof *got.items, compare_rows);
        same = expected.count == got.count;
        for (size_t i = 0; same && i < got.count; i++)
            same = !strcmp(expected.items[i], got.items[i]);
        if (same) {
            run->passed++;
        } else {
            fail(run, line, "other rows", NULL);
            show_difference(&expected, &got);
        }
    }
    const struct list *written = !skip && got.count && !same ? &got : &expected;
    for (size_t i = 0; i < written->count; i++) {
        text_add_string(&run->output, written->items[i]);
        text_add_string(&run->output, "\n");
    }
    if (run->line < run->lines.count || (run->line && !*run->lines.items[run->line - 1]))
        text_add_string(&run->output, "\n");
    list_clear(&expected);
    list_clear(&got);
    free(sql);
}

static void run_statement(struct run *run, size_t line, const char *wanted, bool skip)
{
    bool rows_follow;
    char *text = wanted ? substitute(run, wanted) : NULL;
    char *sql = read_sql(run, &rows_follow);
    if (skip) {
    } else if (!sql || (wanted && !text)) {
        fail(run, line, "unknown ${NAME}", NULL);
    } else if (rows_follow || !*sql || (wanted && !*text)) {
        fail(run, line, "a statement has SQL, no '----', and an error has a text", NULL);
    } else {
        bool ok = run_sql(run, sql, false, false, NULL);
        const char *message = sqlite3_errmsg(run->db);
        if (ok == !wanted && (ok || strstr(message, text)))
            run->passed++;
        else
            fail(run, line,
                 ok       ? "no error"
                 : wanted ? "another error"
                          : "fails",
                 ok ? NULL : message);
    }
    free(sql);
    free(text);
}

static void run_reconnect(struct run *run, size_t line)
{
    char *message = NULL;
    if (sqlite3_close(run->db) != SQLITE_OK)
        fail(run, line, "the connection does not close", sqlite3_errmsg(run->db));
    else if (!connect(run, &message))
        fail(run, line, "cannot load the module", message);
    else
        run->passed++;
    sqlite3_free(message);
}

static bool has_tag(const struct run *run, const char *tag)
{
    for (size_t i = 0; i < run->tags.count; i++)
        if (!strcmp(run->tags.items[i], tag))
            return true;
    return false;
}

static void run_records(struct run *run)
{
    bool skip = false;
    for (const char *line; (line = next_line(run, true));) {
        size_t number = run->line;
        if (!*line || *line == '#')
            continue;
        if (!strncmp(line, "skipif ", 7) || !strncmp(line, "onlyif ", 7)) {
            skip = skip || has_tag(run, line + 7) == (*line == 's');
            continue;
        }
        run->records++;
        if (!strcmp(line, "statement ok"))
            run_statement(run, number, NULL, skip);
        else if (!strncmp(line, "statement error ", 16))
            run_statement(run, number, line + 16, skip);
        else if (!strcmp(line, "query") || !strcmp(line, "query rowsort"))
            run_query(run, number, false, line[5] != 0, skip);
        else if (!strcmp(line, "plan"))
            run_query(run, number, true, false, skip);
        else if (!strcmp(line, "reconnect") && !skip)
            run_reconnect(run, number);
        else if (strcmp(line, "reconnect") != 0)
            fail(run, number, "unknown record", line);
        skip = false;
    }
}

static bool read_lines(struct run *run)
{
    FILE *file = fopen(run->file, "rb");
    if (!file)
        return false;
    struct text whole = {NULL, 0, 0};
    char piece[4096];
    for (size_t got; (got = fread(piece, 1, sizeof piece, file)) > 0;)
        text_add(&whole, piece, got);
    fclose(file);
    for (const char *line = whole.data; line && *line;) {
        size_t length = strcspn(line, "\n");
        list_add(&run->lines, line, length);
        line += length + (line[length] == '\n');
    }
    free(whole.data);
    return true;
}

static void run_file(struct run *run, const char *file)
{
    char *message = NULL;
    run->file = file;
    run->line = 0;
    run->records = 0;
    run->output = (struct text){NULL, 0, 0};
    if (!read_lines(run)) {
        fail(run, 0, "cannot be read", NULL);
    } else if (!connect(run, &message)) {
        fail(run, 0, "cannot load the module", message);
    } else {
        run_records(run);
        if (run->records == 0)
            fail(run, 0, "no records", NULL);
    }
    sqlite3_free(message);
    if (sqlite3_close(run->db) != SQLITE_OK)
        fail(run, run->line, "the connection does not close", sqlite3_errmsg(run->db));
    if (run->update && run->records > 0) {
        FILE *out = fopen(file, "wb");
        if (!out || fwrite(run->output.data, 1, run->output.length, out) != run->output.length)
            fail(run, 0, "cannot be written", NULL);
        if (out && fclose(out) != 0)
            fail(run, 0, "cannot be written", NULL);
    }
    free(run->output.data);
    list_clear(&run->lines);
}

int main(int argc, char **argv)
{
    struct run run = {0};
    list_add(&run.tags, "c", 1);
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--update"))
            run.update = true;
        else if (!strcmp(argv[i], "--module") && more)
            run.module = argv[++i];
        else if (!strcmp(argv[i], "--tag") && more)
            i++, list_add(&run.tags, argv[i], strlen(argv[i]));
        else if (isalpha((unsigned char)*argv[i]) && strchr(argv[i], '='))
            list_add(&run.values, argv[i], strlen(argv[i]));
        else
            list_add(&run.files, argv[i], strlen(argv[i]));
    }
    if (!run.module || run.files.count == 0) {
        fputs("usage: runner --module clrdb.so [--update] [--tag TAG]... [NAME=VALUE]... FILE...\n",
              stderr);
        return 2;
    }
    for (size_t i = 0; i < run.files.count; i++)
        run_file(&run, run.files.items[i]);
    printf("%u passed, %u failed\n", run.passed, run.failed);
    list_clear(&run.tags);
    list_clear(&run.values);
    list_clear(&run.files);
    return run.failed == 0 && run.passed > 0 ? 0 : 1;
}
