/* SPDX-License-Identifier: BSD-3-Clause */
/* Data that is prepared for a view. For this folder only. */
#ifndef LIBFABMGR_SA_CONTEXT_H
#define LIBFABMGR_SA_CONTEXT_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/qos/qos.h"
#include "libfabmgr/sa/sa.h"

/* The properties of a port's link that limit a path. They take only 16 bytes, so that the links of
 * a large fabric fit into a CPU cache. */
struct fab_sa_link {
    uint32_t peer; /* port id; FAB_NONE: the port cannot send */
    uint32_t node; /* node id of the peer */
    uint8_t mtu;   /* the lower value of both ends */
    uint8_t rank;  /* rank of the link's rate, see rate.c */
};
struct fab_sa {
    struct fab_arena arena; /* of the arrays */
    struct fab_view *view;
    const struct fab_sa_aliases *aliases; /* or NULL */
    struct fab_sm_info manager[FAB_SA_MANAGERS];
    uint32_t manager_count;
    uint32_t *endports; /* [endport_count] ids of the ports that own LIDs */
    uint32_t endport_count;
    struct fab_sa_link *links; /* [port_count] */
    uint32_t *first_port;      /* [switch_count] */
    /* Cache of paths from switches with endports to LIDs. Each of these switches has a row with a
     * byte for every LID up to the highest. Byte 0: the path is not cached. NULL: the cache would
     * be too large, or memory was short. */
    uint8_t *cache;
    uint32_t *row; /* [switch_count] row of the cache, or FAB_NONE */
    uint8_t max_lmc;
    bool proved; /* the tables passed verification and LMC is 0, so each path has a reverse path */
    /* If proved is true and all endports are connected: the MTU and rank that most ISLs offer to
     * endports, and a bit for each LID that some switch forwards over an ISL with other values. If
     * `unusual` is NULL, each path is followed. */
    struct fab_sa_link between;
    uint64_t *unusual;
    /* The ComponentMask of the last request, and the components that it selects. They are kept
     * because most requests have the same mask. */
    uint64_t path_mask;
    struct fab_wire_path_record path_given;
    struct fab_qos_matcher matcher;
};

/* Like fab_sa_path, but does not count hops, and returns the rank of the rate instead of its
 * encoding. UNREACHABLE: there is no path. */
int fab_sa_path_limits(struct fab_sa *sa, uint32_t src_port, uint32_t lid, uint8_t *ret_mtu,
                       uint8_t *ret_rank);

uint8_t fab_sa_rank(uint32_t mbps);        /* rank of the highest rate up to mbps; 0: none */
uint8_t fab_sa_rank_of_rate(uint8_t rate); /* 0: no rate has the encoding `rate` */
uint8_t fab_sa_rate_of_rank(uint8_t rank);

/* Returns the port by which a switch forwards to `lid`; FAB_NONE: the switch has no route. */
static inline uint32_t fab_sa_out_port(const struct fab_sa *sa, uint32_t sw, uint32_t lid)
{
    const struct fab_lft *lft = &sa->view->target->lft;
    uint8_t out = lid <= lft->top ? fab_target_lft_row(lft, sw)[lid] : FAB_LFT_NO_ROUTE;
    uint32_t port = sa->first_port[sw] + out;
    return port < sa->first_port[sw + 1] ? port : FAB_NONE;
}

#endif
