/* SPDX-License-Identifier: BSD-3-Clause */
/* The D-mod-k numbers of all destination LIDs (DLIDs), and their slots. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_FATTREE_DMODK_H
#define LIBFABMGR_ROUTE_FATTREE_DMODK_H

#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/route/route.h"

struct fab_dmodk_dlid {
    uint32_t lid;
    uint32_t number; /* D-mod-k number of the LID's owner */
    uint8_t offset;  /* offset of the LID in the owner's LMC range */
    uint8_t port;    /* port of the destination switch that leads to the owner */
};
/* The slot of each DLID, for one pair of divider and number of slots. The slots are computed once
 * for each pair that occurs, so that entries need no divisions. */
struct fab_dmodk_slots {
    uint32_t divider, slots;
    uint8_t *slot; /* [DLIDs] (number / divider + offset) mod slots */
};
/* The DLIDs of one destination switch. */
struct fab_dmodk_dest {
    uint32_t at, count; /* first element in fab_dmodk.dlid[], and number of DLIDs */
    uint32_t run, lid;  /* the first `run` DLIDs have consecutive LIDs, from `lid` on */
};
struct fab_dmodk {
    uint32_t count, dests;       /* number of DLIDs; number of switches that have any */
    struct fab_dmodk_dlid *dlid; /* [count] all DLIDs, sorted by switch; DLIDs of port 0 come after
                                    the others; then by LID */
    struct fab_dmodk_dest *dest; /* [dests] sorted by lowest LID */
    uint32_t *sw;                /* [dests] node ids of the destination switches */
    uint32_t slots_count;
    struct fab_dmodk_slots *slots_of; /* [slots_count] all pairs of divider and number of slots;
                                         element 0 has no slots */
    uint16_t *up;                     /* [switches] index in slots_of[] for packets that ascend */
    uint16_t *down;                   /* [switches] index in slots_of[] for parallel links down; 0:
                                         no slots */
};
/* Numbers all DLIDs and computes their slots. The caller has found the slots of the switches
 * (slots.c). Returns LIMIT if there are more than 65,534 different pairs of divider and number of
 * slots, or NOMEM. */
int fab_route_dmodk_make(const struct fab_tree *t, const struct fab_lids *lids,
                         struct fab_dmodk *ret);
void fab_route_dmodk_fini(struct fab_dmodk *l);

#endif
