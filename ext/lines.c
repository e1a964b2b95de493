/*
 * Source lines as results. PDBs that were opened are kept with the dump, and so are the lines of
 * the method that was asked for last: rows come method by method.
 */
#include "lines.h"

#include "base/alloc.h"
#include "inspect/lines.h"

struct clr_line_cache {
    struct clr_pdbs *pdbs;
    struct clr_lines lines; /* of METHOD */
    uint64_t method;
    const struct clr_pdb *pdb;
};

static void free_lines(void *kept)
{
    struct clr_line_cache *cache = kept;
    clr_pdbs_destroy(cache->pdbs);
    clr_lines_deinit(&cache->lines);
    clr_free(cache);
}

enum clr_status clr_result_text(sqlite3_context *context, struct clr_text *text,
                                struct clr_error *error)
{
    bool failed = text->failed;
    if (!failed)
        clr_result_copy(context, text->data ? text->data : "", text->length);
    clr_text_deinit(text);
    return failed ? clr_fail(error, CLR_NOMEM, 0, "out of memory") : CLR_OK;
}

static enum clr_status need_lines(struct clr_dump *dump, const struct clr_method *method,
                                  struct clr_line_cache **result, struct clr_error *error)
{
    struct clr_line_cache *lines = NULL;
    CLR_TRY(clr_dump_keep(dump, free_lines, sizeof *lines, &lines, error));
    *result = lines;
    if (!lines->pdbs && !(lines->pdbs = clr_pdbs_create()))
        return clr_fail(error, CLR_NOMEM, 0, "out of memory");
    if (lines->method == method->address)
        return CLR_OK;
    lines->method = 0;
    lines->lines.count = 0;
    CLR_TRY(clr_pdb_of(lines->pdbs, dump->runtime, &dump->options, method, &lines->pdb, error));
    if (lines->pdb)
        CLR_TRY(clr_pdb_lines(lines->pdb, method->token, &lines->lines, error));
    lines->method = method->address;
    return CLR_OK;
}

enum clr_status clr_result_line(struct clr_dump *dump, const struct clr_method *method,
                                uint32_t il_offset, bool file, sqlite3_context *context,
                                struct clr_error *error)
{
    struct clr_line_cache *lines = NULL;
    struct clr_text text = {0};
    CLR_TRY(need_lines(dump, method, &lines, error));
    const struct clr_line *line = lines->pdb ? clr_lines_find(&lines->lines, il_offset) : NULL;
    if (!line)
        return CLR_OK;
    if (!file) {
        clr_result_u64(context, line->line);
        return CLR_OK;
    }
    if (clr_pdb_document(lines->pdb, line->document, &text) || text.failed)
        return clr_result_text(context, &text, error);
    clr_text_deinit(&text);
    return CLR_OK;
}
