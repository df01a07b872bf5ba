/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides which LFT writes are sent as LID-routed SMPs. Switches forward a LID-routed SMP in
 * hardware. A directed-route SMP is slower, because the management processor of every switch on its
 * path handles it.
 *
 * A write to a switch is LID routed only if all LFT entries on the path to this switch and back are
 * known, and stay the same in the new tables. If no answer comes, the retries use the directed
 * route (libfabmgr/mads).
 */
#include "fabricd/sm/apply/state.h"

#define MOST_HOPS 64

static bool stays(const struct sm *s, uint32_t sw, uint32_t lid)
{
    const struct fab_observed *o = &s->model.observed;
    return lid <= s->model.target->lft.top &&
           fab_plan_observed_is_known(o, sw, lid / FAB_LFT_BLOCK) &&
           fab_target_lft_at(&o->lft, sw, lid) == fab_target_lft_at(&s->model.target->lft, sw, lid);
}

/* Returns the id of the port by which `node` sends packets to a LID. FAB_NONE: the LFT entry is not
 * known, or changes in the new tables, or its link is not Active. If `node` is not a switch, it is
 * the node of the manager. */
static uint32_t port_towards(const struct sm *s, uint32_t node, uint32_t lid)
{
    const struct fab_fabric *f = s->model.fabric;
    uint32_t port = f->self_port;
    if (fab_fabric_node_is_switch(f, node)) {
        if (!stays(s, node, lid))
            return FAB_NONE;
        uint8_t num = fab_target_lft_at(&s->model.observed.lft, node, lid);
        if (num == 0 || num > f->nodes[node].num_ports)
            return FAB_NONE;
        port = fab_fabric_port_id(f, node, num);
    }
    const struct fab_port *p = fab_fabric_port(f, port);
    return p->peer != FAB_NONE && p->info.port_state == FAB_STATE_ACTIVE ? port : FAB_NONE;
}

static bool leads(const struct sm *s, uint32_t from, uint32_t lid, uint32_t to)
{
    const struct fab_fabric *f = s->model.fabric;
    for (unsigned hop = 0; from != to; hop++) {
        uint32_t port = hop < MOST_HOPS ? port_towards(s, from, lid) : FAB_NONE;
        if (port == FAB_NONE)
            return false;
        from = fab_fabric_port(f, fab_fabric_port(f, port)->peer)->node;
        if (from != to && !fab_fabric_node_is_switch(f, from))
            return false;
    }
    return true;
}

uint16_t sm_lid_route_to(const struct sm *s, uint32_t sw)
{
    const struct fab_fabric *f = s->model.fabric;
    const struct fab_lids *lids = &s->model.target->lids;
    uint32_t self = fab_fabric_port(f, f->self_port)->node, own = fab_fabric_port_id(f, sw, 0);
    uint32_t lid = lids->base[own], back = lids->base[f->self_port];
    if (sw == self || lid == 0 || fab_fabric_port(f, own)->info.lid != lid || back == 0 ||
        fab_fabric_port(f, f->self_port)->info.lid != back)
        return 0;
    return leads(s, self, lid, sw) && leads(s, sw, back, self) ? (uint16_t)lid : 0;
}
