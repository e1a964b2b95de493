/*
 * The metadata reader against blobs that the builder writes, and against damage.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "metadata_builder.h"
#include "runtime/metadata.h"

static struct metadata_builder *b;
static struct clr_metadata md;

static void setup(void)
{
    b = metadata_builder_create();
}

static void teardown(void)
{
    metadata_builder_destroy(b);
}

static void open_blob(void)
{
    size_t size;
    struct clr_error error = {0};
    const uint8_t *blob = metadata_build(b, &size);
    ck_assert_msg(clr_metadata_open(&md, blob, size, &error) == CLR_OK, "%s", error.text);
}

/* Columns of every table, as the standard's chapters list them. */
static const unsigned columns[CLR_METADATA_TABLES] = {
    [0] = 5,  [1] = 3,  [2] = 6,  [3] = 1,  [4] = 3,  [5] = 1,  [6] = 6,  [7] = 1,  [8] = 3,
    [9] = 2,  [10] = 3, [11] = 3, [12] = 3, [13] = 2, [14] = 3, [15] = 3, [16] = 2, [17] = 1,
    [18] = 2, [19] = 1, [20] = 3, [21] = 2, [22] = 1, [23] = 3, [24] = 3, [25] = 3, [26] = 1,
    [27] = 1, [28] = 4, [29] = 2, [30] = 2, [31] = 1, [32] = 9, [33] = 1, [34] = 3, [35] = 9,
    [36] = 2, [37] = 4, [38] = 3, [39] = 5, [40] = 4, [41] = 2, [42] = 4, [43] = 2, [44] = 2,
    [48] = 4, [49] = 2, [50] = 6, [51] = 3, [52] = 2, [53] = 2, [54] = 2, [55] = 3,
};

static uint32_t pattern(unsigned table, uint32_t rid, unsigned column)
{
    return (table * 977 + rid * 131 + column * 17 + 1) & 0xffff;
}

static void add_rows(unsigned table, uint32_t count)
{
    for (uint32_t r = 1; r <= count; r++) {
        uint32_t cells[CLR_METADATA_COLUMNS];
        for (unsigned c = 0; c < columns[table]; c++)
            cells[c] = pattern(table, r, c);
        metadata_row(b, (enum clr_table_id)table, columns[table], cells);
    }
}

static void check_rows(void)
{
    for (unsigned t = 0; t < CLR_METADATA_TABLES; t++)
        for (uint32_t r = 1; r <= md.table[t].count; r++)
            for (unsigned c = 0; c < CLR_METADATA_COLUMNS; c++) {
                uint32_t value;
                bool there = clr_metadata_cell(&md, (enum clr_table_id)t, r, c, &value);
                ck_assert_int_eq(there, c < columns[t]);
                if (there)
                    ck_assert_msg(value == pattern(t, r, c), "table 0x%x row %u column %u", t, r,
                                  c);
            }
}

static const struct metadata_form forms[] = {
    {0},
    {.wide_heaps = true},
    {.uncompressed = true},
    {.uncompressed = true, .minimal_delta = true},
    {.extra_word = true},
    {.uncompressed = true, .extra_word = true, .wide_heaps = true},
};

START_TEST(every_table_reads_back)
{
    metadata_form(b, &forms[_i]);
    for (unsigned t = 0; t < CLR_METADATA_TABLES; t++)
        if (columns[t])
            add_rows(t, 1 + t % 3);
    uint64_t made = clr_alloc_made();
    open_blob();
    check_rows();
    ck_assert_int_eq(md.uncompressed, forms[_i].uncompressed);
    ck_assert_uint_eq(clr_alloc_made(), made);
}
END_TEST

