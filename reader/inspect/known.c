/*
 * Structs of the runtime's library whose fields mean one thing together: a date, a decimal. Where a
 * field is missing (another layout), the struct is shown by its fields like any other.
 *
 *   struct          fields                          meaning
 *   Decimal         _flags, _hi32, _lo64            sign 31, scale 16-23; 96 bits
 *   DateTime        _dateData                       ticks of 100 ns since 0001-01-01 in 62 bits;
 *                                                   kind above: 0 unspecified, 1 UTC, 2, 3 local
 *   DateTimeOffset  _dateTime, _offsetMinutes       UTC; minutes to add
 *   DateOnly        _dayNumber                      days since 0001-01-01
 *   TimeOnly        _ticks                          since midnight
 *   TimeSpan        _ticks
 *   Guid            _a, _b, _c, _d …                u32, u16, u16, then eight bytes
 *   Int128, UInt128 _lower, _upper
 *   Half            _value                          IEEE 754 binary16
 *   Index           _value                          negative: ~ of the distance from the end
 *   Range           Start, End                      (fields of properties)
 *   Rune            _value                          a Unicode scalar
 *   Nullable<T>     hasValue, value
 *
 * Known from the public documentation and reference source of these types.
 */
#include "inspect/known.h"

#include <math.h>
#include <string.h>

/* The number of COUNT limbs of 32 bits, lowest first, in decimal with POINT digits after the point.
 */
static void write_limbs(struct clr_text *text, const uint32_t *number, unsigned count,
                        bool negative, unsigned point)
{
    enum { MOST_LIMBS = 4, MOST_DIGITS = 48, TEN = 10 };
    uint32_t limbs[MOST_LIMBS];
    char digits[MOST_DIGITS];
    unsigned used = 0;
    bool zero;
    memcpy(limbs, number, count * sizeof *limbs);
    do {
        uint64_t rest = 0;
        zero = true;
        for (unsigned i = count; i-- > 0;) {
            uint64_t part = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(part / TEN);
            rest = part % TEN;
            zero = zero && limbs[i] == 0;
        }
        digits[used++] = (char)('0' + rest);
    } while (!zero || used <= point);
    if (negative)
        clr_text_char(text, '-');
    while (used-- > 0) {
        clr_text_char(text, digits[used]);
        if (used == point && point > 0)
            clr_text_char(text, '.');
    }
}

/* --- Times -------------------------------------------------------------------------------------
 */

#define TICKS_PER_SECOND 10000000u
#define SECONDS_PER_DAY 86400u
#define TICKS_PER_DAY ((uint64_t)TICKS_PER_SECOND * SECONDS_PER_DAY)
#define MOST_DAYS 3652058u /* 9999-12-31 */

static void write_clock(struct clr_text *text, uint64_t ticks)
{
    uint64_t seconds = ticks / TICKS_PER_SECOND;
    clr_text_format(text, "%02u:%02u:%02u.%07u", (unsigned)(seconds / 3600),
                    (unsigned)(seconds / 60 % 60), (unsigned)(seconds % 60),
                    (unsigned)(ticks % TICKS_PER_SECOND));
}

/* DAYS since 0001-01-01 in the Gregorian calendar; years counted from March of the year 0. */
static void write_day(struct clr_text *text, uint64_t days)
{
    enum { DAYS_BEFORE = 306, ERA_DAYS = 146097, ERA_YEARS = 400 };
    uint64_t shifted = days + DAYS_BEFORE, era = shifted / ERA_DAYS, day = shifted % ERA_DAYS;
    uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    uint64_t of_year = day - (365 * year + year / 4 - year / 100);
    uint64_t month = (5 * of_year + 2) / 153; /* 0 is March */
    unsigned of_month = (unsigned)(of_year - (153 * month + 2) / 5 + 1);
    year += era * ERA_YEARS + (month >= 10);
    clr_text_format(text, "%04u-%02u-%02u", (unsigned)year,
                    (unsigned)(month < 10 ? month + 3 : month - 9), of_month);
}

static bool write_date_time(struct clr_text *text, uint64_t ticks)
{
    if (ticks / TICKS_PER_DAY > MOST_DAYS)
        return false;
    write_day(text, ticks / TICKS_PER_DAY);
    clr_text_char(text, 'T');
    write_clock(text, ticks % TICKS_PER_DAY);
    return true;
}

