/* SPDX-License-Identifier: BSD-3-Clause */
/* Decides which ISLs may be excluded from the routes. The candidates are links that flap or are
 * unhealthy, and links that an operator wants to exclude. There are three reasons not to exclude a
 * link: a part of the fabric would be unreachable; a switch would lose more than max_percent of its
 * links in one direction; or a leaf or pod would keep less than the capacity floor
 * (libfabmgr/health/floor.h). Not all of these reasons apply to links that an operator drains or
 * isolates (struct fab_isolation_link). The result for each link has the reason that prevents its
 * exclusion. */
#ifndef LIBFABMGR_HEALTH_ISOLATION_H
#define LIBFABMGR_HEALTH_ISOLATION_H

#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"
#include "libfabmgr/health/floor.h"

enum fab_isolation_verdict {
    FAB_ISOLATION_ALLOWED, /* the link may be excluded */
    /* Refused: one end of the link is not a switch, or the link is down. */
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
    /* id of one port of the link; FAB_NONE: the link is already excluded, and down */
    uint32_t port;
    /* ids of the two switches that the link connected, used only if `port` is FAB_NONE; an id is
     * FAB_NONE if this switch is not in the fabric any more */
    uint32_t node[2];
    /* true: an operator drains the link. Then the limit (max_percent) and the floor do not prevent
     * its exclusion, but the link counts as excluded when other links are judged. */
    bool drained;
    /* true: an operator isolated the link. Then the floor does not prevent its exclusion, but the
     * link counts as excluded when other links are judged. */
    bool operated;
};
/* Rules by which links may be excluded. */
struct fab_isolation_rule {
    /* the limit: the largest share, in percent, of the links of a switch in one direction that may
     * be excluded */
    uint32_t max_percent;
    /* The capacity floor: at least this share, in percent, of the uplinks of each leaf and pod must
     * stay in use. The resulting number of links is rounded down. 0: no floor. */
    uint32_t min_percent;
    /* [lost_count] links between switches that have failed; the capacity floor counts them as
     * lost */
    const struct fab_lost_link *lost;
    size_t lost_count;
};
struct fab_isolation {
    enum fab_isolation_verdict verdict;
    /* FAB_ISOLATION_HOST: id of the node that is not a switch. FAB_ISOLATION_LIMIT: id of the
     * switch that would lose too many links. Refused by the floor: id of the leaf, or the lowest
     * switch id in the pod. Otherwise FAB_NONE. */
    uint32_t node;
    /* If the verdict is FAB_ISOLATION_LIMIT, `links` is the number of links of the switch in the
     * direction of this link, and `out` is how many of them are excluded. If the floor refuses,
     * `links` is the number of uplinks of the leaf or pod, `out` is how many of them are excluded
     * or have failed, and `least` is how many must stay. */
    uint32_t links, out, least;
};

/* Decides which of the links link[count] may be excluded. Visits the links in order. A link may be
 * excluded if the rules permit this in addition to the links that were excluded before it. Links
 * that are already excluded and down count as lost, for the limit and for the floor. Returns OK or
 * NOMEM. */
int fab_health_isolation_choose(const struct fab_fabric *f, const struct fab_isolation_rule *rule,
                                const struct fab_isolation_link *link, size_t count,
                                struct fab_isolation *ret);
/* Counts the switches, and the other nodes, that self_port could not reach if some links were
 * excluded. port[count] has the id of one port of each of these links. *ret_first is the lowest id
 * of an unreachable node, or FAB_NONE. Returns NOMEM, or INVAL if the fabric has no self_port. */
int fab_health_isolation_cut_off(const struct fab_fabric *f, const uint32_t *port, size_t count,
                                 uint32_t *ret_switches, uint32_t *ret_others, uint32_t *ret_first);

#endif
