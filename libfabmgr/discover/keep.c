/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps silent switches in the result of a discovery (silent.h). Discovery does not query a silent
 * switch, nor the ports of neighbours that lead to such a switch. A port in state Init is an
 * exception: its link was trained again, so the switch may have restarted.
 *
 * A targeted sweep has the silent switches in its base snapshot; when it starts, it adds the
 * excluded links of these switches. When a heavy sweep ends, it copies each silent switch from the
 * last snapshot, if at least one neighbour reports a link to the switch as up. It also copies nodes
 * behind silent switches: all adapters, and each switch none of whose neighbours was reached.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/discover/machine.h"

static bool is_up(const struct fab_discover *d, uint32_t ref, uint8_t port)
{
    const struct fab_port_info *info = fab_fabric_builder_get_port_info(d->builder, ref, port);
    return info != NULL && info->phys_state == FAB_PHYS_LINKUP;
}

/* ---- ports that are not queried -------------------------------------------------------------- */

/* Returns the GUID of the node that was behind a port in the last snapshot; 0: not known. */
static uint64_t former_peer(const struct fab_discover *d, uint64_t guid, uint8_t port)
{
    const struct fab_fabric *f = d->former;
    uint32_t node = f != NULL ? fab_fabric_node_by_guid(f, guid) : FAB_NONE;
    if (node == FAB_NONE || port > f->nodes[node].num_ports)
        return 0;
    uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, port));
    return peer != FAB_NONE ? f->nodes[peer].guid : 0;
}

static bool is_excluded(const struct fab_discover *d, uint64_t guid, uint8_t port)
{
    uint32_t count;
    const struct fab_silent_link *l = fab_discover_silent_links(d->silent, &count);
    for (uint32_t i = 0; i < count; i++)
        if ((l[i].guid[0] == guid && l[i].port[0] == port) ||
            (l[i].guid[1] == guid && l[i].port[1] == port))
            return true;
    return false;
}

bool fab_discover_leads_to_silent(const struct fab_discover *d, const struct known_node *p,
                                  uint8_t port)
{
    if (fab_discover_silent_count(d->silent) == 0)
        return false;
    return fab_discover_silent_has(d->silent, former_peer(d, p->guid, port)) ||
           is_excluded(d, p->guid, port);
}

/* ---- a targeted sweep ------------------------------------------------------------------------ */

static struct known_node *find(const struct fab_discover *d, uint64_t guid)
{
    uint32_t ref;
    return fab_fabric_builder_find_node(d->builder, guid, &ref) == FAB_OK
               ? fab_discover_node_get(d, ref)
               : NULL;
}

/* Adds a link between two ports to the builder, if both ports are up and neither has a link in the
 * builder yet. Returns OK, or the error of the builder. */
static int link_up(struct fab_discover *d, const struct known_node *a, uint8_t port_a,
                   const struct known_node *b, uint8_t port_b)
{
    if (!is_up(d, a->ref, port_a) || !is_up(d, b->ref, port_b) ||
        fab_discover_port_has_link(d, a, port_a) || fab_discover_port_has_link(d, b, port_b))
        return FAB_OK;
    return fab_fabric_builder_link(d->builder, a->ref, port_a, b->ref, port_b);
}

static int link_excluded(struct fab_discover *d)
{
    uint32_t count;
    const struct fab_silent_link *l = fab_discover_silent_links(d->silent, &count);
    int status = FAB_OK;
    for (uint32_t i = 0; i < count && status == FAB_OK; i++) {
        const struct known_node *a = find(d, l[i].guid[0]), *b = find(d, l[i].guid[1]);
        if (a != NULL && b != NULL && l[i].port[0] <= a->num_ports && l[i].port[1] <= b->num_ports)
            status = link_up(d, a, l[i].port[0], b, l[i].port[1]);
    }
    return status;
}

int fab_discover_keep_base(struct fab_discover *d)
{
    for (size_t i = 0; i < d->known_capacity; i++) {
        struct known_node *p = d->known[i];
        if (p == NULL)
            continue;
        p->silent = p->type == FAB_NODE_SWITCH && fab_discover_silent_has(d->silent, p->guid);
        fab_fabric_builder_set_silent(d->builder, p->ref, p->silent);
    }
    return link_excluded(d);
}

