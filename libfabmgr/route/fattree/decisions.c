/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each of 64 destinations takes at one switch.
 *
 * It is counted how many of the neighbours are candidates, how many of those in slots are among
 * them, and which is the last: 16 columns at a time, in registers. Neighbours that follow each
 * other and have the same row of ways are counted as one.
 */
#include <string.h>

#include "libfabmgr/route/fattree/entries.h"

#define BATCH FAB_LEGAL_BATCH

typedef uint8_t lane16 __attribute__((vector_size(16)));
struct row {
    lane16 v[BATCH / 16];
};

static lane16 all(uint8_t x)
{
    return (lane16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

/* Neighbours that follow each other, have one row of ways, and are all of a higher rank or all not
 * (summit.c turns cables round, so that "above" does not mean that). In each lane: how many they
 * are, how many of them are higher, which is the last, and its port if it has one cable. */
struct stretch {
    const struct row *way;
    lane16 count, higher, last, lone;
};

/* Those of one switch: first those below, then those above. */
struct looks {
    struct stretch stretch[256];
    uint32_t belows, count;
    uint8_t full; /* neighbours in slots, if all slots have a port */
};

/* Adds those of nbr[from..to). */
static void find_stretches(const struct fab_batch *b, uint32_t s, uint32_t from, uint32_t to,
                           struct looks *x)
{
    const struct row *way = (const struct row *)(const void *)b->way;
    const struct fab_updown *sl = b->t->slopes;
    const uint32_t *alike = b->alike;
    const uint8_t *higher = b->t->higher;
    for (uint32_t n = from, first = from; n < to; first = n) {
        uint32_t like = alike[sl->nbr[n]];
        while (++n < to && alike[sl->nbr[n]] == like && higher[n] == higher[first])
            ;
        lane16 count = all((uint8_t)(n - first));
        x->stretch[x->count++] = (struct stretch){.way = &way[like],
                                                  .count = count,
                                                  .higher = count & all(higher[first]),
                                                  .last = all((uint8_t)(n - 1 - sl->at[s])),
                                                  .lone = all(b->t->lone[n - 1])};
    }
}

struct sums {
    lane16 count, in_slots, last, lone;
};
static inline void add(struct sums *sums, const struct stretch *k, lane16 is)
{
    sums->count += is & k->count;
    sums->in_slots += is & k->higher;
    sums->last |= is & k->last;
    sums->lone |= is & k->lone;
}

/* 16 columns. last[] and lone are right where the count is 1. Returns where all take their slots.
 */
static lane16 find_sixteen(const struct looks *x, lane16 own, unsigned i, struct fab_decisions *ret)
{
    lane16 need = (own & all(FAB_LEGAL_HOPS)) - all(1);
    lane16 climbs = (lane16)(own >= all(FAB_LEGAL_CLIMBS));
    struct sums sums = {0};
    for (uint32_t k = 0; k < x->belows; k++)
        add(&sums, &x->stretch[k], (lane16)(x->stretch[k].way->v[i] == need));
    for (uint32_t k = x->belows; k < x->count; k++) {
        lane16 hops = x->stretch[k].way->v[i] & all(FAB_LEGAL_HOPS);
        add(&sums, &x->stretch[k], climbs & (lane16)(hops == need));
    }
    lane16 slots = (lane16)(sums.in_slots == all(x->full));
    lane16 key = slots | (sums.lone & (lane16)(sums.count == all(1)));
    memcpy(ret->key + i * 16, &key, sizeof(key));
    memcpy(ret->count + i * 16, &sums.count, sizeof(sums.count));
    memcpy(ret->last + i * 16, &sums.last, sizeof(sums.last));
    return slots;
}

/* Columns whose slots lead to a switch with several cables, one of which lacks. */
static bool mend_short(const struct fab_batch *b, uint32_t s, struct fab_decisions *keys)
{
    const uint8_t *lone = b->t->lone + b->t->slopes->at[s];
    bool plain = true;
    for (uint32_t i = 0; i < b->count; i++) {
        if (keys->key[i] == FAB_DECISION_SLOTS && fab_route_parallel_missing(b, s, b->first + i))
            keys->key[i] = keys->count[i] == 1 ? lone[keys->last[i]] : FAB_DECISION_CHOOSE;
        plain = plain && keys->key[i] == FAB_DECISION_SLOTS;
    }
    return plain;
}

bool fab_route_decisions_find(const struct fab_batch *b, uint32_t s, struct fab_decisions *ret)
{
    const struct fab_tree *t = b->t;
    const struct fab_updown *sl = t->slopes;
    const struct row *own = (const struct row *)(const void *)b->way + b->alike[s];
    struct looks x; /* large: not cleared */
    x.count = 0;
    x.full = t->whole[s] ? t->slot_nbrs[s] : UINT8_MAX;
    if (b->descends[s])
        find_stretches(b, s, sl->at[s], sl->mid[s], &x);
    x.belows = x.count;
    find_stretches(b, s, sl->mid[s], sl->at[s + 1], &x);
    lane16 plain = all(0xff);
    for (unsigned i = 0; i < BATCH / 16; i++)
        plain &= find_sixteen(&x, own->v[i], i, ret);
    bool several = t->parallel[t->o->rank[s]] > 1;
    if (several || b->count < BATCH)
        return mend_short(b, s, ret);
    lane16 want = all(0xff);
    return memcmp(&plain, &want, sizeof(want)) == 0;
}
