/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks quickly whether the union of the channel dependencies of all mixtures of old and new
 * entries has no cycle. If it has none, as in most transitions, the transition needs no rounds.
 *
 * The check begins with the dependencies of the new tables, which libfabmgr/verify computes. Only
 * changed entries add further dependencies; adding these takes time proportional to the number of
 * changed entries. Let the entry of switch s for a LID change from `a` to `b`:
 *
 *   - The channel of `a` leads to a switch t. Packets at t continue by the old or by the new entry
 *     of t.
 *   - Packets that arrive at s by the old entry of another switch continue by the channel of `a`.
 *   - Packets that arrive at s by the new entry of another switch also continue by the channel of
 *     `a`, if the writes take effect in any order. In mode ALONG this cannot happen, because s is
 *     written before that other switch.
 *
 * In mode ALONG, a packet meets old entries first, and only new entries afterwards; in mode ANY,
 * old and new entries may be mixed in every combination (internal.h). All dependencies are
 * collected as if there were one VL.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/transition/work.h"

#define COLUMNS FAB_TRANSITION_COLUMNS

struct mixing {
    struct fab_transition_work *w;
    /* along: dependencies of the new tables, and of the mixtures that can occur in mode ALONG.
     * others: further dependencies, of mixtures that can occur in mode ANY only. */
    struct fab_verify_deps along, others;
    /* [switches] one LFT block of each switch at a time: its old entries (was), its new entries
     * (now), and the bitset of the entries that change */
    const uint8_t **was, **now;
    uint64_t *changes;
    /* bitset of the entries of the present LFT block that change in at least one switch */
    uint64_t any_change;
    /* number of switches with changed entries in the present LFT block */
    uint32_t changed;
};

static inline uint64_t load_word(const uint8_t *from)
{
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++)
        word |= (uint64_t)from[i] << 8 * i;
    return word;
}

/* Returns a bitset of 8 bits: bit i is set if byte i of `word` is 0. */
static inline uint64_t zero_bytes(uint64_t word)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    uint64_t zero = ~(((word & low) + low) | word | low) >> 7;
    return zero * UINT64_C(0x0102040810204080) >> 56;
}

static uint64_t find_value(const uint8_t *entry, uint8_t value)
{
    uint64_t found = 0, pattern = value * UINT64_C(0x0101010101010101);
    for (unsigned i = 0; i < COLUMNS / 8; i++)
        found |= zero_bytes(load_word(entry + 8 * i) ^ pattern) << 8 * i;
    return found;
}

uint64_t fab_transition_find_changes(const uint8_t *was, const uint8_t *now)
{
    uint64_t same = 0;
    if (memcmp(was, now, COLUMNS) == 0)
        return 0;
    for (unsigned i = 0; i < COLUMNS / 8; i++)
        same |= zero_bytes(load_word(was + 8 * i) ^ load_word(now + 8 * i)) << 8 * i;
    return ~same;
}

static void load(struct mixing *m, uint32_t block)
{
    struct fab_transition_work *w = m->w;
    size_t offset = (size_t)block * COLUMNS;
    uint64_t waiting = 0;
    m->any_change = m->changed = 0;
    for (uint32_t i = 0; i < COLUMNS && offset + i <= w->top; i++) {
        const struct fab_transition_lid *l = &w->lid[offset + i];
        waiting |= (uint64_t)(l->progress == FAB_TRANSITION_WAITS && l->home != FAB_NONE) << i;
    }
    for (uint32_t sw = 0; sw < w->graph.n && waiting != 0; sw++) {
        m->was[sw] = fab_target_lft_row(&w->at, sw) + offset;
        m->now[sw] = fab_target_lft_block(w->in->new_lft, sw, block);
        m->changes[sw] = fab_transition_find_changes(m->was[sw], m->now[sw]) & waiting;
        m->any_change |= m->changes[sw];
        m->changed += m->changes[sw] != 0;
    }
}

/* Adds to *to the dependency of packets that hold `channel` and continue by port `num` of switch
 * `sw`. */
static inline void add(struct mixing *m, struct fab_verify_deps *to, uint32_t channel, uint32_t sw,
                       uint8_t num)
{
    if (num < m->w->graph.port_room[sw])
        fab_verify_deps_add(to, channel, num);
}

/* Adds the channel dependencies of packets that leave switch `sw` by its old entry `i`, and leave
 * the next switch by its old or by its new entry. */
static inline void add_old_channel(struct mixing *m, uint32_t sw, uint32_t i)
{
    const struct fab_verify_graph *graph = &m->w->graph;
    uint32_t channel = graph->first[sw] + m->was[sw][i];
    if (m->was[sw][i] >= graph->port_room[sw] || graph->hop[channel] >= graph->n)
        return;
    uint32_t to = graph->hop[channel];
    add(m, &m->along, channel, to, m->was[to][i]);
    add(m, &m->along, channel, to, m->now[to][i]);
}

/* ---- if few switches change: visits the changed entries and their neighbours ----------------- */

static void add_each(struct mixing *m, struct fab_verify_deps *to, uint32_t channel, uint32_t sw,
                     uint64_t entries)
{
    for (; entries != 0; entries &= entries - 1)
        add(m, to, channel, sw, m->was[sw][__builtin_ctzll(entries)]);
}

