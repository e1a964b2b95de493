/*
 * Private to reader/runtime: where the bindings of the contracts stand.
 *
 * Each contract's file owns the array that fills its layout struct (runtime.h); the rows of
 * contracts.c point at these arrays. An array ends with CLR_BINDINGS_END.
 */
#ifndef CLR_RUNTIME_CONTRACTS_H
#define CLR_RUNTIME_CONTRACTS_H

#include "runtime/runtime.h"

extern const struct clr_binding clr_object_bindings[];     /* object.c: struct clr_object_layout */
extern const struct clr_binding clr_sync_block_bindings[]; /* object.c: the same struct */
extern const struct clr_binding clr_types_bindings[];      /* types.c: struct clr_types_layout */
extern const struct clr_binding clr_loader_bindings[];     /* loader.c: struct clr_loader_layout */
extern const struct clr_binding clr_metadata_bindings[];   /* loader.c: the same struct */
extern const struct clr_binding clr_thread_bindings[];     /* thread.c: struct clr_thread_layout */
extern const struct clr_binding clr_gc_bindings[];         /* gc.c: struct clr_gc_layout */
extern const struct clr_binding clr_method_bindings[];     /* methods.c: struct clr_method_layout */
extern const struct clr_binding clr_code_bindings[];       /* code.c: struct clr_code_layout */
extern const struct clr_binding clr_versions_bindings[];   /* versions.c */
extern const struct clr_binding clr_precode_bindings[];    /* precode.c */
extern const struct clr_binding clr_debug_bindings[];      /* debuginfo.c */
extern const struct clr_binding clr_exception_bindings[];  /* exception.c */
extern const struct clr_binding clr_statics_bindings[];    /* statics.c */
extern const struct clr_binding clr_thread_statics_bindings[]; /* statics.c */
extern const struct clr_binding clr_gc_frame_bindings[];       /* thread.c */
extern const struct clr_binding clr_wrappers_bindings[];       /* handles.c */

/* Free what the caches of the runtime hold; NULL is fine. */
void clr_module_cache_destroy(struct clr_module_cache *cache); /* loader.c */
void clr_name_cache_destroy(struct clr_name_cache *cache);     /* typename.c */
void clr_code_cache_destroy(struct clr_code_cache *cache);     /* code.c */

#endif
