/*
 * Private to reader/inspect: what the ways through collections share. A way ends by itself
 * (elements.c asks no further) or by damage (E->done).
 */
#ifndef CLR_INSPECT_WAYS_H
#define CLR_INSPECT_WAYS_H

#include "inspect/elements.h"

/* --- follow.c: fields by name ------------------------------------------------------------------
 */

/* Reports damage at ADDRESS and ends the elements. */
void clr_way_damaged(struct clr_elements *e, uint64_t address, const char *what);
/* Counts a node; false, with a problem, if there have been more than objects: a circle. */
bool clr_way_visit(struct clr_elements *e, uint64_t node);

/* The failure that tells of a field that LAYOUT does not have. */
enum clr_status clr_way_missing(const struct clr_elements *e, const struct clr_layout *layout,
                                const char *names, struct clr_error *error);
/* A member that must be there: 'a|b'. NULL: none is asked for. */
enum clr_status clr_way_need(const struct clr_elements *e, const struct clr_layout *layout,
                             const char *names, const struct clr_member **member,
                             struct clr_error *error);
/* Goes along 'a.b|a.c' from BASE, where a struct of LAYOUT or the fields of an object of it begin.
 * *PLACE is the last field's; its address is 0 behind a null. */
enum clr_status clr_way_follow(const struct clr_elements *e, const struct clr_layout *layout,
                               uint64_t base, const char *paths, struct clr_place *place,
                               struct clr_error *error);
/* A reference, a number of 32 bits; 0 if it is not saved. */
enum clr_status clr_way_reference_in(const struct clr_elements *e, const char *paths,
                                     uint64_t *object, struct clr_error *error);
enum clr_status clr_way_number_in(const struct clr_elements *e, const struct clr_layout *layout,
                                  uint64_t base, const char *paths, uint64_t *number,
                                  struct clr_error *error);
uint64_t clr_way_reference_at(const struct clr_elements *e, uint64_t base,
                              const struct clr_member *member);

/* Looks up the members of nodes or entries of TYPE; *IS is false, with a problem, if that cannot be
 * read. INNER: of those in REST's tree, or in slots. */
enum clr_status clr_way_learn(struct clr_elements *e, uint64_t type, bool inner,
                              struct clr_node_members *members, bool *is, struct clr_error *error);
/* The same for the object at NODE; *IS is false, with a problem, if there is none. */
enum clr_status clr_way_enter(struct clr_elements *e, uint64_t node, bool inner,
                              struct clr_node_members *members, bool *is, struct clr_error *error);
/* The key and value in the struct, or behind the MethodTable word, at BASE. */
enum clr_status clr_way_give(const struct clr_elements *e, const struct clr_node_members *members,
                             uint64_t base, struct clr_item *item, struct clr_error *error);
/* Splits a value that is a struct of key and value. */
enum clr_status clr_way_split(const struct clr_elements *e, struct clr_item *item,
                              struct clr_error *error);
/* Where the fields of an object begin. */
uint64_t clr_way_fields_of(const struct clr_elements *e, uint64_t object);

/* --- nodes.c: ways over nodes ------------------------------------------------------------------
 */

enum clr_status clr_way_start_nodes(struct clr_elements *e, struct clr_error *error);

typedef enum clr_status clr_way_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                     struct clr_error *error);
clr_way_next clr_way_next_in_chain, clr_way_next_in_tree, clr_way_next_hashed,
    clr_way_next_in_buckets, clr_way_next_in_rings, clr_way_next_in_both;

#endif
