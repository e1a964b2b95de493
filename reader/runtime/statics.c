/*
 * Static fields (.NET 9 and later; 8.0 keeps them in a per-module block that is not described).
 *
 * A type with statics has flag 0x2 in MTFlags2. Below its auxiliary data lie
 *
 *   aux - sizeof(DynamicStaticsInfo)   GCStatics      base of references and of boxed structs
 *                                      NonGCStatics   base of primitives
 *   aux - sizeof(ThreadStaticsInfo)    NonGCTlsIndex  (embedded TLSIndex: a raw u32)
 *                                      GCTlsIndex
 *
 * A base has bit 0 set until the class constructor has run (StaticsPointerMask takes it off); 0 means
 * not allocated. A field is at base + its FieldDesc offset; references and structs are slots in an
 * Object[], a struct's slot refers to a box.
 *
 * A raw TLS index is kind (high byte) and offset; all ones: not allocated on any thread. On a thread,
 * with D = ThreadLocalData at Thread.ThreadLocalDataPtr:
 *
 *   kind 0  word of the managed array NonCollectibleTlsArrayData at
 *           PtrArrayOffsetToDataArray + word * (offset - NumberOfTlsOffsetsNotUsedInNoncollectibleArray)
 *   kind 1  CollectibleTlsArrayData[offset] is a handle
 *   kind 2  the data stand in D itself, at offset
 *   else, and while a class constructor runs: InFlightData, a list {Next, TlsIndex, TLSData handle}
 *
 * Kinds 0 and 1 give a managed array; the FieldDesc offset counts from its start.
 * ThreadStaticsInfo is there only in classes with thread statics: other data lie there otherwise.
 *
 * Known from the public data contracts (RuntimeTypeSystem, Thread) and checked on dumps of .NET 9
 * to 11.
 */
#include "runtime/statics.h"

#include "runtime/contracts.h"
#include "runtime/loader.h"
#include "runtime/object.h"

enum {
    MT2_HAS_STATICS = 0x2,
    ELEMENT_VALUETYPE = 0x11,
    ELEMENT_CLASS = 0x12,
    TLS_PLAIN = 0,
    TLS_COLLECTIBLE = 1,
    TLS_DIRECT = 2,
    MOST_IN_FLIGHT = 4096,
    MOST_TLS_SLOTS = 1 << 24, /* the offset has 24 bits */
};
#define TLS_UNALLOCATED UINT32_MAX

static const char *const storage_texts[] = {"static", "thread_static", "rva"};

const char *clr_storage_text(enum clr_storage storage)
{
    return storage_texts[storage];
}

#define M(member) offsetof(struct clr_statics_layout, member)
const struct clr_binding clr_statics_bindings[] = {
    {M(auxiliary), CLR_FIELD, 0, false, "MethodTable", "AuxiliaryData"},
    {M(info_size), CLR_SIZE, 0, false, "DynamicStaticsInfo", NULL},
    {M(gc_base), CLR_FIELD, 0, false, "DynamicStaticsInfo", "GCStatics"},
    {M(non_gc_base), CLR_FIELD, 0, false, "DynamicStaticsInfo", "NonGCStatics"},
    {M(pointer_mask), CLR_LITERAL, 0, false, NULL, "StaticsPointerMask"},
    CLR_BINDINGS_END,
};
#undef M
#define M(member) offsetof(struct clr_thread_statics_layout, member)
const struct clr_binding clr_thread_statics_bindings[] = {
    {M(info_size), CLR_SIZE, 0, false, "ThreadStaticsInfo", NULL},
    {M(gc_index), CLR_FIELD, CLR_INLINE, false, "ThreadStaticsInfo", "GCTlsIndex"},
    {M(non_gc_index), CLR_FIELD, CLR_INLINE, false, "ThreadStaticsInfo", "NonGCTlsIndex"},
    {M(raw_index), CLR_FIELD, 4, false, "TLSIndex", "TLSIndexRawIndex"},
    {M(plain_count), CLR_FIELD, 4, false, "ThreadLocalData", "NonCollectibleTlsDataCount"},
    {M(plain_array), CLR_FIELD, 0, false, "ThreadLocalData", "NonCollectibleTlsArrayData"},
    {M(collectible_count), CLR_FIELD, 4, false, "ThreadLocalData", "CollectibleTlsDataCount"},
    {M(collectible_array), CLR_FIELD, 0, false, "ThreadLocalData", "CollectibleTlsArrayData"},
    {M(in_flight), CLR_FIELD, 0, false, "ThreadLocalData", "InFlightData"},
    {M(flight_next), CLR_FIELD, 0, false, "InFlightTLSData", "Next"},
    {M(flight_index), CLR_FIELD, CLR_INLINE, false, "InFlightTLSData", "TlsIndex"},
    {M(flight_data), CLR_FIELD, 0, false, "InFlightTLSData", "TLSData"},
    {M(array_data), CLR_LITERAL, 0, false, NULL, "PtrArrayOffsetToDataArray"},
    {M(unused_offsets), CLR_LITERAL, 0, false, NULL,
     "NumberOfTlsOffsetsNotUsedInNoncollectibleArray"},
    {M(data), CLR_FIELD, 0, false, "Thread", "ThreadLocalDataPtr"},
    CLR_BINDINGS_END,
};
#undef M

