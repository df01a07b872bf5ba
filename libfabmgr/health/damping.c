/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Holding down what flaps, as the ports of routers have it since RFC 2439, but with plain doubling
 * in place of a penalty that decays: operators can foretell it. Who falls too often is held; who
 * falls again after a hold, before it was up and free as long as the longest hold, is held at once
 * and for twice as long; who was up and free that long begins anew.
 */
#include "libfabmgr/health/damping.h"

uint32_t fab_health_damping_flap_count(const struct fab_damping *d)
{
    return d->falls < FAB_DAMPING_FLAPS ? (uint32_t)d->falls : FAB_DAMPING_FLAPS;
}

uint64_t fab_health_damping_flap_time(const struct fab_damping *d, uint32_t back)
{
    return d->fall_us[(d->falls - 1 - back) % FAB_DAMPING_FLAPS];
}

/* Falls of late that count. */
static uint32_t recent(const struct fab_damping *d, uint64_t within_us, uint64_t now_us)
{
    uint32_t count = fab_health_damping_flap_count(d), n = 0;
    while (n < count && n < d->falls - d->forgiven &&
           now_us - fab_health_damping_flap_time(d, n) <= within_us)
        n++;
    return n;
}

/* Up for long enough that former holds count no more. */
static bool is_good_again(const struct fab_damping *d, const struct fab_damping_rule *rule,
                          uint64_t now_us)
{
    uint64_t since = d->up_us > d->free_us ? d->up_us : d->free_us;
    return d->free_us == 0 || (d->up_us != 0 && now_us - since >= rule->most_us);
}

static void hold(struct fab_damping *d, const struct fab_damping_rule *rule, bool again)
{
    uint64_t twice = d->hold_us > rule->most_us / 2 ? rule->most_us : d->hold_us * 2;
    d->hold_us = again && twice > rule->hold_us ? twice : rule->hold_us;
    d->held = true;
}

bool fab_health_damping_down(struct fab_damping *d, const struct fab_damping_rule *rule,
                             uint64_t now_us)
{
    if (d->up_us == 0 && d->falls > 0)
        return false;
    bool again = !is_good_again(d, rule, now_us);
    d->fall_us[d->falls++ % FAB_DAMPING_FLAPS] = now_us;
    d->up_us = 0;
    if (d->held || (!again && recent(d, rule->within_us, now_us) < rule->falls))
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
    return d->held && d->up_us != 0 ? d->up_us + d->hold_us : 0;
}

void fab_health_damping_release(struct fab_damping *d, uint64_t now_us)
{
    d->held = false;
    d->free_us = now_us;
    d->forgiven = d->falls;
}

void fab_health_damping_reset(struct fab_damping *d)
{
    d->held = false;
    d->free_us = d->hold_us = 0;
    d->forgiven = d->falls;
}

bool fab_health_damping_is_clear(const struct fab_damping *d, const struct fab_damping_rule *rule,
                                 uint64_t now_us)
{
    return !d->held && is_good_again(d, rule, now_us) && recent(d, rule->within_us, now_us) == 0;
}
