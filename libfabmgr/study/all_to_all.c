/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All-to-all load, exact. The ways to one destination are a tree, on which every leaf stands with
 * as many sources as it has ends. One walk down from every leaf, up to where an earlier one came
 * by, puts the switches of the tree in an order, parents first; in reverse order each hands the
 * sources that it has gathered to its parent. That is some work for each switch and destination,
 * and none for each pair.
 *
 * The tables are read in tiles of 64 LIDs, turned so that the entries of one LID lie side by side.
 * They may be anything: a walk that ends in a loop, a dead port or at a wrong end marks the leaf as
 * broken for the destination, and nothing of it is counted.
 *
 * Which ends send over a channel is kept as a set of leaves: when anything for a destination comes
 * to a channel from a leaf, all ends of the leaf but the destination send it that way.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/study/measurement.h"

#define TILE FAB_LFT_BLOCK
#define BROKEN UINT32_MAX
#define UNDER_WAY (UINT32_MAX - 1)

struct tally {
    struct fab_measurement *f;
    struct fab_quality *q;
    uint8_t *tile;       /* [TILE][switches] */
    uint64_t *by_lid;    /* [end_count] LID, then end: the order of destinations */
    uint32_t *depth;     /* [switches] switches up to the destination's, 1 there; 0: not visited */
    uint32_t *order;     /* [switches] visited, parents first */
    uint32_t *stack;     /* [switches] */
    uint32_t *out;       /* [switches] port id towards the destination */
    uint32_t *sources;   /* [switches] gathered */
    size_t words;        /* of a set of leaves */
    uint64_t *gathered;  /* [switches][words] the same as a set, of switches that get any */
    uint64_t *senders;   /* [ports][words] */
    uint64_t *load;      /* [ports] */
    uint32_t *receivers; /* [ports] */
};

static void fill_tile(struct tally *t, uint32_t block)
{
    const struct fab_lft *lft = t->f->in->lft;
    for (uint32_t sw = 0; sw < t->f->switches; sw++) {
        const uint8_t *row = fab_lft_row(lft, sw) + (size_t)block * TILE;
        for (uint32_t i = 0; i < TILE; i++)
            t->tile[(size_t)i * t->f->switches + sw] = row[i];
    }
}

/* The switch that `sw` sends to; FAB_NONE: nowhere. */
static uint32_t step(struct tally *t, const uint8_t *column, uint32_t sw)
{
    const struct fab_measurement *f = t->f;
    if (column[sw] > f->in->fabric->nodes[sw].num_ports)
        return FAB_NONE;
    t->out[sw] = f->first[sw] + column[sw];
    return f->to[t->out[sw]];
}

/* Walks from `sw` to where the way is known, and notes what is new. */
static void walk(struct tally *t, const uint8_t *column, uint32_t sw, uint32_t *count)
{
    uint32_t up = 0;
    while (sw != FAB_NONE && t->depth[sw] == 0) {
        t->depth[sw] = UNDER_WAY;
        t->stack[up++] = sw;
        sw = step(t, column, sw);
    }
    uint32_t depth = sw != FAB_NONE && t->depth[sw] != UNDER_WAY ? t->depth[sw] : BROKEN;
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

static void count_leaf(struct tally *t, uint32_t leaf, uint32_t dst)
{
    const struct fab_measured_leaf *l = &t->f->leaves[leaf];
    uint32_t depth = t->depth[l->sw], pairs = l->ends - (t->f->ends[dst].leaf == leaf);
    if (depth == BROKEN) {
        t->q->lost += pairs;
        fab_bits_set(t->f->broken + leaf * t->f->words, dst);
        return;
    }
    t->q->pairs += pairs;
    t->q->hops[depth < FAB_QUALITY_HOPS ? depth : FAB_QUALITY_HOPS - 1] += pairs;
}

/* What a switch has gathered goes over its channel, to the next one. */
static void pass_on(struct tally *t, uint32_t sw)
{
    uint32_t channel = t->out[sw], next = t->f->to[channel], leaf = t->f->leaf_at[sw];
    uint64_t *own = t->gathered + sw * t->words, *to = t->gathered + next * t->words;
    uint64_t *senders = t->senders + channel * t->words;
    uint32_t here = leaf != FAB_NONE ? t->f->leaves[leaf].ends : 0, passing = t->sources[sw];
    t->load[channel] += here + passing;
    t->receivers[channel]++;
    if (t->sources[next] == 0)
        memset(to, 0, t->words * sizeof *to);
    t->sources[next] += here + passing;
    if (here > 0) {
        fab_bits_set(senders, leaf);
        fab_bits_set(to, leaf);
    }
    for (size_t i = 0; passing > 0 && i < t->words; i++) {
        senders[i] |= own[i];
        to[i] |= own[i];
    }
}

static void count_destination(struct tally *t, uint32_t dst)
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
        pass_on(t, t->order[--count]);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static int count_all(struct tally *t)
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

/* ---- what came of it --------------------------------------------------------------------------
 */

/* The library has no libm. */
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

static uint32_t ends_of(const struct tally *t, uint32_t channel)
{
    const uint64_t *set = t->senders + channel * t->words;
    uint32_t ends = 0;
    for (size_t leaf = fab_bits_next(set, t->f->leaf_count, 0); leaf < t->f->leaf_count;
         leaf = fab_bits_next(set, t->f->leaf_count, leaf + 1))
        ends += t->f->leaves[leaf].ends;
    return ends;
}

static void keep_worst(struct fab_quality_all *a, uint32_t channel, uint64_t load)
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

static void sum_up(const struct tally *t, struct fab_quality_all *ret)
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
        keep_worst(&a, port, t->load[port]);
    }
    uint32_t counted = f->channels - (f->in->ends != NULL ? a.unused : 0);
    a.max = a.worst_load[0];
    if (counted > 0) {
        a.mean = sum / counted;
        a.sigma = square_root(squares / counted - a.mean * a.mean);
    }
    *ret = a;
}

static bool allocate(struct tally *t)
{
    const struct fab_measurement *f = t->f;
    size_t n = f->switches, words = t->words = fab_bits_words(f->leaf_count);
    t->tile = fab_alloc_array(n, TILE);
    t->by_lid = fab_alloc_array(f->end_count, sizeof *t->by_lid);
    t->depth = fab_alloc_array(n, sizeof *t->depth);
    t->order = fab_alloc_array(n, sizeof *t->order);
    t->stack = fab_alloc_array(n, sizeof *t->stack);
    t->out = fab_alloc_array(n, sizeof *t->out);
    t->sources = fab_alloc_array(n, sizeof *t->sources);
    t->gathered = fab_alloc_array(n, words * sizeof *t->gathered);
    t->senders = calloc(f->ports + 1, words * sizeof *t->senders + 1);
    t->load = calloc(f->ports + 1, sizeof *t->load);
    t->receivers = calloc(f->ports + 1, sizeof *t->receivers);
    return t->tile && t->by_lid && t->depth && t->order && t->stack && t->out && t->sources &&
           t->gathered && t->senders && t->load && t->receivers;
}

int fab_study_measure_all_to_all(struct fab_measurement *f, struct fab_quality *q)
{
    struct tally t = {.f = f, .q = q};
    int rc = allocate(&t) ? count_all(&t) : FAB_E_NOMEM;
    if (rc == FAB_OK)
        sum_up(&t, &q->all);
    free(t.tile);
    free(t.by_lid);
    free(t.depth);
    free(t.order);
    free(t.stack);
    free(t.out);
    free(t.sources);
    free(t.gathered);
    free(t.senders);
    free(t.load);
    free(t.receivers);
    return rc;
}
