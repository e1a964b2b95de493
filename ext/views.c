/*
 * Reads what the comments in front of views say; see views.h.
 */
#include "views.h"

#include <string.h>

static const char create[] = "CREATE VIEW ", example[] = "-- Example: ", column_start[] = "--   ";

static bool starts(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

static const char *line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

static const char *next_line(const char *line)
{
    const char *end = line_end(line);
    return *end ? end + 1 : end;
}

static void add_words(struct clr_text *text, const char *from, const char *end)
{
    if (text->length != 0)
        clr_text_char(text, ' ');
    clr_text_add(text, from, (size_t)(end - from));
}

bool clr_view_next(struct clr_view_cursor *cursor, struct clr_view *view)
{
    struct clr_text *words = &view->doc; /* that the next line goes on */
    clr_text_clear(&view->name);
    clr_text_clear(&view->doc);
    clr_text_clear(&view->example);
    view->columns = NULL;
    for (; clr_view_texts[cursor->file]; cursor->file++, cursor->next = NULL) {
        const char *line = cursor->next ? cursor->next : clr_view_texts[cursor->file];
        for (; *line; line = next_line(line)) {
            if (starts(line, create)) {
                const char *name = line + strlen(create);
                clr_text_add(&view->name, name, strcspn(name, " \n"));
                cursor->next = next_line(line);
                return true;
            }
            if (starts(line, column_start)) {
                if (!view->columns)
                    view->columns = line;
            } else if (starts(line, example)) {
                words = &view->example;
                add_words(words, line + strlen(example), line_end(line));
            } else if (starts(line, "-- ")) {
                add_words(words, line + strlen("-- "), line_end(line));
            }
        }
    }
    return false;
}

void clr_view_deinit(struct clr_view *view)
{
    clr_text_deinit(&view->name);
    clr_text_deinit(&view->doc);
    clr_text_deinit(&view->example);
}

bool clr_view_column_next(struct clr_view *view, struct clr_view_column *column)
{
    static const char joins[] = " -> ";
    const char *line = view->columns;
    clr_text_clear(&column->name);
    clr_text_clear(&column->doc);
    clr_text_clear(&column->refers_to);
    if (!line || !starts(line, column_start))
        return false;
    const char *name = line + strlen(column_start), *end = line_end(line);
    const char *colon = memchr(name, ':', (size_t)(end - name));
    if (!colon)
        return false;
    size_t length = strcspn(name, " :");
    clr_text_add(&column->name, name, length);
    if (starts(name + length, joins))
        clr_text_add(&column->refers_to, name + length + strlen(joins),
                     (size_t)(colon - name) - length - strlen(joins));
    for (colon++; *colon == ' '; colon++)
        ;
    clr_text_add(&column->doc, colon, (size_t)(end - colon));
    view->columns = next_line(line);
    return true;
}

void clr_view_column_deinit(struct clr_view_column *column)
{
    clr_text_deinit(&column->name);
    clr_text_deinit(&column->doc);
    clr_text_deinit(&column->refers_to);
}
