/* SPDX-License-Identifier: BSD-3-Clause */
/* Gives each channel a number on each VL. The numbers ascend along the path of every packet. A
 * changed entry keeps the tables deadlock-free if the numbers still ascend. Internal to
 * libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_CHANNEL_NUMBERING_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_CHANNEL_NUMBERING_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/local_search/local_search.h"

struct fab_channel_numbering {
    struct fab_arena arena; /* memory of the arrays */
    /* a channel is a port of this graph */
    const struct fab_graph *g;
    const struct fab_vls *vls; /* NULL: one VL */
    /* true: the numbers follow from an order of the switches; they ascend on every up/down path by
     * this order */
    bool by_order;
    uint32_t lanes; /* number of VLs */
    /* [channels][lanes] the number of each channel on each VL */
    uint32_t *number;
    /* [channels] port classes (struct fab_vls): in[] of the port that receives on the channel, and
     * out[] of the port that sends on it */
    uint8_t *in, *out;
    /* [port ids of switches] the channel that leaves the port, or FAB_NONE */
    uint32_t *by_port;
    uint32_t *stack; /* [switches] scratch memory */
};
/* Makes a numbering that ascends on all paths of the tables. If `prng` is NULL, the numbers follow
 * from an order of the switches if the tables use one VL and an order fits, otherwise from the
 * longest chains of dependencies (channel_numbering.c). If `prng` is not NULL, the function makes a
 * random one of the numberings that the dependencies permit. Returns UNSUPPORTED if the
 * dependencies form a cycle, or NOMEM. */
int fab_route_channel_numbering_make(struct fab_channel_numbering *l, const struct fab_graph *g,
                                     const struct fab_local_search_input *in,
                                     const struct fab_lft *lft, struct fab_prng *prng);
void fab_route_channel_numbering_fini(struct fab_channel_numbering *l);

/* Returns true if the channel numbers still ascend on all paths to `lid` when switch `sw` sends
 * packets to `lid` by `channel`. home: the switch of the LID. next[n]: the channel by which each
 * switch sends these packets now, or FAB_NONE. Precondition: the channel numbers ascend on all
 * paths by next[]. */
bool fab_route_channel_numbering_ascends(const struct fab_channel_numbering *l,
                                         const uint32_t *next, uint32_t home, uint32_t lid,
                                         uint32_t sw, uint32_t channel);

#endif
