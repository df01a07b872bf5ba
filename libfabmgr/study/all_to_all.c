/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the exact channel loads of all-to-all traffic.
 *
 * The paths to one destination form a tree of switches, in which each leaf sends as many units as
 * it has endports. The parent of a switch is the next switch towards the destination. A walk from
 * each leaf follows the parents up to the first switch that an earlier walk visited. The switches
 * of all walks are put into a list in which each switch comes after its parent. Then, from the end
 * of the list to its beginning, the units that a switch sends and forwards are added to the units
 * of its parent. So the time is proportional to switches x destinations, not to pairs of endports.
 *
 * The LFTs are read in transposed tiles of 64 LIDs, so that the entries of all switches for one LID
 * are adjacent. The LFTs may contain anything. A walk may end in a loop, at a port without a link
 * or at a wrong endport. Then the leaf of the walk is marked as broken for this destination, and
 * its units are not counted.
 *
 * The endports that send over a channel are stored as a set of leaves: if a leaf sends anything to
 * a destination over a channel, all its endports do, except the destination itself.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/study/measurement.h"

#define TILE FAB_LFT_BLOCK
#define BROKEN UINT32_MAX
#define ON_STACK (UINT32_MAX - 1)

struct counting {
    struct fab_arena arena; /* memory of the arrays */
    struct fab_measurement *f;
    struct fab_quality *q;
    /* [TILE][switches] LFT entries (output ports) for TILE LIDs */
    uint8_t *tile;
    /* [end_count] the destinations, sorted by LID, which is the order in which they are processed.
     * An element is LID << 32 | index in the measurement's ends[]. */
    uint64_t *by_lid;
    /* [switches] number of switches on the path from each switch to the current destination,
     * including the switch itself. 0: not visited yet. BROKEN: the path does not arrive. ON_STACK:
     * the switch is on the path that the walk follows now. */
    uint32_t *depth;
    /* [switches] the visited switches from which packets arrive at the destination. Each switch
     * comes after its parent, the switch to which it sends. */
    uint32_t *order;
    uint32_t *stack; /* [switches] the switches of the current walk */
    /* [switches] id of the port by which each switch sends to the current destination */
    uint32_t *out;
    /* [switches] number of units for the current destination that each switch receives from other
     * switches and forwards. An endport sends one unit to each destination. */
    uint32_t *sources;
    /* number of 64-bit words of a set of leaves */
    size_t words;
    /* [switches][words] set of the leaves that send the units of sources[]; valid if sources[] > 0
     */
    uint64_t *gathered;
    /* [ports][words] for each channel, the set of the leaves whose packets use it; the id of a
     * channel is the id of its sending port */
    uint64_t *senders;
    /* [ports] number of units that each channel carries, multiplied by its slowness (the member
     * `slow` of the measurement) */
    uint64_t *load;
    /* [ports] number of destinations whose traffic uses the channel */
    uint32_t *receivers;
};

static void fill_tile(struct counting *t, uint32_t block)
{
    const struct fab_lft *lft = t->f->in->lft;
    for (uint32_t sw = 0; sw < t->f->switches; sw++) {
        const uint8_t *row = fab_target_lft_entry(lft, sw, (size_t)block * TILE);
        for (uint32_t i = 0; i < TILE; i++)
            t->tile[(size_t)i * t->f->switches + sw] = row[i];
    }
}

/* Returns the switch after `sw` on the path to the current destination; FAB_NONE: the path ends at
 * `sw`. Sets out[] of `sw`. column: the entries of all switches for the destination LID. */
static uint32_t step(struct counting *t, const uint8_t *column, uint32_t sw)
{
    const struct fab_measurement *f = t->f;
    if (column[sw] > f->in->fabric->nodes[sw].num_ports)
        return FAB_NONE;
    t->out[sw] = f->first[sw] + column[sw];
    return f->to[t->out[sw]];
}

/* Follows the path from `sw` up to the first switch that an earlier walk visited. Sets depth[] for
 * the switches on this part of the path. If the path arrives, appends them to order[], which has
 * *count elements. */
