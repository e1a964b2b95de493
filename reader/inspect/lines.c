/*
 * Portable PDBs: ECMA-335 metadata with tables of their own.
 *
 * Which PDB belongs to a module, the module's debug directory says: entries of 28 bytes
 *   4   u32 timestamp         of a CodeView entry of a portable PDB: the last four bytes of the id
 *   8   u16, u16 version
 *   12  u32 type              2 CodeView, 17 embedded portable PDB
 *   16  u32 size, u32 rva, u32 file offset
 * CodeView: 'RSDS', 16 bytes: the first of the id, u32 age, path of the PDB (UTF-8, as it was
 * built). Embedded: 'MPDB', u32 size, deflated bytes. The stream #Pdb begins with the 20 bytes of
 * the id.
 *
 *   Document (0x30)                  name: a separator, then #Blob indexes of the parts of the
 *                                    path
 *   MethodDebugInformation (0x31)    one row a method: document (0: several), sequence points
 *   sequence points                  compressed numbers: local signature; document, if the row has
 *                                    none; then records: IL distance (0, and not the first: a
 *                                    document follows), lines, columns (signed if lines is not 0):
 *                                    both 0: a hidden point; else start line and column, the first
 *                                    as they are, later ones as signed distances
 *
 * Searched, in this order: embedded; beside the module; the path it was built at; the folders of
 * option 'modules', files of that name that end in .pdb. A file counts if its id is the module's.
 *
 * Knowledge: the Portable PDB format specification, and docs/design/specs/PE-COFF.md of the
 * runtime.
 */
#include "inspect/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/alloc.h"
#include "base/array.h"
#include "core/folders.h"

enum {
    ENTRY_SIZE = 28,
    ENTRIES_MAX = 64,
    TYPE_CODE_VIEW = 2,
    TYPE_EMBEDDED = 17,
    ID_SIZE = 20,
    GUID_SIZE = 16,
    PATH_MAX_BYTES = 4096,
    PDB_MAX = 1 << 30, /* bytes of a PDB, embedded or not */
    RID = 0x00ffffff,
    DOCUMENT_NAME = 0,
    METHOD_DOCUMENT = 0,
    METHOD_POINTS = 1, /* columns */
};

struct clr_pdb {
    struct clr_metadata metadata;
    void *bytes; /* mapped, or unpacked */
    size_t size;
    bool mapped;
};

struct pdb_of_module {
    uint64_t module;
    struct clr_pdb *pdb; /* NULL: there is none */
};

struct clr_pdbs {
    struct pdb_of_module *items;
    size_t count, room;
    struct clr_folders folders; /* PDBs in the folders of option 'modules' */
};

/* What a module says of its PDB. */
struct wanted {
    const struct clr_module *module;
    uint8_t id[ID_SIZE];
    bool has_id;
    char path[PATH_MAX_BYTES]; /* '' if none */
    uint64_t embedded;         /* address, 0: none */
    uint32_t embedded_size;
    bool refused; /* a file of that name was of another build */
};

static void close_pdb(struct clr_pdb *pdb)
{
    if (!pdb)
        return;
    if (pdb->mapped)
        munmap(pdb->bytes, pdb->size);
    else
        clr_free(pdb->bytes);
    clr_free(pdb);
}

struct clr_pdbs *clr_pdbs_create(void)
{
    return clr_alloc(1, sizeof(struct clr_pdbs));
}

void clr_pdbs_destroy(struct clr_pdbs *pdbs)
{
    if (!pdbs)
        return;
    for (size_t i = 0; i < pdbs->count; i++)
        close_pdb(pdbs->items[i].pdb);
    clr_folders_deinit(&pdbs->folders);
    clr_free(pdbs->items);
    clr_free(pdbs);
}

/* --- What the module says -----------------------------------------------------------------------
 */

static void read_code_view(const struct clr_runtime *runtime, uint64_t address, uint32_t size,
                           uint32_t timestamp, struct wanted *wanted)
{
    uint8_t head[4 + GUID_SIZE + 4];
    if (size <= sizeof head || size - sizeof head >= sizeof wanted->path ||
        !clr_read(runtime->process, address, head, sizeof head) || memcmp(head, "RSDS", 4) != 0)
        return;
    memcpy(wanted->id, head + 4, GUID_SIZE);
    for (unsigned i = 0; i < 4; i++)
        wanted->id[GUID_SIZE + i] = (uint8_t)(timestamp >> (8 * i));
    wanted->has_id = true;
    size -= (uint32_t)sizeof head;
    if (!clr_read(runtime->process, address + sizeof head, wanted->path, size))
        size = 0;
    wanted->path[size] = 0;
}

