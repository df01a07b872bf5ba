/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects the channel dependencies that packets to one LID can have while switches replace their
 * old entries for the LID by new ones. rounds.c searches the collected dependencies for cycles.
 *
 * Let entry `a` of switch u lead to switch s, and let `b` be the entry of s. This causes a
 * dependency: a packet may hold the channel of `a` while it waits for the channel of `b`. The mode
 * (enum fab_transition_mode) says whether `a` and `b` can be old or new entries:
 *
 *   - OLD_ONLY: both are old.
 *   - ANY: `a` and `b` are each old or new, in all four combinations.
 *   - ALONG: u gets its new entry last, after s and all later switches on the new path of u have
 *     got their new entries. So after a packet has met a new entry, it meets only new entries. If
 *     `a` is old, `b` may be old or new. If `a` is new, `b` is new.
 *
 * With one VL, this file assumes that packets may start at every switch, because switches send
 * management packets themselves. With several VLs, this file follows packets from each switch that
 * has LID owners. These packets have the SLs of the pair of source switch and destination LID. The
 * state of a packet has five parts: the switch, the old and the new class of the port through which
 * the packet entered, the SL, and whether the packet has met a new entry.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/internal.h"

#define COLUMNS FAB_TRANSITION_COLUMNS

int fab_transition_deps_init(struct fab_transition_deps *d, const struct fab_verify_graph *graph,
                             uint32_t vl_count)
{
    *d = (struct fab_transition_deps){0};
    return fab_verify_deps_init(&d->deps, graph, vl_count);
}

void fab_transition_deps_fini(struct fab_transition_deps *d)
{
    fab_verify_deps_fini(&d->deps);
    free(d->list);
    memset(d, 0, sizeof(*d));
}

/* Returns the word that has the bit for one dependency: packets hold `channel` while they wait for
 * VL `vl` of port `num` of the next switch. */
static inline uint64_t *word_of(const struct fab_verify_deps *c, uint32_t channel, uint32_t num,
                                uint32_t vl)
{
    return c->bits + ((size_t)channel * c->vl_count + vl) * c->words + (num - 1) / 64;
}

void fab_transition_deps_put(struct fab_transition_deps *d, struct fab_transition_edge e, bool on)
{
    const struct fab_verify_deps *c = &d->deps;
    uint32_t num = fab_fabric_port(c->graph->in->fabric, e.to / c->vl_count)->num;
    uint64_t *word = word_of(c, e.from, num, e.to % c->vl_count);
    uint64_t bit = UINT64_C(1) << (num - 1) % 64;
    *word = on ? *word | bit : *word & ~bit;
}

static void note_addition(struct fab_transition_deps *d, uint32_t from, uint32_t to)
{
    void *grown = fab_base_grow(d->list, sizeof(*d->list), d->count + 1, &d->room);
    if (grown == NULL) {
        d->failed = true;
        return;
    }
    d->list = grown;
    d->list[d->count++] = (struct fab_transition_edge){from, to};
}

/* Adds the dependency of `channel` on the channel that leaves switch `to` through port `num` on VL
 * `vl`. */
static inline void add(struct fab_transition_deps *d, uint32_t channel, uint32_t to, uint32_t num,
                       uint32_t vl)
{
    uint64_t *word = word_of(&d->deps, channel, num, vl);
    uint64_t bit = UINT64_C(1) << (num - 1) % 64;
    if ((*word & bit) != 0)
        return;
    *word |= bit;
    if (d->listing)
        note_addition(d, channel, (d->deps.graph->first[to] + num) * d->deps.vl_count + vl);
}

/* Returns the id of port `num` of switch `sw`; FAB_NONE: the port does not lead to a switch. */
static inline uint32_t channel_of(const struct fab_verify_graph *graph, uint32_t sw, uint8_t num)
{
    uint32_t port = graph->first[sw] + num;
    return num < graph->port_room[sw] && graph->hop[port] < graph->n ? port : FAB_NONE;
}

/* ---- one VL ---------------------------------------------------------------------------------- */

static inline void add_next(struct fab_transition_deps *d, uint32_t port, uint32_t to, uint8_t num)
{
    if (channel_of(d->deps.graph, to, num) != FAB_NONE)
        add(d, port, to, num, 0);
}

