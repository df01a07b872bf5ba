/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The subnet manager from outside: making it, starting it, asking it. What it does is in rounds.c
 * (which round comes next), run.c (how a round runs) and one file for each phase.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"

static void on_unsolicited(void *ctx, const struct transport_mad *mad)
{
    struct sm *s = ctx;
    struct fab_mad head;
    const uint8_t *data;
    size_t len;
    if (mad->qp != 0 || fab_mad_unpack(mad->bytes, mad->len, &head, &data, &len) != FAB_OK)
        return;
    if (head.mgmt_class != FAB_CLASS_SMP_LID && head.mgmt_class != FAB_CLASS_SMP_DIRECTED)
        return;
    if (head.method == FAB_METHOD_TRAP)
        sm_on_trap(s, mad, &head, data, len);
    else if (head.attr_id == FAB_ATTR_SM_INFO &&
             (head.method == FAB_METHOD_GET || head.method == FAB_METHOD_SET))
        sm_on_sminfo(s, mad, &head, data, len);
}

static int new_agent(struct sm *s)
{
    const struct config_smp *smp = &s->in.config->smp;
    uint32_t bears = s->in.transport->window_max ? s->in.transport->window_max : 16;
    uint32_t window = smp->window && smp->window < bears ? smp->window : bears;
    struct fab_mads_config config = {
        .window_start = window < 16 ? window : 16,
        .window_max = window,
        .timeout_us = (uint64_t)smp->timeout_ms * 1000,
        .retries = smp->retries,
        .tid_seed = (uint32_t)clock_now_us() ^ (uint32_t)clock_unix_us(),
    };
    int r = agent_new(s->in.loop, s->in.transport, &config, on_unsolicited, s, &s->agent);
    if (r == FAB_OK)
        s->mads = agent_mads(s->agent);
    return r;
}

/* What an earlier life left behind. */
static int load(struct sm *s)
{
    if (!s->in.store)
        return FAB_OK;
    s->generation = store_last_generation(s->in.store);
    s->ask = !store_was_asked(s->in.store);
    int r = store_load_leases(s->in.store, &s->model.leases, &s->model.lease_count);
    if (r == FAB_OK)
        r = store_load_disabled(s->in.store, &s->disabled, &s->disabled_count);
    return r;
}

int sm_new(const struct sm_input *in, struct sm **ret)
{
    struct sm *s = calloc(1, sizeof(*s));
    if (!s)
        return FAB_E_NOMEM;
    s->in = *in;
    s->started_us = clock_now_us();
    int r = fab_policy_copy(&in->config->policy, &s->policy);
    if (r == FAB_OK)
        r = load(s);
    if (r == FAB_OK)
        r = new_agent(s);
    if (r == FAB_OK)
        r = sm_run_init(s);
    if (r == FAB_OK)
        r = sm_background_init(s);
    if (r == FAB_OK)
        r = sm_ha_init(s);
    if (r == FAB_OK)
        r = sm_flap_init(s);
    if (r == FAB_OK)
        r = sm_isolate_load(s);
    if (r == FAB_OK)
        r = sm_rounds_init(s);
    if (r == FAB_OK)
        r = sm_contingency_init(s);
    if (r == FAB_OK)
        r = sm_rebalance_init(s);
    if (r == FAB_OK)
        r = sm_multicast_init(s);
    if (r != FAB_OK) {
        sm_free(s);
        return r;
    }
    *ret = s;
    return FAB_OK;
}

void sm_start(struct sm *s)
{
    if (s->in.transport->ops->set_is_sm(s->in.transport, true) != FAB_OK)
        log_warning("sm",
                    "port %s could not be marked as that of a subnet manager (IsSM); other "
                    "managers will not see us",
                    s->in.transport->name);
    else
        s->is_sm_set = true;
    sm_request_heavy(s);
    sm_schedule(s);
}

int sm_reload(struct sm *s)
{
    struct fab_policy policy;
    int r = fab_policy_copy(&s->in.config->policy, &policy);
    if (r != FAB_OK)
        return r;
    s->tune |= !fab_policy_tunes_alike(&s->policy, &policy);
    fab_policy_fini(&s->policy);
    s->policy = policy;
    s->want.sweep |= sm_background_active(s);
    sm_background_drop(s);
    s->role.priority = policy.sm_priority;
    sm_repair_forget(s);
    sm_model_take_target(&s->model, NULL);
    if (sm_run_busy(s)) { /* its plan may be of the old policy */
        sm_run_abort(s);
        sm_request_heavy(s);
    }
    s->want.reroute = true;
    sm_multicast_reload(s);
    sm_schedule(s);
    return FAB_OK;
}

static void free_phases(struct sm *s)
{
    fab_discover_free(s->discover);
    fab_fabric_unref(s->found);
    fab_plan_fini(&s->program.plan);
    free(s->program.touched);
    free(s->program.asked);
    free(s->program.written);
    fab_target_unref(s->fresh);
    fab_verify_verdict_fini(&s->verdict);
    free(s->port_op);
    free(s->silent);
    free(s->disabled);
    free(s->reroutes);
}

