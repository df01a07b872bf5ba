/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of table writes: first what ends a loss, and nothing that makes a loop on the way.
 *
 * While blocks are written one after another, a packet meets old tables here and new ones there.
 * For one destination the old entries make a forest and the new ones make another. Where their
 * union has no circle, no mixture has one, and the order is free. Where it has, this suffices: a
 * switch is written after the first changed one on its new path. Then whoever is new leads along
 * the new path, over new entries only, to the destination; whoever is old leads along old entries
 * until it meets a new one; neither closes a circle. (Destination first: Pang, Duato et al. for
 * dependencies, and consistent updates by Mahajan and Wattenhofer, HotNets 2013.)
 *
 * The same rule keeps what works working: an entry whose old path arrives is not led into a switch
 * whose old path does not, before that one is written; and an entry that will drop is written after
 * those whose old path goes through it.
 *
 * No mixed way turns up after it came down, either, by the ranks of the fabric as it is now: so
 * most mixtures of up-down tables have an acyclic channel dependency graph, but not all, since the
 * old tables may be of other ranks. Measured by tests/unit/test_order on trees, after each write:
 * with a lone cable 1 to 2 % of the mixtures have a cycle somewhere, with many faults at once 6 to
 * 15 % (without this rule 33 %); on random fabrics half. Loops and losses: none.
 *
 * A block holds 64 destinations, which may want opposite orders. Then a switch's block is written
 * in parts: first the entries that may go, while the others stay as they are. For one destination
 * the wishes do not contradict each other, but for those about turns, which are given up for a
 * block where it gets stuck; so there is a part that may go. (Should there be none, one goes as it
 * is, and is counted in `unordered`.) Tables that are not known (a switch that is new, or was told
 * to forget) have no old paths.
 *
 * The analysis is bounded by STEPS_MOST; what is beyond it is written in an order that only prefers
 * the dropping and the near (`unchecked`), which happens when all tables change at a time.
 */
#include "libfabmgr/plan/order.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"

#define STEPS_MOST 4000000u /* entries looked at: some 40 ms */
#define HOPS_MOST 64u       /* of a path; one that is longer does not arrive */
#define DROPS (FAB_NONE - 1)
#define ENDS (FAB_NONE - 2) /* in hop[]: an end, which is or is not the destination */

struct item {                                   /* a block to write */
    uint32_t sw, drops, far, wave, waits, edge; /* edge: the first, or FAB_NONE */
    uint64_t differs, changed, written;         /* entries; changed: that differ and are in use */
    bool known, urgent, awaited;
};
struct edge { /* the entry of one item is written before the same of another */
    uint32_t before, after, next;
    uint8_t entry;
    bool soft, gone; /* soft: given up where nothing else goes on */
};
struct part { /* a write */
    struct fab_plan_op op;
    uint32_t item, wave;
};
struct order {
    const struct fab_plan_input *in;
    struct item *items;
    uint32_t count;
    uint32_t *by_block, *block_start; /* items of each block */
    uint32_t *hop;                    /* [port_count] where a port leads: switch, ENDS, DROPS */
    uint32_t *slot;                   /* [switch_count] item of this block, or FAB_NONE */
    uint32_t *changed;                /* switches whose entry for this destination changes */
    uint32_t *stack, *open, *index, *low, *group; /* of the search for circles, by switch */
    uint8_t *phase;
    uint32_t *rank; /* by switch: cables from the nearest leaf */
    uint32_t counter, base, open_count, changed_count, steps;
    uint64_t *blocked;  /* by item: entries that must wait */
    uint32_t *queue;    /* items that wait for nothing */
    struct edge *edges; /* of this block */
    uint32_t edge_count, edge_room, unordered;
    struct part *parts;
    uint32_t part_count, part_room;
    const struct fab_plan_op *ops; /* by item */
    /* the destination at hand */
    uint32_t lid, owner;
};

