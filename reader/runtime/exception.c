/*
 * Where the fields of an exception object and of its saved stack trace lie (contract Exception).
 *
 *   object        Exception._message, ._innerException, ._stackTrace, ._HResult i32: from the
 *                 object's address
 *   stack trace   StackTraceArrayHeader.Size (a word: entries) and its size; StackTraceElement.Ip,
 *                 .MethodDesc, .Flags u32 (11)
 */
#include "runtime/contracts.h"

#define AT(m) offsetof(struct clr_exception_layout, m)

const struct clr_binding clr_exception_bindings[] = {
    {AT(message), CLR_FIELD, 0, true, "Exception", "_message"},
    {AT(inner), CLR_FIELD, 0, true, "Exception", "_innerException"},
    {AT(trace), CLR_FIELD, 0, true, "Exception", "_stackTrace"},
    {AT(hresult), CLR_FIELD, 4, true, "Exception", "_HResult"},
    {AT(header_size), CLR_SIZE, 0, true, "StackTraceArrayHeader", NULL},
    {AT(trace_count), CLR_FIELD, 0, true, "StackTraceArrayHeader", "Size"},
    {AT(element_size), CLR_SIZE, 0, true, "StackTraceElement", NULL},
    {AT(element_ip), CLR_FIELD, 0, true, "StackTraceElement", "Ip"},
    {AT(element_method), CLR_FIELD, 0, true, "StackTraceElement", "MethodDesc"},
    {AT(element_flags), CLR_FIELD, 4, true, "StackTraceElement", "Flags"},
    CLR_BINDINGS_END,
};
