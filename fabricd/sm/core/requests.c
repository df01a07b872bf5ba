/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps the requests for rounds, and the list of callers that wait for rounds. Requests may be made
 * at any time. When a round begins, it clears the requests that it fulfils (struct sm_round.meets);
 * all other requests stay for a later round.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/status.h"

#define RETRY_FIRST_US 100000u
#define RETRY_MOST_US 60000000u
#define HEAVY_LATER_US 2000000u
/* maximum time in us by which port probes that lead to no repair delay a sweep */
#define OVERDUE_US 1000000u
/* Traps of further switches may arrive while a port probe runs. A probe that has found a change
 * reads these switches, too, only within this time (in us) from its start. A probe that has not
 * found a change reads them at any time: a failed switch may not answer, and only its neighbours
 * can then show that it failed. */
#define JOIN_US 20000u

/* ---- bits of enum sm_request ----------------------------------------------------------------- */

void sm_request(struct sm *s, unsigned requests)
{
    s->core->requested |= sm_freeze_keep(s, requests);
}

bool sm_is_requested(const struct sm *s, unsigned any_of)
{
    return (s->core->requested & any_of) != 0;
}

void sm_request_met(struct sm *s, unsigned requests)
{
    s->core->requested &= ~requests;
}

unsigned sm_take_requests(struct sm *s, unsigned requests)
{
    unsigned set = s->core->requested & requests;
    s->core->requested &= ~requests;
    return set;
}

void sm_request_heavy(struct sm *s)
{
    sm_request(s, SM_REQUEST_HEAVY);
    s->core->targets = (struct sm_guids){0};
}

