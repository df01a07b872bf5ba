/* SPDX-License-Identifier: BSD-3-Clause */
/* Explains to operators the values that roce.c computed, and names their sources. */
#include <stdarg.h>
#include <stdio.h>

#include "libfabmgr/congestion/roce_parts.h"

struct explanation {
    struct fab_congestion_reason *ret;
    unsigned count;
};

__attribute__((format(printf, 4, 5))) static void explain(struct explanation *t, const char *name,
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

static void explain_marking(struct explanation *t, const struct fab_congestion_roce *r)
{
    if (r->kmin > 2 * r->frame)
        explain(t, "kmin_bytes", r->kmin,
                "the bytes in flight in a round trip of %u ns at %u Mb/s: the link stays busy when "
                "its senders halve their rates (a seventh is enough for DCTCP: SIGCOMM 2010)",
                r->rtt_ns, r->speed);
    else
        explain(
            t, "kmin_bytes", r->kmin,
            "two frames of %u bytes; fewer bytes are in flight in a round trip of %u ns at %u Mb/s",
            r->frame, r->rtt_ns, r->speed);
    explain(t, "kmax_bytes", r->kmax, "four times Kmin, as in HPCC (SIGCOMM 2019)");
    explain(t, "pmax_percent", r->pmax,
            "at Kmax each of %u senders gets a mark in the %u us between two notifications; at "
            "least 1 (DCQCN: SIGCOMM 2015), at most 20 (HPCC)",
            r->fan_in, FAB_DCQCN_CNP_US);
}

static void explain_pause(struct explanation *t, const struct fab_congestion_roce *r)
{
    explain(t, "pause_bytes", r->pause,
            "the lowest Xoff: Kmax and %u ns more, after which senders have reacted to marks, so "
            "that ECN acts before PFC",
            r->rtt_ns);
    explain(t, "headroom_bytes", r->headroom,
            "frame before the pause %u, pause %u, own interface %u, cable %u (%u m there and "
            "back), the peer's response %u (%u quanta, IEEE 802.3 31B.3.7), its last frame %u; add "
            "partly filled memory cells of the switch",
            ROCE_JUMBO, ROCE_PAUSE_FRAME, r->interface * ROCE_QUANTUM,
            fab_congestion_roce_cable_bytes(r), r->cable_m, r->response * ROCE_QUANTUM, r->response,
            r->frame);
}

static void explain_increase(struct explanation *t, const struct fab_congestion_roce *r)
{
    explain(t, "additive_increase_mbps", r->ai_mbps,
            r->ai_mbps < r->slowest / 1000
                ? "%u senders together add a twentieth of the slowest endport's %u Mb/s"
                : "a thousandth of the slowest endport's speed, as DCQCN's 40 of 40,000 Mb/s; %u "
                  "senders together add at most a twentieth of its %u Mb/s",
            r->fan_in, r->slowest);
    explain(t, "hyper_increase_mbps", r->hai_mbps,
            "ten times the additive increase, as NVIDIA's defaults and HPCC");
}

static void explain_dcqcn(struct explanation *t)
{
    static const char *const authors = "DCQCN (SIGCOMM 2015)";
    explain(t, "cnp_interval_us", FAB_DCQCN_CNP_US,
            "%s: the receiver of a flow reports marks no more often; NVIDIA's default is 4",
            authors);
    explain(t, "alpha_update_us", FAB_DCQCN_ALPHA_US,
            "%s: longer than between two notifications; NVIDIA's default is 1", authors);
    explain(t, "inverse_gain", FAB_DCQCN_INVERSE_GAIN,
            "%s: g = 1/256, the weight of new marks in alpha; NVIDIA's default is 5/1024", authors);
    explain(t, "rate_increase_us", FAB_DCQCN_INCREASE_US,
            "%s: period of rate increases; NVIDIA's default is 300", authors);
    explain(t, "byte_counter_bytes", FAB_DCQCN_INCREASE_MB * 1000000,
            "%s: sent bytes that also trigger an increase: so many that the timer decides",
            authors);
    explain(
        t, "recovery_stages", FAB_DCQCN_RECOVERY_STAGES,
        "%s: steps back to the last rate before additive increase starts; NVIDIA's default is 1",
        authors);
}

unsigned fab_congestion_roce_explain(const struct fab_congestion_roce *r,
                                     struct fab_congestion_reason ret[FAB_CONGESTION_ROCE_VALUES])
{
    struct explanation t = {.ret = ret};
    explain_marking(&t, r);
    explain_pause(&t, r);
    if (r->edge) {
        explain_dcqcn(&t);
        explain_increase(&t, r);
    }
    return t.count;
}
