#include "metadata_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    uint8_t *data;
    size_t size, room;
};

struct rows {
    uint32_t *cells; /* columns of the table, row after row */
    uint32_t count, room;
};

struct metadata_builder {
    struct buffer strings, blobs, guids, blob, image;
    struct rows tables[CLR_METADATA_TABLES];
    struct metadata_form form;
};

/* One letter a column: 2 and 4 are constants; s, g, b heaps; tNN a row of table NN (hexadecimal);
 * the others are coded indexes, see coded_text. */
static const char *const schema_text[CLR_METADATA_TABLES] = {
    [0x00] = "2 s g g g",
    [0x01] = "R s s",
    [0x02] = "4 s s T t04 t06",
    [0x03] = "t04",
    [0x04] = "2 s b",
    [0x05] = "t06",
    [0x06] = "4 2 2 s b t08",
    [0x07] = "t08",
    [0x08] = "2 2 s",
    [0x09] = "t02 T",
    [0x0a] = "P s b",
    [0x0b] = "2 C b",
    [0x0c] = "A K b",
    [0x0d] = "F b",
    [0x0e] = "2 D b",
    [0x0f] = "2 4 t02",
    [0x10] = "4 t04",
    [0x11] = "b",
    [0x12] = "t02 t14",
    [0x13] = "t14",
    [0x14] = "2 s T",
    [0x15] = "t02 t17",
    [0x16] = "t17",
    [0x17] = "2 s b",
    [0x18] = "2 t06 H",
    [0x19] = "t02 M M",
    [0x1a] = "s",
    [0x1b] = "b",
    [0x1c] = "2 W s t1a",
    [0x1d] = "4 t04",
    [0x1e] = "4 4",
    [0x1f] = "4",
    [0x20] = "4 2 2 2 2 4 b s s",
    [0x21] = "4",
    [0x22] = "4 4 4",
    [0x23] = "2 2 2 2 4 b s s b",
    [0x24] = "4 t23",
    [0x25] = "4 4 4 t23",
    [0x26] = "4 s b",
    [0x27] = "4 4 s s I",
    [0x28] = "4 4 s I",
    [0x29] = "t02 t02",
    [0x2a] = "2 2 O s",
    [0x2b] = "M b",
    [0x2c] = "t2a T",
    [0x30] = "b g b g",
    [0x31] = "t30 b",
    [0x32] = "t06 t35 t33 t34 4 4",
    [0x33] = "2 2 s",
    [0x34] = "s b",
    [0x35] = "t35 b",
    [0x36] = "t06 t06",
    [0x37] = "U g b",
};

/* Letter of a coded index -> tag bits and the tables whose sizes decide. */
static const struct {
    char letter;
    unsigned bits;
    const char *tables;
} coded_text[] = {
    {'T', 2, "02 01 1b"},
    {'C', 2, "04 08 17"},
    {'A', 5, "06 04 01 02 08 09 0a 00 0e 17 14 11 1a 1b 20 23 26 27 28 2a 2c 2b"},
    {'F', 1, "04 08"},
    {'D', 2, "02 06 20"},
    {'P', 3, "02 01 1a 06 1b"},
    {'H', 1, "14 17"},
    {'M', 1, "06 0a"},
    {'W', 1, "04 06"},
    {'I', 2, "26 23 27"},
    {'K', 3, "06 0a"},
    {'R', 2, "00 1a 23 01"},
    {'O', 1, "02 06"},
    {'U', 5, "06 04 01 02 08 09 0a 00 0e 17 14 11 1a 1b 20 23 26 27 28 2a 2c 2b 30 32 33 34 35"},
};

static void *need(void *block)
{
    if (!block) {
        fprintf(stderr, "metadata_builder: out of memory\n");
        abort();
    }
    return block;
}

static void put(struct buffer *b, const void *bytes, size_t size)
{
    if (b->size + size > b->room) {
        b->room = (b->size + size) * 2 + 64;
        b->data = need(realloc(b->data, b->room));
    }
    if (size)
        memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

static void put_uint(struct buffer *b, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        put(b, &(uint8_t){(uint8_t)(value >> 8 * i)}, 1);
}

static void pad(struct buffer *b, size_t alignment)
{
    while (b->size % alignment)
        put_uint(b, 0, 1);
}

struct metadata_builder *metadata_builder_create(void)
{
    struct metadata_builder *b = need(calloc(1, sizeof *b));
    put_uint(&b->strings, 0, 1); /* index 0 of both is the empty entry */
    put_uint(&b->blobs, 0, 1);
    return b;
}

void metadata_builder_destroy(struct metadata_builder *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < CLR_METADATA_TABLES; i++)
        free(b->tables[i].cells);
    free(b->strings.data);
    free(b->blobs.data);
    free(b->guids.data);
    free(b->blob.data);
    free(b->image.data);
    free(b);
}

