/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads counters (IBA 16.1). A pass reads all ports of the view, a few in each timer tick, spread
 * evenly over one interval. While the subnet manager is busy, the pass sends no requests;
 * afterwards it catches up at a limited rate.
 *
 * Between two ticks, the pass keeps no reference to a view. A local repair changes the tables in
 * place if nobody else refers to them; otherwise it must copy them. The pass only remembers the id
 * of the next port. If the fabric changes during a pass, the pass may read a few ports twice or not
 * at all.
 *
 * A pass reads the two ends of a link directly one after the other, so that the bytes that one end
 * has sent can be compared with the bytes that the other end has received. No node has more than
 * NODE_MOST requests in flight; for each kind of request, the node has a bitset of the ports whose
 * request is not sent yet.
 *
 * The pass first requests ClassPortInfo from each node. If the node's PortCountersExtended (64
 * bits) includes error counters, the pass reads only this attribute. Otherwise it reads
 * PortCounters, and also PortCountersExtended if the node has it. The pass reads PortXmitWait per
 * VL only from ports whose PortXmitWait rose since the pass before.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/pm/private.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/buf.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* A timer tick reads TICK_PORTS ports, or more in a large fabric, so that a pass over all ports has
 * at most PASS_TICKS ticks. While a late pass catches up, each tick reads at most twice as many
 * ports. */
#define TICK_PORTS 16u
#define PASS_TICKS 2048u
/* maximum number of ports that are examined in a timer tick */
#define TICK_SCAN 4096u
/* Maximum number of requests in flight. A request to a device that does not answer is in flight
 * until its timeout, so many such devices slow down the pass. */
#define WAITING_MOST 256
/* Maximum number of requests in flight to one node. */
#define NODE_MOST 2
#define MBPS_BYTES UINT64_C(125000) /* bytes per second of 1 Mb/s */
/* A reading is dropped as wrong if the rate since the reading before is higher than this multiple
 * of the link's nominal rate. */
#define CREDIBLE 2
#define TICK_LEAST_US 2000u
#define TICK_MOST_US 1000000u
/* byte offset of the attribute in the data after the common MAD header */
#define AT_ATTR (FAB_PERF_DATA - 24)

/* ---- nodes ----------------------------------------------------------------------------------- */

static struct pm_node *free_place(struct pm *pm)
{
    for (size_t i = 0; i < pm->node_count && pm->index.count < pm->node_count; i++)
        if (!pm->nodes[i].port)
            return &pm->nodes[i];
    if (pm->node_count == pm->node_capacity) {
        void *grown =
            fab_base_grow(pm->nodes, sizeof(*pm->nodes), pm->node_count + 1, &pm->node_capacity);
        if (!grown)
            return NULL;
        pm->nodes = grown;
    }
    pm->nodes[pm->node_count] = (struct pm_node){0};
    return &pm->nodes[pm->node_count++];
}

/* Makes room for the ports of a node that now has more ports than when it was last read, for
 * example after an update of its firmware. Keeps the readings of the former ports. Returns NULL if
 * memory runs out. */
static struct pm_node *add_ports(struct pm_node *n, uint8_t ports)
{
    struct pm_port *grown = reallocarray(n->port, ports + 1u, sizeof(*grown));
    if (!grown)
        return NULL;
    memset(grown + n->ports + 1, 0, (size_t)(ports - n->ports) * sizeof(*grown));
    n->port = grown;
    n->ports = ports;
    n->known = false;    /* ClassPortInfo may have changed, too */
    n->history_pass = 0; /* the present round has too few columns for the node */
    return n;
}

/* Returns the entry of a node in the list of nodes, and adds the entry if there is none. NULL:
 * out of memory. */
