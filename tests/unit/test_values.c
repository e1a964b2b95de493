/*
 * Values of a fake process, in all byte orders and word sizes: primitives at their limits, the
 * structs of the library that have one value, enums, strings, and what is damaged. The module that
 * has these types is made the library by naming it as the module of System.Object.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "clr_builder.h"
#include "inspect/leaves.h"
#include "inspect/value.h"
#include "metadata_builder.h"

enum { STRUCT = 0x00040000, ENUM = 0x00060000, NULLABLE = 0x00050000 };
enum { STATIC_LITERAL = 0x8056, PUBLIC = 6 };

static const struct fake_options processes[] = {
    {0}, {.word = 4}, {.big_endian = true}, {.word = 4, .big_endian = true}, {.release = 10},
};
enum { PROCESSES = sizeof processes / sizeof processes[0] };

struct field {
    const char *name;
    uint8_t element; /* in the FieldDesc */
    uint32_t offset;
    uint8_t of; /* row of the TypeDef in its signature; 0: the element itself */
};
struct definition {
    const char *space, *name;
    uint32_t kind; /* flags of the category; 0: a class */
    uint32_t size; /* bytes of the fields */
    uint8_t norm;
    struct field fields[12];
};

/* Rows of TypeDef, from 2. */
enum {
    DECIMAL = 2,
    DATE_TIME,
    OFFSET,
    DATE,
    TIME,
    SPAN,
    GUID,
    INT128,
    UINT128,
    HALF,
    INDEX,
    RANGE,
    RUNE,
    COLOR,
    FLAGS,
    TINY,
    PAIR,
    HOLDER,
    END
};
static const struct definition definitions[] = {
    [DECIMAL] = {"System",
                 "Decimal",
                 STRUCT,
                 16,
                 CLR_ELEMENT_VALUETYPE,
                 {{"_flags", CLR_ELEMENT_I4, 0, 0},
                  {"_hi32", CLR_ELEMENT_U4, 4, 0},
                  {"_lo64", CLR_ELEMENT_U8, 8, 0}}},
    [DATE_TIME] =
        {"System", "DateTime", STRUCT, 8, CLR_ELEMENT_U8, {{"_dateData", CLR_ELEMENT_U8, 0, 0}}},
    [OFFSET] = {"System",
                "DateTimeOffset",
                STRUCT,
                16,
                CLR_ELEMENT_VALUETYPE,
                {{"_dateTime", CLR_ELEMENT_VALUETYPE, 0, DATE_TIME},
                 {"_offsetMinutes", CLR_ELEMENT_I2, 8, 0}}},
    [DATE] =
        {"System", "DateOnly", STRUCT, 4, CLR_ELEMENT_I4, {{"_dayNumber", CLR_ELEMENT_I4, 0, 0}}},
    [TIME] = {"System", "TimeOnly", STRUCT, 8, CLR_ELEMENT_I8, {{"_ticks", CLR_ELEMENT_I8, 0, 0}}},
    [SPAN] = {"System", "TimeSpan", STRUCT, 8, CLR_ELEMENT_I8, {{"_ticks", CLR_ELEMENT_I8, 0, 0}}},
    [GUID] = {"System",
              "Guid",
              STRUCT,
              16,
              CLR_ELEMENT_VALUETYPE,
              {{"_a", CLR_ELEMENT_I4, 0, 0},
               {"_b", CLR_ELEMENT_I2, 4, 0},
               {"_c", CLR_ELEMENT_I2, 6, 0},
               {"_d", CLR_ELEMENT_U1, 8, 0}}},
    [INT128] = {"System",
                "Int128",
                STRUCT,
                16,
                CLR_ELEMENT_VALUETYPE,
                {{"_lower", CLR_ELEMENT_U8, 0, 0}, {"_upper", CLR_ELEMENT_U8, 8, 0}}},
    [UINT128] = {"System",
                 "UInt128",
                 STRUCT,
                 16,
                 CLR_ELEMENT_VALUETYPE,
                 {{"_lower", CLR_ELEMENT_U8, 0, 0}, {"_upper", CLR_ELEMENT_U8, 8, 0}}},
    [HALF] = {"System", "Half", STRUCT, 2, CLR_ELEMENT_U2, {{"_value", CLR_ELEMENT_U2, 0, 0}}},
    [INDEX] = {"System", "Index", STRUCT, 4, CLR_ELEMENT_I4, {{"_value", CLR_ELEMENT_I4, 0, 0}}},
    [RANGE] = {"System",
               "Range",
               STRUCT,
               8,
               CLR_ELEMENT_VALUETYPE,
               {{"<Start>k__BackingField", CLR_ELEMENT_VALUETYPE, 0, INDEX},
                {"<End>k__BackingField", CLR_ELEMENT_VALUETYPE, 4, INDEX}}},
    [RUNE] = {"System.Text", "Rune", STRUCT, 4, CLR_ELEMENT_U4, {{"_value", CLR_ELEMENT_U4, 0, 0}}},
    [COLOR] = {"Zoo", "Color", ENUM, 1, CLR_ELEMENT_I1, {{"value__", CLR_ELEMENT_I1, 0, 0}}},
    [FLAGS] = {"Zoo", "Flags", ENUM, 8, CLR_ELEMENT_U8, {{"value__", CLR_ELEMENT_U8, 0, 0}}},
    [TINY] = {"Zoo",
              "Tiny",
              STRUCT,
              2,
              CLR_ELEMENT_VALUETYPE,
              {{"A", CLR_ELEMENT_U1, 0, 0}, {"B", CLR_ELEMENT_I1, 1, COLOR}}},
    [PAIR] = {"Zoo",
              "Pair",
              STRUCT,
              12,
              CLR_ELEMENT_VALUETYPE,
              {{"Date", CLR_ELEMENT_VALUETYPE, 0, DATE_TIME},
               {"Inner", CLR_ELEMENT_VALUETYPE, 8, TINY}}},
    [HOLDER] = {"Zoo",
                "Holder",
                0,
                40,
                CLR_ELEMENT_CLASS,
                {{"Text", CLR_ELEMENT_CLASS, 0, 0},
                 {"Other", CLR_ELEMENT_CLASS, 8, 0},
                 {"Pair", CLR_ELEMENT_VALUETYPE, 16, PAIR},
                 {"Number", CLR_ELEMENT_I4, 28, 0},
                 {"Flag", CLR_ELEMENT_BOOLEAN, 32, 0}}},
};
static const struct {
    const char *name;
    int64_t value;
} colors[] = {{"Red", 0}, {"Green", 7}, {"Verde", 7}, {"Odd", -1}},
  flags[] = {{"None", 0}, {"Read", 1}, {"Write", 2}, {"Both", 3}, {"Top", INT64_MIN}};

