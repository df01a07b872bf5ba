/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from a snapshot what multicast trees need: links, port GUIDs and the sizes of MFTs. The
 * copy has no links to switches without an MFT (MulticastFDBCap is 0, IBA 14.2.5.4), so trees
 * cannot use them.
 */
#include "libfabmgr/mcast/net.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

void fab_mcast_net_free(struct fab_mcast_net *n)
{
    if (n == NULL)
        return;
    fab_base_arena_fini(&n->arena);
    free(n->has_ends);
    fab_base_map_fini(&n->by_guid);
    free(n);
}

static int allocate(struct fab_mcast_net *n)
{
    n->guid = fab_base_arena_alloc(&n->arena, n->switches, sizeof(*n->guid));
    n->cap = fab_base_arena_alloc(&n->arena, n->switches, sizeof(*n->cap));
    n->has_ends = fab_base_bits_new(n->switches);
    n->first_port =
        fab_base_arena_alloc(&n->arena, n->switches + UINT32_C(1), sizeof(*n->first_port));
    n->node = fab_base_arena_alloc(&n->arena, n->ports, sizeof(*n->node));
    n->peer = fab_base_arena_alloc(&n->arena, n->ports, sizeof(*n->peer));
    n->port_guid = fab_base_arena_alloc(&n->arena, n->ports, sizeof(*n->port_guid));
    return !n->arena.failed && n->has_ends ? FAB_OK : FAB_E_NOMEM;
}

static uint32_t peer_of(const struct fab_fabric *f, uint32_t port)
{
    uint32_t node = fab_fabric_port(f, port)->node, peer = fab_fabric_peer_node(f, port);
    if (peer == FAB_NONE || !fab_fabric_node_is_switch(f, peer) ||
        !fab_fabric_port_is_up(f, port) || f->switches[peer].multicast_fdb_cap == 0)
        return FAB_NONE;
    if (fab_fabric_node_is_switch(f, node) && f->switches[node].multicast_fdb_cap == 0)
        return FAB_NONE;
    return fab_fabric_port(f, port)->peer;
}

/* Returns the GUID by which a port can be a member of groups; 0 if the port cannot be a member. */
static uint64_t member_guid(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_port *p = fab_fabric_port(f, port);
    bool owns = p->guid != 0 && (!fab_fabric_node_is_switch(f, p->node) || p->num == 0) &&
                fab_fabric_port_by_guid(f, p->guid) == port;
    return owns ? p->guid : 0;
}

static void note_endport(const struct fab_fabric *f, uint32_t port, uint64_t *has_ends)
{
    uint32_t node = fab_fabric_port(f, port)->node, peer = fab_fabric_peer_node(f, port);
    if (fab_fabric_node_is_switch(f, node) && peer != FAB_NONE &&
        !fab_fabric_node_is_switch(f, peer))
        fab_base_bits_set(has_ends, node);
}

static int read_port(struct fab_mcast_net *n, const struct fab_fabric *f, uint32_t port)
{
    uint64_t guid = member_guid(f, port);
    n->node[port] = fab_fabric_port(f, port)->node;
    n->peer[port] = peer_of(f, port);
    n->port_guid[port] = guid;
    note_endport(f, port, n->has_ends);
    return guid != 0 ? fab_base_map_put(&n->by_guid, guid, port) : FAB_OK;
}

static int read_fabric(struct fab_mcast_net *n, const struct fab_fabric *f)
{
    int r = fab_base_map_reserve(&n->by_guid, f->node_count);
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

int fab_mcast_net_new(const struct fab_fabric *f, struct fab_mcast_net **ret)
{
    struct fab_mcast_net *n = calloc(1, sizeof(*n));
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
        fab_mcast_net_free(n);
    return r;
}

uint32_t fab_mcast_net_port(const struct fab_mcast_net *n, uint64_t port_guid)
{
    uint32_t port;
    return fab_base_map_get(&n->by_guid, port_guid, &port) ? port : FAB_NONE;
}

/* ---- another fabric -------------------------------------------------------------------------- */

bool fab_mcast_net_same_switches(const struct fab_mcast_net *n, const struct fab_fabric *now)
{
    bool same = n->switches == now->switch_count;
    for (uint32_t sw = 0; same && sw < n->switches; sw++)
        same = n->guid[sw] == now->nodes[sw].guid;
    return same;
}

/* Returns true if both nets have the same ports, and the same switches with MFTs of the same
 * size. */
static bool has_same_ports(const struct fab_mcast_net *n, const struct fab_mcast_net *now)
{
    return n->switches == now->switches && n->ports == now->ports &&
           memcmp(n->guid, now->guid, n->switches * sizeof(*n->guid)) == 0 &&
           memcmp(n->cap, now->cap, n->switches * sizeof(*n->cap)) == 0 &&
           memcmp(n->first_port, now->first_port, n->switches * sizeof(*n->first_port)) == 0 &&
           memcmp(n->node, now->node, n->ports * sizeof(*n->node)) == 0 &&
           memcmp(n->port_guid, now->port_guid, n->ports * sizeof(*n->port_guid)) == 0;
}

static int add_change(struct fab_mcast_net_diff *d, uint32_t port, uint32_t peer)
{
    struct fab_mcast_net_change *more = d->change;
    if (d->count == d->room)
        more = fab_base_grow(d->change, sizeof(*more), d->count + 1, &d->room);
    if (more == NULL)
        return FAB_E_NOMEM;
    d->change = more;
    more[d->count++] = (struct fab_mcast_net_change){port, peer};
    return FAB_OK;
}

int fab_mcast_net_compare(const struct fab_mcast_net *n, const struct fab_mcast_net *now,
                          struct fab_mcast_net_diff *ret)
{
    struct fab_mcast_net_diff d = {0};
    if (!has_same_ports(n, now))
        return FAB_E_EXISTS;
    d.has_ends = fab_base_bits_new(n->switches);
    int r = d.has_ends != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t sw = 0; r == FAB_OK && sw < n->switches; sw++)
        if (fab_base_bits_get(now->has_ends, sw))
            fab_base_bits_set(d.has_ends, sw);
    for (uint32_t port = 0; r == FAB_OK && port < n->ports; port++)
        if (now->peer[port] != n->peer[port])
            r = add_change(&d, port, now->peer[port]);
    if (r == FAB_OK)
        *ret = d;
    else
        fab_mcast_net_diff_fini(&d);
    return r;
}

void fab_mcast_net_swap(struct fab_mcast_net *n, struct fab_mcast_net_diff *d)
{
    uint64_t *has_ends = n->has_ends;
    n->has_ends = d->has_ends;
    d->has_ends = has_ends;
    for (size_t i = 0; i < d->count; i++) {
        uint32_t *peer = &n->peer[d->change[i].port], was = *peer;
        *peer = d->change[i].peer;
        d->change[i].peer = was;
    }
}

void fab_mcast_net_diff_fini(struct fab_mcast_net_diff *d)
{
    free(d->change);
    free(d->has_ends);
    memset(d, 0, sizeof(*d));
}
