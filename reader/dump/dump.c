/*
 * One dump, and what has been built of it.
 *
 * Opening reads headers, notes, the descriptor and the runtime's threads, nothing that grows with
 * the heap. Parts are built when a query first needs them:
 *
 *     RUNTIME   bound at open; here only the reason why it is not there
 *     GC        segments and allocation contexts
 *     INDEX     the walk
 *     POSTINGS  objects by type
 *     HANDLES   handles and finalizer queues
 *     REFS      decoded GCDescs, dependent edges
 *     REVERSE   slots by target
 *     ROOTS     what a GC marks from
 *     REACH, DOMINATORS   over a forward graph that is built for them and dropped
 *     DOMINATED the dominator tree downwards
 *
 * The array of parts says what each needs.
 *
 * A part is there or not: its problems are collected beside and join the dump's list only when it
 * is built, so that a build that was interrupted or ran out of memory can be tried again and says
 * nothing twice. A part that can never be built (a dump without its heap) keeps the reason.
 */
#include "dump/dump.h"

#include <string.h>

#include "base/search.h"

#include "base/alloc.h"
#include "base/threads.h"
#include "runtime/loader.h"
#include "runtime/types.h"

/* Failures that would not come again if it were tried again. */
static bool may_pass(enum clr_status status)
{
    return status == CLR_NOMEM || status == CLR_CANCELLED || status == CLR_IO;
}

static enum clr_status say_again(const struct clr_error *reason, struct clr_error *error)
{
    if (error && error->code == CLR_OK)
        *error = *reason;
    return reason->code;
}

void *clr_dump_kept(const struct clr_dump *dump, clr_kept_free *free)
{
    for (size_t i = 0; i < dump->kept.count; i++)
        if (dump->kept.items[i].free == free)
            return dump->kept.items[i].data;
    return NULL;
}

enum clr_status clr_dump_keep(struct clr_dump *dump, clr_kept_free *free, size_t size, void *out,
                              struct clr_error *error)
{
    void *data = clr_dump_kept(dump, free);
    if (!data) {
        if (!CLR_ARRAY_ROOM(&dump->kept) || !(data = clr_alloc(1, size)))
            return clr_no_memory(error);
        dump->kept.items[dump->kept.count++] = (struct clr_kept){free, data};
    }
    *(void **)out = data;
    return CLR_OK;
}

/* The runtime and its threads. A failure that is about this runtime is kept, not returned. */
static enum clr_status open_runtime(struct clr_dump *dump, const struct clr_options *options,
                                    struct clr_error *error)
{
    struct clr_descriptor *descriptor = NULL;
    struct clr_error reason = {0};
    enum clr_status status =
        clr_descriptor_open(dump->process, options, dump->problems, &descriptor, &reason);
    if (status == CLR_OK)
        status =
            clr_runtime_open(dump->process, descriptor, dump->problems, &dump->runtime, &reason);
    if (status == CLR_OK && dump->runtime->contract[CLR_CONTRACT_THREAD])
        status = clr_threads_read(dump->runtime, dump->problems, &dump->threads,
                                  &dump->thread_count, &reason);
    if (status == CLR_OK)
        return CLR_OK;
    if (dump->runtime && !may_pass(status)) { /* only the threads are not readable */
        dump->no_threads = reason;
        clr_problem_of(dump->problems, CLR_ERROR, "threads", 0, true, reason.address, 0, "%s",
                       reason.text);
        return CLR_OK;
    }
    if (may_pass(status) || status == CLR_NO_RUNTIME || status == CLR_MISUSE ||
        status == CLR_NOT_FOUND)
        return say_again(&reason, error);
    dump->no_runtime = reason;
    return CLR_OK;
}

