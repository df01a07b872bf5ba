/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel dependency graph, with the number of paths that cause each dependency, and a function
 * that breaks its cycles. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"

/* The number of a channel is the index of its sending port among the ports of the graph. A channel
 * depends on a channel of the next switch if packets that arrive on the first channel continue on
 * the second one. */
struct fab_cdg_counts {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    uint32_t *sw; /* [channels] the switch that has the port */
    /* [port ids] the channel that leaves each port; FAB_NONE if there is none */
    uint32_t *channel;
    /* [channels + 1] index of each channel's first dependency in count[]; a channel has one
     * dependency for each port of the switch that it leads to */
    size_t *first;
    /* [dependencies] number of paths that cause the dependency */
    uint32_t *count;
    /* [channels] state in the depth-first search: NEW, OPEN or DONE */
    uint8_t *state;
    /* [channels] index of the dependency at which the depth-first search continues when it returns
     * to the channel */
    uint32_t *next;
    /* [channels] the channels from the start of the search to its present position; each depends on
     * the next one */
    uint32_t *stack;
    uint32_t depth;
};
/* Creates the graph. *w keeps pointers to `f` and `g`, which must outlive *w. The counts are
 * undefined until fab_route_cdg_counts_clear() is called. Returns NOMEM if there is no memory. */
int fab_route_cdg_counts_init(struct fab_cdg_counts *w, const struct fab_fabric *f,
                              const struct fab_graph *g);
void fab_route_cdg_counts_fini(struct fab_cdg_counts *w);
void fab_route_cdg_counts_clear(struct fab_cdg_counts *w); /* sets all counts to 0 */

static inline uint32_t *fab_route_cdg_counts_of(const struct fab_cdg_counts *w, uint32_t from,
                                                uint32_t to)
{
    return &w->count[w->first[from] + to - w->g->port_at[w->g->port_peer[from]]];
}
/* Returns the channel of port `num` of a switch, or FAB_NONE if the switch has no such port or the
 * port leads to no other switch. */
static inline uint32_t fab_route_cdg_counts_channel(const struct fab_cdg_counts *w, uint32_t sw,
                                                    uint8_t num)
{
    return num <= w->f->nodes[sw].num_ports ? w->channel[fab_fabric_port_id(w->f, sw, num)]
                                            : FAB_NONE;
}

/* Breaks all cycles. In each cycle, chooses the dependency that the fewest paths cause, and calls
 * remove() for it. remove() must move these paths to another layer, so that the count becomes 0. It
 * may lower other counts, but must raise none. remove() may lower *budget. Stops and returns false
 * if *budget is 0 after a call of remove(); *w cannot be used again then. Otherwise returns
 * true. */
bool fab_route_cdg_counts_break_cycles(struct fab_cdg_counts *w,
                                       void (*remove)(void *ctx, uint32_t from, uint32_t to),
                                       void *ctx, const uint64_t *budget);

#endif
