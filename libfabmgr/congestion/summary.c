/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the facts about the whole fabric that congestion control needs. For the endports, these are
 * their number, their slowest link, their largest MTU and their longest distance. For each switch,
 * these are the distance from endports and the ratio of endport bandwidth to ISL bandwidth.
 *
 * The longest distance comes from two breadth-first searches: the first from any switch with
 * endports, the second from the farthest switch with endports that the first has found. The result
 * is exact on trees and on vertex-symmetric graphs. On other graphs it may be too short, but never
 * too long. This suffices, because only round-trip times are computed from the distance.
 */
#include "libfabmgr/congestion/summary.h"

#include <stdlib.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define TAPER_STEP 50
#define TAPER_MOST 1000

bool fab_congestion_is_edge(const struct fab_fabric *f, uint32_t port)
{
    const struct fab_node *n = &f->nodes[fab_fabric_port(f, port)->node];
    return n->type != FAB_NODE_SWITCH && !n->aggregation && fab_fabric_port_is_up(f, port);
}

static void add_endports(const struct fab_fabric *f, struct fab_congestion_summary *s)
{
    for (uint32_t p = 0; p < f->port_count; p++) {
        if (!fab_congestion_is_edge(f, p))
            continue;
        uint32_t rate = fab_wire_link_rate(&fab_fabric_port(f, p)->info);
        uint16_t mtu = (uint16_t)fab_wire_mtu_bytes(fab_fabric_port(f, p)->info.mtu_cap);
        s->endports++;
        s->slowest = rate > 0 && (s->slowest == 0 || rate < s->slowest) ? rate : s->slowest;
        s->mtu = mtu > s->mtu ? mtu : s->mtu;
    }
}

/* Returns the taper in percent: the total rate of the endports (`in`) divided by the total rate of
 * the ISLs (`out`), rounded to a multiple of TAPER_STEP, so that a single link rarely changes a
 * setting. */
static uint16_t taper_of(uint64_t in, uint64_t out)
{
    uint64_t percent = out > 0 ? (in * 100 + out / 2) / out : 100;
    percent = (percent + TAPER_STEP / 2) / TAPER_STEP * TAPER_STEP;
    return (uint16_t)(percent < 100 ? 100 : percent > TAPER_MOST ? TAPER_MOST : percent);
}

static void add_tapers(const struct fab_fabric *f, struct fab_congestion_summary *s)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++) {
        uint64_t in = 0, out = 0;
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i),
                     peer = fab_fabric_peer_node(f, port);
            if (!fab_fabric_port_is_up(f, port))
                continue;
            if (fab_fabric_node_is_switch(f, peer))
                out += fab_wire_link_rate(&fab_fabric_port(f, port)->info);
            else
                in += fab_wire_link_rate(&fab_fabric_port(f, port)->info);
        }
        s->taper[sw] = taper_of(in, out);
    }
}

static bool has_endports(const struct fab_fabric *f, uint32_t sw)
{
    for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
        uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i);
        if (fab_fabric_port_is_up(f, port) &&
            fab_congestion_is_edge(f, fab_fabric_port(f, port)->peer))
            return true;
    }
    return false;
}

/* Searches breadth-first from switch `from`. Returns the farthest switch with endports, and sets
 * *ret_distance to its distance in hops. room[2 * switch_count] is scratch memory. */
static uint32_t farthest(const struct fab_fabric *f, uint32_t from, uint32_t *room,
                         uint32_t *ret_distance)
{
    uint32_t *queue = room, *distance = room + f->switch_count, head = 0, tail = 0, last = from;
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        distance[sw] = FAB_NONE;
    distance[from] = 0;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t sw = queue[head++];
        if (distance[sw] > distance[last] && has_endports(f, sw))
            last = sw;
        for (uint32_t i = 1; i <= f->nodes[sw].num_ports; i++) {
            uint32_t port = fab_fabric_port_id(f, sw, (uint8_t)i),
                     to = fab_fabric_peer_node(f, port);
            if (!fab_fabric_port_is_up(f, port) || !fab_fabric_node_is_switch(f, to) ||
                distance[to] != FAB_NONE)
                continue;
            distance[to] = distance[sw] + 1;
            queue[tail++] = to;
        }
    }
    *ret_distance = distance[last];
    return last;
}

static int add_distance(const struct fab_fabric *f, struct fab_congestion_summary *s)
{
    uint32_t first = 0, distance = 0;
    uint32_t *room = fab_base_alloc_array(f->switch_count, 2 * sizeof *room);
    if (room == NULL)
        return FAB_E_NOMEM;
    while (first < f->switch_count && !has_endports(f, first))
        first++;
    if (first < f->switch_count)
        farthest(f, farthest(f, first, room, &distance), room, &distance);
    s->hops = (uint8_t)(distance < UINT8_MAX ? distance + 1 : UINT8_MAX);
    free(room);
    return FAB_OK;
}

/* Makes one step of a breadth-first search. The rank of a switch is its distance in hops from the
 * nearest switch with endports. Switches without a rank that are linked to a switch of rank r get
 * rank r + 1. Returns true if a switch got a rank. */
static bool rank_next(const struct fab_fabric *f, uint8_t *rank, uint8_t r)
{
    bool any = false;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t sw = fab_fabric_port(f, port)->node, to = fab_fabric_peer_node(f, port);
        if (!fab_fabric_node_is_switch(f, sw) || to == FAB_NONE ||
            !fab_fabric_node_is_switch(f, to) || rank[to] != r || rank[sw] != UINT8_MAX ||
            !fab_fabric_port_is_up(f, port))
            continue;
        rank[sw] = (uint8_t)(r + 1);
        any = true;
    }
    return any;
}

static void add_ranks(const struct fab_fabric *f, struct fab_congestion_summary *s)
{
    for (uint32_t sw = 0; sw < f->switch_count; sw++)
        s->rank[sw] = has_endports(f, sw) ? 0 : UINT8_MAX;
    for (uint8_t r = 0; r < UINT8_MAX - 1 && rank_next(f, s->rank, r); r++)
        ;
}

int fab_congestion_summary_init(const struct fab_fabric *f, struct fab_congestion_summary *ret)
{
    struct fab_congestion_summary s = {
        .taper = fab_base_alloc_array(f->switch_count, sizeof *s.taper),
        .rank = fab_base_alloc_array(f->switch_count, sizeof *s.rank)};
    int rc = s.taper != NULL && s.rank != NULL ? add_distance(f, &s) : FAB_E_NOMEM;
    if (rc != FAB_OK) {
        fab_congestion_summary_fini(&s);
        return rc;
    }
    add_endports(f, &s);
    add_tapers(f, &s);
    add_ranks(f, &s);
    *ret = s;
    return FAB_OK;
}

void fab_congestion_summary_fini(struct fab_congestion_summary *s)
{
    free(s->taper);
    free(s->rank);
    s->rank = NULL;
    s->taper = NULL;
}
