/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The switches and links that multicast trees use: a copy of a part of a snapshot, because the
 * snapshot may be freed while the trees exist. Node and port ids are those of the snapshot.
 */
#ifndef LIBFABMGR_MCAST_NET_H
#define LIBFABMGR_MCAST_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/map.h"
#include "libfabmgr/fabric/fabric.h"

struct fab_mcast_net {
    struct fab_arena arena; /* memory of the arrays below */
    /* numbers of switches and of ports; switches have the lowest node ids */
    uint32_t switches, ports;
    uint64_t *guid; /* [switches] GUID of each switch */
    /* [switches] number of entries (MLIDs) in the MFT of the switch; 0: trees do not use this
     * switch */
    uint16_t *cap;
    uint64_t *has_ends; /* bitset of the switches with endports */
    /* [switches + 1] id of port 0 of each switch */
    uint32_t *first_port;
    /* [ports] node id of the port's node */
    uint32_t *node;
    /* [ports] id of the port at the other end of the link; FAB_NONE: the link does not work, does
     * not lead to a switch with an MFT, or belongs to a switch without an MFT */
    uint32_t *peer;
    /* [ports] GUID of the port if the port can be a member of groups; 0: it cannot be a member */
    uint64_t *port_guid;
    struct fab_map by_guid; /* maps a GUID in port_guid[] to the port id */
};
int fab_mcast_net_new(const struct fab_fabric *f,
                      struct fab_mcast_net **ret); /* returns OK or NOMEM */
void fab_mcast_net_free(struct fab_mcast_net *n);  /* n may be NULL */

/* how the links of a net differ from those of another net, which has the same port and switch
 * ids */
struct fab_mcast_net_diff { /* all bytes zero: no difference */
    /* [count] the ports whose links differ. peer: value of fab_mcast_net.peer[port] in the other
     * net. */
    struct fab_mcast_net_change {
        uint32_t port, peer;
    } * change;
    size_t count, room;
    /* bitset of the switches with endports in the other net */
    uint64_t *has_ends;
};
/* Returns true if each switch has the same id in the net and in the fabric. */
bool fab_mcast_net_same_switches(const struct fab_mcast_net *n, const struct fab_fabric *now);
/* Finds the links that differ between the nets `n` and `now`. Returns NOMEM, or EXISTS if ids, MFT
 * sizes or GUIDs differ, so `n` cannot be adapted to `now`. */
int fab_mcast_net_compare(const struct fab_mcast_net *n, const struct fab_mcast_net *now,
                          struct fab_mcast_net_diff *ret);
/* Applies the difference *d, which fab_mcast_net_compare(n, now, d) has found, to the net `n`.
 * Afterwards `n` has the links of `now`, and *d is the difference that changes `n` back. */
void fab_mcast_net_swap(struct fab_mcast_net *n, struct fab_mcast_net_diff *d);
void fab_mcast_net_diff_fini(struct fab_mcast_net_diff *d);
/* Returns the port with this GUID; FAB_NONE: no port has it. */
uint32_t fab_mcast_net_port(const struct fab_mcast_net *n, uint64_t port_guid);

/* Returns the number of external ports of a switch. */
static inline uint32_t fab_mcast_net_port_count(const struct fab_mcast_net *n, uint32_t sw)
{
    return n->first_port[sw + 1] - n->first_port[sw] - 1;
}
static inline uint8_t fab_mcast_net_num(const struct fab_mcast_net *n, uint32_t switch_port)
{
    return (uint8_t)(switch_port - n->first_port[n->node[switch_port]]);
}
/* Returns the id of the switch at the other end of the port's link; FAB_NONE: the link does not
 * work, or does not lead to a switch with an MFT. */
static inline uint32_t fab_mcast_net_peer_node(const struct fab_mcast_net *n, uint32_t port)
{
    return n->peer[port] != FAB_NONE ? n->node[n->peer[port]] : FAB_NONE;
}

#endif
