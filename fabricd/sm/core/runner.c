/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs rounds. While a phase runs, the runner gets requests from the phase and passes them to the
 * MAD session. It counts the unanswered requests, and enters the next phase when the running one is
 * finished.
 *
 * A phase never ends inside a callback of the MAD session. The callback only sets a timer, and the
 * phase ends in the next iteration of the loop. So no function of a phase can be called while
 * another function of the phase is running.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/status.h"

/* Interval at which the runner calls the function `stalled` of the running phase. */
#define STALL_US 10000u
/* Interval at which a round in standby gets its next share of subnet.standby_rate. */
#define BUDGET_US 10000u

bool sm_run_busy(const struct sm *s)
{
    return s->core->phases != NULL;
}

const struct sm_phase *sm_run_phase(const struct sm *s)
{
    return s->core->phases ? *s->core->phases : NULL;
}

uint32_t sm_run_outstanding(const struct sm *s)
{
    return s->core->outstanding;
}

static bool finished(const struct sm *s)
{
    const struct sm_phase *phase = sm_run_phase(s);
    return phase && s->core->outstanding == 0 && (!phase->finished || phase->finished(s));
}

void sm_run_check(struct sm *s)
{
    if (!loop_timer_pending(s->core->advance) && finished(s))
        loop_timer_set(s->core->advance, 0);
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *answer)
{
    struct sm *s = ctx;
    s->core->outstanding--;
    s->core->answered = true;
    sm_run_phase(s)->answer(s, tag, answer);
    if (s->core->outstanding == 0)
        sm_run_check(s);
}

static bool next_of_phase(struct sm *s, struct fab_mads_request *ret)
{
    const struct sm_phase *phase = sm_run_phase(s);
    ret->mgmt_class = FAB_CLASS_SMP_DIRECTED;
    ret->method = FAB_METHOD_GET;
    ret->dlid = 0xffff;
    ret->done = on_answer;
    ret->ctx = s;
    if (!phase || !phase->next || !phase->next(s, ret)) {
        sm_run_check(s);
        return false;
    }
    if (ret->method == FAB_METHOD_GET)
        memset(ret->data, 0, sizeof(ret->data));
    if (!phase->keyed)
        sm_m_key_fill(s, ret);
    s->core->outstanding++;
    return true;
}

/* Sets how many requests a round in standby may send until budget_timer fires the next time. */
static void set_budget(struct sm *s)
{
    uint64_t rate = s->in.config->managers.standby_rate, per_s = 1000000 / BUDGET_US;
    s->core->budget = rate > per_s ? (uint32_t)(rate / per_s) : 1;
    loop_timer_set(s->core->budget_timer, rate > 0 && rate < per_s ? 1000000 / rate : BUDGET_US);
}

static void on_budget(void *ctx)
{
    struct sm *s = ctx;
    if (!sm_run_busy(s) || !s->run.round->standby)
        return;
    set_budget(s);
    sm_run_pump(s);
}

static bool next_in_standby(struct sm *s, struct fab_mads_request *ret)
{
    if (s->core->budget == 0 || !next_of_phase(s, ret))
        return false;
    s->core->budget--;
    return true;
}

/* Supplies the next request to the MAD session. MFT requests come first if only few of them are
 * left, except during a local repair. Then come the requests of the running round, all other MFT
 * requests, and the requests of a background heavy sweep and of the scrub. In a round in standby or
 * a round with `alone`, only the requests of the round are sent. */
static bool next_request(void *ctx, struct fab_mads_request *ret)
{
    struct sm *s = ctx;
    bool urgent = sm_run_busy(s) && s->run.round->probes;
    if (sm_run_busy(s) && s->run.round->standby)
        return next_in_standby(s, ret);
    if (sm_run_busy(s) && s->run.round->alone)
        return next_of_phase(s, ret);
    return (!urgent && s->wiring->first_requests(s, ret)) || next_of_phase(s, ret) ||
           s->wiring->last_requests(s, ret);
}

void sm_run_pump(struct sm *s)
{
    fab_mads_source(s->mads, next_request, s);
    agent_pump(s->agent);
}

void sm_run_give_up(struct sm *s)
{
    fab_mads_cancel(s->mads, s);
    s->core->outstanding = 0;
    sm_run_pump(s);
    sm_run_check(s);
}

void sm_run_give_up_if(struct sm *s, fab_mads_match *matches, void *arg)
{
    s->core->outstanding -= fab_mads_cancel_if(s->mads, s, matches, arg);
    sm_run_check(s);
}

