/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts the link loads of all-to-all traffic and of all shifts, for local_search.c.
 *
 * The paths to an endport form a tree, given by next[]. A move changes the next hop of one switch
 * towards one endport. A move takes flow[] flows from the old path and puts them on the new path,
 * up to the switch where both paths join.
 *
 * For shifts there is a counter for each channel and shift. In the shift by k, endport i sends to
 * endport i + k. The endports of a switch have consecutive numbers, so the flows of one source
 * switch to one endport belong to consecutive shifts. For each source switch whose path leads
 * through the switch of the move, the move changes a contiguous range of counters.
 */
#include "libfabmgr/route/local_search/link_load.h"

#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

void fab_route_link_load_fini(struct fab_link_load *b)
{
    fab_base_arena_fini(&b->arena);
    memset(b, 0, sizeof(*b));
}

/* ---- ranges of shift counters ---------------------------------------------------------------- */

static struct fab_link_load_range range_of(const struct fab_link_load *b,
                                           const struct fab_link_load_run *run, uint32_t end)
{
    uint32_t from = (end + b->ends - (run->first + run->count - 1)) % b->ends;
    uint32_t room = b->ends - from;
    uint32_t before = run->count < room ? run->count : room;
    return (struct fab_link_load_range){from, before, run->count - before};
}

/* Returns true if the path that starts at switch `from` and follows next[] leads through switch
 * `sw`. */
static bool passes(const struct fab_link_load *b, const uint32_t *next, uint32_t from, uint32_t sw)
{
    while (from != sw && next[from] != FAB_NONE)
        from = b->g->port_peer[next[from]];
    return from == sw;
}

/* ---- counting the paths of the tables -------------------------------------------------------- */

static int add_ends(struct fab_link_load *b, const struct fab_local_search_input *in)
{
    for (uint32_t i = 0; i < b->ends; i++) {
        uint32_t port = in->ends[i], sw = fab_fabric_peer_node(in->fabric, port);
        if (in->lids->base[port] == 0 || sw >= b->g->n)
            return FAB_E_UNSUPPORTED;
        b->end[i] = (struct fab_link_load_endport){sw, in->lids->base[port]};
        if (i == 0 || b->run[b->runs - 1].sw != sw)
            b->run[b->runs++] = (struct fab_link_load_run){.sw = sw, .first = i};
        b->run[b->runs - 1].count++;
    }
    return FAB_OK;
}

static void read_tables(struct fab_link_load *b, const struct fab_fabric *f,
                        const struct fab_lft *lft, const uint32_t *by_port)
{
    const struct fab_graph *g = b->g;
    for (uint32_t i = 0; i < b->ends; i++) {
        uint32_t *next = fab_route_link_load_next(b, i);
        for (uint32_t sw = 0; sw < g->n; sw++) {
            uint8_t num = fab_target_lft_at(lft, sw, b->end[i].lid);
            next[sw] = sw == b->end[i].sw || num > f->nodes[sw].num_ports
                           ? FAB_NONE
                           : by_port[fab_fabric_port_id(f, sw, num)];
        }
    }
}

static int count_cells(uint8_t *cell, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (cell[i] == FAB_LINK_LOAD_FLOWS / 2)
            return FAB_E_LIMIT;
        cell[i]++;
    }
    return FAB_OK;
}

/* Adds the paths from the endports of one run (endports of one switch) to endport `end` to flow[],
 * load[] and cell[]. Returns UNSUPPORTED if there is no path, or LIMIT if the path is too long or a
 * counter too high. */
static int count_path(struct fab_link_load *b, const struct fab_link_load_run *run, uint32_t end)
{
    uint32_t *next = fab_route_link_load_next(b, end), *flow = fab_route_link_load_flow(b, end),
             hops = 0;
    struct fab_link_load_range s = range_of(b, run, end);
    int status = FAB_OK;
    for (uint32_t sw = run->sw; status == FAB_OK && sw != b->end[end].sw;) {
        uint32_t c = next[sw];
        if (c == FAB_NONE)
            return FAB_E_UNSUPPORTED;
        if (++hops > FAB_LINK_LOAD_HOPS)
            return FAB_E_LIMIT;
        flow[sw] += run->count;
        b->load[c] += run->count * b->g->port_slow[c];
        status = count_cells(b->cell + (size_t)c * b->ends + s.from, s.before);
        if (status == FAB_OK)
            status = count_cells(b->cell + (size_t)c * b->ends, s.rest);
        sw = b->g->port_peer[c];
    }
    return status;
}

