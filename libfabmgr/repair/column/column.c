/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One column: the entries of all switches for one LID, with some cables dark.
 *
 * Switches whose entry leads into the dark are pending, and decided one after the other, those
 * with the greatest key first. A key is a label: all channels of at least that label are what the
 * switch may take now. It begins with the label of the channel that the switch had, then
 *
 *   1. a way as short as before: nobody upstream is concerned. Nearly all end here, without a look
 *      at their neighbours' entries;
 *   2. the shortest way that there is. If it has become longer, those who send here become pending,
 *      too, if ends send by them: they may know better;
 *   3. the next label down, when nothing of this one leads there. Those who send here by a label
 *      that is not less become pending first: what they do is illegal now.
 *
 * Who finds nothing is cut off, and all that sent there are pending; when all is decided it is
 * asked once more, for those may have found ways that it can take, too. A way is taken only over
 * switches none of which is pending. Since labels ascend along each way, all decisions about
 * switches further on have been made when a key comes up: those could only have greater keys.
 * (In a tree: first who descends, the lowest first, then who climbs, the highest first.)
 *
 * Which of several equal ways: where the baseline goes, else as the LID says, the same in all
 * switches of a kind, so that the LIDs that a dead cable orphans spread over all others, and each
 * LID keeps to one plane of a tree. Nothing depends on what was in force before.
 */
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define FAR UINT16_MAX       /* no way that is known to be good */
#define AGAIN (FAB_NONE - 1) /* as onward.num: pending by a lesser label than before */

/* ---- the heap of pending switches ------------------------------------------------------------ */

/* Greatest key first, then the lowest switch. */
static uint64_t heap_item(uint32_t key, uint32_t sw)
{
    return (uint64_t)key << 32 | (UINT32_MAX - sw);
}

