/* SPDX-License-Identifier: BSD-3-Clause */
/* Every destination LID, by the switch where it leaves the fabric. Private to the room. */
#ifndef LIBFABMGR_ROUTE_FATTREE_DMODK_H
#define LIBFABMGR_ROUTE_FATTREE_DMODK_H

#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/route/route.h"

struct fab_dmodk_dlid {
    uint32_t lid;    /* a lane's */
    uint32_t number; /* where its owner is in the tree */
    uint8_t offset;  /* in the owner's LMC range */
    uint8_t port;    /* at its switch */
};
/* Divisions are done once: for each pair of divider and number of slots that occurs, the slot of
 * each lane. */
struct fab_dmodk_slots {
    uint32_t divider, slots;
    uint8_t *slot; /* [lanes] (number / divider + offset) mod slots */
};
/* The lanes of one destination switch. */
struct fab_dmodk_dest {
    uint32_t at, count; /* of lane[] */
    uint32_t run, lid;  /* of the first `run` ones the LIDs follow on, from `lid` */
};
struct fab_dmodk {
    uint32_t count, dests;       /* lanes; switches that have any */
    struct fab_dmodk_dlid *lane; /* [count] by destination switch, ends first, then by LID */
    struct fab_dmodk_dest *dest; /* [dests] by their lowest LID */
    uint32_t *sw;                /* [dests] their switches */
    uint32_t gears;
    struct fab_dmodk_slots *gear;
    uint16_t *up;   /* [switches] gear for slots, */
    uint16_t *down; /* and for parallel cables down; 0: none */
};
/* t: with slots. usual cables a neighbour below: t->parallel. */
int fab_route_dmodk_make(const struct fab_tree *t, const struct fab_lids *lids,
                         struct fab_dmodk *ret);
void fab_route_dmodk_fini(struct fab_dmodk *l);

#endif
