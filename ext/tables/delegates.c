/*
 * delegates: every entry of every delegate on the heap.
 */
#include "heapscan.h"
#include "inspect/delegates.h"
#include "lines.h"
#include "results.h"

enum delegate_column {
    DELEGATE_OBJECT,
    DELEGATE_ROW,
    DELEGATE_TARGET,
    DELEGATE_METHOD,
    DELEGATE_METHOD_NAME,
    DELEGATE_COLUMNS
};

static const struct clr_column delegate_columns[] = {
    [DELEGATE_OBJECT] = CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The delegate.",
                                   .flags = CLR_KEY, .refers_to = "objects.address"),
    [DELEGATE_ROW] = CLR_COLUMN("row", CLR_BY_TABLE(CLR_INTEGER),
                                "Number of the entry; a delegate that calls one method has one.",
                                .flags = CLR_KEY),
    [DELEGATE_TARGET] = CLR_COLUMN("target", CLR_BY_TABLE(CLR_INTEGER),
                                   "The instance (or first argument) that it is bound to; NULL if "
                                   "it is bound to none, as to a static method.",
                                   .refers_to = "objects.address"),
    [DELEGATE_METHOD] = CLR_COLUMN("method", CLR_BY_TABLE(CLR_INTEGER),
                                   "The method; NULL where the code pointer leads to no method.",
                                   .refers_to = "methods.address"),
    [DELEGATE_METHOD_NAME] =
        CLR_COLUMN("method_name", CLR_BY_TABLE(CLR_TEXT), "Namespace.Type.Method."),
    [DELEGATE_COLUMNS] = CLR_END,
};

struct delegate_cursor {
    struct clr_cursor base;
    struct clr_derived_scan scan;
    struct clr_delegate_layout layout;
    uint32_t row, count;
    struct clr_delegate_entry entry;
    bool found;
};

static enum clr_status read_entry(struct delegate_cursor *cursor, struct clr_error *error)
{
    struct clr_dump *dump = cursor->base.dump;
    uint64_t object = cursor->scan.object.address;
    CLR_TRY(clr_delegate_entry(dump->runtime, &cursor->layout, object, cursor->row, &cursor->found,
                               &cursor->entry, error));
    if (!cursor->found || cursor->entry.method == 0)
        clr_problem_once(
            dump->problems, CLR_WARNING, "delegates", false, object, 0,
            "the delegate at 0x%llx: its code pointer leads to no method that is known, or "
            "is not saved",
            (unsigned long long)object);
    return CLR_OK;
}

static enum clr_status next_delegate(struct clr_cursor *base, struct clr_error *error)
{
    struct delegate_cursor *cursor = (struct delegate_cursor *)base;
    bool found;
    base->rowid++;
    if (++cursor->row < cursor->count)
        return read_entry(cursor, error);
    CLR_TRY(clr_derived_next(&cursor->scan, base->job, &found, error));
    base->eof = !found;
    if (!found)
        return CLR_OK;
    cursor->row = 0;
    cursor->count =
        clr_delegate_count(base->dump->runtime, &cursor->layout, cursor->scan.object.address);
    return read_entry(cursor, error);
}

static enum clr_status start_delegates(struct clr_cursor *base, const struct clr_query *query,
                                       struct clr_error *error)
{
    struct delegate_cursor *cursor = (struct delegate_cursor *)base;
    struct clr_runtime *runtime = base->dump->runtime;
    bool one = query->path == 0, known;
    CLR_TRY(clr_delegate_layout(base->dump, &cursor->layout, &known, error));
    if (runtime->delegate_type == 0 || !known)
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "delegates cannot be given: the type System.MulticastDelegate or the names "
                        "of its fields are not known; option 'modules' names a folder with the "
                        "files");
    CLR_TRY(clr_derived_start(&cursor->scan, base->dump, runtime->delegate_type, one,
                              one ? (uint64_t)clr_equal_int(query, 0) : 0, false, error));
    cursor->row = cursor->count = 0;
    base->rowid = -1;
    return next_delegate(base, error);
}

static void finish_delegates(struct clr_cursor *base)
{
    clr_derived_finish(&((struct delegate_cursor *)base)->scan);
}

static enum clr_status delegate_column(struct clr_cursor *base, int column,
                                       sqlite3_context *context, struct clr_error *error)
{
    const struct delegate_cursor *cursor = (const struct delegate_cursor *)base;
    const struct clr_delegate_entry *entry = &cursor->entry;
    struct clr_text text = {0};
    switch (column) {
    case DELEGATE_OBJECT: clr_result_u64(context, cursor->scan.object.address); break;
    case DELEGATE_ROW: clr_result_u64(context, cursor->row); break;
    case DELEGATE_TARGET:
        if (cursor->found && !entry->is_open)
            clr_result_u64(context, entry->target);
        break;
    case DELEGATE_METHOD: clr_result_known(context, entry->method); break;
    case DELEGATE_METHOD_NAME:
        if (entry->method == 0)
            break;
        clr_method_full_name_at(base->dump->runtime, entry->method, &text);
        return clr_result_text(context, &text, error);
    }
    return CLR_OK;
}

static const struct clr_path delegate_paths[] = {
    {.key = {{DELEGATE_OBJECT, CLR_EQ}}, .order = DELEGATE_ROW, .rows = 2},
    {.order = DELEGATE_OBJECT, .per_object = 1.0 / 50},
    CLR_PATHS_END,
};

const struct clr_table clr_table_delegates = {
    .name = "delegates",
    .doc = "What delegates call: one row for every entry of an invocation list.",
    .example =
        "SELECT method_name, count(*) FROM delegates GROUP BY method_name ORDER BY 2 DESC LIMIT 5",
    .columns = delegate_columns,
    .paths = delegate_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct delegate_cursor),
    .start = start_delegates,
    .next = next_delegate,
    .finish = finish_delegates,
    .column = delegate_column,
};