enum clr_status clr_dump_open(const char *path, struct clr_options *options, struct clr_job *job,
                              struct clr_dump **dump, struct clr_error *error)
{
    struct clr_options none = {0};
    struct clr_dump *d = clr_alloc(1, sizeof *d);
    enum clr_status status;
    *dump = NULL;
    if (!d || !(d->problems = clr_problems_create())) {
        clr_free(d);
        return clr_no_memory(error);
    }
    status =
        clr_process_open(path, options ? options : &none, job, d->problems, &d->process, error);
    if (status == CLR_OK)
        status = open_runtime(d, options ? options : &none, error);
    if (status == CLR_OK && clr_problems_lost(d->problems))
        status = clr_no_memory(error);
    if (status != CLR_OK) {
        clr_dump_close(d); /* the options are still the caller's */
        return status;
    }
    if (d->runtime)
        d->built = CLR_PART_RUNTIME;
    if (options) {
        d->options = *options;
        *options = none;
    }
    *dump = d;
    return CLR_OK;
}

/* Bytes of the segments that the headers of the core announce, saved or not. */
static uint64_t announced_bytes(const struct clr_process *process, const struct clr_gc *gc)
{
    const struct clr_region *regions;
    size_t count = clr_process_regions(process, &regions);
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t end = regions[i].start + regions[i].size;
        size_t k; /* the first segment that ends behind the region's start */
        CLR_SEARCH(k, 0, gc->segment_count, gc->segments[k].end <= regions[i].start);
        for (; k < gc->segment_count && gc->segments[k].start < end; k++) {
            const struct clr_segment *s = &gc->segments[k];
            uint64_t from = s->start > regions[i].start ? s->start : regions[i].start;
            sum += (s->end < end ? s->end : end) - from;
        }
    }
    return sum;
}

/* A core that was cut announces its heap and lacks bytes of it: what is there is served. One whose
 * writer left the heap out has a page of it here and there, where stacks point: tables of such a
 * heap would look like answers. */
static enum clr_status require_heap(const struct clr_dump *dump, struct clr_error *error)
{
    uint64_t whole = 0, announced = announced_bytes(dump->process, dump->gc);
    for (size_t i = 0; i < dump->gc->segment_count; i++)
        whole += dump->gc->segments[i].end - dump->gc->segments[i].start;
    if (dump->options.partial_heap || announced >= whole / 2)
        return CLR_OK;
    return clr_fail(
        error, CLR_FAULT, 0,
        "the heap is not in the dump: it has %llu of %llu bytes; take one with the heap "
        "(createdump --withheap, dotnet-dump collect --type Heap), or attach with "
        "option 'partial_heap' to see what there is",
        (unsigned long long)announced, (unsigned long long)whole);
}

static enum clr_status build_gc(struct clr_dump *dump, struct clr_problems *problems,
                                struct clr_job *job, struct clr_error *error)
{
    (void)job;
    if (dump->no_gc.code != CLR_OK)
        return say_again(&dump->no_gc, error);
    struct clr_error reason = {0};
    enum clr_status status = clr_gc_open(dump->runtime, problems, &dump->gc, &reason);
    if (status == CLR_OK)
        status = require_heap(dump, &reason);
    if (status == CLR_OK)
        return CLR_OK;
    if (!may_pass(status)) {
        dump->no_gc = reason;
        clr_problems_merge(dump->problems, problems);
    }
    return say_again(&reason, error);
}

static enum clr_status build_index(struct clr_dump *dump, struct clr_problems *problems,
                                   struct clr_job *job, struct clr_error *error)
{
    CLR_TRY(clr_process_check(dump->process, error));
    return clr_heap_walk(dump->runtime, dump->gc, problems, job, &dump->heap, error);
}

static enum clr_status build_postings(struct clr_dump *dump, struct clr_problems *problems,
                                      struct clr_job *job, struct clr_error *error)
{
    (void)problems;
    return clr_heap_postings_build(dump->heap, job, error);
}

/* What this runtime does not describe is a problem, and the parts above do without. */
static enum clr_status build_handles(struct clr_dump *dump, struct clr_problems *problems,
                                     struct clr_job *job, struct clr_error *error)
{
    struct clr_error reason = {0};
    (void)job;
    enum clr_status status = clr_handles_read(dump->runtime, dump->gc, problems, &dump->handles,
                                              &dump->handle_count, &reason);
    if (may_pass(status))
        return say_again(&reason, error);
    if (status != CLR_OK) {
        dump->no_handles = reason;
        clr_problem_of(problems, CLR_ERROR, "handles", 0, true, reason.address, 0, "%s",
                       reason.text);
    }
    clr_error_clear(&reason);
    status = clr_finalizers_read(dump->runtime, dump->gc, problems, &dump->finalizers,
                                 &dump->finalizer_count, &reason);
    if (may_pass(status))
        return say_again(&reason, error);
    if (status != CLR_OK) {
        dump->no_finalizers = reason;
        clr_problem_of(problems, CLR_ERROR, "finalizer_queue", 0, true, reason.address, 0, "%s",
                       reason.text);
    }
    return CLR_OK;
}

