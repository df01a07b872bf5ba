/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows the paths to all LIDs of a batch together. A batch has the LIDs that one destination
 * switch delivers. Most LFT entries for these LIDs are alike:
 *
 *   - A "uniform" switch forwards all LIDs of the batch by one port. It needs one step and one
 *     dependency for the whole batch.
 *   - Other switches spread the LIDs over several ports. Switches whose ports lead to the same
 *     switches form an equivalence class, and mostly spread the LIDs alike. The switch with the
 *     lowest id represents its class. The batch is walked in tiles of 64 LIDs. A switch may have
 *     the same entries in a tile as its representative. Then each of its channels has the same
 *     dependencies as the representative's channel of the same port, so only the dependencies of
 *     the representative are collected. In a tile where some switch of the class has different
 *     entries, the dependencies collected so far are first given to all switches of the class.
 *
 * The depth of a switch is the number of switches on its path to the destination. All LIDs arrive
 * if each switch has the same depth for all LIDs of the batch, and this depth is one more than the
 * depth of each next switch. If this does not hold, the LIDs may still arrive by paths of different
 * lengths, so the caller follows the paths to each LID separately.
 *
 * The method requires that every switch has ports with LIDs, such as endports. Since these ports
 * send packets to the LIDs of the batch, packets use the entries of every switch, and the proof
 * must record the dependencies of all entries.
 */
#include <stdlib.h>
#include <string.h>

#include "libfabmgr/base/arena.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/verify/walk.h"

#define COLUMNS FAB_VERIFY_TILE_LIDS
#define ON_PATH UINT16_MAX
/* greatest depth of the recursion of resolve() */
#define NESTING 64
/* maximum number of ports of a switch, port 0 included */
#define PORTS 256

struct fab_verify_batch_walk {
    struct fab_arena arena; /* memory of the arrays */
    const struct fab_verify_graph *graph;
    const uint8_t *tile;
    /* [switches] the class representative of each switch: the lowest id among the switches whose
     * ports lead to the same switches */
    uint32_t *class_rep;
    /* [switches] all switches, sorted by equivalence class; the representative of a class comes
     * first */
    uint32_t *by_class;
    /* [switches] number of other switches in the class; valid only for class representatives */
    uint32_t *class_others;
    /* [switches] number of switches in the class whose entries in this tile (64 LIDs) differ from
     * the entries of the class representative; valid only for class representatives */
    uint32_t *unlike;
    /* [switches] the class representative, if it has the same entries in this tile as the switch;
     * otherwise the switch itself */
    uint32_t *rep;
    /* the switches that represent themselves: rep[sw] == sw */
    uint32_t *reps;
    uint32_t rep_count;
    /* [switches] whether the switch forwards all LIDs of the batch by one port; valid for switches
     * in reps[] */
    bool *uniform;
    /* [switches] the entry for the first LID of the batch; valid for switches in reps[] */
    uint8_t *entry;
    /* [switches] the representative of the next switch on the path; valid for uniform switches in
     * reps[] */
    uint32_t *next;
    /* [switches] number of switches on the path to the LIDs of the batch; 0: not known; ON_PATH:
     * being computed. Valid for switches in reps[]. */
    uint16_t *depth;
    /* [switches] index of the first bitset of the switch in collected[], in units of `words` words;
     * valid for class representatives */
    uint32_t *collected_at;
    /* Dependencies of class representatives that were not yet copied to the other switches of the
     * class. Each port of a representative has a bitset of `words` words. Its bits are the ports of
     * the next switch by which packets continue. */
    uint64_t *collected;
    /* [ports of one switch * words] result of take_collected: the words of one representative that
     * are not zero */
    struct word *word;
    uint32_t words;
};
/* a non-zero word of collected[], and its index */
struct word {
    uint32_t at;
    uint64_t bits;
};

/* ---- equivalence classes --------------------------------------------------------------------- */

