/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds labels: numbers of the channels that ascend along the path of every packet. A repair uses
 * only paths along which they ascend, so that it creates no cycle of channel dependencies.
 *
 * Suppose that all paths first go up and then down in some order of the switches. Then the label of
 * an up channel is the position of the switch that it leaves. All down channels have greater labels
 * than all up channels. The lower the switch that a down channel leaves, the greater its label.
 * These labels ascend at every turn that up/down routing allows, including turns that no entry uses
 * today. So a repair can use all these turns. Any engine may have made the tables. So the orders
 * that the library knows are tried one after the other, until the labels of one order ascend along
 * all paths.
 *
 * If no order fits (other engines, tables from files), the labels follow from the channel
 * dependencies, VL by VL: a channel's label is the length of the longest chain of dependencies that
 * ends in this channel. These labels also prove the baseline. But with these labels a repair has
 * fewer paths to choose from, because they may not ascend at turns that no entry uses today. So
 * there are further sets of labels, which are other topological orders of the same channels. Some
 * sets are as near as the dependencies allow to up/down routing from one root switch; others are
 * random. A repair uses the first set with which it finds its paths.
 *
 * Each VL gets labels of its own, if the destination LID, or the pair of source and destination
 * switch, determines the VL (labels/lanes.c). If the pair determines it, there is only one set of
 * labels, a topological order near up/down routing, because each repair changes the labels as it
 * needs (labels/dependencies.c).
 *
 * Limit: if the tables need VLs that depend on port classes to be free of cycles, there are no
 * labels (UNSUPPORTED).
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"
#include "libfabmgr/route/route.h"

/* ---- virtual lanes --------------------------------------------------------------------------- */

/* If the destination alone determines the VL of a path, gives each VL labels of its own. Otherwise,
 * all VLs first get the same labels. Labels that ascend along the paths of all VLs also ascend on
 * every single VL. */
static int find_vls(struct fab_repair_network *b, const struct fab_vls *v)
{
    if (v == NULL || !fab_target_vls_multiple(v) || v->of_lid == NULL || v->of_pair != NULL ||
        v->classes > 1)
        return FAB_OK;
    b->vl = calloc((size_t)b->top + 1, 1);
    if (b->vl == NULL)
        return FAB_E_NOMEM;
    for (uint32_t lid = 0; lid <= b->top && lid <= v->top; lid++)
        b->vl[lid] = v->vl[0][0][v->of_lid[lid] % FAB_SLS];
    for (uint32_t lid = 0; lid <= b->top; lid++)
        b->vl_count = b->vl[lid] >= b->vl_count ? b->vl[lid] + 1u : b->vl_count;
    return FAB_OK;
}

/* If the pair of source and destination switch determines the VL of a path, gives each VL labels of
 * its own. */
static int find_pair_vls(struct fab_repair_network *b, const struct fab_vls *v)
{
    size_t n = b->n;
    if (v == NULL || !fab_target_vls_multiple(v) || v->of_pair == NULL || v->classes > 1 ||
        v->switches != b->n)
        return FAB_OK;
    b->pair_vl = malloc(n * n + 1);
    b->flat = calloc((size_t)b->ports + 1, sizeof(*b->flat));
    if (b->pair_vl == NULL || b->flat == NULL)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < n * n; i++) {
        uint8_t vl = v->vl[0][0][v->of_pair[i] % FAB_SLS];
        b->pair_vl[i] = vl;
        b->vl_count = vl >= b->vl_count ? vl + 1u : b->vl_count;
    }
    for (uint32_t port = 0; port < b->ports; port++)
        b->flat[port] = b->peer_sw[port] != FAB_NONE;
    return FAB_OK;
}

/* ---- all dependencies ------------------------------------------------------------------------ */

/* Returns the channel by which `sw` forwards packets to `lid`. FAB_NONE: `sw` is the destination
 * switch of the LID, the LID has none, or the entry of `sw` leads to no ISL. */