/* Tables that make an index wide, and from how many rows on. */
START_TEST(indexes_grow_with_their_tables)
{
    for (unsigned t = 0; t < CLR_METADATA_TABLES; t++)
        if (columns[t])
            add_rows(t, 1);
    static const uint32_t limits[] = {1u << 11, 1u << 13, 1u << 14, 1u << 15, 1u << 16};
    uint32_t had = 1;
    for (unsigned i = 0; i < sizeof limits / sizeof *limits; i++)
        for (uint32_t count = limits[i] - 1; count <= limits[i]; count++) {
            for (; had < count; had++) {
                uint32_t cells[CLR_METADATA_COLUMNS];
                for (unsigned c = 0; c < columns[_i]; c++)
                    cells[c] = pattern((unsigned)_i, had + 1, c);
                metadata_row(b, (enum clr_table_id)_i, columns[_i], cells);
            }
            open_blob();
            ck_assert_uint_eq(md.table[_i].count, count);
            /* all rows of the others, first and last of the large one */
            struct clr_metadata whole = md;
            md.table[_i].count = 1;
            check_rows();
            uint32_t value;
            for (unsigned c = 0; c < columns[_i]; c++) {
                ck_assert(clr_metadata_cell(&whole, (enum clr_table_id)_i, count, c, &value));
                ck_assert_uint_eq(value, pattern((unsigned)_i, count, c));
            }
        }
}
END_TEST

START_TEST(pdb_counts_rows_of_the_module)
{
    struct metadata_form form = {.pdb = true};
    form.pdb_rows[CLR_METHODDEF] = 0x10000;
    form.pdb_rows[CLR_TYPEDEF] = 5;
    metadata_form(b, &form);
    add_rows(CLR_DOCUMENT, 2);
    add_rows(CLR_METHODDEBUGINFORMATION, 3);
    add_rows(CLR_LOCALSCOPE, 3);
    add_rows(CLR_STATEMACHINEMETHOD, 2);
    add_rows(CLR_CUSTOMDEBUGINFORMATION, 2);
    open_blob();
    check_rows();
    ck_assert_uint_eq(md.table[CLR_LOCALSCOPE].width[0], 4);
    ck_assert_uint_eq(md.table[CLR_STATEMACHINEMETHOD].width[1], 4);
    ck_assert_uint_eq(md.table[CLR_METHODDEF].count, 0);
    ck_assert_uint_eq(md.pdb.data[0], 0xa0);
    uint32_t value;
    ck_assert(!clr_metadata_cell(&md, CLR_METHODDEF, 1, 0, &value));
}
END_TEST

START_TEST(cells_outside_are_absent)
{
    add_rows(CLR_TYPEDEF, 2);
    open_blob();
    uint32_t value = 7;
    ck_assert(!clr_metadata_cell(&md, CLR_TYPEDEF, 0, 0, &value));
    ck_assert(!clr_metadata_cell(&md, CLR_TYPEDEF, 3, 0, &value));
    ck_assert(!clr_metadata_cell(&md, CLR_TYPEDEF, UINT32_MAX, 0, &value));
    ck_assert(!clr_metadata_cell(&md, CLR_TYPEDEF, 1, 6, &value));
    ck_assert(!clr_metadata_cell(&md, CLR_TYPEDEF, 1, 9, &value));
    ck_assert(!clr_metadata_cell(&md, CLR_FIELDDEF, 1, 0, &value));
    ck_assert(!clr_metadata_cell(&md, (enum clr_table_id)64, 1, 0, &value));
    ck_assert(!clr_metadata_cell(&md, (enum clr_table_id) - 1, 1, 0, &value));
    ck_assert_uint_eq(value, 0);
}
END_TEST

START_TEST(strings)
{
    uint32_t first = metadata_string(b, "first"), empty = metadata_string(b, "");
    uint32_t odd = metadata_string_bytes(b, "\xff\x80<>c", 5), last = metadata_string(b, "last");
    open_blob();
    size_t length;
    ck_assert_str_eq(clr_metadata_string(&md, first, &length), "first");
    ck_assert_uint_eq(length, 5);
    ck_assert_str_eq(clr_metadata_string(&md, first + 2, &length), "rst");
    ck_assert_str_eq(clr_metadata_string(&md, empty, &length), "");
    ck_assert_uint_eq(length, 0);
    ck_assert_str_eq(clr_metadata_string(&md, odd, &length), "\xff\x80<>c");
    ck_assert_ptr_null(clr_metadata_string(&md, (uint32_t)md.strings.size, &length));
    ck_assert_ptr_null(clr_metadata_string(&md, UINT32_MAX, &length));
    ck_assert_uint_eq(length, 0);
    md.strings.size = last + 4; /* its end is cut off */
    ck_assert_ptr_null(clr_metadata_string(&md, last, &length));
    md.strings = clr_bytes(NULL, 0);
    ck_assert_ptr_null(clr_metadata_string(&md, 0, &length));
}
END_TEST

