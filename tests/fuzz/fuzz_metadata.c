/*
 * Metadata from a hostile dump: opened, then everything in it is read, and the first rows of types,
 * fields and methods are written as text. What is read twice must be the same, reading must not
 * allocate, and all memory of texts must come back.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "metadata_builder.h"
#include "runtime/ecma.h"
#include "runtime/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXTS = 40, FIELD_SIGNATURE = 2, METHOD_NAME = 3, METHOD_SIGNATURE = 4 };

static struct clr_bytes blob_cell(const struct clr_metadata *metadata, enum clr_table_id table,
                                  uint32_t rid, unsigned column)
{
    uint32_t index;
    clr_metadata_cell(metadata, table, rid, column, &index);
    return clr_metadata_blob(metadata, index);
}

static void write_texts(const struct clr_metadata *metadata)
{
    struct clr_ecma_context context = {.metadata = metadata, .word = 8};
    struct clr_text text = {0};
    for (uint32_t rid = 1; rid <= TEXTS; rid++) {
        uint32_t index;
        size_t length = 0;
        clr_text_clear(&text);
        context.type_rid = context.method_rid = rid;
        clr_ecma_type_name(metadata, rid, &text);
        clr_ecma_reference_name(metadata, rid, NULL, &text);
        clr_ecma_field_signature(&context, blob_cell(metadata, CLR_FIELDDEF, rid, FIELD_SIGNATURE),
                                 &text);
        clr_metadata_cell(metadata, CLR_METHODDEF, rid, METHOD_NAME, &index);
        const char *name = clr_metadata_string(metadata, index, &length);
        clr_ecma_method_signature(&context,
                                  blob_cell(metadata, CLR_METHODDEF, rid, METHOD_SIGNATURE),
                                  name ? name : "", length, &text);
        struct clr_bytes spec = blob_cell(metadata, CLR_TYPESPEC, rid, 0);
        clr_ecma_signature_type(&context, &spec, &text);
        if (text.length > CLR_ECMA_TEXT)
            abort();
    }
    clr_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clr_metadata metadata;
    struct clr_error error = {0};
    uint64_t made = clr_alloc_made(), live = clr_alloc_live();
    if (clr_metadata_open(&metadata, data, size, &error) != CLR_OK)
        return 0;
    uint64_t sum = metadata_read_everything(&metadata);
    if (sum != metadata_read_everything(&metadata) || made != clr_alloc_made())
        abort();
    write_texts(&metadata);
    if (live != clr_alloc_live())
        abort();
    return 0;
}
