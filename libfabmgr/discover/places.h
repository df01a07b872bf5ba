/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places of ports: the switch port at which each port was last seen. A GUID is only a claim; the
 * switch port at which a directed route ends is a fact. Discovery compares both (contest.c).
 */
#ifndef LIBFABMGR_DISCOVER_PLACES_H
#define LIBFABMGR_DISCOVER_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "libfabmgr/fabric/fabric.h"

struct fab_place {
    uint64_t guid, port_guid; /* of the node and the port; all ports of a switch have the port GUID
                                 of its port 0 */
    uint64_t near_guid;       /* the node at the other end of the link */
    uint8_t port, near_port;
    bool is_switch;
};
struct fab_places; /* sealed; any thread may read it */

/* Makes a sealed set of the places in a list. If several have the same node GUID and port, the
 * first one counts. NOMEM. */
int fab_discover_places_new(const struct fab_place *list, size_t count, struct fab_places **ret);
/* Makes the places of a fabric. A port of the fabric that has no link, for example because the link
 * is held down, keeps its place in `old` (NULL: none). NOMEM. */
int fab_discover_places_of(const struct fab_fabric *f, const struct fab_places *old,
                           struct fab_places **ret);
struct fab_places *fab_discover_places_ref(struct fab_places *p); /* NULL is fine, also below */
void fab_discover_places_unref(struct fab_places *p);

/* The place of a port; NULL: not known. */
const struct fab_place *fab_discover_place(const struct fab_places *p, uint64_t guid, uint8_t port);
/* The place of the first port of a node that has one, or of the port with that port GUID. */
const struct fab_place *fab_discover_place_of_node(const struct fab_places *p, uint64_t guid);
const struct fab_place *fab_discover_place_of_port_guid(const struct fab_places *p,
                                                        uint64_t port_guid);
/* All places, sorted by GUID and port. */
const struct fab_place *fab_discover_places_list(const struct fab_places *p, size_t *ret_count);

#endif
