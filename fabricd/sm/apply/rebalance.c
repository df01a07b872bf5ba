/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rebalances the routes: an engine computes new tables, because the tables of local repairs do not
 * spread traffic as evenly as those of an engine.
 *
 * A rebalance starts when local repairs have displaced entries and then nothing has changed for
 * routing.rebalance_after seconds, the quiet time; or when an operator requests it. The new tables
 * replace the active tables only if their congestion product is lower. The congestion product is
 * the maximum link load of all-to-all traffic, times the number of flows on the most loaded channel
 * in the worst shift permutation. With "routing.engine: auto", the manager compares engines by this
 * product, too, divided by bandwidths (libfabmgr/study/choose_engine.h). The new tables are proved
 * like all others.
 *
 * The writes must also have an order for which three things hold: no mixture of old and new entries
 * has a forwarding loop or a cycle of channel dependencies, no destination is drained, and hosts
 * may keep the SLs that path records gave them. libfabmgr/transition finds this order from the
 * active tables. Phase "planning" makes it again from the tables that the switches really hold.
 *
 * A trap ends a rebalance that computes routes, plans writes or writes tables, so that it does not
 * delay the repair after a fault. If the rebalance ends before its first write, the tables that
 * were active before are restored (route.c). After the first write, the rebalance may end after any
 * further write, because every mixture that this order of the writes permits is safe. The sweep
 * after the trap completes or replaces the tables.
 *
 * A rebalance also programs the tables that the polish has made of the active ones (polish.c). No
 * engine runs then, and the quiet time and RATE do not apply.
 *
 * A rebalance also follows if the manager has adopted the tables that the switches held, and in two
 * similar cases (sm_apply.adopted).
 *
 * The timer starts a rebalance at the earliest RATE times the quiet time after the last one that
 * replaced the tables. If the new tables were no better, the engine does not run again until the
 * active tables change.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/base/plural.h"
#include "libfabmgr/study/quality.h"
#include "libfabmgr/transition/transition.h"

#define RATE 10

static uint64_t quiet_us(const struct sm *s)
{
    return (uint64_t)s->in.config->rebalance_s * 1000000;
}

uint64_t sm_rebalance_entries(const struct sm *s)
{
    return sm_repair_ready(s) ? fab_repair_overlay_size(s->apply->repair.session.state) : 0;
}

bool sm_rebalance_due(const struct sm *s, uint64_t *ret_at_us)
{
    const struct sm_rebalance *b = &s->apply->rebalance;
    if (quiet_us(s) == 0 || b->judged == s->apply->generation ||
        (sm_rebalance_entries(s) == 0 && !s->apply->adopted))
        return false;
    uint64_t quiet = b->changed_us + quiet_us(s), next = b->ended_us + RATE * quiet_us(s);
    *ret_at_us = b->ended_us > 0 && next > quiet ? next : quiet;
    return true;
}

void sm_rebalance_prepare(struct sm *s)
{
    uint64_t at = 0, now = clock_now_us();
    if (!sm_is_master(s) || sm_is_requested(s, SM_REQUEST_REBALANCE) || !sm_rebalance_due(s, &at))
        return;
    /* A rebalance is due, but freeze.c keeps its request until the manager is resumed. The timer is
     * not set, because it would fire at once, again and again. */
    if (at <= now && sm_is_frozen(s))
        return;
    if (!loop_timer_pending(s->apply->rebalance.timer))
        loop_timer_set(s->apply->rebalance.timer, at > now ? at - now : 0);
}

static void on_time(void *ctx)
{
    struct sm *s = ctx;
    uint64_t at = 0;
    if (sm_run_busy(s) || !sm_rebalance_due(s, &at))
        /* sm_rebalance_ended, which is called at the end of each round, sets the timer again if a
         * rebalance is due then */
        return;
    if (clock_now_us() >= at)
        sm_request(s, SM_REQUEST_REBALANCE);
    else
        sm_request_met(s, SM_REQUEST_REBALANCE);
    sm_rebalance_prepare(s);
    sm_schedule(s);
}