/* Room for one more. */
static int grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
    if (count < *room)
        return FAB_OK;
    uint32_t more = *room > 0 ? *room * 2 : 256;
    void *grown = reallocarray(*array, more, size);
    if (grown == NULL)
        return FAB_E_NOMEM;
    *array = grown;
    *room = more;
    return FAB_OK;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static uint32_t lead(const struct order *o, uint32_t sw, uint8_t entry)
{
    const struct fab_fabric *f = o->in->fabric;
    if (entry > f->nodes[sw].num_ports)
        return DROPS;
    uint32_t port = fab_port_id(f, sw, entry);
    if (entry == 0)
        return o->owner == port ? ENDS : DROPS;
    if (o->hop[port] == ENDS && f->ports[port].peer != o->owner)
        return DROPS;
    return o->hop[port];
}

static uint8_t new_entry(const struct order *o, uint32_t sw)
{
    return fab_lft_row(&o->in->target->lft, sw)[o->lid];
}

static uint32_t new_hop(const struct order *o, uint32_t sw)
{
    return lead(o, sw, new_entry(o, sw));
}

static uint32_t old_hop(const struct order *o, uint32_t sw)
{
    uint32_t i = o->slot[sw];
    if (i == FAB_NONE)
        return new_hop(o, sw);
    return o->items[i].known ? lead(o, sw, fab_lft_row(&o->in->observed->lft, sw)[o->lid]) : DROPS;
}

/* Switches on the way to the end, or FAB_NONE: it does not arrive. */
static uint32_t length(struct order *o, uint32_t sw,
                       uint32_t (*next)(const struct order *, uint32_t))
{
    uint32_t hops = 1;
    for (; hops < HOPS_MOST && sw != ENDS; hops++) {
        o->steps++;
        sw = next(o, sw);
        if (sw == DROPS)
            return FAB_NONE;
    }
    return sw == ENDS ? hops : FAB_NONE;
}

static bool is_changed(const struct order *o, uint32_t sw)
{
    uint32_t i = o->slot[sw];
    return i != FAB_NONE && (o->items[i].differs >> o->lid % FAB_LFT_BLOCK & 1) != 0;
}

/* The first switch after sw on a path whose entry changes, or FAB_NONE. */
static uint32_t next_changed(struct order *o, uint32_t sw,
                             uint32_t (*next)(const struct order *, uint32_t))
{
    for (uint32_t hops = 0; hops < HOPS_MOST; hops++) {
        o->steps++;
        sw = next(o, sw);
        if (sw == DROPS || sw == ENDS)
            return FAB_NONE;
        if (is_changed(o, sw))
            return sw;
    }
    return FAB_NONE;
}

/* ---- circles: strongly connected components of old and new together (Tarjan, 1972) ---------- */

enum { FRESH, SAW_NEW, SAW_BOTH }; /* phase[] */

static void open_switch(struct order *o, uint32_t sw, uint32_t *depth)
{
    o->index[sw] = o->low[sw] = ++o->counter;
    o->group[sw] = FAB_NONE;
    o->phase[sw] = FRESH;
    o->open[o->open_count++] = sw;
    o->stack[(*depth)++] = sw;
}

static void lower(struct order *o, uint32_t sw, uint32_t to)
{
    if (to < o->low[sw])
        o->low[sw] = to;
}

static void close_switch(struct order *o, uint32_t sw, uint32_t *depth)
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

static void search(struct order *o, uint32_t from)
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
        if (to == ENDS || to == DROPS)
            continue;
        if (o->index[to] <= o->base)
            open_switch(o, to, &depth);
        else if (o->group[to] == FAB_NONE)
            lower(o, sw, o->index[to]);
    }
}

/* With a single change every mixture is old or new. */
static void find_circles(struct order *o)
{
    o->base = o->counter;
    for (uint32_t i = 0; i < o->changed_count && o->changed_count > 1; i++)
        if (o->index[o->changed[i]] <= o->base)
            search(o, o->changed[i]);
}

