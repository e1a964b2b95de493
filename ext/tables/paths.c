/*
 * path_to_root, reachable_from, retained_by: table functions about one object. Their argument is a
 * hidden column; an address that is no object is an error, an unreachable object gives no row.
 *
 *   path_to_root(of_object [, max_paths])   hop 0 is the object that a root holds, the last hop the
 *                                           object asked for; one path unless more are asked for
 *   reachable_from(of_object)               everything that references lead to, breadth first
 *   retained_by(of_object)                  everything that it dominates
 */
#include "graph/paths.h"

#include "base/alloc.h"
#include "inspect/fieldpath.h"
#include "results.h"

/* The argument as an object's number. */
static enum clr_status object_argument(const struct clr_cursor *cursor,
                                       const struct clr_query *query, uint32_t *number,
                                       struct clr_error *error)
{
    uint64_t address = (uint64_t)clr_equal_int(query, 0);
    struct clr_object object;
    if (!clr_number(cursor->dump->heap, address, number) ||
        !clr_object_read(cursor->dump->heap, *number, &object) || object.shape == 0)
        return clr_fail(error, CLR_NOT_FOUND, address,
                        "0x%llx is not the address of an object: clr_what() says what is there",
                        (unsigned long long)address);
    return CLR_OK;
}

/* Type and size of object NUMBER. */
static enum clr_status read_object(const struct clr_cursor *cursor, uint32_t number,
                                   struct clr_object *object, struct clr_error *error)
{
    if (clr_object_read(cursor->dump->heap, number, object))
        return CLR_OK;
    return clr_fail(error, CLR_FAULT, clr_address(cursor->dump->heap, number),
                    "object 0x%llx was walked and cannot be read any more",
                    (unsigned long long)clr_address(cursor->dump->heap, number));
}

/* --- path_to_root ---------------------------------------------------------------------------- */

enum path_column {
    PATH_OF_OBJECT,
    PATH_MAX_PATHS,
    PATH_PATH,
    PATH_HOP,
    PATH_OBJECT,
    PATH_TYPE_NAME,
    PATH_FIELD,
    PATH_ROOT_KIND,
    PATH_ROOT_NAME,
    PATH_RETAINED_SIZE,
    PATH_COLUMNS
};

static const struct clr_column path_columns[] = {
    [PATH_OF_OBJECT] =
        CLR_COLUMN("of_object", CLR_BY_TABLE(CLR_INTEGER), "Argument: the object asked about.",
                   .flags = CLR_KEY | CLR_ARG | CLR_REQUIRED, .refers_to = "objects.address"),
    [PATH_MAX_PATHS] = CLR_COLUMN(
        "max_paths", CLR_BY_TABLE(CLR_INTEGER),
        "Argument: how many paths, each from another root; 1 if not given.", .flags = CLR_ARG),
    [PATH_PATH] = CLR_COLUMN("path", CLR_BY_TABLE(CLR_INTEGER),
                             "Number of the path, from 0; shortest first.", .flags = CLR_KEY),
    [PATH_HOP] = CLR_COLUMN("hop", CLR_BY_TABLE(CLR_INTEGER),
                            "Number of the step, from 0 at the root.", .flags = CLR_KEY),
    [PATH_OBJECT] = CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The object.",
                               .refers_to = "objects.address"),
    [PATH_TYPE_NAME] =
        CLR_COLUMN("type_name", CLR_BY_TABLE(CLR_TEXT), "Name of the object's type."),
    [PATH_FIELD] = CLR_COLUMN("field", CLR_BY_TABLE(CLR_TEXT),
                              "Field of the object before that leads here, an array's element with "
                              "its number; NULL at hop 0."),
    [PATH_ROOT_KIND] = CLR_COLUMN("root_kind", CLR_BY_TABLE(CLR_TEXT), "At hop 0: roots.kind."),
    [PATH_ROOT_NAME] = CLR_COLUMN("root_name", CLR_BY_TABLE(CLR_TEXT), "At hop 0: roots.name."),
    [PATH_RETAINED_SIZE] = CLR_COLUMN("retained_size", CLR_BY_TABLE(CLR_INTEGER),
                                      "Bytes that would be free if this object went away.",
                                      .needs = CLR_PART_DOMINATORS),
    [PATH_COLUMNS] = CLR_END,
};

