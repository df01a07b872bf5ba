/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remembers the links between switches that have been up, for the capacity floor
 * (libfabmgr/health/known.h). After each sweep that changed the snapshot, a background task adds
 * the links of the new snapshot. Neither the sweep nor a repair waits for this task.
 */
#include <stdlib.h>

#include "fabricd/base/log.h"
#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* The input and the result of the background task. No other code uses this struct while the task
 * runs. */
struct noting {
    struct fab_known *known; /* the links that were up so far; the task adds those of `fabric` */
    struct fab_fabric *fabric;
    int status;
};

static void noting_free(struct noting *n)
{
    fab_health_known_unref(n->known);
    fab_fabric_unref(n->fabric);
    free(n);
}

static void work(void *ctx, struct loop_task *t)
{
    struct noting *n = ctx;
    struct fab_known *next = NULL;
    (void)t;
    n->status = fab_health_known_next(n->known, n->fabric, &next);
    if (n->status != FAB_OK)
        return;
    fab_health_known_unref(n->known);
    n->known = next;
}

static void complain(void)
{
    log_error("sm", "out of memory: the capacity floor does not count links that fail now");
}

static void done(void *owner, void *ctx)
{
    struct sm *s = owner;
    struct noting *n = ctx;
    if (n->status == FAB_OK) {
        fab_health_known_unref(s->links->known);
        s->links->known = n->known;
        n->known = NULL;
    } else {
        complain();
    }
    noting_free(n);
    if (s->links->note_again)
        sm_known_note(s);
}

static void drop(void *owner, void *ctx)
{
    noting_free(ctx);
    if (owner)
        complain();
}

void sm_known_note(struct sm *s)
{
    static const struct loop_task_ops ops = {"noting links", work, done, drop};
    struct sm_links *l = s->links;
    l->note_again = loop_tasks_any(&l->noting);
    if (l->note_again)
        return;
    struct noting *n = calloc(1, sizeof(*n));
    if (!n) {
        complain();
        return;
    }
    n->known = fab_health_known_ref(l->known);
    n->fabric = fab_fabric_ref(s->model.fabric);
    const struct loop_task_config config = {.ops = &ops,
                                            .tasks = &l->noting,
                                            .owner = s,
                                            .ctx = n,
                                            .place = s->in.recorded ? LOOP_TASK_INLINE
                                                                    : LOOP_TASK_BACKGROUND};
    /* if the task cannot start, drop() is called and reports the error */
    (void)loop_task_start(s->in.loop, &config, NULL);
}
