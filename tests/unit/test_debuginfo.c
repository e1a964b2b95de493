/*
 * DebugInfo and nibble maps: recorded blobs of each runtime, decode(encode(x)) = x over random x in
 * every format, and malformed input.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "debug_encoder.h"
#include "runtime/nibblemap.h"

enum { ROUNDS = 400, ITEMS = 60 };

static const struct clr_debug_layout patchpoint_9 = {32, 8}, patchpoint_10 = {40, 16};

/* --- help ---------------------------------------------------------------------------------------
 */

static size_t parse_hex(const char *hex, uint8_t *bytes, size_t room)
{
    size_t count = 0;
    for (; *hex; hex++) {
        unsigned value;
        if (*hex == ' ')
            continue;
        ck_assert_int_eq(sscanf(hex, "%2x", &value), 1);
        ck_assert_uint_lt(count, room);
        bytes[count++] = (uint8_t)value;
        hex++;
    }
    return count;
}

static uint64_t state = 88172645463325252u;
static uint32_t random_below(uint32_t limit)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16) % limit;
}

/* A number of any magnitude up to BITS bits. */
static uint32_t random_number(unsigned bits)
{
    uint32_t width = random_below(bits + 1);
    return width == 0 ? 0
                      : (uint32_t)(((uint64_t)random_below(UINT32_MAX) << 8) >> 3) >> (32 - width);
}

struct expected {
    uint32_t native;
    int32_t il;
    uint32_t source;
};

static void check_bounds(const struct clr_debug_info *info, const struct expected *expected,
                         size_t count)
{
    struct clr_bounds bounds = {0};
    ck_assert_int_eq(clr_bounds_decode(info->format, info->bytes + info->bounds.offset,
                                       info->bounds.size, &bounds),
                     CLR_DECODED);
    ck_assert_uint_eq(bounds.count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_eq(bounds.items[i].native_offset, expected[i].native);
        ck_assert_int_eq(bounds.items[i].il_offset, expected[i].il);
        ck_assert_uint_eq(bounds.items[i].source, expected[i].source);
    }
    clr_bounds_deinit(&bounds);
}

/* --- recorded blobs -----------------------------------------------------------------------------
 */

#define SE CLR_SOURCE_STACK_EMPTY

static const struct recorded {
    enum clr_debug_format_id format;
    bool flagged;
    const struct clr_debug_layout *patchpoint;
    const char *hex;
    struct expected bounds[16];
    size_t bound_count, variable_count;
} recorded[] = {
    {CLR_FORMAT_C1,
     true,
     &patchpoint_10,
     "0909340382908f340500629006676929531a",
     {{0, -2, SE}, {14, 0, SE}, {24, 6, SE}, {24, -3, SE}},
     4,
     2},
    {CLR_FORMAT_C1,
     true,
     &patchpoint_10,
     "4b1959650202c2065a14922afa45225d426ae876b08cb0a28aac52b8020062b000670bdb34a501",
     {{0, -2, SE},
      {24, 0, SE},
      {35, 7, SE},
      {53, 18, SE},
      {116, 31, SE},
      {152, 43, SE},
      {160, 50, SE},
      {189, 56, 0},
      {211, 67, 0},
      {233, 78, 0},
      {250, 83, SE},
      {260, 89, SE},
      {260, -3, SE}},
     13,
     2},
    {CLR_FORMAT_C1,
     true,
     &patchpoint_10,
     "39004504024164e824c52b0000",
     {{0, -2, SE}, {4, 0, SE}, {11, 6, SE}, {28, 20, SE}, {28, -3, SE}},
     5,
     0},
    {CLR_FORMAT_1,
     true,
     &patchpoint_10,
     "009700340342e8a3a600026904979642531a",
     {{0, -2, SE}, {14, 0, SE}, {24, 6, SE}, {24, -3, SE}},
     4,
     2},
    {CLR_FORMAT_1,
     true,
     &patchpoint_10,
     "003b1959650201b1818b42a9e22f927489d4e8765846aca89155852b0000020b04b7b04d34a501",
     {{0, -2, SE},
      {24, 0, SE},
      {35, 7, SE},
      {53, 18, SE},
      {116, 31, SE},
      {152, 43, SE},
      {160, 50, SE},
      {189, 56, 0},
      {211, 67, 0},
      {233, 78, 0},
      {250, 83, SE},
      {260, 89, SE},
      {260, -3, SE}},
     13,
     2},
    {CLR_FORMAT_NIBBLES,
     true,
     &patchpoint_9,
     "009600032169230502026904975634a501",
     {{0, -2, SE}, {14, 0, SE}, {19, -3, SE}},
     3,
     2},
    {CLR_FORMAT_NIBBLES,
     true,
     &patchpoint_9,
     "00390905216923392992a220000202690497a645531a",
     {{0, -2, SE}, {14, 0, SE}, {25, 7, SE}, {35, 13, SE}, {35, -3, SE}},
     5,
     2},
    /* Of an image: no flag byte, and behind bounds that all lie at 0 what the writer left empty. */
    {CLR_FORMAT_1,
     false,
     &patchpoint_10,
     "4c03 03014a0b 0000000000000000000000000000000000000000000000000000000000000000 000000",
     {{0, -2, SE}, {0, 0, SE}, {0, -3, SE}},
     3,
     0},
};

