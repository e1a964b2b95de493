/*
 * path_tree: the shortest paths of all reachable objects, merged by root, field and type.
 *
 * The tree is made on first use and kept with the dump; texts of paths are made when one is asked
 * for, and for all nodes once one is looked up.
 */
#include "cache.h"
#include "inspect/pathtree.h"
#include "results.h"

enum tree_column {
    TREE_ID,
    TREE_PARENT,
    TREE_DEPTH,
    TREE_PATH,
    TREE_ROOT_KIND,
    TREE_ROOT_NAME,
    TREE_FIELD,
    TREE_TYPE,
    TREE_TYPE_NAME,
    TREE_OBJECT_COUNT,
    TREE_SIZE,
    TREE_TOTAL_SIZE,
    TREE_SAMPLE,
    TREE_COLUMNS
};

static const struct clr_column tree_columns[] = {
    [TREE_ID] = CLR_COLUMN("id", CLR_BY_TABLE(CLR_INTEGER), "Number of the node, from 0.",
                           .flags = CLR_KEY),
    [TREE_PARENT] = CLR_COLUMN("parent", CLR_BY_TABLE(CLR_INTEGER), "The node; NULL at the top.",
                               .refers_to = "path_tree.id"),
    [TREE_DEPTH] =
        CLR_COLUMN("depth", CLR_BY_TABLE(CLR_INTEGER), "Steps from the top, which is 0."),
    [TREE_PATH] = CLR_COLUMN("path", CLR_BY_TABLE(CLR_TEXT), "The whole path as one text."),
    [TREE_ROOT_KIND] =
        CLR_COLUMN("root_kind", CLR_BY_TABLE(CLR_TEXT), "roots.kind of the path's root."),
    [TREE_ROOT_NAME] =
        CLR_COLUMN("root_name", CLR_BY_TABLE(CLR_TEXT), "roots.name of the path's root."),
    [TREE_FIELD] =
        CLR_COLUMN("field", CLR_BY_TABLE(CLR_TEXT), "Field that leads here; NULL at the top."),
    [TREE_TYPE] = CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "The type of its objects.",
                             .refers_to = "types.address"),
    [TREE_TYPE_NAME] = CLR_COLUMN("type_name", CLR_BY_TABLE(CLR_TEXT), "Name of that type."),
    [TREE_OBJECT_COUNT] = CLR_COLUMN("object_count", CLR_BY_TABLE(CLR_INTEGER),
                                     "Objects whose shortest path this is, repeated steps folded."),
    [TREE_SIZE] = CLR_COLUMN("size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of these objects."),
    [TREE_TOTAL_SIZE] =
        CLR_COLUMN("total_size", CLR_BY_TABLE(CLR_INTEGER), "Bytes with all nodes below."),
    [TREE_SAMPLE] = CLR_COLUMN("sample", CLR_BY_TABLE(CLR_INTEGER), "One of its objects.",
                               .refers_to = "objects.address"),
    [TREE_COLUMNS] = CLR_END,
};

enum { TREE_BY_ID, TREE_BY_PARENT, TREE_BY_PATH, TREE_SCAN };

struct tree_cursor {
    struct clr_cursor base;
    const struct clr_path_tree *tree;
    const struct clr_lookup *index;
    size_t at, left;
    uint32_t node;
    struct clr_text text;
};

static enum clr_status node_path(struct tree_cursor *cursor, uint32_t node, struct clr_error *error)
{
    clr_text_clear(&cursor->text);
    clr_path_tree_text(cursor->base.dump, cursor->tree, node, &cursor->text);
    return cursor->text.failed ? clr_fail(error, CLR_NOMEM, 0, "out of memory") : CLR_OK;
}

static enum clr_status index_nodes(struct tree_cursor *cursor, struct clr_lookup *index,
                                   bool by_path, struct clr_error *error)
{
    if (index->built)
        return CLR_OK;
    clr_lookup_deinit(index);
    for (size_t i = 0; i < cursor->tree->count; i++) {
        uint32_t parent = cursor->tree->nodes[i].parent;
        uint64_t key = parent;
        if (by_path) {
            CLR_TRY(node_path(cursor, (uint32_t)i, error));
            key = clr_text_key(cursor->text.data, cursor->text.length);
        } else if (parent == CLR_NO_NODE) {
            continue;
        }
        if (!clr_lookup_add(index, key, (uint32_t)i)) {
            clr_lookup_deinit(index);
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        }
    }
    clr_lookup_sort(index);
    index->built = true;
    return CLR_OK;
}

static enum clr_status next_node(struct clr_cursor *base, struct clr_error *error)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;
    (void)error;
    base->eof = cursor->left == 0;
    if (base->eof)
        return CLR_OK;
    cursor->node = cursor->index ? cursor->index->entries[cursor->at].row : (uint32_t)cursor->at;
    cursor->at += base->descending ? (size_t)-1 : 1;
    cursor->left--;
    base->rowid = cursor->node;
    return CLR_OK;
}