/* --- Known structs -----------------------------------------------------------------------------
 */

static uint64_t offset_of(const struct clr_reading *r, unsigned field)
{
    return r->layout->known_fields->fields[field].offset;
}

static bool read_field(const struct clr_reading *r, unsigned field, size_t size, uint64_t *number)
{
    return clr_reading_at(r, offset_of(r, field), size, number);
}

enum { TICKS_BITS = 62 };
#define TICKS_MASK (((uint64_t)1 << TICKS_BITS) - 1)

static enum clr_status read_date_time(struct clr_reading *r)
{
    enum { UTC = 1 };
    uint64_t data;
    if (!read_field(r, CLR_ONLY_FIELD, 8, &data))
        return clr_value_unavailable(r, clr_not_saved);
    if (!write_date_time(&r->value->text, data & TICKS_MASK))
        return clr_value_unavailable(r, clr_no_sense);
    if (data >> TICKS_BITS == UTC)
        clr_text_char(&r->value->text, 'Z');
    return clr_give_text(r);
}

static enum clr_status read_date_time_offset(struct clr_reading *r)
{
    enum { MOST_MINUTES = 14 * 60 };
    uint64_t data, raw;
    bool wide = r->layout->known_fields->fields[CLR_DATE_TIME_OFFSET_MINUTES].member->element ==
                CLR_ELEMENT_I4;
    if (!read_field(r, CLR_DATE_TIME_OFFSET_TIME, 8, &data) ||
        !read_field(r, CLR_DATE_TIME_OFFSET_MINUTES, wide ? 4 : 2, &raw))
        return clr_value_unavailable(r, clr_not_saved);
    int64_t minutes = wide ? (int32_t)(uint32_t)raw : (int16_t)(uint16_t)raw;
    int64_t ticks = (int64_t)(data & TICKS_MASK) + minutes * 60 * (int64_t)TICKS_PER_SECOND;
    if (minutes > MOST_MINUTES || minutes < -MOST_MINUTES || ticks < 0 ||
        !write_date_time(&r->value->text, (uint64_t)ticks))
        return clr_value_unavailable(r, clr_no_sense);
    unsigned distance = (unsigned)(minutes < 0 ? -minutes : minutes);
    clr_text_format(&r->value->text, "%c%02u:%02u", minutes < 0 ? '-' : '+', distance / 60,
                    distance % 60);
    return clr_give_text(r);
}

static enum clr_status read_date(struct clr_reading *r)
{
    uint64_t days;
    if (!read_field(r, CLR_ONLY_FIELD, 4, &days))
        return clr_value_unavailable(r, clr_not_saved);
    if (days > MOST_DAYS)
        return clr_value_unavailable(r, clr_no_sense);
    write_day(&r->value->text, days);
    return clr_give_text(r);
}

static enum clr_status read_time(struct clr_reading *r)
{
    uint64_t ticks;
    if (!read_field(r, CLR_ONLY_FIELD, 8, &ticks))
        return clr_value_unavailable(r, clr_not_saved);
    if (ticks >= TICKS_PER_DAY)
        return clr_value_unavailable(r, clr_no_sense);
    write_clock(&r->value->text, ticks);
    return clr_give_text(r);
}

static enum clr_status read_time_span(struct clr_reading *r)
{
    struct clr_text *text = &r->value->text;
    uint64_t raw;
    if (!read_field(r, CLR_ONLY_FIELD, 8, &raw))
        return clr_value_unavailable(r, clr_not_saved);
    bool negative = raw >> 63;
    uint64_t ticks = negative ? 0 - raw : raw;
    if (negative)
        clr_text_char(text, '-');
    if (ticks >= TICKS_PER_DAY)
        clr_text_format(text, "%llu.", (unsigned long long)(ticks / TICKS_PER_DAY));
    write_clock(text, ticks % TICKS_PER_DAY);
    if (ticks % TICKS_PER_SECOND == 0 && !text->failed) {
        text->length -= sizeof ".0000000" - 1;
        text->data[text->length] = 0;
    }
    return clr_give_text(r);
}

