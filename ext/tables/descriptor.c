/*
 * descriptors, contracts, globals, descriptor_types, descriptor_fields: what the runtime publishes
 * of itself, as it was merged. All are arrays of the descriptor layer, shown row by row.
 */
#include "cache.h"
#include "results.h"

static const struct clr_descriptor *descriptor_of(const struct clr_dump *dump)
{
    return dump->runtime->descriptor;
}

/* descriptors.id counts from 1. */
static void result_part(sqlite3_context *context, uint32_t part)
{
    clr_result_u64(context, (uint64_t)part + 1);
}

/* --- descriptors ----------------------------------------------------------------------------- */

enum part_column {
    PART_ID,
    PART_NAME,
    PART_PARENT,
    PART_ADDRESS,
    PART_POINTER_SIZE,
    PART_LITTLE_ENDIAN,
    PART_VERSION,
    PART_BASELINE,
    PART_JSON,
    PART_COLUMNS
};

static const struct clr_column part_columns[] = {
    [PART_ID] = {"id", CLR_INTEGER, CLR_KEY, 0, "Number of the descriptor, from 1."},
    [PART_NAME] = {"name", CLR_TEXT, 0, 0, "runtime, GC, or the name of a supplement."},
    [PART_PARENT] = {"parent", CLR_INTEGER, 0, 0,
                     "descriptors.id of the one that led here; NULL if none did."},
    [PART_ADDRESS] = {"address", CLR_INTEGER, 0, 0,
                      "Address of the structure in the process; NULL for a supplement."},
    [PART_POINTER_SIZE] = {"pointer_size", CLR_INTEGER, 0, 0, "Bytes of a pointer: 4 or 8."},
    [PART_LITTLE_ENDIAN] = {"little_endian", CLR_INTEGER, 0, 0, "1: least significant byte first."},
    [PART_VERSION] = {"version", CLR_TEXT, 0, 0, "Version of the format, as it is written."},
    [PART_BASELINE] = {"baseline", CLR_TEXT, 0, 0, "Baseline that it builds on."},
    [PART_JSON] = {"json", CLR_TEXT, 0, 0, "The text itself."},
    [PART_COLUMNS] = {0},
};

static size_t count_parts(const struct clr_dump *dump)
{
    const struct clr_part *rows;
    return clr_descriptor_parts(descriptor_of(dump), &rows);
}

static int64_t part_key(const struct clr_dump *dump, size_t row)
{
    (void)dump;
    return (int64_t)row + 1;
}

static enum clr_status part_column(struct clr_cursor *cursor, int column, sqlite3_context *context,
                                   struct clr_error *error)
{
    (void)error;
    const struct clr_part *rows;
    clr_descriptor_parts(descriptor_of(cursor->dump), &rows);
    const struct clr_part *part = &rows[cursor->row];
    switch (column) {
    case PART_ID: result_part(context, (uint32_t)cursor->row); break;
    case PART_NAME: clr_result_foreign(context, part->name); break;
    case PART_PARENT:
        if (part->parent >= 0)
            result_part(context, (uint32_t)part->parent);
        break;
    case PART_ADDRESS: clr_result_known(context, part->address); break;
    case PART_POINTER_SIZE: clr_result_known(context, part->pointer_size); break;
    case PART_LITTLE_ENDIAN: clr_result_bool(context, part->little_endian); break;
    case PART_VERSION: clr_result_foreign(context, part->version); break;
    case PART_BASELINE: clr_result_foreign(context, part->baseline); break;
    case PART_JSON: clr_result_foreign_bytes(context, part->json, part->json_length); break;
    }
    return CLR_OK;
}

static const struct clr_path part_paths[] = {
    {.name = "scan", .order = PART_ID, .reversible = true, .rows = clr_rows_few},
    {0},
};

const struct clr_table clr_table_descriptors = {
    .name = "descriptors",
    .doc = "The descriptors that were merged: the runtime's, those it leads to, and supplements.",
    .columns = part_columns,
    .paths = part_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
    .count = count_parts,
    .key = part_key,
    .column = part_column,
};

/* --- contracts ------------------------------------------------------------------------------- */

enum contract_column {
    CONTRACT_NAME,
    CONTRACT_VERSION,
    CONTRACT_DESCRIPTOR,
    CONTRACT_IMPLEMENTED,
    CONTRACT_COLUMNS
};

