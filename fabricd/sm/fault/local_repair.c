/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A local repair replaces the routes over links that just failed, and brings back the routes over
 * links that came back (returned_links.c). Its time depends on the number of routes over these
 * links, and not on the size of the fabric.
 *
 * Phase "repairing" takes the repair from the contingency plans (contingency.c). If no plan is for
 * these links, the phase computes and proves a repair from the repair session
 * (apply/repair_state.c). The loop thread does this for a few links, a worker thread for more.
 * After a take-over, the phase confirms tables (confirm_tables.c). It then changes fabric and
 * tables, and publishes them. If readers still use the old fabric or tables, the change is made in
 * a new version (libfabmgr/base/pages.h). Phase "programming" (apply/program.c) sends the writes.
 *
 * If no local repair is possible, the active tables stay unchanged until a targeted sweep and an
 * engine have produced new ones.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"
#include "fabricd/sm/ha/ha.h"
#include "fabricd/sm/mcast/mcast.h"
#include "libfabmgr/fabric/condition.h"
#include "libfabmgr/repair/repair.h"

/* ---- the writes ------------------------------------------------------------------------------ */

static struct fab_plan_op op_of(struct sm *s, const struct fab_repair_delta *d, size_t i)
{
    const struct fab_repair_write *w = &d->write[i];
    uint32_t sw = sm_repair_session(s)->idmap.to_current[w->sw];
    return (struct fab_plan_op){
        .node = sw,
        .port = fab_fabric_port_id(s->model.fabric, sw, 0),
        .attr_id = FAB_ATTR_LFT,
        .block = (uint16_t)w->block,
        .keep = w->keep,
        .drain = w->drain,
        .awaited = w->step + 1 < d->steps,
        .waits = w->step > 0,
        .barrier = i > 0 && w->step > d->write[i - 1].step,
    };
}

/* Adds LFT writes of the repair to the plan. early: true adds those writes that must be
 * acknowledged before the returned links become Active; false adds all other writes. */
static void add_tables(struct sm *s, const struct fab_repair_delta *d, bool early,
                       struct fab_plan *plan, uint32_t *count)
{
    for (size_t i = 0; i < d->writes; i++)
        if (d->write[i].early == early &&
            sm_repair_session(s)->idmap.to_current[d->write[i].sw] != FAB_NONE)
            plan->ops[(*count)++] = op_of(s, d, i);
}

int sm_repair_plan_writes(struct sm *s, const struct fab_repair_delta *d,
                          const struct fab_plan *links, struct fab_plan *ret)
{
    uint32_t up = links->stage_start[FAB_STAGE_COUNT], count = 0;
    struct fab_plan plan = {.ops = calloc(d->writes + up + 1, sizeof(*plan.ops))};
    if (!plan.ops)
        return FAB_E_NOMEM;
    for (int stage = 0; stage < FAB_STAGE_COUNT; stage++) {
        const uint32_t *start = &links->stage_start[stage];
        if (stage == FAB_STAGE_EARLY || stage == FAB_STAGE_ROUTES)
            add_tables(s, d, stage == FAB_STAGE_EARLY, &plan, &count);
        if (start[1] > start[0])
            memcpy(&plan.ops[count], &links->ops[start[0]],
                   (start[1] - start[0]) * sizeof(*plan.ops));
        count += start[1] - start[0];
        plan.stage_start[stage + 1] = count;
    }
    *ret = plan;
    return FAB_OK;
}

/* ---- the phase ------------------------------------------------------------------------------- */

static bool is_active(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->info.port_state == FAB_STATE_ACTIVE;
}

/* A switch at one end of this link is silent. Excludes all links of this switch from the snapshot,
 * if they are not yet excluded. Returns OK or NOMEM. */
static int exclude_silent(struct sm *s, const struct sm_link *c)
{
    struct fab_fabric *f = s->model.fabric;
    const uint32_t end[2] = {c->port, c->peer};
    int r = FAB_OK;
    for (int i = 0; i < 2 && r == FAB_OK; i++) {
        uint64_t guid = f->nodes[fab_fabric_port(f, end[i])->node].guid;
        if (sm_is_silent(s, guid) && fab_fabric_port(f, end[i])->peer != FAB_NONE)
            r = sm_silent_leave_out(s, f, guid);
    }
    return r;
}

