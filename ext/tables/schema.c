/*
 * clr_schema: what tables there are, from their own declarations. Needs no dump.
 *
 * Rows are the columns of all tables, in the order of clr_tables[]. Views are not in it: they have
 * their text in sqlite_schema.
 */
#include "table.h"

enum schema_column {
    SCHEMA_TABLE,
    SCHEMA_COLUMN,
    SCHEMA_TYPE,
    SCHEMA_DOC,
    SCHEMA_ACCESS,
    SCHEMA_COLUMNS
};

static const struct clr_column schema_columns[] = {
    [SCHEMA_TABLE] = {"table_name", CLR_TEXT, CLR_KEY, 0, "Name of the table."},
    [SCHEMA_COLUMN] = {"column_name", CLR_TEXT, CLR_KEY, 0, "Name of the column."},
    [SCHEMA_TYPE] = {"type", CLR_TEXT, 0, 0,
                     "INTEGER, REAL or TEXT; empty where values of several types stand."},
    [SCHEMA_DOC] = {"doc", CLR_TEXT, 0, 0, "What the column says."},
    [SCHEMA_ACCESS] =
        {"access", CLR_TEXT, 0, 0,
         "How it can be looked up: = by value, .. by range; '= required' and 'argument': rows come "
         "for a given value only; empty: by a scan of the rows."},
    [SCHEMA_COLUMNS] = {0},
};

static size_t count_columns(const struct clr_table *table)
{
    size_t count = 0;
    while (table->columns[count].name)
        count++;
    return count;
}

static size_t count_rows(const struct clr_dump *dump)
{
    size_t count = 0;
    (void)dump;
    for (size_t i = 0; clr_tables[i]; i++)
        count += count_columns(clr_tables[i]);
    return count;
}

static enum clr_status column(struct clr_cursor *cursor, int number, sqlite3_context *context,
                              struct clr_error *error)
{
    static const char *const types[] = {"INTEGER", "REAL", "TEXT", ""};
    const struct clr_table *const *table = clr_tables;
    size_t row = (size_t)cursor->row;
    (void)error;
    for (size_t count; row >= (count = count_columns(*table)); table++)
        row -= count;
    const struct clr_column *described = &(*table)->columns[row];
    switch (number) {
    case SCHEMA_TABLE: clr_result_static(context, (*table)->name); break;
    case SCHEMA_COLUMN: clr_result_static(context, described->name); break;
    case SCHEMA_TYPE: clr_result_static(context, types[described->type]); break;
    case SCHEMA_DOC: clr_result_static(context, described->doc); break;
    case SCHEMA_ACCESS: clr_result_static(context, clr_column_access(*table, (int)row)); break;
    }
    return CLR_OK;
}

static double some_hundred(const struct clr_dump *dump)
{
    (void)dump;
    return 400;
}

static const struct clr_path schema_paths[] = {
    {"scan", {{0, CLR_NO_KEY}}, -1, false, false, 0, some_hundred},
    {0},
};

const struct clr_table clr_table_schema = {
    .name = "clr_schema",
    .doc = "The tables and columns that there are.",
    .columns = schema_columns,
    .paths = schema_paths,
    .global = true,
    .contract = -1,
    .count = count_rows,
    .column = column,
};