START_TEST(test_recorded)
{
    const struct recorded *r = &recorded[_i];
    uint8_t bytes[256];
    size_t size = parse_hex(r->hex, bytes, sizeof bytes);
    struct clr_debug_info info;
    ck_assert(clr_debug_split(&clr_debug_formats[r->format], r->flagged, r->patchpoint, bytes, size,
                              &info));
    check_bounds(&info, r->bounds, r->bound_count);
    struct clr_variables variables = {0};
    if (r->flagged) {
        ck_assert_uint_eq(info.size, size);
        ck_assert_int_eq(clr_variables_decode(info.format, info.bytes + info.variables.offset,
                                              info.variables.size, 1, &variables),
                         CLR_DECODED);
        ck_assert_uint_eq(variables.count, r->variable_count);
    }
    if (variables.count == 2) { /* 'this': in a register first, then at rbp - 8 */
        ck_assert_int_eq(variables.items[0].kind, CLR_VAR_REGISTER);
        ck_assert_uint_eq(variables.items[0].register1, 7);
        ck_assert_uint_eq(variables.items[0].end, variables.items[1].start);
        ck_assert_int_eq(variables.items[1].kind, CLR_VAR_STACK);
        ck_assert_uint_eq(variables.items[1].register1, 5);
        ck_assert_int_eq(variables.items[1].offset, -8);
        ck_assert_int_eq(variables.items[1].number, 0);
    }
    clr_variables_deinit(&variables);
    /* A blob that ends early is none. */
    for (size_t cut = 0; r->flagged && cut < size; cut++)
        ck_assert(!clr_debug_split(&clr_debug_formats[r->format], r->flagged, r->patchpoint, bytes,
                                   cut, &info));
}
END_TEST

