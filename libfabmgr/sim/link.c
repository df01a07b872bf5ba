/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link states (IBA 7.2.7, 14.2.5.6).
 *
 * A link trains when its cable is plugged in, both nodes have power and neither port is disabled.
 * Both ports then come up in Init, at once or after the training time. The link goes down when the
 * cable is pulled, a node loses power or a port is disabled. The ports then enter their
 * LinkDownDefaultState, unless they are disabled. If one port is in Polling and the other in Sleep,
 * the link trains; if both are in Sleep, it stays down. A switch records each change in
 * PortStateChange and sends trap 128. Width and speed are in rate.c.
 */
#include "libfabmgr/base/status.h"
#include "libfabmgr/sim/device.h"

/* Length in bits of a packet with a MAD: the MAD, and 30 bytes for LRH (8), BTH (12), DETH (8) and
 * VCRC (2). The 4 bytes of ICRC are not counted. */
#define MAD_BITS (8 * (FAB_MAD_SIZE + 30))

static bool disabled(const struct sim_port *p)
{
    return p->info.phys_state == FAB_PHYS_DISABLED;
}

uint8_t fab_sim_link_down_state(const struct fab_sim *s, uint32_t port)
{
    const struct fab_port_info *info = &s->ports[port].info;
    return info->down_default_state == FAB_PHYS_SLEEP ? FAB_PHYS_SLEEP : FAB_PHYS_POLLING;
}

static void power_on(struct fab_sim *s, uint32_t port)
{
    const struct fab_port *from = fab_fabric_port(s->fabric, port);
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
        info->phys_state = fab_sim_link_down_state(s, port);
}

void fab_sim_links_start(struct fab_sim *s)
{
    for (uint32_t port = 0; port < s->fabric->port_count; port++)
        power_on(s, port);
    for (uint32_t port = 0; port < s->fabric->port_count; port++) {
        uint32_t far = fab_fabric_port(s->fabric, port)->peer;
        if (far != FAB_NONE && disabled(&s->ports[far]) && !disabled(&s->ports[port])) {
            s->ports[port].info.port_state = FAB_STATE_DOWN;
            s->ports[port].info.phys_state = fab_sim_link_down_state(s, port);
        }
    }
}

/* Sets the PortState and PortPhysicalState of a port. Returns true if the PortState has changed and
 * the port belongs to a switch; the switch must then send a trap. */
static bool set_state(struct fab_sim *s, uint32_t port, uint8_t state, uint8_t phys)
{
    struct fab_port_info *info = &s->ports[port].info;
    uint32_t node = fab_fabric_port(s->fabric, port)->node;
    bool change = info->port_state != state;
    info->port_state = state;
    info->phys_state = phys;
    if (change && is_switch(s, node))
        s->switches[node].info.port_state_change = 1;
    return change && is_switch(s, node);
}

static void report_port_state(struct fab_sim *s, uint32_t port, bool change)
{
    if (change)
        fab_sim_trap_port_state(s, fab_fabric_port(s->fabric, port)->node);
}

static bool can_link(const struct fab_sim *s, uint32_t port)
{
    const struct sim_node *node = &s->nodes[fab_fabric_port(s->fabric, port)->node];
    return !s->ports[port].unplugged && !disabled(&s->ports[port]) && !node->powered_off;
}

static bool can_train(const struct fab_sim *s, uint32_t port)
{
    uint32_t far = fab_fabric_port(s->fabric, port)->peer;
    return far != FAB_NONE && can_link(s, port) && can_link(s, far) &&
           (s->ports[port].info.phys_state != FAB_PHYS_SLEEP ||
            s->ports[far].info.phys_state != FAB_PHYS_SLEEP);
}

