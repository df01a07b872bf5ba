/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For one destination LID the tables are a function from switch to next switch. Each switch that
 * a LID owner hangs on is a source: from each, the walk goes on until it arrives, fails, or meets a
 * switch whose depth is known; then all on the way back get theirs. So each switch is visited once
 * a LID, and each visit notes one dependency: the channel that the packet takes to the next switch
 * waits for the channel that it takes there. Only what carries traffic is noted. Where every switch
 * sends, which is the rule, that needs no walk, and the depths fall out of one pass in the right
 * order; whatever is unusual about a column takes the general way.
 *
 * The tables are rows by switch and are read by column; 64 columns at a time (a cache line of each
 * row) are turned round first.
 */
#include "libfabmgr/verify/walk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"

#define COLUMNS FAB_LFT_BLOCK
#define ON_WAY 0xffff
#define LOST 0xfffe
#define DEEPEST 0xfffd

/* The LID at hand. */
struct column {
    uint32_t lid;
    const uint8_t *entry; /* [n] by switch */
    uint32_t sw;          /* it leaves the switches here, */
    uint8_t num;          /* by this port */
    bool base;            /* the base LID of its owner: counts as a pair */
};

static bool all_send(const struct fab_net *net)
{
    for (uint32_t sw = 0; sw < net->n; sw++) {
        if (net->owners[sw] == 0 || net->component[sw] != 0)
            return false;
    }
    return net->n > 1;
}

int fab_walk_init(struct fab_walk *w, const struct fab_net *net)
{
    struct fab_walk made = {.net = net};
    size_t n = (size_t)net->n + 1;
    made.tile = fab_alloc_array(n, COLUMNS);
    made.depth = fab_alloc_array(n, sizeof(*made.depth));
    made.stack = fab_alloc_array(n, sizeof(*made.stack));
    made.next = fab_alloc_array(n, sizeof(*made.next));
    made.order = fab_alloc_array(n, sizeof(*made.order));
    int ret = FAB_E_NOMEM;
    if (made.tile && made.depth && made.stack && made.next && made.order)
        ret = fab_channels_init(&made.channels, net);
    if (ret != FAB_OK) {
        fab_walk_fini(&made);
        return ret;
    }
    made.all_send = all_send(net);
    for (uint32_t sw = 0; sw < net->n; sw++)
        made.order[sw] = sw;
    *w = made;
    return FAB_OK;
}

void fab_walk_fini(struct fab_walk *w)
{
    fab_channels_fini(&w->channels);
    free(w->tile);
    free(w->depth);
    free(w->stack);
    free(w->next);
    free(w->order);
    memset(w, 0, sizeof(*w));
}

/* ---- one column, as it should be --------------------------------------------------------------
 */

/* Where each switch sends it next, and what waits for what. */
static void step_all(struct fab_walk *w, const struct column *c)
{
    const uint32_t *first = w->net->first, *hop = w->net->hop;
    const uint16_t *room = w->net->port_room;
    const uint8_t *entry = c->entry;
    struct fab_channels channels = w->channels; /* a copy, which stores cannot change */
    uint32_t *next = w->next, n = w->net->n;
    for (uint32_t sw = 0; sw < n; sw++) {
        uint8_t num = entry[sw];
        uint32_t channel = first[sw] + num;
        uint32_t to = num < room[sw] ? hop[channel] : FAB_NONE;
        next[sw] = to < n ? to : n;
        if (to < n && entry[to] < room[to])
            fab_channels_depend(&channels, channel, entry[to]);
    }
}

/* Fills depth[] when the next switch always comes before in order[]; false: not so, or a failure.
 * *ret_deepest: the greatest. */
static bool depths_in_order(struct fab_walk *w, const struct column *c, uint32_t *ret_deepest)
{
    const uint32_t *next = w->next, *order = w->order;
    uint16_t *of = w->depth;
    uint32_t deepest = 1, n = w->net->n;
    memset(of, 0, ((size_t)n + 1) * sizeof(*of));
    of[c->sw] = 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t sw = order[i], depth = of[next[sw]];
        if (sw == c->sw)
            continue;
        if (depth == 0 || depth >= DEEPEST)
            return false;
        of[sw] = (uint16_t)++depth;
        deepest = depth > deepest ? depth : deepest;
    }
    *ret_deepest = deepest;
    return true;
}

/* Counting sort by depth; depths beyond the table go last. */
static void order_by_depth(struct fab_walk *w)
{
    uint32_t start[257] = {0};
    for (uint32_t sw = 0; sw < w->net->n; sw++)
        start[(w->depth[sw] < 255 ? w->depth[sw] : 255) + 1]++;
    for (unsigned d = 0; d < 256; d++)
        start[d + 1] += start[d];
    for (uint32_t sw = 0; sw < w->net->n; sw++)
        w->order[start[w->depth[sw] < 255 ? w->depth[sw] : 255]++] = sw;
}

/* True when the column is good and all is noted. Most are: tables of one destination switch have
 * ways of equal length, so that the order of one LID serves the next. */
