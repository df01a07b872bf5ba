/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Begins and ends rounds. When no round runs, the manager chooses the next round (next_round.c) and
 * starts it.
 *
 * A single trap starts a round at once. If a trap comes while a round runs, the manager pauses for
 * sweep.trap_settle_ms after the end of this round, so that one sweep handles a burst of traps. If
 * traps keep coming, for example from a flapping link, this pause doubles repeatedly (backoff).
 * After many changes of the tables, pace.c delays further changes.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/base/status.h"

#define POSTPONED_MOST 64
/* Maximum number of times that faults postpone the round that takes over the result of a background
 * heavy sweep. This round is short, so a fault need not wait long for its end. */
#define POSTPONED_MOST_BACKGROUND 4
#define RESTARTS_MOST 16
/* A requested change of M_Keys waits for at most this many targeted sweeps. Without the limit, it
 * could wait for ever: a device that rejects the manager's writes causes one targeted sweep after
 * the other. */
#define BEFORE_KEYS_MOST 16
/* After each BACKOFF_STEP rounds in a row during each of which a further trap came, the pause
 * before the next round doubles. */
#define BACKOFF_STEP 8
#define BACKOFF_MOST 6 /* maximum number of doublings of the pause */

/* ---- choosing -------------------------------------------------------------------------------- */

bool sm_is_settling(const struct sm *s)
{
    return loop_timer_pending(s->core->settle_timer);
}

bool sm_keys_overdue(const struct sm *s)
{
    return s->core->before_keys >= BEFORE_KEYS_MOST;
}

static struct sm_facts facts_of(const struct sm *s)
{
    const struct sm_core *c = s->core;
    struct sm_facts facts = {
        .known = s->model.view != NULL && s->model.fabric != NULL,
        .settling = sm_is_settling(s),
        .repair_ready = sm_can_repair(s),
        .sweep_overdue = sm_sweep_overdue(s) && !sm_targets_wait(s),
        .probes = c->probes.count > 0 && !sm_probes_wait(s),
        .too_many_probes = c->probes.many && !sm_probes_wait(s),
        .targets = c->targets.count > 0 && !sm_keys_overdue(s) && !sm_targets_wait(s),
        .heavy = sm_is_requested(s, SM_REQUEST_HEAVY),
        .reroute = sm_is_requested(s, SM_REQUEST_REROUTE),
        .rebalance = sm_is_requested(s, SM_REQUEST_REBALANCE),
        .light = sm_is_requested(s, SM_REQUEST_LIGHT),
        .keys = sm_is_requested(s, SM_REQUEST_KEYS),
        .frozen = sm_is_frozen(s),
        .first_light = sm_is_requested(s, SM_REQUEST_FIRST_LIGHT),
        .master_lid = sm_is_requested(s, SM_REQUEST_MASTER_LID),
        .catch_up = sm_is_requested(s, SM_REQUEST_CATCH_UP),
    };
    s->wiring->add_facts(s, &facts);
    return facts;
}

/* If requested port probes delay a requested sweep, notes when this began. */
static void note_overdue(struct sm *s)
{
    struct sm_core *c = s->core;
    bool waits = c->targets.count || sm_is_requested(s, SM_REQUEST_HEAVY | SM_REQUEST_LIGHT);
    if (!waits)
        c->overdue_us = 0;
    else if (c->probes.count && !c->overdue_us)
        c->overdue_us = clock_now_us();
}

void sm_schedule(struct sm *s)
{
    bool standby = s->role.state == FAB_SM_STANDBY;
    if (sm_run_busy(s) && s->run.round->standby && !standby)
        sm_run_abort(s);
    if (sm_run_busy(s) || sm_phase_task_any(s))
        return;
    if (standby && sm_is_requested(s, SM_REQUEST_STANDBY_CHANGES))
        sm_run_start(s, SM_ROUND_STANDBY_CHANGES);
    else if (standby && sm_is_requested(s, SM_REQUEST_STANDBY))
        sm_run_start(s, SM_ROUND_STANDBY);
    if (sm_is_standby(s))
        return;
    s->wiring->before_choice(s);
    struct sm_facts facts = facts_of(s);
    struct sm_next next = sm_next_round(&facts);
    if (next.action == SM_NEXT_PROBES_TO_TARGETS) {
        sm_probes_to_targets(s);
        facts = facts_of(s);
        next = sm_next_round(&facts);
    }
    note_overdue(s);
    if (next.action == SM_NEXT_ROUND)
        sm_run_start(s, next.kind);
}

