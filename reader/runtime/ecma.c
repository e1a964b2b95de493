/*
 * Names and signatures out of metadata.
 *
 * A type's full name is spread over rows: TypeDef {flags, name, namespace, …}, NestedClass {nested,
 * enclosing} for what lies inside another type, GenericParam {number, flags, owner, name}. A
 * TypeRef {scope, name, namespace} lies inside the type that its scope names, if that is a TypeRef.
 * Only the outermost type has a namespace.
 *
 * An instantiation has one flat list of arguments for all levels, outermost first. How many belong
 * to a level stands in its name behind a backtick; what is left goes to the last level, so that
 * names without an arity stay as they are.
 *
 * A signature is a byte code, read by recursive descent:
 *
 *   byte                    followed by
 *   0x01-0x0e, 0x16-0x1c    nothing: a type of System
 *   PTR BYREF SZARRAY       a type
 *   PINNED                  a type
 *   CLASS VALUETYPE         compressed TypeDefOrRef: tag in the two low bits, row above
 *   VAR MVAR                compressed number of a type variable
 *   ARRAY                   a type, compressed rank, count and sizes, count and lower bounds
 *   GENERICINST             CLASS or VALUETYPE with its index, or INTERNAL with its handle; compressed
 *                           count, so many types
 *   FNPTR                   a method signature
 *   CMOD_REQD, CMOD_OPT     compressed TypeDefOrRef, then what is modified
 *   INTERNAL                a TypeHandle, one word
 *   field                   0x06, type
 *   method                  u8 convention (0x10: generic, compressed count follows), compressed
 *                           count of parameters, result, parameters; SENTINEL before those of '...'
 *
 * Work is bounded by depth and by the length of the text: every step either descends, reads on in
 * the signature, or writes; TypeSpecs that name each other end at the depth.
 *
 * Source: ECMA-335, partition II, sections 22.20, 22.32, 22.37, 22.38 and 23.1 to 23.2; INTERNAL is
 * a fact about runtimes.
 */
#include "runtime/ecma.h"

#include <string.h>

enum {
    COLUMN_TYPE_FLAGS = 0, /* of TypeDef */
    TYPE_VISIBILITY = 0x7, /* of the flags */
    TYPE_NESTED = 2,       /* and above: lies inside another type */
    COLUMN_TYPE_NAME = 1,  /* of TypeDef and of TypeRef */
    COLUMN_TYPE_NAMESPACE = 2,
    COLUMN_REF_SCOPE = 0,
    COLUMN_PARAM_NUMBER = 0,
    COLUMN_PARAM_OWNER = 2,
    COLUMN_PARAM_NAME = 3,
    SIGNATURE_FIELD = 0x06,
    SIGNATURE_KIND = 0x0f,
    SIGNATURE_GENERIC = 0x10,
    VARARG = 0x05, /* kind of a method with '...' */
};

/* --- undoing -------------------------------------------------------------------------------- */

/* Takes back what was appended since START, unless all went well. */
static bool finish(struct clr_text *text, size_t start, bool well)
{
    if (well && !text->failed && text->length <= CLR_ECMA_TEXT)
        return true;
    if (text->data && start <= text->length) {
        text->length = start;
        text->data[start] = 0;
    }
    return false;
}

/* --- names of rows -------------------------------------------------------------------------- */

struct level {
    const char *name;
    size_t length;
    uint32_t arity;
};

struct chain {
    struct level levels[CLR_ECMA_DEPTH]; /* innermost first */
    unsigned count;
    const char *space;
    size_t space_length;
};

/* The number behind the name's backtick; LENGTH is cut to what stands before it. 0: none. */
static uint32_t split_arity(const char *name, size_t *length)
{
    size_t at = *length;
    uint32_t arity = 0, place = 1;
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && *length - at < 5) {
        arity += (uint32_t)(name[at - 1] - '0') * place;
        place *= 10;
        at--;
    }
    if (at == *length || at < 2 || name[at - 1] != '`')
        return 0;
    *length = at - 1;
    return arity;
}

static const char *string_cell(const struct clr_metadata *metadata, enum clr_table_id table,
                               uint32_t rid, unsigned column, size_t *length)
{
    uint32_t index;
    return clr_metadata_cell(metadata, table, rid, column, &index)
               ? clr_metadata_string(metadata, index, length)
               : NULL;
}

