/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LIDs of one destination switch together. Most of what the tables say of them is the same:
 *
 *   - A switch sends all of them the same way ("plain"): one step, one dependency do for all.
 *   - Others spread them: these are looked at one by one. But siblings, whose ports lead to the
 *     same switches, mostly spread them alike: where 64 entries of a switch are those of its model
 *     (the first of its siblings), each of its channels waits for just what the model's channel of
 *     the same port waits for. The model's dependencies of a tile are collected by themselves, and
 *     given to all who are like it when the tile is done.
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

#define COLUMNS FAB_WALK_COLUMNS
#define ON_WAY UINT16_MAX
#define NESTING 64 /* longest chain of switches that is resolved here */
#define PORTS 256

enum look { PLAIN = 0, SPREAD, LIKE_MODEL };

struct fab_sheaf {
    const struct fab_net *net;
    const uint8_t *tile;
    uint32_t *model;     /* [n] the first switch whose ports lead where this one's lead */
    uint32_t *followers; /* [n] models: how many others have it as theirs */
    uint8_t *like;       /* [n] LIKE_MODEL: has the model's entries in this tile; or PLAIN */
    uint8_t *look;       /* [n] enum look, of the LIDs at hand */
    bool *even;          /* [n] all the entries at hand are the same */
    uint8_t *entry;      /* [n] the first of the entries at hand */
    uint32_t *next;      /* [n] plain ones: the next switch */
    uint16_t *depth;     /* [n] of the LIDs at hand, 0: not known */
    uint32_t *place;     /* [n] models: where their collection begins */
    uint64_t *collected; /* [models' ports][words] */
    uint32_t words;
};

/* ---- siblings ---------------------------------------------------------------------------------
 */

static bool every_switch_sends(const struct fab_net *net)
{
    for (uint32_t sw = 0; sw < net->n; sw++) {
        if (net->owners[sw] == 0 || net->component[sw] != 0)
            return false;
    }
    return net->n > 1;
}

static bool siblings(const struct fab_net *net, uint32_t a, uint32_t b)
{
    return net->port_room[a] == net->port_room[b] &&
           memcmp(net->hop + net->first[a] + 1, net->hop + net->first[b] + 1,
                  (net->port_room[a] - 1u) * sizeof(*net->hop)) == 0;
}

static uint64_t sign(const struct fab_net *net, uint32_t sw)
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
static int find_models(struct fab_sheaf *s)
{
    uint32_t n = s->net->n;
    struct signed_switch *all = fab_alloc_array(n, sizeof(*all));
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
    free(all);
    return FAB_OK;
}