START_TEST(test_patchpoint)
{
    uint8_t bytes[256];
    struct clr_debug_info info;
    size_t size = parse_hex("01 2000000000000000f08c2a20107f00000300000058000000ffffffffffffffff"
                            "ffffffffffffffff a0ffffff90ffffff80ffffff 9700340342e8a3a60002690497"
                            "9642531a",
                            bytes, sizeof bytes);
    ck_assert(clr_debug_split(&clr_debug_formats[CLR_FORMAT_1], true, &patchpoint_10, bytes, size,
                              &info));
    ck_assert_uint_eq(info.patchpoint.offset, 1);
    ck_assert_uint_eq(info.patchpoint.size, 52);
    check_bounds(&info, recorded[3].bounds, 4);
    /* Where its layout is not known, what follows it cannot be found. */
    struct clr_debug_layout unknown = {CLR_ABSENT, CLR_ABSENT};
    ck_assert(
        !clr_debug_split(&clr_debug_formats[CLR_FORMAT_1], true, &unknown, bytes, size, &info));
    size = parse_hex("01 20000000 00000000 03000000 58000000 ffffffffffffffffffffffffffffffff"
                     "a0ffffff90ffffff80ffffff 9600032169230502026904975634a501",
                     bytes, sizeof bytes);
    ck_assert(clr_debug_split(&clr_debug_formats[CLR_FORMAT_NIBBLES], true, &patchpoint_9, bytes,
                              size, &info));
    ck_assert_uint_eq(info.patchpoint.size, 44);
    check_bounds(&info, recorded[5].bounds, 3);
    /* The header of a fat one. */
    size = parse_hex("a07f8904c9000089949001021080900c", bytes, sizeof bytes);
    memset(bytes + size, 0, sizeof bytes - size);
    static uint8_t large[512];
    memcpy(large, bytes, sizeof bytes);
    ck_assert(clr_debug_split(&clr_debug_formats[CLR_FORMAT_C1], true, &patchpoint_10, large,
                              sizeof large, &info));
    ck_assert_uint_eq(info.bounds.size, 191);
    ck_assert_uint_eq(info.variables.size, 68);
    ck_assert_uint_eq(info.uninstrumented.size, 0);
    ck_assert_uint_eq(info.patchpoint.size, 96);
    ck_assert_uint_eq(info.patchpoint.offset, info.variables.offset + 68);
}
END_TEST

START_TEST(test_numbers)
{
    static const struct {
        uint32_t value;
        const char *hex;
    } numbers[] = {{0, "00"},     {7, "07"},        {8, "09"},
                   {63, "7f"},    {64, "8900"},     {511, "ff07"},
                   {512, "8908"}, {4096, "898800"}, {UINT32_MAX, "fbffffffff07"}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct encoded e = {0};
        uint8_t bytes[8];
        size_t size = parse_hex(numbers[i].hex, bytes, sizeof bytes);
        encode_number(&e, numbers[i].value);
        ck_assert_uint_eq(e.size, size);
        ck_assert_int_eq(memcmp(e.bytes, bytes, size), 0);
        encoded_free(&e);
    }
}
END_TEST

/* --- round trips ---------------------------------------------------------------------------------
 */

static size_t make_bounds(const struct clr_debug_format *format, struct clr_bound *bounds)
{
    size_t count = random_below(ITEMS);
    uint64_t native = 0;
    unsigned native_bits = random_below(27), il_bits = random_below(32);
    for (size_t i = 0; i < count; i++) {
        uint32_t source = 0;
        native += random_number(native_bits);
        if (format->source_bits == 0)
            source = random_below(64);
        for (unsigned bit = 0; bit < format->source_bits; bit++)
            source |= random_below(2) ? format->source_flag[bit] : 0;
        bounds[i] = (struct clr_bound){
            (uint32_t)native, (int32_t)(random_number(il_bits) >> 1) - (int32_t)random_below(4),
            source};
        if (bounds[i].il_offset < -3)
            bounds[i].il_offset = -3;
    }
    return count;
}

