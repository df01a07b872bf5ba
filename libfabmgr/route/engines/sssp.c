/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engines "sssp" and "minhop": shortest ways with balanced load on any topology (Hoefler,
 * Schneider, Lumsdaine, "Optimized routing for large-scale InfiniBand networks", HOTI 2009, for the
 * weights along the whole way; minhop looks at the next cable only).
 *
 *   near.c     the shortest ways to a switch
 *   balance.c  which of them each LID takes
 *   roster.c   in which order the LIDs come
 *
 * The LIDs are routed one after the other, and where the result is uneven again, a few times: each
 * that takes a crowded cable is taken out and put back, now that all others are known. All of its
 * traffic stays together as far as it can, which suits permutations: the more cables are there for
 * one destination alone, the fewer strangers meet. In the end, what is left on overloaded cables is
 * spread, at the cost of that.
 *
 * Nothing here makes the ways of hosts free of cycles of waiting buffers: the proof decides. But
 * ways that no host uses, to switches and aggregation nodes, are those of updn, and close none. On
 * a tree, whole or with some cables missing, with aggregation nodes on every switch or without,
 * that is mostly enough.
 *
 * Work: a look at each of `ports` for each LID, 0.3 G for 11,664 hosts, and likewise for each time
 * that it is done again.
 */
#include "libfabmgr/route/engines/sssp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/balance/balance.h"
#include "libfabmgr/route/balance/least_loaded.h"
#include "libfabmgr/route/engines/engines.h"

/* Percent of the mean load above which a cable is crowded, or overloaded; rounds of rerouting for
 * the first reason, as far as the work (looks at a port) is not more than this. */
#define CROWDED_PERCENT 110
#define OVERLOADED_PERCENT 150
#define ROUNDS 3
#define WORK (UINT64_C(1) << 31)

struct sssp {
    const struct fab_route_input *in;
    const struct fab_graph *g;
    struct fab_order order;
    struct fab_updown slopes;
    struct fab_destinations roster;
    struct fab_shortest near;
    struct fab_balancer balance;
    struct fab_least_loaded spread; /* for LIDs that no host sends to; counts nothing */
    uint8_t *ways;                  /* of updn, to sequence[batch..] */
    uint32_t batch;
    bool legal;      /* hosts take those, too */
    uint32_t shared; /* ways to each switch, or FAB_SSSP_PER_LID */
    struct fab_lft lft;
};

/* ---- each LID for the first time --------------------------------------------------------------
 */

static uint32_t count_loaded(const struct fab_dlid *lanes, uint32_t count)
{
    uint32_t loaded = 0;
    while (loaded < count && lanes[loaded].loaded)
        loaded++;
    return loaded;
}

/* The legal ways to sequence[index]: a column of ways[]. */
static uint32_t find_column(struct sssp *s, uint32_t index)
{
    uint32_t batch = index / FAB_LEGAL_BATCH * FAB_LEGAL_BATCH, left = s->g->n - batch;
    if (batch != s->batch)
        fab_route_legal_paths(&s->slopes, s->roster.sequence + batch,
                              left < FAB_LEGAL_BATCH ? left : FAB_LEGAL_BATCH, s->ways);
    s->batch = batch;
    return index - batch;
}

static void find_ways(struct sssp *s, uint32_t index)
{
    if (s->legal)
        fab_route_shortest_find_legal(&s->near, &s->order, s->ways, find_column(s, index));
    else
        fab_route_shortest_find(&s->near, s->roster.sequence[index]);
}

/* LIDs at a switch without hosts, by ways that could be those of hosts. */
static void route_unloaded(struct sssp *s, const struct fab_dlid *lanes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fab_route_balance_add(&s->balance, &lanes[i], FAB_BALANCE_TOGETHER, &s->lft);
        fab_route_balance_remove(&s->balance, &lanes[i], &s->lft);
    }
}

static void route_switch(struct sssp *s, uint32_t index)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    uint32_t column = find_column(s, index);
    for (uint32_t sw = 0; sw < s->g->n; sw++)
        s->spread.column[sw] = s->ways[(size_t)sw * FAB_LEGAL_BATCH + column];
    if (index < s->roster.edges || s->shared != FAB_SSSP_PER_LID)
        find_ways(s, index);
    for (uint32_t offset = 0; offset < s->roster.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&s->roster, index, offset, lanes);
        uint32_t loaded = count_loaded(lanes, count);
        for (uint32_t i = 0; i < loaded; i++)
            fab_route_balance_add(&s->balance, &lanes[i], FAB_BALANCE_TOGETHER, &s->lft);
        if (s->shared == FAB_SSSP_PER_LID)
            fab_route_least_loaded_fill(&s->spread, lanes + loaded, count - loaded, &s->lft);
        else if (loaded == 0)
            route_unloaded(s, lanes, count);
    }
}

