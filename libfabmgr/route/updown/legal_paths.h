/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the lengths of the legal paths of up*|down* routing (first up, then down), for 64
 * destinations at a time. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H
#define LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/updown/switch_order.h"

#define FAB_LEGAL_BATCH 64
/* A path length is a byte that contains the number of hops and this flag. The flag means that the
 * path from the switch may begin by ascending. No path of an upper neighbour then leads through the
 * switch. */
#define FAB_LEGAL_CLIMBS 0x80
#define FAB_LEGAL_HOPS 0x7f /* mask of the number of hops */
#define FAB_LEGAL_NONE 0xff /* no legal path */

/* The neighbours of each switch by an order. Those of switch s are nbr[at[s]] to nbr[mid[s] - 1]
 * (lower neighbours) and nbr[mid[s]] to nbr[at[s + 1] - 1] (upper neighbours). */
struct fab_updown {
    struct fab_arena arena; /* of the arrays */
    uint32_t n;
    const uint32_t *by_height; /* [n] switch ids, lowest first (borrowed) */
    uint32_t *at, *mid, *nbr;  /* [n + 1], [n], [neighbours] */
    uint32_t *row_class;       /* [n][2] class ids, 0..2n-1. [0]: of switches with equal upper
                                  neighbours; [1]: with equal upper and lower neighbours */
    uint32_t *lower_class;     /* [n] the lowest switch with the same lower neighbours */
    uint32_t lower_classes;    /* number of lower classes */
    uint32_t *lower_class_rep; /* [lower_classes] representatives of the lower classes, lowest
                                  first */
};
/* Lists the neighbours and finds the classes. The caller keeps o, which must outlive *ret. Returns
 * NOMEM if there is no memory. */
int fab_route_updown_make(const struct fab_graph *g, const struct fab_order *o,
                          struct fab_updown *ret);
void fab_route_updown_fini(struct fab_updown *s);

/* Sets ret_paths[n][64], which is 64-byte aligned, to the length of the path from each switch to
 * destination i, with the flag FAB_LEGAL_CLIMBS. The length at the next switch on the path is less
 * by one. The next switch is an upper neighbour if this switch has the flag, or a lower neighbour
 * without the flag. count <= 64; columns from `count` on are FAB_LEGAL_NONE. The work is O(links *
 * 64) byte operations, in vectors, and far less if many switches have equal rows. */
void fab_route_legal_paths(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                           uint8_t *ret_paths);
/* Like fab_route_legal_paths, but fills only the rows of class representatives. The row of switch s
 * is row fab_route_legal_row_of()[s]. */
void fab_route_legal_rows(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                          uint8_t *ret_paths);
/* Returns memory for ret_paths, which the caller frees with free(), or NULL. */
uint8_t *fab_route_legal_alloc(uint32_t n);

/* Behind the rows of ret_paths there are two arrays, indexed by switch. This function returns the
 * first one. Element s is a switch whose row equals that of switch s. It may differ between
 * switches with equal rows. In a complete tree few rows differ. */
static inline uint32_t *fab_route_legal_row_of(const uint8_t *paths, uint32_t n)
{
    return (uint32_t *)(uintptr_t)(paths + ((size_t)n + 1) * FAB_LEGAL_BATCH);
}
/* Returns the second array. Element s tells whether switch s, or a switch below it, is one of the
 * destinations. The memory behind this array is private to legal_paths.c. */
static inline bool *fab_route_legal_descends(const uint8_t *paths, uint32_t n)
{
    return (bool *)(fab_route_legal_row_of(paths, n) + n);
}

#endif
