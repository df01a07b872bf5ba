/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of the channels, lane by lane, that all packets of tables meet in ascending order, so
 * that tables that are changed can be kept free of deadlock by a look at them. Private to the room.
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_CHANNEL_NUMBERING_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_CHANNEL_NUMBERING_H

#include "libfabmgr/base/prng.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/local_search/local_search.h"

struct fab_channel_numbering {
    const struct fab_graph *g; /* a channel is a port of it */
    const struct fab_vls *vls; /* of many lanes, or NULL */
    bool by_order;             /* of the switches: all ways that climb and then descend ascend */
    uint32_t lanes;
    uint32_t *rung;    /* [channels][lanes] */
    uint8_t *in, *out; /* [channels] class of the port at its far end, and of its own */
    uint32_t *by_port; /* [port ids of switches] the channel, or FAB_NONE */
    uint32_t *stack;   /* [n] scratch */
};
/* prng NULL: the numbering that says most about what is alike; else any, by lot. NOMEM;
 * UNSUPPORTED: there are none. */
int fab_route_channel_numbering_make(struct fab_channel_numbering *l, const struct fab_graph *g,
                                     const struct fab_local_search_input *in,
                                     const struct fab_lft *lft, struct fab_prng *prng);
void fab_route_channel_numbering_fini(struct fab_channel_numbering *l);

/* Given that all packets to a LID at switch `home` ascend by next[] ([n] channels, or FAB_NONE): do
 * they when `sw` sends by this channel? */
bool fab_route_channel_numbering_ascends(const struct fab_channel_numbering *l,
                                         const uint32_t *next, uint32_t home, uint32_t lid,
                                         uint32_t sw, uint32_t channel);

#endif
