/*
 * What a file is by its first bytes, and compressed cores.
 *
 * Collectors compress: systemd-coredump writes zstd, older ones lz4 and xz, abrt and Kubernetes
 * hooks gzip. zstd is unpacked here, into a temporary file that has no name: a core is read at
 * random places, which no stream allows. For the others the message is the command to run.
 *
 *   bytes at 0                  is
 *   7f 45 4c 46                 ELF
 *   28 b5 2f fd                 a zstd frame;  5x 2a 4d 18: a skippable one      (RFC 8878)
 *   1f 8b                       gzip                                             (RFC 1952)
 *   fd 37 7a 58 5a 00           xz;  04 22 4d 18: lz4;  42 5a 68: bzip2;  50 4b 03 04: zip
 *   4d 44 4d 50                 Windows minidump;  50 41 47 45 44 55: Windows memory dump
 *   fe ed fa ce/cf, or reversed Mach-O
 */
#include "core/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/text.h"

/* The formats that are read. */
static const struct clr_dump_format *const formats[] = {&clr_elf_format};

struct kind {
    uint8_t size;
    uint8_t magic[6];
    const char *is;      /* what it is */
    const char *command; /* that unpacks it to standard output; NULL if none would help */
    const char *advice;
};

static const struct kind kinds[] = {
    {2, {0x1f, 0x8b}, "compressed with gzip", "gzip -dc", NULL},
    {6, {0xfd, '7', 'z', 'X', 'Z', 0}, "compressed with xz", "xz -dc", NULL},
    {4, {0x04, 0x22, 0x4d, 0x18}, "compressed with lz4", "lz4 -dc", NULL},
    {3, {'B', 'Z', 'h'}, "compressed with bzip2", "bzip2 -dc", NULL},
    {4, {'P', 'K', 3, 4}, "a zip archive", "unzip -p", NULL},
    {4, {'M', 'D', 'M', 'P'}, "a Windows minidump", NULL, "only ELF core dumps (Linux) are read"},
    {6,
     {'P', 'A', 'G', 'E', 'D', 'U'},
     "a Windows memory dump",
     NULL,
     "only ELF core dumps (Linux) are read"},
    {4,
     {0xfe, 0xed, 0xfa, 0xce},
     "a Mach-O file (macOS)",
     NULL,
     "only ELF core dumps (Linux) are read"},
    {4,
     {0xfe, 0xed, 0xfa, 0xcf},
     "a Mach-O file (macOS)",
     NULL,
     "only ELF core dumps (Linux) are read"},
    {4,
     {0xce, 0xfa, 0xed, 0xfe},
     "a Mach-O file (macOS)",
     NULL,
     "only ELF core dumps (Linux) are read"},
    {4,
     {0xcf, 0xfa, 0xed, 0xfe},
     "a Mach-O file (macOS)",
     NULL,
     "only ELF core dumps (Linux) are read"},
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static bool is_zstd(const uint8_t *bytes, size_t size)
{
    static const uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd}, skippable[] = {0x2a, 0x4d, 0x18};
    return size >= 4 && (memcmp(bytes, frame, 4) == 0 ||
                         ((bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, skippable, 3) == 0));
}

static enum clr_status refuse(const char *path, const uint8_t *bytes, size_t size,
                              struct clr_error *error)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *kind = &kinds[i];
        if (size < kind->size || memcmp(bytes, kind->magic, kind->size) != 0)
            continue;
        if (kind->command)
            return clr_fail(error, CLR_NOT_CORE, 0,
                            "is %s: run  %s '%s' > core  and open the file core", kind->is,
                            kind->command, path);
        return clr_fail(error, CLR_NOT_CORE, 0, "is %s: %s", kind->is, kind->advice);
    }
    if (is_zero(bytes, size))
        return clr_fail(error, CLR_NOT_CORE, 0,
                        "is not an ELF core dump: it starts with %zu zeros, as if its writer had "
                        "not finished",
                        size);
    return clr_fail(error, CLR_NOT_CORE, 0, "is not an ELF core dump: it starts with %02x%s",
                    bytes[0], size > 1 ? " …" : "");
}

/* --- zstd ------------------------------------------------------------------------------------- */

/* Cores compress by 3 to 30, and by more where memory is empty. The default lets all of these pass
 * and keeps a small file that was made to fill the disk from doing so. */
static uint64_t default_limit(uint64_t packed)
{
    const uint64_t least = (uint64_t)8 << 30, factor = 64;
    return packed > UINT64_MAX / factor || packed * factor > least ? packed * factor : least;
}

/* A file without a name in a folder for large temporary files. */
static int open_temporary(void)
{
    const char *folders[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        if (!folders[i] || !folders[i][0])
            continue;
        int fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0)
            return fd;
        struct clr_text name = {0}; /* the file system knows no O_TMPFILE */
        clr_text_format(&name, "%s/clrdb-XXXXXX", folders[i]);
        fd = name.failed ? -1 : mkostemp(name.data, O_CLOEXEC);
        if (fd >= 0)
            unlink(name.data);
        clr_text_deinit(&name);
        if (fd >= 0)
            return fd;
    }
    return -1;
}

struct stream {
    int from, to;
    uint64_t packed, read; /* size of the input, bytes read of it */
    uint64_t written, limit;
    ZSTD_DCtx *context;
    uint8_t *in, *out;
    size_t in_room, out_room;
};

