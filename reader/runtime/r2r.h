/*
 * ReadyToRun images: native code that came with a module (contract ExecutionManager).
 */
#ifndef CLR_RUNTIME_R2R_H
#define CLR_RUNTIME_R2R_H

#include "runtime/code.h"

struct clr_r2r_entry {
    uint64_t start;  /* of the code */
    uint64_t method; /* MethodDesc */
};

struct clr_r2r {
    uint64_t info; /* ReadyToRunInfo; of a composite image the one that its components share */
    uint64_t base; /* what RVAs count from */
    uint64_t begin, end; /* of its code section */
    uint64_t functions;  /* RUNTIME_FUNCTIONs, ascending */
    uint32_t function_count;
    uint32_t first_cold; /* number of the first cold function; function_count if there is none */
    uint64_t hot_cold;   /* pairs of u32 (cold, hot), ascending */
    uint32_t hot_cold_count; /* of u32 */
    uint16_t major, minor;
    uint32_t debug_rva, debug_size; /* 0: none */
    struct clr_r2r_entry *entries;  /* methods that were prepared, ascending */
    size_t entry_count, entry_room;
};

/* Reads the image of MODULE, whose code lies in [begin, end). On failure (no memory) nothing is
 * left; what cannot be read is a problem of area native_codes. */
enum clr_status clr_r2r_open(struct clr_runtime *runtime, uint64_t module, uint64_t begin,
                             uint64_t end, struct clr_r2r **image, struct clr_error *error);
void clr_r2r_close(struct clr_r2r *image);

/* The number of the runtime function that begins at RVA; false if none does. */
bool clr_r2r_function(const struct clr_runtime *runtime, const struct clr_r2r *image, uint32_t rva,
                      uint32_t *number);
/* Code, sizes and addresses of information for the method that ENTRY says; COLD: its cold part,
 * size 0 if it has none. */
void clr_r2r_code(const struct clr_runtime *runtime, const struct clr_r2r *image,
                  const struct clr_r2r_entry *entry, struct clr_code *code, struct clr_code *cold);

/* Length of a method's code as its GC information says; 0 if not readable. VERSION of the format.
 */
uint64_t clr_gc_code_length(const struct clr_runtime *runtime, uint64_t gc_info, unsigned version);

/* Where in the NativeArray at ADDRESS (of at most SIZE bytes) element INDEX begins; false if it has
 * none or is damaged. */
bool clr_native_array_find(const struct clr_runtime *runtime, uint64_t address, uint32_t size,
                           uint32_t index, uint64_t *element);

#endif