static struct fake *f;
static struct metadata_builder *m;
static struct clr_dump *dump;
static struct clr_value value;
static uint64_t live, module, types[END], text_object, holder, null_holder;

/* --- The process -------------------------------------------------------------------------------
 */

static uint32_t signature(const struct definition *d, const struct field *field)
{
    if (field->of != 0)
        return METADATA_BLOB(m, 6, CLR_ELEMENT_VALUETYPE, (uint8_t)(field->of << 2));
    if (d == &definitions[HOLDER] && strcmp(field->name, "Text") == 0)
        return METADATA_BLOB(m, 6, CLR_ELEMENT_STRING);
    if (field->element == CLR_ELEMENT_CLASS)
        return METADATA_BLOB(m, 6, CLR_ELEMENT_OBJECT);
    return METADATA_BLOB(m, 6, field->element);
}

static void add_constant(const char *name, uint32_t type, int64_t number, uint8_t element,
                         unsigned bytes)
{
    uint32_t own = METADATA_BLOB(m, 6, CLR_ELEMENT_VALUETYPE, (uint8_t)(type << 2)), parent;
    uint32_t rid = METADATA_ROW(m, CLR_FIELDDEF, STATIC_LITERAL, metadata_string(m, name), own);
    uint8_t little[8];
    for (unsigned i = 0; i < bytes; i++)
        little[i] = (uint8_t)((uint64_t)number >> (8 * i));
    ck_assert(clr_metadata_reference(CLR_CONSTANT, 1, CLR_FIELDDEF, rid, &parent));
    METADATA_ROW(m, CLR_CONSTANT, element, parent, metadata_blob(m, little, bytes));
}

static size_t field_count(const struct definition *d)
{
    size_t count = 0;
    while (count < sizeof d->fields / sizeof d->fields[0] && d->fields[count].name)
        count++;
    return count;
}

static uint32_t first_row[END]; /* of Field */

