/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel dependency graph with a count for each dependency, and the breaking of its cycles.
 * For this folder only. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H

#include "libfabmgr/route/graph/graph.h"

/* A channel is named by its out port, a port of the graph. It depends on a channel of the next
 * switch if packets that arrive by the first continue by the second. */
struct fab_cdg_counts {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    uint32_t *sw;      /* [channels] the switch that has the port */
    uint32_t *channel; /* [port ids] the port of the graph, or FAB_NONE */
    size_t *first;     /* [channels + 1] index of the channel's first dependency; it has one for
                          each port of its peer */
    uint32_t *count;   /* [dependencies] number of paths that cause it */
    uint8_t *state;    /* [channels] what the search has done with the channel */
    uint32_t *next;    /* [channels] the channel of the next switch that the search visits next */
    uint32_t *stack;   /* [channels] the path of the search: each channel depends on the next one */
    uint32_t depth;
};
/* The counts are undefined until fab_route_cdg_counts_clear(). Fails only with NOMEM. */
int fab_route_cdg_counts_init(struct fab_cdg_counts *w, const struct fab_fabric *f,
                              const struct fab_graph *g);
void fab_route_cdg_counts_fini(struct fab_cdg_counts *w);
void fab_route_cdg_counts_clear(struct fab_cdg_counts *w); /* sets all counts to 0 */

static inline uint32_t *fab_route_cdg_counts_of(const struct fab_cdg_counts *w, uint32_t from,
                                                uint32_t to)
{
    return &w->count[w->first[from] + to - w->g->port_at[w->g->port_peer[from]]];
}
/* Returns FAB_NONE if the switch has no such port or the port leads to no other switch. */
static inline uint32_t fab_route_cdg_counts_channel(const struct fab_cdg_counts *w, uint32_t sw,
                                                    uint8_t num)
{
    return num <= w->f->nodes[sw].num_ports ? w->channel[fab_fabric_port_id(w->f, sw, num)]
                                            : FAB_NONE;
}

/* Breaks all cycles: in each it chooses the dependency with the least count and calls remove(),
 * which must bring that count to 0 by removing paths. remove() may lower other counts, but raise
 * none. */
void fab_route_cdg_counts_break_cycles(struct fab_cdg_counts *w,
                                       void (*remove)(void *ctx, uint32_t from, uint32_t to),
                                       void *ctx);

#endif
