#include "graph/invalid.h"

#include <stdlib.h>
#include <string.h>

void clr_invalid_add(struct clr_invalid_refs *refs, uint64_t slot, uint64_t value, uint64_t length)
{
    refs->failed |= !CLR_ARRAY_ADD(&refs->rows, (struct clr_invalid_ref){slot, value, length});
}

static int by_slot(const void *a, const void *b)
{
    const struct clr_invalid_ref *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

enum clr_status clr_invalid_gather(struct clr_invalid_refs *pieces, size_t count,
                                   struct clr_invalid_refs *all, struct clr_error *error)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += pieces[i].rows.count;
    if (total && !(all->rows.items = clr_alloc(total, sizeof *all->rows.items)))
        return clr_no_memory(error);
    all->rows.room = total;
    for (size_t i = 0; i < count; i++) {
        if (pieces[i].rows.count)
            memcpy(all->rows.items + all->rows.count, pieces[i].rows.items,
                   pieces[i].rows.count * sizeof *all->rows.items);
        all->rows.count += pieces[i].rows.count;
        CLR_ARRAY_FREE(&pieces[i].rows);
    }
    if (total)
        qsort(all->rows.items, total, sizeof *all->rows.items, by_slot);
    return CLR_OK;
}