void sm_request_sweep(struct sm *s)
{
    if (s->model.view && s->model.fabric)
        sm_request(s, SM_REQUEST_BACKGROUND);
    else
        sm_request_heavy(s);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void sm_request_target(struct sm *s, uint64_t node_guid)
{
    if (sm_is_requested(s, SM_REQUEST_HEAVY) || !node_guid)
        return;
    sm_guids_add(&s->core->targets, node_guid);
    if (s->core->targets.many)
        sm_request_heavy(s);
}

void sm_request_targets(struct sm *s, const struct sm_guids *g)
{
    if (g->many)
        sm_request_heavy(s);
    for (uint32_t i = 0; i < g->count; i++)
        sm_request_target(s, g->guid[i]);
}

const struct sm_guids *sm_requested_targets(const struct sm *s)
{
    return &s->core->targets;
}

void sm_request_probe(struct sm *s, uint64_t node_guid)
{
    sm_guids_add(&s->core->probes, node_guid);
}

/* Returns whether a port probe may read this switch: a local repair is possible, and the switch is
 * not one of those that did not answer a probe (sm_probe_unanswered). */
static bool may_probe(const struct sm *s, uint64_t node_guid)
{
    return sm_can_repair(s) && !sm_guids_have(&s->core->unanswered, node_guid);
}

void sm_request_ports(struct sm *s, uint64_t node_guid)
{
    if (may_probe(s, node_guid))
        sm_request_probe(s, node_guid);
    else
        sm_request_target(s, node_guid);
}

static bool is_read_soon(const struct sm *s, uint64_t node_guid)
{
    return sm_guids_have(&s->core->targets, node_guid) || s->wiring->check_waits(s, node_guid);
}

void sm_request_if_changed(struct sm *s, uint32_t sw, const struct fab_switch_info *info)
{
    const struct fab_fabric *f = s->model.fabric;
    if (info->linear_fdb_top != f->switches[sw].linear_fdb_top)
        sm_request_target(s, f->nodes[sw].guid);
    else if (info->port_state_change && !is_read_soon(s, f->nodes[sw].guid))
        sm_request_ports(s, f->nodes[sw].guid);
}

void sm_probe_unanswered(struct sm *s, uint64_t node_guid)
{
    sm_guids_add(&s->core->unanswered, node_guid);
    if (!sm_guids_have(&s->core->probes, node_guid))
        return;
    sm_guids_remove(&s->core->probes, node_guid);
    sm_request_target(s, node_guid);
}

/* When a switch fails, dozens of its neighbours send a trap each. To change the tables once for all
 * these traps is less work than many changes, and safer. */
void sm_probe_join(struct sm *s, bool found)
{
    struct sm_guids *came = &s->core->probes, *now = &s->run.suspects, later = {0};
    bool late = clock_now_us() - s->run.started_us > JOIN_US;
    if (came->count == 0 || came->many || (found && late))
        return;
    for (uint32_t i = 0; i < came->count; i++) {
        bool known = sm_guids_have(now, came->guid[i]);
        sm_guids_add(known || now->count == SM_GUIDS_MOST ? &later : now, came->guid[i]);
    }
    *came = later;
}

/* Also withdraws the request for the writes of MasterSMLID after a take-over: a fault that no local
 * repair can handle may have cut off the former master, so another election must precede these
 * writes. */
void sm_probes_to_targets(struct sm *s)
{
    sm_request_met(s, SM_REQUEST_MASTER_LID);
    sm_request_targets(s, &s->core->probes);
    s->core->probes = (struct sm_guids){0};
}

void sm_request_after_trap(struct sm *s, uint64_t node_guid, bool link_changed)
{
    if (!s->core->trap_us)
        s->core->trap_us = clock_now_us();
    if (link_changed && may_probe(s, node_guid)) {
        sm_request_probe(s, node_guid);
        sm_round_postpone(s);
    } else {
        sm_request_target(s, node_guid);
        sm_round_restart_with(s, node_guid);
        sm_round_drop_light(s);
    }
}

bool sm_fault_waits(const struct sm *s)
{
    return s->core->probes.count > 0 || s->core->targets.count > 0;
}

bool sm_trap_waits(const struct sm *s)
{
    return s->core->trap_us != 0;
}

bool sm_sweep_overdue(const struct sm *s)
{
    return s->core->overdue_us && clock_now_us() - s->core->overdue_us >= OVERDUE_US;
}

/* ---- causes ---------------------------------------------------------------------------------- */

void sm_cause_set(struct sm *s, const char *fmt, ...)
{
    va_list ap;
    if (s->core->cause[0])
        return;
    va_start(ap, fmt);
    vsnprintf(s->core->cause, sizeof(s->core->cause), fmt, ap);
    va_end(ap);
}

void sm_cause_carry_over(struct sm *s)
{
    s->core->trap_us = s->run.trap_us;
    snprintf(s->core->cause, sizeof(s->core->cause), "%s", s->run.cause);
}

static void take_cause(struct sm *s)
{
    const struct sm_round *round = s->run.round;
    const char *cause = s->core->cause;
    if (!cause[0])
        cause = round->scoped ? "another sweep of nodes that did not answer" : "sweep";
    snprintf(s->run.cause, sizeof(s->run.cause), "%s", cause);
    s->core->cause[0] = 0;
}

/* ---- callers that wait ----------------------------------------------------------------------- */

int sm_wait_check(const struct sm *s, enum sm_round_kind kind)
{
    bool waits = kind == SM_ROUND_REROUTE || kind == SM_ROUND_REBALANCE;
    return sm_is_standby(s) || (waits && sm_is_frozen(s)) ? FAB_E_DENIED : FAB_OK;
}

int sm_wait(struct sm *s, enum sm_round_kind kind, sm_done *done, void *ctx)
{
    if (sm_wait_check(s, kind) != FAB_OK)
        return FAB_E_DENIED;
    struct sm_waiter *w = malloc(sizeof(*w));
    if (!w)
        return FAB_E_NOMEM;
    *w = (struct sm_waiter){.next = s->core->waiters, .done = done, .ctx = ctx, .kind = kind};
    s->core->waiters = w;
    return FAB_OK;
}

void sm_wait_forget(struct sm *s, void *ctx)
{
    for (struct sm_waiter *w = s->core->waiters; w; w = w->next)
        if (w->ctx == ctx)
            w->done = NULL;
}

void sm_wait_for_background(struct sm *s)
{
    for (struct sm_waiter *w = s->core->waiters; w; w = w->next)
        w->background |= w->kind == SM_ROUND_HEAVY;
}

/* Each waiter is removed from the list before its callback is called, because the callback may add
 * a new waiter. */
void sm_waiters_call(struct sm *s, int status, const char *text)
{
    struct sm_waiter **at = &s->core->waiters;
    while (*at) {
        struct sm_waiter *w = *at;
        if (!w->running) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        if (w->done)
            w->done(w->ctx, status, text);
        free(w);
        at = &s->core->waiters;
    }
}

void sm_waiters_end(struct sm *s, int status, const char *text)
{
    for (struct sm_waiter *w = s->core->waiters; w; w = w->next)
        w->running = true;
    sm_waiters_call(s, status, text);
}

bool sm_waiters_any(const struct sm *s)
{
    const struct sm_waiter *w = s->core->waiters;
    while (w && !w->running)
        w = w->next;
    return w != NULL;
}

void sm_waiters_postpone(struct sm *s)
{
    for (struct sm_waiter *w = s->core->waiters; w; w = w->next)
        w->running = false;
}

/* ---- the round that begins ------------------------------------------------------------------- */

static void take_suspects(struct sm *s, struct sm_guids *from)
{
    s->run.suspects = *from;
    *from = (struct sm_guids){0};
    s->run.trap_us = s->core->trap_us;
    s->core->trap_us = 0;
}

static void touch_suspects(struct sm *s)
{
    for (uint32_t i = 0; i < s->run.suspects.count; i++)
        sm_node_touched(s, s->run.suspects.guid[i]);
}

void sm_requests_begun(struct sm *s)
{
    const struct sm_round *round = s->run.round;
    s->run.trap_us = 0;
    sm_request_met(s, round->meets);
    if (round->begun)
        round->begun(s);
    if (round->targets || round->probes)
        take_suspects(s, round->probes ? &s->core->probes : &s->core->targets);
    if (round->causes)
        take_cause(s);
    if (round->scoped || round->probes)
        touch_suspects(s);
    for (struct sm_waiter *w = s->core->waiters; w; w = w->next)
        w->running |= s->run.from_background ? w->background : (round->serves >> w->kind & 1) != 0;
}

/* ---- timers ---------------------------------------------------------------------------------- */

static void set_seconds(struct loop_timer *t, uint32_t seconds)
{
    if (seconds)
        loop_timer_set(t, (uint64_t)seconds * 1000000);
}

static void on_light(void *ctx)
{
    struct sm *s = ctx;
    sm_request(s, SM_REQUEST_LIGHT);
    set_seconds(s->core->light_timer, s->in.config->sweep.light_interval_s);
    sm_schedule(s);
}

static void on_heavy(void *ctx)
{
    struct sm *s = ctx;
    sm_request_sweep(s);
    set_seconds(s->core->heavy_timer, s->in.config->sweep.heavy_interval_s);
    sm_schedule(s);
}

void sm_request_heavy_later(struct sm *s)
{
    if (!loop_timer_pending(s->core->later_timer))
        loop_timer_set(s->core->later_timer, HEAVY_LATER_US);
}

static void on_later(void *ctx)
{
    struct sm *s = ctx;
    sm_request_heavy(s);
    sm_schedule(s);
}

void sm_request_retry_of(struct sm *s, uint64_t node_guid)
{
    sm_guids_add(&s->core->retry, node_guid);
}

static void on_retry(void *ctx)
{
    struct sm *s = ctx;
    struct sm_core *c = s->core;
    sm_request_targets(s, &c->retry);
    if (c->retry.count > 0)
        sm_pace_urgent(s);
    c->retry = (struct sm_guids){0};
    if (!s->model.view || !c->targets.count)
        sm_request_heavy(s);
    sm_schedule(s);
}

void sm_request_retry(struct sm *s)
{
    struct sm_core *c = s->core;
    if (loop_timer_pending(c->retry_timer))
        return;
    loop_timer_set(c->retry_timer, c->retry_delay_us);
    c->retry_delay_us *= 2;
    if (c->retry_delay_us > RETRY_MOST_US)
        c->retry_delay_us = RETRY_MOST_US;
}

void sm_request_retry_reset(struct sm *s)
{
    s->core->retry_delay_us = RETRY_FIRST_US;
}

void sm_refusing_set(struct sm *s, uint64_t node_guid, bool refuses)
{
    if (refuses) {
        sm_guids_add(&s->core->refusing, node_guid);
    } else {
        sm_guids_remove(&s->core->refusing, node_guid);
        sm_guids_remove(&s->core->named, node_guid);
    }
}

void sm_refusing_keep(struct sm *s, const struct sm_guids *nodes)
{
    const struct sm_guids named = s->core->named;
    s->core->refusing = *nodes;
    s->core->named = (struct sm_guids){0};
    for (uint32_t i = 0; i < named.count; i++)
        if (sm_guids_have(nodes, named.guid[i]))
            sm_guids_add(&s->core->named, named.guid[i]);
}

bool sm_refusing_name(struct sm *s, uint64_t node_guid)
{
    if (sm_guids_have(&s->core->named, node_guid))
        return false;
    sm_guids_add(&s->core->named, node_guid);
    return true;
}

bool sm_is_refusing(const struct sm *s, uint64_t node_guid)
{
    return sm_guids_have(&s->core->refusing, node_guid);
}

int sm_requests_init(struct sm *s)
{
    struct sm_core *c = s->core;
    c->retry_delay_us = RETRY_FIRST_US;
    c->light_timer = loop_timer_new(s->in.loop, on_light, s);
    c->heavy_timer = loop_timer_new(s->in.loop, on_heavy, s);
    c->later_timer = loop_timer_new(s->in.loop, on_later, s);
    c->retry_timer = loop_timer_new(s->in.loop, on_retry, s);
    if (!c->light_timer || !c->heavy_timer || !c->later_timer || !c->retry_timer)
        return FAB_E_NOMEM;
    set_seconds(c->light_timer, s->in.config->sweep.light_interval_s);
    set_seconds(c->heavy_timer, s->in.config->sweep.heavy_interval_s);
    return FAB_OK;
}

void sm_requests_fini(struct sm *s)
{
    loop_timer_free(s->core->light_timer);
    loop_timer_free(s->core->heavy_timer);
    loop_timer_free(s->core->later_timer);
    loop_timer_free(s->core->retry_timer);
    for (struct sm_waiter *w = s->core->waiters, *next; w; w = next) {
        next = w->next;
        free(w);
    }
}
