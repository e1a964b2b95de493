/*
 * Metadata from a hostile dump: opened, then everything in it is read. What is read twice must be the
 * same, and nothing may be allocated.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "metadata_builder.h"
#include "runtime/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clr_metadata metadata;
    struct clr_error error = {0};
    uint64_t made = clr_alloc_made();
    if (clr_metadata_open(&metadata, data, size, &error) != CLR_OK)
        return 0;
    uint64_t sum = metadata_read_everything(&metadata);
    if (sum != metadata_read_everything(&metadata) || made != clr_alloc_made())
        abort();
    return 0;
}
