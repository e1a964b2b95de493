/*
 * The fake process's memory and descriptor; how it becomes a core and is opened.
 */
#include "clr_builder_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core_builder.h"
#include "descriptor_builder.h"
#include "metadata_builder.h"

enum { MACHINE_X64 = 62, MACHINE_X86 = 3, STRUCTURE_SIZE = 40, PAGE = 4096 };

void fake_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("fake process: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    abort();
}

void *fake_grow(void *block, size_t count, size_t size)
{
    void *grown = realloc(block, count * size);
    if (!grown)
        fake_die("out of memory");
    return grown;
}

/* --- Memory ----------------------------------------------------------------------------------- */

static uint64_t native_base(const struct fake *fake)
{
    return fake->word == 8 ? 0x7e0000100000 : 0x10000000;
}

uint64_t fake_heap_base(const struct fake *fake)
{
    return fake->word == 8 ? 0x7e2000000000 : 0x20000000;
}

uint64_t fake_handle_base(const struct fake *fake)
{
    return fake->word == 8 ? 0x7e0800000000 : 0x18000000;
}

uint64_t fake_image_base(const struct fake *fake)
{
    return fake->word == 8 ? 0x7e1000000000 : 0x60000000;
}

static uint64_t runtime_base(const struct fake *fake)
{
    return fake->word == 8 ? 0x7e3000000000 : 0x70000000;
}

size_t fake_block(struct fake *fake, uint64_t start, uint64_t size)
{
    struct fake_private *own = fake->own;
    own->blocks = fake_grow(own->blocks, own->block_count + 1, sizeof *own->blocks);
    struct fake_block *block = &own->blocks[own->block_count];
    *block = (struct fake_block){.start = start, .size = size, .room = size};
    block->data = fake_grow(NULL, size ? (size_t)size : 1, 1);
    memset(block->data, 0, (size_t)size);
    return own->block_count++;
}

uint64_t fake_memory(struct fake *fake, uint64_t size)
{
    struct fake_block *native = &fake->own->blocks[0];
    uint64_t at = (native->size + 15) / 16 * 16, end = at + (size ? size : 1);
    if (end > native->room) {
        native->room = end * 2;
        native->data = fake_grow(native->data, (size_t)native->room, 1);
    }
    memset(native->data + native->size, 0, (size_t)(end - native->size));
    native->size = end;
    return native->start + at;
}

static uint8_t *bytes_at(const struct fake *fake, uint64_t address, size_t size)
{
    for (size_t i = 0; i < fake->own->block_count; i++) {
        struct fake_block *block = &fake->own->blocks[i];
        if (address >= block->start && address - block->start <= block->size &&
            size <= block->size - (address - block->start))
            return block->data + (address - block->start);
    }
    fake_die("there is no memory at 0x%llx", (unsigned long long)address);
}

void fake_put(struct fake *fake, uint64_t address, const void *bytes, size_t size)
{
    memcpy(bytes_at(fake, address, size), bytes, size);
}

