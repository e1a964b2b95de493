/*
 * Makes the bad inputs of errors.slt.
 *
 *   make_inputs DUMP FOLDER      DUMP: the shipped core; FOLDER is made
 *
 *   empty.core            no bytes                     text.core       words
 *   compressed.gz .xz .bz2 .lz4   the first bytes of such a file
 *   minidump.dmp          a Windows minidump's header  program         an ELF program
 *   header.core           a core cut inside its ELF header
 *   table.core            a core cut inside its program headers
 *   native.core           a whole core of a process that has no .NET in it
 *   unknown.core          DUMP, with another name for the symbol of the contract descriptor
 *   nodescriptor.core     the same, and for that of the table that .NET 8 has
 *   unsaved.core          DUMP, without the page that the contract descriptor lies on
 *   other.core            DUMP, with the string 'literal' changed to 'LITERAL'
 *   damaged.core          DUMP, with the string 'map-500' without its MethodTable word
 *   nameless.core         DUMP, without the page of metadata that holds one type's name
 *   heapless.core         DUMP, without the GC's regions: headers and memory. Frozen objects remain
 *
 * unknown, nodescriptor and unsaved hold of DUMP only the notes and the memory of libcoreclr.so.
 * Pages of zeros are left out of the files, which the file system reads as zeros again.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what)
{
    fprintf(stderr, "make_inputs: %s: %s\n", what, errno ? strerror(errno) : "not as expected");
    exit(1);
}

static int create(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0)
        die(path);
    return fd;
}

static void put(int fd, const void *data, size_t size, uint64_t offset)
{
    if (pwrite(fd, data, size, (off_t)offset) != (ssize_t)size)
        die("write");
}

static void make(const char *folder, const char *name, const void *data, size_t size)
{
    int fd = create(folder, name);
    put(fd, data, size, 0);
    close(fd);
}

/* --- Files of our own ------------------------------------------------------------------------- */

static Elf64_Ehdr header_of(uint16_t type, uint16_t segments)
{
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                                     EV_CURRENT, ELFOSABI_NONE}};
    header.e_type = type;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = segments;
    return header;
}

/* A page of zeros at 0x400000, mapped from /usr/bin/true, and a note that says so. */
static void make_native(const char *folder)
{
    static const char path[] = "/usr/bin/true", name[8] = "CORE";
    struct __attribute__((packed)) native {
        Elf64_Ehdr header;
        Elf64_Phdr notes, load;
        Elf64_Nhdr note;
        char name[8];
        uint64_t count, page, start, end, offset;
        char path[16];
    } core = {header_of(ET_CORE, 2),
              {0},
              {0},
              {5, 5 * 8 + sizeof path, NT_FILE},
              {0},
              1,
              4096,
              0x400000,
              0x401000,
              0,
              {0}};
    memcpy(core.name, name, sizeof name);
    memcpy(core.path, path, sizeof path);
    core.notes.p_type = PT_NOTE;
    core.notes.p_offset = offsetof(struct native, note);
    core.notes.p_filesz = sizeof core - core.notes.p_offset;
    core.load = (Elf64_Phdr){.p_type = PT_LOAD,
                             .p_flags = PF_R,
                             .p_offset = 4096,
                             .p_vaddr = 0x400000,
                             .p_filesz = 4096,
                             .p_memsz = 4096};
    int fd = create(folder, "native.core");
    put(fd, &core, sizeof core, 0);
    if (ftruncate(fd, 8192) != 0)
        die("native.core");
    close(fd);
}

static void make_program(const char *folder)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr load;
    } program = {header_of(ET_EXEC, 1), {.p_type = PT_LOAD, .p_flags = PF_R | PF_X}};
    make(folder, "program", &program, sizeof program);
}

/* --- Made of the dump ------------------------------------------------------------------------- */

struct dump {
    uint8_t *bytes; /* private: may be changed */
    uint64_t size;
    Elf64_Phdr *segments;
    unsigned count;
    uint64_t low, high;                 /* of libcoreclr.so */
    uint64_t library_low, library_high; /* of System.Private.CoreLib.dll */
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && !strcmp(text + length - tail, end);
}

/* The extents of the two images by NT_FILE: count, page size, {start, end, offset}..., paths. */
static void find_images(struct dump *dump, const uint8_t *note, uint64_t size)
{
    uint64_t count, range[3];
    memcpy(&count, note, sizeof count);
    const char *path = (const char *)note + 16 + count * sizeof range;
    for (uint64_t i = 0; i < count && path < (const char *)note + size; i++) {
        memcpy(range, note + 16 + i * sizeof range, sizeof range);
        if (ends_with(path, "/libcoreclr.so")) {
            dump->low = dump->low ? dump->low : range[0];
            dump->high = range[1];
        } else if (ends_with(path, "/System.Private.CoreLib.dll")) {
            dump->library_low = dump->library_low ? dump->library_low : range[0];
            dump->library_high = range[1];
        }
        path += strlen(path) + 1;
    }
}

