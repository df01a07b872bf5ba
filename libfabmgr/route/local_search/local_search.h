/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Improves the tables of any engine by local search: it changes one LFT entry after the other. Its
 * goal is to lower two figures. The first is the greatest link load of all-to-all traffic. The
 * second is the greatest number of flows that a shift permutation puts on one channel. Local search
 * is meant for irregular or damaged fabrics, for which a formula such as D-mod-k does not balance
 * the load.
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_LOCAL_SEARCH_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_LOCAL_SEARCH_H

#include "libfabmgr/route/route.h"

struct fab_local_search_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lids *lids;
    const struct fab_vls *vls; /* NULL: one VL */
    /* Port ids of the endports. In the shift permutation by k, endport i of this array sends to
     * endport i + k. Each endport must own a LID and be attached to a switch. */
    const uint32_t *ends;
    uint32_t end_count;
};
/*
 * Improves *lft. Tables that pass the proof still pass it afterwards, because packets still pass
 * channels with ascending numbers (channel_numbering.h). No path gets longer. Two figures do not
 * grow: the greatest link load of all-to-all traffic, weighted by the rate of the links, and the
 * greatest number of flows of a shift on one channel. Equal input gives equal tables.
 *
 * The function leaves some tables unchanged, and returns FAB_OK: tables that are too large, that do
 * not connect all endports, whose paths are too long, that put too many flows of a shift on one
 * channel (link_load.h), or whose channels cannot be numbered in ascending order. Returns NOMEM if
 * there is no memory; the tables are then unchanged, or improved in part.
 */
int fab_route_local_search(const struct fab_local_search_input *in, struct fab_lft *lft);

#endif
