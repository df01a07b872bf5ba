/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which ISLs may be excluded from the routes. The candidates flap, are unhealthy, or an operator
 * wants to exclude them. A link stays if a part of the fabric could not be reached without it, or
 * if a switch would lose more than max_percent of its links in one direction, so that a leaf keeps
 * enough uplinks. Each result gives the reason.
 */
#ifndef LIBFABMGR_HEALTH_ISOLATION_H
#define LIBFABMGR_HEALTH_ISOLATION_H

#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"

enum fab_isolation_verdict {
    FAB_ISOLATION_ALLOWED, /* the link may be excluded */
    FAB_ISOLATION_HOST,    /* refused: it connects a node that is no switch */
    FAB_ISOLATION_LIMIT,   /* refused: a switch would lose too many links in one direction */
    FAB_ISOLATION_NEEDED,  /* refused: a part of the fabric would be cut off */
};
struct fab_isolation_link {
    uint32_t port; /* either port of a link that is up; FAB_NONE: excluded before, and now down */
    uint32_t node[2]; /* if port is FAB_NONE: both switches, or FAB_NONE if they are gone */
};
struct fab_isolation {
    enum fab_isolation_verdict verdict;
    uint32_t node;       /* HOST: the node that is no switch; LIMIT: the switch; else FAB_NONE */
    uint32_t links, out; /* LIMIT: the switch's links in that direction, and how many of them are
                            excluded */
};

/* Decides which of link[count] may be excluded; earlier links have precedence over later ones. A
 * link that is excluded and down counts against the limit of its switches. max_percent limits the
 * links of a switch in one direction. NOMEM. */
int fab_health_isolation_choose(const struct fab_fabric *f, uint32_t max_percent,
                                const struct fab_isolation_link *link, size_t count,
                                struct fab_isolation *ret);
/* Counts the nodes that self_port could not reach without the links of these ports (one port of
 * each link). ret_first: the lowest id of these nodes, or FAB_NONE. NOMEM; INVAL: no self_port. */
int fab_health_isolation_cut_off(const struct fab_fabric *f, const uint32_t *port, size_t count,
                                 uint32_t *ret_switches, uint32_t *ret_others, uint32_t *ret_first);

#endif
