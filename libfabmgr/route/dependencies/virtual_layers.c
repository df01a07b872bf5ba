/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Distributes paths over virtual layers with acyclic channel dependencies (Domke, Hoefler, Nagel,
 * "Deadlock-free oblivious routing for arbitrary topologies", IPDPS 2011).
 *
 * All paths begin in the first layer. Each cycle of this layer is broken at its weakest dependency,
 * which is the one that the fewest paths cause: these paths move to the next layer
 * (cycle_breaking.c). The next layer is then treated in the same way.
 *
 * All paths between two switches move together, in both directions. So the layers of a path and of
 * the path back are equal, and paths are reversible.
 */
#include "libfabmgr/route/dependencies/virtual_layers.h"

#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/dependencies/cycle_breaking.h"

#define COLUMNS FAB_LFT_BLOCK

struct layers {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_layers_input *in;
    struct fab_cdg_counts waits;
    uint32_t now; /* number of the layer whose cycles are being broken */
    bool cyclic;  /* true: the dependencies of all paths form a cycle */
    /* the layers assigned so far, in the caller's array ret_layer */
    uint8_t *layer;
    /* [switches][64] the LFT entries for 64 LIDs */
    uint8_t *tile;
    struct fab_layers_lids lids;
    uint32_t *stack; /* [switches] scratch memory */
};

static void fini(struct layers *l)
{
    fab_route_cdg_counts_fini(&l->waits);
    fab_route_layers_lids_fini(&l->lids);
    fab_base_arena_fini(&l->arena);
}

/* Returns the switch to which the owner of the LID is attached (or the owner itself, if it is a
 * switch). FAB_NONE: there is no such switch. */
static uint32_t switch_of(const struct fab_layers_input *in, uint32_t lid)
{
    uint32_t owner = lid <= in->lids->top ? in->lids->owner[lid] : FAB_NONE;
    if (owner == FAB_NONE ||
        fab_fabric_node_is_switch(in->fabric, fab_fabric_port(in->fabric, owner)->node))
        return owner != FAB_NONE ? fab_fabric_port(in->fabric, owner)->node : FAB_NONE;
    uint32_t peer = fab_fabric_peer_node(in->fabric, owner);
    return peer != FAB_NONE && fab_fabric_node_is_switch(in->fabric, peer) ? peer : FAB_NONE;
}

static void find_homes(const struct fab_layers_input *in, struct fab_layers_lids *l)
{
    uint32_t n = in->graph->n, top = in->lft->top;
    for (uint32_t lid = 0; lid <= top; lid++) {
        l->home[lid] = switch_of(in, lid);
        if (l->home[lid] != FAB_NONE)
            l->at[l->home[lid] + 2]++;
    }
    for (uint32_t s = 0; s < n; s++)
        l->at[s + 2] += l->at[s + 1];
    for (uint32_t lid = 0; lid <= top; lid++) {
        if (l->home[lid] != FAB_NONE)
            l->lid[l->at[l->home[lid] + 1]++] = lid;
    }
}

int fab_route_layers_lids(const struct fab_layers_input *in, struct fab_layers_lids *ret)
{
    struct fab_layers_lids l = {0};
    size_t n = (size_t)in->graph->n + 2, lids = (size_t)in->lft->top + 1;
    l.home = fab_base_arena_alloc(&l.arena, lids, sizeof(*l.home));
    l.lid = fab_base_arena_alloc(&l.arena, lids, sizeof(*l.lid));
    l.at = fab_base_arena_alloc(&l.arena, n, sizeof(*l.at));
    if (l.arena.failed) {
        fab_route_layers_lids_fini(&l);
        return FAB_E_NOMEM;
    }
    find_homes(in, &l);
    *ret = l;
    return FAB_OK;
}

void fab_route_layers_lids_fini(struct fab_layers_lids *l)
{
    fab_base_arena_fini(&l->arena);
    *l = (struct fab_layers_lids){0};
}

