/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phase "publishing" makes a view of the fabric and of the tables that the switches now hold.
 * Readers get this view, and the store saves it later. The phase also emits events about changes.
 * If a round found and changed nothing, it publishes nothing.
 *
 * A worker task compares the snapshot with the published one, and counts its nodes, ports and
 * links. The time for this grows with the size of the fabric.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/apply/state.h"
#include "fabricd/sm/mcast/mcast.h"
#include "libfabmgr/base/plural.h"

static bool has_tables(const struct fab_view *v)
{
    return v && v->target;
}

static uint64_t sent_in_round(const struct sm *s)
{
    struct fab_mads_stats stats;
    fab_mads_stats(s->mads, &stats);
    return stats.sent - s->run.sent_before;
}

/* ---- the worker task ------------------------------------------------------------------------- */

struct comparison {
    /* the published view, to which this struct holds a reference; NULL: no view is published */
    struct fab_view *view;
    /* the snapshot of `view`; NULL if `now` need not be compared: no view is published, or it has
     * the same snapshot */
    const struct fab_fabric *old;
    struct fab_fabric *now;
    struct fab_change *changes;
    size_t count;
    struct fab_census census;
    struct sm_degraded degraded; /* the degraded links of `now` */
    int status;
};

static void compare(void *ctx)
{
    struct comparison *c = ctx;
    c->status = c->old ? fab_fabric_diff(c->old, c->now, &c->changes, &c->count) : FAB_OK;
    fab_fabric_count(c->now, &c->census);
    if (c->status == FAB_OK)
        c->status = sm_degraded_list(c->now, c->census.degraded_links, &c->degraded);
}

static void comparison_free(void *ctx)
{
    struct comparison *c = ctx;
    fab_view_unref(c->view);
    fab_fabric_unref(c->now);
    free(c->changes);
    sm_degraded_fini(&c->degraded);
    free(c);
}

static void drop(struct sm *s, void *ctx)
{
    (void)s;
    comparison_free(ctx);
}

static struct comparison *comparison_new(const struct sm *s)
{
    const struct fab_view *old = s->model.view;
    struct comparison *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->now = fab_fabric_ref(s->model.fabric);
    c->view = old ? fab_view_ref(old) : NULL;
    c->old = old && old->fabric != s->model.fabric ? old->fabric : NULL;
    return c;
}

/* ---- the view -------------------------------------------------------------------------------- */

int sm_make_view(struct sm *s, struct fab_target *target, struct fab_view **ret)
{
    struct fab_policy policy;
    int r = fab_policy_copy(&s->policy, &policy);
    if (r != FAB_OK)
        return r;
    /* A view has the verdict without its witness: the view frees its verdict, but the arrays of the
     * witness belong to apply->verdict. The verdict is normally that of tables that passed their
     * proof. If table writes failed, it is that of the mixture of old and new tables that the
     * switches hold, until the next round has repeated the writes. */
    struct fab_verdict verdict = s->apply->verdict;
    verdict.witness = (struct fab_witness){.kind = FAB_OK};
    struct fab_fabric *fabric = fab_fabric_ref(s->model.fabric);
    struct fab_target *own = target ? fab_target_ref(target) : NULL;
    struct fab_view *view = fab_view_new(s->apply->generation + 1, fabric, own, &policy, &verdict);
    if (!view) {
        fab_fabric_unref(fabric);
        fab_target_unref(own);
        fab_policy_fini(&policy);
        return FAB_E_NOMEM;
    }
    view->published_us = (uint64_t)clock_unix_us();
    s->apply->generation++;
    *ret = view;
    return FAB_OK;
}

int sm_publish(struct sm *s)
{
    struct fab_view *view = NULL;
    int r = sm_make_view(s, s->model.target, &view);
    if (r != FAB_OK)
        return r;
    fab_view_unref(s->model.view);
    s->model.view = view;
    sm_reproof_published(s);
    return FAB_OK;
}

