/*
 * Types: MethodTables, TypeDescs, and their names (contract RuntimeTypeSystem).
 */
#ifndef CLR_RUNTIME_TYPES_H
#define CLR_RUNTIME_TYPES_H

#include "runtime/runtime.h"

enum clr_type_kind {
    CLR_KIND_CLASS,
    CLR_KIND_STRUCT,
    CLR_KIND_ENUM,
    CLR_KIND_INTERFACE,
    CLR_KIND_DELEGATE,
    CLR_KIND_ARRAY,
    CLR_KIND_SZARRAY,
    CLR_KIND_STRING,
    CLR_KIND_FREE,
};
const char *clr_type_kind_text(enum clr_type_kind kind); /* as in schema.md */

enum { CLR_VIRTUALS_OF_CHUNK = 8 }; /* methods in each piece of a type's table of virtual ones */

/* Bits of MTFlags that others need. */
enum {
    CLR_MT_HAS_COMPONENT_SIZE = (int)0x80000000,
    CLR_MT_CONTAINS_POINTERS = 0x01000000,
    CLR_MT_COLLECTIBLE = 0x00200000,
    CLR_MT_FINALIZER = 0x00100000,
    CLR_MT_CATEGORY = 0x000f0000,
    CLR_MT_IS_ARRAY_MASK = 0x000c0000,
    CLR_MT_IS_ARRAY = 0x00080000,
    CLR_MT_GENERICS = 0x00000030, /* only where no component size */
};

struct clr_type {
    uint64_t address;
    uint32_t flags, flags2;
    uint32_t base_size, component_size;                                  /* bytes */
    uint64_t parent, module, type_class, canonical, auxiliary, per_inst; /* 0 if none */
    uint64_t loader_module; /* as the MethodTable has it: the module, or before .NET 9 the one whose
                               unloading takes the type away; see clr_type_allocator */
    uint32_t
        token; /* 0x02…… TypeDef, 0 if it has none (arrays, continuations), or if it is not known
                       (.NET 8: the row ids from 65535 on) */
    uint32_t attributes; /* CorTypeAttr */
    uint8_t norm_type;   /* InternalCorElementType */
    uint16_t interfaces;
    enum clr_type_kind kind;
    uint32_t rank;           /* of arrays, 1 to 32, else 0 */
    uint64_t element_handle; /* TypeHandle of an array's element, else 0 */
    bool contains_references, has_finalizer, is_generic, is_generic_definition, is_collectible,
        is_continuation;
};

/* Whether ADDRESS is a MethodTable: readable, aligned, and its class points back at it (with the
 * exceptions that cdac knows: Free, continuation types). */
bool clr_type_valid(const struct clr_runtime *runtime, uint64_t address);

/* Reads and checks one; false if it is none or not saved. */
bool clr_type_read(const struct clr_runtime *runtime, uint64_t address, struct clr_type *type);

/* The type's name as C# writes it, with namespace: 'System.Collections.Generic.Dictionary<System.
 * String, Zoo.Node>+Entry[]'. Never NULL: 'module!0x02000123' or '<unknown 0x…>' where metadata is
 * missing, with a problem of area types. Lives with the runtime, terminated, valid UTF-8. */
const char *clr_type_name(struct clr_runtime *runtime, uint64_t address);
/* Whether NAME only says that memory ran out: ask again later, and do not keep it. */
bool clr_type_name_lost(const char *name);
/* The namespace part (of the outermost type); '' if it has none; NULL if not readable. */
const char *clr_type_namespace(struct clr_runtime *runtime, uint64_t address);

/* Name of a TypeHandle (MethodTable or TypeDesc). */
const char *clr_handle_type_name(struct clr_runtime *runtime, uint64_t handle);

/* Interface INDEX (< type->interfaces) as it stands in the map of the type. An interface that is
 * instantiated over the type itself (IEquatable<Self>) often stands there as its open definition,
 * because the runtime has not loaded the exact one. False past the last, or not saved. */
bool clr_type_interface(const struct clr_runtime *runtime, const struct clr_type *type,
                        uint32_t index, uint64_t *interface_type);

/* TypeHandle of generic argument INDEX; false past the last. */
bool clr_type_argument(const struct clr_runtime *runtime, const struct clr_type *type,
                       uint32_t index, uint64_t *handle);
/* The MethodTable of the open definition, 0 if not loaded or not generic. */
uint64_t clr_type_definition(struct clr_runtime *runtime, const struct clr_type *type);
/* LoaderAllocator of a collectible type, 0 for others. */
uint64_t clr_type_allocator(const struct clr_runtime *runtime, const struct clr_type *type);

/* How many fields an EEClass (clr_type.type_class) has; as in its list: instance fields count the
 * inherited ones, static ones do not. False if this runtime does not describe it. */
struct clr_class_counts {
    uint32_t instance_fields, static_fields, thread_statics;
};
bool clr_class_counts(const struct clr_runtime *runtime, uint64_t type_class,
                      struct clr_class_counts *counts);

/* Whether PARENT is among the base types of ADDRESS, or it itself. */
bool clr_type_derives(const struct clr_runtime *runtime, uint64_t address, uint64_t parent);

#endif
