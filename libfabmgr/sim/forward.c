/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves MADs from port to port. A MAD follows either a directed route (IBA 14.2.2) or the linear
 * forwarding tables of the switches (IBA 18.2.4). A directed route may begin and end with a part
 * that is routed by LID. If a real device would discard a MAD, the MAD is lost. SMPs use VL15,
 * which works in the link states Init, Armed and Active; all other MADs need the state Active (IBA
 * 7.2.7). */
#include "libfabmgr/sim/device.h"

/* Maximum number of links that a MAD may cross. If a MAD needs more, it is in a forwarding loop and
 * is lost. */
#define LID_HOP_LIMIT 64

/* Returns true if the cable corrupts a packet that arrives at this port. Each corrupted packet
 * raises the level of the leaky bucket of IBA 7.12.2, and each good packet lowers it. When the
 * level exceeds LocalPhyErrors, the port counts a local link integrity error. */
static bool is_corrupted(struct fab_sim *s, uint32_t port)
{
    struct sim_port *p = &s->ports[port];
    if (!chance(s, (double)p->noise_share)) {
        p->phy_errors = (uint8_t)(p->phy_errors - (p->phy_errors > 0));
        return false;
    }
    if (++p->phy_errors > p->info.local_phy_errors) {
        p->phy_errors = 0;
        fab_sim_count(s, port, FAB_SIM_LOCAL_LINK_INTEGRITY_ERRORS, 1);
        fab_sim_trap_errors(s, port, FAB_SIM_LOCAL_LINK_INTEGRITY_ERRORS);
    }
    fab_sim_count(s, port, FAB_SIM_SYMBOL_ERRORS, 1);
    fab_sim_count(s, port, FAB_SIM_RCV_ERRORS, 1);
    fab_sim_count(s, port, FAB_SIM_LOCAL_PHYSICAL_ERRORS, 1);
    return true;
}

/* Returns true if the receiving port is at least in the link state least_state, which the packet
 * needs. The first data packet makes an Armed port Active (IBA 7.2.7.4). */
static bool accepts_data(struct fab_port_info *far, uint8_t least_state)
{
    if (least_state == FAB_STATE_ACTIVE && far->port_state == FAB_STATE_ARMED)
        far->port_state = FAB_STATE_ACTIVE;
    return far->port_state >= least_state;
}

/* Moves a MAD over the link at port number `out`. Returns false if the MAD is lost. */
bool fab_sim_cross_link(struct fab_sim *s, struct position *at, uint8_t out, uint8_t least_state)
{
    if (out == 0 || out > s->fabric->nodes[at->node].num_ports)
        return false;
    uint32_t port = port_id(s, at->node, out), far = fab_fabric_port(s->fabric, port)->peer;
    if (far == FAB_NONE || s->ports[port].unplugged ||
        s->ports[port].info.port_state < least_state ||
        !accepts_data(&s->ports[far].info, least_state))
        return false;
    if (s->noisy && is_corrupted(s, far))
        return false;
    at->node = fab_fabric_port(s->fabric, far)->node;
    at->port = fab_fabric_port(s->fabric, far)->num;
    at->hops++;
    return true;
}

/* Returns true if the MAD may leave the node by port number `out`. Adapters do not forward MADs: a
 * MAD leaves an adapter only if it originates there, and only by the port of its sender. */
static bool may_leave(const struct fab_sim *s, const struct position *at, uint8_t out, bool origin)
{
    return is_switch(s, at->node) || (origin && out == at->port);
}

static bool owns(const struct fab_sim *s, struct position at, uint32_t lid)
{
    const struct fab_port_info *info = &s->ports[lid_port(s, at)].info;
    return info->lid != 0 && lid >= info->lid && lid < info->lid + (1u << info->lmc);
}

static uint8_t look_up(const struct sim_switch *sw, uint32_t lid)
{
    return lid < sw->lft_room && lid <= sw->info.linear_fdb_top ? sw->lft[lid] : DROPPED_PORT;
}

/* Moves a packet through a switch. The switch discards the packet if its LFT has no port for the
 * LID, if the output port is the input port, or if the output port cannot send. Each case has its
 * own counters (IBA 16.1.3.5, 16.1.4.1-2). Returns false if the packet is lost. */
