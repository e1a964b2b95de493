/*
 * Exceptions as objects. _stackTrace holds an array of bytes, or an array of objects whose first
 * element is that (the others keep collectible methods alive). The bytes: a header, then an
 * element a frame, the throwing one first; see runtime/exception.c for their fields.
 *
 * The header's count is taken as u32: the upper half of the word has been another count since .NET
 * 9.
 */
#include "inspect/exceptions.h"

#include "runtime/object.h"
#include "runtime/types.h"

enum {
    FLAG_IP_ADJUSTED = 2,
};

void clr_exception_read(const struct clr_runtime *runtime, uint64_t object,
                        struct clr_exception *exception)
{
    const struct clr_exception_layout *l = &runtime->exception;
    uint32_t hresult;
    *exception = (struct clr_exception){.object = object};
    exception->has_message = clr_field_word(runtime, object, l->message, &exception->message);
    exception->has_inner = clr_field_word(runtime, object, l->inner, &exception->inner);
    exception->has_hresult = clr_field_u32(runtime, object, l->hresult, &hresult);
    if (exception->has_hresult)
        exception->hresult = (int32_t)hresult;
}

bool clr_exception_trace(const struct clr_runtime *runtime, uint64_t object,
                         struct clr_exception_trace *trace, bool *damaged)
{
    const struct clr_exception_layout *l = &runtime->exception;
    const uint64_t head = runtime->object.array_size;
    uint64_t array, type;
    uint32_t length, count;
    struct clr_type read;
    *trace = (struct clr_exception_trace){0};
    *damaged = true;
    if (!clr_has(l->header_size) || !clr_has(l->trace_count) || !clr_has(l->element_size) ||
        !clr_has(l->element_ip) || !clr_has(l->element_method) || l->element_size == 0 ||
        !clr_field_word(runtime, object, l->trace, &array))
        return false;
    if (array == 0) {
        *damaged = false;
        return false;
    }
    if (!clr_object_type(runtime, array, &type) || !clr_object_count(runtime, array, &length))
        return false;
    if (type == runtime->object_array_type) {
        if (length == 0 || !clr_read_word(runtime->process, array + head, &array) || array == 0 ||
            !clr_object_type(runtime, array, &type) || !clr_object_count(runtime, array, &length))
            return false;
    }
    if (!clr_type_read(runtime, type, &read) || read.component_size != 1 ||
        length < l->header_size || !clr_field_u32(runtime, array + head, l->trace_count, &count) ||
        count > (length - l->header_size) / l->element_size)
        return false;
    trace->elements = array + head + l->header_size;
    trace->count = count;
    *damaged = false;
    return count != 0;
}

bool clr_exception_frame(const struct clr_runtime *runtime, const struct clr_exception_trace *trace,
                         uint32_t index, struct clr_exception_frame *frame)
{
    const struct clr_exception_layout *l = &runtime->exception;
    uint64_t element = trace->elements + index * l->element_size;
    uint32_t flags = 0;
    *frame = (struct clr_exception_frame){0};
    if (index >= trace->count || !clr_field_word(runtime, element, l->element_ip, &frame->ip) ||
        !clr_field_word(runtime, element, l->element_method, &frame->method))
        return false;
    clr_field_u32(runtime, element, l->element_flags, &flags);
    frame->ip_is_adjusted = flags & FLAG_IP_ADJUSTED;
    return true;
}
