/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The runner of rounds. It is the source of the session's requests while a phase runs, counts what
 * is unanswered, and goes on to the next phase when the running one is finished.
 *
 * A phase never ends inside a callback of the session: the end is noticed there and acted upon in
 * the next turn of the loop, so that no phase has to think about being called from within itself.
 */
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/private.h"

static bool finished(const struct sm *s)
{
    const struct sm_phase *phase = sm_run_phase(s);
    return phase && s->run.outstanding == 0 && (!phase->finished || phase->finished(s));
}

void sm_run_check(struct sm *s)
{
    if (!loop_timer_pending(s->run.advance) && finished(s))
        loop_timer_set(s->run.advance, 0);
}

static void run_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *answer)
{
    struct sm *s = ctx;
    s->run.outstanding--;
    s->run.answered = true;
    sm_run_phase(s)->answer(s, tag, answer);
    if (s->run.outstanding == 0)
        sm_run_check(s);
}

static bool run_next(void *ctx, struct fab_mads_request *ret)
{
    struct sm *s = ctx;
    const struct sm_phase *phase = sm_run_phase(s);
    ret->mgmt_class = FAB_CLASS_SMP_DIRECTED;
    ret->method = FAB_METHOD_GET;
    ret->m_key = s->policy.m_key;
    ret->dlid = 0xffff;
    ret->done = run_answer;
    ret->ctx = s;
    if (!phase || !phase->next || !phase->next(s, ret)) {
        sm_run_check(s);
        return false;
    }
    if (ret->method == FAB_METHOD_GET)
        memset(ret->data, 0, sizeof(ret->data));
    s->run.outstanding++;
    return true;
}

/* What runs beside a round comes after it, but for a few writes of multicast tables. */
static bool any_next(void *ctx, struct fab_mads_request *ret)
{
    struct sm *s = ctx;
    bool mends = s->run.phases && s->run.kind == SM_ROUND_REPAIR;
    return (!mends && sm_mfts_next(s, true, ret)) || run_next(ctx, ret) ||
           sm_mfts_next(s, false, ret) || sm_background_next(ctx, ret);
}

/* The session asks its source again, which may have had nothing a moment ago. */
void sm_run_pump(struct sm *s)
{
    fab_mads_source(s->mads, any_next, s);
    agent_pump(s->agent);
}

void sm_run_give_up(struct sm *s)
{
    fab_mads_cancel(s->mads, s);
    s->run.outstanding = 0;
    sm_run_pump(s);
    sm_run_check(s);
}

/* Phases that do not wait for all tries at what does not answer. */
static void (*stalled(const struct sm *s))(struct sm *)
{
    const struct sm_phase *phase = sm_run_phase(s);
    return phase == &sm_phase_probe                                          ? sm_probe_stalled
           : phase == &sm_phase_program_repair || phase == &sm_phase_program ? sm_program_stalled
                                                                             : NULL;
}

/* Once in a while, as long as one of them runs. */
static void watch_stall(struct sm *s)
{
    if (stalled(s) && !loop_timer_pending(s->run.stall))
        loop_timer_set(s->run.stall, SM_STALL_US);
}

static void on_stall(void *ctx)
{
    struct sm *s = ctx;
    void (*tell)(struct sm *) = stalled(s);
    s->run.stalled_us = s->run.answered ? 0 : s->run.stalled_us + SM_STALL_US;
    s->run.answered = false;
    if (tell && s->run.outstanding > 0 && s->run.stalled_us > 0)
        tell(s);
    watch_stall(s);
}

static void begin_phase(struct sm *s)
{
    s->run.answered = true;
    s->run.stalled_us = 0;
    sm_run_pump(s);
    watch_stall(s);
    sm_run_check(s);
}

static void end_round(struct sm *s, int status)
{
    s->run.phases = NULL;
    sm_round_ended(s, status);
}

/* Leaves a finished phase and enters the next one; the one after that has its own turn of the loop,
 * so that nobody who asks waits for more than one. */
static void advance(void *ctx)
{
    struct sm *s = ctx;
    if (finished(s)) {
        const struct sm_phase *phase = sm_run_phase(s);
        loop_at(s->in.loop, phase->name);
        int r = phase->leave ? phase->leave(s) : FAB_OK;
        const struct sm_phase *next = s->run.phases[1];
        if (r == FAB_OK && next) {
            log_debug("sm", "%s", next->name);
            loop_at(s->in.loop, next->name);
            s->run.phases++;
            r = next->enter ? next->enter(s) : FAB_OK;
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
    s->run.kind = kind;
    s->run.surveyed = false;
    s->run.outstanding = 0;
    s->run.started_us = clock_now_us();
    s->run.sent_before = stats.sent;
    s->run.same = s->run.computed = s->run.at_hand = false;
    s->run.follows = 0;
    s->run.known_us = s->run.computed_us = s->run.proved_us = 0;
    s->run.changed = (struct reroute){0};
    s->run.phases = sm_rounds[kind].phases;
    log_debug("sm", "%s begins", sm_rounds[kind].name);
    sm_round_begun(s);
    const struct sm_phase *first = sm_run_phase(s);
    loop_at(s->in.loop, first->name);
    int r = first->enter ? first->enter(s) : FAB_OK;
    if (r != FAB_OK) {
        end_round(s, r < 0 ? r : FAB_OK);
        return;
    }
    begin_phase(s);
}

void sm_run_abort(struct sm *s)
{
    fab_mads_cancel(s->mads, s);
    loop_timer_cancel(s->run.advance);
    s->run.outstanding = 0;
    s->run.phases = NULL;
    sm_phase_task_abort(s);
    sm_port_abort(s);
}

int sm_run_init(struct sm *s)
{
    s->run.advance = loop_timer_new(s->in.loop, advance, s);
    s->run.stall = loop_timer_new(s->in.loop, on_stall, s);
    return s->run.advance && s->run.stall ? FAB_OK : FAB_E_NOMEM;
}

void sm_run_fini(struct sm *s)
{
    loop_timer_free(s->run.advance);
    loop_timer_free(s->run.stall);
    s->run.advance = s->run.stall = NULL;
}
