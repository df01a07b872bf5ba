/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channel dependencies of tables in which the VL depends on the pair of source and destination
 * switch, and labels that ascend along them.
 *
 * Each VL has a graph of its own: channels, and the dependencies between them. In the beginning,
 * the graphs have the dependencies of the baseline, and the labels are a topological order of them.
 * A call first adds the dependencies of the present tables that the baseline does not have
 * (labels/lanes.c). Then it adds the dependencies of new entries, one by one. If a dependency would
 * close a cycle, it is not added. If it leads from a greater label to a lower one, only channels
 * with labels between these two get other labels (Pearce & Kelly, "A dynamic topological sort
 * algorithm for directed acyclic graphs", 2006). So a repair may use every path that leaves all
 * graphs without a cycle.
 *
 * Channels of dead links carry no packets, so their dependencies close no cycle. All other
 * dependencies of the baseline stay, even if no path needs them now.
 *
 * A log records what was added. So the caller can undo a failed attempt, and the next call begins
 * with the baseline again, without a copy of all graphs.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

/* One change of the graphs. `at` is VL * ports + channel. If is_label is true, this channel had the
 * label `value`; otherwise, the dependency of this channel on the channel `value` was added. */
struct fab_repair_undo {
    uint32_t at, value;
    bool is_label;
};

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t words_of(const struct fab_repair_network *b)
{
    return (size_t)b->vl_count * b->ports * b->words;
}

static int alloc_graphs(struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    struct fab_repair_dependencies *g = &r->graph;
    size_t words = words_of(b), labels = (size_t)b->vl_count * b->ports;
    g->next = fab_base_alloc_array(words + 1, sizeof(*g->next));
    g->previous = fab_base_alloc_array(words + 1, sizeof(*g->previous));
    g->label = fab_base_alloc_array(labels + 1, sizeof(*g->label));
    g->ahead = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*g->ahead));
    g->behind = fab_base_alloc_array((size_t)b->ports + 1, sizeof(*g->behind));
    g->seen = fab_base_bits_new(b->ports);
    if (!g->next || !g->previous || !g->label || !g->ahead || !g->behind || !g->seen) {
        fab_repair_dependencies_fini(g);
        return FAB_E_NOMEM;
    }
    memcpy(g->next, b->next, words * sizeof(*g->next));
    memcpy(g->previous, b->previous, words * sizeof(*g->previous));
    memcpy(g->label, b->label, labels * sizeof(*g->label));
    return FAB_OK;
}

void fab_repair_dependencies_fini(struct fab_repair_dependencies *g)
{
    free(g->next);
    free(g->previous);
    free(g->label);
    free(g->ahead);
    free(g->behind);
    free(g->seen);
    free(g->undo);
    *g = (struct fab_repair_dependencies){0};
}

size_t fab_repair_dependencies_memory(const struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    const struct fab_repair_dependencies *g = &r->graph;
    if (g->next == NULL)
        return 0;
    return 2 * words_of(b) * sizeof(*g->next) +
           (size_t)b->ports * (b->vl_count * sizeof(*g->label) + 2 * sizeof(*g->ahead)) +
           b->ports / 8 + g->undo_room * sizeof(*g->undo);
}

/* ---- one dependency -------------------------------------------------------------------------- */

static uint64_t *row(uint64_t *graph, const struct fab_repair_network *b, uint32_t at)
{
    return graph + (size_t)at * b->words;
}

/* Sets whether the channel of `at` (VL * ports + channel) depends on the channel `to`. */
static void put(struct fab_repair *r, uint32_t at, uint32_t to, bool depends)
{
    const struct fab_repair_network *b = r->network;
    uint32_t from = at % b->ports, sw = b->peer_sw[from];
    fab_base_bits_put(row(r->graph.next, b, at), to - b->first[sw], depends);
    fab_base_bits_put(row(r->graph.previous, b, at - from + to), b->peer_num[from], depends);
}

static bool record(struct fab_repair_dependencies *g, uint32_t at, uint32_t value, bool is_label)
{
    if (g->undos == g->undo_room) {
        void *more = fab_base_grow(g->undo, sizeof(*g->undo), g->undos + 1, &g->undo_room);
        if (more == NULL) {
            g->failed = true;
            return false;
        }
        g->undo = more;
    }
    g->undo[g->undos++] = (struct fab_repair_undo){.at = at, .value = value, .is_label = is_label};
    return true;
}

void fab_repair_dependencies_undo(struct fab_repair *r, size_t mark)
{
    struct fab_repair_dependencies *g = &r->graph;
    while (g->undos > mark) {
        const struct fab_repair_undo *u = &g->undo[--g->undos];
        if (u->is_label)
            g->label[u->at] = u->value;
        else
            put(r, u->at, u->value, false);
    }
}

int fab_repair_dependencies_reset(struct fab_repair *r)
{
    if (r->graph.next == NULL)
        return alloc_graphs(r);
    fab_repair_dependencies_undo(r, 0);
    r->graph.failed = false;
    r->graph.work = 0;
    return FAB_OK;
}

/* ---- the order ------------------------------------------------------------------------------- */

static uint64_t item(const uint32_t *label, uint32_t channel)
{
    return (uint64_t)label[channel] << 32 | channel;
}

/* Clears `seen` for the channels of a list. */
static void forget(struct fab_repair_dependencies *g, const uint64_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        fab_base_bits_clear(g->seen, (uint32_t)list[i]);
    g->work += count;
}