static enum clr_status build_refs(struct clr_dump *dump, struct clr_problems *problems,
                                  struct clr_job *job, struct clr_error *error)
{
    return clr_ref_map_create(dump->heap, dump->runtime, dump->gc, dump->handles,
                              dump->handle_count, problems, job, &dump->refs, error);
}

/* Straight into the dump's list, which has each once, whichever part finds it first. */
static void report_invalid(struct clr_dump *dump, const struct clr_invalid_refs *invalid)
{
    for (size_t i = 0; i < invalid->rows.count; i++) {
        const struct clr_invalid_ref *row = &invalid->rows.items[i];
        clr_dump_invalid_ref(dump, row->slot, row->value, row->length);
    }
}

static enum clr_status build_links(struct clr_dump *dump, struct clr_problems *problems,
                                   struct clr_job *job, struct clr_error *error)
{
    (void)problems;
    CLR_TRY(clr_links_build(dump->refs, job, &dump->links, error));
    report_invalid(dump, &dump->links->invalid);
    dump->refs_read = true;
    return CLR_OK;
}

static enum clr_status build_roots(struct clr_dump *dump, struct clr_problems *problems,
                                   struct clr_job *job, struct clr_error *error)
{
    struct clr_root_sources sources = {.runtime = dump->runtime,
                                       .heap = dump->heap,
                                       .gc = dump->gc,
                                       .threads = dump->threads,
                                       .thread_count = dump->thread_count,
                                       .handles = dump->handles,
                                       .handle_count = dump->handle_count,
                                       .finalizers = dump->finalizers,
                                       .finalizer_count = dump->finalizer_count,
                                       .no_conservative = dump->options.no_conservative_roots,
                                       .problems = problems};
    return clr_roots_read(&sources, job, &dump->roots, error);
}

static enum clr_status build_forward(struct clr_dump *dump, enum clr_with_slots with_slots,
                                     struct clr_job *job, struct clr_forward **forward,
                                     struct clr_error *error)
{
    CLR_TRY(clr_forward_build(dump->refs, dump->roots->static_arrays,
                              dump->roots->static_array_count, with_slots, job, forward, error));
    report_invalid(dump, &(*forward)->invalid);
    return CLR_OK;
}

static enum clr_status build_reach(struct clr_dump *dump, struct clr_problems *problems,
                                   struct clr_job *job, struct clr_error *error)
{
    struct clr_forward *forward;
    (void)problems;
    CLR_TRY(build_forward(dump, CLR_WITH_SLOTS, job, &forward, error));
    enum clr_status status = clr_reach_build(
        forward, dump->roots->precise, dump->roots->precise_count, dump->roots->conservative,
        dump->roots->conservative_count, job, &dump->reach, error);
    clr_forward_destroy(forward);
    return status;
}

struct sizing {
    const struct clr_ref_map *refs;
    struct clr_job *job;
    enum clr_status status;
    struct clr_error *error;
};

static void fill_sizes(void *context, uint64_t *out)
{
    struct sizing *sizing = context;
    sizing->status = clr_heap_sizes(sizing->refs, sizing->job, out, sizing->error);
}

static uint32_t *numbers_of(const struct clr_root_object *roots, size_t count)
{
    uint32_t *numbers = clr_alloc(count, sizeof *numbers);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = roots[i].number;
    return numbers;
}

