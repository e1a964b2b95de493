/*
 * refs: one row for every non-null reference slot of every object that is not free.
 *
 *   scan      in heap order, by GCDesc
 *   source=   the same for one object; needs no graph
 *   target=   by the reverse graph (CLR_PART_REVERSE), built once
 *   address=  the edges of the object that the slot lies in
 *
 * The key is the slot's address, so rows come in the order of their sources, not of the key.
 */
#include "table.h"

#include "inspect/fieldpath.h"

struct ref_cursor {
    struct clr_cursor base;
    enum { ROWS_OF_SCAN, ROWS_OF_LINKS, ONE_ROW } rows;
    struct clr_ref_scan scan;
    bool is_whole; /* the scan is of all objects */
    struct clr_link_scan links;
    struct clr_ref ref;
};

enum { REFS_BY_ADDRESS, REFS_BY_SOURCE, REFS_BY_TARGET, REFS_SCAN };

static void report_invalid(void *context, uint64_t slot, uint64_t value)
{
    clr_dump_invalid_ref(context, slot, value, 0);
}

static void report_missing(void *context, uint64_t address, uint64_t length)
{
    clr_dump_invalid_ref(context, address, 0, length);
}

static enum clr_status next_ref(struct clr_cursor *base, struct clr_error *error)
{
    struct ref_cursor *cursor = (struct ref_cursor *)base;
    (void)error;
    switch (cursor->rows) {
    case ROWS_OF_SCAN:
        base->eof = !clr_ref_scan_next(&cursor->scan, &cursor->ref);
        base->dump->refs_read |= base->eof && cursor->is_whole;
        break;
    case ROWS_OF_LINKS: base->eof = !clr_link_scan_next(&cursor->links, &cursor->ref); break;
    case ONE_ROW: base->eof = true; break;
    }
    base->rowid = (int64_t)cursor->ref.address;
    return CLR_OK;
}

/* The edge whose slot is at ADDRESS: in an object, or of a dependent handle. */
static bool find_by_slot(const struct clr_dump *dump, uint64_t address, struct clr_ref *ref)
{
    uint32_t number;
    if (clr_object_containing(dump->heap, address, &number))
        return clr_ref_in_object(dump->refs, number, address, ref);
    for (size_t i = 0; i < dump->refs->dependent_count; i++)
        if (dump->refs->dependents[i].slot == address)
            return clr_ref_dependent(dump->refs, &dump->refs->dependents[i], ref);
    return false;
}

static enum clr_status start_refs(struct clr_cursor *base, const struct clr_query *query,
                                  struct clr_error *error)
{
    struct ref_cursor *cursor = (struct ref_cursor *)base;
    struct clr_dump *dump = base->dump;
    uint32_t first = 0, end = 0;
    cursor->rows = ROWS_OF_SCAN;
    cursor->is_whole = query->path == REFS_SCAN;
    switch (query->path) {
    case REFS_BY_ADDRESS:
        cursor->rows = ONE_ROW;
        base->eof = !find_by_slot(dump, (uint64_t)clr_equal_int(query, 0), &cursor->ref);
        base->rowid = (int64_t)cursor->ref.address;
        return CLR_OK;
    case REFS_BY_SOURCE:
        if (clr_number(dump->heap, (uint64_t)clr_equal_int(query, 0), &first))
            end = first + 1;
        break;
    case REFS_BY_TARGET:
        if (clr_number(dump->heap, (uint64_t)clr_equal_int(query, 0), &first)) {
            clr_link_scan_start(&cursor->links, dump->links, first);
            cursor->rows = ROWS_OF_LINKS;
        }
        break;
    default: end = clr_heap_count(dump->heap); break;
    }
    clr_ref_scan_start(&cursor->scan, dump->refs, first, end);
    cursor->scan.invalid = report_invalid;
    cursor->scan.missing = report_missing;
    cursor->scan.context = dump;
    return next_ref(base, error);
}

