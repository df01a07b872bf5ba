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
 * Elsewhere each lane looks for itself: pick.c.
 */
#include "libfabmgr/route/fill.h"

#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/route/entries.h"

#define BATCH FAB_LEGAL_BATCH

typedef uint8_t lane16 __attribute__((vector_size(16)));
struct row {
    lane16 v[BATCH / 16];
};
struct sets {
    uint8_t count[BATCH], in_slots[BATCH], last[BATCH];
};

static lane16 all(uint8_t x)
{
    return (lane16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

/* Neighbours that follow each other, have one row of ways, and are all of a higher rank or all not
 * (summit.c turns cables round, so that "above" does not mean that). */
struct stretch {
    const struct row *way;
    uint8_t count, last, higher;
};

/* Those of nbr[from..to). */
static uint32_t find_stretches(const struct fab_fill *f, uint32_t s, uint32_t from, uint32_t to,
                               struct stretch *ret)
{
    const struct row *way = (const struct row *)(const void *)f->way;
    const struct fab_slopes *sl = f->t->slopes;
    const uint32_t *alike = fab_legal_alike(f->way, sl->n);
    const uint8_t *higher = f->t->higher;
    uint32_t count = 0, before = FAB_NONE;
    for (uint32_t n = from; n < to; n++) {
        uint32_t like = alike[sl->nbr[n]];
        if (like != before || higher[n] != ret[count - 1].higher)
            ret[count++] = (struct stretch){.way = &way[like], .higher = higher[n]};
        before = like;
        ret[count - 1].count++;
        ret[count - 1].last = (uint8_t)(n - sl->at[s]);
    }
    return count;
}

/* Candidates of s for 16 columns. last[] is right where count[] is 1. */
static void count_sixteen(const struct stretch *below, uint32_t belows, const struct stretch *above,
                          uint32_t aboves, lane16 own, unsigned i, struct sets *ret)
{
    lane16 need = (own & all(FAB_LEGAL_HOPS)) - all(1);
    lane16 climbs = (lane16)(own >= all(FAB_LEGAL_CLIMBS));
    lane16 count = {0}, in_slots = {0}, last = {0};
    for (uint32_t k = 0; k < belows; k++) {
        lane16 is = (lane16)(below[k].way->v[i] == need);
        count += is & all(below[k].count);
        in_slots += is & all(below[k].count & below[k].higher);
        last |= is & all(below[k].last);
    }
    for (uint32_t k = 0; k < aboves; k++) {
        lane16 is = climbs & (lane16)((above[k].way->v[i] & all(FAB_LEGAL_HOPS)) == need);
        count += is & all(above[k].count);
        in_slots += is & all(above[k].count & above[k].higher);
        last |= is & all(above[k].last);
    }
    memcpy(ret->count + i * 16, &count, sizeof(count));
    memcpy(ret->in_slots + i * 16, &in_slots, sizeof(in_slots));
    memcpy(ret->last + i * 16, &last, sizeof(last));
}

static void count_candidates(const struct fab_fill *f, uint32_t s, struct sets *ret)
{
    const struct fab_slopes *sl = f->t->slopes;
    const struct row *own = (const struct row *)(const void *)f->way + s;
    struct stretch below[256], above[256];
    bool descends = fab_legal_descends(f->way, sl->n)[s];
    uint32_t belows = descends ? find_stretches(f, s, sl->at[s], sl->mid[s], below) : 0;
    uint32_t aboves = find_stretches(f, s, sl->mid[s], sl->at[s + 1], above);
    for (unsigned i = 0; i * 16 < f->count; i++)
        count_sixteen(below, belows, above, aboves, own->v[i], i, ret);
}

/* ---- one destination at one switch ----------------------------------------------------------- */
/* ---- one destination at one switch ----------------------------------------------------------- */

/* Short runs of bytes, without a call: two pieces that overlap. */
static inline void copy_run(uint8_t *to, const uint8_t *from, uint32_t count)
{
    if (count >= 16 && count <= 32) {
        lane16 head, tail;
        memcpy(&head, from, 16);
        memcpy(&tail, from + count - 16, 16);
        memcpy(to, &head, 16);
        memcpy(to + count - 16, &tail, 16);
    } else {
        memcpy(to, from, count);
    }
}
static inline void set_run(uint8_t *to, uint8_t num, uint32_t count)
{
    if (count == 1) {
        *to = num;
    } else if (count >= 16 && count <= 32) {
        lane16 piece = all(num);
        memcpy(to, &piece, 16);
        memcpy(to + count - 16, &piece, 16);
    } else {
        memset(to, num, count);
    }
}

static void set_all(const struct fab_cell *c, uint8_t num)
{
    set_run(c->row + c->set.lid, num, c->set.run);
    for (uint32_t i = c->set.run; i < c->set.count; i++)
        c->row[c->lane[i].lid] = num;
}

static void go_home(const struct fab_cell *c)
{
    for (uint32_t i = 0; i < c->set.count; i++)
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

static void take_slots(const struct fab_cell *c, const struct wheel *w)
{
    const uint8_t *slot = w->gear->slot + c->set.at;
    uint8_t kind = w->gear->kind[c->dest];
    uint32_t i = c->set.run;
    if (kind == FAB_RUN_ONE)
        set_run(c->row + c->set.lid, w->num[slot[0]], c->set.run);
    else if (kind == FAB_RUN_NEXT && slot[0] + c->set.run <= w->room)
        copy_run(c->row + c->set.lid, w->num + slot[0], c->set.run);
    else
        i = 0;
    for (; i < c->set.count; i++)
        c->row[c->lane[i].lid] = w->num[slot[i]];
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
static __attribute__((noinline)) void take_parallel(const struct fab_cell *c, uint32_t nbr)
{
    const struct fab_tree *t = c->f->t;
    uint32_t cables = t->cables.at[nbr + 1] - t->cables.at[nbr];
    const uint8_t *num = t->cables.num + t->cables.at[nbr];
    const struct fab_gear *gear = &c->f->lanes->gear[c->f->lanes->down[c->s]];
    for (uint32_t i = 0; i < c->set.count; i++) {
        const struct fab_dest *lane = &c->lane[i];
        uint32_t k = lane->number / t->divider[c->s] + lane->offset;
        c->row[lane->lid] =
            gear->slots > 0 ? parallel_port(t, c->s, nbr, gear->slots, gear->slot[c->set.at + i])
                            : num[k % cables];
    }
}

/* ---- one switch ------------------------------------------------------------------------------ */

static inline void copy(const struct fab_fill *f, uint32_t s, uint32_t model)
{
    uint8_t *row = fab_lft_row(f->lft, s);
    const uint8_t *from = fab_lft_row(f->lft, model);
    for (uint32_t i = 0; i < f->ranges; i++)
        memcpy(row + f->from[i], from + f->from[i], f->len[i]);
}

/* A switch all of whose lanes take their slots, with the same gear and slots; or FAB_NONE. */
static uint32_t find_model(const struct fab_fill *f, uint32_t s)
{
    const struct fab_tree *t = f->t;
    uint32_t model = f->model[f->lanes->up[s]], slots = t->slot_at[s + 1] - t->slot_at[s];
    if (model == FAB_NONE ||
        memcmp(t->slot_num + t->slot_at[model], t->slot_num + t->slot_at[s], slots) != 0)
        return FAB_NONE;
    return model;
}

static inline bool copy_alike(const struct fab_fill *f, uint32_t s, uint32_t model)
{
    const uint32_t *alike = fab_legal_alike(f->way, f->t->g->n);
    if (model == FAB_NONE || f->ranges == 0 || alike[model] != alike[s])
        return false;
    copy(f, s, model);
    return true;
}

/* Copies from a twin that is as far from everything; from a half twin if both send all up. */
static inline bool copy_twin(const struct fab_fill *f, uint32_t s)
{
    const struct fab_tree *t = f->t;
    return copy_alike(f, s, f->twin[t->twin[s]]) ||
           (!fab_legal_descends(f->way, t->g->n)[s] &&
            copy_alike(f, s, f->half_twin[t->half_twin[s]]));
}

/* Nothing had to be chosen at the switch: its twins have the same entries. */
static void be_twin(const struct fab_fill *f, uint32_t s)
{
    const struct fab_tree *t = f->t;
    f->twin[t->twin[s]] = s;
    if (!fab_legal_descends(f->way, t->g->n)[s])
        f->half_twin[t->half_twin[s]] = s;
}

/* ---- columns that go the same way, in one piece ---------------------------------------------- */

/* What a column takes, other than the lone port of a neighbour. No port has such a number. */
#define SLOTS 0xff
#define OTHER 0

/* Returns whether all columns take their slots. */
static bool find_keys(const struct fab_fill *f, uint32_t s, const struct sets *sets, uint8_t *key)
{
    const uint8_t *lone = f->t->lone + f->t->slopes->at[s];
    uint8_t full = f->t->whole[s] ? f->t->slot_nbrs[s] : UINT8_MAX;
    bool several = f->t->parallel[f->t->o->rank[s]] > 1, plain = true;
    for (uint32_t i = 0; i < f->count; i++) {
        uint8_t other = sets->count[i] == 1 ? lone[sets->last[i]] : OTHER;
        bool slots =
            sets->in_slots[i] == full && !(several && fab_entries_short(f, s, f->first + i));
        key[i] = slots ? SLOTS : other;
        plain = plain && slots;
    }
    return plain;
}

/* The LIDs of columns [from, to) that follow on: their runs, and what is behind the runs. */
struct span {
    uint32_t lid, len, tail, tails;
};

static struct span span_of(const struct fab_fill *f, uint32_t from, uint32_t to)
{
    const struct fab_lane_set *set = &f->lanes->dest[f->first + from];
    const struct fab_lane_set *last = &f->lanes->dest[f->first + to - 1];
    struct span span = {.lid = set->lid, .len = last->lid + last->run - set->lid};
    if (set->count > set->run) {
        span.tail = f->lanes->lane[set->at + set->run].lid;
        span.tails = to - from;
    }
    return span;
}

static void fill_span(uint8_t *row, struct span span, uint8_t num)
{
    set_run(row + span.lid, num, span.len);
    memset(row + span.tail, num, span.tails);
}

static void copy_span(uint8_t *row, const uint8_t *model, struct span span)
{
    memcpy(row + span.lid, model + span.lid, span.len);
    memcpy(row + span.tail, model + span.tail, span.tails);
}

/* One column. Returns false if something had to be chosen. */
static bool fill_cell(const struct fab_fill *f, struct fab_cell *c, const struct sets *sets,
                      const struct wheel *w, uint8_t key)
{
    uint32_t i = c->column;
    c->dest = f->first + i;
    c->set = f->lanes->dest[c->dest];
    c->lane = f->lanes->lane + c->set.at;
    if (key == SLOTS)
        take_slots(c, w);
    else if (key != OTHER)
        set_all(c, key);
    else if (sets->count[i] == 1)
        take_parallel(c, f->t->slopes->at[c->s] + sets->last[i]);
    else if (f->lanes->sw[c->dest] == c->s)
        go_home(c);
    else {
        fab_cell_choose(c);
        return false;
    }
    return true;
}

/* Returns false if something had to be chosen. */
static bool fill_cells(const struct fab_fill *f, struct fab_cell *c, const struct sets *sets,
                       const uint8_t *key, const uint8_t *model)
{
    struct wheel wheel;
    bool simple = true;
    make_wheel(f, c->s, &wheel);
    for (uint32_t i = 0, to; i < f->count; i = to) {
        const struct fab_lane_set *set = &f->lanes->dest[f->first + i];
        bool lone = key[i] != OTHER && key[i] != SLOTS;
        to = i + 1;
        if (lone && set->count == 1) {
            c->row[set->lid] = key[i];
            continue;
        }
        if (f->span[i] == FAB_SPAN_NONE || !(lone || (key[i] == SLOTS && model != NULL))) {
            c->column = i;
            simple = fill_cell(f, c, sets, &wheel, key[i]) && simple;
            continue;
        }
        while (to < f->count && key[to] == key[i] && f->span[to] == FAB_SPAN_FOLLOWS)
            to++;
        if (lone)
            fill_span(c->row, span_of(f, i, to), key[i]);
        else
            copy_span(c->row, model, span_of(f, i, to));
    }
    return simple;
}

static __attribute__((noinline)) void fill_switch(const struct fab_fill *f, uint32_t s)
{
    struct sets sets;
    struct fab_cell c = {.f = f, .s = s, .row = fab_lft_row(f->lft, s)};
    uint8_t key[BATCH];
    count_candidates(f, s, &sets);
    bool plain = find_keys(f, s, &sets, key), simple = true;
    uint32_t model = find_model(f, s);
    if (plain && model != FAB_NONE && f->ranges > 0)
        copy(f, s, model);
    else
        simple =
            fill_cells(f, &c, &sets, key, model != FAB_NONE ? fab_lft_row(f->lft, model) : NULL);
    if (plain)
        f->model[f->lanes->up[s]] = s;
    if (simple)
        be_twin(f, s);
}

/* ---- 64 destinations ------------------------------------------------------------------------- */

static int fill_init(struct fab_fill *f)
{
    f->model = fab_alloc_array(f->lanes->gears, sizeof(*f->model));
    f->twin = fab_alloc_array((size_t)f->t->g->n + 1, sizeof(*f->twin));
    f->half_twin = fab_alloc_array((size_t)f->t->g->n + 1, sizeof(*f->half_twin));
    return f->model && f->twin && f->half_twin ? FAB_OK : FAB_E_NOMEM;
}

static void fill_fini(struct fab_fill *f)
{
    free(f->model);
    free(f->twin);
    free(f->half_twin);
    f->model = f->twin = f->half_twin = NULL;
}

/* Adds [from, from + len) to the ranges, at the end of one if it follows on. */
static void add_range(struct fab_fill *f, uint32_t from, uint32_t len)
{
    uint32_t i = 0;
    while (i < f->ranges && f->from[i] + f->len[i] != from)
        i++;
    if (i == FAB_FILL_RANGES) {
        f->ranges = FAB_NONE;
        return;
    }
    if (i == f->ranges) {
        f->from[i] = from;
        f->len[i] = 0;
        f->ranges++;
    }
    f->len[i] += len;
}

/* Columns whose LIDs follow on, the runs and the one that may be behind each run. */
static void join_columns(struct fab_fill *f)
{
    const struct fab_lane_set *set = f->lanes->dest + f->first;
    const struct fab_dest *lane = f->lanes->lane;
    for (uint32_t i = 0; i < f->count; i++, set++) {
        bool tail = set->count > set->run, first = i == 0 || f->span[i - 1] == FAB_SPAN_NONE;
        f->span[i] = set->count > set->run + 1 ? FAB_SPAN_NONE : FAB_SPAN_BEGINS;
        if (f->span[i] == FAB_SPAN_NONE || first || set[-1].lid + set[-1].run != set->lid ||
            tail != (set[-1].count > set[-1].run))
            continue;
        if (!tail || lane[set[-1].at + set[-1].run].lid + 1 == lane[set->at + set->run].lid)
            f->span[i] = FAB_SPAN_FOLLOWS;
    }
}

static void fill_begin(struct fab_fill *f)
{
    memset(f->model, 0xff, f->lanes->gears * sizeof(*f->model)); /* FAB_NONE */
    memset(f->twin, 0xff, f->t->g->n * sizeof(*f->twin));
    memset(f->half_twin, 0xff, f->t->g->n * sizeof(*f->half_twin));
    f->ranges = 0;
    for (uint32_t d = f->first; d < f->first + f->count && f->ranges != FAB_NONE; d++) {
        const struct fab_lane_set *set = &f->lanes->dest[d];
        add_range(f, set->lid, set->run);
        for (uint32_t i = set->run; i < set->count && f->ranges != FAB_NONE; i++)
            add_range(f, f->lanes->lane[set->at + i].lid, 1);
    }
    if (f->ranges == FAB_NONE)
        f->ranges = 0;
    join_columns(f);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Batches that follow each other are filled side by side, so that a row is met once for all. */
#define SIDE_BY_SIDE 2

struct hand {
    struct fab_fill fill[SIDE_BY_SIDE];
    uint8_t *way[SIDE_BY_SIDE];
};

static int hand_init(struct hand *h, const struct fab_fill *what)
{
    int status = FAB_OK;
    for (unsigned k = 0; k < SIDE_BY_SIDE && status == FAB_OK; k++) {
        h->fill[k] = *what;
        h->fill[k].way = h->way[k] = fab_legal_alloc(what->t->g->n);
        status = h->way[k] != NULL ? fill_init(&h->fill[k]) : FAB_E_NOMEM;
    }
    return status;
}

static void hand_fini(struct hand *h)
{
    for (unsigned k = 0; k < SIDE_BY_SIDE; k++) {
        free(h->way[k]);
        fill_fini(&h->fill[k]);
    }
}

static void begin_batch(struct fab_fill *f, uint8_t *way, uint32_t first)
{
    uint32_t left = f->lanes->dests - first;
    f->first = first;
    f->count = left < BATCH ? left : BATCH;
    fab_legal_ways(f->t->slopes, f->lanes->sw + first, f->count, way);
    fill_begin(f);
}

/* Switches that descend to some of the destinations come last: the others are models to them. */
static void fill_batches(void *arg, uint32_t i, uint32_t number)
{
    struct hand *h = (struct hand *)arg + number;
    const struct fab_fill *f = h->fill;
    uint32_t n = f->t->g->n, count = 0;
    for (uint32_t first = i * SIDE_BY_SIDE * BATCH; count < SIDE_BY_SIDE && first < f->lanes->dests;
         first += BATCH, count++)
        begin_batch(&h->fill[count], h->way[count], first);
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t s = 0; s < n; s++) {
            for (uint32_t k = 0; k < count; k++) {
                if (fab_legal_descends(h->way[k], n)[s] == (pass == 1) && !copy_twin(&f[k], s))
                    fill_switch(&f[k], s);
            }
        }
    }
}

int fab_fill_all(const struct fab_tree *t, const struct fab_lanes *lanes,
                 const struct fab_crew *crew, const struct fab_lft *lft)
{
    const struct fab_fill what = {.t = t, .lanes = lanes, .lft = lft};
    uint32_t hands = fab_crew_hands(crew);
    struct hand *hand = calloc(hands, sizeof(*hand));
    int status = hand != NULL ? FAB_OK : FAB_E_NOMEM;
    for (uint32_t i = 0; i < hands && status == FAB_OK; i++)
        status = hand_init(&hand[i], &what);
    if (status == FAB_OK)
        fab_crew_run(crew, (lanes->dests + SIDE_BY_SIDE * BATCH - 1) / (SIDE_BY_SIDE * BATCH),
                     fill_batches, hand);
    for (uint32_t i = 0; i < hands && hand != NULL; i++)
        hand_fini(&hand[i]);
    free(hand);
    return status;
}
