/*
 * objects, strings: what lies on the heap, one row an object.
 *
 * Every path to objects ends in one of two streams: a scan over a range of object numbers, or a
 * list of numbers (postings of a type). Both give decoded objects in address order, in both
 * directions. A column that needs more than the decoded object reads it when it is asked for.
 */
#include <string.h>

#include "cache.h"
#include "dump/holders.h"
#include "inspect/describe.h"
#include "inspect/elements.h"
#include "results.h"
#include "runtime/object.h"

/* --- A stream of objects --------------------------------------------------------------------- */

struct stream {
    const struct clr_heap *heap;
    struct clr_object_scan scan;
    const uint32_t *numbers; /* NULL: SCAN gives the objects */
    size_t at, left;         /* of NUMBERS; AT moves down when descending */
    bool descending;
};
enum { NEAR = 8 }; /* objects */

static void stream_range(struct stream *stream, const struct clr_heap *heap, uint64_t first,
                         uint64_t end, bool descending)
{
    *stream = (struct stream){.heap = heap, .descending = descending};
    clr_object_scan_start(&stream->scan, heap, (uint32_t)first, (uint32_t)end, descending);
}

static void stream_numbers(struct stream *stream, const struct clr_heap *heap,
                           const uint32_t *numbers, size_t count, bool descending)
{
    *stream =
        (struct stream){.heap = heap, .descending = descending, .numbers = numbers, .left = count};
    static const uint32_t none;
    if (!stream->numbers)
        stream->numbers = &none;
    stream->at = descending && stream->left > 0 ? stream->left - 1 : 0;
}

static void stream_list(struct stream *stream, const struct clr_heap *heap, uint32_t shape,
                        bool descending)
{
    const uint32_t *numbers;
    size_t count = clr_heap_postings(heap, shape, &numbers);
    stream_numbers(stream, heap, numbers, count, descending);
}

/* The next object, or false at the end. */
static enum clr_status stream_next(struct stream *stream, struct clr_object *object, bool *found,
                                   struct clr_error *error)
{
    if (!stream->numbers) {
        *found = clr_object_scan_next(&stream->scan, object);
        return CLR_OK;
    }
    *found = stream->left > 0;
    if (!*found)
        return CLR_OK;
    uint32_t number = stream->numbers[stream->at];
    stream->left--;
    stream->at += stream->descending ? (size_t)-1 : 1;
    /* Stepping over a few neighbours costs less than finding the place anew. */
    struct clr_object_scan *scan = &stream->scan;
    uint64_t ahead = stream->descending ? scan->next - 1 - number : number - scan->next;
    if (!scan->heap || ahead > NEAR)
        clr_object_scan_start(scan, stream->heap, stream->descending ? 0 : number,
                              stream->descending ? number + 1 : clr_heap_count(stream->heap),
                              stream->descending);
    do {
        if (!clr_object_scan_next(scan, object))
            return clr_fail(error, CLR_BAD_DATA, clr_address(stream->heap, number),
                            "object 0x%llx is in the list of its type and not on the heap",
                            (unsigned long long)clr_address(stream->heap, number));
    } while (object->number != number);
    return CLR_OK;
}

/* The numbers of the objects that start in [low, high], as [first, end). */
static void numbers_of_range(const struct clr_heap *heap, int64_t low, int64_t high,
                             uint32_t *first, uint32_t *end)
{
    *first = *end = 0; /* no object lies above 2^63 */
    if (high < 0)
        return;
    *first = clr_number_from(heap, low < 0 ? 0 : (uint64_t)low);
    *end = clr_number_from(heap, (uint64_t)high + 1);
    if (*end < *first)
        *end = *first;
}

/* --- objects --------------------------------------------------------------------------------- */

