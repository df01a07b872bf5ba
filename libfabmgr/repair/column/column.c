/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides one column: the entries of all switches for one LID while some links are dead.
 *
 * A switch whose entry leads into a dead link is pending: its entry must be decided. Each pending
 * switch has a minimum label, called its key: the switch may choose any of its channels whose label
 * (repair.h) is the key or greater. At first, the key is the label of the channel that the baseline
 * uses. The pending switch with the greatest key is decided first. It gets
 *
 *   1. a path no longer than before, if there is one. The entries of other switches stay as they
 *      are. Nearly all switches are decided here, without reading the entries of neighbours that
 *      send to them;
 *   2. otherwise the shortest path over channels whose label is the key or greater. If this path is
 *      longer than before, each neighbour that forwards traffic of endports to this switch also
 *      becomes pending: it may have a shorter path elsewhere;
 *   3. otherwise no path yet. The key of the switch becomes the next lower label among its
 *      channels, and the switch is decided again later. Some neighbours that send to this switch
 *      also become pending: those whose channel to this switch has a label of the new key or
 *      greater. The labels of their paths would no longer ascend.
 *
 * If no channel of the switch has a lower label, it is marked CUT: it has found no path, except
 * over a detour (detour.c). All neighbours that send to it become pending. When every other switch
 * is decided, the CUT switches are tried once more, because they may be able to use paths that the
 * other switches found later.
 *
 * A switch gets only paths on which no switch is pending. Labels ascend along each path, and the
 * switch with the greatest key comes first. So when a switch is decided, all switches further along
 * its paths are decided already. In a tree, the switches that send down are decided first, starting
 * with the lowest; then those that send up, starting with the highest.
 *
 * Among equally long paths, a repair prefers the path of the baseline, and then the path of the
 * active tables, so that it moves no path without need. If both are longer or do not work, the LID
 * and the switch select one of the others. So the traffic of a dead link spreads over all links
 * that may carry it. A repair does not compare the loads of links, because it would then take one
 * and a half times as long. A rebalance (fab_repair_rebalance) may follow the repair. Among the
 * paths that are as long as the present path, it chooses the path with the lowest sum of link loads
 * (balance.c). It adds the load of each chosen path at once.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define FAR FAB_REPAIR_FAR
/* Value of next_hop.num for a switch that found no path with its first key (minimum label). The
 * switch is pending again, with a lower key. */
#define RETRY (FAB_NONE - 1)
/* A rebalance moves a path only if this lowers the sum of the link loads by more than 1 / MARGIN.
 */
#define MARGIN 32

/* ---- the heap of pending switches ------------------------------------------------------------ */

/* Packs a pending switch and its key (minimum label) into one number for the heap. The heap returns
 * the switch with the greatest key first; among equal keys, the switch with the lowest id. */
static uint64_t heap_item(uint32_t key, uint32_t sw)
{
    return (uint64_t)key << 32 | (UINT32_MAX - sw);
}

static void push(struct fab_repair_column *c, uint32_t key, uint32_t sw)
{
    fab_repair_heap_push(c->heap, &c->heap_count, heap_item(key, sw));
}

/* ---- marks ----------------------------------------------------------------------------------- */

void fab_repair_column_begin(struct fab_repair *r, const struct fab_lft *lft, uint32_t lid)
{
    struct fab_repair_column *c = &r->column;
    c->lft = lft;
    c->lid = lid;
    c->home = r->network->home[lid];
    c->label = fab_repair_labels_for(r, lid);
    c->table = lid - r->tile.first < r->tile.count
                   ? r->tile.table + (size_t)(lid - r->tile.first) * r->network->n
                   : NULL;
    c->touches = c->heap_count = 0;
    c->label_rose = false;
    c->detour_work = 0;
    if (++c->epoch == 0) {
        memset(c->seen, 0, r->network->n * sizeof(*c->seen));
        memset(c->next_hop, 0xff, r->network->n * sizeof(*c->next_hop));
        c->epoch = 1;
    }
}

void fab_repair_column_end(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    for (uint32_t i = 0; i < c->touches; i++)
        c->mark[c->touched[i]] = FAB_MARK_NONE;
    c->touches = 0;
}

void fab_repair_column_set(struct fab_repair *r, uint32_t sw, uint8_t entry)
{
    struct fab_repair_column *c = &r->column;
    if (c->mark[sw] == FAB_MARK_NONE)
        c->touched[c->touches++] = sw;
    c->mark[sw] = FAB_MARK_KNOWN;
    c->entry[sw] = entry;
}

