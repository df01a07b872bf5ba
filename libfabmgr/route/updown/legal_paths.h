/* SPDX-License-Identifier: BSD-3-Clause */
/* Lengths of up-then-down paths, for 64 destinations at a time. Private to the room. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H
#define LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H

#include "libfabmgr/route/updown/switch_order.h"

#define FAB_LEGAL_BATCH 64
#define FAB_LEGAL_CLIMBS 0x80 /* the way may begin with a climb: nobody may come down to here */
#define FAB_LEGAL_HOPS 0x7f   /* mask of the length */
#define FAB_LEGAL_NONE 0xff   /* no way */

/* Neighbours of s: those below are nbr[at[s]..mid[s]), those above nbr[mid[s]..at[s + 1]). */
struct fab_updown {
    uint32_t n;
    const uint32_t *by_height; /* switches, lowest first (borrowed) */
    uint32_t *at, *mid, *nbr;
    /* [n][2] kinds, 0..2n-1: switches that have the same neighbours above; then those that have the
     * same above and below. */
    uint32_t *kind;
    uint32_t *floor;           /* [n] the lowest switch that has the same neighbours below */
    uint32_t storeys, *storey; /* these, lowest first */
};
int fab_route_updown_make(const struct fab_graph *g, const struct fab_order *o,
                          struct fab_updown *ret);
void fab_route_updown_fini(struct fab_updown *s);

/* ret_way: [n][64], 64-byte aligned: from each switch to destination i the length of the way that
 * packets take, in cables, and CLIMBS. The next switch on the way is one that is one cable nearer,
 * and either above a switch that CLIMBS, or below and without CLIMBS itself. count <= 64; columns
 * beyond count say NONE. */
void fab_route_legal_paths(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                           uint8_t *ret_way);
/* Likewise, but a switch has the row of fab_route_legal_row_of()[switch] only; its own may hold
 * anything.
 */
void fab_route_legal_rows(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                          uint8_t *ret_way);
uint8_t *fab_route_legal_alloc(uint32_t n); /* room for ret_way; free() it */

/* Behind the rows there is, by switch:
 * a switch that has the same row (most have one of few rows in a sound tree; some that have the
 * same may have different values); */
static inline uint32_t *fab_route_legal_row_of(const uint8_t *way, uint32_t n)
{
    return (uint32_t *)(uintptr_t)(way + ((size_t)n + 1) * FAB_LEGAL_BATCH);
}
/* and whether any of the destinations is at the switch or below it. (Behind that there is room that
 * is private to legal.c.) */
static inline bool *fab_route_legal_descends(const uint8_t *way, uint32_t n)
{
    return (bool *)(fab_route_legal_row_of(way, n) + n);
}

#endif
