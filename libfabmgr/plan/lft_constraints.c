/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the pairs of switches of which one must be written before the other, for one destination
 * LID.
 *
 * While blocks are written one after another, a packet meets old entries in some switches and new
 * entries in others. For one destination the old entries form a forest, and so do the new ones. If
 * the union of both has no loop, no mixture of old and new entries has a loop, and any order is
 * safe. If the union has a loop, this rule suffices: a switch is written after the first changed
 * switch on its new path. Then packets that meet a new entry follow new entries to the destination,
 * and packets that meet an old entry follow old entries until they meet a new one. So no packet of
 * either kind goes round in a loop. (Mahajan and Wattenhofer, HotNets 2013, on consistent updates;
 * Pang, Duato et al. on channel dependencies.)
 *
 * Two more rules preserve working paths. A switch whose old path arrives is written after those
 * changed switches on its new path whose old paths do not arrive. A switch whose new path does not
 * arrive is written after the switches whose old paths arrive and go through it.
 *
 * A soft rule, which may be dropped, avoids some paths that follow both old and new entries: those
 * that go down and then up, by the ranks of the present fabric. With this rule, most mixtures of
 * up/down tables have an acyclic channel dependency graph. Some mixtures have a cycle of channel
 * dependencies, since the old tables may follow other ranks. tests/unit/test_plan_lft_order checks
 * the mixture after each write. On trees, 1 to 2 % of the mixtures have a cycle after the fault of
 * one link, and 6 to 15 % after many faults at once (33 % without this rule). On random fabrics,
 * half of the mixtures have a cycle. No mixture has a loop or loses a path. libfabmgr/transition
 * replaces this order where a mixture could have a cycle.
 *
 * A switch whose table is unknown counts as having no old path.
 */
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/plan/lft_order_internal.h"

/* a path over this number of switches or more counts as one that does not arrive */
#define HOPS_MOST 64u

/* ---- paths ----------------------------------------------------------------------------------- */

static uint32_t next_of(const struct fab_lft_ordering *o, uint32_t sw, uint8_t entry)
{
    const struct fab_fabric *f = o->in->fabric;
    if (entry > f->nodes[sw].num_ports)
        return FAB_LFT_ORDERING_DROPS;
    uint32_t port = fab_fabric_port_id(f, sw, entry);
    if (entry == 0)
        return o->owner == port ? FAB_LFT_ORDERING_ENDPORT : FAB_LFT_ORDERING_DROPS;
    if (o->hop[port] == FAB_LFT_ORDERING_ENDPORT && fab_fabric_port(f, port)->peer != o->owner)
        return FAB_LFT_ORDERING_DROPS;
    return o->hop[port];
}

static uint8_t new_entry(const struct fab_lft_ordering *o, uint32_t sw)
{
    return fab_target_lft_at(&o->in->target->lft, sw, o->lid);
}

static uint32_t new_hop(const struct fab_lft_ordering *o, uint32_t sw)
{
    return next_of(o, sw, new_entry(o, sw));
}

static uint32_t old_hop(const struct fab_lft_ordering *o, uint32_t sw)
{
    uint32_t i = o->slot[sw];
    if (i == FAB_NONE)
        return new_hop(o, sw);
    return o->items[i].known ? next_of(o, sw, fab_target_lft_at(&o->in->observed->lft, sw, o->lid))
                             : FAB_LFT_ORDERING_DROPS;
}

/* Returns 1 + the number of switches on the path from sw to the destination; FAB_NONE: the path
 * does not arrive. next(o, sw) returns the switch after sw, either by the old or by the new
 * entries. */
static uint32_t length(struct fab_lft_ordering *o, uint32_t sw,
                       uint32_t (*next)(const struct fab_lft_ordering *, uint32_t))
{
    uint32_t hops = 1;
    for (; hops < HOPS_MOST && sw != FAB_LFT_ORDERING_ENDPORT; hops++) {
        o->steps++;
        sw = next(o, sw);
        if (sw == FAB_LFT_ORDERING_DROPS)
            return FAB_NONE;
    }
    return sw == FAB_LFT_ORDERING_ENDPORT ? hops : FAB_NONE;
}

static bool is_changed(const struct fab_lft_ordering *o, uint32_t sw)
{
    uint32_t i = o->slot[sw];
    return i != FAB_NONE && (o->items[i].differs >> o->lid % FAB_LFT_BLOCK & 1) != 0;
}

/* Follows the path from sw by the function `next`. Returns the first switch after sw whose entry
 * changes; FAB_NONE: there is none. */