static bool in_circle(const struct order *o, uint32_t a, uint32_t b)
{
    return o->changed_count > 1 && o->index[a] > o->base && o->index[b] > o->base &&
           o->group[a] == o->group[b];
}

/* ---- what waits for what -------------------------------------------------------------------- */

static int add_edge(struct order *o, uint32_t before_sw, uint32_t after_sw, bool soft)
{
    uint32_t before = o->slot[before_sw], after = o->slot[after_sw];
    int ret = grow((void **)&o->edges, o->edge_count, &o->edge_room, sizeof(*o->edges));
    if (ret != FAB_OK)
        return ret;
    o->edges[o->edge_count] = (struct edge){.before = before,
                                            .after = after,
                                            .next = o->items[before].edge,
                                            .soft = soft,
                                            .entry = (uint8_t)(o->lid % FAB_LFT_BLOCK)};
    o->items[before].edge = o->edge_count++;
    o->items[before].awaited = true;
    o->items[after].waits++;
    return FAB_OK;
}

/* Those whose old path arrives through switches that will drop are written before these. */
static int keep_until_left(struct order *o, uint32_t sw)
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

static bool is_up(const struct order *o, uint32_t from, uint32_t to)
{
    return o->rank[to] != o->rank[from] ? o->rank[to] > o->rank[from] : to > from;
}

/* Down and then up again. */
static bool turns_up(const struct order *o, uint32_t from, uint32_t at, uint32_t to)
{
    return to != ENDS && to != DROPS && is_up(o, at, from) && is_up(o, at, to);
}

/* Neither of the mixed ways over sw and its next switch, old or new, turns up. */
static int keep_turns(struct order *o, uint32_t sw)
{
    uint32_t old = old_hop(o, sw), now = new_hop(o, sw);
    int ret = FAB_OK;
    if (old < ENDS && is_changed(o, old) && turns_up(o, sw, old, new_hop(o, old)))
        ret = add_edge(o, sw, old, true);
    if (ret == FAB_OK && now < ENDS && is_changed(o, now) && turns_up(o, sw, now, old_hop(o, now)))
        ret = add_edge(o, now, sw, true);
    return ret;
}

/* In a circle: after the first one on the new path. */
static int avoid_circle(struct order *o, uint32_t sw)
{
    uint32_t first = next_changed(o, sw, new_hop);
    return first != FAB_NONE && in_circle(o, first, sw) ? add_edge(o, first, sw, false) : FAB_OK;
}

/* After all on the new path that do not work yet, up to one that does; and as above. */
static int lead_where_it_works(struct order *o, uint32_t sw)
{
    uint32_t first = next_changed(o, sw, new_hop);
    int ret = FAB_OK;
    for (uint32_t at = first; at != FAB_NONE && ret == FAB_OK; at = next_changed(o, at, new_hop)) {
        bool works = length(o, at, old_hop) != FAB_NONE;
        if (!works || (at == first && in_circle(o, at, sw)))
            ret = add_edge(o, at, sw, false);
        if (works)
            break;
    }
    return ret;
}

static int order_switch(struct order *o, uint32_t sw)
{
    struct item *item = &o->items[o->slot[sw]];
    bool works = length(o, sw, old_hop) != FAB_NONE;
    uint32_t far = length(o, sw, new_hop);
    int ret = works ? keep_until_left(o, sw) : FAB_OK;
    if (ret == FAB_OK)
        ret = keep_turns(o, sw);
    if (far == FAB_NONE || ret != FAB_OK)
        return ret;
    item->far = far > item->far ? far : item->far;
    item->drops += !works && old_hop(o, sw) == DROPS;
    return works ? lead_where_it_works(o, sw) : avoid_circle(o, sw);
}

