/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that is prepared from a view, so that queries are fast. For this folder only. */
#ifndef LIBFABMGR_SA_CONTEXT_H
#define LIBFABMGR_SA_CONTEXT_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/sa/sa.h"

/* The limits that a port and its link set to paths, and where the link leads. The struct has only
 * 12 bytes, so the links of a large fabric fit into a CPU cache. */
struct fab_sa_link {
    uint32_t peer; /* id of the port at the other end; FAB_NONE: the port cannot send */
    uint32_t node; /* id of the node at the other end */
    /* the MTU that the manager sets for the link, as PortInfo encodes it: the lower one of the two
     * ends, but at most max_mtu of the policy */
    uint8_t mtu;
    /* rank of the link's rate: the position of this rate in the ascending order of all rates
     * (rate.c) */
    uint8_t rank;
};
struct fab_sa {
    struct fab_arena arena; /* memory of the arrays below */
    struct fab_view *view;
    const struct fab_sa_aliases *aliases; /* alias GUIDs; NULL: there are none */
    struct fab_sm_info manager[FAB_SA_MANAGERS];
    uint32_t manager_count;
    /* [endport_count] ids of the ports that have LIDs of their own */
    uint32_t *endports;
    uint32_t endport_count;
    /* [port_count] the limits that each port and its link set to paths */
    struct fab_sa_link *links;
    /* [switch_count + 1] id of port 0 of each switch. The last element is the number of all
     * ports of switches. */
    uint32_t *first_port;
    /* A cache of the MTU and rate of paths. Each switch with endports has a row, with one byte for
     * each LID up to the highest destination LID. A byte of 0 means that the path is not in the
     * cache. NULL: there is no cache, because it would be too large or memory ran out. */
    uint8_t *cache;
    /* [switch_count] number of the switch's row in the cache; FAB_NONE: the switch has no
     * endports */
    uint32_t *row;
    uint8_t max_lmc;
    /* true: the tables passed the verification, and all LMCs are 0; so each path has a reverse
     * path */
    bool proved;
    /* between: the MTU and the rank that most ISLs have, but at most the highest values of the
     * links of endports. unusual: bitset of the LIDs that some switch forwards over an ISL with
     * other values; NULL: fab_sa_path_limits must follow all paths. `between` is valid only if
     * `unusual` is not NULL. */
    struct fab_sa_link between;
    uint64_t *unusual;
    /* the ComponentMask of the last request for paths, and the components that this mask selects;
     * kept because the following request mostly has the same mask */
    uint64_t path_mask;
    struct fab_wire_path_record path_given;
    struct fab_qos_matcher matcher;
};

/* Finds the MTU and the rank of the rate of the path from a port to a LID through the active
 * tables. Returns UNREACHABLE if there is no path. */
int fab_sa_path_limits(struct fab_sa *sa, uint32_t src_port, uint32_t lid, uint8_t *ret_mtu,
                       uint8_t *ret_rank);

/* Returns the rank of the highest rate that does not exceed `mbps`; 0: there is none. */
uint8_t fab_sa_rank(uint32_t mbps);
/* Returns the rank of an encoded rate, or 0 if no rate has this encoding. */
uint8_t fab_sa_rank_of_rate(uint8_t rate);
uint8_t fab_sa_rate_of_rank(uint8_t rank);

/* Returns the port by which a switch forwards packets to `lid`; FAB_NONE: the switch drops them. */
static inline uint32_t fab_sa_out_port(const struct fab_sa *sa, uint32_t sw, uint32_t lid)
{
    const struct fab_lft *lft = &sa->view->target->lft;
    uint8_t out = lid <= lft->top ? fab_target_lft_at(lft, sw, lid) : FAB_LFT_NO_ROUTE;
    uint32_t port = sa->first_port[sw] + out;
    return port < sa->first_port[sw + 1] ? port : FAB_NONE;
}

#endif
