/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads counters (IBA 16.1). A pass reads all ports of the view, a few in each timer tick, spread
 * evenly over one interval. While the subnet manager is busy, the pass sends no requests;
 * afterwards it catches up at a limited rate.
 *
 * Between two ticks, the pass keeps no reference to a view. While somebody has such a reference, a
 * local repair must copy the tables instead of changing them in place. The position of the pass is
 * a port id. If the fabric changes during a pass, the pass may read a few ports twice or not at
 * all.
 *
 * The pass first requests ClassPortInfo from each node. If the node has error counters in
 * PortCountersExtended (64 bits), the pass reads these; otherwise it reads PortCounters.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/pm/private.h"
#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

/* number of ports that are read in a timer tick, unless the pass over all ports is late */
#define TICK_PORTS 16
/* maximum number of ports that are read in a timer tick while a late pass catches up */
#define TICK_MOST 32
/* maximum number of ports that are examined in a timer tick */
#define TICK_SCAN 4096u
/* Maximum number of requests in flight. Devices that do not answer occupy these for a while, so
 * that the pass slows down. */
#define WAITING_MOST 256
#define TICK_LEAST_US 2000u
#define TICK_MOST_US 1000000u
/* byte offset of the attribute in the data after the common MAD header */
#define AT_ATTR (FAB_PERF_DATA - 24)

enum ask { ASK_ABILITY, ASK_COUNTERS, ASK_CLEAR, ASK_MARKS };

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

/* Returns the entry of a node in the list of nodes, and adds the entry if there is none. NULL:
 * out of memory. */