static const struct clr_column contract_columns[] = {
    [CONTRACT_NAME] = {"name", CLR_TEXT, CLR_KEY, 0, "Name of the contract."},
    [CONTRACT_VERSION] = {"version", CLR_TEXT, 0, 0, "Version that the runtime announces."},
    [CONTRACT_DESCRIPTOR] = {"descriptor", CLR_INTEGER, CLR_KEY, 0, "descriptors.id."},
    [CONTRACT_IMPLEMENTED] = {"implemented", CLR_TEXT, 0, 0,
                              "Version of ours that serves it; NULL if none does."},
    [CONTRACT_COLUMNS] = {0},
};

static size_t count_contracts(const struct clr_dump *dump)
{
    const struct clr_contract *rows;
    return clr_descriptor_contracts(descriptor_of(dump), &rows);
}

static enum clr_status contract_column(struct clr_cursor *cursor, int column,
                                       sqlite3_context *context, struct clr_error *error)
{
    (void)error;
    const struct clr_contract *rows;
    clr_descriptor_contracts(descriptor_of(cursor->dump), &rows);
    const struct clr_contract *contract = &rows[cursor->row];
    switch (column) {
    case CONTRACT_NAME: clr_result_foreign(context, contract->name); break;
    case CONTRACT_VERSION: clr_result_foreign(context, contract->version); break;
    case CONTRACT_DESCRIPTOR: result_part(context, contract->part); break;
    case CONTRACT_IMPLEMENTED:
        clr_result_static(context, clr_contract_served(contract->name, contract->version));
        break;
    }
    return CLR_OK;
}

static const struct clr_path contract_paths[] = {
    {.name = "scan", .order = -1, .rows = clr_rows_few},
    {0},
};

const struct clr_table clr_table_contracts = {
    .name = "contracts",
    .doc = "The contracts that the runtime announces, and what serves them here.",
    .columns = contract_columns,
    .paths = contract_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
    .count = count_contracts,
    .column = contract_column,
};

/* --- globals --------------------------------------------------------------------------------- */

enum global_column {
    GLOBAL_NAME,
    GLOBAL_TYPE,
    GLOBAL_VALUE,
    GLOBAL_TEXT,
    GLOBAL_ADDRESS,
    GLOBAL_DESCRIPTOR,
    GLOBAL_COLUMNS
};

static const struct clr_column global_columns[] = {
    [GLOBAL_NAME] = {"name", CLR_TEXT, CLR_KEY, 0, "Name of the global."},
    [GLOBAL_TYPE] = {"type", CLR_TEXT, 0, 0, "Name of its type; NULL if not given."},
    [GLOBAL_VALUE] = {"value", CLR_ANY, 0, 0, "Its number; NULL if it is a text or indirect."},
    [GLOBAL_TEXT] = {"text", CLR_TEXT, 0, 0, "Its text; NULL if it has none."},
    [GLOBAL_ADDRESS] = {"address", CLR_INTEGER, 0, 0,
                        "Of an indirect global: address of the runtime's variable."},
    [GLOBAL_DESCRIPTOR] = {"descriptor", CLR_INTEGER, CLR_KEY, 0, "descriptors.id."},
    [GLOBAL_COLUMNS] = {0},
};

static size_t count_globals(const struct clr_dump *dump)
{
    const struct clr_global *rows;
    return clr_descriptor_globals(descriptor_of(dump), &rows);
}

static enum clr_status global_column(struct clr_cursor *cursor, int column,
                                     sqlite3_context *context, struct clr_error *error)
{
    (void)error;
    const struct clr_global *rows;
    clr_descriptor_globals(descriptor_of(cursor->dump), &rows);
    const struct clr_global *global = &rows[cursor->row];
    switch (column) {
    case GLOBAL_NAME: clr_result_foreign(context, global->name); break;
    case GLOBAL_TYPE: clr_result_foreign(context, global->type); break;
    case GLOBAL_VALUE:
        if (!global->indirect && clr_has(global->value))
            clr_result_u64(context, global->value);
        break;
    case GLOBAL_TEXT: clr_result_foreign(context, global->text); break;
    case GLOBAL_ADDRESS:
        if (global->indirect && clr_has(global->value))
            clr_result_u64(context, global->value);
        break;
    case GLOBAL_DESCRIPTOR: result_part(context, global->part); break;
    }
    return CLR_OK;
}