/* The row that row RID lies in; 0: none. */
static uint32_t enclosing_row(const struct clr_metadata *metadata, enum clr_table_id table,
                              uint32_t rid)
{
    enum clr_table_id target;
    uint32_t scope, outer;
    if (table == CLR_TYPEDEF)
        return clr_metadata_enclosing(metadata, rid);
    return clr_metadata_cell(metadata, table, rid, COLUMN_REF_SCOPE, &scope) &&
                   clr_metadata_target(table, COLUMN_REF_SCOPE, scope, &target, &outer) &&
                   target == CLR_TYPEREF
               ? outer
               : 0;
}

static bool is_nested(const struct clr_metadata *metadata, uint32_t rid)
{
    uint32_t flags;
    return clr_metadata_cell(metadata, CLR_TYPEDEF, rid, COLUMN_TYPE_FLAGS, &flags) &&
           (flags & TYPE_VISIBILITY) >= TYPE_NESTED;
}

static bool read_chain(const struct clr_metadata *metadata, enum clr_table_id table, uint32_t rid,
                       struct chain *chain)
{
    chain->count = 0;
    for (uint32_t outer; rid != 0; rid = outer) {
        if (chain->count == CLR_ECMA_DEPTH)
            return false;
        struct level *level = &chain->levels[chain->count++];
        level->name = string_cell(metadata, table, rid, COLUMN_TYPE_NAME, &level->length);
        if (!level->name || level->length > CLR_ECMA_TEXT)
            return false;
        outer = enclosing_row(metadata, table, rid);
        if (outer != 0)
            continue;
        if (table == CLR_TYPEDEF && is_nested(metadata, rid))
            return false; /* in what, cannot be read */
        chain->space =
            string_cell(metadata, table, rid, COLUMN_TYPE_NAMESPACE, &chain->space_length);
        if (!chain->space || chain->space_length > CLR_ECMA_TEXT)
            return false;
    }
    return chain->count > 0;
}

static bool write_list(const struct clr_ecma_arguments *arguments, uint32_t from, uint32_t count,
                       struct clr_text *text)
{
    clr_text_char(text, '<');
    for (uint32_t i = from; i < from + count; i++) {
        if (i > from)
            clr_text_put(text, arguments->write ? ", " : ",");
        if (arguments->write && !arguments->write(arguments->context, i, text))
            return false;
        if (text->failed || text->length > CLR_ECMA_TEXT)
            return false;
    }
    clr_text_char(text, '>');
    return true;
}

static bool write_chain(const struct chain *chain, const struct clr_ecma_arguments *arguments,
                        struct clr_text *text)
{
    if (chain->space_length) {
        clr_text_utf8(text, (const uint8_t *)chain->space, chain->space_length);
        clr_text_char(text, '.');
    }
    uint32_t used = 0;
    for (unsigned i = chain->count; i-- > 0;) {
        const struct level *level = &chain->levels[i];
        size_t length = level->length;
        uint32_t left = arguments->count - used, arity = split_arity(level->name, &length);
        if (arity > left) { /* the number is part of the name */
            arity = 0;
            length = level->length;
        }
        clr_text_utf8(text, (const uint8_t *)level->name, length);
        if (i == 0)
            arity = left;
        if (arity && !write_list(arguments, used, arity, text))
            return false;
        used += arity;
        if (i > 0)
            clr_text_char(text, '+');
        if (text->length > CLR_ECMA_TEXT)
            return false;
    }
    return true;
}

/* Type parameters under their own names. */
struct own_names {
    const struct clr_metadata *metadata;
    uint32_t rid;
};

static bool write_own_name(void *context, uint32_t index, struct clr_text *text)
{
    const struct own_names *own = context;
    return clr_ecma_parameter(own->metadata, CLR_TYPEDEF, own->rid, index, text);
}

