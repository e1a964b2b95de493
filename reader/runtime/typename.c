/*
 * Names of types, kept once made.
 *
 *   what stands behind a TypeHandle         its name
 *   MethodTable of the filler of free space 'Free'
 *   MethodTable with a TypeDef token        full name from metadata (ecma.c), and the names of the
 *                                           instantiation's handles as arguments
 *   of an open definition                   the names of its type parameters as arguments
 *   MethodTable of an array                 the element's name and '[]', '[,]', '[*]'
 *   MethodTable of a continuation           its parent's name: the runtime makes these types
 *   TypeDesc (bit 1 of the handle)          by the kind in its flags, low byte of a u32:
 *     PTR, BYREF, VALUETYPE                 TypeArg's name and '*', '&', nothing
 *     VAR, MVAR                             GenericParam row (Token) of Module
 *     FNPTR                                 'delegate*<arguments, result>' from the NumArgs + 1
 *                                           handles at RetAndArgTypes, the result first
 *
 * A name that cannot be made is replaced by 'module!0x02000123', of an instantiation with its handle,
 * 'module!0x02000123<0x7f…>', so that no two of them are one name; or, without module or token, by
 * '<unknown 0x…>'. This then is the type's name wherever it occurs, and a problem says why.
 *
 * A name must not depend on which others were asked for before. So how many levels a name has is
 * kept with it, and a type with more than CLR_ECMA_DEPTH levels is replaced always, be its parts
 * known already or not; the parts below are then named when they are asked for. Handles in a circle
 * have no end of levels. All names together take at most NAMES_MAX bytes: a dump that is made to
 * have more is given replacements for the rest.
 *
 * Knowledge: the runtime's docs/design/datacontracts/RuntimeTypeSystem.md; ECMA-335, partition II.
 */
#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "runtime/contracts.h"
#include "runtime/ecma.h"
#include "runtime/loader.h"
#include "runtime/types.h"

enum {
    HANDLE_IS_DESC = 2,
    DESC_KIND = 0xff, /* of TypeAndFlags */
    RID = 0x00ffffff, /* of a token */
    MOST_ARGUMENTS = UINT16_MAX,
    LEVELS_UNKNOWN = 255, /* levels of a name that is nested too deep */
    MODULE_NAME_MAX = 200,
};
#define NAMES_MAX ((size_t)256 << 20)

struct name {
    const char *text;
    const char *space; /* NULL: not known */
    uint8_t levels;
};

struct clr_name_cache {
    struct clr_map handles; /* TypeHandle -> number in names, from 1 */
    CLR_ARRAY(struct name) names;
    struct clr_map spaces; /* address of the bytes in metadata -> text of ours */
    struct clr_arena texts;
    size_t bytes; /* in texts */
};

void clr_name_cache_destroy(struct clr_name_cache *cache)
{
    if (!cache)
        return;
    clr_arena_deinit(&cache->texts);
    clr_map_deinit(&cache->handles);
    clr_map_deinit(&cache->spaces);
    CLR_ARRAY_FREE(&cache->names);
    clr_free(cache);
}

/* A terminated copy that lives with the cache; NULL: no memory. */
static const char *keep(struct clr_name_cache *cache, const char *text, size_t length)
{
    cache->bytes += length + 1;
    return clr_arena_text(&cache->texts, text, length);
}

/* --- making one ----------------------------------------------------------------------------- */

/* Why a name could not be made. */
enum failure {
    NONE,
    NO_TYPE,   /* no MethodTable or TypeDesc, or not saved */
    NO_MODULE, /* no module that can be read, or no token in it */
    NO_METADATA,
    BAD_METADATA, /* the row is not there or makes no sense */
    NO_ARGUMENTS, /* of an instantiation: not saved */
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY, /* NAMES_MAX */
    NO_MEMORY,
};

/* One name in the making. */
struct work {
    struct clr_runtime *runtime;
    uint64_t handle;
    unsigned depth; /* names around this one */
    struct clr_text text;
    const char *space;
    uint8_t levels;
    enum failure failure;
    const struct clr_module *module; /* NULL: not known */
    uint32_t token;                  /* TypeDef, 0: none */
    struct clr_type type;            /* of a MethodTable */
};

static bool find_name(struct clr_runtime *runtime, uint64_t handle, unsigned depth,
                      struct name *name, enum failure *failure);

static bool fail(struct work *work, enum failure failure)
{
    if (work->failure == NONE)
        work->failure = failure;
    return false;
}