START_TEST(blobs)
{
    static const size_t sizes[] = {0, 1, 127, 128, 300, 0x3fff, 0x4000, 70000};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    static uint8_t bytes[70000];
    uint32_t index[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        memset(bytes, (int)i + 1, sizes[i]);
        index[i] = metadata_blob(b, bytes, sizes[i]);
    }
    open_blob();
    for (size_t i = 0; i < COUNT; i++) {
        struct clr_bytes blob = clr_metadata_blob(&md, index[i]);
        ck_assert(!blob.bad);
        ck_assert_uint_eq(blob.size, sizes[i]);
        ck_assert_uint_eq(blob.at, 0);
        if (sizes[i])
            ck_assert_uint_eq(blob.data[sizes[i] - 1], i + 1);
    }
    ck_assert(!clr_metadata_blob(&md, 0).bad);
    ck_assert_uint_eq(clr_metadata_blob(&md, 0).size, 0);
    ck_assert(clr_metadata_blob(&md, (uint32_t)md.blobs.size).bad);
    ck_assert(clr_metadata_blob(&md, UINT32_MAX).bad);
    md.blobs.size--;
    ck_assert(clr_metadata_blob(&md, index[COUNT - 1]).bad);
    md.blobs = clr_bytes(NULL, 0);
    ck_assert(!clr_metadata_blob(&md, 0).bad);
    ck_assert(clr_metadata_blob(&md, 1).bad);
}
END_TEST

START_TEST(compressed_numbers)
{
    static const struct {
        uint8_t bytes[4];
        size_t size;
        uint32_t value;
    } good[] = {
        {{0x03}, 1, 0x03},
        {{0x7f}, 1, 0x7f},
        {{0x80, 0x80}, 2, 0x80},
        {{0xae, 0x57}, 2, 0x2e57},
        {{0xbf, 0xff}, 2, 0x3fff},
        {{0xc0, 0x00, 0x40, 0x00}, 4, 0x4000},
        {{0xdf, 0xff, 0xff, 0xff}, 4, 0x1fffffff},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct clr_bytes bytes = clr_bytes(good[i].bytes, good[i].size);
        ck_assert_uint_eq(clr_metadata_compressed(&bytes), good[i].value);
        ck_assert(!bytes.bad);
        ck_assert_uint_eq(bytes.at, good[i].size);
        for (size_t cut = 0; cut < good[i].size; cut++) {
            bytes = clr_bytes(good[i].bytes, cut);
            ck_assert_uint_eq(clr_metadata_compressed(&bytes), 0);
            ck_assert(bytes.bad);
        }
    }
    struct clr_bytes bytes = clr_bytes((const uint8_t[]){0xff, 0, 0, 0}, 4);
    clr_metadata_compressed(&bytes);
    ck_assert(bytes.bad);
}
END_TEST

START_TEST(guids)
{
    uint8_t guid[16];
    for (uint8_t i = 0; i < 16; i++)
        guid[i] = i;
    ck_assert_uint_eq(metadata_guid(b, guid), 1);
    guid[0] = 99;
    ck_assert_uint_eq(metadata_guid(b, guid), 2);
    open_blob();
    ck_assert_uint_eq(clr_metadata_guid(&md, 1)[0], 0);
    ck_assert_uint_eq(clr_metadata_guid(&md, 2)[0], 99);
    ck_assert_ptr_null(clr_metadata_guid(&md, 0));
    ck_assert_ptr_null(clr_metadata_guid(&md, 3));
    ck_assert_ptr_null(clr_metadata_guid(&md, UINT32_MAX));
}
END_TEST

