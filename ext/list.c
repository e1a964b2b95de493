/*
 * Tables that are lists: values of their columns by what is declared of them, one cursor for all of them,
 * and the indexes by which it finds rows.
 *
 * A row has two numbers: that in the list, and that in the order of the key. They are the same where the
 * list is sorted and all of it is shown; else the order is an index of its own, over the key.
 *
 * An index of a column has for each value the rows in the order of the key. Texts are found by a hash:
 * SQLite looks at every row again.
 */
#include "list.h"

#include <string.h>

#include "base/alloc.h"
#include "cache.h"
#include "results.h"
#include "runtime/types.h"
#include "session.h"

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

/* --- Values ----------------------------------------------------------------------------------- */

static bool is_null(const struct clr_get *get, int64_t number)
{
    switch (get->null) {
    case CLR_ABSENT_IS_NULL: return (uint64_t)number == CLR_ABSENT;
    case CLR_ZERO_IS_NULL: return number == 0 || (uint64_t)number == CLR_ABSENT;
    case CLR_NEGATIVE_IS_NULL: return number < 0;
    default: return false;
    }
}

/* The number that an INTEGER column has; false: NULL. */
static bool get_number(const struct clr_get *get, struct clr_cursor *cursor, const void *row,
                       int64_t row_number, int64_t *number)
{
    if (get->kind == CLR_GET_ROW_NUMBER) {
        *number = row_number + get->first;
        return true;
    }
    if (get->kind == CLR_GET_NUMBER) {
        *number = (int64_t)get->number(cursor, row);
        return (uint64_t)*number != CLR_ABSENT;
    }
    *number = clr_member_number(get, row);
    if (is_null(get, *number))
        return false;
    if (get->mask != 0)
        *number = ((uint64_t)*number & get->mask) != 0;
    return true;
}

/* The text that a TEXT column has, but for CLR_GET_TEXT; NULL gives NULL. */
static enum clr_status get_text(const struct clr_get *get, struct clr_cursor *cursor,
                                const void *row, const char **result, struct clr_error *error)
{
    const char *text;
    uint64_t place;
    switch (get->kind) {
    case CLR_GET_WORD:
        text = get->word(cursor, row);
        if (text && clr_type_name_lost(text))
            return no_memory(error);
        break;
    case CLR_GET_CHARACTERS: text = (const char *)row + get->offset; break;
    case CLR_GET_POINTER:
        text = *(const char *const *)(const void *)((const char *)row + get->offset);
        break;
    default:
        place = (uint64_t)clr_member_number(get, row);
        text = place < get->word_count ? get->words[place] : NULL;
    }
    *result = text && get->null == CLR_EMPTY_IS_NULL && !*text ? NULL : text;
    return CLR_OK;
}

/* Runs the function of CLR_GET_TEXT into the cursor's text. */
static enum clr_status make_text(const struct clr_get *get, struct clr_cursor *cursor,
                                 const void *row, struct clr_error *error)
{
    clr_text_clear(&cursor->text);
    cursor->text.failed = false;
    CLR_TRY(get->text(cursor, row, &cursor->text, error));
    return cursor->text.failed ? no_memory(error) : CLR_OK;
}

enum clr_status clr_get_result(const struct clr_get *get, struct clr_cursor *cursor,
                               const void *row, sqlite3_context *context, struct clr_error *error)
{
    int64_t number;
    const char *text;
    if (get->kind == CLR_GET_VALUE)
        return get->value(cursor, row, context, error);
    if (get->type == CLR_INTEGER) {
        if (get_number(get, cursor, row, cursor->row, &number))
            sqlite3_result_int64(context, number);
    } else if (get->kind == CLR_GET_TEXT) {
        CLR_TRY(make_text(get, cursor, row, error));
        if (cursor->text.length != 0 || get->null != CLR_EMPTY_IS_NULL)
            clr_result_copy(context, cursor->text.data ? cursor->text.data : "",
                            cursor->text.length);
    } else {
        CLR_TRY(get_text(get, cursor, row, &text, error));
        if (text && get->is_foreign)
            clr_result_foreign(context, text);
        else if (text)
            sqlite3_result_text(context, text, -1,
                                get->kind == CLR_GET_CHARACTERS ? SQLITE_TRANSIENT : SQLITE_STATIC);
    }
    return CLR_OK;
}

