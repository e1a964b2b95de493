/*
 * One module: its image, its metadata, its names.
 *
 *   what                  name                                                     since
 *   path, file name       Module.Path, .FileName (UTF-16); PEImage.Path            9; 10; .NET 8
 *   assembly's name       Module.SimpleName (UTF-8)                                11, supplements
 *   flags, allocator      Module.Flags (u32), .LoaderAllocator, .ReadyToRunInfo
 *   its image             Module.PEAssembly -> PEAssembly.PEImage ->
 *                         PEImage.LoadedImageLayout, else .FlatImageLayout
 *   where that lies       PEImageLayout.Base, .Size (u32), .Flags (u32, bit 0: mapped)
 *                         .Format (u32)                                            11
 *   its load context      PEAssembly.AssemblyBinder. Until 9 that is set for modules made at run
 *                         time alone; for others PEAssembly.HostAssembly -> BinderAssembly.Binder
 *   collectible, dynamic  Assembly.IsCollectible (u8), .IsDynamic (u8)             10; 11
 *   its snapshot          Module.DynamicMetadata -> DynamicMetadata.Size (u32), .Data (inline);
 *                         .NET 8: ReflectionModule.DynamicMetadata, of modules without an image
 *                         alone (others end before it), and .DataPointer
 *
 * Metadata comes, in this order, from the snapshot that the runtime keeps of a module made or
 * changed at run time, else from the CLI header of the image: in memory, or in an image file that
 * stands in for it (its bytes are runs of the process like any other). Bytes that lie in several
 * runs are copied, and what is missing between them stays a hole: names on a page that was not
 * saved are missing, the module's others are not.
 *
 * Knowledge: the runtime's docs/design/datacontracts/Loader.md and EcmaMetadata.md, ceeload.h.
 */
#include "runtime/module.h"

#include <stdio.h>
#include <string.h>

#include "core/folders.h"
#include "runtime/types.h"

enum {
    MODULE_REFLECTION_EMIT = 0x40, /* of Module.Flags */
    LAYOUT_MAPPED = 1,             /* of PEImageLayout.Flags: sections stand at their RVAs */
    FORMAT_PE = 0,                 /* of PEImageLayout.Format; 1: webcil */
    TEXT_UNITS_MAX = 32767,        /* of a path or name */
    SAVED_PART = 64, /* metadata of which less than one part of so many is saved is not read: what
                        is allocated for it is bounded by what the dump holds */
};

void clr_module_destroy(struct clr_module_record *module)
{
    if (!module)
        return;
    clr_free(module->metadata_copy);
    clr_free(module->holes);
    clr_free(module);
}

/* --- Texts of the runtime --------------------------------------------------------------------- */

/* Empties TEXT: *OUT is a terminated copy in TEXTS. */
static enum clr_status keep_text(struct clr_arena *texts, struct clr_text *text, const char **out,
                                 struct clr_error *error)
{
    *out = text->failed ? NULL : clr_arena_text(texts, text->data, text->length);
    clr_text_deinit(text);
    return *out ? CLR_OK : clr_no_memory(error);
}

/* The terminated text at ADDRESS, UTF-16 or UTF-8, as UTF-8. *OUT is '' if ADDRESS is 0, and stays
 * NULL if the text is not saved or has no end. */
static enum clr_status read_text(const struct clr_runtime *runtime, struct clr_arena *texts,
                                 uint64_t address, bool wide, const char **out,
                                 struct clr_error *error)
{
    struct clr_text text = {0};
    size_t units = 0;
    uint16_t unit;
    uint8_t byte;
    if (address == 0)
        return keep_text(texts, &text, out, error);
    for (;; units++) {
        bool read = wide ? clr_read_u16(runtime->process, address + units * 2, &unit)
                         : clr_read_u8(runtime->process, address + units, &byte);
        if (!read || units > TEXT_UNITS_MAX)
            return CLR_OK;
        if ((wide ? unit : byte) == 0)
            break;
    }
    size_t size = wide ? units * 2 : units;
    uint8_t *bytes = clr_alloc(size, 1);
    if (!bytes)
        return clr_no_memory(error);
    if (clr_read(runtime->process, address, bytes, size)) {
        if (wide)
            clr_text_utf16(&text, bytes, units, clr_process_info(runtime->process)->swapped);
        else
            clr_text_utf8(&text, bytes, size);
    }
    clr_free(bytes);
    return keep_text(texts, &text, out, error);
}