static enum clr_status build_dominators(struct clr_dump *dump, struct clr_problems *problems,
                                        struct clr_job *job, struct clr_error *error)
{
    struct clr_forward *forward;
    (void)problems;
    CLR_TRY(build_forward(dump, CLR_WITHOUT_SLOTS, job, &forward, error));
    uint32_t *first = numbers_of(dump->roots->precise, dump->roots->precise_count);
    uint32_t *second = numbers_of(dump->roots->conservative, dump->roots->conservative_count);
    struct clr_root_numbers roots = {first, dump->roots->precise_count, second,
                                     dump->roots->conservative_count};
    struct sizing sizing = {.refs = dump->refs, .job = job, .error = error};
    enum clr_status status = first && second
                                 ? clr_dominators_build(&forward->edges, &roots, fill_sizes,
                                                        &sizing, job, &dump->dominators, error)
                                 : clr_no_memory(error);
    if (status == CLR_OK)
        status = sizing.status; /* on failure the part is dropped again */
    clr_free(first);
    clr_free(second);
    clr_forward_destroy(forward);
    return status;
}

static enum clr_status build_dominated(struct clr_dump *dump, struct clr_problems *problems,
                                       struct clr_job *job, struct clr_error *error)
{
    (void)problems;
    return clr_dominated_build(&dump->dominators, job, &dump->dominated, error);
}

/* In the order in which they are built: what a part needs stands before it. NEEDS are those that
 * BUILD reads itself. */
