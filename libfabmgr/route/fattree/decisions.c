/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decides how one switch chooses the output port for each destination of a batch of 64.
 *
 * A candidate is a neighbour that is one hop nearer to the destination on a legal path. Slots are
 * the ports from which D-mod-k selects for packets that ascend (tree.h). If every slot has a link,
 * and all neighbours to which slots lead are candidates, each DLID takes the slot that D-mod-k
 * selects. Otherwise all DLIDs take the only candidate; if there are several, candidates.c chooses.
 *
 * So each destination needs three values: the number of candidates, the number of candidates to
 * which slots lead, and the last candidate. Vector registers hold 16 destinations (columns) at a
 * time, and consecutive neighbours with equal path lengths are counted in one step.
 */
#include <string.h>

#include "libfabmgr/route/fattree/entries.h"

#define BATCH FAB_LEGAL_BATCH

typedef uint8_t bytes16 __attribute__((vector_size(16)));
struct row {
    bytes16 v[BATCH / 16];
};

static bytes16 all(uint8_t x)
{
    return (bytes16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

/* A run of consecutive neighbours with equal path lengths to all destinations of the batch. Either
 * all neighbours of the run have a higher rank than the switch, or none has. (An upper neighbour
 * may have a lower rank, since single_root.c reverses links.) All elements of a vector are equal.
 * count: number of neighbours; higher: number of neighbours with a higher rank; last: the last
 * neighbour; single_port: the port to the last neighbour, if a single link leads to it. */
struct nbr_run {
    const struct row *paths;
    bytes16 count, higher, last, single_port;
};

/* The runs of neighbours of one switch: first the runs of lower neighbours, then the runs of upper
 * neighbours. */
struct nbr_runs {
    struct nbr_run nbr_run[256];
    uint32_t lower, count;
    /* number of different neighbours to which slots lead; UINT8_MAX if there are no slots, or some
     * slot has no port */
    uint8_t full;
};

/* Adds neighbours of switch s to x: those from index `from` of updown.nbr[] up to, but not
 * including, index `to`. Successive neighbours with equal path lengths form one run. */
static void find_runs(const struct fab_batch *b, uint32_t s, uint32_t from, uint32_t to,
                      struct nbr_runs *x)
{
    const struct row *paths = (const struct row *)(const void *)b->paths;
    const struct fab_updown *sl = b->t->updown;
    const uint32_t *row_of = b->row_of;
    const uint8_t *higher = b->t->higher;
    for (uint32_t n = from, first = from; n < to; first = n) {
        uint32_t cached = row_of[sl->nbr[n]];
        while (++n < to && row_of[sl->nbr[n]] == cached && higher[n] == higher[first])
            ;
        bytes16 count = all((uint8_t)(n - first));
        x->nbr_run[x->count++] = (struct nbr_run){.paths = &paths[cached],
                                                  .count = count,
                                                  .higher = count & all(higher[first]),
                                                  .last = all((uint8_t)(n - 1 - sl->at[s])),
                                                  .single_port = all(b->t->single_port[n - 1])};
    }
}

struct sums {
    bytes16 count, in_slots, last, single_port;
};
static inline void add(struct sums *sums, const struct nbr_run *k, bytes16 is)
{
    sums->count += is & k->count;
    sums->in_slots += is & k->higher;
    sums->last |= is & k->last;
    sums->single_port |= is & k->single_port;
}

/* Decides how a switch forwards to the destinations 16 * i to 16 * i + 15 of the batch. own: path
 * lengths of the switch to these destinations. Sets three values for each destination: `count`, the
 * number of candidates; `last`, the last candidate; and `key`. The key is FAB_DECISION_SLOTS if
 * every slot has a link, and all neighbours to which slots lead are candidates. It is a port if
 * there is one candidate, to which a single link leads. Otherwise it is FAB_DECISION_CHOOSE.
 * Returns 0xff for each destination whose key is FAB_DECISION_SLOTS, and 0 for each other
 * destination. */
static bytes16 find_sixteen(const struct nbr_runs *x, bytes16 own, unsigned i,
                            struct fab_decisions *ret)
{
    bytes16 need = (own & all(FAB_LEGAL_HOPS)) - all(1);
    bytes16 climbs = (bytes16)(own >= all(FAB_LEGAL_CLIMBS));
    struct sums sums = {0};
    for (uint32_t k = 0; k < x->lower; k++)
        add(&sums, &x->nbr_run[k], (bytes16)(x->nbr_run[k].paths->v[i] == need));
    for (uint32_t k = x->lower; k < x->count; k++) {
        bytes16 hops = x->nbr_run[k].paths->v[i] & all(FAB_LEGAL_HOPS);
        add(&sums, &x->nbr_run[k], climbs & (bytes16)(hops == need));
    }
    bytes16 slots = (bytes16)(sums.in_slots == all(x->full));
    bytes16 key = slots | (sums.single_port & (bytes16)(sums.count == all(1)));
    memcpy(ret->key + i * 16, &key, sizeof(key));
    memcpy(ret->count + i * 16, &sums.count, sizeof(sums.count));
    memcpy(ret->last + i * 16, &sums.last, sizeof(sums.last));
    return slots;
}

/* Corrects the keys of destination switches that lack one of several parallel uplinks
 * (fab_route_parallel_missing), since their DLIDs cannot all take their slots. The key becomes the
 * port to the only candidate, or FAB_DECISION_CHOOSE. Returns true if all keys of the batch are
 * still FAB_DECISION_SLOTS. */
static bool correct_missing_parallel(const struct fab_batch *b, uint32_t s,
                                     struct fab_decisions *decisions)
{
    const uint8_t *single_port = b->t->single_port + b->t->updown->at[s];
    bool plain = true;
    for (uint32_t i = 0; i < b->count; i++) {
        if (decisions->key[i] == FAB_DECISION_SLOTS &&
            fab_route_parallel_missing(b, s, b->first + i))
            decisions->key[i] =
                decisions->count[i] == 1 ? single_port[decisions->last[i]] : FAB_DECISION_CHOOSE;
        plain = plain && decisions->key[i] == FAB_DECISION_SLOTS;
    }
    return plain;
}

bool fab_route_decisions_find(const struct fab_batch *b, uint32_t s, struct fab_decisions *ret)
{
    const struct fab_tree *t = b->t;
    const struct fab_updown *sl = t->updown;
    const struct row *own = (const struct row *)(const void *)b->paths + b->row_of[s];
    /* only some members are initialised, because nbr_run[] is large */
    struct nbr_runs x;
    x.count = 0;
    x.full = t->whole[s] ? t->slot_nbrs[s] : UINT8_MAX;
    if (b->descends[s])
        find_runs(b, s, sl->at[s], sl->mid[s], &x);
    x.lower = x.count;
    find_runs(b, s, sl->mid[s], sl->at[s + 1], &x);
    bytes16 plain = all(0xff);
    for (unsigned i = 0; i < BATCH / 16; i++)
        plain &= find_sixteen(&x, own->v[i], i, ret);
    bool several = t->parallel[t->o->rank[s]] > 1;
    if (several || b->count < BATCH)
        return correct_missing_parallel(b, s, ret);
    bytes16 want = all(0xff);
    /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): vectors have no padding bytes */
    return memcmp(&plain, &want, sizeof(want)) == 0;
}
