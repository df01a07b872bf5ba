/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the groups of a dragonfly from the links. Local links join switches of one group, and
 * global links join switches of two groups. Internal to libfabmgr/route. */
#ifndef LIBFABMGR_ROUTE_DRAGONFLY_GROUPS_H
#define LIBFABMGR_ROUTE_DRAGONFLY_GROUPS_H

#include "libfabmgr/base/arena.h"
#include "libfabmgr/route/graph/graph.h"

/* A link between switches of two groups. Parallel links of two switches count as one link if all
 * linked pairs of switches of the two groups have equally many parallel links. Otherwise, for
 * example if a link is missing, each parallel link counts, so that all links have equal loads. */
struct fab_global_link {
    uint32_t from, to; /* the switches at both ends */
};
struct fab_groups {
    struct fab_arena arena; /* memory of the arrays */
    uint32_t n, count;
    /* [switches] group of each switch; groups are numbered in the order of their lowest switch ids
     */
    uint32_t *of;
    /* [switches] dragonfly+: whether the switch is a spine, which has links to other groups */
    bool *spine;
    /* [count + 1] index in all[] of the first switch of each group */
    uint32_t *first;
    /* [switches] all switches, sorted by group, then by id; group i has the switches all[first[i]]
     * to all[first[i + 1] - 1] */
    uint32_t *all;
    /* [count * count + 1] index in link[] of the first link of each pair of groups */
    uint32_t *at;
    /* all links between groups; the links from group a to group b begin at link[at[a * count +
     * b]] */
    struct fab_global_link *link;
    /* Pivots are switches (in a dragonfly+, leaves) that lack none of their links to switches of
     * their own group. If a link of the group is missing, paths go around it over a pivot. Each
     * group i has two lists of pivots: list 2 * i for packets that enter the group or stay in it,
     * and list 2 * i + 1 for packets that leave it. List k is pivot[pivot_at[k]] to
     * pivot[pivot_at[k + 1] - 1]. */
    uint32_t *pivot_at; /* [2 * count + 1] index in pivot[] of the first pivot of each list */
    uint32_t *pivot;    /* [switches] the pivots of all lists, one list after the other */
    /* Number of links that two groups should have between them. If two groups have fewer, hubs
     * carry what the missing links would carry. 1: hubs carry only the traffic of groups without
     * any link between them. */
    uint32_t usual;
    /* [hubs] the hubs: the groups with at least `usual` links to each other group */
    uint32_t *hub;
    uint32_t hubs;
    bool *is_hub; /* [count] whether each group is a hub */
};
/* The next two functions also recognise topologies that lack some links. They return OK, NOMEM, or
 * UNSUPPORTED with the reason in why[] if the topology is of another kind. */

/* Finds the groups of the dragonfly of Kim et al., ISCA 2008: all switches of a group have links to
 * each other, and all groups have links to each other. */
int fab_route_groups_cliques(const struct fab_fabric *f, const struct fab_graph *g,
                             struct fab_groups *ret, char *why, size_t why_len);
/* Finds the groups of the dragonfly+ of Shpiner et al., HiPINEB 2017: a group consists of leaves
 * (which have hosts) and spines (which have links to other groups). There are no links between
 * leaves, nor between spines of one group. */
int fab_route_groups_leaf_spine(const struct fab_fabric *f, const struct fab_graph *g,
                                struct fab_groups *ret, char *why, size_t why_len);
void fab_route_groups_fini(struct fab_groups *groups);

/* Finds the links from group a to group b, which are consecutive in link[]. Sets *ret to the first
 * of these links, and returns their number. */
static inline uint32_t fab_route_groups_links(const struct fab_groups *s, uint32_t a, uint32_t b,
                                              const struct fab_global_link **ret)
{
    const uint32_t *at = s->at + (size_t)a * s->count + b;
    *ret = s->link + at[0];
    return at[1] - at[0];
}

/* Returns the next group on the path from group `a` to group `b`: `b` itself, or a hub in place of
 * a missing link. `number`, the number of the destination LID, selects the link, and one of several
 * hubs. */
static inline uint32_t fab_route_groups_via(const struct fab_groups *s, uint32_t a, uint32_t b,
                                            uint32_t number)
{
    const struct fab_global_link *link;
    return number % s->usual < fab_route_groups_links(s, a, b, &link)
               ? b
               : s->hub[number / s->usual % s->hubs];
}
/* Finds the pivots of group i, over which packets can go around a missing link of the group. A
 * pivot lacks none of its own local links. If `out` is true, prefers the pivots for packets that
 * leave the group. If `out` is false, or if the group has no pivots for these packets, finds the
 * pivots for packets that enter the group or stay in it. Sets *ret to the first pivot and returns
 * the number of pivots. */
static inline uint32_t fab_route_groups_pivots(const struct fab_groups *s, uint32_t i, bool out,
                                               const uint32_t **ret)
{
    const uint32_t *pivot_at = s->pivot_at + 2 * (size_t)i;
    out = out && pivot_at[2] > pivot_at[1];
    *ret = s->pivot + pivot_at[out];
    return pivot_at[1 + out] - pivot_at[out];
}

#endif
