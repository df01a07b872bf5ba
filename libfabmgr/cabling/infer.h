/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Infers the intended shape of a fabric from the fabric itself: the levels of a tree, what most
 * switches of a level have in common, and the cabling that the majority shows. The odd ones out are
 * switches with another number of links than most of their level, cables that break the pattern,
 * and adapters on another rail than the other adapters of their switch.
 *
 * Leaves are the switches with hosts; a switch with a few hosts is no leaf if more of its links
 * lead to switches with more hosts. The level of another switch is one more than that of its lowest
 * neighbour.
 *
 * The pattern: switches of a level with the same upper neighbours form a group. In most trees, port
 * k leads to the same upper switch from all switches of a group, and all upper switches of a group
 * have the cable of a given lower switch at the same port. Both are found by a majority of more
 * than two thirds, and of at least three. Where there is no majority, the cables are taken as they
 * are.
 */
#ifndef LIBFABMGR_CABLING_INFER_H
#define LIBFABMGR_CABLING_INFER_H

#include "libfabmgr/cabling/compare.h"

#define FAB_CABLING_LEVELS 8u

/* What most switches of a level have. A link "up" leads to the next level, "down" to the level
 * below or to hosts, "side" to a switch of the same level. */
struct fab_cabling_level {
    uint32_t switches;
    uint8_t ports, hosts, down, up, side;
    uint32_t odd; /* number of switches with another number of links up, down or to the side */
};
struct fab_cabling_odd_switch {
    uint32_t node;
    uint8_t level; /* from 1 */
    uint8_t down, up, side;
};
struct fab_cabling_odd_rail {
    uint32_t port;      /* port of the adapter, as numbered in `check` */
    uint8_t rail;       /* of the adapter */
    uint8_t other_rail; /* of most adapters of the switch */
};
struct fab_cabling_shape {
    uint32_t hosts, adapters; /* numbers of hosts, and of their ports that have a link */
    uint8_t rails;            /* 0: there are none */
    uint32_t level_count;
    struct fab_cabling_level levels[FAB_CABLING_LEVELS]; /* [0]: the leaves */
    struct fab_cabling_odd_switch *switches;             /* [switch_count] odd switches */
    size_t switch_count;
    struct fab_cabling_odd_rail *adapter_rails; /* [adapter_count] odd adapters */
    size_t adapter_count;
    /* number of links between switches, and of those whose place a majority shows */
    uint32_t links, links_in_pattern;
    struct fab_cabling_plan *plan;   /* the cabling that the majority shows */
    struct fab_cabling_check *check; /* the fabric compared with this plan */
};

/* The fabric must exist as long as the result. Returns OK or NOMEM. */
int fab_cabling_infer(const struct fab_fabric *f, struct fab_cabling_shape **ret_shape);
void fab_cabling_shape_free(struct fab_cabling_shape *s); /* s may be NULL */

#endif
