/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "planning" compares the tables that the switches hold with the new tables. On a worker
 * thread, it computes the writes for the differences, and a safe order of these writes. Phase
 * "programming" sends these writes.
 *
 * libfabmgr/transition checks whether some mixture of old and new tables has a loop or a cycle of
 * channel dependencies. If so, it divides the writes into steps, so that such a mixture cannot
 * occur. (If the new tables are a repair of the old ones, the labels of the repair may prove at
 * once that there is no such mixture.) The proof assumes that hosts use the SLs of the published
 * view. transition.c emits an event if the proof fails, or if pairs have no path during the
 * transition.
 *
 * Before the first write of tables that an engine computed, standby managers must know that the
 * tables change (announce.c).
 *
 * A fault ends the planning of a rebalance or of a reroute. The tables that were active before are
 * then restored (route.c), so that a local repair can begin at once.
 *
 * Acknowledged writes of PortInfo and SwitchInfo change the snapshot. Therefore, if readers use the
 * snapshot, the worker makes a copy for these changes.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/transition/plan_order.h"

/* The input and the result of the worker task. No other code uses this struct while the task
 * runs. */
struct planning {
    struct sm_model model;
    struct fab_target *target;
    struct fab_policy policy;
    struct fab_plan_input in;
    struct fab_plan plan;
    struct sm_excluded *excluded;
    struct fab_plan_lost *lost;
    struct fab_view *view; /* the published view; NULL: no view with tables is published */
    /* the repair that made the new tables from the old ones; empty if an engine made them */
    struct fab_repair_delta repair;
    struct fab_transition_outcome outcome;
    /* true: the labels of the repair have proved the order of the writes */
    bool by_labels;
    const struct fab_pool *pool;
    uint64_t order_us;
    atomic_bool stop; /* set by the loop thread if the plan is not needed any more */
    bool copy;
    int status;
};

static void planning_free(struct planning *p)
{
    fab_plan_fini(&p->plan);
    fab_repair_delta_fini(&p->repair);
    fab_policy_fini(&p->policy);
    if (p->view)
        fab_view_unref(p->view);
    fab_target_unref(p->target);
    free(p->excluded);
    free(p->lost);
    free(p);
}

static void drop(struct sm *s, void *ctx)
{
    struct planning *p = ctx;
    if (s)
        s->apply->planning = NULL;
    if (s) {
        sm_model_take_back(&s->model, &p->model);
        sm_route_restore(s);
    } else
        sm_model_fini(&p->model);
    planning_free(p);
}

static bool is_stopped(void *ctx)
{
    struct planning *p = ctx;
    return atomic_load(&p->stop);
}

static bool any_entry_leads_to(const struct fab_observed *o, uint32_t sw, uint8_t num)
{
    bool any = false;
    for (uint32_t lid = 0; sw < o->lft.switch_count && lid <= o->lft.top && !any; lid++)
        any = fab_plan_observed_is_known(o, sw, lid / FAB_LFT_BLOCK) &&
              fab_target_lft_at(&o->lft, sw, lid) == num;
    return any;
}

/* Returns true if an entry that a switch still holds leads over an excluded link that is up. f: the
 * snapshot to which the excluded links that are up were added again. */
static bool excluded_links_carry(const struct planning *p, const struct fab_fabric *f)
{
    bool any = false;
    for (uint32_t port = 0; f != p->model.fabric && port < f->port_count && !any; port++) {
        const struct fab_port *now = fab_fabric_port(f, port);
        any = fab_fabric_port(p->model.fabric, port)->peer != now->peer &&
              fab_fabric_isl_is_up(f, port) &&
              any_entry_leads_to(&p->model.observed, now->node, now->num);
    }
    return any;
}

/* Orders the writes, or proves that their order is safe. f: the snapshot to which the excluded
 * links that are up were added again. hosts: the SLs that hosts use. */
static int order_change(struct planning *p, const struct fab_fabric *f, const struct fab_vls *hosts)
{
    struct fab_plan_input in = p->in;
    const struct fab_transition_effort effort = {
        .pool = p->pool, .visits = SM_TRANSITION_VISITS, .stopped = is_stopped, .stopped_ctx = p};
    in.fabric = f;
    return fab_transition_order_plan(&in, hosts, &effort, &p->plan, &p->outcome);
}