static size_t make_variables(const struct clr_debug_format *format, struct clr_variable *variables)
{
    size_t count = random_below(ITEMS);
    memset(variables, 0, count * sizeof *variables);
    for (size_t i = 0; i < count; i++) {
        struct clr_variable *v = &variables[i];
        v->number = (int32_t)random_number(16) - (int32_t)random_below(format->number_bias + 1u);
        v->start = random_number(28);
        v->end = v->start + random_number(28);
        if (format->call_return != 0 && v->number == format->call_return) {
            v->call_il = random_number(24);
            v->end = v->start + 1;
        }
        v->kind = (enum clr_variable_kind)random_below(CLR_VAR_KINDS);
        bool two = v->kind == CLR_VAR_REGISTER_REGISTER || v->kind == CLR_VAR_REGISTER_STACK ||
                   v->kind == CLR_VAR_STACK_REGISTER;
        bool stack = v->kind >= CLR_VAR_STACK && v->kind != CLR_VAR_REGISTER_REGISTER &&
                     v->kind < CLR_VAR_FLOAT_STACK;
        if (v->kind < CLR_VAR_FLOAT_STACK)
            v->register1 = random_below(40);
        if (two)
            v->register2 = random_below(40);
        if (stack)
            v->offset = (int32_t)random_number(20) - (int32_t)random_number(20);
        if (v->kind >= CLR_VAR_FLOAT_STACK)
            v->offset = (int32_t)random_number(20);
    }
    return count;
}

static struct encoded filler(uint32_t most)
{
    struct encoded e = {0};
    uint32_t size = 1 + random_below(most);
    for (uint32_t i = 0; i < size; i++) {
        uint8_t byte = (uint8_t)random_below(256);
        encode_bytes(&e, &byte, 1);
    }
    return e;
}

static void same_part(const struct clr_debug_info *info, struct clr_debug_chunk chunk,
                      const struct encoded *part)
{
    ck_assert_uint_eq(chunk.size, part ? part->size : 0);
    if (part && part->size)
        ck_assert_int_eq(memcmp(info->bytes + chunk.offset, part->bytes, part->size), 0);
}

