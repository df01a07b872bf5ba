/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers the channels so that the numbers ascend along all paths of the tables.
 *
 * If paths ascend and then descend by an order of the switches, the number of a channel that leads
 * up is the position of the switch that it leaves. The channels that lead down have higher numbers:
 * the lower the switch, the higher the number. If the tables use one VL, this file tries the orders
 * that the engines and repairs use.
 *
 * If no order fits, the number of a channel on a VL is the length of the longest chain of
 * dependencies that ends in the channel. In regular topologies this gives equal numbers to
 * equivalent channels. For example, in a grid the channels of the first dimension get lower numbers
 * than those of the second. In a dragonfly, channels in the group of the source get lower numbers
 * than channels in the group of the destination.
 */
#include "libfabmgr/route/local_search/channel_numbering.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/bitset.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/updown/switch_order.h"

void fab_route_channel_numbering_fini(struct fab_channel_numbering *l)
{
    fab_base_arena_fini(&l->arena);
    memset(l, 0, sizeof(*l));
}

/* ---- reading the tables ---------------------------------------------------------------------- */

struct reading {
    const struct fab_fabric *f;
    const struct fab_lids *lids;
    const struct fab_lft *lft;
};

static uint32_t channel_of(const struct fab_channel_numbering *l, const struct reading *r,
                           uint32_t sw, uint32_t lid)
{
    uint8_t num = fab_target_lft_at(r->lft, sw, lid);
    return num <= r->f->nodes[sw].num_ports ? l->by_port[fab_fabric_port_id(r->f, sw, num)]
                                            : FAB_NONE;
}

/* Returns the switch to which the owner of the LID is attached (or the owner itself, if it is a
 * switch). FAB_NONE: there is no such switch. */
static uint32_t switch_of(const struct reading *r, uint32_t lid)
{
    uint32_t port = lid <= r->lids->top ? r->lids->owner[lid] : FAB_NONE;
    if (port == FAB_NONE)
        return FAB_NONE;
    uint32_t node = fab_fabric_port(r->f, port)->node;
    return fab_fabric_node_is_switch(r->f, node) ? node : fab_fabric_peer_node(r->f, port);
}

/* ---- numbers from an order of the switches --------------------------------------------------- */

static void number_by_order(struct fab_channel_numbering *l, const struct fab_order *o)
{
    const struct fab_graph *g = l->g;
    for (uint32_t sw = 0; sw < g->n; sw++) {
        for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++)
            l->number[c] = fab_route_order_is_up(o, sw, g->port_peer[c]) ? 1 + o->pos[sw]
                                                                         : 2 * g->n - o->pos[sw];
    }
}

static bool order_fits(const struct fab_channel_numbering *l, const struct reading *r)
{
    for (uint32_t sw = 0; sw < l->g->n; sw++) {
        for (uint32_t lid = 1; lid <= r->lft->top; lid++) {
            uint32_t c = channel_of(l, r, sw, lid);
            uint32_t next = c != FAB_NONE ? channel_of(l, r, l->g->port_peer[c], lid) : FAB_NONE;
            if (next != FAB_NONE && l->number[c] >= l->number[next])
                return false;
        }
    }
    return true;
}

typedef int find_order(const struct fab_graph *g, const struct fab_fabric *f,
                       const struct fab_policy *p, struct fab_order *ret);

static int try_order(struct fab_channel_numbering *l, const struct fab_local_search_input *in,
                     const struct reading *r, find_order *find)
{
    struct fab_order order;
    int status = find(l->g, in->fabric, in->policy, &order);
    if (status != FAB_OK)
        return status;
    number_by_order(l, &order);
    fab_route_order_fini(&order);
    return order_fits(l, r) ? FAB_OK : FAB_E_UNSUPPORTED;
}

/* ---- numbers from chains of dependencies ----------------------------------------------------- */

/* State of the numbering by chains of dependencies. A step is a pair of a channel and a VL. Its
 * index is channel * lanes + VL, where `lanes` is the number of VLs. The numbering gives each step
 * a number (number[] of the numbering). */
struct chains {
    struct fab_channel_numbering *l;
    /* used to choose at random among the steps that can get the next number; NULL: the steps are
     * numbered in a fixed order */
    struct fab_prng *prng;
    uint32_t steps, words;
    /* [steps][words] for each step (channel and VL), a bitset of the steps on which its packets
     * continue. Bit i stands for the i-th step that leaves the switch to which the channel leads.
     */
    uint64_t *after;
    /* [steps] for each step, the number of its predecessors that have no number yet; a predecessor
     * is a step from which packets continue on this step */
    uint32_t *predecessors;
    uint32_t *queue; /* [steps] the steps whose predecessors all have numbers */
};

static uint32_t lane_of(const struct fab_channel_numbering *l, uint8_t in_class, uint32_t channel,
                        uint8_t sl)
{
    return l->vls != NULL ? l->vls->vl[in_class][l->out[channel]][sl] : 0;
}