static void walk(struct counting *t, const uint8_t *column, uint32_t sw, uint32_t *count)
{
    uint32_t up = 0;
    while (sw != FAB_NONE && t->depth[sw] == 0) {
        t->depth[sw] = ON_STACK;
        t->stack[up++] = sw;
        sw = step(t, column, sw);
    }
    uint32_t depth = sw != FAB_NONE && t->depth[sw] != ON_STACK ? t->depth[sw] : BROKEN;
    while (up > 0) {
        sw = t->stack[--up];
        depth = depth != BROKEN ? depth + 1 : BROKEN;
        t->depth[sw] = depth;
        if (depth != BROKEN) {
            t->order[(*count)++] = sw;
            t->sources[sw] = 0;
        }
    }
}

static void count_leaf(struct counting *t, uint32_t leaf, uint32_t dst)
{
    const struct fab_measured_leaf *l = &t->f->leaves[leaf];
    uint32_t depth = t->depth[l->sw], pairs = l->ends - (t->f->ends[dst].leaf == leaf);
    if (depth == BROKEN) {
        t->q->lost += pairs;
        fab_base_bits_set(t->f->broken + leaf * t->f->words, dst);
        return;
    }
    t->q->pairs += pairs;
    t->q->hops[depth < FAB_QUALITY_HOPS ? depth : FAB_QUALITY_HOPS - 1] += pairs;
}

/* Computes how many units switch `sw` sends to the current destination: those of its own endports,
 * and those that it receives and forwards. Adds this number, multiplied by slow[] of the channel by
 * which `sw` sends, to the load of this channel. Adds the number itself to the units that the next
 * switch receives. */
static void add_to_parent(struct counting *t, uint32_t sw)
{
    uint32_t channel = t->out[sw], next = t->f->to[channel], leaf = t->f->leaf_at[sw];
    uint64_t *own = t->gathered + sw * t->words, *to = t->gathered + next * t->words;
    uint64_t *senders = t->senders + channel * t->words;
    uint32_t here = leaf != FAB_NONE ? t->f->leaves[leaf].ends : 0, passing = t->sources[sw];
    t->load[channel] += (uint64_t)(here + passing) * t->f->slow[channel];
    t->receivers[channel]++;
    if (t->sources[next] == 0)
        memset(to, 0, t->words * sizeof *to);
    t->sources[next] += here + passing;
    if (here > 0) {
        fab_base_bits_set(senders, leaf);
        fab_base_bits_set(to, leaf);
    }
    for (size_t i = 0; passing > 0 && i < t->words; i++) {
        senders[i] |= own[i];
        to[i] |= own[i];
    }
}