static const struct clr_path global_paths[] = {
    {.name = "scan", .order = -1, .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_globals = {
    .name = "globals",
    .doc = "Named numbers, texts and variables of the runtime.",
    .columns = global_columns,
    .paths = global_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
    .count = count_globals,
    .column = global_column,
};

/* --- descriptor_types ------------------------------------------------------------------------ */

enum described_column { DESCRIBED_NAME, DESCRIBED_SIZE, DESCRIBED_DESCRIPTOR, DESCRIBED_COLUMNS };

static const struct clr_column described_columns[] = {
    [DESCRIBED_NAME] = {"name", CLR_TEXT, CLR_KEY, 0, "Name of a structure of the runtime."},
    [DESCRIBED_SIZE] = {"size", CLR_INTEGER, 0, 0, "Its bytes; NULL if the runtime does not say."},
    [DESCRIBED_DESCRIPTOR] = {"descriptor", CLR_INTEGER, CLR_KEY, 0, "descriptors.id."},
    [DESCRIBED_COLUMNS] = {0},
};

static size_t count_described(const struct clr_dump *dump)
{
    const struct clr_described_type *rows;
    return clr_descriptor_types(descriptor_of(dump), &rows);
}

static enum clr_status described_column(struct clr_cursor *cursor, int column,
                                        sqlite3_context *context, struct clr_error *error)
{
    (void)error;
    const struct clr_described_type *rows;
    clr_descriptor_types(descriptor_of(cursor->dump), &rows);
    const struct clr_described_type *type = &rows[cursor->row];
    switch (column) {
    case DESCRIBED_NAME: clr_result_foreign(context, type->name); break;
    case DESCRIBED_SIZE:
        if (clr_has(type->size))
            clr_result_u64(context, type->size);
        break;
    case DESCRIBED_DESCRIPTOR: result_part(context, type->part); break;
    }
    return CLR_OK;
}

static const struct clr_path described_paths[] = {
    {.name = "scan", .order = -1, .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_descriptor_types = {
    .name = "descriptor_types",
    .doc = "Structures of the runtime that it describes.",
    .columns = described_columns,
    .paths = described_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
    .count = count_described,
    .column = described_column,
};

/* --- descriptor_fields ----------------------------------------------------------------------- */

enum member_column {
    MEMBER_TYPE,
    MEMBER_FIELD,
    MEMBER_OFFSET,
    MEMBER_FIELD_TYPE,
    MEMBER_DESCRIPTOR,
    MEMBER_COLUMNS
};

static const struct clr_column member_columns[] = {
    [MEMBER_TYPE] = {"type", CLR_TEXT, CLR_KEY, 0, "Name of the structure."},
    [MEMBER_FIELD] = {"field", CLR_TEXT, CLR_KEY, 0, "Name of the field."},
    [MEMBER_OFFSET] = {"offset", CLR_INTEGER, 0, 0, "Bytes from the start of the structure."},
    [MEMBER_FIELD_TYPE] = {"field_type", CLR_TEXT, 0, 0, "Name of its type; NULL if not given."},
    [MEMBER_DESCRIPTOR] = {"descriptor", CLR_INTEGER, CLR_KEY, 0, "descriptors.id."},
    [MEMBER_COLUMNS] = {0},
};

static size_t count_members(const struct clr_dump *dump)
{
    const struct clr_described_field *rows;
    return clr_descriptor_fields(descriptor_of(dump), &rows);
}

static enum clr_status member_column(struct clr_cursor *cursor, int column,
                                     sqlite3_context *context, struct clr_error *error)
{
    (void)error;
    const struct clr_described_field *rows;
    const struct clr_described_type *types;
    clr_descriptor_fields(descriptor_of(cursor->dump), &rows);
    clr_descriptor_types(descriptor_of(cursor->dump), &types);
    const struct clr_described_field *field = &rows[cursor->row];
    switch (column) {
    case MEMBER_TYPE: clr_result_foreign(context, types[field->owner].name); break;
    case MEMBER_FIELD: clr_result_foreign(context, field->name); break;
    case MEMBER_OFFSET:
        if (clr_has(field->offset))
            clr_result_u64(context, field->offset);
        break;
    case MEMBER_FIELD_TYPE: clr_result_foreign(context, field->type); break;
    case MEMBER_DESCRIPTOR: result_part(context, field->part); break;
    }
    return CLR_OK;
}

static const struct clr_path member_paths[] = {
    {.name = "scan", .order = -1, .rows = clr_rows_hundreds},
    {0},
};

const struct clr_table clr_table_descriptor_fields = {
    .name = "descriptor_fields",
    .doc = "Fields of these structures, with their offsets.",
    .columns = member_columns,
    .paths = member_paths,
    .needs = CLR_PART_RUNTIME,
    .contract = -1,
    .count = count_members,
    .column = member_column,
};
