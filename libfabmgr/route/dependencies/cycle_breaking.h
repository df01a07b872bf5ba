/* SPDX-License-Identifier: BSD-3-Clause */
/* Which channels wait for which, counted, and the search for cycles. Private to the room. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H

#include "libfabmgr/route/graph/graph.h"

/* A channel is a port of the graph. It depends on a port of its peer when packets that came by the
 * one go on by the other. */
struct fab_cdg_counts {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    uint32_t *sw;      /* [channels] whose port it is */
    uint32_t *channel; /* [port ids] the port of the graph, or FAB_NONE */
    size_t *first;   /* [channels + 1] its dependencies: on the ports of its peer in their order */
    uint32_t *count; /* [dependencies] how many ways have it */
    uint8_t *state;  /* [channels] of the search */
    uint32_t *next;  /* [channels] the port of its peer to be looked at next */
    uint32_t *stack; /* [channels] where the search stands: each depends on the next one */
    uint32_t depth;
};
int fab_route_cdg_counts_init(struct fab_cdg_counts *w, const struct fab_fabric *f,
                              const struct fab_graph *g);
void fab_route_cdg_counts_fini(struct fab_cdg_counts *w);
void fab_route_cdg_counts_clear(struct fab_cdg_counts *w); /* all counts 0 */

static inline uint32_t *fab_route_cdg_counts_of(const struct fab_cdg_counts *w, uint32_t from,
                                                uint32_t to)
{
    return &w->count[w->first[from] + to - w->g->port_at[w->g->port_peer[from]]];
}
/* FAB_NONE: the port of the switch leads to no other, or there is none. */
static inline uint32_t fab_route_cdg_counts_channel(const struct fab_cdg_counts *w, uint32_t sw,
                                                    uint8_t num)
{
    return num <= w->f->nodes[sw].num_ports ? w->channel[fab_port_id(w->f, sw, num)] : FAB_NONE;
}

/* Breaks all cycles: of each, the dependency that the fewest ways have. forgo() takes these ways
 * away, so that its count is 0; other counts may get less, none more. */
void fab_route_cdg_counts_break_cycles(struct fab_cdg_counts *w,
                                       void (*forgo)(void *ctx, uint32_t from, uint32_t to),
                                       void *ctx);

#endif
