/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds detours around missing links, for engines with a regular routing rule, such as dimension
 * order in grids. The rule says to which switch a packet goes next, and on which VL. If links are
 * missing, some regular paths end before they reach the destination. This module continues these
 * paths to the destination, without cyclic channel dependencies. Packets keep the VLs and SLs that
 * the rule gives them. Internal to libfabmgr/route.
 */
#ifndef LIBFABMGR_ROUTE_DETOURS_DETOURS_H
#define LIBFABMGR_ROUTE_DETOURS_DETOURS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/dependencies/vl_cdg.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/target/vls.h"

struct fab_detour_rule {
    const void *ctx;
    /* Sets next[s] to the next switch on the regular path from each switch s to the DLID with this
     * number at switch `dest`. FAB_NONE: the regular path breaks off at s. */
    void (*next)(const void *ctx, uint32_t dest, uint32_t number, uint32_t *next);
    /* Returns true if the hop from switch s to its neighbour `to` leads back: in the dimension of
     * this hop, the rule sends packets from s to `dest` in the other direction. In a torus, packets
     * that go around a ring in the wrong direction often close a cycle together with packets on
     * detours around a missing link of the ring. So the first detours contain such hops only if no
     * short detour avoids them. The passes that spread loads do not avoid such hops; like all
     * detours, theirs close no cycle. */
    bool (*leads_back)(const void *ctx, uint32_t dest, uint32_t s, uint32_t to);
    /* true: a spanning tree for multicast is reserved before the detours are chosen. It grows from
     * switch `root`; if this fails, other roots are tried. It gets links of level 0 first, then
     * links of level 1, and so on, and at last links of any level. */
    bool reserve;
    uint32_t root, levels;
    uint32_t (*level)(const void *ctx, uint32_t a, uint32_t b);
    /* Returns true if switch s forwards multicast packets. */
    bool (*forwards_multicast)(const void *ctx, uint32_t s);
    /* Returns the rank of a channel in the initial topological order of the channels of the regular
     * paths. */
    fab_vl_cdg_rank *rank;
    /* The SL of each pair, and the VL of each hop. The search for detours may change SLs
     * (spare_sl). */
    struct fab_vls *vls;
    /* An SL whose packets have a VL of their own from end to end. If no other detour for a pair of
     * switches is free of deadlock, the search writes this SL to vls->of_pair. FAB_SLS: there is no
     * such SL. */
    uint32_t spare_sl;
    /* [neighbours] class of the ports at both ends of each arc, by index in g->nbr */
    const uint8_t *arc_class;
    /* Number of steps that searches for cycles may still take. The steps of the search for detours
     * are subtracted, but not those of the passes that spread loads afterwards. */
    uint64_t *budget;
};
/* The paths from all switches to one destination. */
struct fab_detour_tree {
    uint32_t dest;   /* id of the destination switch */
    uint32_t number; /* number of a DLID at this switch */
    uint32_t weight; /* number of LIDs of hosts that use these paths */
    /* The detours of this tree are detour[first] to detour[first + count - 1]. */
    uint32_t first, count;
    bool broken; /* true: some regular path breaks off */
    /* true: no detour was found for some switch, or (until the search for detours) the dependencies
     * of the regular paths close a cycle */
    bool lost;
    bool urgent; /* true: the tree was lost once, so it gets its detours before other trees */
    /* true: all trees to this switch share the same detours, which must not change any more */
    bool fixed;
};
/* One hop of a detour: switch `sw` forwards packets to switch `next`, not to the next switch of the
 * rule. */
struct fab_detour {
    uint32_t sw, next;
};
struct fab_detours {
    const struct fab_graph *g;
    struct fab_detour_rule rule;
    struct fab_detour_tree *tree; /* [trees] the trees, in an array that belongs to the caller */
    uint32_t trees;
    struct fab_detour *detour;
    size_t detours, room;
    /* broken: number of trees in which a regular path breaks off. lost: number of trees in which
     * some switch has no path, not even by a detour; if the budget is used up, all broken trees
     * count as lost. */
    uint32_t broken, lost;
    /* number of destination switches to which the searches found no complete tree without the spare
     * VL, so that packets to them may use this VL */
    uint32_t rescued;
    /* true: branch[] is a spanning tree of all switches that forward multicast packets. These
     * packets (SL 0) and the packets on the paths of all trees close no cycle together. */
    bool spans;
    /* [switches] the arc from each switch towards the root of the spanning tree; FAB_NONE: the
     * switch is the root, or not in the tree */
    uint32_t *branch;
};
/* Finds detours for all trees; the caller sets `dest`, `number` and `weight` of each. `vls` is the
 * number of VLs that the rule uses. *ret keeps pointers to `g` and `tree`, and copies the pointers
 * in *rule. A tree for which some detour was not found counts in ret->lost; this is no error. Equal
 * input gives equal detours. Returns NOMEM if there is no memory. */
int fab_route_detours_find(const struct fab_graph *g, const struct fab_detour_rule *rule,
                           uint32_t vls, struct fab_detour_tree *tree, uint32_t trees,
                           struct fab_detours *ret);
void fab_route_detours_fini(struct fab_detours *d);
/* Sets next[s] to the next switch from each switch s, detours included. The tree is lost if next[s]
 * is FAB_NONE for a switch other than the destination. */
void fab_route_detours_next(const struct fab_detours *d, uint32_t tree, uint32_t *next);

#endif