static inline uint64_t at_label(const struct fab_repair_column *c, uint32_t label)
{
    return (uint64_t)~c->epoch << 32 | label;
}

/* Returns the label that the path beginning with `channel` has for other switches: they may send
 * packets to it over channels with lower labels. If the VL depends on the source, all labels are 1
 * (fab_repair_column.label), and the result is 2, so that labels exclude no path; try_channel()
 * then checks the dependencies. */
static uint32_t label_of_path(const struct fab_repair *r, uint32_t channel)
{
    return r->column.label[channel] + (r->network->pair_vl != NULL);
}

static void set_onward(struct fab_repair_column *c, uint32_t sw, uint32_t channel, uint32_t num,
                       uint32_t label)
{
    c->next_hop[sw] =
        (struct fab_repair_next_hop){.at = at_label(c, label), .channel = channel, .num = num};
}

static void make_pending(struct fab_repair *r, uint32_t sw, uint32_t key, uint16_t old)
{
    struct fab_repair_column *c = &r->column;
    const struct fab_repair_network *b = r->network;
    if (c->mark[sw] == FAB_MARK_NONE) {
        c->entry[sw] = fab_repair_table_entry(c, sw);
        c->touched[c->touches++] = sw;
    }
    c->mark[sw] = FAB_MARK_PENDING;
    c->old[sw] = old;
    c->seen[sw] = 0;
    set_onward(c, sw, FAB_NONE, FAB_NONE, 0);
    push(c, c->label == b->flat ? (uint32_t)FAR - old : key, sw);
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void find_next_hop(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    uint8_t num = fab_repair_column_entry(c, sw);
    uint32_t channel = fab_repair_channel(r->network, sw, num);
    bool undecided = c->mark[sw] == FAB_MARK_PENDING || c->mark[sw] == FAB_MARK_CUT;
    if (sw == c->home)
        set_onward(c, sw, FAB_NONE, FAB_NONE, FAB_REPAIR_DELIVERED);
    else if (undecided || channel == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
        set_onward(c, sw, FAB_NONE, FAB_NONE, 0);
    else
        set_onward(c, sw, channel, num, label_of_path(r, channel));
}

static inline const struct fab_repair_next_hop *next_hop_of(struct fab_repair *r, uint32_t sw)
{
    if (r->column.next_hop[sw].at >> 32 != ~r->column.epoch)
        find_next_hop(r, sw);
    return &r->column.next_hop[sw];
}

/* Returns the number of hops from switch `from` to the switch that delivers the current LID; FAR:
 * there is no usable path. */
static uint16_t length_of(struct fab_repair *r, uint32_t from)
{
    struct fab_repair_column *c = &r->column;
    uint32_t passed = 0, beyond = 0, sw = from;
    for (; sw != c->home; passed++) {
        if (c->seen[sw] == c->epoch) {
            beyond = c->len[sw];
            break;
        }
        uint32_t channel = next_hop_of(r, sw)->channel;
        if (channel == FAB_NONE || passed > r->network->max_hops)
            return FAR;
        sw = r->network->peer_sw[channel];
    }
    uint32_t length = passed + beyond;
    /* max_hops limits the number of switches on a path, which is one more than its number of hops
     */
    if (length >= r->network->max_hops)
        return FAR;
    for (sw = from; passed > 0; passed--) {
        c->seen[sw] = c->epoch;
        c->len[sw] = (uint16_t)(passed + beyond);
        sw = r->network->peer_sw[next_hop_of(r, sw)->channel];
    }
    return (uint16_t)length;
}

/* Returns the number of hops from `sw` to the current LID in the baseline. This path may use links
 * that are dead now. */
static uint16_t length_before(const struct fab_repair *r, uint32_t sw)
{
    uint16_t passed = 0;
    for (; sw != r->column.home; passed++) {
        uint32_t channel =
            fab_repair_channel(r->network, sw, fab_repair_column_entry(&r->column, sw));
        if (channel == FAB_NONE || passed > r->network->max_hops)
            return FAR;
        sw = r->network->peer_sw[channel];
    }
    return passed;
}

uint16_t fab_repair_column_length(struct fab_repair *r, uint32_t channel)
{
    const struct fab_repair_column *c = &r->column;
    uint32_t next = r->network->peer_sw[channel];
    if (at_label(c, c->label[channel]) >= next_hop_of(r, next)->at)
        return FAR;
    if (next == c->home)
        return 1;
    uint16_t length = c->seen[next] == c->epoch ? c->len[next] : length_of(r, next);
    return length != FAR && length + 1u < r->network->max_hops ? (uint16_t)(length + 1) : FAR;
}

/* Returns true if the neighbour at the other end of this port's link forwards packets for the
 * current LID to this switch. */
static bool sends_here(struct fab_repair *r, uint32_t port)
{
    uint32_t from = r->network->peer_sw[port];
    return from != FAB_NONE && next_hop_of(r, from)->num == r->network->peer_num[port] &&
           !fab_base_bits_get(r->is_dead, port);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Returns the channels of switch `sw` whose labels are at least `key` or, if `equal` is true,
 * exactly `key`. Channels of dead links are included. The list stays in a cache, because the
 * entries for later LIDs often need it again. */
static const struct fab_repair_candidates *
candidates_of(struct fab_repair *r, uint32_t sw, uint32_t key, bool equal, const uint32_t *label)
{
    const struct fab_repair_network *b = r->network;
    uint32_t slot = (sw * 0x9e3779b1u ^ (2 * key + equal) * 0x85ebca77u) >> 22;
    _Static_assert(FAB_REPAIR_CANDIDATES == 1 << 10, "slots of 10 bits");
    struct fab_repair_candidates *c = &r->candidates[slot];
    if (c->sw == sw && c->key == key && c->equal == equal && c->label == label)
        return c;
    c->sw = sw;
    c->key = key;
    c->equal = equal;
    c->label = label;
    c->count = 0;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (label[port] != 0 && (equal ? label[port] == key : label[port] >= key))
            c->num[c->count++] = (uint8_t)(port - b->first[sw]);
    }
    return c;
}

/* Returns the index of the candidate that switch `sw` tries first for the LID. The index depends on
 * the LID and on the switch, so that the traffic of a failed link spreads over all candidates. But
 * all leaves of a pod try the same candidate first if the LID is in another pod. Their paths then
 * meet soon, so the repair reads fewer table entries, each of which may be a cache miss. */
static uint32_t first_candidate(const struct fab_repair_network *b, uint32_t sw, uint32_t lid,
                                uint32_t count)
{
    uint32_t home = b->home[lid], group = b->group[sw];
    uint32_t spread = home != FAB_NONE && group != b->group[home] ? group : sw;
    return (lid / count + spread) % count;
}

uint32_t fab_repair_likely_next(struct fab_repair *r, uint32_t sw, uint8_t entry, uint32_t lid)
{
    const struct fab_repair_network *b = r->network;
    const uint32_t *label = fab_repair_labels_for(r, lid);
    uint32_t channel = fab_repair_channel(b, sw, entry);
    if (channel == FAB_NONE)
        return FAB_NONE;
    const struct fab_repair_candidates *all = candidates_of(r, sw, label[channel], false, label);
    return b->peer_sw[b->first[sw] + all->num[first_candidate(b, sw, lid, all->count)]];
}

struct search {
    const struct fab_repair_candidates *all;
    uint32_t first; /* id of port 0 of the switch */
    /* paths of at most `enough` hops count as equally long */
    uint16_t enough;
    /* The best path found so far. best: the length by which paths are compared, which is at least
     * `enough`; FAR: no path yet. length: number of hops of this path. channel: its first channel.
     * cost: its sum of link loads (cost_of). */
    uint16_t best, length;
    uint32_t channel;
    int64_t cost;
};

/* Returns the sum of the loads of the channels of the path that begins with `channel`. */
static int64_t cost_of(struct fab_repair *r, uint32_t channel)
{
    const struct fab_repair_network *b = r->network;
    int64_t cost = r->balance.load[channel];
    for (uint32_t sw = b->peer_sw[channel]; sw != r->column.home; sw = b->peer_sw[channel]) {
        channel = next_hop_of(r, sw)->channel;
        cost += r->balance.load[channel];
    }
    return cost;
}

/* Compares the path that begins with `channel` with the best path so far. `former` is true:
 * `channel` belongs to the baseline or to the active tables, so its path wins over all paths of the
 * same length. */
static void try_channel(struct fab_repair *r, struct search *s, uint32_t channel, bool former)
{
    uint16_t length =
        fab_base_bits_get(r->is_dead, channel) ? FAR : fab_repair_column_length(r, channel);
    uint16_t counted = length > s->enough ? length : s->enough;
    if (length == FAR || counted > s->best)
        return;
    int64_t cost = former ? INT64_MIN : r->balance.improving ? cost_of(r, channel) : 0;
    if ((counted == s->best && cost >= s->cost) ||
        (r->network->pair_vl != NULL && !fab_repair_lanes_allow(r, s->all->sw, channel, 0, NULL)))
        return;
    s->best = counted;
    s->length = length;
    s->channel = channel;
    s->cost = cost;
}

/* Tries the channel of the baseline, or of the active tables. */
static void try_former(struct fab_repair *r, struct search *s, uint8_t num)
{
    uint32_t channel = fab_repair_channel(r->network, s->all->sw, num);
    uint32_t label = channel != FAB_NONE ? r->column.label[channel] : 0;
    if (s->all->equal ? label == s->all->key : label >= s->all->key)
        try_channel(r, s, channel, true);
}

/* Tries the candidates one after the other, until one has at most `enough` hops. A rebalance tries
 * all of them. In a tree, a comparison of labels excludes nearly all channels before a path is
 * followed. */
static void try_candidates(struct fab_repair *r, struct search *s, uint32_t sw)
{
    const struct fab_repair_column *c = &r->column;
    const uint32_t *hop = r->network->peer_sw + s->first, *label = c->label + s->first;
    const uint64_t tag = at_label(c, 0);
    uint32_t count = s->all->count, at = first_candidate(r->network, sw, c->lid, count);
    for (uint32_t k = 0; k < count && (r->balance.improving || s->best > s->enough); k++) {
        uint8_t num = s->all->num[at];
        if (c->next_hop[hop[num]].at > (tag | label[num]))
            try_channel(r, s, s->first + num, false);
        at = at + 1 < count ? at + 1 : 0;
    }
}

/* Returns the number of endports whose packets for the current LID reach switch `sw`. Endports
 * behind a switch whose entry is not yet decided do not count. */
static int64_t endports_behind(struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_network *b = r->network;
    int64_t ends = b->attached[sw];
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (sends_here(r, port))
            ends += endports_behind(r, b->peer_sw[port]);
    }
    return ends;
}

/* Returns the cost below which another path is worth a write in a rebalance. This is the cost of
 * the path of the active tables, minus the load that the write would move away from that path, and
 * minus a margin (1 / MARGIN of the cost). INT64_MIN: no load would move. */
static int64_t cost_to_beat(struct fab_repair *r, uint32_t sw, const struct search *s)
{
    int64_t cost = cost_of(r, s->channel), paths = endports_behind(r, sw);
    return paths > 0 ? cost - paths * s->length - cost / MARGIN : INT64_MIN;
}

/* Chooses the best path over channels with labels of at least `key`. All paths of at most `enough`
 * hops count as equally long. Returns the length of the path in hops; FAR: there is none. */
static uint16_t choose(struct fab_repair *r, uint32_t sw, uint32_t key, uint16_t enough,
                       uint32_t *ret_channel)
{
    const struct fab_repair_column *c = &r->column;
    /* RETRY: an earlier search found no path over channels with labels above `key`. So this search
     * tries only channels whose label is `key`. If a label has risen in this column (label_rose),
     * it tries all candidates. */
    bool equal = c->next_hop[sw].num == RETRY && !c->label_rose;
    if (r->network->pair_vl != NULL)
        key = 1;
    const struct fab_repair_candidates *all = candidates_of(r, sw, key, equal, c->label);
    struct search s = {.all = all,
                       .first = r->network->first[sw],
                       .enough = enough,
                       .best = FAR,
                       .length = FAR,
                       .cost = INT64_MAX};
    uint8_t active = fab_repair_table_entry(c, sw);
    if (all->count == 0)
        return FAR;
    try_former(r, &s, c->entry[sw]);
    if (s.best > enough && active != c->entry[sw])
        try_former(r, &s, active);
    if (r->balance.improving && s.best <= enough && s.channel == s.first + active &&
        active != c->entry[sw])
        s.cost = cost_to_beat(r, sw, &s);
    if (s.best > enough || s.cost > INT64_MIN)
        try_candidates(r, &s, sw);
    *ret_channel = s.channel;
    return s.length;
}

/* ---- upstream -------------------------------------------------------------------------------- */

/* Returns true if endports send packets for the current LID through this switch. If no endport
 * does, this switch and the switches that send through it keep their entries. Their stored path
 * lengths (fab_repair_column.len[]) are then discarded. */
static bool carries_endports(struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_network *b = r->network;
    if (b->attached[sw] > 0)
        return true;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (sends_here(r, port) && carries_endports(r, b->peer_sw[port]))
            return true;
    }
    r->column.seen[sw] = 0;
    return false;
}

