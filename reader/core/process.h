/*
 * The dumped process: its saved memory, its native images, its threads' registers. Knows no .NET.
 *
 *   dump file --format.h--> ranges of memory, threads, auxv, mapped files, signal, command;
 *               of an ELF core by elf.c (libelf ends there) and notes.c (layouts as data)
 *             --memory.c--> sorted runs of saved bytes; every read of memory goes through them
 *             --images.c--> native images with build id; exported symbols by GNU hash
 *             --process.c--> opens all that; the identity of a dump
 *
 * A process is immutable after clr_process_open: any thread may read it.
 * All addresses and sizes are in bytes of the dumped process; word = its pointer size, 4 or 8.
 */
#ifndef CLR_CORE_PROCESS_H
#define CLR_CORE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/error.h"
#include "base/job.h"
#include "base/problems.h"
#include "options.h"

struct clr_process;

enum clr_writer { CLR_WRITER_UNKNOWN, CLR_WRITER_CREATEDUMP, CLR_WRITER_KERNEL, CLR_WRITER_GCORE };

/* Opens PATH and reads headers, notes and images: no memory but that of ELF headers is touched.
 * JOB: progress and cancel while a compressed core is unpacked; may be NULL. Messages name what the
 * file is when it is no core: compressed, a Windows minidump, an ELF program, cut short. */
enum clr_status clr_process_open(const char *path, const struct clr_options *options,
                                 struct clr_job *job, struct clr_problems *problems,
                                 struct clr_process **process, struct clr_error *error);
void clr_process_close(struct clr_process *process);

/* What the headers and notes say. Texts live with the process; NULL if not known. */
struct clr_process_info {
    const char *path;
    uint64_t file_size;         /* of the core; of a compressed one as it is unpacked */
    uint16_t machine;           /* e_machine: 62 x86-64, 183 arm64, 40 arm, 3 x86 */
    const char *arch;           /* 'x64', 'arm64', 'arm', 'x86', else 'machine N' */
    const struct clr_arch *cpu; /* what is known of the machine; NULL: nothing */
    uint8_t word_size;          /* 4 or 8 */
    bool swapped;               /* the other byte order than this machine's */
    enum clr_writer writer;
    uint32_t process_id;    /* 0: not known */
    const char *command;    /* NT_PRPSINFO's arguments, else its name */
    int32_t signal;         /* that ended it; 0 if none */
    uint32_t signal_thread; /* os id of the thread that got it; 0 if none */
    uint64_t missing_bytes; /* announced by ranges and held neither by the file nor a stand-in;
                               address space that was only set aside (no rights, nothing saved) does
                               not count */
    const char *cut; /* what memory a cut file lacks: '0x1000-0x2000, … and 5 more ranges'; NULL:
                        nothing is */
    uint64_t page_size;
    uint64_t identity[2]; /* core size; hash of headers, notes and spread pages. No path, no time */
};
const struct clr_process_info *clr_process_info(const struct clr_process *process);

/* CLR_OK, or an error if the file was changed or cut since it was opened. Cheap (one stat). */
enum clr_status clr_process_check(const struct clr_process *process, struct clr_error *error);

/* --- memory.c ------------------------------------------------------------------------------- */

/* One stretch of the address space with bytes that the dump (or an image file) holds. Runs are
 * sorted, do not overlap and are never empty; neighbours may touch. Where ranges overlap, the one
 * that comes first in the dump's list wins; one that wraps past the end of the address space is cut
 * there. What of a range is not in the file is "not saved", never zeros. */
struct clr_run {
    uint64_t start, end;
    uint64_t offset; /* of START in its file */
    uint32_t file;   /* 0: the core; n: clr_image_file n */
};

/* One range of memory or mapped file, as it was announced: for the table of memory regions. */
struct clr_region {
    uint64_t start, size;
    uint64_t file_offset; /* in the core; of no meaning if saved_size is 0 */
    uint64_t saved_size;  /* bytes that can be read: from the core */
    uint32_t flags;       /* PF_R 4, PF_W 2, PF_X 1 */
    const char *path;     /* of the mapped file, NULL if none or not known */
};

size_t clr_process_runs(const struct clr_process *process, const struct clr_run **runs);
size_t clr_process_regions(const struct clr_process *process, const struct clr_region **regions);

/* At most WANT saved bytes from ADDRESS on, in one piece; *GOT is how many (0: NULL is returned).
 * A piece ends where a run ends; touching runs of one file that continue each other are one run.
 * The bytes live as long as the process. Every read of memory is made of this. */
const uint8_t *clr_view(const struct clr_process *process, uint64_t address, uint64_t want,
                        uint64_t *got);

/* The run that holds ADDRESS, or NULL. */
const struct clr_run *clr_run_at(const struct clr_process *process, uint64_t address);

