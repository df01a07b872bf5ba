/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Background traffic, so that the counters of data, packets and waits rise as in a fabric with
 * jobs.
 *
 * Every endport sends to another one and receives from one, along the LFTs that the manager has
 * written. After EPOCH_US, each endport chooses another destination and rate. The rates are
 * constant in between, so no packet is simulated: the counters of a port are computed when they are
 * read.
 *
 * If a link cannot carry what its flows demand, all of them are slowed down in proportion. The
 * ports before the narrowest link of a flow wait for the part that is not sent.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

#define EPOCH_US UINT64_C(300000000)
#define HOPS_MOST 32
#define WORDS_PER_MBPS 31250.0 /* words of 4 bytes per second of 1 Mb/s */
#define WORDS_PER_PACKET 520   /* MTU 2048 and headers */
#define IDLE_SHARE 0.1         /* share of the endports that send nothing in an epoch */

struct sim_traffic {
    /* mean rate at which an endport sends, as a share (0..1) of the rate of its link */
    double load;
    uint64_t epoch_at;
    struct fab_prng prng;
    /* [port id] rate: words of 4 bytes sent per second. wait: ticks of PortXmitWait per second. at:
     * time in us at which the counters of the port were last updated. */
    float *rate, *wait;
    uint64_t *at;
    float *demand; /* [port id] words per second that all flows want to send */
};

static void traffic_free(struct sim_traffic *t)
{
    if (t == NULL)
        return;
    free(t->rate);
    free(t->wait);
    free(t->at);
    free(t->demand);
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

/* Finds the ports by which packets from one endport to another leave the nodes on their path.
 * Returns their number; 0: there is no path. */
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

struct flow {
    uint32_t from, to;
    float words; /* words per second that the flow wants to send */
};

static bool is_endport(const struct fab_sim *s, uint32_t port)
{
    return !is_switch(s, fab_fabric_port(s->fabric, port)->node) && s->ports[port].info.lid != 0 &&
           is_active(s, port);
}

/* Chooses the destination and the rate of each flow at random. Returns the number of flows; 0:
 * there are no flows, or no memory. */
static uint32_t choose_flows(struct fab_sim *s, struct flow **ret)
{
    struct sim_traffic *t = s->traffic;
    uint32_t ports = s->fabric->port_count, ends = 0, count = 0;
    uint32_t *end = malloc((ports + 1u) * sizeof *end);
    struct flow *flow = malloc((ports + 1u) * sizeof *flow);
    for (uint32_t p = 0; end != NULL && flow != NULL && p < ports; p++)
        if (is_endport(s, p))
            end[ends++] = p;
    if (ends > 1)
        fab_base_prng_shuffle(&t->prng, end, ends);
    for (uint32_t i = 0; ends > 1 && i < ends; i++) {
        uint32_t to = end[(i + 1) % ends]; /* each endport receives from one other endport */
        double share = (double)fab_base_prng_below(&t->prng, 2000) / 1000 * t->load;
        if (!fab_base_prng_chance(&t->prng, IDLE_SHARE))
            flow[count++] = (struct flow){end[i], to, (float)(share * capacity(s, end[i]))};
    }
    free(end);
    if (count == 0) {
        free(flow);
        return 0;
    }
    *ret = flow;
    return count;
}

/* Adds the rate of a flow to each port on its path. The narrowest port limits this rate; the ports
 * before it wait. */
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
        t->rate[path[i]] += f->words * (float)share;
        if (i < narrowest)
            t->wait[path[i]] += f->words * (float)(1 - share);
    }
}

static void new_epoch(struct fab_sim *s)
{
    struct sim_traffic *t = s->traffic;
    uint32_t ports = s->fabric->port_count, path[HOPS_MOST];
    struct flow *flow = NULL;
    memset(t->rate, 0, ports * sizeof *t->rate);
    memset(t->wait, 0, ports * sizeof *t->wait);
    memset(t->demand, 0, ports * sizeof *t->demand);
    uint32_t count = choose_flows(s, &flow);
    for (uint32_t i = 0; i < count; i++) {
        unsigned hops = find_path(s, flow[i].from, flow[i].to, path);
        for (unsigned k = 0; k < hops; k++)
            t->demand[path[k]] += flow[i].words;
    }
    for (uint32_t i = 0; i < count; i++)
        add_flow(s, &flow[i]);
    /* sending and waiting together take at most all of the time */
    for (uint32_t p = 0; p < ports; p++) {
        float room = (float)capacity(s, p) - t->rate[p];
        if (t->wait[p] > room)
            t->wait[p] = room > 0 ? room : 0;
    }
    free(flow);
    /* no flows: the switches may have no tables yet, so try again sooner */
    t->epoch_at = s->now + (count > 0 ? EPOCH_US : EPOCH_US / 30);
}

/* ---- counters -------------------------------------------------------------------------------- */

static void count_rate(struct fab_sim *s, uint32_t port, uint32_t counter, double per_second,
                       double seconds)
{
    if (per_second > 0)
        fab_sim_count(s, port, counter, (uint64_t)(per_second * seconds));
}

/* Updates the counters of a port to the present time. */
static void settle(struct fab_sim *s, uint32_t port)
{
    struct sim_traffic *t = s->traffic;
    uint32_t peer = fab_fabric_port(s->fabric, port)->peer;
    double seconds = (double)(s->now - t->at[port]) / 1e6;
    t->at[port] = s->now;
    if (peer == FAB_NONE || !is_active(s, port))
        return;
    double sent = (double)t->rate[port], received = (double)t->rate[peer];
    count_rate(s, port, FAB_SIM_XMIT_DATA, sent, seconds);
    count_rate(s, port, FAB_SIM_RCV_DATA, received, seconds);
    count_rate(s, port, FAB_SIM_XMIT_PKTS, sent / WORDS_PER_PACKET, seconds);
    count_rate(s, port, FAB_SIM_RCV_PKTS, received / WORDS_PER_PACKET, seconds);
    count_rate(s, port, FAB_SIM_XMIT_WAIT, (double)t->wait[port], seconds);
    count_rate(s, port, FAB_SIM_VL_XMIT_WAIT, (double)t->wait[port], seconds);
}

void fab_sim_traffic_update(struct fab_sim *s, uint32_t port)
{
    if (s->traffic == NULL)
        return;
    if (s->now >= s->traffic->epoch_at) {
        for (uint32_t p = 0; p < s->fabric->port_count; p++)
            settle(s, p);
        new_epoch(s);
    }
    settle(s, port);
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
    t->rate = calloc(ports + 1u, sizeof *t->rate);
    t->wait = calloc(ports + 1u, sizeof *t->wait);
    t->at = calloc(ports + 1u, sizeof *t->at);
    t->demand = calloc(ports + 1u, sizeof *t->demand);
    if (t->rate == NULL || t->wait == NULL || t->at == NULL || t->demand == NULL) {
        traffic_free(t);
        return FAB_E_NOMEM;
    }
    fab_base_prng_init(&t->prng, seed);
    for (uint32_t p = 0; p < ports; p++)
        t->at[p] = s->now;
    s->traffic = t;
    return FAB_OK;
}
