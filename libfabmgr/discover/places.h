/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places of ports: the switch port to which each port was last connected. Any device can claim any
 * GUID, but the switch port at which a directed route ends is certain. So if a GUID appears at a
 * switch port at which it was not seen before, discovery checks which device is the right one
 * (contest.c).
 */
#ifndef LIBFABMGR_DISCOVER_PLACES_H
#define LIBFABMGR_DISCOVER_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"

struct fab_place {
    /* Node GUID and port GUID of the port. All ports of a switch have the port GUID of its port 0.
     */
    uint64_t guid, port_guid;
    /* GUID of the node at the other end of the link. */
    uint64_t near_guid;
    uint8_t port, near_port;
    bool is_switch;
};
/* The places of all ports. The struct is sealed, so any thread may read it. */
struct fab_places;

/* Makes a sealed set from a list of places. If several places have the same node GUID and port
 * number, the set has only the first of them. Returns OK or NOMEM. */
int fab_discover_places_new(const struct fab_place *list, size_t count, struct fab_places **ret);
/* Makes the set of the places of all ports of a fabric. If a port has no link, for example because
 * the link is held down, it keeps its place from the set `old`. old == NULL: there is no earlier
 * set. Returns OK or NOMEM. */
int fab_discover_places_of(const struct fab_fabric *f, const struct fab_places *old,
                           struct fab_places **ret);
/* The functions below accept p == NULL as a set without places. */
struct fab_places *fab_discover_places_ref(struct fab_places *p);
void fab_discover_places_unref(struct fab_places *p);

/* Returns the place of the port with this node GUID and port number; NULL: its place is not known.
 */
const struct fab_place *fab_discover_place(const struct fab_places *p, uint64_t guid, uint8_t port);
/* fab_discover_place_of_node returns the place of the node's first port that has a place.
 * fab_discover_place_of_port_guid returns the place of the port with this port GUID. Both return
 * NULL if no place is known. */
const struct fab_place *fab_discover_place_of_node(const struct fab_places *p, uint64_t guid);
const struct fab_place *fab_discover_place_of_port_guid(const struct fab_places *p,
                                                        uint64_t port_guid);
/* Returns all places, sorted by node GUID and port number. */
const struct fab_place *fab_discover_places_list(const struct fab_places *p, size_t *ret_count);

#endif
