/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores the channel dependency graph as bitsets, and finds a cycle in it.
 *
 * Routing is free of deadlock if the graph has no cycle (Dally & Seitz, IEEE ToC C-36, 1987). With
 * one VL and LFTs, which consider only the destination, the converse also holds: if the graph has a
 * cycle, packets can deadlock.
 *
 * To find a cycle, remove_sources() removes channels on which no other channel depends, again and
 * again (Kahn 1962). If no channel is left, the graph is acyclic. Otherwise remove_sinks() also
 * removes channels that depend on no remaining channel. Then each remaining channel is on a cycle,
 * or on a chain of dependencies from one cycle to another. A breadth-first search from the channels
 * of one cycle finds a cycle that is short enough for a person to read.
 */
#include "libfabmgr/verify/dependencies.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/status.h"

/* The search for a shorter cycle starts from at most this number of channels of the first cycle. */
#define STARTS 64

int fab_verify_deps_init(struct fab_verify_deps *c, const struct fab_verify_graph *graph,
                         uint32_t vl_count)
{
    struct fab_verify_deps made = {.graph = graph, .vl_count = vl_count, .words = 1};
    for (uint32_t sw = 0; sw < graph->n; sw++) {
        uint32_t words = (graph->port_room[sw] + 62u) / 64;
        made.words = words > made.words ? words : made.words;
    }
    made.bits = calloc((size_t)graph->ports + 1,
                       (size_t)vl_count * vl_count * made.words * sizeof(*made.bits));
    if (made.bits == NULL)
        return FAB_E_NOMEM;
    *c = made;
    return FAB_OK;
}

void fab_verify_deps_fini(struct fab_verify_deps *c)
{
    free(c->bits);
    memset(c, 0, sizeof(*c));
}

void fab_verify_deps_merge(struct fab_verify_deps *to, const struct fab_verify_deps *from)
{
    size_t words = fab_verify_deps_size(to) / sizeof(*to->bits);
    for (size_t i = 0; i < words; i++)
        to->bits[i] |= from->bits[i];
}

/* ---- iterating over bits --------------------------------------------------------------------- */

struct successors {
    const uint64_t *words;
    uint64_t left;
    /* at: index of the present word; count: number of words */
    uint32_t at, count;
    /* vl_words: number of words for the channels of one VL; vl_count: number of VLs */
    uint32_t vl_words, vl_count;
    /* id of the port that bit 0 of the words represents */
    uint32_t first;
};

static bool is_channel(const struct fab_verify_deps *c, uint32_t channel)
{
    return c->graph->hop[channel / c->vl_count] < c->graph->n;
}

static uint32_t channel_count(const struct fab_verify_deps *c)
{
    return c->graph->ports * c->vl_count;
}

static struct successors successors_of(const struct fab_verify_deps *c, uint32_t channel)
{
    uint32_t words = c->words * c->vl_count;
    struct successors s = {.words = c->bits + (size_t)channel * words, .vl_count = c->vl_count};
    if (is_channel(c, channel)) {
        s.count = words;
        s.vl_words = c->words;
        s.left = *s.words;
        s.first = c->graph->first[c->graph->hop[channel / c->vl_count]] + 1;
    }
    return s;
}

static bool next_successor(struct successors *s, uint32_t *ret_channel)
{
    while (s->at < s->count && s->left == 0) {
        if (++s->at < s->count)
            s->left = s->words[s->at];
    }
    if (s->at >= s->count)
        return false;
    uint32_t port = s->first + s->at % s->vl_words * 64 + (uint32_t)__builtin_ctzll(s->left);
    *ret_channel = port * s->vl_count + s->at / s->vl_words;
    s->left &= s->left - 1;
    return true;
}

static uint64_t channel_bits(const struct fab_verify_graph *graph, uint32_t sw, uint32_t word)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64 && word * 64 + i + 1 < graph->port_room[sw]; i++)
        bits |= (uint64_t)(graph->hop[graph->first[sw] + word * 64 + i + 1] < graph->n) << i;
    return bits;
}

