/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background traffic. It makes the counters of data, packets and waits rise as in a fabric with
 * jobs.
 *
 * Time is divided into epochs. During an epoch, nine in ten endports send at a constant rate to one
 * other endport, along the LFTs that the manager has written. No endport receives from more than
 * one. So the simulator simulates no packets: it computes the counters of a port when they are
 * read. For the next epoch, each endport chooses a new destination and rate.
 *
 * An epoch lasts EPOCH_US, or a thirtieth of this if it has no flows. If LFT entries change, the
 * work for the next epoch begins earlier, REROUTED_US after the change. But an epoch lasts at least
 * PORT_US for each port of the fabric, because the rates of an epoch in a large fabric take long to
 * compute.
 *
 * If a link cannot carry what its flows demand, all of them are slowed down in proportion. On the
 * path of a flow, the ports before the narrowest link count the part that is not sent as
 * PortXmitWait.
 *
 * In a large fabric, the rates of an epoch take 300 ms to compute. Each read of a counter does a
 * part of this work; until the work is complete, the rates of the present epoch remain valid. The
 * parts are small, because fabricd --sim simulates several hundred reads in one iteration of its
 * event loop.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

#define EPOCH_US UINT64_C(300000000)
#define REROUTED_US UINT64_C(1000000)
#define PORT_US UINT64_C(50)
#define HOPS_MOST 32
#define WORDS_PER_MBPS 31250.0 /* number of 4-byte words per second at a rate of 1 Mb/s */
#define WORDS_PER_PACKET 520   /* length of a packet in words of 4 bytes: MTU 2048 and headers */
#define IDLE_SHARE 0.1         /* share (0..1) of the endports that send nothing in an epoch */
/* WORK_MOST: maximum amount of work for the next epoch that one read of a counter does. The work
 * for a port counts as 1, that for a flow as FLOW_WORK */
#define WORK_MOST 128u
#define FLOW_WORK 8u

struct flow {
    uint32_t from, to;
    float words; /* rate that the flow demands, in words of 4 bytes per second */
};

/* The rates of an epoch, for each port id. sent: words of 4 bytes that the port sends per second.
 * wait: increase of PortXmitWait per second. */
struct rates {
    float *sent, *wait;
};

/* The parts of the work for the next epoch, in the order in which they are done. */
enum part {
    /* updates all counters that were last updated before the present epoch began. This must be done
     * before the next epoch begins, because `before` then no longer has the rates that these
     * counters need */
    PART_SETTLE,
    PART_ENDS,   /* collects the endports */
    PART_FLOWS,  /* chooses the flow of each endport */
    PART_DEMAND, /* adds up the demands of the flows at each port */
    PART_RATES,  /* computes the rate that each flow gets */
    PART_LIMIT   /* limits the PortXmitWait of each port; then the next epoch begins */
};

struct sim_traffic {
    /* mean rate at which an endport sends, as a share (0..1) of the rate of its link */
    double load;
    uint64_t epoch_at; /* time in us at which the work for the next epoch begins */
    struct fab_prng prng;
    uint64_t began; /* time in us at which the present epoch began */
    bool flowing;   /* true: the present epoch has flows, so counters rise */
    bool rerouted;  /* true: an LFT changed after the work for the next epoch began */
    /* rates of the present epoch (`now`), of the epoch before it, and of the next epoch as far as
     * they are computed */
    struct rates now, before, next;
    uint64_t *at; /* [port id] time in us at which the counters of the port were last updated */
    /* [port id] rate that the flows of the next epoch demand, in words of 4 bytes per second */
    float *demand;
    enum part part;
    /* number of ports or flows that the present part of the work has handled so far */
    uint32_t done;
    /* [ends] ids of the endports; their order is random after PART_FLOWS has begun */
    uint32_t *end;
    uint32_t ends;
    struct flow *flow;
    uint32_t flows;
};

static void rates_free(struct rates *r)
{
    free(r->sent);
    free(r->wait);
}

static int rates_new(uint32_t ports, struct rates *ret)
{
    ret->sent = calloc(ports + 1u, sizeof *ret->sent);
    ret->wait = calloc(ports + 1u, sizeof *ret->wait);
    return ret->sent != NULL && ret->wait != NULL ? FAB_OK : FAB_E_NOMEM;
}

