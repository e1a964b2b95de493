/*
 * Names and signatures out of metadata: the spellings, and damage that must end somewhere.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "metadata_builder.h"
#include "runtime/ecma.h"

static struct metadata_builder *b;
static struct clr_metadata md;
static struct clr_text text;

static void setup(void)
{
    b = metadata_builder_create();
    text = (struct clr_text){0};
}

static void teardown(void)
{
    clr_text_deinit(&text);
    metadata_builder_destroy(b);
    ck_assert_uint_eq(clr_alloc_live(), 0);
}

static void open_blob(void)
{
    size_t size;
    struct clr_error error = {0};
    const uint8_t *blob = metadata_build(b, &size);
    ck_assert_msg(clr_metadata_open(&md, blob, size, &error) == CLR_OK, "%s", error.text);
}

static uint32_t type_def(const char *space, const char *name)
{
    return METADATA_ROW(b, CLR_TYPEDEF, 0, metadata_string(b, name), metadata_string(b, space), 0,
                        1, 1);
}

static uint32_t type_ref(uint32_t scope, const char *space, const char *name)
{
    return METADATA_ROW(b, CLR_TYPEREF, scope, metadata_string(b, name), metadata_string(b, space));
}

static void parameter(enum clr_table_id owner, uint32_t rid, uint32_t number, const char *name)
{
    uint32_t value;
    ck_assert(clr_metadata_reference(CLR_GENERICPARAM, 2, owner, rid, &value));
    METADATA_ROW(b, CLR_GENERICPARAM, number, 0, value, metadata_string(b, name));
}

static bool write_letter(void *context, uint32_t index, struct clr_text *into)
{
    (void)context;
    clr_text_format(into, "%c", 'A' + index);
    return true;
}

static const char *with_letters(uint32_t rid, uint32_t count)
{
    struct clr_ecma_arguments arguments = {count, write_letter, NULL};
    clr_text_clear(&text);
    return clr_ecma_definition_name(&md, rid, &arguments, &text) ? text.data : NULL;
}

static const char *open_name(uint32_t rid)
{
    clr_text_clear(&text);
    return clr_ecma_type_name(&md, rid, &text) ? text.data : NULL;
}

START_TEST(names_of_definitions)
{
    uint32_t node = type_def("Zoo", "Node"), plain = type_def("", "<>c"),
             gen = type_def("Zoo", "Gen`1"), inner = type_def("", "Inner`2"),
             entry = type_def("", "Entry"), none = type_def("Zoo", "NoArity"),
             odd = type_def("Zoo", "Odd`9"), word = type_def("Zoo", "Word`"),
             tick = type_def("Zoo", "`1"), bad = type_def("Zoo", "b\xff\xe2\x82");
    METADATA_ROW(b, CLR_NESTEDCLASS, inner, gen);
    METADATA_ROW(b, CLR_NESTEDCLASS, entry, inner);
    parameter(CLR_TYPEDEF, gen, 0, "T");
    parameter(CLR_TYPEDEF, inner, 0, "T");
    parameter(CLR_TYPEDEF, inner, 1, "U");
    parameter(CLR_TYPEDEF, inner, 2, "V");
    open_blob();
    ck_assert_str_eq(with_letters(node, 0), "Zoo.Node");
    ck_assert_str_eq(with_letters(plain, 0), "<>c");
    ck_assert_str_eq(with_letters(gen, 1), "Zoo.Gen<A>");
    ck_assert_str_eq(with_letters(inner, 3), "Zoo.Gen<A>+Inner<B, C>");
    ck_assert_str_eq(with_letters(entry, 3), "Zoo.Gen<A>+Inner<B, C>+Entry");
    ck_assert_str_eq(with_letters(entry, 4), "Zoo.Gen<A>+Inner<B, C>+Entry<D>");
    ck_assert_str_eq(with_letters(none, 2), "Zoo.NoArity<A, B>");
    ck_assert_str_eq(with_letters(odd, 0), "Zoo.Odd`9");
    ck_assert_str_eq(with_letters(odd, 2), "Zoo.Odd`9<A, B>");
    ck_assert_str_eq(with_letters(word, 1), "Zoo.Word`<A>");
    ck_assert_str_eq(with_letters(tick, 1), "Zoo.`1<A>");
    ck_assert_str_eq(with_letters(bad, 0), "Zoo.b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    ck_assert_str_eq(open_name(gen), "Zoo.Gen<T>");
    ck_assert_str_eq(open_name(inner), "Zoo.Gen<T>+Inner<U, V>");
    ck_assert_str_eq(open_name(node), "Zoo.Node");
    ck_assert_ptr_null(open_name(0));
    ck_assert_ptr_null(open_name(bad + 1));
    size_t length;
    ck_assert_str_eq(clr_ecma_namespace(&md, entry, &length), "Zoo");
    ck_assert_uint_eq(length, 3);
    ck_assert_str_eq(clr_ecma_namespace(&md, plain, &length), "");
    ck_assert_ptr_null(clr_ecma_namespace(&md, bad + 1, &length));
    ck_assert_uint_eq(clr_ecma_parameter_count(&md, CLR_TYPEDEF, inner), 3);
    ck_assert_uint_eq(clr_ecma_parameter_count(&md, CLR_TYPEDEF, node), 0);
    ck_assert_uint_eq(clr_ecma_parameter_count(&md, CLR_METHODDEF, inner), 0);
}
END_TEST

START_TEST(parameters_in_any_order)
{
    metadata_form(b, &(struct metadata_form){.uncompressed = true, .unsorted = true});
    uint32_t gen = type_def("Zoo", "Gen`2"), other = type_def("Zoo", "Other`1");
    parameter(CLR_TYPEDEF, gen, 1, "U");
    parameter(CLR_TYPEDEF, other, 0, "X");
    parameter(CLR_TYPEDEF, gen, 0, "T");
    open_blob();
    ck_assert_str_eq(open_name(gen), "Zoo.Gen<T, U>");
    ck_assert_str_eq(open_name(other), "Zoo.Other<X>");
    ck_assert(!clr_ecma_parameter(&md, CLR_TYPEDEF, gen, 2, &text));
    ck_assert(!clr_ecma_parameter(&md, CLR_TYPEDEF, gen, UINT32_MAX, &text));
    ck_assert(!clr_ecma_parameter_name(&md, 4, &text));
}
END_TEST

START_TEST(names_of_references)
{
    uint32_t list = type_ref(1 << 2 | 2, "System.Collections.Generic", "List`1");
    uint32_t nested = type_ref(list << 2 | 3, "", "Enumerator");
    uint32_t two = type_ref(1 << 2 | 2, "System", "Func`2");
    uint32_t self = type_ref((two + 1) << 2 | 3, "", "Self");
    open_blob();
    struct clr_ecma_arguments arguments = {1, write_letter, NULL};
    ck_assert(clr_ecma_reference_name(&md, nested, &arguments, &text));
    ck_assert_str_eq(text.data, "System.Collections.Generic.List<A>+Enumerator");
    clr_text_clear(&text);
    ck_assert(clr_ecma_reference_name(&md, two, NULL, &text));
    ck_assert_str_eq(text.data, "System.Func<,>");
    ck_assert(!clr_ecma_reference_name(&md, self, NULL, &text));
    ck_assert_str_eq(text.data, "System.Func<,>"); /* as it was */
}
END_TEST

