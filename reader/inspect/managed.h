/*
 * Fields of the classes of .NET's libraries, found by name once for each type that is read.
 *
 *     const struct clr_managed *thread;
 *     CLR_TRY(clr_managed_of(dump, CLR_MANAGED_THREAD, object, &thread, error));
 *     if (thread && clr_managed_read(dump->runtime, thread, CLR_THREAD_NAME, object, &name)) ...
 *
 * A class is a row of data: its name, and the names and kinds of the fields that are read. They are
 * looked for in that class and its base types, never in a class that is derived from it: a program
 * may derive from a class of the library and have fields of the same names.
 *
 * To read another class of the library, add a word to enum clr_managed_class, an enum of its fields
 * and a row in managed.c.
 */
#ifndef CLR_INSPECT_MANAGED_H
#define CLR_INSPECT_MANAGED_H

#include "inspect/value.h"

enum clr_managed_class {
    CLR_MANAGED_DELEGATE,
    CLR_MANAGED_MULTICAST_DELEGATE,
    CLR_MANAGED_EXCEPTION,
    CLR_MANAGED_LOAD_CONTEXT,
    CLR_MANAGED_RUNTIME_TYPE,
    CLR_MANAGED_THREAD,
    /* structs whose fields mean one thing together */
    CLR_MANAGED_DATE_ONLY,
    CLR_MANAGED_DATE_TIME,
    CLR_MANAGED_DATE_TIME_OFFSET,
    CLR_MANAGED_DECIMAL,
    CLR_MANAGED_GUID,
    CLR_MANAGED_HALF,
    CLR_MANAGED_INDEX,
    CLR_MANAGED_INT128,
    CLR_MANAGED_NULLABLE,
    CLR_MANAGED_RANGE,
    CLR_MANAGED_RUNE,
    CLR_MANAGED_TIME_ONLY,
    CLR_MANAGED_TIME_SPAN,
    CLR_MANAGED_UINT128,
    CLR_MANAGED_CLASSES
};

/* The fields of each, in the order of its row. */
enum { CLR_DELEGATE_TARGET, CLR_DELEGATE_METHOD_PTR, CLR_DELEGATE_METHOD_AUX };
enum { CLR_MULTICAST_LIST, CLR_MULTICAST_EXTRA };
enum { CLR_EXCEPTION_MESSAGE };
enum { CLR_LOAD_CONTEXT_NAME, CLR_LOAD_CONTEXT_STATE };
enum { CLR_RUNTIME_TYPE_HANDLE };
enum { CLR_THREAD_NAME };
enum { CLR_DATE_TIME_OFFSET_TIME, CLR_DATE_TIME_OFFSET_MINUTES };
enum { CLR_DECIMAL_FLAGS, CLR_DECIMAL_HIGH, CLR_DECIMAL_LOW };
enum { CLR_GUID_A, CLR_GUID_B, CLR_GUID_C, CLR_GUID_D };
enum { CLR_INT128_LOW, CLR_INT128_HIGH };
enum { CLR_NULLABLE_HAS, CLR_NULLABLE_VALUE };
enum { CLR_RANGE_START, CLR_RANGE_END };
enum { CLR_ONLY_FIELD }; /* of a struct that has one */

/* What a field must be; one that is something else counts as missing. */
enum clr_managed_kind {
    CLR_MANAGED_ANY,
    CLR_MANAGED_8BIT = 1, /* a primitive of that many bytes, or an enum over one */
    CLR_MANAGED_16BIT = 2,
    CLR_MANAGED_32BIT = 4,
    CLR_MANAGED_64BIT = 8,
    CLR_MANAGED_WORD, /* a native integer or pointer */
    CLR_MANAGED_REFERENCE,
    CLR_MANAGED_STRUCT,
    CLR_MANAGED_OPTIONAL = 0x80, /* added to a kind: it may be missing */
};

enum { CLR_MANAGED_FIELDS = 8 }; /* of a row, at most */
struct clr_managed_row {
    const char *module; /* its assembly's name; NULL: any */
    const char *name;   /* of the class, bare */
    /* 'b|a': the field b, or a where there is no b (releases differ). 'a.b': the field b of the
     * struct in the field a. NULL: no field. */
    const char *names[CLR_MANAGED_FIELDS];
    uint8_t kinds[CLR_MANAGED_FIELDS]; /* enum clr_managed_kind */
};
extern const struct clr_managed_row clr_managed_rows[CLR_MANAGED_CLASSES];

/* A field that was found. */
struct clr_managed_field {
    const struct clr_member *member; /* NULL: there is none */
    uint64_t offset;                 /* from the MethodTable word's end, or a struct's start */
};

/* The fields of one row in one type. Lives with the dump. */
struct clr_managed {
    const void *row;                 /* private: whose fields */
    struct clr_managed *next;        /* private: the same type's fields of another row */
    const struct clr_layout *layout; /* of the class; NULL: the type is not derived from it */
    unsigned count;
    unsigned missing; /* the first field that must be there and is not; COUNT: none */
    struct clr_managed_field fields[];
};

/* *MANAGED: the fields of CLASS in objects of TYPE; NULL if TYPE neither is the class nor derives
 * from it, or is no type. Fields that are missing are a problem of area library, once. RUNTIME only.
 * Connection's thread. */
enum clr_status clr_managed_bind(struct clr_dump *dump, enum clr_managed_class class, uint64_t type,
                                 const struct clr_managed **managed, struct clr_error *error);
/* The same for the type of OBJECT; NULL also where its MethodTable word is not saved. */
enum clr_status clr_managed_of(struct clr_dump *dump, enum clr_managed_class class, uint64_t object,
                               const struct clr_managed **managed, struct clr_error *error);

/* The same for COUNT names that are no row, in LAYOUT and its base types; ROW, static data, stands
 * for them. What is missing is no problem here: see managed->missing. Names with '.' need INDEX. */
enum clr_status clr_managed_find(struct clr_dump *dump, struct clr_layout *layout, const void *row,
                                 const char *const *names, const uint8_t *kinds, unsigned count,
                                 const struct clr_managed **managed, struct clr_error *error);

/* The number, word or reference in a field of OBJECT, unsigned; false if the field is missing, is a
 * struct, or is not saved. */
bool clr_managed_read(const struct clr_runtime *runtime, const struct clr_managed *managed,
                      unsigned field, uint64_t object, uint64_t *value);
/* The text of the string in a field is appended; *STRING is its address, 0 for null. False if the
 * field is missing, holds no string, or bytes are not saved. */
bool clr_managed_string(const struct clr_runtime *runtime, const struct clr_managed *managed,
                        unsigned field, uint64_t object, uint64_t *string, struct clr_text *text);
/* Where the field lies in a struct, or behind the MethodTable word, at BASE. It must not be missing.
 */
enum clr_status clr_managed_place(struct clr_dump *dump, const struct clr_managed_field *field,
                                  uint64_t base, struct clr_place *place, struct clr_error *error);

#endif
