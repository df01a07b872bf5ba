/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tables put on the channels, and what it would be if an entry were another: all-to-all, and
 * every shift of the ends in an order that is given. Private to the room.
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_LINK_LOAD_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_LINK_LOAD_H

#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/local_search/local_search.h"

#define FAB_LINK_LOAD_HOPS 64   /* longer ways are not looked at */
#define FAB_LINK_LOAD_FLOWS 255 /* of a shift over one channel, at most; half of it at first */

struct fab_link_load_endport {
    uint32_t sw, lid;
};
/* A run of ends at one switch. */
struct fab_link_load_run {
    uint32_t sw, first, count;
};
/* The counters of what the ends of a run send to an end: `before` of them from `from` on, the rest
 * from 0 on. */
struct fab_link_load_range {
    uint32_t from, before, rest;
};
struct fab_link_load {
    const struct fab_graph *g; /* a channel is a port of it */
    uint32_t ends, runs, channels;
    struct fab_link_load_endport *end; /* [ends] in the order of shifts */
    struct fab_link_load_run *run;     /* [runs] likewise */
    uint32_t *next; /* [ends][n] channel to the end; FAB_NONE: its home, or nothing */
    uint32_t *flow; /* [ends][n] ends whose packets pass here on their way */
    uint32_t *load; /* [channels] of all-to-all */
    uint8_t *cell;  /* [channels][ends] flows of the shift by so many */
    uint64_t cells[FAB_LINK_LOAD_FLOWS + 1]; /* how many of cell[] have each value */
    /* The bounds that are wanted, and by how much all channels together exceed them. */
    uint32_t most_load, most_flows;
    uint64_t over_load, over_flows;
    uint32_t *over; /* [channels] the part of over_flows */
    /* What the runs send to an end by way of a switch, as it was asked last; FAB_NONE: not any more
     */
    uint32_t behind_end, behind_sw, behind_count;
    struct fab_link_load_range *behind; /* [runs] */
};
/* by_port: [port ids of switches] the channel, or FAB_NONE. NOMEM; LIMIT: more than
 * FAB_LINK_LOAD_FLOWS / 2, or ways too long; UNSUPPORTED: some end is not reached.
 */
int fab_route_link_load_init(struct fab_link_load *b, const struct fab_graph *g,
                             const uint32_t *by_port, const struct fab_local_search_input *in,
                             const struct fab_lft *lft);
void fab_route_link_load_fini(struct fab_link_load *b);

uint32_t fab_route_link_load_max(const struct fab_link_load *b); /* the greatest */
uint32_t
fab_route_link_load_max_flows(const struct fab_link_load *b); /* likewise, over all shifts */
void fab_route_link_load_set_bounds(struct fab_link_load *b, uint32_t load, uint32_t flows);

static inline uint32_t *fab_route_link_load_next(const struct fab_link_load *b, uint32_t end)
{
    return b->next + (size_t)end * b->g->n;
}
static inline uint32_t *fab_route_link_load_flow(const struct fab_link_load *b, uint32_t end)
{
    return b->flow + (size_t)end * b->g->n;
}
static inline const uint8_t *fab_route_link_load_cells(const struct fab_link_load *b,
                                                       uint32_t channel)
{
    return b->cell + (size_t)channel * b->ends;
}

/* Another entry of switch `sw` for an end, and the channels that it takes packets from and to, up
 * to where the ways meet again. */
struct fab_local_move {
    uint32_t end, sw, channel;
    uint32_t flow; /* ends whose packets go along */
    uint32_t left_count, taken_count;
    uint32_t left[FAB_LINK_LOAD_HOPS], taken[FAB_LINK_LOAD_HOPS];
};
/* False: it leads back here, or nowhere, or is too long. */
bool fab_route_move_find(const struct fab_link_load *b, uint32_t end, uint32_t sw, uint32_t channel,
                         struct fab_local_move *ret);
/* By how much it would change over_load, and over_flows; of the latter, if it is more than
 * `enough`, something that is. */
int64_t fab_route_move_load_delta(const struct fab_link_load *b, const struct fab_local_move *d);
int64_t fab_route_move_flows_delta(struct fab_link_load *b, const struct fab_local_move *d,
                                   int64_t enough);
/* By how much it would change the number of strangers that meet: ordered pairs of all-to-all's
 * flows over one channel to different ends. */
int64_t fab_route_move_conflicts_delta(const struct fab_link_load *b,
                                       const struct fab_local_move *d);
/* FAB_LINK_LOAD_FLOWS / 2 of them, at most, before something is taken back. */
void fab_route_move_apply(struct fab_link_load *b, const struct fab_local_move *d);

#endif
