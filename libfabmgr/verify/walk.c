/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For one destination LID the tables are a function from switch to next switch. Each switch that
 * a LID owner hangs on is a source: from each, the walk goes on until it arrives, fails, or meets a
 * switch whose depth is known; then all on the way back get theirs. So each switch is visited once
 * a LID, and each visit notes one dependency: the channel that the packet takes to the next switch
 * waits for the channel that it takes there. Only what carries traffic is noted.
 *
 * That is the general way, which tables of any quality go. Where every switch sends, which is the
 * rule, and all is well, LIDs of one destination switch are looked at together first (sheaf.c).
 * With several lanes what waits for what is looked at apart (flow.c).
 *
 * The tables are rows by switch and are looked at by column; 64 columns at a time (a cache line of
 * each row) are put side by side first.
 */
#include "libfabmgr/verify/walk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/vl_walk.h"

#define COLUMNS FAB_VERIFY_TILE_LIDS
#define TILES 4
#define AHEAD 12u /* rows */
#define ON_WAY 0xffff
#define LOST 0xfffe
#define DEEPEST 0xfffd

/* The LID at hand. */
struct column {
    uint32_t lid;
    const uint8_t *entry; /* [n] by switch */
    uint32_t sw;          /* it leaves the switches here, */
    uint8_t num;          /* by this port */
};

int fab_verify_walk_init(struct fab_verify_walk *w, const struct fab_verify_graph *net)
{
    struct fab_verify_walk made = {.net = net};
    size_t n = (size_t)net->n + 1;
    made.tiles = fab_base_alloc_array(n, TILES * COLUMNS);
    made.entry = fab_base_alloc_array(n, sizeof(*made.entry));
    made.depth = fab_base_alloc_array(n, sizeof(*made.depth));
    made.stack = fab_base_alloc_array(n, sizeof(*made.stack));
    int ret = FAB_E_NOMEM;
    if (made.tiles && made.entry && made.depth && made.stack)
        ret = fab_verify_deps_init(&made.channels, net, 1);
    if (ret == FAB_OK)
        ret = fab_verify_batch_walk_new(&made.channels, &made.sheaf);
    const struct fab_vls *vls = net->in->vls;
    if (ret == FAB_OK && vls != NULL && fab_target_vls_multiple(vls) && fab_target_vls_keep_vl(vls))
        ret = fab_verify_vls_valid(net, vls) ? FAB_OK : FAB_E_INVAL;
    else if (ret == FAB_OK && vls != NULL && fab_target_vls_multiple(vls))
        ret = fab_verify_vl_walk_new(net, &made.flow);
    if (ret != FAB_OK) {
        fab_verify_walk_fini(&made);
        return ret;
    }
    *w = made;
    return FAB_OK;
}

void fab_verify_walk_fini(struct fab_verify_walk *w)
{
    fab_verify_deps_fini(&w->channels);
    fab_verify_batch_walk_free(w->sheaf);
    fab_verify_vl_walk_free(w->flow);
    free(w->tiles);
    free(w->entry);
    free(w->depth);
    free(w->stack);
    memset(w, 0, sizeof(*w));
}

/* ---- one column ------------------------------------------------------------------------------ */

/* The next switch on the way of the packet from `sw`; FAB_NONE when it goes to none. */
static uint32_t step(struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    const struct fab_verify_graph *net = w->net;
    uint8_t num = c->entry[sw];
    if (num >= net->port_room[sw])
        return FAB_NONE;
    uint32_t channel = net->first[sw] + num;
    uint32_t next = net->hop[channel];
    if (next >= net->n)
        return FAB_NONE;
    uint8_t next_num = c->entry[next];
    if (next_num < net->port_room[next])
        fab_verify_deps_add(&w->channels, channel, next_num);
    return next;
}

/* Fills depth[] of all switches on the way from `sw`. */
static void walk_from(struct fab_verify_walk *w, const struct column *c, uint32_t sw)
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
static uint32_t sources_at(const struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    return w->net->owners[sw] - (sw == c->sw ? 1u : 0u);
}