static void open_dump(struct dump *dump, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0)
        die(path);
    dump->size = (uint64_t)status.st_size;
    dump->bytes = mmap(NULL, dump->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (dump->bytes == MAP_FAILED)
        die(path);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(void *)dump->bytes;
    dump->segments = (Elf64_Phdr *)(void *)(dump->bytes + header->e_phoff);
    dump->count = header->e_phnum;
    for (unsigned i = 0; i < dump->count; i++) {
        const Elf64_Phdr *s = &dump->segments[i];
        for (uint64_t at = 0; s->p_type == PT_NOTE && at + sizeof(Elf64_Nhdr) < s->p_filesz;) {
            const uint8_t *data = dump->bytes + s->p_offset + at;
            Elf64_Nhdr note;
            memcpy(&note, data, sizeof note);
            uint64_t name = (note.n_namesz + 3ULL) & ~3ULL, size = (note.n_descsz + 3ULL) & ~3ULL;
            if (note.n_type == NT_FILE)
                find_images(dump, data + sizeof note + name, size);
            at += sizeof note + name + size;
        }
    }
    if (!dump->high || !dump->library_high)
        die("no libcoreclr.so or System.Private.CoreLib.dll in the dump");
}

/* Where BYTES lie in the memory saved from LOW up to HIGH, as an offset in the file. The last
 * place: copies that a GC left behind lie in young generations, in front of the old one. */
static uint64_t find(const struct dump *dump, uint64_t low, uint64_t high, const char *bytes,
                     size_t size)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < dump->count; i++) {
        const Elf64_Phdr *s = &dump->segments[i];
        if (s->p_type != PT_LOAD || s->p_vaddr < low || s->p_vaddr >= high)
            continue;
        const uint8_t *from = dump->bytes + s->p_offset, *end = from + s->p_filesz, *at;
        while ((at = memmem(from, (size_t)(end - from), bytes, size))) {
            found = (uint64_t)(at - dump->bytes);
            from = at + 1;
        }
    }
    if (found)
        return found;
    die(bytes);
    return 0;
}

/* Where an object of System.String is, as an offset in the file: a u32 of its length, UTF-16. */
static uint64_t find_string(const struct dump *dump, const char *text)
{
    char bytes[64] = {0};
    size_t length = strlen(text);
    bytes[0] = (char)length;
    for (size_t i = 0; i < length; i++)
        bytes[4 + 2 * i] = text[i];
    return find(dump, 0, UINT64_MAX, bytes, 4 + 2 * length + 2) - 8;
}

static void put_sparse(int fd, const uint8_t *data, uint64_t size, uint64_t offset)
{
    static const uint8_t zeros[4096];
    for (uint64_t piece; size > 0; data += piece, offset += piece, size -= piece) {
        piece = size < sizeof zeros ? size : sizeof zeros;
        if (memcmp(data, zeros, piece) != 0)
            put(fd, data, piece, offset);
    }
}

/* Writes DUMP (WHOLE, or its notes and libcoreclr.so) without the page at HOLE, an offset in the
 * file; 0: no hole. The segment with the hole becomes three, so the program headers move to the end
 * of the file. */
static void make_core(const struct dump *dump, bool whole, uint64_t hole, const char *folder,
                      const char *name)
{
    int fd = create(folder, name);
    Elf64_Ehdr header;
    memcpy(&header, dump->bytes, sizeof header);
    Elf64_Phdr *table = calloc(dump->count + 2, sizeof *table);
    if (!table)
        die("memory");
    unsigned count = 0;
    for (unsigned i = 0; i < dump->count; i++) {
        Elf64_Phdr s = dump->segments[i];
        uint64_t end = s.p_offset + s.p_filesz, page = hole & ~4095ULL;
        if (!whole && s.p_type == PT_LOAD && (s.p_vaddr < dump->low || s.p_vaddr >= dump->high))
            s.p_filesz = 0;
        put_sparse(fd, dump->bytes + s.p_offset, s.p_filesz, s.p_offset);
        if (hole < s.p_offset || hole >= s.p_offset + s.p_filesz || s.p_type != PT_LOAD) {
            table[count++] = s;
            continue;
        }
        Elf64_Phdr before = s, page_of = s, after = s;
        before.p_filesz = before.p_memsz = page - s.p_offset;
        page_of.p_vaddr += before.p_memsz;
        page_of.p_filesz = 0;
        page_of.p_memsz = 4096;
        after.p_vaddr = page_of.p_vaddr + 4096;
        after.p_offset = page + 4096;
        after.p_filesz = end - after.p_offset;
        after.p_memsz = s.p_memsz - (before.p_memsz + 4096);
        if (before.p_memsz)
            table[count++] = before;
        table[count++] = page_of;
        if (after.p_memsz)
            table[count++] = after;
    }
    header.e_phoff = (dump->size + 4095) & ~4095ULL;
    header.e_phnum = (uint16_t)count;
    put(fd, &header, sizeof header, 0);
    put(fd, table, count * sizeof *table, header.e_phoff);
    free(table);
    close(fd);
}

