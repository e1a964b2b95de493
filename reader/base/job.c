#include "base/job.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/threads.h"

enum { POLL_NANOSECONDS = 25000000 };

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

enum clr_status clr_job_poll(struct clr_job *job, const char *what, uint64_t done, uint64_t total,
                             struct clr_error *error)
{
    if (!job || !job->poll)
        return CLR_OK;
    uint64_t time = now();
    if (time - job->last_poll < POLL_NANOSECONDS)
        return CLR_OK;
    job->last_poll = time;
    if (job->poll(job->context, what, done, total))
        return CLR_OK;
    return clr_fail(error, CLR_CANCELLED, 0, "interrupted while %s", what);
}

unsigned clr_job_threads(const struct clr_job *job)
{
    unsigned threads = job && job->threads ? job->threads : 1;
    return threads < CLR_THREADS_MAX ? threads : CLR_THREADS_MAX;
}

struct run {
    struct clr_job *job;
    const char *what;
    size_t items;
    clr_job_item *item;
    void *context;
    atomic_size_t next, done;
    atomic_bool stop;
    pthread_mutex_t lock; /* guards failed_item, status, error */
    size_t failed_item;
    enum clr_status status;
    struct clr_error error;
};

struct worker {
    struct run *run;
    unsigned number;
    pthread_t thread;
};

static void record(struct run *run, size_t item, enum clr_status status,
                   const struct clr_error *error)
{
    pthread_mutex_lock(&run->lock);
    if (run->status == CLR_OK || item < run->failed_item) {
        run->failed_item = item;
        run->status = status;
        run->error = *error;
    }
    pthread_mutex_unlock(&run->lock);
    atomic_store(&run->stop, true);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct run *run = worker->run;
    while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
        struct clr_error error = {0};
        enum clr_status status = CLR_OK;
        if (worker->number == 0)
            status = clr_job_poll(run->job, run->what, atomic_load(&run->done), run->items, &error);
        if (status != CLR_OK) {
            record(run, 0, status, &error);
            break;
        }
        size_t item = atomic_fetch_add(&run->next, 1);
        if (item >= run->items)
            break;
        status = run->item(run->context, worker->number, item, &error);
        if (status != CLR_OK) {
            record(run, item, status, &error);
            break;
        }
        atomic_fetch_add(&run->done, 1);
    }
    return NULL;
}

enum clr_status clr_job_run(struct clr_job *job, const char *what, size_t items, clr_job_item *item,
                            void *context, struct clr_error *error)
{
    struct run run = {.job = job, .what = what, .items = items, .item = item, .context = context};
    struct worker workers[CLR_THREADS_MAX];
    unsigned wanted = clr_job_threads(job), started = 1;
    if (wanted > items)
        wanted = items ? (unsigned)items : 1;
    pthread_mutex_init(&run.lock, NULL);
    for (unsigned i = 0; i < wanted; i++)
        workers[i] = (struct worker){.run = &run, .number = i};
    while (started < wanted &&
           pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    work(&workers[0]);
    /* Worker 0 ran out of items: it keeps polling until the others are done. */
    while (!atomic_load(&run.stop) && atomic_load(&run.done) < items) {
        struct clr_error stop = {0};
        enum clr_status status = clr_job_poll(job, what, atomic_load(&run.done), items, &stop);
        if (status != CLR_OK)
            record(&run, 0, status, &stop);
        else
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    for (unsigned i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&run.lock);
    if (run.status != CLR_OK && error && error->code == CLR_OK)
        *error = run.error;
    return run.status;
}
