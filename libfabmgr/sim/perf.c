/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Performance management of every device (IBA 16.1): PortCounters and PortCountersExtended are two
 * views of the same counters, one with ends and one without. Counters of a port are there once
 * something counted; some rise with time (fab_sim_rise), which is reckoned when they are read.
 *
 * Not done: PortSamplesControl and PortSamplesResult, counters of VLs and SLs.
 */
#include <stddef.h>

#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"
#include "libfabmgr/wire/gs.h"

#define ALL_PORTS 0xff
#define RATES_MAX 65536

/* Where a counter is in both attributes, and which bit of a Set selects it. NOWHERE: not there. */
#define NOWHERE 0xffff
#define NARROW(m) offsetof(struct fab_port_counters, m), sizeof(((struct fab_port_counters *)0)->m)
#define WIDE(m) offsetof(struct fab_port_counters_ext, m)
static const struct place {
    const char *name;
    uint16_t narrow, size;                    /* member of fab_port_counters, its bytes */
    uint16_t wide;                            /* member of fab_port_counters_ext */
    uint8_t bits;                             /* of the narrow one on the wire */
    int8_t select, select_wide, select_wide2; /* bits of CounterSelect; 16: CounterSelect2 bit 0 */
} places[] = {
    {"SymbolErrorCounter", NARROW(symbol_errors), WIDE(symbol_errors), 16, 0, -1, 0},
    {"LinkErrorRecoveryCounter", NARROW(link_error_recovery), WIDE(link_error_recovery), 8, 1, -1,
     1},
    {"LinkDownedCounter", NARROW(link_downed), WIDE(link_downed), 8, 2, -1, 2},
    {"PortRcvErrors", NARROW(rcv_errors), WIDE(rcv_errors), 16, 3, -1, 3},
    {"PortRcvRemotePhysicalErrors", NARROW(rcv_remote_physical_errors),
     WIDE(rcv_remote_physical_errors), 16, 4, -1, 4},
    {"PortRcvSwitchRelayErrors", NARROW(rcv_switch_relay_errors), WIDE(rcv_switch_relay_errors), 16,
     5, -1, 5},
    {"PortXmitDiscards", NARROW(xmit_discards), WIDE(xmit_discards), 16, 6, -1, 6},
    {"PortXmitConstraintErrors", NARROW(xmit_constraint_errors), WIDE(xmit_constraint_errors), 8, 7,
     -1, 7},
    {"PortRcvConstraintErrors", NARROW(rcv_constraint_errors), WIDE(rcv_constraint_errors), 8, 8,
     -1, 8},
    {"LocalLinkIntegrityErrors", NARROW(local_link_integrity_errors),
     WIDE(local_link_integrity_errors), 4, 9, -1, 9},
    {"ExcessiveBufferOverrunErrors", NARROW(excessive_buffer_overrun_errors),
     WIDE(excessive_buffer_overrun_errors), 4, 10, -1, 10},
    {"VL15Dropped", NARROW(vl15_dropped), WIDE(vl15_dropped), 16, 11, -1, 11},
    {"PortXmitData", NARROW(xmit_data), WIDE(xmit_data), 32, 12, 0, -1},
    {"PortRcvData", NARROW(rcv_data), WIDE(rcv_data), 32, 13, 1, -1},
    {"PortXmitPkts", NARROW(xmit_pkts), WIDE(xmit_pkts), 32, 14, 2, -1},
    {"PortRcvPkts", NARROW(rcv_pkts), WIDE(rcv_pkts), 32, 15, 3, -1},
    {"PortXmitWait", NARROW(xmit_wait), WIDE(xmit_wait), 32, 16, -1, 12},
    {"QP1Dropped", NARROW(qp1_dropped), WIDE(qp1_dropped), 16, 17, -1, 13},
    {"PortUnicastXmitPkts", NOWHERE, 0, WIDE(unicast_xmit_pkts), 0, -1, 4, -1},
    {"PortUnicastRcvPkts", NOWHERE, 0, WIDE(unicast_rcv_pkts), 0, -1, 5, -1},
    {"PortMulticastXmitPkts", NOWHERE, 0, WIDE(multicast_xmit_pkts), 0, -1, 6, -1},
    {"PortMulticastRcvPkts", NOWHERE, 0, WIDE(multicast_rcv_pkts), 0, -1, 7, -1},
};
_Static_assert(sizeof places / sizeof places[0] == FAB_SIM_COUNTERS, "a place for each counter");

/* ---- the counters -----------------------------------------------------------------------------
 */

static struct sim_counters *find(struct fab_sim *s, uint32_t port)
{
    uint32_t i;
    return fab_map_get(&s->counters.index, port, &i) ? &s->counters.items[i] : NULL;
}

