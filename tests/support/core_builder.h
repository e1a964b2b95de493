/*
 * Builds an ELF core file byte by byte: any word size and byte order, PT_LOADs as the test wants
 * them (in any order, overlapping, empty, wrapped), notes in the order in which they are added.
 *
 *     struct core *c = core_create(8, false, EM_X86_64);
 *     core_add_thread(c, 4711, 0, registers, 27);
 *     core_add_auxv(c, AT_PAGESZ, 4096);
 *     core_add_file(c, 0x10000, 0x12000, 0, "/lib/libx.so");
 *     core_add_memory(c, 0x10000, bytes, 4096, 8192, PF_R);
 *     char path[CORE_PATH];
 *     int fd = core_open(c, path);       a file without a name; PATH opens it again
 *     ... clr_process_open(path, ...) ...
 *     close(fd);
 *     core_destroy(c);
 *
 * Numbers are given as the target means them; the builder turns them to the core's byte order. What
 * memory holds is the caller's business: core_put turns one number. Out of memory ends the test.
 */
#ifndef TEST_CORE_BUILDER_H
#define TEST_CORE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct core;

struct core *core_create(unsigned word_size, bool big_endian, uint16_t machine);
void core_destroy(struct core *core);

/* A PT_LOAD of MEMSZ bytes at ADDRESS. The first SAVED are in the file: BYTES, or zeros if NULL. */
void core_add_memory(struct core *core, uint64_t address, const void *bytes, uint64_t saved,
                     uint64_t memsz, uint32_t flags);

/* A note as it stands. */
void core_add_note(struct core *core, const char *owner, uint32_t type, const void *data,
                   size_t size);
/* NT_PRSTATUS with the first COUNT registers in their order there. */
void core_add_thread(struct core *core, uint32_t os_id, int signal, const uint64_t *registers,
                     size_t count);
/* NT_PRPSINFO. */
void core_add_command(struct core *core, uint32_t process_id, const char *name,
                      const char *arguments);
/* NT_SIGINFO: of the thread before it. */
void core_add_siginfo(struct core *core, int signal);
/* An entry of NT_AUXV; a row of NT_FILE, OFFSET in bytes. The note stands where the first one of it
 * was added. */
void core_add_auxv(struct core *core, uint64_t type, uint64_t value);
void core_add_file(struct core *core, uint64_t start, uint64_t end, uint64_t offset,
                   const char *path);

enum core_layout {
    CORE_NOTES_LAST = 1,     /* the notes stand at the end of the file, as gdb writes them */
    CORE_COUNT_EXTENDED = 2, /* PN_XNUM even where the count would fit */
    CORE_BYTE_OFFSETS = 4,   /* NT_FILE announces pages and counts bytes, as old createdumps do */
    CORE_FILE_UNIT_1 = 8,    /* NT_FILE counts in bytes and says so, as gdb does */
    CORE_SECTIONS_LAST = 16 /* section header 0 stands at the end of the file, as the kernel does */
};
void core_set_layout(struct core *core, unsigned layout);
/* e_type; ET_CORE unless set. */
void core_set_type(struct core *core, uint16_t type);

/* Writes VALUE as SIZE bytes in the core's byte order. */
void core_put(const struct core *core, void *to, uint64_t value, size_t size);

/* The bytes of the file; freed by the caller with free(). */
uint8_t *core_bytes(const struct core *core, size_t *size);
bool core_write(const struct core *core, const char *path);

enum { CORE_PATH = 32 };
/* Puts the file into memory: a descriptor to close, and a path that opens it. */
int core_open(const struct core *core, char path[CORE_PATH]);
int core_open_bytes(const void *bytes, size_t size, char path[CORE_PATH]);

#endif