static bool every_switch_sends(const struct fab_verify_graph *graph)
{
    for (uint32_t sw = 0; sw < graph->n; sw++) {
        if (graph->owners[sw] == 0 || graph->component[sw] != 0)
            return false;
    }
    return graph->n > 1;
}

static bool same_class(const struct fab_verify_graph *graph, uint32_t a, uint32_t b)
{
    return graph->port_room[a] == graph->port_room[b] &&
           memcmp(graph->hop + graph->first[a] + 1, graph->hop + graph->first[b] + 1,
                  (graph->port_room[a] - 1u) * sizeof(*graph->hop)) == 0;
}

static uint64_t signature(const struct fab_verify_graph *graph, uint32_t sw)
{
    uint64_t sum = graph->port_room[sw];
    for (uint32_t num = 1; num < graph->port_room[sw]; num++)
        sum = (sum ^ graph->hop[graph->first[sw] + num]) * UINT64_C(0x100000001b3);
    return sum;
}

struct signature_of {
    uint64_t signature;
    uint32_t sw;
};
static int by_signature(const void *a, const void *b)
{
    const struct signature_of *x = a, *y = b;
    if (x->signature != y->signature)
        return x->signature < y->signature ? -1 : 1;
    return (x->sw > y->sw) - (x->sw < y->sw);
}

/* Finds the class representative of each switch. If two classes have the same hash value, finds
 * only the first class. Each switch of the other class then represents itself. */
static int find_classes(struct fab_verify_batch_walk *s)
{
    uint32_t n = s->graph->n;
    struct signature_of *all = fab_base_alloc_array(n, sizeof(*all));
    if (all == NULL)
        return FAB_E_NOMEM;
    for (uint32_t sw = 0; sw < n; sw++)
        all[sw] = (struct signature_of){signature(s->graph, sw), sw};
    qsort(all, n, sizeof(*all), by_signature);
    for (uint32_t i = 0, class_rep = 0; i < n; i++) {
        if (i == 0 || all[i].signature != all[i - 1].signature)
            class_rep = all[i].sw;
        bool same = same_class(s->graph, class_rep, all[i].sw);
        s->class_rep[all[i].sw] = same ? class_rep : all[i].sw;
        s->class_others[class_rep] += same && all[i].sw != class_rep;
    }
    for (uint32_t sw = 0; sw < n; sw++)
        all[sw] = (struct signature_of){s->class_rep[sw], sw};
    qsort(all, n, sizeof(*all), by_signature);
    for (uint32_t i = 0; i < n; i++)
        s->by_class[i] = all[i].sw;
    free(all);
    return FAB_OK;
}

static int alloc_collections(struct fab_verify_batch_walk *s)
{
    size_t ports = 0;
    for (uint32_t sw = 0; sw < s->graph->n; sw++) {
        s->collected_at[sw] = (uint32_t)ports;
        ports += s->class_others[sw] > 0 ? s->graph->port_room[sw] : 0;
    }
    s->collected = fab_base_arena_alloc(&s->arena, ports + 1, s->words * sizeof(*s->collected));
    s->word = fab_base_arena_alloc(&s->arena, PORTS * s->words, sizeof(*s->word));
    return s->collected != NULL && s->word != NULL ? FAB_OK : FAB_E_NOMEM;
}