/* Appends the name of HANDLE, which is a part of this one. Its namespace is this one's, if TAKE. */
static bool add_part(struct work *work, uint64_t handle, bool take, struct clr_text *text)
{
    struct name part;
    enum failure failure;
    if (work->depth + 1 >= CLR_ECMA_DEPTH)
        return fail(work, TOO_DEEP);
    if (!find_name(work->runtime, handle, work->depth + 1, &part, &failure))
        return fail(work, failure);
    if (part.levels >= CLR_ECMA_DEPTH)
        return fail(work, TOO_DEEP);
    if (part.levels + 1 > work->levels)
        work->levels = (uint8_t)(part.levels + 1);
    if (take)
        work->space = part.space;
    size_t length = strlen(part.text);
    if (text->length + length > CLR_ECMA_TEXT)
        return fail(work, TOO_LONG);
    clr_text_add(text, part.text, length);
    return true;
}

static bool write_argument(void *context, uint32_t index, struct clr_text *text)
{
    struct work *work = context;
    uint64_t handle;
    if (!clr_type_argument(work->runtime, &work->type, index, &handle))
        return fail(work, NO_ARGUMENTS);
    return add_part(work, handle, false, text);
}

static bool find_space(struct work *work, const struct clr_metadata *metadata)
{
    struct clr_name_cache *cache = work->runtime->names;
    size_t length;
    const char *bytes = clr_ecma_namespace(metadata, work->token & RID, &length);
    uint64_t known;
    if (!bytes)
        return fail(work, BAD_METADATA);
    if (clr_map_get(&cache->spaces, (uintptr_t)bytes, &known)) {
        work->space = (const char *)(uintptr_t)known;
        return true;
    }
    struct clr_text text = {0};
    clr_text_utf8(&text, (const uint8_t *)bytes, length);
    work->space = text.failed ? NULL : keep(cache, text.data, text.length);
    clr_text_deinit(&text);
    return (work->space && clr_map_put(&cache->spaces, (uintptr_t)bytes, (uintptr_t)work->space)) ||
           fail(work, NO_MEMORY);
}

static bool write_definition(struct work *work)
{
    if (!work->module || work->token == 0)
        return fail(work, NO_MODULE);
    if (!work->module->has_metadata)
        return fail(work, NO_METADATA);
    const struct clr_metadata *metadata = &work->module->metadata;
    struct clr_ecma_arguments arguments = {.write = write_argument, .context = work};
    uint64_t handle;
    if (!find_space(work, metadata))
        return false;
    bool open = work->type.is_generic_definition; /* its arguments are its own parameters */
    if (work->type.is_generic && !open) {
        while (arguments.count < MOST_ARGUMENTS &&
               clr_type_argument(work->runtime, &work->type, arguments.count, &handle))
            arguments.count++;
        if (arguments.count != clr_ecma_parameter_count(metadata, CLR_TYPEDEF, work->token & RID))
            return fail(work, metadata->hole_count ? BAD_METADATA : NO_ARGUMENTS);
    }
    if (clr_ecma_definition_name(metadata, work->token & RID, open ? NULL : &arguments,
                                 &work->text))
        return true;
    /* The rows have been read for the namespace, and arguments report their own failures. The
     * names of its own parameters may be missing. */
    if (open && metadata->hole_count)
        return fail(work, work->text.failed ? NO_MEMORY : BAD_METADATA);
    return fail(work, work->text.failed ? NO_MEMORY : TOO_LONG);
}

static bool write_method_table(struct work *work)
{
    struct clr_type *type = &work->type;
    if (!clr_type_read(work->runtime, work->handle, type))
        return fail(work, NO_TYPE);
    if (type->kind == CLR_KIND_FREE) {
        clr_text_put(&work->text, "Free");
        work->space = "";
        return true;
    }
    work->module = type->module ? clr_module_get(work->runtime, type->module) : NULL;
    work->token = type->token;
    if (type->is_continuation)
        return add_part(work, type->parent, true, &work->text);
    if (type->kind != CLR_KIND_ARRAY && type->kind != CLR_KIND_SZARRAY)
        return write_definition(work);
    if (!add_part(work, type->element_handle, true, &work->text))
        return false;
    clr_ecma_array_suffix(type->rank, type->kind == CLR_KIND_SZARRAY, &work->text);
    return true;
}

