/*
 * The metadata of a module, read in place.
 *
 * Root (everything is little endian):
 *
 *   offset   field
 *   0        u32 signature 'BSJB'
 *   12       u32 length of the version text, which follows at 16
 *   16+L     u16 flags, u16 number of streams
 *   then     per stream: u32 offset from the root, u32 size, name with NUL, padded to 4
 *
 * Streams: #~ or #- (tables), #Strings, #US, #GUID, #Blob; #JTD (empty: "all index columns have
 * four bytes", written for edits of a module at run time); #Pdb (portable PDBs: row counts of the
 * tables that stand in the module itself, because widths depend on them).
 *
 * Table stream:
 *
 *   6        u8 heap sizes: 1 strings, 2 GUIDs, 4 blobs have indexes of four bytes; 0x40 an extra
 *            u32 follows the row counts
 *   8        u64 which tables are there
 *   16       u64 which of them are sorted
 *   24       u32 row count of each table that is there, in order; then the rows
 *
 * A column is a constant, an index into a heap, a row number of one table (four bytes if that table
 * has more than 65,535 rows) or a coded index: row number and, in the low bits, which of several
 * tables (four bytes if any of them has 2^(16 - bits) rows or more). The schema below says which;
 * sizes of rows and offsets of columns are computed from it once, at open.
 *
 * Ptr tables occur in the uncompressed form only: members of a type are then a range of the Ptr
 * table, whose rows name the real ones.
 *
 * Sources: ECMA-335, partition II, sections 22 to 24; the Portable PDB format specification of the
 * .NET runtime; #JTD and the extra u32 are facts about what runtimes write.
 */
#include "runtime/metadata.h"

#include <string.h>

#include "base/search.h"

/* What a column is. */
enum {
    END, /* no further column */
    C2,  /* constants */
    C4,
    S, /* heap indexes: #Strings, #GUID, #Blob */
    G,
    B,
    ROW = 0x40,   /* | table: a row number */
    CODED = 0x80, /* | enum coded */
};
#define T(table) (ROW | CLR_##table)
#define X(kind) (CODED | (kind))

enum coded {
    TYPE_DEF_OR_REF,
    HAS_CONSTANT,
    HAS_CUSTOM_ATTRIBUTE,
    HAS_FIELD_MARSHAL,
    HAS_DECL_SECURITY,
    MEMBER_REF_PARENT,
    HAS_SEMANTICS,
    METHOD_DEF_OR_REF,
    MEMBER_FORWARDED,
    IMPLEMENTATION,
    CUSTOM_ATTRIBUTE_TYPE,
    RESOLUTION_SCOPE,
    TYPE_OR_METHOD_DEF,
    HAS_CUSTOM_DEBUG_INFORMATION,
};

enum { UNUSED = 0xff, CODED_TABLES = 27 };

