/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders the LFT writes. Writes that end packet loss come first. If a safe order exists, no write
 * creates a loop while other writes are under way. The member `unordered` of the plan counts the
 * writes that no order makes safe.
 *
 *   lft_constraints.c  finds the writes that must precede others, for one destination
 *   lft_parts.c        makes the writes of one block, in parts where necessary
 *
 * The analysis stops after FAB_LFT_ORDERING_STEPS steps, for instance when all tables change at
 * once. The remaining blocks are not analysed (`unchecked`): they are written in the order of
 * switches, and may cause loops.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/lft_order_internal.h"

/* ---- one block ------------------------------------------------------------------------------- */

/* Marks the urgent items. An item is an LFT block to write. It is urgent if its write ends packet
 * loss, or if it must be written before another urgent item. */
static void find_urgent(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count)
{
    bool again = true;
    for (uint32_t i = 0; i < count; i++)
        o->items[items[i]].urgent = o->items[items[i]].drops > 0;
    while (again) {
        again = false;
        for (uint32_t e = o->edge_count; e-- > 0;) {
            struct fab_lft_ordering_item *before = &o->items[o->edges[e].before];
            bool spread = o->items[o->edges[e].after].urgent && !before->urgent;
            before->urgent = before->urgent || spread;
            again = again || spread;
        }
    }
}

/* Returns a bitset of the entries of an item (an LFT block to write) whose old and new values
 * differ. If the old values are unknown, returns all entries. */
static uint64_t find_differing(const struct fab_lft_ordering *o,
                               const struct fab_lft_ordering_item *item, uint32_t block)
{
    const uint8_t *now = fab_target_lft_block(&o->in->target->lft, item->sw, block);
    uint64_t differs = 0;
    if (!item->known)
        return UINT64_MAX;
    const uint8_t *old = fab_target_lft_block(&o->in->observed->lft, item->sw, block);
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
        differs |= (uint64_t)(old[i] != now[i]) << i;
    return differs;
}

static int order_block(struct fab_lft_ordering *o, uint32_t block)
{
    const struct fab_lids *lids = &o->in->target->lids;
    const uint32_t *items = o->by_block + o->block_start[block];
    uint32_t count = o->block_start[block + 1] - o->block_start[block];
    int ret = FAB_OK;
    o->edge_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct fab_lft_ordering_item *item = &o->items[items[i]];
        o->slot[item->sw] = items[i];
        item->differs = find_differing(o, item, block);
    }
    for (uint32_t i = 0; i < FAB_LFT_BLOCK && ret == FAB_OK && o->steps < FAB_LFT_ORDERING_STEPS;
         i++) {
        o->lid = block * FAB_LFT_BLOCK + i;
        o->owner = o->lid <= lids->top ? lids->owner[o->lid] : FAB_NONE;
        if (o->owner != FAB_NONE)
            ret = fab_plan_lft_constrain(o, items, count);
    }
    for (uint32_t i = 0; i < count; i++)
        o->slot[o->items[items[i]].sw] = FAB_NONE;
    if (ret == FAB_OK)
        ret = fab_plan_lft_write_parts(o, items, count);
    find_urgent(o, items, count);
    return ret;
}

/* ---- the order ------------------------------------------------------------------------------- */

struct key {
    const struct fab_lft_ordering_part *part;
    const struct fab_lft_ordering_item *item;
};

static int compare(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    if (a->item->urgent != b->item->urgent)
        return a->item->urgent ? -1 : 1;
    if (a->part->wave != b->part->wave)
        return a->part->wave < b->part->wave ? -1 : 1;
    if (a->item->drops != b->item->drops)
        return a->item->drops > b->item->drops ? -1 : 1;
    if (a->item->distance != b->item->distance)
        return a->item->distance < b->item->distance ? -1 : 1;
    if (a->item->sw != b->item->sw)
        return a->item->sw < b->item->sw ? -1 : 1;
    return a->part->op.block < b->part->op.block ? -1 : 1;
}

