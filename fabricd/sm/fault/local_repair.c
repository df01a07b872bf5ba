/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A local repair replaces the routes over links that just failed, and brings back the routes over
 * links that came back (returned_links.c). Its time depends on the number of routes over these
 * links, and not on the size of the fabric.
 *
 * Phase "repairing" takes the repair from the contingencies (contingency.c). If no contingency
 * fits, the phase computes and proves a repair on the loop thread, from the repair session
 * (apply/repair_state.c). The phase then changes fabric and tables, and publishes them. If readers
 * still use the fabric or the tables, it first makes new versions (libfabmgr/base/pages.h). Phase
 * "programming" (apply/program.c) sends the writes.
 *
 * If no local repair is possible, the active tables stay unchanged until a targeted sweep and an
 * engine have produced new ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/fault/state.h"
#include "fabricd/sm/mcast/mcast.h"
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

/* Adds LFT writes of the repair to the plan: if `early` is true, those that must be acknowledged
 * before links come up, otherwise all others. */
static void add_tables(struct sm *s, const struct fab_repair_delta *d, bool early,
                       struct fab_plan *plan, uint32_t *count)
{
    for (size_t i = 0; i < d->writes; i++)
        if (d->write[i].early == early &&
            sm_repair_session(s)->idmap.to_current[d->write[i].sw] != FAB_NONE)
            plan->ops[(*count)++] = op_of(s, d, i);
}

