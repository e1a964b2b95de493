/*
 * Private to reader/inspect: what those that go through collections share. Elements end by
 * themselves (elements.c asks no further) or by damage (E->done).
 */
#ifndef CLR_INSPECT_INTERNAL_H
#define CLR_INSPECT_INTERNAL_H

#include "inspect/elements.h"

/* --- members.c: fields of collections ----------------------------------------------------------
 */

/* Reports damage at ADDRESS and ends the elements. */
void clr_elements_damaged(struct clr_elements *e, uint64_t address, const char *what);
/* Counts a node; false, with a problem, if there have been more than objects: a cycle. */
bool clr_elements_visit(struct clr_elements *e, uint64_t node);

/* The fields of LAYOUT that NAMES, a part of the collection's row, asks for. One that is missing is
 * the failure that names it. */
enum clr_status clr_elements_bind(const struct clr_elements *e, struct clr_layout *layout,
                                  const char *const *names, const struct clr_managed **managed,
                                  struct clr_error *error);
/* The same for nodes or entries of TYPE; *IS is false, with a problem, if that cannot be read. */
enum clr_status clr_elements_bind_type(struct clr_elements *e, uint64_t type,
                                       const char *const *names, struct clr_node_fields *fields,
                                       bool *is, struct clr_error *error);
/* The same for the object at NODE, which is counted; *IS is false, with a problem, if there is
 * none. */
enum clr_status clr_elements_enter(struct clr_elements *e, uint64_t node, const char *const *names,
                                   struct clr_node_fields *fields, bool *is,
                                   struct clr_error *error);

/* The word, or number of 32 bits, in a field of the struct, or behind the MethodTable word, at
 * BASE; 0 if it is not saved. */
uint64_t clr_elements_word(const struct clr_elements *e, const struct clr_managed *managed,
                           enum clr_collection_field field, uint64_t base);
uint32_t clr_elements_number(const struct clr_elements *e, const struct clr_managed *managed,
                             enum clr_collection_field field, uint64_t base);
static inline bool clr_elements_has(const struct clr_managed *managed,
                                    enum clr_collection_field field)
{
    return managed->fields[field].member != NULL;
}

/* The key and value at BASE. */
enum clr_status clr_elements_item(struct clr_elements *e, const struct clr_managed *managed,
                                  uint64_t base, struct clr_item *item, struct clr_error *error);
/* Splits a value that is a struct of key and value. */
enum clr_status clr_elements_split(struct clr_elements *e, struct clr_item *item,
                                   struct clr_error *error);
/* Where the fields of an object begin. */
static inline uint64_t clr_elements_base(const struct clr_elements *e, uint64_t object)
{
    return object + e->dump->runtime->word;
}

/* --- nodes.c -----------------------------------------------------------------------------------
 */

enum clr_status clr_nodes_start(struct clr_elements *e, struct clr_error *error);

typedef enum clr_status clr_nodes_next(struct clr_elements *e, struct clr_item *item, bool *found,
                                       struct clr_error *error);
clr_nodes_next clr_chain_next, clr_tree_next, clr_hashed_next, clr_buckets_next, clr_rings_next,
    clr_two_stacks_next;

#endif