/* What a column's row is found by in an index; *HAS false: NULL, which equals nothing. */
static enum clr_status get_key(const struct clr_get *get, struct clr_cursor *cursor,
                               const void *row, int64_t row_number, int64_t *key, bool *has,
                               struct clr_error *error)
{
    const char *text;
    *has = true;
    if (get->type == CLR_INTEGER) {
        *has = get_number(get, cursor, row, row_number, key);
    } else if (get->kind == CLR_GET_TEXT) {
        CLR_TRY(make_text(get, cursor, row, error));
        *has = cursor->text.length != 0 || get->null != CLR_EMPTY_IS_NULL;
        *key = (int64_t)clr_text_key(cursor->text.data, cursor->text.length);
    } else {
        CLR_TRY(get_text(get, cursor, row, &text, error));
        *has = text != NULL;
        if (text && get->is_foreign) { /* as clr_get_result gives it */
            clr_text_clear(&cursor->text);
            clr_text_utf8(&cursor->text, (const uint8_t *)text, strlen(text));
            if (cursor->text.failed)
                return no_memory(error);
            *key = (int64_t)clr_text_key(cursor->text.data, cursor->text.length);
        } else if (text) {
            *key = (int64_t)clr_text_key(text, strlen(text));
        }
    }
    return CLR_OK;
}

/* --- The list --------------------------------------------------------------------------------- */

static const void *list_rows(const struct clr_list *list, const struct clr_dump *dump,
                             size_t *count)
{
    if (!list->in_dump)
        return list->get(dump, count);
    const char *at = (const char *)dump;
    *count = *(const size_t *)(const void *)(at + list->count_at);
    return *(const void *const *)(const void *)(at + list->rows_at);
}

static const void *element(const struct clr_list *list, const void *rows, size_t number)
{
    size_t size = list->of_pointers ? sizeof(void *)
                  : list->read_size ? sizeof(uint64_t)
                                    : list->row_size;
    const void *at = (const char *)rows + number * size;
    return list->of_pointers ? *(const void *const *)at : at;
}

/* The number in the list of the row that is number ROW by the key. */
static size_t list_number(const struct clr_cursor *cursor, int64_t row)
{
    return cursor->order ? cursor->order->lookup.entries[row].row : (size_t)row;
}

const void *clr_list_current(const struct clr_table *table, const struct clr_cursor *cursor)
{
    const struct clr_list *list = &table->list;
    size_t count, number;
    if (list->read_size)
        return cursor->read;
    number = list_number(cursor, cursor->row);
    const void *rows = list_rows(list, cursor->dump, &count);
    return number < count ? element(list, rows, number) : NULL;
}

/* Reads the row of a key; of others it is at hand. */
static enum clr_status enter_row(const struct clr_list *list, struct clr_cursor *cursor,
                                 uint64_t key, bool *found, struct clr_error *error)
{
    memset(cursor->read, 0, list->read_size);
    return list->read(cursor, key, cursor->read, found, error);
}

static uint64_t listed_key(const struct clr_list *list, const void *rows, size_t number)
{
    return *(const uint64_t *)element(list, rows, number);
}

/* --- Indexes ---------------------------------------------------------------------------------- */

static void free_indexes(void *kept)
{
    clr_list_indexes_destroy(*(struct clr_list_index **)kept);
    clr_free(kept);
}

/* Where the indexes are kept; NULL: no memory. */
static struct clr_list_index **kept_indexes(struct clr_cursor *cursor)
{
    struct clr_list_index **first = NULL;
    if (!cursor->dump)
        return clr_session_indexes(cursor->session);
    clr_dump_keep(cursor->dump, free_indexes, sizeof *first, &first, NULL);
    return first;
}

static void release(struct clr_list_index **index)
{
    if (*index)
        (*index)->users--;
    *index = NULL;
}

/* The index of a column that holds all rows of the list. One that a shorter list left behind goes when no
 * cursor reads it. */
static struct clr_list_index *find_index(struct clr_list_index **first,
                                         const struct clr_table *table, int column, size_t count)
{
    for (struct clr_list_index **at = first; *at;) {
        struct clr_list_index *index = *at;
        if (index->table == table && index->column == column) {
            if (index->list_count == count)
                return index;
            if (index->users == 0) {
                *at = index->next;
                clr_list_index_destroy(index);
                continue;
            }
        }
        at = &index->next;
    }
    return NULL;
}

static enum clr_status fill_order(const struct clr_table *table, struct clr_cursor *cursor,
                                  const void *rows, size_t count, struct clr_lookup *lookup,
                                  struct clr_error *error)
{
    const struct clr_list *list = &table->list;
    bool keyed;
    int key = clr_single_key(table, &keyed);
    for (size_t i = 0; i < count; i++) {
        const void *row = element(list, rows, i);
        int64_t value = (int64_t)i;
        CLR_TRY(clr_job_poll(cursor->job, "sorting rows", i, count, error));
        if (list->has && !list->has(cursor->dump, row))
            continue;
        if (key != NO_COLUMN)
            get_number(&table->columns[key].get, cursor, row, (int64_t)i, &value);
        if (!clr_lookup_add(lookup, (uint64_t)value, (uint32_t)i))
            return no_memory(error);
    }
    return CLR_OK;
}

