/*
 * clr_what: one line on any address. What people paste here comes from another tool's output, a
 * register, a slot of a table `words`; the answer says which kind of thing it is, so that they know
 * which table to ask.
 *
 * The order of the questions is from the exact to the vague: an object or its inside, the rest of
 * the GC heap; what the runtime knows (types, modules, load contexts, threads); stacks; files;
 * memory that is only known to exist. The heap comes first, so that the inside of an object that
 * looks like something else is the object.
 */
#include "describe.h"

#include "cache.h"
#include "runtime/loader.h"
#include "runtime/object.h"

enum { PREVIEW_CHARACTERS = 40 };

static void put_offset(struct clr_text *text, uint64_t offset)
{
    if (offset > 0)
        clr_text_format(text, " + 0x%llx", (unsigned long long)offset);
}

/* A dump's text: valid UTF-8, on one line. */
static void put_foreign(struct clr_text *text, const char *foreign)
{
    clr_text_utf8(text, (const uint8_t *)foreign, strlen(foreign));
}

static void put_preview(struct clr_text *text, const struct clr_runtime *runtime, uint64_t object)
{
    uint32_t length;
    uint64_t characters, got;
    if (!clr_object_string(runtime, object, &length, &characters) || length == 0)
        return;
    size_t units = length < PREVIEW_CHARACTERS ? length : PREVIEW_CHARACTERS;
    const uint8_t *bytes = clr_view(runtime->process, characters, units * 2, &got);
    if (!bytes)
        return;
    clr_text_put(text, " '");
    size_t start = text->length;
    clr_text_utf16(text, bytes, (size_t)got / 2, clr_process_info(runtime->process)->swapped);
    for (size_t i = start; i < text->length; i++)
        if ((unsigned char)text->data[i] < 0x20)
            text->data[i] = ' ';
    clr_text_put(text, length > units ? "…'" : "'");
}

/* A place in the GC heap: an object, inside one, or neither. */
static bool what_heap(struct clr_dump *dump, uint64_t address, struct clr_text *text)
{
    const struct clr_segment *segment = clr_gc_segment_at(dump->gc, address);
    uint32_t number;
    struct clr_object object;
    if (!segment)
        return false;
    int generation = clr_segment_generation(segment, address);
    if (!clr_object_containing(dump->heap, address, &number) ||
        !clr_object_read(dump->heap, number, &object)) {
        clr_text_format(
            text,
            "generation %d, heap %u, segment 0x%llx: no object; a hole of an allocation "
            "context, or not readable",
            generation, segment->heap, (unsigned long long)segment->address);
        return true;
    }
    const struct clr_shape *shapes;
    clr_heap_shapes(dump->heap, &shapes);
    const struct clr_shape *shape = &shapes[object.shape];
    uint64_t offset = address - object.address;
    if (shape->is_free) {
        clr_text_format(text, "%sfree block 0x%llx", offset ? "inside " : "",
                        (unsigned long long)object.address);
    } else {
        clr_text_format(text, "%sobject 0x%llx", offset ? "inside " : "",
                        (unsigned long long)object.address);
    }
    put_offset(text, offset);
    if (!shape->is_free)
        clr_text_format(text, ": %s", clr_type_name(dump->runtime, object.type));
    if (shape->is_string)
        put_preview(text, dump->runtime, object.address);
    clr_text_format(text, ", %llu bytes, generation %d", (unsigned long long)object.size,
                    generation);
    return true;
}

static bool what_thread(const struct clr_dump *dump, uint64_t address, struct clr_text *text)
{
    for (size_t i = 0; i < dump->thread_count; i++) {
        const struct clr_thread *thread = &dump->threads[i];
        bool is_stack = thread->stack_base > thread->stack_limit && thread->stack_limit != 0 &&
                        address >= thread->stack_limit && address < thread->stack_base;
        if (thread->address != address && !is_stack)
            continue;
        clr_text_format(text, "%sthread %u (os id %llu)", is_stack ? "stack of " : "",
                        thread->managed_id, (unsigned long long)thread->os_id);
        return true;
    }
    return false;
}

/* What a dump does not say, this address is not: anything but a failure of the query itself. */
static bool is_untold(enum clr_status status)
{
    return status == CLR_UNSUPPORTED || status == CLR_FAULT || status == CLR_BAD_DATA;
}

