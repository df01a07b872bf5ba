/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The entries of one switch for the destinations at hand. Columns that follow on and take the same
 * are written in one piece: a run of bytes is set, or copied from the pattern of the slots.
 */
#include <string.h>

#include "libfabmgr/route/fattree/entries.h"

/* ---- pieces ---------------------------------------------------------------------------------- */

typedef uint8_t lane16 __attribute__((vector_size(16)));

/* Short ones without a call: two stores that overlap. */
static inline void set_run(uint8_t *to, uint8_t num, uint32_t count)
{
    if (count == 1) {
        *to = num;
    } else if (count >= 16 && count <= 32) {
        lane16 piece = (lane16){0} + num;
        memcpy(to, &piece, 16);
        memcpy(to + count - 16, &piece, 16);
    } else {
        memset(to, num, count);
    }
}

/* The LIDs of columns [from, to) that follow on: their runs, and what is behind the runs. */
struct span {
    uint32_t lid, len, tail, tails;
};

static struct span span_of(const struct fab_batch *b, uint32_t from, uint32_t to)
{
    const struct fab_dmodk_dest *set = &b->lanes->dest[b->first + from];
    const struct fab_dmodk_dest *last = &b->lanes->dest[b->first + to - 1];
    struct span span = {.lid = set->lid, .len = last->lid + last->run - set->lid};
    if (set->count > set->run) {
        span.tail = b->lanes->lane[set->at + set->run].lid;
        span.tails = to - from;
    }
    return span;
}

static void set_span(uint8_t *row, struct span span, uint8_t num)
{
    set_run(row + span.lid, num, span.len);
    if (span.tails > 0)
        set_run(row + span.tail, num, span.tails);
}

static void copy_span(uint8_t *row, const uint8_t *pattern, struct span span)
{
    memcpy(row + span.lid, pattern + span.lid, span.len);
    memcpy(row + span.tail, pattern + span.tail, span.tails);
}

/* ---- one column ------------------------------------------------------------------------------ */

static void set_all(const struct fab_entry_choice *c, uint8_t num)
{
    set_run(c->row + c->set.lid, num, c->set.run);
    for (uint32_t i = c->set.run; i < c->set.count; i++)
        c->row[c->lane[i].lid] = num;
}

static void go_home(const struct fab_entry_choice *c)
{
    for (uint32_t i = 0; i < c->set.count; i++)
        c->row[c->lane[i].lid] = c->lane[i].port;
}

static void take_slots(const struct fab_entry_choice *c)
{
    const struct fab_dmodk *l = c->b->lanes;
    const uint8_t *slot = l->gear[l->up[c->s]].slot + c->set.at;
    const uint8_t *num = c->b->t->slot_num + c->b->t->slot_at[c->s];
    for (uint32_t i = 0; i < c->set.count; i++)
        c->row[c->lane[i].lid] = num[slot[i]];
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

/* All lanes to one neighbour, by several cables. */
static void take_parallel(const struct fab_entry_choice *c, uint32_t nbr)
{
    const struct fab_tree *t = c->b->t;
    uint32_t cables = t->cables.at[nbr + 1] - t->cables.at[nbr];
    const uint8_t *num = t->cables.num + t->cables.at[nbr];
    const struct fab_dmodk_slots *gear = &c->b->lanes->gear[c->b->lanes->down[c->s]];
    for (uint32_t i = 0; i < c->set.count; i++) {
        const struct fab_dmodk_dlid *lane = &c->lane[i];
        uint32_t k = lane->number / t->divider[c->s] + lane->offset;
        c->row[lane->lid] =
            gear->slots > 0 ? parallel_port(t, c->s, nbr, gear->slots, gear->slot[c->set.at + i])
                            : num[k % cables];
    }
}

/* Returns false if something had to be chosen. */
static bool fill_cell(const struct fab_batch *b, uint32_t s, const struct fab_decisions *keys,
                      uint32_t column)
{
    const struct fab_dmodk_dest *set = &b->lanes->dest[b->first + column];
    const struct fab_entry_choice c = {.b = b,
                                       .s = s,
                                       .dest = b->first + column,
                                       .column = column,
                                       .row = fab_lft_row(b->lft, s),
                                       .lane = b->lanes->lane + set->at,
                                       .set = *set};
    uint8_t key = keys->key[column];
    if (key == FAB_DECISION_SLOTS)
        take_slots(&c);
    else if (key != FAB_DECISION_CHOOSE)
        set_all(&c, key);
    else if (keys->count[column] == 1)
        take_parallel(&c, b->t->slopes->at[s] + keys->last[column]);
    else if (b->lanes->sw[c.dest] == s)
        go_home(&c);
    else
        fab_route_entry_choose(&c);
    return key != FAB_DECISION_CHOOSE || keys->count[column] == 1 || b->lanes->sw[c.dest] == s;
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* A LID a column: 64 keys are 64 entries, but for those that are meant by slots, and for others,
 * which may have no way at all. */
static bool fill_single(const struct fab_batch *b, uint32_t s, const struct fab_decisions *keys,
                        const uint8_t *pattern)
{
    uint8_t entry[FAB_LEGAL_BATCH];
    const uint8_t *slots = pattern + b->from[0], *key = keys->key;
    bool simple = true;
    for (uint32_t i = 0; i < FAB_LEGAL_BATCH; i++)
        entry[i] = key[i] == FAB_DECISION_SLOTS    ? slots[i]
                   : key[i] == FAB_DECISION_CHOOSE ? FAB_LFT_NO_ROUTE
                                                   : key[i];
    memcpy(fab_lft_row(b->lft, s) + b->from[0], entry, b->count);
    const uint8_t *other = memchr(key, FAB_DECISION_CHOOSE, b->count);
    for (uint32_t i; other != NULL; other = memchr(key + i, FAB_DECISION_CHOOSE, b->count - i)) {
        i = (uint32_t)(other - key);
        simple = fill_cell(b, s, keys, i++) && simple;
    }
    return simple;
}

bool fab_route_columns_fill(const struct fab_batch *b, uint32_t s, const struct fab_decisions *keys)
{
    const uint8_t *pattern = b->patterns->of[s], *key = keys->key;
    uint8_t *row = fab_lft_row(b->lft, s);
    bool simple = true;
    if (b->single && pattern != NULL)
        return fill_single(b, s, keys, pattern);
    for (uint32_t i = 0, to; i < b->count; i = to) {
        bool piece =
            key[i] != FAB_DECISION_CHOOSE && (key[i] != FAB_DECISION_SLOTS || pattern != NULL);
        to = i + 1;
        if (!piece || b->span[i] == FAB_SPAN_NONE) {
            simple = fill_cell(b, s, keys, i) && simple;
            continue;
        }
        while (to < b->count && key[to] == key[i] && b->span[to] == FAB_SPAN_FOLLOWS)
            to++;
        if (key[i] == FAB_DECISION_SLOTS)
            copy_span(row, pattern, span_of(b, i, to));
        else
            set_span(row, span_of(b, i, to), key[i]);
    }
    return simple;
}
