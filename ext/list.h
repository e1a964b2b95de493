/*
 * The rows of tables that are lists, and the values of columns; private to the table driver.
 */
#ifndef CLR_LIST_H
#define CLR_LIST_H

#include "driver.h"
#include "lookup.h"

static inline bool clr_is_list(const struct clr_table *table)
{
    return table->list.rows != 0;
}

enum clr_status clr_list_start(const struct clr_vtab *vtab, struct clr_cursor *cursor,
                               const struct clr_query *query, struct clr_error *error);
enum clr_status clr_list_next(const struct clr_table *table, struct clr_cursor *cursor,
                              struct clr_error *error);
void clr_list_stop(struct clr_cursor *cursor);
/* The row that the cursor stands on; NULL if the list has become shorter. */
const void *clr_list_current(const struct clr_table *table, const struct clr_cursor *cursor);
/* The value of the key of that row, where it is one INTEGER column; else the number of the row. */
int64_t clr_list_rowid(const struct clr_vtab *vtab, struct clr_cursor *cursor);

/* A member that is a number. */
static inline int64_t clr_member_number(const struct clr_get *get, const void *row)
{
    const void *at = (const char *)row + get->offset;
    switch (get->kind) {
    case CLR_GET_U8: return *(const uint8_t *)at;
    case CLR_GET_U16: return *(const uint16_t *)at;
    case CLR_GET_U32: return *(const uint32_t *)at;
    case CLR_GET_I8: return *(const int8_t *)at;
    case CLR_GET_I16: return *(const int16_t *)at;
    case CLR_GET_I32: return *(const int32_t *)at;
    default: return *(const int64_t *)at;
    }
}

/* Sets the result from a row. */
enum clr_status clr_get_result(const struct clr_get *get, struct clr_cursor *cursor,
                               const void *row, sqlite3_context *context, struct clr_error *error);

#endif