/* Lists in ahead[] the channel `from` and the living channels to which chains of dependencies lead
 * from it, over channels with labels below that of `last`. Returns their number; 0: such a chain
 * leads to `last`. */
static uint32_t find_ahead(struct fab_repair *r, uint32_t vl, uint32_t from, uint32_t last)
{
    const struct fab_repair_network *b = r->network;
    struct fab_repair_dependencies *g = &r->graph;
    const uint32_t *label = g->label + (size_t)vl * b->ports;
    uint32_t count = 0;
    g->ahead[count++] = item(label, from);
    fab_base_bits_set(g->seen, from);
    for (uint32_t head = 0; head < count; head++) {
        uint32_t channel = (uint32_t)g->ahead[head], first = b->first[b->peer_sw[channel]];
        const uint64_t *next = row(g->next, b, vl * b->ports + channel);
        for (uint32_t word = 0; word < b->words; word++) {
            for (uint64_t bits = next[word]; bits != 0; bits &= bits - 1) {
                uint32_t to = first + word * 64 + (uint32_t)__builtin_ctzll(bits);
                if (to == last) {
                    forget(g, g->ahead, count);
                    return 0;
                }
                if (label[to] < label[last] && !fab_base_bits_get(r->is_dead, to) &&
                    fab_base_bits_add(g->seen, to))
                    g->ahead[count++] = item(label, to);
            }
        }
    }
    forget(g, g->ahead, count);
    return count;
}

/* Lists in behind[] the channel `to` and the living channels from which chains of dependencies lead
 * to it, over channels with labels above that of `first`. Returns their number. */
static uint32_t find_behind(struct fab_repair *r, uint32_t vl, uint32_t to, uint32_t first)
{
    const struct fab_repair_network *b = r->network;
    struct fab_repair_dependencies *g = &r->graph;
    const uint32_t *label = g->label + (size_t)vl * b->ports;
    uint32_t count = 0;
    g->behind[count++] = item(label, to);
    fab_base_bits_set(g->seen, to);
    for (uint32_t head = 0; head < count; head++) {
        uint32_t channel = (uint32_t)g->behind[head],
                 port = b->first[fab_repair_switch_of(b, channel)];
        const uint64_t *previous = row(g->previous, b, vl * b->ports + channel);
        for (uint32_t word = 0; word < b->words; word++) {
            for (uint64_t bits = previous[word]; bits != 0; bits &= bits - 1) {
                uint32_t at = port + word * 64 + (uint32_t)__builtin_ctzll(bits),
                         from = fab_repair_peer_port(b, at);
                if (label[from] > label[first] && !fab_base_bits_get(r->is_dead, from) &&
                    fab_base_bits_add(g->seen, from))
                    g->behind[count++] = item(label, from);
            }
        }
    }
    forget(g, g->behind, count);
    return count;
}

static int by_label(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Distributes the labels of the channels in behind[] and ahead[] anew: those in behind[] get the
 * lowest of them. Within each list, the order stays. Returns false if memory runs out. */
static bool exchange_labels(struct fab_repair *r, uint32_t vl, uint32_t behinds, uint32_t aheads)
{
    struct fab_repair_dependencies *g = &r->graph;
    uint32_t *label = g->label + (size_t)vl * r->network->ports, i = 0, k = 0;
    qsort(g->behind, behinds, sizeof(*g->behind), by_label);
    qsort(g->ahead, aheads, sizeof(*g->ahead), by_label);
    for (uint32_t n = 0; n < behinds + aheads; n++) {
        bool from_behind = i < behinds && (k == aheads || g->behind[i] < g->ahead[k]);
        uint32_t free_label = (uint32_t)((from_behind ? g->behind[i++] : g->ahead[k++]) >> 32);
        uint32_t channel = (uint32_t)(n < behinds ? g->behind[n] : g->ahead[n - behinds]);
        if (!record(g, vl * r->network->ports + channel, label[channel], true))
            return false;
        label[channel] = free_label;
    }
    return true;
}

bool fab_repair_dependencies_add(struct fab_repair *r, uint32_t vl, uint32_t from, uint32_t to)
{
    const struct fab_repair_network *b = r->network;
    struct fab_repair_dependencies *g = &r->graph;
    const uint32_t *label = g->label + (size_t)vl * b->ports;
    uint32_t at = vl * b->ports + from;
    if (fab_base_bits_get(row(g->next, b, at), to - b->first[b->peer_sw[from]]))
        return true;
    if (label[from] >= label[to]) {
        uint32_t aheads = find_ahead(r, vl, to, from);
        if (aheads == 0 || !exchange_labels(r, vl, find_behind(r, vl, from, to), aheads))
            return false;
    }
    if (!record(g, at, to, false))
        return false;
    put(r, at, to, true);
    return true;
}

bool fab_repair_dependencies_ascend(const struct fab_repair *r)
{
    const struct fab_repair_network *b = r->network;
    size_t bits = (size_t)b->words * 64;
    for (uint32_t at = 0; at < b->vl_count * b->ports; at++) {
        uint32_t channel = at % b->ports;
        if (b->peer_sw[channel] == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
            continue;
        const uint64_t *next = row(r->graph.next, b, at);
        const uint32_t *label = r->graph.label + (at - channel);
        uint32_t first = b->first[b->peer_sw[channel]];
        for (size_t i = fab_base_bits_next(next, bits, 0); i < bits;
             i = fab_base_bits_next(next, bits, i + 1)) {
            if (label[channel] >= label[first + i] && !fab_base_bits_get(r->is_dead, first + i))
                return false;
        }
    }
    return true;
}
