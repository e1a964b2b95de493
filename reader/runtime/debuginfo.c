/*
 * The formats of DebugInfo. A blob is a container of chunks; a chunk of bounds and one of
 * variables are in all of them.
 *
 * Nibble stream: bytes, low nibble first. A number is nibbles of three bits, highest first; bit 3
 * says that another follows. Signed: bit 0 is the sign. Where bytes follow, a half used one is
 * skipped.
 *
 *   format  written by               container                              bounds
 *   nibble  .NET 8, 9; images <= 15  [flags] [patchpoint] [rich] PAIR       nibbles
 *   1       .NET 10; images of 16    [flags] [patchpoint] [rich] TRIPLE     packed, 2 source bits
 *   2       early builds of 11       FAT                                    packed, 2 source bits
 *   c1      .NET 11                  FAT                                    packed, 3 source bits
 *
 *   flags   u8, in what the JIT wrote and never in images: 1 PatchpointInfo follows, 2 rich
 *           information (u32 size, bytes)
 *   PAIR    nibbles: sizes of bounds, variables; then both
 *   TRIPLE  nibbles: size of bounds, or 0xffffffff and sizes of bounds and of uninstrumented
 *           bounds; size of variables; then bounds, uninstrumented bounds, variables
 *   FAT     nibbles: 0 and six sizes (fat), or two sizes (slim); then bounds, variables,
 *           uninstrumented bounds, patchpoint, rich, async
 *
 * Bounds of nibbles: count; an entry is the distance from the native offset before, IL offset + 3,
 * flags. Packed: count, bits of the native distance - 1, bits of the IL offset - 1 as nibbles,
 * then a stream of bits, lowest first: source, native distance, IL offset + 3. IL offsets -1, -2,
 * -3 are no code of any IL, the prolog, an epilog.
 *
 * Uninstrumented bounds exist where a profiler rewrote the IL: they lead to the original's
 * offsets, the others to the rewritten one's.
 *
 * A variable: start, length, number + 4, location; in c1 number + 6 first, and one that holds what
 * a call returned has the IL offset of that call in place of a length.
 *
 * Which format a blob has: for the JIT's the contract says, for an image its ReadyToRun version;
 * of versions between the known ones both numbers of source bits are tried. A decoded chunk must
 * be used up exactly, or a byte short of it, as the writer rounds up; format 1 may have 32 zeros
 * more, where all bounds lie at native offset 0.
 *
 * Knowledge: the runtime's docs/design/datacontracts/DebugInfo.md, debuginfostore.cpp,
 * cordebuginfo.h, nibblestream.h.
 */
#include "runtime/debuginfo.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/contracts.h"

enum {
    NIBBLES_OF_U32 = 11,
    ESCAPE_SIZES = 0xffffffff, /* of TRIPLE: the size of uninstrumented bounds is given too */
    FLAG_PATCHPOINT = 1,
    FLAG_RICH = 2,
    IL_BIAS = 3,
    BITS_MAX = 32,
    ENTRY_NIBBLES = 3,    /* the shortest bound */
    VARIABLE_NIBBLES = 5, /* the shortest variable */
    ROUNDING = 1,         /* bytes that a writer may leave unused */
    EMPTY_BYTES = 32,     /* zeros that format 1 has behind bounds which all lie at offset 0 */
};

#define AT(m) offsetof(struct clr_debug_layout, m)

const struct clr_binding clr_debug_bindings[] = {
    {AT(patchpoint_size), CLR_SIZE, 0, true, "PatchpointInfo", NULL},
    {AT(patchpoint_locals), CLR_FIELD, 4, true, "PatchpointInfo", "LocalCount"},
    CLR_BINDINGS_END,
};

#define PACKED                                                                                     \
    {                                                                                              \
        CLR_SOURCE_CALL_INSTRUCTION, CLR_SOURCE_STACK_EMPTY, CLR_SOURCE_ASYNC                      \
    }

