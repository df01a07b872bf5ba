/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channel dependency graph as bit sets. Routing is free of deadlock when the graph has no cycle
 * (Dally & Seitz, IEEE ToC C-36, 1987; with one VL and tables that look at the destination only,
 * also only then). Whether it has one: take away channels that nothing left depends on, until none
 * is left (acyclic) or all that remain are depended on (Kahn 1962). In the second case take away
 * those that depend on nothing, too; from anywhere in the rest any way leads into a cycle, and from
 * the channels of that cycle a breadth-first search finds one that is short enough to be read.
 */
#include "libfabmgr/verify/dependencies.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define STARTS 64 /* channels from which a shorter cycle is looked for */

int fab_verify_deps_init(struct fab_verify_deps *c, const struct fab_verify_graph *net,
                         uint32_t lanes)
{
    struct fab_verify_deps made = {.net = net, .lanes = lanes, .words = 1};
    for (uint32_t sw = 0; sw < net->n; sw++) {
        uint32_t words = (net->port_room[sw] + 62u) / 64;
        made.words = words > made.words ? words : made.words;
    }
    made.bits =
        calloc((size_t)net->ports + 1, (size_t)lanes * lanes * made.words * sizeof(*made.bits));
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
    size_t words = (size_t)to->net->ports * to->lanes * to->lanes * to->words;
    for (size_t i = 0; i < words; i++)
        to->bits[i] |= from->bits[i];
}

/* ---- walking the bits ----------------------------------------------------------------------- */

struct successors {
    const uint64_t *words;
    uint64_t left;
    uint32_t at, count;     /* the current word */
    uint32_t a_lane, lanes; /* words of one; lanes of a port */
    uint32_t first;         /* port id of bit 0 */
};

static bool is_channel(const struct fab_verify_deps *c, uint32_t channel)
{
    return c->net->hop[channel / c->lanes] < c->net->n;
}

static uint32_t channel_count(const struct fab_verify_deps *c)
{
    return c->net->ports * c->lanes;
}

static struct successors successors_of(const struct fab_verify_deps *c, uint32_t channel)
{
    uint32_t words = c->words * c->lanes;
    struct successors s = {.words = c->bits + (size_t)channel * words, .lanes = c->lanes};
    if (is_channel(c, channel)) {
        s.count = words;
        s.a_lane = c->words;
        s.left = *s.words;
        s.first = c->net->first[c->net->hop[channel / c->lanes]] + 1;
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
    uint32_t port = s->first + s->at % s->a_lane * 64 + (uint32_t)__builtin_ctzll(s->left);
    *ret_channel = port * s->lanes + s->at / s->a_lane;
    s->left &= s->left - 1;
    return true;
}

static uint64_t channel_bits(const struct fab_verify_graph *net, uint32_t sw, uint32_t word)
{
    uint64_t bits = 0;
    for (uint32_t i = 0; i < 64 && word * 64 + i + 1 < net->port_room[sw]; i++)
        bits |= (uint64_t)(net->hop[net->first[sw] + word * 64 + i + 1] < net->n) << i;
    return bits;
}

uint64_t fab_verify_deps_prune(struct fab_verify_deps *c)
{
    const struct fab_verify_graph *net = c->net;
    uint64_t count = 0, mask[4];
    uint32_t masked = FAB_NONE;
    for (uint32_t port = 0; port < net->ports; port++) {
        uint32_t peer = net->hop[port];
        if (peer >= net->n)
            continue;
        for (uint32_t w = 0; w < c->words && masked != peer; w++)
            mask[w] = channel_bits(net, peer, w);
        masked = peer;
        uint64_t *bits = c->bits + (size_t)port * c->lanes * c->lanes * c->words;
        for (uint32_t lane = 0; lane < c->lanes * c->lanes; lane++) {
            for (uint32_t w = 0; w < c->words; w++, bits++) {
                *bits &= mask[w];
                count += (uint64_t)__builtin_popcountll(*bits);
            }
        }
    }
    return count;
}

/* ---- acyclic or not ------------------------------------------------------------------------- */

struct search {
    const struct fab_verify_deps *c;
    uint32_t count;   /* channels, and port ids that are none */
    uint32_t *wanted; /* [count] channels that depend on it, of those that remain */
    bool *remains;    /* [count] */
    uint32_t *queue;  /* [count] */
    uint32_t *from;   /* [count] */
};

/* Kahn: returns how many channels remain. */
static uint32_t take_unwanted(struct search *s)
{
    uint32_t head = 0, tail = 0, remain = 0, next;
    for (uint32_t ch = 0; ch < s->count; ch++) {
        struct successors it = successors_of(s->c, ch);
        while (next_successor(&it, &next))
            s->wanted[next]++;
    }
    for (uint32_t ch = 0; ch < s->count; ch++) {
        s->remains[ch] = is_channel(s->c, ch);
        remain += s->remains[ch];
        if (s->remains[ch] && s->wanted[ch] == 0)
            s->queue[tail++] = ch;
    }
    while (head < tail) {
        uint32_t ch = s->queue[head++];
        struct successors it = successors_of(s->c, ch);
        s->remains[ch] = false;
        remain--;
        while (next_successor(&it, &next)) {
            if (--s->wanted[next] == 0)
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

static void take_ends(struct search *s)
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

/* A channel on a cycle: go on until one is met again. */
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

/* The length of the shortest cycle through `start` if it is less than `limit`, else 0. from[]
 * then leads back from start to start. */
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
    take_ends(s);
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

int fab_verify_deps_cycle(const struct fab_verify_deps *c, uint32_t **ret_cycle,
                          uint32_t *ret_count)
{
    size_t room = (size_t)channel_count(c) + 1;
    struct search s = {.c = c, .count = channel_count(c)};
    int ret = FAB_E_NOMEM;
    s.wanted = calloc(room, sizeof(*s.wanted));
    s.remains = calloc(room, sizeof(*s.remains));
    s.queue = calloc(room, sizeof(*s.queue));
    s.from = calloc(room, sizeof(*s.from));
    if (s.wanted != NULL && s.remains != NULL && s.queue != NULL && s.from != NULL)
        ret = take_unwanted(&s) == 0 ? FAB_OK : shortest_cycle(&s, ret_cycle, ret_count);
    free(s.wanted);
    free(s.remains);
    free(s.queue);
    free(s.from);
    return ret;
}