static void build_metadata(void)
{
    m = metadata_builder_create();
    uint32_t next = 1;
    METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, "<Module>"), 0, 0, 1, 1);
    for (unsigned i = 2; i < END; i++) {
        const struct definition *d = &definitions[i];
        first_row[i] = next;
        METADATA_ROW(m, CLR_TYPEDEF, 0x100, metadata_string(m, d->name),
                     metadata_string(m, d->space), 0, next, 1);
        next += (uint32_t)field_count(d);
        next += i == COLOR ? (uint32_t)(sizeof colors / sizeof colors[0]) : 0;
        next += i == FLAGS ? (uint32_t)(sizeof flags / sizeof flags[0]) : 0;
    }
    for (unsigned i = 2; i < END; i++) {
        const struct definition *d = &definitions[i];
        for (size_t k = 0; k < field_count(d); k++)
            METADATA_ROW(m, CLR_FIELDDEF, PUBLIC, metadata_string(m, d->fields[k].name),
                         signature(d, &d->fields[k]));
        for (size_t k = 0; i == COLOR && k < sizeof colors / sizeof colors[0]; k++)
            add_constant(colors[k].name, i, colors[k].value, CLR_ELEMENT_I1, 1);
        for (size_t k = 0; i == FLAGS && k < sizeof flags / sizeof flags[0]; k++)
            add_constant(flags[k].name, i, flags[k].value, CLR_ELEMENT_U8, 8);
    }
    /* [Flags] on FLAGS: a MemberRef of a TypeRef. */
    uint32_t type, parent, method;
    uint32_t reference = METADATA_ROW(m, CLR_TYPEREF, 0, metadata_string(m, "FlagsAttribute"),
                                      metadata_string(m, "System"));
    ck_assert(clr_metadata_reference(CLR_MEMBERREF, 0, CLR_TYPEREF, reference, &parent));
    uint32_t member = METADATA_ROW(m, CLR_MEMBERREF, parent, metadata_string(m, ".ctor"),
                                   METADATA_BLOB(m, 0x20, 0, 1));
    ck_assert(clr_metadata_reference(CLR_CUSTOMATTRIBUTE, 0, CLR_TYPEDEF, FLAGS, &type));
    ck_assert(clr_metadata_reference(CLR_CUSTOMATTRIBUTE, 1, CLR_MEMBERREF, member, &method));
    METADATA_ROW(m, CLR_CUSTOMATTRIBUTE, type, method, METADATA_BLOB(m, 1, 0, 0, 0));
}

static uint64_t class_of(uint64_t type)
{
    return fake_get(f, type, "MethodTable", "EEClassOrCanonMT");
}

/* The EEClass counts what lies around the fields of an instance. */
static void build_type(unsigned i)
{
    const struct definition *d = &definitions[i];
    uint32_t count = (uint32_t)field_count(d);
    uint32_t base = 2u * f->word + (d->size + f->word - 1) / f->word * f->word;
    types[i] = fake_type(f, &(struct fake_type){.module = module,
                                                .rid = i,
                                                .flags = d->kind,
                                                .base_size = base,
                                                .norm_type = d->norm,
                                                .parent = d->kind == ENUM ? f->known.enumeration
                                                          : d->kind       ? f->known.value_type
                                                                          : 0,
                                                .instance_fields = (uint16_t)count});
    uint64_t list = fake_memory(f, count * fake_size(f, "FieldDesc"));
    fake_set(f, class_of(types[i]), "EEClass", "FieldDescList", list);
    fake_set(f, class_of(types[i]), "EEClass", "BaseSizePadding", base - d->size);
    for (uint32_t k = 0; k < count; k++) {
        uint64_t at = list + k * fake_size(f, "FieldDesc");
        fake_set(f, at, "FieldDesc", "MTOfEnclosingClass", types[i]);
        fake_set(f, at, "FieldDesc", "DWord1", first_row[i] + k);
        fake_set(f, at, "FieldDesc", "DWord2",
                 d->fields[k].offset | (uint32_t)d->fields[k].element << 27);
    }
}

static void create(const struct fake_options *options)
{
    size_t size;
    live = clr_alloc_live();
    f = fake_create(options);
    build_metadata();
    const uint8_t *blob = metadata_build(m, &size);
    module = fake_module(
        f, &(struct fake_module){
               .simple_name = "Zoo", .metadata = blob, .metadata_size = size, .is_dynamic = true});
    fake_set(f, f->known.object, "MethodTable", "Module", module);
    for (unsigned i = 2; i < END; i++)
        build_type(i);
    unsigned gen0 = fake_segment(f, 0, 0);
    text_object = fake_string(f, gen0, "hello");
    holder = fake_object(f, gen0, types[HOLDER], 0);
    null_holder = fake_object(f, gen0, types[HOLDER], 0);
}

static void open_dump(void)
{
    struct clr_options options = {0};
    struct clr_error error = {0};
    ck_assert_msg(clr_dump_open(fake_path(f), &options, NULL, &dump, &error) == CLR_OK, "%s",
                  error.text);
    ck_assert_msg(clr_dump_need(dump, CLR_PART_GC | CLR_PART_INDEX, NULL, &error) == CLR_OK, "%s",
                  error.text);
}

static void destroy(void)
{
    clr_value_deinit(&value);
    clr_dump_close(dump);
    metadata_builder_destroy(m);
    fake_destroy(f);
    ck_assert_uint_eq(clr_alloc_live(), live);
}

/* --- Reading -----------------------------------------------------------------------------------
 */

static const struct clr_value *read_at(uint64_t address, uint8_t element, uint64_t type)
{
    struct clr_place place = {.address = address, .element = element, .type = type};
    struct clr_error error = {0};
    ck_assert_msg(clr_value_read(dump, &place, &value, &error) == CLR_OK, "%s", error.text);
    return &value;
}