uint32_t metadata_string_bytes(struct metadata_builder *b, const void *bytes, size_t size)
{
    uint32_t index = (uint32_t)b->strings.size;
    put(&b->strings, bytes, size);
    put_uint(&b->strings, 0, 1);
    return index;
}

uint32_t metadata_string(struct metadata_builder *b, const char *text)
{
    return *text ? metadata_string_bytes(b, text, strlen(text)) : 0;
}

uint32_t metadata_blob(struct metadata_builder *b, const void *bytes, size_t size)
{
    uint32_t index = (uint32_t)b->blobs.size;
    if (size < 0x80) {
        put_uint(&b->blobs, size, 1);
    } else if (size < 0x4000) {
        put_uint(&b->blobs, 0x80 | size >> 8, 1);
        put_uint(&b->blobs, size, 1);
    } else {
        put_uint(&b->blobs, 0xc0 | size >> 24, 1);
        put_uint(&b->blobs, size >> 16, 1);
        put_uint(&b->blobs, size >> 8, 1);
        put_uint(&b->blobs, size, 1);
    }
    put(&b->blobs, bytes, size);
    return index;
}

uint32_t metadata_guid(struct metadata_builder *b, const uint8_t guid[16])
{
    put(&b->guids, guid, 16);
    return (uint32_t)(b->guids.size / 16);
}

static unsigned column_count(unsigned table)
{
    unsigned count = 0;
    for (const char *p = schema_text[table]; p && *p; p++)
        count += p == schema_text[table] || p[-1] == ' ';
    return count;
}

uint32_t metadata_row(struct metadata_builder *b, enum clr_table_id table, size_t columns,
                      const uint32_t *values)
{
    struct rows *rows = &b->tables[table];
    if (columns != column_count(table)) {
        fprintf(stderr, "metadata_builder: table 0x%02x has %u columns, not %zu\n", table,
                column_count(table), columns);
        abort();
    }
    if (rows->count == rows->room) {
        rows->room = rows->room * 2 + 8;
        rows->cells = need(realloc(rows->cells, rows->room * columns * sizeof *rows->cells));
    }
    memcpy(rows->cells + (size_t)rows->count * columns, values, columns * sizeof *values);
    return ++rows->count;
}

void metadata_set(struct metadata_builder *b, enum clr_table_id table, uint32_t rid,
                  unsigned column, uint32_t value)
{
    b->tables[table].cells[(size_t)(rid - 1) * column_count(table) + column] = value;
}

void metadata_form(struct metadata_builder *b, const struct metadata_form *form)
{
    b->form = *form;
}

static uint32_t row_count(const struct metadata_builder *b, unsigned long table)
{
    return b->tables[table].count ? b->tables[table].count
           : b->form.pdb          ? b->form.pdb_rows[table]
                                  : 0;
}

static size_t width_of(const struct metadata_builder *b, const char *column)
{
    if (*column == '2')
        return 2;
    if (*column == '4' || b->form.minimal_delta)
        return 4;
    if (strchr("sgb", *column))
        return b->form.wide_heaps ? 4 : 2;
    if (*column == 't')
        return row_count(b, strtoul(column + 1, NULL, 16)) >= 0x10000 ? 4 : 2;
    for (size_t i = 0; i < sizeof coded_text / sizeof *coded_text; i++)
        for (const char *p = coded_text[i].tables; coded_text[i].letter == *column && *p; p += 2) {
            p += *p == ' ';
            const char two[3] = {p[0], p[1], 0};
            if (row_count(b, strtoul(two, NULL, 16)) >= 1u << (16 - coded_text[i].bits))
                return 4;
        }
    return 2;
}