static void make_op(const struct key *key, struct fab_plan_op *op)
{
    const struct key *before = key - 1;
    *op = key->part->op;
    op->awaited = key->item->awaited;
    op->waits = key->part->wave > 0;
    op->barrier = key->part->wave > 0 && (before->part->wave != key->part->wave ||
                                          before->item->urgent != key->item->urgent);
}

/* Stores all writes, sorted into their final order, in a new array *ret_ops. Returns NOMEM. */
static int sort_writes(const struct fab_lft_ordering *o, struct fab_plan_op **ret_ops)
{
    struct key *keys = calloc(o->part_count, sizeof(*keys));
    struct fab_plan_op *ops = calloc(o->part_count, sizeof(*ops));
    if (keys == NULL || ops == NULL) {
        free(keys);
        free(ops);
        return FAB_E_NOMEM;
    }
    for (uint32_t i = 0; i < o->part_count; i++)
        keys[i] = (struct key){&o->parts[i], &o->items[o->parts[i].item]};
    qsort(keys, o->part_count, sizeof(*keys), compare);
    for (uint32_t i = 0; i < o->part_count; i++)
        make_op(&keys[i], &ops[i]);
    free(keys);
    *ret_ops = ops;
    return FAB_OK;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static void find_hops(struct fab_lft_ordering *o)
{
    const struct fab_fabric *f = o->in->fabric;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer =
            fab_fabric_port(f, port)->node < f->switch_count && fab_fabric_port_is_up(f, port)
                ? fab_fabric_peer_node(f, port)
                : FAB_LFT_ORDERING_DROPS;
        o->hop[port] = peer == FAB_LFT_ORDERING_DROPS || fab_fabric_node_is_switch(f, peer)
                           ? peer
                           : FAB_LFT_ORDERING_ENDPORT;
    }
}

static uint32_t count_endports(const struct fab_lft_ordering *o, uint32_t sw)
{
    const struct fab_node *n = &o->in->fabric->nodes[sw];
    uint32_t endports = 0;
    for (uint32_t port = n->first_port + 1; port <= n->first_port + n->num_ports; port++)
        endports += o->hop[port] == FAB_LFT_ORDERING_ENDPORT;
    return endports;
}

/* Computes the rank of each switch: the number of hops from the nearest leaf switch. A leaf switch
 * has at least a quarter as many endports as the switch with the most endports. So a spine with a
 * server or two does not count as a leaf switch. The engine's ranks would be more exact, but
 * computing them takes longer than everything else in this file. On trees both ranks are the
 * same. */
static void find_ranks(struct fab_lft_ordering *o)
{
    uint32_t count = o->in->fabric->switch_count, most = 0, queued = 0;
    /* these two arrays are scratch memory of the search for cycles, which runs later */
    uint32_t *endports = o->low, *queue = o->open;
    for (uint32_t sw = 0; sw < count; sw++) {
        endports[sw] = count_endports(o, sw);
        most = endports[sw] > most ? endports[sw] : most;
    }
    for (uint32_t sw = 0; sw < count; sw++) {
        o->rank[sw] = endports[sw] * 4 >= most ? 0 : FAB_NONE;
        if (o->rank[sw] == 0)
            queue[queued++] = sw;
    }
    for (uint32_t at = 0; at < queued; at++) {
        const struct fab_node *n = &o->in->fabric->nodes[queue[at]];
        for (uint32_t port = n->first_port + 1; port <= n->first_port + n->num_ports; port++) {
            uint32_t to = o->hop[port];
            if (to >= FAB_LFT_ORDERING_ENDPORT || o->rank[to] != FAB_NONE)
                continue;
            o->rank[to] = o->rank[queue[at]] + 1;
            queue[queued++] = to;
        }
    }
}