static uint32_t next_changed(struct fab_lft_ordering *o, uint32_t sw,
                             uint32_t (*next)(const struct fab_lft_ordering *, uint32_t))
{
    for (uint32_t hops = 0; hops < HOPS_MOST; hops++) {
        o->steps++;
        sw = next(o, sw);
        if (sw == FAB_LFT_ORDERING_DROPS || sw == FAB_LFT_ORDERING_ENDPORT)
            return FAB_NONE;
        if (is_changed(o, sw))
            return sw;
    }
    return FAB_NONE;
}

/* ---- cycles: strongly connected components of old and new entries (Tarjan 1972) -------------- */

/* Values of phase[]: the next hops of a switch that the search has followed so far. FRESH: none.
 * SAW_NEW: the next hop by the new entry. SAW_BOTH: also the next hop by the old entry. */
enum { FRESH, SAW_NEW, SAW_BOTH };

static void open_switch(struct fab_lft_ordering *o, uint32_t sw, uint32_t *depth)
{
    o->index[sw] = o->low[sw] = ++o->counter;
    o->group[sw] = FAB_NONE;
    o->phase[sw] = FRESH;
    o->open[o->open_count++] = sw;
    o->stack[(*depth)++] = sw;
}

static void lower(struct fab_lft_ordering *o, uint32_t sw, uint32_t to)
{
    if (to < o->low[sw])
        o->low[sw] = to;
}

static void close_switch(struct fab_lft_ordering *o, uint32_t sw, uint32_t *depth)
{
    uint32_t member;
    if (--*depth > 0)
        lower(o, o->stack[*depth - 1], o->low[sw]);
    if (o->low[sw] != o->index[sw])
        return;
    do {
        member = o->open[--o->open_count];
        o->group[member] = o->index[sw];
    } while (member != sw);
}

static void search(struct fab_lft_ordering *o, uint32_t from)
{
    uint32_t depth = 0;
    open_switch(o, from, &depth);
    while (depth > 0) {
        uint32_t sw = o->stack[depth - 1], to;
        o->steps++;
        if (o->phase[sw] == SAW_BOTH) {
            close_switch(o, sw, &depth);
            continue;
        }
        to = o->phase[sw]++ == FRESH ? new_hop(o, sw) : old_hop(o, sw);
        if (to == FAB_LFT_ORDERING_ENDPORT || to == FAB_LFT_ORDERING_DROPS)
            continue;
        if (o->index[to] <= o->base)
            open_switch(o, to, &depth);
        else if (o->group[to] == FAB_NONE)
            lower(o, sw, o->index[to]);
    }
}

/* Finds the cycles in the union of old and new entries. If only one entry changes, no search is
 * needed, because there is no mixture of old and new entries. */
static void find_cycles(struct fab_lft_ordering *o)
{
    o->base = o->counter;
    for (uint32_t i = 0; i < o->changed_count && o->changed_count > 1; i++)
        if (o->index[o->changed[i]] <= o->base)
            search(o, o->changed[i]);
}

static bool on_cycle(const struct fab_lft_ordering *o, uint32_t a, uint32_t b)
{
    return o->changed_count > 1 && o->index[a] > o->base && o->index[b] > o->base &&
           o->group[a] == o->group[b];
}

/* ---- constraints: which switch is written before which --------------------------------------- */

static int add_edge(struct fab_lft_ordering *o, uint32_t before_sw, uint32_t after_sw, bool soft)
{
    uint32_t before = o->slot[before_sw], after = o->slot[after_sw];
    void *grown =
        fab_base_grow(o->edges, sizeof(*o->edges), (size_t)o->edge_count + 1, &o->edge_room);
    if (grown == NULL)
        return FAB_E_NOMEM;
    o->edges = grown;
    o->edges[o->edge_count] =
        (struct fab_lft_ordering_edge){.before = before,
                                       .after = after,
                                       .next = o->items[before].edge,
                                       .soft = soft,
                                       .entry = (uint8_t)(o->lid % FAB_LFT_BLOCK)};
    o->items[before].edge = o->edge_count++;
    o->items[before].awaited = true;
    o->items[after].waits++;
    return FAB_OK;
}

/* Adds edges (constraints) that keep the old path of `sw` working: `sw` is written before those
 * changed switches on its old path whose new paths do not arrive. Call this only if the old path
 * arrives. */
