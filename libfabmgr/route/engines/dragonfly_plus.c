/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "dragonfly+": minimal paths in dragonflies whose groups are leaves and spines (Shpiner
 * et al., "Dragonfly+: low cost topology for scaling datacenters", HiPINEB 2017): up, global, down.
 * Which spine, and which of its cables to the other group, the number of the destination decides,
 * so that all get the same share; within a group likewise.
 *
 * Between hosts that is free of cycles on one lane: up waits for global, global for down. But
 * spines send and receive, too (management, aggregation), and a spine without a cable to a group
 * goes down to a leaf first, and likewise at the other end. The leaves that turn these up again
 * have all their cables, and turn either what goes out of the group, or what stays in it; what they
 * turn is on VL 1, and so is what turns down at a spine or starts there. The order is
 *
 *   up VL 0, down VL 1, up VL 1 (out), global, down VL 0, up VL 1 (in),
 *
 * and in the end, to a leaf that lacks a cable and so turns nothing, down VL 1 once more. Missing
 * cables in a group are gone round in the same way. Groups without a cable between them meet at a
 * hub (dragonfly.c), where those leaves turn the packets up that turn what stays in the group: what
 * comes down again from there is in a group that is no hub.
 */
#include "libfabmgr/route/dragonfly/dragonfly.h"

#include "libfabmgr/route/engines/engines.h"

static bool joined(const struct dragonfly *d, uint32_t a, uint32_t b)
{
    return fab_route_graph_linked(&d->graph, a, b);
}

/* A spine that both leaves have a cable to, counted from place `number` on; FAB_NONE: none. */
static uint32_t spine_between(const struct dragonfly *d, uint32_t at, uint32_t other,
                              uint32_t number)
{
    const struct fab_groups *s = &d->groups;
    uint32_t found[256], count = 0;
    for (uint32_t i = s->first[s->of[at]]; i < s->first[s->of[at] + 1]; i++) {
        uint32_t sw = s->all[i];
        if (s->spine[sw] && joined(d, at, sw) && joined(d, sw, other) && count < 256)
            found[count++] = sw;
    }
    return count > 0 ? found[number % count] : FAB_NONE;
}

/* ---- gates ----------------------------------------------------------------------------------- */

static bool ends_well(const struct dragonfly *d, const struct fab_global_link *gate, uint32_t dest)
{
    return gate->to == dest || joined(d, gate->to, dest);
}

static bool mine_well(const struct dragonfly *d, const struct fab_global_link *gate, uint32_t at,
                      uint32_t dest)
{
    return gate->from == at && ends_well(d, gate, dest);
}

static bool mine(const struct dragonfly *d, const struct fab_global_link *gate, uint32_t at,
                 uint32_t dest)
{
    (void)d;
    (void)dest;
    return gate->from == at;
}

static bool above_well(const struct dragonfly *d, const struct fab_global_link *gate, uint32_t at,
                       uint32_t dest)
{
    return joined(d, at, gate->from) && ends_well(d, gate, dest);
}

static bool above(const struct dragonfly *d, const struct fab_global_link *gate, uint32_t at,
                  uint32_t dest)
{
    (void)dest;
    return joined(d, at, gate->from);
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* Down from a spine, to a leaf that turns up again. */
static uint32_t turner(const struct dragonfly *d, uint32_t at, bool out, uint32_t number)
{
    const uint32_t *leaf;
    uint32_t count = fab_route_groups_pivots(&d->groups, d->groups.of[at], out, &leaf);
    return count > 0 ? leaf[number % count] : FAB_NONE;
}

/* Up from a leaf, to a spine that is no good by itself. */
static uint32_t any_spine(const struct dragonfly *d, uint32_t at, uint32_t number)
{
    const struct fab_graph *g = &d->graph;
    uint32_t count = g->nbr_at[at + 1] - g->nbr_at[at];
    return g->nbr[g->nbr_at[at] + number % count];
}

static uint32_t to_group(const struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number)
{
    bool spine = d->groups.spine[at];
    const struct fab_global_link *gate =
        fab_route_dragonfly_link(d, at, dest, number, spine ? mine_well : above_well);
    if (gate == NULL)
        gate = fab_route_dragonfly_link(d, at, dest, number, spine ? mine : above);
    if (gate != NULL)
        return spine ? gate->to : gate->from;
    if (!spine)
        return any_spine(d, at, number);
    bool transit = d->groups.is_hub[d->groups.of[at]] && !d->groups.is_hub[d->groups.of[dest]];
    return turner(d, at, !transit, number);
}

static uint32_t next(struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number)
{
    const struct fab_groups *s = &d->groups;
    if (s->of[at] != s->of[dest])
        return to_group(d, at, dest, number);
    if (joined(d, at, dest))
        return dest;
    if (s->spine[at])
        return turner(d, at, false, number);
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
    static const struct fab_dragonfly_kind kind = {"dragonfly+", fab_route_groups_leaf_spine, next,
                                                   map};
    return fab_route_dragonfly_run(&kind, in, ret_lft, ret_vls, why, why_len);
}

const struct fab_route_engine fab_route_engine_dragonfly_plus = {
    .name = "dragonfly+",
    .summary = "minimal paths in dragonflies of leaves and spines, 2 VLs",
    .run = run,
};
