/*
 * The shortest paths of all reachable objects, merged by root, field and type: why are all of them
 * alive, in twenty rows.
 */
#ifndef CLR_INSPECT_PATHTREE_H
#define CLR_INSPECT_PATHTREE_H

#include "inspect/fieldpath.h"

#define CLR_NO_NODE UINT32_MAX

struct clr_path_node {
    uint32_t parent; /* CLR_NO_NODE at the top; else lower than the node's own number */
    uint32_t depth;
    uint32_t root;         /* of the top node: id of one of its roots */
    const char *root_name; /* '' if it has none; lives with the tree */
    const char *field; /* that leads here from the parent; NULL at the top and for other edges */
    enum clr_ref_kind edge;
    uint64_t type;
    uint64_t object_count, size, total_size; /* bytes: of its objects; with all below */
    uint32_t sample;                         /* number of the object that comes first */
};

struct clr_path_tree {
    struct clr_path_node *nodes;
    size_t count, room;
    struct clr_text names; /* of roots, one behind another */
};

/* Needs CLR_PART_REACH. What repeats on a path is folded into its first node: a linked list is one.
 * On failure nothing is left. */
enum clr_status clr_path_tree_build(struct clr_dump *dump, struct clr_job *job,
                                    struct clr_path_tree **tree, struct clr_error *error);
void clr_path_tree_destroy(struct clr_path_tree *tree);

/* Appends the node's path as one text: 'static Zoo.Statics.Map -> System…Dictionary<…> -> _entries
 * …Entry[] -> [].value Zoo.Node'. */
void clr_path_tree_text(struct clr_dump *dump, const struct clr_path_tree *tree, uint32_t node,
                        struct clr_text *text);

/* The parts of such a text, for single paths too. */
void clr_path_text_root(struct clr_dump *dump, const struct clr_root *root, const char *name,
                        uint64_t type, struct clr_text *text);
void clr_path_text_step(struct clr_dump *dump, enum clr_ref_kind edge, const char *field,
                        uint64_t type, struct clr_text *text);

#endif
