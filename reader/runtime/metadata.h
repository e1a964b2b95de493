/*
 * ECMA-335 metadata (II.22, II.24): table-driven, over bytes that somebody else owns.
 *
 * The row schema of every table stands in one array; sizes of rows and offsets of columns follow
 * from it, the row counts and the heap sizes. Portable PDB tables (0x30-0x37, stream #Pdb) are rows
 * of the same array. Compressed (#~) and uncompressed (#-, #JTD) forms. Nothing is trusted: a row
 * number past the table, an index past a heap, a name without end give "absent".
 *
 * Metadata of which parts are missing is read too: cells, strings, blobs and GUIDs that touch a
 * hole are absent, the others are as they were. Absent never turns into a wrong answer: what is
 * searched for is found or not, and a list whose end is not known is no list.
 */
#ifndef CLR_RUNTIME_METADATA_H
#define CLR_RUNTIME_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/error.h"

enum clr_table_id {
    CLR_MODULE = 0,
    CLR_TYPEREF = 1,
    CLR_TYPEDEF = 2,
    CLR_FIELDPTR = 3,
    CLR_FIELDDEF = 4,
    CLR_METHODPTR = 5,
    CLR_METHODDEF = 6,
    CLR_PARAMPTR = 7,
    CLR_PARAM = 8,
    CLR_INTERFACEIMPL = 9,
    CLR_MEMBERREF = 10,
    CLR_CONSTANT = 11,
    CLR_CUSTOMATTRIBUTE = 12,
    CLR_FIELDMARSHAL = 13,
    CLR_DECLSECURITY = 14,
    CLR_CLASSLAYOUT = 15,
    CLR_FIELDLAYOUT = 16,
    CLR_STANDALONESIG = 17,
    CLR_EVENTMAP = 18,
    CLR_EVENTPTR = 19,
    CLR_EVENT = 20,
    CLR_PROPERTYMAP = 21,
    CLR_PROPERTYPTR = 22,
    CLR_PROPERTY = 23,
    CLR_METHODSEMANTICS = 24,
    CLR_METHODIMPL = 25,
    CLR_MODULEREF = 26,
    CLR_TYPESPEC = 27,
    CLR_IMPLMAP = 28,
    CLR_FIELDRVA = 29,
    CLR_ENCLOG = 30,
    CLR_ENCMAP = 31,
    CLR_ASSEMBLY = 32,
    CLR_ASSEMBLYPROCESSOR = 33,
    CLR_ASSEMBLYOS = 34,
    CLR_ASSEMBLYREF = 35,
    CLR_ASSEMBLYREFPROCESSOR = 36,
    CLR_ASSEMBLYREFOS = 37,
    CLR_FILE = 38,
    CLR_EXPORTEDTYPE = 39,
    CLR_MANIFESTRESOURCE = 40,
    CLR_NESTEDCLASS = 41,
    CLR_GENERICPARAM = 42,
    CLR_METHODSPEC = 43,
    CLR_GENERICPARAMCONSTRAINT = 44,
    CLR_DOCUMENT = 48,
    CLR_METHODDEBUGINFORMATION = 49,
    CLR_LOCALSCOPE = 50,
    CLR_LOCALVARIABLE = 51,
    CLR_LOCALCONSTANT = 52,
    CLR_IMPORTSCOPE = 53,
    CLR_STATEMACHINEMETHOD = 54,
    CLR_CUSTOMDEBUGINFORMATION = 55,
    CLR_METADATA_TABLES = 64,
    CLR_METADATA_COLUMNS = 9,
};

struct clr_metadata_table {
    const uint8_t *rows; /* NULL if the table is empty */
    uint32_t count;      /* rows, numbered from 1 */
    uint16_t row_size;
    uint8_t offset[CLR_METADATA_COLUMNS], width[CLR_METADATA_COLUMNS];
};

/* Bytes that are missing: offsets from the root. */
struct clr_metadata_hole {
    size_t start, end;
};