/* ---- begin and end of a round ---------------------------------------------------------------- */

static void describe_fabric(const struct sm *s, char *text, size_t len)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t switches = f ? f->switch_count : 0, others = f ? f->node_count - switches : 0;
    uint32_t links = f ? f->link_count : 0;
    snprintf(text, len, "%s done: %u switch%s, %u other node%s, %u link%s, %.1f ms",
             s->run.round->name, switches, fab_base_plural_es(switches), others,
             fab_base_plural_s(others), links, fab_base_plural_s(links),
             (double)(clock_now_us() - s->run.started_us) / 1e3);
}

static void describe(const struct sm *s, int status, char *text, size_t len)
{
    const struct sm_round *round = s->run.round;
    const char *outcome = round->outcome ? round->outcome(s) : "";
    if (status != FAB_OK)
        snprintf(text, len, "%s failed: %s", round->name, fab_base_status_text(status));
    else if (outcome[0])
        snprintf(text, len, "%s", outcome);
    else if (s->core->alarm[0])
        snprintf(text, len, "no new tables: %.180s", s->core->alarm);
    else
        describe_fabric(s, text, len);
}

static void note_failure(struct sm *s, const char *text)
{
    enum sm_on_failure then = s->run.round->on_failure;
    if (then == SM_FAILURE_IGNORED)
        return;
    event_emit(s->in.bus, sweep_failed, .subject = "manager", .reason = text);
    if (then == SM_FAILURE_HEAVY_SWEEP)
        sm_request_heavy(s);
    else
        sm_request_retry(s);
}

static void end_waiters(struct sm *s, int status, const char *text)
{
    bool alarm = s->core->alarm[0] && s->run.round->engine != SM_ENGINE_IF_BETTER;
    if (s->role.state == FAB_SM_STANDBY)
        sm_waiters_call(s, FAB_E_DENIED, "another subnet manager is master");
    else
        sm_waiters_call(s, status == FAB_OK && alarm ? FAB_E_CYCLE : status, text);
}

/* Called when a round has ended. After a sweep or a change of routes, port probes may again read
 * the switches that did not answer an earlier probe. */
static void note_progress(struct sm *s)
{
    const struct sm_round *round = s->run.round;
    if (!round->informs || (round->probes && !s->run.computed))
        return;
    s->core->overdue_us = 0;
    if (!s->core->widens)
        s->core->unanswered = (struct sm_guids){0};
}

static void pause_for_traps(struct sm *s)
{
    struct sm_core *c = s->core;
    uint64_t settle_us = (uint64_t)s->in.config->sweep.trap_settle_ms * 1000;
    uint32_t doublings = c->backoff / BACKOFF_STEP;
    bool at_once = c->widens;
    c->widens = false;
    if (at_once)
        return;
    if (!c->targets.count || !c->trap_us) {
        c->backoff = 0;
        return;
    }
    c->backoff++;
    loop_timer_set(c->settle_timer,
                   settle_us << (doublings < BACKOFF_MOST ? doublings : BACKOFF_MOST));
}

void sm_round_ended(struct sm *s, int status)
{
    const struct sm_round *round = s->run.round;
    struct sm_core *c = s->core;
    char text[320];
    describe(s, status, text, sizeof(text));
    log_debug("sm", "%s", text);
    if (status != FAB_OK)
        note_failure(s, text);
    end_waiters(s, status, text);
    c->restarts = 0;
    note_progress(s);
    sm_pace_ended(s);
    if (!round->probes)
        pause_for_traps(s);
    if (round->light)
        c->light_dropped = 0;
    if (!sm_is_requested(s, SM_REQUEST_KEYS))
        c->before_keys = 0;
    else if (round->scoped)
        c->before_keys++;
    if (round->whole) {
        c->postponed = 0;
        sm_trap_swept(s);
        sm_violations_swept(s);
    }
    if (round->ended)
        round->ended(s, status);
    s->run.trap_us = 0;
    s->run.from_background = false;
    s->wiring->round_ended(s, status);
    sm_schedule(s);
    s->wiring->round_over(s);
}

/* ---- postponing and restarting rounds -------------------------------------------------------- */

