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
    loop_fn *work, *done;
    void *ctx;
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

static int end_job(struct held_job *job)
{
    int r = loop_post_done(job->hold->loop, job->done, job->ctx);
    loop_timer_free(job->timer);
    free(job);
    return r;
}

void hold_free(struct hold *h)
{
    for (struct held_job *job = h ? h->first : NULL, *next; job; job = next) {
        next = job->next;
        (void)end_job(job);
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
    job->work(job->ctx);
    (void)end_job(job);
}

static int wait_for(struct hold *h, uint64_t delay_us, const struct held_job *of)
{
    struct held_job *job = malloc(sizeof(*job));
    if (!job)
        return FAB_E_NOMEM;
    *job = *of;
    job->timer = loop_timer_new(h->loop, begin_job, job);
    if (!job->timer) {
        free(job);
        return FAB_E_NOMEM;
    }
    h->first = job;
    loop_timer_set(job->timer, delay_us);
    return FAB_OK;
}

int hold_add(struct hold *h, unsigned worker, loop_fn *work, loop_fn *done, void *ctx)
{
    uint64_t now = clock_now_us(), begins = now + h->delay(h->ctx);
    if (begins < h->busy_until[worker])
        begins = h->busy_until[worker];
    h->busy_until[worker] = begins;
    if (begins == now) {
        work(ctx);
        return loop_post_done(h->loop, done, ctx);
    }
    const struct held_job job = {
        .hold = h, .work = work, .done = done, .ctx = ctx, .next = h->first};
    return wait_for(h, begins - now, &job);
}
