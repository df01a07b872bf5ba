/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries by D-mod-k with stable candidates.
 *
 * A neighbour is a candidate for a destination when it is one cable nearer on a legal way
 * (legal.h). For 64 destinations at a time it is counted how many candidates there are, how many of
 * the neighbours in slots are among them, and which is the last: whole rows of 64 bytes at a time.
 * In a sound tree that settles nearly everything:
 *
 *   all of the slots are candidates   each lane takes its slot: a run of bytes is copied
 *   there is one candidate only       all lanes take it: a run of bytes is set
 *
 * Elsewhere each lane looks for itself. It takes its slot if that is a candidate, so that a fault
 * moves no lane that it does not hit. Orphans look further in the room of slots, not among those
 * that are left, so that a second fault moves again only those that it hits: the first look goes
 * round all other slots evenly by (number / divider / slots) and by the place of the switch, so
 * that neither the orphans of one switch nor those of all switches meet on one cable; the next
 * looks are drawn.
 */
#include "libfabmgr/route/fill.h"

#include <string.h>

#include "libfabmgr/base/prng.h"

#define BATCH FAB_LEGAL_BATCH
#define LOOKS 64

typedef uint8_t lane16 __attribute__((vector_size(16)));
struct row {
    lane16 v[BATCH / 16];
};
struct sets {
    struct row count, in_slots, last;
};

