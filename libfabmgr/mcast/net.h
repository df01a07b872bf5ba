/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What trees need of a fabric, as a value of their own: the snapshot itself may go, or be patched
 * in place, while trees stand. Ids are the snapshot's.
 */
#ifndef LIBFABMGR_MCAST_NET_H
#define LIBFABMGR_MCAST_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

struct fab_mcast_net {
    uint32_t switches, ports; /* switches have the first ids, as ever */
    uint64_t *guid;           /* [switches] */
    uint16_t *cap;            /* [switches] multicast LIDs that it has entries for; 0: none, and no
                                 tree leads over it */
    uint64_t *has_ends;       /* bitset of switches */
    uint32_t *first_port;     /* [switches + 1] */
    uint32_t *node;           /* [ports] */
    uint32_t *peer;         /* [ports] at the other end of a working cable, a port of a switch that
                               trees lead over; FAB_NONE: there is none */
    uint64_t *port_guid;    /* [ports] of those that may be members, else 0 */
    struct fab_map by_guid; /* of these */
};
int fab_mcast_net_new(const struct fab_fabric *f, struct fab_mcast_net **ret); /* NOMEM */
void fab_mcast_net_free(struct fab_mcast_net *n);                              /* NULL is fine */

/* What a fabric with the same ids has else: cables. */
struct fab_mcast_net_diff { /* all zero: nothing */
    struct fab_mcast_net_change {
        uint32_t port, peer;
    } * change;
    size_t count, room;
    uint64_t *has_ends; /* bitset of switches */
};
/* Its switches have the same ids. */
bool fab_mcast_net_same_switches(const struct fab_mcast_net *n, const struct fab_fabric *now);
/* EXISTS: the two have other ids, sizes or GUIDs. NOMEM. */
int fab_mcast_net_compare(const struct fab_mcast_net *n, const struct fab_fabric *now,
                          struct fab_mcast_net_diff *ret);
/* The net becomes what the difference says, and the difference what the net was. */
void fab_mcast_net_swap(struct fab_mcast_net *n, struct fab_mcast_net_diff *d);
void fab_mcast_net_diff_fini(struct fab_mcast_net_diff *d);
uint32_t fab_mcast_net_port(const struct fab_mcast_net *n, uint64_t port_guid); /* or FAB_NONE */

/* The number of ports of a switch, port 0 left out. */
static inline uint32_t fab_mcast_net_port_count(const struct fab_mcast_net *n, uint32_t sw)
{
    return n->first_port[sw + 1] - n->first_port[sw] - 1;
}
static inline uint8_t fab_mcast_net_num(const struct fab_mcast_net *n, uint32_t switch_port)
{
    return (uint8_t)(switch_port - n->first_port[n->node[switch_port]]);
}
static inline uint32_t fab_mcast_net_peer_node(const struct fab_mcast_net *n,
                                               uint32_t port) /* the node there */
{
    return n->peer[port] != FAB_NONE ? n->node[n->peer[port]] : FAB_NONE;
}

#endif
