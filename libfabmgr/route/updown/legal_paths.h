/* SPDX-License-Identifier: BSD-3-Clause */
/* Lengths of legal paths of up*|down* routing (first up, then down), for 64 destinations at a time.
 * For this folder only. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H
#define LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H

#include "libfabmgr/route/updown/switch_order.h"

#define FAB_LEGAL_BATCH 64
/* A path length is a byte: the number of hops, and this flag. With the flag, the path from the
 * switch may begin by ascending, and no path of an upper neighbour leads through the switch. */
#define FAB_LEGAL_CLIMBS 0x80
#define FAB_LEGAL_HOPS 0x7f /* mask of the hops */
#define FAB_LEGAL_NONE 0xff /* no legal path */

/* Lower neighbours of s: nbr[at[s]..mid[s]); upper neighbours: nbr[mid[s]..at[s + 1]). */
struct fab_updown {
    uint32_t n;
    const uint32_t *by_height; /* [n] switches, lowest first (borrowed) */
    uint32_t *at, *mid, *nbr;  /* [n + 1], [n], [neighbours] */
    uint32_t *row_class;       /* [n][2] class ids, 0..2n-1: of switches with equal upper
                                  neighbours; of switches with equal upper and lower ones */
    uint32_t *lower_class;     /* [n] the lowest switch with the same lower neighbours */
    uint32_t lower_classes;    /* number of lower classes */
    uint32_t *lower_class_rep; /* [lower_classes] their representatives, lowest first */
};
/* Fails only with NOMEM. */
int fab_route_updown_make(const struct fab_graph *g, const struct fab_order *o,
                          struct fab_updown *ret);
void fab_route_updown_fini(struct fab_updown *s);

/* ret_paths: [n][64], 64-byte aligned: the length of the path from each switch to destination i,
 * and CLIMBS. The next switch on the path has a length that is less by one; it is an upper
 * neighbour if this switch CLIMBS, or a lower neighbour without CLIMBS. count <= 64; columns from
 * `count` on are NONE. O(links * 64) byte operations, in vectors; far fewer where switches have
 * equal rows. */
void fab_route_legal_paths(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                           uint8_t *ret_paths);
/* Like fab_route_legal_paths, but fills only the rows of class representatives: switch s has
 * row fab_route_legal_row_of()[s]. */
void fab_route_legal_rows(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                          uint8_t *ret_paths);
uint8_t *
fab_route_legal_alloc(uint32_t n); /* memory for ret_paths, or NULL; the caller calls free() */

/* Behind the rows of ret_paths there are two arrays, indexed by switch. The first gives the switch
 * whose row equals the switch's own; switches with equal rows may still have different values here.
 * In a whole tree few rows differ. */
static inline uint32_t *fab_route_legal_row_of(const uint8_t *paths, uint32_t n)
{
    return (uint32_t *)(uintptr_t)(paths + ((size_t)n + 1) * FAB_LEGAL_BATCH);
}
/* The second tells whether the switch, or a switch below it, is one of the destinations. The memory
 * behind it is private to legal_paths.c. */
static inline bool *fab_route_legal_descends(const uint8_t *paths, uint32_t n)
{
    return (bool *)(fab_route_legal_row_of(paths, n) + n);
}

#endif
