/*
 * clr_schema: what there is, from the declarations: tables, views and functions, each followed by its
 * columns or arguments. Needs no dump.
 */
#include "functions.h"
#include "views.h"

struct schema_cursor {
    struct clr_cursor base;
    enum { OF_TABLES, OF_VIEWS, OF_FUNCTIONS, AT_END } section;
    size_t list, item; /* the table; the function */
    int part;          /* 0: the thing itself, then its columns or arguments, from 1 */
    struct clr_view_cursor views;
    struct clr_view view;
    struct clr_view_column view_column;
    struct clr_text arguments; /* '(object, path [, schema])' */
    /* The row. */
    const char *name, *column, *kind, *type, *doc, *access, *refers_to, *example;
};

static const char *const sql_types[] = {"INTEGER", "REAL", "TEXT", ""};

static void set(struct schema_cursor *cursor, const char *kind, const char *name, const char *doc)
{
    cursor->kind = kind;
    cursor->name = name;
    cursor->column = cursor->type = cursor->access = "";
    cursor->doc = doc;
    cursor->refers_to = cursor->example = NULL;
}

static bool next_of_tables(struct schema_cursor *cursor)
{
    const struct clr_table *table = clr_tables[cursor->item];
    if (table && cursor->part > 0 && !table->columns[cursor->part - 1].name) {
        cursor->part = 0;
        table = clr_tables[++cursor->item];
    }
    if (!table)
        return false;
    int part = cursor->part++;
    const struct clr_column *column = &table->columns[part - 1];
    set(cursor, part ? "column" : "table", table->name, part ? column->doc : table->doc);
    if (part == 0) {
        cursor->example = table->example;
        return true;
    }
    cursor->column = column->name;
    cursor->type = sql_types[column->get.type];
    cursor->access = clr_column_access(table, part - 1);
    cursor->refers_to = column->refers_to;
    return true;
}

static const char *text_or_null(const struct clr_text *text)
{
    return text->length ? text->data : NULL;
}

static bool next_of_views(struct schema_cursor *cursor)
{
    if (cursor->part++ > 0 && clr_view_column_next(&cursor->view, &cursor->view_column)) {
        set(cursor, "column", cursor->view.name.data, cursor->view_column.doc.data);
        cursor->column = cursor->view_column.name.data;
        cursor->refers_to = text_or_null(&cursor->view_column.refers_to);
        return true;
    }
    if (!clr_view_next(&cursor->views, &cursor->view))
        return false;
    set(cursor, "view", cursor->view.name.data, cursor->view.doc.data);
    cursor->example = text_or_null(&cursor->view.example);
    return true;
}

/* Number PART of the arguments, the schema among them; false behind the last. */
static bool argument_of(const struct clr_function *function, int part,
                        struct clr_parameter *parameter)
{
    static const struct clr_parameter schema = {
        "schema", CLR_TEXT_PARAMETER, true, "The dump; needed when several are attached.", NULL};
    int count = 0;
    while (count < CLR_PARAMETERS && function->parameters[count].name)
        count++;
    if (part > count || (part == count && (function->flags & CLR_WITHOUT_DUMP)))
        return false;
    *parameter = part == count ? schema : function->parameters[part];
    return true;
}

static void write_arguments(const struct clr_function *function, struct clr_text *text)
{
    struct clr_parameter parameter;
    int optional = 0;
    clr_text_clear(text);
    clr_text_char(text, '(');
    for (int i = 0; argument_of(function, i, &parameter); i++) {
        clr_text_put(text, parameter.is_optional ? (i ? " [, " : "[") : i ? ", " : "");
        clr_text_put(text, parameter.name);
        optional += parameter.is_optional;
    }
    for (; optional > 0; optional--)
        clr_text_char(text, ']');
    clr_text_char(text, ')');
}

