/*
 * The views, embedded from sql/ at build time: one text a file, in name order; ends at NULL.
 *
 * A text has one view or several. In front of each stand lines of comments: its sentences, its columns with
 * a sentence each, and an example:
 *
 *     -- Sums by generation, over all heaps.
 *     --   generation: 0 to 2, 3 large objects, 4 pinned, 5 frozen.
 *     --   name: gen0, gen1, gen2, loh, poh or frozen.
 *     -- Example: SELECT name, object_bytes FROM size_by_generation
 *     CREATE VIEW size_by_generation AS
 *
 * The name is unqualified: clr_attach puts the schema in front of it; names inside resolve in the view's
 * schema.
 */
#ifndef CLR_VIEWS_H
#define CLR_VIEWS_H

extern const char *const clr_view_texts[];

#endif
