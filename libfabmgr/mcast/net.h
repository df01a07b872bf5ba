/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switches and links that multicast trees use, copied from a snapshot, because the snapshot may
 * be freed or patched while trees exist. The ids are those of the snapshot.
 */
#ifndef LIBFABMGR_MCAST_NET_H
#define LIBFABMGR_MCAST_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

struct fab_mcast_net {
    struct fab_arena arena;   /* of the arrays */
    uint32_t switches, ports; /* numbers of switches and ports; switches have the lowest node ids */
    uint64_t *guid;           /* [switches] node GUIDs */
    uint16_t *cap; /* [switches] number of multicast LIDs in the switch's table; 0: no tree uses the
                      switch */
    uint64_t *has_ends;     /* bitset of the switches with endports */
    uint32_t *first_port;   /* [switches + 1] id of port 0 of each switch */
    uint32_t *node;         /* [ports] node of each port */
    uint32_t *peer;         /* [ports] the port at the other end of a working link to a switch with
                               multicast tables; FAB_NONE: no such link */
    uint64_t *port_guid;    /* [ports] GUID of ports that may be members, else 0 */
    struct fab_map by_guid; /* port ids by the GUIDs in port_guid */
};
int fab_mcast_net_new(const struct fab_fabric *f, struct fab_mcast_net **ret); /* NOMEM */
void fab_mcast_net_free(struct fab_mcast_net *n);                              /* NULL is fine */

/* The links by which a fabric differs from the net, if both have the same port and switch ids. */
struct fab_mcast_net_diff { /* all zero: no difference */
    struct fab_mcast_net_change {
        uint32_t port, peer;
    } * change;
    size_t count, room;
    uint64_t *has_ends; /* bitset of the switches with endports */
};
/* Returns whether all switches have the same ids in the net and in the fabric. */
bool fab_mcast_net_same_switches(const struct fab_mcast_net *n, const struct fab_fabric *now);
/* Finds the links that differ. Returns EXISTS (ids, table sizes or GUIDs differ, so that the net
 * cannot be adapted) or NOMEM. */
int fab_mcast_net_compare(const struct fab_mcast_net *n, const struct fab_fabric *now,
                          struct fab_mcast_net_diff *ret);
/* Applies the difference to the net; afterwards *d describes the reverse change. */
void fab_mcast_net_swap(struct fab_mcast_net *n, struct fab_mcast_net_diff *d);
void fab_mcast_net_diff_fini(struct fab_mcast_net_diff *d);
uint32_t fab_mcast_net_port(const struct fab_mcast_net *n, uint64_t port_guid); /* or FAB_NONE */

/* Returns the number of external ports of a switch. */
static inline uint32_t fab_mcast_net_port_count(const struct fab_mcast_net *n, uint32_t sw)
{
    return n->first_port[sw + 1] - n->first_port[sw] - 1;
}
static inline uint8_t fab_mcast_net_num(const struct fab_mcast_net *n, uint32_t switch_port)
{
    return (uint8_t)(switch_port - n->first_port[n->node[switch_port]]);
}
static inline uint32_t fab_mcast_net_peer_node(const struct fab_mcast_net *n,
                                               uint32_t port) /* the node at the other end */
{
    return n->peer[port] != FAB_NONE ? n->node[n->peer[port]] : FAB_NONE;
}

#endif
