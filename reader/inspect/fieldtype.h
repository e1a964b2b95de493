/*
 * What type a field is declared with, exact for the instantiation it is read from.
 */
#ifndef CLR_INSPECT_FIELDTYPE_H
#define CLR_INSPECT_FIELDTYPE_H

#include "dump/dump.h"
#include "runtime/fields.h"

/* All types by their names; needs the walk. */
struct clr_type_index;
/* The dump's own: made on first use, lives with the dump. */
enum clr_status clr_dump_type_index(struct clr_dump *dump, const struct clr_type_index **index,
                                    struct clr_error *error);

/* The MethodTable called NAME, as the code of MODULE means it; of several (load contexts) the one
 * of MODULE, else of its load context, else the first that cannot be unloaded. 0 if none is loaded.
 */
uint64_t clr_type_by_name(struct clr_runtime *runtime, const struct clr_type_index *index,
                          const char *name, uint64_t module);

/* What lies in a field. The FieldDesc knows references, structs and primitives (an enum is the
 * primitive under it); the signature knows which of them. */
struct clr_field_kind {
    uint8_t element; /* exact: STRING, SZARRAY, ARRAY, CLASS for references; PTR, FNPTR, BYREF;
                        VALUETYPE for structs; else a primitive */
    bool is_named;   /* a struct, or a primitive that may be an enum: its type is to be found */
    uint64_t type;   /* the type, if the signature leads to it without its name; else 0. Of a
                        reference: System.__Canon, where only the shared form of the type is known */
};
/* RUNTIME only; without metadata what the FieldDesc says. */
void clr_field_kind(struct clr_runtime *runtime, const struct clr_field *field,
                    struct clr_field_kind *kind);
/* CorElementType of what a variable of the type behind HANDLE holds, likewise; *TYPE is the
 * type if it is a struct or enum, else 0. 0 if it cannot be read. */
uint8_t clr_handle_element(const struct clr_runtime *runtime, uint64_t handle, uint64_t *type);

/* Appends the name of the field's type: 'System.Int32', 'Zoo.Gen<Zoo.Pair>[]'. False, and nothing
 * appended, where metadata is missing or damaged. */
bool clr_field_type_name(struct clr_runtime *runtime, const struct clr_field *field,
                         struct clr_text *text);

/* *TYPE is the MethodTable of the struct or enum that a field holds; 0 if it holds none or it is
 * not known. Of a generic struct that is not loaded in its exact form the one that shares code. */
enum clr_status clr_field_value_type(struct clr_runtime *runtime,
                                     const struct clr_type_index *index,
                                     const struct clr_field *field, uint64_t *type,
                                     struct clr_error *error);
/* The same for structs only; 0 also where memory ran out. */
uint64_t clr_field_struct(struct clr_runtime *runtime, const struct clr_type_index *index,
                          const struct clr_field *field);

/* Bytes of an instance of a struct inside another, without header and padding; 0 if not known. */
uint64_t clr_struct_size(const struct clr_runtime *runtime, const struct clr_type *type);

/* Whether the struct is an inline array ([InlineArray(n)]): its only field is its element 0. */
bool clr_type_is_inline_array(struct clr_runtime *runtime, const struct clr_type *type);
/* Whether the type has the attribute, by its bare name: 'FlagsAttribute'. */
bool clr_type_has_attribute(struct clr_runtime *runtime, const struct clr_type *type,
                            const char *name);

#endif
