/* SPDX-License-Identifier: BSD-3-Clause */
/* A channel dependency graph that counts the paths that cause each dependency, and a function that
 * breaks its cycles. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H
#define LIBFABMGR_ROUTE_DEPENDENCIES_CYCLE_BREAKING_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"

/* A channel has the number of its out port among the ports of the graph. It depends on a channel of
 * the next switch if packets that arrive on the first channel continue on the second. */
struct fab_cdg_counts {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_fabric *f;
    const struct fab_graph *g;
    uint32_t *sw;      /* [channels] the switch that has the port */
    uint32_t *channel; /* [port ids] the channel of the port, or FAB_NONE */
    size_t *first;     /* [channels + 1] index in count[] of the channel's first dependency; a
                          channel has one dependency for each port of its peer */
    uint32_t *count;   /* [dependencies] number of paths that cause the dependency */
    uint8_t *state;    /* [channels] state in the depth-first search: NEW, OPEN or DONE */
    /* [channels] the dependency at which the search continues: the channel of the next switch that
     * it visits next */
    uint32_t *next;
    uint32_t *stack; /* [channels] the path of the search: each channel depends on the next one */
    uint32_t depth;
};
/* Creates the graph. The caller keeps f and g, which must outlive w. The counts are undefined until
 * fab_route_cdg_counts_clear(). Returns NOMEM if there is no memory. */
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

/* Breaks all cycles. In each cycle, chooses the dependency with the least count and calls remove().
 * remove() must bring this count to 0 by removing paths from the layer. It may lower other counts,
 * but must raise none. */
void fab_route_cdg_counts_break_cycles(struct fab_cdg_counts *w,
                                       void (*remove)(void *ctx, uint32_t from, uint32_t to),
                                       void *ctx);

#endif
