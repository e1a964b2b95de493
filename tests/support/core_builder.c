/*
 * The file, in the order of its parts:
 *
 *   Ehdr
 *   section header 0      if the count of program headers does not fit (unless it stands last)
 *   Phdr                  PT_NOTE, then PT_LOADs in the order in which they were added
 *   notes                 unless they stand last
 *   saved bytes           one after the other
 */
#include "core_builder.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct buffer {
    uint8_t *data;
    size_t size, room;
};

struct load {
    uint64_t address, saved, memsz;
    uint32_t flags;
    uint8_t *bytes;
};

struct note {
    char *owner;
    uint32_t type;
    struct buffer data;
};

struct core {
    unsigned word;
    bool big;
    uint16_t machine, type;
    unsigned layout;
    struct load *loads;
    size_t load_count;
    struct note *notes;
    size_t note_count;
    struct buffer file_rows, file_names;
    uint64_t file_count;
};

static void *checked(void *block)
{
    if (!block) {
        fprintf(stderr, "out of memory\n");
        abort();
    }
    return block;
}

static void append(struct buffer *buffer, const void *data, size_t size)
{
    if (buffer->size + size > buffer->room) {
        buffer->room = (buffer->size + size) * 2;
        buffer->data = checked(realloc(buffer->data, buffer->room));
    }
    if (data && size)
        memcpy(buffer->data + buffer->size, data, size);
    else
        memset(buffer->data + buffer->size, 0, size);
    buffer->size += size;
}

