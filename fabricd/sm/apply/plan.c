/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "planning" computes on a worker thread which writes change the tables that the switches
 * hold into the new tables, and in which order. Phase "programming" sends these writes.
 *
 * Each acknowledged write changes the snapshot. If readers use the snapshot, the worker therefore
 * copies it first.
 */
#include <stdlib.h>

#include "fabricd/sm/apply/state.h"

struct planning { /* the worker task owns all members */
    struct sm_model model;
    struct fab_target *target;
    struct fab_policy policy;
    struct fab_plan_input in;
    struct fab_plan plan;
    bool copy;
    int status;
};

static void planning_free(struct planning *p)
{
    fab_plan_fini(&p->plan);
    fab_policy_fini(&p->policy);
    fab_target_unref(p->target);
    free(p);
}

static void drop(struct sm *s, void *ctx)
{
    struct planning *p = ctx;
    if (s)
        sm_model_take_back(&s->model, &p->model);
    else
        sm_model_fini(&p->model);
    planning_free(p);
}

static void work(void *ctx)
{
    struct planning *p = ctx;
    p->status = sm_model_writable(&p->model, p->copy);
    p->in.fabric = p->model.fabric;
    p->in.target = p->target;
    p->in.policy = &p->policy;
    p->in.observed = &p->model.observed;
    if (p->status == FAB_OK)
        p->status = fab_plan_make(&p->in, &p->plan);
    if (p->status == FAB_OK)
        fab_plan_vls_begin(&p->in, &p->plan, &p->model.observed);
}

static int enter(struct sm *s)
{
    static const struct sm_phase_work planning = {work, drop};
    struct planning *p = calloc(1, sizeof(*p));
    if (!p)
        return FAB_E_NOMEM;
    int r = fab_policy_copy(&s->policy, &p->policy);
    if (r != FAB_OK) {
        free(p);
        return r;
    }
    p->in = sm_program_input(s);
    p->target = fab_target_ref(s->model.target);
    p->copy = loop_tasks_any(&s->model.readers) || sm_repair_is_sealed(s) ||
              (s->model.view && s->model.view->fabric == s->model.fabric);
    sm_model_lend(&s->model, &p->model);
    return sm_phase_task_begin(s, &planning, p);
}

static int leave(struct sm *s)
{
    struct planning *p = sm_phase_task_take(s);
    int r = p->status;
    sm_model_take_back(&s->model, &p->model);
    if (r == FAB_OK)
        r = sm_program_begin(s, &p->plan);
    planning_free(p);
    return r;
}

const struct sm_phase sm_phase_plan = {
    .name = "planning", .enter = enter, .finished = sm_phase_task_over, .leave = leave};
