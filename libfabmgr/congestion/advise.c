/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Advice. How many senders crowd one end no counter tells; that many were slowed down for so many
 * ends at a time bounds it: at least their quotient, for some end, in a fabric where senders have
 * one crowd each. Logs name the end that a sender was slowed down for, but only of those that came
 * to their threshold. The greater of the two is what is seen.
 *
 * Marks alone are no trouble: as long as there is a crowd they are what holds it back. If it is
 * held back queues are short, and nobody behind it waits for long.
 */
#include "libfabmgr/congestion/advise.h"

#include <stdarg.h>
#include <stdio.h>

#define WAITS_MUCH 200 /* permille */

enum kind { FAN_IN, NOBODY_SLOWED, NOT_HELD, UNSUPPORTED, CHANGED, NOT_APPLIED };
struct advice {
    char (*text)[FAB_CONGESTION_ADVICE_LEN];
    unsigned count;
    uint32_t kinds;
};

__attribute__((format(printf, 3, 4))) static void say(struct advice *a, enum kind kind,
                                                      const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(a->text[a->count++], FAB_CONGESTION_ADVICE_LEN, fmt, args);
    va_end(args);
    a->kinds |= 1u << kind;
}

static void advise_fan_in(struct advice *a, const struct fab_congestion_observed *seen,
                          const struct fab_congestion_configured *assumed)
{
    uint32_t share = seen->congested_endports > 0 ? seen->slowed / seen->congested_endports : 0;
    if (seen->logged_fan_in >= share && seen->logged_fan_in > assumed->fan_in)
        say(a, FAN_IN,
            "logs name %u senders that were slowed down for one end, and %u are counted on: set "
            "congestion.fan_in to %u or more",
            seen->logged_fan_in, assumed->fan_in, seen->logged_fan_in);
    else if (share > assumed->fan_in)
        say(a, FAN_IN,
            "%u senders were slowed down for %u ends, about %u for each, and %u are counted on: "
            "set congestion.fan_in to %u or more",
            seen->slowed, seen->congested_endports, share, assumed->fan_in, share);
}

static void advise_controlled(struct advice *a, const struct fab_congestion_observed *seen,
                              const struct fab_congestion_configured *assumed)
{
    advise_fan_in(a, seen, assumed);
    if (seen->congested_endports > 0 && seen->slowed == 0)
        say(a, NOBODY_SLOWED,
            "marked packets come to %u ends and no sender is told of it: do the adapters support "
            "it, and is it switched on there?",
            seen->congested_endports);
    else if (seen->persistent_endports > 0 && seen->max_wait_permille >= WAITS_MUCH)
        say(a, NOT_HELD,
            "marked packets keep coming to %u ends and their senders are told, yet %u ports wait "
            "for credits, one of them %u %% of its time: the crowd is not held back; a greater "
            "increase (profile incast) slows it down sooner",
            seen->persistent_endports, seen->waiting, seen->max_wait_permille / 10);
    if (assumed->unsupported * 10 > assumed->devices)
        say(a, UNSUPPORTED,
            "%u of %u devices are without support: their traffic is not held back, nor protected",
            assumed->unsupported, assumed->devices);
    if (assumed->changed > 0)
        say(a, CHANGED,
            "%u devices had other settings than they were given, and were set again: somebody else "
            "sets them, too, or they were restarted",
            assumed->changed);
}

unsigned fab_congestion_advise(const struct fab_congestion_observed *seen,
                               const struct fab_congestion_configured *assumed,
                               char ret[FAB_CONGESTION_ADVICES][FAB_CONGESTION_ADVICE_LEN],
                               uint32_t *ret_kinds)
{
    struct advice a = {.text = ret};
    if (assumed->apply && !assumed->off)
        advise_controlled(&a, seen, assumed);
    else if (seen->max_wait_permille >= WAITS_MUCH)
        say(&a, NOT_APPLIED,
            "%u ports wait for credits, one of them %u %% of its time: congestion control "
            "(congestion.apply) would hold back those that crowd others",
            seen->waiting, seen->max_wait_permille / 10);
    if (ret_kinds)
        *ret_kinds = a.kinds;
    return a.count;
}