#define IS_INTEGER(address, element, type, number)                                                 \
    do {                                                                                           \
        read_at(address, element, type);                                                           \
        ck_assert_int_eq(value.kind, CLR_VALUE_INTEGER);                                           \
        ck_assert_int_eq(value.integer, number);                                                   \
    } while (0)
#define IS_TEXT(address, element, type, expected)                                                  \
    do {                                                                                           \
        read_at(address, element, type);                                                           \
        ck_assert_msg(value.kind == CLR_VALUE_TEXT, "%s: %s", expected,                            \
                      value.lost ? value.lost : "no text");                                        \
        ck_assert_str_eq(value.text.data, expected);                                               \
    } while (0)
#define IS_LOST(address, element, type, why)                                                       \
    do {                                                                                           \
        read_at(address, element, type);                                                           \
        ck_assert_int_eq(value.kind, CLR_VALUE_NONE);                                              \
        ck_assert_ptr_nonnull(value.lost);                                                         \
        ck_assert_ptr_nonnull(strstr(value.lost, why));                                            \
    } while (0)

START_TEST(primitives)
{
    create(&processes[_i]);
    uint64_t at = fake_memory(f, 256);
    double nan_value = (double)NAN, minus = -HUGE_VAL, zero = -0.0;
    float single = 1.5f;
    uint64_t bits;
    uint32_t half_bits;
    fake_put_u8(f, at, 0x80);
    fake_put_u16(f, at + 2, 0x8001);
    fake_put_u32(f, at + 4, 0x80000001);
    fake_put_u64(f, at + 8, 0x8000000000000001);
    memcpy(&bits, &nan_value, 8);
    fake_put_u64(f, at + 16, bits);
    memcpy(&bits, &minus, 8);
    fake_put_u64(f, at + 24, bits);
    memcpy(&bits, &zero, 8);
    fake_put_u64(f, at + 32, bits);
    memcpy(&half_bits, &single, 4);
    fake_put_u32(f, at + 40, half_bits);
    fake_put_word(f, at + 48, UINT64_MAX - 1);
    fake_put_u16(f, at + 56, 'Z');
    fake_put_u16(f, at + 58, 0xd800);
    fake_put_u16(f, at + 60, 0x65e5);
    fake_put_u8(f, at + 62, 1);
    open_dump();
    IS_INTEGER(at, CLR_ELEMENT_I1, 0, -128);
    IS_INTEGER(at, CLR_ELEMENT_U1, 0, 128);
    IS_INTEGER(at, CLR_ELEMENT_BOOLEAN, 0, 1);
    IS_INTEGER(at + 62, CLR_ELEMENT_BOOLEAN, 0, 1);
    IS_INTEGER(at + 63, CLR_ELEMENT_BOOLEAN, 0, 0);
    IS_INTEGER(at + 2, CLR_ELEMENT_I2, 0, -32767);
    IS_INTEGER(at + 2, CLR_ELEMENT_U2, 0, 32769);
    IS_INTEGER(at + 4, CLR_ELEMENT_I4, 0, -2147483647);
    IS_INTEGER(at + 4, CLR_ELEMENT_U4, 0, 2147483649);
    IS_INTEGER(at + 8, CLR_ELEMENT_I8, 0, INT64_MIN + 1);
    IS_TEXT(at + 8, CLR_ELEMENT_U8, 0, "9223372036854775809");
    IS_TEXT(at + 16, CLR_ELEMENT_R8, 0, "NaN");
    IS_TEXT(at + 24, CLR_ELEMENT_R8, 0, "-Infinity");
    read_at(at + 32, CLR_ELEMENT_R8, 0);
    ck_assert_int_eq(value.kind, CLR_VALUE_REAL);
    ck_assert(value.real == 0 && signbit(value.real));
    read_at(at + 40, CLR_ELEMENT_R4, 0);
    ck_assert(value.kind == CLR_VALUE_REAL && value.real == 1.5);
    IS_INTEGER(at + 48, CLR_ELEMENT_I, 0, -2);
    if (f->word == 8) {
        IS_TEXT(at + 48, CLR_ELEMENT_U, 0, "18446744073709551614");
        IS_TEXT(at + 48, CLR_ELEMENT_PTR, 0, "18446744073709551614");
    } else {
        IS_INTEGER(at + 48, CLR_ELEMENT_U, 0, 4294967294);
        IS_INTEGER(at + 48, CLR_ELEMENT_FNPTR, 0, 4294967294);
    }
    IS_TEXT(at + 56, CLR_ELEMENT_CHAR, 0, "Z");
    IS_TEXT(at + 58, CLR_ELEMENT_CHAR, 0, "\xef\xbf\xbd");
    IS_TEXT(at + 60, CLR_ELEMENT_CHAR, 0, "\xe6\x97\xa5");
    read_at(at + 63, CLR_ELEMENT_VALUETYPE, 0); /* of no known type */
    ck_assert_int_eq(value.kind, CLR_VALUE_STRUCT);
    IS_LOST(0x10, CLR_ELEMENT_I4, 0, "not saved");
    destroy();
}
END_TEST

