/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes the LFT entries by D-mod-k.
 *
 * A neighbour is a candidate for a destination if it is one hop nearer on a legal path
 * (legal_paths.h). When a candidate fails, the DLIDs of the other candidates keep their ports. A
 * batch is 64 destination switches with all their LIDs. For one batch at a time, decisions.c finds
 * how a switch chooses the port for each destination. In a complete tree nearly all choices are of
 * two kinds:
 *
 *   all slots lead to candidates    each DLID takes its slot: a range of bytes is copied
 *   there is one candidate          all DLIDs take it: a range of bytes is set
 *
 * Otherwise the port is chosen for each DLID separately (candidates.c).
 *
 * Most switches have the same entries as another switch; such entries are copied. Two switches of
 * one full class (switch_classes.c) have the same entries for a batch on two conditions: their path
 * lengths to the 64 destinations are equal, and no entry needed a choice among candidates. If no
 * path from the two switches descends to any of these destinations, a full class that compares only
 * upper neighbours is enough. If all DLIDs take their slots, all switches with the same slots share
 * one pattern (slot_patterns.c). The entries of several batches with adjacent LIDs are copied in
 * one piece.
 *
 * An LFT row is an array with one entry per LID: the LFT of a switch, or a pattern. The row of path
 * lengths of a switch has its path lengths to the 64 destinations of a batch.
 */
#include "libfabmgr/route/fattree/fill.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/status.h"
#include "libfabmgr/route/fattree/entries.h"

/* Number of batches (of 64 destinations) that a worker fills together, so that it visits the LFT of
 * each switch once for all of them. */
#define BATCHES 8

struct worker {
    struct fab_batch batch[BATCHES];
    uint32_t batches;
    /* for each batch, whether its LIDs directly follow the LIDs of the batch before */
    bool follows[BATCHES];
};

/* ---- switches with equal entries ------------------------------------------------------------- */

static uint32_t hash_class(uint32_t kind, uint32_t row_of)
{
    return (kind * 0x9e3779b1u + row_of * 0x85ebca6bu) >> 24;
}

/* Compares two switches of the same port class. Returns true if, on each port, their neighbours
 * have equal path lengths to all destinations of the batch. If `descends` is false, compares only
 * the upper neighbours. */
static bool equal_neighbour_rows(const struct fab_batch *b, uint32_t s, uint32_t other,
                                 bool descends)
{
    const struct fab_updown *sl = b->t->updown;
    const uint32_t *row_of = b->row_of;
    const uint32_t *from = descends ? sl->at : sl->mid;
    const uint32_t *mine = sl->nbr + from[s], *theirs = sl->nbr + from[other];
    for (uint32_t i = 0; i < sl->at[s + 1] - from[s]; i++) {
        if (row_of[mine[i]] != row_of[theirs[i]])
            return false;
    }
    return true;
}

static const uint8_t *find_equal_entries(const struct fab_batch *b, uint32_t s, uint32_t at)
{
    bool descends = b->descends[s];
    uint32_t c = b->cached[at];
    bool same = c != FAB_NONE && b->row_of[c] == b->row_of[s] && b->descends[c] == descends &&
                b->t->port_class[2 * c + descends] == b->t->port_class[2 * s + descends] &&
                equal_neighbour_rows(b, s, c, descends);
    return same ? b->cached_row[at] : NULL;
}

/* Called if no entries of the full class of switch s are known yet for the path lengths of s, or if
 * the batch has too many ranges of LIDs for copies. If another switch has the same entries, returns
 * an LFT row that contains them, for the caller to copy. Otherwise writes the entries of s and
 * returns NULL. */
static __attribute__((noinline)) const uint8_t *fill_first(struct fab_batch *b, uint32_t s)
{
    uint32_t class_id = 2 * s + b->descends[s],
             at = hash_class(b->t->port_class[class_id], b->row_of[s]);
    const uint8_t *row = b->ranges > 0 ? find_equal_entries(b, s, at) : NULL;
    if (row == NULL) {
        struct fab_decisions decisions;
        bool plain = fab_route_decisions_find(b, s, &decisions);
        if (plain && b->ranges > 0)
            row = b->patterns->of[s];
        if (row == NULL && !fab_route_columns_fill(b, s, &decisions))
            return NULL;
        b->cached[at] = s;
        b->cached_row[at] = row != NULL ? row : fab_target_lft_row(b->lft, s);
    }
    b->class_row_of[b->t->full_class[class_id]] = b->row_of[s];
    b->class_row[b->t->full_class[class_id]] = row != NULL ? row : fab_target_lft_row(b->lft, s);
    return row;
}

