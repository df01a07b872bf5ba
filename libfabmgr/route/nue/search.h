/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds paths to one destination switch at a time over dependencies that close no cycle (Nue).
 * Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_NUE_SEARCH_H
#define LIBFABMGR_ROUTE_NUE_SEARCH_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/dependencies/acyclic_cdg.h"
#include "libfabmgr/target/vls.h"

#define FAB_NUE_SLOT_NONE 0xff
#define FAB_NUE_LANE_NONE 0xff
#define FAB_NUE_UNREACHED UINT16_MAX
/* greater than the number of search levels that any arc spans (span() in search.c) */
#define FAB_NUE_LEVELS 16

/* An arc whose use was deferred, because some dependency of the path that begins with this arc may
 * need a search for cycles. A path can use the arc only if no dependency closes a cycle.
 * (alternatives.c uses the struct to undo changes of arc_lanes[].) */
struct fab_nue_deferred {
    uint64_t cost;
    uint32_t arc;
};
struct fab_nue {
    struct fab_arena arena;    /* memory of the arrays */
    const struct fab_graph *g; /* borrowed */
    /* borrowed; [lanes] the CDG of each VL. cdg[0] also gives the reverse and the tail of each
     * arc. */
    struct fab_cdg *cdg;
    uint32_t lanes; /* number of VLs */
    uint32_t trees; /* the first `trees` VLs have the escape tree */
    /* These members say which arcs paths prefer. If both are false, paths prefer arcs whose
     * dependencies need no search for cycles on some VL, and among these the arcs with the least
     * load. dense: paths prefer arcs whose dependencies need no search on the first VL. by_load:
     * paths prefer the arcs with the least load; each arc then needs a search for cycles. */
    bool dense, by_load;
    /* true: paths from switches without hosts get no VL until fab_route_nue_complete() is called */
    bool defer;
    /* [switches][switches] The VL of each pair of switches, the same in both directions: element
     * home * switches + s. FAB_NUE_LANE_NONE: the pair has no VL yet. */
    uint8_t *lane_of;
    /* [switches][switches] the paths that fab_route_nue_keep() has kept: element home * switches +
     * s is the slot of the first arc from switch s to `home` */
    uint8_t *kept;
    /* [ports] slot of the arc to which each port belongs: the index of the port's peer among the
     * neighbours of the switch */
    uint8_t *port_slot;
    /* [switches] the arc of each switch towards the root of the escape tree; FAB_NONE for the root
     */
    uint32_t *escape_arc;
    /* [arcs] number of pairs of hosts that use the arc, on the paths found so far */
    uint64_t *load;
    /* The members up to detour_hosts describe the paths that were found last. home: their
     * destination switch. count: number of switches that have a path. */
    uint32_t home, count;
    /* [count] the switches that have a path, nearest first */
    uint32_t *by_distance;
    /* [switches] length of the path from each switch in hops (during a search: in levels);
     * FAB_NUE_UNREACHED: no path */
    uint16_t *hops;
    /* [switches] the slot of the first arc on the path from each switch: its index among the arcs
     * that leave the switch */
    uint8_t *slot;
    /* [switches] the VL of the path from each switch */
    uint8_t *lane;
    /* number of hosts whose path to `home` is longer than a shortest path */
    uint64_t detour_hosts;
    /* the members from here on are scratch memory */
    /* an arc with at least this load counts as longer than one hop (span() in search.c); 0: every
     * arc counts as one hop */
    uint64_t normal_load;
    /* Lists of arcs that are evaluated at a later level of the search. delayed[level %
     * FAB_NUE_LEVELS] is the first arc of the list of a level. */
    uint32_t delayed[FAB_NUE_LEVELS];
    /* [arcs] next arc in the same list of delayed[] */
    uint32_t *next_delayed;
    uint32_t delayed_count;
    /* [switches] number of hops of the shortest path to `home`, even if dependencies forbid this
     * path */
    uint16_t *min_hops;
    /* [switches] number of hops to `home` along the escape tree, if the switch must use the tree;
     * otherwise FAB_NUE_UNREACHED */
    uint16_t *forced;
    /* [switches] for each switch on the path from `home` to the root of the escape tree, the slot
     * of the arc that leads back towards `home` */
    uint8_t *down;
    /* [switches] the best arc of each switch at the current level */
    uint32_t *best;
    /* [switches] sum of the loads of the arcs on the path from each switch to the destination
     * switch */
    uint64_t *cost;
    /* [switches] found: the switches reached at the present level. forced_list: the switches that
     * must use the escape tree. */
    uint32_t *found, *forced_list;
    /* [arcs] the arcs that need a search for cycles before a path can use them */
    struct fab_nue_deferred *deferred;
    uint32_t forced_count, found_count, deferred_count;
    /* [switches] number of hosts that send to `home` through the switch */
    uint64_t *flow;
    /* [switches][words] a bitset of the slots of all arcs by which the switch may send to `home` */
    uint64_t *alternatives;
    /* [arcs] bitset of the VLs of all packets to `home` that may take the arc */
    uint16_t *arc_lanes;
    /* [switches] bitset of the VLs of all packets to `home` that pass the switch;
     * find_lanes_through() stores VL numbers here instead */
    uint16_t *through;
    uint8_t *lane_was; /* [switches] copy of lane[], to undo a change */
};
/* Initialises *d. *d keeps pointers to `g` and `cdg`, which must outlive *d. cdg[0] gives the sizes
 * of the arrays; the caller initialises cdg[] and sets d->lanes before it calls the functions
 * below. Returns NOMEM if there is no memory. */