static void put_decimal(uint64_t at, uint32_t bits, uint32_t high, uint64_t low)
{
    fake_put_u32(f, at, bits);
    fake_put_u32(f, at + 4, high);
    fake_put_u64(f, at + 8, low);
}

START_TEST(decimals)
{
    static const struct {
        uint32_t flags, high;
        uint64_t low;
        const char *text;
    } cases[] = {
        {0, 0, 0, "0"},
        {2u << 16, 0, 0, "0.00"},
        {2u << 16, 0, 150, "1.50"},
        {1u << 31 | 3u << 16, 0, 12345678, "-12345.678"},
        {28u << 16, 0, 1, "0.0000000000000000000000000001"},
        {0, UINT32_MAX, UINT64_MAX, "79228162514264337593543950335"},
        {1u << 31, UINT32_MAX, UINT64_MAX, "-79228162514264337593543950335"},
        {0, 1, 0, "18446744073709551616"},
        {29u << 16, 0, 1, NULL},
        {1, 0, 1, NULL},
    };
    create(&processes[_i]);
    uint64_t at[sizeof cases / sizeof cases[0]];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        at[i] = fake_memory(f, 16);
        put_decimal(at[i], cases[i].flags, cases[i].high, cases[i].low);
    }
    open_dump();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (cases[i].text)
            IS_TEXT(at[i], CLR_ELEMENT_VALUETYPE, types[DECIMAL], cases[i].text);
        else
            IS_LOST(at[i], CLR_ELEMENT_VALUETYPE, types[DECIMAL], "no value of its type");
    destroy();
}
END_TEST

/* Ticks of 100 ns since 0001-01-01: those of the Unix epoch, of 2024-02-29, of the last moment. */
#define EPOCH UINT64_C(621355968000000000)
#define LEAP UINT64_C(638448054960000000) /* 2024-02-29T12:11:36 */
#define LAST UINT64_C(3155378975999999999)
#define UTC (UINT64_C(1) << 62)
#define LOCAL (UINT64_C(2) << 62)

START_TEST(times)
{
    static const struct {
        unsigned type;
        uint64_t bits;
        const char *text;
    } cases[] = {
        {DATE_TIME, 0, "0001-01-01T00:00:00.0000000"},
        {DATE_TIME, EPOCH | UTC, "1970-01-01T00:00:00.0000000Z"},
        {DATE_TIME, LEAP, "2024-02-29T12:11:36.0000000"},
        {DATE_TIME, LEAP | LOCAL, "2024-02-29T12:11:36.0000000"},
        {DATE_TIME, LAST, "9999-12-31T23:59:59.9999999"},
        {DATE_TIME, LAST + 1, NULL},
        {DATE_TIME, UTC - 1, NULL},
        {TIME, 0, "00:00:00.0000000"},
        {TIME, 863999999999, "23:59:59.9999999"},
        {TIME, 864000000000, NULL},
        {SPAN, 0, "00:00:00"},
        {SPAN, 1, "00:00:00.0000001"},
        {SPAN, (uint64_t)-15000000, "-00:00:01.5000000"},
        {SPAN, 1296000000000, "1.12:00:00"},
        {SPAN, INT64_MAX, "10675199.02:48:05.4775807"},
        {SPAN, (uint64_t)INT64_MIN, "-10675199.02:48:05.4775808"},
    };
    enum { CASES = sizeof cases / sizeof cases[0] };
    uint64_t at[CASES];
    create(&processes[_i]);
    for (size_t i = 0; i < CASES; i++) {
        at[i] = fake_memory(f, 8);
        fake_put_u64(f, at[i], cases[i].bits);
    }
    uint64_t east = fake_memory(f, 16), west = fake_memory(f, 16), bad = fake_memory(f, 16);
    fake_put_u64(f, east, EPOCH);
    fake_put_u16(f, east + 8, 330);
    fake_put_u64(f, west, EPOCH);
    fake_put_u16(f, west + 8, (uint16_t)-480);
    fake_put_u64(f, bad, EPOCH);
    fake_put_u16(f, bad + 8, 900);
    uint64_t day = fake_memory(f, 4), last = fake_memory(f, 4), late = fake_memory(f, 4);
    fake_put_u32(f, day, 738944);
    fake_put_u32(f, last, 3652058);
    fake_put_u32(f, late, 3652059);
    open_dump();
    for (size_t i = 0; i < CASES; i++)
        if (cases[i].text)
            IS_TEXT(at[i], CLR_ELEMENT_VALUETYPE, types[cases[i].type], cases[i].text);
        else
            IS_LOST(at[i], CLR_ELEMENT_VALUETYPE, types[cases[i].type], "no value of its type");
    IS_TEXT(east, CLR_ELEMENT_VALUETYPE, types[OFFSET], "1970-01-01T05:30:00.0000000+05:30");
    IS_TEXT(west, CLR_ELEMENT_VALUETYPE, types[OFFSET], "1969-12-31T16:00:00.0000000-08:00");
    IS_LOST(bad, CLR_ELEMENT_VALUETYPE, types[OFFSET], "no value of its type");
    IS_TEXT(day, CLR_ELEMENT_VALUETYPE, types[DATE], "2024-02-29");
    IS_TEXT(last, CLR_ELEMENT_VALUETYPE, types[DATE], "9999-12-31");
    IS_LOST(late, CLR_ELEMENT_VALUETYPE, types[DATE], "no value of its type");
    destroy();
}
END_TEST