static void put_tables(struct metadata_builder *b, struct buffer *out)
{
    static const uint64_t by_standard = UINT64_C(0x00c416003301fa00); /* with those of PDBs */
    const struct metadata_form *f = &b->form;
    uint64_t present = 0;
    for (unsigned i = 0; i < CLR_METADATA_TABLES; i++)
        present |= (uint64_t)(b->tables[i].count != 0) << i;
    put_uint(out, 0, 4);
    put_uint(out, 2, 1);
    put_uint(out, 0, 1);
    put_uint(out, (f->wide_heaps || f->minimal_delta ? 7u : 0u) | (f->extra_word ? 0x40u : 0u), 1);
    put_uint(out, 1, 1);
    put_uint(out, present, 8);
    put_uint(out, f->unsorted ? 0 : f->sorted ? f->sorted : by_standard, 8);
    for (unsigned i = 0; i < CLR_METADATA_TABLES; i++)
        if (b->tables[i].count)
            put_uint(out, b->tables[i].count, 4);
    if (f->extra_word)
        put_uint(out, 0x12345678, 4);
    for (unsigned i = 0; i < CLR_METADATA_TABLES; i++) {
        const uint32_t *cell = b->tables[i].cells;
        for (uint32_t r = 0; r < b->tables[i].count; r++)
            for (const char *p = schema_text[i]; p; p = strchr(p, ' ')) {
                p += *p == ' ';
                if (*cell > 0xffff && width_of(b, p) == 2) {
                    fprintf(stderr, "metadata_builder: 0x%x does not fit into table 0x%02x\n",
                            *cell, i);
                    abort();
                }
                put_uint(out, *cell++, width_of(b, p));
            }
    }
    pad(out, 4);
}

const uint8_t *metadata_build(struct metadata_builder *b, size_t *size)
{
    struct buffer tables = {0}, pdb = {0}, none = {0};
    put_tables(b, &tables);
    if (b->form.pdb) {
        uint64_t mask = 0;
        for (unsigned i = 0; i < CLR_METADATA_TABLES; i++)
            mask |= (uint64_t)(b->form.pdb_rows[i] != 0) << i;
        for (unsigned i = 0; i < 20; i++)
            put_uint(&pdb, 0xa0 + i, 1);
        put_uint(&pdb, 0x06000001, 4);
        put_uint(&pdb, mask, 8);
        for (unsigned i = 0; i < CLR_METADATA_TABLES; i++)
            if (b->form.pdb_rows[i])
                put_uint(&pdb, b->form.pdb_rows[i], 4);
    }
    struct {
        const char *name;
        const struct buffer *bytes;
    } streams[] = {
        {b->form.uncompressed ? "#-" : "#~", &tables},
        {"#Strings", &b->strings},
        {"#US", &none},
        {"#GUID", &b->guids},
        {"#Blob", &b->blobs},
        {"#Pdb", b->form.pdb ? &pdb : NULL},
        {"#JTD", b->form.minimal_delta ? &none : NULL},
    };
    enum { STREAMS = sizeof streams / sizeof *streams };
    static const char version[12] = "v4.0.30319";

    struct buffer *out = &b->blob;
    out->size = 0;
    put_uint(out, 0x424a5342, 4);
    put_uint(out, 1, 2);
    put_uint(out, 1, 2);
    put_uint(out, 0, 4);
    put_uint(out, sizeof version, 4);
    put(out, version, sizeof version);
    put_uint(out, 0, 2);
    size_t count = 0, header = out->size + 2;
    for (size_t i = 0; i < STREAMS; i++)
        if (streams[i].bytes) {
            count++;
            header += 8 + ((strlen(streams[i].name) + 4) & ~(size_t)3);
        }
    put_uint(out, count, 2);
    size_t at = header;
    for (size_t i = 0; i < STREAMS; i++) {
        if (!streams[i].bytes)
            continue;
        put_uint(out, at, 4);
        put_uint(out, streams[i].bytes->size, 4);
        put(out, streams[i].name, strlen(streams[i].name) + 1);
        pad(out, 4);
        at += (streams[i].bytes->size + 3) & ~(size_t)3;
    }
    for (size_t i = 0; i < STREAMS; i++)
        if (streams[i].bytes) {
            put(out, streams[i].bytes->data, streams[i].bytes->size);
            pad(out, 4);
        }
    free(tables.data);
    free(pdb.data);
    *size = out->size;
    return out->data;
}

static void fill(struct buffer *b, size_t until)
{
    while (b->size < until)
        put_uint(b, 0, 1);
}

