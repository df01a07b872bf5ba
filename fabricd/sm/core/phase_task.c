/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A part of a phase that takes long is computed on a worker, so that the loop answers others
 * meanwhile: a phase begins it when it is entered, is finished when it is over, and takes its
 * result when it is left. What it works on it owns, or has lent to it (sm_model_lend).
 *
 * When the round is aborted meanwhile the part goes on, since a computation cannot be taken back;
 * no other round begins before it has returned what was lent.
 */
#include <stdlib.h>

#include "fabricd/sm/private.h"

struct sm_phase_task {
    struct sm *s; /* NULL: it is gone */
    const struct sm_phase_work *part;
    void *ctx;
    bool over, dropped;
};

static void work(void *ctx)
{
    const struct sm_phase_task *a = ctx;
    a->part->work(a->ctx);
}

static void drop(struct sm *s, struct sm_phase_task *a)
{
    if (s)
        s->apart = NULL;
    a->part->drop(s, a->ctx);
    free(a);
}

static void done(void *ctx)
{
    struct sm_phase_task *a = ctx;
    struct sm *s = a->s;
    if (s && !a->dropped) {
        a->over = true;
        sm_run_check(s);
        return;
    }
    drop(s, a);
    if (s)
        sm_schedule(s);
}

int sm_phase_task_begin(struct sm *s, const struct sm_phase_work *part, void *ctx)
{
    struct sm_phase_task *a = malloc(sizeof(*a));
    if (!a) {
        part->drop(s, ctx);
        return FAB_E_NOMEM;
    }
    *a = (struct sm_phase_task){.s = s, .part = part, .ctx = ctx};
    s->apart = a;
    int r = loop_work_short(s->in.loop, work, done, a);
    if (r != FAB_OK)
        drop(s, a);
    return r;
}

bool sm_phase_task_over(const struct sm *s)
{
    return !s->apart || s->apart->over;
}

void *sm_phase_task_take(struct sm *s)
{
    struct sm_phase_task *a = s->apart;
    void *ctx = a ? a->ctx : NULL;
    s->apart = NULL;
    free(a);
    return ctx;
}

void sm_phase_task_abort(struct sm *s)
{
    if (s->apart && s->apart->over)
        drop(s, s->apart);
    else if (s->apart)
        s->apart->dropped = true;
}

void sm_phase_task_orphan(struct sm *s)
{
    sm_phase_task_abort(s);
    if (s->apart)
        s->apart->s = NULL;
    s->apart = NULL;
}