START_TEST(circles_end)
{
    enum { LAST = CLR_ECMA_DEPTH + 14 };
    for (unsigned i = 0; i < LAST + 10; i++)
        type_def("", "N");
    METADATA_ROW(b, CLR_NESTEDCLASS, 1, 1);
    METADATA_ROW(b, CLR_NESTEDCLASS, 2, 3);
    METADATA_ROW(b, CLR_NESTEDCLASS, 3, 2);
    for (uint32_t i = 4; i < LAST; i++)
        METADATA_ROW(b, CLR_NESTEDCLASS, i, i + 1);
    open_blob();
    for (uint32_t rid = 1; rid <= LAST - CLR_ECMA_DEPTH; rid++)
        ck_assert_ptr_null(open_name(rid));
    ck_assert_uint_eq(strlen(open_name(LAST + 1 - CLR_ECMA_DEPTH)), 2 * CLR_ECMA_DEPTH - 1);
    ck_assert_str_eq(open_name(LAST - 2), "N+N+N");
    ck_assert_str_eq(open_name(LAST), "N");
}
END_TEST

/* --- signatures ----------------------------------------------------------------------------- */

static bool write_variable(void *context, bool of_method, uint32_t index, struct clr_text *into)
{
    if (index >= *(uint32_t *)context)
        return false;
    clr_text_format(into, "%s%u", of_method ? "M" : "C", index);
    return true;
}