static void watch_stall(struct sm *s)
{
    const struct sm_phase *phase = sm_run_phase(s);
    if (phase && phase->stalled && !loop_timer_pending(s->core->stall))
        loop_timer_set(s->core->stall, STALL_US);
}

static void on_stall(void *ctx)
{
    struct sm *s = ctx;
    struct sm_core *c = s->core;
    const struct sm_phase *phase = sm_run_phase(s);
    c->stalled_us = c->answered ? 0 : c->stalled_us + STALL_US;
    c->answered = false;
    if (phase && phase->stalled && c->outstanding > 0 && c->stalled_us > 0)
        phase->stalled(s, c->stalled_us);
    watch_stall(s);
}

static void begin_phase(struct sm *s)
{
    s->core->answered = true;
    s->core->stalled_us = 0;
    sm_run_pump(s);
    watch_stall(s);
    sm_run_check(s);
}

/* Enters the phase. If enter() fails or ends the round, also ends the measurement of the phase's
 * time. */
static int enter_phase(struct sm *s, const struct sm_phase *phase)
{
    loop_at(s->in.loop, phase->name);
    sm_phase_time_begin(s);
    int r = phase->enter ? phase->enter(s) : FAB_OK;
    if (r != FAB_OK)
        sm_phase_time_end(s);
    return r;
}

static void end_round(struct sm *s, int status)
{
    s->core->phases = NULL;
    sm_round_ended(s, status);
}

/* Enters the next phase of the round. If a port probe is requested after that, postpones the round,
 * unless the new phase must not be interrupted. */
static int enter_next(struct sm *s, const struct sm_phase *next)
{
    log_debug("sm", "%s", next->name);
    s->core->phases++;
    int r = enter_phase(s, next);
    if (r == FAB_OK && s->core->probes.count > 0)
        sm_round_postpone(s);
    return r;
}

/* If the running phase is finished, leaves it and enters the next phase. The runner enters only one
 * phase in an iteration of the event loop, so that other work of the loop is not delayed. */
static void advance(void *ctx)
{
    struct sm *s = ctx;
    if (finished(s)) {
        const struct sm_phase *phase = sm_run_phase(s);
        loop_at(s->in.loop, phase->name);
        int r = phase->leave ? phase->leave(s) : FAB_OK;
        const struct sm_phase *next = s->core->phases[1];
        sm_phase_time_end(s);
        if (r == FAB_OK && next)
            r = enter_next(s, next);
        /* no round runs any more: a port probe was requested, so enter_next has postponed the
         * round */
        if (r == FAB_OK && !sm_run_busy(s)) {
            sm_schedule(s);
            return;
        }
        if (r != FAB_OK || !next) {
            loop_at(s->in.loop, "ending a round");
            end_round(s, r < 0 ? r : FAB_OK);
            return;
        }
    }
    begin_phase(s);
}

void sm_run_start(struct sm *s, enum sm_round_kind kind)
{
    struct fab_mads_stats stats;
    fab_mads_stats(s->mads, &stats);
    struct sm_run *run = &s->run;
    run->round = &s->wiring->rounds[kind];
    run->from_background = run->same = run->computed = run->by_contingency = false;
    run->started_us = clock_now_us();
    run->sent_before = stats.sent;
    run->follows = 0;
    run->known_us = run->computed_us = run->proved_us = 0;
    run->changed = (struct reroute){0};
    s->core->outstanding = 0;
    s->core->phases = run->round->phases;
    log_debug("sm", "%s begins", run->round->name);
    sm_pace_begun(s);
    sm_requests_begun(s);
    if (run->round->standby)
        set_budget(s);
    int r = enter_phase(s, sm_run_phase(s));
    if (r != FAB_OK) {
        end_round(s, r < 0 ? r : FAB_OK);
        return;
    }
    begin_phase(s);
}

void sm_run_abort(struct sm *s)
{
    const struct sm_phase *phase = sm_run_phase(s);
    sm_phase_time_end(s);
    fab_mads_cancel(s->mads, s);
    loop_timer_cancel(s->core->advance);
    s->core->outstanding = 0;
    s->core->phases = NULL;
    sm_phase_task_abort(s);
    if (phase && phase->abort)
        phase->abort(s);
}

int sm_runner_init(struct sm *s)
{
    s->core->advance = loop_timer_new(s->in.loop, advance, s);
    s->core->stall = loop_timer_new(s->in.loop, on_stall, s);
    s->core->budget_timer = loop_timer_new(s->in.loop, on_budget, s);
    return s->core->advance && s->core->stall && s->core->budget_timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_runner_fini(struct sm *s)
{
    loop_timer_free(s->core->advance);
    loop_timer_free(s->core->stall);
    loop_timer_free(s->core->budget_timer);
}