static enum clr_status what_loader(struct clr_dump *dump, uint64_t address, struct clr_text *text,
                                   bool *found, struct clr_error *error)
{
    const struct clr_module *const *modules;
    const struct clr_load_context *contexts;
    size_t count;
    *found = false;
    if (!dump->runtime->contract[CLR_CONTRACT_LOADER])
        return CLR_OK;
    enum clr_status status = clr_modules(dump->runtime, &modules, &count, error);
    if (status != CLR_OK)
        return is_untold(status) ? CLR_OK : status;
    for (size_t i = 0; i < count && !*found; i++) {
        *found = modules[i]->address == address;
        if (*found)
            clr_text_put(text, "module "), put_foreign(text, modules[i]->name);
    }
    if (*found)
        return CLR_OK;
    status = clr_load_contexts(dump->runtime, &contexts, &count, error);
    if (status != CLR_OK)
        return is_untold(status) ? CLR_OK : status;
    for (size_t i = 0; i < count && !*found; i++) {
        *found = contexts[i].address == address;
        if (*found)
            clr_text_format(text, "load context with %u module%s", contexts[i].module_count,
                            contexts[i].module_count == 1 ? "" : "s");
    }
    return CLR_OK;
}

/* The OS thread whose stack pointer lies in REGION, or NULL: threads that the runtime does not know
 * have stacks too. */
static const struct clr_os_thread *stack_owner(const struct clr_process *process,
                                               const struct clr_region *region)
{
    const struct clr_os_thread *threads;
    size_t count = clr_process_threads(process, &threads);
    for (size_t i = 0; i < count; i++)
        if (threads[i].sp - region->start < region->size)
            return &threads[i];
    return NULL;
}

static void what_memory(const struct clr_process *process, uint64_t address, struct clr_text *text)
{
    const struct clr_image *image = clr_image_at(process, address);
    const struct clr_region *regions, *region = NULL;
    uint64_t got;
    size_t count = clr_process_regions(process, &regions);
    for (size_t i = 0; i < count && !region; i++)
        if (address - regions[i].start < regions[i].size)
            region = &regions[i];
    const struct clr_os_thread *owner = region ? stack_owner(process, region) : NULL;
    if (image) {
        put_foreign(text, image->path);
        put_offset(text, address - image->start);
    } else if (owner) {
        clr_text_format(text, "stack of the native thread with os id %u", owner->os_id);
    } else if (region) {
        clr_text_format(text, "memory 0x%llx", (unsigned long long)region->start);
        put_offset(text, address - region->start);
        clr_text_format(text, ", %c%c%c", region->flags & 4 ? 'r' : '-',
                        region->flags & 2 ? 'w' : '-', region->flags & 1 ? 'x' : '-');
        if (region->path) {
            clr_text_put(text, ", ");
            put_foreign(text, region->path);
        }
    } else {
        clr_text_put(text, "not in the dump: no memory of the process that was announced");
        return;
    }
    if (!clr_view(process, address, 1, &got))
        clr_text_put(text, ", not saved");
}

enum clr_status clr_what(struct clr_dump *dump, uint64_t address, struct clr_job *job,
                         struct clr_text *text, struct clr_error *error)
{
    bool have, found;
    if (address == 0) {
        clr_text_put(text, "null");
        return CLR_OK;
    }
    CLR_TRY(clr_try_need(dump, CLR_PART_INDEX, job, &have, error));
    if (have && what_heap(dump, address, text))
        return CLR_OK;
    CLR_TRY(clr_try_need(dump, CLR_PART_RUNTIME, job, &have, error));
    if (have) {
        struct clr_runtime *runtime = dump->runtime;
        if (runtime->contract[CLR_CONTRACT_TYPES] && clr_type_valid(runtime, address)) {
            clr_text_format(text, "MethodTable of %s", clr_type_name(runtime, address));
            return CLR_OK;
        }
        CLR_TRY(what_loader(dump, address, text, &found, error));
        if (found || what_thread(dump, address, text))
            return CLR_OK;
    }
    what_memory(dump->process, address, text);
    return CLR_OK;
}