static void read_directory(const struct clr_runtime *runtime, struct wanted *wanted)
{
    const struct clr_module *module = wanted->module;
    uint64_t offset;
    uint32_t count = module->pe.debug_size / ENTRY_SIZE;
    if (!module->has_pe || count == 0 ||
        !clr_pe_offset(&module->pe, module->pe.debug_rva, module->pe.debug_size, &offset))
        return;
    for (uint32_t i = 0; i < count && i < ENTRIES_MAX; i++) {
        uint8_t bytes[ENTRY_SIZE];
        uint64_t data;
        if (!clr_read(runtime->process, module->image_base + offset + i * ENTRY_SIZE, bytes,
                      sizeof bytes))
            return;
        struct clr_bytes entry = clr_bytes(bytes, sizeof bytes);
        entry.swapped = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
        clr_bytes_u32(&entry);
        uint32_t timestamp = clr_bytes_u32(&entry);
        clr_bytes_u32(&entry);
        uint32_t type = clr_bytes_u32(&entry), size = clr_bytes_u32(&entry),
                 rva = clr_bytes_u32(&entry);
        if (!clr_pe_offset(&module->pe, rva, size, &data))
            continue;
        if (type == TYPE_CODE_VIEW && !wanted->has_id) {
            read_code_view(runtime, module->image_base + data, size, timestamp, wanted);
        } else if (type == TYPE_EMBEDDED && wanted->embedded == 0) {
            wanted->embedded = module->image_base + data;
            wanted->embedded_size = size;
        }
    }
}

/* --- Opening ------------------------------------------------------------------------------------
 */

/* Takes over BYTES. *PDB stays NULL if they are no PDB, or that of another build. */
static enum clr_status open_bytes(void *bytes, size_t size, bool mapped, struct wanted *wanted,
                                  struct clr_pdb **pdb, struct clr_error *error)
{
    struct clr_error why = {0};
    struct clr_pdb *opened = clr_alloc(1, sizeof *opened);
    *pdb = NULL;
    if (!opened) {
        if (mapped)
            munmap(bytes, size);
        else
            clr_free(bytes);
        return clr_no_memory(error);
    }
    *opened = (struct clr_pdb){.bytes = bytes, .size = size, .mapped = mapped};
    bool fits = clr_metadata_open(&opened->metadata, bytes, size, &why) == CLR_OK &&
                opened->metadata.pdb.size >= ID_SIZE &&
                (!wanted->has_id || memcmp(opened->metadata.pdb.data, wanted->id, ID_SIZE) == 0);
    if (!fits) {
        close_pdb(opened);
        wanted->refused = true;
        return CLR_OK;
    }
    *pdb = opened;
    return CLR_OK;
}

/* A file by its path; what is not there is no failure. */
static enum clr_status try_file(const char *path, struct wanted *wanted, struct clr_pdb **pdb,
                                struct clr_error *error)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return CLR_OK;
    void *bytes = MAP_FAILED;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size <= PDB_MAX)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return CLR_OK;
    return open_bytes(bytes, (size_t)st.st_size, true, wanted, pdb, error);
}

static enum clr_status try_embedded(const struct clr_runtime *runtime, struct wanted *wanted,
                                    struct clr_pdb **pdb, struct clr_error *error)
{
    uint8_t head[8];
    if (wanted->embedded == 0 || wanted->embedded_size <= sizeof head ||
        wanted->embedded_size > PDB_MAX ||
        !clr_read(runtime->process, wanted->embedded, head, sizeof head) ||
        memcmp(head, "MPDB", 4) != 0)
        return CLR_OK;
    uint32_t size =
        head[4] | (uint32_t)head[5] << 8 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 24;
    uint32_t packed_size = wanted->embedded_size - (uint32_t)sizeof head;
    enum { MOST_PACKED = 1032 }; /* deflate packs no more than so many bytes into one */
    if (size == 0 || size > PDB_MAX || size / MOST_PACKED > packed_size)
        return CLR_OK;
    uint8_t *packed = clr_alloc(packed_size, 1), *bytes = clr_alloc(size, 1);
    if (!packed || !bytes) {
        clr_free(packed);
        clr_free(bytes);
        return clr_no_memory(error);
    }
    z_stream stream = {
        .next_in = packed, .avail_in = packed_size, .next_out = bytes, .avail_out = size};
    bool unpacked = false;
    if (clr_read(runtime->process, wanted->embedded + sizeof head, packed, packed_size) &&
        inflateInit2(&stream, -MAX_WBITS) == Z_OK) {
        unpacked = inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0;
        inflateEnd(&stream);
    }
    clr_free(packed);
    if (!unpacked) {
        clr_free(bytes);
        return CLR_OK;
    }
    return open_bytes(bytes, size, false, wanted, pdb, error);
}

