/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "dragonfly+" computes minimal paths in dragonflies whose groups consist of leaves and
 * spines (Shpiner et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017). A
 * path leads from a leaf up to a spine, over a global link to a spine of the destination's group,
 * and down to a leaf. Each destination has a number. This number selects the spine of the first
 * group and its global link, so that all links have equal loads. It also selects the spine between
 * two leaves of one group.
 *
 * Paths between hosts need only one VL: up channels depend on global channels, and these depend on
 * down channels, so the dependencies have no cycle. But spines also send and receive packets
 * (management, aggregation). A spine without a link to the next group first sends down to a leaf,
 * which sends the packets up to another spine. The same happens in the group of the destination.
 * These leaves are called pivots. None of their links is missing. A pivot serves either packets
 * that leave the group, or packets that stay in it.
 *
 * Packets that leave a pivot are on VL 1, and so are packets that turn down at a spine or start
 * there. The order of the channels is
 *
 *   up VL 0, down VL 1, up VL 1 (leaving), global, down VL 0, up VL 1 (staying), down VL 1
 *
 * The last channels (down VL 1) lead to leaves that lack a link; these leaves are not pivots. Paths
 * go around missing links inside a group in the same way.
 *
 * Groups without a link between them communicate through a hub (dragonfly.c). In a hub, packets to
 * a group that is not a hub use the pivots for packets that stay in the group. So in a hub, up
 * channels of these pivots may depend on global channels, but only on those to groups that are not
 * hubs. In these groups, no up channel of such a pivot depends on a global channel. So the
 * dependencies still have no cycle.
 */
#include "libfabmgr/route/dragonfly/dragonfly.h"

#include "libfabmgr/route/engines/engines.h"

static bool linked(const struct dragonfly *d, uint32_t a, uint32_t b)
{
    return fab_route_graph_linked(&d->graph, a, b);
}

/* Returns a spine with links to both leaves, `at` and `other`; `number` selects one of several.
 * FAB_NONE: there is no such spine. */
static uint32_t spine_between(const struct dragonfly *d, uint32_t at, uint32_t other,
                              uint32_t number)
{
    const struct fab_groups *s = &d->groups;
    uint32_t found[256], count = 0;
    for (uint32_t i = s->first[s->of[at]]; i < s->first[s->of[at] + 1]; i++) {
        uint32_t sw = s->all[i];
        if (s->spine[sw] && linked(d, at, sw) && linked(d, sw, other) && count < 256)
            found[count++] = sw;
    }
    return count > 0 ? found[number % count] : FAB_NONE;
}

/* ---- choice of a global link ----------------------------------------------------------------- */

static bool leads_to_dest(const struct dragonfly *d, const struct fab_global_link *link,
                          uint32_t dest)
{
    return link->to == dest || linked(d, link->to, dest);
}

static bool own_to_dest(const struct dragonfly *d, const struct fab_global_link *link, uint32_t at,
                        uint32_t dest)
{
    return link->from == at && leads_to_dest(d, link, dest);
}

static bool own(const struct dragonfly *d, const struct fab_global_link *link, uint32_t at,
                uint32_t dest)
{
    (void)d;
    (void)dest;
    return link->from == at;
}

static bool linked_to_dest(const struct dragonfly *d, const struct fab_global_link *link,
                           uint32_t at, uint32_t dest)
{
    return linked(d, at, link->from) && leads_to_dest(d, link, dest);
}

static bool linked_spine(const struct dragonfly *d, const struct fab_global_link *link, uint32_t at,
                         uint32_t dest)
{
    (void)dest;
    return linked(d, at, link->from);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Returns a pivot of the group of spine `at`: a leaf with links to all spines of the group, which
 * sends the packets up again to another spine. If `out` is true, the packets leave the group;
 * otherwise they stay in it. `number` selects one of several pivots. FAB_NONE: there is no
 * pivot. */
static uint32_t pivot(const struct dragonfly *d, uint32_t at, bool out, uint32_t number)
{
    const uint32_t *leaf;
    uint32_t count = fab_route_groups_pivots(&d->groups, d->groups.of[at], out, &leaf);
    return count > 0 ? leaf[number % count] : FAB_NONE;
}

/* Returns a spine to which leaf `at` has a link; `number` selects one. Called if no spine has links
 * both to this leaf and to the destination. */
static uint32_t any_spine(const struct dragonfly *d, uint32_t at, uint32_t number)
{
    const struct fab_graph *g = &d->graph;
    uint32_t count = g->nbr_at[at + 1] - g->nbr_at[at];
    return g->nbr[g->nbr_at[at] + number % count];
}

static uint32_t to_group(const struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number)
{
    bool spine = d->groups.spine[at];
    const struct fab_global_link *link =
        fab_route_dragonfly_link(d, at, dest, number, spine ? own_to_dest : linked_to_dest);
    if (link == NULL)
        link = fab_route_dragonfly_link(d, at, dest, number, spine ? own : linked_spine);
    if (link != NULL)
        return spine ? link->to : link->from;
    if (!spine)
        return any_spine(d, at, number);
    bool transit = d->groups.is_hub[d->groups.of[at]] && !d->groups.is_hub[d->groups.of[dest]];
    return pivot(d, at, !transit, number);
}

static uint32_t next_switch(struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number)
{
    const struct fab_groups *s = &d->groups;
    if (s->of[at] != s->of[dest])
        return to_group(d, at, dest, number);
    if (linked(d, at, dest))
        return dest;
    if (s->spine[at])
        return pivot(d, at, false, number);
    uint32_t spine = s->spine[dest] ? FAB_NONE : spine_between(d, at, dest, number);
    return spine != FAB_NONE ? spine : any_spine(d, at, number);
}

static unsigned map(struct dragonfly *d)
{
    for (unsigned sl = 0; sl < FAB_SLS; sl++) {
        d->vls.vl[FAB_DRAGONFLY_END][FAB_DRAGONFLY_DOWN][sl] = 1;
        d->vls.vl[FAB_DRAGONFLY_DOWN][FAB_DRAGONFLY_DOWN][sl] = 1;
        d->vls.vl[FAB_DRAGONFLY_LOCAL][FAB_DRAGONFLY_LOCAL][sl] = 1;
    }
    return 2;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    static const struct fab_dragonfly_kind kind = {"dragonfly+", fab_route_groups_leaf_spine,
                                                   next_switch, map};
    return fab_route_dragonfly_run(&kind, in, ret_lft, ret_vls, why, why_len);
}

const struct fab_route_engine fab_route_engine_dragonfly_plus = {
    .name = "dragonfly+",
    .summary = "minimal paths in dragonflies of leaves and spines, 2 VLs",
    .run = run,
};
