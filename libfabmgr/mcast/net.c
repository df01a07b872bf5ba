/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables and tables' sizes, read off a snapshot once. A switch without multicast tables (its
 * MulticastFDBCap is 0, IBA 14.2.5.4) is as good as none: no cable leads to it here.
 */
#include "libfabmgr/mcast/net.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

void fab_mnet_free(struct fab_mnet *n)
{
    if (n == NULL)
        return;
    free(n->guid);
    free(n->cap);
    free(n->has_ends);
    free(n->first_port);
    free(n->node);
    free(n->peer);
    free(n->port_guid);
    fab_map_fini(&n->by_guid);
    free(n);
}

static int allocate(struct fab_mnet *n)
{
    n->guid = fab_alloc_array(n->switches, sizeof(*n->guid));
    n->cap = fab_alloc_array(n->switches, sizeof(*n->cap));
    n->has_ends = fab_bits_new(n->switches);
    n->first_port = fab_alloc_array(n->switches + UINT32_C(1), sizeof(*n->first_port));
    n->node = fab_alloc_array(n->ports, sizeof(*n->node));
    n->peer = fab_alloc_array(n->ports, sizeof(*n->peer));
    n->port_guid = fab_alloc_array(n->ports, sizeof(*n->port_guid));
    bool all = n->guid && n->cap && n->has_ends && n->first_port && n->node && n->peer;
    return all && n->port_guid ? FAB_OK : FAB_E_NOMEM;
}

static uint32_t peer_of(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = f->ports[port].node, peer = fab_peer_node(f, port);
    if (peer == FAB_NONE || !fab_node_is_switch(f, peer) || !fab_port_is_up(f, port) ||
        f->switches[peer].multicast_fdb_cap == 0)
        return FAB_NONE;
    if (fab_node_is_switch(f, node) && f->switches[node].multicast_fdb_cap == 0)
        return FAB_NONE;
    return f->ports[port].peer;
}

static int read_port(struct fab_mnet *n, const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = &f->ports[port];
    uint32_t across = fab_peer_node(f, port);
    n->node[port] = p->node;
    n->peer[port] = peer_of(f, port);
    if (fab_node_is_switch(f, p->node) && across != FAB_NONE && !fab_node_is_switch(f, across))
        fab_bits_set(n->has_ends, p->node);
    bool owns = p->guid != 0 && (!fab_node_is_switch(f, p->node) || p->num == 0) &&
                fab_fabric_port_by_guid(f, p->guid) == port;
    n->port_guid[port] = owns ? p->guid : 0;
    return owns ? fab_map_put(&n->by_guid, p->guid, port) : FAB_OK;
}

static int read_fabric(struct fab_mnet *n, const struct fab_fabric *f)
{
    int r = FAB_OK;
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        n->guid[sw] = f->nodes[sw].guid;
        n->cap[sw] = f->switches[sw].multicast_fdb_cap;
        n->first_port[sw] = f->nodes[sw].first_port;
    }
    n->first_port[f->switch_count] =
        f->switch_count < f->node_count ? f->nodes[f->switch_count].first_port : f->port_count;
    for (uint32_t port = 0; r == FAB_OK && port < f->port_count; port++)
        r = read_port(n, f, port);
    return r;
}

int fab_mnet_new(const struct fab_fabric *f, struct fab_mnet **ret)
{
    struct fab_mnet *n = calloc(1, sizeof(*n));
    if (n == NULL)
        return FAB_E_NOMEM;
    n->switches = f->switch_count;
    n->ports = f->port_count;
    int r = allocate(n);
    if (r == FAB_OK)
        r = read_fabric(n, f);
    if (r == FAB_OK)
        *ret = n;
    else
        fab_mnet_free(n);
    return r;
}

bool fab_mnet_same(const struct fab_mnet *a, const struct fab_mnet *b)
{
    return a->switches == b->switches && a->ports == b->ports &&
           memcmp(a->guid, b->guid, a->switches * sizeof(*a->guid)) == 0 &&
           memcmp(a->cap, b->cap, a->switches * sizeof(*a->cap)) == 0 &&
           memcmp(a->node, b->node, a->ports * sizeof(*a->node)) == 0 &&
           memcmp(a->peer, b->peer, a->ports * sizeof(*a->peer)) == 0 &&
           memcmp(a->port_guid, b->port_guid, a->ports * sizeof(*a->port_guid)) == 0;
}

uint32_t fab_mnet_port(const struct fab_mnet *n, uint64_t port_guid)
{
    uint32_t port;
    return fab_map_get(&n->by_guid, port_guid, &port) ? port : FAB_NONE;
}