static bool write_handle(void *context, uint64_t handle, struct clr_text *into)
{
    (void)context;
    clr_text_format(into, "handle%llx", (unsigned long long)handle);
    return handle != 0;
}

static bool write_definition(void *into_context, uint64_t handle,
                             const struct clr_ecma_arguments *arguments, struct clr_text *into)
{
    (void)into_context;
    clr_text_format(into, "open%llx<", (unsigned long long)handle);
    for (uint32_t i = 0; i < arguments->count; i++)
        if (!arguments->write(arguments->context, i, into))
            return false;
    clr_text_char(into, '>');
    return handle != 0;
}

static uint32_t known_variables = 2;
static struct clr_ecma_context context;

static void build_signature_types(void)
{
    type_ref(1 << 2 | 2, "System", "Object");        /* TypeRef 1: token 0x05 */
    type_ref(1 << 2 | 2, "System", "List`1");        /* 2: 0x09 */
    type_ref(1 << 2 | 2, "System", "CallConvCdecl"); /* 3: 0x0d */
    type_def("Zoo", "Node");                         /* TypeDef 1: 0x04 */
    type_def("Zoo", "Gen`2");                        /* 2: 0x08 */
    parameter(CLR_METHODDEF, 1, 0, "TResult");
    parameter(CLR_TYPEDEF, 2, 0, "T");
    parameter(CLR_TYPEDEF, 2, 1, "U");
    METADATA_ROW(b, CLR_METHODDEF, 0, 0, 0, metadata_string(b, "M"), 0, 1);
    METADATA_ROW(b, CLR_TYPESPEC, METADATA_BLOB(b, 0x1d, 0x12, 0x04)); /* TypeSpec 1: 0x06 */
    METADATA_ROW(b, CLR_TYPESPEC, METADATA_BLOB(b, 0x12, 0x0a));       /* 2, itself: 0x0a */
    /* 3: a type with itself twice as argument */
    METADATA_ROW(b, CLR_TYPESPEC, METADATA_BLOB(b, 0x15, 0x12, 0x08, 2, 0x12, 0x0e, 0x12, 0x0e));
    open_blob();
    context = (struct clr_ecma_context){.metadata = &md,
                                        .variable = write_variable,
                                        .handle = write_handle,
                                        .definition = write_definition,
                                        .context = &known_variables,
                                        .word = 8};
}

struct sample {
    uint8_t bytes[24];
    size_t size;
    const char *text; /* NULL: refused */
};
#define SAMPLE(expected, ...)                                                                      \
    {                                                                                              \
        {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}), expected                            \
    }

