/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measures whether the ports of drained links and nodes still carry traffic. While a drain is in
 * the state DRAINING or DRAINED, this file reads the data counters of its ports every READ_US,
 * whenever the subnet manager is idle, even if counters.interval is 0. A port counts as idle if
 * PortXmitData and PortRcvData together rose by at most IDLE_BYTES_PER_S per second between two
 * reads: management packets may still pass.
 *
 * A port counts as busy if it could not be read, or if a 32-bit counter has reached its maximum. A
 * port whose link is down counts as idle.
 */
#include <stdlib.h>
#include <string.h>

#include "fabricd/base/clock.h"
#include "fabricd/base/log.h"
#include "fabricd/pm/private.h"
#include "libfabmgr/base/status.h"

/* time in us between two readings */
#define READ_US 2000000u
/* The rate up to which a port counts as idle: that of about 28 management packets per second. A
 * link of 100 Gb/s can carry 1.5 million times as many bytes. */
#define IDLE_BYTES_PER_S 8192u
/* byte offset of the attribute in the data after the common MAD header */
#define AT_ATTR (FAB_PERF_DATA - 24)

struct reading {
    uint64_t at_us; /* time in us of the reading; 0: there is none */
    uint64_t xmit, rcv;
};
struct drain_port {
    struct sm_drain_port at;
    struct reading last, before;
    bool narrow; /* PortCounters is read, not PortCountersExtended */
    bool stuck;  /* a counter is at its maximum, or the port was not read */
};
struct pm_drain {
    uint32_t id;
    /* A number that changes when the list of ports changes. Each request carries it in its tag, so
     * that answers to requests from before the change can be dropped. */
    uint16_t epoch;
    bool seen;
    uint32_t waiting; /* requests in flight */
    struct drain_port *port;
    uint32_t ports;
};

/* ---- the list -------------------------------------------------------------------------------- */

static struct pm_drain *find(const struct pm *pm, uint32_t id)
{
    for (uint32_t i = 0; i < pm->drain_count; i++)
        if (pm->drain[i].id == id)
            return &pm->drain[i];
    return NULL;
}

static struct pm_drain *add(struct pm *pm, uint32_t id)
{
    struct pm_drain *more = reallocarray(pm->drain, pm->drain_count + 1u, sizeof(*more));
    if (!more)
        return NULL;
    pm->drain = more;
    more[pm->drain_count] = (struct pm_drain){.id = id};
    return &more[pm->drain_count++];
}

static void forget_ended(struct pm *pm)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < pm->drain_count; i++) {
        if (pm->drain[i].seen)
            pm->drain[kept++] = pm->drain[i];
        else
            free(pm->drain[i].port);
    }
    pm->drain_count = kept;
}

void pm_drains_fini(struct pm *pm)
{
    for (uint32_t i = 0; i < pm->drain_count; i++)
        free(pm->drain[i].port);
    free(pm->drain);
    loop_timer_free(pm->drain_timer);
}

static bool has_same_ports(const struct pm_drain *d, const struct sm_drain_port *port,
                           uint32_t count)
{
    bool same = d->ports == count;
    for (uint32_t i = 0; same && i < count; i++)
        same = d->port[i].at.guid == port[i].guid && d->port[i].at.port == port[i].port;
    return same;
}

/* Gets the ports of the drain from the subnet manager. If these ports differ from those in `d`,
 * forgets all readings. Returns false if memory ran out. */
static bool update_ports(struct pm *pm, struct pm_drain *d)
{
    uint32_t count = sm_drain_ports(pm->in.sm, d->id, NULL, 0);
    struct sm_drain_port *port = calloc(count + 1u, sizeof(*port));
    struct drain_port *fresh = calloc(count + 1u, sizeof(*fresh));
    bool good = port && fresh;
    if (good)
        sm_drain_ports(pm->in.sm, d->id, port, count);
    if (good && (!has_same_ports(d, port, count) || !d->port)) {
        for (uint32_t i = 0; i < count; i++)
            fresh[i].at = port[i];
        free(d->port);
        d->port = fresh;
        d->ports = count;
        d->waiting = 0;
        d->epoch++;
        fresh = NULL;
    }
    free(port);
    free(fresh);
    return good;
}