static bool relay(struct fab_sim *s, uint32_t lid, uint8_t least_state, struct position *at)
{
    uint8_t out = look_up(&s->switches[at->node], lid);
    uint32_t in = port_id(s, at->node, at->port);
    bool unknown = out == 0 || out > s->fabric->nodes[at->node].num_ports;
    if (unknown || out == at->port) {
        fab_sim_count(s, in, FAB_SIM_RCV_SWITCH_RELAY_ERRORS, 1);
        fab_sim_count(s, in, unknown ? FAB_SIM_DLID_MAPPING_ERRORS : FAB_SIM_LOOPING_ERRORS, 1);
        return false;
    }
    uint32_t port = port_id(s, at->node, out);
    if (s->ports[port].info.port_state < least_state) {
        fab_sim_count(s, port, FAB_SIM_XMIT_DISCARDS, 1);
        fab_sim_count(s, port, FAB_SIM_INACTIVE_DISCARDS, 1);
        return false;
    }
    return fab_sim_cross_link(s, at, out, least_state);
}

bool fab_sim_forward_lid(struct fab_sim *s, uint32_t lid, uint8_t least_state, struct position *at)
{
    if (lid == FAB_LID_PERMISSIVE || owns(s, *at, lid))
        return true;
    /* a switch routes its own MAD as if the MAD had come in by port 0 */
    if (is_switch(s, at->node))
        at->port = 0;
    else if (!fab_sim_cross_link(s, at, at->port, least_state))
        return false;
    for (unsigned hop = 0; hop < LID_HOP_LIMIT; hop++) {
        if (owns(s, *at, lid))
            return true;
        if (!is_switch(s, at->node) || !relay(s, lid, least_state, at))
            return false;
    }
    return false;
}

/* ---- directed routes ------------------------------------------------------------------------- */

static bool by_lid(uint16_t lid)
{
    return lid != FAB_LID_PERMISSIVE;
}

/* Moves the MAD along the directed part of its route, and writes the return path into the MAD. */
static bool follow(struct fab_sim *s, const struct fab_mad *mad, uint8_t *bytes,
                   struct position *at)
{
    for (unsigned hop = 1; hop <= mad->path.hops; hop++) {
        uint8_t out = bytes[SMP_INITIAL_PATH + hop];
        if (!may_leave(s, at, out, hop == 1 && !by_lid(mad->dr_slid)) ||
            !fab_sim_cross_link(s, at, out, FAB_STATE_INIT))
            return false;
        bytes[SMP_RETURN_PATH + hop] = at->port;
    }
    bytes[MAD_HOP_POINTER] = (uint8_t)(mad->path.hops + 1);
    return true;
}

bool fab_sim_forward_directed(struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid,
                              uint8_t *bytes, struct position *at, uint16_t *ret_slid)
{
    if (mad->hop_pointer != 0)
        return false;
    if (by_lid(mad->dr_slid) && !fab_sim_forward_lid(s, dlid, FAB_STATE_INIT, at))
        return false;
    if (!follow(s, mad, bytes, at))
        return false;
    if (!by_lid(mad->dr_dlid))
        return true;
    if (!is_switch(s, at->node))
        return false;
    *ret_slid = s->ports[lid_port(s, *at)].info.lid;
    return fab_sim_forward_lid(s, mad->dr_dlid, FAB_STATE_INIT, at);
}

bool fab_sim_return_directed(struct fab_sim *s, const struct fab_mad *mad, uint16_t lid,
                             uint8_t *bytes, struct position *at)
{
    uint8_t hops = mad->path.hops;
    if (by_lid(mad->dr_dlid) &&
        (!fab_sim_forward_lid(s, lid, FAB_STATE_INIT, at) || !is_switch(s, at->node)))
        return false;
    for (unsigned hop = hops; hop >= 1; hop--) {
        uint8_t out = bytes[SMP_RETURN_PATH + hop];
        if (!may_leave(s, at, out, hop == hops) || !fab_sim_cross_link(s, at, out, FAB_STATE_INIT))
            return false;
    }
    bytes[MAD_HOP_POINTER] = 0;
    return !by_lid(mad->dr_slid) || fab_sim_forward_lid(s, mad->dr_slid, FAB_STATE_INIT, at);
}