static void mix_switch(struct mixing *m, uint32_t sw)
{
    const struct fab_verify_graph *graph = &m->w->graph;
    for (uint64_t left = m->changes[sw]; left != 0; left &= left - 1)
        add_old_channel(m, sw, (uint32_t)__builtin_ctzll(left));
    for (uint32_t num = 1; num < graph->port_room[sw]; num++) {
        uint32_t from = graph->hop[graph->first[sw] + num];
        if (from >= graph->n)
            continue;
        uint32_t channel = fab_fabric_port(m->w->in->fabric, graph->first[sw] + num)->peer;
        uint8_t leads = (uint8_t)(channel - graph->first[from]);
        uint64_t old = find_value(m->was[from], leads) & m->changes[sw];
        add_each(m, &m->along, channel, sw, old);
        if ((m->changes[from] & m->changes[sw]) == 0)
            continue;
        uint64_t now = find_value(m->now[from], leads) & m->changes[sw];
        add_each(m, &m->others, channel, sw, now & ~old);
    }
}

static void mix_few(struct mixing *m)
{
    for (uint32_t sw = 0; sw < m->w->graph.n; sw++) {
        if (m->changes[sw] != 0)
            mix_switch(m, sw);
    }
}

/* ---- if many switches change: visits all entries for the changed LIDs ------------------------ */

/* Adds to *to the channel dependency of packets that leave switch `sw` by port `num` (its entry
 * `i`), and then follow the old entry of the next switch. Does nothing if the entry of the next
 * switch does not change. */
static inline void add_before_change(struct mixing *m, struct fab_verify_deps *to, uint32_t sw,
                                     uint8_t num, uint32_t i)
{
    const struct fab_verify_graph *graph = &m->w->graph;
    uint32_t channel = graph->first[sw] + num;
    if (num >= graph->port_room[sw] || graph->hop[channel] >= graph->n)
        return;
    uint32_t next = graph->hop[channel];
    if ((m->changes[next] >> i & 1) != 0)
        add(m, to, channel, next, m->was[next][i]);
}

static void mix_many(struct mixing *m)
{
    for (uint32_t sw = 0; sw < m->w->graph.n; sw++) {
        for (uint64_t left = m->any_change; left != 0; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctzll(left);
            if ((m->changes[sw] >> i & 1) != 0) {
                add_old_channel(m, sw, i);
                add_before_change(m, &m->others, sw, m->now[sw][i], i);
            } else {
                add_before_change(m, &m->along, sw, m->was[sw][i], i);
            }
        }
    }
}

/* ---- the check ------------------------------------------------------------------------------- */

static void mix(struct mixing *m)
{
    const struct fab_transition_input *in = m->w->in;
    for (uint32_t block = 0; block <= m->w->top / COLUMNS && !m->w->stopped; block++) {
        m->w->stopped = in->stopped != NULL && in->stopped(in->stopped_ctx);
        load(m, block);
        if (m->changed == 0)
            continue;
        if (m->changed * 4 < m->w->graph.n)
            mix_few(m);
        else
            mix_many(m);
    }
}

static int find_cycle(struct fab_verify_deps *deps, bool *ret_acyclic)
{
    struct fab_transition_deps d = {.deps = *deps};
    struct fab_transition_order order;
    fab_verify_deps_prune(deps);
    int status = fab_transition_order_init(&order, &d);
    if (status != FAB_OK)
        return status;
    *ret_acyclic = fab_transition_order_sort(&order);
    fab_transition_order_fini(&order);
    return FAB_OK;
}

static bool every_switch_sends(const struct fab_verify_graph *graph)
{
    uint32_t sw = 0;
    while (sw < graph->n && graph->owners[sw] > 0)
        sw++;
    return sw == graph->n;
}

static int check(struct mixing *m, bool *ret_along, bool *ret_any)
{
    mix(m);
    int status = find_cycle(&m->along, ret_along);
    if (status != FAB_OK || !*ret_along)
        return status;
    fab_verify_deps_merge(&m->along, &m->others);
    return find_cycle(&m->along, ret_any);
}

int fab_transition_check_union(struct fab_transition_work *w, bool *ret_along, bool *ret_any)
{
    struct mixing m = {.w = w};
    size_t n = (size_t)w->graph.n + 1;
    *ret_along = *ret_any = false;
    if (!every_switch_sends(&w->graph))
        return FAB_OK;
    m.was = fab_base_alloc_array(n, sizeof(*m.was));
    m.now = fab_base_alloc_array(n, sizeof(*m.now));
    m.changes = calloc(n, sizeof(*m.changes));
    int status = m.was && m.now && m.changes ? FAB_OK : FAB_E_NOMEM;
    if (status == FAB_OK)
        status = fab_verify_dependencies(&w->graph, &m.along, &w->new_arrive);
    if (status == FAB_OK)
        status = fab_verify_deps_init(&m.others, &w->graph, 1);
    if (status == FAB_OK)
        status = fab_verify_deps_init(&w->wanted, &w->graph, 1);
    if (status == FAB_OK && w->new_arrive) {
        fab_verify_deps_merge(&w->wanted, &m.along);
        status = check(&m, ret_along, ret_any);
    }
    fab_verify_deps_fini(&m.along);
    fab_verify_deps_fini(&m.others);
    free(m.was);
    free(m.now);
    free(m.changes);
    return status;
}
