/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Infers the intended shape of a fabric from the fabric itself: the levels of a tree, what most
 * switches of a level have in common, and the cabling that the majority shows. Three things are
 * odd: a switch whose number of links differs from that of most switches of its level, a cable that
 * breaks the pattern, and an adapter whose rail differs from that of most adapters at its switch.
 *
 * Leaves are the switches with hosts. There are two exceptions. A switch with hosts is no leaf if
 * it has fewer hosts than links to switches with more hosts. A switch without hosts is a leaf if it
 * has mostly the same neighbours as some leaf (levels.c). The level of any other switch is one more
 * than the level of its lowest neighbour.
 *
 * The pattern is this. Switches of a level with the same upper neighbours form a group. In most
 * trees, the ports k of all switches of a group lead to the same upper switch, and all upper
 * switches of a group have the cables to a given lower switch at ports of the same number. For each
 * port k the upper switch, and for each lower switch the port number, is decided by a majority:
 * more than two thirds of the votes, and at least three. If there is no majority, the plan has the
 * cables as they are.
 */
#ifndef LIBFABMGR_CABLING_INFER_H
#define LIBFABMGR_CABLING_INFER_H

#include "libfabmgr/cabling/compare.h"

#define FAB_CABLING_LEVELS 8u

/* A level of the tree. `ports` to `side` are the most frequent numbers of ports, of hosts, and of
 * links down, up and to the side that switches of the level have. A link leads up (to the next
 * level), down (to the level below, or to a host), or to the side (to a switch of the same level).
 */
struct fab_cabling_level {
    uint32_t switches;
    uint8_t ports, hosts, down, up, side;
    /* number of switches of this level that have another number of links up, down or to the side
     * than most of them */
    uint32_t odd;
};
struct fab_cabling_odd_switch {
    uint32_t node;
    uint8_t level; /* level of the switch; leaves have level 1 */
    uint8_t down, up, side;
};
struct fab_cabling_odd_rail {
    uint32_t port;      /* port of the adapter, as numbered in `check` */
    uint8_t rail;       /* rail of this adapter */
    uint8_t other_rail; /* rail of most adapters at the switch */
};
struct fab_cabling_shape {
    uint32_t hosts, adapters; /* number of hosts, and number of adapter ports that have a link */
    uint8_t rails;            /* number of rails; 0: the fabric has no rails */
    uint32_t level_count;
    struct fab_cabling_level levels[FAB_CABLING_LEVELS]; /* levels[0] describes the leaves */
    /* [switch_count] switches whose number of links differs from that of most switches of their
     * level */
    struct fab_cabling_odd_switch *switches;
    size_t switch_count;
    /* [adapter_count] adapters whose rail differs from that of most adapters at their switch */
    struct fab_cabling_odd_rail *adapter_rails;
    size_t adapter_count;
    /* links: number of ISLs. links_in_pattern: number of ISLs in the plan that a majority vote has
     * decided. */
    uint32_t links, links_in_pattern;
    struct fab_cabling_plan *plan;   /* plan with the cabling that most switches show */
    struct fab_cabling_check *check; /* comparison of the fabric with this plan */
};

/* Infers the shape of the fabric. The fabric must exist as long as the result. Returns OK or NOMEM.
 */
int fab_cabling_infer(const struct fab_fabric *f, struct fab_cabling_shape **ret_shape);
void fab_cabling_shape_free(struct fab_cabling_shape *s); /* s may be NULL */

#endif