static bool walk_easily(struct fab_walk *w, const struct column *c)
{
    uint32_t deepest = 0;
    if (!w->all_send || c->entry[c->sw] != c->num)
        return false;
    step_all(w, c);
    if (!depths_in_order(w, c, &deepest))
        return false;
    if (w->net->in->max_hops != 0 && deepest > w->net->in->max_hops)
        return false;
    w->longest = deepest > w->longest ? deepest : w->longest;
    return true;
}

/* ---- one column, however it is
 * ----------------------------------------------------------------------------- */

/* The next switch on the way of the packet from `sw`; FAB_NONE when it goes to none. */
static uint32_t step(struct fab_walk *w, const struct column *c, uint32_t sw)
{
    const struct fab_net *net = w->net;
    uint8_t num = c->entry[sw];
    if (num >= net->port_room[sw])
        return FAB_NONE;
    uint32_t channel = net->first[sw] + num;
    uint32_t next = net->hop[channel];
    if (next >= net->n)
        return FAB_NONE;
    uint8_t next_num = c->entry[next];
    if (next_num < net->port_room[next])
        fab_channels_depend(&w->channels, channel, next_num);
    return next;
}

/* Fills depth[] of all switches on the way from `sw`. */
static void walk_from(struct fab_walk *w, const struct column *c, uint32_t sw)
{
    uint32_t count = 0, depth = LOST, at = sw;
    while (at != FAB_NONE && w->depth[at] == 0) {
        w->depth[at] = ON_WAY;
        w->stack[count++] = at;
        if (at == c->sw && c->entry[at] == c->num) {
            depth = 0;
            break;
        }
        at = step(w, c, at);
    }
    if (depth != 0 && at != FAB_NONE && w->depth[at] <= DEEPEST)
        depth = w->depth[at];
    while (count > 0) {
        depth = depth < DEEPEST ? depth + 1 : LOST;
        w->depth[w->stack[--count]] = (uint16_t)depth;
    }
}

/* Who sends to the LID from here: all but its owner. */
static uint32_t sources_at(const struct fab_walk *w, const struct column *c, uint32_t sw)
{
    return w->net->owners[sw] - (sw == c->sw ? 1u : 0u);
}

static void judge(struct fab_walk *w, const struct column *c, uint32_t sw)
{
    uint32_t limit = w->net->in->max_hops > 0 ? w->net->in->max_hops : DEEPEST;
    if (w->depth[sw] <= DEEPEST && w->depth[sw] > w->longest)
        w->longest = w->depth[sw];
    if (w->depth[sw] <= limit)
        return;
    w->unreachable += sources_at(w, c, sw);
    if (w->bad_lid == 0) {
        w->bad_lid = c->lid;
        w->bad_switch = sw;
    }
}

static void walk_column(struct fab_walk *w, const struct column *c)
{
    const struct fab_net *net = w->net;
    uint32_t component = net->component[c->sw];
    if (c->base)
        w->pairs += net->crowd[component] - 1;
    if (walk_easily(w, c))
        return;
    memset(w->depth, 0, net->n * sizeof(*w->depth));
    for (uint32_t sw = component; sw < net->n; sw++) {
        if (net->component[sw] != component || sources_at(w, c, sw) == 0)
            continue;
        if (w->depth[sw] == 0)
            walk_from(w, c, sw);
        judge(w, c, sw);
    }
    order_by_depth(w);
}

/* Two ends on one cable need no table. */
static void count_back_to_back(struct fab_walk *w, uint32_t owner)
{
    const struct fab_verify_input *in = w->net->in;
    if (fab_port_is_up(in->fabric, owner) && in->lids->base[in->fabric->ports[owner].peer] != 0)
        w->pairs++;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void load_tile(struct fab_walk *w, uint32_t first_lid)
{
    const struct fab_lft *lft = w->net->in->lft;
    uint8_t *tile = w->tile;
    uint32_t n = w->net->n;
    for (uint32_t sw = 0; sw < n; sw++) {
        const uint8_t *entries = fab_lft_row(lft, sw) + first_lid;
        for (uint32_t i = 0; i < COLUMNS; i++)
            tile[(size_t)i * n + sw] = entries[i];
    }
}

static void walk_lid(struct fab_walk *w, uint32_t lid)
{
    const struct fab_verify_input *in = w->net->in;
    uint32_t owner = in->lids->owner[lid];
    struct column c = {.lid = lid, .entry = w->tile + (size_t)(lid % COLUMNS) * w->net->n};
    if (owner == FAB_NONE)
        return;
    c.base = in->lids->base[owner] == lid;
    if (fab_net_attachment(in->fabric, owner, &c.sw, &c.num))
        walk_column(w, &c);
    else if (c.base)
        count_back_to_back(w, owner);
}

void fab_walk_all(struct fab_walk *w)
{
    const struct fab_verify_input *in = w->net->in;
    for (uint32_t lid = 0; lid <= in->lids->top; lid++) {
        if (lid % COLUMNS == 0)
            load_tile(w, lid);
        walk_lid(w, lid);
    }
}