START_TEST(test_round_trip)
{
    const struct clr_debug_format *format = &clr_debug_formats[_i];
    static struct clr_bound written[ITEMS];
    static struct clr_variable vars[ITEMS];
    struct clr_bounds bounds = {0};
    struct clr_variables variables = {0};
    for (int round = 0; round < ROUNDS; round++) {
        struct encoded b = {0}, u = {0}, v = {0}, blob = {0}, point = {0}, rich = {0}, async = {0};
        struct encoded_parts parts = {0};
        struct clr_debug_info info;
        bool flagged = random_below(2);
        size_t count = make_bounds(format, written);
        encode_bounds(&b, format, written, count);
        size_t var_count = make_variables(format, vars);
        encode_variables(&v, format, vars, var_count);
        if (random_below(4))
            parts.bounds = &b;
        if (random_below(4))
            parts.variables = &v;
        if (format->container != CLR_DEBUG_PAIR && random_below(3) == 0) {
            u = filler(90);
            parts.uninstrumented = &u;
        }
        bool extra = format->container == CLR_DEBUG_FAT || flagged;
        if (extra && random_below(3) == 0) {
            point = filler(1);
            uint8_t header[40] = {0};
            header[16] = (uint8_t)random_below(9);
            point.size = 0;
            encode_bytes(&point, header, sizeof header);
            for (unsigned i = 0; i < header[16]; i++)
                encode_bytes(&point, "abcd", 4);
            parts.patchpoint = &point;
        }
        if (extra && random_below(3) == 0) {
            rich = filler(70);
            parts.rich = &rich;
        }
        if (format->container == CLR_DEBUG_FAT && random_below(3) == 0) {
            async = filler(70);
            parts.async = &async;
        }
        encode_blob(&blob, format, flagged, &parts);
        ck_assert(clr_debug_split(format, flagged, &patchpoint_10, blob.bytes, blob.size, &info));
        ck_assert_uint_eq(info.size, blob.size);
        same_part(&info, info.bounds, parts.bounds);
        same_part(&info, info.variables, parts.variables);
        same_part(&info, info.uninstrumented, parts.uninstrumented);
        same_part(&info, info.patchpoint, parts.patchpoint);
        same_part(&info, info.rich, parts.rich);
        same_part(&info, info.async, parts.async);

        ck_assert_int_eq(clr_bounds_decode(format, b.bytes, b.size, &bounds), CLR_DECODED);
        ck_assert_uint_eq(bounds.count, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(memcmp(&bounds.items[i], &written[i], sizeof written[i]), 0);
        ck_assert_int_eq(clr_variables_decode(format, v.bytes, v.size, 1, &variables), CLR_DECODED);
        ck_assert_uint_eq(variables.count, var_count);
        for (size_t i = 0; i < var_count; i++)
            ck_assert_int_eq(memcmp(&variables.items[i], &vars[i], sizeof vars[i]), 0);
        /* Cut short by two bytes or more, nothing comes of it. */
        if (count > 4) {
            ck_assert_int_eq(clr_bounds_decode(format, b.bytes, b.size - 2, &bounds),
                             CLR_DECODED_BAD);
            ck_assert_uint_eq(bounds.count, 0);
        }
        encoded_free(&b);
        encoded_free(&u);
        encoded_free(&v);
        encoded_free(&blob);
        encoded_free(&point);
        encoded_free(&rich);
        encoded_free(&async);
    }
    clr_bounds_deinit(&bounds);
    clr_variables_deinit(&variables);
}
END_TEST

/* --- what is malformed
 * ---------------------------------------------------------------------------- */

START_TEST(test_malformed)
{
    const struct clr_debug_format *format = &clr_debug_formats[_i];
    struct clr_bounds bounds = {0};
    struct clr_variables variables = {0};
    struct encoded e = {0};
    /* More entries than the bytes can hold. */
    encode_number(&e, UINT32_MAX);
    encode_number(&e, 3);
    encode_number(&e, 3);
    encode_align(&e);
    ck_assert_int_eq(clr_bounds_decode(format, e.bytes, e.size, &bounds), CLR_DECODED_BAD);
    ck_assert_int_eq(clr_variables_decode(format, e.bytes, e.size, 1, &variables), CLR_DECODED_BAD);
    ck_assert_uint_eq(bounds.room, 0);
    encoded_free(&e);
    /* A number that does not end, and one over 32 bits. */
    uint8_t endless[16];
    memset(endless, 0xff, sizeof endless);
    ck_assert_int_eq(clr_bounds_decode(format, endless, sizeof endless, &bounds), CLR_DECODED_BAD);
    /* Widths over 32 bits. */
    if (format->source_bits) {
        encode_number(&e, 1);
        encode_number(&e, 32);
        encode_number(&e, 3);
        encode_align(&e);
        encode_bytes(&e, endless, 6);
        ck_assert_int_eq(clr_bounds_decode(format, e.bytes, e.size, &bounds), CLR_DECODED_BAD);
        encoded_free(&e);
    }
    /* A kind of place that there is none of. */
    struct clr_variable v = {.number = 1, .end = 4, .kind = CLR_VAR_REGISTER};
    encode_variables(&e, format, &v, 1);
    ck_assert_int_eq(clr_variables_decode(format, e.bytes, e.size, 1, &variables), CLR_DECODED);
    for (size_t i = 0; i < e.size; i++) {
        uint8_t before = e.bytes[i];
        for (unsigned value = 0; value < 256; value++) {
            e.bytes[i] = (uint8_t)value;
            if (clr_variables_decode(format, e.bytes, e.size, 1, &variables) == CLR_DECODED)
                for (size_t k = 0; k < variables.count; k++)
                    ck_assert_int_lt(variables.items[k].kind, CLR_VAR_KINDS);
        }
        e.bytes[i] = before;
    }
    encoded_free(&e);
    clr_bounds_deinit(&bounds);
    clr_variables_deinit(&variables);
}
END_TEST

START_TEST(test_no_memory)
{
    struct clr_bound written[8] = {{1, 2, 0}};
    struct encoded e = {0};
    struct clr_bounds bounds = {0};
    encode_bounds(&e, &clr_debug_formats[_i], written, 1);
    clr_alloc_fail_at(1);
    ck_assert_int_eq(clr_bounds_decode(&clr_debug_formats[_i], e.bytes, e.size, &bounds),
                     CLR_DECODED_NOMEM);
    clr_alloc_fail_at(0);
    ck_assert_uint_eq(bounds.count, 0);
    ck_assert_int_eq(clr_bounds_decode(&clr_debug_formats[_i], e.bytes, e.size, &bounds),
                     CLR_DECODED);
    clr_bounds_deinit(&bounds);
    encoded_free(&e);
}
END_TEST

START_TEST(test_find)
{
    struct clr_bound items[] = {{0, -2, 0}, {14, 0, 0},  {24, 6, 0},
                                {24, 3, 0}, {24, -3, 0}, {40, 9, 0}};
    struct clr_bounds bounds = {items, 6, 6};
    static const struct {
        uint32_t native;
        int32_t il;
    } asked[] = {{0, 0}, {13, 0}, {14, 0}, {23, 0}, {24, 3}, {39, 3}, {40, 9}, {1000, 9}};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        size_t index = 99;
        ck_assert(clr_bounds_find(&bounds, asked[i].native, &index));
        ck_assert_int_eq(items[index].il_offset, asked[i].il);
    }
    size_t index;
    bounds.count = 1;
    ck_assert(!clr_bounds_find(&bounds, 5, &index));
}
END_TEST

