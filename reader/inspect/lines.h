/*
 * Source lines: from the IL offset of a method to file and line, where its portable PDB is at hand.
 */
#ifndef CLR_INSPECT_LINES_H
#define CLR_INSPECT_LINES_H

#include "options.h"
#include "runtime/methods.h"

struct clr_line {
    uint32_t il_offset;
    uint32_t line;     /* from 1; 0: hidden, code that stands for no line */
    uint32_t document; /* row in the PDB's table of documents */
};

struct clr_lines { /* of one method, ascending; keep one and use it again */
    struct clr_line *items;
    size_t count, room;
};

struct clr_pdb;
struct clr_pdbs; /* all that were opened; belongs to the connection's thread */

struct clr_pdbs *clr_pdbs_create(void); /* NULL: no memory */
void clr_pdbs_destroy(struct clr_pdbs *pdbs);

/* The PDB of METHOD's module, looked for once: beside the module, embedded in it, or in a folder of
 * option 'modules'; *PDB is NULL if there is none. A file of another build is not used, with a
 * problem of area source_lines. */
enum clr_status clr_pdb_of(struct clr_pdbs *pdbs, struct clr_runtime *runtime,
                           const struct clr_options *options, const struct clr_method *method,
                           const struct clr_pdb **pdb, struct clr_error *error);

/* The sequence points of method TOKEN. Bad ones end the list. */
enum clr_status clr_pdb_lines(const struct clr_pdb *pdb, uint32_t token, struct clr_lines *lines,
                              struct clr_error *error);
/* The line of an IL offset: the last one at or before it that is not hidden; NULL if there is none.
 */
const struct clr_line *clr_lines_find(const struct clr_lines *lines, uint32_t il_offset);
/* Appends the path of a document, as the compiler wrote it; false if it makes no sense. */
bool clr_pdb_document(const struct clr_pdb *pdb, uint32_t document, struct clr_text *text);

/* Decodes a blob of sequence points; DOCUMENT: that of the row, 0 if the blob names it. */
enum clr_status clr_lines_decode(struct clr_bytes blob, uint32_t document, struct clr_lines *lines,
                                 struct clr_error *error);
void clr_lines_deinit(struct clr_lines *lines);

#endif