static bool holds_object(const struct clr_field *field)
{
    return field->element_type == ELEMENT_CLASS || field->element_type == ELEMENT_VALUETYPE;
}

static bool find_rva(struct clr_runtime *runtime, const struct clr_field *field,
                     struct clr_static *found)
{
    struct clr_type type;
    uint64_t offset;
    uint32_t rva;
    found->storage = CLR_STORAGE_RVA;
    found->holds_object = false;
    if (!clr_field_rva(field, &rva) || !clr_type_read(runtime, field->type, &type))
        return false;
    const struct clr_module *module = clr_module_get(runtime, type.module);
    if (!module || !module->has_pe || !clr_pe_offset(&module->pe, rva, 1, &offset))
        return false;
    found->address = module->pe.base + offset;
    return true;
}

static bool find_in_flight(const struct clr_runtime *runtime, uint64_t data, uint32_t wanted,
                           uint64_t *base)
{
    const struct clr_thread_statics_layout *l = &runtime->thread_statics;
    uint64_t node;
    *base = 0;
    if (!clr_read_word(runtime->process, data + l->in_flight, &node))
        return false;
    for (unsigned steps = 0; node != 0 && steps < MOST_IN_FLIGHT; steps++) {
        uint32_t index;
        uint64_t handle;
        if (!clr_read_u32(runtime->process, node + l->flight_index + l->raw_index, &index))
            return false;
        if (index == wanted)
            return clr_read_word(runtime->process, node + l->flight_data, &handle) &&
                   (handle == 0 || clr_handle_object(runtime, handle, base));
        if (!clr_read_word(runtime->process, node + l->flight_next, &node))
            return false;
    }
    return true;
}

/* The base of a thread's statics of one type; 0: none on this thread. */
static bool find_tls(const struct clr_runtime *runtime, uint64_t data, uint32_t index,
                     uint64_t *base)
{
    const struct clr_thread_statics_layout *l = &runtime->thread_statics;
    uint32_t kind = index >> 24, offset = index & 0xffffff, count;
    uint64_t array, handle;
    *base = 0;
    if (kind == TLS_PLAIN) {
        if (!clr_read_u32(runtime->process, data + l->plain_count, &count) ||
            !clr_read_word(runtime->process, data + l->plain_array, &array))
            return false;
        if (offset < count && array != 0 && offset >= l->unused_offsets &&
            !clr_read_word(runtime->process,
                           array + l->array_data + runtime->word * (offset - l->unused_offsets),
                           base))
            return false;
    } else if (kind == TLS_COLLECTIBLE) {
        if (!clr_read_u32(runtime->process, data + l->collectible_count, &count) ||
            !clr_read_word(runtime->process, data + l->collectible_array, &array))
            return false;
        if (offset < count && array != 0 &&
            (!clr_read_word(runtime->process, array + (uint64_t)runtime->word * offset, &handle) ||
             (handle != 0 && !clr_handle_object(runtime, handle, base))))
            return false;
    } else if (kind == TLS_DIRECT) {
        *base = data + offset;
    }
    return *base != 0 || find_in_flight(runtime, data, index, base);
}

