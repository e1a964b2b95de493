/*
 * Private to reader/runtime: how loader.c has a module read.
 */
#ifndef CLR_RUNTIME_MODULE_H
#define CLR_RUNTIME_MODULE_H

#include "base/arena.h"
#include "runtime/loader.h"

/* A module and what it owns. The strings that struct clr_module shows lie in TEXTS. */
struct clr_module_record {
    struct clr_module shown;
    struct clr_arena *texts;         /* set it before the module is read */
    uint8_t *metadata_copy;          /* NULL when the bytes lie in one run */
    struct clr_metadata_hole *holes; /* what is not saved of them */
    size_t hole_count;
};

/* Reads the module at record->shown.address into the rest of the record. What is damaged is left
 * out with a problem of area modules; only a lack of memory is an error. */
enum clr_status clr_module_read(struct clr_runtime *runtime, struct clr_module_record *module,
                                struct clr_error *error);
/* Frees a record, however far it was read; NULL is fine. */
void clr_module_destroy(struct clr_module_record *module);

#endif