void sm_rebalance_begun(struct sm *s)
{
    struct sm_rebalance *b = &s->apply->rebalance;
    if (sm_polish_waits(s))
        snprintf(s->run.cause, sizeof(s->run.cause), "polish in the background");
    else if (b->asked)
        snprintf(s->run.cause, sizeof(s->run.cause), "rebalance, on request");
    else
        snprintf(s->run.cause, sizeof(s->run.cause), "rebalance, after %u s of quiet",
                 s->in.config->rebalance_s);
    b->asked = false;
    b->outcome[0] = 0;
}

/* Called when a fault has postponed a rebalance. If a caller waits for it, the rebalance is
 * requested again at once, otherwise by the timer after the next quiet time. */
void sm_rebalance_postponed(struct sm *s, bool awaited)
{
    s->apply->rebalance.asked = awaited;
    if (awaited)
        sm_request(s, SM_REQUEST_REBALANCE);
    else
        sm_request_met(s, SM_REQUEST_REBALANCE);
}

const char *sm_rebalance_outcome(const struct sm *s)
{
    return s->apply->rebalance.outcome;
}

int sm_rebalance(struct sm *s, sm_done *done, void *ctx)
{
    int r = sm_wait(s, SM_ROUND_REBALANCE, done, ctx);
    if (r != FAB_OK)
        return r;
    sm_request(s, SM_REQUEST_REBALANCE);
    s->apply->rebalance.asked = true;
    sm_schedule(s);
    return FAB_OK;
}

/* Called after a trap or a fault. The quiet time begins again. A running rebalance that has not
 * sent a write yet is postponed; a rebalance that has sent writes sends no more. */
void sm_rebalance_yield(struct sm *s)
{
    s->apply->rebalance.changed_us = clock_now_us();
    if (!sm_run_busy(s) || s->run.round->engine != SM_ENGINE_IF_BETTER)
        return;
    if (sm_run_phase(s) == &sm_phase_route || sm_run_phase(s) == &sm_phase_plan)
        sm_round_postpone(s);
    if (sm_run_busy(s) &&
        (sm_run_phase(s) == &sm_phase_program || sm_run_phase(s) == &sm_phase_plan)) {
        snprintf(s->apply->rebalance.outcome, sizeof(s->apply->rebalance.outcome),
                 "a fault stopped the rebalance; it continues with the sweep after the repair");
        sm_run_phase(s) == &sm_phase_plan ? sm_plan_stop(s) : sm_program_stop(s);
    }
}

void sm_rebalance_ended(struct sm *s, int status)
{
    const struct reroute *c = &s->run.changed;
    bool changed = c->links_lost + c->links_gained + c->nodes_lost + c->nodes_gained > 0;
    if (s->run.round->light)
        changed = sm_fault_waits(s);
    bool rebalanced = s->run.round->engine == SM_ENGINE_IF_BETTER;
    bool complete = rebalanced && status == FAB_OK && !s->apply->program.stopped;
    if (rebalanced && sm_polish_ended(s, complete))
        rebalanced = complete = false; /* no engine ran */
    if (rebalanced && s->run.computed)
        s->apply->rebalance.ended_us = clock_now_us();
    if (complete)
        s->apply->rebalance.judged = s->apply->generation;
    if (changed || status != FAB_OK)
        s->apply->rebalance.changed_us = clock_now_us();
    sm_rebalance_prepare(s);
}

/* ---- comparing the tables -------------------------------------------------------------------- */

static bool is_stopped(void *ctx)
{
    return loop_task_is_cancelled(ctx);
}

static int score(const struct fab_fabric *f, const struct fab_target *t, struct loop_task *task,
                 uint64_t *ret)
{
    const struct fab_quality_input in = {.fabric = f,
                                         .lids = &t->lids,
                                         .lft = &t->lft,
                                         .seed = 1,
                                         .stopped = is_stopped,
                                         .stopped_ctx = task};
    struct fab_quality q;
    int r = fab_study_quality_measure(&in, &q);
    *ret = q.all.max * q.shift.max;
    return r;
}