uint64_t fab_verify_deps_prune(struct fab_verify_deps *c)
{
    const struct fab_verify_graph *graph = c->graph;
    uint64_t count = 0, mask[4];
    uint32_t masked = FAB_NONE;
    for (uint32_t port = 0; port < graph->ports; port++) {
        uint32_t peer = graph->hop[port];
        if (peer >= graph->n)
            continue;
        for (uint32_t w = 0; w < c->words && masked != peer; w++)
            mask[w] = channel_bits(graph, peer, w);
        masked = peer;
        uint64_t *bits = c->bits + (size_t)port * c->vl_count * c->vl_count * c->words;
        for (uint32_t i = 0; i < c->vl_count * c->vl_count; i++) {
            for (uint32_t w = 0; w < c->words; w++, bits++) {
                *bits &= mask[w];
                count += (uint64_t)__builtin_popcountll(*bits);
            }
        }
    }
    return count;
}

/* ---- acyclic or not -------------------------------------------------------------------------- */

struct search {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_verify_deps *c;
    /* number of ports * number of VLs; all channel numbers are lower. The arrays below have this
     * length */
    uint32_t count;
    /* [count] for each channel: number of remaining channels that depend on it */
    uint32_t *predecessors;
    /* [count] true: the channel has not been removed */
    bool *remains;
    uint32_t *queue; /* [count] the channels in the order in which a search found them */
    uint32_t *from;  /* [count] for each channel: the channel from which the search reached it */
};

/* Repeatedly removes channels on which no remaining channel depends, until there are none (Kahn's
 * algorithm). Returns how many channels remain. */
static uint32_t remove_sources(struct search *s)
{
    uint32_t head = 0, tail = 0, remain = 0, next;
    for (uint32_t ch = 0; ch < s->count; ch++) {
        struct successors it = successors_of(s->c, ch);
        while (next_successor(&it, &next))
            s->predecessors[next]++;
    }
    for (uint32_t ch = 0; ch < s->count; ch++) {
        s->remains[ch] = is_channel(s->c, ch);
        remain += s->remains[ch];
        if (s->remains[ch] && s->predecessors[ch] == 0)
            s->queue[tail++] = ch;
    }
    while (head < tail) {
        uint32_t ch = s->queue[head++];
        struct successors it = successors_of(s->c, ch);
        s->remains[ch] = false;
        remain--;
        while (next_successor(&it, &next)) {
            if (--s->predecessors[next] == 0)
                s->queue[tail++] = next;
        }
    }
    return remain;
}

static uint32_t first_remaining_successor(const struct search *s, uint32_t channel)
{
    struct successors it = successors_of(s->c, channel);
    uint32_t next;
    while (next_successor(&it, &next)) {
        if (s->remains[next])
            return next;
    }
    return FAB_NONE;
}

static void remove_sinks(struct search *s)
{
    bool taken = true;
    while (taken) {
        taken = false;
        for (uint32_t ch = s->count; ch-- > 0;) {
            if (!s->remains[ch] || first_remaining_successor(s, ch) != FAB_NONE)
                continue;
            s->remains[ch] = false;
            taken = true;
        }
    }
}

/* Returns a channel on a cycle: follows dependencies until it meets a channel for the second time.
 */
static uint32_t some_on_cycle(struct search *s)
{
    uint32_t ch = 0;
    memset(s->from, 0, s->count * sizeof(*s->from));
    while (!s->remains[ch])
        ch++;
    while (s->from[ch] == 0) {
        s->from[ch] = 1;
        ch = first_remaining_successor(s, ch);
    }
    return ch;
}

/* Returns the length of the shortest cycle through `start`; 0 if each of them has at least `limit`
 * channels. If a cycle is found, from[] has for each channel of the cycle the channel before it. */
