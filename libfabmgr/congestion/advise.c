/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gives advice on congestion control, from what counters and congestion logs show.
 *
 * No counter shows the fan-in of an incast, so it is estimated in two ways, each of which gives a
 * lower bound. First, the number of throttled senders is divided by the number of congested
 * endports. If each sender takes part in one incast, at least one endport has this number of
 * senders or more. Second, the congestion log of a sender names the endport to which it sent when
 * it was throttled; the logs that name the same endport are counted. This number can be too low,
 * because a sender makes a log entry only when it reaches the threshold of its table. The observed
 * fan-in is the greater of the two bounds.
 *
 * Marked packets alone are no reason for advice. During an incast, switches mark packets all the
 * time, and the marks keep the senders throttled. This is how congestion control should work: the
 * queues stay short, and no other traffic waits for long. Marked packets lead to advice only if, in
 * addition, no sender is throttled, ports wait for credits for a long time nevertheless, or the
 * fan-in is greater than the settings assume.
 */
#include "libfabmgr/congestion/advise.h"

#include <stdarg.h>
#include <stdio.h>

/* A port counts as waiting for a long time if it waited for credits for at least this part of the
 * time between two readings, in permille. */
#define WAITS_MUCH 200

enum kind { FAN_IN, NOBODY_SLOWED, NOT_HELD, UNSUPPORTED, CHANGED, NOT_APPLIED };
struct advice {
    char (*text)[FAB_CONGESTION_ADVICE_LEN];
    unsigned count;
    uint32_t kinds;
};

__attribute__((format(printf, 3, 4))) static void advise(struct advice *a, enum kind kind,
                                                         const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->text[a->count++], FAB_CONGESTION_ADVICE_LEN, fmt, args);
    va_end(args);
    a->kinds |= 1u << kind;
}

static void advise_fan_in(struct advice *a, const struct fab_congestion_observed *observed,
                          const struct fab_congestion_configured *configured)
{
    uint32_t share =
        observed->congested_endports > 0 ? observed->slowed / observed->congested_endports : 0;
    if (observed->logged_fan_in >= share && observed->logged_fan_in > configured->fan_in)
        advise(a, FAN_IN,
               "congestion logs name %u senders that were throttled for one endport, but the "
               "settings assume %u: set congestion.fan_in to %u or more",
               observed->logged_fan_in, configured->fan_in, observed->logged_fan_in);
    else if (share > configured->fan_in)
        advise(a, FAN_IN,
               "%u senders were throttled for %u endports, about %u for each, but the settings "
               "assume %u: set congestion.fan_in to %u or more",
               observed->slowed, observed->congested_endports, share, configured->fan_in, share);
}

static void advise_controlled(struct advice *a, const struct fab_congestion_observed *observed,
                              const struct fab_congestion_configured *configured)
{
    advise_fan_in(a, observed, configured);
    if (observed->congested_endports > 0 && observed->slowed == 0)
        advise(a, NOBODY_SLOWED,
               "%u endports receive marked packets, but no sender is notified: check whether the "
               "adapters support congestion control and have it enabled",
               observed->congested_endports);
    else if (observed->persistent_endports > 0 && observed->max_wait_permille >= WAITS_MUCH)
        advise(a, NOT_HELD,
               "%u endports receive marked packets all the time, their senders are throttled, yet "
               "%u ports wait for credits, one of them %u %% of its time: the incast is not held "
               "back; a larger increase (profile incast) throttles it sooner",
               observed->persistent_endports, observed->waiting, observed->max_wait_permille / 10);
    if (configured->unsupported * 10 > configured->devices)
        advise(a, UNSUPPORTED,
               "%u of %u devices do not support congestion control: their traffic is neither "
               "throttled nor protected",
               configured->unsupported, configured->devices);
    if (configured->changed > 0)
        advise(a, CHANGED,
               "%u devices had other settings than they were given, and were set again: another "
               "program sets them, or they were restarted",
               configured->changed);
}

unsigned fab_congestion_advise(const struct fab_congestion_observed *observed,
                               const struct fab_congestion_configured *configured,
                               char ret[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN],
                               uint32_t *ret_kinds)
{
    struct advice a = {.text = ret};
    if (configured->apply && !configured->off)
        advise_controlled(&a, observed, configured);
    else if (observed->max_wait_permille >= WAITS_MUCH)
        advise(&a, NOT_APPLIED,
               "%u ports wait for credits, one of them %u %% of its time: congestion control "
               "(congestion.apply) would throttle the senders of incasts",
               observed->waiting, observed->max_wait_permille / 10);
    if (ret_kinds)
        *ret_kinds = a.kinds;
    return a.count;
}