int sm_publish_verdict(struct sm *s, const struct fab_verdict *verdict)
{
    const struct fab_view *old = s->model.view;
    struct fab_policy policy;
    int r = fab_policy_copy(&old->policy, &policy);
    if (r != FAB_OK)
        return r;
    struct fab_verdict v = *verdict;
    v.witness = (struct fab_witness){.kind = FAB_OK};
    struct fab_fabric *fabric = fab_fabric_ref(old->fabric);
    struct fab_target *target = fab_target_ref(old->target);
    struct fab_view *view = fab_view_new(old->generation, fabric, target, &policy, &v);
    if (!view) {
        fab_fabric_unref(fabric);
        fab_target_unref(target);
        fab_policy_fini(&policy);
        return FAB_E_NOMEM;
    }
    view->published_us = old->published_us;
    fab_view_unref(s->model.view);
    s->model.view = view;
    return FAB_OK;
}

static int publish_to_listener(struct sm *s)
{
    int r = sm_publish(s);
    if (r == FAB_OK && s->apply->on_publish)
        s->apply->on_publish(s->apply->on_publish_ctx);
    return r;
}

/* Publishes the fabric in a view without tables. So, at the first start, operators see nodes and
 * links even if no engine supports the fabric. */
int sm_publish_fabric(struct sm *s)
{
    const struct fab_view *old = s->model.view;
    if (has_tables(old) || (old && old->fabric == s->model.fabric))
        return FAB_OK;
    struct comparison *c = comparison_new(s);
    if (!c)
        return FAB_E_NOMEM;
    compare(c);
    int r = c->status;
    if (r == FAB_OK && c->old)
        sm_report_changes(s, c->old, c->now, c->changes, c->count);
    if (r == FAB_OK)
        sm_report_degraded(s, c->now, &c->degraded);
    comparison_free(c);
    return r == FAB_OK ? publish_to_listener(s) : r;
}

static int publish(struct sm *s)
{
    int r = publish_to_listener(s);
    if (r == FAB_OK && s->in.store)
        store_put_view(s->in.store, s->model.view, s->run.round->name,
                       clock_now_us() - s->run.started_us);
    return r;
}

/* Emits the event about a reroute that changed no table. It tells the operator who requested the
 * reroute how long it took. */
static void report_unchanged_reroute(struct sm *s)
{
    s->apply->last_reroute_us = clock_now_us() - s->run.started_us;
    event_emit(s->in.bus, reroute_unchanged, .subject = "fabric",
               .duration_us = s->apply->last_reroute_us);
}

/* Emits the event about the refinement of a local repair that left out paths (reroutes.c).
 * `fabricctl status` continues to show the duration of the local repair, because the local repair
 * ended the interruption of traffic. */
static void report_refinement(struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    event_emit(s->in.bus, reroute_refined, .subject = "fabric", .reroute = s->run.follows,
               .duration_us = clock_now_us() - s->run.started_us, .blocks = p->blocks,
               .switches = p->switches, .entries = p->entries, .host_entries = p->to_ends);
}

void sm_report_reroute(struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    if (!has_tables(s->model.view) || !s->run.computed || s->run.round->whole)
        return;
    if (s->run.follows || s->run.round->engine == SM_ENGINE_IF_BETTER) {
        s->run.follows ? report_refinement(s) : sm_rebalance_report(s);
        return;
    }
    if (p->blocks == 0) {
        if (s->run.round->engine == SM_ENGINE_ANEW)
            report_unchanged_reroute(s);
        return;
    }
    uint64_t from = s->run.trap_us ? s->run.trap_us : s->run.started_us;
    s->apply->last_reroute_us = p->last_write_us - from;
    event_emit(s->in.bus, reroute_done, .subject = "fabric",
               .duration_us = s->apply->last_reroute_us,
               .since = s->run.trap_us ? "the trap" : "the start", .blocks = p->blocks,
               .switches = p->switches, .precomputed = s->run.by_contingency);
}

static void emit_sweep_done(struct sm *s)
{
    const struct fab_fabric *f = s->model.fabric;
    if (!s->run.round->whole)
        return;
    s->apply->sweeps++;
    s->apply->last_sweep_us = clock_now_us() - s->run.started_us;
    event_emit(s->in.bus, sweep_done, .subject = "fabric", .switches = f->switch_count,
               .other_nodes = f->node_count - f->switch_count, .links = f->link_count,
               .unresponsive_ports = s->model.unresponsive_count,
               .blocks = s->apply->program.blocks, .duration_us = s->apply->last_sweep_us,
               .mads = sent_in_round(s));
}

