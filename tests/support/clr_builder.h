/*
 * Builds a small fake .NET process, as a core file of a few KB: what tests of runtime, heap and
 * tables read instead of a real dump.
 *
 *     struct fake *f = fake_create(NULL);                     an 11 workstation process, x64
 *     uint64_t node = fake_class(f, 0, 3, 1);                 three words, the first a reference
 *     unsigned gen0 = fake_segment(f, 0, 0);
 *     uint64_t a = fake_object(f, gen0, node, 0), b = fake_object(f, gen0, node, 0);
 *     fake_put_word(f, a + f->word, b);                       a's first field
 *     struct fake_target t;
 *     fake_open(f, &t);                                       writes the core and opens it
 *     ... t.process, t.runtime, t.problems ...
 *     fake_close(&t);
 *     fake_destroy(f);
 *
 * Nothing of the layout is that of a real runtime: the offsets of all structures are the builder's
 * own and reach the reader through the descriptor alone. Only what the GC's algorithms fix is as it
 * must be (the object header, the count behind the MethodTable, GCDesc below it).
 *
 * All memory is little blocks at made-up addresses, all below 2^31 when words have four bytes. An
 * address that was never given out is not saved; fake_forget takes bytes away again. A test may
 * overwrite anything before it opens the process: that is how damage is made. Out of memory, and an
 * address that does not exist, end the test program.
 */
#ifndef TEST_CLR_BUILDER_H
#define TEST_CLR_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/process.h"
#include "runtime/runtime.h"

enum { FAKE_GENERATIONS = 5, FAKE_LOH = 3, FAKE_POH = 4, FAKE_FROZEN = 5 };

/* Of which process; zeroes are an x64 workstation process of .NET 11 with regions. */
struct fake_options {
    uint8_t word; /* 4 or 8; 0: 8 */
    bool big_endian;
    unsigned release;      /* 8 to 11; 0: 11. Decides contract versions and which names exist */
    bool segments;         /* the GC has segments, not regions */
    unsigned server_heaps; /* 0: workstation */
};

/* MethodTables that every process has. All but FREE are types of the module CORE. */
struct fake_known {
    uint64_t free, object, string, array, object_array, exception, canon, delegate,
        multicast_delegate, value_type, enumeration, int32, continuation, continuation_class;
    uint64_t core;      /* Module of System.Private.CoreLib */
    uint64_t allocator; /* the global LoaderAllocator */
    uint64_t binder;    /* the default AssemblyBinder */
};

struct fake {
    uint8_t word; /* bytes */
    bool big_endian;
    unsigned release;
    struct fake_known known;
    struct fake_private *own;
};

struct fake *fake_create(const struct fake_options *options);
void fake_destroy(struct fake *fake);

/* --- Memory ----------------------------------------------------------------------------------- */

/* SIZE zeroed bytes of native memory, aligned to 16. */
uint64_t fake_memory(struct fake *fake, uint64_t size);
void fake_put(struct fake *fake, uint64_t address, const void *bytes, size_t size);
void fake_put_u8(struct fake *fake, uint64_t address, uint8_t value);
void fake_put_u16(struct fake *fake, uint64_t address, uint16_t value);
void fake_put_u32(struct fake *fake, uint64_t address, uint32_t value);
void fake_put_u64(struct fake *fake, uint64_t address, uint64_t value);
void fake_put_word(struct fake *fake, uint64_t address, uint64_t value);
uint64_t fake_word(const struct fake *fake, uint64_t address);
uint32_t fake_u32(const struct fake *fake, uint64_t address);
/* Terminated texts in native memory, as the runtime keeps them. */
uint64_t fake_utf8(struct fake *fake, const char *text);
uint64_t fake_utf16(struct fake *fake, const char *ascii);
/* Leaves these bytes out of the core. */
void fake_forget(struct fake *fake, uint64_t address, uint64_t size);
/* Lets a PT_LOAD end at ADDRESS and another begin there, elsewhere in the file. */
void fake_split(struct fake *fake, uint64_t address);

/* --- The descriptor --------------------------------------------------------------------------- */