void core_put(const struct core *core, void *to, uint64_t value, size_t size)
{
    uint8_t *bytes = to;
    for (size_t i = 0; i < size; i++)
        bytes[core->big ? size - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static void append_number(const struct core *core, struct buffer *buffer, uint64_t value,
                          size_t size)
{
    uint8_t bytes[8];
    core_put(core, bytes, value, size);
    append(buffer, bytes, size);
}

static void append_word(const struct core *core, struct buffer *buffer, uint64_t value)
{
    append_number(core, buffer, value, core->word);
}

static void pad(struct buffer *buffer, size_t to)
{
    while (buffer->size % to)
        append(buffer, NULL, 1);
}

/* --- What is added ---------------------------------------------------------------------------- */

struct core *core_create(unsigned word_size, bool big_endian, uint16_t machine)
{
    struct core *core = checked(calloc(1, sizeof *core));
    core->word = word_size;
    core->big = big_endian;
    core->machine = machine;
    core->type = ET_CORE;
    return core;
}

void core_destroy(struct core *core)
{
    for (size_t i = 0; i < core->load_count; i++)
        free(core->loads[i].bytes);
    for (size_t i = 0; i < core->note_count; i++) {
        free(core->notes[i].owner);
        free(core->notes[i].data.data);
    }
    free(core->loads);
    free(core->notes);
    free(core->file_rows.data);
    free(core->file_names.data);
    free(core);
}

void core_set_layout(struct core *core, unsigned layout)
{
    core->layout = layout;
}

void core_set_type(struct core *core, uint16_t type)
{
    core->type = type;
}

void core_add_memory(struct core *core, uint64_t address, const void *bytes, uint64_t saved,
                     uint64_t memsz, uint32_t flags)
{
    if ((core->load_count & (core->load_count - 1)) == 0) {
        size_t room = core->load_count ? core->load_count * 2 : 1;
        core->loads = checked(realloc(core->loads, room * sizeof *core->loads));
    }
    struct load *load = &core->loads[core->load_count++];
    *load = (struct load){address, saved, memsz, flags, NULL};
    if (saved) {
        load->bytes = checked(calloc(1, (size_t)saved));
        if (bytes)
            memcpy(load->bytes, bytes, (size_t)saved);
    }
}

static struct note *new_note(struct core *core, const char *owner, uint32_t type)
{
    core->notes = checked(realloc(core->notes, (core->note_count + 1) * sizeof *core->notes));
    struct note *note = &core->notes[core->note_count++];
    *note = (struct note){checked(strdup(owner)), type, {NULL, 0, 0}};
    return note;
}

void core_add_note(struct core *core, const char *owner, uint32_t type, const void *data,
                   size_t size)
{
    append(&new_note(core, owner, type)->data, data, size);
}

void core_add_thread(struct core *core, uint32_t os_id, int signal, const uint64_t *registers,
                     size_t count)
{
    bool wide = core->word == 8;
    struct buffer *data = &new_note(core, "CORE", NT_PRSTATUS)->data;
    append_number(core, data, (uint32_t)signal, 4); /* si_signo */
    append(data, NULL, 8);
    append_number(core, data, (uint32_t)signal, 2); /* pr_cursig */
    append(data, NULL, 2 + 2 * core->word);
    append_number(core, data, os_id, 4);
    append(data, NULL, wide ? 76 : 44);
    for (size_t i = 0; i < count; i++)
        append_word(core, data, registers[i]);
    append(data, NULL, core->word); /* pr_fpvalid */
}

void core_add_command(struct core *core, uint32_t process_id, const char *name,
                      const char *arguments)
{
    bool wide = core->word == 8;
    char texts[16 + 80] = {0};
    memcpy(texts, name, strnlen(name, 16));
    memcpy(texts + 16, arguments, strnlen(arguments, 80));
    struct buffer *data = &new_note(core, "CORE", NT_PRPSINFO)->data;
    append(data, NULL, wide ? 24 : 12);
    append_number(core, data, process_id, 4);
    append(data, NULL, 12);
    append(data, texts, sizeof texts);
}

void core_add_siginfo(struct core *core, int signal)
{
    struct buffer *data = &new_note(core, "CORE", NT_SIGINFO)->data;
    append_number(core, data, (uint32_t)signal, 4);
    append(data, NULL, 124);
}

static struct note *note_of(struct core *core, uint32_t type)
{
    for (size_t i = 0; i < core->note_count; i++)
        if (core->notes[i].type == type)
            return &core->notes[i];
    return new_note(core, "CORE", type);
}

void core_add_auxv(struct core *core, uint64_t type, uint64_t value)
{
    struct buffer *data = &note_of(core, NT_AUXV)->data;
    append_word(core, data, type);
    append_word(core, data, value);
}

void core_add_file(struct core *core, uint64_t start, uint64_t end, uint64_t offset,
                   const char *path)
{
    bool bytes = core->layout & (CORE_BYTE_OFFSETS | CORE_FILE_UNIT_1);
    note_of(core, NT_FILE);
    append_word(core, &core->file_rows, start);
    append_word(core, &core->file_rows, end);
    append_word(core, &core->file_rows, bytes ? offset : offset / 4096);
    append(&core->file_names, path, strlen(path) + 1);
    core->file_count++;
}

/* --- The file --------------------------------------------------------------------------------- */

static struct buffer build_notes(const struct core *core)
{
    struct buffer out = {0};
    for (size_t i = 0; i < core->note_count; i++) {
        const struct note *note = &core->notes[i];
        struct buffer files = {0};
        const struct buffer *data = &note->data;
        if (note->type == NT_FILE && core->file_count) {
            append_word(core, &files, core->file_count);
            append_word(core, &files, core->layout & CORE_FILE_UNIT_1 ? 1 : 4096);
            append(&files, core->file_rows.data, core->file_rows.size);
            append(&files, core->file_names.data, core->file_names.size);
            data = &files;
        }
        append_number(core, &out, strlen(note->owner) + 1, 4);
        append_number(core, &out, data->size, 4);
        append_number(core, &out, note->type, 4);
        append(&out, note->owner, strlen(note->owner) + 1);
        pad(&out, 4);
        append(&out, data->data, data->size);
        pad(&out, 4);
        free(files.data);
    }
    return out;
}

static void append_header(const struct core *core, struct buffer *out, uint32_t type,
                          uint32_t flags, uint64_t offset, uint64_t address, uint64_t filesz,
                          uint64_t memsz)
{
    append_number(core, out, type, 4);
    if (core->word == 8)
        append_number(core, out, flags, 4);
    append_word(core, out, offset);
    append_word(core, out, address);
    append_word(core, out, 0);
    append_word(core, out, filesz);
    append_word(core, out, memsz);
    if (core->word == 4)
        append_number(core, out, flags, 4);
    append_word(core, out, 0);
}

static void append_section(const struct core *core, struct buffer *out, uint64_t count)
{
    bool wide = core->word == 8;
    append(out, NULL, wide ? 32 : 20); /* up to sh_size */
    append_word(core, out, 0);
    append_number(core, out, 0, 4);     /* sh_link */
    append_number(core, out, count, 4); /* sh_info */
    append(out, NULL, 2 * core->word);
}

static void append_elf_header(const struct core *core, struct buffer *out, uint64_t headers,
                              uint64_t sections, uint64_t count)
{
    bool wide = core->word == 8;
    uint8_t ident[EI_NIDENT] = {0x7f,
                                'E',
                                'L',
                                'F',
                                wide ? ELFCLASS64 : ELFCLASS32,
                                core->big ? ELFDATA2MSB : ELFDATA2LSB,
                                EV_CURRENT};
    append(out, ident, sizeof ident);
    append_number(core, out, core->type, 2);
    append_number(core, out, core->machine, 2);
    append_number(core, out, EV_CURRENT, 4);
    append_word(core, out, 0);
    append_word(core, out, headers);
    append_word(core, out, sections);
    append_number(core, out, 0, 4);
    append_number(core, out, wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), 2);
    append_number(core, out, wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2);
    append_number(core, out, sections ? PN_XNUM : count, 2);
    append_number(core, out, sections ? (wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) : 0, 2);
    append_number(core, out, sections ? 1 : 0, 2);
    append_number(core, out, 0, 2);
}

uint8_t *core_bytes(const struct core *core, size_t *size)
{
    bool wide = core->word == 8;
    struct buffer out = {0}, notes = build_notes(core);
    uint64_t count = core->load_count + 1, saved = 0;
    bool extended = count >= PN_XNUM || (core->layout & CORE_COUNT_EXTENDED);
    bool section_last = core->layout & CORE_SECTIONS_LAST;
    bool notes_last = core->layout & CORE_NOTES_LAST;
    uint64_t section = extended ? (wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) : 0;
    uint64_t headers =
        (wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)) + (section_last ? 0 : section);
    uint64_t data = headers + count * (wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
    for (size_t i = 0; i < core->load_count; i++)
        saved += core->loads[i].saved;
    uint64_t note_at = notes_last ? data + saved : data;
    uint64_t at = notes_last ? data : data + notes.size;
    append_elf_header(core, &out, headers,
                      !extended      ? 0
                      : section_last ? data + saved + notes.size
                                     : headers - section,
                      count);
    if (extended && !section_last)
        append_section(core, &out, count);
    append_header(core, &out, PT_NOTE, 0, note_at, 0, notes.size, 0);
    for (size_t i = 0; i < core->load_count; i++) {
        const struct load *load = &core->loads[i];
        append_header(core, &out, PT_LOAD, load->flags, at, load->address, load->saved,
                      load->memsz);
        at += load->saved;
    }
    if (!notes_last)
        append(&out, notes.data, notes.size);
    for (size_t i = 0; i < core->load_count; i++)
        append(&out, core->loads[i].bytes, (size_t)core->loads[i].saved);
    if (notes_last)
        append(&out, notes.data, notes.size);
    if (extended && section_last)
        append_section(core, &out, count);
    free(notes.data);
    *size = out.size;
    return out.data;
}

bool core_write(const struct core *core, const char *path)
{
    size_t size;
    uint8_t *bytes = core_bytes(core, &size);
    FILE *file = fopen(path, "wb");
    bool good = file && fwrite(bytes, 1, size, file) == size;
    if (file)
        good &= fclose(file) == 0;
    free(bytes);
    return good;
}

int core_open_bytes(const void *bytes, size_t size, char path[CORE_PATH])
{
    int fd = memfd_create("core", MFD_CLOEXEC);
    const char *at = bytes;
    if (fd < 0)
        abort();
    for (size_t left = size; left > 0;) {
        ssize_t n = write(fd, at, left);
        if (n <= 0)
            abort();
        at += n;
        left -= (size_t)n;
    }
    snprintf(path, CORE_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

int core_open(const struct core *core, char path[CORE_PATH])
{
    size_t size;
    uint8_t *bytes = core_bytes(core, &size);
    int fd = core_open_bytes(bytes, size, path);
    free(bytes);
    return fd;
}
