/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows the LFTs from all switches to each LID.
 *
 * For one destination LID, the LFTs map each switch to its next switch. Each switch with a LID
 * owner is a source. From each source, the walk follows the entries until it arrives, fails, or
 * meets a switch whose depth (number of switches to the destination) is known. Then all switches on
 * the walk get their depth. So each switch is visited once for a LID. Each visit notes one
 * dependency: the channel by which the packet reaches the next switch depends on the channel by
 * which it leaves that switch. Only channels that carry traffic are noted.
 *
 * This general method handles any tables. Usually every switch has LID owners and the tables are
 * correct. Then batch_walk.c walks the LIDs of one destination switch together, which is faster.
 * With several VLs, vl_walk.c computes the dependencies separately.
 *
 * The LFTs are stored by switch and read by LID. So load_tiles() first copies the entries for 64
 * LIDs (a cache line of each row) side by side.
 */
#include "libfabmgr/verify/walk.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/vl_walk.h"

#define COLUMNS FAB_VERIFY_TILE_LIDS
#define TILES 4
/* while the LFT of switch s is copied, the LFT of switch s + PREFETCH_ROWS is prefetched */
#define PREFETCH_ROWS 12u
#define ON_PATH 0xffff
#define LOST 0xfffe
#define DEEPEST 0xfffd

/* the LID to which the walk follows paths at present */
struct column {
    uint32_t lid;
    /* [switches] the LFT entry of each switch for the LID */
    const uint8_t *entry;
    uint32_t sw; /* the switch that delivers the LID */
    /* number of the port of switch `sw` that leads to the owner of the LID */
    uint8_t num;
};

int fab_verify_walk_init(struct fab_verify_walk *w, const struct fab_verify_graph *graph)
{
    struct fab_verify_walk made = {.graph = graph};
    size_t n = (size_t)graph->n + 1;
    made.tiles = fab_base_alloc_array(n, TILES * COLUMNS);
    made.entry = fab_base_alloc_array(n, sizeof(*made.entry));
    made.depth = fab_base_alloc_array(n, sizeof(*made.depth));
    made.stack = fab_base_alloc_array(n, sizeof(*made.stack));
    int ret = FAB_E_NOMEM;
    if (made.tiles && made.entry && made.depth && made.stack)
        ret = fab_verify_deps_init(&made.deps, graph, 1);
    if (ret == FAB_OK)
        ret = fab_verify_batch_walk_new(&made.deps, &made.batch_walk);
    const struct fab_vls *vls = graph->in->vls;
    if (ret == FAB_OK && vls != NULL && fab_target_vls_multiple(vls) && fab_target_vls_keep_vl(vls))
        ret = fab_verify_vls_valid(graph, vls) ? FAB_OK : FAB_E_INVAL;
    else if (ret == FAB_OK && vls != NULL && fab_target_vls_multiple(vls))
        ret = fab_verify_vl_walk_new(graph, &made.vl_walk);
    if (ret != FAB_OK) {
        fab_verify_walk_fini(&made);
        return ret;
    }
    *w = made;
    return FAB_OK;
}

void fab_verify_walk_fini(struct fab_verify_walk *w)
{
    fab_verify_deps_fini(&w->deps);
    fab_verify_batch_walk_free(w->batch_walk);
    fab_verify_vl_walk_free(w->vl_walk);
    free(w->tiles);
    free(w->entry);
    free(w->depth);
    free(w->stack);
    memset(w, 0, sizeof(*w));
}

/* ---- one LID --------------------------------------------------------------------------------- */

/* Returns the switch after `sw` on the path to the LID, and records the dependency. FAB_NONE: there
 * is no next switch. */
static uint32_t step(struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    const struct fab_verify_graph *graph = w->graph;
    uint8_t num = c->entry[sw];
    if (num >= graph->port_room[sw])
        return FAB_NONE;
    uint32_t channel = graph->first[sw] + num;
    uint32_t next = graph->hop[channel];
    if (next >= graph->n)
        return FAB_NONE;
    uint8_t next_num = c->entry[next];
    if (next_num < graph->port_room[next])
        fab_verify_deps_add(&w->deps, channel, next_num);
    return next;
}

/* Sets depth[], the number of switches to the destination, for all switches on the path from
 * `sw`. */
