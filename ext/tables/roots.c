/*
 * roots: what a garbage collection would mark from, one row a slot.
 */
#include "table.h"

static const void *roots(const struct clr_dump *dump, size_t *count)
{
    *count = dump->roots->count;
    return dump->roots->rows;
}

CLR_WORD_FUNCTION(root_kind)
{
    return clr_root_kind_text(((const struct clr_root *)row)->kind);
}

CLR_TEXT_FUNCTION(root_name)
{
    (void)error;
    clr_root_name(cursor->dump->runtime, row, text);
    return CLR_OK;
}

/* A frame needs stacks that are decoded; a conservative root has none. */
CLR_NUMBER_FUNCTION(root_frame)
{
    return CLR_ABSENT;
}

static const struct clr_column columns[] = {
    CLR_COLUMN("id", CLR_ROW_NUMBER(0), "Number of the root in this dump, from 0.",
               .flags = CLR_KEY),
    CLR_COLUMN("kind", CLR_WORD_BY(root_kind),
               "static, thread_static, stack, strong, pinned, finalizer, frozen and others."),
    CLR_COLUMN("address", CLR_NONZERO(clr_root, address),
               "Address of the slot; NULL in a register and for frozen objects."),
    CLR_COLUMN("object", CLR_NUMBER(clr_root, object), "What it holds.",
               .refers_to = "objects.address", .found = 20),
    CLR_COLUMN("name", CLR_NONEMPTY_TEXT_BY(root_name), "Static field, kind of handle, or method."),
    CLR_COLUMN("thread", CLR_NONZERO(clr_root, thread),
               "The thread whose stack or thread static it is; NULL if it is of no thread.",
               .refers_to = "threads.address", .found = 20),
    CLR_COLUMN("frame", CLR_NUMBER_BY(root_frame), "Number of the frame; NULL if not known."),
    CLR_COLUMN("location", CLR_STATIC_TEXT(clr_root, location),
               "Register or place on the stack; NULL for other kinds."),
    CLR_COLUMN("is_interior", CLR_NUMBER(clr_root, is_interior),
               "1: the slot points into the object."),
    CLR_COLUMN("is_pinned", CLR_NUMBER(clr_root, is_pinned), "1: the object must not move."),
    CLR_COLUMN("is_conservative", CLR_NUMBER(clr_root, is_conservative),
               "1: it may be no reference: a word that looks like one."),
    CLR_END,
};

const struct clr_table clr_table_roots = {
    .name = "roots",
    .doc = "What a garbage collection would mark from, one row a slot; weak and dependent handles "
           "are none.",
    .example = "SELECT kind, count(*) FROM roots GROUP BY kind",
    .columns = columns,
    .list = {.get = roots, .row_size = sizeof(struct clr_root), .rows = 500},
    .needs = CLR_PART_ROOTS,
    .contract = CLR_CONTRACT_GC,
};
