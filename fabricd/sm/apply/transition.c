/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emits events about the change from old to new tables: paths-paused and paths-resumed if some
 * pairs lose their path for a while, and transition-unproved if there is no proof that all mixtures
 * of old and new tables are free of loops and of cycles of channel dependencies.
 *
 * Between two rounds of a transition, the manager pauses until packets in flight have left the
 * fabric. Some pairs may have no path during this pause, so it must be short. A pause of a few
 * times HOQLife would be safe, because a switch discards a packet that has waited for HOQLife at
 * the head of a queue. But HOQLife is 1 s by default, so the manager waits at most SETTLE_MOST_US.
 * Packets usually leave within microseconds, or within a few milliseconds if there is congestion.
 */
#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/sm/apply/state.h"
#include "libfabmgr/transition/plan_order.h"

#define SETTLE_MOST_US 10000u
/* the greatest HOQLife whose time, 4.096 us * 2^HOQLife, is shorter than SETTLE_MOST_US */
#define HOQ_LIFE_LONGEST 11u

uint64_t sm_transition_settle_us(const struct sm *s)
{
    uint8_t life =
        s->policy.hoq_life > s->policy.leaf_hoq_life ? s->policy.hoq_life : s->policy.leaf_hoq_life;
    return life > HOQ_LIFE_LONGEST ? SETTLE_MOST_US : (UINT64_C(4096) << life) / 1000 + 1;
}

static const char *reason_of(const struct fab_transition_outcome *o)
{
    if (o->verdict == FAB_TRANSITION_OLD_CYCLE)
        return "the tables in the switches have a cycle of channel dependencies, perhaps only with "
               "the new SL-to-VL tables";
    if (o->verdict == FAB_TRANSITION_NEW_CYCLE)
        return "the new tables have a cycle of channel dependencies with the SLs that hosts use "
               "now";
    return o->stale_sls
               ? "the new tables have a cycle of channel dependencies while some hosts use "
                 "old SLs and others use new SLs"
               : "mixtures of old and new SL-to-VL tables may have a cycle of channel "
                 "dependencies";
}

void sm_transition_begin(struct sm *s, const struct fab_transition_outcome *o, bool by_labels,
                         uint64_t order_us)
{
    struct sm_programming *p = &s->apply->program;
    if (o->verdict == FAB_TRANSITION_NOTHING)
        return;
    log_debug(
        "sm", "ordered by=%s verdict=%s steps=%u rounds=%u drained=%u lost_pairs=%llu ms=%.1f",
        by_labels ? "labels" : "dependencies", fab_transition_verdict_name(o->verdict), o->steps,
        o->rounds, o->drained, (unsigned long long)o->lost_pairs, (double)order_us / 1e3);
    p->lost_pairs = o->lost_pairs;
    if (!fab_transition_outcome_proved(o))
        event_emit(s->in.bus, transition_unproved, .subject = "fabric", .reason = reason_of(o),
                   .pairs = o->sl_pairs);
    if (o->lost_pairs > 0)
        event_emit(s->in.bus, paths_paused, .subject = "fabric", .pairs = o->lost_pairs,
                   .drained = o->drained, .rounds = o->rounds);
}

void sm_transition_repair(struct sm *s, uint64_t lost_pairs, uint32_t drained, uint32_t rounds)
{
    struct sm_programming *p = &s->apply->program;
    uint32_t end = p->plan.stage_start[FAB_STAGE_COUNT];
    if (lost_pairs == 0)
        return;
    p->lost_pairs = lost_pairs;
    p->plan.lossy_first = 0;
    while (p->plan.lossy_first < end && (p->plan.ops[p->plan.lossy_first].attr_id != FAB_ATTR_LFT ||
                                         p->plan.ops[p->plan.lossy_first].drain == 0))
        p->plan.lossy_first++;
    p->plan.lossy_end = end;
    event_emit(s->in.bus, paths_paused, .subject = "fabric", .pairs = lost_pairs,
               .drained = drained, .rounds = rounds);
}

void sm_transition_sending(struct sm *s, uint32_t op)
{
    struct sm_programming *p = &s->apply->program;
    if (op < p->plan.lossy_end && op >= p->plan.lossy_first && !p->lossy_us)
        p->lossy_us = clock_now_us();
    else if (op >= p->plan.lossy_end && p->lossy_us && !p->lost_us)
        p->lost_us = clock_now_us() - p->lossy_us;
}

void sm_transition_ended(struct sm *s)
{
    struct sm_programming *p = &s->apply->program;
    if (p->lossy_us && !p->lost_us)
        p->lost_us = clock_now_us() - p->lossy_us;
    if (p->lossy_us)
        event_emit(s->in.bus, paths_resumed, .subject = "fabric", .pairs = p->lost_pairs,
                   .duration_us = p->lost_us, .failed = p->failed);
}

static void on_settled(void *ctx)
{
    struct sm *s = ctx;
    if (!sm_run_busy(s))
        return;
    sm_run_pump(s);
    sm_run_check(s);
}

int sm_transition_init(struct sm *s)
{
    s->apply->settle = loop_timer_new(s->in.loop, on_settled, s);
    return s->apply->settle ? FAB_OK : FAB_E_NOMEM;
}

void sm_transition_fini(struct sm *s)
{
    loop_timer_free(s->apply->settle);
}
