/* SPDX-License-Identifier: BSD-3-Clause */
/* Handles the paths to one destination, and searches for detours in them. Internal to
 * libfabmgr/route/detours. */
#ifndef LIBFABMGR_ROUTE_DETOURS_TREE_H
#define LIBFABMGR_ROUTE_DETOURS_TREE_H

#include "libfabmgr/route/detours/detours.h"

/* maximum number of hops of a detour; each hop changes the next switch of one switch */
#define FAB_DETOUR_CHAIN_MAX 24
/* maximum number of detours that the search tries for one switch */
#define FAB_DETOUR_CANDIDATES 32

/* A detour: the arcs over which it leads, one after another. */
struct fab_detour_chain {
    uint64_t cost;
    uint32_t count;
    uint32_t arc[FAB_DETOUR_CHAIN_MAX];
};
struct fab_detour_search {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_graph *g;
    const struct fab_detour_rule *rule;
    struct fab_detours *d;
    struct fab_vl_cdg cdg;
    uint32_t sls;
    uint64_t *load;    /* [arcs] number of pairs of hosts whose paths use each arc */
    uint64_t mean;     /* mean of load[], at least 1 */
    uint64_t greatest; /* greatest load of a link when the pass began, at least 1 (spread.c) */
    uint32_t *width;   /* [arcs] number of parallel links */
    uint32_t *head;    /* [arcs] the switch that each arc leads to: g->nbr */
    uint32_t *tail;    /* [arcs] the switch that each arc leaves */
    /* the tree that was loaded last: its destination switch, DLID number and weight */
    uint32_t dest, number, weight;
    bool known; /* true: regular[] has the paths to the DLID `number` at switch `dest` */
    /* [switches] the arc by which each switch sends on the regular path, before any detour */
    uint32_t *regular;
    /* [switches] the next switches of the rule (scratch memory) */
    uint32_t *next;
    uint32_t *arc; /* [switches] the arc by which each switch sends; FAB_NONE: none */
    /* [switches] number of hops to the end of the path, which is the destination or a gap */
    uint32_t *depth;
    uint32_t *far;   /* [switches] the switches, by descending depth[] */
    uint32_t *count; /* [switches + 2] scratch memory */
    uint32_t *stack; /* [switches] scratch memory */
    /* [switches] copies of arc[], of connected[] and of the SLs, made before a trial and restored
     * if the trial fails */
    uint32_t *old_arc;
    bool *old_connected;
    uint8_t *old_sl;
    bool *connected; /* [switches] whether the path from the switch leads to the destination */
    /* [gaps] the switches that are directly before a missing link and not connected yet */
    uint32_t *gap;
    uint32_t gaps;
    uint64_t *cost; /* [switches] cost of the path, if it is connected */
    uint64_t *flow; /* [switches] number of hosts whose packets the switch sends over arc[] */
    bool *on_path;  /* [switches] scratch (spread.c); all false between calls */
    /* [switches][sls] VLs on which packets of each SL leave the switch, as bits */
    uint16_t *vls;
    struct fab_detour_chain best[FAB_DETOUR_CANDIDATES];
    uint32_t candidates;
    bool strict; /* true: detours must not lead back (fab_detour_rule.leads_back) */
};

/* Loads the tree t with its detours. If `regular` is true, loads only its regular paths. */
void fab_route_detour_load(struct fab_detour_search *x, const struct fab_detour_tree *t,
                           bool regular);
/* Computes depth[], connected[] and far[] from arc[]. */
void fab_route_detour_lay_out(struct fab_detour_search *x);
/* Adds the loads of the tree to load[], or subtracts them. */
void fab_route_detour_change_loads(struct fab_detour_search *x, bool add);
/* Returns the VL on which packets of an SL that came over the arc `in` leave a switch over the arc
 * `out`. in: FAB_NONE if the packets came from an endport. */
uint32_t fab_route_detour_vl(const struct fab_detour_search *x, uint32_t in, uint32_t out,
                             uint32_t sl);
/* Adds the dependencies of all paths of the tree, and computes vls[]. Returns false if some
 * dependency could not be added, mostly because it would close a cycle; others may then be missing,
 * too. */
bool fab_route_detour_add(struct fab_detour_search *x);
/* Adds the detour c to best[], the cheapest detours found so far, sorted by cost. If best[] is
 * full, drops the most expensive one. */
void fab_route_detour_offer(struct fab_detour_search *x, const struct fab_detour_chain *c);
/* Adds the detour to arc[], and its dependencies to the graph. If one of them cannot be added,
 * changes nothing and returns false. */
bool fab_route_detour_take(struct fab_detour_search *x, const struct fab_detour_chain *c);
/* Connects the switches before gaps by detours. If `last` is true, also tries detours of up to
 * FAB_DETOUR_CHAIN_MAX hops. Returns false if some of these switches are still cut off; gap[] then
 * has only these. Before this call, the caller must load the tree (fab_route_detour_load), lay it
 * out, and add its dependencies (fab_route_detour_add). */
bool fab_route_detour_connect(struct fab_detour_search *x, bool last);
/* Connects the switches of gap[] by detours on the spare VL. Returns false if some switch is still
 * cut off. */
bool fab_route_detour_connect_by_spare(struct fab_detour_search *x);

/* Reserves the spanning tree of struct fab_detours (reserve.c), if this is possible. Before this
 * call, the caller must add the dependencies of all regular paths. */
void fab_route_detour_reserve(struct fab_detour_search *x);
/* Adds the dependencies of the reserved tree again, after the graph was cleared. */
void fab_route_detour_add_reserved(struct fab_detour_search *x);

/* Stores the hops in which the paths of the loaded tree differ from its regular paths, as the
 * detours of `t`. Returns NOMEM if there is no memory. */
int fab_route_detour_store(struct fab_detour_search *x, struct fab_detour_tree *t);
/* Returns true if the searches for cycles have used up their steps. Nearly all further detours
 * would then be refused. */
static inline bool fab_route_detour_is_spent(const struct fab_detour_search *x)
{
    return x->cdg.cdg.budget == 0;
}
/* Makes the graph anew, from the dependencies of the reserved tree and of the paths of all trees:
 * the regular paths if `regular` is true, otherwise the present paths. Leaves out the paths of tree
 * i if without[i] is true; `without` may be NULL. Returns false if a dependency could not be added,
 * or if the searches for cycles have used up their steps. */
bool fab_route_detour_renew_graph(struct fab_detour_search *x, bool regular, const bool *without);
/* Spreads the loads of the detours (passes.c). `regular` is the greatest link load that the regular
 * paths alone cause. Does nothing if the number of trees times the number of switches is too great.
 * Returns OK or NOMEM. */
int fab_route_detour_spread_all(struct fab_detour_search *x, uint64_t regular);
/* Returns the greatest load of a link, at least 1. */
uint64_t fab_route_detour_greatest(const struct fab_detour_search *x);
/* Loads the tree `t`, and changes paths in it that use busy links (spread.c). Returns false if
 * nothing changed; otherwise the caller must store the paths (fab_route_detour_store). Before this
 * call, the caller must set x->greatest. */
bool fab_route_detour_spread(struct fab_detour_search *x, const struct fab_detour_tree *t);

#endif