static void emit_tables_published(struct sm *s)
{
    if (!s->run.computed || s->apply->program.withheld > 0)
        return;
    event_emit(s->in.bus, tables_published, .subject = "fabric", .generation = s->apply->generation,
               .engine = s->model.target->engine, .pairs = s->apply->verdict.pairs,
               .longest_path = s->apply->verdict.longest_path, .reason = s->model.target->reason);
}

/* If this round has asked all reachable ports to register again (ClientReregister), notes this in
 * the store, so that the manager does not ask them again. A port that is unreachable now is asked
 * when it comes up. */
static void note_asked(struct sm *s)
{
    if (s->apply->asking && s->in.store)
        store_put_asked(s->in.store);
    s->apply->asking = false;
}

static void plan_retry(struct sm *s)
{
    if (s->apply->program.failed || s->apply->program.unsure)
        sm_request_retry(s);
    else
        sm_request_retry_reset(s);
}

static int enter(struct sm *s)
{
    static const struct sm_phase_work comparing = {compare, drop};
    struct comparison *c = comparison_new(s);
    return c ? sm_phase_task_begin(s, &comparing, c) : FAB_E_NOMEM;
}

/* Publishes the snapshot and the active tables. Does nothing if the view that is already published
 * has these tables, and the round found no change, computed no tables and wrote nothing. */
static int publish_changes(struct sm *s, const struct comparison *c)
{
    const struct fab_view *old = s->model.view;
    /* true: the last round was interrupted after it had changed the active tables, and before it
     * published them */
    bool others = old && old->target != s->model.target;
    if (old && !others && !c->count && !s->run.computed && !s->apply->program.writes)
        return FAB_OK;
    int r = publish(s);
    if (r == FAB_OK) {
        s->apply->census = c->census;
        s->apply->counted = s->apply->generation;
    }
    return r;
}

static int leave(struct sm *s)
{
    struct comparison *c = sm_phase_task_take(s);
    /* Evaluated here, because sm_publish may free the old view. */
    bool old_tables = has_tables(s->model.view);
    int r = c->status;
    if (r == FAB_OK && c->old)
        sm_report_changes(s, c->old, c->now, c->changes, c->count);
    else
        sm_reroute_changes(s, NULL, 0);
    if (r == FAB_OK)
        sm_report_degraded(s, c->now, &c->degraded);
    sm_report_reroute(s);
    if (r == FAB_OK)
        r = publish_changes(s, c);
    loop_discard(s->in.loop, comparison_free, c);
    if (r != FAB_OK)
        return r;
    if (old_tables)
        sm_reroute_record(s);
    emit_tables_published(s);
    emit_sweep_done(s);
    plan_retry(s);
    note_asked(s);
    sm_port_recheck(s);
    sm_isolate_settle(s);
    sm_silent_settle(s);
    sm_multicast_changed(s);
    return FAB_OK;
}

const struct sm_phase sm_phase_publish = {.name = "publishing",
                                          .enter = enter,
                                          .finished = sm_phase_task_over,
                                          .leave = leave,
                                          .yields = SM_YIELDS_UNCHANGED};

int sm_publish_repair(struct sm *s, int64_t active, int64_t degraded)
{
    bool counted = s->apply->counted == s->apply->generation;
    int r = sm_publish(s);
    if (r == FAB_OK)
        sm_reproof_repaired(s);
    if (r == FAB_OK && counted) {
        s->apply->census.active_links = (uint32_t)(s->apply->census.active_links + active);
        s->apply->census.degraded_links = (uint32_t)(s->apply->census.degraded_links + degraded);
        s->apply->counted = s->apply->generation;
    }
    return r;
}