/* Adds the dependencies of packets that leave switch `sw` through port `num`. At the next switch,
 * these packets may wait for the port of the old entry (if old_next is true), and for the port of
 * the new entry (if new_next is true). */
static inline void follow(struct fab_transition_deps *d, const struct fab_transition_column *c,
                          uint32_t sw, uint8_t num, bool old_next, bool new_next)
{
    uint32_t port = channel_of(d->deps.graph, sw, num);
    if (port == FAB_NONE)
        return;
    uint32_t to = d->deps.graph->hop[port];
    uint8_t was = c->was[(size_t)to * COLUMNS], now = c->now[(size_t)to * COLUMNS];
    if (old_next)
        add_next(d, port, to, was);
    if (new_next && (now != was || !old_next))
        add_next(d, port, to, now);
}

static void collect_plain(struct fab_transition_deps *d, const struct fab_transition_column *c)
{
    bool mixed = c->mode != FAB_TRANSITION_OLD_ONLY, any = c->mode == FAB_TRANSITION_ANY;
    for (uint32_t sw = 0; sw < d->deps.graph->n; sw++) {
        uint8_t was = c->was[(size_t)sw * COLUMNS], now = c->now[(size_t)sw * COLUMNS];
        follow(d, c, sw, was, true, mixed);
        if (mixed && now != was)
            follow(d, c, sw, now, any, true);
    }
}

/* ---- several VLs ----------------------------------------------------------------------------- */

struct fab_transition_state {
    uint32_t sw;
    uint16_t class;
    uint8_t sl;
    /* mode ALONG: true if the packet has met a new entry */
    bool is_new;
};

int fab_transition_lanes_init(struct fab_transition_lanes *l, const struct fab_verify_graph *graph,
                              const struct fab_vls *was, const struct fab_vls *now)
{
    uint32_t old_classes = was->classes > 0 ? was->classes : 1;
    uint32_t new_classes = now->classes > 0 ? now->classes : 1;
    *l = (struct fab_transition_lanes){
        .vls = {was, now}, .classes = old_classes * new_classes, .tables = FAB_TRANSITION_NEW};
    l->seen = fab_base_alloc_array((size_t)graph->n * l->classes, 2 * sizeof(*l->seen));
    return l->seen != NULL ? FAB_OK : FAB_E_NOMEM;
}

void fab_transition_lanes_fini(struct fab_transition_lanes *l)
{
    free(l->seen);
    free(l->stack);
    memset(l, 0, sizeof(*l));
}

static void visit(struct fab_transition_deps *d, struct fab_transition_lanes *l,
                  struct fab_transition_state s)
{
    size_t at = ((s.is_new ? d->deps.graph->n : 0u) + (size_t)s.sw) * l->classes + s.class;
    if ((l->seen[at] >> s.sl & 1) != 0)
        return;
    l->seen[at] |= (uint16_t)(1u << s.sl);
    void *grown = fab_base_grow(l->stack, sizeof(*l->stack), l->depth + 1, &l->room);
    if (grown == NULL) {
        d->failed = true;
        return;
    }
    l->stack = grown;
    l->stack[l->depth++] = s;
}

static uint8_t class_in(const struct fab_vls *v, uint32_t port)
{
    return fab_target_vls_multiple(v) ? fab_target_vls_port_class(v, port) : 0;
}

/* Returns the VL on which packets with SL `sl` leave by `port`, by the old (which = 0) or new
 * (which = 1) SL-to-VL tables. class: the classes of the port by which the packets entered, as (old
 * class * number of new classes) + new class. */
static uint32_t vl_of(const struct fab_transition_lanes *l, unsigned which, uint32_t class,
                      uint32_t port, uint8_t sl)
{
    const struct fab_vls *v = l->vls[which];
    uint32_t new_classes = l->vls[1]->classes > 0 ? l->vls[1]->classes : 1;
    if (!fab_target_vls_multiple(v))
        return 0;
    uint32_t in = which == 0 ? class / new_classes : class % new_classes;
    return v->vl[in][fab_target_vls_port_class(v, port)][sl] % v->count;
}

/* Adds the dependencies of packets in state *s on two hops: they leave switch s->sw through `port`,
 * and then the next switch through port `num`. They enter the next switch through a port of class
 * `class`. If switches may hold old and new SL-to-VL tables, adds the dependencies on the VLs of
 * both. */
