/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which round comes next, and who waits for it.
 *
 * Wishes (struct sm_requests) are collected whatever runs; when no round runs, the most urgent wish
 * starts one: an operator's port, then suspects of traps, then a full sweep, a computation anew,
 * a light look. A lone trap starts at once; traps that come while a round runs wait trap_settle_ms
 * after its end, so that a burst is looked at together.
 *
 * Where the tables in force can be mended (mend.c), a trap is glanced at before all else, a look
 * that runs makes room for it, and the look that checks what was done comes when it is quiet.
 *
 * Glances do not keep a look from ending: a switch that did not answer one is left to the look, and
 * a look that has waited for glances LOOK_WAITS_US, none of which led to a repair, goes first,
 * makes room for nobody, and looks at what was to be glanced at, too.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"
#include "libfabmgr/base/plural.h"

#define RETRY_MOST_US 60000000u
#define FULL_LATER_US 2000000u
#define THOROUGH_US 100000u /* from a glance to the look that checks it */
#define LOOK_WAITS_US 1000000u
#define PUT_OFF_MOST 64
#define PUT_OFF_SWEEP 4 /* of a sweep after a survey: by then a short one */
#define STIR_STEP 8     /* looks after which the pause between them doubles */
#define STIR_MOST 6     /* times */

#define PROGRAMMING                                                                                \
    &sm_phase_address, &sm_phase_route, &sm_phase_pkeys, &sm_phase_partition, &sm_phase_plan,      \
        &sm_phase_program, &sm_phase_readback, &sm_phase_publish, NULL

static const struct sm_phase *const full_phases[] = {
    &sm_phase_prepare, &sm_phase_discover,    &sm_phase_seal, &sm_phase_adopt,
    &sm_phase_sminfo,  &sm_phase_read_tables, PROGRAMMING};
static const struct sm_phase *const reroute_phases[] = {PROGRAMMING};
static const struct sm_phase *const light_phases[] = {&sm_phase_light, NULL};
static const struct sm_phase *const mend_phases[] = {
    &sm_phase_probe, &sm_phase_repair, &sm_phase_program_repair, &sm_phase_report_repair, NULL};
static const struct sm_phase *const port_phases[] = {&sm_phase_port, NULL};

const struct sm_round sm_rounds[] = {
    [SM_ROUND_NONE] = {"none", NULL},
    [SM_ROUND_HEAVY] = {"full sweep", full_phases},
    [SM_ROUND_TARGETED] = {"scoped look", full_phases},
    [SM_ROUND_REROUTE] = {"reroute", reroute_phases},
    [SM_ROUND_REBALANCE] = {"rebalance", reroute_phases},
    [SM_ROUND_LIGHT] = {"light look", light_phases},
    [SM_ROUND_PORT] = {"port request", port_phases},
    [SM_ROUND_REPAIR] = {"repair", mend_phases},
};

/* ---- wishes ---- */

bool sm_guids_have(const struct sm_guids *g, uint64_t guid)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->guid[i] == guid)
            return true;
    return false;
}

void sm_guids_add(struct sm_guids *g, uint64_t guid)
{
    if (sm_guids_have(g, guid))
        return;
    if (g->count == SM_MAX_SUSPECTS)
        g->many = true;
    else
        g->guid[g->count++] = guid;
}

void sm_guids_remove(struct sm_guids *g, uint64_t guid)
{
    for (uint32_t i = 0; i < g->count; i++)
        if (g->guid[i] == guid) {
            g->guid[i] = g->guid[--g->count];
            return;
        }
}

static bool look_is_due(const struct sm *s)
{
    return s->want.look_us && clock_now_us() - s->want.look_us >= LOOK_WAITS_US;
}

void sm_request_heavy(struct sm *s)
{
    s->want.full = true;
    s->want.suspects = (struct sm_guids){0};
}

void sm_request_sweep(struct sm *s)
{
    if (s->model.view && s->model.fabric)
        s->want.sweep = true;
    else
        sm_request_heavy(s);
}

void sm_request_target(struct sm *s, uint64_t node_guid)
{
    if (s->want.full || !node_guid)
        return;
    sm_guids_add(&s->want.suspects, node_guid);
    if (s->want.suspects.many)
        sm_request_heavy(s);
}

void sm_request_targets(struct sm *s, const struct sm_guids *g)
{
    if (g->many)
        sm_request_heavy(s);
    for (uint32_t i = 0; i < g->count; i++)
        sm_request_target(s, g->guid[i]);
}