static struct pm_node *node_of(struct pm *pm, const struct fab_node *from)
{
    uint32_t i;
    if (fab_base_map_get(&pm->index, from->guid, &i))
        return pm->nodes[i].ports >= from->num_ports ? &pm->nodes[i]
                                                     : add_ports(&pm->nodes[i], from->num_ports);
    struct pm_port *port = calloc(from->num_ports + 1u, sizeof(*port));
    struct pm_node *n = port ? free_place(pm) : NULL;
    if (!n || fab_base_map_put(&pm->index, from->guid, (uint32_t)(n - pm->nodes)) != FAB_OK) {
        free(port);
        return NULL;
    }
    *n = (struct pm_node){.guid = from->guid,
                          .port = port,
                          .ports = from->num_ports,
                          .is_switch = from->type == FAB_NODE_SWITCH,
                          .life = (uint16_t)(n->life + 1)};
    return n;
}

struct pm_node *pm_node_of(const struct pm *pm, uint64_t guid)
{
    uint32_t i;
    return fab_base_map_get(&pm->index, guid, &i) ? &pm->nodes[i] : NULL;
}

/* Removes the entries of nodes that were not read in the last two passes. */
static void forget_nodes(struct pm *pm)
{
    for (size_t i = 0; i < pm->node_count; i++) {
        struct pm_node *n = &pm->nodes[i];
        if (!n->port || n->pass + 2 > pm->pass)
            continue;
        free(n->port);
        n->port = NULL;
        fab_base_map_remove(&pm->index, n->guid);
    }
}

void pm_nodes_fini(struct pm *pm)
{
    for (size_t i = 0; i < pm->node_count; i++)
        free(pm->nodes[i].port);
    free(pm->nodes);
    fab_base_map_fini(&pm->index);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a);

static uint64_t tag_of(const struct pm *pm, const struct pm_node *n, uint8_t port, enum pm_ask ask)
{
    return (uint64_t)(n - pm->nodes) << 32 | (uint64_t)n->life << 16 | (uint64_t)port << 8 | ask;
}

static uint16_t attr_of(const struct pm_node *n, enum pm_ask ask)
{
    switch (ask) {
    case PM_ASK_ABILITY:
        return FAB_ATTR_CLASS_PORT_INFO;
    case PM_ASK_COUNTERS:
        return n->wide ? FAB_PERF_PORT_COUNTERS_EXT : FAB_PERF_PORT_COUNTERS;
    case PM_ASK_DATA:
        return FAB_PERF_PORT_COUNTERS_EXT;
    case PM_ASK_CLEAR:
        return FAB_PERF_PORT_COUNTERS;
    case PM_ASK_MARKS:
        return n->is_switch ? FAB_PERF_SW_VL_CONGESTION : FAB_PERF_RCV_CON_CTRL;
    case PM_ASK_VLS:
        break;
    }
    return FAB_PERF_VL_XMIT_WAIT;
}

static void submit(struct pm *pm, struct pm_node *n, uint8_t port, enum pm_ask ask)
{
    struct fab_mads_request r = {.mgmt_class = FAB_CLASS_PERF,
                                 .method = FAB_METHOD_GET,
                                 .attr_id = attr_of(n, ask),
                                 .dlid = n->lid,
                                 .done = on_answer,
                                 .ctx = pm,
                                 .tag = tag_of(pm, n, port, ask)};
    if (ask != PM_ASK_ABILITY)
        r.data[AT_ATTR + 1] = port; /* byte 1 of the attribute is PortSelect */
    if (ask == PM_ASK_CLEAR) {
        r.method = FAB_METHOD_SET;
        fab_base_put_be16(r.data + AT_ATTR + 2,
                          fab_health_counters_full_select(&n->port[port].last));
    }
    if (fab_mads_submit(pm->mads, &r) != FAB_OK) {
        log_debug("pm", "out of memory: a request was not sent");
        return;
    }
    pm->waiting++;
    n->in_flight++;
    if (n->in_flight > pm->most_in_flight)
        pm->most_in_flight = n->in_flight;
}

static void want(struct pm_node *n, uint8_t port, enum pm_ask ask)
{
    fab_base_bits_set(n->wanted[ask], port);
}

/* Finds the next request that must still be sent to the node, and removes it from the bitsets.
 * Returns false if there is none. */
