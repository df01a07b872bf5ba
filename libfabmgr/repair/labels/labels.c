/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Labels: numbers of the channels that every packet meets in ascending order.
 *
 * With an order of the switches and ways that climb and then descend, a channel up has the place
 * of its switch in the order, and one down a number above all of these, the greater the lower its
 * switch: every legal turn ascends, those that no entry takes today among them, which leaves a
 * repair all the freedom that the order does. Nobody needs to know which engine made the tables:
 * the orders that the library has are tried on all entries, and one that fits is good.
 *
 * Where none fits (other engines, files), a channel's label is the length of the longest chain of
 * dependencies up to it, lane by lane. That is a proof of the baseline as well; it leaves a repair
 * less freedom, for turns that nobody takes today may or may not ascend. So there are several sets
 * of labels, all of which the baseline ascends by: other orders of the same channels, some as near
 * as the chains let them come to climbing to some switch and down again, by which everybody reaches
 * everybody, some by lot. A repair takes the first set that it finds its ways by.
 *
 * Not done: lanes apart where they depend on the source or on classes of ports. Where it takes them
 * to be free of cycles, there are no labels (UNSUPPORTED).
 */
#include <stdio.h>
#include <string.h>

#include "libfabmgr/base/prng.h"
#include "libfabmgr/base/size.h"
#include "libfabmgr/base/status.h"
#include "libfabmgr/repair/internal.h"
#include "libfabmgr/route/route.h"

/* ---- lanes ----------------------------------------------------------------------------------- */

/* Lanes that hang on the destination alone are apart. Where they hang on the source or on classes
 * of ports, all are taken as one: labels that ascend there do so on every lane. */
static int find_lanes(struct fab_repair_network *b, const struct fab_vls *v)
{
    if (v == NULL || !fab_target_vls_multiple(v) || v->of_lid == NULL || v->of_pair != NULL ||
        v->classes > 1)
        return FAB_OK;
    b->lane = calloc((size_t)b->top + 1, 1);
    if (b->lane == NULL)
        return FAB_E_NOMEM;
    for (uint32_t lid = 0; lid <= b->top && lid <= v->top; lid++)
        b->lane[lid] = v->vl[0][0][v->of_lid[lid] % FAB_SLS];
    for (uint32_t lid = 0; lid <= b->top; lid++)
        b->lanes = b->lane[lid] >= b->lanes ? b->lane[lid] + 1u : b->lanes;
    return FAB_OK;
}

/* ---- all dependencies ------------------------------------------------------------------------ */

/* The channel of `sw` for `lid`, or FAB_NONE: the LID's home, or nothing. */
static uint32_t channel_to(const struct fab_repair_network *b, const struct fab_lft *t, uint32_t sw,
                           uint32_t lid)
{
    return b->home[lid] == sw || b->home[lid] == FAB_NONE
               ? FAB_NONE
               : fab_repair_channel(b, sw, fab_target_lft_row(t, sw)[lid]);
}

static const uint32_t *lane_of(const struct fab_repair_network *b, uint32_t lid)
{
    return b->label + (b->lane != NULL ? (size_t)b->lane[lid] * b->ports : 0);
}

/* True when all packets of the baseline meet ascending labels. */
static bool all_ascend(const struct fab_repair_network *b, const struct fab_lft *t)
{
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = 1; lid <= b->top; lid++) {
            uint32_t channel = channel_to(b, t, sw, lid);
            uint32_t next = channel != FAB_NONE ? channel_to(b, t, b->hop[channel], lid) : FAB_NONE;
            const uint32_t *label = lane_of(b, lid);
            if (next != FAB_NONE && label[channel] >= label[next])
                return false;
        }
    }
    return true;
}

/* ---- by an order of the switches ------------------------------------------------------------- */

static void label_by_order(struct fab_repair_network *b, const uint32_t *order)
{
    for (uint32_t sw = 0; sw < b->n; sw++)
        b->order[sw] = (order[sw] + 1) * FAB_REPAIR_LABEL_GAP;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t port = b->first[sw]; port < b->first[sw + 1]; port++) {
            if (b->hop[port] == FAB_NONE)
                continue;
            bool climbs = b->order[b->hop[port]] > b->order[sw];
            uint32_t label = fab_repair_label(b, b->order[sw], climbs);
            for (uint32_t lane = 0; lane < b->lanes; lane++)
                b->label[(size_t)lane * b->ports + port] = label;
        }
    }
}

typedef int find_ranks(const struct fab_fabric *f, const struct fab_policy *p,
                       struct fab_ranks *ret);

static int try_order(struct fab_repair_network *b, const struct fab_repair_input *in,
                     find_ranks *find, bool *ret_fits)
{
    struct fab_ranks ranks;
    int status = find(in->fabric, in->policy, &ranks);
    if (status != FAB_OK)
        return status;
    label_by_order(b, ranks.order);
    *ret_fits = all_ascend(b, in->lft);
    fab_route_ranks_fini(&ranks);
    return FAB_OK;
}