/* The same for a text whose address stands in the word at ADDRESS + OFFSET. */
static enum clr_status read_text_field(const struct clr_runtime *runtime, struct clr_arena *texts,
                                       uint64_t address, uint64_t offset, bool wide,
                                       const char **out, struct clr_error *error)
{
    uint64_t text;
    if (address == 0 || !clr_field_word(runtime, address, offset, &text))
        return CLR_OK;
    return read_text(runtime, texts, text, wide, out, error);
}

/* A string of a module's metadata; *OUT stays NULL if there is none. */
static enum clr_status metadata_text(const struct clr_module_record *module,
                                     enum clr_table_id table, unsigned column, const char **out,
                                     struct clr_error *error)
{
    struct clr_text text = {0};
    uint32_t index;
    size_t length;
    const char *bytes;
    if (!clr_metadata_cell(&module->shown.metadata, table, 1, column, &index) ||
        !(bytes = clr_metadata_string(&module->shown.metadata, index, &length)) || length == 0)
        return CLR_OK;
    clr_text_utf8(&text, (const uint8_t *)bytes, length);
    return keep_text(module->texts, &text, out, error);
}

/* --- One module ------------------------------------------------------------------------------- */

static void read_image(const struct clr_runtime *runtime, struct clr_module *module, uint64_t image)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t layout;
    uint32_t size, flags, format = FORMAT_PE;
    if (!clr_field_word(runtime, image, l->image_loaded, &layout) || layout == 0)
        if (!clr_field_word(runtime, image, l->image_flat, &layout) || layout == 0)
            return;
    if (!clr_field_word(runtime, layout, l->layout_base, &module->image_base) ||
        !clr_field_u32(runtime, layout, l->layout_size, &size) ||
        !clr_field_u32(runtime, layout, l->layout_flags, &flags)) {
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", module->address, false, layout, 0,
                       "where the image of module 0x%llx lies is not saved (0x%llx)",
                       (unsigned long long)module->address, (unsigned long long)layout);
        module->image_base = 0;
        return;
    }
    module->image_size = size;
    module->flat = (flags & LAYOUT_MAPPED) == 0;
    clr_field_u32(runtime, layout, l->layout_format, &format);
    if (module->image_base == 0 || format != FORMAT_PE)
        return;
    struct clr_error why = {0};
    module->has_pe = clr_pe_open(&module->pe, runtime->process, module->image_base, size,
                                 module->flat, &why) == CLR_OK;
    if (!module->has_pe)
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", module->address, false,
                       module->image_base, size,
                       "the image of %s cannot be read, its types have no names: %s; option "
                       "'modules' names a folder with the file",
                       module->path && module->path[0] ? module->path : "a module without a path",
                       why.text);
}

/* Whether the bytes at ADDRESS come from the core or from an image file. */
static enum clr_source source_of(const struct clr_process *process, uint64_t address)
{
    const struct clr_run *run = clr_run_at(process, address);
    return !run || run->file == 0 ? CLR_SOURCE_CORE : CLR_SOURCE_FILE;
}

static bool find_snapshot(const struct clr_runtime *runtime, struct clr_module *module,
                          uint64_t image)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t snapshot, at;
    uint32_t size;
    if (!clr_field_word(runtime, module->address, l->module_dynamic_metadata, &snapshot) &&
        (image != 0 || !clr_field_word(runtime, module->address, l->emitted_metadata, &snapshot)))
        return false;
    if (snapshot == 0 || !clr_field_u32(runtime, snapshot, l->dynamic_size, &size))
        return false;
    if (clr_has(l->dynamic_data))
        at = snapshot + l->dynamic_data;
    else if (!clr_field_word(runtime, snapshot, l->dynamic_pointer, &at))
        return false;
    module->metadata_address = at;
    module->metadata_size = size;
    return true;
}

/* Where the metadata is; false if the module has none that is described. */
static bool find_metadata(const struct clr_runtime *runtime, struct clr_module *module,
                          uint64_t image)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t offset;
    uint8_t edited;
    if (!runtime->contract[CLR_CONTRACT_METADATA])
        return false;
    if (find_snapshot(runtime, module, image))
        return true;
    if (!module->has_pe || module->pe.metadata_size == 0 ||
        !clr_pe_offset(&module->pe, module->pe.metadata_rva, module->pe.metadata_size, &offset))
        return false;
    module->metadata_address = module->image_base + offset;
    module->metadata_size = module->pe.metadata_size;
    if (module->pe_assembly != 0 &&
        clr_field_u8(runtime, module->pe_assembly, l->pe_edited, &edited) && edited)
        clr_problem_of(runtime->problems, CLR_INFO, "modules", module->address, false,
                       module->metadata_address, 0,
                       "the module at 0x%llx was edited while it ran: names that were added are "
                       "not in the metadata that is read",
                       (unsigned long long)module->address);
    return true;
}