START_TEST(numbers)
{
    create(&processes[_i]);
    uint64_t guid = fake_memory(f, 16), big = fake_memory(f, 16), least = fake_memory(f, 16),
             small = fake_memory(f, 16), half = fake_memory(f, 16), range = fake_memory(f, 8),
             rune = fake_memory(f, 8);
    static const uint8_t tail[] = {0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    fake_put_u32(f, guid, 0x00112233);
    fake_put_u16(f, guid + 4, 0x4455);
    fake_put_u16(f, guid + 6, 0x6677);
    fake_put(f, guid + 8, tail, sizeof tail);
    fake_put_u64(f, big, UINT64_MAX);
    fake_put_u64(f, big + 8, UINT64_MAX);
    fake_put_u64(f, least + 8, (uint64_t)INT64_MIN);
    fake_put_u64(f, small, (uint64_t)-5);
    fake_put_u64(f, small + 8, UINT64_MAX);
    static const uint16_t halves[] = {0xbe00, 0x0001, 0x7bff, 0x7c00, 0xfc00, 0x7e00, 0x8000};
    for (size_t i = 0; i < sizeof halves / sizeof halves[0]; i++)
        fake_put_u16(f, half + 2 * i, halves[i]);
    fake_put_u32(f, range, 1);
    fake_put_u32(f, range + 4, (uint32_t)~1);
    fake_put_u32(f, rune, 0x1f600);
    fake_put_u32(f, rune + 4, 0x110000);
    open_dump();
    IS_TEXT(guid, CLR_ELEMENT_VALUETYPE, types[GUID], "00112233-4455-6677-8899-aabbccddeeff");
    IS_TEXT(big, CLR_ELEMENT_VALUETYPE, types[UINT128], "340282366920938463463374607431768211455");
    IS_INTEGER(big, CLR_ELEMENT_VALUETYPE, types[INT128], -1);
    IS_TEXT(least, CLR_ELEMENT_VALUETYPE, types[INT128],
            "-170141183460469231731687303715884105728");
    IS_INTEGER(small, CLR_ELEMENT_VALUETYPE, types[INT128], -5);
    static const double reals[] = {-1.5, 5.9604644775390625e-8, 65504};
    for (size_t i = 0; i < 3; i++) {
        read_at(half + 2 * i, CLR_ELEMENT_VALUETYPE, types[HALF]);
        ck_assert(value.kind == CLR_VALUE_REAL && value.real == reals[i]);
    }
    IS_TEXT(half + 6, CLR_ELEMENT_VALUETYPE, types[HALF], "Infinity");
    IS_TEXT(half + 8, CLR_ELEMENT_VALUETYPE, types[HALF], "-Infinity");
    IS_TEXT(half + 10, CLR_ELEMENT_VALUETYPE, types[HALF], "NaN");
    read_at(half + 12, CLR_ELEMENT_VALUETYPE, types[HALF]);
    ck_assert(value.kind == CLR_VALUE_REAL && signbit(value.real));
    IS_TEXT(range, CLR_ELEMENT_VALUETYPE, types[INDEX], "1");
    IS_TEXT(range + 4, CLR_ELEMENT_VALUETYPE, types[INDEX], "^1");
    IS_TEXT(range, CLR_ELEMENT_VALUETYPE, types[RANGE], "1..^1");
    IS_TEXT(rune, CLR_ELEMENT_VALUETYPE, types[RUNE], "\xf0\x9f\x98\x80");
    IS_LOST(rune + 4, CLR_ELEMENT_VALUETYPE, types[RUNE], "no value of its type");
    IS_LOST(0x10, CLR_ELEMENT_VALUETYPE, types[GUID], "not saved");
    destroy();
}
END_TEST

START_TEST(enums)
{
    create(&processes[_i]);
    uint64_t color = fake_memory(f, 8), flag = fake_memory(f, 64);
    static const uint8_t bytes[] = {0, 7, 0xff, 8};
    fake_put(f, color, bytes, sizeof bytes);
    static const uint64_t bits[] = {
        0, 1, 3, 1u | UINT64_C(1) << 63, UINT64_C(1) << 63, 4, UINT64_C(3) << 62};
    for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++)
        fake_put_u64(f, flag + 8 * i, bits[i]);
    open_dump();
    IS_TEXT(color, CLR_ELEMENT_I1, types[COLOR], "Red");
    IS_TEXT(color + 1, CLR_ELEMENT_I1, types[COLOR], "Green"); /* declared before Verde */
    IS_TEXT(color + 2, CLR_ELEMENT_I1, types[COLOR], "Odd");
    IS_INTEGER(color + 3, CLR_ELEMENT_I1, types[COLOR], 8); /* no flags: no combinations */
    IS_TEXT(flag, CLR_ELEMENT_U8, types[FLAGS], "None");
    IS_TEXT(flag + 8, CLR_ELEMENT_U8, types[FLAGS], "Read");
    IS_TEXT(flag + 16, CLR_ELEMENT_U8, types[FLAGS], "Both");
    IS_TEXT(flag + 24, CLR_ELEMENT_U8, types[FLAGS], "Read, Top");
    IS_TEXT(flag + 32, CLR_ELEMENT_U8, types[FLAGS], "Top");
    IS_INTEGER(flag + 40, CLR_ELEMENT_U8, types[FLAGS], 4);
    IS_TEXT(flag + 48, CLR_ELEMENT_U8, types[FLAGS], "13835058055282163712"); /* bit 62 has none */
    destroy();
}
END_TEST