/* ---- by chains of dependencies --------------------------------------------------------------- */

#define ROOTS 8
#define SETS (1 + ROOTS + 8)

struct chains {
    struct fab_repair_network *b;
    uint32_t words;
    uint64_t *next;  /* [ports][words] bit i: port i of the switch that the channel leads to */
    uint32_t *waits; /* [ports] channels before it that have no label yet */
    uint32_t *left;  /* [ports] of these, at work */
    uint32_t *rank;  /* [ports] */
    uint32_t *queue; /* [n] */
    uint32_t *far;   /* [n] */
    uint64_t *heap;  /* [ports] rank << 32 | channel */
    uint32_t heaped;
};

static int chains_init(struct chains *c, struct fab_repair_network *b)
{
    uint32_t widest = 0;
    for (uint32_t sw = 0; sw < b->n; sw++) {
        uint32_t ports = b->first[sw + 1] - b->first[sw];
        widest = ports > widest ? ports : widest;
    }
    *c = (struct chains){.b = b, .words = (uint32_t)fab_base_bits_words(widest)};
    c->next = calloc((size_t)b->ports * c->words + 1, sizeof(*c->next));
    c->waits = calloc((size_t)b->ports + 1, sizeof(*c->waits));
    c->left = calloc((size_t)b->ports + 1, sizeof(*c->left));
    c->rank = calloc((size_t)b->ports + 1, sizeof(*c->rank));
    c->queue = calloc((size_t)b->n + 1, sizeof(*c->queue));
    c->far = calloc((size_t)b->n + 1, sizeof(*c->far));
    c->heap = calloc((size_t)b->ports + 1, sizeof(*c->heap));
    return c->next && c->waits && c->left && c->rank && c->queue && c->far && c->heap ? FAB_OK
                                                                                      : FAB_E_NOMEM;
}

static void chains_fini(struct chains *c)
{
    free(c->next);
    free(c->waits);
    free(c->left);
    free(c->rank);
    free(c->queue);
    free(c->far);
    free(c->heap);
}

