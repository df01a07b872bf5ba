/* SPDX-License-Identifier: BSD-3-Clause */
/* Which LIDs leave the fabric at which switch, and their numbers. Private to the room. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_DESTINATIONS_H
#define LIBFABMGR_ROUTE_UPDOWN_DESTINATIONS_H

#include "libfabmgr/route/route.h"
#include "libfabmgr/route/updown/leaf_sequence.h"

/* One destination LID at a switch: a lane. */
struct fab_dlid {
    uint32_t lid;
    uint32_t number; /* its place in the topology, for D-mod-k */
    uint8_t port;    /* at the destination's switch */
    bool loaded;     /* hosts send to it: counts for the balance */
};
#define FAB_DLIDS_MAX 256 /* at one switch, one LID each end */

struct fab_destinations {
    const struct fab_route_input *in;
    uint32_t *sequence; /* [switches] destination switches in the order of spreading; */
    uint32_t edges;     /* of these have hosts, and come first */
    uint32_t leaf_size; /* most hosts at one switch */
    uint32_t lids_each; /* in the widest LMC range */
};
/* in is borrowed. */
int fab_route_destinations_make(const struct fab_route_input *in, const struct fab_graph *g,
                                const struct fab_updown *slopes, struct fab_destinations *ret);
/* The same in an order of one's own: all switches, [g->n] from malloc, which the roster takes in
 * any case. No switch counts as an edge more than another. */
int fab_route_destinations_in_sequence(const struct fab_route_input *in, const struct fab_graph *g,
                                       uint32_t *sequence, struct fab_destinations *ret);
void fab_route_destinations_fini(struct fab_destinations *r);

/* The lanes at sequence[index]: the LIDs at `offset` in the range of each end, loaded ones first;
 * at offset 0 the switch's own LID last. Returns how many. A host's further LIDs (LMC) begin one
 * number on, so that they differ from the first in every choice that there is. */
uint32_t fab_route_destinations_dlids(const struct fab_destinations *r, uint32_t index,
                                      uint32_t offset, struct fab_dlid lanes[FAB_DLIDS_MAX]);

#endif