static void note(struct chains *c, uint32_t from, uint32_t to)
{
    const struct fab_channel_numbering *l = c->l;
    uint32_t first = l->g->port_at[l->g->port_peer[from / l->lanes]] * l->lanes;
    if (fab_base_bits_add(c->after + (size_t)from * c->words, to - first))
        c->predecessors[to]++;
}

static void follow(struct chains *c, const struct reading *r, uint32_t from, uint32_t home,
                   uint32_t lid)
{
    const struct fab_channel_numbering *l = c->l;
    uint8_t sl = l->vls != NULL ? fab_target_vls_sl(l->vls, from, home, lid) : 0, in_class = 0;
    uint32_t last = FAB_NONE;
    for (uint32_t sw = from, hops = 0; sw != home && hops <= l->g->n; hops++) {
        uint32_t channel = channel_of(l, r, sw, lid);
        if (channel == FAB_NONE)
            return;
        uint32_t step = channel * l->lanes + lane_of(l, in_class, channel, sl);
        if (last != FAB_NONE)
            note(c, last, step);
        last = step;
        in_class = l->in[channel];
        sw = l->g->port_peer[channel];
    }
}

static void collect(struct chains *c, const struct reading *r)
{
    for (uint32_t lid = 1; lid <= r->lft->top; lid++) {
        uint32_t home = switch_of(r, lid);
        for (uint32_t sw = 0; home < c->l->g->n && sw < c->l->g->n; sw++)
            follow(c, r, sw, home, lid);
    }
}

/* Returns a step (channel and VL) whose predecessors all have numbers. Takes the first step of the
 * queue or, if prng is not NULL, a random step of the queue. A random step gets its number here: 1
 * for the first step that is taken, 2 for the second, and so on. */
static uint32_t take_next(struct chains *c, uint32_t head, uint32_t tail)
{
    if (c->prng == NULL)
        return c->queue[head];
    uint32_t i = head + (uint32_t)fab_base_prng_below(c->prng, tail - head), step = c->queue[i];
    c->queue[i] = c->queue[head];
    c->queue[head] = step;
    c->l->number[step] = head + 1;
    return step;
}

/* Sorts the steps topologically (Kahn's algorithm) and numbers them. Returns false if the
 * dependencies form a cycle. */
static bool sort_steps(struct chains *c)
{
    struct fab_channel_numbering *l = c->l;
    uint32_t head = 0, tail = 0;
    for (uint32_t step = 0; step < c->steps; step++) {
        l->number[step] = 1;
        if (c->predecessors[step] == 0)
            c->queue[tail++] = step;
    }
    while (head < tail) {
        uint32_t step = take_next(c, head, tail);
        uint32_t first = l->g->port_at[l->g->port_peer[step / l->lanes]] * l->lanes;
        const uint64_t *after = c->after + (size_t)step * c->words;
        size_t bits = (size_t)c->words * 64;
        head++;
        for (size_t i = fab_base_bits_next(after, bits, 0); i < bits;
             i = fab_base_bits_next(after, bits, i + 1)) {
            uint32_t to = first + (uint32_t)i;
            l->number[to] = l->number[step] >= l->number[to] ? l->number[step] + 1 : l->number[to];
            if (--c->predecessors[to] == 0)
                c->queue[tail++] = to;
        }
    }
    return tail == c->steps;
}

static int by_chains(struct fab_channel_numbering *l, const struct reading *r,
                     struct fab_prng *prng)
{
    const struct fab_graph *g = l->g;
    struct chains c = {.l = l, .prng = prng, .steps = g->port_at[g->n] * l->lanes, .words = 1};
    int status = FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < g->n; sw++) {
        uint32_t words =
            (uint32_t)fab_base_bits_words((size_t)(g->port_at[sw + 1] - g->port_at[sw]) * l->lanes);
        c.words = words > c.words ? words : c.words;
    }
    c.after = calloc((size_t)c.steps + 1, c.words * sizeof(*c.after));
    c.predecessors = calloc((size_t)c.steps + 1, sizeof(*c.predecessors));
    c.queue = fab_base_alloc_array((size_t)c.steps + 1, sizeof(*c.queue));
    if (c.after && c.predecessors && c.queue) {
        collect(&c, r);
        status = sort_steps(&c) ? FAB_OK : FAB_E_UNSUPPORTED;
    }
    free(c.after);
    free(c.predecessors);
    free(c.queue);
    return status;
}

/* ---- making ---------------------------------------------------------------------------------- */

static int allocate(struct fab_channel_numbering *l, const struct fab_fabric *f)
{
    size_t channels = (size_t)l->g->port_at[l->g->n] + 1;
    l->number = fab_base_arena_alloc(&l->arena, channels * l->lanes, sizeof(*l->number));
    l->in = fab_base_arena_alloc(&l->arena, channels, 1);
    l->out = fab_base_arena_alloc(&l->arena, channels, 1);
    l->by_port = fab_base_arena_alloc(&l->arena, f->port_count, sizeof(*l->by_port));
    l->stack = fab_base_arena_alloc(&l->arena, (size_t)l->g->n + 1, sizeof(*l->stack));
    return !l->arena.failed ? FAB_OK : FAB_E_NOMEM;
}