/* Makes the plan of a repair. links: the writes that bring up returned links. */
static int plan_of(struct sm *s, const struct fab_repair_delta *d, const struct fab_plan *links,
                   struct fab_plan *ret)
{
    uint32_t up = links->stage_start[FAB_STAGE_COUNT], count = 0;
    struct fab_plan plan = {.ops = calloc(d->writes + up + 1, sizeof(*plan.ops))};
    if (!plan.ops)
        return FAB_E_NOMEM;
    for (int stage = 0; stage < FAB_STAGE_COUNT; stage++) {
        const uint32_t *start = &links->stage_start[stage];
        if (stage == FAB_STAGE_STALE || stage == FAB_STAGE_ROUTES)
            add_tables(s, d, stage == FAB_STAGE_STALE, &plan, &count);
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

struct failed {
    uint32_t *port; /* port ids in the repair session */
    uint32_t count;
};

/* Lists all failed links: those around which earlier local repairs of this session route, without
 * the links that came back, and those that the last port probe found. */
static int all_failed(struct sm *s, struct failed *ret)
{
    const struct fab_repair_session *t = sm_repair_session(s);
    uint32_t before = t->idmap.deads;
    uint32_t *port = calloc((size_t)before + s->fault->probe.count + 1, sizeof(*port));
    if (!port)
        return FAB_E_NOMEM;
    uint32_t count = 0;
    for (uint32_t i = 0; i < before; i++)
        if (!sm_return_has(s, t->idmap.dead[i]))
            port[count++] = t->idmap.dead[i];
    for (uint32_t i = 0; i < s->fault->probe.count; i++)
        port[count++] = fab_repair_session_port(t, s->model.fabric, s->fault->probe.link[i].port);
    *ret = (struct failed){port, count};
    return FAB_OK;
}

static const struct fab_lft *tables(struct sm *s)
{
    return fab_repair_session_tables(sm_repair_session(s), s->model.target);
}

static int compute(struct sm *s, const struct failed *dead, struct fab_repair_delta *ret, char *why,
                   size_t why_len)
{
    int r = fab_repair_plan(sm_repair_session(s)->state, tables(s), dead->port, dead->count, ret,
                            why, why_len);
    s->run.computed_us = clock_now_us();
    return r;
}

static int prove(struct sm *s, const struct fab_repair_delta *d)
{
    struct fab_repair_change at = {0};
    int r = fab_repair_prove(sm_repair_session(s)->state, tables(s), d, &at);
    s->run.proved_us = clock_now_us();
    if (r != FAB_OK && r != FAB_E_NOMEM)
        log_error("sm", "a repair failed its proof (%s, switch %u, LID %u): not written",
                  fab_base_status_text(r), at.sw, at.lid);
    return r;
}

/* Returns whether the last hop of the directed route to the node of port `to` is the link from port
 * `from`. */
static bool leads_over(const struct sm_model *m, uint32_t from, uint32_t to)
{
    const struct fab_port *near = fab_fabric_port(m->fabric, from);
    const struct fab_path *a = &m->paths[near->node],
                          *b = &m->paths[fab_fabric_port(m->fabric, to)->node];
    return a->hops != FAB_PATH_UNKNOWN && b->hops == a->hops + 1 && b->port[b->hops] == near->num &&
           memcmp(a->port, b->port, (size_t)a->hops + 1) == 0;
}

static bool is_active(const struct fab_fabric *f, uint32_t port)
{
    return fab_fabric_port(f, port)->info.port_state == FAB_STATE_ACTIVE;
}

/* *ret_active is the number of cut links between Active ports. Returns NOMEM. */
static int cut_links(struct sm *s, uint32_t *ret_active)
{
    struct sm_model *m = &s->model;
    struct fab_path *paths = NULL;
    bool detour = false;
    int r = FAB_OK;
    *ret_active = 0;
    for (uint32_t i = 0; r == FAB_OK && i < s->fault->probe.count; i++) {
        const struct sm_link *c = &s->fault->probe.link[i];
        detour |= leads_over(m, c->port, c->peer) || leads_over(m, c->peer, c->port);
        *ret_active += is_active(m->fabric, c->port) && is_active(m->fabric, c->peer);
        r = c->isolated ? sm_link_exclude(m->fabric, c->port)
                        : fab_fabric_remove_link(m->fabric, c->port);
    }
    if (r == FAB_OK && detour)
        r = fab_discover_paths(m->fabric, &paths);
    if (r != FAB_OK || !detour)
        return r;
    free(m->paths);
    m->paths = paths;
    return sm_model_find_port_paths(m);
}

static void keep_failed(struct fab_repair_idmap *c, struct failed *dead)
{
    free(c->dead);
    c->dead = dead->port;
    c->deads = dead->count;
    *dead = (struct failed){0};
}

/* Applies the repair: changes fabric and tables, publishes them, and sets the plan with the writes.
 * Returns an error only if memory runs out. */
static int carry_out(struct sm *s, struct fab_repair_delta *d, struct failed *dead)
{
    struct fab_plan links = {0}, plan = {0};
    uint32_t lost_active = 0;
    if (s->fault->on_patch)
        s->fault->on_patch(s->fault->on_patch_ctx);
    int r = sm_model_own(&s->model);
    if (r == FAB_OK)
        r = cut_links(s, &lost_active);
    if (r == FAB_OK)
        r = sm_returns_restore(s, &links);
    if (r == FAB_OK)
        r = plan_of(s, d, &links, &plan);
    if (r == FAB_OK)
        r = fab_repair_session_commit(sm_repair_session(s), s->model.target, d);
    if (r == FAB_OK) {
        keep_failed(&sm_repair_session(s)->idmap, dead);
        r = sm_publish_repair(s, (int64_t)s->fault->probe.gains - lost_active);
    }
    if (r == FAB_OK)
        r = sm_program_take(s, &plan);
    fab_plan_fini(&links);
    fab_plan_fini(&plan);
    if (r != FAB_OK)
        sm_repair_forget(s);
    return r;
}

/* Finds a contingency for these failed links. If there is none, computes and proves a repair and
 * orders its writes. */
static int find_repair(struct sm *s, const struct failed *dead, struct fab_repair_delta *ret,
                       char *why, size_t why_len)
{
    /* Contingencies cover only failures, not links that came back. */
    int r = s->fault->probe.gains > 0 ? FAB_E_NOT_FOUND
                                      : sm_contingency_find(s, dead->port, dead->count, ret);
    s->run.by_contingency = r == FAB_OK;
    s->run.computed_us = s->run.proved_us = clock_now_us();
    if (r != FAB_E_NOT_FOUND)
        return r;
    r = compute(s, dead, ret, why, why_len);
    if (r == FAB_OK)
        r = prove(s, ret);
    if (r == FAB_OK)
        r = fab_repair_order(sm_repair_session(s)->state, tables(s), ret);
    if (r == FAB_OK && s->fault->probe.gains > 0 && !sm_returns_stand(s, ret)) {
        snprintf(why, why_len, "some switches do not hold the tables of the last reroute yet");
        r = FAB_E_BUSY;
    }
    return r;
}

/* Repairs all failed links of the last port probe. */
static int repair(struct sm *s, struct failed *dead, struct fab_repair_delta *ret, char *why,
                  size_t why_len)
{
    int r = all_failed(s, dead);
    return r == FAB_OK ? find_repair(s, dead, ret, why, why_len) : r;
}

static int enter(struct sm *s)
{
    struct fab_repair_delta d = {0};
    char why[200] = "";
    struct failed dead = {0};
    int r = repair(s, &dead, &d, why, sizeof(why));
    if (r != FAB_OK && s->fault->probe.gains > 0 && s->fault->probe.count > 0) {
        /* The repair with the returned links failed. Repair only the failed links, which are
         * urgent. */
        sm_returns_drop(s);
        fab_repair_delta_fini(&d);
        free(dead.port);
        dead = (struct failed){0};
        r = repair(s, &dead, &d, why, sizeof(why));
    }
    if (r == FAB_OK) {
        s->run.computed = true;
        s->run.changed.links_lost = s->fault->probe.count;
        s->run.changed.links_gained = s->fault->probe.gains;
        s->fault->probe.more |= d.cut > 0;
        r = carry_out(s, &d, &dead);
        sm_reroute_repaired(s, d.lost > 0);
    } else {
        log_info("sm", "no local repair, a targeted sweep follows: %s",
                 why[0] ? why : fab_base_status_text(r));
        /* The targeted sweep that follows has the same cause and trap time. */
        if (s->run.trap_us)
            sm_cause_carry_over(s);
        s->fault->probe.more = true;
        r = SM_ROUND_OVER;
    }
    free(dead.port);
    fab_repair_delta_fini(&d);
    return r;
}

/* Emits events and makes records after the writes of a local repair. The store gets the view only
 * after the sweep that checks the repair. */
static int report(struct sm *s)
{
    const struct sm_probe *p = &s->fault->probe;
    sm_report_lost_links(s, p->link, p->count);
    sm_report_gained_links(s, p->gained, p->gains);
    for (uint32_t i = 0; i < p->gains; i++)
        sm_flap_note_up(s, &p->gained[i]);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->link[i].isolated)
            sm_isolate_done(s, &p->link[i]);
        else
            sm_flap_note_down(s, s->model.fabric, &p->link[i]);
    sm_multicast_repaired(s);
    sm_flap_arm(s);
    sm_report_reroute(s);
    sm_reroute_record(s);
    return FAB_OK;
}

void sm_on_patch(struct sm *s, void (*fn)(void *ctx), void *ctx)
{
    s->fault->on_patch = fn;
    s->fault->on_patch_ctx = ctx;
}

const struct sm_phase sm_phase_report_repair = {.name = "reporting", .enter = report};
const struct sm_phase sm_phase_repair = {.name = "repairing", .enter = enter};