int fab_verify_batch_walk_new(const struct fab_verify_deps *deps,
                              struct fab_verify_batch_walk **ret)
{
    const struct fab_verify_graph *graph = deps->graph;
    *ret = NULL;
    if (!every_switch_sends(graph))
        return FAB_OK;
    struct fab_verify_batch_walk *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return FAB_E_NOMEM;
    size_t n = (size_t)graph->n + 1;
    s->graph = graph;
    s->words = deps->words;
    s->class_rep = fab_base_arena_alloc(&s->arena, n, sizeof(*s->class_rep));
    s->by_class = fab_base_arena_alloc(&s->arena, n, sizeof(*s->by_class));
    s->class_others = fab_base_arena_alloc(&s->arena, n, sizeof(*s->class_others));
    s->unlike = fab_base_arena_alloc(&s->arena, n, sizeof(*s->unlike));
    s->rep = fab_base_arena_alloc(&s->arena, n, sizeof(*s->rep));
    s->reps = fab_base_arena_alloc(&s->arena, n, sizeof(*s->reps));
    s->uniform = fab_base_arena_alloc(&s->arena, n, sizeof(*s->uniform));
    s->entry = fab_base_arena_alloc(&s->arena, n, sizeof(*s->entry));
    s->next = fab_base_arena_alloc(&s->arena, n, sizeof(*s->next));
    s->depth = fab_base_arena_alloc(&s->arena, n, sizeof(*s->depth));
    s->collected_at = fab_base_arena_alloc(&s->arena, n, sizeof(*s->collected_at));
    int status = FAB_E_NOMEM;
    if (!s->arena.failed)
        status = find_classes(s);
    if (status == FAB_OK)
        status = alloc_collections(s);
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
    fab_base_arena_fini(&s->arena);
    free(s);
}

/* ---- a tile ---------------------------------------------------------------------------------- */

static inline uint64_t *bits_of(const struct fab_verify_batch_walk *s, struct fab_verify_deps *deps,
                                uint32_t sw)
{
    return s->class_others[sw] > 0 ? s->collected + (size_t)s->collected_at[sw] * s->words
                                   : deps->bits + (size_t)s->graph->first[sw] * s->words;
}

/* Moves the non-zero words of a class representative from collected[] to s->word[]. Returns the
 * number of these words. */
static uint32_t take_collected(struct fab_verify_batch_walk *s, uint32_t class_rep)
{
    uint32_t count = s->graph->port_room[class_rep] * s->words, found = 0;
    uint64_t *from = s->collected + (size_t)s->collected_at[class_rep] * s->words;
    for (uint32_t i = 0; i < count; i++) {
        s->word[found] = (struct word){i, from[i]};
        found += from[i] != 0;
        from[i] = 0;
    }
    return found;
}

/* Copies the dependencies that were collected for the class representative by_class[k] to the
 * switches of its class, including itself. If `to_all` is true, copies them to all switches of the
 * class, otherwise only to those with the same entries in this tile. */
static void distribute(struct fab_verify_batch_walk *s, uint32_t k, bool to_all,
                       struct fab_verify_deps *deps)
{
    uint32_t class_rep = s->by_class[k], found = take_collected(s, class_rep);
    for (; found > 0 && k < s->graph->n && s->class_rep[s->by_class[k]] == class_rep; k++) {
        uint32_t sw = s->by_class[k];
        uint64_t *bits = deps->bits + (size_t)s->graph->first[sw] * s->words;
        for (uint32_t i = 0; i < found && (to_all || s->rep[sw] == class_rep); i++)
            bits[s->word[i].at] |= s->word[i].bits;
    }
}

static void find_reps(struct fab_verify_batch_walk *s)
{
    s->rep_count = 0;
    for (uint32_t sw = 0; sw < s->graph->n; sw++) {
        uint32_t class_rep = s->class_rep[sw];
        bool like = class_rep != sw && memcmp(s->tile + (size_t)sw * COLUMNS,
                                              s->tile + (size_t)class_rep * COLUMNS, COLUMNS) == 0;
        s->rep[sw] = like ? class_rep : sw;
        s->reps[s->rep_count] = sw;
        s->rep_count += !like;
        s->unlike[sw] = 0;
        /* the representative has the lowest id of its class: this loop has visited the
         * representative before, and has set its element of unlike[] to 0 */
        s->unlike[class_rep] += !like && class_rep != sw;
    }
}

/* Copies the collected dependencies of each class in which the entries of some switch in this tile
 * differ from those of the representative: such switches can no longer share the dependencies of
 * the representative. The other classes go on sharing them. to_all: see distribute(). */
static void distribute_where_unlike(struct fab_verify_batch_walk *s, bool to_all,
                                    struct fab_verify_deps *deps)
{
    for (uint32_t k = 0; k < s->graph->n; k++) {
        if (s->unlike[s->by_class[k]] > 0)
            distribute(s, k, to_all, deps);
    }
}