static int order_lid(struct order *o, const uint32_t *items, uint32_t count)
{
    o->changed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = &o->items[items[i]];
        if (!item->known || !is_changed(o, item->sw))
            continue;
        o->changed[o->changed_count++] = item->sw;
        item->changed |= UINT64_C(1) << o->lid % FAB_LFT_BLOCK;
    }
    find_circles(o);
    int ret = FAB_OK;
    for (uint32_t i = 0; i < o->changed_count && ret == FAB_OK; i++)
        ret = order_switch(o, o->changed[i]);
    return ret;
}

/* ---- writes, in parts where it must be ------------------------------------------------------ */

/* Writes these entries of an item, and what is not owned by anybody with the last of them. */
static int write_part(struct order *o, uint32_t i, uint64_t entries, bool last)
{
    struct item *item = &o->items[i];
    int ret = grow((void **)&o->parts, o->part_count, &o->part_room, sizeof(*o->parts));
    if (ret != FAB_OK)
        return ret;
    struct part *p = &o->parts[o->part_count++];
    *p = (struct part){.op = o->ops[i], .item = i, .wave = item->wave};
    p->op.keep = last ? 0 : ~(item->written | entries);
    item->written |= last ? UINT64_MAX : entries;
    if (!last)
        item->wave++; /* the next part of it comes later */
    return FAB_OK;
}

/* Tells those that waited for these entries; gives those that wait no longer. */
static void told(struct order *o, uint32_t i, uint64_t entries, uint32_t wave, uint32_t *queued)
{
    for (uint32_t e = o->items[i].edge; e != FAB_NONE; e = o->edges[e].next) {
        struct item *after = &o->items[o->edges[e].after];
        if ((entries >> o->edges[e].entry & 1) == 0 || o->edges[e].gone)
            continue;
        if (after->wave <= wave)
            after->wave = wave + 1;
        if (after->waits > 0 && --after->waits == 0)
            o->queue[(*queued)++] = o->edges[e].after;
    }
}

/* Wishes that contradict each other: those for turns are given up in this block. False: none. */
static bool give_up_turns(struct order *o, uint32_t *queued)
{
    bool any = false;
    for (uint32_t e = 0; e < o->edge_count; e++) {
        struct edge *edge = &o->edges[e];
        if (!edge->soft || edge->gone || (o->items[edge->before].written >> edge->entry & 1) != 0)
            continue;
        any = edge->gone = true;
        if (--o->items[edge->after].waits == 0)
            o->queue[(*queued)++] = edge->after;
    }
    return any;
}

/* Still (it should not be): the first item goes as it is. */
static int break_knot(struct order *o, const uint32_t *items, uint32_t count, uint32_t *queued)
{
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = &o->items[items[i]];
        if (item->waits == 0 || item->written == UINT64_MAX)
            continue;
        o->unordered++;
        item->waits = 0;
        o->queue[(*queued)++] = items[i];
        return FAB_OK;
    }
    return FAB_E_INVAL;
}

/* Everything left waits for something: the largest part that does not is written. */
static int write_some(struct order *o, const uint32_t *items, uint32_t count, uint32_t *queued)
{
    uint32_t best = FAB_NONE;
    int most = 0;
    for (uint32_t i = 0; i < count; i++)
        o->blocked[items[i]] = o->items[items[i]].written;
    for (uint32_t e = 0; e < o->edge_count; e++) {
        const struct edge *edge = &o->edges[e];
        if (!edge->gone && (o->items[edge->before].written >> edge->entry & 1) == 0)
            o->blocked[edge->after] |= UINT64_C(1) << edge->entry;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct item *item = &o->items[items[i]];
        int bits = __builtin_popcountll(item->changed & ~o->blocked[items[i]]);
        if (~item->written != 0 && item->waits != FAB_NONE && item->waits > 0 && bits > most) {
            best = items[i];
            most = bits;
        }
    }
    o->steps += o->edge_count + count;
    if (best == FAB_NONE)
        return give_up_turns(o, queued) ? FAB_OK : break_knot(o, items, count, queued);
    uint64_t entries = o->items[best].changed & ~o->blocked[best];
    uint32_t wave = o->items[best].wave;
    o->items[best].awaited = true;
    int ret = write_part(o, best, entries, false);
    told(o, best, entries, wave, queued);
    return ret;
}

