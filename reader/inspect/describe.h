/*
 * One readable line for any object.
 *
 *   "text\n"                                  a string: escaped, and shortened with its length
 *   System.Int32 42, Zoo.Color Green          a boxed value
 *   System.Int32[3] {1, 2, 3}                 an array: lengths, and what comes first
 *   System.String[5..8] {…}                   with lower bounds
 *   System.ArgumentException: deep            an exception
 *   System.Collections.Generic.List<Zoo.Node> (334 items)
 *   typeof(Zoo.Gen<System.Int32>)             a System.Type
 *   Zoo.Person {Name="Ada", Age=36, …}        others: their first fields
 */
#ifndef CLR_INSPECT_DESCRIBE_H
#define CLR_INSPECT_DESCRIBE_H

#include "base/job.h"
#include "inspect/value.h"

/* Appends the line; nothing if OBJECT is no object. Needs INDEX. JOB may be NULL. */
enum clr_status clr_object_text(struct clr_dump *dump, struct clr_job *job, uint64_t object,
                                struct clr_text *text, struct clr_error *error);

/* Appends one value as it stands in such a line: '42', '"abc"', 'null', '{Key=1, Value=null}',
 * 'Zoo.Leaf'. */
enum clr_status clr_place_text(struct clr_dump *dump, const struct clr_place *place,
                               struct clr_text *text, struct clr_error *error);

/* Where the path 'a.b', 'Pairs[1].Key', '[3].Value' leads from an object: through structs,
 * references, arrays. A name that a compiler made another of stands for that: Name for
 * <Name>k__BackingField. *FOUND is false behind a null and at an index that is not there. A field
 * that a type does not have is an error that names both. */
enum clr_status clr_path_place(struct clr_dump *dump, uint64_t object, const char *path,
                               struct clr_place *place, bool *found, struct clr_error *error);

#endif