/* The least first. */
static void push(struct chains *c, const uint32_t *rank, uint32_t channel)
{
    uint64_t item = (uint64_t)(rank != NULL ? rank[channel] : 0) << 32 | channel;
    uint32_t i = c->heaped++;
    for (; i > 0 && c->heap[(i - 1) / 2] > item; i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = item;
}

static uint32_t pop(struct chains *c)
{
    uint64_t top = c->heap[0], last = c->heap[--c->heaped];
    uint32_t i = 0;
    for (uint32_t child = 1; child < c->heaped; child = 2 * i + 1) {
        child += child + 1 < c->heaped && c->heap[child + 1] < c->heap[child];
        if (c->heap[child] >= last)
            break;
        c->heap[i] = c->heap[child];
        i = child;
    }
    c->heap[i] = last;
    return (uint32_t)top;
}

static void collect(struct chains *c, const struct fab_lft *t, uint32_t lane)
{
    const struct fab_repair_network *b = c->b;
    memset(c->next, 0, (size_t)b->ports * c->words * sizeof(*c->next));
    memset(c->waits, 0, b->ports * sizeof(*c->waits));
    for (uint32_t sw = 0; sw < b->n; sw++) {
        for (uint32_t lid = 1; lid <= b->top; lid++) {
            if (b->lane != NULL && b->lane[lid] != lane)
                continue;
            uint32_t channel = channel_to(b, t, sw, lid);
            uint32_t next = channel != FAB_NONE ? channel_to(b, t, b->hop[channel], lid) : FAB_NONE;
            if (next != FAB_NONE && fab_base_bits_add(c->next + (size_t)channel * c->words,
                                                      next - b->first[b->hop[channel]]))
                c->waits[next]++;
        }
    }
}

/* Kahn's algorithm, of those that may be next always the one with the least rank; each channel's
 * label is above all that it has to be above: by one (rank: NULL), or it is its place in the order.
 * False: a cycle. */
static bool label_by_chains(struct chains *c, const uint32_t *rank, uint32_t *label)
{
    const struct fab_repair_network *b = c->b;
    uint32_t placed = 0, channels = 0;
    c->heaped = 0;
    memcpy(c->left, c->waits, b->ports * sizeof(*c->left));
    for (uint32_t port = 0; port < b->ports; port++) {
        if (b->hop[port] == FAB_NONE)
            continue;
        channels++;
        label[port] = 1;
        if (c->left[port] == 0)
            push(c, rank, port);
    }
    while (c->heaped > 0) {
        uint32_t channel = pop(c), first = b->first[b->hop[channel]];
        const uint64_t *next = c->next + (size_t)channel * c->words;
        size_t bits = (size_t)c->words * 64;
        placed++;
        if (rank != NULL)
            label[channel] = placed;
        for (size_t i = fab_base_bits_next(next, bits, 0); i < bits;
             i = fab_base_bits_next(next, bits, i + 1)) {
            uint32_t to = first + (uint32_t)i;
            label[to] = label[channel] >= label[to] ? label[channel] + 1 : label[to];
            if (--c->left[to] == 0)
                push(c, rank, to);
        }
    }
    return placed == channels;
}

/* Ranks as climbing to `root` and down again would have them: up from afar to near, then down. */
static void rank_by_root(struct chains *c, uint32_t root)
{
    const struct fab_repair_network *b = c->b;
    uint32_t *far = c->far, *queue = c->queue, head = 0, tail = 0;
    memset(far, 0xff, b->n * sizeof(*far));
    far[root] = 0;
    queue[tail++] = root;
    for (uint32_t next = 0; head < tail || next < b->n;) {
        if (head == tail) { /* another island */
            if (far[next] == FAB_NONE) {
                far[next] = 0;
                queue[tail++] = next;
            }
            next++;
            continue;
        }
        uint32_t sw = queue[head];
        for (uint32_t port = b->first[sw] + 1; port < b->first[sw + 1]; port++) {
            if (b->hop[port] == FAB_NONE || far[b->hop[port]] != FAB_NONE)
                continue;
            far[b->hop[port]] = 0;
            queue[tail++] = b->hop[port];
        }
        far[sw] = head++; /* its place counted from the root */
    }
    for (uint32_t port = 0; port < b->ports; port++) {
        if (b->hop[port] == FAB_NONE)
            continue;
        uint32_t from = far[b->hop[fab_repair_peer_port(b, port)]], to = far[b->hop[port]];
        c->rank[port] = to < from ? b->n - from : b->n + from;
    }
}

/* Every time the same lot. */
static void rank_by_lot(struct chains *c, uint32_t seed)
{
    struct fab_prng prng;
    fab_base_prng_init(&prng, seed);
    for (uint32_t port = 0; port < c->b->ports; port++)
        c->rank[port] = (uint32_t)fab_base_prng_below(&prng, UINT32_MAX);
}

/* All sets for one lane. */
static bool label_lane(struct chains *c, uint32_t lane)
{
    struct fab_repair_network *b = c->b;
    bool fits = label_by_chains(c, NULL, b->label + (size_t)lane * b->ports);
    for (uint32_t set = 1; fits && set < b->sets; set++) {
        if (set <= ROOTS)
            rank_by_root(c, (uint32_t)((uint64_t)(set - 1) * b->n / ROOTS));
        else
            rank_by_lot(c, set);
        label_by_chains(c, c->rank, fab_repair_label_set(b, set) + (size_t)lane * b->ports);
    }
    return fits;
}

static int try_chains(struct fab_repair_network *b, const struct fab_lft *t, bool *ret_fits)
{
    struct chains c;
    bool fits = true;
    int status = chains_init(&c, b);
    size_t count = (size_t)SETS * b->lanes * b->ports + 1;
    uint32_t *label = calloc(count, sizeof(*label));
    if (label == NULL)
        status = FAB_E_NOMEM;
    if (status == FAB_OK) {
        free(b->label);
        b->label = label;
        b->sets = SETS;
        label = NULL;
    }
    for (uint32_t lane = 0; status == FAB_OK && fits && lane < b->lanes; lane++) {
        collect(&c, t, lane);
        fits = label_lane(&c, lane);
    }
    free(label);
    chains_fini(&c);
    if (status == FAB_OK)
        *ret_fits = fits;
    return status;
}

/* ---- the best that fits ---------------------------------------------------------------------- */

int fab_repair_labels_find(struct fab_repair_network *b, const struct fab_repair_input *in,
                           char *why, size_t why_len)
{
    bool fits = false;
    int status = find_lanes(b, in->vls);
    if (status != FAB_OK)
        return status;
    b->label = calloc((size_t)b->lanes * b->ports + 1, sizeof(*b->label));
    b->order = calloc((size_t)b->n + 1, sizeof(*b->order));
    if (b->label == NULL || b->order == NULL)
        return FAB_E_NOMEM;
    b->labels = "order of the ranks";
    status = try_order(b, in, fab_route_ranks_of_tree, &fits);
    if (status == FAB_OK && !fits) {
        b->labels = "order of the shortest ways";
        status = try_order(b, in, fab_route_ranks_find, &fits);
    }
    if (status == FAB_OK && !fits) {
        b->labels = "chains of dependencies";
        free(b->order);
        b->order = NULL;
        status = try_chains(b, in->lft, &fits);
    }
    if (status == FAB_OK && !fits) {
        snprintf(
            why, why_len,
            "the channel dependency graph has a cycle, but for lanes that are not kept apart here");
        status = FAB_E_UNSUPPORTED;
    }
    return status;
}