/* Waves: a write's is behind those of all that it waits for. */
static int sequence(struct order *o, const uint32_t *items, uint32_t count)
{
    uint32_t queued = 0, at = 0;
    int ret = FAB_OK;
    for (uint32_t i = 0; i < count; i++)
        if (o->items[items[i]].waits == 0)
            o->queue[queued++] = items[i];
    while (at < count && ret == FAB_OK) {
        if (at == queued) {
            ret = write_some(o, items, count, &queued);
            continue;
        }
        uint32_t i = o->queue[at++];
        uint64_t rest = ~o->items[i].written;
        ret = write_part(o, i, rest, true);
        told(o, i, rest, o->items[i].wave, &queued);
    }
    return ret;
}

/* What urgent writes wait for is urgent. */
static void find_urgent(struct order *o, const uint32_t *items, uint32_t count)
{
    bool again = true;
    for (uint32_t i = 0; i < count; i++)
        o->items[items[i]].urgent = o->items[items[i]].drops > 0;
    while (again) {
        again = false;
        for (uint32_t e = o->edge_count; e-- > 0;) {
            struct item *before = &o->items[o->edges[e].before];
            bool spread = o->items[o->edges[e].after].urgent && !before->urgent;
            before->urgent = before->urgent || spread;
            again = again || spread;
        }
    }
}

/* Entries of an item that differ; all, where they are not known. */
static uint64_t find_differing(const struct order *o, const struct item *item, uint32_t block)
{
    size_t offset = (size_t)block * FAB_LFT_BLOCK;
    const uint8_t *now = fab_lft_row(&o->in->target->lft, item->sw) + offset;
    uint64_t differs = 0;
    if (!item->known)
        return UINT64_MAX;
    const uint8_t *old = fab_lft_row(&o->in->observed->lft, item->sw) + offset;
    for (unsigned i = 0; i < FAB_LFT_BLOCK; i++)
        differs |= (uint64_t)(old[i] != now[i]) << i;
    return differs;
}

static int order_block(struct order *o, uint32_t block)
{
    const struct fab_lids *lids = &o->in->target->lids;
    const uint32_t *items = o->by_block + o->block_start[block];
    uint32_t count = o->block_start[block + 1] - o->block_start[block];
    int ret = FAB_OK;
    o->edge_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct item *item = &o->items[items[i]];
        o->slot[item->sw] = items[i];
        item->differs = find_differing(o, item, block);
    }
    for (uint32_t i = 0; i < FAB_LFT_BLOCK && ret == FAB_OK && o->steps < STEPS_MOST; i++) {
        o->lid = block * FAB_LFT_BLOCK + i;
        o->owner = o->lid <= lids->top ? lids->owner[o->lid] : FAB_NONE;
        if (o->owner != FAB_NONE)
            ret = order_lid(o, items, count);
    }
    for (uint32_t i = 0; i < count; i++)
        o->slot[o->items[items[i]].sw] = FAB_NONE;
    if (ret == FAB_OK)
        ret = sequence(o, items, count);
    find_urgent(o, items, count);
    return ret;
}

/* ---- the order ------------------------------------------------------------------------------ */

struct key {
    const struct part *part;
    const struct item *item;
};