static uint32_t channel_to(const struct fab_repair_network *b, const struct fab_lft *t, uint32_t sw,
                           uint32_t lid)
{
    return b->home[lid] == sw || b->home[lid] == FAB_NONE
               ? FAB_NONE
               : fab_repair_channel(b, sw, fab_target_lft_at(t, sw, lid));
}

static const uint32_t *labels_of(const struct fab_repair_network *b, uint32_t lid)
{
    return b->label + (b->vl != NULL ? (size_t)b->vl[lid] * b->ports : 0);
}

/* Returns true if the labels ascend along every path of `t`, the tables of the baseline. */
static bool all_ascend(const struct fab_repair_network *b, const struct fab_lft *t)
{
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = 1; lid <= b->top; lid++) {
            uint32_t channel = channel_to(b, t, sw, lid);
            uint32_t next =
                channel != FAB_NONE ? channel_to(b, t, b->peer_sw[channel], lid) : FAB_NONE;
            const uint32_t *label = labels_of(b, lid);
            if (next != FAB_NONE && label[channel] >= label[next])
                return false;
        }
    }
    return true;
}

/* ---- by an order of the switches ------------------------------------------------------------- */

static void label_by_order(struct fab_repair_network *b, const uint32_t *order)
{
    for (uint32_t sw = 0; sw < b->n; sw++)
        b->order[sw] = (order[sw] + 1) * FAB_REPAIR_LABEL_GAP;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t port = b->first[sw]; port < b->first[sw + 1]; port++) {
            if (b->peer_sw[port] == FAB_NONE)
                continue;
            bool climbs = b->order[b->peer_sw[port]] > b->order[sw];
            uint32_t label = fab_repair_label(b, b->order[sw], climbs);
            for (uint32_t vl = 0; vl < b->vl_count; vl++)
                b->label[(size_t)vl * b->ports + port] = label;
        }
    }
}

typedef int find_ranks(const struct fab_fabric *f, const struct fab_policy *p,
                       struct fab_ranks *ret);

static int try_order(struct fab_repair_network *b, const struct fab_repair_input *in,
                     find_ranks *find, bool *ret_fits)
{
    struct fab_ranks ranks;
    int status = find(in->fabric, in->policy, &ranks);
    if (status != FAB_OK)
        return status;
    label_by_order(b, ranks.order);
    *ret_fits = all_ascend(b, in->lft);
    fab_route_ranks_fini(&ranks);
    return FAB_OK;
}

/* ---- by chains of dependencies --------------------------------------------------------------- */

#define ROOTS 8
#define SETS (1 + ROOTS + 8)

struct chains {
    struct fab_arena arena; /* holds the memory of the arrays below */
    struct fab_repair_network *b;
    uint32_t words;
    /* [ports][words] for each channel, the channels on which its packets continue. Bit i stands for
     * the channel that leaves the next switch by its port i. */
    uint64_t *next;
    /* [ports] number of channels from which packets continue on each channel */
    uint32_t *dependants;
    /* [ports] how many of the channels that dependants[] counts have no label yet */
    uint32_t *remaining;
    /* [ports] rank of each channel; the channel with the lowest rank gets its label first */
    uint32_t *rank;
    uint32_t *queue; /* [switches] scratch memory of rank_by_root */
    /* [switches] scratch memory of rank_by_root: position of each switch in breadth-first order */
    uint32_t *far;
    /* heap of channels, ordered by rank (see push) */
    uint64_t *heap;
    uint32_t heap_count;
};