static enum sm_round_kind most_urgent(const struct sm *s)
{
    bool known = s->model.view != NULL && s->model.fabric != NULL;
    if (s->want.full && !known)
        return SM_ROUND_HEAVY;
    if (s->want.ports && known)
        return SM_ROUND_PORT;
    if (known && sm_background_ready(s) && s->survey.touched_count && !s->want.full)
        return SM_ROUND_HEAVY; /* looks at suspects, too: else it might never come */
    if (s->want.suspects.count)
        return known ? SM_ROUND_TARGETED : SM_ROUND_HEAVY;
    if (s->want.full || sm_background_ready(s))
        return SM_ROUND_HEAVY;
    if (s->want.reroute)
        return known ? SM_ROUND_REROUTE : SM_ROUND_HEAVY;
    if (s->want.light && known)
        return SM_ROUND_LIGHT;
    return s->want.rebalance && known ? SM_ROUND_REBALANCE : SM_ROUND_NONE;
}

/* What was to be glanced at needs a whole look. */
static void take_for_a_look(struct sm *s, struct sm_guids *g)
{
    sm_request_targets(s, g);
    *g = (struct sm_guids){0};
}

static void note_waiting(struct sm *s)
{
    bool waits = s->want.suspects.count || s->want.full || s->want.light;
    if (!waits)
        s->want.look_us = 0;
    else if (s->want.glance.count && !s->want.look_us)
        s->want.look_us = clock_now_us();
}

void sm_schedule(struct sm *s)
{
    if (sm_run_busy(s) || s->apart || s->role.state == FAB_SM_STANDBY ||
        s->role.state == FAB_SM_NOT_ACTIVE)
        return;
    sm_background_schedule(s);
    bool settles = loop_timer_pending(s->settle_timer);
    if (!sm_repair_ready(s) || s->want.glance.many || (look_is_due(s) && !settles))
        take_for_a_look(s, &s->want.glance);
    note_waiting(s);
    if (!s->want.glance.count && settles)
        return;
    enum sm_round_kind kind = s->want.glance.count ? SM_ROUND_REPAIR : most_urgent(s);
    if (kind != SM_ROUND_NONE)
        sm_run_start(s, kind);
}

/* ---- begin and end of a round ---- */

static bool serves(enum sm_round_kind round, enum sm_round_kind wish)
{
    return round == wish || (round == SM_ROUND_HEAVY && wish == SM_ROUND_REROUTE);
}

/* With a survey: what was asked for since that began is still wanted. */
static void full_begun(struct sm *s)
{
    s->run.surveyed = sm_background_ready(s) && !s->want.full;
    s->want.light = false;
    if (s->run.surveyed) {
        sm_background_touch_all(s, &s->want.suspects);
        s->run.started_us = s->survey.started_us;
        s->run.sent_before = s->survey.sent_before;
    } else {
        sm_background_drop(s);
        s->want.full = s->want.sweep = s->want.reroute = false;
    }
}

void sm_round_begun(struct sm *s)
{
    enum sm_round_kind kind = s->run.kind;
    s->run.trap_us = 0;
    if (kind == SM_ROUND_LIGHT)
        s->want.light = false;
    if (kind == SM_ROUND_HEAVY)
        full_begun(s);
    if (kind == SM_ROUND_REROUTE)
        s->want.reroute = false;
    if (kind == SM_ROUND_REBALANCE)
        sm_rebalance_begun(s);
    if (kind == SM_ROUND_TARGETED || kind == SM_ROUND_HEAVY) {
        s->suspects = s->want.suspects;
        s->want.suspects = (struct sm_guids){0};
        s->run.trap_us = s->want.trap_us;
        s->want.trap_us = 0;
    }
    if (kind == SM_ROUND_REPAIR) {
        s->suspects = s->want.glance;
        s->want.glance = (struct sm_guids){0};
        s->run.trap_us = s->want.trap_us;
        s->want.trap_us = 0;
    }
    if (kind == SM_ROUND_TARGETED || kind == SM_ROUND_HEAVY || kind == SM_ROUND_REROUTE ||
        kind == SM_ROUND_REPAIR)
        sm_cause_take(s);
    if (kind == SM_ROUND_TARGETED || kind == SM_ROUND_REPAIR)
        sm_background_touch_all(s, &s->suspects);
    for (struct sm_waiter *w = s->waiters; w; w = w->next)
        w->running |= s->run.surveyed ? w->surveyed : serves(kind, w->kind);
}

static void describe_fabric(const struct sm *s, char *text, size_t len)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t switches = f ? f->switch_count : 0, others = f ? f->node_count - switches : 0;
    uint32_t links = f ? f->link_count : 0;
    snprintf(text, len, "%s done: %u switch%s, %u other node%s, %u link%s, %.1f ms",
             sm_rounds[s->run.kind].name, switches, fab_es(switches), others, fab_s(others), links,
             fab_s(links), (double)(clock_now_us() - s->run.started_us) / 1e3);
}