static int make_room(struct fab_sheaf *s)
{
    size_t ports = 0;
    for (uint32_t sw = 0; sw < s->net->n; sw++) {
        s->place[sw] = (uint32_t)ports;
        ports += s->followers[sw] > 0 ? s->net->port_room[sw] : 0;
        s->words = (s->net->port_room[sw] + 63u) / 64 > s->words
                       ? (s->net->port_room[sw] + 63u) / 64
                       : s->words;
    }
    s->collected = calloc(ports + 1, s->words * sizeof(*s->collected));
    return s->collected != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_sheaf_new(const struct fab_net *net, struct fab_sheaf **ret)
{
    *ret = NULL;
    if (!every_switch_sends(net))
        return FAB_OK;
    struct fab_sheaf *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return FAB_E_NOMEM;
    size_t n = (size_t)net->n + 1;
    s->net = net;
    s->model = calloc(n, sizeof(*s->model));
    s->followers = calloc(n, sizeof(*s->followers));
    s->like = calloc(n, sizeof(*s->like));
    s->look = calloc(n, sizeof(*s->look));
    s->even = calloc(n, sizeof(*s->even));
    s->entry = calloc(n, sizeof(*s->entry));
    s->next = calloc(n, sizeof(*s->next));
    s->depth = calloc(n, sizeof(*s->depth));
    s->place = calloc(n, sizeof(*s->place));
    int status = FAB_E_NOMEM;
    if (s->model && s->followers && s->like && s->look && s->even && s->entry && s->next &&
        s->depth && s->place)
        status = find_models(s);
    if (status == FAB_OK)
        status = make_room(s);
    if (status == FAB_OK)
        *ret = s;
    else
        fab_sheaf_free(s);
    return status;
}

void fab_sheaf_free(struct fab_sheaf *s)
{
    if (s == NULL)
        return;
    free(s->model);
    free(s->followers);
    free(s->like);
    free(s->look);
    free(s->even);
    free(s->entry);
    free(s->next);
    free(s->depth);
    free(s->place);
    free(s->collected);
    free(s);
}

/* ---- a tile -----------------------------------------------------------------------------------
 */

void fab_sheaf_begin(struct fab_sheaf *s, const uint8_t *tile)
{
    s->tile = tile;
    for (uint32_t sw = 0; sw < s->net->n; sw++) {
        uint32_t model = s->model[sw];
        bool like = model != sw && memcmp(tile + (size_t)sw * COLUMNS,
                                          tile + (size_t)model * COLUMNS, COLUMNS) == 0;
        s->like[sw] = like ? LIKE_MODEL : PLAIN;
    }
}

static inline uint64_t *bits_of(const struct fab_sheaf *s, struct fab_channels *channels,
                                uint32_t sw)
{
    return s->followers[sw] > 0 ? s->collected + (size_t)s->place[sw] * s->words
                                : channels->bits + (size_t)s->net->first[sw] * s->words;
}

static void give(const struct fab_sheaf *s, uint32_t model, uint32_t to,
                 struct fab_channels *channels)
{
    size_t count = (size_t)s->net->port_room[model] * s->words;
    const uint64_t *from = s->collected + (size_t)s->place[model] * s->words;
    uint64_t *bits = channels->bits + (size_t)s->net->first[to] * s->words;
    for (size_t i = 0; i < count; i++)
        bits[i] |= from[i];
}

void fab_sheaf_end(struct fab_sheaf *s, struct fab_channels *channels)
{
    for (uint32_t sw = 0; sw < s->net->n; sw++) {
        if (s->like[sw] == LIKE_MODEL)
            give(s, s->model[sw], sw, channels);
        else if (s->followers[sw] > 0)
            give(s, sw, sw, channels);
    }
    for (uint32_t sw = 0; sw < s->net->n; sw++) {
        if (s->followers[sw] > 0)
            memset(s->collected + (size_t)s->place[sw] * s->words, 0,
                   (size_t)s->net->port_room[sw] * s->words * sizeof(*s->collected));
    }
}

/* ---- a bundle ---------------------------------------------------------------------------------
 */

static const uint8_t *entries(const struct fab_sheaf *s, const struct fab_bundle *b, uint32_t sw)
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

static void look_at(struct fab_sheaf *s, const struct fab_bundle *b)
{
    const uint8_t *tile = s->tile + b->at, *like = s->like;
    uint8_t *look = s->look, *entry = s->entry;
    uint32_t n = s->net->n;
    for (uint32_t sw = 0; sw < n; sw++)
        entry[sw] = tile[(size_t)sw * COLUMNS];
    memcpy(look, like, n);
    if (b->count == 1) {
        memset(s->even, true, n * sizeof(*s->even));
        return;
    }
    for (uint32_t sw = 0; sw < n; sw++) { /* a model comes before those that are like it */
        bool even = like[sw] == LIKE_MODEL ? s->even[s->model[sw]]
                                           : all_same(tile + (size_t)sw * COLUMNS, b->count);
        s->even[sw] = even;
        if (like[sw] == PLAIN && !even)
            look[sw] = SPREAD;
    }
}

static void note(uint64_t *bits, uint32_t words, uint8_t num, uint8_t next_num)
{
    bits[(size_t)num * words + next_num / 64] |= UINT64_C(1) << (next_num % 64);
}

/* What the channel `num` waits for at `to`, which it leads to, for the LIDs from..from + count. */
static bool wait_at(const struct fab_sheaf *s, const struct fab_bundle *b, uint64_t *bits,
                    uint8_t num, uint32_t to, uint32_t from, uint32_t count)
{
    const uint8_t *there = entries(s, b, to) + from;
    if (to == b->sw)
        return true; /* it leaves there: no channel */
    for (uint32_t i = 0; i < count; i++) {
        if (there[i] >= s->net->port_room[to])
            return false;
        note(bits, s->words, num, there[i]);
    }
    return true;
}

static bool step_plain(struct fab_sheaf *s, const struct fab_bundle *b,
                       struct fab_channels *channels)
{
    const uint32_t n = s->net->n, words = s->words, *hop = s->net->hop, *first = s->net->first;
    const uint16_t *room = s->net->port_room;
    const uint8_t *look = s->look, *entry = s->entry;
    uint32_t *next = s->next;
    for (uint32_t sw = 0; sw < n; sw++) {
        if (look[sw] != PLAIN || sw == b->sw)
            continue;
        uint8_t num = entry[sw];
        uint32_t to = num < room[sw] ? hop[first[sw] + num] : FAB_NONE;
        if (to >= n)
            return false;
        next[sw] = to;
        if (to == b->sw)
            continue; /* it leaves there: no channel */
        uint64_t *bits = bits_of(s, channels, sw);
        if (!s->even[to]) {
            if (!wait_at(s, b, bits, num, to, 0, b->count))
                return false;
        } else if (entry[to] < room[to]) {
            note(bits, words, num, entry[to]);
        } else {
            return false;
        }
    }
    return true;
}

/* Fills depth[sw]; false: there is none. */
static bool resolve(struct fab_sheaf *s, const struct fab_bundle *b, uint32_t sw, uint32_t nesting);

/* The next switches of a switch that spreads must all be as deep. */
static bool resolve_spread(struct fab_sheaf *s, const struct fab_bundle *b, uint32_t sw,
                           uint32_t nesting, uint16_t *ret_depth)
{
    const struct fab_net *net = s->net;
    const uint8_t *entry = entries(s, b, sw);
    uint16_t depth = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t to =
            entry[i] < net->port_room[sw] ? net->hop[net->first[sw] + entry[i]] : FAB_NONE;
        if (to >= net->n || (s->depth[to] == 0 && !resolve(s, b, to, nesting + 1)) ||
            s->depth[to] == ON_WAY || (depth != 0 && s->depth[to] != depth))
            return false;
        depth = s->depth[to];
    }
    *ret_depth = depth;
    return true;
}