int sm_rebalance_weigh(const struct fab_fabric *f, const struct fab_target *active,
                       const struct fab_target *fresh, struct loop_task *task, struct sm_gain *ret)
{
    *ret = (struct sm_gain){.same = fab_target_lft_same(&active->lft, &fresh->lft)};
    int r = ret->same ? FAB_OK : score(f, active, task, &ret->was);
    return r != FAB_OK || ret->same ? r : score(f, fresh, task, &ret->now);
}

int sm_rebalance_order(const struct fab_fabric *f, const struct fab_target *active,
                       const struct fab_target *fresh, const struct fab_pool *pool,
                       struct sm_gain *gain)
{
    const struct fab_transition_input in = {.fabric = f,
                                            .lids = &fresh->lids,
                                            .old_lft = &active->lft,
                                            .new_lft = &fresh->lft,
                                            .old_vls = &active->vls,
                                            .new_vls = &fresh->vls,
                                            .pool = pool,
                                            .visits = SM_TRANSITION_VISITS};
    struct fab_transition t = {0};
    int r = fab_transition_make(&in, &t);
    if (r != FAB_OK)
        return r;
    gain->unsafe =
        t.verdict > FAB_TRANSITION_STEPS || t.lost_pairs > 0 || t.stale_sls || t.unproven_lanes;
    fab_transition_fini(&t);
    return FAB_OK;
}

void sm_rebalance_objection(const struct sm_gain *gain, const char *why, char ret[SM_OBJECTION_LEN])
{
    if (why)
        snprintf(ret, SM_OBJECTION_LEN, "no engine has other tables (%.150s)", why);
    else if (gain->same)
        snprintf(ret, SM_OBJECTION_LEN, "the tables are already the engine's");
    else if (gain->unsafe)
        snprintf(ret, SM_OBJECTION_LEN,
                 "no order of the table writes is free of deadlocks without dropping packets "
                 "(congestion product %" PRIu64 ", active tables %" PRIu64 ")",
                 gain->now, gain->was);
    else
        snprintf(ret, SM_OBJECTION_LEN,
                 "the engine's tables spread traffic no better (congestion product %" PRIu64
                 ", active tables %" PRIu64 ")",
                 gain->now, gain->was);
}

void sm_rebalance_skipped(struct sm *s, const struct sm_gain *gain, const char *why)
{
    char reason[SM_OBJECTION_LEN];
    sm_rebalance_objection(gain, why, reason);
    snprintf(s->apply->rebalance.outcome, sizeof(s->apply->rebalance.outcome),
             "rebalance skipped: %s", reason);
    event_emit(s->in.bus, rebalance_skipped, .subject = "fabric", .reason = reason);
}

void sm_rebalance_report(struct sm *s)
{
    const struct sm_programming *p = &s->apply->program;
    const struct sm_gain *gain = &s->apply->rebalance.gain;
    uint64_t duration_us = clock_now_us() - s->run.started_us;
    snprintf(s->apply->rebalance.outcome, sizeof(s->apply->rebalance.outcome),
             "rebalanced in %.1f ms: congestion product %" PRIu64 ", before %" PRIu64
             "; %u entr%s in %u block%s on %u switch%s",
             (double)duration_us / 1e3, gain->now, gain->was, p->entries,
             fab_base_plural(p->entries, "y", "ies"), p->blocks, fab_base_plural_s(p->blocks),
             p->switches, fab_base_plural_es(p->switches));
    event_emit(s->in.bus, rebalance_done, .subject = "fabric", .duration_us = duration_us,
               .load = gain->now, .load_before = gain->was, .entries = p->entries,
               .blocks = p->blocks, .switches = p->switches);
}

int sm_rebalance_init(struct sm *s)
{
    s->apply->rebalance.timer = loop_timer_new(s->in.loop, on_time, s);
    return s->apply->rebalance.timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_rebalance_fini(struct sm *s)
{
    loop_timer_free(s->apply->rebalance.timer);
}
