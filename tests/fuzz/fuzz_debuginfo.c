/*
 * DebugInfo from a hostile dump. The first byte chooses the format and whether there is a flag
 * byte; the rest is the blob. What is decoded must be within bounds, must be the same when it is
 * written anew and read again, and all memory must come back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "debug_encoder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_bounds(const struct clr_debug_format *format, const uint8_t *bytes, size_t size)
{
    struct clr_bounds bounds = {0}, again = {0};
    struct encoded e = {0};
    size_t index;
    if (clr_bounds_decode(format, bytes, size, &bounds) == CLR_DECODED) {
        for (size_t i = 0; i < bounds.count; i++) {
            check(bounds.items[i].il_offset >= CLR_IL_EPILOG);
            check(i == 0 || bounds.items[i].native_offset >= bounds.items[i - 1].native_offset);
        }
        if (clr_bounds_find(&bounds, 0, &index))
            check(index < bounds.count);
        encode_bounds(&e, format, bounds.items, bounds.count);
        check(clr_bounds_decode(format, e.bytes, e.size, &again) == CLR_DECODED);
        check(again.count == bounds.count);
        for (size_t i = 0; i < bounds.count; i++)
            check(memcmp(&again.items[i], &bounds.items[i], sizeof again.items[i]) == 0);
    }
    encoded_free(&e);
    clr_bounds_deinit(&bounds);
    clr_bounds_deinit(&again);
}

static void check_variables(const struct clr_debug_format *format, const uint8_t *bytes,
                            size_t size)
{
    struct clr_variables variables = {0};
    if (clr_variables_decode(format, bytes, size, 1, &variables) == CLR_DECODED)
        for (size_t i = 0; i < variables.count; i++) {
            check(variables.items[i].end >= variables.items[i].start);
            check(clr_variable_kind_text(variables.items[i].kind) != NULL);
            check((variables.items[i].number < 0) ==
                  (clr_variable_special(format, variables.items[i].number) != NULL));
        }
    clr_variables_deinit(&variables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct clr_debug_layout patchpoint = {40, 16};
    struct clr_debug_info info;
    uint32_t first, second;
    uint64_t live = clr_alloc_live();
    if (size < 2)
        return 0;
    const struct clr_debug_format *format = &clr_debug_formats[data[0] % CLR_FORMATS];
    bool flagged = data[0] & 4;
    data++;
    size--;
    check_bounds(format, data, size);
    check_variables(format, data, size);
    if (!clr_debug_split(format, flagged, &patchpoint, data, size, &info))
        return 0;
    check(info.size <= size);
    const struct clr_debug_chunk *const chunks[] = {&info.bounds,         &info.variables,
                                                    &info.uninstrumented, &info.patchpoint,
                                                    &info.rich,           &info.async};
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
        check(chunks[i]->offset <= size && chunks[i]->size <= size - chunks[i]->offset);
    check_bounds(format, data + info.bounds.offset, info.bounds.size);
    check_variables(format, data + info.variables.offset, info.variables.size);
    clr_rich_counts(data + info.rich.offset, info.rich.size, &first, &second);
    clr_async_counts(data + info.async.offset, info.async.size, &first, &second);
    check(live == clr_alloc_live());
    return 0;
}
