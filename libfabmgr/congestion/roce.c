/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the basis of InfiniBand's settings to those of RoCE.
 *
 * Kmin is what is under way on the longest way at the port's rate (rate * RTT), so that a queue
 * which only evens out bursts is not marked; Kmax four times that, as DCQCN's and HPCC's authors
 * have it (Li et al., SIGCOMM 2019). Pmax is chosen so that each of the senders that are counted on
 * gets one mark in the time between two notifications, and stays within 1 and 20 percent: beyond,
 * the queue is kept at Kmax anyway.
 *
 * Headroom (802.1Qbb, annex O): what is on the cable both ways, a packet that has just begun at
 * either end, and what the peer sends until it obeys: 802.3 (31B.3.7) allows so many quanta of 512
 * bits, which depend on the rate.
 *
 * All senders together shall not add more than a twentieth of the end's rate in one step.
 */
#include "libfabmgr/congestion/roce.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define NS_A_METRE 5
#define CNP_US 50
#define INCREASE_US 55
#define PMAX_MOST 20
#define HEADER 64 /* Ethernet, IP, UDP, BTH, CRCs and the gap, rounded */
#define QUANTUM_BYTES 64

static uint64_t pause_quanta(uint32_t rate)
{
    static const struct {
        uint32_t rate;
        uint16_t quanta;
    } known[] = {{10000, 60}, {25000, 80}, {40000, 118}, {100000, 394}, {200000, 453}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (rate <= known[i].rate)
            return known[i].quanta;
    return (uint64_t)905 * rate / 400000 + 1;
}

/* Mb/s * ns / 8000 = bytes */
static uint64_t bytes_in(uint32_t rate, uint64_t ns)
{
    return (uint64_t)rate * ns / 8000;
}

static uint32_t bounded(uint64_t x)
{
    return x < UINT32_MAX ? (uint32_t)x : UINT32_MAX;
}

static uint32_t pmax_of(const struct fab_congestion_basis *b)
{
    uint64_t packets = bytes_in(b->rate, CNP_US * 1000) / (b->mtu + HEADER);
    uint64_t percent = packets > 0 ? (100ull * b->fan_in + packets - 1) / packets : PMAX_MOST;
    return (uint32_t)(percent < 1 ? 1 : percent > PMAX_MOST ? PMAX_MOST : percent);
}

static struct fab_roce roce_of(const struct fab_congestion_basis *b,
                               const struct fab_policy_congestion *p)
{
    uint64_t mtu = b->mtu + HEADER, kmin = bytes_in(b->rate, b->rtt_ns);
    kmin = kmin < 2 * mtu ? 2 * mtu : kmin;
    struct fab_roce r = {
        .rate = b->rate,
        .edge = b->edge,
        .kmin = bounded(kmin),
        .kmax = bounded(4 * kmin),
        .pmax = pmax_of(b),
        .headroom = bounded(bytes_in(b->rate, 2ull * p->cable_m * NS_A_METRE) + 2 * mtu +
                            pause_quanta(b->rate) * QUANTUM_BYTES),
    };
    if (b->edge) {
        r.cnp_us = CNP_US;
        r.increase_us = INCREASE_US;
        r.ai_mbps = b->slowest / 20 / (b->fan_in > 0 ? b->fan_in : 1);
        r.ai_mbps = r.ai_mbps > 0 ? r.ai_mbps : 1;
        r.hai_mbps = 10 * r.ai_mbps;
    }
    return r;
}

/* Several bases may differ only in what does not count here. */
static size_t place(struct fab_roce *all, size_t *count, const struct fab_roce *r)
{
    size_t i = 0;
    while (i < *count && (all[i].rate != r->rate || all[i].edge != r->edge))
        i++;
    if (i == *count)
        all[(*count)++] = *r;
    return i;
}

int fab_roce_compute(const struct fab_congestion *c, const struct fab_fabric *f,
                     const struct fab_policy *policy, struct fab_roce **ret, size_t *ret_count)
{
    size_t count = 0;
    struct fab_roce *all = fab_alloc_array(c->port_count, sizeof *all);
    if (all == NULL)
        return FAB_E_NOMEM;
    for (uint32_t p = 0; p < c->ports; p++) {
        if (fab_congestion_of_switch(c, f, p) == NULL)
            continue;
        struct fab_roce r = roce_of(&c->port_basis[c->of_port[p]], &policy->congestion);
        all[place(all, &count, &r)].ports++;
    }
    *ret = all;
    *ret_count = count;
    return FAB_OK;
}
