/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds paths for CUT switches in tables in which the VL depends on the source (labels/lanes.c).
 * Such a switch found no path (column.c), because each of its channels would close a cycle of
 * dependencies on a VL of the packets that pass it.
 *
 * A search goes backwards from the destination, breadth first. It may change the entry of each
 * switch that it visits, if the packets that now pass this switch, and those of the CUT switch,
 * close no cycle on the new path. So it finds the path with the fewest hops that harms no other
 * packets.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

struct lane_search {
    struct fab_repair *r;
    uint32_t sw;    /* the CUT switch */
    uint16_t lanes; /* set with the VL of its packets */
    /* [ports] the next channel on the path from each visited channel to the destination; FAB_NONE:
     * the channel leads to the destination switch */
    uint32_t *next;
    uint64_t *visited; /* bitset [ports] */
    uint32_t *queue;   /* [ports] the visited channels */
    uint32_t count;
    /* [switches] entries and marks of the switches on a path before it was taken */
    uint8_t *former, *former_mark;
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

static bool is_present(const struct lane_search *g, uint32_t channel)
{
    const struct fab_repair_network *b = g->r->network;
    const struct fab_repair_column *c = &g->r->column;
    uint32_t sw = fab_repair_switch_of(b, channel);
    return c->mark[sw] != FAB_MARK_CUT &&
           fab_repair_channel(b, sw, fab_repair_column_entry(c, sw)) == channel;
}

/* Returns true if two kinds of packets may follow the path of the search from `channel` to the
 * destination: those of the CUT switch, and those that pass the switch at the beginning of
 * `channel`. The second kind is not checked if it takes this path already. */
static bool may_use(const struct lane_search *g, uint32_t channel)
{
    bool keeps = true;
    for (uint32_t at = channel; keeps && at != FAB_NONE; at = g->next[at])
        keeps = is_present(g, at);
    uint32_t sw = keeps ? FAB_NONE : fab_repair_switch_of(g->r->network, channel);
    return fab_repair_lanes_allow(g->r, sw, channel, g->lanes, g->next);
}

/* Adds the dependencies of all packets that pass the switches of the path from `channel` on. */
static bool add_path(struct lane_search *g, uint32_t channel)
{
    bool good = true;
    for (; good && channel != FAB_NONE; channel = g->next[channel])
        good = fab_repair_lanes_add(g->r, fab_repair_switch_of(g->r->network, channel), channel, 0,
                                    NULL);
    return good;
}

/* Gives each switch of the path from `channel` on the entry that leads along it. Returns false, and
 * restores the former entries, if this closes a cycle of dependencies. */
static bool take_path(struct lane_search *g, uint32_t channel)
{
    const struct fab_repair_network *b = g->r->network;
    struct fab_repair_column *c = &g->r->column;
    size_t mark = g->r->graph.undos;
    for (uint32_t at = channel; at != FAB_NONE; at = g->next[at]) {
        uint32_t sw = fab_repair_switch_of(b, at);
        uint8_t former = fab_repair_column_entry(c, sw);
        if (c->mark[sw] == FAB_MARK_NONE)
            c->touched[c->touches++] = sw;
        g->former_mark[sw] = c->mark[sw] == FAB_MARK_NONE ? FAB_MARK_KNOWN : c->mark[sw];
        g->former[sw] = former;
        c->mark[sw] = FAB_MARK_SETTLED;
        c->entry[sw] = (uint8_t)(at - b->first[sw]);
    }
    if (add_path(g, channel))
        return true;
    fab_repair_dependencies_undo(g->r, mark);
    for (uint32_t at = channel; at != FAB_NONE; at = g->next[at]) {
        uint32_t sw = fab_repair_switch_of(b, at);
        c->mark[sw] = g->former_mark[sw];
        c->entry[sw] = g->former[sw];
    }
    return false;
}

/* Visits the channels that lead to switch `sw`, from which packets continue on `onward`. Returns
 * the channel by which the CUT switch gets a path; FAB_NONE: none yet. */
static uint32_t visit(struct lane_search *g, uint32_t sw, uint32_t onward)
{
    const struct fab_repair *r = g->r;
    const struct fab_repair_network *b = r->network;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        uint32_t from = b->peer_sw[port];
        if (from == FAB_NONE || from == r->column.home || fab_base_bits_get(r->is_dead, port))
            continue;
        uint32_t channel = fab_repair_peer_port(b, port);
        if (fab_base_bits_get(g->visited, channel) || passes(g, onward, from))
            continue;
        g->next[channel] = onward;
        if (!may_use(g, channel))
            continue;
        if (from == g->sw && take_path(g, channel))
            return channel;
        fab_base_bits_set(g->visited, channel);
        g->queue[g->count++] = channel;
    }
    return FAB_NONE;
}

/* Searches a path for the CUT switch, and takes it. */
static void find_path(struct lane_search *g)
{
    const struct fab_repair_network *b = g->r->network;
    fab_base_bits_zero(g->visited, b->ports);
    g->count = 0;
    uint32_t found = visit(g, g->r->column.home, FAB_NONE);
    for (uint32_t i = 0; i < g->count && found == FAB_NONE; i++) {
        if (g->r->graph.work > FAB_REPAIR_WORK_MAX)
            return;
        found = visit(g, fab_repair_switch_of(b, g->queue[i]), g->queue[i]);
    }
}

int fab_repair_column_search_lanes(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    const struct fab_repair_network *b = r->network;
    struct lane_search g = {.r = r,
                            .next = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*g.next)),
                            .queue = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*g.queue)),
                            .visited = fab_base_bits_new(b->ports),
                            .former = malloc((size_t)b->n + 1),
                            .former_mark = malloc((size_t)b->n + 1)};
    bool memory = g.next && g.queue && g.visited && g.former && g.former_mark;
    for (uint32_t i = 0; i < c->touches && memory; i++) {
        g.sw = c->touched[i];
        if (c->mark[g.sw] != FAB_MARK_CUT)
            continue;
        g.lanes = (uint16_t)(1u << b->pair_vl[(size_t)c->home * b->n + g.sw]);
        find_path(&g);
    }
    free(g.next);
    free(g.queue);
    free(g.visited);
    free(g.former);
    free(g.former_mark);
    return memory ? FAB_OK : FAB_E_NOMEM;
}
