/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two dragonfly engines share. Private to the room. */
#ifndef LIBFABMGR_ROUTE_DRAGONFLY_DRAGONFLY_H
#define LIBFABMGR_ROUTE_DRAGONFLY_DRAGONFLY_H

#include "libfabmgr/route/balance/next_hops.h"
#include "libfabmgr/route/dragonfly/groups.h"

struct dragonfly {
    const struct fab_route_input *in;
    struct fab_graph graph;
    struct fab_groups groups;
    struct fab_destinations roster;
    struct fab_next_hops onward;
    struct fab_lft lft;
    struct fab_vls vls;
    bool detours; /* some path makes two local hops in a group where one is usual */
    char *why;
    size_t why_len;
};

/* Classes of ports, by what is at the other end. */
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
    /* The next switch from `at` on the way of destination number `number` at `dest`; FAB_NONE:
     * none. */
    uint32_t (*next)(struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number);
    /* Fills vls.vl, which is 0; returns how many VLs are used. */
    unsigned (*map)(struct dragonfly *d);
};
int fab_route_dragonfly_run(const struct fab_dragonfly_kind *kind, const struct fab_route_input *in,
                            struct fab_lft *ret_lft, struct fab_vls *ret_vls, char *why,
                            size_t why_len);

/* The first gate from group a to b that suits, from place `number` on, round and round; NULL:
 * none. */
typedef bool fab_global_link_test(const struct dragonfly *d, const struct fab_global_link *gate,
                                  uint32_t at, uint32_t dest);
const struct fab_global_link *fab_route_dragonfly_link(const struct dragonfly *d, uint32_t at,
                                                       uint32_t dest, uint32_t number,
                                                       fab_global_link_test *suits);

#endif
