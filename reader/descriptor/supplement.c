/*
 * Supplements: descriptors of ours for what a runtime does not publish.
 *
 * A supplement is JSON in the runtime's own format (parse.c) with values that lead from what the
 * process exports to what it does not. .NET 8 has no descriptor, 9 and 10 describe no GC and their
 * createdump dumps lack even what they describe; all of them export g_dacTable, a table of the
 * addresses of the runtime's variables. Additional keys:
 *
 *   supplement  {"runtime", "os", "arch"}   what it is for; arch must be the process's
 *   anchors     {"NAME": anchor, …}         places to start from, in the order of use:
 *       "symbol": S          a symbol that the runtime's image exports; an array with "stride"
 *                            (default: a word) whose number of entries must be one of "counts"
 *       "image": true        the image's load bias, for measured offsets
 *       "via": NAME, …       a cell of an earlier anchor, as below; or "find": true, the only
 *                            entry of an array that passes "expect"
 *       "deref": n           so many words are followed from there; a null word: the anchor, and
 *                            all that is reached by it, is absent
 *       "expect": {…}        checks, all of which must hold
 *   probes      {"GLOBAL": {"deref": n, "expect": {…}}}   checks of what the globals lead to
 *
 * A check is "u8@8": V (also u16, u32, u64, word): the number at that offset is V, lies in [low,
 * high], or, for "*GLOBAL", is the word in that variable. A value of a field, size or global:
 *
 *   {"via": A}                          the anchor's address
 *   {"via": A, "index": n | {"count": n, …}}   the entry's word, an address
 *   {"via": A, "offset": o}             the cell's word, an address; 0: absent
 *        … "add": a                     is added to the address
 *        … "read": "uint32"             instead: the number in the cell
 *        … "i32": k                     instead: element k of an int32 array that the cell points
 *                                       to; negative: absent
 *        … "value": n                   instead: n, or absent if the cell holds 0
 *   {"via": "gcident"}                  the text GCIdentifiers, from the facts it stands for
 *
 * An address is that of a variable, just what an indirect global of a runtime is.
 *
 * Which supplement applies follows from what the target is: its table has the right number of
 * entries, its own contracts (if any) have the versions that the supplement is written for, every
 * anchor passes its checks and every address lies where variables can lie. A supplement that fails
 * one of them is not used, and the message says what was found.
 *
 * Knowledge: gcinterface.dac.h, gcinterface.dacvars.def, dacvars.h, dac_gcheap_fields.h and
 * dac_generation_fields.h of dotnet/runtime; layouts measured on dumps of 8.0, 9.0 and 10.0.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "descriptor/internal.h"

/* --- which one -------------------------------------------------------------------------------- */

static enum clr_status check_machine(const struct clr_anchors *anchors, struct clr_error *error)
{
    const clr_json *heading = clr_json_member(anchors->root, "supplement");
    const char *arch = clr_json_text(clr_json_member(heading, "arch"), NULL);
    const char *found = clr_process_info(anchors->d->process)->arch;
    if (!arch || (found && strcmp(arch, found) == 0))
        return CLR_OK;
    return clr_fail(error, CLR_UNSUPPORTED, 0, "%s is for %s; this process is of %s", anchors->name,
                    arch, found ? found : "an unknown machine");
}

/* What the target itself announces must be what the supplement is written for. */
static enum clr_status check_contracts(const struct clr_anchors *anchors, struct clr_error *error)
{
    const struct clr_descriptor *d = anchors->d;
    const clr_json *contracts = clr_json_member(anchors->root, "contracts");
    for (size_t i = 0; i < d->contracts.count; i++) {
        const struct clr_contract *own = &d->contracts.items[i];
        const clr_json *json = clr_json_member(contracts, own->name);
        const char *text = clr_json_text(json, NULL);
        uint64_t number, own_number = 0;
        char *end = NULL;
        if (own->part >= d->own_parts || !json)
            continue;
        own_number = strtoull(own->version, &end, 10);
        bool same = text ? strcmp(text, own->version) == 0
                         : clr_json_u64(json, &number) && !*end && number == own_number;
        if (!same)
            return clr_fail(error, CLR_UNSUPPORTED, 0,
                            "%s is written for another version of contract %s than the runtime's "
                            "'%s'",
                            anchors->name, own->name, own->version);
    }
    return CLR_OK;
}

static enum clr_status verify(struct clr_anchors *anchors, struct clr_error *error)
{
    CLR_TRY(check_machine(anchors, error));
    CLR_TRY(check_contracts(anchors, error));
    CLR_TRY(clr_anchors_resolve(anchors, error));
    CLR_TRY(clr_anchors_check(anchors, error));
    CLR_TRY(clr_anchors_probe(anchors, error));
    if (anchors->skipped)
        clr_problem(anchors->d->problems, CLR_INFO, "descriptors", 0, 0,
                    "%s: %u checks could not be made, for what they read is not in the dump",
                    anchors->name, anchors->skipped);
    return CLR_OK;
}

