/* SPDX-License-Identifier: BSD-3-Clause */
/* Sentences for the values of roce.c, with their sources. */
#include <stdarg.h>
#include <stdio.h>

#include "libfabmgr/congestion/roce_parts.h"

struct telling {
    struct fab_congestion_reason *ret;
    unsigned count;
};

__attribute__((format(printf, 4, 5))) static void tell(struct telling *t, const char *name,
                                                       uint32_t value, const char *fmt, ...)
{
    struct fab_congestion_reason *r = &t->ret[t->count++];
    va_list args;
    r->name = name;
    r->value = value;
    va_start(args, fmt);
    vsnprintf(r->why, sizeof r->why, fmt, args);
    va_end(args);
}

static void tell_marking(struct telling *t, const struct fab_congestion_roce *r)
{
    if (r->kmin > 2 * r->frame)
        tell(t, "kmin_bytes", r->kmin,
             "what is under way in %u ns there and back at %u Mb/s: the link stays busy when its "
             "senders halve their rates (a seventh would do for DCTCP: SIGCOMM 2010)",
             r->rtt_ns, r->speed);
    else
        tell(t, "kmin_bytes", r->kmin,
             "two frames of %u bytes; no more is under way in %u ns there and back at %u Mb/s",
             r->frame, r->rtt_ns, r->speed);
    tell(t, "kmax_bytes", r->kmax, "four times Kmin, as in HPCC (SIGCOMM 2019)");
    tell(t, "pmax_percent", r->pmax,
         "at Kmax each of %u senders gets a mark in the %u us between two notifications; at least "
         "1 (DCQCN: SIGCOMM 2015), at most 20 (HPCC)",
         r->fan_in, FAB_DCQCN_CNP_US);
}

static void tell_pause(struct telling *t, const struct fab_congestion_roce *r)
{
    tell(
        t, "pause_bytes", r->pause,
        "the least Xoff: Kmax and %u ns more, after which senders have heard of marks, so that ECN "
        "acts before PFC",
        r->rtt_ns);
    tell(t, "headroom_bytes", r->headroom,
         "frame before the pause %u, pause %u, own interface %u, cable %u (%u m there and back), "
         "the peer's response %u (%u quanta, IEEE 802.3 31B.3.7), its last frame %u; cells of the "
         "switch on top",
         ROCE_JUMBO, ROCE_PAUSE_FRAME, r->interface * ROCE_QUANTUM,
         fab_congestion_roce_cable_bytes(r), r->cable_m, r->response * ROCE_QUANTUM, r->response,
         r->frame);
}

static void tell_increase(struct telling *t, const struct fab_congestion_roce *r)
{
    tell(t, "additive_increase_mbps", r->ai_mbps,
         r->ai_mbps < r->slowest / 1000
             ? "%u senders together add a twentieth of the slowest end's %u Mb/s"
             : "a thousandth of the slowest end's speed, as DCQCN's 40 of 40,000 Mb/s; %u senders "
               "together add no more than a twentieth of its %u Mb/s",
         r->fan_in, r->slowest);
    tell(t, "hyper_increase_mbps", r->hai_mbps,
         "ten times the additive increase, as NVIDIA's defaults and HPCC");
}

static void tell_dcqcn(struct telling *t)
{
    static const char *const authors = "DCQCN (SIGCOMM 2015)";
    tell(t, "cnp_interval_us", FAB_DCQCN_CNP_US,
         "%s: a flow's receiver tells of marks no more often; NVIDIA's default is 4", authors);
    tell(t, "alpha_update_us", FAB_DCQCN_ALPHA_US,
         "%s: longer than between two notifications; NVIDIA's default is 1", authors);
    tell(t, "inverse_gain", FAB_DCQCN_INVERSE_GAIN,
         "%s: g = 1/256, by which alpha nears 1 or 0; NVIDIA's default is 5/1024", authors);
    tell(t, "rate_increase_us", FAB_DCQCN_INCREASE_US,
         "%s: a step of increase; NVIDIA's default is 300", authors);
    tell(t, "byte_counter_bytes", FAB_DCQCN_INCREASE_MB * 1000000,
         "%s: a step, too, after so much was sent: seldom, so that the timer decides", authors);
    tell(t, "recovery_stages", FAB_DCQCN_RECOVERY_STAGES,
         "%s: steps back to the last rate before additive increase; NVIDIA's default is 1",
         authors);
}

unsigned fab_congestion_roce_explain(const struct fab_congestion_roce *r,
                                     struct fab_congestion_reason ret[FAB_CONGESTION_ROCE_VALUES])
{
    struct telling t = {.ret = ret};
    tell_marking(&t, r);
    tell_pause(&t, r);
    if (r->edge) {
        tell_dcqcn(&t);
        tell_increase(&t, r);
    }
    return t.count;
}