void sm_free(struct sm *s)
{
    if (!s)
        return;
    sm_jobs_orphan(s);
    sm_phase_task_orphan(s);
    if (s->is_sm_set)
        s->in.transport->ops->set_is_sm(s->in.transport, false);
    sm_rounds_fini(s);
    sm_rebalance_fini(s);
    sm_multicast_fini(s);
    sm_flap_fini(s);
    sm_ha_fini(s);
    sm_run_fini(s);
    sm_background_fini(s);
    agent_free(s->agent);
    free_phases(s);
    sm_contingency_fini(s);
    sm_repair_fini(s);
    sm_model_fini(&s->model);
    fab_policy_fini(&s->policy);
    free(s);
}

/* ---- asking ---- */

static const char *state_name(const struct sm *s)
{
    if (sm_run_busy(s))
        return sm_run_phase(s)->name;
    if (s->role.state == FAB_SM_MASTER &&
        (s->want.suspects.count || s->want.full || s->want.sweep || s->want.thorough.count))
        return "settling"; /* more traps are awaited before the next look */
    if (s->role.state == FAB_SM_MASTER)
        return sm_background_active(s) ? "surveying" : "idle";
    return fab_smstate_name(s->role.state);
}

void sm_get_status(const struct sm *s, struct sm_status *ret)
{
    struct fab_mads_stats stats;
    fab_mads_stats(s->mads, &stats);
    const struct fab_view *v = s->model.view;
    bool master = s->role.state == FAB_SM_MASTER;
    *ret = (struct sm_status){
        .role = s->role.state,
        .state = state_name(s),
        .generation = v ? v->generation : 0,
        .sweeps = s->sweeps,
        .last_sweep_us = s->last_sweep_us,
        .last_reroute_us = s->last_reroute_us,
        .smps_sent = stats.sent,
        .smps_retried = stats.retried,
        .smps_timed_out = stats.timed_out,
        .window = stats.window,
        .in_flight = stats.in_flight,
        .silent = s->silent_count,
        .master_guid = s->master_guid,
        .master_lid =
            master && v && v->target ? v->target->lids.base[v->fabric->self_port] : s->master_lid,
        .uptime_us = clock_now_us() - s->started_us,
        .links_held = sm_flap_held(s),
        .links_isolated = sm_isolated_count(s),
        .links_lost = s->links_lost,
        .links_gained = s->links_gained,
        .reroutes = s->reroute_times,
        .ready = sm_repair_ready(s),
    };
    snprintf(ret->alarm, sizeof(ret->alarm), "%s", s->alarm);
    uint64_t at = 0, now = clock_now_us();
    ret->repaired = sm_rebalance_entries(s);
    ret->rebalance_due = sm_rebalance_due(s, &at);
    ret->rebalance_in_us = at > now ? at - now : 0;
}

struct fab_census sm_census(struct sm *s)
{
    const struct fab_view *v = s->model.view;
    if (v && s->counted != v->generation) {
        fab_fabric_count(v->fabric, &s->census);
        s->counted = v->generation;
    }
    return s->census;
}

bool sm_is_quiet(const struct sm *s)
{
    return s->role.state == FAB_SM_MASTER && !sm_run_busy(s) && !s->want.glance.count &&
           !s->want.suspects.count && s->model.view != NULL;
}

struct fab_view *sm_view(const struct sm *s)
{
    return s->model.view ? fab_view_ref(s->model.view) : NULL;
}

void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx)
{
    s->on_patch = fn;
    s->on_patch_ctx = ctx;
}

void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx)
{
    s->on_publish = fn;
    s->on_publish_ctx = ctx;
}

void sm_on_notice(struct sm *s, sm_notice *fn, void *ctx)
{
    s->on_notice = fn;
    s->on_notice_ctx = ctx;
}

static int wait_for(struct sm *s, enum sm_round_kind kind, sm_done *done, void *ctx)
{
    if (s->role.state == FAB_SM_STANDBY || s->role.state == FAB_SM_NOT_ACTIVE)
        return FAB_E_DENIED;
    struct sm_waiter *w = malloc(sizeof(*w));
    if (!w)
        return FAB_E_NOMEM;
    *w = (struct sm_waiter){.next = s->waiters, .done = done, .ctx = ctx, .kind = kind};
    s->waiters = w;
    return FAB_OK;
}

int sm_sweep(struct sm *s, sm_done *done, void *ctx)
{
    int r = wait_for(s, SM_ROUND_HEAVY, done, ctx);
    if (r != FAB_OK)
        return r;
    sm_request_sweep(s);
    sm_schedule(s);
    return FAB_OK;
}

int sm_reroute(struct sm *s, sm_done *done, void *ctx)
{
    int r = wait_for(s, SM_ROUND_REROUTE, done, ctx);
    if (r != FAB_OK)
        return r;
    s->want.reroute = true;
    sm_schedule(s);
    return FAB_OK;
}

int sm_rebalance(struct sm *s, sm_done *done, void *ctx)
{
    int r = wait_for(s, SM_ROUND_REBALANCE, done, ctx);
    if (r != FAB_OK)
        return r;
    s->want.rebalance = s->rebalance.asked = true;
    sm_schedule(s);
    return FAB_OK;
}

void sm_forget(struct sm *s, void *ctx)
{
    for (struct sm_waiter *w = s->waiters; w; w = w->next)
        if (w->ctx == ctx)
            w->done = NULL;
    for (struct sm_port_op *op = s->want.ports; op; op = op->next)
        if (op->ctx == ctx)
            op->done = NULL;
    if (s->port_op && s->port_op->ctx == ctx)
        s->port_op->done = NULL;
}
