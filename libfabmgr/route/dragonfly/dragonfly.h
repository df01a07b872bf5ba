/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that the engines dragonfly and dragonfly+ share. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DRAGONFLY_DRAGONFLY_H
#define LIBFABMGR_ROUTE_DRAGONFLY_DRAGONFLY_H

#include "libfabmgr/route/balance/next_hops.h"
#include "libfabmgr/route/dragonfly/groups.h"

struct dragonfly {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_groups groups;
    struct fab_destinations destinations;
    struct fab_next_hops next_hops;
    struct fab_lft lft;
    struct fab_vls vls;
    /* true: some path takes two hops inside one group, because a link of the group is missing */
    bool detours;
    char *why;
    size_t why_len;
};

/* Classes of switch ports (struct fab_vls), by the kind of their links. */
enum fab_dragonfly_class {
    FAB_DRAGONFLY_END,
    FAB_DRAGONFLY_LOCAL, /* dragonfly+: from a leaf to a spine */
    FAB_DRAGONFLY_GLOBAL,
    FAB_DRAGONFLY_DOWN, /* dragonfly+: from a spine to a leaf */
};

struct fab_dragonfly_kind {
    const char *name;
    int (*find)(const struct fab_fabric *f, const struct fab_graph *g, struct fab_groups *ret,
                char *why, size_t why_len);
    /* Returns the switch after `at` on the path to a destination LID at switch `dest`. `number` is
     * the number of this LID, which selects among equal paths. FAB_NONE: there is no path. */
    uint32_t (*next)(struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number);
    /* Fills vls.vl, the VL of each SL and pair of port classes. On entry all its elements are 0.
     * Returns the number of VLs in use. */
    unsigned (*map)(struct dragonfly *d);
};
/* Runs the engine `kind`, dragonfly or dragonfly+. Returns the errors of fab_route_engine.run. */
int fab_route_dragonfly_run(const struct fab_dragonfly_kind *kind, const struct fab_route_input *in,
                            struct fab_lft *ret_lft, struct fab_vls *ret_vls, char *why,
                            size_t why_len);

/* Returns true if a path from `at` to `dest` may use the link. */
typedef bool fab_global_link_test(const struct dragonfly *d, const struct fab_global_link *link,
                                  uint32_t at, uint32_t dest);
/* Returns a global link from the group of switch `at` towards `dest`. The link leads to the group
 * of `dest` or, in place of a missing link, to a hub (fab_route_groups_via). Only links that pass
 * the test suits() count. The search begins at link `number` modulo the number of links, and wraps
 * around at the end of the list. NULL: no link passes the test. */
const struct fab_global_link *fab_route_dragonfly_link(const struct dragonfly *d, uint32_t at,
                                                       uint32_t dest, uint32_t number,
                                                       fab_global_link_test *suits);

#endif