void fab_verify_batch_walk_begin(struct fab_verify_batch_walk *s, const uint8_t *tile,
                                 struct fab_verify_deps *deps)
{
    s->tile = tile;
    find_reps(s);
    /* the dependencies collected in earlier tiles apply to all switches of a class */
    distribute_where_unlike(s, true, deps);
}

void fab_verify_batch_walk_end(struct fab_verify_batch_walk *s, struct fab_verify_deps *deps)
{
    distribute_where_unlike(s, false, deps);
}

void fab_verify_batch_walk_finish(struct fab_verify_batch_walk *s, struct fab_verify_deps *deps)
{
    for (uint32_t k = 0; k < s->graph->n; k++) {
        if (s->class_others[s->by_class[k]] > 0)
            distribute(s, k, true, deps);
    }
}

/* ---- a batch --------------------------------------------------------------------------------- */

static const uint8_t *entries_of(const struct fab_verify_batch_walk *s,
                                 const struct fab_verify_batch *b, uint32_t sw)
{
    return s->tile + (size_t)sw * COLUMNS + b->at;
}

/* Returns true if all `count` bytes are the same. Compares words of 8 bytes; the last two may
 * overlap. */
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

static void read_entries(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b)
{
    const uint8_t *tile = s->tile + b->at;
    for (uint32_t k = 0; k < s->rep_count; k++) {
        uint32_t sw = s->reps[k];
        s->entry[sw] = tile[(size_t)sw * COLUMNS];
        s->uniform[sw] = b->count == 1 || all_same(tile + (size_t)sw * COLUMNS, b->count);
        s->depth[sw] = 0;
    }
}

static inline void note(uint64_t *bits, uint32_t words, uint8_t num, uint8_t next_num)
{
    fab_verify_deps_set(bits + (size_t)num * words, next_num);
}

/* Records that packets which leave by port `num` for the switch `to` continue by the entries of
 * that switch. Considers `count` LIDs of the batch, from index `from` of the batch on. bits: the
 * dependencies of the channels of the switch that has port `num`. Returns false if an LFT entry is
 * a port that does not exist. */
static bool note_next(const struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                      uint64_t *bits, uint8_t num, uint32_t to, uint32_t from, uint32_t count)
{
    const uint8_t *there = entries_of(s, b, to) + from;
    for (uint32_t i = 0; i < count; i++) {
        if (there[i] >= s->graph->port_room[to])
            return false;
        note(bits, s->words, num, there[i]);
    }
    return true;
}

/* Returns the representative of the switch to which port `num` of `sw` leads. FAB_NONE: the port
 * leads to no switch. Also returns FAB_NONE if that representative is the destination switch, but
 * the port leads to another switch. The walk would otherwise take the other switch for the
 * destination. */
static inline uint32_t next_rep(const struct fab_verify_batch_walk *s,
                                const struct fab_verify_batch *b, uint32_t sw, uint8_t num)
{
    const struct fab_verify_graph *graph = s->graph;
    uint32_t to = num < graph->port_room[sw] ? graph->hop[graph->first[sw] + num] : FAB_NONE;
    if (to >= graph->n || to == b->sw)
        return to < graph->n ? to : FAB_NONE;
    return s->rep[to] != b->sw ? s->rep[to] : FAB_NONE;
}

static bool note_uniform(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                         struct fab_verify_deps *deps)
{
    const uint32_t rep_count = s->rep_count, words = s->words;
    for (uint32_t k = 0; k < rep_count; k++) {
        uint32_t sw = s->reps[k];
        if (!s->uniform[sw] || sw == b->sw)
            continue;
        uint8_t num = s->entry[sw];
        uint32_t to = next_rep(s, b, sw, num);
        if (to == FAB_NONE)
            return false;
        s->next[sw] = to;
        if (to == b->sw)
            /* no dependency, because the destination switch delivers the packet */
            continue;
        uint64_t *bits = bits_of(s, deps, sw);
        if (!s->uniform[to]) {
            if (!note_next(s, b, bits, num, to, 0, b->count))
                return false;
        } else if (s->entry[to] < s->graph->port_room[to]) {
            note(bits, words, num, s->entry[to]);
        } else {
            return false;
        }
    }
    return true;
}

