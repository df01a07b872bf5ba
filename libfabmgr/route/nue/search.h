/* SPDX-License-Identifier: BSD-3-Clause */
/* Ways to one destination switch at a time by turns that close no circle. Private to the room. */
#ifndef LIBFABMGR_ROUTE_NUE_SEARCH_H
#define LIBFABMGR_ROUTE_NUE_SEARCH_H

#include "libfabmgr/route/balance/shortest_paths.h"
#include "libfabmgr/route/dependencies/acyclic_cdg.h"

#define FAB_NUE_SLOT_NONE 0xff
#define FAB_NUE_UNREACHED UINT16_MAX
#define FAB_NUE_LEVELS 16

struct fab_nue_deferred {
    uint64_t cost;
    uint32_t arc;
};
struct fab_nue {
    const struct fab_graph *g; /* borrowed */
    struct fab_cdg *turns;     /* borrowed: those of the lane at hand */
    uint8_t *port_slot;        /* [ports] of the arc that the port belongs to */
    uint32_t *trunk;           /* [n] arc towards the summit of the escape tree, or FAB_NONE */
    uint64_t *load;            /* [arcs] host pairs over the arc by the ways found so far */
    /* The ways found last: */
    uint32_t home, count; /* the destination; switches that have a way */
    uint32_t *near;       /* [n] those, nearest first */
    uint16_t *hops;       /* [n] cables, or FAB_NUE_UNREACHED */
    uint8_t *slot;        /* [n] slot of the next arc */
    uint64_t late;        /* hosts whose way is longer than it seemed it could be */
    /* Scratch. */
    uint64_t usual;                 /* load, or 0: all arcs span one level */
    uint32_t later[FAB_NUE_LEVELS]; /* arcs that are put off, by the level, as lists */
    uint32_t *next_later;           /* [arcs] */
    uint32_t laters;
    uint16_t *met;           /* [n] */
    uint16_t *forced;        /* [n] hops of switches that take the tree, or FAB_NUE_UNREACHED */
    uint8_t *down;           /* [n] slot towards home of its ancestors in the tree */
    uint32_t *best;          /* [n] arc */
    uint64_t *cost;          /* [n] */
    uint32_t *found, *force; /* [n] */
    struct fab_nue_deferred *hard; /* [arcs] turns that need a look */
    uint32_t forces, founds, hards;
    uint64_t *flow; /* [n] */
    uint64_t *wide; /* [n][words] */
};
int fab_route_nue_init(struct fab_nue *d, const struct fab_graph *g, const struct fab_order *o,
                       const struct fab_cdg *turns);
void fab_route_nue_fini(struct fab_nue *d);

/* The first arc of the way from s. */
static inline uint32_t fab_route_nue_next(const struct fab_nue *d, uint32_t s)
{
    return d->g->nbr_at[s] + d->slot[s];
}

/* Takes the turns of the escape tree into use. */
void fab_route_nue_add_escape_tree(struct fab_nue *d);

/* One way from each switch to `home`, as short as can be; turns taken into use. strict: only when
 * all are of the least length that cables allow, else nothing is changed and the answer is false.
 * Not strict: always succeeds, where the tree was planted. */
bool fab_route_nue_find(struct fab_nue *d, uint32_t home, bool strict);

/* The hosts that would have detours, if it were not strict; takes nothing into use. */
uint64_t fab_route_nue_count_detours(struct fab_nue *d, uint32_t home);

/* From slot[] alone: home, count, near[], hops[]. */
void fab_route_nue_restore(struct fab_nue *d, uint32_t home);

/* Further arcs that are as near, after find or recall: wide[] gets for each switch the slots of all
 * arcs that may be taken in any combination, that of slot[] among them. take: turns are taken into
 * use for it; else those in use must do. */
void fab_route_nue_find_alternatives(struct fab_nue *d, bool take);

/* The wide ways as candidates for balancing. */
void fab_route_nue_candidates(const struct fab_nue *d, struct fab_shortest *ret);

#endif
