/*
 * Fields of collections, of their nodes and entries, and of the structs in those.
 *
 * Every node is counted: more of them than there are objects on the heap is a cycle.
 */
#include <string.h>

#include "inspect/internal.h"
#include "runtime/object.h"

void clr_elements_damaged(struct clr_elements *e, uint64_t address, const char *what)
{
    clr_problem(e->dump->problems, CLR_WARNING, "elements", address, 0,
                "collection 0x%llx: %s at 0x%llx; the rest of its elements is left out",
                (unsigned long long)e->object, what, (unsigned long long)address);
    e->done = true;
}

bool clr_elements_visit(struct clr_elements *e, uint64_t node)
{
    if (++e->visited <= clr_heap_count(e->dump->heap))
        return true;
    clr_elements_damaged(e, node, "its nodes go in a cycle");
    return false;
}

/* --- Finding -----------------------------------------------------------------------------------
 */

/* By role: what else a field of that name might be is another layout. */
static const uint8_t kinds[CLR_COLLECTION_FIELDS] = {
    [CLR_FIELD_ITEMS] = CLR_MANAGED_REFERENCE, [CLR_FIELD_COUNT] = CLR_MANAGED_32BIT,
    [CLR_FIELD_HEAD] = CLR_MANAGED_32BIT,      [CLR_FIELD_TAIL] = CLR_MANAGED_32BIT,
    [CLR_FIELD_KEYS] = CLR_MANAGED_REFERENCE,  [CLR_FIELD_FROZEN] = CLR_MANAGED_8BIT,
    [CLR_FIELD_HANDLE] = CLR_MANAGED_WORD,
};

enum clr_status clr_elements_bind(const struct clr_elements *e, struct clr_layout *layout,
                                  const char *const *names, const struct clr_managed **managed,
                                  struct clr_error *error)
{
    CLR_TRY(clr_managed_find(e->dump, layout, names, names, kinds, CLR_COLLECTION_FIELDS, managed,
                             error));
    if ((*managed)->missing == (*managed)->count)
        return CLR_OK;
    const char *name = names[(*managed)->missing];
    return clr_fail(error, CLR_UNSUPPORTED, e->object,
                    "elements: %.120s has no field '%.*s' in this release: the layout of this "
                    "collection is not known. field_values and refs show what is there",
                    clr_type_name(e->dump->runtime, layout->type.address), (int)strcspn(name, "|"),
                    name);
}

enum clr_status clr_elements_bind_type(struct clr_elements *e, uint64_t type,
                                       const char *const *names, struct clr_node_fields *fields,
                                       bool *is, struct clr_error *error)
{
    struct clr_layout *layout = NULL;
    *is = true;
    if (type != 0 && fields->type == type)
        return CLR_OK;
    if (type != 0)
        CLR_TRY(clr_layout_get(e->dump, type, &layout, error));
    if (!layout) {
        clr_elements_damaged(e, type, "the type of a node cannot be read");
        *is = false;
        return CLR_OK;
    }
    CLR_TRY(clr_elements_bind(e, layout, names, &fields->managed, error));
    fields->type = type;
    return CLR_OK;
}

enum clr_status clr_elements_enter(struct clr_elements *e, uint64_t node, const char *const *names,
                                   struct clr_node_fields *fields, bool *is,
                                   struct clr_error *error)
{
    uint64_t type;
    uint32_t number;
    *is = clr_elements_visit(e, node);
    if (*is && (!clr_number(e->dump->heap, node, &number) ||
                !clr_object_type(e->dump->runtime, node, &type))) {
        clr_elements_damaged(e, node, "there is no node");
        *is = false;
    }
    return *is ? clr_elements_bind_type(e, type, names, fields, is, error) : CLR_OK;
}

/* --- Reading -----------------------------------------------------------------------------------
 */

uint64_t clr_elements_word(const struct clr_elements *e, const struct clr_managed *managed,
                           enum clr_collection_field field, uint64_t base)
{
    uint64_t word;
    return clr_read_word(e->dump->runtime->process, base + managed->fields[field].offset, &word)
               ? word
               : 0;
}

uint32_t clr_elements_number(const struct clr_elements *e, const struct clr_managed *managed,
                             enum clr_collection_field field, uint64_t base)
{
    uint32_t number;
    return clr_read_u32(e->dump->runtime->process, base + managed->fields[field].offset, &number)
               ? number
               : 0;
}

enum clr_status clr_elements_split(struct clr_elements *e, struct clr_item *item,
                                   struct clr_error *error)
{
    const struct clr_managed_field *fields;
    uint64_t base = item->value.address;
    bool is;
    if (!e->pair || item->value.type == 0)
        return CLR_OK;
    CLR_TRY(clr_elements_bind_type(e, item->value.type, e->pair, &e->pairs, &is, error));
    if (!is)
        return CLR_OK;
    fields = e->pairs.managed->fields;
    item->has_key = true;
    CLR_TRY(clr_managed_place(e->dump, &fields[CLR_FIELD_KEY], base, &item->key, error));
    return clr_managed_place(e->dump, &fields[CLR_FIELD_VALUE], base, &item->value, error);
}

enum clr_status clr_elements_item(struct clr_elements *e, const struct clr_managed *managed,
                                  uint64_t base, struct clr_item *item, struct clr_error *error)
{
    const struct clr_managed_field *fields = managed->fields;
    item->has_key = clr_elements_has(managed, CLR_FIELD_KEY);
    if (item->has_key)
        CLR_TRY(clr_managed_place(e->dump, &fields[CLR_FIELD_KEY], base, &item->key, error));
    CLR_TRY(clr_managed_place(e->dump, &fields[CLR_FIELD_VALUE], base, &item->value, error));
    return clr_elements_split(e, item, error);
}