const struct clr_debug_format clr_debug_formats[CLR_FORMATS] = {
    [CLR_FORMAT_NIBBLES] = {"nibble", CLR_DEBUG_PAIR, true, 0, {0}, 0, false, 4, 0},
    [CLR_FORMAT_1] = {"1", CLR_DEBUG_TRIPLE, true, 2, PACKED, EMPTY_BYTES, false, 4, 0},
    [CLR_FORMAT_2] = {"2", CLR_DEBUG_FAT, false, 2, PACKED, 0, false, 5, 0},
    [CLR_FORMAT_C1] = {"c1", CLR_DEBUG_FAT, false, 3, PACKED, 0, true, 6, -5},
};

/* --- Nibbles ------------------------------------------------------------------------------------
 */

struct nibbles {
    const uint8_t *data;
    size_t count, at; /* in nibbles */
    bool bad;
};

static struct nibbles nibbles_of(const uint8_t *bytes, size_t size)
{
    return (struct nibbles){.data = bytes, .count = size > SIZE_MAX / 2 ? SIZE_MAX : size * 2};
}

static inline uint32_t next_nibble(struct nibbles *n)
{
    if (n->at >= n->count) {
        n->bad = true;
        return 0;
    }
    uint32_t byte = n->data[n->at / 2];
    return n->at++ & 1 ? byte >> 4 : byte & 15;
}

static inline uint32_t read_number(struct nibbles *n)
{
    uint64_t value = 0;
    uint32_t nibble;
    unsigned count = 0;
    do {
        nibble = next_nibble(n);
        value = value << 3 | (nibble & 7);
        if (++count > NIBBLES_OF_U32 || value > UINT32_MAX)
            n->bad = true;
    } while ((nibble & 8) && !n->bad);
    return (uint32_t)value;
}

static int32_t read_signed(struct nibbles *n)
{
    uint32_t value = read_number(n);
    int32_t magnitude = (int32_t)(value >> 1);
    return value & 1 ? -magnitude : magnitude;
}

static size_t byte_after(const struct nibbles *n)
{
    return (n->at + 1) / 2;
}

/* --- Containers ---------------------------------------------------------------------------------
 */

/* Gives CHUNK the next LENGTH bytes. */
static bool take(struct clr_debug_info *info, size_t size, uint32_t length,
                 struct clr_debug_chunk *chunk)
{
    if (length > size - info->size)
        return false;
    *chunk = (struct clr_debug_chunk){info->size, length};
    info->size += length;
    return true;
}

/* What the flag byte announces, in front of the sizes. */
static bool split_flags(const struct clr_debug_layout *patchpoint, const uint8_t *bytes,
                        size_t size, struct clr_debug_info *info)
{
    struct clr_bytes cursor = clr_bytes(bytes, size);
    uint8_t flags = clr_bytes_u8(&cursor);
    if (flags & ~(FLAG_PATCHPOINT | FLAG_RICH))
        return false;
    info->size = 1;
    if (flags & FLAG_PATCHPOINT) {
        if (!clr_has(patchpoint->patchpoint_size) || !clr_has(patchpoint->patchpoint_locals) ||
            patchpoint->patchpoint_size > UINT16_MAX)
            return false;
        clr_bytes_seek(&cursor, info->size);
        clr_bytes_take(&cursor, (size_t)patchpoint->patchpoint_locals);
        uint32_t locals = clr_bytes_u32(&cursor);
        if (cursor.bad || locals > UINT16_MAX * 16u ||
            !take(info, size, (uint32_t)patchpoint->patchpoint_size + locals * 4,
                  &info->patchpoint))
            return false;
    }
    if (flags & FLAG_RICH) {
        clr_bytes_seek(&cursor, info->size);
        uint32_t length = clr_bytes_u32(&cursor);
        if (cursor.bad)
            return false;
        info->size += 4;
        if (!take(info, size, length, &info->rich))
            return false;
    }
    return !cursor.bad;
}