static void find_ports(struct fab_channel_numbering *l, const struct fab_fabric *f)
{
    const struct fab_graph *g = l->g;
    memset(l->by_port, 0xff, f->port_count * sizeof(*l->by_port));
    for (uint32_t sw = 0; sw < g->n; sw++) {
        for (uint32_t c = g->port_at[sw]; c < g->port_at[sw + 1]; c++) {
            uint32_t port = fab_fabric_port_id(f, sw, g->port_num[c]);
            l->by_port[port] = c;
            l->out[c] = l->vls != NULL ? fab_target_vls_port_class(l->vls, port) : 0;
            l->in[c] = l->vls != NULL
                           ? fab_target_vls_port_class(l->vls, fab_fabric_port(f, port)->peer)
                           : 0;
        }
    }
}

int fab_route_channel_numbering_make(struct fab_channel_numbering *l, const struct fab_graph *g,
                                     const struct fab_local_search_input *in,
                                     const struct fab_lft *lft, struct fab_prng *prng)
{
    const struct reading r = {in->fabric, in->lids, lft};
    bool many = in->vls != NULL && fab_target_vls_multiple(in->vls);
    struct fab_channel_numbering made = {
        .g = g, .vls = many ? in->vls : NULL, .lanes = many ? in->vls->count : 1};
    int status = allocate(&made, in->fabric);
    if (status == FAB_OK) {
        find_ports(&made, in->fabric);
        bool order = !many && prng == NULL;
        status = order ? try_order(&made, in, &r, fab_route_order_ranked) : FAB_E_UNSUPPORTED;
        if (order && status == FAB_E_UNSUPPORTED)
            status = try_order(&made, in, &r, fab_route_order_find);
        made.by_order = status == FAB_OK;
        if (status == FAB_E_UNSUPPORTED)
            status = by_chains(&made, &r, prng);
    }
    if (status == FAB_OK)
        *l = made;
    else
        fab_route_channel_numbering_fini(&made);
    return status;
}

/* ---- testing moves --------------------------------------------------------------------------- */

/* Returns true if the channel numbers on the path from switch `from` to `lid` still ascend when
 * switch `sw` sends the packets by `channel`. */
static bool ascends(const struct fab_channel_numbering *l, const uint32_t *next, uint32_t from,
                    uint32_t home, uint32_t lid, uint32_t sw, uint32_t channel)
{
    uint8_t sl = fab_target_vls_sl(l->vls, from, home, lid), in_class = 0;
    uint32_t last = 0;
    for (uint32_t at = from; at != home;) {
        uint32_t c = at == sw ? channel : next[at];
        if (c == FAB_NONE)
            return false;
        uint32_t number = l->number[c * l->lanes + lane_of(l, in_class, c, sl)];
        if (number <= last)
            return false;
        last = number;
        in_class = l->in[c];
        at = l->g->port_peer[c];
    }
    return true;
}

/* Returns true if ascends() holds for each switch that sends packets to the LID through `sw`. Each
 * of these switches is tested, because the SLs of their packets may differ. */
static bool all_paths_ascend(const struct fab_channel_numbering *l, const uint32_t *next,
                             uint32_t home, uint32_t lid, uint32_t sw, uint32_t channel)
{
    const struct fab_graph *g = l->g;
    uint32_t depth = 0;
    l->stack[depth++] = sw;
    while (depth > 0) {
        uint32_t at = l->stack[--depth];
        if (!ascends(l, next, at, home, lid, sw, channel))
            return false;
        for (uint32_t i = g->nbr_at[at]; i < g->nbr_at[at + 1]; i++) {
            uint32_t from = g->nbr[i];
            if (from != home && next[from] != FAB_NONE && g->port_peer[next[from]] == at)
                l->stack[depth++] = from;
        }
    }
    return true;
}

bool fab_route_channel_numbering_ascends(const struct fab_channel_numbering *l,
                                         const uint32_t *next, uint32_t home, uint32_t lid,
                                         uint32_t sw, uint32_t channel)
{
    const struct fab_graph *g = l->g;
    if (l->vls != NULL)
        return all_paths_ascend(l, next, home, lid, sw, channel);
    uint32_t after = next[g->port_peer[channel]];
    if (after != FAB_NONE && l->number[channel] >= l->number[after])
        return false;
    for (uint32_t i = g->nbr_at[sw]; i < g->nbr_at[sw + 1]; i++) {
        uint32_t before = next[g->nbr[i]];
        if (before != FAB_NONE && g->port_peer[before] == sw &&
            l->number[before] >= l->number[channel])
            return false;
    }
    return true;
}