static bool may_postpone(const struct sm *s)
{
    const struct sm_phase *phase = sm_run_phase(s);
    uint32_t most = s->run.from_background ? POSTPONED_MOST_BACKGROUND : POSTPONED_MOST;
    bool optional = s->run.round->engine != SM_ENGINE_IF_NEEDED;
    enum sm_yields least = s->run.same ? SM_YIELDS_UNCHANGED
                           : optional  ? SM_YIELDS_OPTIONAL
                                       : SM_YIELDS;
    return phase && phase->yields >= least && !sm_sweep_overdue(s) && s->core->postponed < most;
}

void sm_round_postpone(struct sm *s)
{
    const struct sm_round *round = s->run.round;
    if (!may_postpone(s) || sm_probes_wait(s))
        return;
    s->core->postponed++;
    if (round->postponed)
        round->postponed(s, sm_waiters_any(s));
    else if (round->scoped)
        sm_request_targets(s, &s->run.suspects);
    else
        sm_request(s, round->meets);
    sm_waiters_postpone(s);
    sm_run_abort(s);
}

void sm_round_repeat(struct sm *s)
{
    const struct sm_phase *phase = sm_run_phase(s);
    if (!phase || !phase->restarts || !s->run.round->scoped || s->run.round->reads_only ||
        s->core->restarts >= RESTARTS_MOST)
        return;
    s->core->restarts++;
    sm_cause_carry_over(s);
    sm_request_targets(s, &s->run.suspects);
    sm_run_abort(s);
}

void sm_round_restart_with(struct sm *s, uint64_t node_guid)
{
    if (!sm_guids_have(&s->run.suspects, node_guid))
        sm_round_repeat(s);
}

/* Called after a trap has caused the request for a targeted sweep. The targeted sweep finds the
 * change sooner than a running light sweep, so the light sweep is aborted and requested again. */
void sm_round_drop_light(struct sm *s)
{
    if (!sm_run_busy(s) || !s->run.round->light || s->core->light_dropped >= RESTARTS_MOST)
        return;
    s->core->light_dropped++;
    sm_request(s, SM_REQUEST_LIGHT);
    sm_run_abort(s);
}

void sm_round_widen(struct sm *s)
{
    sm_cause_carry_over(s);
    s->core->widens = true;
    sm_request_heavy(s);
}

/* ---- the alarm ------------------------------------------------------------------------------- */

void sm_alarm_set(struct sm *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->core->alarm, sizeof(s->core->alarm), fmt, ap);
    va_end(ap);
}

void sm_alarm_clear(struct sm *s)
{
    s->core->alarm[0] = 0;
}

const char *sm_alarm(const struct sm *s)
{
    return s->core->alarm;
}

/* ---- init and fini --------------------------------------------------------------------------- */

static void on_settle(void *ctx)
{
    sm_schedule(ctx);
}

uint64_t sm_uptime_us(const struct sm *s)
{
    return clock_now_us() - s->core->created_us;
}

int sm_core_init(struct sm *s)
{
    s->core = calloc(1, sizeof(*s->core));
    if (!s->core)
        return FAB_E_NOMEM;
    s->run.round = &s->wiring->rounds[SM_ROUND_NONE];
    s->core->created_us = clock_now_us();
    s->core->settle_timer = loop_timer_new(s->in.loop, on_settle, s);
    int r = s->core->settle_timer ? sm_runner_init(s) : FAB_E_NOMEM;
    if (r == FAB_OK)
        r = sm_pace_init(s);
    if (r == FAB_OK)
        r = sm_freeze_init(s);
    if (r == FAB_OK)
        r = sm_trap_limit_init(s);
    if (r == FAB_OK)
        r = sm_trap_forward_init(s);
    if (r == FAB_OK)
        r = sm_violations_init(s);
    return r == FAB_OK ? sm_requests_init(s) : r;
}

void sm_core_stop(struct sm *s)
{
    if (s->core)
        sm_phase_task_orphan(s);
}

void sm_core_fini(struct sm *s)
{
    if (!s->core)
        return;
    sm_freeze_fini(s);
    sm_pace_fini(s);
    sm_trap_limit_fini(s);
    sm_trap_forward_fini(s);
    sm_violations_fini(s);
    sm_runner_fini(s);
    sm_requests_fini(s);
    loop_timer_free(s->core->settle_timer);
    fab_base_map_fini(&s->core->key_paths);
    free(s->core);
    s->core = NULL;
}
