/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background tasks on the worker threads of the loop (task.h).
 *
 * A task is in the list of its owner from its start until its result arrives. Before an owner is
 * freed, it detaches all its tasks (loop_tasks_orphan). The loop calls `done` or `drop` for each
 * task, in loop_free at the latest, so that each ctx is freed.
 */
#include "fabricd/loop/task.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "fabricd/loop/loop.h"
#include "libfabmgr/base/status.h"

struct loop_task {
    struct loop *loop;
    /* the caller's configuration; `tasks` and `owner` in it become NULL when the owner is freed */
    struct loop_task_config config;
    struct loop_task *next; /* next task in config.tasks */
    /* value of the owner's counter (config.generation) when the task started */
    uint64_t started_at;
    atomic_bool cancelled;
};

static void unlist(struct loop_task *t)
{
    struct loop_task **at = &t->config.tasks->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
}

/* Returns true if the result is still needed: the owner exists, the task was not cancelled, and the
 * owner's counter (config.generation) is unchanged. The owner's memory must not be read after the
 * owner was freed. */
static bool is_wanted(const struct loop_task *t)
{
    const struct loop_task_config *c = &t->config;
    return c->tasks && !loop_task_is_cancelled(t) &&
           (!c->generation || *c->generation == t->started_at);
}

static void work(void *ctx)
{
    struct loop_task *t = ctx;
    t->config.ops->work(t->config.ctx, t);
}

static void finish(void *ctx)
{
    struct loop_task *t = ctx;
    const struct loop_task_config c = t->config;
    bool wanted = is_wanted(t);
    if (c.tasks) {
        unlist(t);
        if (c.ops->name)
            loop_at(t->loop, c.ops->name);
    }
    free(t);
    if (wanted)
        c.ops->done(c.owner, c.ctx);
    else
        c.ops->drop(c.owner, c.ctx);
}

static int run(struct loop_task *t)
{
    switch (t->config.place) {
    case LOOP_TASK_LONG:
        return loop_work(t->loop, work, finish, t);
    case LOOP_TASK_SHORT:
        return loop_work_short(t->loop, work, finish, t);
    case LOOP_TASK_BLOCKING:
        return loop_work_blocking(t->loop, work, finish, t);
    case LOOP_TASK_BACKGROUND:
        return loop_work_background(t->loop, work, finish, t);
    case LOOP_TASK_INLINE:
    default:
        work(t);
        finish(t);
        return FAB_OK;
    }
}

int loop_task_start(struct loop *l, const struct loop_task_config *config, struct loop_task **ret)
{
    struct loop_task *t = calloc(1, sizeof(*t));
    if (!t) {
        config->ops->drop(config->owner, config->ctx);
        return FAB_E_NOMEM;
    }
    t->loop = l;
    t->config = *config;
    t->started_at = config->generation ? *config->generation : 0;
    t->next = config->tasks->first;
    config->tasks->first = t;
    if (ret)
        *ret = config->place == LOOP_TASK_INLINE ? NULL : t;
    int r = run(t);
    if (r != FAB_OK) {
        unlist(t);
        free(t);
        if (ret)
            *ret = NULL;
        config->ops->drop(config->owner, config->ctx);
    }
    return r;
}

void loop_task_cancel(struct loop_task *t)
{
    if (t)
        atomic_store(&t->cancelled, true);
}

bool loop_task_is_cancelled(const struct loop_task *t)
{
    return atomic_load(&t->cancelled);
}

void loop_tasks_orphan(struct loop_tasks *tasks)
{
    for (struct loop_task *t = tasks->first; t; t = t->next) {
        loop_task_cancel(t);
        t->config.owner = NULL;
        t->config.tasks = NULL;
    }
    tasks->first = NULL;
}

bool loop_tasks_any(const struct loop_tasks *tasks)
{
    return tasks->first != NULL;
}