static void walk_from(struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    uint32_t count = 0, depth = LOST, at = sw;
    while (at != FAB_NONE && w->depth[at] == 0) {
        w->depth[at] = ON_PATH;
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

/* Returns the number of ports with LIDs at this switch (endports and its port 0), but does not
 * count the owner of the current LID. */
static uint32_t sources_at(const struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    return w->graph->owners[sw] - (sw == c->sw ? 1u : 0u);
}

/* Like sources_at, but counts only endports. Returns 0 if the current LID belongs to a switch. */
static uint32_t hosts_at(const struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    bool sends = w->graph->in->lids->base[w->graph->first[sw]] != 0;
    return c->num == 0 ? 0 : sources_at(w, c, sw) - (sends ? 1u : 0u);
}

static void judge(struct fab_verify_walk *w, const struct column *c, uint32_t sw)
{
    uint32_t limit = w->graph->in->max_hops > 0 ? w->graph->in->max_hops : DEEPEST;
    if (w->depth[sw] <= DEEPEST && w->depth[sw] > w->longest)
        w->longest = w->depth[sw];
    if (w->depth[sw] <= limit)
        return;
    w->unreachable += sources_at(w, c, sw);
    w->unreachable_hosts += hosts_at(w, c, sw);
    if (w->bad_lid == 0 || c->lid < w->bad_lid) {
        w->bad_lid = c->lid;
        w->bad_switch = sw;
    }
}

static void walk_column(struct fab_verify_walk *w, const struct column *c)
{
    const struct fab_verify_graph *graph = w->graph;
    uint32_t component = graph->component[c->sw];
    memset(w->depth, 0, graph->n * sizeof(*w->depth));
    for (uint32_t sw = component; sw < graph->n; sw++) {
        if (graph->component[sw] != component || sources_at(w, c, sw) == 0)
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
        for (uint32_t sw = 0; sw < w->graph->n; sw++)
            w->entry[sw] = w->tile[(size_t)sw * COLUMNS + b->at + i];
        walk_column(
            w, &(struct column){
                   .lid = first_lid + b->at + i, .entry = w->entry, .sw = b->sw, .num = b->num[i]});
    }
}

static bool walk_together(struct fab_verify_walk *w, const struct fab_verify_batch *b)
{
    uint32_t deepest = 0, limit = w->graph->in->max_hops;
    if (w->batch_walk == NULL || !fab_verify_batch_walk_try(w->batch_walk, b, &w->deps, &deepest) ||
        (limit != 0 && deepest > limit))
        return false;
    w->longest = deepest > w->longest ? deepest : w->longest;
    return true;
}

/* Follows the paths to all LIDs of a batch together. If this method cannot tell whether packets
 * arrive, or if a path is longer than max_hops, applies it to each LID separately. For LIDs for
 * which it fails again, uses the general method (walk_generally). */
static void walk_batch(struct fab_verify_walk *w, uint32_t first_lid,
                       const struct fab_verify_batch *b)
{
    if (w->vl_walk != NULL)
        fab_verify_vl_walk_batch(w->vl_walk, w->tile, first_lid, b);
    if (walk_together(w, b))
        return;
    for (uint32_t i = 0; i < b->count; i++) {
        struct fab_verify_batch one = {.sw = b->sw, .at = b->at + i, .count = 1, .num = b->num + i};
        if (b->count == 1 || !walk_together(w, &one))
            walk_generally(w, first_lid, &one);
    }
}

/* Adds one to w->pairs if `owner`, which owns a LID, is directly connected with another endport
 * that has a LID. Packets between them pass no switch. */
static void count_back_to_back(struct fab_verify_walk *w, uint32_t owner)
{
    const struct fab_verify_input *in = w->graph->in;
    if (fab_fabric_port_is_up(in->fabric, owner) &&
        in->lids->base[fab_fabric_port(in->fabric, owner)->peer] != 0)
        w->pairs++;
}

/* ---- all LIDs -------------------------------------------------------------------------------- */

/* Copies the entries of all switches for 256 LIDs into the tiles. A tile has the entries of switch
 * 0 for 64 LIDs, then the entries of switch 1 for these LIDs, and so on. The LFTs are far apart in
 * memory, so they are prefetched. */
static void load_tiles(struct fab_verify_walk *w, uint32_t first_lid)
{
    const struct fab_lft *lft = w->graph->in->lft;
    size_t left = (lft->stride - first_lid) / COLUMNS, n = w->graph->n;
    uint32_t count = left < TILES ? (uint32_t)left : TILES;
    for (uint32_t sw = 0; sw < n; sw++) {
        const uint8_t *entries = fab_target_lft_entry(lft, sw, first_lid);
        const uint8_t *ahead = sw + PREFETCH_ROWS < n
                                   ? fab_target_lft_entry(lft, sw + PREFETCH_ROWS, first_lid)
                                   : entries;
        for (uint32_t i = 0; i < count; i++) {
            __builtin_prefetch(ahead + i * COLUMNS);
            memcpy(w->tiles + (i * n + sw) * COLUMNS, entries + i * COLUMNS, COLUMNS);
        }
    }
}

/* Finds the switch and port that deliver packets to the LID, and adds the number of sources that
 * should reach this LID to w->pairs. Returns false if no port owns the LID, or if the owner is not
 * connected to a switch. */
static bool delivered_at(struct fab_verify_walk *w, uint32_t lid, uint32_t *ret_sw,
                         uint8_t *ret_num)
{
    const struct fab_verify_input *in = w->graph->in;
    if (lid > in->lids->top || in->lids->owner[lid] == FAB_NONE)
        return false;
    uint32_t owner = in->lids->owner[lid];
    bool attached = fab_verify_attachment(in->fabric, owner, ret_sw, ret_num);
    if (attached)
        w->pairs += w->graph->component_owners[w->graph->component[*ret_sw]] - 1;
    else
        count_back_to_back(w, owner);
    return attached;
}

static void walk_tile(struct fab_verify_walk *w, uint32_t first_lid)
{
    struct fab_verify_batch b = {0};
    uint8_t num[COLUMNS];
    for (uint32_t i = 0; i < COLUMNS; i++) {
        uint32_t sw;
        if (!delivered_at(w, first_lid + i, &sw, &num[i]))
            continue;
        if (b.count > 0 && b.sw == sw && b.at + b.count == i) {
            b.count++;
            continue;
        }
        if (b.count > 0)
            walk_batch(w, first_lid, &b);
        b = (struct fab_verify_batch){.sw = sw, .at = i, .count = 1, .num = num + i};
    }
    if (b.count > 0)
        walk_batch(w, first_lid, &b);
}

/* ---- several threads ------------------------------------------------------------------------- */

/* Follows the paths to 256 LIDs, the piece of work number `piece`. worker: number of the calling
 * thread in the pool. */
static void walk_piece(void *arg, uint32_t piece, uint32_t worker)
{
    struct fab_verify_walk *w = (struct fab_verify_walk *)arg + worker;
    uint32_t first = piece * TILES * COLUMNS, top = w->graph->in->lids->top;
    load_tiles(w, first);
    for (uint32_t i = 0; i < TILES && first + i * COLUMNS <= top; i++) {
        w->tile = w->tiles + (size_t)i * w->graph->n * COLUMNS;
        if (w->batch_walk != NULL)
            fab_verify_batch_walk_begin(w->batch_walk, w->tile, &w->deps);
        walk_tile(w, first + i * COLUMNS);
        if (w->batch_walk != NULL)
            fab_verify_batch_walk_end(w->batch_walk, &w->deps);
    }
}

/* Adds the results of `other`, the walk of another thread, to w. */
static void merge(struct fab_verify_walk *w, const struct fab_verify_walk *other)
{
    w->pairs += other->pairs;
    w->unreachable += other->unreachable;
    w->unreachable_hosts += other->unreachable_hosts;
    w->longest = other->longest > w->longest ? other->longest : w->longest;
    if (other->bad_lid != 0 && (w->bad_lid == 0 || other->bad_lid < w->bad_lid)) {
        w->bad_lid = other->bad_lid;
        w->bad_switch = other->bad_switch;
    }
    fab_verify_deps_merge(&w->deps, &other->deps);
    if (w->vl_walk != NULL)
        fab_verify_vl_walk_merge(w->vl_walk, other->vl_walk);
}

uint32_t fab_verify_walk_pieces(const struct fab_verify_walk *w)
{
    return w->graph->in->lids->top / (TILES * COLUMNS) + 1;
}

void fab_verify_walk_piece(struct fab_verify_walk *w, uint32_t piece)
{
    walk_piece(w, piece, 0);
}

void fab_verify_walk_finish(struct fab_verify_walk *w)
{
    if (w->batch_walk != NULL)
        fab_verify_batch_walk_finish(w->batch_walk, &w->deps);
}

static void walk_with(struct fab_verify_walk *walks, uint32_t threads)
{
    const struct fab_verify_input *in = walks[0].graph->in;
    fab_base_pool_run(threads > 1 ? in->pool : NULL, fab_verify_walk_pieces(walks), walk_piece,
                      walks);
    for (uint32_t i = 0; i < threads; i++) {
        fab_verify_walk_finish(&walks[i]);
        if (i > 0)
            merge(&walks[0], &walks[i]);
    }
}

int fab_verify_walk_all(struct fab_verify_walk *w)
{
    uint32_t threads = fab_base_pool_workers(w->graph->in->pool);
    if (threads == 1) {
        walk_with(w, 1);
        return FAB_OK;
    }
    int status = FAB_OK;
    struct fab_verify_walk *walks = calloc(threads, sizeof(*walks));
    if (walks == NULL)
        return FAB_E_NOMEM;
    for (uint32_t i = 1; i < threads && status == FAB_OK; i++)
        status = fab_verify_walk_init(&walks[i], w->graph);
    if (status == FAB_OK) {
        walks[0] = *w;
        walk_with(walks, threads);
        *w = walks[0];
    }
    for (uint32_t i = 1; i < threads; i++)
        fab_verify_walk_fini(&walks[i]);
    free(walks);
    return status;
}