static const struct coded_index {
    uint8_t bits, count;
    uint8_t table[CODED_TABLES]; /* by tag */
} coded_indexes[] = {
    [TYPE_DEF_OR_REF] = {2, 3, {CLR_TYPEDEF, CLR_TYPEREF, CLR_TYPESPEC}},
    [HAS_CONSTANT] = {2, 3, {CLR_FIELDDEF, CLR_PARAM, CLR_PROPERTY}},
    [HAS_CUSTOM_ATTRIBUTE] = {5,
                              22,
                              {CLR_METHODDEF,        CLR_FIELDDEF,     CLR_TYPEREF,
                               CLR_TYPEDEF,          CLR_PARAM,        CLR_INTERFACEIMPL,
                               CLR_MEMBERREF,        CLR_MODULE,       CLR_DECLSECURITY,
                               CLR_PROPERTY,         CLR_EVENT,        CLR_STANDALONESIG,
                               CLR_MODULEREF,        CLR_TYPESPEC,     CLR_ASSEMBLY,
                               CLR_ASSEMBLYREF,      CLR_FILE,         CLR_EXPORTEDTYPE,
                               CLR_MANIFESTRESOURCE, CLR_GENERICPARAM, CLR_GENERICPARAMCONSTRAINT,
                               CLR_METHODSPEC}},
    [HAS_FIELD_MARSHAL] = {1, 2, {CLR_FIELDDEF, CLR_PARAM}},
    [HAS_DECL_SECURITY] = {2, 3, {CLR_TYPEDEF, CLR_METHODDEF, CLR_ASSEMBLY}},
    [MEMBER_REF_PARENT] = {3,
                           5,
                           {CLR_TYPEDEF, CLR_TYPEREF, CLR_MODULEREF, CLR_METHODDEF, CLR_TYPESPEC}},
    [HAS_SEMANTICS] = {1, 2, {CLR_EVENT, CLR_PROPERTY}},
    [METHOD_DEF_OR_REF] = {1, 2, {CLR_METHODDEF, CLR_MEMBERREF}},
    [MEMBER_FORWARDED] = {1, 2, {CLR_FIELDDEF, CLR_METHODDEF}},
    [IMPLEMENTATION] = {2, 3, {CLR_FILE, CLR_ASSEMBLYREF, CLR_EXPORTEDTYPE}},
    [CUSTOM_ATTRIBUTE_TYPE] = {3, 5, {UNUSED, UNUSED, CLR_METHODDEF, CLR_MEMBERREF, UNUSED}},
    [RESOLUTION_SCOPE] = {2, 4, {CLR_MODULE, CLR_MODULEREF, CLR_ASSEMBLYREF, CLR_TYPEREF}},
    [TYPE_OR_METHOD_DEF] = {1, 2, {CLR_TYPEDEF, CLR_METHODDEF}},
    [HAS_CUSTOM_DEBUG_INFORMATION] =
        {5, 27, {CLR_METHODDEF,        CLR_FIELDDEF,      CLR_TYPEREF,
                 CLR_TYPEDEF,          CLR_PARAM,         CLR_INTERFACEIMPL,
                 CLR_MEMBERREF,        CLR_MODULE,        CLR_DECLSECURITY,
                 CLR_PROPERTY,         CLR_EVENT,         CLR_STANDALONESIG,
                 CLR_MODULEREF,        CLR_TYPESPEC,      CLR_ASSEMBLY,
                 CLR_ASSEMBLYREF,      CLR_FILE,          CLR_EXPORTEDTYPE,
                 CLR_MANIFESTRESOURCE, CLR_GENERICPARAM,  CLR_GENERICPARAMCONSTRAINT,
                 CLR_METHODSPEC,       CLR_DOCUMENT,      CLR_LOCALSCOPE,
                 CLR_LOCALVARIABLE,    CLR_LOCALCONSTANT, CLR_IMPORTSCOPE}},
};