struct path_cursor {
    struct clr_cursor base;
    struct clr_path_search *search; /* NULL: the one path that is kept */
    struct clr_object_path path;
    size_t hop;
    int64_t number, most;
    struct clr_text text;
};

static void finish_paths(struct clr_cursor *base)
{
    struct path_cursor *cursor = (struct path_cursor *)base;
    clr_path_search_end(cursor->search);
    clr_object_path_deinit(&cursor->path);
    clr_text_deinit(&cursor->text);
    cursor->search = NULL;
}

static enum clr_status next_path(struct clr_cursor *base, struct clr_error *error)
{
    struct path_cursor *cursor = (struct path_cursor *)base;
    bool found;
    base->rowid++;
    if (++cursor->hop < cursor->path.count)
        return CLR_OK;
    base->eof = true;
    cursor->number++;
    if (!cursor->search || cursor->number >= cursor->most)
        return CLR_OK;
    clr_object_path_deinit(&cursor->path);
    CLR_TRY(clr_path_search_next(cursor->search, base->job, &cursor->path, &found, error));
    cursor->hop = 0;
    base->eof = !found;
    return CLR_OK;
}

static enum clr_status start_paths(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct path_cursor *cursor = (struct path_cursor *)base;
    uint32_t number;
    bool found;
    finish_paths(base);
    cursor->hop = 0;
    cursor->number = 0;
    cursor->most = query->equal[1] ? clr_equal_int(query, 1) : 1;
    base->rowid = 0;
    CLR_TRY(object_argument(base, query, &number, error));
    if (cursor->most <= 1) {
        CLR_TRY(
            clr_path_shortest(base->dump->refs, &base->dump->reach, number, &cursor->path, error));
        base->eof = cursor->path.count == 0 || cursor->most < 1;
        return CLR_OK;
    }
    CLR_TRY(clr_dump_need(base->dump, CLR_PART_REVERSE, base->job, error));
    CLR_TRY(clr_path_search_start(base->dump->links, &base->dump->reach, base->dump->roots, number,
                                  &cursor->search, error));
    CLR_TRY(clr_path_search_next(cursor->search, base->job, &cursor->path, &found, error));
    base->eof = !found;
    return CLR_OK;
}

/* 'Next', '[3].Value': like refs.field, with the element's number in it. */
static enum clr_status result_field(struct path_cursor *cursor, sqlite3_context *context,
                                    struct clr_error *error)
{
    struct clr_ref ref;
    const char *text;
    uint64_t edge = cursor->path.hops[cursor->hop].edge;
    if (edge == CLR_NO_UNIT || !clr_edge_ref(cursor->base.dump->refs, edge, &ref))
        return CLR_OK;
    CLR_TRY(clr_ref_field(cursor->base.dump, &ref, &text, error));
    clr_text_clear(&cursor->text);
    if (ref.kind == CLR_REF_ELEMENT)
        clr_text_format(&cursor->text, "[%llu]%s", (unsigned long long)ref.element, text + 2);
    else
        clr_text_put(&cursor->text, text ? text : clr_ref_kind_text(ref.kind));
    if (cursor->text.failed)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    clr_result_copy(context, cursor->text.data, cursor->text.length);
    return CLR_OK;
}

static enum clr_status path_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    struct path_cursor *cursor = (struct path_cursor *)base;
    const struct clr_dump *dump = base->dump;
    const struct clr_root *root = &dump->roots->rows[cursor->path.root];
    uint32_t number = cursor->path.hops[cursor->hop].number;
    struct clr_object object;
    switch (column) {
    case PATH_PATH: sqlite3_result_int64(context, cursor->number); break;
    case PATH_HOP: clr_result_u64(context, cursor->hop); break;
    case PATH_OBJECT: clr_result_u64(context, clr_address(dump->heap, number)); break;
    case PATH_TYPE_NAME:
        CLR_TRY(read_object(base, number, &object, error));
        clr_result_static(context, clr_type_name(dump->runtime, object.type));
        break;
    case PATH_FIELD: return result_field(cursor, context, error);
    case PATH_ROOT_KIND:
        if (cursor->hop == 0)
            clr_result_static(context, clr_root_kind_text(root->kind));
        break;
    case PATH_ROOT_NAME:
        if (cursor->hop != 0)
            break;
        clr_text_clear(&cursor->text);
        clr_root_name(dump->runtime, root, &cursor->text);
        if (cursor->text.failed)
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        if (cursor->text.length)
            clr_result_copy(context, cursor->text.data, cursor->text.length);
        break;
    case PATH_RETAINED_SIZE: clr_result_u64(context, dump->dominators.retained_size[number]); break;
    }
    return CLR_OK;
}