static const struct sample types[] = {
    SAMPLE("System.Void", 0x01),
    SAMPLE("System.Boolean", 0x02),
    SAMPLE("System.UInt64", 0x0b),
    SAMPLE("System.String", 0x0e),
    SAMPLE("System.TypedReference", 0x16),
    SAMPLE("System.UIntPtr", 0x19),
    SAMPLE("System.Object", 0x1c),
    SAMPLE("System.Int32*", 0x0f, 0x08),
    SAMPLE("System.Void**", 0x0f, 0x0f, 0x01),
    SAMPLE("System.Int32&", 0x10, 0x08),
    SAMPLE("System.Int32[]", 0x1d, 0x08),
    SAMPLE("System.Int32[,][]", 0x1d, 0x14, 0x08, 2, 0, 0),
    SAMPLE("System.Int32[*]", 0x14, 0x08, 1, 0, 1, 0x0a),
    SAMPLE("System.Int32[,,]", 0x14, 0x08, 3, 2, 1, 2, 3, 0, 0, 0),
    SAMPLE("Zoo.Node", 0x12, 0x04),
    SAMPLE("Zoo.Node", 0x11, 0x04),
    SAMPLE("System.Object", 0x12, 0x05),
    SAMPLE("Zoo.Node[]", 0x12, 0x06),
    SAMPLE("Zoo.Gen<System.Int32, Zoo.Node[]>", 0x15, 0x12, 0x08, 2, 0x08, 0x1d, 0x12, 0x04),
    SAMPLE("System.List<System.List<System.Byte>>", 0x15, 0x12, 0x09, 1, 0x15, 0x12, 0x09, 1, 5),
    SAMPLE("C1", 0x13, 1),
    SAMPLE("M0[]", 0x1d, 0x1e, 0),
    SAMPLE("!2", 0x13, 2),
    SAMPLE("!!300", 0x1e, 0x81, 0x2c),
    SAMPLE("delegate*<System.Int32, System.Void>[]", 0x1d, 0x1b, 0, 1, 0x01, 0x08),
    SAMPLE("delegate*<System.Void>", 0x1b, 0, 0, 0x01),
    SAMPLE("delegate* unmanaged[Cdecl]<System.Int32>", 0x1b, 1, 0, 0x08),
    SAMPLE("delegate* unmanaged<Zoo.Node, System.Int32>", 0x1b, 9, 1, 0x20, 0x0d, 0x08, 0x12, 4),
    SAMPLE("System.Int32", 0x1f, 0x0d, 0x20, 0x0d, 0x08),  /* modifiers */
    SAMPLE("System.Int32&", 0x45, 0x10, 0x1f, 0x0d, 0x08), /* pinned */
    SAMPLE("handle807060504030201*", 0x0f, 0x21, 1, 2, 3, 4, 5, 6, 7, 8),
    SAMPLE("System.Int32", 0x22, 1, 1, 2, 3, 4, 5, 6, 7, 8, 0x08),
    SAMPLE(NULL, 0x00),
    SAMPLE(NULL, 0x17),
    SAMPLE(NULL, 0x41),
    SAMPLE(NULL, 0xff),
    SAMPLE(NULL, 0x1d),
    SAMPLE(NULL, 0x12),
    SAMPLE(NULL, 0x12, 0x00),             /* no row */
    SAMPLE(NULL, 0x12, 0x3c),             /* no such row */
    SAMPLE(NULL, 0x12, 0x07),             /* no such tag */
    SAMPLE(NULL, 0x12, 0x0a),             /* TypeSpec in a circle */
    SAMPLE(NULL, 0x12, 0x0e),             /* one that doubles with each step */
    SAMPLE(NULL, 0x15, 0x12, 0x08, 2, 8), /* an argument is missing */
    SAMPLE(NULL, 0x15, 0x08, 0x08, 1, 8),
    SAMPLE(NULL, 0x15, 0x12, 0x06, 1, 8), /* of a TypeSpec */
    SAMPLE(NULL, 0x14, 0x08, 0, 0, 0),
    SAMPLE(NULL, 0x14, 0x08, 33, 0, 0),
    SAMPLE(NULL, 0x14, 0x08, 1, 0xdf, 0xff, 0xff, 0xff, 0),
    SAMPLE(NULL, 0x1b, 0, 0xdf, 0xff, 0xff, 0xff, 1),
    SAMPLE("open5<System.Int32System.String>[]", 0x1d, 0x15, 0x21, 5, 0, 0, 0, 0, 0, 0, 0, 2, 0x08,
           0x0e),
    SAMPLE(NULL, 0x15, 0x21, 5, 0, 0, 0, 0, 0, 0, 0), /* no count */
    SAMPLE(NULL, 0x15, 0x21, 5, 0, 0),
    SAMPLE(NULL, 0x21, 1, 2, 3),
    SAMPLE(NULL, 0x21, 0, 0, 0, 0, 0, 0, 0, 0), /* the callback declines */
    SAMPLE(NULL, 0x1f, 0x0d),
};

START_TEST(types_of_signatures)
{
    build_signature_types();
    const struct sample *s = &types[_i];
    uint8_t *exact = malloc(s->size);
    ck_assert_ptr_nonnull(exact);
    memcpy(exact, s->bytes, s->size);
    struct clr_bytes bytes = clr_bytes(exact, s->size);
    clr_text_put(&text, "before ");
    bool read = clr_ecma_signature_type(&context, &bytes, &text);
    ck_assert_msg(read == (s->text != NULL), "sample %d gives %s", _i, text.data);
    ck_assert(strncmp(text.data, "before ", 7) == 0);
    ck_assert_str_eq(text.data + 7, s->text ? s->text : "");
    ck_assert_uint_eq(text.length, strlen(text.data));
    if (s->text)
        ck_assert_uint_eq(bytes.at, s->size);
    free(exact);
}
END_TEST

