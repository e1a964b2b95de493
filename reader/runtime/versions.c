/*
 * Which of a method's native codes runs now, and how it was optimized.
 *
 *     MethodDesc.CodeData --> MethodDescCodeData.VersioningState --> state --> list of versions
 *
 *   what                name                                        meaning
 *   default version     MethodDescCodeData.OptimizationTier u32     its tier (11)
 *                       MethodDescVersioningState.Flags u8          4: it is the active one
 *   further versions    .NativeCodeVersionNode, then .Next          list
 *   a version           NativeCodeVersionNode.NativeCode            0: not made yet
 *                       .Flags u32                                  1: the active one of its IL
 *                                                                   version
 *                       .OptimizationTier u32 (11)                  as enum clr_tier
 *
 * The default version is the first code a method got: its ReadyToRun code, or what the JIT made
 * first. A method without versioning state has only that. Where a method was rejitted, each IL
 * version has an active child; of several the code that was made last wins: the method's own slot
 * holds it.
 *
 * The tier of the default version is not kept before 11, and often not set there: it is tier 0
 * where the method takes part in tiering and was compiled by the JIT (a flag of the MethodDesc),
 * else optimized.
 *
 * Where the contract is not announced (8), the active code is the one that the method's slot leads
 * to, its own or that in its type's table of virtual methods: to the code itself, or through a
 * precode, where its instructions are known (clr_arch.target_cell).
 * The tier of one among several is not known then.
 *
 * Knowledge: the runtime's docs/design/datacontracts/CodeVersions.md, codeversion.h.
 */
#include "runtime/versions.h"

#include "runtime/contracts.h"
#include "runtime/precode.h"

enum {
    DEFAULT_IS_ACTIVE = 4, /* of the state's flags */
    NODE_IS_ACTIVE = 1,
    TIERS_KNOWN = CLR_TIER_1_INSTRUMENTED,
};

#define AT(m) offsetof(struct clr_versions_layout, m)

const struct clr_binding clr_versions_bindings[] = {
    {AT(data_state), CLR_FIELD, 0, false, "MethodDescCodeData", "VersioningState"},
    {AT(data_tier), CLR_FIELD, 4, true, "MethodDescCodeData", "OptimizationTier"},
    {AT(state_nodes), CLR_FIELD, 0, false, "MethodDescVersioningState", "NativeCodeVersionNode"},
    {AT(state_flags), CLR_FIELD, 1, false, "MethodDescVersioningState", "Flags"},
    {AT(node_next), CLR_FIELD, 0, false, "NativeCodeVersionNode", "Next"},
    {AT(node_code), CLR_FIELD, 0, false, "NativeCodeVersionNode", "NativeCode"},
    {AT(node_flags), CLR_FIELD, 4, false, "NativeCodeVersionNode", "Flags"},
    {AT(node_tier), CLR_FIELD, 4, true, "NativeCodeVersionNode", "OptimizationTier"},
    {AT(node_il_version), CLR_FIELD, 0, true, "NativeCodeVersionNode", "ILVersionId"},
    CLR_BINDINGS_END,
};

static uint8_t known_tier(uint32_t tier)
{
    return tier <= TIERS_KNOWN ? (uint8_t)tier : (uint8_t)CLR_TIER_UNKNOWN;
}

/* What is known of the versions of one method. */
struct versions {
    const struct clr_runtime *runtime;
    const struct clr_method *method;
    uint64_t state; /* 0: none */
    bool has_default_tier;
    uint32_t default_tier;
    uint8_t state_flags;
};

static struct versions read_versions(const struct clr_runtime *runtime,
                                     const struct clr_method *method)
{
    const struct clr_versions_layout *l = &runtime->versions;
    struct versions v = {.runtime = runtime, .method = method};
    uint64_t data;
    if (!runtime->contract[CLR_CONTRACT_VERSIONS] ||
        !clr_field_word(runtime, method->address, runtime->methods.code_data, &data) || data == 0)
        return v;
    v.has_default_tier = clr_field_u32(runtime, data, l->data_tier, &v.default_tier);
    if (!clr_field_word(runtime, data, l->data_state, &v.state) ||
        !clr_field_u8(runtime, v.state, l->state_flags, &v.state_flags))
        v.state = 0;
    return v;
}

/* The tier of code that is the default version. */
static uint8_t default_tier(const struct versions *v, const struct clr_code *code)
{
    if (code->kind == CLR_CODE_R2R)
        return CLR_TIER_R2R;
    if (code->kind == CLR_CODE_STUB)
        return CLR_TIER_UNKNOWN;
    if (v->has_default_tier && known_tier(v->default_tier) != CLR_TIER_UNKNOWN)
        return known_tier(v->default_tier);
    return v->method->is_tiered ? CLR_TIER_0 : CLR_TIER_OPTIMIZED;
}