/* Copies what is saved of the metadata, and lists what is not. */
static enum clr_status copy_parts(const struct clr_process *process,
                                  struct clr_module_record *module, struct clr_error *error)
{
    const uint64_t start = module->shown.metadata_address, size = module->shown.metadata_size;
    size_t count = 0, room = 0;
    uint64_t got, next;
    if (!(module->metadata_copy = clr_alloc((size_t)size, 1)))
        return clr_no_memory(error);
    for (uint64_t at = 0; at < size;) {
        const uint8_t *part = clr_view(process, start + at, size - at, &got);
        if (got != 0) {
            memcpy(module->metadata_copy + at, part, (size_t)got);
            at += got;
            continue;
        }
        if (!clr_grow(&module->holes, count, &room, sizeof *module->holes))
            return clr_no_memory(error);
        uint64_t end =
            clr_next_saved(process, start + at, &next) && next - start < size ? next - start : size;
        module->holes[count++] = (struct clr_metadata_hole){(size_t)at, (size_t)end};
        at = end;
    }
    module->hole_count = count;
    return CLR_OK;
}

/* Says what is missing of the metadata, if anything is: SAVED bytes were there. */
static void report_metadata(const struct clr_runtime *runtime,
                            const struct clr_module_record *module, uint64_t saved, const char *why)
{
    const struct clr_module *m = &module->shown;
    const unsigned long long start = m->metadata_address, size = m->metadata_size;
    const unsigned long long missing = size - saved, address = m->address;
    if (m->has_metadata && module->hole_count > 0)
        clr_problem_of(runtime->problems, CLR_WARNING, "types", address, false,
                       start + module->holes[0].start, missing,
                       "%llu bytes of the metadata of the module at 0x%llx are not saved (the "
                       "first at 0x%llx): types, fields and methods that are named there have no "
                       "names; option 'modules' names a folder with the files",
                       missing, address, start + module->holes[0].start);
    else if (!m->has_metadata && missing > 0)
        clr_problem_of(
            runtime->problems, CLR_WARNING, "modules", address, false, start, missing,
            "the metadata of the module at 0x%llx is not saved (0x%llx, %llu bytes): its "
            "types have no names; option 'modules' names a folder with the files",
            address, start, size);
    else if (!m->has_metadata)
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", address, false, start, size,
                       "the metadata at 0x%llx of the module at 0x%llx is damaged: %s", start,
                       address, why);
}

/* Where ADDRESS lies in the image file that stands in for it; CLR_ABSENT: nowhere. */
static uint64_t file_offset(const struct clr_process *process, uint64_t address)
{
    const struct clr_run *run = clr_run_at(process, address);
    return run && run->file != 0 ? run->offset + (address - run->start) : CLR_ABSENT;
}

/* Whether the runtime made one of its maps by row number for as many rows as TABLE has: it gives
 * them one entry more, since rows count from 1; some runtimes two. */
static bool fits_map(const struct clr_runtime *runtime, const struct clr_module *module,
                     uint64_t map, enum clr_table_id table)
{
    const uint32_t rows = module->metadata.table[table].count;
    uint32_t count;
    return !clr_has(map) ||
           !clr_field_u32(runtime, module->address + map, runtime->loader.map_count, &count) ||
           count == rows + 1 || count == rows + 2;
}

/* Whether metadata that an image file gives is that of the file that was loaded. The name and the
 * extent of a file may be the same after it was built anew, and no page of it need be saved. But
 * the runtime remembers how many rows it found, and its text of the assembly's name is none of its
 * own: it points into the file's #Strings, which lie behind all code and all tables. */
static bool is_loaded_file(const struct clr_runtime *runtime, const struct clr_module *module)
{
    const struct clr_loader_layout *l = &runtime->loader;
    const struct clr_metadata *metadata = &module->metadata;
    uint64_t remembered, expected, found;
    uint32_t index;
    size_t length;
    const char *name;
    if (!fits_map(runtime, module, l->module_type_defs, CLR_TYPEDEF) ||
        !fits_map(runtime, module, l->module_method_defs, CLR_METHODDEF))
        return false;
    if (!clr_field_word(runtime, module->address, l->module_simple_name, &remembered) ||
        (found = file_offset(runtime->process, remembered)) == CLR_ABSENT ||
        !clr_metadata_cell(metadata, CLR_ASSEMBLY, 1, 7, &index) ||
        !(name = clr_metadata_string(metadata, index, &length)))
        return true; /* nothing to compare with */
    expected =
        file_offset(runtime->process,
                    module->metadata_address + (uint64_t)((const uint8_t *)name - metadata->root));
    return expected == CLR_ABSENT || expected == found;
}

