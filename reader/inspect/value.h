/*
 * A value of the program as a number or text.
 *
 *   boolean            0, 1                    char            text of one character
 *   i1 … i8, i         integer                 r4, r8          real; 'NaN', 'Infinity', '-Infinity'
 *   u1 … u8, u, ptr    integer; text beyond 2^63-1
 *   an enum            its name; 'Read, Write' if it is one of flags; else the number
 *   string             its text; other references have no value but a target
 *   decimal            '79228162514264337593543950335', '1.50': with its digits after the point
 *   DateTime           '2024-02-29T12:34:56.0000000', with 'Z' if it is UTC
 *   DateTimeOffset     '2024-02-29T12:34:56.0000000+02:00'
 *   DateOnly, TimeOnly '2024-02-29', '12:34:56.0000000'
 *   TimeSpan           '1.12:00:00', '-00:00:01.5000000'
 *   Guid               '00112233-4455-6677-8899-aabbccddeeff'
 *   Int128, UInt128    integer, text where it does not fit
 *   Half               real;  Rune: its character;  Index, Range: '^1', '1..^2'
 *   Nullable<T>        no value, or that of T
 *   other structs      no value: their fields have
 */
#ifndef CLR_INSPECT_VALUE_H
#define CLR_INSPECT_VALUE_H

#include "base/text.h"
#include "inspect/layout.h"

/* Where a value lies, and what it is. */
struct clr_place {
    uint64_t address;
    uint64_t type;   /* MethodTable of a struct or enum; 0: none, or not known. System.__Canon: a
                        reference that may be to a string */
    uint8_t element; /* CorElementType, exact; see clr_field_kind */
};

enum clr_value_kind {
    CLR_VALUE_NONE, /* nothing: a null string, another reference, an empty Nullable, bytes lost */
    CLR_VALUE_INTEGER,
    CLR_VALUE_REAL,
    CLR_VALUE_TEXT,
    CLR_VALUE_STRUCT, /* a struct with fields, and no value of its own */
};

struct clr_value {
    enum clr_value_kind kind;
    int64_t integer;
    double real;
    struct clr_text text; /* TEXT. Its memory is kept for the next value */
    bool is_reference;
    uint64_t target;  /* of a reference; 0: null */
    const char *lost; /* why there is none, where there should be one: static text; else NULL */
};

/* Reads one. Needs the walk: only what the object index knows is a string. VALUE may hold another.
 */
enum clr_status clr_value_read(struct clr_dump *dump, const struct clr_place *place,
                               struct clr_value *value, struct clr_error *error);
void clr_value_deinit(struct clr_value *value);

/* The value of a field in the struct, or after the MethodTable word, at BASE. */
enum clr_status clr_member_place(struct clr_dump *dump, const struct clr_member *member,
                                 uint64_t base, struct clr_place *place, struct clr_error *error);
/* What a variable of the type behind HANDLE at ADDRESS is: an array's element, a boxed value.
 * False if the handle cannot be read. */
bool clr_handle_place(const struct clr_runtime *runtime, uint64_t handle, uint64_t address,
                      struct clr_place *place);
/* The value in a boxed struct, enum or primitive; false if the object is none. */
bool clr_boxed_place(struct clr_dump *dump, uint64_t object, const struct clr_layout *layout,
                     struct clr_place *place);

/* Whether the place has a value of its own, rather than fields that have: all but structs that are
 * not in the list above. */
enum clr_status clr_place_is_scalar(struct clr_dump *dump, const struct clr_place *place,
                                    bool *scalar, struct clr_error *error);

/* The object's type word and layout; NULL layout if ADDRESS is no object (free blocks are none). */
enum clr_status clr_object_layout(struct clr_dump *dump, uint64_t address,
                                  struct clr_layout **layout, struct clr_error *error);

#endif