bool clr_debug_split(const struct clr_debug_format *format, bool flagged,
                     const struct clr_debug_layout *patchpoint, const uint8_t *bytes, size_t size,
                     struct clr_debug_info *info)
{
    memset(info, 0, sizeof *info);
    info->format = format;
    info->bytes = bytes;
    if (format->flag_byte && flagged && !split_flags(patchpoint, bytes, size, info))
        return false;
    struct nibbles n = nibbles_of(bytes + info->size, size - info->size);
    uint32_t first = read_number(&n), variables = 0, uninstrumented = 0, rest[3] = {0};
    if (format->container == CLR_DEBUG_FAT && first == 0) {
        first = read_number(&n);
        variables = read_number(&n);
        uninstrumented = read_number(&n);
        for (int i = 0; i < 3; i++)
            rest[i] = read_number(&n);
    } else if (format->container == CLR_DEBUG_TRIPLE && first == ESCAPE_SIZES) {
        first = read_number(&n);
        uninstrumented = read_number(&n);
        variables = read_number(&n);
    } else {
        variables = read_number(&n);
    }
    if (n.bad)
        return false;
    info->size += byte_after(&n);
    if (!take(info, size, first, &info->bounds))
        return false;
    if (format->container == CLR_DEBUG_TRIPLE)
        return take(info, size, uninstrumented, &info->uninstrumented) &&
               take(info, size, variables, &info->variables);
    return take(info, size, variables, &info->variables) &&
           take(info, size, uninstrumented, &info->uninstrumented) &&
           (format->container != CLR_DEBUG_FAT ||
            (take(info, size, rest[0], &info->patchpoint) &&
             take(info, size, rest[1], &info->rich) && take(info, size, rest[2], &info->async)));
}

/* --- Bounds -------------------------------------------------------------------------------------
 */

void clr_bounds_deinit(struct clr_bounds *bounds)
{
    clr_free(bounds->items);
    *bounds = (struct clr_bounds){0};
}

static bool make_room(void *items, size_t *room, size_t count, size_t size)
{
    if (count <= *room)
        return true;
    void *grown = clr_realloc(*(void **)items, count, size);
    if (!grown)
        return false;
    *(void **)items = grown;
    *room = count;
    return true;
}

/* Whether USED of SIZE bytes are all, but for what the writer rounded up or left empty. */
static bool used_up(const struct clr_debug_format *format, const uint8_t *bytes, size_t used,
                    size_t size)
{
    if (used > size || size - used > (size_t)ROUNDING + format->slack)
        return false;
    for (size_t i = used + ROUNDING; i < size; i++)
        if (bytes[i] != 0)
            return false;
    return true;
}

/* COUNT bits (at most 35) at bit AT, lowest first; the caller has checked that they are there. */
static inline uint64_t read_bits(const uint8_t *bytes, size_t size, uint64_t at, unsigned count)
{
    size_t byte = (size_t)(at / 8);
    uint64_t word = 0;
    if (size - byte >= sizeof word) {
        memcpy(&word, bytes + byte, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        word = __builtin_bswap64(word);
#endif
    } else {
        for (size_t i = 0; i < size - byte; i++)
            word |= (uint64_t)bytes[byte + i] << (8 * i);
    }
    return word >> (at % 8) & (((uint64_t)1 << count) - 1);
}

static enum clr_decoded decode_packed(const struct clr_debug_format *format, const uint8_t *bytes,
                                      size_t size, struct clr_bounds *bounds)
{
    struct nibbles n = nibbles_of(bytes, size);
    uint32_t count = read_number(&n), native_bits = read_number(&n), il_bits = read_number(&n);
    if (n.bad || native_bits >= BITS_MAX || il_bits >= BITS_MAX)
        return CLR_DECODED_BAD;
    native_bits++;
    il_bits++;
    const size_t header = byte_after(&n);
    const unsigned width = format->source_bits + native_bits + il_bits;
    bytes += header;
    size -= header;
    uint64_t bits = (uint64_t)count * width;
    if (bits > (uint64_t)size * 8 || !used_up(format, bytes, (size_t)((bits + 7) / 8), size))
        return CLR_DECODED_BAD;
    if (!make_room(&bounds->items, &bounds->room, count, sizeof *bounds->items))
        return CLR_DECODED_NOMEM;
    uint32_t meaning[8] = {0};
    for (unsigned i = 0; i < 1u << format->source_bits; i++)
        for (unsigned bit = 0; bit < format->source_bits; bit++)
            if (i >> bit & 1)
                meaning[i] |= format->source_flag[bit];
    uint64_t at = 0, native = 0;
    for (uint32_t i = 0; i < count; i++) {
        /* Source and native distance have at most 35 bits, and an IL offset 32. */
        uint64_t head = read_bits(bytes, size, at, format->source_bits + native_bits);
        at += format->source_bits + native_bits;
        uint32_t il = (uint32_t)read_bits(bytes, size, at, il_bits);
        at += il_bits;
        native += head >> format->source_bits;
        if (native > UINT32_MAX)
            return CLR_DECODED_BAD;
        bounds->items[i] =
            (struct clr_bound){.native_offset = (uint32_t)native,
                               .il_offset = (int32_t)(il - IL_BIAS),
                               .source = meaning[head & ((1u << format->source_bits) - 1)]};
    }
    bounds->count = count;
    return CLR_DECODED;
}

static enum clr_decoded decode_nibbles(const struct clr_debug_format *format, const uint8_t *bytes,
                                       size_t size, struct clr_bounds *bounds)
{
    struct nibbles n = nibbles_of(bytes, size);
    uint32_t count = read_number(&n);
    uint64_t native = 0;
    if (n.bad || count > n.count / ENTRY_NIBBLES)
        return CLR_DECODED_BAD;
    if (!make_room(&bounds->items, &bounds->room, count, sizeof *bounds->items))
        return CLR_DECODED_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        native += read_number(&n);
        uint32_t il = read_number(&n), source = read_number(&n);
        if (n.bad || native > UINT32_MAX)
            return CLR_DECODED_BAD;
        bounds->items[i] = (struct clr_bound){.native_offset = (uint32_t)native,
                                              .il_offset = (int32_t)(il - IL_BIAS),
                                              .source = source};
    }
    if (!used_up(format, bytes, byte_after(&n), size))
        return CLR_DECODED_BAD;
    bounds->count = count;
    return CLR_DECODED;
}

