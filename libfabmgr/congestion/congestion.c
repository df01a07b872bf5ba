/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the congestion control settings of all ports. It first collects the basis of each port:
 * the facts that decide its setting. For ports with the same basis, derive.c derives one setting,
 * which they share. summary.c finds the facts about the whole fabric. */
#include "libfabmgr/congestion/congestion.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/congestion/derive.h"
#include "libfabmgr/congestion/summary.h"

#define NS_A_METRE 5
/* maximum of the assumed fan-in, if nothing but the number of endports is known */
#define FAN_IN_MAX 512
/* assumed size of a device's congestion control table, in entries, if ControlTableCap is unknown */
#define ENTRIES 128

/* the distinct bases that were found so far, in the order in which they were found */
struct bases {
    struct fab_congestion_basis *items;
    size_t count, capacity;
};
struct work {
    const struct fab_congestion_input *in;
    const struct fab_policy_congestion *policy;
    struct fab_congestion_summary summary;
    /* fan-in if all other endports send to one endport: rounded, at most FAN_IN_MAX */
    uint32_t all;
    /* [SL] fan-in of the traffic classes that use the SL: rounded, at most `all` */
    uint32_t by_class[FAB_CONGESTION_SLS];
    struct fab_congestion_basis common;
    struct bases ports, adapters;
};

/* ---- facts common to all ports --------------------------------------------------------------- */

/* Rounds a number of endports up to 2^k or 1.5 * 2^k, so that settings rarely change if a few
 * endports come or go. */
static uint32_t rounded(uint32_t n)
{
    uint32_t power = 2;
    while (power < n && power < 1u << 31)
        power *= 2;
    return power >= 4 && power / 4 * 3 >= n ? power / 4 * 3 : power;
}

/* Writes to *b the fan-in that is assumed for each SL. port_fan_in: maximum fan-in that the
 * partitions of the port permit; 0: no limit. */
static void set_fan_in(const struct work *w, uint32_t port_fan_in, struct fab_congestion_basis *b)
{
    uint32_t by_hand = w->policy->fan_in,
             by_partition = port_fan_in > 0 ? rounded(port_fan_in) : UINT32_MAX;
    b->fan_in = 0;
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        uint32_t by_class = w->by_class[sl],
                 count = by_partition < by_class ? by_partition : by_class;
        b->sl_fan_in[sl] = by_hand > 0 ? by_hand : count;
        if (b->sl_fan_in[sl] <= b->fan_in)
            continue;
        b->fan_in = b->sl_fan_in[sl];
        b->fan_in_from = by_hand > 0               ? FAB_CONGESTION_FROM_POLICY
                         : by_partition < by_class ? FAB_CONGESTION_FROM_JOBS
                         : by_class < w->all       ? FAB_CONGESTION_FROM_CLASS
                                                   : FAB_CONGESTION_FROM_FABRIC;
    }
}

static void set_class_fan_in(struct work *w)
{
    const uint32_t *fan_in = w->in->fan_in;
    uint32_t others = w->common.endports > 1 ? w->common.endports - 1 : 1;
    w->all = rounded(others < FAN_IN_MAX ? others : FAN_IN_MAX);
    for (int sl = 0; sl < FAB_CONGESTION_SLS; sl++) {
        uint32_t of_class = fan_in != NULL && fan_in[sl] > 0 ? rounded(fan_in[sl]) : w->all;
        w->by_class[sl] = of_class < w->all ? of_class : w->all;
    }
}

/* Returns the greatest element of in->port_fan_in[]; 0: unknown. */
static uint32_t max_port_fan_in(const struct fab_congestion_input *in)
{
    uint32_t most = 0;
    for (uint32_t p = 0; in->port_fan_in != NULL && p < in->fabric->port_count; p++)
        most = in->port_fan_in[p] > most ? in->port_fan_in[p] : most;
    return most;
}

static uint32_t bounded(uint64_t x)
{
    return x < UINT32_MAX ? (uint32_t)x : UINT32_MAX;
}

static void set_times(struct work *w)
{
    const struct fab_policy_congestion *p = w->policy;
    struct fab_congestion_basis *b = &w->common;
    uint64_t one_way = (uint64_t)b->hops * p->hop_ns + 2 * (uint64_t)p->adapter_ns +
                       (b->hops + 1) * (uint64_t)p->cable_m * NS_A_METRE;
    b->rtt_ns = bounded(2 * one_way);
    if (b->slowest > 0)
        b->queue_ns = bounded((uint64_t)p->queue_kb * 1024 * 8 * 1000 / b->slowest);
}

static void set_common(struct work *w)
{
    const struct fab_congestion_summary *s = &w->summary;
    uint32_t most = fab_wire_mtu_bytes(w->in->policy->max_mtu);
    uint32_t hops = w->in->hops > 0 ? w->in->hops : s->hops;
    w->common = (struct fab_congestion_basis){
        .profile = w->policy->profile,
        .hops = (uint8_t)(hops < UINT8_MAX ? hops : UINT8_MAX),
        .mtu = (uint16_t)(s->mtu < most ? s->mtu : most),
        .slowest = s->slowest,
        .endports = rounded(s->endports),
        .taper = 100,
    };
    set_class_fan_in(w);
    set_fan_in(w, max_port_fan_in(w->in), &w->common);
    set_times(w);
}

/* ---- ports ----------------------------------------------------------------------------------- */