static void describe(const struct sm *s, int status, char *text, size_t len)
{
    if (status != FAB_OK)
        snprintf(text, len, "%s failed: %s", sm_rounds[s->run.kind].name, fab_status_text(status));
    else if (s->run.kind == SM_ROUND_REBALANCE && s->rebalance.said[0])
        snprintf(text, len, "%s", s->rebalance.said);
    else if (s->alarm[0])
        snprintf(text, len, "no new tables: %.180s", s->alarm);
    else
        describe_fabric(s, text, len);
}

/* Tells those whose round is over. Each is taken off the list before it is called. */
static void tell_waiters(struct sm *s, int status, const char *text)
{
    struct sm_waiter **at = &s->waiters;
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
        at = &s->waiters;
    }
}

static void sweep_failed(struct sm *s, const char *text)
{
    bus_say(s->in.bus, EVENT_ERROR, "sweep-failed", "sm", 0, 0, "%s", text);
    if (s->run.kind == SM_ROUND_LIGHT || s->run.kind == SM_ROUND_TARGETED)
        sm_request_heavy(s);
    else
        sm_retry_later(s);
}

/* A cable that comes and goes all the time is looked at ever more seldom, until it is quiet. */
static void pause_for_traps(struct sm *s)
{
    uint64_t settle_us = (uint64_t)s->in.config->sweep.trap_settle_ms * 1000;
    uint32_t doublings = s->stir / STIR_STEP;
    bool at_once = s->look_again;
    s->look_again = false;
    if (at_once)
        return;
    if (!s->want.suspects.count || !s->want.trap_us) {
        s->stir = 0;
        return;
    }
    s->stir++;
    loop_timer_set(s->settle_timer, settle_us << (doublings < STIR_MOST ? doublings : STIR_MOST));
}

/* Who did not answer may be behind somebody who hangs. */
static void add_way(const struct sm *s, uint64_t guid, struct sm_guids *to)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t node = fab_fabric_node_by_guid(f, guid), at = f->ports[f->self_port].node;
    const struct fab_path *way = node != FAB_NONE ? &s->model.paths[node] : NULL;
    if (way == NULL || way->hops == FAB_PATH_UNKNOWN)
        return;
    for (unsigned hop = 1; hop < way->hops && at != FAB_NONE; hop++) {
        at = fab_peer_node(f, fab_port_id(f, at, way->port[hop]));
        if (at != FAB_NONE)
            sm_guids_add(to, f->nodes[at].guid);
    }
}

/* Each glance is checked by a look: at once, when there was more to see, else when it is quiet.
 * What a held cable does is seen well enough; the next light look finds the rest. */
static void look_after_glance(struct sm *s, int status)
{
    struct sm_guids *to = &s->want.thorough;
    const struct fab_fabric *f = s->model.fabric;
    if (status == FAB_OK && s->cut.held && !s->cut.count && !s->cut.more)
        return;
    for (uint32_t i = 0; i < s->suspects.count; i++)
        sm_guids_add(to, s->suspects.guid[i]);
    for (uint32_t i = 0; i < s->cut.mute.count; i++)
        add_way(s, s->cut.mute.guid[i], to);
    for (uint32_t i = 0; i < s->cut.count; i++)
        sm_guids_add(to, f->nodes[f->ports[s->cut.cable[i].peer].node].guid);
    if (status != FAB_OK || s->cut.more || s->program.failed)
        take_for_a_look(s, to);
    else if (!loop_timer_pending(s->thorough_timer))
        loop_timer_set(s->thorough_timer, THOROUGH_US);
}

/* Those who wait for the running round wait for the next of its kind. */
static void wait_on(struct sm *s)
{
    for (struct sm_waiter *w = s->waiters; w; w = w->next)
        w->running = false;
}

static bool is_awaited(const struct sm *s)
{
    const struct sm_waiter *w = s->waiters;
    while (w && !w->running)
        w = w->next;
    return w != NULL;
}

void sm_round_postpone(struct sm *s)
{
    const struct sm_phase *at = sm_run_phase(s);
    bool looks = at == &sm_phase_light || at == &sm_phase_discover || at == &sm_phase_read_tables ||
                 (s->run.kind == SM_ROUND_REBALANCE && at == &sm_phase_route);
    if (!looks || look_is_due(s) || s->put_off >= (s->run.surveyed ? PUT_OFF_SWEEP : PUT_OFF_MOST))
        return;
    s->put_off++;
    if (s->run.kind == SM_ROUND_LIGHT)
        s->want.light = true;
    else if (s->run.kind == SM_ROUND_HEAVY)
        s->want.full = !s->run.surveyed; /* else the survey is still there */
    else if (s->run.kind == SM_ROUND_REBALANCE)
        s->want.rebalance = s->rebalance.asked = is_awaited(s);
    else
        sm_request_targets(s, &s->suspects);
    wait_on(s);
    sm_job_drop(s);
    sm_run_abort(s);
}