/* Offset of a field, size of a type. A name that this release does not have ends the program. */
uint64_t fake_offset(const struct fake *fake, const char *type, const char *field);
uint64_t fake_size(const struct fake *fake, const char *type);
/* Puts a word (or, by the field's width, less) into the field of the structure at ADDRESS. */
void fake_set(struct fake *fake, uint64_t address, const char *type, const char *field,
              uint64_t value);
uint64_t fake_get(const struct fake *fake, uint64_t address, const char *type, const char *field);
/* Address of a variable of the runtime that the descriptor names; see fake_set_variable. */
uint64_t fake_variable(const struct fake *fake, const char *name);
void fake_set_variable(struct fake *fake, const char *name, uint64_t value);

/* Takes a name out of the descriptor: a field, a size (FIELD is "!"), a global (TYPE is NULL). */
void fake_hide(struct fake *fake, const char *type, const char *field);
/* Changes a contract's version; NULL: not announced. */
void fake_contract(struct fake *fake, const char *name, const char *version);
/* Adds or changes a literal. */
void fake_literal(struct fake *fake, const char *name, uint64_t value);
/* Adds or changes a text. */
void fake_text(struct fake *fake, const char *name, const char *text);

/* --- Modules ---------------------------------------------------------------------------------- */

struct fake_module {
    const char *path;        /* NULL: none */
    const char *simple_name; /* NULL: none */
    const void *image;       /* bytes of a PE image (metadata_build_image); NULL: none */
    size_t image_size;
    bool mapped;          /* the image is the mapped form */
    const void *metadata; /* snapshot of a dynamic module; NULL: none */
    size_t metadata_size;
    bool is_dynamic, is_collectible;
    uint32_t type_rows; /* entries of the TypeDef map; 0: 32 */
    uint64_t allocator; /* 0: the global one */
    uint64_t binder;    /* 0: the default one */
    bool unlisted;      /* not in the list of assemblies */
};
/* Address of the Module. Its assembly is appended to the application domain's list. */
uint64_t fake_module(struct fake *fake, const struct fake_module *module);
/* Fills row RID of the module's TypeDef map. */
void fake_type_def(struct fake *fake, uint64_t module, uint32_t rid, uint64_t method_table);
/* Adds a TypeHandle to the module's table of instantiations; the entry. */
uint64_t fake_instantiation(struct fake *fake, uint64_t module, uint64_t handle);
/* A LoaderAllocator whose managed object is OBJECT; an AssemblyBinder whose context is OBJECT. */
uint64_t fake_allocator(struct fake *fake, uint64_t object);
uint64_t fake_binder(struct fake *fake, uint64_t object);
/* A slot that holds OBJECT and is in no handle table. */
uint64_t fake_slot(struct fake *fake, uint64_t object);

/* --- Types ------------------------------------------------------------------------------------ */

struct fake_series { /* of a GCDesc: BYTES of references from OFFSET (from the object's address) on
                      */
    uint64_t offset, bytes;
};
struct fake_type {
    uint64_t module;  /* 0: CoreLib */
    uint32_t rid;     /* TypeDef row; 0: none. It is entered into the module's map unless ... */
    bool instance_of; /* ... this is an instantiation of that row: then into the other table */
    uint32_t flags;   /* MTFlags; CLR_MT_CONTAINS_POINTERS is added where there are series */
    uint32_t component_size; /* not 0: the type has one, and the low half of FLAGS is it */
    uint32_t base_size;      /* 0: that of System.Object */
    uint64_t parent;         /* 0: System.Object; FAKE_NONE: none */
    const struct fake_series *series;
    size_t series_count;
    const int64_t *raw_desc; /* instead of series: the words of GCDesc, downward from the type */
    size_t raw_count;
    uint64_t element; /* TypeHandle of an array's element */
    const uint64_t *interfaces;
    uint16_t interface_count;
    const uint64_t *arguments; /* TypeHandles; the type then is generic by FLAGS */
    uint16_t argument_count;
    uint16_t inherited_dictionaries; /* in front of the type's own */
    uint32_t attributes;
    uint8_t norm_type;
    uint64_t canonical;  /* shares the class of this type; 0: has its own */
    uint64_t type_class; /* uses this EEClass, which belongs to another type */
    bool is_collectible;
    uint64_t loader_module; /* 0: the module */
    uint16_t instance_fields, static_fields;
};
#define FAKE_NONE UINT64_MAX