static int find(struct bases *all, const struct fab_congestion_basis *b, uint16_t *ret)
{
    size_t i = 0;
    /* Bases are compared as bytes, with their padding. If two bases differ only in padding, both
     * are stored, which does no harm. */
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
    while (i < all->count && memcmp(&all->items[i], b, sizeof *b) != 0)
        i++;
    if (i == FAB_CONGESTION_NONE)
        return FAB_E_LIMIT;
    if (i == all->capacity) {
        void *grown = fab_base_grow(all->items, sizeof *all->items, i + 1, &all->capacity);
        if (grown == NULL)
            return FAB_E_NOMEM;
        all->items = grown;
    }
    if (i == all->count)
        all->items[all->count++] = *b;
    *ret = (uint16_t)i;
    return FAB_OK;
}

static uint16_t entries_of(const struct fab_congestion_input *in, uint32_t node)
{
    uint32_t blocks = in->table_blocks != NULL ? in->table_blocks[node] : 0;
    uint32_t entries = blocks * FAB_CONGESTION_BLOCK;
    if (entries == 0)
        return ENTRIES;
    return (uint16_t)(entries < FAB_CONGESTION_TABLE_MOST ? entries : FAB_CONGESTION_TABLE_MOST);
}

static int add_port(struct work *w, uint32_t port, uint16_t *ret)
{
    const struct fab_fabric *f = w->in->fabric;
    uint32_t node = fab_fabric_port(f, port)->node;
    struct fab_congestion_basis b;
    /* memcpy also copies the padding bytes, which count when bases are compared */
    memcpy(&b, &w->common, sizeof b);
    b.rate = fab_wire_link_rate(&fab_fabric_port(f, port)->info);
    if (!fab_fabric_node_is_switch(f, node)) {
        b.entries = entries_of(w->in, node);
        set_fan_in(w, w->in->port_fan_in != NULL ? w->in->port_fan_in[port] : 0, &b);
        return find(&w->adapters, &b, ret);
    }
    uint32_t to = fab_fabric_peer_node(f, port);
    b.edge = !fab_fabric_node_is_switch(f, to);
    b.up = !b.edge && w->summary.rank[to] > w->summary.rank[node];
    b.down = !b.edge && w->summary.rank[to] < w->summary.rank[node];
    b.taper = b.edge ? 100 : w->summary.taper[node];
    return find(&w->ports, &b, ret);
}

static int add_ports(struct work *w, uint16_t *of_port)
{
    const struct fab_fabric *f = w->in->fabric;
    int rc = FAB_OK;
    for (uint32_t p = 0; rc == FAB_OK && p < f->port_count; p++) {
        of_port[p] = FAB_CONGESTION_NONE;
        bool of_switch = fab_fabric_node_is_switch(f, fab_fabric_port(f, p)->node);
        if (of_switch ? fab_fabric_port(f, p)->num > 0 && fab_fabric_port_is_up(f, p)
                      : fab_congestion_is_edge(f, p))
            rc = add_port(w, p, &of_port[p]);
    }
    return rc;
}

static int derive_all(struct work *w, struct fab_congestion *c)
{
    c->port_count = (uint16_t)w->ports.count;
    c->adapter_count = (uint16_t)w->adapters.count;
    c->port = fab_base_alloc_array(c->port_count, sizeof *c->port);
    c->adapter = fab_base_alloc_array(c->adapter_count, sizeof *c->adapter);
    if (c->port == NULL || c->adapter == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 0; i < c->port_count; i++)
        fab_congestion_derive_port(&w->ports.items[i], w->policy, &c->port[i]);
    for (uint32_t i = 0; i < c->adapter_count; i++)
        fab_congestion_derive_adapter(&w->adapters.items[i], w->policy, &c->adapter[i]);
    return FAB_OK;
}

int fab_congestion_compute(const struct fab_congestion_input *in, struct fab_congestion *ret)
{
    struct work w = {.in = in, .policy = &in->policy->congestion};
    struct fab_congestion c = {.ports = in->fabric->port_count};
    int rc = fab_congestion_summary_init(in->fabric, &w.summary);
    if (rc == FAB_OK) {
        set_common(&w);
        c.of_port = fab_base_alloc_array(c.ports, sizeof *c.of_port);
        rc = c.of_port != NULL ? add_ports(&w, c.of_port) : FAB_E_NOMEM;
    }
    if (rc == FAB_OK)
        rc = derive_all(&w, &c);
    c.port_basis = w.ports.items;
    c.adapter_basis = w.adapters.items;
    fab_congestion_summary_fini(&w.summary);
    if (rc == FAB_OK)
        *ret = c;
    else
        fab_congestion_fini(&c);
    return rc;
}

void fab_congestion_fini(struct fab_congestion *c)
{
    free(c->of_port);
    free(c->port);
    free(c->adapter);
    free(c->port_basis);
    free(c->adapter_basis);
    *c = (struct fab_congestion){0};
}

static uint16_t index_of(const struct fab_congestion *c, const struct fab_fabric *f, uint32_t port,
                         bool of_switch)
{
    if (port >= c->ports ||
        fab_fabric_node_is_switch(f, fab_fabric_port(f, port)->node) != of_switch)
        return FAB_CONGESTION_NONE;
    return c->of_port[port];
}

const struct fab_congestion_port *
fab_congestion_of_switch(const struct fab_congestion *c, const struct fab_fabric *f, uint32_t port)
{
    uint16_t i = index_of(c, f, port, true);
    return i != FAB_CONGESTION_NONE ? &c->port[i] : NULL;
}

const struct fab_congestion_adapter *
fab_congestion_of_adapter(const struct fab_congestion *c, const struct fab_fabric *f, uint32_t port)
{
    uint16_t i = index_of(c, f, port, false);
    return i != FAB_CONGESTION_NONE ? &c->adapter[i] : NULL;
}