/* Removes from the snapshot the links that the probe listed: those that failed, and those that
 * routes must avoid although they are up. *ret_active: how many of them had Active ports.
 * *ret_degraded: how many were degraded. Returns OK or NOMEM. */
static int cut_links(struct sm *s, uint32_t *ret_active, uint32_t *ret_degraded)
{
    struct sm_model *m = &s->model;
    const struct sm_probe *p = &s->fault->probe;
    uint32_t *port = calloc(2 * (size_t)p->count + 1, sizeof(*port));
    int r = port ? FAB_OK : FAB_E_NOMEM;
    *ret_active = *ret_degraded = 0;
    for (uint32_t i = 0; r == FAB_OK && i < p->count; i++) {
        const struct sm_link *c = &p->link[i];
        port[2 * i] = c->port;
        port[2 * i + 1] = c->peer;
        *ret_active += is_active(m->fabric, c->port) && is_active(m->fabric, c->peer);
        *ret_degraded += fab_fabric_link_is_degraded(m->fabric, c->port);
        r = c->silent     ? exclude_silent(s, c)
            : c->isolated ? sm_link_exclude(m->fabric, c->port)
                          : fab_fabric_remove_link(m->fabric, c->port);
    }
    if (r == FAB_OK && p->count > 0)
        r = sm_model_leave_links(m, port, p->count);
    free(port);
    return r;
}

static uint32_t count_degraded_gains(const struct sm *s)
{
    const struct sm_probe *p = &s->fault->probe;
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->gains; i++)
        count += fab_fabric_link_is_degraded(s->model.fabric, p->gained[i].port);
    return count;
}

static void keep_failed(struct fab_repair_idmap *c, struct sm_repair_search *x)
{
    free(c->dead);
    c->dead = x->dead;
    c->deads = x->deads;
    x->dead = NULL;
}

/* Applies the repair: changes fabric and tables, publishes them, and passes the plan of the writes
 * to phase "programming". Returns OK or NOMEM. */
static int carry_out(struct sm *s, struct sm_repair_search *x)
{
    struct fab_repair_delta *d = &x->delta;
    struct fab_plan links = {0}, plan = {0};
    uint32_t lost_active = 0, lost_degraded = 0;
    uint64_t paused = 0;
    if (s->fault->on_patch)
        s->fault->on_patch(s->fault->on_patch_ctx);
    int r = sm_model_own(&s->model);
    if (r == FAB_OK)
        r = cut_links(s, &lost_active, &lost_degraded);
    if (r == FAB_OK)
        r = sm_returns_restore(s, &links);
    if (r == FAB_OK)
        r = sm_repair_plan_writes(s, d, &links, &plan);
    if (r == FAB_OK)
        r = fab_repair_count_paused(
            sm_repair_session(s)->state,
            fab_repair_session_tables(sm_repair_session(s), s->model.target), d, &paused);
    if (r == FAB_OK)
        r = fab_repair_session_commit(sm_repair_session(s), s->model.target, d);
    if (r == FAB_OK) {
        keep_failed(&sm_repair_session(s)->idmap, x);
        const struct sm_probe *p = &s->fault->probe;
        sm_announce_repair(s, p->link, p->count, p->gained, p->gains);
        r = sm_publish_repair(s, (int64_t)s->fault->probe.gains - lost_active,
                              (int64_t)count_degraded_gains(s) - lost_degraded);
    }
    if (r == FAB_OK)
        r = sm_program_take(s, &plan);
    if (r == FAB_OK)
        sm_transition_repair(s, paused, (uint32_t)d->drained, d->steps);
    fab_plan_fini(&links);
    fab_plan_fini(&plan);
    if (r != FAB_OK) {
        sm_repair_forget(s);
        /* From now on no tables are active. Otherwise, if the snapshot lacks the failed links
         * already, a sweep would find the same fabric, and would keep the old tables. */
        sm_model_take_target(&s->model, NULL);
    }
    return r;
}

bool sm_repair_writes_fixed(struct sm *s, const struct fab_repair_delta *d)
{
    const struct fab_fabric *f = s->model.fabric;
    for (size_t i = 0; sm_silent_count(s) > 0 && i < d->writes; i++) {
        uint32_t sw = sm_repair_session(s)->idmap.to_current[d->write[i].sw];
        if (sw == FAB_NONE || !sm_is_silent(s, f->nodes[sw].guid))
            continue;
        for (uint32_t num = 1; num <= f->nodes[sw].num_ports; num++)
            if (fab_fabric_port(f, fab_fabric_port_id(f, sw, (uint8_t)num))->peer != FAB_NONE)
                return true;
    }
    return false;
}

