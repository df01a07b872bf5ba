/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LIDs of one destination switch together. Most of what the tables say of them is the same:
 *
 *   - A switch sends all of them the same way ("plain"): one step, one dependency do for all.
 *   - Others spread them: these are looked at one by one. But siblings, whose ports lead to the
 *     same switches, mostly spread them alike: where 64 entries of a switch are those of its model
 *     (the first of its siblings), each of its channels waits for just what the model's channel of
 *     the same port waits for. The model's dependencies are collected by themselves, and given to
 *     all who were like it before a tile comes where somebody is not.
 *
 * All arrive, when each switch has a depth, one for all the LIDs, and each of its next switches one
 * less. Where that is not so, though all may arrive by ways of different lengths, the caller looks
 * at each LID by itself. Every switch sends here, so that whatever is in the tables carries
 * traffic, and may be noted.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/walk.h"

#define COLUMNS FAB_VERIFY_TILE_LIDS
#define ON_WAY UINT16_MAX
#define NESTING 64 /* longest chain of switches that is resolved here */
#define PORTS 256  /* of a switch, port 0 included */

struct fab_verify_batch_walk {
    const struct fab_verify_graph *net;
    const uint8_t *tile;
    uint32_t *model;     /* [n] the first switch whose ports lead where this one's lead */
    uint32_t *family;    /* [n] switches by model, the model first */
    uint32_t *followers; /* [n] models: how many others have it as theirs */
    uint32_t *unlike;    /* [n] models: how many of these are not like it in this tile */
    uint32_t *as;  /* [n] in this tile: the model where its entries are the same, else itself */
    uint32_t *own; /* [owns] switches that are as themselves */
    uint32_t owns;
    bool *even;          /* [n] of own: all the entries at hand are the same */
    uint8_t *entry;      /* [n] of own: the first of the entries at hand */
    uint32_t *next;      /* [n] of own and even: the next switch, or as whom it is */
    uint16_t *depth;     /* [n] of own, for the LIDs at hand; 0: not known */
    uint32_t *place;     /* [n] models: where their collection begins */
    uint64_t *collected; /* [models' ports][words] */
    struct given *given; /* [ports of one switch * words] */
    uint32_t words;
};
struct given { /* bits of a collection */
    uint32_t at;
    uint64_t bits;
};

/* ---- siblings ---------------------------------------------------------------------------------
 */

static bool every_switch_sends(const struct fab_verify_graph *net)
{
    for (uint32_t sw = 0; sw < net->n; sw++) {
        if (net->owners[sw] == 0 || net->component[sw] != 0)
            return false;
    }
    return net->n > 1;
}

static bool siblings(const struct fab_verify_graph *net, uint32_t a, uint32_t b)
{
    return net->port_room[a] == net->port_room[b] &&
           memcmp(net->hop + net->first[a] + 1, net->hop + net->first[b] + 1,
                  (net->port_room[a] - 1u) * sizeof(*net->hop)) == 0;
}

static uint64_t sign(const struct fab_verify_graph *net, uint32_t sw)
{
    uint64_t sum = net->port_room[sw];
    for (uint32_t num = 1; num < net->port_room[sw]; num++)
        sum = (sum ^ net->hop[net->first[sw] + num]) * UINT64_C(0x100000001b3);
    return sum;
}

struct signed_switch {
    uint64_t sign;
    uint32_t sw;
};
static int by_sign(const void *a, const void *b)
{
    const struct signed_switch *x = a, *y = b;
    if (x->sign != y->sign)
        return x->sign < y->sign ? -1 : 1;
    return (x->sw > y->sw) - (x->sw < y->sw);
}

/* The lowest of its siblings; those that share a signature by chance stand by themselves. */
static int find_models(struct fab_verify_batch_walk *s)
{
    uint32_t n = s->net->n;
    struct signed_switch *all = fab_base_alloc_array(n, sizeof(*all));
    if (all == NULL)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < n; sw++)
        all[sw] = (struct signed_switch){sign(s->net, sw), sw};
    qsort(all, n, sizeof(*all), by_sign);
    for (uint32_t i = 0, model = 0; i < n; i++) {
        if (i == 0 || all[i].sign != all[i - 1].sign)
            model = all[i].sw;
        bool same = siblings(s->net, model, all[i].sw);
        s->model[all[i].sw] = same ? model : all[i].sw;
        s->followers[model] += same && all[i].sw != model;
    }
    for (uint32_t sw = 0; sw < n; sw++)
        all[sw] = (struct signed_switch){s->model[sw], sw};
    qsort(all, n, sizeof(*all), by_sign);
    for (uint32_t i = 0; i < n; i++)
        s->family[i] = all[i].sw;
    free(all);
    return FAB_OK;
}