static void traffic_free(struct sim_traffic *t)
{
    if (t == NULL)
        return;
    rates_free(&t->now);
    rates_free(&t->before);
    rates_free(&t->next);
    free(t->at);
    free(t->demand);
    free(t->end);
    free(t->flow);
    free(t);
}

void fab_sim_traffic_fini(struct fab_sim *s)
{
    traffic_free(s->traffic);
    s->traffic = NULL;
}

/* ---- flows ----------------------------------------------------------------------------------- */

static double capacity(const struct fab_sim *s, uint32_t port)
{
    return fab_wire_link_rate(&s->ports[port].info) * WORDS_PER_MBPS;
}

static bool is_active(const struct fab_sim *s, uint32_t port)
{
    uint32_t peer = fab_fabric_port(s->fabric, port)->peer;
    return peer != FAB_NONE && !s->ports[port].unplugged &&
           s->ports[port].info.port_state == FAB_STATE_ACTIVE &&
           s->ports[peer].info.port_state == FAB_STATE_ACTIVE;
}

/* Finds the output ports along the path from one endport to another. Returns their number; 0: there
 * is no path. */
static unsigned find_path(const struct fab_sim *s, uint32_t from, uint32_t to,
                          uint32_t path[HOPS_MOST])
{
    uint32_t lid = s->ports[to].info.lid, out = from;
    for (unsigned hops = 0; hops < HOPS_MOST; hops++) {
        if (!is_active(s, out))
            return 0;
        path[hops] = out;
        uint32_t in = fab_fabric_port(s->fabric, out)->peer;
        uint32_t node = fab_fabric_port(s->fabric, in)->node;
        if (in == to)
            return hops + 1;
        const struct sim_switch *sw = &s->switches[node];
        if (!is_switch(s, node) || lid >= sw->lft_room || lid > sw->info.linear_fdb_top ||
            sw->lft[lid] == 0 || sw->lft[lid] > s->fabric->nodes[node].num_ports)
            return 0;
        out = port_id(s, node, sw->lft[lid]);
    }
    return 0;
}

static bool is_endport(const struct fab_sim *s, uint32_t port)
{
    return !is_switch(s, fab_fabric_port(s->fabric, port)->node) && s->ports[port].info.lid != 0 &&
           is_active(s, port);
}

/* Allocates the arrays for the endports and their flows. If there is no memory, the next epoch has
 * no flows. */
static void begin_flows(struct fab_sim *s)
{
    struct sim_traffic *t = s->traffic;
    t->end = malloc((s->fabric->port_count + 1u) * sizeof *t->end);
    t->flow = malloc((s->fabric->port_count + 1u) * sizeof *t->flow);
    t->ends = t->flows = 0;
}

static void collect_endport(struct fab_sim *s, uint32_t port)
{
    struct sim_traffic *t = s->traffic;
    if (t->done == 0)
        begin_flows(s);
    if (t->end != NULL && t->flow != NULL && is_endport(s, port))
        t->end[t->ends++] = port;
}

/* Chooses the destination and the rate of the endport end[i]. The destination is the next endport
 * in end[], which is in random order, so that no endport receives from two others. A random tenth
 * of the endports (IDLE_SHARE) sends nothing. */
static void choose_flow(struct fab_sim *s, uint32_t i)
{
    struct sim_traffic *t = s->traffic;
    if (t->ends < 2)
        return;
    if (i == 0)
        fab_base_prng_shuffle(&t->prng, t->end, t->ends);
    uint32_t from = t->end[i], to = t->end[(i + 1) % t->ends];
    double share = (double)fab_base_prng_below(&t->prng, 2000) / 1000 * t->load;
    if (!fab_base_prng_chance(&t->prng, IDLE_SHARE))
        t->flow[t->flows++] = (struct flow){from, to, (float)(share * capacity(s, from))};
}

static void add_demand(struct fab_sim *s, const struct flow *f)
{
    uint32_t path[HOPS_MOST];
    unsigned hops = find_path(s, f->from, f->to, path);
    for (unsigned i = 0; i < hops; i++)
        s->traffic->demand[path[i]] += f->words;
}