static uint32_t cycle_through(struct search *s, uint32_t start, uint32_t limit)
{
    uint32_t head = 0, tail = 0, level_end = 1, length = 1, next;
    memset(s->from, 0xff, s->count * sizeof(*s->from));
    s->queue[tail++] = start;
    while (head < tail && length < limit) {
        uint32_t ch = s->queue[head++];
        struct successors it = successors_of(s->c, ch);
        while (next_successor(&it, &next)) {
            if (!s->remains[next] || s->from[next] != FAB_NONE)
                continue;
            s->from[next] = ch;
            if (next == start)
                return length;
            s->queue[tail++] = next;
        }
        if (head == level_end) {
            level_end = tail;
            length++;
        }
    }
    return 0;
}

static void copy_cycle(const struct search *s, uint32_t start, uint32_t length, uint32_t *ret)
{
    uint32_t ch = start;
    for (uint32_t i = length; i-- > 0;) {
        ch = s->from[ch];
        ret[i] = ch;
    }
}

static int shortest_cycle(struct search *s, uint32_t **ret_cycle, uint32_t *ret_count)
{
    remove_sinks(s);
    uint32_t start = some_on_cycle(s);
    uint32_t best = cycle_through(s, start, FAB_NONE);
    uint32_t *cycle = malloc(best * sizeof(*cycle)), *starts = malloc(best * sizeof(*starts));
    if (cycle == NULL || starts == NULL) {
        free(cycle);
        free(starts);
        return FAB_E_NOMEM;
    }
    copy_cycle(s, start, best, cycle);
    memcpy(starts, cycle, best * sizeof(*starts));
    uint32_t count = best < STARTS ? best : STARTS;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = cycle_through(s, starts[i], best);
        if (length == 0)
            continue;
        best = length;
        copy_cycle(s, starts[i], best, cycle);
    }
    free(starts);
    *ret_cycle = cycle;
    *ret_count = best;
    return FAB_E_CYCLE;
}

static int search_init(struct search *s, const struct fab_verify_deps *c)
{
    size_t room = (size_t)channel_count(c) + 1;
    *s = (struct search){.c = c, .count = channel_count(c)};
    s->predecessors = fab_base_arena_alloc(&s->arena, room, sizeof(*s->predecessors));
    s->remains = fab_base_arena_alloc(&s->arena, room, sizeof(*s->remains));
    s->queue = fab_base_arena_alloc(&s->arena, room, sizeof(*s->queue));
    s->from = fab_base_arena_alloc(&s->arena, room, sizeof(*s->from));
    bool complete =
        s->predecessors != NULL && s->remains != NULL && s->queue != NULL && s->from != NULL;
    return complete ? FAB_OK : FAB_E_NOMEM;
}

int fab_verify_deps_cycle(const struct fab_verify_deps *c, uint32_t **ret_cycle,
                          uint32_t *ret_count)
{
    struct search s;
    int ret = search_init(&s, c);
    if (ret == FAB_OK && remove_sources(&s) > 0)
        ret = shortest_cycle(&s, ret_cycle, ret_count);
    fab_base_arena_fini(&s.arena);
    return ret;
}

/* Numbers the channels as fab_verify_deps_number says. Visits them in the order of queue[]:
 * remove_sources() has put each channel after all channels that depend on it. */
static void number_in_queue_order(const struct search *s, uint32_t *ret_number)
{
    uint32_t next, channels = 0;
    for (uint32_t ch = 0; ch < s->count; ch++) {
        ret_number[ch] = is_channel(s->c, ch);
        channels += ret_number[ch];
    }
    for (uint32_t i = 0; i < channels; i++) {
        struct successors it = successors_of(s->c, s->queue[i]);
        while (next_successor(&it, &next)) {
            if (ret_number[next] <= ret_number[s->queue[i]])
                ret_number[next] = ret_number[s->queue[i]] + 1;
        }
    }
}

int fab_verify_deps_number(const struct fab_verify_deps *c, uint32_t *ret_number)
{
    struct search s;
    int ret = search_init(&s, c);
    if (ret == FAB_OK && remove_sources(&s) > 0)
        ret = FAB_E_CYCLE;
    if (ret == FAB_OK)
        number_in_queue_order(&s, ret_number);
    fab_base_arena_fini(&s.arena);
    return ret;
}