static struct sim_counters *find_or_add(struct fab_sim *s, uint32_t port)
{
    struct sim_counter_table *t = &s->counters;
    struct sim_counters *found = find(s, port);
    if (found != NULL)
        return found;
    if (t->count == t->capacity) {
        void *grown = fab_grow(t->items, sizeof *t->items, t->count + 1, &t->capacity);
        if (grown == NULL)
            return NULL;
        t->items = grown;
    }
    if (fab_map_put(&t->index, port, (uint32_t)t->count) != FAB_OK)
        return NULL;
    t->items[t->count] = (struct sim_counters){0};
    return &t->items[t->count++];
}

void count(struct fab_sim *s, uint32_t port, enum fab_sim_counter counter, uint64_t add)
{
    struct sim_counters *c = find_or_add(s, port);
    if (c != NULL && __builtin_add_overflow(c->value[counter], add, &c->value[counter]))
        c->value[counter] = UINT64_MAX;
}

/* What rose since it was last reckoned. */
static void settle(struct fab_sim *s, uint32_t port)
{
    for (size_t i = 0; i < s->rate_count; i++) {
        struct sim_rate *r = &s->rates[i];
        if (r->port != port)
            continue;
        uint64_t due = (uint64_t)((double)(s->now - r->since) / 1e6 * r->per_second);
        if (due <= r->given)
            continue;
        count(s, port, (enum fab_sim_counter)r->counter, due - r->given);
        r->given = due;
    }
}

int fab_sim_count(struct fab_sim *s, uint32_t node, uint8_t port, enum fab_sim_counter counter,
                  uint64_t add)
{
    if (!has_port(s, node, port) || counter >= FAB_SIM_COUNTERS)
        return FAB_E_NOT_FOUND;
    count(s, port_id(s, node, port), counter, add);
    return FAB_OK;
}

int fab_sim_rise(struct fab_sim *s, uint32_t node, uint8_t port, enum fab_sim_counter counter,
                 double per_second)
{
    if (!has_port(s, node, port) || counter >= FAB_SIM_COUNTERS)
        return FAB_E_NOT_FOUND;
    if (!(per_second >= 0 && per_second < 1e15))
        return FAB_E_INVAL;
    uint32_t id = port_id(s, node, port);
    size_t i = 0;
    settle(s, id);
    while (i < s->rate_count && (s->rates[i].port != id || s->rates[i].counter != counter))
        i++;
    if (i == s->rate_count) {
        if (i >= RATES_MAX)
            return FAB_E_LIMIT;
        if (i == s->rate_capacity) {
            void *grown = fab_grow(s->rates, sizeof *s->rates, i + 1, &s->rate_capacity);
            if (grown == NULL)
                return FAB_E_NOMEM;
            s->rates = grown;
        }
        s->rate_count++;
    }
    s->rates[i] = (struct sim_rate){
        .port = id, .counter = (uint8_t)counter, .per_second = per_second, .since = s->now};
    return FAB_OK;
}

int fab_sim_counter_by_name(const char *name, enum fab_sim_counter *ret)
{
    for (size_t i = 0; i < FAB_SIM_COUNTERS; i++)
        if (strcmp(places[i].name, name) == 0) {
            *ret = (enum fab_sim_counter)i;
            return FAB_OK;
        }
    return FAB_E_NOT_FOUND;
}

uint64_t fab_sim_counter(struct fab_sim *s, uint32_t node, uint8_t port,
                         enum fab_sim_counter counter)
{
    if (!has_port(s, node, port) || counter >= FAB_SIM_COUNTERS)
        return 0;
    settle(s, port_id(s, node, port));
    const struct sim_counters *c = find(s, port_id(s, node, port));
    return c != NULL ? c->value[counter] : 0;
}

void counters_forget(struct fab_sim *s, uint32_t node)
{
    uint32_t first = s->fabric->nodes[node].first_port;
    for (uint32_t p = first; p <= first + s->fabric->nodes[node].num_ports; p++) {
        struct sim_counters *c = find(s, p);
        settle(s, p);
        if (c != NULL)
            *c = (struct sim_counters){0};
    }
}

/* ---- the two attributes -----------------------------------------------------------------------
 */

static bool selected(const struct fab_port_counters *narrow, const struct fab_port_counters_ext *w,
                     const struct place *p)
{
    if (narrow != NULL && p->select >= 16)
        return narrow->counter_select2 >> (p->select - 16) & 1;
    if (narrow != NULL)
        return p->select >= 0 && (narrow->counter_select >> p->select & 1);
    return (p->select_wide >= 0 && (w->counter_select >> p->select_wide & 1)) ||
           (p->select_wide2 >= 0 && (w->counter_select2 >> p->select_wide2 & 1));
}