static bool resolve(struct fab_sheaf *s, const struct fab_bundle *b, uint32_t sw, uint32_t nesting)
{
    uint16_t depth = 0;
    uint32_t model = s->model[sw];
    if (nesting > NESTING)
        return false;
    s->depth[sw] = ON_WAY;
    if (s->look[sw] == LIKE_MODEL) {
        if (model == b->sw || (s->depth[model] == 0 && !resolve(s, b, model, nesting + 1)) ||
            s->depth[model] == ON_WAY)
            return false;
        s->depth[sw] = s->depth[model];
        return true;
    }
    if (s->look[sw] == PLAIN) {
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

static bool find_depths(struct fab_sheaf *s, const struct fab_bundle *b, uint32_t *ret_deepest)
{
    uint32_t n = s->net->n, deepest = 1;
    memset(s->depth, 0, n * sizeof(*s->depth));
    s->depth[b->sw] = 1; /* (between calls of resolve() nobody is ON_WAY) */
    for (uint32_t sw = 0; sw < n; sw++) {
        uint32_t like = s->depth[s->model[sw]], plain = s->depth[s->next[sw]];
        if (s->depth[sw] != 0)
            continue;
        if (s->look[sw] == LIKE_MODEL && like != 0 && s->model[sw] != b->sw)
            s->depth[sw] = (uint16_t)like;
        else if (s->look[sw] == PLAIN && plain != 0)
            s->depth[sw] = (uint16_t)(plain + 1);
        else if (!resolve(s, b, sw, 0))
            return false;
        deepest = s->depth[sw] > deepest ? s->depth[sw] : deepest;
    }
    *ret_deepest = deepest;
    return true;
}

/* After the depths are known, so that all entries are known to lead to switches. */
static bool step_spread(struct fab_sheaf *s, const struct fab_bundle *b,
                        struct fab_channels *channels)
{
    const struct fab_net *net = s->net;
    for (uint32_t sw = 0; sw < net->n; sw++) {
        const uint8_t *entry = entries(s, b, sw);
        if (s->look[sw] != SPREAD || sw == b->sw)
            continue;
        uint64_t *bits = bits_of(s, channels, sw);
        for (uint32_t i = 0; i < b->count; i++) {
            if (!wait_at(s, b, bits, entry[i], net->hop[net->first[sw] + entry[i]], i, 1))
                return false;
        }
    }
    return true;
}

bool fab_sheaf_walk(struct fab_sheaf *s, const struct fab_bundle *b, struct fab_channels *channels,
                    uint32_t *ret_deepest)
{
    if (memcmp(entries(s, b, b->sw), b->num, b->count) != 0)
        return false;
    look_at(s, b);
    return step_plain(s, b, channels) && find_depths(s, b, ret_deepest) &&
           step_spread(s, b, channels);
}
