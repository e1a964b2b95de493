/*
 * A table's declaration as text: the CREATE TABLE that SQLite takes, and how a column can be looked
 * up.
 *
 * Keys: one INTEGER column is the rowid. Any other key is a PRIMARY KEY of a WITHOUT ROWID table:
 * SQLite drops duplicate rows of an OR by the key, and a number that depends on the path would lose
 * rows. In an eponymous table the dump is part of the key. SQLite takes every part of a key for
 * NOT NULL.
 */
#include "driver.h"

int clr_count_arguments(const struct clr_table *table)
{
    int count = 0;
    while (table->columns[count].name && (table->columns[count].flags & CLR_ARG))
        count++;
    return count;
}

int clr_single_key(const struct clr_table *table, bool *keyed)
{
    int found = NO_COLUMN, count = 0;
    for (int i = 0; table->columns[i].name; i++)
        if (table->columns[i].flags & CLR_KEY) {
            count++;
            found = i;
        }
    *keyed = count > 0;
    return count == 1 && table->columns[found].type == CLR_INTEGER ? found : NO_COLUMN;
}

bool clr_is_text_key(const struct clr_table *table, int column)
{
    return table->columns[column].type == CLR_TEXT && !(table->columns[column].flags & CLR_ARG);
}

int clr_scan_path(const struct clr_table *table)
{
    for (int i = 0; table->paths[i].name; i++)
        if (table->paths[i].key[0].op == CLR_NO_KEY)
            return i;
    return -1;
}

char *clr_table_declaration(const struct clr_table *table, bool eponymous)
{
    /* A hidden column without affinity must say BLOB: 'HIDDEN' alone would be a numeric type. */
    static const char *const plain[] = {" INTEGER", " REAL", " TEXT", ""};
    static const char *const hidden[] = {" INTEGER HIDDEN", " REAL HIDDEN", " TEXT HIDDEN",
                                         " BLOB HIDDEN"};
    bool with_dump = eponymous && !table->global, keyed;
    int key = clr_single_key(table, &keyed);
    bool rowid = !keyed || (key != NO_COLUMN && !with_dump);
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text,
                          with_dump ? "CREATE TABLE x(dump TEXT HIDDEN, " : "CREATE TABLE x(");
    for (int i = 0; table->columns[i].name; i++) {
        const struct clr_column *column = &table->columns[i];
        bool is_hidden = column->flags & (CLR_ARG | CLR_HIDDEN);
        sqlite3_str_appendf(text, "%s%s%s%s", i ? ", " : "", column->name,
                            (is_hidden ? hidden : plain)[column->type],
                            rowid && i == key ? " PRIMARY KEY" : "");
    }
    if (!rowid) {
        sqlite3_str_appendall(text, with_dump ? ", PRIMARY KEY(dump" : ", PRIMARY KEY(");
        bool first = !with_dump;
        for (int i = 0; table->columns[i].name; i++)
            if (table->columns[i].flags & CLR_KEY) {
                sqlite3_str_appendf(text, "%s%s", first ? "" : ", ", table->columns[i].name);
                first = false;
            }
        sqlite3_str_appendall(text, ")");
    }
    sqlite3_str_appendall(text, rowid ? ")" : ") WITHOUT ROWID");
    return sqlite3_str_finish(text);
}

const char *clr_column_access(const struct clr_table *table, int column)
{
    unsigned flags = table->columns[column].flags;
    if (flags & CLR_ARG)
        return flags & CLR_REQUIRED ? "argument" : "optional argument";
    if (flags & CLR_REQUIRED)
        return "= required";
    bool equal = false, range = false;
    for (const struct clr_path *path = table->paths; path->name; path++)
        for (int k = 0; k < CLR_PATH_KEYS; k++)
            if (path->key[k].op != CLR_NO_KEY && path->key[k].column == column)
                *(path->key[k].op == CLR_EQ ? &equal : &range) = true;
    return equal && range ? "=,.." : equal ? "=" : range ? ".." : "";
}

void clr_module_name(const struct clr_table *table, char *text, size_t size)
{
    sqlite3_snprintf((int)size, text, table->global ? "%s" : "clr_%s", table->name);
}