static void count_destination(struct counting *t, uint32_t dst)
{
    const struct fab_measurement *f = t->f;
    const struct fab_measured_endport *e = &f->ends[dst];
    const uint8_t *column = t->tile + (size_t)(e->lid % TILE) * f->switches;
    uint32_t home = f->leaves[e->leaf].sw, count = 0;
    memset(t->depth, 0, f->switches * sizeof *t->depth);
    t->depth[home] = column[home] == e->num ? 1 : BROKEN;
    t->sources[home] = 0;
    for (uint32_t leaf = 0; leaf < f->leaf_count; leaf++) {
        walk(t, column, f->leaves[leaf].sw, &count);
        count_leaf(t, leaf, dst);
    }
    while (count > 0)
        add_to_parent(t, t->order[--count]);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int count_all(struct counting *t)
{
    const struct fab_measurement *f = t->f;
    uint32_t block = UINT32_MAX;
    for (uint32_t i = 0; i < f->end_count; i++)
        t->by_lid[i] = (uint64_t)f->ends[i].lid << 32 | i;
    qsort(t->by_lid, f->end_count, sizeof *t->by_lid, by_value);
    for (uint32_t i = 0; i < f->end_count; i++) {
        uint32_t dst = (uint32_t)t->by_lid[i];
        if (f->ends[dst].lid / TILE != block) {
            if (fab_study_measurement_stopped(f))
                return FAB_E_BUSY;
            block = f->ends[dst].lid / TILE;
            fill_tile(t, block);
        }
        count_destination(t, dst);
    }
    return FAB_OK;
}

/* ---- the figures ----------------------------------------------------------------------------- */

/* Computes the square root by Newton's iteration, because libfabmgr must not depend on libm. */
static double square_root(double x)
{
    double guess = x > 1 ? x : 1, last = 0;
    if (x <= 0)
        return 0;
    for (unsigned i = 0; i < 2000 && guess != last; i++) {
        last = guess;
        guess = (guess + x / guess) / 2;
    }
    return guess;
}

static uint32_t ends_of(const struct counting *t, uint32_t channel)
{
    const uint64_t *set = t->senders + channel * t->words;
    uint32_t ends = 0;
    for (size_t leaf = fab_base_bits_next(set, t->f->leaf_count, 0); leaf < t->f->leaf_count;
         leaf = fab_base_bits_next(set, t->f->leaf_count, leaf + 1))
        ends += t->f->leaves[leaf].ends;
    return ends;
}

static void insert_worst(struct fab_quality_all *a, uint32_t channel, uint64_t load)
{
    uint32_t at = a->worst_count;
    while (at > 0 && a->worst_load[at - 1] < load)
        at--;
    if (at == FAB_QUALITY_WORST)
        return;
    a->worst_count += a->worst_count < FAB_QUALITY_WORST;
    for (uint32_t i = a->worst_count - 1; i > at; i--) {
        a->worst[i] = a->worst[i - 1];
        a->worst_load[i] = a->worst_load[i - 1];
    }
    a->worst[at] = channel;
    a->worst_load[at] = load;
}

static void find_figures(const struct counting *t, struct fab_quality_all *ret)
{
    const struct fab_measurement *f = t->f;
    struct fab_quality_all a = {0};
    double sum = 0, squares = 0;
    for (uint32_t port = 0; port < f->ports; port++) {
        if (f->to[port] == FAB_NONE)
            continue;
        if (t->load[port] == 0) {
            a.unused++;
            continue;
        }
        sum += (double)t->load[port];
        squares += (double)t->load[port] * (double)t->load[port];
        uint32_t senders = ends_of(t, port), receivers = t->receivers[port];
        uint32_t least = senders < receivers ? senders : receivers;
        a.min_ends = least > a.min_ends ? least : a.min_ends;
        insert_worst(&a, port, t->load[port]);
    }
    uint32_t counted = f->channels - (f->in->ends != NULL ? a.unused : 0);
    a.max = a.worst_load[0];
    if (counted > 0) {
        a.mean = sum / counted;
        a.sigma = square_root(squares / counted - a.mean * a.mean);
    }
    *ret = a;
}

static bool allocate(struct counting *t)
{
    const struct fab_measurement *f = t->f;
    size_t n = f->switches, words = t->words = fab_base_bits_words(f->leaf_count);
    t->tile = fab_base_arena_alloc(&t->arena, n, TILE);
    t->by_lid = fab_base_arena_alloc(&t->arena, f->end_count, sizeof *t->by_lid);
    t->depth = fab_base_arena_alloc(&t->arena, n, sizeof *t->depth);
    t->order = fab_base_arena_alloc(&t->arena, n, sizeof *t->order);
    t->stack = fab_base_arena_alloc(&t->arena, n, sizeof *t->stack);
    t->out = fab_base_arena_alloc(&t->arena, n, sizeof *t->out);
    t->sources = fab_base_arena_alloc(&t->arena, n, sizeof *t->sources);
    t->gathered = fab_base_arena_alloc(&t->arena, n, words * sizeof *t->gathered);
    t->senders = fab_base_arena_alloc(&t->arena, f->ports + 1, words * sizeof *t->senders + 1);
    t->load = fab_base_arena_alloc(&t->arena, f->ports + 1, sizeof *t->load);
    t->receivers = fab_base_arena_alloc(&t->arena, f->ports + 1, sizeof *t->receivers);
    return !t->arena.failed;
}

int fab_study_measure_all_to_all(struct fab_measurement *f, struct fab_quality *q)
{
    struct counting t = {.f = f, .q = q};
    int rc = allocate(&t) ? count_all(&t) : FAB_E_NOMEM;
    if (rc == FAB_OK)
        find_figures(&t, &q->all);
    fab_base_arena_fini(&t.arena);
    return rc;
}