static enum clr_status start_tree(struct clr_cursor *base, const struct clr_query *query,
                                  struct clr_error *error)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;
    struct clr_cache *cache;
    CLR_TRY(clr_cache(base->dump, &cache, error));
    if (!cache->path_tree)
        CLR_TRY(clr_path_tree_build(base->dump, base->job, &cache->path_tree, error));
    cursor->tree = cache->path_tree;
    cursor->index = NULL;
    cursor->at = cursor->left = 0;
    base->descending = query->descending;
    switch (query->path) {
    case TREE_BY_ID:
        cursor->left =
            clr_equal_int(query, 0) >= 0 && (uint64_t)clr_equal_int(query, 0) < cursor->tree->count;
        cursor->at = (size_t)clr_equal_int(query, 0);
        break;
    case TREE_BY_PARENT:
        CLR_TRY(index_nodes(cursor, &cache->tree_parents, false, error));
        cursor->index = &cache->tree_parents;
        clr_lookup_range(cursor->index, clr_equal_int(query, 0), &cursor->at, &cursor->left);
        break;
    case TREE_BY_PATH:
        CLR_TRY(index_nodes(cursor, &cache->tree_paths, true, error));
        cursor->index = &cache->tree_paths;
        clr_lookup_range(cursor->index,
                         (int64_t)clr_text_key((const char *)sqlite3_value_text(query->equal[0]),
                                               (size_t)sqlite3_value_bytes(query->equal[0])),
                         &cursor->at, &cursor->left);
        break;
    default:
        cursor->left = cursor->tree->count;
        cursor->at = base->descending && cursor->left ? cursor->left - 1 : 0;
        break;
    }
    return next_node(base, error);
}

static void finish_tree(struct clr_cursor *base)
{
    clr_text_deinit(&((struct tree_cursor *)base)->text);
}

static enum clr_status tree_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    struct tree_cursor *cursor = (struct tree_cursor *)base;
    const struct clr_path_node *node = &cursor->tree->nodes[cursor->node];
    const struct clr_dump *dump = base->dump;
    switch (column) {
    case TREE_ID: clr_result_u64(context, cursor->node); break;
    case TREE_PARENT:
        if (node->parent != CLR_NO_NODE)
            clr_result_u64(context, node->parent);
        break;
    case TREE_DEPTH: clr_result_u64(context, node->depth); break;
    case TREE_PATH:
        CLR_TRY(node_path(cursor, cursor->node, error));
        clr_result_copy(context, cursor->text.data, cursor->text.length);
        break;
    case TREE_ROOT_KIND:
        clr_result_static(context, clr_root_kind_text(dump->roots->rows[node->root].kind));
        break;
    case TREE_ROOT_NAME: clr_result_nonempty(context, node->root_name); break;
    case TREE_FIELD:
        if (node->parent != CLR_NO_NODE)
            clr_result_static(context, node->field ? node->field : clr_ref_kind_text(node->edge));
        break;
    case TREE_TYPE: clr_result_u64(context, node->type); break;
    case TREE_TYPE_NAME:
        clr_result_static(context, clr_type_name(dump->runtime, node->type));
        break;
    case TREE_OBJECT_COUNT: clr_result_u64(context, node->object_count); break;
    case TREE_SIZE: clr_result_u64(context, node->size); break;
    case TREE_TOTAL_SIZE: clr_result_u64(context, node->total_size); break;
    case TREE_SAMPLE: clr_result_u64(context, clr_address(dump->heap, node->sample)); break;
    }
    return CLR_OK;
}

static const struct clr_path tree_paths[] = {
    [TREE_BY_ID] = {.key = {{TREE_ID, CLR_EQ}},
                    .order = TREE_ID,
                    .reversible = true,
                    .unique = true,
                    .rows = 1},
    [TREE_BY_PARENT] = {.key = {{TREE_PARENT, CLR_EQ}}, .order = TREE_ID, .rows = 20},
    [TREE_BY_PATH] = {.key = {{TREE_PATH, CLR_EQ}}, .order = -1, .rows = 1},
    [TREE_SCAN] = {.order = TREE_ID, .reversible = true, .rows = 3000},
    CLR_PATHS_END,
};

const struct clr_table clr_table_path_tree = {
    .name = "path_tree",
    .doc = "The shortest paths of all reachable objects merged by root, field and type; what "
           "repeats along a path is folded into its first node.",
    .example =
        "SELECT object_count, total_size, path FROM path_tree ORDER BY total_size DESC LIMIT 5",
    .columns = tree_columns,
    .paths = tree_paths,
    .needs = CLR_PART_REACH,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct tree_cursor),
    .start = start_tree,
    .next = next_node,
    .finish = finish_tree,
    .column = tree_column,
};
