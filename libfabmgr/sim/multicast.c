/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves MADs that are sent to a multicast LID. Each switch sends a copy to every port in its MFT
 * entry except the input port (IBA 18.2.4.3.3). If the entry is empty, the switch sends one copy to
 * its DefaultMulticastPrimaryPort or, if the MAD came in by this port, to its
 * DefaultMulticastNotPrimaryPort. Each manager at a port that the MAD reaches receives a copy.
 *
 * Wrong tables can contain forwarding loops. Therefore the simulator makes at most as many copies
 * of a MAD as the fabric has ports, and no copy crosses more than 64 links.
 */
#include "libfabmgr/sim/device.h"

#define HOP_LIMIT 64
/* number of port masks in an MFT entry; each mask covers 16 ports */
#define POSITIONS 16

struct copies {
    struct fab_sim *sim;
    uint16_t slid, mlid;
    const uint8_t *mad;
    uint32_t left;
};

static void arrive(struct copies *c, struct position at);

static void send_copy(struct copies *c, struct position at, unsigned out)
{
    if (c->left == 0 || out > c->sim->fabric->nodes[at.node].num_ports)
        return;
    c->left--;
    if (out == 0)
        fab_sim_deliver_to_manager(c->sim, at, c->slid, c->mlid, c->mad);
    else if (fab_sim_cross_link(c->sim, &at, (uint8_t)out, FAB_STATE_ACTIVE))
        arrive(c, at);
}

static bool has_entry(const struct fab_switch_info *info, uint16_t mlid)
{
    uint32_t last = LID_MULTICAST + info->multicast_fdb_cap - 1u;
    if (info->multicast_fdb_top >= LID_MULTICAST && info->multicast_fdb_top < last)
        last = info->multicast_fdb_top;
    return mlid <= last;
}

/* Sends a copy of the MAD to each port in the MFT entry of the switch. Returns false if the entry
 * is empty. */
static bool send_by_entry(struct copies *c, struct position at)
{
    bool any = false;
    for (unsigned position = 0; position < POSITIONS; position++) {
        unsigned mask = fab_sim_mft(c->sim, at.node, c->mlid, position);
        any = any || mask != 0;
        for (unsigned bit = 0; bit < 16; bit++)
            if (mask >> bit & 1 && position * 16 + bit != at.port)
                send_copy(c, at, position * 16 + bit);
    }
    return any;
}

static void arrive(struct copies *c, struct position at)
{
    if (!is_switch(c->sim, at.node)) {
        fab_sim_deliver_to_manager(c->sim, at, c->slid, c->mlid, c->mad);
        return;
    }
    const struct fab_switch_info *info = &c->sim->switches[at.node].info;
    if (at.hops >= HOP_LIMIT || (has_entry(info, c->mlid) && send_by_entry(c, at)))
        return;
    uint8_t primary = info->default_mcast_primary_port;
    send_copy(c, at, at.port != primary ? primary : info->default_mcast_not_primary_port);
}

void fab_sim_multicast(struct fab_sim *s, struct position at, uint16_t slid, uint16_t mlid,
                       const uint8_t *mad)
{
    struct copies c = {
        .sim = s, .slid = slid, .mlid = mlid, .mad = mad, .left = s->fabric->port_count};
    at.port = is_switch(s, at.node) ? 0 : at.port;
    if (is_switch(s, at.node) || fab_sim_cross_link(s, &at, at.port, FAB_STATE_ACTIVE))
        arrive(&c, at);
}