static enum clr_status read_metadata(const struct clr_runtime *runtime,
                                     struct clr_module_record *module, uint64_t image,
                                     struct clr_error *error)
{
    struct clr_module *m = &module->shown;
    const struct clr_process *process = runtime->process;
    if (!find_metadata(runtime, m, image))
        return CLR_OK;
    const uint64_t start = m->metadata_address, size = m->metadata_size;
    uint64_t got = 0, saved = 0;
    const uint8_t *bytes = NULL;
    if (start + size > start) {
        bytes = clr_view(process, start, size, &got);
        saved = got == size ? got : clr_saved_bytes(process, start, start + size);
    }
    struct clr_error why = {0};
    if (got < size && saved > size / SAVED_PART) {
        CLR_TRY(copy_parts(process, module, error));
        bytes = module->metadata_copy;
        got = size;
    }
    if (size != 0 && got == size)
        m->has_metadata = clr_metadata_open_parts(&m->metadata, bytes, (size_t)size, module->holes,
                                                  module->hole_count, &why) == CLR_OK;
    if (m->has_metadata)
        m->metadata_source = source_of(process, start);
    if (m->has_metadata && m->metadata_source == CLR_SOURCE_FILE && !is_loaded_file(runtime, m)) {
        m->has_metadata = m->has_pe = false;
        m->metadata_source = CLR_SOURCE_NONE;
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", m->address, false, start, size,
                       "the file of %s is not the one that was loaded: it has other types, methods "
                       "or code; its types have no names. Option 'modules' names a folder with the "
                       "right file",
                       m->path && m->path[0] ? m->path : "a module without a path");
        return CLR_OK;
    }
    report_metadata(runtime, module, saved, size ? why.text : "it has no bytes");
    return CLR_OK;
}

static void read_identity(struct clr_module *module)
{
    const struct clr_metadata *metadata = &module->metadata;
    uint32_t index, part[4];
    const uint8_t *g;
    if (clr_metadata_cell(metadata, CLR_MODULE, 1, 2, &index) &&
        (g = clr_metadata_guid(metadata, index)))
        snprintf(module->mvid, sizeof module->mvid,
                 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", g[3], g[2],
                 g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9], g[10], g[11], g[12], g[13], g[14],
                 g[15]);
    for (unsigned i = 0; i < 4; i++)
        if (!clr_metadata_cell(metadata, CLR_ASSEMBLY, 1, 1 + i, &part[i]))
            return;
    snprintf(module->version, sizeof module->version, "%u.%u.%u.%u", part[0], part[1], part[2],
             part[3]);
}

static enum clr_status read_path(const struct clr_runtime *runtime,
                                 struct clr_module_record *module, uint64_t image,
                                 struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    struct clr_module *m = &module->shown;
    if (clr_has(l->module_path))
        return read_text_field(runtime, module->texts, m->address, l->module_path, true, &m->path,
                               error);
    if (image == 0)
        return read_text(runtime, module->texts, 0, true, &m->path, error);
    return read_text_field(runtime, module->texts, image, l->image_path, true, &m->path, error);
}

/* Assembly name, name. The name of a module that was loaded from bytes is the one that its metadata
 * gives it ('zoo.dll'); those made at run time all have the same there and go by their assembly's.
 */
static enum clr_status read_names(const struct clr_runtime *runtime,
                                  struct clr_module_record *module, struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    struct clr_module *m = &module->shown;
    if (m->has_metadata)
        CLR_TRY(metadata_text(module, CLR_ASSEMBLY, 7, &m->assembly_name, error));
    if (!m->assembly_name)
        CLR_TRY(read_text_field(runtime, module->texts, m->address, l->module_simple_name, false,
                                &m->assembly_name, error));
    if (m->assembly_name && m->assembly_name[0] == 0)
        m->assembly_name = NULL;
    m->name = m->path ? clr_base_name(m->path) : NULL;
    if (m->name && m->name[0])
        return CLR_OK;
    m->name = NULL;
    CLR_TRY(read_text_field(runtime, module->texts, m->address, l->module_file_name, true, &m->name,
                            error));
    if (m->name && m->name[0] == 0)
        m->name = NULL;
    if (!m->name && m->has_metadata && !m->is_dynamic)
        CLR_TRY(metadata_text(module, CLR_MODULE, 1, &m->name, error));
    if (!m->name)
        m->name = m->assembly_name;
    if (m->name)
        return CLR_OK;
    struct clr_text number = {0};
    clr_text_format(&number, "module 0x%llx", (unsigned long long)m->address);
    return keep_text(module->texts, &number, &m->name, error);
}

