/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes settings for RoCE from the facts from which the InfiniBand settings are computed (struct
 * fab_congestion_basis). Sources of the numbers:
 *
 * - Speeds: IEEE 802.3 defines speeds from 10 to 800 Gb/s; a link counts as if it had the nearest
 *   of them (by ratio).
 * - Kmin: speed * RTT, the bytes in flight on the longest path, but at least two frames. The link
 *   then stays busy when its senders halve their rates, which is DCQCN's largest cut. DCTCP needs a
 *   seventh of this (Alizadeh et al., SIGCOMM 2010).
 * - Kmax: four times Kmin. The simulations of HPCC (Li et al., SIGCOMM 2019) have the same ratio:
 *   100 KB and 400 KB at 25 Gb/s.
 * - Pmax: chosen so that at Kmax, each of the assumed senders gets one mark within the shortest
 *   time between two notifications (a rule of this program). It is at least 1 percent (DCQCN: Zhu
 *   et al., SIGCOMM 2015) and at most 20 percent (HPCC).
 * - Pause (Xoff): Kmax plus what arrives in one more RTT, after which senders have reacted (a rule
 *   of this program). ECN therefore acts before PFC as long as the traffic of a port goes to one
 *   congested egress port; if the traffic goes to n congested egress ports, only a pause threshold
 *   above n * Kmin guarantees this order (Zhu et al.).
 * - Headroom, for what may still arrive after the pause: the sum of a frame of another class that
 *   delays the pause frame, the pause frame, the delay of the port's own interface, the cable in
 *   both directions, the peer's response, and the frame that the peer has just begun. IEEE 802.1Qbb
 *   has this sum in its annex on buffers; Cisco and SONiC compute the headroom in the same way. The
 *   operator has to add the memory that partly filled cells of the switch waste.
 * - Response of the peer: IEEE 802.3 31B.3.7 gives the time in quanta of 512 bits. The values here
 *   are those of SONiC's table (buffer_headroom_mellanox.lua). For 10 Gb/s, this table has 67, but
 *   Cisco's documents have 60.
 * - Delay of the port's own interface: the upper bounds of IEEE 802.3, which Cisco documents for
 *   10, 25, 40 and 100 Gb/s. No source was found for other speeds; for them, the peer's whole
 *   response time is the bound.
 * - Additive increase: a thousandth of the speed of the slowest endport (DCQCN's authors have 40
 *   Mb/s at 40 Gb/s in their simulator). The increases of all assumed senders together are at most
 *   a twentieth of this speed (a rule of this program).
 * - Hyper increase: ten times the additive increase (NVIDIA's defaults, HPCC).
 * - The other values are those of DCQCN's authors.
 */
#include "libfabmgr/congestion/roce.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/congestion/roce_parts.h"

/* maximum of Kmin in bytes, so that multiples of Kmin fit into 32 bits */
#define KMIN_MOST (1u << 28)
#define PMAX_LEAST 1
#define PMAX_MOST 20
/* bytes of a RoCE packet on the wire besides its data: gap and preamble 20, tagged Ethernet 22,
 * IPv6 40, UDP to ICRC 40 */
#define FRAME_EXTRA 122

static const struct ethernet {
    uint32_t speed;
    uint16_t response, interface;
} ethernets[] = {
    {10000, 67, 16},    {25000, 80, 12},    {40000, 118, 48},   {50000, 147, 147},
    {100000, 394, 240}, {200000, 453, 453}, {400000, 905, 905}, {800000, 905, 905},
};

static const struct ethernet *nearest(uint32_t rate)
{
    size_t i = 0, last = sizeof ethernets / sizeof ethernets[0] - 1;
    while (i < last &&
           (uint64_t)rate * rate > (uint64_t)ethernets[i].speed * ethernets[i + 1].speed)
        i++;
    return &ethernets[i];
}

/* Returns the number of bytes that a link of `speed` Mb/s carries in `ns` nanoseconds. */
static uint64_t bytes_in(uint32_t speed, uint64_t ns)
{
    return (uint64_t)speed * ns / 8000;
}

static uint32_t within(uint64_t x, uint32_t least, uint32_t most)
{
    return x < least ? least : x > most ? most : (uint32_t)x;
}

static void set_marking(struct fab_congestion_roce *r)
{
    uint64_t packets = bytes_in(r->speed, FAB_DCQCN_CNP_US * 1000) / r->frame + 1;
    r->kmin = within(bytes_in(r->speed, r->rtt_ns), 2 * r->frame, KMIN_MOST);
    r->kmax = 4 * r->kmin;
    r->pmax = within((100ull * r->fan_in + packets - 1) / packets, PMAX_LEAST, PMAX_MOST);
    r->pause = r->kmax + r->kmin;
}

static void set_increase(struct fab_congestion_roce *r)
{
    uint32_t own = r->slowest / 1000, shared = r->slowest / 20 / (r->fan_in > 0 ? r->fan_in : 1);
    r->ai_mbps = within(own < shared ? own : shared, 1, own);
    r->hai_mbps = 10 * r->ai_mbps;
}

uint32_t fab_congestion_roce_cable_bytes(const struct fab_congestion_roce *r)
{
    return within(bytes_in(r->speed, 2ull * r->cable_m * ROCE_NS_A_METRE), 0, KMIN_MOST);
}

static struct fab_congestion_roce roce_of(const struct fab_congestion_basis *b,
                                          const struct fab_policy_congestion *p)
{
    const struct ethernet *e = nearest(b->rate);
    struct fab_congestion_roce r = {
        .speed = e->speed,
        .edge = b->edge,
        .rtt_ns = b->rtt_ns,
        .fan_in = b->fan_in,
        .cable_m = p->cable_m,
        .slowest = nearest(b->slowest)->speed,
        .frame = b->mtu + FRAME_EXTRA,
        .response = e->response,
        .interface = e->interface,
    };
    set_marking(&r);
    r.headroom = ROCE_JUMBO + ROCE_PAUSE_FRAME + fab_congestion_roce_cable_bytes(&r) + r.frame +
                 ROCE_QUANTUM * (r.response + r.interface);
    if (r.edge)
        set_increase(&r);
    return r;
}

/* Returns the index in all[] of the entry for the speed and the kind of port of *r. If there is
 * none yet, copies *r to a new entry; all[] stays sorted by speed, slowest first. Different bases
 * can lead to the same speed and kind, which share the first entry. */
static size_t insert(struct fab_congestion_roce *all, size_t *count,
                     const struct fab_congestion_roce *r)
{
    size_t i = 0;
    while (i < *count &&
           (all[i].speed < r->speed || (all[i].speed == r->speed && all[i].edge && !r->edge)))
        i++;
    if (i < *count && all[i].speed == r->speed && all[i].edge == r->edge)
        return i;
    for (size_t k = (*count)++; k > i; k--)
        all[k] = all[k - 1];
    all[i] = *r;
    return i;
}

int fab_congestion_roce_compute(const struct fab_congestion *c, const struct fab_fabric *f,
                                const struct fab_policy *policy, struct fab_congestion_roce **ret,
                                size_t *ret_count)
{
    bool off = policy->congestion.profile == FAB_CONGESTION_OFF;
    size_t count = 0;
    struct fab_congestion_roce *all = fab_base_alloc_array(c->port_count, sizeof *all);
    if (all == NULL)
        return FAB_E_NOMEM;
    for (uint32_t p = 0; p < c->ports && !off; p++) {
        if (fab_congestion_of_switch(c, f, p) == NULL)
            continue;
        struct fab_congestion_roce r = roce_of(&c->port_basis[c->of_port[p]], &policy->congestion);
        all[insert(all, &count, &r)].ports++;
    }
    *ret = all;
    *ret_count = count;
    return FAB_OK;
}
