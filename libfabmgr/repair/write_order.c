/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders the writes of one delta.
 *
 * The label of a channel is its number in the proof (repair.h). The label of an entry is the label
 * of the channel to which the entry forwards. While the writes are under way, some entries are old
 * and some are new. The order must ensure that packets meet only ascending labels in every mixture.
 * Then there is no loop and no cycle of channel dependencies, and every packet that meets no dead
 * link arrives. The old entries alone meet this condition, and so do the new ones. For the mixtures
 * there are two rules for each entry that changes:
 *
 *   - If the label of the entry becomes lower (the switch sent down and now sends up), some
 *     neighbours must get their new entries first: those that sent to this switch over a channel
 *     whose label is not below the entry's new label.
 *   - If the label of the entry becomes greater (a link came back), some neighbours must get their
 *     new entries afterwards: those that will send to this switch over a channel whose label is not
 *     below the entry's old label.
 *
 * If the VL depends on the source (labels/lanes.c), these two rules do not suffice. The changes of
 * each LID are then written one after the other, in an order in which no write closes a cycle of
 * dependencies with those of the old tables, of the new tables and of all earlier writes. Entries
 * that lead to a dead link until they change need no order. Links that come back may bring back
 * dependencies of the baseline that close a cycle with the old paths to a LID. The entries of these
 * paths that change then become stale (see below).
 *
 * A third rule keeps destinations reachable. It concerns paths that change while the old entries
 * still work, because links come back. Switches on the new path whose old entries do not lead to
 * the destination are written before the path changes.
 *
 * These rules form a precedence graph of blocks, whose layers are the steps. With labels from an
 * order of the switches, the first rule puts upper switches before lower ones, and the second rule
 * puts lower switches before upper ones. Both together may form a cycle of blocks. Such a cycle
 * disappears if each block is written in two parts: first the entries whose label becomes greater
 * or stays, then those whose label becomes lower. A cycle may remain if the labels follow no order
 * of the switches. The entries of its blocks, and of blocks that must follow them, are then written
 * as NO_ROUTE in one step, and with their new values in the next step. In between, they drop
 * packets.
 *
 * A switch that was cut off may be connected again. Its old entries may then lead to switches from
 * which the labels do not ascend. These entries are called stale. Entries of a detour that the new
 * labels do not allow are stale, too. Stale entries are set to NO_ROUTE in an early step, before
 * the link comes up, and get their values after the other switches.
 *
 * The order does not cover packets in flight at the moment of a write: they may still make a turn
 * that the order avoids for later packets. Where the first rule applies, the old entries led these
 * packets to a dead link, where switches discard them.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define UNPLACED UINT32_MAX

struct precedence {
    /* the write with index `first` must precede the write with index `after` */
    uint32_t first, after;
};

