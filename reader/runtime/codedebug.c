/*
 * The DebugInfo of one code: where its blob is, which format it has, and what it says.
 *
 * The blob's address stands in the JIT's header of the code or in the image's debug section
 * (code.c, r2r.c). A blob does not hold its size: as much as is saved is looked at, a little first.
 * For the JIT's the contract says the format, for an image its ReadyToRun version; where both may
 * be, the one that fits.
 */
#include "runtime/debuginfo.h"

#include <string.h>

#include "base/alloc.h"
#include "runtime/r2r.h"

void clr_debug_blob_deinit(struct clr_debug_blob *blob)
{
    clr_free(blob->copy);
    *blob = (struct clr_debug_blob){0};
}

/* At most WANT saved bytes from ADDRESS on, copied together if they lie in several pieces. */
static enum clr_status fetch(const struct clr_runtime *runtime, uint64_t address, size_t want,
                             struct clr_debug_blob *blob, const uint8_t **bytes, size_t *size,
                             struct clr_error *error)
{
    uint64_t got, piece;
    *bytes = clr_view_constant(runtime->process, address, want, &got);
    *size = (size_t)got;
    if (!*bytes || got == want || !clr_view_constant(runtime->process, address + got, 1, &piece))
        return CLR_OK;
    if (want > blob->room) {
        uint8_t *grown = clr_realloc(blob->copy, want, 1);
        if (!grown)
            return clr_no_memory(error);
        blob->copy = grown;
        blob->room = want;
    }
    for (*size = 0; *size < want; *size += (size_t)piece) {
        const uint8_t *from =
            clr_view_constant(runtime->process, address + *size, want - *size, &piece);
        if (!from || piece == 0)
            break;
        memcpy(blob->copy + *size, from, (size_t)piece);
    }
    *bytes = blob->copy;
    return CLR_OK;
}

/* The formats that a blob may have, the likeliest first; how many. */
static unsigned candidates(const struct clr_runtime *runtime, const struct clr_code *code,
                           enum clr_debug_format_id ids[2])
{
    const struct clr_contract_row *row = runtime->contract[CLR_CONTRACT_DEBUG_INFO];
    enum { LAST_OF_NIBBLES = 15, OF_FORMAT_1 = 16, OF_C1 = 26 }; /* ReadyToRun versions */
    if (code->image) {
        uint16_t major = code->image->major;
        ids[0] = major <= LAST_OF_NIBBLES ? CLR_FORMAT_NIBBLES
                 : major == OF_FORMAT_1   ? CLR_FORMAT_1
                                          : CLR_FORMAT_C1;
        ids[1] = CLR_FORMAT_2;
        return major > OF_FORMAT_1 && major < OF_C1 ? 2 : 1;
    }
    ids[0] = row->flags == CLR_DEBUG_NIBBLES     ? CLR_FORMAT_NIBBLES
             : row->flags == CLR_DEBUG_VERSION_1 ? CLR_FORMAT_1
                                                 : CLR_FORMAT_C1;
    ids[1] = CLR_FORMAT_2;
    return row->flags == CLR_DEBUG_VERSION_2 ? 2 : 1;
}

/* On-stack replacement, and with it the flag byte, is built in where pointers have 64 bits. */
static bool has_flag_byte(const struct clr_runtime *runtime, const struct clr_code *code)
{
    return !code->image && runtime->word == 8;
}

/* Whether both chunks can be decoded in FORMAT. */
static enum clr_decoded fits(const struct clr_debug_info *info)
{
    struct clr_bounds bounds = {0};
    struct clr_variables variables = {0};
    enum clr_decoded result = clr_bounds_decode(info->format, info->bytes + info->bounds.offset,
                                                info->bounds.size, &bounds);
    if (result == CLR_DECODED)
        result = clr_variables_decode(info->format, info->bytes + info->variables.offset,
                                      info->variables.size, 1, &variables);
    clr_bounds_deinit(&bounds);
    clr_variables_deinit(&variables);
    return result;
}

static void report(struct clr_runtime *runtime, const struct clr_code *code, const char *area,
                   const char *what)
{
    clr_problem_once(runtime->problems, CLR_WARNING, area, false, code->start, 0,
                     "code 0x%llx: its debug information at 0x%llx %s; it has no rows",
                     (unsigned long long)code->start, (unsigned long long)code->debug_info, what);
}

