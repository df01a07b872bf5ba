/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How MADs get from port to port: along a directed route (IBA 14.2.2), which may begin and end with
 * a part that goes by LID, or by the LIDs and linear forwarding tables that the switches hold (IBA
 * 18.2.4). What a device would lose is lost here too.
 * Subnet management travels on VL15, which a link carries from Init on; all else needs it Active
 * (IBA 7.2.7).
 */
#include "libfabmgr/sim/device.h"

#define LID_HOP_LIMIT 64 /* where a forwarding loop ends */

/* Whether a packet that comes in by that port was spoiled on its cable. */
static bool spoiled(struct fab_sim *s, uint32_t port)
{
    if (!chance(s, (double)s->ports[port].spoils))
        return false;
    count(s, port, FAB_SIM_SYMBOL_ERRORS, 1);
    count(s, port, FAB_SIM_RCV_ERRORS, 1);
    count(s, port, FAB_SIM_LOCAL_PHYSICAL_ERRORS, 1);
    return true;
}

/* Over the cable of a port. */
static bool cross(struct fab_sim *s, struct spot *at, uint8_t out, uint8_t least_state)
{
    if (out == 0 || out > s->fabric->nodes[at->node].num_ports)
        return false;
    uint32_t port = port_id(s, at->node, out), far = s->fabric->ports[port].peer;
    if (far == FAB_NONE || s->ports[port].unlinked ||
        s->ports[port].info.port_state < least_state || s->ports[far].info.port_state < least_state)
        return false;
    if (s->noisy && spoiled(s, far))
        return false;
    at->node = s->fabric->ports[far].node;
    at->port = s->fabric->ports[far].num;
    at->hops++;
    return true;
}

/* Adapters pass nothing on, and send by their own port only. origin: the MAD begins there. */
static bool may_leave(const struct fab_sim *s, const struct spot *at, uint8_t out, bool origin)
{
    return is_switch(s, at->node) || (origin && out == at->port);
}

static bool owns(const struct fab_sim *s, struct spot at, uint32_t lid)
{
    const struct fab_port_info *info = &s->ports[lid_port(s, at)].info;
    return info->lid != 0 && lid >= info->lid && lid < info->lid + (1u << info->lmc);
}

static uint8_t look_up(const struct sim_switch *sw, uint32_t lid)
{
    return lid < sw->lft_room && lid <= sw->info.linear_fdb_top ? sw->lft[lid] : DROPPED_PORT;
}

bool move_lid(struct fab_sim *s, uint32_t lid, uint8_t least_state, struct spot *at)
{
    if (lid == FAB_LID_PERMISSIVE || owns(s, *at, lid))
        return true;
    if (!is_switch(s, at->node) && !cross(s, at, at->port, least_state))
        return false;
    for (unsigned hop = 0; hop < LID_HOP_LIMIT; hop++) {
        if (owns(s, *at, lid))
            return true;
        if (!is_switch(s, at->node) ||
            !cross(s, at, look_up(&s->switches[at->node], lid), least_state))
            return false;
    }
    return false;
}

/* ---- directed routes --------------------------------------------------------------------------
 */

static bool by_lid(uint16_t lid)
{
    return lid != FAB_LID_PERMISSIVE;
}

/* The directed part of the way there; the return path is written on the way. */
static bool follow(struct fab_sim *s, const struct fab_mad *mad, uint8_t *bytes, struct spot *at)
{
    for (unsigned hop = 1; hop <= mad->path.hops; hop++) {
        uint8_t out = bytes[SMP_INITIAL_PATH + hop];
        if (!may_leave(s, at, out, hop == 1 && !by_lid(mad->dr_slid)) ||
            !cross(s, at, out, FAB_STATE_INIT))
            return false;
        bytes[SMP_RETURN_PATH + hop] = at->port;
    }
    bytes[MAD_HOP_POINTER] = (uint8_t)(mad->path.hops + 1);
    return true;
}

bool move_out(struct fab_sim *s, const struct fab_mad *mad, uint16_t dlid, uint8_t *bytes,
              struct spot *at, uint16_t *ret_slid)
{
    if (mad->hop_pointer != 0)
        return false;
    if (by_lid(mad->dr_slid) && !move_lid(s, dlid, FAB_STATE_INIT, at))
        return false;
    if (!follow(s, mad, bytes, at))
        return false;
    if (!by_lid(mad->dr_dlid))
        return true;
    if (!is_switch(s, at->node))
        return false;
    *ret_slid = s->ports[lid_port(s, *at)].info.lid;
    return move_lid(s, mad->dr_dlid, FAB_STATE_INIT, at);
}

bool move_back(struct fab_sim *s, const struct fab_mad *mad, uint16_t lid, uint8_t *bytes,
               struct spot *at)
{
    uint8_t hops = mad->path.hops;
    if (by_lid(mad->dr_dlid) && (!move_lid(s, lid, FAB_STATE_INIT, at) || !is_switch(s, at->node)))
        return false;
    for (unsigned hop = hops; hop >= 1; hop--) {
        uint8_t out = bytes[SMP_RETURN_PATH + hop];
        if (!may_leave(s, at, out, hop == hops) || !cross(s, at, out, FAB_STATE_INIT))
            return false;
    }
    bytes[MAD_HOP_POINTER] = 0;
    return !by_lid(mad->dr_slid) || move_lid(s, mad->dr_slid, FAB_STATE_INIT, at);
}
