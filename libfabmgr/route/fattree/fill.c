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
#include "libfabmgr/route/fattree/fill.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/entries.h"

/* Batches that are filled side by side, so that a row is met once for all. */
#define SIDE_BY_SIDE 8

struct hand {
    struct fab_batch batch[SIDE_BY_SIDE];
    uint32_t batches;
    bool follows[SIDE_BY_SIDE]; /* on the one before, LID by LID */
};

/* ---- who has the entries of whom ------------------------------------------------------------- */

static uint32_t sign(uint32_t kind, uint32_t alike)
{
    return (kind * 0x9e3779b1u + alike * 0x85ebca6bu) >> 24;
}

/* Are the neighbours of s as far from everything as those of a cousin, one by one? */
static bool same_views(const struct fab_batch *b, uint32_t s, uint32_t cousin, bool descends)
{
    const struct fab_updown *sl = b->t->slopes;
    const uint32_t *alike = b->alike;
    const uint32_t *from = descends ? sl->at : sl->mid;
    const uint32_t *mine = sl->nbr + from[s], *theirs = sl->nbr + from[cousin];
    for (uint32_t i = 0; i < sl->at[s + 1] - from[s]; i++) {
        if (alike[mine[i]] != alike[theirs[i]])
            return false;
    }
    return true;
}

static const uint8_t *find_cousin(const struct fab_batch *b, uint32_t s, uint32_t at)
{
    bool descends = b->descends[s];
    uint32_t c = b->like[at];
    bool same = c != FAB_NONE && b->alike[c] == b->alike[s] && b->descends[c] == descends &&
                b->t->cousin[2 * c + descends] == b->t->cousin[2 * s + descends] &&
                same_views(b, s, c, descends);
    return same ? b->like_row[at] : NULL;
}

/* A row with the entries of s, which had no twin before it, as fill_or_find. */
static __attribute__((noinline)) const uint8_t *fill_first(struct fab_batch *b, uint32_t s)
{
    uint32_t kin = 2 * s + b->descends[s], at = sign(b->t->cousin[kin], b->alike[s]);
    const uint8_t *row = b->ranges > 0 ? find_cousin(b, s, at) : NULL;
    if (row == NULL) {
        struct fab_decisions keys;
        bool plain = fab_route_decisions_find(b, s, &keys);
        if (plain && b->ranges > 0)
            row = b->patterns->of[s];
        if (row == NULL && !fab_route_columns_fill(b, s, &keys))
            return NULL;
        b->like[at] = s;
        b->like_row[at] = row != NULL ? row : fab_lft_row(b->lft, s);
    }
    b->seen[b->t->twin[kin]] = b->alike[s];
    b->seen_row[b->t->twin[kin]] = row != NULL ? row : fab_lft_row(b->lft, s);
    return row;
}

/* A row with the entries of s for this batch, which are to be copied; or NULL: they are there. */
static inline const uint8_t *fill_or_find(struct fab_batch *b, uint32_t s)
{
    uint32_t twin = b->t->twin[2 * s + b->descends[s]];
    return b->seen[twin] == b->alike[s] && b->ranges > 0 ? b->seen_row[twin] : fill_first(b, s);
}

/* ---- one switch ------------------------------------------------------------------------------ */

/* The LIDs of batches [first, end), which follow on. */
static void copy(const struct hand *h, uint32_t first, uint32_t end, uint32_t s,
                 const uint8_t *from)
{
    const struct fab_batch *a = &h->batch[first], *z = &h->batch[end - 1];
    uint8_t *row = fab_lft_row(a->lft, s);
    for (uint32_t i = 0; i < a->ranges; i++)
        memcpy(row + a->from[i], from + a->from[i], z->to[i] - a->from[i]);
}

static void fill_switch(struct hand *h, uint32_t s)
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
        fab_route_batch_begin(&h->batch[k], first);
        h->follows[k] = k > 0 && fab_route_batch_follows(&b[k], &b[k - 1]);
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
        status = fab_route_batch_init(&h->batch[k]);
    }
    return status;
}

static void hand_fini(struct hand *h)
{
    for (unsigned k = 0; k < SIDE_BY_SIDE; k++)
        fab_route_batch_fini(&h->batch[k]);
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

int fab_route_tree_fill(const struct fab_tree *t, const struct fab_dmodk *lanes,
                        const struct fab_crew *crew, const struct fab_lft *lft)
{
    struct fab_slot_patterns patterns = {0};
    int status = fab_route_slot_patterns_make(t, lanes, lft->top, &patterns);
    if (status == FAB_OK)
        status = fill_all(
            &(struct fab_batch){.t = t, .lanes = lanes, .patterns = &patterns, .lft = lft}, crew);
    fab_route_slot_patterns_fini(&patterns);
    return status;
}
