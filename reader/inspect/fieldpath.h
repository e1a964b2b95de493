/*
 * The name of an edge: the path of the field that holds it.
 *
 *   Next               a field of the object, or of a base type
 *   Bread.First        of a struct in it
 *   []                 an element of an array
 *   [].Value           of a struct in an array
 *   Inline[4]          of an inline array; Pairs[1].Value of a struct in one
 *
 * One text for each type and place, made on first use and kept with the dump: a row of refs costs a
 * look-up, never the building of a name.
 */
#ifndef CLR_INSPECT_FIELDPATH_H
#define CLR_INSPECT_FIELDPATH_H

#include "dump/dump.h"

/* *TEXT lives with the dump; NULL for edges that have no field. Where metadata is missing it is
 * '+16' (the offset), with a problem of area refs. Connection's thread. */
enum clr_status clr_ref_field(struct clr_dump *dump, const struct clr_ref *ref, const char **text,
                              struct clr_error *error);

/* Appends '[3].Value', '[0,-1]': FIELD, which clr_ref_field gave for an element, with its indices. */
void clr_ref_write_element(struct clr_dump *dump, const struct clr_ref *ref, const char *field,
                           struct clr_text *text);

/* The path of the reference at OFFSET (after the MethodTable word; from the start of a struct) of an
 * instance of TYPE. */
enum clr_status clr_type_field_path(struct clr_dump *dump, uint64_t type, uint64_t offset,
                                    const char **text, struct clr_error *error);

#endif