static const uint8_t schema[CLR_METADATA_TABLES][CLR_METADATA_COLUMNS] = {
    [CLR_MODULE] = {C2, S, G, G, G},
    [CLR_TYPEREF] = {X(RESOLUTION_SCOPE), S, S},
    [CLR_TYPEDEF] = {C4, S, S, X(TYPE_DEF_OR_REF), T(FIELDDEF), T(METHODDEF)},
    [CLR_FIELDPTR] = {T(FIELDDEF)},
    [CLR_FIELDDEF] = {C2, S, B},
    [CLR_METHODPTR] = {T(METHODDEF)},
    [CLR_METHODDEF] = {C4, C2, C2, S, B, T(PARAM)},
    [CLR_PARAMPTR] = {T(PARAM)},
    [CLR_PARAM] = {C2, C2, S},
    [CLR_INTERFACEIMPL] = {T(TYPEDEF), X(TYPE_DEF_OR_REF)},
    [CLR_MEMBERREF] = {X(MEMBER_REF_PARENT), S, B},
    [CLR_CONSTANT] = {C2, X(HAS_CONSTANT), B},
    [CLR_CUSTOMATTRIBUTE] = {X(HAS_CUSTOM_ATTRIBUTE), X(CUSTOM_ATTRIBUTE_TYPE), B},
    [CLR_FIELDMARSHAL] = {X(HAS_FIELD_MARSHAL), B},
    [CLR_DECLSECURITY] = {C2, X(HAS_DECL_SECURITY), B},
    [CLR_CLASSLAYOUT] = {C2, C4, T(TYPEDEF)},
    [CLR_FIELDLAYOUT] = {C4, T(FIELDDEF)},
    [CLR_STANDALONESIG] = {B},
    [CLR_EVENTMAP] = {T(TYPEDEF), T(EVENT)},
    [CLR_EVENTPTR] = {T(EVENT)},
    [CLR_EVENT] = {C2, S, X(TYPE_DEF_OR_REF)},
    [CLR_PROPERTYMAP] = {T(TYPEDEF), T(PROPERTY)},
    [CLR_PROPERTYPTR] = {T(PROPERTY)},
    [CLR_PROPERTY] = {C2, S, B},
    [CLR_METHODSEMANTICS] = {C2, T(METHODDEF), X(HAS_SEMANTICS)},
    [CLR_METHODIMPL] = {T(TYPEDEF), X(METHOD_DEF_OR_REF), X(METHOD_DEF_OR_REF)},
    [CLR_MODULEREF] = {S},
    [CLR_TYPESPEC] = {B},
    [CLR_IMPLMAP] = {C2, X(MEMBER_FORWARDED), S, T(MODULEREF)},
    [CLR_FIELDRVA] = {C4, T(FIELDDEF)},
    [CLR_ENCLOG] = {C4, C4},
    [CLR_ENCMAP] = {C4},
    [CLR_ASSEMBLY] = {C4, C2, C2, C2, C2, C4, B, S, S},
    [CLR_ASSEMBLYPROCESSOR] = {C4},
    [CLR_ASSEMBLYOS] = {C4, C4, C4},
    [CLR_ASSEMBLYREF] = {C2, C2, C2, C2, C4, B, S, S, B},
    [CLR_ASSEMBLYREFPROCESSOR] = {C4, T(ASSEMBLYREF)},
    [CLR_ASSEMBLYREFOS] = {C4, C4, C4, T(ASSEMBLYREF)},
    [CLR_FILE] = {C4, S, B},
    [CLR_EXPORTEDTYPE] = {C4, C4, S, S, X(IMPLEMENTATION)},
    [CLR_MANIFESTRESOURCE] = {C4, C4, S, X(IMPLEMENTATION)},
    [CLR_NESTEDCLASS] = {T(TYPEDEF), T(TYPEDEF)},
    [CLR_GENERICPARAM] = {C2, C2, X(TYPE_OR_METHOD_DEF), S},
    [CLR_METHODSPEC] = {X(METHOD_DEF_OR_REF), B},
    [CLR_GENERICPARAMCONSTRAINT] = {T(GENERICPARAM), X(TYPE_DEF_OR_REF)},
    [CLR_DOCUMENT] = {B, G, B, G},
    [CLR_METHODDEBUGINFORMATION] = {T(DOCUMENT), B},
    [CLR_LOCALSCOPE] = {T(METHODDEF), T(IMPORTSCOPE), T(LOCALVARIABLE), T(LOCALCONSTANT), C4, C4},
    [CLR_LOCALVARIABLE] = {C2, C2, S},
    [CLR_LOCALCONSTANT] = {S, B},
    [CLR_IMPORTSCOPE] = {T(IMPORTSCOPE), B},
    [CLR_STATEMACHINEMETHOD] = {T(METHODDEF), T(METHODDEF)},
    [CLR_CUSTOMDEBUGINFORMATION] = {X(HAS_CUSTOM_DEBUG_INFORMATION), G, B},
};

/* The column by which a table is sorted, plus 1; 0: it has no key. */
static const uint8_t key_column[CLR_METADATA_TABLES] = {
    [CLR_INTERFACEIMPL] = 1,
    [CLR_CONSTANT] = 2,
    [CLR_CUSTOMATTRIBUTE] = 1,
    [CLR_FIELDMARSHAL] = 1,
    [CLR_DECLSECURITY] = 2,
    [CLR_CLASSLAYOUT] = 3,
    [CLR_FIELDLAYOUT] = 2,
    [CLR_METHODSEMANTICS] = 3,
    [CLR_METHODIMPL] = 1,
    [CLR_IMPLMAP] = 2,
    [CLR_FIELDRVA] = 2,
    [CLR_NESTEDCLASS] = 1,
    [CLR_GENERICPARAM] = 3,
    [CLR_GENERICPARAMCONSTRAINT] = 1,
    [CLR_LOCALSCOPE] = 1,
    [CLR_STATEMACHINEMETHOD] = 1,
    [CLR_CUSTOMDEBUGINFORMATION] = 1,
};

enum {
    SIGNATURE = 0x424a5342,
    WIDE_STRINGS = 1,
    WIDE_GUIDS = 2,
    WIDE_BLOBS = 4,
    EXTRA_WORD = 0x40,
    STREAM_NAME_MAX = 32, /* with its NUL, by the standard */
};