static bool stop_at_first(void *context, uint64_t method_table)
{
    *(uint64_t *)context = method_table;
    return false;
}

/* Runtimes before 10 do not say it of the assembly: the allocator is then another than that of
 * System.Private.CoreLib, or, where that is not described either, the module's types are marked. */
static enum clr_status find_collectible(struct clr_runtime *runtime, struct clr_module *module,
                                        struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t core, global, first = 0;
    uint8_t flag;
    struct clr_type type;
    if (module->assembly != 0 &&
        clr_field_u8(runtime, module->assembly, l->assembly_collectible, &flag)) {
        module->is_collectible = flag != 0;
        return CLR_OK;
    }
    if (module->allocator != 0 && clr_type_read(runtime, runtime->object_type, &type)) {
        core = type.module;
        if (clr_field_word(runtime, core, l->module_allocator, &global)) {
            module->is_collectible = global != module->allocator;
            return CLR_OK;
        }
    }
    if (!runtime->contract[CLR_CONTRACT_TYPES])
        return CLR_OK;
    CLR_TRY(clr_module_types(runtime, module, stop_at_first, &first, error));
    module->is_collectible = clr_type_read(runtime, first, &type) && type.is_collectible;
    return CLR_OK;
}

static void find_dynamic(const struct clr_runtime *runtime, struct clr_module *module,
                         uint64_t image)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint8_t flag;
    uint32_t flags;
    if (module->assembly != 0 &&
        clr_field_u8(runtime, module->assembly, l->assembly_dynamic, &flag))
        module->is_dynamic = flag != 0;
    else if (clr_field_u32(runtime, module->address, l->module_flags, &flags))
        module->is_dynamic = (flags & MODULE_REFLECTION_EMIT) != 0;
    else
        module->is_dynamic = image == 0;
}

/* Until 9 the word in PEAssembly is set for modules made at run time alone; for the others the
 * binder is known to the assembly of the binder's own (supplements). */
static void find_binder(const struct clr_runtime *runtime, struct clr_module *module)
{
    const struct clr_loader_layout *l = &runtime->loader;
    uint64_t host;
    clr_field_word(runtime, module->pe_assembly, l->pe_binder, &module->binder);
    if (module->binder == 0 && clr_field_word(runtime, module->pe_assembly, l->pe_host, &host) &&
        host != 0)
        clr_field_word(runtime, host, l->host_binder, &module->binder);
}

enum clr_status clr_module_read(struct clr_runtime *runtime, struct clr_module_record *module,
                                struct clr_error *error)
{
    const struct clr_loader_layout *l = &runtime->loader;
    struct clr_module *m = &module->shown;
    uint64_t image = 0, r2r;
    clr_field_word(runtime, m->address, l->module_assembly, &m->assembly);
    clr_field_word(runtime, m->address, l->module_allocator, &m->allocator);
    if (!clr_field_word(runtime, m->address, l->module_pe_assembly, &m->pe_assembly))
        clr_problem_of(runtime->problems, CLR_WARNING, "modules", m->address, false, m->address, 0,
                       "the module at 0x%llx is not saved: its types have no names",
                       (unsigned long long)m->address);
    if (m->pe_assembly != 0) {
        find_binder(runtime, m);
        clr_field_word(runtime, m->pe_assembly, l->pe_image, &image);
    }
    CLR_TRY(read_path(runtime, module, image, error));
    if (image != 0)
        read_image(runtime, m, image);
    CLR_TRY(read_metadata(runtime, module, image, error));
    if (m->has_metadata)
        read_identity(m);
    find_dynamic(runtime, m, image);
    CLR_TRY(read_names(runtime, module, error));
    m->is_ready_to_run = clr_field_word(runtime, m->address, l->module_r2r, &r2r)
                             ? r2r != 0
                             : m->has_pe && m->pe.native_header_rva != 0;
    return find_collectible(runtime, m, error);
}