static int make_room(struct fab_verify_batch_walk *s)
{
    size_t ports = 0;
    for (uint32_t sw = 0; sw < s->net->n; sw++) {
        s->place[sw] = (uint32_t)ports;
        ports += s->followers[sw] > 0 ? s->net->port_room[sw] : 0;
    }
    s->collected = calloc(ports + 1, s->words * sizeof(*s->collected));
    s->given = calloc(PORTS * s->words, sizeof(*s->given));
    return s->collected != NULL && s->given != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_verify_batch_walk_new(const struct fab_verify_deps *channels,
                              struct fab_verify_batch_walk **ret)
{
    const struct fab_verify_graph *net = channels->net;
    *ret = NULL;
    if (!every_switch_sends(net))
        return FAB_OK;
    struct fab_verify_batch_walk *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return FAB_E_NOMEM;
    size_t n = (size_t)net->n + 1;
    s->net = net;
    s->words = channels->words;
    s->model = calloc(n, sizeof(*s->model));
    s->family = calloc(n, sizeof(*s->family));
    s->followers = calloc(n, sizeof(*s->followers));
    s->unlike = calloc(n, sizeof(*s->unlike));
    s->as = calloc(n, sizeof(*s->as));
    s->own = calloc(n, sizeof(*s->own));
    s->even = calloc(n, sizeof(*s->even));
    s->entry = calloc(n, sizeof(*s->entry));
    s->next = calloc(n, sizeof(*s->next));
    s->depth = calloc(n, sizeof(*s->depth));
    s->place = calloc(n, sizeof(*s->place));
    int status = FAB_E_NOMEM;
    if (s->model && s->family && s->followers && s->unlike && s->as && s->own && s->even &&
        s->entry && s->next && s->depth && s->place)
        status = find_models(s);
    if (status == FAB_OK)
        status = make_room(s);
    if (status == FAB_OK)
        *ret = s;
    else
        fab_verify_batch_walk_free(s);
    return status;
}

void fab_verify_batch_walk_free(struct fab_verify_batch_walk *s)
{
    if (s == NULL)
        return;
    free(s->model);
    free(s->family);
    free(s->followers);
    free(s->unlike);
    free(s->as);
    free(s->own);
    free(s->even);
    free(s->entry);
    free(s->next);
    free(s->depth);
    free(s->place);
    free(s->collected);
    free(s->given);
    free(s);
}

/* ---- a tile -----------------------------------------------------------------------------------
 */

static inline uint64_t *bits_of(const struct fab_verify_batch_walk *s,
                                struct fab_verify_deps *channels, uint32_t sw)
{
    return s->followers[sw] > 0 ? s->collected + (size_t)s->place[sw] * s->words
                                : channels->bits + (size_t)s->net->first[sw] * s->words;
}

/* Takes what was collected for the model. Returns how many words hold something. */
static uint32_t take(struct fab_verify_batch_walk *s, uint32_t model)
{
    uint32_t count = s->net->port_room[model] * s->words, found = 0;
    uint64_t *from = s->collected + (size_t)s->place[model] * s->words;
    for (uint32_t i = 0; i < count; i++) {
        s->given[found] = (struct given){i, from[i]};
        found += from[i] != 0;
        from[i] = 0;
    }
    return found;
}

/* Gives the collection of family[k], a model, to itself and to its followers: to all, or to those
 * that are like it now. */
static void give(struct fab_verify_batch_walk *s, uint32_t k, bool to_all,
                 struct fab_verify_deps *channels)
{
    uint32_t model = s->family[k], found = take(s, model);
    for (; found > 0 && k < s->net->n && s->model[s->family[k]] == model; k++) {
        uint32_t sw = s->family[k];
        uint64_t *bits = channels->bits + (size_t)s->net->first[sw] * s->words;
        for (uint32_t i = 0; i < found && (to_all || s->as[sw] == model); i++)
            bits[s->given[i].at] |= s->given[i].bits;
    }
}

static void compare_with_models(struct fab_verify_batch_walk *s)
{
    s->owns = 0;
    for (uint32_t sw = 0; sw < s->net->n; sw++) {
        uint32_t model = s->model[sw];
        bool like = model != sw && memcmp(s->tile + (size_t)sw * COLUMNS,
                                          s->tile + (size_t)model * COLUMNS, COLUMNS) == 0;
        s->as[sw] = like ? model : sw;
        s->own[s->owns] = sw;
        s->owns += !like;
        s->unlike[sw] = 0;
        s->unlike[model] += !like && model != sw; /* (a model comes before its followers) */
    }
}

/* A collection may wait as long as all followers are like the model: then it is theirs too. */
static void give_where_unlike(struct fab_verify_batch_walk *s, bool to_all,
                              struct fab_verify_deps *channels)
{
    for (uint32_t k = 0; k < s->net->n; k++) {
        if (s->unlike[s->family[k]] > 0)
            give(s, k, to_all, channels);
    }
}

void fab_verify_batch_walk_begin(struct fab_verify_batch_walk *s, const uint8_t *tile,
                                 struct fab_verify_deps *channels)
{
    s->tile = tile;
    compare_with_models(s);
    give_where_unlike(s, true, channels); /* of the tiles before */
}

void fab_verify_batch_walk_end(struct fab_verify_batch_walk *s, struct fab_verify_deps *channels)
{
    give_where_unlike(s, false, channels);
}

void fab_verify_batch_walk_finish(struct fab_verify_batch_walk *s, struct fab_verify_deps *channels)
{
    for (uint32_t k = 0; k < s->net->n; k++) {
        if (s->followers[s->family[k]] > 0)
            give(s, k, true, channels);
    }
}

/* ---- a bundle ---------------------------------------------------------------------------------
 */

static const uint8_t *entries(const struct fab_verify_batch_walk *s,
                              const struct fab_verify_batch *b, uint32_t sw)
{
    return s->tile + (size_t)sw * COLUMNS + b->at;
}

/* Are all of the bytes the same? By words that overlap. */
static bool all_same(const uint8_t *byte, uint32_t count)
{
    uint64_t want = byte[0] * UINT64_C(0x0101010101010101), word;
    if (count < 8) {
        for (uint32_t i = 1; i < count; i++) {
            if (byte[i] != byte[0])
                return false;
        }
        return true;
    }
    for (uint32_t i = 0; i + 8 <= count; i += 8) {
        memcpy(&word, byte + i, 8);
        if (word != want)
            return false;
    }
    memcpy(&word, byte + count - 8, 8);
    return word == want;
}

static void look_at(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b)
{
    const uint8_t *tile = s->tile + b->at;
    for (uint32_t k = 0; k < s->owns; k++) {
        uint32_t sw = s->own[k];
        s->entry[sw] = tile[(size_t)sw * COLUMNS];
        s->even[sw] = b->count == 1 || all_same(tile + (size_t)sw * COLUMNS, b->count);
        s->depth[sw] = 0;
    }
}

static inline void note(uint64_t *bits, uint32_t words, uint8_t num, uint8_t next_num)
{
    fab_verify_deps_set(bits + (size_t)num * words, next_num);
}

/* What the channel `num` waits for at `to`, which it leads to, for the LIDs from..from + count. */
static bool wait_at(const struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                    uint64_t *bits, uint8_t num, uint32_t to, uint32_t from, uint32_t count)
{
    const uint8_t *there = entries(s, b, to) + from;
    for (uint32_t i = 0; i < count; i++) {
        if (there[i] >= s->net->port_room[to])
            return false;
        note(bits, s->words, num, there[i]);
    }
    return true;
}

/* The next switch by this entry, as whom it is; FAB_NONE: none, or one that takes itself for the
 * destination. */
static inline uint32_t step(const struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                            uint32_t sw, uint8_t num)
{
    const struct fab_verify_graph *net = s->net;
    uint32_t to = num < net->port_room[sw] ? net->hop[net->first[sw] + num] : FAB_NONE;
    if (to >= net->n || to == b->sw)
        return to < net->n ? to : FAB_NONE;
    return s->as[to] != b->sw ? s->as[to] : FAB_NONE;
}

static bool step_even(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                      struct fab_verify_deps *channels)
{
    const uint32_t owns = s->owns, words = s->words;
    for (uint32_t k = 0; k < owns; k++) {
        uint32_t sw = s->own[k];
        if (!s->even[sw] || sw == b->sw)
            continue;
        uint8_t num = s->entry[sw];
        uint32_t to = step(s, b, sw, num);
        if (to == FAB_NONE)
            return false;
        s->next[sw] = to;
        if (to == b->sw)
            continue; /* it leaves there: no channel */
        uint64_t *bits = bits_of(s, channels, sw);
        if (!s->even[to]) {
            if (!wait_at(s, b, bits, num, to, 0, b->count))
                return false;
        } else if (s->entry[to] < s->net->port_room[to]) {
            note(bits, words, num, s->entry[to]);
        } else {
            return false;
        }
    }
    return true;
}

/* Fills depth[sw]; false: there is none. */
static bool resolve(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b, uint32_t sw,
                    uint32_t nesting);

/* The next switches of a switch that spreads must all be as deep. */
static bool resolve_spread(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                           uint32_t sw, uint32_t nesting, uint16_t *ret_depth)
{
    const uint8_t *entry = entries(s, b, sw);
    uint16_t depth = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t to = step(s, b, sw, entry[i]);
        if (to == FAB_NONE || (s->depth[to] == 0 && !resolve(s, b, to, nesting + 1)) ||
            s->depth[to] == ON_WAY || (depth != 0 && s->depth[to] != depth))
            return false;
        depth = s->depth[to];
    }
    *ret_depth = depth;
    return true;
}