static uint64_t narrow_get(const struct fab_port_counters *n, const struct place *p)
{
    const uint8_t *at = (const uint8_t *)n + p->narrow;
    uint32_t u32 = 0;
    uint16_t u16 = 0;
    memcpy(&u32, at, p->size == sizeof u32 ? sizeof u32 : 0);
    memcpy(&u16, at, p->size == sizeof u16 ? sizeof u16 : 0);
    return p->size == sizeof u32 ? u32 : p->size == sizeof u16 ? u16 : *at;
}

static void narrow_put(struct fab_port_counters *n, const struct place *p, uint64_t value)
{
    uint8_t *at = (uint8_t *)n + p->narrow;
    uint64_t most = (UINT64_C(1) << p->bits) - 1;
    uint32_t u32 = (uint32_t)(value < most ? value : most);
    uint16_t u16 = (uint16_t)u32;
    if (p->size == sizeof u32)
        memcpy(at, &u32, sizeof u32);
    else if (p->size == sizeof u16)
        memcpy(at, &u16, sizeof u16);
    else
        *at = (uint8_t)u32;
}

static uint64_t wide_get(const struct fab_port_counters_ext *w, const struct place *p)
{
    uint64_t value;
    memcpy(&value, (const uint8_t *)w + p->wide, sizeof value);
    return value;
}

/* The ports that PortSelect means: one, or all of a switch that have cables. */
static bool find_ports(const struct gs_request *r, uint8_t select, uint32_t *ret_first,
                       uint32_t *ret_last)
{
    const struct fab_node *node = &r->sim->fabric->nodes[r->at.node];
    if (select != ALL_PORTS && !has_port(r->sim, r->at.node, select))
        return false;
    *ret_first = node->first_port + (select == ALL_PORTS ? 1u : select);
    *ret_last = select == ALL_PORTS ? node->first_port + node->num_ports : *ret_first;
    return true;
}

/* Sets what is selected (one of narrow and wide), then adds up what stands. */
static bool use(struct gs_request *r, uint8_t port_select, const struct fab_port_counters *narrow,
                const struct fab_port_counters_ext *wide, uint64_t sum[FAB_SIM_COUNTERS])
{
    uint32_t first, last;
    if (!find_ports(r, port_select, &first, &last))
        return false;
    memset(sum, 0, FAB_SIM_COUNTERS * sizeof *sum);
    for (uint32_t port = first; port <= last; port++) {
        settle(r->sim, port);
        struct sim_counters *c = find(r->sim, port);
        for (size_t i = 0; c != NULL && i < FAB_SIM_COUNTERS; i++) {
            const struct place *p = &places[i];
            if (r->set && selected(narrow, wide, p))
                c->value[i] = narrow != NULL ? narrow_get(narrow, p) : wide_get(wide, p);
            sum[i] += c->value[i];
        }
    }
    return true;
}

static uint16_t handle_port_counters(struct gs_request *r)
{
    struct fab_port_counters n;
    uint64_t sum[FAB_SIM_COUNTERS];
    if (fab_attr_unpack(&fab_attr_port_counters, r->data, sizeof r->data, &n) != FAB_OK ||
        !use(r, n.port_select, &n, NULL, sum))
        return FAB_SMP_BAD_VALUE;
    for (size_t i = 0; i < FAB_SIM_COUNTERS; i++)
        if (places[i].narrow != NOWHERE)
            narrow_put(&n, &places[i], sum[i]);
    (void)fab_attr_pack(&fab_attr_port_counters, &n, r->data, sizeof r->data);
    return 0;
}

static uint16_t handle_port_counters_ext(struct gs_request *r)
{
    struct fab_port_counters_ext w;
    uint64_t sum[FAB_SIM_COUNTERS];
    if (fab_attr_unpack(&fab_attr_port_counters_ext, r->data, sizeof r->data, &w) != FAB_OK ||
        !use(r, w.port_select, NULL, &w, sum))
        return FAB_SMP_BAD_VALUE;
    for (size_t i = 0; i < FAB_SIM_COUNTERS; i++)
        memcpy((uint8_t *)&w + places[i].wide, &sum[i], sizeof sum[i]);
    (void)fab_attr_pack(&fab_attr_port_counters_ext, &w, r->data, sizeof r->data);
    return 0;
}

uint16_t perf_handle(struct gs_request *r, uint16_t attr_id)
{
    switch (attr_id) {
    case FAB_PERF_PORT_COUNTERS:
        return handle_port_counters(r);
    case FAB_PERF_PORT_COUNTERS_EXT:
        return handle_port_counters_ext(r);
    default:
        return FAB_SMP_BAD_ATTR;
    }
}