START_TEST(nesting)
{
    /* sorted, sorted but not said so, and out of order in the uncompressed form */
    struct metadata_form form = {.uncompressed = _i == 2, .unsorted = _i > 0};
    metadata_form(b, &form);
    for (unsigned i = 0; i < 9; i++)
        METADATA_ROW(b, CLR_TYPEDEF, 0, 0, 0, 0, 1, 1);
    if (_i == 2)
        METADATA_ROW(b, CLR_NESTEDCLASS, 8, 8);
    METADATA_ROW(b, CLR_NESTEDCLASS, 3, 2);
    METADATA_ROW(b, CLR_NESTEDCLASS, 4, 3);
    METADATA_ROW(b, CLR_NESTEDCLASS, 7, 500);
    if (_i != 2)
        METADATA_ROW(b, CLR_NESTEDCLASS, 8, 8);
    METADATA_ROW(b, CLR_NESTEDCLASS, 9, 1);
    open_blob();
    static const uint32_t enclosing[] = {0, 0, 0, 2, 3, 0, 0, 500, 8, 1, 0};
    for (uint32_t rid = 0; rid < sizeof enclosing / sizeof *enclosing; rid++)
        ck_assert_uint_eq(clr_metadata_enclosing(&md, rid), enclosing[rid]);
}
END_TEST

START_TEST(members)
{
    METADATA_ROW(b, CLR_TYPEDEF, 0, 0, 0, 0, 1, 1);
    METADATA_ROW(b, CLR_TYPEDEF, 0, 0, 0, 0, 1, 3);
    METADATA_ROW(b, CLR_TYPEDEF, 0, 0, 0, 0, 4, 3);
    add_rows(CLR_FIELDDEF, 5);
    add_rows(CLR_METHODDEF, 3);
    open_blob();
    uint32_t first, end;
    static const uint32_t fields[][2] = {{1, 1}, {1, 4}, {4, 6}};
    static const uint32_t methods[][2] = {{1, 3}, {3, 3}, {3, 4}};
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert(clr_metadata_members(&md, CLR_FIELDDEF, i + 1, &first, &end));
        ck_assert_uint_eq(first, fields[i][0]);
        ck_assert_uint_eq(end, fields[i][1]);
        ck_assert(clr_metadata_members(&md, CLR_METHODDEF, i + 1, &first, &end));
        ck_assert_uint_eq(first, methods[i][0]);
        ck_assert_uint_eq(end, methods[i][1]);
    }
    ck_assert(!clr_metadata_members(&md, CLR_FIELDDEF, 0, &first, &end));
    ck_assert(!clr_metadata_members(&md, CLR_FIELDDEF, 4, &first, &end));
    ck_assert(!clr_metadata_members(&md, CLR_PARAM, 1, &first, &end));
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_FIELDDEF, 5), 5);
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_FIELDDEF, 6), 0);
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_PARAM, 1), 0);

    metadata_set(b, CLR_TYPEDEF, 3, 4, 7); /* behind the end */
    metadata_set(b, CLR_TYPEDEF, 2, 5, 0); /* before the start */
    open_blob();
    ck_assert(!clr_metadata_members(&md, CLR_FIELDDEF, 3, &first, &end));
    ck_assert(!clr_metadata_members(&md, CLR_FIELDDEF, 2, &first, &end));
    ck_assert(!clr_metadata_members(&md, CLR_METHODDEF, 1, &first, &end));
    ck_assert(!clr_metadata_members(&md, CLR_METHODDEF, 2, &first, &end));
    ck_assert_uint_eq(first + end, 0);
}
END_TEST

START_TEST(members_through_pointers)
{
    metadata_form(b, &(struct metadata_form){.uncompressed = true});
    METADATA_ROW(b, CLR_TYPEDEF, 0, 0, 0, 0, 1, 1);
    METADATA_ROW(b, CLR_TYPEDEF, 0, 0, 0, 0, 2, 1);
    METADATA_ROW(b, CLR_FIELDPTR, 3);
    METADATA_ROW(b, CLR_FIELDPTR, 1);
    METADATA_ROW(b, CLR_FIELDPTR, 9);
    add_rows(CLR_FIELDDEF, 3);
    add_rows(CLR_METHODDEF, 2);
    open_blob();
    uint32_t first, end;
    ck_assert(clr_metadata_members(&md, CLR_FIELDDEF, 1, &first, &end));
    ck_assert_uint_eq(end - first, 1);
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_FIELDDEF, first), 3);
    ck_assert(clr_metadata_members(&md, CLR_FIELDDEF, 2, &first, &end));
    ck_assert_uint_eq(end - first, 2);
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_FIELDDEF, first), 1);
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_FIELDDEF, first + 1), 0); /* no such field */
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_FIELDDEF, 4), 0);
    ck_assert(clr_metadata_members(&md, CLR_METHODDEF, 2, &first, &end));
    ck_assert_uint_eq(clr_metadata_member(&md, CLR_METHODDEF, 2), 2); /* no table of pointers */
}
END_TEST