/* Address of the MethodTable. */
uint64_t fake_type(struct fake *fake, const struct fake_type *type);
/* A class with WORDS words of fields; bit i of REFERENCES: word i is a reference. */
uint64_t fake_class(struct fake *fake, uint32_t rid, unsigned words, uint64_t references);
/* ELEMENT[]; COMPONENT_SIZE bytes each; REFERENCES: each is a reference. */
uint64_t fake_array(struct fake *fake, uint64_t element, uint32_t component_size, bool references);

/* --- The heap --------------------------------------------------------------------------------- */

/* A new segment or region of GENERATION (0 to 2, FAKE_LOH, FAKE_POH, FAKE_FROZEN) of HEAP (0 for a
 * workstation); its number. With segments, 0, 1 and 2 mean the list of small objects; the newest
 * with generation 0 is the ephemeral one. */
unsigned fake_segment(struct fake *fake, unsigned heap, unsigned generation);
uint64_t fake_segment_address(const struct fake *fake, unsigned segment); /* HeapSegment */
uint64_t fake_segment_start(const struct fake *fake, unsigned segment);   /* first object */
uint64_t fake_segment_end(const struct fake *fake, unsigned segment);     /* next object */
/* Generation 1 or 0 begins here in the ephemeral segment (segments only). */
void fake_generation_start(struct fake *fake, unsigned heap, unsigned generation, uint64_t address);

/* Appends an object; COUNT elements for arrays and strings. Its address. */
uint64_t fake_object(struct fake *fake, unsigned segment, uint64_t type, uint32_t count);
uint64_t fake_string(struct fake *fake, unsigned segment, const char *ascii);
/* Appends a free block of SIZE bytes (at least three words, rounded up). */
uint64_t fake_free(struct fake *fake, unsigned segment, uint64_t size);
/* Appends SIZE bytes of hole: the allocation context of THREAD, which may be 0 for the global one.
 */
uint64_t fake_hole(struct fake *fake, unsigned segment, uint64_t thread, uint64_t size);
/* Appends SIZE bytes that are no object. */
uint64_t fake_rubbish(struct fake *fake, unsigned segment, uint64_t size, uint8_t fill);
/* The header word of an object. */
void fake_header(struct fake *fake, uint64_t object, uint32_t value);
/* Gives the object a sync block; its index. The header names it. */
uint32_t fake_sync_block(struct fake *fake, uint64_t object, uint32_t hash);

/* A handle of KIND (0 to 11) in the table of HEAP; SECONDARY of a dependent one. The slot. */
uint64_t fake_handle(struct fake *fake, unsigned heap, unsigned kind, uint64_t object,
                     uint64_t secondary);
/* Puts an object into the finalizer queue. LIST: 0 to 4 by generation (POH is 4), 5 critical and 6
 * ordinary ones that are ready. */
void fake_finalizable(struct fake *fake, unsigned heap, unsigned list, uint64_t object);

/* --- Threads ---------------------------------------------------------------------------------- */

/* Appends a managed thread to the runtime's list; OS_ID 0: none. Address of the Thread. */
uint64_t fake_thread(struct fake *fake, uint32_t managed_id, uint32_t os_id);
/* A register of the OS thread, by its place in NT_PRSTATUS (FAKE_SP: the stack pointer of x64). */
enum { FAKE_SP = 19 };
void fake_register(struct fake *fake, uint32_t os_id, unsigned index, uint64_t value);
void fake_context(struct fake *fake, uint64_t thread, uint64_t pointer, uint64_t limit);
/* An exception in flight. */
void fake_exception(struct fake *fake, uint64_t thread, uint64_t object);

/* --- Opening ---------------------------------------------------------------------------------- */

struct fake_target {
    struct clr_process *process;
    struct clr_problems *problems;
    struct clr_runtime *runtime;
};

/* Writes the core and gives its path; the file goes with the fake. May be called again after
 * changes: the file is written anew. */
const char *fake_path(struct fake *fake);
/* Writes and opens; a failure ends the program with its message. */
void fake_open(struct fake *fake, struct fake_target *target);
/* The same without writing (fake_path does), and with the failure given back. */
enum clr_status fake_try_open(struct fake *fake, struct fake_target *target,
                              struct clr_error *error);
void fake_close(struct fake_target *target);

#endif