static bool write_parameter(struct work *work, uint64_t desc)
{
    const struct clr_types_layout *t = &work->runtime->types;
    uint64_t module;
    uint32_t token;
    if (!clr_field_word(work->runtime, desc, t->var_module, &module) ||
        !clr_field_u32(work->runtime, desc, t->var_token, &token))
        return fail(work, NO_TYPE);
    work->space = "";
    work->module = module ? clr_module_get(work->runtime, module) : NULL;
    if (!work->module)
        return fail(work, NO_MODULE);
    if (!work->module->has_metadata)
        return fail(work, NO_METADATA);
    return clr_ecma_parameter_name(&work->module->metadata, token & RID, &work->text) ||
           fail(work, work->text.failed ? NO_MEMORY : BAD_METADATA);
}

static bool write_function_pointer(struct work *work, uint64_t desc)
{
    const struct clr_runtime *runtime = work->runtime;
    const struct clr_types_layout *t = &runtime->types;
    uint32_t count, convention = 0;
    uint64_t handle;
    if (!clr_has(t->fn_types) || !clr_field_u32(runtime, desc, t->fn_args, &count) ||
        count > MOST_ARGUMENTS)
        return fail(work, NO_TYPE);
    clr_field_u32(runtime, desc, t->fn_call_conv, &convention);
    work->space = "";
    clr_text_put(&work->text, clr_ecma_function_pointer(convention));
    for (uint32_t i = 1; i <= count + 1; i++) { /* the result, number 0, comes last */
        clr_text_put(&work->text, i == 1 ? "<" : ", ");
        uint64_t at = desc + t->fn_types + (uint64_t)(i > count ? 0 : i) * runtime->word;
        if (!clr_read_word(runtime->process, at, &handle))
            return fail(work, NO_ARGUMENTS);
        if (!add_part(work, handle, false, &work->text))
            return false;
    }
    clr_text_char(&work->text, '>');
    return true;
}

static bool write_desc(struct work *work)
{
    const struct clr_types_layout *t = &work->runtime->types;
    uint64_t desc = work->handle & ~(uint64_t)HANDLE_IS_DESC, element;
    uint32_t flags;
    if ((desc & work->runtime->alignment_mask) ||
        !clr_field_u32(work->runtime, desc, t->type_desc_flags, &flags))
        return fail(work, NO_TYPE);
    switch (flags & DESC_KIND) {
    case CLR_ELEMENT_PTR:
    case CLR_ELEMENT_BYREF:
    case CLR_ELEMENT_VALUETYPE:
        if (!clr_field_word(work->runtime, desc, t->param_type_arg, &element))
            return fail(work, NO_TYPE);
        if (!add_part(work, element, true, &work->text))
            return false;
        if ((flags & DESC_KIND) != CLR_ELEMENT_VALUETYPE)
            clr_text_char(&work->text, (flags & DESC_KIND) == CLR_ELEMENT_PTR ? '*' : '&');
        return true;
    case CLR_ELEMENT_VAR:
    case CLR_ELEMENT_MVAR: return write_parameter(work, desc);
    case CLR_ELEMENT_FNPTR: return write_function_pointer(work, desc);
    default: return fail(work, NO_TYPE);
    }
}

/* --- replacing one -------------------------------------------------------------------------- */

static void report(const struct work *work)
{
    struct clr_problems *problems = work->runtime->problems;
    unsigned long long at = work->handle;
    uint64_t owner = work->module ? work->module->address : 0;
    const char *module = work->module ? work->module->name : "?";
#define REPORT(...)                                                                                \
    clr_problem_of(problems, CLR_WARNING, "types", owner, false, work->handle, 0, __VA_ARGS__)
    switch (work->failure) {
    case NO_MODULE:
        REPORT("the type at 0x%llx has no name: its module and token are not in the dump", at);
        break;
    case NO_METADATA:
        REPORT("types of module %s have no names: its metadata was not found (the first is the "
               "type at 0x%llx)",
               module, at);
        break;
    case BAD_METADATA:
        if (work->module->metadata.hole_count) /* that is reported for the module */
            break;
        REPORT(
            "types of module %s have no names: their rows in its metadata are damaged (the first "
            "is the type at 0x%llx)",
            module, at);
        break;
    case NO_ARGUMENTS:
        REPORT("the type at 0x%llx has no name: the arguments of its instantiation are not saved",
               at);
        break;
    case TOO_DEEP:
        REPORT("the type at 0x%llx has no name: it is nested deeper than %d levels", at,
               CLR_ECMA_DEPTH);
        break;
    case TOO_LONG:
        REPORT("the type at 0x%llx has no name: it would be longer than %d bytes", at,
               CLR_ECMA_TEXT);
        break;
    case TOO_MANY:
        REPORT("the type at 0x%llx has no name: those before it took %zu bytes", at, NAMES_MAX);
        break;
    default: REPORT("the type at 0x%llx has no name: it is not saved or damaged", at); break;
    }
#undef REPORT
}