/* ---- a heavy sweep --------------------------------------------------------------------------- */

/* Returns true if a neighbour of the switch `node` (an id in the last snapshot) answered in this
 * discovery, and reports their link as up. */
static bool is_seen_up(const struct fab_discover *d, uint32_t node)
{
    const struct fab_fabric *f = d->former;
    uint32_t count;
    const struct fab_silent_link *l = fab_discover_silent_links(d->silent, &count);
    for (uint32_t num = 1; num <= f->nodes[node].num_ports; num++) {
        uint32_t peer = fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer;
        if (peer == FAB_NONE)
            continue;
        const struct known_node *p = find(d, f->nodes[fab_fabric_port(f, peer)->node].guid);
        if (p != NULL && is_up(d, p->ref, fab_fabric_port(f, peer)->num))
            return true;
    }
    for (uint32_t i = 0; i < count; i++)
        for (int end = 0; end < 2; end++) {
            const struct known_node *p =
                l[i].guid[!end] == f->nodes[node].guid ? find(d, l[i].guid[end]) : NULL;
            if (p != NULL && is_up(d, p->ref, l[i].port[end]))
                return true;
        }
    return false;
}

static int copy_node(struct fab_discover *d, uint32_t node, struct known_node **ret)
{
    const struct fab_fabric *f = d->former;
    const struct fab_node *n = &f->nodes[node];
    uint32_t ref;
    if (d->node_count >= d->node_limit || d->port_count + n->num_ports + 1u > d->port_limit)
        return FAB_E_LIMIT;
    int status = fab_fabric_builder_add_node(d->builder, &n->info, &ref);
    if (status == FAB_OK)
        status = fab_discover_node_add(d, ref, &n->info, ret);
    if (status == FAB_OK)
        status = fab_fabric_builder_set_desc(d->builder, ref, n->desc, FAB_NODE_DESC_LEN);
    if (status == FAB_OK && n->type == FAB_NODE_SWITCH)
        status = fab_fabric_builder_set_switch_info(d->builder, ref, &f->switches[node]);
    for (uint32_t num = 0; num <= n->num_ports && status == FAB_OK; num++) {
        const struct fab_port *p = fab_fabric_port(f, n->first_port + num);
        if (p->present)
            status = fab_fabric_builder_set_port(d->builder, ref, (uint8_t)num, p->guid, &p->info);
    }
    return status;
}

/* Returns true if a node behind a silent switch must be copied from the last snapshot, because this
 * discovery could not reach it. A switch is copied only if this discovery has reached none of its
 * neighbours: a neighbour that was reached must have reported the link to the switch as down. */
static bool is_only_behind(const struct fab_discover *d, uint32_t node)
{
    const struct fab_fabric *f = d->former;
    if (find(d, f->nodes[node].guid) != NULL)
        return false;
    for (uint32_t num = 1; fab_fabric_node_is_switch(f, node) && num <= f->nodes[node].num_ports;
         num++) {
        uint32_t peer = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, (uint8_t)num));
        const struct known_node *p = peer != FAB_NONE ? find(d, f->nodes[peer].guid) : NULL;
        if (p != NULL && !p->kept)
            return false;
    }
    return true;
}

/* Copies a node from the last snapshot, and links it to its known neighbours. Appends to the queue
 * `more` those neighbours that must be copied, too (is_only_behind). */
static int keep_node(struct fab_discover *d, uint32_t node, struct queue *more)
{
    const struct fab_fabric *f = d->former;
    struct known_node *p;
    int status = copy_node(d, node, &p);
    if (status != FAB_OK)
        return status;
    p->kept = true;
    for (uint32_t num = 1; num <= p->num_ports && status == FAB_OK; num++) {
        uint32_t far = fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer;
        if (far == FAB_NONE)
            continue;
        const struct known_node *peer = find(d, f->nodes[fab_fabric_port(f, far)->node].guid);
        if (peer != NULL)
            status = link_up(d, p, (uint8_t)num, peer, fab_fabric_port(f, far)->num);
        else if (is_only_behind(d, fab_fabric_port(f, far)->node))
            status =
                fab_discover_queue_push(more, (struct item){.ref = fab_fabric_port(f, far)->node});
    }
    return status;
}