static struct clr_bytes little_endian(const void *data, size_t size)
{
    struct clr_bytes bytes = clr_bytes(data, size);
    bytes.swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    return bytes;
}

/* --- missing parts -------------------------------------------------------------------------- */

/* Whether one of the holes touches SIZE bytes at AT. */
static bool touches_hole(const struct clr_metadata *metadata, const uint8_t *at, size_t size)
{
    size_t start = (size_t)(at - metadata->root), i;
    CLR_SEARCH(i, 0, metadata->hole_count, metadata->holes[i].end <= start);
    return i < metadata->hole_count && metadata->holes[i].start < start + size;
}

static inline bool is_missing(const struct clr_metadata *metadata, const uint8_t *at, size_t size)
{
    return __builtin_expect(metadata->hole_count != 0, 0) && touches_hole(metadata, at, size);
}

static enum clr_status missing_header(const char *what, struct clr_error *error)
{
    return clr_fail(error, CLR_FAULT, 0, "%s is not saved", what);
}

/* --- opening -------------------------------------------------------------------------------- */

struct streams {
    struct clr_bytes tables;
    bool wide; /* #JTD */
};

static enum clr_status read_streams(struct clr_metadata *metadata, struct streams *streams,
                                    const uint8_t *bytes, size_t size, struct clr_error *error)
{
    struct clr_bytes root = little_endian(bytes, size);
    if (is_missing(metadata, bytes, 16))
        return missing_header("the header of the metadata", error);
    if (clr_bytes_u32(&root) != SIGNATURE)
        return clr_fail(error, CLR_BAD_DATA, 0, "no metadata: the signature BSJB is not there");
    clr_bytes_seek(&root, 12);
    clr_bytes_take(&root, clr_bytes_u32(&root));
    clr_bytes_u16(&root);
    unsigned count = clr_bytes_u16(&root);
    bool tables = false;
    for (unsigned i = 0; i < count && !root.bad; i++) {
        uint32_t offset = clr_bytes_u32(&root), length = clr_bytes_u32(&root);
        const char *name = (const char *)(root.bad ? NULL : root.data + root.at);
        size_t room = root.bad ? 0 : root.size - root.at;
        size_t end = name ? strnlen(name, room < STREAM_NAME_MAX ? room : STREAM_NAME_MAX) : 0;
        if (is_missing(metadata, bytes, name ? root.at + end + (end < room) : size))
            return missing_header("the header of the metadata", error);
        if (!name || end == room || end == STREAM_NAME_MAX)
            break;
        /* The padding of the last name may be missing in a cut header: take what is there. */
        size_t padded = (end + 4) & ~(size_t)3;
        clr_bytes_take(&root, padded < room ? padded : room);

        struct clr_bytes *into = NULL;
        bool uncompressed = strcmp(name, "#-") == 0;
        if (uncompressed || strcmp(name, "#~") == 0)
            into = tables ? NULL : &streams->tables;
        else if (strcmp(name, "#Strings") == 0)
            into = &metadata->strings;
        else if (strcmp(name, "#US") == 0)
            into = &metadata->user_strings;
        else if (strcmp(name, "#GUID") == 0)
            into = &metadata->guids;
        else if (strcmp(name, "#Blob") == 0)
            into = &metadata->blobs;
        else if (strcmp(name, "#Pdb") == 0)
            into = &metadata->pdb;
        else if (strcmp(name, "#JTD") == 0)
            streams->wide = true;
        if (!into || into->data)
            continue;
        if (offset > size || length > size - offset)
            return clr_fail(error, CLR_BAD_DATA, 0,
                            "metadata stream %s at 0x%x of 0x%x bytes ends behind the metadata's "
                            "0x%zx bytes",
                            name, offset, length, size);
        *into = little_endian(bytes + offset, length);
        if (into == &streams->tables) {
            tables = true;
            metadata->uncompressed = uncompressed;
        }
    }
    if (is_missing(metadata, bytes, root.at))
        return missing_header("the header of the metadata", error);
    if (!tables)
        return clr_fail(error, CLR_BAD_DATA, 0,
                        "the metadata has no table stream among its %u streams", count);
    return CLR_OK;
}

