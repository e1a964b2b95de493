/*
 * What type a field is declared with, exact for the instantiation it is read from.
 */
#ifndef CLR_INSPECT_FIELDTYPE_H
#define CLR_INSPECT_FIELDTYPE_H

#include "heap/dump.h"
#include "runtime/fields.h"

/* All types by their names; needs the walk. Made on first use, kept with the dump. */
struct clr_type_index;
enum clr_status clr_type_index_create(struct clr_dump *dump, struct clr_type_index **index,
                                      struct clr_error *error);
void clr_type_index_destroy(struct clr_type_index *index);

/* The MethodTable called NAME; of several (load contexts) the one of MODULE, else one that MODULE's
 * collectibility allows, else the first. 0 if none is loaded. */
uint64_t clr_type_by_name(const struct clr_type_index *index, const char *name, uint64_t module);

/* Appends the name of the field's type: 'System.Int32', 'Zoo.Gen<Zoo.Pair>[]'. False, and nothing
 * appended, where metadata is missing or damaged. */
bool clr_field_type_name(struct clr_runtime *runtime, const struct clr_field *field,
                         struct clr_text *text);

/* The MethodTable of the struct that a field of element type VALUETYPE holds; 0 if not known. */
uint64_t clr_field_struct(struct clr_runtime *runtime, const struct clr_type_index *index,
                          const struct clr_field *field);

/* Bytes of an instance of a struct inside another, without header and padding; 0 if not known. */
uint64_t clr_struct_size(const struct clr_runtime *runtime, const struct clr_type *type);

/* Whether the struct is an inline array ([InlineArray(n)]): its only field is its element 0. */
bool clr_type_is_inline_array(struct clr_runtime *runtime, const struct clr_type *type);

#endif