/* Computes depth[sw], the number of switches on the path from `sw`. Returns false if this number is
 * not the same for all LIDs of the batch, if some LID is not reached, or if the search is nested
 * more than NESTING times. */
static bool resolve(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b, uint32_t sw,
                    uint32_t nesting);

/* Computes depth[] of the next switches of a switch that spreads the LIDs over several ports. If
 * all of them have the same depth, sets *ret_depth to this depth. Returns false if they have
 * different depths, or if resolve() fails for one of them. */
static bool resolve_spread(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                           uint32_t sw, uint32_t nesting, uint16_t *ret_depth)
{
    const uint8_t *entry = entries_of(s, b, sw);
    uint16_t depth = 0;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t to = next_rep(s, b, sw, entry[i]);
        if (to == FAB_NONE || (s->depth[to] == 0 && !resolve(s, b, to, nesting + 1)) ||
            s->depth[to] == ON_PATH || (depth != 0 && s->depth[to] != depth))
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
    s->depth[sw] = ON_PATH;
    if (s->uniform[sw]) {
        uint32_t to = s->next[sw];
        if (s->depth[to] == 0 && !resolve(s, b, to, nesting + 1))
            return false;
        depth = s->depth[to];
    } else if (!resolve_spread(s, b, sw, nesting, &depth)) {
        return false;
    }
    if (depth == ON_PATH)
        return false;
    s->depth[sw] = (uint16_t)(depth + 1);
    return true;
}

static bool find_depths(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                        uint32_t *ret_deepest)
{
    uint32_t deepest = 1;
    s->depth[b->sw] = 1;
    /* in this loop, no switch has the depth ON_PATH, which resolve() sets only until it succeeds;
     * after a failure of resolve() this function returns */
    for (uint32_t k = 0; k < s->rep_count; k++) {
        uint32_t sw = s->reps[k];
        if (s->depth[sw] != 0)
            continue;
        uint16_t next = s->uniform[sw] ? s->depth[s->next[sw]] : 0;
        if (next != 0)
            s->depth[sw] = (uint16_t)(next + 1);
        else if (!resolve(s, b, sw, 0))
            return false;
    }
    for (uint32_t k = 0; k < s->rep_count; k++)
        deepest = s->depth[s->reps[k]] > deepest ? s->depth[s->reps[k]] : deepest;
    *ret_deepest = deepest;
    return true;
}

/* Records the dependencies of those switches that spread the LIDs of the batch over several ports.
 * The caller must have called find_depths, which checks that all entries lead to switches. Returns
 * false if an LFT entry is a port that does not exist. */
static bool note_spread(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                        struct fab_verify_deps *deps)
{
    for (uint32_t k = 0; k < s->rep_count; k++) {
        uint32_t sw = s->reps[k];
        const uint8_t *entry = entries_of(s, b, sw);
        if (s->uniform[sw] || sw == b->sw)
            continue;
        uint64_t *bits = bits_of(s, deps, sw);
        for (uint32_t i = 0; i < b->count; i++) {
            uint32_t to = next_rep(s, b, sw, entry[i]);
            if (to != b->sw && !note_next(s, b, bits, entry[i], to, i, 1))
                return false;
        }
    }
    return true;
}

bool fab_verify_batch_walk_try(struct fab_verify_batch_walk *s, const struct fab_verify_batch *b,
                               struct fab_verify_deps *deps, uint32_t *ret_deepest)
{
    if (memcmp(entries_of(s, b, b->sw), b->num, b->count) != 0)
        return false;
    read_entries(s, b);
    return note_uniform(s, b, deps) && find_depths(s, b, ret_deepest) && note_spread(s, b, deps);
}