/* Adds the rows of a supplement that was found to fit; takes over ROOT. */
static enum clr_status add_supplement(struct clr_anchors *anchors, const char *text, size_t length,
                                      clr_json *root, struct clr_error *error)
{
    struct clr_descriptor *d = anchors->d;
    const struct clr_process_info *info = clr_process_info(d->process);
    const bool machine_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    struct clr_part part = {
        .name = anchors->name,
        .parent = -1,
        .pointer_size = info->word_size,
        .little_endian = machine_is_little != info->swapped,
    };
    struct clr_parse parse = {.d = d, .part = (uint32_t)d->parts.count, .anchors = anchors};
    CLR_TRY(clr_part_add(d, &part, text, length, root, error));
    return clr_parse_rows(&parse, root, error);
}

/* Parses, verifies and adds one. On failure nothing of it is kept. */
static enum clr_status use_supplement(struct clr_descriptor *d, const char *name, const char *text,
                                      size_t length, struct clr_error *error)
{
    struct clr_anchors anchors = {.d = d, .name = name};
    clr_json *root;
    CLR_TRY(clr_json_parse(text, length, &root, error));
    anchors.root = root;
    enum clr_status status = verify(&anchors, error);
    if (status == CLR_OK)
        return add_supplement(&anchors, text, length, root, error);
    clr_json_destroy(root);
    return status;
}

/* --- the user's ------------------------------------------------------------------------------- */

static enum clr_status read_file(const char *path, char **text, size_t *length,
                                 struct clr_error *error)
{
    struct stat status;
    ssize_t got = 0;
    *text = NULL;
    *length = 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) != 0) {
        clr_fail_errno(error, "supplement %s cannot be opened", path);
    } else if (!S_ISREG(status.st_mode) || status.st_size > CLR_DESCRIPTOR_JSON_MAX) {
        clr_fail(error, CLR_MISUSE, 0, "supplement %s is no file of at most %d bytes", path,
                 CLR_DESCRIPTOR_JSON_MAX);
    } else if (!(*text = clr_alloc((size_t)status.st_size + 1, 1))) {
        clr_no_memory(error);
    } else {
        do {
            got = read(file, *text + *length, (size_t)status.st_size - *length);
            *length += got > 0 ? (size_t)got : 0;
        } while ((got > 0 && *length < (size_t)status.st_size) || (got < 0 && errno == EINTR));
        if (got < 0)
            clr_fail_errno(error, "supplement %s cannot be read", path);
    }
    if (file >= 0)
        close(file);
    if (error->code == CLR_OK)
        return CLR_OK;
    clr_free(*text);
    *text = NULL;
    return error->code;
}

/* The file's name without folder and ending. */
static const char *keep_name(struct clr_descriptor *d, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".json") == 0)
        length -= 5;
    return clr_arena_text(&d->texts, name, length);
}

/* What the user gives must be usable: a fault is an error, not a problem. */
static enum clr_status use_file(struct clr_descriptor *d, const char *path, struct clr_error *error)
{
    struct clr_error reason = {0};
    char *text;
    size_t length;
    const char *name = keep_name(d, path);
    if (!name)
        return clr_no_memory(error);
    enum clr_status status = read_file(path, &text, &length, &reason);
    if (status == CLR_OK)
        status = use_supplement(d, name, text, length, &reason);
    clr_free(text);
    if (status == CLR_OK)
        return CLR_OK;
    return status == CLR_IO
               ? clr_fail(error, status, 0, "%s", reason.text)
               : clr_fail(error, status, reason.address, "supplement %s: %s", path, reason.text);
}

/* --- shipped ones ----------------------------------------------------------------------------- */

/* The anchor that distinguishes a shipped supplement from the others: a table with known counts. */
static const clr_json *table_form(const clr_json *root)
{
    const clr_json *list = clr_json_member(root, "anchors"), *form;
    const char *name;
    void *iterator = NULL;
    while (list && clr_json_next(list, &iterator, &name, &form))
        if (clr_json_member(form, "symbol") && clr_json_member(form, "counts"))
            return form;
    return NULL;
}

/* ' 155, 157: 8.0;' */
static void list_counts(struct clr_text *known, const clr_json *root, const clr_json *form)
{
    const clr_json *counts = clr_json_member(form, "counts");
    const char *runtime =
        clr_json_text(clr_json_member(clr_json_member(root, "supplement"), "runtime"), NULL);
    uint64_t number;
    for (size_t i = 0; i < clr_json_size(counts); i++)
        if (clr_json_u64(clr_json_element(counts, i), &number))
            clr_text_format(known, "%s%llu", i ? ", " : " ", (unsigned long long)number);
    clr_text_format(known, ": %s;", runtime ? runtime : "?");
}