START_TEST(references)
{
    create(&processes[_i]);
    uint64_t slots = fake_memory(f, 64);
    fake_put_word(f, slots, text_object);
    fake_put_word(f, slots + 16, text_object + f->word); /* inside one */
    fake_put_word(f, slots + 24, holder);
    open_dump();
    IS_TEXT(slots, CLR_ELEMENT_STRING, 0, "hello");
    ck_assert(value.is_reference && value.target == text_object);
    read_at(slots, CLR_ELEMENT_CLASS, 0); /* a field of objects: its text is no value */
    ck_assert(value.kind == CLR_VALUE_NONE && !value.lost && value.target == text_object);
    IS_TEXT(slots, CLR_ELEMENT_CLASS, f->known.canon,
            "hello"); /* of a shared type: may be strings */
    read_at(slots + 8, CLR_ELEMENT_STRING, 0);
    ck_assert(value.kind == CLR_VALUE_NONE && value.is_reference && value.target == 0);
    ck_assert_ptr_null(value.lost);
    IS_LOST(slots + 16, CLR_ELEMENT_STRING, 0, "no string");
    IS_LOST(slots + 24, CLR_ELEMENT_STRING, 0, "no string");
    ck_assert_uint_eq(value.target, holder);
    IS_LOST(0x10, CLR_ELEMENT_SZARRAY, 0, "not saved");
    ck_assert(!value.is_reference);
    destroy();
}
END_TEST

/* The fields of an object, as 'path=value;' in one text. */
static enum clr_status list_fields(uint64_t object, struct clr_text *text, struct clr_error *error)
{
    struct clr_leaf_walk walk;
    struct clr_leaf leaf;
    struct clr_layout *layout;
    bool found;
    CLR_TRY(clr_object_layout(dump, object, &layout, error));
    ck_assert_ptr_nonnull(layout);
    clr_leaf_walk_start(&walk, dump, object, layout);
    enum clr_status status;
    while ((status = clr_leaf_walk_next(&walk, &leaf, &found, error)) == CLR_OK && found) {
        status = clr_value_read(dump, &leaf.place, &value, error);
        if (status != CLR_OK)
            break;
        clr_text_format(text, "%s %s=", leaf.type_name, leaf.path);
        if (value.kind == CLR_VALUE_INTEGER)
            clr_text_format(text, "%lld", (long long)value.integer);
        else if (value.kind == CLR_VALUE_TEXT)
            clr_text_put(text, value.text.data);
        else
            clr_text_put(text, "-");
        clr_text_char(text, ';');
    }
    clr_leaf_walk_finish(&walk);
    return status == CLR_OK && text->failed ? CLR_NOMEM : status;
}

static void fill_holder(void)
{
    uint64_t base = holder + f->word;
    fake_put_word(f, base, text_object);
    fake_put_word(f, base + 8, null_holder);
    fake_put_u64(f, base + 16, EPOCH | UTC);
    fake_put_u8(f, base + 24, 200);
    fake_put_u8(f, base + 25, 7);
    fake_put_u32(f, base + 28, (uint32_t)-9);
    fake_put_u8(f, base + 32, 1);
}
static const char filled[] =
    "System.String Text=hello;System.Object Other=-;"
    "System.DateTime Pair.Date=1970-01-01T00:00:00.0000000Z;System.Byte Pair.Inner.A=200;"
    "Zoo.Color Pair.Inner.B=Green;System.Int32 Number=-9;System.Boolean Flag=1;";