/* Returns how many flows of one shift channel `c` may carry before it exceeds the bound. */
static uint32_t flow_bound(const struct fab_link_load *b, uint32_t c)
{
    return b->most_flows / b->g->port_slow[c];
}

static int count_all(struct fab_link_load *b)
{
    int status = FAB_OK;
    for (uint32_t end = 0; end < b->ends; end++) {
        for (uint32_t i = 0; status == FAB_OK && i < b->runs; i++) {
            if (b->run[i].sw != b->end[end].sw)
                status = count_path(b, &b->run[i], end);
        }
    }
    for (uint32_t c = 0; c < b->channels; c++) {
        const uint8_t *cell = fab_route_link_load_cells(b, c);
        for (uint32_t k = 0; k < b->ends; k++)
            b->cells[cell[k] * b->g->port_slow[c]]++;
    }
    return status;
}

static int allocate(struct fab_link_load *b, const struct fab_local_search_input *in)
{
    size_t each = (size_t)b->ends * b->g->n;
    b->end = fab_base_arena_alloc(&b->arena, in->end_count, sizeof(*b->end));
    b->run = fab_base_arena_alloc(&b->arena, in->end_count, sizeof(*b->run));
    b->next = fab_base_arena_alloc(&b->arena, each, sizeof(*b->next));
    b->flow = fab_base_arena_alloc(&b->arena, each + 1, sizeof(*b->flow));
    b->load = fab_base_arena_alloc(&b->arena, (size_t)b->channels + 1, sizeof(*b->load));
    b->over = fab_base_arena_alloc(&b->arena, (size_t)b->channels + 1, sizeof(*b->over));
    b->cell = fab_base_arena_alloc(&b->arena, (size_t)b->channels * b->ends + 1, 1);
    b->cells = fab_base_arena_alloc(&b->arena, FAB_LINK_LOAD_WEIGHTED + 1, sizeof(*b->cells));
    b->upstream = fab_base_arena_alloc(&b->arena, in->end_count, sizeof(*b->upstream));
    b->upstream_end = FAB_NONE;
    return !b->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

int fab_route_link_load_init(struct fab_link_load *b, const struct fab_graph *g,
                             const uint32_t *by_port, const struct fab_local_search_input *in,
                             const struct fab_lft *lft)
{
    struct fab_link_load made = {.g = g, .ends = in->end_count, .channels = g->port_at[g->n]};
    int status = allocate(&made, in);
    if (status == FAB_OK)
        status = add_ends(&made, in);
    if (status == FAB_OK) {
        read_tables(&made, in->fabric, lft, by_port);
        status = count_all(&made);
    }
    if (status == FAB_OK)
        *b = made;
    else
        fab_route_link_load_fini(&made);
    return status;
}

uint32_t fab_route_link_load_max(const struct fab_link_load *b)
{
    uint32_t most = 0;
    for (uint32_t c = 0; c < b->channels; c++)
        most = b->load[c] > most ? b->load[c] : most;
    return most;
}

uint32_t fab_route_link_load_max_flows(const struct fab_link_load *b)
{
    uint32_t most = FAB_LINK_LOAD_WEIGHTED;
    while (most > 0 && b->cells[most] == 0)
        most--;
    return most;
}

static uint32_t over_of(const struct fab_link_load *b, uint32_t channel)
{
    const uint8_t *cell = fab_route_link_load_cells(b, channel);
    uint32_t over = 0, bound = flow_bound(b, channel);
    for (uint32_t k = 0; k < b->ends; k++)
        over += cell[k] > bound ? cell[k] - bound : 0;
    return over;
}

void fab_route_link_load_set_bounds(struct fab_link_load *b, uint32_t load, uint32_t flows)
{
    b->most_load = load;
    b->most_flows = flows;
    b->over_load = b->over_flows = 0;
    bool any = fab_route_link_load_max_flows(b) > flows;
    for (uint32_t c = 0; c < b->channels; c++) {
        b->over_load += b->load[c] > load ? b->load[c] - load : 0;
        b->over[c] = any ? over_of(b, c) : 0;
        b->over_flows += b->over[c];
    }
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* Appends to path[] the channels from switch sw to the switch `home` of the destination. Returns
 * false if the path is too long, does not reach `home`, or leads through the switch `without`. */
static bool follow(const struct fab_link_load *b, const uint32_t *next, uint32_t home, uint32_t sw,
                   uint32_t without, uint32_t *path, uint32_t *count)
{
    while (sw != home) {
        if (sw == without || next[sw] == FAB_NONE || *count == FAB_LINK_LOAD_HOPS)
            return false;
        path[(*count)++] = next[sw];
        sw = b->g->port_peer[next[sw]];
    }
    return true;
}

bool fab_route_move_find(const struct fab_link_load *b, uint32_t end, uint32_t sw, uint32_t channel,
                         struct fab_local_move *ret)
{
    const uint32_t *next = fab_route_link_load_next(b, end);
    uint32_t home = b->end[end].sw, left = 0, taken = 1;
    ret->taken[0] = channel;
    if (!follow(b, next, home, b->g->port_peer[channel], sw, ret->taken, &taken) ||
        !follow(b, next, home, sw, FAB_NONE, ret->left, &left))
        return false;
    while (taken > 1 && left > 1 && ret->taken[taken - 1] == ret->left[left - 1]) {
        taken--;
        left--;
    }
    ret->end = end;
    ret->sw = sw;
    ret->channel = channel;
    ret->flow = fab_route_link_load_flow(b, end)[sw];
    ret->left_count = left;
    ret->taken_count = taken;
    return true;
}

static uint32_t excess(uint32_t value, uint32_t bound)
{
    return value > bound ? value - bound : 0;
}

int64_t fab_route_move_load_delta(const struct fab_link_load *b, const struct fab_local_move *d)
{
    int64_t change = 0;
    for (uint32_t i = 0; i < d->left_count; i++) {
        uint32_t c = d->left[i], load = b->load[c], part = d->flow * b->g->port_slow[c];
        change -= (int64_t)excess(load, b->most_load) - excess(load - part, b->most_load);
    }
    for (uint32_t i = 0; i < d->taken_count; i++) {
        uint32_t c = d->taken[i], load = b->load[c], part = d->flow * b->g->port_slow[c];
        change += (int64_t)excess(load + part, b->most_load) - excess(load, b->most_load);
    }
    return change;
}

/* Returns how many of the counters cell[0] to cell[count - 1] have at least the value `least`. */
static uint32_t count_reaching(const uint8_t *cell, uint32_t count, uint32_t least)
{
    uint32_t over = 0;
    for (uint32_t i = 0; i < count; i++)
        over += cell[i] >= least;
    return over;
}

static uint32_t range_reaching(const struct fab_link_load *b, uint32_t channel,
                               struct fab_link_load_range s, uint32_t least)
{
    const uint8_t *cell = fab_route_link_load_cells(b, channel);
    return count_reaching(cell + s.from, s.before, least) + count_reaching(cell, s.rest, least);
}

static void find_upstream(struct fab_link_load *b, uint32_t end, uint32_t sw)
{
    const uint32_t *next = fab_route_link_load_next(b, end);
    if (b->upstream_end == end && b->upstream_sw == sw)
        return;
    b->upstream_end = end;
    b->upstream_sw = sw;
    b->upstream_count = 0;
    for (uint32_t i = 0, left = fab_route_link_load_flow(b, end)[sw]; left > 0; i++) {
        if (b->run[i].sw == b->end[end].sw || !passes(b, next, b->run[i].sw, sw))
            continue;
        b->upstream[b->upstream_count++] = range_of(b, &b->run[i], end);
        left -= b->run[i].count;
    }
}

static uint32_t upstream_reaching(const struct fab_link_load *b, uint32_t channel, uint32_t least)
{
    uint32_t over = 0;
    for (uint32_t i = 0; i < b->upstream_count; i++)
        over += range_reaching(b, channel, b->upstream[i], least);
    return over;
}

int64_t fab_route_move_flows_delta(struct fab_link_load *b, const struct fab_local_move *d,
                                   int64_t enough)
{
    int64_t change = 0;
    find_upstream(b, d->end, d->sw);
    for (uint32_t i = 0; i < d->left_count; i++)
        change -= b->over[d->left[i]] > 0
                      ? upstream_reaching(b, d->left[i], flow_bound(b, d->left[i]) + 1)
                      : 0;
    for (uint32_t i = 0; i < d->taken_count && change <= enough; i++)
        change += upstream_reaching(b, d->taken[i], flow_bound(b, d->taken[i]));
    return change;
}

/* Returns a part of a channel's load: the flows to endports other than the destination of the move.
 * own: number of flows on the channel to this destination. */
static int64_t load_of_others(const struct fab_link_load *b, uint32_t channel, uint32_t own)
{
    return (int64_t)b->load[channel] - (int64_t)own * b->g->port_slow[channel];
}

int64_t fab_route_move_conflicts_delta(const struct fab_link_load *b,
                                       const struct fab_local_move *d)
{
    const uint32_t *flow = fab_route_link_load_flow(b, d->end), *peer = b->g->port_peer;
    int64_t change = 0;
    for (uint32_t i = 0, sw = d->sw; i < d->left_count; sw = peer[d->left[i++]])
        change -= load_of_others(b, d->left[i], flow[sw]);
    for (uint32_t i = 0, sw = d->sw; i < d->taken_count; sw = peer[d->taken[i++]])
        change += load_of_others(b, d->taken[i], i > 0 ? flow[sw] : 0);
    return change * 2 * d->flow;
}

static void increment(struct fab_link_load *b, uint32_t channel, uint32_t from, uint32_t count)
{
    uint8_t *cell = b->cell + (size_t)channel * b->ends + from;
    uint32_t slow = b->g->port_slow[channel], bound = flow_bound(b, channel);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t was = cell[i]++;
        b->cells[was * slow]--;
        b->cells[(was + 1) * slow]++;
        b->over[channel] += was >= bound;
        b->over_flows += was >= bound;
    }
}

static void decrement(struct fab_link_load *b, uint32_t channel, uint32_t from, uint32_t count)
{
    uint8_t *cell = b->cell + (size_t)channel * b->ends + from;
    uint32_t slow = b->g->port_slow[channel], bound = flow_bound(b, channel);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t was = cell[i]--;
        b->cells[was * slow]--;
        b->cells[(was - 1u) * slow]++;
        b->over[channel] -= was > bound;
        b->over_flows -= was > bound;
    }
}

