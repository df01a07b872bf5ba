/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the link loads that tables cause with all-to-all traffic and with every shift of the
 * endports. Computes how one changed entry would change these loads. Internal to libfabmgr/route.
 */
#ifndef LIBFABMGR_ROUTE_LOCAL_SEARCH_LINK_LOAD_H
#define LIBFABMGR_ROUTE_LOCAL_SEARCH_LINK_LOAD_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"
#include "libfabmgr/route/local_search/local_search.h"

#define FAB_LINK_LOAD_HOPS 64 /* greatest number of hops of a path */
/* Maximum value of a counter in cell[], which counts the flows on one channel in one shift
 * permutation. At the beginning, no counter may exceed half of this value, so that moves can add
 * flows. */
#define FAB_LINK_LOAD_FLOWS 255
/* maximum value of a counter, multiplied by the slowness of its channel */
#define FAB_LINK_LOAD_WEIGHTED (FAB_LINK_LOAD_FLOWS * 64u)

struct fab_link_load_endport {
    uint32_t sw, lid;
};
/* A run of endports: end[first] to end[first + count - 1]. They are all attached to switch `sw`;
 * the endports just before and after them in end[] are not. */
struct fab_link_load_run {
    uint32_t sw, first, count;
};
/* The shifts in which the endports of a run (endports of one switch) send to one given endport, as
 * indices of counters in cell[]. Since shifts wrap around, there are two ranges: `before` counters
 * from index `from` on, and the first `rest` counters. */
struct fab_link_load_range {
    uint32_t from, before, rest;
};
struct fab_link_load {
    struct fab_arena arena; /* memory of the arrays */
    /* the index of a channel is the index of its sending port in this graph */
    const struct fab_graph *g;
    uint32_t ends, runs, channels;
    /* [ends] the endports; in the shift by k, endport i of this array sends to endport i + k,
     * modulo `ends` */
    struct fab_link_load_endport *end;
    /* [runs] the runs of endports, in the order of end[] */
    struct fab_link_load_run *run;
    /* [ends][switches] the channel by which each switch sends to the endport; FAB_NONE at the
     * endport's own switch, or if there is no path */
    uint32_t *next;
    /* [ends][switches] number of endports that send to this endport through the switch */
    uint32_t *flow;
    /* [channels] load of all-to-all traffic: number of flows, multiplied by port_slow (rate of the
     * fastest ISL / rate of this ISL) */
    uint32_t *load;
    /* [channels][ends] cell[c][k] is the number of flows over channel c in the shift by k */
    uint8_t *cell;
    /* [FAB_LINK_LOAD_WEIGHTED + 1] histogram of cell[]: cells[v] is the number of elements whose
     * value, multiplied by the slowness of the channel, is v */
    uint64_t *cells;
    /* Bounds that the search tries to reach. An element of load[] should be at most most_load, and
     * an element of cell[] at most most_flows / port_slow. over_load is the sum of the amounts by
     * which elements of load[] exceed their bound; over_flows is the same sum for cell[]. */
    uint32_t most_load, most_flows;
    uint64_t over_load, over_flows;
    /* [channels] the sum of the amounts by which the counters of each channel in cell[] exceed
     * their bound; the sum over all channels is over_flows */
    uint32_t *over;
    /* Cache of one result: the shifts in which packets to endport upstream_end pass switch
     * upstream_sw. For each run of endports (those of one switch, in succession) whose packets pass
     * this switch, upstream[] has the range of the counters of these shifts. If upstream_end is
     * FAB_NONE, the cache is empty. */
    uint32_t upstream_end, upstream_sw, upstream_count;
    struct fab_link_load_range *upstream; /* [runs] the ranges of the cached result */
};
/* Counts the loads that the tables cause. *b keeps a pointer to `g`, which must outlive *b.
 * by_port[port ids of switches] is the channel that leaves a port, or FAB_NONE. Returns LIMIT if a
 * path is too long, or a shift has more than FAB_LINK_LOAD_FLOWS / 2 flows on a channel. Returns
 * UNSUPPORTED if the tables do not connect all endports, or NOMEM. */
int fab_route_link_load_init(struct fab_link_load *b, const struct fab_graph *g,
                             const uint32_t *by_port, const struct fab_local_search_input *in,
                             const struct fab_lft *lft);
void fab_route_link_load_fini(struct fab_link_load *b);

/* Returns the greatest load that all-to-all traffic puts on any channel. */
uint32_t fab_route_link_load_max(const struct fab_link_load *b);
/* Returns the greatest number of flows that any shift puts on any channel, multiplied by the
 * slowness of the channel. */
uint32_t fab_route_link_load_max_flows(const struct fab_link_load *b);
/* Sets the bounds of the search: on each channel, a load of at most `load` with all-to-all traffic;
 * and with any shift, a number of flows that is at most `flows` when multiplied by the slowness of
 * the channel. Recomputes by how much the channels exceed these bounds. */
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

/* A move changes the entry of switch `sw` for endport `end`. left[]: the channels that the packets
 * leave. taken[]: the channels that the packets take instead, up to the switch where both paths
 * join. */
struct fab_local_move {
    uint32_t end, sw, channel;
    /* number of endports that send to `end` through `sw` */
    uint32_t flow;
    uint32_t left_count, taken_count;
    uint32_t left[FAB_LINK_LOAD_HOPS], taken[FAB_LINK_LOAD_HOPS];
};
/* Computes the move after which switch `sw` sends to endport `end` by `channel`. Returns false if
 * the new path would lead back to `sw`, would not reach the endport, or would have too many hops.
 */
bool fab_route_move_find(const struct fab_link_load *b, uint32_t end, uint32_t sw, uint32_t channel,
                         struct fab_local_move *ret);
/* fab_route_move_load_delta() returns by how much a move would change over_load, and
 * fab_route_move_flows_delta() by how much it would change over_flows. fab_route_move_flows_delta()
 * may stop early if the change exceeds `enough`, and then returns any value greater than
 * `enough`. */
int64_t fab_route_move_load_delta(const struct fab_link_load *b, const struct fab_local_move *d);
int64_t fab_route_move_flows_delta(struct fab_link_load *b, const struct fab_local_move *d,
                                   int64_t enough);
/* Returns by how much the move would change the number of conflicts. A conflict is an ordered pair
 * of flows of all-to-all traffic that go to different endports and share a channel. On a slow
 * channel, a conflict counts several times (multiplied by the slowness). */
int64_t fab_route_move_conflicts_delta(const struct fab_link_load *b,
                                       const struct fab_local_move *d);
/* Carries out a move. The caller may carry out at most FAB_LINK_LOAD_FLOWS / 2 moves more than it
 * undoes, so that the counters do not overflow. */
void fab_route_move_apply(struct fab_link_load *b, const struct fab_local_move *d);

#endif
