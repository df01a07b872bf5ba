/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker: one thread with a queue of jobs. The thread runs work() of a job, and then posts done()
 * of the job to the loop. A job is a whole computation, such as routing or a proof. An engine that
 * needs several threads uses the thread pool. */
#include "fabricd/loop/worker.h"

#include <pthread.h>
#include <stdlib.h>

#include "fabricd/base/thread.h"
#include "libfabmgr/base/status.h"

struct job {
    loop_fn *work, *done;
    void *ctx;
    struct job *next;
};

struct worker {
    struct loop *loop;
    const char *name; /* name of the thread */
    bool owes;        /* true: done() is called for every job, even if the job is dropped */
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t wake;
    struct job *first, *last;
    bool stop;
};

static struct job *next_job(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stop)
        pthread_cond_wait(&w->wake, &w->lock);
    struct job *job = w->stop ? NULL : w->first;
    if (job && !(w->first = job->next))
        w->last = NULL;
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void post(const struct worker *w, const struct job *job)
{
    if (w->owes)
        loop_post_done(w->loop, job->done, job->ctx);
    else
        loop_post(w->loop, job->done, job->ctx);
}

static void *run_jobs(void *ctx)
{
    struct worker *w = ctx;
    thread_set_name(w->name);
    for (struct job *job; (job = next_job(w)); free(job)) {
        job->work(job->ctx);
        post(w, job);
    }
    return NULL;
}

struct worker *worker_new(struct loop *l, const char *name, bool owes)
{
    struct worker *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->loop = l;
    w->name = name;
    w->owes = owes;
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
    for (struct job *job = w->first, *next; job; job = next) {
        next = job->next;
        if (w->owes)
            post(w, job);
        free(job);
    }
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

int worker_add(struct worker *w, loop_fn *work, loop_fn *done, void *ctx)
{
    struct job *job = malloc(sizeof(*job));
    if (!job)
        return FAB_E_NOMEM;
    *job = (struct job){.work = work, .done = done, .ctx = ctx};
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
