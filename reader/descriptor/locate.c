/*
 * Where the runtime is and how its descriptor's bytes are got.
 *
 * A runtime is an image that exports DotNetRuntimeContractDescriptor (.NET 9 and later; in a
 * single-file program that image is the executable) or, for .NET 8, g_dacTable. File names decide
 * nothing; they only make the message better when no image exports either.
 *
 * The structure, in the process's byte order (P = pointer size):
 *
 *   offset      size  field
 *   0           8     magic: "DNCCDAC\0" in memory order if little endian, reversed if big
 *   8           4     flags: bit 0 is set, bit 1: pointers have 4 bytes; others are reserved
 *   12          4     length of the JSON text in bytes, without a terminator
 *   16          P     address of the JSON text
 *   16 + P      4     number of slots in the array of pointers
 *   20 + P      4     padding
 *   24 + P      P     address of the array of pointers
 *
 * Structure, array and text never change once the loader has relocated them, so what the dump does
 * not hold (kernel cores leave out .rodata, createdump of .NET 9 and 10 all three) is taken from
 * the image's file, relocated. Nothing else that is writable ever comes from a file.
 *
 * From docs/design/datacontracts/contract-descriptor.md of dotnet/runtime.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/text.h"
#include "core/process.h"
#include "descriptor/internal.h"

static const char descriptor_symbol[] = "DotNetRuntimeContractDescriptor";
static const char table_symbol[] = "g_dacTable";

/* --- images in words -------------------------------------------------------------------------- */

static const char *path_of(const struct clr_image *image)
{
    return image && image->path ? image->path : "(unnamed image)";
}

/* 'PATH, build id HEX' */
struct image_text {
    char text[280];
};
static struct image_text describe(const struct clr_image *image)
{
    struct image_text out;
    char id[2 * CLR_BUILD_ID_MAX + 1] = "";
    for (size_t i = 0; image && i < image->build_id_size && i < CLR_BUILD_ID_MAX; i++)
        snprintf(id + 2 * i, 3, "%02x", image->build_id[i]);
    const char *path = path_of(image);
    size_t length = strlen(path);
    /* The end of a long path says more than its start. */
    if (length > 180)
        path += length - 180;
    while (length > 180 && (*path & 0xC0) == 0x80) /* not into a character */
        path++;
    snprintf(out.text, sizeof out.text, "%s, build id %s", path, *id ? id : "not known");
    return out;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), wanted = strlen(end);
    return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

static const struct clr_image *image_named(const struct clr_process *process, const char *end)
{
    const struct clr_image *images;
    size_t count = clr_process_images(process, &images);
    for (size_t i = 0; i < count; i++)
        if (images[i].path && ends_with(images[i].path, end))
            return &images[i];
    return NULL;
}

/* --- which runtime ---------------------------------------------------------------------------- */

enum clr_status clr_runtimes_find(const struct clr_process *process,
                                  struct clr_runtime_image **list, size_t *count,
                                  struct clr_error *error)
{
    const struct clr_image *images;
    size_t image_count = clr_process_images(process, &images), room = 0;
    *list = NULL;
    *count = 0;
    for (size_t i = 0; i < image_count; i++) {
        uint64_t address = 0, size, table;
        if (!images[i].is_elf)
            continue;
        if (!clr_image_symbol(process, &images[i], descriptor_symbol, &address, &size)) {
            address = 0;
            if (!clr_image_symbol(process, &images[i], table_symbol, &table, &size))
                continue;
        }
        if (!clr_grow(list, *count, &room, sizeof **list)) {
            clr_free(*list);
            *list = NULL;
            *count = 0;
            return clr_no_memory(error);
        }
        (*list)[(*count)++] = (struct clr_runtime_image){&images[i], address};
    }
    return CLR_OK;
}

