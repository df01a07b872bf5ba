/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One destination at one switch where something has to be chosen: several ways, and not all slots
 * lead on.
 *
 * Each lane looks for itself. It takes its slot if that is a candidate, so that a fault moves no
 * lane that it does not hit. Orphans look further in the room of slots, not among those that are
 * left, so that a second fault moves again only those that it hits: the first look goes round all
 * other slots evenly by (number / divider / slots) and by the place of the switch, so that neither
 * the orphans of one switch nor those of all switches meet on one cable; the next looks are drawn.
 */
#include "libfabmgr/base/prng.h"
#include "libfabmgr/route/fattree/entries.h"

#define BATCH FAB_LEGAL_BATCH
#define LOOKS 64

bool fab_route_parallel_missing(const struct fab_batch *b, uint32_t s, uint32_t dest)
{
    const struct fab_tree *t = b->t;
    uint32_t home = b->lanes->sw[dest], rank = t->o->rank[s];
    return t->parallel[rank] > 1 && t->o->rank[home] == rank && !t->whole[home] &&
           !t->irregular_switch[home] && !t->irregular_switch[s] &&
           t->slot_at[home + 1] - t->slot_at[home] == t->slot_at[s + 1] - t->slot_at[s];
}

struct choice {
    const struct fab_entry_choice *c;
    uint32_t under, slots, nbrs, cables; /* candidates: neighbours, and cables to them */
    const uint8_t *slot_num, *slot_nbr;
    const uint8_t *home; /* ports of the destination's slots, where some lack; or NULL */
    uint32_t nbr[256];   /* candidates, indices into slopes.nbr */
    bool is[256];        /* by index from slopes.at[s] */
    bool upward;         /* some are in slots */
};

static void collect(const struct fab_entry_choice *c, struct choice *ret)
{
    const struct fab_tree *t = c->b->t;
    const struct fab_updown *sl = t->slopes;
    const uint8_t *ways = c->b->way + c->column;
    const uint32_t *alike = c->b->alike;
    uint8_t own = ways[(size_t)alike[c->s] * BATCH];
    uint8_t need = (uint8_t)((own & FAB_LEGAL_HOPS) - 1);
    ret->c = c;
    ret->under = t->under[c->s];
    ret->slots = t->slot_at[c->s + 1] - t->slot_at[c->s];
    ret->slot_num = t->slot_num + t->slot_at[c->s];
    ret->slot_nbr = t->slot_nbr + t->slot_at[c->s];
    if (fab_route_parallel_missing(c->b, c->s, c->dest))
        ret->home = t->slot_num + t->slot_at[c->b->lanes->sw[c->dest]];
    for (uint32_t n = sl->at[c->s]; n < sl->at[c->s + 1]; n++) {
        uint8_t way = ways[(size_t)alike[sl->nbr[n]] * BATCH];
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
    return x->slot_num[slot] != 0 && x->is[x->slot_nbr[slot]] &&
           (x->home == NULL || x->home[slot] != 0);
}

/* The k-th of all cables to candidates, round and round. */
static uint8_t any_cable(const struct choice *x, uint32_t k)
{
    const struct fab_nbr_ports *cables = &x->c->b->t->cables;
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
    const struct fab_tree *t = x->c->b->t;
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

void fab_route_entry_choose(const struct fab_entry_choice *c)
{
    const struct fab_dmodk_slots *gear = &c->b->lanes->gear[c->b->lanes->up[c->s]];
    struct choice x = {0};
    collect(c, &x);
    if (x.nbrs == 0)
        return;
    for (uint32_t i = 0; i < c->set.count; i++) {
        const struct fab_dmodk_dlid *lane = &c->lane[i];
        uint8_t *entry = &c->row[lane->lid];
        if (!x.upward || x.slots == 0) {
            *entry = descend(&x, lane->number, lane->offset);
            continue;
        }
        uint32_t slot = gear->slot[c->set.at + i];
        uint32_t turn = lane->number / gear->divider + lane->offset;
        *entry = slot_is_good(&x, slot) ? x.slot_num[slot] : adopt(&x, slot, turn, lane->number);
    }
}