static int keep_old_path(struct fab_lft_ordering *o, uint32_t sw)
{
    int ret = FAB_OK;
    uint32_t at = next_changed(o, sw, old_hop);
    for (uint32_t hops = 0; hops < HOPS_MOST && at != FAB_NONE && ret == FAB_OK; hops++) {
        if (length(o, at, new_hop) == FAB_NONE)
            ret = add_edge(o, sw, at, false);
        at = next_changed(o, at, old_hop);
    }
    return ret;
}

static bool is_up(const struct fab_lft_ordering *o, uint32_t from, uint32_t to)
{
    return o->rank[to] != o->rank[from] ? o->rank[to] > o->rank[from] : to > from;
}

/* Returns true if the path from switch `from` over switch `at` to switch `to` goes down, and then
 * up again. */
static bool turns_up(const struct fab_lft_ordering *o, uint32_t from, uint32_t at, uint32_t to)
{
    return to != FAB_LFT_ORDERING_ENDPORT && to != FAB_LFT_ORDERING_DROPS && is_up(o, at, from) &&
           is_up(o, at, to);
}

/* Adds soft edges (constraints that may be dropped). They keep packets from going down and then up
 * while sw and its next switch are written one after the other. There are two cases. If the old
 * entry of sw and the new entry of the next switch make such a path, sw is written first. If the
 * new entry of sw and the old entry of the next switch make such a path, the next switch is written
 * first. */
static int avoid_mixed_turns(struct fab_lft_ordering *o, uint32_t sw)
{
    uint32_t old = old_hop(o, sw), now = new_hop(o, sw);
    int ret = FAB_OK;
    if (old < FAB_LFT_ORDERING_ENDPORT && is_changed(o, old) &&
        turns_up(o, sw, old, new_hop(o, old)))
        ret = add_edge(o, sw, old, true);
    if (ret == FAB_OK && now < FAB_LFT_ORDERING_ENDPORT && is_changed(o, now) &&
        turns_up(o, sw, now, old_hop(o, now)))
        ret = add_edge(o, now, sw, true);
    return ret;
}

/* If sw and the first changed switch on its new path are on a cycle of old and new entries, adds an
 * edge (constraint): sw is written after that switch. */
static int avoid_cycle(struct fab_lft_ordering *o, uint32_t sw)
{
    uint32_t first = next_changed(o, sw, new_hop);
    return first != FAB_NONE && on_cycle(o, first, sw) ? add_edge(o, first, sw, false) : FAB_OK;
}

/* Adds the edges (constraints) that make sw wait for switches on its new path. The search visits
 * the changed switches on this path, up to the first one whose old path arrives. sw is written
 * after each visited switch whose old path does not arrive. sw is also written after the first
 * changed switch if both are on a cycle (avoid_cycle). */
static int wait_for_new_path(struct fab_lft_ordering *o, uint32_t sw)
{
    uint32_t first = next_changed(o, sw, new_hop);
    int ret = FAB_OK;
    for (uint32_t at = first; at != FAB_NONE && ret == FAB_OK; at = next_changed(o, at, new_hop)) {
        bool works = length(o, at, old_hop) != FAB_NONE;
        if (!works || (at == first && on_cycle(o, at, sw)))
            ret = add_edge(o, at, sw, false);
        if (works)
            break;
    }
    return ret;
}

static int order_switch(struct fab_lft_ordering *o, uint32_t sw)
{
    struct fab_lft_ordering_item *item = &o->items[o->slot[sw]];
    bool works = length(o, sw, old_hop) != FAB_NONE;
    uint32_t distance = length(o, sw, new_hop);
    int ret = works ? keep_old_path(o, sw) : FAB_OK;
    if (ret == FAB_OK)
        ret = avoid_mixed_turns(o, sw);
    if (distance == FAB_NONE || ret != FAB_OK)
        return ret;
    item->distance = distance > item->distance ? distance : item->distance;
    item->drops += !works && old_hop(o, sw) == FAB_LFT_ORDERING_DROPS;
    return works ? wait_for_new_path(o, sw) : avoid_cycle(o, sw);
}

int fab_plan_lft_constrain(struct fab_lft_ordering *o, const uint32_t *items, uint32_t count)
{
    o->changed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct fab_lft_ordering_item *item = &o->items[items[i]];
        if (!item->known || !is_changed(o, item->sw))
            continue;
        o->changed[o->changed_count++] = item->sw;
        item->changed |= UINT64_C(1) << o->lid % FAB_LFT_BLOCK;
    }
    find_cycles(o);
    int ret = FAB_OK;
    for (uint32_t i = 0; i < o->changed_count && ret == FAB_OK; i++)
        ret = order_switch(o, o->changed[i]);
    return ret;
}