static bool take_wanted(struct pm_node *n, uint8_t *ret_port, enum pm_ask *ret_ask)
{
    for (int ask = 0; ask < PM_ASK_PORT_KINDS; ask++)
        for (uint32_t word = 0; word < 4; word++)
            if (n->wanted[ask][word] != 0) {
                uint32_t port = word * 64 + (uint32_t)__builtin_ctzll(n->wanted[ask][word]);
                fab_base_bits_clear(n->wanted[ask], port);
                *ret_port = (uint8_t)port;
                *ret_ask = (enum pm_ask)ask;
                return true;
            }
    return false;
}

/* Sends waiting requests to the node, up to the limit of requests in flight. As long as the node's
 * ClassPortInfo is not known, requests only this attribute. */
static void send_wanted(struct pm *pm, struct pm_node *n)
{
    uint8_t port;
    enum pm_ask ask;
    if (!n->known) {
        if (n->in_flight == 0)
            submit(pm, n, 0, PM_ASK_ABILITY);
        return;
    }
    while (n->in_flight < NODE_MOST && take_wanted(n, &port, &ask))
        submit(pm, n, port, ask);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void learn_ability(struct pm *pm, struct pm_node *n, const uint8_t *attr, size_t len)
{
    struct fab_class_port_info info;
    if (!attr || fab_wire_attr_unpack(&fab_wire_attr_class_port_info, attr, len, &info) != FAB_OK) {
        pm->failed++; /* ClassPortInfo stays unknown, so the next pass requests it again */
        memset(n->wanted, 0, sizeof(n->wanted));
        return;
    }
    n->known = true;
    n->wide_data = info.cap_mask & FAB_PERF_EXT_WIDTH;
    n->wide = n->wide_data && (info.cap_mask2 & FAB_PERF2_ERRORS_EXT);
    n->has_wait = info.cap_mask & FAB_PERF_XMIT_WAIT;
}

static void take_casts(struct pm_port *p, const struct fab_port_counters_ext *from)
{
    p->casts = (struct pm_casts){from->unicast_xmit_pkts, from->unicast_rcv_pkts,
                                 from->multicast_xmit_pkts, from->multicast_rcv_pkts};
    p->has_casts = true;
}

/* Unpacks the error and traffic counters in an answer. Returns false if the node did not answer, or
 * answered for another port. */
static bool unpack(const struct pm_node *n, uint8_t port, const uint8_t *attr, size_t len,
                   struct fab_counters *ret_errors, struct fab_traffic *ret)
{
    struct fab_port_counters narrow;
    struct fab_port_counters_ext wide;
    if (!attr)
        return false;
    if (n->wide) {
        if (fab_wire_attr_unpack(&fab_wire_attr_port_counters_ext, attr, len, &wide) != FAB_OK ||
            wide.port_select != port)
            return false;
        fab_health_counters_from_ext(&wide, ret_errors);
        take_casts(&n->port[port], &wide);
        *ret = (struct fab_traffic){
            0,    wide.xmit_data, wide.rcv_data, wide.xmit_pkts, wide.rcv_pkts, wide.xmit_wait,
            true, true,           n->has_wait};
        return true;
    }
    if (fab_wire_attr_unpack(&fab_wire_attr_port_counters, attr, len, &narrow) != FAB_OK ||
        narrow.port_select != port)
        return false;
    fab_health_counters_from(&narrow, ret_errors);
    *ret = (struct fab_traffic){0,
                                narrow.xmit_data,
                                narrow.rcv_data,
                                narrow.xmit_pkts,
                                narrow.rcv_pkts,
                                narrow.xmit_wait,
                                false,
                                false,
                                n->has_wait};
    return true;
}

/* Stores a new reading of the traffic counters of a port, and computes its sample. `reset`: an
 * error counter is lower than before; the traffic counters were then probably cleared, too, so no
 * rates are computed. If the port had to wait for credits, also requests PortXmitWait per VL. */
static void take_traffic(struct pm *pm, struct pm_node *n, uint8_t port,
                         const struct fab_traffic *now, bool reset)
{
    struct pm_port *p = &n->port[port];
    struct fab_sample s = {0};
    if (!reset)
        fab_counters_sample_traffic(&p->traffic, now, p->mbps * MBPS_BYTES * CREDIBLE, &s);
    memcpy(p->sample.code, s.code, FAB_COLUMN_RATES * sizeof(*s.code));
    pm_note_data(n, port, now->at_us, now->xmit_data, now->xmit_wait);
    p->traffic = *now;
    pm_history_put(pm, n, port, &s);
    if (!n->no_vls &&
        fab_counters_decode_value(FAB_COLUMN_XMIT_WAIT, p->sample.code[FAB_COLUMN_XMIT_WAIT]))
        want(n, port, PM_ASK_VLS);
}

/* Compares the new error counters of the port with the reading before (*was). Stores the increases
 * as a sample, and passes both readings to the watch for unhealthy links. */
static void take_errors(struct pm *pm, struct pm_node *n, uint8_t port, const struct pm_port *was)
{
    struct pm_port *p = &n->port[port];
    struct fab_sample s = {0};
    if (was->at_us == 0)
        return;
    fab_counters_sample_errors(&was->last, &p->last, &s);
    memcpy(p->sample.code + FAB_COLUMN_ERRORS, s.code + FAB_COLUMN_ERRORS,
           FAB_COUNTERS * sizeof(*s.code));
    pm_history_put(pm, n, port, &s);
    pm_read(pm, n->guid, port, was, p);
}

static void take_counters(struct pm *pm, struct pm_node *n, uint8_t port, const uint8_t *attr,
                          size_t len)
{
    struct pm_port *p = &n->port[port], was = *p;
    struct fab_traffic now;
    struct fab_counters errors;
    if (!unpack(n, port, attr, len, &errors, &now)) {
        /* request ClassPortInfo again, because the firmware may have changed */
        n->known = false;
        pm->failed++;
        return;
    }
    pm->reads++;
    p->last = errors;
    p->at_us = now.at_us = clock_now_us();
    bool reset = was.at_us != 0 && fab_counters_was_reset(&was.last, &p->last);
    if (n->wide || !n->wide_data) {
        take_traffic(pm, n, port, &now, reset);
    } else {
        p->wait = (uint32_t)now.xmit_wait;
        p->reset = reset;
        want(n, port, PM_ASK_DATA);
    }
    take_errors(pm, n, port, &was);
    if (pm->in.config->counters.clear && fab_health_counters_full_select(&p->last) != 0)
        want(n, port, PM_ASK_CLEAR);
    if (!n->no_marks && pm_wants_marks(pm))
        want(n, port, PM_ASK_MARKS);
}

/* Stores the data and packet counters from PortCountersExtended. Called for nodes whose
 * PortCountersExtended has neither error counters nor PortXmitWait. These counters were read from
 * PortCounters before. */
static void take_data(struct pm *pm, struct pm_node *n, uint8_t port, const uint8_t *attr,
                      size_t len)
{
    struct fab_port_counters_ext wide;
    struct pm_port *p = &n->port[port];
    if (!attr ||
        fab_wire_attr_unpack(&fab_wire_attr_port_counters_ext, attr, len, &wide) != FAB_OK ||
        wide.port_select != port) {
        n->known = false;
        pm->failed++;
        return;
    }
    take_casts(p, &wide);
    const struct fab_traffic now = {clock_now_us(), wide.xmit_data, wide.rcv_data,
                                    wide.xmit_pkts, wide.rcv_pkts,  p->wait,
                                    true,           false,          n->has_wait};
    take_traffic(pm, n, port, &now, p->reset);
}

/* Unpacks an attribute with detailed counters. Returns false if the node did not answer, or
 * answered for another port. The caller then assumes that the node does not support the
 * attribute. */
static bool unpack_details(const struct pm_node *n, uint8_t port, enum pm_ask ask,
                           const uint8_t *attr, size_t len, struct fab_perf_details *ret)
{
    return attr &&
           fab_wire_attr_unpack(fab_wire_attr_of_class(FAB_CLASS_PERF, attr_of(n, ask)), attr, len,
                                ret) == FAB_OK &&
           ret->port_select == port;
}

static void take_marks(struct pm_node *n, uint8_t port, const uint8_t *attr, size_t len)
{
    struct fab_perf_details values;
    n->no_marks = !unpack_details(n, port, PM_ASK_MARKS, attr, len, &values);
    if (!n->no_marks)
        pm_note_marks(n, port, clock_now_us(), &values);
}

static void take_vls(struct pm *pm, struct pm_node *n, uint8_t port, const uint8_t *attr,
                     size_t len)
{
    struct pm_port *p = &n->port[port];
    struct fab_perf_details values;
    struct fab_vl_wait now;
    struct fab_sample s = {0};
    n->no_vls = !unpack_details(n, port, PM_ASK_VLS, attr, len, &values);
    if (n->no_vls)
        return;
    for (int vl = 0; vl < FAB_COLUMN_VLS; vl++)
        now.value[vl] = (uint16_t)values.value[vl];
    s.code[FAB_COLUMN_XMIT_WAIT] = p->sample.code[FAB_COLUMN_XMIT_WAIT];
    if (p->has_vls)
        fab_counters_sample_vls(&p->vl_wait, &now, &s);
    s.code[FAB_COLUMN_XMIT_WAIT] = FAB_CODE_NONE;
    p->vl_wait = now;
    p->has_vls = true;
    pm_history_put(pm, n, port, &s);
}

static void take_cleared(struct pm_node *n, uint8_t port)
{
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (fab_health_counters_full(&n->port[port].last, (enum fab_counter)i))
            n->port[port].last.value[i] = 0;
}

static void take(struct pm *pm, struct pm_node *n, uint8_t port, enum pm_ask ask,
                 const uint8_t *attr, size_t len)
{
    switch (ask) {
    case PM_ASK_ABILITY:
        learn_ability(pm, n, attr, len);
        break;
    case PM_ASK_COUNTERS:
        take_counters(pm, n, port, attr, len);
        break;
    case PM_ASK_DATA:
        take_data(pm, n, port, attr, len);
        break;
    case PM_ASK_CLEAR:
        if (attr)
            take_cleared(n, port);
        break;
    case PM_ASK_MARKS:
        take_marks(n, port, attr, len);
        break;
    case PM_ASK_VLS:
        take_vls(pm, n, port, attr, len);
        break;
    }
}

static bool wants_any(const struct pm_node *n)
{
    for (int ask = 0; ask < PM_ASK_PORT_KINDS; ask++)
        for (int word = 0; word < 4; word++)
            if (n->wanted[ask][word] != 0)
                return true;
    return false;
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct pm *pm = ctx;
    struct pm_node *n = &pm->nodes[tag >> 32];
    uint8_t port = (uint8_t)(tag >> 8);
    bool good = a->status == FAB_OK && a->len > AT_ATTR;
    const uint8_t *attr = good ? a->data + AT_ATTR : NULL;
    pm->waiting--;
    if (!n->port || n->life != (uint16_t)(tag >> 16) || port > n->ports)
        return;
    n->in_flight--;
    take(pm, n, port, (enum pm_ask)(tag & 0xff), attr, good ? a->len - AT_ATTR : 0);
    if (wants_any(n))
        send_wanted(pm, n);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static uint64_t interval_us(const struct pm *pm)
{
    return pm->in.config->counters.interval_s * UINT64_C(1000000);
}

/* Returns the LID to which the manager sends requests for the counters of a port. 0: the port is
 * not read, because it is down or is port 0. Ports of isolated links are read although they have
 * no peer in the view. */
static uint32_t lid_for(const struct fab_view *v, uint32_t port)
{
    const struct fab_fabric *f = v->fabric;
    const struct fab_port *p = fab_fabric_port(f, port);
    if (p->num == 0 || p->info.phys_state != FAB_PHYS_LINKUP)
        return 0;
    return v->target->lids
        .base[fab_fabric_node_is_switch(f, p->node) ? f->nodes[p->node].first_port : port];
}

/* Requests the counters of a port, unless this pass has already requested them. Returns the entry
 * of the port's node; NULL: the port cannot be read. */
static struct pm_node *read_port(struct pm *pm, const struct fab_view *v, uint32_t port)
{
    uint32_t lid = lid_for(v, port);
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    struct pm_node *n = lid ? node_of(pm, &v->fabric->nodes[p->node]) : NULL;
    if (!n)
        return NULL;
    n->pass = pm->pass;
    n->lid = (uint16_t)lid;
    n->port[p->num].mbps = fab_wire_link_rate(&p->info);
    if (n->port[p->num].pass == (uint32_t)pm->pass + 1)
        return n;
    n->port[p->num].pass = (uint32_t)pm->pass + 1;
    pm_history_state(pm, n, p->num, true);
    want(n, p->num, PM_ASK_COUNTERS);
    if (n->in_flight < NODE_MOST)
        send_wanted(pm, n);
    return n;
}

static void note_down(struct pm *pm, const struct fab_view *v, const struct fab_port *p)
{
    struct pm_node *n = pm_node_of(pm, v->fabric->nodes[p->node].guid);
    if (n && p->num > 0 && p->num <= n->ports && p->info.phys_state != FAB_PHYS_LINKUP)
        pm_history_state(pm, n, p->num, false);
}

/* Requests the counters of a port, and then the counters of the port at the other end of its link.
 * Returns true if the first port can be read. */
static bool poll_port(struct pm *pm, const struct fab_view *v, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    struct pm_node *a = read_port(pm, v, port);
    if (!a) {
        note_down(pm, v, p);
        return false;
    }
    /* Keep the index of the node instead of a pointer, because the array of nodes may move in
     * memory when a node is added. */
    size_t i = (size_t)(a - pm->nodes);
    struct pm_node *b = p->peer != FAB_NONE ? read_port(pm, v, p->peer) : NULL;
    if (b)
        pm_history_link(pm, &pm->nodes[i], p->num, b, fab_fabric_port(v->fabric, p->peer)->num);
    return true;
}

static uint32_t tick_ports(const struct fab_view *v)
{
    uint32_t share = v->fabric->port_count / PASS_TICKS;
    return share > TICK_PORTS ? share : TICK_PORTS;
}

/* Requests the counters of the next ports in this timer tick. The time since the beginning of the
 * pass determines which port the pass must have reached by now. */
static void poll_some(struct pm *pm, const struct fab_view *v)
{
    uint64_t all = v->fabric->port_count, gone = clock_now_us() - pm->began_us;
    uint64_t due = gone >= interval_us(pm) ? all : all * gone / interval_us(pm) + tick_ports(v);
    uint32_t most = 2 * tick_ports(v), sent = 0, scanned = 0;
    for (; pm->cursor < due && pm->cursor < all && sent < most && scanned < TICK_SCAN &&
           pm->waiting < WAITING_MOST;
         scanned++)
        sent += poll_port(pm, v, pm->cursor++);
}

static uint64_t tick_us(const struct pm *pm, const struct fab_view *v)
{
    uint64_t ports = v && v->fabric->port_count ? v->fabric->port_count : 1;
    uint64_t us = interval_us(pm) / ports * (v ? tick_ports(v) : TICK_PORTS);
    us = us > TICK_MOST_US ? TICK_MOST_US : us;
    return us < TICK_LEAST_US ? TICK_LEAST_US : us;
}

static void next_pass(struct pm *pm, const struct fab_view *v)
{
    if (pm->cursor < v->fabric->port_count || clock_now_us() - pm->began_us < interval_us(pm))
        return;
    pm_history_end(pm);
    pm->cursor = 0;
    pm->pass++;
    pm->began_us = clock_now_us();
    forget_nodes(pm);
}

void pm_tick(void *ctx)
{
    struct pm *pm = ctx;
    if (interval_us(pm) == 0)
        return;
    loop_at(pm->in.loop, "counters");
    struct fab_view *v = sm_is_quiet(pm->in.sm) ? sm_view(pm->in.sm) : NULL;
    if (v && v->target) {
        if (pm->began_us == 0)
            pm->began_us = clock_now_us();
        next_pass(pm, v);
        poll_some(pm, v);
    }
    loop_timer_set(pm->timer, tick_us(pm, v));
    bool quiet = v != NULL;
    fab_view_unref(v);
    if (quiet)
        pm_act(pm);
    pm_history_look(pm);
    agent_pump(pm->agent);
}
