/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of a dragonfly, found from the links. For this folder only. */
#ifndef LIBFABMGR_ROUTE_DRAGONFLY_GROUPS_H
#define LIBFABMGR_ROUTE_DRAGONFLY_GROUPS_H

#include "libfabmgr/route/graph/graph.h"

/* A link to another group; parallel links count as one. */
struct fab_global_link {
    uint32_t from, to; /* switches */
};
struct fab_groups {
    uint32_t n, count;
    uint32_t *of;    /* [n] group of each switch; groups are numbered by their lowest switch id */
    bool *spine;     /* [n] dragonfly+: the switch is a spine; other groups are linked to it */
    uint32_t *first; /* [count + 1] */
    uint32_t *all;   /* [n] switches of group i, by id: all[first[i]..first[i + 1]) */
    uint32_t *at;    /* [count * count + 1] */
    struct fab_global_link *link; /* from group a to b: link[at[a * count + b]..) */
    /* Pivots: switches (dragonfly+: leaves) that lack no link inside their group. With p = pivot_at
     * and k = 2 * i, group i has pivot[p[k]..p[k + 1]) for packets that enter it or stay in it, and
     * pivot[p[k + 1]..p[k + 2]) for packets that leave it. */
    uint32_t *pivot_at; /* [2 * count + 1] */
    uint32_t *pivot;    /* [n] */
    uint32_t *hub;      /* [hubs] groups that are linked to all others */
    uint32_t hubs;
    bool *is_hub; /* [count] */
};
/* Both functions recognise topologies that lack some links. They return UNSUPPORTED if the topology
 * is of another kind (why[] names the place), or NOMEM. */

/* Finds groups whose switches are all linked to each other, with links between all groups (Kim et
 * al., ISCA 2008). */
int fab_route_groups_cliques(const struct fab_fabric *f, const struct fab_graph *g,
                             struct fab_groups *ret, char *why, size_t why_len);
/* Finds groups of leaves, which have hosts, and spines, which are linked to other groups. There are
 * no links between leaves, nor between spines of one group (Shpiner et al., HiPINEB 2017). */
int fab_route_groups_leaf_spine(const struct fab_fabric *f, const struct fab_graph *g,
                                struct fab_groups *ret, char *why, size_t why_len);
void fab_route_groups_fini(struct fab_groups *groups);

/* Sets *ret to the first link from group a to b, and returns the number of these links. */
static inline uint32_t fab_route_groups_links(const struct fab_groups *s, uint32_t a, uint32_t b,
                                              const struct fab_global_link **ret)
{
    const uint32_t *at = s->at + (size_t)a * s->count + b;
    *ret = s->link + at[0];
    return at[1] - at[0];
}

/* Returns the next group on the path from group a to b: b, or a hub if no link joins the two. */
static inline uint32_t fab_route_groups_via(const struct fab_groups *s, uint32_t a, uint32_t b,
                                            uint32_t number)
{
    const struct fab_global_link *link;
    return fab_route_groups_links(s, a, b, &link) > 0 ? b : s->hub[number % s->hubs];
}
/* Sets *ret to the pivots of group i for packets that leave it (out), or that enter it, and returns
 * their number. If there are no pivots for packets that leave, it takes the others. */
static inline uint32_t fab_route_groups_pivots(const struct fab_groups *s, uint32_t i, bool out,
                                               const uint32_t **ret)
{
    const uint32_t *pivot_at = s->pivot_at + 2 * (size_t)i;
    out = out && pivot_at[2] > pivot_at[1];
    *ret = s->pivot + pivot_at[out];
    return pivot_at[1 + out] - pivot_at[out];
}

#endif
