/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine "dragonfly" routes minimal paths in dragonflies (Kim, Dally, Scott, Abts, ISCA 2008).
 * A path has at most a local link, a global link, and another local link. A switch with links to
 * the group of the destination takes one of these links. All other switches of its group send to a
 * switch that has such a link. The number of the destination selects the link, so that all links
 * between two groups have equal loads. Links that end at the destination's switch are preferred.
 *
 * Packets take local links on VL 0 in the group where they start, and on VL 1 if they come from
 * another group. So local channels on VL 0 depend on global channels. Global channels depend on
 * local channels on VL 1, and these depend on nothing if no link is missing. Hence there is no
 * cycle. All paths have SL 0 (Maglione-Mathey et al., "DLA", 2025).
 *
 * A path goes around a missing local link through a pivot: a switch that lacks none of its local
 * links. The hop after the pivot is on VL 2. If fab_route_vls_reserve() permits, this VL is
 * reserved for such hops even if no link is missing, so that a fault changes no SL-to-VL table.
 * Pivots for packets that leave a group and pivots for packets to a switch of the group are
 * different switches. So a channel on VL 2 from a pivot is followed by a global channel, or it is
 * the last channel of its paths.
 *
 * Two groups without a link between them send through a hub, a group that has links to all others.
 * Local channels on VL 1 depend on global channels only in hubs, and only for packets to a group
 * that is not a hub. In a group that is not a hub, local channels on VL 1 depend on no global
 * channel. So there is no cycle either.
 */
#include "libfabmgr/route/dragonfly/dragonfly.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/engines/engines.h"

static const char *name(const struct dragonfly *d, uint32_t sw)
{
    return d->in->fabric->nodes[sw].name;
}

/* ---- choice of a global link ----------------------------------------------------------------- */

const struct fab_global_link *fab_route_dragonfly_link(const struct dragonfly *d, uint32_t at,
                                                       uint32_t dest, uint32_t number,
                                                       fab_global_link_test *suits)
{
    const struct fab_global_link *link;
    uint32_t from = d->groups.of[at];
    uint32_t to = fab_route_groups_via(&d->groups, from, d->groups.of[dest], number);
    uint32_t count = fab_route_groups_links(&d->groups, from, to, &link);
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_global_link *here = &link[(number + i) % count];
        if (suits(d, here, at, dest))
            return here;
    }
    return NULL;
}

static bool linked_or_same(const struct dragonfly *d, uint32_t a, uint32_t b)
{
    return a == b || fab_route_graph_linked(&d->graph, a, b);
}

static bool own_to_dest(const struct dragonfly *d, const struct fab_global_link *link, uint32_t at,
                        uint32_t dest)
{
    (void)d;
    return link->from == at && link->to == dest;
}

static bool own_near_dest(const struct dragonfly *d, const struct fab_global_link *link,
                          uint32_t at, uint32_t dest)
{
    return link->from == at && linked_or_same(d, link->to, dest);
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
    return link->to == dest && fab_route_graph_linked(&d->graph, at, link->from);
}

static bool linked_near_dest(const struct dragonfly *d, const struct fab_global_link *link,
                             uint32_t at, uint32_t dest)
{
    return linked_or_same(d, link->to, dest) && fab_route_graph_linked(&d->graph, at, link->from);
}

static bool linked(const struct dragonfly *d, const struct fab_global_link *link, uint32_t at,
                   uint32_t dest)
{
    (void)dest;
    return fab_route_graph_linked(&d->graph, at, link->from);
}

/* Called if switch `at` has no direct link to the next switch of its path, which is in the same
 * group. Returns a pivot, a switch with links to all other switches of the group, over which the
 * packets go instead. out: true if the packets leave the group, false if their destination is in
 * it. FAB_NONE: there is no pivot. */
static uint32_t pivot(struct dragonfly *d, uint32_t at, bool out, uint32_t number)
{
    const uint32_t *pivots;
    uint32_t count = fab_route_groups_pivots(&d->groups, d->groups.of[at], out, &pivots);
    d->detours = true;
    return count > 0 ? pivots[number % count] : FAB_NONE;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static uint32_t to_group(struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number)
{
    static fab_global_link_test *const tests[] = {own_to_dest,    own_near_dest,    own,
                                                  linked_to_dest, linked_near_dest, linked};
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        const struct fab_global_link *link =
            fab_route_dragonfly_link(d, at, dest, number, tests[i]);
        if (link != NULL)
            return i < 3 ? link->to : link->from;
    }
    return pivot(d, at, true, number);
}

static uint32_t next_switch(struct dragonfly *d, uint32_t at, uint32_t dest, uint32_t number)
{
    if (d->groups.of[at] != d->groups.of[dest])
        return to_group(d, at, dest, number);
    return fab_route_graph_linked(&d->graph, at, dest) ? dest : pivot(d, at, false, number);
}

static unsigned map(struct dragonfly *d)
{
    bool third = d->detours || fab_route_vls_reserve(d->in, 2, 1) == 3;
    for (unsigned sl = 0; sl < FAB_SLS; sl++) {
        d->vls.vl[FAB_DRAGONFLY_GLOBAL][FAB_DRAGONFLY_LOCAL][sl] = 1;
        d->vls.vl[FAB_DRAGONFLY_LOCAL][FAB_DRAGONFLY_LOCAL][sl] = third ? 2 : 0;
    }
    return third ? 3 : 2;
}

/* ---- the run, for both engines --------------------------------------------------------------- */

