/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The link loads that tables cause with all-to-all and with every shift of the endports in a given
 * order, and how one changed entry would change these loads. Internal to libfabmgr/route.
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_LINK_LOAD_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_LINK_LOAD_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/local_search/local_search.h"

#define FAB_LINK_LOAD_HOPS 64 /* greatest number of hops of a path */
/* The greatest number of flows of a shift that a counter of a channel holds. The tables may cause
 * half as many at the beginning, so that moves can add flows. */
#define FAB_LINK_LOAD_FLOWS 255

struct fab_link_load_endport {
    uint32_t sw, lid;
};
/* A run of consecutive endports that are attached to the same switch. */
struct fab_link_load_run {
    uint32_t sw, first, count;
};
/* The counters of those shifts in which the endports of a run send to a certain endport. Since
 * shifts wrap around, these are two ranges: `before` counters from `from` on, and the first `rest`
 * counters. */
struct fab_link_load_range {
    uint32_t from, before, rest;
};
struct fab_link_load {
    struct fab_arena arena;    /* of the arrays */
    const struct fab_graph *g; /* a channel is a port of this graph */
    uint32_t ends, runs, channels;
    struct fab_link_load_endport *end; /* [ends] the endports in the order of the shifts */
    struct fab_link_load_run *run;     /* [runs] the runs of endports in the order of the shifts */
    uint32_t *next; /* [ends][n] channel towards the endport; FAB_NONE at its own switch and if
                       there is no path */
    uint32_t *flow; /* [ends][n] number of endports that send to the endport through the switch */
    uint32_t *load; /* [channels] load with all-to-all, in flows times port_slow */
    uint8_t *cell;  /* [channels][ends] number of flows of the shift by k on the channel */
    uint64_t cells[FAB_LINK_LOAD_FLOWS + 1]; /* number of elements of cell[] with each value */
    /* The bounds of the present goal, and by how much all channels together exceed the bounds. */
    uint32_t most_load, most_flows;
    uint64_t over_load, over_flows;
    uint32_t *over; /* [channels] the channel's part of over_flows */
    /* Cache: the counters of all runs that send to an endport through a switch. upstream_end is
     * FAB_NONE if the cache is invalid. */
    uint32_t upstream_end, upstream_sw, upstream_count;
    struct fab_link_load_range *upstream; /* [runs] */
};
/* Counts the loads that the tables cause. by_port[port ids of switches] is the channel of a port,
 * or FAB_NONE. Returns LIMIT if a shift has more than FAB_LINK_LOAD_FLOWS / 2 flows on a channel or
 * a path is too long, UNSUPPORTED if the tables do not connect all endports, or NOMEM. */
int fab_route_link_load_init(struct fab_link_load *b, const struct fab_graph *g,
                             const uint32_t *by_port, const struct fab_local_search_input *in,
                             const struct fab_lft *lft);
void fab_route_link_load_fini(struct fab_link_load *b);

/* Returns the greatest load of a channel with all-to-all. */
uint32_t fab_route_link_load_max(const struct fab_link_load *b);
/* Returns the greatest number of flows of a shift on a channel. */
uint32_t fab_route_link_load_max_flows(const struct fab_link_load *b);
/* Sets the goal of the search: a load of at most `load` on each channel with all-to-all, and at
 * most `flows` flows on each channel with any shift. Recomputes by how much both are exceeded. */
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

/* A move changes the entry of switch `sw` for an endport. `left` are the channels that the packets
 * leave and `taken` those that they take instead, up to the switch where both paths join. */
struct fab_local_move {
    uint32_t end, sw, channel;
    uint32_t flow; /* number of endports that send to `end` through `sw` */
    uint32_t left_count, taken_count;
    uint32_t left[FAB_LINK_LOAD_HOPS], taken[FAB_LINK_LOAD_HOPS];
};
/* Finds the move that lets `sw` send to `end` by `channel`. Returns false if that path would lead
 * back to `sw`, would not reach the endport, or would have too many hops. */
bool fab_route_move_find(const struct fab_link_load *b, uint32_t end, uint32_t sw, uint32_t channel,
                         struct fab_local_move *ret);
/* These two functions return by how much the move would change over_load and over_flows. If the
 * change of over_flows exceeds `enough`, fab_route_move_flows_delta may return any value above
 * `enough`. */
int64_t fab_route_move_load_delta(const struct fab_link_load *b, const struct fab_local_move *d);
int64_t fab_route_move_flows_delta(struct fab_link_load *b, const struct fab_local_move *d,
                                   int64_t enough);
/* Returns by how much the move would change the number of conflicts. A conflict is an ordered pair
 * of flows of all-to-all to different endports that share a channel. */
int64_t fab_route_move_conflicts_delta(const struct fab_link_load *b,
                                       const struct fab_local_move *d);
/* Carries out a move. The caller may carry out at most FAB_LINK_LOAD_FLOWS / 2 moves before it
 * undoes one, so that the counters do not overflow. */
void fab_route_move_apply(struct fab_link_load *b, const struct fab_local_move *d);

#endif