START_TEST(finding)
{
    static const uint32_t keys[] = {2, 4, 4, 4, 8, 10};
    metadata_form(b, &(struct metadata_form){.unsorted = _i});
    for (uint32_t i = 0; i < 6; i++)
        METADATA_ROW(b, CLR_GENERICPARAM, 5 - i, 0, keys[i], 0);
    open_blob();
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 2, 4), 2);
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 2, 2), 1);
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 2, 10), 6);
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 2, 1), 0);
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 2, 5), 0);
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 2, 11), 0);
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_GENERICPARAM, 0, 0), 6); /* no key: linear */
    ck_assert_uint_eq(clr_metadata_find(&md, CLR_NESTEDCLASS, 0, 1), 0);
    ck_assert_uint_eq(clr_metadata_find(&md, (enum clr_table_id)64, 0, 1), 0);
}
END_TEST

START_TEST(coded_indexes)
{
    enum clr_table_id table;
    uint32_t rid, value;
    ck_assert(clr_metadata_type_def_or_ref(0x123 << 2 | 0, &table, &rid));
    ck_assert(table == CLR_TYPEDEF && rid == 0x123);
    ck_assert(clr_metadata_type_def_or_ref(0x45 << 2 | 1, &table, &rid));
    ck_assert(table == CLR_TYPEREF && rid == 0x45);
    ck_assert(clr_metadata_type_def_or_ref(6 << 2 | 2, &table, &rid));
    ck_assert(table == CLR_TYPESPEC && rid == 6);
    ck_assert(!clr_metadata_type_def_or_ref(6 << 2 | 3, &table, &rid));
    ck_assert(!clr_metadata_type_def_or_ref(0, &table, &rid));

    ck_assert(clr_metadata_target(CLR_CUSTOMATTRIBUTE, 1, 9 << 3 | 3, &table, &rid));
    ck_assert(table == CLR_MEMBERREF && rid == 9);
    ck_assert(!clr_metadata_target(CLR_CUSTOMATTRIBUTE, 1, 9 << 3 | 0, &table, &rid));
    ck_assert(!clr_metadata_target(CLR_CUSTOMATTRIBUTE, 2, 9, &table, &rid));
    ck_assert(!clr_metadata_target(CLR_CUSTOMATTRIBUTE, 9, 9, &table, &rid));
    ck_assert(!clr_metadata_target((enum clr_table_id)64, 0, 9, &table, &rid));
    ck_assert(clr_metadata_target(CLR_CUSTOMDEBUGINFORMATION, 0, 2 << 5 | 26, &table, &rid));
    ck_assert(table == CLR_IMPORTSCOPE && rid == 2);

    ck_assert(clr_metadata_reference(CLR_GENERICPARAM, 2, CLR_METHODDEF, 7, &value));
    ck_assert_uint_eq(value, 15);
    ck_assert(!clr_metadata_reference(CLR_GENERICPARAM, 2, CLR_FIELDDEF, 7, &value));
    ck_assert(!clr_metadata_reference(CLR_GENERICPARAM, 2, CLR_METHODDEF, UINT32_MAX, &value));
    ck_assert(!clr_metadata_reference(CLR_GENERICPARAM, 0, CLR_METHODDEF, 7, &value));
}
END_TEST

/* --- damage --------------------------------------------------------------------------------- */

static void build_sample(void)
{
    uint32_t space = metadata_string(b, "Zoo"), name = metadata_string(b, "Node");
    uint32_t blob = METADATA_BLOB(b, 6, 0x12, 8);
    uint8_t guid[16] = {1, 2, 3};
    METADATA_ROW(b, CLR_MODULE, 0, name, metadata_guid(b, guid), 0, 0);
    METADATA_ROW(b, CLR_TYPEDEF, 0, name, 0, 0, 1, 1);
    METADATA_ROW(b, CLR_TYPEDEF, 2, name, space, 1 << 2 | 1, 1, 1);
    METADATA_ROW(b, CLR_FIELDDEF, 6, name, blob);
    METADATA_ROW(b, CLR_METHODDEF, 0, 0, 0, name, blob, 1);
    METADATA_ROW(b, CLR_NESTEDCLASS, 2, 1);
    METADATA_ROW(b, CLR_GENERICPARAM, 0, 0, 4, name);
}

