/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of any engine, made more even: entry by entry, until neither the worst load of all-to-all
 * nor the worst shift gets less. For fabrics where something is missing, which no closed form fits.
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_LOCAL_SEARCH_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_LOCAL_SEARCH_H

#include "libfabmgr/route/route.h"

struct fab_local_search_input {
    const struct fab_fabric *fabric;
    const struct fab_policy *policy;
    const struct fab_lids *lids;
    const struct fab_vls *vls; /* NULL: one lane */
    const uint32_t *ends; /* port ids, in the order of shifts; each owns a LID and is at a switch */
    uint32_t end_count;
};
/* Tables that are good stay so: all packets go on meeting channels in ascending order of one
 * numbering, lane by lane, and no way gets longer. Neither the greatest load of all-to-all (a slow
 * cable counts as often as it is slower) nor the greatest number of flows of a shift over one
 * channel gets more. The same input gives the same tables. What is too large, in pieces, or has no
 * such numbering, is left as it is. NOMEM: left, too. */
int fab_route_local_search(const struct fab_local_search_input *in, struct fab_lft *lft);

#endif