/* Row counts of the tables that a portable PDB refers to and does not hold. */
static bool read_referenced(const struct clr_metadata *metadata, uint32_t rows[CLR_METADATA_TABLES])
{
    struct clr_bytes pdb = metadata->pdb;
    if (!pdb.data)
        return true;
    clr_bytes_take(&pdb, 20 + 4); /* identity, entry point */
    uint64_t mask = clr_bytes_u64(&pdb);
    for (unsigned i = 0; i < CLR_METADATA_TABLES && !pdb.bad; i++)
        if (mask >> i & 1) {
            uint32_t count = clr_bytes_u32(&pdb);
            if (rows[i] == 0)
                rows[i] = count;
        }
    return !pdb.bad;
}

static unsigned column_width(uint8_t column, const uint32_t rows[CLR_METADATA_TABLES],
                             unsigned heaps, bool wide)
{
    if (column & CODED) {
        const struct coded_index *coded = &coded_indexes[column & ~CODED];
        uint32_t limit = UINT32_C(0xffff) >> coded->bits;
        for (unsigned i = 0; i < coded->count; i++)
            if (coded->table[i] != UNUSED && rows[coded->table[i]] > limit)
                wide = true;
        return wide ? 4 : 2;
    }
    if (column & ROW)
        return wide || rows[column & ~ROW] > 0xffff ? 4 : 2;
    switch (column) {
    case C4: return 4;
    case S: return wide || heaps & WIDE_STRINGS ? 4 : 2;
    case G: return wide || heaps & WIDE_GUIDS ? 4 : 2;
    case B: return wide || heaps & WIDE_BLOBS ? 4 : 2;
    default: return 2;
    }
}

static enum clr_status read_tables(struct clr_metadata *metadata, struct streams *streams,
                                   struct clr_error *error)
{
    struct clr_bytes *tables = &streams->tables;
    clr_bytes_take(tables, 6);
    unsigned heaps = clr_bytes_u8(tables);
    clr_bytes_u8(tables);
    uint64_t present = clr_bytes_u64(tables);
    metadata->sorted = clr_bytes_u64(tables);
    uint32_t rows[CLR_METADATA_TABLES] = {0};
    for (unsigned i = 0; i < CLR_METADATA_TABLES; i++)
        if (present >> i & 1)
            metadata->table[i].count = rows[i] = clr_bytes_u32(tables);
    if (heaps & EXTRA_WORD)
        clr_bytes_u32(tables);
    const struct clr_bytes *pdb = &metadata->pdb;
    if (is_missing(metadata, tables->data, tables->at) ||
        (pdb->data && is_missing(metadata, pdb->data, pdb->size)))
        return missing_header("the header of the metadata's table stream", error);
    if (tables->bad || !read_referenced(metadata, rows))
        return clr_fail(error, CLR_BAD_DATA, 0,
                        "the header of the metadata's table stream is cut short (0x%zx bytes)",
                        tables->size);

    for (unsigned i = 0; i < CLR_METADATA_TABLES; i++) {
        struct clr_metadata_table *table = &metadata->table[i];
        unsigned offset = 0;
        for (unsigned c = 0; c < CLR_METADATA_COLUMNS && schema[i][c] != END; c++) {
            table->offset[c] = (uint8_t)offset;
            table->width[c] = (uint8_t)column_width(schema[i][c], rows, heaps, streams->wide);
            offset += table->width[c];
        }
        table->row_size = (uint16_t)offset;
        if (table->count == 0)
            continue;
        if (offset == 0)
            return clr_fail(error, CLR_BAD_DATA, 0,
                            "the metadata has %u rows in table 0x%02x, which no standard names",
                            table->count, i);
        size_t room = tables->size - tables->at;
        if (table->count > room / offset)
            return clr_fail(error, CLR_BAD_DATA, 0,
                            "metadata table 0x%02x has %u rows of %u bytes, more than the 0x%zx "
                            "bytes that are left of the stream",
                            i, table->count, offset, room);
        table->rows = clr_bytes_take(tables, (size_t)table->count * offset);
    }
    return CLR_OK;
}

enum clr_status clr_metadata_open(struct clr_metadata *metadata, const void *bytes, size_t size,
                                  struct clr_error *error)
{
    return clr_metadata_open_parts(metadata, bytes, size, NULL, 0, error);
}

