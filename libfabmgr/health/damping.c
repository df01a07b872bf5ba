/* SPDX-License-Identifier: BSD-3-Clause */
/* Flap damping as in RFC 2439, with one difference: the hold-down time doubles, instead of
 * following a decaying penalty, because operators can predict such a time. A link that flaps too
 * often is held down. If the link flaps again after its release, it is held down at once, for twice
 * as long. If the link stays up for max_hold_down_us after its release, it is judged like a new
 * link again. */
#include "libfabmgr/health/damping.h"

uint32_t fab_health_damping_flap_count(const struct fab_damping *d)
{
    return d->flaps < FAB_DAMPING_FLAPS ? (uint32_t)d->flaps : FAB_DAMPING_FLAPS;
}

uint64_t fab_health_damping_flap_time(const struct fab_damping *d, uint32_t back)
{
    return d->flap_us[(d->flaps - 1 - back) % FAB_DAMPING_FLAPS];
}

/* Returns the number of flaps in the last `within_us` microseconds, but does not count the first
 * d->discounted flaps of the link. */
static uint32_t recent(const struct fab_damping *d, uint64_t within_us, uint64_t now_us)
{
    uint32_t count = fab_health_damping_flap_count(d), n = 0;
    while (n < count && n < d->flaps - d->discounted &&
           now_us - fab_health_damping_flap_time(d, n) <= within_us)
        n++;
    return n;
}

/* Returns true if no hold-down of the link has ended, or if the link has been up for
 * max_hold_down_us since the end of the last one. The next hold-down then has the shortest time. */
static bool is_good_again(const struct fab_damping *d, const struct fab_damping_rule *rule,
                          uint64_t now_us)
{
    uint64_t since = d->up_us > d->released_us ? d->up_us : d->released_us;
    return d->released_us == 0 || (d->up_us != 0 && now_us - since >= rule->max_hold_down_us);
}

static void hold(struct fab_damping *d, const struct fab_damping_rule *rule, bool again)
{
    uint64_t twice =
        d->hold_down_us > rule->max_hold_down_us / 2 ? rule->max_hold_down_us : d->hold_down_us * 2;
    d->hold_down_us = again && twice > rule->hold_down_us ? twice : rule->hold_down_us;
    d->held = true;
}

bool fab_health_damping_down(struct fab_damping *d, const struct fab_damping_rule *rule,
                             uint64_t now_us)
{
    if (d->up_us == 0 && d->flaps > 0)
        return false;
    bool again = !is_good_again(d, rule, now_us);
    d->flap_us[d->flaps++ % FAB_DAMPING_FLAPS] = now_us;
    d->up_us = 0;
    if (d->held || (!again && recent(d, rule->within_us, now_us) < rule->flaps))
        return false;
    hold(d, rule, again);
    return true;
}

void fab_health_damping_up(struct fab_damping *d, uint64_t now_us)
{
    if (d->up_us == 0)
        d->up_us = now_us;
}

uint64_t fab_health_damping_due(const struct fab_damping *d)
{
    return d->held && d->up_us != 0 ? d->up_us + d->hold_down_us : 0;
}

void fab_health_damping_release(struct fab_damping *d, uint64_t now_us)
{
    d->held = false;
    d->released_us = now_us;
    d->discounted = d->flaps;
}

void fab_health_damping_reset(struct fab_damping *d)
{
    d->held = false;
    d->released_us = d->hold_down_us = 0;
    d->discounted = d->flaps;
}

bool fab_health_damping_is_clear(const struct fab_damping *d, const struct fab_damping_rule *rule,
                                 uint64_t now_us)
{
    return !d->held && is_good_again(d, rule, now_us) && recent(d, rule->within_us, now_us) == 0;
}