/* Adds a flow to the rates of each output port on its path. The port that can carry the smallest
 * share of its demand limits the flow. The part that this port cannot carry waits at the ports
 * before it. */
static void add_flow(struct fab_sim *s, const struct flow *f)
{
    struct sim_traffic *t = s->traffic;
    uint32_t path[HOPS_MOST];
    unsigned hops = find_path(s, f->from, f->to, path), narrowest = 0;
    double share = 1;
    for (unsigned i = 0; i < hops; i++) {
        double room = capacity(s, path[i]), demand = (double)t->demand[path[i]];
        if (demand > 0 && room / demand < share) {
            share = room / demand;
            narrowest = i;
        }
    }
    for (unsigned i = 0; i < hops; i++) {
        t->next.sent[path[i]] += f->words * (float)share;
        if (i < narrowest)
            t->next.wait[path[i]] += f->words * (float)(1 - share);
    }
}

/* Limits the rate of PortXmitWait of a port, so that the port does not send and wait for more than
 * one second per second in total. */
static void limit_wait(struct fab_sim *s, uint32_t port)
{
    const struct rates *next = &s->traffic->next;
    float room = (float)capacity(s, port) - next->sent[port];
    if (next->wait[port] > room)
        next->wait[port] = room > 0 ? room : 0;
}

/* Returns the time in us at which the work for the next epoch must begin if LFT entries change now.
 */
static uint64_t epoch_after_reroute(const struct fab_sim *s)
{
    uint64_t soonest = s->now + REROUTED_US;
    uint64_t bearable = s->traffic->began + s->fabric->port_count * PORT_US;
    return soonest > bearable ? soonest : bearable;
}

/* Begins the next epoch: the rates that were computed for it become the present rates. */
static void begin_epoch(struct fab_sim *s)
{
    struct sim_traffic *t = s->traffic;
    uint32_t ports = s->fabric->port_count;
    struct rates unused = t->before;
    t->before = t->now;
    t->now = t->next;
    t->next = unused;
    memset(t->next.sent, 0, ports * sizeof *t->next.sent);
    memset(t->next.wait, 0, ports * sizeof *t->next.wait);
    memset(t->demand, 0, ports * sizeof *t->demand);
    t->began = s->now;
    /* without flows, the switches may have no tables yet, so the next epoch begins sooner */
    t->epoch_at =
        t->rerouted ? epoch_after_reroute(s) : s->now + (t->flows > 0 ? EPOCH_US : EPOCH_US / 30);
    t->flowing = t->flows > 0;
    free(t->end);
    free(t->flow);
    t->end = NULL;
    t->flow = NULL;
    t->ends = t->flows = 0;
}

/* ---- counters -------------------------------------------------------------------------------- */

static void count_rate(struct fab_sim *s, uint32_t port, uint32_t counter, double per_second,
                       double seconds)
{
    if (per_second > 0)
        fab_sim_count(s, port, counter, (uint64_t)(per_second * seconds));
}

/* Raises the counters of a port by the traffic from time `from` to time `to` (in us) at the rates
 * *r. */
static void count_span(struct fab_sim *s, uint32_t port, const struct rates *r, uint64_t from,
                       uint64_t to)
{
    uint32_t peer = fab_fabric_port(s->fabric, port)->peer;
    double seconds = (double)(to - from) / 1e6;
    double sent = (double)r->sent[port], received = (double)r->sent[peer];
    double wait = (double)r->wait[port];
    count_rate(s, port, FAB_SIM_XMIT_DATA, sent, seconds);
    count_rate(s, port, FAB_SIM_RCV_DATA, received, seconds);
    count_rate(s, port, FAB_SIM_XMIT_PKTS, sent / WORDS_PER_PACKET, seconds);
    count_rate(s, port, FAB_SIM_RCV_PKTS, received / WORDS_PER_PACKET, seconds);
    count_rate(s, port, FAB_SIM_XMIT_WAIT, wait, seconds);
    count_rate(s, port, FAB_SIM_VL_XMIT_WAIT, wait, seconds);
}

