/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cables and link states (IBA 7.2.7, 14.2.5.6). A link trains when its cable is in and neither end
 * is disabled: both ends come up in Init. It falls with the cable, or when an end is disabled: the
 * other end polls. A switch notes each change of its ports in PortStateChange and sends trap 128.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

static bool disabled(const struct sim_port *p)
{
    return p->info.phys_state == FAB_PHYS_DISABLED || p->info.phys_state == FAB_PHYS_SLEEP;
}

static void power_on(struct fab_sim *s, uint32_t port)
{
    const struct fab_port *from = &s->fabric->ports[port];
    struct fab_port_info *info = &s->ports[port].info;
    *info = from->info;
    info->lid = info->sm_lid = 0;
    info->lmc = 0;
    info->m_key = 0;
    info->m_key_protect = 0;
    bool own = from->num == 0 && is_switch(s, from->node);
    bool up = own || (from->peer != FAB_NONE && !disabled(&s->ports[port]));
    info->port_state = own ? FAB_STATE_ACTIVE : up ? FAB_STATE_INIT : FAB_STATE_DOWN;
    if (up)
        info->phys_state = FAB_PHYS_LINKUP;
    else if (!disabled(&s->ports[port]))
        info->phys_state = FAB_PHYS_POLLING;
}

void link_start(struct fab_sim *s)
{
    for (uint32_t port = 0; port < s->fabric->port_count; port++)
        power_on(s, port);
    for (uint32_t port = 0; port < s->fabric->port_count; port++) {
        uint32_t far = s->fabric->ports[port].peer;
        if (far != FAB_NONE && disabled(&s->ports[far]) && !disabled(&s->ports[port])) {
            s->ports[port].info.port_state = FAB_STATE_DOWN;
            s->ports[port].info.phys_state = FAB_PHYS_POLLING;
        }
    }
}

/* True when that is a change which a switch tells of. */
static bool set_state(struct fab_sim *s, uint32_t port, uint8_t state, uint8_t phys)
{
    struct fab_port_info *info = &s->ports[port].info;
    uint32_t node = s->fabric->ports[port].node;
    bool change = info->port_state != state;
    info->port_state = state;
    info->phys_state = phys;
    if (change && is_switch(s, node))
        s->switches[node].info.port_state_change = 1;
    return change && is_switch(s, node);
}

static void tell(struct fab_sim *s, uint32_t port, bool change)
{
    if (change)
        trap_port_state(s, s->fabric->ports[port].node);
}

void link_train(struct fab_sim *s, uint32_t port)
{
    uint32_t far = s->fabric->ports[port].peer;
    if (far == FAB_NONE || s->ports[port].unlinked || disabled(&s->ports[port]) ||
        disabled(&s->ports[far]))
        return;
    bool near_changes = set_state(s, port, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    bool far_changes = set_state(s, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    tell(s, port, near_changes);
    tell(s, far, far_changes);
}

void link_down(struct fab_sim *s, uint32_t port, uint8_t phys)
{
    uint32_t far = s->fabric->ports[port].peer;
    bool far_changes = false, near_changes = set_state(s, port, FAB_STATE_DOWN, phys);
    if (far != FAB_NONE && !disabled(&s->ports[far]))
        far_changes = set_state(s, far, FAB_STATE_DOWN, FAB_PHYS_POLLING);
    tell(s, port, near_changes);
    if (far != FAB_NONE)
        tell(s, far, far_changes);
}

/* ---- faults -----------------------------------------------------------------------------------
 */

static int find_cable(const struct fab_sim *s, uint32_t node, uint8_t port, uint32_t *ret_port)
{
    if (node >= s->fabric->node_count || port > s->fabric->nodes[node].num_ports ||
        s->fabric->ports[port_id(s, node, port)].peer == FAB_NONE)
        return FAB_E_NOT_FOUND;
    *ret_port = port_id(s, node, port);
    return FAB_OK;
}

static void plug(struct fab_sim *s, uint32_t port, bool out)
{
    s->ports[port].unlinked = out;
    s->ports[s->fabric->ports[port].peer].unlinked = out;
}

int fab_sim_unlink(struct fab_sim *s, uint32_t node, uint8_t port)
{
    uint32_t id;
    int status = find_cable(s, node, port, &id);
    if (status != FAB_OK || s->ports[id].unlinked)
        return status;
    plug(s, id, true);
    link_down(s, id, disabled(&s->ports[id]) ? s->ports[id].info.phys_state : FAB_PHYS_POLLING);
    return FAB_OK;
}

int fab_sim_relink(struct fab_sim *s, uint32_t node, uint8_t port)
{
    uint32_t id;
    int status = find_cable(s, node, port, &id);
    if (status != FAB_OK || !s->ports[id].unlinked)
        return status;
    plug(s, id, false);
    link_train(s, id);
    return FAB_OK;
}