static int init(struct layers *l)
{
    size_t n = (size_t)l->in->graph->n + 2;
    l->tile = fab_base_arena_alloc(&l->arena, n, COLUMNS);
    l->stack = fab_base_arena_alloc(&l->arena, n, sizeof(*l->stack));
    if (l->arena.failed)
        return FAB_E_NOMEM;
    int status = fab_route_layers_lids(l->in, &l->lids);
    return status == FAB_OK ? fab_route_cdg_counts_init(&l->waits, l->in->fabric, l->in->graph)
                            : status;
}

/* The entries of all switches for one LID (a column of the tables). In memory, the entries of two
 * consecutive switches are `step` bytes apart. */
struct column {
    const uint8_t *entry;
    size_t step;
};

static struct column column_of(const struct layers *l, uint32_t lid)
{
    return (struct column){.entry = l->in->lft->entries + lid, .step = l->in->lft->stride};
}

static uint32_t channel_of(const struct layers *l, struct column c, uint32_t sw)
{
    return fab_route_cdg_counts_channel(&l->waits, sw, c.entry[sw * c.step]);
}

static void spend(const struct layers *l, uint64_t steps)
{
    *l->in->budget -= *l->in->budget < steps ? *l->in->budget : steps;
}

/* Sets all counts to 0, then calls count() for each LID that is attached to a switch. The entries
 * for one LID in the LFTs of different switches are far apart in memory. Therefore the function
 * copies the entries for 64 LIDs at a time into a tile. */
static void count_all(struct layers *l,
                      void (*count)(struct layers *l, uint32_t lid, struct column c))
{
    const struct fab_lft *lft = l->in->lft;
    fab_route_cdg_counts_clear(&l->waits);
    for (uint32_t lid = 0; lid <= lft->top; lid += COLUMNS) {
        for (uint32_t sw = 0; sw < l->in->graph->n; sw++)
            memcpy(l->tile + (size_t)sw * COLUMNS, fab_target_lft_row(lft, sw) + lid, COLUMNS);
        for (uint32_t i = 0; i < COLUMNS && lid + i <= lft->top; i++) {
            if (l->lids.home[lid + i] != FAB_NONE)
                count(l, lid + i, (struct column){.entry = l->tile + i, .step = COLUMNS});
        }
    }
}

/* ---- one layer ------------------------------------------------------------------------------- */

/* Adds 1 to the count of each dependency that the paths to the LID cause, no matter how many
 * switches send packets along it. */
static void count_tree(struct layers *l, uint32_t lid, struct column c)
{
    (void)lid;
    spend(l, l->in->graph->n);
    for (uint32_t sw = 0; sw < l->in->graph->n; sw++) {
        uint32_t from = channel_of(l, c, sw);
        uint32_t to = from != FAB_NONE ? channel_of(l, c, l->in->graph->port_peer[from]) : FAB_NONE;
        if (to != FAB_NONE)
            (*fab_route_cdg_counts_of(&l->waits, from, to))++;
    }
}

static void note_cycle(void *ctx, uint32_t from, uint32_t to)
{
    struct layers *l = ctx;
    l->cyclic = true;
    *fab_route_cdg_counts_of(&l->waits, from, to) = 0;
}

int fab_route_layers_suffice(const struct fab_layers_input *in, bool *ret_one)
{
    struct layers l = {.in = in};
    int status = init(&l);
    if (status == FAB_OK) {
        count_all(&l, count_tree);
        if (*in->budget == 0 ||
            !fab_route_cdg_counts_break_cycles(&l.waits, note_cycle, &l, in->budget))
            status = FAB_E_BUSY;
    }
    fini(&l);
    *ret_one = !l.cyclic;
    return status;
}

/* ---- all paths between two switches move together -------------------------------------------- */

static uint8_t *layer_of(const struct layers *l, uint32_t lid, uint32_t from)
{
    return &l->layer[(size_t)l->lids.home[lid] * l->in->graph->n + from];
}