/* Copies a silent switch from the last snapshot, with all nodes that can be reached only through
 * it. */
static int keep_behind(struct fab_discover *d, uint32_t node)
{
    struct queue more = {0};
    struct item item = {.ref = node};
    int status = keep_node(d, node, &more);
    while (status == FAB_OK && fab_discover_queue_pop(&more, &item))
        if (is_only_behind(d, item.ref))
            status = keep_node(d, item.ref, &more);
    free(more.items);
    return status;
}

/* Returns true if the list of unresponsive ports contains this port. */
static bool is_listed(const struct fab_discover *d, uint64_t near_guid, uint8_t near_port)
{
    uint32_t i = 0;
    while (i < d->unresponsive_count &&
           (d->unresponsive[i].near_guid != near_guid || d->unresponsive[i].near_port != near_port))
        i++;
    return i < d->unresponsive_count;
}

/* Returns true if this port has a link in the last snapshot, and the PortInfo of the port at the
 * other end is known there. If this link is missing now, the other end has reported the link as
 * down. */
static bool had_link(const struct fab_discover *d, const struct known_node *p, uint8_t port)
{
    uint32_t node = fab_fabric_node_by_guid(d->former, p->guid);
    uint32_t far = fab_fabric_port(d->former, fab_fabric_port_id(d->former, node, port))->peer;
    return far != FAB_NONE && fab_fabric_port(d->former, far)->present;
}

/* Lists as unresponsive each port that is up, has no known device behind it, and is not listed yet.
 * Leaves out a port of a copied node if the other end has reported its link as down (had_link).
 * Nodes that were copied from the last snapshot can have such ports, if the device was unresponsive
 * at that time. The entry makes a later sweep query the device when the silent switch answers
 * again. */
static int list_unknown(struct fab_discover *d)
{
    int status = FAB_OK;
    for (size_t i = 0; i < d->known_capacity; i++) {
        const struct known_node *p = d->known[i];
        for (uint32_t num = 1; p != NULL && num <= p->num_ports && status == FAB_OK; num++)
            if (is_up(d, p->ref, (uint8_t)num) && !fab_discover_port_has_link(d, p, (uint8_t)num) &&
                !(p->kept && had_link(d, p, (uint8_t)num)) && !is_listed(d, p->guid, (uint8_t)num))
                status = fab_discover_unresponsive_add(
                    d, (struct fab_unresponsive){.near_guid = p->guid,
                                                 .near_port = (uint8_t)num,
                                                 .attr_id = FAB_ATTR_NODE_INFO,
                                                 .status = FAB_E_TIMEOUT});
    }
    return status;
}

static void mark(struct fab_discover *d, uint64_t guid)
{
    struct known_node *p = find(d, guid);
    if (p != NULL && p->type == FAB_NODE_SWITCH && !p->answered && !p->identified)
        fab_fabric_builder_set_silent(d->builder, p->ref, true);
}

int fab_discover_keep_silent(struct fab_discover *d)
{
    uint32_t count = fab_discover_silent_count(d->silent);
    int status = FAB_OK;
    for (bool more = d->former != NULL && count > 0; more && status == FAB_OK;) {
        more = false;
        for (uint32_t i = 0; i < count && status == FAB_OK; i++) {
            uint64_t guid = fab_discover_silent_guid(d->silent, i);
            uint32_t node = fab_fabric_node_by_guid(d->former, guid);
            if (find(d, guid) != NULL || node == FAB_NONE || !is_seen_up(d, node))
                continue;
            status = keep_behind(d, node);
            /* The switch that was copied may be a neighbour of other silent switches, so all silent
             * switches are examined again. */
            more = true;
        }
    }
    if (status == FAB_OK)
        status = link_excluded(d);
    if (status == FAB_OK && count > 0)
        status = list_unknown(d);
    for (uint32_t i = 0; i < count; i++)
        mark(d, fab_discover_silent_guid(d->silent, i));
    return status == FAB_E_LIMIT ? FAB_OK : status;
}