static const struct part {
    unsigned bit, needs;
    enum clr_status (*build)(struct clr_dump *dump, struct clr_problems *problems,
                             struct clr_job *job, struct clr_error *error);
} parts[] = {
    {CLR_PART_GC, CLR_PART_RUNTIME, build_gc},
    {CLR_PART_INDEX, CLR_PART_GC, build_index},
    {CLR_PART_POSTINGS, CLR_PART_INDEX, build_postings},
    {CLR_PART_HANDLES, CLR_PART_GC, build_handles},
    {CLR_PART_REFS, CLR_PART_INDEX | CLR_PART_HANDLES, build_refs},
    {CLR_PART_REVERSE, CLR_PART_REFS, build_links},
    {CLR_PART_ROOTS, CLR_PART_INDEX | CLR_PART_HANDLES, build_roots},
    {CLR_PART_REACH, CLR_PART_REFS | CLR_PART_ROOTS, build_reach},
    {CLR_PART_DOMINATORS, CLR_PART_REFS | CLR_PART_ROOTS, build_dominators},
    {CLR_PART_DOMINATED, CLR_PART_DOMINATORS, build_dominated},
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

/* Frees what a part has, also after a build whose problems could not be kept. */
static void drop(struct clr_dump *dump, unsigned part)
{
    switch (part) {
    case CLR_PART_GC:
        clr_gc_close(dump->gc);
        dump->gc = NULL;
        break;
    case CLR_PART_INDEX: /* and POSTINGS */
        clr_heap_close(dump->heap);
        dump->heap = NULL;
        break;
    case CLR_PART_HANDLES:
        clr_free(dump->handles);
        clr_free(dump->finalizers);
        dump->handles = NULL;
        dump->finalizers = NULL;
        dump->handle_count = dump->finalizer_count = 0;
        break;
    case CLR_PART_REFS:
        clr_ref_map_destroy(dump->refs);
        dump->refs = NULL;
        break;
    case CLR_PART_REVERSE:
        clr_links_destroy(dump->links);
        dump->links = NULL;
        break;
    case CLR_PART_ROOTS:
        clr_roots_destroy(dump->roots);
        dump->roots = NULL;
        break;
    case CLR_PART_REACH: clr_reach_deinit(&dump->reach); break;
    case CLR_PART_DOMINATORS: clr_dominators_deinit(&dump->dominators); break;
    case CLR_PART_DOMINATED: clr_dominated_deinit(&dump->dominated); break;
    default: break;
    }
}

void clr_dump_close(struct clr_dump *dump)
{
    if (!dump)
        return;
    while (dump->kept.count > 0) {
        const struct clr_kept *kept = &dump->kept.items[--dump->kept.count];
        kept->free(kept->data);
    }
    CLR_ARRAY_FREE(&dump->kept);
    for (size_t i = PART_COUNT; i-- > 0;)
        drop(dump, parts[i].bit);
    clr_map_deinit(&dump->invalid);
    CLR_ARRAY_FREE(&dump->undecided);
    clr_free(dump->module_types);
    clr_free(dump->threads);
    clr_runtime_close(dump->runtime);
    clr_process_close(dump->process);
    clr_problems_destroy(dump->problems);
    clr_options_deinit(&dump->options);
    clr_free(dump);
}

static enum clr_status build(struct clr_dump *dump, const struct part *part, struct clr_job *job,
                             struct clr_error *error)
{
    struct clr_problems *found = clr_problems_create();
    enum clr_status status;
    if (!found)
        return clr_no_memory(error);
    status = part->build(dump, found, job, error);
    if (status == CLR_OK && clr_problems_lost(found))
        status = clr_no_memory(error);
    if (status == CLR_OK) {
        clr_problems_merge(dump->problems, found);
        dump->built |= part->bit;
    } else {
        drop(dump, part->bit);
    }
    clr_problems_destroy(found);
    return status;
}

enum clr_status clr_dump_need(struct clr_dump *dump, unsigned wanted, struct clr_job *job,
                              struct clr_error *error)
{
    struct clr_job own = {0};
    if (!job)
        job = &own;
    if (job->threads == 0)
        job->threads = clr_threads(dump->options.threads, NULL);
    for (size_t i = PART_COUNT; i-- > 0;)
        if (wanted & ~dump->built & parts[i].bit)
            wanted |= parts[i].needs;
    wanted &= ~dump->built;
    if (wanted & CLR_PART_RUNTIME)
        return say_again(&dump->no_runtime, error);
    for (size_t i = 0; i < PART_COUNT; i++)
        if (wanted & parts[i].bit) {
            CLR_TRY(build(dump, &parts[i], job, error));
            wanted &= ~parts[i].bit;
        }
    if (wanted != 0)
        return clr_fail(error, CLR_UNSUPPORTED, 0,
                        "part 0x%x of the dump's heap is not built by this version", wanted);
    return CLR_OK;
}

static void report_slot(struct clr_dump *dump, const struct clr_invalid_ref *row, bool is_dead)
{
    if (is_dead)
        clr_problem_of(dump->problems, CLR_INFO, "refs", 0, false, row->slot, dump->runtime->word,
                       "slot 0x%llx of a dead object holds 0x%llx, where no object starts (any "
                       "more): no row of refs",
                       (unsigned long long)row->slot, (unsigned long long)row->value);
    else
        clr_problem_of(dump->problems, CLR_ERROR, "refs", 0, true, row->slot, dump->runtime->word,
                       "slot 0x%llx holds 0x%llx, where no object starts: no row of refs",
                       (unsigned long long)row->slot, (unsigned long long)row->value);
}

/* Whether no part of the program can reach the object that SLOT lies in. Where roots are missing,
 * only a GC's own verdict is one. */
static bool is_in_dead(const struct clr_dump *dump, uint64_t slot, bool roots_whole)
{
    struct clr_object object;
    uint32_t number;
    return clr_object_containing(dump->heap, slot, &number) &&
           ((roots_whole && clr_reach_distance(&dump->reach, number) == CLR_UNREACHED) ||
            (clr_object_read(dump->heap, number, &object) && clr_ref_is_dead(dump->refs, &object)));
}

enum clr_status clr_dump_settle_refs(struct clr_dump *dump, struct clr_job *job,
                                     struct clr_error *error)
{
    if (dump->undecided.count == 0)
        return CLR_OK;
    CLR_TRY(clr_dump_need(dump, CLR_PART_REACH, job, error));
    bool roots_whole = true;
    for (size_t i = 0; i < clr_problems_count(dump->problems); i++) {
        const struct clr_problem *problem = clr_problems_at(dump->problems, i);
        roots_whole &= !problem->incomplete;
    }
    for (size_t i = 0; i < dump->undecided.count; i++) {
        const struct clr_invalid_ref *row = &dump->undecided.items[i];
        report_slot(dump, row, is_in_dead(dump, row->slot, roots_whole));
    }
    dump->undecided.count = 0;
    return CLR_OK;
}

void clr_dump_invalid_ref(struct clr_dump *dump, uint64_t slot, uint64_t value, uint64_t length)
{
    uint64_t known;
    if (clr_map_get(&dump->invalid, slot, &known))
        return;
    clr_map_put(&dump->invalid, slot, 1); /* without memory it may be reported twice */
    if (value != 0) {
        const struct clr_invalid_ref row = {slot, value, length};
        if (!CLR_ARRAY_ADD(&dump->undecided, row))
            report_slot(dump, &row, false);
    } else
        clr_problem_of(dump->problems, CLR_ERROR, "refs", 0, true, slot, length,
                       "references from 0x%llx on are not saved in the dump",
                       (unsigned long long)slot);
}

/* What modules' tables name, and what those lead to: a part of the list of all types. */
static enum clr_status need_module_types(struct clr_dump *dump, struct clr_error *error)
{
    const struct clr_module *const *modules;
    size_t count; /* without the list of modules there is nothing to go by */
    if (dump->module_types)
        return CLR_OK;
    CLR_TRY(clr_modules(dump->runtime, &modules, &count, error));
    return clr_types_list(NULL, dump->runtime, &dump->module_types, &dump->module_type_count,
                          error);
}

enum clr_status clr_dump_types(struct clr_dump *dump, struct clr_job *job, const uint64_t **types,
                               size_t *count, struct clr_error *error)
{
    struct clr_error reason = {0};
    CLR_TRY(clr_dump_need(dump, CLR_PART_RUNTIME, job, error));
    enum clr_status status = clr_dump_need(dump, CLR_PART_INDEX, job, &reason);
    if (status == CLR_OK)
        return clr_heap_types(dump->heap, dump->runtime, types, count, error);
    if (may_pass(status))
        return say_again(&reason, error);
    CLR_TRY(need_module_types(dump, error));
    clr_problem_once(dump->problems, CLR_WARNING, "types", false, 0, 0,
                     "types that only objects would show are not listed: %s", reason.text);
    *types = dump->module_types;
    *count = dump->module_type_count;
    return CLR_OK;
}

static bool holds_type(const uint64_t *types, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((int64_t)types[middle] < (int64_t)address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && types[low] == address;
}

/* Whether the words of a MethodTable at ADDRESS are saved and the class that they lead to is not. */
static bool lacks_class(const struct clr_runtime *runtime, uint64_t address)
{
    const struct clr_types_layout *layout = &runtime->types;
    uint64_t word, parent, back;
    if (address == 0 || (address & runtime->alignment_mask) ||
        !clr_field_word(runtime, address, layout->mt_parent, &parent) ||
        !clr_field_word(runtime, address, layout->mt_class, &word))
        return false;
    if ((word & 1) && !clr_field_word(runtime, word - 1, layout->mt_class, &word))
        return true;
    return !(word & 1) && word != 0 && !clr_field_word(runtime, word, layout->class_mt, &back);
}

/* What can be said of ADDRESS before the heap is walked; *SURE false: nothing. */
static enum clr_status find_module_type(struct clr_dump *dump, uint64_t address, bool *has,
                                        bool *sure, struct clr_error *error)
{
    struct clr_error unread = {0}; /* the list says so, if it is asked for */
    enum clr_status status = need_module_types(dump, &unread);
    if (may_pass(status))
        return say_again(&unread, error);
    *has = status == CLR_OK && holds_type(dump->module_types, dump->module_type_count, address);
    *sure =
        *has || (!clr_type_valid(dump->runtime, address) && !lacks_class(dump->runtime, address));
    return CLR_OK;
}

enum clr_status clr_dump_has_type(struct clr_dump *dump, struct clr_job *job, uint64_t address,
                                  bool *has, struct clr_error *error)
{
    const uint64_t *types;
    size_t count;
    bool sure;
    if (dump->built & CLR_PART_INDEX) {
        CLR_TRY(clr_heap_types(dump->heap, dump->runtime, &types, &count, error));
    } else {
        CLR_TRY(find_module_type(dump, address, has, &sure, error));
        if (sure)
            return CLR_OK;
        CLR_TRY(clr_dump_types(dump, job, &types, &count, error));
    }
    *has = holds_type(types, count, address);
    return CLR_OK;
}