const uint8_t *metadata_build_image(struct metadata_builder *b, bool mapped, bool pe32_plus,
                                    size_t *size)
{
    enum { NT = 0x80, RVA = 0x2000, RAW = 0x200, CLI = 72 };
    size_t blob_size;
    const uint8_t *blob = metadata_build(b, &blob_size);
    size_t virtual_size = CLI + blob_size, raw_size = (virtual_size + 0x1ff) & ~(size_t)0x1ff;
    size_t directories = pe32_plus ? 112 : 96, optional_size = directories + 16 * 8;
    struct buffer *out = &b->image;
    out->size = 0;
    put(out, "MZ", 2);
    fill(out, 0x3c);
    put_uint(out, NT, 4);
    fill(out, NT);
    put(out, "PE\0\0", 4);
    put_uint(out, 0xfd1d, 2); /* the runtime XORs the machine with a value of the system */
    put_uint(out, 1, 2);
    put_uint(out, 0x12345678, 4);
    put_uint(out, 0, 8);
    put_uint(out, optional_size, 2);
    put_uint(out, 0x2022, 2);
    put_uint(out, pe32_plus ? 0x20b : 0x10b, 2);
    fill(out, NT + 24 + 56);
    put_uint(out, RVA + raw_size, 4);
    fill(out, NT + 24 + directories - 4);
    put_uint(out, 16, 4);
    fill(out, NT + 24 + directories + 6 * 8);
    put_uint(out, RVA + 8, 4); /* a debug directory that shares bytes with the CLI header */
    put_uint(out, 28, 4);
    fill(out, NT + 24 + directories + 14 * 8);
    put_uint(out, RVA, 4);
    put_uint(out, CLI, 4);
    fill(out, NT + 24 + optional_size);
    put(out, ".text\0\0\0", 8);
    put_uint(out, virtual_size, 4);
    put_uint(out, RVA, 4);
    put_uint(out, raw_size, 4);
    put_uint(out, RAW, 4);
    fill(out, mapped ? RVA : RAW);
    size_t start = out->size;
    put_uint(out, CLI, 4);
    put_uint(out, 2, 2);
    put_uint(out, 5, 2);
    put_uint(out, RVA + CLI, 4);
    put_uint(out, blob_size, 4);
    put_uint(out, 1, 4);
    put_uint(out, 0x06000001, 4);
    fill(out, start + CLI);
    put(out, blob, blob_size);
    fill(out, start + raw_size);
    *size = out->size;
    return out->data;
}

static uint64_t read_heaps(const struct clr_metadata *metadata, uint32_t index)
{
    size_t length;
    uint64_t sum = 0;
    const char *text = clr_metadata_string(metadata, index, &length);
    if (text)
        sum += strlen(text) + length;
    struct clr_bytes blob = clr_metadata_blob(metadata, index);
    while (!blob.bad && blob.at < blob.size)
        sum = sum * 31 + clr_metadata_compressed(&blob);
    const uint8_t *guid = clr_metadata_guid(metadata, index);
    for (unsigned i = 0; guid && i < 16; i++)
        sum = sum * 31 + guid[i];
    return sum;
}

static uint64_t read_members(const struct clr_metadata *metadata, enum clr_table_id table,
                             uint32_t rid)
{
    uint64_t sum = 0;
    uint32_t first, end;
    if (clr_metadata_members(metadata, table, rid, &first, &end))
        for (; first < end; first++)
            sum = sum * 31 + clr_metadata_member(metadata, table, first);
    return sum;
}

uint64_t metadata_read_everything(const struct clr_metadata *metadata)
{
    uint64_t sum = 0;
    for (unsigned t = 0; t < CLR_METADATA_TABLES; t++) {
        enum clr_table_id table = (enum clr_table_id)t, target;
        uint32_t count = metadata->table[t].count, value, rid;
        for (uint32_t r = 0; r <= count && r < 2000; r++)
            for (unsigned c = 0; c < CLR_METADATA_COLUMNS; c++) {
                if (!clr_metadata_cell(metadata, table, r, c, &value))
                    continue;
                sum = sum * 31 + value + read_heaps(metadata, value);
                if (clr_metadata_target(table, c, value, &target, &rid))
                    sum = sum * 31 + (unsigned)target + rid;
                if (r < 50)
                    sum = sum * 31 + clr_metadata_find(metadata, table, c, value);
            }
    }
    uint32_t types = metadata->table[CLR_TYPEDEF].count;
    for (uint32_t rid = 0; rid <= types && rid < 2000; rid++)
        sum = sum * 31 + clr_metadata_enclosing(metadata, rid) +
              read_members(metadata, CLR_FIELDDEF, rid) +
              read_members(metadata, CLR_METHODDEF, rid);
    return sum;
}