static int route_dlid(struct dragonfly *d, const struct fab_dragonfly_kind *kind, uint32_t dest,
                      const struct fab_dlid *dlid)
{
    for (uint32_t s = 0; s < d->graph.n; s++)
        d->next_hops.next[s] = s == dest ? FAB_NONE : kind->next(d, s, dest, dlid->number);
    uint32_t lost = fab_route_next_hops_follow(&d->next_hops, dest);
    if (lost != FAB_NONE) {
        snprintf(d->why, d->why_len, "links are missing: no minimal path from %.64s to %.64s",
                 name(d, lost), name(d, dest));
        return FAB_E_UNSUPPORTED;
    }
    fab_route_next_hops_fill(&d->next_hops, dest, dlid, 1, &d->lft);
    return FAB_OK;
}

static int route_all(struct dragonfly *d, const struct fab_dragonfly_kind *kind)
{
    struct fab_dlid dlids[FAB_DLIDS_MAX];
    int status = FAB_OK;
    for (uint32_t i = 0; i < d->graph.n; i++) {
        for (uint32_t offset = 0; offset < d->destinations.lids_each; offset++) {
            uint32_t count = fab_route_destinations_dlids(&d->destinations, i, offset, dlids);
            for (uint32_t k = 0; k < count && status == FAB_OK; k++)
                status = route_dlid(d, kind, d->destinations.sequence[i], &dlids[k]);
        }
    }
    return status;
}

static uint8_t class_of(const struct dragonfly *d, uint32_t sw, uint32_t peer)
{
    if (d->groups.of[sw] != d->groups.of[peer])
        return FAB_DRAGONFLY_GLOBAL;
    return d->groups.spine[sw] ? FAB_DRAGONFLY_DOWN : FAB_DRAGONFLY_LOCAL;
}

static int make_vls(struct dragonfly *d, const struct fab_dragonfly_kind *kind)
{
    const struct fab_graph *g = &d->graph;
    int status = fab_target_vls_by_class(&d->vls, d->in->fabric->port_count);
    if (status != FAB_OK)
        return status;
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t p = g->port_at[s]; p < g->port_at[s + 1]; p++)
            d->vls.port_class[fab_fabric_port_id(d->in->fabric, s, g->port_num[p])] =
                class_of(d, s, g->port_peer[p]);
    }
    d->vls.sls = 1;
    d->vls.classes = FAB_DRAGONFLY_DOWN + 1;
    d->vls.count = (uint8_t)kind->map(d);
    return fab_route_vls_check(d->in, d->vls.count, d->why, d->why_len);
}

static int prepare(struct dragonfly *d, const struct fab_dragonfly_kind *kind)
{
    const struct fab_fabric *f = d->in->fabric;
    int ret = fab_route_graph_make(f, &d->graph);
    if (ret == FAB_OK)
        ret = kind->find(f, &d->graph, &d->groups, d->why, d->why_len);
    if (ret == FAB_OK)
        ret = fab_route_next_hops_init(&d->next_hops, &d->graph);
    if (ret != FAB_OK)
        return ret;
    uint32_t *sequence = calloc((size_t)d->graph.n + 1, sizeof(*sequence));
    if (sequence != NULL)
        memcpy(sequence, d->groups.all, d->graph.n * sizeof(*sequence));
    ret = fab_route_destinations_in_sequence(d->in, &d->graph, sequence, &d->destinations);
    return ret == FAB_OK ? fab_target_lft_init(&d->lft, f->switch_count, d->in->lids->top) : ret;
}

/* Returns true if the topology is incomplete: switches of the same kind (spines, or all others)
 * differ in their number of links. */
static bool is_flawed(const struct dragonfly *d)
{
    const struct fab_graph *g = &d->graph;
    uint32_t usual[2] = {0, 0};
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t ports = g->port_at[sw + 1] - g->port_at[sw], *like = &usual[d->groups.spine[sw]];
        *like = *like == 0 ? ports : *like;
        if (ports != *like)
            return true;
    }
    return false;
}

int fab_route_dragonfly_run(const struct fab_dragonfly_kind *kind, const struct fab_route_input *in,
                            struct fab_lft *ret_lft, struct fab_vls *ret_vls, char *why,
                            size_t why_len)
{
    struct dragonfly d = {.in = in, .why = why, .why_len = why_len};
    if (in->lids->port_count != in->fabric->port_count)
        return FAB_E_INVAL;
    int ret = prepare(&d, kind);
    if (ret == FAB_OK)
        ret = route_all(&d, kind);
    if (ret == FAB_OK)
        ret = make_vls(&d, kind);
    if (ret == FAB_OK) {
        snprintf(why, why_len, "%s of %u groups%s", kind->name, d.groups.count,
                 d.detours ? ", paths go around missing links" : "");
        if (in->flawed != NULL && is_flawed(&d))
            *in->flawed = true;
        *ret_lft = d.lft;
        *ret_vls = d.vls;
    } else {
        fab_target_lft_fini(&d.lft);
        fab_target_vls_fini(&d.vls);
    }
    fab_route_destinations_fini(&d.destinations);
    fab_route_next_hops_fini(&d.next_hops);
    fab_route_groups_fini(&d.groups);
    fab_route_graph_fini(&d.graph);
    return ret;
}

static int run(const struct fab_route_input *in, struct fab_lft *ret_lft, struct fab_vls *ret_vls,
               char *why, size_t why_len)
{
    static const struct fab_dragonfly_kind kind = {"dragonfly", fab_route_groups_cliques,
                                                   next_switch, map};
    return fab_route_dragonfly_run(&kind, in, ret_lft, ret_vls, why, why_len);
}

const struct fab_route_engine fab_route_engine_dragonfly = {
    .name = "dragonfly",
    .summary = "minimal paths in dragonflies, 2 VLs (1 more for detours if available)",
    .run = run,
};
