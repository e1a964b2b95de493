/*
 * The whole product: one line a table, in the order of docs/schema.md.
 */
#include "table.h"

/* clang-format off */
#define CLR_TABLES(T)     \
    T(dump_info)          \
    T(problems)           \
    T(memory_regions)     \
    T(images)             \
    T(descriptors)        \
    T(contracts)          \
    T(globals)            \
    T(descriptor_types)   \
    T(descriptor_fields)  \
    T(types)              \
    T(supertypes)         \
    T(type_stats)         \
    T(fields)             \
    T(modules)            \
    T(load_contexts)      \
    T(methods)            \
    T(native_codes)       \
    T(debug_bounds)       \
    T(debug_vars)         \
    T(segments)           \
    T(objects)            \
    T(strings)            \
    T(refs)               \
    T(handles)            \
    T(finalizer_queue)    \
    T(statics)            \
    T(field_values)       \
    T(elements)           \
    T(collections)        \
    T(delegates)          \
    T(exceptions)         \
    T(exception_frames)   \
    T(roots)              \
    T(path_to_root)       \
    T(reachable_from)     \
    T(retained_by)        \
    T(path_tree)          \
    T(threads)            \
    T(ip_to_method)       \
    T(words)              \
    T(schema)
/* clang-format on */

#define DECLARE(name) extern const struct clr_table clr_table_##name;
CLR_TABLES(DECLARE)

#define LIST(name) &clr_table_##name,
const struct clr_table *const clr_tables[] = {CLR_TABLES(LIST) NULL};
