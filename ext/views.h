/*
 * The views, embedded from sql/ at build time: one text a file, in name order; ends at NULL.
 *
 * A text has one view or several. In front of each stand comments: its sentences, then its columns with
 * a sentence each and perhaps the column that one joins, then an example.
 *
 *     -- Objects that must not move: what holds each.
 *     --   object -> objects.address: The object.
 *     --   size: Bytes of it.
 *     -- Example: SELECT type_name, kind FROM pinned
 *     CREATE VIEW pinned AS
 *
 * 'CREATE VIEW ' starts a line and the name is unqualified: clr_attach puts the schema in front of it;
 * names inside resolve in the view's schema.
 */
#ifndef CLR_VIEWS_H
#define CLR_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

extern const char *const clr_view_texts[];

/* A place among the lines of all views. */
struct clr_view_cursor {
    size_t file;
    const char *next; /* line; NULL: the first of the file */
};

/* What stands in front of a view. Texts are freed with clr_text_deinit; names are numbers of bytes. */
struct clr_view {
    struct clr_text name, doc, example;
    const char *columns; /* the first line of a column; NULL: none */
};
/* Goes to the next view, false at the end. Both are zeroed at first. */
bool clr_view_next(struct clr_view_cursor *cursor, struct clr_view *view);
void clr_view_deinit(struct clr_view *view);

struct clr_view_column {
    struct clr_text name, doc, refers_to; /* refers_to empty: joins none */
};
/* The next column of a view; false behind the last. */
bool clr_view_column_next(struct clr_view *view, struct clr_view_column *column);
void clr_view_column_deinit(struct clr_view_column *column);

#endif