bool clr_ecma_definition_name(const struct clr_metadata *metadata, uint32_t rid,
                              const struct clr_ecma_arguments *arguments, struct clr_text *text)
{
    struct chain chain;
    struct own_names own = {metadata, rid};
    struct clr_ecma_arguments named = {.write = write_own_name, .context = &own};
    size_t start = text->length;
    if (!arguments) {
        named.count = clr_ecma_parameter_count(metadata, CLR_TYPEDEF, rid);
        arguments = &named;
    }
    return finish(text, start,
                  read_chain(metadata, CLR_TYPEDEF, rid, &chain) &&
                      write_chain(&chain, arguments, text));
}

bool clr_ecma_type_name(const struct clr_metadata *metadata, uint32_t rid, struct clr_text *text)
{
    return clr_ecma_definition_name(metadata, rid, NULL, text);
}

bool clr_ecma_reference_name(const struct clr_metadata *metadata, uint32_t rid,
                             const struct clr_ecma_arguments *arguments, struct clr_text *text)
{
    struct chain chain;
    struct clr_ecma_arguments open = {0};
    size_t start = text->length;
    if (!read_chain(metadata, CLR_TYPEREF, rid, &chain))
        return false;
    for (unsigned i = 0; !arguments && i < chain.count; i++) {
        size_t length = chain.levels[i].length;
        open.count += split_arity(chain.levels[i].name, &length);
    }
    return finish(text, start, write_chain(&chain, arguments ? arguments : &open, text));
}

const char *clr_ecma_namespace(const struct clr_metadata *metadata, uint32_t rid, size_t *length)
{
    struct chain chain;
    if (!read_chain(metadata, CLR_TYPEDEF, rid, &chain))
        return NULL;
    *length = chain.space_length;
    return chain.space;
}

/* The first GenericParam row of an owner and, by *VALUE, how the rows name it. */
static uint32_t first_parameter(const struct clr_metadata *metadata, enum clr_table_id owner,
                                uint32_t rid, uint32_t *value)
{
    return clr_metadata_reference(CLR_GENERICPARAM, COLUMN_PARAM_OWNER, owner, rid, value)
               ? clr_metadata_find(metadata, CLR_GENERICPARAM, COLUMN_PARAM_OWNER, *value)
               : 0;
}

uint32_t clr_ecma_parameter_count(const struct clr_metadata *metadata, enum clr_table_id owner,
                                  uint32_t rid)
{
    uint32_t value, cell, count = 0;
    uint32_t row = first_parameter(metadata, owner, rid, &value);
    for (; row && clr_metadata_cell(metadata, CLR_GENERICPARAM, row, COLUMN_PARAM_OWNER, &cell);
         row++) {
        if (cell == value)
            count++;
        else if (metadata->sorted >> CLR_GENERICPARAM & 1)
            break;
    }
    return count;
}

bool clr_ecma_parameter(const struct clr_metadata *metadata, enum clr_table_id owner, uint32_t rid,
                        uint32_t index, struct clr_text *text)
{
    /* Sorted rows are sorted by number too. */
    bool sorted = metadata->sorted >> CLR_GENERICPARAM & 1;
    uint32_t value, cell, number, row = first_parameter(metadata, owner, rid, &value);
    if (row && sorted)
        row = index > UINT32_MAX - row ? 0 : row + index;
    for (; row && clr_metadata_cell(metadata, CLR_GENERICPARAM, row, COLUMN_PARAM_OWNER, &cell);
         row++) {
        if (cell == value &&
            clr_metadata_cell(metadata, CLR_GENERICPARAM, row, COLUMN_PARAM_NUMBER, &number) &&
            number == index)
            return clr_ecma_parameter_name(metadata, row, text);
        if (sorted)
            break;
    }
    return false;
}

bool clr_ecma_parameter_name(const struct clr_metadata *metadata, uint32_t rid,
                             struct clr_text *text)
{
    size_t start = text->length, length;
    const char *name = string_cell(metadata, CLR_GENERICPARAM, rid, COLUMN_PARAM_NAME, &length);
    if (!name || length == 0 || length > CLR_ECMA_TEXT)
        return false;
    clr_text_utf8(text, (const uint8_t *)name, length);
    return finish(text, start, true);
}

/* --- signatures ----------------------------------------------------------------------------- */