START_TEST(variables_by_their_own_names)
{
    build_signature_types();
    context = (struct clr_ecma_context){.metadata = &md, .type_rid = 2, .method_rid = 1};
    static const struct {
        uint8_t bytes[2];
        const char *text;
    } samples[] = {{{0x13, 0}, "T"}, {{0x13, 1}, "U"}, {{0x1e, 0}, "TResult"}, {{0x1e, 1}, "!!1"}};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct clr_bytes bytes = clr_bytes(samples[i].bytes, 2);
        clr_text_clear(&text);
        ck_assert(clr_ecma_signature_type(&context, &bytes, &text));
        ck_assert_str_eq(text.data, samples[i].text);
    }
    /* No handle can be read without a size of words. */
    struct clr_bytes bytes = clr_bytes((const uint8_t[]){0x21, 1, 0, 0, 0, 0, 0, 0, 0}, 9);
    ck_assert(!clr_ecma_signature_type(&context, &bytes, &text));
}
END_TEST

static const struct sample fields[] = {
    SAMPLE("System.Int32", 6, 8),
    SAMPLE("System.Int32&", 6, 0x10, 8),
    SAMPLE("System.Boolean", 6, 0x1f, 0x0d, 2),
    SAMPLE(NULL, 7, 8),
    SAMPLE(NULL, 6),
};

START_TEST(fields_of_signatures)
{
    build_signature_types();
    struct clr_bytes bytes = clr_bytes(fields[_i].bytes, fields[_i].size);
    bool read = clr_ecma_field_signature(&context, bytes, &text);
    ck_assert_int_eq(read, fields[_i].text != NULL);
    if (read)
        ck_assert_str_eq(text.data, fields[_i].text);
}
END_TEST

static const struct sample methods[] = {
    SAMPLE("System.Void Run()", 0x20, 0, 1),
    SAMPLE("System.Int32 Run(System.Int32, Zoo.Node&)", 0, 2, 8, 8, 0x10, 0x12, 4),
    SAMPLE("M0 Run<M0, M1>(C0)", 0x30, 2, 1, 0x1e, 0, 0x13, 0),
    SAMPLE("System.Void Run<M0, M1, !!2>()", 0x10, 3, 0, 1),
    SAMPLE("System.Void Run(System.Int32, ..., System.Byte)", 5, 2, 1, 8, 0x41, 5),
    SAMPLE("System.Void Run(System.Int32, ...)", 5, 1, 1, 8),
    SAMPLE("System.Void Run(...)", 5, 0, 1),
    SAMPLE(NULL, 0, 2, 1, 8),
    SAMPLE(NULL, 0, 0),
    SAMPLE(NULL, 0, 1, 1, 0x41, 8), /* '...' in a method that has none */
    SAMPLE(NULL, 6, 8),
    SAMPLE(NULL, 0, 0xdf, 0xff, 0xff, 0xff, 1),
};

START_TEST(methods_of_signatures)
{
    build_signature_types();
    struct clr_bytes bytes = clr_bytes(methods[_i].bytes, methods[_i].size);
    bool read = clr_ecma_method_signature(&context, bytes, "Run", 3, &text);
    ck_assert_msg(read == (methods[_i].text != NULL), "sample %d gives %s", _i, text.data);
    if (read)
        ck_assert_str_eq(text.data, methods[_i].text);
}
END_TEST

