/*
 * Methods: MethodDescs, which are to methods what MethodTables are to types (contract
 * RuntimeTypeSystem).
 */
#ifndef CLR_RUNTIME_METHODS_H
#define CLR_RUNTIME_METHODS_H

#include "runtime/loader.h"
#include "runtime/loop.h"
#include "runtime/types.h"

enum clr_method_kind {
    CLR_METHOD_IL,
    CLR_METHOD_FCALL,   /* implemented in the runtime */
    CLR_METHOD_PINVOKE, /* declared with DllImport */
    CLR_METHOD_EEIMPL,  /* Invoke of a delegate */
    CLR_METHOD_ARRAY,   /* Get, Set, Address and constructors of arrays */
    CLR_METHOD_INSTANTIATED,
    CLR_METHOD_COM,
    CLR_METHOD_DYNAMIC, /* System.Reflection.Emit.DynamicMethod, and stubs of the runtime */
};

struct clr_method {
    uint64_t address, chunk;
    uint64_t type;   /* MethodTable that declares it: of a generic type the one that shares code */
    uint64_t module; /* of that type; 0 if it has none */
    uint32_t token;  /* 0x06……; 0 if it has no metadata */
    enum clr_method_kind kind;
    uint16_t flags, flags3, slot;
    bool is_static, has_own_slot, has_native_slot, is_tiered, is_unboxing_stub;
    bool is_stub;  /* DYNAMIC: made by the runtime, no DynamicMethod */
    uint32_t size; /* bytes of the MethodDesc with its optional parts; 0: not described */
};

/* Reads the MethodDesc at ADDRESS; false if it is none (its chunk does not hold it, the chunk's
 * type is no type) or not saved. */
bool clr_method_read(const struct clr_runtime *runtime, uint64_t address,
                     struct clr_method *method);

/* Where in the MethodDesc its own slot (has_own_slot) stands; false if not described. */
bool clr_method_slot_offset(const struct clr_runtime *runtime, const struct clr_method *method,
                            uint64_t *offset);
/* The address of the code that was made last, as the method's own slot has it; 0 if it has no slot,
 * or none was made. */
uint64_t clr_method_native_slot(const struct clr_runtime *runtime, const struct clr_method *method);

/* The methods that a type brings; those of an instantiation are the ones of the type whose code it
 * shares. Instantiations of generic methods are not among them: clr_module_methods. */
struct clr_method_walk {
    const struct clr_runtime *runtime;
    struct clr_problems *problems;
    uint64_t type, chunk, next; /* MethodDesc */
    uint32_t left;              /* of the chunk */
    uint64_t end;
    struct clr_loop loop;
};
/* False if TYPE is none, or has no methods of its own. */
bool clr_method_walk_start(struct clr_method_walk *walk, const struct clr_runtime *runtime,
                           uint64_t type);
/* False at the end; a damaged chunk ends the walk with a problem of area methods. */
bool clr_method_next(struct clr_method_walk *walk, struct clr_method *method);

/* Calls EACH for the instantiations of generic methods that MODULE keeps (since .NET 10). False
 * from EACH stops. */
enum clr_status clr_module_methods(struct clr_runtime *runtime, const struct clr_module *module,
                                   bool (*each)(void *context, uint64_t method), void *context,
                                   struct clr_error *error);

/* The bare name: 'OnChanged', '.ctor', '<Main>b__0'; '0x06000123' where metadata is missing. */
void clr_method_name(struct clr_runtime *runtime, const struct clr_method *method,
                     struct clr_text *text);
/* 'Zoo.Subscriber.OnChanged'; of a DynamicMethod and of stubs the bare name. */
void clr_method_full_name(struct clr_runtime *runtime, const struct clr_method *method,
                          struct clr_text *text);
/* The same by address; false, and '<unknown method 0x…>', if it is none. */
bool clr_method_full_name_at(struct clr_runtime *runtime, uint64_t address, struct clr_text *text);
/* 'System.Int32 Add<System.String>(System.String)'; false, and nothing appended, if the signature
 * cannot be read. */
bool clr_method_signature(struct clr_runtime *runtime, const struct clr_method *method,
                          struct clr_text *text);
/* Where its IL begins; 0 if it has none that is saved with its module. */
uint64_t clr_method_il(struct clr_runtime *runtime, const struct clr_method *method);
/* The RVA column of its MethodDef row and its metadata; NULL if it has none. */
const struct clr_metadata *clr_method_metadata(struct clr_runtime *runtime,
                                               const struct clr_method *method);

#endif
