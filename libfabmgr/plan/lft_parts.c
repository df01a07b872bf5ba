/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the writes of one LFT block number in all switches that change it. If necessary, a switch's
 * block is written in parts. An item is the block of one switch. Each write has a wave: the writes
 * of one block number are sent wave by wave, the lowest first.
 *
 * A constraint says that the entry of one switch for a destination must be written before the entry
 * of another switch (lft_constraints.c). A block has the entries of 64 destinations. For one
 * destination, switch A may have to be written before switch B, and for another destination B
 * before A. Then the block of one of the two switches is written in parts: the first part changes
 * some entries, while the other entries keep their values.
 *
 * Soft constraints avoid paths that go down and then up. All other constraints are strict. Those of
 * one destination never form a cycle, so some entry can always be written. Soft constraints may
 * form a cycle; they are dropped if no entry can be written otherwise. If still no entry could be
 * written, this would be an internal error. One item would then be written regardless, and counted
 * in `unordered`.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/lft_order_internal.h"

/* Adds a write of item `i` (the LFT block of one switch) that changes the entries in the bitset
 * `entries`. Other entries that are not yet written keep their old values. If `last` is true, the
 * write changes all remaining entries, including entries of LIDs without an owner. */
static int write_part(struct fab_lft_ordering *o, uint32_t i, uint64_t entries, bool last)
{
    struct fab_lft_ordering_item *item = &o->items[i];
    void *grown =
        fab_base_grow(o->parts, sizeof(*o->parts), (size_t)o->part_count + 1, &o->part_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    o->parts = grown;
    struct fab_lft_ordering_part *p = &o->parts[o->part_count++];
    *p = (struct fab_lft_ordering_part){.op = o->ops[i], .item = i, .wave = item->wave};
    p->op.keep = last ? 0 : ~(item->written | entries);
    item->written |= last ? UINT64_MAX : entries;
    if (!last)
        /* the next write of this block comes in a later wave */
        item->wave++;
    return FAB_OK;
}

/* Updates the constraints after write_part() has added a write of these entries of item `i` in wave
 * `wave`. Items that had to wait for these entries get a later wave. Items that need not wait any
 * more are appended to the queue. */
static void release(struct fab_lft_ordering *o, uint32_t i, uint64_t entries, uint32_t wave,
                    uint32_t *queued)
{
    for (uint32_t e = o->items[i].edge; e != FAB_NONE; e = o->edges[e].next) {
        struct fab_lft_ordering_item *after = &o->items[o->edges[e].after];
        if ((entries >> o->edges[e].entry & 1) == 0 || o->edges[e].gone)
            continue;
        if (after->wave <= wave)
            after->wave = wave + 1;
        if (after->waits > 0 && --after->waits == 0)
            o->queue[(*queued)++] = o->edges[e].after;
    }
}

/* Removes the soft constraints of the current block number, because the constraints contradict each
 * other. Returns false if there was no soft constraint. */
static bool give_up_turns(struct fab_lft_ordering *o, uint32_t *queued)
{
    bool any = false;
    for (uint32_t e = 0; e < o->edge_count; e++) {
        struct fab_lft_ordering_edge *edge = &o->edges[e];
        if (!edge->soft || edge->gone || (o->items[edge->before].written >> edge->entry & 1) != 0)
            continue;
        any = edge->gone = true;
        if (--o->items[edge->after].waits == 0)
            o->queue[(*queued)++] = edge->after;
    }
    return any;
}

/* Handles an internal error: no item can be written. Appends to the queue the first item that still
 * waits, although another item should be written before it, and counts it in `unordered`. Returns
 * INVAL if no item waits. */
static int release_any(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count,
                       uint32_t *queued)
{
    for (uint32_t i = 0; i < count; i++) {
        struct fab_lft_ordering_item *item = &o->items[items[i]];
        if (item->waits == 0 || item->written == UINT64_MAX)
            continue;
        o->unordered++;
        item->waits = 0;
        o->queue[(*queued)++] = items[i];
        return FAB_OK;
    }
    return FAB_E_INVAL;
}

/* Adds the write of a part of a block, after the caller found that each block that is left has an
 * entry that must wait for another switch. Chooses the switch with the most entries that need not
 * wait, and writes these entries. If all entries must wait, removes the soft constraints instead;
 * if there are none, an internal error has occurred (release_any). */
static int write_largest_part(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count,
                              uint32_t *queued)
{
    uint32_t best = FAB_NONE;
    int most = 0;
    for (uint32_t i = 0; i < count; i++)
        o->blocked[items[i]] = o->items[items[i]].written;
    for (uint32_t e = 0; e < o->edge_count; e++) {
        const struct fab_lft_ordering_edge *edge = &o->edges[e];
        if (!edge->gone && (o->items[edge->before].written >> edge->entry & 1) == 0)
            o->blocked[edge->after] |= UINT64_C(1) << edge->entry;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct fab_lft_ordering_item *item = &o->items[items[i]];
        int bits = __builtin_popcountll(item->changed & ~o->blocked[items[i]]);
        if (~item->written != 0 && item->waits != FAB_NONE && item->waits > 0 && bits > most) {
            best = items[i];
            most = bits;
        }
    }
    o->steps += o->edge_count + count;
    if (best == FAB_NONE)
        return give_up_turns(o, queued) ? FAB_OK : release_any(o, items, count, queued);
    uint64_t entries = o->items[best].changed & ~o->blocked[best];
    uint32_t wave = o->items[best].wave;
    o->items[best].awaited = true;
    int ret = write_part(o, best, entries, false);
    release(o, best, entries, wave, queued);
    return ret;
}

/* Adds the writes of all items. Each write gets a later wave than the writes that must precede
 * it. */
int fab_plan_lft_write_parts(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count)
{
    uint32_t queued = 0, at = 0;
    int ret = FAB_OK;
    for (uint32_t i = 0; i < count; i++)
        if (o->items[items[i]].waits == 0)
            o->queue[queued++] = items[i];
    while (at < count && ret == FAB_OK) {
        if (at == queued) {
            ret = write_largest_part(o, items, count, &queued);
            continue;
        }
        uint32_t i = o->queue[at++];
        uint64_t rest = ~o->items[i].written;
        ret = write_part(o, i, rest, true);
        release(o, i, rest, o->items[i].wave, &queued);
    }
    return ret;
}
