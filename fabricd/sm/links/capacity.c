/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out for operators how many uplinks the leaf or pod of a link has in use, and how many it
 * must keep (libfabmgr/health/floor.h).
 */
#include <stdio.h>
#include <stdlib.h>

#include "fabricd/sm/links/state.h"
#include "libfabmgr/base/status.h"

/* Finds the switches at the two ends of a link. The link may be excluded from the snapshot. Returns
 * false unless both ends are switches of the snapshot. */
static bool find_ends(const struct sm *s, const struct fab_fabric *f, const struct sm_capacity *c,
                      uint32_t ret[2])
{
    const struct sm_flap *e = sm_flap_find(s, c->guid, c->port);
    uint32_t node = fab_fabric_node_by_guid(f, c->guid);
    if (node == FAB_NONE || c->port > f->nodes[node].num_ports)
        return false;
    uint32_t far = fab_fabric_peer_node(f, fab_fabric_port_id(f, node, c->port));
    if (far == FAB_NONE && e)
        far = fab_fabric_node_by_guid(f, e->guid[e->guid[0] == c->guid]);
    ret[0] = node;
    ret[1] = far;
    return node < f->switch_count && far < f->switch_count;
}

static void describe(const struct sm *s, const struct fab_floor *fl, struct sm_capacity *c)
{
    struct fab_floor_group group;
    uint32_t end[2];
    c->is_uplink =
        find_ends(s, fl->f, c, end) && fab_health_floor_tightest(fl, end[0], end[1], &group);
    if (!c->is_uplink)
        return;
    c->pod = group.pod;
    c->uplinks = group.links;
    c->in_use = group.links - group.lost;
    c->least = group.least;
    sm_node_name(fl->f, group.node, c->name);
}

int sm_link_capacities(const struct sm *s, struct sm_capacity *list, uint32_t count)
{
    struct fab_lost_link *lost = NULL;
    size_t lost_count = 0;
    struct fab_floor fl;
    const struct fab_fabric *f = s->model.fabric;
    if (!f || count == 0)
        return FAB_OK;
    int r = fab_health_floor_init(&fl, f, s->in.config->flapping.min_capacity_percent);
    if (r != FAB_OK)
        return r;
    r = fab_health_known_lost(s->links->known, f, NULL, NULL, &lost, &lost_count);
    if (r == FAB_OK) {
        fab_health_floor_count(&fl, lost, lost_count);
        for (uint32_t i = 0; i < count; i++)
            describe(s, &fl, &list[i]);
    }
    free(lost);
    fab_health_floor_fini(&fl);
    return r;
}