/* Uses the first shipped supplement whose table has the right length and that fits; *USED says
 * whether one was, REASON why the first candidate was not. */
static enum clr_status use_shipped(struct clr_descriptor *d, const struct clr_embedded *shipped,
                                   bool *used, bool *candidate, struct clr_error *reason,
                                   struct clr_text *known, struct clr_error *error)
{
    for (; shipped->name && !*used; shipped++) {
        struct clr_anchor table = {0};
        struct clr_error why = {0};
        clr_json *root;
        CLR_TRY(clr_json_parse(shipped->text, shipped->length, &root, error));
        const clr_json *form = table_form(root);
        bool fits =
            form && clr_anchor_table(d, form, &table) && clr_anchor_counts(form, table.count);
        if (form)
            list_counts(known, root, form);
        clr_json_destroy(root);
        if (!fits)
            continue;
        *candidate = true;
        enum clr_status status =
            use_supplement(d, shipped->name, shipped->text, shipped->length, &why);
        if (status == CLR_NOMEM)
            return clr_no_memory(error);
        *used = status == CLR_OK;
        if (!*used)
            clr_fail(reason, status, why.address, "%s", why.text);
    }
    return known->failed ? clr_no_memory(error) : CLR_OK;
}

/* Without any table there is nothing to say about its length. */
static void explain_counts(const struct clr_descriptor *d, const struct clr_text *known,
                           struct clr_error *reason)
{
    struct clr_anchor table = {0};
    uint64_t size;
    if (clr_image_symbol(d->process, d->image, "g_dacTable", &table.address, &size))
        clr_fail(reason, CLR_UNSUPPORTED, table.address,
                 "no supplement fits %s: its g_dacTable at 0x%llx has %llu entries; known are%s "
                 "option 'supplement' takes one of yours",
                 d->image->path ? d->image->path : "the runtime", (unsigned long long)table.address,
                 (unsigned long long)(size / clr_process_info(d->process)->word_size),
                 known->data ? known->data : " none;");
    else
        clr_fail(reason, CLR_UNSUPPORTED, d->image->start,
                 "no supplement fits %s: it exports no g_dacTable",
                 d->image->path ? d->image->path : "the runtime");
}

/* A user's supplement may serve where no shipped one does. */
static bool announces_gc(const struct clr_descriptor *d)
{
    for (size_t i = 0; i < d->contracts.count; i++)
        if (strcmp(d->contracts.items[i].name, "GC") == 0)
            return true;
    return false;
}

/* The descriptor that the runtime has cannot be read; *KNOWN are the tables of shipped ones. */
static enum clr_status fail_own(const struct clr_descriptor *d, const struct clr_error *own_error,
                                const struct clr_text *known, struct clr_error *error)
{
    uint64_t address, size;
    if (known->failed || !clr_image_symbol(d->process, d->image, "g_dacTable", &address, &size))
        return clr_fail(error, own_error->code, own_error->address, "%s", own_error->text);
    return clr_fail(error, own_error->code, own_error->address,
                    "%s; without it: g_dacTable has %llu entries, known are%.*s", own_error->text,
                    (unsigned long long)(size / clr_process_info(d->process)->word_size),
                    known->length ? (int)known->length - 1 : 5, /* less the last semicolon */
                    known->length ? known->data : " none");
}

enum clr_status clr_supplement_apply(struct clr_descriptor *d, const struct clr_options *options,
                                     const struct clr_embedded *shipped, bool needed,
                                     struct clr_error *own_error, struct clr_error *error)
{
    struct clr_error reason = {0};
    struct clr_text known = {0};
    bool used = false, candidate = false;
    const char *file = options ? options->supplement : NULL;
    if (file)
        CLR_TRY(use_file(d, file, error));
    if (!needed)
        return CLR_OK;
    enum clr_status status = use_shipped(d, shipped, &used, &candidate, &reason, &known, error);
    if (status == CLR_OK && !used && !candidate)
        explain_counts(d, &known, &reason);
    /* Where no supplement is meant for this runtime, its own descriptor is what is wanted. */
    if (status == CLR_OK && !used && d->own_parts == 0 && !file)
        status = own_error->code != CLR_OK && !candidate
                     ? fail_own(d, own_error, &known, error)
                     : clr_fail(error, reason.code, reason.address, "%s", reason.text);
    clr_text_deinit(&known);
    if (status != CLR_OK || used)
        return status;
    if (!announces_gc(d))
        clr_problem(d->problems, CLR_ERROR, "descriptors", reason.address, 0,
                    "the runtime does not describe its GC heap: %s", reason.text);
    return CLR_OK;
}
