/*
 * One object by its address: type, exact size, string and array parts, header word.
 *
 * A reference points at the MethodTable word; the header word lies before it, in the last bytes of
 * the previous object's size. Sizes are rounded up to the alignment (schema.md, Meaning 2).
 */
#ifndef CLR_RUNTIME_OBJECT_H
#define CLR_RUNTIME_OBJECT_H

#include "runtime/runtime.h"

/* The MethodTable of the object at ADDRESS, GC mark bits taken off; 0 or false if unreadable. */
bool clr_object_type(const struct clr_runtime *runtime, uint64_t address, uint64_t *type);

/* Length and first character of the string at ADDRESS (its type is not checked). */
bool clr_object_string(const struct clr_runtime *runtime, uint64_t address, uint32_t *length,
                       uint64_t *characters);
/* Appends the string's text as UTF-8; false if part of it is not saved (nothing is appended). */
bool clr_object_string_text(const struct clr_runtime *runtime, uint64_t address,
                            struct clr_text *text);
/* 64-bit FNV-1a over the UTF-16LE bytes: equal between dumps and versions. */
bool clr_object_string_hash(const struct clr_runtime *runtime, uint64_t address, uint64_t *hash);

/* Elements of the array at ADDRESS. */
bool clr_object_count(const struct clr_runtime *runtime, uint64_t address, uint32_t *count);

/* NONE: nothing, or a thin lock of a runtime that does not describe it (.NET 8). */
enum clr_header_kind {
    CLR_HEADER_NONE,
    CLR_HEADER_THIN_LOCK,
    CLR_HEADER_HASH,
    CLR_HEADER_SYNC_BLOCK
};
struct clr_header {
    enum clr_header_kind kind;
    uint32_t word;
    uint32_t hash;       /* the object's hash code, in the header or its sync block; 0: none yet */
    uint32_t sync_index; /* 0 if it has no sync block */
    uint64_t sync_block;
    uint32_t owner, recursion; /* of a thin lock: managed thread id */
    bool finalizer_done;       /* run or suppressed */
};
bool clr_object_header(const struct clr_runtime *runtime, uint64_t address,
                       struct clr_header *header);

/* The object that a handle (the address of a slot) holds; false if HANDLE is 0 or unreadable. */
bool clr_handle_object(const struct clr_runtime *runtime, uint64_t handle, uint64_t *object);

#endif