struct ordering {
    struct fab_repair *r;
    const struct fab_lft *lft;
    struct fab_repair_delta *d;
    /* [changes] index of the write of each change */
    uint32_t *of;
    uint64_t *key;  /* [changes] scratch memory for sorting */
    uint64_t *room; /* [changes] scratch memory for sorting */
    /* [changes] true: the label of the entry becomes lower */
    bool *lowers;
    /* [switches] index in the delta's change[] of the change of each switch's entry for the current
     * LID; valid only if this entry changes (its mark in the column is not FAB_MARK_NONE) */
    uint32_t *index;
    struct precedence *precedence;
    size_t precedences, precedence_room;
    /* true: switches are relabelled (labels/reorder.c), in the active tables or by this delta */
    bool relabelled;
    /* [writes] number of writes that must come before this write and have no step yet */
    uint32_t *blockers;
    /* [writes + 1] the writes that come after write w are to[at[w]] to to[at[w + 1] - 1] */
    uint32_t *at;
    uint32_t *to; /* [precedences] indices of writes; see at[] */
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool is_less(const struct fab_repair *r, const struct fab_repair_change *c)
{
    const struct fab_repair_network *b = r->network;
    const uint32_t *label = fab_repair_labels_for(r, c->lid);
    uint32_t was = fab_repair_channel(b, c->sw, c->was);
    uint32_t now = fab_repair_channel(b, c->sw, c->now);
    return was != FAB_NONE && now != FAB_NONE && label[now] < label[was];
}

static int add_precedence(struct ordering *o, uint32_t first, uint32_t after)
{
    if (first == after)
        return FAB_OK;
    if (o->precedences == o->precedence_room) {
        void *more = fab_base_grow(o->precedence, sizeof(*o->precedence), o->precedences + 1,
                                   &o->precedence_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        o->precedence = more;
    }
    o->precedence[o->precedences++] = (struct precedence){.first = first, .after = after};
    return FAB_OK;
}

/* Makes the write of one block, whose changes are d->by_write[first] to d->by_write[end - 1]. If
 * `parted` is true, the changes that make labels lower get a write of their own. */
static int make_block(struct ordering *o, size_t first, size_t end, bool parted)
{
    struct fab_repair_delta *d = o->d;
    const struct fab_repair_change *c = &d->change[d->by_write[first]];
    uint32_t part[2] = {UNPLACED, UNPLACED};
    uint64_t bits[2] = {0};
    for (size_t i = first; i < end; i++) {
        uint32_t which = d->by_write[i];
        unsigned p = parted && o->lowers[which];
        if (part[p] == UNPLACED) {
            part[p] = (uint32_t)d->writes++;
            d->write[part[p]] = (struct fab_repair_write){.sw = c->sw,
                                                          .block = c->lid / FAB_LFT_BLOCK,
                                                          .first = (uint32_t)first,
                                                          .changes = (uint32_t)(end - first)};
        }
        d->write[part[p]].entries++;
        d->write[part[p]].weight += o->r->network->attached[c->sw];
        bits[p] |= UINT64_C(1) << (d->change[which].lid % FAB_LFT_BLOCK);
        o->of[which] = part[p];
    }
    d->blocks++;
    if (part[0] == UNPLACED || part[1] == UNPLACED)
        return FAB_OK;
    d->write[part[0]].keep = bits[1];
    return add_precedence(o, part[0], part[1]);
}

/* Fills by_write[] with the indices of the changes, sorted by switch, then by LID. change[] is
 * already sorted by LID, so a stable sort by switch suffices. */
static void sort_changes(struct ordering *o)
{
    struct fab_repair_delta *d = o->d;
    unsigned bits = 32 - (unsigned)__builtin_clz(o->r->network->n | 1);
    for (size_t i = 0; i < d->changes; i++) {
        o->lowers[i] = is_less(o->r, &d->change[i]);
        o->key[i] = (uint64_t)d->change[i].sw << 32 | i;
    }
    const uint64_t *sorted = fab_repair_radix_sort(o->key, o->room, d->changes, 32, bits);
    for (size_t i = 0; i < d->changes; i++)
        d->by_write[i] = (uint32_t)sorted[i];
}

/* Makes the writes of all blocks. parted: see make_block. */
static int make_writes(struct ordering *o, bool parted)
{
    struct fab_repair_delta *d = o->d;
    int status = FAB_OK;
    d->writes = d->blocks = o->precedences = 0;
    for (size_t i = 0, end; status == FAB_OK && i < d->changes; i = end) {
        const struct fab_repair_change *c = &d->change[d->by_write[i]], *e;
        for (end = i + 1; end < d->changes; end++) {
            e = &d->change[d->by_write[end]];
            if (e->sw != c->sw || e->lid / FAB_LFT_BLOCK != c->lid / FAB_LFT_BLOCK)
                break;
        }
        status = make_block(o, i, end, parted);
    }
    return status;
}

/* ---- precedences ----------------------------------------------------------------------------- */

/* Returns the label of the channel to which the entry `num` of switch `sw` forwards. Returns 0 if
 * the entry needs no rule for the order of writes. Such an entry forwards to no channel or, after a
 * relabelling, to a dead link, which carries no packets. */
static uint32_t label_of(const struct ordering *o, const uint32_t *label, uint32_t sw, uint8_t num)
{
    uint32_t channel = fab_repair_channel(o->r->network, sw, num);
    bool none = channel == FAB_NONE || (o->relabelled && fab_base_bits_get(o->r->is_dead, channel));
    return none ? 0 : label[channel];
}

/* Adds the precedences that the first two rules require between one change and the changes of
 * neighbours that send, or will send, to its switch. */
static int constrain_labels(struct ordering *o, size_t which)
{
    const struct fab_repair_network *b = o->r->network;
    const struct fab_repair_column *column = &o->r->column;
    const struct fab_repair_change *c = &o->d->change[which];
    uint32_t was = label_of(o, column->label, c->sw, c->was);
    uint32_t now = label_of(o, column->label, c->sw, c->now);
    bool lowers = now != 0 && (was == 0 || now < was), more = was != 0 && (now == 0 || now > was);
    int status = FAB_OK;
    if ((!lowers && !more) || b->pair_vl != NULL)
        return FAB_OK;
    for (uint32_t port = b->first[c->sw] + 1; status == FAB_OK && port < b->first[c->sw + 1];
         port++) {
        uint32_t from = b->peer_sw[port];
        if (from == FAB_NONE || column->mark[from] == FAB_MARK_NONE)
            /* no rule is needed: the entry of the neighbour does not change. If it leads to this
             * switch, the label of its channel is below the old label and below the new label. */
            continue;
        const struct fab_repair_change *u = &o->d->change[o->index[from]];
        uint32_t label = column->label[fab_repair_peer_port(b, port)];
        if (lowers && u->was == b->peer_num[port] && label >= now)
            status = add_precedence(o, o->of[o->index[from]], o->of[which]);
        if (more && u->now == b->peer_num[port] && label >= was)
            status = add_precedence(o, o->of[which], o->of[o->index[from]]);
    }
    return status;
}

/* Sets *sw to the next switch on the path, by the new tables if `new` is true, otherwise by the old
 * ones. Returns false at a dead link or a missing entry. */
static bool next_switch(const struct ordering *o, uint32_t *sw, bool new)
{
    const struct fab_repair *r = o->r;
    uint8_t num = r->column.mark[*sw] == FAB_MARK_NONE ? fab_repair_table_entry(&r->column, *sw)
                  : new                                ? o->d->change[o->index[*sw]].now
                                                       : o->d->change[o->index[*sw]].was;
    uint32_t channel = fab_repair_channel(r->network, *sw, num);
    if (channel == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
        return false;
    *sw = r->network->peer_sw[channel];
    return true;
}

static bool worked(const struct ordering *o, uint32_t sw)
{
    for (uint32_t passed = 0; sw != o->r->column.home; passed++) {
        if (passed > o->r->network->n || !next_switch(o, &sw, false))
            return false;
    }
    return true;
}

/* Adds the precedences of the third rule for one change. If the present path from its switch works,
 * the entry may change only after the entries on the new path that do not work yet. */
static int constrain_working(struct ordering *o, size_t which)
{
    uint32_t sw = o->d->change[which].sw;
    int status = FAB_OK;
    if (!worked(o, sw))
        return FAB_OK;
    for (uint32_t passed = 0; status == FAB_OK && sw != o->r->column.home; passed++) {
        if (passed > o->r->network->n || !next_switch(o, &sw, true))
            break;
        if (o->r->column.mark[sw] != FAB_MARK_NONE && !worked(o, sw))
            status = add_precedence(o, o->of[o->index[sw]], o->of[which]);
    }
    return status;
}

/* Returns true if the old entry of the change can still carry packets. */
static bool was_alive(const struct ordering *o, const struct fab_repair_change *c)
{
    uint32_t channel = fab_repair_channel(o->r->network, c->sw, c->was);
    return channel != FAB_NONE && !fab_base_bits_get(o->r->is_dead, channel);
}

/* Sets the entry of the change in the column to its new value, if the mixture of old and new
 * entries that results has no loop, and closes no cycle of dependencies. Otherwise restores the old
 * value and returns false. */
static bool try_write(struct ordering *o, const struct fab_repair_change *c)
{
    struct fab_repair *r = o->r;
    uint32_t channel = fab_repair_channel(r->network, c->sw, c->now);
    fab_repair_column_set(r, c->sw, c->now);
    if (channel == FAB_NONE || fab_base_bits_get(r->is_dead, channel))
        return true;
    /* the first call checks that there is no loop */
    bool good = fab_repair_lanes_add(r, FAB_NONE, channel, 0, NULL) &&
                fab_repair_lanes_add(r, c->sw, channel, 0, NULL);
    if (!good)
        fab_repair_column_set(r, c->sw, c->was);
    return good;
}

/* Writes as many of the changes first to end - 1 of a column as possible, one after the other, so
 * that no mixture closes a cycle. *ret_left: the number of the other changes. */
static int write_one_by_one(struct ordering *o, size_t first, size_t end, size_t *ret_left)
{
    const struct fab_repair_change *c = o->d->change;
    size_t last = end;
    bool again = true;
    int status = FAB_OK;
    *ret_left = end - first;
    for (size_t i = first; i < end; i++)
        fab_repair_column_set(o->r, c[i].sw, c[i].was);
    while (again) {
        again = false;
        for (size_t i = first; i < end && status == FAB_OK; i++) {
            if (fab_repair_column_entry(&o->r->column, c[i].sw) == c[i].now || !try_write(o, &c[i]))
                continue;
            if (last != end)
                status = add_precedence(o, o->of[last], o->of[i]);
            last = i;
            again = true;
            --*ret_left;
        }
    }
    return status;
}

/* If the VL depends on the source: adds precedences between the changes of a column, such that
 * no mixture of old and new entries closes a cycle. If no old entry carries packets any more, none
 * are needed, because every mixture is a part of the new entries. If there is no such order,
 * the changes precede each other, so that they are drained. */
static int constrain_lanes(struct ordering *o, size_t first, size_t end)
{
    const struct fab_repair_change *c = o->d->change;
    size_t alive = 0, left = 0;
    for (size_t i = first; i < end; i++)
        alive += was_alive(o, &c[i]);
    if (alive == 0 || end - first == 1)
        return FAB_OK;
    int status = write_one_by_one(o, first, end, &left);
    for (size_t i = first; i < end; i++)
        fab_repair_column_set(o->r, c[i].sw, c[i].now);
    for (size_t i = first + 1; i < end && status == FAB_OK && left > 0; i++) {
        status = add_precedence(o, o->of[i - 1], o->of[i]);
        if (status == FAB_OK)
            status = add_precedence(o, o->of[i], o->of[i - 1]);
    }
    return status;
}

static int constrain_all(struct ordering *o)
{
    const struct fab_repair_delta *d = o->d;
    int status = FAB_OK;
    for (size_t i = 0, end; status == FAB_OK && i < d->changes; i = end) {
        uint32_t lid = d->change[i].lid;
        fab_repair_column_begin(o->r, o->lft, lid);
        for (end = i; end < d->changes && d->change[end].lid == lid; end++) {
            fab_repair_column_set(o->r, d->change[end].sw, d->change[end].now);
            o->index[d->change[end].sw] = (uint32_t)end;
        }
        for (size_t k = i; status == FAB_OK && k < end; k++)
            status = constrain_labels(o, k);
        for (size_t k = i; status == FAB_OK && k < end; k++)
            status = constrain_working(o, k);
        if (status == FAB_OK && o->r->network->pair_vl != NULL)
            status = constrain_lanes(o, i, end);
        fab_repair_column_end(o->r);
    }
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int sort_precedences(struct ordering *o)
{
    size_t writes = o->d->writes;
    free(o->to);
    o->to = fab_base_alloc_array(o->precedences, sizeof(*o->to));
    if (o->to == NULL)
        return FAB_E_NOMEM;
    memset(o->at, 0, (writes + 1) * sizeof(*o->at));
    memset(o->blockers, 0, writes * sizeof(*o->blockers));
    for (size_t i = 0; i < o->precedences; i++)
        o->at[o->precedence[i].first + 1]++;
    for (size_t w = 0; w < writes; w++)
        o->at[w + 1] += o->at[w];
    /* fills each list of to[] from its end towards its beginning */
    for (size_t i = o->precedences; i-- > 0;) {
        o->to[--o->at[o->precedence[i].first + 1]] = o->precedence[i].after;
        o->blockers[o->precedence[i].after]++;
    }
    for (size_t w = 0; w < writes; w++)
        o->at[w] = o->at[w + 1];
    o->at[writes] = (uint32_t)o->precedences;
    return FAB_OK;
}

/* Puts each write into the earliest step that comes after the steps of all writes that must precede
 * it. Returns the number of writes that get no step: they are in a cycle of precedences, or come
 * after one. */
static size_t assign_steps(struct ordering *o, uint32_t *queue)
{
    struct fab_repair_delta *d = o->d;
    size_t head = 0, tail = 0;
    d->steps = d->writes > 0;
    for (size_t w = 0; w < d->writes; w++) {
        d->write[w].step = o->blockers[w] == 0 ? 0 : UNPLACED;
        if (o->blockers[w] == 0)
            queue[tail++] = (uint32_t)w;
    }
    while (head < tail) {
        uint32_t w = queue[head++], step = d->write[w].step;
        d->steps = step >= d->steps ? step + 1 : d->steps;
        for (uint32_t i = o->at[w]; i < o->at[w + 1]; i++) {
            if (--o->blockers[o->to[i]] > 0)
                continue;
            /* The loop visits writes in ascending order of their steps. So w is the last of all
             * writes that must come before write o->to[i], and has the greatest step of them. */
            d->write[o->to[i]].step = step + 1;
            queue[tail++] = o->to[i];
        }
    }
    return d->writes - tail;
}

static int by_urgency(const void *a, const void *b)
{
    const struct fab_repair_write *x = a, *y = b;
    if (x->step != y->step)
        return x->step < y->step ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    if (x->sw != y->sw)
        return x->sw < y->sw ? -1 : 1;
    return x->block < y->block ? -1 : x->block > y->block;
}

/* ---- the order ------------------------------------------------------------------------------- */

/* Makes the writes and assigns them to steps. If `parted` is true, a block may need two writes: the
 * first for entries whose label becomes greater or stays, the second for entries whose label
 * becomes lower. *ret_left: number of writes that got no step. */
static int attempt(struct ordering *o, bool parted, size_t *ret_left)
{
    int status = make_writes(o, parted);
    if (status == FAB_OK)
        status = constrain_all(o);
    if (status == FAB_OK)
        status = sort_precedences(o);
    if (status == FAB_OK)
        /* key[] is no longer used, and serves as scratch memory */
        *ret_left = assign_steps(o, (uint32_t *)o->key);
    return status;
}

/* Handles the writes that got no step because no order of these writes is safe. Each of them is
 * replaced by two writes: the first sets its entries to NO_ROUTE, and the second, a step later,
 * sets their new values. */
static void drain_rest(struct ordering *o)
{
    struct fab_repair_delta *d = o->d;
    for (size_t w = 0, writes = d->writes; w < writes; w++) {
        struct fab_repair_write *last = &d->write[w];
        if (last->step != UNPLACED)
            continue;
        struct fab_repair_write *drops = &d->write[d->writes++];
        last->step = d->steps + 1;
        *drops = *last;
        drops->step = d->steps;
        for (uint32_t i = 0; i < drops->changes; i++)
            drops->drain |= UINT64_C(1)
                            << (d->change[d->by_write[drops->first + i]].lid % FAB_LFT_BLOCK);
        d->drained += last->entries;
    }
    d->steps += 2;
}

/* Adds writes that set the stale entries (struct fab_repair_change) to NO_ROUTE, in a step before
 * all others. */
static void drain_stale(struct ordering *o)
{
    struct fab_repair_delta *d = o->d;
    size_t writes = d->writes;
    for (size_t w = 0; w < writes; w++) {
        struct fab_repair_write *later = &d->write[w], *drops = &d->write[d->writes];
        *drops = (struct fab_repair_write){.sw = later->sw,
                                           .block = later->block,
                                           .first = later->first,
                                           .changes = later->changes,
                                           .early = true};
        for (uint32_t i = 0; i < drops->changes; i++) {
            const struct fab_repair_change *c = &d->change[d->by_write[drops->first + i]];
            uint64_t bit = UINT64_C(1) << (c->lid % FAB_LFT_BLOCK);
            if (c->stale && o->of[d->by_write[drops->first + i]] == w) {
                drops->drain |= bit;
                drops->entries++;
            }
            drops->keep |= bit;
        }
        d->writes += drops->entries > 0;
        d->drained += drops->entries;
    }
    for (size_t w = 0; d->writes > writes && w < writes; w++)
        d->write[w].step++;
    d->steps += d->writes > writes;
}

/* Makes stale the changes first to end - 1 of a column whose old entries can still carry packets.
 */
static void make_stale(struct ordering *o, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        struct fab_repair_change *c = &o->d->change[i];
        if (!was_alive(o, c) || c->now == FAB_LFT_NO_ROUTE)
            continue;
        c->stale = true;
        c->was = FAB_LFT_NO_ROUTE;
    }
}

/* If the VL depends on the source: makes the graphs of dependencies of the new tables, and adds
 * those of the overlay's columns that change. If the old paths of a column close a cycle, its
 * entries that change drop packets before the first new entry is written. */
static int add_old_tables(struct ordering *o)
{
    struct fab_repair *r = o->r;
    struct fab_repair_delta *d = o->d;
    int status = fab_repair_lanes_collect(r, o->lft, d);
    for (size_t i = 0, e = 0, end; status == FAB_OK && i < d->changes; i = end) {
        uint32_t lid = d->change[i].lid;
        for (end = i; end < d->changes && d->change[end].lid == lid;)
            end++;
        while (e < r->entries && r->entry[e].lid < lid)
            e++;
        size_t first = e;
        while (e < r->entries && r->entry[e].lid == lid)
            e++;
        if (e > first &&
            !fab_repair_lanes_add_column(r, o->lft, lid, &r->entry[first], e - first, NULL, 0))
            make_stale(o, i, end);
    }
    return status;
}

static int make_steps(struct ordering *o)
{
    size_t left = 0;
    int status = attempt(o, false, &left);
    if (status == FAB_OK && left > 0)
        status = attempt(o, true, &left);
    if (status == FAB_OK && left > 0)
        status = attempt(o, false, &left);
    if (status == FAB_OK && left > 0)
        drain_rest(o);
    return status;
}

static int order_writes(struct ordering *o)
{
    int status = o->r->network->pair_vl != NULL ? add_old_tables(o) : FAB_OK;
    sort_changes(o);
    if (status == FAB_OK)
        status = make_steps(o);
    if (status == FAB_OK)
        drain_stale(o);
    return status == FAB_OK && o->r->graph.failed ? FAB_E_NOMEM : status;
}

static int alloc_ordering(struct ordering *o)
{
    size_t changes = o->d->changes;
    /* Upper limit: a change is in one write. A drained change is in two writes, and a stale change
     * may need a third. */
    o->d->write = fab_base_alloc_array(changes, 3 * sizeof(*o->d->write));
    o->d->by_write = fab_base_alloc_array(changes, sizeof(*o->d->by_write));
    o->of = fab_base_alloc_array(changes, sizeof(*o->of));
    o->key = fab_base_alloc_array(changes, sizeof(*o->key));
    o->room = fab_base_alloc_array(changes, sizeof(*o->room));
    o->lowers = fab_base_alloc_array(changes, sizeof(*o->lowers));
    o->index = fab_base_alloc_array((size_t)o->r->network->n + 1, sizeof(*o->index));
    o->blockers = fab_base_alloc_array(changes + 1, sizeof(*o->blockers));
    o->at = fab_base_alloc_array(changes + 2, sizeof(*o->at));
    return o->d->write && o->d->by_write && o->of && o->key && o->room && o->lowers && o->index &&
                   o->blockers && o->at
               ? FAB_OK
               : FAB_E_NOMEM;
}

int fab_repair_order(struct fab_repair *r, const struct fab_lft *lft, struct fab_repair_delta *d)
{
    struct ordering o = {.r = r,
                         .lft = lft,
                         .d = d,
                         .relabelled = d->relabels > 0 || fab_repair_labels_differ(r, d)};
    free(d->write);
    free(d->by_write);
    d->write = NULL;
    d->by_write = NULL;
    d->drained = 0;
    int status = alloc_ordering(&o);
    fab_repair_apply_dead(r, d);
    if (status == FAB_OK)
        status = order_writes(&o);
    fab_repair_undo_dead(r, d);
    if (status == FAB_OK)
        qsort(d->write, d->writes, sizeof(*d->write), by_urgency);
    else
        d->writes = 0;
    free(o.of);
    free(o.key);
    free(o.room);
    free(o.lowers);
    free(o.index);
    free(o.precedence);
    free(o.blockers);
    free(o.at);
    free(o.to);
    return status;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void fab_repair_write_bytes(const struct fab_lft *lft, const struct fab_repair_delta *d,
                            const struct fab_repair_write *w, uint8_t ret[FAB_LFT_BLOCK])
{
    memcpy(ret, fab_target_lft_block(lft, w->sw, w->block), FAB_LFT_BLOCK);
    for (uint32_t i = 0; i < w->changes; i++) {
        const struct fab_repair_change *c = &d->change[d->by_write[w->first + i]];
        unsigned at = c->lid % FAB_LFT_BLOCK;
        ret[at] = w->keep >> at & 1 ? c->was : c->now;
        if (w->drain >> at & 1)
            ret[at] = FAB_LFT_NO_ROUTE;
    }
}
