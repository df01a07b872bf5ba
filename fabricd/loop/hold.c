/* SPDX-License-Identifier: BSD-3-Clause */
/* Delays jobs of workers in virtual time (hold.h). */
#include "fabricd/loop/hold.h"

#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/loop/worker.h"
#include "libfabmgr/base/status.h"

struct held_job {
    struct hold *hold;
    struct loop_timer *timer;
    struct loop_job *job;
    struct held_job *next;
};

struct hold {
    struct loop *loop;
    loop_delay_fn *delay;
    void *ctx;
    struct held_job *first; /* jobs that have not begun */
    /* [worker] virtual time in us at which the last job of this worker begins */
    uint64_t busy_until[HOLD_WORKERS];
};

struct hold *hold_new(struct loop *l, loop_delay_fn *delay, void *ctx)
{
    struct hold *h = calloc(1, sizeof(*h));
    if (h)
        *h = (struct hold){.loop = l, .delay = delay, .ctx = ctx};
    return h;
}

static void end_job(struct held_job *held)
{
    loop_deliver(held->hold->loop, held->job);
    loop_timer_free(held->timer);
    free(held);
}

void hold_free(struct hold *h)
{
    for (struct held_job *job = h ? h->first : NULL, *next; job; job = next) {
        next = job->next;
        end_job(job);
    }
    free(h);
}

static void begin_job(void *ctx)
{
    struct held_job *job = ctx;
    struct held_job **at = &job->hold->first;
    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job->job->work(job->job->ctx);
    end_job(job);
}

static int wait_for(struct hold *h, uint64_t delay_us, struct loop_job *job)
{
    struct held_job *held = malloc(sizeof(*held));
    if (!held)
        return FAB_E_NOMEM;
    *held = (struct held_job){.hold = h, .job = job, .next = h->first};
    held->timer = loop_timer_new(h->loop, begin_job, held);
    if (!held->timer) {
        free(held);
        return FAB_E_NOMEM;
    }
    h->first = held;
    loop_timer_set(held->timer, delay_us);
    return FAB_OK;
}

int hold_add(struct hold *h, unsigned worker, loop_fn *work, loop_fn *done, void *ctx)
{
    uint64_t now = clock_now_us(), begins = now + h->delay(h->ctx);
    struct loop_job *job =
        loop_job_new(&(struct loop_job){.work = work, .done = done, .ctx = ctx, .owed = true});
    if (!job)
        return FAB_E_NOMEM;
    if (begins < h->busy_until[worker])
        begins = h->busy_until[worker];
    h->busy_until[worker] = begins;
    int r = FAB_OK;
    if (begins == now) {
        work(ctx);
        loop_deliver(h->loop, job);
    } else if ((r = wait_for(h, begins - now, job)) != FAB_OK)
        free(job);
    return r;
}