static int chains_init(struct chains *c, struct fab_repair_network *b)
{
    uint32_t widest = 0;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        uint32_t ports = b->first[sw + 1] - b->first[sw];
        widest = ports > widest ? ports : widest;
    }
    *c = (struct chains){.b = b, .words = (uint32_t)fab_base_bits_words(widest)};
    c->next = fab_base_arena_alloc(&c->arena, (size_t)b->ports * c->words + 1, sizeof(*c->next));
    c->dependants = fab_base_arena_alloc(&c->arena, (size_t)b->ports + 1, sizeof(*c->dependants));
    c->remaining = fab_base_arena_alloc(&c->arena, (size_t)b->ports + 1, sizeof(*c->remaining));
    c->rank = fab_base_arena_alloc(&c->arena, (size_t)b->ports + 1, sizeof(*c->rank));
    c->queue = fab_base_arena_alloc(&c->arena, (size_t)b->n + 1, sizeof(*c->queue));
    c->far = fab_base_arena_alloc(&c->arena, (size_t)b->n + 1, sizeof(*c->far));
    c->heap = fab_base_arena_alloc(&c->arena, (size_t)b->ports + 1, sizeof(*c->heap));
    return !c->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

/* Adds a channel to the heap. The heap returns the channel with the lowest rank first; among equal
 * ranks, the channel with the lowest id. */
static void push(struct chains *c, const uint32_t *rank, uint32_t channel)
{
    uint64_t item = (uint64_t)(rank != NULL ? rank[channel] : 0) << 32 | channel;
    fab_repair_heap_push(c->heap, &c->heap_count, ~item);
}

static uint32_t pop(struct chains *c)
{
    return (uint32_t)~fab_repair_heap_pop(c->heap, &c->heap_count);
}

/* Adds the dependency of a channel on the next one. */
static void note_dependency(struct chains *c, uint32_t channel, uint32_t next)
{
    const struct fab_repair_network *b = c->b;
    if (fab_base_bits_add(c->next + (size_t)channel * c->words,
                          next - b->first[b->peer_sw[channel]]))
        c->dependants[next]++;
}

/* Adds the dependencies of all paths to the LID on one VL, if the VL depends on the source. Marks
 * in far[] the switches that a path has passed, so that the rest of each path is followed once. */
static void collect_paths(struct chains *c, const struct fab_lft *t, uint32_t vl, uint32_t lid)
{
    const struct fab_repair_network *b = c->b;
    const uint8_t *of = b->pair_vl + (size_t)b->home[lid] * b->n;
    memset(c->far, 0, b->n * sizeof(*c->far));
    for (uint32_t source = 0; source < b->n; source++) {
        uint32_t sw = source, channel = of[sw] == vl ? channel_to(b, t, sw, lid) : FAB_NONE;
        while (channel != FAB_NONE && c->far[sw] == 0) {
            uint32_t next = channel_to(b, t, b->peer_sw[channel], lid);
            c->far[sw] = 1;
            if (next != FAB_NONE)
                note_dependency(c, channel, next);
            sw = b->peer_sw[channel];
            channel = next;
        }
    }
}

static void collect(struct chains *c, const struct fab_lft *t, uint32_t vl)
{
    const struct fab_repair_network *b = c->b;
    memset(c->next, 0, (size_t)b->ports * c->words * sizeof(*c->next));
    memset(c->dependants, 0, b->ports * sizeof(*c->dependants));
    for (uint32_t lid = 1; lid <= b->top && b->pair_vl != NULL; lid++) {
        if (b->home[lid] != FAB_NONE)
            collect_paths(c, t, vl, lid);
    }
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = 1; lid <= b->top; lid++) {
            if (b->pair_vl != NULL || (b->vl != NULL && b->vl[lid] != vl))
                continue;
            uint32_t channel = channel_to(b, t, sw, lid);
            uint32_t next =
                channel != FAB_NONE ? channel_to(b, t, b->peer_sw[channel], lid) : FAB_NONE;
            if (next != FAB_NONE)
                note_dependency(c, channel, next);
        }
    }
}

/* Labels the channels by Kahn's algorithm. Of the channels whose predecessors all have labels, the
 * channel with the lowest rank is labelled next. With ranks, a channel's label is its position in
 * this topological order. Without ranks, it is one more than the greatest label of its
 * predecessors. Returns false if there is a cycle. */