/* The part of a path behind the last separator of either system. */
static const char *base_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/' || *path == '\\')
            name = path + 1;
    return name;
}

static bool is_pdb(const void *context, const char *name)
{
    (void)context;
    size_t length = strlen(name);
    return length > 4 && strcasecmp(name + length - 4, ".pdb") == 0;
}

/* The files called NAME in the folders of option 'modules'. */
static enum clr_status try_folders(struct clr_pdbs *pdbs, struct clr_runtime *runtime,
                                   const struct clr_options *options, const char *name,
                                   struct wanted *wanted, struct clr_pdb **pdb,
                                   struct clr_error *error)
{
    size_t count;
    CLR_TRY(clr_folders_list(&pdbs->folders, options, is_pdb, NULL, runtime->problems,
                             "source_lines", error));
    const struct clr_folder_file *files = clr_folders_find(&pdbs->folders, name, 0, &count);
    for (size_t i = 0; i < count && !*pdb; i++)
        CLR_TRY(try_file(files[i].path, wanted, pdb, error));
    return CLR_OK;
}

static enum clr_status find_pdb(struct clr_pdbs *pdbs, struct clr_runtime *runtime,
                                const struct clr_options *options, struct wanted *wanted,
                                struct clr_pdb **pdb, struct clr_error *error)
{
    char path[PATH_MAX_BYTES];
    const char *name = base_name(wanted->path), *module = wanted->module->path;
    CLR_TRY(try_embedded(runtime, wanted, pdb, error));
    if (*pdb || !wanted->has_id || !*name)
        return CLR_OK;
    if (module && *module) {
        int folder = (int)(base_name(module) - module);
        if (snprintf(path, sizeof path, "%s%.*s%s", options->sysroot ? options->sysroot : "",
                     folder, module, name) < (int)sizeof path)
            CLR_TRY(try_file(path, wanted, pdb, error));
    }
    if (!*pdb && wanted->path[0] == '/')
        CLR_TRY(try_file(wanted->path, wanted, pdb, error));
    return *pdb ? CLR_OK : try_folders(pdbs, runtime, options, name, wanted, pdb, error);
}

enum clr_status clr_pdb_of(struct clr_pdbs *pdbs, struct clr_runtime *runtime,
                           const struct clr_options *options, const struct clr_method *method,
                           const struct clr_pdb **pdb, struct clr_error *error)
{
    *pdb = NULL;
    if (method->token == 0 || method->module == 0)
        return CLR_OK;
    for (size_t i = 0; i < pdbs->count; i++)
        if (pdbs->items[i].module == method->module) {
            *pdb = pdbs->items[i].pdb;
            return CLR_OK;
        }
    const struct clr_module *module = clr_module_get(runtime, method->module);
    struct wanted *wanted;
    struct clr_pdb *found = NULL;
    if (!module)
        return CLR_OK;
    if (!CLR_ARRAY_ROOM(pdbs) || !(wanted = clr_alloc(1, sizeof *wanted)))
        return clr_no_memory(error);
    wanted->module = module;
    read_directory(runtime, wanted);
    enum clr_status status = find_pdb(pdbs, runtime, options, wanted, &found, error);
    if (status == CLR_OK && !found && wanted->refused)
        clr_problem_of(runtime->problems, CLR_INFO, "source_lines", module->address, false,
                       module->address, 0,
                       "the PDB of module %s that was found is damaged or of another build; it has "
                       "no lines",
                       module->name);
    clr_free(wanted);
    if (status == CLR_OK)
        pdbs->items[pdbs->count++] = (struct pdb_of_module){method->module, found};
    *pdb = found;
    return status;
}