static const char *const simple_types[] = {
    [CLR_ELEMENT_VOID] = "System.Void",
    [CLR_ELEMENT_BOOLEAN] = "System.Boolean",
    [CLR_ELEMENT_CHAR] = "System.Char",
    [CLR_ELEMENT_I1] = "System.SByte",
    [CLR_ELEMENT_U1] = "System.Byte",
    [CLR_ELEMENT_I2] = "System.Int16",
    [CLR_ELEMENT_U2] = "System.UInt16",
    [CLR_ELEMENT_I4] = "System.Int32",
    [CLR_ELEMENT_U4] = "System.UInt32",
    [CLR_ELEMENT_I8] = "System.Int64",
    [CLR_ELEMENT_U8] = "System.UInt64",
    [CLR_ELEMENT_R4] = "System.Single",
    [CLR_ELEMENT_R8] = "System.Double",
    [CLR_ELEMENT_STRING] = "System.String",
    [CLR_ELEMENT_TYPEDBYREF] = "System.TypedReference",
    [CLR_ELEMENT_I] = "System.IntPtr",
    [CLR_ELEMENT_U] = "System.UIntPtr",
    [CLR_ELEMENT_OBJECT] = "System.Object",
};

/* One signature while it is read. */
struct reader {
    const struct clr_ecma_context *context;
    struct clr_bytes *bytes;
    unsigned depth;
};

static bool read_type(const struct reader *reader, struct clr_text *text);

static bool read_deeper(const struct reader *reader, struct clr_text *text)
{
    struct reader inner = *reader;
    inner.depth++;
    return read_type(&inner, text);
}

static bool read_argument(void *context, uint32_t index, struct clr_text *text)
{
    (void)index; /* they stand one after the other */
    return read_deeper(context, text);
}

static bool read_handle(const struct reader *reader, uint64_t *handle)
{
    struct clr_bytes *bytes = reader->bytes;
    size_t word = reader->context->word;
    bool swapped = bytes->swapped; /* metadata has one byte order, a handle that of the process */
    if (word != 4 && word != 8)
        return false;
    bytes->swapped = reader->context->swapped;
    *handle = clr_bytes_word(bytes, word);
    bytes->swapped = swapped;
    return !bytes->bad;
}

/* A TypeDefOrRef of a signature, with the arguments of an instantiation. */
static bool read_token(const struct reader *reader, const struct clr_ecma_arguments *arguments,
                       struct clr_text *text)
{
    const struct clr_metadata *metadata = reader->context->metadata;
    enum clr_table_id table;
    uint32_t rid;
    uint32_t value = clr_metadata_compressed(reader->bytes), blob;
    if (reader->bytes->bad || !metadata || !clr_metadata_type_def_or_ref(value, &table, &rid))
        return false;
    if (table == CLR_TYPEDEF)
        return clr_ecma_definition_name(metadata, rid, arguments, text);
    if (table == CLR_TYPEREF)
        return clr_ecma_reference_name(metadata, rid, arguments, text);
    if (arguments || !clr_metadata_cell(metadata, CLR_TYPESPEC, rid, 0, &blob))
        return false;
    struct clr_bytes spec = clr_metadata_blob(metadata, blob);
    struct reader inner = {reader->context, &spec, reader->depth};
    return read_deeper(&inner, text);
}

static bool read_instance(const struct reader *reader, struct clr_text *text)
{
    /* The count stands behind the name, and the name is written around the arguments. */
    const struct clr_ecma_context *context = reader->context;
    uint8_t kind = clr_bytes_u8(reader->bytes);
    if (kind != CLR_ELEMENT_CLASS && kind != CLR_ELEMENT_VALUETYPE && kind != CLR_ELEMENT_INTERNAL)
        return false;
    struct clr_bytes name = *reader->bytes;
    uint64_t handle = 0;
    if (kind != CLR_ELEMENT_INTERNAL)
        clr_metadata_compressed(reader->bytes);
    else if (!read_handle(reader, &handle))
        return false;
    uint32_t count = clr_metadata_compressed(reader->bytes);
    if (reader->bytes->bad || count > reader->bytes->size - reader->bytes->at)
        return false;
    struct clr_ecma_arguments arguments = {count, read_argument, (void *)reader};
    if (kind == CLR_ELEMENT_INTERNAL)
        return context->definition &&
               context->definition(context->context, handle, &arguments, text);
    struct reader front = {context, &name, reader->depth};
    return read_token(&front, &arguments, text);
}

