/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relaxation finds paths for CUT switches: switches for which column.c found no path, though living
 * links connect them with the destination.
 *
 * The reason is that the labels do not ascend where the possible paths of a CUT switch meet the
 * entries of other switches. So a search finds the best channel of each switch. Paths to the LID
 * with ascending labels can begin with several channels of a switch; the best channel has the
 * greatest label.
 *
 * The search visits the channels in descending order of labels. A channel becomes the best channel
 * of its switch on two conditions: the switch has no best channel yet, and the channel leads to a
 * switch whose best channel has a greater label. A switch without a best channel has no path that
 * these labels allow.
 *
 * From each CUT switch, the path over the best channels is followed, up to the first switch whose
 * present entry continues the path by ascending labels. Only the switches on this path get new
 * entries. The labels of the new entries are greater than before. So the paths of all neighbours
 * that send to these switches still ascend.
 *
 * Each search reads all channels. So no further search begins when the searches of one repair have
 * read more than WORK_MAX channels.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* number of channels that the searches of one repair together may read; this takes about 100 ms */
#define WORK_MAX 8000000

struct relaxation {
    struct fab_repair *r;
    uint64_t *heap; /* [ports] heap of label << 32 | channel, the greatest first */
    uint32_t heap_count;
    /* [switches] the best channel of each switch; FAB_NONE: not found yet */
    uint32_t *best;
};

/* Adds to the heap the channels to switch `sw` whose label is below `label`. Omits channels that
 * leave a switch whose best channel is known. */
static void push_arriving(struct relaxation *g, uint32_t sw, uint32_t label)
{
    const struct fab_repair *r = g->r;
    const struct fab_repair_network *b = r->network;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        uint32_t from = b->peer_sw[port];
        if (from == FAB_NONE || fab_base_bits_get(r->is_dead, port) || from == r->column.home ||
            g->best[from] != FAB_NONE)
            continue;
        uint32_t channel = fab_repair_peer_port(b, port), one = r->column.label[channel];
        if (one < label)
            fab_repair_heap_push(g->heap, &g->heap_count, (uint64_t)one << 32 | channel);
    }
}

static void find_best(struct relaxation *g)
{
    const struct fab_repair_network *b = g->r->network;
    memset(g->best, 0xff, b->n * sizeof(*g->best));
    g->heap_count = 0;
    push_arriving(g, g->r->column.home, FAB_REPAIR_DELIVERED);
    while (g->heap_count > 0) {
        uint32_t channel = (uint32_t)fab_repair_heap_pop(g->heap, &g->heap_count),
                 sw = fab_repair_switch_of(b, channel);
        if (g->best[sw] != FAB_NONE)
            continue;
        g->best[sw] = channel;
        push_arriving(g, sw, g->r->column.label[channel]);
    }
}

/* Returns the label of the channel by which the switch now forwards packets to the current LID; 0:
 * the switch has no path. */
static uint32_t present_label(const struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_column *c = &r->column;
    if (sw == c->home)
        return FAB_REPAIR_DELIVERED;
    uint32_t channel = fab_repair_channel(r->network, sw, fab_repair_column_entry(c, sw));
    bool none = c->mark[sw] == FAB_MARK_CUT || channel == FAB_NONE ||
                fab_base_bits_get(r->is_dead, channel);
    return none ? 0 : c->label[channel];
}

static void take(struct relaxation *g, uint32_t sw)
{
    struct fab_repair_column *c = &g->r->column;
    if (c->mark[sw] == FAB_MARK_NONE)
        c->touched[c->touches++] = sw;
    c->mark[sw] = FAB_MARK_SETTLED;
    c->entry[sw] = (uint8_t)(g->best[sw] - g->r->network->first[sw]);
}

static void take_path(struct relaxation *g, uint32_t sw)
{
    const struct fab_repair_column *c = &g->r->column;
    uint32_t label = 0;
    while (present_label(g->r, sw) <= label) {
        take(g, sw);
        label = c->label[g->best[sw]];
        sw = g->r->network->peer_sw[g->best[sw]];
    }
}

static int alloc_relaxation(struct relaxation *g)
{
    g->heap = fab_base_alloc_array(g->r->network->ports, sizeof(*g->heap));
    g->best = fab_base_alloc_array((size_t)g->r->network->n + 1, sizeof(*g->best));
    return g->heap != NULL && g->best != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_repair_column_relax(struct fab_repair *r)
{
    struct relaxation g = {.r = r};
    struct fab_repair_column *c = &r->column;
    if (r->relax_work > WORK_MAX)
        return FAB_OK;
    r->relax_work += r->network->ports;
    int status = alloc_relaxation(&g);
    if (status == FAB_OK)
        find_best(&g);
    for (uint32_t i = 0, touches = c->touches; status == FAB_OK && i < touches; i++) {
        uint32_t sw = c->touched[i];
        if (c->mark[sw] == FAB_MARK_CUT && g.best[sw] != FAB_NONE)
            take_path(&g, sw);
    }
    free(g.heap);
    free(g.best);
    return status;
}
