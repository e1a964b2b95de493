/*
 * Precodes: small pieces of code that stand for a method before (or instead of) its native code.
 *
 * A stub precode and a fixup precode are templates of machine code with data a page behind:
 *
 *   what                 name
 *   the templates        PlatformMetadata (address of the structure) .PrecodeMachineDescriptor
 *                        (embedded): .StubBytes, .StubIgnoredBytes (the bytes that differ),
 *                        .StubPrecodeSize u8; .FixupBytes, .FixupIgnoredBytes,
 *                        .FixupStubPrecodeSize u8, .FixupCodeOffset u8
 *   data                 entry + .StubCodePageSize u32
 *   a stub's             StubPrecodeData.Type u8, .SecretParam: the MethodDesc, or for the kind
 *                        ThisPointerRetBuf a ThisPtrRetBufPrecodeData with .MethodDesc
 *   a fixup's            FixupPrecodeData.MethodDesc
 *
 * Runtimes that do not describe them (8, 9) have the same templates with a smaller page, and the
 * instructions themselves say where the data is (clr_arch.method_cell).
 * Whatever is found must be a valid MethodDesc.
 *
 * Knowledge: the runtime's docs/design/datacontracts/PrecodeStubs.md, precode.h, thunktemplates.S.
 */
#include "runtime/precode.h"

#include <string.h>

#include "runtime/contracts.h"

enum {
    TEMPLATE_MAX = 24, /* bytes of a template that the descriptor gives */
};

#define AT(m) offsetof(struct clr_precode_layout, m)
#define MACHINE "PrecodeMachineDescriptor"

const struct clr_binding clr_precode_bindings[] = {
    {AT(platform), CLR_VARIABLE, CLR_INLINE, false, NULL, "PlatformMetadata"},
    {AT(machine), CLR_FIELD, CLR_INLINE, false, "PlatformMetadata", MACHINE},
    {AT(stub_size), CLR_FIELD, 1, false, MACHINE, "StubPrecodeSize"},
    {AT(stub_bytes), CLR_FIELD, CLR_INLINE, false, MACHINE, "StubBytes"},
    {AT(stub_ignored), CLR_FIELD, CLR_INLINE, false, MACHINE, "StubIgnoredBytes"},
    {AT(stub_type), CLR_FIELD, 1, false, MACHINE, "StubPrecodeType"},
    {AT(pinvoke_type), CLR_FIELD, 1, true, MACHINE, "PInvokeImportPrecodeType"},
    {AT(this_type), CLR_FIELD, 1, true, MACHINE, "ThisPointerRetBufPrecodeType"},
    {AT(fixup_size), CLR_FIELD, 1, false, MACHINE, "FixupStubPrecodeSize"},
    {AT(fixup_bytes), CLR_FIELD, CLR_INLINE, false, MACHINE, "FixupBytes"},
    {AT(fixup_ignored), CLR_FIELD, CLR_INLINE, false, MACHINE, "FixupIgnoredBytes"},
    {AT(fixup_offset), CLR_FIELD, 1, true, MACHINE, "FixupCodeOffset"},
    {AT(page_size), CLR_FIELD, 4, false, MACHINE, "StubCodePageSize"},
    {AT(data_secret), CLR_FIELD, 0, false, "StubPrecodeData", "SecretParam"},
    {AT(data_type), CLR_FIELD, 1, false, "StubPrecodeData", "Type"},
    {AT(fixup_method), CLR_FIELD, 0, false, "FixupPrecodeData", "MethodDesc"},
    {AT(this_method), CLR_FIELD, 0, true, "ThisPtrRetBufPrecodeData", "MethodDesc"},
    CLR_BINDINGS_END,
};

static bool matches(const struct clr_runtime *runtime, uint64_t entry, uint64_t machine,
                    uint64_t size_at, uint64_t bytes_at, uint64_t ignored_at)
{
    uint8_t code[TEMPLATE_MAX], bytes[TEMPLATE_MAX], ignored[TEMPLATE_MAX], size;
    if (!clr_field_u8(runtime, machine, size_at, &size) || size == 0 || size > TEMPLATE_MAX ||
        !clr_read(runtime->process, entry, code, size) ||
        !clr_read(runtime->process, machine + bytes_at, bytes, size) ||
        !clr_read(runtime->process, machine + ignored_at, ignored, size))
        return false;
    for (unsigned i = 0; i < size; i++)
        if (!ignored[i] && code[i] != bytes[i])
            return false;
    return true;
}