static void come_up(struct fab_sim *s, uint32_t port)
{
    uint32_t far = fab_fabric_port(s->fabric, port)->peer;
    s->ports[port].trained_at = s->ports[far].trained_at = 0;
    if (!fab_sim_link_negotiate(s, port, far)) {
        s->ports[port].info.phys_state = s->ports[far].info.phys_state = FAB_PHYS_POLLING;
        return;
    }
    bool near_changes = set_state(s, port, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    bool far_changes = set_state(s, far, FAB_STATE_INIT, FAB_PHYS_LINKUP);
    report_port_state(s, port, near_changes);
    report_port_state(s, far, far_changes);
}

void fab_sim_link_train(struct fab_sim *s, uint32_t port)
{
    uint32_t far = fab_fabric_port(s->fabric, port)->peer;
    if (!can_train(s, port))
        return;
    if (s->timing.train_us == 0) {
        come_up(s, port);
        return;
    }
    s->ports[port].info.phys_state = s->ports[far].info.phys_state = FAB_PHYS_TRAINING;
    s->ports[port].trained_at = s->ports[far].trained_at = s->now + s->timing.train_us;
    fab_sim_schedule(s, s->timing.train_us, EVENT_TRAIN, port, 0, 0);
}

/* Handles EVENT_TRAIN: the link training of this port ends. If the link went down after the event
 * was queued, the function ignores the event. A later training of the link has an event of its own.
 */
void fab_sim_link_trained(struct fab_sim *s, uint32_t port)
{
    if (s->ports[port].trained_at == s->now && can_train(s, port))
        come_up(s, port);
}

void fab_sim_link_down(struct fab_sim *s, uint32_t port, uint8_t phys)
{
    uint32_t far = fab_fabric_port(s->fabric, port)->peer;
    if (s->ports[port].info.phys_state == FAB_PHYS_LINKUP)
        fab_sim_count(s, port, FAB_SIM_LINK_DOWNED, 1);
    if (far != FAB_NONE && s->ports[far].info.phys_state == FAB_PHYS_LINKUP)
        fab_sim_count(s, far, FAB_SIM_LINK_DOWNED, 1);
    bool far_changes = false, near_changes = set_state(s, port, FAB_STATE_DOWN, phys);
    s->ports[port].trained_at = 0;
    if (far != FAB_NONE && !disabled(&s->ports[far])) {
        far_changes = set_state(s, far, FAB_STATE_DOWN, fab_sim_link_down_state(s, far));
        s->ports[far].trained_at = 0;
    }
    report_port_state(s, port, near_changes);
    if (far != FAB_NONE)
        report_port_state(s, far, far_changes);
}

void fab_sim_link_power_on(struct fab_sim *s, uint32_t port)
{
    bool own = fab_fabric_port(s->fabric, port)->num == 0;
    power_on(s, port);
    if (own || disabled(&s->ports[port]))
        return;
    s->ports[port].info.port_state = FAB_STATE_DOWN;
    s->ports[port].info.phys_state = fab_sim_link_down_state(s, port);
}

/* ---- faults ---------------------------------------------------------------------------------- */

int fab_sim_link_find(const struct fab_sim *s, uint32_t node, uint8_t port, uint32_t *ret_port)
{
    if (node >= s->fabric->node_count || port > s->fabric->nodes[node].num_ports ||
        fab_fabric_port(s->fabric, port_id(s, node, port))->peer == FAB_NONE)
        return FAB_E_NOT_FOUND;
    *ret_port = port_id(s, node, port);
    return FAB_OK;
}

static void set_unplugged(struct fab_sim *s, uint32_t port, bool out)
{
    s->ports[port].unplugged = out;
    s->ports[fab_fabric_port(s->fabric, port)->peer].unplugged = out;
}

int fab_sim_unlink(struct fab_sim *s, uint32_t node, uint8_t port)
{
    uint32_t id;
    int status = fab_sim_link_find(s, node, port, &id);
    if (status != FAB_OK || s->ports[id].unplugged)
        return status;
    set_unplugged(s, id, true);
    fab_sim_link_down(s, id,
                      disabled(&s->ports[id]) ? s->ports[id].info.phys_state
                                              : fab_sim_link_down_state(s, id));
    return FAB_OK;
}

int fab_sim_relink(struct fab_sim *s, uint32_t node, uint8_t port)
{
    uint32_t id;
    int status = fab_sim_link_find(s, node, port, &id);
    if (status != FAB_OK || !s->ports[id].unplugged)
        return status;
    set_unplugged(s, id, false);
    fab_sim_link_train(s, id);
    return FAB_OK;
}

static void set_plugged(struct fab_sim *s, uint32_t port, bool in)
{
    const struct fab_port *p = fab_fabric_port(s->fabric, port);
    if (in)
        (void)fab_sim_relink(s, p->node, p->num);
    else
        (void)fab_sim_unlink(s, p->node, p->num);
}

/* Handles EVENT_FLAP: pulls the cable, or plugs it in if it is pulled. The last event always plugs
 * the cable in. */
void fab_sim_link_flap(struct fab_sim *s, const struct sim_event *e)
{
    set_plugged(s, e->a, s->ports[e->a].unplugged || e->b == 0);
    if (e->b > 0)
        fab_sim_schedule(s, e->arg, EVENT_FLAP, e->a, e->b - 1, e->arg);
}

int fab_sim_flap(struct fab_sim *s, uint32_t node, uint8_t port, uint64_t period_us, uint32_t count)
{
    uint32_t id;
    int status = fab_sim_link_find(s, node, port, &id);
    if (status != FAB_OK)
        return status;
    if (period_us < 2 || count == 0 || count > UINT32_MAX / 2)
        return FAB_E_INVAL;
    set_plugged(s, id, false);
    fab_sim_schedule(s, period_us / 2, EVENT_FLAP, id, 2 * (count - 1), period_us / 2);
    return FAB_OK;
}

int fab_sim_noise(struct fab_sim *s, uint32_t node, uint8_t port, double share)
{
    uint32_t id;
    int status = fab_sim_link_find(s, node, port, &id);
    if (status != FAB_OK)
        return status;
    if (!(share >= 0 && share <= 1))
        return FAB_E_INVAL;
    s->ports[id].noise_share = s->ports[fab_fabric_port(s->fabric, id)->peer].noise_share =
        (float)share;
    s->noisy = s->noisy || share > 0;
    return FAB_OK;
}

/* Returns the probability that n bits are all correct: `good` to the power of n, where `good` is
 * the probability for one bit. */
static double power_of(double good, unsigned n)
{
    double all = 1;
    for (; n > 0; n /= 2, good *= good)
        all *= n % 2 != 0 ? good : 1;
    return all;
}

int fab_sim_bit_errors(struct fab_sim *s, uint32_t node, uint8_t port, double rate)
{
    uint32_t id;
    int status = fab_sim_link_find(s, node, port, &id);
    if (status != FAB_OK)
        return status;
    if (!(rate >= 0 && rate <= 1))
        return FAB_E_INVAL;
    const struct fab_port *far = fab_fabric_port(s->fabric, fab_fabric_port(s->fabric, id)->peer);
    double each_second = rate * 1e6 * fab_wire_link_rate(&s->ports[id].info);
    status = fab_sim_noise(s, node, port, 1 - power_of(1 - rate, MAD_BITS));
    if (status == FAB_OK)
        status = fab_sim_increment(s, node, port, FAB_SIM_SYMBOL_ERRORS, each_second);
    if (status == FAB_OK)
        status = fab_sim_increment(s, far->node, far->num, FAB_SIM_SYMBOL_ERRORS, each_second);
    return status;
}