static enum clr_status read_decimal(struct clr_reading *r)
{
    enum { SCALE_SHIFT = 16, SCALE_MASK = 0xff, MOST_SCALE = 28 };
    const uint32_t other_bits = 0x7f00ffff;
    uint64_t flags, high, low;
    if (!read_field(r, CLR_DECIMAL_FLAGS, 4, &flags) ||
        !read_field(r, CLR_DECIMAL_HIGH, 4, &high) || !read_field(r, CLR_DECIMAL_LOW, 8, &low))
        return clr_value_unavailable(r, clr_not_saved);
    unsigned scale = (unsigned)(flags >> SCALE_SHIFT) & SCALE_MASK;
    if (scale > MOST_SCALE || (flags & other_bits))
        return clr_value_unavailable(r, clr_no_sense);
    const uint32_t limbs[] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high};
    write_limbs(&r->value->text, limbs, 3, flags >> 31, scale);
    return clr_give_text(r);
}

static enum clr_status read_guid(struct clr_reading *r)
{
    uint64_t a, b, c;
    uint8_t d[8];
    if (!read_field(r, CLR_GUID_A, 4, &a) || !read_field(r, CLR_GUID_B, 2, &b) ||
        !read_field(r, CLR_GUID_C, 2, &c) ||
        !clr_read(r->dump->runtime->process, r->place->address + offset_of(r, CLR_GUID_D), d,
                  sizeof d))
        return clr_value_unavailable(r, clr_not_saved);
    clr_text_format(&r->value->text, "%08x-%04x-%04x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                    (unsigned)a, (unsigned)b, (unsigned)c, d[0], d[1], d[2], d[3], d[4], d[5], d[6],
                    d[7]);
    return clr_give_text(r);
}

static enum clr_status read_128(struct clr_reading *r, bool is_signed)
{
    uint64_t low, high;
    if (!read_field(r, CLR_INT128_LOW, 8, &low) || !read_field(r, CLR_INT128_HIGH, 8, &high))
        return clr_value_unavailable(r, clr_not_saved);
    bool negative = is_signed && high >> 63;
    if ((high == 0 && low <= INT64_MAX) || (negative && high == UINT64_MAX && low >> 63)) {
        clr_give_integer(r->value, (int64_t)low);
        return CLR_OK;
    }
    if (negative) {
        low = 0 - low;
        high = ~high + (low == 0);
    }
    const uint32_t limbs[] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high,
                              (uint32_t)(high >> 32)};
    write_limbs(&r->value->text, limbs, 4, negative, 0);
    return clr_give_text(r);
}

static enum clr_status read_int128(struct clr_reading *r)
{
    return read_128(r, true);
}

static enum clr_status read_uint128(struct clr_reading *r)
{
    return read_128(r, false);
}

static enum clr_status read_half(struct clr_reading *r)
{
    enum { FRACTION_BITS = 10, EXPONENT_MASK = 0x1f, BIAS = 15 };
    uint64_t bits;
    if (!read_field(r, CLR_ONLY_FIELD, 2, &bits))
        return clr_value_unavailable(r, clr_not_saved);
    unsigned exponent = (unsigned)(bits >> FRACTION_BITS) & EXPONENT_MASK;
    uint64_t fraction = bits & ((1u << FRACTION_BITS) - 1);
    double real = (double)fraction / ((uint64_t)1 << (FRACTION_BITS + BIAS - 1)); /* a subnormal */
    if (exponent == EXPONENT_MASK) {
        real = fraction == 0 ? HUGE_VAL : (double)NAN;
    } else if (exponent != 0) { /* of a double: 52 bits, bias 1023 */
        uint64_t wide = (uint64_t)(exponent - BIAS + 1023) << 52 | fraction << (52 - FRACTION_BITS);
        memcpy(&real, &wide, sizeof real);
    }
    return clr_give_real(r, bits >> 15 ? -real : real);
}

static void write_index(struct clr_text *text, uint64_t raw)
{
    int32_t value = (int32_t)(uint32_t)raw;
    if (value < 0)
        clr_text_format(text, "^%d", ~value);
    else
        clr_text_format(text, "%d", value);
}

static enum clr_status read_index(struct clr_reading *r)
{
    uint64_t raw;
    if (!read_field(r, CLR_ONLY_FIELD, 4, &raw))
        return clr_value_unavailable(r, clr_not_saved);
    write_index(&r->value->text, raw);
    return clr_give_text(r);
}