static int compare(const void *x, const void *y)
{
    const struct key *a = x, *b = y;
    if (a->item->urgent != b->item->urgent)
        return a->item->urgent ? -1 : 1;
    if (a->part->wave != b->part->wave)
        return a->part->wave < b->part->wave ? -1 : 1;
    if (a->item->drops != b->item->drops)
        return a->item->drops > b->item->drops ? -1 : 1;
    if (a->item->far != b->item->far)
        return a->item->far < b->item->far ? -1 : 1;
    if (a->item->sw != b->item->sw)
        return a->item->sw < b->item->sw ? -1 : 1;
    return a->part->op.block < b->part->op.block ? -1 : 1;
}

static void say(const struct key *key, struct fab_plan_op *op)
{
    const struct key *before = key - 1;
    *op = key->part->op;
    op->awaited = key->item->awaited;
    op->waits = key->part->wave > 0;
    op->barrier = key->part->wave > 0 && (before->part->wave != key->part->wave ||
                                          before->item->urgent != key->item->urgent);
}

/* The writes, all in order, instead of those there were: *ops is allocated anew. */
static int hand_over(const struct order *o, struct fab_plan_op **ret_ops)
{
    struct key *keys = calloc(o->part_count, sizeof(*keys));
    struct fab_plan_op *ops = calloc(o->part_count, sizeof(*ops));
    if (keys == NULL || ops == NULL) {
        free(keys);
        free(ops);
        return FAB_E_NOMEM;
    }
    for (uint32_t i = 0; i < o->part_count; i++)
        keys[i] = (struct key){&o->parts[i], &o->items[o->parts[i].item]};
    qsort(keys, o->part_count, sizeof(*keys), compare);
    for (uint32_t i = 0; i < o->part_count; i++)
        say(&keys[i], &ops[i]);
    free(keys);
    *ret_ops = ops;
    return FAB_OK;
}

/* ---- making and freeing --------------------------------------------------------------------- */

static void find_hops(struct order *o)
{
    const struct fab_fabric *f = o->in->fabric;
    for (uint32_t port = 0; port < f->port_count; port++) {
        uint32_t peer = f->ports[port].node < f->switch_count && fab_port_is_up(f, port)
                            ? fab_peer_node(f, port)
                            : DROPS;
        o->hop[port] = peer == DROPS || fab_node_is_switch(f, peer) ? peer : ENDS;
    }
}

static uint32_t count_ends(const struct order *o, uint32_t sw)
{
    const struct fab_node *n = &o->in->fabric->nodes[sw];
    uint32_t ends = 0;
    for (uint32_t port = n->first_port + 1; port <= n->first_port + n->num_ports; port++)
        ends += o->hop[port] == ENDS;
    return ends;
}

/* Leaves are the switches with a quarter as many ends as the one with the most; a switch above them
 * with a server or two is none. Ranks of the engine would be better, and take longer than all else
 * here; on trees they are the same. */
static void find_ranks(struct order *o)
{
    uint32_t count = o->in->fabric->switch_count, most = 0, queued = 0;
    uint32_t *ends = o->low, *queue = o->open; /* (not in use yet) */
    for (uint32_t sw = 0; sw < count; sw++) {
        ends[sw] = count_ends(o, sw);
        most = ends[sw] > most ? ends[sw] : most;
    }
    for (uint32_t sw = 0; sw < count; sw++) {
        o->rank[sw] = ends[sw] * 4 >= most ? 0 : FAB_NONE;
        if (o->rank[sw] == 0)
            queue[queued++] = sw;
    }
    for (uint32_t at = 0; at < queued; at++) {
        const struct fab_node *n = &o->in->fabric->nodes[queue[at]];
        for (uint32_t port = n->first_port + 1; port <= n->first_port + n->num_ports; port++) {
            uint32_t to = o->hop[port];
            if (to >= ENDS || o->rank[to] != FAB_NONE)
                continue;
            o->rank[to] = o->rank[queue[at]] + 1;
            queue[queued++] = to;
        }
    }
}

