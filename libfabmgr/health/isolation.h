/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which ISLs may be excluded from the routes. The candidates are links that flap or are
 * unhealthy, and links that an operator wants to exclude. A link is not excluded if a part of the
 * fabric would be unreachable without this link. A link is also not excluded if one of its switches
 * would lose more than max_percent of the switch's links in one direction, or if a leaf or a pod
 * would keep less than the capacity floor (libfabmgr/health/floor.h). Each result gives the reason.
 */
#ifndef LIBFABMGR_HEALTH_ISOLATION_H
#define LIBFABMGR_HEALTH_ISOLATION_H

#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/health/floor.h"

enum fab_isolation_verdict {
    FAB_ISOLATION_ALLOWED, /* the link may be excluded */
    /* Refused: one end of the link is not a switch. */
    FAB_ISOLATION_HOST,
    /* Refused: a switch would lose too many links in one direction. */
    FAB_ISOLATION_LIMIT,
    /* Refused: a leaf, or a pod, would keep too few of its uplinks. */
    FAB_ISOLATION_LEAF_FLOOR,
    FAB_ISOLATION_POD_FLOOR,
    /* Refused: a part of the fabric would be unreachable without the link. */
    FAB_ISOLATION_NEEDED,
};
struct fab_isolation_link {
    /* id of one port of the link if the link is up; FAB_NONE: the link is already excluded, and
     * down */
    uint32_t port;
    /* Used only if port is FAB_NONE: ids of the two switches that the link connected; FAB_NONE:
     * this switch is not in the fabric any more. */
    uint32_t node[2];
    /* An operator drains the link. Limit and floor do not prevent this. But when other links are
     * judged, the link counts as excluded. */
    bool drained;
    /* An operator isolated the link: the floor does not prevent this. But when other links are
     * judged, the link counts as excluded. */
    bool operated;
};
/* Rules of isolation. */
struct fab_isolation_rule {
    /* the largest share, in percent, of the links of a switch in one direction that may be
     * excluded */
    uint32_t max_percent;
    /* The capacity floor: the smallest share, in percent, of the uplinks of a leaf, and of a pod,
     * that must stay in use. The number of links is rounded down. 0: there is no floor. */
    uint32_t min_percent;
    /* [lost_count] links between switches that have failed; they count as lost for the floor */
    const struct fab_lost_link *lost;
    size_t lost_count;
};
struct fab_isolation {
    enum fab_isolation_verdict verdict;
    /* With FAB_ISOLATION_HOST: id of the node that is not a switch. With FAB_ISOLATION_LIMIT: id of
     * the switch that would lose too many links. With a floor: id of the leaf, or of the switch of
     * the pod. Otherwise FAB_NONE. */
    uint32_t node;
    /* With FAB_ISOLATION_LIMIT: number of links of the switch in the direction of this link
     * (`links`), and how many of them are excluded (`out`). With a floor: number of uplinks of the
     * leaf or of the pod, how many of them are excluded or have failed, and how many must stay. */
    uint32_t links, out, least;
};

/* Decides which links of link[count] may be excluded. Earlier links have precedence: a link is
 * excluded if the rules permit it in addition to all excluded links before it. A link that is
 * excluded and down counts against limit and floor. Returns OK or NOMEM. */
int fab_health_isolation_choose(const struct fab_fabric *f, const struct fab_isolation_rule *rule,
                                const struct fab_isolation_link *link, size_t count,
                                struct fab_isolation *ret);
/* Counts the switches and the other nodes that self_port could not reach if some links were
 * excluded. port[count]: for each of these links, the id of one of its ports. *ret_first: the
 * lowest id of the unreachable nodes, or FAB_NONE. INVAL: the fabric has no self_port. Also returns
 * NOMEM. */
int fab_health_isolation_cut_off(const struct fab_fabric *f, const uint32_t *port, size_t count,
                                 uint32_t *ret_switches, uint32_t *ret_others, uint32_t *ret_first);

#endif