static void route_all(struct sssp *s)
{
    for (uint32_t index = 0; index < s->g->n; index++)
        route_switch(s, index);
}

/* ---- again, where it is crowded ---------------------------------------------------------------
 */

struct load {
    uint64_t most, sum;
};

static struct load measure(const struct sssp *s)
{
    struct load l = {0};
    for (uint32_t port = 0; port < s->g->port_at[s->g->n]; port++) {
        uint64_t load = s->balance.load[port];
        l.most = load > l.most ? load : l.most;
        l.sum += load;
    }
    return l;
}

/* Reroutes the LIDs of a switch that take a cable with more load than `limit`. */
static void relieve_switch(struct sssp *s, uint32_t index, uint64_t limit, enum fab_balance how)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    find_ways(s, index);
    for (uint32_t offset = 0; offset < s->roster.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&s->roster, index, offset, lanes);
        uint32_t loaded = count_loaded(lanes, count);
        for (uint32_t i = 0; i < loaded; i++) {
            if (!fab_route_balance_exceeds(&s->balance, &lanes[i], &s->lft, limit))
                continue;
            fab_route_balance_remove(&s->balance, &lanes[i], &s->lft);
            fab_route_balance_add(&s->balance, &lanes[i], how, &s->lft);
        }
    }
}

/* Once over all LIDs; false: no cable has more than the limit. */
static bool relieve(struct sssp *s, uint32_t percent, enum fab_balance how)
{
    struct load l = measure(s);
    uint64_t limit = l.sum * percent / 100 / s->g->port_at[s->g->n];
    if (l.most <= limit)
        return false;
    for (uint32_t index = 0; index < s->roster.edges; index++)
        relieve_switch(s, index, limit, how);
    return true;
}

static void relieve_all(struct sssp *s)
{
    uint64_t ports = s->g->port_at[s->g->n], work = ports * s->in->lids->top;
    if (ports == 0)
        return;
    for (unsigned round = 1; round <= ROUNDS && work * round <= WORK; round++) {
        if (!relieve(s, CROWDED_PERCENT, FAB_BALANCE_TOGETHER))
            return;
    }
    if (work <= WORK)
        relieve(s, OVERLOADED_PERCENT, FAB_BALANCE_SPREAD);
}

/* ---- LIDs that share the ways of others -------------------------------------------------------
 */

static void copy_entries(struct sssp *s, uint32_t sw, const struct fab_dlid *from,
                         const struct fab_dlid *to)
{
    for (uint32_t i = 0; i < s->g->n; i++)
        fab_lft_row(&s->lft, i)[to->lid] = fab_lft_row(&s->lft, i)[from->lid];
    fab_lft_row(&s->lft, sw)[to->lid] = to->port;
}

/* Those of the first hosts at the same switch in turn. */
static void share_ways(struct sssp *s)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    for (uint32_t index = 0; index < s->roster.edges; index++) {
        for (uint32_t offset = 0; offset < s->roster.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&s->roster, index, offset, lanes);
            uint32_t loaded = count_loaded(lanes, count);
            uint32_t own = loaded < s->shared ? loaded : s->shared;
            for (uint32_t i = own; i < count && own > 0; i++)
                copy_entries(s, s->roster.sequence[index], &lanes[i % own], &lanes[i]);
        }
    }
}

/* ---- all of it --------------------------------------------------------------------------------
 */

static int prepare(struct sssp *s)
{
    const struct fab_route_input *in = s->in;
    int ret = fab_route_order_find(s->g, in->fabric, in->policy, &s->order);
    if (ret == FAB_OK)
        ret = fab_route_updown_make(s->g, &s->order, &s->slopes);
    if (ret == FAB_OK)
        ret = fab_route_destinations_make(in, s->g, &s->slopes, &s->roster);
    if (ret == FAB_OK)
        ret = fab_route_shortest_init(&s->near, s->g);
    if (ret == FAB_OK)
        ret = fab_route_balance_init(&s->balance, in->fabric, s->g, &s->order, &s->near);
    if (ret == FAB_OK)
        ret = fab_route_least_loaded_init(&s->spread, s->g, &s->order);
    if (ret == FAB_OK)
        ret = fab_lft_init(&s->lft, in->fabric->switch_count, in->lids->top);
    if (ret != FAB_OK)
        return ret;
    s->ways = fab_route_legal_alloc(s->g->n);
    return s->ways != NULL ? FAB_OK : FAB_E_NOMEM;
}

