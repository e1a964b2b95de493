/*
 * The notes of an ELF core: a part of reading that format. Private to elf.c and notes.c.
 */
#ifndef CLR_CORE_NOTES_H
#define CLR_CORE_NOTES_H

#include "core/private.h"

struct clr_note {
    uint32_t type;
    bool is_core; /* its owner is 'CORE': the types of other owners mean other things */
    const uint8_t *data;
    size_t size;
};
typedef enum clr_status clr_note_visit(void *context, const struct clr_note *note,
                                       struct clr_error *error);

/* elf.c: calls VISIT for every whole note of the process's described parts, in the order of the
 * file. ELF is libelf's handle. *MISSING: bytes that the file does not hold or that are no notes. */
enum clr_status clr_elf_notes(void *elf, const struct clr_process *process, clr_note_visit *visit,
                              void *context, uint64_t *missing, struct clr_error *error);

/* notes.c: fills what the notes say. */
enum clr_status clr_notes_read(struct clr_process *process, void *elf,
                               struct clr_problems *problems, struct clr_error *error);

#endif
