/*
 * Delegates as objects. Fields of System.Delegate and System.MulticastDelegate, by name:
 *
 *   to 10              11               holds
 *   _target            _target          closed: the first argument; open: the delegate itself
 *   _methodPtr         _methodPtr       what Invoke jumps to: the method, or a thunk that shuffles
 *                                       arguments where there is no target to pass
 *   _methodPtrAux      _methodPtrAux    not 0: the delegate is open, and this is the method
 *   _invocationList    _helperObject    several entries: an array of simple delegates (object[],
 *                                       in 11 of a struct that holds just that); a wrapper: the
 *                                       delegate that is meant; else what keeps the method alive
 *   _invocationCount   _extraData       several entries: how many; open and virtual: the
 *                                       MethodDesc
 *
 * A code pointer leads to its method through native code or a precode (runtime/precode.c).
 */
#include "inspect/delegates.h"

#include "inspect/managed.h"
#include "runtime/methods.h"
#include "runtime/object.h"
#include "runtime/precode.h"
#include "runtime/types.h"

enum { WRAPPERS_MAX = 8 }; /* wrappers around wrappers that are followed */

static uint64_t offset_of(const struct clr_runtime *runtime, const struct clr_managed *managed,
                          unsigned field)
{
    return managed && managed->fields[field].member ? runtime->word + managed->fields[field].offset
                                                    : CLR_ABSENT;
}

enum clr_status clr_delegate_layout(struct clr_dump *dump, struct clr_delegate_layout *layout,
                                    bool *known, struct clr_error *error)
{
    struct clr_runtime *runtime = dump->runtime;
    const struct clr_managed *base, *multicast;
    uint64_t type = runtime->delegate_type;
    CLR_TRY(clr_managed_bind(dump, CLR_MANAGED_DELEGATE, type, &base, error));
    CLR_TRY(clr_managed_bind(dump, CLR_MANAGED_MULTICAST_DELEGATE, type, &multicast, error));
    layout->target = offset_of(runtime, base, CLR_DELEGATE_TARGET);
    layout->method_ptr = offset_of(runtime, base, CLR_DELEGATE_METHOD_PTR);
    layout->method_aux = offset_of(runtime, base, CLR_DELEGATE_METHOD_AUX);
    layout->list = offset_of(runtime, multicast, CLR_MULTICAST_LIST);
    layout->extra = offset_of(runtime, multicast, CLR_MULTICAST_EXTRA);
    *known = clr_has(layout->target) && clr_has(layout->method_ptr);
    return CLR_OK;
}

static bool is_delegate(const struct clr_runtime *runtime, uint64_t object)
{
    uint64_t type;
    return clr_object_type(runtime, object, &type) && type != 0 &&
           clr_type_derives(runtime, type, runtime->delegate_type);
}

/* The delegate that wrappers lead to. */
static uint64_t unwrap(const struct clr_runtime *runtime, const struct clr_delegate_layout *layout,
                       uint64_t object)
{
    uint64_t inner;
    for (unsigned i = 0; i < WRAPPERS_MAX; i++) {
        if (!clr_field_word(runtime, object, layout->list, &inner) || inner == 0 ||
            !is_delegate(runtime, inner))
            break;
        object = inner;
    }
    return object;
}

/* The array of entries; false if the delegate is simple. */
static bool find_list(const struct clr_runtime *runtime, const struct clr_delegate_layout *layout,
                      uint64_t object, uint64_t *list, uint32_t *count)
{
    struct clr_type read;
    uint64_t type, extra;
    uint32_t length;
    if (!clr_field_word(runtime, object, layout->list, list) || *list == 0 ||
        !clr_object_type(runtime, *list, &type) || !clr_type_read(runtime, type, &read) ||
        read.kind != CLR_KIND_SZARRAY || read.component_size != runtime->word ||
        !read.contains_references || !clr_object_count(runtime, *list, &length) ||
        !clr_field_word(runtime, object, layout->extra, &extra) || extra == 0 || extra > length)
        return false;
    *count = (uint32_t)extra;
    return true;
}

uint32_t clr_delegate_count(const struct clr_runtime *runtime,
                            const struct clr_delegate_layout *layout, uint64_t object)
{
    uint64_t list;
    uint32_t count;
    return find_list(runtime, layout, unwrap(runtime, layout, object), &list, &count) ? count : 1;
}

enum clr_status clr_delegate_entry(struct clr_runtime *runtime,
                                   const struct clr_delegate_layout *layout, uint64_t object,
                                   uint32_t index, bool *found, struct clr_delegate_entry *entry,
                                   struct clr_error *error)
{
    uint64_t list, pointer, aux = 0, extra;
    uint32_t count;
    bool known;
    *entry = (struct clr_delegate_entry){0};
    *found = false;
    object = unwrap(runtime, layout, object);
    if (find_list(runtime, layout, object, &list, &count)) {
        if (index >= count ||
            !clr_read_word(runtime->process,
                           list + runtime->object.array_size + (uint64_t)index * runtime->word,
                           &object))
            return CLR_OK;
        object = unwrap(runtime, layout, object);
        if (!is_delegate(runtime, object))
            return CLR_OK;
    }
    entry->delegate = object;
    if (!clr_field_word(runtime, object, layout->target, &entry->target) ||
        !clr_field_word(runtime, object, layout->method_ptr, &pointer))
        return CLR_OK;
    *found = true;
    clr_field_word(runtime, object, layout->method_aux, &aux);
    entry->is_open = aux != 0 || entry->target == object;
    if (entry->is_open)
        entry->target = 0;
    CLR_TRY(clr_entry_method(runtime, aux != 0 ? aux : pointer, &known, &entry->method, error));
    struct clr_method method;
    if (!known && clr_field_word(runtime, object, layout->extra, &extra) &&
        clr_method_read(runtime, extra, &method)) {
        entry->method = extra;
        known = true;
    }
    if (!known)
        entry->method = 0;
    return CLR_OK;
}
