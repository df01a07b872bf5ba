/* SPDX-License-Identifier: BSD-3-Clause */
/* The destination LIDs (DLIDs) of each switch, in the order in which they are routed. For this
 * folder only. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_DESTINATIONS_H
#define LIBFABMGR_ROUTE_UPDOWN_DESTINATIONS_H

#include "libfabmgr/route/route.h"
#include "libfabmgr/route/updown/leaf_sequence.h"

/* A destination LID (DLID) of an endport, or of port 0, at a switch. */
struct fab_dlid {
    uint32_t lid;
    uint32_t number; /* position of the endport in the topology, for D-mod-k */
    uint8_t port;    /* port of the destination switch */
    bool loaded;     /* hosts send to it, so that it counts for the link loads */
};
#define FAB_DLIDS_MAX 256 /* DLIDs at one switch and one offset: one for each port */

struct fab_destinations {
    const struct fab_route_input *in; /* borrowed */
    uint32_t *sequence;               /* [switches] destination switches in the order of routing */
    uint32_t edges;                   /* the first `edges` of them have hosts */
    uint32_t leaf_size;               /* greatest number of hosts at one switch */
    uint32_t lids_each;               /* LIDs in the largest LMC range */
};
/* Uses the order of leaf_sequence.h. Fails only with NOMEM. */
int fab_route_destinations_make(const struct fab_route_input *in, const struct fab_graph *g,
                                const struct fab_updown *updown, struct fab_destinations *ret);
/* Uses the caller's order: `sequence` ([g->n] switch ids from malloc) becomes the property of *ret.
 * All switches count as edges. Returns NOMEM if `sequence` is NULL. */
int fab_route_destinations_in_sequence(const struct fab_route_input *in, const struct fab_graph *g,
                                       uint32_t *sequence, struct fab_destinations *ret);
void fab_route_destinations_fini(struct fab_destinations *r);

/* Lists the DLIDs at sequence[index] and returns their number: for each endport the LID at `offset`
 * in its LMC range, hosts first; with offset 0, the LID of the switch's port 0 comes last. The
 * number of a LID is greater by its offset, so that the LIDs of one host take different paths
 * wherever there is a choice. */
uint32_t fab_route_destinations_dlids(const struct fab_destinations *r, uint32_t index,
                                      uint32_t offset, struct fab_dlid lanes[FAB_DLIDS_MAX]);

#endif