/* Raises the counters of a port by the traffic since they were last updated. */
static void settle(struct fab_sim *s, uint32_t port)
{
    struct sim_traffic *t = s->traffic;
    uint64_t from = t->at[port];
    t->at[port] = s->now;
    if (fab_fabric_port(s->fabric, port)->peer == FAB_NONE || !is_active(s, port))
        return;
    if (from < t->began)
        count_span(s, port, &t->before, from, t->began);
    count_span(s, port, &t->now, from < t->began ? t->began : from, s->now);
}

/* ---- the next epoch, part by part ------------------------------------------------------------ */

/* Handles one port or flow in the present part of the work. Returns the work that this took, in the
 * unit of WORK_MOST. */
static uint32_t do_one(struct fab_sim *s)
{
    struct sim_traffic *t = s->traffic;
    switch (t->part) {
    case PART_SETTLE:
        if (t->at[t->done] < t->began)
            settle(s, t->done);
        return 1;
    case PART_ENDS:
        collect_endport(s, t->done);
        return 1;
    case PART_FLOWS:
        choose_flow(s, t->done);
        return 1;
    case PART_DEMAND:
        add_demand(s, &t->flow[t->done]);
        return FLOW_WORK;
    case PART_RATES:
        add_flow(s, &t->flow[t->done]);
        return FLOW_WORK;
    case PART_LIMIT:
    default:
        limit_wait(s, t->done);
        return 1;
    }
}

/* Returns the total number of ports or flows that the present part of the work handles. */
static uint32_t size_of_part(const struct fab_sim *s)
{
    const struct sim_traffic *t = s->traffic;
    switch (t->part) {
    case PART_FLOWS:
        return t->ends;
    case PART_DEMAND:
    case PART_RATES:
        return t->flows;
    case PART_SETTLE:
    case PART_ENDS:
    case PART_LIMIT:
    default:
        return s->fabric->port_count;
    }
}

/* Does some of the work for the next epoch, and begins the epoch when all work is done. */
static void continue_epoch(struct fab_sim *s)
{
    struct sim_traffic *t = s->traffic;
    uint32_t work = 0;
    if (t->part == PART_SETTLE && t->done == 0)
        t->rerouted = false;
    while (work < WORK_MOST) {
        if (t->done < size_of_part(s)) {
            work += do_one(s);
            t->done++;
            continue;
        }
        t->done = 0;
        if (t->part == PART_LIMIT) {
            t->part = PART_SETTLE;
            begin_epoch(s);
            return;
        }
        t->part++;
    }
}

void fab_sim_traffic_update(struct fab_sim *s, uint32_t port)
{
    if (s->traffic == NULL)
        return;
    if (s->now >= s->traffic->epoch_at)
        continue_epoch(s);
    settle(s, port);
}

void fab_sim_traffic_rerouted(struct fab_sim *s)
{
    struct sim_traffic *t = s->traffic;
    if (t == NULL || !t->flowing)
        return;
    t->rerouted = true;
    uint64_t at = epoch_after_reroute(s);
    if (t->epoch_at > at)
        t->epoch_at = at;
}

int fab_sim_traffic(struct fab_sim *s, double load, uint64_t seed)
{
    uint32_t ports = s->fabric->port_count;
    if (!(load >= 0 && load <= 1))
        return FAB_E_INVAL;
    for (uint32_t p = 0; s->traffic != NULL && p < ports; p++)
        settle(s, p);
    fab_sim_traffic_fini(s);
    if (load <= 0)
        return FAB_OK;
    struct sim_traffic *t = calloc(1, sizeof *t);
    if (t == NULL)
        return FAB_E_NOMEM;
    t->load = load;
    t->at = calloc(ports + 1u, sizeof *t->at);
    t->demand = calloc(ports + 1u, sizeof *t->demand);
    if (t->at == NULL || t->demand == NULL || rates_new(ports, &t->now) != FAB_OK ||
        rates_new(ports, &t->before) != FAB_OK || rates_new(ports, &t->next) != FAB_OK) {
        traffic_free(t);
        return FAB_E_NOMEM;
    }
    fab_base_prng_init(&t->prng, seed);
    for (uint32_t p = 0; p < ports; p++)
        t->at[p] = s->now;
    t->began = s->now;
    s->traffic = t;
    return FAB_OK;
}
