/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeps a topological order of the channels while dependencies are added (Pearce, Kelly, A dynamic
 * topological sort algorithm for directed acyclic graphs, ACM JEA 11, 2006). A dependency that
 * agrees with the order costs nothing. Any other dependency changes the order; only the channels
 * between its two channels in the order are searched and moved. Removing a dependency never changes
 * the order.
 */
#include "libfabmgr/spanning/order.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

/* ---- setting up ------------------------------------------------------------------------------ */

/* A channel and its number: the numbers of the channels ascend along the path of each unicast
 * packet. */
struct rank {
    uint32_t number, channel;
};

static int compare(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->channel > y->channel) - (x->channel < y->channel);
}

static int find_positions(struct fab_spanning_order *o, uint32_t channels)
{
    uint32_t *number = malloc(((size_t)channels + 1) * sizeof(*number));
    struct rank *rank = malloc(((size_t)channels + 1) * sizeof(*rank));
    int status = number && rank ? fab_verify_deps_number(&o->deps, number) : FAB_E_NOMEM;
    for (uint32_t i = 0; i < channels && status == FAB_OK; i++)
        rank[i] = (struct rank){number[i], i};
    if (status == FAB_OK)
        qsort(rank, channels, sizeof(*rank), compare);
    for (uint32_t i = 0; i < channels && status == FAB_OK; i++)
        o->position[rank[i].channel] = i;
    free(number);
    free(rank);
    return status;
}

int fab_spanning_order_init(struct fab_spanning_order *o, const struct fab_verify_channels *unicast)
{
    uint32_t channels = unicast->graph.ports * unicast->unicast.vl_count;
    *o = (struct fab_spanning_order){.graph = &unicast->graph, .f = unicast->in.fabric};
    int status = fab_verify_deps_init(&o->deps, o->graph, unicast->unicast.vl_count);
    if (status != FAB_OK)
        return status;
    fab_verify_deps_merge(&o->deps, &unicast->unicast);
    size_t room = (size_t)channels + 1;
    o->position = fab_base_arena_alloc(&o->arena, room, sizeof(*o->position));
    o->ahead = fab_base_arena_alloc(&o->arena, room, sizeof(*o->ahead));
    o->behind = fab_base_arena_alloc(&o->arena, room, sizeof(*o->behind));
    o->places = fab_base_arena_alloc(&o->arena, room, sizeof(*o->places));
    o->seen = fab_base_arena_alloc(&o->arena, room, sizeof(*o->seen));
    status = o->arena.failed ? FAB_E_NOMEM : find_positions(o, channels);
    if (status != FAB_OK)
        fab_spanning_order_fini(o);
    return status;
}

void fab_spanning_order_fini(struct fab_spanning_order *o)
{
    fab_verify_deps_fini(&o->deps);
    fab_base_arena_fini(&o->arena);
    memset(o, 0, sizeof(*o));
}

/* ---- searches -------------------------------------------------------------------------------- */

static void visit(struct fab_spanning_order *o, uint32_t channel, uint32_t *list, uint32_t *count)
{
    if (o->seen[channel])
        return;
    o->seen[channel] = true;
    list[(*count)++] = channel;
}

/* Lists in ahead[] the channel `from` and all channels that can be reached from it over
 * dependencies. Omits channels with positions after `last`, and does not follow their
 * dependencies. Returns the number of channels listed. */
static uint32_t search_ahead(struct fab_spanning_order *o, uint32_t from, uint32_t last)
{
    const struct fab_verify_deps *d = &o->deps;
    uint32_t count = 0;
    visit(o, from, o->ahead, &count);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t channel = o->ahead[at],
                 first = o->graph->first[o->graph->hop[channel / d->vl_count]];
        for (uint32_t vl = 0; vl < d->vl_count; vl++)
            for (uint32_t w = 0; w < d->words; w++)
                for (uint64_t left = *fab_verify_deps_word(d, channel, w * 64 + 1, vl); left != 0;
                     left &= left - 1) {
                    uint32_t port = first + w * 64 + 1 + (uint32_t)__builtin_ctzll(left);
                    uint32_t next = port * d->vl_count + vl;
                    if (o->position[next] <= last)
                        visit(o, next, o->ahead, &count);
                }
    }
    return count;
}

