/* SPDX-License-Identifier: BSD-3-Clause */
/* What is prepared of a view. For the files of this room. */
#ifndef LIBFABMGR_SA_CONTEXT_H
#define LIBFABMGR_SA_CONTEXT_H

#include "libfabmgr/qos/qos.h"
#include "libfabmgr/sa/sa.h"

/* What a cable does to a path: 16 bytes a port, so that those of a large fabric fit a cache. */
struct fab_sa_link {
    uint32_t peer; /* port id; FAB_NONE: nothing can be sent here */
    uint32_t node; /* of the peer */
    uint8_t mtu;   /* the lesser of both ends */
    uint8_t rank;  /* of its rate, see rate.c */
};
struct fab_sa {
    struct fab_view *view;
    const struct fab_sa_aliases *aliases; /* or NULL */
    struct fab_sm_info manager[FAB_SA_MANAGERS];
    uint32_t manager_count;
    uint32_t *ends; /* [end_count] ports that own LIDs, by id */
    uint32_t end_count;
    struct fab_sa_link *cables; /* [port_count] */
    uint32_t *first_port;       /* [switch_count] */
    /* What is known of the ways from switches that have ends to LIDs: a row of top + 1 bytes for
     * each, 0: not known yet. NULL: too many. */
    uint8_t *known;
    uint32_t *row; /* [switch_count] which, or FAB_NONE */
    uint8_t max_lmc;
    bool proved; /* who reaches whom is reached by it: base LIDs, and there are no others */
    /* Where proved, and all reach each other: what ways over ordinary cables between switches are
     * like for ends, and a bit for each LID that some way to it has others on. NULL: each way is
     * walked. */
    struct fab_sa_link between;
    uint64_t *odd;
    /* Most ask for paths in the same way: the last ComponentMask, and what it means. */
    uint64_t path_mask;
    struct fab_path_record path_given;
    struct fab_qos_matcher matcher;
};

/* As fab_sa_path, without hops, and the rank of the rate. */
int fab_sa_path_limits(struct fab_sa *sa, uint32_t src_port, uint32_t lid, uint8_t *ret_mtu,
                       uint8_t *ret_rank);

uint8_t fab_sa_rank(uint32_t mbps);        /* 0: less than any */
uint8_t fab_sa_rank_of_rate(uint8_t rate); /* 0: no such number */
uint8_t fab_sa_rate_of_rank(uint8_t rank);

/* Of a switch of the way: the port by which it sends on to `lid`; FAB_NONE: by none. */
static inline uint32_t fab_sa_out_port(const struct fab_sa *sa, uint32_t sw, uint32_t lid)
{
    const struct fab_lft *lft = &sa->view->target->lft;
    uint8_t out = lid <= lft->top ? fab_lft_row(lft, sw)[lid] : FAB_LFT_NO_ROUTE;
    uint32_t port = sa->first_port[sw] + out;
    return port < sa->first_port[sw + 1] ? port : FAB_NONE;
}

#endif