static lane16 all(uint8_t x)
{
    return (lane16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

static void add(struct row *to, lane16 is, unsigned i)
{
    to->v[i] -= is; /* true is -1 */
}

/* Candidates of s for all columns. */
static void count_candidates(const struct fab_fill *f, uint32_t s, struct sets *ret)
{
    const struct row *way = (const struct row *)(const void *)f->way;
    const struct fab_slopes *sl = f->t->slopes;
    const uint8_t *rank = f->t->o->rank;
    struct sets sets = {0};
    struct row need, climbs;
    for (unsigned i = 0; i < BATCH / 16; i++) {
        need.v[i] = (way[s].v[i] & all(FAB_LEGAL_HOPS)) - all(1);
        climbs.v[i] = (lane16)(way[s].v[i] >= all(FAB_LEGAL_CLIMBS));
    }
    for (uint32_t n = sl->at[s]; n < sl->at[s + 1]; n++) {
        const struct row *from = &way[sl->nbr[n]];
        lane16 slot = all(rank[sl->nbr[n]] > rank[s] ? 0xff : 0);
        lane16 at = all((uint8_t)(n - sl->at[s]));
        bool above = n >= sl->mid[s];
        for (unsigned i = 0; i < BATCH / 16; i++) {
            lane16 is =
                above ? climbs.v[i] & (lane16)((from->v[i] & all(FAB_LEGAL_HOPS)) == need.v[i])
                      : (lane16)(from->v[i] == need.v[i]);
            add(&sets.count, is, i);
            add(&sets.in_slots, is & slot, i);
            sets.last.v[i] = (is & at) | (sets.last.v[i] & ~is);
        }
    }
    *ret = sets;
}

/* ---- one destination at one switch ----------------------------------------------------------- */

struct cell {
    const struct fab_fill *f;
    uint32_t s, dest;
    unsigned column;
    uint8_t *row; /* of the table */
    const struct fab_dest *lane;
    uint32_t lane_at, lanes;
};

static void set_all(const struct cell *c, uint8_t num)
{
    const struct fab_dest *lane = c->lane;
    if (lane[c->lanes - 1].lid - lane[0].lid + 1 == c->lanes) {
        memset(c->row + lane[0].lid, num, c->lanes);
        return;
    }
    for (uint32_t i = 0; i < c->lanes; i++)
        c->row[lane[i].lid] = num;
}

static void go_home(const struct cell *c)
{
    for (uint32_t i = 0; i < c->lanes; i++)
        c->row[c->lane[i].lid] = c->lane[i].port;
}

/* The slots' ports, long enough to copy a run from any slot. */
struct wheel {
    uint32_t slots, room;
    const struct fab_gear *gear;
    uint8_t num[2 * FAB_TREE_SLOTS + 2];
};

static void make_wheel(const struct fab_fill *f, uint32_t s, struct wheel *w)
{
    const struct fab_tree *t = f->t;
    w->slots = t->slot_at[s + 1] - t->slot_at[s];
    w->gear = &f->lanes->gear[f->lanes->up[s]];
    w->room = 0;
    if (w->slots == 0)
        return;
    uint32_t want = w->slots + (f->lanes->most < FAB_TREE_SLOTS ? f->lanes->most : FAB_TREE_SLOTS);
    while (w->room < want) {
        uint32_t here = want - w->room < w->slots ? want - w->room : w->slots;
        memcpy(w->num + w->room, t->slot_num + t->slot_at[s], here);
        w->room += here;
    }
}

static void take_slots(const struct cell *c, const struct wheel *w)
{
    const uint8_t *slot = w->gear->slot + c->lane_at;
    uint8_t kind = w->gear->kind[c->dest];
    if (kind == FAB_RUN_NEXT && slot[0] + c->lanes <= w->room) {
        memcpy(c->row + c->lane[0].lid, w->num + slot[0], c->lanes);
    } else if (kind == FAB_RUN_ONE) {
        memset(c->row + c->lane[0].lid, w->num[slot[0]], c->lanes);
    } else {
        for (uint32_t i = 0; i < c->lanes; i++)
            c->row[c->lane[i].lid] = w->num[slot[i]];
    }
}

/* The cable to a neighbour that is meant by the k-th of those that are usual. The cables that are
 * there stand side by side on the ports of the upper switch. */
static uint8_t parallel_port(const struct fab_tree *t, uint32_t s, uint32_t nbr, uint32_t usual,
                             uint32_t k)
{
    const uint8_t *num = t->cables.num + t->cables.at[nbr];
    uint32_t count = t->cables.at[nbr + 1] - t->cables.at[nbr];
    uint32_t first = t->first_down[t->o->rank[s]];
    if (count >= usual)
        return num[k];
    for (uint32_t i = 0; i < count; i++) {
        if ((uint32_t)(num[i] - first) % usual == k)
            return num[i];
    }
    return num[k % count];
}

/* All lanes to one neighbour. */
static void take_only(const struct cell *c, uint32_t nbr)
{
    const struct fab_tree *t = c->f->t;
    uint32_t cables = t->cables.at[nbr + 1] - t->cables.at[nbr];
    const uint8_t *num = t->cables.num + t->cables.at[nbr];
    const struct fab_gear *gear = &c->f->lanes->gear[c->f->lanes->down[c->s]];
    if (cables == 1) {
        set_all(c, num[0]);
        return;
    }
    for (uint32_t i = 0; i < c->lanes; i++) {
        const struct fab_dest *lane = &c->lane[i];
        uint32_t k = lane->number / t->divider[c->s] + lane->offset;
        c->row[lane->lid] =
            gear->slots > 0 ? parallel_port(t, c->s, nbr, gear->slots, gear->slot[c->lane_at + i])
                            : num[k % cables];
    }
}

/* ---- the general case ------------------------------------------------------------------------ */

struct choice {
    const struct cell *c;
    uint32_t under, slots, nbrs, cables; /* candidates: neighbours, and cables to them */
    const uint8_t *slot_num, *slot_nbr;
    uint32_t nbr[256]; /* candidates, indices into slopes.nbr */
    bool is[256];      /* by index from slopes.at[s] */
    bool upward;       /* some are in slots */
};

static void collect(const struct cell *c, struct choice *ret)
{
    const struct fab_tree *t = c->f->t;
    const struct fab_slopes *sl = t->slopes;
    uint8_t own = c->f->way[(size_t)c->s * BATCH + c->column];
    uint8_t need = (uint8_t)((own & FAB_LEGAL_HOPS) - 1);
    ret->c = c;
    ret->under = t->under[c->s];
    ret->slots = t->slot_at[c->s + 1] - t->slot_at[c->s];
    ret->slot_num = t->slot_num + t->slot_at[c->s];
    ret->slot_nbr = t->slot_nbr + t->slot_at[c->s];
    for (uint32_t n = sl->at[c->s]; n < sl->at[c->s + 1]; n++) {
        uint8_t way = c->f->way[(size_t)sl->nbr[n] * BATCH + c->column];
        bool is = n < sl->mid[c->s] ? way == need
                                    : own >= FAB_LEGAL_CLIMBS && (way & FAB_LEGAL_HOPS) == need;
        ret->is[n - sl->at[c->s]] = is;
        if (!is)
            continue;
        ret->nbr[ret->nbrs++] = n;
        ret->cables += t->cables.at[n + 1] - t->cables.at[n];
        ret->upward = ret->upward || t->o->rank[sl->nbr[n]] > t->o->rank[c->s];
    }
}

static bool slot_is_good(const struct choice *x, uint32_t slot)
{
    return x->slot_num[slot] != 0 && x->is[x->slot_nbr[slot]];
}

/* The k-th of all cables to candidates, round and round. */
static uint8_t any_cable(const struct choice *x, uint32_t k)
{
    const struct fab_cables *cables = &x->c->f->t->cables;
    k %= x->cables;
    for (uint32_t i = 0; i < x->nbrs; i++) {
        uint32_t count = cables->at[x->nbr[i] + 1] - cables->at[x->nbr[i]];
        if (k < count)
            return cables->num[cables->at[x->nbr[i]] + k];
        k -= count;
    }
    return 0;
}

/* The next look of an orphan whose slot is `slot`. */
static uint8_t adopt(const struct choice *x, uint32_t slot, uint32_t turn, uint32_t number)
{
    uint32_t k = x->slots;
    if (k < 2)
        return any_cable(x, turn);
    uint32_t look = (slot + 1 + (turn / k + x->under) % (k - 1)) % k;
    for (uint32_t i = 0; i < LOOKS; i++) {
        if (slot_is_good(x, look))
            return x->slot_num[look];
        uint64_t key = ((uint64_t)number << 32) + ((uint64_t)x->under << 16) + i;
        look = (uint32_t)(fab_mix64(key + 1) % k);
    }
    for (uint32_t i = 0; i < k; i++, look = look + 1 < k ? look + 1 : 0) {
        if (slot_is_good(x, look))
            return x->slot_num[look];
    }
    return any_cable(x, turn);
}

/* Down, with several switches to go by: by the one that this destination's packets climb to in its
 * own part of the tree, so that all come down by the same one. */
static uint8_t descend(const struct choice *x, uint32_t number, uint32_t offset)
{
    const struct fab_tree *t = x->c->f->t;
    uint32_t first = t->slopes->nbr[x->nbr[0]];
    uint32_t places = t->siblings[first] > 0 ? t->siblings[first] : 1;
    uint32_t divider = t->divider[first] / places;
    uint32_t turn = number / (divider > 0 ? divider : 1) + offset;
    for (uint32_t i = 0; i < x->nbrs && t->siblings[first] > 0; i++) {
        uint32_t nbr = x->nbr[i], cables = t->cables.at[nbr + 1] - t->cables.at[nbr];
        if (t->over[t->slopes->nbr[nbr]] == turn % places)
            return t->cables.num[t->cables.at[nbr] + turn / places % cables];
    }
    return any_cable(x, turn / places + x->under);
}

static void choose(const struct cell *c, const struct wheel *w)
{
    struct choice x = {0};
    collect(c, &x);
    if (x.nbrs == 0)
        return;
    for (uint32_t i = 0; i < c->lanes; i++) {
        const struct fab_dest *lane = &c->lane[i];
        uint8_t *entry = &c->row[lane->lid];
        if (!x.upward || x.slots == 0) {
            *entry = descend(&x, lane->number, lane->offset);
            continue;
        }
        uint32_t slot = w->gear->slot[c->lane_at + i];
        uint32_t turn = lane->number / w->gear->divider + lane->offset;
        *entry = slot_is_good(&x, slot) ? x.slot_num[slot] : adopt(&x, slot, turn, lane->number);
    }
}

/* ---- one switch ------------------------------------------------------------------------------ */

void fab_fill_switch(const struct fab_fill *f, uint32_t s)
{
    const struct fab_lanes *l = f->lanes;
    const uint8_t *way = f->way + (size_t)s * BATCH;
    union {
        struct sets rows;
        struct {
            uint8_t count[BATCH], in_slots[BATCH], last[BATCH];
        } by;
    } sets;
    struct wheel wheel;
    count_candidates(f, s, &sets.rows);
    make_wheel(f, s, &wheel);
    struct cell c = {.f = f, .s = s, .row = fab_lft_row(f->lft, s)};
    uint8_t full = f->t->whole[s] ? f->t->slot_nbrs[s] : UINT8_MAX;
    for (uint32_t i = 0; i < f->count; i++) {
        c.column = i;
        c.dest = f->first + i;
        c.lane_at = l->at[c.dest];
        c.lanes = l->at[c.dest + 1] - c.lane_at;
        c.lane = l->lane + c.lane_at;
        if (way[i] == FAB_LEGAL_NONE)
            continue;
        if (l->sw[c.dest] == s)
            go_home(&c);
        else if (sets.by.in_slots[i] == full)
            take_slots(&c, &wheel);
        else if (sets.by.count[i] == 1)
            take_only(&c, f->t->slopes->at[s] + sets.by.last[i]);
        else
            choose(&c, &wheel);
    }
}