static enum clr_status fill_column(const struct clr_table *table, int column,
                                   struct clr_cursor *cursor, size_t count,
                                   struct clr_lookup *lookup, struct clr_error *error)
{
    const struct clr_list *list = &table->list;
    const char *what = list->reading ? list->reading : "indexing rows";
    size_t shown = cursor->order ? cursor->order->lookup.count : count;
    for (size_t i = 0; i < shown; i++) {
        size_t now, number = list_number(cursor, (int64_t)i);
        const void *rows = list_rows(list, cursor->dump, &now); /* a value may make the list grow */
        const void *row = list->read_size ? cursor->read : element(list, rows, number);
        int64_t key = 0;
        bool has = true;
        CLR_TRY(clr_job_poll(cursor->job, what, i, shown, error));
        if (list->read_size)
            CLR_TRY(enter_row(list, cursor, listed_key(list, rows, number), &has, error));
        if (has)
            CLR_TRY(
                get_key(&table->columns[column].get, cursor, row, (int64_t)i, &key, &has, error));
        if (has && !clr_lookup_add(lookup, (uint64_t)key, (uint32_t)i))
            return no_memory(error);
    }
    return CLR_OK;
}

/* Takes the index of COLUMN into *TAKEN, and makes it if it is not there. */
static enum clr_status take_index(const struct clr_table *table, int column,
                                  struct clr_cursor *cursor, struct clr_list_index **taken,
                                  struct clr_error *error)
{
    size_t count;
    const void *rows = list_rows(&table->list, cursor->dump, &count);
    struct clr_list_index **first = kept_indexes(cursor), *index;
    if (!first)
        return no_memory(error);
    if (*taken && (*taken)->table == table && (*taken)->column == column &&
        (*taken)->list_count == count)
        return CLR_OK;
    release(taken);
    index = find_index(first, table, column, count);
    if (!index) {
        if (count > UINT32_MAX)
            return clr_fail(error, CLR_UNSUPPORTED, 0, "%s: more rows than can be indexed: %zu",
                            table->name, count);
        if (!(index = clr_alloc(1, sizeof *index)))
            return no_memory(error);
        *index = (struct clr_list_index){.table = table, .column = column, .list_count = count};
        enum clr_status status =
            column == NO_COLUMN ? fill_order(table, cursor, rows, count, &index->lookup, error)
                                : fill_column(table, column, cursor, count, &index->lookup, error);
        if (status != CLR_OK) {
            clr_list_index_destroy(index);
            return status;
        }
        clr_lookup_sort(&index->lookup);
        index->next = *first;
        *first = index;
    }
    index->users++;
    *taken = index;
    return CLR_OK;
}

/* The order of the key, where the list does not have it by itself. */
static enum clr_status take_order(const struct clr_table *table, struct clr_cursor *cursor,
                                  struct clr_error *error)
{
    bool keyed;
    int key = clr_single_key(table, &keyed);
    bool is_sorted = table->list.is_sorted || table->list.read_size || key == NO_COLUMN ||
                     table->columns[key].get.kind == CLR_GET_ROW_NUMBER;
    if (is_sorted && !table->list.has)
        return CLR_OK;
    return take_index(table, NO_COLUMN, cursor, &cursor->order, error);
}

/* --- The cursor ------------------------------------------------------------------------------- */

static int64_t key_at(const struct clr_table *table, int key, struct clr_cursor *cursor,
                      const void *rows, int64_t row)
{
    const struct clr_list *list = &table->list;
    int64_t value = row;
    size_t number = list_number(cursor, row);
    if (cursor->order)
        return cursor->order->lookup.entries[row].key;
    if (list->read_size)
        return (int64_t)listed_key(list, rows, number);
    get_number(&table->columns[key].get, cursor, element(list, rows, number), row, &value);
    return value;
}

