/*
 * descriptors, contracts, globals, descriptor_types, descriptor_fields: what the runtime publishes
 * of itself, as it was merged. All are arrays of the descriptor layer, shown row by row.
 */
#include <string.h>

#include "results.h"

/* descriptors.id counts from 1. */
static uint64_t part_id(uint32_t part)
{
    return (uint64_t)part + 1;
}

/* --- descriptors ----------------------------------------------------------------------------- */

static const void *parts(const struct clr_dump *dump, size_t *count)
{
    const struct clr_part *rows;
    *count = clr_descriptor_parts(dump->runtime->descriptor, &rows);
    return rows;
}

CLR_NUMBER_FUNCTION(part_parent)
{
    const struct clr_part *part = row;
    return part->parent < 0 ? CLR_ABSENT : part_id((uint32_t)part->parent);
}

CLR_VALUE_FUNCTION(part_json)
{
    const struct clr_part *part = row;
    clr_result_foreign_bytes(context, part->json, part->json_length);
    return CLR_OK;
}

static const struct clr_column part_columns[] = {
    CLR_COLUMN("id", CLR_ROW_NUMBER(1), "Number of the descriptor, from 1.", .flags = CLR_KEY),
    CLR_COLUMN("name", CLR_FOREIGN_TEXT(clr_part, name),
               "runtime, GC, or the name of a supplement."),
    CLR_COLUMN("parent", CLR_NUMBER_BY(part_parent), "The one that led here; NULL if none did.",
               .refers_to = "descriptors.id"),
    CLR_COLUMN("address", CLR_NONZERO(clr_part, address),
               "Address of the structure in the process; NULL for a supplement."),
    CLR_COLUMN("pointer_size", CLR_NONZERO(clr_part, pointer_size), "Bytes of a pointer: 4 or 8."),
    CLR_COLUMN("little_endian", CLR_NUMBER(clr_part, little_endian),
               "1: least significant byte first."),
    CLR_COLUMN("version", CLR_FOREIGN_TEXT(clr_part, version),
               "Version of the format, as it is written."),
    CLR_COLUMN("baseline", CLR_FOREIGN_TEXT(clr_part, baseline), "Baseline that it builds on."),
    CLR_COLUMN("json", CLR_VALUE_BY(CLR_TEXT, part_json), "The text itself."),
    CLR_END,
};

const struct clr_table clr_table_descriptors = {
    .name = "descriptors",
    .doc = "The descriptors that were merged: the runtime's, those it leads to, and supplements.",
    .example = "SELECT id, name, version, length(json) FROM descriptors",
    .columns = part_columns,
    .list = {.get = parts, .row_size = sizeof(struct clr_part), .rows = 20},
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
};

/* --- contracts ------------------------------------------------------------------------------- */

static const void *contracts(const struct clr_dump *dump, size_t *count)
{
    const struct clr_contract *rows;
    *count = clr_descriptor_contracts(dump->runtime->descriptor, &rows);
    return rows;
}

CLR_NUMBER_FUNCTION(contract_descriptor)
{
    return part_id(((const struct clr_contract *)row)->part);
}

CLR_WORD_FUNCTION(contract_implemented)
{
    const struct clr_contract *contract = row;
    return clr_contract_served(contract->name, contract->version);
}

static const struct clr_column contract_columns[] = {
    CLR_COLUMN("name", CLR_FOREIGN_TEXT(clr_contract, name), "Name of the contract.",
               .flags = CLR_KEY, .found = 1),
    CLR_COLUMN("version", CLR_FOREIGN_TEXT(clr_contract, version),
               "Version that the runtime announces."),
    CLR_COLUMN("descriptor", CLR_NUMBER_BY(contract_descriptor), "The descriptor that has it.",
               .flags = CLR_KEY, .refers_to = "descriptors.id"),
    CLR_COLUMN("implemented", CLR_WORD_BY(contract_implemented),
               "Version of ours that serves it; NULL if none does."),
    CLR_END,
};

const struct clr_table clr_table_contracts = {
    .name = "contracts",
    .doc = "The contracts that the runtime announces, and what serves them here.",
    .example = "SELECT name, version, implemented FROM contracts",
    .columns = contract_columns,
    .list = {.get = contracts, .row_size = sizeof(struct clr_contract), .rows = 20},
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
};

/* --- globals --------------------------------------------------------------------------------- */

static const void *globals(const struct clr_dump *dump, size_t *count)
{
    const struct clr_global *rows;
    *count = clr_descriptor_globals(dump->runtime->descriptor, &rows);
    return rows;
}

CLR_VALUE_FUNCTION(global_value)
{
    const struct clr_global *global = row;
    if (!global->indirect && clr_has(global->value))
        clr_result_u64(context, global->value);
    return CLR_OK;
}

CLR_NUMBER_FUNCTION(global_address)
{
    const struct clr_global *global = row;
    return global->indirect ? global->value : CLR_ABSENT;
}