static void judge(struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    uint32_t limit = w->net->in->max_hops > 0 ? w->net->in->max_hops : DEEPEST;
    if (w->depth[sw] <= DEEPEST && w->depth[sw] > w->longest)
        w->longest = w->depth[sw];
    if (w->depth[sw] <= limit)
        return;
    w->unreachable += sources_at(w, c, sw);
    if (w->bad_lid == 0 || c->lid < w->bad_lid) {
        w->bad_lid = c->lid;
        w->bad_switch = sw;
    }
}

static void walk_column(struct fab_verify_walk *w, const struct column *c)
{
    const struct fab_verify_graph *net = w->net;
    uint32_t component = net->component[c->sw];
    memset(w->depth, 0, net->n * sizeof(*w->depth));
    for (uint32_t sw = component; sw < net->n; sw++) {
        if (net->component[sw] != component || sources_at(w, c, sw) == 0)
            continue;
        if (w->depth[sw] == 0)
            walk_from(w, c, sw);
        judge(w, c, sw);
    }
}

static void walk_generally(struct fab_verify_walk *w, uint32_t first_lid,
                           const struct fab_verify_batch *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        for (uint32_t sw = 0; sw < w->net->n; sw++)
            w->entry[sw] = w->tile[(size_t)sw * COLUMNS + b->at + i];
        walk_column(
            w, &(struct column){
                   .lid = first_lid + b->at + i, .entry = w->entry, .sw = b->sw, .num = b->num[i]});
    }
}

static bool walk_easily(struct fab_verify_walk *w, const struct fab_verify_batch *b)
{
    uint32_t deepest = 0, limit = w->net->in->max_hops;
    if (w->sheaf == NULL || !fab_verify_batch_walk_try(w->sheaf, b, &w->channels, &deepest) ||
        (limit != 0 && deepest > limit))
        return false;
    w->longest = deepest > w->longest ? deepest : w->longest;
    return true;
}

/* Together, else one by one, else in the general way. */
static void walk_bundle(struct fab_verify_walk *w, uint32_t first_lid,
                        const struct fab_verify_batch *b)
{
    if (w->flow != NULL)
        fab_verify_vl_walk_batch(w->flow, w->tile, first_lid, b);
    if (walk_easily(w, b))
        return;
    for (uint32_t i = 0; i < b->count; i++) {
        struct fab_verify_batch one = {.sw = b->sw, .at = b->at + i, .count = 1, .num = b->num + i};
        if (b->count == 1 || !walk_easily(w, &one))
            walk_generally(w, first_lid, &one);
    }
}