int fab_route_nue_init(struct fab_nue *d, const struct fab_graph *g, const struct fab_order *o,
                       struct fab_cdg *cdg);
void fab_route_nue_fini(struct fab_nue *d);

/* Returns the first arc of the path from switch s. */
static inline uint32_t fab_route_nue_next(const struct fab_nue *d, uint32_t s)
{
    return d->g->nbr_at[s] + d->slot[s];
}

/* Puts all dependencies along the escape tree into use on VL number d->trees, and increases
 * d->trees. No other dependency may be in use on this VL. So every switch can always use the tree
 * on this VL. */
void fab_route_nue_add_escape_tree(struct fab_nue *d);

/* Forgets all kept paths and the VLs of all pairs. */
void fab_route_nue_clear(struct fab_nue *d);

/* Finds one path from each switch to `home`, as short as dependencies allow, and a VL for each of
 * these paths. If the path from `home` to a switch is kept already, both paths have the same VL.
 * Puts the dependencies of the paths into use, and adds the paths to load[]. If `strict` is true
 * and some host gets no shortest path, returns false and puts no dependency into use. If `strict`
 * is false and the escape tree was added on all VLs, always succeeds. */
bool fab_route_nue_find(struct fab_nue *d, uint32_t home, bool strict);

/* Keeps the paths and VLs that fab_route_nue_find() found last. */
void fab_route_nue_keep(struct fab_nue *d);

/* Completes the paths to `home`, which were found and kept while d->defer was true: gives a VL to
 * each path from a switch without hosts. If such a path would close a cycle on the first VL, it
 * gets a VL of the hosts that send through the switch; if that VL lacks the escape tree, a VL that
 * has it. If no host sends through the switch, the switch gets another path instead. Call this
 * function after the paths of hosts to all destinations have been found, because these have
 * priority: paths from switches without hosts carry only management traffic. Returns false if some
 * switch gets no path; the kept paths are then unchanged. */
bool fab_route_nue_complete(struct fab_nue *d, uint32_t home);

/* Returns the number of hosts whose path to `home` would be longer than a shortest path, if
 * fab_route_nue_find() were called with `strict` false. Adds no dependency, but overwrites the
 * paths that were found last. */
uint64_t fab_route_nue_count_detours(struct fab_nue *d, uint32_t home);

/* Restores the paths to `home` that were kept: computes the members home, count, by_distance[],
 * hops[], slot[] and lane[] of *d. */
void fab_route_nue_restore(struct fab_nue *d, uint32_t home);

/* Sorts the switches by their distance from d->home: computes the members count, by_distance[] and
 * hops[] from slot[]. */
void fab_route_nue_sort(struct fab_nue *d);

/* Finds, for each switch, the arcs that packets to `home` may use in any combination, and whose
 * paths are as long as the path over d->slot[]. Sets their bits in d->alternatives[]. These always
 * include the arc of d->slot[]. If `add` is true, adds dependencies to get more alternatives. The
 * caller must have called fab_route_nue_restore(). */
void fab_route_nue_find_alternatives(struct fab_nue *d, bool add);

/* Fills *ret with the paths to `home`, for balance.c: for each switch, the number of hops and all
 * ports that d->alternatives[] allows. balance.c then chooses one of these ports. The caller must
 * have called fab_route_nue_find_alternatives(). */
void fab_route_nue_candidates(const struct fab_nue *d, struct fab_shortest *ret);

#endif
