/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries by D-mod-k with stable candidates.
 *
 * A neighbour is a candidate for a destination when it is one cable nearer on a legal way
 * (legal.h). For 64 destinations at a time it is found what a switch takes for each (keys.c). In a
 * sound tree that settles nearly everything:
 *
 *   all of the slots are candidates   each lane takes its slot: a run of bytes is copied
 *   there is one candidate only       all lanes take it: a run of bytes is set
 *
 * Elsewhere each lane looks for itself: pick.c.
 *
 * Most switches have the entries of another: twins (twins.c) that have the same row of ways, when
 * nothing had to be chosen; half twins likewise where neither descends to any of the destinations.
 * And where all lanes take their slots, that is one pattern for all that are cabled the same
 * (pattern.c). Such rows are copied, and in one piece for as many batches as follow on.
 */
#include "libfabmgr/route/fill.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/entries.h"

/* Batches that are filled side by side, so that a row is met once for all. */
#define SIDE_BY_SIDE 4

struct hand {
    struct fab_batch batch[SIDE_BY_SIDE];
    uint32_t batches;
    bool follows[SIDE_BY_SIDE]; /* on the one before, LID by LID */
};

/* A row with the entries of s for this batch, which are to be copied; or NULL: they are there. */
static const uint8_t *fill_or_find(const struct fab_batch *b, uint32_t s)
{
    const struct fab_tree *t = b->t;
    bool descends = fab_legal_descends(b->way, t->g->n)[s];
    uint32_t kind = 2 * (descends ? t->twin[s] : t->half_twin[s]) + descends;
    uint32_t alike = fab_legal_alike(b->way, t->g->n)[s];
    struct fab_keys keys;
    if (b->seen[kind] == alike && b->ranges > 0)
        return b->seen_row[kind];
    const uint8_t *pattern = b->patterns->of[s], *row = NULL;
    bool plain = fab_keys_find(b, s, &keys);
    if (plain && pattern != NULL && b->ranges > 0)
        row = pattern;
    else if (!fab_columns_fill(b, s, &keys))
        return NULL;
    b->seen[kind] = alike;
    b->seen_row[kind] = row != NULL ? row : fab_lft_row(b->lft, s);
    return row;
}

/* The LIDs of batches [first, end), which follow on. */
static void copy(const struct hand *h, uint32_t first, uint32_t end, uint32_t s,
                 const uint8_t *from)
{
    const struct fab_batch *a = &h->batch[first], *z = &h->batch[end - 1];
    uint8_t *row = fab_lft_row(a->lft, s);
    for (uint32_t i = 0; i < a->ranges; i++)
        memcpy(row + a->from[i], from + a->from[i], z->to[i] - a->from[i]);
}

static void fill_switch(const struct hand *h, uint32_t s)
{
    const uint8_t *from = NULL;
    uint32_t first = 0;
    for (uint32_t k = 0; k < h->batches; k++) {
        const uint8_t *next = fill_or_find(&h->batch[k], s);
        if (from != NULL && (next != from || !h->follows[k]))
            copy(h, first, k, s, from);
        if (next != from || !h->follows[k])
            first = k;
        from = next;
    }
    if (from != NULL)
        copy(h, first, h->batches, s, from);
}

static void fill_batches(void *arg, uint32_t i, uint32_t number)
{
    struct hand *h = (struct hand *)arg + number;
    const struct fab_batch *b = h->batch;
    h->batches = 0;
    for (uint32_t first = i * SIDE_BY_SIDE * FAB_LEGAL_BATCH;
         h->batches < SIDE_BY_SIDE && first < b->lanes->dests; first += FAB_LEGAL_BATCH) {
        uint32_t k = h->batches++;
        fab_batch_begin(&h->batch[k], first);
        h->follows[k] = k > 0 && fab_batch_follows(&b[k], &b[k - 1]);
    }
    for (uint32_t s = 0; s < b->t->g->n; s++)
        fill_switch(h, s);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int hand_init(struct hand *h, const struct fab_batch *what)
{
    int status = FAB_OK;
    for (unsigned k = 0; k < SIDE_BY_SIDE && status == FAB_OK; k++) {
        h->batch[k] = *what;
        status = fab_batch_init(&h->batch[k]);
    }
    return status;
}

static void hand_fini(struct hand *h)
{
    for (unsigned k = 0; k < SIDE_BY_SIDE; k++)
        fab_batch_fini(&h->batch[k]);
}

static int fill_all(const struct fab_batch *what, const struct fab_crew *crew)
{
    uint32_t hands = fab_crew_hands(crew), together = SIDE_BY_SIDE * FAB_LEGAL_BATCH;
    struct hand *hand = calloc(hands, sizeof(*hand));
    int status = hand != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < hands && status == FAB_OK; i++)
        status = hand_init(&hand[i], what);
    if (status == FAB_OK)
        fab_crew_run(crew, (what->lanes->dests + together - 1) / together, fill_batches, hand);
    for (uint32_t i = 0; i < hands && hand != NULL; i++)
        hand_fini(&hand[i]);
    free(hand);
    return status;
}

int fab_fill_all(const struct fab_tree *t, const struct fab_lanes *lanes,
                 const struct fab_crew *crew, const struct fab_lft *lft)
{
    struct fab_patterns patterns = {0};
    int status = fab_patterns_make(t, lanes, lft->top, &patterns);
    if (status == FAB_OK)
        status = fill_all(
            &(struct fab_batch){.t = t, .lanes = lanes, .patterns = &patterns, .lft = lft}, crew);
    fab_patterns_fini(&patterns);
    return status;
}