/* --- Sequence points -----------------------------------------------------------------------------
 */

void clr_lines_deinit(struct clr_lines *lines)
{
    clr_free(lines->items);
    *lines = (struct clr_lines){0};
}

/* A compressed signed integer (ECMA-335 II.23.2): the sign is the lowest bit, rotated. */
static int32_t read_signed(struct clr_bytes *blob)
{
    size_t before = blob->at;
    uint32_t value = clr_metadata_compressed(blob);
    size_t length = blob->at - before;
    uint32_t bits = length == 1 ? 6 : length == 2 ? 13 : 28;
    int32_t magnitude = (int32_t)(value >> 1);
    return value & 1 ? magnitude - (int32_t)(1u << bits) : magnitude;
}

static enum clr_status add_line(struct clr_lines *lines, const struct clr_line *line,
                                struct clr_error *error)
{
    return CLR_ARRAY_ADD(lines, *line) ? CLR_OK : clr_no_memory(error);
}

enum clr_status clr_lines_decode(struct clr_bytes blob, uint32_t document, struct clr_lines *lines,
                                 struct clr_error *error)
{
    uint32_t il = 0, line = 0;
    bool first = true, first_shown = true;
    lines->count = 0;
    clr_metadata_compressed(&blob); /* the signature of the locals */
    if (document == 0)
        document = clr_metadata_compressed(&blob);
    while (!blob.bad && blob.at < blob.size) {
        uint32_t distance = clr_metadata_compressed(&blob);
        if (distance == 0 && !first) {
            document = clr_metadata_compressed(&blob);
            continue;
        }
        il += distance;
        first = false;
        uint32_t height = clr_metadata_compressed(&blob);
        int32_t width = height == 0 ? (int32_t)clr_metadata_compressed(&blob) : read_signed(&blob);
        struct clr_line point = {.il_offset = il, .document = document};
        if (height != 0 || width != 0) {
            if (first_shown) {
                line = clr_metadata_compressed(&blob);
                clr_metadata_compressed(&blob); /* column */
            } else {
                line += (uint32_t)read_signed(&blob);
                read_signed(&blob);
            }
            first_shown = false;
            point.line = line;
        }
        if (blob.bad)
            break;
        CLR_TRY(add_line(lines, &point, error));
    }
    return CLR_OK;
}

enum clr_status clr_pdb_lines(const struct clr_pdb *pdb, uint32_t token, struct clr_lines *lines,
                              struct clr_error *error)
{
    uint32_t document, points;
    lines->count = 0;
    if (!clr_metadata_cell(&pdb->metadata, CLR_METHODDEBUGINFORMATION, token & RID, METHOD_DOCUMENT,
                           &document) ||
        !clr_metadata_cell(&pdb->metadata, CLR_METHODDEBUGINFORMATION, token & RID, METHOD_POINTS,
                           &points) ||
        points == 0)
        return CLR_OK;
    struct clr_bytes blob = clr_metadata_blob(&pdb->metadata, points);
    return blob.bad ? CLR_OK : clr_lines_decode(blob, document, lines, error);
}

const struct clr_line *clr_lines_find(const struct clr_lines *lines, uint32_t il_offset)
{
    const struct clr_line *found = NULL;
    for (size_t i = 0; i < lines->count && lines->items[i].il_offset <= il_offset; i++)
        if (lines->items[i].line != 0)
            found = &lines->items[i];
    return found;
}

bool clr_pdb_document(const struct clr_pdb *pdb, uint32_t document, struct clr_text *text)
{
    uint32_t name;
    if (!clr_metadata_cell(&pdb->metadata, CLR_DOCUMENT, document, DOCUMENT_NAME, &name))
        return false;
    struct clr_bytes blob = clr_metadata_blob(&pdb->metadata, name);
    size_t before = text->length;
    uint8_t separator = clr_bytes_u8(&blob);
    for (bool first = true; !blob.bad && blob.at < blob.size; first = false) {
        uint32_t index = clr_metadata_compressed(&blob);
        struct clr_bytes part = clr_metadata_blob(&pdb->metadata, index);
        if (!first && separator != 0)
            clr_text_char(text, (char)separator);
        if (index != 0 && part.bad)
            break;
        if (index != 0)
            clr_text_utf8(text, part.data, part.size);
        if (text->length - before > PATH_MAX_BYTES)
            return false;
    }
    return !text->failed && text->length != before;
}