START_TEST(test_source_text)
{
    struct clr_text text = {0};
    clr_source_text(0, &text);
    clr_text_char(&text, ' ');
    clr_source_text(CLR_SOURCE_STACK_EMPTY | CLR_SOURCE_CALL_INSTRUCTION, &text);
    clr_text_char(&text, ' ');
    clr_source_text(CLR_SOURCE_ASYNC | 0x100, &text);
    ck_assert_str_eq(text.data, "invalid stack_empty,call_instruction async,0x100");
    clr_text_deinit(&text);
}
END_TEST

/* --- nibble maps
 * ---------------------------------------------------------------------------------- */

START_TEST(test_nibble_maps)
{
    enum { ENTRIES = 256, MOST = 800 };
    static uint32_t map[ENTRIES];
    static struct encoded_method methods[MOST];
    const bool pointers = _i;
    for (int round = 0; round < 200; round++) {
        size_t count = 0, found = 0;
        uint32_t at = 0;
        bool bad = false;
        while (count < MOST) {
            uint32_t start = (at + 31) / 32 * 32 + 16 * random_below(2);
            uint32_t size = 1 + random_number(11);
            if (start + size > ENTRIES * 256u)
                break;
            methods[count++] = (struct encoded_method){start, size};
            at = start + size + random_number(7);
        }
        encode_nibble_map(map, ENTRIES, methods, count, pointers);
        for (uint32_t i = 0; i < ENTRIES; i++) {
            uint32_t offsets[8];
            unsigned here = clr_nibble_starts(map[i], pointers, offsets, &bad);
            for (unsigned k = 0; k < here; k++, found++) {
                ck_assert_uint_lt(found, count);
                ck_assert_uint_eq(i * 256 + offsets[k], methods[found].start);
            }
        }
        ck_assert_uint_eq(found, count);
        ck_assert(!bad);
    }
    uint32_t offsets[8];
    bool bad = false;
    ck_assert_uint_eq(clr_nibble_starts(0xf0000000, pointers, offsets, &bad), 0);
    ck_assert(bad);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("debuginfo");
    TCase *tests = tcase_create("debuginfo");
    tcase_add_loop_test(tests, test_recorded, 0, sizeof recorded / sizeof recorded[0]);
    tcase_add_test(tests, test_patchpoint);
    tcase_add_test(tests, test_numbers);
    tcase_add_loop_test(tests, test_round_trip, 0, CLR_FORMATS);
    tcase_add_loop_test(tests, test_malformed, 0, CLR_FORMATS);
    tcase_add_loop_test(tests, test_no_memory, 0, CLR_FORMATS);
    tcase_add_test(tests, test_find);
    tcase_add_test(tests, test_source_text);
    tcase_add_loop_test(tests, test_nibble_maps, 0, 2);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failures = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failures != 0;
}