/* Exactly SIZE bytes, over runs if need be; false if any of them is not saved. */
bool clr_read(const struct clr_process *process, uint64_t address, void *out, size_t size);

/* Typed reads: byte order is turned into this machine's. */
bool clr_read_u8(const struct clr_process *process, uint64_t address, uint8_t *value);
bool clr_read_u16(const struct clr_process *process, uint64_t address, uint16_t *value);
bool clr_read_u32(const struct clr_process *process, uint64_t address, uint32_t *value);
bool clr_read_u64(const struct clr_process *process, uint64_t address, uint64_t *value);
bool clr_read_word(const struct clr_process *process, uint64_t address, uint64_t *value);
/* An unsigned integer of SIZE bytes: 1, 2, 4 or 8. */
bool clr_read_uint(const struct clr_process *process, uint64_t address, size_t size,
                   uint64_t *value);

/* The first address at or above ADDRESS that is saved, or false. */
bool clr_next_saved(const struct clr_process *process, uint64_t address, uint64_t *saved);
/* Saved bytes in [start, end). */
uint64_t clr_saved_bytes(const struct clr_process *process, uint64_t start, uint64_t end);

/* --- images.c ------------------------------------------------------------------------------- */

enum { CLR_BUILD_ID_MAX = 32 };

enum clr_source { CLR_SOURCE_NONE, CLR_SOURCE_CORE, CLR_SOURCE_FILE };

/* A file that is mapped into the process, native (ELF) or other (a managed DLL). */
struct clr_image {
    uint64_t start, end; /* extent of its mappings */
    uint64_t bias;       /* address minus p_vaddr; for a file that is no ELF image: start */
    const char *path;    /* as the process saw it, without ' (deleted)' */
    uint8_t build_id[CLR_BUILD_ID_MAX];
    uint8_t build_id_size; /* 0: none known */
    bool is_elf;
    bool deleted;           /* the kernel said ' (deleted)' */
    enum clr_source source; /* where bytes that the core does not hold come from */
    const char *verified;   /* how the file was checked: 'build_id', 'mvid', 'layout'; NULL */
    uint32_t file;          /* number of the image file for runs, 0 if none */
    uint64_t dynamic;       /* address of its dynamic section, 0 if none is known */
    struct clr_elf_headers *headers; /* private to core/: NULL unless is_elf */
};

size_t clr_process_images(const struct clr_process *process, const struct clr_image **images);
/* The image whose extent holds ADDRESS, or NULL. */
const struct clr_image *clr_image_at(const struct clr_process *process, uint64_t address);

/* Address and size of an exported data or code symbol, by the image's GNU hash table. Only pages
 * that lead to it are read: a dump often lacks the others. */
bool clr_image_symbol(const struct clr_process *process, const struct clr_image *image,
                      const char *name, uint64_t *address, uint64_t *size);

/* --- files.c -------------------------------------------------------------------------------- */

/* SIZE bytes of an ELF image's data as the loader made them: the image's file with its RELATIVE
 * relocations applied. Only for what is never written again after relocation, such as the contract
 * descriptor: other writable data must not come from a file. False if there is no verified file, it
 * does not hold the bytes, or a relocation of another kind touches them. */
bool clr_file_relocated(const struct clr_process *process, const struct clr_image *image,
                        uint64_t address, void *out, size_t size);

/* As clr_view and clr_read, but where bytes of a managed image are not saved, those of its verified
 * file serve, in sections that the program could write too: only for what is never written, such as
 * the tables of ReadyToRun code, which lie beside what is. */
const uint8_t *clr_view_constant(const struct clr_process *process, uint64_t address, uint64_t want,
                                 uint64_t *got);
bool clr_read_constant(const struct clr_process *process, uint64_t address, void *out, size_t size);

/* --- notes.c -------------------------------------------------------------------------------- */

enum { CLR_REGISTERS_MAX = 40 };

/* A thread of the operating system, in the order of the notes. */
struct clr_os_thread {
    uint32_t os_id;
    int32_t signal;
    uint64_t sp, ip;
    uint64_t registers[CLR_REGISTERS_MAX]; /* in the order of NT_PRSTATUS */
    uint32_t register_count;
};
size_t clr_process_threads(const struct clr_process *process, const struct clr_os_thread **threads);
const struct clr_os_thread *clr_process_thread(const struct clr_process *process, uint32_t os_id);
/* 'rax', 'x0', … of the process's machine; NULL past the end. */
const char *clr_register_name(const struct clr_process *process, uint32_t number);

/* The value of an auxiliary vector entry (AT_BASE 7, AT_ENTRY 9, AT_SYSINFO_EHDR 33 …). */
bool clr_process_auxv(const struct clr_process *process, uint64_t type, uint64_t *value);

#endif