static bool is_method(const struct clr_runtime *runtime, uint64_t address)
{
    struct clr_method method;
    return clr_method_read(runtime, address, &method);
}

static bool described_stub(const struct clr_runtime *runtime, uint64_t entry, uint64_t machine,
                           uint64_t data, uint64_t *method)
{
    const struct clr_precode_layout *l = &runtime->precode;
    uint8_t type, stub = 0, other;
    uint64_t secret;
    if (!matches(runtime, entry, machine, l->stub_size, l->stub_bytes, l->stub_ignored) ||
        !clr_field_u8(runtime, data, l->data_type, &type) ||
        !clr_field_word(runtime, data, l->data_secret, &secret))
        return false;
    if (clr_field_u8(runtime, machine, l->this_type, &other) && other != 0 && type == other)
        return clr_field_word(runtime, secret, l->this_method, method) &&
               is_method(runtime, *method);
    if ((clr_field_u8(runtime, machine, l->stub_type, &stub) && type == stub) ||
        (clr_field_u8(runtime, machine, l->pinvoke_type, &other) && type == other)) {
        *method = secret;
        return is_method(runtime, secret);
    }
    return false;
}

static bool described_precode(const struct clr_runtime *runtime, uint64_t entry, uint64_t *method)
{
    const struct clr_precode_layout *l = &runtime->precode;
    uint64_t machine = l->platform + l->machine;
    uint32_t page;
    if (!clr_field_u32(runtime, machine, l->page_size, &page) || page == 0)
        return false;
    if (described_stub(runtime, entry, machine, entry + page, method))
        return true;
    return matches(runtime, entry, machine, l->fixup_size, l->fixup_bytes, l->fixup_ignored) &&
           clr_field_word(runtime, entry + page, l->fixup_method, method) &&
           is_method(runtime, *method);
}

/* The word in the cell that CELL, one of the machine's decoders, finds for the code at ENTRY. */
static bool decode(const struct clr_runtime *runtime, uint64_t entry,
                   bool (*cell)(const uint8_t *, size_t, int64_t *), uint64_t *value)
{
    uint8_t code[CLR_PRECODE_MAX];
    size_t size = sizeof code;
    int64_t distance;
    while (size != 0 && !clr_read(runtime->process, entry, code, size))
        size--;
    return cell && cell(code, size, &distance) &&
           clr_read_word(runtime->process, entry + (uint64_t)distance, value);
}

uint64_t clr_precode_target(const struct clr_runtime *runtime, uint64_t entry)
{
    const struct clr_arch *cpu = clr_process_info(runtime->process)->cpu;
    uint64_t target;
    return cpu && decode(runtime, entry, cpu->target_cell, &target) ? target : entry;
}

static bool decoded_precode(const struct clr_runtime *runtime, uint64_t entry, uint64_t *method)
{
    const struct clr_arch *cpu = clr_process_info(runtime->process)->cpu;
    return cpu && decode(runtime, entry, cpu->method_cell, method) && is_method(runtime, *method);
}

bool clr_precode_method(const struct clr_runtime *runtime, uint64_t entry, uint64_t *method)
{
    if (runtime->contract[CLR_CONTRACT_PRECODE])
        return described_precode(runtime, entry, method);
    return decoded_precode(runtime, entry, method);
}

enum clr_status clr_entry_method(struct clr_runtime *runtime, uint64_t entry, bool *found,
                                 uint64_t *method, struct clr_error *error)
{
    *found = false;
    if (entry == 0)
        return CLR_OK;
    if (runtime->contract[CLR_CONTRACT_CODE]) {
        const struct clr_codes *codes;
        CLR_TRY(clr_codes_need(runtime, NULL, &codes, error));
        const struct clr_code *code = clr_code_at(codes, entry);
        if (code && code->method != 0) {
            *method = code->method;
            *found = true;
            return CLR_OK;
        }
    }
    *found = clr_precode_method(runtime, entry, method);
    return CLR_OK;
}
