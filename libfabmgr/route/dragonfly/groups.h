/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of a dragonfly, found from the cables. Private to the room. */
#ifndef LIBFABMGR_ROUTE_DRAGONFLY_GROUPS_H
#define LIBFABMGR_ROUTE_DRAGONFLY_GROUPS_H

#include "libfabmgr/route/graph/graph.h"

/* A cable to another group (with those parallel to it). */
struct fab_global_link {
    uint32_t from, to; /* switches */
};
struct fab_groups {
    uint32_t n, count;
    uint32_t *of;    /* [n] group, by the lowest switch id in it */
    bool *spine;     /* [n] dragonfly+: of its group, what other groups are joined to */
    uint32_t *first; /* [count + 1] */
    uint32_t *all;   /* [n] switches of group i, by id: all[first[i]..first[i + 1]) */
    uint32_t *rank;  /* [n] place of a switch in its group: among leaves, or among spines */
    uint32_t *at;    /* [count * count + 1] */
    struct fab_global_link *gate; /* from group a to b: gate[at[a * count + b]..) */
    /* Switches (dragonfly+: leaves) that lack no cable in their group, by turns for what comes into
     * group i, turner[turn[2 * i]..turn[2 * i + 1]), and goes out, ..turn[2 * i + 2]). */
    uint32_t *turn;   /* [2 * count + 1] */
    uint32_t *turner; /* [n] */
    uint32_t *hub;    /* [hubs] groups that are joined to all others */
    uint32_t hubs;
    bool *is_hub; /* [count] */
};
/* Groups of switches joined each to each, and all groups joined (Kim et al., ISCA 2008), but for
 * what is missing. */
int fab_route_groups_cliques(const struct fab_fabric *f, const struct fab_graph *g,
                             struct fab_groups *ret, char *why, size_t why_len);
/* Groups of leaves, which have hosts, and spines, which other groups are joined to; no cables
 * between leaves, nor between spines of one group (Shpiner et al., HiPINEB 2017). UNSUPPORTED,
 * both: no such topology, as why[] says. */
int fab_route_groups_leaf_spine(const struct fab_fabric *f, const struct fab_graph *g,
                                struct fab_groups *ret, char *why, size_t why_len);
void fab_route_groups_fini(struct fab_groups *groups);

/* The gates from group a to b: their number, the first in *ret. */
static inline uint32_t fab_route_groups_links(const struct fab_groups *s, uint32_t a, uint32_t b,
                                              const struct fab_global_link **ret)
{
    const uint32_t *at = s->at + (size_t)a * s->count + b;
    *ret = s->gate + at[0];
    return at[1] - at[0];
}

/* The group to go to on the way from group a to b: b, or a hub if no cable joins them. */
static inline uint32_t fab_route_groups_via(const struct fab_groups *s, uint32_t a, uint32_t b,
                                            uint32_t number)
{
    const struct fab_global_link *gate;
    return fab_route_groups_links(s, a, b, &gate) > 0 ? b : s->hub[number % s->hubs];
}
/* The turners of group i that send out of it (or, where there are none, into it), or into it. */
static inline uint32_t fab_route_groups_pivots(const struct fab_groups *s, uint32_t i, bool out,
                                               const uint32_t **ret)
{
    const uint32_t *turn = s->turn + 2 * (size_t)i;
    out = out && turn[2] > turn[1];
    *ret = s->turner + turn[out];
    return turn[1 + out] - turn[out];
}

#endif