enum clr_status clr_metadata_open_parts(struct clr_metadata *metadata, const void *bytes,
                                        size_t size, const struct clr_metadata_hole *holes,
                                        size_t count, struct clr_error *error)
{
    *metadata = (struct clr_metadata){.root = bytes, .holes = holes, .hole_count = count};
    struct streams streams = {0};
    enum clr_status status =
        bytes ? CLR_OK : clr_fail(error, CLR_BAD_DATA, 0, "no metadata: no bytes");
    if (status == CLR_OK)
        status = read_streams(metadata, &streams, bytes, size, error);
    if (status == CLR_OK)
        status = read_tables(metadata, &streams, error);
    if (status != CLR_OK)
        *metadata = (struct clr_metadata){0};
    return status;
}

/* --- cells and heaps ------------------------------------------------------------------------ */

bool clr_metadata_cell(const struct clr_metadata *metadata, enum clr_table_id table, uint32_t rid,
                       unsigned column, uint32_t *value)
{
    *value = 0;
    if ((unsigned)table >= CLR_METADATA_TABLES || column >= CLR_METADATA_COLUMNS)
        return false;
    const struct clr_metadata_table *t = &metadata->table[table];
    if (rid == 0 || rid > t->count || t->width[column] == 0)
        return false;
    const uint8_t *p = t->rows + (size_t)(rid - 1) * t->row_size + t->offset[column];
    if (is_missing(metadata, p, t->width[column]))
        return false;
    *value = p[0] | (uint32_t)p[1] << 8;
    if (t->width[column] == 4)
        *value |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    return true;
}

/* The coded index that the column is, NULL if it is none. */
static const struct coded_index *coded_column(enum clr_table_id table, unsigned column)
{
    if ((unsigned)table >= CLR_METADATA_TABLES || column >= CLR_METADATA_COLUMNS)
        return NULL;
    uint8_t kind = schema[table][column];
    return kind & CODED ? &coded_indexes[kind & ~CODED] : NULL;
}

bool clr_metadata_target(enum clr_table_id table, unsigned column, uint32_t value,
                         enum clr_table_id *target, uint32_t *rid)
{
    const struct coded_index *coded = coded_column(table, column);
    if (!coded)
        return false;
    uint32_t tag = value & ((1u << coded->bits) - 1);
    *rid = value >> coded->bits;
    if (tag >= coded->count || coded->table[tag] == UNUSED || *rid == 0)
        return false;
    *target = (enum clr_table_id)coded->table[tag];
    return true;
}

bool clr_metadata_reference(enum clr_table_id table, unsigned column, enum clr_table_id target,
                            uint32_t rid, uint32_t *value)
{
    const struct coded_index *coded = coded_column(table, column);
    for (uint32_t tag = 0; coded && tag < coded->count; tag++)
        if (coded->table[tag] == (unsigned)target && rid <= UINT32_MAX >> coded->bits) {
            *value = rid << coded->bits | tag;
            return true;
        }
    return false;
}

bool clr_metadata_type_def_or_ref(uint32_t value, enum clr_table_id *table, uint32_t *rid)
{
    enum { EXTENDS = 3 };
    return clr_metadata_target(CLR_TYPEDEF, EXTENDS, value, table, rid);
}

const char *clr_metadata_string(const struct clr_metadata *metadata, uint32_t index, size_t *length)
{
    const struct clr_bytes *heap = &metadata->strings;
    *length = 0;
    if (index >= heap->size)
        return NULL;
    const uint8_t *start = heap->data + index;
    const uint8_t *end = memchr(start, 0, heap->size - index);
    if (!end || is_missing(metadata, start, (size_t)(end - start) + 1))
        return NULL;
    *length = (size_t)(end - start);
    return (const char *)start;
}

uint32_t clr_metadata_compressed(struct clr_bytes *bytes)
{
    uint32_t first = clr_bytes_u8(bytes);
    if (first < 0x80)
        return first;
    const uint8_t *rest;
    if (first < 0xc0)
        return (rest = clr_bytes_take(bytes, 1)) ? (first & 0x3f) << 8 | rest[0] : 0;
    if (first < 0xe0)
        return (rest = clr_bytes_take(bytes, 3)) ? (first & 0x1f) << 24 | (uint32_t)rest[0] << 16 |
                                                       (uint32_t)rest[1] << 8 | rest[2]
                                                 : 0;
    bytes->bad = true;
    return 0;
}