static bool next_of_functions(struct schema_cursor *cursor)
{
    static const char *const types[] = {"INTEGER", "TEXT", ""};
    const struct clr_function *function;
    struct clr_parameter parameter;
    for (;;) {
        if (!clr_functions[cursor->list])
            return false;
        function = &clr_functions[cursor->list][cursor->item];
        if (!function->name) {
            cursor->list++;
            cursor->item = 0;
        } else if (cursor->part > 0 && !argument_of(function, cursor->part - 1, &parameter)) {
            cursor->item++;
            cursor->part = 0;
        } else {
            break;
        }
    }
    if (cursor->part++ == 0) {
        write_arguments(function, &cursor->arguments);
        set(cursor, "function", function->name, function->doc);
        cursor->access = cursor->arguments.data;
        cursor->example = function->example;
        return true;
    }
    set(cursor, "argument", function->name, parameter.doc);
    cursor->column = parameter.name;
    cursor->type = types[parameter.kind];
    cursor->access = parameter.is_optional ? "optional argument" : "argument";
    cursor->refers_to = parameter.refers_to;
    return true;
}

static enum clr_status next_row(struct clr_cursor *base, struct clr_error *error)
{
    struct schema_cursor *cursor = (struct schema_cursor *)base;
    static bool (*const next[])(struct schema_cursor *) = {next_of_tables, next_of_views,
                                                           next_of_functions};
    while (cursor->section != AT_END && !next[cursor->section](cursor)) {
        cursor->section++;
        cursor->item = 0;
        cursor->part = 0;
    }
    base->rowid++;
    base->eof = cursor->section == AT_END;
    const struct clr_view_column *column = &cursor->view_column;
    bool failed = cursor->view.name.failed || cursor->view.doc.failed ||
                  cursor->view.example.failed || column->name.failed || column->doc.failed ||
                  column->refers_to.failed || cursor->arguments.failed;
    return failed ? clr_fail(error, CLR_NOMEM, 0, "out of memory") : CLR_OK;
}

static enum clr_status start_rows(struct clr_cursor *base, CLR_UNUSED const struct clr_query *query,
                                  struct clr_error *error)
{
    return next_row(base, error);
}

static void finish_rows(struct clr_cursor *base)
{
    struct schema_cursor *cursor = (struct schema_cursor *)base;
    clr_view_deinit(&cursor->view);
    clr_view_column_deinit(&cursor->view_column);
    clr_text_deinit(&cursor->arguments);
}

static const struct clr_column columns[] = {
    CLR_COLUMN("table_name", CLR_FOREIGN_TEXT(schema_cursor, name),
               "Name of the table, view or function.", .flags = CLR_KEY),
    CLR_COLUMN(
        "column_name", CLR_FOREIGN_TEXT(schema_cursor, column),
        "Name of the column or argument; '' in the row of the table, view or function itself.",
        .flags = CLR_KEY),
    CLR_COLUMN("type", CLR_STATIC_TEXT(schema_cursor, type),
               "INTEGER, REAL or TEXT; empty where values of several types stand."),
    CLR_COLUMN("doc", CLR_FOREIGN_TEXT(schema_cursor, doc), "What it says or gives."),
    CLR_COLUMN(
        "access", CLR_FOREIGN_TEXT(schema_cursor, access),
        "How a column can be looked up: = by value, .. by range; '= required' and 'argument': rows "
        "come for a given value only; empty: by a scan of the rows. Of a function its arguments."),
    CLR_COLUMN("kind", CLR_STATIC_TEXT(schema_cursor, kind),
               "table, view, function, column or argument."),
    CLR_COLUMN("refers_to", CLR_FOREIGN_TEXT(schema_cursor, refers_to),
               "The column that it joins, as objects.address; NULL for others."),
    CLR_COLUMN("example", CLR_FOREIGN_TEXT(schema_cursor, example),
               "A query, of tables, views and functions."),
    CLR_END,
};

static const struct clr_path paths[] = {
    {.order = -1, .rows = 600},
    CLR_PATHS_END,
};

const struct clr_table clr_table_schema = {
    .name = "clr_schema",
    .doc = "The tables, views and functions that there are, with their columns and arguments.",
    .example = "SELECT table_name, doc FROM clr_schema WHERE kind = 'table'",
    .columns = columns,
    .paths = paths,
    .global = true,
    .contract = -1,
    .cursor_size = sizeof(struct schema_cursor),
    .start = start_rows,
    .next = next_row,
    .finish = finish_rows,
};