static void sort_by_block(struct order *o, uint32_t blocks)
{
    for (uint32_t i = 0; i < o->count; i++)
        o->block_start[o->ops[i].block + 1]++;
    for (uint32_t b = 0; b < blocks; b++)
        o->block_start[b + 1] += o->block_start[b];
    for (uint32_t i = o->count; i-- > 0;)
        o->by_block[--o->block_start[o->ops[i].block + 1]] = i;
    /* (each start is now one place too far to the right) */
    memmove(o->block_start, o->block_start + 1, blocks * sizeof(*o->block_start));
    o->block_start[blocks] = o->count;
}

static void fini(struct order *o)
{
    void *all[] = {o->items,   o->by_block, o->block_start, o->hop,     o->slot,  o->stack,
                   o->changed, o->open,     o->index,       o->low,     o->group, o->phase,
                   o->edges,   o->parts,    o->queue,       o->blocked, o->rank};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        free(all[i]);
}

static int allocate(struct order *o, uint32_t blocks)
{
    const struct fab_fabric *f = o->in->fabric;
    uint32_t **by_switch[] = {&o->slot,  &o->stack, &o->changed, &o->open,
                              &o->index, &o->low,   &o->group,   &o->rank};
    o->items = calloc(o->count, sizeof(*o->items));
    o->by_block = calloc(o->count, sizeof(*o->by_block));
    o->block_start = calloc(blocks + 1u, sizeof(*o->block_start));
    o->hop = calloc(f->port_count + 1u, sizeof(*o->hop));
    o->phase = calloc(f->switch_count, sizeof(*o->phase));
    o->queue = calloc(o->count, sizeof(*o->queue));
    o->blocked = calloc(o->count, sizeof(*o->blocked));
    if (!o->items || !o->by_block || !o->block_start || !o->hop || !o->phase || !o->queue ||
        !o->blocked)
        return FAB_E_NOMEM;
    for (size_t i = 0; i < sizeof(by_switch) / sizeof(*by_switch); i++) {
        *by_switch[i] = calloc(f->switch_count, sizeof(**by_switch[i]));
        if (*by_switch[i] == NULL)
            return FAB_E_NOMEM;
    }
    return FAB_OK;
}

static int init(struct order *o, uint32_t blocks)
{
    int ret = allocate(o, blocks);
    if (ret != FAB_OK)
        return ret;
    memset(o->slot, 0xff, o->in->fabric->switch_count * sizeof(*o->slot));
    for (uint32_t i = 0; i < o->count; i++)
        o->items[i] = (struct item){
            .sw = o->ops[i].node,
            .edge = FAB_NONE,
            .known = fab_observed_known(o->in->observed, o->ops[i].node, o->ops[i].block),
        };
    sort_by_block(o, blocks);
    find_hops(o);
    find_ranks(o);
    return FAB_OK;
}

static bool any_known(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count)
{
    for (size_t i = 0; in->observed != NULL && i < count; i++)
        if (fab_observed_known(in->observed, ops[i].node, ops[i].block))
            return true;
    return false;
}

int fab_plan_order(const struct fab_plan_input *in, const struct fab_plan_op *ops, size_t count,
                   struct fab_plan_op **ret_ops, size_t *ret_count, uint32_t *ret_unordered,
                   bool *ret_unchecked)
{
    struct order o = {.in = in, .ops = ops, .count = (uint32_t)count};
    uint32_t blocks = fab_lft_blocks(&in->target->lft);
    if (count < 2 || !any_known(in, ops, count)) {
        *ret_ops = NULL;
        return FAB_OK;
    }
    int status = init(&o, blocks);
    for (uint32_t b = 0; b < blocks && status == FAB_OK; b++)
        status = order_block(&o, b);
    if (status == FAB_OK)
        status = hand_over(&o, ret_ops);
    if (status == FAB_OK) {
        *ret_count = o.part_count;
        *ret_unordered = o.unordered;
        *ret_unchecked = o.steps >= STEPS_MOST;
    }
    fini(&o);
    return status;
}
