/*
 * Rows and signatures of metadata as text as C# writes them: names of types, of fields' types, of
 * methods. Knows metadata only; what an instantiation puts in for type variables comes by callback.
 *
 * Names: 'Zoo.Gen<Zoo.Pair>+Inner<System.Int32>': namespace, nested types with '+', each level with
 * the arguments that the arity in its name ('Gen`1') counts. Arrays are element and suffix, so that
 * C#'s 'int[][,]' is 'System.Int32[,][]'.
 *
 * All functions that append to a text return false when they cannot: a row or signature is damaged,
 * nested deeper than CLR_ECMA_DEPTH, or the text grows beyond CLR_ECMA_TEXT. The text is then as it
 * was before. When memory ran out, text->failed is set and false is returned too. What is appended
 * is valid UTF-8.
 */
#ifndef CLR_RUNTIME_ECMA_H
#define CLR_RUNTIME_ECMA_H

#include "base/text.h"
#include "runtime/metadata.h"

enum {
    CLR_ECMA_DEPTH = 64, /* levels: nested types, arguments of arguments, arrays of arrays */
    CLR_ECMA_TEXT = 1024 * 1024, /* bytes, with what the text held before */
};

/* CorElementType (ECMA-335 II.23.1.16), and what the runtime adds. */
enum clr_element {
    CLR_ELEMENT_VOID = 0x01,
    CLR_ELEMENT_BOOLEAN = 0x02,
    CLR_ELEMENT_CHAR = 0x03,
    CLR_ELEMENT_I1 = 0x04,
    CLR_ELEMENT_U1 = 0x05,
    CLR_ELEMENT_I2 = 0x06,
    CLR_ELEMENT_U2 = 0x07,
    CLR_ELEMENT_I4 = 0x08,
    CLR_ELEMENT_U4 = 0x09,
    CLR_ELEMENT_I8 = 0x0a,
    CLR_ELEMENT_U8 = 0x0b,
    CLR_ELEMENT_R4 = 0x0c,
    CLR_ELEMENT_R8 = 0x0d,
    CLR_ELEMENT_STRING = 0x0e,
    CLR_ELEMENT_PTR = 0x0f,
    CLR_ELEMENT_BYREF = 0x10,
    CLR_ELEMENT_VALUETYPE = 0x11,
    CLR_ELEMENT_CLASS = 0x12,
    CLR_ELEMENT_VAR = 0x13,
    CLR_ELEMENT_ARRAY = 0x14,
    CLR_ELEMENT_GENERICINST = 0x15,
    CLR_ELEMENT_TYPEDBYREF = 0x16,
    CLR_ELEMENT_I = 0x18,
    CLR_ELEMENT_U = 0x19,
    CLR_ELEMENT_FNPTR = 0x1b,
    CLR_ELEMENT_OBJECT = 0x1c,
    CLR_ELEMENT_SZARRAY = 0x1d,
    CLR_ELEMENT_MVAR = 0x1e,
    CLR_ELEMENT_CMOD_REQD = 0x1f,
    CLR_ELEMENT_CMOD_OPT = 0x20,
    CLR_ELEMENT_INTERNAL = 0x21,      /* a TypeHandle follows: in signatures that a runtime made */
    CLR_ELEMENT_CMOD_INTERNAL = 0x22, /* u8 required, then a TypeHandle */
    CLR_ELEMENT_SENTINEL = 0x41,
    CLR_ELEMENT_PINNED = 0x45,
};

/* --- rows ----------------------------------------------------------------------------------- */

/* What stands for the type parameters of a name. WRITE is called once for each, in order, and
 * appends its text; false ends the work. */
struct clr_ecma_arguments {
    uint32_t count;
    bool (*write)(void *context, uint32_t index, struct clr_text *text);
    void *context;
};

/* The full name of TypeDef RID. ARGUMENTS are those of all levels from the outermost in; NULL: the
 * names of its own type parameters, 'Dictionary<TKey, TValue>'. */
bool clr_ecma_definition_name(const struct clr_metadata *metadata, uint32_t rid,
                              const struct clr_ecma_arguments *arguments, struct clr_text *text);
bool clr_ecma_type_name(const struct clr_metadata *metadata, uint32_t rid, struct clr_text *text);
/* The same for TypeRef RID; NULL gives 'Dictionary<,>'. */
bool clr_ecma_reference_name(const struct clr_metadata *metadata, uint32_t rid,
                             const struct clr_ecma_arguments *arguments, struct clr_text *text);

/* The namespace of the outermost type around TypeDef RID, as its bytes stand in the metadata (not
 * checked: clr_text_utf8); NULL if it cannot be read. */
const char *clr_ecma_namespace(const struct clr_metadata *metadata, uint32_t rid, size_t *length);

/* How many type parameters row RID of OWNER (CLR_TYPEDEF or CLR_METHODDEF) has; those of a nested
 * type include the ones of the types around it. */
uint32_t clr_ecma_parameter_count(const struct clr_metadata *metadata, enum clr_table_id owner,
                                  uint32_t rid);
/* The name of one of them. */
bool clr_ecma_parameter(const struct clr_metadata *metadata, enum clr_table_id owner, uint32_t rid,
                        uint32_t index, struct clr_text *text);
/* The name in GenericParam row RID. */
bool clr_ecma_parameter_name(const struct clr_metadata *metadata, uint32_t rid,
                             struct clr_text *text);

/* --- signatures ----------------------------------------------------------------------------- */

/* Where a signature stands, and how to read it. Zero what is not known. */
struct clr_ecma_context {
    const struct clr_metadata *metadata; /* of the module whose signature it is */
    /* Appends what stands for type variable INDEX of the class, or of the method; false: not known,
     * nothing appended. May be NULL. */
    bool (*variable)(void *context, bool of_method, uint32_t index, struct clr_text *text);
    /* Appends the name of a TypeHandle, for signatures that a runtime made. May be NULL. */
    bool (*handle)(void *context, uint64_t handle, struct clr_text *text);
    /* Appends the name of a generic definition with its arguments; as handle else. */
    bool (*definition)(void *context, uint64_t handle, const struct clr_ecma_arguments *arguments,
                       struct clr_text *text);
    void *context;       /* of these */
    uint32_t type_rid;   /* a variable that is not known is called as this TypeDef calls it, */
    uint32_t method_rid; /* one of the method as this MethodDef calls it; else '!0', '!!0' */
    uint8_t word;        /* bytes of a TypeHandle; 0: there are none */
    bool swapped;        /* it has the other byte order than this machine's */
};

/* The type at the cursor; custom modifiers are read over. Moves the cursor behind it. */
bool clr_ecma_signature_type(const struct clr_ecma_context *context, struct clr_bytes *signature,
                             struct clr_text *text);
/* The type of a field: the signature of a Field row or a MemberRef to one. */
bool clr_ecma_field_signature(const struct clr_ecma_context *context, struct clr_bytes signature,
                              struct clr_text *text);
/* 'System.Int32 Add<T>(T, System.String&)': result, NAME, type parameters, parameters. */
bool clr_ecma_method_signature(const struct clr_ecma_context *context, struct clr_bytes signature,
                               const char *name, size_t name_length, struct clr_text *text);

/* 'delegate*', 'delegate* unmanaged[Cdecl]': how C# writes a pointer to functions of the calling
 * convention in the low bits of CONVENTION. */
const char *clr_ecma_function_pointer(uint32_t convention);
/* The suffix of an array: '[]', '[,]'; '[*]' for one dimension that is no SZARRAY. */
void clr_ecma_array_suffix(uint32_t rank, bool is_szarray, struct clr_text *text);

#endif