/* ---- readings -------------------------------------------------------------------------------- */

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a);

static void request(struct pm *pm, struct pm_drain *d, uint32_t i, uint16_t lid)
{
    struct fab_mads_request r = {.mgmt_class = FAB_CLASS_PERF,
                                 .method = FAB_METHOD_GET,
                                 .attr_id = d->port[i].narrow ? FAB_PERF_PORT_COUNTERS
                                                              : FAB_PERF_PORT_COUNTERS_EXT,
                                 .dlid = lid,
                                 .done = on_answer,
                                 .ctx = pm,
                                 .tag = (uint64_t)d->id << 40 | (uint64_t)d->epoch << 24 | i};
    r.data[AT_ATTR + 1] = d->port[i].at.port; /* the field PortSelect */
    if (fab_mads_submit(pm->mads, &r) == FAB_OK)
        d->waiting++;
    else
        d->port[i].stuck = true;
}

/* Returns the LID to which requests for the counters of the port are sent. Returns 0 if the node is
 * not in the fabric, if there are no tables yet, or if the link of the port is down: then the port
 * carries no traffic. */
static uint16_t lid_of(const struct fab_view *v, const struct sm_drain_port *at)
{
    const struct fab_fabric *f = v->fabric;
    uint32_t node = fab_fabric_node_by_guid(f, at->guid);
    if (node == FAB_NONE || at->port > f->nodes[node].num_ports || !v->target)
        return 0;
    uint32_t port = fab_fabric_port_id(f, node, at->port);
    if (fab_fabric_port(f, port)->info.phys_state != FAB_PHYS_LINKUP)
        return 0;
    return (uint16_t)
        v->target->lids.base[fab_fabric_node_is_switch(f, node) ? f->nodes[node].first_port : port];
}

static void request_all(struct pm *pm, struct pm_drain *d, const struct fab_view *v)
{
    for (uint32_t i = 0; i < d->ports; i++) {
        struct drain_port *p = &d->port[i];
        const struct pm_node *n = pm_node_of(pm, p->at.guid);
        uint16_t lid = lid_of(v, &p->at);
        p->before = p->last;
        p->last.at_us = 0;
        p->stuck = false;
        if (n && n->known)
            p->narrow = !n->wide && !n->wide_data;
        if (lid != 0)
            request(pm, d, i, lid);
        else
            p->last = p->before = (struct reading){.at_us = clock_now_us()};
    }
}

static bool unpack(struct drain_port *p, const uint8_t *attr, size_t len, struct reading *ret)
{
    struct fab_port_counters narrow;
    struct fab_port_counters_ext wide;
    if (!p->narrow) {
        if (fab_wire_attr_unpack(&fab_wire_attr_port_counters_ext, attr, len, &wide) != FAB_OK ||
            wide.port_select != p->at.port)
            return false;
        *ret = (struct reading){clock_now_us(), wide.xmit_data, wide.rcv_data};
        return true;
    }
    if (fab_wire_attr_unpack(&fab_wire_attr_port_counters, attr, len, &narrow) != FAB_OK ||
        narrow.port_select != p->at.port)
        return false;
    p->stuck = narrow.xmit_data == UINT32_MAX || narrow.rcv_data == UINT32_MAX;
    *ret = (struct reading){clock_now_us(), narrow.xmit_data, narrow.rcv_data};
    return true;
}

static uint64_t rise_of(uint64_t was, uint64_t now)
{
    /* If the counter is lower than before, it was cleared in between and has counted `now` since
     * then. */
    return now >= was ? now - was : now;
}

static uint64_t bytes_per_s(const struct drain_port *p)
{
    uint64_t words = rise_of(p->before.xmit, p->last.xmit) + rise_of(p->before.rcv, p->last.rcv);
    uint64_t us = p->last.at_us - p->before.at_us;
    return us > 0 ? (uint64_t)((double)words * 4e6 / (double)us) : 0;
}