/* Proves that the order of the writes is safe, or makes a safe order. There are two proofs. If the
 * new tables are a repair of the tables that the switches hold, the labels of the repair are the
 * proof. Otherwise order_change makes the proof. It must make it after a repair, too, if entries
 * still lead over excluded links (links/excluded.c) that are up: these links are dead for the
 * repair, so labels need not ascend on paths over them. Both proofs assume the SLs of the published
 * view, because hosts got path records from it; without a view, they assume the SLs of the new
 * tables. */
static int order(struct planning *p)
{
    uint64_t start = clock_now_us();
    struct fab_vls hosts = {0};
    struct fab_fabric *f = NULL;
    int r = sm_excluded_connected(p->excluded, p->model.fabric, &f);
    if (r == FAB_OK && p->view)
        r = fab_target_vls_remap(&p->view->target->vls, p->view->fabric, p->in.fabric,
                                 p->target->lids.top, &hosts);
    const struct fab_vls *used = p->view ? &hosts : &p->target->vls;
    if (r == FAB_OK)
        r = excluded_links_carry(p, f)
                ? FAB_E_NOT_FOUND
                : fab_transition_order_by_repair(&p->in, used, &p->repair, &p->plan, &p->outcome);
    p->by_labels = r == FAB_OK;
    if (r == FAB_E_NOT_FOUND)
        r = order_change(p, f, used);
    fab_target_vls_fini(&hosts);
    fab_fabric_unref(f);
    p->order_us = clock_now_us() - start;
    return r;
}

static void work(void *ctx)
{
    struct planning *p = ctx;
    p->status = sm_model_writable(&p->model, p->copy);
    p->in.fabric = p->model.fabric;
    p->in.target = p->target;
    p->in.policy = &p->policy;
    p->in.observed = &p->model.observed;
    p->in.stopped = is_stopped;
    p->in.stopped_ctx = p;
    fab_plan_observed_presume(&p->model.observed);
    if (p->status == FAB_OK)
        p->status = fab_plan_make(&p->in, &p->plan);
    if (p->status == FAB_OK)
        p->status = order(p);
    if (p->status == FAB_OK)
        fab_plan_vls_begin(&p->in, &p->plan, &p->model.observed);
}

static int enter(struct sm *s)
{
    static const struct sm_phase_work planning = {work, drop};
    struct planning *p = calloc(1, sizeof(*p));
    if (!p)
        return FAB_E_NOMEM;
    p->excluded = sm_excluded_take(s, true);
    p->in = sm_program_input(s);
    p->lost = sm_failed_lost(s, &p->in.lost_count);
    p->in.lost = p->lost;
    int r = p->excluded && p->lost ? fab_policy_copy(&s->policy, &p->policy) : FAB_E_NOMEM;
    if (r != FAB_OK) {
        free(p->excluded);
        free(p->lost);
        free(p);
        return r;
    }
    if (s->model.view && s->model.view->target)
        p->view = fab_view_ref(s->model.view);
    sm_announce_plan(s);
    sm_repair_take_last(s, &p->repair);
    p->pool = loop_thread_pool(s->in.loop);
    p->target = fab_target_ref(s->model.target);
    p->copy = loop_tasks_any(&s->model.readers) || sm_repair_is_sealed(s) ||
              (s->model.view && s->model.view->fabric == s->model.fabric);
    sm_model_lend(&s->model, &p->model);
    s->apply->planning = p;
    return sm_phase_task_begin(s, &planning, p);
}

static bool finished(const struct sm *s)
{
    return sm_phase_task_over(s) && !sm_announce_waits(s);
}

void sm_plan_stop(struct sm *s)
{
    if (s->apply->planning)
        atomic_store(&s->apply->planning->stop, true);
}

static int leave(struct sm *s)
{
    struct planning *p = sm_phase_task_take(s);
    s->apply->planning = NULL;
    bool stopped = p->status == FAB_E_BUSY;
    int r = stopped ? FAB_OK : p->status;
    sm_model_take_back(&s->model, &p->model);
    sm_route_drop_replaced(s);
    if (r == FAB_OK)
        r = sm_program_begin(s, &p->plan, p->in.ask);
    if (r == FAB_OK && stopped)
        s->apply->program.stopped = true;
    else if (r == FAB_OK)
        sm_transition_begin(s, &p->outcome, p->by_labels, p->order_us);
    planning_free(p);
    return r;
}

const struct sm_phase sm_phase_plan = {.name = "planning",
                                       .enter = enter,
                                       .finished = finished,
                                       .leave = leave,
                                       .abort = sm_plan_stop,
                                       .yields = SM_YIELDS_OPTIONAL};
