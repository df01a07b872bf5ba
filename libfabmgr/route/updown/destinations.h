/* SPDX-License-Identifier: BSD-3-Clause */
/* The destination LIDs (DLIDs) of each switch, in the order in which they are routed. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_DESTINATIONS_H
#define LIBFABMGR_ROUTE_UPDOWN_DESTINATIONS_H

#include "libfabmgr/route/route.h"
#include "libfabmgr/route/updown/leaf_sequence.h"

/* A destination LID (DLID) at a switch: a LID of an endport that is attached to the switch, or of
 * its port 0. */
struct fab_dlid {
    uint32_t lid;
    /* number for D-mod-k: position of the endport in the topology */
    uint32_t number;
    /* port of the destination switch that leads to the endport */
    uint8_t port;
    /* true if hosts send to the LID; its paths then count for the link loads */
    bool loaded;
};
/* maximum number of DLIDs that fab_route_destinations_dlids() lists: one for each port */
#define FAB_DLIDS_MAX 256

struct fab_destinations {
    const struct fab_route_input *in; /* borrowed */
    /* [switches] destination switches in the order in which they are routed */
    uint32_t *sequence;
    /* the first `edges` switches of sequence[] are those that have hosts */
    uint32_t edges;
    uint32_t leaf_size; /* greatest number of hosts at one switch */
    /* number of LIDs in the largest LMC range */
    uint32_t lids_each;
};
/* Lists the destination switches in the order of leaf_sequence.h. Returns OK or NOMEM. */
int fab_route_destinations_make(const struct fab_route_input *in, const struct fab_graph *g,
                                const struct fab_updown *updown, struct fab_destinations *ret);
/* Like fab_route_destinations_make, but the caller gives the order: `sequence` is an array of g->n
 * switch ids from malloc, which *ret takes over. All switches count as switches with hosts. Returns
 * OK, or NOMEM if `sequence` is NULL, so that the caller need not check its malloc. */
int fab_route_destinations_in_sequence(const struct fab_route_input *in, const struct fab_graph *g,
                                       uint32_t *sequence, struct fab_destinations *ret);
void fab_route_destinations_fini(struct fab_destinations *r);

/* Lists in dlids[] the DLIDs at switch sequence[index], and returns their number. Of each endport,
 * the list has one DLID, its base LID plus `offset`; or none if the LMC range of the endport is too
 * short for this offset. Hosts come first. If `offset` is 0, the LID of the switch's port 0 comes
 * last. `offset` is added to the number of each DLID, so that the LIDs of one host take different
 * paths if there is a choice. */
uint32_t fab_route_destinations_dlids(const struct fab_destinations *r, uint32_t index,
                                      uint32_t offset, struct fab_dlid dlids[FAB_DLIDS_MAX]);

#endif
