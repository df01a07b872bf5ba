/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layers free of cycles (Domke, Hoefler, Nagel, "Deadlock-free oblivious routing for arbitrary
 * topologies", IPDPS 2011), where what moves to the next layer is a LID with all ways to it, not a
 * pair: there are a thousand times fewer of these, and the SL then hangs on the destination alone.
 *
 * A layer is a graph of channels (ports with a cable to another switch) and dependencies (a packet
 * that came by this one goes on by that one), each with the number of its LIDs that have it. A
 * search in depth finds the cycles. Of each, the dependency that the fewest LIDs have is broken:
 * they move to the next layer. The search goes on where what it stands on is left; what it has
 * finished with stays free of cycles, since dependencies only go away. Then it is the next layer's
 * turn.
 */
#include "libfabmgr/route/layers.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define COLUMNS FAB_LFT_BLOCK

enum state { NEW, OPEN, DONE };

struct layers {
    const struct fab_fabric *f;
    const struct fab_graph *g;
    const struct fab_lft *lft;
    uint8_t *layer;    /* [top + 1] of each LID */
    uint32_t now;      /* the layer at hand */
    uint32_t *sw;      /* [channels] whose port it is */
    uint32_t *channel; /* [port ids of switches] port of the graph, or FAB_NONE */
    size_t *first;   /* [channels + 1] its dependencies: on the ports of its peer, in their order */
    uint32_t *lids;  /* [dependencies] LIDs of the layer that have it */
    uint8_t *state;  /* [channels] enum state */
    uint32_t *next;  /* [channels] the port of its peer to be looked at next */
    uint32_t *stack; /* [channels] those that are open, each depends on the next one */
    uint32_t depth;  /* of the stack */
    uint8_t *tile;   /* [n][64] entries of 64 LIDs side by side */
};

static void fini(struct layers *l)
{
    free(l->sw);
    free(l->channel);
    free(l->first);
    free(l->lids);
    free(l->state);
    free(l->next);
    free(l->stack);
    free(l->tile);
}

static int init(struct layers *l)
{
    const struct fab_graph *g = l->g;
    size_t channels = (size_t)g->port_at[g->n] + 1, count = 0;
    l->channel = fab_alloc_array((size_t)l->f->port_count + 1, sizeof(*l->channel));
    l->sw = fab_alloc_array(channels, sizeof(*l->sw));
    l->first = fab_alloc_array(channels, sizeof(*l->first));
    l->state = fab_alloc_array(channels, sizeof(*l->state));
    l->next = fab_alloc_array(channels, sizeof(*l->next));
    l->stack = fab_alloc_array(channels, sizeof(*l->stack));
    l->tile = fab_alloc_array((size_t)g->n + 1, COLUMNS);
    if (!l->sw || !l->channel || !l->first || !l->state || !l->next || !l->stack || !l->tile)
        return FAB_E_NOMEM;
    memset(l->channel, 0xff, l->f->port_count * sizeof(*l->channel));
    for (uint32_t s = 0; s < g->n; s++) {
        for (uint32_t c = g->port_at[s]; c < g->port_at[s + 1]; c++) {
            uint32_t peer = g->port_peer[c];
            l->channel[fab_port_id(l->f, s, g->port_num[c])] = c;
            l->sw[c] = s;
            l->first[c] = count;
            count += g->port_at[peer + 1] - g->port_at[peer];
        }
    }
    l->first[g->port_at[g->n]] = count;
    l->lids = fab_alloc_array(count + 1, sizeof(*l->lids));
    return l->lids != NULL ? FAB_OK : FAB_E_NOMEM;
}

/* ---- counting ---------------------------------------------------------------------------------
 */

static uint32_t channel_of(const struct layers *l, uint32_t sw, uint8_t num)
{
    return num <= l->f->nodes[sw].num_ports ? l->channel[fab_port_id(l->f, sw, num)] : FAB_NONE;
}

static uint32_t *dependency(const struct layers *l, uint32_t from, uint32_t to)
{
    return &l->lids[l->first[from] + to - l->g->port_at[l->g->port_peer[from]]];
}

/* Adds `change` to all dependencies of a LID, whose entries are `step` bytes apart. */
static void count_lid(struct layers *l, const uint8_t *entry, size_t step, uint32_t change)
{
    for (uint32_t sw = 0; sw < l->g->n; sw++) {
        uint32_t from = channel_of(l, sw, entry[sw * step]);
        if (from == FAB_NONE)
            continue;
        uint32_t peer = l->g->port_peer[from], to = channel_of(l, peer, entry[peer * step]);
        if (to != FAB_NONE)
            *dependency(l, from, to) += change;
    }
}

static void count_layer(struct layers *l)
{
    const struct fab_graph *g = l->g;
    memset(l->lids, 0, l->first[g->port_at[g->n]] * sizeof(*l->lids));
    for (uint32_t lid = 0; lid <= l->lft->top; lid += COLUMNS) {
        for (uint32_t sw = 0; sw < g->n; sw++)
            memcpy(l->tile + (size_t)sw * COLUMNS, fab_lft_row(l->lft, sw) + lid, COLUMNS);
        for (uint32_t i = 0; i < COLUMNS && lid + i <= l->lft->top; i++) {
            if (l->layer[lid + i] == l->now)
                count_lid(l, l->tile + i, COLUMNS, 1);
        }
    }
}

/* ---- cycles -----------------------------------------------------------------------------------
 */

/* Moves the LIDs that have this dependency to the next layer. */
static void move_lids(struct layers *l, uint32_t from, uint32_t to)
{
    uint32_t sw = l->sw[from], peer = l->g->port_peer[from];
    const uint8_t *here = fab_lft_row(l->lft, sw), *there = fab_lft_row(l->lft, peer);
    for (uint32_t lid = 0; lid <= l->lft->top; lid++) {
        if (here[lid] != l->g->port_num[from] || there[lid] != l->g->port_num[to] ||
            l->layer[lid] != l->now)
            continue;
        count_lid(l, l->lft->entries + lid, l->lft->stride, UINT32_MAX);
        l->layer[lid] = (uint8_t)(l->now + 1);
    }
}

/* The channels from `start` to the top of the stack close a cycle. */
static void break_cycle(struct layers *l, uint32_t start)
{
    uint32_t last = l->depth - 1, weakest = last;
    uint32_t least = *dependency(l, l->stack[last], l->stack[start]);
    for (uint32_t i = start; i < last; i++) {
        uint32_t lids = *dependency(l, l->stack[i], l->stack[i + 1]);
        weakest = lids < least ? i : weakest;
        least = lids < least ? lids : least;
    }
    move_lids(l, l->stack[weakest], l->stack[weakest < last ? weakest + 1 : start]);
}

/* Closes what the stack does not stand on any more. */
static void retreat(struct layers *l)
{
    uint32_t depth = 1;
    while (depth<l->depth && * dependency(l, l->stack[depth - 1], l->stack[depth])> 0)
        depth++;
    while (l->depth > depth)
        l->state[l->stack[--l->depth]] = NEW;
}

static void open(struct layers *l, uint32_t channel)
{
    l->state[channel] = OPEN;
    l->next[channel] = l->g->port_at[l->g->port_peer[channel]];
    l->stack[l->depth++] = channel;
}

/* One step of the search from the top of the stack. */
static void step(struct layers *l)
{
    uint32_t from = l->stack[l->depth - 1], peer = l->g->port_peer[from], start = 0;
    uint32_t to = l->next[from];
    while (to < l->g->port_at[peer + 1] && (*dependency(l, from, to) == 0 || l->state[to] == DONE))
        to++;
    l->next[from] = to;
    if (to == l->g->port_at[peer + 1]) {
        l->state[from] = DONE;
        l->depth--;
    } else if (l->state[to] == NEW) {
        open(l, to);
    } else {
        while (l->stack[start] != to)
            start++;
        break_cycle(l, start);
        retreat(l);
    }
}

static void break_cycles(struct layers *l)
{
    uint32_t channels = l->g->port_at[l->g->n];
    memset(l->state, NEW, channels * sizeof(*l->state));
    for (uint32_t channel = 0; channel < channels; channel++) {
        if (l->state[channel] != NEW)
            continue;
        open(l, channel);
        while (l->depth > 0)
            step(l);
    }
}

/* ---- all layers -------------------------------------------------------------------------------
 */

static bool anyone_in(const struct layers *l, uint32_t layer)
{
    return memchr(l->layer, (int)layer, (size_t)l->lft->top + 1) != NULL;
}

int fab_layers_find(const struct fab_fabric *f, const struct fab_graph *g,
                    const struct fab_lft *lft, uint8_t *ret_layer, uint32_t *ret_count)
{
    struct layers l = {.f = f, .g = g, .lft = lft, .layer = ret_layer};
    int ret = init(&l);
    memset(ret_layer, 0, (size_t)lft->top + 1);
    while (ret == FAB_OK && anyone_in(&l, l.now)) {
        if (l.now == FAB_LAYERS_MAX) {
            ret = FAB_E_LIMIT;
            break;
        }
        count_layer(&l);
        break_cycles(&l);
        l.now++;
    }
    fini(&l);
    if (ret == FAB_OK)
        *ret_count = l.now;
    return ret;
}