static void add_lanes(struct fab_transition_deps *d, const struct fab_transition_lanes *l,
                      const struct fab_transition_state *s, uint32_t port, uint32_t class,
                      uint8_t num)
{
    uint32_t to = d->deps.graph->hop[port], next = channel_of(d->deps.graph, to, num);
    if (next == FAB_NONE)
        return;
    for (unsigned a = 0; a < 2; a++) {
        for (unsigned b = 0; b < 2; b++) {
            if ((l->tables >> a & 1) == 0 || (l->tables >> b & 1) == 0)
                continue;
            uint32_t from = port * d->deps.vl_count + vl_of(l, a, s->class, port, s->sl);
            add(d, from, to, num, vl_of(l, b, class, next, s->sl));
        }
    }
}

static void leave_by(struct fab_transition_deps *d, struct fab_transition_lanes *l,
                     const struct fab_transition_column *c, const struct fab_transition_state *s,
                     uint8_t num, bool is_new)
{
    const struct fab_verify_graph *graph = d->deps.graph;
    uint32_t port = channel_of(graph, s->sw, num);
    if (port == FAB_NONE)
        return;
    uint32_t to = graph->hop[port], peer = fab_fabric_port(graph->in->fabric, port)->peer;
    uint32_t new_classes = l->vls[1]->classes > 0 ? l->vls[1]->classes : 1;
    uint32_t class = class_in(l->vls[0], peer) * new_classes + class_in(l->vls[1], peer);
    uint8_t was = c->was[(size_t)to * COLUMNS], now = c->now[(size_t)to * COLUMNS];
    if (!is_new)
        add_lanes(d, l, s, port, class, was);
    if (now != was && c->mode != FAB_TRANSITION_OLD_ONLY)
        add_lanes(d, l, s, port, class, now);
    else if (is_new)
        add_lanes(d, l, s, port, class, now);
    visit(d, l, (struct fab_transition_state){to, (uint16_t) class, s->sl, is_new});
}

static void expand(struct fab_transition_deps *d, struct fab_transition_lanes *l,
                   const struct fab_transition_column *c, struct fab_transition_state s)
{
    uint8_t was = c->was[(size_t)s.sw * COLUMNS], now = c->now[(size_t)s.sw * COLUMNS];
    if (!s.is_new)
        leave_by(d, l, c, &s, was, false);
    if (s.is_new || (now != was && c->mode != FAB_TRANSITION_OLD_ONLY))
        leave_by(d, l, c, &s, now, s.is_new || c->mode == FAB_TRANSITION_ALONG);
}

static void send(struct fab_transition_deps *d, struct fab_transition_lanes *l,
                 const struct fab_transition_column *c, uint32_t from)
{
    for (unsigned which = 0; which < 2; which++) {
        const struct fab_vls *v = l->vls[which];
        if ((c->sls >> which & 1) == 0)
            continue;
        uint8_t sl = fab_target_vls_sl(v, from, c->home, c->lid);
        for (uint8_t level = 0; level < fab_target_vls_levels(v); level++)
            visit(d, l,
                  (struct fab_transition_state){
                      .sw = from, .sl = fab_target_vls_level_sl(v, level, sl) % FAB_SLS});
    }
}

static void collect_lanes(struct fab_transition_deps *d, struct fab_transition_lanes *l,
                          const struct fab_transition_column *c)
{
    const struct fab_verify_graph *graph = d->deps.graph;
    memset(l->seen, 0, (size_t)graph->n * l->classes * 2 * sizeof(*l->seen));
    for (uint32_t sw = 0; sw < graph->n; sw++) {
        /* endports send packets even if their switch no longer has a path to the LID */
        if (graph->owners[sw] > 0)
            send(d, l, c, sw);
    }
    while (l->depth > 0)
        expand(d, l, c, l->stack[--l->depth]);
}

void fab_transition_collect(struct fab_transition_deps *d, struct fab_transition_lanes *lanes,
                            const struct fab_transition_column *c)
{
    if (c->home == FAB_NONE)
        return; /* no packets are sent to this LID */
    if (lanes != NULL)
        collect_lanes(d, lanes, c);
    else
        collect_plain(d, c);
}
