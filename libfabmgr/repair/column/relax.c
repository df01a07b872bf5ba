/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Raising: when a switch has found no way although cables join it with the destination, others have
 * entries that it may not arrive by, and might have others. For one column, and all channels in the
 * order of their labels, the greatest first: a channel to a switch that sends on by a greater label
 * is the best its own switch can have. That gives every switch the greatest label that any tables
 * could give it, so that who is left out then has no way by these labels at all.
 *
 * Of these entries only those on the way of who had none are taken, up to the first switch where it
 * arrives legally. Labels become greater by that, which suits all who send there.
 *
 * It is a look at all channels, so there is an end to it: WORK of them in one plan.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define WORK 8000000 /* channels; about 100 ms */

struct raising {
    struct fab_repair *r;
    uint64_t *heap; /* [ports] label << 32 | channel, the greatest first */
    uint32_t heaped;
    uint32_t *best; /* [n] channel, or FAB_NONE */
};

static void push(struct raising *g, uint64_t item)
{
    uint32_t i = g->heaped++;
    for (; i > 0 && g->heap[(i - 1) / 2] < item; i = (i - 1) / 2)
        g->heap[i] = g->heap[(i - 1) / 2];
    g->heap[i] = item;
}

static uint32_t pop(struct raising *g)
{
    uint64_t top = g->heap[0], last = g->heap[--g->heaped];
    uint32_t i = 0;
    for (uint32_t child = 1; child < g->heaped; child = 2 * i + 1) {
        child += child + 1 < g->heaped && g->heap[child + 1] > g->heap[child];
        if (g->heap[child] <= last)
            break;
        g->heap[i] = g->heap[child];
        i = child;
    }
    g->heap[i] = last;
    return (uint32_t)top;
}

/* Channels to a switch by labels below `label`, from those that have none yet. */
static void push_arriving(struct raising *g, uint32_t sw, uint32_t label)
{
    const struct fab_repair *r = g->r;
    const struct fab_repair_network *b = r->base;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        uint32_t from = b->hop[port];
        if (from == FAB_NONE || fab_base_bits_get(r->dark, port) || from == r->column.home ||
            g->best[from] != FAB_NONE)
            continue;
        uint32_t channel = fab_repair_peer_port(b, port), one = r->column.label[channel];
        if (one < label)
            push(g, (uint64_t)one << 32 | channel);
    }
}

static void find_best(struct raising *g)
{
    const struct fab_repair_network *b = g->r->base;
    memset(g->best, 0xff, b->n * sizeof(*g->best));
    g->heaped = 0;
    push_arriving(g, g->r->column.home, FAB_REPAIR_DELIVERED);
    while (g->heaped > 0) {
        uint32_t channel = pop(g), sw = b->hop[fab_repair_peer_port(b, channel)];
        if (g->best[sw] != FAB_NONE)
            continue;
        g->best[sw] = channel;
        push_arriving(g, sw, g->r->column.label[channel]);
    }
}

/* The label by which a switch sends on now; 0: it has no way. */
static uint32_t present(const struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_column *c = &r->column;
    if (sw == c->home)
        return FAB_REPAIR_DELIVERED;
    uint32_t channel = fab_repair_channel(r->base, sw, fab_repair_column_entry(c, sw));
    bool none =
        c->mark[sw] == FAB_MARK_CUT || channel == FAB_NONE || fab_base_bits_get(r->dark, channel);
    return none ? 0 : c->label[channel];
}

static void take(struct raising *g, uint32_t sw)
{
    struct fab_repair_column *c = &g->r->column;
    if (c->mark[sw] == FAB_MARK_NONE)
        c->touched[c->touches++] = sw;
    c->mark[sw] = FAB_MARK_SETTLED;
    c->entry[sw] = (uint8_t)(g->best[sw] - g->r->base->first[sw]);
}

static void take_way(struct raising *g, uint32_t sw)
{
    const struct fab_repair_column *c = &g->r->column;
    uint32_t label = 0;
    while (present(g->r, sw) <= label) {
        take(g, sw);
        label = c->label[g->best[sw]];
        sw = g->r->base->hop[g->best[sw]];
    }
}

static int alloc_raising(struct raising *g)
{
    g->heap = fab_base_alloc_array(g->r->base->ports, sizeof(*g->heap));
    g->best = fab_base_alloc_array((size_t)g->r->base->n + 1, sizeof(*g->best));
    return g->heap != NULL && g->best != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_repair_column_relax(struct fab_repair *r)
{
    struct raising g = {.r = r};
    struct fab_repair_column *c = &r->column;
    if (r->raised > WORK)
        return FAB_OK;
    r->raised += r->base->ports;
    int status = alloc_raising(&g);
    if (status == FAB_OK)
        find_best(&g);
    for (uint32_t i = 0, touches = c->touches; status == FAB_OK && i < touches; i++) {
        uint32_t sw = c->touched[i];
        if (c->mark[sw] == FAB_MARK_CUT && g.best[sw] != FAB_NONE)
            take_way(&g, sw);
    }
    free(g.heap);
    free(g.best);
    return status;
}