/* SIZE bytes of a number, in the process's byte order. */
static void put_number(struct fake *fake, uint64_t address, uint64_t value, size_t size)
{
    uint8_t *to = bytes_at(fake, address, size);
    for (size_t i = 0; i < size; i++)
        to[fake->big_endian ? size - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_number(const struct fake *fake, uint64_t address, size_t size)
{
    const uint8_t *from = bytes_at(fake, address, size);
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)from[fake->big_endian ? size - 1 - i : i] << (8 * i);
    return value;
}

void fake_put_u8(struct fake *fake, uint64_t address, uint8_t value)
{
    put_number(fake, address, value, 1);
}

void fake_put_u16(struct fake *fake, uint64_t address, uint16_t value)
{
    put_number(fake, address, value, 2);
}

void fake_put_u32(struct fake *fake, uint64_t address, uint32_t value)
{
    put_number(fake, address, value, 4);
}

void fake_put_u64(struct fake *fake, uint64_t address, uint64_t value)
{
    put_number(fake, address, value, 8);
}

void fake_put_word(struct fake *fake, uint64_t address, uint64_t value)
{
    put_number(fake, address, value, fake->word);
}

uint64_t fake_word(const struct fake *fake, uint64_t address)
{
    return get_number(fake, address, fake->word);
}

uint32_t fake_u32(const struct fake *fake, uint64_t address)
{
    return (uint32_t)get_number(fake, address, 4);
}

uint64_t fake_utf8(struct fake *fake, const char *text)
{
    uint64_t at = fake_memory(fake, strlen(text) + 1);
    fake_put(fake, at, text, strlen(text));
    return at;
}

uint64_t fake_utf16(struct fake *fake, const char *ascii)
{
    uint64_t at = fake_memory(fake, 2 * (strlen(ascii) + 1));
    for (size_t i = 0; ascii[i]; i++)
        fake_put_u16(fake, at + 2 * i, (uint8_t)ascii[i]);
    return at;
}

void fake_forget(struct fake *fake, uint64_t address, uint64_t size)
{
    struct fake_private *own = fake->own;
    own->holes = fake_grow(own->holes, own->hole_count + 1, sizeof *own->holes);
    own->holes[own->hole_count++] = (struct fake_hole){address, address + size};
}

void fake_split(struct fake *fake, uint64_t address)
{
    fake_forget(fake, address, 0);
}

/* --- The descriptor --------------------------------------------------------------------------- */

static struct fake_name *name_of(const struct fake *fake, const char *type, const char *field)
{
    struct fake_name *name = fake_find_name(fake, type, field);
    if (!name)
        fake_die("release %u has no %s.%s", fake->release, type, field);
    return name;
}

uint64_t fake_offset(const struct fake *fake, const char *type, const char *field)
{
    return name_of(fake, type, field)->value;
}

uint64_t fake_size(const struct fake *fake, const char *type)
{
    return name_of(fake, type, "!")->value;
}

static size_t width_of(const struct fake *fake, const struct fake_name *name)
{
    if (name->width == FAKE_INLINE)
        fake_die("%s.%s is no number", name->type, name->field);
    return name->width ? name->width : fake->word;
}

void fake_set(struct fake *fake, uint64_t address, const char *type, const char *field,
              uint64_t value)
{
    const struct fake_name *name = name_of(fake, type, field);
    put_number(fake, address + name->value, value, width_of(fake, name));
}

uint64_t fake_get(const struct fake *fake, uint64_t address, const char *type, const char *field)
{
    const struct fake_name *name = name_of(fake, type, field);
    return get_number(fake, address + name->value, width_of(fake, name));
}

static struct fake_global *find_global(const struct fake *fake, const char *name)
{
    for (size_t i = 0; i < fake->own->global_count; i++)
        if (strcmp(fake->own->globals[i].name, name) == 0)
            return &fake->own->globals[i];
    return NULL;
}

void fake_add_global(struct fake *fake, const char *name, enum fake_global_kind kind,
                     uint64_t value)
{
    struct fake_private *own = fake->own;
    if (own->global_count == FAKE_GLOBALS_MAX)
        fake_die("too many globals");
    own->globals[own->global_count++] =
        (struct fake_global){.name = name, .kind = kind, .value = value};
}

uint64_t fake_add_variable(struct fake *fake, const char *name, uint64_t size)
{
    uint64_t at = fake_memory(fake, size);
    fake_add_global(fake, name, FAKE_VARIABLE, at);
    return at;
}

uint64_t fake_variable(const struct fake *fake, const char *name)
{
    const struct fake_global *global = find_global(fake, name);
    if (!global || global->kind != FAKE_VARIABLE)
        fake_die("this process has no variable %s", name);
    return global->value;
}

void fake_set_variable(struct fake *fake, const char *name, uint64_t value)
{
    fake_put_word(fake, fake_variable(fake, name), value);
}

void fake_hide(struct fake *fake, const char *type, const char *field)
{
    struct fake_global *global = type ? NULL : find_global(fake, field);
    if (type)
        name_of(fake, type, field)->hidden = true;
    else if (global)
        global->hidden = true;
    else
        fake_die("this process has no global %s", field);
}

void fake_contract(struct fake *fake, const char *name, const char *version)
{
    for (size_t i = 0; i < fake->own->contract_count; i++)
        if (strcmp(fake->own->contracts[i].name, name) == 0) {
            fake->own->contracts[i].version = version;
            return;
        }
    if (fake->own->contract_count == FAKE_CONTRACTS_MAX)
        fake_die("too many contracts");
    fake->own->contracts[fake->own->contract_count].name = name;
    fake->own->contracts[fake->own->contract_count++].version = version;
}

void fake_literal(struct fake *fake, const char *name, uint64_t value)
{
    struct fake_global *global = find_global(fake, name);
    if (!global)
        fake_add_global(fake, name, FAKE_LITERAL, value);
    else
        *global = (struct fake_global){.name = global->name, .kind = FAKE_LITERAL, .value = value};
}

void fake_text(struct fake *fake, const char *name, const char *text)
{
    struct fake_global *global = find_global(fake, name);
    if (!global) {
        fake_add_global(fake, name, FAKE_TEXT, 0);
        global = find_global(fake, name);
    }
    char *copy = strdup(text);
    if (!copy)
        fake_die("out of memory");
    free(global->text);
    global->kind = FAKE_TEXT;
    global->text = copy;
}

/* The names as JSON; SLOTS gets the addresses of variables, from index 1 on. */
static char *descriptor_text(const struct fake *fake, uint64_t *slots, uint32_t *slot_count)
{
    const struct fake_private *own = fake->own;
    char *text;
    size_t size;
    FILE *json = open_memstream(&text, &size);
    if (!json)
        fake_die("out of memory");
    fputs("{\"version\":2,\"baseline\":\"empty\",\"types\":{", json);
    for (size_t i = 0; i < own->name_count; i++) {
        bool first = true;
        if (i > 0 && strcmp(own->names[i - 1].type, own->names[i].type) == 0)
            continue;
        fprintf(json, "%s\"%s\":{", i ? "," : "", own->names[i].type);
        for (size_t j = i; j < own->name_count; j++) {
            if (strcmp(own->names[j].type, own->names[i].type) != 0)
                break;
            if (own->names[j].hidden)
                continue;
            fprintf(json, "%s\"%s\":%llu", first ? "" : ",", own->names[j].field,
                    (unsigned long long)own->names[j].value);
            first = false;
        }
        fputc('}', json);
    }
    fputs("},\"globals\":{", json);
    *slot_count = 1;
    for (size_t i = 0, shown = 0; i < own->global_count; i++) {
        const struct fake_global *global = &own->globals[i];
        if (global->hidden)
            continue;
        fprintf(json, "%s\"%s\":", shown++ ? "," : "", global->name);
        if (global->kind == FAKE_LITERAL) {
            fprintf(json, "\"0x%llx\"", (unsigned long long)global->value);
        } else if (global->kind == FAKE_TEXT) {
            fprintf(json, "[\"%s\",\"string\"]", global->text);
        } else {
            slots[*slot_count] = global->value;
            fprintf(json, "[[%u],\"pointer\"]", (*slot_count)++);
        }
    }
    fputs("},\"contracts\":{", json);
    for (size_t i = 0, shown = 0; i < own->contract_count; i++)
        if (own->contracts[i].version)
            fprintf(json, "%s\"%s\":\"%s\"", shown++ ? "," : "", own->contracts[i].name,
                    own->contracts[i].version);
    fputs("}}", json);
    if (fclose(json) != 0)
        fake_die("out of memory");
    return text;
}

/* --- The fake --------------------------------------------------------------------------------- */

struct fake *fake_create(const struct fake_options *options)
{
    struct fake *fake = fake_grow(NULL, 1, sizeof *fake);
    memset(fake, 0, sizeof *fake);
    fake->own = fake_grow(NULL, 1, sizeof *fake->own);
    memset(fake->own, 0, sizeof *fake->own);
    fake->own->file = -1;
    if (options)
        fake->own->options = *options;
    options = &fake->own->options;
    fake->word = options->word ? options->word : 8;
    fake->big_endian = options->big_endian;
    fake->release = options->release ? options->release : 11;
    fake_block(fake, native_base(fake), 0);
    fake_memory(fake, 64); /* so that no structure lies where the block begins */
    fake_lay_out(fake);
    fake_text(fake, "RuntimeProductVersionString", "0.0.0-fake");
    fake_create_heaps(fake);
    fake_create_domain(fake);
    return fake;
}

void fake_destroy(struct fake *fake)
{
    struct fake_private *own = fake->own;
    for (size_t i = 0; i < own->block_count; i++)
        free(own->blocks[i].data);
    for (size_t i = 0; i < own->global_count; i++)
        free(own->globals[i].text);
    for (unsigned i = 0; i < FAKE_HEAPS_MAX; i++)
        for (unsigned j = 0; j < FAKE_FILL_POINTERS; j++)
            free(own->heaps[i].finalizable[j]);
    if (own->core_metadata)
        metadata_builder_destroy(own->core_metadata);
    if (own->file >= 0)
        close(own->file);
    free(own->blocks);
    free(own->holes);
    free(own);
    free(fake);
}

/* --- Writing and opening ---------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const struct fake_hole *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* What of [start, start + size) is not forgotten. */
static void write_saved(const struct fake *fake, struct core *core, uint64_t start,
                        const uint8_t *data, uint64_t size)
{
    uint64_t at = start, end = start + size;
    for (size_t i = 0; i <= fake->own->hole_count && at < end; i++) {
        bool last = i == fake->own->hole_count;
        uint64_t from = last ? end : fake->own->holes[i].start;
        uint64_t to = last ? end : fake->own->holes[i].end;
        if (to <= at)
            continue;
        if (from > end)
            from = end;
        if (from > at)
            core_add_memory(core, at, data + (at - start), from - at, from - at, 6);
        if (from == to && to > start && to < end) /* a split: something else stands between */
            core_add_memory(core, runtime_base(fake) - PAGE * (i + 1), NULL, PAGE, PAGE, 4);
        at = to;
    }
}

/* The image of the runtime, with the descriptor in it. */
static struct built_image *build_runtime(const struct fake *fake)
{
    uint64_t slots[FAKE_GLOBALS_MAX + 1] = {0};
    uint32_t slot_count;
    char *json = descriptor_text(fake, slots, &slot_count);
    struct built_image *image =
        built_image_create(runtime_base(fake), fake->word, fake->big_endian);
    uint64_t at = built_image_descriptor(image, json, strlen(json), slots, slot_count);
    built_image_export(image, "DotNetRuntimeContractDescriptor", at, STRUCTURE_SIZE);
    built_image_finish(image);
    free(json);
    return image;
}

const char *fake_path(struct fake *fake)
{
    struct fake_private *own = fake->own;
    struct core *core =
        core_create(fake->word, fake->big_endian, fake->word == 8 ? MACHINE_X64 : MACHINE_X86);
    struct built_image *image = build_runtime(fake);
    const char *path = "/runtime/libcoreclr.so";
    core_add_command(core, 4711, "fake", "fake --test");
    core_add_auxv(core, 6, PAGE); /* AT_PAGESZ */
    core_add_file(core, image->base, image->base + image->data, 0, path);
    core_add_file(core, image->base + image->data, image->base + image->size, image->data, path);
    for (size_t i = 0; i < own->os_thread_count; i++)
        core_add_thread(core, own->os_threads[i], 0, own->os_registers[i],
                        fake->word == 8 ? 27 : 17);
    core_add_memory(core, image->base, image->bytes, image->data, image->data, 4);
    core_add_memory(core, image->base + image->data, image->bytes + image->data,
                    image->size - image->data, image->size - image->data, 6);
    if (own->hole_count)
        qsort(own->holes, own->hole_count, sizeof *own->holes, by_start);
    for (size_t i = 0; i < own->block_count; i++)
        write_saved(fake, core, own->blocks[i].start, own->blocks[i].data, own->blocks[i].size);
    if (own->file >= 0)
        close(own->file);
    own->file = core_open(core, own->path);
    if (own->file < 0)
        fake_die("cannot write the core");
    built_image_destroy(image);
    core_destroy(core);
    return own->path;
}

enum clr_status fake_try_open(struct fake *fake, struct fake_target *target,
                              struct clr_error *error)
{
    const struct clr_options options = {0};
    struct clr_descriptor *descriptor = NULL;
    enum clr_status status;
    *target = (struct fake_target){0};
    if (!(target->problems = clr_problems_create()))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    status = clr_process_open(fake->own->path, &options, NULL, target->problems, &target->process,
                              error);
    if (status == CLR_OK)
        status =
            clr_descriptor_open(target->process, &options, target->problems, &descriptor, error);
    if (status == CLR_OK)
        status = clr_runtime_open(target->process, descriptor, target->problems, &target->runtime,
                                  error);
    if (status != CLR_OK)
        fake_close(target);
    return status;
}

void fake_open(struct fake *fake, struct fake_target *target)
{
    struct clr_error error = {0};
    fake_path(fake);
    if (fake_try_open(fake, target, &error) != CLR_OK)
        fake_die("cannot open the core: %s", error.text);
}

void fake_close(struct fake_target *target)
{
    clr_runtime_close(target->runtime);
    if (target->process)
        clr_process_close(target->process);
    clr_problems_destroy(target->problems);
    *target = (struct fake_target){0};
}