/* If another switch has the same entries for this batch as switch s, returns an LFT row that
 * contains them, for the caller to copy. Otherwise writes the entries of s and returns NULL. */
static inline const uint8_t *fill_or_find(struct fab_batch *b, uint32_t s)
{
    uint32_t full_class = b->t->full_class[2 * s + b->descends[s]];
    return b->class_row_of[full_class] == b->row_of[s] && b->ranges > 0 ? b->class_row[full_class]
                                                                        : fill_first(b, s);
}

/* ---- one switch ------------------------------------------------------------------------------ */

/* Copies entries of switch s from the LFT row `from`: the entries for the batches from `first` up
 * to, but not including, `end`. The LIDs of these batches are adjacent. */
static void copy(const struct worker *h, uint32_t first, uint32_t end, uint32_t s,
                 const uint8_t *from)
{
    const struct fab_batch *a = &h->batch[first], *z = &h->batch[end - 1];
    uint8_t *row = fab_target_lft_row(a->lft, s);
    for (uint32_t i = 0; i < a->ranges; i++)
        memcpy(row + a->from[i], from + a->from[i], z->to[i] - a->from[i]);
}

static void fill_switch(struct worker *h, uint32_t s)
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
    struct worker *h = (struct worker *)arg + number;
    const struct fab_batch *b = h->batch;
    h->batches = 0;
    for (uint32_t first = i * BATCHES * FAB_LEGAL_BATCH;
         h->batches < BATCHES && first < b->dmodk->dests; first += FAB_LEGAL_BATCH) {
        uint32_t k = h->batches++;
        fab_route_batch_begin(&h->batch[k], first);
        h->follows[k] = k > 0 && fab_route_batch_follows(&b[k], &b[k - 1]);
    }
    for (uint32_t s = 0; s < b->t->g->n; s++)
        fill_switch(h, s);
}

/* ---- all switches ---------------------------------------------------------------------------- */

static int worker_init(struct worker *h, const struct fab_batch *what)
{
    int status = FAB_OK;
    for (unsigned k = 0; k < BATCHES && status == FAB_OK; k++) {
        h->batch[k] = *what;
        status = fab_route_batch_init(&h->batch[k]);
    }
    return status;
}

static void worker_fini(struct worker *h)
{
    for (unsigned k = 0; k < BATCHES; k++)
        fab_route_batch_fini(&h->batch[k]);
}

static int fill_all(const struct fab_batch *what, const struct fab_pool *pool)
{
    uint32_t workers = fab_base_pool_workers(pool), together = BATCHES * FAB_LEGAL_BATCH;
    struct worker *worker = calloc(workers, sizeof(*worker));
    int status = worker != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < workers && status == FAB_OK; i++)
        status = worker_init(&worker[i], what);
    if (status == FAB_OK)
        fab_base_pool_run(pool, (what->dmodk->dests + together - 1) / together, fill_batches,
                          worker);
    for (uint32_t i = 0; i < workers && worker != NULL; i++)
        worker_fini(&worker[i]);
    free(worker);
    return status;
}

int fab_route_tree_fill(const struct fab_tree *t, const struct fab_dmodk *dmodk,
                        const struct fab_pool *pool, const struct fab_lft *lft)
{
    struct fab_slot_patterns patterns = {0};
    int status = fab_route_slot_patterns_make(t, dmodk, lft->top, &patterns);
    if (status == FAB_OK)
        status = fill_all(
            &(struct fab_batch){.t = t, .dmodk = dmodk, .patterns = &patterns, .lft = lft}, pool);
    fab_route_slot_patterns_fini(&patterns);
    return status;
}