enum clr_decoded clr_bounds_decode(const struct clr_debug_format *format, const uint8_t *bytes,
                                   size_t size, struct clr_bounds *bounds)
{
    enum clr_decoded result;
    bounds->count = 0;
    if (size == 0)
        return CLR_DECODED;
    result = format->source_bits ? decode_packed(format, bytes, size, bounds)
                                 : decode_nibbles(format, bytes, size, bounds);
    for (size_t i = 0; result == CLR_DECODED && i < bounds->count; i++)
        if (bounds->items[i].il_offset < CLR_IL_EPILOG)
            result = CLR_DECODED_BAD;
    if (result != CLR_DECODED)
        bounds->count = 0;
    return result;
}

bool clr_bounds_find(const struct clr_bounds *bounds, uint32_t native_offset, size_t *index)
{
    bool found = false;
    for (size_t i = 0; i < bounds->count; i++) {
        if (bounds->items[i].native_offset > native_offset && found)
            break;
        if (bounds->items[i].il_offset < 0)
            continue;
        *index = i;
        found = true;
    }
    return found;
}

void clr_source_text(uint32_t source, struct clr_text *text)
{
    static const char *const names[] = {"sequence_point",     "stack_empty",      "call_site",
                                        "native_end_unknown", "call_instruction", "async"};
    size_t before = text->length;
    for (unsigned bit = 0; bit < 32; bit++) {
        if (!(source >> bit & 1))
            continue;
        if (text->length != before)
            clr_text_char(text, ',');
        if (bit < sizeof names / sizeof names[0])
            clr_text_put(text, names[bit]);
        else
            clr_text_format(text, "0x%x", 1u << bit);
    }
    if (source == 0)
        clr_text_put(text, "invalid");
}

/* --- Variables ----------------------------------------------------------------------------------
 */

void clr_variables_deinit(struct clr_variables *variables)
{
    clr_free(variables->items);
    *variables = (struct clr_variables){0};
}