static enum clr_status open_bytes(const uint8_t *bytes, size_t size, struct clr_error *error)
{
    *error = (struct clr_error){0};
    enum clr_status status = clr_metadata_open(&md, bytes, size, error);
    if (status == CLR_OK)
        metadata_read_everything(&md);
    else
        ck_assert(error->code == status && error->text[0] && md.table[CLR_TYPEDEF].count == 0);
    return status;
}

START_TEST(cut_anywhere)
{
    build_sample();
    size_t size;
    const uint8_t *blob = metadata_build(b, &size);
    struct clr_error error;
    ck_assert(open_bytes(blob, size, &error) == CLR_OK);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut + 1); /* of its exact size: a sanitizer sees a read behind it */
        ck_assert_ptr_nonnull(part);
        uint8_t *exact = realloc(part, cut ? cut : 1);
        memcpy(exact, blob, cut);
        ck_assert(open_bytes(exact, cut, &error) == CLR_BAD_DATA || size - cut < 4);
        free(exact);
    }
    ck_assert(open_bytes(NULL, 100, &error) == CLR_BAD_DATA);
}
END_TEST

START_TEST(every_byte_changed)
{
    metadata_form(b, &forms[_i]);
    build_sample();
    size_t size;
    const uint8_t *built = metadata_build(b, &size);
    uint8_t *blob = malloc(size);
    ck_assert_ptr_nonnull(blob);
    memcpy(blob, built, size);
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    struct clr_error error;
    for (size_t i = 0; i < size; i++)
        for (size_t v = 0; v < sizeof values; v++) {
            blob[i] = values[v];
            open_bytes(blob, size, &error);
            blob[i] = built[i];
        }
    free(blob);
}
END_TEST

/* Where a part of the bytes is missing, everything says what it said, or that it is absent. The
 * missing part is filled with what would be noticed. */
START_TEST(every_hole)
{
    static const unsigned key[] = {[CLR_NESTEDCLASS] = 0, [CLR_GENERICPARAM] = 2};
    build_sample();
    size_t size, opened = 0, lost = 0;
    const uint8_t *built = metadata_build(b, &size);
    struct clr_metadata whole;
    struct clr_error error;
    ck_assert(clr_metadata_open(&whole, built, size, &error) == CLR_OK);
    for (size_t length = 1; length <= 16; length += 5)
        for (size_t at = 0; at + length <= size; at++)
            for (unsigned filler = 0; filler < 2; filler++) {
                struct clr_metadata_hole hole = {at, at + length};
                uint8_t *blob = malloc(size);
                ck_assert_ptr_nonnull(blob);
                memcpy(blob, built, size);
                memset(blob + at, filler ? 0x01 : 0, length);
                error = (struct clr_error){0};
                if (clr_metadata_open_parts(&md, blob, size, &hole, 1, &error) != CLR_OK) {
                    ck_assert(error.code == CLR_FAULT && strstr(error.text, "not saved"));
                    free(blob);
                    continue;
                }
                opened++;
                for (unsigned t = 0; t < CLR_METADATA_TABLES; t++) {
                    ck_assert_uint_eq(md.table[t].count, whole.table[t].count);
                    for (uint32_t rid = 1; rid <= whole.table[t].count; rid++)
                        for (unsigned c = 0; c < CLR_METADATA_COLUMNS; c++) {
                            uint32_t is, was;
                            bool old = clr_metadata_cell(&whole, t, rid, c, &was);
                            if (!clr_metadata_cell(&md, t, rid, c, &is))
                                lost += old;
                            else
                                ck_assert(old && is == was);
                        }
                }
                for (uint32_t i = 0; i < whole.strings.size; i++) {
                    size_t is, was;
                    const char *now = clr_metadata_string(&md, i, &is);
                    const char *old = clr_metadata_string(&whole, i, &was);
                    ck_assert(!now || (old && is == was && memcmp(now, old, is) == 0));
                }
                for (uint32_t i = 0; i < whole.blobs.size; i++) {
                    struct clr_bytes now = clr_metadata_blob(&md, i);
                    struct clr_bytes old = clr_metadata_blob(&whole, i);
                    ck_assert(now.bad || (!old.bad && now.size == old.size &&
                                          memcmp(now.data, old.data, now.size) == 0));
                }
                const uint8_t *guid = clr_metadata_guid(&md, 1);
                ck_assert(!guid || memcmp(guid, clr_metadata_guid(&whole, 1), 16) == 0);
                for (unsigned t = CLR_NESTEDCLASS; t <= CLR_GENERICPARAM; t++)
                    for (uint32_t value = 0; value < 6; value++) {
                        uint32_t now = clr_metadata_find(&md, t, key[t], value);
                        ck_assert(now == 0 || now == clr_metadata_find(&whole, t, key[t], value));
                    }
                for (uint32_t rid = 1; rid <= 2; rid++) {
                    uint32_t first, end, old_first, old_end;
                    clr_metadata_members(&whole, CLR_FIELDDEF, rid, &old_first, &old_end);
                    ck_assert(!clr_metadata_members(&md, CLR_FIELDDEF, rid, &first, &end) ||
                              (first == old_first && end == old_end));
                }
                free(blob);
            }
    ck_assert(opened > size && lost > size);
}
END_TEST