static bool resolve(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b, uint32_t sw,
                    uint32_t nesting)
{
    uint16_t depth = 0;
    if (nesting > NESTING)
        return false;
    s->depth[sw] = ON_WAY;
    if (s->even[sw]) {
        uint32_t to = s->next[sw];
        if (s->depth[to] == 0 && !resolve(s, b, to, nesting + 1))
            return false;
        depth = s->depth[to];
    } else if (!resolve_spread(s, b, sw, nesting, &depth)) {
        return false;
    }
    if (depth == ON_WAY)
        return false;
    s->depth[sw] = (uint16_t)(depth + 1);
    return true;
}

static bool find_depths(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                        uint32_t *ret_deepest)
{
    uint32_t deepest = 1;
    s->depth[b->sw] = 1; /* (between calls of resolve() nobody is ON_WAY) */
    for (uint32_t k = 0; k < s->owns; k++) {
        uint32_t sw = s->own[k];
        if (s->depth[sw] != 0)
            continue;
        uint16_t next = s->even[sw] ? s->depth[s->next[sw]] : 0;
        if (next != 0)
            s->depth[sw] = (uint16_t)(next + 1);
        else if (!resolve(s, b, sw, 0))
            return false;
    }
    for (uint32_t k = 0; k < s->owns; k++)
        deepest = s->depth[s->own[k]] > deepest ? s->depth[s->own[k]] : deepest;
    *ret_deepest = deepest;
    return true;
}

/* After the depths are known, so that all entries are known to lead to switches. */
static bool step_spread(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                        struct fab_verify_deps *channels)
{
    for (uint32_t k = 0; k < s->owns; k++) {
        uint32_t sw = s->own[k];
        const uint8_t *entry = entries(s, b, sw);
        if (s->even[sw] || sw == b->sw)
            continue;
        uint64_t *bits = bits_of(s, channels, sw);
        for (uint32_t i = 0; i < b->count; i++) {
            uint32_t to = step(s, b, sw, entry[i]);
            if (to != b->sw && !wait_at(s, b, bits, entry[i], to, i, 1))
                return false;
        }
    }
    return true;
}

bool fab_verify_batch_walk_try(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                               struct fab_verify_deps *channels, uint32_t *ret_deepest)
{
    if (memcmp(entries(s, b, b->sw), b->num, b->count) != 0)
        return false;
    look_at(s, b);
    return step_even(s, b, channels) && find_depths(s, b, ret_deepest) &&
           step_spread(s, b, channels);
}
