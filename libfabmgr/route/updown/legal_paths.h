/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the lengths of the legal paths of up*|down* routing (first up, then down), for 64
 * destinations at a time. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H
#define LIBFABMGR_ROUTE_UPDOWN_LEGAL_PATHS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/updown/switch_order.h"

#define FAB_LEGAL_BATCH 64
/* The path length of a switch is a byte that contains the number of hops and this flag. If the flag
 * is set, the first hop of the path may lead to an upper neighbour. Then the upper neighbours send
 * no packets for the destination to this switch, because packets that have descended must not
 * ascend again. */
#define FAB_LEGAL_CLIMBS 0x80
#define FAB_LEGAL_HOPS 0x7f /* mask of the number of hops */
#define FAB_LEGAL_NONE 0xff /* no legal path */

/* The lower and upper neighbours of each switch by an order of the switches. Switch s has the lower
 * neighbours nbr[at[s]] to nbr[mid[s] - 1], and the upper neighbours nbr[mid[s]] to nbr[at[s + 1] -
 * 1]. */
struct fab_updown {
    struct fab_arena arena; /* memory of the arrays */
    uint32_t n;
    const uint32_t *by_height; /* [switches] switch ids, lowest first (borrowed) */
    uint32_t *at, *mid, *nbr;  /* [switches + 1], [switches], [neighbours] */
    /* [switches][2] ids of two classes of each switch; the ids are below 2 * switches. Element [0]
     * is equal for switches with the same upper neighbours, element [1] for switches with the same
     * upper and the same lower neighbours. */
    uint32_t *row_class;
    /* [switches] the lowest switch (in the order) with the same lower neighbours */
    uint32_t *lower_class;
    uint32_t lower_classes; /* number of lower classes */
    /* [lower_classes] the representatives of the lower classes, the lowest in the order first */
    uint32_t *lower_class_rep;
};
/* Lists the neighbours and finds the classes. *ret keeps a pointer to o, which must outlive it.
 * Returns OK or NOMEM. */
int fab_route_updown_make(const struct fab_graph *g, const struct fab_order *o,
                          struct fab_updown *ret);
void fab_route_updown_fini(struct fab_updown *s);

/*
 * Computes the paths to at most 64 destinations. ret_paths[n][64], which is 64-byte aligned,
 * receives the length of the path from each switch to destination i, with the flag
 * FAB_LEGAL_CLIMBS. The elements from index `count` on are FAB_LEGAL_NONE. The 64 elements of a
 * switch are called its row.
 *
 * The next switch on the path of a switch is a neighbour whose length is less by one: a lower
 * neighbour without the flag or, only if the switch itself has the flag, an upper neighbour.
 *
 * The work is O(links * 64) byte operations, in vectors, and far less if many switches have equal
 * rows.
 */
void fab_route_legal_paths(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                           uint8_t *ret_paths);
/* Like fab_route_legal_paths, but switches with equal rows share a row where the function notices
 * this. The row of switch s is then row number fab_route_legal_row_of(ret_paths, n)[s] of
 * ret_paths; other rows may be undefined. */
void fab_route_legal_rows(const struct fab_updown *s, const uint32_t *destinations, uint32_t count,
                          uint8_t *ret_paths);
/* Returns memory for the paths of n switches, or NULL if there is none. The caller passes this
 * memory as ret_paths, and frees it with free(). */
uint8_t *fab_route_legal_alloc(uint32_t n);

/* Returns the array row_of[n], which follows the rows of ret_paths in memory. Element s is a switch
 * with the same row (64 path lengths) as switch s. Two switches with equal rows may still have
 * different elements. In a complete tree few rows differ. */
static inline uint32_t *fab_route_legal_row_of(const uint8_t *paths, uint32_t n)
{
    return (uint32_t *)(uintptr_t)(paths + ((size_t)n + 1) * FAB_LEGAL_BATCH);
}
/* Returns the array descends[n], which follows row_of[] in memory. Element s is true if switch s,
 * or a switch below it, is one of the destinations. The memory after this array is private to
 * legal_paths.c. */
static inline bool *fab_route_legal_descends(const uint8_t *paths, uint32_t n)
{
    return (bool *)(fab_route_legal_row_of(paths, n) + n);
}

#endif