START_TEST(messages_say_what)
{
    build_sample();
    size_t size;
    const uint8_t *built = metadata_build(b, &size);
    uint8_t *blob = malloc(size);
    ck_assert_ptr_nonnull(blob);
    struct clr_error error;
    memcpy(blob, built, size);
    blob[0] = 'X';
    open_bytes(blob, size, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "BSJB"));

    memcpy(blob, built, size);
    size_t tables = 32; /* the first stream header: offset, size, name */
    uint32_t at;
    memcpy(&at, blob + tables, 4);
    ck_assert_str_eq((const char *)blob + tables + 8, "#~");
    memset(blob + at + 24, 0xff, 4); /* rows of the first table */
    open_bytes(blob, size, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "table 0x00 has 4294967295 rows"));

    memcpy(blob, built, size);
    blob[at + 8 + 7] |= 0x80; /* the one row of table 0x2a becomes one of table 0x3f */
    blob[at + 8 + 5] &= (uint8_t)~0x04;
    open_bytes(blob, size, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "0x3f"));

    memcpy(blob, built, size);
    memset(blob + tables + 4, 0xff, 4);
    open_bytes(blob, size, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "#~"));

    memcpy(blob, built, size);
    blob[tables + 8] = '$';
    open_bytes(blob, size, &error);
    ck_assert_ptr_nonnull(strstr(error.text, "no table stream"));
    free(blob);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metadata");
    TCase *c = tcase_create("metadata");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 120);
    int all = sizeof forms / sizeof *forms;
    tcase_add_loop_test(c, every_table_reads_back, 0, all);
    static const int growing[] = {
        CLR_MODULE,    CLR_TYPEREF,       CLR_TYPEDEF,    CLR_FIELDDEF,     CLR_METHODDEF,
        CLR_PARAM,     CLR_MEMBERREF,     CLR_PROPERTY,   CLR_EVENT,        CLR_ASSEMBLYREF,
        CLR_MODULEREF, CLR_TYPESPEC,      CLR_FILE,       CLR_EXPORTEDTYPE, CLR_GENERICPARAM,
        CLR_DOCUMENT,  CLR_LOCALVARIABLE, CLR_IMPORTSCOPE};
    for (size_t i = 0; i < sizeof growing / sizeof *growing; i++)
        tcase_add_loop_test(c, indexes_grow_with_their_tables, growing[i], growing[i] + 1);
    tcase_add_test(c, pdb_counts_rows_of_the_module);
    tcase_add_test(c, cells_outside_are_absent);
    tcase_add_test(c, strings);
    tcase_add_test(c, blobs);
    tcase_add_test(c, compressed_numbers);
    tcase_add_test(c, guids);
    tcase_add_loop_test(c, nesting, 0, 3);
    tcase_add_test(c, members);
    tcase_add_test(c, members_through_pointers);
    tcase_add_loop_test(c, finding, 0, 2);
    tcase_add_test(c, coded_indexes);
    tcase_add_test(c, cut_anywhere);
    tcase_add_test(c, every_hole);
    tcase_add_loop_test(c, every_byte_changed, 0, all);
    tcase_add_test(c, messages_say_what);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