struct clr_metadata {
    const uint8_t *root;
    const struct clr_metadata_hole *holes; /* sorted, apart from each other */
    size_t hole_count;
    struct clr_bytes strings, guids, blobs, user_strings, pdb;
    struct clr_metadata_table table[CLR_METADATA_TABLES];
    uint64_t sorted;   /* bit n: table n is sorted by its key column */
    bool uncompressed; /* '#-': Ptr tables apply, NestedClass need not be sorted */
};

/* Reads the root at BYTES[0 .. SIZE); the bytes must outlive *METADATA. Nothing is allocated. */
enum clr_status clr_metadata_open(struct clr_metadata *metadata, const void *bytes, size_t size,
                                  struct clr_error *error);
/* The same for bytes with COUNT holes in them, which are sorted, not empty, do not touch and must
 * outlive *METADATA too. CLR_FAULT if a hole is where the header of a stream or the row counts are:
 * nothing can be read then. */
enum clr_status clr_metadata_open_parts(struct clr_metadata *metadata, const void *bytes,
                                        size_t size, const struct clr_metadata_hole *holes,
                                        size_t count, struct clr_error *error);

/* Column COLUMN (from 0, in the order of the standard) of row RID; false if there is no such row. */
bool clr_metadata_cell(const struct clr_metadata *metadata, enum clr_table_id table, uint32_t rid,
                       unsigned column, uint32_t *value);
/* Splits a coded index: the table and row that VALUE, from a column of kind TypeDefOrRef, names. */
bool clr_metadata_type_def_or_ref(uint32_t value, enum clr_table_id *table, uint32_t *rid);
/* The same for any coded index: VALUE is from column COLUMN of TABLE. False for a null index, a tag
 * of no meaning and a column of another kind. */
bool clr_metadata_target(enum clr_table_id table, unsigned column, uint32_t value,
                         enum clr_table_id *target, uint32_t *rid);
/* The reverse: the value by which that column names row RID of TARGET; for
 * clr_metadata_find. */
bool clr_metadata_reference(enum clr_table_id table, unsigned column, enum clr_table_id target,
                            uint32_t rid, uint32_t *value);

/* A string of the #Strings heap with its length; NULL if the index or its end is outside or a part
 * of it is missing. Bytes are as they stand in the file: use clr_text_utf8 before they go to a user.
 */
const char *clr_metadata_string(const struct clr_metadata *metadata, uint32_t index,
                                size_t *length);
/* The bytes of a #Blob entry; .bad is set if there is none. */
struct clr_bytes clr_metadata_blob(const struct clr_metadata *metadata, uint32_t index);
/* 16 bytes of the #GUID heap (index from 1), or NULL. */
const uint8_t *clr_metadata_guid(const struct clr_metadata *metadata, uint32_t index);

/* A compressed unsigned integer of a signature (II.23.2); sets .bad at the end of the bytes. */
uint32_t clr_metadata_compressed(struct clr_bytes *bytes);

/* The TypeDef that declares type RID (NestedClass), 0 if it is not nested or the row is absent. */
uint32_t clr_metadata_enclosing(const struct clr_metadata *metadata, uint32_t rid);

/* First and one past the last Field / MethodDef row of TypeDef RID, as list positions; go through
 * clr_metadata_member for the row itself (Ptr tables of the uncompressed form). */
bool clr_metadata_members(const struct clr_metadata *metadata, enum clr_table_id member_table,
                          uint32_t type_rid, uint32_t *first, uint32_t *end);
uint32_t clr_metadata_member(const struct clr_metadata *metadata, enum clr_table_id member_table,
                             uint32_t position);

/* The first row of TABLE whose COLUMN equals VALUE (binary search where the table is sorted by that
 * column, else linear), 0 if there is none; rows with the same key follow each other if sorted. */
uint32_t clr_metadata_find(const struct clr_metadata *metadata, enum clr_table_id table,
                           unsigned column, uint32_t value);

#endif