static bool label_by_chains(struct chains *c, const uint32_t *rank, uint32_t *label)
{
    const struct fab_repair_network *b = c->b;
    uint32_t placed = 0, channels = 0;
    c->heap_count = 0;
    memcpy(c->remaining, c->dependants, b->ports * sizeof(*c->remaining));
    for (uint32_t port = 0; port < b->ports; port++) {
        if (b->peer_sw[port] == FAB_NONE)
            continue;
        channels++;
        label[port] = 1;
        if (c->remaining[port] == 0)
            push(c, rank, port);
    }
    while (c->heap_count > 0) {
        uint32_t channel = pop(c), first = b->first[b->peer_sw[channel]];
        const uint64_t *next = c->next + (size_t)channel * c->words;
        size_t bits = (size_t)c->words * 64;
        placed++;
        if (rank != NULL)
            label[channel] = placed;
        for (size_t i = fab_base_bits_next(next, bits, 0); i < bits;
             i = fab_base_bits_next(next, bits, i + 1)) {
            uint32_t to = first + (uint32_t)i;
            label[to] = label[channel] >= label[to] ? label[channel] + 1 : label[to];
            if (--c->remaining[to] == 0)
                push(c, rank, to);
        }
    }
    return placed == channels;
}

/* Computes the ranks of the channels for up/down routing from switch `root`. Channels towards the
 * root have the lowest ranks, in the order of decreasing distance from the root. Channels away from
 * the root follow, in the order of increasing distance. */
static void rank_by_root(struct chains *c, uint32_t root)
{
    const struct fab_repair_network *b = c->b;
    uint32_t *far = c->far, *queue = c->queue, head = 0, tail = 0;
    memset(far, 0xff, b->n * sizeof(*far));
    far[root] = 0;
    queue[tail++] = root;
    for (uint32_t next = 0; head < tail || next < b->n;) {
        /* the search has visited a whole connected component, and begins with the next one */
        if (head == tail) {
            if (far[next] == FAB_NONE) {
                far[next] = 0;
                queue[tail++] = next;
            }
            next++;
            continue;
        }
        uint32_t sw = queue[head];
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            if (b->peer_sw[port] == FAB_NONE || far[b->peer_sw[port]] != FAB_NONE)
                continue;
            far[b->peer_sw[port]] = 0;
            queue[tail++] = b->peer_sw[port];
        }
        /* position of the switch in the breadth-first order from the root */
        far[sw] = head++;
    }
    for (uint32_t port = 0; port < b->ports; port++) {
        if (b->peer_sw[port] == FAB_NONE)
            continue;
        uint32_t from = far[fab_repair_switch_of(b, port)], to = far[b->peer_sw[port]];
        c->rank[port] = to < from ? b->n - from : b->n + from;
    }
}

/* Gives the channels random ranks. Equal seeds give equal ranks. */
static void rank_at_random(struct chains *c, uint32_t seed)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    for (uint32_t port = 0; port < c->b->ports; port++)
        c->rank[port] = (uint32_t)fab_base_prng_below(&prng, UINT32_MAX);
}

/* If the VL depends on the pair of switches, keeps the dependencies of one VL in the network, and
 * gives each channel of this VL a label that no other channel has. Returns false if the
 * dependencies have a cycle. */
static bool keep_dependencies(struct chains *c, uint32_t vl)
{
    struct fab_repair_network *b = c->b;
    size_t words = (size_t)b->ports * b->words;
    uint64_t *previous = b->previous + vl * words;
    memcpy(b->next + vl * words, c->next, words * sizeof(*b->next));
    for (uint32_t channel = 0; channel < b->ports; channel++) {
        const uint64_t *next = c->next + (size_t)channel * b->words;
        size_t bits = b->peer_sw[channel] != FAB_NONE ? (size_t)b->words * 64 : 0;
        for (size_t i = fab_base_bits_next(next, bits, 0); i < bits;
             i = fab_base_bits_next(next, bits, i + 1)) {
            size_t to = b->first[b->peer_sw[channel]] + i;
            fab_base_bits_set(previous + to * b->words, b->peer_num[channel]);
        }
    }
    rank_by_root(c, 0);
    return label_by_chains(c, c->rank, b->label + (size_t)vl * b->ports);
}

