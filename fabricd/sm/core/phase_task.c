/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs long computations of a phase on a worker thread, so that the loop can serve other requests.
 *
 * enter() of the phase starts the task, the phase is over when the task has ended, and leave()
 * takes the result. The data of the task are its own, or lent by the model (sm_model_lend).
 *
 * If the round is aborted, the worker still completes the computation. The next round begins only
 * when the task has ended and has given back what the model lent.
 */
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/status.h"

struct sm_phase_task {
    const struct sm_phase_work *work;
    void *ctx;
    /* NULL: the loop has not accepted the task yet */
    struct loop_task *task;
    /* CPU time that the worker thread has spent in the task, in nanoseconds. */
    uint64_t cpu_ns;
    /* The task has ended, and the phase can take the result. */
    bool over;
};

static void work(void *ctx, struct loop_task *task)
{
    struct sm_phase_task *t = ctx;
    uint64_t began_ns = clock_cpu_ns();
    (void)task;
    t->work->work(t->ctx);
    t->cpu_ns = clock_cpu_ns() - began_ns;
}

static void done(void *owner, void *ctx)
{
    struct sm_phase_task *t = ctx;
    t->over = true;
    sm_run_check(owner);
}

static void discard(struct sm *s, struct sm_phase_task *t)
{
    if (s)
        s->core->task = NULL;
    t->work->drop(s, t->ctx);
    free(t);
}

static void drop(void *owner, void *ctx)
{
    struct sm_phase_task *t = ctx;
    bool was_awaited = t->task != NULL;
    discard(owner, t);
    if (owner && was_awaited)
        sm_schedule(owner);
}

int sm_phase_task_begin(struct sm *s, const struct sm_phase_work *phase_work, void *ctx)
{
    static const struct loop_task_ops ops = {NULL, work, done, drop};
    struct sm_phase_task *t = malloc(sizeof(*t));
    if (!t) {
        phase_work->drop(s, ctx);
        return FAB_E_NOMEM;
    }
    *t = (struct sm_phase_task){.work = phase_work, .ctx = ctx};
    s->core->task = t;
    const struct loop_task_config config = {
        .ops = &ops, .tasks = &s->core->tasks, .owner = s, .ctx = t, .place = LOOP_TASK_SHORT};
    return loop_task_start(s->in.loop, &config, &t->task);
}

bool sm_phase_task_any(const struct sm *s)
{
    return s->core->task != NULL;
}

bool sm_phase_task_over(const struct sm *s)
{
    return !s->core->task || s->core->task->over;
}

void *sm_phase_task_take(struct sm *s)
{
    struct sm_phase_task *t = s->core->task;
    void *ctx = t ? t->ctx : NULL;
    if (t)
        sm_phase_time_worker(s, t->cpu_ns);
    s->core->task = NULL;
    free(t);
    return ctx;
}

void sm_phase_task_abort(struct sm *s)
{
    struct sm_phase_task *t = s->core->task;
    if (t && t->over)
        discard(s, t);
    else if (t)
        loop_task_cancel(t->task);
}

void sm_phase_task_orphan(struct sm *s)
{
    sm_phase_task_abort(s);
    loop_tasks_orphan(&s->core->tasks);
    s->core->task = NULL;
}
