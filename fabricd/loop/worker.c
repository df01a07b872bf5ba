/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one thread with a queue of jobs. The thread runs work() of a job, and then posts done()
 * of the job to the loop. A job is a whole computation, such as routing or a proof. An engine that
 * needs several threads uses the thread pool. */
#include "fabricd/loop/worker.h"

#include <pthread.h>
#include <stdlib.h>

#include "fabricd/base/thread.h"
#include "libfabmgr/base/status.h"

struct worker {
    struct loop *loop;
    struct worker_config config;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct loop_job *first, *last;
    bool stop;
};

struct loop_job *loop_job_new(const struct loop_job *values)
{
    struct loop_job *job = malloc(sizeof(*job));
    if (job)
        *job = *values;
    return job;
}

static struct loop_job *next_job(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stop)
        pthread_cond_wait(&w->wake, &w->lock);
    struct loop_job *job = w->stop ? NULL : w->first;
    if (job && !(w->first = job->next))
        w->last = NULL;
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void *run_jobs(void *ctx)
{
    struct worker *w = ctx;
    thread_set_name(w->config.name);
    if (w->config.background)
        thread_set_background();
    for (struct loop_job *job; (job = next_job(w)) != NULL;) {
        job->work(job->ctx);
        loop_deliver(w->loop, job);
    }
    return NULL;
}

struct worker *worker_new(struct loop *l, const struct worker_config *config)
{
    struct worker *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->loop = l;
    w->config = *config;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    if (thread_start(&w->thread, run_jobs, w)) {
        free(w);
        return NULL;
    }
    return w;
}

void worker_free(struct worker *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    for (struct loop_job *job = w->first, *next; job; job = next) {
        next = job->next;
        if (job->owed)
            loop_deliver(w->loop, job);
        else
            free(job);
    }
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx)
{
    struct loop_job *job = loop_job_new(
        &(struct loop_job){.work = work, .done = done, .ctx = ctx, .owed = w->config.owes});
    if (!job)
        return FAB_E_NOMEM;
    pthread_mutex_lock(&w->lock);
    if (w->last)
        w->last->next = job;
    else
        w->first = job;
    w->last = job;
    pthread_cond_signal(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return FAB_OK;
}
