/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maintains a topological order of the channels: each channel precedes all channels for which its
 * packets may wait. Such an order exists if and only if the dependencies have no cycle. To find out
 * whether further LIDs may be updated, rounds.c tries to add their dependencies to the order.
 *
 * fab_transition_order_sort computes the order from all dependencies (Kahn 1962). If an added
 * dependency contradicts the order, only the channels that are between its two channels in the
 * order are moved (Pearce & Kelly, "A dynamic topological sort algorithm for directed acyclic
 * graphs", ACM JEA 11, 2006). When dependencies are removed, the order stays valid.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/internal.h"

/* Maximum number of channels that fab_transition_order_add visits. If it has visited more after a
 * forward search, it refuses the dependencies. */
#define STEPS_MOST 2000000u

int fab_transition_order_init(struct fab_transition_order *o, struct fab_transition_deps *d)
{
    struct fab_transition_order made = {.d = d, .count = d->deps.graph->ports * d->deps.vl_count};
    size_t room = (size_t)made.count + 1;
    made.at = fab_base_alloc_array(room, sizeof(*made.at));
    made.scratch = fab_base_alloc_array(room, 4 * sizeof(*made.scratch));
    made.mark = calloc(room, sizeof(*made.mark));
    *o = made;
    if (made.at != NULL && made.scratch != NULL && made.mark != NULL)
        return FAB_OK;
    fab_transition_order_fini(o);
    return FAB_E_NOMEM;
}

void fab_transition_order_fini(struct fab_transition_order *o)
{
    free(o->at);
    free(o->scratch);
    free(o->mark);
    memset(o, 0, sizeof(*o));
}

/* ---- neighbours ------------------------------------------------------------------------------ */

struct successors {
    const uint64_t *words;
    uint64_t left;
    uint32_t word, count, per_vl, vl_count, first;
};

static struct successors successors_of(const struct fab_verify_deps *c, uint32_t channel)
{
    const struct fab_verify_graph *graph = c->graph;
    uint32_t hop = graph->hop[channel / c->vl_count];
    struct successors s = {.per_vl = c->words, .vl_count = c->vl_count};
    if (hop >= graph->n)
        return s;
    s.count = c->words * c->vl_count;
    s.words = c->bits + (size_t)channel * s.count;
    s.left = s.words[0];
    s.first = graph->first[hop] + 1;
    return s;
}

static bool next_successor(struct successors *s, uint32_t *ret)
{
    while (s->word < s->count && s->left == 0) {
        if (++s->word < s->count)
            s->left = s->words[s->word];
    }
    if (s->word >= s->count)
        return false;
    uint32_t port = s->first + s->word % s->per_vl * 64 + (uint32_t)__builtin_ctzll(s->left);
    *ret = port * s->vl_count + s->word / s->per_vl;
    s->left &= s->left - 1;
    return true;
}

/* Iterates over the predecessors of a channel that leaves switch `sw`: the channels that depend on
 * it. */
struct predecessors {
    /* The next channel to examine enters switch `sw` by port `num` on VL `vl`. */
    uint32_t sw, num, vl;
    uint32_t own_num, own_vl;
};

static struct predecessors predecessors_of(const struct fab_verify_deps *c, uint32_t channel)
{
    const struct fab_fabric *f = c->graph->in->fabric;
    uint32_t port = channel / c->vl_count;
    return (struct predecessors){.sw = fab_fabric_port(f, port)->node,
                                 .num = 1,
                                 .own_num = fab_fabric_port(f, port)->num,
                                 .own_vl = channel % c->vl_count};
}

static bool next_predecessor(const struct fab_verify_deps *c, struct predecessors *p, uint32_t *ret)
{
    const struct fab_verify_graph *graph = c->graph;
    for (; p->num < graph->port_room[p->sw]; p->num++, p->vl = 0) {
        uint32_t out = graph->first[p->sw] + p->num;
        if (graph->hop[out] >= graph->n)
            continue;
        uint32_t in = fab_fabric_port(graph->in->fabric, out)->peer;
        while (p->vl < c->vl_count) {
            uint32_t channel = in * c->vl_count + p->vl++;
            const uint64_t *words =
                c->bits + ((size_t)channel * c->vl_count + p->own_vl) * c->words;
            if ((words[(p->own_num - 1) / 64] >> (p->own_num - 1) % 64 & 1) != 0) {
                *ret = channel;
                return true;
            }
        }
    }
    return false;
}

/* ---- sorting all channels -------------------------------------------------------------------- */

bool fab_transition_order_sort(struct fab_transition_order *o)
{
    const struct fab_verify_deps *c = &o->d->deps;
    uint32_t *waits = o->scratch, *queue = o->scratch + o->count, head = 0, tail = 0, next;
    memset(waits, 0, o->count * sizeof(*waits));
    for (uint32_t ch = 0; ch < o->count; ch++) {
        struct successors it = successors_of(c, ch);
        while (next_successor(&it, &next))
            waits[next]++;
    }
    for (uint32_t ch = 0; ch < o->count; ch++) {
        if (waits[ch] == 0)
            queue[tail++] = ch;
    }
    while (head < tail) {
        uint32_t ch = queue[head];
        struct successors it = successors_of(c, ch);
        o->at[ch] = head++;
        while (next_successor(&it, &next)) {
            if (--waits[next] == 0)
                queue[tail++] = next;
        }
    }
    return tail == o->count;
}

/* ---- adding a dependency --------------------------------------------------------------------- */

/* Collects in found[] the channel `from` and all channels to which chains of dependencies lead from
 * `from`, up to position `last` of the order. Returns the number of these channels. If the search
 * meets the channel `stop`, the dependencies form a cycle, and the function returns FAB_NONE. */
static uint32_t search_forward(struct fab_transition_order *o, uint32_t from, uint32_t stop,
                               uint32_t last, uint32_t *found)
{
    uint32_t count = 0, next;
    found[count++] = from;
    o->mark[from] = 1;
    bool closed = false;
    for (uint32_t head = 0; head < count && !closed; head++) {
        struct successors it = successors_of(&o->d->deps, found[head]);
        while (!closed && next_successor(&it, &next)) {
            closed = next == stop;
            if (o->at[next] > last || o->mark[next] != 0)
                continue;
            o->mark[next] = 1;
            found[count++] = next;
        }
    }
    o->steps += count;
    for (uint32_t i = 0; i < count; i++)
        o->mark[found[i]] = 0;
    return closed ? FAB_NONE : count;
}

/* Collects in found[] the channel `to` and all channels from which chains of dependencies lead to
 * `to`, down to position `first` of the order. Returns the number of these channels. */
static uint32_t search_backward(struct fab_transition_order *o, uint32_t to, uint32_t first,
                                uint32_t *found)
{
    uint32_t count = 0, before;
    found[count++] = to;
    o->mark[to] = 1;
    for (uint32_t head = 0; head < count; head++) {
        struct predecessors it = predecessors_of(&o->d->deps, found[head]);
        while (next_predecessor(&o->d->deps, &it, &before)) {
            if (o->at[before] < first || o->mark[before] != 0)
                continue;
            o->mark[before] = 1;
            found[count++] = before;
        }
    }
    o->steps += count;
    for (uint32_t i = 0; i < count; i++)
        o->mark[found[i]] = 0;
    return count;
}

struct place {
    uint32_t at, channel;
};
static int by_place(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* Gives the `count` channels of channel[] new positions in the order. They exchange their present
 * positions; all other channels keep theirs. The first `backs` channels of channel[] get the lowest
 * of these positions, and the remaining channels get the remaining positions. Within each part, the
 * channels keep their relative order. Returns false if memory runs out. */
static bool shift(struct fab_transition_order *o, uint32_t *channel, uint32_t backs, uint32_t count)
{
    struct place *all = fab_base_alloc_array(count, 2 * sizeof(*all));
    if (all == NULL)
        return false;
    struct place *positions = all + count;
    for (uint32_t i = 0; i < count; i++)
        all[i] = positions[i] = (struct place){o->at[channel[i]], channel[i]};
    qsort(all, backs, sizeof(*all), by_place);
    qsort(all + backs, count - backs, sizeof(*all), by_place);
    qsort(positions, count, sizeof(*positions), by_place);
    for (uint32_t i = 0; i < count; i++)
        o->at[all[i].channel] = positions[i].at;
    free(all);
    return true;
}

static bool add_one(struct fab_transition_order *o, struct fab_transition_edge e)
{
    if (e.from == e.to)
        return false;
    if (o->at[e.from] > o->at[e.to]) {
        uint32_t first = o->at[e.to], last = o->at[e.from];
        uint32_t *ahead = o->scratch, *all = o->scratch + o->count;
        uint32_t aheads = search_forward(o, e.to, e.from, last, ahead);
        if (aheads == FAB_NONE || o->steps > STEPS_MOST)
            return false;
        uint32_t backs = search_backward(o, e.from, first, all);
        memcpy(all + backs, ahead, aheads * sizeof(*all));
        if (!shift(o, all, backs, backs + aheads)) {
            o->d->failed = true;
            return false;
        }
    }
    fab_transition_deps_put(o->d, e, true);
    return true;
}

bool fab_transition_order_add(struct fab_transition_order *o)
{
    struct fab_transition_deps *d = o->d;
    o->steps = 0;
    for (size_t i = 0; i < d->count; i++)
        fab_transition_deps_put(d, d->list[i], false);
    for (size_t i = 0; i < d->count; i++) {
        if (add_one(o, d->list[i]))
            continue;
        while (i-- > 0)
            fab_transition_deps_put(d, d->list[i], false);
        return false;
    }
    return true;
}
