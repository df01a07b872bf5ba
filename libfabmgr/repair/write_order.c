/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of the writes of one delta.
 *
 * On the way every mixture of old and new entries occurs that the order allows. As long as labels
 * ascend from each entry to the next in all of them, none has a loop or a cycle of dependencies,
 * and every packet arrives that does not come
 * to a dead cable. Old entries ascend to old ones and new to new; what
 * remains, for each change at a switch:
 *
 *   - its label becomes less (it climbs now to where it descended): those who sent here by a label
 *     that is not below the new one must have their new entries first;
 *   - its label becomes greater (a cable is back): those who will send here by a label that is not
 *     below the old one get their new entries only then.
 *
 * And where a way works and shall change (cables come back, or die and come back at once), those
 * further on that do not work yet come first.
 *
 * These make a graph of "before" between blocks, and steps are its layers. In an up*|down* order
 * the first kind leads from switches above to ones below, the second up from below; both at once
 * may join blocks in a circle, which ends when each of them is written in two parts: first what
 * becomes greater or stays, then what becomes less. Should a circle be left (labels that are no
 * order of switches), its entries drop packets until all are drained of the old ones: a step in
 * which they are written as NO_ROUTE, and one with what they shall be.
 *
 * Entries of switches that were cut off and are not any more may lead to where they must not, for
 * as long as others there have not got their new entries: these drop from before the cable comes up
 * (an early step of their own) until then.
 *
 * Packets under way at the moment of a write may still meet the turn that the order avoids for
 * all that follow; those of the first kind came to a dead end, where switches discard them.
 */
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"

#define UNPLACED UINT32_MAX

struct before {
    uint32_t first, then; /* writes */
};

struct ordering {
    struct fab_repair *r;
    const struct fab_lft *lft;
    struct fab_repair_delta *d;
    uint32_t *of;    /* [changes] the write of each */
    uint64_t *key;   /* [changes] */
    uint64_t *room;  /* [changes] */
    bool *less;      /* [changes] its label becomes less */
    uint32_t *index; /* [n] change of a switch in the column at hand, where marked */
    struct before *before;
    size_t befores, before_room;
    bool lifted;     /* labels are not the baseline's, now or then */
    uint32_t *waits; /* [writes] */
    uint32_t *at;    /* [writes + 1] of to[] */
    uint32_t *to;    /* [befores] */
};

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool is_less(const struct fab_repair *r, const struct fab_repair_change *c)
{
    const struct fab_repair_network *b = r->base;
    const uint32_t *label = fab_repair_labels_for(r, c->lid);
    uint32_t was = fab_repair_channel(b, c->sw, c->was);
    uint32_t now = fab_repair_channel(b, c->sw, c->now);
    return was != FAB_NONE && now != FAB_NONE && label[now] < label[was];
}

static int add_before(struct ordering *o, uint32_t first, uint32_t then)
{
    if (first == then)
        return FAB_OK;
    if (o->befores == o->before_room) {
        void *more = fab_base_grow(o->before, sizeof(*o->before), o->befores + 1, &o->before_room);
        if (more == NULL)
            return FAB_E_NOMEM;
        o->before = more;
    }
    o->before[o->befores++] = (struct before){.first = first, .then = then};
    return FAB_OK;
}

/* Changes of one block, or of a part of it, as writes: d->by_write[first..end). */
static int make_block(struct ordering *o, size_t first, size_t end, bool parted)
{
    struct fab_repair_delta *d = o->d;
    const struct fab_repair_change *c = &d->change[d->by_write[first]];
    uint32_t part[2] = {UNPLACED, UNPLACED};
    uint64_t bits[2] = {0};
    for (size_t i = first; i < end; i++) {
        uint32_t which = d->by_write[i];
        unsigned p = parted && o->less[which];
        if (part[p] == UNPLACED) {
            part[p] = (uint32_t)d->writes++;
            d->write[part[p]] = (struct fab_repair_write){.sw = c->sw,
                                                          .block = c->lid / FAB_LFT_BLOCK,
                                                          .first = (uint32_t)first,
                                                          .changes = (uint32_t)(end - first)};
        }
        d->write[part[p]].entries++;
        d->write[part[p]].weight += o->r->base->hosts[c->sw];
        bits[p] |= UINT64_C(1) << (d->change[which].lid % FAB_LFT_BLOCK);
        o->of[which] = part[p];
    }
    d->blocks++;
    if (part[0] == UNPLACED || part[1] == UNPLACED)
        return FAB_OK;
    d->write[part[0]].keep = bits[1];
    return add_before(o, part[0], part[1]);
}

/* Sorts the changes by switch; by LID they are. Returns where the keys are. */
static void sort_changes(struct ordering *o)
{
    struct fab_repair_delta *d = o->d;
    unsigned bits = 32 - (unsigned)__builtin_clz(o->r->base->n | 1);
    for (size_t i = 0; i < d->changes; i++) {
        o->less[i] = is_less(o->r, &d->change[i]);
        o->key[i] = (uint64_t)d->change[i].sw << 32 | i;
    }
    const uint64_t *sorted = fab_repair_radix_sort(o->key, o->room, d->changes, 32, bits);
    for (size_t i = 0; i < d->changes; i++)
        d->by_write[i] = (uint32_t)sorted[i];
}