/* Two ends on one cable need no table. */
static void count_back_to_back(struct fab_verify_walk *w, uint32_t owner)
{
    const struct fab_verify_input *in = w->net->in;
    if (fab_fabric_port_is_up(in->fabric, owner) &&
        in->lids->base[in->fabric->ports[owner].peer] != 0)
        w->pairs++;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* Rows are far from each other in memory: each is visited for 256 entries at a time, and fetched
 * ahead. */
static void load_tiles(struct fab_verify_walk *w, uint32_t first_lid)
{
    const struct fab_lft *lft = w->net->in->lft;
    size_t left = (lft->stride - first_lid) / COLUMNS, n = w->net->n;
    uint32_t count = left < TILES ? (uint32_t)left : TILES;
    for (uint32_t sw = 0; sw < n; sw++) {
        const uint8_t *entries = fab_target_lft_row(lft, sw) + first_lid;
        for (uint32_t i = 0; i < count; i++) {
            if (sw + AHEAD < n)
                __builtin_prefetch(entries + AHEAD * lft->stride + i * COLUMNS);
            memcpy(w->tiles + (i * n + sw) * COLUMNS, entries + i * COLUMNS, COLUMNS);
        }
    }
}

/* Where the LID leaves the switches; false: nobody has it, or no switch leads there. */
static bool leaves_at(struct fab_verify_walk *w, uint32_t lid, uint32_t *ret_sw, uint8_t *ret_num)
{
    const struct fab_verify_input *in = w->net->in;
    if (lid > in->lids->top || in->lids->owner[lid] == FAB_NONE)
        return false;
    uint32_t owner = in->lids->owner[lid];
    bool base = in->lids->base[owner] == lid;
    bool attached = fab_verify_attachment(in->fabric, owner, ret_sw, ret_num);
    if (base && attached)
        w->pairs += w->net->crowd[w->net->component[*ret_sw]] - 1;
    else if (base)
        count_back_to_back(w, owner);
    return attached;
}

static void walk_tile(struct fab_verify_walk *w, uint32_t first_lid)
{
    struct fab_verify_batch b = {0};
    uint8_t num[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) {
        uint32_t sw;
        if (!leaves_at(w, first_lid + i, &sw, &num[i]))
            continue;
        if (b.count > 0 && b.sw == sw && b.at + b.count == i) {
            b.count++;
            continue;
        }
        if (b.count > 0)
            walk_bundle(w, first_lid, &b);
        b = (struct fab_verify_batch){.sw = sw, .at = i, .count = 1, .num = num + i};
    }
    if (b.count > 0)
        walk_bundle(w, first_lid, &b);
}

/* ---- many hands ------------------------------------------------------------------------------ */

/* 256 LIDs are a piece of work. */
static void walk_piece(void *arg, uint32_t piece, uint32_t hand)
{
    struct fab_verify_walk *w = (struct fab_verify_walk *)arg + hand;
    uint32_t first = piece * TILES * COLUMNS, top = w->net->in->lids->top;
    load_tiles(w, first);
    for (uint32_t i = 0; i < TILES && first + i * COLUMNS <= top; i++) {
        w->tile = w->tiles + (size_t)i * w->net->n * COLUMNS;
        if (w->sheaf != NULL)
            fab_verify_batch_walk_begin(w->sheaf, w->tile, &w->channels);
        walk_tile(w, first + i * COLUMNS);
        if (w->sheaf != NULL)
            fab_verify_batch_walk_end(w->sheaf, &w->channels);
    }
}

/* Adds to w what another hand found. */
static void gather(struct fab_verify_walk *w, const struct fab_verify_walk *other)
{
    w->pairs += other->pairs;
    w->unreachable += other->unreachable;
    w->longest = other->longest > w->longest ? other->longest : w->longest;
    if (other->bad_lid != 0 && (w->bad_lid == 0 || other->bad_lid < w->bad_lid)) {
        w->bad_lid = other->bad_lid;
        w->bad_switch = other->bad_switch;
    }
    fab_verify_deps_merge(&w->channels, &other->channels);
    if (w->flow != NULL)
        fab_verify_vl_walk_merge(w->flow, other->flow);
}

static void walk_with(struct fab_verify_walk *walks, uint32_t hands)
{
    const struct fab_verify_input *in = walks[0].net->in;
    fab_base_pool_run(hands > 1 ? in->pool : NULL, in->lids->top / (TILES * COLUMNS) + 1,
                      walk_piece, walks);
    for (uint32_t i = 0; i < hands; i++) {
        if (walks[i].sheaf != NULL)
            fab_verify_batch_walk_finish(walks[i].sheaf, &walks[i].channels);
        if (i > 0)
            gather(&walks[0], &walks[i]);
    }
}

int fab_verify_walk_all(struct fab_verify_walk *w)
{
    uint32_t hands = fab_base_pool_workers(w->net->in->pool);
    if (hands == 1) {
        walk_with(w, 1);
        return FAB_OK;
    }
    int status = FAB_OK;
    struct fab_verify_walk *walks = calloc(hands, sizeof(*walks));
    if (walks == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 1; i < hands && status == FAB_OK; i++)
        status = fab_verify_walk_init(&walks[i], w->net);
    if (status == FAB_OK) {
        walks[0] = *w;
        walk_with(walks, hands);
        *w = walks[0];
    }
    for (uint32_t i = 1; i < hands; i++)
        fab_verify_walk_fini(&walks[i]);
    free(walks);
    return status;
}