enum object_column {
    OBJECT_ADDRESS,
    OBJECT_TYPE,
    OBJECT_TYPE_NAME,
    OBJECT_SIZE,
    OBJECT_GENERATION,
    OBJECT_HEAP,
    OBJECT_SEGMENT,
    OBJECT_IS_FREE,
    OBJECT_LENGTH,
    OBJECT_HASH_CODE,
    OBJECT_SYNC_BLOCK,
    OBJECT_TEXT,
    OBJECT_IS_REACHABLE,
    OBJECT_ROOT_DISTANCE,
    OBJECT_DOMINATOR,
    OBJECT_RETAINED_SIZE,
    OBJECT_RETAINED_COUNT,
    OBJECT_ROOT,
    OBJECT_ROOT_COUNT,
    OBJECT_CONTENT_HASH,
    OBJECT_COLUMNS
};

extern const struct clr_table clr_table_segments;

struct object_cursor {
    struct clr_cursor base;
    struct stream stream;
    const struct clr_lookup *names; /* shapes that are still to come, of one name */
    size_t name_at, names_left;
    const struct clr_shape *shapes;
    struct clr_object object;
    struct clr_header header; /* valid if HEADER_OF is the object's address */
    uint64_t header_of;
    struct clr_text text;
};

static const struct clr_column object_columns[] = {
    [OBJECT_ADDRESS] =
        CLR_COLUMN("address", CLR_NUMBER(object_cursor, object.address),
                   "Address of the object: that of its MethodTable word.", .flags = CLR_KEY),
    [OBJECT_TYPE] = CLR_COLUMN("type", CLR_NUMBER(object_cursor, object.type), "The type.",
                               .refers_to = "types.address"),
    [OBJECT_TYPE_NAME] =
        CLR_COLUMN("type_name", CLR_BY_TABLE(CLR_TEXT), "Name of the type; Free for free blocks."),
    [OBJECT_SIZE] =
        CLR_COLUMN("size", CLR_NUMBER(object_cursor, object.size),
                   "Bytes that it takes from its heap: header word included, rounded up."),
    [OBJECT_GENERATION] = CLR_COLUMN("generation", CLR_BY_TABLE(CLR_INTEGER),
                                     "0 to 2, 3 large objects, 4 pinned, 5 frozen."),
    [OBJECT_HEAP] = CLR_COLUMN("heap", CLR_BY_TABLE(CLR_INTEGER), "Number of the GC heap, from 0."),
    [OBJECT_SEGMENT] = CLR_COLUMN("segment", CLR_BY_TABLE(CLR_INTEGER), "The segment.",
                                  .refers_to = "segments.address"),
    [OBJECT_IS_FREE] =
        CLR_COLUMN("is_free", CLR_BY_TABLE(CLR_INTEGER), "1: a free block, no object."),
    [OBJECT_LENGTH] =
        CLR_COLUMN("length", CLR_BY_TABLE(CLR_INTEGER),
                   "Elements of an array, UTF-16 units of a string; NULL for others."),
    [OBJECT_HASH_CODE] = CLR_COLUMN("hash_code", CLR_BY_TABLE(CLR_INTEGER),
                                    "Its identity hash code; NULL if none was asked for."),
    [OBJECT_SYNC_BLOCK] = CLR_COLUMN("sync_block", CLR_BY_TABLE(CLR_INTEGER),
                                     "Native address of its sync block; NULL if it has none."),
    [OBJECT_TEXT] = CLR_COLUMN("text", CLR_BY_TABLE(CLR_TEXT),
                               "The object as one readable line, as clr_text(address) gives it.",
                               .flags = CLR_HIDDEN),
    [OBJECT_IS_REACHABLE] =
        CLR_COLUMN("is_reachable", CLR_BY_TABLE(CLR_INTEGER),
                   "1: references lead to it from a root; NULL for free blocks.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_REACH),
    [OBJECT_ROOT_DISTANCE] =
        CLR_COLUMN("root_distance", CLR_BY_TABLE(CLR_INTEGER),
                   "References from the nearest root, 0 if a root holds it; NULL if not reachable.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_REACH),
    [OBJECT_DOMINATOR] = CLR_COLUMN("dominator", CLR_BY_TABLE(CLR_INTEGER),
                                    "The nearest object that all paths to it go through; 0 if only "
                                    "the roots together hold it, NULL if not reachable.",
                                    .flags = CLR_HIDDEN, .needs = CLR_PART_DOMINATORS,
                                    .refers_to = "objects.address"),
    [OBJECT_RETAINED_SIZE] =
        CLR_COLUMN("retained_size", CLR_BY_TABLE(CLR_INTEGER),
                   "Bytes that would be free if it went away, its own included; NULL if not "
                   "reachable. Do not add them up: clr_sum_retained does.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_DOMINATORS),
    [OBJECT_RETAINED_COUNT] =
        CLR_COLUMN("retained_count", CLR_BY_TABLE(CLR_INTEGER),
                   "Objects that would be free with it, itself included; NULL if not reachable.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_DOMINATORS),
    [OBJECT_ROOT] =
        CLR_COLUMN("root", CLR_BY_TABLE(CLR_INTEGER),
                   "The root that its shortest path begins at, one of root_count; NULL if "
                   "not reachable.",
                   .flags = CLR_HIDDEN, .needs = CLR_PART_REACH, .refers_to = "roots.id"),
    [OBJECT_ROOT_COUNT] = CLR_COLUMN(
        "root_count", CLR_BY_TABLE(CLR_INTEGER),
        "Roots that lead to it: 1 is exact, and that root alone keeps it; more are counted up "
        "to 100, as far as a search over 131072 objects finds them; 0 if not reachable.",
        .flags = CLR_HIDDEN, .needs = CLR_PART_REACH | CLR_PART_REVERSE | CLR_PART_DOMINATED),
    [OBJECT_CONTENT_HASH] =
        CLR_COLUMN("content_hash", CLR_BY_TABLE(CLR_INTEGER),
                   "Of an array: a 64-bit hash of its elements' bytes and their number; NULL for "
                   "others. Equal arrays have equal ones, in one dump.",
                   .flags = CLR_HIDDEN),
    [OBJECT_COLUMNS] = CLR_END,
};

enum {
    OBJECTS_BY_ADDRESS,
    OBJECTS_BY_RANGE,
    OBJECTS_BY_TYPE,
    OBJECTS_BY_TYPE_NAME,
    OBJECTS_BY_SEGMENT,
    OBJECTS_BY_DOMINATOR,
    OBJECTS_SCAN
};

static enum clr_status next_object(struct clr_cursor *base, struct clr_error *error)
{
    struct object_cursor *cursor = (struct object_cursor *)base;
    bool found;
    for (;;) {
        CLR_TRY(stream_next(&cursor->stream, &cursor->object, &found, error));
        if (found || cursor->names_left == 0)
            break;
        cursor->names_left--;
        stream_list(&cursor->stream, base->dump->heap,
                    cursor->names->entries[cursor->name_at++].row, false);
    }
    base->eof = !found;
    base->rowid = (int64_t)cursor->object.address;
    return CLR_OK;
}

static enum clr_status start_objects(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct object_cursor *cursor = (struct object_cursor *)base;
    struct clr_dump *dump = base->dump;
    const struct clr_heap *heap = dump->heap;
    uint32_t first = 0, end = 0, shape;
    clr_heap_shapes(heap, &cursor->shapes);
    switch (query->path) {
    case OBJECTS_BY_ADDRESS:
        if (clr_number(heap, (uint64_t)clr_equal_int(query, 0), &first))
            end = first + 1;
        break;
    case OBJECTS_BY_RANGE: numbers_of_range(heap, query->low, query->high, &first, &end); break;
    case OBJECTS_BY_SEGMENT: {
        const void *segment;
        CLR_TRY(clr_list_row(base, &clr_table_segments, clr_equal_int(query, 0), &segment, error));
        if (segment) {
            const struct clr_segment_stats *stats = clr_heap_segment_stats(
                heap, (size_t)((const struct clr_segment *)segment - dump->gc->segments));
            first = (uint32_t)stats->first_number;
            end = (uint32_t)(stats->first_number + stats->total_count);
        }
        break;
    }
    case OBJECTS_BY_TYPE:
        if (clr_heap_shape_of(heap, (uint64_t)clr_equal_int(query, 0), &shape)) {
            stream_list(&cursor->stream, heap, shape, query->descending);
            return next_object(base, error);
        }
        break;
    case OBJECTS_BY_DOMINATOR: {
        int64_t dominator = clr_equal_int(query, 0);
        const uint32_t *numbers = NULL;
        size_t count = 0;
        if (dominator == 0)
            count = clr_dominated_by(&dump->dominated, CLR_DOMINATED_BY_ROOTS, &numbers);
        else if (clr_number(heap, (uint64_t)dominator, &first))
            count = clr_dominated_by(&dump->dominated, first + 1, &numbers);
        stream_numbers(&cursor->stream, heap, numbers, count, query->descending);
        return next_object(base, error);
    }
    case OBJECTS_BY_TYPE_NAME:
        CLR_TRY(clr_shapes_by_name(dump, base->job, &cursor->names, error));
        clr_lookup_range(cursor->names,
                         (int64_t)clr_text_key((const char *)sqlite3_value_text(query->equal[0]),
                                               (size_t)sqlite3_value_bytes(query->equal[0])),
                         &cursor->name_at, &cursor->names_left);
        break;
    default: end = clr_heap_count(heap); break;
    }
    stream_range(&cursor->stream, heap, first, end, query->descending);
    return next_object(base, error);
}

static const struct clr_header *header_of(struct object_cursor *cursor)
{
    uint64_t address = cursor->object.address;
    struct clr_dump *dump = cursor->base.dump;
    if (cursor->header_of == address)
        return &cursor->header;
    cursor->header_of = address;
    if (!clr_object_header(dump->runtime, address, &cursor->header)) {
        cursor->header = (struct clr_header){0};
        clr_problem_once(dump->problems, CLR_WARNING, "objects", false, address, 0,
                         "object 0x%llx: its header word or sync block cannot be read",
                         (unsigned long long)address);
    }
    return &cursor->header;
}

static void result_content_hash(const struct object_cursor *cursor, sqlite3_context *context)
{
    struct clr_dump *dump = cursor->base.dump;
    struct clr_array_view array;
    uint64_t hash;
    if (clr_array_open(dump, cursor->object.address, &array) && clr_array_hash(dump, &array, &hash))
        clr_result_u64(context, hash);
    else
        clr_problem_once(dump->problems, CLR_WARNING, "objects", false, cursor->object.address,
                         cursor->object.size,
                         "array 0x%llx: part of it is not saved; its content_hash is not known",
                         (unsigned long long)cursor->object.address);
}

static void result_length(struct object_cursor *cursor, const struct clr_shape *shape,
                          sqlite3_context *context)
{
    const struct clr_runtime *runtime = cursor->base.dump->runtime;
    uint64_t characters, address = cursor->object.address;
    uint32_t length;
    if (shape->is_string ? clr_object_string(runtime, address, &length, &characters)
                         : shape->is_array && clr_object_count(runtime, address, &length))
        clr_result_u64(context, length);
}

static enum clr_status result_text(struct object_cursor *cursor, sqlite3_context *context,
                                   struct clr_error *error)
{
    struct clr_cursor *base = &cursor->base;
    clr_text_clear(&cursor->text);
    CLR_TRY(clr_object_text(base->dump, base->job, cursor->object.address, &cursor->text, error));
    if (cursor->text.data)
        clr_result_copy(context, cursor->text.data, cursor->text.length);
    return CLR_OK;
}

static void finish_objects(struct clr_cursor *base)
{
    clr_text_deinit(&((struct object_cursor *)base)->text);
}

/* What the graph says of an object; nothing of a free block. */
static enum clr_status graph_column(struct clr_cursor *base, uint32_t number, int column,
                                    sqlite3_context *context, struct clr_error *error)
{
    struct clr_dump *dump = base->dump;
    const struct clr_dominators *dominators = &dump->dominators;
    const uint32_t *roots;
    uint32_t count;
    switch (column) {
    case OBJECT_ROOT:
        CLR_TRY(clr_nearest_roots(dump, base->job, &roots, error));
        if (clr_reach_distance(&dump->reach, number) != CLR_UNREACHED)
            clr_result_u64(context, roots[number]);
        break;
    case OBJECT_ROOT_COUNT:
        CLR_TRY(clr_root_count(dump, number, base->job, &count, error));
        clr_result_u64(context, count);
        break;
    case OBJECT_IS_REACHABLE:
        clr_result_bool(context, clr_reach_distance(&dump->reach, number) != CLR_UNREACHED);
        break;
    case OBJECT_ROOT_DISTANCE:
        if (clr_reach_distance(&dump->reach, number) != CLR_UNREACHED)
            clr_result_u64(context, clr_reach_distance(&dump->reach, number));
        break;
    case OBJECT_DOMINATOR:
        if (dominators->dominator[number] == CLR_DOMINATED_BY_ROOTS)
            clr_result_u64(context, 0);
        else if (dominators->dominator[number] != CLR_UNREACHED)
            clr_result_u64(context, clr_address(dump->heap, dominators->dominator[number] - 1));
        break;
    case OBJECT_RETAINED_SIZE:
        if (dominators->dominator[number] != CLR_UNREACHED)
            clr_result_u64(context, dominators->retained_size[number]);
        break;
    case OBJECT_RETAINED_COUNT:
        if (dominators->dominator[number] != CLR_UNREACHED)
            clr_result_u64(context, dominators->retained_count[number]);
        break;
    }
    return CLR_OK;
}

static enum clr_status object_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    struct object_cursor *cursor = (struct object_cursor *)base;
    const struct clr_object *object = &cursor->object;
    const struct clr_shape *shape = &cursor->shapes[object->shape];
    const struct clr_segment *segment = &base->dump->gc->segments[object->segment];
    switch (column) {
    case OBJECT_TYPE_NAME: {
        const char *name = clr_shape_name(base->dump, object->shape);
        if (!name)
            return clr_fail(error, CLR_NOMEM, 0, "out of memory");
        clr_result_static(context, name);
        break;
    }
    case OBJECT_GENERATION: {
        int generation = clr_segment_generation(segment, object->address);
        if (generation >= 0)
            sqlite3_result_int(context, generation);
        break;
    }
    case OBJECT_HEAP: clr_result_u64(context, segment->heap); break;
    case OBJECT_SEGMENT: clr_result_u64(context, segment->address); break;
    case OBJECT_IS_FREE: clr_result_bool(context, shape->is_free); break;
    case OBJECT_LENGTH:
        if (!shape->is_free)
            result_length(cursor, shape, context);
        break;
    case OBJECT_CONTENT_HASH:
        if (shape->is_array)
            result_content_hash(cursor, context);
        break;
    case OBJECT_HASH_CODE:
        if (!shape->is_free)
            clr_result_known(context, header_of(cursor)->hash);
        break;
    case OBJECT_SYNC_BLOCK:
        if (!shape->is_free)
            clr_result_known(context, header_of(cursor)->sync_block);
        break;
    case OBJECT_TEXT: return result_text(cursor, context, error);
    default:
        if (!shape->is_free)
            return graph_column(base, object->number, column, context, error);
        break;
    }
    return CLR_OK;
}

static const struct clr_path object_paths[] = {
    [OBJECTS_BY_ADDRESS] = {.key = {{OBJECT_ADDRESS, CLR_EQ}},
                            .order = OBJECT_ADDRESS,
                            .reversible = true,
                            .unique = true,
                            .rows = 1},
    [OBJECTS_BY_RANGE] = {.key = {{OBJECT_ADDRESS, CLR_RANGE}},
                          .order = OBJECT_ADDRESS,
                          .reversible = true,
                          .per_object = 1.0 / 16},
    [OBJECTS_BY_TYPE] = {.key = {{OBJECT_TYPE, CLR_EQ}},
                         .order = OBJECT_ADDRESS,
                         .reversible = true,
                         .needs = CLR_PART_POSTINGS,
                         .per_object = 1.0 / 1000},
    [OBJECTS_BY_TYPE_NAME] = {.key = {{OBJECT_TYPE_NAME, CLR_EQ}},
                              .order = -1,
                              .needs = CLR_PART_POSTINGS,
                              .per_object = 1.0 / 800},
    [OBJECTS_BY_SEGMENT] = {.key = {{OBJECT_SEGMENT, CLR_EQ}},
                            .order = OBJECT_ADDRESS,
                            .reversible = true,
                            .per_object = 1.0 / 32},
    [OBJECTS_BY_DOMINATOR] = {.key = {{OBJECT_DOMINATOR, CLR_EQ}},
                              .order = OBJECT_ADDRESS,
                              .reversible = true,
                              .needs = CLR_PART_DOMINATED,
                              .per_object = 1.0 / 2000},
    [OBJECTS_SCAN] = {.order = OBJECT_ADDRESS, .reversible = true, .per_object = 1},
    CLR_PATHS_END,
};

const struct clr_table clr_table_objects = {
    .name = "objects",
    .doc = "All objects on the heap, dead ones and free blocks too, in address order.",
    .example = "SELECT type_name, size FROM objects WHERE generation = 3 AND NOT is_free ORDER BY "
               "size DESC LIMIT 5",
    .columns = object_columns,
    .paths = object_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_OBJECT,
    .cursor_size = sizeof(struct object_cursor),
    .start = start_objects,
    .next = next_object,
    .finish = finish_objects,
    .column = object_column,
};

/* --- strings --------------------------------------------------------------------------------- */

enum string_column {
    STRING_OBJECT,
    STRING_VALUE,
    STRING_LENGTH,
    STRING_SIZE,
    STRING_CONTENT_HASH,
    STRING_COLUMNS
};

static const struct clr_column string_columns[] = {
    [STRING_OBJECT] = CLR_COLUMN("object", CLR_BY_TABLE(CLR_INTEGER), "The object.",
                                 .flags = CLR_KEY, .refers_to = "objects.address"),
    [STRING_VALUE] = CLR_COLUMN("value", CLR_BY_TABLE(CLR_TEXT),
                                "Its text as UTF-8: U+FFFD for a lone surrogate, NULs kept."),
    [STRING_LENGTH] = CLR_COLUMN("length", CLR_BY_TABLE(CLR_INTEGER), "UTF-16 units."),
    [STRING_SIZE] =
        CLR_COLUMN("size", CLR_BY_TABLE(CLR_INTEGER), "Bytes that the object takes from its heap."),
    [STRING_CONTENT_HASH] =
        CLR_COLUMN("content_hash", CLR_BY_TABLE(CLR_INTEGER),
                   "64-bit FNV-1a of the UTF-16LE bytes, signed: equal between dumps."),
    [STRING_COLUMNS] = CLR_END,
};

enum { STRINGS_BY_OBJECT, STRINGS_SCAN };

struct string_cursor {
    struct clr_cursor base;
    struct stream stream;
    const struct clr_shape *shapes;
    struct clr_object object;
    struct clr_text text;
};

static enum clr_status next_string(struct clr_cursor *base, struct clr_error *error)
{
    enum { POLL_EVERY = 4096 };
    struct string_cursor *cursor = (struct string_cursor *)base;
    bool found;
    for (uint64_t passed = 1;; passed++) {
        CLR_TRY(stream_next(&cursor->stream, &cursor->object, &found, error));
        if (!found || cursor->shapes[cursor->object.shape].is_string)
            break;
        if (passed % POLL_EVERY == 0)
            CLR_TRY(clr_job_poll(base->job, "looking for strings", cursor->object.number,
                                 clr_heap_count(base->dump->heap), error));
    }
    base->eof = !found;
    base->rowid = (int64_t)cursor->object.address;
    return CLR_OK;
}

static enum clr_status start_strings(struct clr_cursor *base, const struct clr_query *query,
                                     struct clr_error *error)
{
    struct string_cursor *cursor = (struct string_cursor *)base;
    const struct clr_heap *heap = base->dump->heap;
    uint32_t first = 0, end = 0, shape;
    clr_heap_shapes(heap, &cursor->shapes);
    if (query->path == STRINGS_BY_OBJECT) {
        if (clr_number(heap, (uint64_t)clr_equal_int(query, 0), &first))
            end = first + 1;
    } else if ((base->dump->built & CLR_PART_POSTINGS) &&
               clr_heap_shape_of(heap, base->dump->runtime->string_type, &shape)) {
        stream_list(&cursor->stream, heap, shape, query->descending);
        return next_string(base, error);
    } else {
        end = clr_heap_count(heap); /* passing over the others costs less than the postings */
    }
    stream_range(&cursor->stream, heap, first, end, query->descending);
    return next_string(base, error);
}

static void finish_strings(struct clr_cursor *base)
{
    clr_text_deinit(&((struct string_cursor *)base)->text);
}

static enum clr_status string_column(struct clr_cursor *base, int column, sqlite3_context *context,
                                     struct clr_error *error)
{
    struct string_cursor *cursor = (struct string_cursor *)base;
    struct clr_dump *dump = base->dump;
    uint64_t characters, hash, address = cursor->object.address;
    uint32_t length;
    bool known = true;
    switch (column) {
    case STRING_OBJECT: clr_result_u64(context, address); break;
    case STRING_VALUE:
        clr_text_clear(&cursor->text);
        known = clr_object_string_text(dump->runtime, address, &cursor->text);
        if (cursor->text.failed)
            return clr_fail(error, CLR_NOMEM, address, "out of memory for the string 0x%llx",
                            (unsigned long long)address);
        if (known)
            clr_result_copy(context, cursor->text.data ? cursor->text.data : "",
                            cursor->text.length);
        break;
    case STRING_LENGTH:
        known = clr_object_string(dump->runtime, address, &length, &characters);
        if (known)
            clr_result_u64(context, length);
        break;
    case STRING_SIZE: clr_result_u64(context, cursor->object.size); break;
    case STRING_CONTENT_HASH:
        known = clr_object_string_hash(dump->runtime, address, &hash);
        if (known)
            clr_result_u64(context, hash);
        break;
    }
    if (!known)
        clr_problem_once(dump->problems, CLR_WARNING, "strings", false, address,
                         cursor->object.size,
                         "string 0x%llx: part of it is not saved; its value and hash are not known",
                         (unsigned long long)address);
    return CLR_OK;
}

static const struct clr_path string_paths[] = {
    [STRINGS_BY_OBJECT] = {.key = {{STRING_OBJECT, CLR_EQ}},
                           .order = STRING_OBJECT,
                           .reversible = true,
                           .unique = true,
                           .rows = 1},
    [STRINGS_SCAN] = {.order = STRING_OBJECT, .reversible = true, .per_object = 1.0 / 8},
    CLR_PATHS_END,
};

const struct clr_table clr_table_strings = {
    .name = "strings",
    .doc = "All strings on the heap, dead ones too.",
    .example = "SELECT value, length FROM strings ORDER BY length DESC LIMIT 5",
    .columns = string_columns,
    .paths = string_paths,
    .needs = CLR_PART_INDEX,
    .contract = CLR_CONTRACT_OBJECT,
    .cursor_size = sizeof(struct string_cursor),
    .start = start_strings,
    .next = next_string,
    .finish = finish_strings,
    .column = string_column,
};
