/*
 * Objects of a type and of those derived from it. Each shape is asked once.
 */
#include "heapscan.h"

#include "base/alloc.h"
#include "runtime/types.h"

enum status_of_shape { NOT_ASKED, DOES_NOT, DOES };

void clr_derived_finish(struct clr_derived_scan *scan)
{
    clr_free(scan->derives);
    scan->derives = NULL;
}

enum clr_status clr_derived_start(struct clr_derived_scan *scan, struct clr_dump *dump,
                                  uint64_t base, bool one, uint64_t address, bool descending,
                                  struct clr_error *error)
{
    const struct clr_shape *shapes;
    uint32_t first = 0, end = clr_heap_count(dump->heap);
    clr_derived_finish(scan);
    scan->dump = dump;
    scan->base = base;
    scan->seen = 0;
    scan->derives = clr_alloc(clr_heap_shapes(dump->heap, &shapes), 1);
    if (!scan->derives)
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    if (one)
        end = clr_number(dump->heap, address, &first) ? first + 1 : first;
    clr_object_scan_start(&scan->scan, dump->heap, first, end, descending);
    return CLR_OK;
}

static bool derives(struct clr_derived_scan *scan, uint32_t shape)
{
    const struct clr_shape *shapes;
    if (scan->derives[shape] == NOT_ASKED) {
        clr_heap_shapes(scan->dump->heap, &shapes);
        scan->derives[shape] =
            scan->base != 0 && !shapes[shape].is_free &&
                    clr_type_derives(scan->dump->runtime, shapes[shape].type, scan->base)
                ? DOES
                : DOES_NOT;
    }
    return scan->derives[shape] == DOES;
}

enum clr_status clr_derived_next(struct clr_derived_scan *scan, struct clr_job *job, bool *found,
                                 struct clr_error *error)
{
    enum { BETWEEN_POLLS = 4096 };
    *found = false;
    while (clr_object_scan_next(&scan->scan, &scan->object)) {
        if (++scan->seen % BETWEEN_POLLS == 0)
            CLR_TRY(clr_job_poll(job, "looking at objects", scan->seen,
                                 clr_heap_count(scan->dump->heap), error));
        if (derives(scan, scan->object.shape)) {
            *found = true;
            break;
        }
    }
    return CLR_OK;
}