START_TEST(objects)
{
    struct clr_text text = {0};
    struct clr_error error = {0};
    create(&processes[_i]);
    fill_holder();
    open_dump();
    ck_assert_msg(list_fields(holder, &text, &error) == CLR_OK, "%s", error.text);
    ck_assert_str_eq(text.data, filled);
    clr_text_clear(&text);
    ck_assert_int_eq(list_fields(null_holder, &text, &error), CLR_OK);
    ck_assert_str_eq(text.data,
                     "System.String Text=-;System.Object Other=-;"
                     "System.DateTime Pair.Date=0001-01-01T00:00:00.0000000;"
                     "System.Byte Pair.Inner.A=0;Zoo.Color Pair.Inner.B=Red;System.Int32 Number=0;"
                     "System.Boolean Flag=0;");
    ck_assert_uint_eq(clr_problems_count(dump->problems), 0);
    clr_text_deinit(&text);
    destroy();
}
END_TEST

/* A struct whose fields are of its own type, many times over: the walk ends, and says so. */
START_TEST(endless)
{
    struct clr_text text = {0};
    struct clr_error error = {0};
    create(&processes[_i]);
    /* Pair.Inner's type becomes Pair itself by its signature; and all offsets are 0. */
    uint64_t list = fake_get(f, class_of(types[PAIR]), "EEClass", "FieldDescList");
    for (unsigned k = 0; k < 2; k++) {
        uint64_t at = list + k * fake_size(f, "FieldDesc");
        fake_set(f, at, "FieldDesc", "DWord1", first_row[HOLDER] + 2); /* VALUETYPE Pair */
        fake_set(f, at, "FieldDesc", "DWord2", (uint32_t)CLR_ELEMENT_VALUETYPE << 27);
    }
    open_dump();
    ck_assert_int_eq(list_fields(holder, &text, &error), CLR_OK);
    bool told = false;
    for (size_t i = 0; i < clr_problems_count(dump->problems); i++)
        told |= strcmp(clr_problems_at(dump->problems, i)->area, "field_values") == 0;
    ck_assert(told);
    clr_text_deinit(&text);
    destroy();
}
END_TEST

/* What is damaged in a type costs its own fields only. */
START_TEST(damaged)
{
    struct clr_text text = {0};
    struct clr_error error = {0};
    create(&processes[_i]);
    fill_holder();
    uint64_t list = fake_get(f, class_of(types[HOLDER]), "EEClass", "FieldDescList");
    uint64_t number = list + 3 * fake_size(f, "FieldDesc");
    fake_set(f, number, "FieldDesc", "DWord2", 4000u | (uint32_t)CLR_ELEMENT_I4 << 27);
    open_dump();
    ck_assert_int_eq(list_fields(holder, &text, &error), CLR_OK);
    ck_assert_ptr_null(strstr(text.data, "Number"));
    ck_assert_ptr_nonnull(strstr(text.data, "Flag=1"));
    ck_assert_uint_eq(clr_problems_count(dump->problems), 1);
    clr_text_deinit(&text);
    destroy();
}
END_TEST

START_TEST(no_memory)
{
    enum { MOST = 2000 };
    create(&processes[0]);
    fill_holder();
    uint64_t failed = 0;
    for (uint64_t n = 1;; n++) {
        struct clr_text text = {0};
        struct clr_error error = {0};
        ck_assert_uint_lt(n, MOST);
        open_dump();
        clr_alloc_fail_at(n);
        enum clr_status status = list_fields(holder, &text, &error);
        clr_alloc_fail_at(0);
        ck_assert(status == CLR_OK || status == CLR_NOMEM);
        failed += status == CLR_NOMEM;
        bool whole = status == CLR_OK && strcmp(text.data, filled) == 0;
        if (status == CLR_NOMEM) { /* and afterwards all is there */
            clr_text_clear(&text);
            text.failed = false;
            ck_assert_int_eq(list_fields(holder, &text, &error), CLR_OK);
            ck_assert_str_eq(text.data, filled);
        }
        clr_text_deinit(&text);
        clr_value_deinit(&value);
        clr_dump_close(dump);
        dump = NULL;
        if (whole)
            break;
    }
    ck_assert_uint_gt(failed, 10);
    destroy();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("values");
    TCase *cases = tcase_create("values");
    tcase_set_timeout(cases, 60);
    tcase_add_loop_test(cases, primitives, 0, PROCESSES);
    tcase_add_loop_test(cases, decimals, 0, PROCESSES);
    tcase_add_loop_test(cases, times, 0, PROCESSES);
    tcase_add_loop_test(cases, numbers, 0, PROCESSES);
    tcase_add_loop_test(cases, enums, 0, PROCESSES);
    tcase_add_loop_test(cases, references, 0, PROCESSES);
    tcase_add_loop_test(cases, objects, 0, PROCESSES);
    tcase_add_loop_test(cases, endless, 0, PROCESSES);
    tcase_add_loop_test(cases, damaged, 0, PROCESSES);
    tcase_add_test(cases, no_memory);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