static const struct clr_path path_paths[] = {
    {.key = {{PATH_OF_OBJECT, CLR_EQ}, {PATH_MAX_PATHS, CLR_EQ}}, .order = -1, .rows = 20},
    CLR_PATHS_END,
};

const struct clr_table clr_table_path_to_root = {
    .name = "path_to_root",
    .doc = "Table function: why an object is alive, from a root to it, with the field of every "
           "step; shortest first, weak handles excluded.",
    .example = "SELECT hop, type_name, field, root_name FROM path_to_root((SELECT max(address) "
               "FROM objects WHERE type_name = 'Zoo.Node' AND is_reachable))",
    .columns = path_columns,
    .paths = path_paths,
    .needs = CLR_PART_REACH,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct path_cursor),
    .start = start_paths,
    .next = next_path,
    .finish = finish_paths,
    .column = path_column,
};

/* --- reachable_from, retained_by ------------------------------------------------------------- */

enum member_column {
    MEMBER_OF_OBJECT,
    MEMBER_OBJECT,
    MEMBER_TYPE,
    MEMBER_SIZE,
    MEMBER_DEPTH,
    MEMBER_COLUMNS
};

static const struct clr_column member_columns[] = {
    [MEMBER_OF_OBJECT] =
        CLR_COLUMN("of_object", CLR_BY_TABLE(CLR_INTEGER), "Argument: the object to start from.",
                   .flags = CLR_KEY | CLR_ARG | CLR_REQUIRED, .refers_to = "objects.address"),
    [MEMBER_OBJECT] =
        CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The object; the start first.",
                   .flags = CLR_KEY, .refers_to = "objects.address"),
    [MEMBER_TYPE] =
        CLR_COLUMN("type", CLR_BY_TABLE(CLR_INTEGER), "The type.", .refers_to = "types.address"),
    [MEMBER_SIZE] = CLR_COLUMN("size", CLR_BY_TABLE(CLR_INTEGER), "Bytes of the object itself."),
    [MEMBER_DEPTH] =
        CLR_COLUMN("depth", CLR_BY_TABLE(CLR_INTEGER), "Steps from the start, which is 0."),
    [MEMBER_COLUMNS] = CLR_END,
};

struct member {
    uint32_t number, depth;
};

/* A queue that grows as it is read: what is added belongs to later rows. */
struct member_cursor {
    struct clr_cursor base;
    struct member *queue;
    size_t at, count, room;
    uint8_t *seen; /* a bit for each object; reachable_from only */
    size_t seen_bytes;
    struct clr_object object;
    bool (*expand)(struct member_cursor *, struct member);
};

static void finish_members(struct clr_cursor *base)
{
    struct member_cursor *cursor = (struct member_cursor *)base;
    clr_free(cursor->queue);
    clr_free_large(cursor->seen, cursor->seen_bytes, 1);
    cursor->queue = NULL;
    cursor->seen = NULL;
    cursor->at = cursor->count = cursor->room = 0;
}

static bool add_member(struct member_cursor *cursor, uint32_t number, uint32_t depth)
{
    if (cursor->seen) {
        uint8_t bit = (uint8_t)(1u << (number & 7));
        if (cursor->seen[number >> 3] & bit)
            return true;
        cursor->seen[number >> 3] |= bit;
    }
    if (!clr_grow(&cursor->queue, cursor->count, &cursor->room, sizeof *cursor->queue))
        return false;
    cursor->queue[cursor->count++] = (struct member){number, depth};
    return true;
}

