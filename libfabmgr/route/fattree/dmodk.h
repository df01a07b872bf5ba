/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of all destination LIDs in D-mod-k, and their slots. For this folder only. */
#ifndef LIBFABMGR_ROUTE_FATTREE_DMODK_H
#define LIBFABMGR_ROUTE_FATTREE_DMODK_H

#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/route/route.h"

struct fab_dmodk_dlid {
    uint32_t lid;
    uint32_t number; /* number of its owner in the tree */
    uint8_t offset;  /* offset in the owner's LMC range */
    uint8_t port;    /* port of the destination switch */
};
/* The slot of each DLID, for each pair of divider and number of slots that occurs. Computed once,
 * so that entries need no divisions. */
struct fab_dmodk_slots {
    uint32_t divider, slots;
    uint8_t *slot; /* [DLIDs] (number / divider + offset) mod slots */
};
/* The DLIDs of one destination switch. */
struct fab_dmodk_dest {
    uint32_t at, count; /* range of dlid[] */
    uint32_t run, lid;  /* the first `run` DLIDs have consecutive LIDs, from `lid` on */
};
struct fab_dmodk {
    uint32_t count, dests;       /* number of DLIDs; number of switches that have any */
    struct fab_dmodk_dlid *dlid; /* [count] sorted by switch, then endports first, then by LID */
    struct fab_dmodk_dest *dest; /* [dests] sorted by lowest LID */
    uint32_t *sw;                /* [dests] the destination switches */
    uint32_t slots_count;
    struct fab_dmodk_slots *slots_of; /* [slots_count]; entry 0 has no slots */
    uint16_t *up;                     /* [switches] index of the slots for packets that ascend */
    uint16_t *down;                   /* [switches] index of the slots for parallel links down;
                                         0: no slots */
};
/* Numbers all DLIDs and computes their slots. The slots of the switches (slots.c) must be known.
 * Returns LIMIT if there are more than 65,534 different pairs of divider and number of slots, or
 * NOMEM. */
int fab_route_dmodk_make(const struct fab_tree *t, const struct fab_lids *lids,
                         struct fab_dmodk *ret);
void fab_route_dmodk_fini(struct fab_dmodk *l);

#endif