/* Makes pending those neighbours that send packets for the current LID to switch `sw` and are not
 * SETTLED. If key > 0, selects the neighbours that send over a channel with a label of at least
 * `key`. If key is 0 (the path of `sw` became longer, but its label did not become lower), selects
 * the neighbours that carry traffic of endports. */
static void reopen_upstream(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    struct fab_repair_column *c = &r->column;
    const struct fab_repair_network *b = r->network;
    uint16_t old = c->old[sw] < FAR - 1 ? (uint16_t)(c->old[sw] + 1) : c->old[sw];
    for (uint32_t port = b->first[sw] + 1, end = b->first[sw + 1]; port < end; port++) {
        if (!sends_here(r, port) || c->mark[b->peer_sw[port]] == FAB_MARK_SETTLED)
            continue;
        uint32_t from = b->peer_sw[port], label = c->label[c->next_hop[from].channel];
        if (label >= key && (key > 0 || carries_endports(r, from)))
            make_pending(r, from, label, old);
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

/* Subtracts `paths` from the loads of the channels on the path from `sw` by the active tables. */
static void subtract_active(struct fab_repair *r, uint32_t sw, int64_t paths)
{
    const struct fab_repair_network *b = r->network;
    for (uint32_t hops = 0; hops < b->max_hops && sw != r->column.home; hops++) {
        uint32_t channel = fab_repair_channel(b, sw, fab_repair_table_entry(&r->column, sw));
        if (channel == FAB_NONE)
            return;
        fab_repair_balance_add(r, channel, -paths);
        sw = b->peer_sw[channel];
    }
}

/* Moves the load of switch `sw` to the path over `channel`, if the active tables have another
 * path. */
static void move_load(struct fab_repair *r, uint32_t sw, uint32_t channel)
{
    const struct fab_repair_network *b = r->network;
    const struct fab_repair_column *c = &r->column;
    if (channel - b->first[sw] == fab_repair_table_entry(c, sw) ||
        !fab_base_bits_get(b->is_endport, c->lid))
        return;
    int64_t paths = endports_behind(r, sw);
    subtract_active(r, sw, paths);
    for (; channel != FAB_NONE; channel = next_hop_of(r, b->peer_sw[channel])->channel)
        fab_repair_balance_add(r, channel, paths);
}

void fab_repair_column_settle(struct fab_repair *r, uint32_t sw, uint32_t channel, uint16_t length)
{
    struct fab_repair_column *c = &r->column;
    if (r->balance.improving)
        move_load(r, sw, channel);
    if (c->mark[sw] == FAB_MARK_NONE)
        c->touched[c->touches++] = sw;
    c->mark[sw] = FAB_MARK_SETTLED;
    c->entry[sw] = (uint8_t)(channel - r->network->first[sw]);
    c->len[sw] = length;
    c->seen[sw] = c->epoch;
    set_onward(c, sw, channel, c->entry[sw], label_of_path(r, channel));
    /* the search (try_channel) has found that the dependencies close no cycle */
    if (r->network->pair_vl != NULL)
        fab_repair_lanes_add(r, sw, channel, 0, NULL);
}

static uint32_t next_label_down(const struct fab_repair *r, uint32_t sw, uint32_t key)
{
    uint32_t greatest = 0;
    for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
        uint32_t label = r->column.label[port];
        if (label < key && label > greatest && !fab_base_bits_get(r->is_dead, port))
            greatest = label;
    }
    return greatest;
}

static void lower_key(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    uint32_t next = fab_repair_may_reach(r, sw, r->column.home) ? next_label_down(r, sw, key) : 0;
    if (next == 0)
        r->column.mark[sw] = FAB_MARK_CUT;
    /* A neighbour may send to this switch over a channel whose label is too great for labels to
     * ascend. Such a neighbour becomes pending before this switch is decided. */
    reopen_upstream(r, sw, next > 0 ? next : 1);
    if (next != 0) {
        r->column.next_hop[sw].num = RETRY;
        push(&r->column, next, sw);
    }
}

/* Returns true if the switch, which has found no path with this key, gets one over a detour
 * (detour.c). Only paths to switches lead over detours. */
static bool takes_detour(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    struct fab_repair_column *c = &r->column;
    if (!r->detours || fab_base_bits_get(r->network->is_endport, c->lid) ||
        !fab_repair_column_detour(r, sw, key))
        return false;
    c->label_rose = true;
    return true;
}

static void decide(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    uint32_t channel = FAB_NONE;
    uint16_t old = r->column.old[sw], length = FAR;
    bool may_reach = fab_repair_may_reach(r, sw, r->column.home);
    if (may_reach)
        length = choose(r, sw, key, old, &channel);
    if (length != FAR) {
        fab_repair_column_settle(r, sw, channel, length);
        r->column.label_rose = r->column.label_rose || r->column.label[channel] > key;
    } else if (!may_reach || !takes_detour(r, sw, key)) {
        lower_key(r, sw, key);
        return;
    }
    if (r->column.len[sw] > old)
        reopen_upstream(r, sw, 0);
}

void fab_repair_column_mark_pending(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    if (c->mark[sw] == FAB_MARK_PENDING || sw == c->home || r->alive[sw] == 0)
        return;
    uint32_t channel = fab_repair_channel(r->network, sw, fab_repair_column_entry(c, sw));
    if (channel != FAB_NONE && fab_base_bits_get(r->is_dead, channel))
        make_pending(r, sw, c->label[channel], length_before(r, sw));
}

bool fab_repair_column_works(struct fab_repair *r, uint32_t sw)
{
    return length_of(r, sw) != FAR;
}

bool fab_repair_column_reopen(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    uint32_t channel = fab_repair_channel(r->network, sw, fab_repair_column_entry(c, sw));
    if (c->mark[sw] == FAB_MARK_PENDING || sw == c->home || channel == FAB_NONE ||
        fab_repair_column_works(r, sw))
        return false;
    make_pending(r, sw, c->label[channel], length_before(r, sw));
    return true;
}

/* Considers the channels of the switch that now begin a path to the current LID, and returns the
 * greatest of their labels; 0: there is no such channel. */
static uint32_t best_label(struct fab_repair *r, uint32_t sw)
{
    uint32_t greatest = 0;
    for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
        uint32_t label = r->column.label[port];
        if (label > greatest && !fab_base_bits_get(r->is_dead, port) &&
            fab_repair_column_length(r, port) != FAR)
            greatest = label;
    }
    return greatest;
}