static int enter(struct sm *s)
{
    int r = sm_repair_search_begin(s);
    return r == FAB_OK ? sm_confirm_tables_begin(s) : r;
}

static bool finished(const struct sm *s)
{
    return sm_phase_task_over(s) && sm_confirm_tables_over(s);
}

static void drop(struct sm *s)
{
    sm_confirm_tables_fini(s);
    sm_repair_search_abort(s);
}

/* Ends the round without a repair. A targeted sweep follows. The times in the record of that sweep
 * count from the trap that caused the probe, if there was one. */
static int give_up(struct sm *s, const struct sm_repair_search *x)
{
    log_info("sm", "no local repair, a targeted sweep follows: %s",
             x->why[0] ? x->why : fab_base_status_text(x->status));
    if (s->run.trap_us)
        sm_cause_carry_over(s);
    s->fault->probe.more = true;
    if (s->fault->probe.count > 0)
        sm_pace_urgent(s);
    /* After a take-over, the former master may still live behind the failed link. The heavy sweep
     * elects again before this manager writes its MasterSMLID. */
    if (sm_path_is_cut(s, sm_ha_former_master_path(s)))
        sm_request_met(s, SM_REQUEST_MASTER_LID);
    return SM_ROUND_OVER;
}

static int leave(struct sm *s)
{
    struct sm_probe *p = &s->fault->probe;
    struct sm_repair_search *x = sm_repair_search_end(s);
    if (sm_standby_unchecked(s))
        sm_confirm_tables_end(s, x);
    else if (x->status != FAB_OK && p->gains > 0 && p->count > 0)
        /* No repair was found for the failed and the returned links together. The failed links
         * interrupt traffic, so they are repaired first; a sweep brings back the returned links. */
        x = sm_repair_search_failed_only(s, x);
    if (!x)
        return FAB_E_NOMEM;
    s->run.by_contingency = x->by_contingency;
    s->run.computed_us = x->computed_us;
    s->run.proved_us = x->proved_us;
    int r;
    if (x->status == FAB_OK) {
        s->run.computed = true;
        s->run.changed.links_lost = p->count;
        s->run.changed.links_gained = p->gains;
        p->more |= x->delta.cut > 0;
        r = carry_out(s, x);
        sm_reroute_repaired(s, x->delta.lost > 0 ||
                                   (r == FAB_OK && sm_repair_writes_fixed(s, &x->delta)));
    } else
        r = give_up(s, x);
    sm_repair_search_free(x);
    return r;
}

/* After the writes of a local repair: emits events and makes the record. The view is not stored
 * now, but after the targeted sweep that checks the repair. */
static int report(struct sm *s)
{
    const struct sm_probe *p = &s->fault->probe;
    sm_report_lost_links(s, p->link, p->count);
    sm_report_gained_links(s, p->gained, p->gains);
    if (p->gains > 0)
        sm_report_gained_rates(s, p->gained, p->gains);
    for (uint32_t i = 0; i < p->gains; i++)
        sm_flap_note_up(s, &p->gained[i]);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->link[i].silent)
            /* this link needs no event, because switch-silent was emitted for all links of the
             * switch */
            continue;
        else if (p->link[i].isolated)
            sm_isolate_done(s, &p->link[i]);
        else
            sm_flap_note_down(s, s->model.fabric, &p->link[i]);
    /* after a take-over, the multicast groups are not loaded yet; the heavy sweep that follows
     * loads them */
    if (!sm_standby_unchecked(s))
        sm_multicast_repaired(s);
    sm_flap_arm(s);
    sm_report_reroute(s);
    sm_repair_prepare_memory(s);
    sm_reroute_record(s);
    return FAB_OK;
}

void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx)
{
    s->fault->on_patch = fn;
    s->fault->on_patch_ctx = ctx;
}

const struct sm_phase sm_phase_report_repair = {.name = "reporting", .enter = report};
const struct sm_phase sm_phase_repair = {.name = "repairing",
                                         .enter = enter,
                                         .next = sm_confirm_tables_next,
                                         .answer = sm_confirm_tables_answer,
                                         .finished = finished,
                                         .leave = leave,
                                         .stalled = sm_confirm_tables_stalled,
                                         .abort = drop};