/* The first of COUNT rows whose key is at least VALUE. */
static int64_t lower_bound(const struct clr_table *table, int key, struct clr_cursor *cursor,
                           const void *rows, int64_t count, int64_t value)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (key_at(table, key, cursor, rows, middle) < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum clr_status clr_list_next(const struct clr_table *table, struct clr_cursor *cursor,
                              struct clr_error *error)
{
    const struct clr_list *list = &table->list;
    while (cursor->left > 0) {
        cursor->row =
            cursor->found ? (int64_t)cursor->found->lookup.entries[cursor->at].row : cursor->at;
        cursor->at += cursor->descending ? -1 : 1;
        cursor->left--;
        if (!list->read_size)
            return CLR_OK;
        size_t count, number = list_number(cursor, cursor->row);
        const void *rows = list_rows(list, cursor->dump, &count);
        bool found = number < count;
        if (found)
            CLR_TRY(enter_row(list, cursor, listed_key(list, rows, number), &found, error));
        if (found)
            return CLR_OK;
    }
    cursor->eof = true;
    return CLR_OK;
}

/* The entries of the index of COLUMN that the operand of the query finds. */
static enum clr_status find_entries(const struct clr_table *table, int column,
                                    struct clr_cursor *cursor, const struct clr_query *query,
                                    struct clr_error *error)
{
    size_t at, left;
    int64_t key = query->number[0];
    if (table->columns[column].get.type == CLR_TEXT)
        key = (int64_t)clr_text_key((const char *)sqlite3_value_text(query->equal[0]),
                                    (size_t)sqlite3_value_bytes(query->equal[0]));
    CLR_TRY(take_index(table, column, cursor, &cursor->found, error));
    clr_lookup_range(&cursor->found->lookup, key, &at, &left);
    cursor->at = (int64_t)at;
    cursor->left = (int64_t)left;
    return CLR_OK;
}

enum clr_status clr_list_start(const struct clr_vtab *vtab, struct clr_cursor *cursor,
                               const struct clr_query *query, struct clr_error *error)
{
    const struct clr_table *table = vtab->table;
    const struct clr_list *list = &table->list;
    const struct clr_key *asked = &vtab->paths[query->path].key[0];
    bool by_key = asked->op != CLR_NO_KEY && asked->column == vtab->key;
    size_t all;
    cursor->at = cursor->left = 0;
    if (by_key && asked->op == CLR_EQ && list->lists) {
        uint64_t wanted = (uint64_t)query->number[0];
        bool found = false;
        CLR_TRY(list->lists(cursor->dump, cursor->job, wanted, &found, error));
        if (found)
            CLR_TRY(enter_row(list, cursor, wanted, &found, error));
        cursor->eof = !found;
        return CLR_OK;
    }
    if (list->load)
        CLR_TRY(list->load(cursor->dump, cursor->job, error));
    CLR_TRY(take_order(table, cursor, error));
    if (asked->op == CLR_EQ && !by_key) {
        CLR_TRY(find_entries(table, asked->column, cursor, query, error));
    } else {
        release(&cursor->found);
        const void *rows = list_rows(list, cursor->dump, &all);
        int64_t count = cursor->order ? (int64_t)cursor->order->lookup.count : (int64_t)all;
        int64_t end = count;
        if (by_key) {
            int64_t low = asked->op == CLR_EQ ? query->number[0] : query->low;
            int64_t high = asked->op == CLR_EQ ? low : query->high;
            cursor->at = lower_bound(table, vtab->key, cursor, rows, count, low);
            if (high < INT64_MAX)
                end = lower_bound(table, vtab->key, cursor, rows, count, high + 1);
        }
        cursor->left = end - cursor->at;
    }
    if (cursor->descending && cursor->left > 0)
        cursor->at += cursor->left - 1;
    cursor->eof = false;
    return clr_list_next(table, cursor, error);
}

void clr_list_stop(struct clr_cursor *cursor)
{
    release(&cursor->order);
    release(&cursor->found);
}

int64_t clr_list_rowid(const struct clr_vtab *vtab, struct clr_cursor *cursor)
{
    int64_t value = cursor->row;
    const void *row = clr_list_current(vtab->table, cursor);
    if (row && vtab->key != NO_COLUMN)
        get_number(&vtab->table->columns[vtab->key].get, cursor, row, cursor->row, &value);
    return value;
}

enum clr_status clr_list_row(struct clr_cursor *cursor, const struct clr_table *table, int64_t key,
                             const void **row, struct clr_error *error)
{
    struct clr_cursor own = {.dump = cursor->dump, .job = cursor->job, .session = cursor->session};
    bool keyed;
    int column = clr_single_key(table, &keyed);
    size_t count;
    *row = NULL;
    if (table->list.load)
        CLR_TRY(table->list.load(own.dump, own.job, error));
    CLR_TRY(take_order(table, &own, error));
    const void *rows = list_rows(&table->list, own.dump, &count);
    int64_t shown = own.order ? (int64_t)own.order->lookup.count : (int64_t)count;
    int64_t at = lower_bound(table, column, &own, rows, shown, key);
    if (at < shown && key_at(table, column, &own, rows, at) == key)
        *row = element(&table->list, rows, list_number(&own, at));
    clr_list_stop(&own);
    return CLR_OK;
}
