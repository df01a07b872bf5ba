/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds paths to one destination switch at a time over dependencies that close no cycle, as Nue
 * does. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_NUE_SEARCH_H
#define LIBFABMGR_ROUTE_NUE_SEARCH_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/dependencies/acyclic_cdg.h"

#define FAB_NUE_SLOT_NONE 0xff
#define FAB_NUE_UNREACHED UINT16_MAX
#define FAB_NUE_LEVELS 16 /* an arc spans fewer levels than this (search.c) */

/* An arc whose dependency needs a search for cycles. */
struct fab_nue_deferred {
    uint64_t cost;
    uint32_t arc;
};
struct fab_nue {
    struct fab_arena arena;    /* of the arrays */
    const struct fab_graph *g; /* borrowed */
    struct fab_cdg *cdg;       /* borrowed; the CDG of the current VL */
    uint8_t *port_slot;        /* [ports] slot of the arc that the port belongs to
                                  (acyclic_cdg.h) */
    uint32_t *escape_arc;      /* [n] arc towards the root of the escape tree, or FAB_NONE */
    uint64_t *load; /* [arcs] number of pairs of hosts whose paths, as far as found, use the arc */
    /* The paths that were found last. */
    uint32_t home, count;  /* the destination switch; the number of switches that have a path */
    uint32_t *by_distance; /* [count] the switches that have a path, nearest first */
    uint16_t *hops;        /* [n] length of the path in hops (during a search: in levels), or
                              FAB_NUE_UNREACHED */
    uint8_t *slot;         /* [n] slot of the next arc */
    uint64_t detour_hosts; /* number of hosts whose path is longer than the shortest possible */
    /* Scratch memory. */
    uint64_t normal_load;             /* an arc with this load or more spans more than one level of
                                         the search (span()); 0: all arcs span one level */
    uint32_t delayed[FAB_NUE_LEVELS]; /* heads of the lists of arcs that are considered at a later
                                         level */
    uint32_t *next_delayed;           /* [arcs] next arc in the list */
    uint32_t delayed_count;
    uint16_t *min_hops; /* [n] number of hops of the shortest path over the links */
    uint16_t *forced;   /* [n] number of hops for switches that must take the escape tree; else
                           FAB_NUE_UNREACHED */
    uint8_t *down;      /* [n] slot towards home of each ancestor of home in the escape tree */
    uint32_t *best;     /* [n] the best arc at the current level */
    uint64_t *cost;     /* [n] sum of the loads along the path */
    uint32_t *found, *forced_list;     /* [n] switches */
    struct fab_nue_deferred *deferred; /* [arcs] */
    uint32_t forced_count, found_count, deferred_count;
    uint64_t *flow;         /* [n] number of hosts that send through the switch */
    uint64_t *alternatives; /* [n][words] bitset of the slots of all arcs that the switch may use */
};
/* Initialises *d. The caller keeps g and o, which must outlive d. Returns NOMEM if there is no
 * memory. */
int fab_route_nue_init(struct fab_nue *d, const struct fab_graph *g, const struct fab_order *o,
                       const struct fab_cdg *cdg);
void fab_route_nue_fini(struct fab_nue *d);

/* Returns the first arc of the path from switch s. */
static inline uint32_t fab_route_nue_next(const struct fab_nue *d, uint32_t s)
{
    return d->g->nbr_at[s] + d->slot[s];
}

/* Puts the dependencies along the escape tree into use. */
void fab_route_nue_add_escape_tree(struct fab_nue *d);

/* Finds one path from each switch to `home`, as short as dependencies allow, and puts the
 * dependencies of these paths into use. With `strict`, returns false, and changes nothing, unless
 * all paths are shortest paths. Without `strict`, always succeeds if the escape tree was added. */
bool fab_route_nue_find(struct fab_nue *d, uint32_t home, bool strict);

/* Returns the number of hosts that would get a detour from fab_route_nue_find() without `strict`.
 * Adds no dependency. */
uint64_t fab_route_nue_count_detours(struct fab_nue *d, uint32_t home);

/* Computes home, count, by_distance[] and hops[] from slot[]. */
void fab_route_nue_restore(struct fab_nue *d, uint32_t home);

/* Sets alternatives[] for each switch to the slots of all arcs of equal path length that can be
 * used in any combination, slot[] included. With `add`, puts further dependencies into use for
 * this. The caller has called fab_route_nue_find() or fab_route_nue_restore() before. */
void fab_route_nue_find_alternatives(struct fab_nue *d, bool add);

/* Converts the alternatives to candidates for balance.c. */
void fab_route_nue_candidates(const struct fab_nue *d, struct fab_shortest *ret);

#endif