/* After a repair or a look: what a glance could not know may be known now. */
static void note_progress(struct sm *s)
{
    if (s->run.kind == SM_ROUND_REPAIR ? !s->run.computed : s->run.kind == SM_ROUND_PORT)
        return;
    s->want.look_us = 0;
    if (!s->look_again)
        s->mute = (struct sm_guids){0};
}

void sm_round_ended(struct sm *s, int status)
{
    char text[320];
    describe(s, status, text, sizeof(text));
    log_debug("sm", "%s", text);
    if (status != FAB_OK && s->run.kind != SM_ROUND_PORT && s->run.kind != SM_ROUND_REPAIR)
        sweep_failed(s, text);
    int told =
        status == FAB_OK && s->alarm[0] && s->run.kind != SM_ROUND_REBALANCE ? FAB_E_CYCLE : status;
    tell_waiters(s, s->role.state == FAB_SM_STANDBY ? FAB_E_DENIED : told,
                 s->role.state == FAB_SM_STANDBY ? "another subnet manager is master" : text);
    s->run.trap_us = 0;
    s->restarts = 0;
    note_progress(s);
    if (s->run.kind == SM_ROUND_REPAIR)
        look_after_glance(s, status);
    else
        pause_for_traps(s);
    if (s->run.kind == SM_ROUND_HEAVY)
        s->put_off = 0;
    if (s->run.surveyed)
        sm_background_drop(s); /* its sweep is over */
    s->run.surveyed = false;
    sm_program_tidy(s);
    sm_repair_prepare(s);
    sm_rebalance_ended(s, status);
    sm_schedule(s);
    sm_contingency_prepare(s);
}

/* ---- timers ---- */

static void set_seconds(struct loop_timer *t, uint32_t seconds)
{
    if (seconds)
        loop_timer_set(t, (uint64_t)seconds * 1000000);
}

static void on_light(void *ctx)
{
    struct sm *s = ctx;
    s->want.light = true;
    set_seconds(s->light_timer, s->in.config->sweep.light_interval_s);
    sm_schedule(s);
}

static void on_full(void *ctx)
{
    struct sm *s = ctx;
    sm_request_sweep(s);
    set_seconds(s->full_timer, s->in.config->sweep.heavy_interval_s);
    sm_schedule(s);
}

void sm_request_heavy_later(struct sm *s)
{
    s->full_later = true;
    if (!loop_timer_pending(s->retry_timer))
        loop_timer_set(s->retry_timer, FULL_LATER_US);
}

static void on_settle(void *ctx)
{
    sm_schedule(ctx);
}

static void on_thorough(void *ctx)
{
    struct sm *s = ctx;
    take_for_a_look(s, &s->want.thorough);
    sm_schedule(s);
}

static void on_retry(void *ctx)
{
    struct sm *s = ctx;
    sm_request_targets(s, &s->retry);
    s->retry = (struct sm_guids){0};
    if (!s->model.view || !s->want.suspects.count || s->full_later)
        sm_request_heavy(s);
    s->full_later = false;
    sm_schedule(s);
}

/* Something did not succeed: look again, each time later; a round that wrote all it wanted to
 * resets the delay. */
void sm_retry_later(struct sm *s)
{
    if (loop_timer_pending(s->retry_timer))
        return;
    loop_timer_set(s->retry_timer, s->retry_delay_us);
    s->retry_delay_us *= 2;
    if (s->retry_delay_us > RETRY_MOST_US)
        s->retry_delay_us = RETRY_MOST_US;
}

int sm_rounds_init(struct sm *s)
{
    s->retry_delay_us = SM_RETRY_FIRST_US;
    s->light_timer = loop_timer_new(s->in.loop, on_light, s);
    s->full_timer = loop_timer_new(s->in.loop, on_full, s);
    s->retry_timer = loop_timer_new(s->in.loop, on_retry, s);
    s->settle_timer = loop_timer_new(s->in.loop, on_settle, s);
    s->thorough_timer = loop_timer_new(s->in.loop, on_thorough, s);
    if (!s->light_timer || !s->full_timer || !s->retry_timer || !s->settle_timer ||
        !s->thorough_timer)
        return FAB_E_NOMEM;
    set_seconds(s->light_timer, s->in.config->sweep.light_interval_s);
    set_seconds(s->full_timer, s->in.config->sweep.heavy_interval_s);
    return FAB_OK;
}

void sm_rounds_fini(struct sm *s)
{
    loop_timer_free(s->light_timer);
    loop_timer_free(s->full_timer);
    loop_timer_free(s->retry_timer);
    loop_timer_free(s->settle_timer);
    loop_timer_free(s->thorough_timer);
    for (struct sm_waiter *w = s->waiters, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    for (struct sm_port_op *op = s->want.ports, *next; op; op = next) {
        next = op->next;
        free(op);
    }
}
