/*
 * A table's declaration as text: the CREATE TABLE that SQLite takes; its paths, and how a column can
 * be looked up.
 *
 * Keys: one INTEGER column is the rowid. Any other key is a PRIMARY KEY of a WITHOUT ROWID table:
 * SQLite drops duplicate rows of an OR by the key, and a number that depends on the path would drop
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
    return count == 1 && table->columns[found].get.type == CLR_INTEGER ? found : NO_COLUMN;
}

bool clr_is_text_key(const struct clr_table *table, int column)
{
    return table->columns[column].get.type == CLR_TEXT && !(table->columns[column].flags & CLR_ARG);
}

static bool is_end(const struct clr_path *path)
{
    return path->rows == 0 && path->per_object == 0;
}

int clr_table_paths(const struct clr_table *table, struct clr_path paths[CLR_PATHS])
{
    enum { RANGE_OF_ALL = 4 }; /* a range is taken for this part of a list */
    const struct clr_list *list = &table->list;
    int count = 0;
    bool keyed;
    if (list->rows == 0) {
        for (; count < CLR_PATHS && !is_end(&table->paths[count]); count++)
            paths[count] = table->paths[count];
        return count;
    }
    int key = clr_single_key(table, &keyed);
    struct clr_path any = {.order = (int8_t)key, .reversible = key != NO_COLUMN};
    if (key != NO_COLUMN) {
        paths[count] = any;
        paths[count].key[0] = (struct clr_key){(uint8_t)key, CLR_EQ};
        paths[count].unique = true;
        paths[count++].rows = 1;
        paths[count] = any;
        paths[count].key[0] = (struct clr_key){(uint8_t)key, CLR_RANGE};
        paths[count++].rows = list->rows / RANGE_OF_ALL;
    }
    for (int i = 0; table->columns[i].name && count < CLR_PATHS - 1; i++)
        if (table->columns[i].found != 0) {
            paths[count] = any;
            paths[count].key[0] = (struct clr_key){(uint8_t)i, CLR_EQ};
            paths[count].needs = table->columns[i].needs;
            paths[count++].rows = table->columns[i].found;
        }
    paths[count] = any;
    paths[count].unique = list->rows == 1;
    paths[count++].rows = list->rows;
    return count;
}

/* Whether a key of a path need not be given. */
static bool is_optional(const struct clr_column *column)
{
    return (column->flags & CLR_ARG) && !(column->flags & CLR_REQUIRED);
}

char *clr_path_name(const struct clr_table *table, const struct clr_path *path)
{
    sqlite3_str *name = sqlite3_str_new(NULL);
    for (int k = 0; k < CLR_PATH_KEYS && path->key[k].op != CLR_NO_KEY; k++) {
        const struct clr_column *column = &table->columns[path->key[k].column];
        if (!is_optional(column))
            sqlite3_str_appendf(name, "%s%s%s", sqlite3_str_length(name) ? "," : "", column->name,
                                path->key[k].op == CLR_EQ ? "=" : "..");
    }
    if (sqlite3_str_length(name) == 0)
        sqlite3_str_appendall(name, "scan");
    return sqlite3_str_finish(name);
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
                            (is_hidden ? hidden : plain)[column->get.type],
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
    struct clr_path paths[CLR_PATHS];
    bool equal = false, range = false;
    for (int i = clr_table_paths(table, paths); i-- > 0;)
        for (int k = 0; k < CLR_PATH_KEYS; k++)
            if (paths[i].key[k].op != CLR_NO_KEY && paths[i].key[k].column == column)
                *(paths[i].key[k].op == CLR_EQ ? &equal : &range) = true;
    return equal && range ? "=,.." : equal ? "=" : range ? ".." : "";
}

void clr_module_name(const struct clr_table *table, char *text, size_t size)
{
    sqlite3_snprintf((int)size, text, table->global ? "%s" : "clr_%s", table->name);
}