/* Makes all sets of labels for one VL. Returns false if the dependencies of this VL have a
 * cycle. */
static bool label_vl(struct chains *c, uint32_t vl)
{
    struct fab_repair_network *b = c->b;
    bool fits = label_by_chains(c, NULL, b->label + (size_t)vl * b->ports);
    for (uint32_t set = 1; fits && set < b->sets; set++) {
        if (set <= ROOTS)
            rank_by_root(c, (uint32_t)((uint64_t)(set - 1) * b->n / ROOTS));
        else
            rank_at_random(c, set);
        label_by_chains(c, c->rank, fab_repair_label_set(b, set) + (size_t)vl * b->ports);
    }
    return fits;
}

/* Allocates the labels and, if the VL depends on the pair of switches, the graphs of
 * dependencies. */
static int alloc_labels(struct fab_repair_network *b, uint32_t words)
{
    size_t channels = (size_t)b->vl_count * b->ports;
    b->sets = b->pair_vl != NULL ? 1 : SETS;
    free(b->label);
    b->label = calloc(b->sets * channels + 1, sizeof(*b->label));
    if (b->pair_vl == NULL)
        return b->label != NULL ? FAB_OK : FAB_E_NOMEM;
    b->words = words;
    b->next = calloc(channels * words + 1, sizeof(*b->next));
    b->previous = calloc(channels * words + 1, sizeof(*b->previous));
    return b->label && b->next && b->previous ? FAB_OK : FAB_E_NOMEM;
}

static int try_chains(struct fab_repair_network *b, const struct fab_lft *t, bool *ret_fits)
{
    struct chains c;
    bool fits = true;
    int status = chains_init(&c, b);
    if (status == FAB_OK)
        status = alloc_labels(b, c.words);
    for (uint32_t vl = 0; status == FAB_OK && fits && vl < b->vl_count; vl++) {
        collect(&c, t, vl);
        fits = b->pair_vl != NULL ? keep_dependencies(&c, vl) : label_vl(&c, vl);
    }
    fab_base_arena_fini(&c.arena);
    if (status == FAB_OK)
        *ret_fits = fits;
    return status;
}

/* ---- choosing the labels --------------------------------------------------------------------- */

int fab_repair_labels_find(struct fab_repair_network *b, const struct fab_repair_input *in,
                           char *why, size_t why_len)
{
    bool fits = false;
    int status = find_vls(b, in->vls);
    if (status != FAB_OK)
        return status;
    b->label = calloc((size_t)b->vl_count * b->ports + 1, sizeof(*b->label));
    b->order = calloc((size_t)b->n + 1, sizeof(*b->order));
    if (b->label == NULL || b->order == NULL)
        return FAB_E_NOMEM;
    b->label_source = "order of the ranks";
    status = try_order(b, in, fab_route_ranks_of_tree, &fits);
    if (status == FAB_OK && !fits) {
        b->label_source = "order of the shortest paths";
        status = try_order(b, in, fab_route_ranks_find, &fits);
    }
    if (status == FAB_OK && !fits) {
        b->label_source = "chains of dependencies";
        free(b->order);
        b->order = NULL;
        status = find_pair_vls(b, in->vls);
        if (status == FAB_OK)
            status = try_chains(b, in->lft, &fits);
    }
    if (status == FAB_OK && fits && b->pair_vl != NULL)
        status = fab_route_escapes_find(in->fabric, in->policy, 1, &b->preferred);
    if (status == FAB_OK && !fits) {
        snprintf(
            why, why_len,
            "not supported: the channel dependency graph has a cycle when the VLs that depend on "
            "port classes are taken as one");
        status = FAB_E_UNSUPPORTED;
    }
    return status;
}