/* Says why there is none: each reason has another remedy. */
static enum clr_status no_runtime(const struct clr_process *process, struct clr_error *error)
{
    const struct clr_image *images;
    size_t count = clr_process_images(process, &images);
    const struct clr_image *runtime = image_named(process, "/libcoreclr.so");
    const struct clr_image *library = image_named(process, "/System.Private.CoreLib.dll");
    uint64_t entry = 0, address, size;
    if (count == 0)
        return clr_fail(error, CLR_NO_RUNTIME, 0,
                        "no .NET runtime found: the dump names no images (its NT_FILE note is "
                        "missing or cut short)");
    /* A symbol that every CoreCLR exports shows whether symbols can be read at all. */
    if (runtime && runtime->source != CLR_SOURCE_FILE &&
        !clr_image_symbol(process, runtime, "coreclr_initialize", &address, &size))
        return clr_fail(error, CLR_FAULT, runtime->start,
                        "the symbols of the .NET runtime at 0x%llx are not in the dump: the file "
                        "%s is needed (option 'modules': a folder that has it)",
                        (unsigned long long)runtime->start, describe(runtime).text);
    if (runtime)
        return clr_fail(error, CLR_NO_RUNTIME, runtime->start,
                        "%s at 0x%llx exports neither %s nor %s: it is no .NET runtime that can be "
                        "read",
                        path_of(runtime), (unsigned long long)runtime->start, descriptor_symbol,
                        table_symbol);
    if (library && clr_process_auxv(process, 9, &entry) && clr_image_at(process, entry))
        return clr_fail(error, CLR_FAULT, entry,
                        ".NET ran here (System.Private.CoreLib.dll is mapped), but no image's "
                        "symbols lead to its runtime; in a single-file program that is %s (option "
                        "'modules': a folder that has it)",
                        describe(clr_image_at(process, entry)).text);
    return clr_fail(error, CLR_NO_RUNTIME, 0,
                    "no .NET runtime found: none of %zu images exports %s (.NET 9 and later) or %s "
                    "(.NET 8)",
                    count, descriptor_symbol, table_symbol);
}

static enum clr_status fail_choice(const struct clr_runtime_image *list, size_t count,
                                   const char *why, struct clr_error *error)
{
    struct clr_text text = {0};
    for (size_t i = 0; i < count; i++)
        clr_text_format(&text, "%s %zu: %s at 0x%llx", i ? ";" : "", i, path_of(list[i].image),
                        (unsigned long long)list[i].image->start);
    enum clr_status status =
        text.failed
            ? clr_no_memory(error)
            : clr_fail(error, CLR_MISUSE, 0,
                       "%s; option 'runtime' takes a number or part of a path:%s", why, text.data);
    clr_text_deinit(&text);
    return status;
}

/* WANTED is a number of the list, or a part of the path of exactly one. */
static enum clr_status choose(const struct clr_runtime_image *list, size_t count,
                              const char *wanted, struct clr_runtime_image *chosen,
                              struct clr_error *error)
{
    size_t found = 0;
    char *end;
    if (!wanted || !*wanted) {
        *chosen = list[0];
        return count == 1 ? CLR_OK
                          : fail_choice(list, count, "there are several .NET runtimes", error);
    }
    unsigned long number = strtoul(wanted, &end, 10);
    if (wanted[0] >= '0' && wanted[0] <= '9' && !*end && number < count) {
        *chosen = list[number];
        return CLR_OK;
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].image->path && strstr(list[i].image->path, wanted)) {
            *chosen = list[i];
            found++;
        }
    if (found == 1)
        return CLR_OK;
    return fail_choice(list, count,
                       found ? "several .NET runtimes match" : "no .NET runtime matches", error);
}

enum clr_status clr_runtime_choose(const struct clr_process *process,
                                   const struct clr_options *options,
                                   struct clr_runtime_image *chosen, struct clr_error *error)
{
    struct clr_runtime_image *list;
    size_t count;
    CLR_TRY(clr_runtimes_find(process, &list, &count, error));
    enum clr_status status =
        count == 0 ? no_runtime(process, error)
                   : choose(list, count, options ? options->runtime : NULL, chosen, error);
    clr_free(list);
    return status;
}

/* --- bytes that never change ------------------------------------------------------------------ */

static bool read_constant(struct clr_descriptor *d, uint64_t address, void *out, size_t size)
{
    if (clr_read(d->process, address, out, size)) {
        const struct clr_run *run = clr_run_at(d->process, address);
        d->from_file |= run && run->file != 0;
        return true;
    }
    const struct clr_image *image = clr_image_at(d->process, address);
    if (!image || !clr_file_relocated(d->process, image, address, out, size))
        return false;
    d->from_file = true;
    return true;
}

