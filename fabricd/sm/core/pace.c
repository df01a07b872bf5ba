/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Limits how often the tables change. When racks lose power or start, a thousand devices change
 * within seconds, one after the other; a few changes of the tables then handle all of them.
 *
 * The first changes of the tables are made at once. Each takes a token from a token bucket. When
 * the bucket is empty, the manager collects changes of the fabric for a while; the next change of
 * the tables then handles all of them.
 *
 * - Local repairs: REPAIRS_AT_ONCE without a delay, then one after each pause of REPAIR_EACH_US.
 *   While links keep failing, the pause doubles up to REPAIR_DOUBLINGS times.
 * - Targeted sweeps after traps: SWEEPS_AT_ONCE without a delay, then one after each pause of
 *   SWEEP_EACH_US, which doubles up to SWEEP_DOUBLINGS times. A sweep because of failed links that
 *   no local repair could handle does not wait. While sweeps wait, local repairs do not bring back
 *   links that returned; the next sweep brings them back.
 *
 * A round that does not change the tables takes no token. A targeted sweep that only confirms the
 * result of a repair takes none, either.
 */
#include "fabricd/base/clock.h"
#include "fabricd/sm/core/state.h"
#include "libfabmgr/base/bucket.h"
#include "libfabmgr/base/status.h"

#define REPAIRS_AT_ONCE 16
#define REPAIR_EACH_US 200000u
#define REPAIR_DOUBLINGS 1
#define SWEEPS_AT_ONCE 8
#define SWEEP_EACH_US 1000000u
#define SWEEP_DOUBLINGS 1
/* If the tables change more often than this in quick succession, one summary event replaces the
 * events about single nodes and links. */
#define SINGLE_CHANGES 4

static const struct fab_bucket_rate repair_rate = {REPAIR_EACH_US, REPAIRS_AT_ONCE};
static const struct fab_bucket_rate sweep_rate = {SWEEP_EACH_US, SWEEPS_AT_ONCE};

/* Takes a token after a change of the tables. Returns the time in us for which further changes must
 * wait; 0: they need not wait. */
static uint64_t take(struct sm_pace *p, const struct fab_bucket_rate *rate, uint32_t doublings)
{
    uint64_t now = clock_now_us();
    if (fab_base_bucket_is_full(p->full_us, now))
        p->pauses = 0;
    (void)fab_base_bucket_take(&p->full_us, now, rate);
    if (fab_base_bucket_has(p->full_us, now, rate))
        return 0;
    uint64_t pause_us = rate->each_us << (p->pauses < doublings ? p->pauses : doublings);
    p->pauses++;
    p->full_us = now + pause_us + rate->each_us * (rate->burst - 1);
    return pause_us;
}

static uint64_t generation(const struct sm *s)
{
    return s->model.view ? s->model.view->generation : 0;
}

void sm_pace_begun(struct sm *s)
{
    s->core->generation_before = generation(s);
}

static void begin_pause(struct loop_timer *t, uint64_t pause_us)
{
    if (pause_us > 0)
        loop_timer_set(t, pause_us);
}

void sm_pace_ended(struct sm *s)
{
    struct sm_core *c = s->core;
    const struct sm_round *round = s->run.round;
    if (c->generation_before == 0 || generation(s) == c->generation_before)
        return;
    if (round->probes)
        begin_pause(c->probe_timer, take(&c->repair_pace, &repair_rate, REPAIR_DOUBLINGS));
    else if (round->scoped && !s->run.same)
        begin_pause(c->targets_timer, take(&c->sweep_pace, &sweep_rate, SWEEP_DOUBLINGS));
}

void sm_pace_urgent(struct sm *s)
{
    loop_timer_cancel(s->core->targets_timer);
}

static bool is_used(const struct sm_pace *p, const struct fab_bucket_rate *rate)
{
    const struct fab_bucket_rate few = {rate->each_us, SINGLE_CHANGES};
    return !fab_base_bucket_has(p->full_us, clock_now_us(), &few);
}

bool sm_pace_many(const struct sm *s)
{
    return is_used(&s->core->repair_pace, &repair_rate) ||
           is_used(&s->core->sweep_pace, &sweep_rate);
}

bool sm_probes_wait(const struct sm *s)
{
    return loop_timer_pending(s->core->probe_timer);
}

bool sm_targets_wait(const struct sm *s)
{
    return loop_timer_pending(s->core->targets_timer);
}

static void on_probe_timer(void *ctx)
{
    struct sm *s = ctx;
    if (s->core->probes.count > 0)
        sm_round_postpone(s);
    sm_schedule(s);
}

static void on_targets_timer(void *ctx)
{
    sm_schedule(ctx);
}

int sm_pace_init(struct sm *s)
{
    s->core->probe_timer = loop_timer_new(s->in.loop, on_probe_timer, s);
    s->core->targets_timer = loop_timer_new(s->in.loop, on_targets_timer, s);
    return s->core->probe_timer && s->core->targets_timer ? FAB_OK : FAB_E_NOMEM;
}

void sm_pace_fini(struct sm *s)
{
    loop_timer_free(s->core->probe_timer);
    loop_timer_free(s->core->targets_timer);
}