/* Marks a CUT switch pending again, if a switch that was decided later now gives it a path. No
 * switch sends packets to a CUT switch, so it may choose a channel with any label. */
static void retry_cut(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    bool may_reach = c->mark[sw] == FAB_MARK_CUT && fab_repair_may_reach(r, sw, c->home);
    uint32_t key = may_reach ? best_label(r, sw) : 0;
    if (key == 0)
        return;
    c->mark[sw] = FAB_MARK_PENDING;
    set_onward(c, sw, FAB_NONE, FAB_NONE, 0);
    push(c, key, sw);
}

static void retry_all_cut(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    for (uint32_t i = 0; i < c->touches; i++)
        retry_cut(r, c->touched[i]);
    while (c->heap_count > 0) {
        uint64_t item = fab_repair_heap_pop(c->heap, &c->heap_count);
        uint32_t sw = UINT32_MAX - (uint32_t)item, channel = FAB_NONE;
        uint16_t length = choose(r, sw, (uint32_t)(item >> 32), 0, &channel);
        if (length == FAR) {
            c->mark[sw] = FAB_MARK_CUT; /* the VL of its packets permits no path */
            continue;
        }
        fab_repair_column_settle(r, sw, channel, length);
        for (uint32_t port = r->network->first[sw] + 1; port < r->network->first[sw + 1]; port++) {
            if (r->network->peer_sw[port] != FAB_NONE && !fab_base_bits_get(r->is_dead, port))
                retry_cut(r, r->network->peer_sw[port]);
        }
    }
}

void fab_repair_column_solve(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    bool cut = false;
    while (c->heap_count > 0) {
        uint64_t item = fab_repair_heap_pop(c->heap, &c->heap_count);
        decide(r, UINT32_MAX - (uint32_t)item, (uint32_t)(item >> 32));
    }
    for (uint32_t i = 0; i < c->touches && !cut; i++)
        cut = c->mark[c->touched[i]] == FAB_MARK_CUT;
    if (cut)
        retry_all_cut(r);
}