/* Writes DUMP as one that leaves out its heap: no header speaks of memory within REACH of AROUND. */
static void make_heapless(const struct dump *dump, uint64_t around, const char *folder,
                          const char *name)
{
    enum { REACH = 128 << 20 };
    int fd = create(folder, name);
    Elf64_Ehdr header;
    memcpy(&header, dump->bytes, sizeof header);
    put(fd, &header, sizeof header, 0);
    for (unsigned i = 0; i < dump->count; i++) {
        Elf64_Phdr s = dump->segments[i];
        uint64_t far = s.p_vaddr > around ? s.p_vaddr - around : around - s.p_vaddr;
        if (s.p_type == PT_LOAD && far < REACH)
            s.p_type = PT_NULL;
        else
            put_sparse(fd, dump->bytes + s.p_offset, s.p_filesz, s.p_offset);
        put(fd, &s, sizeof s, header.e_phoff + i * sizeof s);
    }
    if (ftruncate(fd, (off_t)dump->size) != 0)
        die("ftruncate");
    close(fd);
}

/* The address of what stands at an offset in the file. */
static uint64_t address_at(const struct dump *dump, uint64_t offset)
{
    for (unsigned i = 0; i < dump->count; i++)
        if (dump->segments[i].p_type == PT_LOAD && offset >= dump->segments[i].p_offset &&
            offset - dump->segments[i].p_offset < dump->segments[i].p_filesz)
            return dump->segments[i].p_vaddr + (offset - dump->segments[i].p_offset);
    die("an offset in no segment");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: make_inputs DUMP FOLDER\n", stderr);
        return 2;
    }
    const char *folder = argv[2];
    if (mkdir(folder, 0755) != 0 && errno != EEXIST)
        die(folder);
    make(folder, "empty.core", "", 0);
    make(folder, "text.core", "This is no core dump.\n", 22);
    make(folder, "compressed.gz", "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
    make(folder, "compressed.xz",
         "\xfd"
         "7zXZ\0\0\x04\xe6\xd6\xb4\x46",
         12);
    make(folder, "compressed.bz2", "BZh91AY&SY", 10);
    make(folder, "compressed.lz4", "\x04\x22\x4d\x18\x64\x40\xa7\0", 8);
    make(folder, "minidump.dmp", "MDMP\x93\xa7\0\0\x0d\0\0\0 \0\0\0", 16);
    make_program(folder);
    make_native(folder);

    struct dump dump = {0};
    open_dump(&dump, argv[1]);
    make(folder, "header.core", dump.bytes, 40);
    make(folder, "table.core", dump.bytes, 1000);
    uint64_t hole = find(&dump, dump.low, dump.high, "DNCCDAC", 8);
    make_core(&dump, false, hole, folder, "unsaved.core");
    static const char name[] = "\0TraceLoggingEventHandleTable";
    hole = find(&dump, dump.library_low, dump.library_high, name, sizeof name);
    make_core(&dump, true, hole, folder, "nameless.core");

    uint64_t at = find_string(&dump, "literal");
    for (unsigned i = 0; i < 7; i++)
        dump.bytes[at + 12 + 2 * i] ^= 0x20;
    make_core(&dump, true, 0, folder, "other.core");
    for (unsigned i = 0; i < 7; i++)
        dump.bytes[at + 12 + 2 * i] ^= 0x20;
    at = find_string(&dump, "map-500");
    uint8_t word[8];
    memcpy(word, dump.bytes + at, sizeof word);
    memset(dump.bytes + at, 0, sizeof word);
    make_core(&dump, true, 0, folder, "damaged.core");
    memcpy(dump.bytes + at, word, sizeof word);
    make_heapless(&dump, address_at(&dump, at), folder, "heapless.core");

    static const char symbol[] = "\0DotNetRuntimeContractDescriptor", table[] = "\0g_dacTable";
    dump.bytes[find(&dump, dump.low, dump.high, symbol, sizeof symbol) + 1] = 'X';
    make_core(&dump, false, 0, folder, "unknown.core");
    dump.bytes[find(&dump, dump.low, dump.high, table, sizeof table) + 1] = 'X';
    make_core(&dump, false, 0, folder, "nodescriptor.core");
    return 0;
}