static void fini(struct sssp *s)
{
    free(s->ways);
    fab_route_least_loaded_fini(&s->spread);
    fab_route_balance_fini(&s->balance);
    fab_route_shortest_fini(&s->near);
    fab_route_destinations_fini(&s->roster);
    fab_route_updown_fini(&s->slopes);
    fab_route_order_fini(&s->order);
}

int fab_route_sssp_route(const struct fab_route_input *in, const struct fab_graph *g,
                         enum fab_sssp_weight sight, uint32_t ways, struct fab_lft *ret_lft)
{
    struct sssp s = {
        .in = in, .g = g, .batch = FAB_NONE, .legal = sight == FAB_SSSP_LEGAL_PATH, .shared = ways};
    int ret = prepare(&s);
    if (ret == FAB_OK) {
        s.balance.whole = sight != FAB_SSSP_NEXT_LINK;
        route_all(&s);
        relieve_all(&s);
        if (ways != FAB_SSSP_PER_LID)
            share_ways(&s);
        *ret_lft = s.lft;
    } else {
        fab_lft_fini(&s.lft);
    }
    fini(&s);
    return ret;
}

static void count_switch(struct sssp *s, uint32_t index)
{
    struct fab_dlid lanes[FAB_DLIDS_MAX];
    find_ways(s, index);
    for (uint32_t offset = 0; offset < s->roster.lids_each; offset++) {
        uint32_t count = fab_route_destinations_dlids(&s->roster, index, offset, lanes);
        uint32_t loaded = count_loaded(lanes, count);
        for (uint32_t i = 0; i < loaded; i++)
            fab_route_balance_count(&s->balance, &lanes[i], &s->lft);
    }
}

int fab_route_sssp_reroute_overloaded(const struct fab_route_input *in, const struct fab_graph *g,
                                      struct fab_lft *lft)
{
    struct sssp s = {.in = in, .g = g, .batch = FAB_NONE, .legal = true};
    int ret = prepare(&s);
    if (ret == FAB_OK) {
        fab_lft_fini(&s.lft);
        s.lft = *lft; /* the caller's */
        s.balance.whole = true;
        for (uint32_t index = 0; index < s.roster.edges; index++)
            count_switch(&s, index);
        relieve(&s, OVERLOADED_PERCENT, FAB_BALANCE_TOGETHER);
        relieve(&s, OVERLOADED_PERCENT, FAB_BALANCE_SPREAD);
    } else {
        fab_lft_fini(&s.lft);
    }
    fini(&s);
    return ret;
}

/* ---- the engines ------------------------------------------------------------------------------
 */

static int run(const struct fab_route_input *in, enum fab_sssp_weight sight,
               struct fab_lft *ret_lft, char *why, size_t why_len)
{
    struct fab_graph graph;
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = fab_route_graph_make(in->fabric, &graph);
    if (ret != FAB_OK)
        return ret;
    ret = fab_route_sssp_route(in, &graph, sight, FAB_SSSP_PER_LID, ret_lft);
    fab_route_graph_fini(&graph);
    if (ret == FAB_OK && why_len > 0)
        snprintf(why, why_len, "shortest ways on one lane");
    return ret;
}

static int run_minhop(const struct fab_route_input *in, struct fab_lft *ret_lft,
                      struct fab_vls *ret_vls, char *why, size_t why_len)
{
    (void)ret_vls; /* one lane */
    return run(in, FAB_SSSP_NEXT_LINK, ret_lft, why, why_len);
}

static int run_sssp(const struct fab_route_input *in, struct fab_lft *ret_lft,
                    struct fab_vls *ret_vls, char *why, size_t why_len)
{
    (void)ret_vls; /* one lane */
    return run(in, FAB_SSSP_WHOLE_PATH, ret_lft, why, why_len);
}

const struct fab_route_engine fab_route_engine_minhop = {
    .name = "minhop",
    .summary = "shortest ways, least-loaded cables, one VL; only where that proves to be safe",
    .run = run_minhop,
};
const struct fab_route_engine fab_route_engine_sssp = {
    .name = "sssp",
    .summary = "shortest ways, least load along each of them, one VL; only where that proves to be "
               "safe",
    .run = run_sssp,
};
