/*
 * clr_schema: what tables there are, from their own declarations. Needs no dump.
 */
#include "table.h"
static size_t count_columns(const struct clr_table *table)
{
    size_t count = 0;
    while (table->columns[count].name)
        count++;
    return count;
}
static const void *rows(const struct clr_dump *dump, size_t *count)
{
    *count = 0;
    (void)dump;
    for (size_t i = 0; clr_tables[i]; i++)
        *count += count_columns(clr_tables[i]);
    return clr_tables;
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
    case 0: clr_result_static(context, (*table)->name); break;
    case 1: clr_result_static(context, described->name); break;
    case 2: clr_result_static(context, types[described->get.type]); break;
    case 3: clr_result_static(context, described->doc); break;
    case 4: clr_result_static(context, clr_column_access(*table, (int)row)); break;
    case 5: clr_result_static(context, described->refers_to); break;
    }
    return CLR_OK;
}
static const struct clr_column columns[] = {
    CLR_COLUMN("table_name", CLR_BY_TABLE(CLR_TEXT), "Name of the table.", .flags = CLR_KEY),
    CLR_COLUMN("column_name", CLR_BY_TABLE(CLR_TEXT), "Name of the column.", .flags = CLR_KEY),
    CLR_COLUMN("type", CLR_BY_TABLE(CLR_TEXT),
               "INTEGER, REAL or TEXT; empty where values of several types stand."),
    CLR_COLUMN("doc", CLR_BY_TABLE(CLR_TEXT), "What the column says."),
    CLR_COLUMN(
        "access", CLR_BY_TABLE(CLR_TEXT),
        "How it can be looked up: = by value, .. by range; '= required' and 'argument': rows come "
        "for a given value only; empty: by a scan of the rows."),
    CLR_COLUMN("refers_to", CLR_BY_TABLE(CLR_TEXT), "The column that it joins; NULL for others."),
    CLR_END,
};
const struct clr_table clr_table_schema = {
    .name = "clr_schema",
    .doc = "The tables and columns that there are.",
    .columns = columns,
    .global = true,
    .contract = -1,
    .list = {.get = rows, .rows = 400},
    .column = column,
};