static bool write_variable(const struct reader *reader, bool of_method, uint32_t index,
                           struct clr_text *text)
{
    const struct clr_ecma_context *context = reader->context;
    if (context->variable && context->variable(context->context, of_method, index, text))
        return true;
    uint32_t rid = of_method ? context->method_rid : context->type_rid;
    if (context->metadata && rid != 0 &&
        clr_ecma_parameter(context->metadata, of_method ? CLR_METHODDEF : CLR_TYPEDEF, rid, index,
                           text))
        return true;
    clr_text_format(text, "%s%u", of_method ? "!!" : "!", index);
    return true;
}

void clr_ecma_array_suffix(uint32_t rank, bool is_szarray, struct clr_text *text)
{
    clr_text_char(text, '[');
    if (rank == 1 && !is_szarray)
        clr_text_char(text, '*');
    for (uint32_t i = 1; i < rank; i++)
        clr_text_char(text, ',');
    clr_text_char(text, ']');
}

static bool read_array(const struct reader *reader, struct clr_text *text)
{
    enum { RANK_MAX = 32 }; /* of the runtime */
    if (!read_deeper(reader, text))
        return false;
    uint32_t rank = clr_metadata_compressed(reader->bytes);
    for (unsigned list = 0; list < 2; list++) { /* sizes, lower bounds: not part of a name */
        uint32_t count = clr_metadata_compressed(reader->bytes);
        if (count > RANK_MAX)
            return false;
        while (count-- > 0)
            clr_metadata_compressed(reader->bytes);
    }
    if (reader->bytes->bad || rank == 0 || rank > RANK_MAX)
        return false;
    clr_ecma_array_suffix(rank, false, text);
    return true;
}

const char *clr_ecma_function_pointer(uint32_t convention)
{
    switch (convention & SIGNATURE_KIND) {
    case 1: return "delegate* unmanaged[Cdecl]";
    case 2: return "delegate* unmanaged[Stdcall]";
    case 3: return "delegate* unmanaged[Thiscall]";
    case 4: return "delegate* unmanaged[Fastcall]";
    case 9: return "delegate* unmanaged";
    default: return "delegate*";
    }
}

/* The parts of a method's signature in front of its types. */
struct method_head {
    uint8_t convention;
    uint32_t generic, parameters;
};

static bool read_head(struct clr_bytes *bytes, struct method_head *head)
{
    head->convention = clr_bytes_u8(bytes);
    head->generic = head->convention & SIGNATURE_GENERIC ? clr_metadata_compressed(bytes) : 0;
    head->parameters = clr_metadata_compressed(bytes);
    /* Each of them takes a byte at least; one more is the result's. */
    return !bytes->bad && head->parameters < bytes->size - bytes->at &&
           (head->convention & SIGNATURE_KIND) != SIGNATURE_FIELD;
}

/* The parameters with ', ' between them; the cursor is behind the result. */
static bool read_parameters(const struct reader *reader, const struct method_head *head,
                            struct clr_text *text)
{
    bool open = (head->convention & SIGNATURE_KIND) == VARARG; /* '...' is yet to be written */
    for (uint32_t i = 0; i < head->parameters; i++) {
        struct clr_bytes ahead = *reader->bytes;
        if (i > 0)
            clr_text_put(text, ", ");
        if (clr_bytes_u8(&ahead) == CLR_ELEMENT_SENTINEL && open) {
            *reader->bytes = ahead;
            clr_text_put(text, "..., ");
            open = false;
        }
        if (!read_deeper(reader, text))
            return false;
    }
    if (open)
        clr_text_put(text, head->parameters ? ", ..." : "...");
    return true;
}

static bool read_function_pointer(const struct reader *reader, struct clr_text *text)
{
    struct method_head head;
    if (!read_head(reader->bytes, &head))
        return false;
    struct clr_text result = {0}; /* comes first and is written last */
    bool well = read_deeper(reader, &result);
    clr_text_put(text, clr_ecma_function_pointer(head.convention));
    clr_text_char(text, '<');
    well = well && read_parameters(reader, &head, text);
    if (well) {
        clr_text_put(text, head.parameters ? ", " : "");
        clr_text_add(text, result.data, result.length);
        clr_text_char(text, '>');
    }
    text->failed |= result.failed;
    clr_text_deinit(&result);
    return well;
}