enum clr_status clr_debug_open(struct clr_runtime *runtime, const struct clr_code *code,
                               struct clr_debug_blob *blob, bool *found, struct clr_error *error)
{
    static const size_t tries[] = {512, 64 * 1024, 4 * 1024 * 1024, 64 * 1024 * 1024};
    enum clr_debug_format_id ids[2];
    *found = false;
    if (code->debug_info == 0 || code->is_cold || !runtime->contract[CLR_CONTRACT_DEBUG_INFO])
        return CLR_OK;
    unsigned count = candidates(runtime, code, ids);
    for (size_t i = 0; i < sizeof tries / sizeof tries[0]; i++) {
        const uint8_t *bytes;
        size_t size;
        CLR_TRY(fetch(runtime, code->debug_info, tries[i], blob, &bytes, &size, error));
        if (!bytes) {
            report(runtime, code, "debug_bounds", "is not saved");
            return CLR_OK;
        }
        for (unsigned k = 0; k < count; k++) {
            if (!clr_debug_split(&clr_debug_formats[ids[k]], has_flag_byte(runtime, code),
                                 &runtime->debug, bytes, size, &blob->info))
                continue;
            enum clr_decoded result = count == 1 ? CLR_DECODED : fits(&blob->info);
            if (result == CLR_DECODED_NOMEM)
                return clr_no_memory(error);
            if (result == CLR_DECODED) {
                *found = true;
                return CLR_OK;
            }
        }
        if (size < tries[i])
            break;
    }
    report(runtime, code, "debug_bounds", "is damaged or not saved as a whole");
    return CLR_OK;
}

enum clr_status clr_code_bounds(struct clr_runtime *runtime, const struct clr_code *code,
                                bool uninstrumented, struct clr_debug_blob *blob,
                                struct clr_bounds *bounds, struct clr_error *error)
{
    bool found;
    bounds->count = 0;
    CLR_TRY(clr_debug_open(runtime, code, blob, &found, error));
    if (!found)
        return CLR_OK;
    const struct clr_debug_info *info = &blob->info;
    const struct clr_debug_chunk *chunk =
        uninstrumented && info->uninstrumented.size ? &info->uninstrumented : &info->bounds;
    enum clr_decoded result =
        clr_bounds_decode(info->format, info->bytes + chunk->offset, chunk->size, bounds);
    if (result == CLR_DECODED_NOMEM)
        return clr_no_memory(error);
    const struct clr_codes *codes;
    CLR_TRY(clr_codes_need(runtime, NULL, &codes, error));
    uint64_t total = clr_code_total(codes, code);
    /* Offsets ascend, so the last is the highest. */
    if (result == CLR_DECODED && total != 0 && bounds->count != 0 &&
        bounds->items[bounds->count - 1].native_offset > total)
        result = CLR_DECODED_BAD;
    if (result == CLR_DECODED_BAD) {
        bounds->count = 0;
        report(runtime, code, "debug_bounds", "holds impossible bounds");
    }
    return CLR_OK;
}

enum clr_status clr_code_variables(struct clr_runtime *runtime, const struct clr_code *code,
                                   struct clr_debug_blob *blob, struct clr_variables *variables,
                                   struct clr_error *error)
{
    const struct clr_arch *cpu = clr_process_info(runtime->process)->cpu;
    uint32_t scale = cpu ? cpu->variable_scale : 1;
    bool found;
    variables->count = 0;
    CLR_TRY(clr_debug_open(runtime, code, blob, &found, error));
    if (!found)
        return CLR_OK;
    const struct clr_debug_info *info = &blob->info;
    enum clr_decoded result = clr_variables_decode(
        info->format, info->bytes + info->variables.offset, info->variables.size, scale, variables);
    if (result == CLR_DECODED_NOMEM)
        return clr_no_memory(error);
    if (result == CLR_DECODED_BAD)
        report(runtime, code, "debug_vars", "holds impossible variables");
    return CLR_OK;
}

enum clr_status clr_code_il_offset(struct clr_runtime *runtime, const struct clr_code *code,
                                   uint64_t native_offset, bool *found, uint32_t *il_offset,
                                   struct clr_error *error)
{
    struct clr_debug_blob blob = {0};
    struct clr_bounds bounds = {0};
    size_t index = 0;
    enum clr_status status = clr_code_bounds(runtime, code, true, &blob, &bounds, error);
    *found = status == CLR_OK && native_offset <= UINT32_MAX &&
             clr_bounds_find(&bounds, (uint32_t)native_offset, &index);
    if (*found)
        *il_offset = (uint32_t)bounds.items[index].il_offset;
    clr_bounds_deinit(&bounds);
    clr_debug_blob_deinit(&blob);
    return status;
}