static bool expand_refs(struct member_cursor *cursor, struct member member)
{
    struct clr_ref_scan scan;
    struct clr_ref ref;
    clr_ref_scan_start(&scan, cursor->base.dump->refs, member.number, member.number + 1);
    while (clr_ref_scan_next(&scan, &ref))
        if (!add_member(cursor, ref.target_number, member.depth + 1))
            return false;
    return true;
}

static bool expand_dominated(struct member_cursor *cursor, struct member member)
{
    const uint32_t *numbers;
    size_t count = clr_dominated_by(&cursor->base.dump->dominated, member.number + 1, &numbers);
    for (size_t i = 0; i < count; i++)
        if (!add_member(cursor, numbers[i], member.depth + 1))
            return false;
    return true;
}

static enum clr_status current_member(struct member_cursor *cursor, struct clr_error *error)
{
    cursor->base.eof = cursor->at >= cursor->count;
    if (cursor->base.eof)
        return CLR_OK;
    cursor->base.rowid = (int64_t)cursor->at;
    return read_object(&cursor->base, cursor->queue[cursor->at].number, &cursor->object, error);
}

static enum clr_status next_member(struct clr_cursor *base, struct clr_error *error)
{
    struct member_cursor *cursor = (struct member_cursor *)base;
    if (!cursor->expand(cursor, cursor->queue[cursor->at]))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    cursor->at++;
    return current_member(cursor, error);
}

static enum clr_status start_reachable(struct clr_cursor *base, const struct clr_query *query,
                                       struct clr_error *error)
{
    struct member_cursor *cursor = (struct member_cursor *)base;
    uint32_t number;
    finish_members(base);
    CLR_TRY(object_argument(base, query, &number, error));
    cursor->expand = expand_refs;
    cursor->seen_bytes = (size_t)clr_heap_count(base->dump->heap) / 8 + 1;
    cursor->seen = clr_alloc_large(cursor->seen_bytes, 1);
    if (!cursor->seen || !add_member(cursor, number, 0))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    return current_member(cursor, error);
}

static enum clr_status start_retained(struct clr_cursor *base, const struct clr_query *query,
                                      struct clr_error *error)
{
    struct member_cursor *cursor = (struct member_cursor *)base;
    uint32_t number;
    finish_members(base);
    CLR_TRY(object_argument(base, query, &number, error));
    cursor->expand = expand_dominated;
    if (base->dump->dominators.dominator[number] != CLR_UNREACHED && !add_member(cursor, number, 0))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    return current_member(cursor, error);
}

static enum clr_status member_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    struct member_cursor *cursor = (struct member_cursor *)base;
    (void)error;
    switch (column) {
    case MEMBER_OBJECT: clr_result_u64(context, cursor->object.address); break;
    case MEMBER_TYPE: clr_result_u64(context, cursor->object.type); break;
    case MEMBER_SIZE: clr_result_u64(context, cursor->object.size); break;
    case MEMBER_DEPTH: clr_result_u64(context, cursor->queue[cursor->at].depth); break;
    }
    return CLR_OK;
}

static const struct clr_path member_paths[] = {
    {.key = {{MEMBER_OF_OBJECT, CLR_EQ}}, .order = -1, .rows = 500},
    CLR_PATHS_END,
};

const struct clr_table clr_table_reachable_from = {
    .name = "reachable_from",
    .doc = "Table function: the object and everything that references lead to from it.",
    .example = "SELECT count(*), sum(size) FROM reachable_from((SELECT min(address) FROM objects "
               "WHERE type_name = 'Zoo.Node'))",
    .columns = member_columns,
    .paths = member_paths,
    .needs = CLR_PART_REFS,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct member_cursor),
    .start = start_reachable,
    .next = next_member,
    .finish = finish_members,
    .column = member_column,
};

const struct clr_table clr_table_retained_by = {
    .name = "retained_by",
    .doc = "Table function: the object and everything that would go with it; depth counts "
           "dominators.",
    .example = "SELECT count(*), sum(size) FROM retained_by((SELECT min(object) FROM dominators))",
    .columns = member_columns,
    .paths = member_paths,
    .needs = CLR_PART_REACH | CLR_PART_DOMINATED,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct member_cursor),
    .start = start_retained,
    .next = next_member,
    .finish = finish_members,
    .column = member_column,
};