struct fab_census sm_census(struct sm *s)
{
    const struct fab_view *v = sm_shown_view(s);
    if (v && s->apply->counted != v->generation) {
        fab_fabric_count(v->fabric, &s->apply->census);
        s->apply->counted = v->generation;
    }
    return s->apply->census;
}

void sm_on_publish(struct sm *s, void (*fn)(void *ctx), void *ctx)
{
    s->apply->on_publish = fn;
    s->apply->on_publish_ctx = ctx;
}

/* ---- status, init and fini ------------------------------------------------------------------- */

void sm_apply_get_status(const struct sm *s, struct sm_status *ret)
{
    const struct sm_apply *a = s->apply;
    uint64_t at = 0, now = clock_now_us();
    ret->sweeps = a->sweeps;
    ret->last_sweep_us = a->last_sweep_us;
    ret->last_reroute_us = a->last_reroute_us;
    ret->links_lost = a->links_lost;
    ret->links_gained = a->links_gained;
    ret->reroutes = a->reroute_times;
    ret->repaired = sm_rebalance_entries(s);
    ret->rebalance_due = sm_rebalance_due(s, &at);
    ret->rebalance_in_us = at > now ? at - now : 0;
    ret->polish = sm_polish_text(s);
    ret->unapproved = a->baseline.count;
    sm_standby_get_status(s, ret);
    sm_reproof_get_status(s, &ret->proof);
    ret->waiting_names = (uint32_t)a->pins.set->waiting_count;
}

void sm_apply_reload(struct sm *s)
{
    sm_standby_reload(s);
    s->apply->adopts = false;
    s->apply->tune |= !fab_policy_same_port_settings(&s->policy, &s->in.config->policy);
}

int sm_apply_init(struct sm *s)
{
    s->apply = calloc(1, sizeof(*s->apply));
    if (!s->apply)
        return FAB_E_NOMEM;
    s->apply->generation = s->in.store ? store_last_generation(s->in.store) : 0;
    s->apply->adopts = true;
    if (s->in.store)
        store_last_engine(s->in.store, s->apply->last_engine, sizeof(s->apply->last_engine));
    s->apply->ask_first = s->in.store && !store_was_asked(s->in.store);
    int r = sm_pins_init(s);
    if (r == FAB_OK)
        r = sm_standby_init(s);
    if (r == FAB_OK)
        r = sm_announce_init(s);
    if (r == FAB_OK)
        r = sm_changed_init(s);
    sm_behind_init(s);
    if (r == FAB_OK)
        r = sm_transition_init(s);
    if (r == FAB_OK)
        r = sm_baseline_init(s);
    if (r == FAB_OK)
        r = sm_reproof_init(s);
    if (r == FAB_OK)
        r = sm_polish_init(s);
    return r == FAB_OK ? sm_rebalance_init(s) : r;
}

int sm_apply_load(struct sm *s)
{
    int r = sm_pins_load(s);
    if (r == FAB_OK)
        r = sm_baseline_load(s);
    s->apply->ask_first &= !store_was_asked(s->in.store);
    return r;
}

void sm_apply_ask(struct sm *s)
{
    s->apply->ask = true;
}

void sm_apply_inherit(struct sm *s, uint32_t former_sm_lid)
{
    s->apply->former_sm_lid = former_sm_lid;
}

void sm_apply_fini(struct sm *s)
{
    struct sm_apply *a = s->apply;
    if (!a)
        return;
    sm_standby_fini(s);
    sm_announce_fini(s);
    sm_changed_fini(s);
    sm_behind_fini(s);
    sm_rebalance_fini(s);
    sm_polish_fini(s);
    sm_dry_run_fini(s);
    sm_reproof_fini(s);
    sm_transition_fini(s);
    sm_baseline_edit_fini(s);
    sm_route_fini(s);
    sm_pins_fini(s);
    sm_baseline_fini(s);
    loop_tasks_orphan(&a->tasks);
    sm_program_fini(&a->program);
    sm_degraded_fini(&a->degraded);
    sm_repair_state_fini(s);
    fab_target_unref(a->fresh);
    fab_verify_verdict_fini(&a->verdict);
    free(a->reroutes);
    free(a->failed);
    free(a);
    s->apply = NULL;
}