/* Writes SIZE bytes; whole blocks of zeros become holes. */
static enum clr_status write_block(struct stream *stream, size_t size, struct clr_error *error)
{
    uint64_t end;
    if (__builtin_add_overflow(stream->written, size, &end) || end > stream->limit)
        return clr_fail(error, CLR_MISUSE, 0,
                        "unpacks to more than %llu bytes: raise the option unpack_limit if it is "
                        "meant to",
                        (unsigned long long)stream->limit);
    for (size_t at = 0; at < size && !is_zero(stream->out, size);) {
        ssize_t n = pwrite(stream->to, stream->out + at, size - at, (off_t)(stream->written + at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return clr_fail_errno(error, "unpacking into a temporary file (TMPDIR says where)");
        at += (size_t)n;
    }
    stream->written = end;
    return CLR_OK;
}

/* *LEFT: what the decoder still waits for; 0 at the end of a frame. */
static enum clr_status decode_block(struct stream *stream, size_t size, size_t *left,
                                    struct clr_error *error)
{
    ZSTD_inBuffer in = {stream->in, size, 0};
    bool full = false; /* the decoder may hold more than OUT took */
    while (in.pos < in.size || full) {
        ZSTD_outBuffer out = {stream->out, stream->out_room, 0};
        *left = ZSTD_decompressStream(stream->context, &out, &in);
        if (ZSTD_isError(*left))
            return clr_fail(error, CLR_BAD_DATA, 0, "cannot be unpacked: %s at byte %llu",
                            ZSTD_getErrorName(*left), (unsigned long long)(stream->read + in.pos));
        full = out.pos == out.size;
        CLR_TRY(write_block(stream, out.pos, error));
    }
    return CLR_OK;
}

static enum clr_status decode(struct stream *stream, struct clr_job *job, bool *whole,
                              struct clr_error *error)
{
    size_t left = 0;
    for (;;) {
        CLR_TRY(clr_job_poll(job, "unpacking the core", stream->read, stream->packed, error));
        ssize_t n = pread(stream->from, stream->in, stream->in_room, (off_t)stream->read);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return clr_fail_errno(error, "reading the compressed core");
        if (n == 0)
            break;
        CLR_TRY(decode_block(stream, (size_t)n, &left, error));
        stream->read += (uint64_t)n;
    }
    *whole = left == 0;
    if (ftruncate(stream->to, (off_t)stream->written) != 0)
        return clr_fail_errno(error, "unpacking into a temporary file");
    return CLR_OK;
}

static enum clr_status unpack_zstd(int *fd, uint64_t packed, const struct clr_options *options,
                                   struct clr_job *job, struct clr_problems *problems,
                                   struct clr_error *error)
{
    struct stream stream = {.from = *fd,
                            .packed = packed,
                            .to = open_temporary(),
                            .context = ZSTD_createDCtx(),
                            .in_room = ZSTD_DStreamInSize(),
                            .out_room = ZSTD_DStreamOutSize()};
    bool whole = true;
    enum clr_status status = CLR_OK;
    stream.limit = options->unpack_limit ? options->unpack_limit : default_limit(packed);
    stream.in = clr_alloc(stream.in_room, 1);
    stream.out = clr_alloc(stream.out_room, 1);
    if (stream.to < 0)
        status = clr_fail_errno(error, "no temporary file to unpack into (TMPDIR says where)");
    else if (!stream.context || !stream.in || !stream.out)
        status = clr_no_memory(error);
    if (status == CLR_OK) {
        ZSTD_DCtx_setParameter(stream.context, ZSTD_d_windowLogMax, sizeof(size_t) == 8 ? 31 : 27);
        status = decode(&stream, job, &whole, error);
    }
    ZSTD_freeDCtx(stream.context);
    clr_free(stream.in);
    clr_free(stream.out);
    if (status != CLR_OK) {
        if (stream.to >= 0)
            close(stream.to);
        return status;
    }
    if (!whole)
        clr_problem_of(problems, CLR_WARNING, "memory_regions", 0, true, 0, 0,
                       "the compressed file is cut after %llu bytes: the core has been read as far "
                       "as it goes, %llu bytes",
                       (unsigned long long)packed, (unsigned long long)stream.written);
    close(*fd);
    *fd = stream.to;
    return CLR_OK;
}

enum clr_status clr_unpack(const char *path, int *fd, const struct clr_options *options,
                           struct clr_job *job, const struct clr_dump_format **format,
                           struct clr_problems *problems, struct clr_error *error)
{
    uint8_t start[4096];
    struct stat found;
    for (unsigned layer = 0;; layer++) {
        if (fstat(*fd, &found) != 0)
            return clr_fail_errno(error, "cannot read the core dump");
        ssize_t n = pread(*fd, start, sizeof start, 0);
        if (n < 0)
            return clr_fail_errno(error, "cannot read the core dump");
        size_t size = (size_t)n;
        if (size == 0)
            return clr_fail(error, CLR_NOT_CORE, 0, layer ? "unpacks to nothing" : "is empty");
        if (layer == 0 && is_zstd(start, size)) {
            CLR_TRY(unpack_zstd(fd, (uint64_t)found.st_size, options, job, problems, error));
            continue;
        }
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            if (formats[i]->recognizes(start, size)) {
                *format = formats[i];
                return CLR_OK;
            }
        }
        return refuse(path, start, size, error);
    }
}