static enum clr_status read_range(struct clr_reading *r)
{
    uint64_t start, end;
    if (!read_field(r, CLR_RANGE_START, 4, &start) || !read_field(r, CLR_RANGE_END, 4, &end))
        return clr_value_unavailable(r, clr_not_saved);
    write_index(&r->value->text, start);
    clr_text_put(&r->value->text, "..");
    write_index(&r->value->text, end);
    return clr_give_text(r);
}

static enum clr_status read_rune(struct clr_reading *r)
{
    enum { MOST_SCALAR = 0x10ffff };
    uint64_t scalar;
    if (!read_field(r, CLR_ONLY_FIELD, 4, &scalar))
        return clr_value_unavailable(r, clr_not_saved);
    if (scalar > MOST_SCALAR)
        return clr_value_unavailable(r, clr_no_sense);
    clr_write_scalar(&r->value->text, (uint32_t)scalar);
    return clr_give_text(r);
}

static enum clr_status read_nullable(struct clr_reading *r)
{
    uint64_t has;
    struct clr_place inner;
    if (!read_field(r, CLR_NULLABLE_HAS, 1, &has))
        return clr_value_unavailable(r, clr_not_saved);
    if (has == 0)
        return CLR_OK;
    CLR_TRY(clr_managed_place(r->dump, &r->layout->known_fields->fields[CLR_NULLABLE_VALUE],
                              r->place->address, &inner, r->error));
    return clr_value_read(r->dump, &inner, r->value, r->error);
}

static const struct clr_known_kind known_kinds[] = {
    {CLR_MANAGED_DATE_ONLY, read_date},
    {CLR_MANAGED_DATE_TIME, read_date_time},
    {CLR_MANAGED_DATE_TIME_OFFSET, read_date_time_offset},
    {CLR_MANAGED_DECIMAL, read_decimal},
    {CLR_MANAGED_GUID, read_guid},
    {CLR_MANAGED_HALF, read_half},
    {CLR_MANAGED_INDEX, read_index},
    {CLR_MANAGED_INT128, read_int128},
    {CLR_MANAGED_NULLABLE, read_nullable},
    {CLR_MANAGED_RANGE, read_range},
    {CLR_MANAGED_RUNE, read_rune},
    {CLR_MANAGED_TIME_ONLY, read_time},
    {CLR_MANAGED_TIME_SPAN, read_time_span},
    {CLR_MANAGED_UINT128, read_uint128},
};

static enum clr_status find_kind(struct clr_dump *dump, struct clr_layout *layout,
                                 struct clr_error *error)
{
    const struct clr_managed *fields;
    const char *name;
    CLR_TRY(clr_layout_bare_name(dump, layout, &name, error));
    for (size_t i = 0; i < sizeof known_kinds / sizeof known_kinds[0]; i++) {
        const struct clr_known_kind *kind = &known_kinds[i];
        if (strcmp(name, clr_managed_rows[kind->class].name) != 0)
            continue;
        CLR_TRY(clr_managed_bind(dump, kind->class, layout->type.address, &fields, error));
        if (fields && fields->missing == fields->count) { /* else shown by its fields */
            layout->known = kind;
            layout->known_fields = fields;
        }
    }
    return CLR_OK;
}

enum clr_status clr_find_known(struct clr_dump *dump, struct clr_layout *layout,
                               struct clr_error *error)
{
    if (layout->known_looked)
        return CLR_OK;
    if (layout->is_core && layout->type.kind == CLR_KIND_STRUCT)
        CLR_TRY(find_kind(dump, layout, error));
    layout->known_looked = true;
    if (layout->known && layout->known->read == read_nullable) {
        struct clr_place inner;
        bool scalar = false;
        const struct clr_known_kind *kind = layout->known;
        layout->known = NULL; /* a Nullable in itself, which is none, ends here */
        enum clr_status status = clr_managed_place(
            dump, &layout->known_fields->fields[CLR_NULLABLE_VALUE], 0, &inner, error);
        if (status == CLR_OK)
            status = clr_place_is_scalar(dump, &inner, &scalar, error);
        if (status != CLR_OK) {
            layout->known_looked = false;
            return status;
        }
        layout->known = scalar ? kind : NULL;
    }
    return CLR_OK;
}