/* Whether a node of the list is CODE; its tier and flag. */
static bool find_node(const struct versions *v, uint64_t start, uint8_t *tier, bool *active)
{
    const struct clr_runtime *runtime = v->runtime;
    const struct clr_versions_layout *l = &runtime->versions;
    struct clr_loop loop = {0};
    uint64_t node, code;
    uint32_t flags, value;
    if (v->state == 0 || !clr_field_word(runtime, v->state, l->state_nodes, &node))
        return false;
    while (node != 0 && !clr_loop_again(&loop, node)) {
        if (!clr_field_word(runtime, node, l->node_code, &code))
            return false;
        if (code == start) {
            *active =
                clr_field_u32(runtime, node, l->node_flags, &flags) && (flags & NODE_IS_ACTIVE);
            *tier = clr_field_u32(runtime, node, l->node_tier, &value) ? known_tier(value)
                                                                       : (uint8_t)CLR_TIER_UNKNOWN;
            return true;
        }
        if (!clr_field_word(runtime, node, l->node_next, &node))
            return false;
    }
    return false;
}

/* The word in the method's slot; 0 if it is not known where that is. */
static uint64_t slot_word(const struct clr_runtime *runtime, const struct clr_method *method)
{
    uint64_t offset, chunk, entry;
    uint16_t virtuals;
    if (method->has_own_slot) {
        if (!clr_method_slot_offset(runtime, method, &offset) ||
            !clr_read_word(runtime->process, method->address + offset, &entry))
            return 0;
        return entry;
    }
    if (!clr_field_u16(runtime, method->type, runtime->types.mt_virtuals, &virtuals) ||
        method->slot >= virtuals || !clr_has(runtime->types.mt_size) ||
        !clr_read_word(runtime->process,
                       method->type + runtime->types.mt_size +
                           (uint64_t)(method->slot / CLR_VIRTUALS_OF_CHUNK) * runtime->word,
                       &chunk) ||
        !clr_read_word(runtime->process,
                       chunk + (uint64_t)(method->slot % CLR_VIRTUALS_OF_CHUNK) * runtime->word,
                       &entry))
        return 0;
    return entry;
}

/* What a call runs, as the method's slot says; 0 if that is none of CODES. */
static uint64_t called_code(const struct clr_runtime *runtime, const struct clr_method *method,
                            struct clr_code *const *codes, size_t count)
{
    uint64_t entry = slot_word(runtime, method);
    uint64_t target = entry ? clr_precode_target(runtime, entry) : 0;
    for (size_t i = 0; i < count; i++)
        if (!codes[i]->is_cold && (codes[i]->start == target || codes[i]->start == entry))
            return codes[i]->start;
    return 0;
}

void clr_versions_apply(const struct clr_runtime *runtime, const struct clr_method *method,
                        struct clr_code *const *codes, size_t count)
{
    struct versions v = read_versions(runtime, method);
    const uint64_t last_made = clr_method_native_slot(runtime, method);
    const bool described = runtime->contract[CLR_CONTRACT_VERSIONS] != NULL;
    const uint64_t called = described || count < 2 ? 0 : called_code(runtime, method, codes, count);
    size_t hot = 0, active = 0;
    bool last_is_active = false;
    for (size_t i = 0; i < count; i++)
        hot += !codes[i]->is_cold;
    for (size_t i = 0; i < count; i++) {
        struct clr_code *code = codes[i];
        uint64_t start = code->is_cold ? code->hot_code : code->start;
        bool node_active;
        if (find_node(&v, start, &code->tier, &node_active)) {
            code->is_active = node_active;
        } else if (described && (v.state != 0 || hot == 1)) {
            code->tier = default_tier(&v, code);
            code->is_active = v.state == 0 || (v.state_flags & DEFAULT_IS_ACTIVE);
        } else { /* versions are not described */
            bool only = hot == 1;
            code->tier = code->kind == CLR_CODE_R2R || only ? default_tier(&v, code)
                                                            : (uint8_t)CLR_TIER_UNKNOWN;
            code->is_active = only || start == (called != 0 ? called : last_made);
        }
        if (code->is_active && !code->is_cold) {
            active++;
            last_is_active |= start == last_made;
        }
    }
    /* One runs: where several IL versions have an active code each, the one that was made last. */
    for (size_t i = 0; active > 1 && last_is_active && i < count; i++)
        codes[i]->is_active &=
            (codes[i]->is_cold ? codes[i]->hot_code : codes[i]->start) == last_made;
}