/* What is missing, and the file that has it. */
static enum clr_status not_saved(const struct clr_descriptor *d, const char *what,
                                 const struct clr_structure *structure, uint64_t address,
                                 struct clr_error *error)
{
    const struct clr_image *image = clr_image_at(d->process, address);
    if (!image)
        return clr_fail(error, CLR_FAULT, address,
                        "%s of descriptor '%s' at 0x%llx is not in the dump, nor in a mapped file",
                        what, structure->name, (unsigned long long)address);
    return clr_fail(error, CLR_FAULT, address,
                    "%s of descriptor '%s' at 0x%llx is not in the dump: the file %s is needed "
                    "(option 'modules': a folder that has it)",
                    what, structure->name, (unsigned long long)address, describe(image).text);
}

static const bool machine_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

enum clr_status clr_structure_read(struct clr_descriptor *d, uint64_t address,
                                   struct clr_structure *structure, struct clr_error *error)
{
    static const uint8_t little[8] = "DNCCDAC", big[8] = "\0CADCCND";
    const struct clr_process_info *info = clr_process_info(d->process);
    uint8_t raw[40];
    size_t size = info->word_size == 4 ? 32 : 40; /* 24 + 2 P */
    structure->address = address;
    if (!read_constant(d, address, raw, size))
        return not_saved(d, "the structure", structure, address, error);
    if (memcmp(raw, little, sizeof little) != 0 && memcmp(raw, big, sizeof big) != 0)
        return clr_fail(error, CLR_BAD_DATA, address,
                        "no contract descriptor at 0x%llx: the magic number is missing",
                        (unsigned long long)address);
    structure->little_endian = memcmp(raw, little, sizeof little) == 0;
    struct clr_bytes bytes = clr_bytes(raw, size);
    bytes.swapped = structure->little_endian != machine_is_little;
    clr_bytes_seek(&bytes, sizeof little);
    structure->pointer_size = clr_bytes_u32(&bytes) & 2 ? 4 : 8;
    if (structure->pointer_size != info->word_size || bytes.swapped != info->swapped)
        return clr_fail(error, CLR_BAD_DATA, address,
                        "descriptor '%s' at 0x%llx is for pointers of %d bytes, %s endian: not "
                        "what the process has",
                        structure->name, (unsigned long long)address, structure->pointer_size,
                        structure->little_endian ? "little" : "big");
    structure->json_size = clr_bytes_u32(&bytes);
    structure->json = clr_bytes_word(&bytes, structure->pointer_size);
    structure->slot_count = clr_bytes_u32(&bytes);
    clr_bytes_u32(&bytes);
    structure->slots = clr_bytes_word(&bytes, structure->pointer_size);
    return CLR_OK;
}

enum clr_status clr_structure_text(struct clr_descriptor *d, const struct clr_structure *structure,
                                   char **text, struct clr_error *error)
{
    size_t size = structure->json_size;
    *text = NULL;
    if (size > CLR_DESCRIPTOR_JSON_MAX || size > CLR_DESCRIPTOR_JSON_SUM - d->text_read)
        return clr_fail(error, CLR_BAD_DATA, structure->address,
                        "descriptor '%s' at 0x%llx claims %zu bytes of JSON, more than any has",
                        structure->name, (unsigned long long)structure->address, size);
    d->text_read += size;
    if (!(*text = clr_alloc(size + 1, 1)))
        return clr_no_memory(error);
    if (read_constant(d, structure->json, *text, size))
        return CLR_OK;
    clr_free(*text);
    *text = NULL;
    return not_saved(d, "the JSON text", structure, structure->json, error);
}

bool clr_structure_slot(struct clr_descriptor *d, const struct clr_structure *structure,
                        uint32_t index, uint64_t *value)
{
    uint8_t raw[8];
    size_t size = structure->pointer_size;
    if (!read_constant(d, structure->slots + (uint64_t)index * size, raw, size))
        return false;
    struct clr_bytes bytes = clr_bytes(raw, size);
    bytes.swapped = structure->little_endian != machine_is_little;
    *value = clr_bytes_word(&bytes, size);
    return true;
}