static bool read_location(struct nibbles *n, uint32_t scale, struct clr_variable *v)
{
    uint32_t kind = read_number(n);
    if (kind >= CLR_VAR_KINDS)
        return false;
    v->kind = (enum clr_variable_kind)kind;
    switch (v->kind) {
    case CLR_VAR_REGISTER:
    case CLR_VAR_REGISTER_BYREF:
    case CLR_VAR_REGISTER_FLOAT: v->register1 = read_number(n); break;
    case CLR_VAR_STACK:
    case CLR_VAR_STACK_BYREF:
    case CLR_VAR_STACK_DOUBLE:
        v->register1 = read_number(n);
        v->offset = (int32_t)((uint32_t)read_signed(n) * scale);
        break;
    case CLR_VAR_REGISTER_REGISTER:
        v->register1 = read_number(n);
        v->register2 = read_number(n);
        break;
    case CLR_VAR_REGISTER_STACK:
        v->register2 = read_number(n);
        v->register1 = read_number(n);
        v->offset = (int32_t)((uint32_t)read_signed(n) * scale);
        break;
    case CLR_VAR_STACK_REGISTER:
        v->offset = (int32_t)((uint32_t)read_signed(n) * scale);
        v->register1 = read_number(n);
        v->register2 = read_number(n);
        break;
    case CLR_VAR_FLOAT_STACK:
    case CLR_VAR_FIXED: v->offset = (int32_t)read_number(n); break;
    case CLR_VAR_KINDS: return false;
    }
    return !n->bad;
}

static bool read_variable(const struct clr_debug_format *format, struct nibbles *n, uint32_t scale,
                          struct clr_variable *v)
{
    uint32_t length;
    memset(v, 0, sizeof *v);
    if (format->number_first)
        v->number = (int32_t)(read_number(n) - format->number_bias);
    v->start = read_number(n);
    if (format->call_return != 0 && v->number == format->call_return) {
        v->call_il = read_number(n);
        length = 1;
    } else {
        length = read_number(n);
    }
    if (!format->number_first)
        v->number = (int32_t)(read_number(n) - format->number_bias);
    if (n->bad || length > UINT32_MAX - v->start || v->number < -(int32_t)format->number_bias)
        return false;
    v->end = v->start + length;
    return read_location(n, scale, v);
}

enum clr_decoded clr_variables_decode(const struct clr_debug_format *format, const uint8_t *bytes,
                                      size_t size, uint32_t scale, struct clr_variables *variables)
{
    struct nibbles n = nibbles_of(bytes, size);
    variables->count = 0;
    if (size == 0)
        return CLR_DECODED;
    uint32_t count = read_number(&n);
    if (n.bad || count > n.count / VARIABLE_NIBBLES)
        return CLR_DECODED_BAD;
    if (!make_room(&variables->items, &variables->room, count, sizeof *variables->items))
        return CLR_DECODED_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        if (!read_variable(format, &n, scale, &variables->items[i]))
            return CLR_DECODED_BAD;
    if (!used_up(format, bytes, byte_after(&n), size))
        return CLR_DECODED_BAD;
    variables->count = count;
    return CLR_DECODED;
}

const char *clr_variable_kind_text(enum clr_variable_kind kind)
{
    static const char *const names[CLR_VAR_KINDS] = {
        "register",     "register_byref",    "register_float", "stack",
        "stack_byref",  "register_register", "register_stack", "stack_register",
        "stack_double", "float_stack",       "fixed"};
    return kind < CLR_VAR_KINDS ? names[kind] : NULL;
}

const char *clr_variable_special(const struct clr_debug_format *format, int32_t number)
{
    switch (number) {
    case -1: return "varargs_handle";
    case -2: return "return_buffer";
    case -3: return "generic_context";
    case -4: return format->number_first ? "async_continuation" : "unknown";
    case -5: return format->call_return == -5 ? "call_return" : "unknown";
    default: return number < 0 ? "unknown" : NULL;
    }
}

/* --- Chunks that are counted only ----------------------------------------------------------------
 */

static bool two_counts(const uint8_t *bytes, size_t size, uint32_t *first, uint32_t *second)
{
    struct nibbles n = nibbles_of(bytes, size);
    *first = read_number(&n);
    *second = read_number(&n);
    /* Each of what is counted takes two nibbles at least. */
    return !n.bad && *first <= n.count && *second <= n.count;
}

bool clr_rich_counts(const uint8_t *bytes, size_t size, uint32_t *inlined, uint32_t *mappings)
{
    return two_counts(bytes, size, inlined, mappings);
}

bool clr_async_counts(const uint8_t *bytes, size_t size, uint32_t *points, uint32_t *variables)
{
    return two_counts(bytes, size, points, variables);
}