/* Adds `change` to the count of each dependency that the path from switch `sw` to the LID causes.
 * change: 1, or UINT32_MAX for -1. */
static void add_path(struct layers *l, struct column c, uint32_t sw, uint32_t change)
{
    uint32_t from = channel_of(l, c, sw);
    while (from != FAB_NONE) {
        spend(l, 1);
        uint32_t to = channel_of(l, c, l->in->graph->port_peer[from]);
        if (to != FAB_NONE)
            *fab_route_cdg_counts_of(&l->waits, from, to) += change;
        from = to;
    }
}

static void count_paths(struct layers *l, uint32_t lid, struct column c)
{
    for (uint32_t sw = 0; sw < l->in->graph->n; sw++) {
        if (*layer_of(l, lid, sw) == l->now)
            add_path(l, c, sw, 1);
    }
}

static void move_one_way(struct layers *l, uint32_t to, uint32_t from)
{
    l->layer[(size_t)to * l->in->graph->n + from] = (uint8_t)(l->now + 1);
    for (uint32_t i = l->lids.at[to]; i < l->lids.at[to + 1]; i++)
        add_path(l, column_of(l, l->lids.lid[i]), from, UINT32_MAX);
}

static void move_pair(struct layers *l, uint32_t to, uint32_t from)
{
    if (l->layer[(size_t)to * l->in->graph->n + from] != l->now)
        return;
    move_one_way(l, to, from);
    if (to != from)
        move_one_way(l, from, to);
}

/* Moves paths to the next layer: all paths between the destination switch of the LID and `sw`, and
 * between the destination switch and each switch whose path to the LID leads through `sw`. */
static void move_upstream(struct layers *l, uint32_t lid, uint32_t sw)
{
    const struct fab_graph *g = l->in->graph;
    struct column c = column_of(l, lid);
    uint32_t count = 0;
    l->stack[count++] = sw;
    while (count > 0) {
        sw = l->stack[--count];
        spend(l, g->nbr_at[sw + 1] - g->nbr_at[sw]);
        move_pair(l, l->lids.home[lid], sw);
        for (uint32_t i = g->nbr_at[sw]; i < g->nbr_at[sw + 1]; i++) {
            uint32_t channel = channel_of(l, c, g->nbr[i]);
            if (channel != FAB_NONE && g->port_peer[channel] == sw)
                l->stack[count++] = g->nbr[i];
        }
    }
}

static void move_paths(void *ctx, uint32_t from, uint32_t to)
{
    struct layers *l = ctx;
    const struct fab_graph *g = l->in->graph;
    const uint8_t *here = fab_target_lft_row(l->in->lft, l->waits.sw[from]);
    const uint8_t *there = fab_target_lft_row(l->in->lft, l->waits.sw[to]);
    spend(l, l->in->lft->top + 1);
    for (uint32_t lid = 0; lid <= l->in->lft->top; lid++) {
        if (here[lid] == g->port_num[from] && there[lid] == g->port_num[to] &&
            l->lids.home[lid] != FAB_NONE)
            move_upstream(l, lid, l->waits.sw[from]);
    }
}

/* ---- all layers ------------------------------------------------------------------------------ */

int fab_route_layers_by_pair(const struct fab_layers_input *in, uint8_t *ret_layer,
                             uint32_t *ret_count)
{
    struct layers l = {.in = in, .layer = ret_layer};
    size_t size = (size_t)in->graph->n * in->graph->n;
    int ret = init(&l);
    memset(ret_layer, 0, size);
    while (ret == FAB_OK && memchr(ret_layer, (int)l.now, size) != NULL) {
        if (l.now == in->max) {
            ret = FAB_E_LIMIT;
            break;
        }
        count_all(&l, count_paths);
        if (*in->budget == 0 ||
            !fab_route_cdg_counts_break_cycles(&l.waits, move_paths, &l, in->budget))
            ret = FAB_E_BUSY;
        l.now++;
    }
    fini(&l);
    if (ret == FAB_OK)
        *ret_count = l.now;
    return ret;
}
