/* SPDX-License-Identifier: BSD-3-Clause */
/* The levels of the switches of a tree. */
#ifndef LIBFABMGR_CABLING_LEVELS_H
#define LIBFABMGR_CABLING_LEVELS_H

#include "libfabmgr/fabric/fabric.h"

/* The level of a switch, and how many of its links lead to hosts, down, up and to the side
 * (infer.h). */
struct fab_cabling_links {
    /* level of the switch: 1 for leaves, 2 for the switches above them, and so on; 0: no path to
     * any host */
    uint8_t level;
    uint8_t hosts, down, up, side;
};
/* Finds the level of each switch, counts the links of each switch by direction, and stores both in
 * links[switch_count]. All bytes of links[] must be zero before. Returns OK or NOMEM. */
int fab_cabling_find_levels(const struct fab_fabric *f, struct fab_cabling_links *links);

/* Returns the switch at the other end of a port's link; FAB_NONE: there is no switch. */
uint32_t fab_cabling_peer_switch(const struct fab_fabric *f, uint32_t port);

#endif
