/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capacity floor: a share of the uplinks of each leaf, and of each pod, must stay in use when
 * links are isolated (the constraint of CorrOpt: Zhuo et al., Understanding and mitigating packet
 * corruption in data center networks, SIGCOMM 2017). The uplinks of a leaf are all of its links to
 * other switches. A pod consists of switches that are connected to each other even without the
 * switches of the highest level; its uplinks are its links to the highest level. A fabric in which
 * all switches are at most one hop from hosts has no pods, only leaves.
 *
 * The floor is about numbers of links, not about their rates. Links that have failed count as
 * uplinks that are not in use.
 */
#ifndef LIBFABMGR_HEALTH_FLOOR_H
#define LIBFABMGR_HEALTH_FLOOR_H

#include <stdbool.h>
#include <stddef.h>

#include "libfabmgr/fabric/fabric.h"

/* A link between switches that has failed. */
struct fab_lost_link {
    uint32_t node[2]; /* ids of the two switches; FAB_NONE: the switch is not in the fabric */
    /* level of the switch when it was in the fabric; only used if its `node` is FAB_NONE */
    uint32_t level[2];
};
/* A leaf or a pod, with counts of its uplinks. */
struct fab_floor_group {
    uint32_t node;  /* id of the leaf, or the lowest id of the switches of the pod */
    bool pod;       /* true: a pod; false: a leaf */
    uint32_t links; /* number of uplinks, including failed ones */
    uint32_t lost;  /* number of uplinks that are excluded or have failed */
    uint32_t least; /* number of uplinks that must stay in use */
};
struct fab_floor_count {
    uint32_t links, lost;
};
struct fab_floor {
    const struct fab_fabric *f;
    uint32_t min_percent;
    uint32_t top; /* highest level of a switch */
    /* [switch_count] level: number of hops to the nearest switch with hosts; FAB_NONE: no path */
    uint32_t *level;
    /* [switch_count] lowest switch id in the pod of each switch; FAB_NONE: in no pod */
    uint32_t *pod;
    struct fab_floor_count *leaf; /* [switch_count] counts of each leaf, by the id of the leaf */
    /* [switch_count] counts of each pod, by the lowest id of its switches */
    struct fab_floor_count *of_pods;
};

/* Finds leaves and pods. Returns NOMEM. */
int fab_health_floor_init(struct fab_floor *fl, const struct fab_fabric *f, uint32_t min_percent);
void fab_health_floor_fini(struct fab_floor *fl);
/* Counts all uplinks: those that are up in the fabric, and the failed ones in lost[count]. */
void fab_health_floor_count(struct fab_floor *fl, const struct fab_lost_link *lost, size_t count);
/* Counts one more failed link between switches `a` and `b`, in addition to the links that are
 * up. */
void fab_health_floor_lost(struct fab_floor *fl, uint32_t a, uint32_t b);
/* Counts as excluded a link between switches `a` and `b` that is up in the fabric. */
void fab_health_floor_exclude(struct fab_floor *fl, uint32_t a, uint32_t b);
/* Returns true if one more link between switches `a` and `b` may be excluded. If it returns false,
 * *ret is the leaf or pod that would keep too few uplinks. */
bool fab_health_floor_permits(const struct fab_floor *fl, uint32_t a, uint32_t b,
                              struct fab_floor_group *ret);
/* A link between switches `a` and `b` can be an uplink of several leaves and pods. Sets *ret to the
 * leaf or pod of these that has the smallest share of its uplinks left. Returns false if such a
 * link is not an uplink of any leaf or pod. */
bool fab_health_floor_tightest(const struct fab_floor *fl, uint32_t a, uint32_t b,
                               struct fab_floor_group *ret);

#endif