static void push(struct fab_repair_column *c, uint32_t key, uint32_t sw)
{
    uint64_t item = heap_item(key, sw);
    uint32_t i = c->heaped++;
    for (; i > 0 && c->heap[(i - 1) / 2] < item; i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = item;
}

static uint64_t pop(struct fab_repair_column *c)
{
    uint64_t top = c->heap[0], last = c->heap[--c->heaped];
    uint32_t i = 0;
    for (uint32_t child = 1; child < c->heaped; child = 2 * i + 1) {
        child += child + 1 < c->heaped && c->heap[child + 1] > c->heap[child];
        if (c->heap[child] <= last)
            break;
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = last;
    return top;
}

/* ---- marks ----------------------------------------------------------------------------------- */

void fab_repair_column_begin(struct fab_repair *r, const struct fab_lft *lft, uint32_t lid)
{
    struct fab_repair_column *c = &r->column;
    c->lft = lft;
    c->lid = lid;
    c->home = r->base->home[lid];
    c->label = fab_repair_labels_for(r, lid);
    c->table = lid - r->gathered.first < r->gathered.count
                   ? r->gathered.table + (size_t)(lid - r->gathered.first) * r->base->n
                   : NULL;
    c->touches = c->heaped = 0;
    c->raised = false;
    if (++c->now == 0) {
        memset(c->seen, 0, r->base->n * sizeof(*c->seen));
        memset(c->onward, 0xff, r->base->n * sizeof(*c->onward));
        c->now = 1;
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
    return (uint64_t)~c->now << 32 | label;
}

static void set_onward(struct fab_repair_column *c, uint32_t sw, uint32_t channel, uint32_t num,
                       uint32_t label)
{
    c->onward[sw] =
        (struct fab_repair_next_hop){.at = at_label(c, label), .channel = channel, .num = num};
}

static void make_pending(struct fab_repair_column *c, uint32_t sw, uint32_t key, uint16_t old)
{
    if (c->mark[sw] == FAB_MARK_NONE) {
        c->entry[sw] = fab_repair_table_entry(c, sw);
        c->touched[c->touches++] = sw;
    }
    c->mark[sw] = FAB_MARK_PENDING;
    c->old[sw] = old;
    c->seen[sw] = 0;
    set_onward(c, sw, FAB_NONE, FAB_NONE, 0);
    push(c, key, sw);
}

/* ---- ways ------------------------------------------------------------------------------------ */

static void look_onward(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    uint8_t num = fab_repair_column_entry(c, sw);
    uint32_t channel = fab_repair_channel(r->base, sw, num);
    bool undecided = c->mark[sw] == FAB_MARK_PENDING || c->mark[sw] == FAB_MARK_CUT;
    if (sw == c->home)
        set_onward(c, sw, FAB_NONE, FAB_NONE, FAB_REPAIR_DELIVERED);
    else if (undecided || channel == FAB_NONE || fab_base_bits_get(r->dark, channel))
        set_onward(c, sw, FAB_NONE, FAB_NONE, 0);
    else
        set_onward(c, sw, channel, num, c->label[channel]);
}

static inline const struct fab_repair_next_hop *onward_of(struct fab_repair *r, uint32_t sw)
{
    if (r->column.onward[sw].at >> 32 != ~r->column.now)
        look_onward(r, sw);
    return &r->column.onward[sw];
}

/* Cables from a switch to home, or FAR. */
static uint16_t length_of(struct fab_repair *r, uint32_t from)
{
    struct fab_repair_column *c = &r->column;
    uint32_t passed = 0, beyond = 0, sw = from;
    for (; sw != c->home; passed++) {
        if (c->seen[sw] == c->now) {
            beyond = c->len[sw];
            break;
        }
        uint32_t channel = onward_of(r, sw)->channel;
        if (channel == FAB_NONE || passed > r->base->max_hops)
            return FAR;
        sw = r->base->hop[channel];
    }
    uint32_t length = passed + beyond;
    if (length >= r->base->max_hops) /* which counts the last switch, too */
        return FAR;
    for (sw = from; passed > 0; passed--) {
        c->seen[sw] = c->now;
        c->len[sw] = (uint16_t)(passed + beyond);
        sw = r->base->hop[onward_of(r, sw)->channel];
    }
    return (uint16_t)length;
}

/* As the baseline has it, over dark cables and all. */
static uint16_t length_before(const struct fab_repair *r, uint32_t sw)
{
    uint16_t passed = 0;
    for (; sw != r->column.home; passed++) {
        uint32_t channel = fab_repair_channel(r->base, sw, fab_repair_column_entry(&r->column, sw));
        if (channel == FAB_NONE || passed > r->base->max_hops)
            return FAR;
        sw = r->base->hop[channel];
    }
    return passed;
}

/* The way over a living channel, or FAR; packets that come by it go on by an ascending label. */
static uint16_t length_by(struct fab_repair *r, uint32_t channel)
{
    const struct fab_repair_column *c = &r->column;
    uint32_t next = r->base->hop[channel];
    if (at_label(c, c->label[channel]) >= onward_of(r, next)->at)
        return FAR;
    if (next == c->home)
        return 1;
    uint16_t length = c->seen[next] == c->now ? c->len[next] : length_of(r, next);
    return length != FAR && length + 1u < r->base->max_hops ? (uint16_t)(length + 1) : FAR;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Channels of a switch of label `key` and above, dark ones, too; kept for columns to come. */
static const struct fab_repair_candidates *
candidates_of(struct fab_repair *r, uint32_t sw, uint32_t key, bool equal, const uint32_t *label)
{
    const struct fab_repair_network *b = r->base;
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

uint32_t fab_repair_likely_next(struct fab_repair *r, uint32_t sw, uint8_t entry, uint32_t lid)
{
    const uint32_t *label = fab_repair_labels_for(r, lid);
    uint32_t channel = fab_repair_channel(r->base, sw, entry);
    if (channel == FAB_NONE)
        return FAB_NONE;
    const struct fab_repair_candidates *all = candidates_of(r, sw, label[channel], false, label);
    return r->base->hop[r->base->first[sw] + all->num[lid / all->count % all->count]];
}

struct search {
    const struct fab_repair_candidates *all;
    uint32_t first, before; /* channels: of port 0, and the one that was */
    uint16_t best, enough;
    uint32_t channel;
};

static void look_at(struct fab_repair *r, struct search *s, uint32_t channel)
{
    uint16_t length = fab_base_bits_get(r->dark, channel) ? FAR : length_by(r, channel);
    if (length < s->best || (length == s->best && channel == s->before && length != FAR)) {
        s->best = length;
        s->channel = channel;
    }
}

/* The candidates from `at` on, to `end`. In a tree nearly all do not even ascend. */
static void look_at_all(struct fab_repair *r, struct search *s, uint32_t at, uint32_t end)
{
    const struct fab_repair_next_hop *onward = r->column.onward;
    const uint32_t *hop = r->base->hop + s->first, *label = r->column.label + s->first;
    const uint8_t *num = s->all->num;
    const uint64_t tag = at_label(&r->column, 0);
    for (; at < end && s->best > s->enough; at++) {
        if (onward[hop[num[at]]].at > (tag | label[num[at]]))
            look_at(r, s, s->first + num[at]);
    }
}

/* Takes the shortest way over channels of label `key` and above, the first that is no longer than
 * `enough`. Returns its length, or FAR.
 *
 * First looked at is the candidate that the first digit of the LID says, then that of the second
 * and all others from there on. That is the same whichever are dark: what a fault takes away is
 * spread, and what it does not concern stays. */
static uint16_t choose(struct fab_repair *r, uint32_t sw, uint32_t key, uint16_t enough,
                       uint32_t *ret_channel)
{
    const struct fab_repair_column *c = &r->column;
    /* Greater ones have been looked at, and nothing that leads there has become better since. */
    bool equal = c->onward[sw].num == AGAIN && !c->raised;
    const struct fab_repair_candidates *all = candidates_of(r, sw, key, equal, c->label);
    uint32_t first = r->base->first[sw];
    struct search s = {
        .all = all, .first = first, .before = first + c->entry[sw], .best = FAR, .enough = enough};
    if (all->count == 0)
        return FAR;
    uint32_t digits = c->lid / all->count, one = digits % all->count;
    uint32_t next = digits / all->count % all->count;
    look_at_all(r, &s, one, one + 1);
    look_at_all(r, &s, next, all->count);
    look_at_all(r, &s, 0, next);
    *ret_channel = s.channel;
    return s.best;
}

/* ---- upstream -------------------------------------------------------------------------------- */

/* Does anything come here over `port`? */
static bool sends_here(struct fab_repair *r, uint32_t port)
{
    uint32_t from = r->base->hop[port];
    return from != FAB_NONE && onward_of(r, from)->num == r->base->back[port] &&
           !fab_base_bits_get(r->dark, port);
}

/* Do ends send by way of this switch? Where not, lengths on the way here are forgotten. */
static bool serves_ends(struct fab_repair *r, uint32_t sw)
{
    const struct fab_repair_network *b = r->base;
    if (b->hosts[sw] > 0)
        return true;
    for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
        if (sends_here(r, port) && serves_ends(r, b->hop[port]))
            return true;
    }
    r->column.seen[sw] = 0;
    return false;
}

/* All that send here by a label of at least `key` must think again; where it is only that the way
 * has become longer (0), those that ends send by. */
static void disturb(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    struct fab_repair_column *c = &r->column;
    const struct fab_repair_network *b = r->base;
    uint16_t old = c->old[sw] < FAR - 1 ? (uint16_t)(c->old[sw] + 1) : c->old[sw];
    for (uint32_t port = b->first[sw] + 1, end = b->first[sw + 1]; port < end; port++) {
        if (!sends_here(r, port) || c->mark[b->hop[port]] == FAB_MARK_SETTLED)
            continue;
        uint32_t from = b->hop[port], label = c->label[c->onward[from].channel];
        if (label >= key && (key > 0 || serves_ends(r, from)))
            make_pending(c, from, label, old);
    }
}

/* ---- deciding -------------------------------------------------------------------------------- */

static void settle(struct fab_repair *r, uint32_t sw, uint32_t channel, uint16_t length)
{
    struct fab_repair_column *c = &r->column;
    c->mark[sw] = FAB_MARK_SETTLED;
    c->entry[sw] = (uint8_t)(channel - r->base->first[sw]);
    c->len[sw] = length;
    c->seen[sw] = c->now;
    set_onward(c, sw, channel, c->entry[sw], c->label[channel]);
}

static uint32_t next_label_down(const struct fab_repair *r, uint32_t sw, uint32_t key)
{
    uint32_t greatest = 0;
    for (uint32_t port = r->base->first[sw] + 1; port < r->base->first[sw + 1]; port++) {
        uint32_t label = r->column.label[port];
        if (label < key && label > greatest && !fab_base_bits_get(r->dark, port))
            greatest = label;
    }
    return greatest;
}

static void step_down(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    uint32_t next = next_label_down(r, sw, key);
    if (next == 0)
        r->column.mark[sw] = FAB_MARK_CUT;
    /* Before it is looked at again, those whose label would not ascend any more. */
    disturb(r, sw, next > 0 ? next : 1);
    if (next != 0) {
        r->column.onward[sw].num = AGAIN;
        push(&r->column, next, sw);
    }
}

static void decide(struct fab_repair *r, uint32_t sw, uint32_t key)
{
    uint32_t channel = FAB_NONE;
    uint16_t old = r->column.old[sw], length = choose(r, sw, key, old, &channel);
    if (length == FAR) {
        step_down(r, sw, key);
        return;
    }
    settle(r, sw, channel, length);
    r->column.raised = r->column.raised || r->column.label[channel] > key;
    if (length > old)
        disturb(r, sw, 0);
}

void fab_repair_column_mark_pending(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    if (c->mark[sw] == FAB_MARK_PENDING || sw == c->home || r->alive[sw] == 0)
        return;
    uint32_t channel = fab_repair_channel(r->base, sw, fab_repair_column_entry(c, sw));
    if (channel != FAB_NONE && fab_base_bits_get(r->dark, channel))
        make_pending(c, sw, c->label[channel], length_before(r, sw));
}

/* The greatest label by which there is a way now, or 0. */
static uint32_t best_label(struct fab_repair *r, uint32_t sw)
{
    uint32_t greatest = 0;
    for (uint32_t port = r->base->first[sw] + 1; port < r->base->first[sw + 1]; port++) {
        uint32_t label = r->column.label[port];
        if (label > greatest && !fab_base_bits_get(r->dark, port) && length_by(r, port) != FAR)
            greatest = label;
    }
    return greatest;
}

/* Who was cut off before others thought again, and sends by way of them now. Nobody sends to those
 * who are cut off, so that any label will do. */
static void reconsider(struct fab_repair *r, uint32_t sw)
{
    struct fab_repair_column *c = &r->column;
    uint32_t key = c->mark[sw] == FAB_MARK_CUT ? best_label(r, sw) : 0;
    if (key == 0)
        return;
    c->mark[sw] = FAB_MARK_PENDING;
    set_onward(c, sw, FAB_NONE, FAB_NONE, 0);
    push(c, key, sw);
}

static void reconsider_all(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    for (uint32_t i = 0; i < c->touches; i++)
        reconsider(r, c->touched[i]);
    while (c->heaped > 0) {
        uint64_t item = pop(c);
        uint32_t sw = UINT32_MAX - (uint32_t)item, channel = FAB_NONE;
        uint16_t length = choose(r, sw, (uint32_t)(item >> 32), 0, &channel);
        settle(r, sw, channel, length);
        for (uint32_t port = r->base->first[sw] + 1; port < r->base->first[sw + 1]; port++) {
            if (r->base->hop[port] != FAB_NONE && !fab_base_bits_get(r->dark, port))
                reconsider(r, r->base->hop[port]);
        }
    }
}

void fab_repair_column_solve(struct fab_repair *r)
{
    struct fab_repair_column *c = &r->column;
    bool cut = false;
    while (c->heaped > 0) {
        uint64_t item = pop(c);
        decide(r, UINT32_MAX - (uint32_t)item, (uint32_t)(item >> 32));
    }
    for (uint32_t i = 0; i < c->touches && !cut; i++)
        cut = c->mark[c->touched[i]] == FAB_MARK_CUT;
    if (cut)
        reconsider_all(r);
}