/* Reads over what says nothing about the name. The first byte of the type, or 0. */
static uint8_t skip_modifiers(const struct reader *reader)
{
    uint64_t handle;
    for (;;) {
        uint8_t kind = clr_bytes_u8(reader->bytes);
        if (kind == CLR_ELEMENT_CMOD_REQD || kind == CLR_ELEMENT_CMOD_OPT)
            clr_metadata_compressed(reader->bytes);
        else if (kind == CLR_ELEMENT_CMOD_INTERNAL) {
            clr_bytes_u8(reader->bytes);
            if (!read_handle(reader, &handle))
                return 0;
        } else if (kind != CLR_ELEMENT_PINNED)
            return kind;
        if (reader->bytes->bad)
            return 0;
    }
}

static bool read_type(const struct reader *reader, struct clr_text *text)
{
    const struct clr_ecma_context *context = reader->context;
    if (reader->depth > CLR_ECMA_DEPTH || text->failed || text->length > CLR_ECMA_TEXT)
        return false;
    uint8_t kind = skip_modifiers(reader);
    uint32_t index;
    uint64_t handle;
    switch (kind) {
    case CLR_ELEMENT_PTR:
    case CLR_ELEMENT_BYREF:
    case CLR_ELEMENT_SZARRAY:
        if (!read_deeper(reader, text))
            return false;
        clr_text_put(text, kind == CLR_ELEMENT_PTR ? "*" : kind == CLR_ELEMENT_BYREF ? "&" : "[]");
        return true;
    case CLR_ELEMENT_CLASS:
    case CLR_ELEMENT_VALUETYPE: return read_token(reader, NULL, text);
    case CLR_ELEMENT_VAR:
    case CLR_ELEMENT_MVAR:
        index = clr_metadata_compressed(reader->bytes);
        return !reader->bytes->bad && write_variable(reader, kind == CLR_ELEMENT_MVAR, index, text);
    case CLR_ELEMENT_ARRAY: return read_array(reader, text);
    case CLR_ELEMENT_GENERICINST: return read_instance(reader, text);
    case CLR_ELEMENT_FNPTR: return read_function_pointer(reader, text);
    case CLR_ELEMENT_INTERNAL:
        return read_handle(reader, &handle) && context->handle &&
               context->handle(context->context, handle, text);
    default:
        if (kind >= sizeof simple_types / sizeof *simple_types || !simple_types[kind])
            return false;
        clr_text_put(text, simple_types[kind]);
        return true;
    }
}

bool clr_ecma_signature_type(const struct clr_ecma_context *context, struct clr_bytes *signature,
                             struct clr_text *text)
{
    size_t start = text->length;
    struct reader reader = {context, signature, 1};
    return finish(text, start, read_type(&reader, text));
}

bool clr_ecma_field_signature(const struct clr_ecma_context *context, struct clr_bytes signature,
                              struct clr_text *text)
{
    return clr_bytes_u8(&signature) == SIGNATURE_FIELD &&
           clr_ecma_signature_type(context, &signature, text);
}

static bool read_method(const struct reader *reader, const char *name, size_t name_length,
                        struct clr_text *text)
{
    struct method_head head;
    if (!read_head(reader->bytes, &head) || name_length > CLR_ECMA_TEXT || !read_type(reader, text))
        return false;
    clr_text_char(text, ' ');
    clr_text_utf8(text, (const uint8_t *)name, name_length);
    for (uint32_t i = 0; i < head.generic; i++) {
        clr_text_put(text, i ? ", " : "<");
        if (text->failed || text->length > CLR_ECMA_TEXT || !write_variable(reader, true, i, text))
            return false;
    }
    clr_text_put(text, head.generic ? ">(" : "(");
    if (!read_parameters(reader, &head, text))
        return false;
    clr_text_char(text, ')');
    return true;
}

bool clr_ecma_method_signature(const struct clr_ecma_context *context, struct clr_bytes signature,
                               const char *name, size_t name_length, struct clr_text *text)
{
    size_t start = text->length;
    struct reader reader = {context, &signature, 1};
    return finish(text, start, read_method(&reader, name, name_length, text));
}
