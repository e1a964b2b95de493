/*
 * One dump, and what has been built of it.
 *
 * Opening reads headers, notes, the descriptor and the runtime's threads, nothing that grows with
 * the heap. Parts are built when a query first needs them:
 *
 *     RUNTIME   bound at open; here only the reason why it is not there
 *     GC        segments and allocation contexts
 *     INDEX     the walk                              needs GC
 *     POSTINGS  objects by type                       needs INDEX
 *
 * A part is there or not: its problems are collected beside and join the dump's list only when it
 * is built, so that a build that was interrupted or ran out of memory can be tried again and says
 * nothing twice. A part that can never be built (a dump without its heap) keeps the reason.
 */
#include "heap/dump.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

enum { DEFAULT_THREADS_MAX = 8 };

static enum clr_status no_memory(struct clr_error *error)
{
    return clr_fail(error, CLR_NOMEM, 0, "out of memory");
}

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

unsigned clr_dump_threads(const struct clr_dump *dump)
{
    long online;
    if (dump->options.threads != 0)
        return dump->options.threads;
    online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > DEFAULT_THREADS_MAX ? DEFAULT_THREADS_MAX : (unsigned)online;
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
        status = clr_runtime_open(dump->process, descriptor, dump->problems, &dump->runtime,
                                  &reason);
    if (status == CLR_OK && dump->runtime->contract[CLR_CONTRACT_THREAD])
        status = clr_threads_read(dump->runtime, dump->problems, &dump->threads,
                                  &dump->thread_count, &reason);
    if (status == CLR_OK)
        return CLR_OK;
    if (dump->runtime && !may_pass(status)) /* only the threads are not readable */
        return CLR_OK;
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
        return no_memory(error);
    }
    status = clr_process_open(path, options ? options : &none, job, d->problems, &d->process,
                              error);
    if (status == CLR_OK)
        status = open_runtime(d, options ? options : &none, error);
    if (status == CLR_OK && clr_problems_lost(d->problems))
        status = no_memory(error);
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

void clr_dump_close(struct clr_dump *dump)
{
    if (!dump)
        return;
    if (dump->above_free)
        dump->above_free(dump->above);
    clr_heap_close(dump->heap);
    clr_gc_close(dump->gc);
    clr_free(dump->threads);
    clr_runtime_close(dump->runtime);
    clr_process_close(dump->process);
    clr_problems_destroy(dump->problems);
    clr_options_deinit(&dump->options);
    clr_free(dump);
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

static void drop_gc(struct clr_dump *dump)
{
    clr_gc_close(dump->gc);
    dump->gc = NULL;
}

static void drop_index(struct clr_dump *dump)
{
    clr_heap_close(dump->heap);
    dump->heap = NULL;
}

/* In the order in which they are built. DROP undoes a build whose problems could not be kept. */
static const struct part {
    unsigned bit, needs;
    enum clr_status (*build)(struct clr_dump *dump, struct clr_problems *problems,
                             struct clr_job *job, struct clr_error *error);
    void (*drop)(struct clr_dump *dump);
} parts[] = {
    {CLR_PART_GC, CLR_PART_RUNTIME, build_gc, drop_gc},
    {CLR_PART_INDEX, CLR_PART_GC | CLR_PART_RUNTIME, build_index, drop_index},
    {CLR_PART_POSTINGS, CLR_PART_INDEX | CLR_PART_GC | CLR_PART_RUNTIME, build_postings, NULL},
};
enum { PART_COUNT = sizeof parts / sizeof *parts };

static enum clr_status build(struct clr_dump *dump, const struct part *part, struct clr_job *job,
                             struct clr_error *error)
{
    struct clr_problems *found = clr_problems_create();
    enum clr_status status;
    if (!found)
        return no_memory(error);
    status = part->build(dump, found, job, error);
    if (status == CLR_OK && clr_problems_lost(found))
        status = no_memory(error);
    if (status == CLR_OK) {
        clr_problems_merge(dump->problems, found);
        dump->built |= part->bit;
    } else if (part->drop) {
        part->drop(dump);
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
        job->threads = clr_dump_threads(dump);
    for (size_t i = 0; i < PART_COUNT; i++)
        if (wanted & parts[i].bit)
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
