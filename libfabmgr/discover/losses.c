/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the nodes that a new snapshot lacks. If a switch loses power, its neighbours report their
 * links to it as down, which proves the loss. If only MADs were lost, the neighbours report these
 * links as up. The search begins at such links and follows the links among the lost nodes. All
 * nodes that it reaches may still be there.
 */
#include "libfabmgr/discover/losses.h"

#include <stdlib.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/status.h"

struct search {
    const struct fab_fabric *former, *now;
    uint64_t *lost, *reached; /* bitsets of node ids of the former snapshot */
    uint32_t *queue;
    uint32_t tail;
};

static void reach(struct search *s, uint32_t node)
{
    if (!fab_base_bits_get(s->lost, node) || fab_base_bits_get(s->reached, node))
        return;
    fab_base_bits_set(s->reached, node);
    s->queue[s->tail++] = node;
}

/* Returns true if this port of the former snapshot is LinkUp in the new snapshot, but has no link
 * there. */
static bool leads_to_nothing(const struct search *s, uint32_t port)
{
    const struct fab_port *was = fab_fabric_port(s->former, port);
    uint32_t node = fab_fabric_node_by_guid(s->now, s->former->nodes[was->node].guid);
    if (node == FAB_NONE || was->num > s->now->nodes[node].num_ports)
        return false;
    const struct fab_port *is = fab_fabric_port(s->now, fab_fabric_port_id(s->now, node, was->num));
    return is->present && is->peer == FAB_NONE && is->info.phys_state == FAB_PHYS_LINKUP;
}

static void begin_at_links(struct search *s)
{
    for (uint32_t port = 0; port < s->former->port_count; port++) {
        uint32_t peer = fab_fabric_peer_node(s->former, port);
        if (peer != FAB_NONE && fab_base_bits_get(s->lost, peer) && leads_to_nothing(s, port))
            reach(s, peer);
    }
}

static void spread(struct search *s)
{
    const struct fab_fabric *f = s->former;
    for (uint32_t head = 0; head < s->tail; head++)
        for (uint32_t num = 0; num <= f->nodes[s->queue[head]].num_ports; num++) {
            uint32_t port = fab_fabric_port_id(f, s->queue[head], (uint8_t)num);
            uint32_t peer = fab_fabric_peer_node(f, port);
            if (peer != FAB_NONE)
                reach(s, peer);
        }
}

static bool has_link(const struct fab_fabric *f, uint32_t node)
{
    uint32_t num = 0;
    while (num <= f->nodes[node].num_ports &&
           fab_fabric_port(f, fab_fabric_port_id(f, node, (uint8_t)num))->peer == FAB_NONE)
        num++;
    return num <= f->nodes[node].num_ports;
}

static bool own_uplink_lost(const struct fab_fabric *former, const struct fab_fabric *now)
{
    if (former->self_port == FAB_NONE || now->self_port == FAB_NONE)
        return false;
    return has_link(former, fab_fabric_port(former, former->self_port)->node) &&
           !has_link(now, fab_fabric_port(now, now->self_port)->node);
}

/* Marks the nodes of the former snapshot that the new snapshot lacks, and returns their number.
 * Only examines nodes `from` to `to` - 1, all of one kind (switches or other nodes). Nodes
 * `now_from` to `now_to` - 1 are the nodes of this kind in the new snapshot. Both ranges are sorted
 * by GUID (struct fab_fabric). A device that has become another kind of node is not lost. */
static uint32_t mark_lost(struct search *s, uint32_t from, uint32_t to, uint32_t now_from,
                          uint32_t now_to)
{
    uint32_t lost = 0, at = now_from;
    for (uint32_t node = from; node < to; node++) {
        uint64_t guid = s->former->nodes[node].guid;
        while (at < now_to && s->now->nodes[at].guid < guid)
            at++;
        if ((at < now_to && s->now->nodes[at].guid == guid) ||
            fab_fabric_node_by_guid(s->now, guid) != FAB_NONE)
            continue;
        fab_base_bits_set(s->lost, node);
        lost++;
    }
    return lost;
}

int fab_discover_losses(const struct fab_fabric *former, const struct fab_fabric *now,
                        struct fab_losses *ret)
{
    struct fab_losses l = {.own_uplink = own_uplink_lost(former, now)};
    struct search s = {.former = former,
                       .now = now,
                       .lost = fab_base_bits_new(former->node_count),
                       .reached = fab_base_bits_new(former->node_count),
                       .queue = calloc(former->node_count + 1u, sizeof(*s.queue))};
    int status = s.lost != NULL && s.reached != NULL && s.queue != NULL ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK)
        l.nodes = mark_lost(&s, 0, former->switch_count, 0, now->switch_count) +
                  mark_lost(&s, former->switch_count, former->node_count, now->switch_count,
                            now->node_count);
    if (status == FAB_OK && l.nodes > 0) {
        begin_at_links(&s);
        spread(&s);
        l.unproved = s.tail;
    }
    if (status == FAB_OK)
        *ret = l;
    free(s.lost);
    free(s.reached);
    free(s.queue);
    return status;
}