static void sort_by_block(struct fab_lft_ordering *o, uint32_t blocks)
{
    for (uint32_t i = 0; i < o->count; i++)
        o->block_start[o->ops[i].block + 1]++;
    for (uint32_t b = 0; b < blocks; b++)
        o->block_start[b + 1] += o->block_start[b];
    for (uint32_t i = o->count; i-- > 0;)
        o->by_block[--o->block_start[o->ops[i].block + 1]] = i;
    /* block_start[b + 1] is now the start of block b; the next line moves it to block_start[b] */
    memmove(o->block_start, o->block_start + 1, blocks * sizeof(*o->block_start));
    o->block_start[blocks] = o->count;
}

static void fini(struct fab_lft_ordering *o)
{
    void *all[] = {o->items,   o->by_block, o->block_start, o->hop,     o->slot,  o->stack,
                   o->changed, o->open,     o->index,       o->low,     o->group, o->phase,
                   o->edges,   o->parts,    o->queue,       o->blocked, o->rank};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
}

static int allocate(struct fab_lft_ordering *o, uint32_t blocks)
{
    const struct fab_fabric *f = o->in->fabric;
    uint32_t **by_switch[] = {&o->slot,  &o->stack, &o->changed, &o->open,
                              &o->index, &o->low,   &o->group,   &o->rank};
    o->items = calloc(o->count, sizeof(*o->items));
    o->by_block = calloc(o->count, sizeof(*o->by_block));
    o->block_start = calloc(blocks + 1u, sizeof(*o->block_start));
    o->hop = calloc(f->port_count + 1u, sizeof(*o->hop));
    o->phase = calloc(f->switch_count, sizeof(*o->phase));
    o->queue = calloc(o->count, sizeof(*o->queue));
    o->blocked = calloc(o->count, sizeof(*o->blocked));
    if (!o->items || !o->by_block || !o->block_start || !o->hop || !o->phase || !o->queue ||
        !o->blocked)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < sizeof(by_switch) / sizeof(*by_switch); i++) {
        *by_switch[i] = calloc(f->switch_count, sizeof(**by_switch[i]));
        if (*by_switch[i] == NULL)
            return FAB_E_NOMEM;
    }
    return FAB_OK;
}

static int init(struct fab_lft_ordering *o, uint32_t blocks)
{
    int ret = allocate(o, blocks);
    if (ret != FAB_OK)
        return ret;
    memset(o->slot, 0xff, o->in->fabric->switch_count * sizeof(*o->slot));
    for (uint32_t i = 0; i < o->count; i++)
        o->items[i] = (struct fab_lft_ordering_item){
            .sw = o->ops[i].node,
            .edge = FAB_NONE,
            .known = fab_plan_observed_is_known(o->in->observed, o->ops[i].node, o->ops[i].block),
        };
    sort_by_block(o, blocks);
    find_hops(o);
    find_ranks(o);
    return FAB_OK;
}

static bool any_known(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count)
{
    for (size_t i = 0; in->observed != NULL && i < count; i++)
        if (fab_plan_observed_is_known(in->observed, ops[i].node, ops[i].block))
            return true;
    return false;
}

int fab_plan_lft_order(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count,
                       struct fab_plan_op **ret_ops, size_t *ret_count, uint32_t *ret_unordered,
                       bool *ret_unchecked)
{
    struct fab_lft_ordering o = {.in = in, .ops = ops, .count = (uint32_t)count};
    uint32_t blocks = fab_target_lft_blocks(&in->target->lft);
    if (count < 2 || !any_known(in, ops, count)) {
        *ret_ops = NULL;
        return FAB_OK;
    }
    int status = init(&o, blocks);
    for (uint32_t b = 0; b < blocks && status == FAB_OK; b++)
        status = order_block(&o, b);
    if (status == FAB_OK)
        status = sort_writes(&o, ret_ops);
    if (status == FAB_OK) {
        *ret_count = o.part_count;
        *ret_unordered = o.unordered;
        *ret_unchecked = o.steps >= FAB_LFT_ORDERING_STEPS;
    }
    fini(&o);
    return status;
}