struct clr_bytes clr_metadata_blob(const struct clr_metadata *metadata, uint32_t index)
{
    struct clr_bytes heap = metadata->blobs;
    if (index == 0 && heap.size == 0)
        return little_endian("", 0); /* the empty entry exists without a heap */
    clr_bytes_seek(&heap, index);
    uint32_t length = clr_metadata_compressed(&heap);
    const uint8_t *data = clr_bytes_take(&heap, length);
    if (data && is_missing(metadata, heap.data + index, heap.at - index))
        data = NULL;
    struct clr_bytes blob = little_endian(data, length);
    blob.bad = data == NULL;
    return blob;
}

const uint8_t *clr_metadata_guid(const struct clr_metadata *metadata, uint32_t index)
{
    if (index == 0 || index > metadata->guids.size / 16)
        return NULL;
    const uint8_t *guid = metadata->guids.data + (size_t)(index - 1) * 16;
    return is_missing(metadata, guid, 16) ? NULL : guid;
}

/* --- relations ------------------------------------------------------------------------------ */

uint32_t clr_metadata_find(const struct clr_metadata *metadata, enum clr_table_id table,
                           unsigned column, uint32_t value)
{
    if ((unsigned)table >= CLR_METADATA_TABLES)
        return 0;
    const struct clr_metadata_table *t = &metadata->table[table];
    uint32_t count = t->count, cell;
    if (count == 0)
        return 0;
    /* Halving needs every key. */
    if (metadata->sorted >> table & 1 && key_column[table] == column + 1 &&
        !is_missing(metadata, t->rows, (size_t)count * t->row_size)) {
        uint32_t rid;
        CLR_SEARCH(rid, 1, count + 1,
                   clr_metadata_cell(metadata, table, rid, column, &cell) && cell < value);
        return clr_metadata_cell(metadata, table, rid, column, &cell) && cell == value ? rid : 0;
    }
    for (uint32_t rid = 1; rid <= count; rid++)
        if (clr_metadata_cell(metadata, table, rid, column, &cell) && cell == value)
            return rid;
    return 0;
}

uint32_t clr_metadata_enclosing(const struct clr_metadata *metadata, uint32_t rid)
{
    uint32_t row = rid ? clr_metadata_find(metadata, CLR_NESTEDCLASS, 0, rid) : 0;
    uint32_t enclosing;
    return row && clr_metadata_cell(metadata, CLR_NESTEDCLASS, row, 1, &enclosing) ? enclosing : 0;
}

/* The table that stands between a type's range and its members; members' own if it is empty. */
static enum clr_table_id list_table(const struct clr_metadata *metadata,
                                    enum clr_table_id member_table)
{
    enum clr_table_id pointers = member_table == CLR_FIELDDEF ? CLR_FIELDPTR : CLR_METHODPTR;
    return metadata->table[pointers].count ? pointers : member_table;
}

bool clr_metadata_members(const struct clr_metadata *metadata, enum clr_table_id member_table,
                          uint32_t type_rid, uint32_t *first, uint32_t *end)
{
    enum { FIELD_LIST = 4, METHOD_LIST = 5 };
    *first = *end = 0;
    if (member_table != CLR_FIELDDEF && member_table != CLR_METHODDEF)
        return false;
    unsigned column = member_table == CLR_FIELDDEF ? FIELD_LIST : METHOD_LIST;
    uint32_t past = metadata->table[list_table(metadata, member_table)].count + 1, from, to;
    if (!clr_metadata_cell(metadata, CLR_TYPEDEF, type_rid, column, &from))
        return false;
    if (type_rid == metadata->table[CLR_TYPEDEF].count)
        to = past;
    else if (!clr_metadata_cell(metadata, CLR_TYPEDEF, type_rid + 1, column, &to))
        return false;
    if (from == 0 || from > to || to > past)
        return false;
    *first = from;
    *end = to;
    return true;
}

uint32_t clr_metadata_member(const struct clr_metadata *metadata, enum clr_table_id member_table,
                             uint32_t position)
{
    if (member_table != CLR_FIELDDEF && member_table != CLR_METHODDEF)
        return 0;
    enum clr_table_id list = list_table(metadata, member_table);
    uint32_t rid = position;
    if (list != member_table && !clr_metadata_cell(metadata, list, position, 0, &rid))
        return 0;
    return rid <= metadata->table[member_table].count ? rid : 0;
}