START_TEST(depth_and_length_are_bounded)
{
    build_signature_types();
    uint8_t nested[CLR_ECMA_DEPTH + 1];
    memset(nested, 0x1d, sizeof nested);
    nested[CLR_ECMA_DEPTH - 1] = nested[CLR_ECMA_DEPTH] = 0x08;
    struct clr_bytes bytes = clr_bytes(nested, CLR_ECMA_DEPTH);
    ck_assert(clr_ecma_signature_type(&context, &bytes, &text));
    nested[CLR_ECMA_DEPTH - 1] = 0x1d;
    bytes = clr_bytes(nested, sizeof nested);
    ck_assert(!clr_ecma_signature_type(&context, &bytes, &text));

    /* Zoo.Gen`2 with thousands of strings: longer than may be */
    static uint8_t wide[0x13000];
    memset(wide, 0x0e, sizeof wide);
    memcpy(wide, (const uint8_t[]){0x15, 0x12, 0x08, 0xc0, 0x01, 0x20, 0x00}, 7);
    bytes = clr_bytes(wide, sizeof wide);
    clr_text_clear(&text);
    ck_assert(!clr_ecma_signature_type(&context, &bytes, &text));
    ck_assert_uint_eq(text.length, 0);
    memcpy(wide + 3, (const uint8_t[]){0x8f, 0xf0, 0x0e, 0x0e}, 4); /* a few of them */
    bytes = clr_bytes(wide, sizeof wide);
    ck_assert(clr_ecma_signature_type(&context, &bytes, &text));
    ck_assert_uint_eq(text.length, strlen("Zoo.Gen<>") + 0xff0 * strlen("System.String, ") - 2);
}
END_TEST

START_TEST(long_names_are_refused)
{
    static char name[CLR_ECMA_TEXT + 2];
    metadata_form(b, &(struct metadata_form){.wide_heaps = true});
    memset(name, 'x', CLR_ECMA_TEXT + 1);
    uint32_t longest = type_def("", name + 1), longer = type_def("", name);
    uint32_t dotted = type_def("a", name + 1);
    /* each byte becomes three */
    memset(name, 0xff, CLR_ECMA_TEXT + 1);
    uint32_t grown = type_def("", name + 1);
    open_blob();
    ck_assert_uint_eq(strlen(open_name(longest)), CLR_ECMA_TEXT);
    ck_assert_ptr_null(open_name(longer));
    ck_assert_ptr_null(open_name(dotted));
    ck_assert_ptr_null(open_name(grown));
}
END_TEST

/* --- memory and damage ---------------------------------------------------------------------- */

START_TEST(out_of_memory)
{
    build_signature_types();
    static const uint8_t method[] = {0x10, 1,    1,    0x1b, 0, 1,    0x1d, 8, 0x12,
                                     4,    0x15, 0x12, 8,    2, 0x0e, 0x12, 5};
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        struct clr_text into = {0};
        clr_alloc_fail_at(n);
        done =
            clr_ecma_method_signature(&context, clr_bytes(method, sizeof method), "Run", 3, &into);
        clr_alloc_fail_at(0);
        ck_assert(done != into.failed);
        clr_text_deinit(&into);
        ck_assert_uint_eq(clr_alloc_live(), 0);
        ck_assert_uint_lt(n, 100);
    }
}
END_TEST

START_TEST(every_byte_changed)
{
    build_signature_types();
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        for (size_t at = 0; at < types[i].size; at++)
            for (unsigned value = 0; value < 256; value++) {
                uint8_t bytes[sizeof types->bytes];
                memcpy(bytes, types[i].bytes, sizeof bytes);
                bytes[at] = (uint8_t)value;
                struct clr_bytes signature = clr_bytes(bytes, types[i].size);
                clr_text_clear(&text);
                if (clr_ecma_signature_type(&context, &signature, &text))
                    ck_assert(signature.at <= types[i].size && !signature.bad);
                else
                    ck_assert_uint_eq(text.length, 0);
            }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ecma");
    TCase *c = tcase_create("ecma");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, names_of_definitions);
    tcase_add_test(c, parameters_in_any_order);
    tcase_add_test(c, names_of_references);
    tcase_add_test(c, circles_end);
    tcase_add_loop_test(c, types_of_signatures, 0, (int)(sizeof types / sizeof *types));
    tcase_add_test(c, variables_by_their_own_names);
    tcase_add_loop_test(c, fields_of_signatures, 0, (int)(sizeof fields / sizeof *fields));
    tcase_add_loop_test(c, methods_of_signatures, 0, (int)(sizeof methods / sizeof *methods));
    tcase_add_test(c, depth_and_length_are_bounded);
    tcase_add_test(c, long_names_are_refused);
    tcase_add_test(c, out_of_memory);
    tcase_add_test(c, every_byte_changed);
    suite_add_tcase(suite, c);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
