#include "ask.h"

#include <check.h>
#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Questions -------------------------------------------------------------------------------- */

sqlite3 *ask_open(const char *module)
{
    sqlite3 *db = NULL;
    char *message = NULL;
    ck_assert_int_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_enable_load_extension(db, 1);
    if (sqlite3_load_extension(db, module, NULL, &message) != SQLITE_OK)
        ck_abort_msg("%s", message);
    return db;
}

void ask_close(sqlite3 *db)
{
    ck_assert_int_eq(sqlite3_close(db), SQLITE_OK);
}

void ask_attach(sqlite3 *db, const char *path, const char *schema, const char *options)
{
    pairs_exec(db, "SELECT clr_attach(%Q, %Q, %Q)", path, schema, options ? options : "{}");
}

void ask_is(sqlite3 *db, const char *sql, const char *wanted)
{
    char *got = pairs_text(db, sql);
    ck_assert_msg(strcmp(got, wanted) == 0, "%s\ngives %s\nnot %s", sql, got, wanted);
    sqlite3_free(got);
}

void ask_has(sqlite3 *db, const char *sql, const char *part)
{
    char *got = pairs_text(db, sql);
    ck_assert_msg(strstr(got, part) != NULL, "%s\ngives %s\nwithout %s", sql, got, part);
    sqlite3_free(got);
}

int64_t ask_number(sqlite3 *db, const char *format, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    ck_assert_msg(code == SQLITE_OK, "%s: %s", sql, sqlite3_errmsg(db));
    code = sqlite3_step(statement);
    ck_assert_msg(code == SQLITE_ROW && sqlite3_column_type(statement, 0) == SQLITE_INTEGER,
                  "%s gives no number: %s", sql, sqlite3_errmsg(db));
    int64_t number = sqlite3_column_int64(statement, 0);
    code = sqlite3_step(statement);
    ck_assert_msg(code == SQLITE_DONE, "%s gives several rows", sql);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return number;
}

/* --- Copies ----------------------------------------------------------------------------------- */

void patch_open(struct patch *patch, const char *core)
{
    struct stat about;
    int from = open(core, O_RDONLY | O_CLOEXEC);
    patch->file = memfd_create("patch", MFD_CLOEXEC);
    ck_assert(from >= 0 && patch->file >= 0 && fstat(from, &about) == 0);
    for (off_t done = 0; done < about.st_size;)
        ck_assert_int_gt(sendfile(patch->file, from, &done, (size_t)(about.st_size - done)), 0);
    close(from);
    patch->size = (size_t)about.st_size;
    patch->pending_count = 0;
    patch->bytes = mmap(NULL, patch->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, patch->file, 0);
    ck_assert_ptr_ne(patch->bytes, MAP_FAILED);
    snprintf(patch->path, sizeof patch->path, "/proc/self/fd/%d", patch->file);
}

void patch_close(struct patch *patch)
{
    munmap(patch->bytes, patch->size);
    close(patch->file);
}

static size_t offset_of(const struct patch *patch, uint64_t address, size_t width)
{
    Elf64_Ehdr head;
    Elf64_Phdr segment;
    memcpy(&head, patch->bytes, sizeof head);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        memcpy(&segment, patch->bytes + head.e_phoff + i * sizeof segment, sizeof segment);
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
            address - segment.p_vaddr < segment.p_filesz &&
            width <= segment.p_filesz - (address - segment.p_vaddr))
            return segment.p_offset + (address - segment.p_vaddr);
    }
    ck_abort_msg("0x%llx is not saved", (unsigned long long)address);
    return 0;
}

uint64_t patch_get(const struct patch *patch, uint64_t address, size_t width)
{
    uint64_t value = 0;
    memcpy(&value, patch->bytes + offset_of(patch, address, width), width);
    return value;
}

void patch_put(struct patch *patch, uint64_t address, uint64_t value, size_t width)
{
    size_t offset = offset_of(patch, address, width);
    ck_assert_uint_lt(patch->pending_count, PATCHES_MAX);
    memcpy(patch->bytes + offset, &value, width);
    patch->pending[patch->pending_count].offset = offset;
    patch->pending[patch->pending_count++].size = width;
}

void patch_write(struct patch *patch)
{
    for (size_t i = 0; i < patch->pending_count; i++)
        ck_assert_int_eq(pwrite(patch->file, patch->bytes + patch->pending[i].offset,
                                patch->pending[i].size, (off_t)patch->pending[i].offset),
                         (ssize_t)patch->pending[i].size);
    patch->pending_count = 0;
}
