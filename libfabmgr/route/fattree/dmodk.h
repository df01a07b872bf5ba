/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the D-mod-k numbers of all destination LIDs (DLIDs), and the slot that each DLID takes
 * at a switch. A slot is the port that D-mod-k means by "the i-th port up" (tree.h). Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_FATTREE_DMODK_H
#define LIBFABMGR_ROUTE_FATTREE_DMODK_H

#include "libfabmgr/route/fattree/tree.h"
#include "libfabmgr/route/route.h"

struct fab_dmodk_dlid {
    uint32_t lid;
    /* D-mod-k number of the endport that owns the LID */
    uint32_t number;
    /* the LID minus the owner's base LID */
    uint8_t offset;
    /* port of the destination switch that leads to the owner */
    uint8_t port;
};
/* The slot of each DLID at all switches that have the same divider and the same number of slots.
 * The slots are computed once for each such pair that occurs, so that entries need no divisions. */
struct fab_dmodk_slots {
    uint32_t divider, slots;
    uint8_t *slot; /* [DLIDs] (number / divider + offset) mod slots */
};
/* The DLIDs of one destination switch. */
struct fab_dmodk_dest {
    /* the DLIDs of the switch are dlid[at] to dlid[at + count - 1] of struct fab_dmodk */
    uint32_t at, count;
    /* the first `run` DLIDs have consecutive LIDs, which begin with `lid` */
    uint32_t run, lid;
};
struct fab_dmodk {
    /* count: number of DLIDs; dests: number of switches that have DLIDs */
    uint32_t count, dests;
    /* [count] all DLIDs, sorted by destination switch. Within a switch, DLIDs of endports are
     * sorted by LID, and the DLIDs of port 0 come last. */
    struct fab_dmodk_dlid *dlid;
    /* [dests] the destination switches, sorted by their lowest LID */
    struct fab_dmodk_dest *dest;
    uint32_t *sw; /* [dests] node ids of the destination switches */
    uint32_t slots_count;
    /* [slots_count] one element for each pair of a divider and a number of slots that occurs;
     * element 0 is for switches without slots */
    struct fab_dmodk_slots *slots_of;
    /* [switches] for each switch, the index in slots_of[] of the slots that it uses for packets
     * that go up */
    uint16_t *up;
    /* [switches] for each switch, the index in slots_of[] of the slots that it uses for parallel
     * links that lead down; 0: it has none */
    uint16_t *down;
};
/* Numbers all DLIDs and computes their slots. Before this call, the caller must find the slots of
 * the switches (slots.c). Returns LIMIT if there are more than 65,534 different pairs of divider
 * and number of slots, or NOMEM. */
int fab_route_dmodk_make(const struct fab_tree *t, const struct fab_lids *lids,
                         struct fab_dmodk *ret);
void fab_route_dmodk_fini(struct fab_dmodk *l);

#endif
