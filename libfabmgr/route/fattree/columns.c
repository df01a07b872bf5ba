/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the LFT entries of one switch for a batch of 64 destination switches. A column stands for
 * one destination switch. The entries of adjacent columns with equal keys (fab_decisions) are
 * written in one piece: a range of bytes is set, or copied from the pattern of the slots
 * (slot_patterns.c). */
#include <string.h>

#include "libfabmgr/route/fattree/entries.h"

/* ---- ranges of bytes ------------------------------------------------------------------------- */

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/* Sets `count` bytes to `num`. Ranges of 16 to 32 bytes are written by two stores that may overlap,
 * which is faster than a call of memset. */
static inline void set_run(uint8_t *to, uint8_t num, uint32_t count)
{
    if (count == 1) {
        *to = num;
    } else if (count >= 16 && count <= 32) {
        bytes16 piece = (bytes16){0} + num;
        memcpy(to, &piece, 16);
        memcpy(to + count - 16, &piece, 16);
    } else {
        memset(to, num, count);
    }
}

/* The LIDs of adjacent destination switches. Each has a run of consecutive LIDs and at most one
 * further LID. All runs together are `len` LIDs, beginning with `lid`. The further LIDs together
 * are `tails` LIDs, beginning with `tail`. */
struct span {
    uint32_t lid, len, tail, tails;
};