static struct pm_node *node_of(struct pm *pm, const struct fab_node *from)
{
    uint32_t i;
    if (fab_base_map_get(&pm->index, from->guid, &i) && pm->nodes[i].ports >= from->num_ports)
        return &pm->nodes[i];
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

static uint64_t tag_of(const struct pm *pm, const struct pm_node *n, uint8_t port, enum ask ask)
{
    return (uint64_t)(n - pm->nodes) << 32 | (uint64_t)n->life << 16 | (uint64_t)port << 8 | ask;
}

static void submit(struct pm *pm, const struct pm_node *n, uint8_t port, enum ask ask,
                   const struct fab_mads_request *req)
{
    struct fab_mads_request r = *req;
    r.mgmt_class = FAB_CLASS_PERF;
    r.dlid = n->lid;
    r.done = on_answer;
    r.ctx = pm;
    r.tag = tag_of(pm, n, port, ask);
    if (fab_mads_submit(pm->mads, &r) == FAB_OK)
        pm->waiting++;
    else
        log_debug("pm", "out of memory: a request was not sent");
}

static void ask_ability(struct pm *pm, struct pm_node *n)
{
    struct fab_mads_request r = {.method = FAB_METHOD_GET, .attr_id = FAB_ATTR_CLASS_PORT_INFO};
    n->asked = true;
    submit(pm, n, 0, ASK_ABILITY, &r);
}

static void ask_counters(struct pm *pm, const struct pm_node *n, uint8_t port)
{
    struct fab_mads_request r = {.method = FAB_METHOD_GET,
                                 .attr_id =
                                     n->wide ? FAB_PERF_PORT_COUNTERS_EXT : FAB_PERF_PORT_COUNTERS};
    const struct fab_port_counters which = {.port_select = port};
    const struct fab_port_counters_ext which_wide = {.port_select = port};
    uint8_t attr[FAB_GS_DATA];
    int rc = n->wide ? fab_wire_attr_pack(&fab_wire_attr_port_counters_ext, &which_wide, attr,
                                          sizeof(attr))
                     : fab_wire_attr_pack(&fab_wire_attr_port_counters, &which, attr, sizeof(attr));
    if (rc != FAB_OK)
        return;
    memcpy(r.data + AT_ATTR, attr, sizeof(r.data) - AT_ATTR);
    submit(pm, n, port, ASK_COUNTERS, &r);
}

static uint16_t attr_of_marks(const struct pm_node *n)
{
    return n->is_switch ? FAB_PERF_SW_VL_CONGESTION : FAB_PERF_RCV_CON_CTRL;
}

static void ask_marks(struct pm *pm, const struct pm_node *n, uint8_t port)
{
    struct fab_mads_request r = {.method = FAB_METHOD_GET, .attr_id = attr_of_marks(n)};
    if (n->no_marks || !pm_wants_marks(pm))
        return;
    r.data[AT_ATTR + 1] = port; /* the field PortSelect */
    submit(pm, n, port, ASK_MARKS, &r);
}

/* Clears the counters of the port that have reached their maximum, because they cannot rise
 * further. */
static void clear_full(struct pm *pm, const struct pm_node *n, uint8_t port)
{
    struct fab_mads_request r = {.method = FAB_METHOD_SET, .attr_id = FAB_PERF_PORT_COUNTERS};
    const struct fab_port_counters which = {
        .port_select = port,
        .counter_select = fab_health_counters_full_select(&n->port[port].last)};
    uint8_t attr[FAB_GS_DATA];
    if (!pm->in.config->counters.clear || which.counter_select == 0 ||
        fab_wire_attr_pack(&fab_wire_attr_port_counters, &which, attr, sizeof(attr)) != FAB_OK)
        return;
    memcpy(r.data + AT_ATTR, attr, sizeof(r.data) - AT_ATTR);
    submit(pm, n, port, ASK_CLEAR, &r);
}

static void want_port(struct pm *pm, struct pm_node *n, uint8_t port)
{
    if (n->known) {
        ask_counters(pm, n, port);
        return;
    }
    fab_base_bits_set(n->wanted, port);
    if (!n->asked)
        ask_ability(pm, n);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void learn_ability(struct pm *pm, struct pm_node *n, const uint8_t *attr, size_t len)
{
    struct fab_class_port_info info;
    n->asked = false;
    if (!attr || fab_wire_attr_unpack(&fab_wire_attr_class_port_info, attr, len, &info) != FAB_OK) {
        pm->failed++; /* the next pass will request ClassPortInfo again */
        return;
    }
    n->known = true;
    n->wide = (info.cap_mask & FAB_PERF_EXT_WIDTH) && (info.cap_mask2 & FAB_PERF2_ERRORS_EXT);
    for (uint32_t p = 0; p <= n->ports; p++)
        if (fab_base_bits_get(n->wanted, p))
            ask_counters(pm, n, (uint8_t)p);
    memset(n->wanted, 0, sizeof(n->wanted));
}

/* Unpacks the counters in an answer. Returns false if the node did not answer, or answered for
 * another port. */
static bool unpack(const struct pm_node *n, uint8_t port, const uint8_t *attr, size_t len,
                   struct pm_port *ret)
{
    struct fab_port_counters narrow;
    struct fab_port_counters_ext wide;
    if (!attr)
        return false;
    if (n->wide) {
        if (fab_wire_attr_unpack(&fab_wire_attr_port_counters_ext, attr, len, &wide) != FAB_OK ||
            wide.port_select != port)
            return false;
        fab_health_counters_from_ext(&wide, &ret->last);
        pm_note_data(ret, ret->at_us, wide.xmit_data, wide.xmit_wait);
        return true;
    }
    if (fab_wire_attr_unpack(&fab_wire_attr_port_counters, attr, len, &narrow) != FAB_OK ||
        narrow.port_select != port)
        return false;
    fab_health_counters_from(&narrow, &ret->last);
    pm_note_data(ret, ret->at_us, narrow.xmit_data, narrow.xmit_wait);
    return true;
}

static void take_counters(struct pm *pm, struct pm_node *n, uint8_t port, const uint8_t *attr,
                          size_t len)
{
    struct pm_port was = n->port[port],
                   now = {.at_us = clock_now_us(), .congestion = was.congestion};
    if (!unpack(n, port, attr, len, &now)) {
        /* request ClassPortInfo again, because the firmware may have changed */
        n->known = false;
        pm->failed++;
        return;
    }
    pm->reads++;
    n->port[port] = now;
    if (was.at_us != 0)
        pm_read(pm, n->guid, port, &was, &now);
    clear_full(pm, n, port);
    ask_marks(pm, n, port);
}

static void take_marks(struct pm_node *n, uint8_t port, const uint8_t *attr, size_t len)
{
    struct fab_perf_details values;
    n->no_marks = !attr ||
                  fab_wire_attr_unpack(fab_wire_attr_of_class(FAB_CLASS_PERF, attr_of_marks(n)),
                                       attr, len, &values) != FAB_OK ||
                  values.port_select != port;
    if (!n->no_marks)
        pm_note_marks(&n->port[port], clock_now_us(), n->is_switch, &values);
}

static void take_cleared(struct pm_node *n, uint8_t port)
{
    for (int i = 0; i < FAB_COUNTERS; i++)
        if (fab_health_counters_full(&n->port[port].last, (enum fab_counter)i))
            n->port[port].last.value[i] = 0;
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct pm *pm = ctx;
    struct pm_node *n = &pm->nodes[tag >> 32];
    uint8_t port = (uint8_t)(tag >> 8);
    bool good = a->status == FAB_OK && a->len > AT_ATTR;
    const uint8_t *attr = good ? a->data + AT_ATTR : NULL;
    size_t len = good ? a->len - AT_ATTR : 0;
    pm->waiting--;
    if (!n->port || n->life != (uint16_t)(tag >> 16) || port > n->ports)
        return;
    switch ((enum ask)(tag & 0xff)) {
    case ASK_ABILITY:
        learn_ability(pm, n, attr, len);
        break;
    case ASK_COUNTERS:
        take_counters(pm, n, port, attr, len);
        break;
    case ASK_CLEAR:
        if (good)
            take_cleared(n, port);
        break;
    case ASK_MARKS:
        take_marks(n, port, attr, len);
        break;
    }
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

static bool poll_port(struct pm *pm, const struct fab_view *v, uint32_t port)
{
    uint32_t lid = lid_for(v, port);
    const struct fab_port *p = fab_fabric_port(v->fabric, port);
    struct pm_node *n = lid ? node_of(pm, &v->fabric->nodes[p->node]) : NULL;
    if (!n)
        return false;
    n->pass = pm->pass;
    n->lid = (uint16_t)lid;
    want_port(pm, n, p->num);
    return true;
}

/* Reads the counters of the next ports, up to the port that the pass should have reached by now.
 * The limits of one timer tick apply. */
static void poll_some(struct pm *pm, const struct fab_view *v)
{
    uint64_t all = v->fabric->port_count, gone = clock_now_us() - pm->began_us;
    uint64_t due = gone >= interval_us(pm) ? all : all * gone / interval_us(pm) + TICK_PORTS;
    uint32_t sent = 0, scanned = 0;
    for (; pm->cursor < due && pm->cursor < all && sent < TICK_MOST && scanned < TICK_SCAN &&
           pm->waiting < WAITING_MOST;
         scanned++)
        sent += poll_port(pm, v, pm->cursor++);
}

static uint64_t tick_us(const struct pm *pm, const struct fab_view *v)
{
    uint64_t us = interval_us(pm) / (v && v->fabric->port_count ? v->fabric->port_count : 1);
    us = us > TICK_MOST_US / TICK_PORTS ? TICK_MOST_US : us * TICK_PORTS;
    return us < TICK_LEAST_US ? TICK_LEAST_US : us;
}

static void next_pass(struct pm *pm, const struct fab_view *v)
{
    if (pm->cursor < v->fabric->port_count || clock_now_us() - pm->began_us < interval_us(pm))
        return;
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
    agent_pump(pm->agent);
}