static bool is_in_object(const struct clr_ref *ref)
{
    return ref->kind == CLR_REF_MEMBER || ref->kind == CLR_REF_ELEMENT;
}

CLR_NUMBER_FUNCTION(ref_offset)
{
    const struct clr_ref *ref = &((const struct ref_cursor *)row)->ref;
    return is_in_object(ref) ? ref->offset : CLR_ABSENT;
}

CLR_WORD_FUNCTION(ref_kind)
{
    return clr_ref_kind_text(((const struct ref_cursor *)row)->ref.kind);
}

CLR_VALUE_FUNCTION(ref_field)
{
    const struct clr_ref *ref = &((const struct ref_cursor *)row)->ref;
    const char *text = NULL;
    if (is_in_object(ref))
        CLR_TRY(clr_ref_field(cursor->dump, ref, &text, error));
    clr_result_static(context, text);
    return CLR_OK;
}

CLR_NUMBER_FUNCTION(ref_element)
{
    const struct clr_ref *ref = &((const struct ref_cursor *)row)->ref;
    return ref->kind == CLR_REF_ELEMENT ? ref->element : CLR_ABSENT;
}

enum { REF_ADDRESS, REF_SOURCE, REF_TARGET };

static const struct clr_column columns[] = {
    CLR_COLUMN("address", CLR_NUMBER(ref_cursor, ref.address),
               "Address of the slot; of a dependent edge the handle's secondary slot, of a "
               "loader_allocator edge the source's own.",
               .flags = CLR_KEY),
    CLR_COLUMN("source", CLR_NUMBER(ref_cursor, ref.source), "The object that refers.",
               .refers_to = "objects.address"),
    CLR_COLUMN("target", CLR_NUMBER(ref_cursor, ref.target),
               "The object referred to; looking it up builds the reverse graph once.",
               .refers_to = "objects.address"),
    CLR_COLUMN("offset", CLR_NUMBER_BY(ref_offset),
               "Bytes from the byte after the MethodTable pointer to the slot; NULL for edges "
               "without a slot in the object."),
    CLR_COLUMN("kind", CLR_WORD_BY(ref_kind), "member, element, dependent or loader_allocator."),
    CLR_COLUMN("field", CLR_VALUE_BY(CLR_TEXT, ref_field),
               "Path of the field, such as Next, Bread.First, [].Value; NULL if it has none."),
    CLR_COLUMN("element", CLR_NUMBER_BY(ref_element),
               "Number of the array's element, from 0 and in the order in memory, as elements.row, "
               "which has the indices as C# counts them; NULL if the source is no array."),
    CLR_END,
};

static const struct clr_path paths[] = {
    [REFS_BY_ADDRESS] = {.key = {{REF_ADDRESS, CLR_EQ}}, .order = -1, .unique = true, .rows = 1},
    [REFS_BY_SOURCE] = {.key = {{REF_SOURCE, CLR_EQ}}, .order = REF_SOURCE, .rows = 4},
    [REFS_BY_TARGET] = {.key = {{REF_TARGET, CLR_EQ}},
                        .order = -1,
                        .needs = CLR_PART_REVERSE,
                        .rows = 3},
    [REFS_SCAN] = {.order = REF_SOURCE, .per_object = 1.5},
    CLR_PATHS_END,
};

const struct clr_table clr_table_refs = {
    .name = "refs",
    .doc = "All references between objects: one row for every slot that is not null, of dead "
           "objects too.",
    .example =
        "SELECT s.type_name, r.field FROM refs AS r JOIN objects AS s ON s.address = r.source "
        "WHERE r.target = (SELECT min(object) FROM strings WHERE value = 'map-500')",
    .columns = columns,
    .paths = paths,
    .needs = CLR_PART_REFS,
    .contract = CLR_CONTRACT_GC,
    .cursor_size = sizeof(struct ref_cursor),
    .start = start_refs,
    .next = next_ref,
};