/* If all ports of the drain have two readings or could not be read, tells the subnet manager which
 * of the busy ports has the most traffic, or that all ports are idle. Does nothing while some port
 * has only one reading. */
static void conclude(struct pm *pm, const struct pm_drain *d)
{
    char busy[PM_PLACE_LEN] = "";
    uint64_t most = 0;
    struct fab_view *v = sm_view(pm->in.sm);
    for (uint32_t i = 0; v && i < d->ports; i++) {
        const struct drain_port *p = &d->port[i];
        bool read = p->last.at_us != 0 && p->before.at_us != 0;
        uint64_t rate = read ? bytes_per_s(p) : 0;
        if (!read && !p->stuck) {
            fab_view_unref(v);
            return;
        }
        if ((!p->stuck && rate <= IDLE_BYTES_PER_S) || (busy[0] && rate <= most))
            continue;
        uint32_t node = fab_fabric_node_by_guid(v->fabric, p->at.guid);
        if (node != FAB_NONE && p->at.port <= v->fabric->nodes[node].num_ports)
            pm_name_place(v->fabric, fab_fabric_port_id(v->fabric, node, p->at.port), busy);
        most = rate;
    }
    if (v)
        sm_drain_measured(pm->in.sm, d->id, busy, most);
    fab_view_unref(v);
}

static void on_answer(void *ctx, uint64_t tag, const struct fab_mads_answer *a)
{
    struct pm *pm = ctx;
    struct pm_drain *d = find(pm, (uint32_t)(tag >> 40));
    uint32_t i = (uint32_t)(tag & 0xffffff);
    if (!d || d->epoch != (uint16_t)(tag >> 24) || i >= d->ports)
        return;
    struct drain_port *p = &d->port[i];
    d->waiting--;
    if (a->status != FAB_OK || a->len <= AT_ATTR ||
        !unpack(p, a->data + AT_ATTR, a->len - AT_ATTR, &p->last)) {
        p->last = (struct reading){0};
        /* The node may lack the attribute that was requested, PortCountersExtended or PortCounters.
         * The next reading requests the other attribute. */
        p->stuck = true;
        p->narrow = !p->narrow;
        p->before = (struct reading){0};
    }
    if (d->waiting == 0)
        conclude(pm, d);
}

/* ---- the timer ------------------------------------------------------------------------------- */

static bool is_watched(const struct sm_drain_info *info)
{
    return info->state == SM_DRAIN_DRAINING || info->state == SM_DRAIN_DRAINED;
}

static void watch(struct pm *pm, uint32_t id, const struct fab_view *v)
{
    struct pm_drain *d = find(pm, id);
    if (!d)
        d = add(pm, id);
    if (!d)
        return;
    d->seen = true;
    if (d->waiting > 0 || !update_ports(pm, d))
        return;
    request_all(pm, d, v);
    if (d->waiting == 0)
        conclude(pm, d);
}

static void on_time(void *ctx)
{
    struct pm *pm = ctx;
    uint32_t count = sm_drain_list(pm->in.sm, NULL, 0);
    struct sm_drain_info *list = calloc(count + 1u, sizeof(*list));
    struct fab_view *v = count > 0 ? sm_view(pm->in.sm) : NULL;
    for (uint32_t i = 0; i < pm->drain_count; i++)
        pm->drain[i].seen = false;
    if (list)
        sm_drain_list(pm->in.sm, list, count);
    for (uint32_t i = 0; list && v && i < count; i++)
        if (is_watched(&list[i]) && sm_is_quiet(pm->in.sm))
            watch(pm, list[i].id, v);
        else if (is_watched(&list[i]) && find(pm, list[i].id))
            find(pm, list[i].id)->seen = true;
    forget_ended(pm);
    free(list);
    fab_view_unref(v);
    loop_timer_set(pm->drain_timer, READ_US);
}

int pm_drains_init(struct pm *pm)
{
    pm->drain_timer = loop_timer_new(pm->in.loop, on_time, pm);
    if (!pm->drain_timer)
        return FAB_E_NOMEM;
    loop_timer_set(pm->drain_timer, READ_US);
    return FAB_OK;
}
