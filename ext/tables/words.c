/*
 * words(from_address, to_address): the saved memory of a range, one pointer a row.
 *
 * The range is half open and taken as unsigned; it is cut to whole aligned words that are saved.
 * Rows come as SQLite sorts addresses: those from 2^63 on are negative numbers and come first.
 */
#include <string.h>

#include "table.h"

static const uint64_t upper_half = (uint64_t)1 << 63;

struct word_cursor {
    struct clr_cursor base;
    uint64_t next, end;   /* still to give; the lower half follows the upper one */
    uint64_t lower, stop; /* of the lower half */
    uint64_t address, value;
    const uint8_t *piece; /* saved bytes from PIECE_START on */
    uint64_t piece_start, piece_size;
    uint64_t size; /* of a word */
    bool swapped;
};

/* A word within the piece at hand; false if it is not in there. */
static bool take_word(struct word_cursor *cursor, uint64_t address, uint64_t *value)
{
    uint64_t at = address - cursor->piece_start;
    if (!cursor->piece || at > cursor->piece_size || cursor->piece_size - at < cursor->size)
        return false;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (cursor->size == 8) {
        memcpy(&wide, cursor->piece + at, sizeof wide);
        *value = cursor->swapped ? __builtin_bswap64(wide) : wide;
    } else {
        memcpy(&narrow, cursor->piece + at, sizeof narrow);
        *value = cursor->swapped ? __builtin_bswap32(narrow) : narrow;
    }
    return true;
}

static enum clr_status next_word(struct clr_cursor *base, struct clr_error *error)
{
    (void)error;
    enum { PIECE = 1 << 20 };
    struct word_cursor *cursor = (struct word_cursor *)base;
    const struct clr_process *process = base->dump->process;
    for (;;) {
        uint64_t saved;
        if (cursor->next >= cursor->end || cursor->end - cursor->next < cursor->size) {
            cursor->next = cursor->lower;
            cursor->end = cursor->stop;
            cursor->lower = cursor->stop = 0;
            base->eof = cursor->next >= cursor->end;
            if (base->eof)
                return CLR_OK;
            continue;
        }
        if (!take_word(cursor, cursor->next, &cursor->value)) {
            cursor->piece_start = cursor->next;
            cursor->piece = clr_view(process, cursor->next, PIECE, &cursor->piece_size);
            /* A word may lie across two runs that touch. */
            if (!take_word(cursor, cursor->next, &cursor->value) &&
                !clr_read_word(process, cursor->next, &cursor->value)) {
                bool more = clr_next_saved(process, cursor->next + 1, &saved) &&
                            saved <= UINT64_MAX - cursor->size;
                if (more && saved % cursor->size != 0)
                    saved += cursor->size - saved % cursor->size;
                cursor->next = more && saved < cursor->end ? saved : cursor->end;
                continue;
            }
        }
        cursor->address = cursor->next;
        base->rowid = (int64_t)cursor->address;
        cursor->next += cursor->size;
        if (cursor->next == 0) /* that was the last word of the address space */
            cursor->next = cursor->end;
        return CLR_OK;
    }
}

static enum clr_status start_words(struct clr_cursor *base, const struct clr_query *query,
                                   struct clr_error *error)
{
    struct word_cursor *cursor = (struct word_cursor *)base;
    const struct clr_process_info *info = clr_process_info(base->dump->process);
    uint64_t from = (uint64_t)clr_equal_int(query, 0), to = (uint64_t)clr_equal_int(query, 1);
    cursor->size = info->word_size;
    cursor->swapped = info->swapped;
    if (from > UINT64_MAX - cursor->size)
        from = to;
    else if (from % cursor->size != 0)
        from += cursor->size - from % cursor->size;
    if (from < to) {
        cursor->next = from < upper_half ? upper_half : from;
        cursor->end = to;
        cursor->lower = from;
        cursor->stop = to < upper_half ? to : upper_half;
    }
    return next_word(base, error);
}

enum { WORD_FROM, WORD_TO, WORD_ADDRESS };

static const struct clr_column columns[] = {
    CLR_COLUMN("from_address", CLR_ARGUMENT(CLR_INTEGER), "First address.",
               .flags = CLR_ARG | CLR_REQUIRED),
    CLR_COLUMN("to_address", CLR_ARGUMENT(CLR_INTEGER), "Address to stop before.",
               .flags = CLR_ARG | CLR_REQUIRED),
    CLR_COLUMN("address", CLR_NUMBER(word_cursor, address), "Address of the word.",
               .flags = CLR_KEY),
    CLR_COLUMN("value", CLR_NUMBER(word_cursor, value),
               "The word: join it to objects, types or whatever it may point at."),
    CLR_END,
};

static const struct clr_path paths[] = {
    {.key = {{WORD_FROM, CLR_EQ}, {WORD_TO, CLR_EQ}}, .order = WORD_ADDRESS, .rows = 500},
    CLR_PATHS_END,
};

const struct clr_table clr_table_words = {
    .name = "words",
    .doc = "The saved memory from from_address up to to_address, one pointer a row.",
    .example = "SELECT * FROM words((SELECT min(address) FROM objects), (SELECT min(address) + 32 "
               "FROM objects))",
    .columns = columns,
    .paths = paths,
    .contract = -1,
    .cursor_size = sizeof(struct word_cursor),
    .start = start_words,
    .next = next_word,
};