/* Lists in behind[] the channel `to` and all channels from which it can be reached over
 * dependencies. Omits channels with positions before `first`, and does not search beyond them.
 * Returns the number of channels listed. */
static uint32_t search_behind(struct fab_spanning_order *o, uint32_t to, uint32_t first)
{
    const struct fab_verify_deps *d = &o->deps;
    uint32_t count = 0;
    visit(o, to, o->behind, &count);
    for (uint32_t at = 0; at < count; at++) {
        uint32_t port = o->behind[at] / d->vl_count, vl = o->behind[at] % d->vl_count;
        uint32_t sw = fab_fabric_port(o->f, port)->node;
        uint32_t num = port - o->graph->first[sw];
        for (uint32_t in = 1; in < o->graph->port_room[sw]; in++) {
            uint32_t in_port = o->graph->first[sw] + in;
            if (o->graph->hop[in_port] >= o->graph->n)
                continue;
            uint32_t from = fab_fabric_port(o->f, in_port)->peer * d->vl_count;
            for (uint32_t on = 0; on < d->vl_count; on++)
                if (fab_verify_deps_has(d, from + on, num, vl) && o->position[from + on] >= first)
                    visit(o, from + on, o->behind, &count);
        }
    }
    return count;
}

static void forget(struct fab_spanning_order *o, const uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        o->seen[list[i]] = false;
}

/* ---- moving ---------------------------------------------------------------------------------- */

static void sort_numbers(uint32_t *x, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            uint32_t value = x[i], at = i;
            for (; at >= gap && x[at - gap] > value; at -= gap)
                x[at] = x[at - gap];
            x[at] = value;
        }
}

/* Sorts channels by position. */
static void sort_channels(const struct fab_spanning_order *o, uint32_t *x, uint32_t count)
{
    for (uint32_t gap = count / 2; gap > 0; gap /= 2)
        for (uint32_t i = gap; i < count; i++) {
            uint32_t value = x[i], at = i;
            for (; at >= gap && o->position[x[at - gap]] > o->position[value]; at -= gap)
                x[at] = x[at - gap];
            x[at] = value;
        }
}

/* Gives the listed channels new positions in the order; they exchange their present positions. The
 * channels of behind[] get the lowest of these positions, and the channels of ahead[] the
 * highest. */
static void move(struct fab_spanning_order *o, uint32_t behinds, uint32_t aheads)
{
    sort_channels(o, o->behind, behinds);
    sort_channels(o, o->ahead, aheads);
    for (uint32_t i = 0; i < behinds; i++)
        o->places[i] = o->position[o->behind[i]];
    for (uint32_t i = 0; i < aheads; i++)
        o->places[behinds + i] = o->position[o->ahead[i]];
    sort_numbers(o->places, behinds + aheads);
    for (uint32_t i = 0; i < behinds; i++)
        o->position[o->behind[i]] = o->places[i];
    for (uint32_t i = 0; i < aheads; i++)
        o->position[o->ahead[i]] = o->places[behinds + i];
}

bool fab_spanning_order_add(struct fab_spanning_order *o, uint32_t channel, uint32_t next_num,
                            uint32_t next_vl)
{
    const struct fab_verify_deps *d = &o->deps;
    uint32_t sw = o->graph->hop[channel / d->vl_count];
    uint32_t next = (o->graph->first[sw] + next_num) * d->vl_count + next_vl;
    if (o->position[channel] > o->position[next]) {
        uint32_t aheads = search_ahead(o, next, o->position[channel]), behinds = 0;
        bool cycle = o->seen[channel];
        if (!cycle)
            behinds = search_behind(o, channel, o->position[next]);
        forget(o, o->ahead, aheads);
        forget(o, o->behind, behinds);
        if (cycle)
            return false;
        move(o, behinds, aheads);
    }
    *fab_verify_deps_word(d, channel, next_num, next_vl) |= UINT64_C(1) << (next_num - 1) % 64;
    return true;
}

void fab_spanning_order_remove(struct fab_spanning_order *o, uint32_t channel, uint32_t next_num,
                               uint32_t next_vl)
{
    *fab_verify_deps_word(&o->deps, channel, next_num, next_vl) &=
        ~(UINT64_C(1) << (next_num - 1) % 64);
}
