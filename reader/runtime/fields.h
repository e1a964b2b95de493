/*
 * The fields that a type declares (contract RuntimeTypeSystem): FieldDescs and their names.
 */
#ifndef CLR_RUNTIME_FIELDS_H
#define CLR_RUNTIME_FIELDS_H

#include "runtime/metadata.h"
#include "runtime/types.h"

struct clr_field {
    uint64_t address; /* of the FieldDesc */
    uint64_t type;    /* the MethodTable that was walked: declares the field, exact instantiation */
    uint64_t enclosing; /* the MethodTable that the FieldDesc names: the canonical one */
    uint32_t token;     /* 0x04…… */
    uint32_t offset; /* instance: bytes after the MethodTable pointer, in a struct from its start;
                        static: from the base of the type's statics; is_rva: the RVA */
    bool
        has_offset; /* false: the FieldDesc does not hold it (RVA too large, or made at run time) */
    uint8_t element_type; /* CorElementType: 0x12 for every reference, 0x11 for every struct */
    uint8_t protection;   /* ECMA field access: 1 private … 6 public */
    bool is_static, is_thread_static, is_rva;
    uint32_t attributes;                 /* ECMA FieldAttributes; 0 without metadata */
    const struct clr_metadata *metadata; /* of the declaring module; NULL if there is none */
    const char *name; /* bytes of the metadata, not checked: see clr_field_name; NULL without */
    size_t name_length;
};

/* The fields that one type declares itself, static ones too, in the order of the runtime: instance
 * fields first. Literals are not among them: the runtime keeps none. */
struct clr_field_walk {
    struct clr_runtime *runtime;
    struct clr_type type;
    const struct clr_metadata *metadata;
    uint64_t next; /* FieldDesc */
    uint32_t left;
};

/* False if TYPE is no MethodTable or its class cannot be read (a problem of area fields reports
 * the latter). Connection's thread only: names come from the cache of modules. */
bool clr_field_walk_start(struct clr_field_walk *walk, struct clr_runtime *runtime, uint64_t type);
/* False at the end; a damaged FieldDesc ends the walk with a problem of area fields. */
bool clr_field_next(struct clr_field_walk *walk, struct clr_field *field);

/* The field NAME of TYPE or the nearest base type that declares one. False if there is none. */
bool clr_field_find(struct clr_runtime *runtime, uint64_t type, const char *name,
                    struct clr_field *field);

/* Appends the name as valid UTF-8; '0x04000123' where metadata is missing. */
void clr_field_name(const struct clr_field *field, struct clr_text *text);

/* The RVA of an RVA field: from its FieldDesc, or from metadata where that has no room for it. */
bool clr_field_rva(const struct clr_field *field, uint32_t *rva);

/* Where an instance field of the (boxed) object at OBJECT lies. */
static inline uint64_t clr_field_slot(const struct clr_runtime *runtime, uint64_t object,
                                      const struct clr_field *field)
{
    return object + runtime->word + field->offset;
}

/* The word in the instance field NAME of an object: a reference or native integer. False if the
 * object has no such field or the bytes are not saved. */
bool clr_object_field_word(struct clr_runtime *runtime, uint64_t object, const char *name,
                           uint64_t *value);
/* The same for a field of SIZE bytes: 1, 2, 4 or 8; unsigned. */
bool clr_object_field_uint(struct clr_runtime *runtime, uint64_t object, const char *name,
                           size_t size, uint64_t *value);
/* The text of the string in field NAME is appended; *STRING is its address, 0 for null. False if
 * the object has no such field, what it holds is no string, or bytes are not saved. */
bool clr_object_field_string(struct clr_runtime *runtime, uint64_t object, const char *name,
                             uint64_t *string, struct clr_text *text);

#endif