static struct span span_of(const struct fab_batch *b, uint32_t from, uint32_t to)
{
    const struct fab_dmodk_dest *dest_lids = &b->dmodk->dest[b->first + from];
    const struct fab_dmodk_dest *last = &b->dmodk->dest[b->first + to - 1];
    struct span span = {.lid = dest_lids->lid, .len = last->lid + last->run - dest_lids->lid};
    if (dest_lids->count > dest_lids->run) {
        span.tail = b->dmodk->dlid[dest_lids->at + dest_lids->run].lid;
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
    set_run(c->row + c->dlids.lid, num, c->dlids.run);
    for (uint32_t i = c->dlids.run; i < c->dlids.count; i++)
        c->row[c->dlid[i].lid] = num;
}

static void take_attached_port(const struct fab_entry_choice *c)
{
    for (uint32_t i = 0; i < c->dlids.count; i++)
        c->row[c->dlid[i].lid] = c->dlid[i].port;
}

static void take_slots(const struct fab_entry_choice *c)
{
    const struct fab_dmodk *l = c->b->dmodk;
    const uint8_t *slot = l->slots_of[l->up[c->s]].slot + c->dlids.at;
    const uint8_t *num = c->b->t->slot_num + c->b->t->slot_at[c->s];
    for (uint32_t i = 0; i < c->dlids.count; i++)
        c->row[c->dlid[i].lid] = num[slot[i]];
}

/* Returns the port of parallel link k (from 0) to the neighbour `nbr`. usual: the number of
 * parallel links if none is missing. Parallel links are on adjacent ports of the upper switch, so
 * the port numbers show which links are missing. */
static uint8_t parallel_port(const struct fab_tree *t, uint32_t s, uint32_t nbr, uint32_t usual,
                             uint32_t k)
{
    const uint8_t *num = t->ports.num + t->ports.at[nbr];
    uint32_t count = t->ports.at[nbr + 1] - t->ports.at[nbr];
    uint32_t first = t->first_down[t->o->rank[s]];
    if (count >= usual)
        return num[k];
    for (uint32_t i = 0; i < count; i++) {
        if ((uint32_t)(num[i] - first) % usual == k)
            return num[i];
    }
    return num[k % count];
}

/* Sends all DLIDs of a destination to one neighbour, over several parallel links. */
static void take_parallel(const struct fab_entry_choice *c, uint32_t nbr)
{
    const struct fab_tree *t = c->b->t;
    uint32_t ports = t->ports.at[nbr + 1] - t->ports.at[nbr];
    const uint8_t *num = t->ports.num + t->ports.at[nbr];
    const struct fab_dmodk_slots *slots_of = &c->b->dmodk->slots_of[c->b->dmodk->down[c->s]];
    for (uint32_t i = 0; i < c->dlids.count; i++) {
        const struct fab_dmodk_dlid *dlid = &c->dlid[i];
        uint32_t k = dlid->number / t->divider[c->s] + dlid->offset;
        c->row[dlid->lid] = slots_of->slots > 0 ? parallel_port(t, c->s, nbr, slots_of->slots,
                                                                slots_of->slot[c->dlids.at + i])
                                                : num[k % ports];
    }
}

/* Writes the entries for one destination switch (column). Returns false if it had to choose the
 * port for each LID separately, among several candidates (fab_route_entry_choose). */
static bool fill_column(const struct fab_batch *b, uint32_t s,
                        const struct fab_decisions *decisions, uint32_t column)
{
    const struct fab_dmodk_dest *dest_lids = &b->dmodk->dest[b->first + column];
    const struct fab_entry_choice c = {.b = b,
                                       .s = s,
                                       .dest = b->first + column,
                                       .column = column,
                                       .row = fab_target_lft_row(b->lft, s),
                                       .dlid = b->dmodk->dlid + dest_lids->at,
                                       .dlids = *dest_lids};
    uint8_t key = decisions->key[column];
    if (key == FAB_DECISION_SLOTS)
        take_slots(&c);
    else if (key != FAB_DECISION_CHOOSE)
        set_all(&c, key);
    else if (decisions->count[column] == 1)
        take_parallel(&c, b->t->updown->at[s] + decisions->last[column]);
    else if (b->dmodk->sw[c.dest] == s)
        take_attached_port(&c);
    else
        fab_route_entry_choose(&c);
    return key != FAB_DECISION_CHOOSE || decisions->count[column] == 1 || b->dmodk->sw[c.dest] == s;
}

/* ---- all columns ----------------------------------------------------------------------------- */

/* Writes the entries of switch `s` for a batch in which each destination switch has one LID. The
 * entry for destination switch i is the port decisions->key[i], except for two values of key[i].
 * FAB_DECISION_SLOTS: D-mod-k selects the port, which is in `pattern`. FAB_DECISION_CHOOSE:
 * fill_column selects the port. Returns false if fill_column chose ports for each LID
 * separately. */
static bool fill_single(const struct fab_batch *b, uint32_t s,
                        const struct fab_decisions *decisions, const uint8_t *pattern)
{
    uint8_t entry[FAB_LEGAL_BATCH];
    const uint8_t *slots = pattern + b->from[0], *key = decisions->key;
    bool simple = true;
    for (uint32_t i = 0; i < FAB_LEGAL_BATCH; i++)
        entry[i] = key[i] == FAB_DECISION_SLOTS    ? slots[i]
                   : key[i] == FAB_DECISION_CHOOSE ? FAB_LFT_NO_ROUTE
                                                   : key[i];
    memcpy(fab_target_lft_row(b->lft, s) + b->from[0], entry, b->count);
    const uint8_t *other = memchr(key, FAB_DECISION_CHOOSE, b->count);
    for (uint32_t i; other != NULL; other = memchr(key + i, FAB_DECISION_CHOOSE, b->count - i)) {
        i = (uint32_t)(other - key);
        simple = fill_column(b, s, decisions, i++) && simple;
    }
    return simple;
}

bool fab_route_columns_fill(const struct fab_batch *b, uint32_t s,
                            const struct fab_decisions *decisions)
{
    const uint8_t *pattern = b->patterns->of[s], *key = decisions->key;
    uint8_t *row = fab_target_lft_row(b->lft, s);
    bool simple = true;
    if (b->single && pattern != NULL)
        return fill_single(b, s, decisions, pattern);
    for (uint32_t i = 0, to; i < b->count; i = to) {
        bool piece =
            key[i] != FAB_DECISION_CHOOSE && (key[i] != FAB_DECISION_SLOTS || pattern != NULL);
        to = i + 1;
        if (!piece || b->span[i] == FAB_SPAN_NONE) {
            simple = fill_column(b, s, decisions, i) && simple;
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
