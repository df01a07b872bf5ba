/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds paths for CUT switches in tables in which the VL depends on the source (labels/lanes.c).
 * Such a switch found no path (column.c), because the labels of its VL do not ascend along the
 * paths of its neighbours, or because they do not ascend for packets that pass it.
 *
 * A search goes backwards from the destination, breadth first, over channels whose labels descend
 * on the VL of the CUT switch. It may change the entry of each switch that it visits, if labels
 * ascend for all packets that now pass this switch, from where they arrive to the end of the new
 * path. So it finds the path with the fewest hops that harms no other packets.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* number of channels that the searches of one repair together may visit; this takes about 100 ms */
#define WORK_MAX 500000

struct lane_search {
    struct fab_repair *r;
    const uint32_t *label; /* [ports] labels on the VL of the CUT switch */
    uint32_t sw;           /* the CUT switch */
    /* [ports] the next channel on the path from each visited channel to the destination; FAB_NONE:
     * the channel leads to the destination switch */
    uint32_t *next;
    uint64_t *visited; /* bitset [ports] */
    uint32_t *queue;   /* [ports] the visited channels */
    uint32_t count;
};

/* Returns true if the path from `channel` on leads through the switch. */
static bool passes(const struct lane_search *g, uint32_t channel, uint32_t sw)
{
    for (; channel != FAB_NONE; channel = g->next[channel]) {
        if (fab_repair_switch_of(g->r->network, channel) == sw)
            return true;
    }
    return false;
}

/* Returns true if the switch may forward packets for the current LID over `channel`, and then on
 * the path of the search. */
static bool may_use(const struct lane_search *g, uint32_t sw, uint32_t channel)
{
    const struct fab_repair_network *b = g->r->network;
    const struct fab_repair_column *c = &g->r->column;
    struct fab_repair_arrivals arrivals;
    bool keeps = c->mark[sw] != FAB_MARK_CUT &&
                 fab_repair_channel(b, sw, fab_repair_column_entry(c, sw)) == channel;
    for (uint32_t at = channel; keeps && at != FAB_NONE; at = g->next[at])
        keeps = fab_repair_channel(b, fab_repair_switch_of(b, at),
                                   fab_repair_column_entry(c, fab_repair_switch_of(b, at))) == at;
    if (keeps)
        return true;
    fab_repair_lanes_arriving(g->r, sw, &arrivals);
    return fab_repair_lanes_allow_path(g->r, &arrivals, channel, g->next);
}

/* Visits the channels that lead to switch `sw`, from which packets continue on `onward`. Returns
 * the channel by which the CUT switch gets a path; FAB_NONE: none yet. */
static uint32_t visit(struct lane_search *g, uint32_t sw, uint32_t onward)
{
    const struct fab_repair *r = g->r;
    const struct fab_repair_network *b = r->network;
    uint32_t limit = onward != FAB_NONE ? g->label[onward] : FAB_REPAIR_DELIVERED;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        uint32_t from = b->peer_sw[port];
        if (from == FAB_NONE || from == r->column.home || fab_base_bits_get(r->is_dead, port))
            continue;
        uint32_t channel = fab_repair_peer_port(b, port);
        if (g->label[channel] >= limit || fab_base_bits_get(g->visited, channel) ||
            passes(g, onward, from))
            continue;
        g->next[channel] = onward;
        if (!may_use(g, from, channel))
            continue;
        if (from == g->sw)
            return channel;
        fab_base_bits_set(g->visited, channel);
        g->queue[g->count++] = channel;
    }
    return FAB_NONE;
}

static uint32_t find_path(struct lane_search *g)
{
    const struct fab_repair_network *b = g->r->network;
    memset(g->visited, 0, fab_base_bits_words(b->ports) * sizeof(*g->visited));
    g->count = 0;
    uint32_t found = visit(g, g->r->column.home, FAB_NONE);
    for (uint32_t i = 0; i < g->count && found == FAB_NONE && g->r->relax_work < WORK_MAX; i++) {
        found = visit(g, fab_repair_switch_of(b, g->queue[i]), g->queue[i]);
        g->r->relax_work++;
    }
    return found;
}

static void take_path(struct lane_search *g, uint32_t channel)
{
    const struct fab_repair_network *b = g->r->network;
    struct fab_repair_column *c = &g->r->column;
    for (; channel != FAB_NONE; channel = g->next[channel]) {
        uint32_t sw = fab_repair_switch_of(b, channel);
        if (c->mark[sw] == FAB_MARK_NONE)
            c->touched[c->touches++] = sw;
        c->mark[sw] = FAB_MARK_SETTLED;
        c->entry[sw] = (uint8_t)(channel - b->first[sw]);
    }
}

int fab_repair_column_search_lanes(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    const struct fab_repair_network *b = r->network;
    struct lane_search g = {.r = r,
                            .next = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*g.next)),
                            .queue = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*g.queue)),
                            .visited = fab_base_bits_new(b->ports)};
    bool memory = g.next != NULL && g.queue != NULL && g.visited != NULL;
    for (uint32_t i = 0; i < c->touches && memory; i++) {
        g.sw = c->touched[i];
        if (c->mark[g.sw] != FAB_MARK_CUT)
            continue;
        g.label = r->label + (size_t)b->pair_vl[(size_t)c->home * b->n + g.sw] * b->ports;
        take_path(&g, find_path(&g));
    }
    free(g.next);
    free(g.queue);
    free(g.visited);
    return memory ? FAB_OK : FAB_E_NOMEM;
}
