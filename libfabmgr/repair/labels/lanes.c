/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels of tables in which the VL depends on the pair of source and destination switch.
 *
 * Each VL has its own labels. Packets of several VLs to one LID share the LFT entries of the
 * switches that they pass. So an entry is correct if labels ascend on the VLs of all packets that
 * pass it, from the channel over which they arrive, over the channel of the entry, and on to the
 * destination. Only the packets that pass a changed entry can meet a new turn. It suffices to check
 * these packets: where they arrive at the entry, and all turns from there on. Before the first
 * changed entry on its path, a packet meets the turns that it met before.
 */
#include "libfabmgr/repair/internal.h"

/* Returns true if switch `from` now forwards packets for the current LID over the link of `port`,
 * which is a port of the switch at the other end. */
static bool sends_to(const struct fab_repair *r, uint32_t from, uint32_t port)
{
    const struct fab_repair_column *c = &r->column;
    return from != FAB_NONE && from != c->home && c->mark[from] != FAB_MARK_PENDING &&
           c->mark[from] != FAB_MARK_CUT && !fab_base_bits_get(r->is_dead, port) &&
           fab_repair_column_entry(c, from) == r->network->peer_num[port];
}

/* Returns the set of VLs of all packets for the current LID that pass switch `sw`. The entries must
 * not form a loop through `sw`. */
static uint16_t lanes_behind(const struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_network *b = r->network;
    unsigned lanes = 1u << b->pair_vl[(size_t)r->column.home * b->n + sw];
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (sends_to(r, b->peer_sw[port], port))
            lanes |= lanes_behind(r, b->peer_sw[port]);
    }
    return (uint16_t)lanes;
}

static bool labels_ascend(const struct fab_repair *r, unsigned lanes, uint32_t from, uint32_t to)
{
    for (; lanes != 0; lanes &= lanes - 1) {
        const uint32_t *label = r->label + (size_t)__builtin_ctz(lanes) * r->network->ports;
        if (label[from] >= label[to])
            return false;
    }
    return true;
}

bool fab_repair_turn_ascends(const struct fab_repair *r, uint32_t from, uint32_t to)
{
    const struct fab_repair_network *b = r->network;
    return b->pair_vl != NULL ? labels_ascend(r, b->lanes_to[r->column.home], from, to)
                              : r->column.label[from] < r->column.label[to];
}

void fab_repair_lanes_arriving(const struct fab_repair *r, uint32_t sw,
                               struct fab_repair_arrivals *ret)
{
    const struct fab_repair_network *b = r->network;
    ret->count = 0;
    ret->lanes = (uint16_t)(1u << b->pair_vl[(size_t)r->column.home * b->n + sw]);
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (!sends_to(r, b->peer_sw[port], port))
            continue;
        uint16_t lanes = lanes_behind(r, b->peer_sw[port]);
        ret->channel[ret->count] = fab_repair_peer_port(b, port);
        ret->of[ret->count++] = lanes;
        ret->lanes |= lanes;
    }
}

static bool may_leave_by(const struct fab_repair *r, const struct fab_repair_arrivals *a,
                         uint32_t channel)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (!labels_ascend(r, a->of[i], a->channel[i], channel))
            return false;
    }
    return true;
}

bool fab_repair_lanes_allow_path(const struct fab_repair *r, const struct fab_repair_arrivals *a,
                                 uint32_t channel, const uint32_t *next)
{
    bool good = may_leave_by(r, a, channel);
    for (; good && next[channel] != FAB_NONE; channel = next[channel])
        good = labels_ascend(r, a->lanes, channel, next[channel]);
    return good;
}

bool fab_repair_lanes_allow(const struct fab_repair *r, const struct fab_repair_arrivals *a,
                            uint32_t channel)
{
    const struct fab_repair_network *b = r->network;
    if (!may_leave_by(r, a, channel))
        return false;
    uint32_t sw = b->peer_sw[channel];
    for (uint32_t passed = 0; sw != r->column.home; passed++) {
        uint32_t next = fab_repair_channel(b, sw, fab_repair_column_entry(&r->column, sw));
        if (next == FAB_NONE || fab_base_bits_get(r->is_dead, next))
            return true; /* the packets go no further */
        if (passed > b->n || !labels_ascend(r, a->lanes, channel, next))
            return false;
        channel = next;
        sw = b->peer_sw[next];
    }
    return true;
}
