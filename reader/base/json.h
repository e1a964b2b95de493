/*
 * JSON for descriptors, supplements and options: jansson behind typed getters, so that the library
 * is one file's business. Input is bounded by a length, may hold comments and trailing commas
 * (blanked before parsing), and nests 64 deep at most. A key that stands twice is an error.
 */
#ifndef CLR_BASE_JSON_H
#define CLR_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

typedef struct json_t clr_json; /* a value; borrowed from its document but for the root */

enum clr_json_kind {
    CLR_JSON_NULL,
    CLR_JSON_BOOL,
    CLR_JSON_NUMBER,
    CLR_JSON_TEXT,
    CLR_JSON_ARRAY,
    CLR_JSON_OBJECT
};

/* Parses LENGTH bytes; the root is released with clr_json_destroy. */
enum clr_status clr_json_parse(const char *text, size_t length, clr_json **root,
                               struct clr_error *error);
void clr_json_destroy(clr_json *root);

enum clr_json_kind clr_json_kind(const clr_json *value);
/* Member KEY of an object, NULL if it is absent or VALUE is no object. */
const clr_json *clr_json_member(const clr_json *value, const char *key);
/* Elements of an array or members of an object; 0 for others. */
size_t clr_json_size(const clr_json *value);
const clr_json *clr_json_element(const clr_json *value, size_t index);
/* Members in the order of the text. START with *iterator = NULL; false at the end. */
bool clr_json_next(const clr_json *object, void **iterator, const char **key,
                   const clr_json **value);
/* Text of a string value (may hold NULs), or NULL. */
const char *clr_json_text(const clr_json *value, size_t *length);
/* A number, or text that is one: decimal, 0x hex, negative of either (two's complement). */
bool clr_json_u64(const clr_json *value, uint64_t *number);
bool clr_json_bool(const clr_json *value, bool *truth); /* true, false, 0, 1 */

#endif