CLR_NUMBER_FUNCTION(global_descriptor)
{
    return part_id(((const struct clr_global *)row)->part);
}

static const struct clr_column global_columns[] = {
    CLR_COLUMN("name", CLR_FOREIGN_TEXT(clr_global, name), "Name of the global.", .flags = CLR_KEY,
               .found = 1),
    CLR_COLUMN("type", CLR_FOREIGN_TEXT(clr_global, type), "Name of its type; NULL if not given."),
    CLR_COLUMN("value", CLR_VALUE_BY(CLR_ANY, global_value),
               "Its number; NULL if it is a text or indirect."),
    CLR_COLUMN("text", CLR_FOREIGN_TEXT(clr_global, text), "Its text; NULL if it has none."),
    CLR_COLUMN("address", CLR_NUMBER_BY(global_address),
               "Of an indirect global: address of the runtime's variable."),
    CLR_COLUMN("descriptor", CLR_NUMBER_BY(global_descriptor), "The descriptor that has it.",
               .flags = CLR_KEY, .refers_to = "descriptors.id"),
    CLR_END,
};

const struct clr_table clr_table_globals = {
    .name = "globals",
    .doc = "Named numbers, texts and variables of the runtime.",
    .example = "SELECT name, value, text FROM globals WHERE address IS NULL",
    .columns = global_columns,
    .list = {.get = globals, .row_size = sizeof(struct clr_global), .rows = 500},
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
};

/* --- descriptor_types ------------------------------------------------------------------------ */

static const void *described_types(const struct clr_dump *dump, size_t *count)
{
    const struct clr_described_type *rows;
    *count = clr_descriptor_types(dump->runtime->descriptor, &rows);
    return rows;
}

CLR_NUMBER_FUNCTION(type_descriptor)
{
    return part_id(((const struct clr_described_type *)row)->part);
}

static const struct clr_column type_columns[] = {
    CLR_COLUMN("name", CLR_FOREIGN_TEXT(clr_described_type, name),
               "Name of a structure of the runtime.", .flags = CLR_KEY, .found = 1),
    CLR_COLUMN("size", CLR_PRESENT(clr_described_type, size),
               "Its bytes; NULL if the runtime does not say."),
    CLR_COLUMN("descriptor", CLR_NUMBER_BY(type_descriptor), "The descriptor that has it.",
               .flags = CLR_KEY, .refers_to = "descriptors.id"),
    CLR_END,
};

const struct clr_table clr_table_descriptor_types = {
    .name = "descriptor_types",
    .doc = "Structures of the runtime that it describes.",
    .example = "SELECT name, size FROM descriptor_types ORDER BY name",
    .columns = type_columns,
    .list = {.get = described_types, .row_size = sizeof(struct clr_described_type), .rows = 500},
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
};

/* --- descriptor_fields ----------------------------------------------------------------------- */

static const void *described_fields(const struct clr_dump *dump, size_t *count)
{
    const struct clr_described_field *rows;
    *count = clr_descriptor_fields(dump->runtime->descriptor, &rows);
    return rows;
}

CLR_TEXT_FUNCTION(field_type)
{
    (void)error;
    const struct clr_described_type *types;
    clr_descriptor_types(cursor->dump->runtime->descriptor, &types);
    const char *name = types[((const struct clr_described_field *)row)->owner].name;
    clr_text_utf8(text, (const uint8_t *)name, strlen(name));
    return CLR_OK;
}

CLR_NUMBER_FUNCTION(field_descriptor)
{
    return part_id(((const struct clr_described_field *)row)->part);
}

static const struct clr_column field_columns[] = {
    CLR_COLUMN("type", CLR_TEXT_BY(field_type), "Name of the structure.", .flags = CLR_KEY,
               .refers_to = "descriptor_types.name", .found = 10),
    CLR_COLUMN("field", CLR_FOREIGN_TEXT(clr_described_field, name), "Name of the field.",
               .flags = CLR_KEY),
    CLR_COLUMN("offset", CLR_PRESENT(clr_described_field, offset),
               "Bytes from the start of the structure."),
    CLR_COLUMN("field_type", CLR_FOREIGN_TEXT(clr_described_field, type),
               "Name of its type; NULL if not given."),
    CLR_COLUMN("descriptor", CLR_NUMBER_BY(field_descriptor), "The descriptor that has it.",
               .flags = CLR_KEY, .refers_to = "descriptors.id"),
    CLR_END,
};

const struct clr_table clr_table_descriptor_fields = {
    .name = "descriptor_fields",
    .doc = "Fields of these structures, with their offsets.",
    .example = "SELECT field, offset FROM descriptor_fields WHERE type = 'MethodTable'",
    .columns = field_columns,
    .list = {.get = described_fields, .row_size = sizeof(struct clr_described_field), .rows = 500},
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
};