static void move_run(struct fab_link_load *b, const struct fab_local_move *d,
                     struct fab_link_load_range s)
{
    for (uint32_t i = 0; i < d->left_count; i++) {
        decrement(b, d->left[i], s.from, s.before);
        decrement(b, d->left[i], 0, s.rest);
    }
    for (uint32_t i = 0; i < d->taken_count; i++) {
        increment(b, d->taken[i], s.from, s.before);
        increment(b, d->taken[i], 0, s.rest);
    }
}

static void move_load(struct fab_link_load *b, const struct fab_local_move *d)
{
    uint32_t *flow = fab_route_link_load_flow(b, d->end);
    uint32_t sw = d->sw;
    b->over_load = (uint64_t)((int64_t)b->over_load + fab_route_move_load_delta(b, d));
    for (uint32_t i = 0; i < d->left_count; i++) {
        b->load[d->left[i]] -= d->flow * b->g->port_slow[d->left[i]];
        flow[sw] -= d->flow;
        sw = b->g->port_peer[d->left[i]];
    }
    sw = d->sw;
    for (uint32_t i = 0; i < d->taken_count; i++) {
        b->load[d->taken[i]] += d->flow * b->g->port_slow[d->taken[i]];
        flow[sw] += d->flow;
        sw = b->g->port_peer[d->taken[i]];
    }
}

void fab_route_move_apply(struct fab_link_load *b, const struct fab_local_move *d)
{
    uint32_t *next = fab_route_link_load_next(b, d->end);
    find_upstream(b, d->end, d->sw);
    for (uint32_t i = 0; i < b->upstream_count; i++)
        move_run(b, d, b->upstream[i]);
    move_load(b, d);
    next[d->sw] = d->channel;
    b->upstream_end = FAB_NONE;
}
