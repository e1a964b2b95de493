/*
 * What lies where in the objects of a type: its fields with exact types, made once a type and kept
 * with the dump. What reads values goes by this; no name is built and no signature read twice.
 */
#ifndef CLR_INSPECT_LAYOUT_H
#define CLR_INSPECT_LAYOUT_H

#include "inspect/fieldtype.h"
#include "runtime/ecma.h"

struct clr_member {
    struct clr_field field; /* of a literal: address and offset are 0 */
    const char *name;       /* valid UTF-8; '0x04000123' where metadata is missing */
    const char *type_name;  /* 'System.Int32', 'Zoo.Gen<Zoo.Pair>[]'; NULL: metadata is missing */
    uint64_t declaring;     /* the MethodTable that declares it, exact */
    uint8_t element;        /* CorElementType, as clr_field_kind says */
    bool is_literal, is_event;
    bool is_named; /* a struct, or perhaps an enum: see clr_member_type */
    bool is_found; /* private: TYPE and SIZE have been looked for */
    uint64_t type; /* use clr_member_type; of a reference as in clr_field_kind */
    uint32_t size;
};

/* One constant of an enum, as its bits. */
struct clr_enum_name {
    uint64_t value;
    const char *name;
    uint32_t order; /* of declaration */
};

struct clr_managed;

struct clr_layout {
    struct clr_type type;
    struct clr_layout *parent;  /* of the base type, NULL if none */
    unsigned depth;             /* base types above */
    struct clr_member *members; /* declared here: instance fields, statics, then literals */
    size_t count, instance_count;
    uint64_t size;  /* of a struct inside another: bytes; else the bytes of an object's fields */
    bool is_struct; /* or enum, or primitive: may lie inside another */
    bool is_inline_array; /* its only field is repeated */
    bool is_core;         /* defined in the runtime's own library */
    /* Looked for on first use. */
    bool known_looked, enum_looked, is_flags, collection_looked;
    const char *bare_name;
    struct clr_managed *managed;        /* fields of the libraries' classes that were asked for */
    const struct clr_known_kind *known; /* a struct whose value is one text or number; NULL */
    const struct clr_managed *known_fields;
    struct clr_enum_name *names; /* by value, then in the order of declaration */
    size_t name_count;
    const struct clr_collection *collection;
    struct clr_layout *collection_of; /* the base type whose fields are the collection's */
};

/* The layout of TYPE; NULL, with CLR_OK, if it is no type that can be read. RUNTIME only. Lives
 * with the dump. Connection's thread. */
enum clr_status clr_layout_get(struct clr_dump *dump, uint64_t type, struct clr_layout **layout,
                               struct clr_error *error);

/* The base type LEVEL levels below the root of the hierarchy; LAYOUT itself is level layout->depth.
 */
static inline const struct clr_layout *clr_layout_level(const struct clr_layout *layout,
                                                        unsigned level)
{
    while (layout && layout->depth > level)
        layout = layout->parent;
    return layout;
}

/* The instance field NAME, of the type or the nearest base type that declares one; NULL. */
const struct clr_member *clr_layout_find(const struct clr_layout *layout, const char *name,
                                         size_t length);

/* The MethodTable of the struct or enum in the field; 0: it holds none, or it is not known. Needs
 * the walk (INDEX): types are looked up by name. *SIZE, if not NULL: bytes of the field, 0 if not
 * known. */
enum clr_status clr_member_type(struct clr_dump *dump, const struct clr_member *member,
                                uint64_t *type, uint32_t *size, struct clr_error *error);

/* The constants of an enum. */
enum clr_status clr_layout_names(struct clr_dump *dump, struct clr_layout *layout,
                                 struct clr_error *error);

/* Bytes that a variable of ELEMENT takes; 0 for structs and what is not known. */
uint32_t clr_element_size(uint8_t element, uint8_t word);
/* 'boolean', 'i4', 'string', 'valuetype' …: as in schema.md; NULL for what is none. */
const char *clr_element_text(uint8_t element);
bool clr_element_is_reference(uint8_t element);

/* The type's name without arguments: 'System.Collections.Generic.Dictionary+Entry'. */
enum clr_status clr_layout_bare_name(struct clr_dump *dump, struct clr_layout *layout,
                                     const char **name, struct clr_error *error);
/* Zeroed memory that lives with the dump's layouts, of which there must be one; NULL: no memory. */
void *clr_layout_alloc(struct clr_dump *dump, size_t size);

#endif