static bool find_thread_static(const struct clr_runtime *runtime, const struct clr_field *field,
                               const struct clr_type *type, const struct clr_thread *thread,
                               struct clr_static *found)
{
    const struct clr_thread_statics_layout *l = &runtime->thread_statics;
    uint64_t base;
    uint32_t index;
    if (!thread->static_data)
        return true;
    uint64_t info =
        type->auxiliary - l->info_size + (found->holds_object ? l->gc_index : l->non_gc_index);
    if (!clr_read_u32(runtime->process, info + l->raw_index, &index))
        return false;
    if (index == TLS_UNALLOCATED)
        return true;
    if (!find_tls(runtime, thread->static_data, index, &base))
        return false;
    if (base != 0)
        found->address = base + field->offset;
    return true;
}

bool clr_static_find(struct clr_runtime *runtime, const struct clr_field *field,
                     const struct clr_thread *thread, struct clr_static *found)
{
    const struct clr_statics_layout *l = &runtime->statics;
    struct clr_type type;
    uint64_t base;
    *found = (struct clr_static){.storage = field->is_thread_static ? CLR_STORAGE_THREAD_STATIC
                                                                    : CLR_STORAGE_STATIC,
                                 .holds_object = holds_object(field),
                                 .known = true};
    if (field->is_rva)
        return find_rva(runtime, field, found);
    found->known = field->is_thread_static ? clr_has_thread_statics(runtime)
                                           : runtime->contract[CLR_CONTRACT_STATICS] != NULL;
    if (!found->known || !field->has_offset)
        return found->known;
    if (!clr_type_read(runtime, field->type, &type))
        return false;
    if (!(type.flags2 & MT2_HAS_STATICS) || type.auxiliary == 0)
        return true;
    if (field->is_thread_static)
        return !thread || find_thread_static(runtime, field, &type, thread, found);
    uint64_t info =
        type.auxiliary - l->info_size + (found->holds_object ? l->gc_base : l->non_gc_base);
    if (!clr_read_word(runtime->process, info, &base))
        return false;
    base &= l->pointer_mask;
    if (base != 0)
        found->address = base + field->offset;
    return true;
}

bool clr_thread_static_roots(const struct clr_runtime *runtime, const struct clr_thread *thread,
                             bool (*each)(void *context, uint64_t address, uint64_t object),
                             void *context)
{
    const struct clr_thread_statics_layout *l = &runtime->thread_statics;
    uint64_t data = thread->static_data, slot, object, handle, node;
    uint32_t count;
    if (data == 0)
        return true;
    slot = data + l->plain_array;
    if (!clr_read_word(runtime->process, slot, &object))
        return false;
    if (object != 0 && !each(context, slot, object))
        return true;
    if (!clr_read_u32(runtime->process, data + l->collectible_count, &count) ||
        !clr_read_word(runtime->process, data + l->collectible_array, &slot))
        return false;
    for (uint32_t i = 0; slot != 0 && i < count && i < MOST_TLS_SLOTS; i++) {
        if (!clr_read_word(runtime->process, slot + (uint64_t)runtime->word * i, &handle))
            return false;
        if (handle != 0 && (!clr_handle_object(runtime, handle, &object)))
            return false;
        if (handle != 0 && object != 0 && !each(context, handle, object))
            return true;
    }
    if (!clr_read_word(runtime->process, data + l->in_flight, &node))
        return false;
    for (unsigned steps = 0; node != 0 && steps < MOST_IN_FLIGHT; steps++) {
        if (!clr_read_word(runtime->process, node + l->flight_data, &handle) ||
            (handle != 0 && !clr_handle_object(runtime, handle, &object)))
            return false;
        if (handle != 0 && object != 0 && !each(context, handle, object))
            return true;
        if (!clr_read_word(runtime->process, node + l->flight_next, &node))
            return false;
    }
    return true;
}
