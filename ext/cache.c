/*
 * What tables keep with a dump.
 */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* --- The cache ------------------------------------------------------------------------------- */

void clr_cache_destroy(void *data)
{
    struct clr_cache *cache = data;
    struct clr_lookup *indexes[] = {
        &cache->shape_types,
        &cache->shape_names,
        &cache->tree_parents,
        &cache->tree_paths,
    };
    for (size_t i = 0; i < sizeof indexes / sizeof indexes[0]; i++)
        clr_lookup_deinit(indexes[i]);
    clr_path_tree_destroy(cache->path_tree);
    clr_free(cache->shape_name);
    clr_free(cache->types);
    clr_map_deinit(&cache->type_numbers);
    clr_free(cache);
}

enum clr_status clr_cache(struct clr_dump *dump, struct clr_cache **cache, struct clr_error *error)
{
    return clr_dump_keep(dump, clr_cache_destroy, sizeof **cache, cache, error);
}

enum clr_status clr_refuse(const struct clr_error *reason, struct clr_error *error)
{
    return reason->code == CLR_OK
               ? CLR_OK
               : clr_fail(error, reason->code, reason->address, "%s", reason->text);
}

enum clr_status clr_try_need(struct clr_dump *dump, unsigned parts, struct clr_job *job, bool *have,
                             struct clr_error *error)
{
    struct clr_error why = {0};
    enum clr_status status = clr_dump_need(dump, parts, job, &why);
    *have = status == CLR_OK;
    if (status == CLR_CANCELLED || status == CLR_NOMEM || status == CLR_IO)
        return clr_fail(error, status, why.address, "%s", why.text);
    if (status == CLR_OK)
        return CLR_OK;
    /* The table that cannot be given at all; what needs it cannot be given for the same reason. */
    static const char *const areas[] = {"descriptors", "segments", "objects"};
    size_t area = !dump->runtime ? 0 : !dump->gc ? 1 : 2;
    clr_problem_once(dump->problems, CLR_ERROR, areas[area], true, why.address, 0, "%s", why.text);
    return CLR_OK;
}

/* --- Types, segments, shapes ------------------------------------------------------------------ */

bool clr_type_known(struct clr_dump *dump, uint64_t address, struct clr_type *type)
{
    struct clr_cache *cache;
    uint64_t number;
    if (clr_cache(dump, &cache, NULL) != CLR_OK)
        return clr_type_read(dump->runtime, address, type);
    if (clr_map_get(&cache->type_numbers, address, &number)) {
        *type = cache->types[number];
        return true;
    }
    if (!clr_type_read(dump->runtime, address, type))
        return false;
    /* Without memory it is only read again. */
    if (clr_grow(&cache->types, cache->type_count, &cache->type_room, sizeof *cache->types) &&
        clr_map_put(&cache->type_numbers, address, cache->type_count))
        cache->types[cache->type_count++] = *type;
    return true;
}

enum clr_status clr_shapes_by_type(struct clr_dump *dump, const struct clr_lookup **index,
                                   struct clr_error *error)
{
    struct clr_cache *cache;
    CLR_TRY(clr_cache(dump, &cache, error));
    if (!cache->shape_types.built) {
        const struct clr_shape *shapes;
        size_t count = clr_heap_shapes(dump->heap, &shapes);
        for (size_t i = 0; i < count; i++) {
            bool shown = shapes[i].object_count > 0 || (shapes[i].is_free && shapes[i].type != 0);
            if (shown && !clr_lookup_add(&cache->shape_types, shapes[i].type, (uint32_t)i)) {
                clr_lookup_deinit(&cache->shape_types);
                return clr_fail(error, CLR_NOMEM, 0, "out of memory");
            }
        }
        clr_lookup_sort(&cache->shape_types);
    }
    *index = &cache->shape_types;
    return CLR_OK;
}

enum clr_status clr_shapes_by_name(struct clr_dump *dump, struct clr_job *job,
                                   const struct clr_lookup **index, struct clr_error *error)
{
    struct clr_cache *cache;
    const struct clr_lookup *types;
    CLR_TRY(clr_cache(dump, &cache, error));
    CLR_TRY(clr_shapes_by_type(dump, &types, error));
    struct clr_lookup *names = &cache->shape_names;
    for (size_t i = 0; !names->built && i < types->count; i++) {
        uint32_t shape = types->entries[i].row;
        enum clr_status status = clr_job_poll(job, "naming types", i, types->count, error);
        const char *name = status == CLR_OK ? clr_shape_name(dump, shape) : NULL;
        if (!name || !clr_lookup_add(names, clr_text_key(name, strlen(name)), shape)) {
            clr_lookup_deinit(names);
            return status != CLR_OK ? status : clr_fail(error, CLR_NOMEM, 0, "out of memory");
        }
    }
    if (!names->built)
        clr_lookup_sort(names);
    *index = names;
    return CLR_OK;
}

const char *clr_shape_name(struct clr_dump *dump, uint32_t shape)
{
    struct clr_cache *cache;
    const struct clr_shape *shapes;
    size_t count = clr_heap_shapes(dump->heap, &shapes);
    if (shape >= count || clr_cache(dump, &cache, NULL) != CLR_OK)
        return NULL;
    if (!cache->shape_name) {
        if (!(cache->shape_name = clr_alloc(count, sizeof *cache->shape_name)))
            return NULL;
        cache->shape_count = count;
    }
    if (!cache->shape_name[shape]) {
        const char *name = clr_type_name(dump->runtime, shapes[shape].type);
        cache->shape_name[shape] = clr_type_name_lost(name) ? NULL : name;
    }
    return cache->shape_name[shape];
}
