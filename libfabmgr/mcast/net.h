/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What trees need of a fabric, as a value of their own: the snapshot itself may be patched in place
 * while trees stand. Ids are the snapshot's. Private to the room.
 */
#ifndef LIBFABMGR_MCAST_NET_H
#define LIBFABMGR_MCAST_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

struct net {
    uint32_t switches, ports;
    uint64_t *guid;         /* [switches] */
    uint16_t *cap;          /* [switches] multicast LIDs that it has entries for; 0: none, and no
                               tree leads over it */
    uint64_t *has_ends;     /* bitset of switches */
    uint32_t *first_port;   /* [switches + 1] */
    uint32_t *node;         /* [ports] */
    uint32_t *peer;         /* [ports] at the other end of a working cable, a port of a switch that
                               trees lead over; FAB_NONE: there is none */
    uint64_t *port_guid;    /* [ports] of those that may be members, else 0 */
    struct fab_map by_guid; /* of these */
};
int net_new(const struct fab_fabric *f, struct net **ret); /* NOMEM */
void net_free(struct net *n);                              /* NULL is fine */
bool net_same(const struct net *a, const struct net *b);
uint32_t net_port(const struct net *n, uint64_t port_guid); /* or FAB_NONE */

static inline uint8_t net_num(const struct net *n, uint32_t switch_port)
{
    return (uint8_t)(switch_port - n->first_port[n->node[switch_port]]);
}
static inline uint32_t net_across(const struct net *n, uint32_t port) /* the node there */
{
    return n->peer[port] != FAB_NONE ? n->node[n->peer[port]] : FAB_NONE;
}

#endif