static void write_replacement(struct work *work)
{
    clr_text_clear(&work->text);
    if (work->module && work->token != 0) {
        const char *module = work->module->name;
        clr_text_utf8(&work->text, (const uint8_t *)module, strnlen(module, MODULE_NAME_MAX));
        clr_text_format(&work->text, "!0x%08" PRIx32, work->token);
        if (work->type.is_generic && !work->type.is_generic_definition)
            clr_text_format(&work->text, "<0x%" PRIx64 ">", work->handle);
    } else {
        clr_text_format(&work->text, "<unknown 0x%" PRIx64 ">", work->handle);
    }
}

/* --- the cache ------------------------------------------------------------------------------ */

static bool store(struct clr_name_cache *cache, const struct work *work, struct name *name)
{
    if (work->text.failed || !CLR_ARRAY_ROOM(&cache->names))
        return false;
    const char *text = keep(cache, work->text.data, work->text.length);
    if (!text || !clr_map_put(&cache->handles, work->handle, cache->names.count + 1))
        return false;
    *name = (struct name){text, work->space, work->levels};
    cache->names.items[cache->names.count++] = *name;
    return true;
}

/* Makes the name, or its replacement. False: no memory; or too deep from where it is asked for,
 * which says nothing about the type itself. */
static bool make_name(struct work *work, struct name *name)
{
    struct clr_name_cache *cache = work->runtime->names;
    bool well = cache->bytes >= NAMES_MAX       ? fail(work, TOO_MANY)
                : work->handle & HANDLE_IS_DESC ? write_desc(work)
                                                : write_method_table(work);
    if (well && work->text.length > CLR_ECMA_TEXT)
        fail(work, TOO_LONG);
    if (work->text.failed)
        work->failure = NO_MEMORY;
    if (work->failure == NO_MEMORY || (work->failure == TOO_DEEP && work->depth > 0))
        return false;
    if (work->failure != NONE) {
        work->levels = work->failure == TOO_DEEP ? LEVELS_UNKNOWN : 1;
        write_replacement(work);
    }
    if (!store(cache, work, name))
        return fail(work, NO_MEMORY);
    if (work->failure != NONE)
        report(work);
    return true;
}

static bool find_name(struct clr_runtime *runtime, uint64_t handle, unsigned depth,
                      struct name *name, enum failure *failure)
{
    if (!runtime->names && !(runtime->names = clr_alloc(1, sizeof *runtime->names))) {
        *failure = NO_MEMORY;
        return false;
    }
    uint64_t number;
    if (clr_map_get(&runtime->names->handles, handle, &number)) {
        *name = runtime->names->names.items[number - 1];
        return true;
    }
    if (handle == 0) { /* no key of the map, and no type */
        *name = (struct name){"<unknown 0x0>", NULL, 1};
        clr_problem_of(runtime->problems, CLR_WARNING, "types", 0, false, 0, 0,
                       "an address of a type is 0: it has no name");
        return true;
    }
    struct work work = {.runtime = runtime, .handle = handle, .depth = depth, .levels = 1};
    bool made = make_name(&work, name);
    *failure = work.failure;
    clr_text_deinit(&work.text);
    return made;
}

/* Instead of a name for which there was no memory; not kept. */
static const char lost_name[] = "<unknown: out of memory>";

bool clr_type_name_lost(const char *name)
{
    return name == lost_name;
}

const char *clr_handle_type_name(struct clr_runtime *runtime, uint64_t handle)
{
    struct name name;
    enum failure failure;
    if (find_name(runtime, handle, 0, &name, &failure))
        return name.text;
    clr_problem_of(runtime->problems, CLR_ERROR, "types", 0, false, handle, 0,
                   "no memory for the name of the type at 0x%llx", (unsigned long long)handle);
    return lost_name;
}

const char *clr_type_name(struct clr_runtime *runtime, uint64_t address)
{
    return clr_handle_type_name(runtime, address);
}

const char *clr_type_namespace(struct clr_runtime *runtime, uint64_t address)
{
    struct name name;
    enum failure failure;
    return find_name(runtime, address, 0, &name, &failure) ? name.space : NULL;
}