/* parted: the changes to lesser labels make writes of their own, after the others. */
static int make_writes(struct ordering *o, bool parted)
{
    struct fab_repair_delta *d = o->d;
    int status = FAB_OK;
    d->writes = d->blocks = o->befores = 0;
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

/* ---- what must come before what -------------------------------------------------------------- */

/* Nobody waits beyond an entry that leads nowhere: 0; nor beyond one into the dark, which suits the
 * labels all the same unless they were made others because of it. */
static uint32_t label_of(const struct ordering *o, const uint32_t *label, uint32_t sw, uint8_t num)
{
    uint32_t channel = fab_repair_channel(o->r->base, sw, num);
    bool none = channel == FAB_NONE || (o->lifted && fab_base_bits_get(o->r->dark, channel));
    return none ? 0 : label[channel];
}

/* For a change of label: neighbours that sent here before and will not then, or the other way
 * round, by a label that fits the one state only. */
static int constrain_labels(struct ordering *o, size_t which)
{
    const struct fab_repair_network *b = o->r->base;
    const struct fab_repair_column *column = &o->r->column;
    const struct fab_repair_change *c = &o->d->change[which];
    uint32_t was = label_of(o, column->label, c->sw, c->was);
    uint32_t now = label_of(o, column->label, c->sw, c->now);
    bool less = now != 0 && (was == 0 || now < was), more = was != 0 && (now == 0 || now > was);
    int status = FAB_OK;
    if (!less && !more)
        return FAB_OK;
    for (uint32_t port = b->first[c->sw] + 1; status == FAB_OK && port < b->first[c->sw + 1];
         port++) {
        uint32_t from = b->hop[port];
        if (from == FAB_NONE || column->mark[from] == FAB_MARK_NONE)
            continue; /* it sends as ever, which suits both */
        const struct fab_repair_change *u = &o->d->change[o->index[from]];
        uint32_t label = column->label[fab_repair_peer_port(b, port)];
        if (less && u->was == b->back[port] && label >= now)
            status = add_before(o, o->of[o->index[from]], o->of[which]);
        if (more && u->now == b->back[port] && label >= was)
            status = add_before(o, o->of[which], o->of[o->index[from]]);
    }
    return status;
}

/* One cable further by the old tables, or the new ones; false: into the dark, or nowhere. */
static bool next_switch(const struct ordering *o, uint32_t *sw, bool new)
{
    const struct fab_repair *r = o->r;
    uint8_t num = r->column.mark[*sw] == FAB_MARK_NONE ? fab_repair_table_entry(&r->column, *sw)
                  : new                                ? o->d->change[o->index[*sw]].now
                                                       : o->d->change[o->index[*sw]].was;
    uint32_t channel = fab_repair_channel(r->base, *sw, num);
    if (channel == FAB_NONE || fab_base_bits_get(r->dark, channel))
        return false;
    *sw = r->base->hop[channel];
    return true;
}

static bool worked(const struct ordering *o, uint32_t sw)
{
    for (uint32_t passed = 0; sw != o->r->column.home; passed++) {
        if (passed > o->r->base->n || !next_switch(o, &sw, false))
            return false;
    }
    return true;
}

/* A way that works is not changed before those on the new one that do not work yet. */
static int constrain_working(struct ordering *o, size_t which)
{
    uint32_t sw = o->d->change[which].sw;
    int status = FAB_OK;
    if (!worked(o, sw))
        return FAB_OK;
    for (uint32_t passed = 0; status == FAB_OK && sw != o->r->column.home; passed++) {
        if (passed > o->r->base->n || !next_switch(o, &sw, true))
            break;
        if (o->r->column.mark[sw] != FAB_MARK_NONE && !worked(o, sw))
            status = add_before(o, o->of[o->index[sw]], o->of[which]);
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
        fab_repair_column_end(o->r);
    }
    return status;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int sort_befores(struct ordering *o)
{
    size_t writes = o->d->writes;
    free(o->to);
    o->to = fab_base_alloc_array(o->befores, sizeof(*o->to));
    if (o->to == NULL)
        return FAB_E_NOMEM;
    memset(o->at, 0, (writes + 1) * sizeof(*o->at));
    memset(o->waits, 0, writes * sizeof(*o->waits));
    for (size_t i = 0; i < o->befores; i++)
        o->at[o->before[i].first + 1]++;
    for (size_t w = 0; w < writes; w++)
        o->at[w + 1] += o->at[w];
    for (size_t i = o->befores; i-- > 0;) { /* fills from behind; at[] ends as the starts */
        o->to[--o->at[o->before[i].first + 1]] = o->before[i].then;
        o->waits[o->before[i].then]++;
    }
    for (size_t w = 0; w < writes; w++)
        o->at[w] = o->at[w + 1];
    o->at[writes] = (uint32_t)o->befores;
    return FAB_OK;
}

/* Layers, each write in the first that it can be in. Returns how many writes have no place: they
 * are in circles, or behind one. */
static size_t lay(struct ordering *o, uint32_t *queue)
{
    struct fab_repair_delta *d = o->d;
    size_t head = 0, tail = 0;
    d->steps = d->writes > 0;
    for (size_t w = 0; w < d->writes; w++) {
        d->write[w].step = o->waits[w] == 0 ? 0 : UNPLACED;
        if (o->waits[w] == 0)
            queue[tail++] = (uint32_t)w;
    }
    while (head < tail) {
        uint32_t w = queue[head++], step = d->write[w].step;
        d->steps = step >= d->steps ? step + 1 : d->steps;
        for (uint32_t i = o->at[w]; i < o->at[w + 1]; i++) {
            if (--o->waits[o->to[i]] > 0)
                continue;
            d->write[o->to[i]].step = step + 1; /* the last one of those before is the latest */
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

/* ---- all of it ------------------------------------------------------------------------------- */

/* Steps of whole blocks, or of parts. ret_left: writes without a place. */
static int attempt(struct ordering *o, bool parted, size_t *ret_left)
{
    int status = make_writes(o, parted);
    if (status == FAB_OK)
        status = constrain_all(o);
    if (status == FAB_OK)
        status = sort_befores(o);
    if (status == FAB_OK)
        *ret_left = lay(o, (uint32_t *)o->key); /* which is free now */
    return status;
}

/* No order is safe for the blocks that have no place: they drop first. */
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

/* Stale entries drop before all else. */
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

static int alloc_ordering(struct ordering *o)
{
    size_t changes = o->d->changes;
    /* A change is in one write, or in two when it is drained, or three when stale as well. */
    o->d->write = fab_base_alloc_array(changes, 3 * sizeof(*o->d->write));
    o->d->by_write = fab_base_alloc_array(changes, sizeof(*o->d->by_write));
    o->of = fab_base_alloc_array(changes, sizeof(*o->of));
    o->key = fab_base_alloc_array(changes, sizeof(*o->key));
    o->room = fab_base_alloc_array(changes, sizeof(*o->room));
    o->less = fab_base_alloc_array(changes, sizeof(*o->less));
    o->index = fab_base_alloc_array((size_t)o->r->base->n + 1, sizeof(*o->index));
    o->waits = fab_base_alloc_array(changes + 1, sizeof(*o->waits));
    o->at = fab_base_alloc_array(changes + 2, sizeof(*o->at));
    return o->d->write && o->d->by_write && o->of && o->key && o->room && o->less && o->index &&
                   o->waits && o->at
               ? FAB_OK
               : FAB_E_NOMEM;
}

int fab_repair_order(struct fab_repair *r, const struct fab_lft *lft, struct fab_repair_delta *d)
{
    struct ordering o = {
        .r = r, .lft = lft, .d = d, .lifted = d->lifts > 0 || fab_repair_labels_differ(r, d)};
    size_t left = 0;
    free(d->write);
    free(d->by_write);
    d->write = NULL;
    d->by_write = NULL;
    d->drained = 0;
    int status = alloc_ordering(&o);
    fab_repair_apply_dead(r, d);
    if (status == FAB_OK)
        sort_changes(&o);
    if (status == FAB_OK)
        status = attempt(&o, false, &left);
    if (status == FAB_OK && left > 0)
        status = attempt(&o, true, &left);
    if (status == FAB_OK && left > 0)
        status = attempt(&o, false, &left);
    if (status == FAB_OK && left > 0)
        drain_rest(&o);
    if (status == FAB_OK)
        drain_stale(&o);
    fab_repair_undo_dead(r, d);
    if (status == FAB_OK)
        qsort(d->write, d->writes, sizeof(*d->write), by_urgency);
    else
        d->writes = 0;
    free(o.of);
    free(o.key);
    free(o.room);
    free(o.less);
    free(o.index);
    free(o.before);
    free(o.waits);
    free(o.at);
    free(o.to);
    return status;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void fab_repair_write_bytes(const struct fab_lft *lft, const struct fab_repair_delta *d,
                            const struct fab_repair_write *w, uint8_t ret[FAB_LFT_BLOCK])
{
    memcpy(ret, fab_target_lft_row(lft, w->sw) + (size_t)w->block * FAB_LFT_BLOCK, FAB_LFT_BLOCK);
    for (uint32_t i = 0; i < w->changes; i++) {
        const struct fab_repair_change *c = &d->change[d->by_write[w->first + i]];
        unsigned at = c->lid % FAB_LFT_BLOCK;
        ret[at] = w->keep >> at & 1 ? c->was : c->now;
        if (w->drain >> at & 1)
            ret[at] = FAB_LFT_NO_ROUTE;
    }
}
